/* Look-ups of points and ranges in maps of every form against loops over all keys: duplicates, misses, both ends of 32
 * and 64 bits, empty sides, one key, bounds that are none; probes as they come and in partitions. */
#include "selftest/lookup/selftest_keys.h"

#include <string.h>

#include "primitive/lookup/lookup.h"

/* NONE: nor bounds; WHOLE: one entry; DIRECT: of the first half of the bounds at most, by shift 0. */
enum directory { CHOSEN, NONE, WHOLE, DIRECT };

struct lookup_check {
	enum rql_key_pattern pattern;
	enum directory directory;
	uint32_t key_bits;
	uint64_t keys, probes, absent; /* absent: probes that are allocated, but not there */
};

/* How a check is run. */
struct lookup_way {
	enum rql_lookup_form form;
	bool ranges, only_rows; /* only_rows: the kernels' short way */
	uint32_t order;         /* as in rql_lookup */
	bool pairs;             /* sorted keys of 32 bits lie with their rows */
	enum rql_lookup_search search;
	uint32_t node_bytes; /* of a k-ary tree */
};

struct lookup_arrays {
	uint64_t *keys, *points, *ends;
	int32_t *values;
	uint32_t *rows, *counts, *rows_out, *counts_out;
	uint64_t *sums, *sums_out;
};

/* The answer to probe i; ends is NULL: to its point. */
static void want(const struct lookup_check *k, struct lookup_arrays *a, uint64_t i, const uint64_t *ends)
{
	uint64_t low = a->points[i], high = ends ? ends[i] : low, least = 0;
	a->rows[i] = RQL_LOOKUP_NO_ROW;
	a->counts[i] = 0;
	a->sums[i] = 0;
	for (uint64_t row = 0; row < k->keys; row++) {
		uint64_t key = a->keys[row];
		if (key < low || key > high)
			continue;
		if (!a->counts[i] || key < least) {
			a->rows[i] = (uint32_t)row;
			least = key;
		}
		a->counts[i]++;
		a->sums[i] += (uint64_t)(int64_t)a->values[row];
	}
}

static rql_status alloc_arrays(struct rql_selftest *t, const struct lookup_check *k, struct lookup_arrays *a,
                               struct rql_error *err)
{
	uint64_t probes = k->probes + k->absent;
	uint64_t **wide[] = {&a->points, &a->ends, &a->sums, &a->sums_out};
	uint32_t **narrow[] = {&a->rows, &a->counts, &a->rows_out, &a->counts_out};
	RQL_TRY(rql_selftest_alloc(t, k->keys, 8, &a->keys, err));
	RQL_TRY(rql_selftest_alloc(t, k->keys, 4, &a->values, err));
	for (uint32_t i = 0; i < 4; i++) {
		RQL_TRY(rql_selftest_alloc(t, probes, 8, wide[i], err));
		RQL_TRY(rql_selftest_alloc(t, probes, 4, narrow[i], err));
	}
	const struct rql_drawn_keys drawn = {.pattern = k->pattern,
	                                     .bits = k->key_bits,
	                                     .greatest = k->key_bits == 64 ? UINT64_MAX : UINT32_MAX,
	                                     .count = k->keys,
	                                     .keys = a->keys};
	for (uint64_t i = 0; i < k->keys; i++) {
		a->keys[i] = rql_drawn_key(t, &drawn);
		a->values[i] = (int32_t)rql_selftest_random(t);
	}
	for (uint64_t i = 0; i < probes; i++)
		rql_drawn_probe(t, &drawn, i, &a->points[i], &a->ends[i]);
	return RQL_OK;
}

static void choose_directory(const struct lookup_check *k, const struct lookup_arrays *a, struct rql_lookup_map *map)
{
	map->low = k->keys ? UINT64_MAX : 0;
	for (uint64_t i = 0; i < k->keys; i++) {
		map->low = a->keys[i] < map->low ? a->keys[i] : map->low;
		map->high = a->keys[i] > map->high ? a->keys[i] : map->high;
	}
	if (k->directory == DIRECT) {
		uint64_t half = (map->high - map->low) / 2;
		map->high = map->low + (half < 5000 ? half : 5000);
	}
	map->shift = 0;
	if (map->form != RQL_LOOKUP_BTREE && k->directory == CHOSEN)
		map->shift = rql_lookup_choose_shift(k->keys, map->low, map->high);
	if (k->directory == WHOLE)
		map->shift = 63;
	if (k->directory == NONE)
		map->high = map->low;
}

