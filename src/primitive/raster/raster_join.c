/* Records the passes of a join by hash images: partitions, and of each statistics, build, count, places, probe; what a few
 * stacks do not hold is flattened (README.md). Everything that depends on the rows is decided on the device
 * (raster_plan.comp), so that what need not be done is a draw of no points. */
#include "primitive/raster/raster.h"

#include "primitive/primitive_internal.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation/relation_internal.h"
#include "shaders/primitive/raster_build.frag.h"
#include "shaders/primitive/raster_build.vert.h"
#include "shaders/primitive/raster_count.frag.h"
#include "shaders/primitive/raster_flat.comp.h"
#include "shaders/primitive/raster_flat.frag.h"
#include "shaders/primitive/raster_heights.comp.h"
#include "shaders/primitive/raster_losers.comp.h"
#include "shaders/primitive/raster_matched.comp.h"
#include "shaders/primitive/raster_place.vert.h"
#include "shaders/primitive/raster_places.comp.h"
#include "shaders/primitive/raster_plan.comp.h"
#include "shaders/primitive/raster_probe.frag.h"
#include "shaders/primitive/raster_probe.vert.h"
#include "shaders/primitive/raster_walk.vert.h"
#include "shaders/primitive/raster_walk_count.frag.h"
#include "shaders/primitive/raster_walk_pairs.frag.h"

#define LOG2_SIDE_MOST 12u /* by default: larger images slow the drawing down (section 5) */
#define LAYERS 8u
#define CYCLES 2u
#define WIDTH 4096u /* of images with a pixel a row, ... */
#define WIDTH_MOST 16384u
#define WIDE_ROWS (UINT64_C(1) << 26) /* ... up to so many */

