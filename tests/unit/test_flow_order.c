/* ORDER BY over vectors of every kind, against comparisons of whole values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "flow/rowset.h"
#include "util/sort.h"

enum { KEYS_MOST = 4, ROUNDS = 3000 };

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static uint64_t draw_word(void)
{
	return draw(UINT64_C(1) << 32) << 32 | draw(UINT64_C(1) << 32);
}

/* ---- values: how they spread decides what a word has room for ---- */

enum spread { FEW, SMALL, WIDE_SPREAD, EXTREMES, OUTLIER, CLUSTERS, EQUAL, SPREADS };

static rql_int128 draw_integer(enum spread spread, unsigned bits)
{
	rql_uint128 any = (rql_uint128)draw_word() << 64 | draw_word();
	switch (spread) {
	case FEW:
		return (rql_int128)draw(7) - 3;
	case SMALL:
		return (rql_int128)draw(100000) - 50000;
	case WIDE_SPREAD:
		break;
	case EXTREMES:
		any = draw(2) ? ~(rql_uint128)0 >> draw(3) : (rql_uint128)1 << (bits - 1 - draw(3));
		break;
	case OUTLIER:
		any = draw(40) ? draw(50) : any;
		break;
	case CLUSTERS: /* far from each other, near within */
		any = ((rql_uint128)draw(3) << (bits - 3)) + ((rql_uint128)draw(3) << (bits / 2)) + draw(5);
		break;
	default:
		return 42;
	}
	return (rql_int128)any;
}

static rql_int128 fit(rql_int128 value, struct rql_type type)
{
	unsigned bits = 8 * rql_type_bytes(type);
	if (bits == 128)
		return value;
	rql_uint128 low = (rql_uint128)value & (((rql_uint128)1 << bits) - 1);
	return rql_type_is_signed(type) && low >> (bits - 1) ? (rql_int128)(low - ((rql_uint128)1 << bits))
	                                                     : (rql_int128)low;
}

static double draw_real(enum spread spread)
{
	static const double odd[] = {-0.0, 0.0, 1, -1, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, 1e308, -1e308};
	double value;
	uint64_t bits = draw_word();
	switch (spread) {
	case FEW:
	case EXTREMES:
		return odd[draw(sizeof odd / sizeof *odd)];
	case WIDE_SPREAD:
		memcpy(&value, &bits, sizeof value); /* NaNs of every kind among them */
		return value;
	default:
		return (double)draw_integer(spread, 60) / 7;
	}
}

static const char *const words[] = {
	"", "a", "aa", "ab", "b", "ba", "much longer than twelve bytes", "much longer than 12"};
enum { WORDS = sizeof words / sizeof *words };

static const rql_type_id number_types[] = {RQL_TYPE_TINYINT, RQL_TYPE_INTEGER,  RQL_TYPE_BIGINT, RQL_TYPE_HUGEINT,
                                           RQL_TYPE_UBIGINT, RQL_TYPE_UHUGEINT, RQL_TYPE_DATE,   RQL_TYPE_UUID};

static struct rql_type draw_number_type(void)
{
	return rql_type_simple(number_types[draw(sizeof number_types / sizeof *number_types)]);
}

static struct rql_value draw_value(struct rql_type type, enum spread spread, bool nulls)
{
	struct rql_value v = {.type = type};
	if (nulls && draw(5) == 0)
		return rql_value_null(type);
	if (type.id == RQL_TYPE_VARCHAR) {
		v.string.data = words[spread == EQUAL ? 0 : draw(WORDS)];
		v.string.length = strlen(v.string.data);
	} else if (type.id == RQL_TYPE_INTERVAL) {
		v.interval = (struct rql_interval){(int32_t)draw(2), (int32_t)draw(40), (int64_t)draw(3) * 86400000000};
	} else if (type.id == RQL_TYPE_DOUBLE || type.id == RQL_TYPE_FLOAT) {
		v.real = draw_real(spread);
		v.real = type.id == RQL_TYPE_FLOAT ? (double)(float)v.real : v.real;
	} else {
		v.integer = fit(draw_integer(spread, 8 * rql_type_bytes(type)), type);
	}
	return v;
}

/* ---- vectors ---- */

