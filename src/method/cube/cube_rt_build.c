/* Building the rt unit's structure of a cube: runs of cells, their triangles, the acceleration structure.
 *
 * Floor (H200, notes/h200.md): 1.5 to 2 ns a primitive in the driver's build; the passes before it read every cell's
 * residual codes twice and write 40 bytes a primitive, some ms for 1e8 cells. */
#include "method/cube/cube_rt.h"

#include <stdlib.h>

#include "method/cube/cube_rt_structure.h"
#include "shaders/method/cube/cube_rt_fill.comp.h"
#include "shaders/method/cube/cube_rt_runs.comp.h"

static const struct rql_kernel kernel_runs = {.name = "cube.rt.runs",
                                              .spirv = rql_spv_cube_rt_runs_comp,
                                              .spirv_bytes = sizeof(rql_spv_cube_rt_runs_comp),
                                              .args_bytes = sizeof(struct rql_rt_runs_args)};
static const struct rql_kernel kernel_fill = {.name = "cube.rt.fill",
                                              .spirv = rql_spv_cube_rt_fill_comp,
                                              .spirv_bytes = sizeof(rql_spv_cube_rt_fill_comp),
                                              .args_bytes = sizeof(struct rql_rt_fill_args)};

#define GROUP_CELLS ((uint64_t)RQL_RT_GROUP * RQL_RT_STRIP)

struct building {
	const struct rql_cube *cube;
	struct rql_device *device;
	struct rql_progress *progress;
	struct rql_cube_rt *rt;
	struct rql_use *uses; /* the arrays', and room for four more */
	struct rql_rt_keys keys;
	uint64_t groups;   /* of the runs kernel */
	uint64_t *offsets; /* [groups]: runs before each, at the depth */
};

/* ---- tables ---- */

void rql_cube_rt_free(struct rql_placement *placement)
{
	struct rql_cube_rt *rt = (struct rql_cube_rt *)placement;
	rql_accel_free(rt->accel);
	rql_buffer_free(rt->starts);
	rql_buffer_free(rt->z);
	rql_buffer_free(rt->digits);
	if (rt->arrays)
		rql_placement_release(&rt->arrays->placement);
	free(rt);
}

/* The digits as the kernels read them. axes: NULL when no depth is chosen yet. */
static void describe_digits(const struct rql_cube *cube, const struct rql_cube_rt *rt, const struct rql_rt_axes *axes,
                            struct rql_rt_digit *out)
{
	uint64_t stride = 1;
	for (uint32_t d = cube->digit_count; d-- > 0;) {
		out[d] = (struct rql_rt_digit){
			.radix = cube->digits[d].radix, .axis = 3, .coarse = rql_rt_coarse(cube->digits[d].radix)};
		if (d < cube->directory_digits) {
			out[d].key_stride = stride;
			stride *= cube->digits[d].radix;
		} else {
			const struct rql_packed *codes = &cube->residual[d - cube->directory_digits];
			out[d].codes = rql_cube_arrays_address(rt->arrays, codes->data);
			out[d].bits = codes->bits;
			out[d].base = (uint32_t)codes->base;
		}
		if (axes && d < axes->depth) {
			out[d].axis = axes->digits[d].axis;
			out[d].axis_stride = axes->digits[d].stride;
		}
	}
}

static rql_status upload_digits(struct building *b, const struct rql_rt_axes *axes, struct rql_error *err)
{
	struct rql_rt_digit digits[RQL_CUBE_MAX_DIMENSIONS];
	if (b->cube->digit_count == 0)
		return RQL_OK;
	describe_digits(b->cube, b->rt, axes, digits);
	return rql_buffer_upload(b->rt->digits, 0, digits, b->cube->digit_count * sizeof(*digits), err);
}

