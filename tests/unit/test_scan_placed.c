/* What lies on a device follows segments: appends upload what they made, snapshots of different ages share the rest, what
 * no snapshot holds is freed, and idle columns give way. Against a model of what must be there, and the CPU's answers.
 * The device is the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. */
#pragma GCC diagnostic ignored "-Wunused-function" /* of the world, only helpers are needed */
#include "scan_world.h"

#include <pthread.h>
#include <string.h>

#include "scan_device.h"

static int open_some(void **state)
{
	return open_keeping(state, NULL);
}

static uint64_t placed_bytes(const struct rql_store_snapshot *snapshot)
{
	return snapshot ? placed_columns(snapshot).bytes : rql_placements_bytes(gpu, false);
}

/* ---- a store that grows ---- */
enum { AMOUNT, CITY, SHIPPED, COUNT };
static const struct {
	rql_type_id type;
	enum rql_store_coding coding;
} specs[COUNT] = {{RQL_TYPE_BIGINT, RQL_STORE_VALUES}, {RQL_TYPE_INTEGER, RQL_STORE_CODES}, {RQL_TYPE_DATE, RQL_STORE_CODES}};

/* Values below `span` of each; a larger one than before gives dictionaries that shift older codes. */
static struct rql_batch *rows_of(uint32_t rows, uint32_t span)
{
	struct rql_type types[COUNT];
	for (uint32_t c = 0; c < COUNT; c++)
		types[c] = rql_type_simple(specs[c].type);
	struct rql_batch *batch = need(rql_batch_new(COUNT, types, rows));
	for (uint32_t r = 0; r < rows; r++) {
		((int64_t *)batch->columns[AMOUNT].data)[r] = (int64_t)roll(1 << 17);
		((int32_t *)batch->columns[CITY].data)[r] = (int32_t)roll(span) * (roll(2) ? 1 : -1);
		((int32_t *)batch->columns[SHIPPED].data)[r] = 9000 + (int32_t)(roll(span) * (roll(2) ? 17 : 1));
		if (span > 40 && roll(50) == 0)
			assert_true(rql_batch_set_null(batch, (uint32_t)roll(COUNT), r));
	}
	return batch;
}

static struct rql_store *store_of(uint32_t rows, uint32_t span)
{
	struct rql_store_column_spec columns[COUNT];
	struct rql_error err = {0};
	struct rql_store_builder *builder = NULL;
	struct rql_store *store = NULL;
	for (uint32_t c = 0; c < COUNT; c++)
		columns[c] = (struct rql_store_column_spec){.name = "x",
		                                            .type = rql_type_simple(specs[c].type),
		                                            .coding = specs[c].coding,
		                                            .encoding = RQL_STORE_AUTO};
	struct rql_store_spec spec = {.name = "columns of x", .column_count = COUNT, .columns = columns};
	ok(rql_store_builder_new(&spec, &builder, &err), &err);
	for (uint32_t at = 0; at < rows; at += 2000) {
		struct rql_batch *batch = rows_of(rows - at < 2000 ? rows - at : 2000, span);
		ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
		rql_batch_release(batch);
	}
	ok(rql_store_builder_finish(builder, &store, &err), &err);
	return store;
}

static void append(struct rql_store *store, uint32_t rows, uint32_t span)
{
	struct rql_error err = {0};
	struct rql_batch *batch = rows_of(rows, span);
	ok(rql_store_append(store, batch, &err), &err);
	rql_batch_release(batch);
}

/* ---- requests ---- */

/* Rows and the sum of amounts, where two columns are in ranges of the snapshot's codes. */
struct ask {
	struct rql_request request;
	struct rql_conjunct conjuncts[2];
	struct rql_agg aggs[2];
};

static void ask_make(struct ask *a, const struct rql_store_snapshot *snapshot)
{
	*a = (struct ask){.aggs = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM, .source.index = AMOUNT}}};
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t column = CITY + i, codes = snapshot->columns[column].dimension->count;
		/* About half of the rows each time, so that both are always tested 32 rows at once. */
		uint32_t from = codes / 4 + (uint32_t)roll(codes / 8 + 1);
		a->conjuncts[i] = (struct rql_conjunct){
			.test = RQL_TEST_IN_RANGE, .index = column, .least = from, .greatest = from + codes / 2};
	}
	a->request = (struct rql_request){
		.snapshot = snapshot, .conjunct_count = 2, .conjuncts = a->conjuncts, .agg_count = 2, .aggs = a->aggs};
}

