/* A request bound to a snapshot (scan_prepare.c), its price (scan_cost.c) and its run (scan_run.c). Included by this
 * folder only.
 *
 * A block goes through two stages. Filters turn a mask of all its rows into the mask of those that pass: tests of
 * columns work on the packed bytes, joins and programs on values that are loaded, closed up, under the present mask.
 * Then what groups and aggregates need is loaded under the last mask, and goes in vectors of RQL_VECTOR_ROWS through
 * programs, group numbers and accumulators. A load is remembered by the mask's generation, so that what a filter has
 * loaded last is not loaded again. */
#ifndef RQL_METHOD_SCAN_SCAN_QUERY_H
#define RQL_METHOD_SCAN_SCAN_QUERY_H

#include "column/form.h"
#include "column/map_layout.h"
#include "method/scan/scan.h"
#include "method/scan/scan_simd.h"
#include "util/mem.h"
#include "util/threads.h"

#include <pthread.h>

#define RQL_SCAN_MAX_GROUPS (UINT64_C(1) << 62)    /* group numbers fit 64 bits, with room */
#define RQL_SCAN_DENSE_WORDS (UINT64_C(1) << 26)   /* of an array of group rows: 512 MiB; beyond, groups are hashed */
#define RQL_SCAN_FIRST_CAPACITY 1024u              /* fewer groups are always an array */
#define RQL_SCAN_SORTED_GROUPS (UINT64_C(1) << 16) /* hashed groups up to this many come out in order */
#define RQL_SCAN_COPIES 4u        /* of few groups' rows, used in turn: additions to one group need not wait */
#define RQL_SCAN_COPY_WORDS 1024u /* rows of this many words or fewer are kept so often: 32 KiB in all */
#define RQL_SCAN_MORSEL 8u        /* blocks handed out at once */
#define RQL_SCAN_ROOM (RQL_SCAN_BLOCK + RQL_VECTOR_ROWS) /* values of a buffer: steps compute whole vectors */
#define RQL_SCAN_VALID_WORDS (RQL_SCAN_ROOM / 64 + 1)

/* ---- what is loaded ---- */
struct rql_scan_column {
	uint32_t column; /* of the store */
	enum rql_store_kind kind;
	enum rql_lane_kind lane; /* I32: codes; I64, I128, F64 */
	bool nullable;           /* CODED: never: NULL is a code */
	uint32_t null_code;      /* CODED: its NULL; RQL_NONE: none */
	uint32_t codes;          /* CODED */
	rql_int128 least, greatest;
};

/* ---- filters ---- */
struct rql_scan_step {
	enum rql_scan_step_kind { RQL_SCAN_BY_TEST, RQL_SCAN_BY_PROGRAM, RQL_SCAN_BY_JOIN } kind;
	uint32_t index;                 /* column of the store, program, join */
	struct rql_store_filter filter; /* TEST */
	bool or_null;
	bool at_first, checked; /* as the conjunct's; a program that can fail, where others might drop rows before it */
	double cost;            /* nanoseconds a row that comes in: of the sample, before that a guess */
	double pass;            /* share of the rows in blocks that are read; before the sample, a guess, of all rows */
	double run;             /* as the sample has it; 0: there is none */
};

/* ---- groups ---- */
struct rql_scan_part {
	struct rql_source source;
	const uint32_t *key_of_code; /* [codes or payloads] */
	uint32_t codes;              /* entries of key_of_code */
	int64_t least;
	uint64_t key_count, null_key;
	/* Where conditions leave fewer keys than the request has (scan_narrow.c): which they are, ascending; NULL: those from
	 * first_key on. */
	const uint32_t *keys;
	uint64_t first_key;
	uint64_t stride;
	uint32_t shift, bits; /* in the numbers of a wide scan, instead of stride */
	bool wide;            /* the answer has 64-bit codes */
	bool plain;           /* the code of a coded column, as it is */
};

