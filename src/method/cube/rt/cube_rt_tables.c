/* A plan of rays in a device's memory (cube_rt_kernels.h: rql_rt_launch and what it points to). */
#include "method/cube/gpu/cube_program.h"
#include "method/cube/rt/cube_rt.h"

#include <stdlib.h>

static uint64_t put_gids(struct rql_cube_image *image, const struct rql_rt_view *view, uint32_t count)
{
	uint64_t at = rql_cube_image_reserve(image, count * sizeof(int32_t));
	rql_cube_image_write(image, at, view->gid, count * sizeof(int32_t));
	return image->base + at;
}

/* ---- levels ---- */

static uint64_t put_steps(struct rql_cube_image *image, const struct rql_rt_view *place, const struct rql_rt_axis_digit *digit)
{
	uint64_t at = rql_cube_image_reserve(image, place->passing * sizeof(struct rql_rt_step)), n = 0;
	for (uint32_t v = 0; v < digit->size && image->data; v++) {
		if (place->gid[v] < 0)
			continue;
		struct rql_rt_step step = {.group = (uint64_t)place->gid[v] * place->stride, .add = v * digit->stride};
		rql_cube_image_write(image, at + n++ * sizeof(step), &step, sizeof(step));
	}
	return image->base + at;
}

/* The digits before `end`; neighbours on one axis that say nothing are one level. */
static uint64_t put_levels(struct rql_cube_image *image, const struct rql_rt_box_axes *box, uint32_t end, uint32_t *count)
{
	uint64_t at = rql_cube_image_reserve(image, end * sizeof(struct rql_rt_level));
	struct rql_rt_level level = {0};
	*count = 0;
	for (uint32_t d = 0; d < end; d++) {
		const struct rql_rt_axis_digit *digit = &box->axes->digits[d];
		const struct rql_rt_view *place = &box->places[d];
		bool joins = *count && !level.steps && !place->gid && level.axis == digit->axis;
		if (joins) {
			level.count *= digit->size; /* of one axis: below 2^22 */
			level.stride = digit->stride;
			--*count;
		} else {
			level =
				(struct rql_rt_level){.count = (uint32_t)place->passing, .stride = digit->stride, .axis = digit->axis};
			/* An offset behind the head while the size is measured: never 0. */
			if (place->gid)
				level.steps = put_steps(image, place, digit);
		}
		rql_cube_image_write(image, at + *count * sizeof(level), &level, sizeof(level));
		++*count;
	}
	return image->base + at;
}

/* ---- segments ---- */

struct segments {
	struct rql_cube_image *image;
	uint64_t at, count;
	uint32_t stride;
};

static void put_segment(void *state, uint32_t low, uint32_t high, uint64_t group)
{
	struct segments *s = state;
	struct rql_rt_segment segment = {.group = group, .low = low * s->stride, .high = (high + 1) * s->stride - 1};
	rql_cube_image_write(s->image, s->at + s->count++ * sizeof(segment), &segment, sizeof(segment));
}

static uint64_t put_segments(struct rql_cube_image *image, const struct rql_rt_box_axes *box, const struct rql_rt_box_plan *plan,
                             uint32_t *count)
{
	struct segments s = {.image = image, .stride = 1};
	if (plan->split == RQL_RT_NO_SPLIT) {
		s.at = rql_cube_image_reserve(image, sizeof(struct rql_rt_segment));
		put_segment(&s, 0, box->axes->size[2] - 1, 0);
	} else {
		uint64_t segments = rql_rt_each_segment(box, plan->split, plan->by_pass, NULL, NULL);
		s.at = rql_cube_image_reserve(image, segments * sizeof(struct rql_rt_segment));
		s.stride = box->axes->digits[plan->split].stride;
		rql_rt_each_segment(box, plan->split, plan->by_pass, put_segment, &s);
	}
	*count = (uint32_t)s.count;
	return image->base + s.at;
}

/* ---- tests ---- */

static uint64_t put_tests(struct rql_cube_image *image, const struct rql_rt_box_axes *box, const struct rql_rt_box_plan *plan,
                          uint32_t *count)
{
	const struct rql_rt_axes *axes = box->axes;
	uint32_t first = plan->split == RQL_RT_NO_SPLIT ? box->first_z : plan->split + !plan->by_pass;
	uint64_t at = rql_cube_image_reserve(image, (axes->depth - first) * sizeof(struct rql_rt_test));
	*count = 0;
	for (uint32_t d = first; d < axes->depth; d++) {
		const struct rql_rt_view *place = &box->places[d];
		if (!place->gid)
			continue;
		struct rql_rt_test test = {
			.group_stride = place->stride, .stride = axes->digits[d].stride, .size = axes->digits[d].size};
		test.gid = put_gids(image, place, axes->digits[d].size);
		rql_cube_image_write(image, at + (*count)++ * sizeof(test), &test, sizeof(test));
	}
	return image->base + at;
}

