/* Records the passes of a join by hash images: build, count, places, probe, rest (README.md). */
#include "primitive/raster/raster.h"

#include "primitive/primitive_internal.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation_internal.h"
#include "shaders/primitive/raster_build.frag.h"
#include "shaders/primitive/raster_build.vert.h"
#include "shaders/primitive/raster_count.frag.h"
#include "shaders/primitive/raster_counts.comp.h"
#include "shaders/primitive/raster_losers.comp.h"
#include "shaders/primitive/raster_plan.comp.h"
#include "shaders/primitive/raster_probe.frag.h"
#include "shaders/primitive/raster_probe.vert.h"
#include "shaders/primitive/raster_rest.comp.h"
#include "shaders/primitive/raster_walk.vert.h"
#include "shaders/primitive/raster_walk_count.frag.h"
#include "shaders/primitive/raster_walk_probe.frag.h"

#define COUNT_WIDTH 4096u
#define SHADER(name, stage) {rql_spv_##name##_##stage, sizeof(rql_spv_##name##_##stage)}
#define DRAW(what, v, f) {"primitive." what, SHADER(v, vert), SHADER(f, frag), sizeof(struct rql_raster_args)}
#define KERNEL(name)                                                                                                   \
	{"primitive." #name, rql_spv_##name##_comp, sizeof(rql_spv_##name##_comp), sizeof(struct rql_raster_args)}

static const struct rql_draw_kernel build_kernel = DRAW("raster_build", raster_build, raster_build);
static const struct rql_draw_kernel count_kernel = DRAW("raster_count", raster_probe, raster_count);
static const struct rql_draw_kernel probe_kernel = DRAW("raster_probe", raster_probe, raster_probe);
static const struct rql_draw_kernel walk_count_kernel = DRAW("raster_walk_count", raster_walk, raster_walk_count);
static const struct rql_draw_kernel walk_probe_kernel = DRAW("raster_walk_probe", raster_walk, raster_walk_probe);
static const struct rql_kernel losers_kernel = KERNEL(raster_losers), plan_kernel = KERNEL(raster_plan),
							   counts_kernel = KERNEL(raster_counts), rest_kernel = KERNEL(raster_rest);

/* Offsets in temp. */
struct plan {
	uint64_t state, state_bytes, lists[2], counts, starts, nested, bytes;
};

static bool gives_pairs(const struct rql_raster_join *join)
{
	return join->kind == RQL_JOIN_INNER;
}

static struct rql_prefix_sum places_of(const struct rql_raster_join *join, const struct plan *plan)
{
	return (struct rql_prefix_sum){
		.kind = RQL_PREFIX_U32_U64,
		.count = join->probe.count,
		.in = rql_span_at(&join->temp, plan->counts),
		.out = rql_span_at(&join->temp, plan->starts),
		.total = join->rows,
		.temp = rql_span_at(&join->temp, plan->nested),
	};
}

static struct rql_compact flags_of(const struct rql_raster_join *join, const struct plan *plan)
{
	return (struct rql_compact){
		.kind = RQL_COMPACT_FLAGS,
		.index_bits = 32,
		.count = join->probe.count,
		.in = rql_span_at(&join->temp, plan->counts),
		.out = join->probe_rows,
		.found = join->rows,
		.temp = rql_span_at(&join->temp, plan->nested),
	};
}

static struct plan plan_of(const struct rql_raster_join *join)
{
	struct plan plan = {.state_bytes = 16 * ((uint64_t)join->layers + 2)};
	uint64_t at = 0;
	plan.state = rql_temp_take(&at, plan.state_bytes);
	plan.lists[0] = rql_temp_take(&at, join->build.count * 4);
	plan.lists[1] = rql_temp_take(&at, join->build.count * 4);
	plan.counts = rql_temp_take(&at, join->probe.count * 4);
	if (gives_pairs(join))
		plan.starts = rql_temp_take(&at, join->probe.count * 8);
	plan.nested = at;
	struct rql_prefix_sum places = places_of(join, &plan);
	struct rql_compact flags = flags_of(join, &plan);
	plan.bytes = at + (gives_pairs(join) ? rql_prefix_temp_bytes(&places) : rql_compact_temp_bytes(&flags));
	return plan;
}

uint64_t rql_raster_join_temp_bytes(const struct rql_raster_join *join)
{
	return plan_of(join).bytes;
}

static enum rql_format format_of(const struct rql_raster_join *join)
{
	return join->key_bits == 64                ? RQL_FORMAT_RGBA32_UINT
	       : join->layout == RQL_RASTER_16 ? RQL_FORMAT_RGBA16_UINT
	                                       : RQL_FORMAT_RG32_UINT;
}

void rql_raster_join_images(const struct rql_raster_join *join, struct rql_image_spec *stack,
                            struct rql_image_spec *counts)
{
	uint64_t rows = rql_div_up(join->probe.count, COUNT_WIDTH);
	*stack = (struct rql_image_spec){
		.format = format_of(join),
		.width = 1u << join->log2_side,
		.height = 1u << join->log2_side,
		.layers = join->layers,
		.roles = RQL_IMAGE_TARGET | RQL_IMAGE_FETCH,
	};
	*counts = (struct rql_image_spec){
		.format = RQL_FORMAT_R32_FLOAT,
		.width = COUNT_WIDTH,
		.height = rows ? (uint32_t)rows : 1,
		.layers = 1,
		.roles = RQL_IMAGE_TARGET | RQL_IMAGE_BLEND | RQL_IMAGE_FETCH,
	};
}

/* ---- checks ---- */

bool rql_raster_image_fits(const struct rql_image *image, const struct rql_image_spec *wanted)
{
	const struct rql_image_spec *has = image ? &image->spec : NULL;
	return has && has->format == wanted->format && has->width == wanted->width && has->height >= wanted->height &&
	       has->layers == wanted->layers && (has->roles & wanted->roles) == wanted->roles;
}

static rql_status check_shape(const struct rql_raster_join *join, struct rql_error *err)
{
	bool known = join->kind == RQL_JOIN_INNER || join->kind == RQL_JOIN_SEMI || join->kind == RQL_JOIN_ANTI;
	if (!known || (join->key_bits != 32 && join->key_bits != 64) || (unsigned)join->layout > RQL_RASTER_16 ||
	    (join->key_bits == 64 && join->layout == RQL_RASTER_16) || (unsigned)join->way > RQL_RASTER_WALK || join->log2_side > 14 || !join->layers ||
	    join->layers > RQL_RASTER_LAYERS)
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a join of kind %d by hash images cannot be asked for: keys of %u bits, layout %d, "
		                     "%u layers, a side of 2^%u",
		                     (int)join->kind, join->key_bits, (int)join->layout, join->layers, join->log2_side);
	if (join->build.count > RQL_RASTER_ROWS || join->probe.count > RQL_RASTER_ROWS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join by hash images has more than %llu rows on a side",
		                     (unsigned long long)RQL_RASTER_ROWS);
	return RQL_OK;
}