#define SHADER(name, stage) {rql_spv_##name##_##stage, sizeof(rql_spv_##name##_##stage)}
#define DRAW(what, v, f) {"primitive." what, SHADER(v, vert), SHADER(f, frag), sizeof(struct rql_raster_args)}
#define KERNEL(name)                                                                                                   \
	{"primitive." #name, rql_spv_##name##_comp, sizeof(rql_spv_##name##_comp), sizeof(struct rql_raster_args)}

static const struct rql_draw_kernel build_kernel = DRAW("raster_build", raster_build, raster_build),
									stat_kernel = DRAW("raster_statistics", raster_place, raster_count),
									count_kernel = DRAW("raster_count", raster_probe, raster_count),
									probe_kernel = DRAW("raster_probe", raster_probe, raster_probe),
									flat_kernel = DRAW("raster_flat", raster_place, raster_flat),
									walk_count_kernel = DRAW("raster_walk_count", raster_walk, raster_walk_count),
									walk_pairs_kernel = DRAW("raster_walk_pairs", raster_walk, raster_walk_pairs);
static const struct rql_kernel plan_kernel = KERNEL(raster_plan), losers_kernel = KERNEL(raster_losers),
							   heights_kernel = KERNEL(raster_heights), places_kernel = KERNEL(raster_places),
							   starts_kernel = KERNEL(raster_flat), matched_kernel = KERNEL(raster_matched);

_Static_assert(sizeof(struct rql_raster_points) == 8 * (RQL_RASTER_POINTS_FAILED + 1), "raster_kernels.h has the same");

static bool snakes(const struct rql_raster_join *join)
{
	return join->snake && join->kind == RQL_JOIN_INNER;
}
static bool counts_heights(const struct rql_raster_join *join)
{
	return snakes(join) || (rql_join_gives_pairs(join->kind) && join->cycles > 0);
}

/* ---- sizes ---- */

/* Rows fill 3/8 of an image's pixels at most. */
static bool is_full(uint64_t rows, uint32_t log2_side)
{
	return rows > UINT64_C(3) << (2 * log2_side) >> 3;
}

/* Rows that may be built, and pixels of the count image. */
static uint64_t most_built(const struct rql_raster_join *join)
{
	return snakes(join) && join->probe.count > join->build.count ? join->probe.count : join->build.count;
}
/* Are the rows of a partition fewer than its image has pixels, so that 32 bits take a row and what is left of its key? */
static bool halves(const struct rql_raster_join *join)
{
	return join->key_bits == 32 && most_built(join) >> join->partition_bits < UINT64_C(1) << (2 * join->log2_side);
}

void rql_raster_join_size(struct rql_raster_join *join)
{
	const uint64_t rows = join->build.count;
	join->log2_side = 4;
	join->partition_bits = 0;
	while (join->log2_side < LOG2_SIDE_MOST && is_full(rows, join->log2_side))
		join->log2_side++;
	while (join->partition_bits < RQL_PARTITION_PASS_BITS && is_full(rows >> join->partition_bits, join->log2_side))
		join->partition_bits++;
	join->layers = 1;
	join->cycles = 0;
	join->snake = false;
	join->layout = RQL_RASTER_32;
}

void rql_raster_join_size_paper(struct rql_raster_join *join)
{
	rql_raster_join_size(join);
	join->layers = LAYERS;
	join->cycles = CYCLES;
	join->snake = join->kind == RQL_JOIN_INNER;
	join->layout = halves(join) ? RQL_RASTER_16 : RQL_RASTER_32;
}

const char *rql_raster_join_pixels(const struct rql_raster_join *join)
{
	return join->key_bits == 64             ? "keys of 64 bits"
	       : join->layout == RQL_RASTER_16 ? "what is left of a key and a row share 32 bits"
	                                       : "a partition has more rows than 32 bits have room for beside a key";
}
static uint64_t counted(const struct rql_raster_join *join)
{
	return join->probe.count + (snakes(join) ? join->build.count : 0);
}
static uint32_t width_for(uint64_t rows)
{
	return rows > WIDE_ROWS ? WIDTH_MOST : WIDTH;
}
static struct rql_image_spec image_of_rows(enum rql_format format, uint64_t rows, unsigned roles)
{
	const uint64_t high = rql_div_up(rows, width_for(rows));
	return (struct rql_image_spec){.format = format,
	                               .width = width_for(rows),
	                               .height = high > UINT32_MAX ? UINT32_MAX : high ? (uint32_t)high : 1,
	                               .layers = 1,
	                               .roles = roles};
}

static enum rql_format format_of(const struct rql_raster_join *join)
{
	return join->key_bits == 64               ? RQL_FORMAT_RGBA32_UINT
	       : join->layout == RQL_RASTER_16 ? RQL_FORMAT_R32_UINT
	                                       : RQL_FORMAT_RG32_UINT;
}

void rql_raster_join_images(const struct rql_raster_join *join, struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES])
{
	const unsigned blended = RQL_IMAGE_TARGET | RQL_IMAGE_BLEND | RQL_IMAGE_FETCH;
	const struct rql_image_spec none = {.layers = 0};
	struct rql_image_spec side = {.format = RQL_FORMAT_R32_FLOAT,
	                              .width = 1u << join->log2_side,
	                              .height = 1u << join->log2_side,
	                              .layers = 1,
	                              .roles = blended};
	specs[RQL_RASTER_BUILD_COUNTS] = side;
	specs[RQL_RASTER_PROBE_COUNTS] = snakes(join) ? side : none;
	side.format = format_of(join);
	side.layers = join->layers;
	side.roles = RQL_IMAGE_TARGET | RQL_IMAGE_FETCH;
	specs[RQL_RASTER_STACK] = join->cycles ? side : none;
	specs[RQL_RASTER_MATCHES] = image_of_rows(RQL_FORMAT_R32_FLOAT, counted(join), blended);
	specs[RQL_RASTER_DENSE] = image_of_rows(RQL_FORMAT_R32_UINT, most_built(join), RQL_IMAGE_STORAGE | RQL_IMAGE_FETCH);
}

const char *rql_raster_join_refusal(const struct rql_raster_join *join, const struct rql_device *device)
{
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	rql_raster_join_images(join, specs);
	if (join->build.count > RQL_RASTER_ROWS || join->probe.count > RQL_RASTER_ROWS)
		return "a side may have 2^31 rows or more";
	for (uint32_t i = 0; i < RQL_RASTER_JOIN_IMAGES; i++) {
		if (specs[i].width > device->limits.image_side || specs[i].height > device->limits.image_side ||
		    specs[i].layers > device->limits.image_layers)
			return "the sides have more rows than an image of the device has pixels";
		if (specs[i].width && (specs[i].roles & ~rql_format_roles(device, specs[i].format)))
			return "the device cannot draw, blend or store the formats of hash images";
	}
	return NULL;
}

/* ---- temporary memory ---- */

/* Offsets in temp. */
struct plan {
	uint64_t state, table, lists[2], counts, places, next;
	uint64_t matched[2]; /* of a side */
	uint64_t keys[2], numbers[2], starts[2], nested, bytes;
};

