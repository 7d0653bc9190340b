/* Numbers of values and their bit planes. */
#include "method/scan/gpu/scan_planes.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "column/pack.h"
#include "expr/date.h"
#include "method/scan/gpu/scan_place.h"

/* Bits of a calendar number below the year's: four of the month, five of the day. */
#define YEAR_SHIFT 9u
#define MONTH_SHIFT 5u
/* A calendar number may be so much wider than the plain one. */
#define CALENDAR_BITS 2u

/* ---- numbers ---- */

static int64_t calendar_number(int64_t day)
{
	struct rql_civil c = rql_civil_of_days(day);
	return c.year * (1 << YEAR_SHIFT) + (c.month << MONTH_SHIFT) + c.day;
}

static bool is_null_code(const struct rql_scan_numbers *n, uint32_t code)
{
	return n->dates->has_null && code + 1 == n->dates->count;
}

static uint32_t number_at(const struct rql_scan_numbers *n, uint64_t i)
{
	if (!n->calendar)
		return (uint32_t)i;
	if (!n->dates)
		return (uint32_t)(calendar_number(n->first + (int64_t)i) - n->epoch);
	uint32_t code = n->translate ? n->translate[i] : (uint32_t)i;
	if (is_null_code(n, code)) /* the last; the year before it ends at a power of two */
		return i ? (number_at(n, i - 1) | ((1u << YEAR_SHIFT) - 1)) + 1 : 0;
	return (uint32_t)(calendar_number((int64_t)rql_column_get(&n->dates->values, code).integer) - n->epoch);
}

/* Makes them calendar numbers if the dates from `least` to `greatest` are finite and not much wider so. */
static void try_calendar(struct rql_scan_numbers *n, int64_t least, int64_t greatest)
{
	struct rql_scan_numbers c = *n;
	if (least <= -RQL_DAY_INFINITY || greatest >= RQL_DAY_INFINITY || least > greatest)
		return;
	c.calendar = true;
	c.epoch = rql_civil_of_days(least).year * (1 << YEAR_SHIFT);
	/* one year more: NULL's number may lie there */
	if (calendar_number(greatest) + (1 << YEAR_SHIFT) - c.epoch > INT32_MAX)
		return;
	c.bits = rql_bits_for(number_at(&c, c.count - 1));
	if (c.bits <= n->bits + CALENDAR_BITS)
		*n = c;
}

static void coded_numbers(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                          uint32_t column, struct rql_scan_numbers *n)
{
	const struct rql_dimension *d = snapshot->columns[column].dimension;
	const struct rql_store_view *view = &segment->columns[column];
	/* The dictionary may have got codes behind those of the segment since. */
	*n = (struct rql_scan_numbers){.count = view->stored_codes};
	n->count = n->count ? n->count : 1;
	n->bits = rql_bits_for(n->count - 1);
	if (snapshot->columns[column].type.id != RQL_TYPE_DATE)
		return;
	n->dates = d;
	n->translate = view->translate;
	uint64_t last = n->count - 1;
	uint32_t first_code = view->translate ? view->translate[0] : 0;
	if (last && is_null_code(n, view->translate ? view->translate[last] : (uint32_t)last))
		last--;
	uint32_t last_code = view->translate ? view->translate[last] : (uint32_t)last;
	if (!is_null_code(n, first_code) && !is_null_code(n, last_code))
		try_calendar(n, (int64_t)rql_column_get(&d->values, first_code).integer,
		             (int64_t)rql_column_get(&d->values, last_code).integer);
}

/* What the store makes of a block's values: the least one and the width. */
void rql_scan_numbers_of_block(const struct rql_store_block *b, struct rql_scan_numbers *out)
{
	uint32_t bits = rql_scan_placed_bits(b);
	*out = (struct rql_scan_numbers){.first = (int64_t)(b->encoding == RQL_STORE_DELTA ? b->least[0] : b->base[0]),
	                                 .bits = bits,
	                                 .count = bits < 64 ? UINT64_C(1) << bits : UINT64_MAX};
}

static bool is_int64(const uint64_t *value)
{
	return value[1] == ((int64_t)value[0] < 0 ? UINT64_MAX : 0);
}

/* Of integers, when that hardly takes more planes than numbers of their own do, which few blocks then have: one of few
 * rows that lacks the least value, one of NULLs. */
