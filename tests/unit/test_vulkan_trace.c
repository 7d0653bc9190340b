/* Acceleration structures and ray-tracing pipelines on every Vulkan device that has the rt unit: random rows in the cells
 * of a grid, as triangles or boxes, one ray a cell, compared with a loop over the rows. */
#include "trace_fixture.h"

#include "device/fault/fault.h"

#define NEEDS_RT()                                                                                                     \
	do {                                                                                                               \
		(void)state;                                                                                                   \
		if (!gpu)                                                                                                      \
			skip();                                                                                                    \
	} while (0)

static void build_and_check(struct scene s, uint32_t parts, bool compact, enum rql_accel_aim aim)
{
	scene_make(&s, 40, 30, 6, parts);
	struct rql_accel_spec spec = spec_of(&s);
	spec.compact = compact;
	spec.aim = aim;
	struct rql_accel *accel = build(&s, &spec);
	check(&s, accel);
	rql_accel_free(accel);
	scene_free(&s);
}

static void test_triangles(void **state)
{
	NEEDS_RT();
	build_and_check((struct scene){.primitive = RQL_TRIANGLES}, 1, false, RQL_ACCEL_FAST_TRACE);
	build_and_check((struct scene){.primitive = RQL_TRIANGLES, .rng = 1}, 7, true, RQL_ACCEL_FAST_TRACE);
	build_and_check((struct scene){.primitive = RQL_TRIANGLES, .rng = 2}, 100, true, RQL_ACCEL_SMALL);
}

static void test_boxes(void **state)
{
	NEEDS_RT();
	build_and_check((struct scene){.primitive = RQL_AABBS}, 1, true, RQL_ACCEL_FAST_BUILD);
	build_and_check((struct scene){.primitive = RQL_AABBS, .rng = 3}, 33, false, RQL_ACCEL_FAST_TRACE);
}

static void test_no_miss_shader(void **state)
{
	NEEDS_RT();
	struct scene s = {0};
	scene_make(&s, 10, 10, 3, 2);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	trace(&s, accel, &count_without_miss, false, windows[1]);
	assert_int_equal(count_wrong(&s, false, windows[1]), 0);
	rql_accel_free(accel);
	scene_free(&s);
}

/* Any-hit shaders are not called, closest hits are found. */
static void test_opaque(void **state)
{
	NEEDS_RT();
	struct scene s = {0};
	scene_make(&s, 20, 20, 4, 3);
	struct rql_accel_spec spec = spec_of(&s);
	spec.opaque = true;
	struct rql_accel *accel = build(&s, &spec);
	trace(&s, accel, &ends_triangles, true, windows[1]);
	assert_int_equal(count_wrong(&s, true, windows[1]), 0);
	trace(&s, accel, &count_triangles, false, windows[0]);
	const uint32_t *hits = s.hits->map;
	for (uint32_t row = 0; row < s.row_count; row++)
		assert_int_equal(hits[row], 0);
	rql_accel_free(accel);
	scene_free(&s);
}

static void test_masks(void **state)
{
	NEEDS_RT();
	struct scene s = {.rng = 5};
	scene_make(&s, 30, 30, 5, 12);
	for (uint32_t part = 0; part < s.part_count; part++)
		s.masks[part] = (uint8_t)(1u << part % 8);
	struct rql_accel_spec spec = spec_of(&s);
	spec.compact = true;
	struct rql_accel *accel = build(&s, &spec);
	static const uint32_t masks[] = {0xff, 0x01, 0x42, 0x80};
	for (size_t i = 0; i < 4; i++) {
		s.ray_mask = masks[i];
		check(&s, accel);
	}
	rql_accel_free(accel);
	scene_free(&s);
}

static void test_inactive(void **state)
{
	NEEDS_RT();
	/* llvmpipe of Mesa 25.2 crashes inside its own code when a ray meets such a part, that of 25.0 does not. */
	if (strstr(gpu->driver, "llvmpipe") && !strstr(gpu->driver, "Mesa 25.0"))
		skip();
	struct scene s = {.rng = 6};
	scene_make(&s, 30, 30, 5, 4);
	for (uint32_t row = 0; row < s.row_count; row++)
		s.dead[row] = below(&s, 3) == 0 || part_of(&s, row) == 1; /* and a part of which nothing is left */
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	check(&s, accel);
	rql_accel_free(accel);
	scene_free(&s);
}

