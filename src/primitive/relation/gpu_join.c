/* Join on a GPU: both sides are partitioned until the build rows of a partition fit a table in shared memory, then each
 * partition is joined by a workgroup, or by several where it has many probe rows. A build side that fits one table is
 * not partitioned, nor is its probe side. More build rows than a table holds, as when one key has many, are looped over.
 * A build side that is kept for many probe sides may be put in order of buckets instead, and is then looked up there.
 * Floor: both sides read, the output written once; each pass of partitioning adds 2 reads and writes (keys 3; 5 of two passes). */
#include "primitive/relation/relation_internal.h"

/* Small tables, so that several workgroups are in work at once and one's waiting is another's time: an H200 was found to
 * give a multiprocessor's workgroups of Vulkan no more than about 56 KB together. */
#define SLOTS 1280u
#define BUCKETS 1024u
#define THREADS 512u
/* Where these would take two passes of partitions, and a key has 32 bits and a value of 32 at most beside it: fewer and
 * longer partitions, whose runs are longer, by the largest tables that the shared memory of many devices holds. 2^26 x 2^27
 * rows took 5.6 ms for 6.0 on an H100, by tables of 4,608 rows. Their partitions vary less beside their size: room for
 * eight deviations. */
#define SLOTS_LARGE 4672u
#define BUCKETS_LARGE 2048u
#define THREADS_LARGE 1024u
#define ROWS_LARGE 4128u
/* A build side that fits one table needs no partitions: up to four times the size, with more threads. */
#define SLOTS_ALONE 4u
#define REST_THREADS 256u
#define SAMPLE_THREADS 1024u
#define PIECE_LOG2_LEAST 13u
#define PIECE_LOG2_PARTITIONS 15u /* at most, of partitions */
#define PIECE_LOG2_ALONE 16u /* each piece makes the table anew */
#define PIECES 2048u
/* Of a build side in order: threads of a workgroup that puts a table in order, and of one that looks rows up. A table has
 * 0.75 to 1.5 times as many heads as its partition has rows on average, and holds twice as many rows as heads: so nearly
 * all partitions have one. */
#define ORDER_THREADS 512u
#define ORDERED_THREADS 256u
#define ORDERED_PROBE_BITS RQL_PARTITION_PASS_BITS /* of the probe side's partitions at most: one pass */
#define ORDER_BUCKETS_LEAST 64u
#define LOOKED_UP 4u /* rows of a thread: join_rows.glsl */

struct side_plan {
	bool partitioned;
	uint64_t starts, keys, columns[RQL_RELATION_COLUMNS]; /* offsets in temp */
};

struct join_plan {
	uint32_t bits, threads, slots, buckets, piece_log2;
	uint32_t staged, words; /* staged: columns in the table, or 0: row numbers, or NOTHING_STAGED */
	struct side_plan build, probe;
	uint64_t table, matched, partition_temp, bytes; /* matched: a bit for each build row */
	uint64_t choice;                           /* of the kernel: join_sample.comp's groups_out */
	uint64_t built_bytes; /* of `built`, where that is given: then build.*, matched and heads are offsets in it */
	bool ordered;
	uint32_t probe_bits; /* of partitions; the build side's are `bits` */
	uint32_t order_threads, order_buckets, order_slots;
	uint64_t heads;
};
#define NOTHING_STAGED 3u

/* What of the build side lies in the table beside the keys: its payloads while they are short, else row numbers. */
static void choose_staged(const struct rql_join *join, struct join_plan *plan)
{
	const struct rql_join_side *build = &join->build;
	bool narrow = build->column_count <= 2;
	for (uint32_t i = 0; i < build->column_count && narrow; i++)
		narrow = build->columns[i].bits == 32;
	/* What conditions read, and which rows have a match, is found by row numbers. */
	const bool full = join->kind == RQL_JOIN_FULL, nothing = !build->column_count && !full;
	narrow = narrow && !join->condition_count && !full;
	plan->staged = nothing ? NOTHING_STAGED : narrow ? build->column_count : 0;
	plan->words = nothing ? 0 : narrow ? build->column_count : 1;
}

/* Rows of a table with `times` the buckets that there are else, as shared memory allows. */
static uint32_t fitting(const struct rql_join *join, const struct join_plan *plan, uint32_t times)
{
	const struct rql_device *device = join->probe.keys.buffer->device;
	uint32_t buckets = plan->buckets ? plan->buckets : times * BUCKETS;
	uint32_t room = rql_relation_shared(device, device->limits.group_size), heads = (buckets + 1) * 4 + buckets / 8 + 4;
	return heads < room ? (room - heads) / (join->key_bits / 8 + plan->words * 4) : 0;
}

static bool is_in(const struct rql_join *join)
{
	return join->kind == RQL_JOIN_NOT_IN || join->kind == RQL_JOIN_MARK;
}

