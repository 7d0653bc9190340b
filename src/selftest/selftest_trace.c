/* What trace.h promises: structures of several parts, any-hit calls exactly once per row, the closest hit, intersection
 * shaders, refit, the serialised form. Rows are triangles or boxes in the cells of a grid, sorted by cell and z. */
#include "selftest/selftest_case.h"

#include <stdio.h>
#include <string.h>

#include "device/trace.h"
#include "selftest/selftest_kernels.h"
#include "shaders/selftest/corners.comp.h"
#include "shaders/selftest/ray.rahit.h"
#include "shaders/selftest/ray.rchit.h"
#include "shaders/selftest/ray.rgen.h"
#include "shaders/selftest/ray.rint.h"
#include "shaders/selftest/ray.rmiss.h"

static const struct rql_kernel corners_kernel = {
	.name = "selftest.corners",
	.spirv = rql_spv_corners_comp,
	.spirv_bytes = sizeof(rql_spv_corners_comp),
	.args_bytes = sizeof(struct rql_corner_args),
};
static const struct rql_trace_kernel ray_kernel = {
	.name = "selftest.ray",
	.raygen = {rql_spv_ray_rgen, sizeof(rql_spv_ray_rgen)},
	.miss = {rql_spv_ray_rmiss, sizeof(rql_spv_ray_rmiss)},
	.closest_hit = {rql_spv_ray_rchit, sizeof(rql_spv_ray_rchit)},
	.any_hit = {rql_spv_ray_rahit, sizeof(rql_spv_ray_rahit)},
	.args_bytes = sizeof(struct rql_ray_args),
};

static const struct rql_trace_kernel box_kernel = {
	.name = "selftest.box",
	.raygen = {rql_spv_ray_rgen, sizeof(rql_spv_ray_rgen)},
	.miss = {rql_spv_ray_rmiss, sizeof(rql_spv_ray_rmiss)},
	.closest_hit = {rql_spv_ray_rchit, sizeof(rql_spv_ray_rchit)},
	.any_hit = {rql_spv_ray_rahit, sizeof(rql_spv_ray_rahit)},
	.intersection = {rql_spv_ray_rint, sizeof(rql_spv_ray_rint)},
	.args_bytes = sizeof(struct rql_ray_args),
};

#define WIDTH 32u
#define RAYS ((uint64_t)WIDTH * WIDTH)
#define PARTS 4u
#define DEPTH 1024u /* z of a row is less */

struct row {
	uint32_t x, y, z;
};
struct scene {
	struct rql_selftest *t;
	bool boxes;
	struct row *rows;
	uint64_t count, part_first[PARTS + 1], part_rows[PARTS];
	struct rql_buffer *row_buffer, *bases, *counts, *sums;
	struct rql_accel *accel;
};

/* Records the primitives of one part. */
static rql_status fill(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                       struct rql_error *err)
{
	const struct scene *s = state;
	const struct rql_pipeline *pipeline;
	const uint32_t constants[] = {RQL_STEP_THREADS};
	RQL_TRY(rql_pipeline_get(s->t->device, &corners_kernel, constants, 1, &pipeline, err));
	const struct rql_corner_args args = {s->row_buffer->address + s->part_first[part] * sizeof(struct row),
	                                     input->address, s->part_rows[part], s->boxes, 0};
	const struct rql_use uses[] = {{s->row_buffer, RQL_READ}, {input, RQL_WRITE}};
	rql_record_dispatch(c, "corners", pipeline, &args, (args.count + RQL_STEP_THREADS - 1) / RQL_STEP_THREADS, uses, 2);
	return RQL_OK;
}

