/* A structure of the paper's form on a device (RTCUDB section 3.2, "Mapping Data to Primitives"): cells are encoded
 * here, in pieces, and become triangles there. */
#include <stdlib.h>

#include "method/cube/paper/cube_paper.h"
#include "shaders/method/cube/cube_paper_triangles.comp.h"

#define PIECE (UINT64_C(1) << 20)  /* rows that are encoded and uploaded at once */
#define SHARED (UINT64_C(1) << 17) /* rows that are worth threads */
#define GROUP_SIZE 128u

static const struct rql_kernel triangles_kernel = {
	.name = "cube.paper_triangles",
	.spirv = rql_spv_cube_paper_triangles_comp,
	.spirv_bytes = sizeof(rql_spv_cube_paper_triangles_comp),
	.args_bytes = sizeof(struct rql_paper_triangle_args),
};

static void destroy(struct rql_placement *placement)
{
	struct rql_paper_structure *s = (struct rql_paper_structure *)placement;
	rql_accel_free(s->accel);
	rql_accel_free(s->flat);
	for (uint32_t p = 0; s->corner_parts && p < s->part_count; p++)
		rql_buffer_free(s->corner_parts[p]);
	rql_buffer_free(s->corners);
	rql_buffer_free(s->tables);
	for (uint32_t i = 0; i < RQL_PAPER_COLUMNS; i++)
		rql_buffer_free(s->rest[i]);
	for (uint32_t i = 0; i < RQL_PAPER_TESTS; i++)
		rql_buffer_free(s->test[i]);
	for (uint32_t i = 0; i < RQL_PAPER_GROUP_ARRAYS; i++)
		rql_buffer_free(s->group[i]);
	rql_arena_free(s->arena); /* s is in it */
}

/* ---- memory ---- */

static rql_status new_buffer(struct rql_paper_structure *s, uint64_t bytes, struct rql_buffer **out,
                             struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(s->placement.device, bytes, RQL_MEMORY_DEVICE, "the paper's layout of a cube", out, err));
	s->placement.bytes += bytes;
	return RQL_OK;
}

/* Four bytes at a time are read where entries are smaller. */
static uint64_t rest_bytes(const struct rql_paper_field *field, uint64_t rows)
{
	return ((rows << field->rest_log) + 3) / 4 * 4;
}

static rql_status make_buffers(struct rql_paper_structure *s, struct rql_error *err)
{
	s->corner_parts = RQL_NEW_ARRAY(s->arena, struct rql_buffer *, s->part_count);
	uint64_t *addresses = RQL_NEW_ARRAY(s->arena, uint64_t, s->part_count);
	if (!s->corner_parts || !addresses)
		return rql_error_memory(err, s->part_count * 16, "the paper's layout of a cube");
	for (uint32_t p = 0; p < s->part_count; p++) {
		uint64_t first = p * s->part_rows, rows = s->rows - first < s->part_rows ? s->rows - first : s->part_rows;
		RQL_TRY(new_buffer(s, rows * 12, &s->corner_parts[p], err));
		addresses[p] = s->corner_parts[p]->address;
	}
	RQL_TRY(new_buffer(s, s->part_count * 8, &s->corners, err));
	RQL_TRY(rql_buffer_upload(s->corners, 0, addresses, s->part_count * 8, err));
	struct rql_paper_tables tables = {.y_stride = s->groups.y_stride};
	for (uint32_t c = 0; c < s->spec.column_count; c++) {
		if (!s->field[c].rest_bits)
			continue;
		RQL_TRY(new_buffer(s, rest_bytes(&s->field[c], s->rows), &s->rest[c], err));
		tables.rest[c] = s->rest[c]->address;
		s->row_bytes += UINT64_C(1) << s->field[c].rest_log;
	}
	for (uint32_t t = 0; t < s->test_count; t++) {
		RQL_TRY(new_buffer(s, s->rows * 4, &s->test[t], err));
		tables.test[t] = s->test[t]->address;
	}
	for (uint32_t a = 0; a < s->groups.array_count; a++) {
		RQL_TRY(new_buffer(s, s->rows * 4, &s->group[a], err));
		tables.group[a] = s->group[a]->address;
		tables.stride[a] = s->groups.stride[a];
		s->row_bytes += 4;
	}
	RQL_TRY(new_buffer(s, sizeof(tables), &s->tables, err));
	return rql_buffer_upload(s->tables, 0, &tables, sizeof(tables), err);
}

