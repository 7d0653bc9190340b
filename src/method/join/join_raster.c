/* The method on a GPU's raster unit: hash images of both sides' keys (primitive/raster; papers/004, section 3). */
#include <stdlib.h>
#include <string.h>

#include "method/drawing.h"
#include "method/join/join.h"
#include "method/join/join_texts.h"
#include "primitive/raster/raster.h"

/* Points of a row. Of one dense image: build rows are counted and placed, probe rows counted and put out. Of the paper's
 * stack: a statistic of each row; build rows, and those that lose once more; probe rows counted and put out in the layers in
 * use, of which the fill of 3/8 leaves about three. */
#define BUILD_POINTS 2.0
#define PROBE_POINTS 2.0
#define PAPER_BUILD_POINTS 2.2
#define PAPER_PROBE_POINTS 7.0
#define POINT_BYTES 32.0 /* what a point reads and writes beside its row: sectors of images and of lists, anywhere */
#define PASSES 14.0      /* of a partition: draws, and dispatches between them */
#define PAPER_PASSES 50.0
#define PARTITION_ROWS 6291456.0
#define OUTPUT_PASSES 3.0

struct drawing {
	struct rql_raster_relation relation;
	struct rql_drawing of;
	struct rql_join_texts *texts; /* NULL: keys are no texts of two dictionaries */
};

static uint32_t key_bits_of(const struct rql_pair *pair)
{
	return pair->texts ? 64 : rql_form_bits(&pair->probe.form->columns[pair->probe_key]);
}

/* Sizes follow from the rows that are expected. */
static struct rql_raster_join sizes_of(const struct rql_pair *pair, bool paper)
{
	struct rql_raster_join sizes = {.kind = rql_join_kind_of(pair),
	                                .key_bits = key_bits_of(pair),
	                                .build = {.count = (uint64_t)pair->build.rows},
	                                .probe = {.count = (uint64_t)pair->probe.rows}};
	if (paper)
		rql_raster_join_size_paper(&sizes);
	else
		rql_raster_join_size(&sizes);
	return sizes;
}

/* rayql_layout says so. */
static bool wants_paper(const struct rql_request *request)
{
	return request->layout && strcmp(request->layout, "paper") == 0;
}

static const char *refusal(const struct rql_request *request, const struct rql_device *device)
{
	const struct rql_pair *pair = request->pair;
	if (pair->not_in || pair->mark)
		return "an IN that may be NULL is not drawn";
	const struct rql_raster_join sizes = sizes_of(pair, wants_paper(request));
	return rql_raster_join_refusal(&sizes, device);
}

static rql_status open_any(struct rql_device *device, const struct rql_pair *pair, struct rql_join *join, bool paper,
                           void **own, struct rql_error *err)
{
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	struct drawing *d = calloc(1, sizeof(*d));
	if (!d)
		return rql_error_memory(err, sizeof(*d), "a query's join");
	*own = d;
	rql_raster_relation_lay(&d->relation, join);
	if (pair->texts)
		RQL_TRY(rql_join_texts_open(device, pair, &d->relation.pairs, &d->texts, err));
	if (paper)
		rql_raster_join_size_paper(&d->relation.pairs);
	const char *why = rql_raster_join_refusal(&d->relation.pairs, device);
	if (why)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join on the unit raster: %s", why);
	RQL_TRY(rql_drawing_open(&d->of, device, rql_raster_relation_temp_bytes(&d->relation),
	                         sizeof(struct rql_raster_points), "what a join draws", err));
	d->relation.join.temp = join->temp = (struct rql_span){d->of.temp, 0};
	d->relation.pairs.points = (struct rql_span){d->of.points, 0};
	rql_raster_join_images(&d->relation.pairs, specs);
	return rql_raster_images_new(device, specs, RQL_RASTER_JOIN_IMAGES, "a join's hash images", d->relation.pairs.images,
	                             err);
}

static rql_status open_join(struct rql_device *device, const struct rql_pair *pair, struct rql_join *join, void **own,
                            struct rql_error *err)
{
	return open_any(device, pair, join, false, own, err);
}