/* Up to 40 rows in a cell, in many none; z ascends strictly, so that the closest one is known. */
static rql_status make_scene(struct rql_selftest *t, struct scene *s, struct rql_error *err)
{
	uint32_t bases[PARTS];
	s->t = t;
	RQL_TRY(rql_selftest_alloc(t, RAYS * 40, sizeof(*s->rows), &s->rows, err));
	for (uint32_t ray = 0; ray < RAYS; ray++) {
		uint64_t in_cell = rql_selftest_below(t, 3) ? rql_selftest_below(t, 40) : 0;
		for (uint32_t i = 0, z = 0; i < in_cell; i++) {
			z += 1 + (uint32_t)rql_selftest_below(t, DEPTH / 40);
			s->rows[s->count++] = (struct row){ray % WIDTH, ray / WIDTH, z};
		}
	}
	for (uint32_t part = 0; part < PARTS; part++) { /* the third one is empty */
		uint64_t end = part == 0 ? s->count / 3 : part < 3 ? s->count / 2 : s->count;
		s->part_first[part + 1] = end;
		s->part_rows[part] = end - s->part_first[part];
		bases[part] = (uint32_t)s->part_first[part];
	}
	RQL_TRY(rql_selftest_buffer(t, s->count * sizeof(*s->rows), s->rows, "rows", &s->row_buffer, err));
	RQL_TRY(rql_selftest_buffer(t, sizeof(bases), bases, "parts' first rows", &s->bases, err));
	RQL_TRY(rql_selftest_buffer(t, RAYS * 4, NULL, "hit counts", &s->counts, err));
	return rql_selftest_buffer(t, RAYS * 8, NULL, "hit sums", &s->sums, err);
}

static rql_status build(struct scene *s, bool refit, struct rql_error *err)
{
	const struct rql_accel_spec spec = {
		.what = "a selftest's structure",
		.primitive = s->boxes ? RQL_AABBS : RQL_TRIANGLES,
		.one_call_per_hit = true,
		.compact = !refit,
		.refit = refit,
		.part_count = PARTS,
		.part_primitives = s->part_rows,
		.fill = fill,
		.state = s,
	};
	return rql_accel_build(s->t->device, &spec, NULL, &s->accel, err);
}

static rql_status trace(struct scene *s, uint32_t from, uint32_t to, bool closest, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	struct rql_commands *c;
	const struct rql_trace_kernel *kernel = s->boxes ? &box_kernel : &ray_kernel;
	RQL_TRY(rql_trace_pipeline_get(s->t->device, kernel, NULL, 0, &pipeline, err));
	const struct rql_ray_args args = {
		.accel = s->accel->address,
		.counts = s->counts->address,
		.sums = s->sums->address,
		.part_bases = s->bases->address,
		.rays = RAYS,
		.width = WIDTH,
		.z_from = from,
		.z_to = to,
		.closest = closest,
		.rows = s->row_buffer->address,
	};
	const struct rql_use uses[] = {
		{s->counts, RQL_WRITE}, {s->sums, RQL_WRITE}, {s->bases, RQL_READ}, {s->row_buffer, RQL_READ}};
	RQL_TRY(rql_selftest_record(s->t, &c, err));
	rql_record_trace(c, "rays", pipeline, &args, RAYS, &s->accel, 1, uses, 4);
	return rql_selftest_execute(s->t, err);
}

/* Rows of [from, to) per cell, by the plain loop; closest: the first one alone. */
static void plain_trace(const struct scene *s, uint32_t from, uint32_t to, bool closest, uint32_t *counts,
                        uint64_t *sums)
{
	memset(counts, 0, RAYS * sizeof(*counts));
	memset(sums, 0, RAYS * sizeof(*sums));
	for (uint64_t row = 0; row < s->count; row++) {
		const struct row *r = &s->rows[row];
		uint32_t ray = r->y * WIDTH + r->x;
		if (r->z < from || r->z >= to || (closest && counts[ray]))
			continue;
		counts[ray]++;
		sums[ray] += row;
	}
}

static rql_status check_traces(struct scene *s, struct rql_error *err)
{
	static const uint32_t slices[][2] = {{0, DEPTH}, {100, 101}, {17, 400}, {500, 501}, {900, DEPTH}};
	static uint32_t counts[RAYS], got_counts[RAYS];
	static uint64_t sums[RAYS], got_sums[RAYS];
	for (unsigned i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		for (unsigned closest = 0; closest < 2; closest++) {
			char what[80];
			snprintf(what, sizeof(what), "%s in z %u to %u, by ray", closest ? "closest hits" : "any-hit calls",
			         slices[i][0], slices[i][1]);
			plain_trace(s, slices[i][0], slices[i][1], closest, counts, sums);
			RQL_TRY(trace(s, slices[i][0], slices[i][1], closest, err));
			RQL_TRY(rql_buffer_download(s->counts, 0, got_counts, sizeof(got_counts), err));
			RQL_TRY(rql_buffer_download(s->sums, 0, got_sums, sizeof(got_sums), err));
			RQL_TRY(rql_selftest_same(got_counts, counts, RAYS, sizeof(*counts), what, err));
			RQL_TRY(rql_selftest_same(got_sums, sums, RAYS, sizeof(*sums), what, err));
		}
	}
	return RQL_OK;
}

