/* Rows that batches of look-ups find as bits and as lists (primitive/lookup/lookup_bits.h), in maps of every form against loops over all keys:
 * points and ranges, lists of several rows, one row a key, ranges over everything whose rows several workgroups share. */
#include "selftest/lookup/selftest_keys.h"

#include <stdlib.h>
#include <string.h>

#include "primitive/lookup/lookup_bits.h"

struct bits_check {
	enum rql_lookup_form form;
	enum rql_key_pattern pattern;
	uint32_t key_bits;
	uint64_t keys, probes;
	bool ranges;
	uint64_t expected;
};

static const struct bits_check checks[] = {
	{RQL_LOOKUP_SORTED, RQL_KEYS_SPARSE, 32, 0, 50, true, 0},
	{RQL_LOOKUP_SORTED, RQL_KEYS_SPARSE, 64, 3001, 300, false, 10},
	{RQL_LOOKUP_SORTED, RQL_KEYS_DUPLICATES, 32, 9000, 700, true, 1 << 20},
	{RQL_LOOKUP_SORTED, RQL_KEYS_ENDS, 64, 300, 200, true, 0},
	{RQL_LOOKUP_BTREE, RQL_KEYS_SPARSE, 32, 5003, 300, false, 0},
	{RQL_LOOKUP_BTREE, RQL_KEYS_DUPLICATES, 64, 6000, 40, true, 1 << 20},
	{RQL_LOOKUP_BTREE, RQL_KEYS_ENDS, 32, 300, 200, true, 0},
	{RQL_LOOKUP_HASHED, RQL_KEYS_SPARSE, 32, 0, 50, false, 0},
	{RQL_LOOKUP_HASHED, RQL_KEYS_SPARSE, 64, 5003, 400, false, 400},
	{RQL_LOOKUP_HASHED, RQL_KEYS_DUPLICATES, 32, 9000, 300, false, 1 << 20},
	{RQL_LOOKUP_HASHED, RQL_KEYS_ENDS, 64, 300, 200, false, 0},
	{RQL_LOOKUP_DIRECT, RQL_KEYS_DENSE, 32, 3000, 300, true, 0},
	{RQL_LOOKUP_DIRECT, RQL_KEYS_DENSE, 64, 3000, 300, false, 0},
	{RQL_LOOKUP_DIRECT, RQL_KEYS_EQUAL, 32, 9000, 60, true, 1 << 20},
};

struct pair {
	uint64_t key;
	uint32_t row;
};

/* What a check has on the host. */
struct world {
	const struct bits_check *k;
	uint64_t *keys, *points, *ends;
	struct pair *pairs;   /* by key, then row */
	uint64_t *distinct;   /* [distinct_count] */
	uint32_t *lists, *rows; /* lists: of each different key, or of each integer from the least key on */
	uint64_t distinct_count, list_count, words;
	uint32_t *want, *bits;
};

static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	return x->key != y->key ? (x->key > y->key ? 1 : -1) : (x->row > y->row) - (x->row < y->row);
}

static rql_status draw(struct rql_selftest *t, struct world *w, struct rql_error *err)
{
	const struct bits_check *k = w->k;
	w->words = k->keys / 32 + 1;
	RQL_TRY(rql_selftest_alloc(t, k->keys, 8, &w->keys, err));
	RQL_TRY(rql_selftest_alloc(t, k->keys, sizeof(*w->pairs), &w->pairs, err));
	RQL_TRY(rql_selftest_alloc(t, k->probes, 8, &w->points, err));
	RQL_TRY(rql_selftest_alloc(t, k->probes, 8, &w->ends, err));
	RQL_TRY(rql_selftest_alloc(t, w->words, 4, &w->want, err));
	RQL_TRY(rql_selftest_alloc(t, w->words, 4, &w->bits, err));
	const struct rql_drawn_keys drawn = {.pattern = k->pattern,
	                                     .bits = k->key_bits,
	                                     .greatest = k->key_bits == 64 ? UINT64_MAX : UINT32_MAX,
	                                     .count = k->keys,
	                                     .keys = w->keys};
	for (uint64_t i = 0; i < k->keys; i++) {
		w->keys[i] = rql_drawn_key(t, &drawn);
		w->pairs[i] = (struct pair){w->keys[i], (uint32_t)i};
	}
	for (uint64_t i = 0; i < k->probes; i++)
		rql_drawn_probe(t, &drawn, i, &w->points[i], &w->ends[i]);
	if (k->keys)
		qsort(w->pairs, k->keys, sizeof(*w->pairs), by_key);
	memset(w->want, 0, w->words * 4);
	for (uint64_t i = 0; i < k->probes; i++)
		for (uint64_t row = 0; row < k->keys; row++)
			if (w->keys[row] >= w->points[i] && w->keys[row] <= (k->ranges ? w->ends[i] : w->points[i]))
				w->want[row / 32] |= 1u << row % 32;
	return RQL_OK;
}

