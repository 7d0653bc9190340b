/* The price of a request on the rt unit (design.md, "Cost model"). */
#include <math.h>

#include "method/cube/rt/cube_rt_unit.h"

void rql_cube_rays_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const struct rql_cube_unit *unit = p->unit;
	const struct rql_cube_rays *rays = unit->method;
	const struct rql_rt_plan *plan = &rays->plan;
	const struct rql_cube *cube = p->cube;
	double arrays = (double)rql_cube_arrays_bytes(cube), setup = 0;
	double primitive_bytes = profile->primitive_bytes + 8; /* with its start and z */
	if (!rql_cube_is_placed(cube, device, RQL_CUBE_ARRAYS, NULL, NULL))
		setup += arrays / profile->upload_gbps + profile->submit_ns;
	/* The runs are counted and written, two readings of the keys, before the triangles are built. */
	if (!rql_cube_is_placed(cube, device, RQL_CUBE_RT, NULL, NULL))
		setup += rays->primitives * profile->primitive_ns + 2 * (double)cube->relation.cells * profile->tested_cell_ns +
		         4 * profile->submit_ns;
	double bytes = plan->cells * (double)plan->cell_bits / 8 + plan->found * 16;
	double work = fmax(plan->work_ns, bytes / profile->read_gbps);
	*out = (struct rql_cost){
		.setup_ns = setup,
		.run_ns = profile->submit_ns + (rql_cube_rays_are_many(plan) ? 2 : 1) * profile->pass_ns + work +
	              p->groups * profile->group_ns,
		.transfer_ns = rql_cube_unit_answer_ns(unit, device),
		.rows_out = p->groups,
		.device_bytes = (uint64_t)(arrays + rays->primitives * primitive_bytes) + rql_cube_unit_bytes(unit),
		.cells = p->qualifying,
		.runs = plan->mode == RQL_RT_PAIR ? plan->second_rays : plan->found,
		.rays = (double)plan->rays + plan->second_rays,
		.hits = plan->mode == RQL_RT_PAIR ? 2 * plan->second_rays : plan->reached,
		.bytes = bytes,
	};
}
