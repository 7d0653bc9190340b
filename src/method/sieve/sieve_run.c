/* Runs: made of a segment's column, found and given up by the table of placements. */
#include "method/sieve/sieve_positions.h"

#include <stdio.h>
#include <stdlib.h>
#include "util/simd.h"

#define MORSEL 8u     /* blocks */
#define WORDS RQL_SIEVE_WORDS

/* ---- cuts ---- */
static const uint64_t *vector_of(const struct rql_sieve_run *run, uint32_t i)
{
	return i < RQL_SIEVE_EVERY_ROW ? run->vectors + (uint64_t)i * run->shape.block_count * WORDS : NULL;
}

const uint64_t *rql_sieve_valid(const struct rql_sieve_run *run)
{
	return run->shape.has_null ? vector_of(run, run->shape.highs + run->shape.lows) : NULL;
}

struct rql_sieve_cut rql_sieve_cut(const struct rql_sieve_run *run, uint32_t i)
{
	const struct rql_sieve_vectors cut = rql_sieve_cut_vectors(&run->shape, i);
	return (struct rql_sieve_cut){.first = vector_of(run, cut.first),
	                              .second = vector_of(run, cut.second),
	                              .third = vector_of(run, cut.third),
	                              .all = cut.first == RQL_SIEVE_EVERY_ROW};
}

/* ---- making ---- */
struct worker {
	uint64_t *keys;            /* [RQL_STORE_BLOCK] */
	uint16_t *bin;             /* [RQL_STORE_BLOCK] */
	uint64_t *digit;           /* [digits][WORDS]: rows with each */
	struct rql_sieve_bin *bins; /* of the blocks that it has read */
	uint64_t valid[WORDS];
};
struct making {
	const struct rql_store_segment *segment;
	const struct rql_store_view *view;
	const struct rql_store_kernels *kernels;
	struct rql_sieve_form form;
	struct rql_device *device;
	struct rql_budget *budget;
	struct rql_progress *progress;
	struct rql_sieve_run *run;
	struct rql_mem scratch;
	struct worker *workers; /* [threads] */
};

static bool is_cancelled(const struct making *m)
{
	return m->progress && atomic_load(&m->progress->cancel);
}

static rql_status open_workers(struct making *m, struct rql_error *err)
{
	const struct rql_sieve_run *run = m->run;
	const unsigned threads = rql_pool_threads(m->device->pool);
	const uint32_t digits = (run->shape.highs > run->shape.lows ? run->shape.highs : run->shape.lows) + 1;
	RQL_TRY(RQL_MEM_ZARRAY(&m->scratch, m->workers, threads, err));
	for (unsigned t = 0; t < threads; t++) {
		struct worker *w = &m->workers[t];
		RQL_TRY(RQL_MEM_ARRAY(&m->scratch, w->keys, RQL_STORE_BLOCK, err));
		RQL_TRY(RQL_MEM_ARRAY(&m->scratch, w->bin, RQL_STORE_BLOCK, err));
		RQL_TRY(RQL_MEM_ARRAY(&m->scratch, w->digit, (uint64_t)digits * WORDS, err));
		RQL_TRY(RQL_MEM_ARRAY(&m->scratch, w->bins, run->shape.bins.count, err));
		memcpy(w->bins, run->shape.bins.bin, run->shape.bins.count * sizeof(*w->bins));
	}
	return RQL_OK;
}

/* The bin of each row, and what the block and the bins have. */
static void find_bins(const struct making *m, struct worker *w, uint32_t b)
{
	const uint32_t rows = m->view->blocks[b].rows;
	struct rql_sieve_block block = {.least = UINT16_MAX, .rows = (uint16_t)rows, .nulls = m->view->blocks[b].nulls};
	rql_sieve_decode(m->kernels, m->view, b, 0, rows, w->keys, w->valid);
	for (uint32_t r = 0; r < rows; r++) {
		const uint32_t at = rql_sieve_bin_of(&m->run->shape.bins, w->keys[r]);
		struct rql_sieve_bin *bin = &w->bins[at];
		w->bin[r] = (uint16_t)at;
		if (!rql_bit(w->valid, r))
			continue;
		bin->rows++;
		bin->least = w->keys[r] < bin->least ? w->keys[r] : bin->least;
		bin->greatest = w->keys[r] > bin->greatest ? w->keys[r] : bin->greatest;
		block.least = at < block.least ? (uint16_t)at : block.least;
		block.greatest = at > block.greatest ? (uint16_t)at : block.greatest;
	}
	m->run->blocks[b] = block;
}

/* The nested vectors of one digit, from `vector` on: bit r of the i-th says that row r's digit is not above i. */
static void write_digit(const struct making *m, struct worker *w, uint32_t b, uint32_t divisor, uint32_t modulus,
                        uint32_t vector, uint32_t count)
{
	const uint32_t rows = m->view->blocks[b].rows;
	if (!count)
		return;
	memset(w->digit, 0, (uint64_t)(count + 1) * WORDS * sizeof(*w->digit));
	for (uint32_t r = 0; r < rows; r++) {
		const uint32_t digit = modulus ? w->bin[r] % modulus : w->bin[r] / divisor;
		w->digit[(uint64_t)digit * WORDS + r / 64] |= rql_bit(w->valid, r) << r % 64;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t *to = m->run->vectors + ((uint64_t)(vector + i) * m->run->shape.block_count + b) * WORDS;
		for (uint32_t k = 0; k < WORDS && i; k++)
			w->digit[i * WORDS + k] |= w->digit[(i - 1) * WORDS + k];
		memcpy(to, &w->digit[i * WORDS], WORDS * sizeof(*to));
	}
}

