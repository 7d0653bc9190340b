/* ORDER BY keys as words: see the header. */
#include "flow/keys/order_words.h"

#include <string.h>

bool rql_sort_key_has_words(const struct rql_sort_key *key)
{
	const struct rql_vector *v = key->vector;
	return v->kind == RQL_VECTOR_INTEGER || v->kind == RQL_VECTOR_REAL || v->kind == RQL_VECTOR_WIDE ||
	       (v->kind == RQL_VECTOR_CODES && v->ordered) || rql_type_is_real(v->type) || rql_type_is_integral(v->type) ||
	       v->type.id == RQL_TYPE_UUID;
}

/* ---- places: values of a key as unsigned numbers in the same order ---- */

static rql_uint128 integer_place(rql_int128 value, struct rql_type type)
{
	return type.id == RQL_TYPE_UHUGEINT ? (rql_uint128)value : (rql_uint128)value ^ (rql_uint128)1 << 127;
}

/* false: NULL. */
static inline bool place_of(const struct rql_vector *v, uint32_t row, rql_uint128 *place)
{
	if (v->kind == RQL_VECTOR_INTEGER) {
		*place = integer_place(v->integer[row], v->type);
		return rql_bit_valid(v->valid, row);
	}
	if (v->kind == RQL_VECTOR_CODES && v->ordered) {
		*place = v->codes[row];
		return !rql_vector_null_code(v, v->codes[row]);
	}
	if (v->kind == RQL_VECTOR_WIDE) {
		*place = v->wide[row];
		return v->wide[row] != v->null_wide;
	}
	if (v->kind == RQL_VECTOR_REAL) {
		*place = rql_real_place(v->real[row]);
		return rql_bit_valid(v->valid, row);
	}
	struct rql_value value = rql_vector_get(v, row);
	if (!value.is_null)
		*place = rql_type_is_real(value.type) ? rql_real_place(value.real) : integer_place(value.integer, value.type);
	return !value.is_null;
}

/* ---- fields of words ---- */

/* What a key takes of a word: a bit that tells NULLs from values if there are both, then `bits` of the place's distance
 * from the least one, or with DESC from the greatest, without the `cut` lowest for which there is no room. */
struct field {
	const struct rql_sort_key *key;
	const uint32_t *rows;
	uint64_t count;
	rql_uint128 least, greatest; /* places, if there are values */
	bool values, nulls;          /* whether there are any */
	unsigned bits, cut;
};

/* Numbers without NULLs, of which 64 bits say how far two are apart unless more is needed: sums and codes, which are the
 * keys of most orders. Their loops test nothing. */
static bool is_plain(const struct rql_vector *v)
{
	if (v->kind == RQL_VECTOR_CODES)
		return v->ordered && (v->values ? !v->values->validity : v->null_code == UINT32_MAX);
	return v->kind == RQL_VECTOR_INTEGER && !v->valid && v->type.id != RQL_TYPE_UHUGEINT;
}

static void measure_codes(struct field *f)
{
	const uint32_t *codes = f->key->vector->codes;
	uint32_t least = UINT32_MAX, greatest = 0;
	for (uint64_t i = 0; i < f->count; i++) {
		const uint32_t code = codes[f->rows[i]];
		least = code < least ? code : least;
		greatest = code > greatest ? code : greatest;
	}
	f->least = least;
	f->greatest = greatest;
	f->values = true;
}

static void measure_integers(struct field *f)
{
	const struct rql_vector *v = f->key->vector;
	rql_int128 least = v->integer[f->rows[0]], greatest = least;
	for (uint64_t i = 1; i < f->count; i++) {
		const rql_int128 value = v->integer[f->rows[i]];
		least = value < least ? value : least;
		greatest = value > greatest ? value : greatest;
	}
	f->least = integer_place(least, v->type);
	f->greatest = integer_place(greatest, v->type);
	f->values = true;
}

#define APPEND(value)                                                                                                  \
	for (uint64_t i = 0; i < f->count; i++) {                                                                          \
		const uint64_t low = (uint64_t)(value)[f->rows[i]];                                                            \
		words[i] = words[i] << bits | (descending ? from - low : low - from) >> cut;                                   \
	}

/* At most 64 bits are needed: the lower halves of the places. */
static void append_plain(const struct field *f, uint64_t *words)
{
	const struct rql_vector *v = f->key->vector;
	const bool descending = f->key->descending;
	const uint64_t from = (uint64_t)(descending ? f->greatest : f->least);
	const unsigned bits = f->bits, cut = f->cut;
	if (v->kind == RQL_VECTOR_CODES)
		APPEND(v->codes)
	else
		APPEND(v->integer)
}

static void measure(struct field *f)
{
	if (f->count && is_plain(f->key->vector)) {
		if (f->key->vector->kind == RQL_VECTOR_CODES)
			measure_codes(f);
		else
			measure_integers(f);
		return;
	}
	rql_uint128 least = ~(rql_uint128)0, greatest = 0, place = 0;
	const struct rql_vector v = *f->key->vector; /* a copy: its tests leave the loop */
	bool values = false, nulls = false;
	for (uint64_t i = 0; i < f->count; i++) {
		if (!place_of(&v, f->rows[i], &place)) {
			nulls = true;
			continue;
		}
		values = true;
		least = place < least ? place : least;
		greatest = place > greatest ? place : greatest;
	}
	f->least = least;
	f->greatest = greatest;
	f->values = values;
	f->nulls = nulls;
}

static void append(const struct field *f, uint64_t *words)
{
	if (f->bits && f->bits + f->cut <= 64 && is_plain(f->key->vector)) {
		append_plain(f, words);
		return;
	}
	const struct rql_vector v = *f->key->vector;
	bool both = f->values && f->nulls, descending = f->key->descending, nulls_first = f->key->nulls_first;
	rql_uint128 least = f->least, greatest = f->greatest, place = 0;
	unsigned bits = f->bits, cut = f->cut;
	for (uint64_t i = 0; i < f->count; i++) {
		bool value = place_of(&v, f->rows[i], &place);
		uint64_t word = both ? words[i] << 1 | (value == nulls_first) : words[i];
		rql_uint128 distance = descending ? greatest - place : place - least;
		words[i] = word << bits | (value && bits ? (uint64_t)(distance >> cut) : 0);
	}
}

static unsigned bits_of(rql_uint128 n)
{
	uint64_t high = (uint64_t)(n >> 64), low = (uint64_t)n;
	return high ? 128 - (unsigned)__builtin_clzll(high) : low ? 64 - (unsigned)__builtin_clzll(low) : 0;
}

uint32_t rql_sort_keys_pack(const struct rql_sort_key *keys, uint32_t key_count, const uint32_t *rows, uint64_t count,
                            unsigned bits, uint64_t *words)
{
	memset(words, 0, count * sizeof *words);
	for (uint32_t i = 0; i < key_count; i++) {
		struct field f = {.key = &keys[i], .rows = rows, .count = count};
		if (!bits || !rql_sort_key_has_words(&keys[i]))
			return i;
		measure(&f);
		unsigned needed = f.values ? bits_of(f.greatest - f.least) : 0;
		bits -= f.values && f.nulls;
		f.bits = needed < bits ? needed : bits;
		f.cut = needed - f.bits;
		bits -= f.bits;
		append(&f, words);
		if (f.cut)
			return i;
	}
	return key_count;
}