static void test_refit(void **state)
{
	NEEDS_RT();
	for (uint32_t primitive = RQL_TRIANGLES; primitive <= RQL_AABBS; primitive++) {
		struct scene s = {.primitive = primitive, .rng = 7};
		scene_make(&s, 25, 25, 5, 5);
		struct rql_accel_spec spec = spec_of(&s);
		spec.refit = spec.compact = true;
		struct rql_accel *accel = build(&s, &spec);
		uint64_t address = accel->address;
		/* The rows of one part grow in z, beyond the box that it had. */
		for (uint32_t row = s.base[2]; row < s.base[3]; row++)
			s.row[row].z += 37;
		scene_write(&s);
		expect_ok(rql_accel_refit(accel, 2, fill_part, &s, &error));
		assert_int_equal(accel->address, address);
		check(&s, accel);
		expect_ok(rql_accel_refit(accel, 3, fill_part, &s, &error)); /* empty */
		assert_int_equal(rql_accel_refit(accel, 5, fill_part, &s, &error), RQL_ERROR_INTERNAL);
		rql_accel_free(accel);
		spec.refit = false;
		accel = build(&s, &spec);
		assert_int_equal(rql_accel_refit(accel, 2, fill_part, &s, &error), RQL_ERROR_INTERNAL);
		rql_accel_free(accel);
		scene_free(&s);
	}
}

/* A launch is cut into pieces, and no ray is lost or doubled. */
static void test_pieces(void **state)
{
	NEEDS_RT();
	uint64_t most = gpu->limits.rays_per_launch;
	static const uint64_t limits[] = {1000, 1, 2999, 3000, 3001};
	struct scene s = {.rng = 8};
	scene_make(&s, 60, 50, 3, 3);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		gpu->limits.rays_per_launch = limits[i];
		trace(&s, accel, &count_triangles, false, windows[1]);
		assert_int_equal(count_wrong(&s, false, windows[1]), 0);
	}
	gpu->limits.rays_per_launch = most;
	rql_accel_free(accel);
	scene_free(&s);
}

/* The rays of a recording begin where the arguments say; a launch is cut there as well. */
static void test_first_ray(void **state)
{
	NEEDS_RT();
	uint64_t most = gpu->limits.rays_per_launch, rays = 60 * 50;
	struct scene s = {.rng = 18};
	const uint32_t constants[3] = {0, 3, NOTHING};
	const struct rql_pipeline *pipeline = NULL;
	scene_make(&s, 60, 50, 3, 3);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	struct trace_test_args args = {
		.rays = rays,
		.accel = accel->address,
		.bases = s.bases->address,
		.rows = s.rows->address,
		.cells = s.cells->address,
		.hits = s.hits->address,
		.from = windows[1].from,
		.to = windows[1].to,
		.width = 60,
		.mask = 0xff,
	};
	struct rql_use uses[] = {{s.bases, RQL_READ}, {s.rows, RQL_READ}, {s.cells, RQL_WRITE}, {s.hits, RQL_READ_WRITE}};
	expect_ok(rql_trace_pipeline_get(gpu, &count_triangles, constants, 3, &pipeline, &error));
	memset(s.hits->map, 0, s.hits->bytes);
	memset(s.cells->map, 0xee, s.cells->bytes);
	gpu->limits.rays_per_launch = 333;
	for (uint64_t piece = 1100; args.first_ray < rays; args.first_ray += piece) {
		struct rql_commands *c = NULL;
		uint64_t rest = rays - args.first_ray;
		expect_ok(rql_commands_new(gpu, 0, &c, &error));
		rql_record_trace(c, "trace", pipeline, &args, rest < piece ? rest : piece, &accel, 1, uses, 4);
		expect_ok(rql_commands_end(c, &error));
		expect_ok(rql_commands_run(c, NULL, &error));
		rql_commands_free(c);
	}
	gpu->limits.rays_per_launch = most;
	assert_int_equal(count_wrong(&s, false, windows[1]), 0);
	rql_accel_free(accel);
	scene_free(&s);
}

