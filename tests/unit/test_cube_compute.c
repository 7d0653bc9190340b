/* The cube on a Vulkan device's compute unit, against the naive answer over the rows and against the CPU's method: random
 * cubes and requests, and what random ones rarely are: one huge interval among many small ones, many groups (hashed),
 * several threads on one prepared request, a cancelled run. The device is the one that RAYQL_TEST_DEVICE names, else
 * vulkan:0, with the validation layer watching. */
#include "cube_world.h"

#include <pthread.h>
#include <stdatomic.h>

#include "device/device_internal.h"
#include "device/fault/fault.h"
#include "method/cube/gpu/cube_compute.h"
#include "vulkan_fixture.h"

/* A query makes pipelines of its own, and the driver's compiler takes nearly all the time: of the first 40 seeds those whose
 * cubes go ways that the ones before did not (test_ways). */
static const uint64_t seeds[] = {1, 2, 3, 5, 6, 9, 20, 26, 33};
#define CASES (sizeof seeds / sizeof *seeds)
#ifdef __SANITIZE_ADDRESS__ /* the calls are the same for all of them */
#define LENGTHS 1u
#else
#define LENGTHS 2u
#endif

static struct rql_devices *devices;
static struct rql_device *gpu;

static int open_device(void **state)
{
	(void)state;
	const char *name = getenv("RAYQL_TEST_DEVICE");
	struct rql_error err = {0};
	vulkan_keep_drivers();
	if (setenv("RAYQL_VULKAN_VALIDATION", "1", 0) != 0 || rql_devices_open(2, &devices, &err) != RQL_OK)
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
		const struct rql_cube_measure *m = &cube->measures[agg->source.index];
		bool rolled_up = cube->relation.rolled_up;
		const struct rql_packed *values = !rolled_up ? &m->sum : agg->kind == RQL_AGG_MAX ? &m->max : &m->min;
		if (cube->relation.measures[agg->source.index].kind != RQL_MEASURE_REAL && values->bits == 128)
			return true;
	}
	return false;
}

/* What the CPU's method says about the same request: how many cells qualify. */
static uint64_t covered_on_cpu(const struct query *q)
{
	const struct rql_method *method = &rql_method_cube_cpu;
	struct rql_device *cpu = &devices->device[0];
	struct rql_prepared *prepared;
	struct rql_error err = {0};
	struct rql_port answer;
	struct rql_arena *arena = need(rql_arena_new());
	ok(method->prepare(&q->request, cpu, &prepared, &err), &err);
	ok(method->run(prepared, cpu, &(struct rql_run){.arena = arena}, &answer, &err), &err);
	method->free(prepared);
	uint64_t covered = answer.cells_covered;
	rql_arena_free(arena);
	return covered;
}

static unsigned refused, ran, modes[3], passes[3], lanes, searched;
static bool first; /* the next run is a request's first */
/* Of resolved requests. */
static unsigned plain, plain_lanes, copied, rounds, cut, forms;
static unsigned owned, owned_lanes, owned_rounds, several; /* with several workgroups */

/* Runs it and checks the answer. */
static struct rql_port run_prepared(struct rql_prepared *prepared, const struct query *q, const struct table *t,
                                    unsigned flags)
{
	const struct rql_method *method = &rql_method_cube_compute;
	struct rql_error err = {0};
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port answer;
	ok(method->run(prepared, gpu, &(struct rql_run){.flags = flags, .arena = arena}, &answer, &err), &err);
	check_answer(q, t, &answer);
	assert_int_equal(answer.cells_covered, covered_on_cpu(q));
	if (flags && prepared->unit->items) {
		assert_true(answer.pass_count > 0 && answer.device_ns > 0);
		for (uint32_t i = 0; i < answer.pass_count; i++)
			assert_non_null(answer.passes[i].pass);
		/* Resolving is told once. */
		const struct rql_cube_compute *plan = prepared->unit->method;
		assert_int_equal(strcmp(answer.passes[0].pass, "resolve") == 0, first && plan->resolves);
	}
	rql_arena_free(arena);
	return answer;
}

