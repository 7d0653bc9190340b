/* Partitions, joins and group-bys over unindexed columns, against plain loops: sizes around tiles, duplicates, skew,
 * NULLs, misses, capacities that overflow, counts on the device. The device is the one that RAYQL_TEST_DEVICE names, else
 * vulkan:0, with the validation layer watching. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "column/value/value.h"
#include "device/vulkan/vulkan_internal.h"
#include "primitive/relation/relation.h"
#include "util/threads.h"
#include "vulkan_fixture.h"

/* ASan sees what the CPU does, which is the same for few rows; and each workgroup of lavapipe is an allocation there,
 * large enough to be a mapping of its own. */
#ifdef __SANITIZE_ADDRESS__
#define LARGE 70001u
#define LARGE_SIZES 0
#define SIZE_STEP 5u /* neighbouring sizes make the same calls */
#define KIND_STEP 3u
#define FORM_STEP 5u
#else
#define LARGE 600011u
#define LARGE_SIZES 1
#define SIZE_STEP 1u
#define KIND_STEP (is_long() ? 2u : 3u) /* each size with every second kind of join, or third: kernels of both cost seconds */
#define FORM_STEP (is_long() ? 1u : 2u)
#endif

static struct rql_devices *devices;
static struct rql_device *device;
static uint64_t random_state = 42;

/* script/test --all sets it. */
static inline bool is_long(void)
{
	return getenv("RAYQL_TEST_LONG") != NULL;
}

static void ok(rql_status status, struct rql_error *err)
{
	if (status != RQL_OK)
		print_message("%s: %s\n", rql_status_name(status), rql_error_message(err));
	assert_int_equal(status, RQL_OK);
}

static uint64_t mixed(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t drawn(void)
{
	return mixed(random_state += UINT64_C(0x9e3779b97f4a7c15));
}

static void *array(uint64_t count, size_t size)
{
	void *memory = calloc(count + 1, size);
	assert_non_null(memory);
	return memory;
}

/* ---- buffers: what is behind the asked for bytes must not change ---- */
#define GUARD UINT64_C(0xa5a5a5a5a5a5a5a5)
#define MOST_BUFFERS 64u
static struct rql_buffer *buffers[MOST_BUFFERS];
static uint64_t buffer_bytes[MOST_BUFFERS];
static uint32_t buffer_count;

static struct rql_span device_memory(uint64_t bytes, const void *data)
{
	struct rql_error err = {0};
	const uint64_t guard = GUARD;
	struct rql_buffer *buffer;
	uint64_t room = (bytes + 7) / 8 * 8;
	ok(rql_buffer_new(device, room + 8, RQL_MEMORY_DEVICE, "a test's memory", &buffer, &err), &err);
	ok(rql_buffer_upload(buffer, room, &guard, 8, &err), &err);
	if (data && bytes)
		ok(rql_buffer_upload(buffer, 0, data, bytes, &err), &err);
	assert_true(buffer_count < MOST_BUFFERS);
	buffer_bytes[buffer_count] = room;
	buffers[buffer_count++] = buffer;
	return (struct rql_span){buffer, 0};
}

static void *host_copy(struct rql_span span, uint64_t bytes)
{
	struct rql_error err = {0};
	void *data = array(bytes, 1);
	if (bytes)
		ok(rql_buffer_download(span.buffer, span.offset, data, bytes, &err), &err);
	return data;
}

static uint64_t word_of(struct rql_span span, uint64_t i)
{
	struct rql_error err = {0};
	uint64_t word;
	ok(rql_buffer_download(span.buffer, span.offset + 8 * i, &word, 8, &err), &err);
	return word;
}

static void drop_memory(void)
{
	for (uint32_t i = 0; i < buffer_count; i++) {
		struct rql_span guard = {buffers[i], buffer_bytes[i]};
		assert_true(word_of(guard, 0) == GUARD);
		rql_buffer_free(buffers[i]);
	}
	buffer_count = 0;
}

/* Keys are 64-bit words here; 32-bit ones are narrowed on the way. */
static struct rql_span upload_words(const uint64_t *words, uint64_t count, uint32_t bits)
{
	if (bits == 64)
		return device_memory(count * 8, words);
	uint32_t *narrow = array(count, 4);
	for (uint64_t i = 0; i < count; i++)
		narrow[i] = (uint32_t)words[i];
	struct rql_span span = device_memory(count * 4, narrow);
	free(narrow);
	return span;
}

static uint64_t *download_words(struct rql_span span, uint64_t count, uint32_t bits)
{
	if (bits == 64)
		return host_copy(span, count * 8);
	uint32_t *narrow = host_copy(span, count * 4);
	uint64_t *words = array(count, 8);
	for (uint64_t i = 0; i < count; i++)
		words[i] = narrow[i];
	free(narrow);
	return words;
}

static int ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a > b) - (a < b);
}

static void execute(struct rql_commands *c)
{
	struct rql_error err = {0};
	ok(rql_commands_end(c, &err), &err);
	ok(rql_commands_run(c, NULL, &err), &err);
	rql_commands_free(c);
}

static struct rql_commands *recording(void)
{
	struct rql_error err = {0};
	struct rql_commands *c;
	ok(rql_commands_new(device, 0, &c, &err), &err);
	return c;
}

