/* Look-ups of an index on a GPU: see the header. */
#include "method/index/index_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "column/store.h"
#include "method/rows.h"

struct context {
	struct rql_stage_context base;
	struct rql_index_found found;
};

static struct rql_index_gpu *gpu_of(const struct rql_stage *stage)
{
	return (struct rql_index_gpu *)(uintptr_t)stage;
}

/* ---- placing ---- */
static void unplace(struct rql_index_gpu *gpu)
{
	for (uint32_t s = 0; gpu->placed && s < gpu->snapshot->segment_count; s++)
		rql_placement_release(gpu->placed[s]);
	free(gpu->placed);
	free(gpu->batches);
	gpu->placed = NULL;
	gpu->batches = NULL;
	rql_stage_buffer_free(gpu->probes);
	gpu->probes = NULL;
}

/* Probes of a segment into `to`: all lows, then all highs. */
static void write_probes(const struct rql_index_gpu *gpu, uint32_t s, uint8_t *to, uint64_t at)
{
	const uint32_t width = gpu->ops->key_bytes(gpu, s);
	const uint64_t highs = at + (uint64_t)gpu->look_ups * width;
	uint64_t count = 0;
	for (uint32_t i = 0; i < gpu->look_ups; i++) {
		uint64_t low, high;
		if (!gpu->ops->probe(gpu, s, i, &low, &high))
			continue;
		memcpy(to + at + count * width, &low, width); /* little-endian */
		memcpy(to + highs + count * width, &high, width);
		count++;
	}
	gpu->batches[s] = (struct rql_index_batch){.lows = {gpu->probes, at}, .highs = {gpu->probes, highs}, .count = count};
}

static rql_status upload_probes(struct rql_index_gpu *gpu, struct rql_error *err)
{
	const uint64_t each = ((uint64_t)gpu->look_ups * 16 + 15) / 16 * 16;
	const uint64_t bytes = each * gpu->snapshot->segment_count + 16;
	uint8_t *probes = calloc(1, bytes);
	if (!probes)
		return rql_error_memory(err, bytes, "a query on a GPU");
	rql_status status = rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_DEVICE, "the probes of a query",
	                                         &gpu->probes, err);
	for (uint32_t s = 0; s < gpu->snapshot->segment_count && status == RQL_OK; s++)
		write_probes(gpu, s, probes, s * each);
	if (status == RQL_OK)
		status = rql_buffer_upload(gpu->probes, 0, probes, bytes, err);
	free(probes);
	return status;
}

static rql_status place_all(struct rql_index_gpu *gpu, struct rql_progress *progress, struct rql_error *err)
{
	for (uint32_t s = 0; s < gpu->snapshot->segment_count; s++)
		RQL_TRY(gpu->ops->place(gpu, s, progress, &gpu->placed[s], err));
	return upload_probes(gpu, err);
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_index_gpu *gpu = gpu_of(stage);
	const uint32_t segments = gpu->snapshot->segment_count + 1;
	(void)nothing; /* who reads the rows expects some bitmap */
	if (gpu->placed)
		return RQL_OK;
	gpu->placed = calloc(segments, sizeof(*gpu->placed));
	gpu->batches = calloc(segments, sizeof(*gpu->batches));
	rql_status status = gpu->placed && gpu->batches ? place_all(gpu, progress, err)
	                                                : rql_error_memory(err, segments * 48, "a query on a GPU");
	if (status != RQL_OK)
		unplace(gpu);
	return status;
}

/* ---- recording ---- */
uint64_t rql_index_gpu_rows_bytes(const struct rql_index_gpu *gpu)
{
	const uint64_t blocks = gpu->snapshot->blocks;
	return (blocks + !blocks) * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t);
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	struct context *x = calloc(1, sizeof(*x));
	(void)inputs;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of an index");
	*out = &x->base;
	if (gpu->state_bytes)
		RQL_TRY(rql_stage_buffer_new(stage->device, gpu->state_bytes, RQL_MEMORY_DEVICE, "the state of look-ups",
		                             &x->found.state, err));
	return rql_stage_buffer_new(stage->device, rql_index_gpu_rows_bytes(gpu), RQL_MEMORY_DEVICE, "the rows of an index",
	                            &x->found.rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_stage_buffer_free(x->found.rows);
	rql_stage_buffer_free(x->found.state);
	free(x);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	const struct rql_index_found *found = &((const struct context *)base)->found;
	rql_record_fill(commands, found->rows, 0, rql_index_gpu_rows_bytes(gpu), 0);
	for (uint32_t s = 0; s < gpu->snapshot->segment_count; s++)
		if (gpu->batches[s].count)
			RQL_TRY(gpu->ops->record(gpu, s, &gpu->batches[s], found, commands, err));
	return RQL_OK;
}

static void give_rows(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_rows *out)
{
	(void)stage;
	*out = (struct rql_rows){.buffer = ((const struct context *)base)->found.rows};
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	return rql_index_gpu_rows_bytes(gpu) + gpu->state_bytes;
}

static const struct rql_stage_ops stage_ops = {.place = place,
                                               .open = open_context,
                                               .close = close_context,
                                               .record = record,
                                               .rows = give_rows,
                                               .bytes = context_bytes};

/* ---- the whole ---- */
rql_status rql_index_gpu_init(struct rql_index_gpu *gpu, const struct rql_index_gpu_ops *ops,
                              const struct rql_store_snapshot *snapshot, struct rql_device *device,
                              struct rql_error *err)
{
	gpu->ops = ops;
	gpu->snapshot = snapshot;
	return rql_stage_init(&gpu->stage, &stage_ops, device, err);
}

void rql_index_gpu_clear(struct rql_index_gpu *gpu)
{
	rql_stage_clear(&gpu->stage);
	unplace(gpu);
}

uint64_t rql_index_gpu_bytes(const struct rql_index_gpu *gpu)
{
	return gpu->snapshot->segment_count * (sizeof(*gpu->placed) + sizeof(*gpu->batches));
}
