/* geometry/key.glsl against key.h, bit by bit: the scenes of look-ups that a device builds and traces. */
#include "selftest/selftest_case.h"

#include <string.h>

#include "geometry/key.h"
#include "selftest/lookup/selftest_key_kernels.h"
#include "shaders/selftest/key.comp.h"

static const struct rql_kernel key_kernel = {
	.name = "selftest.key",
	.spirv = rql_spv_key_comp,
	.spirv_bytes = sizeof(rql_spv_key_comp),
	.args_bytes = sizeof(struct rql_key_args),
};

/* Any cut of up to 64 bits at any scale, or the extended mode. */
static struct rql_key_space draw_space(struct rql_selftest *t)
{
	if (rql_selftest_below(t, 3) == 0)
		return rql_key_space_extended(1 + (uint32_t)rql_selftest_below(t, RQL_KEY_MAX_STRIDE));
	struct rql_key_space space = rql_key_space_lattice((uint32_t)rql_selftest_below(t, 65), rql_selftest_below(t, 2));
	if (rql_selftest_below(t, 2))
		for (unsigned axis = 0; axis < 3; axis++) {
			space.bits[axis] = (uint32_t)rql_selftest_below(t, 22);
			space.shift[axis] = (uint32_t)rql_selftest_below(t, RQL_AXIS_MAX_SHIFT + 1);
		}
	return space;
}

static uint64_t draw_key(struct rql_selftest *t, const struct rql_key_space *space)
{
	uint64_t last = rql_key_last(space), line = UINT64_C(1) << space->bits[0];
	const uint64_t edge[] = {0, last, line - 1, line, last - line, last - 1};
	uint64_t at = rql_selftest_below(t, 12);
	return (at < 6 ? edge[at] : rql_selftest_random(t)) & last;
}

static void draw_case(struct rql_selftest *t, struct rql_key_case *c, struct rql_key_space *space)
{
	*space = draw_space(t);
	*c = (struct rql_key_case){.key = draw_key(t, space), .high = draw_key(t, space), .stride = space->stride};
	if (c->high < c->key)
		c->high = c->key;
	memcpy(c->bits, space->bits, sizeof(c->bits));
	memcpy(c->shift, space->shift, sizeof(c->shift));
	uint64_t rays = rql_key_ray_count(space, c->key, c->high);
	c->index = rql_selftest_below(t, 3) ? rql_selftest_below(t, rays) : rays - 1;
	do
		c->form = (uint32_t)rql_selftest_below(t, 3);
	while (!rql_key_form_fits(space, c->form));
}

static void put_ray(uint32_t *out, struct rql_key_ray ray)
{
	memcpy(out, ray.origin, sizeof(ray.origin));
	memcpy(out + 3, ray.direction, sizeof(ray.direction));
	memcpy(out + 6, &ray.tmin, sizeof(ray.tmin));
	memcpy(out + 7, &ray.tmax, sizeof(ray.tmax));
}

static void expect(const struct rql_key_case *c, const struct rql_key_space *space, uint32_t *out)
{
	float corner[9], box[6];
	rql_key_triangle(space, c->key, corner);
	rql_key_box(space, c->key, box);
	memcpy(out, corner, sizeof(corner));
	memcpy(out + 9, box, sizeof(box));
	put_ray(out + 15, rql_key_ray_point(space, c->form, c->key));
	enum rql_key_form form = space->stride || c->form == RQL_KEY_PERPENDICULAR ? RQL_KEY_ZERO : c->form;
	put_ray(out + 23, rql_key_ray_range(space, form, c->key, c->high, c->index));
	uint64_t count = rql_key_ray_count(space, c->key, c->high);
	out[31] = (uint32_t)count;
	out[32] = (uint32_t)(count >> 32);
}

static rql_status test_key(struct rql_selftest *t, struct rql_error *err)
{
	const uint64_t count = t->thorough ? 1000000 : 20000, bytes = count * RQL_KEY_WORDS * sizeof(uint32_t);
	struct rql_key_case *cases;
	uint32_t *wanted, *got;
	RQL_TRY(rql_selftest_alloc(t, count, sizeof(*cases), &cases, err));
	RQL_TRY(rql_selftest_alloc(t, count, RQL_KEY_WORDS * sizeof(*wanted), &wanted, err));
	RQL_TRY(rql_selftest_alloc(t, count, RQL_KEY_WORDS * sizeof(*got), &got, err));
	for (uint64_t i = 0; i < count; i++) {
		struct rql_key_space space;
		draw_case(t, &cases[i], &space);
		expect(&cases[i], &space, wanted + i * RQL_KEY_WORDS);
	}
	struct rql_buffer *from, *to;
	RQL_TRY(rql_selftest_buffer(t, count * sizeof(*cases), cases, "keys and ranges", &from, err));
	RQL_TRY(rql_selftest_buffer(t, bytes, NULL, "coordinates", &to, err));
	const uint32_t threads = RQL_KEY_THREADS;
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(t->device, &key_kernel, &threads, 1, &pipeline, err));
	struct rql_commands *c;
	RQL_TRY(rql_selftest_record(t, &c, err));
	const struct rql_key_args args = {from->address, to->address, count};
	const struct rql_use uses[] = {{from, RQL_READ}, {to, RQL_WRITE}};
	rql_record_dispatch(c, "key", pipeline, &args, (count + threads - 1) / threads, uses, 2);
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(to, 0, got, bytes, err));
	return rql_selftest_same(got, wanted, count * RQL_KEY_WORDS, sizeof(uint32_t), "coordinates of keys", err);
}

const struct rql_selftest_case rql_selftest_key[] = {
	{"geometry.key", RQL_SELFTEST_UNIT(RQL_UNIT_RT), test_key},
	{0},
};