enum pattern { UNIFORM, EQUAL, SKEWED, EXTREMES, MISSES };

/* A key of `distinct` ones; other: the keys of the other side, which MISSES does not have. */
static uint64_t key_of(enum pattern pattern, uint64_t distinct, uint32_t bits, bool other)
{
	uint64_t all = bits == 64 ? UINT64_MAX : UINT32_MAX, i = drawn() % distinct;
	switch (pattern) {
	case EQUAL:
		i = 0;
		break;
	case SKEWED: /* half of the rows have one key, a quarter the next */
		i = drawn() % 2 ? 0 : drawn() % 2 ? distinct / 2 : i;
		break;
	case EXTREMES:
		return i % 2 ? all - i / 2 % 3 : i / 2 % 3;
	case MISSES:
		i = 2 * i + (other ? 1 : 0);
		break;
	default:
		break;
	}
	return mixed(i + 1) & all;
}

/* ---- partition ---- */

struct partition_check {
	uint64_t rows, found;
	uint32_t key_bits, bits;
	enum pattern pattern;
	bool nulls, random_keys, paired;
};

/* Every kept row once, with its columns, and each partition's keys in no other partition. */
static void compare_partition(const struct partition_check *k, const struct rql_partition *p, const uint64_t *keys,
                              const uint64_t *values, const uint64_t *valid)
{
	uint32_t parts = 1u << k->bits;
	uint32_t *starts = host_copy(p->starts, (parts + 1) * 4);
	uint64_t *keys_out = download_words(p->keys_out, k->rows, k->paired ? 64 : k->key_bits);
	uint64_t *numbers = k->paired ? array(k->rows, 8) : download_words(p->columns[0].out, k->rows, 32);
	for (uint64_t i = 0; i < k->rows && k->paired; i++) {
		numbers[i] = keys_out[i] >> 32;
		keys_out[i] &= UINT32_MAX;
	}
	uint64_t *wide = download_words(p->columns[1].out, k->rows, 64), kept = 0;
	uint32_t *part_of_row = array(k->rows, 4);
	for (uint64_t i = 0; i < k->found; i++)
		kept += !k->nulls || (valid[i / 64] >> i % 64 & 1 && keys[i] != p->null_key);
	assert_int_equal(starts[0], 0);
	assert_int_equal(starts[parts], kept);
	for (uint32_t part = 0; part < parts; part++) {
		assert_true(starts[part] <= starts[part + 1]);
		for (uint32_t at = starts[part]; at < starts[part + 1]; at++) {
			uint64_t row = numbers[at];
			assert_true(row < k->found && part_of_row[row] == 0);
			part_of_row[row] = part + 1;
			assert_true(!k->nulls || (valid[row / 64] >> row % 64 & 1 && keys[row] != p->null_key));
			assert_true(keys_out[at] == keys[row] && wide[at] == values[row]);
			if (k->random_keys && k->key_bits == 32)
				assert_int_equal(part, keys[row] >> (32 - k->bits));
		}
	}
	/* Equal keys: one partition. */
	uint64_t *order = array(k->found, 16);
	for (uint64_t i = 0; i < k->found; i++) {
		order[2 * i] = keys[i];
		order[2 * i + 1] = part_of_row[i];
	}
	qsort(order, k->found, 16, ascending);
	for (uint64_t i = 1; i < k->found && !k->nulls; i++)
		assert_true(order[2 * i] != order[2 * i - 2] || order[2 * i + 1] == order[2 * i - 1]);
	free(order);
	free(part_of_row);
	free(wide);
	free(numbers);
	free(keys_out);
	free(starts);
}

static void check_partition(struct partition_check k)
{
	struct rql_error err = {0};
	uint64_t *keys = array(k.rows, 8), *values = array(k.rows, 8), *valid = array(k.rows / 64 + 1, 8);
	for (uint64_t i = 0; i < k.rows; i++) {
		keys[i] = key_of(k.pattern, k.rows / 2 + 1, k.key_bits, false);
		values[i] = drawn();
	}
	for (uint64_t i = 0; i < k.rows / 64 + 1; i++)
		valid[i] = drawn() | drawn();
	struct rql_partition p = {
		.key_bits = k.key_bits, .bits = k.bits, .random_keys = k.random_keys, .paired = k.paired, .has_null_key = k.nulls,
		.null_key = mixed(3) & (k.key_bits == 64 ? UINT64_MAX : UINT32_MAX), .count = k.rows, .column_count = 2};
	p.keys = upload_words(keys, k.rows, k.key_bits);
	p.keys_out = device_memory(k.rows * (k.paired ? 64 : k.key_bits) / 8, NULL);
	p.found = device_memory(8, &k.found);
	if (k.nulls)
		p.valid = device_memory((k.rows + 63) / 64 * 8, valid);
	p.columns[0] = (struct rql_relation_column){.bits = 32};
	if (!k.paired)
		p.columns[0].out = device_memory(k.rows * 4, NULL);
	p.columns[1] = (struct rql_relation_column){64, device_memory(k.rows * 8, values), device_memory(k.rows * 8, NULL)};
	p.starts = device_memory(((UINT64_C(1) << k.bits) + 1) * 4, NULL);
	p.temp = device_memory(rql_partition_temp_bytes(&p), NULL);
	struct rql_commands *c = recording();
	ok(rql_record_partition(c, &p, &err), &err);
	execute(c);
	compare_partition(&k, &p, keys, values, valid);
	drop_memory();
	free(keys);
	free(values);
	free(valid);
}