/* Has it the kernel of its own that join.comp tells of? */
static bool is_tested(const struct rql_join *join)
{
	return join->condition_count || is_in(join) || join->single || join->kind == RQL_JOIN_FULL;
}

static void choose_large(const struct rql_join *join, struct join_plan *plan)
{
	const struct rql_device *device = join->probe.keys.buffer->device;
	const struct rql_relation_tuning *t = &join->tuning;
	struct join_plan large = *plan;
	large.buckets = BUCKETS_LARGE;
	if (t->threads || t->buckets || t->slots || t->bits || plan->bits <= RQL_PARTITION_PASS_BITS || join->key_bits != 32 ||
	    is_tested(join) || join->built.buffer) /* what is kept may be used for fewer rows, which must not take more */
		return;
	if (rql_relation_threads(device, THREADS_LARGE) < THREADS_LARGE || fitting(join, &large, 1) < SLOTS_LARGE)
		return;
	large.threads = THREADS_LARGE;
	large.slots = SLOTS_LARGE;
	large.bits = rql_log2_up(rql_div_up(join->build.count, ROWS_LARGE));
	*plan = large;
}

static void choose_sizes(const struct rql_join *join, struct join_plan *plan)
{
	const struct rql_device *device = join->probe.keys.buffer->device;
	const struct rql_relation_tuning *t = &join->tuning;
	uint32_t times = 1;
	while (times < SLOTS_ALONE && join->build.count > times * SLOTS)
		times *= 2;
	if (join->build.count > fitting(join, plan, times))
		times = 1;
	plan->threads = rql_relation_threads(device, t->threads ? t->threads : times > 1 ? 2 * THREADS : THREADS);
	plan->buckets = t->buckets ? t->buckets : times * BUCKETS;
	uint32_t most = fitting(join, plan, 1);
	plan->slots = t->slots ? t->slots : times * SLOTS;
	plan->slots = plan->slots < most ? plan->slots : most;
	if (plan->slots > plan->threads * RQL_JOIN_HELD_MOST)
		plan->slots = plan->threads * RQL_JOIN_HELD_MOST;
	if (!plan->slots) /* no room beside the buckets that were asked for: check says so */
		return;
	/* Sizes of partitions vary with the square root of their mean; a fifth of room is beyond all chance. */
	if (join->build.count > plan->slots)
		plan->bits = rql_log2_up(rql_div_up(join->build.count, plan->slots - plan->slots / 5));
	choose_large(join, plan);
	if (t->bits)
		plan->bits = t->bits - 1;
	if (plan->bits > 2 * RQL_PARTITION_PASS_BITS)
		plan->bits = 2 * RQL_PARTITION_PASS_BITS;
	uint32_t piece = rql_log2_up(rql_div_up(join->probe.count, PIECES));
	uint32_t piece_most = plan->bits ? PIECE_LOG2_PARTITIONS : PIECE_LOG2_ALONE;
	piece = piece < PIECE_LOG2_LEAST ? PIECE_LOG2_LEAST : piece > piece_most ? piece_most : piece;
	plan->piece_log2 = t->piece_log2 ? t->piece_log2 : piece;
}

/* A build side in order is looked up where it lies: the probe side's partitions only keep neighbours together, for which
 * one pass is enough. */
static void choose_order(const struct rql_join *join, struct join_plan *plan)
{
	const struct rql_device *device = join->probe.keys.buffer->device;
	plan->ordered = join->ordered && join->built.buffer && plan->bits && !is_tested(join);
	plan->probe_bits = plan->bits;
	if (!plan->ordered)
		return;
	plan->probe_bits = plan->bits < ORDERED_PROBE_BITS ? plan->bits : ORDERED_PROBE_BITS;
	plan->order_threads = rql_relation_threads(device, ORDER_THREADS);
	const uint32_t most = plan->order_threads * RQL_JOIN_ORDER_ROWS / 2;
	const uint64_t rows = rql_div_up(join->build.count, UINT64_C(1) << plan->bits);
	uint32_t buckets = ORDER_BUCKETS_LEAST;
	while (buckets < most && buckets < rows - rows / 4)
		buckets *= 2;
	plan->order_buckets = join->tuning.buckets ? join->tuning.buckets : buckets;
	while (plan->order_buckets > most) /* they stay a power of two */
		plan->order_buckets /= 2;
	plan->order_slots = 2 * plan->order_buckets;
}

/* Tables beyond the first of each partition begin that many rows apart. More build rows never take fewer bytes, so that
 * a side of fewer rows than was planned for has room. */
static uint64_t heads_bytes(const struct rql_join *join, const struct join_plan *plan)
{
	const uint64_t firsts = (UINT64_C(1) << plan->bits) * plan->order_buckets;
	return (firsts + join->build.count / 2 + ORDER_THREADS * RQL_JOIN_ORDER_ROWS) * 4;
}

