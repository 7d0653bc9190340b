/* Groups against plain loops: every kind of state, in an array of few, of many, in a hash table that is emptied on the way,
 * with numbers of 128 bits; several workers merged; extremes of every type; what is wanted; an answer's order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "group/groups.h"

__extension__ typedef __int128 wide;

static uint64_t random_state = 42;

static uint64_t drawn(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

enum { STATES = RQL_STATE_MAX_FIELD + 1, WORKERS = 3, BATCH = 500 };

struct shape {
	const char *what;
	uint64_t groups; /* possible ones, of two keys of which the second has 8 */
	uint32_t rows;   /* of each worker */
	bool hashed, wide, one_by_one;
};

/* What a group should hold, by the group's number among the possible ones. */
struct wanted {
	uint64_t count, sum;
	int64_t least, greatest;
	wide wide_sum, wide_least, wide_greatest;
	double real_sum, real_least, real_greatest;
	uint64_t field_least, field_greatest;
};

struct value {
	int64_t narrow;
	wide wide;
	double real;
	uint64_t field;
};

static struct value draw_value(void)
{
	static const int64_t ends[] = {INT64_MIN, INT64_MAX, 0, -1};
	const uint64_t r = drawn();
	struct value v = {.narrow = r % 7 ? (int64_t)drawn() : ends[r / 7 % 4], .real = (double)(r % 1000) - 500};
	v.wide = (wide)v.narrow * (INT64_C(1) << r % 50);
	v.field = r % 5 ? drawn() : UINT64_MAX;
	if (r % 11 == 0)
		v.real = r % 2 ? __builtin_nan("") : -__builtin_inf();
	return v;
}

static bool below(double a, double b)
{
	return a == a && (b != b || a < b);
}

static void want(struct wanted *w, const struct value *v)
{
	const bool first = w->count++ == 0;
	w->sum += (uint64_t)v->narrow;
	w->wide_sum += v->wide;
	w->real_sum += v->real;
	w->least = first || v->narrow < w->least ? v->narrow : w->least;
	w->greatest = first || v->narrow > w->greatest ? v->narrow : w->greatest;
	w->wide_least = first || v->wide < w->wide_least ? v->wide : w->wide_least;
	w->wide_greatest = first || v->wide > w->wide_greatest ? v->wide : w->wide_greatest;
	w->real_least = first || below(v->real, w->real_least) ? v->real : w->real_least;
	w->real_greatest = first || below(w->real_greatest, v->real) ? v->real : w->real_greatest;
	w->field_least = first || v->field < w->field_least ? v->field : w->field_least;
	w->field_greatest = first || v->field > w->field_greatest ? v->field : w->field_greatest;
}

/* A row that holds this value alone: what adds rows adds values. */
static void add(const struct rql_groups_layout *layout, uint64_t *row, const struct value *v)
{
	uint64_t one[2 * STATES + 1] = {0};
	for (uint32_t s = 0; s < layout->state_count; s++) {
		uint64_t *word = one + layout->states[s].word;
		switch (layout->states[s].kind) {
		case RQL_STATE_COUNT:
			*word = 1;
			break;
		case RQL_STATE_SUM_WIDE:
		case RQL_STATE_MIN_WIDE:
		case RQL_STATE_MAX_WIDE:
			memcpy(word, &v->wide, 16);
			break;
		case RQL_STATE_SUM_REAL:
		case RQL_STATE_MIN_REAL:
		case RQL_STATE_MAX_REAL:
			memcpy(word, &v->real, 8);
			break;
		case RQL_STATE_MIN_FIELD:
		case RQL_STATE_MAX_FIELD:
			*word = v->field;
			break;
		default:
			*word = (uint64_t)v->narrow;
		}
	}
	assert_true(rql_states_add(layout->states, layout->state_count, row, one));
}

#define BASE ((wide)INT64_MIN * 4)

