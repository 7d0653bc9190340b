/* Values as keys. */
#include "method/index/index_key.h"

#include "primitive/primitive.h"

#include <math.h>
#include <string.h>

/* ---- of one column ---- */

int64_t rql_index_of_real(double value)
{
	return rql_i64_of_key(rql_key_of_f64(value + 0.0)); /* -0.0 */
}

rql_int128 rql_index_of_place(rql_int128 place, bool least)
{
	const rql_int128 nan = rql_index_of_real(NAN), infinite = rql_index_of_real(HUGE_VAL);
	if (place < 0)
		return INT64_MIN;
	if (place >= (rql_int128)UINT64_MAX)
		return nan;
	const rql_int128 value = place + INT64_MIN, most = least ? nan : infinite;
	return value < most ? value : most;
}

static rql_int128 bound_of(const struct rql_store_view *view, const uint64_t bound[2])
{
	double real;
	memcpy(&real, bound, sizeof(real));
	const rql_int128 integer = (rql_int128)((rql_uint128)bound[1] << 64 | bound[0]);
	if (view->kind == RQL_STORE_REAL)
		return rql_index_of_real(real);
	return rql_index_is_lowered(view->kind, view->type) ? rql_uhugeint_place(integer) : integer;
}

uint64_t rql_index_segment_bounds(const struct rql_store_segment *segment, uint32_t column, rql_int128 *least,
                                  rql_int128 *greatest)
{
	const struct rql_store_view *view = &segment->columns[column];
	uint64_t rows = 0;
	*least = *greatest = 0;
	for (uint32_t b = 0; b < segment->blocks; b++) {
		const struct rql_store_block *block = &view->blocks[b];
		const rql_int128 low = bound_of(view, block->least), high = bound_of(view, block->greatest);
		if (block->nulls == block->rows)
			continue;
		*least = !rows || low < *least ? low : *least;
		*greatest = !rows || high > *greatest ? high : *greatest;
		rows += block->rows - block->nulls;
	}
	*least = view->kind == RQL_STORE_CODED ? 0 : *least;
	return rows;
}

void rql_index_column_bounds(const struct rql_store_column *column, rql_int128 *least, rql_int128 *greatest)
{
	const bool coded = column->kind == RQL_STORE_CODED, real = column->kind == RQL_STORE_REAL;
	*least = coded ? 0 : real ? rql_index_of_real(column->real_least) : column->least;
	*greatest = coded  ? (rql_int128)column->dimension->count - 1
	            : real ? rql_index_of_real(column->real_greatest)
	                   : column->greatest;
	if (rql_index_is_lowered(column->kind, column->type)) {
		*least = rql_uhugeint_place(*least);
		*greatest = rql_uhugeint_place(*greatest);
	}
}

void rql_index_decode_wide(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                           uint32_t first, uint32_t count, rql_int128 *out)
{
	rql_store_decode_int128(k, view, block, first, count, out);
	for (uint32_t i = 0; i < count && rql_index_is_lowered(view->kind, view->type); i++)
		out[i] = rql_uhugeint_place(out[i]);
}

void rql_index_decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                      uint32_t first, uint32_t count, int64_t *out)
{
	double reals[64];
	if (view->kind == RQL_STORE_INTEGER)
		rql_store_decode_int64(k, view, block, first, count, out);
	for (uint32_t at = 0, n; at < count && view->kind == RQL_STORE_REAL; at += n) {
		n = count - at < 64 ? count - at : 64;
		rql_store_decode_double(k, view, block, first + at, n, reals);
		for (uint32_t i = 0; i < n; i++)
			out[at + i] = rql_index_of_real(reals[i]);
	}
}