static uint32_t list_uses(struct building *b, struct rql_buffer *const *writes, uint32_t count)
{
	uint32_t n = b->rt->arrays->buffer_count;
	rql_cube_arrays_uses(b->rt->arrays, b->uses);
	b->uses[n++] = (struct rql_use){b->rt->digits, RQL_READ};
	for (uint32_t i = 0; i < count; i++)
		b->uses[n++] = (struct rql_use){writes[i], RQL_WRITE};
	return n;
}

/* ---- runs ---- */

static rql_status run_kernel(struct building *b, const struct rql_rt_runs_args *args, struct rql_buffer *output,
                             struct rql_buffer *offsets, struct rql_error *err)
{
	const uint32_t group = RQL_RT_GROUP;
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(b->device, &kernel_runs, &group, 1, &pipeline, err));
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(b->device, 0, &c, err));
	uint32_t uses = list_uses(b, &output, 1);
	if (offsets)
		b->uses[uses++] = (struct rql_use){offsets, RQL_READ};
	rql_record_dispatch(c, "runs", pipeline, args, b->groups, b->uses, uses);
	rql_status status = rql_commands_end(c, err);
	if (status == RQL_OK)
		status = rql_commands_run(c, b->progress, err);
	rql_commands_free(c);
	return status;
}

/* From how many of each group's cells differ first in each digit to the depth, and to each group's first run. */
static void plan_runs(struct building *b, const uint32_t *counts, uint32_t *depth)
{
	uint32_t digits = b->cube->digit_count;
	uint64_t runs[RQL_CUBE_MAX_DIMENSIONS + 2] = {0};
	for (uint64_t g = 0; g < b->groups; g++)
		for (uint32_t d = 0; d < digits; d++)
			runs[d + 1] += counts[g * (digits + 1) + d];
	for (uint32_t d = 0; d < digits; d++)
		runs[d + 1] += runs[d];
	runs[0] = 1;
	*depth = rql_rt_choose_depth(b->cube, runs, b->device);
	b->rt->primitives = runs[*depth];
	uint64_t sum = 0;
	for (uint64_t g = 0; g < b->groups; g++) {
		b->offsets[g] = sum;
		for (uint32_t d = 0; d < *depth; d++)
			sum += counts[g * (digits + 1) + d];
	}
}

static rql_status count_runs(struct building *b, uint32_t *depth, struct rql_error *err)
{
	uint64_t bytes = b->groups * (b->cube->digit_count + 1) * sizeof(uint32_t);
	struct rql_buffer *counts = NULL;
	RQL_TRY(rql_buffer_new(b->device, bytes, RQL_MEMORY_READBACK, "runs of a cube", &counts, err));
	struct rql_rt_runs_args args = {.keys = b->keys, .counts = counts->address};
	rql_status status = run_kernel(b, &args, counts, NULL, err);
	if (status == RQL_OK)
		plan_runs(b, counts->map, depth);
	rql_buffer_free(counts);
	return status;
}

/* Where each run begins; the last entry is the number of cells. */
static rql_status write_starts(struct building *b, uint32_t depth, struct rql_error *err)
{
	struct rql_cube_rt *rt = b->rt;
	uint64_t cells = b->cube->relation.cells, size = rt->wide ? 8 : 4;
	uint32_t narrow = (uint32_t)cells;
	struct rql_buffer *offsets = NULL;
	RQL_TRY(
		rql_buffer_new(b->device, (rt->primitives + 1) * size, RQL_MEMORY_DEVICE, "runs of a cube", &rt->starts, err));
	RQL_TRY(rql_buffer_upload(rt->starts, rt->primitives * size, rt->wide ? (const void *)&cells : &narrow, size, err));
	RQL_TRY(
		rql_buffer_new(b->device, b->groups * sizeof(uint64_t), RQL_MEMORY_UPLOAD, "runs of a cube", &offsets, err));
	memcpy(offsets->map, b->offsets, b->groups * sizeof(uint64_t));
	struct rql_rt_runs_args args = {
		.keys = b->keys, .offsets = offsets->address, .starts = rt->starts->address, .depth = depth, .wide = rt->wide};
	rql_status status = run_kernel(b, &args, rt->starts, offsets, err);
	rql_buffer_free(offsets);
	return status;
}