static uint64_t put_cell_tests(struct rql_cube_image *image, const struct rql_rt_box_axes *box, struct rql_rt_box *entry)
{
	const struct rql_cube *cube = image->p->cube;
	uint64_t at = rql_cube_image_reserve(image, cube->digit_count * sizeof(struct rql_rt_cell_test));
	uint64_t key_stride = cube->directory_size;
	for (uint32_t d = 0; d < cube->digit_count; d++) {
		if (d < cube->directory_digits)
			key_stride /= cube->digits[d].radix;
		if (!rql_rt_tests_cells(box, d))
			continue;
		struct rql_rt_cell_test test = {.group_stride = box->views[d].stride, .radix = cube->digits[d].radix};
		test.gids = put_gids(image, &box->views[d], test.radix);
		if (d < cube->directory_digits) {
			test.key_stride = key_stride;
			entry->keyed = 1;
		} else {
			const struct rql_packed *codes = &cube->residual[d - cube->directory_digits];
			test.codes = (struct rql_cube_column){.data = rql_cube_arrays_address(image->arrays, codes->data),
			                                      .base_low = (uint64_t)codes->base,
			                                      .bits = codes->bits};
		}
		rql_cube_image_write(image, at + entry->cell_test_count++ * sizeof(test), &test, sizeof(test));
	}
	return image->base + at;
}

/* ---- the whole ---- */

static void write_image(struct rql_cube_image *image, const struct rql_cube_rt *rt, const struct rql_rt_plan *plan,
                        uint64_t program)
{
	const struct rql_cube *cube = image->p->cube;
	const void *directory = cube->directory32 ? (const void *)cube->directory32 : cube->directory64;
	image->used = 0;
	uint64_t head = rql_cube_image_reserve(image, sizeof(struct rql_rt_launch));
	uint64_t boxes = rql_cube_image_reserve(image, image->p->box_count * sizeof(struct rql_rt_box)), first = 0;
	for (uint32_t b = 0; b < image->p->box_count; b++) {
		const struct rql_rt_box_axes *axes = &plan->axes[b];
		const struct rql_rt_box_plan *box = &plan->boxes[b];
		struct rql_rt_box entry = {.first_ray = first, .ray_count = box->rays, .cuts = box->cuts};
		uint32_t levels = box->split == RQL_RT_NO_SPLIT ? axes->first_z : box->split;
		entry.levels = put_levels(image, axes, levels, &entry.level_count);
		entry.segments = put_segments(image, axes, box, &entry.segment_count);
		entry.tests = put_tests(image, axes, box, &entry.test_count);
		entry.cell_tests = put_cell_tests(image, axes, &entry);
		first += box->rays;
		rql_cube_image_write(image, boxes + b * sizeof(entry), &entry, sizeof(entry));
	}
	struct rql_rt_launch launch = {.program = program,
	                               .boxes = image->base + boxes,
	                               .starts = rt->starts ? rt->starts->address : 0,
	                               .z = rt->z ? rt->z->address : 0,
	                               .rays = plan->rays,
	                               .part_primitives = rt->part_primitives,
	                               .directory = rql_cube_arrays_address(rt->arrays, directory),
	                               .directory_size = cube->directory_size,
	                               .directory_wide = !cube->directory32,
	                               .box_count = image->p->box_count,
	                               .wide = rt->wide,
	                               .unit = rql_axis_unit(rt->axes.shift)};
	rql_cube_image_write(image, head, &launch, sizeof(launch));
}

rql_status rql_rt_tables_new(const struct rql_prepared *p, const struct rql_rt_plan *plan, const struct rql_cube_rt *rt,
                             const struct rql_buffer *program, struct rql_buffer **out, struct rql_error *err)
{
	struct rql_cube_image image = {.p = p, .arrays = rt->arrays};
	write_image(&image, rt, plan, program->address);
	uint64_t bytes = image.used;
	struct rql_buffer *buffer = NULL;
	image.data = calloc(1, bytes);
	if (!image.data)
		return rql_error_memory(err, bytes, "a query's rays");
	rql_status status = rql_buffer_new(rt->placement.device, bytes, RQL_MEMORY_DEVICE, "a query's rays", &buffer, err);
	if (status == RQL_OK) {
		image.base = buffer->address;
		write_image(&image, rt, plan, program->address);
		status = rql_buffer_upload(buffer, 0, image.data, bytes, err);
	}
	free(image.data);
	if (status == RQL_OK)
		*out = buffer;
	else
		rql_buffer_free(buffer);
	return status;
}
