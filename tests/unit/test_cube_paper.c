/* The paper's form of the rt unit on a Vulkan device, against the naive answer over the rows: random cubes and requests
 * in every variant, structures that answer for other requests than their own, and what random ones never are: measures,
 * scan attributes and groups beyond 2^22, and more combinations of group attributes than a bitmap holds. The device is
 * the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. */
#include "cube_world.h"

#include <pthread.h>

#include "device/device_internal.h"
#include "method/cube/paper/cube_paper.h"
#include "submissions.h"
#include "vulkan_fixture.h"

#ifdef __SANITIZE_ADDRESS__
#define CASES 30u
#else
#define CASES 50u
#endif

static struct rql_devices *devices;
static struct rql_device *gpu;
static const struct rql_method *method = &rql_method_cube_paper;

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

/* Why the method refuses, if it does; it must have been right to. */
static bool may_refuse(const struct rql_cube *cube, const struct query *q)
{
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		const struct rql_agg *agg = &q->aggs[a];
		if (agg->kind == RQL_AGG_COUNT_STAR)
			continue;
		const struct rql_cube_measure *m = &cube->measures[agg->source.index];
		if (cube->relation.measures[agg->source.index].kind != RQL_MEASURE_INTEGER || m->sum.bits > 64 ||
		    m->min.bits > 64 || m->max.bits > 64)
			return true;
	}
	return q->request.agg_count > 3; /* they can need more than 5 columns */
}

static void random_layout(struct query *q, char layout[64])
{
	static const char *const variants[] = {"paper", "paper", "paper:split-scan", "paper:split-group",
	                                       "paper:operators"};
	const char *variant = variants[below(5)];
	const char *glue = strchr(variant, ':') ? "," : ":";
	if (one_in(3))
		snprintf(layout, 64, "%s%sx=%u,y=%u", variant, glue, 1 + below(RQL_GRID_MAX_LEG), 1 + below(5));
	else
		snprintf(layout, 64, "%s", variant);
	/* Legs of 2 over 2^22 values of x would be rays for minutes. */
	if (strstr(layout, "x=") && strtoul(strstr(layout, "x=") + 2, NULL, 10) < 14)
		snprintf(layout, 64, "%s%sx=17", variant, glue);
	q->request.layout = layout;
}

static unsigned refused, ran, tested;

static void check_figures(const struct rql_paper_prepared *p, const struct rql_port *answer)
{
	assert_true(answer->hits >= answer->cells_covered);
	if (answer->cells_covered)
		assert_true(answer->rays > 0 && answer->bytes_read > 0);
	bool whole = p->spec.options.variant == RQL_PAPER_WHOLE && p->areas.test_count == 0;
	if (whole) /* one ray at least, three at most */
		assert_true(answer->hits <= 3 * answer->cells_covered);
	tested += p->areas.test_count > 0;
}

static void run_query(const struct rql_cube *cube, struct query *q, const struct table *t)
{
	const char *reason = NULL;
	q->request.relation = &cube->relation;
	enum rql_offer serve = method->offer(&q->request, gpu, &reason);
	if (serve == RQL_OFFER_NO) {
		if (!may_refuse(cube, q))
			print_message("refused: %s\n", reason);
		assert_true(reason && may_refuse(cube, q));
		refused++;
		return;
	}
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	ok(method->prepare(&q->request, gpu, &prepared, &err), &err);
	assert_true(method->bytes(prepared) > 0);
	const struct rql_paper_prepared *p = (const struct rql_paper_prepared *)prepared;
	if (p->rays > 3e5) { /* a software device would take minutes over it */
		method->free(prepared);
		return;
	}
	struct rql_cost cost;
	method->price(prepared, gpu, &cost);
	assert_true(isfinite(rql_cost_total(&cost)) && rql_cost_total(&cost) >= 0);
	for (unsigned round = 0; round < 2; round++) {
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_port answer;
		ok(method->run(prepared, gpu, &(struct rql_run){.flags = round ? RQL_RUN_TIMED : 0, .arena = arena}, &answer, &err), &err);
		check_answer(q, t, &answer);
		check_figures(p, &answer);
		rql_arena_free(arena);
	}
	ran++;
	method->free(prepared);
}

