/* What the tests of ray tracing stand on: a device with the rt unit, kernels that count or find the ends, scenes of random
 * rows in the cells of a grid, and the loop over the rows that says what a trace must find. */
#ifndef RQL_TESTS_TRACE_FIXTURE_H
#define RQL_TESTS_TRACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_internal.h"
#include "shaders/tests/trace_test.rahit.h"
#include "shaders/tests/trace_test.rchit.h"
#include "shaders/tests/trace_test.rgen.h"
#include "shaders/tests/trace_test.rint.h"
#include "shaders/tests/trace_test.rmiss.h"
#include "shaders/trace_test_kernels.h"
#include "util/budget.h"
#include "vulkan_fixture.h"

#define NOTHING UINT32_C(0xFFFFFFFF)
#define WORDS(name)                                                                                                    \
	{                                                                                                                  \
		rql_spv_trace_test_##name, sizeof(rql_spv_trace_test_##name)                                                   \
	}

static const struct rql_trace_kernel count_triangles = {
	.name = "test.count_triangles",
	.raygen = WORDS(rgen),
	.miss = WORDS(rmiss),
	.any_hit = WORDS(rahit),
	.args_bytes = sizeof(struct trace_test_args),
};
static const struct rql_trace_kernel count_without_miss = {
	.name = "test.count_without_miss",
	.raygen = WORDS(rgen),
	.any_hit = WORDS(rahit),
	.args_bytes = sizeof(struct trace_test_args),
};
static const struct rql_trace_kernel count_boxes = {
	.name = "test.count_boxes",
	.raygen = WORDS(rgen),
	.miss = WORDS(rmiss),
	.any_hit = WORDS(rahit),
	.intersection = WORDS(rint),
	.args_bytes = sizeof(struct trace_test_args),
};
static const struct rql_trace_kernel ends_triangles = {
	.name = "test.ends_triangles",
	.raygen = WORDS(rgen),
	.miss = WORDS(rmiss),
	.closest_hit = WORDS(rchit),
	.args_bytes = sizeof(struct trace_test_args),
};
static const struct rql_trace_kernel ends_boxes = {
	.name = "test.ends_boxes",
	.raygen = WORDS(rgen),
	.miss = WORDS(rmiss),
	.closest_hit = WORDS(rchit),
	.intersection = WORDS(rint),
	.args_bytes = sizeof(struct trace_test_args),
};

/* ---- the device ---- */

static struct rql_devices *devices;
static struct rql_device *gpu;

static int open_gpu(void **state)
{
	(void)state;
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	vulkan_keep_drivers();
	if (rql_devices_open(1, &devices, NULL) != RQL_OK)
		return -1;
	rql_devices_find(devices);
	for (uint32_t i = 1; i < devices->count && !gpu; i++)
		if (devices->device[i].units[RQL_UNIT_RT])
			gpu = &devices->device[i];
	for (uint32_t i = 1; i < devices->count && !gpu; i++)
		print_message("%s has no rt unit: %s\n", devices->device[i].name, devices->device[i].missing[RQL_UNIT_RT]);
	if (!gpu)
		print_message("no device with an rt unit: %s\n", devices->no_gpu ? devices->no_gpu : "see above");
	return 0;
}

static int close_gpu(void **state)
{
	(void)state;
	rql_devices_close(devices);
	if (rql_vulkan_validation_errors() != 0)
		print_error("%llu validation messages\n", (unsigned long long)rql_vulkan_validation_errors());
	return rql_vulkan_validation_errors() == 0 ? 0 : -1;
}

static struct rql_error error;

/* Fails the test with the error's own words. */
static void expect_ok(rql_status status)
{
	if (status != RQL_OK)
		fail_msg("%s: %s", rql_status_name(status), rql_error_message(&error));
}

/* ---- a scene ---- */

struct scene {
	enum rql_primitive primitive;
	uint32_t width, height, row_count, part_count;
	float x0, y0, z_most;
	struct trace_test_row *row; /* by cell, then z */
	bool *dead;                 /* inactive primitives */
	uint32_t *start;            /* [width * height + 1] */
	uint32_t *base;             /* [part_count + 1] */
	uint64_t *part_primitives;
	uint8_t *masks;
	uint32_t ray_mask;
	struct rql_buffer *primitives, *rows, *bases, *cells, *hits;
	uint64_t rng;
};

static uint32_t below(struct scene *s, uint32_t limit)
{
	s->rng = s->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((s->rng >> 33) % limit);
}

static void *must(void *memory)
{
	assert_non_null(memory);
	return memory;
}

static struct rql_buffer *new_buffer(uint64_t bytes, enum rql_memory memory)
{
	struct rql_buffer *buffer = NULL;
	expect_ok(rql_buffer_new(gpu, bytes ? bytes : 4, memory, "a buffer of the test", &buffer, &error));
	return buffer;
}

static uint64_t primitive_bytes(const struct scene *s)
{
	return s->primitive == RQL_TRIANGLES ? RQL_TRIANGLE_BYTES : RQL_AABB_BYTES;
}