static rql_status check(const struct rql_raster_join *join, struct rql_error *err)
{
	struct rql_image_spec stack, counts;
	uint32_t key_bytes = join->key_bits / 8;
	RQL_TRY(check_shape(join, err));
	rql_raster_join_images(join, &stack, &counts);
	if (!rql_raster_image_fits(join->stack, &stack) || !rql_raster_image_fits(join->counts, &counts))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join's images are not those of rql_raster_join_images");
	RQL_TRY(rql_span_check(&join->build.keys, join->build.count, key_bytes, "build keys of a join", err));
	RQL_TRY(rql_span_check(&join->probe.keys, join->probe.count, key_bytes, "probe keys of a join", err));
	uint64_t room = gives_pairs(join) ? join->capacity : join->probe.count;
	if (gives_pairs(join))
		RQL_TRY(rql_span_check(&join->build_rows, room, 4, "build rows of a join", err));
	RQL_TRY(rql_span_check(&join->probe_rows, room, 4, "probe rows of a join", err));
	RQL_TRY(rql_span_check(&join->rows, 1, 8, "number of a join's rows", err));
	RQL_TRY(rql_span_check(&join->rest_keys, join->build.count, key_bytes, "keys of a join's rest", err));
	RQL_TRY(rql_span_check(&join->rest_rows, join->build.count, 4, "rows of a join's rest", err));
	RQL_TRY(rql_span_check(&join->rest, 1, 8, "number of a join's rest", err));
	RQL_TRY(rql_span_check(&join->points, 4, 8, "points of a join", err));
	return rql_span_check(&join->temp, rql_div_up(plan_of(join).bytes, 8), 8, "temporary words of a join", err);
}

/* ---- recording ---- */

/* One recording of one join. */
struct recorder {
	struct rql_commands *c;
	const struct rql_raster_join *join;
	struct plan plan;
	struct rql_raster_args args; /* what all passes have */
	struct rql_device *device;
};

