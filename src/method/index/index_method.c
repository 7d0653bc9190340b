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
	return of->column == column && rql_index_can(&snapshot->columns[column]);
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

/* Points are hashed where they can be. */
static bool choose_form(const struct rql_request *request, const struct rql_index_test *test, struct rql_index_of *out)
{
	const bool points = rql_index_test_values(test) <= RQL_INDEX_RANGES_MOST;
	bool found = false;
	for (uint32_t i = 0; i < request->index_count; i++) {
		const struct rql_index_of *of = &request->indexes[i];
		if (!usable(of, request->snapshot, test->column) || (of->form == RQL_INDEX_HASH && !points))
			continue;
		if (!found || of->form == RQL_INDEX_HASH)
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
	p->found = p->missing_rows = p->missing = p->look_ups = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		struct rql_index_run *run = NULL;
		const uint32_t *rows;
		if (!rql_index_run_there(segment, of, device)) {
			p->missing++;
			p->missing_rows += (double)segment->rows;
			p->found += guess(&snapshot->columns[of->column], test, (double)segment->rows);
			continue;
		}
		RQL_TRY(rql_index_run_get(snapshot, s, of, device, NULL, &run, err));
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
	const double bitmap = (double)snapshot->blocks * WORDS * sizeof(uint64_t);
	double left = p->found, tested = p->found < (double)snapshot->blocks ? p->found : (double)snapshot->blocks;
	for (uint32_t t = 1; t < p->test_count; t++)
		left *= guess(&snapshot->columns[p->tests[t].column], &p->tests[t], 1);
	const bool room = has_room(p);
	*out = (struct rql_cost){
		.setup_ns = room ? p->missing_rows * MAKE_ROW_NS : 0,
		.run_ns = (p->look_ups + p->missing * (double)p->tests[0].count) * LOOK_UP_NS + p->found * ROW_NS +
		          (p->test_count - 1) * tested * 64 * TEST_ROW_NS + bitmap / device->profile.read_gbps +
		          (room ? 0 : p->missing_rows * TEST_ROW_NS),
		.rows_out = left,
		.bytes = bitmap + p->found * sizeof(uint32_t),
	};
}

/* ---- running ---- */
struct running {
	const struct rql_prepared *p;
	struct rql_device *device;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	uint64_t *bits; /* of all blocks */
};

static void test_rest(const struct running *r, const struct rql_store_segment *segment, uint32_t block, uint32_t first)
{
	uint64_t *bits = r->bits + (segment->first_block + block) * WORDS, some = 0;
	for (uint32_t w = 0; w < WORDS; w++)
		some |= bits[w];
	for (uint32_t t = first; t < r->p->test_count && some; t++)
		rql_index_test_block(r->kernels, &segment->columns[r->p->tests[t].column], block, &r->p->tests[t], bits);
}

static void test_all(const struct running *r, const struct rql_store_segment *segment)
{
	for (uint32_t b = 0; b < segment->blocks; b++) {
		memset(r->bits + (segment->first_block + b) * WORDS, 0xff, WORDS * sizeof(uint64_t));
		test_rest(r, segment, b, 0);
	}
}

static void look_up(const struct running *r, const struct rql_store_segment *segment, const struct rql_index_run *run)
{
	const struct rql_index_test *test = &r->p->tests[0];
	uint64_t *bits = r->bits + segment->first_block * WORDS;
	for (uint32_t i = 0; i < test->count; i++) {
		const uint32_t *rows = NULL;
		uint32_t count = rql_index_run_find(run, &segment->columns[test->column], test->ranges[i].least,
		                                    test->ranges[i].greatest, &rows);
		for (uint32_t k = 0; k < count; k++)
			bits[rows[k] / 64] |= UINT64_C(1) << rows[k] % 64;
	}
	for (uint32_t b = 0; b < segment->blocks && r->p->test_count > 1; b++)
		test_rest(r, segment, b, 1);
}

static rql_status run_segment(const struct running *r, uint32_t s, struct rql_error *err)
{
	const struct rql_store_segment *segment = &r->p->snapshot->segments[s];
	struct rql_index_run *run = NULL;
	struct rql_error why = {0};
	if (r->progress && atomic_load(&r->progress->cancel))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	rql_status status = rql_index_run_get(r->p->snapshot, s, &r->p->of, r->device, r->progress, &run, &why);
	if (status == RQL_OK) {
		look_up(r, segment, run);
		rql_placement_release(&run->placement);
	} else if (status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY) {
		rql_error_clear(&why);
		test_all(r, segment);
		return RQL_OK;
	}
	rql_error_move(err, &why);
	return status;
}

static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	const uint64_t bytes = (p->snapshot->blocks + !p->snapshot->blocks) * WORDS * sizeof(uint64_t);
	struct running r = {.p = p,
	                    .device = device,
	                    .kernels = rql_store_kernels_for(device->simd),
	                    .progress = how->progress,
	                    .bits = rql_arena_alloc(how->arena, bytes)};
	if (!r.bits)
		return rql_error_memory(err, bytes, "the rows that were looked up");
	memset(r.bits, 0, bytes);
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		RQL_TRY(run_segment(&r, s, err));
	*out = (struct rql_port){.kind = RQL_PORT_ROWS, .rows.bits = r.bits, .bytes_read = bytes};
	return RQL_OK;
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
	.description = "rows by their keys: sorted or hashed, as CREATE INDEX says",
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
