/* Values of a form's columns as places: numbers that have the values' order, sorted on a GPU with the rows they are of. ASOF
 * joins and joins by ranges look up in them (nearest_kernels.h, ranges_kernels.h). */
#ifndef RQL_METHOD_JOIN_PLACES_H
#define RQL_METHOD_JOIN_PLACES_H

#include "method/join/nearest_kernels.h"
#include "method/request.h"
#include "primitive/lookup/lookup.h"
#include "primitive/relation/relation.h"

#define RQL_PLACES_OF_REALS (UINT64_C(0xfff8000000000000) + 1) /* rql_key_of_real, NaN's is the greatest */
#define RQL_PLACES_SIDE_ROWS (RQL_RELATION_ROWS - RQL_FORM_ROWS)

/* How places are laid out for a side that has so much room. */
struct rql_places_layout {
	uint32_t bits;                        /* of a place */
	uint64_t none, none_step, none_count; /* of rows without a place */
	uint64_t high;                        /* the greatest that there is */
};

/* Places of a column's values, NULL aside; 0: it has none. */
rql_uint128 rql_places_of(const struct rql_store_column *column);
/* Do fields of both say the same? */
bool rql_places_alike(const struct rql_store_column *a, const struct rql_store_column *b);
/* expected: rows that will have a place. */
struct rql_places_layout rql_places_lay_out(uint64_t places, double expected, uint64_t room);
/* The next part of a buffer that is made later. */
struct rql_span rql_places_take(uint64_t *bytes, uint64_t more);
static inline uint64_t rql_places_address(const struct rql_span *span)
{
	return span->buffer ? span->buffer->address + span->offset : 0;
}
/* The map that a side's places become, and the memory that it lies in: *map, the caller's to free. */
rql_status rql_places_open_map(const struct rql_places_layout *layout, uint64_t room, struct rql_device *device,
                               const char *what, struct rql_lookup_build *build, struct rql_buffer **map,
                               struct rql_error *err) RQL_MUST_CHECK;
/* A thread for each row that there is room for. */
rql_status rql_places_record(struct rql_commands *c, struct rql_device *device, const struct rql_nearest_places_args *args,
                             const struct rql_use *uses, uint32_t use_count, struct rql_error *err) RQL_MUST_CHECK;

#endif