/* Real and coded measures become integers, most of the time: the method refuses the others. */
static void make_integers(struct table *t)
{
	for (uint32_t m = 0; m < t->measures; m++)
		if (t->kind[m] != RQL_MEASURE_INTEGER && !one_in(6)) {
			t->kind[m] = RQL_MEASURE_INTEGER;
			for (uint32_t r = 0; r < t->rows; r++)
				t->value[r][m].integer = random_integer(2);
		}
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
		make_integers(&t);
		cube_make(&made, &t);
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			char layout[64];
			query_make(&q, &t);
			if (q.request.agg_count > 3)
				q.request.agg_count = 1 + below(3);
			random_layout(&q, layout);
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
	print_message("%u ran, %u refused, %u with tested attributes\n", ran, refused, tested);
	assert_true(first || (ran > CASES && refused > 0 && tested > 0));
}

/* ---- structures that answer for others ---- */

/* A table whose dimension 1 is a level above dimension 0, ascending with it. */
static void make_levels(struct table *t)
{
	for (bool found = false; !found;) {
		table_make(t);
		found = t->dims >= 3 && t->measures >= 2 && t->rows > 100 && t->parent[1] == 0 && t->codes[0] > 5 &&
		        t->codes[1] >= 3 && t->codes[1] < t->codes[0] && t->parent[2] == 2;
		for (uint32_t c = 1; found && c < t->codes[0]; c++)
			found = t->coarse[1][c] >= t->coarse[1][c - 1];
		if (!found)
			table_free(t);
	}
	for (uint32_t m = 0; m < 2; m++) {
		t->kind[m] = RQL_MEASURE_INTEGER;
		t->has_null[m] = false;
		for (uint32_t r = 0; r < t->rows; r++)
			t->value[r][m] = (struct value){.integer = random_integer(2)};
	}
}

static void test_one_structure_for_many(void **state)
{
	(void)state;
	random_state = 77;
	struct table t;
	struct made made;
	make_levels(&t);
	cube_make(&made, &t);
	struct query q = {0};
	q.request = (struct rql_request){.group_count = 2,
	                                 .groups = q.groups,
	                                 .box_count = 1,
	                                 .boxes = q.boxes,
	                                 .agg_count = 2,
	                                 .aggs = q.aggs,
	                                 .layout = "paper"};
	q.boxes[0].pass = q.pass[0];
	/* What the others ask for: scan 0, groups 0 and 2, both sums. */
	q.sets[0][0] = 6;
	q.pass[0][0] = &q.sets[0][0];
	q.groups[0] = (struct rql_group_key){.source = {.index = 0}, .key_count = t.codes[0]};
	q.groups[1] = (struct rql_group_key){.source = {.index = 2}, .key_count = t.codes[2]};
	q.aggs[0] = (struct rql_agg){.kind = RQL_AGG_SUM};
	q.aggs[1] = (struct rql_agg){.kind = RQL_AGG_SUM, .source = {.index = 1}};
	run_query(&made.cube, &q, &t);
	uint64_t bytes = rql_placements_of(&made.cube, gpu, NULL, 0, NULL, NULL);
	assert_true(bytes > 0);
	/* A group and a predicate that its attributes determine, and fewer sums. */
	q.request.group_count = 1;
	q.groups[0] = (struct rql_group_key){.source = {.index = 1}, .key_count = t.codes[1]};
	q.request.agg_count = 1;
	q.aggs[0] = (struct rql_agg){.kind = RQL_AGG_SUM, .source = {.index = 1}};
	q.pass[0][0] = NULL;
	q.sets[0][1] = 1;
	q.pass[0][1] = &q.sets[0][1];
	run_query(&made.cube, &q, &t);
	assert_int_equal(rql_placements_of(&made.cube, gpu, NULL, 0, NULL, NULL), bytes);
	q.request.group_count = 0;
	q.sets[0][1] = 2;
	run_query(&made.cube, &q, &t);
	assert_int_equal(rql_placements_of(&made.cube, gpu, NULL, 0, NULL, NULL), bytes);
	/* An attribute that it does not have, and another variant. */
	q.sets[0][2] = 1;
	q.pass[0][2] = &q.sets[0][2];
	run_query(&made.cube, &q, &t);
	uint64_t two = rql_placements_of(&made.cube, gpu, NULL, 0, NULL, NULL);
	assert_true(t.codes[2] == 1 ? two == bytes : two > bytes);
	q.request.layout = "paper:operators";
	run_query(&made.cube, &q, &t);
	assert_true(rql_placements_of(&made.cube, gpu, NULL, 0, NULL, NULL) > two);
	made_free(&made);
	table_free(&t);
}

