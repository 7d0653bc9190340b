/* What a method leaves for whoever comes next, and what its run took. */
#ifndef RQL_METHOD_PORT_H
#define RQL_METHOD_PORT_H

#include "column/batch.h"
#include "column/form.h"
#include "device/work.h"
#include "method/request.h"
#include "method/rows.h"

/* An aggregate of every group. */
struct rql_agg_values {
	enum rql_measure_kind kind;
	/* COUNT, COUNT_STAR, INTEGER and CODE use integer; REAL uses real. One entry per group. */
	rql_int128 *integer;
	double *real;
	uint64_t *valid; /* bitmap: some non-NULL value was there; NULL: all valid. COUNT is always valid. */
};
/* The rows behind the groups, of a request whose sink is a map to build: in no order. */
struct rql_keyed_list {
	struct rql_keyed_list *next; /* while they are made */
	uint64_t count;
	int64_t *keys[2]; /* [count]; the second NULL: there is one key */
	uint32_t *groups; /* [count]: number of the port's group; NULL: all are of the first */
};
struct rql_keyed_rows {
	uint64_t count; /* rows without a NULL among their keys, in all lists */
	uint64_t nulls; /* rows with one: they are not listed */
	uint64_t list_count;
	struct rql_keyed_list **lists; /* whoever takes them may write into them */
};
/* Which rows of a snapshot pass. On a CPU only blocks that may have such rows are there, each in a form of its own
 * (rows.h), so that few rows are found and read in time that does not grow with the table. On a GPU a bit each, bitmap by
 * block; bits beyond a block's rows may be anything. */
struct rql_rows {
	uint64_t block_count;              /* CPU */
	const uint32_t *blocks;            /* [block_count]: of the snapshot, ascending */
	const struct rql_rows_part *parts; /* [block_count] */
	struct rql_buffer *buffer; /* GPU: uint64_t[blocks of the snapshot][RQL_ROWS_BLOCK_WORDS], in its memory from.. */
	uint64_t offset;           /* ... here on; a multiple of 256 */
};
/* What finding them took. */
struct rql_selected {
	uint64_t rays, hits; /* rt: launched; primitives met */
	uint64_t tested;     /* rows whose values were read, or that were turned over, at predicates' bounds */
	uint64_t bytes;      /* of vectors, tested rows, and the ROWS */
	uint64_t forms[RQL_ROWS_FORMS]; /* blocks in each form */
};
static inline void rql_selected_add(struct rql_selected *sum, const struct rql_selected *more)
{
	sum->rays += more->rays;
	sum->hits += more->hits;
	sum->tested += more->tested;
	sum->bytes += more->bytes;
	for (unsigned f = 0; f < RQL_ROWS_FORMS; f++)
		sum->forms[f] += more->forms[f];
}
/* Rows of a form in a device's memory. Their number lies there, too: uint64_t, also when it is more than there is room
 * for. */
struct rql_columns_port {
	const struct rql_store_snapshot *form; /* column/form.h */
	uint64_t room;                         /* rows; a multiple of RQL_FORM_ROWS */
	struct rql_buffer *values, *count;
	uint64_t count_at; /* bytes into its buffer */
};
struct rql_port {
	enum rql_port_kind kind;
	/* ROWS: on a CPU, in the arena of the run. */
	struct rql_rows rows;
	/* BATCH: the caller releases it. */
	struct rql_batch *batch;
	/* GROUPS; of a batch group_count is its rows. All in the arena of the run. */
	uint64_t group_count; /* groups with at least one row; without group keys exactly 1, also over nothing */
	uint32_t **keys;      /* [group key][group]: key code; NULL of a wide key */
	uint64_t **wide_keys; /* the same of group keys with more than 2^32 codes (of stores only); NULL: there is none */
	struct rql_agg_values *aggs;
	uint32_t sorted_keys; /* the groups ascend by this many leading group keys */
	struct rql_keyed_rows keyed;
	/* Of every kind: what the run read and took. */
	uint64_t cells_read, cells_covered, bytes_read, runs;
	uint64_t bytes_uploaded; /* stores: columns and tables that this run put into the device's memory first */
	uint64_t rays, hits;     /* rt: launched; closest hits and any-hit calls */
	/* Of the ROWS that came in; of a port of ROWS, its own. GPUs: only when RQL_RUN_TIMED was asked for. */
	struct rql_selected selected;
	/* GPUs: device time of the whole run and of its passes, when RQL_RUN_TIMED was asked for; else 0. In arena. */
	double device_ns;
	uint32_t pass_count;
	struct rql_pass_time *passes;
};

#endif