static struct rql_groups_layout lay(const struct shape *s, struct rql_arena *arena)
{
	struct rql_error err = {0};
	struct rql_groups_layout layout = {.group_count = s->groups,
	                                   .hashed = s->hashed,
	                                   .wide = s->wide,
	                                   .row_words = 1,
	                                   .state_count = STATES,
	                                   .value_count = STATES,
	                                   .key_count = 2};
	layout.states = RQL_NEW_ARRAY(arena, struct rql_state, STATES);
	layout.values = RQL_NEW_ARRAY(arena, struct rql_groups_value, STATES);
	layout.keys = RQL_NEW_ARRAY(arena, struct rql_groups_key, 2);
	for (uint32_t i = 0; i < STATES; i++) {
		layout.states[i] = (struct rql_state){.kind = (enum rql_state_kind)i, .word = layout.row_words, .base = BASE};
		layout.row_words += rql_state_words((enum rql_state_kind)i);
		const bool real = i == RQL_STATE_SUM_REAL || i == RQL_STATE_MIN_REAL || i == RQL_STATE_MAX_REAL;
		layout.values[i] = (struct rql_groups_value){
			.kind = real ? RQL_MEASURE_REAL : RQL_MEASURE_INTEGER, .state = i, .valid = RQL_STATE_COUNT};
	}
	layout.keys[0] = (struct rql_groups_key){.key_count = s->groups / 8, .stride = 8, .shift = 64, .bits = 32, .wide = s->wide};
	layout.keys[1] = (struct rql_groups_key){.key_count = 8, .stride = 1, .bits = 3, .first_key = s->wide ? 0 : 100};
	assert_int_equal(rql_groups_lay(&layout, arena, &err), RQL_OK);
	assert_false(layout.row_zero);
	return layout;
}

static void fill(const struct shape *s, struct rql_groups *g, struct wanted *wanted)
{
	uint64_t low[BATCH], high[BATCH], *rows[BATCH];
	for (uint32_t done = 0; done < s->rows; done += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++) {
			low[i] = drawn() % s->groups;
			high[i] = s->wide ? low[i] / 8 : 0;
		}
		uint64_t numbers[BATCH];
		for (uint32_t i = 0; i < BATCH; i++)
			numbers[i] = s->wide ? low[i] % 8 : low[i];
		assert_true(s->one_by_one ? rql_groups_reserve(g, BATCH) : rql_groups_rows(g, numbers, high, BATCH, rows));
		for (uint32_t i = 0; i < BATCH; i++) {
			const struct value v = draw_value();
			if (s->one_by_one)
				(rows[i] = rql_groups_row(g, numbers[i]))[0]++;
			add(g->layout, rows[i], &v);
			want(&wanted[low[i]], &v);
		}
	}
}

static bool same_real(double a, double b)
{
	return a == b || (a != a && b != b);
}

static void check(const struct shape *s, const struct rql_port *port, const struct wanted *wanted)
{
	uint64_t found = 0, before = 0;
	for (uint64_t i = 0; i < s->groups; i++)
		found += wanted[i].count != 0;
	assert_int_equal(port->group_count, found);
	assert_int_equal(port->sorted_keys, found > RQL_GROUPS_SORTED && s->hashed ? 0 : 2);
	for (uint64_t g = 0; g < found; g++) {
		const uint64_t first = s->wide ? port->wide_keys[0][g] : port->keys[0][g];
		const uint64_t number = first * 8 + port->keys[1][g] - (s->wide ? 0 : 100);
		const struct wanted *w = &wanted[number];
		assert_true(!port->sorted_keys || g == 0 || number > before);
		before = number;
		const struct rql_agg_values *a = port->aggs;
		assert_true(a[RQL_STATE_MIN].valid[g / 64] >> g % 64 & 1);
		assert_true(a[RQL_STATE_COUNT].integer[g] == (wide)w->count && a[RQL_STATE_SUM].integer[g] == (int64_t)w->sum);
		assert_true(a[RQL_STATE_MIN].integer[g] == w->least && a[RQL_STATE_MAX].integer[g] == w->greatest);
		assert_true(a[RQL_STATE_SUM_WIDE].integer[g] == w->wide_sum);
		assert_true(a[RQL_STATE_MIN_WIDE].integer[g] == w->wide_least);
		assert_true(a[RQL_STATE_MAX_WIDE].integer[g] == w->wide_greatest);
		assert_true(same_real(a[RQL_STATE_SUM_REAL].real[g], w->real_sum));
		assert_true(same_real(a[RQL_STATE_MIN_REAL].real[g], w->real_least));
		assert_true(same_real(a[RQL_STATE_MAX_REAL].real[g], w->real_greatest));
		assert_true(a[RQL_STATE_MIN_FIELD].integer[g] == BASE + w->field_least);
		assert_true(a[RQL_STATE_MAX_FIELD].integer[g] == BASE + w->field_greatest);
	}
}

