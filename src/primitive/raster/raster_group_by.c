/* Records the passes of a group-by by hash images: partitions, of each rounds of drawing and assigning, then totals
 * (README.md). */
#include "primitive/primitive_internal.h"
#include "primitive/raster/group_by.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation/relation_internal.h"
#include "shaders/primitive/group_assign.comp.h"
#include "shaders/primitive/group_atomics_plain.frag.h"
#include "shaders/primitive/group_atomics_reals.frag.h"
#include "shaders/primitive/group_extremes.frag.h"
#include "shaders/primitive/group_finish.comp.h"
#include "shaders/primitive/group_fold_extremes.comp.h"
#include "shaders/primitive/group_fold_sums.comp.h"
#include "shaders/primitive/group_hash.vert.h"
#include "shaders/primitive/group_hash_one.frag.h"
#include "shaders/primitive/group_hash_two.frag.h"
#include "shaders/primitive/group_plan.comp.h"
#include "shaders/primitive/group_sum_counts.frag.h"
#include "shaders/primitive/group_sum_limbs_4.frag.h"
#include "shaders/primitive/group_sum_limbs_8.frag.h"
#include "shaders/primitive/group_total.vert.h"

#define TOTAL_WIDTH 4096u
#define LOG2_SIDE_MOST 12u /* by default */
#define ROUNDS 16u
#define SHADER(name, stage) {rql_spv_##name##_##stage, sizeof(rql_spv_##name##_##stage)}
#define DRAW(what, v, f) {"primitive." what, SHADER(v, vert), SHADER(f, frag), sizeof(struct rql_raster_group_args)}
#define KERNEL(name)                                                                                                   \
	{"primitive." #name, rql_spv_##name##_comp, sizeof(rql_spv_##name##_comp), sizeof(struct rql_raster_group_args)}

static const struct rql_draw_kernel hash_one = DRAW("group_hash_one", group_hash, group_hash_one),
									hash_two = DRAW("group_hash_two", group_hash, group_hash_two),
									atomics_kernel = DRAW("group_atomics", group_total, group_atomics_plain),
									reals_kernel = DRAW("group_real_atomics", group_total, group_atomics_reals),
									counts_kernel = DRAW("group_counts", group_total, group_sum_counts),
									limbs_4_kernel = DRAW("group_limbs", group_total, group_sum_limbs_4),
									limbs_8_kernel = DRAW("group_long_limbs", group_total, group_sum_limbs_8),
									extremes_kernel = DRAW("group_extremes", group_total, group_extremes);
static const struct rql_kernel plan_kernel = KERNEL(group_plan), assign_kernel = KERNEL(group_assign),
							   finish_kernel = KERNEL(group_finish), fold_sums_kernel = KERNEL(group_fold_sums),
							   fold_extremes_kernel = KERNEL(group_fold_extremes);

/* Images by what they are for; of extremes as many as values have parts of 16 bits. */
enum { HASH, MORE, SUMS, MIDDLE, LAST, EXTREMES };

/* ---- sizes ---- */

void rql_raster_group_by_size(struct rql_raster_group_by *by, uint64_t groups)
{
	by->rounds = ROUNDS;
	by->partition_bits = 0;
	by->log2_side = (rql_log2_up(groups) + 3) / 2;
	while (by->log2_side > LOG2_SIDE_MOST && by->partition_bits < RQL_PARTITION_PASS_BITS &&
	       groups >> by->partition_bits > UINT64_C(1) << (2 * LOG2_SIDE_MOST - 2))
		by->partition_bits++;
	by->log2_side = by->log2_side < LOG2_SIDE_MOST ? by->log2_side : LOG2_SIDE_MOST;
}

static bool wants_sum(const struct rql_group_by_column *column)
{
	return column->sum.buffer;
}
static bool wants_extremes(const struct rql_group_by_column *column)
{
	return column->min.buffer || column->max.buffer;
}
static bool is_field(const struct rql_group_by_column *column)
{
	return column->kind != RQL_GROUP_BY_INTEGERS;
}

static bool sums_reals(const struct rql_raster_group_by *by)
{
	bool some = false;
	for (uint32_t c = 0; c < by->column_count; c++)
		some |= by->columns[c].kind == RQL_GROUP_BY_REAL_FIELDS && wants_sum(&by->columns[c]);
	return some;
}

static uint32_t total_height(const struct rql_raster_group_by *by)
{
	uint64_t rows = rql_div_up(by->capacity, TOTAL_WIDTH);
	return rows ? (uint32_t)rows : 1;
}

void rql_raster_group_by_images(const struct rql_raster_group_by *by,
                                struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES])
{
	static const enum rql_format formats[RQL_RASTER_GROUP_IMAGES] = {
		RQL_FORMAT_RGBA32_UINT, RQL_FORMAT_RGBA32_UINT, RQL_FORMAT_RGBA32_FLOAT, RQL_FORMAT_RGBA32_FLOAT, RQL_FORMAT_R32_FLOAT,
		RQL_FORMAT_RG32_FLOAT,  RQL_FORMAT_RG32_FLOAT,  RQL_FORMAT_RG32_FLOAT,   RQL_FORMAT_RG32_FLOAT};
	const bool blends = by->totals == RQL_RASTER_BLENDING;
	bool sums = false, long_sums = false, extremes = false, long_extremes = false;
	for (uint32_t c = 0; c < by->column_count && blends; c++) {
		const struct rql_group_by_column *column = &by->columns[c];
		sums |= wants_sum(column);
		long_sums |= wants_sum(column) && column->bits == 64;
		extremes |= wants_extremes(column);
		long_extremes |= wants_extremes(column) && column->bits == 64;
	}
	const bool wanted[RQL_RASTER_GROUP_IMAGES] = {true,     by->key_words > 3, blends,        long_sums,    sums,
	                                              extremes, extremes,          long_extremes, long_extremes};
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
}

