/* The values of a join by a range as numbers of 64 bits in the host's order, so that sorting and searching know no types.
 * Values that have no such places of their own (keys/places.h) have them beside the points of this join: numbers of 128 bits
 * as distances from the least point; where these are too far, and of strings, each point's rank among the points. */
#ifndef RQL_FLOW_RANGE_PLACES_H
#define RQL_FLOW_RANGE_PLACES_H

#include "flow/join/sorted.h"
#include "flow/keys/places.h"

/* Types whose values have an order that is known here, which is the host's. */
bool rql_range_type(struct rql_type type);
/* Of these, whose places need all points first. */
static inline bool rql_range_by_points(struct rql_type type)
{
	return rql_place_is_wide(type) || type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB;
}

enum rql_places_form { RQL_PLACES_OWN, RQL_PLACES_DISTANCES, RQL_PLACES_RANKS };

/* Zeroed: places are the values' own. */
struct rql_range_places {
	enum rql_places_form form;
	const struct rql_vector *points;
	rql_uint128 least, greatest; /* numbers: of the points */
	unsigned shift;              /* RANKS: these bits of a number's distance are not in its word */
	/* RANKS. The entries are the points, or the dictionary that their codes are of. */
	bool coded;
	uint64_t *place_of;         /* of each entry: odd, so that there is a place between any two */
	struct rql_sorted in_order; /* entries by the words they begin with, and those of one word in order */
	struct rql_value first;     /* of strings: some entry, of which all share so many bytes */
	uint64_t common;
};

/* Looks at the points, a vector of a rebased set of so many rows. */
rql_status rql_range_places_open(struct rql_running *r, const struct rql_vector *points, uint64_t rows,
                                 struct rql_range_places *out) RQL_MUST_CHECK;
/* For n <= RQL_VECTOR_ROWS rows; they give the rows' validity, NULL: all are. v: of the points' type. */
const uint64_t *rql_point_places(const struct rql_range_places *p, const struct rql_vector *v, const uint32_t *rows,
                                 uint32_t n, struct rql_place_room *room, uint64_t *places);
/* What bounds them: the place of a point that is equal, else one between those of the points on both sides. */
const uint64_t *rql_bound_places(const struct rql_range_places *p, const struct rql_vector *v, const uint32_t *rows,
                                 uint32_t n, struct rql_place_room *room, uint64_t *places);

#endif
