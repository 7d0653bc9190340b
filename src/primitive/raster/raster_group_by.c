/* Records the passes of a group-by by hash images: rounds of drawing and assigning, then totals (README.md). */
#include "primitive/primitive_internal.h"
#include "primitive/raster/group_by.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation_internal.h"
#include "shaders/primitive/group_assign.comp.h"
#include "shaders/primitive/group_atomics.frag.h"
#include "shaders/primitive/group_extremes.frag.h"
#include "shaders/primitive/group_fold_extremes.comp.h"
#include "shaders/primitive/group_fold_sums.comp.h"
#include "shaders/primitive/group_hash.vert.h"
#include "shaders/primitive/group_hash_one.frag.h"
#include "shaders/primitive/group_hash_two.frag.h"
#include "shaders/primitive/group_sum_counts.frag.h"
#include "shaders/primitive/group_sum_limbs.frag.h"
#include "shaders/primitive/group_total.vert.h"

#define TOTAL_WIDTH 4096u
#define SHADER(name, stage) {rql_spv_##name##_##stage, sizeof(rql_spv_##name##_##stage)}
#define DRAW(what, v, f) {"primitive." what, SHADER(v, vert), SHADER(f, frag), sizeof(struct rql_raster_group_args)}
#define KERNEL(name)                                                                                                   \
	{"primitive." #name, rql_spv_##name##_comp, sizeof(rql_spv_##name##_comp), sizeof(struct rql_raster_group_args)}

static const struct rql_draw_kernel hash_one = DRAW("group_hash_one", group_hash, group_hash_one),
									hash_two = DRAW("group_hash_two", group_hash, group_hash_two),
									atomics_kernel = DRAW("group_atomics", group_total, group_atomics),
									counts_kernel = DRAW("group_counts", group_total, group_sum_counts),
									limbs_kernel = DRAW("group_limbs", group_total, group_sum_limbs),
									extremes_kernel = DRAW("group_extremes", group_total, group_extremes);
static const struct rql_kernel assign_kernel = KERNEL(group_assign), fold_sums_kernel = KERNEL(group_fold_sums),
							   fold_extremes_kernel = KERNEL(group_fold_extremes);

/* Images by what they are for. */
enum { HASH, MORE, SUMS, LAST, HIGH, LOW };

/* Offsets in temp. */
struct plan {
	uint64_t table, map, numbers, list, bytes;
};

static struct plan plan_of(const struct rql_raster_group_by *by)
{
	struct plan plan;
	uint64_t at = 0;
	plan.table = rql_temp_take(&at, RQL_RASTER_TABLE * 8);
	plan.map = rql_temp_take(&at, by->count * 4);
	plan.numbers = rql_temp_take(&at, by->count * 4);
	plan.list = rql_temp_take(&at, by->count * 4);
	plan.bytes = at;
	return plan;
}

uint64_t rql_raster_group_by_temp_bytes(const struct rql_raster_group_by *by)
{
	return plan_of(by).bytes;
}

static uint32_t total_height(const struct rql_raster_group_by *by)
{
	uint64_t rows = rql_div_up(by->capacity, TOTAL_WIDTH);
	return rows ? (uint32_t)rows : 1;
}

void rql_raster_group_by_images(const struct rql_raster_group_by *by,
                                struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES])
{
	static const enum rql_format formats[] = {[HASH] = RQL_FORMAT_RGBA32_UINT,  [MORE] = RQL_FORMAT_RGBA32_UINT,
	                                          [SUMS] = RQL_FORMAT_RGBA32_FLOAT, [LAST] = RQL_FORMAT_R32_FLOAT,
	                                          [HIGH] = RQL_FORMAT_RG32_FLOAT,   [LOW] = RQL_FORMAT_RG32_FLOAT};
	const bool blends = by->totals == RQL_RASTER_BLENDING, sum = by->wanted & RQL_RASTER_SUM,
			   extremes = by->wanted & RQL_RASTER_EXTREMES;
	const bool wanted[] = {[HASH] = true,          [MORE] = by->key_words > 3,   [SUMS] = blends,
	                       [LAST] = blends && sum, [HIGH] = blends && extremes, [LOW] = blends && extremes};
	for (uint32_t i = 0; i < RQL_RASTER_GROUP_IMAGES; i++) {
		specs[i] = (struct rql_image_spec){.format = formats[i], .layers = 1};
		if (!wanted[i])
			continue;
		specs[i].width = i <= MORE ? 1u << by->log2_side : TOTAL_WIDTH;
		specs[i].height = i <= MORE ? 1u << by->log2_side : total_height(by);
		specs[i].roles = RQL_IMAGE_TARGET | RQL_IMAGE_FETCH | (i <= MORE ? 0 : RQL_IMAGE_BLEND);
	}
	if (by->key_words == 1)
		specs[HASH].format = RQL_FORMAT_RG32_UINT;
	if (!sum)
		specs[SUMS].format = RQL_FORMAT_R32_FLOAT;
}