static rql_status dispatch(const struct recorder *r, const struct rql_kernel *kernel,
                           const struct rql_raster_args *args, uint64_t items, const struct rql_use *uses, uint32_t use_count, struct rql_image *image,
                           struct rql_error *err)
{
	const uint32_t constants[] = {RQL_RASTER_THREADS, r->join->key_bits, r->join->layout == RQL_RASTER_16 ? 16 : 32};
	const struct rql_image_use image_use = {image, RQL_READ};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_image_pipeline_get(r->device, kernel, constants, 3, &pipeline, err));
	rql_record_dispatch_images(r->c, kernel->name, pipeline, args, rql_div_up(items, RQL_RASTER_THREADS), uses,
	                           use_count, &image_use, image ? 1 : 0);
	return RQL_OK;
}

static rql_status pipeline_of(const struct recorder *r, const struct rql_draw_kernel *kernel,
                              const struct rql_draw_state *state, const struct rql_pipeline **out,
                              struct rql_error *err)
{
	const uint32_t constants[] = {0, r->join->key_bits, r->join->layout == RQL_RASTER_16 ? 16 : 32};
	return rql_draw_pipeline_get(r->device, kernel, state, constants, 3, out, err);
}

static rql_status begin(const struct recorder *r, struct rql_error *err)
{
	static const uint32_t zeros[4];
	const struct rql_use use = {r->join->temp.buffer, RQL_WRITE};
	struct rql_raster_args args = r->args;
	rql_record_clear(r->c, r->join->stack, 0, r->join->layers, zeros);
	rql_record_clear(r->c, r->join->counts, 0, 1, zeros);
	args.rows = (uint32_t)r->join->build.count;
	args.what = RQL_RASTER_BEGIN;
	return dispatch(r, &plan_kernel, &args, 1, &use, 1, NULL, err);
}

/* Layer after layer: points, then the list of those that lost. */
static rql_status build(const struct recorder *r, struct rql_error *err)
{
	const struct rql_raster_join *join = r->join;
	struct rql_draw_state state = {.target_count = 1};
	struct rql_raster_args args = r->args;
	const struct rql_use draw_uses[] = {{join->build.keys.buffer, RQL_READ}, {join->temp.buffer, RQL_READ}};
	const struct rql_use list_uses[] = {{join->build.keys.buffer, RQL_READ}, {join->temp.buffer, RQL_READ_WRITE}};
	struct rql_draw draw = {.pass = "primitive.raster_build",
	                        .args = &args,
	                        .target_count = 1,
	                        .counts = join->temp.buffer,
	                        .uses = draw_uses,
	                        .use_count = 2};
	state.targets[0].format = join->stack->spec.format;
	RQL_TRY(pipeline_of(r, &build_kernel, &state, &draw.pipeline, err));
	args.keys = rql_span_address(&join->build.keys);
	args.what = gives_pairs(join) ? 0 : RQL_RASTER_DROPS_EQUAL;
	for (args.layer = 0; args.layer < join->layers; args.layer++) {
		struct rql_span out = rql_span_at(&join->temp, r->plan.lists[args.layer % 2]);
		draw.targets[0] = (struct rql_target){join->stack, args.layer};
		draw.counts_offset = join->temp.offset + r->plan.state + 16 * (uint64_t)args.layer;
		args.list_out = rql_span_address(&out);
		rql_record_draw(r->c, &draw);
		RQL_TRY(dispatch(r, &losers_kernel, &args, join->build.count, list_uses, 2, join->stack, err));
		args.list = args.list_out;
	}
	return RQL_OK;
}

/* How many instances the probe rows have; the rest is put out. */
static rql_status settle(const struct recorder *r, struct rql_error *err)
{
	const struct rql_raster_join *join = r->join;
	struct rql_span list = rql_span_at(&join->temp, r->plan.lists[(join->layers - 1) % 2]);
	struct rql_raster_args args = r->args;
	const struct rql_use uses[] = {
		{join->temp.buffer, RQL_READ_WRITE}, {join->rest.buffer, RQL_WRITE}, {join->points.buffer, RQL_WRITE}};
	const struct rql_use rest_uses[] = {{join->temp.buffer, RQL_READ},
	                                    {join->build.keys.buffer, RQL_READ},
	                                    {join->rest_keys.buffer, RQL_WRITE},
	                                    {join->rest_rows.buffer, RQL_WRITE}};
	args.rows = (uint32_t)join->probe.count;
	args.what = RQL_RASTER_PROBE;
	args.result = rql_span_address(&join->points);
	args.out_count = rql_span_address(&join->rest);
	RQL_TRY(dispatch(r, &plan_kernel, &args, 1, uses, 3, NULL, err));
	args.keys = rql_span_address(&join->build.keys);
	args.list = rql_span_address(&list);
	args.result = rql_span_address(&join->rest_keys);
	args.out_rows = rql_span_address(&join->rest_rows);
	return dispatch(r, &rest_kernel, &args, join->build.count, rest_uses, 4, NULL, err);
}