struct world {
	struct rql_arena *arena;
	struct rql_batch *batches[KEYS_MOST]; /* entries of dictionaries */
	struct rql_vector vectors[KEYS_MOST];
	struct rql_expr refs[KEYS_MOST];
	struct rql_order orders[KEYS_MOST];
	uint32_t key_count, capacity;
	uint32_t *selection; /* NULL: all */
	uint64_t rows;
};

static uint64_t *draw_validity(struct world *w)
{
	uint64_t *valid = RQL_NEW_ARRAY(w->arena, uint64_t, w->capacity / 64 + 1);
	for (uint32_t i = 0; i < w->capacity / 64 + 1; i++)
		valid[i] = draw(8) ? draw_word() | draw_word() : 0;
	return valid;
}

static int compare_entries(const void *context, uint32_t a, uint32_t b)
{
	const struct rql_value *values = context;
	if (values[a].is_null || values[b].is_null)
		return (int)values[a].is_null - (int)values[b].is_null;
	return rql_value_compare(&values[a], &values[b]);
}

/* Codes of a dictionary, in order with NULL as its last entry or in any order. */
static void make_dictionary(struct world *w, uint32_t key, struct rql_vector *v, enum spread spread, bool nulls)
{
	enum { ENTRIES = 50 };
	struct rql_value values[ENTRIES];
	uint32_t order[ENTRIES], spare[ENTRIES];
	static const rql_type_id types[] = {RQL_TYPE_VARCHAR, RQL_TYPE_INTERVAL, RQL_TYPE_DOUBLE, RQL_TYPE_FLOAT};
	v->type = draw(2) ? draw_number_type() : rql_type_simple(types[draw(4)]);
	v->ordered = draw(2);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		values[i] = draw_value(v->type, spread, nulls && !v->ordered);
		order[i] = i;
	}
	if (v->ordered && nulls)
		values[0] = rql_value_null(v->type);
	if (v->ordered)
		rql_sort_items(order, spare, ENTRIES, compare_entries, values);
	struct rql_batch *batch = w->batches[key] = rql_batch_new(1, &v->type, ENTRIES);
	uint32_t *codes = RQL_NEW_ARRAY(w->arena, uint32_t, w->capacity), entries = 0;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		const struct rql_value *value = &values[order[i]];
		if (v->ordered && i && compare_entries(values, order[i - 1], order[i]) == 0)
			continue; /* a value has one code */
		if (value->is_null)
			assert_true(rql_batch_set_null(batch, 0, entries));
		else if (v->type.id == RQL_TYPE_VARCHAR)
			assert_true(rql_batch_set_string(batch, 0, entries, value->string.data, (uint32_t)value->string.length));
		else
			rql_column_put(&batch->columns[0], entries, value);
		entries++;
	}
	for (uint32_t i = 0; i < w->capacity; i++)
		codes[i] = (uint32_t)draw(entries);
	v->kind = RQL_VECTOR_CODES;
	v->codes = codes;
	v->values = &batch->columns[0];
	v->null_code = UINT32_MAX;
}

static void make_codes(struct world *w, struct rql_vector *v, enum spread spread, bool nulls)
{
	uint32_t *codes = RQL_NEW_ARRAY(w->arena, uint32_t, w->capacity), last = spread == FEW ? 3 : 100000;
	for (uint32_t i = 0; i < w->capacity; i++)
		codes[i] = (uint32_t)draw(last + 1);
	*v = (struct rql_vector){.kind = RQL_VECTOR_CODES,
	                         .type = rql_type_simple(RQL_TYPE_INTEGER),
	                         .codes = codes,
	                         .least = -5,
	                         .null_code = nulls ? last : UINT32_MAX,
	                         .ordered = true};
}

static void make_wide(struct world *w, struct rql_vector *v, enum spread spread, bool nulls)
{
	uint64_t *wide = RQL_NEW_ARRAY(w->arena, uint64_t, w->capacity), null = nulls ? draw(8) : UINT64_MAX;
	for (uint32_t i = 0; i < w->capacity; i++) {
		wide[i] = (uint64_t)draw_integer(spread, 64);
		wide[i] -= !nulls && wide[i] == null; /* that would be NULL */
	}
	*v = (struct rql_vector){.kind = RQL_VECTOR_WIDE,
	                         .type = rql_type_simple(RQL_TYPE_BIGINT),
	                         .wide = wide,
	                         .least = INT64_MIN,
	                         .null_wide = null};
}