/* ---- checks ---- */

static rql_status check_shape(const struct rql_raster_group_by *by, struct rql_error *err)
{
	const bool values = by->wanted != 0, blends = by->totals == RQL_RASTER_BLENDING;
	if (!by->key_words || by->key_words > RQL_RASTER_KEY_WORDS || !by->hashed || by->hashed > by->key_words ||
	    by->log2_side > 14 || !by->rounds || by->rounds > RQL_RASTER_ROUNDS || by->wanted > 3 ||
	    (unsigned)by->totals > RQL_RASTER_BLENDING || by->count > RQL_RASTER_ROWS || by->capacity > RQL_RASTER_GROUPS ||
	    (values && by->value_bits != 32 && (blends || by->value_bits != 64)))
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a group-by by hash images cannot be asked for: %llu rows, keys of %u words (%u hashed), "
		                     "values of %u bits, %llu groups, %u rounds, a side of 2^%u",
		                     (unsigned long long)by->count, by->key_words, by->hashed, by->value_bits,
		                     (unsigned long long)by->capacity, by->rounds, by->log2_side);
	return RQL_OK;
}

static rql_status check_images(const struct rql_raster_group_by *by, struct rql_error *err)
{
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	rql_raster_group_by_images(by, specs);
	for (uint32_t i = 0; i < RQL_RASTER_GROUP_IMAGES; i++)
		if (specs[i].width && !rql_raster_image_fits(by->images[i], &specs[i]))
			return rql_error_set(err, RQL_ERROR_INTERNAL,
			                     "a group-by's images are not those of rql_raster_group_by_images");
	return RQL_OK;
}

static rql_status check(const struct rql_raster_group_by *by, struct rql_error *err)
{
	RQL_TRY(check_shape(by, err));
	RQL_TRY(check_images(by, err));
	for (uint32_t w = 0; w < by->key_words; w++)
		RQL_TRY(rql_span_check(&by->keys[w], by->count, 4, "keys of a group-by", err));
	RQL_TRY(rql_span_check(&by->heads, by->capacity, 4, "rows of groups", err));
	RQL_TRY(rql_span_check(&by->counts, by->capacity, 8, "counts of groups", err));
	if (by->wanted)
		RQL_TRY(rql_span_check(&by->values, by->count, by->value_bits / 8, "values of a group-by", err));
	if (by->wanted & RQL_RASTER_SUM)
		RQL_TRY(rql_span_check(&by->sums, 2 * by->capacity, 8, "sums of groups", err));
	if (by->wanted & RQL_RASTER_EXTREMES) {
		RQL_TRY(rql_span_check(&by->least, by->capacity, 8, "least values of groups", err));
		RQL_TRY(rql_span_check(&by->greatest, by->capacity, 8, "greatest values of groups", err));
	}
	if (by->totals == RQL_RASTER_BLENDING)
		RQL_TRY(rql_span_check(&by->inexact, 1, 8, "number of inexact groups", err));
	RQL_TRY(rql_span_check(&by->groups, 1, 8, "number of groups", err));
	RQL_TRY(rql_span_check(&by->rest, by->count, 4, "rest of a group-by", err));
	RQL_TRY(rql_span_check(&by->drawn, 4 * (UINT64_C(1) + by->rounds), 4, "points of a group-by", err));
	return rql_span_check(&by->temp, rql_div_up(plan_of(by).bytes, 8), 8, "temporary words of a group-by", err);
}

/* ---- recording ---- */

struct recorder {
	struct rql_commands *c;
	const struct rql_raster_group_by *by;
	struct plan plan;
	struct rql_raster_group_args args; /* what all passes have */
	struct rql_device *device;
	struct rql_uses uses; /* every buffer of the group-by */
};

static rql_status dispatch(const struct recorder *r, const struct rql_kernel *kernel,
                           const struct rql_raster_group_args *args, uint64_t items, uint32_t first, uint32_t images,
                           struct rql_error *err)
{
	const uint32_t threads = RQL_RASTER_THREADS;
	const struct rql_pipeline *pipeline;
	struct rql_image_use uses[2];
	uint32_t count = 0;
	for (uint32_t i = first; i < first + images; i++)
		if (r->by->images[i])
			uses[count++] = (struct rql_image_use){r->by->images[i], RQL_READ};
	RQL_TRY(rql_image_pipeline_get(r->device, kernel, &threads, 1, &pipeline, err));
	rql_record_dispatch_images(r->c, kernel->name, pipeline, args, rql_div_up(items, threads), r->uses.use,
	                           r->uses.count, uses, count);
	return RQL_OK;
}

