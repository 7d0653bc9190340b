/* Group-by on a GPU over any number of groups: as many partitions as it takes for a partition's groups to fit a table in
 * shared memory (none for few groups), then a workgroup aggregates each. Large partitions are cut into pieces, and the
 * whole input is one such partition when there is no other; pieces meet in a table in device memory. Where many rows are
 * of a group of their own, partitions are of so few rows that a workgroup brings them into order (group_by_small.comp).
 * Floor: keys and values read once; each pass of partitioning adds 2 reads and writes (keys 3; 5 of two passes). */
#include "primitive/relation/relation_internal.h"

#define SLOTS_LEAST 64u
#define COPIES_MOST 32u /* of the accumulators of few groups: a lane each */
#define SHORT_BITS 8u   /* of a pass, up to which it costs about the same */
#define PIECES 512u /* of the input: each merges its groups */
#define PIECE_LOG2_LEAST 13u
#define PARTS_LEAST 6u /* log2: fewer partitions cost the same */
#define SMALL_SHARE 8u /* rows to a group, up to which partitions are of few rows */
/* Of a workgroup. Small ones wait less at their barriers: on an H100 512 threads took twice as long as 256. */
#define SMALL_THREADS 256u
/* Of a thread, on average at most. It has room for RQL_GROUP_SMALL_ROWS: sizes vary with the square root of their mean, and
 * more where groups have several rows (of eight: 0.2 % of the partitions are left to group_by.comp). */
#define SMALL_ROWS 4u
#define SMALL_BUCKETS 8u /* of a thread */
/* Rows from which steps for a table's slots are chosen first: that takes 30 us of an H100, and spares 1.4 us a million. */
#define STEPS_ROWS (UINT64_C(1) << 25)
#define STEPS_SHARE 4u      /* slots to a step */
#define STEPS_SET_BYTES 36u /* of group_by_begin.comp for a step: its set's size and members */
#define SPILL_LEAST UINT64_C(8192)
#define SPILL_MOST (UINT64_C(1) << 20) /* unless asked for */

struct group_by_plan {
	uint32_t bits, threads, slots, copies, piece_log2, value_bits;
	uint32_t small_threads; /* of group_by_small.comp; 0: it does not run */
	uint32_t steps; /* that group_by_begin.comp chooses; 1: none */
	bool extremes; /* some column has accumulators of least and greatest values, or of real sums, which lie there */
	uint64_t table_slots;
	/* offsets in temp */
	uint64_t columns_table, starts, keys, columns[RQL_RELATION_COLUMNS]; /* columns: those that share values share it */
	uint64_t steps_table;
	uint64_t table_keys, table_words, partition_temp, bytes;
	uint64_t work, large, large_groups; /* of the partitions that group_by_small.comp leaves */
};

/* Shared memory of a table, as group_by_find.glsl and group_by_places.glsl lay it out: a key a slot, a step for several,
 * and for each copy a tally, a sum's words, a least and a greatest value. */
static uint32_t table_bytes(const struct rql_group_by *group, const struct group_by_plan *plan, uint32_t slots,
                            uint32_t copies)
{
	const uint32_t value_bytes = plan->value_bits / 8;
	const uint32_t place = 4 + value_bytes + (plan->extremes ? 2 * value_bytes : 0);
	return (slots + 1) * (group->key_bits / 8 + copies * place) + slots / STEPS_SHARE * 4 + 2 * value_bytes + 32;
}

static bool has_steps(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	const struct rql_device *device = group->keys.buffer->device;
	const uint32_t bytes = plan->slots * group->key_bits / 8 + plan->slots / 8 + plan->slots / STEPS_SHARE * STEPS_SET_BYTES;
	return !group->batches && (group->count >= STEPS_ROWS || group->tuning.special) &&
	       bytes + 64 <= rql_relation_shared(device, device->limits.group_size);
}

/* Small tables are cleared and gathered fastest: they are for partitions of few rows. Large partitions want more threads
 * over each table. The largest table leaves room for one workgroup, of all threads. */
static const struct table_size {
	uint32_t slots, threads;
} sizes[] = {{512, 256}, {1024, 512}, {2048, 1024}};
enum { SMALL_TABLE, MIDDLE_TABLE, LARGE_TABLE };