/* The probe rows, in every layer in use or walking down: counted by blending, or put out as pairs. */
static rql_status draw_probe(const struct recorder *r, bool pairs, struct rql_error *err)
{
	const struct rql_raster_join *join = r->join;
	struct rql_draw_state state = {.target_count = pairs ? 0 : 1};
	struct rql_raster_args args = r->args;
	const struct rql_image_use stack = {join->stack, RQL_READ};
	const struct rql_use uses[] = {{join->probe.keys.buffer, RQL_READ},
	                               {join->temp.buffer, RQL_READ_WRITE},
	                               {join->build_rows.buffer, RQL_WRITE},
	                               {join->probe_rows.buffer, RQL_WRITE}};
	struct rql_draw draw = {.pass = pairs ? "primitive.raster_probe" : "primitive.raster_count",
	                        .args = &args,
	                        .target_count = state.target_count,
	                        .width = args.width,
	                        .height = args.height,
	                        .counts = join->temp.buffer,
	                        .counts_offset = join->temp.offset + r->plan.state + 16 * ((uint64_t)join->layers + 1),
	                        .uses = uses,
	                        .use_count = pairs ? 4 : 1,
	                        .images = &stack,
	                        .image_count = 1};
	state.targets[0].format = RQL_FORMAT_R32_FLOAT;
	state.targets[0].blend = RQL_BLEND_ADD;
	draw.targets[0].image = join->counts;
	args.keys = rql_span_address(&join->probe.keys);
	const bool walks = join->way == RQL_RASTER_WALK;
	const struct rql_draw_kernel *kernel = pairs ? (walks ? &walk_probe_kernel : &probe_kernel)
	                                             : (walks ? &walk_count_kernel : &count_kernel);
	RQL_TRY(pipeline_of(r, kernel, &state, &draw.pipeline, err));
	rql_record_draw(r->c, &draw);
	return RQL_OK;
}

/* From the image of counts to a list of counts, or of flags. */
static rql_status list_counts(const struct recorder *r, struct rql_error *err)
{
	const struct rql_raster_join *join = r->join;
	struct rql_span out = rql_span_at(&join->temp, r->plan.counts);
	struct rql_raster_args args = r->args;
	const struct rql_use use = {join->temp.buffer, RQL_WRITE};
	args.rows = (uint32_t)join->probe.count;
	args.image = join->counts->number;
	args.result = rql_span_address(&out);
	args.what = gives_pairs(join)              ? RQL_RASTER_COUNTS
	            : join->kind == RQL_JOIN_SEMI ? RQL_RASTER_HAS
	                                          : RQL_RASTER_LACKS;
	return dispatch(r, &counts_kernel, &args, join->probe.count, &use, 1, join->counts, err);
}

rql_status rql_record_raster_join(struct rql_commands *c, const struct rql_raster_join *join, struct rql_error *err)
{
	RQL_TRY(check(join, err));
	struct recorder r = {.c = c, .join = join, .plan = plan_of(join), .device = join->stack->device};
	struct rql_span state = rql_span_at(&join->temp, r.plan.state), starts = rql_span_at(&join->temp, r.plan.starts);
	r.args = (struct rql_raster_args){
		.state = rql_span_address(&state),
		.starts = gives_pairs(join) ? rql_span_address(&starts) : 0,
		.build_rows = rql_span_address(&join->build_rows),
		.probe_rows = rql_span_address(&join->probe_rows),
		.capacity = join->capacity,
		.image = join->stack->number,
		.log2_side = join->log2_side,
		.width = join->counts->spec.width,
		.height = join->counts->spec.height,
		.layers = join->layers,
		.walks = join->way == RQL_RASTER_WALK,
	};
	RQL_TRY(begin(&r, err));
	RQL_TRY(build(&r, err));
	RQL_TRY(settle(&r, err));
	RQL_TRY(draw_probe(&r, false, err));
	RQL_TRY(list_counts(&r, err));
	if (!gives_pairs(join)) {
		struct rql_compact flags = flags_of(join, &r.plan);
		return rql_record_compact(c, &flags, err);
	}
	struct rql_prefix_sum places = places_of(join, &r.plan);
	RQL_TRY(rql_record_prefix_sum(c, &places, err));
	return draw_probe(&r, true, err);
}