static void note(const struct rql_prepared *prepared)
{
	const struct rql_cube_compute *plan = prepared->unit->method;
	modes[plan->mode]++;
	passes[plan->passes]++;
	lanes |= plan->lanes;
	for (uint32_t b = 0; b < prepared->box_count; b++)
		searched |= prepared->boxes[b].search_count ? plan->lanes : 0;
	ran++;
	if (!plan->resolves || !prepared->unit->items)
		return;
	cut += plan->entry_count > plan->totals[RQL_CUBE_COUNTER_RUNS];
	if (!plan->plain)
		return;
	plain++;
	if (plan->owned) {
		owned++;
		owned_lanes |= plan->entry_lanes;
		owned_rounds += plan->rounds > 1;
		several += plan->entry_workgroups > 1;
	} else {
		plain_lanes |= plan->entry_lanes;
		copied += plan->copies > 1;
		rounds += plan->entry_count * plan->entry_lanes > plan->entry_workgroups * RQL_CUBE_WORKGROUP;
	}
	for (uint32_t s = 0; s < prepared->slot_count; s++) {
		uint32_t bits = prepared->slots[s].values->bits;
		forms |= !bits ? 1u : bits <= 32 ? 2u : 4u;
	}
}

static void same_counts(const struct rql_port *a, const struct rql_port *b)
{
	assert_int_equal(a->runs, b->runs);
	assert_int_equal(a->cells_read, b->cells_read);
	assert_int_equal(a->bytes_read, b->bytes_read);
}

/* With its items resolved before the first run, and by every run itself: the answers and their counts agree. */
static void run_ways(const struct query *q, const struct table *t)
{
	const struct rql_method *method = &rql_method_cube_compute;
	struct rql_port answers[2];
	const uint32_t subgroup = gpu->limits.subgroup_size;
	/* Narrower subgroups than it has are planned for as well: fewer lanes share an item. */
	while (gpu->limits.subgroup_size > 1 && one_in(5))
		gpu->limits.subgroup_size /= 2;
	for (unsigned way = 0; way < 2; way++) {
		struct rql_prepared *prepared = NULL;
		struct rql_error err = {0};
		ok(method->prepare(&q->request, gpu, &prepared, &err), &err);
		assert_true(method->bytes(prepared) > 0);
		struct rql_cost cost;
		method->price(prepared, gpu, &cost);
		assert_true(isfinite(rql_cost_total(&cost)) && rql_cost_total(&cost) >= 0);
		struct rql_cube_compute *plan = prepared->unit->method;
		if (way)
			rql_cube_compute_plan(prepared, gpu, 0, plan);
		else if (one_in(2))
			plan->most_workgroups = 1 + below(3);
		if (one_in(2))
			plan->most_owned = 0;
		assert_int_equal(plan->resolves, !way && prepared->unit->items);
		bool timed = one_in(2);
		first = true;
		run_prepared(prepared, q, t, timed ? RQL_RUN_TIMED : 0);
		first = false;
		answers[way] = run_prepared(prepared, q, t, RQL_RUN_TIMED);
		note(prepared);
		method->free(prepared);
	}
	gpu->limits.subgroup_size = subgroup;
	same_counts(&answers[0], &answers[1]);
}

static void run_query(const struct rql_cube *cube, struct query *q, const struct table *t)
{
	const struct rql_method *method = &rql_method_cube_compute;
	const char *reason = NULL;
	q->request.relation = &cube->relation;
	random_figures(&gpu->profile);
	bool wide = wide_extreme(cube, q);
	assert_int_equal(method->offer(&q->request, gpu, &reason), wide ? RQL_OFFER_NO : RQL_OFFER_FULL);
	if (wide) {
		assert_non_null(reason);
		refused++;
		return;
	}
	run_ways(q, t);
}

