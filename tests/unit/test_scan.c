/* The fused scan against a naive row-at-a-time oracle: random stores (all kinds of columns, NULLs, appended
 * segments) and random requests, at every instruction set and with several threads; and the edges one by one. */
#include "method/scan/cpu/scan_simd.h"
#include "scan_narrow.h"

#define CASES (SLOW ? 60u : 400u)

static unsigned narrowed; /* requests whose conditions left fewer groups */

/* ---- the oracle ---- */

static uint32_t key_of(const struct query *q, const struct table *t, uint32_t row, uint32_t g)
{
	const struct rql_group_key *key = &q->groups[g];
	struct cell c = value_of(q, t, row, &key->source);
	bool coded = key->source.kind == RQL_SOURCE_COLUMN && kinds[key->source.index].coding == RQL_STORE_CODES;
	if (c.null && !coded)
		return key->null_key;
	return key->key_of_code ? key->key_of_code[c.integer] : (uint32_t)(c.integer - key->least);
}

struct total {
	uint64_t rows;
	uint64_t count[MAX];
	rql_int128 integer[MAX];
	double real[MAX];
};

static void add(const struct query *q, const struct table *t, uint32_t row, struct total *total)
{
	total->rows++;
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		const struct rql_agg *agg = &q->aggs[a];
		if (agg->filter && !is_true(q, t, row, agg->filter - 1))
			continue;
		struct cell c = {0};
		if (agg->kind != RQL_AGG_COUNT_STAR)
			c = value_of(q, t, row, &agg->source);
		if (c.null)
			continue;
		bool first = total->count[a]++ == 0;
		if (agg->kind == RQL_AGG_SUM) {
			total->integer[a] += c.integer;
			total->real[a] += c.real;
		} else if (agg->kind == RQL_AGG_MIN || agg->kind == RQL_AGG_MAX) {
			int sign = agg->kind == RQL_AGG_MAX ? 1 : -1;
			if (first || sign * order_real(c.real, total->real[a]) > 0)
				total->real[a] = c.real;
			if (first || (sign > 0 ? c.integer > total->integer[a] : c.integer < total->integer[a]))
				total->integer[a] = c.integer;
		}
	}
}

static void check_group(const struct query *q, const struct rql_port *answer, uint64_t group, const struct total *total)
{
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		const struct rql_agg_values *v = &answer->aggs[a];
		bool counts = q->aggs[a].kind <= RQL_AGG_COUNT;
		bool valid = !v->valid || (v->valid[group / 64] >> group % 64 & 1);
		assert_int_equal(valid, counts || total->count[a] > 0);
		if (!valid)
			continue;
		bool real = !counts && q->aggs[a].source.kind == RQL_SOURCE_COLUMN && q->aggs[a].source.index == REAL;
		assert_int_equal(v->kind == RQL_MEASURE_REAL, real);
		if (counts)
			assert_true(v->integer[group] == (rql_int128)total->count[a]);
		else if (real)
			assert_int_equal(order_real(v->real[group], total->real[a]), 0);
		else
			assert_true(v->integer[group] == total->integer[a]);
	}
}

static void check_answer(const struct query *q, const struct table *t, const struct rql_port *answer, uint64_t passed)
{
	uint64_t groups = 1, at = 0, expected = 0;
	for (uint32_t g = 0; g < q->request.group_count; g++)
		groups *= q->groups[g].key_count;
	struct total *totals = need(calloc(groups, sizeof(*totals)));
	for (uint32_t r = 0; r < t->rows; r++) {
		uint64_t group = 0;
		if (!passes(q, t, r))
			continue;
		for (uint32_t g = 0; g < q->request.group_count; g++)
			group = group * q->groups[g].key_count + key_of(q, t, r, g);
		add(q, t, r, &totals[group]);
		expected++;
	}
	assert_int_equal(passed, expected);
	for (uint64_t group = 0; group < groups; group++) {
		if (!totals[group].rows && q->request.group_count)
			continue;
		assert_true(at < answer->group_count);
		uint64_t rest = group;
		for (uint32_t g = q->request.group_count; g-- > 0; rest /= q->groups[g].key_count)
			assert_int_equal(answer->keys[g][at], rest % q->groups[g].key_count);
		check_group(q, answer, at++, &totals[group]);
	}
	assert_int_equal(answer->group_count, at);
	assert_int_equal(answer->sorted_keys, q->request.group_count);
	free(totals);
}

static void run_query(const struct query *q, const struct table *t, unsigned simd, unsigned pool)
{
	struct rql_device device = cpu(simd, pool);
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_cost cost;
	ok(rql_scan_prepare(&q->request, &device, &scan, &err), &err);
	narrowed += is_narrowed(&q->request, scan);
	rql_scan_price(scan, &device, &rql_profile_guess.scan, &cost);
	assert_true(cost.run_ns >= 0 && isfinite(cost.run_ns) && isfinite(cost.bytes));
	for (unsigned again = 0; again < 2; again++) { /* the second run finds warm workers */
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_port answer;
		struct rql_scan_counts counts;
		ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, &counts, &err), &err);
		assert_int_equal(counts.blocks, t->snapshot->blocks);
		check_answer(q, t, &answer, counts.rows_passed);
		rql_arena_free(arena);
	}
	rql_scan_free(scan);
}

/* ---- tests ---- */

static void test_random(void **state)
{
	(void)state;
	skip_if_alone();
	static const uint32_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 4095, 4096, 4097, 9000, 20000};
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		table_make(&t, sizes[roll(seed % 8 ? 10 : 12)]);
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			query_make(&q, &t);
			run_query(&q, &t, (unsigned)(seed + i) % 3, 0);
			query_free(&q);
		}
		table_free(&t);
	}
	assert_true(narrowed > CASES / 4);
}

static void test_threads(void **state)
{
	(void)state;
	random_state = 77;
	struct table t;
	table_make(&t, 80000);
	for (unsigned i = 0; i < (SLOW ? 6u : 30u); i++) {
		struct query q;
		query_make(&q, &t);
		run_query(&q, &t, i % 3, 1);
		query_free(&q);
	}
	table_free(&t);
}

/* Whether it is as the case says: where NULL's key comes first, numbers keep their keys. */
static void check_narrowed(const struct query *q, const struct narrow_case *c, const struct rql_scan *scan,
                           unsigned form)
{
	bool first = form % 2 && kinds[c->key].coding != RQL_STORE_CODES && c->key != SMALL;
	bool want = c->narrowed == FEWER_KEYS && !first;
	if (is_narrowed(&q->request, scan) != want)
		fail_msg("%s: %llu groups", c->what, (unsigned long long)scan->layout.group_count);
}

