/* Joins that stream, against plain loops: hashed and direct maps, misses, pieces, capacities that are too small, no rows,
 * the extreme keys. The device is the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer
 * watching. */
#include "primitive/stream_join.h"
#include "primitive_fixture.h"

#define BUILD 3001u
#define PROBE 7003u
#define PIECES 3u

static struct rql_buffer *owned[32];
static uint32_t owned_count;

/* Keys of the build side come once: i * 3, or spread over 32 bits, with both extremes. */
static uint32_t key_of(uint32_t number, bool dense)
{
	if (!dense && number < 2)
		return number ? UINT32_MAX : 0;
	return dense ? number * 3 : number * UINT32_C(0x9e3779b1);
}

static struct rql_buffer *buffer(uint64_t bytes, enum rql_memory memory)
{
	struct rql_buffer *out = NULL;
	assert_int_equal(rql_buffer_new(device, bytes + 16, memory, "a test's memory", &out, NULL), RQL_OK);
	owned[owned_count++] = out;
	return out;
}

static void make_map(struct rql_lookup_build *build, bool dense)
{
	uint32_t keys[BUILD];
	struct rql_lookup_map *map = &build->map;
	*map = (struct rql_lookup_map){.form = dense ? RQL_LOOKUP_DIRECT : RQL_LOOKUP_HASHED, .key_bits = 32, .count = BUILD,
	                               .high = dense ? 3 * BUILD : UINT32_MAX};
	assert_true(dense || rql_lookup_choose_parts(map));
	for (uint32_t i = 0; i < BUILD; i++)
		keys[i] = key_of(i, dense);
	map->slots.buffer = buffer(rql_lookup_slots(map) * rql_lookup_slot_bytes(map), RQL_MEMORY_DEVICE);
	map->failed.buffer = buffer(8, RQL_MEMORY_DEVICE);
	build->keys.buffer = buffer(sizeof keys, RQL_MEMORY_DEVICE);
	build->temp.buffer = buffer(rql_lookup_build_temp_bytes(build), RQL_MEMORY_DEVICE);
	assert_int_equal(rql_buffer_upload(build->keys.buffer, 0, keys, sizeof keys, NULL), RQL_OK);
}

static void run_pieces(const struct rql_lookup_build *build, struct rql_stream_join *join)
{
	struct rql_commands *c;
	assert_int_equal(rql_commands_new(device, 0, &c, NULL), RQL_OK);
	assert_int_equal(rql_record_lookup_build(c, build, NULL), RQL_OK);
	rql_record_fill(c, join->rows.buffer, 0, 8, 0);
	for (uint32_t p = 0; p < PIECES; p++) { /* one result behind the other */
		const uint32_t first = PROBE * p / PIECES, end = PROBE * (p + 1) / PIECES;
		join->count = end - first;
		join->keys.offset = join->values.offset = first * UINT64_C(4);
		assert_int_equal(rql_record_stream_join(c, join, NULL), RQL_OK);
	}
	assert_int_equal(rql_commands_end(c, NULL), RQL_OK);
	assert_int_equal(rql_commands_run(c, NULL, NULL), RQL_OK);
	rql_commands_free(c);
}

/* Build values are the row and 7, probe values the row: each pair says where it is from. */
static void check(bool dense, uint32_t below, uint64_t missing)
{
	struct rql_lookup_build build = {.map = {.key_bits = 32}};
	uint32_t values[BUILD];
	uint64_t wanted = 0, rows;
	make_map(&build, dense);
	struct rql_buffer *host[4];
	for (int i = 0; i < 4; i++) /* keys, values; what comes out */
		host[i] = buffer(PROBE * 4, RQL_MEMORY_READBACK);
	uint32_t *keys = host[0]->map, *numbers = host[1]->map;
	for (uint32_t i = 0; i < PROBE; i++) {
		const uint32_t number = (i * 2654435761u >> 7) % below;
		keys[i] = key_of(number, dense) + (dense && number % 5 == 4); /* a miss between the keys */
		numbers[i] = i;
		wanted += number < BUILD && !(dense && number % 5 == 4);
	}
	for (uint32_t i = 0; i < BUILD; i++)
		values[i] = i + 7;
	struct rql_stream_join join = {.map = build.map, .capacity = wanted - missing};
	join.build_values.buffer = buffer(sizeof values, RQL_MEMORY_DEVICE);
	assert_int_equal(rql_buffer_upload(join.build_values.buffer, 0, values, sizeof values, NULL), RQL_OK);
	join.keys.buffer = host[0];
	join.values.buffer = host[1];
	join.build_out.buffer = host[2];
	join.probe_out.buffer = host[3];
	join.rows.buffer = buffer(8, RQL_MEMORY_DEVICE);
	run_pieces(&build, &join);
	assert_int_equal(rql_buffer_download(join.rows.buffer, 0, &rows, 8, NULL), RQL_OK);
	assert_int_equal(rows, wanted);
	uint8_t seen[PROBE] = {0};
	const uint32_t *of_build = host[2]->map, *of_probe = host[3]->map;
	for (uint64_t i = 0; i < join.capacity; i++) {
		assert_true(of_probe[i] < PROBE && !seen[of_probe[i]] && of_build[i] - 7 < BUILD);
		seen[of_probe[i]] = 1;
		assert_int_equal(keys[of_probe[i]], key_of(of_build[i] - 7, dense));
	}
	while (owned_count)
		rql_buffer_free(owned[--owned_count]);
}

static void test_matches(void **state)
{
	(void)state;
	for (int dense = 0; dense < 2; dense++) {
		check(dense, BUILD, 0);
		check(dense, 3 * BUILD, 0);
		check(dense, 3 * BUILD, 100);
		check(dense, 1, 0);
	}
}

static void test_refused(void **state)
{
	(void)state;
	struct rql_lookup_build build = {.map = {.key_bits = 32}};
	struct rql_commands *c;
	make_map(&build, true);
	struct rql_stream_join join = {.map = build.map};
	assert_int_equal(rql_commands_new(device, 0, &c, NULL), RQL_OK);
	join.map.form = RQL_LOOKUP_SORTED;
	assert_int_equal(rql_record_stream_join(c, &join, NULL), RQL_ERROR_INTERNAL);
	join.map = build.map;
	join.count = 1; /* of no memory */
	assert_int_equal(rql_record_stream_join(c, &join, NULL), RQL_ERROR_INTERNAL);
	rql_commands_free(c);
	while (owned_count)
		rql_buffer_free(owned[--owned_count]);
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	int skipped = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skipped)
		return skipped;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_matches), cmocka_unit_test(test_refused)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
