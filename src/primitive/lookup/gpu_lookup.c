/* Look-ups on a GPU. Where it pays, probes are ordered by the map's partitions, and their answers put back.
 * lookup.h has the bytes of each pass. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_kary_32.comp.h"
#include "shaders/primitive/lookup_kary_64.comp.h"
#include "shaders/primitive/lookup_points_direct_32.comp.h"
#include "shaders/primitive/lookup_points_direct_64.comp.h"
#include "shaders/primitive/lookup_points_hashed_32.comp.h"
#include "shaders/primitive/lookup_points_hashed_64.comp.h"
#include "shaders/primitive/lookup_probe_32.comp.h"
#include "shaders/primitive/lookup_probe_64.comp.h"
#include "shaders/primitive/lookup_probe_interpolate_32.comp.h"
#include "shaders/primitive/lookup_probe_interpolate_64.comp.h"
#include "shaders/primitive/lookup_probe_tree_32.comp.h"
#include "shaders/primitive/lookup_probe_tree_64.comp.h"

/* To order the probes takes as long as some random reads of each: fewer probes, or ones that touch little of a
 * map anyway, are not worth it. */
#define ORDER_PROBES (UINT64_C(1) << 20)
#define ORDER_BYTES_A_PROBE 128u

enum probing { BINARY, INTERPOLATION, TREE, KARY };
static const struct rql_kernel probe_kernels[][2] = {
	{RQL_LOOKUP_KERNEL(lookup_probe_32, rql_lookup_args), RQL_LOOKUP_KERNEL(lookup_probe_64, rql_lookup_args)},
	{RQL_LOOKUP_KERNEL(lookup_probe_interpolate_32, rql_lookup_args),
     RQL_LOOKUP_KERNEL(lookup_probe_interpolate_64, rql_lookup_args)},
	{RQL_LOOKUP_KERNEL(lookup_probe_tree_32, rql_lookup_args), RQL_LOOKUP_KERNEL(lookup_probe_tree_64, rql_lookup_args)},
	{RQL_LOOKUP_KERNEL(lookup_kary_32, rql_lookup_args), RQL_LOOKUP_KERNEL(lookup_kary_64, rql_lookup_args)},
};
static const struct rql_kernel point_kernels[2][2] = {
	{RQL_LOOKUP_KERNEL(lookup_points_direct_32, rql_lookup_points_args),
     RQL_LOOKUP_KERNEL(lookup_points_direct_64, rql_lookup_points_args)},
	{RQL_LOOKUP_KERNEL(lookup_points_hashed_32, rql_lookup_points_args),
     RQL_LOOKUP_KERNEL(lookup_points_hashed_64, rql_lookup_points_args)},
};

uint32_t rql_lookup_choose_shift(uint64_t count, uint64_t low, uint64_t high)
{
	uint64_t most = count < 2 ? 2 : count < RQL_LOOKUP_KEYS ? count : RQL_LOOKUP_KEYS;
	uint32_t shift = 0;
	while ((high - low) >> shift >= most)
		shift++;
	return shift;
}

uint64_t rql_lookup_starts(const struct rql_lookup_map *map)
{
	return rql_lookup_last_entry(map) + 2;
}

/* ---- maps ---- */

static rql_status check_table(const struct rql_lookup_map *map, struct rql_error *err)
{
	uint64_t slots = rql_lookup_slots(map);
	struct rql_lookup_map chosen = *map;
	if (map->form == RQL_LOOKUP_HASHED && (!rql_lookup_choose_parts(&chosen) || chosen.part_bits != map->part_bits ||
	                                       chosen.part_slots != map->part_slots))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a map of %llu keys of %u bits has 2^%u partitions of %u slots",
		                     (unsigned long long)map->count, map->key_bits, map->part_bits, map->part_slots);
	RQL_TRY(rql_span_check(&map->slots, slots, rql_lookup_slot_bytes(map), "slots of a map", err));
	if (map->form == RQL_LOOKUP_HASHED && map->slots.offset % RQL_LOOKUP_GROUP_BYTES)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "the slots of a hashed map begin at byte %llu, within a group",
		                     (unsigned long long)map->slots.offset);
	if (map->counts.buffer)
		RQL_TRY(rql_span_check(&map->counts, slots, 4, "counts of a map", err));
	return rql_span_check(&map->failed, 1, 8, "number of rows that a map has no place for", err);
}

