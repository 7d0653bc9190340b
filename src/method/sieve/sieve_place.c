/* Runs copied to a GPU, with keys beside. */
#include "method/sieve/sieve_place.h"

#include <stdlib.h>
#include "util/simd.h"

#define WORDS RQL_SIEVE_WORDS

struct placing {
	const struct rql_store_snapshot *snapshot;
	uint32_t segment;
	const struct rql_index_of *of;
	struct rql_device *cpu;
	struct rql_progress *progress;
	uint64_t *uploaded;
};

static rql_status copy_shape(const struct rql_sieve_shape *from, struct rql_sieve_placed *p, struct rql_error *err)
{
	p->shape = *from;
	p->shape.bins.bounds = calloc(from->bins.count, sizeof(*from->bins.bounds));
	p->shape.bins.bin = calloc(from->bins.count, sizeof(*from->bins.bin));
	if (!p->shape.bins.bounds || !p->shape.bins.bin)
		return rql_error_memory(err, from->bins.count * sizeof(*from->bins.bin), "bins of a sieve");
	memcpy(p->shape.bins.bounds, from->bins.bounds, (from->bins.count - 1) * sizeof(*from->bins.bounds));
	memcpy(p->shape.bins.bin, from->bins.bin, from->bins.count * sizeof(*from->bins.bin));
	uint64_t least = UINT64_MAX, greatest = 0;
	for (uint32_t b = 0; b < from->bins.count; b++) {
		least = from->bins.bin[b].least < least ? from->bins.bin[b].least : least;
		greatest = from->bins.bin[b].greatest > greatest ? from->bins.bin[b].greatest : greatest;
	}
	p->least = least <= greatest ? least : 0;
	p->span = least <= greatest ? greatest - least : 0;
	p->wide = p->span > UINT32_MAX;
	return RQL_OK;
}

/* A parallel loop over the segment's blocks. */
struct key_writing {
	const struct rql_sieve_placed *placed;
	const struct rql_store_kernels *kernels;
	const struct rql_store_view *view;
	void *keys;
};

static void write_keys(void *state, uint64_t index, unsigned worker)
{
	const struct key_writing *w = state;
	const uint32_t rows = w->view->blocks[index].rows;
	uint64_t keys[256], valid[4];
	(void)worker;
	for (uint32_t first = 0; first < rows; first += 256) {
		const uint32_t n = rows - first < 256 ? rows - first : 256;
		const uint64_t at = index * RQL_STORE_BLOCK + first;
		rql_sieve_decode(w->kernels, w->view, (uint32_t)index, first, n, keys, valid);
		for (uint32_t r = 0; r < n; r++) {
			if (w->placed->wide)
				((uint64_t *)w->keys)[at + r] = keys[r] - w->placed->least;
			else
				((uint32_t *)w->keys)[at + r] = (uint32_t)(keys[r] - w->placed->least);
		}
	}
}

static rql_status upload_keys(struct rql_sieve_placed *p, const struct placing *state, uint64_t bytes,
                              struct rql_error *err)
{
	const struct rql_store_segment *segment = &state->snapshot->segments[state->segment];
	struct key_writing w = {.placed = p,
	                        .kernels = rql_store_kernels_for(state->cpu->simd),
	                        .view = &segment->columns[state->of->column],
	                        .keys = calloc(1, bytes)};
	if (!w.keys)
		return rql_error_memory(err, bytes, "keys of a sieve");
	rql_pool_run(state->cpu->pool, segment->blocks, write_keys, &w);
	rql_status status = rql_buffer_upload(p->buffer, p->keys_at, w.keys, bytes, err);
	free(w.keys);
	return status;
}

static void destroy(struct rql_placement *placement)
{
	struct rql_sieve_placed *p = (struct rql_sieve_placed *)placement;
	rql_buffer_free(p->buffer);
	free(p->shape.bins.bounds);
	free(p->shape.bins.bin);
	free(p);
}

static rql_status fill(struct rql_sieve_placed *p, const struct placing *state, struct rql_device *gpu,
                       struct rql_error *err)
{
	struct rql_sieve_run *run = NULL;
	RQL_TRY(rql_sieve_run_get(state->snapshot, state->segment, state->of, state->cpu, state->progress, &run, err));
	rql_status status = copy_shape(&run->shape, p, err);
	const uint64_t rows = (uint64_t)run->shape.block_count * RQL_STORE_BLOCK, keys = rows * (p->wide ? 8 : 4);
	p->keys_at = rql_sieve_vector_count(&run->shape) * rows / 8;
	if (status == RQL_OK)
		status = rql_buffer_new(gpu, p->keys_at + keys, RQL_MEMORY_DEVICE, "a sieve", &p->buffer, err);
	if (status == RQL_OK && p->keys_at)
		status = rql_buffer_upload(p->buffer, 0, run->vectors, p->keys_at, err);
	if (status == RQL_OK)
		status = upload_keys(p, state, keys, err);
	rql_placement_release(&run->placement);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct placing *placing = state;
	struct rql_sieve_placed *p = calloc(1, sizeof(*p));
	const uint64_t start = rql_now_ns();
	(void)at;
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a sieve");
	p->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_status status = fill(p, placing, device, err);
	if (status != RQL_OK) {
		destroy(&p->placement);
		return status;
	}
	p->placement.bytes = p->buffer->bytes;
	p->placement.build_ms = (double)(rql_now_ns() - start) / 1e6;
	*placing->uploaded += p->buffer->bytes;
	*out = &p->placement;
	return RQL_OK;
}

rql_status rql_sieve_placed_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, struct rql_device *gpu, struct rql_device *cpu,
                                struct rql_progress *progress, uint64_t *uploaded, struct rql_sieve_placed **out,
                                struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	struct placing state = {snapshot, segment, of, cpu, progress, uploaded};
	struct rql_placement *placement = NULL;
	char key[32];
	const struct rql_place at = rql_sieve_place_of(s, of, key);
	rql_store_segment_watch(s, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, gpu, make, &state, &placement, err));
	*out = (struct rql_sieve_placed *)placement;
	return RQL_OK;
}

bool rql_sieve_placed_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                            const struct rql_device *gpu)
{
	char key[32];
	const struct rql_place at = rql_sieve_place_of(segment, of, key);
	return rql_placement_there(&at, gpu, NULL);
}

uint64_t rql_sieve_placed_bound(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	return (uint64_t)segment->blocks * RQL_STORE_BLOCK / 8 * (of->sieve.vectors + 1 + 64);
}
