/* Building cgRX: keys are sorted, a pass over the buckets counts triangles, another one says where they are. */
#include "primitive/rt/cgrx.h"

#include <stdlib.h>

#include "primitive/lookup/lookup.h"
#include "primitive/rt/rt_internal.h"
#include "shaders/primitive/rt/cgrx_fill.comp.h"
#include "shaders/primitive/rt/cgrx_plan_32.comp.h"
#include "shaders/primitive/rt/cgrx_plan_64.comp.h"

#define KERNEL(symbol, args)                                                                                           \
	{"primitive." #symbol, rql_spv_##symbol##_comp, sizeof(rql_spv_##symbol##_comp), sizeof(struct args)}
static const struct rql_kernel plan_kernels[2] = {KERNEL(cgrx_plan_32, rql_cgrx_plan_args),
                                                  KERNEL(cgrx_plan_64, rql_cgrx_plan_args)};
static const struct rql_kernel fill_kernel = KERNEL(cgrx_fill, rql_cgrx_fill_args);

struct building {
	struct rql_cgrx *cgrx;
	struct rql_progress *progress;
	uint64_t buckets, key_parts, marker_parts;
	struct rql_span temp, starts, counts[2], totals, points;
};

#define BITS_BESIDE 8u

void rql_cgrx_choose_space(struct rql_cgrx_spec *spec)
{
	uint32_t bits = 0;
	while (bits < 64 && (spec->last - spec->base) >> bits)
		bits++;
	uint32_t wanted = rql_log2_up(rql_div_up(spec->count, UINT64_C(1) << spec->log2_bucket)) + BITS_BESIDE;
	wanted = wanted < RQL_AXIS_BITS ? RQL_AXIS_BITS : wanted;
	spec->drop = bits > wanted && !spec->lines ? bits - wanted : 0;
	spec->space = rql_key_space_lattice(bits - spec->drop, true);
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static rql_status check(const struct rql_cgrx_spec *spec, struct rql_error *err)
{
	if ((spec->key_bits != 32 && spec->key_bits != 64) || spec->count > RQL_RX_KEYS || spec->base > spec->last ||
	    !rql_key_space_valid(&spec->space) || spec->space.stride || spec->log2_bucket > RQL_CGRX_LOG2_BUCKET ||
	    (spec->lines && (spec->log2_bucket || spec->drop)) || spec->drop > 63)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a cgRX of %llu keys of %u bits, buckets of 2^%u",
		                     (unsigned long long)spec->count, spec->key_bits, spec->log2_bucket);
	if (!rql_key_fits(&spec->space, (spec->last - spec->base) >> spec->drop))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "keys between %llu and %llu do not fit the %u + %u + %u bits of the scene: take more bits",
		                     (unsigned long long)spec->base, (unsigned long long)spec->last, spec->space.bits[0],
		                     spec->space.bits[1], spec->space.bits[2]);
	if (spec->rows.buffer)
		RQL_TRY(rql_span_check(&spec->rows, spec->count, 4, "rows of a cgRX", err));
	if (spec->rows.buffer && spec->values.buffer)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a cgRX sums no values of rows that are given");
	return rql_span_check(&spec->keys, spec->count, spec->key_bits / 8, "keys of a cgRX", err);
}

/* ---- keys, rows, sums: a map of lookup.h whose directory has one entry ---- */

/* Of sorted keys. */
static rql_status check_bounds(const struct rql_cgrx *x, struct rql_error *err)
{
	const uint32_t bytes = x->spec.key_bits / 8;
	uint64_t least = 0, greatest = 0; /* little-endian, as all that Vulkan runs on */
	if (!x->spec.count)
		return RQL_OK;
	RQL_TRY(rql_buffer_download(x->keys.buffer, 0, &least, bytes, err));
	RQL_TRY(rql_buffer_download(x->keys.buffer, (x->spec.count - 1) * bytes, &greatest, bytes, err));
	if (least >= x->spec.base && greatest <= x->spec.last)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "keys of a cgRX from %llu to %llu are beyond its bounds",
	                     (unsigned long long)least, (unsigned long long)greatest);
}

