/* Runs of sieves in a side file (method/runs.h). */
#include "method/sieve/sieve_positions.h"

#include <stdlib.h>
#include "method/runs.h"

#define WORDS RQL_SIEVE_WORDS

static const char *const kinds[] = {"sieve", NULL};

static bool place(const struct rql_store_segment *segment, const struct rql_index_of *of, uint32_t i,
                  struct rql_place *out, char key[RQL_RUN_KEY])
{
	if (i)
		return false;
	*out = rql_sieve_place_of(segment, of, key);
	return true;
}

static struct rql_placement *open_run(const char *kind, struct rql_device *cpu, struct rql_budget *budget)
{
	(void)kind;
	struct rql_sieve_run *run = rql_sieve_run_new(cpu, budget);
	return run ? &run->placement : NULL;
}

/* ---- fields and arrays ---- */
static rql_status visit_bins(struct rql_frame_file *file, struct rql_sieve_bins *bins)
{
	RQL_TRY(rql_frame_count(file, &bins->count, RQL_SIEVE_BINS_MOST));
	if (!bins->count)
		return rql_frame_corrupt(file, "a sieve has no bins");
	RQL_FRAME_ARRAY(file, bins->bounds, bins->count - UINT64_C(1));
	if (!file->writing)
		RQL_TRY(RQL_MEM_ARRAY(file->mem, bins->bin, bins->count, file->err));
	for (uint32_t b = 0; b < bins->count; b++) {
		RQL_FRAME_VISIT(file, bins->bin[b].least);
		RQL_FRAME_VISIT(file, bins->bin[b].greatest);
		RQL_FRAME_VISIT(file, bins->bin[b].rows);
	}
	return RQL_OK;
}

static rql_status visit_shape(struct rql_frame_file *file, struct rql_sieve_shape *shape)
{
	RQL_TRY(rql_frame_count(file, &shape->block_count, RQL_STORE_SEGMENT));
	RQL_TRY(rql_frame_bool(file, &shape->has_null));
	RQL_TRY(visit_bins(file, &shape->bins));
	RQL_TRY(rql_frame_count(file, &shape->base, RQL_SIEVE_BINS_MOST));
	RQL_TRY(rql_frame_count(file, &shape->highs, RQL_SIEVE_BINS_MOST));
	return rql_frame_count(file, &shape->lows, RQL_SIEVE_BINS_MOST);
}

static rql_status visit(struct rql_frame_file *file, struct rql_placement *placement)
{
	struct rql_sieve_run *run = (struct rql_sieve_run *)placement;
	bool positions = run->parts != NULL;
	if (!file->writing)
		file->mem = &run->mem;
	RQL_TRY(visit_shape(file, &run->shape));
	const uint64_t blocks = run->shape.block_count, parts = rql_sieve_part_count(run->shape.block_count);
	RQL_FRAME_ARRAY(file, run->blocks, blocks);
	RQL_FRAME_ARRAY(file, run->vectors, rql_sieve_vector_count(&run->shape) * blocks * WORDS);
	RQL_TRY(rql_frame_bool(file, &positions));
	if (positions) {
		RQL_FRAME_VISIT(file, run->position_count);
		RQL_FRAME_ARRAY(file, run->parts, parts);
		RQL_FRAME_ARRAY(file, run->starts, parts * (run->shape.bins.count + UINT64_C(1)));
		RQL_FRAME_ARRAY(file, run->positions, run->position_count);
	}
	placement->bytes = run->mem.held;
	return RQL_OK;
}

/* ---- is it as one that was made? ---- */
static bool digits_hold(const struct rql_sieve_shape *shape)
{
	const uint32_t count = shape->bins.count, base = shape->base;
	return base ? shape->lows == base - 1 && shape->highs == (count + base - 1) / base - 1
	            : shape->highs == count - 1 && !shape->lows;
}

