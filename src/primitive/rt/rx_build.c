/* Building RX: keys, sorted if that is wanted, become triangles or boxes, part by part. */
#include "primitive/rt/rt_internal.h"

#include <stdlib.h>

#include "shaders/primitive/rt/rx_fill_32.comp.h"
#include "shaders/primitive/rt/rx_fill_64.comp.h"

#define KERNEL(symbol)                                                                                                 \
	{"primitive." #symbol, rql_spv_##symbol##_comp, sizeof(rql_spv_##symbol##_comp), sizeof(struct rql_rx_fill_args)}
static const struct rql_kernel fill_kernels[2] = {KERNEL(rx_fill_32), KERNEL(rx_fill_64)};

struct filling {
	const struct rql_rx *rx;
	struct rql_span keys, state;
};

static uint64_t part_count(const struct rql_rx *rx)
{
	return rx->spec.count ? ((rx->spec.count - 1) >> rx->part_log2) + 1 : 1;
}

static uint64_t part_primitives(const struct rql_rx *rx, uint64_t part)
{
	uint64_t first = part << rx->part_log2, left = rx->spec.count > first ? rx->spec.count - first : 0;
	return left < UINT64_C(1) << rx->part_log2 ? left : UINT64_C(1) << rx->part_log2;
}

static rql_status fill(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                       struct rql_error *err)
{
	const struct filling *f = state;
	const struct rql_rx_spec *spec = &f->rx->spec;
	const struct rql_pipeline *pipeline;
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_rt_constants(&spec->space, constants);
	constants[8] = spec->primitive;
	RQL_TRY(rql_pipeline_get(f->rx->device, &fill_kernels[spec->key_bits == 64], constants, 9, &pipeline, err));
	const struct rql_rx_fill_args args = {.keys = rql_span_address(&f->keys),
	                                      .out_items = input->address,
	                                      .state = rql_span_address(&f->state),
	                                      .base = spec->base,
	                                      .last = spec->last - spec->base,
	                                      .first = (uint64_t)part << f->rx->part_log2,
	                                      .count = part_primitives(f->rx, part)};
	const struct rql_use uses[] = {
		{f->keys.buffer, RQL_READ}, {input, RQL_WRITE}, {f->state.buffer, RQL_READ_WRITE}};
	rql_record_dispatch(c, "rx.fill", pipeline, &args, rql_div_up(args.count, RQL_RT_THREADS), uses, 3);
	return RQL_OK;
}

static rql_status check(const struct rql_rx_spec *spec, struct rql_error *err)
{
	if ((spec->key_bits != 32 && spec->key_bits != 64) || spec->count > RQL_RX_KEYS || spec->base > spec->last ||
	    !rql_key_space_valid(&spec->space) || (spec->refit && spec->sorted) ||
	    (spec->rows.buffer && (spec->refit || spec->sorted)))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "an RX of %llu keys of %u bits between %llu and %llu",
		                     (unsigned long long)spec->count, spec->key_bits, (unsigned long long)spec->base,
		                     (unsigned long long)spec->last);
	if (!rql_key_fits(&spec->space, spec->last - spec->base))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "keys between %llu and %llu do not fit the %u + %u + %u bits of the scene: take more bits",
		                     (unsigned long long)spec->base, (unsigned long long)spec->last, spec->space.bits[0],
		                     spec->space.bits[1], spec->space.bits[2]);
	if (spec->space.stride && spec->space.stride < RQL_RX_LEAST_STRIDE)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "extended keys 2^%u steps of float32 apart are too near for a device's rounding: take 2^%u",
		                     spec->space.stride, RQL_RX_LEAST_STRIDE);
	if (spec->space.stride && spec->primitive != RQL_RX_TRIANGLES &&
	    spec->last - spec->base >= RQL_RX_BOX_FLOATS >> spec->space.stride)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "boxes of extended keys up to %llu lie beyond 2^126, where Mesa 25.0 loses them",
		                     (unsigned long long)(spec->last - spec->base));
	if (spec->rows.buffer)
		RQL_TRY(rql_span_check(&spec->rows, spec->count, 4, "rows of an RX", err));
	return rql_span_check(&spec->keys, spec->count, spec->key_bits / 8, "keys of an RX", err);
}

/* Keys ascending, and their rows. */
static rql_status sort_keys(struct rql_rx *rx, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_rx_spec *spec = &rx->spec;
	struct rql_commands *c;
	struct rql_sort sort = {.key_bits = spec->key_bits, .value_bits = 32, .high_bit = spec->key_bits,
	                        .count = spec->count, .keys_in = spec->keys};
	RQL_TRY(rql_rt_memory(rx->device, spec->count * spec->key_bits / 8, "keys of an RX", &rx->own_keys, err));
	sort.keys_out = spec->keys = rx->own_keys;
	RQL_TRY(rql_rt_memory(rx->device, spec->count * 4, "rows of an RX", &rx->rows, err));
	sort.values_out = rx->rows;
	RQL_TRY(rql_rt_memory(rx->device, rql_sort_temp_bytes(&sort), "temporary memory of an RX", &sort.temp, err));
	rql_status status = rql_commands_new(rx->device, RQL_COMMANDS_TIMED, &c, err);
	if (status == RQL_OK)
		status = rql_rt_finish(c, rql_record_sort(c, &sort, err), progress, &rx->build_ms, err);
	rql_buffer_free(sort.temp.buffer);
	return status;
}

