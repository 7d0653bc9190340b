/* Look-ups on a GPU: keys are sorted with their row numbers, a directory is laid over them, and probes search in it. */
#include "primitive/lookup.h"
#include "primitive/lookup_kernels.h"
#include "primitive/relation_internal.h"

#include "shaders/primitive/lookup_directory_32.comp.h"
#include "shaders/primitive/lookup_directory_64.comp.h"
#include "shaders/primitive/lookup_probe_32.comp.h"
#include "shaders/primitive/lookup_probe_64.comp.h"
#include "shaders/primitive/lookup_values.comp.h"

#define KERNEL(symbol, args)                                                                                           \
	{"primitive." #symbol, rql_spv_##symbol##_comp, sizeof(rql_spv_##symbol##_comp), sizeof(struct args)}
static const struct rql_kernel directory_kernels[2] = {KERNEL(lookup_directory_32, rql_lookup_args),
                                                       KERNEL(lookup_directory_64, rql_lookup_args)};
static const struct rql_kernel probe_kernels[2] = {KERNEL(lookup_probe_32, rql_lookup_args),
                                                   KERNEL(lookup_probe_64, rql_lookup_args)};
static const struct rql_kernel values_kernel = KERNEL(lookup_values, rql_lookup_values_args);

uint32_t rql_lookup_choose_shift(uint64_t count, uint64_t low, uint64_t high)
{
	uint64_t most = count < 2 ? 2 : count < RQL_LOOKUP_KEYS ? count : RQL_LOOKUP_KEYS;
	uint32_t shift = 0;
	while ((high - low) >> shift >= most)
		shift++;
	return shift;
}

static uint64_t last_entry(const struct rql_lookup_map *map)
{
	return (map->high - map->low) >> map->shift;
}

uint64_t rql_lookup_starts(const struct rql_lookup_map *map)
{
	return last_entry(map) + 2;
}

static rql_status check_map(const struct rql_lookup_map *map, struct rql_error *err)
{
	if ((map->key_bits != 32 && map->key_bits != 64) || map->count > RQL_LOOKUP_KEYS || map->low > map->high ||
	    map->shift > 63 || last_entry(map) >= RQL_LOOKUP_KEYS || (map->key_bits == 32 && map->high > UINT32_MAX))
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "a map of %llu keys of %u bits between %llu and %llu, by shift %u",
		                     (unsigned long long)map->count, map->key_bits, (unsigned long long)map->low,
		                     (unsigned long long)map->high, map->shift);
	RQL_TRY(rql_span_check(&map->keys, map->count, map->key_bits / 8, "keys of a map", err));
	RQL_TRY(rql_span_check(&map->rows, map->count, 4, "rows of a map", err));
	RQL_TRY(rql_span_check(&map->starts, rql_lookup_starts(map), 4, "directory of a map", err));
	if (map->sums.buffer)
		RQL_TRY(rql_span_check(&map->sums, map->count + 1, 8, "sums of a map", err));
	return RQL_OK;
}

static struct rql_lookup_args args_of(const struct rql_lookup_map *map)
{
	return (struct rql_lookup_args){
		.keys = rql_span_address(&map->keys),
		.rows = rql_span_address(&map->rows),
		.starts = rql_span_address(&map->starts),
		.sums = rql_span_address(&map->sums),
		.base = map->low,
		.count = (uint32_t)map->count,
		.shift = map->shift,
		.last = (uint32_t)last_entry(map),
	};
}

static rql_status record(struct rql_commands *c, const char *pass, struct rql_device *device,
                         const struct rql_kernel *kernel, const void *args, uint64_t items, const struct rql_uses *uses,
                         struct rql_error *err)
{
	const uint32_t constants[1] = {RQL_THREADS};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(device, kernel, constants, 1, &pipeline, err));
	rql_record_dispatch(c, pass, pipeline, args, rql_div_up(items, RQL_THREADS), uses->use, uses->count);
	return RQL_OK;
}

/* ---- build ---- */

static struct rql_sort sort_of(const struct rql_lookup_build *build)
{
	return (struct rql_sort){
		.key_bits = build->map.key_bits,
		.value_bits = 32,
		.high_bit = build->map.key_bits,
		.count = build->map.count,
		.keys_in = build->keys,
		.keys_out = build->map.keys,
		.values_out = build->map.rows,
		.temp = build->temp,
	};
}

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
	struct rql_sort sort = sort_of(build);
	struct rql_prefix_sum prefix = prefix_of(build);
	uint64_t bytes = rql_sort_temp_bytes(&sort);
	uint64_t sums = build->map.sums.buffer ? rql_prefix_temp_bytes(&prefix) : 0;
	return bytes > sums ? bytes : sums;
}

