/* The fused scan on a GPU's compute unit: a bound request (scan_query.h) as a kernel's generated code and the tables
 * that it reads.
 *
 *   scan_compute_plan.c   what is refused and why; where groups meet
 *   scan_compute_tests.c  which steps can test 32 rows at once; scan_compute_choice.c which do, and which remain for
 *                         single rows
 *   scan_code.c           the code of tests (scan_code.h: what its files share)
 *   scan_code_row.c       the code of a row that passed them: columns, joins, groups, slots; scan_code_program.c that
 *                         of programs, scan_code_number.c of their steps that are more than an instruction
 *   scan_table.c          what the code reads: a record for each block that the zone maps leave, parameters, sets, maps
 *   scan_compute.c        contexts, runs, the method; scan_compute_answer.c and scan_compute_rows.c what is made of a run,
 *                         scan_compute_price.c the price
 *
 * The code depends on the request's shape only: literals, bounds, addresses and sets are parameters, so that the
 * next request of the same shape finds its pipeline made. */
#ifndef RQL_METHOD_SCAN_SCAN_COMPUTE_H
#define RQL_METHOD_SCAN_SCAN_COMPUTE_H

#include "method/rows_kernels.h"
#include "method/scan/gpu/scan_kernels.h"
#include "method/scan/gpu/scan_map.h"
#include "method/scan/gpu/scan_place.h"
#include "method/scan/scan_query.h"

/* Invocations of a workgroup, where the device's limits allow so many. */
#define RQL_SCAN_WORKGROUP 1024u
/* Invocations at most, each of which takes tiles as long as there are any: one such workgroup for each of an H200's
 * multiprocessors. The compiler must then get by with 64 registers, and twice as many lanes run at once. */
#define RQL_SCAN_INVOCATIONS (132u * RQL_SCAN_WORKGROUP)
#define RQL_SCAN_BLOCKS_MOST RQL_ROWS_LISTS_MOST /* an entry of the kernel's lists has 20 bits for a block, 12 for a row of it */
#define RQL_SCAN_WORDS_MAX 4u    /* of 32 rows, that a lane tests at once */
#define RQL_SCAN_SET_WORDS 4096u /* of shared memory, for sets */

/* Parameters and columns' heads that stay in registers, the first ones: more would cost more than loads do. */
#define RQL_SCAN_KEPT_PARAMS 12u
#define RQL_SCAN_KEPT_HEADS 8u

/* ---- growing tables ---- */
/* Bytes that will lie in one buffer. Addresses in it are written as offsets and noted, and get the buffer's when there
 * is one. */
struct rql_scan_blob {
	uint8_t *bytes;
	uint64_t count, room;
	uint64_t *relocations;
	uint64_t relocation_count, relocation_room;
	bool out_of_memory;
};
uint64_t rql_scan_blob_put(struct rql_scan_blob *blob, const void *data, uint64_t bytes); /* at a multiple of 64, never 0 */
/* The 8 bytes at `at` are an offset. */
void rql_scan_blob_relocate(struct rql_scan_blob *blob, uint64_t at);
void rql_scan_blob_free(struct rql_scan_blob *blob);

/* ---- the plan ---- */
/* A step of the request that tests 32 rows at once. */
struct rql_scan_chunk_test {
	/* ranges of numbers, by bit planes; a set, by packed fields; whether there is a value */
	enum { RQL_SCAN_TEST_PLANES, RQL_SCAN_TEST_SET, RQL_SCAN_TEST_NULL } kind;
	uint32_t step;   /* of the request */
	uint32_t also;   /* another one over the same column that is tested with it; RQL_NONE: none */
	uint32_t column; /* of the store */
	double pass, run; /* as a step's */
	uint32_t skip; /* PLANES: so many low ones are read in no block */
	bool shared;   /* PLANES: all segments' blocks share their numbers */
	bool rough;    /* though some of them matter: the step is one of `lates`, too */
	uint32_t bits; /* PLANES: most of any block; SET: of most blocks, whose fields' places are literals; 0: none */
	bool eager;    /* SET: loads do not wait for the tests before */
	bool nullable, or_null, negate;
	/* of codes and joins: bits by the snapshot's codes, or by key - least */
	const uint32_t *set;
	bool own; /* made for this plan, by the snapshot's codes */
	uint32_t span;
	int64_t least;   /* of a join's map */
	uint32_t set_at; /* in shared memory */
	bool global;     /* or it is too large for that */
	uint32_t map;    /* then, of a join: the map's part that it is, as plan->maps counts them; RQL_NONE: */
	uint64_t table;  /* ... its place in the blob */
	/* PLANES: of values or codes */
	uint32_t range_count;
	bool single; /* each has one value, whose number no other rounding shares */
	rql_int128 low[RQL_SCAN_RANGES_MAX], high[RQL_SCAN_RANGES_MAX];
};
/* One that is tested row by row. */
struct rql_scan_late {
	uint32_t step;
	double pass; /* share of the rows that come to it, a guess */
	bool found;  /* join: its payload is needed anyway */
};

