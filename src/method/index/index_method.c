/* The method: which conditions are looked up and by which index, the others being tested where something was found; and
 * its price. index_look.c runs it. */
#include <stdlib.h>
#include <string.h>
#include "method/index/index_look.h"

/* ---- what it can do ---- */
/* An index of this column alone. */
static bool usable(const struct rql_index_of *of, uint32_t column)
{
	return of->form != RQL_INDEX_SIEVE && of->column == column && !of->more_count;
}

/* ... or it is one of its columns, which others may come before. */
static bool has_index(const struct rql_request *request, uint32_t column)
{
	bool some = false;
	for (uint32_t i = 0; i < request->index_count && column != RQL_NONE; i++)
		for (uint32_t c = 0; c < rql_index_columns(&request->indexes[i]); c++)
			some = some || (request->indexes[i].form != RQL_INDEX_SIEVE &&
			                rql_index_column(&request->indexes[i], c) == column);
	return some;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	bool all = request->conjunct_count > 0;
	const struct rql_conjunct *c = request->conjuncts;
	(void)reason;
	if (request->under.method || device->kind != RQL_DEVICE_CPU)
		return RQL_OFFER_NO;
	if (request->wants == RQL_PORT_SORTED)
		return rql_index_can_order(request) ? RQL_OFFER_FULL : RQL_OFFER_NO;
	for (const struct rql_conjunct *end = c + request->conjunct_count; c < end && all; c++)
		all = c->pairs.values[0] ? has_index(request, c->pairs.columns[0]) || has_index(request, c->pairs.columns[1])
		                         : has_index(request, rql_index_test_column(request->snapshot, c));
	return all ? RQL_OFFER_FULL : RQL_OFFER_NO;
}

/* ---- preparing ---- */
static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	for (uint32_t t = 0; t < p->test_count; t++)
		rql_index_test_free(&p->tests[t]);
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
		if (!usable(of, test->column) || (of->form == RQL_INDEX_HASH && !points))
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
	rql_int128 least, greatest;
	rql_index_column_bounds(column, &least, &greatest);
	const double all = (double)greatest - (double)least + 1;
	double values = (double)rql_index_test_values(test);
	return all > values ? rows * values / all : rows;
}

/* The tests that are looked up by an index: as many of its first columns as there are. */
struct cover {
	struct rql_index_of of;
	uint32_t count, tests[RQL_INDEX_COLUMNS_MOST];
	uint32_t pair; /* two of them are this pair's; 0: of none */
};

static bool is_point(const struct rql_index_test *test)
{
	return test->count == 1 && test->ranges[0].least == test->ranges[0].greatest;
}

/* Single values of the first columns, and whatever is asked of the next one. */
static bool cover_several(const struct rql_prepared *p, const struct rql_index_of *of, struct cover *out)
{
	const bool can = of->form != RQL_INDEX_SIEVE;
	bool points = true;
	*out = (struct cover){.of = *of};
	while (out->count < rql_index_columns(of) && points && can) {
		const uint32_t column = rql_index_column(of, out->count);
		uint32_t found = RQL_NONE;
		for (uint32_t t = 0; t < p->test_count; t++)
			if (p->tests[t].column == column && (found == RQL_NONE || is_point(&p->tests[t])))
				found = t;
		if (found == RQL_NONE)
			break;
		points = is_point(&p->tests[found]);
		out->tests[out->count++] = found;
	}
	const bool all = out->count == rql_index_columns(of);
	return can && out->count && (of->form != RQL_INDEX_HASH ||
	                             (all && rql_index_test_values(&p->tests[out->tests[out->count - 1]]) <= RQL_INDEX_RANGES_MOST));
}

/* What is asked of the column beside the pair's values: a single value, or at the end one range. */
static uint32_t find_beside(const struct rql_prepared *p, uint32_t column, bool at_end)
{
	uint32_t found = RQL_NONE;
	for (uint32_t t = 0; t < p->test_count; t++)
		if (p->tests[t].column == column && (is_point(&p->tests[t]) || (at_end && found == RQL_NONE && p->tests[t].count == 1)))
			found = t;
	return found;
}

/* The values of a pair, whose tests are `first` and the next one, and single values of the columns before, between and
 * behind them. */
