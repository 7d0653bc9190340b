/* Coordinates of integer keys, and the ends of their rays, as axis.h defines them. */
#include "geometry/axis.h"

static uint32_t bits_of(uint32_t size)
{
	return size > 1 ? 32 - (uint32_t)__builtin_clz(size - 1) : 0;
}

uint32_t rql_axis_shift(uint32_t size_x, uint32_t size_y, uint32_t size_z)
{
	/* As long as x and y are in the (geometric) mean. */
	uint32_t wanted = (bits_of(size_x) + bits_of(size_y)) / 2, have = bits_of(size_z);
	return have > wanted ? have - wanted : 0;
}

float rql_axis_unit(uint32_t shift)
{
	return 1.0f / (float)(UINT64_C(1) << shift);
}

void rql_axis_triangle(struct rql_axis_point point, float unit, float corner[9])
{
	float x = (float)point.x, y = (float)point.y, z = (float)point.z * unit;
	corner[0] = x - 0.5f;
	corner[1] = y - 0.5f;
	corner[2] = z;
	corner[3] = x + 0.5f;
	corner[4] = y - 0.5f;
	corner[5] = z;
	corner[6] = x;
	corner[7] = y + 0.5f;
	corner[8] = z;
}

/* high - low + 1, or 0. */
static float length_of(uint32_t low, uint32_t high, float unit)
{
	return low > high ? 0.0f : (float)(high - low + 1) * unit;
}

struct rql_axis_ray rql_axis_ray_up(uint32_t x, uint32_t y, uint32_t low, uint32_t high, float unit)
{
	return (struct rql_axis_ray){
		.origin = {(float)x, (float)y, ((float)low - 0.5f) * unit}, .step = 1.0f, .extent = length_of(low, high, unit)};
}

struct rql_axis_ray rql_axis_ray_down(uint32_t x, uint32_t y, uint32_t low, uint32_t high, float unit)
{
	return (struct rql_axis_ray){.origin = {(float)x, (float)y, ((float)high + 0.5f) * unit},
	                             .step = -1.0f,
	                             .extent = length_of(low, high, unit)};
}
