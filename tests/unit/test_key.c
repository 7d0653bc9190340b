/* Keys as points of a scene, alone: a ray meets exactly the keys that it asks for, in every mode, at every cut of the
 * bits and every edge of the range, in exact arithmetic and in float32 (design.md, "Exactness"). */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "geometry/key.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

/* ---- a ray along one axis against a triangle ---- */

/* Where on its axis the ray passes through the triangle; NAN: beside it. In double, which holds the corners'
 * differences from the ray exactly, so that an edge function is exactly 0 or its sign is right. */
static double meets(const float corner[9], const struct rql_key_ray *ray)
{
	unsigned axis = ray->direction[0] > 0 ? 0 : 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
	double p[3][2], weight[3], total = 0, place = 0;
	for (unsigned i = 0; i < 3; i++) {
		p[i][0] = (double)corner[3 * i + u] - (double)ray->origin[u];
		p[i][1] = (double)corner[3 * i + v] - (double)ray->origin[v];
	}
	for (unsigned i = 0; i < 3; i++) {
		const double *a = p[(i + 1) % 3], *b = p[(i + 2) % 3];
		weight[i] = a[0] * b[1] - a[1] * b[0];
		total += weight[i];
	}
	for (unsigned i = 0; i < 3; i++) {
		if (!(weight[i] / total > 0))
			return NAN;
		place += weight[i] / total * ((double)corner[3 * i + axis] - (double)corner[axis]);
	}
	return (double)corner[axis] + place;
}

static double start_of(const struct rql_key_ray *ray)
{
	return (double)ray->origin[ray->direction[0] > 0 ? 0 : 2] + (double)ray->tmin;
}

static double end_of(const struct rql_key_ray *ray)
{
	return (double)ray->origin[ray->direction[0] > 0 ? 0 : 2] + (double)ray->tmax;
}

/* Moeller and Trumbore in float32, as a careless device has it. */
static bool meets_in_float(const float corner[9], const struct rql_key_ray *ray)
{
	unsigned axis = ray->direction[0] > 0 ? 0 : 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
	float e1[3], e2[3], s[3];
	for (unsigned i = 0; i < 3; i++) {
		e1[i] = corner[3 + i] - corner[i];
		e2[i] = corner[6 + i] - corner[i];
		s[i] = ray->origin[i] - corner[i];
	}
	volatile float m0 = e1[u] * e2[v], m1 = e1[v] * e2[u], m2 = s[u] * e2[v], m3 = s[v] * e2[u], m4 = e1[u] * s[v],
				   m5 = e1[v] * s[u];
	float det = m0 - m1, b1 = (m2 - m3) / det, b2 = (m4 - m5) / det;
	volatile float t1 = b1 * e1[axis], t2 = b2 * e2[axis];
	float t = t1 + t2 - s[axis];
	return b1 > 0 && b2 > 0 && b1 + b2 < 1 && t > ray->tmin && t < ray->tmax;
}

/* Whether an exact traversal sees the key; the float32 one says the same where that is promised. */
static unsigned seen(const struct rql_key_space *space, const struct rql_key_ray *ray, uint64_t key)
{
	float corner[9];
	rql_key_triangle(space, key, corner);
	double place = meets(corner, ray);
	bool exactly = place > start_of(ray) && place < end_of(ray);
	if (!isnan(place)) { /* no closer to an end than half its own unit, on either side */
		unsigned axis = ray->direction[0] > 0 ? 0 : 2;
		double half = fmax(fabs((double)corner[axis] - (double)corner[3 + axis]),
		                   fabs((double)corner[3 + axis] - (double)corner[6 + axis])) / 2;
		assert_true(fabs(place - start_of(ray)) > 0.99 * half && fabs(place - end_of(ray)) > 0.99 * half);
	}
	if (!space->stride || space->stride >= 6)
		assert_int_equal(meets_in_float(corner, ray), exactly);
	return exactly;
}

/* ---- points ---- */

