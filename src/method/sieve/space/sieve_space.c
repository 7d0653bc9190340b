/* Spaces: places, primitives of them, and the structure, all on the GPU. */
#include "method/sieve/space/sieve_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "geometry/matrix.h"
#include "method/sieve/gpu/sieve_kernels.h"
#include "method/sieve/space/sieve_cells.h"
#include "method/sieve/space/sieve_places.h"
#include "shaders/method/sieve/sieve_fill.comp.h"

#define WORKGROUP 128u
#define LONGEST_KEY 96u
/* A ray of the paper's best matrix is thirteen cubes long, and its grid has 1200 rays a side for 1e8 rows (5.1): so many
 * rows in a cube of the interval. Its other spaces have no such figure: a row in a square, some in a line. */
#define LENGTH_CUBES 13u
#define CUBE_ROWS 0.058
#define LEG_ROWS 16u
#define AABB_BYTES 28.0

static const struct rql_kernel fill_kernel = {
	.name = "sieve.fill",
	.spirv = rql_spv_sieve_fill_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_fill_comp),
	.args_bytes = sizeof(struct rql_sieve_fill_args),
};

struct making {
	const struct rql_store_snapshot *snapshot;
	uint32_t segment;
	const struct rql_index_of *of; /* [axis_count] */
	uint32_t axis_count;
	struct rql_device *cpu;
	struct rql_progress *progress;
	uint64_t *uploaded;
	/* While it is made. */
	struct rql_sieve_space *space;
	struct rql_mem mem;
	uint64_t primitives;
	struct rql_buffer *placed; /* uint32_t[primitives][axis_count]: their places */
	const struct rql_pipeline *pipeline;
};

double rql_sieve_space_side(enum rql_sieve_refine refine, double rows, uint32_t axis_count)
{
	const double n = rows > 1 ? rows : 1;
	return refine == RQL_SIEVE_RTC1 || axis_count == 1 ? n / LEG_ROWS
	       : axis_count == 2                           ? sqrt(n)
	                                                   : cbrt(n / CUBE_ROWS);
}

static enum rql_sieve_axis_kind kind_of(const struct rql_sieve_form *form)
{
	const bool by_value = form->refine != RQL_SIEVE_MATRIX || form->by_value;
	return form->refine == RQL_SIEVE_CELLS ? RQL_SIEVE_BY_BIN : by_value ? RQL_SIEVE_BY_VALUE : RQL_SIEVE_BY_RANK;
}

static void choose_rays(struct rql_sieve_space *s, const struct rql_sieve_form *form, uint64_t rows)
{
	uint64_t size = 1;
	for (uint32_t a = 0; a < s->axis_count; a++) {
		size = s->axes[a].size > size ? s->axes[a].size : size;
		s->center[a] = s->axes[a].size / 2;
	}
	const double side = rql_sieve_space_side(s->refine, (double)rows, s->axis_count);
	const double ideal = ceil((double)size / side), most = RQL_MATRIX_MOST_INTERVAL / 16;
	const uint32_t best = (uint32_t)(ideal < most ? ideal : most);
	const bool matrix = s->refine == RQL_SIEVE_MATRIX;
	s->interval = matrix ? best * form->interval / 100 : best;
	s->interval = s->interval ? s->interval : 1;
	s->width = best + rql_matrix_epsilon(RQL_MATRIX_BITS);
	s->spacing = matrix ? best * form->spacing / 100 : 0;
	s->length = matrix && s->axis_count == RQL_SIEVE_AXES ? LENGTH_CUBES * s->width : 0;
}

