/* The method: looks values of one condition up, tests the others where something was found, gives ROWS. Whose segments
 * have no run, because there is no room for it, is tested row by row. */
#include <stdlib.h>
#include <string.h>
#include "method/index/index_run.h"
#include "method/index/index_tests.h"
#include "method/method.h"
#include "util/simd.h"

#define WORDS RQL_ROWS_BLOCK_WORDS

struct rql_prepared {
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_index_of of;
	bool points; /* single values alone are looked up */
	uint32_t test_count;
	struct rql_index_test *tests; /* the first is looked up, the others are tested */
	/* of what was there when it was prepared */
	double found;        /* rows that the look-ups give */
	double missing_rows; /* of segments without a run */
	uint32_t missing;    /* so many segments */
	double look_ups;
};

/* ---- what it can do ---- */
static bool usable(const struct rql_index_of *of, const struct rql_store_snapshot *snapshot, uint32_t column)
{
	return of->form != RQL_INDEX_SIEVE && of->column == column && rql_index_can(&snapshot->columns[column]);
}

static bool has_index(const struct rql_request *request, uint32_t column)
{
	bool some = false;
	for (uint32_t i = 0; i < request->index_count && column != RQL_NONE; i++)
		some = some || usable(&request->indexes[i], request->snapshot, column);
	return some;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	bool all = request->conjunct_count > 0;
	(void)reason;
	if (request->under.method || device->kind != RQL_DEVICE_CPU)
		return RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		all = all && has_index(request, rql_index_test_column(request->snapshot, &request->conjuncts[c]));
	return all ? RQL_OFFER_FULL : RQL_OFFER_NO;
}

/* ---- preparing ---- */
static void free_test(struct rql_index_test *test)
{
	free(test->ranges);
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	for (uint32_t t = 0; t < p->test_count; t++)
		free_test(&p->tests[t]);
	free(p->tests);
	rql_store_snapshot_release(p->snapshot);
	free(p);
}

/* Single values, each a range of its own. */
static bool is_points(const struct rql_index_test *test)
{
	return rql_index_test_values(test) == test->count;
}

/* Points are hashed where they can be, and what chooses by itself comes before what is sorted. */
static unsigned rank(enum rql_index_form form)
{
	return form == RQL_INDEX_HASH ? 3 : form == RQL_INDEX_AUTO ? 2 : 1;
}

static bool choose_form(const struct rql_request *request, const struct rql_index_test *test, struct rql_index_of *out)
{
	const bool points = rql_index_test_values(test) <= RQL_INDEX_RANGES_MOST;
	bool found = false;
	for (uint32_t i = 0; i < request->index_count; i++) {
		const struct rql_index_of *of = &request->indexes[i];
		if (!usable(of, request->snapshot, test->column) || (of->form == RQL_INDEX_HASH && !points))
			continue;
		if (!found || rank(of->form) > rank(out->form))
			*out = *of;
		found = true;
	}
	return found;
}

/* Rows of one value, or of ranges among evenly spread ones, in so many rows. */
static double guess(const struct rql_store_column *column, const struct rql_index_test *test, double rows)
{
	double all = column->kind == RQL_STORE_CODED ? (double)column->dimension->count
	                                             : (double)(column->greatest - column->least) + 1;
	double values = (double)rql_index_test_values(test);
	return all > values ? rows * values / all : rows;
}

/* Counts, where runs are there. */
static rql_status look(struct rql_prepared *p, const struct rql_index_of *of, const struct rql_index_test *test,
                       struct rql_device *device, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	p->of = *of;
	p->points = is_points(test);
	p->found = p->missing_rows = p->missing = p->look_ups = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		const struct rql_index_of as = rql_index_auto(segment, of, p->points, device);
		struct rql_index_run *run = NULL;
		const uint32_t *rows;
		if (!rql_index_run_there(segment, &as, device)) {
			p->missing++;
			p->missing_rows += (double)segment->rows;
			p->found += guess(&snapshot->columns[of->column], test, (double)segment->rows);
			continue;
		}
		RQL_TRY(rql_index_run_get(snapshot, s, &as, device, NULL, &run, err));
		for (uint32_t i = 0; i < test->count; i++)
			p->found += rql_index_run_find(run, &segment->columns[of->column], test->ranges[i].least,
			                               test->ranges[i].greatest, &rows);
		p->look_ups += test->count;
		rql_placement_release(&run->placement);
	}
	return RQL_OK;
}

