/* Look-ups of keys by rays (geometry/key.h) on a device: every key of a point or a range is met, exactly once, and no
 * other, duplicates, misses and extremes included. The oracle is a loop over the keys. */
#include "selftest/selftest_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/trace.h"
#include "geometry/key.h"
#include "selftest/lookup/selftest_keyray_kernels.h"
#include "shaders/selftest/keyfill.comp.h"
#include "shaders/selftest/keyray.rahit.h"
#include "shaders/selftest/keyray.rgen.h"
#include "shaders/selftest/keyray.rmiss.h"

static const struct rql_kernel fill_kernel = {
	.name = "selftest.keyfill",
	.spirv = rql_spv_keyfill_comp,
	.spirv_bytes = sizeof(rql_spv_keyfill_comp),
	.args_bytes = sizeof(struct rql_keyfill_args),
};
static const struct rql_trace_kernel ray_kernel = {
	.name = "selftest.keyray",
	.raygen = {rql_spv_keyray_rgen, sizeof(rql_spv_keyray_rgen)},
	.miss = {rql_spv_keyray_rmiss, sizeof(rql_spv_keyray_rmiss)},
	.any_hit = {rql_spv_keyray_rahit, sizeof(rql_spv_keyray_rahit)},
	.args_bytes = sizeof(struct rql_keyray_args),
};

#define KEYS 2000u
#define PROBES 300u
#define MOST_LINES 20u /* a range's rays */

struct scene {
	struct rql_selftest *t;
	struct rql_key_space space;
	uint64_t keys[KEYS], ranges[PROBES][2], wanted[PROBES][2], got[PROBES][2], count;
	struct rql_buffer *key_buffer, *range_buffer, *results;
	struct rql_accel *accel;
};

static rql_status fill(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                       struct rql_error *err)
{
	const struct scene *s = state;
	const struct rql_pipeline *pipeline;
	const uint32_t threads = RQL_KEYRAY_THREADS;
	(void)part;
	RQL_TRY(rql_pipeline_get(s->t->device, &fill_kernel, &threads, 1, &pipeline, err));
	struct rql_keyfill_args args = {
		.keys = s->key_buffer->address, .corners = input->address, .count = s->count, .stride = s->space.stride};
	memcpy(args.bits, s->space.bits, sizeof(args.bits));
	memcpy(args.shift, s->space.shift, sizeof(args.shift));
	const struct rql_use uses[] = {{s->key_buffer, RQL_READ}, {input, RQL_WRITE}};
	rql_record_dispatch(c, "keys", pipeline, &args, (s->count + threads - 1) / threads, uses, 2);
	return RQL_OK;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Clusters, so that neighbours exist, at both ends and anywhere; some many times. */
static void draw_keys(struct scene *s)
{
	uint64_t last = rql_key_last(&s->space), line = UINT64_C(1) << s->space.bits[0], at = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		if (rql_selftest_below(s->t, 20) == 0) {
			const uint64_t edge[] = {0, last, line - 1, line, last - line, line / 2};
			uint64_t n = rql_selftest_below(s->t, 9);
			at = n < 6 ? edge[n] : rql_selftest_random(s->t);
		}
		s->keys[i] = at & last;
		at += rql_selftest_below(s->t, 3);
	}
	/* Mesa 25.0 keeps the order of the input. */
	qsort(s->keys, s->count, sizeof(*s->keys), ascending);
}

static void draw_ranges(struct scene *s, bool points)
{
	uint64_t last = rql_key_last(&s->space), line = UINT64_C(1) << s->space.bits[0];
	uint64_t widest = line > last / MOST_LINES ? last : line * (MOST_LINES - 1);
	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t near = s->keys[rql_selftest_below(s->t, s->count)] + rql_selftest_below(s->t, 5) - 2;
		uint64_t low = (rql_selftest_below(s->t, 8) ? near : rql_selftest_random(s->t)) & last;
		uint64_t wide = rql_selftest_below(s->t, rql_selftest_below(s->t, 2) && widest < UINT64_MAX ? widest + 1 : 9);
		s->ranges[i][0] = low;
		s->ranges[i][1] = points ? low : wide > last - low ? last : low + wide;
		s->wanted[i][0] = s->wanted[i][1] = 0;
		for (uint64_t row = 0; row < s->count; row++)
			if (s->keys[row] >= low && s->keys[row] <= s->ranges[i][1]) {
				s->wanted[i][0]++;
				s->wanted[i][1] += row + 1;
			}
	}
}

