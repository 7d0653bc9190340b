/* Order keys as strings of bits, most significant first, that compare as the order says. What is known of the values'
 * bounds keeps them short: most orders fit one word, and then a comparison of rows is one of words. */
#include "method/scan/rows/scan_rows_query.h"

#include <math.h>

#include "column/pack.h"

/* ---- binding ---- */

static void bind_integer(const struct rql_scan *scan, const struct rql_scan_operand *o, struct rql_rows_field *f)
{
	rql_int128 least = o->least, greatest = o->greatest;
	bool column = o->source.kind == RQL_SOURCE_COLUMN;
	if (o->kind == RQL_MEASURE_CODE) {
		/* NULL is the greatest code: where the order has it at that end, it needs no bit of its own. */
		const struct rql_scan_column *c = &scan->columns[scan->column_of[o->source.index]];
		f->flag = o->nullable && f->nulls_first != f->descending;
		rql_int128 codes = (rql_int128)c->codes - f->flag;
		least = 0;
		greatest = codes > 0 ? codes - 1 : 0;
	} else if (!column && least > greatest) { /* a program that promises nothing */
		least = o->lane == RQL_LANE_I64 ? INT64_MIN : (rql_int128)1 << 127;
		greatest = o->lane == RQL_LANE_I64 ? INT64_MAX : ~((rql_int128)1 << 127);
	}
	/* Unsigned and modulo 2^128: right for UHUGEINT's bits too. */
	f->span = (rql_uint128)greatest - (rql_uint128)least;
	f->base = (rql_uint128)(f->descending ? greatest : least);
	f->bits = rql_bits_for(f->span);
}

rql_status rql_rows_bind_order(struct rql_scan_rows *rows, const struct rql_request *request, const uint32_t *operands,
                               struct rql_error *err)
{
	const struct rql_scan *scan = rows->scan;
	for (uint32_t i = 0; i < request->order_count; i++) {
		const struct rql_row_order *order = &request->orders[i];
		const struct rql_scan_operand *o = &scan->operands[operands[i]];
		struct rql_rows_field *f = &rows->fields[rows->field_count++];
		*f = (struct rql_rows_field){
			.operand = operands[i],
			.column = o->source.kind == RQL_SOURCE_COLUMN ? o->source.index : RQL_NONE,
			.at = rows->key_bits,
			.flag = o->nullable,
			.nulls_first = order->nulls_first,
			.descending = order->descending,
			.real = o->kind == RQL_MEASURE_REAL,
			.bits = 64,
		};
		if (!f->real)
			bind_integer(scan, o, f);
		if (o->source.kind == RQL_SOURCE_PROGRAM)
			rows->ordering[o->source.index] = true;
		rows->key_bits += f->flag + f->bits;
		if (rows->key_bits > RQL_ROWS_KEY_WORDS * 64)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the order keys have more than %u bits",
			                     RQL_ROWS_KEY_WORDS * 64);
	}
	rows->key_words = rows->key_bits ? (rows->key_bits + 63) / 64 : 1;
	rows->words_per_entry = rows->key_words + 1;
	return RQL_OK;
}

/* ---- values to bits and back ---- */

/* Adds fields of `bits` bits, from bit `at` on, to n keys. */
static void put(uint64_t *keys, uint32_t at, uint32_t bits, const uint64_t *values, uint32_t n)
{
	uint64_t *word = keys + (size_t)(at / 64) * RQL_VECTOR_ROWS;
	uint32_t room = 64 - at % 64;
	if (bits == 0)
		return;
	if (bits <= room) {
		for (uint32_t i = 0; i < n; i++)
			word[i] |= values[i] << (room - bits);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		word[i] |= values[i] >> (bits - room);
		word[RQL_VECTOR_ROWS + i] |= values[i] << (64 - (bits - room));
	}
}

/* Distances of the values from the field's base; high: their upper halves, of wide ones. */
static void distances(const struct rql_rows_field *f, enum rql_lane_kind lane, const void *data, uint32_t n,
                      uint64_t *low, uint64_t *high)
{
	const int64_t *narrow = data;
	const rql_int128 *wide = data;
	const double *real = data;
	uint64_t base = (uint64_t)f->base;
	if (f->real) {
		for (uint32_t i = 0; i < n; i++)
			low[i] = f->descending ? ~rql_real_place(real[i]) : rql_real_place(real[i]);
	} else if (lane == RQL_LANE_I64 && f->descending) {
		for (uint32_t i = 0; i < n; i++)
			low[i] = base - (uint64_t)narrow[i];
	} else if (lane == RQL_LANE_I64) {
		for (uint32_t i = 0; i < n; i++)
			low[i] = (uint64_t)narrow[i] - base;
	} else {
		for (uint32_t i = 0; i < n; i++) {
			rql_uint128 value = f->descending ? f->base - (rql_uint128)wide[i] : (rql_uint128)wide[i] - f->base;
			low[i] = (uint64_t)value;
			high[i] = (uint64_t)(value >> 64);
		}
	}
}

/* Behind the keys: distances, their upper halves and NULLs' bits of one field. */
#define SCRATCH_WORDS 3u

rql_status rql_rows_make_keys(struct rql_rows_run *run, struct rql_error *err)
{
	const size_t words = (run->rows->key_words + SCRATCH_WORDS) * (size_t)RQL_VECTOR_ROWS;
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->keys, run->threads, err));
	for (uint32_t t = 0; t < run->threads; t++)
		RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->keys[t], words, err));
	return RQL_OK;
}

