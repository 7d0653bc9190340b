/* Keys as triangles, boxes and rays, on the CPU: key.h says what holds. */
#include "geometry/key.h"
#include "util/bits.h"

#include <string.h>

/* A place on x and half the unit around it. */
struct place {
	float at, half;
};

static float float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static struct place place_of(const struct rql_key_space *space, uint32_t axis, uint32_t value)
{
	if (axis == 0 && space->stride) {
		uint32_t gap = UINT32_C(1) << (space->stride - 1);
		uint32_t bits = RQL_KEY_FIRST_FLOAT + (value << space->stride) + gap;
		return (struct place){float_of(bits), float_of(bits + gap) - float_of(bits)};
	}
	float unit = rql_axis_unit(space->shift[axis]);
	return (struct place){(float)value * unit, 0.5f * unit};
}

static void places_of(const struct rql_key_space *space, struct rql_axis_point point, struct place place[3])
{
	place[0] = place_of(space, 0, point.x);
	place[1] = place_of(space, 1, point.y);
	place[2] = place_of(space, 2, point.z);
}

bool rql_key_space_valid(const struct rql_key_space *space)
{
	for (unsigned axis = 0; axis < 3; axis++)
		if (space->shift[axis] > RQL_AXIS_MAX_SHIFT || (!space->stride && space->bits[axis] > RQL_AXIS_BITS))
			return false;
	if (space->stride)
		return space->stride <= RQL_KEY_MAX_STRIDE && space->bits[0] == 30 - space->stride && !space->bits[1] &&
		       !space->bits[2] && !space->shift[0];
	return space->bits[0] + space->bits[1] + space->bits[2] <= 64;
}

struct rql_key_space rql_key_space_lattice(uint32_t bits, bool scaled)
{
	struct rql_key_space space = {.stride = 0};
	for (unsigned axis = 0; axis < 3; axis++) {
		space.bits[axis] = bits < RQL_AXIS_BITS ? bits : RQL_AXIS_BITS;
		bits -= space.bits[axis];
	}
	if (scaled)
		rql_key_space_scale(&space);
	return space;
}

/* Rays of ranges run along x: it becomes as long as y at most; z, along which points are looked up, likewise. */
void rql_key_space_scale(struct rql_key_space *space)
{
	for (unsigned axis = 0; axis < 3 && space->bits[1]; axis += 2)
		space->shift[axis] = space->bits[axis] > space->bits[1] ? space->bits[axis] - space->bits[1] : 0;
}

struct rql_key_space rql_key_space_extended(uint32_t stride)
{
	stride = stride < 1 ? 1 : stride > RQL_KEY_MAX_STRIDE ? RQL_KEY_MAX_STRIDE : stride;
	return (struct rql_key_space){.bits = {30 - stride, 0, 0}, .stride = stride};
}

uint64_t rql_key_last(const struct rql_key_space *space)
{
	uint32_t bits = space->bits[0] + space->bits[1] + space->bits[2];
	return rql_bit_mask(bits);
}

bool rql_key_fits(const struct rql_key_space *space, uint64_t key)
{
	return key <= rql_key_last(space);
}

static uint32_t low_bits(uint64_t value, uint32_t bits)
{
	return (uint32_t)value & ((UINT32_C(1) << bits) - 1);
}

struct rql_axis_point rql_key_point(const struct rql_key_space *space, uint64_t key)
{
	uint64_t above = key >> space->bits[0];
	return (struct rql_axis_point){.x = low_bits(key, space->bits[0]),
	                               .y = low_bits(above, space->bits[1]),
	                               .z = low_bits(above >> space->bits[1], space->bits[2])};
}

uint64_t rql_key_of(const struct rql_key_space *space, struct rql_axis_point point)
{
	return ((((uint64_t)point.z << space->bits[1]) | point.y) << space->bits[0]) | point.x;
}

static void corners_of(const struct place place[3], float corner[9])
{
	/* In halves of a unit. */
	static const float offset[3][3] = {{1, -1, 0}, {-1, 0, 1}, {0, 1, -1}};
	for (unsigned i = 0; i < 3; i++)
		for (unsigned axis = 0; axis < 3; axis++)
			corner[3 * i + axis] = place[axis].at + offset[i][axis] * place[axis].half;
}

void rql_key_triangle(const struct rql_key_space *space, uint64_t key, float corner[9])
{
	struct place place[3];
	places_of(space, rql_key_point(space, key), place);
	corners_of(place, corner);
}

