/* What the cube's methods cost on a GPU: a made-up cube, asked questions that are each dominated by one constant of the
 * profile, on the device's own clock. Constants are times per item with the device full, so the cube must fill one:
 * half a million intervals, a million cells. What is fixed in a run (the submission, its passes) is taken off by a
 * question that has nothing else. */
#include <stdlib.h>
#include <string.h>
#include "device/trace.h"
#include "method/cube/cube_internal.h"

#define KEYS 65536u
#define CODES 64u
#define CHUNK 65536u

struct rig {
	struct rql_device *device;
	struct rql_cube *cube;
	struct rql_arena *arena;
	unsigned rounds;
	uint64_t *one_key, *odd_keys, *odd_codes; /* sets of codes */
	struct rql_error *err;
};

struct timing {
	double ns; /* device time of the fastest round */
	double cells, runs, rays, hits, groups;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

/* ---- the cube ---- */
static rql_status add_rows(struct rql_relation_builder *builder, uint64_t rows, struct rql_error *err)
{
	const struct rql_type integer = rql_type_simple(RQL_TYPE_INTEGER);
	const struct rql_type types[3] = {integer, integer, integer};
	for (uint64_t first = 0; first < rows; first += CHUNK) {
		struct rql_batch *batch = rql_batch_new(3, types, CHUNK);
		if (!batch)
			return rql_error_memory(err, 3 * sizeof(int32_t) * CHUNK, "a device's calibration");
		int32_t *keys = batch->columns[0].data, *codes = batch->columns[1].data, *values = batch->columns[2].data;
		for (uint64_t i = 0; i < CHUNK; i++) {
			uint64_t random = mix(first + i + 1);
			keys[i] = (int32_t)((first + i) % KEYS); /* every key is there */
			codes[i] = (int32_t)(random % CODES);
			values[i] = (int32_t)(random >> 20 & 0xffffff);
		}
		rql_status status = rql_cube_builder_add(builder, 0, batch, err);
		rql_batch_release(batch);
		RQL_TRY(status);
	}
	return RQL_OK;
}

static rql_status make_cube(struct rig *rig, uint64_t rows)
{
	static const char *const names[] = {"key", "code"};
	static const uint32_t order[] = {0, 1};
	const struct rql_type integer = rql_type_simple(RQL_TYPE_INTEGER);
	const struct rql_type types[2] = {integer, integer};
	const struct rql_measure_spec measure = {.type = integer, .name = "value", .sum = true, .min = true};
	const struct rql_relation_spec spec = {
		.name = "of a device's calibration",
		.dimension_count = 2,
		.dimension_types = types,
		.dimension_names = names,
		.measure_count = 1,
		.measures = &measure,
		.rollup = RQL_ROLLUP_OFF,
		.order_count = 2,
		.order = order,
		.device = rig->device,
	};
	struct rql_relation_builder *builder = NULL;
	RQL_TRY(rql_cube_builder_new(&spec, &builder, rig->err));
	rql_status status = add_rows(builder, rows, rig->err);
	if (status != RQL_OK) {
		rql_cube_builder_abort(builder);
		return status;
	}
	return rql_cube_builder_finish(builder, &rig->cube, rig->err);
}

static uint64_t *set_of(struct rql_arena *arena, uint32_t codes, uint64_t word)
{
	uint64_t *set = RQL_NEW_ARRAY(arena, uint64_t, (codes + 63) / 64);
	for (uint32_t i = 0; set && i < (codes + 63) / 64; i++)
		set[i] = word;
	return set;
}

/* ---- one question ---- */
static rql_status time_rounds(struct rig *rig, const struct rql_method *method, const struct rql_prepared *prepared,
                              struct timing *out)
{
	for (unsigned i = 0; i <= rig->rounds; i++) {
		struct rql_port answer = {0};
		struct rql_arena *arena = rql_arena_new();
		if (!arena)
			return rql_error_memory(rig->err, 0, "a device's calibration");
		uint64_t start = rql_now_ns();
		rql_status status = method->run(prepared, rig->device, &(struct rql_run){.flags = RQL_RUN_TIMED, .arena = arena}, &answer, rig->err);
		double wall = (double)(rql_now_ns() - start) - rig->device->profile.submit_ns;
		double ns = answer.device_ns > 0 ? answer.device_ns : wall > 0 ? wall : 0;
		if (status == RQL_OK && i > 0 && (i == 1 || ns < out->ns)) /* the first one places and compiles */
			*out = (struct timing){.ns = ns,
			                       .cells = (double)answer.cells_covered,
			                       .rays = (double)answer.rays,
			                       .hits = (double)answer.hits,
			                       .groups = (double)answer.group_count};
		rql_arena_free(arena);
		RQL_TRY(status);
	}
	return RQL_OK;
}

/* Sum or minimum of the values where key and code are in the sets (NULL: all), by the first `groups` dimensions. */
static rql_status ask(struct rig *rig, const struct rql_method *method, enum rql_agg_kind kind, const uint64_t *keys,
                      const uint64_t *codes, uint32_t groups, struct timing *out)
{
	const uint64_t *pass[2] = {keys, codes};
	struct rql_box box = {pass};
	struct rql_agg agg = {.kind = kind};
	struct rql_group_key by[2] = {{.source = {.index = 0}, .key_count = KEYS},
	                              {.source = {.index = 1}, .key_count = CODES}};
	struct rql_request request = {.relation = &rig->cube->relation,
	                              .group_count = groups,
	                              .groups = by,
	                              .box_count = 1,
	                              .boxes = &box,
	                              .agg_count = 1,
	                              .aggs = &agg};
	const char *reason = "it gives only a superset";
	struct rql_prepared *prepared = NULL;
	if (method->offer(&request, rig->device, &reason) != RQL_OFFER_FULL)
		return rql_error_set(rig->err, RQL_ERROR_UNSUPPORTED, "%s cannot be measured on %s: %s", method->name,
		                     rig->device->id, reason);
	RQL_TRY(method->prepare(&request, rig->device, &prepared, rig->err));
	struct rql_cost cost = {0};
	method->price(prepared, rig->device, &cost);
	*out = (struct timing){0};
	rql_status status = time_rounds(rig, method, prepared, out);
	out->runs = cost.runs;
	method->free(prepared);
	return status;
}

/* Never 0 and never absurd: a price must stay comparable. */
static double per_item(double ns, double items, double least, double most)
{
	double each = items > 0 ? ns / items : most;
	return each < least ? least : each > most ? most : each;
}

/* ---- the units ---- */
static rql_status measure_compute(struct rig *rig)
{
	const struct rql_method *method = &rql_method_cube_compute;
	struct rql_profile *profile = &rig->device->profile;
	struct timing idle, intervals, scan, tested, grouped;
	RQL_TRY(ask(rig, method, RQL_AGG_SUM, rig->one_key, NULL, 0, &idle));
	RQL_TRY(ask(rig, method, RQL_AGG_SUM, rig->odd_keys, NULL, 0, &intervals));
	RQL_TRY(ask(rig, method, RQL_AGG_MIN, NULL, NULL, 0, &scan));
	RQL_TRY(ask(rig, method, RQL_AGG_SUM, NULL, rig->odd_codes, 0, &tested));
	RQL_TRY(ask(rig, method, RQL_AGG_SUM, NULL, NULL, 1, &grouped));
	double cells = (double)rig->cube->relation.cells;
	profile->run_ns = per_item(intervals.ns - idle.ns, intervals.runs, 1e-4, 1e4);
	profile->cell_ns = per_item(scan.ns - idle.ns, cells, 1e-5, 100);
	profile->tested_cell_ns = per_item(tested.ns - idle.ns, cells, 1e-5, 1000);
	profile->group_ns = per_item(grouped.ns - idle.ns - grouped.runs * profile->run_ns, grouped.groups, 1e-2, 1e4);
	return RQL_OK;
}

/* Triangles from a buffer that is there already: what a build costs beyond making its input. */
struct triangles {
	struct rql_buffer *buffer;
	uint64_t bytes;
};

static rql_status fill_triangles(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                                 struct rql_error *err)
{
	struct triangles *t = state;
	(void)part;
	(void)err;
	rql_record_copy(c, t->buffer, 0, input, 0, t->bytes);
	return RQL_OK;
}

static rql_status measure_builds(struct rig *rig, uint64_t count)
{
	struct triangles t = {.bytes = count * RQL_TRIANGLE_BYTES};
	float *corners = malloc(t.bytes);
	struct rql_accel *accel = NULL;
	rql_status status = corners ? RQL_OK : rql_error_memory(rig->err, t.bytes, "a device's calibration");
	if (status == RQL_OK)
		status = rql_buffer_new(rig->device, t.bytes, RQL_MEMORY_DEVICE, "triangles of the calibration", &t.buffer,
		                        rig->err);
	for (uint64_t i = 0; i < count && status == RQL_OK; i++) { /* a plane of them, in rows */
		float x = (float)(i % 1024), y = (float)(i / 1024);
		const float corner[9] = {x, y, 0, x + 0.5F, y, 0, x, y + 0.5F, 0};
		memcpy(corners + i * 9, corner, sizeof corner);
	}
	if (status == RQL_OK)
		status = rql_buffer_upload(t.buffer, 0, corners, t.bytes, rig->err);
	struct rql_accel_spec spec = {.what = "the calibration",
	                              .primitive = RQL_TRIANGLES,
	                              .opaque = true,
	                              .compact = true,
	                              .part_count = 1,
	                              .part_primitives = &count,
	                              .fill = fill_triangles,
	                              .state = &t};
	if (status == RQL_OK)
		status = rql_accel_build(rig->device, &spec, NULL, &accel, rig->err);
	if (status == RQL_OK) {
		rig->device->profile.primitive_ns = per_item(accel->build_ms * 1e6, (double)count, 1e-2, 1e5);
		rig->device->profile.primitive_bytes = per_item((double)accel->bytes, (double)count, 8, 1000);
	}
	rql_accel_free(accel);
	rql_buffer_free(t.buffer);
	free(corners);
	return status;
}

static rql_status measure_rays(struct rig *rig)
{
	const struct rql_method *method = &rql_method_cube_rt;
	struct rql_profile *profile = &rig->device->profile;
	struct timing idle, intervals, tested;
	RQL_TRY(measure_builds(rig, 1u << 20));
	/* The method chooses between pairs of rays and any-hit calls by these two: first the one, then the other. */
	double guessed_ray_ns = profile->ray_ns, guessed_hit_ns = profile->hit_ns;
	profile->ray_ns = 1e-3;
	profile->hit_ns = 1e5;
	rql_status status = ask(rig, method, RQL_AGG_SUM, rig->one_key, NULL, 0, &idle);
	if (status == RQL_OK)
		status = ask(rig, method, RQL_AGG_SUM, rig->odd_keys, NULL, 0, &intervals);
	profile->ray_ns = 1e5;
	profile->hit_ns = 1e-3;
	if (status == RQL_OK)
		status = ask(rig, method, RQL_AGG_SUM, NULL, rig->odd_codes, 0, &tested);
	profile->ray_ns = guessed_ray_ns;
	profile->hit_ns = guessed_hit_ns;
	RQL_TRY(status);
	if (intervals.rays > 0)
		profile->ray_ns = per_item(intervals.ns - idle.ns, intervals.rays, 1e-3, 1e5);
	double left = tested.ns - idle.ns - tested.rays * profile->ray_ns;
	if (tested.hits > tested.rays) /* by any-hit calls */
		profile->hit_ns = per_item(left, tested.hits, 1e-3, 1e5);
	return RQL_OK;
}

static rql_status calibrate(struct rql_device *device, bool thorough, rql_status (*measure)(struct rig *rig),
                            struct rql_error *err)
{
	struct rig rig = {.device = device, .rounds = thorough ? 9 : 2, .err = err};
	const struct rql_profile before = device->profile;
	rig.arena = rql_arena_new();
	rig.one_key = rig.arena ? set_of(rig.arena, KEYS, 0) : NULL;
	rig.odd_keys = rig.arena ? set_of(rig.arena, KEYS, UINT64_C(0xaaaaaaaaaaaaaaaa)) : NULL;
	rig.odd_codes = rig.arena ? set_of(rig.arena, CODES, UINT64_C(0xaaaaaaaaaaaaaaaa)) : NULL;
	rql_status status = rig.one_key && rig.odd_keys && rig.odd_codes
	                        ? RQL_OK
	                        : rql_error_memory(err, KEYS / 8, "a device's calibration");
	if (status == RQL_OK)
		rig.one_key[0] = 1;
	if (status == RQL_OK)
		status = make_cube(&rig, thorough ? 4u << 20 : 1u << 20);
	if (status == RQL_OK)
		status = measure(&rig);
	if (status != RQL_OK)
		device->profile = before; /* half of the constants compare with nothing */
	rql_cube_release(rig.cube);
	rql_arena_free(rig.arena);
	return status;
}

rql_status rql_cube_calibrate_compute(struct rql_device *device, bool thorough, struct rql_error *err)
{
	return calibrate(device, thorough, measure_compute, err);
}

rql_status rql_cube_calibrate_rt(struct rql_device *device, bool thorough, struct rql_error *err)
{
	return calibrate(device, thorough, measure_rays, err);
}
