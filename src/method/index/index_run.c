/* Runs: made from a segment's column, found and given up by the table of placements. */
#include "method/index/index_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "util/simd.h"

static const char *const kinds[] = {
	[RQL_INDEX_SORTED] = "sorted", [RQL_INDEX_BTREE] = "btree", [RQL_INDEX_HASH] = "hash", [RQL_INDEX_DIRECT] = "direct"};

/* What rays look up in is made of sorted runs, which a CPU looks up in by itself. */
static enum rql_index_form form_of(const struct rql_index_of *of)
{
	return of->form == RQL_INDEX_RX || of->form == RQL_INDEX_CGRX ? RQL_INDEX_SORTED : of->form;
}

bool rql_index_can(const struct rql_store_column *column)
{
	return column->kind != RQL_STORE_INTEGER || !column->wide;
}

/* -0.0 is 0.0, and every NaN the same one, the greatest. */
int64_t rql_index_of_real(double value)
{
	int64_t bits;
	value = value == 0 ? 0 : isnan(value) ? NAN : value;
	memcpy(&bits, &value, sizeof(bits));
	bits = isnan(value) ? bits & INT64_MAX : bits;
	return bits ^ (bits >> 63 & INT64_MAX);
}

int64_t rql_index_of_bound(const struct rql_store_view *view, uint64_t bound)
{
	double real;
	memcpy(&real, &bound, sizeof(real));
	return view->kind == RQL_STORE_REAL ? rql_index_of_real(real) : (int64_t)bound;
}

void rql_index_decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                      uint32_t first, uint32_t count, int64_t *out)
{
	double reals[64];
	if (view->kind == RQL_STORE_INTEGER)
		rql_store_decode_int64(k, view, block, first, count, out);
	for (uint32_t at = 0, n; at < count && view->kind == RQL_STORE_REAL; at += n) {
		n = count - at < 64 ? count - at : 64;
		rql_store_decode_double(k, view, block, first + at, n, reals);
		for (uint32_t i = 0; i < n; i++)
			out[at + i] = rql_index_of_real(reals[i]);
	}
}

void rql_index_column_bounds(const struct rql_store_column *column, int64_t *least, int64_t *greatest)
{
	const bool coded = column->kind == RQL_STORE_CODED, real = column->kind == RQL_STORE_REAL;
	*least = coded ? 0 : real ? rql_index_of_real(column->real_least) : (int64_t)column->least;
	*greatest = coded  ? (int64_t)column->dimension->count - 1
	            : real ? rql_index_of_real(column->real_greatest)
	                   : (int64_t)column->greatest;
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

/* Codes count from 0 as they are stored; the least value is in some block's descriptor. */
static int64_t least_value(const struct making *m)
{
	bool some = false;
	int64_t least = 0;
	for (uint32_t b = 0; b < m->segment->blocks && m->view->kind != RQL_STORE_CODED; b++) {
		const struct rql_store_block *block = &m->view->blocks[b];
		const int64_t low = rql_index_of_bound(m->view, block->least[0]);
		if (block->nulls < block->rows && (!some || low < least))
			least = low;
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

static void read_values(struct making *m, const struct rql_store_kernels *k, uint32_t block, int64_t *values)
{
	uint64_t valid[RQL_STORE_BLOCK / 64];
	const uint32_t rows = m->view->blocks[block].rows;
	rql_index_decode(k, m->view, block, 0, rows, values);
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
			read_values(m, k, b, values);
	}
	return RQL_OK;
}

static void destroy(struct rql_placement *placement)
{
	struct rql_index_run *run = (struct rql_index_run *)placement;
	rql_index_map_clear(&run->map);
	free(run);
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
static struct rql_place place_of(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	return (struct rql_place){.owner = segment->identity, .kind = kinds[form_of(of)], .part = of->column};
}

bool rql_index_run_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *cpu)
{
	const struct rql_place at = place_of(segment, of);
	return rql_placement_there(&at, cpu, NULL);
}

rql_status rql_index_run_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                             const struct rql_index_of *of, struct rql_device *cpu, struct rql_progress *progress,
                             struct rql_index_run **out, struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	const struct rql_place at = place_of(s, of);
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