static rql_status begin(struct recorder *r, struct rql_error *err)
{
	static const uint32_t zeros[4];
	const struct rql_raster_group_by *by = r->by;
	const struct rql_span map = rql_span_at(&by->temp, r->plan.map), numbers = rql_span_at(&by->temp, r->plan.numbers),
						  table = rql_span_at(&by->temp, r->plan.table);
	const struct rql_span *const slots[RQL_RASTER_TABLE] = {
		[RQL_RASTER_AT_VALUES] = &by->values, [RQL_RASTER_AT_MAP] = &map,           [RQL_RASTER_AT_NUMBERS] = &numbers,
		[RQL_RASTER_AT_HEADS] = &by->heads,   [RQL_RASTER_AT_COUNTS] = &by->counts, [RQL_RASTER_AT_SUMS] = &by->sums,
		[RQL_RASTER_AT_LEAST] = &by->least,   [RQL_RASTER_AT_GREATEST] = &by->greatest,
		[RQL_RASTER_AT_GROUPS] = &by->groups, [RQL_RASTER_AT_INEXACT] = &by->inexact, [RQL_RASTER_AT_DRAWN] = &by->drawn};
	struct rql_word_table words = {.count = RQL_RASTER_TABLE}, draws = {.count = 2 * (by->rounds + 1)};
	for (uint32_t w = 0; w < by->key_words; w++) {
		words.words[RQL_RASTER_AT_KEYS + w] = rql_span_address(&by->keys[w]);
		rql_uses_add(&r->uses, &by->keys[w], RQL_READ);
	}
	for (uint32_t s = 0; s < RQL_RASTER_TABLE; s++)
		if (slots[s] && slots[s]->buffer) {
			words.words[s] = rql_span_address(slots[s]);
			rql_uses_add(&r->uses, slots[s], s == RQL_RASTER_AT_VALUES ? RQL_READ : RQL_READ_WRITE);
		}
	rql_uses_add(&r->uses, &by->rest, RQL_READ_WRITE);
	for (uint32_t i = 0; i <= by->rounds; i++)
		draws.words[2 * i] = (i ? 0 : by->count) | UINT64_C(1) << 32;
	RQL_TRY(rql_record_words(r->c, &words, &table, err));
	RQL_TRY(rql_record_words(r->c, &draws, &by->drawn, err));
	rql_record_fill(r->c, by->groups.buffer, by->groups.offset, 8, 0);
	if (by->inexact.buffer)
		rql_record_fill(r->c, by->inexact.buffer, by->inexact.offset, 8, 0);
	/* Before all draws: the validation layer takes a shader to read every image that it could look up. */
	for (uint32_t i = SUMS; i <= LOW; i++)
		if (by->images[i])
			rql_record_clear(r->c, by->images[i], 0, 1, zeros);
	return RQL_OK;
}

/* Rows that are left are drawn, and find the row that stands for their group. The image needs no clearing: whoever
 * looks at a pixel has drawn it in the same round. */
static rql_status assign(const struct recorder *r, struct rql_error *err)
{
	const struct rql_raster_group_by *by = r->by;
	const uint32_t attachments = by->key_words > 3 ? 2 : 1;
	const struct rql_span lists[2] = {by->rest, rql_span_at(&by->temp, r->plan.list)};
	struct rql_draw_state state = {.target_count = attachments};
	struct rql_raster_group_args args = r->args;
	struct rql_draw draw = {.pass = "primitive.group_hash",
	                        .args = &args,
	                        .target_count = attachments,
	                        .counts = by->drawn.buffer,
	                        .uses = r->uses.use,
	                        .use_count = r->uses.count};
	for (uint32_t i = 0; i < attachments; i++) {
		state.targets[i].format = by->images[HASH + i]->spec.format;
		draw.targets[i].image = by->images[HASH + i];
	}
	RQL_TRY(rql_draw_pipeline_get(r->device, attachments > 1 ? &hash_two : &hash_one, &state, NULL, 0, &draw.pipeline,
	                              err));
	for (args.round = 0; args.round < by->rounds; args.round++) {
		/* The last round's list is the rest. */
		args.list_out = rql_span_address(&lists[(by->rounds - 1 - args.round) % 2]);
		draw.counts_offset = by->drawn.offset + 16 * (uint64_t)args.round;
		rql_record_draw(r->c, &draw);
		RQL_TRY(dispatch(r, &assign_kernel, &args, by->count, HASH, 2, err));
		args.list = args.list_out;
	}
	return RQL_OK;
}

