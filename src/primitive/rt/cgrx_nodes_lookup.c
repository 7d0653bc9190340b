/* Looking keys up in cgRX of nodes, and the buckets of entries: one trace. */
#include "primitive/rt/cgrx_nodes.h"

#include "primitive/rt/rt_internal.h"
#include "shaders/primitive/rt/cgrx.rchit.h"
#include "shaders/primitive/rt/cgrx_nodes_32.rgen.h"
#include "shaders/primitive/rt/cgrx_nodes_64.rgen.h"
#include "shaders/primitive/rt/rt.rmiss.h"

#define SHADER(symbol) {rql_spv_##symbol, sizeof(rql_spv_##symbol)}
#define KERNEL(bits)                                                                                                   \
	{.name = "primitive.cgrx.nodes." #bits, .raygen = SHADER(cgrx_nodes_##bits##_rgen), .miss = SHADER(rt_rmiss),      \
	 .closest_hit = SHADER(cgrx_rchit), .args_bytes = sizeof(struct rql_cgrx_args)}
static const struct rql_trace_kernel kernels[2] = {KERNEL(32), KERNEL(64)};

static rql_status check(const struct rql_cgrx_nodes_lookup *l, struct rql_error *err)
{
	const uint32_t key_bytes = l->nodes->spec.cgrx.key_bits / 8;
	RQL_TRY(rql_span_check(&l->points, l->count, key_bytes, "probes of a cgRX", err));
	RQL_TRY(rql_span_check(&l->state, RQL_RT_STATE_WORDS, 8, "state of a cgRX", err));
	if (l->ends.buffer)
		RQL_TRY(rql_span_check(&l->ends, l->count, key_bytes, "ends of a cgRX's ranges", err));
	if (l->places.buffer)
		RQL_TRY(rql_span_check(&l->places, l->count, 4, "places of a cgRX's probes", err));
	if (l->rows.buffer)
		RQL_TRY(rql_span_check(&l->rows, l->count, 4, "rows found by a cgRX", err));
	if (l->counts.buffer)
		RQL_TRY(rql_span_check(&l->counts, l->count, 4, "counts of a cgRX", err));
	if (l->bits.buffer && (l->rows.buffer || l->counts.buffer || l->sums.buffer))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "bits of a cgRX are put out alone");
	if (!l->sums.buffer)
		return RQL_OK;
	RQL_TRY(rql_span_check(&l->sums, l->count, 8, "sums of a cgRX", err));
	if (l->value_bits != 32 && l->value_bits != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "values of a cgRX have %u bits: 32 or 64", l->value_bits);
	return rql_span_check(&l->values, l->value_count, l->value_bits / 8, "values that a cgRX sums", err);
}

static rql_status record(struct rql_commands *c, const struct rql_cgrx_nodes *x, uint32_t flags,
                         const struct rql_cgrx_args *args, struct rql_uses *uses, struct rql_error *err)
{
	const struct rql_span *read[] = {&x->keys, &x->rows, &x->next, &x->sizes, &x->last_keys, &x->last_rows, &x->header,
	                                 &x->scene->buckets_of};
	const struct rql_pipeline *pipeline;
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_rt_constants(&x->scene->spec.space, constants);
	constants[10] = flags;
	constants[13] = x->spec.log2_node;
	constants[14] = 1;
	constants[15] = x->scene->spec.drop;
	RQL_TRY(rql_trace_pipeline_get(x->device, &kernels[x->spec.cgrx.key_bits == 64], constants, RQL_RT_CONSTANTS,
	                               &pipeline, err));
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(uses, read[i], RQL_READ);
	struct rql_cgrx_args all = *args;
	struct rql_accel *accel = x->scene->accel;
	all.accel = accel->address;
	all.base = x->scene->spec.base;
	all.last = x->scene->spec.last - x->scene->spec.base;
	all.keys = rql_span_address(&x->header);
	all.buckets_of = rql_span_address(&x->scene->buckets_of);
	rql_record_trace(c, "cgrx.nodes.trace", pipeline, &all, all.probes, &accel, 1, uses->use, uses->count);
	return RQL_OK;
}

rql_status rql_record_cgrx_nodes(struct rql_commands *c, const struct rql_cgrx_nodes_lookup *l, struct rql_error *err)
{
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(l, err));
	rql_record_fill(c, l->state.buffer, l->state.offset, RQL_RT_STATE_WORDS * 8, 0);
	if (!l->count)
		return RQL_OK;
	const struct rql_span *read[] = {&l->points, &l->ends, &l->places, &l->values};
	const struct rql_span *written[] = {&l->rows, &l->counts, &l->sums, &l->bits, &l->state};
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		rql_uses_add(&uses, written[i], RQL_READ_WRITE);
	const uint32_t flags = (l->value_bits == 64 ? RQL_RT_WIDE : 0) | (l->value_signed ? RQL_RT_SIGNED : 0) |
	                       (l->tally ? RQL_RT_TALLY : 0) | (l->bits.buffer ? RQL_RT_BITS : 0);
	const struct rql_cgrx_args args = {.lows = rql_span_address(&l->points),
	                                   .highs = rql_span_address(&l->ends),
	                                   .places = rql_span_address(&l->places),
	                                   .probes = l->count,
	                                   .sums = rql_span_address(&l->values),
	                                   .rows_out = rql_span_address(l->bits.buffer ? &l->bits : &l->rows),
	                                   .counts_out = rql_span_address(&l->counts),
	                                   .sums_out = rql_span_address(&l->sums),
	                                   .state = rql_span_address(&l->state)};
	return record(c, l->nodes, flags, &args, &uses, err);
}

rql_status rql_record_cgrx_locate(struct rql_commands *c, const struct rql_cgrx_nodes *x, uint64_t count,
                                  const struct rql_span *keys, const struct rql_span *rows, const struct rql_span *out,
                                  struct rql_error *err)
{
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_span_check(keys, count, x->spec.cgrx.key_bits / 8, "keys of entries of a cgRX", err));
	RQL_TRY(rql_span_check(rows, count, 4, "rows of entries of a cgRX", err));
	RQL_TRY(rql_span_check(out, count, 4, "buckets of entries of a cgRX", err));
	if (!count)
		return RQL_OK;
	rql_uses_add(&uses, keys, RQL_READ);
	rql_uses_add(&uses, rows, RQL_READ);
	rql_uses_add(&uses, out, RQL_WRITE);
	const struct rql_cgrx_args args = {.lows = rql_span_address(keys),
	                                   .rows = rql_span_address(rows),
	                                   .probes = count,
	                                   .rows_out = rql_span_address(out)};
	return record(c, x, RQL_RT_LOCATE, &args, &uses, err);
}