static rql_status find_runs(struct building *b, struct rql_error *err)
{
	struct rql_cube_rt *rt = b->rt;
	uint32_t depth = 0;
	rt->primitives = 1;
	if (b->cube->digit_count)
		RQL_TRY(count_runs(b, &depth, err));
	if (!rql_rt_fold(b->cube, depth, &rt->axes))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a depth was chosen that does not fit the axes");
	rt->wide = b->cube->relation.cells > UINT32_MAX;
	if (rt->primitives < b->cube->relation.cells)
		RQL_TRY(write_starts(b, depth, err));
	return upload_digits(b, &rt->axes, err);
}

/* ---- triangles ---- */

static rql_status fill_part(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                            struct rql_error *err)
{
	struct building *b = state;
	const struct rql_cube_rt *rt = b->rt;
	const uint32_t group = RQL_RT_GROUP;
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(b->device, &kernel_fill, &group, 1, &pipeline, err));
	uint64_t first = part * rt->part_primitives, rest = rt->primitives - first;
	struct rql_rt_fill_args args = {.keys = b->keys,
	                                .starts = rt->starts ? rt->starts->address : 0,
	                                .z = rt->z->address,
	                                .corners = input->address,
	                                .first = first,
	                                .count = rest < rt->part_primitives ? rest : rt->part_primitives,
	                                .wide = rt->wide,
	                                .unit = rql_axis_unit(rt->axes.shift)};
	struct rql_buffer *writes[2] = {rt->z, input};
	uint32_t uses = list_uses(b, writes, 2);
	if (rt->starts)
		b->uses[uses++] = (struct rql_use){rt->starts, RQL_READ};
	rql_record_dispatch(c, "triangles", pipeline, &args, (args.count + group - 1) / group, b->uses, uses);
	return RQL_OK;
}

void rql_cube_rt_parts(struct rql_cube_rt *rt, const struct rql_device *device)
{
	uint64_t most = device->limits.part_primitives;
	rt->part_primitives = most && most < RQL_RT_PART_PRIMITIVES ? most : RQL_RT_PART_PRIMITIVES;
}

static rql_status build_accel(struct building *b, struct rql_error *err)
{
	struct rql_cube_rt *rt = b->rt;
	rql_cube_rt_parts(rt, b->device);
	uint64_t parts = (rt->primitives + rt->part_primitives - 1) / rt->part_primitives;
	RQL_TRY(rql_buffer_new(b->device, rt->primitives * sizeof(uint32_t), RQL_MEMORY_DEVICE, "heights of a cube's runs",
	                       &rt->z, err));
	uint64_t *primitives = malloc(parts * sizeof(*primitives));
	if (!primitives)
		return rql_error_memory(err, parts * sizeof(*primitives), "the parts of a structure");
	for (uint64_t p = 0; p < parts; p++)
		primitives[p] = p + 1 < parts ? rt->part_primitives : rt->primitives - p * rt->part_primitives;
	struct rql_accel_spec spec = {.what = "the ray-tracing structure of a cube",
	                              .primitive = RQL_TRIANGLES,
	                              .one_call_per_hit = true,
	                              .aim = RQL_ACCEL_FAST_TRACE,
	                              .compact = true,
	                              .part_count = (uint32_t)parts,
	                              .part_primitives = primitives,
	                              .fill = fill_part,
	                              .state = b};
	rql_status status = rql_accel_build(b->device, &spec, b->progress, &rt->accel, err);
	free(primitives);
	return status;
}

/* ---- the whole ---- */

void rql_cube_rt_settle(struct rql_cube_rt *rt)
{
	struct rql_buffer *buffers[3] = {rt->starts, rt->z, rt->digits};
	rt->placement.bytes = rt->accel ? rt->accel->bytes : 0;
	for (unsigned i = 0; i < 3; i++)
		rt->placement.bytes += buffers[i] ? buffers[i]->bytes : 0;
}