/* Are probe rows whose key is NULL rows of the output, or may they be? */
static bool keeps_nulls(const struct rql_join *join)
{
	return join->kind != RQL_JOIN_INNER && join->kind != RQL_JOIN_SEMI;
}

/* Where what is kept of a side lies. */
static const struct rql_span *kept_of(const struct rql_join *join, bool probe)
{
	return !probe && join->built.buffer ? &join->built : &join->temp;
}

/* Do a side's keys come out of its partitions with the first column's values beside them? */
static bool is_paired(const struct rql_join *join, const struct rql_join_side *side)
{
	return join->key_bits == 32 && side->column_count && side->columns[0].bits == 32 && side->count <= RQL_PAIRED_ROWS;
}

static struct rql_partition partition_of(const struct rql_join *join, const struct join_plan *plan, bool probe)
{
	const struct rql_span *kept = kept_of(join, probe);
	const struct rql_join_side *side = probe ? &join->probe : &join->build;
	const struct side_plan *s = probe ? &plan->probe : &plan->build;
	/* Probe rows that a left join or an anti join keeps although their key is NULL go with the others when a key says
	 * so: no build row has that key any more. Those of a bitmap go their own way (join_rest.comp). */
	bool keeps = probe && keeps_nulls(join);
	struct rql_partition p = {
		.key_bits = join->key_bits,
		.bits = probe ? plan->probe_bits : plan->bits,
		.random_keys = join->random_keys,
		.paired = is_paired(join, side),
		.has_null_key = join->has_null_key && !keeps,
		.null_key = join->null_key,
		.count = side->count,
		.found = side->found,
		.keys = side->keys,
		.keys_out = rql_span_at(kept, s->keys),
		.valid = side->valid,
		.column_count = side->column_count,
		.starts = rql_span_at(kept, s->starts),
		.tuning = join->tuning,
		.temp = rql_span_at(&join->temp, plan->partition_temp),
	};
	for (uint32_t i = 0; i < side->column_count; i++) {
		p.columns[i] = side->columns[i];
		p.columns[i].out = rql_span_at(kept, s->columns[i]);
	}
	return p;
}

static void take_side(const struct rql_join_side *side, const struct rql_join *join, uint32_t bits, struct side_plan *out,
                      uint64_t *at)
{
	out->partitioned = bits != 0;
	if (!bits)
		return;
	out->starts = rql_temp_take(at, ((UINT64_C(1) << bits) + 1) * 4);
	const bool paired = is_paired(join, side);
	out->keys = rql_temp_take(at, side->count * (paired ? 8 : join->key_bits / 8));
	for (uint32_t i = 0; i < side->column_count; i++)
		out->columns[i] = paired && !i ? out->keys + 4 : rql_temp_take(at, side->count * side->columns[i].bits / 8);
}

static uint64_t matched_bytes(const struct rql_join *join)
{
	return rql_div_up(join->build.count + 1, 32) * 4;
}

static struct join_plan plan_of(const struct rql_join *join)
{
	struct join_plan plan = {.bits = 0};
	choose_staged(join, &plan);
	choose_sizes(join, &plan);
	choose_order(join, &plan);
	uint64_t at = 0, *build_at = join->built.buffer ? &plan.built_bytes : &at;
	plan.table = rql_temp_take(&at, RQL_TABLE_WORDS * 8);
	plan.choice = rql_temp_take(&at, 6 * 4);
	take_side(&join->build, join, plan.bits, &plan.build, build_at);
	take_side(&join->probe, join, plan.probe_bits, &plan.probe, &at);
	plan.matched = join->kind == RQL_JOIN_FULL ? rql_temp_take(build_at, matched_bytes(join)) : 0;
	plan.heads = plan.ordered ? rql_temp_take(build_at, heads_bytes(join, &plan)) : 0;
	plan.partition_temp = at;
	for (int probe = 0; probe < 2 && plan.bits; probe++) {
		struct rql_partition p = partition_of(join, &plan, probe);
		uint64_t end = plan.partition_temp + rql_partition_temp_bytes(&p);
		at = end > at ? end : at;
	}
	plan.bytes = at;
	return plan;
}

uint64_t rql_join_temp_bytes(const struct rql_join *join)
{
	return plan_of(join).bytes;
}

uint64_t rql_join_built_bytes(const struct rql_join *join)
{
	struct rql_join built = *join;
	struct rql_buffer any;
	built.built.buffer = &any; /* of which nothing is read but that it is there */
	const uint64_t bytes = plan_of(&built).built_bytes;
	return bytes ? bytes : 8;
}

bool rql_join_is_ordered(const struct rql_join *join)
{
	return plan_of(join).ordered;
}