const char *rql_raster_group_by_refusal(const struct rql_raster_group_by *by, const struct rql_device *device)
{
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	rql_raster_group_by_images(by, specs);
	if (by->count > RQL_RASTER_ROWS)
		return "there may be 2^31 rows or more";
	if (by->totals == RQL_RASTER_BLENDING && sums_reals(by))
		return "a sum of reals has no limbs: blending rounds at each row, to 24 bits";
	if (by->capacity > RQL_RASTER_GROUPS)
		return "there may be more than 2^26 groups";
	for (uint32_t i = 0; i < RQL_RASTER_GROUP_IMAGES; i++) {
		if (specs[i].width > device->limits.image_side || specs[i].height > device->limits.image_side)
			return "there are more groups than an image of the device has pixels";
		if (specs[i].width && (specs[i].roles & ~rql_format_roles(device, specs[i].format)))
			return "the device cannot draw or blend the formats of images of groups";
	}
	/* A point of totals without a target is drawn into an area of the groups' pixels. */
	return total_height(by) > device->limits.image_side ? "there are more groups than an image has pixels" : NULL;
}

/* ---- temporary memory ---- */

/* Offsets in temp. */
struct plan {
	uint64_t state, table, map, numbers, list, keys, order, starts, nested, bytes;
};

static uint32_t stride_of(const struct rql_raster_group_by *by, uint32_t word)
{
	return 1 + (by->pair_words >> word & 1);
}

static uint32_t first_key_words(const struct rql_raster_group_by *by)
{
	return stride_of(by, 0);
}

static struct rql_partition partition_of(const struct rql_raster_group_by *by, const struct plan *plan)
{
	struct rql_partition partition = {.key_bits = first_key_words(by) * 32,
	                                  .bits = by->partition_bits,
	                                  .count = by->count,
	                                  .found = by->found,
	                                  .keys = by->keys[0],
	                                  .keys_out = rql_span_at(&by->temp, plan->keys),
	                                  .column_count = 1,
	                                  .starts = rql_span_at(&by->temp, plan->starts),
	                                  .temp = rql_span_at(&by->temp, plan->nested)};
	partition.columns[0] = (struct rql_relation_column){.bits = 32, .out = rql_span_at(&by->temp, plan->order)};
	return partition;
}