/* Conditions that leave few keys, or none: the answer has the request's keys. */
static void test_narrowed_keys(void **state)
{
	(void)state;
	struct table t;
	narrow_table(&t);
	/* Under TSan a part of them, by several threads. */
	for (size_t i = 0; i < NARROW_CASES; i += UNDER_TSAN ? 12 : 1)
		for (unsigned form = UNDER_TSAN ? 3 : 0; form < (UNDER_TSAN ? 4 : NARROW_FORMS); form++) {
			struct rql_device device = cpu(form % 3, 0);
			struct rql_scan *scan = NULL;
			struct query q;
			narrow_query(&q, &t, &narrow_cases[i], form);
			ok(rql_scan_prepare(&q.request, &device, &scan, NULL), NULL);
			check_narrowed(&q, &narrow_cases[i], scan, form);
			rql_scan_free(scan);
			run_query(&q, &t, form % 3, form % 2);
			query_free(&q);
		}
	table_free(&t);
}

/* A number of one column three times as a key, nearly a whole range of 2^31 each: in 128 bits, hashed, in an array, as
 * the condition leaves it; from the least number that there is, and to the greatest. */
static void test_narrowed_numbers(void **state)
{
	(void)state;
	skip_if_alone();
	enum { ROWS = 9000, SPREAD = 200000 };
	static const int64_t from[] = {INT64_MIN, -700, INT64_MAX - (int64_t)(ROWS - 1) * SPREAD};
	static const uint32_t lefts[] = {ROWS, 5000, 30, 5, 1, 0};
	static int64_t values[ROWS];
	for (unsigned f = 0; f < 3; f++) {
		struct rql_error err = {0};
		for (uint32_t i = 0; i < ROWS; i++)
			values[i * 7919 % ROWS] = (int64_t)((uint64_t)from[f] + (uint64_t)i * SPREAD);
		struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
		for (unsigned l = 0; l < 6; l++) {
			uint32_t first = (ROWS - lefts[l]) / 2, wide = 0;
			struct rql_group_key key = {.least = from[f], .key_count = (ROWS - 1) * SPREAD + 1, .null_key = RQL_NONE};
			struct rql_group_key keys[3] = {key, key, key};
			struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
			rql_int128 least = (rql_int128)from[f] + (rql_int128)first * SPREAD;
			struct rql_conjunct range = {
				.test = RQL_TEST_IN_RANGE, .least = least, .greatest = least + ((rql_int128)lefts[l] - 1) * SPREAD};
			struct rql_request request = {.snapshot = c.snapshot,
			                              .conjunct_count = 1,
			                              .conjuncts = &range,
			                              .groups = keys,
			                              .agg_count = 1,
			                              .aggs = &count};
			for (request.group_count = 1; request.group_count <= 3; request.group_count++) {
				struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
				struct rql_scan *scan = NULL;
				struct rql_arena *arena = need(rql_arena_new());
				struct rql_port answer;
				ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
				wide += scan->layout.wide;
				ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), &err);
				assert_int_equal(answer.group_count, lefts[l]);
				for (uint32_t i = 0; i < lefts[l]; i++)
					for (uint32_t g = 0; g < request.group_count; g++)
						assert_int_equal(answer.keys[g][i], (uint64_t)(first + i) * SPREAD);
				rql_scan_free(scan);
				rql_arena_free(arena);
			}
			assert_int_equal(wide, l < 3 || l == 5); /* three keys of 31 bits, 30, 23; then 20, 1; nothing: 31 */
		}
		column_free(&c);
	}
}

/* Places that lie apart: an array as long as that is not much larger than a hash table. */
static void test_sparse_maps(void **state)
{
	enum { ENTRIES = 150000 };
	static const int64_t apart[] = {40, 100};
	struct rql_error err = {0};
	int64_t *keys = malloc(ENTRIES * sizeof(*keys));
	int32_t *payloads = malloc(ENTRIES * sizeof(*payloads));
	(void)state;
	skip_if_alone();
	assert_non_null(keys);
	assert_non_null(payloads);
	for (uint32_t s = 0; s < 2; s++) {
		struct rql_map *map = NULL;
		for (int32_t i = 0; i < ENTRIES; i++) {
			keys[i] = i * apart[s] - 1000;
			payloads[i] = i % 7 ? i : -1;
		}
		ok(rql_map_build(keys, payloads, ENTRIES, &map, &err), &err);
		assert_int_equal(rql_map_is_dense(map), s == 0);
		for (int32_t i = 0; i < ENTRIES; i++) {
			assert_int_equal(rql_map_find(map, keys[i]), payloads[i]);
			assert_int_equal(rql_map_find(map, keys[i] + 1), -1);
		}
		rql_map_free(map);
	}
	free(keys);
	free(payloads);
}