static rql_status open_paper(struct rql_device *device, const struct rql_pair *pair, struct rql_join *join, void **own,
                             struct rql_error *err)
{
	return open_any(device, pair, join, true, own, err);
}

static void close_join(void *own)
{
	struct drawing *d = own;
	if (!d)
		return;
	rql_drawing_close(&d->of);
	rql_join_texts_close(d->texts);
	rql_raster_images_free(d->relation.pairs.images, RQL_RASTER_JOIN_IMAGES);
	free(d);
}

static rql_status record(struct rql_commands *c, const struct rql_join *join, void *own, struct rql_error *err)
{
	struct drawing *d = own;
	(void)join;
	if (d->texts)
		RQL_TRY(rql_join_texts_record(c, d->texts, &d->relation.pairs, err));
	RQL_TRY(rql_record_raster_relation(c, &d->relation, err));
	rql_drawing_record_seen(&d->of, c);
	return RQL_OK;
}

static const char *check(const void *own)
{
	const struct rql_raster_points *points = ((const struct drawing *)own)->of.seen->map;
	return points->failed ? "a key comes 2^24 times or more, which a counting pixel does not hold" : NULL;
}

void rql_join_drawn(const struct rql_raster_points *p, uint32_t key_bits, uint64_t pixel, uint64_t images,
                    struct rql_drawn *drawn)
{
	const uint64_t key = key_bits / 8;
	drawn->points += p->statistics + p->build + p->count + p->probe;
	drawn->passes += p->passes;
	drawn->layers = p->layers > drawn->layers ? p->layers : drawn->layers;
	drawn->partitions += p->partitions;
	drawn->pauses += p->pauses;
	drawn->flattened += p->flattened;
	drawn->swapped += p->swapped;
	drawn->image_bytes += images;
	drawn->bytes += p->statistics * (key + 4) + p->build * (key + pixel + 4) + p->count * (key + pixel + 4) +
	                p->probe * (key + pixel + 8) + images * p->partitions;
}

/* What points of joins of such sizes are drawn into. */
static void drawn_into(const struct rql_raster_join *j, const struct rql_raster_points *points, struct rql_drawn *drawn)
{
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	struct rql_drawn here = {.image_side = 1u << j->log2_side};
	rql_raster_join_images(j, specs);
	here.pixel_bytes = rql_raster_pixel_bytes(specs);
	here.stack_layers = j->cycles ? j->layers : 0;
	here.pixels = j->cycles ? rql_raster_join_pixels(j) : NULL;
	rql_join_drawn(points, j->key_bits, here.pixel_bytes, rql_raster_images_bytes(specs, RQL_RASTER_JOIN_IMAGES), &here);
	rql_drawn_add(drawn, &here);
}

void rql_join_expected(const struct rql_raster_join *sizes, double values, uint64_t joins, struct rql_drawn *drawn)
{
	struct rql_raster_points one, all = {.build = 0};
	rql_raster_join_expect(sizes, values, &one);
	for (uint64_t i = 0; i < joins; i++)
		rql_raster_points_add(&all, &one);
	drawn_into(sizes, &all, drawn);
}

static void tell(const void *own, struct rql_drawn *drawn)
{
	const struct drawing *d = own;
	drawn_into(&d->relation.pairs, d->of.seen->map, drawn);
	if (d->texts)
		drawn->bytes += rql_join_texts_moved(d->texts);
}

static void expect_any(const struct rql_pair *pair, bool paper, struct rql_drawn *drawn)
{
	const struct rql_raster_join sizes = sizes_of(pair, paper);
	rql_join_expected(&sizes, pair->values, 1, drawn);
	drawn->bytes += pair->texts ? rql_join_texts_bytes(pair) : 0;
}

static void expect(const struct rql_pair *pair, struct rql_drawn *drawn)
{
	expect_any(pair, false, drawn);
}

static void expect_paper(const struct rql_pair *pair, struct rql_drawn *drawn)
{
	expect_any(pair, true, drawn);
}