struct rql_scan_param {
	uint64_t value;
	enum rql_scan_param_kind {
		RQL_SCAN_PARAM_VALUE,
		RQL_SCAN_PARAM_OFFSET, /* in the blob: the address there */
		RQL_SCAN_PARAM_MAP,    /* an entry of plan->maps: its address */
	} kind;
};

struct rql_scan_plan {
	const struct rql_scan *scan;
	struct rql_arena *arena;
	uint32_t workgroup; /* invocations: a power of two, whole subgroups */
	uint32_t test_count, late_count;
	uint32_t words;     /* of 32 rows, that a lane tests at once: 4, fewer in large subgroups, with sets 1 */
	double tested_pass; /* share of rows that pass `tests`, a guess */
	bool staged;        /* `lates` drop most rows: they have a stage of their own */
	struct rql_scan_chunk_test *tests;
	struct rql_scan_late *lates;
	bool *joined;         /* [joins]: tested among `tests` */
	bool *translated;     /* [scan->columns]: some segment has codes of its own */
	uint32_t *field_bits; /* [scan->columns]: of the widest */
	bool real;            /* the kernel computes with reals */
	/* columns that single rows need: references test_count + i */
	uint32_t ref_count;
	uint32_t *refs;   /* [columns]: entry in scan->columns */
	uint32_t *ref_of; /* [columns], or RQL_NONE */
	/* groups */
	uint32_t mode, copies;
	bool hashed, whole;
	bool wide;       /* group numbers are (scan_kernels.h) */
	uint32_t spread; /* arrays of rows in device memory: see struct rql_scan_accumulator */
	uint32_t *kinds; /* [row_words]: as the kernel's table has them (scan_kernels.h) */
	/* mode SHARED: words of 32 bits, and of 64, of a copy of a group's row; bits of a sum's limb */
	uint32_t row_sums, row_extremes, limb_bits;
	/* words of 32 and 64 bits of all rows in a workgroup's shared memory: groups' copies, or (SCALAR) the subgroups' */
	uint32_t shared_sums, shared_extremes;
	/* what the code reads */
	bool *maps; /* [joins * RQL_SCAN_MAP_PARTS]: that part of the join's map, which lies by itself (scan_map.h) */
	struct rql_scan_param *params;
	uint32_t param_count, param_room;
	struct rql_scan_blob blob;
	uint32_t *code; /* the kernel's words, once they are written; malloc'ed */
	uint64_t code_bytes;
	uint32_t set_words;
};

/* Most invocations of a workgroup: RQL_SCAN_WORKGROUP, or the largest power of two that a device's limits allow, with
 * whatever lists and masks a plan has in shared memory. 0: none of whole subgroups, and no scan runs there. */
uint32_t rql_scan_workgroup(const struct rql_gpu_limits *limits);
/* Bytes of a workgroup's shared memory that the kernel's lists and masks, and sets placed so far, leave. */
uint32_t rql_scan_shared_room(const struct rql_scan_plan *plan, const struct rql_device *device);
/* Why a device cannot read a column of the store; NULL: it can, or there is no such column. */
const char *rql_scan_column_refusal(const struct rql_store_snapshot *snapshot, uint32_t column,
                                    const struct rql_device *device);
