/* Radix partition on a GPU, the most significant bits first, in one or two passes: count, a prefix sum, scatter. Rows of
 * two passes are counted once, by the last partitions, while shared memory has room for so many counters. The second pass
 * cuts its tiles at the borders of the first one's partitions, so that no list of tiles is made.
 * Floor over n rows of b bytes with keys of k: n * (k + 2 * b * passes) bytes. */
#include "primitive/relation/relation_internal.h"

#define CHUNK_GROUPS 2048u /* workgroups that count: each adds up its counters once */
/* Of a workgroup that scatters. A tile's runs are longer the more threads there are; where they are long enough, as there
 * are few partitions and one column at most, or one beside pairs, two workgroups of a multiprocessor hide each other's
 * waiting. Both sides of a join with two columns a side: 4.0 ms by 1,024 threads, 3.5 by 512, on an H200. */
#define THREADS 1024u
#define THREADS_SHORT 512u
#define SHORT_BITS 6u
#define SHORT_BITS_PAIRED 8u

/* Of both passes counted at once. */
#define BOTH_GROUPS 2u /* to a chunk, at most */
#define BOTH_THREADS 1024u
/* Rows of a chunk: as many for each counter, which is added up once; fewer where there would be too few chunks. */
#define BOTH_ROWS 16u
#define BOTH_CHUNKS 256u
#define BOTH_LEAST 32768u

struct partition_plan {
	uint32_t passes, bits[2];
	uint32_t both_groups, both_words, both_chunk; /* of partition_count_both.comp; 0: each pass counts */
	uint32_t threads, tile, chunk;  /* of a workgroup that scatters, and its rows; rows of one that counts */
	uint64_t partitions[2];         /* after each pass */
	/* offsets in temp */
	uint64_t keys, columns[RQL_RELATION_COLUMNS]; /* between the passes */
	uint64_t starts, counts[2], taken[2], counters_end, tables[2], scan_temp, bytes;
};

static struct rql_span starts_of(const struct rql_partition *p, const struct partition_plan *plan, uint32_t pass)
{
	return pass + 1 == plan->passes || plan->both_groups ? p->starts : rql_span_at(&p->temp, plan->starts);
}

static struct rql_prefix_sum prefix_of(const struct rql_partition *p, const struct partition_plan *plan, uint32_t pass)
{
	return (struct rql_prefix_sum){
		.kind = RQL_PREFIX_U32_U32,
		.count = plan->partitions[pass] + 1,
		.in = rql_span_at(&p->temp, plan->counts[pass]),
		.out = starts_of(p, plan, pass),
		.temp = rql_span_at(&p->temp, plan->scan_temp),
	};
}

/* Of a key as it comes out. */
static uint32_t key_bytes(const struct rql_partition *p)
{
	return p->paired ? 8 : p->key_bits / 8;
}

/* Counters of a pass: few sizes, as each is a pipeline. */
static uint32_t partitions_of(uint32_t bits)
{
	return bits <= 8 ? 256 : 1u << RQL_PARTITION_PASS_BITS;
}

/* At most as large as shared memory allows. */
static void choose_tile(const struct rql_partition *p, struct partition_plan *plan)
{
	const struct rql_device *device = p->keys.buffer->device;
	uint32_t room = rql_relation_shared(device, device->limits.group_size) - partitions_of(plan->bits[0]) * 8 - 4;
	uint32_t short_bits = p->paired && p->column_count <= 2 ? SHORT_BITS_PAIRED : p->column_count > 1 ? 0 : SHORT_BITS;
	plan->threads = p->tuning.partition_threads        ? p->tuning.partition_threads
	                : plan->bits[0] <= short_bits ? THREADS_SHORT
	                                              : THREADS;
	while (plan->threads > 64 &&
	       (plan->threads > device->limits.group_size || plan->threads * RQL_PARTITION_ITEMS * 4 > room))
		plan->threads /= 2;
	plan->tile = plan->threads * RQL_PARTITION_ITEMS;
	uint64_t each = rql_div_up(rql_div_up(p->count, CHUNK_GROUPS), plan->tile);
	plan->chunk = (uint32_t)(each ? each : 1) * plan->tile;
}

