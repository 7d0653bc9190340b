/* The forms of an index's maps (method/index/forms/index_map.h) beside a search of all pairs: random keys of many widths, with
 * duplicates, crowded, all equal, the extremes of 64 bits, none; points, misses and ranges. test_index_map [MAPS [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/fault/fault.h"
#include "method/index/compute/index_compute.h"
#include "method/index/forms/index_map.h"
#include "vulkan_fixture.h"

static unsigned maps = 400;
static uint64_t seed = 20261124;

static uint64_t next_random(void)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t roll(uint64_t n)
{
	return next_random() % n;
}

struct world {
	uint32_t count;
	struct rql_index_pair *pairs; /* in any order, as they were given */
	struct rql_index_map map;
};

/* Keys below 2^bits, of which most may crowd at the low end; rows as they come, or any. */
static struct world make_world(enum rql_index_form form, uint32_t count, unsigned bits, bool crowded,
                               struct rql_budget *budget)
{
	struct world w = {.count = count};
	struct rql_index_pair *given = calloc(count + 1, sizeof(*given)), *spare = calloc(count + 1, sizeof(*spare));
	w.pairs = calloc(count + 1, sizeof(*w.pairs));
	assert_true(given && spare && w.pairs);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t key = bits ? next_random() >> (64 - bits) : 0;
		given[i] = (struct rql_index_pair){crowded && roll(8) ? key % 16 : key, 2 * i + 1};
	}
	if (count > 2 && bits == 64) { /* both ends */
		given[roll(count)].key = 0;
		given[roll(count)].key = UINT64_MAX;
	}
	memcpy(w.pairs, given, count * sizeof(*given));
	assert_int_equal(rql_index_map_make(form, given, spare, count, NULL, budget, &w.map, NULL), RQL_OK);
	free(given);
	free(spare);
	return w;
}

static void free_world(struct world *w)
{
	rql_index_map_clear(&w->map);
	free(w->pairs);
}

static void check(const struct world *w, uint64_t least, uint64_t greatest)
{
	const uint32_t *rows = NULL;
	uint32_t found = rql_index_map_find(&w->map, least, greatest, &rows), want = 0, taken = 0;
	bool *seen = calloc(2 * (size_t)w->count + 2, sizeof(*seen));
	assert_non_null(seen);
	for (uint32_t i = 0; i < w->count; i++)
		want += least <= w->pairs[i].key && w->pairs[i].key <= greatest;
	assert_int_equal(found, want);
	for (uint32_t i = 0; i < found; i++) {
		const uint32_t pair = rows[i] / 2;
		assert_true(rows[i] % 2 == 1 && pair < w->count && !seen[pair]);
		assert_in_range(w->pairs[pair].key, least, greatest);
		/* Of one key they ascend. */
		if (i && w->pairs[rows[i - 1] / 2].key == w->pairs[pair].key)
			assert_true(rows[i - 1] < rows[i]);
		seen[pair] = true;
		taken++;
	}
	assert_int_equal(taken, want);
	free(seen);
}

static void look_up(const struct world *w)
{
	const bool ranges = w->map.form != RQL_INDEX_HASH;
	check(w, 0, 0);
	check(w, UINT64_MAX, UINT64_MAX);
	if (ranges)
		check(w, 0, UINT64_MAX);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t key = w->count && roll(4) ? w->pairs[roll(w->count)].key : next_random() >> roll(64);
		check(w, key, key);
		check(w, key + 1, key + 1);
		if (!ranges)
			continue;
		uint64_t other = w->count && roll(2) ? w->pairs[roll(w->count)].key : key + roll(1000);
		check(w, key, other); /* nothing, where the ends are the wrong way round */
	}
}

static const enum rql_index_form forms[] = {RQL_INDEX_SORTED, RQL_INDEX_HASH, RQL_INDEX_DIRECT, RQL_INDEX_BTREE};
#define FORMS (sizeof forms / sizeof *forms)

static void random_maps(void **state)
{
	static const unsigned widths[] = {0, 1, 3, 8, 16, 31, 32, 33, 48, 63, 64};
	static const uint32_t counts[] = {0, 1, 2, 7, 8, 9, 100, 1000, 5000};
	struct rql_budget budget = {0};
	(void)state;
	for (unsigned m = 0; m < maps; m++) {
		const enum rql_index_form form = forms[m % FORMS];
		const uint32_t most = form == RQL_INDEX_DIRECT ? 5 : sizeof widths / sizeof *widths;
		struct world w = make_world(form, counts[roll(sizeof counts / sizeof *counts)], widths[roll(most)],
		                            roll(3) == 0, &budget);
		assert_true(atomic_load(&budget.used) > 0);
		look_up(&w);
		free_world(&w);
		assert_int_equal(atomic_load(&budget.used), 0);
	}
}

/* What a key takes at most, where no two are equal: the promise of the forms. */
static void bytes_of_a_key(void **state)
{
	(void)state;
	static const struct {
		enum rql_index_form form;
		double narrow, wide;
	} most[] = {{RQL_INDEX_SORTED, 9, 13}, {RQL_INDEX_HASH, 11, 16.1}, {RQL_INDEX_BTREE, 8.5, 13.2}};
	for (unsigned form = 0; form < sizeof most / sizeof *most; form++) {
		for (unsigned bits = 32; bits <= 64; bits += 32) {
			struct world w = make_world(most[form].form, 200000, bits, false, NULL);
			double each = (double)w.map.mem.held / w.count;
			assert_true(each < (bits == 32 ? most[form].narrow : most[form].wide));
			free_world(&w);
		}
	}
}

