/* Filters of one block. The descriptor decides what it can; then the bounds move into the block's own terms (stored
 * codes, offsets from its base) and a kernel compares packed fields without decoding them. Runs are tested once each,
 * steps are summed first. */
#include "column/store/store_internal.h"

#include <math.h>

#define MOST_EDGES 8u

/* A filter in a block's terms. */
struct test {
	enum rql_store_match match; /* SOME: go on */
	rql_int128 least, greatest; /* stored values, within the block's bounds */
	const uint64_t *set;        /* over the snapshot's codes */
	uint32_t edge_count;        /* of a set of few intervals: [edges[0], edges[1]), [edges[2], edges[3]), ...; else 0 */
	uint32_t edges[MOST_EDGES];
	double real_least, real_greatest; /* no NaN; empty when least > greatest */
	bool nan;
	bool negate; /* the rows outside [least, greatest] pass */
};

static rql_int128 least_of(const struct rql_store_block *block)
{
	return rql_store_wide(block->least);
}
static rql_int128 greatest_of(const struct rql_store_block *block)
{
	return rql_store_wide(block->greatest);
}

/* ---- what the descriptor says, NULLs aside ---- */

static struct test bound_integers(const struct rql_store_view *view, const struct rql_store_block *block,
                                  rql_int128 least, rql_int128 greatest)
{
	struct test test = {.match = RQL_MATCH_SOME};
	rql_int128 low = least_of(block), high = greatest_of(block);
	if (rql_store_less(view->type, greatest, low) || rql_store_less(view->type, high, least) ||
	    rql_store_less(view->type, greatest, least)) {
		test.match = RQL_MATCH_NONE;
		return test;
	}
	test.least = rql_store_less(view->type, least, low) ? low : least;
	test.greatest = rql_store_less(view->type, high, greatest) ? high : greatest;
	if (test.least == low && test.greatest == high)
		test.match = RQL_MATCH_ALL;
	return test;
}

