/* Blocks sorted on the device. */
#include "method/sieve/gpu/sieve_blocks.h"

#include <stdlib.h>
#include "method/sieve/gpu/sieve_kernels.h"
#include "shaders/method/sieve/sieve_sort.comp.h"

#define WORKGROUP 256u
#define SHARED_BYTES (2 * RQL_SIEVE_BLOCK_ROWS * 4u)

_Static_assert(RQL_SIEVE_BLOCK_ROWS == RQL_STORE_BLOCK, "a block is sorted as a whole");

static const struct rql_kernel sort_kernel = {
	.name = "sieve.sort",
	.spirv = rql_spv_sieve_sort_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_sort_comp),
	.args_bytes = sizeof(struct rql_sieve_sort_args),
};

struct sorting {
	const struct rql_store_segment *segment;
	const struct rql_store_view *view;
	const struct rql_sieve_placed *placed;
	struct rql_progress *progress;
};

static uint32_t stride_of(uint32_t bins)
{
	return (bins + 2) / 2 * 2; /* starts of all bins and an end, whole words */
}

static void destroy(struct rql_placement *placement)
{
	struct rql_sieve_blocks *b = (struct rql_sieve_blocks *)placement;
	rql_buffer_free(b->buffer);
	free(b);
}

/* What the kernel reads beside keys: bounds, then how many rows each block has. */
static rql_status upload_shape(const struct sorting *s, struct rql_device *gpu, struct rql_buffer **out,
                               struct rql_error *err)
{
	const struct rql_sieve_bins *bins = &s->placed->shape.bins;
	const uint64_t words = bins->count - UINT64_C(1) + s->segment->blocks;
	RQL_TRY(rql_buffer_new(gpu, (words + !words) * sizeof(uint32_t), RQL_MEMORY_UPLOAD, "bins of a sieve", out, err));
	uint32_t *to = (*out)->map;
	for (uint32_t b = 0; b + 1 < bins->count; b++)
		*to++ = (uint32_t)(bins->bounds[b] - s->placed->least);
	for (uint32_t b = 0; b < s->segment->blocks; b++)
		*to++ = s->view->blocks[b].rows;
	return RQL_OK;
}

static rql_status run_kernel(const struct rql_sieve_blocks *b, const struct sorting *s, const struct rql_buffer *shape,
                             struct rql_device *gpu, struct rql_error *err)
{
	const struct rql_sieve_placed *placed = s->placed;
	const uint64_t vector = (uint64_t)s->segment->blocks * RQL_STORE_BLOCK / 8, vectors = placed->buffer->address;
	const uint32_t size = gpu->limits.group_size < WORKGROUP ? gpu->limits.group_size : WORKGROUP;
	const uint32_t bins = placed->shape.bins.count, without = placed->shape.highs + placed->shape.lows;
	const struct rql_sieve_sort_args args = {.keys = vectors + placed->keys_at,
	                                         .valid = placed->shape.has_null ? vectors + without * vector : 0,
	                                         .block_rows = shape->address + (bins - UINT64_C(1)) * sizeof(uint32_t),
	                                         .bounds = shape->address,
	                                         .to_keys = b->buffer->address,
	                                         .to_rows = b->buffer->address + b->rows_at,
	                                         .to_starts = b->buffer->address + b->starts_at,
	                                         .blocks = s->segment->blocks,
	                                         .bins = bins,
	                                         .stride = b->stride};
	const struct rql_use uses[] = {{b->buffer, RQL_WRITE},
	                               {placed->buffer, RQL_READ},
	                               {(struct rql_buffer *)(uintptr_t)shape, RQL_READ}};
	const struct rql_pipeline *pipeline;
	struct rql_commands *commands;
	RQL_TRY(rql_pipeline_get(gpu, &sort_kernel, &size, 1, &pipeline, err));
	RQL_TRY(rql_commands_new(gpu, 0, &commands, err));
	rql_record_dispatch(commands, "sieve blocks", pipeline, &args, s->segment->blocks, uses, 3);
	return rql_commands_finish(commands, RQL_OK, s->progress, NULL, err);
}

static rql_status fill(struct rql_sieve_blocks *b, const struct sorting *s, struct rql_device *gpu,
                       struct rql_error *err)
{
	const uint64_t rows = (uint64_t)s->segment->blocks * RQL_STORE_BLOCK;
	struct rql_buffer *shape = NULL;
	b->stride = stride_of(s->placed->shape.bins.count);
	b->rows_at = rows * sizeof(uint32_t);
	b->starts_at = b->rows_at + rows * sizeof(uint16_t);
	const uint64_t bytes = b->starts_at + (uint64_t)s->segment->blocks * b->stride * sizeof(uint16_t);
	RQL_TRY(rql_buffer_new(gpu, bytes + !bytes * 16, RQL_MEMORY_DEVICE, "blocks of a sieve", &b->buffer, err));
	RQL_TRY(upload_shape(s, gpu, &shape, err));
	rql_status status = run_kernel(b, s, shape, gpu, err);
	rql_buffer_free(shape);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	struct rql_sieve_blocks *b = calloc(1, sizeof(*b));
	(void)at;
	if (!b)
		return rql_error_memory(err, sizeof(*b), "a sieve");
	b->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_status status = fill(b, state, device, err);
	if (status != RQL_OK) {
		destroy(&b->placement);
		return status;
	}
	b->placement.bytes = b->buffer->bytes;
	*out = &b->placement;
	return RQL_OK;
}

/* Where bins begin depends on the vectors, too. */
static struct rql_place place_of(const struct rql_store_segment *segment, const struct rql_index_of *of, char key[32])
{
	struct rql_place at = rql_sieve_place_of(segment, of, key);
	at.kind = "sieve blocks";
	return at;
}

rql_status rql_sieve_blocks_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, const struct rql_sieve_placed *placed,
                                struct rql_device *gpu, struct rql_progress *progress, struct rql_sieve_blocks **out,
                                struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	struct sorting state = {s, &s->columns[of->column], placed, progress};
	struct rql_placement *placement = NULL;
	char key[32];
	const struct rql_place at = place_of(s, of, key);
	*out = NULL;
	if (placed->wide || placed->shape.bins.count > RQL_SIEVE_BLOCK_BINS_MOST || gpu->limits.shared_bytes < SHARED_BYTES)
		return RQL_OK;
	rql_store_segment_watch(s, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, gpu, make, &state, &placement, err));
	*out = (struct rql_sieve_blocks *)placement;
	return RQL_OK;
}

bool rql_sieve_blocks_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                            const struct rql_device *gpu)
{
	char key[32];
	const struct rql_place at = place_of(segment, of, key);
	return rql_placement_there(&at, gpu, NULL);
}

uint64_t rql_sieve_blocks_bound(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, const struct rql_device *gpu)
{
	const struct rql_store_column *column = &snapshot->columns[of->column];
	const uint32_t bins = rql_sieve_bins_most(&of->sieve);
	const bool narrow = column->kind == RQL_STORE_CODED ||
	                    (column->kind == RQL_STORE_INTEGER && column->greatest - column->least <= UINT32_MAX);
	if (!narrow || bins > RQL_SIEVE_BLOCK_BINS_MOST || gpu->limits.shared_bytes < SHARED_BYTES)
		return 0;
	return snapshot->segments[segment].blocks *
	       (RQL_STORE_BLOCK * UINT64_C(6) + stride_of(bins) * sizeof(uint16_t));
}
