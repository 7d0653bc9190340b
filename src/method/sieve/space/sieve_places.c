/* One axis after the other: values and bins by the keys, ranks by the rows in their order. */
#include "method/sieve/space/sieve_places.h"

#include "method/sieve/gpu/sieve_kernels.h"
#include "method/sieve/gpu/sieve_rank.h"
#include "shaders/method/sieve/sieve_places.comp.h"

#define WORKGROUP 128u

static const struct rql_kernel places_kernel = {
	.name = "sieve.places",
	.spirv = rql_spv_sieve_places_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_places_comp),
	.args_bytes = sizeof(struct rql_sieve_places_args),
};

/* One axis while it is made. */
struct axis {
	const struct rql_sieve_places_of *places;
	const struct rql_store_view *view;
	const struct rql_sieve_placed *placed;
	struct rql_buffer *block_rows, *bounds, *ranks, *out;
	uint32_t number;
};

uint32_t rql_sieve_numbers(const struct rql_store_segment *segment)
{
	return (segment->blocks - 1) * RQL_STORE_BLOCK + segment->columns[0].blocks[segment->blocks - 1].rows;
}

rql_status rql_sieve_block_rows(const struct rql_store_segment *segment, struct rql_device *gpu,
                                struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(gpu, segment->blocks * sizeof(uint32_t), RQL_MEMORY_UPLOAD, "rows of a sieve's blocks", out,
	                       err));
	for (uint32_t b = 0; b < segment->blocks; b++)
		((uint32_t *)(*out)->map)[b] = segment->columns[0].blocks[b].rows;
	return RQL_OK;
}

/* Distances from the least key, as keys are. */
static rql_status upload_bounds(struct axis *a, struct rql_error *err)
{
	const struct rql_sieve_bins *bins = &a->placed->shape.bins;
	RQL_TRY(rql_buffer_new(a->places->gpu, bins->count * sizeof(uint64_t), RQL_MEMORY_UPLOAD, "bins of a sieve",
	                       &a->bounds, err));
	for (uint32_t b = 0; b + 1 < bins->count; b++)
		((uint64_t *)a->bounds->map)[b] = bins->bounds[b] - a->placed->least;
	return RQL_OK;
}

static bool has_keys(const struct axis *a)
{
	bool any = false;
	for (uint32_t b = 0; b < a->placed->shape.block_count; b++)
		any = any || a->view->blocks[b].nulls < a->view->blocks[b].rows;
	return any;
}

static rql_status make_axis(struct axis *a, struct rql_sieve_axis *axis, struct rql_error *err)
{
	const struct rql_sieve_placed *p = a->placed;
	const struct rql_sieve_places_of *of = a->places;
	switch (of->kind) {
	case RQL_SIEVE_BY_RANK:
		return rql_sieve_rank(p, a->view, of->gpu, of->progress, &a->ranks, axis, err);
	case RQL_SIEVE_BY_BIN:
		RQL_TRY(rql_sieve_axis_of_bins(&p->shape.bins, p->least, p->span, has_keys(a), axis, err));
		return upload_bounds(a, err);
	case RQL_SIEVE_BY_VALUE:
		break;
	}
	rql_sieve_axis_of_values(p->least, p->span, has_keys(a), axis);
	return RQL_OK;
}

static rql_status record_pass(const struct axis *a, const struct rql_sieve_axis *axis, uint32_t what, uint32_t count,
                              struct rql_commands *c, struct rql_error *err)
{
	const struct rql_sieve_shape *shape = &a->placed->shape;
	const uint64_t vector = (uint64_t)shape->block_count * RQL_STORE_BLOCK / 8, vectors = a->placed->buffer->address;
	const struct rql_device *gpu = a->places->gpu;
	const uint32_t group = gpu->limits.group_size < WORKGROUP ? gpu->limits.group_size : WORKGROUP;
	const struct rql_sieve_places_args args = {
		.keys = vectors + a->placed->keys_at,
		.valid = shape->has_null ? vectors + (shape->highs + shape->lows) * vector : 0,
		.bounds = a->bounds ? a->bounds->address : 0,
		.rows = a->block_rows->address,
		.ranks = a->ranks ? a->ranks->address : 0,
		.places = a->out->address,
		.count = count,
		.what = what,
		.axis = a->number,
		.axis_count = a->places->axis_count,
		.bins = shape->bins.count,
		.shift = axis->shift,
		.null_place = axis->size,
		.wide = a->placed->wide};
	struct rql_use uses[5] = {{a->out, RQL_READ_WRITE}, {a->placed->buffer, RQL_READ}, {a->block_rows, RQL_READ}};
	uint32_t used = 3;
	if (a->bounds)
		uses[used++] = (struct rql_use){a->bounds, RQL_READ};
	if (a->ranks)
		uses[used++] = (struct rql_use){a->ranks, RQL_READ};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(a->places->gpu, &places_kernel, &group, 1, &pipeline, err));
	rql_record_dispatch(c, "sieve places", pipeline, &args, (count + UINT64_C(1) * group - 1) / group, uses, used);
	return RQL_OK;
}

