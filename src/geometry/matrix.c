/* Cubes, triangles of one column, cells, and the rays that meet them. */
#include "geometry/matrix.h"

uint32_t rql_matrix_epsilon(uint32_t bits)
{
	return bits > 23 ? UINT32_C(1) << (bits - 23) : 1;
}

struct rql_matrix_line rql_matrix_across(uint32_t low, uint32_t high, uint32_t center, uint32_t interval)
{
	return (struct rql_matrix_line){.first = rql_matrix_place(low, center) + 0.5f * (float)interval,
	                                .step = (float)interval,
	                                .count = (high - low) / interval + 1};
}

struct rql_matrix_line rql_matrix_along(uint32_t low, uint32_t high, uint32_t center, uint32_t length,
                                        uint32_t spacing)
{
	return (struct rql_matrix_line){.first = rql_matrix_place(low, center) + 0.5f * (float)spacing,
	                                .step = (float)(length + spacing),
	                                .count = (high - low) / (length + spacing) + 1};
}

struct rql_matrix_line rql_matrix_legs(uint32_t low, uint32_t high, uint32_t center, uint32_t leg)
{
	/* The last half-integer that may be needed is high + 1/2: of [v, v + leg) there is one for every v. */
	return (struct rql_matrix_line){.first = rql_matrix_place(low, center) + 0.5f,
	                                .step = (float)leg,
	                                .count = (high - low + leg - 1) / leg + 1};
}

struct rql_matrix_line rql_matrix_lines(uint32_t low, uint32_t high, float unit)
{
	return (struct rql_matrix_line){.first = (float)low * unit, .step = unit, .count = high - low + 1};
}

void rql_matrix_cube(const uint32_t value[3], const uint32_t center[3], uint32_t width, float box[6])
{
	for (unsigned axis = 0; axis < 3; axis++) {
		const float at = rql_matrix_place(value[axis], center[axis]), half = 0.5f * (float)width;
		box[axis] = at - half;
		box[3 + axis] = at + half;
	}
}

void rql_matrix_leg(uint32_t value, uint32_t center, uint32_t leg, float corner[9])
{
	const float at = rql_matrix_place(value, center), s = (float)leg;
	const float corners[9] = {at + s, 0, 0, at, 0, s, at, s, -s};
	for (unsigned i = 0; i < 9; i++)
		corner[i] = corners[i];
}

void rql_matrix_cell(const uint32_t value[3], float unit_x, float corner[9])
{
	const float at[3] = {(float)value[0] * unit_x, (float)value[1], (float)value[2]};
	const float half[3] = {0.5f * unit_x, 0.5f, 0.5f};
	static const float sign[3][3] = {{1, -1, 0}, {-1, 0, 1}, {0, 1, -1}};
	for (unsigned c = 0; c < 3; c++)
		for (unsigned axis = 0; axis < 3; axis++)
			corner[3 * c + axis] = at[axis] + sign[c][axis] * half[axis];
}
