/* The fused scan on a Vulkan device against the CPU's (which test_scan.c holds against a naive oracle): random stores and
 * requests, and what random ones rarely are: many groups, hashed and in arrays, failing expressions, blocks of all
 * encodings, several threads on one prepared request, more shapes than pipelines are kept, a device of small workgroups.
 * The device is the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. */
#include "scan_narrow.h"

#include <pthread.h>

#include "scan_answers.h"
#include "scan_device.h"

#define CASES (SLOW ? 5u : is_long() ? 20u : 4u)
#define ROUGH_CASES (is_long() ? 10u : 2u) /* of each kind of column, and most are kernels of their own */

static uint64_t passed; /* rows, of the last request that ran */
static uint32_t spread; /* of the last plan */
static unsigned rough, reused, ran, refused, narrowed, modes[3], hashed, tests_seen[3], lates, failed, copied;
static unsigned limbs_seen[16];
/* Answers where more than twice as many groups were possible as the result has room for: [hashed][found more than that] */
static unsigned listed[2][2];

static void note_plan(const struct rql_request *request, const struct rql_scan *scan)
{
	struct rql_scan_plan plan;
	struct rql_error err = {0};
	struct rql_arena *arena = need(rql_arena_new());
	ok(rql_scan_compute_plan(scan, false, gpu, arena, &plan, &err), &err);
	modes[plan.mode]++;
	narrowed += is_narrowed(request, scan);
	hashed += plan.hashed;
	spread = plan.spread;
	assert_true(plan.spread == 1 || (plan.mode == RQL_SCAN_MODE_GLOBAL && !plan.hashed && !plan.whole));
	assert_true(plan.mode == RQL_SCAN_MODE_SHARED || (!plan.row_sums && !plan.row_extremes));
	copied += plan.mode == RQL_SCAN_MODE_SHARED && plan.copies > 1;
	for (uint32_t w = 0; plan.mode == RQL_SCAN_MODE_SHARED && w < scan->layout.row_words; w++)
		limbs_seen[plan.kinds[w] >> RQL_SCAN_WORD_LIMBS & 15]++;
	lates += plan.late_count;
	for (uint32_t t = 0; t < plan.test_count; t++)
		tests_seen[plan.tests[t].kind]++, rough += plan.tests[t].rough;
	rql_scan_compute_plan_free(&plan);
	rql_arena_free(arena);
}

/* What a request that has run holds is what its price says: of columns and maps no more than foreseen, all of it there.
 * kept: bytes that requests before it had left there. */
static void check_bytes(const struct rql_request *request, uint64_t kept, const struct rql_cost *before,
                        const struct rql_cost *after)
{
	const struct placed_columns placed = placed_columns(request->snapshot);
	const uint64_t bytes = placed.bytes + placed_maps(request);
	assert_int_equal(bytes, rql_placements_bytes(gpu, false));
	assert_true(placed.columns <= request->snapshot->column_count && placed.ms >= 0 && (placed.columns || !placed.bytes));
	assert_true(bytes - kept <= before->device_bytes - before->placed_bytes);
	reused += kept > 0 && before->placed_bytes > 0;
	if (kept)
		return;
	assert_int_equal(before->placed_bytes, 0);
	assert_true(bytes <= after->placed_bytes);
	assert_true(bytes + gpu->request_bytes <= after->device_bytes);
}

/* A run with the buffers of one before: one submission, however many groups are possible; two more bring numbers and rows
 * of those that the result had no room for. */
static void check_warm(const struct rql_prepared *p, const struct rql_port *answer, uint64_t submissions)
{
	uint64_t room = rql_scan_direct_groups(p), found = answer->group_count;
	if (p->capacity > 2 * room)
		listed[p->plan.hashed][found > room]++;
	assert_int_equal(submissions, !answer->runs ? 0 : found > room ? 3 : 1);
}

static rql_status run_counted(const struct rql_prepared *p, unsigned flags, struct rql_arena *arena,
                              struct rql_port *out, uint64_t *submissions, struct rql_error *err)
{
	ok(rql_fault_set(gpu, RQL_FAULT_SUBMISSION, 0, err), err);
	rql_status status = rql_method_scan_compute.run(p, gpu, &(struct rql_run){.flags = flags, .arena = arena}, out, err);
	*submissions = rql_fault_count(gpu, RQL_FAULT_SUBMISSION);
	rql_fault_remove(gpu);
	return status;
}

/* Runs a request on both and compares; false: the device does not take it. */
static bool compare_request(const struct rql_request *request)
{
	const struct rql_method *method = &rql_method_scan_compute;
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_prepared *prepared = NULL;
	struct rql_scan_counts counts;
	struct rql_port want = {0}, have = {0};
	struct rql_cost cost, first;
	uint64_t submissions;
	const char *why = NULL;
	if (method->offer(request, gpu, &why) == RQL_OFFER_NO) {
		assert_non_null(why);
		refused++;
		return false;
	}
	/* Half of them find what the ones before have left on the device. */
	if (roll(2))
		rql_placements_evict(gpu, UINT64_MAX, UINT64_MAX);
	uint64_t kept = rql_placements_bytes(gpu, false), uploaded = 0;
	struct rql_arena *arena = need(rql_arena_new());
	ok(rql_scan_prepare(request, &host, &scan, &err), &err);
	rql_status status = rql_scan_run(scan, &host, NULL, arena, NULL, &want, &counts, &err);
	rql_error_clear(&err);
	note_plan(request, scan);
	ok(method->prepare(request, gpu, &prepared, &err), &err);
	for (unsigned again = 0; again < 3; again++) {
		method->price(prepared, gpu, &cost);
		first = again ? first : cost;
		assert_true(cost.run_ns >= 0 && isfinite(cost.run_ns) && isfinite(cost.setup_ns) && isfinite(cost.transfer_ns));
		rql_status now = run_counted(prepared, again == 1 ? RQL_RUN_TIMED : 0, arena, &have, &submissions, &err);
		if (now != status)
			fail_msg("%s, not %s: %s", rql_status_name(now), rql_status_name(status), rql_error_message(&err));
		rql_error_clear(&err);
		failed += status != RQL_OK;
		if (status != RQL_OK)
			continue;
		same_answer(&want, &have, request->group_count, request->agg_count);
		uploaded += have.bytes_uploaded;
		assert_true(again == 0 || have.bytes_uploaded == 0);
		assert_int_equal(have.cells_covered, counts.rows_passed);
		passed = have.cells_covered;
		if (again > 0)
			check_warm(prepared, &have, submissions);
		if (again == 1 && have.runs)
			assert_true(have.pass_count > 0);
	}
	method->price(prepared, gpu, &cost);
	check_bytes(request, kept, &first, &cost);
	if (status == RQL_OK) /* maps may come as their entries, and be more there */
		assert_true(rql_placements_bytes(gpu, false) - placed_maps(request) - kept <= uploaded);
	assert_true(method->bytes(prepared) > 0);
	method->free(prepared);
	rql_scan_free(scan);
	rql_arena_free(arena);
	ran++;
	return true;
}

