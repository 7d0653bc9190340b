/* Maps on a GPU whose keys are sorted: keys with their row numbers, a directory over them, prefix sums of a value. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_values.comp.h"

static const struct rql_kernel values_kernel = RQL_LOOKUP_KERNEL(lookup_values, rql_lookup_values_args);

static struct rql_prefix_sum prefix_of(const struct rql_lookup_build *build)
{
	return (struct rql_prefix_sum){
		.kind = RQL_PREFIX_U64_U64,
		.count = build->map.count,
		.in = build->map.sums,
		.out = build->map.sums,
		.total = rql_span_at(&build->map.sums, build->map.count * 8),
		.temp = build->temp,
	};
}

uint64_t rql_lookup_build_temp_bytes(const struct rql_lookup_build *build)
{
	if (build->map.form == RQL_LOOKUP_KARY)
		return rql_lookup_kary_temp_bytes(build);
	if (!rql_lookup_ordered(&build->map))
		return rql_lookup_table_temp_bytes(build);
	struct rql_prefix_sum prefix = prefix_of(build);
	uint64_t bytes = rql_lookup_sort_temp_bytes(build);
	uint64_t sums = build->map.sums.buffer ? rql_prefix_temp_bytes(&prefix) : 0;
	return bytes > sums ? bytes : sums;
}

static rql_status check_build(const struct rql_lookup_build *build, struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	RQL_TRY(rql_lookup_check_map(map, err));
	RQL_TRY(rql_span_check(&build->keys, map->count, map->key_bits / 8, "keys that a map is made of", err));
	if (!map->sums.buffer)
		return RQL_OK;
	if (build->value_bits != 32 && build->value_bits != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "values of a map have %u bits: 32 or 64", build->value_bits);
	return rql_span_check(&build->values, map->count, build->value_bits / 8, "values that a map sums", err);
}

static rql_status record_sums(struct rql_commands *c, const struct rql_lookup_build *build, struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	struct rql_uses uses = {.count = 0};
	struct rql_prefix_sum prefix = prefix_of(build);
	const struct rql_span rows = rql_lookup_rows(map);
	struct rql_lookup_values_args args = {
		.rows = rql_span_address(&rows),
		.stride = rql_lookup_paired(map),
		.values = rql_span_address(&build->values),
		.out_items = rql_span_address(&map->sums),
		.count = (uint32_t)map->count,
		.flags = (build->value_bits == 64 ? RQL_LOOKUP_WIDE : 0) | (build->value_signed ? RQL_LOOKUP_SIGNED : 0),
	};
	if (!map->count) {
		rql_record_fill(c, map->sums.buffer, map->sums.offset, 8, 0);
		return RQL_OK;
	}
	rql_uses_add(&uses, &rows, RQL_READ);
	rql_uses_add(&uses, &build->values, RQL_READ);
	rql_uses_add(&uses, &map->sums, RQL_WRITE);
	RQL_TRY(rql_lookup_record(c, "lookup.values", rql_lookup_device(map), &values_kernel, &args, map->count, &uses,
	                          err));
	return rql_record_prefix_sum(c, &prefix, err);
}

rql_status rql_record_lookup_build(struct rql_commands *c, const struct rql_lookup_build *build,
                                   struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	RQL_TRY(check_build(build, err));
	if (map->form == RQL_LOOKUP_KARY)
		return rql_record_lookup_kary(c, build, err);
	if (!rql_lookup_ordered(map))
		return rql_record_lookup_table(c, build, err);
	RQL_TRY(rql_record_lookup_sort(c, build, err));
	if (map->form == RQL_LOOKUP_BTREE)
		RQL_TRY(rql_record_lookup_levels(c, map, err));
	return map->sums.buffer ? record_sums(c, build, err) : RQL_OK;
}