/* ---- the structure ---- */
static rql_status fill_part(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                            struct rql_error *err)
{
	const struct making *m = state;
	const struct rql_sieve_space *s = m->space;
	const uint64_t first = part * s->part_primitives, left = m->primitives - first;
	const struct rql_sieve_fill_args args = {
		.places = m->placed->address + first * m->axis_count * sizeof(uint32_t),
		.primitives = input->address,
		.count = left < s->part_primitives ? left : s->part_primitives,
		.what = s->refine == RQL_SIEVE_CELLS  ? RQL_SIEVE_FILL_CELLS
	            : s->refine == RQL_SIEVE_RTC1 ? RQL_SIEVE_FILL_LEGS
	                                          : RQL_SIEVE_FILL_CUBES,
		.axis_count = m->axis_count,
		.center_x = s->center[0],
		.center_y = s->center[1],
		.center_z = s->center[2],
		.size = s->refine == RQL_SIEVE_RTC1 ? s->interval : s->width,
		.unit_x = s->unit_x};
	const struct rql_use uses[] = {{m->placed, RQL_READ}, {input, RQL_WRITE}};
	(void)err;
	rql_record_dispatch(c, "sieve primitives", m->pipeline, &args, (args.count + WORKGROUP - 1) / WORKGROUP, uses, 2);
	return RQL_OK;
}

static rql_status build(struct making *m, struct rql_device *gpu, struct rql_error *err)
{
	struct rql_sieve_space *s = m->space;
	const uint64_t most = gpu->limits.part_primitives;
	const bool boxes = s->refine == RQL_SIEVE_RTC3 || s->refine == RQL_SIEVE_MATRIX;
	const uint32_t workgroup = WORKGROUP;
	s->part_primitives = most && most < m->primitives ? most : m->primitives;
	const uint32_t parts = (uint32_t)((m->primitives + s->part_primitives - 1) / s->part_primitives);
	uint64_t *counts = malloc(parts * sizeof(*counts));
	if (!counts)
		return rql_error_memory(err, parts * sizeof(*counts), "a sieve's space");
	for (uint32_t p = 0; p < parts; p++) {
		const uint64_t left = m->primitives - p * s->part_primitives;
		counts[p] = left < s->part_primitives ? left : s->part_primitives;
	}
	const struct rql_accel_spec spec = {.what = "a sieve's space",
	                                    .primitive = boxes ? RQL_AABBS : RQL_TRIANGLES,
	                                    .one_call_per_hit = true,
	                                    .aim = RQL_ACCEL_FAST_TRACE,
	                                    .compact = true,
	                                    .part_count = parts,
	                                    .part_primitives = counts,
	                                    .fill = fill_part,
	                                    .state = m};
	rql_status status = rql_pipeline_get(gpu, &fill_kernel, &workgroup, 1, &m->pipeline, err);
	if (status == RQL_OK)
		status = rql_accel_build(gpu, &spec, m->progress, &s->accel, err);
	free(counts);
	return status;
}

/* ---- cells ---- */
/* What the trace reads of cells, and the pieces' places instead of the rows' bins. */
static rql_status keep_cells(struct making *m, const struct rql_sieve_cells *cells, struct rql_device *gpu,
                             struct rql_error *err)
{
	struct rql_sieve_space *s = m->space;
	const uint64_t starts = (cells->count + UINT64_C(1)) * sizeof(*cells->starts);
	const uint64_t places = (uint64_t)cells->count * m->axis_count * sizeof(*cells->places);
	s->order = cells->order;
	RQL_TRY(rql_buffer_new(gpu, starts, RQL_MEMORY_DEVICE, "cells of a sieve's space", &s->cells, err));
	RQL_TRY(rql_buffer_upload(s->cells, 0, cells->starts, starts, err));
	rql_buffer_free(m->placed);
	m->placed = NULL;
	RQL_TRY(rql_buffer_new(gpu, places, RQL_MEMORY_DEVICE, "places in a sieve's space", &m->placed, err));
	*m->uploaded += starts + places;
	m->primitives = cells->count;
	return rql_buffer_upload(m->placed, 0, cells->places, places, err);
}

static rql_status make_cells(struct making *m, struct rql_device *gpu, struct rql_error *err)
{
	struct rql_sieve_cells cells;
	RQL_TRY(rql_sieve_cells_make(m->placed, &m->snapshot->segments[m->segment], gpu, m->progress, m->space, &m->mem,
	                             &cells, err));
	return keep_cells(m, &cells, gpu, err);
}

