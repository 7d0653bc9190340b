/* Sieves ahead of the first query, and what is there of them (method/contents.h). */
#include "method/contents.h"

#include "method/sieve/gpu/sieve_blocks.h"
#include "method/sieve/gpu/sieve_order.h"

static rql_status place_segment(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, struct rql_device *device, struct rql_progress *progress,
                                struct rql_error *err)
{
	struct rql_device *cpu = device->host ? (struct rql_device *)(uintptr_t)device->host : device;
	struct rql_sieve_run *run = NULL;
	struct rql_sieve_placed *placed = NULL;
	struct rql_sieve_order *order = NULL;
	struct rql_sieve_blocks *blocks = NULL;
	uint64_t uploaded = 0;
	if (device == cpu) {
		RQL_TRY(rql_sieve_run_get(snapshot, segment, of, cpu, progress, &run, err));
		rql_placement_release(&run->placement);
		return RQL_OK;
	}
	RQL_TRY(rql_sieve_placed_get(snapshot, segment, of, device, cpu, progress, &uploaded, &placed, err));
	rql_status status = of->sieve.refine == RQL_SIEVE_BLOCKS
	                        ? rql_sieve_blocks_get(snapshot, segment, of, placed, device, progress, &blocks, err)
	                        : RQL_OK;
	rql_placement_release(&placed->placement);
	rql_placement_release(blocks ? &blocks->placement : NULL);
	RQL_TRY(status);
	if (!rql_sieve_has_order(of->sieve.refine))
		return RQL_OK; /* spaces are of the columns that a query asks for */
	RQL_TRY(rql_sieve_order_get(snapshot, segment, of, device, cpu, progress, &uploaded, &order, err));
	rql_placement_release(&order->placement);
	return RQL_OK;
}

/* A loop over segments side by side: each has a sample to sort and keys to write, which one thread does, while the device
 * works for another. */
struct placing {
	const struct rql_store_snapshot *snapshot;
	const struct rql_index_of *of;
	struct rql_device *device;
	struct rql_progress *progress;
	_Atomic bool failed;
};

static void place_one(void *state, uint64_t index, unsigned worker)
{
	struct placing *p = state;
	struct rql_error ignored = {0};
	(void)worker;
	if (!atomic_load(&p->failed) &&
	    place_segment(p->snapshot, (uint32_t)index, p->of, p->device, p->progress, &ignored) != RQL_OK)
		atomic_store(&p->failed, true);
	rql_error_clear(&ignored);
}

rql_status rql_sieve_place(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                           struct rql_device *device, struct rql_progress *progress, struct rql_error *err)
{
	struct placing p = {.snapshot = snapshot, .of = of, .device = device, .progress = progress};
	if (!rql_sieve_can(&snapshot->columns[of->column]))
		return RQL_OK;
	if (device->host && snapshot->segment_count > 1)
		rql_pool_run(device->host->pool, snapshot->segment_count, place_one, &p);
	/* What is there is found; what had no room beside others may have it alone, or says what it lacks. */
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		RQL_TRY(place_segment(snapshot, s, of, device, progress, err));
	return RQL_OK;
}

uint64_t rql_sieve_bytes(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                         struct rql_device *cpu, uint64_t *rows)
{
	uint64_t bytes = 0;
	*rows = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		struct rql_sieve_run *run = NULL;
		if (!rql_sieve_run_there(&snapshot->segments[s], of, cpu) ||
		    rql_sieve_run_get(snapshot, s, of, cpu, NULL, &run, NULL) != RQL_OK)
			continue;
		bytes += run->placement.bytes;
		*rows += snapshot->segments[s].rows;
		rql_placement_release(&run->placement);
	}
	return bytes;
}