/* Rows in the order of their keys, where each key's begin, and the keys that there are. */
static rql_status make_lists(struct rql_selftest *t, struct world *w, struct rql_error *err)
{
	const uint64_t keys = w->k->keys;
	const bool direct = w->k->form == RQL_LOOKUP_DIRECT;
	const uint64_t low = keys ? w->pairs[0].key : 0, span = keys && direct ? w->pairs[keys - 1].key - low + 1 : 0;
	RQL_TRY(rql_selftest_alloc(t, keys + 1, 4, &w->rows, err));
	RQL_TRY(rql_selftest_alloc(t, keys + 1, 8, &w->distinct, err));
	RQL_TRY(rql_selftest_alloc(t, (direct ? span : keys) + 1, 4, &w->lists, err));
	for (uint64_t i = 0; i < keys; i++) {
		w->rows[i] = w->pairs[i].row;
		if (i && w->pairs[i].key == w->pairs[i - 1].key)
			continue;
		w->distinct[w->distinct_count++] = w->pairs[i].key;
		while (direct && w->list_count <= w->pairs[i].key - low)
			w->lists[w->list_count++] = (uint32_t)i;
		if (!direct)
			w->lists[w->list_count++] = (uint32_t)i;
	}
	w->lists[w->list_count] = (uint32_t)keys;
	return RQL_OK;
}

static rql_status make_ordered(struct rql_selftest *t, const struct world *w, struct rql_lookup_build *build,
                               struct rql_error *err)
{
	struct rql_lookup_map *map = &build->map;
	const bool tree = map->form == RQL_LOOKUP_BTREE;
	map->count = w->k->keys;
	map->shift = tree ? 0 : rql_lookup_choose_shift(map->count, map->low, map->high);
	RQL_TRY(rql_drawn_buffer(t, map->key_bits, w->keys, map->count, &build->keys, err));
	const uint64_t room = tree ? rql_lookup_tree_keys(map) : map->count;
	RQL_TRY(rql_selftest_buffer(t, room * map->key_bits / 8, NULL, "keys of a map", &map->keys.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, map->count * 4, NULL, "rows of a map", &map->rows.buffer, err));
	return tree ? rql_selftest_buffer(t, rql_lookup_tree_lines(map) * 64, NULL, "nodes", &map->nodes.buffer, err)
	            : rql_selftest_buffer(t, rql_lookup_starts(map) * 4, NULL, "directory", &map->starts.buffer, err);
}

static rql_status make_listed(struct rql_selftest *t, struct world *w, struct rql_lookup_build *build,
                              struct rql_lookup_bits *l, struct rql_error *err)
{
	struct rql_lookup_map *map = &build->map;
	RQL_TRY(make_lists(t, w, err));
	l->row_count = w->k->keys;
	RQL_TRY(rql_selftest_buffer(t, w->k->keys * 4, w->rows, "rows", &l->rows.buffer, err));
	if (w->distinct_count < w->k->keys || map->form == RQL_LOOKUP_DIRECT)
		RQL_TRY(rql_selftest_buffer(t, (w->list_count + 1) * 4, w->lists, "lists", &l->lists.buffer, err));
	if (map->form == RQL_LOOKUP_DIRECT)
		return RQL_OK;
	map->count = w->distinct_count;
	RQL_TRY(rql_drawn_buffer(t, map->key_bits, w->distinct, map->count, &build->keys, err));
	if (!rql_lookup_choose_parts(map))
		return rql_selftest_wrong(err, "a hashed map has no room for %llu keys", (unsigned long long)map->count);
	RQL_TRY(rql_selftest_buffer(t, rql_lookup_slots(map) * rql_lookup_slot_bytes(map), NULL, "slots of a map",
	                            &map->slots.buffer, err));
	return rql_selftest_buffer(t, 8, NULL, "failed rows of a map", &map->failed.buffer, err);
}