static void take_size(const struct rql_group_by *group, uint32_t slots, uint32_t threads, struct group_by_plan *plan)
{
	const struct rql_device *device = group->keys.buffer->device;
	const uint32_t room = rql_relation_shared(device, device->limits.group_size);
	plan->slots = slots;
	while (plan->slots > SLOTS_LEAST && table_bytes(group, plan, plan->slots, 1) > room)
		plan->slots /= 2;
	plan->threads = rql_relation_threads(device, group->tuning.threads ? group->tuning.threads : threads);
	while (plan->slots / plan->threads >= RQL_GROUP_HELD_MOST)
		plan->slots /= 2;
}

/* Few groups: a table that is nearly empty, and copies, so that lanes seldom meet. */
static void choose_copies(const struct rql_group_by *group, uint64_t guess, struct group_by_plan *plan)
{
	const struct rql_device *device = group->keys.buffer->device;
	const uint32_t room = rql_relation_shared(device, device->limits.group_size);
	const uint32_t least = (uint32_t)1 << rql_log2_up(guess * 4 > SLOTS_LEAST ? guess * 4 : SLOTS_LEAST);
	plan->slots = !group->tuning.slots && least < plan->slots ? least : plan->slots;
	while (plan->copies < COPIES_MOST && table_bytes(group, plan, plan->slots, plan->copies * 2) <= room)
		plan->copies *= 2;
}

/* The number of passes counts most. `eighths` of its slots is how many groups a table is to have: buckets of keys are
 * found fast even when it is nearly full, and rows of the groups that chance makes too many meet in the device's table. */
static void choose_partitions(const struct rql_group_by *group, uint64_t guess, struct group_by_plan *plan)
{
	static const struct {
		uint32_t size, most_bits, eighths;
	} steps[] = {{LARGE_TABLE, 0, 7},
	             {MIDDLE_TABLE, SHORT_BITS, 3},
	             {LARGE_TABLE, RQL_PARTITION_PASS_BITS, 7},
	             {SMALL_TABLE, 2 * RQL_PARTITION_PASS_BITS, 7},
	             {LARGE_TABLE, 2 * RQL_PARTITION_PASS_BITS, 7}};
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const struct table_size *size = &sizes[steps[i].size];
		take_size(group, size->slots, size->threads, plan);
		const uint32_t fit = plan->slots / 8 * steps[i].eighths;
		const uint32_t bits = guess > fit ? rql_log2_up(rql_div_up(guess, fit)) : 0;
		plan->bits = bits && bits < PARTS_LEAST ? PARTS_LEAST : bits;
		if (plan->bits <= steps[i].most_bits)
			return;
	}
	plan->bits = 2 * RQL_PARTITION_PASS_BITS;
}

static void choose_small(const struct rql_group_by *group, uint64_t guess, struct group_by_plan *plan)
{
	const struct rql_device *device = group->keys.buffer->device;
	const struct rql_relation_tuning *t = &group->tuning;
	const uint32_t row_bytes = (group->key_bits + plan->value_bits) / 8;
	if (!plan->bits || guess < group->count / SMALL_SHARE || group->batches || t->bits || t->slots || t->threads)
		return;
	uint32_t threads = rql_relation_threads(device, SMALL_THREADS);
	while (threads * RQL_GROUP_SMALL_ROWS * (row_bytes + 4) > rql_relation_shared(device, threads))
		threads /= 2;
	const uint32_t bits = rql_log2_up(rql_div_up(group->count, threads * SMALL_ROWS));
	const uint32_t most = plan->bits > RQL_PARTITION_PASS_BITS ? 2 * RQL_PARTITION_PASS_BITS : RQL_PARTITION_PASS_BITS;
	if (bits > most) /* a second pass costs more than tables that are filled */
		return;
	plan->small_threads = threads;
	plan->bits = bits < PARTS_LEAST ? PARTS_LEAST : bits;
	take_size(group, sizes[LARGE_TABLE].slots, sizes[LARGE_TABLE].threads, plan);
}

