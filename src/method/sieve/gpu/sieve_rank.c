/* Rows sorted by primitive/'s radix sort. Where numbers of rows have gaps (NULLs, blocks that are not full), the rows
 * with a key are listed first.
 *
 * Floor, in bytes a row of 32-bit keys that span all of them: four digits, each of which reads a key twice and writes it,
 * and reads and writes the row: 80 in all, and 4 for the sorted rows. */
#include "method/sieve/gpu/sieve_rank.h"

#include <stdlib.h>
#include "method/sieve/gpu/sieve_kernels.h"
#include "primitive/primitive.h"
#include "shaders/method/sieve/sieve_gather.comp.h"

#define WORDS RQL_SIEVE_WORDS
#define WORKGROUP 128u

static const struct rql_kernel gather_kernel = {
	.name = "sieve.gather",
	.spirv = rql_spv_sieve_gather_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_gather_comp),
	.args_bytes = sizeof(struct rql_sieve_gather_args),
};

enum { LIVE, LISTED, FOUND, GATHERED, SORTED, TEMP, MARKS, BUFFERS };
struct ranking {
	const struct rql_sieve_placed *placed;
	const struct rql_store_view *view;
	struct rql_device *gpu;
	struct rql_buffer *buffers[BUFFERS];
	struct rql_buffer *rows;
	uint32_t count, marks, numbers; /* numbers: of rows, as if all blocks were full */
	bool gaps;
};

static struct rql_span at(struct rql_buffer *buffer, uint64_t offset)
{
	return (struct rql_span){buffer, offset};
}

static uint32_t key_bytes(const struct ranking *r)
{
	return r->placed->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

static void count_rows(struct ranking *r)
{
	const uint32_t blocks = r->placed->shape.block_count;
	for (uint32_t b = 0; b < blocks; b++) {
		const struct rql_store_block *block = &r->view->blocks[b];
		r->count += block->rows - block->nulls;
		r->gaps = r->gaps || block->nulls || (b + 1 < blocks && block->rows < RQL_STORE_BLOCK);
	}
	r->numbers = blocks * RQL_STORE_BLOCK;
	r->marks = (r->count + RQL_SIEVE_MARK - 1) / RQL_SIEVE_MARK;
}

static rql_status room(struct ranking *r, unsigned buffer, uint64_t bytes, enum rql_memory memory,
                       struct rql_error *err)
{
	return rql_buffer_new(r->gpu, bytes ? bytes : 8, memory, "sorting the rows of a sieve", &r->buffers[buffer], err);
}

/* Which numbers are rows with a key: the vector of NULLs knows it, else the blocks do. */
static rql_status find_live(struct ranking *r, struct rql_span *bits, struct rql_error *err)
{
	const struct rql_sieve_shape *shape = &r->placed->shape;
	if (shape->has_null) {
		*bits = at(r->placed->buffer, ((uint64_t)shape->highs + shape->lows) * r->numbers / 8);
		return RQL_OK;
	}
	RQL_TRY(room(r, LIVE, r->numbers / 8, RQL_MEMORY_UPLOAD, err));
	uint64_t *live = r->buffers[LIVE]->map;
	for (uint32_t b = 0; b < shape->block_count; b++)
		for (uint32_t w = 0; w < WORDS; w++)
			*live++ = rql_rows_live(r->view->blocks[b].rows, w);
	*bits = at(r->buffers[LIVE], 0);
	return RQL_OK;
}

static rql_status record_gather(struct ranking *r, struct rql_commands *c, const struct rql_sieve_gather_args *args,
                                struct rql_buffer *from, struct rql_buffer *rows, struct rql_buffer *to,
                                struct rql_error *err)
{
	const uint32_t group = r->gpu->limits.group_size < WORKGROUP ? r->gpu->limits.group_size : WORKGROUP;
	const struct rql_use uses[] = {{from, RQL_READ}, {to, RQL_WRITE}, {rows, RQL_READ}};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(r->gpu, &gather_kernel, &group, 1, &pipeline, err));
	rql_record_dispatch(c, "sieve gather", pipeline, args, (args->count + UINT64_C(1) * group - 1) / group, uses,
	                    rows ? 3 : 2);
	return RQL_OK;
}

/* Rows with a key in their order, and their keys side by side. */
static rql_status record_list(struct ranking *r, struct rql_commands *c, struct rql_error *err)
{
	struct rql_compact list = {.kind = RQL_COMPACT_BITS, .index_bits = 32, .count = r->numbers};
	RQL_TRY(find_live(r, &list.in, err));
	RQL_TRY(room(r, LISTED, r->numbers * UINT64_C(4), RQL_MEMORY_DEVICE, err));
	RQL_TRY(room(r, FOUND, 8 + rql_compact_temp_bytes(&list), RQL_MEMORY_DEVICE, err));
	RQL_TRY(room(r, GATHERED, (uint64_t)r->count * key_bytes(r), RQL_MEMORY_DEVICE, err));
	list.out = at(r->buffers[LISTED], 0);
	list.found = at(r->buffers[FOUND], 0);
	list.temp = at(r->buffers[FOUND], 8);
	RQL_TRY(rql_record_compact(c, &list, err));
	const struct rql_sieve_gather_args args = {.keys = r->placed->buffer->address + r->placed->keys_at,
	                                           .rows = r->buffers[LISTED]->address,
	                                           .out_keys = r->buffers[GATHERED]->address,
	                                           .count = r->count,
	                                           .most = r->count - 1,
	                                           .stride = 1,
	                                           .wide = r->placed->wide};
	return record_gather(r, c, &args, r->placed->buffer, r->buffers[LISTED], r->buffers[GATHERED], err);
}

