/* Records a piece of a join that streams. */
#include "primitive/lookup_internal.h"
#include "primitive/stream_join.h"
#include "shaders/primitive/lookup_stream_direct.comp.h"
#include "shaders/primitive/lookup_stream_hashed.comp.h"

static const struct rql_kernel kernels[2] = {RQL_LOOKUP_KERNEL(lookup_stream_direct, rql_stream_args),
                                             RQL_LOOKUP_KERNEL(lookup_stream_hashed, rql_stream_args)};

static rql_status check(const struct rql_stream_join *join, struct rql_error *err)
{
	const struct rql_lookup_map *map = &join->map;
	if (map->form == RQL_LOOKUP_SORTED || map->key_bits != 32)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join that streams needs a hashed or direct map of 32-bit keys");
	RQL_TRY(rql_lookup_check_map(map, err));
	RQL_TRY(rql_span_check(&join->build_values, map->count, 4, "build values of a join", err));
	RQL_TRY(rql_span_check(&join->keys, join->count, 4, "probe keys of a join", err));
	RQL_TRY(rql_span_check(&join->values, join->count, 4, "probe values of a join", err));
	RQL_TRY(rql_span_check(&join->build_out, join->capacity, 4, "build values of a result", err));
	RQL_TRY(rql_span_check(&join->probe_out, join->capacity, 4, "probe values of a result", err));
	return rql_span_check(&join->rows, 1, 8, "number of a result's rows", err);
}

rql_status rql_record_stream_join(struct rql_commands *c, const struct rql_stream_join *join, struct rql_error *err)
{
	RQL_TRY(check(join, err));
	const struct rql_lookup_map *map = &join->map;
	const struct rql_stream_args args = {
		.slots = rql_span_address(&map->slots),
		.low = map->low,
		.high = map->high,
		.build_values = rql_span_address(&join->build_values),
		.keys = rql_span_address(&join->keys),
		.values = rql_span_address(&join->values),
		.build_out = rql_span_address(&join->build_out),
		.probe_out = rql_span_address(&join->probe_out),
		.rows = rql_span_address(&join->rows),
		.count = join->count,
		.capacity = join->capacity,
		.part_bits = map->part_bits,
		.part_slots = map->part_slots,
	};
	const uint32_t threads = RQL_STREAM_THREADS;
	const struct rql_kernel *kernel = &kernels[map->form == RQL_LOOKUP_HASHED];
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	rql_uses_add(&uses, &map->slots, RQL_READ);
	rql_uses_add(&uses, &join->build_values, RQL_READ);
	rql_uses_add(&uses, &join->keys, RQL_READ);
	rql_uses_add(&uses, &join->values, RQL_READ);
	rql_uses_add(&uses, &join->build_out, RQL_WRITE);
	rql_uses_add(&uses, &join->probe_out, RQL_WRITE);
	rql_uses_add(&uses, &join->rows, RQL_READ_WRITE);
	RQL_TRY(rql_pipeline_get(rql_lookup_device(map), kernel, &threads, 1, &pipeline, err));
	rql_record_dispatch(c, "stream.join", pipeline, &args,
	                    rql_div_up(join->count, (uint64_t)RQL_STREAM_THREADS * RQL_STREAM_ITEMS), uses.use, uses.count);
	return RQL_OK;
}