static void test_random(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 2, 31, 32, 65, 1000, 4095, 4096, 4097, 9000, 20000};
	const char *from = getenv("RAYQL_TEST_SEED");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1;
	for (uint64_t seed = first; seed < first + CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		table_make(&t, sizes[roll(12)]);
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			query_make(&q, &t);
			uint64_t expected = 0;
			for (uint32_t r = 0; r < t.rows; r++)
				expected += passes(&q, &t, r);
			if (compare_request(&q.request))
				assert_int_equal(passed, expected);
			query_free(&q);
		}
		table_free(&t);
	}
	print_message("%u ran, %u refused; scalar %u shared %u global %u hashed %u; ranges %u sets %u nulls %u late %u\n",
	              ran, refused, modes[0], modes[1], modes[2], hashed, tests_seen[0], tests_seen[1], tests_seen[2],
	              lates);
	if (from)
		return;
	assert_true(narrowed > CASES / 4 && reused > CASES / 4);
	assert_true(ran > refused && modes[0] && modes[1] && modes[2]);
	assert_true(tests_seen[0] && tests_seen[1] && tests_seen[2] && lates);
}

/* Many possible groups, in an array and hashed (keys far apart): every row a group of its own, more than the result has
 * room for, and few that there are. */
static void test_many_groups(void **state)
{
	(void)state;
	enum { ROWS = 110000, FEW = 24 };
	int64_t *values = need(malloc(ROWS * sizeof(*values)));
	memset(listed, 0, sizeof(listed));
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t step = i % 2 ? 10001 : 3, groups = i / 2 ? FEW : ROWS;
		for (uint32_t r = 0; r < ROWS; r++)
			values[(uint64_t)r * 7919 % ROWS] = (int64_t)(r % groups) * step - 1000;
		struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
		struct rql_group_key key = {.least = -1000, .key_count = ROWS * step, .null_key = RQL_NONE};
		struct rql_agg aggs[4] = {
			{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_MIN}, {.kind = RQL_AGG_MAX}};
		struct rql_request request = {
			.snapshot = c.snapshot, .group_count = 1, .groups = &key, .agg_count = 4, .aggs = aggs};
		assert_true(compare_request(&request));
		column_free(&c);
	}
	free(values);
	assert_true(listed[0][0] && listed[0][1] && listed[1][0] && listed[1][1]);
}

/* Sums beyond 64 bits, of both signs. */
static void test_wide_sums(void **state)
{
	(void)state;
	static int64_t large[10000];
	for (uint32_t i = 0; i < 10000; i++)
		large[i] = i % 3 ? INT64_MAX - i : INT64_MIN + 5 + i;
	struct column c = column_of(RQL_TYPE_BIGINT, large, 8, 10000);
	struct rql_agg aggs[3] = {{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}, {.kind = RQL_AGG_MAX}};
	struct rql_request request = {.snapshot = c.snapshot, .agg_count = 3, .aggs = aggs};
	assert_true(compare_request(&request));
	column_free(&c);
}

/* Few groups, whose rows are in shared memory: sums of one limb and of several, of both signs and beyond 64 bits, of reals,
 * and extremes. Of so many aggregates: each number is a kernel. */
static void few_groups(uint32_t filters, uint32_t least, uint32_t step)
{
	static const struct rql_conjunct range = {
		.test = RQL_TEST_IN_RANGE, .index = SMALL, .least = -5, .greatest = 30, .or_null = true};
	static const uint32_t keys[] = {FLAG, SMALL}, columns[] = {SMALL, MIDDLE, BIG, REAL, CONSTANT, SORTED};
	random_state = 13;
	struct table t;
	table_make(&t, 20000);
	struct rql_agg aggs[19] = {{.kind = RQL_AGG_COUNT_STAR}};
	for (uint32_t i = 0; i < 18; i++)
		aggs[i + 1] =
			(struct rql_agg){.kind = (const enum rql_agg_kind[]){RQL_AGG_SUM, RQL_AGG_MIN, RQL_AGG_MAX}[i / 6],
			                 .source = {.index = columns[i % 6]}};
	memset(limbs_seen, 0, sizeof(limbs_seen));
	copied = 0;
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t count = least; count <= 19; count += step) {
			struct rql_group_key key = {
				.source = {.index = keys[k]}, .least = k ? -10 : 0, .key_count = k ? 61 : 3, .null_key = k ? 60 : 2};
			struct rql_request request = {.snapshot = t.snapshot,
			                              .conjunct_count = filters,
			                              .conjuncts = &range,
			                              .group_count = 1,
			                              .groups = &key,
			                              .agg_count = count,
			                              .aggs = aggs};
			assert_true(compare_request(&request));
		}
	table_free(&t);
	unsigned many = 0;
	for (uint32_t limbs = 3; limbs < 16; limbs++)
		many += limbs_seen[limbs];
	assert_true(copied && limbs_seen[0] && limbs_seen[1] && limbs_seen[2] && many);
}

