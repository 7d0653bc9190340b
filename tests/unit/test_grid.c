/* The paper's grid, alone: no triangle is ever missed, at any leg and at every edge of the range, in exact arithmetic
 * and in the float32 arithmetic of the two usual ray-triangle tests (design.md, "Exactness"). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "geometry/grid.h"

static uint64_t random_state = 88172645463325252u;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 24) % n;
}

/* ---- three tests of a ray along z against the triangle of (a, b) ---- */

/* Strictly inside, in integers: everything in halves. */
static bool inside_exactly(const struct rql_grid_axis *x, const struct rql_grid_axis *y, uint32_t a, uint32_t b,
                           uint32_t i, uint32_t j)
{
	/* Twice the distances, from the floats that a device gets: they must be exact for this to be true. */
	double u = 2.0 * ((double)rql_grid_ray(x, i) - (double)rql_grid_coordinate(x, a));
	double v = 2.0 * ((double)rql_grid_ray(y, j) - (double)rql_grid_coordinate(y, b));
	int64_t iu = (int64_t)u, iv = (int64_t)v, lx = INT64_C(1) << x->leg, ly = INT64_C(1) << y->leg;
	assert_true((double)iu == u && (double)iv == v);
	return iu > 0 && iv > 0 && iu * ly + iv * lx < 2 * lx * ly;
}

/* Edge functions of the corners relative to the ray, as watertight tests have them. */
static bool inside_by_edges(const struct rql_grid_axis *x, const struct rql_grid_axis *y, uint32_t a, uint32_t b,
                            uint32_t i, uint32_t j)
{
	float px = rql_grid_ray(x, i), py = rql_grid_ray(y, j);
	float ax = rql_grid_coordinate(x, a), ay = rql_grid_coordinate(y, b);
	float bx = ax + (float)(1u << x->leg), cy = ay + (float)(1u << y->leg);
	ax -= px, bx -= px, ay -= py, cy -= py;
	volatile float p0 = bx * cy, p1 = ax * ay, p2 = ax * ay, p3 = ax * cy, p4 = ax * ay, p5 = bx * ay;
	/* Corners A (ax, ay), B (bx, ay), C (ax, cy). */
	float u = p1 - p0, v = p3 - p2, w = p5 - p4;
	return (u < 0 && v < 0 && w < 0) || (u > 0 && v > 0 && w > 0) ? true : false;
}

/* Moeller and Trumbore. */
static bool inside_by_barycentrics(const struct rql_grid_axis *x, const struct rql_grid_axis *y, uint32_t a, uint32_t b,
                                   uint32_t i, uint32_t j)
{
	float tx = rql_grid_ray(x, i) - rql_grid_coordinate(x, a), ty = rql_grid_ray(y, j) - rql_grid_coordinate(y, b);
	float lx = (float)(1u << x->leg), ly = (float)(1u << y->leg), inverse = 1.0f / (lx * ly);
	float u = tx * ly * inverse, v = ty * lx * inverse;
	return u > 0 && v > 0 && u + v < 1;
}

/* ---- the property ---- */

/* Of the rays around (a, b), which are inside; at most 3, and the promised one among them. */
static void check_point(const struct rql_grid_axis *x, const struct rql_grid_axis *y, uint32_t a, uint32_t b)
{
	uint32_t i = rql_grid_ray_of(x, a), j = rql_grid_ray_of(y, b);
	assert_true(i < x->rays && j < y->rays);
	assert_true(inside_exactly(x, y, a, b, i, j));
	assert_true(inside_by_edges(x, y, a, b, i, j));
	assert_true(inside_by_barycentrics(x, y, a, b, i, j));
	unsigned hits = 0;
	for (uint32_t di = 0; di <= 4; di++)
		for (uint32_t dj = 0; dj <= 4; dj++) {
			if (i + di < 2 || i + di - 2 >= x->rays || j + dj < 2 || j + dj - 2 >= y->rays)
				continue;
			hits += inside_exactly(x, y, a, b, i + di - 2, j + dj - 2);
		}
	assert_in_range(hits, 1, 3);
}

