/* Rows sorted bin by bin, all threads at once; axes. */
#include "method/sieve/sieve_sorted.h"

#include <stdlib.h>
#include "util/simd.h"
#include "util/sort.h"

#define WORDS RQL_SIEVE_WORDS
#define ROW_BITS 22u /* of a row of a segment */
#define VALUE_BITS 21u

_Static_assert(RQL_STORE_SEGMENT * RQL_STORE_BLOCK == 1u << ROW_BITS, "rows of a segment");

struct sorting {
	const struct rql_sieve_shape *shape;
	const struct rql_store_view *view;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	struct rql_sieve_sorted *out;
	uint32_t *counts;  /* [blocks][bins + 1]: rows; then where they go */
	uint32_t *starts;  /* [bins + 2] */
	uint64_t **words;  /* [threads][2 * most rows of a bin] */
};

static bool is_cancelled(const struct sorting *s)
{
	return s->progress && atomic_load(&s->progress->cancel);
}

static void read_block(void *state, uint64_t index, unsigned worker)
{
	const struct sorting *s = state;
	const uint32_t rows = s->view->blocks[index].rows, none = s->shape->bins.count;
	uint64_t *keys = s->out->keys + index * RQL_STORE_BLOCK, valid[WORDS];
	uint16_t *bins = s->out->bins + index * RQL_STORE_BLOCK;
	uint32_t *counts = s->counts + index * (none + 1);
	(void)worker;
	if (is_cancelled(s))
		return;
	rql_sieve_decode(s->kernels, s->view, (uint32_t)index, 0, rows, keys, valid);
	for (uint32_t r = 0; r < rows; r++) {
		const bool has = valid[r / 64] >> r % 64 & 1;
		bins[r] = (uint16_t)(has ? rql_sieve_bin_of(&s->shape->bins, keys[r]) : none);
		counts[bins[r]]++;
	}
}

static uint32_t place_bins(struct sorting *s)
{
	const uint32_t bins = s->shape->bins.count + 1;
	uint32_t at = 0, most = 0;
	for (uint32_t b = 0; b < bins; b++) {
		s->starts[b] = at;
		for (uint32_t k = 0; k < s->shape->block_count; k++) {
			uint32_t *count = &s->counts[(uint64_t)k * bins + b], here = *count;
			*count = at;
			at += here;
		}
		most = b + 1 < bins && at - s->starts[b] > most ? at - s->starts[b] : most;
	}
	s->starts[bins] = at;
	s->out->count = s->starts[bins - 1];
	s->out->nulls = at - s->out->count;
	return most;
}

static void put_block(void *state, uint64_t index, unsigned worker)
{
	const struct sorting *s = state;
	uint32_t *at = s->counts + index * (s->shape->bins.count + 1);
	const uint32_t first = (uint32_t)index * RQL_STORE_BLOCK, rows = s->view->blocks[index].rows;
	(void)worker;
	for (uint32_t r = 0; r < rows && !is_cancelled(s); r++)
		s->out->rows[at[s->out->bins[first + r]]++] = first + r;
}

static int by_key(const void *context, uint32_t a, uint32_t b)
{
	const uint64_t *keys = context;
	return (keys[a] > keys[b]) - (keys[a] < keys[b]);
}