static void choose_sizes(const struct rql_group_by *group, struct group_by_plan *plan)
{
	const struct rql_relation_tuning *t = &group->tuning;
	uint64_t guess = group->guess < group->count ? group->guess : group->count;
	choose_partitions(group, guess, plan);
	choose_small(group, guess, plan);
	if (t->slots)
		take_size(group, t->slots, t->threads ? t->threads : plan->threads, plan);
	if (t->bits)
		plan->bits = t->bits - 1;
	if (plan->bits > 2 * RQL_PARTITION_PASS_BITS)
		plan->bits = 2 * RQL_PARTITION_PASS_BITS;
	plan->copies = 1;
	plan->steps = 1;
	if (!plan->bits) {
		choose_copies(group, guess, plan);
		plan->steps = has_steps(group, plan) ? plan->slots / STEPS_SHARE : 1;
	}
	uint32_t piece = rql_log2_up(rql_div_up(group->count, PIECES));
	plan->piece_log2 = t->piece_log2 ? t->piece_log2 : piece < PIECE_LOG2_LEAST ? PIECE_LOG2_LEAST : piece;
	/* Partitions that are cut are none of few rows. */
	while (UINT32_C(1) << plan->piece_log2 < plan->small_threads * RQL_GROUP_SMALL_ROWS)
		plan->piece_log2++;
	uint64_t spill = guess * 2 < SPILL_LEAST ? SPILL_LEAST : guess * 2 > SPILL_MOST ? SPILL_MOST : guess * 2;
	spill = group->spill > spill ? group->spill : spill;
	plan->table_slots = UINT64_C(1) << rql_log2_up(spill < UINT64_C(1) << 31 ? spill : UINT64_C(1) << 31);
}

/* The first column with the same values: only that one is moved. */
static uint32_t first_with(const struct rql_group_by *group, uint32_t column)
{
	const struct rql_span *values = &group->columns[column].values;
	uint32_t first = 0;
	while (group->columns[first].values.buffer != values->buffer || group->columns[first].values.offset != values->offset)
		first++;
	return first;
}

/* Do keys come out of the partitions with the first column's values beside them? */
static bool is_paired(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	return plan->bits && group->key_bits == 32 && group->column_count && group->columns[0].bits == 32 &&
	       group->count <= RQL_PAIRED_ROWS;
}

static struct rql_partition partition_of(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	struct rql_partition p = {
		.key_bits = group->key_bits,
		.bits = plan->bits,
		.random_keys = group->random_keys,
		.paired = is_paired(group, plan),
		.count = group->count,
		.found = group->found,
		.keys = group->keys,
		.keys_out = rql_span_at(&group->temp, plan->keys),
		.starts = rql_span_at(&group->temp, plan->starts),
		.tuning = group->tuning,
		.temp = rql_span_at(&group->temp, plan->partition_temp),
	};
	for (uint32_t i = 0; i < group->column_count; i++)
		if (first_with(group, i) == i)
			p.columns[p.column_count++] = (struct rql_relation_column){group->columns[i].bits, group->columns[i].values,
			                                                           rql_span_at(&group->temp, plan->columns[i])};
	return p;
}

static struct group_by_plan plan_of(const struct rql_group_by *group)
{
	struct group_by_plan plan = {.value_bits = 32};
	for (uint32_t i = 0; i < group->column_count; i++) {
		const struct rql_group_by_column *column = &group->columns[i];
		plan.value_bits = column->bits == 64 ? 64 : plan.value_bits;
		plan.extremes |= column->min.buffer || column->max.buffer || column->kind == RQL_GROUP_BY_REAL_FIELDS;
	}
	choose_sizes(group, &plan);
	uint64_t at = 0;
	plan.columns_table = rql_temp_take(&at, RQL_TABLE_WORDS * 8);
	plan.work = plan.columns_table + group->column_count * RQL_GROUP_COLUMN_WORDS * 8;
	plan.large_groups = rql_temp_take(&at, 3 * 4);
	plan.steps_table = rql_temp_take(&at, plan.steps * 4);
	plan.table_keys = rql_temp_take(&at, (plan.table_slots + 1) * group->key_bits / 8);
	plan.table_words = rql_temp_take(&at, (plan.table_slots + 1) * (1 + RQL_MERGE_WORDS * group->column_count) * 8);
	if (plan.bits) {
		plan.starts = rql_temp_take(&at, ((UINT64_C(1) << plan.bits) + 1) * 4);
		plan.large = plan.small_threads ? rql_temp_take(&at, (UINT64_C(1) << plan.bits) * 4) : 0;
		const bool paired = is_paired(group, &plan);
		plan.keys = rql_temp_take(&at, group->count * (paired ? 8 : group->key_bits / 8));
		for (uint32_t i = 0; i < group->column_count; i++) {
			const uint32_t first = first_with(group, i);
			plan.columns[i] = first < i        ? plan.columns[first]
			                  : paired && !i ? plan.keys + 4
			                                 : rql_temp_take(&at, group->count * group->columns[i].bits / 8);
		}
		plan.partition_temp = at;
		struct rql_partition p = partition_of(group, &plan);
		at += rql_partition_temp_bytes(&p);
	}
	plan.bytes = at;
	return plan;
}

