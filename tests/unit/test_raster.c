/* Joins by hash images against plain loops, on random sides: misses, duplicates on either side, NULL keys, stacks that are
 * too low, so that another one follows or the rest is flattened, partitions, sides that change, capacities that overflow,
 * empty sides, extreme keys, both layouts, 64-bit keys, texts whose hashes collide, further conditions. The device is the one
 * that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. The seed is fixed and printed. */
#include <math.h>

#include "device/fault/fault.h"
#include "primitive/raster/raster.h"
#include "primitive_fixture.h"

struct shape {
	enum rql_join_kind kind;
	enum rql_raster_layout layout;
	bool snake, has_null; /* has_null: key 0 is NULL */
	bool single;          /* rows with several matches are told of */
	uint64_t hash_mask;   /* not 0: keys are hashes of texts, of which these bits are kept */
	bool coded;           /* ... which rows have by codes: the last row has the first one's */
	uint32_t conditions;  /* beside equal keys, of all tests in turn, from first_test on */
	uint32_t first_test;
	uint32_t key_bits, log2_side, layers, cycles, bits;
	uint32_t build, probe;
	uint32_t range;   /* keys below it; 0: 0 to build - 1, each once on the build side */
	uint32_t skew;    /* low keys come oftener: a key is the product of so many more numbers below 1 */
	uint32_t missing; /* of the capacity */
	uint32_t unfound; /* rows of each side that the device says are not there */
};

#define CONDITIONS 4u
#define VALUES 7u /* that a condition's fields have, 0 among them */

struct world {
	struct shape shape;
	uint64_t *keys[2];
	uint32_t *fields[2]; /* a row's CONDITIONS side by side */
	uint32_t wanted_rows;
	struct rql_raster_join join;
	struct rql_raster_points points;
	struct rql_raster_hash hash[2];
	struct rql_span rows_of_codes[2]; /* coded: uint64_t, as many as there are */
	uint64_t rows, several;
	uint32_t *build_rows, *probe_rows;
};

static const uint32_t nobody = UINT32_MAX;

/* One-to-one and with the extremes among the values: 0 and the greatest stay themselves. */
static uint64_t key_of(uint64_t number, uint32_t bits)
{
	uint64_t most = bits == 64 ? UINT64_MAX : UINT32_MAX;
	return number == 0 ? 0 : number == 1 ? most : number * UINT64_C(0x9e3779b97f4a7c15) & most;
}

static uint32_t rows_of(const struct shape *s, int side)
{
	const uint32_t count = side ? s->probe : s->build;
	return count > s->unfound ? count - s->unfound : 0;
}

static enum rql_join_test test_of(const struct shape *s, uint32_t condition)
{
	return (enum rql_join_test)(RQL_JOIN_EQ + (s->first_test + condition) % 6);
}

/* Condition 1 has reals, of which field 1 is the NaN; the last one may compare with TRUE, the field 2. */
static bool is_real(uint32_t condition)
{
	return condition == 1;
}
static bool is_truth(const struct shape *s, uint32_t condition)
{
	return condition == 3 && s->first_test % 2;
}
static double real_of(uint32_t field)
{
	return field == 1 ? (double)NAN : field == 2 ? -0.0 : (double)field - 3;
}

static int order_of(uint32_t condition, uint32_t x, uint32_t y)
{
	const double a = real_of(x), b = real_of(y);
	if (!is_real(condition))
		return (x > y) - (x < y);
	return isnan(a) || isnan(b) ? (int)isnan(a) - (int)isnan(b) : (a > b) - (a < b);
}

static bool holds(const struct shape *s, uint32_t condition, uint32_t x, uint32_t y)
{
	const enum rql_join_test test = test_of(s, condition);
	y = is_truth(s, condition) ? 2 : y;
	const int order = order_of(condition, x, y);
	return x && y && (test == RQL_JOIN_EQ   ? order == 0
	                  : test == RQL_JOIN_NE ? order != 0
	                  : test == RQL_JOIN_LT ? order < 0
	                  : test == RQL_JOIN_LE ? order <= 0
	                  : test == RQL_JOIN_GT ? order > 0
	                                        : order >= 0);
}

static bool is_match(const struct world *w, uint32_t b, uint32_t p)
{
	bool match = w->keys[0][b] == w->keys[1][p] && !(w->shape.has_null && w->keys[0][b] == 0);
	for (uint32_t c = 0; c < w->shape.conditions && match; c++)
		match = holds(&w->shape, c, w->fields[1][p * CONDITIONS + c], w->fields[0][b * CONDITIONS + c]);
	return match;
}