static void sort_bin(void *state, uint64_t index, unsigned worker)
{
	const struct sorting *s = state;
	const struct rql_sieve_bin *bin = &s->shape->bins.bin[index];
	uint32_t *rows = s->out->rows + s->starts[index];
	const uint32_t count = s->starts[index + 1] - s->starts[index];
	uint64_t *words = s->words[worker], *spare = words + count;
	if (bin->least >= bin->greatest || is_cancelled(s))
		return;
	if (bin->greatest - bin->least >= UINT64_C(1) << (64 - ROW_BITS)) {
		rql_sort_items(rows, (uint32_t *)spare, count, by_key, s->out->keys);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		words[i] = (s->out->keys[rows[i]] - bin->least) << ROW_BITS | rows[i];
	const uint64_t *sorted = rql_sort_words(words, spare, count, ROW_BITS);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = (uint32_t)(sorted[i] & ((1u << ROW_BITS) - 1));
}

static rql_status open_sorting(struct sorting *s, struct rql_mem *mem, uint64_t *rows, struct rql_error *err)
{
	const uint64_t blocks = s->shape->block_count, bins = s->shape->bins.count + 1;
	*rows = 0;
	for (uint32_t b = 0; b < blocks; b++)
		*rows += s->view->blocks[b].rows;
	RQL_TRY(RQL_MEM_ARRAY(mem, s->out->keys, blocks * RQL_STORE_BLOCK, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, s->out->bins, blocks * RQL_STORE_BLOCK, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, s->out->rows, *rows + 1, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, s->counts, blocks * bins, err));
	return RQL_MEM_ARRAY(mem, s->starts, bins + 1, err);
}

static rql_status sort_bins(struct sorting *s, struct rql_device *cpu, struct rql_mem *mem, uint32_t most,
                            struct rql_error *err)
{
	const unsigned threads = rql_pool_threads(cpu->pool);
	RQL_TRY(RQL_MEM_ZARRAY(mem, s->words, threads, err));
	for (unsigned t = 0; t < threads; t++)
		RQL_TRY(RQL_MEM_ARRAY(mem, s->words[t], 2 * (uint64_t)most + 1, err));
	rql_pool_run(cpu->pool, s->shape->bins.count, sort_bin, s);
	for (unsigned t = 0; t < threads; t++)
		rql_mem_free(mem, s->words[t]);
	return RQL_OK;
}

rql_status rql_sieve_sort(const struct rql_sieve_shape *shape, const struct rql_store_view *view,
                          struct rql_device *cpu, struct rql_progress *progress, struct rql_mem *mem,
                          struct rql_sieve_sorted *out, struct rql_error *err)
{
	struct sorting s = {.shape = shape,
	                    .view = view,
	                    .kernels = rql_store_kernels_for(cpu->simd),
	                    .progress = progress,
	                    .out = out};
	uint64_t rows;
	*out = (struct rql_sieve_sorted){0};
	RQL_TRY(open_sorting(&s, mem, &rows, err));
	rql_pool_run(cpu->pool, shape->block_count, read_block, &s);
	const uint32_t most = place_bins(&s);
	rql_pool_run(cpu->pool, shape->block_count, put_block, &s);
	RQL_TRY(sort_bins(&s, cpu, mem, most, err));
	rql_mem_free(mem, s.words);
	rql_mem_free(mem, s.counts);
	rql_mem_free(mem, s.starts);
	if (is_cancelled(&s))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	return RQL_OK;
}

void rql_sieve_sorted_free(struct rql_sieve_sorted *sorted, struct rql_mem *mem)
{
	rql_mem_free(mem, sorted->keys);
	rql_mem_free(mem, sorted->bins);
	rql_mem_free(mem, sorted->rows);
	*sorted = (struct rql_sieve_sorted){0};
}

/* ---- axes ---- */
static rql_status make_marks(const struct rql_sieve_sorted *sorted, struct rql_sieve_axis *out, struct rql_error *err)
{
	out->mark_count = (sorted->count + RQL_SIEVE_MARK - 1) / RQL_SIEVE_MARK;
	out->marks = malloc(((uint64_t)out->mark_count + 1) * sizeof(*out->marks));
	if (!out->marks)
		return rql_error_memory(err, out->mark_count * sizeof(*out->marks), "ranks of a sieve");
	for (uint32_t m = 0; m < out->mark_count; m++)
		out->marks[m] = sorted->keys[sorted->rows[m * RQL_SIEVE_MARK]];
	out->size = sorted->count;
	return RQL_OK;
}

static rql_status copy_bounds(const struct rql_sieve_bins *from, struct rql_sieve_axis *out, struct rql_error *err)
{
	out->bins.count = from->count;
	out->bins.bounds = malloc(from->count * sizeof(*from->bounds));
	if (!out->bins.bounds)
		return rql_error_memory(err, from->count * sizeof(*from->bounds), "bins of a sieve");
	memcpy(out->bins.bounds, from->bounds, (from->count - 1) * sizeof(*from->bounds));
	out->size = from->count;
	return RQL_OK;
}

rql_status rql_sieve_axis_make(enum rql_sieve_axis_kind kind, const struct rql_sieve_shape *shape,
                               const struct rql_sieve_sorted *sorted, struct rql_sieve_axis *out,
                               struct rql_error *err)
{
	*out = (struct rql_sieve_axis){.kind = kind};
	if (!sorted->count)
		return RQL_OK;
	out->least = sorted->keys[sorted->rows[0]];
	out->greatest = sorted->keys[sorted->rows[sorted->count - 1]];
	if (kind == RQL_SIEVE_BY_RANK)
		return make_marks(sorted, out, err);
	if (kind == RQL_SIEVE_BY_BIN)
		return copy_bounds(&shape->bins, out, err);
	while ((out->greatest - out->least) >> out->shift >> VALUE_BITS)
		out->shift++;
	out->size = (uint32_t)((out->greatest - out->least) >> out->shift) + 1;
	return RQL_OK;
}

void rql_sieve_axis_free(struct rql_sieve_axis *axis)
{
	free(axis->marks);
	free(axis->bins.bounds);
	*axis = (struct rql_sieve_axis){0};
}

/* How many marks are below the key, or not above it. */
static uint32_t marks_below(const struct rql_sieve_axis *axis, uint64_t key, bool or_equal)
{
	uint32_t low = 0, high = axis->mark_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (axis->marks[middle] < key || (or_equal && axis->marks[middle] == key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool rql_sieve_axis_places(const struct rql_sieve_axis *axis, uint64_t least, uint64_t greatest, uint32_t *low,
                           uint32_t *high)
{
	if (!axis->size || least > greatest || greatest < axis->least || least > axis->greatest)
		return false;
	least = least < axis->least ? axis->least : least;
	greatest = greatest > axis->greatest ? axis->greatest : greatest;
	if (axis->kind == RQL_SIEVE_BY_VALUE) {
		*low = (uint32_t)((least - axis->least) >> axis->shift);
		*high = (uint32_t)((greatest - axis->least) >> axis->shift);
		return true;
	}
	if (axis->kind == RQL_SIEVE_BY_BIN) {
		*low = rql_sieve_bin_of(&axis->bins, least);
		*high = rql_sieve_bin_of(&axis->bins, greatest);
		return true;
	}
	/* All ranks up to a mark below `least` are below it; all from a mark above `greatest` on are above it. */
	const uint32_t below = marks_below(axis, least, false), until = marks_below(axis, greatest, true);
	*low = below ? (below - 1) * RQL_SIEVE_MARK + 1 : 0;
	*high = until < axis->mark_count ? until * RQL_SIEVE_MARK - 1 : axis->size - 1;
	return *low <= *high;
}
