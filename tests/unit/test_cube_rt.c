/* The cube on a Vulkan device's rt unit, against the naive answer over the rows and against the CPU's method: random
 * cubes and requests under figures that force either way of finding runs and any depth of the geometry; keys at the
 * edges of the axes; the structure's serialised form. The device is the one that RAYQL_TEST_DEVICE names, else vulkan:0,
 * with the validation layer watching. */
#include "cube_world.h"

#include "device/device_internal.h"
#include "device/fault/fault.h"
#include "method/cube/rt/cube_rt_unit.h"
#include "submissions.h"
#include "vulkan_fixture.h"

/* Random cubes, from this seed on. Those of ASan take every way that the others do. */
#ifdef __SANITIZE_ADDRESS__
#define FIRST_SEED 70u
#define CASES 30u
#define EDGE_QUERIES 2u
#else
#define FIRST_SEED 55u /* with all that test_random wants to have seen */
#define CASES 45u
#define EDGE_QUERIES 4u
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

/* What was seen: every one of these must have been. */
static struct {
	unsigned refused, pairs, hits, locals, apart, run_tests, cell_tests, keyed, cuts, all_z, by_pass;
} seen;

/* Figures that make the plan choose each of its ways, and change nothing else. */
static void random_figures(struct rql_profile *profile)
{
	static const double figures[] = {0.001, 1, 1e5};
	profile->run_ns = figures[below(3)];
	profile->cell_ns = figures[below(3)];
	profile->tested_cell_ns = figures[below(3)];
	profile->ray_ns = figures[below(3)];
	profile->hit_ns = figures[below(3)];
}

static void note_plan(const struct rql_prepared *p)
{
	const struct rql_cube_rays *rays = p->unit->method;
	if (!rays->rt)
		return; /* nothing qualified: it never went to the device */
	seen.pairs += rays->placed.mode == RQL_RT_PAIR;
	seen.hits += rays->placed.mode == RQL_RT_HITS;
	seen.locals += rays->local;
	for (uint32_t b = 0; b < p->box_count; b++) {
		const struct rql_rt_box_axes *axes = &rays->placed.axes[b];
		const struct rql_rt_box_plan *box = &rays->placed.boxes[b];
		seen.apart += box->groups_apart;
		seen.cuts += box->cuts > 1;
		seen.by_pass += box->by_pass;
		seen.all_z += box->split == RQL_RT_NO_SPLIT && axes->first_z < axes->axes->depth;
		for (uint32_t d = 0; d < p->cube->digit_count; d++) {
			bool cell = rql_rt_tests_cells(axes, d);
			seen.cell_tests += cell;
			seen.keyed += cell && d < p->cube->directory_digits;
			seen.run_tests += d < axes->axes->depth && d > box->split && axes->places[d].gid;
		}
	}
}

static void check_counts(const struct rql_prepared *p, const struct rql_port *answer)
{
	const struct rql_cube_rays *rays = p->unit->method;
	if (!rays->rt)
		return;
	assert_true(answer->rays >= rays->placed.rays && answer->rays <= 2 * rays->placed.rays);
	/* Boxes are disjoint, but what tells them apart may not be in the geometry. */
	uint64_t most = rays->rt->primitives * p->box_count;
	assert_true(answer->runs <= most);
	if (rays->placed.mode == RQL_RT_HITS) {
		assert_true(answer->hits >= answer->runs && answer->hits <= most);
	} else {
		assert_int_equal(answer->hits, 2 * answer->runs);
	}
	assert_true(answer->cells_covered <= p->cube->relation.cells);
}

static void run_query(const struct rql_cube *cube, struct query *q, const struct table *t)
{
	const struct rql_method *method = &rql_method_cube_rt;
	const char *reason = NULL;
	q->request.relation = &cube->relation;
	random_figures(&gpu->profile);
	if (method->offer(&q->request, gpu, &reason) == RQL_OFFER_NO) {
		assert_non_null(strstr(reason, "wider than 64 bits"));
		seen.refused++;
		return;
	}
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	ok(method->prepare(&q->request, gpu, &prepared, &err), &err);
	assert_true(method->bytes(prepared) > 0);
	struct rql_cost cost;
	method->price(prepared, gpu, &cost);
	assert_true(isfinite(rql_cost_total(&cost)) && rql_cost_total(&cost) >= 0);
	assert_true(cost.rays >= 0 && cost.hits >= 0);
	for (unsigned round = 0; round < 2; round++) {
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_port answer;
		ok(method->run(prepared, gpu, &(struct rql_run){.flags = round ? RQL_RUN_TIMED : 0, .arena = arena}, &answer, &err), &err);
		check_answer(q, t, &answer);
		check_counts(prepared, &answer);
		rql_arena_free(arena);
	}
	note_plan(prepared);
	method->free(prepared);
}