static bool integer_numbers(const struct rql_store_segment *segment, uint32_t column, bool date,
                            struct rql_scan_numbers *n)
{
	const struct rql_store_view *view = &segment->columns[column];
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	uint64_t widest = 0, own = 0;
	for (uint32_t i = 0; i < segment->blocks; i++) {
		const struct rql_store_block *b = &view->blocks[i];
		uint64_t bits = rql_scan_placed_bits(b);
		if (b->nulls == b->rows)
			continue; /* NULLs have any number */
		own += bits;
		if (!is_int64(b->least) || !is_int64(b->greatest))
			return false;
		least = (int64_t)b->least[0] < least ? (int64_t)b->least[0] : least;
		greatest = (int64_t)b->greatest[0] > greatest ? (int64_t)b->greatest[0] : greatest;
		widest = bits > widest ? bits : widest;
	}
	if (least > greatest || (uint64_t)greatest - (uint64_t)least >= UINT32_MAX)
		return false;
	*n = (struct rql_scan_numbers){.first = least, .count = (uint64_t)greatest - (uint64_t)least + 1};
	n->bits = rql_bits_for(n->count - 1);
	if (date)
		try_calendar(n, least, greatest);
	return n->calendar || (n->bits <= widest && n->bits * (segment->blocks - UINT64_C(1)) <= own + own / 8);
}

bool rql_scan_numbers_of_segment(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                                 uint32_t column, struct rql_scan_numbers *out)
{
	const struct rql_store_column *c = &snapshot->columns[column];
	if (c->kind != RQL_STORE_CODED)
		return c->kind == RQL_STORE_INTEGER && integer_numbers(segment, column, c->type.id == RQL_TYPE_DATE, out);
	coded_numbers(snapshot, segment, column, out);
	return true;
}

struct rql_scan_numbering rql_scan_numbering_of(const struct rql_store_snapshot *snapshot,
                                                const struct rql_store_segment *segment, uint32_t column)
{
	struct rql_scan_numbering numbering = {0};
	numbering.shared = rql_scan_numbers_of_segment(snapshot, segment, column, &numbering.numbers);
	return numbering;
}

struct rql_scan_numbers rql_scan_numbers_in(const struct rql_scan_numbering *numbering,
                                            const struct rql_store_block *block)
{
	struct rql_scan_numbers numbers = numbering->numbers;
	if (!numbering->shared)
		rql_scan_numbers_of_block(block, &numbers);
	return numbers;
}

uint32_t rql_scan_numbers_widest(const struct rql_store_snapshot *snapshot, uint32_t column)
{
	uint32_t widest = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		struct rql_scan_numbers n;
		bool shared = rql_scan_numbers_of_segment(snapshot, segment, column, &n);
		for (uint32_t b = 0; b < (shared ? 1 : segment->blocks); b++) {
			if (!shared)
				rql_scan_numbers_of_block(&segment->columns[column].blocks[b], &n);
			widest = n.bits > widest ? n.bits : widest;
		}
	}
	return widest;
}

/* ---- ranges ---- */

static uint32_t mask_of(uint32_t bits)
{
	return bits >= 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
}

struct rql_scan_range rql_scan_numbers_range(const struct rql_scan_numbers *n, rql_int128 low, rql_int128 high)
{
	const struct rql_scan_range none = {UINT32_MAX, 0}; /* empty also without its low bits */
	const rql_int128 end = n->first + (rql_int128)n->count;
	/* Outside the numbers' values first: the least value of all, less one of them, is no number. */
	if (low > high || low >= end || high < n->first)
		return none;
	low = low <= n->first ? 0 : low - n->first;
	high = high >= end ? (rql_int128)n->count - 1 : high - n->first;
	/* From just above the number before, and to just below the one after. */
	uint32_t first = number_at(n, (uint64_t)low), last = number_at(n, (uint64_t)high);
	uint32_t from = low ? number_at(n, (uint64_t)low - 1) + 1 : 0;
	uint32_t to = high + 1 < (rql_int128)n->count ? number_at(n, (uint64_t)high + 1) - 1 : mask_of(n->bits);
	uint32_t zeros = n->bits, ones = n->bits;
	while ((first & ~mask_of(zeros)) < from)
		zeros--;
	while ((last | mask_of(ones)) > to)
		ones--;
	return (struct rql_scan_range){first & ~mask_of(zeros), last | mask_of(ones)};
}

struct rql_scan_range rql_scan_range_rounded(struct rql_scan_range range, uint32_t planes)
{
	if (range.low > range.high)
		return range;
	return (struct rql_scan_range){range.low & ~mask_of(planes), range.high | mask_of(planes)};
}