static struct plan plan_of(const struct rql_raster_group_by *by)
{
	struct plan plan = {.state = 0};
	uint64_t at = 0;
	plan.state = rql_temp_take(&at, 4 * RQL_RASTER_GROUP_STATE(by->rounds));
	plan.table = rql_temp_take(&at, RQL_RASTER_GROUP_TABLE(by->column_count) * 8);
	plan.map = rql_temp_take(&at, by->count * 4);
	plan.numbers = rql_temp_take(&at, by->count * 4);
	plan.list = rql_temp_take(&at, 2 * by->count * 4);
	if (by->partition_bits) {
		plan.keys = rql_temp_take(&at, by->count * 4 * first_key_words(by));
		plan.order = rql_temp_take(&at, by->count * 4);
		plan.starts = rql_temp_take(&at, 4 * ((UINT64_C(1) << by->partition_bits) + 1));
	}
	plan.nested = at;
	if (by->partition_bits) {
		const struct rql_partition partition = partition_of(by, &plan);
		at += rql_partition_temp_bytes(&partition);
	}
	plan.bytes = at;
	return plan;
}

uint64_t rql_raster_group_by_temp_bytes(const struct rql_raster_group_by *by)
{
	return plan_of(by).bytes;
}

/* ---- checks ---- */

/* Beside these there is room for the buffers of keys and of what is no column's. */
_Static_assert(RQL_RASTER_COLUMN_BUFFERS + RQL_RASTER_KEY_WORDS + 9 <= RQL_USES_MOST, "a pass names all buffers");

static bool in_few_buffers(const struct rql_raster_group_by *by)
{
	struct rql_uses uses = {.count = 0};
	for (uint32_t c = 0; c < by->column_count; c++) {
		const struct rql_group_by_column *column = &by->columns[c];
		const struct rql_span *spans[] = {&column->values, &column->sum, &column->min, &column->max};
		for (uint32_t i = 0; i < 4 && uses.count <= RQL_RASTER_COLUMN_BUFFERS; i++)
			rql_uses_add(&uses, spans[i], RQL_READ);
	}
	return uses.count <= RQL_RASTER_COLUMN_BUFFERS;
}

static rql_status check_shape(const struct rql_raster_group_by *by, struct rql_error *err)
{
	bool values = by->column_count <= RQL_GROUP_BY_COLUMNS && in_few_buffers(by);
	for (uint32_t c = 0; c < by->column_count && values; c++) {
		const struct rql_group_by_column *column = &by->columns[c];
		const bool real = column->kind == RQL_GROUP_BY_REAL_FIELDS;
		values = (column->bits == 64 || (column->bits == 32 && !real)) &&
		         (!real || !wants_sum(column) || (!wants_extremes(column) && by->totals == RQL_RASTER_ATOMICS)) &&
		         (column->kind != RQL_GROUP_BY_INTEGERS || column->is_signed) &&
		         (column->kind != RQL_GROUP_BY_PRESENT || !wants_extremes(column));
	}
	if (!values || !by->key_words || by->key_words > RQL_RASTER_KEY_WORDS || !by->hashed || by->hashed > by->key_words ||
	    by->log2_side > 14 || !by->rounds || by->rounds > RQL_RASTER_ROUNDS ||
	    (unsigned)by->totals > RQL_RASTER_BLENDING || by->count > RQL_RASTER_ROWS || by->capacity > RQL_RASTER_GROUPS ||
	    by->partition_bits > RQL_PARTITION_PASS_BITS)
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a group-by by hash images cannot be asked for: %llu rows, keys of %u words (%u hashed), "
		                     "%u columns, %llu groups, %u rounds, a side of 2^%u",
		                     (unsigned long long)by->count, by->key_words, by->hashed, by->column_count,
		                     (unsigned long long)by->capacity, by->rounds, by->log2_side);
	return RQL_OK;
}

static rql_status check_images(const struct rql_raster_group_by *by, struct rql_error *err)
{
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	rql_raster_group_by_images(by, specs);
	if (!rql_raster_images_fit(by->images, specs, RQL_RASTER_GROUP_IMAGES))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a group-by's images are not those of rql_raster_group_by_images");
	return RQL_OK;
}