static uint32_t matches_of(const struct world *w, uint32_t p)
{
	uint32_t matches = 0;
	for (uint32_t b = 0; b < rows_of(&w->shape, 0); b++)
		matches += is_match(w, b, p);
	return matches;
}

/* Has the build row no match? */
static bool is_alone(const struct world *w, uint32_t b)
{
	for (uint32_t p = 0; p < rows_of(&w->shape, 1); p++)
		if (is_match(w, b, p))
			return false;
	return true;
}

static void world_draw(struct world *w)
{
	const struct shape *s = &w->shape;
	const uint32_t counts[2] = {s->build, s->probe};
	for (int side = 0; side < 2; side++) {
		w->keys[side] = array(counts[side], 8);
		w->fields[side] = array((uint64_t)counts[side] * CONDITIONS, 4);
		for (uint32_t i = 0; i < counts[side] * CONDITIONS && s->conditions; i++)
			w->fields[side][i] = (uint32_t)(drawn() % VALUES);
		for (uint32_t i = 0; i < counts[side]; i++) {
			uint64_t below = s->range ? s->range : 2 * (uint64_t)counts[0] + 1;
			uint64_t number = side || s->range ? drawn() % below : i;
			for (uint32_t k = 0; k < s->skew; k++)
				number = number * (drawn() % below) / below;
			w->keys[side][i] = key_of(number, s->key_bits);
		}
	}
	for (uint32_t p = 0; p < rows_of(s, 1); p++) {
		const uint32_t matches = matches_of(w, p);
		const bool outer = s->kind == RQL_JOIN_LEFT || s->kind == RQL_JOIN_FULL;
		w->several |= matches > 1;
		w->wanted_rows += s->kind == RQL_JOIN_INNER ? matches
		                  : outer                   ? (matches ? matches : 1)
		                                            : (matches > 0) == (s->kind == RQL_JOIN_SEMI);
	}
	for (uint32_t b = 0; b < rows_of(s, 0) && s->kind == RQL_JOIN_FULL; b++)
		w->wanted_rows += is_alone(w, b);
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

/* A text for each key, another one for another key; of lengths from 0 on. */
static uint32_t text_of(uint64_t key, char *out)
{
	uint32_t length = 0;
	for (; key; key >>= 8)
		out[length++] = (char)(key & 255);
	return length;
}

/* Codes of a side's rows, and room for the hashes of what they stand for: the first is that of code 0, NULL. */
static struct rql_raster_compared *texts_of(struct world *w, int side)
{
	struct rql_raster_comparison *c = &w->join.comparisons[0];
	return side ? &c->probe : &c->build;
}

static rql_status upload_codes(struct world *w, int side, struct rql_raster_side *out, struct rql_error *err)
{
	uint32_t *codes = array(out->count, 4);
	const uint64_t zero = 0;
	for (uint64_t i = 0; i < out->count; i++)
		codes[i] = w->shape.has_null && w->keys[side][i] == 0 ? 0 : (uint32_t)(out->count - i);
	texts_of(w, side)->texts = out->count;
	rql_status status = memory(&texts_of(w, side)->fields, out->count * 4, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(texts_of(w, side)->fields.buffer, 0, codes, out->count * 4, err);
	if (status == RQL_OK)
		status = memory(&w->hash[side].keys, out->count * 8, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(w->hash[side].keys.buffer, 0, &zero, 8, err);
	w->hash[side].keys.offset = 8;
	if (status == RQL_OK)
		status = memory(&w->rows_of_codes[side], 8, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(w->rows_of_codes[side].buffer, 0, &out->count, 8, err);
	free(codes);
	return status;
}

static rql_status record_keys(struct world *w, struct rql_commands *c, int side, struct rql_error *err)
{
	const struct rql_raster_side *of = side ? &w->join.probe : &w->join.build;
	const struct rql_raster_gather gather = {.bits = 64, .rows = texts_of(w, side)->fields, .from = {w->hash[side].keys.buffer, 0},
	                                         .to = of->keys, .found = w->rows_of_codes[side], .capacity = of->count};
	RQL_TRY(rql_record_raster_hash(c, &w->hash[side], err));
	return w->shape.coded ? rql_record_raster_gather(c, &gather, err) : RQL_OK;
}

static rql_status upload_texts(struct world *w, int side, struct rql_raster_side *out, struct rql_raster_hash *hash,
                               struct rql_error *err)
{
	uint32_t *starts = array(out->count + 1, 4);
	uint64_t *valid = array(out->count / 64 + 1, 8);
	char *bytes = array(out->count * 8, 1);
	for (uint64_t i = 0; i < out->count; i++) {
		const uint64_t key = w->keys[side][w->shape.coded ? out->count - 1 - i : i];
		starts[i + 1] = starts[i] + text_of(key, bytes + starts[i]);
		valid[i / 64] |= (uint64_t)!(w->shape.has_null && key == 0) << i % 64;
	}
	const struct rql_span keys = hash->keys;
	*hash = (struct rql_raster_hash){.count = out->count, .mask = w->shape.hash_mask, .keys = w->shape.coded ? keys : out->keys};
	rql_status status = memory(&hash->starts, (out->count + 1) * 4, err);
	if (status == RQL_OK)
		status = memory(&hash->bytes, out->count * 8, err);
	if (status == RQL_OK)
		status = memory(&hash->valid, (out->count / 64 + 1) * 8, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(hash->starts.buffer, 0, starts, (out->count + 1) * 4, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(hash->bytes.buffer, 0, bytes, out->count * 8, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(hash->valid.buffer, 0, valid, (out->count / 64 + 1) * 8, err);
	texts_of(w, side)->starts = hash->starts;
	texts_of(w, side)->bytes = hash->bytes;
	free(starts);
	free(valid);
	free(bytes);
	return status;
}

static rql_status upload_side(struct world *w, int side, struct rql_raster_side *out, struct rql_error *err)
{
	uint32_t count = side ? w->shape.probe : w->shape.build, bytes = w->shape.key_bits / 8;
	const uint64_t found = rows_of(&w->shape, side);
	out->count = count;
	RQL_TRY(memory(&out->keys, (uint64_t)count * bytes, err));
	uint8_t *packed = array(count, bytes);
	for (uint32_t i = 0; i < count; i++)
		memcpy(packed + (uint64_t)i * bytes, &w->keys[side][i], bytes);
	rql_status status = rql_buffer_upload(out->keys.buffer, 0, packed, (uint64_t)count * bytes, err);
	free(packed);
	if (status == RQL_OK && w->shape.coded)
		status = upload_codes(w, side, out, err);
	if (status == RQL_OK && w->shape.hash_mask)
		status = upload_texts(w, side, out, &w->hash[side], err);
	if (status != RQL_OK || !w->shape.unfound)
		return status;
	RQL_TRY(memory(&out->found, 8, err));
	return rql_buffer_upload(out->found.buffer, 0, &found, 8, err);
}

static rql_status upload_fields(const struct world *w, uint32_t condition, int side, struct rql_span *out, struct rql_error *err)
{
	const uint32_t count = side ? w->shape.probe : w->shape.build, bytes = is_real(condition) ? 8 : 4;
	uint8_t *fields = array(count, bytes);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t field = w->fields[side][i * CONDITIONS + condition];
		const double real = real_of(field);
		uint64_t bits;
		memcpy(&bits, &real, sizeof bits);
		bits = !field ? 0 : is_real(condition) ? ~bits : field;
		memcpy(fields + (uint64_t)i * bytes, &bits, bytes);
	}
	rql_status status = upload(out, fields, (uint64_t)count * bytes, err);
	free(fields);
	return status;
}

static rql_status upload_condition(struct world *w, uint32_t condition, struct rql_raster_comparison *out, struct rql_error *err)
{
	*out = (struct rql_raster_comparison){
		.test = test_of(&w->shape, condition), .real = is_real(condition), .bits = is_real(condition) ? 64 : 32};
	if (!is_truth(&w->shape, condition))
		RQL_TRY(upload_fields(w, condition, 0, &out->build.fields, err));
	return upload_fields(w, condition, 1, &out->probe.fields, err);
}

static bool gives_pairs(const struct shape *s)
{
	return s->kind == RQL_JOIN_INNER || s->kind == RQL_JOIN_LEFT || s->kind == RQL_JOIN_FULL;
}

static rql_status world_make(struct world *w, struct rql_error *err)
{
	struct rql_raster_join *j = &w->join;
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	const struct shape *s = &w->shape;
	*j = (struct rql_raster_join){.kind = s->kind, .layout = s->layout, .key_bits = s->key_bits, .has_null_key = s->has_null, .single = s->single,
	                              .log2_side = s->log2_side, .layers = s->layers, .cycles = s->cycles,
	                              .partition_bits = s->bits, .snake = s->snake};
	if (s->hash_mask)
		j->comparisons[j->comparison_count++] = (struct rql_raster_comparison){.test = RQL_JOIN_EQ, .text = true, .bits = 32};
	for (uint32_t i = 0; i < s->conditions; i++)
		RQL_TRY(upload_condition(w, i, &j->comparisons[j->comparison_count++], err));
	j->capacity = w->wanted_rows > s->missing ? w->wanted_rows - s->missing : 0;
	RQL_TRY(upload_side(w, 0, &j->build, err));
	RQL_TRY(upload_side(w, 1, &j->probe, err));
	RQL_TRY(memory(&j->build_rows, j->capacity * 4, err));
	RQL_TRY(memory(&j->probe_rows, j->capacity * 4, err));
	RQL_TRY(memory(&j->rows, 16, err));
	RQL_TRY(memory(&j->points, sizeof(w->points), err));
	RQL_TRY(memory(&j->temp, rql_raster_join_temp_bytes(j), err));
	rql_raster_join_images(j, specs);
	assert_null(rql_raster_join_refusal(j, device));
	return rql_raster_images_new(device, specs, RQL_RASTER_JOIN_IMAGES, "a test's images", j->images, err);
}

static rql_status world_run(struct world *w, struct rql_error *err)
{
	const struct rql_raster_join *j = &w->join;
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(device, 0, &c, err));
	rql_status status = RQL_OK;
	for (int side = 0; side < 2 && w->shape.hash_mask && status == RQL_OK; side++)
		status = record_keys(w, c, side, err);
	if (status == RQL_OK)
		status = rql_record_raster_join(c, j, err);
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	for (int run = 0; run < 2 && status == RQL_OK; run++) /* twice: it clears what it needs cleared */
		status = rql_commands_run(c, NULL, err);
	rql_commands_free(c);
	RQL_TRY(status);
	RQL_TRY(rql_buffer_download(j->rows.buffer, 0, &w->rows, 8, err));
	if (w->shape.single) {
		uint64_t several;
		RQL_TRY(rql_buffer_download(j->rows.buffer, 8, &several, 8, err));
		assert_int_equal(several, w->several);
	}
	RQL_TRY(rql_buffer_download(j->points.buffer, 0, &w->points, sizeof(w->points), err));
	w->build_rows = array(j->capacity, 4);
	w->probe_rows = array(j->capacity, 4);
	if (gives_pairs(&w->shape))
		RQL_TRY(rql_buffer_download(j->build_rows.buffer, 0, w->build_rows, j->capacity * 4, err));
	return rql_buffer_download(j->probe_rows.buffer, 0, w->probe_rows, j->capacity * 4, err);
}

static void world_free(struct world *w)
{
	struct rql_raster_join *j = &w->join;
	struct rql_span *spans[] = {&j->build.keys,  &j->probe.keys, &j->build.found, &j->probe.found, &j->build_rows,
	                            &j->probe_rows, &j->rows,       &j->points,      &j->temp,
	                            &w->hash[0].starts, &w->hash[0].bytes, &w->hash[0].valid, &w->hash[1].starts,
	                            &w->hash[1].bytes, &w->hash[1].valid, &w->rows_of_codes[0], &w->rows_of_codes[1]};
	for (unsigned i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		rql_buffer_free(spans[i]->buffer);
	for (int side = 0; side < 2 && w->shape.coded; side++)
		rql_buffer_free(w->hash[side].keys.buffer);
	for (uint32_t i = 0; i < j->comparison_count; i++) {
		rql_buffer_free(j->comparisons[i].build.fields.buffer);
		rql_buffer_free(j->comparisons[i].probe.fields.buffer);
	}
	rql_raster_images_free(j->images, RQL_RASTER_JOIN_IMAGES);
	free(w->build_rows);
	free(w->probe_rows);
	for (int side = 0; side < 2; side++) {
		free(w->keys[side]);
		free(w->fields[side]);
	}
	*w = (struct world){.rows = 0};
}

static int by_word(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* As many as there must be; of those that have room each is right, and none comes twice. */
static void check_rows(const struct world *w)
{
	const struct shape *s = &w->shape;
	const uint64_t count = w->join.capacity;
	uint64_t *pairs = array(count, 8);
	assert_int_equal(w->rows, w->wanted_rows);
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t b = gives_pairs(s) ? w->build_rows[i] : 0, p = w->probe_rows[i];
		assert_true(p < rows_of(s, 1) || (s->kind == RQL_JOIN_FULL && p == nobody));
		if (p == nobody)
			assert_true(b < rows_of(s, 0) && is_alone(w, b));
		else if (gives_pairs(s) && b != nobody)
			assert_true(b < rows_of(s, 0) && is_match(w, b, p));
		else
			assert_true(s->kind != RQL_JOIN_INNER && (matches_of(w, p) > 0) == (s->kind == RQL_JOIN_SEMI));
		pairs[i] = (uint64_t)b << 32 | p;
	}
	qsort(pairs, count, 8, by_word);
	for (uint64_t i = 1; i < count; i++)
		assert_true(pairs[i - 1] < pairs[i]);
	free(pairs);
}

static struct rql_raster_points check(struct shape shape)
{
	struct world w = {.shape = shape};
	struct rql_error err = {0};
	world_draw(&w);
	rql_status status = world_make(&w, &err);
	if (status == RQL_OK)
		status = world_run(&w, &err);
	if (status != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	const struct rql_raster_points points = w.points;
	check_rows(&w);
	assert_int_equal(points.failed, 0);
	assert_true(points.layers <= (uint64_t)shape.layers * shape.cycles && points.partitions <= 1u << shape.bits);
	assert_int_equal(points.probe, gives_pairs(&shape) ? points.count : 0);
	world_free(&w);
	return points;
}

static const enum rql_join_kind kinds[] = {RQL_JOIN_INNER, RQL_JOIN_LEFT, RQL_JOIN_SEMI, RQL_JOIN_ANTI, RQL_JOIN_FULL};

static void test_unique(void **state)
{
	(void)state;
	struct shape shape = {.key_bits = 32, .log2_side = 6, .layers = 16, .cycles = 1, .build = 3000, .probe = 5000};
	struct rql_raster_points points = check(shape);
	/* Every build row once, and again for each layer where it lost; every probe row in each layer in use. */
	assert_true(points.build >= shape.build && points.build <= (uint64_t)shape.build * shape.layers);
	assert_int_equal(points.count, points.layers * shape.probe);
	assert_int_equal(points.flattened, 0);
	assert_int_equal(points.passes, points.layers + 3); /* statistics, layers, count, probe */
	shape.layout = RQL_RASTER_16;
	check(shape);
	check((struct shape){.key_bits = 64, .log2_side = 7, .layers = 12, .cycles = 1, .build = 3000, .probe = 9000, .unfound = 700});
}

/* Pixels of half the bytes: the same points, until a partition has as many rows as the image has pixels. Then there is no
 * stack of them. */
static void test_halves(void **state)
{
	(void)state;
	struct rql_image_spec specs[2][RQL_RASTER_JOIN_IMAGES];
	struct shape shape = {.key_bits = 32, .log2_side = 5, .layers = 8, .cycles = 2, .bits = 2, .build = 1500, .probe = 900,
	                      .range = 2000, .has_null = true};
	struct rql_raster_join sizes = {.key_bits = 32, .log2_side = 5, .layers = 8, .cycles = 2};
	for (sizes.layout = RQL_RASTER_32; sizes.layout <= RQL_RASTER_16; sizes.layout++)
		rql_raster_join_images(&sizes, specs[sizes.layout]);
	assert_int_equal(2 * rql_raster_pixel_bytes(specs[1]), rql_raster_pixel_bytes(specs[0]));
	shape.layout = RQL_RASTER_16;
	for (shape.kind = RQL_JOIN_INNER; shape.kind <= RQL_JOIN_ANTI; shape.kind++) {
		const struct rql_raster_points points = check(shape);
		assert_true(points.layers > 0 && points.flattened == 0);
	}
	shape.log2_side = 4; /* 256 pixels, 375 rows */
	for (shape.kind = RQL_JOIN_INNER; shape.kind <= RQL_JOIN_ANTI; shape.kind++) {
		const struct rql_raster_points points = check(shape);
		assert_true(points.layers == 0 && points.flattened == 4);
	}
	shape.kind = RQL_JOIN_INNER;
	shape.layout = RQL_RASTER_32;
	shape.cycles = 4;
	assert_int_equal(check(shape).flattened, 0);
}

/* What is expected of keys that come once, and of those that come oftener, beside what is drawn. */
static void test_expected(void **state)
{
	(void)state;
	static const uint32_t ranges[] = {0, 500};
	for (int i = 0; i < 3; i++) {
		struct shape shape = {.key_bits = 32, .log2_side = 6, .layers = 16, .cycles = i < 2, .build = 2000, .probe = 3000,
		                      .range = ranges[i % 2]};
		const struct rql_raster_join sizes = {.kind = RQL_JOIN_INNER, .key_bits = 32, .log2_side = 6, .layers = 16,
		                                      .cycles = shape.cycles, .build = {.count = 2000}, .probe = {.count = 3000}};
		struct rql_raster_points expected, drawn = check(shape);
		rql_raster_join_expect(&sizes, shape.range, &expected);
		assert_int_equal(expected.statistics, drawn.statistics);
		assert_int_equal(expected.flattened, drawn.flattened);
		assert_in_range(expected.build, drawn.build - drawn.build / 6, drawn.build + drawn.build / 6);
		assert_in_range(expected.layers, drawn.layers > 3 ? drawn.layers - 3 : 0, drawn.layers + 1);
		assert_in_range(expected.passes, drawn.passes > 3 ? drawn.passes - 3 : 0, drawn.passes + 1);
	}
	const struct rql_raster_join none = {.kind = RQL_JOIN_SEMI, .key_bits = 32, .log2_side = 4, .layers = 1};
	struct rql_raster_points points;
	rql_raster_join_expect(&none, 0, &points);
	assert_true(points.build == 0 && points.count == 0 && points.passes == 0 && points.partitions == 0);
}

/* More rows of a key than layers: another stack follows, then the rest is flattened; or all of it is at once. */
static void test_heights(void **state)
{
	(void)state;
	struct shape shape = {.key_bits = 32, .log2_side = 5, .layers = 4, .cycles = 4, .build = 2000, .probe = 3000, .range = 700};
	struct rql_raster_points points = check(shape);
	assert_true(points.pauses > 0 && points.layers > 4 && points.flattened == 0);
	shape.cycles = 1;
	points = check(shape);
	assert_true(points.pauses == 0 && points.layers == 0 && points.flattened == 1);
	assert_int_equal(points.build, 2 * shape.build);
	shape.key_bits = 64;
	shape.cycles = 0;
	shape.missing = 1234;
	check(shape);
	/* One key on both sides: 12,000 pairs of one pixel. */
	check((struct shape){.key_bits = 64, .log2_side = 3, .layers = 2, .cycles = 2, .build = 300, .probe = 40, .range = 1});
}

static void test_partitions(void **state)
{
	(void)state;
	struct shape shape = {.key_bits = 32, .log2_side = 4, .layers = 4, .cycles = 2, .bits = 3, .build = 900, .probe = 2500,
	                      .has_null = true, .range = 1500, .unfound = 100};
	for (shape.kind = RQL_JOIN_INNER; shape.kind <= RQL_JOIN_ANTI; shape.kind++)
		assert_int_equal(check(shape).partitions, 8);
	shape.kind = RQL_JOIN_FULL;
	check(shape);
	shape.kind = RQL_JOIN_LEFT;
	shape.key_bits = 64;
	shape.range = 40; /* tall stacks in some partitions, nothing in others */
	check(shape);
}

/* The side that was to be built has more rows of a key than the other one, so that this one is built; and the reverse. */
static void test_snake(void **state)
{
	(void)state;
	struct shape shape = {.key_bits = 32, .log2_side = 6, .layers = 8, .cycles = 1, .bits = 1, .snake = true, .build = 2400,
	                      .probe = 600, .range = 600};
	assert_true(check(shape).swapped > 0);
	shape.build = 500;
	shape.probe = 4000;
	shape.unfound = 9;
	assert_int_equal(check(shape).swapped, 0);
}

static void test_edges(void **state)
{
	(void)state;
	static const uint32_t counts[] = {0, 1, 257};
	for (uint32_t b = 0; b < 3; b++)
		for (uint32_t p = 0; p < 3; p++)
			for (int i = 0; i < 5; i++)
				check((struct shape){.kind = kinds[i], .key_bits = 32, .log2_side = 4, .layers = 3, .cycles = 2, .build = counts[b],
				                     .probe = counts[p], .range = 60, .snake = true, .has_null = true});
}

/* Texts that collide: of 8 hashes, of one, and of as many as there are. Stacks, dense images, partitions. */
static void test_texts(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct shape shape = {.kind = kinds[i], .key_bits = 64, .log2_side = 4, .layers = 4, .cycles = i % 2 ? 2 : 0, .build = 200,
		                      .probe = 300, .range = 150, .has_null = true, .hash_mask = 7};
		check(shape);
		shape.hash_mask = i ? UINT64_MAX : UINT64_C(1) << 40;
		shape.bits = 2;
		shape.cycles = i % 2 ? 0 : 2;
		check(shape);
		shape.coded = true;
		shape.hash_mask = 7;
		check(shape);
	}
}

/* Conditions beside equal keys, all six tests, of reals as well; beside texts whose hashes collide, too. Of semi and anti joins
 * a build row is dropped for another one only where it is the same in all of them. */
static void test_conditions(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct shape shape = {.kind = kinds[i % 5], .key_bits = i % 2 ? 64 : 32, .log2_side = 4, .layers = 4, .cycles = i % 3 ? 2 : 0,
		                      .build = 300, .probe = 400, .range = 30, .has_null = true, .snake = i % 4 == 1,
		                      .conditions = 1 + i % CONDITIONS, .first_test = i, .bits = i % 3 == 2 ? 2 : 0};
		check(shape);
		shape.key_bits = 64;
		shape.hash_mask = 7;
		shape.coded = i % 2;
		check(shape);
	}
}

/* Whether a row has several matches: in one layer each, in the dense image, none. */
static void test_single(void **state)
{
	(void)state;
	struct shape shape = {.kind = RQL_JOIN_LEFT, .single = true, .key_bits = 32, .log2_side = 4, .layers = 4, .cycles = 1,
	                      .build = 90, .probe = 200};
	check(shape); /* each key once */
	shape.range = 500;
	for (shape.cycles = 0; shape.cycles < 2; shape.cycles++)
		check(shape);
}

static void test_kinds(void **state)
{
	(void)state;
	check((struct shape){.kind = RQL_JOIN_FULL, .key_bits = 64, .log2_side = 5, .layers = 2, .cycles = 2, .build = 2000,
	                     .probe = 900, .has_null = true, .unfound = 30, .missing = 500});
	for (enum rql_join_kind kind = RQL_JOIN_LEFT; kind <= RQL_JOIN_ANTI; kind++) {
		/* Of a semi join a key of a thousand rows takes one layer. */
		const struct rql_raster_points points =
			check((struct shape){.kind = kind, .key_bits = 32, .log2_side = 4, .layers = 8, .cycles = 1, .build = 2000,
		                         .probe = 50, .range = 3});
		assert_int_equal(points.flattened, kind == RQL_JOIN_LEFT);
		check((struct shape){.kind = kind, .key_bits = 64, .log2_side = 5, .layers = 2, .cycles = 2, .build = 2000,
		                     .probe = 3000, .has_null = true});
	}
}

/* Any shape: kinds, skew, duplicates, few and many pixels, stacks that are low, partitions, texts with any hash, room that is
 * too small. A few of them, many with RAYQL_TEST_LONG. */
static void test_any(void **state)
{
	(void)state;
	static const uint32_t ranges[] = {1, 3, 40, 500, 4000};
	const uint32_t count = getenv("RAYQL_TEST_LONG") ? 1500 : 12;
	for (uint32_t i = 0; i < count; i++) {
		struct shape s = {.kind = kinds[drawn() % 5], .key_bits = drawn() % 2 ? 64 : 32, .log2_side = 2 + drawn() % 6,
		                  .layers = 1 + drawn() % 8, .cycles = drawn() % 4, .bits = drawn() % 4, .build = drawn() % 900,
		                  .probe = drawn() % 900, .range = ranges[drawn() % 5], .skew = drawn() % 3,
		                  .has_null = drawn() % 2, .snake = drawn() % 2, .unfound = drawn() % 3 ? 0 : drawn() % 50,
		                  .missing = drawn() % 3 ? 0 : drawn() % 200};
		s.layout = s.key_bits == 32 && drawn() % 2 ? RQL_RASTER_16 : RQL_RASTER_32;
		s.single = s.kind == RQL_JOIN_LEFT && drawn() % 2;
		s.hash_mask = s.key_bits == 32 || drawn() % 2 ? 0 : UINT64_MAX >> drawn() % 64;
		s.coded = s.hash_mask && drawn() % 2;
		s.conditions = drawn() % 2 ? 0 : 1 + drawn() % CONDITIONS;
		s.first_test = drawn() % 12;
		check(s);
	}
}

/* The sizes that are chosen by default, on a device. */
static void test_sizes(void **state)
{
	(void)state;
	struct rql_raster_join j = {.kind = RQL_JOIN_INNER, .key_bits = 32, .build = {.count = 100}, .probe = {.count = 100}};
	rql_raster_join_size_paper(&j);
	assert_true(j.log2_side == 5 && j.partition_bits == 0 && j.snake && j.cycles > 0 && j.layout == RQL_RASTER_16);
	j.probe.count = 4000; /* the side that may be built */
	rql_raster_join_size_paper(&j);
	assert_int_equal(j.layout, RQL_RASTER_32);
	j.kind = RQL_JOIN_LEFT;
	rql_raster_join_size_paper(&j);
	assert_int_equal(j.layout, RQL_RASTER_16);
	j.key_bits = 64;
	rql_raster_join_size_paper(&j);
	assert_int_equal(j.layout, RQL_RASTER_32);
	j.kind = RQL_JOIN_INNER;
	j.key_bits = 32;
	j.probe.count = 100;
	j.build.count = UINT64_C(6) << 20;
	rql_raster_join_size(&j);
	assert_true(j.log2_side == 12 && j.partition_bits == 0 && !j.snake && j.cycles == 0);
	j.build.count = UINT64_C(1) << 27;
	rql_raster_join_size(&j);
	assert_true(j.log2_side == 12 && j.partition_bits == 5);
	j.build.count = RQL_RASTER_ROWS;
	assert_non_null(rql_raster_join_refusal(&j, device)); /* no image has so many pixels */
}

/* Every allocation fails once, and the device is lost at every submission; then it joins again. */
static void test_faults(void **state)
{
	(void)state;
	static const enum rql_fault_kind faults[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	const struct shape shape = {.key_bits = 32, .log2_side = 4, .layers = 4, .cycles = 1, .build = 90, .probe = 90};
	for (int kind = 0; kind < 3; kind++)
		for (uint64_t nth = 1;; nth++) {
			struct world w = {.shape = shape};
			struct rql_error err = {0};
			world_draw(&w);
			assert_int_equal(rql_fault_set(device, faults[kind], nth, NULL), RQL_OK);
			rql_status status = world_make(&w, &err);
			if (status == RQL_OK)
				status = world_run(&w, &err);
			bool struck = rql_fault_struck(device);
			rql_fault_remove(device);
			assert_int_equal(status, !struck                                ? RQL_OK
			                         : faults[kind] == RQL_FAULT_ALLOCATION ? RQL_ERROR_LIMIT
			                                                               : RQL_ERROR_DEVICE);
			rql_error_clear(&err);
			world_free(&w);
			if (!struck)
				break;
		}
	check(shape);
}

static void test_refused(void **state)
{
	(void)state;
	struct world w = {.shape = {.key_bits = 32, .log2_side = 4, .layers = 8, .cycles = 1, .build = 20, .probe = 20}};
	struct rql_commands *c = NULL;
	world_draw(&w);
	assert_int_equal(world_make(&w, NULL), RQL_OK);
	assert_int_equal(rql_commands_new(device, 0, &c, NULL), RQL_OK);
	struct rql_raster_join wrong = w.join;
	wrong.kind = RQL_JOIN_MARK;
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.layers = 9; /* not the stack's */
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.key_bits = 64;
	wrong.layout = RQL_RASTER_16;
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.comparison_count = 1; /* without a test */
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
	wrong = w.join;
	wrong.capacity = 1000000;
	assert_int_equal(rql_record_raster_join(c, &wrong, NULL), RQL_ERROR_INTERNAL);
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
		cmocka_unit_test(test_unique), cmocka_unit_test(test_heights), cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_snake),  cmocka_unit_test(test_edges),   cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_texts),  cmocka_unit_test(test_single),  cmocka_unit_test(test_halves),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_any),    cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_sizes),  cmocka_unit_test(test_faults),  cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