/* ---- aggregates ---- */
/* Word 0 of a row counts rows, which tells whether the group exists. The other words belong to slots. */
enum rql_scan_slot_kind {
	RQL_SCAN_SLOT_COUNT,
	RQL_SCAN_SLOT_SUM,      /* 64 bits: the bounds prove that it fits */
	RQL_SCAN_SLOT_SUM_WIDE, /* 128 bits */
	RQL_SCAN_SLOT_SUM_REAL,
	RQL_SCAN_SLOT_MIN,
	RQL_SCAN_SLOT_MAX,
	RQL_SCAN_SLOT_MIN_WIDE,
	RQL_SCAN_SLOT_MAX_WIDE,
	RQL_SCAN_SLOT_MIN_REAL,
	RQL_SCAN_SLOT_MAX_REAL,
};
/* A value that slots read: I64, I128 or F64, whatever the source has. */
struct rql_scan_operand {
	struct rql_source source;
	enum rql_lane_kind from, lane;
	bool nullable;
	uint32_t null_code;         /* of a coded column: NULL in aggregates; RQL_NONE: none */
	rql_int128 least, greatest; /* integers */
	enum rql_measure_kind kind;
};
struct rql_scan_slot {
	enum rql_scan_slot_kind kind;
	uint32_t operand; /* COUNT: only its validity; RQL_NONE: rows that the filter lets through */
	uint32_t filter;  /* program, or RQL_NONE */
	uint32_t word;
};
struct rql_scan_output {
	enum rql_measure_kind kind;
	uint32_t slot;  /* the value; RQL_NONE: word 0 */
	uint32_t valid; /* a COUNT slot: NULL where it is 0; RQL_NONE: never NULL over some row */
	bool counts;    /* 0, not NULL, over nothing */
};

struct rql_scan_bound_program {
	const struct rql_program *program;
	struct rql_source *inputs;
	uint32_t *columns;    /* of input i: its entry in scan->columns, for COLUMN */
	uint32_t first_input; /* in the workers' inputs */
	bool in_answer;       /* run over what passed */
};
struct rql_scan_bound_join {
	enum rql_lookup_kind kind;
	uint32_t column; /* entry in scan->columns */
	const struct rql_map *map;
	uint32_t second; /* entry of a second key column; RQL_NONE: there is none */
	struct rql_key_pair pair;
	uint32_t absent; /* as the request's */
};

/* A column of the rows that a request for COLUMNS gives. */
struct rql_scan_emit {
	const struct rql_store_column *column; /* of the form */
	uint32_t bits, offset;                 /* of its fields; bytes of a row in the columns before */
	uint32_t operand;                      /* RQL_NONE: the number of these: */
	uint32_t part_count;
	struct rql_scan_part *parts;
};

struct rql_scan_worker;
struct rql_scan {
	const struct rql_store_snapshot *snapshot; /* or a form: rows that come in as COLUMNS, of which there are expected: */
	double expected_rows;
	const struct rql_scan_kernels *kernels;
	const struct rql_store_kernels *store;
	enum rql_simd simd;
	struct rql_arena *arena;
	uint32_t column_count; /* loaded ones */
	struct rql_scan_column *columns;
	uint32_t *column_of;  /* [snapshot's columns]: entry in columns, or RQL_NONE */
	uint32_t input_count; /* of programs, in a worker: see place_inputs */
	uint32_t program_count, join_count, step_count, part_count, operand_count, slot_count, output_count;
	struct rql_scan_bound_program *programs;
	struct rql_scan_bound_join *joins;
	struct rql_scan_step *steps;
	struct rql_scan_part *parts;
	struct rql_scan_operand *operands;
	struct rql_scan_slot *slots;
	struct rql_scan_output *outputs;
	uint64_t group_count; /* possible groups */
	bool wide;            /* more than 2^62: numbers of 128 bits, the keys' codes side by side; always hashed */
	bool few;             /* groups that are kept in copies, with 64-bit or real sums and counts only */
	bool checks;          /* some step is checked */
	bool under;           /* rows come in as ROWS, of which there are expected: */
	double under_share;   /* of the snapshot's */
	double under_blocks;  /* in so many; without ROWS all of the snapshot's */
	bool scalar;          /* no GROUP BY: one group, whatever qualifies */
	bool known;           /* blocks of which all rows pass may be known without reading them (scan_statistics.c) */
	struct rql_wanted_groups wanted; /* as the request's; of zeros where there is one group, or a map to build */
	uint32_t keyed_count, keyed[2]; /* a map to build: its key columns, entries in columns */
	const struct rql_store_snapshot *gives; /* the form of the rows that are wanted; NULL: groups are */
	const struct rql_store_snapshot *groups_form; /* ... in the columns of this form; NULL: as GROUPS */
	struct rql_group_output *group_outputs;       /* [groups_form's columns] */
	uint32_t emit_count;
	struct rql_scan_emit *emits;
	uint32_t row_words;
	uint64_t *row_template;
	bool row_zero;
	/* estimates */
	double pass, rows_out; /* share of rows that pass; groups that will exist */
	double read_share;     /* of blocks: what the zone maps leave (scan_sample.c) */
	bool hashed;
	/* Workers at rest, kept for the next run: their memory is warm. */
	pthread_mutex_t mutex;
	struct rql_scan_worker *idle;
};

