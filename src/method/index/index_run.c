/* Runs: made from a segment's columns, found and given up by the table of placements. */
#include "method/index/index_run.h"

#include <stdio.h>
#include <stdlib.h>
#include "util/simd.h"
#include "util/threads.h"

static const char *const kinds[] = {
	[RQL_INDEX_SORTED] = "sorted", [RQL_INDEX_BTREE] = "btree", [RQL_INDEX_HASH] = "hash", [RQL_INDEX_DIRECT] = "direct"};

/* What rays look up in is made of sorted runs, which a CPU looks up in by itself. */
static enum rql_index_form form_of(const struct rql_index_of *of)
{
	return of->form == RQL_INDEX_RX || of->form == RQL_INDEX_CGRX ? RQL_INDEX_SORTED : of->form;
}

/* ---- making ---- */
struct making {
	const struct rql_store_segment *segment;
	const struct rql_index_of *of;
	struct rql_budget *budget;
	struct rql_progress *progress;
	struct rql_index_run *run;
	struct rql_index_pair *pairs;
	uint32_t count;
};

/* Blocks are read on all threads: their descriptors say how many rows of each have a key, so where its pairs begin. */
struct reading {
	const struct making *m;
	const struct rql_store_kernels *kernels;
	uint32_t *first; /* [blocks] */
	struct read_room {
		union rql_index_room values;
		uint64_t keys[RQL_STORE_BLOCK];
	} *room; /* [threads] */
};

static void read_block(void *state, uint64_t b, unsigned worker)
{
	const struct reading *r = state;
	const struct making *m = r->m;
	const uint32_t block = (uint32_t)b, rows = m->segment->columns[m->of->column].blocks[block].rows;
	struct read_room *room = &r->room[worker];
	struct rql_index_pair *to = m->pairs + r->first[block];
	uint64_t known[RQL_STORE_BLOCK / 64];
	if (m->progress && atomic_load(&m->progress->cancel))
		return;
	rql_index_key_read(&m->run->key, r->kernels, m->segment, block, &room->values, room->keys, known);
	for (uint32_t i = 0; i < rows; i++)
		if (rql_bit(known, i))
			*to++ = (struct rql_index_pair){.key = room->keys[i], .row = block * RQL_STORE_BLOCK + i};
}

static rql_status read_segment(struct making *m, const struct rql_device *device, struct rql_mem *mem,
                               struct rql_error *err)
{
	const struct rql_store_block *blocks = m->segment->columns[m->of->column].blocks;
	struct reading r = {.m = m, .kernels = rql_store_kernels_for(device->simd)};
	if (m->run->key.placed)
		return rql_index_places_make(m->segment, device, m->progress, m->run, m->pairs, &m->count, err);
	RQL_TRY(RQL_MEM_ARRAY(mem, r.first, m->segment->blocks, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, r.room, device->pool ? rql_pool_threads(device->pool) : 1, err));
	for (uint32_t b = 0; b < m->segment->blocks; b++) {
		r.first[b] = m->count;
		m->count += blocks[b].rows - (uint32_t)blocks[b].nulls;
	}
	rql_pool_each(device->pool, m->segment->blocks, read_block, &r);
	if (m->progress && atomic_load(&m->progress->cancel))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	return RQL_OK;
}

static void destroy(struct rql_placement *placement)
{
	struct rql_index_run *run = (struct rql_index_run *)placement;
	rql_index_map_clear(&run->map);
	rql_mem_clear(&run->mem);
	free(run);
}

