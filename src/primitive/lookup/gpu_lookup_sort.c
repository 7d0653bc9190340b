/* The keys of a sorted map and their rows in order. Where the map's bounds tell how keys are spread, they are partitioned by
 * ranges until the rows of one fit shared memory, and a workgroup sorts each: the entries of the map's directory are its
 * buckets, so the directory is there as well. Bounds are a hint: what keys are crowded into one range, or are many
 * times the same, is seen on the device, and a radix sort of all takes the work then.
 * Floor over n keys of k bytes: n * (7 * k + 20) bytes for two passes, and the directory's. The radix sort moves 3 * k + 8 for
 * each 8 bits of k. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_directory_32.comp.h"
#include "shaders/primitive/lookup_directory_64.comp.h"
#include "shaders/primitive/lookup_sort_32.comp.h"
#include "shaders/primitive/lookup_sort_64.comp.h"
#include "shaders/primitive/lookup_sort_choose.comp.h"

#define RANGED_ROWS (UINT64_C(1) << 14) /* from so many on there are partitions enough */
#define ROWS_MOST 4096u                 /* of a partition, on average */
#define ROWS_LEAST 512u
#define SLOTS_OF(rows) ((rows) + (rows) / 8 + 64) /* sizes vary with the square root: room for six deviations and more */
#define CHOOSE_THREADS 1024u

static const struct rql_kernel directory_kernels[2] = {RQL_LOOKUP_KERNEL(lookup_directory_32, rql_lookup_args),
                                                       RQL_LOOKUP_KERNEL(lookup_directory_64, rql_lookup_args)};
static const struct rql_kernel sort_kernels[2] = {RQL_LOOKUP_KERNEL(lookup_sort_32, rql_lookup_sort_args),
                                                  RQL_LOOKUP_KERNEL(lookup_sort_64, rql_lookup_sort_args)};
static const struct rql_kernel choose_kernel = RQL_LOOKUP_KERNEL(lookup_sort_choose, rql_lookup_sort_choose_args);

struct sort_plan {
	bool ranged;
	uint32_t shift, entries_log2, bits; /* of the directory; its entries in a partition; partitions */
	uint32_t threads, slots;            /* of a workgroup; rows of a partition at most */
	uint64_t last;                      /* entry */
	/* offsets in temp */
	uint64_t keys, rows, starts, choice, part_temp, sort_temp, bytes;
};

static struct rql_sort sort_of(const struct rql_lookup_build *build, const struct sort_plan *plan)
{
	struct rql_sort sort = {
		.key_bits = build->map.key_bits,
		.value_bits = 32,
		.high_bit = build->map.key_bits,
		.count = build->map.count,
		.keys_in = build->keys,
		.keys_out = build->map.keys,
		.values_out = build->map.rows,
		.temp = rql_span_at(&build->temp, plan->sort_temp),
	};
	if (plan->ranged)
		sort.groups = rql_span_at(&build->temp, plan->choice + RQL_LOOKUP_CHOICE_SORT * 12);
	return sort;
}

static struct rql_partition partition_of(const struct rql_lookup_build *build, const struct sort_plan *plan)
{
	const struct rql_lookup_map *map = &build->map;
	const bool paired = map->key_bits == 32;
	return (struct rql_partition){
		.key_bits = map->key_bits,
		.bits = plan->bits,
		.by_range = true,
		.base = map->low,
		.shift = plan->shift + plan->entries_log2,
		.paired = paired,
		.count = map->count,
		.keys = build->keys,
		.keys_out = rql_span_at(&build->temp, plan->keys),
		.column_count = 1,
		.columns = {{.bits = 32, .out = paired ? (struct rql_span){0} : rql_span_at(&build->temp, plan->rows)}},
		.starts = rql_span_at(&build->temp, plan->starts),
		.temp = rql_span_at(&build->temp, plan->part_temp),
	};
}

/* Shared memory of a workgroup that sorts a partition. */
static uint64_t shared_bytes(const struct rql_lookup_map *map, uint32_t slots, uint32_t entries_log2)
{
	return (uint64_t)slots * (map->key_bits / 8 + 4) + RQL_LOOKUP_SORT_WORDS(entries_log2) * 4;
}

