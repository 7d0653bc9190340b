/* Shapes: bins from a sample of a segment, and how vectors tell them apart. */
#include "method/sieve/sieve_run.h"
#include "util/simd.h"
#include "util/sort.h"

#define SAMPLE 65536u /* keys of which bounds are quantiles: an even bin is then within some per cent of its share */

struct rql_sieve_vectors rql_sieve_cut_vectors(const struct rql_sieve_shape *shape, uint32_t i)
{
	struct rql_sieve_vectors cut = {RQL_SIEVE_NO_ROW, RQL_SIEVE_NO_ROW, RQL_SIEVE_NO_ROW};
	if (!i)
		return cut;
	if (i >= shape->bins.count) {
		cut.first = shape->has_null ? shape->highs + shape->lows : RQL_SIEVE_EVERY_ROW;
		return cut;
	}
	const uint32_t high = shape->base ? i / shape->base : i, low = shape->base ? i % shape->base : 0;
	if (high)
		cut.first = high - 1;
	if (!low)
		return cut;
	cut.second = high < shape->highs ? high : RQL_SIEVE_EVERY_ROW;
	cut.third = shape->highs + low - 1; /* has no NULL either */
	return cut;
}

/* Words of 64 rows from anywhere in every block, so that tables in any order give fair quantiles. */
static uint32_t take_sample(const struct rql_store_segment *segment, const struct rql_store_view *view,
                            const struct rql_store_kernels *kernels, uint32_t words, uint64_t *sample)
{
	uint32_t count = 0;
	for (uint32_t b = 0; b < segment->blocks; b++) {
		const uint32_t there = (view->blocks[b].rows + 63u) / 64, taken = words < there ? words : there;
		for (uint32_t w = 0; w < taken; w++) {
			const uint32_t first = (b * 29 + w * there / taken) % there * 64;
			const uint32_t left = view->blocks[b].rows - first, rows = left < 64 ? left : 64;
			uint64_t keys[64], valid[1];
			rql_sieve_decode(kernels, view, b, first, rows, keys, valid);
			for (uint32_t r = 0; r < rows; r++)
				if (valid[0] >> r & 1)
					sample[count++] = keys[r];
		}
	}
	return count;
}

/* Two components where they make more bins of the vectors than one does, and there are as many. */
static void choose_digits(struct rql_sieve_shape *shape, const struct rql_sieve_form *form)
{
	const uint32_t count = shape->bins.count;
	if (count - 1 <= form->vectors) {
		shape->highs = count - 1;
		return;
	}
	shape->base = 1;
	while (shape->base * shape->base < count)
		shape->base++;
	shape->lows = shape->base - 1;
	shape->highs = (count + shape->base - 1) / shape->base - 1;
}

uint32_t rql_sieve_bins_most(const struct rql_sieve_form *form)
{
	const uint32_t highs = form->vectors / 2 + 1, lows = form->vectors + 2 - highs;
	const uint32_t bins = form->components == 1 ? form->vectors + 1 : highs * lows;
	return bins < RQL_SIEVE_BINS_MOST ? bins : RQL_SIEVE_BINS_MOST;
}

static void guess_rows(const struct rql_store_segment *segment, const uint64_t *sorted, uint32_t count,
                       struct rql_sieve_bins *bins)
{
	for (uint32_t b = 0, at = 0; b < bins->count; b++) {
		const uint32_t from = at;
		while (at < count && (b + 1 == bins->count || sorted[at] < bins->bounds[b]))
			at++;
		bins->bin[b].rows = (uint32_t)((double)segment->rows * (at - from) / (count ? count : 1));
	}
}

rql_status rql_sieve_shape_make(const struct rql_store_segment *segment, const struct rql_store_view *view,
                                const struct rql_sieve_form *form, const struct rql_store_kernels *kernels,
                                struct rql_mem *mem, struct rql_sieve_shape *shape, struct rql_error *err)
{
	const uint32_t words = (SAMPLE / 64 + segment->blocks - 1) / segment->blocks;
	uint64_t *sample, *spare;
	shape->block_count = segment->blocks;
	for (uint32_t b = 0; b < segment->blocks; b++)
		shape->has_null = shape->has_null || view->blocks[b].nulls;
	RQL_TRY(RQL_MEM_ARRAY(mem, sample, (uint64_t)segment->blocks * words * 64, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, spare, (uint64_t)segment->blocks * words * 64, err));
	const uint32_t count = take_sample(segment, view, kernels, words, sample);
	const uint64_t *sorted = rql_sort_words(sample, spare, count, 0);
	shape->bins.count = rql_sieve_bounds(sorted, count, rql_sieve_bins_most(form), shape->bins.bounds);
	guess_rows(segment, sorted, count, &shape->bins);
	choose_digits(shape, form);
	rql_mem_free(mem, sample);
	rql_mem_free(mem, spare);
	return RQL_OK;
}
