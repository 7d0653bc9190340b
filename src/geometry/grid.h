/* The paper's own mapping (RTCUDB section 3.2): a row is a right triangle with its right-angle corner at the
 * integers (a, b, c) and legs along x and y, and a query is a grid of parallel rays along z, half a leg apart. grid.glsl
 * says the same for shaders.
 *
 * No triangle is missed: legs are powers of two from 2 on, rays stand on half-integers, (i + 1) * leg / 2 - 1/2. Exactly
 * one of them lies in each [a, a + leg/2], at least 1/2 from either end, on both axes; and the rectangle
 * [a, a + leg_x/2] x [b, b + leg_y/2] lies in the triangle (u / leg_x + v / leg_y <= 1/2 + 1/2), so that the ray is
 * strictly inside, (1/2 / leg_x + 1/2 / leg_y) short of the hypotenuse. One or two more rays can hit (each half a leg
 * on along one axis), never a fourth: whoever counts must count a row once.
 *
 * A ray beside a triangle that a device reports as a hit does no harm either, as every hit is a row whose z is in the
 * interval, counted once.
 *
 * Range: sizes of up to 2^22 an axis, moved so that they lie around 0; with legs of up to 2^21, all corners are within
 * +-2^22, the limit measured (notes/h200.md), and half-integers are exact there. z has no legs: -1/2 and +1/2 bound an
 * interval of integers. */
#ifndef RQL_GEOMETRY_GRID_H
#define RQL_GEOMETRY_GRID_H

#include <stdint.h>

#define RQL_GRID_BITS 22u
#define RQL_GRID_SIZE (UINT32_C(1) << RQL_GRID_BITS) /* integers of an axis */
#define RQL_GRID_MIN_LEG 1u                          /* a leg is 2^leg long */
#define RQL_GRID_MAX_LEG 21u

/* How the values [0, size) of an axis are laid out. */
struct rql_grid_axis {
	uint32_t size;   /* 1 .. RQL_GRID_SIZE */
	uint32_t leg;    /* log2; RQL_GRID_MIN_LEG .. RQL_GRID_MAX_LEG */
	uint32_t rays;   /* rays beside each other that meet every triangle */
	uint32_t center; /* the value whose coordinate is 0 */
};

/* leg is brought into range. */
struct rql_grid_axis rql_grid_axis_of(uint32_t size, uint32_t leg);
/* Legs for a grid of at most `rays` rays, as far as the range allows: y, where a line is a group, keeps legs of 2
 * while x can be made coarse enough (the paper chooses both by hand for every query). leg_x or leg_y other than 0 is
 * taken as given. */
void rql_grid_choose(uint32_t size_x, uint32_t size_y, uint64_t rays, uint32_t leg_x, uint32_t leg_y,
                     struct rql_grid_axis *x, struct rql_grid_axis *y);

/* Coordinates: a value's, and a ray's. Exact. */
float rql_grid_coordinate(const struct rql_grid_axis *axis, uint32_t value);
float rql_grid_ray(const struct rql_grid_axis *axis, uint32_t index);
/* The first of the rays that hit [value, value + leg/2]. */
uint32_t rql_grid_ray_of(const struct rql_grid_axis *axis, uint32_t value);

#endif
