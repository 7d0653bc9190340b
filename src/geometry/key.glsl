// key.h for shaders; what is said there holds here.
#ifndef RQL_GEOMETRY_KEY_GLSL
#define RQL_GEOMETRY_KEY_GLSL

#define RQL_KEY_OFFSET 0u
#define RQL_KEY_ZERO 1u
#define RQL_KEY_PERPENDICULAR 2u

struct rql_key_space {
	uint bits[3];
	uint shift[3];
	uint stride;
};
struct rql_key_ray {
	vec3 origin, direction;
	float tmin, tmax;
};

uint rql_key_low_bits(uint64_t value, uint bits)
{
	return uint(value) & ((1u << bits) - 1u);
}

uvec3 rql_key_point(rql_key_space space, uint64_t key)
{
	uint64_t above = key >> space.bits[0];
	return uvec3(rql_key_low_bits(key, space.bits[0]), rql_key_low_bits(above, space.bits[1]),
	             rql_key_low_bits(above >> space.bits[1], space.bits[2]));
}

uint64_t rql_key_of(rql_key_space space, uvec3 point)
{
	return (((uint64_t(point.z) << space.bits[1]) | uint64_t(point.y)) << space.bits[0]) | uint64_t(point.x);
}

// 2^-shift.
float rql_key_unit(uint shift)
{
	return uintBitsToFloat((127u - shift) << 23u);
}

// A place on an axis and half the unit around it.
vec2 rql_key_place(rql_key_space space, uint axis, uint value)
{
	if (axis == 0u && space.stride != 0u) {
		uint gap = 1u << (space.stride - 1u), number = 0x3f000000u + (value << space.stride) + gap;
		precise float half_unit = uintBitsToFloat(number + gap) - uintBitsToFloat(number);
		return vec2(uintBitsToFloat(number), half_unit);
	}
	float unit = rql_key_unit(space.shift[axis]);
	precise float at = float(value) * unit;
	return vec2(at, 0.5 * unit);
}

void rql_key_corners(vec2 place, uint axis, inout float corner[9])
{
	precise float above = place.x + place.y, below = place.x - place.y;
	// Each axis has one corner above, one below and one at the point: (1, -1, 0), (-1, 0, 1), (0, 1, -1).
	corner[axis] = axis == 0u ? above : axis == 1u ? below : place.x;
	corner[3u + axis] = axis == 0u ? below : axis == 1u ? place.x : above;
	corner[6u + axis] = axis == 0u ? place.x : axis == 1u ? above : below;
}

void rql_key_triangle(rql_key_space space, uint64_t key, out float corner[9])
{
	uvec3 point = rql_key_point(space, key);
	for (uint axis = 0u; axis < 3u; axis++)
		rql_key_corners(rql_key_place(space, axis, point[axis]), axis, corner);
}

void rql_key_triangle_at(rql_key_space space, ivec3 point, out float corner[9])
{
	for (uint axis = 0u; axis < 3u; axis++) {
		float unit = rql_key_unit(space.shift[axis]);
		precise float at = float(point[axis]) * unit;
		rql_key_corners(vec2(at, 0.5 * unit), axis, corner);
	}
}

void rql_key_box(rql_key_space space, uint64_t key, out float box[6])
{
	uvec3 point = rql_key_point(space, key);
	for (uint axis = 0u; axis < 3u; axis++) {
		vec2 place = rql_key_place(space, axis, point[axis]);
		float around = axis == 0u && space.stride == 1u ? place.y : 0.5 * place.y;
		precise float below = place.x - around, above = place.x + around;
		box[axis] = below;
		box[3u + axis] = above;
	}
}

rql_key_ray rql_key_ray_along(rql_key_space space, uint form, uvec3 low, uint high)
{
	vec2 x = rql_key_place(space, 0u, low.x), end = rql_key_place(space, 0u, high);
	float y = rql_key_place(space, 1u, low.y).x, z = rql_key_place(space, 2u, low.z).x;
	precise float from = x.x - x.y, to = end.x + end.y;
	float origin = from;
	if (form == RQL_KEY_ZERO)
		origin = space.stride != 0u ? 0.0 : -x.y;
	precise float tmin = from - origin, tmax = to - origin;
	return rql_key_ray(vec3(origin, y, z), vec3(1.0, 0.0, 0.0), tmin, tmax);
}

rql_key_ray rql_key_ray_point(rql_key_space space, uint form, uint64_t key)
{
	uvec3 point = rql_key_point(space, key);
	if (form != RQL_KEY_PERPENDICULAR)
		return rql_key_ray_along(space, form, point, point.x);
	vec2 z = rql_key_place(space, 2u, point.z);
	precise float from = z.x - z.y, length = 2.0 * z.y;
	vec3 origin = vec3(rql_key_place(space, 0u, point.x).x, rql_key_place(space, 1u, point.y).x, from);
	return rql_key_ray(origin, vec3(0.0, 0.0, 1.0), 0.0, length);
}

uint64_t rql_key_ray_count(rql_key_space space, uint64_t low, uint64_t high)
{
	return low > high ? 0ul : (high >> space.bits[0]) - (low >> space.bits[0]) + 1ul;
}

rql_key_ray rql_key_ray_range(rql_key_space space, uint form, uint64_t low, uint64_t high, uint64_t index)
{
	uint64_t first = low >> space.bits[0], line = first + index;
	uvec3 point = rql_key_point(space, line << space.bits[0]);
	point.x = line == first ? rql_key_low_bits(low, space.bits[0]) : 0u;
	uint end = line == high >> space.bits[0] ? rql_key_low_bits(high, space.bits[0]) : (1u << space.bits[0]) - 1u;
	return rql_key_ray_along(space, form, point, end);
}

// Where a ray begins, and its length.
vec2 rql_key_above(rql_key_space space, uint axis, uint value)
{
	float unit = rql_key_unit(space.shift[axis]);
	precise float from = (float(value) + 0.5) * unit, to = (float(1u << space.bits[axis]) - 0.5) * unit;
	precise float extent = to - from;
	return vec2(from, to > from ? extent : -1.0);
}

rql_key_ray rql_key_ray_lines(rql_key_space space, uint y, uint z)
{
	vec2 above = rql_key_above(space, 1u, y);
	precise float at_z = float(z) * rql_key_unit(space.shift[2]);
	return rql_key_ray(vec3(-rql_key_unit(space.shift[0]), above.x, at_z), vec3(0.0, 1.0, 0.0), 0.0, above.y);
}

rql_key_ray rql_key_ray_planes(rql_key_space space, uint z)
{
	vec2 above = rql_key_above(space, 2u, z);
	vec3 origin = vec3(-rql_key_unit(space.shift[0]), -rql_key_unit(space.shift[1]), above.x);
	return rql_key_ray(origin, vec3(0.0, 0.0, 1.0), 0.0, above.y);
}

#endif
