/* Making what a GPU looks up in, from a segment's run on the CPU. */
#include "method/index/compute/index_placed.h"

#include <stdlib.h>

struct placing {
	const struct rql_index_placing *how;
	uint32_t segment;
	const struct rql_index_of *of;
	struct rql_index_placed *p;
	struct rql_device *gpu;
};

static void destroy(struct rql_placement *placement)
{
	struct rql_index_placed *p = (struct rql_index_placed *)placement;
	for (uint32_t i = 0; i < p->buffer_count; i++)
		rql_buffer_free(p->buffers[i]);
	rql_mem_clear(&p->mem);
	free(p);
}

/* ---- buffers ---- */
static rql_status hold(const struct placing *x, uint64_t bytes, const char *what, struct rql_span *out,
                       struct rql_error *err)
{
	struct rql_buffer **buffer = &x->p->buffers[x->p->buffer_count];
	RQL_TRY(rql_buffer_new(x->gpu, bytes ? bytes : 16, RQL_MEMORY_DEVICE, what, buffer, err));
	x->p->buffer_count++;
	x->p->placement.bytes += (*buffer)->bytes;
	*out = (struct rql_span){*buffer, 0};
	return RQL_OK;
}

static rql_status send(const struct placing *x, const void *from, uint64_t bytes, const char *what,
                       struct rql_span *out, struct rql_error *err)
{
	RQL_TRY(hold(x, bytes, what, out, err));
	*x->how->uploaded += bytes;
	return bytes ? rql_buffer_upload(out->buffer, 0, from, bytes, err) : RQL_OK;
}

static uint32_t key_bytes(const struct rql_index_map *map)
{
	return map->narrow ? 4 : 8;
}

/* ---- sorted, direct, trees: as they are ---- */
static rql_status send_sorted(const struct placing *x, const struct rql_index_map *map, struct rql_error *err)
{
	struct rql_lookup_map *to = &x->p->look_up.map;
	to->form = RQL_LOOKUP_SORTED;
	to->count = map->count;
	to->shift = map->shift;
	RQL_TRY(send(x, map->keys, (uint64_t)map->count * key_bytes(map), "keys of an index", &to->keys, err));
	RQL_TRY(send(x, map->rows, (uint64_t)map->count * 4, "rows of an index", &to->rows, err));
	return send(x, map->table, rql_lookup_starts(to) * 4, "the directory of an index", &to->starts, err);
}

static rql_status send_direct(const struct placing *x, const struct rql_index_map *map, struct rql_error *err)
{
	struct rql_lookup_bits *to = &x->p->look_up;
	to->map.form = RQL_LOOKUP_DIRECT;
	to->row_count = map->count;
	RQL_TRY(send(x, map->rows, (uint64_t)map->count * 4, "rows of an index", &to->rows, err));
	if (!map->table)
		return RQL_OK;
	return send(x, map->table, (map->greatest + 2) * 4, "the integers of an index", &to->lists, err);
}

/* Its levels are made anew there: that is less than to send them. */
static rql_status send_tree(const struct placing *x, const struct rql_index_map *map, struct rql_error *err)
{
	struct rql_lookup_map *to = &x->p->look_up.map;
	struct rql_commands *c;
	to->form = RQL_LOOKUP_BTREE;
	to->count = map->count;
	RQL_TRY(send(x, map->keys, rql_lookup_tree_keys(to) * key_bytes(map), "keys of an index", &to->keys, err));
	RQL_TRY(send(x, map->rows, (uint64_t)map->count * 4, "rows of an index", &to->rows, err));
	RQL_TRY(hold(x, rql_lookup_tree_lines(to) * 64, "the nodes of an index", &to->nodes, err));
	RQL_TRY(rql_commands_new(x->gpu, 0, &c, err));
	return rql_commands_finish(c, rql_record_lookup_levels(c, to, err), x->how->progress, NULL, err);
}

/* ---- hashed: built of its different keys ---- */
struct lists {
	uint64_t keys, rows; /* how many */
	void *key;           /* [keys], as wide as the map's */
	uint32_t *starts;    /* [keys + 1]; each list's rows */
	uint32_t *row;
};