static void test_few_groups(void **state)
{
	(void)state;
	few_groups(0, 1, 6);
}

/* Rows of many possible groups in several arrays, which are folded: nearly all rows are of a few groups. */
static void test_spread(void **state)
{
	(void)state;
	enum { ROWS = 60000, KEYS = 1500 };
	static int64_t values[ROWS];
	random_state = 23;
	for (uint32_t i = 0; i < ROWS; i++)
		values[i] = (int64_t)(roll(50) ? roll(3) * 700 : roll(KEYS));
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct rql_group_key key = {.key_count = KEYS, .null_key = RQL_NONE};
	struct rql_agg aggs[4] = {
		{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}, {.kind = RQL_AGG_MAX}};
	struct rql_request request = {
		.snapshot = c.snapshot, .group_count = 1, .groups = &key, .agg_count = 4, .aggs = aggs};
	assert_true(compare_request(&request));
	assert_true(spread > 1);
	column_free(&c);
}

/* ---- devices with other limits ---- */

/* What scan_kernel.comp declares as shared: words of 32 bits. */
static uint64_t shared_words(const struct rql_scan_plan *p)
{
	uint64_t lists = p->workgroup * (RQL_SCAN_LIST_ROWS + (p->staged ? RQL_SCAN_SECOND_ROWS : 0) + p->words);
	return lists + (p->set_words ? p->set_words : 1) + (p->shared_sums ? p->shared_sums : 1) +
	       2 * (p->shared_extremes ? p->shared_extremes : 1) + 1;
}

static void check_limits(const struct rql_request *request, const struct rql_scan *scan,
                         const struct rql_gpu_limits *limits)
{
	struct rql_device device = {.units[RQL_UNIT_COMPUTE] = true, .limits = *limits};
	struct rql_error err = {0};
	struct rql_scan_plan plan;
	const char *why = rql_scan_compute_refusal(request, &device);
	uint32_t size = rql_scan_workgroup(limits);
	assert_true(size <= RQL_SCAN_WORKGROUP && size <= limits->group_size && (size & (size - 1)) == 0);
	assert_true(size % limits->subgroup_size == 0);
	assert_true(size || why);
	/* One twice as large would be too large for something. */
	assert_true(size == RQL_SCAN_WORKGROUP || 2 * size > limits->group_size || limits->shared_bytes < 49152 ||
	            2 * size < limits->subgroup_size);
	if (why)
		return;
	struct rql_arena *arena = need(rql_arena_new());
	ok(rql_scan_compute_plan(scan, false, &device, arena, &plan, &err), &err);
	assert_true(plan.workgroup == size || (plan.workgroup < size && plan.workgroup >= 256));
	assert_true(shared_words(&plan) * 4 <= limits->shared_bytes);
	assert_true(plan.words * limits->subgroup_size <= RQL_SCAN_BLOCK_WORDS);
	rql_scan_compute_plan_free(&plan);
	rql_arena_free(arena);
}

/* Of so many rows, no limb of a sum in shared memory would have bits: groups go elsewhere. */
static void check_many_rows(struct rql_scan *scan)
{
	const struct rql_store_snapshot *snapshot = scan->snapshot;
	struct rql_store_snapshot many = *snapshot;
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_scan_plan plan;
	struct rql_error err = {0};
	many.blocks = UINT64_C(1) << 33;
	scan->snapshot = &many;
	ok(rql_scan_compute_plan(scan, false, gpu, arena, &plan, &err), &err);
	assert_true(plan.mode != RQL_SCAN_MODE_SHARED && !plan.row_sums && !plan.row_extremes);
	rql_scan_compute_plan_free(&plan);
	rql_arena_free(arena);
	scan->snapshot = snapshot;
}

/* Plans of random requests on devices of all sizes fit their workgroups and shared memory. */
static void test_limits(void **state)
{
	(void)state;
	static const uint32_t groups[] = {4, 64, 128, 256, 300, 512, 1024}, shared[] = {4096, 16384, 32768, 49152, 65536},
						  subgroups[] = {4, 8, 32, 64, 128, 256};
	random_state = 17;
	for (unsigned i = 0; i < (SLOW ? 8u : 20u); i++) { /* no kernels */
		struct table t;
		struct query q;
		struct rql_scan *scan = NULL;
		struct rql_error err = {0};
		table_make(&t, 9000);
		query_make(&q, &t);
		if (rql_scan_compute_refusal(&q.request, gpu) == NULL) {
			ok(rql_scan_prepare(&q.request, gpu, &scan, &err), &err);
			for (unsigned k = 0; k < 7 * 5 * 6; k++) {
				struct rql_gpu_limits limits = gpu->limits;
				limits.group_size = groups[k % 7];
				limits.shared_bytes = shared[k / 7 % 5];
				limits.subgroup_size = subgroups[k / 35];
				check_limits(&q.request, scan, &limits);
			}
			check_many_rows(scan);
			rql_scan_free(scan);
		}
		query_free(&q);
		table_free(&t);
	}
	struct rql_gpu_limits limits = {.group_size = 1024, .shared_bytes = 49152, .subgroup_size = 32};
	assert_int_equal(rql_scan_workgroup(&limits), 1024);
	limits.shared_bytes = 32768;
	assert_int_equal(rql_scan_workgroup(&limits), 512);
	limits.shared_bytes = 16384;
	assert_int_equal(rql_scan_workgroup(&limits), 256);
	limits.group_size = 200;
	assert_int_equal(rql_scan_workgroup(&limits), 128);
	limits.subgroup_size = 256;
	assert_int_equal(rql_scan_workgroup(&limits), 0);
}

/* The same requests in workgroups of 64 with as little shared memory as Vulkan grants. */
static void test_small_workgroups(void **state)
{
	(void)state;
	const struct rql_gpu_limits limits = gpu->limits;
	unsigned before = ran;
	gpu->limits.group_size = 64;
	gpu->limits.shared_bytes = 16384;
	random_state = 19;
	for (unsigned i = 0; i < CASES / 2; i++) {
		struct table t;
		struct query q;
		table_make(&t, 9000);
		query_make(&q, &t);
		(void)compare_request(&q.request);
		query_free(&q);
		table_free(&t);
	}
	few_groups(0, 7, 12);
	gpu->limits = limits;
	assert_true(ran > before);
}

