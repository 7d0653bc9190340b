/* What structures do with cubes: placed ahead of their first query. */
#include "method/cube/cube_arrays.h"
#include "method/cube/cube_rt.h"

rql_status rql_cube_place_for(const struct rql_cube *cube, struct rql_device *device, enum rql_unit unit,
                              struct rql_error *err)
{
	if (unit == RQL_UNIT_RT) {
		struct rql_cube_rt *rt;
		RQL_TRY(rql_cube_rt_get(cube, device, NULL, &rt, err));
		rql_placement_release(&rt->placement);
		return RQL_OK;
	}
	if (unit != RQL_UNIT_COMPUTE)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a cube is not placed for unit %s", rql_unit_name(unit));
	struct rql_cube_arrays *arrays;
	RQL_TRY(rql_cube_arrays_get(cube, device, &arrays, err));
	rql_placement_release(&arrays->placement);
	return RQL_OK;
}