static void test_random(void **state)
{
	(void)state;
	const char *first = getenv("RAYQL_TEST_SEED");
	uint64_t from = first ? strtoull(first, NULL, 10) : FIRST_SEED;
	static const double bytes[] = {80, 1e6, 1e7, 1e9};
	for (uint64_t seed = from; seed < from + (first ? 1 : CASES); seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		struct made made;
		table_make(&t);
		cube_make(&made, &t);
		gpu->profile.primitive_bytes = bytes[seed % 4]; /* the dearer, the less deep is the geometry */
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			query_make(&q, &t);
			run_query(&made.cube, &q, &t);
		}
		made_free(&made);
		table_free(&t);
	}
	print_message("refused %u pairs %u hits %u locals %u apart %u run tests %u cell tests %u keyed %u cuts %u "
	              "all z %u by pass %u\n",
	              seen.refused, seen.pairs, seen.hits, seen.locals, seen.apart, seen.run_tests, seen.cell_tests,
	              seen.keyed, seen.cuts, seen.all_z, seen.by_pass);
	if (first)
		return;
	assert_true(seen.refused && seen.pairs && seen.hits && seen.locals && seen.apart);
	assert_true(seen.run_tests && seen.cell_tests && seen.keyed && seen.cuts && seen.all_z && seen.by_pass);
}

/* ---- keys at the edges of the axes ---- */

#define EDGE_DIGITS 4u
#define EDGE_CELLS 3000u

/* A cube with large radices and few cells, one measure. */
struct edge_cube {
	struct rql_cube cube;
	struct rql_arena *arena;
	uint32_t (*key)[EDGE_DIGITS]; /* [cell] */
};

static int compare_keys(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	for (uint32_t d = 0; d < EDGE_DIGITS; d++)
		if (x[d] != y[d])
			return x[d] < y[d] ? -1 : 1;
	return 0;
}

static uint32_t edge_value(uint32_t radix)
{
	uint32_t near = below(radix < 3 ? radix : 3);
	switch (below(5)) {
	case 0:
		return near;
	case 1:
		return radix - 1 - near;
	case 2:
		return radix > RQL_AXIS_SIZE ? RQL_AXIS_SIZE - 1 + near % 2 : radix / 2;
	case 3:
		return radix > 1 << 21 ? (1 << 21) - 1 + near : radix / 3;
	default:
		return below(radix);
	}
}

/* The first `directory` digits' offsets. */
static void edge_directory(struct edge_cube *e, uint32_t directory)
{
	struct rql_cube *cube = &e->cube;
	cube->directory_digits = directory;
	cube->directory_size = 1;
	for (uint32_t d = 0; d < directory; d++)
		cube->directory_size *= cube->digits[d].radix;
	cube->directory32 = need(RQL_NEW_ARRAY(e->arena, uint32_t, cube->directory_size + 1));
	for (uint32_t c = 0; c < EDGE_CELLS; c++) {
		uint64_t key = 0;
		for (uint32_t d = 0; d < directory; d++)
			key = key * cube->digits[d].radix + e->key[c][d];
		cube->directory32[key + 1]++;
	}
	for (uint64_t k = 0; k < cube->directory_size; k++)
		cube->directory32[k + 1] += cube->directory32[k];
}

static void edge_columns(struct edge_cube *e, uint32_t directory)
{
	struct rql_cube *cube = &e->cube;
	rql_int128 *values = need(malloc(EDGE_CELLS * sizeof(*values)));
	cube->residual = need(RQL_NEW_ARRAY(e->arena, struct rql_packed, EDGE_DIGITS));
	for (uint32_t d = directory; d < EDGE_DIGITS; d++) {
		for (uint32_t c = 0; c < EDGE_CELLS; c++)
			values[c] = e->key[c][d];
		pack(NULL, &cube->residual[d - directory], values, EDGE_CELLS, false);
	}
	struct rql_cube_measure *measure = need(RQL_NEW(e->arena, struct rql_cube_measure));
	for (uint32_t c = 0; c < EDGE_CELLS; c++)
		values[c] = below(1000);
	pack(NULL, &measure->sum, values, EDGE_CELLS, false);
	struct made made = {.arena = e->arena};
	measure->cumulative = cumulate(&made, values, EDGE_CELLS, NULL);
	cube->measures = measure;
	free(values);
}

