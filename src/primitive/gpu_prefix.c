/* Prefix sum on a GPU: reduce, scan the sums, scan the tiles. Three passes and 2 reads + 1 write of every item, against
 * one pass and 1 + 1 of decoupled look-back, which needs forward progress between workgroups that Vulkan does not
 * promise. */
#include "primitive/primitive_internal.h"

#define ALONE 4u /* tiles: above, three launches are faster than one workgroup */

static uint32_t in_width(enum rql_prefix_kind kind)
{
	return kind == RQL_PREFIX_U64_U64 ? 8 : 4;
}
static uint32_t out_width(enum rql_prefix_kind kind)
{
	return kind == RQL_PREFIX_U32_U32 ? 4 : 8;
}

/* One place for the sizes of temporary memory and for what is recorded. */
static struct rql_tiling tiling(const struct rql_prefix_sum *prefix)
{
	return rql_tiling_of(prefix->count, RQL_PREFIX_TILE, ALONE);
}

uint64_t rql_prefix_temp_bytes(const struct rql_prefix_sum *prefix)
{
	struct rql_tiling t = tiling(prefix);
	return t.groups > 1 ? rql_temp_round(t.groups * 8) : 0;
}

static rql_status check(const struct rql_prefix_sum *prefix, struct rql_error *err)
{
	if ((unsigned)prefix->kind > RQL_PREFIX_U64_U64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "there is no prefix sum of kind %d", (int)prefix->kind);
	RQL_TRY(rql_span_check(&prefix->in, prefix->count, in_width(prefix->kind), "input of a prefix sum", err));
	RQL_TRY(rql_span_check(&prefix->out, prefix->count, out_width(prefix->kind), "output of a prefix sum", err));
	if (prefix->total.buffer)
		RQL_TRY(rql_span_check(&prefix->total, 1, 8, "total of a prefix sum", err));
	uint64_t temp = rql_prefix_temp_bytes(prefix);
	if (temp)
		RQL_TRY(rql_span_check(&prefix->temp, temp / 8, 8, "temporary words of a prefix sum", err));
	return RQL_OK;
}

static rql_status record_sums(struct rql_commands *c, const struct rql_prefix_sum *prefix, const struct rql_tiling *t,
                              const struct rql_prefix_args *args, struct rql_error *err)
{
	struct rql_device *device = prefix->in.buffer->device;
	const struct rql_pipeline *sums, *over_sums;
	bool wide = in_width(prefix->kind) == 8;
	RQL_TRY(
		rql_primitive_pipeline(device, wide ? RQL_KERNEL_PREFIX_SUMS_64 : RQL_KERNEL_PREFIX_SUMS_32, NULL, 0, &sums, err));
	RQL_TRY(rql_primitive_pipeline(device, RQL_KERNEL_PREFIX_TILES_64_64, NULL, 0, &over_sums, err));
	struct rql_use uses[] = {{prefix->temp.buffer, RQL_WRITE}, {prefix->in.buffer, RQL_READ}};
	rql_record_dispatch(c, "prefix.sums", sums, args, t->groups, uses, 2);
	struct rql_prefix_args middle = {
		.in_items = args->sums,
		.out_items = args->sums,
		.count = t->groups,
		.tiles_per_group = rql_div_up(t->groups, RQL_PREFIX_TILE),
	};
	uses[0].access = RQL_READ_WRITE;
	rql_record_dispatch(c, "prefix.over", over_sums, &middle, 1, uses, 1);
	return RQL_OK;
}

rql_status rql_record_prefix_sum(struct rql_commands *c, const struct rql_prefix_sum *prefix, struct rql_error *err)
{
	static const enum rql_primitive_kernel kernels[] = {
		[RQL_PREFIX_U32_U32] = RQL_KERNEL_PREFIX_TILES_32_32,
		[RQL_PREFIX_U32_U64] = RQL_KERNEL_PREFIX_TILES_32_64,
		[RQL_PREFIX_U64_U64] = RQL_KERNEL_PREFIX_TILES_64_64,
	};
	RQL_TRY(check(prefix, err));
	if (!prefix->count) {
		if (prefix->total.buffer)
			rql_record_fill(c, prefix->total.buffer, prefix->total.offset, 8, 0);
		return RQL_OK;
	}
	struct rql_tiling t = tiling(prefix);
	struct rql_prefix_args args = {
		.in_items = rql_span_address(&prefix->in),
		.out_items = rql_span_address(&prefix->out),
		.sums = t.groups > 1 ? rql_span_address(&prefix->temp) : 0,
		.total = rql_span_address(&prefix->total),
		.count = prefix->count,
		.tiles_per_group = t.tiles_per_group,
		.inclusive = prefix->inclusive,
	};
	const struct rql_pipeline *tiles;
	RQL_TRY(rql_primitive_pipeline(prefix->in.buffer->device, kernels[prefix->kind], NULL, 0, &tiles, err));
	if (args.sums)
		RQL_TRY(record_sums(c, prefix, &t, &args, err));
	struct rql_use uses[4] = {{prefix->in.buffer, RQL_READ}, {prefix->out.buffer, RQL_WRITE}};
	uint32_t use_count = 2;
	if (prefix->total.buffer)
		uses[use_count++] = (struct rql_use){prefix->total.buffer, RQL_WRITE};
	if (args.sums)
		uses[use_count++] = (struct rql_use){prefix->temp.buffer, RQL_READ};
	rql_record_dispatch(c, "prefix.tiles", tiles, &args, t.groups, uses, use_count);
	return RQL_OK;
}