/* The test that leaves the fewest rows becomes the first. */
static rql_status choose_test(struct rql_prepared *p, const struct rql_request *request, struct rql_device *device,
                              struct rql_error *err)
{
	struct rql_prepared best = {0}, tried = {.snapshot = p->snapshot};
	uint32_t first = RQL_NONE;
	for (uint32_t t = 0; t < p->test_count; t++) {
		struct rql_index_of of;
		if (!choose_form(request, &p->tests[t], &of))
			continue;
		if (of.form == RQL_INDEX_HASH)
			RQL_TRY(rql_index_test_spread(&p->tests[t], rql_index_test_values(&p->tests[t]), err));
		RQL_TRY(look(&tried, &of, &p->tests[t], device, err));
		if (first != RQL_NONE && tried.found >= best.found)
			continue;
		best = tried;
		first = t;
	}
	if (first == RQL_NONE)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an index that is hashed looks no ranges up");
	struct rql_index_test test = p->tests[first];
	p->tests[first] = p->tests[0];
	p->tests[0] = test;
	best.snapshot = p->snapshot;
	best.test_count = p->test_count;
	best.tests = p->tests;
	*p = best;
	return RQL_OK;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	p->tests = calloc(request->conjunct_count, sizeof(*p->tests));
	rql_status status = p->tests ? RQL_OK : rql_error_memory(err, 0, "look-ups");
	for (uint32_t c = 0; c < request->conjunct_count && status == RQL_OK; c++) {
		status = rql_index_test_make(p->snapshot, &request->conjuncts[c], &p->tests[c], err);
		p->test_count++;
	}
	if (status == RQL_OK)
		status = choose_test(p, request, device, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

/* ---- its price ---- */
#define RUN_ROW_BYTES 17.0    /* at most */
#define MAKING_ROW_BYTES 32.0 /* beside, while one is made */
#define LOOK_UP_NS 250.0 /* some lines of memory that nobody has read lately */
#define ROW_NS 3.0       /* a bit set; rows of a key lie anywhere */
#define BLOCK_NS 100.0   /* ... in a block that is listed: its bitmap cleared, read, and what the scan does with it */
/* A row of a run that is to be made takes tens of ns. CREATE INDEX has asked for it, so the first query that gains from it
 * bears little of that in its price: else a large index that gave way, or was never made, would not come back. */
#define MAKE_ROW_NS 1.0
#define TEST_ROW_NS 2.0  /* a row decoded and tested */

/* May the runs that are not there be made? Else their rows are tested. */
static bool has_room(const struct rql_prepared *p)
{
	const struct rql_budget *budget = rql_store_budget(p->snapshot);
	uint64_t limit = budget ? atomic_load(&budget->limit) : 0, used = budget ? atomic_load(&budget->used) : 0;
	return !limit || (double)used + p->missing_rows * (RUN_ROW_BYTES + MAKING_ROW_BYTES) <= (double)limit;
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	const bool room = has_room(p);
	double left = p->found, blocks = p->found + (room ? 0 : p->missing_rows / RQL_STORE_BLOCK);
	blocks = blocks < (double)snapshot->blocks ? blocks : (double)snapshot->blocks;
	(void)device;
	for (uint32_t t = 1; t < p->test_count; t++)
		left *= guess(&snapshot->columns[p->tests[t].column], &p->tests[t], 1);
	*out = (struct rql_cost){
		.setup_ns = room ? p->missing_rows * MAKE_ROW_NS : 0,
		.run_ns = (p->look_ups + p->missing * (double)p->tests[0].count) * LOOK_UP_NS + p->found * ROW_NS +
		          (p->test_count - 1) * blocks * 64 * TEST_ROW_NS + blocks * BLOCK_NS +
		          (room ? 0 : p->missing_rows * TEST_ROW_NS),
		.rows_out = left,
		.counted = p->test_count == 1 && !p->missing,
		.runs = blocks,
		.bytes = blocks * WORDS * sizeof(uint64_t) + p->found * sizeof(uint32_t),
	};
}

/* ---- running ---- */
struct running {
	const struct rql_prepared *p;
	struct rql_device *device;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	struct rql_index_run **runs; /* [segments]: references; NULL: there is no room for it, its rows are tested */
	uint64_t *some;              /* a bit for each block of the snapshot that may have rows */
	uint32_t *before;            /* [words of some]: such blocks before the word's */
	uint64_t block_count;
	uint32_t *blocks; /* [block_count] */
	uint64_t *bits;   /* [block_count][WORDS] */
};

/* Calls `each` for all rows of a segment that are looked up. */
static void find_rows(const struct running *r, uint32_t s,
                      void (*each)(const struct running *r, uint64_t first_block, const uint32_t *rows, uint32_t count))
{
	const struct rql_store_segment *segment = &r->p->snapshot->segments[s];
	const struct rql_index_test *test = &r->p->tests[0];
	for (uint32_t i = 0; i < test->count; i++) {
		const uint32_t *rows = NULL;
		uint32_t count = rql_index_run_find(r->runs[s], &segment->columns[test->column], test->ranges[i].least,
		                                    test->ranges[i].greatest, &rows);
		each(r, segment->first_block, rows, count);
	}
}

static void mark_blocks(const struct running *r, uint64_t first_block, const uint32_t *rows, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		uint64_t block = first_block + rows[k] / RQL_STORE_BLOCK;
		r->some[block / 64] |= UINT64_C(1) << block % 64;
	}
}

/* Where the bits of a block that is marked are. */
static uint64_t *bits_of(const struct running *r, uint64_t block)
{
	uint64_t lower = r->some[block / 64] & ((UINT64_C(1) << block % 64) - 1);
	return r->bits + (r->before[block / 64] + (uint64_t)__builtin_popcountll(lower)) * WORDS;
}

static void mark_rows(const struct running *r, uint64_t first_block, const uint32_t *rows, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		uint32_t row = rows[k] % RQL_STORE_BLOCK;
		bits_of(r, first_block + rows[k] / RQL_STORE_BLOCK)[row / 64] |= UINT64_C(1) << row % 64;
	}
}