static void edge_make(struct edge_cube *e, const uint32_t *radix, uint32_t directory)
{
	*e = (struct edge_cube){.arena = need(rql_arena_new())};
	struct rql_cube *cube = &e->cube;
	struct rql_dimension *dims = need(RQL_NEW_ARRAY(e->arena, struct rql_dimension, EDGE_DIGITS));
	struct rql_measure *measure = need(RQL_NEW(e->arena, struct rql_measure));
	*measure = (struct rql_measure){.kind = RQL_MEASURE_INTEGER, .sum = true, .min = true, .max = true};
	cube->digit_count = EDGE_DIGITS;
	cube->digits = need(RQL_NEW_ARRAY(e->arena, struct rql_cube_digit, EDGE_DIGITS));
	cube->dimensions = need(RQL_NEW_ARRAY(e->arena, struct rql_cube_dimension, EDGE_DIGITS));
	for (uint32_t d = 0; d < EDGE_DIGITS; d++) {
		uint32_t *codes = need(RQL_NEW_ARRAY(e->arena, uint32_t, radix[d]));
		for (uint32_t v = 0; v < radix[d]; v++)
			codes[v] = v;
		cube->digits[d] = (struct rql_cube_digit){.radix = radix[d], .dimension = d, .code_of_digit = codes};
		cube->dimensions[d] = (struct rql_cube_dimension){.digit = d, .code_of_digit = codes};
		dims[d].count = radix[d];
	}
	cube->relation = (struct rql_relation){.dimension_count = EDGE_DIGITS,
	                                       .dimensions = dims,
	                                       .measure_count = 1,
	                                       .measures = measure,
	                                       .rows = EDGE_CELLS,
	                                       .cells = EDGE_CELLS};
	e->key = need(calloc(EDGE_CELLS, sizeof(*e->key)));
	for (uint32_t c = 0; c < EDGE_CELLS; c++) {
		bool again = c && one_in(4); /* runs of several cells, and neighbours */
		for (uint32_t d = 0; d < EDGE_DIGITS; d++)
			e->key[c][d] = again ? e->key[c - 1][d] : edge_value(radix[d]);
		uint32_t last = e->key[c][EDGE_DIGITS - 1];
		if (again && one_in(2))
			e->key[c][EDGE_DIGITS - 1] = last + 1 < radix[EDGE_DIGITS - 1] ? last + 1 : last;
	}
	qsort(e->key, EDGE_CELLS, sizeof(*e->key), compare_keys);
	edge_directory(e, directory);
	edge_columns(e, directory);
}

static void edge_free(struct edge_cube *e)
{
	rql_placements_drop(&e->cube);
	for (uint32_t d = e->cube.directory_digits; d < EDGE_DIGITS; d++)
		free(e->cube.residual[d - e->cube.directory_digits].data);
	free(e->cube.measures->sum.data);
	free(e->key);
	rql_arena_free(e->arena);
}

/* A few single values, or an interval, near values that are there. */
static uint64_t *edge_set(const struct edge_cube *e, uint32_t digit, uint32_t radix)
{
	uint64_t *set = need(calloc((radix + 63) / 64, sizeof(*set)));
	const uint32_t(*key)[EDGE_DIGITS] = (const uint32_t(*)[EDGE_DIGITS])e->key;
	if (one_in(2)) {
		for (unsigned i = 0; i < 6; i++) {
			uint32_t v = key[below(EDGE_CELLS)][digit];
			set[v >> 6] |= UINT64_C(1) << (v & 63);
		}
		return set;
	}
	uint32_t a = key[below(EDGE_CELLS)][digit], b = edge_value(radix);
	for (uint32_t v = a < b ? a : b; v <= (a < b ? b : a); v++)
		set[v >> 6] |= UINT64_C(1) << (v & 63);
	return set;
}

static void same_answers(const struct rql_port *a, const struct rql_port *b, uint32_t keys, uint32_t aggs)
{
	assert_int_equal(a->group_count, b->group_count);
	for (uint64_t g = 0; g < a->group_count; g++) {
		for (uint32_t k = 0; k < keys; k++)
			assert_int_equal(a->keys[k][g], b->keys[k][g]);
		for (uint32_t i = 0; i < aggs; i++) {
			const struct rql_agg_values *x = &a->aggs[i], *y = &b->aggs[i];
			bool x_valid = !x->valid || (x->valid[g >> 6] >> (g & 63) & 1);
			bool y_valid = !y->valid || (y->valid[g >> 6] >> (g & 63) & 1);
			assert_int_equal(x_valid, y_valid);
			assert_true(!x_valid || x->integer[g] == y->integer[g]);
		}
	}
}

