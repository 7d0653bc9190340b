/* Runs that start together (method/stage.h): random scans on a Vulkan device as one submission, against the same scans on
 * the CPU; runs that nobody goes on with; tables of groups that are too small; faults at every step. */
#include "scan_aggregates.h"

#include "scan_answers.h"
#include "scan_device.h"

#define TOGETHER 4u
#define LAST 3u /* round */
#define CASES (SLOW ? 3u : 6u)

static unsigned empty, grouped;

struct one {
	struct query query;
	struct rql_prepared *prepared;
	struct rql_arena *arena;
	struct rql_port want, have;
};

/* The CPU's answer, and the request bound to the device. False: it is refused on one of the units. */
static bool bind(struct one *one)
{
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_scan *scan = NULL;
	struct rql_error err = {0};
	const struct rql_request *request = &one->query.request;
	ok(rql_scan_prepare(request, &host, &scan, &err), &err);
	bool good = rql_scan_run(scan, &host, NULL, one->arena, NULL, &one->want, NULL, &err) == RQL_OK &&
	            rql_method_scan_compute.offer(request, gpu, NULL) != RQL_OFFER_NO &&
	            rql_method_scan_compute.prepare(request, gpu, &one->prepared, &err) == RQL_OK;
	rql_scan_free(scan);
	rql_error_clear(&err);
	return good;
}

static bool make(struct one *one, struct table *t)
{
	*one = (struct one){.arena = need(rql_arena_new())};
	query_make(&one->query, t);
	return bind(one);
}

static void drop(struct one *one)
{
	rql_method_scan_compute.free(one->prepared);
	query_free(&one->query);
	rql_arena_free(one->arena);
}

static void fill_in(struct rql_stage_ahead *ahead, const struct one *all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ahead[i] = (struct rql_stage_ahead){.stage = rql_method_scan_compute.stage(all[i].prepared)};
}

static rql_status run_all(struct one *all, uint32_t count, unsigned flags, struct rql_stage_ahead *ahead,
                          struct rql_error *err)
{
	rql_status status = rql_stage_start(ahead, count, (flags & RQL_RUN_TIMED) != 0, NULL, err);
	for (uint32_t i = 0; i < count && status == RQL_OK; i++)
		status = rql_method_scan_compute.run(
			all[i].prepared, gpu, &(struct rql_run){.flags = flags, .arena = all[i].arena, .ahead = &ahead[i]},
			&all[i].have, err);
	for (uint32_t i = 0; i < count; i++)
		rql_stage_abandon(&ahead[i]);
	return status;
}

static void check(struct one *all, uint32_t count, unsigned round)
{
	struct rql_stage_ahead ahead[TOGETHER];
	struct rql_error err = {0};
	bool runs = false;
	fill_in(ahead, all, count);
	ok(rql_fault_set(gpu, RQL_FAULT_SUBMISSION, 0, &err), &err);
	ok(run_all(all, count, round == 1 ? RQL_RUN_TIMED : 0, ahead, &err), &err);
	uint64_t submissions = rql_fault_count(gpu, RQL_FAULT_SUBMISSION);
	rql_fault_remove(gpu);
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_request *request = &all[i].query.request;
		same_answer(&all[i].want, &all[i].have, request->group_count, request->agg_count);
		runs |= all[i].have.runs != 0;
		empty += all[i].have.runs == 0;
		grouped += request->group_count > 0;
		assert_true((round == 1 && all[i].have.runs) == (all[i].have.device_ns > 0));
	}
	/* The first round puts columns there; the last finds contexts in use. */
	if (round && round != LAST)
		assert_int_equal(submissions, runs);
}

/* Nobody goes on with these; the next ones are right. */
static void leave(struct one *all, uint32_t count)
{
	struct rql_stage_ahead ahead[TOGETHER];
	struct rql_error err = {0};
	fill_in(ahead, all, count);
	ok(rql_stage_start(ahead, count, false, NULL, &err), &err);
	for (uint32_t i = 0; i < count; i++) {
		rql_stage_abandon(&ahead[i]);
		rql_stage_abandon(&ahead[i]); /* which is nothing */
	}
}

