/* Radix sort on a GPU, least significant digit first: count the digits of each workgroup's items, a prefix sum over
 * [digit][workgroup], scatter. A digit of 8 bits moves 3 keys and 2 values per item: 32-bit keys alone have a floor of
 * 48 bytes a key, 90 G keys/s at 4.3 TB/s. */
#include "primitive/relation/relation_internal.h"

#define DIGIT_BITS 8u
#define THREADS 1024u /* of a workgroup that scatters */
#define ITEMS 8u      /* of a thread, as in sort_scatter.comp */
#define GROUPS_MAX 2048u /* several per multiprocessor of the largest GPUs; bounds the histogram to 2 MiB */

struct sort_plan {
	uint32_t passes;
	uint32_t key_bytes, value_bytes;
	uint32_t threads, pool; /* of the scatter: its workgroup, and words of its shared memory */
	uint64_t group_items, groups;
	bool wide; /* more than 2^32 items: 64-bit positions */
	/* offsets in temp */
	uint64_t keys, values, histogram, positions, scan_temp, bytes;
};

static struct rql_prefix_sum prefix_of(const struct rql_sort *sort, const struct sort_plan *plan)
{
	return (struct rql_prefix_sum){
		.kind = plan->wide ? RQL_PREFIX_U32_U64 : RQL_PREFIX_U32_U32,
		.count = RQL_SORT_DIGITS * plan->groups,
		.in = rql_span_at(&sort->temp, plan->histogram),
		.out = rql_span_at(&sort->temp, plan->positions),
		.temp = rql_span_at(&sort->temp, plan->scan_temp),
	};
}

/* Tiles as large as shared memory allows: runs of equal digits are then the longest. It holds a tile's keys or values,
 * and before them a counter for each digit and subgroup. */
static void choose_tile(const struct rql_sort *sort, struct sort_plan *plan)
{
	const struct rql_device *device = sort->keys_in.buffer->device;
	uint32_t words = sort->key_bits == 64 || sort->value_bits == 64 ? 2 : 1;
	uint32_t room = rql_relation_shared(device, THREADS) - RQL_SORT_DIGITS * 20; /* bases, moves, starts */
	plan->threads = rql_relation_threads(device, THREADS / words);
	for (;; plan->threads /= 2) {
		uint32_t items = plan->threads * ITEMS * words;
		uint32_t counters = rql_relation_subgroups(device, plan->threads) * RQL_SORT_DIGITS;
		plan->pool = items > counters ? items : counters;
		if (plan->pool * 4 <= room || plan->threads <= device->limits.subgroup_size)
			return;
	}
}

static struct sort_plan plan_of(const struct rql_sort *sort)
{
	struct sort_plan p = {.key_bytes = sort->key_bits / 8, .value_bytes = sort->value_bits / 8};
	if (!sort->count)
		return p;
	p.passes = (sort->high_bit - sort->low_bit + DIGIT_BITS - 1) / DIGIT_BITS;
	choose_tile(sort, &p);
	uint64_t tile = p.threads * ITEMS;
	p.group_items = rql_div_up(rql_div_up(sort->count, tile), GROUPS_MAX) * tile;
	p.groups = rql_div_up(sort->count, p.group_items);
	p.wide = sort->count >> 32 != 0;
	uint64_t at = 0;
	p.keys = at;
	at += rql_temp_round(sort->count * p.key_bytes);
	p.values = at;
	at += rql_temp_round(sort->count * p.value_bytes);
	p.histogram = at;
	at += rql_temp_round(RQL_SORT_DIGITS * p.groups * 4);
	p.positions = p.wide ? at : p.histogram; /* 32-bit ones in place */
	at += p.wide ? rql_temp_round(RQL_SORT_DIGITS * p.groups * 8) : 0;
	p.scan_temp = at;
	struct rql_prefix_sum prefix = prefix_of(sort, &p);
	p.bytes = p.passes ? at + rql_prefix_temp_bytes(&prefix) : 0;
	return p;
}

uint64_t rql_sort_temp_bytes(const struct rql_sort *sort)
{
	return plan_of(sort).bytes;
}

uint64_t rql_sort_groups(const struct rql_sort *sort)
{
	return plan_of(sort).groups;
}

static bool same(const struct rql_span *a, const struct rql_span *b)
{
	return a->buffer == b->buffer && a->offset == b->offset;
}