/* ---- groups of a run ---- */
#define RQL_SCAN_PART_BITS 8u
#define RQL_SCAN_PARTS (1u << RQL_SCAN_PART_BITS)
/* Groups that a worker has put out of its table, by partitions of their hashes. */
struct rql_scan_part_run {
	struct rql_scan_part_run *next;
	uint64_t begin[RQL_SCAN_PARTS + 1]; /* entries */
	uint64_t entries[];
};
/* A hash table (scan_hash.c). An entry is the group's number, one word or two (the lower first), and its row. */
struct rql_scan_hash {
	const struct rql_scan *scan;
	uint32_t *place;   /* [places]: entry + 1; 0: none */
	uint64_t *entries; /* [room] */
	uint64_t places, used, room;
	uint32_t shift;
	struct rql_scan_part_run *runs;
	struct rql_scan_block *blocks; /* their memory */
};
/* The groups of one partition of all workers; an entry's number lies before its row. */
struct rql_scan_part_groups {
	uint64_t count;
	const uint64_t **rows; /* in the workers' runs */
};
bool rql_scan_hash_init(struct rql_scan_hash *h, const struct rql_scan *scan, uint64_t room);
void rql_scan_hash_free(struct rql_scan_hash *h);
void rql_scan_hash_clear(struct rql_scan_hash *h); /* as after init */
/* As rql_scan_groups_rows. high: of wide scans. */
bool rql_scan_hash_rows(struct rql_scan_hash *h, const uint64_t *low, const uint64_t *high, uint32_t n,
                        uint64_t **rows);
/* Brings the groups of all together: in *parts [RQL_SCAN_PARTS], which the caller frees also after an error, or, when
 * that is NULL, in the first. */
rql_status rql_scan_hash_merge(struct rql_scan_hash *const *all, uint32_t count, struct rql_pool *pool,
                               struct rql_scan_part_groups **parts, struct rql_error *err);
void rql_scan_hash_free_parts(struct rql_scan_part_groups *parts); /* NULL accepted */

/* A large array is made ready run by run, so many rows at once, by the worker that first counts something there: of groups
 * that lie together in the table each worker fills its own share of its array, and no other page of it is asked for. */
#define RQL_SCAN_RUN_SHIFT 14u
#define RQL_SCAN_RUN (UINT64_C(1) << RQL_SCAN_RUN_SHIFT)

struct rql_scan_groups {
	const struct rql_scan *scan;
	uint64_t *rows;    /* [copies * group_count * row_words]; of a list: [capacity * row_words] */
	uint64_t *keys;    /* a list of groups, not an array: group number + 1; of two words as a GPU lists them: */
	bool two_words;    /* (scan_kernels.h) */
	uint64_t capacity; /* array: group_count */
	uint64_t **runs;   /* of a large array: each run's rows, NULL: none of its groups exists; after rql_scan_groups_merge
	                    * perhaps in another worker's array. NULL: `rows` has them all */
	uint64_t missing;  /* runs that are not there yet */
	bool zero;         /* what is not there yet is zero */
	uint64_t used;
	uint32_t copies;
	bool ready;                         /* its memory is there */
	struct rql_scan_hash hash;          /* of hashed scans, instead of all that */
	struct rql_scan_part_groups *parts; /* what rql_scan_groups_merge has made of it and the others', or NULL */
	struct rql_pool *pool;              /* for shaping an answer; NULL: the caller alone */
};
/* Groups [i, i + RQL_SCAN_RUN) of an array, i a multiple of that; NULL: none of them exists. */
static inline const uint64_t *rql_scan_groups_run(const struct rql_scan_groups *g, uint64_t i)
{
	return g->runs ? g->runs[i >> RQL_SCAN_RUN_SHIFT] : g->rows + i * g->scan->row_words;
}
bool rql_scan_groups_init(struct rql_scan_groups *g, const struct rql_scan *scan);
void rql_scan_groups_free(struct rql_scan_groups *g);
void rql_scan_groups_clear(struct rql_scan_groups *g); /* as after init; keeps the memory */
/* rows[i] = the row of group number groups[i] (and high[i], of wide scans), in which the row is counted. false: out of
 * memory. */
bool rql_scan_groups_rows(struct rql_scan_groups *g, const uint64_t *groups, const uint64_t *high, uint32_t n,
                          uint64_t **rows);