/* In the order of the slots, in which they lie. */
static void list_slots(const struct rql_index_map *map, struct lists *out)
{
	const struct rql_index_map keys = {.narrow = map->narrow, .keys = out->key};
	uint32_t at = 0, row = 0;
	for (uint32_t slot = 0; slot < map->slots; slot++) {
		const uint32_t *rows = NULL, count = rql_index_hash_slot(map, slot, &rows);
		if (!count)
			continue;
		rql_index_set_key(&keys, at, rql_index_key(map, slot));
		out->starts[at++] = row;
		memcpy(out->row + row, rows, count * sizeof(*rows));
		row += count;
	}
	out->starts[at] = row;
}

static uint64_t count_slots(const struct rql_index_map *map)
{
	uint64_t keys = 0;
	const uint32_t *rows;
	for (uint32_t slot = 0; slot < map->slots; slot++)
		keys += rql_index_hash_slot(map, slot, &rows) != 0;
	return keys;
}

static rql_status take_lists(const struct rql_index_map *map, struct rql_mem *mem, struct lists *out,
                             struct rql_error *err)
{
	*out = (struct lists){.keys = count_slots(map), .rows = map->count};
	if (!(out->key = rql_mem_alloc(mem, out->keys, key_bytes(map), err)))
		return rql_mem_failure(mem);
	RQL_TRY(RQL_MEM_ARRAY(mem, out->starts, out->keys + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, out->row, out->rows, err));
	list_slots(map, out);
	return RQL_OK;
}

/* Keys and temporary memory are given back once the slots are filled. *failed: rows without a place. */
static rql_status build_slots(const struct placing *x, const struct lists *lists, struct rql_lookup_build *build,
                              uint64_t *failed, struct rql_error *err)
{
	const uint64_t bytes = lists->keys * build->map.key_bits / 8;
	struct rql_commands *c;
	RQL_TRY(rql_buffer_new(x->gpu, bytes, RQL_MEMORY_DEVICE, "keys of an index", &build->keys.buffer, err));
	RQL_TRY(rql_buffer_upload(build->keys.buffer, 0, lists->key, bytes, err));
	*x->how->uploaded += bytes;
	const uint64_t temp = rql_lookup_build_temp_bytes(build);
	if (temp)
		RQL_TRY(rql_buffer_new(x->gpu, temp, RQL_MEMORY_DEVICE, "the making of an index", &build->temp.buffer, err));
	RQL_TRY(rql_commands_new(x->gpu, 0, &c, err));
	RQL_TRY(rql_commands_finish(c, rql_record_lookup_build(c, build, err), x->how->progress, NULL, err));
	return rql_buffer_download(build->map.failed.buffer, 0, failed, 8, err);
}

static rql_status send_lists(const struct placing *x, const struct lists *lists, uint64_t *failed, struct rql_error *err)
{
	struct rql_lookup_bits *to = &x->p->look_up;
	struct rql_lookup_map *map = &to->map;
	map->form = RQL_LOOKUP_HASHED;
	map->count = lists->keys;
	to->row_count = lists->rows;
	if (!rql_lookup_choose_parts(map)) {
		*failed = lists->keys;
		return RQL_OK;
	}
	RQL_TRY(hold(x, rql_lookup_slots(map) * rql_lookup_slot_bytes(map), "the slots of an index", &map->slots, err));
	RQL_TRY(hold(x, 8, "the slots of an index", &map->failed, err));
	RQL_TRY(send(x, lists->row, lists->rows * 4, "rows of an index", &to->rows, err));
	if (lists->keys < lists->rows)
		RQL_TRY(send(x, lists->starts, (lists->keys + 1) * 4, "lists of an index", &to->lists, err));
	struct rql_lookup_build build = {.map = *map};
	rql_status status = build_slots(x, lists, &build, failed, err);
	rql_buffer_free(build.keys.buffer);
	rql_buffer_free(build.temp.buffer);
	return status;
}

static void start(struct rql_index_placed *p, const struct rql_index_map *map)
{
	for (uint32_t i = 0; i < p->buffer_count; i++)
		rql_buffer_free(p->buffers[i]);
	p->buffer_count = 0;
	p->placement.bytes = 0;
	p->look_up = (struct rql_lookup_bits){.map = {.key_bits = map->narrow ? 32 : 64, .high = map->greatest}};
}

static rql_status fill(const struct placing *x, const struct rql_index_of *of, struct rql_error *err);

