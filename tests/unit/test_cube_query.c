/* The cube's query path against a naive evaluation over the rows: random cubes in every layout that cube.h allows (any
 * depth of the directory, any order of digits, folded dimensions, any width), random requests, every instruction set,
 * one thread and two, and profiles that force each way to run. */
#include "cube_world.h"

#ifdef __SANITIZE_THREAD__ /* most of them in one thread */
#define CASES 240u
#else
#define CASES 1500u
#endif

/* ---- running ---- */

static struct rql_pool *pools[2];

static struct rql_profile random_profile(void)
{
	static const double run[] = {0.001, 20, 1e5}, tested[] = {0.001, 1.5, 1e4};
	return (struct rql_profile){
		.read_gbps = 20,
		.handover_ns = one_in(2) ? 1 : 5000,
		.run_ns = run[below(3)],
		.cell_ns = 0.2,
		.tested_cell_ns = tested[below(3)],
		.group_ns = 10,
	};
}

static void run_query(const struct rql_cube *cube, struct query *q, const struct table *t)
{
	const struct rql_method *method = &rql_method_cube_cpu;
	struct rql_device device = {.id = "cpu",
	                            .units = {true},
	                            .simd = (enum rql_simd)below(3),
	                            .pool = pools[below(2)],
	                            .profile = random_profile()};
	const char *reason = NULL;
	q->request.relation = &cube->relation;
	assert_int_equal(method->offer(&q->request, &device, &reason), RQL_OFFER_FULL);
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	assert_int_equal(method->prepare(&q->request, &device, &prepared, &err), RQL_OK);
	assert_true(method->bytes(prepared) > 0);
	struct rql_cost cost;
	method->price(prepared, &device, &cost);
	assert_true(isfinite(rql_cost_total(&cost)) && rql_cost_total(&cost) >= 0);
	for (unsigned round = 0; round < 2; round++) {
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_port answer;
		assert_int_equal(method->run(prepared, &device, &(struct rql_run){.arena = arena}, &answer, &err), RQL_OK);
		check_answer(q, t, &answer);
		rql_arena_free(arena);
	}
	method->free(prepared);
}

static int make_pools(void **state)
{
	(void)state;
	return rql_pool_new(1, &pools[0], NULL) || rql_pool_new(2, &pools[1], NULL);
}

static int free_pools(void **state)
{
	(void)state;
	rql_pool_free(pools[0]);
	rql_pool_free(pools[1]);
	return 0;
}