/* Partitions of as many rows as fit, each some entries of the directory. False: an entry has too many rows, or there are too
 * few keys. */
static bool choose_ranges(const struct rql_lookup_map *map, const struct rql_device *device, struct sort_plan *plan)
{
	const uint32_t room = rql_relation_shared(device, device->limits.group_size);
	plan->shift = map->form == RQL_LOOKUP_BTREE ? rql_lookup_choose_shift(map->count, map->low, map->high) : map->shift;
	plan->last = (map->high - map->low) >> plan->shift;
	if (map->count < RANGED_ROWS || (map->key_bits == 32 && map->count > RQL_PAIRED_ROWS))
		return false;
	for (uint32_t rows = ROWS_MOST; rows >= ROWS_LEAST; rows /= 2) {
		uint32_t entries_log2 = 0;
		while (entries_log2 < RQL_LOOKUP_SORT_ENTRIES && (map->count << (entries_log2 + 1)) / (plan->last + 1) <= rows)
			entries_log2++;
		plan->entries_log2 = entries_log2;
		plan->bits = rql_log2_up((plan->last >> entries_log2) + 1);
		plan->slots = SLOTS_OF(rows);
		plan->threads = rql_relation_threads(device, rows / 4);
		if (entries_log2 && plan->bits && plan->bits <= 2 * RQL_PARTITION_PASS_BITS && plan->shift + entries_log2 <= 63 &&
		    plan->slots <= plan->threads * RQL_LOOKUP_SORT_HELD && shared_bytes(map, plan->slots, entries_log2) <= room)
			return true;
	}
	return false;
}

static struct sort_plan plan_of(const struct rql_lookup_build *build)
{
	const struct rql_lookup_map *map = &build->map;
	struct sort_plan plan = {.ranged = false};
	uint64_t at = 0, end;
	plan.ranged = choose_ranges(map, rql_lookup_device(map), &plan);
	struct rql_sort sort = sort_of(build, &plan);
	if (!plan.ranged) {
		plan.bytes = rql_sort_temp_bytes(&sort);
		return plan;
	}
	plan.choice = rql_temp_take(&at, RQL_LOOKUP_CHOICES * 12);
	plan.sort_temp = at; /* partitions are done with when it begins */
	end = at + rql_sort_temp_bytes(&sort);
	plan.starts = rql_temp_take(&at, ((UINT64_C(1) << plan.bits) + 1) * 4);
	plan.keys = rql_temp_take(&at, map->count * 8);
	plan.rows = map->key_bits == 64 ? rql_temp_take(&at, map->count * 4) : 0;
	plan.part_temp = at;
	const struct rql_partition p = partition_of(build, &plan);
	at += rql_partition_temp_bytes(&p);
	plan.bytes = at > end ? at : end;
	return plan;
}

uint64_t rql_lookup_sort_temp_bytes(const struct rql_lookup_build *build)
{
	return plan_of(build).bytes;
}

/* By the partitions' sizes: which of both ways sorts. */
static rql_status record_choice(struct rql_commands *c, const struct rql_lookup_build *build, const struct sort_plan *plan,
                                struct rql_error *err)
{
	struct rql_device *device = rql_lookup_device(&build->map);
	const struct rql_sort sort = sort_of(build, plan);
	const struct rql_lookup_sort_choose_args args = {
		.starts = rql_span_address(&build->temp) + plan->starts,
		.groups_out = rql_span_address(&build->temp) + plan->choice,
		.bits = plan->bits,
		.slots = plan->slots,
		.sort_groups = (uint32_t)rql_sort_groups(&sort),
		.directory_groups = (uint32_t)rql_div_up(build->map.count + 1, RQL_THREADS),
	};
	uint32_t constants[] = {rql_relation_threads(device, CHOOSE_THREADS), 0};
	const struct rql_use uses[] = {{build->temp.buffer, RQL_READ_WRITE}};
	const struct rql_pipeline *pipeline;
	constants[1] = rql_relation_subgroups(device, constants[0]);
	RQL_TRY(rql_pipeline_get(device, &choose_kernel, constants, 2, &pipeline, err));
	rql_record_dispatch(c, "lookup.choose", pipeline, &args, 1, uses, 1);
	return RQL_OK;
}

