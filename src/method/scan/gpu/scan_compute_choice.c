/* What is tested when on a GPU: of the steps that can test 32 rows at once, those that do, and how many rows a lane tests;
 * the order of those that are left to single rows. */
#include "method/scan/gpu/scan_compute.h"

#include <math.h>
#include <stdlib.h>

/* A column of fields is read for all lanes, without waiting for earlier tests, when at least this share of them has
 * rows left. */
#define EAGER_LANES 0.6
/* What a row costs, in bytes at the memory's speed: looked up in a set 32 rows at once, beside its bytes; its share of a
 * tile, however little is read; put into a list because something is left to be tested, and for each of that. A subgroup
 * does these one after the other, while others' reading goes on, until they take longer.
 * H200, SSB: q2.1 of the five tables, a fifth of 120 M rows in lists, 317 us; q4.1 411. A flat row of q3.4 takes 1.6 bytes'
 * time when an 80th is listed after seven planes, 1.2 when a 125th is after eight (600 M rows: 228 and 180 us); one of q1.2
 * 1.7 when an 80th is listed, 1.5 when half a byte more is read and fewer are (120 M rows: 61 and 54 us). */
#define SET_ROW_BYTES 1.4
#define TILED_ROW_BYTES 0.5
#define LISTED_ROW_BYTES 45.0
#define LATE_ROW_BYTES 15.0
#define HIDDEN 0.2 /* of the shorter of the two remains */
/* Sets of more words are for device memory. */
#define SHARED_SET_WORDS 2048u
#define GLOBAL_ROW_BYTES 7.0
/* Tests for which all ways are tried, and choices at most. */
#define CHOICES 10u
#define CHOICES_MOST 4096u
/* Tiles are small when more rows than this pass the first stage. */
#define FEW_PASS 0.01
/* Rows that passed the first stage are tested in a stage of their own when no more of them than this remain. */
#define STAGED_PASS 0.5

/* ---- costs ---- */

/* Of a column of `bits` wide fields, when `pass` of the rows are wanted, anywhere: GPUs' caches take 64 bytes from
 * memory at once. */
double rql_scan_sector_share(double bits, double pass)
{
	return bits > 0 ? 1 - pow(1 - pass, bits < 512 ? 512 / bits : 1) : 0;
}

void rql_scan_drop(struct rql_scan_left *left, double pass, double run)
{
	left->pass *= pass;
	if (run > left->run) {
		left->run = run;
		left->run_pass = pass;
	}
}

double rql_scan_left_spots(const struct rql_scan_left *left)
{
	double others = left->run_pass > 0 ? fmin(1, left->pass / left->run_pass) : 0;
	return left->run_pass / left->run * (1 - pow(1 - others, left->run));
}

static double field_bytes(const struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t)
{
	const struct rql_store_snapshot *snapshot = plan->scan->snapshot;
	return (double)snapshot->columns[t->column].bytes / (double)(snapshot->rows + 1);
}

static bool is_large(const struct rql_scan_chunk_test *t)
{
	return t->kind == RQL_SCAN_TEST_SET && t->span / 32 >= SHARED_SET_WORDS;
}

/* What a test costs in every row, 32 at once. */
static double early_cost(const struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t)
{
	if (t->kind == RQL_SCAN_TEST_NULL)
		return 1.0 / 8;
	if (t->kind == RQL_SCAN_TEST_PLANES)
		return (t->bits - t->skip) / 8.0;
	return field_bytes(plan, t) + (is_large(t) ? GLOBAL_ROW_BYTES : SET_ROW_BYTES);
}

/* What is read for it alone, of the rows that are left. */
static double late_bytes(const struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t,
                         const struct rql_scan_left *left)
{
	double bytes = field_bytes(plan, t);
	return bytes * rql_scan_sector_share(8 * bytes, rql_scan_left_spots(left));
}

void rql_scan_leave_step(struct rql_scan_plan *plan, uint32_t s, double pass)
{
	const struct rql_scan_step *step = &plan->scan->steps[s];
	bool found = step->kind == RQL_SCAN_BY_JOIN && rql_scan_payload_used(plan->scan, step->index);
	plan->lates[plan->late_count++] = (struct rql_scan_late){s, pass, found};
}

static int compare_tests(const void *a, const void *b)
{
	const struct rql_scan_chunk_test *x = a, *y = b;
	if (is_large(x) != is_large(y))
		return is_large(x) - is_large(y);
	return x->pass != y->pass ? (x->pass > y->pass) - (x->pass < y->pass) : (x->step > y->step) - (x->step < y->step);
}

/* ---- ways ---- */
/* A test is left to single rows, or tests 32, or does so ROUGHLY: without some more of its low planes, so that a few rows
 * too many pass, which are tested again when all other tests have dropped what they drop. A week of a calendar has 12
 * planes; without three of them it is half a month. */
#define LEFT 0u
#define WHOLE 1u
#define ROUGH_PLANES 3u /* left out at most */
#define WAYS (WHOLE + ROUGH_PLANES + 1u)