static void choose_both(const struct rql_partition *p, struct partition_plan *plan)
{
	const struct rql_device *device = p->keys.buffer->device;
	const uint32_t threads = rql_relation_threads(device, BOTH_THREADS), partitions = 1u << p->bits;
	uint32_t words = partitions / 2;
	while (words * 4 > rql_relation_shared(device, threads))
		words /= 2;
	if (partitions / 2 / words > BOTH_GROUPS)
		return;
	plan->both_words = words;
	plan->both_groups = partitions / 2 / words;
	const uint64_t chunk = p->count / BOTH_CHUNKS < BOTH_LEAST ? BOTH_LEAST : p->count / BOTH_CHUNKS;
	plan->both_chunk = chunk < BOTH_ROWS * partitions ? (uint32_t)chunk : BOTH_ROWS * partitions;
}

static struct partition_plan plan_of(const struct rql_partition *p)
{
	struct partition_plan plan = {.passes = !p->bits ? 0 : p->bits <= RQL_PARTITION_PASS_BITS ? 1 : 2};
	plan.bits[0] = plan.passes == 2 ? (p->bits + 1) / 2 : p->bits;
	plan.bits[1] = plan.passes == 2 ? p->bits / 2 : 0;
	plan.partitions[0] = UINT64_C(1) << plan.bits[0];
	plan.partitions[1] = UINT64_C(1) << p->bits;
	choose_tile(p, &plan);
	if (plan.passes == 2)
		choose_both(p, &plan);
	uint64_t at = 0;
	for (uint32_t pass = 0; pass < plan.passes; pass++) {
		if (pass || !plan.both_groups)
			plan.counts[pass] = rql_temp_take(&at, (plan.partitions[pass] + 1) * 4);
		plan.taken[pass] = rql_temp_take(&at, plan.partitions[pass] * 4);
	}
	plan.counters_end = at;
	for (uint32_t pass = 0; pass < plan.passes; pass++)
		plan.tables[pass] = rql_temp_take(&at, p->column_count * RQL_COLUMN_WORDS * 8);
	if (plan.passes == 2) {
		plan.starts = plan.both_groups ? 0 : rql_temp_take(&at, (plan.partitions[0] + 1) * 4);
		plan.keys = rql_temp_take(&at, p->count * key_bytes(p));
		for (uint32_t i = p->paired; i < p->column_count; i++)
			plan.columns[i] = rql_temp_take(&at, p->count * p->columns[i].bits / 8);
	}
	plan.scan_temp = at;
	for (uint32_t pass = 0; pass < plan.passes; pass++) {
		struct rql_prefix_sum prefix = prefix_of(p, &plan, pass);
		uint64_t end = plan.scan_temp + rql_prefix_temp_bytes(&prefix);
		at = end > at ? end : at;
	}
	plan.bytes = at;
	return plan;
}

uint64_t rql_partition_temp_bytes(const struct rql_partition *partition)
{
	return plan_of(partition).bytes;
}

static uint64_t undo_bytes(const struct rql_partition *p, const struct partition_plan *plan)
{
	return rql_div_up(p->count, plan->tile) * RQL_UNDO_WORDS(p->bits, plan->tile) * 4;
}

uint64_t rql_partition_undo_bytes(const struct rql_partition *partition)
{
	struct partition_plan plan = plan_of(partition);
	return undo_bytes(partition, &plan);
}

