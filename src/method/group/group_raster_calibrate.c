/* What a point takes that the raster unit draws, and what each atomic of its fragment and each image that it is blended into
 * takes more: one group-by, with both ways of totals, on the device's own clock. */
#include <math.h>
#include <stdlib.h>

#include "method/group/group.h"
#include "primitive/raster/group_by.h"

#define GROUPS 4096u
#define RUNS 3u
#define HASHED 1.1 /* points a row, until all groups are found */
#define SUMS RQL_RELATION_COLUMNS
#define LIMB_TARGETS 3.0 /* of the rows' count, and of a sum of 32 bits */
#define LEAST_NS 1e-3
#define MOST_NS 1e4

struct rig {
	struct rql_device *device;
	struct rql_raster_group_by by;
	struct rql_buffer *buffers[10 + SUMS];
	uint32_t buffer_count;
};

static rql_status give(struct rig *rig, uint64_t bytes, struct rql_span *out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(rig->device, bytes, RQL_MEMORY_DEVICE, "calibration", &rig->buffers[rig->buffer_count], err));
	*out = (struct rql_span){rig->buffers[rig->buffer_count++], 0};
	return RQL_OK;
}

/* The same words are keys and values: any of GROUPS. */
static rql_status give_rows(struct rig *rig, struct rql_error *err)
{
	const uint64_t rows = rig->by.count;
	uint32_t *words = malloc(rows * sizeof(*words));
	if (!words)
		return rql_error_memory(err, rows * sizeof(*words), "calibrating drawn groups");
	for (uint64_t i = 0; i < rows; i++)
		words[i] = (uint32_t)((i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 52) + 1;
	rql_status status = give(rig, rows * sizeof(*words), &rig->by.keys[0], err);
	if (status == RQL_OK)
		status = rql_buffer_upload(rig->by.keys[0].buffer, 0, words, rows * sizeof(*words), err);
	free(words);
	return status;
}

static rql_status make_rig(struct rig *rig, struct rql_error *err)
{
	struct rql_raster_group_by *by = &rig->by;
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	rql_raster_group_by_size(by, GROUPS);
	RQL_TRY(give_rows(rig, err));
	for (uint32_t c = 0; c < by->column_count; c++) {
		by->columns[c] = (struct rql_group_by_column){.kind = RQL_GROUP_BY_FIELDS, .bits = 32, .values = by->keys[0]};
		RQL_TRY(give(rig, by->capacity * 8, &by->columns[c].sum, err));
	}
	const char *why = rql_raster_group_by_refusal(by, rig->device);
	if (why)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "calibrating drawn groups: %s", why);
	RQL_TRY(give(rig, by->capacity * 4, &by->heads, err));
	RQL_TRY(give(rig, by->capacity * 8, &by->counts, err));
	RQL_TRY(give(rig, 8, &by->groups, err));
	RQL_TRY(give(rig, 8, &by->inexact, err));
	RQL_TRY(give(rig, by->count * 4, &by->rest, err));
	RQL_TRY(give(rig, sizeof(struct rql_raster_group_points), &by->points, err));
	RQL_TRY(give(rig, rql_raster_group_by_temp_bytes(by), &by->temp, err));
	rql_raster_group_by_images(by, specs);
	return rql_raster_images_new(rig->device, specs, RQL_RASTER_GROUP_IMAGES, "calibration", by->images, err);
}

static void free_rig(struct rig *rig)
{
	for (uint32_t b = 0; b < rig->buffer_count; b++)
		rql_buffer_free(rig->buffers[b]);
	rql_raster_images_free(rig->by.images, RQL_RASTER_GROUP_IMAGES);
}

static rql_status time_once(const struct rig *rig, double *least, struct rql_error *err)
{
	struct rql_commands *c;
	double ns = 0;
	RQL_TRY(rql_commands_new(rig->device, RQL_COMMANDS_TIMED, &c, err));
	RQL_TRY(rql_commands_finish(c, rql_record_raster_group_by(c, &rig->by, err), NULL, &ns, err));
	*least = ns > 0 && ns < *least ? ns : *least;
	return RQL_OK;
}

/* ns of a row. */
static rql_status time_totals(struct rql_device *device, enum rql_raster_totals totals, uint32_t sums, uint64_t rows,
                              double *ns, struct rql_error *err)
{
	struct rig rig = {.device = device,
	                  .by = {.count = rows,
	                         .key_words = 1,
	                         .hashed = 1,
	                         .totals = totals,
	                         .few_a_group = true,
	                         .column_count = sums,
	                         .capacity = 2 * GROUPS}};
	rql_status status = make_rig(&rig, err);
	*ns = HUGE_VAL;
	for (uint32_t r = 0; r <= RUNS && status == RQL_OK; r++) /* the first one warms up */
		status = time_once(&rig, ns, err);
	free_rig(&rig);
	*ns /= (double)rows;
	if (status != RQL_ERROR_UNSUPPORTED)
		return status;
	rql_error_clear(err); /* what cannot be drawn has no price: it stays at its guess */
	return RQL_OK;
}

static double within(double ns)
{
	return fmin(fmax(ns, LEAST_NS), MOST_NS);
}

rql_status rql_group_raster_calibrate(struct rql_device *device, bool thorough, struct rql_error *err)
{
	const uint64_t rows = UINT64_C(1) << (device->kind == RQL_DEVICE_SOFTWARE ? 13 : thorough ? 21 : 18);
	struct rql_profile *profile = &device->profile;
	double count, sums, limbs;
	RQL_TRY(time_totals(device, RQL_RASTER_ATOMICS, 0, rows, &count, err));
	RQL_TRY(time_totals(device, RQL_RASTER_ATOMICS, SUMS, rows, &sums, err));
	RQL_TRY(time_totals(device, RQL_RASTER_BLENDING, 1, rows, &limbs, err));
	if (!isfinite(count) || !isfinite(sums))
		return RQL_OK;
	profile->atomic_ns = within((sums - count) / SUMS);
	profile->point_ns = within((count - profile->atomic_ns) / (HASHED + 1));
	if (!isfinite(limbs)) /* totals are made by atomics (group_totals.c), and rayql_devices() says so */
		return RQL_OK;
	/* Rows are drawn once more than by atomics: their count and their sum apart. */
	profile->blend_ns = within((limbs - (HASHED + 2) * profile->point_ns) / LIMB_TARGETS);
	return RQL_OK;
}
