/* Looking keys up in cgRX: one trace. */
#include "primitive/rt/cgrx.h"

#include "primitive/rt/rt_internal.h"
#include "shaders/primitive/rt/cgrx.rchit.h"
#include "shaders/primitive/rt/cgrx_32.rgen.h"
#include "shaders/primitive/rt/cgrx_64.rgen.h"
#include "shaders/primitive/rt/rt.rmiss.h"

#define SHADER(symbol) {rql_spv_##symbol, sizeof(rql_spv_##symbol)}
#define KERNEL(bits)                                                                                                   \
	{.name = "primitive.cgrx." #bits, .raygen = SHADER(cgrx_##bits##_rgen), .miss = SHADER(rt_rmiss),                  \
	 .closest_hit = SHADER(cgrx_rchit), .args_bytes = sizeof(struct rql_cgrx_args)}
static const struct rql_trace_kernel kernels[2] = {KERNEL(32), KERNEL(64)};

static rql_status check(const struct rql_cgrx_lookup *l, struct rql_error *err)
{
	const struct rql_cgrx *x = l->cgrx;
	const uint32_t key_bytes = x->spec.key_bits / 8;
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
	if (l->run > RQL_CGRX_RUN)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a run of a cgRX has %u probes, at most %u", l->run, RQL_CGRX_RUN);
	if (!l->sums.buffer)
		return RQL_OK;
	RQL_TRY(rql_span_check(&l->sums, l->count, 8, "sums of a cgRX", err));
	if (x->sums.buffer)
		return RQL_OK;
	if (l->value_bits != 32 && l->value_bits != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "values of a cgRX have %u bits: 32 or 64", l->value_bits);
	return rql_span_check(&l->values, x->spec.count, l->value_bits / 8, "values that a cgRX sums", err);
}

uint32_t rql_cgrx_reach_log2(const struct rql_cgrx *x)
{
	const uint64_t width = (x->spec.last - x->spec.base) >> x->spec.drop;
	const uint32_t log2 = rql_log2_up(width / (x->representatives ? x->representatives : 1) + 1) + 2;
	return log2 < x->spec.space.bits[0] ? log2 : x->spec.space.bits[0];
}

static rql_status pipeline_of(const struct rql_cgrx_lookup *l, uint32_t run, const struct rql_pipeline **out,
                              struct rql_error *err)
{
	const struct rql_cgrx *x = l->cgrx;
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_rt_constants(&x->spec.space, constants);
	constants[10] = (x->sums.buffer ? RQL_RT_PREFIX : 0) | (l->value_bits == 64 ? RQL_RT_WIDE : 0) |
	                (l->value_signed ? RQL_RT_SIGNED : 0) | (l->tally ? RQL_RT_TALLY : 0) |
	                (x->spec.lines ? RQL_RT_LINES : 0) | (l->bits.buffer ? RQL_RT_BITS : 0);
	constants[12] = RQL_RX_LINES;
	constants[13] = x->spec.log2_bucket;
	constants[14] = run;
	constants[15] = x->spec.drop;
	constants[16] = rql_cgrx_reach_log2(x);
	return rql_trace_pipeline_get(x->device, &kernels[x->spec.key_bits == 64], constants, RQL_RT_CONSTANTS, out, err);
}

rql_status rql_record_cgrx(struct rql_commands *c, const struct rql_cgrx_lookup *l, struct rql_error *err)
{
	const struct rql_cgrx *x = l->cgrx;
	const struct rql_span *sums = x->sums.buffer ? &x->sums : &l->values;
	const uint32_t run = l->run ? l->run : 1;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(l, err));
	const struct rql_span *read[] = {&l->points, &l->ends, &l->places, &x->keys, &x->rows, sums, &x->buckets_of};
	const struct rql_span *written[] = {&l->rows, &l->counts, &l->sums, &l->bits, &l->state};
	rql_record_fill(c, l->state.buffer, l->state.offset, RQL_RT_STATE_WORDS * 8, 0);
	rql_record_fill(c, l->state.buffer, l->state.offset + RQL_RT_CAPACITY * 8, 4, (uint32_t)x->spec.count);
	if (!l->count)
		return RQL_OK;
	RQL_TRY(pipeline_of(l, run, &pipeline, err));
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		rql_uses_add(&uses, written[i], RQL_READ_WRITE);
	const struct rql_cgrx_args args = {
		.accel = x->accel->address,
		.lows = rql_span_address(&l->points),
		.highs = rql_span_address(&l->ends),
		.places = rql_span_address(&l->places),
		.probes = l->count,
		.base = x->spec.base,
		.last = x->spec.last - x->spec.base,
		.keys = rql_span_address(&x->keys),
		.rows = rql_span_address(&x->rows),
		.sums = rql_span_address(sums),
		.buckets_of = rql_span_address(&x->buckets_of),
		.rows_out = rql_span_address(l->bits.buffer ? &l->bits : &l->rows),
		.counts_out = rql_span_address(&l->counts),
		.sums_out = rql_span_address(&l->sums),
		.state = rql_span_address(&l->state),
	};
	struct rql_accel *accel = x->accel;
	rql_record_trace(c, "cgrx.trace", pipeline, &args, rql_div_up(l->count, run), &accel, 1, uses.use, uses.count);
	return RQL_OK;
}
