/* Looking keys up in RX: one trace. */
#include "primitive/rt/rt_internal.h"

#include "shaders/primitive/rt/rt.rmiss.h"
#include "shaders/primitive/rt/rx_narrow.rchit.h"
#include "shaders/primitive/rt/rx_32.rint.h"
#include "shaders/primitive/rt/rx_32_narrow.rgen.h"
#include "shaders/primitive/rt/rx_32_wide.rgen.h"
#include "shaders/primitive/rt/rx_64.rint.h"
#include "shaders/primitive/rt/rx_64_narrow.rgen.h"
#include "shaders/primitive/rt/rx_64_wide.rgen.h"
#include "shaders/primitive/rt/rx_narrow.rahit.h"
#include "shaders/primitive/rt/rx_wide.rahit.h"

#define SHADER(symbol) {rql_spv_##symbol, sizeof(rql_spv_##symbol)}
#define MEMBERS(text, bits, width)                                                                                     \
	.name = "primitive.rx." text "." #bits "." #width, .raygen = SHADER(rx_##bits##_##width##_rgen),                    \
	.miss = SHADER(rt_rmiss), .any_hit = SHADER(rx_##width##_rahit), .args_bytes = sizeof(struct rql_rx_args)
#define TRIANGLES(bits, width) {MEMBERS("triangles", bits, width)}
#define BOXES(bits, width) {MEMBERS("boxes", bits, width), .intersection = SHADER(rx_##bits##_rint)}
/* By boxes, 64 bits, width. */
static const struct rql_trace_kernel all_kernels[2][2][2] = {
	{{TRIANGLES(32, narrow), TRIANGLES(32, wide)}, {TRIANGLES(64, narrow), TRIANGLES(64, wide)}},
	{{BOXES(32, narrow), BOXES(32, wide)}, {BOXES(64, narrow), BOXES(64, wide)}},
};
#define FIRST .closest_hit = SHADER(rx_narrow_rchit)
static const struct rql_trace_kernel first_kernels[2][2] = {
	{{MEMBERS("first.triangles", 32, narrow), FIRST}, {MEMBERS("first.triangles", 64, narrow), FIRST}},
	{{MEMBERS("first.boxes", 32, narrow), .intersection = SHADER(rx_32_rint), FIRST},
     {MEMBERS("first.boxes", 64, narrow), .intersection = SHADER(rx_64_rint), FIRST}},
};

static rql_status check_form(const struct rql_rx_lookup *l, struct rql_error *err)
{
	const bool lists = l->list_rows.buffer != NULL;
	if (!rql_key_form_fits(&l->rx->spec.space, l->form))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "rays of form %d do not fit the scene", (int)l->form);
	if (lists && (l->hits != RQL_RX_ALL || l->rows.buffer || l->counts.buffer || l->sums.buffer))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a list of hits has all of them, and nothing beside");
	if (l->bits.buffer && (lists || l->hits != RQL_RX_ALL || l->rows.buffer || l->counts.buffer || l->sums.buffer))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "bits of hits are of all of them, and nothing beside");
	if (l->sums.buffer && l->value_bits != 32 && l->value_bits != 64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "values of an RX have %u bits: 32 or 64", l->value_bits);
	return RQL_OK;
}