static void make_numbers(struct world *w, struct rql_vector *v, enum spread spread, bool nulls)
{
	rql_int128 *integer = RQL_NEW_ARRAY(w->arena, rql_int128, w->capacity);
	double *real = RQL_NEW_ARRAY(w->arena, double, w->capacity);
	bool is_real = draw(3) == 0;
	v->kind = is_real ? RQL_VECTOR_REAL : RQL_VECTOR_INTEGER;
	v->type = is_real ? rql_type_simple(draw(2) ? RQL_TYPE_FLOAT : RQL_TYPE_DOUBLE) : draw_number_type();
	for (uint32_t i = 0; i < w->capacity; i++) {
		struct rql_value value = draw_value(v->type, spread, false);
		if (is_real)
			real[i] = value.real;
		else
			integer[i] = value.integer;
	}
	v->integer = is_real ? NULL : integer;
	v->real = is_real ? real : NULL;
	v->valid = nulls ? draw_validity(w) : NULL;
}

static void make_computed(struct world *w, struct rql_vector *v, enum spread spread, bool nulls)
{
	static const rql_type_id types[] = {RQL_TYPE_VARCHAR, RQL_TYPE_INTERVAL, RQL_TYPE_DOUBLE, RQL_TYPE_SQLNULL};
	v->kind = RQL_VECTOR_COLUMN;
	v->type = draw(2) ? draw_number_type() : rql_type_simple(types[draw(4)]);
	struct rql_column *column = RQL_NEW(w->arena, struct rql_column);
	*column = (struct rql_column){.type = v->type,
	                              .data = rql_arena_array(w->arena, w->capacity, rql_type_bytes(v->type)),
	                              .validity = RQL_NEW_ARRAY(w->arena, uint64_t, (w->capacity + 63) / 64)};
	v->values = column;
	for (uint32_t i = 0; i < w->capacity; i++) {
		struct rql_value value =
			v->type.id == RQL_TYPE_SQLNULL ? rql_value_null(v->type) : draw_value(v->type, spread, nulls);
		if (value.is_null)
			continue;
		rql_column_put(column, i, &value);
		column->validity[i >> 6] |= UINT64_C(1) << (i & 63);
	}
}

static void make_vector(struct world *w, uint32_t key)
{
	struct rql_vector *v = &w->vectors[key];
	enum spread spread = (enum spread)draw(SPREADS);
	bool nulls = draw(2);
	*v = (struct rql_vector){0};
	switch (draw(5)) {
	case 0:
		make_codes(w, v, spread, nulls);
		break;
	case 1:
		make_dictionary(w, key, v, spread, nulls);
		break;
	case 2:
		make_wide(w, v, spread, nulls);
		break;
	case 3:
		make_computed(w, v, spread, nulls);
		break;
	default:
		make_numbers(w, v, spread, nulls);
		break;
	}
}

static void make_selection(struct world *w)
{
	w->rows = w->capacity;
	if (draw(2))
		return;
	w->selection = RQL_NEW_ARRAY(w->arena, uint32_t, w->capacity);
	for (uint32_t i = 0; i < w->capacity; i++) { /* in any order */
		uint32_t other = (uint32_t)draw(i + 1);
		w->selection[i] = w->selection[other];
		w->selection[other] = i;
	}
	w->rows = draw(w->capacity + 1);
}

static void make_world(struct world *w)
{
	static const uint32_t most[] = {4, 40, 40, 400, 400, 3000};
	*w = (struct world){.arena = rql_arena_new(), .key_count = 1 + (uint32_t)draw(KEYS_MOST)};
	w->capacity = (uint32_t)draw(most[draw(6)]) + 1;
	for (uint32_t k = 0; k < w->key_count; k++) {
		make_vector(w, k);
		w->refs[k] = (struct rql_expr){.kind = RQL_EXPR_REF, .type = w->vectors[k].type, .index = k};
		w->orders[k] = (struct rql_order){
			.expr = &w->refs[k], .descending = draw(2), .nulls = draw(2) ? RQL_NULLS_FIRST : RQL_NULLS_LAST};
	}
	make_selection(w);
}

static void free_world(struct world *w)
{
	for (uint32_t k = 0; k < w->key_count; k++)
		rql_batch_release(w->batches[k]);
	rql_arena_free(w->arena);
}

/* ---- the rows in order ---- */

