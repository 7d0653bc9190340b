/* A run of look-ups: values of the covered conditions looked up, the others tested where something was found. */
#include <math.h>
#include <string.h>
#include "column/text/dict.h"
#include "method/index/index_look.h"
#include "util/simd.h"

#define WORDS RQL_ROWS_BLOCK_WORDS

uint32_t rql_index_look_ups(const struct rql_index_test *tests, const uint32_t *order, uint32_t count, uint32_t tuple)
{
	for (uint32_t c = 0; c < count && tuple; c++)
		if (tests[order ? order[c] : c].tuple == tuple)
			return tests[order ? order[c] : c].tuple_count;
	return tests[order ? order[count - 1] : count - 1].count;
}

void rql_index_sought(const struct rql_index_test *tests, const uint32_t *order, uint32_t count, uint32_t tuple, uint32_t i,
                      struct rql_index_range *out)
{
	for (uint32_t c = 0; c < count; c++) {
		const struct rql_index_test *test = &tests[order ? order[c] : c];
		if (tuple && test->tuple == tuple)
			out[c] = (struct rql_index_range){test->part[i], test->part[i]};
		else
			out[c] = test->ranges[!tuple && c + 1 == count ? i : 0];
	}
}

/* What a segment has of a run's only look-up, so that its key is found once and its rows are. */
struct single {
	bool asked, found; /* its keys are known, and its rows */
	uint64_t least, greatest;
	const uint32_t *rows;
	uint32_t count;
};

struct running {
	const struct rql_index_choice *p;
	const struct rql_index_test *tests; /* [p->test_count]: the run's own where it has values for points */
	double most;                        /* rows that may be looked up; HUGE_VAL: any */
	double found;
	struct rql_device *device;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	struct rql_placement **runs; /* [segments]: of runs, references; NULL: there is no room for it, its rows are tested */
	struct single *singles;      /* [segments]; NULL: there is more than one look-up */
	uint64_t *some;              /* a bit for each block of the snapshot that may have rows */
	uint32_t *before;            /* [words of some]: such blocks before the word's */
	uint64_t block_count;
	uint32_t *blocks; /* [block_count] */
	uint64_t *bits;   /* [block_count][WORDS] */
};

static const struct rql_index_run *run_of(const struct running *r, uint32_t s)
{
	return (const struct rql_index_run *)(const void *)r->runs[s];
}

/* A segment's keys, which the memory brings meanwhile. */
static void ask_single(struct running *r, uint32_t s, const struct rql_index_range *ranges)
{
	struct single *one = &r->singles[s];
	one->asked = true;
	if (!rql_index_run_fetch(run_of(r, s), &r->p->snapshot->segments[s], ranges, r->p->covered, &one->least,
	                         &one->greatest)) {
		one->least = 1; /* no key lies between them */
		one->greatest = 0;
	}
}

static const struct single *find_single(struct running *r, uint32_t s)
{
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	struct single *one = &r->singles[s];
	if (!one->asked) {
		rql_index_sought(r->tests, NULL, r->p->covered, r->p->tuple, 0, ranges);
		ask_single(r, s, ranges);
	}
	if (!one->found)
		one->count = rql_index_map_find(&run_of(r, s)->map, one->least, one->greatest, &one->rows);
	one->found = true;
	return one;
}

/* Calls `each` for all rows of a segment that are looked up. */
static void find_rows(struct running *r, uint32_t s,
                      void (*each)(struct running *r, uint64_t first_block, const uint32_t *rows, uint32_t count))
{
	const struct rql_store_segment *segment = &r->p->snapshot->segments[s];
	const uint32_t covered = r->p->covered;
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	const uint32_t look_ups = rql_index_look_ups(r->tests, NULL, covered, r->p->tuple);
	if (r->singles) {
		const struct single *one = find_single(r, s);
		each(r, segment->first_block, one->rows, one->count);
		return;
	}
	for (uint32_t i = 0; i < look_ups; i++) {
		const uint32_t *rows = NULL;
		rql_index_sought(r->tests, NULL, covered, r->p->tuple, i, ranges);
		uint32_t count = rql_index_run_find(run_of(r, s), segment, ranges, covered, &rows);
		each(r, segment->first_block, rows, count);
	}
}

static void mark_blocks(struct running *r, uint64_t first_block, const uint32_t *rows, uint32_t count)
{
	r->found += count;
	if (r->found > r->most)
		return;
	for (uint32_t k = 0; k < count; k++) {
		uint64_t block = first_block + rows[k] / RQL_STORE_BLOCK;
		rql_bit_set(r->some, block);
	}
}

/* Where the bits of a block that is marked are. */
static uint64_t *bits_of(const struct running *r, uint64_t block)
{
	uint64_t lower = r->some[block / 64] & ((UINT64_C(1) << block % 64) - 1);
	return r->bits + (r->before[block / 64] + (uint64_t)__builtin_popcountll(lower)) * WORDS;
}