/* ---- beyond 2^22 ---- */

/* A cube of one dimension of `codes` codes, cell i at code step * i with the measure values[i % 4], all residual. */
static const rql_int128 wide_values[4] = {-5, (rql_int128)1 << 52, 77, ((rql_int128)1 << 53) - 1};

static void make_wide(struct made *made, uint32_t codes, uint64_t cells, uint32_t step)
{
	*made = (struct made){.arena = need(rql_arena_new())};
	struct rql_cube *cube = &made->cube;
	uint32_t *identity = need(RQL_NEW_ARRAY(made->arena, uint32_t, codes));
	for (uint32_t c = 0; c < codes; c++)
		identity[c] = c;
	cube->digit_count = 1;
	cube->digits = need(RQL_NEW(made->arena, struct rql_cube_digit));
	*cube->digits = (struct rql_cube_digit){.radix = codes, .code_of_digit = identity};
	cube->dimensions = need(RQL_NEW(made->arena, struct rql_cube_dimension));
	cube->dimensions->code_of_digit = identity;
	struct rql_dimension *dimension = need(RQL_NEW(made->arena, struct rql_dimension));
	dimension->count = codes;
	struct rql_measure *measure = need(RQL_NEW(made->arena, struct rql_measure));
	*measure = (struct rql_measure){.kind = RQL_MEASURE_INTEGER, .sum = true, .min = true, .max = true};
	cube->relation = (struct rql_relation){.dimension_count = 1,
	                                       .dimensions = dimension,
	                                       .measure_count = 1,
	                                       .measures = measure,
	                                       .rows = cells,
	                                       .cells = cells};
	cube->directory_size = 1;
	cube->directory64 = need(RQL_NEW_ARRAY(made->arena, uint64_t, 2));
	cube->directory64[1] = cells;
	rql_int128 *values = need(calloc(cells, sizeof(*values)));
	cube->residual = need(RQL_NEW(made->arena, struct rql_packed));
	cube->measures = need(RQL_NEW(made->arena, struct rql_cube_measure));
	for (uint64_t i = 0; i < cells; i++)
		values[i] = (rql_int128)(step * i);
	pack(made, cube->residual, values, cells, true);
	for (uint64_t i = 0; i < cells; i++)
		values[i] = wide_values[i % 4];
	pack(made, &cube->measures->sum, values, cells, false);
	cube->measures->cumulative = cumulate(made, values, cells, NULL);
	free(values);
}

/* The last `wanted` cells of such a cube, grouped by their dimension or not. */
static void check_wide(struct made *made, const char *layout, uint32_t step, uint64_t wanted, bool grouped)
{
	struct rql_cube *cube = &made->cube;
	uint64_t cells = cube->relation.cells, first = cells - wanted;
	uint32_t codes = cube->relation.dimensions->count;
	uint64_t *set = need(calloc((codes + 63) / 64, 8));
	for (uint64_t i = first; i < cells; i++)
		set[step * i >> 6] |= UINT64_C(1) << (step * i & 63);
	const uint64_t *pass[] = {set};
	struct rql_box box = {pass};
	struct rql_group_key key = {.source = {.index = 0}, .key_count = codes};
	struct rql_agg aggs[] = {
		{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}, {.kind = RQL_AGG_MAX}, {.kind = RQL_AGG_COUNT_STAR}};
	struct rql_request request = {.relation = &cube->relation,
	                              .group_count = grouped,
	                              .groups = &key,
	                              .box_count = 1,
	                              .boxes = &box,
	                              .agg_count = 4,
	                              .aggs = aggs,
	                              .layout = layout};
	const char *reason = NULL;
	if (method->offer(&request, gpu, &reason) != RQL_OFFER_FULL)
		fail_msg("refused: %s", reason);
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	ok(method->prepare(&request, gpu, &prepared, &err), &err);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port answer;
	ok(method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &answer, &err), &err);
	assert_int_equal(answer.group_count, grouped ? wanted : 1);
	rql_int128 sum = 0, least = wide_values[first % 4], greatest = least;
	for (uint64_t i = first; i < cells; i++) {
		rql_int128 value = wide_values[i % 4];
		sum += value;
		least = value < least ? value : least;
		greatest = value > greatest ? value : greatest;
		if (!grouped)
			continue;
		assert_int_equal(answer.keys[0][i - first], step * i);
		assert_true(answer.aggs[0].integer[i - first] == value && answer.aggs[1].integer[i - first] == value);
		assert_true(answer.aggs[2].integer[i - first] == value && answer.aggs[3].integer[i - first] == 1);
	}
	if (!grouped)
		assert_true(answer.aggs[0].integer[0] == sum && answer.aggs[1].integer[0] == least &&
		            answer.aggs[2].integer[0] == greatest && answer.aggs[3].integer[0] == (rql_int128)wanted);
	rql_arena_free(arena);
	method->free(prepared);
	free(set);
}