static rql_status check_side(const struct rql_join *join, const struct rql_join_side *side, const char *what,
                             struct rql_error *err)
{
	if (side->count > RQL_RELATION_ROWS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s has %llu rows: at most %llu can be asked for", what,
		                     (unsigned long long)side->count, (unsigned long long)RQL_RELATION_ROWS);
	RQL_TRY(rql_span_check(&side->keys, side->count, join->key_bits / 8, "keys of a join", err));
	if (side->found.buffer)
		RQL_TRY(rql_span_check(&side->found, 1, 8, "number of rows of a join's side", err));
	if (side->valid.buffer)
		RQL_TRY(rql_span_check(&side->valid, rql_div_up(side->count, 64), 8, "bitmap of a join's side", err));
	return rql_relation_check_columns(side->columns, side->column_count, side->count, join->capacity,
	                                  !join->condition_count, what, err);
}

static rql_status check_conditions(const struct rql_join *join, struct rql_error *err)
{
	const bool bitmaps = join->build.valid.buffer || join->probe.valid.buffer;
	bool ok = join->condition_count <= RQL_JOIN_CONDITIONS && !(join->condition_count && is_in(join)) &&
	          !((is_in(join) || join->kind == RQL_JOIN_FULL) && bitmaps) &&
	          (!join->single || join->kind == RQL_JOIN_LEFT);
	for (uint32_t i = 0; ok && i < join->condition_count; i++) {
		const struct rql_join_condition *c = &join->conditions[i];
		ok = c->test >= RQL_JOIN_EQ && c->test <= RQL_JOIN_GE && c->probe < join->probe.column_count &&
		     (c->build == RQL_JOIN_TRUE || c->build < join->build.column_count);
	}
	if (!ok)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join of kind %d cannot be asked for with %u such conditions",
		                     (int)join->kind, join->condition_count);
	return join->kind == RQL_JOIN_MARK ? rql_span_check(&join->mark, join->capacity, 4, "marks of a join", err) : RQL_OK;
}

static rql_status check(const struct rql_join *join, struct rql_error *err)
{
	bool rows_only = join->kind >= RQL_JOIN_SEMI && join->kind <= RQL_JOIN_MARK && !join->condition_count;
	const struct rql_relation_tuning *t = &join->tuning;
	if ((join->key_bits != 32 && join->key_bits != 64) || (unsigned)join->kind > RQL_JOIN_FULL ||
	    (rows_only && join->build.column_count) || !join->probe.keys.buffer || (t->buckets & (t->buckets - 1)) ||
	    (t->threads & (t->threads - 1)) || t->slots > 65000 || t->piece_log2 > 30)
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a join of kind %d with keys of %u bits and %u columns of the build side cannot be asked for",
		                     (int)join->kind, join->key_bits, join->build.column_count);
	RQL_TRY(check_conditions(join, err));
	RQL_TRY(check_side(join, &join->build, "the build side of a join", err));
	RQL_TRY(check_side(join, &join->probe, "the probe side of a join", err));
	if (join->keys_out.buffer)
		RQL_TRY(rql_span_check(&join->keys_out, join->capacity, join->key_bits / 8, "keys that a join puts out", err));
	RQL_TRY(rql_span_check(&join->rows, join->single ? 2 : 1, 8, "number of a join's rows", err));
	struct join_plan plan = plan_of(join);
	if (!plan.slots)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join's table of %u buckets leaves no room for rows", plan.buckets);
	if (join->built.buffer)
		RQL_TRY(rql_span_check(&join->built, plan.built_bytes / 8, 8, "words of a join's build side", err));
	return rql_span_check(&join->temp, plan.bytes / 8, 8, "temporary words of a join", err);
}

static uint32_t flags_of_column(const struct rql_relation_column *column)
{
	return (column->bits == 64 ? RQL_COLUMN_WIDE : 0) | (column->in.buffer ? 0 : RQL_COLUMN_NUMBER);
}

/* Flags that all columns have, or UINT32_MAX. */
static uint32_t common_flags(const struct rql_join *join)
{
	const struct rql_join_side *sides[] = {&join->build, &join->probe};
	uint32_t common = UINT32_MAX;
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < sides[s]->column_count; i++) {
			const uint32_t flags = flags_of_column(&sides[s]->columns[i]);
			if (common != UINT32_MAX && common != flags)
				return UINT32_MAX;
			common = flags;
		}
	return join->kind == RQL_JOIN_MARK ? UINT32_MAX : common;
}

static void add_columns(struct rql_word_table *table, const struct rql_join *join, const struct rql_join_side *side,
                        const struct side_plan *s)
{
	const struct rql_span *kept = kept_of(join, side == &join->probe);
	for (uint32_t i = 0; i < side->column_count; i++) {
		const struct rql_relation_column *column = &side->columns[i];
		struct rql_span from = s->partitioned ? rql_span_at(kept, s->columns[i]) : column->in;
		const bool paired = s->partitioned && !i && is_paired(join, side);
		rql_table_column(table, &from, &column->out, flags_of_column(column) | (paired ? RQL_COLUMN_PAIRED : 0));
	}
}