/* Why a device cannot run a request; NULL: it can. */
const char *rql_scan_compute_refusal(const struct rql_request *request, const struct rql_device *device);
/* listed: the rows that pass are wanted (mode LIST); the scan then has neither groups nor aggregates. */
rql_status rql_scan_compute_plan(const struct rql_scan *scan, bool listed, const struct rql_device *device,
                                 struct rql_arena *arena, struct rql_scan_plan *out,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* Fills tests, words, lates and sets. */
rql_status rql_scan_compute_tests(struct rql_scan_plan *plan, const struct rql_device *device,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* Of the tests that can be (plan->tests), chooses those that are, how much of them, and words; the others' steps go to
 * lates, in order. false: out of memory. */
bool rql_scan_choose_tests(struct rql_scan_plan *plan, uint32_t subgroup);
/* A step to lates; pass: of the rows that come to it. */
void rql_scan_leave_step(struct rql_scan_plan *plan, uint32_t step, double pass);
/* Whether some value comes from a join's payload. */
bool rql_scan_payload_used(const struct rql_scan *scan, uint32_t join);
/* The widest field of a column, and the width that most of its blocks have, constant ones apart. */
void rql_scan_survey(const struct rql_store_snapshot *snapshot, uint32_t column, uint32_t *widest, uint32_t *most);
bool rql_scan_is_translated(const struct rql_store_snapshot *snapshot, uint32_t column);
/* Rows that steps have left, and how they lie: in runs of `run`, as the step that keeps most of them together leaves them. */
struct rql_scan_left {
	double pass, run, run_pass; /* of all rows; of that step alone. At first: 1, 1, 1 */
};
void rql_scan_drop(struct rql_scan_left *left, double pass, double run);
/* As many rows that lie anywhere are in as many sectors. */
double rql_scan_left_spots(const struct rql_scan_left *left);
/* The share of a column's 32-byte sectors that hold one of the rows wanted, `pass` of all, wherever they are. */
double rql_scan_sector_share(double bits, double pass);
void rql_scan_compute_plan_free(struct rql_scan_plan *plan);

/* The kernel's code (malloc'ed); fills refs and params. The same shape of request gives the same code. */
rql_status rql_scan_code(struct rql_scan_plan *plan, uint32_t **out, uint64_t *out_bytes,
                         struct rql_error *err) RQL_MUST_CHECK;
/* Why a program's steps cannot be code; NULL: they can. */
const char *rql_scan_code_refusal(const struct rql_program *program);

/* ---- items ---- */
struct rql_scan_table {
	uint64_t wanted;  /* struct rql_scan_wanted_args; 0: none, all groups are listed */
	uint64_t columns; /* struct rql_scan_group_column of each of the form's that groups are given in */
	uint64_t items, params, sets, kinds; /* offsets in the blob; items: of rows that come in, references' templates */
	uint32_t item_count, item_bytes;
	uint64_t rows;                   /* that are read */
	double bytes;                    /* of what is tested 32 rows at once, and of items */
	double *column_bytes;            /* [refs]: of the fields, in these blocks, of what is read where rows are left */
	uint64_t uploaded;               /* bytes of columns that were not there */
	struct rql_scan_placed **placed; /* [rql_scan_table_places], NULL: not needed */
	struct rql_scan_placed_map **maps; /* as plan->maps, NULL: not needed */
};
/* Places the columns and fills the blob with items, parameters and sets. On failure the table must be freed too. */
rql_status rql_scan_table_make(struct rql_scan_plan *plan, struct rql_device *device, struct rql_scan_table *out,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_table_free(const struct rql_scan_plan *plan, struct rql_scan_table *table);
uint64_t rql_scan_table_places(const struct rql_scan_plan *plan);
uint64_t rql_scan_table_maps(const struct rql_scan_plan *plan);
/* scan_compute_first.c: puts what says which groups are wanted into the blob; 0: all are, or the host has to find out. */
uint64_t rql_scan_wanted_put(struct rql_scan_plan *plan);
/* scan_compute_groups.c: puts what says how groups become columns into the blob; 0: they do not. */
uint64_t rql_scan_group_columns_put(struct rql_scan_plan *plan);
/* What the i-th of the tests, and the references behind them, reads: a column of the store, and how it lies. */
enum rql_scan_layout rql_scan_plan_layout(const struct rql_scan_plan *plan, uint32_t i);

#endif