static void check_corners(const struct rql_grid_axis *axis)
{
	float low = rql_grid_coordinate(axis, 0);
	float high = rql_grid_coordinate(axis, axis->size - 1) + (float)(1u << axis->leg);
	assert_true(fabsf(low) <= (float)RQL_GRID_SIZE && fabsf(high) <= (float)RQL_GRID_SIZE);
	assert_true(fabsf(rql_grid_ray(axis, axis->rays - 1)) <= (float)RQL_GRID_SIZE);
}

static void test_small_sizes(void **state)
{
	(void)state;
	for (uint32_t leg_x = 1; leg_x <= 6; leg_x++)
		for (uint32_t leg_y = 1; leg_y <= 4; leg_y++)
			for (uint32_t size_x = 1; size_x <= 40; size_x += 3)
				for (uint32_t size_y = 1; size_y <= 20; size_y += 3) {
					struct rql_grid_axis x = rql_grid_axis_of(size_x, leg_x), y = rql_grid_axis_of(size_y, leg_y);
					for (uint32_t a = 0; a < size_x; a++)
						for (uint32_t b = 0; b < size_y; b++)
							check_point(&x, &y, a, b);
				}
}

/* Every value of the longest axis, at every leg. */
static void test_longest_axis(void **state)
{
	(void)state;
	struct rql_grid_axis y = rql_grid_axis_of(3, 1);
	for (uint32_t leg = RQL_GRID_MIN_LEG; leg <= RQL_GRID_MAX_LEG; leg += 5) {
		struct rql_grid_axis x = rql_grid_axis_of(RQL_GRID_SIZE, leg);
		check_corners(&x);
		float before = rql_grid_coordinate(&x, 0);
		for (uint32_t a = 1; a < RQL_GRID_SIZE; a++) {
			float here = rql_grid_coordinate(&x, a);
			assert_true(here == before + 1.0f); /* no two values share a coordinate */
			before = here;
			uint32_t i = rql_grid_ray_of(&x, a);
			assert_true(i < x.rays && inside_exactly(&x, &y, a, a % 3, i, rql_grid_ray_of(&y, a % 3)));
		}
	}
}

static void test_edges_of_the_range(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {1, 2, 3, 255, 256, 65537, RQL_GRID_SIZE / 2 + 1, RQL_GRID_SIZE - 1, RQL_GRID_SIZE};
	for (unsigned round = 0; round < 20000; round++) {
		struct rql_grid_axis x = rql_grid_axis_of(sizes[below(9)], below(24)),
							 y = rql_grid_axis_of(sizes[below(9)], below(24));
		check_corners(&x);
		check_corners(&y);
		uint32_t a = below(3) ? below(x.size) : below(2) ? x.size - 1 : 0;
		uint32_t b = below(3) ? below(y.size) : below(2) ? y.size - 1 : 0;
		check_point(&x, &y, a, b);
	}
}

static void test_choice(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 5000; round++) {
		uint32_t size_x = 1 + below(RQL_GRID_SIZE), size_y = 1 + below(1u << below(23));
		uint64_t rays = UINT64_C(1) << below(24);
		struct rql_grid_axis x, y;
		rql_grid_choose(size_x, size_y, rays, 0, 0, &x, &y);
		assert_true(x.size == size_x && y.size == size_y);
		bool coarsest = (x.leg == RQL_GRID_MAX_LEG || x.rays == 1) && (y.leg == RQL_GRID_MAX_LEG || y.rays == 1);
		assert_true((uint64_t)x.rays * y.rays <= rays || coarsest);
		rql_grid_choose(size_x, size_y, rays, 7, 3, &x, &y);
		assert_true(x.leg == 7 && y.leg == 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_sizes),
		cmocka_unit_test(test_longest_axis),
		cmocka_unit_test(test_edges_of_the_range),
		cmocka_unit_test(test_choice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
