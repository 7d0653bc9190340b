/* Conditions as ranges of keys. */
#include "method/sieve/sieve_predicate.h"

#include <stdlib.h>

uint32_t rql_sieve_predicate_column(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c)
{
	const bool program = c->test == RQL_TEST_IS_TRUE;
	const uint32_t column = !program ? c->index : c->ranges.ranges ? c->ranges.column : c->list.column;
	if ((program && ((!c->list.values && !c->ranges.ranges) || c->or_null)) || column >= snapshot->column_count ||
	    !rql_sieve_can(&snapshot->columns[column]))
		return RQL_NONE;
	const enum rql_store_kind kind = snapshot->columns[column].kind;
	switch (c->test) {
	case RQL_TEST_IN_CODES:
		return kind == RQL_STORE_CODED ? column : RQL_NONE;
	case RQL_TEST_IN_RANGE:
		return kind != RQL_STORE_REAL ? column : RQL_NONE;
	case RQL_TEST_IN_REALS:
		return kind == RQL_STORE_REAL ? column : RQL_NONE;
	case RQL_TEST_IS_NULL:
	case RQL_TEST_IS_NOT_NULL:
		return column;
	case RQL_TEST_IS_TRUE:
		return kind == RQL_STORE_INTEGER || (kind == RQL_STORE_REAL && c->ranges.ranges) ? column : RQL_NONE;
	}
	return RQL_NONE;
}

/* ---- ranges ---- */
static rql_status new_ranges(struct rql_sieve_predicate *p, uint64_t count, struct rql_error *err)
{
	if (count > RQL_SIEVE_RANGES_MOST)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "it asks for more than %u ranges", RQL_SIEVE_RANGES_MOST);
	p->ranges = malloc((count + 1) * sizeof(*p->ranges));
	return p->ranges ? RQL_OK : rql_error_memory(err, count * sizeof(*p->ranges), "ranges of a sieve");
}

/* Ascending; one may begin with the key that ends the last, where values share it. */
static void put(struct rql_sieve_predicate *p, uint64_t least, uint64_t greatest)
{
	struct rql_sieve_range *last = p->count ? &p->ranges[p->count - 1] : NULL;
	if (last && (last->greatest == UINT64_MAX || last->greatest + 1 >= least))
		last->greatest = greatest > last->greatest ? greatest : last->greatest;
	else
		p->ranges[p->count++] = (struct rql_sieve_range){least, greatest};
}

static uint32_t codes_of(const struct rql_store_column *column)
{
	return column->dimension->count - column->dimension->has_null;
}

static rql_status take_codes(const struct rql_store_column *column, const uint64_t *codes,
                             struct rql_sieve_predicate *out, struct rql_error *err)
{
	const uint32_t count = codes_of(column);
	uint64_t runs = 0;
	for (uint32_t at = rql_bits_next(codes, count, 0, true); at < count; runs++)
		at = rql_bits_next(codes, count, rql_bits_next(codes, count, at, false), true);
	RQL_TRY(new_ranges(out, runs, err));
	for (uint32_t at = rql_bits_next(codes, count, 0, true); at < count;) {
		uint32_t end = rql_bits_next(codes, count, at, false);
		put(out, at, end - 1);
		at = rql_bits_next(codes, count, end, true);
	}
	return RQL_OK;
}

/* The integers that have keys. */
#define LEAST_WIDE ((rql_int128)((rql_uint128)1 << 127))
#define GREATEST_WIDE ((rql_int128)(((rql_uint128)1 << 127) - 1))
static rql_int128 least_of(const struct rql_store_column *column)
{
	return rql_sieve_is_wide(column->type) ? LEAST_WIDE : column->type.id == RQL_TYPE_UBIGINT ? 0 : INT64_MIN;
}
static rql_int128 greatest_of(const struct rql_store_column *column)
{
	return rql_sieve_is_wide(column->type)          ? GREATEST_WIDE
	       : column->type.id == RQL_TYPE_UBIGINT ? (rql_int128)UINT64_MAX
	                                             : (rql_int128)INT64_MAX;
}

/* ---- exact ---- */
/* Does no value outside the range have a key of one inside? */
static bool is_exact_range(rql_int128 least, rql_int128 greatest)
{
	const bool below = least == LEAST_WIDE || rql_sieve_wide_key(least - 1) != rql_sieve_wide_key(least);
	const bool above = greatest == GREATEST_WIDE || rql_sieve_wide_key(greatest + 1) != rql_sieve_wide_key(greatest);
	return least > greatest || (below && above);
}

bool rql_sieve_predicate_exact(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c)
{
	const struct rql_store_column *column = &snapshot->columns[rql_sieve_predicate_column(snapshot, c)];
	bool exact = true;
	if (column->kind != RQL_STORE_INTEGER || !rql_sieve_is_wide(column->type))
		return true;
	if (c->test == RQL_TEST_IN_RANGE)
		return is_exact_range(c->least, c->greatest);
	for (uint32_t i = 0; c->test == RQL_TEST_IS_TRUE && c->ranges.ranges && i < c->ranges.count; i++)
		exact = exact && is_exact_range(c->ranges.ranges[i].least, c->ranges.ranges[i].greatest);
	for (uint32_t i = 0; c->test == RQL_TEST_IS_TRUE && !c->ranges.ranges && i < c->list.count; i++)
		exact = exact && is_exact_range(c->list.values[i], c->list.values[i]);
	return exact;
}