/* Keys that ascend, with their rows. */
static rql_status copy_keys(struct building *b, struct rql_error *err)
{
	struct rql_cgrx *x = b->cgrx;
	const struct rql_cgrx_spec *s = &x->spec;
	struct rql_commands *c;
	const uint64_t bytes = s->count * s->key_bits / 8;
	RQL_TRY(rql_rt_memory(x->device, bytes, "keys of a cgRX", &x->keys, err));
	RQL_TRY(rql_rt_memory(x->device, s->count * 4, "rows of a cgRX", &x->rows, err));
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	if (s->count) {
		rql_record_copy(c, s->keys.buffer, s->keys.offset, x->keys.buffer, 0, bytes);
		rql_record_copy(c, s->rows.buffer, s->rows.offset, x->rows.buffer, 0, s->count * 4);
	}
	RQL_TRY(rql_rt_finish(c, RQL_OK, b->progress, &x->build_ms, err));
	return check_bounds(x, err);
}

static rql_status sort_keys(struct building *b, struct rql_error *err)
{
	struct rql_cgrx *x = b->cgrx;
	const struct rql_cgrx_spec *s = &x->spec;
	struct rql_commands *c;
	struct rql_lookup_build build = {.map = {.key_bits = s->key_bits, .count = s->count},
	                                 .keys = s->keys, .value_bits = s->value_bits, .value_signed = s->value_signed,
	                                 .values = s->values};
	RQL_TRY(rql_rt_memory(x->device, s->count * s->key_bits / 8, "keys of a cgRX", &x->keys, err));
	RQL_TRY(rql_rt_memory(x->device, s->count * 4, "rows of a cgRX", &x->rows, err));
	RQL_TRY(rql_rt_memory(x->device, 8, "a directory of one entry", &b->starts, err));
	if (s->values.buffer)
		RQL_TRY(rql_rt_memory(x->device, (s->count + 1) * 8, "sums of a cgRX", &x->sums, err));
	build.map.keys = x->keys;
	build.map.rows = x->rows;
	build.map.starts = b->starts;
	build.map.sums = x->sums;
	RQL_TRY(rql_rt_memory(x->device, rql_lookup_build_temp_bytes(&build), "temporary memory of a cgRX", &b->temp, err));
	build.temp = b->temp;
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	RQL_TRY(rql_rt_finish(c, rql_record_lookup_build(c, &build, err), b->progress, &x->build_ms, err));
	rql_buffer_free(b->temp.buffer);
	b->temp.buffer = NULL;
	return check_bounds(x, err);
}

/* ---- the lists of triangles ---- */

static uint64_t parts_of(const struct building *b)
{
	return most(b->key_parts + b->marker_parts, 1);
}

/* The first primitive of a part. */
static uint64_t first_of(const struct building *b, uint64_t part)
{
	const struct rql_cgrx *x = b->cgrx;
	return part < b->key_parts ? part << x->part_log2 : x->representatives + ((part - b->key_parts) << x->part_log2);
}

static rql_status record_plan(const struct building *b, struct rql_commands *c, bool writing, struct rql_error *err)
{
	const struct rql_cgrx *x = b->cgrx;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_rt_constants(&x->spec.space, constants);
	constants[10] = x->spec.lines ? RQL_RT_LINES : 0;
	constants[15] = x->spec.drop;
	RQL_TRY(rql_pipeline_get(x->device, &plan_kernels[x->spec.key_bits == 64], constants, RQL_RT_CONSTANTS, &pipeline,
	                         err));
	const struct rql_cgrx_plan_args args = {
		.keys = rql_span_address(&x->keys),
		.count = x->spec.count,
		.buckets = b->buckets,
		.base = x->spec.base,
		.counts = {rql_span_address(&b->counts[0]), rql_span_address(&b->counts[1])},
		.points = rql_span_address(&b->points),
		.buckets_of = rql_span_address(&x->buckets_of) + parts_of(b) * 4,
		.first_marker = x->representatives,
		.log2_bucket = x->spec.log2_bucket,
		.writing = writing,
	};
	rql_uses_add(&uses, &x->keys, RQL_READ);
	for (uint32_t list = 0; list < 2; list++)
		rql_uses_add(&uses, &b->counts[list], writing ? RQL_READ : RQL_WRITE);
	rql_uses_add(&uses, &b->points, RQL_WRITE);
	rql_uses_add(&uses, &x->buckets_of, RQL_WRITE);
	rql_record_dispatch(c, "cgrx.plan", pipeline, &args, rql_div_up(b->buckets, RQL_RT_THREADS), uses.use, uses.count);
	return RQL_OK;
}