/* copies: NULL, or of a run on the rt unit. */
static void run_method(const struct rql_method *method, struct rql_device *device, const struct rql_request *request,
                       struct rql_arena *arena, struct rql_port *out, uint64_t *copies)
{
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	const char *reason = "";
	if (method->offer(request, device, &reason) != RQL_OFFER_FULL)
		print_message("refused: %s\n", reason);
	ok(method->prepare(request, device, &prepared, &err), &err);
	ok(method->run(prepared, device, &(struct rql_run){.arena = arena}, out, &err), &err);
	if (copies)
		*copies = ((const struct rql_cube_rays *)prepared->unit->method)->copies;
	method->free(prepared);
}

static void edge_query(const struct edge_cube *e)
{
	const struct rql_cube *cube = &e->cube;
	uint64_t *sets[EDGE_DIGITS] = {0};
	const uint64_t *pass[EDGE_DIGITS] = {0};
	/* What comes before the ray's axis is enumerated: it must be few. */
	for (uint32_t d = 0; d < EDGE_DIGITS; d++)
		if (d + 1 < EDGE_DIGITS || !one_in(3))
			pass[d] = sets[d] = edge_set(e, d, cube->digits[d].radix);
	for (uint32_t d = 0; d + 1 < EDGE_DIGITS; d++) {
		if (cube->digits[d].radix < 200)
			continue;
		free(sets[d]);
		pass[d] = sets[d] = need(calloc((cube->digits[d].radix + 63) / 64, sizeof(uint64_t)));
		for (unsigned i = 0; i < 40; i++) {
			uint32_t v = e->key[below(EDGE_CELLS)][d];
			sets[d][v >> 6] |= UINT64_C(1) << (v & 63);
		}
	}
	struct rql_box box = {pass};
	struct rql_group_key group = {.source = {.index = below(EDGE_DIGITS)}};
	group.key_count = cube->digits[group.source.index].radix;
	struct rql_agg aggs[3] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MAX}};
	struct rql_request request = {
		.relation = &e->cube.relation, .box_count = 1, .boxes = &box, .agg_count = 2 + below(2), .aggs = aggs};
	if (one_in(2)) {
		request.group_count = 1;
		request.groups = &group;
	}
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port want, got;
	random_figures(&gpu->profile);
	run_method(&rql_method_cube_cpu, rql_devices_get(devices, "cpu"), &request, arena, &want, NULL);
	run_method(&rql_method_cube_rt, gpu, &request, arena, &got, NULL);
	same_answers(&got, &want, request.group_count, request.agg_count);
	rql_arena_free(arena);
	for (uint32_t d = 0; d < EDGE_DIGITS; d++)
		free(sets[d]);
}

static void test_edges(void **state)
{
	(void)state;
	static const struct {
		uint32_t radix[EDGE_DIGITS], directory;
	} shapes[] = {
		{{1, 1, 1, RQL_AXIS_SIZE}, 0},
		{{1, 1, 1, RQL_AXIS_SIZE + 1}, 3},             /* one bit too much: coarse */
		{{3, 5, RQL_AXIS_SIZE - 1, RQL_AXIS_SIZE}, 2}, /* y full, x small */
		{{7, RQL_AXIS_SIZE, 1, RQL_AXIS_SIZE}, 1},     /* x, y and z */
		{{2, 3, 3 * RQL_AXIS_SIZE + 5, 11}, 0},        /* what follows a coarse digit is not in the geometry */
		{{RQL_AXIS_SIZE + 3, 2, 3, 5}, 1},             /* coarse and in the directory */
		{{1 << 11, 1 << 11, 1 << 11, 1 << 11}, 1},     /* two digits an axis */
		{{1000, RQL_AXIS_SIZE, RQL_AXIS_SIZE, RQL_AXIS_SIZE}, 0}, /* 76 bits: the last digit does not fit */
	};
	gpu->profile.primitive_bytes = 80;
	double run_rays = rql_rt_run_rays;
	rql_rt_run_rays = 1e30; /* 3000 cells do not fill an axis */
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		random_state = (s + 1) * UINT64_C(0x9e3779b97f4a7c15);
		struct edge_cube e;
		edge_make(&e, shapes[s].radix, shapes[s].directory);
		for (unsigned i = 0; i < EDGE_QUERIES; i++)
			edge_query(&e);
		edge_free(&e);
	}
	rql_rt_run_rays = run_rays;
}

/* ---- many rays, few groups ---- */

