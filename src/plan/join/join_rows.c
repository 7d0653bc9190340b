/* Rows of a chain of joins that are wanted themselves: what fetching them costs. */
#include "bind/block/price_host.h"
#include "plan/join/join.h"

double rql_join_rows_host_values(const struct rql_rows_block *rows, const struct rql_cost *cost)
{
	const double each = rows->is_result ? RQL_HOST_RESULT_VALUE : RQL_HOST_INNER_VALUE;
	double values = cost->rows_out * rows->output_count * each;
	if (rows->order_count)
		values += rows->limit == UINT64_MAX ? cost->cells * RQL_HOST_SORTED_ROW
		                                    : cost->cells + cost->rows_out * RQL_HOST_SORTED_ROW;
	return values;
}