uint64_t rql_group_by_temp_bytes(const struct rql_group_by *group)
{
	return plan_of(group).bytes;
}

void rql_group_by_retry(struct rql_group_by *group, uint64_t groups)
{
	uint64_t spill = group->spill ? group->spill : SPILL_LEAST;
	group->guess = (groups > group->guess ? groups : group->guess) * 16;
	group->spill = spill * 16;
}

static rql_status check_column(const struct rql_group_by *group, const struct rql_group_by_column *column,
                               struct rql_error *err)
{
	if (column->bits != 32 && column->bits != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a column of a group-by has %u bits: 32 or 64", column->bits);
	const bool real = column->kind == RQL_GROUP_BY_REAL_FIELDS;
	if (real && (column->bits != 64 || (column->sum.buffer && (column->wide_sum || column->min.buffer || column->max.buffer))))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a group-by's sums of reals come with extremes, or are not of 64 bits");
	RQL_TRY(rql_span_check(&column->values, group->count, column->bits / 8, "values of a group-by", err));
	if (column->sum.buffer)
		RQL_TRY(rql_span_check(&column->sum, group->capacity, column->wide_sum ? 16 : 8, "sums of a group-by", err));
	if (column->min.buffer)
		RQL_TRY(rql_span_check(&column->min, group->capacity, 8, "minima of a group-by", err));
	if (column->max.buffer)
		RQL_TRY(rql_span_check(&column->max, group->capacity, 8, "maxima of a group-by", err));
	return RQL_OK;
}

static rql_status check(const struct rql_group_by *group, struct rql_error *err)
{
	const struct rql_relation_tuning *t = &group->tuning;
	if ((group->key_bits != 32 && group->key_bits != 64) || group->count > RQL_RELATION_ROWS || !group->keys.buffer ||
	    group->column_count > RQL_RELATION_COLUMNS || (t->slots & (t->slots - 1)) ||
	    (t->slots && t->slots < SLOTS_LEAST) || (t->threads & (t->threads - 1)) ||
	    t->piece_log2 > 30)
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a group-by of %llu keys of %u bits with %u columns cannot be asked for",
		                     (unsigned long long)group->count, group->key_bits, group->column_count);
	RQL_TRY(rql_span_check(&group->keys, group->count, group->key_bits / 8, "keys of a group-by", err));
	RQL_TRY(rql_span_check(&group->keys_out, group->capacity, group->key_bits / 8, "keys that a group-by puts out", err));
	RQL_TRY(rql_span_check(&group->result, 2, 8, "result of a group-by", err));
	if (group->counts.buffer)
		RQL_TRY(rql_span_check(&group->counts, group->capacity, 8, "counts of a group-by", err));
	if (group->found.buffer)
		RQL_TRY(rql_span_check(&group->found, 1, 8, "number of rows of a group-by", err));
	for (uint32_t i = 0; i < group->column_count; i++)
		RQL_TRY(check_column(group, &group->columns[i], err));
	struct group_by_plan plan = plan_of(group);
	return rql_span_check(&group->temp, plan.bytes / 8, 8, "temporary words of a group-by", err);
}

static uint64_t column_flags(const struct rql_group_by_column *column)
{
	static const uint64_t kinds[] = {[RQL_GROUP_BY_FIELDS] = RQL_GROUP_FIELD,
	                                 [RQL_GROUP_BY_REAL_FIELDS] = RQL_GROUP_REAL,
	                                 [RQL_GROUP_BY_PRESENT] = RQL_GROUP_PRESENT};
	uint64_t flags = column->bits == 64 ? RQL_COLUMN_WIDE : 0;
	flags |= column->is_signed ? RQL_GROUP_SIGNED : 0;
	flags |= kinds[column->kind];
	if (column->sum.buffer)
		flags |= RQL_GROUP_SUM | (column->wide_sum ? RQL_GROUP_SUM_WIDE : 0);
	flags |= column->min.buffer ? RQL_GROUP_MIN : 0;
	flags |= column->max.buffer ? RQL_GROUP_MAX : 0;
	return flags;
}