static bool is_ordered(enum rql_lookup_form form)
{
	return form == RQL_LOOKUP_SORTED || form == RQL_LOOKUP_BTREE;
}

/* Slots without counts where only rows are asked for. */
static rql_status make_table(struct rql_selftest *t, const struct lookup_way *way, struct rql_lookup_build *build,
                             struct rql_error *err)
{
	struct rql_lookup_map *map = &build->map;
	map->shift = 0;
	if (!rql_lookup_choose_parts(map))
		return rql_selftest_wrong(err, "a hashed map has no room for %llu keys", (unsigned long long)map->count);
	uint64_t slots = rql_lookup_slots(map);
	RQL_TRY(rql_selftest_buffer(t, slots * rql_lookup_slot_bytes(map), NULL, "slots of a map", &map->slots.buffer,
	                            err));
	if (!way->only_rows)
		RQL_TRY(rql_selftest_buffer(t, slots * 4, NULL, "counts of a map", &map->counts.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, 8, NULL, "failed rows of a map", &map->failed.buffer, err));
	return rql_selftest_buffer(t, rql_lookup_build_temp_bytes(build), NULL, "temp of a map", &build->temp.buffer, err);
}

static rql_status make_kary(struct rql_selftest *t, struct rql_lookup_build *build, struct rql_error *err)
{
	struct rql_lookup_map *map = &build->map;
	const uint64_t bytes = rql_lookup_kary_keys(map) * map->key_bits / 8;
	map->shift = 0;
	RQL_TRY(rql_selftest_buffer(t, bytes, NULL, "nodes of a map", &map->keys.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, map->count * 4, NULL, "rows of a map", &map->rows.buffer, err));
	return rql_selftest_buffer(t, rql_lookup_build_temp_bytes(build), NULL, "temp of a map", &build->temp.buffer, err);
}

static rql_status make_map(struct rql_selftest *t, const struct lookup_check *k, const struct lookup_arrays *a,
                           const struct lookup_way *way, struct rql_lookup_build *build, struct rql_error *err)
{
	struct rql_lookup_map *map = &build->map;
	*build = (struct rql_lookup_build){.map = {.form = way->form, .key_bits = k->key_bits, .count = k->keys,
	                                           .search = way->search, .node_bytes = way->node_bytes},
	                                   .value_bits = 32, .value_signed = true};
	choose_directory(k, a, map);
	RQL_TRY(rql_drawn_buffer(t, k->key_bits, a->keys, k->keys, &build->keys, err));
	if (map->form == RQL_LOOKUP_KARY)
		return make_kary(t, build, err);
	if (!is_ordered(map->form))
		return make_table(t, way, build, err);
	RQL_TRY(rql_selftest_buffer(t, k->keys * 4, a->values, "values of a map", &build->values.buffer, err));
	const bool tree = map->form == RQL_LOOKUP_BTREE, pairs = way->pairs && k->key_bits == 32 && !tree;
	const uint32_t key_bytes = pairs ? 8 : k->key_bits / 8;
	const uint64_t keys = tree ? rql_lookup_tree_keys(map) : k->keys;
	RQL_TRY(rql_selftest_buffer(t, keys * key_bytes, NULL, "keys of a map", &map->keys.buffer, err));
	if (!pairs)
		RQL_TRY(rql_selftest_buffer(t, k->keys * 4, NULL, "rows of a map", &map->rows.buffer, err));
	if (tree)
		RQL_TRY(rql_selftest_buffer(t, rql_lookup_tree_lines(map) * 64, NULL, "nodes of a map", &map->nodes.buffer, err));
	else
		RQL_TRY(rql_selftest_buffer(t, rql_lookup_starts(map) * 4, NULL, "directory of a map", &map->starts.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, (k->keys + 1) * 8, NULL, "sums of a map", &map->sums.buffer, err));
	return rql_selftest_buffer(t, rql_lookup_build_temp_bytes(build), NULL, "temp of a map", &build->temp.buffer, err);
}