static struct rql_prepared *prepare(const struct rql_request *request)
{
	struct rql_error err = {0};
	struct rql_prepared *p = NULL;
	ok(rql_method_scan_compute.prepare(request, gpu, &p, &err), &err);
	return p;
}

/* Runs and compares with the CPU; returns the bytes uploaded, of columns and of tables. */
static uint64_t run_and_compare(struct rql_prepared *p, const struct rql_request *request)
{
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_scan *scan = NULL;
	struct rql_scan_counts counts;
	struct rql_port want = {0}, have = {0};
	struct rql_error err = {0};
	ok(rql_scan_prepare(request, &host, &scan, &err), &err);
	ok(rql_scan_run(scan, &host, NULL, arena, NULL, &want, &counts, &err), &err);
	ok(rql_method_scan_compute.run(p, gpu, &(struct rql_run){.arena = arena}, &have, &err), &err);
	assert_int_equal(have.cells_covered, counts.rows_passed);
	assert_true(have.aggs[0].integer[0] == want.aggs[0].integer[0]);
	if (counts.rows_passed)
		assert_true(have.aggs[1].integer[0] == want.aggs[1].integer[0]);
	uint64_t uploaded = have.bytes_uploaded;
	rql_scan_free(scan);
	rql_arena_free(arena);
	return uploaded;
}

static uint64_t run_once(const struct rql_store_snapshot *snapshot)
{
	struct ask a;
	ask_make(&a, snapshot);
	struct rql_prepared *p = prepare(&a.request);
	uint64_t bytes = run_and_compare(p, &a.request);
	rql_method_scan_compute.free(p);
	return bytes;
}

/* ---- appends ---- */

/* What a request sends beside columns grows with the blocks: a record for each. */
static uint64_t tables_of(const struct rql_store_snapshot *snapshot)
{
	uint64_t translated = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		for (uint32_t c = 0; c < COUNT; c++)
			translated += snapshot->segments[s].columns[c].stored_codes * 4ull + 64;
	return snapshot->blocks * 512 + translated + 4096;
}

/* Blocks of segments that an older snapshot has not. */
static uint64_t fresh_blocks(const struct rql_store_snapshot *now, const void *const *known, uint32_t known_count)
{
	uint64_t blocks = 0;
	for (uint32_t s = 0; s < now->segment_count; s++) {
		bool old = false;
		for (uint32_t i = 0; i < known_count; i++)
			old |= known[i] == now->segments[s].identity;
		blocks += old ? 0 : now->segments[s].blocks;
	}
	return blocks;
}

#define SEGMENTS_MOST 64u
/* Of columns in two layouts, a block at most: 17 bits of amounts, 11 of cities, 13 of dates' calendar numbers, NULLs. */
#define BLOCK_MOST (RQL_STORE_BLOCK * 8u)