static void test_submission_size(void **state)
{
	NEEDS_RT();
	uint64_t most = gpu->limits.submission_rays;
	assert_true(most >= 1u << 20 && most <= 1u << 24);
	assert_int_equal(rql_trace_piece(gpu, 1, 1e12), 1);
	assert_int_equal(rql_trace_piece(gpu, most, 0), most);
	assert_int_equal(rql_trace_piece(gpu, most + 1, 0), most);
	assert_int_equal(rql_trace_piece(gpu, UINT64_C(1) << 60, 0), most);
	assert_int_equal(rql_trace_piece(gpu, most, 1e9), most / 4); /* four times a quarter of a second */
	uint64_t least = rql_trace_piece(gpu, most, 1e30);
	assert_true(least > 0 && least < most / 100);
}

static void test_part_limit(void **state)
{
	NEEDS_RT();
	uint64_t most = gpu->limits.part_primitives;
	assert_true(most >= 1u << 20 && most <= 1u << 25);
	struct scene s = {.rng = 9};
	scene_make(&s, 20, 20, 4, 2);
	scene_write(&s);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = NULL;
	gpu->limits.part_primitives = s.part_primitives[0] - 1;
	rql_status status = rql_accel_build(gpu, &spec, NULL, &accel, &error);
	gpu->limits.part_primitives = most;
	assert_int_equal(status, RQL_ERROR_INTERNAL);
	assert_null(accel);
	assert_non_null(strstr(rql_error_message(&error), "the test's rows"));
	scene_free(&s);
}

/* Nothing at all, and parts of nothing: every ray misses. */
static void test_empty(void **state)
{
	NEEDS_RT();
	for (uint32_t parts = 0; parts <= 3; parts += 3) {
		struct scene s = {0};
		scene_make(&s, 10, 10, 0, parts);
		struct rql_accel_spec spec = spec_of(&s);
		spec.compact = true;
		struct rql_accel *accel = build(&s, &spec);
		assert_int_equal(accel->primitives, 0);
		check(&s, accel);
		rql_accel_free(accel);
		scene_free(&s);
	}
}

/* Coordinates below `most` on all axes, the grid in the far corner. */
static uint32_t wrong_at(uint32_t most)
{
	struct scene s = {.x0 = (float)(most - 16), .y0 = (float)(most - 16), .z_most = (float)most, .rng = 10};
	struct window all = {-.5f, (float)most - .5f};
	scene_make(&s, 16, 16, 20, 4);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	trace(&s, accel, &count_triangles, false, all);
	uint32_t wrong = count_wrong(&s, false, all);
	trace(&s, accel, &ends_triangles, true, all);
	wrong += count_wrong(&s, true, all);
	rql_accel_free(accel);
	scene_free(&s);
	return wrong;
}

static void test_exact(void **state)
{
	NEEDS_RT();
	assert_int_equal(wrong_at(1u << 20), 0);
	assert_int_equal(wrong_at(1u << 22), 0);
	print_message("%s: %u wrong at 2^23, which nobody relies on\n", gpu->name, wrong_at(1u << 23));
}

static void test_interrupted(void **state)
{
	NEEDS_RT();
	struct scene s = {.rng = 11};
	struct rql_progress progress = {0};
	struct rql_accel *accel = NULL;
	atomic_store(&progress.cancel, true);
	scene_make(&s, 20, 20, 4, 40);
	scene_write(&s);
	struct rql_accel_spec spec = spec_of(&s);
	assert_int_equal(rql_accel_build(gpu, &spec, &progress, &accel, &error), RQL_ERROR_INTERRUPTED);
	assert_null(accel);
	scene_free(&s);
}

static rql_status fill_fails(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                             struct rql_error *err)
{
	if (part < 2)
		return fill_part(state, c, part, input, err);
	return rql_error_set(err, RQL_ERROR_STALE, "the rows are gone");
}

static void test_fill_fails(void **state)
{
	NEEDS_RT();
	struct scene s = {.rng = 12};
	struct rql_accel *accel = NULL;
	scene_make(&s, 20, 20, 4, 4);
	scene_write(&s);
	struct rql_accel_spec spec = spec_of(&s);
	spec.fill = fill_fails;
	assert_int_equal(rql_accel_build(gpu, &spec, NULL, &accel, &error), RQL_ERROR_STALE);
	assert_null(accel);
	assert_string_equal(rql_error_message(&error), "the rows are gone");
	scene_free(&s);
}