static bool cover_pair(const struct rql_prepared *p, const struct rql_index_of *of, uint32_t first, struct cover *out)
{
	const struct rql_index_test *tests = p->tests;
	uint32_t both = 0;
	const bool can = of->form != RQL_INDEX_SIEVE;
	bool points = true;
	*out = (struct cover){.of = *of, .pair = tests[first].pair};
	while (out->count < rql_index_columns(of) && points && can) {
		const uint32_t column = rql_index_column(of, out->count);
		const bool one = tests[first].column == column, other = tests[first + 1].column == column;
		const uint32_t found = one ? first : other ? first + 1 : find_beside(p, column, both == 2);
		if (found == RQL_NONE)
			break;
		both += one || other;
		points = one || other || is_point(&tests[found]);
		out->tests[out->count++] = found;
	}
	return can && both == 2 && (of->form != RQL_INDEX_HASH || (points && out->count == rql_index_columns(of)));
}

/* Counts, where runs are there. */
static rql_status look(struct rql_prepared *p, const struct cover *cover, const struct rql_index_test *tests,
                       struct rql_device *device, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	const struct rql_index_test *last = &tests[cover->tests[cover->count - 1]];
	const uint32_t look_ups = rql_index_look_ups(tests, cover->tests, cover->count, cover->pair);
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	p->of = cover->of;
	p->covered = cover->count;
	p->pair = cover->pair;
	p->points = ((p->pair && last->pair == p->pair) || is_points(last)) && cover->count == rql_index_columns(&cover->of);
	p->found = p->missing_rows = p->missing = p->look_ups = 0;
	p->prefix = false;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		const struct rql_index_of as = rql_index_auto(segment, &cover->of, p->points, device);
		struct rql_index_run *run = NULL;
		const uint32_t *rows;
		if (!rql_index_run_there(segment, &as, device)) {
			double share = 1;
			for (uint32_t c = 0; c < cover->count; c++)
				share *= guess(&snapshot->columns[rql_index_column(&cover->of, c)], &tests[cover->tests[c]], 1);
			p->missing++;
			p->missing_rows += (double)segment->rows;
			p->found += share * (double)segment->rows;
			continue;
		}
		RQL_TRY(rql_index_run_get(snapshot, s, &as, device, NULL, &run, err));
		for (uint32_t i = 0; i < look_ups; i++) {
			rql_index_sought(tests, cover->tests, cover->count, cover->pair, i, ranges);
			p->found += rql_index_run_find(run, segment, ranges, cover->count, &rows);
		}
		p->look_ups += look_ups;
		p->prefix = p->prefix || run->key.prefix;
		rql_placement_release(&run->placement);
	}
	return RQL_OK;
}

/* Keeps the cover where it leaves fewer rows than the best one so far. */
static rql_status try_cover(struct rql_prepared *p, struct cover *cover, struct rql_prepared *best,
                            struct cover *best_cover, struct rql_device *device, struct rql_error *err)
{
	struct rql_prepared tried = {.snapshot = p->snapshot};
	struct rql_index_test *last = &p->tests[cover->tests[cover->count - 1]];
	if (cover->of.form == RQL_INDEX_HASH)
		RQL_TRY(rql_index_test_spread(last, rql_index_test_values(last), err));
	RQL_TRY(look(&tried, cover, p->tests, device, err));
	if (best_cover->count && tried.found >= best->found)
		return RQL_OK;
	*best = tried;
	*best_cover = *cover;
	return RQL_OK;
}

/* The tests of the cover, in its order, become the first ones. */
static void take_cover(struct rql_prepared *p, const struct cover *cover, const struct rql_prepared *found)
{
	const struct rql_prepared before = *p;
	struct rql_index_test moved[RQL_INDEX_COLUMNS_MOST];
	uint32_t kept = p->test_count;
	for (uint32_t c = 0; c < cover->count; c++)
		moved[c] = p->tests[cover->tests[c]];
	for (uint32_t t = p->test_count; t-- > 0;) { /* the others, from behind, keep their order */
		bool looked_up = false;
		for (uint32_t c = 0; c < cover->count; c++)
			looked_up = looked_up || cover->tests[c] == t;
		if (!looked_up)
			p->tests[--kept] = p->tests[t];
	}
	*p = *found;
	p->snapshot = before.snapshot;
	p->test_count = before.test_count;
	p->tests = before.tests;
	for (uint32_t c = 0; c < cover->count; c++)
		p->tests[c] = moved[c];
}

