/* What a cube has in a device's memory beside itself, made on first need and kept with the cube (device/placement.h): one
 * placement for its arrays (unit compute, and what the others read), one for an acceleration structure of its keys (rt),
 * one for each of the paper's structures (rt, layout = paper). */
#ifndef RQL_METHOD_CUBE_CUBE_PLACE_H
#define RQL_METHOD_CUBE_CUBE_PLACE_H

#include "device/placement.h"
#include "device/trace.h"
#include "method/cube/cube.h"

/* key: NULL for all kinds of which a cube has one. */
static inline struct rql_place rql_cube_place(const struct rql_cube *cube, const char *kind, const char *key)
{
	return (struct rql_place){.owner = cube, .kind = kind, .key = key, .kept = true};
}
static inline rql_status rql_cube_get(const struct rql_cube *cube, struct rql_device *device, const char *kind,
                                      const char *key, rql_placement_make *make, void *state,
                                      struct rql_placement **out, struct rql_error *err)
{
	const struct rql_place at = rql_cube_place(cube, kind, key);
	return rql_placement_get(&at, device, make, state, out, err);
}
static inline bool rql_cube_is_placed(const struct rql_cube *cube, const struct rql_device *device, const char *kind,
                                      const char *key, const char **failure)
{
	const struct rql_place at = rql_cube_place(cube, kind, key);
	return rql_placement_there(&at, device, failure);
}

#endif