/* Many keys in several parts, by several threads and by one: the same map. `step`: how far keys lie apart. */
static void check_map_parts(struct rql_pool *pool, uint64_t count, int64_t step, uint32_t payload_end, bool shuffled)
{
	struct rql_error err = {0};
	struct rql_map *alone = NULL, *shared = NULL;
	int64_t *keys = need(malloc(count * sizeof *keys));
	int32_t *payloads = need(malloc(count * sizeof *payloads));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = shuffled ? i * 7919 % count : i;
		keys[at] = (int64_t)i * step - 1000;
		payloads[at] = i % 7 ? (int32_t)(i % payload_end) : -1;
	}
	struct rql_map_part parts[] = {{.keys = keys, .payloads = payloads, .count = count / 3},
	                               {.keys = NULL, .payloads = payloads, .count = 0},
	                               {.keys = keys + count / 3, .payloads = payloads + count / 3, .count = count - count / 3}};
	ok(rql_map_build(keys, payloads, count, &alone, &err), &err);
	ok(rql_map_build_parts(parts, 3, pool, &shared, &err), &err);
	assert_int_equal(rql_map_entries(shared), rql_map_entries(alone));
	assert_int_equal(rql_map_payloads(shared), rql_map_payloads(alone));
	assert_int_equal(rql_map_is_dense(shared), rql_map_is_dense(alone));
	for (uint64_t i = 0; i < count; i++) {
		if (rql_map_find(shared, keys[i]) != payloads[i] || (step > 1 && rql_map_find(shared, keys[i] + 1) != -1))
			fail_msg("key %lld", (long long)keys[i]);
	}
	if (alone->dense)
		assert_memory_equal(shared->bits, alone->bits, ((uint64_t)alone->span + 31) / 32 * 4);
	rql_map_free(shared);
	/* A key that comes twice, with its first place in another part than its second. */
	int64_t again = keys[count - 1];
	keys[0] = again;
	payloads[0] = payloads[count - 1] = 1;
	struct rql_map *untouched = NULL;
	char expected[40];
	snprintf(expected, sizeof expected, "key %lld ", (long long)again);
	assert_int_equal(rql_map_build_parts(parts, 3, pool, &untouched, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), expected));
	assert_null(untouched);
	rql_error_clear(&err);
	for (uint32_t p = 0; p < 3; p++)
		parts[p].payloads = NULL;
	ok(rql_map_build_parts(parts, 3, pool, &shared, &err), &err);
	assert_int_equal(rql_map_entries(shared), count - 1);
	assert_int_equal(rql_map_find(shared, again), 0);
	rql_map_free(shared);
	for (uint32_t p = 0; p < 3; p++)
		parts[p].once = true;
	assert_int_equal(rql_map_build_parts(parts, 3, pool, &untouched, &err), RQL_ERROR_UNSUPPORTED);
	rql_error_clear(&err);
	rql_map_free(alone);
	free(keys);
	free(payloads);
}

/* Keys as a column has them, each leading to its own place, and none outside an interval: as arrays say the same. */
static void check_map_column(struct rql_pool *pool, uint64_t count, int64_t step, bool is_narrow)
{
	struct rql_error err = {0};
	struct rql_map *alone = NULL, *lying = NULL, *untouched = NULL;
	const int64_t least = 5 * step, greatest = (int64_t)(count - 9) * step;
	int64_t *keys = need(malloc(count * sizeof *keys));
	int32_t *narrow = need(malloc(count * sizeof *narrow)), *payloads = need(malloc(count * sizeof *payloads));
	for (uint64_t i = 0; i < count; i++) {
		keys[i] = (int64_t)(i * 7919 % count) * step;
		narrow[i] = (int32_t)keys[i];
		payloads[i] = keys[i] >= least && keys[i] <= greatest ? (int32_t)i : -1;
	}
	struct rql_map_part part = {.keys = is_narrow ? NULL : keys,
	                            .narrow = is_narrow ? narrow : NULL,
	                            .count = count,
	                            .numbered = true,
	                            .least = least,
	                            .greatest = greatest};
	ok(rql_map_build(keys, payloads, count, &alone, &err), &err);
	ok(rql_map_build_parts(&part, 1, pool, &lying, &err), &err);
	assert_int_equal(rql_map_entries(lying), count - 13);
	assert_int_equal(rql_map_entries(lying), rql_map_entries(alone));
	assert_int_equal(rql_map_payloads(lying), rql_map_payloads(alone));
	assert_int_equal(rql_map_is_dense(lying), rql_map_is_dense(alone));
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(rql_map_find(lying, keys[i]), payloads[i]);
	keys[count - 1] = keys[count / 2] = 6 * step; /* once more, where it was not */
	narrow[count - 1] = narrow[count / 2] = (int32_t)(6 * step);
	assert_int_equal(rql_map_build_parts(&part, 1, pool, &untouched, &err), RQL_ERROR_UNSUPPORTED);
	assert_null(untouched);
	rql_error_clear(&err);
	rql_map_free(alone);
	rql_map_free(lying);
	free(keys);
	free(narrow);
	free(payloads);
}

static void test_map_parts(void **state)
{
	struct rql_error err = {0};
	struct rql_pool *pool = NULL;
	const uint64_t many = UNDER_TSAN ? 100003 : 300007;
	(void)state;
	ok(rql_pool_new(3, &pool, &err), &err);
	for (unsigned shuffled = UNDER_TSAN; shuffled < 2; shuffled++) {
		check_map_parts(pool, many, 1, 200, shuffled);      /* an array of bytes */
		check_map_parts(pool, many, 4, 60000, shuffled);    /* of 16 bits */
		check_map_parts(pool, many, 3, 70000, shuffled);    /* of 32 */
		check_map_parts(pool, many, 50, 300000, shuffled);  /* mostly free */
		check_map_parts(pool, many, 1000, 70000, shuffled); /* a hash table */
		check_map_parts(pool, many, 1 << 20, 70000, shuffled); /* of wide entries */
		check_map_parts(pool, 1000, 3, 70000, shuffled);
	}
	check_map_parts(NULL, 100000, 3, 70000, true);
	for (unsigned narrow = UNDER_TSAN; narrow < 2; narrow++) {
		check_map_column(pool, many, 3, narrow);    /* an array */
		check_map_column(pool, many, 50, narrow);   /* mostly free */
		check_map_column(pool, many, 1000, narrow); /* a hash table */
		check_map_column(NULL, 1000, 3, narrow);
	}
	check_map_column(pool, many, 1 << 20, false); /* of wide entries */
	rql_pool_free(pool);
}

/* Two keys so far apart, in a hash table: keys whose words have the same lower bits are others. */
static void check_entries(int64_t least, uint64_t apart, bool narrow)
{
	struct rql_error err = {0};
	struct rql_map *map = NULL;
	const int64_t keys[] = {(int64_t)((uint64_t)least + apart), least};
	static const int32_t payloads[] = {7, 70000};
	int64_t listed[2];
	ok(rql_map_build(keys, payloads, 2, &map, &err), &err);
	assert_false(rql_map_is_dense(map));
	assert_int_equal(rql_map_is_narrow(map), narrow);
	assert_int_equal(rql_map_bytes(map), sizeof *map + 2 * sizeof(int64_t) + rql_map_capacity(2) * (narrow ? 8 : 16));
	for (uint64_t high = 0; high < 4; high++)
		for (int64_t near = -2; near <= 2; near++)
			for (uint32_t k = 0; k < 2; k++) {
				const int64_t key = (int64_t)((uint64_t)keys[k] + (uint64_t)near + (high << 32));
				assert_int_equal(rql_map_find(map, key), key == keys[0] ? 7 : key == keys[1] ? 70000 : -1);
			}
	assert_int_equal(rql_map_keys(map, 2, listed), 2);
	assert_true((listed[0] == keys[0] && listed[1] == keys[1]) || (listed[0] == keys[1] && listed[1] == keys[0]));
	rql_map_free(map);
}

