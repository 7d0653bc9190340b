/* A selection bound to a snapshot, and its run. For scan_rows*.c, and scan_compute_rows.c, where a GPU finds which rows
 * pass.
 *
 * Filters, joins and loads are the scan's own (scan_query.h): outputs and order keys are bound as the operands of a scan.
 * A run has up to three passes over blocks: which rows pass (masks, or, for the first rows of an order, bounded heaps of
 * keys); keys of all that passed, sorted, when no small limit stands; and the gathering of outputs, into memory of exactly
 * the result's size, by all workers at once. */
#ifndef RQL_METHOD_SCAN_SCAN_ROWS_QUERY_H
#define RQL_METHOD_SCAN_SCAN_ROWS_QUERY_H

#include "method/scan/rows/scan_rows.h"
#include "method/scan/scan_query.h"
#include "util/mem.h"

#define RQL_ROWS_TOP (UINT64_C(1) << 16) /* first rows of an order that are kept in heaps; more are sorted */
#define RQL_ROWS_KEY_WORDS 16u

/* A row by its place: block << 12 | row in the block. Ascends as the table's rows do. */
#define RQL_ROWS_BITS 12u
_Static_assert(RQL_STORE_BLOCK == 1u << RQL_ROWS_BITS, "the row of a block in a row's place");

struct rql_rows_output {
	struct rql_type type;
	unsigned bytes;
	uint32_t operand;
	uint32_t column;                 /* entry of scan->columns that it is, or RQL_NONE */
	const struct rql_column *values; /* NULL: numbers */
	uint32_t value_count;
	bool nullable, strings;
};

/* Part of a key: NULL's bit, when it has one, then `bits` bits of the value's distance from the end where the order
 * begins. Keys are strings of bits, compared as such, so that several short ones make one word. */
struct rql_rows_field {
	uint32_t operand;
	uint32_t column; /* of the store, or RQL_NONE: no column by itself */
	uint32_t at;     /* first bit; bit 0 is the most significant one of word 0 */
	uint32_t bits;   /* 0..128 */
	bool flag, nulls_first, descending, real;
	rql_uint128 base; /* the least value; the greatest when descending */
	rql_uint128 span; /* the greatest distance */
};

/* Columns of the store that a pass reads, each once. */
struct rql_rows_columns {
	uint32_t count;
	uint32_t *index;
};

struct rql_scan_rows {
	struct rql_scan *scan;
	uint32_t output_count, field_count, key_words, key_bits;
	struct rql_rows_output *outputs;
	struct rql_rows_field *fields;
	bool *ordering, *gathered; /* [scan->program_count]: whether keys (outputs) need it */
	/* [scan->program_count]: must run for all rows that pass, wanted or not, since it can fail; whether any must */
	bool *checked, checks;
	struct rql_rows_columns ordering_columns, gathered_columns;
	uint64_t limit, offset;
	uint64_t wanted; /* limit + offset, or UINT64_MAX */
	struct rql_budget *budget;
	uint32_t words_per_entry; /* key_words and the row's place */
};

/* Where gathered rows go. */
struct rql_rows_target {
	uint64_t base;
	const uint32_t *at; /* NULL: base, base + 1, ... */
};

/* The first `wanted` rows so far: a heap whose root is the last of them, once it is full. */
struct rql_rows_top {
	uint64_t *entries; /* [wanted * words_per_entry] */
	uint64_t used;
	struct rql_scan_step before; /* what a row must be to get in */
};

