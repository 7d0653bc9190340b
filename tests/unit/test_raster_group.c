/* Group-bys by hash images against plain loops, on random rows: duplicates, keys of one to seven words, both ways of
 * totals, rounds that are too few, capacities that are too small, extreme values, no rows. The device is the one that
 * RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. The seed is fixed and printed. */
#include "device/fault/fault.h"
#include "primitive/raster/group_by.h"
#include "primitive_fixture.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

struct shape {
	enum rql_raster_totals totals;
	uint32_t rows, key_words, hashed, range; /* each word of a key is one of `range` values */
	uint32_t log2_side, rounds, capacity, value_bits;
	unsigned wanted; /* SUM, EXTREMES */
	bool few_a_group;
	bool fields;            /* values are fields, beside them what counts those that are not NULL */
	uint32_t bits, unfound; /* of partitions; rows that the device says are not there */
};

enum { SUM = 1, EXTREMES = 2 };

struct world {
	struct shape shape;
	uint32_t *keys[RQL_RASTER_KEY_WORDS];
	int64_t *values;
	struct rql_raster_group_by by;
	uint64_t groups, inexact;
	struct rql_raster_group_points points;
	uint32_t *heads, *rest;
	uint64_t *counts, *present;
	unsigned_wide *sums;
	int64_t *least, *greatest;
};

static void world_draw(struct world *w)
{
	const struct shape *s = &w->shape;
	for (uint32_t k = 0; k < s->key_words; k++) {
		w->keys[k] = array(s->rows, 4);
		for (uint32_t i = 0; i < s->rows; i++) /* 0 and the greatest word are among them */
			w->keys[k][i] = (uint32_t)(drawn() % s->range) * (s->range > 1 ? UINT32_MAX / (s->range - 1) : 1);
	}
	w->values = array(s->rows, 8);
	for (uint32_t i = 0; i < s->rows; i++) {
		const uint64_t kind = drawn() % 8, low = s->value_bits == 64 ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)INT32_MIN;
		w->values[i] = (int64_t)(kind == 0 ? low : kind == 1 ? ~low : kind == 2 ? 0 : drawn());
		if (s->fields)
			w->values[i] &= s->value_bits == 64 ? INT64_MAX : INT32_MAX;
		else if (s->value_bits != 64)
			w->values[i] = (int32_t)w->values[i];
	}
}

static uint32_t rows_of(const struct shape *s)
{
	return s->rows > s->unfound ? s->rows - s->unfound : 0;
}

static rql_status memory(struct rql_span *out, uint64_t bytes, struct rql_error *err)
{
	return rql_buffer_new(device, bytes + 8, RQL_MEMORY_DEVICE, "a test's memory", &out->buffer, err);
}

static rql_status upload(struct rql_span *out, const void *from, uint64_t bytes, struct rql_error *err)
{
	RQL_TRY(memory(out, bytes, err));
	return rql_buffer_upload(out->buffer, 0, from, bytes, err);
}

static rql_status upload_values(struct world *w, struct rql_error *err)
{
	const uint32_t bytes = w->shape.value_bits / 8;
	uint8_t *packed = array(w->shape.rows, 8);
	for (uint32_t i = 0; i < w->shape.rows; i++)
		memcpy(packed + (uint64_t)i * bytes, &w->values[i], bytes);
	rql_status status = upload(&w->by.columns[0].values, packed, (uint64_t)w->shape.rows * bytes, err);
	free(packed);
	return status;
}