/* Rows [first, first + rows) at their groups' pixels. images: that the fragment shader reads. */
static rql_status draw_totals(const struct recorder *r, const struct rql_draw_kernel *kernel,
                              const struct rql_draw_state *state, struct rql_image *const *targets,
                              struct rql_raster_group_args *args, struct rql_image *image, struct rql_error *err)
{
	const struct rql_image_use use = {image, RQL_READ};
	struct rql_draw draw = {.pass = kernel->name,
	                        .args = args,
	                        .target_count = state->target_count,
	                        .width = args->width,
	                        .height = args->height,
	                        .vertices = args->rows,
	                        .instances = 1,
	                        .uses = r->uses.use,
	                        .use_count = r->uses.count,
	                        .images = &use,
	                        .image_count = image ? 1 : 0};
	for (uint32_t i = 0; i < state->target_count; i++)
		draw.targets[i].image = targets[i];
	RQL_TRY(rql_draw_pipeline_get(r->device, kernel, state, NULL, 0, &draw.pipeline, err));
	rql_record_draw(r->c, &draw);
	return RQL_OK;
}

/* Counts and sums by blending, pass by pass. */
static rql_status blend_sums(const struct recorder *r, struct rql_error *err)
{
	static const uint32_t zeros[4];
	const struct rql_raster_group_by *by = r->by;
	const bool sum = by->wanted & RQL_RASTER_SUM;
	const uint64_t most = by->few_a_group || !by->count ? by->count : RQL_RASTER_EXACT_ROWS;
	struct rql_raster_group_args args = r->args;
	struct rql_draw_state state = {.target_count = sum ? 2 : 1};
	for (uint32_t i = 0; i < state.target_count; i++) {
		state.targets[i].format = by->images[SUMS + i]->spec.format;
		state.targets[i].blend = RQL_BLEND_ADD;
	}
	for (uint64_t first = 0; first < by->count; first += most) {
		args.first_row = (uint32_t)first;
		args.rows = (uint32_t)(by->count - first < most ? by->count - first : most);
		for (uint32_t i = 0; first && i < state.target_count; i++)
			rql_record_clear(r->c, by->images[SUMS + i], 0, 1, zeros);
		RQL_TRY(draw_totals(r, sum ? &limbs_kernel : &counts_kernel, &state, by->images + SUMS, &args, NULL, err));
		RQL_TRY(dispatch(r, &fold_sums_kernel, &args, by->capacity, SUMS, sum ? 2 : 1, err));
	}
	return RQL_OK;
}

/* The high halves of the values, then the low ones of those that have an extreme high half. */
static rql_status blend_extremes(const struct recorder *r, struct rql_error *err)
{
	const struct rql_raster_group_by *by = r->by;
	struct rql_raster_group_args args = r->args;
	struct rql_draw_state state = {.target_count = 1};
	state.targets[0].format = RQL_FORMAT_RG32_FLOAT;
	state.targets[0].blend = RQL_BLEND_MAX;
	for (args.part = RQL_RASTER_HIGH; args.part <= RQL_RASTER_LOW; args.part++) {
		struct rql_image *const *target = &by->images[args.part == RQL_RASTER_HIGH ? HIGH : LOW];
		RQL_TRY(draw_totals(r, &extremes_kernel, &state, target, &args,
		                    args.part == RQL_RASTER_LOW ? by->images[HIGH] : NULL, err));
	}
	return dispatch(r, &fold_extremes_kernel, &args, by->capacity, HIGH, 2, err);
}

rql_status rql_record_raster_group_by(struct rql_commands *c, const struct rql_raster_group_by *by,
                                      struct rql_error *err)
{
	RQL_TRY(check(by, err));
	static const struct rql_draw_state nothing;
	struct recorder r = {.c = c, .by = by, .plan = plan_of(by), .device = by->images[HASH]->device};
	const struct rql_span table = rql_span_at(&by->temp, r.plan.table);
	r.args = (struct rql_raster_group_args){
		.table = rql_span_address(&table),
		.capacity = by->capacity,
		.key_words = by->key_words,
		.hashed = by->hashed,
		.log2_side = by->log2_side,
		.rows = (uint32_t)by->count,
		.width = TOTAL_WIDTH,
		.height = total_height(by),
		.wanted = by->wanted,
		.value_bits = by->value_bits,
		.exact_rows = RQL_RASTER_EXACT_ROWS,
	};
	for (uint32_t i = 0; i < RQL_RASTER_GROUP_IMAGES; i++)
		r.args.images[i] = by->images[i] ? by->images[i]->number : 0;
	RQL_TRY(begin(&r, err));
	RQL_TRY(assign(&r, err));
	if (by->totals == RQL_RASTER_ATOMICS)
		return draw_totals(&r, &atomics_kernel, &nothing, NULL, &r.args, NULL, err);
	RQL_TRY(blend_sums(&r, err));
	return by->wanted & RQL_RASTER_EXTREMES ? blend_extremes(&r, err) : RQL_OK;
}
