/* Integer keys as float32 coordinates, and the rays that find them: exactness of the rt units lives here (design.md,
 * "Exactness"). axis.glsl says the same for shaders; the selftest compares the two bit by bit.
 *
 * A point (x, y, z) is a triangle of its own in the plane of its z. Queries are rays along z: a ray belongs to one
 * (x, y) and sees the points whose z is in an inclusive interval, which is the paper's query area (RTCUDB section
 * 3.2) one column wide, so that no ray ever sees another's points and nothing has to be counted once only.
 *
 * Range: every coordinate is below RQL_AXIS_SIZE. Corners and ray ends are multiples of one half, and float32 holds
 * these up to 2^23. z is scaled by a power of two, which rounds nothing (unless it underflows: shift is at most
 * RQL_AXIS_MAX_SHIFT). All sums and differences below are exact; what the traversal adds stays below the half unit
 * between a ray's end and the nearest point (measured: notes/vulkan.md 1.3, notes/h200.md; 2^23 fails on some). */
#ifndef RQL_GEOMETRY_AXIS_H
#define RQL_GEOMETRY_AXIS_H

#include <stdbool.h>
#include <stdint.h>

/* Integers that every device distinguishes on an axis: 2^22 of them. */
#define RQL_AXIS_BITS 22u
#define RQL_AXIS_SIZE (UINT32_C(1) << RQL_AXIS_BITS)
#define RQL_AXIS_MAX_SHIFT 40u

struct rql_axis_point {
	uint32_t x, y, z;
};
struct rql_axis_ray {
	float origin[3];
	float step;   /* direction (0, 0, step): 1 or -1 */
	float extent; /* tmax; tmin is 0. Not above 0: the interval is empty, nothing must be traced */
};

/* The scale of z: 2^-shift. Builders split the longest side first, and rays that run along it then cross every part, so
 * z must not be longer than x and y (notes/h200.md, "Aspect ratio": 30 times). For `sizes` of the three axes. */
uint32_t rql_axis_shift(uint32_t size_x, uint32_t size_y, uint32_t size_z);
float rql_axis_unit(uint32_t shift);

/* The three corners, x y z each, as acceleration structures take them. The point is strictly inside: a quarter of a
 * unit from the sides and half a unit from the base. Neighbours' triangles meet in corners and edges only. */
void rql_axis_triangle(struct rql_axis_point point, float unit, float corner[9]);

/* The rays through z in [low, high], from below and from above; low > high: empty. */
struct rql_axis_ray rql_axis_ray_up(uint32_t x, uint32_t y, uint32_t low, uint32_t high, float unit);
struct rql_axis_ray rql_axis_ray_down(uint32_t x, uint32_t y, uint32_t low, uint32_t high, float unit);

#endif