/* Keys that were chosen for it fill a part of the table up; whatever they are, they can be sorted. */
static rql_status send_hashed(const struct placing *x, const struct rql_index_map *map, struct rql_error *err)
{
	struct rql_index_of sorted = *x->of;
	struct lists lists;
	struct rql_mem mem;
	uint64_t failed = 0;
	sorted.form = RQL_INDEX_SORTED;
	rql_mem_init(&mem, rql_store_budget(x->how->snapshot), "an index on a GPU");
	rql_status status = take_lists(map, &mem, &lists, err);
	if (status == RQL_OK)
		status = send_lists(x, &lists, &failed, err);
	rql_mem_clear(&mem);
	return status == RQL_OK && failed ? fill(x, &sorted, err) : status;
}

/* ---- a segment ---- */
static rql_status send_map(const struct placing *x, const struct rql_index_map *map, struct rql_error *err)
{
	switch (map->form) {
	case RQL_INDEX_HASH:
		return send_hashed(x, map, err);
	case RQL_INDEX_BTREE:
		return send_tree(x, map, err);
	case RQL_INDEX_DIRECT:
		return send_direct(x, map, err);
	default:
		return send_sorted(x, map, err);
	}
}

static rql_status fill(const struct placing *x, const struct rql_index_of *of, struct rql_error *err)
{
	const struct rql_index_placing *how = x->how;
	struct rql_index_run *run = NULL;
	RQL_TRY(rql_index_run_get(how->snapshot, x->segment, of, how->cpu, how->progress, &run, err));
	rql_status status = rql_index_places_copy(&run->key, &x->p->mem, &x->p->key, err);
	x->p->greatest = run->map.greatest;
	x->p->count = run->map.count;
	start(x->p, &run->map);
	if (status == RQL_OK && run->map.count)
		status = send_map(x, &run->map, err);
	rql_placement_release(&run->placement);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	struct placing *x = state;
	(void)at;
	x->gpu = device;
	if (!(x->p = calloc(1, sizeof(*x->p))))
		return rql_error_memory(err, sizeof(*x->p), "an index");
	x->p->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_mem_init(&x->p->mem, rql_store_budget(x->how->snapshot), "an index on a GPU");
	rql_status status = fill(x, x->of, err);
	if (status != RQL_OK) {
		destroy(&x->p->placement);
		return status;
	}
	*out = &x->p->placement;
	return RQL_OK;
}

/* ---- finding ---- */
rql_status rql_index_placed_get(const struct rql_index_placing *how, uint32_t segment, const struct rql_index_of *of,
                                struct rql_device *gpu, struct rql_index_placed **out, struct rql_error *err)
{
	const struct rql_store_segment *s = &how->snapshot->segments[segment];
	struct placing x = {.how = how, .segment = segment, .of = of};
	struct rql_placement *placement = NULL;
	char key[RQL_INDEX_KEY_BYTES];
	const struct rql_place at = rql_index_place_of(s, of, key);
	rql_store_segment_watch(s, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, gpu, make, &x, &placement, err));
	*out = (struct rql_index_placed *)placement;
	return RQL_OK;
}

bool rql_index_placed_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                            const struct rql_device *gpu)
{
	char key[RQL_INDEX_KEY_BYTES];
	const struct rql_place at = rql_index_place_of(segment, of, key);
	return rql_placement_there(&at, gpu, NULL);
}

/* ---- before it is there ---- */
static double tree_levels(const struct rql_lookup_map *map)
{
	double levels = 1;
	for (uint64_t left = map->count; left > 512 / map->key_bits; left /= 512 / map->key_bits + 1)
		levels++;
	return levels;
}

struct rql_index_shape rql_index_placed_shape(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	const uint64_t greatest = rql_index_key_bound(segment, of);
	const uint32_t bits = greatest > UINT32_MAX ? 64 : 32;
	const struct rql_lookup_map map = {.key_bits = bits, .count = segment->rows};
	const double rows = (double)segment->rows, key = bits / 8.0;
	switch (of->form) {
	case RQL_INDEX_HASH:
		return (struct rql_index_shape){RQL_LOOKUP_HASHED, bits, rows * (2 * 2 * key + 8), 2};
	case RQL_INDEX_BTREE:
		return (struct rql_index_shape){RQL_LOOKUP_BTREE, bits, rows * (key * 17 / 16 + 4), 2 * tree_levels(&map)};
	case RQL_INDEX_DIRECT:
		return (struct rql_index_shape){RQL_LOOKUP_DIRECT, bits, rows * 4 + 4 * (double)greatest, 1};
	default:
		return (struct rql_index_shape){RQL_LOOKUP_SORTED, bits, rows * (key + 4.5), 3};
	}
}