/* As they are stored: codes of a snapshot are other ones after an append. */
static void decode_stored(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                          bool wide, union rql_index_room *out, uint64_t *valid)
{
	const uint32_t rows = view->blocks[block].rows;
	struct rql_store_view stored = *view;
	uint32_t codes[64];
	stored.translate = NULL;
	(void)rql_store_decode_validity(k, view, block, 0, rows, valid);
	if (wide)
		rql_index_decode_wide(k, view, block, 0, rows, out->wide);
	else if (view->kind != RQL_STORE_CODED)
		rql_index_decode(k, view, block, 0, rows, out->narrow);
	for (uint32_t at = 0, n; at < rows && view->kind == RQL_STORE_CODED; at += n) {
		n = rows - at < 64 ? rows - at : 64;
		rql_store_decode_codes(k, &stored, block, at, n, codes);
		for (uint32_t i = 0; i < n; i++)
			out->narrow[at + i] = codes[i];
	}
}

/* ---- keys ---- */

/* Codes count from 0 as they are stored; the others' bounds are in the blocks' descriptors. */
static struct rql_index_digit digit_of(const struct rql_store_segment *segment, uint32_t column, rql_uint128 *span,
                                       uint64_t *rows)
{
	rql_int128 least, greatest;
	*rows = rql_index_segment_bounds(segment, column, &least, &greatest);
	*span = (rql_uint128)greatest - (rql_uint128)least;
	const struct rql_store_view *view = &segment->columns[column];
	const bool wide = least < INT64_MIN || greatest > INT64_MAX || rql_index_is_lowered(view->kind, view->type);
	return (struct rql_index_digit){.column = column, .least = least, .wide = wide};
}

/* Have all combinations of the digits a key of their own? */
static bool fit(const struct rql_index_key *key, const rql_uint128 *spans)
{
	rql_uint128 combinations = 1;
	for (uint32_t i = 0; i < key->count && combinations <= UINT64_MAX; i++) {
		const rql_uint128 last = spans[i] >> key->digits[i].shift;
		if (key->count == 1)
			return last <= UINT64_MAX;
		combinations = last <= UINT64_MAX - 2 ? combinations * (last + 2) : (rql_uint128)-1;
	}
	return combinations <= UINT64_MAX;
}

/* A column alone has places where it does not fit. Of several the widest digit loses bits until they do: its lowest ones
 * tell the fewest rows apart. */
void rql_index_key_make(const struct rql_store_segment *segment, const struct rql_index_of *of,
                        struct rql_index_key *out)
{
	rql_uint128 spans[RQL_INDEX_COLUMNS_MOST] = {0};
	uint64_t rows = 0;
	*out = (struct rql_index_key){.count = rql_index_columns(of)};
	for (uint32_t i = 0; i < out->count; i++)
		out->digits[i] = digit_of(segment, rql_index_column(of, i), &spans[i], &rows);
	if (out->count == 1 && !fit(out, spans)) {
		out->placed = true;
		out->digits[0].last = rows - 1;
		return;
	}
	while (!fit(out, spans)) {
		uint32_t widest = 0;
		for (uint32_t i = 1; i < out->count; i++)
			if (spans[i] >> out->digits[i].shift > spans[widest] >> out->digits[widest].shift)
				widest = i;
		out->digits[widest].shift++;
		out->prefix = true;
	}
	for (uint32_t i = 0; i < out->count; i++)
		out->digits[i].last = (uint64_t)(spans[i] >> out->digits[i].shift);
}

uint64_t rql_index_key_bound(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	struct rql_index_key key;
	uint64_t greatest = 0;
	rql_index_key_make(segment, of, &key);
	for (uint32_t i = 0; i < key.count; i++)
		greatest = i ? greatest * (key.digits[i].last + 2) + key.digits[i].last + 1
		             : key.digits[i].last + (key.count > 1);
	return greatest;
}

/* What is left of the value's distance from the least one. */
static rql_uint128 place_of(const struct rql_index_digit *digit, rql_int128 value)
{
	return ((rql_uint128)value - (rql_uint128)digit->least) >> digit->shift;
}