static const struct rql_raster_side *side_of(const struct rql_raster_join *join, uint32_t side)
{
	return side ? &join->probe : &join->build;
}

static struct rql_partition partition_of(const struct rql_raster_join *join, const struct plan *plan, uint32_t side)
{
	const struct rql_raster_side *of = side_of(join, side);
	struct rql_partition partition = {.key_bits = join->key_bits,
	                                  .bits = join->partition_bits,
	                                  .has_null_key = join->has_null_key,
	                                  .null_key = join->null_key,
	                                  .count = of->count,
	                                  .found = of->found,
	                                  .keys = of->keys,
	                                  .keys_out = rql_span_at(&join->temp, plan->keys[side]),
	                                  .column_count = 1,
	                                  .starts = rql_span_at(&join->temp, plan->starts[side]),
	                                  .temp = rql_span_at(&join->temp, plan->nested)};
	partition.columns[0] = (struct rql_relation_column){.bits = 32, .out = rql_span_at(&join->temp, plan->numbers[side])};
	return partition;
}

static struct plan plan_of(const struct rql_raster_join *join)
{
	struct plan plan = {.state = 0};
	uint64_t at = 0, nested = 0;
	const uint64_t probed = snakes(join) && join->build.count > join->probe.count ? join->build.count : join->probe.count;
	plan.state = rql_temp_take(&at, 4 * (RQL_RASTER_DRAW_BUILD + 4 * ((uint64_t)join->layers + 1)));
	plan.table = rql_temp_take(&at, 8 * RQL_RASTER_JOIN_TABLE(join->comparison_count));
	for (uint32_t i = 0; i < 2; i++)
		plan.lists[i] = rql_temp_take(&at, most_built(join) * 4);
	if (rql_join_gives_pairs(join->kind)) {
		plan.counts = rql_temp_take(&at, probed * 4);
		plan.places = rql_temp_take(&at, probed * 8);
	}
	plan.next = rql_temp_take(&at, UINT64_C(4) << (2 * join->log2_side));
	plan.matched[0] = rql_temp_take(&at, join->kind == RQL_JOIN_FULL ? join->build.count * 4 : 0);
	plan.matched[1] = rql_temp_take(&at, join->kind == RQL_JOIN_INNER ? 0 : join->probe.count * 4);
	for (uint32_t side = 0; side < 2 && join->partition_bits; side++) {
		plan.keys[side] = rql_temp_take(&at, side_of(join, side)->count * (join->key_bits / 8));
		plan.numbers[side] = rql_temp_take(&at, side_of(join, side)->count * 4);
		plan.starts[side] = rql_temp_take(&at, 4 * ((UINT64_C(1) << join->partition_bits) + 1));
	}
	plan.nested = at;
	for (uint32_t side = 0; side < 2 && join->partition_bits; side++) {
		const struct rql_partition partition = partition_of(join, &plan, side);
		const uint64_t bytes = rql_partition_temp_bytes(&partition);
		nested = bytes > nested ? bytes : nested;
	}
	plan.bytes = at + nested;
	return plan;
}

uint64_t rql_raster_join_temp_bytes(const struct rql_raster_join *join)
{
	return plan_of(join).bytes;
}

/* ---- checks ---- */

static rql_status check_shape(const struct rql_raster_join *join, struct rql_error *err)
{
	if (((unsigned)join->kind > RQL_JOIN_ANTI && join->kind != RQL_JOIN_FULL) ||
	    (join->single && join->kind != RQL_JOIN_LEFT) || (join->key_bits != 32 && join->key_bits != 64) ||
	    (unsigned)join->layout > RQL_RASTER_16 || (join->key_bits == 64 && join->layout == RQL_RASTER_16) ||
	    join->log2_side > 14 || !join->layers || join->layers > RQL_RASTER_LAYERS ||
	    join->partition_bits > RQL_PARTITION_PASS_BITS)
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a join of kind %d by hash images cannot be asked for: keys of %u bits, layout %d, "
		                     "%u layers, a side of 2^%u, 2^%u partitions",
		                     (int)join->kind, join->key_bits, (int)join->layout, join->layers, join->log2_side,
		                     join->partition_bits);
	if (join->build.count > RQL_RASTER_ROWS || join->probe.count > RQL_RASTER_ROWS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join by hash images has more than %llu rows on a side",
		                     (unsigned long long)RQL_RASTER_ROWS);
	return RQL_OK;
}

