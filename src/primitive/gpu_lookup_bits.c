/* Rows that a batch of look-ups finds, as bits: one dispatch over the probes. */
#include "primitive/lookup_bits.h"
#include "primitive/lookup_internal.h"

#include "shaders/primitive/lookup_bits_direct_32.comp.h"
#include "shaders/primitive/lookup_bits_direct_64.comp.h"
#include "shaders/primitive/lookup_bits_hashed_32.comp.h"
#include "shaders/primitive/lookup_bits_hashed_64.comp.h"
#include "shaders/primitive/lookup_bits_sorted_32.comp.h"
#include "shaders/primitive/lookup_bits_sorted_64.comp.h"
#include "shaders/primitive/lookup_bits_tree_32.comp.h"
#include "shaders/primitive/lookup_bits_tree_64.comp.h"

/* More workgroups than this share no tile; and one has so many rows a thread at least before another helps it. */
#define GROUPS_MOST 4096u
#define ROWS_OF_THREAD 8u

static const struct rql_kernel kernels[][2] = {
	[RQL_LOOKUP_SORTED] = {RQL_LOOKUP_KERNEL(lookup_bits_sorted_32, rql_lookup_bits_args),
                           RQL_LOOKUP_KERNEL(lookup_bits_sorted_64, rql_lookup_bits_args)},
	[RQL_LOOKUP_HASHED] = {RQL_LOOKUP_KERNEL(lookup_bits_hashed_32, rql_lookup_bits_args),
                           RQL_LOOKUP_KERNEL(lookup_bits_hashed_64, rql_lookup_bits_args)},
	[RQL_LOOKUP_DIRECT] = {RQL_LOOKUP_KERNEL(lookup_bits_direct_32, rql_lookup_bits_args),
                           RQL_LOOKUP_KERNEL(lookup_bits_direct_64, rql_lookup_bits_args)},
	[RQL_LOOKUP_BTREE] = {RQL_LOOKUP_KERNEL(lookup_bits_tree_32, rql_lookup_bits_args),
                          RQL_LOOKUP_KERNEL(lookup_bits_tree_64, rql_lookup_bits_args)},
};

static rql_status check_lists(const struct rql_lookup_bits *l, struct rql_error *err)
{
	const struct rql_lookup_map *map = &l->map;
	const bool direct = map->form == RQL_LOOKUP_DIRECT;
	if (direct && (map->low > map->high || map->high - map->low >= RQL_LOOKUP_KEYS))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a direct map of integers from %llu to %llu",
		                     (unsigned long long)map->low, (unsigned long long)map->high);
	if (!direct)
		RQL_TRY(rql_lookup_check_map(map, err));
	const uint64_t lists = direct ? map->high - map->low + 1 : map->count;
	RQL_TRY(rql_span_check(&l->rows, l->lists.buffer ? l->row_count : lists, 4, "rows of a map", err));
	return l->lists.buffer ? rql_span_check(&l->lists, lists + 1, 4, "lists of a map", err) : RQL_OK;
}

static rql_status check(const struct rql_lookup_bits *l, struct rql_error *err)
{
	const struct rql_lookup_map *map = &l->map;
	const uint32_t key_bytes = map->key_bits / 8;
	RQL_TRY(rql_lookup_ordered(map) ? rql_lookup_check_map(map, err) : check_lists(l, err));
	if (l->count > RQL_RELATION_ROWS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a look-up of %llu probes: at most %llu can be had",
		                     (unsigned long long)l->count, (unsigned long long)RQL_RELATION_ROWS);
	RQL_TRY(rql_span_check(&l->points, l->count, key_bytes, "probes of a look-up", err));
	if (l->ends.buffer)
		RQL_TRY(rql_span_check(&l->ends, l->count, key_bytes, "ends of a look-up's ranges", err));
	return rql_span_check(&l->bits, rql_div_up(l->bit_count, 32), 4, "bits of a look-up's rows", err);
}

static uint64_t slices_of(uint64_t tiles, uint64_t expected)
{
	const uint64_t most = tiles < GROUPS_MOST ? GROUPS_MOST / tiles : 1;
	const uint64_t wanted = expected / tiles / (RQL_THREADS * ROWS_OF_THREAD) + 1;
	return wanted < most ? wanted : most;
}

static struct rql_lookup_bits_args args_of(const struct rql_lookup_bits *l)
{
	const struct rql_lookup_map *map = &l->map;
	const bool ordered = rql_lookup_ordered(map), sorted = map->form == RQL_LOOKUP_SORTED;
	const struct rql_span rows = ordered ? rql_lookup_rows(map) : l->rows;
	const struct rql_span *starts = sorted ? &map->starts : ordered ? &map->nodes : &l->lists;
	return (struct rql_lookup_bits_args){
		.keys = rql_span_address(&map->keys),
		.rows = rql_span_address(&rows),
		.starts = rql_span_address(starts),
		.slots = rql_span_address(&map->slots),
		.lows = rql_span_address(&l->points),
		.highs = rql_span_address(&l->ends),
		.bits_out = rql_span_address(&l->bits),
		.probes = l->count,
		.base = map->low,
		.high = map->high,
		.count = (uint32_t)map->count,
		.shift = map->shift,
		.last = sorted ? (uint32_t)rql_lookup_last_entry(map) : ordered ? rql_lookup_tree_of(map).levels : 0,
		.part_bits = map->part_bits,
		.part_slots = map->part_slots,
		.slices = (uint32_t)slices_of(rql_div_up(l->count, RQL_THREADS), l->expected),
		.stride = rql_lookup_paired(map),
	};
}

rql_status rql_record_lookup_bits(struct rql_commands *c, const struct rql_lookup_bits *l, struct rql_error *err)
{
	const struct rql_lookup_map *map = &l->map;
	const struct rql_span *read[] = {&map->keys, &map->rows, &map->starts, &map->nodes, &map->slots,
	                                 &l->lists,  &l->rows,   &l->points,   &l->ends};
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(l, err));
	if (!l->count)
		return RQL_OK;
	const struct rql_lookup_bits_args args = args_of(l);
	for (uint32_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	rql_uses_add(&uses, &l->bits, RQL_UPDATE);
	return rql_lookup_record(c, "lookup.bits", l->bits.buffer->device, &kernels[map->form][map->key_bits == 64], &args,
	                         rql_div_up(l->count, RQL_THREADS) * args.slices * RQL_THREADS, &uses, err);
}

rql_status rql_see_lookup_bits(const struct rql_device *device, enum rql_lookup_form form, uint32_t key_bits,
                               rql_see_kernel *see, void *state, struct rql_error *err)
{
	const uint32_t constants[2] = {RQL_THREADS, rql_relation_subgroups(device, RQL_THREADS)};
	const struct rql_kernel_use use = {.kernel = &kernels[form][key_bits == 64], .constants = constants, .count = 2};
	return see(state, &use, err);
}
