/* Building the rt unit's structure of a cube: runs of cells, their triangles, the acceleration structure.
 *
 * Floor (H200, notes/h200.md): 1.5 to 2 ns a primitive in the driver's build; the passes before it read the directory
 * once, every cell's residual codes twice, and write 40 bytes a primitive. Measured there at its full clock, 1.2e8 cells
 * of SSB SF 20 and 226,050 / 35,000 / 4,987,212 / 40,586,154 runs: 3, 3, 26 and 125 ms, of which runs 1.5 to 8 ms and the
 * rest of what is not the driver's build its clearing of 20 ms a GB of new memory. */
#include "method/cube/rt/cube_rt.h"

#include <stdlib.h>

#include "method/cube/rt/cube_rt_structure.h"
#include "shaders/method/cube/cube_rt_fill.comp.h"
#include "shaders/method/cube/cube_rt_levels.comp.h"
#include "shaders/method/cube/cube_rt_runs.comp.h"

static const struct rql_kernel kernel_levels = {.name = "cube.rt.levels",
                                                .spirv = rql_spv_cube_rt_levels_comp,
                                                .spirv_bytes = sizeof(rql_spv_cube_rt_levels_comp),
                                                .args_bytes = sizeof(struct rql_rt_levels_args)};
static const struct rql_kernel kernel_runs = {.name = "cube.rt.runs",
                                              .spirv = rql_spv_cube_rt_runs_comp,
                                              .spirv_bytes = sizeof(rql_spv_cube_rt_runs_comp),
                                              .args_bytes = sizeof(struct rql_rt_runs_args)};
static const struct rql_kernel kernel_fill = {.name = "cube.rt.fill",
                                              .spirv = rql_spv_cube_rt_fill_comp,
                                              .spirv_bytes = sizeof(rql_spv_cube_rt_fill_comp),
                                              .args_bytes = sizeof(struct rql_rt_fill_args)};

struct building {
	const struct rql_cube *cube;
	struct rql_device *device;
	struct rql_progress *progress;
	struct rql_cube_rt *rt;
	struct rql_use *uses; /* the arrays', and room for four more */
	struct rql_rt_keys keys;
	struct rql_buffer *marks;  /* a bit a cell: it begins a run */
	struct rql_buffer *counts; /* uint64[digits], and one more: what compaction found */
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

/* Marks the runs of the first `depth` directory digits and counts those of each number of them. */
static rql_status record_levels(struct building *b, struct rql_commands *c, uint32_t depth, struct rql_error *err)
{
	const uint32_t group = RQL_RT_GROUP, keys = RQL_RT_GROUP * RQL_RT_KEYS;
	const struct rql_pipeline *pipeline;
	struct rql_buffer *writes[2] = {b->marks, b->counts};
	if (!b->cube->directory_digits)
		return RQL_OK;
	RQL_TRY(rql_pipeline_get(b->device, &kernel_levels, &group, 1, &pipeline, err));
	struct rql_rt_levels_args args = {
		.keys = b->keys, .counts = b->counts->address, .marks = b->marks->address, .depth = depth};
	uint32_t uses = list_uses(b, writes, 2);
	rql_record_dispatch(c, "levels", pipeline, &args, (b->keys.directory_size + keys - 1) / keys, b->uses, uses);
	return RQL_OK;
}

/* The same for the residual digits before `end`, where the directory's runs are marked: counts them, or marks theirs. */
static rql_status record_runs(struct building *b, struct rql_commands *c, uint32_t end, bool marking,
                              struct rql_error *err)
{
	const uint32_t group = RQL_RT_GROUP;
	const struct rql_pipeline *pipeline;
	struct rql_buffer *writes[2] = {b->marks, b->counts};
	if (end <= b->cube->directory_digits)
		return RQL_OK;
	RQL_TRY(rql_pipeline_get(b->device, &kernel_runs, &group, 1, &pipeline, err));
	struct rql_rt_runs_args args = {
		.keys = b->keys, .counts = b->counts->address, .marks = b->marks->address, .end = end, .marking = marking};
	uint32_t uses = list_uses(b, writes, 2);
	uint64_t strips = (b->keys.cells + 31) / 32;
	rql_record_dispatch(c, "runs", pipeline, &args, (strips + group - 1) / group, b->uses, uses);
	return RQL_OK;
}

/* Leaves the runs of all directory digits marked. */
static rql_status count_runs(struct building *b, uint32_t *depth, struct rql_error *err)
{
	const struct rql_cube *cube = b->cube;
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(b->device, 0, &c, err));
	rql_record_fill(c, b->marks, 0, b->marks->bytes, 0);
	rql_record_fill(c, b->counts, 0, b->counts->bytes, 0);
	rql_status status = record_levels(b, c, cube->directory_digits, err);
	if (status == RQL_OK)
		status = record_runs(b, c, cube->digit_count, false, err);
	RQL_TRY(rql_commands_finish(c, status, b->progress, NULL, err));
	uint64_t runs[RQL_CUBE_MAX_DIMENSIONS + 1] = {1};
	const uint64_t *counts = b->counts->map;
	for (uint32_t d = 0; d < cube->digit_count; d++)
		runs[d + 1] = counts[d] + (d < cube->directory_digits ? 0 : runs[d]);
	*depth = rql_rt_choose_depth(cube, runs, b->device);
	b->rt->primitives = runs[*depth];
	return RQL_OK;
}