static rql_status check_column(const struct rql_raster_group_by *by, const struct rql_group_by_column *column,
                               struct rql_error *err)
{
	RQL_TRY(rql_span_check(&column->values, by->count, column->bits / 8, "values of a group-by", err));
	if (wants_sum(column))
		RQL_TRY(rql_span_check(&column->sum, by->capacity * (column->wide_sum ? 2 : 1), 8, "sums of groups", err));
	if (column->min.buffer)
		RQL_TRY(rql_span_check(&column->min, by->capacity, 8, "least values of groups", err));
	return column->max.buffer ? rql_span_check(&column->max, by->capacity, 8, "greatest values of groups", err) : RQL_OK;
}

static rql_status check(const struct rql_raster_group_by *by, struct rql_error *err)
{
	RQL_TRY(check_shape(by, err));
	RQL_TRY(check_images(by, err));
	for (uint32_t w = 0; w < by->key_words; w++)
		RQL_TRY(rql_span_check(&by->keys[w], by->count ? (by->count - 1) * stride_of(by, w) + 1 : 0, 4, "keys of a group-by", err));
	RQL_TRY(rql_span_check(&by->heads, by->capacity, 4, "rows of groups", err));
	RQL_TRY(rql_span_check(&by->counts, by->capacity, 8, "counts of groups", err));
	for (uint32_t c = 0; c < by->column_count; c++)
		RQL_TRY(check_column(by, &by->columns[c], err));
	if (by->totals == RQL_RASTER_BLENDING)
		RQL_TRY(rql_span_check(&by->inexact, 1, 8, "number of inexact groups", err));
	RQL_TRY(rql_span_check(&by->groups, 1, 8, "number of groups", err));
	RQL_TRY(rql_span_check(&by->rest, by->count, 4, "rest of a group-by", err));
	RQL_TRY(rql_span_check(&by->points, sizeof(struct rql_raster_group_points) / 8, 8, "points of a group-by", err));
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
	struct rql_error *err;
};

/* The pass looks images [first, first + count) up. The validation layer takes it to read every image that it could look up,
 * so all are named but its targets. */
static void look_up(const struct recorder *r, uint32_t first, uint32_t count, const struct rql_draw *draw,
                    struct rql_raster_group_args *args, struct rql_image_use *uses, uint32_t *use_count)
{
	*use_count = 0;
	for (uint32_t i = 0; i < RQL_RASTER_GROUP_IMAGES; i++) {
		struct rql_image *image = r->by->images[i];
		bool drawn = false;
		for (uint32_t t = 0; draw && t < draw->target_count; t++)
			drawn |= draw->targets[t].image == image;
		if (image && !drawn)
			uses[(*use_count)++] = (struct rql_image_use){image, RQL_READ};
		if (i >= first && i < first + count)
			args->images[i - first] = image ? image->number : 0;
	}
}

/* groups_at: in the state; 0: `items` are known here. It looks up images [first, first + images). */
static rql_status dispatch(const struct recorder *r, const struct rql_kernel *kernel, struct rql_raster_group_args args,
                           uint32_t groups_at, uint64_t items, uint32_t first, uint32_t images)
{
	const uint32_t threads = RQL_RASTER_THREADS;
	const struct rql_pipeline *pipeline;
	struct rql_image_use uses[RQL_RASTER_GROUP_IMAGES];
	uint32_t count;
	look_up(r, first, images, NULL, &args, uses, &count);
	RQL_TRY(rql_image_pipeline_get(r->device, kernel, &threads, 1, &pipeline, r->err));
	if (groups_at)
		rql_record_dispatch_images_indirect(r->c, kernel->name, pipeline, &args, r->by->temp.buffer,
		                                    r->by->temp.offset + r->plan.state + 4 * (uint64_t)groups_at, r->uses.use,
		                                    r->uses.count, uses, count);
	else
		rql_record_dispatch_images(r->c, kernel->name, pipeline, &args, rql_div_up(items, threads), r->uses.use,
		                           r->uses.count, uses, count);
	return RQL_OK;
}