/* The geometry of one row: centred on its whole numbers, so that it is exact up to 2^22. */
static void write_primitive(const struct scene *s, uint32_t row)
{
	const struct trace_test_row *r = &s->row[row];
	float *at = (float *)((uint8_t *)s->primitives->map + row * primitive_bytes(s));
	if (s->primitive == RQL_TRIANGLES) {
		float corners[9] = {r->x - .5f, r->y - .5f, r->z, r->x + .5f, r->y - .5f, r->z, r->x, r->y + .5f, r->z};
		memcpy(at, corners, sizeof corners);
	} else {
		float box[6] = {r->x - .5f, r->y - .5f, r->z, r->x + .5f, r->y + .5f, r->z};
		memcpy(at, box, sizeof box);
	}
	if (s->dead[row])
		at[0] = NAN;
}

/* Different whole z in one cell, ascending. */
static void fill_cell(struct scene *s, uint32_t cell, uint32_t count)
{
	uint32_t z = 0, step = (uint32_t)s->z_most / (count + 1);
	for (uint32_t i = 0; i < count; i++) {
		z += 1 + below(s, step);
		s->row[s->row_count++] = (struct trace_test_row){
			.x = s->x0 + (float)(cell % s->width),
			.y = s->y0 + (float)(cell / s->width),
			.z = (float)z,
			.value = below(s, UINT32_MAX),
		};
	}
}

static void cut_parts(struct scene *s)
{
	s->base = must(calloc(s->part_count + 1, sizeof *s->base));
	s->part_primitives = must(calloc(s->part_count + 1, sizeof *s->part_primitives));
	s->masks = must(malloc(s->part_count + 1));
	memset(s->masks, 0xff, s->part_count + 1);
	for (uint32_t part = 0; part < s->part_count; part++) {
		/* Every fifth part is empty, as long as the last one takes the rest. */
		uint32_t end = part + 1 == s->part_count ? s->row_count
		               : part % 5 == 3           ? s->base[part]
		                                         : (uint32_t)((uint64_t)s->row_count * (part + 1) / s->part_count);
		s->base[part + 1] = end;
		s->part_primitives[part] = end - s->base[part];
	}
}

/* most: rows in a cell. x0, y0 and z_most are set by the caller, or 0, 0 and 1000. */
static void scene_make(struct scene *s, uint32_t width, uint32_t height, uint32_t most, uint32_t part_count)
{
	uint32_t cells = width * height;
	s->width = width;
	s->height = height;
	s->part_count = part_count;
	s->ray_mask = 0xff;
	s->z_most = s->z_most > 0 ? s->z_most : 1000;
	s->rng += 4711;
	s->row = must(calloc((size_t)cells * most + 1, sizeof *s->row));
	s->dead = must(calloc((size_t)cells * most + 1, sizeof *s->dead));
	s->start = must(calloc(cells + 1, sizeof *s->start));
	for (uint32_t cell = 0; cell < cells; cell++) {
		s->start[cell] = s->row_count;
		fill_cell(s, cell, most ? below(s, most + 1) : 0);
	}
	s->start[cells] = s->row_count;
	cut_parts(s);
	s->primitives = new_buffer(s->row_count * primitive_bytes(s), RQL_MEMORY_UPLOAD);
	s->rows = new_buffer(s->row_count * sizeof *s->row, RQL_MEMORY_UPLOAD);
	s->bases = new_buffer(s->part_count * sizeof *s->base, RQL_MEMORY_UPLOAD);
	s->cells = new_buffer(cells * sizeof(struct trace_test_cell), RQL_MEMORY_READBACK);
	s->hits = new_buffer(s->row_count * sizeof(uint32_t), RQL_MEMORY_READBACK);
	memcpy(s->bases->map, s->base, s->part_count * sizeof *s->base);
}

static void scene_write(struct scene *s)
{
	memcpy(s->rows->map, s->row, s->row_count * sizeof *s->row);
	for (uint32_t row = 0; row < s->row_count; row++)
		write_primitive(s, row);
}

static void scene_free(struct scene *s)
{
	free(s->row);
	free(s->dead);
	free(s->start);
	free(s->base);
	free(s->part_primitives);
	free(s->masks);
	rql_buffer_free(s->primitives);
	rql_buffer_free(s->rows);
	rql_buffer_free(s->bases);
	rql_buffer_free(s->cells);
	rql_buffer_free(s->hits);
}

/* By a recorded copy: the build has to wait for it. */
static rql_status fill_part(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                            struct rql_error *err)
{
	struct scene *s = state;
	(void)err;
	uint64_t bytes = s->part_primitives[part] * primitive_bytes(s);
	assert_true(input->bytes >= bytes);
	rql_record_copy(c, s->primitives, s->base[part] * primitive_bytes(s), input, 0, bytes);
	return RQL_OK;
}

