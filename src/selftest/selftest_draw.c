/* What draw.h promises: the last point wins, blends are exact, bits are combined, several targets, layers, instances,
 * counts on the device, one fragment a point, clears and copies, images that kernels read and write. */
#include "selftest/selftest_case.h"

#include <string.h>

#include "device/draw.h"
#include "selftest/selftest_draw_kernels.h"
#include "shaders/selftest/pixel.comp.h"
#include "shaders/selftest/point.vert.h"
#include "shaders/selftest/point_float.frag.h"
#include "shaders/selftest/point_two.frag.h"
#include "shaders/selftest/point_uint.frag.h"

#define KERNEL(what)                                                                                                   \
	{                                                                                                                  \
		.name = "selftest.point_" #what, .vertex = {rql_spv_point_vert, sizeof(rql_spv_point_vert)},                   \
		.fragment = {rql_spv_point_##what##_frag, sizeof(rql_spv_point_##what##_frag)},                                \
		.args_bytes = sizeof(struct rql_point_args),                                                                   \
	}
static const struct rql_draw_kernel uint_kernel = KERNEL(uint), float_kernel = KERNEL(float), two_kernel = KERNEL(two);
static const struct rql_kernel pixel_kernel = {
	.name = "selftest.pixel",
	.spirv = rql_spv_pixel_comp,
	.spirv_bytes = sizeof(rql_spv_pixel_comp),
	.args_bytes = sizeof(struct rql_pixel_args),
};

#define WIDTH 61u /* no power of two */
#define HEIGHT 32u
#define LAYERS 3u
#define PIXELS (WIDTH * HEIGHT * LAYERS)
#define POINTS 20000u
#define INSTANCES 4u
#define THREADS 64u
#define EXACT 0x1000000 /* floats hold every integer up to here */

/* One drawing of all points, in two draws. */
struct drawing {
	struct rql_selftest *t;
	struct rql_draw_state state;
	const struct rql_draw_kernel *kernel;
	bool counts_on_device;
	uint32_t start; /* of every component of every pixel, before */
	struct rql_selftest_point *points;
	uint32_t *calls, *got; /* calls: wanted fragments of a pixel */
	struct rql_image *targets[2];
	struct rql_buffer *point_buffer, *call_buffer, *count_buffer, *out[2];
};

static uint32_t components(enum rql_format format)
{
	return format == RQL_FORMAT_R32_UINT || format == RQL_FORMAT_R32_FLOAT     ? 1
	       : format == RQL_FORMAT_RG32_UINT || format == RQL_FORMAT_RG32_FLOAT ? 2
	                                                                           : 4;
}

static uint32_t pixel_of(const struct rql_selftest_point *p)
{
	return (p->layer * HEIGHT + p->y) * WIDTH + p->x;
}

/* Many on a few pixels; some outside, which draw nothing. values: below `range`, and of either sign when blended. */
static rql_status draw_points(struct drawing *d, uint32_t range, struct rql_error *err)
{
	struct rql_selftest *t = d->t;
	RQL_TRY(rql_selftest_alloc(t, POINTS, sizeof(*d->points), &d->points, err));
	RQL_TRY(rql_selftest_alloc(t, PIXELS, 4, &d->calls, err));
	RQL_TRY(rql_selftest_alloc(t, PIXELS * 4, 4, &d->got, err));
	for (uint32_t i = 0; i < POINTS; i++) {
		struct rql_selftest_point *p = &d->points[i];
		uint32_t wide = rql_selftest_below(t, 3) ? WIDTH : 3;
		p->x = (uint32_t)rql_selftest_below(t, 20) ? (uint32_t)rql_selftest_below(t, wide) : WIDTH;
		p->y = (uint32_t)rql_selftest_below(t, HEIGHT);
		p->layer = (uint32_t)rql_selftest_below(t, LAYERS);
		for (uint32_t k = 0; k < 4; k++)
			p->value[k] = range ? (uint32_t)rql_selftest_below(t, range) - range / 2 : (uint32_t)rql_selftest_random(t);
		if (p->x < WIDTH)
			d->calls[pixel_of(p)]++;
	}
	return RQL_OK;
}

static rql_status make(struct drawing *d, struct rql_error *err)
{
	const uint32_t zeros[PIXELS] = {0}, per = POINTS / 2 / INSTANCES;
	const uint32_t counts[8] = {7, 7, 7, 7, per, INSTANCES, 0, 0}; /* at 16 */
	struct rql_selftest *t = d->t;
	RQL_TRY(rql_selftest_buffer(t, POINTS * sizeof(*d->points), d->points, "points", &d->point_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, sizeof(zeros), zeros, "fragments of a pixel", &d->call_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, sizeof(counts), counts, "counts of a draw", &d->count_buffer, err));
	for (uint32_t i = 0; i < d->state.target_count; i++) {
		struct rql_image_spec spec = {.format = d->state.targets[i].format,
		                              .width = WIDTH,
		                              .height = HEIGHT,
		                              .layers = LAYERS,
		                              .roles = RQL_IMAGE_TARGET};
		spec.roles |= d->state.targets[i].blend ? RQL_IMAGE_BLEND : 0;
		RQL_TRY(rql_image_new(t->device, &spec, "a selftest's target", &d->targets[i], err));
		uint64_t bytes = (uint64_t)PIXELS * rql_pixel_bytes(spec.format);
		RQL_TRY(rql_selftest_buffer(t, bytes, NULL, "pixels", &d->out[i], err));
	}
	return RQL_OK;
}

static rql_status run_made(struct drawing *d, struct rql_error *err)
{
	struct rql_selftest *t = d->t;
	struct rql_commands *c;
	struct rql_point_args args = {.points = d->point_buffer->address,
	                              .calls = d->call_buffer->address,
	                              .per_instance = POINTS / 2 / INSTANCES,
	                              .width = WIDTH,
	                              .height = HEIGHT};
	const struct rql_use uses[] = {{d->point_buffer, RQL_READ}, {d->call_buffer, RQL_READ_WRITE}};
	const uint32_t start[4] = {d->start, d->start, d->start, d->start};
	struct rql_draw draw = {.pass = "points",
	                        .args = &args,
	                        .target_count = d->state.target_count,
	                        .vertices = args.per_instance,
	                        .instances = INSTANCES,
	                        .uses = uses,
	                        .use_count = 2};
	RQL_TRY(rql_draw_pipeline_get(t->device, d->kernel, &d->state, NULL, 0, &draw.pipeline, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	for (uint32_t i = 0; i < draw.target_count; i++) {
		draw.targets[i] = (struct rql_target){d->targets[i], RQL_ALL_LAYERS};
		rql_record_clear(c, d->targets[i], 0, LAYERS, start);
	}
	rql_record_draw(c, &draw);
	args.first = POINTS / 2;
	draw.counts = d->counts_on_device ? d->count_buffer : NULL;
	draw.counts_offset = 16;
	rql_record_draw(c, &draw);
	for (uint32_t i = 0; i < draw.target_count; i++) {
		const struct rql_image_rows rows = {d->targets[i], 0, LAYERS, 0, HEIGHT};
		rql_record_image_read(c, &rows, d->out[i], 0);
	}
	return rql_selftest_execute(t, err);
}

static rql_status run(struct drawing *d, struct rql_error *err)
{
	RQL_TRY(make(d, err));
	return run_made(d, err);
}

/* Of one component after all points, as the target's 32 bits. */
static uint32_t combine(const struct drawing *d, uint32_t target, uint32_t before, uint32_t value)
{
	enum rql_format format = d->state.targets[target].format;
	bool floats = format == RQL_FORMAT_R32_FLOAT || format == RQL_FORMAT_RGBA32_FLOAT;
	float old, new = d->kernel == &two_kernel ? (float)value : (float)(int32_t)value;
	memcpy(&old, &before, 4);
	switch (d->state.logic) {
	case RQL_LOGIC_AND:
		return before & value;
	case RQL_LOGIC_OR:
		return before | value;
	case RQL_LOGIC_XOR:
		return before ^ value;
	default:
		break;
	}
	if (!floats)
		return value;
	switch (d->state.targets[target].blend) {
	case RQL_BLEND_ADD:
		new += old;
		break;
	case RQL_BLEND_MIN:
		new = old < new ? old : new;
		break;
	case RQL_BLEND_MAX:
		new = old > new ? old : new;
		break;
	default:
		break;
	}
	memcpy(&before, &new, 4);
	return before;
}

static rql_status compare(struct drawing *d, struct rql_error *err)
{
	uint32_t *wanted;
	RQL_TRY(rql_selftest_alloc(d->t, PIXELS * 4, 4, &wanted, err));
	RQL_TRY(rql_buffer_download(d->call_buffer, 0, d->got, PIXELS * 4, err));
	RQL_TRY(rql_selftest_same(d->got, d->calls, PIXELS, 4, "fragments of a pixel", err));
	for (uint32_t target = 0; target < d->state.target_count; target++) {
		uint32_t words = components(d->state.targets[target].format);
		for (uint32_t i = 0; i < PIXELS * words; i++)
			wanted[i] = d->start;
		for (uint32_t i = 0; i < POINTS; i++) {
			const struct rql_selftest_point *p = &d->points[i];
			for (uint32_t k = 0; p->x < WIDTH && k < words; k++) {
				uint32_t *at = &wanted[pixel_of(p) * words + k];
				*at = combine(d, target, *at, p->value[k]);
			}
		}
		RQL_TRY(rql_buffer_download(d->out[target], 0, d->got, (uint64_t)PIXELS * words * 4, err));
		RQL_TRY(rql_selftest_same(d->got, wanted, (uint64_t)PIXELS * words, 4, "components of pixels", err));
	}
	return RQL_OK;
}

static rql_status check(struct drawing *d, uint32_t range, struct rql_error *err)
{
	rql_status status = draw_points(d, range, err);
	if (status == RQL_OK)
		status = run(d, err);
	if (status == RQL_OK)
		status = compare(d, err);
	for (uint32_t i = 0; i < 2; i++)
		rql_image_free(d->targets[i]);
	rql_selftest_drop(d->t);
	return status;
}

/* ---- cases ---- */

static rql_status test_last(struct rql_selftest *t, struct rql_error *err)
{
	static const enum rql_format formats[] = {RQL_FORMAT_R32_UINT, RQL_FORMAT_RG32_UINT, RQL_FORMAT_RGBA32_UINT};
	for (uint32_t i = 0; i < 3; i++) {
		struct drawing d = {.t = t, .kernel = &uint_kernel, .counts_on_device = i == 1, .start = 0xdecaf};
		d.state.target_count = 1;
		d.state.targets[0].format = formats[i];
		RQL_TRY(check(&d, 0, err));
	}
	return RQL_OK;
}

/* Sums of many points stay below 2^24 here; test_exact goes to it. */
static rql_status test_blend(struct rql_selftest *t, struct rql_error *err)
{
	static const enum rql_blend blends[] = {RQL_BLEND_ADD, RQL_BLEND_MIN, RQL_BLEND_MAX};
	for (uint32_t i = 0; i < 3; i++) {
		struct drawing d = {.t = t, .kernel = &float_kernel};
		d.state.target_count = 1;
		d.state.targets[0].format = i ? RQL_FORMAT_R32_FLOAT : RQL_FORMAT_RGBA32_FLOAT;
		d.state.targets[0].blend = blends[i];
		RQL_TRY(check(&d, i ? 2 * EXACT : 1000, err));
	}
	return RQL_OK;
}

/* Partial sums reach 2^24 and -2^24 on one pixel, step by step of either size. */
static rql_status test_exact(struct rql_selftest *t, struct rql_error *err)
{
	struct drawing d = {.t = t, .kernel = &float_kernel};
	int64_t sum[4] = {0};
	d.state.target_count = 1;
	d.state.targets[0].format = RQL_FORMAT_RGBA32_FLOAT;
	d.state.targets[0].blend = RQL_BLEND_ADD;
	RQL_TRY(draw_points(&d, 2, err));
	memset(d.calls, 0, PIXELS * 4);
	for (uint32_t i = 0; i < POINTS; i++) {
		struct rql_selftest_point *p = &d.points[i];
		p->x = p->y = p->layer = 1;
		d.calls[pixel_of(p)]++;
		for (uint32_t k = 0; k < 4; k++) {
			int64_t goal = (i / 1000 + k) % 2 ? EXACT : -EXACT;
			int64_t step = (goal - sum[k]) / 2 - (int64_t)rql_selftest_below(t, 3) + 1;
			step = i % 1000 == 999 ? goal - sum[k] : step;
			step = sum[k] + step > EXACT || sum[k] + step < -EXACT || step > EXACT || step < -EXACT ? 0 : step;
			sum[k] += step;
			p->value[k] = (uint32_t)(int32_t)step;
		}
	}
	rql_status status = run(&d, err);
	if (status == RQL_OK)
		status = compare(&d, err);
	rql_image_free(d.targets[0]);
	return status;
}

static rql_status test_logic(struct rql_selftest *t, struct rql_error *err)
{
	for (enum rql_logic logic = RQL_LOGIC_AND; logic <= RQL_LOGIC_XOR; logic++) {
		struct drawing d = {.t = t, .kernel = &uint_kernel, .start = logic == RQL_LOGIC_AND ? UINT32_MAX : 0};
		d.state.target_count = 1;
		d.state.targets[0].format = RQL_FORMAT_R32_UINT;
		d.state.logic = logic;
		RQL_TRY(check(&d, 0, err));
	}
	return RQL_OK;
}

/* Two targets at once, one of which keeps the last point, the other the sum. */
static rql_status test_targets(struct rql_selftest *t, struct rql_error *err)
{
	struct drawing d = {.t = t, .kernel = &two_kernel, .counts_on_device = true};
	d.state.target_count = 2;
	d.state.targets[0].format = RQL_FORMAT_RGBA32_UINT;
	d.state.targets[1].format = RQL_FORMAT_RGBA32_FLOAT;
	d.state.targets[1].blend = RQL_BLEND_ADD;
	rql_status status = draw_points(&d, 1, err); /* zeros */
	for (uint32_t i = 0; i < POINTS && status == RQL_OK; i++)
		for (uint32_t k = 0; k < 4; k++)
			d.points[i].value[k] = (uint32_t)rql_selftest_below(t, 1000);
	if (status == RQL_OK)
		status = run(&d, err);
	if (status == RQL_OK)
		status = compare(&d, err);
	rql_image_free(d.targets[0]);
	rql_image_free(d.targets[1]);
	return status;
}

/* A drawing without targets, and one to a single layer. */
static rql_status test_single(struct rql_selftest *t, struct rql_error *err)
{
	struct drawing d = {.t = t, .kernel = &uint_kernel};
	RQL_TRY(draw_points(&d, 0, err));
	const uint32_t zeros[PIXELS] = {0};
	const struct rql_image_spec spec = {RQL_FORMAT_R32_UINT, WIDTH, HEIGHT, LAYERS, RQL_IMAGE_TARGET};
	struct rql_draw_state none = {0}, one = {.target_count = 1};
	struct rql_point_args args = {.width = WIDTH, .height = HEIGHT};
	struct rql_commands *c;
	struct rql_draw draw = {.pass = "points", .args = &args, .vertices = POINTS, .instances = 1};
	one.targets[0].format = spec.format;
	for (uint32_t i = 0; i < POINTS; i++) { /* the vertex shader's layer counts only in a layered drawing */
		if (d.points[i].x < WIDTH)
			d.calls[pixel_of(&d.points[i])]--;
		d.points[i].layer = 0;
		if (d.points[i].x < WIDTH)
			d.calls[pixel_of(&d.points[i])]++;
	}
	RQL_TRY(rql_selftest_buffer(t, POINTS * sizeof(*d.points), d.points, "points", &d.point_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, sizeof(zeros), zeros, "fragments of a pixel", &d.call_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, PIXELS * 4, NULL, "pixels", &d.out[0], err));
	RQL_TRY(rql_draw_pipeline_get(t->device, &uint_kernel, &one, NULL, 0, &draw.pipeline, err));
	RQL_TRY(rql_image_new(t->device, &spec, "a selftest's target", &d.targets[0], err));
	const struct rql_use uses[] = {{d.point_buffer, RQL_READ}, {d.call_buffer, RQL_READ_WRITE}};
	const struct rql_image_rows rows = {d.targets[0], 0, LAYERS, 0, HEIGHT};
	args.points = d.point_buffer->address;
	draw.uses = uses;
	draw.use_count = 2;
	draw.target_count = 1;
	draw.targets[0] = (struct rql_target){d.targets[0], 2};
	rql_status status = rql_selftest_record(t, &c, err);
	if (status == RQL_OK) {
		rql_record_clear(c, d.targets[0], 0, LAYERS, zeros);
		rql_record_draw(c, &draw);
		rql_record_image_read(c, &rows, d.out[0], 0);
		status = rql_draw_pipeline_get(t->device, &uint_kernel, &none, NULL, 0, &draw.pipeline, err);
	}
	if (status == RQL_OK) {
		args.calls = d.call_buffer->address;
		draw.target_count = 0;
		draw.width = WIDTH;
		draw.height = HEIGHT;
		rql_record_draw(c, &draw);
		status = rql_selftest_execute(t, err);
	}
	rql_image_free(d.targets[0]);
	RQL_TRY(status);
	RQL_TRY(rql_buffer_download(d.call_buffer, 0, d.got, PIXELS * 4, err));
	RQL_TRY(rql_selftest_same(d.got, d.calls, PIXELS, 4, "fragments without a target", err));
	uint32_t *wanted;
	RQL_TRY(rql_selftest_alloc(t, PIXELS, 4, &wanted, err));
	for (uint32_t i = 0; i < POINTS; i++)
		if (d.points[i].x < WIDTH)
			wanted[2 * WIDTH * HEIGHT + pixel_of(&d.points[i])] = d.points[i].value[0];
	RQL_TRY(rql_buffer_download(d.out[0], 0, d.got, PIXELS * 4, err));
	return rql_selftest_same(d.got, wanted, PIXELS, 4, "pixels of one layer", err);
}

/* Words go to an image, through a kernel to another one, and back; some rows are written anew in between. */
static rql_status copy_through(struct rql_selftest *t, struct rql_image *images[2], struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	const uint32_t constants[] = {THREADS}, first = 5, rows = 11;
	uint32_t *words, *wanted, *got;
	struct rql_buffer *from, *seen, *back;
	struct rql_commands *c;
	RQL_TRY(rql_selftest_alloc(t, PIXELS, 4, &words, err));
	RQL_TRY(rql_selftest_alloc(t, PIXELS, 4, &wanted, err));
	RQL_TRY(rql_selftest_alloc(t, PIXELS, 4, &got, err));
	for (uint32_t i = 0; i < PIXELS; i++)
		words[i] = wanted[i] = (uint32_t)rql_selftest_random(t);
	for (uint32_t i = 0; i < 2 * rows * WIDTH; i++) { /* of layers 1 and 2 */
		uint32_t layer = 1 + i / (rows * WIDTH), rest = i % (rows * WIDTH);
		wanted[(layer * HEIGHT + first) * WIDTH + rest] = words[i];
	}
	RQL_TRY(rql_selftest_buffer(t, PIXELS * 4, words, "words for an image", &from, err));
	RQL_TRY(rql_selftest_buffer(t, PIXELS * 4, NULL, "words that a kernel saw", &seen, err));
	RQL_TRY(rql_selftest_buffer(t, PIXELS * 4, NULL, "words of an image", &back, err));
	RQL_TRY(rql_image_pipeline_get(t->device, &pixel_kernel, constants, 1, &pipeline, err));
	const struct rql_pixel_args args = {seen->address, images[0]->number, images[1]->number, WIDTH, HEIGHT, LAYERS, 17};
	const struct rql_image_rows all = {images[0], 0, LAYERS, 0, HEIGHT}, part = {images[0], 1, 2, first, rows};
	const struct rql_image_rows result = {images[1], 0, LAYERS, 0, HEIGHT};
	const struct rql_use use = {seen, RQL_WRITE};
	const struct rql_image_use image_uses[] = {{images[0], RQL_READ}, {images[1], RQL_WRITE}};
	RQL_TRY(rql_selftest_record(t, &c, err));
	rql_record_image_write(c, &all, from, 0);
	rql_record_image_write(c, &part, from, 0);
	rql_record_dispatch_images(c, "pixels", pipeline, &args, (PIXELS + THREADS - 1) / THREADS, &use, 1, image_uses, 2);
	rql_record_image_read(c, &result, back, 0);
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(seen, 0, got, PIXELS * 4, err));
	RQL_TRY(rql_selftest_same(got, wanted, PIXELS, 4, "words that a kernel saw", err));
	for (uint32_t i = 0; i < PIXELS; i++)
		wanted[i] += args.add;
	RQL_TRY(rql_buffer_download(back, 0, got, PIXELS * 4, err));
	return rql_selftest_same(got, wanted, PIXELS, 4, "words that a kernel stored", err);
}

static rql_status test_copies(struct rql_selftest *t, struct rql_error *err)
{
	struct rql_image_spec spec = {RQL_FORMAT_R32_UINT, WIDTH, HEIGHT, LAYERS, RQL_IMAGE_FETCH};
	struct rql_image *images[2] = {NULL, NULL};
	rql_status status = rql_image_new(t->device, &spec, "a selftest's image", &images[0], err);
	spec.roles = RQL_IMAGE_STORAGE;
	if (status == RQL_OK)
		status = rql_image_new(t->device, &spec, "a selftest's second image", &images[1], err);
	if (status == RQL_OK)
		status = copy_through(t, images, err);
	rql_image_free(images[0]);
	rql_image_free(images[1]);
	return status;
}

#define RASTER RQL_SELFTEST_UNIT(RQL_UNIT_RASTER)
const struct rql_selftest_case rql_selftest_draw[] = {
	{"draw.last", RASTER, test_last},
	{"draw.blend", RASTER, test_blend},
	{"draw.exact", RASTER, test_exact},
	{"draw.logic", RASTER, test_logic},
	{"draw.targets", RASTER, test_targets},
	{"draw.single", RASTER, test_single},
	{"draw.copies", RASTER, test_copies},
	{0},
};
