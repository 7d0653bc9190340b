/* Values as keys. */
#include "method/index/index_key.h"

#include <math.h>
#include <string.h>

/* ---- of one column ---- */

int64_t rql_index_of_real(double value)
{
	int64_t bits;
	value = value == 0 ? 0 : isnan(value) ? NAN : value;
	memcpy(&bits, &value, sizeof(bits));
	bits = isnan(value) ? bits & INT64_MAX : bits;
	return bits ^ (bits >> 63 & INT64_MAX);
}

int64_t rql_index_of_bound(const struct rql_store_view *view, uint64_t bound)
{
	double real;
	memcpy(&real, &bound, sizeof(real));
	return view->kind == RQL_STORE_REAL ? rql_index_of_real(real) : (int64_t)bound;
}

void rql_index_column_bounds(const struct rql_store_column *column, int64_t *least, int64_t *greatest)
{
	const bool coded = column->kind == RQL_STORE_CODED, real = column->kind == RQL_STORE_REAL;
	*least = coded ? 0 : real ? rql_index_of_real(column->real_least) : (int64_t)column->least;
	*greatest = coded  ? (int64_t)column->dimension->count - 1
	            : real ? rql_index_of_real(column->real_greatest)
	                   : (int64_t)column->greatest;
}

bool rql_index_can(const struct rql_store_column *column)
{
	return column->kind != RQL_STORE_INTEGER || !column->wide;
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
                          int64_t *out, uint64_t *valid)
{
	const uint32_t rows = view->blocks[block].rows;
	struct rql_store_view stored = *view;
	uint32_t codes[64];
	stored.translate = NULL;
	(void)rql_store_decode_validity(k, view, block, 0, rows, valid);
	if (view->kind != RQL_STORE_CODED)
		rql_index_decode(k, view, block, 0, rows, out);
	for (uint32_t at = 0, n; at < rows && view->kind == RQL_STORE_CODED; at += n) {
		n = rows - at < 64 ? rows - at : 64;
		rql_store_decode_codes(k, &stored, block, at, n, codes);
		for (uint32_t i = 0; i < n; i++)
			out[at + i] = codes[i];
	}
}

/* ---- keys ---- */

/* Codes count from 0 as they are stored; the others' bounds are in the blocks' descriptors. */
static struct rql_index_digit digit_of(const struct rql_store_segment *segment, uint32_t column)
{
	const struct rql_store_view *view = &segment->columns[column];
	int64_t least = 0, greatest = 0;
	bool some = false;
	for (uint32_t b = 0; b < segment->blocks; b++) {
		const struct rql_store_block *block = &view->blocks[b];
		const int64_t low = rql_index_of_bound(view, block->least[0]), high = rql_index_of_bound(view, block->greatest[0]);
		if (block->nulls == block->rows)
			continue;
		least = !some || low < least ? low : least;
		greatest = !some || high > greatest ? high : greatest;
		some = true;
	}
	least = view->kind == RQL_STORE_CODED ? 0 : least;
	const uint64_t distance = (uint64_t)greatest - (uint64_t)least;
	return (struct rql_index_digit){column, least, distance < UINT64_MAX - 1 ? distance + 2 : UINT64_MAX};
}

rql_status rql_index_key_make(const struct rql_store_segment *segment, const struct rql_index_of *of,
                              struct rql_index_key *out, struct rql_error *err)
{
	rql_uint128 combinations = 1;
	*out = (struct rql_index_key){.count = rql_index_columns(of)};
	for (uint32_t i = 0; i < out->count; i++) {
		out->digits[i] = digit_of(segment, rql_index_column(of, i));
		combinations *= out->digits[i].values;
		if (out->count > 1 && combinations > UINT64_MAX)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
			                     "the values of its %u key columns, each from its least to its greatest, have more than 2^64 "
			                     "combinations, and a key has 64 bits: leave the last columns out",
			                     out->count);
	}
	return RQL_OK;
}

void rql_index_key_read(const struct rql_index_key *key, const struct rql_store_kernels *k,
                        const struct rql_store_segment *segment, uint32_t block, int64_t *room, uint64_t *keys,
                        uint64_t *known)
{
	const uint32_t rows = segment->columns[key->digits[0].column].blocks[block].rows;
	uint64_t valid[RQL_STORE_BLOCK / 64];
	for (uint32_t i = 0; i < key->count; i++) {
		const struct rql_index_digit *digit = &key->digits[i];
		decode_stored(k, &segment->columns[digit->column], block, room, i ? valid : known);
		for (uint32_t r = 0; r < rows && key->count == 1; r++)
			keys[r] = (uint64_t)room[r] - (uint64_t)digit->least;
		for (uint32_t r = 0; r < rows && key->count > 1; r++) {
			const bool is_null = !((i ? valid : known)[r / 64] >> r % 64 & 1);
			const uint64_t value = is_null ? 0 : (uint64_t)room[r] - (uint64_t)digit->least + 1;
			keys[r] = (i ? keys[r] * digit->values : 0) + value;
		}
	}
}

/* Both ends as the segment stores them, and within what it has. False: it has no such value. */
static bool clamp(const struct rql_index_digit *digit, const struct rql_store_view *view, bool several,
                  struct rql_index_range *range)
{
	if (view->kind == RQL_STORE_CODED && view->translate) { /* ascending maps keep ranges together, and points */
		const rql_int128 behind = (rql_int128)range->greatest + 1;
		range->least = rql_store_stored_from(view, range->least);
		range->greatest = (int64_t)rql_store_stored_from(view, behind) - 1;
	}
	if (range->least > range->greatest || range->greatest < digit->least)
		return false;
	range->least = range->least > digit->least ? range->least : digit->least;
	const uint64_t last = digit->values - 2, low = (uint64_t)range->least - (uint64_t)digit->least;
	const uint64_t high = (uint64_t)range->greatest - (uint64_t)digit->least;
	if (several && low > last)
		return false;
	if (several && high > last)
		range->greatest = (int64_t)((uint64_t)digit->least + last);
	return true;
}

bool rql_index_key_range(const struct rql_index_key *key, const struct rql_store_segment *segment,
                         const struct rql_index_range *sought, uint32_t count, uint64_t *least, uint64_t *greatest)
{
	const bool several = key->count > 1;
	*least = *greatest = 0;
	for (uint32_t i = 0; i < key->count; i++) {
		const struct rql_index_digit *digit = &key->digits[i];
		struct rql_index_range range = i < count ? sought[i] : (struct rql_index_range){0, 0};
		if (i < count && !clamp(digit, &segment->columns[digit->column], several, &range))
			return false;
		const uint64_t low = i < count ? (uint64_t)range.least - (uint64_t)digit->least + several : 0;
		const uint64_t high = i < count ? (uint64_t)range.greatest - (uint64_t)digit->least + several : digit->values - 1;
		*least = i ? *least * digit->values + low : low;
		*greatest = i ? *greatest * digit->values + high : high;
	}
	return true;
}