struct rql_index_run *rql_index_run_new(const char *kind, struct rql_device *cpu, struct rql_budget *budget)
{
	struct rql_index_run *run = calloc(1, sizeof(*run));
	if (!run)
		return NULL;
	run->placement = (struct rql_placement){.device = cpu, .destroy = destroy};
	for (enum rql_index_form form = 0; form < sizeof kinds / sizeof *kinds; form++)
		if (kinds[form] && strcmp(kinds[form], kind) == 0)
			run->map.form = form;
	rql_mem_init(&run->map.mem, budget, "an index");
	rql_mem_init(&run->mem, budget, "an index");
	return run;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state,
                       struct rql_placement **out, struct rql_error *err)
{
	struct making *m = state;
	const enum rql_index_form form = form_of(m->of);
	struct rql_index_run *run = rql_index_run_new(at->kind, device, m->budget);
	struct rql_index_pair *spare = NULL;
	struct rql_mem mem;
	uint64_t start = rql_now_ns();
	if (!run)
		return rql_error_memory(err, sizeof(*run), "an index");
	rql_mem_init(&mem, m->budget, "building an index");
	m->run = run;
	m->count = 0;
	rql_index_key_make(m->segment, m->of, &run->key);
	rql_status status = RQL_MEM_ARRAY(&mem, m->pairs, m->segment->rows, err);
	if (status == RQL_OK && form != RQL_INDEX_DIRECT)
		status = RQL_MEM_ARRAY(&mem, spare, m->segment->rows, err);
	if (status == RQL_OK)
		status = read_segment(m, device, &mem, err);
	if (status == RQL_OK)
		status = rql_index_map_make(form, m->pairs, spare, m->count, device->pool, m->budget, &run->map, err);
	rql_mem_clear(&mem);
	if (status != RQL_OK) {
		destroy(&run->placement);
		return status;
	}
	run->placement.bytes = run->map.mem.held + run->mem.held;
	run->placement.build_ms = (double)(rql_now_ns() - start) / 1e6;
	*out = &run->placement;
	return RQL_OK;
}

/* ---- finding ---- */
struct rql_place rql_index_place_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                                    char key[RQL_INDEX_KEY_BYTES])
{
	size_t n = 0;
	key[0] = 0;
	for (uint32_t i = 0; i < of->more_count; i++)
		n += (size_t)snprintf(key + n, RQL_INDEX_KEY_BYTES - n, ",%u", of->more[i]);
	return (struct rql_place){
		.owner = segment->identity, .kind = kinds[form_of(of)], .part = of->column, .key = of->more_count ? key : NULL};
}

bool rql_index_run_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *cpu)
{
	char key[RQL_INDEX_KEY_BYTES];
	const struct rql_place at = rql_index_place_of(segment, of, key);
	return rql_placement_there(&at, cpu, NULL);
}

rql_status rql_index_run_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                             const struct rql_index_of *of, struct rql_device *cpu, struct rql_progress *progress,
                             struct rql_index_run **out, struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	char key[RQL_INDEX_KEY_BYTES];
	const struct rql_place at = rql_index_place_of(s, of, key);
	struct making m = {.segment = s,
	                   .of = of,
	                   .budget = rql_store_budget(snapshot),
	                   .progress = progress};
	struct rql_placement *placement = NULL;
	struct rql_error why = {0};
	rql_store_segment_watch(s, rql_placements_drop);
	rql_status status = rql_placement_get(&at, cpu, make, &m, &placement, &why);
	if (status == RQL_OK)
		*out = (struct rql_index_run *)placement;
	rql_error_move(err, &why);
	return status;
}

uint32_t rql_index_run_find(const struct rql_index_run *run, const struct rql_store_segment *segment,
                            const struct rql_index_range *sought, uint32_t count, const uint32_t **rows)
{
	uint64_t least, greatest;
	return rql_index_key_range(&run->key, segment, sought, count, &least, &greatest)
	           ? rql_index_map_find(&run->map, least, greatest, rows)
	           : 0;
}

bool rql_index_run_fetch(const struct rql_index_run *run, const struct rql_store_segment *segment,
                         const struct rql_index_range *sought, uint32_t count, uint64_t *least, uint64_t *greatest)
{
	if (!rql_index_key_range(&run->key, segment, sought, count, least, greatest))
		return false;
	rql_index_map_fetch(&run->map, *least);
	return true;
}