static uint64_t flags_of(const struct rql_group_by *group, const struct group_by_plan *plan, uint32_t column)
{
	const bool paired = is_paired(group, plan) && first_with(group, column) == 0;
	return column_flags(&group->columns[column]) | (paired ? RQL_COLUMN_PAIRED : 0);
}

/* Of all columns, where they are the same. */
static uint32_t common_flags(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	if (!group->column_count)
		return UINT32_MAX;
	const uint64_t flags = flags_of(group, plan, 0);
	for (uint32_t i = 1; i < group->column_count; i++)
		if (flags_of(group, plan, i) != flags)
			return UINT32_MAX;
	return (uint32_t)flags;
}

/* As group_by_table.glsl has it. */
static uint64_t cut_pieces(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	return (group->count >> plan->piece_log2) + 1;
}

/* What kernels find in device memory of the columns, and then of their work. */
static rql_status record_columns(struct rql_commands *c, const struct rql_group_by *group,
                                 const struct group_by_plan *plan, struct rql_error *err)
{
	struct rql_word_table table = {.count = 0};
	struct rql_span to = rql_span_at(&group->temp, plan->columns_table);
	for (uint32_t i = 0; i < group->column_count; i++) {
		const struct rql_group_by_column *column = &group->columns[i];
		struct rql_span moved = rql_span_at(&group->temp, plan->columns[i]);
		uint64_t *words = table.words + table.count;
		words[0] = rql_span_address(plan->bits ? &moved : &column->values);
		words[1] = flags_of(group, plan, i);
		words[2] = rql_span_address(&column->sum);
		words[3] = rql_span_address(&column->min);
		words[4] = rql_span_address(&column->max);
		table.count += RQL_GROUP_COLUMN_WORDS;
	}
	table.words[table.count++] = cut_pieces(group, plan);
	return rql_record_words(c, &table, &to, err);
}

/* May threads read four rows at once? Of partitions they begin anywhere. */
static bool has_vectors(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	bool all = !plan->bits && group->key_bits == 32 && plan->value_bits == 32;
	all &= rql_span_address(&group->keys) % 16 == 0;
	for (uint32_t i = 0; i < group->column_count; i++)
		all &= rql_span_address(&group->columns[i].values) % 16 == 0;
	return all;
}

static struct rql_group_by_args args_of(const struct rql_group_by *group, const struct group_by_plan *plan)
{
	uint64_t temp = rql_span_address(&group->temp);
	return (struct rql_group_by_args){
		.keys = plan->bits ? temp + plan->keys : rql_span_address(&group->keys),
		.columns = temp + plan->columns_table,
		.starts = plan->bits ? temp + plan->starts : 0,
		.found = plan->bits ? 0 : rql_span_address(&group->found),
		.control = rql_span_address(&group->result),
		.keys_out = rql_span_address(&group->keys_out),
		.counts_out = rql_span_address(&group->counts),
		.capacity = group->capacity,
		.table_keys = temp + plan->table_keys,
		.table_words = temp + plan->table_words,
		.work = plan->small_threads ? temp + plan->work : 0,
		.large = plan->small_threads ? temp + plan->large : plan->steps > 1 ? temp + plan->steps_table : 0,
		.count = (uint32_t)group->count,
		.column_count = group->column_count,
		.slots = (uint32_t)plan->table_slots,
		.partitions = 1u << plan->bits,
		.piece_log2 = plan->piece_log2,
		.copies = plan->copies,
		.flags = (group->random_keys ? RQL_ROWS_RAW : 0) | (group->batches ? RQL_ROWS_BATCH : 0) |
		         (is_paired(group, plan) ? RQL_ROWS_PAIRED : 0) | (has_vectors(group, plan) ? RQL_ROWS_VECTORS : 0) |
		         plan->value_bits << 8,
	};
}