/* The places of an extended key are exact multiples of a float32 step, those of the lattice are what was asked for. */
static void check_place(const struct rql_key_space *space, uint64_t key)
{
	struct rql_axis_point point = rql_key_point(space, key);
	assert_true(rql_key_of(space, point) == key);
	float corner[9], box[6];
	rql_key_triangle(space, key, corner);
	rql_key_box(space, key, box);
	const uint32_t value[3] = {point.x, point.y, point.z};
	for (unsigned axis = 0; axis < 3; axis++) {
		double least = (double)fminf(fminf(corner[axis], corner[3 + axis]), corner[6 + axis]);
		double most = (double)fmaxf(fmaxf(corner[axis], corner[3 + axis]), corner[6 + axis]);
		double middle = (double)corner[axis] + (double)corner[3 + axis] + (double)corner[6 + axis] - least - most;
		assert_true(most - middle == middle - least && most > middle);
		assert_true((double)box[axis] < middle && middle < (double)box[axis + 3]);
		assert_true((double)box[axis] >= least && (double)box[axis + 3] <= most);
		if (axis == 0 && space->stride)
			continue;
		assert_true(value[axis] < RQL_AXIS_SIZE);
		assert_true(middle == ldexp(value[axis], -(int)space->shift[axis]));
		assert_true(most == ldexp(value[axis] + 0.5, -(int)space->shift[axis]));
	}
}

/* Neighbours on every axis, and any other key. */
static void check_point(const struct rql_key_space *space, uint64_t key)
{
	check_place(space, key);
	uint64_t last = rql_key_last(space), line = UINT64_C(1) << space->bits[0], plane = line << space->bits[1];
	const uint64_t step[] = {1, 2, line, line + 1, line - 1, plane, plane + 1, plane - line, plane + line};
	for (int form = RQL_KEY_OFFSET; form <= RQL_KEY_PERPENDICULAR; form++) {
		if (!rql_key_form_fits(space, form))
			continue;
		struct rql_key_ray ray = rql_key_ray_point(space, form, key);
		assert_true(ray.tmin >= 0 && ray.tmin < ray.tmax && ray.tmax < INFINITY);
		assert_int_equal(seen(space, &ray, key), 1);
		float corner[9];
		rql_key_triangle(space, key, corner);
		/* In the middle: half a unit from either end. */
		double before = meets(corner, &ray) - start_of(&ray), behind = end_of(&ray) - meets(corner, &ray);
		assert_true(fabs(before - behind) < 1e-6 * before);
		for (unsigned i = 0; i < 9; i++) {
			if (key <= last - step[i] && step[i] <= last && step[i])
				assert_int_equal(seen(space, &ray, key + step[i]), 0);
			if (key >= step[i] && step[i])
				assert_int_equal(seen(space, &ray, key - step[i]), 0);
		}
		uint64_t other = random_word() & last;
		assert_int_equal(seen(space, &ray, other), other == key);
	}
}

/* ---- ranges ---- */

static unsigned seen_in_range(const struct rql_key_space *space, int form, uint64_t low, uint64_t high, uint64_t key)
{
	unsigned hits = 0;
	uint64_t rays = rql_key_ray_count(space, low, high), first = low >> space->bits[0];
	/* The rays around the key's own line; all of them in small spaces. */
	uint64_t line = key >> space->bits[0], near = line > first ? line - first : 0;
	for (uint64_t i = rays < 70 || near < 2 ? 0 : near - 2; i < rays && (rays < 70 || i <= near + 2); i++) {
		struct rql_key_ray ray = rql_key_ray_range(space, form, low, high, i);
		assert_true(ray.tmin >= 0 && ray.tmin < ray.tmax);
		hits += seen(space, &ray, key);
	}
	return hits;
}

static void check_range(const struct rql_key_space *space, uint64_t low, uint64_t high)
{
	uint64_t last = rql_key_last(space);
	const uint64_t probe[] = {low, high, low ? low - 1 : 0, high < last ? high + 1 : last, low / 2 + high / 2, 0, last,
	                          random_word() & last};
	for (int form = RQL_KEY_OFFSET; form <= RQL_KEY_ZERO; form++)
		for (unsigned i = 0; rql_key_form_fits(space, form) && i < 8; i++)
			assert_int_equal(seen_in_range(space, form, low, high, probe[i]), probe[i] >= low && probe[i] <= high);
}