/* Lanes take fewer words where subgroups are larger. Only the plan believes that this device's are: it has more of them,
 * which does no harm to groups. */
static void test_large_subgroups(void **state)
{
	(void)state;
	const struct rql_gpu_limits limits = gpu->limits;
	for (uint32_t subgroup = SLOW ? 128 : 64; subgroup <= 128; subgroup *= 2) {
		gpu->limits.subgroup_size = subgroup;
		few_groups(1, 19, 1); /* the most limbs and extremes */
	}
	gpu->limits = limits;
}

/* Sums of columns of every width whose values are often at the ends of their bounds, filtered and not, in few groups: of
 * one limb, and of as many as there are. */
static void test_limbs(void **state)
{
	(void)state;
	memset(limbs_seen, 0, sizeof(limbs_seen));
	for (uint64_t seed = 1; seed <= (is_long() ? 12 : 8); seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		table_make(&t, 5000);
		struct query q = {.arena = need(rql_arena_new())};
		struct rql_group_key key = {.source = {.index = FLAG}, .key_count = 3, .null_key = 2};
		struct rql_agg aggs[3] = {
			{.kind = RQL_AGG_SUM, .source = {.index = LONG}},
			{.kind = RQL_AGG_SUM, .source = {.index = LONG}},
			{.kind = RQL_AGG_SUM, .source = {.index = BIG}},
		};
		q.request = (struct rql_request){.snapshot = t.snapshot,
		                                 .programs = q.programs,
		                                 .group_count = seed % 6 ? 1 : 0,
		                                 .groups = &key,
		                                 .agg_count = 3,
		                                 .aggs = aggs};
		make_program(&q, LESS);
		assert_true(compare_request(&q.request));
		query_free(&q);
		table_free(&t);
	}
	unsigned kinds_seen = 0;
	for (uint32_t limbs = 1; limbs < 16; limbs++)
		kinds_seen += limbs_seen[limbs] > 0;
	assert_true(kinds_seen >= 4);
}

static struct rql_program *sum_of_two(struct rql_arena *arena, rql_type_id type, const char *op)
{
	struct rql_builder *b = need(rql_builder_new(arena));
	struct rql_error err = {0};
	struct rql_type t = rql_type_simple(type);
	struct rql_input_spec spec = {.type = t, .kind = RQL_LANE_I64, .bounds = {INT64_MIN, INT64_MAX}};
	rql_value_number a = rql_build_input(b, &spec), result = rql_build_arithmetic(b, op, a, a, t, true);
	struct rql_program *program = NULL;
	ok(rql_builder_finish(b, &result, 1, &program, &err), &err);
	return program;
}

/* Additions and products of int64 that overflow in some row, or nearly: the CPU and the device agree on which. */
static void test_failures(void **state)
{
	(void)state;
	static const int64_t edges[] = {INT64_MAX / 2, INT64_MAX / 2 + 1, INT64_MIN / 2, INT64_MIN / 2 - 1, 3037000499,
	                                3037000500,    -3037000499,       -3037000500,   INT64_MIN,         7};
	struct rql_arena *arena = need(rql_arena_new());
	for (uint32_t e = 0; e < 10; e += SLOW || !is_long() ? 3 : 1)
		for (unsigned op = 0; op < 3; op++) {
			int64_t values[100];
			for (uint32_t i = 0; i < 100; i++)
				values[i] = i == 63 ? edges[e] : (int64_t)i;
			struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 100);
			struct rql_source input = {.index = 0};
			struct rql_row_program program = {
				.program = sum_of_two(arena, RQL_TYPE_BIGINT, (const char *const[]){"+", "*", "-"}[op]),
				.inputs = &input};
			struct rql_agg agg = {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_PROGRAM}};
			struct rql_request request = {
				.snapshot = c.snapshot, .program_count = 1, .programs = &program, .agg_count = 1, .aggs = &agg};
			(void)compare_request(&request);
			column_free(&c);
		}
	rql_arena_free(arena);
	assert_true(failed > 0);
}

/* One encoding's column, filtered and summed; a filter also from the one end of all integers to the other. */
static void check_encoding(const int64_t *values, uint32_t rows, bool filtered)
{
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, rows);
	struct rql_conjunct range = {
		.test = RQL_TEST_IN_RANGE, .least = values[1] < values[2] ? values[1] : values[2], .greatest = INT64_MAX};
	struct rql_agg aggs[2] = {{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MAX}};
	struct rql_request request = {
		.snapshot = c.snapshot, .conjunct_count = filtered, .conjuncts = &range, .agg_count = 2, .aggs = aggs};
	assert_true(compare_request(&request));
	range.greatest = range.least;
	range.least = (rql_int128)((rql_uint128)1 << 127);
	if (filtered)
		assert_true(compare_request(&request));
	column_free(&c);
}

/* Packed fields of every width, a block each: one kernel reads them all. Where a column has one width alone, the kernel is
 * made for it: the smallest, the largest, and those beside a multiple of what it loads at once. */
static void test_widths(void **state)
{
	(void)state;
	enum { BLOCK = 4096, WIDTHS = 64 };
	static const unsigned alone[] = {0, 2, 1, 4, 7, 8, 17, 12, 31, 16, 33, 32, 62, 48}; /* every other one suffices */
	int64_t *values = need(malloc((uint64_t)BLOCK * WIDTHS * sizeof(*values)));
	random_state = 3;
	for (uint32_t i = 0; i < BLOCK * WIDTHS; i++)
		values[i] = (int64_t)(i / BLOCK ? roll(UINT64_C(1) << i / BLOCK) : 0) - 1000;
	check_encoding(values, BLOCK * WIDTHS, true);
	check_encoding(values, BLOCK * WIDTHS, false);
	check_encoding(values, BLOCK * 34, true); /* whose values fit where those of wider fields do not */
	for (unsigned w = 0; w < sizeof(alone) / sizeof(*alone); w += SLOW || !is_long() ? 4 : 1) {
		for (uint32_t i = 0; i < 9000; i++)
			values[i] = (int64_t)(alone[w] ? roll(UINT64_C(1) << alone[w]) : 0) - 1000;
		check_encoding(values, 9000, w % 3 != 0);
	}
	free(values);
}