static void test_copies(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {3, 7, 40, 500};
	struct edge_cube e;
	struct rql_agg aggs[] = {
		{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}, {.kind = RQL_AGG_MAX}};
	struct rql_group_key group = {.source = {.index = 0}, .key_count = 3};
	random_state = 99;
	gpu->profile.primitive_bytes = 80;
	edge_make(&e, radix, 1);
	uint64_t most = 0;
	for (unsigned i = 0; i < 12; i++) {
		/* Whatever the digits before the last one are, every interval of the last one is a ray or two. */
		uint64_t set[8];
		for (unsigned w = 0; w < 8; w++)
			set[w] = next_random();
		const uint64_t *pass[EDGE_DIGITS] = {NULL, NULL, NULL, set};
		struct rql_box box = {pass};
		struct rql_request request = {.relation = &e.cube.relation,
		                              .box_count = 1,
		                              .boxes = &box,
		                              .agg_count = 2 + 2 * (i / 2 % 2),
		                              .aggs = aggs,
		                              .group_count = i % 2,
		                              .groups = &group};
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_port want, got;
		uint64_t copies = 0;
		gpu->profile.ray_ns = i < 6 ? 0.001 : 1e5;
		gpu->profile.hit_ns = i < 6 ? 1e5 : 0.001;
		run_method(&rql_method_cube_cpu, rql_devices_get(devices, "cpu"), &request, arena, &want, NULL);
		run_method(&rql_method_cube_rt, gpu, &request, arena, &got, &copies);
		same_answers(&got, &want, request.group_count, request.agg_count);
		most = copies > most ? copies : most;
		rql_arena_free(arena);
	}
	assert_true(most >= 8);
	edge_free(&e);
}

/* Many possible groups, of which few exist: rows are hashed. */
static void test_hashed(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {1, 20, 2000, 2000};
	struct edge_cube e;
	struct rql_agg aggs[] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}};
	struct rql_group_key groups[] = {{.source = {.index = 3}, .key_count = 2000},
	                                 {.source = {.index = 2}, .key_count = 2000}};
	struct rql_box everything = {NULL};
	struct rql_request request = {.relation = &e.cube.relation,
	                              .box_count = 1,
	                              .boxes = &everything,
	                              .agg_count = 3,
	                              .aggs = aggs,
	                              .group_count = 2,
	                              .groups = groups};
	random_state = 5;
	gpu->profile.primitive_bytes = 80;
	gpu->profile.ray_ns = 1e5; /* enumerating all groups would be 80 million rays */
	gpu->profile.hit_ns = 0.001;
	edge_make(&e, radix, 2);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port want, got;
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	run_method(&rql_method_cube_cpu, rql_devices_get(devices, "cpu"), &request, arena, &want, NULL);
	ok(rql_method_cube_rt.prepare(&request, gpu, &prepared, &err), &err);
	assert_true(prepared->unit->hashed);
	for (unsigned i = 0; i < 2; i++) {
		ok(rql_method_cube_rt.run(prepared, gpu, &(struct rql_run){.arena = arena}, &got, &err), &err);
		same_answers(&got, &want, 2, 3);
	}
	rql_method_cube_rt.free(prepared);
	rql_arena_free(arena);
	edge_free(&e);
}

/* ---- the file ---- */

struct bytes {
	uint8_t *data;
	uint64_t used, at;
};

static rql_status put_bytes(void *state, const void *data, uint64_t size, struct rql_error *err)
{
	struct bytes *b = state;
	(void)err;
	b->data = need(realloc(b->data, b->used + size));
	memcpy(b->data + b->used, data, size);
	b->used += size;
	return RQL_OK;
}

static rql_status get_bytes(void *state, void *data, uint64_t size, struct rql_error *err)
{
	struct bytes *b = state;
	if (b->used - b->at < size)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "the file is too short");
	memcpy(data, b->data + b->at, size);
	b->at += size;
	return RQL_OK;
}

static void read_damaged(const struct rql_cube *cube, const struct bytes *file, uint64_t at, bool cut)
{
	struct bytes copy = {need(malloc(file->used)), file->used, 0};
	struct rql_error err = {0};
	memcpy(copy.data, file->data, file->used);
	if (cut)
		copy.used = at;
	else
		copy.data[at] ^= 0x40;
	rql_status status = rql_cube_rt_read(cube, gpu, get_bytes, &copy, &err);
	assert_true(status == RQL_ERROR_CORRUPT || status == RQL_ERROR_STALE);
	assert_true(strlen(rql_error_message(&err)) > 0);
	assert_false(rql_cube_is_placed(cube, gpu, RQL_CUBE_RT, NULL, NULL));
	rql_error_clear(&err);
	free(copy.data);
}