static void put_columns(struct recorder *r, struct rql_word_table *words)
{
	for (uint32_t c = 0; c < r->by->column_count; c++) {
		const struct rql_group_by_column *column = &r->by->columns[c];
		const struct rql_span *spans[] = {&column->values, &column->sum, &column->min, &column->max};
		uint64_t *slots = &words->words[RQL_RASTER_GROUP_AT_COLUMNS + c * RQL_RASTER_COLUMN_SLOTS];
		for (uint32_t i = 0; i < 4; i++) {
			slots[i] = rql_span_address(spans[i]);
			rql_uses_add(&r->uses, spans[i], i ? RQL_READ_WRITE : RQL_READ);
		}
		slots[RQL_RASTER_COLUMN_FLAGS] = (column->bits == 64 ? RQL_RASTER_COLUMN_64 : 0) |
		                                 (is_field(column) ? RQL_RASTER_COLUMN_FIELDS : 0) |
		                                 (column->kind == RQL_GROUP_BY_PRESENT ? RQL_RASTER_COLUMN_PRESENT : 0) |
		                                 (column->kind == RQL_GROUP_BY_REAL_FIELDS ? RQL_RASTER_COLUMN_REAL : 0) |
		                                 (column->wide_sum ? RQL_RASTER_COLUMN_WIDE : 0);
	}
}

static rql_status begin(struct recorder *r)
{
	static const uint32_t zeros[4];
	const struct rql_raster_group_by *by = r->by;
	const struct rql_span state = rql_span_at(&by->temp, r->plan.state), map = rql_span_at(&by->temp, r->plan.map),
						  numbers = rql_span_at(&by->temp, r->plan.numbers), table = rql_span_at(&by->temp, r->plan.table),
						  starts = rql_span_at(&by->temp, r->plan.starts);
	struct rql_word_table words = {.count = RQL_RASTER_GROUP_TABLE(by->column_count)};
	_Static_assert(RQL_RASTER_GROUP_TABLE(RQL_GROUP_BY_COLUMNS) <= RQL_TABLE_WORDS, "the table is recorded as one");
	const struct rql_span *const slots[RQL_RASTER_GROUP_AT_COLUMNS] = {
		[RQL_RASTER_GROUP_AT_STATE] = &state,        [RQL_RASTER_GROUP_AT_MAP] = &map,
		[RQL_RASTER_GROUP_AT_NUMBERS] = &numbers,    [RQL_RASTER_GROUP_AT_HEADS] = &by->heads,
		[RQL_RASTER_GROUP_AT_COUNTS] = &by->counts,  [RQL_RASTER_GROUP_AT_GROUPS] = &by->groups,
		[RQL_RASTER_GROUP_AT_INEXACT] = &by->inexact, [RQL_RASTER_GROUP_AT_POINTS] = &by->points,
		[RQL_RASTER_GROUP_AT_FOUND] = &by->found,    [RQL_RASTER_GROUP_AT_STARTS] = by->partition_bits ? &starts : NULL};
	for (uint32_t w = 0; w < by->key_words; w++) {
		words.words[RQL_RASTER_GROUP_AT_KEYS + w] = rql_span_address(&by->keys[w]);
		rql_uses_add(&r->uses, &by->keys[w], RQL_READ);
	}
	for (uint32_t s = 0; s < RQL_RASTER_GROUP_AT_COLUMNS; s++)
		if (slots[s] && slots[s]->buffer) {
			words.words[s] = rql_span_address(slots[s]);
			rql_uses_add(&r->uses, slots[s], s == RQL_RASTER_GROUP_AT_FOUND ? RQL_READ : RQL_READ_WRITE);
		}
	words.words[RQL_RASTER_GROUP_AT_ROWS] = by->count;
	put_columns(r, &words);
	rql_uses_add(&r->uses, &by->rest, RQL_READ_WRITE);
	if (by->partition_bits) {
		const struct rql_partition partition = partition_of(by, &r->plan);
		RQL_TRY(rql_record_partition(r->c, &partition, r->err));
	}
	RQL_TRY(rql_record_words(r->c, &words, &table, r->err));
	rql_record_fill(r->c, by->groups.buffer, by->groups.offset, 8, 0);
	rql_record_fill(r->c, by->points.buffer, by->points.offset, sizeof(struct rql_raster_group_points), 0);
	if (by->inexact.buffer)
		rql_record_fill(r->c, by->inexact.buffer, by->inexact.offset, 8, 0);
	/* Before all draws: the validation layer takes a shader to read every image that it could look up. */
	for (uint32_t i = 0; i < RQL_RASTER_GROUP_IMAGES; i++)
		if (by->images[i])
			rql_record_clear(r->c, by->images[i], 0, 1, zeros);
	return RQL_OK;
}

