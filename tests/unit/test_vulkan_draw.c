/* Images and draws from their edges: every allocation, submission and wait fails once, the device is lost
 * at every submission; what is asked for wrongly is refused with its reason; what is freed too early lives
 * on. What is drawn right is tested by the conformance suite (src/selftest/selftest_draw.c), whose shaders draw here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_internal.h"
#include "device/draw.h"
#include "device/fault/fault.h"
#include "selftest/selftest_draw_kernels.h"
#include "shaders/tests/point.vert.h"
#include "shaders/tests/point_uint.frag.h"
#include "vulkan_fixture.h"

#define SIDE 64u
#define PIXELS (SIDE * SIDE)
#define POINTS (4 * PIXELS)

static const struct rql_draw_kernel kernel = {
	.name = "test.point",
	.vertex = {rql_spv_point_vert, sizeof(rql_spv_point_vert)},
	.fragment = {rql_spv_point_uint_frag, sizeof(rql_spv_point_uint_frag)},
	.args_bytes = sizeof(struct rql_point_args),
};
static const struct rql_image_spec spec = {RQL_FORMAT_R32_UINT, SIDE, SIDE, 1, RQL_IMAGE_TARGET | RQL_IMAGE_FETCH};
static const struct rql_draw_state state_of_one = {.target_count = 1, .targets = {{RQL_FORMAT_R32_UINT, 0}}};

static struct rql_devices *devices;
static struct rql_device *device;

static int set_up(void **state)
{
	(void)state;
	const char *name = getenv("RAYQL_TEST_DEVICE");
	assert_int_equal(rql_devices_open(1, &devices, NULL), RQL_OK);
	device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
	assert_non_null(device);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rql_devices_close(devices);
	return rql_vulkan_validation_errors() ? -1 : 0;
}

/* What a drawing needs, and nothing while it is all zero. */
struct scene {
	struct rql_buffer *points, *out;
	struct rql_image *target;
	struct rql_commands *c;
	struct rql_point_args args;
	struct rql_use use;
	struct rql_draw draw;
};

static void scene_free(struct scene *s)
{
	rql_commands_free(s->c);
	rql_image_free(s->target);
	rql_buffer_free(s->points);
	rql_buffer_free(s->out);
	*s = (struct scene){0};
}

