/* A segment's keys copied to a GPU, and vectors made of them there. */
#include "method/sieve/gpu/sieve_place.h"

#include <stdlib.h>
#include "method/sieve/gpu/sieve_kernels.h"
#include "shaders/method/sieve/sieve_make.comp.h"
#include "util/simd.h"

#define WORDS RQL_SIEVE_WORDS
#define WORKGROUP 64u

static const struct rql_kernel make_kernel = {
	.name = "sieve.make",
	.spirv = rql_spv_sieve_make_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_make_comp),
	.args_bytes = sizeof(struct rql_sieve_make_args),
};

struct placing {
	const struct rql_store_snapshot *snapshot;
	uint32_t segment;
	const struct rql_index_of *of;
	struct rql_device *cpu;
	struct rql_progress *progress;
	uint64_t *uploaded;
};

/* ---- shape ---- */
/* The least and greatest key that blocks say, perhaps with NULL's code. */
static void find_span(const struct rql_store_segment *segment, const struct rql_store_view *view,
                      struct rql_sieve_placed *p)
{
	uint64_t least = UINT64_MAX, greatest = 0;
	for (uint32_t b = 0; b < segment->blocks; b++) {
		const struct rql_store_block *block = &view->blocks[b];
		if (block->nulls == block->rows && view->kind != RQL_STORE_CODED)
			continue;
		uint64_t ends[2] = {block->least[0], block->greatest[0]};
		const uint64_t high[2] = {block->least[1], block->greatest[1]};
		for (unsigned e = 0; e < 2; e++) {
			const rql_int128 value = (rql_int128)((rql_uint128)high[e] << 64 | ends[e]);
			double real;
			memcpy(&real, &ends[e], sizeof(real));
			ends[e] = view->kind == RQL_STORE_REAL      ? rql_sieve_real_key(real)
			          : view->kind == RQL_STORE_INTEGER ? rql_sieve_value_key(view->type, value)
			                                            : ends[e];
		}
		least = ends[0] < least ? ends[0] : least;
		greatest = ends[1] > greatest ? ends[1] : greatest;
	}
	p->least = least <= greatest ? least : 0;
	p->span = least <= greatest ? greatest - least : 0;
	p->wide = p->span > UINT32_MAX;
}

/* What bounds say of a bin's keys: the kernel counts none. */
static void bound_bins(struct rql_sieve_placed *p)
{
	struct rql_sieve_bins *bins = &p->shape.bins;
	for (uint32_t b = 0; b < bins->count; b++) {
		bins->bin[b].least = b ? bins->bounds[b - 1] : p->least;
		bins->bin[b].greatest = b + 1 < bins->count ? bins->bounds[b] - 1 : p->least + p->span;
	}
}

/* Where the CPU has a run, its bins are these, and it knows them better. */
static rql_status copy_bins(struct rql_sieve_placed *p, const struct placing *state, struct rql_error *err)
{
	const struct rql_store_segment *segment = &state->snapshot->segments[state->segment];
	struct rql_sieve_run *run = NULL;
	if (!rql_sieve_run_there(segment, state->of, state->cpu))
		return RQL_OK;
	RQL_TRY(rql_sieve_run_get(state->snapshot, state->segment, state->of, state->cpu, state->progress, &run, err));
	memcpy(p->shape.bins.bin, run->shape.bins.bin, run->shape.bins.count * sizeof(*run->shape.bins.bin));
	rql_placement_release(&run->placement);
	return RQL_OK;
}

static rql_status make_shape(struct rql_sieve_placed *p, const struct placing *state, struct rql_error *err)
{
	const struct rql_store_segment *segment = &state->snapshot->segments[state->segment];
	const struct rql_store_view *view = &segment->columns[state->of->column];
	const uint32_t most = rql_sieve_bins_most(&state->of->sieve);
	struct rql_mem mem;
	p->shape.bins.bounds = calloc(most, sizeof(*p->shape.bins.bounds));
	p->shape.bins.bin = calloc(most, sizeof(*p->shape.bins.bin));
	if (!p->shape.bins.bounds || !p->shape.bins.bin)
		return rql_error_memory(err, most * sizeof(*p->shape.bins.bin), "bins of a sieve");
	rql_mem_init(&mem, rql_store_budget(state->snapshot), "building a sieve");
	rql_status status = rql_sieve_shape_make(segment, view, &state->of->sieve, rql_store_kernels_for(state->cpu->simd),
	                                         &mem, &p->shape, err);
	rql_mem_clear(&mem);
	if (status != RQL_OK)
		return status;
	find_span(segment, view, p);
	bound_bins(p);
	return copy_bins(p, state, err);
}

/* ---- keys ---- */
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

/* What goes over the link in one piece, written by all threads where the device copies it from: keys, the vector of rows
 * with a key, bounds, and how many rows each block has. */
struct piece {
	struct rql_buffer *buffer;
	uint64_t key_bytes, valid_bytes, bound_bytes; /* one behind another; then the rows */
};

