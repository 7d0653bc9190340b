/* Rows sorted by their cell, and cells cut into pieces. */
#include "method/sieve/sieve_cells.h"

#include <stdlib.h>
#include "geometry/matrix.h"
#include "util/sort.h"

#define ROW_BITS 22u
#define UNIT_BITS 10u /* x is made no longer than the other axes times this many halvings */

struct cutting {
	const uint32_t *bins;
	struct rql_sieve_space *space;
	uint32_t axis_count, piece; /* rows of one */
	uint64_t sizes[RQL_SIEVE_AXES];
	const uint64_t *words; /* [rows]: cell << ROW_BITS | row, ascending */
	uint64_t rows;
};

static uint64_t cell_of(const struct cutting *c, uint64_t row)
{
	uint64_t cell = 0;
	for (uint32_t a = 0; a < c->axis_count; a++)
		cell = cell * c->sizes[a] + c->bins[row * c->axis_count + a];
	return cell;
}

static rql_status sort_rows(struct cutting *c, const struct rql_store_segment *segment, struct rql_mem *mem,
                            struct rql_error *err)
{
	uint64_t *words, *spare;
	RQL_TRY(RQL_MEM_ARRAY(mem, words, segment->rows + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, spare, segment->rows + 1, err));
	for (uint32_t b = 0; b < segment->blocks; b++)
		for (uint32_t r = 0; r < segment->columns[0].blocks[b].rows; r++) {
			const uint64_t row = (uint64_t)b * RQL_STORE_BLOCK + r;
			words[c->rows++] = cell_of(c, row) << ROW_BITS | row;
		}
	c->words = rql_sort_words(words, spare, c->rows, ROW_BITS);
	return RQL_OK;
}

static uint64_t end_of(const struct cutting *c, uint64_t at)
{
	const uint64_t cell = c->words[at] >> ROW_BITS;
	while (at < c->rows && c->words[at] >> ROW_BITS == cell)
		at++;
	return at;
}

/* How many pieces all cells have, and the fullest at each place. */
static uint64_t count_pieces(struct cutting *c)
{
	uint64_t pieces = 0, end;
	c->space->pieces = 1;
	for (uint64_t at = 0; at < c->rows; at = end) {
		const uint32_t *bins = c->bins + (c->words[at] & ((1u << ROW_BITS) - 1)) * c->axis_count;
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
	uint64_t end;
	for (uint64_t at = 0; at < c->rows; at = end) {
		const uint32_t *bins = c->bins + (c->words[at] & ((1u << ROW_BITS) - 1)) * c->axis_count;
		end = end_of(c, at);
		for (uint64_t first = at; first < end; first += c->piece) {
			uint32_t *place = out->places + (uint64_t)out->count * c->axis_count;
			out->starts[out->count++] = (uint32_t)first;
			memcpy(place, bins, c->axis_count * sizeof(*place));
			place[0] = bins[0] * c->space->pieces + (uint32_t)((first - at) / c->piece);
		}
	}
	out->starts[out->count] = (uint32_t)c->rows;
	for (uint64_t i = 0; i < c->rows; i++)
		out->order[i] = (uint32_t)(c->words[i] & ((1u << ROW_BITS) - 1));
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

rql_status rql_sieve_cells_make(const uint32_t *bins, const struct rql_store_segment *segment,
                                struct rql_sieve_space *space, struct rql_mem *mem, struct rql_sieve_cells *out,
                                struct rql_error *err)
{
	struct cutting c = {.bins = bins, .space = space, .axis_count = space->axis_count, .piece = RQL_SIEVE_PIECE};
	uint64_t pieces;
	*out = (struct rql_sieve_cells){0};
	for (uint32_t a = 0; a < c.axis_count; a++) {
		c.sizes[a] = space->axes[a].size + UINT64_C(1);
		space->pieces_of[a] = calloc(c.sizes[a], sizeof(*space->pieces_of[a]));
		if (!space->pieces_of[a])
			return rql_error_memory(err, c.sizes[a] * sizeof(*space->pieces_of[a]), "cells of a sieve");
	}
	RQL_TRY(sort_rows(&c, segment, mem, err));
	while ((pieces = count_pieces(&c)) && c.sizes[0] * space->pieces > RQL_MATRIX_SIZE - 2) {
		c.piece *= 2; /* the fullest cell would not fit x */
		for (uint32_t a = 0; a < c.axis_count; a++)
			memset(space->pieces_of[a], 0, c.sizes[a] * sizeof(*space->pieces_of[a]));
	}
	space->unit_x = unit_of(&c);
	out->rows = c.rows;
	RQL_TRY(RQL_MEM_ARRAY(mem, out->starts, pieces + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, out->order, c.rows + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, out->places, pieces * c.axis_count + 1, err));
	cut_cells(&c, out);
	return RQL_OK;
}
