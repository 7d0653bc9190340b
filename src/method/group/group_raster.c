/* The method on a GPU's raster unit: hash images of the rows' keys, totals by fragments (primitive/raster; papers/004,
 * section 4). */
#include <math.h>
#include <stdlib.h>

#include "method/drawing.h"
#include "method/group/group.h"
#include "primitive/raster/group_by.h"

/* Behind the points, as the kernels count them. */
#define INEXACT_AT sizeof(struct rql_raster_group_points)
#define POINTS_BYTES (INEXACT_AT + 8)

struct drawing {
	struct rql_raster_groups groups;
	struct rql_drawing of;
	double draws; /* of all rows for their totals */
};

static const char *refusal(const struct rql_group_shape *shape, const struct rql_device *device, enum rql_totals wish)
{
	struct rql_group_limbs limbs = {.sums = 0};
	for (uint32_t s = 0; s < shape->state_count; s++)
		rql_group_limbs_add(&limbs, shape->states[s].kind, 64, shape->states[s].sum, false);
	return rql_group_limbs_refusal(&limbs, device, wish);
}

static double draws_of(const struct rql_group_by *by, const struct rql_group_way *way)
{
	struct rql_group_limbs limbs = {.sums = 0};
	for (uint32_t c = 0; c < by->column_count; c++) {
		const struct rql_group_by_column *column = &by->columns[c];
		rql_group_limbs_add(&limbs, column->kind, column->bits, column->sum.buffer, column->min.buffer || column->max.buffer);
	}
	return 1 + (way->limbs ? limbs.points : 0);
}

static rql_status open_groups(struct rql_device *device, struct rql_group_by *by, const struct rql_group_more *more,
                              const struct rql_group_way *way, void **own, struct rql_error *err)
{
	struct rql_raster_more_keys keys = {.count = more->count, .hashed = more->hashed};
	for (uint32_t k = 0; k < more->count; k++)
		keys.key[k] = (struct rql_raster_more_key){more->key[k].bits, more->key[k].keys, more->key[k].keys_out};
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	struct drawing *d = calloc(1, sizeof(*d));
	if (!d)
		return rql_error_memory(err, sizeof(*d), "a query's groups");
	*own = d;
	rql_raster_groups_lay(&d->groups, by, way->limbs ? RQL_RASTER_BLENDING : RQL_RASTER_ATOMICS,
	                      &keys);
	d->groups.drawing.few_a_group = way->few;
	d->draws = draws_of(by, way);
	const char *why = rql_raster_group_by_refusal(&d->groups.drawing, device);
	if (why)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "grouped on the unit raster: %s", why);
	RQL_TRY(rql_drawing_open(&d->of, device, rql_raster_groups_temp_bytes(&d->groups),
	                         POINTS_BYTES, "what a group-by draws", err));
	d->groups.by.temp = by->temp = (struct rql_span){d->of.temp, 0};
	d->groups.drawing.points = (struct rql_span){d->of.points, 0};
	d->groups.drawing.inexact = (struct rql_span){d->of.points, INEXACT_AT};
	rql_raster_group_by_images(&d->groups.drawing, specs);
	return rql_raster_images_new(device, specs, RQL_RASTER_GROUP_IMAGES, "a group-by's hash images",
	                             d->groups.drawing.images, err);
}

static void close_groups(void *own)
{
	struct drawing *d = own;
	if (!d)
		return;
	rql_drawing_close(&d->of);
	rql_raster_images_free(d->groups.drawing.images, RQL_RASTER_GROUP_IMAGES);
	free(d);
}

static rql_status record_groups(struct rql_commands *c, const struct rql_group_by *by, void *own, struct rql_error *err)
{
	struct drawing *d = own;
	(void)by;
	RQL_TRY(rql_record_raster_groups(c, &d->groups, err));
	rql_drawing_record_seen(&d->of, c);
	return RQL_OK;
}

