/* Few rows of a block, one by one: a field each of packed blocks, a walk along the ends of runs, and of steps the groups
 * of 256 rows that have some of them. The row numbers are worked out once for all columns.
 *
 * Floor: a cache line a value, until that is the whole block. */
#include "method/scan/scan_query.h"

#include "column/pack.h"

/* Above one row in this many, unpacking all rows and closing up is faster. */
#define FETCHED 3u

static void fetch_packed(const struct rql_scan_worker *w, const uint8_t *data, const struct rql_store_block *block,
                         uint64_t *out)
{
	const uint64_t base = block->base[0];
	if (block->bits <= RQL_PACKED_MAX_BITS) {
		w->scan->kernels->fetch64(data, block->bits, base, w->selected, w->left, (int64_t *)out);
		return;
	}
	for (uint32_t i = 0; i < w->left; i++) {
		memcpy(&out[i], data + (size_t)w->selected[i] * 8, 8);
		out[i] += base;
	}
}

/* column/store/store.h, RUNS: ends, padded to 64 bytes, then the values' fields. */
static void fetch_runs(const struct rql_scan_worker *w, const uint8_t *data, const struct rql_store_block *block,
                       uint64_t *out)
{
	const uint16_t *ends = (const uint16_t *)(const void *)data;
	const struct rql_packed fields = {.data = (uint8_t *)(uintptr_t)data + ((size_t)block->runs * 2 + 63) / 64 * 64,
	                                  .bits = block->bits};
	uint32_t run = 0;
	for (uint32_t i = 0; i < w->left; i++) {
		while (ends[run] <= w->selected[i])
			run++;
		out[i] = block->base[0] + rql_packed_field(&fields, run);
	}
}

static void fetch_steps(const struct rql_scan_worker *w, const struct rql_store_view *view, uint64_t *out)
{
	int64_t group[RQL_STORE_DELTA_GROUP];
	for (uint32_t i = 0; i < w->left;) {
		uint32_t first = w->selected[i] / RQL_STORE_DELTA_GROUP * RQL_STORE_DELTA_GROUP,
				 end = first + RQL_STORE_DELTA_GROUP;
		uint32_t last = i + 1;
		while (last < w->left && w->selected[last] < end)
			last++;
		/* No further than the last of them: the sum goes on from row to row. */
		rql_store_decode_int64(w->scan->store, view, w->block, first, w->selected[last - 1] - first + 1, group);
		for (; i < last; i++)
			out[i] = (uint64_t)group[w->selected[i] - first];
	}
}

/* 64-bit words to what the lane has; I32 takes the first half of the room. */
static void settle(const struct rql_scan_worker *w, const struct rql_scan_column *c, const struct rql_store_view *view,
                   uint64_t *words)
{
	uint32_t *codes = (uint32_t *)words;
	double *reals = (double *)words;
	if (c->lane == RQL_LANE_I32) {
		for (uint32_t i = 0; i < w->left; i++) {
			uint32_t code = (uint32_t)words[i];
			memcpy(&codes[i], &code, sizeof(code));
		}
	} else if (c->lane == RQL_LANE_F64 && view->type.id == RQL_TYPE_FLOAT) {
		for (uint32_t i = 0; i < w->left; i++) {
			uint32_t bits = (uint32_t)words[i];
			float real;
			memcpy(&real, &bits, sizeof(real));
			double wide = real;
			memcpy(&reals[i], &wide, sizeof(wide));
		}
	}
}

bool rql_scan_fetch(struct rql_scan_worker *w, const struct rql_scan_column *c, void *out)
{
	const struct rql_store_view *view = &w->segment->columns[c->column];
	const struct rql_store_block *block = &view->blocks[w->block];
	const struct rql_scan_kernels *k = w->scan->kernels;
	const uint8_t *data = view->bytes + (uint64_t)block->data * 64;
	if (w->left * FETCHED > w->block_rows || c->lane == RQL_LANE_I128 || block->bits == 128 ||
	    block->encoding == RQL_STORE_CONSTANT)
		return false;
	if (w->selected_generation != w->generation)
		(void)k->select(w->mask, (w->block_rows + 63) / 64, w->selected);
	w->selected_generation = w->generation;
	bool packed = block->encoding == RQL_STORE_PACKED && block->bits >= 1;
	if (packed && c->lane == RQL_LANE_I32) {
		k->fetch32(data, block->bits, block->base[0], w->selected, w->left, out);
	} else {
		if (packed)
			fetch_packed(w, data, block, out);
		else if (block->encoding == RQL_STORE_RUNS)
			fetch_runs(w, data, block, out);
		else if (block->encoding == RQL_STORE_DELTA)
			fetch_steps(w, view, out);
		else
			return false;
		settle(w, c, view, out);
	}
	uint32_t *codes = out;
	if (view->translate)
		for (uint32_t i = 0; i < w->left; i++)
			codes[i] = view->translate[codes[i]];
	return true;
}