/* Runs and steps. */
static void test_encodings(void **state)
{
	(void)state;
	static int64_t values[9000];
	random_state = 3;
	for (unsigned steps = 0; steps < 2; steps++) {
		for (uint32_t i = 0; i < 9000; i++)
			values[i] = steps ? (int64_t)i * 9 + (int64_t)roll(3) : (int64_t)(i / 700) * 5000000;
		check_encoding(values, 9000, false);
		check_encoding(values, 9000, true);
	}
}

/* Parts of dates, over all of int32 and its infinities. */
static void test_dates(void **state)
{
	(void)state;
	static int32_t days[9000];
	struct rql_arena *arena = need(rql_arena_new());
	random_state = 5;
	for (uint32_t i = 0; i < 9000; i++)
		days[i] = i % 3 == 0   ? (int32_t)roll(60000) - 20000
		          : i % 3 == 1 ? (int32_t)(uint32_t)roll(UINT64_C(1) << 32)
		                       : (int32_t)(INT32_MAX - roll(3)) * (roll(2) ? 1 : -1);
	struct column c = column_of(RQL_TYPE_DATE, days, 4, 9000);
	for (uint16_t part = 0; part < RQL_PART_HOUR; part++) {
		struct rql_step step = {.op = RQL_STEP_DATE_PART,
		                        .kind = RQL_LANE_I32,
		                        .dst = 1,
		                        .b = RQL_REG_NONE,
		                        .c = RQL_REG_NONE,
		                        .mask = RQL_REG_NONE,
		                        .detail = part};
		struct rql_reg regs[2] = {{.kind = RQL_LANE_I32, .role = RQL_REG_INPUT}, {.kind = RQL_LANE_I32}};
		struct rql_program_input input = {.kind = RQL_LANE_I32, .type = rql_type_simple(RQL_TYPE_DATE)};
		struct rql_program_result result = {.reg = 1,
		                                    .kind = RQL_LANE_I32,
		                                    .type = rql_type_simple(RQL_TYPE_INTEGER),
		                                    .nullable = true,
		                                    .bounds = {INT32_MIN, INT32_MAX}};
		struct rql_program program = {.step_count = 1,
		                              .reg_count = 2,
		                              .input_count = 1,
		                              .result_count = 1,
		                              .steps = &step,
		                              .regs = regs,
		                              .inputs = &input,
		                              .results = &result};
		struct rql_source source = {.index = 0};
		struct rql_row_program programs = {.program = &program, .inputs = &source};
		struct rql_agg aggs[3] = {{.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_PROGRAM}},
		                          {.kind = RQL_AGG_COUNT, .source = {.kind = RQL_SOURCE_PROGRAM}},
		                          {.kind = RQL_AGG_MAX, .source = {.kind = RQL_SOURCE_PROGRAM}}};
		struct rql_request request = {
			.snapshot = c.snapshot, .program_count = 1, .programs = &programs, .agg_count = 3, .aggs = aggs};
		assert_true(compare_request(&request));
	}
	column_free(&c);
	rql_arena_free(arena);
}

/* A join by two columns, one of which has NULLs. */
static void test_pair_join(void **state)
{
	(void)state;
	random_state = 11;
	struct table t;
	struct rql_error err = {0};
	struct rql_map *map = NULL;
	struct rql_lookup join = {
		.column = SMALL, .second = FLAG + 1, .pair = {.least = -10, .second_least = 0, .second_span = 2}};
	int64_t keys[120];
	int32_t payloads[120];
	table_make(&t, 9000);
	for (int32_t i = 0; i < 120; i++) {
		keys[i] = rql_pair_key(&join.pair, i / 2 - 10, i % 2);
		payloads[i] = i % 3 ? i : -1;
	}
	ok(rql_map_build(keys, payloads, 120, &map, &err), &err);
	join.map = map;
	struct rql_agg aggs[2] = {{.kind = RQL_AGG_COUNT_STAR},
	                          {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_LOOKUP}}};
	struct rql_request request = {
		.snapshot = t.snapshot, .lookup_count = 1, .lookups = &join, .agg_count = 2, .aggs = aggs};
	for (unsigned kind = 0; kind < 4; kind++) {
		join.kind = (enum rql_lookup_kind)kind;
		request.agg_count = kind == RQL_LOOKUP_SEMI || kind == RQL_LOOKUP_ANTI ? 1 : 2;
		assert_true(compare_request(&request));
	}
	rql_map_free(map);
	table_free(&t);
}

/* Two lists of codes are one test of what is in both, by planes although neither list alone is: as wide as the codes are,
 * not as the fields of blocks, whose codes are near each other here. */
static void test_merged_lists(void **state)
{
	(void)state;
	static int32_t values[9000];
	for (uint32_t i = 0; i < 9000; i++)
		values[i] = (int32_t)i / 6;
	struct column c = column_coded(RQL_TYPE_INTEGER, RQL_STORE_CODES, values, 4, 9000);
	static const uint32_t codes[2][8] = {{1, 126, 251, 501, 751, 901, 1101, 1251},
	                                     {3, 128, 253, 501, 751, 903, 1103, 1251}};
	uint64_t sets[2][1500 / 64 + 1] = {{0}};
	for (uint32_t i = 0; i < 16; i++)
		sets[i / 8][codes[i / 8][i % 8] / 64] |= UINT64_C(1) << codes[i / 8][i % 8] % 64;
	struct rql_conjunct lists[2] = {{.test = RQL_TEST_IN_CODES, .codes = sets[0]},
	                                {.test = RQL_TEST_IN_CODES, .codes = sets[1]}};
	struct rql_agg agg = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_request request = {
		.snapshot = c.snapshot, .conjunct_count = 2, .conjuncts = lists, .agg_count = 1, .aggs = &agg};
	unsigned planes = tests_seen[RQL_SCAN_TEST_PLANES];
	assert_true(compare_request(&request));
	assert_int_equal(tests_seen[RQL_SCAN_TEST_PLANES], planes + 1);
	assert_int_equal(passed, 3 * 6);
	column_free(&c);
}