/* Behind the build side's columns, of which a join with marks has none. */
static void add_mark(struct rql_word_table *table, const struct rql_join *join)
{
	const struct rql_span nowhere = {.buffer = NULL};
	if (join->kind == RQL_JOIN_MARK)
		rql_table_column(table, &nowhere, &join->mark, RQL_COLUMN_MARK);
}

static void add_uses(const struct rql_join *join, struct rql_uses *uses)
{
	const struct rql_join_side *sides[] = {&join->build, &join->probe};
	rql_uses_add(uses, &join->temp, join->kind == RQL_JOIN_FULL && !join->built.buffer ? RQL_READ_WRITE : RQL_READ);
	rql_uses_add(uses, &join->built, join->kind == RQL_JOIN_FULL ? RQL_READ_WRITE : RQL_READ);
	rql_uses_add(uses, &join->rows, RQL_READ_WRITE);
	rql_uses_add(uses, &join->keys_out, RQL_WRITE);
	rql_uses_add(uses, &join->mark, RQL_WRITE);
	for (uint32_t s = 0; s < 2; s++) {
		rql_uses_add(uses, &sides[s]->keys, RQL_READ);
		rql_uses_add(uses, &sides[s]->found, RQL_READ);
		rql_uses_add(uses, &sides[s]->valid, RQL_READ);
		for (uint32_t i = 0; i < sides[s]->column_count; i++) {
			rql_uses_add(uses, &sides[s]->columns[i].in, RQL_READ);
			rql_uses_add(uses, &sides[s]->columns[i].out, RQL_WRITE);
		}
	}
}

static uint64_t conditions_of(const struct rql_join *join)
{
	uint64_t words = 0;
	for (uint32_t i = join->condition_count; i-- > 0;) {
		const struct rql_join_condition *c = &join->conditions[i];
		uint32_t build = c->build == RQL_JOIN_TRUE ? RQL_CONDITION_TRUE : c->build;
		words = words << RQL_CONDITION_BITS | c->probe | build << RQL_CONDITION_BUILD_SHIFT |
		        (uint32_t)c->test << RQL_CONDITION_TEST_SHIFT | (c->real ? RQL_CONDITION_REAL : 0);
	}
	return words;
}

/* A full join is a left join that notes which build rows have a match: the kernel's numbers end before it. */
static uint32_t flags_of(const struct rql_join *join)
{
	const bool full = join->kind == RQL_JOIN_FULL;
	const uint32_t kind = full ? RQL_JOIN_LEFT : join->kind, marks = join->kind == RQL_JOIN_MARK;
	const uint32_t rows = (join->random_keys ? RQL_ROWS_RAW : 0) | (full ? RQL_ROWS_MATCHED : 0) |
	                      (join->single ? RQL_ROWS_SINGLE : 0) |
	                      (is_in(join) && join->has_null_key ? RQL_ROWS_NULL_KEY : 0);
	return kind | (join->build.column_count + marks) << 8 | join->probe.column_count << 16 | rows << 24;
}

static struct rql_join_args args_of(const struct rql_join *join, const struct join_plan *plan)
{
	const uint64_t temp = rql_span_address(&join->temp), kept = rql_span_address(kept_of(join, false));
	struct rql_join_args args = {
		.keys_out = rql_span_address(&join->keys_out),
		.columns = temp + plan->table,
		.found = rql_span_address(&join->rows),
		.capacity = join->capacity,
		.null_key = join->null_key,
		.build_count = (uint32_t)join->build.count,
		.probe_count = (uint32_t)join->probe.count,
		.partitions_piece = plan->bits << 8 | plan->piece_log2,
		.flags = flags_of(join),
		.build_found = is_in(join) ? rql_span_address(&join->build.found) : 0,
		.conditions = conditions_of(join),
	};
	if (join->kind == RQL_JOIN_FULL)
		args.build_valid = kept + plan->matched;
	if (plan->bits) {
		args.build_keys = kept + plan->build.keys;
		args.probe_keys = temp + plan->probe.keys;
		args.build_starts = kept + plan->build.starts;
		args.probe_starts = temp + plan->probe.starts;
		args.flags |= (is_paired(join, &join->build) ? RQL_JOIN_BUILD_PAIRED : 0) |
		              (is_paired(join, &join->probe) ? RQL_JOIN_PROBE_PAIRED : 0);
		return args;
	}
	args.build_keys = rql_span_address(&join->build.keys);
	args.probe_keys = rql_span_address(&join->probe.keys);
	if (join->kind != RQL_JOIN_FULL)
		args.build_valid = rql_span_address(&join->build.valid);
	args.probe_valid = rql_span_address(&join->probe.valid);
	args.build_found = rql_span_address(&join->build.found);
	args.probe_found = rql_span_address(&join->probe.found);
	args.flags |= join->has_null_key ? RQL_ROWS_NULL_KEY << 24 : 0;
	return args;
}