static void test_appends(void **state)
{
	static const uint32_t sizes[] = {1, 10, 1000, 4096, 5000, 12000};
	const void *known[SEGMENTS_MOST];
	uint64_t appended = 0, blocks = 0;
	(void)state;
	random_state = 3;
	struct rql_store *store = store_of(300000, 40);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	uint64_t first = run_once(snapshot), all = placed_bytes(NULL);
	assert_in_range(first, all, all + tables_of(snapshot));
	assert_true(all > 300000 * 17 / 8);
	for (unsigned i = 0; i < 24; i++) {
		uint32_t rows = sizes[i % 6], span = 40 + i * 3; /* every append shifts the codes before */
		uint32_t known_count = snapshot->segment_count;
		assert_true(known_count < SEGMENTS_MOST);
		for (uint32_t s = 0; s < known_count; s++)
			known[s] = snapshot->segments[s].identity;
		append(store, rows, span);
		const struct rql_store_snapshot *grown = rql_store_snapshot(store);
		uint64_t fresh = fresh_blocks(grown, known, known_count);
		blocks += fresh;
		appended += rows;
		rql_store_snapshot_release(grown);
		rql_store_snapshot_release(snapshot);
		/* What the append replaced is gone before anybody asks. */
		snapshot = rql_store_snapshot(store);
		assert_int_equal(placed_bytes(NULL), placed_bytes(snapshot));
		uint64_t before = placed_bytes(snapshot), uploaded = run_once(snapshot), now = placed_bytes(snapshot);
		assert_int_equal(now, placed_bytes(NULL));
		assert_in_range(uploaded, now - before, now - before + tables_of(snapshot));
		/* New rows, the open segment that they joined, and now and then neighbours that became one. */
		assert_true(now - before <= fresh * BLOCK_MOST);
		assert_true(i % 6 > 2 || now - before < all / 15);
		/* Whatever asks next finds everything. */
		assert_true(run_once(snapshot) <= tables_of(snapshot));
		assert_int_equal(placed_bytes(NULL), now);
	}
	/* A row is uploaded as often as segments of its size are joined: the logarithm of all that were appended. */
	assert_true(blocks * RQL_STORE_BLOCK <= appended * 6 + 24 * RQL_STORE_BLOCK);
	assert_true(snapshot->segment_count > 1 && snapshot->segments[0].columns[CITY].translate);
	/* Everything is written anew, and uploaded anew; nothing old stays. */
	struct rql_error err = {0};
	ok(rql_store_compact(store, &err), &err);
	rql_store_snapshot_release(snapshot);
	assert_int_equal(placed_bytes(NULL), 0);
	snapshot = rql_store_snapshot(store);
	assert_true(run_once(snapshot) > all);
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	assert_int_equal(placed_bytes(NULL), 0);
}

/* ---- maps ---- */

/* Arrays of 600,000 places with fields of each width, full and nearly empty, and hash tables of both kinds of entries:
 * none of them, nor of most their bits, small enough for a plan's own table. */
static const struct {
	bool dense, wide;
	uint32_t count, apart, payloads;
} shapes[] = {
	{true, false, 60000, 10, 200}, {true, false, 2000, 300, 60000},  {true, false, 40000, 15, 1 << 20},
	{false, true, 4000, 32, 200},  {false, true, 30000, 4, 1 << 20}, {false, false, 30000, 4, 1 << 20},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static struct rql_map *large_map(unsigned shape)
{
	const uint32_t count = shapes[shape].count, apart = shapes[shape].apart;
	int64_t *keys = need(calloc(count, sizeof *keys));
	int32_t *payloads = need(calloc(count, sizeof *payloads));
	struct rql_map *map = NULL;
	struct rql_error err = {0};
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = (int64_t)i * apart + (int64_t)roll(apart);
		payloads[i] = (int32_t)roll(shapes[shape].payloads);
	}
	if (!shapes[shape].dense) {
		keys[0] = shapes[shape].wide ? INT64_MIN : INT32_MIN;
		keys[1] = shapes[shape].wide ? INT64_MAX : INT32_MAX - 2;
		keys[2] = -1;
	}
	ok(rql_map_build(keys, payloads, count, &map, &err), &err);
	assert_int_equal(rql_map_is_dense(map), shapes[shape].dense);
	assert_true(shapes[shape].dense || rql_map_is_narrow(map) == !shapes[shape].wide);
	free(keys);
	free(payloads);
	return map;
}

/* Rows whose amount is a key, and the sum of what they find. */
struct joined {
	struct rql_lookup join;
	struct rql_agg aggs[2];
	struct rql_request request;
};

static struct rql_prepared *prepare_joined(struct joined *j, const struct rql_store_snapshot *snapshot,
                                           const struct rql_map *map)
{
	*j = (struct joined){
		.join = {.kind = RQL_LOOKUP_INNER, .column = AMOUNT, .map = map},
		.aggs = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_LOOKUP}}}};
	j->request = (struct rql_request){
		.snapshot = snapshot, .lookup_count = 1, .lookups = &j->join, .agg_count = 2, .aggs = j->aggs};
	return prepare(&j->request);
}