static void test_file(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {5, 9, 30, 1000}, other[EDGE_DIGITS] = {5, 9, 31, 1000};
	struct edge_cube e, foreign;
	struct rql_error err = {0};
	random_state = 77;
	edge_make(&e, radix, 2);
	edge_make(&foreign, other, 2);
	struct bytes file = {0};
	assert_int_equal(rql_cube_rt_write(&e.cube, gpu, put_bytes, &file, &err), RQL_ERROR_UNSUPPORTED);
	rql_error_clear(&err);
	struct rql_cube_rt *rt = NULL;
	ok(rql_cube_rt_get(&e.cube, gpu, NULL, &rt, &err), &err);
	assert_non_null(rt->starts);
	rql_placement_release(&rt->placement);
	ok(rql_cube_rt_write(&e.cube, gpu, put_bytes, &file, &err), &err);
	rql_placements_drop(&e.cube);
	read_damaged(&foreign.cube, &file, file.used, true);
	static const uint64_t places[] = {0, 9, 40, 70, 100, 1000, 5000};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		read_damaged(&e.cube, &file, places[i], false);
		read_damaged(&e.cube, &file, places[i], true);
	}
	read_damaged(&e.cube, &file, file.used - 1, true);
	ok(rql_cube_rt_read(&e.cube, gpu, get_bytes, &file, &err), &err);
	assert_true(rql_cube_is_placed(&e.cube, gpu, RQL_CUBE_RT, NULL, NULL));
	assert_int_equal(file.at, file.used);
	for (unsigned i = 0; i < 10; i++)
		edge_query(&e);
	free(file.data);
	edge_free(&e);
	edge_free(&foreign);
}

/* ---- many places, few cells ---- */

/* One digit's values [low, high], no groups; the answer of the rt unit, checked against the CPU's. */
static void range_query(const struct edge_cube *e, uint32_t digit, uint32_t low, uint32_t high, struct rql_arena *arena,
                        struct rql_port *got)
{
	uint64_t set[16] = {0};
	for (uint32_t v = low; v <= high; v++)
		set[v >> 6] |= UINT64_C(1) << (v & 63);
	const uint64_t *pass[EDGE_DIGITS] = {NULL};
	pass[digit] = set;
	struct rql_box box = {pass};
	struct rql_agg aggs[2] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}};
	struct rql_request request = {
		.relation = &e->cube.relation, .box_count = 1, .boxes = &box, .agg_count = 2, .aggs = aggs};
	struct rql_port want;
	run_method(&rql_method_cube_cpu, rql_devices_get(devices, "cpu"), &request, arena, &want, NULL);
	run_method(&rql_method_cube_rt, gpu, &request, arena, got, NULL);
	same_answers(got, &want, 0, 2);
}

/* Four digits of 997 would be a million rays for 3000 cells. */
static void test_sparse(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {997, 997, 997, 997};
	struct edge_cube e;
	struct rql_port answer;
	struct rql_error err = {0};
	struct bytes file = {0};
	struct rql_cube_rt *rt = NULL;
	random_state = 31;
	gpu->profile = rql_profile_guess;
	gpu->profile.primitive_bytes = 80;
	gpu->profile.ray_ns = gpu->profile.hit_ns = 1;
	edge_make(&e, radix, 1);
	struct rql_arena *arena = need(rql_arena_new());
	for (uint32_t d = 0; d < EDGE_DIGITS; d++) {
		range_query(&e, d, 3, 200, arena, &answer);
		assert_true(answer.rays > 0 && answer.rays <= 16 * EDGE_CELLS);
	}
	/* A structure that was made otherwise is not taken from a file. */
	rql_placements_drop(&e.cube);
	double run_rays = rql_rt_run_rays;
	rql_rt_run_rays = 1e30;
	ok(rql_cube_rt_get(&e.cube, gpu, NULL, &rt, &err), &err);
	assert_int_equal(rt->axes.depth, 4);
	rql_placement_release(&rt->placement);
	ok(rql_cube_rt_write(&e.cube, gpu, put_bytes, &file, &err), &err);
	rql_placements_drop(&e.cube);
	rql_rt_run_rays = run_rays;
	assert_int_equal(rql_cube_rt_read(&e.cube, gpu, get_bytes, &file, &err), RQL_ERROR_STALE);
	rql_error_clear(&err);
	free(file.data);
	rql_arena_free(arena);
	edge_free(&e);
}