/* A segment's run, and in which of its blocks rows are found. */
static rql_status find_blocks(const struct running *r, uint32_t s, struct rql_error *err)
{
	const struct rql_store_segment *segment = &r->p->snapshot->segments[s];
	const struct rql_index_of as = rql_index_auto(segment, &r->p->of, r->p->points, r->device);
	struct rql_error why = {0};
	if (r->progress && atomic_load(&r->progress->cancel))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	rql_status status = rql_index_run_get(r->p->snapshot, s, &as, r->device, r->progress, &r->runs[s], &why);
	if (status == RQL_OK) {
		find_rows(r, s, mark_blocks);
	} else if (status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY) {
		rql_error_clear(&why);
		for (uint64_t b = segment->first_block; b < segment->first_block + segment->blocks; b++)
			r->some[b / 64] |= UINT64_C(1) << b % 64;
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
		r->block_count += (uint64_t)__builtin_popcountll(r->some[w]);
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
static void set_bits(const struct running *r)
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

/* What was not looked up is tested. */
static void test_blocks(const struct running *r)
{
	const struct rql_store_snapshot *snapshot = r->p->snapshot;
	const struct rql_store_segment *segment = snapshot->segments;
	for (uint64_t i = 0; i < r->block_count; i++) {
		while (r->blocks[i] >= segment->first_block + segment->blocks)
			segment++;
		for (uint32_t t = r->runs[segment - snapshot->segments] ? 1 : 0; t < r->p->test_count; t++)
			rql_index_test_block(r->kernels, &segment->columns[r->p->tests[t].column],
			                     (uint32_t)(r->blocks[i] - segment->first_block), &r->p->tests[t], r->bits + i * WORDS);
	}
}

static rql_status look_up(struct running *r, struct rql_arena *arena, struct rql_error *err)
{
	for (uint32_t s = 0; s < r->p->snapshot->segment_count; s++)
		RQL_TRY(find_blocks(r, s, err));
	RQL_TRY(list_blocks(r, arena, err));
	set_bits(r);
	test_blocks(r);
	return RQL_OK;
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

static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	const uint64_t words = snapshot->blocks / 64 + 1;
	struct running r = {.p = p,
	                    .device = device,
	                    .kernels = rql_store_kernels_for(device->simd),
	                    .progress = how->progress,
	                    .runs = RQL_NEW_ARRAY(how->arena, struct rql_index_run *, snapshot->segment_count + 1),
	                    .some = RQL_NEW_ARRAY(how->arena, uint64_t, words),
	                    .before = RQL_NEW_ARRAY(how->arena, uint32_t, words)};
	if (!r.runs || !r.some || !r.before)
		return rql_error_memory(err, words * 12, "the rows that were looked up");
	rql_status status = look_up(&r, how->arena, err);
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		rql_placement_release(r.runs[s] ? &r.runs[s]->placement : NULL);
	RQL_TRY(status);
	return give_rows(&r, how->arena, out, err);
}

static uint64_t bytes(const struct rql_prepared *p)
{
	uint64_t sum = sizeof(*p) + p->test_count * sizeof(*p->tests);
	for (uint32_t t = 0; t < p->test_count; t++)
		sum += p->tests[t].count * sizeof(struct rql_index_range);
	return sum;
}

const struct rql_method rql_method_index_cpu = {
	.name = "index",
	.description = "rows by their keys: sorted, hashed or direct, as CREATE INDEX says",
	.paper = "none: the rivals of RTIndeX (PVLDB 2023) and cgRX",
	.unit = RQL_UNIT_CPU,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.run = run,
	.free = free_prepared,
	.bytes = bytes,
};
