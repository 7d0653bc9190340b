/* Maps on a GPU that are tables: hashed ones, built by partitions in shared memory, and direct ones for dense keys. The
 * keys are partitioned first with their row numbers, so that a workgroup has its rows together, and a direct map's
 * random writes meet in the cache. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_direct_build_32.comp.h"
#include "shaders/primitive/lookup_direct_build_64.comp.h"
#include "shaders/primitive/lookup_hash_build_32.comp.h"
#include "shaders/primitive/lookup_hash_build_64.comp.h"

/* Of a partition: 16 KB of shared memory, with counts 24, so that several workgroups are at work (gpu_join.c). Keys of 64
 * bits: half as many. */
#define SLOTS_32 2048u
#define SLOTS_64 1024u
#define THREADS 512u
#define PIECE 4096u /* rows: a partition of which has as many again is joined by several workgroups */

static const struct rql_kernel hash_kernels[2] = {RQL_LOOKUP_KERNEL(lookup_hash_build_32, rql_lookup_table_args),
                                                  RQL_LOOKUP_KERNEL(lookup_hash_build_64, rql_lookup_table_args)};
static const struct rql_kernel direct_kernels[2] = {RQL_LOOKUP_KERNEL(lookup_direct_build_32, rql_lookup_table_args),
                                                    RQL_LOOKUP_KERNEL(lookup_direct_build_64, rql_lookup_table_args)};

static uint32_t most_slots(const struct rql_lookup_map *map)
{
	return map->key_bits == 64 ? SLOTS_64 : SLOTS_32;
}

/* Partitions are half full. The more keys one has, the less its size varies: one of hundreds is far from full. A single
 * one has room for all. */
bool rql_lookup_choose_parts(struct rql_lookup_map *map)
{
	uint64_t mean = most_slots(map) / 2;
	map->part_bits = rql_log2_up(rql_div_up(map->count, mean));
	if (map->part_bits > 2 * RQL_PARTITION_PASS_BITS)
		return false;
	uint64_t slots = 2 * rql_div_up(map->count, UINT64_C(1) << map->part_bits);
	slots = (slots + 15) / 16 * 16;
	map->part_slots = (uint32_t)(slots ? slots : 16);
	return true;
}

uint64_t rql_lookup_slots(const struct rql_lookup_map *map)
{
	if (map->form == RQL_LOOKUP_DIRECT)
		return map->high - map->low + 1;
	return ((uint64_t)map->part_slots << map->part_bits) + RQL_LOOKUP_GROUP(map->key_bits);
}

uint32_t rql_lookup_slot_bytes(const struct rql_lookup_map *map)
{
	return map->form == RQL_LOOKUP_DIRECT ? 4 : map->key_bits == 64 ? 16 : 8;
}

struct table_plan {
	bool partitioned;
	uint64_t keys, rows, starts, partition_temp, bytes; /* offsets in temp */
};

/* Keys of 32 bits and their rows go together. */
static bool is_paired(const struct rql_lookup_map *map)
{
	return map->key_bits == 32 && map->count <= RQL_PAIRED_ROWS;
}

static struct rql_partition partition_of(const struct rql_lookup_build *build, const struct table_plan *plan)
{
	const struct rql_lookup_map *map = &build->map;
	const bool paired = is_paired(map);
	struct rql_partition p = {
		.key_bits = map->key_bits,
		.bits = map->part_bits,
		.paired = paired,
		.count = map->count,
		.keys = build->keys,
		.keys_out = rql_span_at(&build->temp, plan->keys),
		.column_count = 1,
		.columns = {{.bits = 32, .out = paired ? (struct rql_span){0} : rql_span_at(&build->temp, plan->rows)}},
		.starts = rql_span_at(&build->temp, plan->starts),
		.temp = rql_span_at(&build->temp, plan->partition_temp),
	};
	if (map->form == RQL_LOOKUP_DIRECT) {
		p.bits = rql_lookup_order_bits(map, map->count);
		rql_lookup_order_by(map, &p);
	}
	return p;
}