static rql_status check_kary(const struct rql_lookup_map *map, struct rql_error *err)
{
	const uint32_t node = rql_lookup_node_bytes(map);
	if (node != 32 && node != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a search tree of nodes of %u bytes", node);
	const uint64_t bytes = rql_lookup_kary_keys(map) * map->key_bits / 8;
	RQL_TRY(rql_span_check(&map->keys, bytes / node, node, "nodes of a map", err));
	return rql_span_check(&map->rows, map->count, 4, "rows of a map", err);
}

static rql_status check_tree(const struct rql_lookup_map *map, struct rql_error *err)
{
	const uint64_t key_bytes = map->key_bits / 8;
	RQL_TRY(rql_span_check(&map->keys, rql_lookup_tree_keys(map) * key_bytes / 16, 16, "keys of a map", err));
	return rql_span_check(&map->nodes, rql_lookup_tree_lines(map) * 4, 16, "nodes of a map", err);
}

rql_status rql_lookup_check_map(const struct rql_lookup_map *map, struct rql_error *err)
{
	bool bounds = map->form == RQL_LOOKUP_HASHED ||
	              (map->low <= map->high && map->shift <= 63 && (map->key_bits == 64 || map->high <= UINT32_MAX) &&
	               (map->form == RQL_LOOKUP_BTREE || map->form == RQL_LOOKUP_KARY ||
	                rql_lookup_last_entry(map) < RQL_LOOKUP_KEYS) &&
	               (map->form == RQL_LOOKUP_SORTED || !map->shift));
	if ((map->key_bits != 32 && map->key_bits != 64) || map->count > RQL_LOOKUP_KEYS ||
	    (unsigned)map->form > RQL_LOOKUP_KARY || (unsigned)map->search > RQL_LOOKUP_INTERPOLATION || !bounds)
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a map of form %d with %llu keys of %u bits between %llu and %llu, by shift %u",
		                     (int)map->form, (unsigned long long)map->count, map->key_bits, (unsigned long long)map->low,
		                     (unsigned long long)map->high, map->shift);
	if (map->form == RQL_LOOKUP_KARY)
		return check_kary(map, err);
	if (!rql_lookup_ordered(map))
		return check_table(map, err);
	bool paired = rql_lookup_paired(map), tree = map->form == RQL_LOOKUP_BTREE;
	if (!tree)
		RQL_TRY(rql_span_check(&map->keys, map->count, paired ? 8 : map->key_bits / 8, "keys of a map", err));
	if (!paired)
		RQL_TRY(rql_span_check(&map->rows, map->count, 4, "rows of a map", err));
	if (tree)
		RQL_TRY(check_tree(map, err));
	else
		RQL_TRY(rql_span_check(&map->starts, rql_lookup_starts(map), 4, "directory of a map", err));
	if (map->sums.buffer)
		RQL_TRY(rql_span_check(&map->sums, map->count + 1, 8, "sums of a map", err));
	return RQL_OK;
}

struct rql_lookup_args rql_lookup_args_of(const struct rql_lookup_map *map)
{
	const bool tree = map->form == RQL_LOOKUP_BTREE, kary = map->form == RQL_LOOKUP_KARY;
	struct rql_span rows = rql_lookup_rows(map);
	return (struct rql_lookup_args){
		.keys = rql_span_address(&map->keys),
		.rows = rql_span_address(&rows),
		.starts = rql_span_address(tree ? &map->nodes : &map->starts),
		.sums = rql_span_address(&map->sums),
		.base = map->low,
		.count = (uint32_t)map->count,
		.shift = map->shift,
		.last = tree ? rql_lookup_tree_of(map).levels : kary ? 0 : (uint32_t)rql_lookup_last_entry(map),
		.stride = rql_lookup_paired(map),
		.slope = (float)((double)map->count / ((double)(map->high - map->low) + 1)),
	};
}