static double points_of(const struct rql_pair_size *size)
{
	return size->rows[0] * PROBE_POINTS + size->rows[1] * BUILD_POINTS;
}

static double points_of_paper(const struct rql_pair_size *size)
{
	return size->rows[0] * PAPER_PROBE_POINTS + size->rows[1] * PAPER_BUILD_POINTS;
}

static double bytes_of(const struct rql_pair_size *size, double points)
{
	return points * POINT_BYTES + size->out_rows * (8 + size->out_bytes) * OUTPUT_PASSES;
}

static double ns_of(const struct rql_profile *profile, const struct rql_pair_size *size, double points, double passes)
{
	const double partitions = 1 + size->rows[1] / PARTITION_ROWS;
	return passes * partitions * profile->pass_ns + points * rql_drawing_point_ns(profile, POINT_BYTES) +
	       bytes_of(size, 0) / profile->read_gbps + rql_join_crowded_ns(size);
}

static double pair_bytes(const struct rql_pair_size *size)
{
	return bytes_of(size, points_of(size));
}

static double pair_ns(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	return ns_of(profile, size, points_of(size), PASSES);
}

static double paper_bytes(const struct rql_pair_size *size)
{
	return bytes_of(size, points_of_paper(size));
}

static double paper_ns(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	return ns_of(profile, size, points_of_paper(size), PAPER_PASSES);
}

static double memory_of(const struct rql_device *device, const struct rql_pair *pair, uint64_t capacity, bool paper)
{
	struct rql_raster_join sizes = sizes_of(pair, paper);
	struct rql_buffer keys = {.device = (struct rql_device *)(uintptr_t)device}; /* whose limits decide */
	sizes.build.keys.buffer = sizes.probe.keys.buffer = &keys;
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	rql_raster_join_images(&sizes, specs);
	return 8.0 * (double)capacity + (double)rql_raster_join_temp_bytes(&sizes) +
	       (pair->texts ? (double)rql_join_texts_bytes(pair) : 0) +
	       (double)rql_raster_images_bytes(specs, RQL_RASTER_JOIN_IMAGES);
}

static double own_bytes(const struct rql_device *device, const struct rql_pair *pair, uint64_t capacity)
{
	return memory_of(device, pair, capacity, false);
}

static double own_paper_bytes(const struct rql_device *device, const struct rql_pair *pair, uint64_t capacity)
{
	return memory_of(device, pair, capacity, true);
}

static const struct rql_join_unit by_raster = {.unit = RQL_UNIT_RASTER,
                                               .refusal = refusal,
                                               .pair_bytes = pair_bytes,
                                               .pair_ns = pair_ns,
                                               .open = open_join,
                                               .close = close_join,
                                               .record = record,
                                               .bytes = own_bytes,
                                               .check = check,
                                               .tell = tell,
                                               .expect = expect};
static const struct rql_join_unit by_paper = {.unit = RQL_UNIT_RASTER,
                                              .refusal = refusal,
                                              .pair_bytes = paper_bytes,
                                              .pair_ns = paper_ns,
                                              .open = open_paper,
                                              .close = close_join,
                                              .record = record,
                                              .bytes = own_paper_bytes,
                                              .check = check,
                                              .tell = tell,
                                              .expect = expect_paper};

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	return rql_join_offer(request, device, &by_raster, reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	return rql_join_prepare(request, device, wants_paper(request) ? &by_paper : &by_raster, out, err);
}

const struct rql_method rql_method_join_raster = {
	.name = "join",
	.description = "joins rows of unindexed columns by drawing them into hash images, any number of them to a key on both "
				   "sides",
	.paper = "GARUDA (PVLDB 16(10)), section 3",
	.unit = RQL_UNIT_RASTER,
	.reads = RQL_READS_PAIR,
	.gives = 1u << RQL_PORT_COLUMNS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_join_price,
	.pair_ns = pair_ns,
	.draws = rql_join_draws,
	.kernels = rql_join_kernels,
	.stage = rql_prepared_stage,
	.run = rql_prepared_run,
	.free = rql_join_free,
	.bytes = rql_join_bytes,
};