static void write_valid(const struct rql_store_segment *segment, const struct rql_store_view *view,
                        const struct rql_store_kernels *kernels, uint64_t *to)
{
	for (uint32_t b = 0; b < segment->blocks; b++) {
		uint64_t valid[WORDS] = {0};
		(void)rql_store_decode_validity(kernels, view, b, 0, view->blocks[b].rows, valid);
		memcpy(to + (uint64_t)b * WORDS, valid, sizeof(valid)); /* mapped memory is only written */
	}
}

static rql_status write_piece(const struct rql_sieve_placed *p, const struct placing *state, struct rql_device *gpu,
                              struct piece *piece, struct rql_error *err)
{
	const struct rql_store_segment *segment = &state->snapshot->segments[state->segment];
	const struct rql_store_view *view = &segment->columns[state->of->column];
	const struct rql_store_kernels *kernels = rql_store_kernels_for(state->cpu->simd);
	const uint64_t rows = (uint64_t)p->shape.block_count * RQL_STORE_BLOCK, bounds = p->shape.bins.count - UINT64_C(1);
	piece->key_bytes = rows * (p->wide ? 8 : 4);
	piece->valid_bytes = p->shape.has_null ? rows / 8 : 0;
	piece->bound_bytes = bounds * sizeof(uint64_t);
	const uint64_t before = piece->key_bytes + piece->valid_bytes;
	RQL_TRY(rql_buffer_new(gpu, before + piece->bound_bytes + segment->blocks * sizeof(uint32_t), RQL_MEMORY_UPLOAD,
	                       "keys of a sieve", &piece->buffer, err));
	uint8_t *map = piece->buffer->map;
	struct key_writing w = {.placed = p, .kernels = kernels, .view = view, .keys = map};
	rql_pool_run(state->cpu->pool, segment->blocks, write_keys, &w);
	if (piece->valid_bytes)
		write_valid(segment, view, kernels, (uint64_t *)(void *)(map + piece->key_bytes));
	for (uint64_t b = 0; b < bounds; b++)
		((uint64_t *)(void *)(map + before))[b] = p->shape.bins.bounds[b] - p->least;
	for (uint32_t b = 0; b < segment->blocks; b++)
		((uint32_t *)(void *)(map + before + piece->bound_bytes))[b] = view->blocks[b].rows;
	return RQL_OK;
}

/* ---- vectors ---- */
static rql_status record_vectors(const struct rql_sieve_placed *p, const struct piece *piece, uint64_t valid_at,
                                 struct rql_device *gpu, struct rql_commands *c, struct rql_error *err)
{
	const struct rql_sieve_shape *shape = &p->shape;
	const uint32_t group = gpu->limits.group_size < WORKGROUP ? gpu->limits.group_size : WORKGROUP;
	const uint64_t bounds = piece->buffer->address + piece->key_bytes + piece->valid_bytes;
	const struct rql_sieve_make_args args = {
		.keys = p->buffer->address + p->keys_at,
		.bounds = bounds,
		.vectors = p->buffer->address,
		.valid = shape->has_null ? p->buffer->address + valid_at : 0,
		.rows = bounds + piece->bound_bytes,
		.bins = shape->bins.count,
		.base = shape->base,
		.highs = shape->highs,
		.lows = shape->lows,
		.words = shape->block_count * (RQL_STORE_BLOCK / 32),
		.wide = p->wide};
	const struct rql_use uses[] = {{p->buffer, RQL_READ_WRITE}, {piece->buffer, RQL_READ}};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(gpu, &make_kernel, &group, 1, &pipeline, err));
	rql_record_dispatch(c, "sieve vectors", pipeline, &args, (args.words + group - 1) / group, uses, 2);
	return RQL_OK;
}

static rql_status record(const struct rql_sieve_placed *p, const struct piece *piece, uint64_t valid_at,
                         struct rql_device *gpu, struct rql_commands *c, struct rql_error *err)
{
	rql_record_copy(c, piece->buffer, 0, p->buffer, p->keys_at, piece->key_bytes);
	if (piece->valid_bytes)
		rql_record_copy(c, piece->buffer, piece->key_bytes, p->buffer, valid_at, piece->valid_bytes);
	return valid_at ? record_vectors(p, piece, valid_at, gpu, c, err) : RQL_OK;
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
	struct piece piece = {0};
	struct rql_commands *c = NULL;
	RQL_TRY(make_shape(p, state, err));
	const uint64_t rows = (uint64_t)p->shape.block_count * RQL_STORE_BLOCK;
	const uint64_t valid_at = ((uint64_t)p->shape.highs + p->shape.lows) * rows / 8; /* behind the other vectors */
	p->keys_at = rql_sieve_vector_count(&p->shape) * rows / 8;
	RQL_TRY(rql_buffer_new(gpu, p->keys_at + rows * (p->wide ? 8 : 4), RQL_MEMORY_DEVICE, "a sieve", &p->buffer, err));
	rql_status status = write_piece(p, state, gpu, &piece, err);
	if (status == RQL_OK)
		status = rql_commands_new(gpu, 0, &c, err);
	if (status == RQL_OK)
		status = rql_commands_finish(c, record(p, &piece, valid_at, gpu, c, err), state->progress, NULL, err);
	rql_buffer_free(piece.buffer);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct placing *placing = state;
	struct rql_sieve_placed *p = calloc(1, sizeof(*p));
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
	*placing->uploaded += p->buffer->bytes - p->keys_at;
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
