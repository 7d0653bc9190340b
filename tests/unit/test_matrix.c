/* Matrix RT Refine's geometry, alone: every value of a box is met by a ray, at every interval, spacing and edge of the
 * range, in exact arithmetic; the floats lose nothing (design.md, "Exactness"). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "geometry/matrix.h"

static uint64_t random_state = 88172645463325252u;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 24) % n;
}

/* A multiple of one half below 2^22. */
static bool is_exact(double place)
{
	return (double)(float)place == place && floor(2 * place) == 2 * place && fabs(place) <= 4194304;
}

/* As a shader has it: one multiplication and one addition in float32. */
static double ray_at(const struct rql_matrix_line *line, uint32_t i)
{
	volatile float step = line->step * (float)i, place = line->first + step;
	assert_true((double)place == (double)line->first + (double)line->step * i && is_exact((double)place));
	return (double)place;
}

/* Which of the rays is nearest to a value. */
static uint32_t nearest(const struct rql_matrix_line *line, double value)
{
	const double i = floor((value - (double)line->first) / (double)line->step + 0.5);
	return i < 0 ? 0 : i >= line->count ? line->count - 1 : (uint32_t)i;
}

static void check_axis(uint32_t low, uint32_t high, uint32_t center, uint32_t interval, uint32_t length,
                       uint32_t spacing, uint32_t value)
{
	const struct rql_matrix_line across = rql_matrix_across(low, high, center, interval);
	const struct rql_matrix_line along = rql_matrix_along(low, high, center, length, spacing);
	const uint32_t values[3] = {value, value, value}, centers[3] = {center, center, center};
	const uint32_t width = interval + rql_matrix_epsilon(22);
	float box[6];
	rql_matrix_cube(values, centers, width, box);
	assert_true((double)box[3] - (double)box[0] == width && is_exact((double)box[0]) && is_exact((double)box[3]));
	const double stands = ray_at(&across, nearest(&across, (double)value - center));
	assert_true((double)box[0] + 0.5 <= stands && stands <= (double)box[3] - 0.5);
	const double reach = ((double)value - center - (double)along.first) / (double)along.step;
	bool met = false;
	for (int32_t i = (int32_t)floor(reach) - 1; i <= (int32_t)floor(reach) + 2; i++)
		if (i >= 0 && i < (int32_t)along.count) {
			const double begins = ray_at(&along, (uint32_t)i), ends = begins + length;
			met = met || (begins <= (double)box[5] - 0.5 && ends >= (double)box[2] + 0.5);
		}
	assert_true(met);
}

static void test_cubes(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {1, 2, 3, 100, 4097, 1000000, RQL_MATRIX_SIZE};
	for (unsigned round = 0; round < 20000; round++) {
		const uint32_t size = sizes[below(7)], low = below(size), high = low + below(size - low);
		const uint32_t most = size < RQL_MATRIX_MOST_INTERVAL ? size : RQL_MATRIX_MOST_INTERVAL;
		const uint32_t interval = 1 + (below(2) ? below(most) : below(most < 9 ? most : 9));
		const uint32_t spacing = below(3) ? below(interval + 1) : interval, length = 1 + below(2 * interval);
		const uint32_t some[] = {low, high, low + below(high - low + 1)};
		for (unsigned v = 0; v < 3; v++)
			check_axis(low, high, size / 2, interval, length, spacing, some[v]);
	}
}

/* All values of small boxes, so that no end is forgotten. */
static void test_ends(void **state)
{
	(void)state;
	for (uint32_t interval = 1; interval < 7; interval++)
		for (uint32_t spacing = 0; spacing <= interval; spacing++)
			for (uint32_t length = 1; length < 5; length++)
				for (uint32_t high = 10; high < 30; high++)
					for (uint32_t value = 10; value <= high; value++)
						check_axis(10, high, 16, interval, length, spacing, value);
}

/* Exactly one ray is strictly inside each triangle, and it meets it behind its start. */
static void test_legs(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		const uint32_t size = below(2) ? RQL_MATRIX_SIZE : 50, low = below(size), high = low + below(size - low);
		const uint32_t leg = 1 + below(size < 40 ? size : 40), value = low + below(high - low + 1);
		const struct rql_matrix_line line = rql_matrix_legs(low, high, size / 2, leg);
		float corner[9];
		rql_matrix_leg(value, size / 2, leg, corner);
		assert_true(is_exact((double)corner[0]) && (double)corner[0] - (double)corner[3] == leg);
		uint32_t inside = 0;
		const uint32_t about = nearest(&line, (double)corner[3]);
		for (uint32_t i = about > 1 ? about - 2 : 0; i < line.count && i < about + 3; i++) {
			const double x = ray_at(&line, i);
			inside += x >= (double)corner[3] + 0.5 && x <= (double)corner[0] - 0.5;
		}
		assert_int_equal(inside, 1);
	}
}

/* A cell's ray passes the middle of its triangle, and no corner of another's reaches it. */
static void test_cells(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		const float unit = 1.0f / (float)(1u << below(11));
		const uint32_t value[3] = {below(1u << 22), below(4097), below(4097)};
		const uint32_t low = value[0] - below(value[0] + 1), high = value[0] + below((1u << 22) - value[0]);
		const struct rql_matrix_line x = rql_matrix_lines(low, high, unit);
		float corner[9];
		rql_matrix_cell(value, unit, corner);
		volatile float step = x.step * (float)(value[0] - low), stands = x.first + step;
		assert_true((double)stands == (double)value[0] * (double)unit);
		for (unsigned axis = 0; axis < 3; axis++) {
			const double scale = axis ? 1 : (double)unit, at = (double)value[axis] * scale;
			double sum = 0;
			for (unsigned c = 0; c < 3; c++) {
				const double off = (double)corner[3 * c + axis] - at;
				assert_true(fabs(off) <= 0.5 * scale);
				sum += off;
			}
			assert_true(sum == 0);
		}
	}
}

/* Coordinates below 2^bits: what two floats lose together is at most epsilon. */
static void test_epsilon(void **state)
{
	(void)state;
	assert_int_equal(rql_matrix_epsilon(22), 1);
	assert_int_equal(rql_matrix_epsilon(23), 1);
	assert_int_equal(rql_matrix_epsilon(27), 16); /* the paper's example */
	for (uint32_t bits = 20; bits <= 31; bits++)
		for (unsigned round = 0; round < 2000; round++) {
			const uint32_t value = below(2) ? below(UINT32_C(1) << bits) : (UINT32_C(1) << bits) - 1 - below(64);
			const double lost = fabs((double)(float)value - value);
			assert_true(2 * lost <= rql_matrix_epsilon(bits));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cubes), cmocka_unit_test(test_ends),
	                                   cmocka_unit_test(test_legs), cmocka_unit_test(test_cells),
	                                   cmocka_unit_test(test_epsilon)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
