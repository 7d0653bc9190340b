/* Joins by hash images against plain loops, on random sides: misses, duplicates on either side, stacks that are too low,
 * capacities that overflow, empty sides, extreme keys, both layouts, 64-bit keys. The device is the one that
 * RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. The seed is fixed and printed. */
#include "device/fault/fault.h"
#include "primitive/raster/raster.h"
#include "primitive_fixture.h"

struct shape {
	enum rql_join_kind kind;
	enum rql_raster_layout layout;
	enum rql_raster_probe way;
	uint32_t key_bits, log2_side, layers;
	uint32_t build, probe;
	uint32_t range;   /* keys below it; 0: 0 to build - 1, each once on the build side */
	uint32_t missing; /* of the capacity */
};

struct world {
	struct shape shape;
	uint64_t *keys[2];
	uint32_t wanted_rows; /* pairs, or rows, of all build rows */
	struct rql_raster_join join;
	struct rql_raster_points points;
	uint64_t rows, rest;
	uint32_t *build_rows, *probe_rows, *rest_rows;
};

/* One-to-one and with the extremes among the values: 0 and the greatest stay themselves. */
static uint64_t key_of(uint64_t number, uint32_t bits)
{
	uint64_t most = bits == 64 ? UINT64_MAX : UINT32_MAX;
	return number == 0 ? 0 : number == 1 ? most : number * UINT64_C(0x9e3779b97f4a7c15) & most;
}

static void world_draw(struct world *w)
{
	const uint32_t counts[2] = {w->shape.build, w->shape.probe};
	for (int side = 0; side < 2; side++) {
		w->keys[side] = array(counts[side], 8);
		for (uint32_t i = 0; i < counts[side]; i++) {
			uint64_t below = w->shape.range ? w->shape.range : 2 * (uint64_t)counts[0] + 1;
			uint64_t number = side || w->shape.range ? drawn() % below : i;
			w->keys[side][i] = key_of(number, w->shape.key_bits);
		}
	}
	for (uint32_t p = 0; p < counts[1]; p++) {
		uint32_t matches = 0;
		for (uint32_t b = 0; b < counts[0]; b++)
			matches += w->keys[0][b] == w->keys[1][p];
		w->wanted_rows += w->shape.kind == RQL_JOIN_INNER ? matches
		                  : w->shape.kind == RQL_JOIN_SEMI ? matches > 0
		                                                   : matches == 0;
	}
}

static rql_status memory(struct rql_span *out, uint64_t bytes, struct rql_error *err)
{
	return rql_buffer_new(device, bytes + 8, RQL_MEMORY_DEVICE, "a test's memory", &out->buffer, err);
}

static rql_status upload_keys(struct world *w, int side, struct rql_span *out, struct rql_error *err)
{
	uint32_t count = side ? w->shape.probe : w->shape.build, bytes = w->shape.key_bits / 8;
	RQL_TRY(memory(out, (uint64_t)count * bytes, err));
	uint8_t *packed = array(count, bytes);
	for (uint32_t i = 0; i < count; i++)
		memcpy(packed + (uint64_t)i * bytes, &w->keys[side][i], bytes);
	rql_status status = rql_buffer_upload(out->buffer, 0, packed, (uint64_t)count * bytes, err);
	free(packed);
	return status;
}

static rql_status world_make(struct world *w, struct rql_error *err)
{
	struct rql_raster_join *j = &w->join;
	struct rql_image_spec stack, counts;
	const struct shape *s = &w->shape;
	*j = (struct rql_raster_join){.kind = s->kind, .layout = s->layout, .way = s->way, .key_bits = s->key_bits,
	                              .log2_side = s->log2_side, .layers = s->layers};
	j->build.count = s->build;
	j->probe.count = s->probe;
	j->capacity = s->kind == RQL_JOIN_INNER ? w->wanted_rows - s->missing : 0;
	RQL_TRY(upload_keys(w, 0, &j->build.keys, err));
	RQL_TRY(upload_keys(w, 1, &j->probe.keys, err));
	RQL_TRY(memory(&j->build_rows, j->capacity * 4, err));
	RQL_TRY(memory(&j->probe_rows, (s->kind == RQL_JOIN_INNER ? j->capacity : s->probe) * 4, err));
	RQL_TRY(memory(&j->rows, 8, err));
	RQL_TRY(memory(&j->rest_keys, (uint64_t)s->build * 8, err));
	RQL_TRY(memory(&j->rest_rows, (uint64_t)s->build * 4, err));
	RQL_TRY(memory(&j->rest, 8, err));
	RQL_TRY(memory(&j->points, sizeof(w->points), err));
	RQL_TRY(memory(&j->temp, rql_raster_join_temp_bytes(j), err));
	rql_raster_join_images(j, &stack, &counts);
	RQL_TRY(rql_image_new(device, &stack, "hash images", &j->stack, err));
	return rql_image_new(device, &counts, "counts of matches", &j->counts, err);
}