/* Of few groups: where their rows begin, in the copies in turn. Nothing is counted. */
void rql_scan_groups_places(const struct rql_scan_groups *g, const uint64_t *groups, uint32_t n, uint32_t *places);
/* Folds the copies into the first. */
void rql_scan_groups_fold(struct rql_scan_groups *g);
/* Adds the (folded) groups of the others to the first, in parallel. */
rql_status rql_scan_groups_merge(struct rql_scan_groups *const *all, uint32_t count, struct rql_pool *pool,
                                 struct rql_error *err);

/* ---- accumulating ---- */
struct rql_scan_values {
	const void *data;      /* of the operand's lane */
	const uint64_t *valid; /* NULL: all */
};
/* Adds n <= RQL_VECTOR_ROWS values to their rows: rows[i], or rows[0] for all when `one`. live: bit i unset: left out;
 * NULL: all. false: a 128-bit sum overflowed. */
bool rql_scan_add(const struct rql_scan *scan, const struct rql_scan_slot *slot, struct rql_scan_values values,
                  const uint64_t *live, uint64_t *const *rows, uint32_t n, bool one);
/* The same for 64-bit sums, sums of reals and counts without FILTER (scan->few): the row of value i begins at
 * rows[places[i]]. With `count` the rows are counted too. slot NULL: they are only counted. */
void rql_scan_add_few(const struct rql_scan_slot *slot, struct rql_scan_values values, uint64_t *rows,
                      const uint32_t *places, uint32_t n, bool count);
/* Adds row `from` to row `into`. false: a 128-bit sum overflowed. */
bool rql_scan_add_row(const struct rql_scan *scan, uint64_t *into, const uint64_t *from);

/* Every chunk once; pool NULL: by the caller alone. */
static inline void rql_scan_each(struct rql_pool *pool, uint64_t chunks, rql_chunk_fn *fn, void *state)
{
	if (pool && chunks > 1) {
		rql_pool_run(pool, chunks, fn, state);
		return;
	}
	for (uint64_t i = 0; i < chunks; i++)
		fn(state, i, 0);
}

rql_status rql_scan_answer(const struct rql_scan *scan, struct rql_scan_groups *g, struct rql_arena *arena,
                           struct rql_port *out, struct rql_error *err);

/* ---- groups that are wanted (scan_wanted.c) ---- */
/* A group that exists: its number, of a wide scan both words; and its row. */
struct rql_scan_found {
	uint64_t low, high;
	const uint64_t *row;
};
/* The code of a group's key, as the request counts them. */
static inline uint64_t rql_scan_code_of(const struct rql_scan *scan, const struct rql_scan_part *part,
                                        const struct rql_scan_found *f)
{
	rql_uint128 number = (rql_uint128)f->high << 64 | f->low;
	uint64_t key = scan->wide ? (uint64_t)(number >> part->shift) & (UINT64_MAX >> (64 - part->bits))
	               : scan->group_count <= UINT32_MAX /* a division of 64 bits takes three times as long */
	                   ? (uint32_t)f->low / (uint32_t)part->stride % (uint32_t)part->key_count
	                   : f->low / part->stride % part->key_count;
	return part->keys ? part->keys[key] : part->first_key + key;
}
/* The aggregate's value in a row; integers and codes. */
static inline rql_int128 rql_scan_integer_of(const struct rql_scan *scan, const struct rql_scan_output *output,
                                             const uint64_t *row)
{
	const struct rql_scan_slot *slot = output->slot == RQL_NONE ? NULL : &scan->slots[output->slot];
	rql_int128 wide;
	switch (slot ? slot->kind : RQL_SCAN_SLOT_COUNT) {
	case RQL_SCAN_SLOT_COUNT:
		return (rql_int128)row[slot ? slot->word : 0];
	case RQL_SCAN_SLOT_SUM_WIDE:
	case RQL_SCAN_SLOT_MIN_WIDE:
	case RQL_SCAN_SLOT_MAX_WIDE:
		memcpy(&wide, row + slot->word, sizeof(wide));
		return wide;
	default:
		return (int64_t)row[slot->word];
	}
}
/* An aggregate that is never NULL has no `valid`. */
static inline bool rql_scan_is_valid(const struct rql_scan *scan, const struct rql_scan_output *output,
                                     const uint64_t *row)
{
	return output->counts || output->valid == RQL_NONE || row[scan->slots[output->valid].word] != 0;
}
/* Of a wide scan's group numbers. */
static inline uint32_t rql_scan_number_bits(const struct rql_scan *scan)
{
	return scan->part_count ? scan->parts[0].shift + scan->parts[0].bits : 0;
}
/* An unsigned key that orders as the integers do, as far as 64 bits tell them apart. */
static inline uint64_t rql_scan_integer_key(rql_int128 value)
{
	int64_t near = value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return (uint64_t)near ^ UINT64_C(1) << 63;
}
static inline bool rql_scan_wants_all(const struct rql_scan *scan)
{
	return !scan->wanted.test_count && !scan->wanted.first;
}
/* So many groups are handed on at most, but for equal ones. */
static inline double rql_scan_wanted_out(const struct rql_scan *scan)
{
	return scan->wanted.first ? (double)scan->wanted.first : __builtin_inf();
}
/* Do the values of a group pass HAVING's tests? */
bool rql_scan_is_wanted(const struct rql_scan *scan, const uint64_t *row);
/* Leaves in found[] those that are wanted, in their order, and in *count how many. */
rql_status rql_scan_keep_wanted(const struct rql_scan *scan, struct rql_pool *pool, struct rql_scan_found *found,
                                uint64_t *count, struct rql_error *err);

