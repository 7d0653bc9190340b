/* The cube on a Vulkan device's compute unit, against the naive answer over the rows and against the CPU's method: random
 * cubes and requests, and what random ones rarely are: one huge interval among many small ones, many groups (hashed),
 * several threads on one prepared request, a cancelled run. The device is the one that RAYQL_TEST_DEVICE names, else
 * vulkan:0, with the validation layer watching. */
#include "cube_world.h"

#include <pthread.h>
#include <stdatomic.h>

#include "device/device_internal.h"
#include "method/cube/cube_unit.h"
#include "vulkan_fixture.h"

#define CASES 250u

static struct rql_devices *devices;
static struct rql_device *gpu;

static int open_device(void **state)
{
	(void)state;
	const char *name = getenv("RAYQL_TEST_DEVICE");
	struct rql_error err = {0};
	vulkan_keep_drivers();
	if (setenv("RAYQL_VULKAN_VALIDATION", "1", 1) != 0 || rql_devices_open(2, &devices, &err) != RQL_OK)
		return -1;
	gpu = rql_devices_get(devices, name ? name : "vulkan:0");
	if (!gpu)
		print_message("no Vulkan device: %s\n", devices->no_gpu ? devices->no_gpu : "?");
	return gpu ? 0 : -1;
}

static int close_device(void **state)
{
	(void)state;
	uint64_t errors = rql_vulkan_validation_errors();
	rql_devices_close(devices);
	return errors ? -1 : 0;
}

static void ok(rql_status status, struct rql_error *err)
{
	if (status != RQL_OK)
		print_message("%s: %s\n", rql_status_name(status), rql_error_message(err));
	assert_int_equal(status, RQL_OK);
}

/* ---- random cubes and requests ---- */

/* Figures that make the binding choose each of its ways, and change nothing else. */
static void random_figures(struct rql_profile *profile)
{
	static const double run[] = {0.001, 1, 1e5}, tested[] = {0.001, 1.5, 1e4};
	profile->run_ns = run[below(3)];
	profile->tested_cell_ns = tested[below(3)];
}

static bool wide_extreme(const struct rql_cube *cube, const struct query *q)
{
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		const struct rql_agg *agg = &q->aggs[a];
		if (agg->kind != RQL_AGG_MIN && agg->kind != RQL_AGG_MAX)
			continue;
		const struct rql_cube_measure *m = &cube->measures[agg->measure];
		bool rolled_up = cube->relation.rolled_up;
		const struct rql_packed *values = !rolled_up ? &m->sum : agg->kind == RQL_AGG_MAX ? &m->max : &m->min;
		if (cube->relation.measures[agg->measure].kind != RQL_MEASURE_REAL && values->bits == 128)
			return true;
	}
	return false;
}

static unsigned refused, ran;

static void run_query(const struct rql_cube *cube, const struct query *q, const struct table *t)
{
	const struct rql_method *method = &rql_method_cube_compute;
	const char *reason = NULL;
	random_figures(&gpu->profile);
	bool wide = wide_extreme(cube, q);
	assert_int_equal(method->can_serve(&cube->relation, &q->request, gpu, &reason),
	                 wide ? RQL_SERVE_NO : RQL_SERVE_FULL);
	if (wide) {
		assert_non_null(reason);
		refused++;
		return;
	}
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	ok(method->prepare(&cube->relation, &q->request, gpu, &prepared, &err), &err);
	assert_true(method->prepared_bytes(prepared) > 0);
	struct rql_cost cost;
	method->price(prepared, gpu, &cost);
	assert_true(isfinite(rql_cost_total(&cost)) && rql_cost_total(&cost) >= 0);
	for (unsigned round = 0; round < 2; round++) {
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_answer answer;
		ok(method->run(prepared, gpu, round ? RQL_RUN_TIMED : 0, arena, NULL, &answer, &err), &err);
		check_answer(q, t, &answer);
		rql_arena_free(arena);
	}
	ran++;
	method->free_prepared(prepared);
}

static void test_random(void **state)
{
	(void)state;
	const char *first = getenv("RAYQL_TEST_SEED");
	uint64_t from = first ? strtoull(first, NULL, 10) : 1;
	for (uint64_t seed = from; seed < from + (first ? 1 : CASES); seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		struct made made;
		table_make(&t);
		cube_make(&made, &t);
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			query_make(&q, &t);
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
	assert_true(first || (ran > CASES && refused > 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, open_device, close_device);
}