static rql_status world_run(struct world *w, struct rql_error *err)
{
	const struct rql_raster_join *j = &w->join;
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(device, 0, &c, err));
	rql_status status = rql_record_raster_join(c, j, err);
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	for (int run = 0; run < 2 && status == RQL_OK; run++) /* twice: it clears what it needs cleared */
		status = rql_commands_run(c, NULL, err);
	rql_commands_free(c);
	RQL_TRY(status);
	RQL_TRY(rql_buffer_download(j->rows.buffer, 0, &w->rows, 8, err));
	RQL_TRY(rql_buffer_download(j->rest.buffer, 0, &w->rest, 8, err));
	RQL_TRY(rql_buffer_download(j->points.buffer, 0, &w->points, sizeof(w->points), err));
	uint64_t out = w->shape.kind == RQL_JOIN_INNER ? j->capacity : w->shape.probe;
	w->build_rows = array(out, 4);
	w->probe_rows = array(out, 4);
	w->rest_rows = array(w->shape.build, 4);
	if (w->shape.kind == RQL_JOIN_INNER)
		RQL_TRY(rql_buffer_download(j->build_rows.buffer, 0, w->build_rows, out * 4, err));
	RQL_TRY(rql_buffer_download(j->probe_rows.buffer, 0, w->probe_rows, out * 4, err));
	return rql_buffer_download(j->rest_rows.buffer, 0, w->rest_rows, w->shape.build * UINT64_C(4), err);
}