static void test_maps(void **state)
{
	(void)state;
	skip_if_alone();
	struct rql_error err = {0};
	struct rql_map *map = NULL;
	static const int64_t dense[] = {5, 9, -3, 100}, far[] = {INT64_MIN, INT64_MAX, 0, 1}, twice[] = {4, 5, 4};
	static const int32_t payloads[] = {3, 0, -1, 70000};
	ok(rql_map_build(dense, payloads, 4, &map, &err), &err);
	assert_true(rql_map_is_dense(map));
	assert_int_equal(rql_map_entries(map), 3);
	assert_int_equal(rql_map_payloads(map), 70001);
	assert_int_equal(rql_map_find(map, 5), 3);
	assert_int_equal(rql_map_find(map, 9), 0);
	assert_int_equal(rql_map_find(map, 100), 70000);
	assert_int_equal(rql_map_find(map, -3), -1);
	assert_int_equal(rql_map_find(map, 101), -1);
	assert_int_equal(rql_map_find(map, INT64_MIN), -1);
	rql_map_free(map);
	ok(rql_map_build(far, payloads, 4, &map, &err), &err);
	assert_false(rql_map_is_dense(map));
	assert_int_equal(rql_map_find(map, INT64_MIN), 3);
	assert_int_equal(rql_map_find(map, INT64_MAX), 0);
	assert_int_equal(rql_map_find(map, 0), -1);
	assert_int_equal(rql_map_find(map, 1), 70000);
	rql_map_free(map);
	static const int64_t leasts[] = {INT64_MIN, -5, INT64_MAX - UINT32_MAX};
	for (uint32_t l = 0; l < 3; l++)
		for (uint32_t beyond = 0; beyond < 3; beyond++)
			check_entries(leasts[l], UINT32_MAX - UINT64_C(2) + beyond, beyond == 0);
	assert_int_equal(rql_map_build(twice, payloads, 3, &map, &err), RQL_OK); /* the second 4 is no entry */
	rql_map_free(map);
	static const int32_t all[] = {1, 2, 3};
	struct rql_map *untouched = NULL;
	assert_int_equal(rql_map_build(twice, all, 3, &untouched, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "key 4 "));
	assert_null(untouched);
	rql_error_clear(&err);
	ok(rql_map_build(twice, NULL, 3, &map, &err), &err);
	assert_int_equal(rql_map_entries(map), 2);
	rql_map_free(map);
	ok(rql_map_build(NULL, NULL, 0, &map, &err), &err);
	assert_int_equal(rql_map_find(map, 0), -1);
	assert_int_equal(rql_map_payloads(map), 0);
	rql_map_free(map);
}

/* Does an interval have a key? exact: as long as few places, or keys, are looked through. */
static void check_meets(uint64_t count, uint64_t step, uint64_t width, bool exact)
{
	struct rql_error err = {0};
	struct rql_map *map = NULL;
	int64_t *keys = malloc(count * sizeof *keys);
	for (uint64_t i = 0; i < count; i++)
		keys[i] = (int64_t)(i * step + roll(step)) - 5000;
	ok(rql_map_build(keys, NULL, count, &map, &err), &err);
	for (unsigned round = 0; round < 3000; round++) {
		int64_t least = (int64_t)roll(count * step + 20000) - 12000, greatest = least + (int64_t)roll(width);
		uint64_t first = 0;
		while (first < count && keys[first] < least)
			first++;
		bool want = first < count && keys[first] <= greatest, have = rql_map_may_meet(map, least, greatest);
		assert_true(have || !want);
		assert_true(!exact || have == want);
	}
	assert_true(rql_map_may_meet(map, INT64_MIN, INT64_MAX));
	assert_true(rql_map_may_meet(map, keys[count - 1], keys[count - 1]));
	assert_false(rql_map_may_meet(map, INT64_MIN, keys[0] - 1));
	assert_false(rql_map_may_meet(map, keys[count - 1] + 1, INT64_MAX));
	rql_map_free(map);
	free(keys);
}

static void test_map_meets(void **state)
{
	(void)state;
	skip_if_alone();
	random_state = 11;
	check_meets(1, 1, 5, true);
	check_meets(1000, 50, 100, true);       /* an array */
	check_meets(900, 100000, 90000, true);  /* a hash table, listed */
	check_meets(4097, 9000, 9000, false);   /* ... not listed */
	check_meets(20, 100000, 1 << 20, false); /* an array, few places of which are looked through */
}

/* Every instruction set does what the portable kernels do. */
static void test_kernels(void **state)
{
	(void)state;
	skip_if_alone();
	const struct rql_scan_kernels *a = rql_scan_kernels_for(RQL_SIMD_PORTABLE);
	static uint32_t codes[RQL_SCAN_BLOCK + RQL_SCAN_SLACK], bits[4096];
	static int64_t wide[RQL_SCAN_BLOCK + RQL_SCAN_SLACK];
	uint64_t start[66], want[66], have[66];
	random_state = 5;
	for (unsigned round = 0; round < 600; round++) {
		const struct rql_scan_kernels *b = rql_scan_kernels_for(round % 2 ? RQL_SIMD_AVX2 : RQL_SIMD_AVX512);
		uint32_t n = 1 + (uint32_t)roll(RQL_SCAN_BLOCK), range = 1u << roll(17), limit = (uint32_t)roll(range + 1);
		for (uint32_t i = 0; i < RQL_SCAN_BLOCK + RQL_SCAN_SLACK; i++) {
			codes[i] = roll(50) ? (uint32_t)roll(range) : (uint32_t)roll(UINT32_MAX);
			wide[i] = roll(50) ? (int64_t)roll(range) - 1000 : (int64_t)roll(UINT64_MAX);
		}
		for (uint32_t i = 0; i < 4096; i++)
			bits[i] = (uint32_t)roll(UINT32_MAX);
		for (uint32_t i = 0; i < 66; i++)
			start[i] = roll(3) ? roll(UINT64_MAX) : 0;
		for (unsigned op = 0; op < 5; op++) {
			memcpy(want, start, sizeof(want));
			memcpy(have, start, sizeof(have));
			for (unsigned side = 0; side < 2; side++) {
				const struct rql_scan_kernels *k = side ? b : a;
				uint64_t *mask = side ? have : want;
				if (op == 0)
					k->range32(codes, n, limit / 2, limit, mask);
				else if (op == 1)
					k->range64(wide, n, -500, limit, mask);
				else if (op == 2)
					k->bits32(codes, n, limit % 3 ? 0 : (uint32_t)-5, bits, limit, mask);
				else if (op == 3)
					k->bits64(wide, n, -700, bits, limit, mask);
				else
					k->deposit(mask, (n + 63) / 64, (const uint64_t *)(const void *)codes);
			}
			assert_memory_equal(want, have, (n + 63) / 64 * 8);
		}
		static uint32_t rows[2][4096 + 64], out32[2][4096 + 64];
		static int64_t out64[2][4096 + 64];
		uint32_t count = 0, width = 1 + (uint32_t)roll(57);
		for (unsigned side = 0; side < 2; side++) {
			const struct rql_scan_kernels *k = side ? b : a;
			count = k->select(start, 64, rows[side]);
			k->fetch64((const uint8_t *)wide, width, round, rows[side], count, out64[side]);
			k->fetch32((const uint8_t *)wide, width, round, rows[side], count, out32[side]);
		}
		assert_memory_equal(rows[0], rows[1], count * 4);
		assert_memory_equal(out64[0], out64[1], count * 8);
		assert_memory_equal(out32[0], out32[1], count * 4);
		assert_true(a->sum64(wide, n) == b->sum64(wide, n));
		assert_int_equal(a->count(start, 66), b->count(start, 66));
	}
}

