/* Rows that a batch of look-ups finds: as bits, one dispatch over the probes; or as lists, one over many maps. */
#include "primitive/lookup/lookup_bits.h"
#include "primitive/lookup/lookup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "shaders/primitive/lookup_bits_direct_32.comp.h"
#include "shaders/primitive/lookup_bits_direct_64.comp.h"
#include "shaders/primitive/lookup_bits_hashed_32.comp.h"
#include "shaders/primitive/lookup_bits_hashed_64.comp.h"
#include "shaders/primitive/lookup_bits_listed_direct_32.comp.h"
#include "shaders/primitive/lookup_bits_listed_direct_64.comp.h"
#include "shaders/primitive/lookup_bits_listed_hashed_32.comp.h"
#include "shaders/primitive/lookup_bits_listed_hashed_64.comp.h"
#include "shaders/primitive/lookup_bits_listed_sorted_32.comp.h"
#include "shaders/primitive/lookup_bits_listed_sorted_64.comp.h"
#include "shaders/primitive/lookup_bits_listed_tree_32.comp.h"
#include "shaders/primitive/lookup_bits_listed_tree_64.comp.h"
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

static const struct rql_kernel list_kernels[][2] = {
	[RQL_LOOKUP_SORTED] = {RQL_LOOKUP_KERNEL(lookup_bits_listed_sorted_32, rql_lookup_lists_args),
                           RQL_LOOKUP_KERNEL(lookup_bits_listed_sorted_64, rql_lookup_lists_args)},
	[RQL_LOOKUP_HASHED] = {RQL_LOOKUP_KERNEL(lookup_bits_listed_hashed_32, rql_lookup_lists_args),
                           RQL_LOOKUP_KERNEL(lookup_bits_listed_hashed_64, rql_lookup_lists_args)},
	[RQL_LOOKUP_DIRECT] = {RQL_LOOKUP_KERNEL(lookup_bits_listed_direct_32, rql_lookup_lists_args),
                           RQL_LOOKUP_KERNEL(lookup_bits_listed_direct_64, rql_lookup_lists_args)},
	[RQL_LOOKUP_BTREE] = {RQL_LOOKUP_KERNEL(lookup_bits_listed_tree_32, rql_lookup_lists_args),
                          RQL_LOOKUP_KERNEL(lookup_bits_listed_tree_64, rql_lookup_lists_args)},
};
#define LIST_FORMS (sizeof list_kernels / sizeof *list_kernels)

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
	if (map->form == RQL_LOOKUP_KARY)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "bits of rows in a search tree in the keys' own memory");
	RQL_TRY(rql_lookup_ordered(map) ? rql_lookup_check_map(map, err) : check_lists(l, err));
	if (l->count > RQL_RELATION_ROWS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a look-up of %llu probes: at most %llu can be had",
		                     (unsigned long long)l->count, (unsigned long long)RQL_RELATION_ROWS);
	RQL_TRY(rql_span_check(&l->points, l->count, key_bytes, "probes of a look-up", err));
	return l->ends.buffer ? rql_span_check(&l->ends, l->count, key_bytes, "ends of a look-up's ranges", err) : RQL_OK;
}