static bool makes_pairs(const struct rql_sort *sort)
{
	return sort->value_bits && !sort->values_out.buffer;
}

static rql_status check(const struct rql_sort *sort, struct rql_error *err)
{
	uint32_t k = sort->key_bits, v = sort->value_bits;
	if ((k != 32 && k != 64) || (v != 0 && v != 32 && v != 64) || sort->low_bit > sort->high_bit ||
	    sort->high_bit > k || (v == 32 && !sort->values_in.buffer && sort->count > UINT64_C(1) << 32))
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a sort of %llu keys of %u bits with values of %u bits by bits %u to %u",
		                     (unsigned long long)sort->count, k, v, sort->low_bit, sort->high_bit);
	RQL_TRY(rql_span_check(&sort->keys_in, sort->count, k / 8, "keys of a sort", err));
	bool pairs = makes_pairs(sort);
	if (pairs && (k != 32 || v != 32 || sort->low_bit == sort->high_bit || same(&sort->keys_in, &sort->keys_out)))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a sort makes pairs of keys and values of 32 bits, and not in place");
	RQL_TRY(rql_span_check(&sort->keys_out, sort->count, pairs ? 8 : k / 8, "sorted keys of a sort", err));
	if (v && sort->values_in.buffer)
		RQL_TRY(rql_span_check(&sort->values_in, sort->count, v / 8, "values of a sort", err));
	if (v && !pairs)
		RQL_TRY(rql_span_check(&sort->values_out, sort->count, v / 8, "sorted values of a sort", err));
	if (sort->groups.buffer) {
		if (same(&sort->keys_in, &sort->keys_out) || sort->low_bit == sort->high_bit)
			return rql_error_set(err, RQL_ERROR_INTERNAL, "a sort that the device may leave out is in place, or by no bits");
		RQL_TRY(rql_span_check(&sort->groups, 3, 4, "workgroups of a sort", err));
	}
	uint64_t temp = plan_of(sort).bytes;
	if (temp)
		RQL_TRY(rql_span_check(&sort->temp, temp / 8, 8, "temporary words of a sort", err));
	return RQL_OK;
}

/* Where the items of a pass come from and go to. */
struct sort_move {
	struct rql_span keys_in, values_in, keys_out, values_out;
	uint32_t shift, bits, stride;
};

static void record_groups(struct rql_commands *c, const struct rql_sort *sort, const struct sort_plan *plan, const char *pass,
                          const struct rql_pipeline *pipeline, const struct rql_sort_args *args, const struct rql_uses *uses)
{
	if (sort->groups.buffer)
		rql_record_dispatch_indirect(c, pass, pipeline, args, sort->groups.buffer, sort->groups.offset, uses->use,
		                             uses->count);
	else
		rql_record_dispatch(c, pass, pipeline, args, plan->groups, uses->use, uses->count);
}

static rql_status record_digit(struct rql_commands *c, const struct rql_sort *sort, const struct sort_plan *plan,
                               const struct sort_move *move, struct rql_error *err)
{
	static const enum rql_relation_kernel scatters[2][3] = {
		{RQL_RELATION_SORT_SCATTER_32_0, RQL_RELATION_SORT_SCATTER_32_32, RQL_RELATION_SORT_SCATTER_32_64},
		{RQL_RELATION_SORT_SCATTER_64_0, RQL_RELATION_SORT_SCATTER_64_32, RQL_RELATION_SORT_SCATTER_64_64},
	};
	struct rql_device *device = sort->keys_in.buffer->device;
	bool wide_keys = sort->key_bits == 64;
	uint32_t constants[] = {plan->threads, 0, plan->pool};
	const struct rql_pipeline *count, *scatter;
	RQL_TRY(rql_primitive_pipeline(device, wide_keys ? RQL_KERNEL_SORT_COUNT_64 : RQL_KERNEL_SORT_COUNT_32, NULL, 0,
	                               &count, err));
	RQL_TRY(rql_relation_pipeline(device, scatters[wide_keys][sort->value_bits / 32], constants, 3, &scatter, err));
	struct rql_prefix_sum prefix = prefix_of(sort, plan);
	prefix.count = plan->groups << move->bits;
	struct rql_sort_args args = {
		.keys_in = rql_span_address(&move->keys_in),
		.keys_out = rql_span_address(&move->keys_out),
		.values_in = rql_span_address(&move->values_in),
		.values_out = rql_span_address(&move->values_out),
		.histogram = rql_span_address(&prefix.in),
		.count = sort->count,
		.group_items = plan->group_items,
		.groups = plan->groups,
		.shift = move->shift,
		.bits = move->bits,
		.wide = plan->wide,
		.stride = move->stride,
	};
	struct rql_uses uses = {.count = 0};
	rql_uses_add(&uses, &sort->temp, RQL_READ_WRITE);
	rql_uses_add(&uses, &move->keys_in, RQL_READ);
	rql_uses_add(&uses, &sort->groups, RQL_READ);
	record_groups(c, sort, plan, "sort.count", count, &args, &uses);
	RQL_TRY(rql_record_prefix_sum(c, &prefix, err));
	args.histogram = rql_span_address(&prefix.out);
	rql_uses_add(&uses, &move->keys_out, RQL_WRITE);
	rql_uses_add(&uses, &move->values_in, RQL_READ);
	rql_uses_add(&uses, &move->values_out, RQL_WRITE);
	record_groups(c, sort, plan, "sort.scatter", scatter, &args, &uses);
	return RQL_OK;
}