static rql_status record_partitions(struct rql_commands *c, const struct rql_lookup_build *build,
                                    const struct sort_plan *plan, struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	struct rql_device *device = rql_lookup_device(map);
	const struct rql_partition p = partition_of(build, plan);
	const struct rql_span rows = rql_lookup_rows(map);
	const struct rql_lookup_sort_args args = {
		.keys_in = rql_span_address(&p.keys_out),
		.rows_in = rql_span_address(&p.columns[0].out),
		.starts_in = rql_span_address(&p.starts),
		.keys = rql_span_address(&map->keys),
		.rows = rql_span_address(&rows),
		.starts = map->form == RQL_LOOKUP_SORTED ? rql_span_address(&map->starts) : 0,
		.base = map->low,
		.count = (uint32_t)map->count,
		.shift = plan->shift,
		.last = (uint32_t)plan->last,
		.stride = rql_lookup_paired(map),
		.bits = plan->bits,
		.entries_log2 = plan->entries_log2,
	};
	uint32_t constants[] = {plan->threads, rql_relation_subgroups(device, plan->threads), plan->slots,
	                        RQL_LOOKUP_SORT_WORDS(plan->entries_log2)};
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_pipeline_get(device, &sort_kernels[map->key_bits == 64], constants, 4, &pipeline, err));
	rql_uses_add(&uses, &build->temp, RQL_READ);
	rql_uses_add(&uses, &map->keys, RQL_WRITE);
	rql_uses_add(&uses, &map->rows, RQL_WRITE);
	if (args.starts)
		rql_uses_add(&uses, &map->starts, RQL_WRITE);
	rql_record_dispatch_indirect(c, "lookup.sort", pipeline, &args, build->temp.buffer,
	                             build->temp.offset + plan->choice + RQL_LOOKUP_CHOICE_RANGES * 12, uses.use, uses.count);
	return RQL_OK;
}

static rql_status record_directory(struct rql_commands *c, const struct rql_lookup_build *build, const struct sort_plan *plan,
                                   struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	const struct rql_lookup_args args = rql_lookup_args_of(map);
	const struct rql_kernel *kernel = &directory_kernels[map->key_bits == 64];
	const uint32_t constants[2] = {RQL_THREADS, rql_relation_subgroups(rql_lookup_device(map), RQL_THREADS)};
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	rql_uses_add(&uses, &map->keys, RQL_READ);
	rql_uses_add(&uses, &map->starts, RQL_WRITE);
	if (!plan->ranged)
		return rql_lookup_record(c, "lookup.directory", rql_lookup_device(map), kernel, &args, map->count + 1, &uses, err);
	rql_uses_add(&uses, &build->temp, RQL_READ);
	RQL_TRY(rql_pipeline_get(rql_lookup_device(map), kernel, constants, 2, &pipeline, err));
	rql_record_dispatch_indirect(c, "lookup.directory", pipeline, &args, build->temp.buffer,
	                             build->temp.offset + plan->choice + RQL_LOOKUP_CHOICE_DIRECTORY * 12, uses.use, uses.count);
	return RQL_OK;
}

rql_status rql_record_lookup_sort(struct rql_commands *c, const struct rql_lookup_build *build, struct rql_error *err)
{
	const struct sort_plan plan = plan_of(build);
	const struct rql_sort sort = sort_of(build, &plan);
	if (plan.ranged) {
		const struct rql_partition p = partition_of(build, &plan);
		RQL_TRY(rql_record_partition(c, &p, err));
		RQL_TRY(record_choice(c, build, &plan, err));
		RQL_TRY(record_partitions(c, build, &plan, err));
	}
	if (build->map.count)
		RQL_TRY(rql_record_sort(c, &sort, err));
	return build->map.form == RQL_LOOKUP_SORTED ? record_directory(c, build, &plan, err) : RQL_OK;
}