static struct table_plan plan_of(const struct rql_lookup_build *build)
{
	const struct rql_lookup_map *map = &build->map;
	struct table_plan plan = {.partitioned = false};
	uint32_t bits = map->form == RQL_LOOKUP_DIRECT ? rql_lookup_order_bits(map, map->count) : map->part_bits;
	uint64_t at = 0;
	if (!bits || !map->count)
		return plan;
	plan.partitioned = true;
	plan.keys = rql_temp_take(&at, map->count * 8); /* or keys of 32 bits and their rows */
	plan.rows = is_paired(map) ? plan.keys + 4 : rql_temp_take(&at, map->count * 4);
	plan.starts = rql_temp_take(&at, ((UINT64_C(1) << bits) + 1) * 4);
	plan.partition_temp = at;
	struct rql_partition p = partition_of(build, &plan);
	plan.bytes = at + rql_partition_temp_bytes(&p);
	return plan;
}

uint64_t rql_lookup_table_temp_bytes(const struct rql_lookup_build *build)
{
	return plan_of(build).bytes;
}

static rql_status record_empty(struct rql_commands *c, const struct rql_lookup_map *map)
{
	uint64_t bytes = rql_lookup_slot_bytes(map), slots = rql_lookup_slots(map);
	/* Those of partitions are written whole. */
	uint64_t first = map->form == RQL_LOOKUP_HASHED ? slots - RQL_LOOKUP_GROUP(map->key_bits) : 0;
	rql_record_fill(c, map->slots.buffer, map->slots.offset + first * bytes, (slots - first) * bytes, UINT32_MAX);
	if (map->counts.buffer)
		rql_record_fill(c, map->counts.buffer, map->counts.offset + first * 4, (slots - first) * 4, 0);
	rql_record_fill(c, map->failed.buffer, map->failed.offset, 8, 0);
	return RQL_OK;
}

/* Partitions, then the pieces of those that have too many rows for a workgroup. */
static rql_status record_partitions(struct rql_commands *c, const struct rql_lookup_map *map,
                                    struct rql_lookup_table_args *args, const struct rql_uses *uses, struct rql_error *err)
{
	struct rql_device *device = rql_lookup_device(map);
	uint32_t constants[] = {rql_relation_threads(device, THREADS), 0, most_slots(map),
	                        map->counts.buffer ? most_slots(map) + 1 : 1};
	const struct rql_pipeline *pipeline;
	constants[1] = rql_relation_subgroups(device, constants[0]);
	RQL_TRY(rql_pipeline_get(device, &hash_kernels[map->key_bits == 64], constants, 4, &pipeline, err));
	args->part_bits = map->part_bits;
	args->part_slots = map->part_slots;
	args->piece = PIECE;
	rql_record_dispatch(c, "lookup.partitions", pipeline, args, UINT64_C(1) << map->part_bits, uses->use, uses->count);
	args->merge = 1;
	if (map->count > 2 * PIECE)
		rql_record_dispatch(c, "lookup.merge", pipeline, args, rql_div_up(map->count, PIECE), uses->use, uses->count);
	return RQL_OK;
}

rql_status rql_record_lookup_table(struct rql_commands *c, const struct rql_lookup_build *build, struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	struct table_plan plan = plan_of(build);
	struct rql_partition p = partition_of(build, &plan);
	struct rql_uses uses = {.count = 0};
	if (plan.partitioned)
		RQL_TRY(rql_record_partition(c, &p, err));
	RQL_TRY(record_empty(c, map));
	struct rql_lookup_table_args args = {
		.keys = rql_span_address(plan.partitioned ? &p.keys_out : &build->keys),
		.rows = plan.partitioned ? rql_span_address(&build->temp) + plan.rows : 0,
		.starts = plan.partitioned ? rql_span_address(&p.starts) : 0,
		.slots = rql_span_address(&map->slots),
		.counts = rql_span_address(&map->counts),
		.failed = rql_span_address(&map->failed),
		.low = map->low,
		.high = map->high,
		.count = (uint32_t)map->count,
		.stride = plan.partitioned && is_paired(map),
	};
	rql_uses_add(&uses, &build->keys, RQL_READ);
	rql_uses_add(&uses, &build->temp, RQL_READ);
	rql_uses_add(&uses, &map->slots, RQL_READ_WRITE);
	rql_uses_add(&uses, &map->counts, RQL_READ_WRITE);
	rql_uses_add(&uses, &map->failed, RQL_READ_WRITE);
	if (map->form == RQL_LOOKUP_HASHED)
		return record_partitions(c, map, &args, &uses, err);
	if (!map->count)
		return RQL_OK;
	return rql_lookup_record(c, "lookup.direct", rql_lookup_device(map), &direct_kernels[map->key_bits == 64], &args,
	                         map->count, &uses, err);
}