/* Some neighbouring codes of very many, with NULL among them perhaps: fewer planes are read than decide, and single rows
 * are tested again. Dates with calendar numbers or without, other values, one test alone and with another. */
static void rough_codes(const struct table *t, uint32_t column)
{
	const struct rql_dimension *d = t->snapshot->columns[column].dimension;
	uint32_t span = 1 + (uint32_t)roll(d->count / 200 + 2), first = (uint32_t)roll(d->count + 1 - span);
	uint64_t *set = need(calloc(d->count / 64 + 1, sizeof(*set)));
	for (uint32_t code = first; code < first + span; code++)
		set[code / 64] |= UINT64_C(1) << code % 64;
	struct rql_conjunct tests[2] = {
		{.index = column, .test = RQL_TEST_IN_CODES, .codes = set},
		{.index = SMALL, .test = RQL_TEST_IN_RANGE, .least = -1000, .greatest = (rql_int128)roll(100)}};
	struct rql_agg agg = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_request request = {.snapshot = t->snapshot,
	                              .conjunct_count = 1 + (uint32_t)roll(2),
	                              .conjuncts = tests,
	                              .agg_count = 1,
	                              .aggs = &agg};
	assert_true(compare_request(&request));
	free(set);
}

/* Ranges of one column; codes: of codes, which are the values. */
static void rough_ranges(struct column c, const int32_t *values, uint32_t rows, bool codes)
{
	for (unsigned i = 0; i < ROUGH_CASES; i++) {
		struct rql_agg agg = {.kind = RQL_AGG_COUNT_STAR};
		int32_t least = (int32_t)roll(4900), greatest = least + (int32_t)roll(20), expected = 0;
		uint64_t set[5000 / 64 + 1] = {0};
		for (int32_t code = least; code <= greatest; code++)
			set[code / 64] |= UINT64_C(1) << code % 64;
		struct rql_conjunct test = {.test = RQL_TEST_IN_RANGE, .least = least, .greatest = greatest};
		if (codes)
			test = (struct rql_conjunct){.test = RQL_TEST_IN_CODES, .codes = set};
		struct rql_request request = {
			.snapshot = c.snapshot, .conjunct_count = 1, .conjuncts = &test, .agg_count = 1, .aggs = &agg};
		for (uint32_t row = 0; row < rows; row++)
			expected += least <= values[row] && values[row] <= greatest;
		assert_true(compare_request(&request));
		assert_int_equal(passed, expected);
	}
	column_free(&c);
}

static void test_rough(void **state)
{
	(void)state;
	enum { ROWS = 20000 };
	static int32_t days[ROWS], numbers[ROWS];
	struct table t;
	random_state = 23;
	table_make(&t, ROWS);
	for (unsigned i = 0; i < ROUGH_CASES; i++) {
		rough_codes(&t, DAY);
		rough_codes(&t, CODE);
	}
	table_free(&t);
	for (uint32_t i = 0; i < ROWS; i++) {
		days[i] = (int32_t)roll(9000) - 2000;
		numbers[i] = (int32_t)(i < 5000 ? i : roll(5000));
	}
	unsigned before = rough;
	rough_ranges(column_coded(RQL_TYPE_DATE, RQL_STORE_VALUES, days, 4, ROWS), days, ROWS, false);
	rough_ranges(column_coded(RQL_TYPE_INTEGER, RQL_STORE_CODES, numbers, 4, ROWS), numbers, ROWS, true);
	print_message("%u rough tests, %u of all kinds of columns\n", rough - before, before);
	assert_true(rough > before);
}

/* A join as a set in device memory, too large for shared memory, and all that the request has there. */
static void test_large_set(void **state)
{
	(void)state;
	static int64_t values[9000], keys[60000];
	struct rql_error err = {0};
	struct rql_map *map = NULL;
	random_state = 19;
	for (uint32_t i = 0; i < 60000; i++)
		keys[i] = 5 * (int64_t)i;
	for (uint32_t i = 0; i < 9000; i++)
		values[i] = (int64_t)roll(300000);
	ok(rql_map_build(keys, NULL, 60000, &map, &err), &err);
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 9000);
	struct rql_lookup join = {.kind = RQL_LOOKUP_SEMI, .map = map};
	struct rql_agg agg = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_request request = {
		.snapshot = c.snapshot, .lookup_count = 1, .lookups = &join, .agg_count = 1, .aggs = &agg};
	unsigned sets = tests_seen[RQL_SCAN_TEST_SET];
	assert_true(compare_request(&request));
	assert_int_equal(tests_seen[RQL_SCAN_TEST_SET], sets + 1);
	column_free(&c);
	rql_map_free(map);
}

