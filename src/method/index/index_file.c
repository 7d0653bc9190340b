/* Runs of look-ups in a side file (method/runs.h). */
#include "method/index/index_run.h"

#include <stdlib.h>
#include "method/runs.h"

static bool place(const struct rql_store_segment *segment, const struct rql_index_of *of, uint32_t i,
                  struct rql_place *out, char key[RQL_RUN_KEY])
{
	static const enum rql_index_form forms[] = {RQL_INDEX_DIRECT, RQL_INDEX_HASH, RQL_INDEX_SORTED};
	struct rql_index_of as = *of;
	if (i >= (of->form == RQL_INDEX_AUTO ? sizeof forms / sizeof *forms : 1))
		return false;
	if (of->form == RQL_INDEX_AUTO)
		as.form = forms[i];
	*out = rql_index_place_of(segment, &as, key);
	return true;
}

static struct rql_placement *open_run(const char *kind, struct rql_device *cpu, struct rql_budget *budget)
{
	struct rql_index_run *run = rql_index_run_new(kind, cpu, budget);
	return run ? &run->placement : NULL;
}

/* ---- fields and arrays ---- */
static rql_status visit_keys(struct rql_frame_file *file, struct rql_index_map *map, uint32_t count)
{
	return rql_frame_array(file, &map->keys, count, map->narrow ? sizeof(uint32_t) : sizeof(uint64_t));
}

static rql_status visit_arrays(struct rql_frame_file *file, struct rql_index_map *map)
{
	const bool has_table = map->form == RQL_INDEX_SORTED || map->form == RQL_INDEX_DIRECT;
	if (has_table && (map->shift > 63 || map->greatest >> map->shift > UINT32_MAX))
		return rql_frame_corrupt(file, "a map's table is impossible");
	if (map->form == RQL_INDEX_SORTED) {
		RQL_TRY(visit_keys(file, map, map->count));
		RQL_FRAME_ARRAY(file, map->rows, map->count);
		RQL_FRAME_ARRAY(file, map->table, (map->greatest >> map->shift) + 2);
		return RQL_OK;
	}
	if (map->form == RQL_INDEX_BTREE) {
		RQL_TRY(rql_frame_array(file, &map->keys, rql_index_btree_keys(map), map->narrow ? sizeof(uint32_t) : sizeof(uint64_t)));
		RQL_FRAME_ARRAY(file, map->rows, map->count);
		return file->writing ? RQL_OK : rql_index_btree_levels(map, file->err);
	}
	if (map->form == RQL_INDEX_HASH) {
		RQL_TRY(visit_keys(file, map, map->slots));
		RQL_FRAME_ARRAY(file, map->table, map->slots);
		RQL_FRAME_ARRAY(file, map->rows, map->listed);
		return RQL_OK;
	}
	RQL_FRAME_ARRAY(file, map->rows, map->count);
	RQL_FRAME_OPTIONAL(file, map->table, map->greatest + 2);
	return RQL_OK;
}

static rql_status visit_values(struct rql_frame_file *file, struct rql_index_run *run)
{
	rql_int128 *values = (rql_int128 *)(uintptr_t)run->key.values;
	if (!file->writing)
		file->mem = &run->mem;
	RQL_FRAME_VISIT(file, run->key.value_count);
	RQL_FRAME_OPTIONAL(file, values, run->key.value_count);
	run->key.values = values;
	return RQL_OK;
}

static rql_status visit(struct rql_frame_file *file, struct rql_placement *placement)
{
	struct rql_index_run *run = (struct rql_index_run *)placement;
	struct rql_index_map *map = &run->map;
	RQL_TRY(visit_values(file, run));
	if (!file->writing)
		file->mem = &map->mem;
	RQL_TRY(rql_frame_bool(file, &map->narrow));
	RQL_FRAME_VISIT(file, map->count);
	RQL_FRAME_VISIT(file, map->greatest);
	RQL_FRAME_VISIT(file, map->shift);
	RQL_FRAME_VISIT(file, map->slots);
	RQL_FRAME_VISIT(file, map->listed);
	RQL_TRY(visit_arrays(file, map));
	placement->bytes = map->mem.held + run->mem.held;
	return RQL_OK;
}

/* ---- is it as one that was made? ---- */
static bool is_row(const struct rql_store_segment *segment, const struct rql_store_view *view, uint32_t row)
{
	return row / RQL_STORE_BLOCK < segment->blocks &&
	       row % RQL_STORE_BLOCK < view->blocks[row / RQL_STORE_BLOCK].rows;
}

static bool are_rows(const struct rql_store_segment *segment, const struct rql_store_view *view, const uint32_t *rows,
                     uint32_t count)
{
	bool good = true;
	for (uint32_t i = 0; i < count && good; i++)
		good = is_row(segment, view, rows[i]);
	return good;
}

/* What is at a place: the key has the columns behind the first one (rql_index_place_of). */
static struct rql_index_of of_place(const struct rql_place *at)
{
	struct rql_index_of of = {.column = at->part};
	char *end = NULL;
	for (const char *c = at->key; c && *c == ',' && of.more_count < RQL_INDEX_COLUMNS_MOST - 1; c = end)
		of.more[of.more_count++] = (uint32_t)strtoul(c + 1, &end, 10);
	return of;
}

static const char *check(const struct rql_store_segment *segment, const struct rql_place *at,
                         struct rql_placement *placement)
{
	struct rql_index_run *run = (struct rql_index_run *)placement;
	const struct rql_index_map *map = &run->map;
	const struct rql_index_of of = of_place(at);
	const struct rql_store_view *view = &segment->columns[at->part];
	uint64_t keyed = 0;
	const struct rql_index_key read = run->key;
	rql_index_key_make(segment, &of, &run->key);
	run->key.value_count = read.value_count;
	run->key.values = read.values;
	for (uint32_t b = 0; b < segment->blocks; b++)
		keyed += view->blocks[b].rows - view->blocks[b].nulls;
	if (map->count != keyed)
		return "a map has other rows than its segment";
	if (!rql_index_map_check(map))
		return "a map is impossible";
	const char *why = rql_index_places_check(&run->key, map->greatest);
	if (why)
		return why;
	if (map->form != RQL_INDEX_HASH)
		return are_rows(segment, view, map->rows, map->count) ? NULL : "a map leads to rows that there are not";
	const uint32_t *rows;
	for (uint32_t s = 0; s < map->slots; s++)
		if (!are_rows(segment, view, rows, rql_index_hash_slot(map, s, &rows)))
			return "a map leads to rows that there are not";
	return NULL;
}

static const char *const kinds[] = {"sorted", "hash", "direct", "btree", NULL};

const struct rql_run_family rql_runs_of_indexes = {
	.kinds = kinds, .place = place, .open = open_run, .visit = visit, .check = check};