static void world_free(struct world *w)
{
	struct rql_raster_join *j = &w->join;
	struct rql_span *spans[] = {&j->build.keys, &j->probe.keys, &j->build_rows, &j->probe_rows, &j->rows, &j->rest_keys,
	                            &j->rest_rows,  &j->rest,       &j->points,     &j->temp};
	for (unsigned i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		rql_buffer_free(spans[i]->buffer);
	rql_image_free(j->stack);
	rql_image_free(j->counts);
	free(w->build_rows);
	free(w->probe_rows);
	free(w->rest_rows);
	free(w->keys[0]);
	free(w->keys[1]);
	*w = (struct world){.rows = 0};
}

static int by_word(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Pairs that came: each is one, none twice; and as many as there must be of the build rows that have a place. */
static void check_pairs(const struct world *w)
{
	const struct shape *s = &w->shape;
	uint8_t *in_rest = array(s->build, 1);
	uint64_t wanted = 0;
	for (uint64_t i = 0; i < w->rest; i++) {
		assert_true(w->rest_rows[i] < s->build && !in_rest[w->rest_rows[i]]);
		in_rest[w->rest_rows[i]] = 1;
	}
	for (uint32_t p = 0; p < s->probe; p++)
		for (uint32_t b = 0; b < s->build; b++)
			wanted += !in_rest[b] && w->keys[0][b] == w->keys[1][p];
	assert_int_equal(w->rows, wanted);
	uint64_t count = wanted < w->join.capacity ? wanted : w->join.capacity, *pairs = array(count, 8);
	for (uint64_t i = 0; i < count; i++) {
		assert_true(w->build_rows[i] < s->build && w->probe_rows[i] < s->probe && !in_rest[w->build_rows[i]]);
		assert_int_equal(w->keys[0][w->build_rows[i]], w->keys[1][w->probe_rows[i]]);
		pairs[i] = (uint64_t)w->build_rows[i] << 32 | w->probe_rows[i];
	}
	qsort(pairs, count, 8, by_word);
	for (uint64_t i = 1; i < count; i++)
		assert_true(pairs[i - 1] < pairs[i]);
	free(pairs);
	free(in_rest);
}

static void check_rows(const struct world *w)
{
	uint64_t at = 0;
	assert_int_equal(w->rest, 0);
	assert_int_equal(w->rows, w->wanted_rows);
	for (uint32_t p = 0; p < w->shape.probe; p++) {
		bool has = false;
		for (uint32_t b = 0; b < w->shape.build && !has; b++)
			has = w->keys[0][b] == w->keys[1][p];
		if (has == (w->shape.kind == RQL_JOIN_SEMI))
			assert_int_equal(w->probe_rows[at++], p);
	}
}

static void check_way(struct shape shape, bool leaves_rest)
{
	struct world w = {.shape = shape};
	struct rql_error err = {0};
	world_draw(&w);
	rql_status status = world_make(&w, &err);
	if (status == RQL_OK)
		status = world_run(&w, &err);
	if (status != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	assert_int_equal(w.rest > 0, leaves_rest);
	if (shape.kind == RQL_JOIN_INNER)
		check_pairs(&w);
	else
		check_rows(&w);
	/* Every build row once, and again for each layer where it lost. */
	assert_true(w.points.build >= shape.build && w.points.build <= (uint64_t)shape.build * shape.layers);
	assert_int_equal(w.points.count, (shape.way ? w.points.layers > 0 : w.points.layers) * shape.probe);
	assert_int_equal(w.points.probe, shape.kind == RQL_JOIN_INNER ? w.points.count : 0);
	assert_true(w.points.layers <= shape.layers && (w.points.layers > 0) == (shape.build > 0));
	world_free(&w);
}

static void check(struct shape shape, bool leaves_rest)
{
	for (shape.way = RQL_RASTER_INSTANCES; shape.way <= RQL_RASTER_WALK; shape.way++)
		check_way(shape, leaves_rest);
}

static void test_unique(void **state)
{
	(void)state;
	check((struct shape){.key_bits = 32, .log2_side = 6, .layers = 16, .build = 3000, .probe = 5000}, false);
	check((struct shape){.key_bits = 32, .layout = RQL_RASTER_16, .log2_side = 6, .layers = 16, .build = 3000,
	                     .probe = 5000}, false);
	check((struct shape){.key_bits = 64, .log2_side = 7, .layers = 12, .build = 3000, .probe = 9000}, false);
}

static void test_duplicates(void **state)
{
	(void)state;
	check((struct shape){.key_bits = 32, .log2_side = 5, .layers = 64, .build = 2000, .probe = 3000, .range = 300}, false);
	check((struct shape){.key_bits = 64, .log2_side = 5, .layers = 64, .build = 2000, .probe = 3000, .range = 300}, false);
	/* The stack is too low: some have no place. */
	check((struct shape){.key_bits = 32, .log2_side = 4, .layers = 3, .build = 2000, .probe = 500, .range = 50}, true);
	check((struct shape){.key_bits = 64, .log2_side = 0, .layers = 1, .build = 70, .probe = 30, .range = 2}, true);
	check((struct shape){.key_bits = 32, .log2_side = 6, .layers = 64, .build = 900, .probe = 900, .range = 99,
	                     .missing = 1234}, false);
}

static void test_edges(void **state)
{
	(void)state;
	static const uint32_t counts[] = {0, 1, 255, 257};
	for (uint32_t b = 0; b < 4; b++)
		for (uint32_t p = 0; p < 4; p++)
			check((struct shape){.key_bits = 32, .log2_side = 4, .layers = 40, .build = counts[b], .probe = counts[p],
			                     .range = 60}, false);
}

static void test_rows(void **state)
{
	(void)state;
	for (enum rql_join_kind kind = RQL_JOIN_SEMI; kind <= RQL_JOIN_ANTI; kind++) {
		/* A key of a thousand rows takes one layer. */
		check((struct shape){.kind = kind, .key_bits = 32, .log2_side = 4, .layers = 8, .build = 3000, .probe = 3000,
		                     .range = 3}, false);
		check((struct shape){.kind = kind, .key_bits = 64, .log2_side = 6, .layers = 16, .build = 2000, .probe = 5000},
		      false);
		check((struct shape){.kind = kind, .key_bits = 32, .log2_side = 3, .layers = 2, .probe = 100, .range = 9}, false);
	}
}

/* Every allocation fails once, and the device is lost at every submission; then it joins again. */
static void test_faults(void **state)
{
	(void)state;
	static const enum rql_fault_kind kinds[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	const struct shape shape = {.key_bits = 32, .log2_side = 4, .layers = 8, .build = 200, .probe = 200};
	for (int kind = 0; kind < 3; kind++)
		for (uint64_t nth = 1;; nth++) {
			struct world w = {.shape = shape};
			struct rql_error err = {0};
			world_draw(&w);
			assert_int_equal(rql_fault_set(device, kinds[kind], nth, NULL), RQL_OK);
			rql_status status = world_make(&w, &err);
			if (status == RQL_OK)
				status = world_run(&w, &err);
			bool struck = rql_fault_struck(device);
			rql_fault_remove(device);
			assert_int_equal(status, !struck                                ? RQL_OK
			                         : kinds[kind] == RQL_FAULT_ALLOCATION ? RQL_ERROR_LIMIT
			                                                               : RQL_ERROR_DEVICE);
			rql_error_clear(&err);
			world_free(&w);
			if (!struck)
				break;
		}
	check(shape, false);
}

static void test_refused(void **state)
{
	(void)state;
	struct world w = {.shape = {.key_bits = 32, .log2_side = 4, .layers = 8, .build = 20, .probe = 20}};
	struct rql_commands *c = NULL;
	world_draw(&w);
	assert_int_equal(world_make(&w, NULL), RQL_OK);
	assert_int_equal(rql_commands_new(device, 0, &c, NULL), RQL_OK);
	struct rql_raster_join wrong = w.join;
	wrong.kind = RQL_JOIN_LEFT;
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.layers = 9; /* not the stack's */
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.key_bits = 64;
	wrong.layout = RQL_RASTER_16;
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.capacity = 1000000;
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	rql_commands_free(c);
	world_free(&w);
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 1);
	int skipped = vulkan_skip_without(RQL_UNIT_RASTER);
	if (skipped)
		return skipped;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unique), cmocka_unit_test(test_duplicates), cmocka_unit_test(test_edges),
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_faults),     cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