/* Sixty digits over few cells: as deep as cells are told apart, and no deeper. */
static void test_many_digits(void **state)
{
	(void)state;
	enum { DIGITS = 60 };
	static const uint32_t radixes[] = {2, 10, 997, RQL_AXIS_SIZE};
	for (size_t i = 0; i < sizeof(radixes) / sizeof(*radixes); i++) {
		struct rql_cube_digit digits[DIGITS];
		uint64_t runs[DIGITS + 1] = {1};
		struct rql_cube cube = {.digit_count = DIGITS, .digits = digits};
		struct rql_rt_axes axes;
		cube.relation.rows = cube.relation.cells = 1000;
		for (uint32_t d = 0; d < DIGITS; d++) {
			digits[d] = (struct rql_cube_digit){.radix = radixes[i]};
			runs[d + 1] = (uint64_t)rql_rt_guess_runs(&cube, d + 1);
			assert_true(runs[d + 1] <= 1000 && runs[d + 1] + 1 >= runs[d]); /* rounded down */
		}
		uint32_t depth = rql_rt_choose_depth(&cube, runs, gpu);
		assert_true(rql_rt_fold(&cube, depth, &axes));
		assert_true((uint64_t)axes.size[0] * axes.size[1] <= 8 * runs[depth]);
		assert_true(depth == 1 || runs[depth] > 900);
	}
}

/* What a structure of that kind would need is refused before it runs. */
static void test_refused(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {1, RQL_AXIS_SIZE, RQL_AXIS_SIZE, RQL_AXIS_SIZE};
	struct edge_cube e;
	struct rql_box everything = {NULL};
	struct rql_agg agg = {.kind = RQL_AGG_SUM};
	struct rql_request request = {
		.relation = &e.cube.relation, .box_count = 1, .boxes = &everything, .agg_count = 1, .aggs = &agg};
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	double run_rays = rql_rt_run_rays;
	random_state = 32;
	gpu->profile.primitive_bytes = 1;
	edge_make(&e, radix, 0);
	rql_rt_run_rays = 1e30;
	rql_status status = rql_method_cube_rt.prepare(&request, gpu, &prepared, &err);
	rql_rt_run_rays = run_rays;
	assert_int_equal(status, RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "10^10 rays"));
	rql_error_clear(&err);
	ok(rql_method_cube_rt.prepare(&request, gpu, &prepared, &err), &err);
	rql_method_cube_rt.free(prepared);
	edge_free(&e);
}

/* ---- more rays than a submission has ---- */

static void run_in_pieces(const struct rql_prepared *prepared, const struct rql_port *want, uint32_t keys,
                          struct rql_arena *arena)
{
	const struct rql_method *method = &rql_method_cube_rt;
	const struct rql_cube_rays *rays = prepared->unit->method;
	struct rql_error err = {0};
	struct rql_port got;
	for (unsigned timed = 0; timed < 2; timed++) {
		submissions_count(gpu, 0, NULL);
		rql_status status = method->run(prepared, gpu, &(struct rql_run){.flags = timed ? RQL_RUN_TIMED : 0, .arena = arena}, &got, &err);
		unsigned count = submissions_end(gpu);
		ok(status, &err);
		same_answers(&got, want, keys, 2);
		/* The rows of a new context are put at rest by one more. */
		assert_true(rays->placed.rays > 6);
		assert_int_equal(count - !timed, 6);
		assert_true(!timed || strcmp(got.passes[0].pass, "earlier rays") == 0);
		assert_true(!timed || got.device_ns > got.passes[0].ns);
	}
	struct rql_progress progress = {0};
	submissions_count(gpu, 3, &progress);
	rql_status status = method->run(prepared, gpu, &(struct rql_run){.arena = arena, .progress = &progress}, &got, &err);
	assert_int_equal(submissions_end(gpu), 3);
	assert_int_equal(status, RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	ok(method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &got, &err), &err);
	same_answers(&got, want, keys, 2);
}

