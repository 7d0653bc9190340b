/* Integer keys of up to 64 bits as points of a scene, and the rays that look them up (RTIndeX sections 3.2 to 3.5).
 * key.glsl says the same for shaders; the selftest compares the two bit by bit.
 *
 * A space says how a key becomes a point. The lattice cuts the key's bits into integers x, y, z, x from the least
 * significant ones; with x alone it is the paper's naive mode, else its 3D mode. The extended mode has x alone, and
 * takes every 2^stride-th float32 from 0.5 on. Keys along x keep their order, so that a range is one ray for each line
 * (y, z) which it crosses.
 *
 * A point is one triangle in the plane x + y + z = 0 around it, with corners (1/2, -1/2, 0), (-1/2, 0, 1/2) and
 * (0, 1/2, -1/2), in units. Rays along x and along z both pass through its centroid. Rays of other lines are half a unit
 * beside it at least, and rays along its own line end half a unit before or behind it.
 *
 * Range. Lattice: 2^22 integers an axis (the paper has 23 bits; design.md has what devices were measured to hold), as
 * many bits as the three axes have. Corners and ray ends are multiples of one half below 2^22, which float32 holds;
 * scaling by 2^-shift rounds nothing. Extended: 2^(30 - stride) keys. Its unit is 2^stride float32 steps, and keys are
 * odd multiples of half of it, so that none lies where the exponent changes and both halves of a unit are equally
 * long. These coordinates are exact for every stride from 1, the paper's. What a device finds with them is another
 * matter: half a unit is 2^(stride - 1) steps, and devices round the place of a hit by a few (2^23 integers, which is
 * one step, fail: notes/h200.md). From stride 6 on half a unit is 32 steps at least. */
#ifndef RQL_GEOMETRY_KEY_H
#define RQL_GEOMETRY_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "geometry/axis.h"

#define RQL_KEY_MAX_STRIDE 22u
#define RQL_KEY_FIRST_FLOAT UINT32_C(0x3f000000) /* 0.5: the paper's constant C */

struct rql_key_space {
	uint32_t bits[3];  /* of x, y, z; at most RQL_AXIS_BITS each. Extended: 30 - stride, 0, 0 */
	uint32_t shift[3]; /* an axis is scaled by 2^-shift; at most RQL_AXIS_MAX_SHIFT. Extended: x has 0 */
	uint32_t stride;   /* 0: the lattice. Else extended, 1 .. RQL_KEY_MAX_STRIDE */
};
enum rql_key_form {
	RQL_KEY_OFFSET,       /* along x, from half a unit before the range to half a unit behind it */
	RQL_KEY_ZERO,         /* along x, from the first plane on; tmin leaves out what lies before the range */
	RQL_KEY_PERPENDICULAR /* along z, through one key only */
};
struct rql_key_ray {
	float origin[3];
	float direction[3]; /* 1 along one axis */
	float tmin, tmax;
};

/* The whole of the contract: everything below is for spaces of which this is true. */
bool rql_key_space_valid(const struct rql_key_space *space);
/* The lattice for keys of `bits` (0 .. 64): x as long as it can be (section 3.4), then y, then z. */
struct rql_key_space rql_key_space_lattice(uint32_t bits, bool scaled);
/* `scaled`: x and z of a lattice, along which rays run, are made no longer than y where there is one (notes/h200.md,
 * "Aspect ratio"). */
void rql_key_space_scale(struct rql_key_space *space);
struct rql_key_space rql_key_space_extended(uint32_t stride);

bool rql_key_fits(const struct rql_key_space *space, uint64_t key);
/* The number of keys less one: the greatest key. */
uint64_t rql_key_last(const struct rql_key_space *space);
/* Where a key is on the three axes, and back. */
struct rql_axis_point rql_key_point(const struct rql_key_space *space, uint64_t key);
uint64_t rql_key_of(const struct rql_key_space *space, struct rql_axis_point point);

/* For keys that fit. Corners x y z each, as acceleration structures take them. */
void rql_key_triangle(const struct rql_key_space *space, uint64_t key, float corner[9]);
/* Least x y z, greatest x y z: a quarter of a unit around the point, so that rays start and end outside of it
 * (section 3.5). Devices may report boxes that a ray passes by: the shader tests the key. */
void rql_key_box(const struct rql_key_space *space, uint64_t key, float box[6]);

/* Markers (cgRX; papers/002, section 3.2), of the lattice: x is -1 for a marker of line (y, z), x and y are -1 for one
 * of plane z. Other points may be given as well. Rays along y and along z pass through a triangle's centroid, too, and
 * those at x = -1 half a unit or more beside the triangles of keys. */
void rql_key_triangle_at(const struct rql_key_space *space, const int32_t point[3], float corner[9]);
/* Along y at x = -1 in plane z, from the line above y on: the markers of later lines. Along z at x = y = -1, from the
 * plane above z on. tmax below 0: there is none above. */
struct rql_key_ray rql_key_ray_lines(const struct rql_key_space *space, uint32_t y, uint32_t z);
struct rql_key_ray rql_key_ray_planes(const struct rql_key_space *space, uint32_t z);

/* Extended mode has no OFFSET (half units of both ends differ), and a range no PERPENDICULAR. */
bool rql_key_form_fits(const struct rql_key_space *space, enum rql_key_form form);
struct rql_key_ray rql_key_ray_point(const struct rql_key_space *space, enum rql_key_form form, uint64_t key);
/* How many rays [low, high] needs: one for each line that it crosses; low > high: 0. */
uint64_t rql_key_ray_count(const struct rql_key_space *space, uint64_t low, uint64_t high);
/* The one of number `index` below that; form OFFSET or ZERO. */
struct rql_key_ray rql_key_ray_range(const struct rql_key_space *space, enum rql_key_form form, uint64_t low,
                                     uint64_t high, uint64_t index);

#endif