/* From marks to starts. */
static rql_status record_starts(struct building *b, struct rql_commands *c, const struct rql_rt_starts *starts,
                                uint32_t depth, struct rql_error *err)
{
	if (depth < b->cube->directory_digits) {
		rql_record_fill(c, b->marks, 0, b->marks->bytes, 0);
		RQL_TRY(record_levels(b, c, depth, err));
	}
	RQL_TRY(record_runs(b, c, depth, true, err));
	return rql_rt_record_starts(c, starts, err);
}

static rql_status mark_starts(struct building *b, uint32_t depth, struct rql_error *err)
{
	struct rql_cube_rt *rt = b->rt;
	struct rql_rt_starts starts = {.marks = b->marks,
	                               .cells = b->keys.cells,
	                               .wide = rt->wide,
	                               .starts = rt->starts,
	                               .found = b->counts,
	                               .found_at = b->cube->digit_count * sizeof(uint64_t)};
	struct rql_commands *c;
	uint64_t bytes = rql_rt_starts_temp_bytes(&starts), found;
	if (bytes)
		RQL_TRY(rql_buffer_new(b->device, bytes, RQL_MEMORY_DEVICE, "runs of a cube", &starts.temp, err));
	rql_status status = rql_commands_new(b->device, 0, &c, err);
	if (status == RQL_OK)
		status = rql_commands_finish(c, record_starts(b, c, &starts, depth, err), b->progress, NULL, err);
	rql_buffer_free(starts.temp);
	if (status != RQL_OK)
		return status;
	memcpy(&found, (const uint8_t *)b->counts->map + starts.found_at, sizeof(found));
	if (found == rt->primitives)
		return RQL_OK;
	return rql_error_set(
		err, RQL_ERROR_DEVICE,
		"%s found %llu runs of equal keys in a cube where it had counted %llu: its ray-tracing structure "
		"cannot be trusted; run rayql selftest",
		b->device->id, (unsigned long long)found, (unsigned long long)rt->primitives);
}

/* Where each run begins; the last entry is the number of cells. */
static rql_status write_starts(struct building *b, uint32_t depth, struct rql_error *err)
{
	struct rql_cube_rt *rt = b->rt;
	uint64_t cells = b->keys.cells, size = rt->wide ? 8 : 4;
	const uint32_t narrow = (uint32_t)cells;
	const uint64_t zero = 0;
	RQL_TRY(
		rql_buffer_new(b->device, (rt->primitives + 1) * size, RQL_MEMORY_DEVICE, "runs of a cube", &rt->starts, err));
	RQL_TRY(rql_buffer_upload(rt->starts, rt->primitives * size, rt->wide ? (const void *)&cells : &narrow, size, err));
	return depth ? mark_starts(b, depth, err) : rql_buffer_upload(rt->starts, 0, &zero, size, err);
}

static rql_status find_runs(struct building *b, struct rql_error *err)
{
	struct rql_cube_rt *rt = b->rt;
	uint32_t depth = 0;
	uint64_t cells = b->keys.cells, digits = b->cube->digit_count;
	RQL_TRY(rql_buffer_new(b->device, (cells + 63) / 64 * 8, RQL_MEMORY_DEVICE, "runs of a cube", &b->marks, err));
	RQL_TRY(rql_buffer_new(b->device, (digits + 1) * sizeof(uint64_t), RQL_MEMORY_READBACK, "runs of a cube",
	                       &b->counts, err));
	rt->primitives = 1;
	if (digits)
		RQL_TRY(count_runs(b, &depth, err));
	if (!rql_rt_fold(b->cube, depth, &rt->axes))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a depth was chosen that does not fit the axes");
	rt->wide = cells > UINT32_MAX;
	if (rt->primitives < cells)
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
	rt->placement = (struct rql_placement){.device = device, .destroy = rql_cube_rt_free};
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
	b->uses = malloc((rt->arrays->buffer_count + 4u) * sizeof(*b->uses));
	if (!b->uses)
		return rql_error_memory(err, (rt->arrays->buffer_count + 4u) * sizeof(*b->uses), "the runs of a cube");
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

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct rql_cube *cube = at->owner;
	struct building b = {.cube = cube, .device = device, .progress = state};
	RQL_TRY(rql_cube_rt_new(cube, device, &b.rt, err));
	rql_status status = cube->relation.cells ? build(&b, err) : RQL_OK;
	free(b.uses);
	rql_buffer_free(b.marks);
	rql_buffer_free(b.counts);
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
	RQL_TRY(rql_cube_get(cube, device, RQL_CUBE_RT, NULL, make, progress, &placement, err));
	*out = (struct rql_cube_rt *)placement;
	return RQL_OK;
}
