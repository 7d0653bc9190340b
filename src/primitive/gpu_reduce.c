/* Reduction on a GPU: one pass to partial results, one workgroup over those; a single pass when that is enough. */
#include "primitive/primitive_internal.h"

#define GROUP_ITEMS (RQL_THREADS * 16u)
#define GROUPS_MAX 2048u /* fills 132 multiprocessors with full occupancy twice, and is one short pass more */

static uint32_t groups_of(const struct rql_reduce *reduce)
{
	uint64_t groups = rql_div_up(reduce->count, GROUP_ITEMS);
	return groups < 1 ? 1 : groups > GROUPS_MAX ? GROUPS_MAX : (uint32_t)groups;
}

uint64_t rql_reduce_temp_bytes(const struct rql_reduce *reduce)
{
	uint32_t groups = groups_of(reduce);
	return groups > 1 ? rql_temp_round(groups * 16) : 0;
}

static rql_status check(const struct rql_reduce *reduce, struct rql_error *err)
{
	bool sum = reduce->kind == RQL_REDUCE_SUM64 || reduce->kind == RQL_REDUCE_SUM128;
	if ((unsigned)reduce->kind > RQL_REDUCE_MAX || (unsigned)reduce->type > RQL_WORD_F64 ||
	    (sum && reduce->type == RQL_WORD_F64))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "there is no reduction of kind %d of type %d", (int)reduce->kind,
		                     (int)reduce->type);
	RQL_TRY(rql_span_check(&reduce->in, reduce->count, 8, "input of a reduction", err));
	RQL_TRY(rql_span_check(&reduce->out, reduce->kind == RQL_REDUCE_SUM128 ? 2 : 1, 8, "output of a reduction", err));
	uint64_t temp = rql_reduce_temp_bytes(reduce);
	if (temp)
		RQL_TRY(rql_span_check(&reduce->temp, temp / 8, 8, "temporary words of a reduction", err));
	return RQL_OK;
}

rql_status rql_record_reduce(struct rql_commands *c, const struct rql_reduce *reduce, struct rql_error *err)
{
	RQL_TRY(check(reduce, err));
	uint32_t groups = groups_of(reduce);
	const struct rql_span *to = groups > 1 ? &reduce->temp : &reduce->out;
	struct rql_reduce_args args = {
		.in_items = rql_span_address(&reduce->in),
		.out_items = rql_span_address(to),
		.count = reduce->count,
		.groups = groups,
		.last = groups == 1,
	};
	const struct rql_pipeline *pipeline, *over;
	struct rql_device *device = reduce->out.buffer->device;
	uint32_t constants[] = {reduce->kind, reduce->type, 0};
	RQL_TRY(rql_primitive_pipeline(device, RQL_KERNEL_REDUCE, constants, 3, &pipeline, err));
	const struct rql_use uses[] = {{reduce->in.buffer, RQL_READ}, {to->buffer, RQL_WRITE}};
	rql_record_dispatch(c, "reduce", pipeline, &args, groups, uses, 2);
	if (groups == 1)
		return RQL_OK;
	constants[2] = 1;
	RQL_TRY(rql_primitive_pipeline(device, RQL_KERNEL_REDUCE, constants, 3, &over, err));
	struct rql_reduce_args last = {
		.in_items = rql_span_address(&reduce->temp),
		.out_items = rql_span_address(&reduce->out),
		.count = groups,
		.groups = 1,
		.last = 1,
	};
	const struct rql_use last_uses[] = {{reduce->temp.buffer, RQL_READ}, {reduce->out.buffer, RQL_WRITE}};
	rql_record_dispatch(c, "reduce.over", over, &last, 1, last_uses, 2);
	return RQL_OK;
}