static rql_status check(const struct rql_partition *p, struct rql_error *err)
{
	const struct rql_relation_tuning *t = &p->tuning;
	if ((p->key_bits != 32 && p->key_bits != 64) || !p->bits || p->bits > 2 * RQL_PARTITION_PASS_BITS ||
	    p->count > RQL_RELATION_ROWS ||
	    (p->paired && (p->key_bits != 32 || !p->column_count || p->columns[0].bits != 32 || p->undo.buffer ||
	                   p->count > RQL_PAIRED_ROWS)) ||
	    (t->partition_threads & (t->partition_threads - 1)) || !p->keys.buffer || p->shift > 63 ||
	    (p->undo.buffer && p->bits > RQL_PARTITION_PASS_BITS))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a partition of %llu keys of %u bits by %u bits cannot be asked for",
		                     (unsigned long long)p->count, p->key_bits, p->bits);
	RQL_TRY(rql_span_check(&p->keys, p->count, p->key_bits / 8, "keys of a partition", err));
	RQL_TRY(rql_span_check(&p->keys_out, p->count, key_bytes(p), "partitioned keys", err));
	RQL_TRY(rql_span_check(&p->starts, (UINT64_C(1) << p->bits) + 1, 4, "starts of partitions", err));
	RQL_TRY(rql_relation_check_columns(p->columns, p->paired, p->count, p->count, false, "a partition", err));
	RQL_TRY(rql_relation_check_columns(p->columns + p->paired, p->column_count - p->paired, p->count, p->count, true,
	                                   "a partition", err));
	if (p->found.buffer)
		RQL_TRY(rql_span_check(&p->found, 1, 8, "number of rows of a partition", err));
	if (p->valid.buffer)
		RQL_TRY(rql_span_check(&p->valid, rql_div_up(p->count, 64), 8, "bitmap of a partition", err));
	struct partition_plan plan = plan_of(p);
	if (p->undo.buffer)
		RQL_TRY(rql_span_check(&p->undo, undo_bytes(p, &plan) / 4, 4, "way back of a partition", err));
	return rql_span_check(&p->temp, plan.bytes / 8, 8, "temporary words of a partition", err);
}

/* Where keys and columns are before and after a pass. */
struct partition_move {
	struct rql_span keys_in, keys_out;
	struct rql_relation_column columns[RQL_RELATION_COLUMNS];
};

static struct partition_move move_of(const struct rql_partition *p, const struct partition_plan *plan, uint32_t pass)
{
	bool first = pass == 0, last = pass + 1 == plan->passes;
	struct partition_move move = {
		.keys_in = first ? p->keys : rql_span_at(&p->temp, plan->keys),
		.keys_out = last ? p->keys_out : rql_span_at(&p->temp, plan->keys),
	};
	for (uint32_t i = 0; i < p->column_count; i++) {
		struct rql_span between = rql_span_at(&p->temp, plan->columns[i]);
		move.columns[i] = p->columns[i];
		if (!first)
			move.columns[i].in = between;
		if (!last)
			move.columns[i].out = between;
	}
	return move;
}

static rql_status record_table(struct rql_commands *c, const struct rql_partition *p, const struct partition_move *move,
                               uint64_t at, struct rql_error *err)
{
	struct rql_word_table table = {.count = 0};
	struct rql_span to = rql_span_at(&p->temp, at);
	for (uint32_t i = 0; i < p->column_count; i++)
		rql_table_column(&table, &move->columns[i].in, &move->columns[i].out,
		                 move->columns[i].bits == 64 ? RQL_COLUMN_WIDE : 0);
	return rql_record_words(c, &table, &to, err);
}

static struct rql_partition_args args_of(const struct rql_partition *p, const struct partition_plan *plan,
                                         const struct partition_move *move, uint32_t pass)
{
	const struct rql_span starts = starts_of(p, plan, pass), parents = starts_of(p, plan, 0);
	const uint32_t apart_log2 = plan->both_groups ? plan->bits[1] : 0;
	struct rql_partition_args args = {
		.keys_in = rql_span_address(&move->keys_in),
		.keys_out = rql_span_address(&move->keys_out),
		.columns = rql_span_address(&p->temp) + plan->tables[pass],
		.counts = rql_span_address(&p->temp) + plan->counts[pass],
		.starts = rql_span_address(&starts),
		.count = p->count,
		.flags = (p->random_keys ? RQL_ROWS_RAW : 0) | (p->paired && pass ? RQL_ROWS_PAIRED : 0),
		.base = p->base,
		.undo = rql_span_address(&p->undo),
		.shift = p->by_range ? p->shift | (pass ? plan->bits[0] << 16 : plan->bits[1] << 8)
		                     : 32 - plan->bits[0] - (pass ? plan->bits[1] : 0),
		.bits = plan->bits[pass],
		.parent_count = 1,
		.column_count = p->column_count,
		.chunk = plan->chunk,
	};
	if (pass) {
		args.parents = rql_span_address(&parents);
		args.parent_count = (uint32_t)plan->partitions[0];
		args.parents_log2 = apart_log2;
	} else {
		args.starts_log2 = apart_log2;
		args.found = rql_span_address(&p->found);
		args.valid = rql_span_address(&p->valid);
		args.null_key = p->null_key;
		args.flags |= p->has_null_key ? RQL_ROWS_NULL_KEY : 0;
	}
	return args;
}