static uint64_t run_joined(const struct rql_store_snapshot *snapshot, const struct rql_map *map,
                           struct rql_prepared **kept)
{
	struct joined j;
	struct rql_prepared *p = prepare_joined(&j, snapshot, map);
	uint64_t uploaded = run_and_compare(p, &j.request);
	if (kept)
		*kept = p;
	else
		rql_method_scan_compute.free(p);
	return uploaded;
}

static uint64_t map_bytes(const struct rql_map *map)
{
	return rql_placements_of(map, gpu, NULL, 0, NULL, NULL);
}

/* What is sent of a map whose parts are all there; whole: if none comes as its entries. */
static uint64_t sent_bytes(const struct rql_map *map, bool whole)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < RQL_SCAN_MAP_PARTS; i++) {
		const enum rql_scan_map_part part = (enum rql_scan_map_part)i;
		if (rql_scan_map_apart(map, part))
			bytes += whole ? rql_scan_map_bytes(map, part) : rql_scan_map_sent(map, part, gpu);
	}
	return bytes;
}

/* Plans share a map on the device as they share it in memory; it gives way like a column, and goes with its owner. */
static void share_map(const struct rql_store_snapshot *snapshot, unsigned shape)
{
	struct rql_map *map = large_map(shape), *other = large_map(shape);
	struct rql_prepared *kept = NULL;
	const uint64_t sent = sent_bytes(map, false), tables = tables_of(snapshot);
	uint64_t uploaded = run_joined(snapshot, map, &kept);
	assert_in_range(uploaded, 1, sent + placed_bytes(snapshot) + tables);
	assert_in_range(map_bytes(map), RQL_SCAN_MAP_COPIED, rql_map_bytes(map));
	/* A plan more finds all of it, and only what is another map's is sent. */
	assert_true(run_joined(snapshot, map, NULL) <= tables);
	assert_int_equal(map_bytes(other), 0);
	uploaded = run_joined(snapshot, other, NULL);
	assert_true(map_bytes(other) > 0 && uploaded <= sent_bytes(other, false) + tables);
	/* What a plan holds stays. */
	rql_placements_evict(gpu, UINT64_MAX, UINT64_MAX);
	assert_true(map_bytes(map) > 0 && map_bytes(other) == 0);
	rql_method_scan_compute.free(kept);
	assert_true(map_bytes(map) > 0);
	rql_placements_evict(gpu, UINT64_MAX, UINT64_MAX);
	assert_int_equal(map_bytes(map), 0);
	/* A device that failed is trusted with nothing that lay there. */
	(void)run_joined(snapshot, map, NULL);
	assert_true(map_bytes(map) > 0);
	rql_placements_forget(map, gpu);
	assert_int_equal(map_bytes(map), 0);
	(void)run_joined(snapshot, map, NULL);
	assert_int_equal(placed_bytes(NULL), placed_bytes(snapshot) + map_bytes(map));
	rql_map_free(map);
	rql_map_free(other);
	assert_int_equal(placed_bytes(NULL), placed_bytes(snapshot));
}

/* Keys that lie far apart, in a hash table of so many places. */
static double price_of_table(const struct rql_store_snapshot *snapshot, uint64_t places)
{
	const uint64_t count = places / 2;
	int64_t *keys = need(calloc(count, sizeof *keys));
	int32_t *payloads = need(calloc(count, sizeof *payloads));
	struct rql_map *map = NULL;
	struct rql_error err = {0};
	struct joined j;
	struct rql_cost cost;
	for (uint64_t i = 0; i < count; i++)
		keys[i] = (int64_t)(i << 40 >> 8);
	ok(rql_map_build(keys, payloads, count, &map, &err), &err);
	assert_int_equal(rql_scan_map_bytes(map, RQL_SCAN_MAP_TABLE), places * 16);
	struct rql_prepared *p = prepare_joined(&j, snapshot, map);
	rql_method_scan_compute.price(p, gpu, &cost);
	rql_method_scan_compute.free(p);
	rql_map_free(map);
	free(keys);
	free(payloads);
	return cost.run_ns;
}