/* Of all indexes that can look some tests up: the one that leaves the fewest rows. */
static rql_status choose_test(struct rql_prepared *p, const struct rql_request *request, struct rql_device *device,
                              struct rql_error *err)
{
	struct rql_prepared best = {0};
	struct cover best_cover = {0}, cover;
	for (uint32_t t = 0; t < p->test_count; t++) {
		cover = (struct cover){.count = 1, .tests = {t}};
		if (choose_form(request, &p->tests[t], &cover.of))
			RQL_TRY(try_cover(p, &cover, &best, &best_cover, device, err));
	}
	for (uint32_t t = 0; t + 1 < p->test_count; t++)
		for (uint32_t i = 0; i < request->index_count && p->tests[t].pair && p->tests[t].pair == p->tests[t + 1].pair; i++)
			if (cover_pair(p, &request->indexes[i], t, &cover))
				RQL_TRY(try_cover(p, &cover, &best, &best_cover, device, err));
	for (uint32_t i = 0; i < request->index_count; i++)
		if (request->indexes[i].more_count && cover_several(p, &request->indexes[i], &cover))
			RQL_TRY(try_cover(p, &cover, &best, &best_cover, device, err));
	if (!best_cover.count)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "an index that is hashed looks no ranges up, and one of several columns needs the first");
	take_cover(p, &best_cover, &best);
	return RQL_OK;
}

static rql_status make_tests(struct rql_prepared *p, const struct rql_conjunct *c, uint32_t number, struct rql_error *err)
{
	if (!c->pairs.values[0])
		return rql_index_test_make(p->snapshot, c, &p->tests[p->test_count++], err);
	for (uint32_t part = 0; part < 2; part++)
		RQL_TRY(rql_index_test_make_part(p->snapshot, &c->pairs, part, number, &p->tests[p->test_count++], err));
	return RQL_OK;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	p->tests = calloc(2 * (size_t)request->conjunct_count, sizeof(*p->tests)); /* pairs have two */
	rql_status status = p->tests ? RQL_OK : rql_error_memory(err, 0, "look-ups");
	if (status == RQL_OK && request->wants == RQL_PORT_SORTED)
		rql_index_prepare_order(request, p);
	for (uint32_t c = 0; c < request->conjunct_count && status == RQL_OK; c++)
		status = make_tests(p, &request->conjuncts[c], c + 1, err);
	if (status == RQL_OK && !p->sorted)
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
	if (p->sorted) { /* who takes it pays for what is found */
		*out = (struct rql_cost){.rows_out = (double)snapshot->rows};
		return;
	}
	const double each = rql_index_look_ups(p->tests, NULL, p->covered, p->pair);
	double left = p->found, blocks = p->found + (room ? 0 : p->missing_rows / RQL_STORE_BLOCK);
	blocks = blocks < (double)snapshot->blocks ? blocks : (double)snapshot->blocks;
	(void)device;
	for (uint32_t t = p->covered; t < p->test_count; t++)
		left *= guess(&snapshot->columns[p->tests[t].column], &p->tests[t], 1);
	*out = (struct rql_cost){
		.setup_ns = room ? p->missing_rows * MAKE_ROW_NS : 0,
		.run_ns = (p->look_ups + p->missing * each) * LOOK_UP_NS + p->found * ROW_NS +
		          (p->test_count - (p->prefix ? 0 : p->covered)) * blocks * 64 * TEST_ROW_NS + blocks * BLOCK_NS +
		          (room ? 0 : p->missing_rows * TEST_ROW_NS),
		.rows_out = left,
		.counted = p->test_count == p->covered && !p->missing && !p->prefix,
		.runs = blocks,
		.bytes = blocks * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t) + p->found * sizeof(uint32_t),
	};
}

static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	return (p->sorted ? rql_index_order : rql_index_look)(p, device, how, out, err);
}

static uint64_t bytes(const struct rql_prepared *p)
{
	uint64_t sum = sizeof(*p) + p->test_count * sizeof(*p->tests);
	for (uint32_t t = 0; t < p->test_count; t++)
		sum += p->tests[t].count * sizeof(struct rql_index_range) + p->tests[t].paired_count * sizeof(rql_int128);
	return sum;
}

static uint32_t index_of(const struct rql_prepared *p)
{
	return p->of.number;
}

const struct rql_method rql_method_index_cpu = {
	.name = "index",
	.description = "rows by their keys: sorted, hashed or direct, as CREATE INDEX says",
	.paper = "none: the rivals of RTIndeX (PVLDB 2023) and cgRX",
	.unit = RQL_UNIT_CPU,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS | 1u << RQL_PORT_SORTED,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.run = run,
	.points = rql_index_points,
	.index = index_of,
	.free = free_prepared,
	.bytes = bytes,
};