static rql_status check_compared(const struct rql_raster_comparison *c, const struct rql_raster_compared *side, uint64_t rows,
                                 struct rql_error *err)
{
	if (side->fields.buffer)
		RQL_TRY(rql_span_check(&side->fields, rows, c->bits / 8, "fields that a join compares", err));
	if (!c->text)
		return RQL_OK;
	RQL_TRY(rql_span_check(&side->starts, (side->fields.buffer ? side->texts : rows) + 1, 4, "starts of texts", err));
	return rql_span_check(&side->bytes, 1, 4, "bytes of texts", err);
}

static rql_status check_comparisons(const struct rql_raster_join *join, struct rql_error *err)
{
	bool good = join->comparison_count <= RQL_RASTER_COMPARISONS;
	for (uint32_t i = 0; i < join->comparison_count && good; i++) {
		const struct rql_raster_comparison *c = &join->comparisons[i];
		good = c->test >= RQL_JOIN_EQ && c->test <= RQL_JOIN_GE && (c->bits == 32 || (c->bits == 64 && !c->text)) &&
		       (c->text ? c->test == RQL_JOIN_EQ : c->probe.fields.buffer != NULL) && (!c->real || c->bits == 64);
	}
	if (!good)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join by hash images cannot compare rows so (%u comparisons)",
		                     join->comparison_count);
	for (uint32_t i = 0; i < join->comparison_count; i++) {
		const struct rql_raster_comparison *c = &join->comparisons[i];
		RQL_TRY(check_compared(c, &c->build, join->build.count, err));
		RQL_TRY(check_compared(c, &c->probe, join->probe.count, err));
	}
	return RQL_OK;
}

static rql_status check(const struct rql_raster_join *join, struct rql_error *err)
{
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	const uint32_t key_bytes = join->key_bits / 8;
	RQL_TRY(check_shape(join, err));
	rql_raster_join_images(join, specs);
	if (!rql_raster_images_fit(join->images, specs, RQL_RASTER_JOIN_IMAGES))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join's images are not those of rql_raster_join_images");
	RQL_TRY(rql_span_check(&join->build.keys, join->build.count, key_bytes, "build keys of a join", err));
	RQL_TRY(rql_span_check(&join->probe.keys, join->probe.count, key_bytes, "probe keys of a join", err));
	if (rql_join_gives_pairs(join->kind))
		RQL_TRY(rql_span_check(&join->build_rows, join->capacity, 4, "build rows of a join", err));
	RQL_TRY(rql_span_check(&join->probe_rows, join->capacity, 4, "probe rows of a join", err));
	RQL_TRY(check_comparisons(join, err));
	RQL_TRY(rql_span_check(&join->rows, join->single ? 2 : 1, 8, "number of a join's rows", err));
	RQL_TRY(rql_span_check(&join->points, sizeof(struct rql_raster_points) / 8, 8, "points of a join", err));
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
	struct rql_uses uses;  /* every buffer of the join */
	struct rql_error *err;
};

static uint64_t lists_at(const struct recorder *r, uint32_t i)
{
	const struct rql_span list = rql_span_at(&r->join->temp, r->plan.lists[i % 2]);
	return rql_span_address(&list);
}

/* A kernel over the items of an indirect dispatch, or over so many. `first`, `second`: images that it reads; -1: none. */
static rql_status dispatch(const struct recorder *r, const struct rql_kernel *kernel, const struct rql_raster_args *args,
                           uint32_t groups_at, uint64_t items, int first, int second)
{
	const uint32_t constants[] = {RQL_RASTER_THREADS, r->join->key_bits, r->join->layout == RQL_RASTER_16 ? 16 : 32};
	const int wanted[] = {first, second};
	struct rql_image_use uses[2];
	uint32_t count = 0;
	const struct rql_pipeline *pipeline;
	for (uint32_t i = 0; i < 2; i++)
		if (wanted[i] >= 0 && r->join->images[wanted[i]])
			uses[count++] = (struct rql_image_use){r->join->images[wanted[i]], RQL_READ};
	RQL_TRY(rql_image_pipeline_get(r->device, kernel, constants, 3, &pipeline, r->err));
	if (groups_at)
		rql_record_dispatch_images_indirect(r->c, kernel->name, pipeline, args, r->join->temp.buffer,
		                                    r->join->temp.offset + r->plan.state + 4 * (uint64_t)groups_at, r->uses.use,
		                                    r->uses.count, uses, count);
	else
		rql_record_dispatch_images(r->c, kernel->name, pipeline, args, rql_div_up(items, RQL_RASTER_THREADS), r->uses.use,
		                           r->uses.count, uses, count);
	return RQL_OK;
}

