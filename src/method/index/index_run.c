/* Runs: made from a segment's column, found and given up by the table of placements. */
#include "method/index/index_run.h"

#include <stdlib.h>
#include "util/simd.h"

static const char *const kinds[] = {
	[RQL_INDEX_SORTED] = "sorted", [RQL_INDEX_HASH] = "hash", [RQL_INDEX_DIRECT] = "direct"};

/* What rays look up in is made of sorted runs, which a CPU looks up in by itself. */
static enum rql_index_form form_of(const struct rql_index_of *of)
{
	return of->form == RQL_INDEX_HASH || of->form == RQL_INDEX_DIRECT ? of->form : RQL_INDEX_SORTED;
}

bool rql_index_can(const struct rql_store_column *column)
{
	return column->kind == RQL_STORE_CODED || (column->kind == RQL_STORE_INTEGER && !column->wide);
}

/* ---- making ---- */
struct making {
	const struct rql_store_segment *segment;
	const struct rql_store_view *view;
	enum rql_index_form form;
	struct rql_budget *budget;
	struct rql_progress *progress;
	struct rql_index_pair *pairs;
	uint32_t count;
	int64_t least;
};

/* Codes count from 0 as they are stored; the least integer is in some block's descriptor. */
static int64_t least_value(const struct making *m)
{
	bool some = false;
	int64_t least = 0;
	for (uint32_t b = 0; b < m->segment->blocks && m->view->kind == RQL_STORE_INTEGER; b++) {
		const struct rql_store_block *block = &m->view->blocks[b];
		if (block->nulls < block->rows && (!some || (int64_t)block->least[0] < least))
			least = (int64_t)block->least[0];
		some = some || block->nulls < block->rows;
	}
	return least;
}

static void add(struct making *m, uint64_t key, uint32_t row)
{
	m->pairs[m->count++] = (struct rql_index_pair){.key = key, .row = row};
}

static void read_codes(struct making *m, const struct rql_store_kernels *k, uint32_t block, uint32_t *codes)
{
	struct rql_store_view stored = *m->view;
	stored.translate = NULL; /* codes of a snapshot are other ones after an append */
	rql_store_decode_codes(k, &stored, block, 0, stored.blocks[block].rows, codes);
	for (uint32_t r = 0; r < stored.blocks[block].rows; r++)
		if (codes[r] != stored.null_code)
			add(m, codes[r], block * RQL_STORE_BLOCK + r);
}

static void read_integers(struct making *m, const struct rql_store_kernels *k, uint32_t block, int64_t *values)
{
	uint64_t valid[RQL_STORE_BLOCK / 64];
	const uint32_t rows = m->view->blocks[block].rows;
	rql_store_decode_int64(k, m->view, block, 0, rows, values);
	(void)rql_store_decode_validity(k, m->view, block, 0, rows, valid);
	for (uint32_t r = 0; r < rows; r++)
		if (valid[r / 64] >> r % 64 & 1)
			add(m, (uint64_t)values[r] - (uint64_t)m->least, block * RQL_STORE_BLOCK + r);
}

static rql_status read_segment(struct making *m, const struct rql_device *device, struct rql_mem *mem,
                               struct rql_error *err)
{
	const struct rql_store_kernels *k = rql_store_kernels_for(device->simd);
	int64_t *values;
	RQL_TRY(RQL_MEM_ARRAY(mem, values, RQL_STORE_BLOCK, err));
	m->least = least_value(m);
	for (uint32_t b = 0; b < m->segment->blocks; b++) {
		if (m->progress && atomic_load(&m->progress->cancel))
			return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
		if (m->view->kind == RQL_STORE_CODED)
			read_codes(m, k, b, (uint32_t *)values);
		else
			read_integers(m, k, b, values);
	}
	return RQL_OK;
}

static void destroy(struct rql_placement *placement)
{
	struct rql_index_run *run = (struct rql_index_run *)placement;
	rql_index_map_clear(&run->map);
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
	return run;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state,
                       struct rql_placement **out, struct rql_error *err)
{
	struct making *m = state;
	struct rql_index_run *run = calloc(1, sizeof(*run));
	struct rql_index_pair *spare = NULL;
	struct rql_mem mem;
	uint64_t start = rql_now_ns();
	(void)at;
	if (!run)
		return rql_error_memory(err, sizeof(*run), "an index");
	rql_mem_init(&mem, m->budget, "building an index");
	m->count = 0;
	rql_status status = RQL_MEM_ARRAY(&mem, m->pairs, m->segment->rows, err);
	if (status == RQL_OK && m->form != RQL_INDEX_DIRECT)
		status = RQL_MEM_ARRAY(&mem, spare, m->segment->rows, err);
	if (status == RQL_OK)
		status = read_segment(m, device, &mem, err);
	if (status == RQL_OK)
		status = rql_index_map_make(m->form, m->pairs, spare, m->count, m->budget, &run->map, err);
	rql_mem_clear(&mem);
	if (status != RQL_OK) {
		free(run);
		return status;
	}
	run->least = m->least;
	run->placement = (struct rql_placement){.device = device,
	                                        .bytes = run->map.mem.held,
	                                        .build_ms = (double)(rql_now_ns() - start) / 1e6,
	                                        .destroy = destroy};
	*out = &run->placement;
	return RQL_OK;
}

/* ---- finding ---- */
struct rql_place rql_index_place_of(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	return (struct rql_place){.owner = segment->identity, .kind = kinds[form_of(of)], .part = of->column};
}

bool rql_index_run_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *cpu)
{
	const struct rql_place at = rql_index_place_of(segment, of);
	return rql_placement_there(&at, cpu, NULL);
}

rql_status rql_index_run_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                             const struct rql_index_of *of, struct rql_device *cpu, struct rql_progress *progress,
                             struct rql_index_run **out, struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	const struct rql_place at = rql_index_place_of(s, of);
	struct making m = {.segment = s,
	                   .view = &s->columns[of->column],
	                   .form = form_of(of),
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

uint32_t rql_index_run_find(const struct rql_index_run *run, const struct rql_store_view *view, int64_t least,
                            int64_t greatest, const uint32_t **rows)
{
	if (view->kind == RQL_STORE_CODED && view->translate) { /* ascending maps keep ranges together, and points */
		least = rql_store_stored_from(view, least);
		greatest = (int64_t)rql_store_stored_from(view, (rql_int128)greatest + 1) - 1;
	}
	if (least > greatest || greatest < run->least)
		return 0;
	least = least > run->least ? least : run->least;
	return rql_index_map_find(&run->map, (uint64_t)least - (uint64_t)run->least,
	                          (uint64_t)greatest - (uint64_t)run->least, rows);
}