static void test_wide_sums(void **state)
{
	(void)state;
	skip_if_alone();
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
	struct rql_agg sum = {.kind = RQL_AGG_SUM};
	struct rql_request request = {.agg_count = 1, .aggs = &sum};
	static int64_t large[10000];
	for (uint32_t i = 0; i < 10000; i++)
		large[i] = i % 3 ? INT64_MAX : INT64_MIN + 5;
	struct column c = column_of(RQL_TYPE_BIGINT, large, 8, 10000);
	struct rql_scan *scan = NULL;
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port answer;
	request.snapshot = c.snapshot;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), &err);
	assert_true(answer.aggs[0].integer[0] == (rql_int128)INT64_MAX * 6666 + ((rql_int128)INT64_MIN + 5) * 3334);
	rql_scan_free(scan);
	column_free(&c);
	/* A sum of HUGEINTs that leaves 128 bits is refused, and the error leaves the scan usable. */
	rql_int128 huge[3] = {(rql_int128)1 << 126, (rql_int128)1 << 126, 5};
	c = column_of(RQL_TYPE_HUGEINT, huge, 16, 3);
	request.snapshot = c.snapshot;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), RQL_ERROR_UNSUPPORTED);
	rql_scan_free(scan);
	struct rql_lookup join = {.kind = RQL_LOOKUP_SEMI};
	struct rql_map *map = NULL;
	ok(rql_map_build(NULL, NULL, 0, &map, &err), &err);
	join.map = map;
	request.lookup_count = 1;
	request.lookups = &join;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "column x"));
	rql_error_clear(&err);
	rql_map_free(map);
	rql_arena_free(arena);
	column_free(&c);
}

/* Every row a group of its own, hashed (keys far apart) and in an array. */
static void test_many_groups(void **state)
{
	(void)state;
	struct rql_error err = {0};
	const uint32_t rows = SLOW ? 150000 : 2500000;
	int64_t *values = need(malloc(rows * sizeof(*values)));
	for (unsigned spread = 1; spread <= 1001; spread += 1000) {
		for (uint32_t i = 0; i < rows; i++)
			values[(uint64_t)i * 7919 % rows] = (int64_t)i * spread - 1000;
		struct column c = column_of(RQL_TYPE_BIGINT, values, 8, rows);
		struct rql_group_key key = {.least = -1000, .key_count = rows * spread, .null_key = RQL_NONE};
		struct rql_agg aggs[2] = {{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_COUNT_STAR}};
		struct rql_request request = {
			.snapshot = c.snapshot, .group_count = 1, .groups = &key, .agg_count = 2, .aggs = aggs};
		for (unsigned pool = UNDER_TSAN; pool < 2; pool++) {
			struct rql_device device = cpu(RQL_SIMD_AVX512, pool);
			struct rql_scan *scan = NULL;
			struct rql_arena *arena = need(rql_arena_new());
			struct rql_port answer;
			ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
			for (unsigned again = 0; again < 2; again++)
				ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), &err);
			assert_int_equal(answer.group_count, rows);
			/* So many hashed groups come in any order: each of them once. */
			bool *seen = need(calloc(rows, sizeof(*seen)));
			for (uint32_t i = 0; i < rows; i++) {
				uint32_t group = answer.keys[0][i] / spread;
				if (group >= rows || seen[group] || (answer.sorted_keys && group != i) ||
				    answer.keys[0][i] != group * spread ||
				    answer.aggs[0].integer[i] != (rql_int128)group * spread - 1000 || answer.aggs[1].integer[i] != 1)
					fail_msg("group %u", i);
				seen[group] = true;
			}
			free(seen);
			rql_scan_free(scan);
			rql_arena_free(arena);
		}
		column_free(&c);
	}
	free(values);
}

/* Two keys over (nearly) all 64-bit integers, 128 bits together: groups that come three times each, fewer than are put
 * out in order and more; values that come from a group's number and lead back to it. */