static rql_status decide(const struct recorder *r, uint32_t what, uint32_t partition, uint32_t cycle)
{
	struct rql_raster_args args = r->args;
	args.what = what;
	args.number = partition;
	args.layer = cycle;
	return dispatch(r, &plan_kernel, &args, 0, 1, -1, -1);
}

/* Points as the state says at draw_at, into a layer of an image (-1: none); shaders look `image` up (-1: none). */
static rql_status draw(const struct recorder *r, const struct rql_draw_kernel *kernel, const struct rql_raster_args *args,
                       uint32_t draw_at, int target, uint32_t layer, enum rql_blend blend, int image, int second)
{
	const struct rql_raster_join *join = r->join;
	const uint32_t constants[] = {0, join->key_bits, join->layout == RQL_RASTER_16 ? 16 : 32};
	const int wanted[] = {image, second};
	struct rql_image_use uses[2];
	struct rql_draw_state state = {.target_count = target >= 0};
	struct rql_draw draw = {.pass = kernel->name,
	                        .args = args,
	                        .target_count = target >= 0,
	                        .width = args->width,
	                        .height = args->height,
	                        .counts = join->temp.buffer,
	                        .counts_offset = join->temp.offset + r->plan.state + 4 * (uint64_t)draw_at,
	                        .uses = r->uses.use,
	                        .use_count = r->uses.count,
	                        .images = uses};
	for (uint32_t i = 0; i < 2; i++)
		if (wanted[i] >= 0)
			uses[draw.image_count++] = (struct rql_image_use){
				join->images[wanted[i]], kernel == &flat_kernel ? RQL_READ_WRITE : RQL_READ};
	if (kernel == &flat_kernel)
		draw.width = draw.height = 1u << join->log2_side;
	if (target >= 0) {
		state.targets[0].format = join->images[target]->spec.format;
		state.targets[0].blend = blend;
		draw.targets[0] = (struct rql_target){join->images[target], layer};
	}
	RQL_TRY(rql_draw_pipeline_get(r->device, kernel, &state, constants, 3, &draw.pipeline, r->err));
	rql_record_draw(r->c, &draw);
	return RQL_OK;
}

static void clear(const struct recorder *r, uint32_t image)
{
	static const uint32_t zeros[4];
	if (r->join->images[image])
		rql_record_clear(r->c, r->join->images[image], 0, r->join->images[image]->spec.layers, zeros);
}

_Static_assert(RQL_RASTER_JOIN_TABLE(RQL_RASTER_COMPARISONS) <= RQL_TABLE_WORDS, "the table is recorded as one");
_Static_assert(6 * RQL_RASTER_COMPARISONS + 9 <= RQL_USES_MOST, "a pass names all buffers");
_Static_assert(RQL_JOIN_EQ == 1 && RQL_JOIN_NE == 2 && RQL_JOIN_LT == 3 && RQL_JOIN_LE == 4 && RQL_JOIN_GE == 6,
               "raster.glsl has the same");

static void put_comparisons(struct recorder *r, struct rql_word_table *words)
{
	for (uint32_t i = 0; i < r->join->comparison_count; i++) {
		const struct rql_raster_comparison *c = &r->join->comparisons[i];
		uint64_t *slots = &words->words[RQL_RASTER_AT_COMPARISONS + i * RQL_RASTER_COMPARISON_SLOTS];
		slots[RQL_RASTER_COMPARISON_FLAGS] = (uint64_t)c->test | (c->bits == 64 ? RQL_RASTER_COMPARISON_64 : 0) |
		                                     (c->real ? RQL_RASTER_COMPARISON_REAL : 0) |
		                                     (c->text ? RQL_RASTER_COMPARISON_TEXT : 0);
		for (uint32_t side = 0; side < 2; side++) {
			const struct rql_raster_compared *of = side ? &c->probe : &c->build;
			slots[RQL_RASTER_COMPARISON_FIELDS + side] = rql_span_address(&of->fields);
			slots[RQL_RASTER_COMPARISON_STARTS + side] = rql_span_address(&of->starts);
			slots[RQL_RASTER_COMPARISON_BYTES + side] = rql_span_address(&of->bytes);
			rql_uses_add(&r->uses, &of->fields, RQL_READ);
			rql_uses_add(&r->uses, &of->starts, RQL_READ);
			rql_uses_add(&r->uses, &of->bytes, RQL_READ);
		}
	}
}