struct choice {
	uint32_t count;             /* of tests that may be chosen */
	uint32_t ways[CHOICES];     /* how many each has */
	double pass[CHOICES][WAYS]; /* share of rows that pass 32 at once */
	uint32_t how[CHOICES];      /* the present choice; beyond: LEFT */
	const struct rql_scan_chunk_test *tests;
	uint32_t test_count, *order; /* [test_count]: single rows' tests, few pass first */
};

static uint32_t how_of(const struct choice *c, uint32_t i)
{
	return i < c->count ? c->how[i] : LEFT;
}

/* The share of rows that pass without `more` planes: values between the ends and the rounded ones are as frequent as
 * those inside. */
static double rough_pass(const struct rql_store_snapshot *snapshot, const struct rql_scan_chunk_test *t, uint32_t more)
{
	double exact = 0, rounded = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		struct rql_scan_numbers numbers;
		if (!rql_scan_numbers_of_segment(snapshot, &snapshot->segments[s], t->column, &numbers))
			return 1;
		for (uint32_t r = 0; r < t->range_count; r++) {
			struct rql_scan_range range = rql_scan_numbers_range(&numbers, t->low[r], t->high[r]);
			exact += (double)rql_scan_numbers_within(&numbers, range);
			rounded += (double)rql_scan_numbers_within(&numbers, rql_scan_range_rounded(range, t->skip + more));
		}
	}
	return exact > 0 ? fmin(1, t->pass * rounded / exact) : t->pass;
}

/* Of the rows that pass a rough test, those that pass. */
static double exact_share(const struct choice *c, uint32_t i)
{
	double rough = c->pass[i][c->how[i]];
	return rough > 0 ? c->tests[i].pass / rough : 1;
}

/* A step of the request's columns, whose blocks agree on what a plane is. */
static uint32_t ways_of(const struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t)
{
	bool may = t->kind == RQL_SCAN_TEST_PLANES && t->shared && !t->negate &&
	           plan->scan->steps[t->step].kind == RQL_SCAN_BY_TEST;
	uint32_t planes = t->bits - t->skip;
	return WHOLE + 1 + (!may ? 0 : planes <= ROUGH_PLANES ? planes - 1 : ROUGH_PLANES);
}

static bool list_ways(const struct rql_scan_plan *plan, struct choice *c)
{
	const struct rql_scan_chunk_test *tests = plan->tests;
	uint32_t all = 1;
	*c = (struct choice){.tests = tests, .test_count = plan->test_count};
	c->order = RQL_NEW_ARRAY(plan->arena, uint32_t, plan->test_count);
	for (uint32_t i = 0; c->order && i < plan->test_count; i++) { /* as order_lates has them */
		uint32_t at = i;
		for (; at > 0 && tests[c->order[at - 1]].pass > tests[i].pass; at--)
			c->order[at] = c->order[at - 1];
		c->order[at] = i;
	}
	c->count = plan->test_count < CHOICES ? plan->test_count : CHOICES;
	for (uint32_t i = 0; i < c->count; i++) {
		c->ways[i] = ways_of(plan, &tests[i]);
		if (all * c->ways[i] << (c->count - i - 1) > CHOICES_MOST)
			c->ways[i] = WHOLE + 1;
		all *= c->ways[i];
		c->pass[i][WHOLE] = tests[i].pass;
		for (uint32_t way = WHOLE + 1; way < c->ways[i]; way++)
			c->pass[i][way] = rough_pass(plan->scan->snapshot, &tests[i], way - WHOLE);
	}
	return c->order != NULL;
}

/* The next choice; false: that was the last. */
static bool next_choice(struct choice *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (++c->how[i] < c->ways[i])
			return true;
		c->how[i] = LEFT;
	}
	return false;
}

/* What a row costs. */
static double cost_of(const struct rql_scan_plan *plan, const struct choice *c)
{
	struct rql_scan_left left = {plan->scan->under_share, 1, plan->scan->under_share};
	double cost = 0, worked = TILED_ROW_BYTES;
	uint32_t late = plan->late_count;
	for (uint32_t i = 0; i < c->test_count; i++) {
		uint32_t how = how_of(c, i);
		late += how != WHOLE;
		if (how == LEFT)
			continue;
		cost += early_cost(plan, &c->tests[i]) - (how - WHOLE) / 8.0;
		rql_scan_drop(&left, c->pass[i][how], c->tests[i].run);
	}
	if (late)
		worked += left.pass * (LISTED_ROW_BYTES + late * LATE_ROW_BYTES);
	for (uint32_t i = 0; i < c->test_count; i++) {
		const struct rql_scan_chunk_test *t = &c->tests[c->order[i]];
		if (how_of(c, c->order[i]) != LEFT)
			continue;
		cost += late_bytes(plan, t, &left);
		rql_scan_drop(&left, t->pass, t->run);
	}
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->how[i] <= WHOLE)
			continue;
		cost += late_bytes(plan, &c->tests[i], &left);
		rql_scan_drop(&left, exact_share(c, i), 1);
	}
	return fmax(cost, worked) + HIDDEN * fmin(cost, worked);
}