static void test_partition(void **state)
{
	(void)state;
	static const uint64_t sizes[] = {0, 1, 255, 4095, 4096, 4097, 8191, 8193, 70001};
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes) - !LARGE_SIZES; i += SIZE_STEP) {
		for (uint32_t bits = 64; bits >= 32; bits -= 32) {
			const bool paired = bits == 32 && i % 2;
			check_partition((struct partition_check){sizes[i], sizes[i], bits, 6 + i % 3, i % 4, i % 3 == 2, false, paired});
			check_partition((struct partition_check){sizes[i], sizes[i] - sizes[i] / 3, bits, 12, (i + 1) % 4, i % 3 == 1,
			                                         i % 2, bits == 32 && !paired});
		}
	}
	check_partition((struct partition_check){LARGE, LARGE, 32, 10, UNIFORM, false, true, false});
	check_partition((struct partition_check){LARGE, LARGE - LARGE / 6, 32, 16, SKEWED, true, false, true});
	check_partition((struct partition_check){100003, 100003, 64, 14, EQUAL, false, false, false});
}

/* ---- join ---- */

struct join_check {
	enum rql_join_kind kind;
	uint32_t key_bits;
	uint64_t build, probe, distinct;
	enum pattern pattern;
	int nulls;           /* 0: none, 1: a key, 2: bitmaps, 3: both */
	uint32_t payloads;   /* 0: pairs of row numbers alone, 1: of 32 bits, 2: of 64 */
	bool found;          /* fewer rows than the bound, said on the device */
	bool single;         /* LEFT: it is told whether a row has several matches */
	bool ordered;        /* not FULL: a build side that is kept, in order of buckets */
	int64_t capacity;    /* less than what comes by this; then the run is repeated with what was counted */
	struct rql_relation_tuning tuning;
};

struct join_data {
	uint64_t count[2], found[2];
	uint64_t *keys[2], *valid[2], *values[2];
	uint64_t null_key;
	struct rql_span keys_at[2], valid_at[2], values_at[2], found_at[2];
	bool several;        /* some row of the probe side has more than one match */
	bool *lonely;        /* [row of the build side]: it has none */
};

static bool joins(const struct join_check *k, const struct join_data *d, int side, uint64_t row)
{
	if (k->nulls & 1 && d->keys[side][row] == d->null_key)
		return false;
	return !(k->nulls & 2) || d->valid[side][row / 64] >> row % 64 & 1;
}

static void make_sides(const struct join_check *k, struct join_data *d)
{
	*d = (struct join_data){.count = {k->build, k->probe}};
	d->null_key = mixed(2) & (k->key_bits == 64 ? UINT64_MAX : UINT32_MAX);
	for (int side = 0; side < 2; side++) {
		uint64_t count = d->count[side];
		d->found[side] = k->found ? count - count / 3 : count;
		d->keys[side] = array(count, 8);
		d->values[side] = array(count, 8);
		d->valid[side] = array(count / 64 + 1, 8);
		for (uint64_t i = 0; i < count; i++) {
			d->keys[side][i] = key_of(k->pattern, k->distinct, k->key_bits, side);
			d->values[side][i] = drawn();
		}
		for (uint64_t i = 0; i < count / 64 + 1; i++)
			d->valid[side][i] = drawn() | drawn() | drawn();
		d->keys_at[side] = upload_words(d->keys[side], count, k->key_bits);
		d->values_at[side] = upload_words(d->values[side], count, k->payloads == 2 ? 64 : 32);
		d->found_at[side] = device_memory(8, &d->found[side]);
		d->valid_at[side] = device_memory((count + 63) / 64 * 8, d->valid[side]);
	}
}

/* The keys of a side's rows that join, ascending. */
static uint64_t *sorted_keys(const struct join_check *k, const struct join_data *d, int side, uint64_t *n)
{
	uint64_t *sorted = array(d->found[side], 8);
	*n = 0;
	for (uint64_t i = 0; i < d->found[side]; i++)
		if (joins(k, d, side, i))
			sorted[(*n)++] = d->keys[side][i];
	qsort(sorted, *n, 8, ascending);
	return sorted;
}

static uint64_t times_in(const uint64_t *sorted, uint64_t n, uint64_t key)
{
	uint64_t ends[2];
	for (int upper = 0; upper < 2; upper++) {
		uint64_t low = 0, high = n;
		while (low < high) {
			uint64_t middle = (low + high) / 2;
			if (sorted[middle] < key || (upper && sorted[middle] == key))
				low = middle + 1;
			else
				high = middle;
		}
		ends[upper] = low;
	}
	return ends[1] - ends[0];
}