/* Freed while a submission traces through it, and traced through once more by the recording that names it. */
static void test_freed_in_flight(void **state)
{
	NEEDS_RT();
	struct scene s = {.rng = 13};
	const uint32_t constants[3] = {0, 3, NOTHING};
	const struct rql_pipeline *pipeline = NULL;
	struct rql_commands *c = NULL;
	uint64_t ticket = 0;
	scene_make(&s, 64, 64, 8, 4);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	struct trace_test_args args = {
		.rays = 64 * 64,
		.accel = accel->address,
		.bases = s.bases->address,
		.rows = s.rows->address,
		.cells = s.cells->address,
		.hits = s.hits->address,
		.from = windows[1].from,
		.to = windows[1].to,
		.width = 64,
		.mask = 0xff,
	};
	struct rql_use uses[] = {{s.bases, RQL_READ}, {s.rows, RQL_READ}, {s.cells, RQL_WRITE}, {s.hits, RQL_READ_WRITE}};
	expect_ok(rql_trace_pipeline_get(gpu, &count_triangles, constants, 3, &pipeline, &error));
	expect_ok(rql_commands_new(gpu, 0, &c, &error));
	rql_record_fill(c, s.hits, 0, s.hits->bytes, 0);
	rql_record_trace(c, "trace", pipeline, &args, args.rays, &accel, 1, uses, 4);
	expect_ok(rql_commands_end(c, &error));
	expect_ok(rql_commands_run(c, NULL, &error));
	expect_ok(rql_submit(c, &ticket, &error));
	rql_accel_free(accel);
	expect_ok(rql_wait(gpu, ticket, NULL, &error));
	assert_int_equal(count_wrong(&s, false, windows[1]), 0);
	expect_ok(rql_submit(c, &ticket, &error));
	rql_commands_free(c);
	expect_ok(rql_wait(gpu, ticket, NULL, &error));
	assert_int_equal(count_wrong(&s, false, windows[1]), 0);
	scene_free(&s);
}

/* ---- the serialised form ---- */

struct file {
	uint8_t *data;
	uint64_t size, at, limit; /* limit: writing fails there */
};

static rql_status put(void *state, const void *data, uint64_t bytes, struct rql_error *err)
{
	struct file *f = state;
	if (f->limit && f->size + bytes > f->limit)
		return rql_error_set(err, RQL_ERROR_IO, "the disk is full");
	f->data = must(realloc(f->data, f->size + bytes));
	memcpy(f->data + f->size, data, bytes);
	f->size += bytes;
	return RQL_OK;
}

static rql_status get(void *state, void *data, uint64_t bytes, struct rql_error *err)
{
	struct file *f = state;
	if (f->size - f->at < bytes)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "the file ends early");
	memcpy(data, f->data + f->at, bytes);
	f->at += bytes;
	return RQL_OK;
}

static rql_status read_again(struct file *f, struct rql_accel **out)
{
	f->at = 0;
	*out = NULL;
	return rql_accel_read(gpu, get, f, out, &error);
}

static void test_file(void **state)
{
	NEEDS_RT();
	for (uint32_t primitive = RQL_TRIANGLES; primitive <= RQL_AABBS; primitive++) {
		struct scene s = {.primitive = primitive, .rng = 14};
		struct file f = {0};
		scene_make(&s, 30, 30, 5, 9);
		s.masks[1] = 0x0f;
		s.ray_mask = 0xf0;
		struct rql_accel_spec spec = spec_of(&s);
		spec.compact = spec.refit = true;
		struct rql_accel *accel = build(&s, &spec), *copy = NULL;
		expect_ok(rql_accel_write(accel, put, &f, &error));
		check(&s, accel);
		rql_accel_free(accel);
		expect_ok(read_again(&f, &copy));
		assert_int_equal(f.at, f.size);
		assert_int_equal(copy->primitives, s.row_count);
		assert_int_equal(copy->part_count, s.part_count);
		check(&s, copy);
		assert_int_equal(rql_accel_refit(copy, 2, fill_part, &s, &error), RQL_ERROR_INTERNAL);
		rql_accel_free(copy);
		free(f.data);
		scene_free(&s);
	}
}

