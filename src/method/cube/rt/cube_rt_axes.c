/* Which digits of a cube's key lie on which axis. */
#include <math.h>

#include "method/cube/rt/cube_rt.h"

#define FREE_RAYS 2048.0 /* so many take no longer than one */

uint32_t rql_rt_coarse(uint32_t radix)
{
	uint32_t bits = 0;
	while (radix && (radix - 1) >> bits >= RQL_AXIS_SIZE)
		bits++;
	return bits;
}

static uint32_t size_of(const struct rql_cube *cube, uint32_t digit)
{
	uint32_t radix = cube->digits[digit].radix;
	return radix ? ((radix - 1) >> rql_rt_coarse(radix)) + 1 : 1;
}

/* Product of the sizes of digits [begin, end); 0: more than an axis holds. */
static uint32_t product(const struct rql_cube *cube, uint32_t begin, uint32_t end)
{
	uint64_t size = 1;
	for (uint32_t d = begin; d < end; d++)
		if ((size *= size_of(cube, d)) > RQL_AXIS_SIZE)
			return 0;
	return (uint32_t)size;
}

/* A digit that lost bits decides nothing behind it, so it can only be the last. */
static bool can_follow(const struct rql_cube *cube, uint32_t depth)
{
	for (uint32_t d = 0; d + 1 < depth; d++)
		if (rql_rt_coarse(cube->digits[d].radix))
			return false;
	return true;
}

bool rql_rt_fold(const struct rql_cube *cube, uint32_t depth, struct rql_rt_axes *out)
{
	if (!can_follow(cube, depth))
		return false;
	/* As much as possible into z, where an interval costs one ray; x and y alike in size, for the builders' sake. */
	uint32_t first[4] = {0, 0, depth, depth}; /* the axes' first digits */
	while (first[2] > 0 && product(cube, first[2] - 1, depth))
		first[2]--;
	uint32_t best = UINT32_MAX;
	for (uint32_t y = 0; y <= first[2]; y++) {
		uint32_t x_size = product(cube, 0, y), y_size = product(cube, y, first[2]);
		uint32_t larger = x_size > y_size ? x_size : y_size;
		if (x_size && y_size && larger < best) {
			best = larger;
			first[1] = y;
		}
	}
	if (best == UINT32_MAX)
		return false;
	*out = (struct rql_rt_axes){.depth = depth};
	for (uint32_t axis = 0; axis < 3; axis++) {
		uint32_t stride = 1;
		for (uint32_t d = first[axis + 1]; d-- > first[axis];) {
			out->digits[d] = (struct rql_rt_axis_digit){.axis = axis,
			                                            .stride = stride,
			                                            .size = size_of(cube, d),
			                                            .coarse = rql_rt_coarse(cube->digits[d].radix)};
			stride *= out->digits[d].size;
		}
		out->size[axis] = stride;
	}
	out->shift = rql_axis_shift(out->size[0], out->size[1], out->size[2]);
	return true;
}

/* The deepest that fits. */
static uint32_t most_depth(const struct rql_cube *cube)
{
	struct rql_rt_axes axes;
	uint32_t depth = 0;
	while (depth < cube->digit_count && rql_rt_fold(cube, depth + 1, &axes))
		depth++;
	return depth;
}

double rql_rt_run_rays = 8;

bool rql_rt_is_sparse(const struct rql_rt_axes *axes, uint64_t runs)
{
	double places = (double)axes->size[0] * axes->size[1];
	return places > FREE_RAYS && places > rql_rt_run_rays * (double)runs;
}

uint32_t rql_rt_choose_depth(const struct rql_cube *cube, const uint64_t *runs, const struct rql_device *device)
{
	struct rql_rt_axes axes;
	double each = device->profile.primitive_bytes + 8; /* besides its share of the structure: its start and its z */
	double by_rows = (double)cube->relation.rows * RQL_RT_ROW_BYTES / each;
	double by_memory = (double)device->memory_bytes / RQL_RT_SMALL_SHARE / each;
	double most = fmax(by_rows, by_memory);
	uint32_t depth = most_depth(cube);
	/* The first digit alone is on z, so that this ends with one ray at the latest. */
	while (depth > 1 &&
	       ((double)runs[depth] > most || !rql_rt_fold(cube, depth, &axes) || rql_rt_is_sparse(&axes, runs[depth])))
		depth--;
	return depth;
}

double rql_rt_guess_runs(const struct rql_cube *cube, uint32_t depth)
{
	double combinations = 1, cells = (double)cube->relation.cells;
	for (uint32_t d = 0; d < depth; d++)
		combinations = fmin(combinations * size_of(cube, d), 1e30);
	/* Cells thrown at random into the combinations; those of a rolled-up cube are different ones at full depth. */
	if (depth == cube->digit_count && cube->relation.rolled_up)
		return cells;
	return combinations * -expm1(-cells / combinations);
}