/* Map and look-up in one recording. */
static rql_status run(struct rql_selftest *t, const struct lookup_check *k, struct lookup_arrays *a,
                      const struct lookup_way *way, uint64_t *failed, struct rql_error *err)
{
	struct rql_lookup_build build;
	struct rql_lookup_batch lookup = {.count = k->probes + k->absent, .order = way->order};
	struct rql_commands *c;
	RQL_TRY(make_map(t, k, a, way, &build, err));
	lookup.map = build.map;
	RQL_TRY(rql_drawn_buffer(t, k->key_bits, a->points, lookup.count, &lookup.points, err));
	if (way->ranges)
		RQL_TRY(rql_drawn_buffer(t, k->key_bits, a->ends, lookup.count, &lookup.ends, err));
	if (k->absent)
		RQL_TRY(rql_selftest_buffer(t, 8, &k->probes, "number of probes", &lookup.found.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, lookup.count * 4, a->rows_out, "rows found", &lookup.rows.buffer, err));
	if (!way->only_rows)
		RQL_TRY(rql_selftest_buffer(t, lookup.count * 4, a->counts_out, "rows counted", &lookup.counts.buffer, err));
	if (!way->only_rows && is_ordered(way->form))
		RQL_TRY(rql_selftest_buffer(t, lookup.count * 8, a->sums_out, "values summed", &lookup.sums.buffer, err));
	if (rql_lookup_temp_bytes(&lookup))
		RQL_TRY(rql_selftest_buffer(t, rql_lookup_temp_bytes(&lookup), NULL, "temp of a look-up", &lookup.temp.buffer,
		                            err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_lookup_build(c, &build, err));
	RQL_TRY(rql_record_lookup(c, &lookup, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(lookup.rows.buffer, 0, a->rows_out, lookup.count * 4, err));
	*failed = 0;
	if (build.map.failed.buffer)
		RQL_TRY(rql_buffer_download(build.map.failed.buffer, 0, failed, 8, err));
	if (lookup.counts.buffer)
		RQL_TRY(rql_buffer_download(lookup.counts.buffer, 0, a->counts_out, lookup.count * 4, err));
	if (lookup.sums.buffer)
		RQL_TRY(rql_buffer_download(lookup.sums.buffer, 0, a->sums_out, lookup.count * 8, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static rql_status check_once(struct rql_selftest *t, const struct lookup_check *k, struct lookup_arrays *a,
                             const struct lookup_way *way, struct rql_error *err)
{
	uint64_t probes = k->probes + k->absent, failed;
	/* Nothing is written for probes that are not there. */
	memset(a->rows_out, 0x5a, probes * 4);
	memset(a->counts_out, 0x5a, probes * 4);
	memset(a->sums_out, 0x5a, probes * 8);
	memset(a->rows + k->probes, 0x5a, k->absent * 4);
	memset(a->counts + k->probes, 0x5a, k->absent * 4);
	memset(a->sums + k->probes, 0x5a, k->absent * 8);
	RQL_TRY(run(t, k, a, way, &failed, err));
	if (failed)
		return rql_selftest_wrong(err, "%llu rows found no place in a map", (unsigned long long)failed);
	RQL_TRY(rql_selftest_same(a->rows_out, a->rows, probes, 4, "rows found by a look-up", err));
	if (way->only_rows)
		return RQL_OK;
	RQL_TRY(rql_selftest_same(a->counts_out, a->counts, probes, 4, "rows counted by a look-up", err));
	if (!is_ordered(way->form))
		return RQL_OK;
	return rql_selftest_same(a->sums_out, a->sums, probes, 8, "sums of a look-up", err);
}

/* The last ones: several tiles of probes, also such that are not there, and all of one part. */
static const struct lookup_check checks[] = {
	{RQL_KEYS_SPARSE, CHOSEN, 32, 0, 50, 0}, {RQL_KEYS_SPARSE, CHOSEN, 64, 1, 50, 0},
	{RQL_KEYS_SPARSE, CHOSEN, 32, 5003, 2000, 0}, {RQL_KEYS_SPARSE, CHOSEN, 64, 3001, 2000, 9},
	{RQL_KEYS_SPARSE, NONE, 64, 1000, 700, 0}, {RQL_KEYS_SPARSE, DIRECT, 32, 700, 700, 0},
	{RQL_KEYS_DENSE, CHOSEN, 32, 3000, 1500, 0}, {RQL_KEYS_DENSE, CHOSEN, 64, 3000, 1500, 0},
	{RQL_KEYS_DENSE, DIRECT, 32, 3000, 1500, 300}, {RQL_KEYS_DUPLICATES, CHOSEN, 32, 2000, 900, 0},
	{RQL_KEYS_DUPLICATES, DIRECT, 64, 2000, 900, 0}, {RQL_KEYS_ENDS, CHOSEN, 32, 300, 200, 0},
	{RQL_KEYS_ENDS, CHOSEN, 64, 300, 200, 0}, {RQL_KEYS_EQUAL, CHOSEN, 32, 1000, 100, 0},
	{RQL_KEYS_SPARSE, CHOSEN, 32, 100, 0, 0}, {RQL_KEYS_SPARSE, CHOSEN, 32, 100, 150000, 70000},
	{RQL_KEYS_DUPLICATES, CHOSEN, 64, 60, 20011, 0}, {RQL_KEYS_EQUAL, CHOSEN, 32, 9, 40000, 0},
};

/* The sizes of tables: more keys, of which some are many times there, and few probes. */
static const struct lookup_check table_checks[] = {
	{RQL_KEYS_SPARSE, CHOSEN, 32, 0, 50, 0}, {RQL_KEYS_SPARSE, CHOSEN, 64, 1, 50, 0},
	{RQL_KEYS_SPARSE, CHOSEN, 32, 7001, 400, 5}, {RQL_KEYS_SPARSE, CHOSEN, 64, 5003, 400, 0},
	{RQL_KEYS_DENSE, CHOSEN, 32, 3000, 900, 0}, {RQL_KEYS_DENSE, CHOSEN, 64, 3000, 900, 7},
	{RQL_KEYS_EQUAL, CHOSEN, 32, 17003, 60, 0}, {RQL_KEYS_EQUAL, CHOSEN, 64, 17003, 60, 0},
	{RQL_KEYS_DUPLICATES, CHOSEN, 64, 25013, 100, 0}, {RQL_KEYS_ENDS, CHOSEN, 32, 20011, 60, 0},
	{RQL_KEYS_ENDS, CHOSEN, 64, 20011, 60, 0}, {RQL_KEYS_DUPLICATES, CHOSEN, 32, 25013, 100, 0},
	{RQL_KEYS_SPARSE, CHOSEN, 64, 100, 0, 0}, {RQL_KEYS_SPARSE, CHOSEN, 32, 100, 150000, 70000},
	{RQL_KEYS_DENSE, CHOSEN, 64, 60, 20011, 0}, {RQL_KEYS_EQUAL, CHOSEN, 32, 9, 40000, 0},
};

static bool fits(const struct lookup_check *k, enum rql_lookup_form form)
{
	return form != RQL_LOOKUP_DIRECT || k->pattern == RQL_KEYS_DENSE || k->pattern == RQL_KEYS_EQUAL || k->keys < 2;
}

/* Ways that all have ranges, or points. */
static rql_status check_these(struct rql_selftest *t, const struct lookup_check *k, const struct lookup_way *ways,
                              uint32_t count, struct rql_error *err)
{
	struct lookup_arrays a;
	RQL_TRY(alloc_arrays(t, k, &a, err));
	for (uint64_t i = 0; i < k->probes; i++)
		want(k, &a, i, ways[0].ranges ? a.ends : NULL);
	for (uint32_t i = 0; i < count; i++)
		RQL_TRY(check_once(t, k, &a, &ways[i], err));
	return RQL_OK;
}

/* All answers, then rows alone, with the probes as they come and in partitions. */
static rql_status check_ways(struct rql_selftest *t, const struct lookup_check *k, enum rql_lookup_form form,
                             bool ranges, struct rql_error *err)
{
	const struct lookup_way ways[] = {{.form = form, .ranges = ranges, .order = 1},
	                                  {.form = form, .ranges = ranges, .only_rows = true, .order = 0, .pairs = true},
	                                  {.form = form, .ranges = ranges, .order = 4, .pairs = true},
	                                  {.form = form, .ranges = ranges, .only_rows = true, .order = 9}};
	return fits(k, form) ? check_these(t, k, ways, sizeof(ways) / sizeof(ways[0]), err) : RQL_OK;
}

static rql_status check_sorted(struct rql_selftest *t, bool ranges, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		RQL_TRY(check_ways(t, &checks[i], RQL_LOOKUP_SORTED, ranges, err));
	return RQL_OK;
}

/* One node, one level above, two and three of them; keys that are all ones beside what fills up nodes. */
static rql_status test_tree(struct rql_selftest *t, struct rql_error *err)
{
	static const struct lookup_check trees[] = {
		{RQL_KEYS_SPARSE, CHOSEN, 32, 0, 50, 0},      {RQL_KEYS_SPARSE, CHOSEN, 64, 1, 50, 0},
		{RQL_KEYS_SPARSE, CHOSEN, 32, 5003, 1500, 0}, {RQL_KEYS_SPARSE, CHOSEN, 64, 3001, 1500, 9},
		{RQL_KEYS_DENSE, CHOSEN, 32, 272, 400, 0},    {RQL_KEYS_DUPLICATES, CHOSEN, 64, 648, 400, 0},
		{RQL_KEYS_ENDS, CHOSEN, 32, 300, 200, 0},     {RQL_KEYS_ENDS, CHOSEN, 64, 81, 200, 0},
		{RQL_KEYS_EQUAL, CHOSEN, 32, 1000, 100, 0},
	};
	for (uint32_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		for (unsigned ranges = 0; ranges < 2; ranges++)
			RQL_TRY(check_ways(t, &trees[i], RQL_LOOKUP_BTREE, ranges, err));
	return RQL_OK;
}

/* Keys that are evenly spread, and such that are not at all; with no bounds to guess by; by a directory, too. */
static rql_status test_interpolation(struct rql_selftest *t, struct rql_error *err)
{
	static const struct lookup_check guessed[] = {
		{RQL_KEYS_SPARSE, NONE, 32, 0, 50, 0},       {RQL_KEYS_SPARSE, NONE, 64, 1, 50, 0},
		{RQL_KEYS_SPARSE, WHOLE, 32, 5003, 1500, 0}, {RQL_KEYS_SPARSE, WHOLE, 64, 3001, 1500, 9},
		{RQL_KEYS_SPARSE, NONE, 64, 1000, 700, 0},   {RQL_KEYS_DENSE, WHOLE, 32, 3000, 900, 0},
		{RQL_KEYS_DUPLICATES, WHOLE, 64, 2000, 900, 0}, {RQL_KEYS_ENDS, WHOLE, 32, 300, 200, 0},
		{RQL_KEYS_ENDS, WHOLE, 64, 300, 200, 0},     {RQL_KEYS_EQUAL, WHOLE, 32, 1000, 100, 0},
		{RQL_KEYS_DUPLICATES, CHOSEN, 32, 2000, 900, 0},
	};
	for (uint32_t i = 0; i < sizeof(guessed) / sizeof(guessed[0]); i++)
		for (unsigned ranges = 0; ranges < 2; ranges++) {
			const struct lookup_way all = {.form = RQL_LOOKUP_SORTED, .ranges = ranges, .order = 1,
			                               .search = RQL_LOOKUP_INTERPOLATION};
			struct lookup_way rows = all;
			rows.only_rows = rows.pairs = true;
			rows.order = 4;
			const struct lookup_way ways[] = {all, rows};
			RQL_TRY(check_these(t, &guessed[i], ways, 2, err));
		}
	return RQL_OK;
}

/* One node, and a lowest level with one node more, with all, with some; keys that are all ones. */
static rql_status test_kary(struct rql_selftest *t, struct rql_error *err)
{
	static const struct lookup_check trees[] = {
		{RQL_KEYS_SPARSE, CHOSEN, 32, 0, 50, 0},      {RQL_KEYS_SPARSE, CHOSEN, 64, 1, 50, 0},
		{RQL_KEYS_DENSE, CHOSEN, 32, 8, 40, 0},       {RQL_KEYS_DENSE, CHOSEN, 64, 5, 40, 0},
		{RQL_KEYS_DENSE, CHOSEN, 32, 80, 200, 0},     {RQL_KEYS_DENSE, CHOSEN, 32, 81, 200, 0},
		{RQL_KEYS_SPARSE, CHOSEN, 32, 5003, 1500, 0}, {RQL_KEYS_SPARSE, CHOSEN, 64, 3001, 1500, 9},
		{RQL_KEYS_DUPLICATES, CHOSEN, 64, 624, 900, 0}, {RQL_KEYS_DUPLICATES, CHOSEN, 32, 2000, 900, 0},
		{RQL_KEYS_ENDS, CHOSEN, 32, 300, 200, 0},     {RQL_KEYS_ENDS, CHOSEN, 64, 81, 200, 0},
		{RQL_KEYS_EQUAL, CHOSEN, 32, 1000, 100, 0},
	};
	static const struct lookup_way ways[] = {{.form = RQL_LOOKUP_KARY, .only_rows = true, .order = 1},
	                                         {.form = RQL_LOOKUP_KARY, .only_rows = true, .order = 4, .node_bytes = 64}};
	for (uint32_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		RQL_TRY(check_these(t, &trees[i], ways, 2, err));
	return RQL_OK;
}

/* Numbers of parts that the other checks do not have. */
static rql_status check_parts(struct rql_selftest *t, struct rql_error *err)
{
	static const struct lookup_check k = {RQL_KEYS_SPARSE, CHOSEN, 32, 300, 20011, 0};
	static const uint32_t bits[] = {1, 6, 7};
	struct lookup_arrays a;
	RQL_TRY(alloc_arrays(t, &k, &a, err));
	for (uint64_t i = 0; i < k.probes; i++)
		want(&k, &a, i, NULL);
	for (uint32_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		RQL_TRY(check_once(t, &k, &a, &(struct lookup_way){.only_rows = true, .order = bits[i] + 1}, err));
	return RQL_OK;
}

static rql_status test_points(struct rql_selftest *t, struct rql_error *err)
{
	RQL_TRY(check_parts(t, err));
	return check_sorted(t, false, err);
}

static rql_status test_ranges(struct rql_selftest *t, struct rql_error *err)
{
	return check_sorted(t, true, err);
}

static rql_status check_tables(struct rql_selftest *t, enum rql_lookup_form form, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof(table_checks) / sizeof(table_checks[0]); i++)
		RQL_TRY(check_ways(t, &table_checks[i], form, false, err));
	return RQL_OK;
}

static rql_status test_hashed(struct rql_selftest *t, struct rql_error *err)
{
	return check_tables(t, RQL_LOOKUP_HASHED, err);
}

static rql_status test_direct(struct rql_selftest *t, struct rql_error *err)
{
	return check_tables(t, RQL_LOOKUP_DIRECT, err);
}

/* relation.glsl has the same. */
static uint32_t mixed(uint32_t x)
{
	x = (x ^ x >> 16) * 0x9e3779b1u;
	x = (x ^ x >> 15) * 0x85ebca77u;
	return x ^ x >> 16;
}

/* Keys that all hash into the first of four parts, twice as many as its slots. */
static rql_status test_full_part(struct rql_selftest *t, struct rql_error *err)
{
	const struct lookup_check k = {RQL_KEYS_SPARSE, CHOSEN, 32, 4096, 10, 0};
	const struct lookup_way way = {.form = RQL_LOOKUP_HASHED, .only_rows = true, .order = 1};
	struct lookup_arrays a;
	struct rql_lookup_map map = {.form = RQL_LOOKUP_HASHED, .key_bits = 32, .count = k.keys};
	uint64_t failed;
	uint32_t key = 0;
	RQL_TRY(alloc_arrays(t, &k, &a, err));
	for (uint64_t i = 0; i < k.keys; i++) {
		while (mixed(key) >> 30)
			key++;
		a.keys[i] = key++;
	}
	if (!rql_lookup_choose_parts(&map) || map.part_bits != 2)
		return rql_selftest_wrong(err, "%llu keys are not cut into four parts", (unsigned long long)k.keys);
	RQL_TRY(run(t, &k, &a, &way, &failed, err));
	if (failed != k.keys - map.part_slots)
		return rql_selftest_wrong(err, "%llu rows found no place in a full part, not %llu", (unsigned long long)failed,
		                          (unsigned long long)(k.keys - map.part_slots));
	return RQL_OK;
}

/* A direct map says how many rows are outside of its bounds. */
static rql_status test_no_place(struct rql_selftest *t, struct rql_error *err)
{
	const struct lookup_check k = {RQL_KEYS_DENSE, DIRECT, 32, 3000, 10, 0};
	const struct lookup_way way = {.form = RQL_LOOKUP_DIRECT, .only_rows = true, .order = 1};
	struct lookup_arrays a;
	struct rql_lookup_map map = {.count = k.keys};
	uint64_t failed, outside = 0;
	RQL_TRY(alloc_arrays(t, &k, &a, err));
	choose_directory(&k, &a, &map);
	for (uint64_t i = 0; i < k.keys; i++)
		outside += a.keys[i] > map.high;
	RQL_TRY(run(t, &k, &a, &way, &failed, err));
	if (failed != outside || !outside)
		return rql_selftest_wrong(err, "%llu rows found no place in a map, not %llu", (unsigned long long)failed,
		                          (unsigned long long)outside);
	return RQL_OK;
}

/* What cannot be done is refused while it is recorded. */
static rql_status test_refused(struct rql_selftest *t, struct rql_error *err)
{
	const struct lookup_check k = {RQL_KEYS_SPARSE, CHOSEN, 32, 10, 10, 0};
	struct lookup_arrays a;
	const struct lookup_way sorted = {.order = 1}, hashed = {.form = RQL_LOOKUP_HASHED, .only_rows = true, .order = 1};
	struct rql_lookup_build build, table;
	struct rql_commands *c;
	RQL_TRY(alloc_arrays(t, &k, &a, err));
	RQL_TRY(make_map(t, &k, &a, &sorted, &build, err));
	RQL_TRY(make_map(t, &k, &a, &hashed, &table, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	struct rql_lookup_batch lookup = {.map = build.map, .count = 10, .points = build.keys, .sums = build.map.sums};
	lookup.map.sums.buffer = NULL;
	if (rql_record_lookup(c, &lookup, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "sums were taken from a map that has none");
	lookup.sums.buffer = NULL;
	lookup.count = 1 << 20;
	if (rql_record_lookup(c, &lookup, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "more probes were read than there is room for");
	lookup = (struct rql_lookup_batch){.map = table.map, .count = 10, .points = build.keys, .ends = build.keys};
	if (rql_record_lookup(c, &lookup, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "ranges were looked up in a map without order");
	lookup = (struct rql_lookup_batch){.map = table.map, .count = 10, .points = build.keys, .counts = build.map.rows};
	if (rql_record_lookup(c, &lookup, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "counts were taken from a map that has none");
	lookup = (struct rql_lookup_batch){.map = build.map, .count = 10, .points = build.keys, .counts = build.map.rows};
	lookup.map.form = RQL_LOOKUP_KARY;
	if (rql_record_lookup(c, &lookup, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "counts were taken from a map that gives rows alone");
	table.map.part_slots--;
	if (rql_record_lookup_build(c, &table, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "a hashed map was made with fewer slots than its keys need");
	build.map.low = build.map.high + 1;
	if (rql_record_lookup_build(c, &build, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "a map was made between bounds that are none");
	rql_selftest_drop(t);
	return RQL_OK;
}

const struct rql_selftest_case rql_selftest_lookup[] = {
	{"lookup.points", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_points},
	{"lookup.ranges", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_ranges},
	{"lookup.tree", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_tree},
	{"lookup.interpolation", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_interpolation},
	{"lookup.kary", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_kary},
	{"lookup.hashed", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_hashed},
	{"lookup.direct", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_direct},
	{"lookup.full_part", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_full_part},
	{"lookup.no_place", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_no_place},
	{"lookup.refused", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_refused},
	{0},
};