void rql_rows_keys(const struct rql_scan_rows *rows, struct rql_scan_worker *w, uint32_t first, uint32_t n,
                   uint64_t *keys)
{
	uint64_t *low = keys + (size_t)rows->key_words * RQL_VECTOR_ROWS;
	uint64_t *high = low + RQL_VECTOR_ROWS, *flags = high + RQL_VECTOR_ROWS;
	for (uint32_t k = 0; k < rows->key_words; k++)
		memset(keys + (size_t)k * RQL_VECTOR_ROWS, 0, n * sizeof(*keys));
	for (uint32_t i = 0; i < rows->field_count; i++) {
		const struct rql_rows_field *f = &rows->fields[i];
		enum rql_lane_kind lane = rows->scan->operands[f->operand].lane;
		struct rql_scan_values values = rql_scan_operand_values(w, f->operand, first, n);
		distances(f, lane, values.data, n, low, high);
		if (f->flag) {
			/* What lies under a NULL is anything: it must not reach into other fields. */
			for (uint32_t r = 0; r < n; r++) {
				uint64_t there = rql_bit_valid(values.valid, r);
				flags[r] = f->nulls_first ? there : 1 - there;
				low[r] &= 0 - there;
				high[r] = lane == RQL_LANE_I128 ? high[r] & (0 - there) : 0;
			}
			put(keys, f->at, 1, flags, n);
		}
		uint32_t at = f->at + f->flag;
		if (f->bits > 64)
			put(keys, at, f->bits - 64, high, n);
		put(keys, f->bits > 64 ? at + f->bits - 64 : at, f->bits > 64 ? 64 : f->bits, low, n);
	}
}

/* ---- the first word of keys ---- */

static uint64_t first_word(const struct rql_rows_field *f, bool flag, rql_uint128 value)
{
	uint32_t end = f->flag + f->bits;
	uint64_t word = f->bits == 0 ? 0 : end <= 64 ? (uint64_t)value << (64 - end) : (uint64_t)(value >> (end - 64));
	return f->flag ? (uint64_t)flag << 63 | word : word;
}

uint64_t rql_rows_best(const struct rql_scan_rows *rows, const struct rql_store_segment *segment, uint32_t block)
{
	const struct rql_rows_field *f = &rows->fields[0];
	const struct rql_store_view *view = &segment->columns[f->column];
	const struct rql_store_block *b = &view->blocks[block];
	if (f->flag && b->nulls && f->nulls_first)
		return 0;
	if (f->flag && b->nulls == b->rows) /* the next keys may be anything */
		return first_word(f, true, 0);
	const uint64_t *end = f->descending ? b->greatest : b->least;
	rql_uint128 value = (rql_uint128)end[1] << 64 | end[0], distance;
	if (f->real) {
		double x;
		memcpy(&x, end, sizeof(x));
		distance = f->descending ? ~rql_real_place(x) : rql_real_place(x);
	} else {
		if (view->kind == RQL_STORE_CODED && view->translate)
			value = view->translate[value];
		distance = f->descending ? f->base - value : value - f->base;
		/* The greatest code may be NULL's, whose place is elsewhere. */
		if (distance > f->span)
			distance = 0;
	}
	return first_word(f, f->nulls_first, distance);
}

bool rql_rows_threshold(const struct rql_scan_rows *rows, uint64_t word, bool strict, struct rql_scan_step *out,
                        bool *nothing)
{
	const struct rql_rows_field *f = &rows->fields[0];
	*nothing = strict && word == 0;
	if (*nothing || f->column == RQL_NONE || (word == UINT64_MAX && !strict))
		return false;
	if (strict)
		word -= UINT64_C(1) << (64 - rows->key_bits);
	bool flag = f->flag && word >> 63;
	*out = (struct rql_scan_step){.kind = RQL_SCAN_BY_TEST, .index = f->column};
	if (f->flag && f->nulls_first && !flag) {
		out->filter.kind = RQL_FILTER_IS_NULL;
		return true;
	}
	if (f->flag && !f->nulls_first && flag)
		return false;
	/* The value's bits that the word has; those that it has not may be anything. */
	uint32_t there = f->bits < 64u - f->flag ? f->bits : 64u - f->flag, missing = f->bits - there;
	rql_uint128 value = there ? word << f->flag >> (64 - there) : 0;
	value = (value << missing) | (((rql_uint128)1 << missing) - 1);
	out->or_null = f->flag && f->nulls_first;
	enum rql_store_kind kind = rows->scan->snapshot->columns[f->column].kind;
	if (kind == RQL_STORE_REAL) {
		uint64_t bits = f->descending ? ~(uint64_t)value : (uint64_t)value;
		double x = rql_real_at(bits - (!f->descending && bits == INT64_MAX)); /* would be -0.0, which is 0.0 */
		out->filter.kind = RQL_FILTER_REAL_RANGE;
		out->filter.real_least = f->descending ? x : -(double)INFINITY;
		out->filter.real_greatest = f->descending ? (double)NAN : x;
		return true;
	}
	value = value < f->span ? value : f->span;
	rql_uint128 least = f->descending ? f->base - value : f->base, greatest = f->descending ? f->base : f->base + value;
	if (kind == RQL_STORE_CODED) {
		out->filter.kind = RQL_FILTER_CODE_RANGE;
		out->filter.code_least = (uint32_t)least;
		out->filter.code_greatest = (uint32_t)greatest;
	} else {
		out->filter.kind = RQL_FILTER_INTEGER_RANGE;
		out->filter.least = (rql_int128)least;
		out->filter.greatest = (rql_int128)greatest;
	}
	return true;
}