/* ---- maps to build (scan_keyed.c) ---- */
/* Adds rows [first, first + n) of the loaded ones: their keys, and the groups that are numbered in w->groups. */
rql_status rql_scan_keyed_add(struct rql_scan_worker *w, uint32_t first, uint32_t n);
/* All workers' rows, with the numbers that the answer gives to groups; g: where the answer's groups were found. */
rql_status rql_scan_keyed_answer(struct rql_scan_worker *const *workers, uint32_t count, const struct rql_scan_groups *g,
                                 struct rql_arena *arena, struct rql_keyed_rows *out, struct rql_error *err);
void rql_scan_keyed_free(struct rql_scan_worker *w);

/* Leaves out keys that no row which passes can have; the steps are bound before. false: out of memory. */
bool rql_scan_narrow(struct rql_scan *scan, struct rql_scan_part *part);
/* Whether a test of a coded column lets a code of the snapshot pass. */
bool rql_scan_passes_code(const struct rql_scan_step *step, uint32_t code, bool null);

/* ---- workers ---- */
struct rql_scan_loaded {
	void *data;      /* [RQL_SCAN_ROOM] */
	uint64_t *valid; /* [RQL_SCAN_VALID_WORDS]; meaningful when `nulls` */
	bool nulls;
	uint64_t generation; /* of the mask that it was loaded under; 0: never */
};
struct rql_scan_measured {    /* of a step, by this worker */
	double ns, rows, in, out; /* rows timed; rows in and out of it */
};
struct rql_scan_worker {
	struct rql_scan_worker *next;
	const struct rql_scan *scan;
	char *memory;
	struct rql_program_state **states;
	struct rql_scan_loaded *columns;  /* as scan->columns */
	struct rql_scan_loaded *payloads; /* as scan->joins: uint32, payload + 1; 0: none */
	void **inputs; /* programs' inputs that must be made: [RQL_VECTOR_ROWS] values of 16 bytes each */
	uint64_t **input_valid;
	struct rql_lanes *lanes;
	void **operands; /* the same, for operands */
	uint64_t **operand_valid;
	uint64_t *mask, *bits, *other; /* [RQL_SCAN_VALID_WORDS] */
	int32_t *narrow;               /* [RQL_SCAN_ROOM] */
	uint32_t *selected;            /* [RQL_SCAN_ROOM]: the rows of mask, as of selected_generation */
	uint64_t selected_generation;
	uint64_t *groups, *high, **rows;    /* [RQL_VECTOR_ROWS] */
	uint32_t *order;                    /* steps, as they are tried */
	const struct rql_scan_step *before; /* a test that comes first (of the first rows of an order), or NULL */
	const struct rql_rows_part *under;  /* of the block, the ROWS that come in (port.h); NULL: all */
	struct rql_scan_measured *measured;
	uint64_t generation, blocks_seen;
	uint32_t left; /* rows set in mask */
	bool full;     /* mask has all rows of the block: loads decode */
	/* the present block */
	const struct rql_store_segment *segment;
	uint32_t block, block_rows;
	struct rql_scan_groups table;
	struct rql_arena *keyed_arena; /* of the lists; NULL: none yet */
	struct rql_keyed_list *keyed;  /* the last one made; NULL: none yet */
	uint64_t keyed_room, keyed_nulls; /* rows that `keyed` takes; rows with a NULL among their keys */
	struct rql_scan_counts counts;
	struct rql_error error;
	rql_status status;
};
rql_status rql_scan_worker_new(const struct rql_scan *scan, struct rql_scan_worker **out, struct rql_error *err);
void rql_scan_worker_free(struct rql_scan_worker *w);
/* Frees the workers at rest: of a scan that no CPU will run. */
void rql_scan_dismiss(struct rql_scan *scan);