static rql_status fill(struct making *m, struct rql_device *gpu, struct rql_error *err)
{
	const struct rql_sieve_places_of places = {.snapshot = m->snapshot,
	                                           .segment = m->segment,
	                                           .of = m->of,
	                                           .axis_count = m->axis_count,
	                                           .kind = kind_of(&m->of[0].sieve),
	                                           .gpu = gpu,
	                                           .cpu = m->cpu,
	                                           .progress = m->progress,
	                                           .uploaded = m->uploaded};
	m->primitives = rql_sieve_numbers(&m->snapshot->segments[m->segment]);
	RQL_TRY(rql_sieve_places_make(&places, m->space->axes, &m->placed, err));
	choose_rays(m->space, &m->of[0].sieve, m->primitives);
	if (m->space->refine == RQL_SIEVE_CELLS)
		RQL_TRY(make_cells(m, gpu, err));
	return build(m, gpu, err);
}

static void destroy(struct rql_placement *placement)
{
	struct rql_sieve_space *s = (struct rql_sieve_space *)placement;
	rql_accel_free(s->accel);
	rql_buffer_free(s->cells);
	rql_buffer_free(s->order);
	for (uint32_t a = 0; a < RQL_SIEVE_AXES; a++) {
		rql_sieve_axis_free(&s->axes[a]);
		free(s->pieces_of[a]);
	}
	free(s);
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	struct making *m = state;
	struct rql_sieve_space *s = calloc(1, sizeof(*s));
	(void)at;
	if (!s)
		return rql_error_memory(err, sizeof(*s), "a sieve's space");
	s->placement = (struct rql_placement){.device = device, .destroy = destroy};
	s->refine = m->of[0].sieve.refine;
	s->axis_count = m->axis_count;
	m->space = s;
	rql_mem_init(&m->mem, rql_store_budget(m->snapshot), "building a sieve's space");
	rql_status status = fill(m, device, err);
	rql_mem_clear(&m->mem);
	rql_buffer_free(m->placed);
	if (status != RQL_OK) {
		destroy(&s->placement);
		return status;
	}
	s->placement.bytes = s->accel->bytes + (s->cells ? s->cells->bytes + s->order->bytes : 0);
	*out = &s->placement;
	return RQL_OK;
}

/* ---- finding ---- */
static struct rql_place place_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                                 uint32_t axis_count, char key[LONGEST_KEY])
{
	const struct rql_sieve_form *form = &of[0].sieve;
	int used = snprintf(key, LONGEST_KEY, "%u/%u/%u/%u", form->refine, form->interval, form->spacing, form->by_value);
	for (uint32_t a = 0; a < axis_count; a++)
		used += snprintf(key + used, LONGEST_KEY - (size_t)used, " %u:%ux%u", of[a].column, of[a].sieve.vectors,
		                 of[a].sieve.components);
	return (struct rql_place){.owner = segment->identity, .kind = "sieve space", .part = axis_count, .key = key};
}

rql_status rql_sieve_space_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                               const struct rql_index_of *of, uint32_t axis_count, struct rql_device *gpu,
                               struct rql_device *cpu, struct rql_progress *progress, uint64_t *uploaded,
                               struct rql_sieve_space **out, struct rql_error *err)
{
	const struct rql_store_segment *s = &snapshot->segments[segment];
	struct making m = {.snapshot = snapshot,
	                   .segment = segment,
	                   .of = of,
	                   .axis_count = axis_count,
	                   .cpu = cpu,
	                   .progress = progress,
	                   .uploaded = uploaded};
	struct rql_placement *placement = NULL;
	char key[LONGEST_KEY];
	const struct rql_place at = place_of(s, of, axis_count, key);
	rql_store_segment_watch(s, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, gpu, make, &m, &placement, err));
	*out = (struct rql_sieve_space *)placement;
	return RQL_OK;
}

bool rql_sieve_space_there(const struct rql_store_segment *segment, const struct rql_index_of *of, uint32_t axis_count,
                           const struct rql_device *gpu)
{
	char key[LONGEST_KEY];
	const struct rql_place at = place_of(segment, of, axis_count, key);
	return rql_placement_there(&at, gpu, NULL);
}

double rql_sieve_space_bytes(uint64_t rows, const struct rql_index_of *of, const struct rql_device *gpu)
{
	const bool boxes = of->sieve.refine == RQL_SIEVE_RTC3 || of->sieve.refine == RQL_SIEVE_MATRIX;
	return (double)rows * (boxes ? AABB_BYTES : gpu->profile.primitive_bytes + sizeof(uint32_t));
}