static void test_file_damaged(void **state)
{
	NEEDS_RT();
	struct scene s = {.rng = 15};
	struct file f = {0};
	struct rql_accel *copy = NULL;
	scene_make(&s, 10, 10, 4, 3);
	struct rql_accel_spec spec = spec_of(&s);
	struct rql_accel *accel = build(&s, &spec);
	expect_ok(rql_accel_write(accel, put, &f, &error));
	uint64_t size = f.size;
	for (uint32_t i = 0; i < 200; i++) { /* every bit of the head, and of what follows some */
		uint64_t at = i < 120 ? i : 120 + (uint64_t)below(&s, (uint32_t)(size - 120));
		uint8_t bit = (uint8_t)(1u << below(&s, 8));
		f.data[at] ^= bit;
		rql_status status = read_again(&f, &copy);
		assert_true(status == RQL_ERROR_CORRUPT || (status == RQL_ERROR_STALE && at < 12)); /* the version */
		assert_null(copy);
		f.data[at] ^= bit;
	}
	for (uint32_t i = 0; i < 40; i++) { /* cut off */
		f.size = i < 5 ? size - 1 - i : below(&s, (uint32_t)size);
		assert_int_equal(read_again(&f, &copy), RQL_ERROR_CORRUPT);
		assert_null(copy);
	}
	f.size = size;
	expect_ok(read_again(&f, &copy));
	check(&s, copy);
	rql_accel_free(copy);
	struct file full = {.limit = size / 2};
	assert_int_equal(rql_accel_write(accel, put, &full, &error), RQL_ERROR_IO);
	rql_accel_free(accel);
	free(full.data);
	free(f.data);
	scene_free(&s);
}

/* ---- faults and limits ---- */

/* Everything that can be done with a structure; the first error ends it. What was made is freed, whatever happened. */
static rql_status whole_life(struct scene *s, struct rql_accel **kept)
{
	struct rql_accel_spec spec = spec_of(s);
	struct rql_accel *accel = NULL, *copy = NULL;
	struct file f = {0};
	spec.compact = spec.refit = true;
	rql_status status = rql_accel_build(gpu, &spec, NULL, &accel, &error);
	if (status == RQL_OK)
		status = rql_accel_refit(accel, 1, fill_part, s, &error);
	if (status == RQL_OK)
		status = rql_accel_write(accel, put, &f, &error);
	if (status == RQL_OK)
		status = read_again(&f, &copy);
	rql_accel_free(accel);
	free(f.data);
	*kept = copy;
	return status;
}

/* The Nth allocation, submission and wait fail, one N after the other until nothing is left to fail. */
static void test_faults(void **state)
{
	NEEDS_RT();
	static const rql_status expected[] = {
		[RQL_FAULT_ALLOCATION] = RQL_ERROR_LIMIT,
		[RQL_FAULT_SUBMISSION] = RQL_ERROR_DEVICE,
		[RQL_FAULT_WAIT] = RQL_ERROR_DEVICE,
		[RQL_FAULT_LOST] = RQL_ERROR_DEVICE,
	};
	struct scene s = {.rng = 16};
	scene_make(&s, 20, 20, 4, 6);
	scene_write(&s);
	for (uint32_t kind = 0; kind < sizeof(expected) / sizeof(*expected); kind++) {
		uint32_t survived = 0, failed = 0;
		for (uint64_t nth = 1;; nth++) {
			struct rql_accel *accel = NULL;
			expect_ok(rql_fault_set(gpu, kind, nth, &error));
			rql_status status = whole_life(&s, &accel);
			bool struck = rql_fault_struck(gpu);
			rql_fault_remove(gpu);
			if (status == RQL_OK) {
				check(&s, accel);
				survived += struck; /* memory did not suffice for a batch, but for half of it */
			} else {
				assert_true(struck);
				assert_null(accel);
				assert_int_equal(status, expected[kind]);
				assert_true(strlen(rql_error_message(&error)) > 0);
				failed++;
			}
			rql_accel_free(accel);
			if (!struck)
				break;
		}
		assert_true(failed > 5);
		assert_true(kind == RQL_FAULT_ALLOCATION ? survived > 5 : survived == 0);
	}
	scene_free(&s);
}

/* Whatever the parts need may fail once: what earlier ones left behind makes way, then there are fewer at once. What the
 * top level needs may not. */