static void test_wide_groups(void **state)
{
	(void)state;
	struct rql_error err = {0};
	for (uint32_t groups = 2000; groups <= 80000; groups += 78000) {
		const uint32_t rows = 3 * groups;
		const uint64_t step = (UINT64_MAX - 2) / groups, last = step * (groups - 1);
		int64_t *values = need(malloc(rows * sizeof(*values)));
		for (uint32_t i = 0; i < rows; i++)
			values[i] = (int64_t)((uint64_t)INT64_MIN + (uint64_t)i * 7919 % groups * step);
		struct column c = column_of(RQL_TYPE_BIGINT, values, 8, rows);
		struct rql_group_key key = {.least = INT64_MIN, .wide_count = last + 1, .null_key = RQL_NONE};
		struct rql_group_key keys[3] = {key, key, {.key_count = 1}};
		struct rql_agg aggs[2] = {{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_COUNT_STAR}};
		struct rql_request request = {
			.snapshot = c.snapshot, .group_count = 3, .groups = keys, .agg_count = 2, .aggs = aggs};
		struct rql_scan *scan = NULL;
		struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
		assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_UNSUPPORTED); /* 129 bits */
		rql_error_clear(&err);
		request.group_count = 2;
		for (unsigned pool = UNDER_TSAN; pool < 2; pool++) {
			device = cpu(RQL_SIMD_AVX512, pool);
			struct rql_arena *arena = need(rql_arena_new());
			struct rql_port answer;
			bool *seen = need(calloc(groups, sizeof(*seen)));
			ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
			for (unsigned again = 0; again < 2; again++)
				ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), &err);
			assert_int_equal(answer.group_count, groups);
			assert_int_equal(answer.sorted_keys, groups <= 65536 ? 2 : 0);
			for (uint32_t i = 0; i < groups; i++) {
				uint64_t code = answer.wide_keys[0][i], group = code / step;
				rql_int128 value = (rql_int128)INT64_MIN + code;
				if (code % step || group >= groups || seen[group] || answer.wide_keys[1][i] != code ||
				    (answer.sorted_keys && group != i) || answer.aggs[0].integer[i] != 3 * value ||
				    answer.aggs[1].integer[i] != 3)
					fail_msg("group %u", i);
				seen[group] = true;
			}
			assert_null(answer.keys[0]);
			free(seen);
			rql_scan_free(scan);
			rql_arena_free(arena);
		}
		column_free(&c);
		free(values);
	}
}

static void test_errors(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	int64_t *values = need(calloc(100000, sizeof(*values)));
	values[99000] = INT64_MAX;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 100000);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_builder *b = need(rql_builder_new(arena));
	struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_input_spec input = {.type = bigint, .kind = RQL_LANE_I64, .bounds = {1, 0}};
	rql_value_number x = rql_build_input(b, &input), twice = rql_build_arithmetic(b, "+", x, x, bigint, true);
	struct rql_program *program = NULL;
	ok(rql_builder_finish(b, &twice, 1, &program, &err), &err);
	struct rql_source source = {.kind = RQL_SOURCE_COLUMN};
	struct rql_row_program bound = {.program = program, .inputs = &source};
	struct rql_agg sum = {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_PROGRAM}};
	struct rql_conjunct low = {.test = RQL_TEST_IN_RANGE, .greatest = 10};
	struct rql_request request = {.snapshot = c.snapshot,
	                              .program_count = 1,
	                              .programs = &bound,
	                              .agg_count = 1,
	                              .aggs = &sum,
	                              .conjuncts = &low};
	struct rql_scan *scan = NULL;
	struct rql_port answer = {.group_count = 99};
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_int_equal(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "Overflow"));
	assert_int_equal(answer.group_count, 99);
	rql_error_clear(&err);
	struct rql_progress progress = {.cancel = true};
	assert_int_equal(rql_scan_run(scan, &device, NULL, arena, &progress, &answer, NULL, &err), RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	rql_scan_free(scan);
	/* The row that would overflow is filtered out: no error. */
	request.conjunct_count = 1;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), &err);
	assert_true(answer.aggs[0].integer[0] == 0);
	rql_scan_free(scan);
	/* What is no request. */
	low.index = 3;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	request.conjunct_count = 0;
	struct rql_group_key wide = {.least = 0, .key_count = 2000000000, .null_key = RQL_NONE};
	struct rql_group_key groups[5] = {wide, wide, wide, wide, wide}; /* 31 bits each */
	request.group_count = 5;
	request.groups = groups;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_UNSUPPORTED);
	rql_error_clear(&err);
	request.group_count = 1;
	groups[0].key_count = 50; /* and INT64_MAX is there */
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	sum.source = (struct rql_source){.kind = RQL_SOURCE_COLUMN};
	rql_status status = rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err);
	assert_true(status == RQL_ERROR_INTERNAL || status == RQL_ERROR_HOST);
	rql_error_clear(&err);
	rql_scan_free(scan);
	rql_arena_free(arena);
	column_free(&c);
	free(values);
}

/* Integers 0, 1, ... 299999. */
static struct column ascending(void)
{
	static int32_t values[300000];
	for (int32_t i = 0; i < 300000; i++)
		values[i] = i;
	return column_of(RQL_TYPE_INTEGER, values, 4, 300000);
}

/* Sorted values: a narrow range reads few blocks, and the price says so. */
static void test_skipping(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	struct column c = ascending();
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_conjunct range = {.test = RQL_TEST_IN_RANGE, .least = 150000, .greatest = 151000};
	struct rql_request request = {
		.snapshot = c.snapshot, .conjunct_count = 1, .conjuncts = &range, .agg_count = 1, .aggs = &count};
	struct rql_cost narrow, whole;
	struct rql_scan_counts counts;
	struct rql_scan *scan = NULL;
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port answer;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, &counts, &err), &err);
	assert_true(answer.aggs[0].integer[0] == 1001);
	assert_true(counts.blocks - counts.blocks_skipped <= 2);
	assert_int_equal(counts.rows_passed, 1001);
	rql_scan_price(scan, &device, &rql_profile_guess.scan, &narrow);
	rql_scan_free(scan);
	range.least = 0;
	range.greatest = 299998;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	rql_scan_price(scan, &device, &rql_profile_guess.scan, &whole);
	assert_true(narrow.run_ns < whole.run_ns && narrow.runs < whole.runs);
	rql_scan_free(scan);
	/* A join whose keys lie in one place. */
	int64_t keys[2] = {7, 12000};
	struct rql_lookup join = {.kind = RQL_LOOKUP_SEMI};
	struct rql_map *map = NULL;
	ok(rql_map_build(keys, NULL, 2, &map, &err), &err);
	join.map = map;
	request.conjunct_count = 0;
	request.lookup_count = 1;
	request.lookups = &join;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, &counts, &err), &err);
	assert_true(answer.aggs[0].integer[0] == 2);
	assert_true(counts.blocks_skipped > counts.blocks / 2);
	rql_scan_free(scan);
	rql_map_free(map);
	rql_arena_free(arena);
	column_free(&c);
}

