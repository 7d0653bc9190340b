/* A bound request on the rt unit: what cube_rt.c and cube_rt_cost.c share. */
#ifndef RQL_METHOD_CUBE_CUBE_RT_UNIT_H
#define RQL_METHOD_CUBE_CUBE_RT_UNIT_H

#include "method/cube/gpu/cube_unit.h"
#include "method/cube/rt/cube_rt.h"

/* unit->method, in prepared->arena. */
struct rql_cube_rays {
	struct rql_rt_view **views; /* [box_count] */
	/* The plan that prices stand on: over the structure, or over a guess of it when it is not built yet. */
	struct rql_rt_axes axes;
	double primitives;
	struct rql_rt_plan plan;
	/* What runs, from place on. */
	struct rql_arena *arena;
	struct rql_cube_rt *rt;
	struct rql_rt_plan placed;
	struct rql_buffer *tables;
	bool local;      /* HITS: a ray's sums stay in its payload */
	uint64_t copies; /* of the rows; 1: the context's own */
	bool merges;     /* a pass folds copies and counters */
	uint64_t piece;  /* rays of a submission; the recording has the last ones */
};

/* Whether so many rays find something that their counters are kept apart and added up by a pass of their own. */
static inline bool rql_cube_rays_are_many(const struct rql_rt_plan *plan)
{
	return plan->rays > 2048 && plan->reached > 2048;
}

void rql_cube_rays_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif
