/* Rows sorted by their cell on the device, and cells cut into pieces. */
#include "method/sieve/space/sieve_cells.h"

#include <stdlib.h>
#include "geometry/matrix.h"
#include "method/sieve/gpu/sieve_kernels.h"
#include "method/sieve/space/sieve_places.h"
#include "primitive/primitive.h"
#include "shaders/method/sieve/sieve_cell.comp.h"

#define WORKGROUP 128u
#define UNIT_BITS 10u /* x is made no longer than the other axes times this many halvings */

static const struct rql_kernel cell_kernel = {
	.name = "sieve.cell",
	.spirv = rql_spv_sieve_cell_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_cell_comp),
	.args_bytes = sizeof(struct rql_sieve_cell_args),
};

struct cutting {
	struct rql_sieve_space *space;
	uint32_t axis_count, piece; /* rows of one */
	uint64_t sizes[RQL_SIEVE_AXES], all; /* cells that there are */
	const uint64_t *cells; /* [rows]: ascending */
	uint64_t rows;
};

/* ---- sorting ---- */
enum { ROWS, CELLS, SORTED, TEMP, BACK, BUFFERS };
struct sorting {
	const struct cutting *c;
	struct rql_device *gpu;
	struct rql_buffer *bins, *order, *buffers[BUFFERS];
	uint32_t numbers;
};

static rql_status room(struct sorting *s, unsigned buffer, uint64_t bytes, enum rql_memory memory,
                       struct rql_error *err)
{
	return rql_buffer_new(s->gpu, bytes, memory, "sorting the cells of a sieve", &s->buffers[buffer], err);
}

static rql_status record_cells(const struct sorting *s, struct rql_commands *commands, struct rql_error *err)
{
	const uint32_t group = s->gpu->limits.group_size < WORKGROUP ? s->gpu->limits.group_size : WORKGROUP;
	const struct rql_sieve_cell_args args = {.places = s->bins->address,
	                                         .rows = s->buffers[ROWS]->address,
	                                         .cells = s->buffers[CELLS]->address,
	                                         .all = s->c->all,
	                                         .count = s->numbers,
	                                         .axis_count = s->c->axis_count,
	                                         .size_y = (uint32_t)s->c->sizes[1],
	                                         .size_z = (uint32_t)s->c->sizes[2]};
	const struct rql_use uses[] = {
		{s->buffers[CELLS], RQL_WRITE}, {s->bins, RQL_READ}, {s->buffers[ROWS], RQL_READ}};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(s->gpu, &cell_kernel, &group, 1, &pipeline, err));
	rql_record_dispatch(commands, "sieve cells", pipeline, &args, (s->numbers + UINT64_C(1) * group - 1) / group, uses,
	                    3);
	return RQL_OK;
}

/* What is no row is behind all cells, and is left there. */
static rql_status record(struct sorting *s, struct rql_commands *commands, struct rql_error *err)
{
	struct rql_sort sort = {.key_bits = 64,
	                        .value_bits = 32,
	                        .high_bit = 64u - (uint32_t)__builtin_clzll(s->c->all),
	                        .count = s->numbers,
	                        .keys_in = {s->buffers[CELLS], 0},
	                        .keys_out = {s->buffers[SORTED], 0},
	                        .values_out = {s->order, 0}};
	RQL_TRY(room(s, TEMP, rql_sort_temp_bytes(&sort), RQL_MEMORY_DEVICE, err));
	sort.temp = (struct rql_span){s->buffers[TEMP], 0};
	RQL_TRY(record_cells(s, commands, err));
	RQL_TRY(rql_record_sort(commands, &sort, err));
	rql_record_copy(commands, s->buffers[SORTED], 0, s->buffers[BACK], 0, s->c->rows * sizeof(uint64_t));
	return RQL_OK;
}

static rql_status sort_rows(struct sorting *s, const struct rql_store_segment *segment, struct rql_progress *progress,
                            struct rql_error *err)
{
	struct rql_commands *commands = NULL;
	RQL_TRY(rql_sieve_block_rows(segment, s->gpu, &s->buffers[ROWS], err));
	RQL_TRY(room(s, CELLS, s->numbers * sizeof(uint64_t), RQL_MEMORY_DEVICE, err));
	RQL_TRY(room(s, SORTED, s->numbers * sizeof(uint64_t), RQL_MEMORY_DEVICE, err));
	RQL_TRY(room(s, BACK, s->c->rows * sizeof(uint64_t), RQL_MEMORY_READBACK, err));
	RQL_TRY(rql_commands_new(s->gpu, 0, &commands, err));
	return rql_commands_finish(commands, record(s, commands, err), progress, NULL, err);
}

/* ---- cutting ---- */
static void bins_of(const struct cutting *c, uint64_t at, uint32_t bins[RQL_SIEVE_AXES])
{
	uint64_t cell = c->cells[at];
	for (uint32_t a = c->axis_count; a-- > 0; cell /= c->sizes[a])
		bins[a] = (uint32_t)(cell % c->sizes[a]);
}