static uint32_t shape_of(const struct rql_partition *p, uint32_t pass)
{
	uint32_t shape = (p->paired && pass ? RQL_PARTITION_PAIRS_IN : 0) | (p->by_range ? RQL_PARTITION_RANGES : 0);
	for (uint32_t i = p->paired; i < p->column_count; i++)
		shape |= p->columns[i].bits == 64 ? RQL_PARTITION_WIDE : RQL_PARTITION_NARROW;
	return shape;
}

static void add_uses(const struct rql_partition *p, const struct partition_move *move, struct rql_uses *uses)
{
	rql_uses_add(uses, &p->temp, RQL_READ_WRITE);
	rql_uses_add(uses, &move->keys_in, RQL_READ);
	rql_uses_add(uses, &p->found, RQL_READ);
	rql_uses_add(uses, &p->valid, RQL_READ);
}

/* Rows of each partition after a pass, by this kernel, and where they begin. */
static rql_status record_counts(struct rql_commands *c, const struct rql_partition *p, const struct partition_plan *plan,
                                uint32_t pass, const struct partition_move *move, const struct rql_pipeline *count,
                                const struct rql_partition_args *args, uint64_t groups, struct rql_error *err)
{
	const struct rql_prefix_sum prefix = prefix_of(p, plan, pass);
	struct rql_uses uses = {.count = 0};
	add_uses(p, move, &uses);
	rql_record_dispatch(c, "partition.count", count, args, groups, uses.use, uses.count);
	return rql_record_prefix_sum(c, &prefix, err);
}

static rql_status record_count(struct rql_commands *c, const struct rql_partition *p, const struct partition_plan *plan,
                               uint32_t pass, struct rql_error *err)
{
	struct rql_device *device = p->keys.buffer->device;
	const struct partition_move move = move_of(p, plan, pass);
	const struct rql_partition_args args = args_of(p, plan, &move, pass);
	const enum rql_relation_kernel kernel = p->key_bits == 64 ? RQL_RELATION_PARTITION_COUNT_64 : RQL_RELATION_PARTITION_COUNT_32;
	uint32_t constants[] = {rql_relation_threads(device, 512), 0, p->by_range};
	const struct rql_pipeline *count;
	RQL_TRY(rql_relation_pipeline(device, kernel, constants, 3, &count, err));
	return record_counts(c, p, plan, pass, &move, count, &args, rql_div_up(p->count, plan->chunk), err);
}

/* Of both passes at once: the last partitions of a first one follow each other. */
static rql_status record_count_both(struct rql_commands *c, const struct rql_partition *p, const struct partition_plan *plan,
                                    struct rql_error *err)
{
	struct rql_device *device = p->keys.buffer->device;
	const struct partition_move move = move_of(p, plan, 0);
	struct rql_partition_args args = args_of(p, plan, &move, 0);
	const enum rql_relation_kernel kernel =
		p->key_bits == 64 ? RQL_RELATION_PARTITION_COUNT_BOTH_64 : RQL_RELATION_PARTITION_COUNT_BOTH_32;
	uint32_t constants[] = {rql_relation_threads(device, BOTH_THREADS), 0, plan->both_words, p->by_range};
	const struct rql_pipeline *count;
	RQL_TRY(rql_relation_pipeline(device, kernel, constants, 4, &count, err));
	args.counts = rql_span_address(&p->temp) + plan->counts[1];
	args.bits = p->bits;
	args.shift = p->by_range ? p->shift : args.shift - plan->bits[1];
	args.parent_count = plan->both_groups;
	args.chunk = plan->both_chunk;
	return record_counts(c, p, plan, 1, &move, count, &args, rql_div_up(p->count, args.chunk) * plan->both_groups, err);
}

