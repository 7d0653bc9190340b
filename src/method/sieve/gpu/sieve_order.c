/* Rows in order as a placement. */
#include "method/sieve/gpu/sieve_order.h"

#include <stdlib.h>
#include "method/sieve/gpu/sieve_rank.h"

struct ordering {
	const struct rql_store_snapshot *snapshot;
	uint32_t segment;
	const struct rql_index_of *of;
	struct rql_device *cpu;
	struct rql_progress *progress;
	uint64_t *uploaded;
};

static void destroy(struct rql_placement *placement)
{
	struct rql_sieve_order *o = (struct rql_sieve_order *)placement;
	rql_buffer_free(o->rows);
	rql_sieve_axis_free(&o->axis);
	free(o);
}

static rql_status fill(struct rql_sieve_order *o, const struct ordering *state, struct rql_device *gpu,
                       struct rql_error *err)
{
	const struct rql_store_view *view = &state->snapshot->segments[state->segment].columns[state->of->column];
	struct rql_sieve_placed *placed = NULL; /* for its keys */
	RQL_TRY(rql_sieve_placed_get(state->snapshot, state->segment, state->of, gpu, state->cpu, state->progress,
	                             state->uploaded, &placed, err));
	rql_status status = rql_sieve_rank(placed, view, gpu, state->progress, &o->rows, &o->axis, err);
	rql_placement_release(&placed->placement);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct ordering *ordering = state;
	struct rql_sieve_order *o = calloc(1, sizeof(*o));
	(void)at;
	if (!o)
		return rql_error_memory(err, sizeof(*o), "a sieve");
	o->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_status status = fill(o, ordering, device, err);
	if (status != RQL_OK) {
		destroy(&o->placement);
		return status;
	}
	o->placement.bytes = o->rows->bytes;
	*out = &o->placement;
	return RQL_OK;
}

/* Only the order of keys matters, whatever the vectors. */
static struct rql_place place_of(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	return (struct rql_place){.owner = segment->identity, .kind = "sieve order", .part = of->column};
}

rql_status rql_sieve_order_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                               const struct rql_index_of *of, struct rql_device *gpu, struct rql_device *cpu,
                               struct rql_progress *progress, uint64_t *uploaded, struct rql_sieve_order **out,
                               struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	struct ordering state = {snapshot, segment, of, cpu, progress, uploaded};
	struct rql_placement *placement = NULL;
	const struct rql_place at = place_of(s, of);
	rql_store_segment_watch(s, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, gpu, make, &state, &placement, err));
	*out = (struct rql_sieve_order *)placement;
	return RQL_OK;
}

bool rql_sieve_order_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                           const struct rql_device *gpu)
{
	const struct rql_place at = place_of(segment, of);
	return rql_placement_there(&at, gpu, NULL);
}