static void mark_rows(struct running *r, uint64_t first_block, const uint32_t *rows, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		uint32_t row = rows[k] % RQL_STORE_BLOCK;
		rql_bit_set(bits_of(r, first_block + rows[k] / RQL_STORE_BLOCK), row);
	}
}

/* A run that was not there. */
static rql_status make_run(struct running *r, uint32_t s, struct rql_error *err)
{
	const struct rql_index_of as = rql_index_auto(&r->p->snapshot->segments[s], &r->p->of, r->p->points, r->device);
	struct rql_index_run *run = NULL;
	RQL_TRY(rql_index_run_get(r->p->snapshot, s, &as, r->device, r->progress, &run, err));
	r->runs[s] = &run->placement;
	return RQL_OK;
}

/* A segment's run, and in which of its blocks rows are found. */
static rql_status find_blocks(struct running *r, uint32_t s, struct rql_error *err)
{
	const struct rql_store_segment *segment = &r->p->snapshot->segments[s];
	struct rql_error why = {0};
	if (r->progress && atomic_load(&r->progress->cancel))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	rql_status status = r->runs[s] ? RQL_OK : make_run(r, s, &why);
	if (status == RQL_OK) {
		find_rows(r, s, mark_blocks);
		if (r->found > r->most)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the value has more rows than the plan is for");
	} else if (status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY) {
		rql_error_clear(&why);
		for (uint64_t b = segment->first_block; b < segment->first_block + segment->blocks; b++)
			rql_bit_set(r->some, b);
		return RQL_OK;
	}
	rql_error_move(err, &why);
	return status;
}

/* Room for the bits of the blocks that are marked. */
static rql_status list_blocks(struct running *r, struct rql_arena *arena, struct rql_error *err)
{
	const uint64_t words = r->p->snapshot->blocks / 64 + 1;
	for (uint64_t w = 0; w < words; w++) {
		r->before[w] = (uint32_t)r->block_count;
		r->block_count += r->some[w] ? (uint64_t)__builtin_popcountll(r->some[w]) : 0;
	}
	const uint64_t bytes = (r->block_count + 1) * WORDS * sizeof(uint64_t);
	r->blocks = RQL_NEW_ARRAY(arena, uint32_t, r->block_count + 1);
	r->bits = rql_arena_alloc(arena, bytes);
	if (!r->blocks || !r->bits)
		return rql_error_memory(err, bytes, "the rows that were looked up");
	memset(r->bits, 0, bytes);
	for (uint64_t w = 0, n = 0; w < words; w++)
		for (uint64_t left = r->some[w]; left; left &= left - 1)
			r->blocks[n++] = (uint32_t)(w * 64 + (uint64_t)__builtin_ctzll(left));
	return RQL_OK;
}

/* Rows of the segments that were looked up, and all of the others. */
static void set_bits(struct running *r)
{
	const struct rql_store_snapshot *snapshot = r->p->snapshot;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		if (r->runs[s])
			find_rows(r, s, mark_rows);
		else
			memset(bits_of(r, segment->first_block), 0xff, segment->blocks * WORDS * sizeof(uint64_t));
	}
}

/* What was not looked up is tested, and what was by a prefix. */
static void test_blocks(const struct running *r)
{
	const struct rql_store_snapshot *snapshot = r->p->snapshot;
	const struct rql_store_segment *segment = snapshot->segments;
	for (uint64_t i = 0; i < r->block_count; i++) {
		while (r->blocks[i] >= segment->first_block + segment->blocks)
			segment++;
		const struct rql_index_run *run = run_of(r, (uint32_t)(segment - snapshot->segments));
		for (uint32_t t = run && !run->key.prefix ? r->p->covered : 0; t < r->p->test_count; t++)
			rql_index_test_block(r->kernels, &segment->columns[r->tests[t].column],
			                     (uint32_t)(r->blocks[i] - segment->first_block), &r->tests[t], r->bits + i * WORDS);
	}
}

/* A point's places in all runs, which the memory brings at once instead of one behind another. */
static rql_status fetch_ahead(struct running *r, struct rql_arena *arena, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = r->p->snapshot;
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	if (rql_index_look_ups(r->tests, NULL, r->p->covered, r->p->tuple) != 1)
		return RQL_OK;
	r->singles = RQL_NEW_ARRAY(arena, struct single, snapshot->segment_count + 1);
	if (!r->singles)
		return rql_error_memory(err, snapshot->segment_count * sizeof(*r->singles), "a look-up");
	rql_index_sought(r->tests, NULL, r->p->covered, r->p->tuple, 0, ranges);
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		if (r->runs[s])
			ask_single(r, s, ranges);
	return RQL_OK;
}