static rql_status look_up(struct scene *s, enum rql_key_form form, bool points, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	struct rql_commands *c;
	draw_ranges(s, points);
	RQL_TRY(rql_buffer_upload(s->range_buffer, 0, s->ranges, sizeof(s->ranges), err));
	RQL_TRY(rql_trace_pipeline_get(s->t->device, &ray_kernel, NULL, 0, &pipeline, err));
	struct rql_keyray_args args = {.accel = s->accel->address,
	                               .ranges = s->range_buffer->address,
	                               .results = s->results->address,
	                               .probes = PROBES,
	                               .stride = s->space.stride,
	                               .form = form};
	memcpy(args.bits, s->space.bits, sizeof(args.bits));
	memcpy(args.shift, s->space.shift, sizeof(args.shift));
	const struct rql_use uses[] = {{s->range_buffer, RQL_READ}, {s->results, RQL_WRITE}};
	RQL_TRY(rql_selftest_record(s->t, &c, err));
	rql_record_trace(c, "look-ups", pipeline, &args, PROBES, &s->accel, 1, uses, 2);
	RQL_TRY(rql_selftest_execute(s->t, err));
	RQL_TRY(rql_buffer_download(s->results, 0, s->got, sizeof(s->got), err));
	char what[120];
	snprintf(what, sizeof(what), "hits of %s, form %u, bits %u %u %u, stride %u", points ? "points" : "ranges",
	         (unsigned)form, s->space.bits[0], s->space.bits[1], s->space.bits[2], s->space.stride);
	return rql_selftest_same(s->got, s->wanted, 2 * (uint64_t)PROBES, sizeof(uint64_t), what, err);
}

static rql_status check_forms(struct scene *s, struct rql_error *err)
{
	for (int form = RQL_KEY_OFFSET; form <= RQL_KEY_PERPENDICULAR; form++) {
		if (!rql_key_form_fits(&s->space, form))
			continue;
		RQL_TRY(look_up(s, form, true, err));
		if (form != RQL_KEY_PERPENDICULAR)
			RQL_TRY(look_up(s, form, false, err));
	}
	return RQL_OK;
}

static rql_status check_space(struct rql_selftest *t, struct rql_key_space space, struct rql_error *err)
{
	struct scene *s;
	RQL_TRY(rql_selftest_alloc(t, 1, sizeof(*s), &s, err));
	s->t = t;
	s->space = space;
	s->count = KEYS;
	draw_keys(s);
	RQL_TRY(rql_selftest_buffer(t, sizeof(s->keys), s->keys, "keys", &s->key_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, sizeof(s->ranges), NULL, "ranges", &s->range_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, sizeof(s->got), NULL, "hits", &s->results, err));
	const struct rql_accel_spec spec = {
		.what = "a selftest's keys",
		.primitive = RQL_TRIANGLES,
		.one_call_per_hit = true,
		.compact = true,
		.part_count = 1,
		.part_primitives = &s->count,
		.fill = fill,
		.state = s,
	};
	RQL_TRY(rql_accel_build(t->device, &spec, NULL, &s->accel, err));
	rql_status status = check_forms(s, err);
	rql_accel_free(s->accel);
	return status;
}

static rql_status test_lattice(struct rql_selftest *t, struct rql_error *err)
{
	static const struct rql_key_space spaces[] = {
		{.bits = {22, 0, 0}}, {.bits = {22, 22, 20}}, {.bits = {20, 22, 22}}, {.bits = {11, 11, 10}}, {.bits = {4, 2, 0}}};
	for (unsigned i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		RQL_TRY(check_space(t, spaces[i], err));
	return check_space(t, rql_key_space_lattice(32, true), err);
}

static rql_status test_extended(struct rql_selftest *t, struct rql_error *err)
{
	return check_space(t, rql_key_space_extended(8), err);
}

#define RT RQL_SELFTEST_UNIT(RQL_UNIT_RT)
const struct rql_selftest_case rql_selftest_keyray[] = {
	{"keys.lattice", RT, test_lattice},
	{"keys.extended", RT, test_extended},
	{0},
};
