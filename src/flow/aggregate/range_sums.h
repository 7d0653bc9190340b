/* Of a join by a range: a sum over the other side's rows with which each row of one side, the keeper, is paired. The time
 * does not depend on the number of pairs, but where the keeper looks up in an index. */
#ifndef RQL_FLOW_RANGE_SUMS_H
#define RQL_FLOW_RANGE_SUMS_H

#include "flow/join/join_internal.h"

/* What is added up: an integral value of up to 64 bits, and nothing for NULL. */
struct rql_range_values {
	const struct rql_vector *of; /* NULL: 1 of each row */
	bool counted;                /* 1 of each value */
};

/* Do 64 bits hold any such sum but the least number of them, of a row or of all? */
bool rql_range_sums_narrow(const struct rql_range_values *values);
/* The sum of the keeper's row i; rows: what each row that looks up finds; not by an index, which is asked itself. */
rql_status rql_range_sums(struct joining *j, unsigned keeper, const struct rql_key_rows *rows,
                          const struct rql_range_values *values, int64_t *sums) RQL_MUST_CHECK; /* narrow */
rql_status rql_range_wide_sums(struct joining *j, unsigned keeper, const struct rql_key_rows *rows,
                               const struct rql_range_values *values, rql_int128 *sums) RQL_MUST_CHECK;

#endif