/* Rows of the output by the definition; matches[row of the probe side]. */
static uint64_t expected(const struct join_check *k, struct join_data *d, uint64_t *matches)
{
	uint64_t n, rows = 0, *sorted = sorted_keys(k, d, 0, &n);
	for (uint64_t i = 0; i < d->found[1]; i++) {
		uint64_t m = joins(k, d, 1, i) ? times_in(sorted, n, d->keys[1][i]) : 0;
		d->several |= m > 1;
		matches[i] = k->kind == RQL_JOIN_INNER                                 ? m
		             : k->kind == RQL_JOIN_LEFT || k->kind == RQL_JOIN_FULL ? (m ? m : 1)
		             : k->kind == RQL_JOIN_SEMI                                ? m != 0
		                                                                       : m == 0;
		rows += matches[i];
	}
	free(sorted);
	if (k->kind != RQL_JOIN_FULL)
		return rows;
	sorted = sorted_keys(k, d, 1, &n);
	for (uint64_t i = 0; i < d->found[0]; i++) {
		d->lonely[i] = !joins(k, d, 0, i) || !times_in(sorted, n, d->keys[0][i]);
		rows += d->lonely[i];
	}
	free(sorted);
	return rows;
}

static bool gives_pairs(const struct join_check *k)
{
	return k->kind == RQL_JOIN_INNER || k->kind == RQL_JOIN_LEFT || k->kind == RQL_JOIN_FULL;
}

static uint64_t payload_bits(const struct join_check *k)
{
	return k->payloads == 2 ? 64 : 32;
}

/* Each row of the output is a row of the answer, none twice, and with enough room all are there. */
static void compare_rows(const struct join_check *k, const struct join_data *d, const struct rql_join *join,
                         const uint64_t *matches, uint64_t rows)
{
	bool pairs = gives_pairs(k);
	uint64_t mask = k->payloads == 2 ? UINT64_MAX : UINT32_MAX;
	uint64_t *keys = download_words(join->keys_out, rows, k->key_bits), *order = array(rows, 8);
	uint64_t *build = pairs ? download_words(join->build.columns[0].out, rows, 32) : NULL;
	uint64_t *probe = download_words(join->probe.columns[0].out, rows, 32);
	uint64_t *values[2] = {NULL, NULL};
	if (k->payloads && pairs)
		values[0] = download_words(join->build.columns[1].out, rows, (uint32_t)payload_bits(k));
	if (k->payloads)
		values[1] = download_words(join->probe.columns[1].out, rows, (uint32_t)payload_bits(k));
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t p = probe[i], b = pairs ? build[i] : 0;
		bool missing = pairs && b == UINT32_MAX, alone = k->kind == RQL_JOIN_FULL && p == UINT32_MAX;
		assert_true(alone ? b < d->found[0] && d->lonely[b] : p < d->found[1] && matches[p]);
		assert_true(keys[i] == (alone ? d->keys[0][b] : d->keys[1][p]));
		assert_false(missing && k->kind == RQL_JOIN_INNER);
		if (pairs && !missing && !alone)
			assert_true(b < d->found[0] && d->keys[0][b] == keys[i] && joins(k, d, 0, b) && joins(k, d, 1, p));
		if (values[0])
			assert_true(values[0][i] == (missing ? 0 : d->values[0][b] & mask));
		if (values[1])
			assert_true(values[1][i] == (alone ? 0 : d->values[1][p] & mask));
		order[i] = b << 32 | p;
	}
	qsort(order, rows, 8, ascending);
	for (uint64_t i = 1; i < rows; i++)
		assert_true(order[i] != order[i - 1]);
	free(keys);
	free(order);
	free(build);
	free(probe);
	free(values[0]);
	free(values[1]);
}

static void outputs(const struct join_check *k, const struct join_data *d, struct rql_join *join, uint64_t capacity)
{
	bool pairs = gives_pairs(k);
	struct rql_join_side *sides[] = {&join->build, &join->probe};
	uint32_t bits = (uint32_t)payload_bits(k);
	join->capacity = capacity;
	join->keys_out = device_memory(capacity * k->key_bits / 8, NULL);
	for (int side = pairs ? 0 : 1; side < 2; side++) {
		sides[side]->column_count = k->payloads ? 2 : 1;
		sides[side]->columns[0] = (struct rql_relation_column){.bits = 32, .out = device_memory(capacity * 4, NULL)};
		if (k->payloads)
			sides[side]->columns[1] =
				(struct rql_relation_column){bits, d->values_at[side], device_memory(capacity * bits / 8, NULL)};
	}
	if (k->ordered && !join->built.buffer)
		join->built = device_memory(rql_join_built_bytes(join), NULL);
	join->temp = device_memory(rql_join_temp_bytes(join), NULL);
}