static void strike(struct one *all, uint32_t count, enum rql_fault_kind kind)
{
	bool struck = true;
	for (uint64_t nth = 1; struck; nth++) {
		struct rql_stage_ahead ahead[TOGETHER];
		struct rql_error err = {0};
		fill_in(ahead, all, count);
		ok(rql_fault_set(gpu, kind, nth, &err), &err);
		rql_status status = run_all(all, count, 0, ahead, &err);
		struck = rql_fault_struck(gpu);
		rql_fault_remove(gpu);
		assert_int_equal(status != RQL_OK, struck);
		rql_error_clear(&err);
	}
	check(all, count, LAST);
}

static void test_together(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {20000, 0, 4097, 9000};
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct one all[TOGETHER];
		struct table t;
		uint32_t count = 0;
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 11;
		table_make(&t, sizes[seed % 4]);
		for (unsigned tries = 0; count < TOGETHER && tries < 12; tries++) {
			if (make(&all[count], &t))
				count++;
			else
				drop(&all[count]);
		}
		assert_true(count > 1);
		for (unsigned round = 0; round < LAST; round++)
			check(all, count, round);
		leave(all, count);
		check(all, count, LAST);
		if (seed == 1) {
			strike(all, count, RQL_FAULT_SUBMISSION);
			strike(all, count, RQL_FAULT_WAIT);
		}
		for (uint32_t i = 0; i < count; i++)
			drop(&all[i]);
		table_free(&t);
	}
	print_message("%u were empty, %u had groups\n", empty, grouped);
	assert_true(empty && grouped);
}

/* Tables of groups that are too small for the started runs: each grows, and runs again by itself. */
static void test_growth(void **state)
{
	(void)state;
	enum { ROWS = 9000, STEP = 10001, ROOM = 1024 };
	int64_t *values = need(malloc(ROWS * sizeof(*values)));
	for (uint32_t r = 0; r < ROWS; r++)
		values[(uint64_t)r * 7919 % ROWS] = (int64_t)r * STEP;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	const struct rql_group_key key = {.key_count = ROWS * STEP, .null_key = RQL_NONE};
	const struct rql_agg aggs[] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}};
	struct one all[2];
	for (uint32_t i = 0; i < 2; i++) {
		all[i] = (struct one){.arena = need(rql_arena_new()), .query = {.arena = need(rql_arena_new())}};
		all[i].query.request = (struct rql_request){
			.snapshot = c.snapshot, .group_count = 1, .groups = &key, .agg_count = 1 + i, .aggs = aggs};
		assert_true(bind(&all[i]));
		assert_true(all[i].prepared->plan.hashed);
		all[i].prepared->capacity = ROOM;
	}
	for (unsigned round = 0; round < LAST; round++)
		check(all, 2, round);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(all[i].prepared->capacity > ROWS);
		drop(&all[i]);
	}
	column_free(&c);
	free(values);
}

static void test_misuse(void **state)
{
	(void)state;
	struct rql_commands *c = NULL, *open = NULL;
	struct rql_error err = {0};
	uint64_t ticket;
	ok(rql_commands_new(gpu, 0, &c, &err), &err);
	ok(rql_commands_new(gpu, 0, &open, &err), &err);
	ok(rql_commands_end(c, &err), &err);
	struct rql_commands *twice[] = {c, c}, *half[] = {c, open}, *many[RQL_SUBMIT_MOST + 1] = {c};
	assert_int_equal(rql_submit_all(twice, 2, &ticket, NULL), RQL_ERROR_INTERNAL);
	assert_int_equal(rql_submit_all(half, 2, &ticket, NULL), RQL_ERROR_INTERNAL);
	assert_int_equal(rql_submit_all(many, RQL_SUBMIT_MOST + 1, &ticket, NULL), RQL_ERROR_INTERNAL);
	assert_int_equal(rql_submit_all(&c, 0, &ticket, NULL), RQL_ERROR_INTERNAL);
	ok(rql_submit_all(&c, 1, &ticket, &err), &err);
	ok(rql_wait(gpu, ticket, NULL, &err), &err);
	rql_commands_free(c);
	rql_commands_free(open);
}

/* ---- an input of several stages ---- */

struct toy {
	struct rql_stage stage; /* first */
	unsigned opened, closed, recorded, checked, told;
	bool grows, fails; /* the next run's, once; to open */
	bool small;        /* what its contexts have is too little */
	const struct toy *after; /* recorded before it */
};