/* What a look-up reads. */
static void use_map(const struct rql_lookup_bits *l, struct rql_uses *uses)
{
	const struct rql_lookup_map *map = &l->map;
	const struct rql_span *read[] = {&map->keys, &map->rows, &map->starts, &map->nodes, &map->slots,
	                                 &l->lists,  &l->rows,   &l->points,   &l->ends};
	for (uint32_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		rql_uses_add(uses, read[i], RQL_READ);
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
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(l, err));
	RQL_TRY(rql_span_check(&l->bits, rql_div_up(l->bit_count, 32), 4, "bits of a look-up's rows", err));
	if (!l->count)
		return RQL_OK;
	const struct rql_lookup_bits_args args = args_of(l);
	use_map(l, &uses);
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

/* ---- lists ---- */

static bool is_kind(const struct rql_lookup_bits *l, size_t form, unsigned wide)
{
	return l->count && (size_t)l->map.form == form && (l->map.key_bits == 64) == (wide != 0);
}

uint64_t rql_lookup_lists_bytes(const struct rql_lookup_lists *lists)
{
	return (lists->map_count + 1u) * sizeof(struct rql_lookup_bits_args);
}

/* Those of a form and width side by side, which one dispatch reads. */
void rql_lookup_lists_write(const struct rql_lookup_lists *lists, void *table)
{
	struct rql_lookup_bits_args *to = table;
	for (size_t kind = 0; kind < 2 * LIST_FORMS; kind++)
		for (uint32_t i = 0; i < lists->map_count; i++) {
			if (!is_kind(&lists->maps[i], kind / 2, kind % 2))
				continue;
			*to = args_of(&lists->maps[i]);
			to->bits_out = rql_span_address(&lists->rows) + (uint64_t)i * lists->room * sizeof(uint32_t);
			to->slices = i;
			to->first_row = lists->first_rows[i];
			to++;
		}
}

static rql_status check_all(const struct rql_lookup_lists *lists, struct rql_error *err)
{
	for (uint32_t i = 0; i < lists->map_count; i++) {
		RQL_TRY(lists->maps[i].count ? check(&lists->maps[i], err) : RQL_OK);
		if (lists->maps[i].count > RQL_LOOKUP_LISTS_PROBES)
			return rql_error_set(err, RQL_ERROR_INTERNAL, "%llu probes of a map whose rows are listed; at most %u can be had",
			                     (unsigned long long)lists->maps[i].count, RQL_LOOKUP_LISTS_PROBES);
	}
	RQL_TRY(rql_span_check(&lists->table, rql_lookup_lists_bytes(lists) / 8, 8, "the maps of look-ups", err));
	RQL_TRY(rql_span_check(&lists->counts, lists->map_count, 4, "numbers of found rows", err));
	return rql_span_check(&lists->rows, (uint64_t)lists->map_count * lists->room, 4, "lists of found rows", err);
}

/* The maps of a kind, which lie in the table from `at` on; their number. uses: with room for all. */
static uint32_t use_maps(const struct rql_lookup_lists *lists, size_t kind, struct rql_use *uses, uint32_t *use_count)
{
	uint32_t maps = 0;
	*use_count = 0;
	for (uint32_t i = 0; i < lists->map_count; i++) {
		struct rql_uses of_map = {.count = 0};
		if (!is_kind(&lists->maps[i], kind / 2, kind % 2))
			continue;
		use_map(&lists->maps[i], &of_map);
		memcpy(uses + *use_count, of_map.use, of_map.count * sizeof(*uses));
		*use_count += of_map.count;
		maps++;
	}
	return maps;
}

static rql_status record_kind(struct rql_commands *c, const struct rql_lookup_lists *lists, size_t kind, uint32_t *at,
                              struct rql_use *uses, struct rql_error *err)
{
	struct rql_device *device = lists->rows.buffer->device;
	const uint32_t constants[2] = {RQL_THREADS, rql_relation_subgroups(device, RQL_THREADS)};
	const struct rql_pipeline *pipeline;
	uint32_t use_count, maps = use_maps(lists, kind, uses, &use_count);
	if (!maps)
		return RQL_OK;
	const struct rql_lookup_lists_args args = {
		.maps = rql_span_address(&lists->table) + *at * sizeof(struct rql_lookup_bits_args),
		.counts = rql_span_address(&lists->counts),
		.map_count = maps,
		.room = lists->room};
	uses[use_count++] = (struct rql_use){lists->table.buffer, RQL_READ};
	uses[use_count++] = (struct rql_use){lists->rows.buffer, RQL_UPDATE};
	if (lists->counts.buffer != lists->rows.buffer)
		uses[use_count++] = (struct rql_use){lists->counts.buffer, RQL_UPDATE};
	*at += maps;
	RQL_TRY(rql_pipeline_get(device, &list_kernels[kind / 2][kind % 2], constants, 2, &pipeline, err));
	rql_record_dispatch(c, "lookup.lists", pipeline, &args, maps, uses, use_count);
	return RQL_OK;
}

rql_status rql_record_lookup_lists(struct rql_commands *c, const struct rql_lookup_lists *lists, struct rql_error *err)
{
	uint32_t at = 0;
	RQL_TRY(check_all(lists, err));
	struct rql_use *uses = calloc((size_t)lists->map_count * RQL_USES_MOST + 3, sizeof(*uses));
	rql_status status = uses ? RQL_OK : rql_error_memory(err, lists->map_count * RQL_USES_MOST * sizeof(*uses), "look-ups");
	for (size_t kind = 0; kind < 2 * LIST_FORMS && status == RQL_OK; kind++)
		status = record_kind(c, lists, kind, &at, uses, err);
	free(uses);
	return status;
}

rql_status rql_see_lookup_lists(const struct rql_device *device, enum rql_lookup_form form, uint32_t key_bits,
                                rql_see_kernel *see, void *state, struct rql_error *err)
{
	const uint32_t constants[2] = {RQL_THREADS, rql_relation_subgroups(device, RQL_THREADS)};
	const struct rql_kernel_use use = {.kernel = &list_kernels[form][key_bits == 64], .constants = constants, .count = 2};
	return see(state, &use, err);
}