static struct rql_accel_spec spec_of(struct scene *s)
{
	return (struct rql_accel_spec){
		.what = "the test's rows",
		.primitive = s->primitive,
		.one_call_per_hit = true,
		.part_count = s->part_count,
		.part_primitives = s->part_primitives,
		.part_masks = s->masks,
		.fill = fill_part,
		.state = s,
	};
}

static struct rql_accel *build(struct scene *s, const struct rql_accel_spec *spec)
{
	struct rql_accel *accel = NULL;
	scene_write(s);
	expect_ok(rql_accel_build(gpu, spec, NULL, &accel, &error));
	assert_int_equal(accel->primitives, s->row_count);
	assert_int_equal(accel->part_count, s->part_count);
	assert_true(accel->address != 0);
	assert_true(accel->bytes > 0 && accel->built_bytes >= accel->bytes);
	assert_true(accel->build_ms > 0);
	return accel;
}

/* ---- traces against loops ---- */

struct window {
	float from, to; /* no whole numbers */
};

static void trace(struct scene *s, struct rql_accel *accel, const struct rql_trace_kernel *kernel, bool ends,
                  struct window w)
{
	const uint32_t constants[3] = {ends, 3, NOTHING};
	const struct rql_pipeline *pipeline = NULL;
	struct rql_commands *c = NULL;
	struct trace_test_args args = {
		.rays = (uint64_t)s->width * s->height,
		.accel = accel->address,
		.bases = s->bases->address,
		.rows = s->rows->address,
		.cells = s->cells->address,
		.hits = s->hits->address,
		.x0 = s->x0,
		.y0 = s->y0,
		.from = w.from,
		.to = w.to,
		.width = s->width,
		.mask = s->ray_mask,
	};
	struct rql_use uses[] = {
		{s->bases, RQL_READ}, {s->rows, RQL_READ}, {s->cells, RQL_WRITE}, {s->hits, RQL_READ_WRITE}};
	expect_ok(rql_trace_pipeline_get(gpu, kernel, constants, 3, &pipeline, &error));
	expect_ok(rql_commands_new(gpu, RQL_COMMANDS_TIMED, &c, &error));
	memset(s->cells->map, 0xee, s->cells->bytes);
	rql_record_fill(c, s->hits, 0, s->hits->bytes, 0);
	rql_record_trace(c, "trace", pipeline, &args, args.rays, &accel, 1, uses, 4);
	expect_ok(rql_commands_end(c, &error));
	expect_ok(rql_commands_run(c, NULL, &error));
	rql_commands_free(c);
}

static uint32_t part_of(const struct scene *s, uint32_t row)
{
	uint32_t part = 0;
	while (s->base[part + 1] <= row)
		part++;
	return part;
}

static bool is_hit(const struct scene *s, uint32_t row, struct window w)
{
	return !s->dead[row] && s->row[row].z > w.from && s->row[row].z < w.to &&
	       (s->masks[part_of(s, row)] & s->ray_mask) != 0;
}

static struct trace_test_cell expected_cell(const struct scene *s, uint32_t cell, struct window w)
{
	struct trace_test_cell e = {.first = NOTHING, .last = NOTHING};
	for (uint32_t row = s->start[cell]; row < s->start[cell + 1]; row++) {
		if (!is_hit(s, row, w))
			continue;
		e.count++;
		e.sum += (uint64_t)s->row[row].value * 3; /* specialization constant 1 */
		e.first = e.first == NOTHING ? row : e.first;
		e.last = row;
	}
	return e;
}

/* How many cells, or calls for a row, are not as they must be. */
static uint32_t count_wrong(const struct scene *s, bool ends, struct window w)
{
	const struct trace_test_cell *cells = s->cells->map;
	const uint32_t *hits = s->hits->map;
	uint32_t wrong = 0;
	for (uint32_t cell = 0; cell < s->width * s->height; cell++) {
		struct trace_test_cell e = expected_cell(s, cell, w);
		if (ends)
			wrong += cells[cell].first != e.first || cells[cell].last != e.last;
		else
			wrong += cells[cell].count != e.count || cells[cell].sum != e.sum;
	}
	for (uint32_t row = 0; row < s->row_count && !ends; row++)
		wrong += hits[row] != is_hit(s, row, w);
	return wrong;
}

static const struct window windows[] = {{-.5f, 1000.5f}, {99.5f, 417.5f}, {500.5f, 501.5f}, {1000.5f, 1100.5f}};

static void check(struct scene *s, struct rql_accel *accel)
{
	const struct rql_trace_kernel *count = s->primitive == RQL_TRIANGLES ? &count_triangles : &count_boxes;
	const struct rql_trace_kernel *ends = s->primitive == RQL_TRIANGLES ? &ends_triangles : &ends_boxes;
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
		trace(s, accel, count, false, windows[i]);
		assert_int_equal(count_wrong(s, false, windows[i]), 0);
		trace(s, accel, ends, true, windows[i]);
		assert_int_equal(count_wrong(s, true, windows[i]), 0);
	}
}

#endif