/* ---- the cases ---- */

static const struct rql_key_space lattices[] = {
	{.bits = {22, 0, 0}},                               /* naive */
	{.bits = {22, 10, 0}},                              /* 32-bit keys */
	{.bits = {10, 22, 0}},
	{.bits = {11, 11, 10}},
	{.bits = {0, 10, 22}},
	{.bits = {22, 22, 20}},                             /* 64-bit keys */
	{.bits = {20, 22, 22}},
	{.bits = {21, 21, 22}, .shift = {0, 3, 40}},
	{.bits = {22, 22, 20}, .shift = {12, 0, 22}},
	{.bits = {0, 0, 0}},
};
#define LATTICES (sizeof(lattices) / sizeof(*lattices))

/* An edge of the space, or anything. */
static uint64_t draw_key(const struct rql_key_space *space)
{
	uint64_t last = rql_key_last(space), line = UINT64_C(1) << space->bits[0], plane = line << space->bits[1];
	const uint64_t edge[] = {0, 1, last, last - 1, line - 1, line, line + 1, plane - 1, plane, last - line,
	                         (line >> 1) - 1, line >> 1};
	uint64_t at = random_word() % 24;
	return (at < 12 ? edge[at] : random_word()) & last;
}

static void test_lattice(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LATTICES; i++) {
		assert_true(rql_key_space_valid(&lattices[i]));
		for (unsigned round = 0; round < 3000; round++)
			check_point(&lattices[i], draw_key(&lattices[i]));
	}
}

static void test_lattice_ranges(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LATTICES; i++)
		for (unsigned round = 0; round < 2000; round++) {
			uint64_t low = draw_key(&lattices[i]), high = draw_key(&lattices[i]);
			check_range(&lattices[i], low < high ? low : high, low < high ? high : low);
			check_range(&lattices[i], low, low);
		}
}

/* Every range of a small scene, against every key. */
static void test_all_ranges(void **state)
{
	(void)state;
	static const struct rql_key_space small[] = {
		{.bits = {2, 2, 1}}, {.bits = {1, 2, 2}, .shift = {1, 0, 3}}, {.bits = {5, 0, 0}}, {.bits = {0, 0, 5}}};
	for (unsigned i = 0; i < 4; i++)
		for (uint64_t low = 0; low < 32; low++)
			for (uint64_t high = 0; high < 32; high++)
				for (uint64_t key = 0; key < 32; key++)
					for (int form = RQL_KEY_OFFSET; form <= RQL_KEY_ZERO; form++)
						assert_int_equal(seen_in_range(&small[i], form, low, high, key), key >= low && key <= high);
}

static void test_extended(void **state)
{
	(void)state;
	for (uint32_t stride = 1; stride <= RQL_KEY_MAX_STRIDE; stride++) {
		struct rql_key_space space = rql_key_space_extended(stride);
		assert_true(rql_key_space_valid(&space));
		assert_true(rql_key_last(&space) == (UINT64_C(1) << (30 - stride)) - 1);
		uint64_t last = rql_key_last(&space), binade = UINT64_C(1) << (23 - stride);
		for (unsigned round = 0; round < 3000; round++) {
			/* Where the exponent changes, the ends, and between. */
			uint64_t key = random_word() & last;
			if (round & 1)
				key = (key / binade * binade + round % 5) & last;
			else if (round % 7 == 0)
				key = round % 3 ? last - round % 5 : round % 5;
			check_point(&space, key);
			uint64_t other = random_word() & last;
			check_range(&space, key < other ? key : other, key < other ? other : key);
		}
		float corner[9];
		rql_key_triangle(&space, last, corner);
		assert_true(isfinite(corner[0]) && corner[0] <= 0x1p127f);
	}
}