/* Rows of the probe side, looked up in a build side in order. */
static rql_status record_look_up(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                                 struct rql_error *err)
{
	struct rql_device *device = join->probe.keys.buffer->device;
	const struct rql_join_args all = args_of(join, plan);
	const struct rql_join_ordered_args args = {.build_keys = all.build_keys,
	                                           .probe_keys = all.probe_keys,
	                                           .keys_out = all.keys_out,
	                                           .columns = all.columns,
	                                           .build_starts = all.build_starts,
	                                           .heads = rql_span_address(&join->built) + plan->heads,
	                                           .found = all.found,
	                                           .capacity = all.capacity,
	                                           .probe_rows = all.probe_starts + (UINT64_C(4) << plan->probe_bits),
	                                           .partitions_log2 = plan->bits,
	                                           .flags = all.flags};
	uint32_t constants[] = {rql_relation_threads(device, ORDERED_THREADS), 0, plan->order_slots, plan->order_buckets};
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_relation_pipeline(device, join->key_bits == 64 ? RQL_RELATION_JOIN_ORDERED_64 : RQL_RELATION_JOIN_ORDERED_32,
	                              constants, 4, &pipeline, err));
	add_uses(join, &uses);
	rql_record_dispatch(c, "join.probe", pipeline, &args, rql_div_up(join->probe.count, LOOKED_UP * constants[0]), uses.use,
	                    uses.count);
	return RQL_OK;
}

/* Which kernel joins where keys may come often: a sample of the build side's partitions says it on the device. */
static rql_status record_sample(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                                const struct rql_join_args *all, uint32_t groups, struct rql_error *err)
{
	struct rql_device *device = join->probe.keys.buffer->device;
	const struct rql_join_sample_args args = {.keys = all->build_keys,
	                                          .starts = all->build_starts,
	                                          .build_found = all->build_found,
	                                          .groups_out = rql_span_address(&join->temp) + plan->choice,
	                                          .build_count = all->build_count,
	                                          .partitions_log2 = plan->bits,
	                                          .groups = groups,
	                                          .flags = all->flags};
	uint32_t constants[] = {rql_relation_threads(device, SAMPLE_THREADS), 0};
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_relation_pipeline(device, join->key_bits == 64 ? RQL_RELATION_JOIN_SAMPLE_64 : RQL_RELATION_JOIN_SAMPLE_32,
	                              constants, 2, &pipeline, err));
	rql_uses_add(&uses, &join->temp, RQL_READ_WRITE);
	rql_uses_add(&uses, &join->built, RQL_READ);
	rql_uses_add(&uses, &join->build.keys, RQL_READ);
	rql_uses_add(&uses, &join->build.found, RQL_READ);
	rql_record_dispatch(c, "join.sample", pipeline, &args, 1, uses.use, uses.count);
	return RQL_OK;
}

/* Of the kinds that give a row for each match alone, and of so many rows that one more dispatch is nothing. */
static bool may_be_many(const struct rql_join *join)
{
	return (join->kind == RQL_JOIN_INNER || join->kind == RQL_JOIN_LEFT) && !is_tested(join) && join->tuning.many != 1 &&
	       (join->tuning.many || rql_relation_is_special(join->probe.count, &join->tuning));
}

/* One of join.comp's kernels: the one for keys of 32 bits, behind which stands that of 64. own_places: do subgroups take the
 * output's places? A join of two passes of partitions takes longer than so many atomics. */
static rql_status probe_pipeline(const struct rql_join *join, const struct join_plan *plan, uint32_t flags,
                                 enum rql_relation_kernel of_32, bool own_places, const struct rql_pipeline **out,
                                 struct rql_error *err)
{
	const bool special = rql_relation_is_special(join->probe.count, &join->tuning);
	uint32_t constants[] = {plan->threads,
	                        0,
	                        plan->slots,
	                        plan->buckets,
	                        plan->staged,
	                        plan->words ? plan->words * plan->slots : 1,
	                        special ? flags : UINT32_MAX,
	                        special ? common_flags(join) : UINT32_MAX,
	                        join->tuning.own_places ? join->tuning.own_places == 2 : own_places};
	const enum rql_relation_kernel kernel = of_32 + (join->key_bits == 64);
	return rql_relation_pipeline(join->probe.keys.buffer->device, kernel, constants, 9, out, err);
}