static rql_status check(const struct rql_rx_lookup *l, struct rql_error *err)
{
	const struct {
		const struct rql_span *span;
		uint64_t items;
		uint32_t width;
		bool needed;
		const char *what;
	} spans[] = {
		{&l->points, l->count, l->rx->spec.key_bits / 8, true, "probes of an RX"},
		{&l->ends, l->count, l->rx->spec.key_bits / 8, false, "ends of an RX's ranges"},
		{&l->places, l->count, 4, false, "places of an RX's probes"},
		{&l->rows, l->count, 4, false, "rows found by an RX"},
		{&l->counts, l->count, 4, false, "counts of an RX"},
		{&l->sums, l->count, 8, false, "sums of an RX"},
		{&l->values, l->rx->spec.count, l->value_bits / 8, l->sums.buffer != NULL, "values that an RX sums"},
		{&l->offsets, l->count, 8, l->list_rows.buffer != NULL, "places of an RX's hits"},
		{&l->list_rows, l->capacity, 4, false, "rows of an RX's hits"},
		{&l->list_probes, l->capacity, 4, false, "probes of an RX's hits"},
		{&l->bits, 1, 4, false, "bits of an RX's hits"},
		{&l->state, RQL_RT_STATE_WORDS, 8, true, "state of an RX"},
	};
	RQL_TRY(check_form(l, err));
	for (uint32_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		if (spans[i].needed || spans[i].span->buffer)
			RQL_TRY(rql_span_check(spans[i].span, spans[i].items, spans[i].width ? spans[i].width : 4, spans[i].what,
			                       err));
	return RQL_OK;
}

static rql_status pipeline_of(const struct rql_rx_lookup *l, const struct rql_pipeline **out, struct rql_error *err)
{
	const struct rql_rx *rx = l->rx;
	const bool boxes = rx->spec.primitive != RQL_RX_TRIANGLES, long_keys = rx->spec.key_bits == 64;
	const bool wide = l->sums.buffer || l->list_rows.buffer;
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_rt_constants(&rx->spec.space, constants);
	constants[8] = rx->spec.primitive;
	constants[9] = l->form;
	constants[10] = (l->hits == RQL_RX_FIRST ? RQL_RT_FIRST : 0) | (l->list_rows.buffer ? RQL_RT_LIST : 0) |
	                (l->value_bits == 64 ? RQL_RT_WIDE : 0) | (l->value_signed ? RQL_RT_SIGNED : 0) |
	                (l->tally ? RQL_RT_TALLY : 0) | (l->bits.buffer ? RQL_RT_BITS : 0);
	constants[11] = rx->accel->part_count > 1 ? rx->part_log2 : 31; /* one pipeline for all that have one part */
	constants[12] = RQL_RX_LINES;
	return rql_trace_pipeline_get(rx->device,
	                              l->hits == RQL_RX_FIRST ? &first_kernels[boxes][long_keys]
	                                                      : &all_kernels[boxes][long_keys][wide],
	                              constants, RQL_RT_CONSTANTS, out, err);
}

static struct rql_rx_args args_of(const struct rql_rx_lookup *l)
{
	const bool lists = l->list_rows.buffer != NULL;
	return (struct rql_rx_args){
		.accel = l->rx->accel->address,
		.lows = rql_span_address(&l->points),
		.highs = rql_span_address(&l->ends),
		.places = rql_span_address(&l->places),
		.probes = l->count,
		.base = l->rx->spec.base,
		.last = l->rx->spec.last - l->rx->spec.base,
		.values = rql_span_address(&l->values),
		.prim_rows = rql_span_address(l->rx->rows.buffer ? &l->rx->rows : &l->rx->spec.rows),
		.prim_keys = rql_span_address(&l->rx->spec.keys),
		.rows_out = rql_span_address(lists ? &l->list_probes : &l->rows),
		.counts_out = rql_span_address(&l->counts),
		.wide_out = rql_span_address(lists ? &l->list_rows : l->bits.buffer ? &l->bits : &l->sums),
		.offsets = rql_span_address(&l->offsets),
		.state = rql_span_address(&l->state),
	};
}

rql_status rql_record_rx(struct rql_commands *c, const struct rql_rx_lookup *l, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(l, err));
	const struct rql_span *read[] = {&l->points, &l->ends, &l->places, &l->values, &l->offsets,
	                                 &l->rx->rows, &l->rx->spec.rows, &l->rx->spec.keys};
	const struct rql_span *written[] = {&l->rows, &l->counts, &l->sums, &l->list_rows, &l->list_probes, &l->bits,
	                                    &l->state};
	rql_record_fill(c, l->state.buffer, l->state.offset, RQL_RT_STATE_WORDS * 8, 0);
	if (l->list_rows.buffer) {
		uint64_t at = l->state.offset + RQL_RT_CAPACITY * 8;
		rql_record_fill(c, l->state.buffer, at, 4, (uint32_t)l->capacity);
		rql_record_fill(c, l->state.buffer, at + 4, 4, (uint32_t)(l->capacity >> 32));
	}
	if (!l->count)
		return RQL_OK;
	RQL_TRY(pipeline_of(l, &pipeline, err));
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		rql_uses_add(&uses, written[i], RQL_READ_WRITE);
	const struct rql_rx_args args = args_of(l);
	struct rql_accel *accel = l->rx->accel;
	rql_record_trace(c, "rx.trace", pipeline, &args, l->count, &accel, 1, uses.use, uses.count);
	return RQL_OK;
}