/* The table of addresses, the partitions of both sides, empty counts. */
static rql_status begin(struct recorder *r)
{
	const struct rql_raster_join *join = r->join;
	const struct rql_span *temp = &join->temp;
	struct rql_word_table words = {.count = RQL_RASTER_JOIN_TABLE(join->comparison_count)};
	const struct rql_span table = rql_span_at(temp, r->plan.table);
#define PUT(slot, at)                                                                                                  \
	do {                                                                                                               \
		const struct rql_span span = rql_span_at(temp, at);                                                            \
		words.words[slot] = rql_span_address(&span);                                                                   \
	} while (0)
	PUT(RQL_RASTER_AT_STATE, r->plan.state);
	PUT(RQL_RASTER_AT_COUNTS, r->plan.counts);
	PUT(RQL_RASTER_AT_PLACES, r->plan.places);
	PUT(RQL_RASTER_AT_NEXT, r->plan.next);
	PUT(RQL_RASTER_AT_MATCHED, r->plan.matched[0]);
	PUT(RQL_RASTER_AT_MATCHED + 1, r->plan.matched[1]);
	for (uint32_t side = 0; side < 2; side++) {
		const struct rql_raster_side *of = side_of(join, side);
		words.words[RQL_RASTER_AT_KEYS + side] = rql_span_address(&of->keys);
		words.words[RQL_RASTER_AT_FOUND + side] = rql_span_address(&of->found);
		words.words[RQL_RASTER_AT_COUNT + side] = of->count;
		rql_uses_add(&r->uses, &of->keys, RQL_READ);
		rql_uses_add(&r->uses, &of->found, RQL_READ);
		if (!join->partition_bits)
			continue;
		const struct rql_partition partition = partition_of(join, &r->plan, side);
		RQL_TRY(rql_record_partition(r->c, &partition, r->err));
		PUT(RQL_RASTER_AT_KEYS + side, r->plan.keys[side]);
		PUT(RQL_RASTER_AT_NUMBERS + side, r->plan.numbers[side]);
		PUT(RQL_RASTER_AT_STARTS + side, r->plan.starts[side]);
	}
#undef PUT
	put_comparisons(r, &words);
	words.words[RQL_RASTER_AT_POINTS] = rql_span_address(&join->points);
	words.words[RQL_RASTER_AT_BUILD_ROWS] = rql_span_address(&join->build_rows);
	words.words[RQL_RASTER_AT_PROBE_ROWS] = rql_span_address(&join->probe_rows);
	words.words[RQL_RASTER_AT_ROWS] = rql_span_address(&join->rows);
	rql_uses_add(&r->uses, temp, RQL_READ_WRITE);
	rql_uses_add(&r->uses, &join->points, RQL_READ_WRITE);
	rql_uses_add(&r->uses, &join->build_rows, RQL_WRITE);
	rql_uses_add(&r->uses, &join->probe_rows, RQL_WRITE);
	rql_uses_add(&r->uses, &join->rows, RQL_READ_WRITE);
	RQL_TRY(rql_record_words(r->c, &words, &table, r->err));
	rql_record_fill(r->c, join->points.buffer, join->points.offset, sizeof(struct rql_raster_points), 0);
	rql_record_fill(r->c, join->rows.buffer, join->rows.offset, join->single ? 16 : 8, 0);
	if (join->kind == RQL_JOIN_FULL && join->build.count)
		rql_record_fill(r->c, temp->buffer, temp->offset + r->plan.matched[0], join->build.count * 4, 0);
	/* Before all draws: the validation layer takes a shader to read every image that it could look up. */
	for (uint32_t i = 0; i < RQL_RASTER_JOIN_IMAGES; i++)
		clear(r, i);
	return RQL_OK;
}