/* Were all keys within their bounds? */
static rql_status check_outside(const struct rql_span *state, struct rql_error *err)
{
	uint64_t outside;
	RQL_TRY(rql_buffer_download(state->buffer, state->offset + RQL_RT_OUTSIDE * 8, &outside, 8, err));
	return outside ? rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%llu keys of an RX are beyond its bounds",
	                               (unsigned long long)outside)
	               : RQL_OK;
}

static rql_status new_state(struct rql_rx *rx, struct rql_span *state, struct rql_error *err)
{
	static const uint64_t zeros[RQL_RT_STATE_WORDS];
	RQL_TRY(rql_rt_memory(rx->device, sizeof(zeros), "the state of a build", state, err));
	return rql_buffer_upload(state->buffer, 0, zeros, sizeof(zeros), err);
}

static rql_status build_levels(struct rql_rx *rx, struct rql_progress *progress, struct rql_error *err)
{
	struct filling f = {.rx = rx, .keys = rx->spec.keys};
	const uint64_t parts = part_count(rx);
	uint64_t *primitives = calloc(parts, sizeof(*primitives));
	if (!primitives)
		return rql_error_memory(err, parts * sizeof(*primitives), "the parts of an RX");
	for (uint64_t p = 0; p < parts; p++)
		primitives[p] = part_primitives(rx, p);
	const struct rql_accel_spec spec = {.what = "an RX",
	                                    .primitive = rx->spec.primitive == RQL_RX_TRIANGLES ? RQL_TRIANGLES : RQL_AABBS,
	                                    .one_call_per_hit = true,
	                                    .aim = rx->spec.aim,
	                                    .compact = rx->spec.compact,
	                                    .refit = rx->spec.refit,
	                                    .part_count = (uint32_t)parts,
	                                    .part_primitives = primitives,
	                                    .fill = fill,
	                                    .state = &f};
	rql_status status = new_state(rx, &f.state, err);
	if (status == RQL_OK)
		status = rql_accel_build(rx->device, &spec, progress, &rx->accel, err);
	if (status == RQL_OK)
		status = check_outside(&f.state, err);
	rql_buffer_free(f.state.buffer);
	free(primitives);
	return status;
}

static rql_status build(struct rql_rx *rx, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_rx_spec *spec = &rx->spec;
	rx->part_log2 = rql_rt_part_log2(rx->device, spec->count, spec->parts);
	if (spec->sorted)
		RQL_TRY(sort_keys(rx, progress, err));
	RQL_TRY(build_levels(rx, progress, err));
	rx->build_ms += rx->accel->build_ms;
	rx->bytes = rx->accel->bytes;
	if (!spec->sorted)
		return RQL_OK;
	rx->bytes += spec->count * 4;
	if (spec->primitive != RQL_RX_TRIANGLES) {
		rx->bytes += spec->count * spec->key_bits / 8;
		return RQL_OK;
	}
	rql_buffer_free(rx->own_keys.buffer);
	rx->own_keys.buffer = spec->keys.buffer = NULL;
	return RQL_OK;
}

rql_status rql_rx_build(const struct rql_rx_spec *spec, struct rql_progress *progress, struct rql_rx **out,
                        struct rql_error *err)
{
	RQL_TRY(check(spec, err));
	struct rql_rx *rx = calloc(1, sizeof(*rx));
	if (!rx)
		return rql_error_memory(err, sizeof(*rx), "an RX");
	rx->spec = *spec;
	rx->device = spec->keys.buffer->device;
	rql_status status = build(rx, progress, err);
	if (status == RQL_OK)
		*out = rx;
	else
		rql_rx_free(rx);
	return status;
}

rql_status rql_rx_refit(struct rql_rx *rx, const struct rql_span *keys, struct rql_error *err)
{
	struct filling f = {.rx = rx, .keys = *keys};
	if (!rx->spec.refit)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "an RX that was not made for it is to be refitted");
	RQL_TRY(rql_span_check(keys, rx->spec.count, rx->spec.key_bits / 8, "keys of an RX", err));
	rql_status status = new_state(rx, &f.state, err);
	for (uint32_t part = 0; part < part_count(rx) && status == RQL_OK; part++)
		status = rql_accel_refit(rx->accel, part, fill, &f, err);
	if (status == RQL_OK)
		status = check_outside(&f.state, err);
	rql_buffer_free(f.state.buffer);
	rx->spec.keys = *keys;
	return status;
}

void rql_rx_free(struct rql_rx *rx)
{
	if (!rx)
		return;
	rql_accel_free(rx->accel);
	rql_buffer_free(rx->own_keys.buffer);
	rql_buffer_free(rx->rows.buffer);
	free(rx);
}
