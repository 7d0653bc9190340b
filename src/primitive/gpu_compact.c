/* Compaction on a GPU: count per workgroup, scan the counts, write the indices. */
#include "primitive/primitive_internal.h"

#define ALONE 4u

static struct rql_tiling tiling(const struct rql_compact *compact)
{
	return rql_tiling_of(compact->count, RQL_COMPACT_TILE, ALONE);
}

/* The prefix sum over the workgroups' counts, in place at the start of temp. */
static struct rql_prefix_sum prefix_of(const struct rql_compact *compact, uint64_t groups)
{
	return (struct rql_prefix_sum){
		.kind = RQL_PREFIX_U64_U64,
		.count = groups,
		.in = compact->temp,
		.out = compact->temp,
		.temp = rql_span_at(&compact->temp, rql_temp_round(groups * 8)),
	};
}

uint64_t rql_compact_temp_bytes(const struct rql_compact *compact)
{
	struct rql_tiling t = tiling(compact);
	if (t.groups <= 1)
		return 0;
	struct rql_prefix_sum prefix = prefix_of(compact, t.groups);
	return rql_temp_round(t.groups * 8) + rql_prefix_temp_bytes(&prefix);
}

static rql_status check(const struct rql_compact *compact, struct rql_error *err)
{
	uint32_t bits = compact->index_bits;
	if ((unsigned)compact->kind > RQL_COMPACT_FLAGS || (bits != 32 && bits != 64) ||
	    (bits == 32 && compact->count > UINT64_C(1) << 32))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a compaction of kind %d of %llu entries to %u-bit indices",
		                     (int)compact->kind, (unsigned long long)compact->count, bits);
	if (compact->kind == RQL_COMPACT_BITS)
		RQL_TRY(rql_span_check(&compact->in, rql_div_up(compact->count, 64), 8, "bitmap words of a compaction", err));
	else
		RQL_TRY(rql_span_check(&compact->in, compact->count, 4, "flags of a compaction", err));
	RQL_TRY(rql_span_check(&compact->out, 0, bits / 8, "indices of a compaction", err));
	RQL_TRY(rql_span_check(&compact->found, 1, 8, "count of a compaction", err));
	uint64_t temp = rql_compact_temp_bytes(compact);
	if (temp)
		RQL_TRY(rql_span_check(&compact->temp, temp / 8, 8, "temporary words of a compaction", err));
	return RQL_OK;
}

static rql_status record_counts(struct rql_commands *c, const struct rql_compact *compact, uint64_t groups,
                                const struct rql_compact_args *args, struct rql_error *err)
{
	const struct rql_pipeline *count;
	bool bits = compact->kind == RQL_COMPACT_BITS;
	RQL_TRY(rql_primitive_pipeline(compact->found.buffer->device,
	                               bits ? RQL_KERNEL_COMPACT_COUNT_BITS : RQL_KERNEL_COMPACT_COUNT_FLAGS, NULL, 0,
	                               &count, err));
	const struct rql_use uses[] = {{compact->in.buffer, RQL_READ}, {compact->temp.buffer, RQL_WRITE}};
	rql_record_dispatch(c, "compact.count", count, args, groups, uses, 2);
	struct rql_prefix_sum prefix = prefix_of(compact, groups);
	return rql_record_prefix_sum(c, &prefix, err);
}

rql_status rql_record_compact(struct rql_commands *c, const struct rql_compact *compact, struct rql_error *err)
{
	static const enum rql_primitive_kernel kernels[2][2] = {
		{RQL_KERNEL_COMPACT_WRITE_BITS_32, RQL_KERNEL_COMPACT_WRITE_BITS_64},
		{RQL_KERNEL_COMPACT_WRITE_FLAGS_32, RQL_KERNEL_COMPACT_WRITE_FLAGS_64},
	};
	RQL_TRY(check(compact, err));
	if (!compact->count) {
		rql_record_fill(c, compact->found.buffer, compact->found.offset, 8, 0);
		return RQL_OK;
	}
	struct rql_tiling t = tiling(compact);
	struct rql_compact_args args = {
		.in_items = rql_span_address(&compact->in),
		.out_items = rql_span_address(&compact->out),
		.sums = t.groups > 1 ? rql_span_address(&compact->temp) : 0,
		.found = rql_span_address(&compact->found),
		.count = compact->count,
		.tiles_per_group = t.tiles_per_group,
	};
	const struct rql_pipeline *write;
	RQL_TRY(rql_primitive_pipeline(compact->found.buffer->device, kernels[compact->kind][compact->index_bits == 64],
	                               NULL, 0, &write, err));
	if (args.sums)
		RQL_TRY(record_counts(c, compact, t.groups, &args, err));
	const struct rql_use uses[] = {
		{compact->in.buffer, RQL_READ},
		{compact->out.buffer, RQL_WRITE},
		{compact->found.buffer, RQL_WRITE},
		{compact->temp.buffer, RQL_READ},
	};
	rql_record_dispatch(c, "compact.write", write, &args, t.groups, uses, args.sums ? 4 : 3);
	return RQL_OK;
}

rql_status rql_record_indirect(struct rql_commands *c, struct rql_span items, uint32_t items_per_group,
                               struct rql_span groups, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_span_check(&items, 1, 8, "number of items of an indirect dispatch", err));
	RQL_TRY(rql_span_check(&groups, 3, 4, "workgroup counts of an indirect dispatch", err));
	if (!items_per_group)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "an indirect dispatch of 0 items per workgroup");
	RQL_TRY(rql_primitive_pipeline(items.buffer->device, RQL_KERNEL_INDIRECT, NULL, 0, &pipeline, err));
	struct rql_indirect_args args = {
		.items = rql_span_address(&items),
		.groups = rql_span_address(&groups),
		.items_per_group = items_per_group,
	};
	const struct rql_use uses[] = {{items.buffer, RQL_READ}, {groups.buffer, RQL_WRITE}};
	rql_record_dispatch(c, "indirect", pipeline, &args, 1, uses, 2);
	return RQL_OK;
}