static struct rql_prefix_sum prefix_of(const struct building *b, uint32_t list)
{
	return (struct rql_prefix_sum){.kind = RQL_PREFIX_U32_U32, .count = b->buckets, .in = b->counts[list],
	                               .out = b->counts[list], .total = rql_span_at(&b->totals, list * 8),
	                               .temp = b->temp};
}

static rql_status record_counts(const struct building *b, struct rql_commands *c, struct rql_error *err)
{
	rql_record_fill(c, b->totals.buffer, 0, 16, 0);
	if (!b->buckets)
		return RQL_OK;
	RQL_TRY(record_plan(b, c, false, err));
	for (uint32_t list = 0; list < 2; list++) {
		struct rql_prefix_sum prefix = prefix_of(b, list);
		RQL_TRY(rql_record_prefix_sum(c, &prefix, err));
	}
	return RQL_OK;
}

/* How many triangles there are, and in how many parts. */
static rql_status count_triangles(struct building *b, struct rql_error *err)
{
	struct rql_cgrx *x = b->cgrx;
	struct rql_commands *c;
	uint64_t totals[2];
	b->buckets = rql_div_up(x->spec.count, UINT64_C(1) << x->spec.log2_bucket);
	for (uint32_t list = 0; list < 2; list++)
		RQL_TRY(rql_rt_memory(x->device, b->buckets * 4, "triangles of a cgRX, counted", &b->counts[list], err));
	RQL_TRY(rql_rt_memory(x->device, 16, "triangles of a cgRX, counted", &b->totals, err));
	struct rql_prefix_sum prefix = prefix_of(b, 0);
	RQL_TRY(rql_rt_memory(x->device, rql_prefix_temp_bytes(&prefix), "temporary memory of a cgRX", &b->temp, err));
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	RQL_TRY(rql_rt_finish(c, record_counts(b, c, err), b->progress, &x->build_ms, err));
	RQL_TRY(rql_buffer_download(b->totals.buffer, 0, totals, 16, err));
	x->representatives = totals[0];
	x->markers = totals[1];
	x->part_log2 = rql_rt_part_log2(x->device, most(totals[0], totals[1] / 2), x->spec.parts);
	b->key_parts = rql_div_up(totals[0], UINT64_C(1) << x->part_log2);
	b->marker_parts = rql_div_up(totals[1], UINT64_C(1) << x->part_log2);
	return RQL_OK;
}

/* Where the buckets of each part's triangles are listed: a shader then needs to know neither parts nor their sizes. */
static rql_status upload_parts(const struct building *b, struct rql_error *err)
{
	const uint64_t parts = parts_of(b);
	uint32_t *at = calloc(parts, sizeof(*at));
	if (!at)
		return rql_error_memory(err, parts * sizeof(*at), "the parts of a cgRX");
	for (uint64_t p = 0; p < parts; p++)
		at[p] = (uint32_t)(parts + first_of(b, p));
	rql_status status = rql_buffer_upload(b->cgrx->buckets_of.buffer, 0, at, parts * sizeof(*at), err);
	free(at);
	return status;
}

static rql_status list_triangles(struct building *b, struct rql_error *err)
{
	struct rql_cgrx *x = b->cgrx;
	struct rql_commands *c;
	const uint64_t triangles = x->representatives + x->markers, parts = parts_of(b);
	if (!b->buckets)
		return RQL_OK;
	RQL_TRY(rql_rt_memory(x->device, triangles * 12, "points of a cgRX", &b->points, err));
	RQL_TRY(rql_rt_memory(x->device, (parts + triangles) * 4, "buckets of a cgRX's triangles", &x->buckets_of, err));
	RQL_TRY(upload_parts(b, err));
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	return rql_rt_finish(c, record_plan(b, c, true, err), b->progress, &x->build_ms, err);
}

/* ---- the levels ---- */

static uint64_t part_primitives(const struct building *b, uint64_t part)
{
	const struct rql_cgrx *x = b->cgrx;
	uint64_t all = part < b->key_parts ? x->representatives : x->markers;
	uint64_t first = (part < b->key_parts ? part : part - b->key_parts) << x->part_log2;
	uint64_t room = UINT64_C(1) << x->part_log2, left = all > first ? all - first : 0;
	return left < room ? left : room;
}