static rql_status open_toy(struct rql_stage *stage, struct rql_stage_context *const *inputs, struct rql_stage_context **out,
                           struct rql_error *err)
{
	struct toy *toy = (struct toy *)stage;
	(void)inputs;
	if (toy->fails)
		return rql_error_set(err, RQL_ERROR_LIMIT, "no room");
	toy->opened++;
	toy->small = false;
	*out = need(calloc(1, sizeof **out));
	return RQL_OK;
}

static void close_toy(struct rql_stage *stage, struct rql_stage_context *context)
{
	((struct toy *)stage)->closed++;
	free(context);
}

static rql_status record_toy(struct rql_stage *stage, struct rql_stage_context *context, struct rql_commands *commands,
                             struct rql_error *err)
{
	struct toy *toy = (struct toy *)stage;
	(void)context, (void)commands, (void)err;
	toy->recorded++;
	assert_true(!toy->after || toy->after->recorded == toy->recorded);
	return RQL_OK;
}

static rql_status check_toy(struct rql_stage *stage, struct rql_stage_context *context, bool *again, struct rql_error *err)
{
	struct toy *toy = (struct toy *)stage;
	(void)context, (void)err;
	toy->checked++;
	*again = toy->small = toy->grows;
	toy->grows = false;
	return RQL_OK;
}

static bool fits_toy(const struct rql_stage *stage, const struct rql_stage_context *context)
{
	(void)context;
	return !((const struct toy *)stage)->small;
}

static rql_status take_toy(struct rql_stage *stage, struct rql_stage_context *context, const struct rql_stage_run *run,
                           struct rql_error *err)
{
	(void)stage, (void)context, (void)run, (void)err;
	return RQL_OK;
}

static void tell_toy(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_drawn *drawn)
{
	(void)context, (void)drawn;
	((struct toy *)(uintptr_t)stage)->told++;
}

static uint64_t bytes_of_toy(const struct rql_stage *stage)
{
	(void)stage;
	return 0;
}

static const struct rql_stage_ops toy_ops = {.open = open_toy, .close = close_toy, .fits = fits_toy, .record = record_toy,
                                             .check = check_toy, .take = take_toy, .tell = tell_toy,
                                             .bytes = bytes_of_toy};

/* Two stages of a tree read a third one: it is opened, recorded and looked at once, before both, and closed once; also
 * where it was too small, or where one of them cannot be opened. */
static void test_shared(void **state)
{
	enum { SHARED, LEFT, RIGHT, TOP, TOYS };
	(void)state;
	struct toy toys[TOYS] = {{.grows = true}, {.after = &toys[SHARED]}, {.after = &toys[SHARED]}, {.after = &toys[RIGHT]}};
	struct rql_error err = {0};
	struct rql_port port = {0};
	struct rql_arena *arena = need(rql_arena_new());
	const struct rql_run how = {.arena = arena};
	for (unsigned i = 0; i < TOYS; i++)
		ok(rql_stage_init(&toys[i].stage, &toy_ops, gpu, &err), &err);
	for (unsigned i = LEFT; i < TOP; i++) {
		rql_stage_read(&toys[i].stage, &toys[SHARED].stage);
		rql_stage_read(&toys[TOP].stage, &toys[i].stage);
	}
	toys[RIGHT].fails = true;
	assert_int_equal(rql_stage_run(&toys[TOP].stage, &how, NULL, &port, &err), RQL_ERROR_LIMIT);
	rql_error_clear(&err);
	for (unsigned i = 0; i < TOYS; i++)
		assert_int_equal(toys[i].opened, i < RIGHT);
	toys[RIGHT].fails = false;
	for (unsigned run = 0; run < 2; run++)
		ok(rql_stage_run(&toys[TOP].stage, &how, NULL, &port, &err), &err);
	for (unsigned i = 0; i < TOYS; i++) {
		assert_int_equal(toys[i].opened, i < RIGHT ? 3 : 2);
		assert_int_equal(toys[i].recorded, 2);
		assert_int_equal(toys[i].checked, i == SHARED ? 3 : 2); /* what has read too little is not looked at */
		assert_int_equal(toys[i].told, 2);
	}
	for (unsigned i = TOYS; i-- > 0;)
		rql_stage_clear(&toys[i].stage);
	for (unsigned i = 0; i < TOYS; i++)
		assert_int_equal(toys[i].closed, toys[i].opened);
	rql_arena_free(arena);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_together), cmocka_unit_test(test_growth),
	                                   cmocka_unit_test(test_misuse), cmocka_unit_test(test_shared)};
	return cmocka_run_group_tests(tests, open_device, close_device);
}