static rql_status record_scatter(struct rql_commands *c, const struct rql_partition *p, const struct partition_plan *plan,
                                 uint32_t pass, struct rql_error *err)
{
	struct rql_device *device = p->keys.buffer->device;
	const struct partition_move move = move_of(p, plan, pass);
	struct rql_partition_args args = args_of(p, plan, &move, pass);
	uint32_t constants[] = {plan->threads, 0, partitions_of(plan->bits[0]), plan->tile, shape_of(p, pass)};
	const enum rql_relation_kernel kernel = p->paired            ? RQL_RELATION_PARTITION_SCATTER_PAIRS
	                                        : p->key_bits == 64 ? RQL_RELATION_PARTITION_SCATTER_64
	                                                            : RQL_RELATION_PARTITION_SCATTER_32;
	const struct rql_pipeline *scatter;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_relation_pipeline(device, kernel, constants, 5, &scatter, err));
	args.counts = rql_span_address(&p->temp) + plan->taken[pass];
	args.chunk = plan->tile;
	add_uses(p, &move, &uses);
	rql_uses_add(&uses, &p->starts, RQL_READ);
	rql_uses_add(&uses, &move.keys_out, RQL_WRITE);
	rql_uses_add(&uses, &p->undo, RQL_WRITE);
	for (uint32_t i = 0; i < p->column_count; i++) {
		rql_uses_add(&uses, &move.columns[i].in, RQL_READ);
		rql_uses_add(&uses, &move.columns[i].out, RQL_WRITE);
	}
	rql_record_dispatch(c, "partition.scatter", scatter, &args, rql_div_up(p->count, plan->tile), uses.use, uses.count);
	return RQL_OK;
}

rql_status rql_record_partition(struct rql_commands *c, const struct rql_partition *partition, struct rql_error *err)
{
	RQL_TRY(check(partition, err));
	const struct partition_plan plan = plan_of(partition);
	rql_record_fill(c, partition->temp.buffer, partition->temp.offset, plan.counters_end, 0);
	for (uint32_t pass = 0; pass < plan.passes; pass++) {
		const struct partition_move move = move_of(partition, &plan, pass);
		RQL_TRY(record_table(c, partition, &move, plan.tables[pass], err));
	}
	if (plan.both_groups)
		RQL_TRY(record_count_both(c, partition, &plan, err));
	for (uint32_t pass = 0; pass < plan.passes; pass++) {
		if (!plan.both_groups)
			RQL_TRY(record_count(c, partition, &plan, pass, err));
		RQL_TRY(record_scatter(c, partition, &plan, pass, err));
	}
	return RQL_OK;
}

rql_status rql_record_unpartition(struct rql_commands *c, const struct rql_partition *partition, uint32_t word_bits,
                                  const struct rql_span *in, const struct rql_span *out, struct rql_error *err)
{
	const struct rql_partition *p = partition;
	struct rql_device *device = p->keys.buffer->device;
	struct partition_plan plan = plan_of(p);
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	uint32_t constants[] = {plan.threads, 0, partitions_of(p->bits), plan.tile};
	RQL_TRY(check(p, err));
	if (!p->undo.buffer || (word_bits != 32 && word_bits != 64))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "words of %u bits cannot go back: %s", word_bits,
		                     p->undo.buffer ? "32 or 64" : "their partition has no way back");
	RQL_TRY(rql_span_check(in, p->count, word_bits / 8, "words in the order of partitions", err));
	RQL_TRY(rql_span_check(out, p->count, word_bits / 8, "words in the order of rows", err));
	RQL_TRY(rql_relation_pipeline(device, word_bits == 64 ? RQL_RELATION_UNPARTITION_64 : RQL_RELATION_UNPARTITION_32,
	                              constants, 4, &pipeline, err));
	struct rql_unpartition_args args = {
		.in_words = rql_span_address(in),
		.out_words = rql_span_address(out),
		.undo = rql_span_address(&p->undo),
		.found = rql_span_address(&p->found),
		.count = p->count,
		.bits = p->bits,
	};
	rql_uses_add(&uses, in, RQL_READ);
	rql_uses_add(&uses, &p->undo, RQL_READ);
	rql_uses_add(&uses, &p->found, RQL_READ);
	rql_uses_add(&uses, out, RQL_WRITE);
	rql_record_dispatch(c, "unpartition", pipeline, &args, rql_div_up(p->count, plan.tile), uses.use, uses.count);
	return RQL_OK;
}