static void test_layouts(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		struct made made;
		table_make(&t);
		cube_make(&made, &t);
		for (unsigned i = 0; i < 6; i++) {
			struct query q;
			query_make(&q, &t);
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
}

/* ---- the real builder ---- */

/* The rows as the builder takes them: codes are INTEGER dimensions, integers of 64 bits BIGINT, wider ones HUGEINT. */
static rql_status build_real(const struct table *t, enum rql_rollup rollup, const struct rql_device *device,
                             struct rql_cube **out, struct rql_error *err)
{
	struct rql_type types[MAX_DIMS + MAX_MEASURES];
	struct rql_measure_spec measures[MAX_MEASURES];
	const char *names[MAX_DIMS] = {"a", "b", "c", "d", "e", "f", "g"};
	for (uint32_t d = 0; d < t->dims; d++)
		types[d] = rql_type_simple(RQL_TYPE_INTEGER);
	for (uint32_t m = 0; m < t->measures; m++) {
		types[t->dims + m] = rql_type_simple(t->kind[m] == RQL_MEASURE_REAL ? RQL_TYPE_DOUBLE : RQL_TYPE_HUGEINT);
		measures[m] = (struct rql_measure_spec){
			.type = types[t->dims + m], .name = "m", .sum = true, .min = true, .max = true};
	}
	struct rql_relation_spec spec = {.name = "v",
	                             .dimension_count = t->dims,
	                             .dimension_types = types,
	                             .dimension_names = names,
	                             .measure_count = t->measures,
	                             .measures = measures,
	                             .rollup = rollup,
	                             .device = device};
	struct rql_relation_builder *builder;
	RQL_TRY(rql_cube_builder_new(&spec, &builder, err));
	struct rql_batch *batch = need(rql_batch_new(t->dims + t->measures, types, t->rows ? t->rows : 1));
	for (uint32_t r = 0; r < t->rows; r++) {
		for (uint32_t d = 0; d < t->dims; d++)
			((int32_t *)batch->columns[d].data)[r] = (int32_t)t->code[r][d];
		for (uint32_t m = 0; m < t->measures; m++) {
			struct rql_column *column = &batch->columns[t->dims + m];
			if (t->value[r][m].null)
				assert_true(rql_batch_set_null(batch, t->dims + m, r));
			else if (t->kind[m] == RQL_MEASURE_REAL)
				((double *)column->data)[r] = t->value[r][m].real;
			else
				memcpy((char *)column->data + 16 * (size_t)r, &t->value[r][m].integer, 16);
		}
	}
	batch->rows = t->rows;
	rql_status status = rql_cube_builder_add(builder, 0, batch, err);
	rql_batch_release(batch);
	if (status != RQL_OK) {
		rql_cube_builder_abort(builder);
		return status;
	}
	return rql_cube_builder_finish(builder, out, err);
}

/* The built dictionaries hold only the values that occur: rewrites the table's codes to the cube's. */
static void recode(struct table *t, const struct rql_cube *cube)
{
	for (uint32_t d = 0; d < t->dims; d++) {
		const struct rql_dimension *dimension = &cube->relation.dimensions[d];
		uint32_t code_of[MAX_CODES] = {0};
		for (uint32_t c = 0; c < dimension->count; c++)
			code_of[((const int32_t *)dimension->values.data)[c]] = c;
		for (uint32_t r = 0; r < t->rows; r++)
			t->code[r][d] = code_of[t->code[r][d]];
		t->codes[d] = dimension->count;
	}
}

static void test_built(void **state)
{
	(void)state;
	struct rql_device device = {.id = "cpu", .units = {true}, .pool = pools[1], .profile = random_profile()};
	for (uint64_t seed = 1; seed <= CASES / 3; seed++) {
		random_state = seed * UINT64_C(0xd1342543de82ef95);
		struct table t;
		table_make(&t);
		for (uint32_t m = 0; m < t.measures; m++)
			if (t.kind[m] == RQL_MEASURE_CODE)
				t.kind[m] = RQL_MEASURE_INTEGER;
		struct rql_cube *cube = NULL;
		struct rql_error err = {0};
		assert_int_equal(build_real(&t, (enum rql_rollup)below(3), &device, &cube, &err), RQL_OK);
		assert_int_equal(rql_cube_check(cube, &err), RQL_OK);
		recode(&t, cube);
		for (unsigned i = 0; i < 6 && t.rows; i++) {
			struct query q;
			query_make(&q, &t);
			run_query(cube, &q, &t);
		}
		rql_cube_release(cube);
		table_free(&t);
	}
}

static void test_cancelled(void **state)
{
	(void)state;
	random_state = 4711;
	struct table t;
	struct made made;
	do {
		table_make(&t);
	} while (t.rows == 0 && (table_free(&t), true));
	cube_make(&made, &t);
	struct query q = {.request = {.box_count = 1, .boxes = q.boxes}};
	struct rql_device device = {.units = {true}, .pool = pools[1], .profile = random_profile()};
	struct rql_prepared *prepared;
	struct rql_error err = {0};
	q.request.relation = &made.cube.relation;
	assert_int_equal(rql_method_cube_cpu.prepare(&q.request, &device, &prepared, &err), RQL_OK);
	struct rql_progress progress = {0};
	atomic_store(&progress.cancel, true);
	struct rql_port answer;
	struct rql_arena *arena = need(rql_arena_new());
	rql_status status = rql_method_cube_cpu.run(
		prepared, &device, &(struct rql_run){.arena = arena, .progress = &progress}, &answer, &err);
	assert_int_equal(status, RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	rql_arena_free(arena);
	rql_method_cube_cpu.free(prepared);
	made_free(&made);
	table_free(&t);
}

/* What is measured is of use to a price, whatever the machine was doing meanwhile. */
static void test_calibrate(void **state)
{
	(void)state;
	struct rql_device device = {.units = {true}, .simd = RQL_SIMD_AVX512, .pool = pools[1]};
	assert_int_equal(rql_cube_calibrate(&device, false, NULL), RQL_OK);
	const struct rql_profile *profile = &device.profile;
	assert_true(profile->run_ns > 0 && profile->cell_ns > 0 && profile->tested_cell_ns > 0 && profile->group_ns > 0);
}

static void test_refusals(void **state)
{
	(void)state;
	struct rql_measure measure = {.kind = RQL_MEASURE_CODE, .min = true};
	struct rql_cube cube = {.relation = {.measure_count = 1, .measures = &measure}};
	struct rql_device device = {.units = {true}, .pool = pools[0]};
	static const struct rql_agg aggs[] = {
		{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MAX}, {.kind = RQL_AGG_MIN, .source = {.index = 1}}};
	for (unsigned i = 0; i < 3; i++) {
		struct rql_request request = {.relation = &cube.relation, .agg_count = 1, .aggs = &aggs[i]};
		const char *reason = NULL;
		assert_int_equal(rql_method_cube_cpu.offer(&request, &device, &reason), RQL_OFFER_NO);
		assert_non_null(reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_built),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_calibrate),
	    cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, make_pools, free_pools);
}