/* Groups with extremes whose rows are too large for shared memory, although they are few: where that is 32 KiB. */
static void test_rows_too_large(void **state)
{
	(void)state;
	random_state = 13;
	struct table t;
	table_make(&t, 2000);
	struct query q = {.arena = need(rql_arena_new())};
	struct rql_conjunct conjunct = {.test = RQL_TEST_IS_TRUE};
	struct rql_group_key key = {.source = {.index = SORTED}, .least = 9000, .key_count = 287, .null_key = 286};
	struct rql_agg aggs[3] = {{.kind = RQL_AGG_SUM, .source = {.index = BIG}},
	                          {.kind = RQL_AGG_MIN, .source = {.index = BIG}},
	                          {.kind = RQL_AGG_MAX, .source = {.index = BIG}}};
	q.request = (struct rql_request){.snapshot = t.snapshot,
	                                 .programs = q.programs,
	                                 .conjunct_count = 1,
	                                 .conjuncts = &conjunct,
	                                 .group_count = 1,
	                                 .groups = &key,
	                                 .agg_count = 3,
	                                 .aggs = aggs};
	make_program(&q, LESS); /* a stage of its own, which takes shared memory, too */
	const struct rql_gpu_limits limits = gpu->limits;
	unsigned global = modes[RQL_SCAN_MODE_GLOBAL];
	gpu->limits.shared_bytes = 16384;
	assert_true(compare_request(&q.request));
	gpu->limits = limits;
	assert_true(modes[RQL_SCAN_MODE_GLOBAL] > global);
	query_free(&q);
	table_free(&t);
}

/* Conditions that leave few keys, or none: in shared memory, in arrays, hashed; test_scan.c holds the CPU's answers against
 * a naive oracle. */
static void test_narrowed_keys(void **state)
{
	(void)state;
	enum { ROWS = 9000, SPREAD = 50000 };
	static int64_t values[ROWS];
	struct table t;
	unsigned shared = modes[RQL_SCAN_MODE_SHARED], global = modes[RQL_SCAN_MODE_GLOBAL], tables = hashed;
	narrow_table(&t);
	for (unsigned i = 0; i < NARROW_CASES; i += is_long() ? 1 : 3) /* test_scan.c has all on the CPU */
		for (unsigned form = i % NARROW_FORMS; form < NARROW_FORMS; form += is_long() ? 1 : NARROW_FORMS) {
			struct query q;
			narrow_query(&q, &t, &narrow_cases[i], form);
			assert_true(compare_request(&q.request));
			query_free(&q);
		}
	table_free(&t);
	for (int64_t i = 0; i < ROWS; i++)
		values[i * 7919 % ROWS] = INT64_MIN + i * SPREAD;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	for (rql_int128 left = 0; left <= ROWS; left = left * 9 + 1) { /* the last ones */
		rql_int128 greatest = (rql_int128)INT64_MIN + (rql_int128)(ROWS - 1) * SPREAD;
		struct rql_group_key key = {.least = INT64_MIN, .key_count = (ROWS - 1) * SPREAD + 1, .null_key = RQL_NONE};
		struct rql_agg aggs[2] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_MAX}};
		struct rql_conjunct range = {
			.test = RQL_TEST_IN_RANGE, .least = greatest - (left - 1) * SPREAD, .greatest = (rql_int128)1 << 100};
		struct rql_request request = {.snapshot = c.snapshot,
		                              .conjunct_count = 1,
		                              .conjuncts = &range,
		                              .group_count = 1,
		                              .groups = &key,
		                              .agg_count = 2,
		                              .aggs = aggs};
		assert_true(compare_request(&request));
		assert_int_equal(passed, left);
	}
	column_free(&c);
	assert_true(modes[RQL_SCAN_MODE_SHARED] > shared && modes[RQL_SCAN_MODE_GLOBAL] > global && hashed > tables);
}

/* A segment's planes stay on the device while somebody has them, and a later snapshot has more codes: of dates, so many
 * that calendar numbers are taken, which were too wide before. */
static void test_grown_dictionary(void **state)
{
	(void)state;
	static const int32_t base[] = {10957, 12053, 14610, 16071};
	int32_t days[5000];
	struct rql_error err = {0};
	struct rql_type type = rql_type_simple(RQL_TYPE_DATE);
	for (uint32_t i = 0; i < 5000; i++)
		days[i] = base[i % 4];
	struct column c = column_coded(RQL_TYPE_DATE, RQL_STORE_CODES, days, 4, 5000);
	struct rql_conjunct since = {.test = RQL_TEST_IN_RANGE, .least = 2, .greatest = 1 << 30};
	struct rql_agg agg = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_request request = {
		.snapshot = c.snapshot, .conjunct_count = 1, .conjuncts = &since, .agg_count = 1, .aggs = &agg};
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_prepared *held = NULL;
	struct rql_port answer;
	ok(rql_method_scan_compute.prepare(&request, gpu, &held, &err), &err);
	ok(rql_method_scan_compute.run(held, gpu, &(struct rql_run){.arena = arena}, &answer, &err), &err);
	assert_int_equal(answer.cells_covered, 2500);
	struct rql_batch *batch = need(rql_batch_new(1, &type, 3000));
	for (int32_t i = 0; i < 3000; i++)
		((int32_t *)(void *)batch->columns[0].data)[i] = 16436 + i;
	ok(rql_store_append(c.store, batch, &err), &err);
	rql_batch_release(batch);
	request.snapshot = rql_store_snapshot(c.store);
	struct rql_prepared *prepared = NULL;
	ok(rql_method_scan_compute.prepare(&request, gpu, &prepared, &err), &err);
	ok(rql_method_scan_compute.run(prepared, gpu, &(struct rql_run){.arena = arena}, &answer, &err), &err);
	assert_int_equal(answer.cells_covered, 5500);
	rql_method_scan_compute.free(prepared);
	rql_method_scan_compute.free(held);
	rql_arena_free(arena);
	rql_store_snapshot_release(request.snapshot);
	column_free(&c);
}