static void add_uses(const struct rql_group_by *group, struct rql_uses *uses)
{
	rql_uses_add(uses, &group->temp, RQL_READ_WRITE);
	rql_uses_add(uses, &group->result, RQL_READ_WRITE);
	rql_uses_add(uses, &group->keys, RQL_READ);
	rql_uses_add(uses, &group->found, RQL_READ);
	rql_uses_add(uses, &group->keys_out, RQL_WRITE);
	rql_uses_add(uses, &group->counts, RQL_WRITE);
	for (uint32_t i = 0; i < group->column_count; i++) {
		rql_uses_add(uses, &group->columns[i].values, RQL_READ);
		rql_uses_add(uses, &group->columns[i].sum, RQL_WRITE);
		rql_uses_add(uses, &group->columns[i].min, RQL_WRITE);
		rql_uses_add(uses, &group->columns[i].max, RQL_WRITE);
	}
}

/* An empty table, and steps for that in shared memory if there is one to be had for them. */
static rql_status record_begin(struct rql_commands *c, const struct rql_group_by *group,
                               const struct group_by_plan *plan, struct rql_error *err)
{
	struct rql_device *device = group->keys.buffer->device;
	const struct rql_group_by_args args = args_of(group, plan);
	const struct rql_pipeline *begin;
	uint32_t constants[] = {rql_relation_threads(device, device->limits.group_size), 0,
	                        plan->steps > 1 ? plan->slots : SLOTS_LEAST, plan->steps};
	RQL_TRY(rql_relation_pipeline(device, group->key_bits == 64 ? RQL_RELATION_GROUP_BY_BEGIN_64 : RQL_RELATION_GROUP_BY_BEGIN_32,
	                              constants, 4, &begin, err));
	const uint64_t groups = rql_div_up(plan->table_slots + 1, constants[0]);
	struct rql_uses uses = {.count = 0};
	rql_uses_add(&uses, &group->temp, RQL_READ_WRITE);
	rql_uses_add(&uses, &group->result, RQL_WRITE);
	if (plan->steps > 1) {
		rql_uses_add(&uses, &group->keys, RQL_READ);
		rql_uses_add(&uses, &group->found, RQL_READ);
	}
	rql_record_dispatch(c, "group_by.begin", begin, &args, groups, uses.use, uses.count);
	return RQL_OK;
}

static bool has_reals(const struct rql_group_by *group)
{
	bool some = false;
	for (uint32_t i = 0; i < group->column_count; i++)
		some |= group->columns[i].kind == RQL_GROUP_BY_REAL_FIELDS;
	return some;
}

/* Kernels of one kind are in this order. */
static enum rql_relation_kernel kernel_of(const struct rql_group_by *group, const struct group_by_plan *plan,
                                          enum rql_relation_kernel narrow, enum rql_relation_kernel wide)
{
	const enum rql_relation_kernel first = group->key_bits == 64 ? wide : narrow;
	return first + (enum rql_relation_kernel)((plan->value_bits == 64) + has_reals(group));
}

/* Constants 6 and 7. */
static void make_special(const struct rql_group_by *group, const struct group_by_plan *plan, uint32_t flags,
                         uint32_t *constants)
{
	const bool special = rql_relation_is_special(group->count, &group->tuning);
	constants[6] = special ? flags : UINT32_MAX;
	constants[7] = special ? common_flags(group, plan) : UINT32_MAX;
}

static rql_status record_small(struct rql_commands *c, const struct rql_group_by *group,
                               const struct group_by_plan *plan, struct rql_error *err)
{
	struct rql_device *device = group->keys.buffer->device;
	const struct rql_group_by_args args = args_of(group, plan);
	const struct rql_pipeline *small;
	uint32_t constants[8] = {plan->small_threads, 0, plan->small_threads * SMALL_BUCKETS,
	                         plan->small_threads * RQL_GROUP_SMALL_ROWS};
	make_special(group, plan, args.flags, constants);
	RQL_TRY(rql_relation_pipeline(device, kernel_of(group, plan, RQL_RELATION_GROUP_BY_SMALL_32_32,
	                                                RQL_RELATION_GROUP_BY_SMALL_64_32),
	                              constants, 8, &small, err));
	struct rql_uses uses = {.count = 0};
	add_uses(group, &uses);
	rql_record_dispatch(c, "group_by.small", small, &args, args.partitions, uses.use, uses.count);
	return rql_record_indirect(c, rql_span_at(&group->temp, plan->work), 1, rql_span_at(&group->temp, plan->large_groups),
	                           err);
}