/* One attribute of more values than z has; its upper bits are there, and every cell is tested. */
static void test_long_scan_attribute(void **state)
{
	(void)state;
	struct made made;
	make_wide(&made, 3u << 22, 2000, 6291);
	check_wide(&made, "paper", 6291, 1000, false);
	check_wide(&made, "paper:split-group", 6291, 20, true);
	check_wide(&made, "paper:operators", 6291, 20, false);
	made_free(&made);
}

/* z and x full to the last value. */
static void test_full_axis(void **state)
{
	(void)state;
	struct made made;
	make_wide(&made, RQL_GRID_SIZE, 2049, 2047);
	check_wide(&made, "paper", 2047, 2049, false);
	check_wide(&made, "paper", 2047, 1, true);
	check_wide(&made, "paper", 2047, 1000, true);
	made_free(&made);
	make_wide(&made, RQL_GRID_SIZE, 1000, 1); /* neighbours */
	check_wide(&made, "paper", 1, 1, false);
	check_wide(&made, "paper", 1, 999, true);
	made_free(&made);
}

/* More groups than y has values. */
static void test_many_groups(void **state)
{
	(void)state;
	struct made made;
	make_wide(&made, RQL_GRID_SIZE + 7, RQL_GRID_SIZE + 7, 1);
	check_wide(&made, "paper", 1, 100, true);
	made_free(&made);
}

/* ---- very many rays ---- */

static void run_in_pieces(const struct rql_cube *cube, const char *layout)
{
	struct rql_box box = {NULL};
	struct rql_agg agg = {.kind = RQL_AGG_SUM};
	struct rql_request request = {
		.relation = &cube->relation, .box_count = 1, .boxes = &box, .agg_count = 1, .aggs = &agg, .layout = layout};
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	struct rql_port want, got;
	struct rql_arena *arena = need(rql_arena_new());
	uint64_t most = gpu->limits.submission_rays;
	ok(method->prepare(&request, gpu, &prepared, &err), &err);
	ok(method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &want, &err), &err);
	submissions_count(gpu, 0, NULL);
	ok(method->run(prepared, gpu, &(struct rql_run){.flags = RQL_RUN_TIMED, .arena = arena}, &got, &err), &err);
	assert_int_equal(submissions_end(gpu), 1);
	uint32_t passes = got.pass_count;
	gpu->limits.submission_rays = want.rays / 10;
	submissions_count(gpu, 0, NULL);
	ok(method->run(prepared, gpu, &(struct rql_run){.flags = RQL_RUN_TIMED, .arena = arena}, &got, &err), &err);
	assert_true(submissions_end(gpu) >= 10);
	assert_true(got.aggs[0].integer[0] == want.aggs[0].integer[0]);
	assert_int_equal(got.pass_count, passes);
	assert_int_equal(got.rays, want.rays);
	assert_int_equal(got.hits, want.hits);
	struct rql_progress progress = {0};
	submissions_count(gpu, 3, &progress);
	rql_status status = method->run(prepared, gpu, &(struct rql_run){.arena = arena, .progress = &progress}, &got, &err);
	assert_int_equal(submissions_end(gpu), 3);
	assert_int_equal(status, RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	gpu->limits.submission_rays = most;
	ok(method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &got, &err), &err);
	assert_true(got.aggs[0].integer[0] == want.aggs[0].integer[0]);
	method->free(prepared);
	rql_arena_free(arena);
}