static rql_status record_probe(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                               struct rql_error *err)
{
	struct rql_join_args args = args_of(join, plan);
	const struct rql_pipeline *few, *many;
	const bool two_passes = plan->bits > RQL_PARTITION_PASS_BITS;
	const uint64_t groups = (UINT64_C(1) << plan->bits) + (join->probe.count >> plan->piece_log2) + 1;
	struct rql_uses uses = {.count = 0};
	add_uses(join, &uses);
	RQL_TRY(probe_pipeline(join, plan, args.flags, is_tested(join) ? RQL_RELATION_JOIN_TESTED_32 : RQL_RELATION_JOIN_32,
	                       two_passes, &few, err));
	if (!may_be_many(join)) {
		rql_record_dispatch(c, "join.probe", few, &args, groups, uses.use, uses.count);
		return RQL_OK;
	}
	RQL_TRY(probe_pipeline(join, plan, args.flags, RQL_RELATION_JOIN_MANY_32, true, &many, err));
	if (join->tuning.many) {
		rql_record_dispatch(c, "join.probe_many", many, &args, groups, uses.use, uses.count);
		return RQL_OK;
	}
	const uint64_t choice = join->temp.offset + plan->choice;
	RQL_TRY(record_sample(c, join, plan, &args, (uint32_t)groups, err));
	rql_record_dispatch_indirect(c, "join.probe", few, &args, join->temp.buffer, choice, uses.use, uses.count);
	rql_record_dispatch_indirect(c, "join.probe_many", many, &args, join->temp.buffer, choice + 3 * 4, uses.use, uses.count);
	return RQL_OK;
}

/* Rows of one side, as they lie there: all that are without a match by the flags. */
static rql_status record_rest(struct rql_commands *c, const struct rql_join *join, struct rql_join_rest_args *args,
                              struct rql_error *err)
{
	struct rql_device *device = join->probe.keys.buffer->device;
	const bool of_build = args->flags & RQL_REST_OF_BUILD;
	uint32_t constants[] = {rql_relation_threads(device, REST_THREADS), 0};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_relation_pipeline(device, join->key_bits == 64 ? RQL_RELATION_JOIN_REST_64 : RQL_RELATION_JOIN_REST_32,
	                              constants, 2, &pipeline, err));
	args->keys_out = rql_span_address(&join->keys_out);
	args->found = rql_span_address(&join->rows);
	args->capacity = join->capacity;
	args->null_key = join->null_key;
	args->count = of_build ? join->build.count : join->probe.count;
	args->build_columns = join->build.column_count;
	args->probe_columns = join->probe.column_count;
	struct rql_uses uses = {.count = 0};
	add_uses(join, &uses);
	rql_record_dispatch(c, "join.rest", pipeline, args, rql_div_up(args->count, constants[0]), uses.use, uses.count);
	return RQL_OK;
}

/* The columns of both sides as they came in. */
static rql_status record_columns_in_place(struct rql_commands *c, const struct rql_join *join, const struct rql_span *to,
                                          struct rql_error *err)
{
	struct rql_word_table table = {.count = 0};
	const struct side_plan in_place = {.partitioned = false};
	add_columns(&table, join, &join->build, &in_place);
	add_columns(&table, join, &join->probe, &in_place);
	return rql_record_words(c, &table, to, err);
}

/* Probe rows that a bitmap left out of the partitions and that are rows of the output all the same. */
static rql_status record_nulls(struct rql_commands *c, const struct rql_join *join, const struct rql_span *table,
                               struct rql_error *err)
{
	struct rql_join_rest_args args = {.keys = rql_span_address(&join->probe.keys),
	                                  .columns = rql_span_address(table),
	                                  .valid = rql_span_address(&join->probe.valid),
	                                  .side_found = rql_span_address(&join->probe.found)};
	RQL_TRY(record_columns_in_place(c, join, table, err));
	return record_rest(c, join, &args, err);
}

/* Build rows without a match: those that lie in the partitions, and those that were left out for their key. */
static rql_status record_unmatched(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                                   const struct rql_span *table, struct rql_error *err)
{
	const uint64_t kept = rql_span_address(kept_of(join, false));
	struct rql_join_rest_args args = {.keys = rql_span_address(&join->build.keys),
	                                  .columns = rql_span_address(table),
	                                  .valid = kept + plan->matched,
	                                  .side_found = rql_span_address(&join->build.found),
	                                  .flags = RQL_REST_OF_BUILD};
	struct rql_join_rest_args partitioned = args;
	if (!plan->bits)
		return record_rest(c, join, &args, err);
	partitioned.keys = kept + plan->build.keys;
	partitioned.side_found = kept + plan->build.starts + (UINT64_C(4) << plan->bits);
	partitioned.flags |= RQL_REST_COUNT_32 | (is_paired(join, &join->build) ? RQL_REST_PAIRED : 0);
	RQL_TRY(record_rest(c, join, &partitioned, err));
	if (!join->has_null_key)
		return RQL_OK;
	args.flags |= RQL_REST_BY_KEY;
	RQL_TRY(record_columns_in_place(c, join, table, err));
	return record_rest(c, join, &args, err);
}

/* Where the columns of both sides come from and go to. */
static rql_status record_table(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                               const struct rql_span *to, struct rql_error *err)
{
	struct rql_word_table table = {.count = 0};
	add_columns(&table, join, &join->build, &plan->build);
	add_mark(&table, join);
	add_columns(&table, join, &join->probe, &plan->probe);
	return rql_record_words(c, &table, to, err);
}