static void write_blocks(void *state, uint64_t index, unsigned worker)
{
	const struct making *m = state;
	struct rql_sieve_run *run = m->run;
	struct worker *w = &m->workers[worker];
	for (uint32_t b = (uint32_t)index * MORSEL; b < run->shape.block_count && b < (index + 1) * MORSEL; b++) {
		if (is_cancelled(m))
			return;
		const uint32_t rows = m->view->blocks[b].rows;
		find_bins(m, w, b);
		write_digit(m, w, b, run->shape.base ? run->shape.base : 1, 0, 0, run->shape.highs);
		write_digit(m, w, b, 1, run->shape.base, run->shape.highs, run->shape.lows);
		if (!run->shape.has_null)
			continue;
		uint64_t *valid = (uint64_t *)(uintptr_t)rql_sieve_valid(run) + (uint64_t)b * WORDS;
		memset(valid, 0, WORDS * sizeof(*valid));
		memcpy(valid, w->valid, (rows + 63) / 64 * sizeof(*valid));
	}
}

static void merge_bins(const struct making *m)
{
	for (unsigned t = 0; t < rql_pool_threads(m->device->pool); t++)
		for (uint32_t b = 0; b < m->run->shape.bins.count; b++) {
			const struct rql_sieve_bin *from = &m->workers[t].bins[b];
			struct rql_sieve_bin *to = &m->run->shape.bins.bin[b];
			to->rows += from->rows;
			to->least = from->least < to->least ? from->least : to->least;
			to->greatest = from->greatest > to->greatest ? from->greatest : to->greatest;
		}
}

static rql_status fill(struct making *m, struct rql_error *err)
{
	struct rql_sieve_run *run = m->run;
	const uint32_t most = rql_sieve_bins_most(&m->form);
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->shape.bins.bounds, most, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->shape.bins.bin, most, err));
	RQL_TRY(rql_sieve_shape_make(m->segment, m->view, &m->form, m->kernels, &m->scratch, &run->shape, err));
	for (uint32_t b = 0; b < run->shape.bins.count; b++)
		run->shape.bins.bin[b] = (struct rql_sieve_bin){.least = UINT64_MAX};
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->blocks, run->shape.block_count, err));
	const uint64_t vectors = rql_sieve_vector_count(&run->shape);
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->vectors, vectors * run->shape.block_count * WORDS, err));
	RQL_TRY(open_workers(m, err));
	rql_pool_run(m->device->pool, (run->shape.block_count + MORSEL - 1) / MORSEL, write_blocks, m);
	if (is_cancelled(m))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	merge_bins(m);
	if (rql_sieve_has_positions(&m->form))
		RQL_TRY(rql_sieve_positions_make(run, m->segment, m->view, m->device, m->progress, &m->scratch, err));
	return RQL_OK;
}

static void destroy(struct rql_placement *placement)
{
	struct rql_sieve_run *run = (struct rql_sieve_run *)placement;
	rql_mem_clear(&run->mem);
	free(run);
}

struct rql_sieve_run *rql_sieve_run_new(struct rql_device *cpu, struct rql_budget *budget)
{
	struct rql_sieve_run *run = calloc(1, sizeof(*run));
	if (!run)
		return NULL;
	run->placement = (struct rql_placement){.device = cpu, .destroy = destroy};
	rql_mem_init(&run->mem, budget, "a sieve");
	return run;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	struct making *m = state;
	struct rql_sieve_run *run = rql_sieve_run_new(device, m->budget);
	const uint64_t start = rql_now_ns();
	(void)at;
	if (!run)
		return rql_error_memory(err, sizeof(*run), "a sieve");
	m->run = run;
	m->device = device;
	rql_mem_init(&m->scratch, m->budget, "building a sieve");
	rql_status status = fill(m, err);
	rql_mem_clear(&m->scratch);
	run->placement.bytes = run->mem.held;
	run->placement.build_ms = (double)(rql_now_ns() - start) / 1e6;
	if (status == RQL_OK)
		*out = &run->placement;
	else
		destroy(&run->placement);
	return status;
}

/* ---- finding ---- */
/* The key says the form, so that sieves of several forms of one column live beside each other. */
struct rql_place rql_sieve_place_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                                    char key[32])
{
	const struct rql_store_view *view = &segment->columns[of->column];
	(void)snprintf(key, 32, "%ux%u%s%s", of->sieve.vectors, of->sieve.components,
	               rql_sieve_has_positions(&of->sieve) ? "p" : "",
	               view->kind == RQL_STORE_INTEGER && rql_sieve_is_wide(view->type) ? "w" : "");
	return (struct rql_place){.owner = segment->identity, .kind = "sieve", .part = of->column, .key = key};
}

bool rql_sieve_run_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *cpu)
{
	char key[32];
	const struct rql_place at = rql_sieve_place_of(segment, of, key);
	return rql_placement_there(&at, cpu, NULL);
}

rql_status rql_sieve_run_get(const struct rql_store_snapshot *snapshot, uint32_t segment, const struct rql_index_of *of,
                             struct rql_device *cpu, struct rql_progress *progress, struct rql_sieve_run **out,
                             struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	struct making m = {.segment = s,
	                   .view = &s->columns[of->column],
	                   .kernels = rql_store_kernels_for(cpu->simd),
	                   .form = of->sieve,
	                   .budget = rql_store_budget(snapshot),
	                   .progress = progress};
	struct rql_placement *placement = NULL;
	struct rql_error why = {0};
	char key[32];
	const struct rql_place at = rql_sieve_place_of(s, of, key);
	rql_store_segment_watch(s, rql_placements_drop);
	rql_status status = rql_placement_get(&at, cpu, make, &m, &placement, &why);
	if (status == RQL_OK)
		*out = (struct rql_sieve_run *)placement;
	rql_error_move(err, &why);
	return status;
}