/* Rows that are left are drawn, and find the row that stands for their group. The image needs no clearing: whoever
 * looks at a pixel has drawn it in the same round. */
static rql_status assign(const struct recorder *r, uint32_t partition)
{
	const struct rql_raster_group_by *by = r->by;
	const uint32_t attachments = by->key_words > 3 ? 2 : 1;
	const struct rql_span lists[2] = {rql_span_at(&by->temp, r->plan.list),
	                                  rql_span_at(&by->temp, r->plan.list + by->count * 4)},
						  order = rql_span_at(&by->temp, r->plan.order);
	struct rql_draw_state state = {.target_count = attachments};
	struct rql_raster_group_args args = r->args;
	struct rql_draw draw = {.pass = "primitive.group_hash",
	                        .args = &args,
	                        .target_count = attachments,
	                        .counts = by->temp.buffer,
	                        .uses = r->uses.use,
	                        .use_count = r->uses.count};
	for (uint32_t i = 0; i < attachments; i++) {
		state.targets[i].format = by->images[HASH + i]->spec.format;
		draw.targets[i].image = by->images[HASH + i];
	}
	RQL_TRY(rql_draw_pipeline_get(r->device, attachments > 1 ? &hash_two : &hash_one, &state, NULL, 0, &draw.pipeline,
	                              r->err));
	args.number = partition;
	args.what = RQL_RASTER_GROUP_BEGIN;
	RQL_TRY(dispatch(r, &plan_kernel, args, 0, 1, HASH, 0));
	args.list = by->partition_bits ? rql_span_address(&order) : 0;
	for (args.round = 0; args.round < by->rounds; args.round++) {
		args.list_out = rql_span_address(args.round + 1 < by->rounds ? &lists[args.round % 2] : &by->rest);
		draw.counts_offset = by->temp.offset + r->plan.state + 16 * (uint64_t)args.round;
		rql_record_draw(r->c, &draw);
		RQL_TRY(dispatch(r, &assign_kernel, args, RQL_RASTER_GROUP_GROUPS(by->rounds), 0, HASH, 2));
		args.list = args.list_out;
	}
	args.what = RQL_RASTER_GROUP_END;
	return dispatch(r, &plan_kernel, args, 0, 1, HASH, 0);
}

/* Points at their groups' pixels: all rows, or `rows` from args->first_row on. It looks up images [first, + images). */
static rql_status draw_totals(const struct recorder *r, const struct rql_draw_kernel *kernel,
                              const struct rql_draw_state *state, const uint32_t *targets,
                              struct rql_raster_group_args args, uint32_t rows, uint32_t first, uint32_t images)
{
	struct rql_image_use uses[RQL_RASTER_GROUP_IMAGES];
	struct rql_draw draw = {.pass = kernel->name,
	                        .args = &args,
	                        .target_count = state->target_count,
	                        .width = args.width,
	                        .height = args.height,
	                        .vertices = rows,
	                        .instances = 1,
	                        .uses = r->uses.use,
	                        .use_count = r->uses.count,
	                        .images = uses};
	for (uint32_t i = 0; i < state->target_count; i++)
		draw.targets[i].image = r->by->images[targets[i]];
	look_up(r, first, images, &draw, &args, uses, &draw.image_count);
	RQL_TRY(rql_draw_pipeline_get(r->device, kernel, state, NULL, 0, &draw.pipeline, r->err));
	rql_record_draw(r->c, &draw);
	return RQL_OK;
}