struct rql_rows_run {
	const struct rql_scan_rows *rows;
	const struct rql_rows *under; /* the ROWS that come in (port.h); NULL: all */
	struct rql_pool *pool; /* NULL: the caller alone */
	struct rql_progress *progress;
	struct rql_mem mem; /* of this run: charged */
	uint32_t threads;
	struct rql_scan_worker **workers; /* [threads] */
	_Atomic bool stop, cancelled;
	uint64_t blocks;
	/* which rows passed, when somebody else has found that: block << RQL_ROWS_BITS | row, in any order; NULL: filters say */
	const uint32_t *listed;
	uint64_t listed_count;
	const uint32_t *block_of; /* [blocks]: then, or under ROWS, those that have any, ascending; NULL: all */
	/* which rows passed */
	uint64_t *masks;    /* [blocks][RQL_SCAN_MASK_WORDS]: of blocks that some, but not 4096, passed; NULL: all did */
	uint16_t *row_list; /* [listed_count]: by block, from first[block] on, in any order; a list's, instead of masks */
	uint32_t *left;     /* [blocks]: rows that passed */
	uint64_t *first;    /* [blocks + 1]: rows that passed before */
	/* a limit in table order: blocks [0, complete) are done */
	pthread_mutex_t mutex;
	uint8_t *done;
	uint64_t complete, passed;
	/* an order */
	struct rql_rows_top *tops;  /* [threads] */
	uint64_t **keys;            /* [threads]: as rql_rows_keys fills it; on no stack, which may be small */
	uint64_t *visit;            /* [blocks][2]: by the best key that blocks can have; NULL: as they stand */
	_Atomic uint64_t threshold; /* no row whose first key word is greater is wanted */
	uint64_t *entries;          /* keys of all rows that passed, or of the first ones: [entry_count][words_per_entry] */
	uint64_t entry_count;
	/* the result */
	struct rql_batch *batch;
	uint64_t result_rows;
	uint64_t skipped;          /* table order: rows that passed before the first of the result */
	const uint64_t *picked;    /* an order: the result's entries */
	uint64_t *pick_first;      /* [blocks + 1]: the result's rows of each block */
	uint64_t *picks;           /* [result_rows]: row in the block << 32 | row of the result */
	uint32_t **places;         /* [threads]: room for a block's */
	struct rql_string **texts; /* [outputs]: the dictionaries' strings in the batch's own memory; NULL: row by row */
	bool *null_seen;           /* [outputs], written by all workers; only ever true */
};

/* scan_rows.c: runs fn over morsels of `blocks` blocks from `first` on, until something fails or `stop` is set. */
typedef rql_status rql_rows_fn(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block);
struct rql_rows_pass {
	uint64_t first, blocks;
	bool shared; /* worth waking workers */
	/* What of rows that are known beforehand is read; NULL: they are not known. */
	const struct rql_rows_columns *columns;
	rql_rows_fn *fn;
};
rql_status rql_rows_each_block(struct rql_rows_run *run, const struct rql_rows_pass *pass, struct rql_error *err);
/* scan_rows_touch.c: asks memory for what the pass is going to read of blocks [first, end), at most RQL_SCAN_MORSEL, as
 * far as it is a few rows of each. */
void rql_rows_touch(const struct rql_rows_run *run, const struct rql_rows_columns *columns, uint64_t first,
                    uint64_t end);
/* Whether reading so many known rows, and making so many values of each, is worth waking workers. */
bool rql_rows_worth_sharing(const struct rql_rows_run *run, const struct rql_rows_columns *columns, uint64_t rows,
                            uint32_t values);
/* What a source reads joins the columns. */
void rql_rows_note_columns(const struct rql_scan *scan, const struct rql_source *source,
                           struct rql_rows_columns *columns);
/* Puts a worker on a block of the run. */
void rql_rows_enter(const struct rql_rows_run *run, struct rql_scan_worker *w, uint64_t block);
/* The worker's mask becomes the rows that passed in the block that it is on. */
rql_status rql_rows_restore(struct rql_rows_run *run, struct rql_scan_worker *w, uint64_t block);
rql_status rql_rows_select(struct rql_rows_run *run, struct rql_error *err);
/* Whether rows that pass may stay unseen by the outputs, or by an order's later keys, unless something can fail in them. */
bool rql_rows_leaves_rows(const struct rql_request *request);
/* The programs of order keys, and those that are checked, for rows [first, first + n) of the worker's block. */
rql_status rql_rows_run_programs(const struct rql_scan_rows *rows, struct rql_scan_worker *w, uint32_t first,
                                 uint32_t n);