static rql_status record_groups(struct rql_commands *c, const struct rql_group_by *group,
                                const struct group_by_plan *plan, struct rql_error *err)
{
	struct rql_device *device = group->keys.buffer->device;
	const struct rql_group_by_args args = args_of(group, plan);
	const struct rql_pipeline *groups;
	uint32_t places = (plan->slots + 1) * plan->copies;
	uint32_t constants[9] = {plan->threads, 0, plan->slots, places, plan->extremes ? places : 1,
	                         plan->slots / plan->threads + 1, 0, 0, plan->steps};
	make_special(group, plan, args.flags, constants);
	RQL_TRY(rql_relation_pipeline(device, kernel_of(group, plan, RQL_RELATION_GROUP_BY_32_32, RQL_RELATION_GROUP_BY_64_32),
	                              constants, 9, &groups, err));
	struct rql_uses uses = {.count = 0};
	add_uses(group, &uses);
	if (!plan->small_threads) {
		rql_record_dispatch(c, "group_by.groups", groups, &args, args.partitions + cut_pieces(group, plan), uses.use, uses.count);
		return RQL_OK;
	}
	RQL_TRY(record_small(c, group, plan, err));
	rql_record_dispatch_indirect(c, "group_by.groups", groups, &args, group->temp.buffer,
	                             group->temp.offset + plan->large_groups, uses.use, uses.count);
	return RQL_OK;
}

static rql_status record_merge(struct rql_commands *c, const struct rql_group_by *group,
                               const struct group_by_plan *plan, struct rql_error *err)
{
	struct rql_device *device = group->keys.buffer->device;
	struct rql_group_by_args args = args_of(group, plan);
	const struct rql_pipeline *merge;
	uint32_t constants[] = {rql_relation_threads(device, 256), 0};
	RQL_TRY(rql_relation_pipeline(device, group->key_bits == 64 ? RQL_RELATION_GROUP_BY_MERGE_64 : RQL_RELATION_GROUP_BY_MERGE_32,
	                              constants, 2, &merge, err));
	struct rql_uses uses = {.count = 0};
	add_uses(group, &uses);
	rql_record_dispatch(c, "group_by.merge", merge, &args, rql_div_up(plan->table_slots + 1, constants[0]), uses.use,
	                    uses.count);
	return RQL_OK;
}

rql_status rql_record_group_by_partitions(struct rql_commands *c, const struct rql_group_by *group, struct rql_error *err)
{
	RQL_TRY(check(group, err));
	struct group_by_plan plan = plan_of(group);
	if (!group->batches)
		RQL_TRY(record_begin(c, group, &plan, err));
	if (plan.bits) {
		struct rql_partition p = partition_of(group, &plan);
		RQL_TRY(rql_record_partition(c, &p, err));
	}
	return record_columns(c, group, &plan, err);
}

rql_status rql_record_group_by_groups(struct rql_commands *c, const struct rql_group_by *group, struct rql_error *err)
{
	struct group_by_plan plan = plan_of(group);
	RQL_TRY(record_groups(c, group, &plan, err));
	return group->batches ? RQL_OK : record_merge(c, group, &plan, err);
}

rql_status rql_record_group_by_begin(struct rql_commands *c, const struct rql_group_by *group, struct rql_error *err)
{
	RQL_TRY(check(group, err));
	struct group_by_plan plan = plan_of(group);
	return record_begin(c, group, &plan, err);
}

rql_status rql_record_group_by_end(struct rql_commands *c, const struct rql_group_by *group, struct rql_error *err)
{
	RQL_TRY(check(group, err));
	struct group_by_plan plan = plan_of(group);
	RQL_TRY(record_columns(c, group, &plan, err));
	return record_merge(c, group, &plan, err);
}

rql_status rql_record_group_by(struct rql_commands *c, const struct rql_group_by *group, struct rql_error *err)
{
	RQL_TRY(rql_record_group_by_partitions(c, group, err));
	return rql_record_group_by_groups(c, group, err);
}