static rql_status fill(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                       struct rql_error *err)
{
	const struct building *b = state;
	const struct rql_pipeline *pipeline;
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_rt_constants(&b->cgrx->spec.space, constants);
	RQL_TRY(rql_pipeline_get(b->cgrx->device, &fill_kernel, constants, 8, &pipeline, err));
	const struct rql_cgrx_fill_args args = {.points = rql_span_address(&b->points),
	                                        .out_items = input->address,
	                                        .first = first_of(b, part),
	                                        .count = part_primitives(b, part)};
	const struct rql_use uses[] = {{b->points.buffer, RQL_READ}, {input, RQL_WRITE}};
	rql_record_dispatch(c, "cgrx.fill", pipeline, &args, rql_div_up(args.count, RQL_RT_THREADS), uses, 2);
	return RQL_OK;
}

static rql_status build_levels(struct building *b, struct rql_error *err)
{
	struct rql_cgrx *x = b->cgrx;
	const uint64_t parts = parts_of(b);
	uint64_t *primitives = calloc(parts, sizeof(*primitives));
	uint8_t *masks = calloc(parts, 1);
	rql_status status = primitives && masks ? RQL_OK : rql_error_memory(err, parts * 9, "the parts of a cgRX");
	for (uint64_t p = 0; p < parts && status == RQL_OK; p++) {
		primitives[p] = part_primitives(b, p);
		masks[p] = p < b->key_parts ? 1 : 2;
	}
	const struct rql_accel_spec spec = {.what = "a cgRX",
	                                    .primitive = RQL_TRIANGLES,
	                                    .opaque = true,
	                                    .aim = x->spec.aim,
	                                    .compact = x->spec.compact,
	                                    .part_count = (uint32_t)parts,
	                                    .part_primitives = primitives,
	                                    .part_masks = masks,
	                                    .fill = fill,
	                                    .state = b};
	if (status == RQL_OK)
		status = rql_accel_build(x->device, &spec, b->progress, &x->accel, err);
	free(primitives);
	free(masks);
	return status;
}

static rql_status build(struct building *b, struct rql_error *err)
{
	struct rql_cgrx *x = b->cgrx;
	RQL_TRY(x->spec.rows.buffer ? copy_keys(b, err) : sort_keys(b, err));
	const double sorted_ms = x->build_ms;
	RQL_TRY(count_triangles(b, err));
	RQL_TRY(list_triangles(b, err));
	x->find_ms = x->build_ms - sorted_ms;
	RQL_TRY(build_levels(b, err));
	x->build_ms += x->accel->build_ms;
	x->bytes = x->accel->bytes + x->spec.count * (x->spec.key_bits / 8 + 4) +
	           (parts_of(b) + x->representatives + x->markers) * 4 + (x->sums.buffer ? (x->spec.count + 1) * 8 : 0);
	return RQL_OK;
}

rql_status rql_cgrx_build(const struct rql_cgrx_spec *spec, struct rql_progress *progress, struct rql_cgrx **out,
                          struct rql_error *err)
{
	RQL_TRY(check(spec, err));
	struct rql_cgrx *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a cgRX");
	struct building b = {.cgrx = x, .progress = progress};
	x->spec = *spec;
	x->device = spec->keys.buffer->device;
	rql_status status = build(&b, err);
	rql_buffer_free(b.temp.buffer);
	rql_buffer_free(b.starts.buffer);
	rql_buffer_free(b.counts[0].buffer);
	rql_buffer_free(b.counts[1].buffer);
	rql_buffer_free(b.totals.buffer);
	rql_buffer_free(b.points.buffer);
	x->spec.keys.buffer = x->spec.values.buffer = x->spec.rows.buffer = NULL;
	if (status == RQL_OK)
		*out = x;
	else
		rql_cgrx_free(x);
	return status;
}

void rql_cgrx_free(struct rql_cgrx *x)
{
	if (!x)
		return;
	rql_accel_free(x->accel);
	rql_buffer_free(x->keys.buffer);
	rql_buffer_free(x->rows.buffer);
	rql_buffer_free(x->sums.buffer);
	rql_buffer_free(x->buckets_of.buffer);
	free(x);
}
