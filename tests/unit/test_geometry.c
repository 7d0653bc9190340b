/* Keys as coordinates, alone: what the traversal is given must tell neighbouring keys apart exactly, at every scale and
 * at every edge of the range (design.md, "Exactness"). */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "geometry/axis.h"

#define EDGE_COUNT 14u
static const uint32_t edges[EDGE_COUNT] = {0,
                                           1,
                                           2,
                                           3,
                                           255,
                                           256,
                                           65535,
                                           65536,
                                           (1u << 21) - 1,
                                           1u << 21,
                                           (1u << 21) + 1,
                                           RQL_AXIS_SIZE - 3,
                                           RQL_AXIS_SIZE - 2,
                                           RQL_AXIS_SIZE - 1};

static uint64_t random_state = 88172645463325252u;

static uint32_t random_value(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 30) % RQL_AXIS_SIZE;
}

/* In double, which holds everything here exactly. */
static double area_side(const float corner[9], int a, int b, double x, double y)
{
	double ax = (double)corner[3 * a], ay = (double)corner[3 * a + 1], bx = (double)corner[3 * b],
		   by = (double)corner[3 * b + 1];
	return (bx - ax) * (y - ay) - (by - ay) * (x - ax);
}

static bool strictly_inside(const float corner[9], double x, double y)
{
	double s0 = area_side(corner, 0, 1, x, y), s1 = area_side(corner, 1, 2, x, y), s2 = area_side(corner, 2, 0, x, y);
	return (s0 > 0 && s1 > 0 && s2 > 0) || (s0 < 0 && s1 < 0 && s2 < 0);
}

static bool outside(const float corner[9], double x, double y)
{
	double s0 = area_side(corner, 0, 1, x, y), s1 = area_side(corner, 1, 2, x, y), s2 = area_side(corner, 2, 0, x, y);
	return (s0 < 0 || s1 < 0 || s2 < 0) && (s0 > 0 || s1 > 0 || s2 > 0);
}

/* What an exact traversal says: strictly between both ends. */
static bool sees(struct rql_axis_ray ray, float z)
{
	double t = ((double)z - (double)ray.origin[2]) * (double)ray.step;
	return ray.extent > 0 && t > 0 && t < (double)ray.extent;
}

static void check_point(uint32_t x, uint32_t y, uint32_t z, uint32_t shift)
{
	float unit = rql_axis_unit(shift), corner[9];
	rql_axis_triangle((struct rql_axis_point){x, y, z}, unit, corner);
	assert_true((double)corner[6] == x);
	assert_true(corner[2] == corner[5] && corner[5] == corner[8]);
	assert_true((double)corner[2] == ldexp(z, -(int)shift));
	assert_true((double)corner[0] == x - 0.5 && (double)corner[3] == x + 0.5);
	assert_true((double)corner[1] == y - 0.5 && (double)corner[7] == y + 0.5);
	assert_true(strictly_inside(corner, x, y));
	/* The rays of the eight neighbours pass by. */
	for (int dx = -1; dx <= 1; dx++)
		for (int dy = -1; dy <= 1; dy++)
			if (dx || dy)
				assert_true(outside(corner, (double)x + dx, (double)y + dy));
}

static void check_interval(uint32_t low, uint32_t high, uint32_t shift)
{
	float unit = rql_axis_unit(shift);
	struct rql_axis_ray up = rql_axis_ray_up(5, RQL_AXIS_SIZE - 1, low, high, unit);
	struct rql_axis_ray down = rql_axis_ray_down(5, RQL_AXIS_SIZE - 1, low, high, unit);
	assert_true(up.origin[0] == 5.0f && up.origin[1] == (float)(RQL_AXIS_SIZE - 1) && up.step == 1.0f);
	assert_true(down.origin[0] == 5.0f && down.origin[1] == (float)(RQL_AXIS_SIZE - 1) && down.step == -1.0f);
	if (low > high) {
		assert_false(up.extent > 0);
		assert_false(down.extent > 0);
	} else {
		/* Nothing was rounded: both rays cover the same piece. */
		assert_true((double)up.origin[2] == ldexp(low - 0.5, -(int)shift));
		assert_true((double)up.origin[2] + (double)up.extent == (double)down.origin[2]);
	}
	uint32_t probe[6] = {low, high, low ? low - 1 : 0, high + 1, low / 2 + high / 2, random_value()};
	for (unsigned i = 0; i < 6; i++) {
		if (probe[i] >= RQL_AXIS_SIZE)
			continue;
		float corner[9];
		rql_axis_triangle((struct rql_axis_point){5, RQL_AXIS_SIZE - 1, probe[i]}, unit, corner);
		bool wanted = probe[i] >= low && probe[i] <= high;
		assert_int_equal(sees(up, corner[2]), wanted);
		assert_int_equal(sees(down, corner[2]), wanted);
	}
}

static void test_points(void **state)
{
	(void)state;
	for (uint32_t shift = 0; shift <= RQL_AXIS_MAX_SHIFT; shift += 5)
		for (unsigned i = 0; i < EDGE_COUNT; i++)
			for (unsigned j = 0; j < EDGE_COUNT; j++)
				check_point(edges[i], edges[j], edges[(i + j) % EDGE_COUNT], shift);
	for (unsigned i = 0; i < 100000; i++)
		check_point(random_value(), random_value(), random_value(), i % (RQL_AXIS_MAX_SHIFT + 1));
}

static void test_intervals(void **state)
{
	(void)state;
	for (uint32_t shift = 0; shift <= RQL_AXIS_MAX_SHIFT; shift += 5)
		for (unsigned i = 0; i < EDGE_COUNT; i++)
			for (unsigned j = 0; j < EDGE_COUNT; j++) /* equal bounds and empty ones among them */
				check_interval(edges[i], edges[j], shift);
	for (unsigned i = 0; i < 100000; i++)
		check_interval(random_value(), random_value(), i % (RQL_AXIS_MAX_SHIFT + 1));
}

static void test_scale(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 2, 3, 4, 1000, 1024, 1025, RQL_AXIS_SIZE - 1, RQL_AXIS_SIZE};
	for (unsigned x = 0; x < 10; x++)
		for (unsigned y = 0; y < 10; y++)
			for (unsigned z = 0; z < 10; z++) {
				uint32_t shift = rql_axis_shift(sizes[x], sizes[y], sizes[z]);
				assert_true(shift <= RQL_AXIS_BITS);
				double length = ldexp(sizes[z], -(int)shift);
				double mean = sqrt((double)(sizes[x] ? sizes[x] : 1) * (double)(sizes[y] ? sizes[y] : 1));
				assert_true(length <= 2 * mean);
				assert_true(shift == 0 || length >= mean / 8);
			}
	assert_true(rql_axis_unit(0) == 1.0f);
	assert_true((double)rql_axis_unit(RQL_AXIS_MAX_SHIFT) == ldexp(1, -(int)RQL_AXIS_MAX_SHIFT));
	/* The smallest difference is far from underflowing. */
	assert_true(rql_axis_unit(RQL_AXIS_MAX_SHIFT) / 2 > FLT_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_scale),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