/* A table beyond the device's cache has its look-ups in the price, each a random read; a smaller one has not. */
static void price_maps(const struct rql_store_snapshot *snapshot)
{
	const double small = price_of_table(snapshot, 1 << 16), larger = price_of_table(snapshot, 1 << 20);
	const double large = price_of_table(snapshot, 1 << 22), reads = (double)snapshot->rows * gpu->profile.sector_ns;
	assert_true(larger - small < 0.01 * reads);
	assert_true(large - small > 0.5 * reads && large - small <= reads);
}

/* Whichever allocation or submission fails, nothing half made is found, and the next run works. */
static void fail_map(const struct rql_store_snapshot *snapshot, unsigned shape, enum rql_fault_kind kind)
{
	struct rql_map *map = large_map(shape);
	bool struck = true;
	for (uint64_t nth = 1; struck; nth++) {
		struct joined j;
		struct rql_error err = {0};
		struct rql_port answer;
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_prepared *p = prepare_joined(&j, snapshot, map);
		rql_placements_evict(gpu, UINT64_MAX, UINT64_MAX);
		ok(rql_fault_set(gpu, kind, nth, &err), &err);
		rql_status status = rql_method_scan_compute.run(p, gpu, &(struct rql_run){.arena = arena}, &answer, &err);
		struck = rql_fault_struck(gpu);
		assert_true(struck == (status != RQL_OK));
		rql_fault_remove(gpu);
		rql_error_clear(&err);
		(void)run_and_compare(p, &j.request);
		assert_true(map_bytes(map) > 0);
		rql_method_scan_compute.free(p);
		rql_arena_free(arena);
	}
	rql_map_free(map);
}

/* Sent whole over a fast link; over a slow one as entries wherever these are fewer bytes. */
static void test_maps(void **state)
{
	(void)state;
	const double link = gpu->profile.upload_gbps;
	random_state = 11;
	struct rql_store *store = store_of(30000, 30);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	for (unsigned i = 0; i < 2 * SHAPES; i++) {
		gpu->profile.upload_gbps = i % 2 ? 1e-9 : 1e9;
		struct rql_map *map = large_map(i / 2);
		assert_int_equal(sent_bytes(map, false) < sent_bytes(map, true), i % 2);
		share_map(snapshot, i / 2);
		rql_map_free(map);
	}
	fail_map(snapshot, 1, RQL_FAULT_ALLOCATION);
	fail_map(snapshot, 3, RQL_FAULT_SUBMISSION);
	gpu->profile.upload_gbps = link;
	price_maps(snapshot);
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
}

/* ---- several holders of snapshots of different ages ---- */
#define HOLDERS 4u
struct holder {
	const struct rql_store_snapshot *snapshot;
	struct rql_prepared *prepared;
	struct ask ask;
};

static void let_go(struct holder *h)
{
	if (h->prepared)
		rql_method_scan_compute.free(h->prepared);
	rql_store_snapshot_release(h->snapshot);
	*h = (struct holder){0};
}

/* All that lies there belongs to a segment that somebody holds, and is counted once. */
static void check_total(struct rql_store *store, const struct holder *holders)
{
	const struct rql_store_snapshot *snapshots[HOLDERS + 1] = {rql_store_snapshot(store)};
	const void *seen[4096];
	uint32_t count = 0;
	uint64_t sum = 0;
	for (uint32_t h = 0; h < HOLDERS; h++)
		snapshots[h + 1] = holders[h].snapshot;
	for (uint32_t h = 0; h <= HOLDERS; h++)
		for (uint32_t s = 0; snapshots[h] && s < snapshots[h]->segment_count; s++) {
			const struct rql_store_segment *segment = &snapshots[h]->segments[s];
			const struct rql_store_snapshot one = {.segment_count = 1, .segments = segment, .column_count = COUNT};
			bool known = false;
			for (uint32_t i = 0; i < count && !known; i++)
				known = seen[i] == segment->identity;
			if (known)
				continue;
			assert_true(count < 4096);
			seen[count++] = segment->identity;
			sum += placed_bytes(&one);
		}
	rql_store_snapshot_release(snapshots[0]);
	assert_int_equal(sum, placed_bytes(NULL));
}