/* The cheapest of all choices; tests beyond the first CHOICES are left to single rows. */
static bool choose_early(const struct rql_scan_plan *plan, struct choice *c)
{
	uint32_t best[CHOICES] = {0};
	if (!list_ways(plan, c))
		return false;
	double least = cost_of(plan, c);
	while (next_choice(c)) {
		double cost = cost_of(plan, c);
		if (cost < least) {
			least = cost;
			memcpy(best, c->how, sizeof(best));
		}
	}
	memcpy(c->how, best, sizeof(best));
	return true;
}

/* A test's steps for single rows, of which `pass` are left then. */
static void leave(struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t, double pass)
{
	rql_scan_leave_step(plan, t->step, pass);
	if (t->also != RQL_NONE)
		rql_scan_leave_step(plan, t->also, 1);
}

/* How many words of 32 rows a lane tests at once. Small tiles end together, so that no subgroup works on when the others
 * are done; where few rows pass, a tile is hardly more than its loads, and large ones have fewer (H200, SSB: 2 words
 * instead of 4 take q1.1, q3.1 and q4.1 3 % less, q2.3 and q3.4 3 % more). */
static uint32_t words_of(const struct rql_scan_plan *plan, uint32_t subgroup)
{
	for (uint32_t i = 0; i < plan->test_count; i++)
		if (plan->tests[i].kind == RQL_SCAN_TEST_SET)
			return 1;
	if (subgroup > 64) /* a tile does not leave its block */
		return 1;
	return subgroup > 32 || plan->tested_pass > FEW_PASS ? 2 : RQL_SCAN_WORDS_MAX;
}

/* Rows that come in as lists are few, of any blocks: each is tested by itself. */
static void leave_all(struct rql_scan_plan *plan, uint32_t subgroup)
{
	for (uint32_t i = 0; i < plan->test_count; i++)
		leave(plan, &plan->tests[i], plan->tests[i].pass);
	plan->test_count = 0;
	plan->tested_pass = plan->scan->under_share;
	plan->words = words_of(plan, subgroup);
}

/* Few pass first, large sets last. Planes come before sets, which then read what is left. */
static bool choose_tests(struct rql_scan_plan *plan, uint32_t subgroup)
{
	struct rql_scan_chunk_test *tests = plan->tests;
	struct choice choice;
	uint32_t count = plan->test_count;
	double pass = plan->scan->under_share;
	qsort(tests, count, sizeof(*tests), compare_tests);
	if (!choose_early(plan, &choice))
		return false;
	plan->test_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct rql_scan_chunk_test t = tests[i];
		uint32_t how = how_of(&choice, i);
		if (how == LEFT) {
			leave(plan, &t, t.pass);
			continue;
		}
		t.rough = how > WHOLE;
		if (t.rough) {
			leave(plan, &t, exact_share(&choice, i));
			t.pass = choice.pass[i][how];
			t.skip += how - WHOLE;
		}
		uint32_t at = plan->test_count++;
		t.eager = 1 - pow(1 - pass, RQL_SCAN_TEST_ROWS) >= EAGER_LANES;
		pass *= t.pass;
		for (; t.kind != RQL_SCAN_TEST_SET && at > 0 && tests[at - 1].kind == RQL_SCAN_TEST_SET; at--)
			tests[at] = tests[at - 1];
		tests[at] = t;
	}
	plan->tested_pass = pass;
	plan->words = words_of(plan, subgroup);
	return true;
}

/* Joins and tests of columns before programs, which may fail in rows that those drop. */
static void order_lates(struct rql_scan_plan *plan)
{
	const struct rql_scan_step *steps = plan->scan->steps;
	for (uint32_t i = 1; i < plan->late_count; i++) {
		struct rql_scan_late l = plan->lates[i];
		uint32_t at = i;
		for (; at > 0; at--) {
			uint32_t before = plan->lates[at - 1].step;
			bool program = steps[before].kind == RQL_SCAN_BY_PROGRAM, mine = steps[l.step].kind == RQL_SCAN_BY_PROGRAM;
			if (program < mine || (program == mine && (program || plan->lates[at - 1].pass <= l.pass)))
				break;
			plan->lates[at] = plan->lates[at - 1];
		}
		plan->lates[at] = l;
	}
}

/* ---- the whole ---- */

bool rql_scan_choose_tests(struct rql_scan_plan *plan, uint32_t subgroup)
{
	double pass = 1;
	if (plan->scan->under_lists)
		leave_all(plan, subgroup);
	else if (!choose_tests(plan, subgroup))
		return false;
	order_lates(plan);
	for (uint32_t i = 0; i < plan->late_count; i++)
		pass *= plan->lates[i].pass;
	plan->staged = pass < STAGED_PASS;
	return true;
}