static bool bounds_ascend(const struct rql_sieve_bins *bins)
{
	bool good = true;
	for (uint32_t b = 1; b + 1 < bins->count; b++)
		good = good && bins->bounds[b - 1] < bins->bounds[b];
	return good;
}

static bool blocks_match(const struct rql_sieve_run *run, const struct rql_store_segment *segment,
                         const struct rql_store_view *view)
{
	bool nulls = false;
	if (run->shape.block_count != segment->blocks)
		return false;
	for (uint32_t b = 0; b < segment->blocks; b++) {
		const struct rql_sieve_block *block = &run->blocks[b];
		nulls = nulls || view->blocks[b].nulls;
		if (block->rows != view->blocks[b].rows || block->nulls != view->blocks[b].nulls ||
		    (block->least <= block->greatest && block->greatest >= run->shape.bins.count))
			return false;
	}
	return nulls == run->shape.has_null;
}

/* No vector has a row that there is not. */
static bool vectors_end(const struct rql_sieve_run *run)
{
	const uint64_t blocks = run->shape.block_count;
	for (uint64_t v = 0; v < rql_sieve_vector_count(&run->shape); v++)
		for (uint64_t b = 0; b < blocks; b++)
			for (uint32_t w = run->blocks[b].rows / 64; w < WORDS; w++)
				if (run->vectors[(v * blocks + b) * WORDS + w] & ~rql_rows_live(run->blocks[b].rows, w))
					return false;
	return true;
}

static bool part_holds(const struct rql_sieve_run *run, uint32_t part, uint32_t *first)
{
	const struct rql_sieve_part *p = &run->parts[part];
	const uint32_t bins = run->shape.bins.count, *starts = run->starts + (uint64_t)part * (bins + 1);
	const struct rql_sieve_block *blocks = run->blocks + part * RQL_SIEVE_PART_BLOCKS;
	const uint32_t left = run->shape.block_count - part * RQL_SIEVE_PART_BLOCKS;
	const uint32_t count = left < RQL_SIEVE_PART_BLOCKS ? left : RQL_SIEVE_PART_BLOCKS;
	uint32_t rows = 0, keys = 0;
	for (uint32_t b = 0; b < count; b++) {
		rows += blocks[b].rows;
		keys += blocks[b].rows - blocks[b].nulls;
	}
	bool good = p->first == *first && p->count == keys && rows <= run->position_count - *first && starts[0] == 0 &&
	            starts[bins] == keys;
	for (uint32_t b = 0; b < bins && good; b++)
		good = starts[b] <= starts[b + 1];
	for (uint32_t i = 0; i < keys && good; i++) {
		const uint32_t row = run->positions[p->first + i], block = row / RQL_STORE_BLOCK;
		good = block < count && row % RQL_STORE_BLOCK < blocks[block].rows;
	}
	*first += rows;
	return good;
}

static bool positions_hold(const struct rql_sieve_run *run)
{
	uint32_t first = 0;
	bool good = true;
	for (uint32_t p = 0; p < rql_sieve_part_count(run->shape.block_count) && good; p++)
		good = part_holds(run, p, &first);
	return good && first == run->position_count;
}

static const char *check(const struct rql_store_segment *segment, const struct rql_place *at,
                         struct rql_placement *placement)
{
	const struct rql_sieve_run *run = (const struct rql_sieve_run *)placement;
	if (!blocks_match(run, segment, &segment->columns[at->part]))
		return "a sieve has other blocks than its segment";
	if (!digits_hold(&run->shape) || !bounds_ascend(&run->shape.bins))
		return "a sieve's bins are impossible";
	if (!vectors_end(run))
		return "a sieve's vectors have rows that there are not";
	if ((run->parts != NULL) != (strchr(at->key, 'p') != NULL))
		return "a sieve is of another form than it says";
	return !run->parts || positions_hold(run) ? NULL : "a sieve's positions are impossible";
}

const struct rql_run_family rql_runs_of_sieves = {
	.kinds = kinds, .place = place, .open = open_run, .visit = visit, .check = check};
