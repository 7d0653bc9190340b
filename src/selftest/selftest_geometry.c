/* geometry/axis.glsl against axis.h, bit by bit: what a device builds and traces is what the tests of axis.h are about. */
#include "selftest/selftest_case.h"

#include <string.h>

#include "geometry/axis.h"
#include "selftest/selftest_axis_kernels.h"
#include "shaders/selftest/axis.comp.h"

static const struct rql_kernel axis_kernel = {
	.name = "selftest.axis",
	.spirv = rql_spv_axis_comp,
	.spirv_bytes = sizeof(rql_spv_axis_comp),
	.args_bytes = sizeof(struct rql_axis_args),
};

static const uint32_t edges[] = {0, 1, 2, 65535, (1u << 21) - 1, (1u << 21) + 1, RQL_AXIS_SIZE - 2, RQL_AXIS_SIZE - 1};
#define EDGES (sizeof(edges) / sizeof(*edges))

static uint32_t draw_value(struct rql_selftest *t)
{
	uint64_t at = rql_selftest_below(t, 3 * EDGES);
	return at < EDGES ? edges[at] : (uint32_t)rql_selftest_below(t, RQL_AXIS_SIZE);
}

static void put_ray(float *out, struct rql_axis_ray ray)
{
	memcpy(out, ray.origin, sizeof(ray.origin));
	out[3] = ray.step;
	out[4] = ray.extent;
}

static rql_status test_axis(struct rql_selftest *t, struct rql_error *err)
{
	const uint64_t count = t->thorough ? 2000000 : 50000;
	struct rql_axis_case *cases;
	float *wanted, *got;
	RQL_TRY(rql_selftest_alloc(t, count, sizeof(*cases), &cases, err));
	RQL_TRY(rql_selftest_alloc(t, count, RQL_AXIS_WORDS * sizeof(float), &wanted, err));
	RQL_TRY(rql_selftest_alloc(t, count, RQL_AXIS_WORDS * sizeof(float), &got, err));
	for (uint64_t i = 0; i < count; i++) {
		struct rql_axis_case *c = &cases[i];
		*c = (struct rql_axis_case){draw_value(t), draw_value(t), draw_value(t), draw_value(t), 0};
		c->unit = rql_axis_unit((uint32_t)rql_selftest_below(t, RQL_AXIS_MAX_SHIFT + 1));
		float *out = wanted + i * RQL_AXIS_WORDS;
		rql_axis_triangle((struct rql_axis_point){c->x, c->y, c->z}, c->unit, out);
		put_ray(out + 9, rql_axis_ray_up(c->x, c->y, c->z, c->high, c->unit));
		put_ray(out + 14, rql_axis_ray_down(c->x, c->y, c->z, c->high, c->unit));
	}
	struct rql_buffer *from, *to;
	RQL_TRY(rql_selftest_buffer(t, count * sizeof(*cases), cases, "points and intervals", &from, err));
	RQL_TRY(rql_selftest_buffer(t, count * RQL_AXIS_WORDS * sizeof(float), NULL, "coordinates", &to, err));
	const uint32_t threads = RQL_AXIS_THREADS;
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(t->device, &axis_kernel, &threads, 1, &pipeline, err));
	struct rql_commands *c;
	RQL_TRY(rql_selftest_record(t, &c, err));
	const struct rql_axis_args args = {from->address, to->address, count};
	const struct rql_use uses[] = {{from, RQL_READ}, {to, RQL_WRITE}};
	rql_record_dispatch(c, "axis", pipeline, &args, (count + threads - 1) / threads, uses, 2);
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(to, 0, got, count * RQL_AXIS_WORDS * sizeof(float), err));
	return rql_selftest_same(got, wanted, count * RQL_AXIS_WORDS, sizeof(float), "coordinates", err);
}

const struct rql_selftest_case rql_selftest_geometry[] = {
	{"geometry.axis", RQL_SELFTEST_UNIT(RQL_UNIT_RT), test_axis},
	{0},
};