/* A map to build: every row that passes once, beside the group that its value makes. */
static void check_keyed(const struct rql_request *request, unsigned pool, uint64_t least, uint64_t greatest)
{
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, pool);
	struct rql_scan *scan = NULL;
	struct rql_port answer;
	struct rql_arena *arena = need(rql_arena_new());
	uint64_t rows = greatest - least + 1;
	ok(rql_scan_prepare(request, &device, &scan, &err), &err);
	for (unsigned again = 0; again < 2; again++) {
		bool *seen = need(calloc(rows, sizeof(*seen)));
		ok(rql_scan_run(scan, &device, NULL, arena, NULL, &answer, NULL, &err), &err);
		assert_int_equal(answer.keyed.count, rows);
		assert_int_equal(answer.keyed.nulls, 0);
		assert_int_equal(answer.group_count, request->group_count ? rows : 1);
		uint64_t listed = 0;
		for (uint64_t l = 0; l < answer.keyed.list_count; l++) {
			const struct rql_keyed_list *list = answer.keyed.lists[l];
			assert_int_equal(list->groups != NULL, request->group_count);
			for (uint64_t i = 0; i < list->count; i++, listed++) {
				uint64_t key = (uint64_t)list->keys[0][i];
				if (key < least || key > greatest || seen[key - least] ||
				    (list->groups && answer.keys[0][list->groups[i]] != key))
					fail_msg("row %llu has key %llu", (unsigned long long)i, (unsigned long long)key);
				seen[key - least] = true;
			}
		}
		assert_int_equal(listed, rows);
		free(seen);
	}
	rql_scan_free(scan);
	rql_arena_free(arena);
}

static void test_keyed(void **state)
{
	(void)state;
	const uint32_t rows = 200000;
	int64_t *values = need(malloc(rows * sizeof(*values)));
	for (uint32_t i = 0; i < rows; i++)
		values[(uint64_t)i * 7919 % rows] = i;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, rows);
	struct rql_group_key key = {.key_count = rows, .null_key = RQL_NONE};
	struct rql_conjunct range = {.test = RQL_TEST_IN_RANGE, .least = 777, .greatest = 150776};
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_request request = {.snapshot = c.snapshot, .group_count = 1, .groups = &key, .keyed = 1};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
	struct rql_scan *scan = NULL;
	struct rql_error err = {0};
	for (unsigned pool = UNDER_TSAN; pool < 2; pool++) {
		request.conjunct_count = 0;
		check_keyed(&request, pool, 0, rows - 1);
		request.conjunct_count = 1;
		request.conjuncts = &range;
		check_keyed(&request, pool, 777, 150776);
	}
	request.group_count = 0;
	check_keyed(&request, 1, 777, 150776);
	request.agg_count = 1;
	request.aggs = &count;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	request.agg_count = 0;
	request.group_count = 1;
	key.key_count = (uint32_t)RQL_KEYED_GROUPS + 1;
	request.conjunct_count = 0;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_UNSUPPORTED);
	rql_error_clear(&err);
	column_free(&c);
	free(values);
}

/* What the zone maps leave is sampled once for all that is prepared from a request. */
static void test_shared_sample(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	struct column c = ascending();
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_conjunct range = {.test = RQL_TEST_IN_RANGE, .least = 0, .greatest = 149999};
	struct rql_sample sample = {0};
	struct rql_request request = {.snapshot = c.snapshot,
	                              .conjunct_count = 1,
	                              .conjuncts = &range,
	                              .agg_count = 1,
	                              .aggs = &count,
	                              .sample = &sample};
	struct rql_cost cost;
	struct rql_scan *scan = NULL;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_true(sample.taken && sample.read_share > 0.45 && sample.read_share < 0.55);
	rql_scan_price(scan, &device, &rql_profile_guess.scan, &cost);
	/* All rows of those blocks pass: what was skipped is not dropped a second time. */
	assert_true(cost.cells > 140000 && cost.cells < 160000);
	rql_scan_free(scan);
	sample.read_share = 0.25;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	rql_scan_price(scan, &device, &rql_profile_guess.scan, &cost);
	assert_true(fabs(cost.runs - 0.25 * (double)c.snapshot->blocks) < 1e-6);
	rql_scan_free(scan);
	column_free(&c);
}

/* Whoever has counted the rows of the only condition is believed, whatever a sample would say. The maps are read. */
static void test_counted_rows(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	struct column c = ascending();
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_conjunct ranges[] = {{.test = RQL_TEST_IN_RANGE, .least = 0, .greatest = 149999},
	                                {.test = RQL_TEST_IN_RANGE, .least = 0, .greatest = 149998}};
	struct rql_sample sample = {.counted = true, .counted_share = 0.125};
	struct rql_request request = {.snapshot = c.snapshot,
	                              .conjunct_count = 1,
	                              .conjuncts = ranges,
	                              .agg_count = 1,
	                              .aggs = &count,
	                              .sample = &sample};
	struct rql_scan *scan = NULL;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_true(sample.taken && sample.read_share > 0.45 && sample.read_share < 0.55);
	assert_true(fabs(sample.pass * sample.read_share - 0.125) < 1e-9 && sample.steps[0] == sample.pass);
	rql_scan_free(scan);
	/* It was not counted for each of two. */
	sample = (struct rql_sample){.counted = true, .counted_share = 0.125};
	request.conjunct_count = 2;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_true(sample.taken && sample.pass * sample.read_share > 0.4);
	rql_scan_free(scan);
	column_free(&c);
}

/* Of rows in no order a sample says what passes: also of a dimension of which only the filtered rows are offered, of
 * skewed values, and of two conditions that hang together. */
static void test_sampled_rows(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	const uint32_t rows = 1u << 19;
	int32_t *values = need(malloc(rows * sizeof(*values)));
	int64_t keys[40];
	for (uint32_t i = 0; i < rows; i++) /* nine of ten are 5 */
		values[i] = i * 2654435761u >> 16 < 58982 ? 5 : (int32_t)(i * 2654435761u % 1000);
	for (int64_t k = 0; k < 40; k++)
		keys[k] = 25 * k + 3;
	struct column c = column_of(RQL_TYPE_INTEGER, values, 4, rows);
	struct rql_map *map = NULL;
	ok(rql_map_build(keys, NULL, 40, &map, &err), &err);
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_conjunct ranges[2] = {{.test = RQL_TEST_IN_RANGE, .least = 5, .greatest = 5},
	                                 {.test = RQL_TEST_IN_RANGE, .least = 4, .greatest = 6}};
	struct rql_lookup join = {.kind = RQL_LOOKUP_SEMI, .map = map};
	struct rql_sample sample = {0};
	struct rql_request request = {
		.snapshot = c.snapshot, .conjuncts = ranges, .agg_count = 1, .aggs = &count, .sample = &sample};
	struct rql_scan *scan = NULL;
	struct rql_cost cost;
	request.lookup_count = 1;
	request.lookups = &join;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err); /* a 25th of a tenth */
	rql_scan_price(scan, &device, &rql_profile_guess.scan, &cost);
	assert_true(cost.cells > 0.0005 * rows && cost.cells < 0.012 * rows);
	rql_scan_free(scan);
	request.lookup_count = 0;
	request.conjunct_count = 2;
	sample = (struct rql_sample){0};
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_true(sample.steps[0] > 0.85 && sample.steps[0] < 0.95 && sample.steps[1] > 0.85 && sample.steps[1] < 0.95);
	assert_true(sample.pass > 0.85 && sample.pass < 0.95); /* not 0.81 */
	assert_true(sample.costs[0] >= 0 && sample.costs[1] >= 0);
	rql_scan_free(scan);
	rql_map_free(map);
	free(values);
	column_free(&c);
}