/* Four points a pixel, the last of which is pixel number + 1. */
static rql_status scene_make(struct scene *s, struct rql_error *err)
{
	struct rql_selftest_point *points = calloc(POINTS, sizeof(*points));
	assert_non_null(points);
	for (uint32_t i = 0; i < POINTS; i++)
		points[i] = (struct rql_selftest_point){i % SIDE, i / SIDE % SIDE, 0, {i / PIXELS == 3 ? i % PIXELS + 1 : i}};
	rql_status status = rql_buffer_new(device, POINTS * sizeof(*points), RQL_MEMORY_DEVICE, "points", &s->points, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(s->points, 0, points, POINTS * sizeof(*points), err);
	free(points);
	if (status == RQL_OK)
		status = rql_buffer_new(device, PIXELS * 4, RQL_MEMORY_READBACK, "pixels", &s->out, err);
	if (status == RQL_OK)
		status = rql_image_new(device, &spec, "a target", &s->target, err);
	if (status != RQL_OK)
		return status;
	s->args = (struct rql_point_args){.points = s->points->address, .width = SIDE, .height = SIDE};
	s->use = (struct rql_use){s->points, RQL_READ};
	s->draw = (struct rql_draw){.pass = "points", .args = &s->args, .target_count = 1, .vertices = POINTS,
	                            .instances = 1, .uses = &s->use, .use_count = 1};
	s->draw.targets[0].image = s->target;
	RQL_TRY(rql_draw_pipeline_get(device, &kernel, &state_of_one, NULL, 0, &s->draw.pipeline, err));
	return rql_commands_new(device, RQL_COMMANDS_TIMED, &s->c, err);
}

static void scene_record(struct scene *s)
{
	static const uint32_t zeros[4];
	const struct rql_image_rows rows = {s->target, 0, 1, 0, SIDE};
	rql_record_clear(s->c, s->target, 0, 1, zeros);
	rql_record_draw(s->c, &s->draw);
	rql_record_image_read(s->c, &rows, s->out, 0);
}

static void scene_check(const struct scene *s)
{
	for (uint32_t i = 0; i < PIXELS; i++)
		assert_int_equal(((const uint32_t *)s->out->map)[i], i + 1);
}

static rql_status job(struct rql_error *err)
{
	struct scene s = {0};
	rql_status status = scene_make(&s, err);
	if (status == RQL_OK) {
		scene_record(&s);
		status = rql_commands_end(s.c, err);
	}
	if (status == RQL_OK)
		status = rql_commands_run(s.c, NULL, err);
	if (status == RQL_OK)
		scene_check(&s);
	scene_free(&s);
	return status;
}

static void job_succeeds(void)
{
	struct rql_error err = {0};
	if (job(&err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
}

/* Staging memory is there no more: each job allocates what the first one did. */
static void reopen(void)
{
	rql_devices_close(devices);
	set_up(NULL);
}

static void every(enum rql_fault_kind kind, rql_status wanted)
{
	reopen();
	assert_int_equal(rql_fault_set(device, kind, 0, NULL), RQL_OK);
	job_succeeds();
	uint64_t calls = rql_fault_count(device, kind);
	assert_true(calls >= (kind == RQL_FAULT_WAIT ? 1u : 3u)); /* the image is one of them */
	for (uint64_t nth = 1; nth <= calls; nth++) {
		struct rql_error err = {0};
		reopen();
		assert_int_equal(rql_fault_set(device, kind, nth, NULL), RQL_OK);
		assert_int_equal(job(&err), wanted);
		assert_true(rql_fault_struck(device));
		assert_non_null(strstr(rql_error_message(&err), device->id));
		rql_error_clear(&err);
		rql_fault_remove(device);
		job_succeeds();
	}
}

static void test_faults(void **state)
{
	(void)state;
	every(RQL_FAULT_ALLOCATION, RQL_ERROR_LIMIT);
	every(RQL_FAULT_SUBMISSION, RQL_ERROR_DEVICE);
	every(RQL_FAULT_WAIT, RQL_ERROR_DEVICE);
	every(RQL_FAULT_LOST, RQL_ERROR_DEVICE);
}

/* All is freed before the recording is submitted, and it runs twice; passes are timed. */
static void test_lifetime(void **state)
{
	(void)state;
	struct scene s = {0};
	struct rql_pass_time times[8];
	double total;
	uint64_t ticket;
	assert_int_equal(scene_make(&s, NULL), RQL_OK);
	scene_record(&s);
	assert_int_equal(rql_commands_end(s.c, NULL), RQL_OK);
	rql_image_free(s.target);
	rql_buffer_free(s.points);
	s.target = NULL;
	s.points = NULL;
	for (int run = 0; run < 2; run++) {
		memset(s.out->map, 0, PIXELS * 4);
		assert_int_equal(rql_commands_run(s.c, NULL, NULL), RQL_OK);
		scene_check(&s);
	}
	assert_int_equal(rql_commands_times(s.c, times, 8, &total), 3);
	assert_string_equal(times[1].pass, "points");
	assert_true(total > 0 && times[1].ns > 0);
	assert_int_equal(rql_submit(s.c, &ticket, NULL), RQL_OK);
	scene_free(&s); /* in flight */
	job_succeeds();
}

/* Numbers are given out once, come back, and run out with a reason. */
static void test_numbers(void **state)
{
	(void)state;
	enum { MOST = 1100 };
	static struct rql_image *images[MOST];
	struct rql_image_spec small = spec;
	struct rql_error err = {0};
	uint32_t count = 0;
	small.width = small.height = 1;
	small.roles = RQL_IMAGE_FETCH;
	while (count < MOST && rql_image_new(device, &small, "a small image", &images[count], &err) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++)
			assert_int_not_equal(images[i]->number, images[count]->number);
		count++;
	}
	assert_true(count >= 64 && count < MOST);
	assert_int_equal(err.status, RQL_ERROR_LIMIT);
	rql_error_clear(&err);
	rql_image_free(images[--count]);
	/* Its layout's submission may still run. */
	job_succeeds();
	assert_int_equal(rql_image_new(device, &small, "a small image", &images[count], NULL), RQL_OK);
	for (uint32_t i = 0; i <= count; i++)
		rql_image_free(images[i]);
	job_succeeds();
}

static void refused(rql_status got, rql_status wanted, struct rql_error *err, const char *text)
{
	assert_int_equal(got, wanted);
	if (!strstr(rql_error_message(err), text))
		fail_msg("'%s' does not say '%s'", rql_error_message(err), text);
	rql_error_clear(err);
}

static void test_images_refused(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_image *image = NULL;
	struct rql_image_spec s = spec;
	uint64_t available, total;
	s.width = device->limits.image_side + 1;
	refused(rql_image_new(device, &s, "a wide image", &image, &err), RQL_ERROR_LIMIT, &err, "a wide image");
	s = spec;
	s.layers = device->limits.image_layers + 1;
	refused(rql_image_new(device, &s, "a tall image", &image, &err), RQL_ERROR_LIMIT, &err, "layers");
	s = spec;
	s.roles = 0;
	refused(rql_image_new(device, &s, "an image", &image, &err), RQL_ERROR_INTERNAL, &err, "incomplete");
	s = spec;
	s.roles = RQL_IMAGE_TARGET | RQL_IMAGE_BLEND; /* no device blends integers */
	refused(rql_image_new(device, &s, "an image", &image, &err), RQL_ERROR_UNSUPPORTED, &err, "lacks 0x2");
	refused(rql_image_new(&devices->device[0], &spec, "an image", &image, &err), RQL_ERROR_UNSUPPORTED, &err, "no GPU");
	assert_int_equal(rql_format_roles(&devices->device[0], RQL_FORMAT_R32_UINT), 0);
	rql_device_memory(device, &available, &total);
	s = (struct rql_image_spec){RQL_FORMAT_RGBA32_UINT, device->limits.image_side, device->limits.image_side, 1,
	                            RQL_IMAGE_TARGET};
	s.layers = (uint32_t)(total / ((uint64_t)s.width * s.height * 16)) + 1;
	if (s.layers <= device->limits.image_layers)
		assert_int_equal(rql_image_new(device, &s, "all memory", &image, &err), RQL_ERROR_LIMIT);
	rql_error_clear(&err);
	assert_null(image);
}

/* Every recorder keeps its complaint, and rql_commands_end says it. */
static void test_misuse(void **state)
{
	(void)state;
	static const uint32_t zeros[4];
	static const char *const texts[] = {"1 targets, the pipeline has",
	                                    "layer than it must",
	                                    "looked up in the same pass",
	                                    "layers from 1",
	                                    "rows from 60",
	                                    "multiple of 16",
	                                    "where one of",
	                                    "of another kind"};
	for (uint32_t what = 0; what < sizeof(texts) / sizeof(*texts); what++) {
		struct scene s = {0};
		struct rql_error err = {0};
		struct rql_draw_state none = {0};
		struct rql_image_spec fetched = spec;
		assert_int_equal(scene_make(&s, NULL), RQL_OK);
		struct rql_image_use self = {s.target, RQL_READ};
		struct rql_image_rows rows = {s.target, 0, 1, 60, 8};
		switch (what) {
		case 0:
			assert_int_equal(rql_draw_pipeline_get(device, &kernel, &none, NULL, 0, &s.draw.pipeline, NULL), RQL_OK);
			break;
		case 1:
			s.draw.targets[0].layer = 1;
			break;
		case 2:
			s.draw.images = &self;
			s.draw.image_count = 1;
			break;
		case 3:
			rql_record_clear(s.c, s.target, 1, 1, zeros);
			break;
		case 4:
			rql_record_image_read(s.c, &rows, s.out, 0);
			break;
		case 5:
			rows.rows = 1;
			rql_record_image_write(s.c, &rows, s.out, 4);
			break;
		case 6: /* a target that is none */
			rql_image_free(s.target);
			s.target = NULL;
			fetched.roles = RQL_IMAGE_FETCH;
			assert_int_equal(rql_image_new(device, &fetched, "no target", &s.target, NULL), RQL_OK);
			s.draw.targets[0].image = s.target;
			break;
		default:
			rql_record_dispatch(s.c, "points", s.draw.pipeline, &s.args, 1, NULL, 0);
			break;
		}
		rql_record_draw(s.c, &s.draw);
		refused(rql_commands_end(s.c, &err), RQL_ERROR_INTERNAL, &err, texts[what]);
		scene_free(&s);
	}
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	int skipped = vulkan_skip_without(RQL_UNIT_RASTER);
	if (skipped)
		return skipped;
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_faults),         TEST(test_lifetime), TEST(test_numbers),
		TEST(test_images_refused), TEST(test_misuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