static rql_status world_make(struct world *w, struct rql_error *err)
{
	struct rql_raster_group_by *by = &w->by;
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	const struct shape *s = &w->shape;
	*by = (struct rql_raster_group_by){.count = s->rows, .key_words = s->key_words, .hashed = s->hashed,
	                                   .log2_side = s->log2_side, .rounds = s->rounds, .totals = s->totals,
	 .partition_bits = s->bits, .few_a_group = s->few_a_group,
	                                   .capacity = s->capacity, .column_count = s->wanted ? s->fields ? 2 : 1 : 0};
	struct rql_group_by_column *column = &by->columns[0];
	column->kind = s->fields ? RQL_GROUP_BY_FIELDS : RQL_GROUP_BY_INTEGERS;
	column->bits = s->value_bits;
	column->is_signed = column->wide_sum = true;
	for (uint32_t k = 0; k < s->key_words; k++)
		RQL_TRY(upload(&by->keys[k], w->keys[k], s->rows * UINT64_C(4), err));
	if (s->wanted)
		RQL_TRY(upload_values(w, err));
	RQL_TRY(memory(&by->heads, s->capacity * UINT64_C(4), err));
	RQL_TRY(memory(&by->counts, s->capacity * UINT64_C(8), err));
	if (s->wanted & SUM)
		RQL_TRY(memory(&column->sum, s->capacity * UINT64_C(16), err));
	if (s->wanted & EXTREMES) {
		RQL_TRY(memory(&column->min, s->capacity * UINT64_C(8), err));
		RQL_TRY(memory(&column->max, s->capacity * UINT64_C(8), err));
	}
	if (by->column_count == 2) {
		by->columns[1] = (struct rql_group_by_column){.kind = RQL_GROUP_BY_PRESENT, .bits = s->value_bits, .values = column->values};
		RQL_TRY(memory(&by->columns[1].sum, s->capacity * UINT64_C(8), err));
	}
	if (s->unfound) {
		const uint64_t found = rows_of(s);
		RQL_TRY(upload(&by->found, &found, 8, err));
	}
	RQL_TRY(memory(&by->groups, 8, err));
	RQL_TRY(memory(&by->inexact, 8, err));
	RQL_TRY(memory(&by->rest, s->rows * UINT64_C(4), err));
	RQL_TRY(memory(&by->points, sizeof w->points, err));
	RQL_TRY(memory(&by->temp, rql_raster_group_by_temp_bytes(by), err));
	rql_raster_group_by_images(by, specs);
	assert_null(rql_raster_group_by_refusal(by, device));
	return rql_raster_images_new(device, specs, RQL_RASTER_GROUP_IMAGES, "images of a group-by", by->images, err);
}

static rql_status world_read(struct world *w, struct rql_error *err)
{
	const struct rql_raster_group_by *by = &w->by;
	const uint64_t room = w->shape.capacity;
	w->heads = array(room, 4);
	w->counts = array(room, 8);
	w->sums = array(room, 16);
	w->least = array(room, 8);
	w->greatest = array(room, 8);
	w->rest = array(w->shape.rows, 4);
	w->present = array(room, 8);
	RQL_TRY(rql_buffer_download(by->groups.buffer, 0, &w->groups, 8, err));
	RQL_TRY(rql_buffer_download(by->inexact.buffer, 0, &w->inexact, 8, err));
	RQL_TRY(rql_buffer_download(by->points.buffer, 0, &w->points, sizeof w->points, err));
	RQL_TRY(rql_buffer_download(by->heads.buffer, 0, w->heads, room * 4, err));
	RQL_TRY(rql_buffer_download(by->counts.buffer, 0, w->counts, room * 8, err));
	if (w->shape.wanted & SUM)
		RQL_TRY(rql_buffer_download(by->columns[0].sum.buffer, 0, w->sums, room * 16, err));
	if (w->shape.wanted & EXTREMES) {
		RQL_TRY(rql_buffer_download(by->columns[0].min.buffer, 0, w->least, room * 8, err));
		RQL_TRY(rql_buffer_download(by->columns[0].max.buffer, 0, w->greatest, room * 8, err));
	}
	if (by->column_count == 2)
		RQL_TRY(rql_buffer_download(by->columns[1].sum.buffer, 0, w->present, room * 8, err));
	return rql_buffer_download(by->rest.buffer, 0, w->rest, w->shape.rows * UINT64_C(4), err);
}

static rql_status world_run(struct world *w, struct rql_error *err)
{
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(device, 0, &c, err));
	rql_status status = rql_record_raster_group_by(c, &w->by, err);
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	for (int run = 0; run < 2 && status == RQL_OK; run++) /* twice: it clears what it needs cleared */
		status = rql_commands_run(c, NULL, err);
	rql_commands_free(c);
	return status == RQL_OK ? world_read(w, err) : status;
}