/* How rows that pass lie: `together` neighbours have one value of a hundred. */
static double sampled_run(uint32_t together)
{
	enum { ROWS = 1 << 18 };
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	int32_t *values = need(malloc(ROWS * sizeof(*values)));
	for (uint32_t i = 0; i < ROWS; i++)
		values[i] = i % together ? values[i - 1] : (int32_t)roll(100);
	struct column c = column_of(RQL_TYPE_INTEGER, values, 4, ROWS);
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_conjunct ranges[2] = {{.test = RQL_TEST_IN_RANGE, .least = 7, .greatest = 7},
	                                 {.test = RQL_TEST_IN_RANGE, .least = 3, .greatest = 90}};
	struct rql_sample sample = {0};
	struct rql_request request = {.snapshot = c.snapshot,
	                              .conjunct_count = 2,
	                              .conjuncts = ranges,
	                              .agg_count = 1,
	                              .aggs = &count,
	                              .sample = &sample};
	struct rql_scan *scan = NULL;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_true(sample.runs[1] == 1); /* they are everywhere */
	assert_true(scan->steps[0].run == sample.runs[0]);
	rql_scan_free(scan);
	free(values);
	column_free(&c);
	return sample.runs[0];
}

static void test_sampled_runs(void **state)
{
	(void)state;
	random_state = 31;
	assert_true(sampled_run(1) == 1);
	double four = sampled_run(4), forty = sampled_run(40);
	assert_true(four > 2.5 && four < 6 && forty > 8);
}

static double price_of(const struct rql_request *request, const struct rql_scan_profile *profile)
{
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	struct rql_scan *scan = NULL;
	struct rql_cost cost;
	ok(rql_scan_prepare(request, &device, &scan, &err), &err);
	rql_scan_price(scan, &device, profile, &cost);
	rql_scan_free(scan);
	return cost.run_ns;
}

/* More rows, more of them that pass, groups, another aggregate: never a lower price. */
static void test_prices_rise(void **state)
{
	(void)state;
	skip_if_alone();
	const uint32_t most = 1u << 20;
	int32_t *values = need(malloc(most * sizeof(*values)));
	for (uint32_t i = 0; i < most; i++)
		values[i] = (int32_t)((uint64_t)i * 7919 % 100000);
	double of_rows = 0;
	for (uint32_t rows = 4096; rows <= most; rows *= 4) {
		struct column c = column_of(RQL_TYPE_INTEGER, values, 4, rows);
		struct rql_agg sums[2] = {{.kind = RQL_AGG_SUM}, {.kind = RQL_AGG_MIN}};
		struct rql_conjunct range = {.test = RQL_TEST_IN_RANGE};
		struct rql_group_key key = {.key_count = 100000, .null_key = RQL_NONE};
		struct rql_request request = {.snapshot = c.snapshot,
		                              .conjunct_count = 1,
		                              .conjuncts = &range,
		                              .agg_count = 1,
		                              .aggs = sums,
		                              .groups = &key};
		double before = 0;
		for (int32_t pass = 1; pass <= 100000; pass *= 10) {
			range.greatest = pass - 1;
			double price = price_of(&request, &rql_profile_guess.scan);
			assert_true(price > 0 && price >= before);
			request.group_count = 1;
			double grouped = price_of(&request, &rql_profile_guess.scan);
			assert_true(grouped > price);
			request.group_count = 0;
			request.agg_count = 2;
			assert_true(price_of(&request, &rql_profile_guess.scan) >= price);
			request.agg_count = 1;
			before = price;
		}
		assert_true(before > of_rows);
		of_rows = before;
		struct rql_scan_profile slow = rql_profile_guess.scan;
		slow.test_ns *= 10;
		range.greatest = 9;
		assert_true(price_of(&request, &slow) > price_of(&request, &rql_profile_guess.scan));
		column_free(&c);
	}
	free(values);
}

static void test_calibrate(void **state)
{
	(void)state;
	skip_if_alone();
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
	struct rql_scan_profile p = {.compile_ns = 3};
	ok(rql_scan_calibrate(&device, false, &p, &err), &err);
	assert_true(p.test_ns > 0 && p.value_ns > 0 && p.gather_ns > 0 && p.touch_ns > 0 && p.probe_ns > 0 &&
	            p.row_ns > 0 && p.group_ns > 0 && p.step_ns > 0 && p.block_ns > 0);
	assert_true(p.compile_ns == 3 && p.taken_row_ns == 0); /* a GPU's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_map_meets), cmocka_unit_test(test_sparse_maps),    cmocka_unit_test(test_kernels),     cmocka_unit_test(test_wide_sums),
		cmocka_unit_test(test_errors),  cmocka_unit_test(test_skipping),    cmocka_unit_test(test_random),
		cmocka_unit_test(test_narrowed_keys), cmocka_unit_test(test_narrowed_numbers),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_many_groups), cmocka_unit_test(test_wide_groups),
		cmocka_unit_test(test_keyed), cmocka_unit_test(test_map_parts), cmocka_unit_test(test_shared_sample),
		cmocka_unit_test(test_counted_rows), cmocka_unit_test(test_sampled_rows), cmocka_unit_test(test_sampled_runs),
		cmocka_unit_test(test_prices_rise),
		cmocka_unit_test(test_calibrate),
	};
	return cmocka_run_group_tests(tests, open_pools, close_pools);
}