/* Whole 4-byte words: items are 4 or 8 bytes. */
static void record_copy(struct rql_commands *c, const struct rql_span *from, const struct rql_span *to, uint64_t bytes)
{
	if (bytes && !same(from, to))
		rql_record_copy(c, from->buffer, from->offset, to->buffer, to->offset, bytes);
}

rql_status rql_record_sort(struct rql_commands *c, const struct rql_sort *sort, struct rql_error *err)
{
	RQL_TRY(check(sort, err));
	struct sort_plan plan = plan_of(sort);
	if (!sort->count)
		return RQL_OK;
	if (!plan.passes) { /* no digit: the order stays */
		if (sort->value_bits && !sort->values_in.buffer)
			return rql_error_set(err, RQL_ERROR_INTERNAL, "a sort by no bits has no permutation to make");
		record_copy(c, &sort->keys_in, &sort->keys_out, sort->count * plan.key_bytes);
		if (sort->value_bits)
			record_copy(c, &sort->values_in, &sort->values_out, sort->count * plan.value_bytes);
		return RQL_OK;
	}
	struct rql_span spare_keys = rql_span_at(&sort->temp, plan.keys);
	struct rql_span spare_values = plan.value_bytes ? rql_span_at(&sort->temp, plan.values) : (struct rql_span){0};
	/* The passes alternate between spare and output so that the last one ends in the output. In place and with an odd
	 * number the first would write what it reads: the input is moved to the spare memory before. */
	struct sort_move move = {.keys_in = sort->keys_in, .values_in = sort->values_in};
	bool odd = plan.passes % 2, pairs = makes_pairs(sort);
	/* Until the last pass pairs lie apart in their memory. */
	struct rql_span values_out = pairs ? rql_span_at(&sort->keys_out, sort->count * plan.key_bytes) : sort->values_out;
	if (odd && same(&sort->keys_in, &sort->keys_out)) {
		record_copy(c, &sort->keys_in, &spare_keys, sort->count * plan.key_bytes);
		move.keys_in = spare_keys;
	}
	if (odd && sort->values_in.buffer && same(&sort->values_in, &sort->values_out)) {
		record_copy(c, &sort->values_in, &spare_values, sort->count * plan.value_bytes);
		move.values_in = spare_values;
	}
	for (uint32_t pass = 0; pass < plan.passes; pass++) {
		bool to_output = (plan.passes - pass) % 2;
		move.keys_out = to_output ? sort->keys_out : spare_keys;
		move.values_out = !plan.value_bytes ? (struct rql_span){0} : to_output ? values_out : spare_values;
		if (pairs && pass + 1 == plan.passes) {
			move.values_out = rql_span_at(&sort->keys_out, plan.key_bytes);
			move.stride = 1;
		}
		move.shift = sort->low_bit + pass * DIGIT_BITS;
		uint32_t left = sort->high_bit - move.shift;
		move.bits = left < DIGIT_BITS ? left : DIGIT_BITS;
		RQL_TRY(record_digit(c, sort, &plan, &move, err));
		move.keys_in = move.keys_out;
		move.values_in = move.values_out;
	}
	return RQL_OK;
}