uint32_t rql_store_stored_from(const struct rql_store_view *view, rql_int128 code)
{
	uint32_t low = 0, high = view->stored_codes;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if ((rql_int128)view->translate[middle] < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct test bound_codes(const struct rql_store_view *view, const struct rql_store_block *block, uint32_t least,
                               uint32_t greatest)
{
	struct test none = {.match = RQL_MATCH_NONE};
	if (greatest < least)
		return none;
	int64_t low = least, high = greatest;
	if (view->translate) {
		low = rql_store_stored_from(view, least);
		high = greatest == UINT32_MAX ? (int64_t)view->stored_codes - 1 : (int64_t)rql_store_stored_from(view, greatest + 1) - 1;
		if (high < low)
			return none;
	}
	low = low < (int64_t)block->least[0] ? (int64_t)block->least[0] : low;
	high = high > (int64_t)block->greatest[0] ? (int64_t)block->greatest[0] : high;
	if (high < low)
		return none;
	bool all = low == (int64_t)block->least[0] && high == (int64_t)block->greatest[0];
	return (struct test){.match = all ? RQL_MATCH_ALL : RQL_MATCH_SOME, .least = low, .greatest = high};
}

/* Where the set begins and ends within the codes [low, high]. Not asked of more than this many words: it would take
 * longer than the rows. */
#define SET_WORDS 256u

static struct test bound_set(const struct rql_store_view *view, const struct rql_store_block *block,
                             const uint64_t *set)
{
	struct test test = {.match = RQL_MATCH_SOME, .set = set};
	uint64_t low = block->least[0], high = block->greatest[0], before = 0;
	if (view->translate) {
		low = view->translate[low];
		high = view->translate[high];
	}
	if (high / 64 - low / 64 >= SET_WORDS)
		return test;
	for (uint64_t w = low / 64; w <= high / 64; w++) {
		uint64_t word = set[w];
		if (w == low / 64)
			word &= UINT64_MAX << (low & 63);
		if (w == high / 64)
			word &= UINT64_MAX >> (63 - (high & 63));
		for (uint64_t changes = word ^ (word << 1 | before); changes; changes &= changes - 1) {
			if (test.edge_count == MOST_EDGES) {
				test.edge_count = 0;
				return test;
			}
			test.edges[test.edge_count++] = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(changes);
		}
		before = word >> 63;
	}
	if (test.edge_count % 2) /* up to the last bit of a word */
		test.edges[test.edge_count++] = (uint32_t)high + 1;
	if (!test.edge_count)
		test.match = RQL_MATCH_NONE;
	else if (test.edge_count == 2 && test.edges[0] == low && test.edges[1] == high + 1)
		test.match = RQL_MATCH_ALL;
	return test;
}

static struct test bound_reals(const struct rql_store_block *block, double least, double greatest)
{
	struct test test = {.match = RQL_MATCH_SOME, .real_least = least, .real_greatest = greatest};
	uint64_t low = rql_real_place(rql_store_real(block->least[0])),
			 high = rql_real_place(rql_store_real(block->greatest[0])), from = rql_real_place(least),
			 to = rql_real_place(greatest);
	if (to < low || high < from || to < from)
		test.match = RQL_MATCH_NONE;
	else if (from <= low && high <= to)
		test.match = RQL_MATCH_ALL;
	test.nan = isnan(greatest);
	if (isnan(greatest))
		test.real_greatest = (double)INFINITY;
	if (isnan(least)) { /* NaN alone */
		test.real_least = (double)INFINITY;
		test.real_greatest = -(double)INFINITY;
	}
	return test;
}

static struct test bound_null(const struct rql_store_view *view, const struct rql_store_block *block, bool null)
{
	struct test test = {.match = RQL_MATCH_SOME, .negate = !null};
	if (!block->nulls)
		test.match = null ? RQL_MATCH_NONE : RQL_MATCH_ALL;
	else if (block->nulls == block->rows)
		test.match = null ? RQL_MATCH_ALL : RQL_MATCH_NONE;
	test.least = test.greatest = view->kind == RQL_STORE_CODED ? view->null_code : 0;
	return test;
}

static struct test bound(const struct rql_store_view *view, const struct rql_store_block *block,
                         const struct rql_store_filter *filter)
{
	struct test test;
	switch (filter->kind) {
	case RQL_FILTER_IS_NULL:
		return bound_null(view, block, true);
	case RQL_FILTER_IS_NOT_NULL:
		return bound_null(view, block, false);
	case RQL_FILTER_CODE_RANGE:
		return bound_codes(view, block, filter->code_least, filter->code_greatest);
	case RQL_FILTER_CODE_SET:
		return bound_set(view, block, filter->set);
	case RQL_FILTER_INTEGER_RANGE:
		test = bound_integers(view, block, filter->least, filter->greatest);
		break;
	default:
		test = bound_reals(block, filter->real_least, filter->real_greatest);
	}
	if (block->nulls == block->rows) /* of INTEGER and REAL */
		test.match = RQL_MATCH_NONE;
	return test;
}

enum rql_store_match rql_store_may_match(const struct rql_store_view *view, uint32_t block,
                                         const struct rql_store_filter *filter)
{
	const struct rql_store_block *b = &view->blocks[block];
	struct test test = bound(view, b, filter);
	bool integers = filter->kind == RQL_FILTER_INTEGER_RANGE || filter->kind == RQL_FILTER_REAL_RANGE;
	return test.match == RQL_MATCH_ALL && integers && b->nulls ? RQL_MATCH_SOME : test.match;
}

/* ---- the rows ---- */

static const uint8_t *data_of(const struct rql_store_view *view, const struct rql_store_block *block)
{
	return view->bytes + (uint64_t)block->data * RQL_STORE_ALIGN;
}

static void clear_range(uint64_t *mask, uint32_t first, uint32_t end)
{
	while (first < end) {
		uint32_t at = first & 63, n = 64 - at < end - first ? 64 - at : end - first;
		mask[first >> 6] &= ~(rql_bit_mask(n) << at);
		first += n;
	}
}

static bool run_passes(const struct rql_store_view *view, const struct rql_store_block *block, const struct test *test,
                       uint64_t field)
{
	if (view->kind == RQL_STORE_REAL) {
		double x;
		field += block->base[0]; /* of CONSTANT; else 0 */
		if (view->type.id == RQL_TYPE_FLOAT) {
			uint32_t bits = (uint32_t)field;
			float f;
			memcpy(&f, &bits, 4);
			x = (double)f;
		} else {
			x = rql_store_real(field);
		}
		return (x >= test->real_least && x <= test->real_greatest) || (test->nan && isnan(x));
	}
	rql_int128 value = (rql_int128)((rql_uint128)rql_store_wide(block->base) + field);
	if (test->set) {
		uint64_t code = view->translate ? view->translate[value] : (uint64_t)value;
		return rql_bit(test->set, code);
	}
	bool in = !rql_store_less(view->type, value, test->least) && !rql_store_less(view->type, test->greatest, value);
	return in != test->negate;
}

static void filter_runs(const struct rql_store_view *view, const struct rql_store_block *block, const struct test *test,
                        uint32_t first, uint32_t count, uint64_t *mask)
{
	const uint8_t *data = data_of(view, block);
	const uint16_t *ends = (const uint16_t *)(const void *)data;
	const struct rql_packed values = {.data = (uint8_t *)(uintptr_t)data + RQL_STORE_RUN_BYTES(block->runs),
	                                  .bits = block->bits};
	uint32_t run = rql_store_find_run(ends, block->runs, first), row = first, last = first + count;
	for (; row < last; run++) {
		uint32_t end = ends[run] < last ? ends[run] : last;
		if (!run_passes(view, block, test, rql_packed_field(&values, run)))
			clear_range(mask, row - first, end - first);
		row = end;
	}
}

/* The complement of a range needs a copy of the mask. */
static void range_words(const struct rql_store_kernels *k, const uint8_t *data, uint32_t bits, uint32_t words,
                        uint64_t low, uint64_t span, bool negate, uint64_t *mask)
{
	uint64_t inside[RQL_STORE_WORDS];
	if (!negate) {
		k->range(data, bits, words, low, span, mask);
		return;
	}
	memcpy(inside, mask, words * sizeof(*inside));
	k->range(data, bits, words, low, span, inside);
	for (uint32_t w = 0; w < words; w++)
		mask[w] &= ~inside[w];
}

static void filter_steps(const struct rql_store_kernels *k, const struct rql_store_view *view,
                         const struct rql_store_block *block, const struct test *test, uint32_t first, uint32_t count,
                         uint64_t *mask)
{
	uint64_t part[RQL_STORE_DELTA_GROUP] = {0};
	for (uint32_t done = 0; done < count; done += RQL_STORE_DELTA_GROUP) {
		uint32_t n = count - done < RQL_STORE_DELTA_GROUP ? count - done : RQL_STORE_DELTA_GROUP;
		rql_store_decode_words(k, view, block, first + done, n, part);
		for (uint32_t i = n; i < rql_round64(n); i++)
			part[i] = block->least[0];
		if (test->set && view->translate) {
			for (uint32_t i = 0; i < rql_round64(n); i++)
				part[i] = view->translate[part[i]];
		}
		if (test->set)
			for (uint32_t i = 0; i < n; i++)
				mask[(done + i) / 64] &= ~((uint64_t)!rql_bit(test->set, part[i]) << i % 64);
		else
			range_words(k, (const uint8_t *)part, 64, rql_round64(n) / 64, (uint64_t)test->least,
			            (uint64_t)test->greatest - (uint64_t)test->least, test->negate, mask + done / 64);
	}
}

static void filter_raw128(const struct rql_store_view *view, const struct rql_store_block *block,
                          const struct test *test, uint32_t first, uint32_t count, uint64_t *mask)
{
	rql_uint128 low = (rql_uint128)test->least - (rql_uint128)rql_store_wide(block->base),
				span = (rql_uint128)test->greatest - (rql_uint128)test->least;
	const uint8_t *at = data_of(view, block) + (uint64_t)first * 16;
	for (uint32_t i = 0; i < count; i++, at += 16) {
		rql_uint128 field;
		memcpy(&field, at, 16);
		if (field - low > span)
			rql_bit_clear(mask, i);
	}
}

/* Few intervals: each at the speed of a range. */
static void filter_intervals(const struct rql_store_kernels *k, const uint8_t *data,
                             const struct rql_store_block *block, const struct test *test, uint32_t words,
                             uint64_t *mask)
{
	uint64_t pass[RQL_STORE_WORDS] = {0}, part[RQL_STORE_WORDS];
	for (uint32_t i = 0; i < test->edge_count; i += 2) {
		memcpy(part, mask, words * sizeof(*part));
		k->range(data, block->bits, words, test->edges[i] - block->base[0], test->edges[i + 1] - 1 - test->edges[i],
		         part);
		for (uint32_t w = 0; w < words; w++)
			pass[w] |= part[w];
	}
	memcpy(mask, pass, words * sizeof(*pass));
}

#define SET_REGISTERS 8u /* bits, up to which every kernel keeps a set in registers */

static void filter_set(const struct rql_store_kernels *k, const struct rql_store_view *view,
                       const struct rql_store_block *block, const struct test *test, uint32_t first, uint32_t count,
                       uint64_t *mask)
{
	const uint8_t *data = data_of(view, block) + (uint64_t)first / 8 * block->bits;
	uint32_t words = rql_round64(count) / 64, base = (uint32_t)block->base[0], last = (uint32_t)block->greatest[0];
	if (!view->translate) {
		if (test->edge_count && (block->bits > SET_REGISTERS || test->edge_count == 2))
			filter_intervals(k, data, block, test, words, mask);
		else
			k->in_set(data, block->bits, words, base, last, test->set, mask);
		return;
	}
	/* The set over the stored codes, where they are fewer than the rows. */
	if (last - base < RQL_STORE_BLOCK) {
		uint64_t stored[RQL_STORE_WORDS] = {0};
		for (uint32_t i = 0; i <= last - base; i++) {
			uint32_t code = view->translate[base + i];
			rql_bit_or(stored, i, rql_bit(test->set, code));
		}
		k->in_set(data, block->bits, words, 0, last - base, stored, mask);
		return;
	}
	for (uint32_t w = 0; w < words; w++, data += 8 * block->bits) {
		uint32_t codes[64];
		if (!mask[w])
			continue;
		k->unpack32(data, block->bits, 1, base, codes);
		k->translate(codes, 64, view->translate);
		for (uint64_t left = mask[w]; left; left &= left - 1) {
			uint32_t i = (uint32_t)__builtin_ctzll(left);
			mask[w] &= ~((uint64_t)!rql_bit(test->set, codes[i]) << i);
		}
	}
}

static void filter_packed(const struct rql_store_kernels *k, const struct rql_store_view *view,
                          const struct rql_store_block *block, const struct test *test, uint32_t first, uint32_t count,
                          uint64_t *mask)
{
	uint32_t words = rql_round64(count) / 64;
	const uint8_t *data = data_of(view, block) + (uint64_t)first / 8 * block->bits;
	if (view->kind == RQL_STORE_REAL) {
		if (view->type.id == RQL_TYPE_FLOAT)
			k->range_float(data, words, test->real_least, test->real_greatest, test->nan, mask);
		else
			k->range_double(data, words, test->real_least, test->real_greatest, test->nan, mask);
	} else if (test->set) {
		filter_set(k, view, block, test, first, count, mask);
	} else if (block->bits == 128) {
		filter_raw128(view, block, test, first, count, mask);
	} else {
		range_words(k, data, block->bits, words, (uint64_t)test->least - block->base[0],
		            (uint64_t)test->greatest - (uint64_t)test->least, test->negate, mask);
	}
}

/* NULL rows lose their bit, or with `null` all others. */
static void filter_bitmap(const struct rql_store_view *view, const struct rql_store_block *block, bool null,
                          uint32_t first, uint32_t words, uint64_t *mask)
{
	const uint8_t *bitmap = view->bytes + (uint64_t)block->validity * RQL_STORE_ALIGN + first / 8;
	for (uint32_t w = 0; w < words; w++) {
		uint64_t valid;
		memcpy(&valid, bitmap + w * 8, 8);
		mask[w] &= null ? ~valid : valid;
	}
}

static enum rql_store_match left_over(uint64_t *mask, uint32_t count)
{
	uint64_t any = 0;
	if (count % 64)
		mask[count / 64] &= rql_bit_mask(count % 64);
	for (uint32_t w = 0; w < rql_round64(count) / 64; w++)
		any |= mask[w];
	return any ? RQL_MATCH_SOME : RQL_MATCH_NONE;
}

enum rql_store_match rql_store_filter(const struct rql_store_kernels *k, const struct rql_store_view *view,
                                      uint32_t block, const struct rql_store_filter *filter, uint32_t first,
                                      uint32_t count, uint64_t *mask)
{
	const struct rql_store_block *b = &view->blocks[block];
	struct test test = bound(view, b, filter);
	uint32_t words = rql_round64(count) / 64;
	bool about_null = filter->kind == RQL_FILTER_IS_NULL || filter->kind == RQL_FILTER_IS_NOT_NULL;
	bool bitmap = view->kind != RQL_STORE_CODED && b->nulls; /* not all: bound() has seen that */
	if (test.match == RQL_MATCH_NONE) {
		memset(mask, 0, words * sizeof(*mask));
		return RQL_MATCH_NONE;
	}
	if (test.match == RQL_MATCH_ALL && (!bitmap || about_null))
		return RQL_MATCH_ALL;
	if (bitmap)
		filter_bitmap(view, b, filter->kind == RQL_FILTER_IS_NULL, first, words, mask);
	if (test.match == RQL_MATCH_ALL || (bitmap && about_null))
		return left_over(mask, count);
	if (b->encoding == RQL_STORE_RUNS)
		filter_runs(view, b, &test, first, count, mask);
	else if (b->encoding == RQL_STORE_DELTA)
		filter_steps(k, view, b, &test, first, count, mask);
	else if (b->encoding == RQL_STORE_PACKED)
		filter_packed(k, view, b, &test, first, count, mask);
	else if (!run_passes(view, b, &test, 0)) /* CONSTANT: only where a bound is not the descriptor's */
		memset(mask, 0, words * sizeof(*mask));
	return left_over(mask, count);
}
