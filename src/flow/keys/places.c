/* Values as unsigned numbers in their order: see the header. */
#include "flow/keys/places.h"

const uint64_t *rql_narrow_places(const struct rql_vector *v, const uint32_t *rows, uint32_t n,
                                  struct rql_place_room *room, uint64_t *places)
{
	struct rql_lanes lanes;
	if (rql_type_is_real(v->type)) {
		rql_vector_load(v, rows, n, RQL_LANE_F64, room->data, room->valid, &lanes);
		for (uint32_t i = 0; i < n; i++)
			places[i] = rql_real_place(((const double *)lanes.data)[i]);
	} else {
		rql_vector_load(v, rows, n, RQL_LANE_I64, places, room->valid, &lanes);
		uint64_t sign = rql_type_is_signed(v->type) ? UINT64_C(1) << 63 : 0;
		for (uint32_t i = 0; i < n; i++)
			places[i] ^= sign;
	}
	return lanes.valid;
}

const uint64_t *rql_wide_places(const struct rql_vector *v, const uint32_t *rows, uint32_t n,
                                struct rql_place_room *room)
{
	struct rql_lanes lanes;
	rql_vector_load(v, rows, n, RQL_LANE_I128, room->data, room->valid, &lanes);
	for (uint32_t i = 0; i < n && v->type.id != RQL_TYPE_UHUGEINT; i++)
		room->data[i] ^= (rql_int128)((rql_uint128)1 << 127);
	return lanes.valid;
}