rql_status rql_lookup_record(struct rql_commands *c, const char *pass, struct rql_device *device,
                             const struct rql_kernel *kernel, const void *args, uint64_t items,
                             const struct rql_uses *uses, struct rql_error *err)
{
	uint32_t constants[2] = {RQL_THREADS, rql_relation_subgroups(device, RQL_THREADS)};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(device, kernel, constants, 2, &pipeline, err));
	rql_record_dispatch(c, pass, pipeline, args, rql_div_up(items, RQL_THREADS), uses->use, uses->count);
	return RQL_OK;
}

/* ---- order of the probes ---- */

static uint64_t map_bytes(const struct rql_lookup_map *map)
{
	if (map->form == RQL_LOOKUP_KARY)
		return map->count * 4 + rql_lookup_kary_keys(map) * map->key_bits / 8;
	if (!rql_lookup_ordered(map))
		return rql_lookup_slots(map) * rql_lookup_slot_bytes(map);
	if (map->form == RQL_LOOKUP_BTREE)
		return map->count * 4 + rql_lookup_tree_keys(map) * map->key_bits / 8 + rql_lookup_tree_lines(map) * 64;
	return map->count * (map->key_bits / 8 + 4) + rql_lookup_starts(map) * 4;
}

uint32_t rql_lookup_order_bits(const struct rql_lookup_map *map, uint64_t keys)
{
	uint64_t bytes = map_bytes(map);
	uint32_t bits = rql_log2_up(rql_div_up(bytes, RQL_LOOKUP_PARTITION_BYTES));
	if (keys < ORDER_PROBES || keys < bytes / ORDER_BYTES_A_PROBE)
		return 0;
	return bits < RQL_LOOKUP_PARTITION_BITS ? bits : RQL_LOOKUP_PARTITION_BITS;
}

void rql_lookup_order_by(const struct rql_lookup_map *map, struct rql_partition *partition)
{
	if (map->form == RQL_LOOKUP_HASHED)
		return;
	partition->by_range = true;
	partition->base = map->low;
	while ((map->high - map->low) >> partition->shift >> partition->bits)
		partition->shift++;
}

struct lookup_plan {
	struct rql_lookup_tiles tiles;
	uint64_t points, ends, rows, counts, sums, bytes; /* offsets in temp */
};

static struct lookup_plan plan_of(const struct rql_lookup_batch *lookup)
{
	uint64_t key_bytes = lookup->map.key_bits / 8, count = lookup->count, at = 0;
	uint32_t bits = lookup->order ? lookup->order - 1 : rql_lookup_order_bits(&lookup->map, count);
	if (!bits || !count)
		return (struct lookup_plan){0};
	struct lookup_plan plan = {.tiles = rql_lookup_tiles_of(lookup, bits)};
	struct rql_lookup_tiles *tiles = &plan.tiles;
	plan.points = rql_temp_take(&at, tiles->places * key_bytes);
	plan.ends = lookup->ends.buffer ? rql_temp_take(&at, tiles->places * key_bytes) : 0;
	plan.rows = lookup->rows.buffer ? rql_temp_take(&at, tiles->places * 4) : 0;
	plan.counts = lookup->counts.buffer ? rql_temp_take(&at, tiles->places * 4) : 0;
	plan.sums = lookup->sums.buffer ? rql_temp_take(&at, tiles->places * 8) : 0;
	tiles->runs = rql_span_at(&lookup->temp, rql_temp_take(&at, rql_lookup_runs_bytes(tiles)));
	tiles->ranks = rql_span_at(&lookup->temp, rql_temp_take(&at, rql_lookup_ranks_bytes(tiles)));
	plan.bytes = at;
	return plan;
}

uint64_t rql_lookup_temp_bytes(const struct rql_lookup_batch *lookup)
{
	return plan_of(lookup).bytes;
}

/* ---- probe ---- */

