/* Prefix sum on a GPU: reduce, scan the sums, scan the tiles. Three passes and 2 reads + 1 write of every item, against
 * one pass and 1 + 1 of decoupled look-back, which needs forward progress between workgroups that Vulkan does not
 * promise. */
#include "primitive/primitive_internal.h"

#define ALONE 4u /* tiles: above, three launches are faster than one workgroup */

static uint32_t in_width(enum rql_scan_kind kind)
{
	return kind == RQL_SCAN_U64_U64 ? 8 : 4;
}
static uint32_t out_width(enum rql_scan_kind kind)
{
	return kind == RQL_SCAN_U32_U32 ? 4 : 8;
}

/* One place for the sizes of temporary memory and for what is recorded. */
static struct rql_tiling tiling(const struct rql_scan *scan)
{
	return rql_tiling_of(scan->count, RQL_SCAN_TILE, ALONE);
}

uint64_t rql_scan_temp_bytes(const struct rql_scan *scan)
{
	struct rql_tiling t = tiling(scan);
	return t.groups > 1 ? rql_temp_round(t.groups * 8) : 0;
}

static rql_status check(const struct rql_scan *scan, struct rql_error *err)
{
	if ((unsigned)scan->kind > RQL_SCAN_U64_U64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "there is no prefix sum of kind %d", (int)scan->kind);
	RQL_TRY(rql_span_check(&scan->in, scan->count, in_width(scan->kind), "input of a prefix sum", err));
	RQL_TRY(rql_span_check(&scan->out, scan->count, out_width(scan->kind), "output of a prefix sum", err));
	if (scan->total.buffer)
		RQL_TRY(rql_span_check(&scan->total, 1, 8, "total of a prefix sum", err));
	uint64_t temp = rql_scan_temp_bytes(scan);
	if (temp)
		RQL_TRY(rql_span_check(&scan->temp, temp / 8, 8, "temporary words of a prefix sum", err));
	return RQL_OK;
}

static rql_status record_sums(struct rql_commands *c, const struct rql_scan *scan, const struct rql_tiling *t,
                              const struct rql_scan_args *args, struct rql_error *err)
{
	struct rql_device *device = scan->in.buffer->device;
	const struct rql_pipeline *sums, *over_sums;
	bool wide = in_width(scan->kind) == 8;
	RQL_TRY(
		rql_primitive_pipeline(device, wide ? RQL_KERNEL_SCAN_SUMS_64 : RQL_KERNEL_SCAN_SUMS_32, NULL, 0, &sums, err));
	RQL_TRY(rql_primitive_pipeline(device, RQL_KERNEL_SCAN_TILES_64_64, NULL, 0, &over_sums, err));
	struct rql_use uses[] = {{scan->temp.buffer, RQL_WRITE}, {scan->in.buffer, RQL_READ}};
	rql_record_dispatch(c, "scan.sums", sums, args, t->groups, uses, 2);
	struct rql_scan_args middle = {
		.in_items = args->sums,
		.out_items = args->sums,
		.count = t->groups,
		.tiles_per_group = rql_div_up(t->groups, RQL_SCAN_TILE),
	};
	uses[0].access = RQL_READ_WRITE;
	rql_record_dispatch(c, "scan.over", over_sums, &middle, 1, uses, 1);
	return RQL_OK;
}

rql_status rql_record_scan(struct rql_commands *c, const struct rql_scan *scan, struct rql_error *err)
{
	static const enum rql_primitive_kernel kernels[] = {
		[RQL_SCAN_U32_U32] = RQL_KERNEL_SCAN_TILES_32_32,
		[RQL_SCAN_U32_U64] = RQL_KERNEL_SCAN_TILES_32_64,
		[RQL_SCAN_U64_U64] = RQL_KERNEL_SCAN_TILES_64_64,
	};
	RQL_TRY(check(scan, err));
	if (!scan->count) {
		if (scan->total.buffer)
			rql_record_fill(c, scan->total.buffer, scan->total.offset, 8, 0);
		return RQL_OK;
	}
	struct rql_tiling t = tiling(scan);
	struct rql_scan_args args = {
		.in_items = rql_span_address(&scan->in),
		.out_items = rql_span_address(&scan->out),
		.sums = t.groups > 1 ? rql_span_address(&scan->temp) : 0,
		.total = rql_span_address(&scan->total),
		.count = scan->count,
		.tiles_per_group = t.tiles_per_group,
		.inclusive = scan->inclusive,
	};
	const struct rql_pipeline *tiles;
	RQL_TRY(rql_primitive_pipeline(scan->in.buffer->device, kernels[scan->kind], NULL, 0, &tiles, err));
	if (args.sums)
		RQL_TRY(record_sums(c, scan, &t, &args, err));
	struct rql_use uses[4] = {{scan->in.buffer, RQL_READ}, {scan->out.buffer, RQL_WRITE}};
	uint32_t use_count = 2;
	if (scan->total.buffer)
		uses[use_count++] = (struct rql_use){scan->total.buffer, RQL_WRITE};
	if (args.sums)
		uses[use_count++] = (struct rql_use){scan->temp.buffer, RQL_READ};
	rql_record_dispatch(c, "scan.tiles", tiles, &args, t.groups, uses, use_count);
	return RQL_OK;
}