static rql_status check_scene(struct rql_selftest *t, bool boxes, struct rql_error *err)
{
	struct scene s = {.boxes = boxes};
	RQL_TRY(make_scene(t, &s, err));
	RQL_TRY(build(&s, false, err));
	rql_status status = check_traces(&s, err);
	if (status == RQL_OK && (s.accel->primitives != s.count || !s.accel->bytes || s.accel->part_count != PARTS))
		status = rql_selftest_wrong(err, "a structure of %llu primitives says %llu in %u parts and %llu bytes",
		                            (unsigned long long)s.count, (unsigned long long)s.accel->primitives,
		                            s.accel->part_count, (unsigned long long)s.accel->bytes);
	rql_accel_free(s.accel);
	return status;
}

static rql_status test_hits(struct rql_selftest *t, struct rql_error *err)
{
	return check_scene(t, false, err);
}

static rql_status test_boxes(struct rql_selftest *t, struct rql_error *err)
{
	return check_scene(t, true, err);
}

/* Rows of one part move along z; the others stay. */
static rql_status test_refit(struct rql_selftest *t, struct rql_error *err)
{
	struct scene s = {0};
	RQL_TRY(make_scene(t, &s, err));
	RQL_TRY(build(&s, true, err));
	for (uint64_t row = s.part_first[3]; row < s.part_first[4]; row++)
		s.rows[row].z += 7;
	rql_status status = rql_buffer_upload(s.row_buffer, 0, s.rows, s.count * sizeof(*s.rows), err);
	if (status == RQL_OK)
		status = rql_accel_refit(s.accel, 3, fill, &s, err);
	if (status == RQL_OK)
		status = check_traces(&s, err);
	rql_accel_free(s.accel);
	return status;
}

/* The serialised form, in memory. */
struct tape {
	uint8_t *data;
	uint64_t bytes, at, room;
};

static rql_status put(void *state, const void *data, uint64_t bytes, struct rql_error *err)
{
	struct tape *tape = state;
	if (bytes > tape->room - tape->bytes)
		return rql_selftest_wrong(err, "the serialised form is larger than %llu bytes", (unsigned long long)tape->room);
	memcpy(tape->data + tape->bytes, data, bytes);
	tape->bytes += bytes;
	return RQL_OK;
}

static rql_status get(void *state, void *data, uint64_t bytes, struct rql_error *err)
{
	struct tape *tape = state;
	if (bytes > tape->bytes - tape->at)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "the serialised form ends too early");
	memcpy(data, tape->data + tape->at, bytes);
	tape->at += bytes;
	return RQL_OK;
}

static rql_status test_file(struct rql_selftest *t, struct rql_error *err)
{
	struct scene s = {0};
	RQL_TRY(make_scene(t, &s, err));
	struct tape tape = {.room = s.count * 1000 + 1048576};
	RQL_TRY(rql_selftest_alloc(t, tape.room, 1, &tape.data, err));
	RQL_TRY(build(&s, false, err));
	rql_status status = rql_accel_write(s.accel, put, &tape, err);
	rql_accel_free(s.accel);
	RQL_TRY(status);
	RQL_TRY(rql_accel_read(t->device, get, &tape, &s.accel, err));
	status = check_traces(&s, err);
	rql_accel_free(s.accel);
	RQL_TRY(status);
	/* Half of it is no structure. */
	tape.at = 0;
	tape.bytes /= 2;
	struct rql_error expected = {0};
	status = rql_accel_read(t->device, get, &tape, &s.accel, &expected);
	rql_error_clear(&expected);
	if (status == RQL_OK) {
		rql_accel_free(s.accel);
		return rql_selftest_wrong(err, "half of a serialised structure was read without an error");
	}
	return RQL_OK;
}

#define RT RQL_SELFTEST_UNIT(RQL_UNIT_RT)
const struct rql_selftest_case rql_selftest_trace[] = {
	{"trace.hits", RT, test_hits},
	{"trace.boxes", RT, test_boxes},
	{"trace.refit", RT, test_refit},
	{"trace.file", RT, test_file},
	{0},
};