static void check_join(struct join_check k)
{
	struct rql_error err = {0};
	struct join_data d;
	if (k.kind == RQL_JOIN_FULL) {
		k.nulls &= 1;
		k.ordered = false;
	}
	make_sides(&k, &d);
	d.lonely = array(k.build, sizeof *d.lonely);
	uint64_t *matches = array(k.probe, 8), rows = expected(&k, &d, matches);
	struct rql_join join = {.kind = k.kind, .key_bits = k.key_bits, .has_null_key = k.nulls & 1, .single = k.single, .ordered = k.ordered,
	                        .null_key = d.null_key, .rows = device_memory(16, NULL), .tuning = k.tuning};
	struct rql_join_side *sides[] = {&join.build, &join.probe};
	for (int side = 0; side < 2; side++) {
		sides[side]->count = d.count[side];
		sides[side]->keys = d.keys_at[side];
		if (k.found)
			sides[side]->found = d.found_at[side];
		if (k.nulls & 2)
			sides[side]->valid = d.valid_at[side];
	}
	uint64_t less = (uint64_t)k.capacity < rows ? (uint64_t)k.capacity : rows;
	for (uint64_t capacity = rows - less;; capacity = rows) {
		const bool again = join.built.buffer;
		outputs(&k, &d, &join, capacity);
		struct rql_commands *c = recording();
		if (k.ordered && !again)
			ok(rql_record_join_built(c, &join, &err), &err);
		ok(rql_record_join(c, &join, &err), &err);
		execute(c);
		assert_int_equal(word_of(join.rows, 0), rows);
		if (k.single)
			assert_int_equal(word_of(join.rows, 1), d.several);
		compare_rows(&k, &d, &join, matches, capacity);
		if (capacity == rows)
			break;
	}
	drop_memory();
	free(matches);
	free(d.lonely);
	for (int side = 0; side < 2; side++) {
		free(d.keys[side]);
		free(d.values[side]);
		free(d.valid[side]);
	}
}

static const enum rql_join_kind kinds[] = {RQL_JOIN_INNER, RQL_JOIN_LEFT, RQL_JOIN_SEMI, RQL_JOIN_ANTI, RQL_JOIN_FULL};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* Kinds, NULLs and payloads in turn over sizes, in place, by one pass and by two. */
static void test_join(void **state)
{
	(void)state;
	static const uint64_t sizes[][3] = {{0, 0, 1},     {0, 500, 5},      {500, 0, 5},       {1, 1, 1},
	                                    {7, 3000, 20}, {2000, 300, 900}, {2600, 9001, 3000}, {9001, 20011, 9001},
	                                    {40007, 50021, 20000}};
	uint32_t turn = 0;
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes) - !LARGE_SIZES; i += SIZE_STEP) {
		/* Each kind with every second size, or third. */
		for (uint32_t kind = i / SIZE_STEP % KIND_STEP; kind < KINDS; kind += KIND_STEP, turn++) {
			struct join_check k = {.kind = kinds[kind], .key_bits = i / KIND_STEP % 2 ? 64 : 32, .build = sizes[i][0],
			                       .probe = sizes[i][1], .distinct = sizes[i][2], .pattern = turn % 5 == 1 ? EXTREMES : turn % 5 == 2 ? MISSES : UNIFORM,
			                       .nulls = (int)(turn / 2 % 4), .payloads = turn % 3, .found = turn % 7 == 3};
			if (k.pattern == EXTREMES && k.build * k.probe > 5000000)
				k.pattern = UNIFORM;
			/* Sizes of tables go with those of inputs, and each is a pipeline. */
			k.single = k.kind == RQL_JOIN_LEFT && i % 3 == 1;
			if (i < 4 || kind / KIND_STEP == i / 2 % 2 || i == 8)
				check_join(k);
			k.tuning.bits = 1 + (turn % 2 ? 12 : 6);
			check_join(k);
			k.ordered = k.kind != RQL_JOIN_FULL && !k.single;
			k.capacity = (int64_t)(k.probe / 3); /* and once more with the side that was built */
			if (k.ordered)
				check_join(k);
		}
	}
}

/* One key has all rows or half of them: tables that follow one another, pieces, and far more rows than inputs. */
static void test_join_skew(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* test_join makes the same calls */
#endif
	const struct rql_relation_tuning small = {.bits = 7, .slots = 256, .piece_log2 = 9};
	for (uint32_t kind = 0; kind < KINDS; kind += FORM_STEP) {
		struct join_check k = {.kind = kinds[kind], .key_bits = 32, .build = 600, .probe = 700, .distinct = 1,
		                       .pattern = EQUAL, .payloads = 1, .tuning = small};
		check_join(k);
		k = (struct join_check){.kind = kinds[kind], .key_bits = 32, .build = 3000, .probe = 9000, .distinct = 3000,
		                        .pattern = MISSES, .nulls = 1, .tuning = small};
		check_join(k);
		k.tuning.bits = 1;
		k.pattern = SKEWED;
		k.build = 700;
		k.probe = 3000;
		check_join(k);
		if (k.kind == RQL_JOIN_FULL)
			continue;
		/* In order, tables of 128 rows: nine of one key, and then more than one of most partitions. */
		k = (struct join_check){.kind = kinds[kind], .key_bits = 64, .build = 1100, .probe = 600, .distinct = 1,
		                        .pattern = EQUAL, .payloads = 2, .ordered = true, .tuning = {.bits = 7, .buckets = 64}};
		check_join(k);
		k = (struct join_check){.kind = kinds[kind], .key_bits = 32, .build = 3000, .probe = 1000, .distinct = 2000,
		                        .pattern = SKEWED, .nulls = 1, .ordered = true, .tuning = {.bits = 2, .buckets = 64}};
		check_join(k);
	}
	/* A row's second match in another table than the first; and no row has one. */
	struct join_check one = {.kind = RQL_JOIN_LEFT, .key_bits = 32, .build = 600, .probe = 300, .distinct = 300,
	                         .pattern = UNIFORM, .single = true, .tuning = {.bits = 1, .slots = 256, .piece_log2 = 9}};
	check_join(one);
	one.build = 1;
	one.distinct = 5;
	check_join(one);
	struct join_check dup8 = {.kind = RQL_JOIN_INNER, .key_bits = 32, .build = 40000, .probe = 20000, .distinct = 5000,
	                          .payloads = 1};
	check_join(dup8);
	/* Kernels made for the shape of the request. */
	dup8.tuning.special = true;
	check_join(dup8);
	dup8.payloads = 0; /* columns that are all of one kind */
	check_join(dup8);
	dup8.payloads = 2;
	dup8.nulls = 1;
	dup8.kind = RQL_JOIN_LEFT;
	check_join(dup8);
}

