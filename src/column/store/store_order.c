/* The order of a build's rows. Workers take parts of the table as they come and deliver each from its first row to its
 * last; what a worker delivered are its blocks, one after another. Here those are brought back into the table's order:
 * by stretches, which are short to write down, and cuts, of which all but a few are whole blocks and stay as they are.
 *
 * DuckDB's threads take row groups as their morsels (V. Leis, P. Boncz, A. Kemper, T. Neumann: Morsel-Driven
 * Parallelism, SIGMOD 2014, section 2). These are 122880 rows as a rule, 30 blocks exactly, but need not be, and rows of
 * them may be deleted; so nothing is assumed about them, and a block that two of them share is divided afterwards. */
#include "column/store/store_internal.h"

#include <stdlib.h>

/* ---- what a worker delivers ---- */

static rql_status add_stretch(struct rql_store_track *track, struct rql_mem *mem, struct rql_store_stretch stretch,
                              struct rql_error *err)
{
	struct rql_store_stretch *last = track->count ? &track->stretches[track->count - 1] : NULL;
	if (last && stretch.first > last->last && stretch.first - 1 == last->last) {
		last->last = stretch.last;
		last->rows += stretch.rows;
		return RQL_OK;
	}
	if (track->count == track->capacity) {
		uint64_t capacity = track->capacity ? track->capacity * 2 : 16;
		struct rql_store_stretch *stretches;
		RQL_TRY(RQL_MEM_ARRAY(mem, stretches, capacity, err));
		if (track->count)
			memcpy(stretches, track->stretches, track->count * sizeof(*stretches));
		rql_mem_free(mem, track->stretches);
		track->stretches = stretches;
		track->capacity = capacity;
	}
	track->stretches[track->count++] = stretch;
	return RQL_OK;
}

rql_status rql_store_track_add(struct rql_store_track *track, struct rql_mem *mem, uint64_t row,
                               const int64_t *positions, uint64_t rows, struct rql_error *err)
{
	track->unknown = track->unknown || !positions;
	for (uint64_t first = 0, end; first < rows && !track->unknown; first = end) {
		for (end = first + 1; end < rows && positions[end] > positions[end - 1];)
			end++;
		struct rql_store_stretch stretch = {
			.first = positions[first], .last = positions[end - 1], .row = row + first, .rows = end - first};
		RQL_TRY(add_stretch(track, mem, stretch, err));
	}
	return RQL_OK;
}

/* ---- all of them, in order ---- */

static int compare_stretches(const void *a, const void *b)
{
	const struct rql_store_stretch *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

/* False: rows of two stretches stand among each other. What goes on where the one before ended is joined with it. */
static bool sort_stretches(struct rql_store_stretch *stretches, uint64_t *count)
{
	uint64_t kept = 0;
	qsort(stretches, *count, sizeof(*stretches), compare_stretches);
	for (uint64_t i = 0; i < *count; i++) {
		struct rql_store_stretch *last = kept ? &stretches[kept - 1] : NULL;
		if (last && last->last >= stretches[i].first)
			return false;
		if (last && last->worker == stretches[i].worker && last->row + last->rows == stretches[i].row) {
			last->last = stretches[i].last;
			last->rows += stretches[i].rows;
		} else {
			stretches[kept++] = stretches[i];
		}
	}
	*count = kept;
	return true;
}

/* The stretches of all workers; when some rows have no position, or no place among the others, what each worker
 * delivered is one. */
static rql_status collect(const struct rql_store_delivery *deliveries, uint32_t workers, struct rql_mem *mem,
                          struct rql_store_stretch **out, uint64_t *out_count, bool *ordered, struct rql_error *err)
{
	struct rql_store_stretch *all;
	uint64_t count = 0, most = workers;
	*ordered = true;
	for (uint32_t w = 0; w < workers; w++) {
		*ordered = *ordered && !deliveries[w].track->unknown;
		most += deliveries[w].track->count;
	}
	RQL_TRY(RQL_MEM_ARRAY(mem, all, most, err));
	for (uint32_t w = 0; w < workers && *ordered; w++) {
		for (uint64_t i = 0; i < deliveries[w].track->count; i++) {
			all[count] = deliveries[w].track->stretches[i];
			all[count++].worker = w;
		}
	}
	*ordered = *ordered && sort_stretches(all, &count);
	for (uint32_t w = 0; w < workers && !*ordered; w++)
		all[w] = (struct rql_store_stretch){.rows = deliveries[w].rows, .worker = w};
	*out = all;
	*out_count = *ordered ? count : workers;
	return RQL_OK;
}

/* ---- cuts ---- */

struct cutter {
	struct rql_store_order *order;
	uint32_t filled, blocks; /* of the block and of the segment that are being filled */
};

static void cut(struct cutter *cutter, uint32_t worker, uint64_t row, uint32_t rows)
{
	struct rql_store_order *order = cutter->order;
	bool starts = !order->cut_count || cutter->filled + rows > RQL_STORE_BLOCK;
	if (starts) {
		if (!order->cut_count || cutter->blocks == RQL_STORE_SEGMENT) {
			order->segments[order->segment_count++] = order->cut_count;
			cutter->blocks = 0;
		}
		cutter->blocks++;
		cutter->filled = 0;
	}
	cutter->filled += rows;
	order->cuts[order->cut_count++] = (struct rql_store_cut){.worker = worker,
	                                                         .block = (uint32_t)(row / RQL_STORE_BLOCK),
	                                                         .first = (uint16_t)(row % RQL_STORE_BLOCK),
	                                                         .rows = (uint16_t)rows,
	                                                         .starts = starts};
}

rql_status rql_store_order_make(const struct rql_store_delivery *deliveries, uint32_t workers, struct rql_mem *mem,
                                struct rql_store_order *out, struct rql_error *err)
{
	struct rql_store_stretch *stretches;
	struct cutter cutter = {.order = out};
	uint64_t count, most = 0;
	RQL_TRY(collect(deliveries, workers, mem, &stretches, &count, &out->ordered, err));
	for (uint64_t i = 0; i < count; i++)
		most += stretches[i].rows / RQL_STORE_BLOCK + 2;
	RQL_TRY(RQL_MEM_ARRAY(mem, out->cuts, most, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, out->segments, most / RQL_STORE_SEGMENT + 2, err));
	for (uint64_t i = 0; i < count; i++) {
		const struct rql_store_stretch *s = &stretches[i];
		for (uint64_t row = s->row, end = s->row + s->rows; row < end;) {
			uint64_t room = RQL_STORE_BLOCK - row % RQL_STORE_BLOCK, n = end - row < room ? end - row : room;
			cut(&cutter, s->worker, row, (uint32_t)n);
			row += n;
		}
	}
	out->segments[out->segment_count] = out->cut_count;
	rql_mem_free(mem, stretches);
	return RQL_OK;
}