static void test_pieces(void **state)
{
	(void)state;
	struct made made;
	make_wide(&made, 5000, 2000, 1);
	run_in_pieces(&made.cube, "paper");
	run_in_pieces(&made.cube, "paper:operators");
	made_free(&made);
}

/* Legs of 2 over all of x, for 2000 areas. */
static void test_too_many_rays(void **state)
{
	(void)state;
	struct made made;
	make_wide(&made, RQL_GRID_SIZE, 2049, 2047);
	uint64_t *set = need(calloc(RQL_GRID_SIZE / 64, 8));
	for (uint64_t i = 0; i < 2049; i++)
		set[2047 * i >> 6] |= UINT64_C(1) << (2047 * i & 63);
	const uint64_t *pass[] = {set};
	struct rql_box box = {pass};
	struct rql_group_key key = {.source = {.index = 0}, .key_count = RQL_GRID_SIZE};
	struct rql_agg agg = {.kind = RQL_AGG_SUM};
	struct rql_request request = {.relation = &made.cube.relation,
	                              .group_count = 1,
	                              .groups = &key,
	                              .box_count = 1,
	                              .boxes = &box,
	                              .agg_count = 1,
	                              .aggs = &agg,
	                              .layout = "paper:x=1,y=1"};
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	const char *reason = "";
	assert_int_equal(method->offer(&request, gpu, &reason), RQL_OFFER_NO);
	assert_non_null(strstr(reason, "10^10 rays"));
	assert_int_equal(method->prepare(&request, gpu, &prepared, &err), RQL_ERROR_UNSUPPORTED);
	assert_string_equal(rql_error_message(&err), reason);
	rql_error_clear(&err);
	free(set);
	made_free(&made);
}

/* ---- several at once, and none ---- */

#define THREADS 4u

struct runner {
	const struct rql_prepared *prepared;
	rql_status status;
	rql_int128 sum;
	pthread_t thread;
};

/* No assertion off the main thread: what came out is looked at there. */
static void *run_some(void *state)
{
	struct runner *r = state;
	for (unsigned i = 0; i < 3 && r->status == RQL_OK; i++) {
		struct rql_arena *arena = rql_arena_new();
		struct rql_port answer;
		r->status = arena ? method->run(r->prepared, gpu, &(struct rql_run){.arena = arena}, &answer, NULL) : RQL_ERROR_MEMORY;
		r->sum = r->status == RQL_OK ? answer.aggs[0].integer[0] : 0;
		rql_arena_free(arena);
	}
	return NULL;
}

static void test_threads_and_cancelling(void **state)
{
	(void)state;
	struct made made;
	make_wide(&made, 5000, 2000, 1); /* the sum is just below 2^63 */
	struct rql_box box = {NULL};
	struct rql_agg agg = {.kind = RQL_AGG_SUM};
	struct rql_request request = {.relation = &made.cube.relation,
	                              .box_count = 1,
	                              .boxes = &box,
	                              .agg_count = 1,
	                              .aggs = &agg,
	                              .layout = "paper"};
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	ok(method->prepare(&request, gpu, &prepared, &err), &err);
	struct runner runners[THREADS] = {0};
	for (unsigned i = 0; i < THREADS; i++) {
		runners[i].prepared = prepared;
		assert_int_equal(pthread_create(&runners[i].thread, NULL, run_some, &runners[i]), 0);
	}
	rql_int128 sum = 500 * (wide_values[0] + wide_values[1] + wide_values[2] + wide_values[3]);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
		assert_int_equal(runners[i].status, RQL_OK);
		assert_true(runners[i].sum == sum);
	}
	/* Interrupted, unless it was done before that was seen; the next run is not disturbed. */
	struct rql_progress progress = {0};
	atomic_store(&progress.cancel, true);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port answer;
	rql_status status = method->run(prepared, gpu, &(struct rql_run){.arena = arena, .progress = &progress}, &answer, &err);
	assert_true(status == RQL_OK || status == RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	ok(method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &answer, &err), &err);
	assert_true(answer.aggs[0].integer[0] == sum);
	rql_arena_free(arena);
	method->free(prepared);
	made_free(&made);
}

