/* Maps that keep order, of keys enough that they are sorted by ranges: keys, rows and the directory are those of a sort on
 * the host, however the keys are spread. */
#include "selftest/lookup/selftest_keys.h"

#include <stdlib.h>
#include <string.h>

#include "primitive/lookup/lookup.h"

#define KEYS UINT64_C(16411)

enum spread {
	EVEN,
	DENSE,
	REPEATED, /* 128 rows a key */
	OUTLIER,  /* all but one in one range: no partition has room */
	CROWDED,  /* what a range has is in few entries of the directory */
	BEYOND,   /* of the bounds, on both sides */
	SPREADS
};
static const char *const spread_names[SPREADS] = {"even", "dense", "repeated", "outlier", "crowded", "beyond"};

struct item {
	uint64_t key;
	uint32_t row;
};

struct ranged_check {
	enum spread spread;
	uint32_t key_bits;
	bool pairs, tree;
	uint32_t finer; /* how many bits the directory is finer than the one that is chosen: partitions of two passes */
};

static int by_key(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static uint64_t draw(struct rql_selftest *t, const struct ranged_check *k, uint64_t row)
{
	const uint64_t any = rql_selftest_random(t), top = k->key_bits - 15;
	switch (k->spread) {
	case EVEN:
	case BEYOND:
		return k->key_bits == 64 ? any : any >> 32;
	case DENSE:
		return 1000 + (row * 7919) % KEYS;
	case REPEATED:
		return any % (KEYS / 128) * 3;
	case OUTLIER:
		return row == KEYS / 2 ? UINT64_MAX >> (64 - k->key_bits) : any % 3000;
	default:
		return (any >> 49) << top | any % 3;
	}
}

static void choose_bounds(const struct ranged_check *k, const struct item *items, struct rql_lookup_map *map)
{
	map->low = items[0].key;
	map->high = items[KEYS - 1].key;
	if (k->spread == BEYOND) {
		map->low = items[KEYS / 5].key;
		map->high = items[KEYS - KEYS / 7].key;
	}
	const uint32_t shift = rql_lookup_choose_shift(KEYS, map->low, map->high);
	map->shift = k->tree ? 0 : shift > k->finer ? shift - k->finer : 0;
}

static rql_status make(struct rql_selftest *t, const struct ranged_check *k, const uint64_t *keys, struct rql_lookup_build *b,
                       struct rql_error *err)
{
	struct rql_lookup_map *map = &b->map;
	const uint64_t places = k->tree ? rql_lookup_tree_keys(map) : KEYS;
	RQL_TRY(rql_drawn_buffer(t, k->key_bits, keys, KEYS, &b->keys, err));
	RQL_TRY(rql_selftest_buffer(t, places * (k->pairs ? 8 : k->key_bits / 8), NULL, "keys of a map", &map->keys.buffer, err));
	if (!k->pairs)
		RQL_TRY(rql_selftest_buffer(t, KEYS * 4, NULL, "rows of a map", &map->rows.buffer, err));
	if (k->tree)
		RQL_TRY(rql_selftest_buffer(t, rql_lookup_tree_lines(map) * 64, NULL, "nodes of a map", &map->nodes.buffer, err));
	else
		RQL_TRY(rql_selftest_buffer(t, rql_lookup_starts(map) * 4, NULL, "directory of a map", &map->starts.buffer, err));
	return rql_selftest_buffer(t, rql_lookup_build_temp_bytes(b), NULL, "temp of a map", &b->temp.buffer, err);
}

static uint64_t key_at(const struct ranged_check *k, const void *keys, uint64_t i)
{
	return k->key_bits == 64 ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[k->pairs ? 2 * i : i];
}

static rql_status check_items(struct rql_selftest *t, const struct ranged_check *k, const struct rql_lookup_map *map,
                              const struct item *items, struct rql_error *err)
{
	uint64_t *keys;
	uint32_t *rows;
	RQL_TRY(rql_selftest_alloc(t, KEYS, 8, &keys, err));
	RQL_TRY(rql_selftest_alloc(t, KEYS, 4, &rows, err));
	RQL_TRY(rql_buffer_download(map->keys.buffer, 0, keys, KEYS * (k->pairs ? 8 : k->key_bits / 8), err));
	if (!k->pairs)
		RQL_TRY(rql_buffer_download(map->rows.buffer, 0, rows, KEYS * 4, err));
	for (uint64_t i = 0; i < KEYS; i++) {
		const uint32_t row = k->pairs ? ((const uint32_t *)keys)[2 * i + 1] : rows[i];
		if (key_at(k, keys, i) != items[i].key || row != items[i].row)
			return rql_selftest_wrong(err, "%s keys of %u bits: row %u with key %llu is at place %llu, where row %u belongs",
			                          spread_names[k->spread], k->key_bits, row, (unsigned long long)key_at(k, keys, i),
			                          (unsigned long long)i, items[i].row);
	}
	return RQL_OK;
}

/* An entry begins with the first key that is not before it; keys beyond the bounds are in the first and the last one. */
static rql_status check_directory(struct rql_selftest *t, const struct ranged_check *k, const struct rql_lookup_map *map,
                                  const struct item *items, struct rql_error *err)
{
	const uint64_t words = rql_lookup_starts(map), last = words - 2;
	uint32_t *starts;
	uint64_t i = 0;
	RQL_TRY(rql_selftest_alloc(t, words, 4, &starts, err));
	RQL_TRY(rql_buffer_download(map->starts.buffer, 0, starts, words * 4, err));
	for (uint64_t entry = 0; entry < words; entry++) {
		for (; i < KEYS; i++) {
			uint64_t own = items[i].key <= map->low ? 0 : (items[i].key - map->low) >> map->shift;
			if ((own < last ? own : last) >= entry)
				break;
		}
		if (starts[entry] != i)
			return rql_selftest_wrong(err, "%s keys of %u bits: entry %llu of the directory begins at %u, not at %llu",
			                          spread_names[k->spread], k->key_bits, (unsigned long long)entry, starts[entry],
			                          (unsigned long long)i);
	}
	return RQL_OK;
}

static rql_status check_one(struct rql_selftest *t, const struct ranged_check *k, struct rql_error *err)
{
	struct rql_lookup_build build = {.map = {.form = k->tree ? RQL_LOOKUP_BTREE : RQL_LOOKUP_SORTED,
	                                         .key_bits = k->key_bits, .count = KEYS}};
	struct rql_commands *c;
	struct item *items;
	uint64_t *keys;
	RQL_TRY(rql_selftest_alloc(t, KEYS, sizeof *items, &items, err));
	RQL_TRY(rql_selftest_alloc(t, KEYS, 8, &keys, err));
	for (uint64_t row = 0; row < KEYS; row++) {
		keys[row] = draw(t, k, row);
		items[row] = (struct item){keys[row], (uint32_t)row};
	}
	qsort(items, KEYS, sizeof *items, by_key);
	choose_bounds(k, items, &build.map);
	RQL_TRY(make(t, k, keys, &build, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_lookup_build(c, &build, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(check_items(t, k, &build.map, items, err));
	if (!k->tree)
		RQL_TRY(check_directory(t, k, &build.map, items, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static rql_status test_ranged(struct rql_selftest *t, struct rql_error *err)
{
	for (int spread = 0; spread < SPREADS; spread++)
		for (uint32_t bits = 32; bits <= 64; bits += 32) {
			const struct ranged_check check = {.spread = (enum spread)spread, .key_bits = bits};
			RQL_TRY(check_one(t, &check, err));
		}
	static const struct ranged_check others[] = {
		{.spread = EVEN, .key_bits = 32, .pairs = true},
		{.spread = OUTLIER, .key_bits = 32, .pairs = true},
		{.spread = EVEN, .key_bits = 32, .tree = true},
		{.spread = CROWDED, .key_bits = 64, .tree = true},
		{.spread = EVEN, .key_bits = 32, .finer = 9},
		{.spread = BEYOND, .key_bits = 64, .finer = 9},
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		RQL_TRY(check_one(t, &others[i], err));
	return RQL_OK;
}

const struct rql_selftest_case rql_selftest_ranged[] = {
	{"lookup.ranged", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_ranged},
	{0},
};