/* The same rows as lists: of the map, of none, and of the map again with other numbers. */
static rql_status run_lists(struct rql_selftest *t, struct world *w, const struct rql_lookup_bits *l, struct rql_error *err)
{
	const struct rql_lookup_bits maps[] = {*l, {.map = l->map, .rows = l->rows, .lists = l->lists, .row_count = l->row_count}, *l};
	const uint32_t first_rows[] = {0, 0, 7};
	struct rql_lookup_lists lists = {
		.map_count = 3, .maps = maps, .first_rows = first_rows, .room = (uint32_t)(w->k->keys * w->k->probes) + 1};
	const uint64_t bytes = 12 + 12 * (uint64_t)lists.room;
	uint32_t *found;
	uint8_t *table;
	struct rql_commands *c;
	RQL_TRY(rql_selftest_alloc(t, 3 + 3 * (uint64_t)lists.room, 4, &found, err));
	RQL_TRY(rql_selftest_alloc(t, rql_lookup_lists_bytes(&lists), 1, &table, err));
	memset(found, 0, bytes);
	RQL_TRY(rql_selftest_buffer(t, bytes, found, "lists of rows", &lists.counts.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, rql_lookup_lists_bytes(&lists), NULL, "maps", &lists.table.buffer, err));
	lists.rows = (struct rql_span){lists.counts.buffer, 12};
	rql_lookup_lists_write(&lists, table);
	RQL_TRY(rql_buffer_upload(lists.table.buffer, 0, table, rql_lookup_lists_bytes(&lists), err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_lookup_lists(c, &lists, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(lists.counts.buffer, 0, found, bytes, err));
	if (found[1] || found[0] != found[2])
		return rql_selftest_wrong(err, "%u, %u and %u rows are listed of two equal maps with an empty one between", found[0],
		                          found[1], found[2]);
	for (uint32_t list = 0; list < 3; list++) {
		memset(w->bits, 0, w->words * 4);
		for (uint32_t i = 0; i < found[list]; i++) {
			const uint32_t row = found[3 + (uint64_t)list * lists.room + i] - first_rows[list];
			if (row >= w->k->keys)
				return rql_selftest_wrong(err, "row %u is listed of %llu", row, (unsigned long long)w->k->keys);
			w->bits[row / 32] |= 1u << row % 32;
		}
		if (list != 1)
			RQL_TRY(rql_selftest_same(w->bits, w->want, w->words, 4, "rows that a batch found, as lists", err));
	}
	return RQL_OK;
}

static rql_status run(struct rql_selftest *t, struct world *w, struct rql_error *err)
{
	const struct bits_check *k = w->k;
	struct rql_lookup_build build = {.map = {.form = k->form, .key_bits = k->key_bits}};
	struct rql_lookup_bits l = {.count = k->probes, .expected = k->expected, .bit_count = w->words * 32};
	struct rql_commands *c;
	build.map.low = k->keys ? w->pairs[0].key : 0;
	build.map.high = k->keys ? w->pairs[k->keys - 1].key : 0;
	const bool ordered = k->form == RQL_LOOKUP_SORTED || k->form == RQL_LOOKUP_BTREE;
	RQL_TRY(ordered ? make_ordered(t, w, &build, err) : make_listed(t, w, &build, &l, err));
	if (k->form != RQL_LOOKUP_DIRECT)
		RQL_TRY(rql_selftest_buffer(t, rql_lookup_build_temp_bytes(&build), NULL, "temp", &build.temp.buffer, err));
	RQL_TRY(rql_drawn_buffer(t, k->key_bits, w->points, k->probes, &l.points, err));
	if (k->ranges)
		RQL_TRY(rql_drawn_buffer(t, k->key_bits, w->ends, k->probes, &l.ends, err));
	memset(w->bits, 0, w->words * 4);
	RQL_TRY(rql_selftest_buffer(t, w->words * 4, w->bits, "bits of rows", &l.bits.buffer, err));
	l.map = build.map;
	RQL_TRY(rql_selftest_record(t, &c, err));
	if (k->form != RQL_LOOKUP_DIRECT)
		RQL_TRY(rql_record_lookup_build(c, &build, err));
	RQL_TRY(rql_record_lookup_bits(c, &l, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(l.bits.buffer, 0, w->bits, w->words * 4, err));
	RQL_TRY(rql_selftest_same(w->bits, w->want, w->words, 4, "rows that a batch found, as bits", err));
	RQL_TRY(k->probes <= RQL_LOOKUP_LISTS_PROBES ? run_lists(t, w, &l, err) : RQL_OK);
	rql_selftest_drop(t);
	return RQL_OK;
}

static rql_status test_bits(struct rql_selftest *t, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		struct world w = {.k = &checks[i]};
		RQL_TRY(draw(t, &w, err));
		RQL_TRY(run(t, &w, err));
	}
	return RQL_OK;
}

const struct rql_selftest_case rql_selftest_bits[] = {
	{"lookup.bits", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_bits},
	{0},
};
