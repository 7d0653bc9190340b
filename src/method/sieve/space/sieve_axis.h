/* What turns a key into a place on an axis of a space: its rank among the segment's rows (Uniform Encoding, RTScan
 * 4.2), its value, or its bin. */
#ifndef RQL_METHOD_SIEVE_SIEVE_AXIS_H
#define RQL_METHOD_SIEVE_SIEVE_AXIS_H

#include "method/sieve/sieve_run.h"

/* Every so many ranks a key is kept: the paper's mapping table, thinned, as rows are tested in the end. */
#define RQL_SIEVE_MARK 64u

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
/* BY_VALUE, of keys in [least, least + span]. any: there are keys; else the axis has no place but NULL's. BY_RANK:
 * sieve_rank.h. */
void rql_sieve_axis_of_values(uint64_t least, uint64_t span, bool any, struct rql_sieve_axis *out);
/* BY_BIN; the same. */
rql_status rql_sieve_axis_of_bins(const struct rql_sieve_bins *bins, uint64_t least, uint64_t span, bool any,
                                  struct rql_sieve_axis *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_sieve_axis_free(struct rql_sieve_axis *axis);
/* The places of all keys in [least, greatest], and perhaps of neighbours; false: there is none. */
bool rql_sieve_axis_places(const struct rql_sieve_axis *axis, uint64_t least, uint64_t greatest, uint32_t *low,
                           uint32_t *high);

#endif