/* The rows of the worker's mask as a list. */
void rql_rows_list_mask(struct rql_scan_worker *w);
/* scan_rows_list.c: the listed rows by block, and how many each has. Of few no worker is woken. */
#define RQL_ROWS_FEW 256u
rql_status rql_rows_split(struct rql_rows_run *run, struct rql_error *err);
void rql_rows_ascend(uint32_t *listed, uint64_t count);
/* rql_rows_restore for them. */
rql_status rql_rows_mark(const struct rql_rows_run *run, struct rql_scan_worker *w, uint64_t block);
/* A run with its workers; to be closed also when that fails. */
rql_status rql_rows_open(struct rql_rows_run *run, const struct rql_scan_rows *rows, struct rql_device *device,
                         const struct rql_rows *under, struct rql_progress *progress, struct rql_error *err);
void rql_rows_close(struct rql_rows_run *run);
/* The rows of a list (malloc'ed or not, borrowed) of all that passed; the same result as that of rql_scan_rows_run. */
rql_status rql_rows_run_listed(const struct rql_scan_rows *rows, struct rql_device *device,
                               struct rql_progress *progress, const uint32_t *listed, uint64_t count,
                               struct rql_batch **out, struct rql_error *err);
/* What that costs on a CPU, with so many rows in the list. */
double rql_rows_price_listed(const struct rql_scan_rows *rows, const struct rql_device *cpu,
                             const struct rql_scan_profile *profile, double listed);
/* The rows of the result, when so many pass. */
double rql_rows_price_out(const struct rql_scan_rows *rows, double passed);

/* scan_rows_order.c */
rql_status rql_rows_bind_order(struct rql_scan_rows *rows, const struct rql_request *request, const uint32_t *operands,
                               struct rql_error *err);
/* Fills picked and result_rows. */
rql_status rql_rows_top(struct rql_rows_run *run, struct rql_error *err);
rql_status rql_rows_sort(struct rql_rows_run *run, struct rql_error *err);
/* Whether the first key of the wanted rows can be bounded beforehand, and that is worth it: they are few of those that pass,
 * and it is a column. */
bool rql_rows_boundable(const struct rql_scan_rows *rows);
/* A test of the first key that every wanted row passes, learned from some of the blocks; *found false: there is none. Rows
 * that pass it and all else are about *rows_each times those wanted. */
rql_status rql_rows_bound(struct rql_rows_run *run, struct rql_scan_step *out, double *rows_each, bool *found,
                          struct rql_error *err);
/* rows_each, before anything is learned. */
double rql_rows_bound_guess(const struct rql_scan_rows *rows);
/* scan_rows_key.c: room for the keys of each of the run's workers. */
rql_status rql_rows_make_keys(struct rql_rows_run *run, struct rql_error *err);
/* keys[word * RQL_VECTOR_ROWS + i] of rows [first, first + n) of the worker's block; programs that keys need have run. */
void rql_rows_keys(const struct rql_scan_rows *rows, struct rql_scan_worker *w, uint32_t first, uint32_t n,
                   uint64_t *keys);
/* The filter that lets through what is not behind a first key word; false: there is none. strict: what has this very word
 * (and the key is but one word) stays out too; *nothing: then nothing is left. */
bool rql_rows_threshold(const struct rql_scan_rows *rows, uint64_t word, bool strict, struct rql_scan_step *out,
                        bool *nothing);
/* The least first key word that a block can have. */
uint64_t rql_rows_best(const struct rql_scan_rows *rows, const struct rql_store_segment *segment, uint32_t block);

/* scan_rows_gather.c */
rql_status rql_rows_bind_outputs(struct rql_scan_rows *rows, const struct rql_request *request,
                                 const uint32_t *operands, struct rql_error *err);
/* The result's batch, of run->result_rows rows. */
rql_status rql_rows_gather(struct rql_rows_run *run, struct rql_error *err);

#endif
