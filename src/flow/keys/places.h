/* Places: a column's values as unsigned numbers in the values' order, so that whoever compares or sorts knows no types. */
#ifndef RQL_FLOW_PLACES_H
#define RQL_FLOW_PLACES_H

#include "flow/rowset.h"

struct rql_place_room {
	_Alignas(16) rql_int128 data[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
};

/* Numbers of 128 bits; all others have places of 64. */
static inline bool rql_place_is_wide(struct rql_type t)
{
	return rql_type_bytes(t) == 16 && t.id != RQL_TYPE_VARCHAR && t.id != RQL_TYPE_BLOB;
}
/* Of integral types and reals, not wide, for n <= RQL_VECTOR_ROWS rows. Gives the rows' validity, NULL: all are. */
const uint64_t *rql_narrow_places(const struct rql_vector *v, const uint32_t *rows, uint32_t n,
                                  struct rql_place_room *room, uint64_t *places);
/* The same of wide ones: places are room->data. */
const uint64_t *rql_wide_places(const struct rql_vector *v, const uint32_t *rows, uint32_t n,
                                struct rql_place_room *room);

#endif