static int compare_rows(const void *context, uint32_t a, uint32_t b)
{
	const struct world *w = context;
	for (uint32_t k = 0; k < w->key_count; k++) {
		const struct rql_order *o = &w->orders[k];
		struct rql_value x = rql_vector_get(&w->vectors[k], a), y = rql_vector_get(&w->vectors[k], b);
		if (x.is_null != y.is_null)
			return x.is_null == (o->nulls == RQL_NULLS_FIRST) ? -1 : 1;
		int c = x.is_null ? 0 : rql_value_compare(&x, &y);
		if (c)
			return o->descending ? -c : c;
	}
	return 0;
}

static void check_limit(struct world *w, const uint32_t *expected, uint64_t limit)
{
	struct rql_rowset set = {.arena = w->arena,
	                         .capacity = w->capacity,
	                         .rows = w->rows,
	                         .selection = w->selection,
	                         .vector_count = w->key_count,
	                         .vectors = w->vectors};
	struct rql_error err = {0};
	struct rql_running r = {.arena = w->arena, .err = &err};
	assert_int_equal(rql_rowset_sort(&r, &set, w->orders, w->key_count, limit), RQL_OK);
	assert_int_equal(set.rows, limit < w->rows ? limit : w->rows);
	for (uint64_t i = 0; i < set.rows; i++)
		if (rql_rowset_row(&set, i) != expected[i])
			fail_msg("%u keys, the first of kind %d and type %s, %llu rows, limit %llu: row %llu is %u, not %u",
			         w->key_count, (int)w->vectors[0].kind, rql_type_id_name(w->vectors[0].type.id),
			         (unsigned long long)w->rows, (unsigned long long)limit, (unsigned long long)i,
			         rql_rowset_row(&set, i), expected[i]);
}

/* Also with a limit: rows with equal keys keep their order, so that there is one right answer. */
static void test_order_is_that_of_comparisons(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct world w;
		make_world(&w);
		uint32_t *expected = RQL_NEW_ARRAY(w.arena, uint32_t, w.rows),
				 *spare = RQL_NEW_ARRAY(w.arena, uint32_t, w.rows);
		for (uint64_t i = 0; i < w.rows; i++)
			expected[i] = w.selection ? w.selection[i] : (uint32_t)i;
		rql_sort_items(expected, spare, w.rows, compare_rows, &w);
		check_limit(&w, expected, UINT64_MAX);
		check_limit(&w, expected, 1);
		check_limit(&w, expected, draw(w.rows + 1));
		check_limit(&w, expected, draw(w.rows / 256 + 2));
		free_world(&w);
	}
}

/* Many rows: more bits for places than a key's values leave, and groups of equal words that are large themselves. */
static void test_words_without_room(void **state)
{
	enum { ROWS = 20000 };
	(void)state;
	for (int spread = 0; spread < SPREADS; spread++) {
		struct world w = {.arena = rql_arena_new(), .key_count = 3, .capacity = ROWS, .rows = ROWS};
		rql_int128 *high = RQL_NEW_ARRAY(w.arena, rql_int128, ROWS), *low = RQL_NEW_ARRAY(w.arena, rql_int128, ROWS);
		uint32_t *expected = RQL_NEW_ARRAY(w.arena, uint32_t, ROWS), *spare = RQL_NEW_ARRAY(w.arena, uint32_t, ROWS);
		for (uint32_t i = 0; i < ROWS; i++) {
			high[i] = draw_integer(CLUSTERS, 127);
			low[i] = draw_integer((enum spread)spread, 128);
			expected[i] = i;
		}
		for (uint32_t k = 0; k < w.key_count; k++) {
			w.vectors[k] = (struct rql_vector){
				.kind = RQL_VECTOR_INTEGER, .type = rql_type_simple(RQL_TYPE_HUGEINT), .integer = k == 1 ? low : high};
			w.refs[k] = (struct rql_expr){.kind = RQL_EXPR_REF, .index = k};
			w.orders[k] = (struct rql_order){.expr = &w.refs[k], .descending = k == 1, .nulls = RQL_NULLS_LAST};
		}
		rql_sort_items(expected, spare, ROWS, compare_rows, &w);
		check_limit(&w, expected, UINT64_MAX);
		check_limit(&w, expected, 30);
		free_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_is_that_of_comparisons),
		cmocka_unit_test(test_words_without_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
