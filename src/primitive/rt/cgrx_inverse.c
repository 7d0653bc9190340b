/* Inverse mapping: rays from the table's keys into a structure of the probes. */
#include "primitive/rt/cgrx.h"

#include "primitive/rt/rt_internal.h"
#include "shaders/primitive/rt/cgrx.rchit.h"
#include "shaders/primitive/rt/cgrx_inverse_32.rgen.h"
#include "shaders/primitive/rt/cgrx_inverse_64.rgen.h"
#include "shaders/primitive/rt/rt.rmiss.h"

#define SHADER(symbol) {rql_spv_##symbol, sizeof(rql_spv_##symbol)}
#define KERNEL(bits)                                                                                                   \
	{.name = "primitive.cgrx.inverse." #bits, .raygen = SHADER(cgrx_inverse_##bits##_rgen), .miss = SHADER(rt_rmiss),  \
	 .closest_hit = SHADER(cgrx_rchit), .args_bytes = sizeof(struct rql_cgrx_args)}
static const struct rql_trace_kernel kernels[2] = {KERNEL(32), KERNEL(64)};

static rql_status check(const struct rql_cgrx_inverse *v, struct rql_error *err)
{
	const uint64_t probes = v->probes->spec.count;
	if (v->probes->spec.log2_bucket || v->probes->spec.drop)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "inverse mapping needs all probes in the scene, and no buckets");
	RQL_TRY(rql_span_check(&v->keys, v->count, v->probes->spec.key_bits / 8, "keys of an inverse mapping", err));
	RQL_TRY(rql_span_check(&v->key_rows, v->count, 4, "rows of an inverse mapping", err));
	RQL_TRY(rql_span_check(&v->state, RQL_RT_STATE_WORDS, 8, "state of an inverse mapping", err));
	if (v->rows.buffer)
		RQL_TRY(rql_span_check(&v->rows, probes, 4, "rows found by an inverse mapping", err));
	if (v->counts.buffer)
		RQL_TRY(rql_span_check(&v->counts, probes, 4, "counts of an inverse mapping", err));
	if (!v->sums.buffer)
		return RQL_OK;
	if (v->value_bits != 32 && v->value_bits != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "values of an inverse mapping have %u bits: 32 or 64",
		                     v->value_bits);
	RQL_TRY(rql_span_check(&v->sums, probes, 8, "sums of an inverse mapping", err));
	return rql_span_check(&v->values, v->value_count, v->value_bits / 8, "values that an inverse mapping sums", err);
}

/* What no key asks for. */
static void record_nothing(const struct rql_cgrx_inverse *v, struct rql_commands *c)
{
	const uint64_t probes = v->probes->spec.count;
	if (v->rows.buffer && probes)
		rql_record_fill(c, v->rows.buffer, v->rows.offset, probes * 4, RQL_RX_NO_ROW);
	if (v->counts.buffer && probes)
		rql_record_fill(c, v->counts.buffer, v->counts.offset, probes * 4, 0);
	if (v->sums.buffer && probes)
		rql_record_fill(c, v->sums.buffer, v->sums.offset, probes * 8, 0);
	rql_record_fill(c, v->state.buffer, v->state.offset, RQL_RT_STATE_WORDS * 8, 0);
	rql_record_fill(c, v->state.buffer, v->state.offset + RQL_RT_CAPACITY * 8, 4, (uint32_t)probes);
}

rql_status rql_record_cgrx_inverse(struct rql_commands *c, const struct rql_cgrx_inverse *v, struct rql_error *err)
{
	const struct rql_cgrx *x = v->probes;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	uint32_t constants[RQL_RT_CONSTANTS];
	RQL_TRY(check(v, err));
	record_nothing(v, c);
	if (!v->count)
		return RQL_OK;
	rql_rt_constants(&x->spec.space, constants);
	constants[10] = (v->value_bits == 64 ? RQL_RT_WIDE : 0) | (v->value_signed ? RQL_RT_SIGNED : 0) |
	                (v->tally ? RQL_RT_TALLY : 0);
	RQL_TRY(rql_trace_pipeline_get(x->device, &kernels[x->spec.key_bits == 64], constants, RQL_RT_CONSTANTS, &pipeline,
	                               err));
	const struct rql_span *read[] = {&v->keys, &v->key_rows, &v->values, &x->keys, &x->rows, &x->buckets_of};
	const struct rql_span *written[] = {&v->rows, &v->counts, &v->sums, &v->state};
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		rql_uses_add(&uses, written[i], RQL_READ_WRITE);
	const struct rql_cgrx_args args = {
		.accel = x->accel->address,
		.lows = rql_span_address(&v->keys),
		.places = rql_span_address(&v->key_rows),
		.probes = v->count,
		.base = x->spec.base,
		.last = x->spec.last - x->spec.base,
		.keys = rql_span_address(&x->keys),
		.rows = rql_span_address(&x->rows),
		.sums = rql_span_address(&v->values),
		.buckets_of = rql_span_address(&x->buckets_of),
		.rows_out = rql_span_address(&v->rows),
		.counts_out = rql_span_address(&v->counts),
		.sums_out = rql_span_address(&v->sums),
		.state = rql_span_address(&v->state),
	};
	struct rql_accel *accel = x->accel;
	rql_record_trace(c, "cgrx.inverse", pipeline, &args, v->count, &accel, 1, uses.use, uses.count);
	return RQL_OK;
}