/* The kernel for keys that come often, also where they do not: buckets of one key and of several, tables that follow one
 * another, NULLs, pieces, columns of both widths. */
static void test_join_many(void **state)
{
	(void)state;
	static const enum pattern patterns[] = {UNIFORM, EQUAL, SKEWED, EXTREMES, MISSES};
	static const uint64_t sizes[][3] = {{3000, 2500, 400}, {600, 700, 60}, {9001, 3000, 9001}, {0, 300, 5}, {1, 40, 2}};
	for (uint32_t turn = 0; turn < 20 / SIZE_STEP; turn++) {
		const uint64_t *size = sizes[turn / 4 % 5];
		struct join_check k = {.kind = turn % 2 ? RQL_JOIN_LEFT : RQL_JOIN_INNER, .key_bits = turn % 4 < 2 ? 32 : 64,
		                       .build = size[0], .probe = size[1], .distinct = size[2], .pattern = patterns[turn % 5],
		                       .nulls = (int)(turn / 3 % 4), .payloads = turn % 3, .found = turn % 7 == 3,
		                       .tuning = {.many = 2, .slots = 256, .buckets = 128, .piece_log2 = 9}};
		if (k.pattern == EQUAL || k.pattern == SKEWED || k.pattern == EXTREMES) {
			k.build = k.build < 500 ? k.build : 500;
			k.probe = k.probe < 600 ? k.probe : 600;
		}
		k.tuning.bits = turn % 3 == 1 ? 1 : turn % 3 == 2 ? 5 : 0;
		k.capacity = turn % 2 ? (int64_t)(k.probe / 2) : 0;
		check_join(k);
	}
}

static void test_join_capacity(void **state)
{
	(void)state;
	struct join_check k = {.kind = RQL_JOIN_INNER, .key_bits = 32, .build = 5000, .probe = 20000, .distinct = 2000,
	                       .payloads = 1, .capacity = 10001};
	check_join(k);
	k.capacity = INT64_MAX; /* no room at all */
	check_join(k);
	k.kind = RQL_JOIN_LEFT;
	k.nulls = 2;
	k.capacity = 5;
	check_join(k);
	k.kind = RQL_JOIN_FULL;
	k.distinct = 20000; /* many build rows without a match */
	k.capacity = 2500;
	check_join(k);
}

/* ---- group-by ---- */

struct group_check {
	uint32_t key_bits, value_bits;
	uint64_t rows, distinct, guess;
	enum pattern pattern;
	uint32_t columns;
	bool is_signed, found;
	uint64_t less; /* capacity below the number of groups by this */
	uint64_t spill;
	struct rql_relation_tuning tuning;
};

struct group_data {
	uint64_t found, groups;
	uint64_t *keys, *values[2], *sorted; /* sorted: distinct keys */
	uint64_t *counts;
	rql_int128 *sums[2];
	int64_t *least[2], *greatest[2];
};

static uint64_t group_of(const struct group_data *d, uint64_t key)
{
	const uint64_t *at = bsearch(&key, d->sorted, d->groups, 8, ascending);
	assert_non_null(at);
	return (uint64_t)(at - d->sorted);
}

/* A value in its own type, as 64 bits. */
static uint64_t value_of(const struct group_check *k, uint32_t column)
{
	uint64_t v = drawn();
	uint32_t bits = column ? 32 : k->value_bits;
	if (bits == 64)
		return v;
	return k->is_signed ? (uint64_t)(int64_t)(int32_t)(uint32_t)v : (uint32_t)v;
}