/* Markers stand beside all keys, at exact places, and rays of markers begin and end half a unit from any. */
static void test_markers(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct rql_key_space space = rql_key_space_lattice(64, round & 1);
		struct rql_axis_point point = rql_key_point(&space, round < 4 ? 0 - (uint64_t)(round & 2) : random_word());
		const int32_t at[3] = {(int32_t)point.x, (int32_t)point.y, (int32_t)point.z};
		const int32_t line[3] = {-1, at[1], at[2]};
		float plain[9], placed[9], marker[9];
		rql_key_triangle(&space, rql_key_of(&space, point), plain);
		rql_key_triangle_at(&space, at, placed);
		rql_key_triangle_at(&space, line, marker);
		assert_memory_equal(plain, placed, sizeof(plain));
		const float unit[3] = {rql_axis_unit(space.shift[0]), rql_axis_unit(space.shift[1]),
		                       rql_axis_unit(space.shift[2])};
		for (unsigned i = 0; i < 3; i++)
			assert_true(marker[3 * i] <= -0.5f * unit[0] && marker[3 * i] >= -1.5f * unit[0]);
		struct rql_key_ray ray = rql_key_ray_lines(&space, point.y, point.z);
		assert_true((double)ray.origin[1] == ((double)at[1] + 0.5) * (double)unit[1]);
		assert_true(ray.origin[0] == -unit[0] && (double)ray.origin[2] == (double)at[2] * (double)unit[2]);
		double end = (double)(UINT32_C(1) << space.bits[1]) - 0.5;
		if (point.y + 1 < UINT32_C(1) << space.bits[1])
			assert_true((double)ray.origin[1] + (double)ray.tmax == end * (double)unit[1]);
		else
			assert_true(ray.tmax < 0);
		ray = rql_key_ray_planes(&space, point.z);
		assert_true((double)ray.origin[2] == ((double)at[2] + 0.5) * (double)unit[2]);
		assert_true(ray.origin[1] == -unit[1] && (ray.tmax < 0) == (point.z + 1 == UINT32_C(1) << space.bits[2]));
	}
}

static void test_spaces(void **state)
{
	(void)state;
	static const uint32_t cut[5][4] = {
		{0, 0, 0, 0}, {22, 22, 0, 0}, {23, 22, 1, 0}, {32, 22, 10, 0}, {64, 22, 22, 20}};
	for (unsigned i = 0; i < 5; i++)
		for (unsigned scaled = 0; scaled < 2; scaled++) {
			struct rql_key_space space = rql_key_space_lattice(cut[i][0], scaled);
			assert_true(rql_key_space_valid(&space));
			assert_memory_equal(space.bits, &cut[i][1], sizeof(space.bits));
		}
	struct rql_key_space scaled = rql_key_space_lattice(32, true);
	assert_true(scaled.shift[0] == 12 && !scaled.shift[1] && !scaled.shift[2]);
	static const struct rql_key_space invalid[] = {
		{.bits = {23, 0, 0}},
		{.bits = {0, 23, 0}},
		{.bits = {0, 0, 24}},
		{.bits = {22, 22, 21}},
		{.bits = {1, 1, 1}, .shift = {0, 41, 0}},
		{.bits = {29, 0, 0}, .stride = 2},
		{.bits = {29, 1, 0}, .stride = 1},
		{.bits = {29, 0, 0}, .stride = 1, .shift = {1, 0, 0}},
		{.bits = {7, 0, 0}, .stride = 23},
	};
	for (unsigned i = 0; i < 9; i++)
		assert_false(rql_key_space_valid(&invalid[i]));
	struct rql_key_space naive = lattices[0], wide = rql_key_space_lattice(64, true);
	assert_true(rql_key_fits(&naive, (1u << 22) - 1) && !rql_key_fits(&naive, 1u << 22));
	assert_false(rql_key_fits(&naive, (1u << 23) + 1));
	assert_false(rql_key_fits(&naive, UINT64_MAX));
	assert_true(rql_key_fits(&wide, UINT64_MAX));
	assert_true(rql_key_ray_count(&naive, 5, 4) == 0 && rql_key_ray_count(&naive, 5, 5) == 1);
	assert_true(rql_key_ray_count(&wide, (1u << 22) - 1, 1u << 22) == 2);
	assert_true(rql_key_ray_count(&wide, 0, UINT64_MAX) == UINT64_C(1) << 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spaces),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_lattice),
		cmocka_unit_test(test_lattice_ranges),
		cmocka_unit_test(test_all_ranges),
		cmocka_unit_test(test_extended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