static void build_short_of_memory(uint32_t parts)
{
	struct scene s = {.rng = 17};
	scene_make(&s, 20, 20, 4, parts);
	scene_write(&s);
	uint32_t more = s.part_primitives[parts - 2] - 1; /* the last part is the largest: it finds no room that fits */
	s.base[parts - 1] -= more;
	s.part_primitives[parts - 2] -= more;
	s.part_primitives[parts - 1] += more;
	memcpy(s.bases->map, s.base, s.part_count * sizeof *s.base);
	struct rql_accel_spec spec = spec_of(&s);
	spec.compact = true;
	uint32_t survived = 0, failed = 0;
	for (uint64_t nth = 1;; nth++) {
		struct rql_accel *accel = NULL;
		expect_ok(rql_fault_set(gpu, RQL_FAULT_ALLOCATION, nth, &error));
		rql_status status = rql_accel_build(gpu, &spec, NULL, &accel, &error);
		bool struck = rql_fault_struck(gpu);
		rql_fault_remove(gpu);
		if (status == RQL_OK)
			check(&s, accel);
		rql_accel_free(accel);
		if (!struck)
			break;
		survived += status == RQL_OK;
		failed += status != RQL_OK;
	}
	print_message("%u parts: %u allocations survived, %u not\n", parts, survived, failed);
	assert_true(survived > 2 * parts && failed > 0 && failed <= 3);
	scene_free(&s);
}

static void test_short_of_memory(void **state)
{
	NEEDS_RT();
	build_short_of_memory(6);
	build_short_of_memory(41); /* 32 in a batch, 8 empty, the last one alone */
}

/* A device with 32 MiB, and a structure of 40. */
static void test_memory_limit(void **state)
{
	NEEDS_RT();
	struct rql_devices *small = NULL;
	struct scene s = {0};
	uint64_t primitives[3] = {0, 400000, 0};
	struct rql_accel_spec spec = {
		.what = "400000 rows",
		.part_count = 3,
		.part_primitives = primitives,
		.fill = fill_fails,
		.state = &s,
		.compact = true,
	};
	struct rql_accel *accel = NULL;
	setenv("RAYQL_VULKAN_MEMORY", "32", 1);
	expect_ok(rql_devices_open(1, &small, &error));
	struct rql_device *device = rql_devices_get(small, gpu->id);
	assert_non_null(device);
	unsetenv("RAYQL_VULKAN_MEMORY");
	assert_int_equal(rql_accel_build(device, &spec, NULL, &accel, &error), RQL_ERROR_LIMIT);
	assert_null(accel);
	print_message("%s\n", rql_error_message(&error));
	assert_non_null(strstr(rql_error_message(&error), "MiB"));
	rql_devices_close(small);
}

static int drop_error(void **state)
{
	(void)state;
	rql_error_clear(&error);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_triangles, drop_error),
		cmocka_unit_test_teardown(test_boxes, drop_error),
		cmocka_unit_test_teardown(test_no_miss_shader, drop_error),
		cmocka_unit_test_teardown(test_opaque, drop_error),
		cmocka_unit_test_teardown(test_masks, drop_error),
		cmocka_unit_test_teardown(test_inactive, drop_error),
		cmocka_unit_test_teardown(test_refit, drop_error),
		cmocka_unit_test_teardown(test_pieces, drop_error),
		cmocka_unit_test_teardown(test_first_ray, drop_error),
		cmocka_unit_test_teardown(test_submission_size, drop_error),
		cmocka_unit_test_teardown(test_part_limit, drop_error),
		cmocka_unit_test_teardown(test_empty, drop_error),
		cmocka_unit_test_teardown(test_exact, drop_error),
		cmocka_unit_test_teardown(test_interrupted, drop_error),
		cmocka_unit_test_teardown(test_fill_fails, drop_error),
		cmocka_unit_test_teardown(test_freed_in_flight, drop_error),
		cmocka_unit_test_teardown(test_file, drop_error),
		cmocka_unit_test_teardown(test_file_damaged, drop_error),
		cmocka_unit_test_teardown(test_faults, drop_error),
		cmocka_unit_test_teardown(test_short_of_memory, drop_error),
		cmocka_unit_test_teardown(test_memory_limit, drop_error),
	};
	return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