static const struct shape shapes[] = {{"few, in copies", 24, 4000, .one_by_one = false},
                                      {"few, one by one", 24, 4000, .one_by_one = true},
                                      {"runs", 80000, 20000, .one_by_one = false},
                                      {"runs, one by one", 80000, 20000, .one_by_one = true},
                                      {"hashed, few", 800, 4000, .hashed = true},
                                      {"hashed, emptied on the way", 8000, 20000, .hashed = true},
                                      {"hashed, one by one", 80000, 40000, .hashed = true, .one_by_one = true},
                                      {"hashed, unordered", 800000, 40000, .hashed = true},
                                      {"numbers of 128 bits", 8000, 20000, .hashed = true, .wide = true},
                                      {"no rows", 24, 0, .hashed = false}};

static void merges(void **unused)
{
	(void)unused;
	struct rql_error err = {0};
	struct rql_pool *pool;
	assert_int_equal(rql_pool_new(2, &pool, &err), RQL_OK);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *s = &shapes[i];
		struct rql_arena *arena = rql_arena_new();
		const struct rql_groups_layout layout = lay(s, arena);
		struct rql_groups groups[WORKERS], *all[WORKERS];
		struct wanted *wanted = calloc(s->groups, sizeof *wanted);
		struct rql_port port;
		assert_true(arena && wanted);
		for (uint32_t w = 0; w < WORKERS; w++) {
			all[w] = &groups[w];
			assert_true(rql_groups_init(all[w], &layout, NULL));
			fill(s, all[w], wanted);
			if (!layout.hashed)
				rql_groups_fold(all[w]);
		}
		assert_int_equal(rql_groups_merge(all, WORKERS, pool, &err), RQL_OK);
		groups[0].pool = i % 2 ? pool : NULL;
		assert_int_equal(rql_groups_answer(&groups[0], arena, &port, &err), RQL_OK);
		print_message("%s: %llu groups\n", s->what, (unsigned long long)port.group_count);
		check(s, &port, wanted);
		for (uint32_t w = 0; w < WORKERS; w++)
			rql_groups_free(all[w]);
		free(wanted);
		rql_arena_free(arena);
	}
	rql_pool_free(pool);
}

/* The one group of a request without keys; a list as GPUs give it, out of order; a sum that leaves 128 bits. */
static void edges(void **unused)
{
	(void)unused;
	struct rql_error err = {0};
	struct rql_arena *arena = rql_arena_new();
	const struct shape few = {"edges", 24, 0, .hashed = false};
	struct rql_groups_layout layout = lay(&few, arena);
	uint64_t keys[] = {21, 3}, *rows = RQL_NEW_ARRAY(arena, uint64_t, 2 * layout.row_words);
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(rows + i * layout.row_words, layout.row_template, layout.row_words * sizeof *rows);
		rows[i * layout.row_words] = i + 1;
	}
	struct rql_groups list = {.layout = &layout, .rows = rows, .keys = keys, .capacity = 2, .copies = 1, .ready = true};
	struct rql_port port;
	assert_int_equal(rql_groups_answer(&list, arena, &port, &err), RQL_OK);
	assert_true(port.group_count == 2 && port.keys[0][0] == 0 && port.keys[1][0] == 102 && port.keys[0][1] == 2);
	assert_true(port.aggs[RQL_STATE_MIN].valid[0] == 0); /* no value in either */

	layout.scalar = true;
	layout.key_count = 0;
	struct rql_groups none = {.layout = &layout, .rows = layout.row_template, .capacity = 1, .copies = 1, .ready = true};
	assert_int_equal(rql_groups_answer(&none, arena, &port, &err), RQL_OK);
	assert_true(port.group_count == 1 && port.aggs[RQL_STATE_SUM].valid[0] == 0);

	const struct rql_state sum = {.kind = RQL_STATE_SUM_WIDE, .word = 1};
	uint64_t into[3] = {1, UINT64_MAX, INT64_MAX}, from[3] = {1, 1, 0};
	assert_false(rql_states_add(&sum, 1, into, from));
	assert_true(into[0] == 2 && into[1] == 0 && into[2] == (uint64_t)INT64_MIN);
	rql_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(merges), cmocka_unit_test(edges)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