/* Keys 0 to count - 1 in any order: each once, then one of them twice and another not at all. */
static void dense_keys(void **state)
{
	enum { COUNT = 4999 };
	static struct rql_index_pair pairs[COUNT];
	(void)state;
	for (unsigned twice = 0; twice < 2; twice++) {
		struct world w = {.count = COUNT, .pairs = pairs};
		for (uint32_t i = 0; i < COUNT; i++)
			pairs[i] = (struct rql_index_pair){(uint64_t)i * 7919 % COUNT, 2 * i + 1};
		pairs[777].key = twice ? pairs[42].key : pairs[777].key;
		assert_int_equal(rql_index_map_make(RQL_INDEX_DIRECT, pairs, NULL, COUNT, NULL, NULL, &w.map, NULL), RQL_OK);
		look_up(&w);
		check(&w, COUNT - 2, COUNT);
		const double each = (double)w.map.mem.held / COUNT;
		assert_true(twice ? each < 8.1 : each < 4.1);
		rql_index_map_clear(&w.map);
	}
}

/* Without room nothing is left behind. */
static void no_room(void **state)
{
	enum { COUNT = 1000 };
	static struct rql_index_pair pairs[COUNT], spare[COUNT];
	(void)state;
	for (uint64_t limit = 1; limit < 20000; limit += 997) {
		for (unsigned form = 0; form < FORMS; form++) {
			struct rql_budget budget = {.limit = limit};
			struct rql_index_map map;
			struct rql_error err = {0};
			for (uint32_t i = 0; i < COUNT; i++)
				pairs[i] = (struct rql_index_pair){next_random() >> (forms[form] == RQL_INDEX_DIRECT ? 53 : 0), i};
			rql_status status = rql_index_map_make(forms[form], pairs, spare, COUNT, NULL, &budget, &map, &err);
			assert_true(status == RQL_OK || status == RQL_ERROR_LIMIT);
			assert_true(status == RQL_OK || limit < 17000);
			if (status == RQL_OK)
				rql_index_map_clear(&map);
			rql_error_clear(&err);
			assert_int_equal(atomic_load(&budget.used), 0);
		}
	}
}

/* On the threads of a pool: in order, of equal keys as they came, each pair once. */
static void sorted_by_threads(void **state)
{
	enum { COUNT = 150000 };
	static const unsigned widths[] = {64, 31, 6, 0};
	struct rql_index_pair *pairs = calloc(COUNT, sizeof(*pairs)), *spare = calloc(COUNT, sizeof(*spare));
	struct rql_pool *pool = NULL;
	(void)state;
	assert_true(pairs && spare && rql_pool_new(3, &pool, NULL) == RQL_OK);
	for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
		uint64_t greatest = 0, keys[2] = {0};
		uint32_t wrong = 0;
		for (uint32_t i = 0; i < COUNT; i++) { /* an eighth anywhere, the others crowded */
			const uint64_t key = widths[w] ? next_random() >> (64 - widths[w]) : 0;
			pairs[i] = (struct rql_index_pair){roll(8) ? key % 5000 : key, i};
			greatest = pairs[i].key > greatest ? pairs[i].key : greatest;
			keys[0] += (pairs[i].key + 1) * (i + UINT64_C(7919));
		}
		const struct rql_index_pair *sorted = rql_index_pairs_sort(pairs, spare, COUNT - w, greatest, pool);
		for (uint32_t i = 0; i < COUNT - w; i++) {
			keys[1] += (sorted[i].key + 1) * (sorted[i].row + UINT64_C(7919));
			wrong += i && (sorted[i - 1].key > sorted[i].key ||
			               (sorted[i - 1].key == sorted[i].key && sorted[i - 1].row >= sorted[i].row));
		}
		for (uint32_t i = COUNT - w; i < COUNT; i++) /* was not to be sorted */
			keys[1] += (pairs[i].key + 1) * (pairs[i].row + UINT64_C(7919));
		assert_int_equal(wrong, 0);
		assert_true(keys[0] == keys[1]);
	}
	rql_pool_free(pool);
	free(pairs);
	free(spare);
}

/* What a random read takes is measured, and a device that fails keeps what it had. */
static void random_reads(void **state)
{
	struct rql_devices *devices = NULL;
	struct rql_error err = {0};
	(void)state;
	vulkan_keep_drivers();
	assert_int_equal(rql_devices_open(1, &devices, NULL), RQL_OK);
	struct rql_device *gpu = rql_devices_get(devices, "vulkan:0");
	if (!gpu || !gpu->units[RQL_UNIT_COMPUTE]) {
		rql_devices_close(devices);
		skip();
	}
	gpu->profile.sector_ns = 12345;
	assert_int_equal(rql_fault_set(gpu, RQL_FAULT_ALLOCATION, 3, &err), RQL_OK);
	assert_int_equal(rql_index_calibrate(gpu, false, &err), RQL_ERROR_LIMIT);
	assert_true(gpu->profile.sector_ns == 12345);
	rql_fault_remove(gpu);
	rql_error_clear(&err);
	assert_int_equal(rql_index_calibrate(gpu, false, &err), RQL_OK);
	assert_true(gpu->profile.sector_ns >= 1e-3 && gpu->profile.sector_ns <= 1e4);
	rql_devices_close(devices);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		maps = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	const struct CMUnitTest by_threads[] = {cmocka_unit_test(sorted_by_threads)};
	const struct CMUnitTest by_one[] = {
		cmocka_unit_test(random_maps), cmocka_unit_test(bytes_of_a_key), cmocka_unit_test(dense_keys),
		cmocka_unit_test(no_room),     cmocka_unit_test(random_reads),
	};
	int failed = cmocka_run_group_tests(by_threads, NULL, NULL);
#ifdef __SANITIZE_THREAD__
	(void)by_one;
#else
	failed += cmocka_run_group_tests(by_one, NULL, NULL);
#endif
	return failed;
}