static void test_pieces(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {3, 7, 40, 500};
	struct edge_cube e;
	struct rql_agg aggs[] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}};
	struct rql_group_key group = {.source = {.index = 0}, .key_count = 3};
	uint64_t most = gpu->limits.submission_rays, set[8];
	random_state = 98;
	edge_make(&e, radix, 1);
	for (unsigned w = 0; w < 8; w++)
		set[w] = next_random();
	const uint64_t *pass[EDGE_DIGITS] = {NULL, NULL, NULL, set};
	struct rql_box box = {pass};
	for (unsigned i = 0; i < 4; i++) {
		struct rql_request request = {.relation = &e.cube.relation,
		                              .box_count = 1,
		                              .boxes = &box,
		                              .agg_count = 2,
		                              .aggs = aggs,
		                              .group_count = i % 2,
		                              .groups = &group};
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_prepared *prepared = NULL;
		struct rql_port want, got;
		struct rql_error err = {0};
		gpu->profile = rql_profile_guess;
		gpu->profile.primitive_bytes = 80;
		gpu->profile.ray_ns = i < 2 ? 0.001 : 10;
		gpu->profile.hit_ns = i < 2 ? 10 : 0.001;
		run_method(&rql_method_cube_cpu, rql_devices_get(devices, "cpu"), &request, arena, &want, NULL);
		ok(rql_method_cube_rt.prepare(&request, gpu, &prepared, &err), &err);
		ok(rql_method_cube_rt.run(prepared, gpu, &(struct rql_run){.arena = arena}, &got, &err), &err);
		submissions_count(gpu, 0, NULL); /* warm: one submission */
		rql_status status = rql_method_cube_rt.run(prepared, gpu, &(struct rql_run){.arena = arena}, &got, &err);
		assert_int_equal(submissions_end(gpu), 1);
		ok(status, &err);
		uint64_t rays = ((const struct rql_cube_rays *)prepared->unit->method)->placed.rays;
		rql_method_cube_rt.free(prepared);
		gpu->limits.submission_rays = (rays + 5) / 6;
		ok(rql_method_cube_rt.prepare(&request, gpu, &prepared, &err), &err);
		run_in_pieces(prepared, &want, request.group_count, arena);
		rql_method_cube_rt.free(prepared);
		gpu->limits.submission_rays = most;
		rql_arena_free(arena);
	}
	edge_free(&e);
}

/* ---- failures ---- */

/* From nothing placed to the answer; all that it made is gone afterwards. */
static rql_status whole_job(const struct rql_request *request, struct rql_arena *arena, struct rql_port *out,
                            struct rql_error *err)
{
	struct rql_prepared *prepared = NULL;
	RQL_TRY(rql_method_cube_rt.prepare(request, gpu, &prepared, err));
	rql_status status = rql_method_cube_rt.run(prepared, gpu, &(struct rql_run){.arena = arena}, out, err);
	rql_method_cube_rt.free(prepared);
	return status;
}

/* Every allocation, submission and wait fails once: an error with a message or, of an allocation, the answer; nothing is
 * left behind (ASan and the validation layer watch), and the next attempt is right. */
static void test_faults(void **state)
{
	(void)state;
	static const uint32_t radix[EDGE_DIGITS] = {3, 7, 40, 50};
	struct edge_cube e;
	struct rql_agg aggs[] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}};
	struct rql_box everything = {NULL};
	struct rql_request request = {
		.relation = &e.cube.relation, .box_count = 1, .boxes = &everything, .agg_count = 3, .aggs = aggs};
	random_state = 11;
	gpu->profile.primitive_bytes = 80;
	edge_make(&e, radix, 1);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port want, got;
	unsigned failed = 0;
	run_method(&rql_method_cube_cpu, rql_devices_get(devices, "cpu"), &request, arena, &want, NULL);
	for (unsigned kind = 0; kind < RQL_FAULT_KIND_COUNT; kind++) {
		bool again = true;
		for (uint64_t nth = 1; again; nth++) {
			struct rql_error err = {0};
			assert_int_equal(rql_fault_set(gpu, (enum rql_fault_kind)kind, nth, NULL), RQL_OK);
			rql_status status = whole_job(&request, arena, &got, &err);
			again = rql_fault_struck(gpu);
			if (status == RQL_OK) /* a failed allocation may be made up for: what a build has idle makes way */
				same_answers(&got, &want, 0, 3);
			else
				assert_true(again && strlen(rql_error_message(&err)) > 0);
			assert_true(!again || status != RQL_OK || kind == RQL_FAULT_ALLOCATION);
			failed += status != RQL_OK;
			rql_error_clear(&err);
			rql_fault_remove(gpu);
			rql_placements_drop(&e.cube);
			ok(whole_job(&request, arena, &got, &err), &err);
			same_answers(&got, &want, 0, 3);
			rql_placements_drop(&e.cube);
		}
	}
	assert_true(failed > 40);
	rql_arena_free(arena);
	edge_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),      cmocka_unit_test(test_edges),   cmocka_unit_test(test_copies),
		cmocka_unit_test(test_hashed),      cmocka_unit_test(test_file),    cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_many_digits), cmocka_unit_test(test_refused), cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_faults),
	};
	int skipped = vulkan_skip_without(RQL_UNIT_RT);
	return skipped ? skipped : cmocka_run_group_tests(tests, open_device, close_device);
}
