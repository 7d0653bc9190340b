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
#include "column/map/map_layout.h"
#include "group/groups.h"
#include "method/scan/cpu/scan_simd.h"
#include "method/scan/scan.h"
#include "util/mem.h"

#include <pthread.h>

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
	/* A program that is true for values of these ranges of a column of the store alone, and for NULL where it says so: blocks
	 * without them are not read. The array is the scan's; NULL: nothing is known. */
	struct rql_value_ranges ranges;
	/* ... or for many single values, which the CPU finds as a set's; NULL: it runs the program. */
	const struct rql_scan_bound_join *set;
};

/* ---- groups ---- */
struct rql_scan_part {
	struct rql_source source;
	const uint32_t *key_of_code; /* [codes or payloads] */
	uint32_t codes;              /* entries of key_of_code */
	int64_t least;
	uint64_t null_key;
	struct rql_groups_key key; /* fewer codes than the request's where conditions leave fewer (scan_narrow.c) */
	bool plain;                /* the code of a coded column, as it is */
	bool real;                 /* the value is that of a real (rql_group_key.real) */
};

/* ---- aggregates ---- */
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
	struct rql_state state;
	uint32_t operand; /* COUNT: only its validity; RQL_NONE: rows that the filter lets through */
	uint32_t filter;  /* program, or RQL_NONE */
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
	enum rql_half half;                    /* of the operand */
	bool canonical, null_value;            /* REAL: equal values have one field; NULL has one of its own, which is not 0 */
	uint32_t filter;                       /* program: NULL where it is not TRUE; RQL_NONE: none */
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
	uint32_t program_count, join_count, step_count, part_count, operand_count, slot_count;
	struct rql_scan_bound_program *programs;
	struct rql_scan_bound_join *joins;
	struct rql_map **sets; /* [steps]: what joins of lists have; NULL: the step has none */
	struct rql_scan_step *steps;
	struct rql_scan_part *parts;
	struct rql_scan_operand *operands;
	struct rql_scan_slot *slots;
	struct rql_groups_layout layout; /* of its groups: a key a part, a state a slot, a value an aggregate */
	bool few;             /* groups that are kept in copies, with 64-bit or real sums and counts only */
	bool checks;          /* some step is checked */
	bool under;           /* rows come in as ROWS, of which there are expected: */
	double under_share;   /* of the snapshot's */
	double under_blocks;  /* in so many; without ROWS all of the snapshot's */
	bool under_lists;     /* GPU: as lists, by block */
	bool known;           /* blocks of which all rows pass may be known without reading them (scan_statistics.c) */
	uint32_t keyed_count, keyed[2]; /* a map to build: its key columns, entries in columns */
	const struct rql_store_snapshot *gives; /* the form of the rows that are wanted; NULL: groups are */
	const struct rql_store_snapshot *groups_form; /* ... in the columns of this form; NULL: as GROUPS */
	struct rql_group_output *group_outputs;       /* [groups_form's columns] */
	uint32_t emit_count;
	struct rql_scan_emit *emits;
	/* estimates */
	double pass, rows_out; /* share of rows that pass; groups that will exist */
	double read_share;     /* of blocks: what the zone maps leave (scan_sample.c) */
	/* Workers at rest, kept for the next run: their memory is warm. */
	pthread_mutex_t mutex;
	struct rql_scan_worker *idle;
};

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
/* Of a wide scan's group numbers. */
static inline uint32_t rql_scan_number_bits(const struct rql_scan *scan)
{
	return scan->part_count ? scan->parts[0].key.shift + scan->parts[0].key.bits : 0;
}
/* So many groups are handed on at most, but for equal ones. */
static inline double rql_scan_wanted_out(const struct rql_scan *scan)
{
	return scan->layout.wanted.first ? (double)scan->layout.wanted.first : __builtin_inf();
}
/* ---- maps to build (scan_keyed.c) ---- */
/* Adds rows [first, first + n) of the loaded ones: their keys, and the groups that are numbered in w->groups. */
rql_status rql_scan_keyed_add(struct rql_scan_worker *w, uint32_t first, uint32_t n);
/* All workers' rows, with the numbers that the answer gives to groups; g: where the answer's groups were found. */
rql_status rql_scan_keyed_answer(struct rql_scan_worker *const *workers, uint32_t count, const struct rql_groups *g,
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
	struct rql_groups table;
	struct rql_arena *keyed_arena; /* of the lists; NULL: none yet */
	struct rql_keyed_list *keyed;  /* the last one made; NULL: none yet */
	uint64_t keyed_room, keyed_nulls; /* rows that `keyed` takes; rows with a NULL among their keys */
	struct rql_scan_counts counts;
	struct rql_error error;
	rql_status status;
};
rql_status rql_scan_worker_new(const struct rql_scan *scan, struct rql_scan_worker **out, struct rql_error *err);
void rql_scan_worker_free(struct rql_scan_worker *w);
/* Of a run whose workers are done. */
rql_status rql_scan_first_error(struct rql_scan_worker *const *workers, uint32_t count, bool cancelled,
                                struct rql_error *err) RQL_MUST_CHECK;
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