static void world_free(struct world *w)
{
	struct rql_raster_group_by *by = &w->by;
	struct rql_group_by_column *column = &by->columns[0];
	struct rql_span *spans[] = {&column->values, &column->sum,  &column->min,  &column->max, &by->columns[1].sum, &by->found,
	                            &by->heads,      &by->counts,   &by->groups,   &by->inexact, &by->rest,           &by->points,
	                            &by->temp};
	for (unsigned i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		rql_buffer_free(spans[i]->buffer);
	for (uint32_t k = 0; k < RQL_RASTER_KEY_WORDS; k++) {
		rql_buffer_free(by->keys[k].buffer);
		free(w->keys[k]);
	}
	rql_raster_images_free(by->images, RQL_RASTER_GROUP_IMAGES);
	free(w->values);
	free(w->heads);
	free(w->rest);
	free(w->counts);
	free(w->present);
	free(w->sums);
	free(w->least);
	free(w->greatest);
	*w = (struct world){.groups = 0};
}

static bool is_equal(const struct world *w, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < w->shape.key_words; k++)
		if (w->keys[k][a] != w->keys[k][b])
			return false;
	return true;
}

/* The rows of one group, one by one. */
static void check_group(const struct world *w, uint64_t group, uint32_t *group_of)
{
	const uint32_t head = w->heads[group];
	uint64_t count = 0, present = 0;
	wide sum = 0;
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	assert_true(head < rows_of(&w->shape));
	for (uint32_t i = 0; i < rows_of(&w->shape); i++) {
		if (!is_equal(w, i, head))
			continue;
		assert_int_equal(group_of[i], 0); /* neither in the rest nor in another group */
		group_of[i] = (uint32_t)group + 1;
		count++;
		if (w->shape.fields && !w->values[i])
			continue;
		present++;
		sum += w->values[i];
		least = w->values[i] < least ? w->values[i] : least;
		greatest = w->values[i] > greatest ? w->values[i] : greatest;
	}
	assert_int_equal(w->counts[group], count);
	if (w->by.column_count == 2)
		assert_int_equal(w->present[group], present);
	if (!present)
		least = greatest = 0;
	if (w->shape.wanted & SUM)
		assert_true((wide)w->sums[group] == sum);
	if (w->shape.wanted & EXTREMES) {
		assert_true(w->least[group] == least);
		assert_true(w->greatest[group] == greatest);
	}
}

static void check_groups(const struct world *w)
{
	const struct shape *s = &w->shape;
	const uint64_t rest = w->points.rest;
	const uint64_t there = w->groups < s->capacity ? w->groups : s->capacity;
	uint32_t *group_of = array(s->rows, 4), left = 0;
	for (uint64_t i = 0; i < rest; i++) {
		assert_true(w->rest[i] < rows_of(s) && group_of[w->rest[i]] == 0);
		group_of[w->rest[i]] = UINT32_MAX;
	}
	for (uint64_t g = 0; g < there; g++)
		check_group(w, g, group_of);
	for (uint32_t i = 0; i < rows_of(s); i++)
		left += group_of[i] == 0;
	assert_true((left > 0) == (w->groups > s->capacity));
	assert_int_equal(w->inexact, 0);
	/* Round 0 draws all rows, each later one the rows that lost in the one before. */
	assert_true(w->points.hashed >= rows_of(s) && w->points.hashed <= rows_of(s) * (uint64_t)s->rounds);
	assert_int_equal(w->points.totals, rows_of(s));
	assert_true(w->points.rounds <= s->rounds && w->points.partitions <= 1u << s->bits);
	free(group_of);
}