static bool below(const struct group_check *k, int64_t a, int64_t b)
{
	return k->is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

static void make_groups(const struct group_check *k, struct group_data *d)
{
	*d = (struct group_data){.found = k->found ? k->rows - k->rows / 4 : k->rows};
	d->keys = array(k->rows, 8);
	d->sorted = array(k->rows, 8);
	for (uint64_t i = 0; i < k->rows; i++)
		d->keys[i] = key_of(k->pattern, k->distinct, k->key_bits, false);
	memcpy(d->sorted, d->keys, d->found * 8);
	qsort(d->sorted, d->found, 8, ascending);
	for (uint64_t i = 0; i < d->found; i++)
		if (!i || d->sorted[i] != d->sorted[d->groups - 1])
			d->sorted[d->groups++] = d->sorted[i];
	d->counts = array(d->groups, 8);
	for (uint32_t c = 0; c < k->columns; c++) {
		d->values[c] = array(k->rows, 8);
		d->sums[c] = array(d->groups, 16);
		d->least[c] = array(d->groups, 8);
		d->greatest[c] = array(d->groups, 8);
	}
	for (uint64_t i = 0; i < k->rows; i++) {
		uint64_t g = i < d->found ? group_of(d, d->keys[i]) : 0;
		for (uint32_t c = 0; c < k->columns; c++) {
			uint64_t v = d->values[c][i] = value_of(k, c);
			if (i >= d->found)
				continue;
			d->sums[c][g] += k->is_signed ? (rql_int128)(int64_t)v : (rql_int128)v;
			if (!d->counts[g] || below(k, (int64_t)v, d->least[c][g]))
				d->least[c][g] = (int64_t)v;
			if (!d->counts[g] || below(k, d->greatest[c][g], (int64_t)v))
				d->greatest[c][g] = (int64_t)v;
		}
		d->counts[g] += i < d->found;
	}
}

static void compare_groups(const struct group_check *k, const struct group_data *d, const struct rql_group_by *g,
                           uint64_t groups)
{
	uint64_t *keys = download_words(g->keys_out, groups, k->key_bits), *counts = host_copy(g->counts, groups * 8);
	uint8_t *seen = array(d->groups, 1);
	for (uint64_t i = 0; i < groups; i++) {
		uint64_t at = group_of(d, keys[i]);
		assert_true(!seen[at] && counts[i] == d->counts[at]);
		seen[at] = 1;
	}
	for (uint32_t c = 0; c < k->columns; c++) {
		uint64_t *sums = host_copy(g->columns[c].sum, groups * (c ? 8 : 16));
		int64_t *least = host_copy(g->columns[c].min, groups * 8), *greatest = host_copy(g->columns[c].max, groups * 8);
		for (uint64_t i = 0; i < groups; i++) {
			uint64_t at = group_of(d, keys[i]);
			rql_int128 sum = d->sums[c][at];
			assert_true(sums[c ? i : 2 * i] == (uint64_t)sum);
			assert_true(c || sums[2 * i + 1] == (uint64_t)(sum >> 64));
			assert_true(least[i] == d->least[c][at] && greatest[i] == d->greatest[c][at]);
		}
		free(sums);
		free(least);
		free(greatest);
	}
	free(keys);
	free(counts);
	free(seen);
}

static void group_outputs(const struct group_check *k, struct rql_group_by *g, uint64_t capacity)
{
	g->capacity = capacity;
	g->keys_out = device_memory(capacity * k->key_bits / 8, NULL);
	g->counts = device_memory(capacity * 8, NULL);
	for (uint32_t c = 0; c < k->columns; c++) {
		g->columns[c].wide_sum = !c;
		g->columns[c].sum = device_memory(capacity * (c ? 8 : 16), NULL);
		g->columns[c].min = device_memory(capacity * 8, NULL);
		g->columns[c].max = device_memory(capacity * 8, NULL);
	}
	g->temp = device_memory(rql_group_by_temp_bytes(g), NULL);
}

static void check_groups(struct group_check k)
{
	struct rql_error err = {0};
	struct group_data d;
	make_groups(&k, &d);
	struct rql_group_by g = {.key_bits = k.key_bits, .count = k.rows, .guess = k.guess, .spill = k.spill,
	                         .column_count = k.columns, .tuning = k.tuning};
	g.keys = upload_words(d.keys, k.rows, k.key_bits);
	g.result = device_memory(16, NULL);
	if (k.found)
		g.found = device_memory(8, &d.found);
	for (uint32_t c = 0; c < k.columns; c++) {
		uint32_t bits = c ? 32 : k.value_bits;
		g.columns[c] = (struct rql_group_by_column){.bits = bits, .is_signed = k.is_signed};
		g.columns[c].values = upload_words(d.values[c], k.rows, bits);
	}
	uint64_t capacity = d.groups > k.less ? d.groups - k.less : 0;
	uint32_t tries = 0;
	for (uint64_t unplaced = 1; unplaced; tries++) {
		assert_true(tries < 8);
		group_outputs(&k, &g, capacity);
		struct rql_commands *c = recording();
		ok(rql_record_group_by(c, &g, &err), &err);
		execute(c);
		unplaced = word_of(g.result, 1);
		if (unplaced)
			rql_group_by_retry(&g, word_of(g.result, 0));
	}
	assert_int_equal(word_of(g.result, 0), d.groups);
	compare_groups(&k, &d, &g, capacity);
	drop_memory();
	free(d.keys);
	free(d.sorted);
	free(d.counts);
	for (uint32_t c = 0; c < k.columns; c++) {
		free(d.values[c]);
		free(d.sums[c]);
		free(d.least[c]);
		free(d.greatest[c]);
	}
}

static void test_groups(void **state)
{
	(void)state;
	static const uint64_t sizes[][2] = {{0, 1},       {1, 1},         {500, 3},       {4097, 16},      {20011, 1000},
	                                    {50021, 700}, {60013, 9000}, {60013, 50000}, {200003, 100000}};
	uint32_t turn = 0;
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes) - (LARGE_SIZES ? 0 : 4); i++) {
		for (uint32_t form = i % FORM_STEP; form < 4; form += FORM_STEP, turn++) {
			struct group_check k = {.key_bits = form % 2 ? 64 : 32, .value_bits = form / 2 ? 64 : 32, .rows = sizes[i][0],
			                        .distinct = sizes[i][1], .guess = sizes[i][1], .pattern = turn % 6 == 4 ? EXTREMES : UNIFORM,
			                        .columns = turn % 3, .is_signed = turn % 2 == i % 2, .found = turn % 5 == 2};
			check_groups(k);
		}
	}
}