static rql_status record(const struct axis *a, const struct rql_sieve_axis *axis, struct rql_commands *c,
                         struct rql_error *err)
{
	const struct rql_store_segment *segment = &a->places->snapshot->segments[a->places->segment];
	const uint32_t numbers = rql_sieve_numbers(segment);
	if (axis->kind == RQL_SIEVE_BY_VALUE || axis->kind == RQL_SIEVE_BY_BIN)
		return record_pass(a, axis, axis->kind == RQL_SIEVE_BY_BIN ? RQL_SIEVE_PLACES_BINS : RQL_SIEVE_PLACES_VALUES,
		                   numbers, c, err);
	if (axis->size < segment->rows) /* some have no rank */
		RQL_TRY(record_pass(a, axis, RQL_SIEVE_PLACES_NULL, numbers, c, err));
	if (axis->size)
		RQL_TRY(record_pass(a, axis, RQL_SIEVE_PLACES_RANKS, axis->size, c, err));
	return numbers > segment->rows ? record_pass(a, axis, RQL_SIEVE_PLACES_GAPS, numbers, c, err) : RQL_OK;
}

static rql_status place_axis(struct axis *a, struct rql_sieve_axis *axis, struct rql_error *err)
{
	struct rql_commands *c = NULL;
	rql_status status = make_axis(a, axis, err);
	if (status == RQL_OK)
		status = rql_commands_new(a->places->gpu, 0, &c, err);
	if (status == RQL_OK)
		status = rql_commands_finish(c, record(a, axis, c, err), a->places->progress, NULL, err);
	rql_buffer_free(a->bounds);
	rql_buffer_free(a->ranks);
	a->bounds = a->ranks = NULL;
	return status;
}

static rql_status place_all(struct axis *a, struct rql_sieve_axis *axes, struct rql_error *err)
{
	const struct rql_sieve_places_of *of = a->places;
	rql_status status = RQL_OK;
	for (a->number = 0; a->number < of->axis_count && status == RQL_OK; a->number++) {
		const struct rql_index_of *column = &of->of[a->number];
		struct rql_sieve_placed *placed = NULL;
		RQL_TRY(rql_sieve_placed_get(of->snapshot, of->segment, column, of->gpu, of->cpu, of->progress, of->uploaded,
		                             &placed, err));
		a->placed = placed;
		a->view = &of->snapshot->segments[of->segment].columns[column->column];
		status = place_axis(a, &axes[a->number], err);
		rql_placement_release(&placed->placement);
	}
	return status;
}

rql_status rql_sieve_places_make(const struct rql_sieve_places_of *places, struct rql_sieve_axis *axes,
                                 struct rql_buffer **out, struct rql_error *err)
{
	const struct rql_store_segment *segment = &places->snapshot->segments[places->segment];
	const uint64_t bytes = (uint64_t)rql_sieve_numbers(segment) * places->axis_count * sizeof(uint32_t);
	struct axis a = {.places = places};
	RQL_TRY(rql_sieve_block_rows(segment, places->gpu, &a.block_rows, err));
	rql_status status = rql_buffer_new(places->gpu, bytes, RQL_MEMORY_DEVICE, "places in a sieve's space", &a.out, err);
	if (status == RQL_OK)
		status = place_all(&a, axes, err);
	rql_buffer_free(a.block_rows);
	if (status == RQL_OK)
		*out = a.out;
	else
		rql_buffer_free(a.out);
	return status;
}