void rql_key_triangle_at(const struct rql_key_space *space, const int32_t point[3], float corner[9])
{
	struct place place[3];
	for (unsigned axis = 0; axis < 3; axis++) {
		float unit = rql_axis_unit(space->shift[axis]);
		place[axis] = (struct place){(float)point[axis] * unit, 0.5f * unit};
	}
	corners_of(place, corner);
}

void rql_key_box(const struct rql_key_space *space, uint64_t key, float box[6])
{
	struct place place[3];
	places_of(space, rql_key_point(space, key), place);
	for (unsigned axis = 0; axis < 3; axis++) {
		/* Extended with stride 1 has nothing between a point and its half unit: the box is as wide as the unit. */
		float half = axis == 0 && space->stride == 1 ? place[axis].half : 0.5f * place[axis].half;
		box[axis] = place[axis].at - half;
		box[axis + 3] = place[axis].at + half;
	}
}

bool rql_key_form_fits(const struct rql_key_space *space, enum rql_key_form form)
{
	return form != RQL_KEY_OFFSET || !space->stride;
}

/* Along x through the line of (y, z), from `low` to `high` of x. */
static struct rql_key_ray ray_along(const struct rql_key_space *space, enum rql_key_form form,
                                    struct rql_axis_point low, uint32_t high)
{
	struct place place[3], end = place_of(space, 0, high);
	places_of(space, low, place);
	float from = place[0].at - place[0].half, to = end.at + end.half;
	struct rql_key_ray ray = {.origin = {from, place[1].at, place[2].at}, .direction = {1, 0, 0}, .tmax = to - from};
	if (form == RQL_KEY_ZERO) {
		/* The lattice's first plane is half a unit before its first key, and t is not negative. */
		ray.origin[0] = space->stride ? 0.0f : -place[0].half;
		ray.tmin = from - ray.origin[0];
		ray.tmax = to - ray.origin[0];
	}
	return ray;
}

struct rql_key_ray rql_key_ray_point(const struct rql_key_space *space, enum rql_key_form form, uint64_t key)
{
	struct rql_axis_point point = rql_key_point(space, key);
	if (form != RQL_KEY_PERPENDICULAR)
		return ray_along(space, form, point, point.x);
	struct place place[3];
	places_of(space, point, place);
	return (struct rql_key_ray){.origin = {place[0].at, place[1].at, place[2].at - place[2].half},
	                            .direction = {0, 0, 1},
	                            .tmax = 2.0f * place[2].half};
}

uint64_t rql_key_ray_count(const struct rql_key_space *space, uint64_t low, uint64_t high)
{
	return low > high ? 0 : (high >> space->bits[0]) - (low >> space->bits[0]) + 1;
}

struct rql_key_ray rql_key_ray_range(const struct rql_key_space *space, enum rql_key_form form, uint64_t low,
                                     uint64_t high, uint64_t index)
{
	uint64_t first = low >> space->bits[0], line = first + index;
	struct rql_axis_point point = rql_key_point(space, line << space->bits[0]);
	point.x = line == first ? low_bits(low, space->bits[0]) : 0;
	uint32_t end = line == high >> space->bits[0] ? low_bits(high, space->bits[0])
	                                              : low_bits(UINT64_MAX, space->bits[0]);
	return ray_along(space, form, point, end);
}

/* From half a unit above `value` to half a unit behind the last of an axis. */
static float ray_above(const struct rql_key_space *space, unsigned axis, uint32_t value, float *length)
{
	float unit = rql_axis_unit(space->shift[axis]);
	float from = ((float)value + 0.5f) * unit, to = ((float)(UINT32_C(1) << space->bits[axis]) - 0.5f) * unit;
	*length = to > from ? to - from : -1.0f;
	return from;
}

struct rql_key_ray rql_key_ray_lines(const struct rql_key_space *space, uint32_t y, uint32_t z)
{
	struct rql_key_ray ray = {.direction = {0, 1, 0}};
	ray.origin[0] = -rql_axis_unit(space->shift[0]);
	ray.origin[1] = ray_above(space, 1, y, &ray.tmax);
	ray.origin[2] = (float)z * rql_axis_unit(space->shift[2]);
	return ray;
}

struct rql_key_ray rql_key_ray_planes(const struct rql_key_space *space, uint32_t z)
{
	struct rql_key_ray ray = {.direction = {0, 0, 1}};
	ray.origin[0] = -rql_axis_unit(space->shift[0]);
	ray.origin[1] = -rql_axis_unit(space->shift[1]);
	ray.origin[2] = ray_above(space, 2, z, &ray.tmax);
	return ray;
}
