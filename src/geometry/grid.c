/* The paper's grid: how long legs are, which rays a query has, and where each of them goes. */
#include "geometry/grid.h"

struct rql_grid_axis rql_grid_axis_of(uint32_t size, uint32_t leg)
{
	leg = leg < RQL_GRID_MIN_LEG ? RQL_GRID_MIN_LEG : leg > RQL_GRID_MAX_LEG ? RQL_GRID_MAX_LEG : leg;
	size = size ? size : 1;
	uint32_t step = UINT32_C(1) << (leg - 1);
	return (struct rql_grid_axis){.size = size, .leg = leg, .rays = (size - 1) / step + 1, .center = size / 2};
}

void rql_grid_choose(uint32_t size_x, uint32_t size_y, uint64_t rays, uint32_t leg_x, uint32_t leg_y,
                     struct rql_grid_axis *x, struct rql_grid_axis *y)
{
	*x = rql_grid_axis_of(size_x, leg_x);
	*y = rql_grid_axis_of(size_y, leg_y);
	while (!leg_x && (uint64_t)x->rays * y->rays > rays && x->rays > 1 && x->leg < RQL_GRID_MAX_LEG)
		*x = rql_grid_axis_of(size_x, x->leg + 1);
	while (!leg_y && (uint64_t)x->rays * y->rays > rays && y->rays > 1 && y->leg < RQL_GRID_MAX_LEG)
		*y = rql_grid_axis_of(size_y, y->leg + 1);
}

float rql_grid_coordinate(const struct rql_grid_axis *axis, uint32_t value)
{
	return (float)((int32_t)value - (int32_t)axis->center);
}

float rql_grid_ray(const struct rql_grid_axis *axis, uint32_t index)
{
	return (float)((int32_t)((index + 1) << (axis->leg - 1)) - (int32_t)axis->center) - 0.5f;
}

uint32_t rql_grid_ray_of(const struct rql_grid_axis *axis, uint32_t value)
{
	return value >> (axis->leg - 1);
}