static void test_random(void **state)
{
	(void)state;
	const char *first = getenv("RAYQL_TEST_SEED");
	for (size_t i = 0; i < (first ? 1 : CASES); i++) {
		uint64_t seed = first ? strtoull(first, NULL, 10) : seeds[i];
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		struct made made;
		table_make(&t);
		cube_make(&made, &t);
		for (unsigned k = 0; k < 4; k++) {
			struct query q;
			query_make(&q, &t);
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
	assert_true(first || (ran > CASES && refused > 0));
}

/* ---- shapes that random tables do not have ---- */

#define LARGE_ROWS 30000u

/* Nearly all rows have one code of the first dimension, so that one interval is long and the others are short. */
static void large_table(struct table *t, uint32_t dims, uint32_t codes, uint32_t rows)
{
	static const unsigned ranges[MAX_MEASURES] = {2, 4, 3, 1, 0};
	*t = (struct table){.dims = dims, .measures = MAX_MEASURES, .rows = rows};
	t->code = need(calloc(rows, sizeof(*t->code)));
	t->value = need(calloc(rows, sizeof(*t->value)));
	for (uint32_t d = 0; d < dims; d++) {
		t->codes[d] = codes;
		t->parent[d] = d;
	}
	for (uint32_t m = 0; m < MAX_MEASURES; m++) {
		t->kind[m] = m == 3 ? RQL_MEASURE_REAL : m == 4 ? RQL_MEASURE_CODE : RQL_MEASURE_INTEGER;
		t->has_null[m] = m % 2;
	}
	for (uint32_t r = 0; r < rows; r++) {
		for (uint32_t d = 0; d < dims; d++)
			t->code[r][d] = d == 0 && !one_in(20) ? codes / 2 : below(codes);
		for (uint32_t m = 0; m < MAX_MEASURES; m++) {
			struct value *v = &t->value[r][m];
			v->null = t->has_null[m] && one_in(5);
			v->integer = m == 4 ? (rql_int128)below(50) : random_integer(ranges[m]);
			v->real = random_real(true);
		}
	}
}

static void ask(struct query *q, uint32_t groups, uint32_t first_group, uint32_t aggs, const struct rql_agg *wanted,
                const struct table *t)
{
	*q = (struct query){.request = {.group_count = groups, .box_count = 1, .agg_count = aggs}};
	for (uint32_t g = 0; g < groups; g++)
		q->groups[g] =
			(struct rql_group_key){.source = {.index = first_group + g}, .key_count = t->codes[first_group + g]};
	for (uint32_t a = 0; a < aggs; a++)
		q->aggs[a] = wanted[a];
	q->boxes[0].pass = q->pass[0];
	q->request.groups = q->groups;
	q->request.boxes = q->boxes;
	q->request.aggs = q->aggs;
}

static const struct rql_agg all_kinds[] = {{.kind = RQL_AGG_SUM},
                                           {.kind = RQL_AGG_SUM, .source = {.index = 1}},
                                           {.kind = RQL_AGG_MIN, .source = {.index = 2}},
                                           {.kind = RQL_AGG_SUM, .source = {.index = 3}},
                                           {.kind = RQL_AGG_MAX, .source = {.index = 3}},
                                           {.kind = RQL_AGG_MIN, .source = {.index = 4}},
                                           {.kind = RQL_AGG_COUNT, .source = {.index = 1}},
                                           {.kind = RQL_AGG_MAX}};

static const struct rql_agg sums[] = {{.kind = RQL_AGG_SUM, .source = {.index = 2}}, {.kind = RQL_AGG_SUM}};

/* Long intervals are cut into pieces; sums that need no cells are added once all the same. */
static void test_lengths(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= LENGTHS; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		struct made made;
		struct query q;
		large_table(&t, 4, 9, LARGE_ROWS);
		cube_make(&made, &t);
		for (uint32_t groups = 0; groups < 3; groups++) {
			ask(&q, groups, 1, groups ? 8 : 3, all_kinds, &t);
			q.request.relation = &made.cube.relation;
			run_query(&made.cube, &q, &t);
			q.sets[0][2] = 0x1b5; /* a filter as well, which may be tested in every cell */
			q.pass[0][2] = &q.sets[0][2];
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
}

/* Many intervals for few groups: copies of the rows, and workgroups that take several entries each. */
static void test_plain(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		struct made made;
		struct query q;
		large_table(&t, 4, 11, LARGE_ROWS);
		cube_make(&made, &t);
		for (unsigned i = 0; made.cube.directory_digits < 4 && i < 40; i++) { /* it is chosen at random */
			made_free(&made);
			cube_make(&made, &t);
		}
		for (uint32_t groups = 0; groups < 3; groups++) {
			ask(&q, groups, 1, 1 + (uint32_t)seed % 2, sums, &t);
			q.request.relation = &made.cube.relation;
			q.sets[0][3] = 0x555;
			q.pass[0][3] = &q.sets[0][3];
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
}

/* Some 110 entries a group, of two cells or three: too many for the tiles of a workgroup, so it takes two rounds. */
static void test_rounds(void **state)
{
	(void)state;
	struct table t;
	struct made made;
	struct query q;
	struct rql_prepared *prepared;
	struct rql_error err = {0};
	random_state = 7;
	large_table(&t, 4, 11, LARGE_ROWS);
	for (uint32_t r = 0; r < t.rows; r++)
		t.code[r][0] = below(11);
	cube_make(&made, &t);
	while (made.cube.relation.rolled_up || made.cube.directory_digits < 4) { /* which is chosen at random */
		made_free(&made);
		cube_make(&made, &t);
	}
	ask(&q, 1, made.cube.digits[1].dimension, 2, sums, &t);
	q.request.relation = &made.cube.relation;
	for (uint32_t digit = 0; digit < 4; digit++) {
		uint32_t d = made.cube.digits[digit].dimension;
		q.sets[0][d] = 0x155;
		q.pass[0][d] = digit == 1 ? NULL : &q.sets[0][d];
	}
	ok(rql_method_cube_compute.prepare(&q.request, gpu, &prepared, &err), &err);
	for (unsigned run = 0; run < 2; run++)
		run_prepared(prepared, &q, &t, 0);
	const struct rql_cube_compute *plan = prepared->unit->method;
	assert_true(plan->owned && plan->rounds > 1);
	note(prepared);
	rql_method_cube_compute.free(prepared);
	made_free(&made);
	table_free(&t);
}

/* More groups than the result takes whole, than memory that the host reads takes, and than an array of rows takes; the
 * hash table begins too small. */
static void test_many_groups(void **state)
{
	(void)state;
	random_state = 99;
	for (uint32_t groups = 2; groups <= 4; groups++) {
		struct table t;
		struct made made;
		struct query q;
		struct rql_prepared *prepared;
		struct rql_error err = {0};
		large_table(&t, 5, MAX_CODES, 6000);
		cube_make(&made, &t);
		ask(&q, groups, 1, 8, all_kinds, &t);
		q.request.relation = &made.cube.relation;
		ok(rql_method_cube_compute.prepare(&q.request, gpu, &prepared, &err), &err);
		assert_false(prepared->unit->rows_whole);
		assert_int_equal(prepared->unit->hashed, groups == 4);
		if (groups == 4)
			prepared->unit->capacity = 16;
		for (unsigned round = 0; round < 3; round++)
			run_prepared(prepared, &q, &t, 0);
		assert_true(prepared->unit->capacity > 1024);
		rql_method_cube_compute.free(prepared);
		made_free(&made);
		table_free(&t);
	}
}

/* The tests before this one went every way. */
static void test_ways(void **state)
{
	(void)state;
	if (getenv("RAYQL_TEST_SEED"))
		return; /* a single case */
	for (unsigned i = 0; i < 3; i++)
		assert_true(modes[i] > 0);
	assert_true(passes[1] > 0 && passes[2] > 0);
	assert_true((lanes & (lanes - 1)) != 0);     /* more than one width */
	assert_true((searched & 1) && searched > 1); /* by one lane, and by several */
	print_message("plain %u lanes %x copied %u rounds %u cut %u forms %x\n", plain, plain_lanes, copied, rounds, cut,
	              forms);
	assert_true(plain > 0 && copied > 0 && rounds > 0 && cut > 0 && forms == 7);
	assert_true((plain_lanes & (plain_lanes - 1)) != 0);
	print_message("owned %u lanes %x rounds %u several %u\n", owned, owned_lanes, owned_rounds, several);
	assert_true(owned > 0 && owned_rounds > 0 && several > 0 && (owned_lanes & (owned_lanes - 1)) != 0);
}

/* ---- several threads, cancelling ---- */

struct thread {
	struct rql_prepared *prepared;
	struct rql_arena *arena;
	struct rql_port answer;
	rql_status status;
};

static void *run_often(void *argument)
{
	struct thread *thread = argument;
	for (unsigned i = 0; i < 10; i++) {
		rql_arena_free(thread->arena);
		thread->arena = rql_arena_new();
		thread->status = RQL_ERROR_MEMORY;
		if (!thread->arena)
			return NULL;
		thread->status =
			rql_method_cube_compute.run(thread->prepared, gpu, &(struct rql_run){.arena = thread->arena},
		                            &thread->answer, NULL);
		if (thread->status != RQL_OK)
			return NULL;
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	random_state = 7;
	struct table t;
	struct made made;
	struct query q;
	struct rql_prepared *prepared;
	struct rql_error err = {0};
	struct thread threads[4];
	pthread_t ids[4];
	large_table(&t, 3, 9, 3000);
	cube_make(&made, &t);
	ask(&q, 1, 1, 8, all_kinds, &t);
	q.request.relation = &made.cube.relation;
	ok(rql_method_cube_compute.prepare(&q.request, gpu, &prepared, &err), &err);
	for (unsigned i = 0; i < 4; i++) {
		threads[i] = (struct thread){.prepared = prepared};
		assert_int_equal(pthread_create(&ids[i], NULL, run_often, &threads[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(ids[i], NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(threads[i].status, RQL_OK);
		check_answer(&q, &t, &threads[i].answer);
		rql_arena_free(threads[i].arena);
	}
	rql_method_cube_compute.free(prepared);
	made_free(&made);
	table_free(&t);
}

static void *set_cancel(void *argument)
{
	struct rql_progress *progress = argument;
	for (uint64_t start = rql_now_ns(); rql_now_ns() - start < 100000;) {
	}
	atomic_store(&progress->cancel, true);
	return NULL;
}

/* Wherever the cancelling meets the run, it ends or is interrupted, and the next run has the right answer. */
static void test_cancel(void **state)
{
	(void)state;
	random_state = 8;
	struct table t;
	struct made made;
	struct query q;
	struct rql_prepared *prepared;
	struct rql_error err = {0};
	large_table(&t, 3, 9, LARGE_ROWS);
	cube_make(&made, &t);
	ask(&q, 1, 1, 8, all_kinds, &t);
	q.request.relation = &made.cube.relation;
	ok(rql_method_cube_compute.prepare(&q.request, gpu, &prepared, &err), &err);
	for (unsigned round = 0; round < 6; round++) {
		struct rql_progress progress = {0};
		struct rql_port answer;
		struct rql_arena *arena = need(rql_arena_new());
		pthread_t id;
		if (round == 0)
			atomic_store(&progress.cancel, true);
		else
			assert_int_equal(pthread_create(&id, NULL, set_cancel, &progress), 0);
		rql_status status = rql_method_cube_compute.run(prepared, gpu, &(struct rql_run){.arena = arena, .progress = &progress}, &answer, &err);
		if (round)
			pthread_join(id, NULL);
		assert_true(status == RQL_ERROR_INTERRUPTED || (round && status == RQL_OK));
		rql_error_clear(&err);
		rql_arena_free(arena);
	}
	run_prepared(prepared, &q, &t, 0);
	rql_method_cube_compute.free(prepared);
	made_free(&made);
	table_free(&t);
}

/* ---- placements ---- */

static void test_placement(void **state)
{
	(void)state;
	random_state = 9;
	struct table t;
	struct made made;
	struct query q;
	struct rql_error err = {0};
	const char *failure = NULL, *reason = NULL;
	char kinds[32];
	large_table(&t, 3, 9, 500);
	cube_make(&made, &t);
	ask(&q, 1, 1, 2, all_kinds, &t);
	q.request.relation = &made.cube.relation;
	const struct rql_cube *cube = &made.cube;
	assert_int_equal(rql_placements_of(cube, gpu, kinds, sizeof(kinds), NULL, &failure), 0);
	ok(rql_cube_place_for(cube, gpu, RQL_UNIT_COMPUTE, &err), &err);
	uint64_t bytes = rql_placements_of(cube, gpu, kinds, sizeof(kinds), NULL, &failure);
	assert_int_equal(bytes, rql_cube_arrays_bytes(cube));
	assert_memory_equal(kinds, "arrays in ", 10);
	assert_null(failure);
	/* A failed device is refused, by plans and by runs, until it is forgiven. */
	struct rql_prepared *prepared;
	ok(rql_method_cube_compute.prepare(&q.request, gpu, &prepared, &err), &err);
	run_prepared(prepared, &q, &t, 0);
	rql_placements_fail(cube, gpu, "it smokes");
	assert_int_equal(rql_method_cube_compute.offer(&q.request, gpu, &reason), RQL_OFFER_NO);
	assert_string_equal(reason, "it smokes");
	assert_int_equal(rql_placements_of(cube, gpu, NULL, 0, NULL, &failure), 0);
	assert_string_equal(failure, "it smokes");
	run_prepared(prepared, &q, &t, 0); /* what it holds is its own */
	assert_int_equal(rql_cube_place_for(cube, gpu, RQL_UNIT_COMPUTE, &err), RQL_ERROR_DEVICE);
	rql_error_clear(&err);
	rql_placements_forgive(cube, gpu);
	assert_int_equal(rql_method_cube_compute.offer(&q.request, gpu, &reason), RQL_OFFER_FULL);
	ok(rql_cube_place_for(cube, gpu, RQL_UNIT_COMPUTE, &err), &err);
	rql_method_cube_compute.free(prepared);
	made_free(&made);
	table_free(&t);
}

/* ---- faults ---- */

/* One run with the nth call of a kind failing; false: there was no such call. Whatever failed, the error says so, and
 * once the fault is over the same request has the right answer. */
static bool run_with_fault(const struct rql_cube *cube, struct query *q, const struct table *t,
                           enum rql_fault_kind kind, uint64_t nth)
{
	const struct rql_method *method = &rql_method_cube_compute;
	struct rql_prepared *prepared;
	struct rql_error err = {0};
	struct rql_port answer;
	struct rql_arena *arena = need(rql_arena_new());
	q->request.relation = &cube->relation;
	ok(method->prepare(&q->request, gpu, &prepared, &err), &err);
	ok(rql_fault_set(gpu, kind, nth, &err), &err);
	rql_status status = method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &answer, &err);
	bool struck = rql_fault_struck(gpu);
	rql_fault_remove(gpu);
	if (struck) {
		const char *reason = NULL;
		assert_int_equal(status, kind == RQL_FAULT_ALLOCATION ? RQL_ERROR_LIMIT : RQL_ERROR_DEVICE);
		assert_non_null(strstr(rql_error_message(&err), "RAYQL_FAULT"));
		if (status == RQL_ERROR_DEVICE)
			assert_int_equal(method->offer(&q->request, gpu, &reason), RQL_OFFER_NO);
		rql_placements_forgive(cube, gpu);
		run_prepared(prepared, q, t, 0);
	} else {
		ok(status, &err);
		check_answer(q, t, &answer);
	}
	rql_error_clear(&err);
	rql_arena_free(arena);
	method->free(prepared);
	return struck;
}

static void test_faults(void **state)
{
	(void)state;
	random_state = 10;
	struct table t;
	struct made made;
	struct query q;
	large_table(&t, 4, MAX_CODES, 2000);
	cube_make(&made, &t);
	unsigned struck = 0;
	for (uint32_t groups = 0; groups < 4; groups += 3) { /* one group, and so many that they are downloaded */
		ask(&q, groups, 1, 8, all_kinds, &t);
		q.request.relation = &made.cube.relation;
		for (unsigned kind = 0; kind < RQL_FAULT_KIND_COUNT; kind++)
			for (uint64_t nth = 1; nth < 1000; nth += 1 + nth / 2) {
				rql_placements_drop(&made.cube);
				if (!run_with_fault(&made.cube, &q, &t, (enum rql_fault_kind)kind, nth))
					break;
				struck++;
			}
	}
	assert_true(struck > 4 * RQL_FAULT_KIND_COUNT);
	made_free(&made);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest drawn[] = {cmocka_unit_test(test_random)}, tests[] = {
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_plain),
		cmocka_unit_test(test_rounds),  cmocka_unit_test(test_many_groups), cmocka_unit_test(test_ways),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_cancel),      cmocka_unit_test(test_placement),
		cmocka_unit_test(test_faults),
	};
	int skipped = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skipped)
		return skipped;
	vulkan_validate(false);
	int failed = cmocka_run_group_tests(drawn, open_device, close_device);
	vulkan_validate(true);
	return failed + cmocka_run_group_tests(tests, open_device, close_device);
}