static rql_status check_build(const struct rql_lookup_build *build, struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	RQL_TRY(check_map(map, err));
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
	struct rql_lookup_values_args args = {
		.rows = rql_span_address(&map->rows),
		.values = rql_span_address(&build->values),
		.out_items = rql_span_address(&map->sums),
		.count = (uint32_t)map->count,
		.flags = (build->value_bits == 64 ? RQL_LOOKUP_WIDE : 0) | (build->value_signed ? RQL_LOOKUP_SIGNED : 0),
	};
	if (!map->count) {
		rql_record_fill(c, map->sums.buffer, map->sums.offset, 8, 0);
		return RQL_OK;
	}
	rql_uses_add(&uses, &map->rows, RQL_READ);
	rql_uses_add(&uses, &build->values, RQL_READ);
	rql_uses_add(&uses, &map->sums, RQL_WRITE);
	RQL_TRY(record(c, "lookup.values", map->keys.buffer->device, &values_kernel, &args, map->count, &uses, err));
	return rql_record_prefix_sum(c, &prefix, err);
}

rql_status rql_record_lookup_build(struct rql_commands *c, const struct rql_lookup_build *build,
                                   struct rql_error *err)
{
	const struct rql_lookup_map *map = &build->map;
	RQL_TRY(check_build(build, err));
	if (map->count) {
		struct rql_sort sort = sort_of(build);
		RQL_TRY(rql_record_sort(c, &sort, err));
	}
	struct rql_lookup_args args = args_of(map);
	struct rql_uses uses = {.count = 0};
	rql_uses_add(&uses, &map->keys, RQL_READ);
	rql_uses_add(&uses, &map->starts, RQL_WRITE);
	RQL_TRY(record(c, "lookup.directory", map->keys.buffer->device, &directory_kernels[map->key_bits == 64], &args,
	               rql_lookup_starts(map), &uses, err));
	return map->sums.buffer ? record_sums(c, build, err) : RQL_OK;
}

/* ---- probe ---- */

static rql_status check(const struct rql_lookup *lookup, struct rql_error *err)
{
	uint32_t key_bytes = lookup->map.key_bits / 8;
	RQL_TRY(check_map(&lookup->map, err));
	RQL_TRY(rql_span_check(&lookup->points, lookup->count, key_bytes, "probes of a look-up", err));
	if (lookup->ends.buffer)
		RQL_TRY(rql_span_check(&lookup->ends, lookup->count, key_bytes, "ends of a look-up's ranges", err));
	if (lookup->found.buffer)
		RQL_TRY(rql_span_check(&lookup->found, 1, 8, "number of a look-up's probes", err));
	if (lookup->rows.buffer)
		RQL_TRY(rql_span_check(&lookup->rows, lookup->count, 4, "rows of a look-up", err));
	if (lookup->counts.buffer)
		RQL_TRY(rql_span_check(&lookup->counts, lookup->count, 4, "counts of a look-up", err));
	if (!lookup->sums.buffer)
		return RQL_OK;
	if (!lookup->map.sums.buffer)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "sums of a look-up whose map has none");
	return rql_span_check(&lookup->sums, lookup->count, 8, "sums of a look-up", err);
}

rql_status rql_record_lookup(struct rql_commands *c, const struct rql_lookup *lookup, struct rql_error *err)
{
	const struct rql_lookup_map *map = &lookup->map;
	const struct rql_span *read[] = {&map->keys,   &map->rows,      &map->starts,  &map->sums,
	                                 &lookup->found, &lookup->points, &lookup->ends};
	const struct rql_span *written[] = {&lookup->rows, &lookup->counts, &lookup->sums};
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(lookup, err));
	if (!lookup->count)
		return RQL_OK;
	struct rql_lookup_args args = args_of(map);
	args.lows = rql_span_address(&lookup->points);
	args.highs = rql_span_address(&lookup->ends);
	args.found = rql_span_address(&lookup->found);
	args.rows_out = rql_span_address(&lookup->rows);
	args.counts_out = rql_span_address(&lookup->counts);
	args.sums_out = rql_span_address(&lookup->sums);
	args.probes = lookup->count;
	for (uint32_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		rql_uses_add(&uses, written[i], RQL_WRITE);
	return record(c, "lookup.probe", map->keys.buffer->device, &probe_kernels[map->key_bits == 64], &args,
	              lookup->count, &uses, err);
}