static rql_status check_answers(const struct rql_lookup_batch *lookup, struct rql_error *err)
{
	const struct rql_lookup_map *map = &lookup->map;
	bool table = !rql_lookup_ordered(map);
	if (table && (lookup->ends.buffer || lookup->sums.buffer))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "ranges or sums of a map that has no order: make a sorted one");
	if (lookup->sums.buffer && !map->sums.buffer)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "sums of a look-up whose map has none");
	if (map->form == RQL_LOOKUP_KARY && (lookup->counts.buffer || !lookup->rows.buffer))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a search tree in the keys' own memory gives rows alone");
	if (table && lookup->counts.buffer && !map->counts.buffer)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "counts of a look-up whose map has none");
	if (lookup->rows.buffer)
		RQL_TRY(rql_span_check(&lookup->rows, lookup->count, 4, "rows of a look-up", err));
	if (lookup->counts.buffer)
		RQL_TRY(rql_span_check(&lookup->counts, lookup->count, 4, "counts of a look-up", err));
	return lookup->sums.buffer ? rql_span_check(&lookup->sums, lookup->count, 8, "sums of a look-up", err) : RQL_OK;
}

static rql_status check(const struct rql_lookup_batch *lookup, struct rql_error *err)
{
	uint32_t key_bytes = lookup->map.key_bits / 8;
	RQL_TRY(rql_lookup_check_map(&lookup->map, err));
	if (lookup->count > RQL_RELATION_ROWS || lookup->order > RQL_LOOKUP_PARTITION_BITS + 1)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a look-up of %llu probes by order %u: at most %llu can be had",
		                     (unsigned long long)lookup->count, lookup->order, (unsigned long long)RQL_RELATION_ROWS);
	RQL_TRY(rql_span_check(&lookup->points, lookup->count, key_bytes, "probes of a look-up", err));
	if (lookup->ends.buffer)
		RQL_TRY(rql_span_check(&lookup->ends, lookup->count, key_bytes, "ends of a look-up's ranges", err));
	if (lookup->found.buffer)
		RQL_TRY(rql_span_check(&lookup->found, 1, 8, "number of a look-up's probes", err));
	RQL_TRY(check_answers(lookup, err));
	uint64_t temp = lookup->temp.buffer ? rql_lookup_temp_bytes(lookup) : 0;
	return temp ? rql_span_check(&lookup->temp, temp / 16, 16, "temporary words of a look-up", err) : RQL_OK;
}

/* items: probes that a thread has at a time, and runs of tiles that a subgroup takes. */
static rql_status record_kernel(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                const struct rql_lookup_tiles *tiles, const struct rql_kernel *kernel, const void *args,
                                uint32_t items, const struct rql_uses *uses, struct rql_error *err)
{
	struct rql_device *device = rql_lookup_device(&lookup->map);
	const uint32_t subgroups = rql_relation_subgroups(device, RQL_THREADS);
	const uint32_t kary = lookup->map.form == RQL_LOOKUP_KARY;
	uint32_t constants[] = {RQL_THREADS, subgroups, tiles->bits ? tiles->rows : 0, rql_lookup_node_bytes(&lookup->map)};
	uint64_t groups = rql_div_up(lookup->count, (uint64_t)RQL_THREADS * items);
	const struct rql_pipeline *pipeline;
	if (tiles->bits)
		groups = rql_div_up(rql_div_up(tiles->count, items) << tiles->bits, subgroups);
	RQL_TRY(rql_pipeline_get(device, kernel, constants, 3 + kary, &pipeline, err));
	rql_record_dispatch(c, "lookup.probe", pipeline, args, groups, uses->use, uses->count);
	return RQL_OK;
}

static rql_status record_sorted(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                const struct rql_lookup_tiles *tiles, const struct rql_uses *uses, struct rql_error *err)
{
	const struct rql_lookup_map *map = &lookup->map;
	struct rql_lookup_args args = rql_lookup_args_of(map);
	args.lows = rql_span_address(&lookup->points);
	args.highs = rql_span_address(&lookup->ends);
	args.found = rql_span_address(&lookup->found);
	args.rows_out = rql_span_address(&lookup->rows);
	args.counts_out = rql_span_address(&lookup->counts);
	args.sums_out = rql_span_address(&lookup->sums);
	args.probes = lookup->count;
	args.runs = rql_span_address(&tiles->runs);
	args.run_bits = tiles->bits;
	const enum probing way = map->form == RQL_LOOKUP_BTREE                  ? TREE
	                         : map->form == RQL_LOOKUP_KARY                  ? KARY
	                         : map->search == RQL_LOOKUP_INTERPOLATION ? INTERPOLATION
	                                                                         : BINARY;
	return record_kernel(c, lookup, tiles, &probe_kernels[way][map->key_bits == 64], &args, 1, uses, err);
}