void rql_group_tell(const struct rql_raster_group_points *p, const struct rql_group_drawn *of, struct rql_drawn *drawn)
{
	const uint64_t row = of->row_bytes + 4 + 4 + 8; /* its group's row, that row's group, its count */
	const uint64_t totals = (uint64_t)((double)p->totals * of->draws);
	drawn->points += p->hashed + totals;
	drawn->layers = drawn->layers ? drawn->layers : 1;
	drawn->partitions += p->partitions;
	drawn->rounds += p->rounds;
	drawn->image_bytes += of->image_bytes;
	drawn->bytes += p->hashed * (4 * of->key_words * 2 + 2 * of->pixel_bytes + 8) + totals * row + of->image_bytes;
}

static void tell(const void *own, struct rql_drawn *drawn)
{
	const struct drawing *d = own;
	const struct rql_raster_group_by *by = &d->groups.drawing;
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	rql_raster_group_by_images(by, specs);
	struct rql_group_drawn of = {.key_words = by->key_words,
	                             .pixel_bytes = rql_pixel_bytes(specs[0].format),
	                             .image_bytes = rql_raster_images_bytes(specs, RQL_RASTER_GROUP_IMAGES),
	                             .draws = d->draws};
	for (uint32_t c = 0; c < by->column_count; c++)
		of.row_bytes += by->columns[c].bits / 8 + 8;
	rql_group_tell(d->of.seen->map, &of, drawn);
}

static bool inexact(const void *own)
{
	const struct drawing *d = own;
	return *(const uint64_t *)((const uint8_t *)d->of.seen->map + INEXACT_AT) != 0;
}

static double own_bytes(const struct rql_group_size *size)
{
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	struct rql_raster_groups groups;
	struct rql_buffer keys = {.device = (struct rql_device *)(uintptr_t)size->device}; /* whose limits decide */
	const struct rql_group_by by = {.key_bits = size->key_bits,
	                                .keys = {&keys, 0},
	                                .count = (uint64_t)size->rows,
	                                .guess = (uint64_t)size->groups,
	                                .capacity = (uint64_t)size->groups};
	const double limbs = size->way.limbs ? fmax(size->limbs.sum_bytes, 16) + size->limbs.extreme_bytes : 0;
	rql_raster_groups_lay(&groups, &by, RQL_RASTER_ATOMICS, NULL);
	groups.drawing.key_words = size->key_words ? size->key_words : groups.drawing.key_words;
	rql_raster_group_by_images(&groups.drawing, specs);
	return size->groups * limbs + (double)(rql_raster_groups_temp_bytes(&groups) +
	                                       rql_raster_images_bytes(specs, RQL_RASTER_GROUP_IMAGES));
}

static const struct rql_group_unit by_raster = {.unit = RQL_UNIT_RASTER,
                                                .takes = {.apart = true, .states = RQL_GROUP_STATES},
                                                .refusal = refusal,
                                                .choose = rql_group_choose_totals,
                                                .ns = rql_group_raster_ns,
                                                .open = open_groups,
                                                .close = close_groups,
                                                .record = record_groups,
                                                .bytes = own_bytes,
                                                .tell = tell,
                                                .inexact = inexact};

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	return rql_group_offer(request, device, &by_raster, reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	return rql_group_prepare(request, device, &by_raster, out, err);
}

extern const struct rql_method rql_method_group_raster;
const struct rql_method rql_method_group_raster = {
	.name = "group",
	.description = "groups rows by drawing them into hash images, any number of groups",
	.paper = "GARUDA (PVLDB 16(10)), section 4",
	.unit = RQL_UNIT_RASTER,
	.reads = RQL_READS_STORE,
	.takes_columns = true,
	.takes_rows = true,
	.gives = 1u << RQL_PORT_GROUPS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_group_price,
	.kernels = rql_group_kernels,
	.way = rql_group_way_of,
	.calibrate = rql_group_raster_calibrate,
	.stage = rql_prepared_stage,
	.run = rql_prepared_run,
	.free = rql_group_free,
	.bytes = rql_group_bytes,
};
