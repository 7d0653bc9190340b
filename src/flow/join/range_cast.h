/* A column below casts that lose nothing and keep its order, such as an INTEGER that is compared with BIGINTs: what bounds the
 * cast bounds the column, so that an index of the column finds its rows. */
#ifndef RQL_FLOW_RANGE_CAST_H
#define RQL_FLOW_RANGE_CAST_H

#include "flow/rowset.h"

struct rql_range_cast {
	bool casts;              /* false: bounds are of the column's own type, or have the same places */
	struct rql_type column;  /* integral, not wide */
	rql_int128 factor;       /* a number of the cast is so many of the column's; 1 for reals */
};

/* NULL: the value is no column, or its casts may fail or round. */
const struct rql_expr *rql_range_column(const struct rql_expr *value, struct rql_range_cast *cast);

/* The column's places within a bound of the cast's type: the least or, upper, the greatest one, which is one of them itself.
 * Bits of `live` are cleared for rows that have no bound, or one beyond all values. n <= RQL_VECTOR_ROWS. */
void rql_range_cast_places(const struct rql_range_cast *cast, const struct rql_vector *bound, bool upper, bool open,
                           const uint32_t *rows, uint32_t n, uint64_t *places, uint64_t *live);

#endif