/* How many rows of each side meet at a pixel, by adding (3.4.3). */
static rql_status count_heights(const struct recorder *r)
{
	struct rql_raster_args args = r->args;
	for (args.side = 0; args.side < (snakes(r->join) ? 2u : 1u); args.side++) {
		const uint32_t image = args.side ? RQL_RASTER_PROBE_COUNTS : RQL_RASTER_BUILD_COUNTS;
		clear(r, image);
		RQL_TRY(draw(r, &stat_kernel, &args, RQL_RASTER_DRAW_STATS + 4 * args.side, (int)image, 0, RQL_BLEND_ADD, -1, -1));
	}
	return dispatch(r, &heights_kernel, &args, 0, UINT64_C(1) << (2 * r->join->log2_side), RQL_RASTER_BUILD_COUNTS,
	                RQL_RASTER_PROBE_COUNTS);
}

/* Layer after layer: points, then the list of those that lost. */
static rql_status build_stack(const struct recorder *r, uint32_t cycle)
{
	const uint32_t layers = r->join->layers;
	struct rql_raster_args args = r->args;
	clear(r, RQL_RASTER_STACK);
	for (args.layer = 0; args.layer < layers; args.layer++) {
		const uint32_t pass = cycle * layers + args.layer;
		args.list = pass ? lists_at(r, pass - 1) : 0;
		args.list_out = lists_at(r, pass);
		RQL_TRY(draw(r, &build_kernel, &args, RQL_RASTER_DRAW_BUILD + 4 * args.layer, RQL_RASTER_STACK, args.layer,
		             RQL_BLEND_OVERWRITE, -1, -1));
		RQL_TRY(dispatch(r, &losers_kernel, &args, RQL_RASTER_GROUPS_BUILD, 0, RQL_RASTER_STACK, -1));
	}
	return RQL_OK;
}

/* The probe rows, in every layer in use: counted by blending, then put out as pairs (3.2, 3.3). */
static rql_status probe_stack(const struct recorder *r)
{
	RQL_TRY(draw(r, &count_kernel, &r->args, RQL_RASTER_DRAW_PROBE, RQL_RASTER_MATCHES, 0, RQL_BLEND_ADD,
	             RQL_RASTER_STACK, -1));
	if (!rql_join_gives_pairs(r->join->kind))
		return RQL_OK;
	RQL_TRY(dispatch(r, &places_kernel, &r->args, RQL_RASTER_GROUPS_PROBE, 0, RQL_RASTER_MATCHES, -1));
	return draw(r, &probe_kernel, &r->args, RQL_RASTER_DRAW_PROBE, -1, 0, RQL_BLEND_OVERWRITE, RQL_RASTER_STACK, -1);
}

/* What is left, in one dense image (3.4.4): counted by pixel, placed, and met by the probe rows as by the stack. */
static rql_status flatten(const struct recorder *r)
{
	const uint32_t passes = r->join->cycles * r->join->layers;
	struct rql_raster_args args = r->args;
	args.list = passes ? lists_at(r, passes - 1) : 0;
	args.side = RQL_RASTER_BUILDING;
	clear(r, RQL_RASTER_BUILD_COUNTS);
	RQL_TRY(draw(r, &stat_kernel, &args, RQL_RASTER_DRAW_FLAT, RQL_RASTER_BUILD_COUNTS, 0, RQL_BLEND_ADD, -1, -1));
	RQL_TRY(dispatch(r, &starts_kernel, &args, RQL_RASTER_GROUPS_PIXELS, 0, RQL_RASTER_BUILD_COUNTS, -1));
	RQL_TRY(draw(r, &flat_kernel, &args, RQL_RASTER_DRAW_FLAT, -1, 0, RQL_BLEND_OVERWRITE, RQL_RASTER_DENSE, -1));
	RQL_TRY(draw(r, &walk_count_kernel, &args, RQL_RASTER_DRAW_WALK, RQL_RASTER_MATCHES, 0, RQL_BLEND_ADD,
	             RQL_RASTER_DENSE, RQL_RASTER_BUILD_COUNTS));
	if (!rql_join_gives_pairs(r->join->kind))
		return RQL_OK;
	RQL_TRY(dispatch(r, &places_kernel, &args, RQL_RASTER_GROUPS_WALK, 0, RQL_RASTER_MATCHES, -1));
	return draw(r, &walk_pairs_kernel, &args, RQL_RASTER_DRAW_WALK, -1, 0, RQL_BLEND_OVERWRITE, RQL_RASTER_DENSE,
	            RQL_RASTER_BUILD_COUNTS);
}