/* The values of the rows that are left, one by one, when they are few enough for that to be the shorter way (scan_fetch.c);
 * else false. out: as in w->columns. */
bool rql_scan_fetch(struct rql_scan_worker *w, const struct rql_scan_column *column, void *out);
/* Loads entry `column` of scan->columns (join `join`'s payloads) for the rows in w->mask. */
const struct rql_scan_loaded *rql_scan_load_column(struct rql_scan_worker *w, uint32_t column);
const struct rql_scan_loaded *rql_scan_load_payloads(struct rql_scan_worker *w, uint32_t join);
/* Runs a program over rows [first, first + n) of the loaded ones; first is a multiple of RQL_VECTOR_ROWS. */
rql_status rql_scan_run_program(struct rql_scan_worker *w, uint32_t program, uint32_t first, uint32_t n);
/* The values of an operand's rows [first, first + n): programs must have run for them. */
struct rql_scan_values rql_scan_operand_values(struct rql_scan_worker *w, uint32_t operand, uint32_t first, uint32_t n);
/* groups[i] = the group number of row first + i; false: a value outside its key's range. */
bool rql_scan_number_groups(struct rql_scan_worker *w, uint32_t first, uint32_t n);
/* What a block's column takes, compressed. */
uint64_t rql_scan_block_bytes(const struct rql_store_block *block);

/* scan_statistics.c: can blocks be known of which all rows pass? When all is bound. */
#define RQL_SCAN_KNOWN_WORDS 64u
bool rql_scan_may_know(const struct rql_scan *scan);
/* Adds the worker's block, all of whose rows pass, to the only group. false: it must be read, and nothing was added. */
bool rql_scan_add_known(struct rql_scan_worker *w);

/* Leaves in w->mask the rows of the worker's block that pass. */
rql_status rql_scan_filter_block(struct rql_scan_worker *w);

/* What the zone map says about a step of the request over a whole block. */
enum rql_store_match rql_scan_match(const struct rql_scan *scan, const struct rql_store_segment *segment,
                                    uint32_t block, uint32_t step);
/* Whether the zone maps leave a block to be read. */
bool rql_scan_may_pass(const struct rql_scan *scan, const struct rql_store_segment *segment, uint32_t block);

/* The first n rows of a block. */
void rql_scan_fill_mask(uint64_t *mask, uint32_t n);
/* Steps are tried in this order at first, the least first. */
double rql_scan_first_rank(const struct rql_scan_step *step);
/* Applies one step to the rows in w->mask. */
rql_status rql_scan_apply(struct rql_scan_worker *w, uint32_t step);
/* Estimates what blocks the zone maps leave, and what of their rows passes; its worker is left at rest. */
void rql_scan_take_sample(struct rql_scan *scan, struct rql_sample *out);
/* Fills pass, rows_out, read_share, hashed, and the steps' pass. sample: as in the request. */
void rql_scan_estimate(struct rql_scan *scan, struct rql_sample *sample);

/* ---- prices ---- */
struct rql_scan_effort {
	double rows, left;  /* in blocks that are read; of them, those that passed so far */
	double work, bytes; /* nanoseconds of one thread with all in its caches; bytes of cache lines that are read */
	const struct rql_scan_profile *profile;
};
/* The effort of all filters. Returns the share of blocks that the zone maps leave. */
double rql_scan_effort_filters(const struct rql_scan *scan, const struct rql_scan_profile *profile,
                               struct rql_scan_effort *out);
/* Adds that of having a source's values, for the rows that are left. */
void rql_scan_effort_source(const struct rql_scan *scan, const struct rql_source *source,
                            struct rql_scan_effort *effort);
/* Nanoseconds on all threads of the device. */
double rql_scan_effort_shared(const struct rql_scan_effort *effort, const struct rql_device *device);

/* scan_run.c: enough work to wake the pool's workers for; under NULL: all rows. */
bool rql_scan_worth_sharing(const struct rql_store_snapshot *snapshot, const struct rql_rows *under);

#endif