/* Values whose numbers are below `number`: the first ones, since numbers ascend. */
static uint64_t values_below(const struct rql_scan_numbers *n, uint64_t number)
{
	uint64_t low = 0, high = n->count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (number_at(n, middle) < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t rql_scan_numbers_within(const struct rql_scan_numbers *n, struct rql_scan_range range)
{
	return range.low > range.high ? 0 : values_below(n, (uint64_t)range.high + 1) - values_below(n, range.low);
}

uint32_t rql_scan_planes_wanted(const struct rql_scan_numbers *n, const struct rql_scan_range *ranges, uint32_t count)
{
	uint32_t wanted = 0, all = mask_of(n->bits);
	for (uint32_t r = 0; r < count; r++) {
		uint32_t ends = ranges[r].low | (~ranges[r].high & all);
		if (ranges[r].low <= ranges[r].high && ends)
			wanted |= all & ~mask_of((uint32_t)__builtin_ctz(ends));
	}
	return wanted;
}

/* ---- planes ---- */

uint32_t *rql_scan_numbers_table(const struct rql_scan_numbers *n)
{
	uint64_t count = n->count < RQL_SCAN_NUMBER_TABLE ? n->count : RQL_SCAN_NUMBER_TABLE;
	uint32_t *table = n->calendar ? malloc(count * sizeof(*table)) : NULL;
	for (uint64_t i = 0; table && i < count; i++)
		table[i] = number_at(n, i);
	return table;
}

/* Bits k of byte `byte` of 16 numbers, for k from 0 to count - 1. */
static void slice_16(const uint32_t *numbers, uint32_t byte, uint32_t count, uint16_t *bits)
{
#if defined(__SSE2__)
	const __m128i low = _mm_set1_epi32(0xff), shift = _mm_cvtsi32_si128((int)(8 * byte));
	__m128i four[4];
	for (uint32_t i = 0; i < 4; i++)
		four[i] = _mm_and_si128(_mm_srl_epi32(_mm_loadu_si128((const __m128i *)(const void *)numbers + i), shift), low);
	__m128i bytes = _mm_packus_epi16(_mm_packs_epi32(four[0], four[1]), _mm_packs_epi32(four[2], four[3]));
	for (uint32_t k = 0; k < count; k++) /* neighbours' bits that shift in stay below the top */
		bits[k] = (uint16_t)_mm_movemask_epi8(_mm_sll_epi16(bytes, _mm_cvtsi32_si128((int)(7 - k))));
#else
	for (uint32_t k = 0; k < count; k++) {
		bits[k] = 0;
		for (uint32_t i = 0; i < 16; i++)
			bits[k] = (uint16_t)(bits[k] | (numbers[i] >> (8 * byte + k) & 1) << i);
	}
#endif
}

static void slice(const uint32_t *numbers, uint32_t bits, uint32_t *planes)
{
	const uint32_t words = RQL_STORE_BLOCK / 32;
	for (uint32_t byte = 0; byte * 8 < bits; byte++) {
		uint32_t count = bits - byte * 8 < 8 ? bits - byte * 8 : 8;
		for (uint32_t word = 0; word < words; word++) {
			uint16_t low[8], high[8];
			slice_16(numbers + word * 32, byte, count, low);
			slice_16(numbers + word * 32 + 16, byte, count, high);
			for (uint32_t k = 0; k < count; k++)
				planes[(byte * 8 + k) * words + word] = low[k] | (uint32_t)high[k] << 16;
		}
	}
}

static uint32_t number_of(const struct rql_scan_numbers *n, const uint32_t *table, uint64_t i)
{
	return !n->calendar ? (uint32_t)i : table && i < RQL_SCAN_NUMBER_TABLE ? table[i] : number_at(n, i);
}

bool rql_scan_planes_write(const struct rql_scan_numbers *n, const uint32_t *table,
                           const struct rql_store_kernels *kernels, const struct rql_store_view *view, uint32_t block,
                           uint32_t *planes)
{
	struct work {
		int64_t values[RQL_STORE_BLOCK];
		uint32_t numbers[RQL_STORE_BLOCK];
	} *w = malloc(sizeof(*w));
	if (!w)
		return false;
	struct rql_store_view stored = *view; /* its own codes, not the snapshot's */
	uint32_t rows = view->blocks[block].rows;
	stored.translate = NULL;
	if (view->kind != RQL_STORE_CODED && view->blocks[block].nulls == rows) {
		memset(w->numbers, 0, rows * sizeof(*w->numbers)); /* its values may have no number */
	} else if (view->kind == RQL_STORE_CODED) {
		rql_store_decode_codes(kernels, &stored, block, 0, rows, w->numbers);
		for (uint32_t row = 0; n->calendar && row < rows; row++)
			w->numbers[row] = number_of(n, table, w->numbers[row]);
	} else {
		rql_store_decode_int64(kernels, &stored, block, 0, rows, w->values);
		for (uint32_t row = 0; row < rows; row++)
			w->numbers[row] = number_of(n, table, (uint64_t)w->values[row] - (uint64_t)n->first);
	}
	memset(w->numbers + rows, 0, (RQL_STORE_BLOCK - rows) * sizeof(*w->numbers));
	slice(w->numbers, n->bits, planes);
	free(w);
	return true;
}