static rql_status take_range(const struct rql_store_column *column, rql_int128 least, rql_int128 greatest,
                             struct rql_sieve_predicate *out, struct rql_error *err)
{
	const bool coded = column->kind == RQL_STORE_CODED;
	const rql_int128 low = coded ? 0 : least_of(column);
	const rql_int128 high = coded ? (rql_int128)codes_of(column) - 1 : greatest_of(column);
	least = least < low ? low : least;
	greatest = greatest > high ? high : greatest;
	RQL_TRY(new_ranges(out, 1, err));
	if (least <= greatest)
		put(out, coded ? (uint64_t)least : rql_sieve_value_key(column->type, least),
		    coded ? (uint64_t)greatest : rql_sieve_value_key(column->type, greatest));
	return RQL_OK;
}

static rql_status take_reals(double least, double greatest, struct rql_sieve_predicate *out, struct rql_error *err)
{
	RQL_TRY(new_ranges(out, 1, err));
	if (rql_sieve_real_key(least) <= rql_sieve_real_key(greatest))
		put(out, rql_sieve_real_key(least), rql_sieve_real_key(greatest));
	return RQL_OK;
}

/* Places of reals are keys; of integers the column has those that fit it. */
static rql_status take_ranges(const struct rql_store_column *column, const struct rql_value_ranges *ranges,
                              struct rql_sieve_predicate *out, struct rql_error *err)
{
	const bool real = column->kind == RQL_STORE_REAL;
	const rql_int128 low = real ? 0 : least_of(column), high = real ? (rql_int128)UINT64_MAX : greatest_of(column);
	RQL_TRY(new_ranges(out, ranges->count, err));
	for (uint32_t i = 0; i < ranges->count; i++) {
		const rql_int128 least = ranges->ranges[i].least < low ? low : ranges->ranges[i].least;
		const rql_int128 greatest = ranges->ranges[i].greatest > high ? high : ranges->ranges[i].greatest;
		if (least <= greatest)
			put(out, real ? (uint64_t)least : rql_sieve_value_key(column->type, least),
			    real ? (uint64_t)greatest : rql_sieve_value_key(column->type, greatest));
	}
	out->nulls = ranges->nulls;
	return RQL_OK;
}

static int by_least(const void *a, const void *b)
{
	uint64_t x = ((const struct rql_sieve_range *)a)->least, y = ((const struct rql_sieve_range *)b)->least;
	return (x > y) - (x < y);
}

static rql_status take_list(struct rql_type type, const struct rql_value_list *list, struct rql_sieve_predicate *out,
                            struct rql_error *err)
{
	RQL_TRY(new_ranges(out, list->count, err));
	struct rql_sieve_range *keys = out->ranges;
	for (uint32_t i = 0; i < list->count; i++)
		keys[i].least = rql_sieve_value_key(type, list->values[i]);
	if (list->count)
		qsort(keys, list->count, sizeof(*keys), by_least);
	for (uint32_t i = 0; i < list->count; i++) {
		const uint64_t key = keys[i].least; /* put writes no farther than it has been read */
		if (!out->count || out->ranges[out->count - 1].greatest != key)
			put(out, key, key);
	}
	return RQL_OK;
}

rql_status rql_sieve_predicate_make(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c,
                                    struct rql_sieve_predicate *out, struct rql_error *err)
{
	*out = (struct rql_sieve_predicate){.column = rql_sieve_predicate_column(snapshot, c), .nulls = c->or_null};
	const struct rql_store_column *column = &snapshot->columns[out->column];
	switch (c->test) {
	case RQL_TEST_IN_CODES:
		return take_codes(column, c->codes, out, err);
	case RQL_TEST_IN_RANGE:
		return take_range(column, c->least, c->greatest, out, err);
	case RQL_TEST_IN_REALS:
		return take_reals(c->real_least, c->real_greatest, out, err);
	case RQL_TEST_IS_NULL:
		out->nulls = true;
		return new_ranges(out, 0, err);
	case RQL_TEST_IS_NOT_NULL:
		RQL_TRY(new_ranges(out, 1, err));
		put(out, 0, UINT64_MAX);
		return RQL_OK;
	case RQL_TEST_IS_TRUE:
		break;
	}
	return c->ranges.ranges ? take_ranges(column, &c->ranges, out, err) : take_list(column->type, &c->list, out, err);
}

/* ---- in a segment ---- */
rql_status rql_sieve_predicate_in(const struct rql_sieve_predicate *predicate, const struct rql_store_view *view,
                                  struct rql_arena *arena, struct rql_sieve_predicate *out, struct rql_error *err)
{
	*out = *predicate;
	if (view->kind != RQL_STORE_CODED || !view->translate)
		return RQL_OK;
	out->ranges = RQL_NEW_ARRAY(arena, struct rql_sieve_range, predicate->count + 1);
	out->count = 0;
	if (!out->ranges)
		return rql_error_memory(err, predicate->count * sizeof(*out->ranges), "ranges of a sieve");
	for (uint32_t i = 0; i < predicate->count; i++) { /* ascending maps keep ranges together, and apart */
		const struct rql_sieve_range *range = &predicate->ranges[i];
		uint64_t least = rql_store_stored_from(view, range->least);
		uint64_t end = rql_store_stored_from(view, (rql_int128)range->greatest + 1);
		if (least < end)
			put(out, least, end - 1);
	}
	return RQL_OK;
}