static uint64_t end_of(const struct cutting *c, uint64_t at)
{
	const uint64_t cell = c->cells[at];
	while (at < c->rows && c->cells[at] == cell)
		at++;
	return at;
}

/* How many pieces all cells have, and the fullest at each place. */
static uint64_t count_pieces(struct cutting *c)
{
	uint32_t bins[RQL_SIEVE_AXES];
	uint64_t pieces = 0, end;
	c->space->pieces = 1;
	for (uint64_t at = 0; at < c->rows; at = end) {
		bins_of(c, at, bins);
		end = end_of(c, at);
		const uint32_t here = (uint32_t)((end - at + c->piece - 1) / c->piece);
		pieces += here;
		c->space->pieces = here > c->space->pieces ? here : c->space->pieces;
		for (uint32_t a = 0; a < c->axis_count; a++)
			if (here > c->space->pieces_of[a][bins[a]])
				c->space->pieces_of[a][bins[a]] = here;
	}
	return pieces;
}

static void cut_cells(const struct cutting *c, struct rql_sieve_cells *out)
{
	uint32_t bins[RQL_SIEVE_AXES];
	uint64_t end;
	for (uint64_t at = 0; at < c->rows; at = end) {
		bins_of(c, at, bins);
		end = end_of(c, at);
		for (uint64_t first = at; first < end; first += c->piece) {
			uint32_t *place = out->places + (uint64_t)out->count * c->axis_count;
			out->starts[out->count++] = (uint32_t)first;
			memcpy(place, bins, c->axis_count * sizeof(*place));
			place[0] = bins[0] * c->space->pieces + (uint32_t)((first - at) / c->piece);
		}
	}
	out->starts[out->count] = (uint32_t)c->rows;
}

/* Rays run along y and z. */
static float unit_of(const struct cutting *c)
{
	const uint64_t x = c->sizes[0] * c->space->pieces;
	uint64_t others = 1;
	unsigned bits = 0;
	for (uint32_t a = 1; a < c->axis_count; a++)
		others = c->sizes[a] > others ? c->sizes[a] : others;
	while (x >> bits > others && bits < UNIT_BITS)
		bits++;
	return 1.0f / (float)(1u << bits);
}

static rql_status cut(struct cutting *c, struct rql_mem *mem, struct rql_sieve_cells *out, struct rql_error *err)
{
	struct rql_sieve_space *space = c->space;
	uint64_t pieces;
	while ((pieces = count_pieces(c)) && c->sizes[0] * space->pieces > RQL_MATRIX_SIZE - 2) {
		c->piece *= 2; /* the fullest cell would not fit x */
		for (uint32_t a = 0; a < c->axis_count; a++)
			memset(space->pieces_of[a], 0, c->sizes[a] * sizeof(*space->pieces_of[a]));
	}
	space->unit_x = unit_of(c);
	RQL_TRY(RQL_MEM_ARRAY(mem, out->starts, pieces + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, out->places, pieces * c->axis_count + 1, err));
	cut_cells(c, out);
	return RQL_OK;
}

static rql_status sort_and_cut(struct sorting *s, struct cutting *c, const struct rql_store_segment *segment,
                               struct rql_progress *progress, struct rql_mem *mem, struct rql_sieve_cells *out,
                               struct rql_error *err)
{
	rql_status status = sort_rows(s, segment, progress, err);
	c->cells = status == RQL_OK ? s->buffers[BACK]->map : NULL;
	if (status == RQL_OK)
		status = cut(c, mem, out, err);
	for (unsigned b = 0; b < BUFFERS; b++)
		rql_buffer_free(s->buffers[b]);
	return status;
}

rql_status rql_sieve_cells_make(struct rql_buffer *bins, const struct rql_store_segment *segment,
                                struct rql_device *gpu, struct rql_progress *progress, struct rql_sieve_space *space,
                                struct rql_mem *mem, struct rql_sieve_cells *out, struct rql_error *err)
{
	struct cutting c = {.space = space,
	                    .axis_count = space->axis_count,
	                    .piece = RQL_SIEVE_PIECE,
	                    .all = 1,
	                    .rows = segment->rows};
	struct sorting s = {.c = &c, .gpu = gpu, .bins = bins, .numbers = rql_sieve_numbers(segment)};
	*out = (struct rql_sieve_cells){0};
	for (uint32_t a = 0; a < c.axis_count; a++) {
		c.sizes[a] = space->axes[a].size + UINT64_C(1);
		c.all *= c.sizes[a];
		space->pieces_of[a] = calloc(c.sizes[a], sizeof(*space->pieces_of[a]));
		if (!space->pieces_of[a])
			return rql_error_memory(err, c.sizes[a] * sizeof(*space->pieces_of[a]), "cells of a sieve");
	}
	RQL_TRY(rql_buffer_new(gpu, s.numbers * sizeof(uint32_t), RQL_MEMORY_DEVICE, "cells of a sieve's space", &s.order,
	                       err));
	rql_status status = sort_and_cut(&s, &c, segment, progress, mem, out, err);
	if (status == RQL_OK)
		out->order = s.order;
	else
		rql_buffer_free(s.order);
	return status;
}