static rql_status record_points(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                const struct rql_lookup_tiles *tiles, const struct rql_uses *uses, struct rql_error *err)
{
	const struct rql_lookup_map *map = &lookup->map;
	const uint32_t items = RQL_LOOKUP_POINT_ITEMS;
	struct rql_lookup_points_args args = {
		.slots = rql_span_address(&map->slots),
		.counts = rql_span_address(&map->counts),
		.points = rql_span_address(&lookup->points),
		.found = rql_span_address(&lookup->found),
		.rows_out = rql_span_address(&lookup->rows),
		.counts_out = rql_span_address(&lookup->counts),
		.probes = lookup->count,
		.low = map->low,
		.high = map->high,
		.part_bits = map->part_bits,
		.part_slots = map->part_slots,
		.runs = rql_span_address(&tiles->runs),
		.run_bits = tiles->bits,
	};
	return record_kernel(c, lookup, tiles, &point_kernels[map->form == RQL_LOOKUP_HASHED][map->key_bits == 64], &args,
	                     items, uses, err);
}

/* The probes as they lie, or in these tiles. */
static rql_status record_probes(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                const struct rql_lookup_tiles *tiles, struct rql_error *err)
{
	const struct rql_lookup_map *map = &lookup->map;
	const struct rql_span *read[] = {&map->keys,   &map->rows,     &map->starts,    &map->sums,    &map->slots, &map->counts,
	                                 &lookup->found, &lookup->points, &lookup->ends, &map->nodes, &tiles->runs};
	const struct rql_span *written[] = {&lookup->rows, &lookup->counts, &lookup->sums};
	struct rql_uses uses = {.count = 0};
	for (uint32_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		rql_uses_add(&uses, written[i], RQL_WRITE);
	return rql_lookup_ordered(map) || map->form == RQL_LOOKUP_KARY ? record_sorted(c, lookup, tiles, &uses, err)
	                                                               : record_points(c, lookup, tiles, &uses, err);
}

static rql_status record_ordered(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                 const struct lookup_plan *plan, struct rql_error *err)
{
	const struct rql_lookup_tiles *tiles = &plan->tiles;
	struct rql_lookup_batch inner = *lookup;
	inner.points = rql_span_at(&lookup->temp, plan->points);
	if (lookup->ends.buffer)
		inner.ends = rql_span_at(&lookup->temp, plan->ends);
	if (lookup->rows.buffer)
		inner.rows = rql_span_at(&lookup->temp, plan->rows);
	if (lookup->counts.buffer)
		inner.counts = rql_span_at(&lookup->temp, plan->counts);
	if (lookup->sums.buffer)
		inner.sums = rql_span_at(&lookup->temp, plan->sums);
	RQL_TRY(rql_record_lookup_order(c, lookup, tiles, &inner.points, &inner.ends, err));
	RQL_TRY(record_probes(c, &inner, tiles, err));
	if (lookup->rows.buffer)
		RQL_TRY(rql_record_lookup_back(c, lookup, tiles, 32, &inner.rows, &lookup->rows, err));
	if (lookup->counts.buffer)
		RQL_TRY(rql_record_lookup_back(c, lookup, tiles, 32, &inner.counts, &lookup->counts, err));
	if (lookup->sums.buffer)
		RQL_TRY(rql_record_lookup_back(c, lookup, tiles, 64, &inner.sums, &lookup->sums, err));
	return RQL_OK;
}

rql_status rql_record_lookup(struct rql_commands *c, const struct rql_lookup_batch *lookup, struct rql_error *err)
{
	RQL_TRY(check(lookup, err));
	if (!lookup->count)
		return RQL_OK;
	struct lookup_plan plan = plan_of(lookup);
	if (!plan.tiles.bits || !lookup->temp.buffer)
		return record_probes(c, lookup, &(struct rql_lookup_tiles){.bits = 0}, err);
	return record_ordered(c, lookup, &plan, err);
}