static rql_status join_partition(const struct recorder *r, uint32_t partition)
{
	RQL_TRY(decide(r, RQL_RASTER_PLAN_PARTITION, partition, 0));
	if (counts_heights(r->join))
		RQL_TRY(count_heights(r));
	RQL_TRY(decide(r, RQL_RASTER_PLAN_BUILD, partition, 0));
	for (uint32_t cycle = 0; cycle < r->join->cycles; cycle++) {
		RQL_TRY(build_stack(r, cycle));
		RQL_TRY(decide(r, RQL_RASTER_PLAN_PROBE, partition, cycle));
		RQL_TRY(probe_stack(r));
	}
	RQL_TRY(decide(r, RQL_RASTER_PLAN_FLAT, partition, 0));
	return flatten(r);
}

/* Probe rows that have a match, or none; of a full join build rows that have none, too. */
static rql_status put_unpaired(const struct recorder *r)
{
	const struct rql_raster_join *join = r->join;
	struct rql_raster_args args = r->args;
	args.number = 1u << join->partition_bits;
	args.what = RQL_RASTER_FLAG_ROWS;
	rql_record_fill(r->c, join->temp.buffer, join->temp.offset + r->plan.matched[1], join->probe.count * 4, 0);
	RQL_TRY(dispatch(r, &matched_kernel, &args, 0, join->probe.count, RQL_RASTER_MATCHES, -1));
	args.what = RQL_RASTER_PUT_ROWS;
	args.side = 1;
	RQL_TRY(dispatch(r, &matched_kernel, &args, 0, join->probe.count, RQL_RASTER_MATCHES, -1));
	args.side = 0;
	return join->kind == RQL_JOIN_FULL
	           ? dispatch(r, &matched_kernel, &args, 0, join->build.count, RQL_RASTER_MATCHES, -1) : RQL_OK;
}

static struct rql_raster_args args_of(const struct rql_raster_join *join, const struct plan *plan)
{
	const struct rql_span table = rql_span_at(&join->temp, plan->table);
	const struct rql_image *const *images = (const struct rql_image *const *)join->images;
	return (struct rql_raster_args){
		.table = rql_span_address(&table),
		.null_key = join->null_key,
		.capacity = join->capacity,
		.stack_image = images[RQL_RASTER_STACK] ? images[RQL_RASTER_STACK]->number : 0,
		.count_image = images[RQL_RASTER_MATCHES]->number,
		.dense_image = images[RQL_RASTER_DENSE]->number,
		.stat_images = {images[RQL_RASTER_BUILD_COUNTS]->number,
	                    images[RQL_RASTER_PROBE_COUNTS] ? images[RQL_RASTER_PROBE_COUNTS]->number : 0},
		.log2_side = join->log2_side,
		.layers = join->layers,
		.cycles = join->cycles,
		.width = images[RQL_RASTER_MATCHES]->spec.width,
		.height = images[RQL_RASTER_MATCHES]->spec.height,
		.offset = (uint32_t)join->probe.count,
		.dense_width = images[RQL_RASTER_DENSE]->spec.width,
		.dense_rows = (uint32_t)most_built(join),
		.flags = (join->has_null_key ? RQL_RASTER_HAS_NULL : 0) | (rql_join_gives_pairs(join->kind) ? RQL_RASTER_PAIRS : RQL_RASTER_DROPS_EQUAL) |
	             (snakes(join) ? RQL_RASTER_SNAKE : 0) | (counts_heights(join) ? RQL_RASTER_STATISTICS : 0) |
	             (join->kind == RQL_JOIN_SEMI ? RQL_RASTER_WANTS_MATCHED : 0) |
	             join->comparison_count << RQL_RASTER_COMPARED_SHIFT | (join->kind == RQL_JOIN_FULL ? RQL_RASTER_FULL : 0) | (join->single ? RQL_RASTER_SINGLE : 0)};
}

rql_status rql_record_raster_join(struct rql_commands *c, const struct rql_raster_join *join, struct rql_error *err)
{
	RQL_TRY(check(join, err));
	struct recorder r = {.c = c, .join = join, .plan = plan_of(join), .device = join->temp.buffer->device, .err = err};
	r.args = args_of(join, &r.plan);
	RQL_TRY(begin(&r));
	for (uint32_t p = 0; p < 1u << join->partition_bits; p++)
		RQL_TRY(join_partition(&r, p));
	return join->kind == RQL_JOIN_INNER ? RQL_OK : put_unpaired(&r);
}
