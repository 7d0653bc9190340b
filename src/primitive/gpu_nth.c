/* The n-th greatest key on a GPU: a dispatch a round, each of which chooses the digit of the round before by itself. */
#include "primitive/primitive_internal.h"

#define GROUP_ITEMS (RQL_THREADS * 16u)
#define GROUPS_MAX 1056u /* fills 132 multiprocessors; each of them adds a table of digits */
#define STATE_BYTES (RQL_NTH_ROUNDS * 16u)
#define TEMP_BYTES (STATE_BYTES + RQL_NTH_ROUNDS * RQL_NTH_DIGITS * 4u)

_Static_assert(5 * RQL_NTH_BITS + 9 == 64, "nth.comp takes the last bits as a digit of 9");

uint64_t rql_nth_temp_bytes(const struct rql_nth *nth)
{
	(void)nth;
	return rql_temp_round(TEMP_BYTES);
}

static rql_status check(const struct rql_nth *nth, struct rql_error *err)
{
	if (!nth->n || nth->count > RQL_NTH_KEYS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "the key number %llu of %llu keys", (unsigned long long)nth->n,
		                     (unsigned long long)nth->count);
	RQL_TRY(rql_span_check(&nth->keys, nth->count, 8, "keys of a selection", err));
	RQL_TRY(rql_span_check(&nth->out, 1, 8, "result of a selection", err));
	if (nth->found.buffer)
		RQL_TRY(rql_span_check(&nth->found, 1, 8, "number of keys of a selection", err));
	return rql_span_check(&nth->temp, rql_temp_round(TEMP_BYTES) / 8, 8, "temporary words of a selection", err);
}

rql_status rql_record_nth(struct rql_commands *c, const struct rql_nth *nth, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	RQL_TRY(check(nth, err));
	uint64_t groups = rql_div_up(nth->count, GROUP_ITEMS);
	groups = groups < 1 ? 1 : groups < GROUPS_MAX ? groups : GROUPS_MAX;
	struct rql_nth_args args = {.keys = rql_span_address(&nth->keys),
	                            .found = rql_span_address(&nth->found),
	                            .out_items = rql_span_address(&nth->out),
	                            .temp = rql_span_address(&nth->temp),
	                            .count = nth->count,
	                            .n = nth->n};
	const struct rql_use uses[] = {{nth->keys.buffer, RQL_READ},
	                               {nth->temp.buffer, RQL_READ_WRITE},
	                               {nth->out.buffer, RQL_WRITE},
	                               {nth->found.buffer, RQL_READ}};
	RQL_TRY(rql_primitive_pipeline(nth->keys.buffer->device, RQL_KERNEL_NTH, NULL, 0, &pipeline, err));
	rql_record_fill(c, nth->temp.buffer, nth->temp.offset, rql_temp_round(TEMP_BYTES), 0);
	for (args.round = 0; args.round <= RQL_NTH_ROUNDS; args.round++) {
		args.groups = args.round < RQL_NTH_ROUNDS ? (uint32_t)groups : 1;
		rql_record_dispatch(c, "nth", pipeline, &args, args.groups, uses, nth->found.buffer ? 4 : 3);
	}
	return RQL_OK;
}