/* One key has all rows or half of them, pieces, two passes; guesses that are far off; too little room. */
static void test_groups_skew(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* test_groups makes the same calls */
#endif
	struct group_check k = {.key_bits = 32, .value_bits = 32, .rows = 100003, .distinct = 20000, .guess = 20000,
	                        .pattern = SKEWED, .columns = 2, .is_signed = true, .tuning = {.piece_log2 = 10}};
	check_groups(k);
	k.pattern = EQUAL;
	check_groups(k);
	k.tuning.bits = 14;
	k.pattern = SKEWED;
	check_groups(k);
	/* More rows of one group than a tally has room for, in one workgroup and one copy: they go to registers between. */
	struct group_check tallies = {.key_bits = 64, .value_bits = 64, .rows = 140003, .distinct = 1, .guess = 1000,
	                              .pattern = EQUAL, .columns = 2, .is_signed = true, .tuning = {.bits = 1, .piece_log2 = 17}};
	check_groups(tallies);
	/* One sweep of a workgroup whose table has no place for most groups: all columns of their rows go to the device's. */
	struct group_check full = {.key_bits = 64, .value_bits = 64, .rows = 250, .distinct = 1 << 20, .guess = 30,
	                           .pattern = UNIFORM, .columns = 2, .tuning = {.bits = 1, .slots = 64, .threads = 64}};
	check_groups(full);
	/* Kernels for one shape of request: all columns are alike, or one is paired with its keys. */
	struct group_check special = {.key_bits = 32, .value_bits = 32, .rows = 9001, .distinct = 300, .guess = 300,
	                              .pattern = UNIFORM, .columns = 1, .is_signed = true, .tuning = {.special = true}};
	check_groups(special);
	special.guess = 30; /* steps by a sample of more keys than the table has slots */
	special.columns = 2;
	check_groups(special);
	special.key_bits = 64;
	special.guess = special.distinct = 20;
	check_groups(special);
	special.key_bits = 32;
	special.columns = 1;
	special.guess = special.distinct = 300;
	special.tuning.bits = 5;
	check_groups(special);
	special.tuning.bits = 0;
	special.distinct = special.guess = 6000; /* partitions of few rows */
	check_groups(special);
	special.columns = 0;
	check_groups(special);
	special.key_bits = special.value_bits = 64;
	special.columns = 2;
	special.tuning.special = false;
	check_groups(special);
	k.tuning = (struct rql_relation_tuning){0};
	k.pattern = UNIFORM;
	k.guess = 1; /* found out by what finds no place */
	check_groups(k);
	k.guess = 1000000000;
	k.less = 7000;
	check_groups(k);
}

/* ---- what cannot be asked for ---- */

static void test_refused(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_commands *c = recording();
	struct rql_span memory = device_memory(1 << 16, NULL);
	struct rql_join join = {.kind = RQL_JOIN_SEMI, .key_bits = 32, .build = {.count = 10, .keys = memory},
	                        .probe = {.count = 10, .keys = memory}, .rows = memory};
	join.temp = device_memory(rql_join_temp_bytes(&join), NULL);
	join.key_bits = 16;
	assert_int_equal(rql_record_join(c, &join, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	join.key_bits = 32;
	join.single = true; /* of no left join */
	assert_int_equal(rql_record_join(c, &join, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	join.single = false;
	join.kind = RQL_JOIN_FULL;
	join.build.valid = memory; /* no bitmaps there */
	assert_int_equal(rql_record_join(c, &join, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	join.kind = RQL_JOIN_SEMI;
	join.build.valid.buffer = NULL;
	join.probe.count = 1 << 15; /* more than its memory has */
	assert_int_equal(rql_record_join(c, &join, &err), RQL_ERROR_INTERNAL);
	assert_non_null(strstr(rql_error_message(&err), "keys of a join"));
	rql_error_clear(&err);
	struct rql_group_by group = {.key_bits = 32, .count = 10, .guess = 1, .keys = memory, .keys_out = memory, .result = memory};
	assert_int_equal(rql_record_group_by(c, &group, &err), RQL_ERROR_INTERNAL); /* no temporary memory */
	rql_error_clear(&err);
	struct rql_partition partition = {.key_bits = 32, .bits = 21, .count = 10, .keys = memory};
	assert_int_equal(rql_record_partition(c, &partition, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	rql_commands_free(c);
	drop_memory();
}

static int open_device(void **state)
{
	(void)state;
	const char *name = getenv("RAYQL_TEST_DEVICE");
	if (setenv("RAYQL_VULKAN_VALIDATION", "1", 0) != 0 || rql_devices_open(2, &devices, NULL) != RQL_OK)
		return -1;
	device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
	return device ? 0 : -1;
}

static int close_device(void **state)
{
	(void)state;
	uint64_t errors = rql_vulkan_validation_errors();
	rql_devices_close(devices);
	return errors ? -1 : 0;
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_partition),   cmocka_unit_test(test_join),   cmocka_unit_test(test_join_skew),
		cmocka_unit_test(test_join_many),
		cmocka_unit_test(test_join_capacity), cmocka_unit_test(test_groups), cmocka_unit_test(test_groups_skew),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, open_device, close_device);
}