static void step(struct rql_store *store, struct holder *h)
{
	struct rql_error err = {0};
	uint64_t before = placed_bytes(NULL);
	switch (roll(8)) {
	case 0:
	case 1:
		append(store, (uint32_t)(1 + roll(roll(2) ? 50 : 9000)), 20 + (uint32_t)roll(200));
		break;
	case 2:
		if (roll(4) == 0)
			ok(rql_store_compact(store, &err), &err);
		break;
	case 3:
		let_go(h);
		break;
	case 4:
		assert_true(rql_placements_evict(gpu, roll(before + 1), UINT64_MAX) <= before);
		break;
	default:
		if (!h->snapshot)
			h->snapshot = rql_store_snapshot(store);
		if (!h->prepared) {
			ask_make(&h->ask, h->snapshot);
			h->prepared = prepare(&h->ask.request);
		}
		(void)run_and_compare(h->prepared, &h->ask.request);
		if (roll(2)) {
			rql_method_scan_compute.free(h->prepared);
			h->prepared = NULL;
		}
		break;
	}
}

static void test_snapshots(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= (SLOW ? 3 : 8); seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct rql_store *store = store_of((uint32_t)roll(30000), 20);
		struct holder holders[HOLDERS] = {0};
		for (unsigned i = 0; i < 60; i++) {
			step(store, &holders[roll(HOLDERS)]);
			check_total(store, holders);
		}
		for (uint32_t h = 0; h < HOLDERS; h++)
			let_go(&holders[h]);
		check_total(store, holders);
		rql_store_release(store);
		assert_int_equal(placed_bytes(NULL), 0);
		assert_int_equal(gpu->request_bytes, 0);
	}
}

/* ---- giving way ---- */
static void test_eviction(void **state)
{
	(void)state;
	random_state = 5;
	struct rql_store *stores[3];
	const struct rql_store_snapshot *snapshots[3];
	uint64_t bytes[3];
	for (uint32_t i = 0; i < 3; i++) {
		stores[i] = store_of(20000, 30);
		snapshots[i] = rql_store_snapshot(stores[i]);
		(void)run_once(snapshots[i]);
		bytes[i] = placed_bytes(snapshots[i]);
	}
	/* The one that has been idle longest, as much of it as is asked for. */
	assert_in_range(rql_placements_evict(gpu, 1, UINT64_MAX), 1, bytes[0] - 1);
	assert_true(placed_bytes(snapshots[0]) < bytes[0] && placed_bytes(snapshots[1]) == bytes[1]);
	/* Not what is in use, nor what was wanted since. */
	struct ask a;
	ask_make(&a, snapshots[0]);
	struct rql_prepared *p = prepare(&a.request);
	(void)run_and_compare(p, &a.request);
	uint64_t since = rql_now_ns();
	assert_true(rql_scan_is_placed(&snapshots[1]->segments[0], CITY, RQL_SCAN_PLANES, gpu));
	uint64_t freed = rql_placements_evict(gpu, UINT64_MAX, since);
	assert_int_equal(placed_bytes(snapshots[0]), bytes[0]);
	assert_true(placed_bytes(snapshots[1]) > 0 && placed_bytes(snapshots[2]) == 0);
	assert_int_equal(freed, bytes[1] + bytes[2] - placed_bytes(snapshots[1]));
	/* A device that has failed: the plan's own go with the plan, and meanwhile nobody else finds them. */
	for (uint32_t s = 0; s < snapshots[0]->segment_count; s++)
		rql_placements_forget(snapshots[0]->segments[s].identity, gpu);
	assert_int_equal(placed_bytes(snapshots[0]), 0);
	assert_true(placed_bytes(NULL) >= bytes[0]);
	assert_true(run_once(snapshots[0]) >= bytes[0]);
	(void)run_and_compare(p, &a.request);
	rql_method_scan_compute.free(p);
	assert_int_equal(placed_bytes(NULL), placed_bytes(snapshots[0]) + placed_bytes(snapshots[1]));
	/* A reference outlives its segment. */
	struct rql_scan_placed *placed = NULL;
	uint64_t uploaded = 0;
	struct rql_error err = {0};
	ok(rql_scan_place(snapshots[2], &snapshots[2]->segments[0], AMOUNT, RQL_SCAN_FIELDS, gpu, &uploaded, &placed, &err),
	   &err);
	for (uint32_t i = 0; i < 3; i++) {
		rql_store_snapshot_release(snapshots[i]);
		rql_store_release(stores[i]);
	}
	assert_int_equal(placed_bytes(NULL), uploaded);
	assert_true(uploaded > 0 && placed->buffer->bytes == uploaded);
	rql_scan_placed_release(placed);
	assert_int_equal(placed_bytes(NULL), 0);
}