/* ---- more combinations of group attributes than there are bits for ---- */

static void test_many_attributes(void **state)
{
	(void)state;
	random_state = 11 * UINT64_C(0x9e3779b97f4a7c15); /* such a table comes soon */
	struct table t;
	struct made made;
	uint64_t tuples;
	do {
		table_make(&t);
		tuples = 1;
		for (uint32_t d = 0; d < t.dims; d++)
			tuples *= t.codes[d];
		if (t.rows > 500 && tuples > UINT64_C(1) << 31)
			break;
		table_free(&t);
	} while (true);
	cube_make(&made, &t);
	struct rql_paper_spec spec = {.group_count = t.dims};
	for (uint32_t d = 0; d < t.dims; d++)
		spec.group[d] = d;
	struct rql_paper_encoding e = {.cube = &made.cube, .spec = &spec, .arena = made.arena};
	struct rql_error err = {0};
	ok(rql_paper_encoding_open(&e, &err), &err);
	assert_null(e.groups.bitmap);
	uint64_t cells = made.cube.relation.cells;
	float(*corner)[3] = need(calloc(cells, sizeof(*corner)));
	struct rql_paper_rows rows = {.corner = corner};
	struct rql_grid_axis axes[3] = {rql_grid_axis_of(1, 1), rql_grid_axis_of(e.groups.y_size, 1),
	                                rql_grid_axis_of(1, 1)};
	rql_paper_encode(&e, axes, 0, cells, &rows);
	for (uint64_t c = 0; c < cells; c++) {
		uint32_t number = (uint32_t)((int32_t)corner[c][1] + (int32_t)axes[1].center);
		assert_true(number < e.groups.count);
		for (uint32_t d = 0; d < t.dims; d++)
			assert_int_equal(e.groups.codes[d][number], t.code[made.order[made.first_row[c]]][d]);
	}
	for (uint64_t g = 1; g < e.groups.count; g++) { /* natural order, none twice */
		uint32_t d = 0;
		while (d < t.dims && e.groups.codes[d][g] == e.groups.codes[d][g - 1])
			d++;
		assert_true(d < t.dims && e.groups.codes[d][g] > e.groups.codes[d][g - 1]);
	}
	free(corner);
	rql_paper_encoding_close(&e);
	made_free(&made);
	table_free(&t);
}

/* ---- layouts ---- */

static void test_layouts(void **state)
{
	(void)state;
	struct rql_paper_options o;
	assert_true(rql_paper_options_parse(NULL, &o) && o.variant == RQL_PAPER_WHOLE && !o.leg_x && !o.leg_y);
	assert_true(rql_paper_options_parse("paper:split-scan,x=12", &o));
	assert_true(o.variant == RQL_PAPER_SPLIT_SCAN && o.leg_x == 12 && o.leg_y == 0);
	assert_true(rql_paper_options_parse("paper:y=3", &o) && o.variant == RQL_PAPER_WHOLE && o.leg_y == 3);
	static const char *const wrong[] = {
		"",    "pap", "papers", "paper:", "paper:split", "paper:x=0", "paper:x=22", "paper:x=1x", "paper:split-scan,",
		"auto"};
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(rql_paper_options_parse(wrong[i], &o));
	for (const char *const *l = method->layouts; *l; l++)
		assert_true(rql_paper_options_parse(*l, &o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_many_attributes),
		cmocka_unit_test(test_full_axis),
		cmocka_unit_test(test_long_scan_attribute),
		cmocka_unit_test(test_one_structure_for_many),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_too_many_rays),
		cmocka_unit_test(test_threads_and_cancelling),
	};
	int skipped = vulkan_skip_without(RQL_UNIT_RT);
	return skipped ? skipped : cmocka_run_group_tests(tests, open_device, close_device);
}