static void run(struct world *w)
{
	struct rql_error err = {0};
	world_draw(w);
	rql_status status = world_make(w, &err);
	if (status == RQL_OK)
		status = world_run(w, &err);
	if (status != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
}

static void check(struct shape shape, bool leaves_rest)
{
	struct world w = {.shape = shape};
	run(&w);
	assert_int_equal(w.points.rest > 0, leaves_rest);
	check_groups(&w);
	world_free(&w);
}

#define BOTH (SUM | EXTREMES)
static const struct shape usual = {.rows = 3000, .key_words = 1, .hashed = 1, .range = 50, .log2_side = 5, .rounds = 8,
                                   .capacity = 100, .value_bits = 32, .wanted = BOTH, .few_a_group = true};

static void test_keys(void **state)
{
	(void)state;
	for (uint32_t words = 1; words <= RQL_RASTER_KEY_WORDS; words++) {
		struct shape shape = usual;
		shape.key_words = words;
		shape.range = words == 1 ? 100 : words == 2 ? 10 : 2;
		shape.capacity = 128;
		shape.hashed = words;
		check(shape, false);
	}
	/* One diverse word of three places them; what shares it meets at one pixel, round by round. */
	struct shape shape = usual;
	shape.key_words = 3;
	shape.range = 4;
	shape.rounds = RQL_RASTER_ROUNDS;
	shape.capacity = 64;
	check(shape, false);
}

static void test_totals(void **state)
{
	(void)state;
	for (enum rql_raster_totals totals = RQL_RASTER_ATOMICS; totals <= RQL_RASTER_BLENDING; totals++)
		for (unsigned wanted = 0; wanted <= BOTH; wanted++)
			for (uint32_t i = 0; i < 4; i++) {
				struct shape shape = usual;
				shape.totals = totals;
				shape.wanted = wanted;
				shape.value_bits = i % 2 ? 64 : 32;
				shape.fields = i >= 2;
				shape.rows = 900;
				check(shape, false);
			}
}

/* More rows than a pass may add, all in one group: pass by pass it is exact, in one pass it says that it is not. */
static void test_many_a_group(void **state)
{
	(void)state;
	struct shape shape = usual;
	shape.totals = RQL_RASTER_BLENDING;
	shape.rows = 2 * RQL_RASTER_EXACT_ROWS + 77;
	shape.range = 1;
	shape.few_a_group = false;
	check(shape, false);
	shape.value_bits = 64;
	shape.unfound = 5;
	check(shape, false);
	shape.few_a_group = true;
	struct world w = {.shape = shape};
	run(&w);
	assert_int_equal(w.inexact, 1);
	world_free(&w);
}

/* More groups than the image has pixels, partition by partition; and the sizes that are chosen by default. */
static void test_partitions(void **state)
{
	(void)state;
	struct shape shape = usual;
	struct rql_raster_group_by by = {.count = 1};
	shape.bits = 4;
	shape.range = 700;
	shape.capacity = 800;
	shape.log2_side = 4;
	shape.unfound = 99;
	check(shape, false);
	rql_raster_group_by_size(&by, 1000);
	assert_true(by.log2_side == 6 && by.partition_bits == 0);
	rql_raster_group_by_size(&by, UINT64_C(1) << 26);
	assert_true(by.log2_side == 12 && by.partition_bits == 4);
	by.count = RQL_RASTER_ROWS + 1;
	assert_non_null(rql_raster_group_by_refusal(&by, device));
}

/* As many columns as there may be: their sums lie side by side, and each is the first one's. One more is refused, and so are
 * more buffers than a pass names. */
static void test_many_columns(void **state)
{
	(void)state;
	for (enum rql_raster_totals totals = RQL_RASTER_ATOMICS; totals <= RQL_RASTER_BLENDING; totals++) {
		struct world w = {.shape = usual};
		struct rql_raster_group_by *by = &w.by;
		struct rql_commands *c = NULL;
		struct rql_error err = {0};
		struct rql_buffer others[RQL_RASTER_COLUMN_BUFFERS + 4];
		struct rql_span sums;
		w.shape.totals = totals;
		w.shape.wanted = SUM;
		world_draw(&w);
		assert_int_equal(world_make(&w, NULL), RQL_OK);
		const uint64_t words = 2 * w.shape.capacity;
		assert_int_equal(memory(&sums, RQL_GROUP_BY_COLUMNS * words * 8, NULL), RQL_OK);
		for (by->column_count = 1; by->column_count < RQL_GROUP_BY_COLUMNS; by->column_count++) {
			by->columns[by->column_count] = by->columns[0];
			by->columns[by->column_count].sum = (struct rql_span){sums.buffer, by->column_count * words * 8};
		}
		struct rql_span temp = by->temp;
		assert_int_equal(memory(&by->temp, rql_raster_group_by_temp_bytes(by), NULL), RQL_OK);
		assert_int_equal(world_run(&w, NULL), RQL_OK);
		uint64_t *all = array(RQL_GROUP_BY_COLUMNS * words, 8);
		assert_int_equal(rql_buffer_download(sums.buffer, 0, all, RQL_GROUP_BY_COLUMNS * words * 8, NULL), RQL_OK);
		for (uint32_t k = 1; k < by->column_count; k++)
			assert_memory_equal(all + k * words, w.sums, w.groups * 16);
		check_groups(&w);
		assert_int_equal(rql_commands_new(device, 0, &c, NULL), RQL_OK);
		struct rql_raster_group_by wrong = *by;
		wrong.column_count++;
		assert_int_equal(rql_record_raster_group_by(c, &wrong, NULL), RQL_ERROR_INTERNAL);
		wrong.column_count = RQL_RASTER_COLUMN_BUFFERS / 4 + 1;
		for (uint32_t k = 0; k < wrong.column_count; k++)
			wrong.columns[k] = (struct rql_group_by_column){.kind = RQL_GROUP_BY_FIELDS, .bits = 32, .values = {&others[4 * k], 0},
			                                               .sum = {&others[4 * k + 1], 0}, .min = {&others[4 * k + 2], 0},
			                                               .max = {&others[4 * k + 3], 0}};
		assert_int_equal(rql_record_raster_group_by(c, &wrong, &err), RQL_ERROR_INTERNAL);
		assert_non_null(strstr(rql_error_message(&err), "cannot be asked for"));
		rql_error_clear(&err);
		rql_commands_free(c);
		free(all);
		rql_buffer_free(by->temp.buffer);
		by->temp = temp;
		by->columns[1] = (struct rql_group_by_column){.bits = 32}; /* whose sum is not freed twice */
		rql_buffer_free(sums.buffer);
		world_free(&w);
	}
}

static void test_edges(void **state)
{
	(void)state;
	static const uint32_t counts[] = {0, 1, 255, 257};
	for (uint32_t i = 0; i < 4; i++)
		for (enum rql_raster_totals totals = RQL_RASTER_ATOMICS; totals <= RQL_RASTER_BLENDING; totals++) {
			struct shape shape = usual;
			shape.rows = counts[i];
			shape.totals = totals;
			check(shape, false);
		}
	struct shape shape = usual;
	shape.capacity = 20; /* too few */
	check(shape, false);
	shape = usual;
	shape.log2_side = 2;
	shape.rounds = 2; /* 32 pixels in all for 50 keys */
	check(shape, true);
}

/* Every allocation fails once, and the device is lost at every submission; then it groups again. */
static void test_faults(void **state)
{
	(void)state;
	static const enum rql_fault_kind kinds[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	struct shape shape = usual;
	shape.rows = 200;
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
	struct world w = {.shape = usual};
	struct rql_commands *c = NULL;
	world_draw(&w);
	assert_int_equal(world_make(&w, NULL), RQL_OK);
	assert_int_equal(rql_commands_new(device, 0, &c, NULL), RQL_OK);
	struct rql_raster_group_by wrong = w.by;
	wrong.hashed = 2; /* of one word */
	assert_int_equal(rql_record_raster_group_by(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.by;
	wrong.log2_side = 6; /* not the image's */
	assert_int_equal(rql_record_raster_group_by(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.by;
	wrong.columns[0].kind = RQL_GROUP_BY_REAL_FIELDS;
	assert_int_equal(rql_record_raster_group_by(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.by;
	wrong.capacity = 1000000;
	assert_int_equal(rql_record_raster_group_by(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	rql_commands_free(c);
	world_free(&w);
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	int skipped = vulkan_skip_without(RQL_UNIT_RASTER);
	if (skipped)
		return skipped;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),  cmocka_unit_test(test_totals), cmocka_unit_test(test_many_a_group),
		cmocka_unit_test(test_edges), cmocka_unit_test(test_faults), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_partitions), cmocka_unit_test(test_many_columns),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