/* Rows, or a column's limbs, by blending, pass by pass. */
static rql_status blend_sums(const struct recorder *r, uint32_t column)
{
	static const uint32_t zeros[4];
	static const uint32_t targets[2][3] = {{SUMS, LAST}, {SUMS, MIDDLE, LAST}};
	const struct rql_raster_group_by *by = r->by;
	const bool counts = column == RQL_RASTER_ROWS_ONLY, is_long = !counts && by->columns[column].bits == 64;
	const uint64_t exact = counts ? RQL_RASTER_COUNT_MOST - 1 : RQL_RASTER_EXACT_ROWS;
	const uint64_t most = !counts && by->few_a_group ? by->count : exact;
	struct rql_raster_group_args args = r->args;
	struct rql_draw_state state = {.target_count = counts ? 1 : is_long ? 3 : 2};
	for (uint32_t i = 0; i < state.target_count; i++) {
		state.targets[i].format = by->images[targets[is_long][i]]->spec.format;
		state.targets[i].blend = RQL_BLEND_ADD;
	}
	args.column = column;
	args.exact_rows = (uint32_t)exact;
	for (uint64_t first = 0; first < by->count; first += most) {
		const uint64_t rows = by->count - first < most ? by->count - first : most;
		args.first_row = (uint32_t)first;
		for (uint32_t i = 0; i < state.target_count; i++)
			rql_record_clear(r->c, by->images[targets[is_long][i]], 0, 1, zeros);
		RQL_TRY(draw_totals(r, counts ? &counts_kernel : is_long ? &limbs_8_kernel : &limbs_4_kernel, &state,
		                    targets[is_long], args, (uint32_t)rows, SUMS, 0));
		RQL_TRY(dispatch(r, &fold_sums_kernel, args, 0, by->capacity, SUMS, 3));
	}
	return RQL_OK;
}

/* The highest 16 bits of the values, then lower ones of those that are extreme so far. */
static rql_status blend_extremes(const struct recorder *r, uint32_t column)
{
	static const uint32_t zeros[4];
	struct rql_raster_group_args args = r->args;
	struct rql_draw_state state = {.target_count = 1};
	state.targets[0].format = RQL_FORMAT_RG32_FLOAT;
	state.targets[0].blend = RQL_BLEND_MAX;
	args.column = column;
	args.parts = r->by->columns[column].bits / 16;
	for (args.part = 0; args.part < args.parts; args.part++) {
		const uint32_t target = EXTREMES + args.part;
		rql_record_clear(r->c, r->by->images[target], 0, 1, zeros);
		RQL_TRY(draw_totals(r, &extremes_kernel, &state, &target, args, (uint32_t)r->by->count, EXTREMES, args.part));
	}
	return dispatch(r, &fold_extremes_kernel, args, 0, r->by->capacity, EXTREMES, args.parts);
}

static rql_status blend(const struct recorder *r)
{
	RQL_TRY(blend_sums(r, RQL_RASTER_ROWS_ONLY));
	for (uint32_t c = 0; c < r->by->column_count; c++) {
		if (wants_sum(&r->by->columns[c]))
			RQL_TRY(blend_sums(r, c));
		if (wants_extremes(&r->by->columns[c]))
			RQL_TRY(blend_extremes(r, c));
	}
	return RQL_OK;
}

rql_status rql_record_raster_group_by(struct rql_commands *c, const struct rql_raster_group_by *by,
                                      struct rql_error *err)
{
	static const struct rql_draw_state nothing;
	RQL_TRY(check(by, err));
	struct recorder r = {.c = c, .by = by, .plan = plan_of(by), .device = by->images[HASH]->device, .err = err};
	const struct rql_span table = rql_span_at(&by->temp, r.plan.table);
	r.args = (struct rql_raster_group_args){
		.table = rql_span_address(&table),
		.capacity = by->capacity,
		.key_words = by->key_words,
		.pair_words = by->pair_words,
		.hashed = by->hashed,
		.log2_side = by->log2_side,
		.rounds = by->rounds,
		.width = TOTAL_WIDTH,
		.height = total_height(by),
		.column = RQL_RASTER_ROWS_ONLY,
		.column_count = by->column_count,
	};
	RQL_TRY(begin(&r));
	for (uint32_t p = 0; p < 1u << by->partition_bits; p++)
		RQL_TRY(assign(&r, p));
	if (by->totals == RQL_RASTER_BLENDING)
		return blend(&r);
	RQL_TRY(draw_totals(&r, sums_reals(by) ? &reals_kernel : &atomics_kernel, &nothing, NULL, r.args, (uint32_t)by->count, HASH, 0));
	return dispatch(&r, &finish_kernel, r.args, 0, by->capacity, HASH, 0);
}
