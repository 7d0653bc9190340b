/* Maps on a GPU whose keys lie as a search tree, with nothing beside them (lookup.h, KARY): sorted, then put into that
 * order. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_kary_build_32.comp.h"
#include "shaders/primitive/lookup_kary_build_64.comp.h"

static const struct rql_kernel build_kernels[2] = {RQL_LOOKUP_KERNEL(lookup_kary_build_32, rql_lookup_kary_args),
                                                   RQL_LOOKUP_KERNEL(lookup_kary_build_64, rql_lookup_kary_args)};

static uint64_t node_keys(const struct rql_lookup_map *map)
{
	return rql_lookup_node_bytes(map) * 8 / map->key_bits;
}

uint64_t rql_lookup_kary_keys(const struct rql_lookup_map *map)
{
	return rql_div_up(map->count, node_keys(map)) * node_keys(map);
}

struct kary_plan {
	struct rql_span keys, rows; /* ascending, in temp */
	struct rql_sort sort;
	uint64_t bytes;
};

static struct kary_plan plan_of(const struct rql_lookup_build *build)
{
	const struct rql_lookup_map *map = &build->map;
	struct kary_plan plan;
	uint64_t at = 0;
	plan.keys = rql_span_at(&build->temp, rql_temp_take(&at, map->count * map->key_bits / 8));
	plan.rows = rql_span_at(&build->temp, rql_temp_take(&at, map->count * 4));
	plan.sort = (struct rql_sort){.key_bits = map->key_bits, .value_bits = 32, .high_bit = map->key_bits,
	                              .count = map->count, .keys_in = build->keys, .keys_out = plan.keys,
	                              .values_out = plan.rows, .temp = rql_span_at(&build->temp, at)};
	plan.bytes = at + rql_sort_temp_bytes(&plan.sort);
	return plan;
}

uint64_t rql_lookup_kary_temp_bytes(const struct rql_lookup_build *build)
{
	return plan_of(build).bytes;
}

rql_status rql_record_lookup_kary(struct rql_commands *c, const struct rql_lookup_build *build, struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	const uint64_t keys = node_keys(map), places = rql_lookup_kary_keys(map);
	const struct kary_plan plan = plan_of(build);
	struct rql_uses uses = {.count = 0};
	if (!map->count)
		return RQL_OK;
	RQL_TRY(rql_span_check(&build->temp, plan.bytes / 16, 16, "temporary words of a map", err));
	RQL_TRY(rql_record_sort(c, &plan.sort, err));
	struct rql_lookup_kary_args args = {
		.keys = rql_span_address(&plan.keys),
		.rows = rql_span_address(&plan.rows),
		.keys_out = rql_span_address(&map->keys),
		.rows_out = rql_span_address(&map->rows),
		.places = places,
		.lowest = 1,
		.count = (uint32_t)map->count,
		.node_keys = (uint32_t)keys,
	};
	while (args.upper + args.lowest < places / keys) {
		args.upper += args.lowest;
		args.lowest *= keys + 1;
	}
	rql_uses_add(&uses, &build->temp, RQL_READ);
	rql_uses_add(&uses, &map->keys, RQL_WRITE);
	rql_uses_add(&uses, &map->rows, RQL_WRITE);
	return rql_lookup_record(c, "lookup.kary", rql_lookup_device(map), &build_kernels[map->key_bits == 64], &args, places,
	                         &uses, err);
}
