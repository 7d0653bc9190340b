/* Matrix RT Refine (RTScan 4.4): rows as cubes, and matrices of short rays, some distance apart, that meet every cube
 * whose centre lies in a box; RTc1's triangles (2.3); and cells, whose rays run along y or z. matrix.glsl makes the
 * same primitives in shaders.
 *
 * No cube is missed. Centres are integers. Rays across an axis stand `interval` apart, the first half of that above the
 * box's least value, so each value is within interval / 2 of one. Along their axis rays are `length` long and `spacing`
 * apart, the first half of that above the least value: each value is within spacing / 2 of one. A cube is wider than
 * either, by epsilon at least. So a ray is half of epsilon inside of it, at least.
 * Devices may report more boxes than a ray meets; whoever is told of one tests its row.
 *
 * Epsilon (4.4.4) is twice what float32 loses of a coordinate: 2^(K - 23) for coordinates below 2^K. Here coordinates
 * lie around 0 and are below 2^22, so nothing is lost, and one unit stands for what traversal itself rounds.
 *
 * RTc1: a value k is the triangle (k + s, 0, 0), (k, 0, s), (k, s, -s), which rays along y at z = 0 meet at every x
 * strictly between k and k + s. They stand on half-integers, s apart: exactly one of them is in there, half a unit from
 * either end at least.
 *
 * Cells: a cell's triangle lies in the plane x + y + z = 0 around its integer point, as a key's does (key.h). x is
 * scaled by 2^-shift, which rounds nothing. Rays of other cells are half a unit beside it. */
#ifndef RQL_GEOMETRY_MATRIX_H
#define RQL_GEOMETRY_MATRIX_H

#include <stdint.h>

/* Coordinates are below 2^RQL_MATRIX_BITS. */
#define RQL_MATRIX_BITS 22u
/* Values of an axis; around 0 they are below 2^22 with the cubes around them, up to RQL_MATRIX_MOST_INTERVAL wide. */
#define RQL_MATRIX_SIZE ((UINT32_C(1) << 22) + 2u)
#define RQL_MATRIX_MOST_INTERVAL (UINT32_C(1) << 20)

/* 4.4.4, at least 1: for coordinates below 2^bits. */
uint32_t rql_matrix_epsilon(uint32_t bits);

/* Rays over one axis of a box: they stand, or begin, at first + i * step, i < count. */
struct rql_matrix_line {
	float first, step;
	uint32_t count;
};
static inline float rql_matrix_place(uint32_t value, uint32_t center)
{
	return (float)((int32_t)value - (int32_t)center);
}
/* low <= high, interval >= 1. */
struct rql_matrix_line rql_matrix_across(uint32_t low, uint32_t high, uint32_t center, uint32_t interval);
/* length >= 1. */
struct rql_matrix_line rql_matrix_along(uint32_t low, uint32_t high, uint32_t center, uint32_t length,
                                        uint32_t spacing);
/* RTc1's, over the triangles of values [low, high], whose legs are `leg` long. */
struct rql_matrix_line rql_matrix_legs(uint32_t low, uint32_t high, uint32_t center, uint32_t leg);
/* Cells: one ray for each value; unit: of the axis. */
struct rql_matrix_line rql_matrix_lines(uint32_t low, uint32_t high, float unit);

/* Least x y z, greatest x y z. */
void rql_matrix_cube(const uint32_t value[3], const uint32_t center[3], uint32_t width, float box[6]);
/* Corners x y z each. */
void rql_matrix_leg(uint32_t value, uint32_t center, uint32_t leg, float corner[9]);
void rql_matrix_cell(const uint32_t value[3], float unit_x, float corner[9]);

#endif