static uint32_t bits_of(uint64_t span)
{
	return span ? 64u - (uint32_t)__builtin_clzll(span) : 1; /* a sort needs a bit to make a permutation of */
}

static rql_status record_sort(struct ranking *r, struct rql_commands *c, struct rql_error *err)
{
	struct rql_sort sort = {.key_bits = key_bytes(r) * 8,
	                        .value_bits = 32,
	                        .high_bit = bits_of(r->placed->span),
	                        .count = r->count,
	                        .keys_in = at(r->placed->buffer, r->placed->keys_at),
	                        .values_out = at(r->rows, 0)};
	if (r->gaps) {
		sort.keys_in = at(r->buffers[GATHERED], 0);
		sort.values_in = at(r->buffers[LISTED], 0);
	}
	RQL_TRY(room(r, SORTED, (uint64_t)r->count * key_bytes(r), RQL_MEMORY_DEVICE, err));
	RQL_TRY(room(r, TEMP, rql_sort_temp_bytes(&sort), RQL_MEMORY_DEVICE, err));
	sort.keys_out = at(r->buffers[SORTED], 0);
	sort.temp = at(r->buffers[TEMP], 0);
	return rql_record_sort(c, &sort, err);
}

/* Every RQL_SIEVE_MARK-th key, then the last one. */
static rql_status record_marks(struct ranking *r, struct rql_commands *c, struct rql_error *err)
{
	RQL_TRY(room(r, MARKS, (r->marks + UINT64_C(1)) * key_bytes(r), RQL_MEMORY_READBACK, err));
	const struct rql_sieve_gather_args args = {.keys = r->buffers[SORTED]->address,
	                                           .out_keys = r->buffers[MARKS]->address,
	                                           .count = r->marks + 1,
	                                           .most = r->count - 1,
	                                           .stride = RQL_SIEVE_MARK,
	                                           .wide = r->placed->wide};
	return record_gather(r, c, &args, r->buffers[SORTED], NULL, r->buffers[MARKS], err);
}

static rql_status record(struct ranking *r, struct rql_commands *c, struct rql_error *err)
{
	if (r->gaps)
		RQL_TRY(record_list(r, c, err));
	RQL_TRY(record_sort(r, c, err));
	return record_marks(r, c, err);
}

static rql_status take_axis(const struct ranking *r, struct rql_sieve_axis *axis, struct rql_error *err)
{
	const void *marks = r->buffers[MARKS]->map;
	uint64_t *keys = malloc((r->marks + UINT64_C(1)) * sizeof(*keys));
	if (!keys)
		return rql_error_memory(err, r->marks * sizeof(*keys), "ranks of a sieve");
	for (uint32_t m = 0; m <= r->marks; m++)
		keys[m] = r->placed->least + (r->placed->wide ? ((const uint64_t *)marks)[m] : ((const uint32_t *)marks)[m]);
	*axis = (struct rql_sieve_axis){.kind = RQL_SIEVE_BY_RANK,
	                                .size = r->count,
	                                .least = keys[0],
	                                .greatest = keys[r->marks],
	                                .marks = keys,
	                                .mark_count = r->marks};
	return RQL_OK;
}

static rql_status sort_rows(struct ranking *r, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(r->gpu, 0, &c, err));
	return rql_commands_finish(c, record(r, c, err), progress, NULL, err);
}

rql_status rql_sieve_rank(const struct rql_sieve_placed *placed, const struct rql_store_view *view,
                          struct rql_device *gpu, struct rql_progress *progress, struct rql_buffer **rows,
                          struct rql_sieve_axis *axis, struct rql_error *err)
{
	struct ranking r = {.placed = placed, .view = view, .gpu = gpu};
	count_rows(&r);
	*axis = (struct rql_sieve_axis){.kind = RQL_SIEVE_BY_RANK};
	RQL_TRY(rql_buffer_new(gpu, ((uint64_t)r.count + !r.count) * sizeof(uint32_t), RQL_MEMORY_DEVICE,
	                       "rows of a sieve in order", &r.rows, err));
	rql_status status = r.count ? sort_rows(&r, progress, err) : RQL_OK;
	if (status == RQL_OK && r.count)
		status = take_axis(&r, axis, err);
	for (unsigned b = 0; b < BUFFERS; b++)
		rql_buffer_free(r.buffers[b]);
	if (status == RQL_OK)
		*rows = r.rows;
	else
		rql_buffer_free(r.rows);
	return status;
}