/* Whichever allocation or submission fails, what was uploaded before is kept, nothing else is, and the next run works. */
static void test_failures(void **state)
{
	static const enum rql_fault_kind kinds[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION};
	(void)state;
	random_state = 6;
	struct rql_store *store = store_of(9000, 30);
	append(store, 100, 60);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	for (unsigned kind = 0; kind < 2; kind++) {
		bool struck = true;
		for (uint64_t nth = 1; struck; nth++) {
			struct ask a;
			struct rql_error err = {0};
			struct rql_port answer;
			struct rql_arena *arena = need(rql_arena_new());
			ask_make(&a, snapshot);
			struct rql_prepared *p = prepare(&a.request);
			rql_placements_evict(gpu, UINT64_MAX, UINT64_MAX);
			assert_int_equal(placed_bytes(NULL), 0);
			ok(rql_fault_set(gpu, kinds[kind], nth, &err), &err);
			rql_status status = rql_method_scan_compute.run(p, gpu, &(struct rql_run){.arena = arena}, &answer, &err);
			struck = rql_fault_struck(gpu);
			assert_true(struck == (status != RQL_OK));
			rql_fault_remove(gpu);
			rql_error_clear(&err);
			(void)run_and_compare(p, &a.request);
			rql_method_scan_compute.free(p);
			assert_int_equal(placed_bytes(NULL), placed_bytes(snapshot));
			rql_arena_free(arena);
		}
	}
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	assert_int_equal(placed_bytes(NULL), 0);
}

/* ---- many threads, one segment ---- */
struct placer {
	const struct rql_store_snapshot *snapshot;
	uint64_t uploaded;
	bool ok;
};
static void *place_all(void *state)
{
	struct placer *w = state;
	w->ok = true;
	for (unsigned i = 0; i < 20; i++)
		for (uint32_t s = 0; s < w->snapshot->segment_count; s++)
			for (uint32_t c = 0; c < COUNT; c++) {
				struct rql_scan_placed *placed = NULL;
				w->ok &= rql_scan_place(w->snapshot, &w->snapshot->segments[s], c, RQL_SCAN_FIELDS, gpu, &w->uploaded,
				                        &placed, NULL) == RQL_OK;
				rql_scan_placed_release(placed);
			}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	random_state = 7;
	struct rql_store *store = store_of(50000, 30);
	append(store, 5000, 60);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	struct placer placers[4];
	pthread_t threads[4];
	uint64_t uploaded = 0;
	for (unsigned i = 0; i < 4; i++) {
		placers[i] = (struct placer){.snapshot = snapshot};
		assert_int_equal(pthread_create(&threads[i], NULL, place_all, &placers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(placers[i].ok);
		uploaded += placers[i].uploaded;
	}
	assert_int_equal(uploaded, placed_bytes(NULL)); /* each once */
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	assert_int_equal(placed_bytes(NULL), 0);
}

/* Everything was given back; and the last store outlives the devices. */
static int close_outlived(void **state)
{
	uint64_t left = placed_bytes(NULL) + gpu->request_bytes;
	struct rql_store *store = store_of(5000, 30);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	(void)run_once(snapshot);
	bool placed = placed_bytes(NULL) > 0;
	rql_devices_close(devices);
	uint64_t errors = rql_vulkan_validation_errors(), later = placed_bytes(NULL); /* gpu is but a key here */
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	return close_pools(state) || errors || left || !placed || later ? -1 : 0;
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appends),  cmocka_unit_test(test_snapshots), cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_threads),   cmocka_unit_test(test_maps),
	};
	return cmocka_run_group_tests_name("unit.scan_placed", tests, open_some, close_outlived);
}