struct runner {
	struct rql_prepared *prepared;
	rql_int128 want;
	bool same;
};
static void *run_often(void *state)
{
	struct runner *r = state;
	r->same = true;
	for (unsigned i = 0; i < 10; i++) {
		struct rql_arena *arena = rql_arena_new();
		struct rql_port answer;
		r->same &= arena &&
		           rql_method_scan_compute.run(r->prepared, gpu, &(struct rql_run){.arena = arena}, &answer, NULL) ==
		               RQL_OK &&
		           answer.aggs[0].integer[0] == r->want;
		rql_arena_free(arena);
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	static int64_t values[20000];
	rql_int128 want = 0;
	struct rql_error err = {0};
	for (uint32_t i = 0; i < 20000; i++)
		want += values[i] = (int64_t)i * 31 % 1000 - 300;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 20000);
	struct rql_agg agg = {.kind = RQL_AGG_SUM};
	struct rql_request request = {.snapshot = c.snapshot, .agg_count = 1, .aggs = &agg};
	struct rql_prepared *prepared = NULL;
	struct runner runners[4];
	pthread_t threads[4];
	ok(rql_method_scan_compute.prepare(&request, gpu, &prepared, &err), &err);
	for (unsigned i = 0; i < 4; i++) {
		runners[i] = (struct runner){.prepared = prepared, .want = want};
		assert_int_equal(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(runners[i].same);
	}
	struct rql_progress progress = {.cancel = true};
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port answer;
	assert_int_equal(rql_method_scan_compute.run(prepared, gpu, &(struct rql_run){.arena = arena, .progress = &progress}, &answer, &err),
	                 RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	rql_arena_free(arena);
	rql_method_scan_compute.free(prepared);
	column_free(&c);
}

/* ---- more shapes than pipelines are kept ---- */
#define SHAPES 15u

static void run_shape(struct rql_prepared *prepared, uint32_t shape, const rql_int128 *want)
{
	struct rql_error err = {0};
	struct rql_port answer = {0};
	struct rql_arena *arena = need(rql_arena_new());
	ok(rql_method_scan_compute.run(prepared, gpu, &(struct rql_run){.arena = arena}, &answer, &err), &err);
	for (uint32_t kind = 0, a = 0; kind < 4; kind++)
		if (shape >> kind & 1)
			assert_true(answer.aggs[a++].integer[0] == want[kind]);
	rql_arena_free(arena);
}

static struct rql_prepared *prepare_shape(const struct column *c, uint32_t shape)
{
	static const enum rql_agg_kind kinds[] = {RQL_AGG_COUNT_STAR, RQL_AGG_SUM, RQL_AGG_MIN, RQL_AGG_MAX};
	struct rql_agg aggs[4];
	struct rql_request request = {.snapshot = c->snapshot, .aggs = aggs};
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	for (uint32_t kind = 0; kind < 4; kind++)
		if (shape >> kind & 1)
			aggs[request.agg_count++] = (struct rql_agg){.kind = kinds[kind]};
	ok(rql_method_scan_compute.prepare(&request, gpu, &prepared, &err), &err);
	return prepared;
}

/* Prepared requests hold their pipelines, however many there are; what is freed makes room for others. */
static void test_shapes(void **state)
{
	(void)state;
	int64_t values[5000];
	rql_int128 want[4] = {5000, 0, -17, 980};
	for (uint32_t i = 0; i < 5000; i++)
		want[1] += values[i] = (int64_t)(i * 7) % 998 - 17;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 5000);
	struct rql_prepared *held[SHAPES + 1] = {0};
	for (uint32_t shape = 1; shape <= SHAPES; shape++) { /* every other one is held */
		struct rql_prepared *prepared = prepare_shape(&c, shape);
		run_shape(prepared, shape, want);
		if (shape % 2)
			held[shape] = prepared;
		else
			rql_method_scan_compute.free(prepared);
	}
	assert_true(rql_vk_of(gpu)->generated_count >= SHAPES / 2 && rql_vk_of(gpu)->generated_count < SHAPES);
	for (uint32_t shape = SHAPES; shape >= 1; shape--) {
		struct rql_prepared *again = prepare_shape(&c, shape);
		run_shape(again, shape, want);
		if (held[shape])
			run_shape(held[shape], shape, want);
		rql_method_scan_compute.free(held[shape]);
		run_shape(again, shape, want);
		rql_method_scan_compute.free(again);
	}
	assert_int_equal(rql_vk_of(gpu)->generated_count, rql_vk_of(gpu)->generated_most);
	column_free(&c);
}

/* A device that fails keeps the constants that it had. */
static void test_calibrate(void **state)
{
	(void)state;
	const struct rql_scan_profile before = {.test_ns = 7};
	struct rql_scan_profile p = before;
	struct rql_error err = {0};
	ok(rql_fault_set(gpu, RQL_FAULT_ALLOCATION, 5, &err), &err);
	assert_int_equal(rql_scan_calibrate_gpu(gpu, false, &p, &err), RQL_ERROR_LIMIT);
	assert_true(rql_fault_struck(gpu));
	rql_fault_remove(gpu);
	rql_error_clear(&err);
	assert_memory_equal(&p, &before, sizeof(p));
	ok(rql_scan_calibrate_gpu(gpu, false, &p, &err), &err);
	assert_true(p.tested_row_ns > 0 && p.taken_row_ns > 0 && p.compile_ns > 0 && p.answer_group_ns > 0);
	assert_true(p.test_ns == 7);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest many_kernels[] = {
		cmocka_unit_test(test_encodings),  cmocka_unit_test(test_widths), cmocka_unit_test(test_few_groups),
		cmocka_unit_test(test_limbs),      cmocka_unit_test(test_dates),  cmocka_unit_test(test_merged_lists),
		cmocka_unit_test(test_narrowed_keys), cmocka_unit_test(test_rough),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many_groups),      cmocka_unit_test(test_wide_sums),
		cmocka_unit_test(test_failures),         cmocka_unit_test(test_threads),
		cmocka_unit_test(test_pair_join),
		cmocka_unit_test(test_spread),           cmocka_unit_test(test_limits),
		cmocka_unit_test(test_small_workgroups), cmocka_unit_test(test_large_subgroups),
		cmocka_unit_test(test_shapes),           cmocka_unit_test(test_calibrate),
		cmocka_unit_test(test_large_set),
		cmocka_unit_test(test_rows_too_large),   cmocka_unit_test(test_grown_dictionary),
	};
	vulkan_validate(false);
	int failed = cmocka_run_group_tests(many_kernels, open_device, close_device);
	vulkan_validate(true);
	return failed + cmocka_run_group_tests(tests, open_device, close_device);
}