/* ---- rows ---- */

/* Host memory for a piece: 12 bytes a row, and what is kept beside the triangles. */
static void *make_piece(const struct rql_paper_structure *s, uint64_t rows, struct rql_paper_rows *out)
{
	uint64_t bytes = rows * 12;
	for (uint32_t c = 0; c < s->spec.column_count; c++)
		bytes += s->rest[c] ? (rest_bytes(&s->field[c], rows) + 7) / 8 * 8 : 0;
	bytes += rows * 4 * (s->test_count + s->groups.array_count) + 8;
	uint8_t *memory = calloc(1, bytes), *at = memory; /* what fills up the last four bytes is uploaded too */
	if (!memory)
		return NULL;
	for (uint32_t c = 0; c < s->spec.column_count; c++) {
		out->rest[c] = s->rest[c] ? at : NULL;
		at += s->rest[c] ? (rest_bytes(&s->field[c], rows) + 7) / 8 * 8 : 0;
	}
	out->corner = (float(*)[3])(void *)at;
	at += rows * 12;
	for (uint32_t t = 0; t < s->test_count; t++, at += rows * 4)
		out->test[t] = (uint32_t *)(void *)at;
	for (uint32_t a = 0; a < s->groups.array_count; a++, at += rows * 4)
		out->group[a] = (uint32_t *)(void *)at;
	return memory;
}

/* Rows [first, first + count); the piece lies in one part. */
static rql_status upload_piece(struct rql_paper_structure *s, const struct rql_paper_rows *rows, uint64_t first,
                               uint64_t count, struct rql_error *err)
{
	uint64_t in_part = first % s->part_rows;
	RQL_TRY(rql_buffer_upload(s->corner_parts[first / s->part_rows], in_part * 12, rows->corner, count * 12, err));
	for (uint32_t c = 0; c < s->spec.column_count; c++)
		if (s->rest[c])
			RQL_TRY(rql_buffer_upload(s->rest[c], first << s->field[c].rest_log, rows->rest[c],
			                          rest_bytes(&s->field[c], count), err));
	for (uint32_t t = 0; t < s->test_count; t++)
		RQL_TRY(rql_buffer_upload(s->test[t], first * 4, rows->test[t], count * 4, err));
	for (uint32_t a = 0; a < s->groups.array_count; a++)
		RQL_TRY(rql_buffer_upload(s->group[a], first * 4, rows->group[a], count * 4, err));
	return RQL_OK;
}

static rql_status upload_rows(struct rql_paper_structure *s, const struct rql_paper_encoding *e, struct rql_error *err)
{
	struct rql_paper_rows rows = {0};
	uint64_t piece = s->rows < PIECE ? s->rows : PIECE;
	void *memory = make_piece(s, piece, &rows);
	if (!memory)
		return rql_error_memory(err, piece * 16, "encoding a cube");
	rql_status status = RQL_OK;
	for (uint64_t first = 0; first < s->rows && status == RQL_OK;) {
		uint64_t count = s->rows - first < piece ? s->rows - first : piece;
		uint64_t part_left = s->part_rows - first % s->part_rows;
		count = count < part_left ? count : part_left;
		rql_paper_encode(e, s->axis, first, count, &rows);
		status = upload_piece(s, &rows, first, count, err);
		first += count;
	}
	free(memory);
	return status;
}

/* ---- triangles ---- */

struct filling {
	const struct rql_paper_structure *s;
	const struct rql_pipeline *pipeline;
	bool level;
};

static rql_status fill_part(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
                            struct rql_error *err)
{
	const struct filling *f = state;
	const struct rql_paper_structure *s = f->s;
	uint64_t first = part * s->part_rows, rows = s->rows - first < s->part_rows ? s->rows - first : s->part_rows;
	struct rql_paper_triangle_args args = {
		.corners = s->corner_parts[part]->address,
		.triangles = input->address,
		.count = rows,
		.leg_x = (float)(UINT32_C(1) << s->axis[0].leg),
		.leg_y = (float)(UINT32_C(1) << s->axis[1].leg),
		.level = f->level,
	};
	struct rql_use uses[] = {{s->corner_parts[part], RQL_READ}, {input, RQL_WRITE}};
	(void)err;
	rql_record_dispatch(c, "triangles", f->pipeline, &args, (rows + GROUP_SIZE - 1) / GROUP_SIZE, uses, 2);
	return RQL_OK;
}