rql_status rql_cube_rt_new(const struct rql_cube *cube, struct rql_device *device, struct rql_cube_rt **out,
                           struct rql_error *err)
{
	struct rql_cube_rt *rt = calloc(1, sizeof(*rt));
	if (!rt)
		return rql_error_memory(err, sizeof(*rt), "a cube's placement");
	rt->placement =
		(struct rql_placement){.device = device, .kind = RQL_CUBE_RT, .key = "", .destroy = rql_cube_rt_free};
	atomic_init(&rt->placement.references, 1);
	rql_status status = rql_cube_arrays_get(cube, device, &rt->arrays, err);
	if (status == RQL_OK)
		status = rql_buffer_new(device, (cube->digit_count + 1u) * sizeof(struct rql_rt_digit), RQL_MEMORY_DEVICE,
		                        "digits of a cube", &rt->digits, err);
	if (status != RQL_OK) {
		rql_cube_rt_free(&rt->placement);
		return status;
	}
	*out = rt;
	return RQL_OK;
}

static rql_status build(struct building *b, struct rql_error *err)
{
	const struct rql_cube *cube = b->cube;
	struct rql_cube_rt *rt = b->rt;
	b->groups = (cube->relation.cells + GROUP_CELLS - 1) / GROUP_CELLS;
	b->uses = malloc((rt->arrays->buffer_count + 4u) * sizeof(*b->uses));
	b->offsets = malloc((b->groups + 1) * sizeof(*b->offsets));
	if (!b->uses || !b->offsets)
		return rql_error_memory(err, (b->groups + 1) * sizeof(*b->offsets), "the runs of a cube");
	const void *directory = cube->directory32 ? (const void *)cube->directory32 : cube->directory64;
	b->keys =
		(struct rql_rt_keys){.directory = cube->directory_digits ? rql_cube_arrays_address(rt->arrays, directory) : 0,
	                         .directory_size = cube->directory_size,
	                         .digits = rt->digits->address,
	                         .cells = cube->relation.cells,
	                         .directory_digits = cube->directory_digits,
	                         .digit_count = cube->digit_count,
	                         .directory_wide = !cube->directory32};
	uint64_t start = rql_now_ns();
	RQL_TRY(upload_digits(b, NULL, err));
	RQL_TRY(find_runs(b, err));
	uint64_t middle = rql_now_ns();
	RQL_TRY(build_accel(b, err));
	rt->runs_ms = (double)(middle - start) / 1e6;
	rt->accel_ms = (double)(rql_now_ns() - middle) / 1e6;
	rt->placement.build_ms = rt->runs_ms + rt->accel_ms;
	return RQL_OK;
}

static rql_status make(const struct rql_cube *cube, struct rql_device *device, const char *key, void *state,
                       struct rql_placement **out, struct rql_error *err)
{
	(void)key;
	struct building b = {.cube = cube, .device = device, .progress = state};
	RQL_TRY(rql_cube_rt_new(cube, device, &b.rt, err));
	rql_status status = cube->relation.cells ? build(&b, err) : RQL_OK;
	free(b.uses);
	free(b.offsets);
	if (status != RQL_OK) {
		rql_cube_rt_free(&b.rt->placement);
		return status;
	}
	rql_cube_rt_settle(b.rt);
	*out = &b.rt->placement;
	return RQL_OK;
}

rql_status rql_cube_rt_get(const struct rql_cube *cube, struct rql_device *device, struct rql_progress *progress,
                           struct rql_cube_rt **out, struct rql_error *err)
{
	struct rql_placement *placement = NULL;
	RQL_TRY(rql_cube_place(cube, device, RQL_CUBE_RT, "", make, progress, &placement, err));
	*out = (struct rql_cube_rt *)placement;
	return RQL_OK;
}