static void record_rows_clear(struct rql_commands *c, const struct rql_join *join)
{
	rql_record_fill(c, join->rows.buffer, join->rows.offset, join->single ? 16 : 8, 0);
}

/* The rows of the build side's partitions in order of buckets, where they lie. */
static rql_status record_order(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                               struct rql_error *err)
{
	struct rql_device *device = join->probe.keys.buffer->device;
	const struct rql_join_args all = args_of(join, plan);
	const struct rql_join_order_args args = {.keys = all.build_keys,
	                                         .columns = all.columns,
	                                         .starts = all.build_starts,
	                                         .heads = rql_span_address(&join->built) + plan->heads,
	                                         .partitions_log2 = plan->bits,
	                                         .column_count = join->build.column_count,
	                                         .flags = all.flags};
	const struct rql_span to = rql_span_at(&join->temp, plan->table);
	uint32_t constants[] = {plan->order_threads, 0, plan->order_slots, plan->order_buckets};
	const struct rql_use uses[] = {{join->temp.buffer, RQL_READ}, {join->built.buffer, RQL_READ_WRITE}};
	const struct rql_pipeline *pipeline;
	struct rql_word_table table = {.count = 0};
	RQL_TRY(rql_relation_pipeline(device, join->key_bits == 64 ? RQL_RELATION_JOIN_ORDER_64 : RQL_RELATION_JOIN_ORDER_32,
	                              constants, 4, &pipeline, err));
	add_columns(&table, join, &join->build, &plan->build);
	RQL_TRY(rql_record_words(c, &table, &to, err));
	rql_record_dispatch(c, "join.order", pipeline, &args,
	                    (UINT64_C(1) << plan->bits) +
	                        rql_div_up(join->build.count / plan->order_slots + 1, RQL_JOIN_ORDER_TABLES), uses, 2);
	return RQL_OK;
}

/* The build side's partitions, and no row of it has a match. */
static rql_status record_build(struct rql_commands *c, const struct rql_join *join, const struct join_plan *plan,
                               struct rql_error *err)
{
	const struct rql_span *kept = kept_of(join, false);
	if (join->kind == RQL_JOIN_FULL)
		rql_record_fill(c, kept->buffer, kept->offset + plan->matched, matched_bytes(join), 0);
	if (!plan->bits)
		return RQL_OK;
	struct rql_partition p = partition_of(join, plan, false);
	RQL_TRY(rql_record_partition(c, &p, err));
	return plan->ordered ? record_order(c, join, plan, err) : RQL_OK;
}

rql_status rql_record_join_built(struct rql_commands *c, const struct rql_join *join, struct rql_error *err)
{
	RQL_TRY(check(join, err));
	if (!join->built.buffer)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join's build side has no memory that keeps it");
	struct join_plan plan = plan_of(join);
	return record_build(c, join, &plan, err);
}

rql_status rql_record_join_partitions(struct rql_commands *c, const struct rql_join *join, struct rql_error *err)
{
	RQL_TRY(check(join, err));
	struct join_plan plan = plan_of(join);
	struct rql_span to = rql_span_at(&join->temp, plan.table);
	record_rows_clear(c, join);
	if (!join->built.buffer)
		RQL_TRY(record_build(c, join, &plan, err));
	if (plan.bits) {
		struct rql_partition p = partition_of(join, &plan, true);
		RQL_TRY(rql_record_partition(c, &p, err));
	}
	return record_table(c, join, &plan, &to, err);
}

rql_status rql_record_join_matches(struct rql_commands *c, const struct rql_join *join, struct rql_error *err)
{
	struct join_plan plan = plan_of(join);
	struct rql_span to = rql_span_at(&join->temp, plan.table);
	RQL_TRY(plan.ordered ? record_look_up(c, join, &plan, err) : record_probe(c, join, &plan, err));
	if (join->kind == RQL_JOIN_FULL)
		return join->built.buffer ? RQL_OK : record_unmatched(c, join, &plan, &to, err);
	if (plan.bits && keeps_nulls(join) && join->probe.valid.buffer)
		return record_nulls(c, join, &to, err);
	return RQL_OK;
}

rql_status rql_record_join(struct rql_commands *c, const struct rql_join *join, struct rql_error *err)
{
	RQL_TRY(rql_record_join_partitions(c, join, err));
	return rql_record_join_matches(c, join, err);
}

rql_status rql_record_join_unmatched(struct rql_commands *c, const struct rql_join *join, struct rql_error *err)
{
	RQL_TRY(check(join, err));
	struct join_plan plan = plan_of(join);
	struct rql_span to = rql_span_at(&join->temp, plan.table);
	if (!join->built.buffer || join->kind != RQL_JOIN_FULL)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "build rows without a match are those of a full join that is built");
	record_rows_clear(c, join);
	RQL_TRY(record_table(c, join, &plan, &to, err));
	return record_unmatched(c, join, &plan, &to, err);
}