static rql_status build_accel(struct rql_paper_structure *s, bool level, struct rql_accel **out, struct rql_error *err)
{
	uint32_t constants[] = {GROUP_SIZE};
	struct filling filling = {.s = s, .level = level};
	RQL_TRY(rql_pipeline_get(s->placement.device, &triangles_kernel, constants, 1, &filling.pipeline, err));
	uint64_t *parts = RQL_NEW_ARRAY(s->arena, uint64_t, s->part_count);
	if (!parts)
		return rql_error_memory(err, s->part_count * 8, "the paper's layout of a cube");
	for (uint32_t p = 0; p < s->part_count; p++) {
		uint64_t left = s->rows - p * s->part_rows;
		parts[p] = left < s->part_rows ? left : s->part_rows;
	}
	struct rql_accel_spec spec = {
		.what = "the paper's layout of a cube",
		.primitive = RQL_TRIANGLES,
		.one_call_per_hit = true,
		.aim = RQL_ACCEL_FAST_TRACE,
		.compact = true,
		.part_count = s->part_count,
		.part_primitives = parts,
		.fill = fill_part,
		.state = &filling,
	};
	RQL_TRY(rql_accel_build(s->placement.device, &spec, NULL, out, err));
	s->placement.bytes += (*out)->bytes;
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status make_structure(struct rql_paper_structure *s, const struct rql_cube *cube, struct rql_error *err)
{
	struct rql_pool *pool = NULL;
	if (s->rows >= SHARED && rql_pool_new(0, &pool, NULL) != RQL_OK)
		pool = NULL; /* then on this thread */
	struct rql_paper_encoding e = {.cube = cube, .spec = &s->spec, .arena = s->arena, .pool = pool};
	rql_status status = rql_paper_encoding_open(&e, err);
	if (status == RQL_OK) {
		uint32_t tests[RQL_PAPER_TESTS];
		memcpy(s->field, e.field, sizeof(s->field));
		s->groups = e.groups;
		s->test_count = rql_paper_tests(&s->spec, tests);
		rql_grid_choose(e.x_size, e.groups.y_size, rql_paper_ray_budget(s->rows), s->spec.options.leg_x,
		                s->spec.options.leg_y, &s->axis[0], &s->axis[1]);
		s->axis[2] = rql_grid_axis_of(e.z_size, RQL_GRID_MIN_LEG);
		status = make_buffers(s, err);
	}
	if (status == RQL_OK)
		status = upload_rows(s, &e, err);
	rql_paper_encoding_close(&e);
	s->groups.bitmap = s->groups.sorted = NULL; /* only for numbering rows */
	s->groups.rank = NULL;
	rql_pool_free(pool);
	if (status == RQL_OK)
		status = build_accel(s, false, &s->accel, err);
	if (status == RQL_OK && s->spec.options.variant == RQL_PAPER_OPERATORS)
		status = build_accel(s, true, &s->flat, err);
	return status;
}

rql_status rql_paper_build(const struct rql_place *at, struct rql_device *device, void *state,
                           struct rql_placement **out, struct rql_error *err)
{
	const struct rql_cube *cube = at->owner;
	const uint64_t most = device->limits.part_primitives;
	struct rql_arena *arena = rql_arena_new();
	struct rql_paper_structure *s = arena ? RQL_NEW(arena, struct rql_paper_structure) : NULL;
	if (!s) {
		rql_arena_free(arena);
		return rql_error_memory(err, sizeof(*s), "the paper's layout of a cube");
	}
	s->placement = (struct rql_placement){.device = device, .destroy = destroy};
	s->arena = arena;
	s->spec = *(const struct rql_paper_spec *)state;
	s->rows = cube->relation.cells;
	s->part_rows = most && most < s->rows ? most : s->rows;
	s->part_count = (uint32_t)((s->rows + s->part_rows - 1) / s->part_rows);
	rql_status status = make_structure(s, cube, err);
	if (status == RQL_OK)
		*out = &s->placement;
	else
		destroy(&s->placement);
	return status;
}

uint32_t rql_paper_group_code(const struct rql_cube *cube, const struct rql_paper_structure *s, uint64_t number,
                              uint32_t i)
{
	if (s->groups.codes)
		return s->groups.codes[i][number];
	return (uint32_t)(number / s->groups.tuple_stride[i] % cube->relation.dimensions[s->spec.group[i]].count);
}
