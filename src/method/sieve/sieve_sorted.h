/* The rows of a segment in the order of one column's keys, and what turns a key into a place on an axis of a space:
 * its rank (Uniform Encoding, RTScan 4.2), its value, or its bin. */
#ifndef RQL_METHOD_SIEVE_SIEVE_SORTED_H
#define RQL_METHOD_SIEVE_SIEVE_SORTED_H

#include "method/sieve/sieve_run.h"

/* Every so many ranks a key is kept: the paper's mapping table, thinned, as rows are tested in the end. */
#define RQL_SIEVE_MARK 64u

/* Of the segment's rows, numbered block * RQL_STORE_BLOCK + row of the block. */
struct rql_sieve_sorted {
	uint64_t *keys; /* [blocks * RQL_STORE_BLOCK]: by row */
	uint16_t *bins; /* the same; the number of bins where a row has no key */
	uint32_t *rows; /* [count + nulls]: ascending by key; behind them those without one */
	uint32_t count, nulls;
};
/* By all threads of cpu; memory is of mem. */
rql_status rql_sieve_sort(const struct rql_sieve_shape *shape, const struct rql_store_view *view,
                          struct rql_device *cpu, struct rql_progress *progress, struct rql_mem *mem,
                          struct rql_sieve_sorted *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_sieve_sorted_free(struct rql_sieve_sorted *sorted, struct rql_mem *mem);

enum rql_sieve_axis_kind { RQL_SIEVE_BY_RANK, RQL_SIEVE_BY_VALUE, RQL_SIEVE_BY_BIN };
struct rql_sieve_axis {
	enum rql_sieve_axis_kind kind;
	uint32_t size;      /* places of keys: [0, size); NULL is at `size` */
	uint32_t shift;     /* BY_VALUE: a place is (key - least) >> shift */
	uint64_t least, greatest; /* keys that there are; size 0: none */
	uint64_t *marks;    /* BY_RANK: [mark_count] the key of every RQL_SIEVE_MARK-th rank; malloc'ed */
	uint32_t mark_count;
	struct rql_sieve_bins bins; /* BY_BIN: bounds and count only; malloc'ed */
};
rql_status rql_sieve_axis_make(enum rql_sieve_axis_kind kind, const struct rql_sieve_shape *shape,
                               const struct rql_sieve_sorted *sorted, struct rql_sieve_axis *out,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_sieve_axis_free(struct rql_sieve_axis *axis);
/* The places of all keys in [least, greatest], and perhaps of neighbours; false: there is none. */
bool rql_sieve_axis_places(const struct rql_sieve_axis *axis, uint64_t least, uint64_t greatest, uint32_t *low,
                           uint32_t *high);

#endif
