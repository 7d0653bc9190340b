/* Making what rays look up in, from a segment's sorted run. */
#include "method/index/rt/rx_placed.h"

#include <stdlib.h>

struct placing {
	const struct rql_store_snapshot *snapshot;
	uint32_t segment;
	const struct rql_index_of *of;
	struct rql_device *cpu;
	struct rql_progress *progress;
	uint64_t *uploaded;
};

static void destroy(struct rql_placement *placement)
{
	struct rql_rx_placed *p = (struct rql_rx_placed *)placement;
	rql_rx_free(p->rx);
	rql_cgrx_free(p->cgrx);
	rql_buffer_free(p->keys);
	rql_buffer_free(p->rows);
	rql_mem_clear(&p->mem);
	free(p);
}

static rql_status upload(struct rql_rx_placed *p, const struct rql_index_map *map, struct rql_device *gpu,
                         struct rql_error *err)
{
	const uint64_t key_bytes = (uint64_t)map->count * (map->narrow ? 4 : 8), row_bytes = (uint64_t)map->count * 4;
	RQL_TRY(rql_buffer_new(gpu, key_bytes, RQL_MEMORY_DEVICE, "keys of an index", &p->keys, err));
	RQL_TRY(rql_buffer_new(gpu, row_bytes, RQL_MEMORY_DEVICE, "rows of an index", &p->rows, err));
	RQL_TRY(rql_buffer_upload(p->keys, 0, map->keys, key_bytes, err));
	return rql_buffer_upload(p->rows, 0, map->rows, row_bytes, err);
}

/* Space and bits that cgRX drops: as many as it must where the cut is given, else whole steps of them, so that drivers
 * compile few pipelines. */
static void place_coarse(const struct rql_ray_design *design, struct rql_cgrx_spec *spec)
{
	if (design->bits[0]) {
		spec->space = rql_rx_cut(design->bits);
		while (!rql_key_fits(&spec->space, (spec->last - spec->base) >> spec->drop))
			spec->drop++;
		return;
	}
	rql_cgrx_choose_space(spec);
	spec->drop = spec->drop / 8 * 8;
	spec->space = rql_rx_lattice((spec->last - spec->base) >> spec->drop);
}

static rql_status build_coarse(struct rql_rx_placed *p, const struct rql_ray_design *design, struct rql_cgrx_spec *spec,
                               struct rql_progress *progress, struct rql_error *err)
{
	spec->log2_bucket = rql_rx_log2_bucket(design);
	place_coarse(design, spec);
	RQL_TRY(rql_cgrx_build(spec, progress, &p->cgrx, err));
	p->placement.bytes = p->cgrx->bytes;
	rql_buffer_free(p->keys); /* it has its own */
	rql_buffer_free(p->rows);
	p->keys = p->rows = NULL;
	return RQL_OK;
}

static rql_status build(struct rql_rx_placed *p, const struct placing *state, uint64_t count, struct rql_error *err)
{
	const struct rql_index_of *of = state->of;
	struct rql_progress *progress = state->progress;
	const struct rql_span keys = {p->keys, 0}, rows = {p->rows, 0};
	const uint32_t key_bits = p->narrow ? 32 : 64;
	const bool compact = !of->rays.loose;
	if (of->form == RQL_INDEX_CGRX) {
		struct rql_cgrx_spec spec = {.key_bits = key_bits, .count = count, .keys = keys, .rows = rows,
		                             .last = p->greatest, .compact = compact};
		return build_coarse(p, &of->rays, &spec, progress, err);
	}
	struct rql_rx_spec spec = {.key_bits = key_bits, .count = count, .keys = keys, .rows = rows, .last = p->greatest,
	                           .primitive = rql_rx_primitive_of(&of->rays), .compact = compact};
	const uint64_t bound = rql_index_key_bound(&state->snapshot->segments[state->segment], of);
	(void)rql_rx_space(&of->rays, bound, p->greatest, &spec.space);
	RQL_TRY(rql_rx_build(&spec, progress, &p->rx, err));
	p->placement.bytes = p->rx->bytes + p->rows->bytes;
	if (spec.primitive != RQL_RX_TRIANGLES) {
		p->placement.bytes += p->keys->bytes;
		return RQL_OK;
	}
	rql_buffer_free(p->keys); /* triangles need them no more */
	p->keys = NULL;
	p->rx->spec.keys.buffer = NULL;
	return RQL_OK;
}

static rql_status fill(struct rql_rx_placed *p, const struct placing *state, struct rql_device *gpu,
                       struct rql_error *err)
{
	struct rql_index_of sorted = *state->of;
	struct rql_index_run *run = NULL;
	sorted.form = RQL_INDEX_SORTED;
	RQL_TRY(rql_index_run_get(state->snapshot, state->segment, &sorted, state->cpu, state->progress, &run, err));
	p->greatest = run->map.greatest;
	p->narrow = run->map.narrow;
	rql_status status = rql_index_places_copy(&run->key, &p->mem, &p->key, err);
	if (status == RQL_OK && run->map.count) {
		status = upload(p, &run->map, gpu, err);
		*state->uploaded += (uint64_t)run->map.count * (p->narrow ? 8 : 12);
		if (status == RQL_OK)
			status = build(p, state, run->map.count, err);
	}
	rql_placement_release(&run->placement);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	struct rql_rx_placed *p = calloc(1, sizeof(*p));
	(void)at;
	if (!p)
		return rql_error_memory(err, sizeof(*p), "an index");
	p->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_mem_init(&p->mem, rql_store_budget(((const struct placing *)state)->snapshot), "an index on a GPU");
	rql_status status = fill(p, state, device, err);
	if (status != RQL_OK) {
		destroy(&p->placement);
		return status;
	}
	*out = &p->placement;
	return RQL_OK;
}

static struct rql_place place_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                                 char key[RQL_RUN_KEY])
{
	char columns[RQL_INDEX_KEY_BYTES];
	const struct rql_place run = rql_index_place_of(segment, of, columns);
	return rql_index_rays_place(of, &run, key);
}

rql_status rql_rx_placed_get(const struct rql_store_snapshot *snapshot, uint32_t segment, const struct rql_index_of *of,
                             struct rql_device *gpu, struct rql_device *cpu, struct rql_progress *progress,
                             uint64_t *uploaded, struct rql_rx_placed **out, struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	struct placing state = {snapshot, segment, of, cpu, progress, uploaded};
	struct rql_placement *placement = NULL;
	char key[RQL_RUN_KEY];
	const struct rql_place at = place_of(s, of, key);
	rql_store_segment_watch(s, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, gpu, make, &state, &placement, err));
	*out = (struct rql_rx_placed *)placement;
	return RQL_OK;
}

bool rql_rx_placed_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *gpu)
{
	char key[RQL_RUN_KEY];
	const struct rql_place at = place_of(segment, of, key);
	return rql_placement_there(&at, gpu, NULL);
}

uint64_t rql_rx_placed_bound(const struct rql_store_segment *segment, const struct rql_index_of *of,
                             const struct rql_device *gpu)
{
	const struct rql_ray_design *design = &of->rays;
	const double primitive = gpu->profile.primitive_bytes * (design->loose ? 2 : 1), rows = (double)segment->rows;
	if (of->form == RQL_INDEX_CGRX)
		return (uint64_t)(rows * (12 + 2 * (primitive + 4) / (1 << rql_rx_log2_bucket(design))));
	return (uint64_t)(rows * (primitive + 4 + (design->primitive == RQL_RAY_TRIANGLE ? 0 : 8)));
}