static uint64_t digit_at(const struct rql_index_digit *digit, const union rql_index_room *room, uint32_t row)
{
	return digit->wide ? (uint64_t)place_of(digit, room->wide[row])
	                   : ((uint64_t)room->narrow[row] - (uint64_t)digit->least) >> digit->shift;
}

void rql_index_key_read(const struct rql_index_key *key, const struct rql_store_kernels *k,
                        const struct rql_store_segment *segment, uint32_t block, union rql_index_room *room,
                        uint64_t *keys, uint64_t *known)
{
	const uint32_t rows = segment->columns[key->digits[0].column].blocks[block].rows;
	uint64_t valid[RQL_STORE_BLOCK / 64];
	for (uint32_t i = 0; i < key->count; i++) {
		const struct rql_index_digit *digit = &key->digits[i];
		const uint64_t *has_value = i ? valid : known;
		decode_stored(k, &segment->columns[digit->column], block, digit->wide, room, i ? valid : known);
		for (uint32_t r = 0; r < rows && key->count == 1; r++)
			keys[r] = digit_at(digit, room, r);
		for (uint32_t r = 0; r < rows && key->count > 1; r++) {
			const bool is_null = !rql_bit(has_value, r);
			keys[r] = (i ? keys[r] * (digit->last + 2) : 0) + (is_null ? 0 : digit_at(digit, room, r) + 1);
		}
	}
}

/* How many of the values are less. */
static uint64_t count_below(const struct rql_index_key *key, rql_int128 value)
{
	uint32_t low = 0, high = key->value_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (key->values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool find_places(const struct rql_index_key *key, struct rql_index_range range, uint64_t *least, uint64_t *greatest)
{
	*least = 0;
	*greatest = key->digits[0].last;
	if (!key->values)
		return true;
	*least = count_below(key, range.least);
	*greatest = *least; /* behind the last of them */
	if (range.greatest != range.least)
		*greatest = count_below(key, range.greatest);
	if (*greatest < key->value_count && key->values[*greatest] == range.greatest)
		++*greatest;
	return range.least <= range.greatest && *least < (*greatest)--;
}

/* A range as the segment stores it, in what it has, as digits without NULL's. False: it has no such value. */
static bool clamp(const struct rql_index_digit *digit, const struct rql_store_view *view, struct rql_index_range range,
                  uint64_t *low, uint64_t *high)
{
	if (view->kind == RQL_STORE_CODED && view->translate) { /* ascending maps keep ranges together, and points */
		range.least = rql_store_stored_from(view, range.least);
		range.greatest = (rql_int128)rql_store_stored_from(view, range.greatest + 1) - 1;
	}
	if (range.least > range.greatest || range.greatest < digit->least)
		return false;
	const rql_uint128 first = range.least > digit->least ? place_of(digit, range.least) : 0;
	const rql_uint128 last = place_of(digit, range.greatest);
	*low = (uint64_t)first;
	*high = last < digit->last ? (uint64_t)last : digit->last;
	return first <= digit->last;
}

bool rql_index_key_range(const struct rql_index_key *key, const struct rql_store_segment *segment,
                         const struct rql_index_range *sought, uint32_t count, uint64_t *least, uint64_t *greatest)
{
	const bool several = key->count > 1;
	if (key->placed)
		return find_places(key, sought[0], least, greatest);
	*least = *greatest = 0;
	for (uint32_t i = 0; i < key->count; i++) {
		const struct rql_index_digit *digit = &key->digits[i];
		uint64_t low = 0, high = digit->last + several;
		if (i < count) {
			if (!clamp(digit, &segment->columns[digit->column], sought[i], &low, &high))
				return false;
			low += several;
			high += several;
		}
		*least = i ? *least * (digit->last + 2) + low : low;
		*greatest = i ? *greatest * (digit->last + 2) + high : high;
	}
	return true;
}