static rql_status look_up(struct running *r, struct rql_arena *arena, struct rql_error *err)
{
	RQL_TRY(rql_index_runs_take(r->p->snapshot, &r->p->of, r->p->points, r->device, arena, r->runs, err));
	RQL_TRY(fetch_ahead(r, arena, err));
	for (uint32_t s = 0; s < r->p->snapshot->segment_count; s++)
		RQL_TRY(find_blocks(r, s, err));
	RQL_TRY(list_blocks(r, arena, err));
	set_bits(r);
	test_blocks(r);
	return RQL_OK;
}

/* A plan for few rows is the wrong one for many. */
#define POINT_ROWS_MOST 4096.0
#define POINT_ROWS_TIMES 4.0

/* As it is stored, and reals in their order. */
struct rql_index_range rql_index_point_range(const struct rql_store_column *column, const struct rql_value *value)
{
	rql_int128 sought = column->kind == RQL_STORE_REAL ? rql_index_of_real(value->real) : value->integer;
	if (column->kind == RQL_STORE_CODED)
		sought = rql_dimension_find_value(column->dimension, value);
	const bool there = column->kind != RQL_STORE_CODED || sought != RQL_DICT_NO_CODE;
	return there ? (struct rql_index_range){sought, sought} : (struct rql_index_range){1, 0};
}

/* The tests with these values for the points; the prepared ones stay as they are. */
static rql_status take_points(struct running *r, const struct rql_value *const *points, struct rql_arena *arena,
                              struct rql_error *err)
{
	const struct rql_index_choice *p = r->p;
	struct rql_index_test *tests = RQL_NEW_ARRAY(arena, struct rql_index_test, p->test_count);
	struct rql_index_range *ranges = RQL_NEW_ARRAY(arena, struct rql_index_range, p->test_count);
	if (!tests || !ranges)
		return rql_error_memory(err, p->test_count * (sizeof(*tests) + sizeof(*ranges)), "a look-up");
	memcpy(tests, p->tests, p->test_count * sizeof(*tests));
	for (uint32_t t = 0; t < p->test_count; t++) {
		const struct rql_value *value = tests[t].point ? points[tests[t].point - 1] : NULL;
		if (!value)
			continue;
		ranges[t] = rql_index_point_range(&p->snapshot->columns[tests[t].column], value);
		tests[t].ranges = &ranges[t];
	}
	r->tests = tests;
	r->most = fmax(POINT_ROWS_MOST, POINT_ROWS_TIMES * p->found);
	return RQL_OK;
}

uint32_t rql_index_points(const struct rql_index_choice *p)
{
	uint32_t points = 0;
	for (uint32_t t = 0; t < p->test_count; t++)
		points |= p->tests[t].point && p->tests[t].count == 1 ? 1u << (p->tests[t].point - 1) : 0;
	return points;
}

static rql_status give_rows(const struct running *r, struct rql_arena *arena, struct rql_port *out,
                            struct rql_error *err)
{
	struct rql_rows_part *parts = RQL_NEW_ARRAY(arena, struct rql_rows_part, r->block_count + 1);
	if (!parts)
		return rql_error_memory(err, r->block_count * sizeof(*parts), "the rows that were looked up");
	for (uint64_t i = 0; i < r->block_count; i++)
		parts[i] = rql_rows_part_of_bits(r->bits + i * WORDS);
	const uint64_t bytes = r->block_count * WORDS * sizeof(uint64_t);
	*out = (struct rql_port){.kind = RQL_PORT_ROWS,
	                         .rows = {.block_count = r->block_count, .blocks = r->blocks, .parts = parts},
	                         .selected = {.bytes = bytes, .forms = {[RQL_ROWS_BITMAP] = r->block_count}}};
	return RQL_OK;
}

rql_status rql_index_look(const struct rql_index_choice *p, struct rql_device *device, const struct rql_run *how,
                          struct rql_port *out, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	const uint64_t words = snapshot->blocks / 64 + 1;
	struct running r = {.p = p,
	                    .tests = p->tests,
	                    .most = HUGE_VAL,
	                    .device = device,
	                    .kernels = rql_store_kernels_for(device->simd),
	                    .progress = how->progress,
	                    .runs = RQL_NEW_ARRAY(how->arena, struct rql_placement *, snapshot->segment_count + 1),
	                    .some = RQL_NEW_ARRAY(how->arena, uint64_t, words),
	                    .before = RQL_NEW_ARRAY(how->arena, uint32_t, words)};
	if (!r.runs || !r.some || !r.before)
		return rql_error_memory(err, words * 12, "the rows that were looked up");
	if (how->points)
		RQL_TRY(take_points(&r, how->points, how->arena, err));
	rql_status status = look_up(&r, how->arena, err);
	rql_placements_release(r.runs, snapshot->segment_count);
	RQL_TRY(status);
	return give_rows(&r, how->arena, out, err);
}
