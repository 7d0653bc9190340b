/* Keys: what a column's values are to a sieve, unsigned numbers that ascend in the host's order of the values. Of coded
 * columns they are codes as the segment stores them, which an append does not change. NULL has no key.
 *
 * Integers of types of 128 bits (HUGEINT, DECIMAL of more than 18 digits, UUID) have keys of 64 bits as well: exact up
 * to 2^62 in amount, then the power of two and the 55 bits below the leading one. Values that share a key are
 * neighbours, so a bound among them makes a superset, which whoever comes next tests again. */
#ifndef RQL_METHOD_SIEVE_SIEVE_KEYS_H
#define RQL_METHOD_SIEVE_SIEVE_KEYS_H

#include "column/pack.h"
#include "method/rows.h"

#define RQL_SIEVE_WORDS RQL_ROWS_BLOCK_WORDS /* of a block's bit vector */

/* Has the column such keys? Not UHUGEINT's integers: their order is that of their bits. */
static inline bool rql_sieve_can(const struct rql_store_column *column)
{
	return column->kind != RQL_STORE_INTEGER || column->type.id != RQL_TYPE_UHUGEINT;
}

/* bits: the low 64 of the value, which are all. */
static inline uint64_t rql_sieve_integer_key(struct rql_type type, uint64_t bits)
{
	return bits ^ (uint64_t)(type.id != RQL_TYPE_UBIGINT) << 63;
}
static inline uint64_t rql_sieve_real_key(double value)
{
	return rql_real_place(value);
}

/* Integers of 128 bits; of an INTEGER column's type. */
static inline bool rql_sieve_is_wide(struct rql_type type)
{
	return rql_type_bytes(type) == 16;
}
#define RQL_SIEVE_EXACT_BITS 62u
#define RQL_SIEVE_LEADING_BITS 55u
static inline uint64_t rql_sieve_amount_place(rql_uint128 amount)
{
	const uint64_t exact = UINT64_C(1) << RQL_SIEVE_EXACT_BITS, step = UINT64_C(1) << RQL_SIEVE_LEADING_BITS;
	const uint64_t high = (uint64_t)(amount >> 64);
	if (amount < exact)
		return (uint64_t)amount;
	const unsigned zeros = (unsigned)(high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)amount));
	const unsigned power = 127 - zeros;
	const uint64_t below = (uint64_t)(amount >> (power - RQL_SIEVE_LEADING_BITS)) & (step - 1);
	return exact + (power - RQL_SIEVE_EXACT_BITS) * step + below;
}
static inline uint64_t rql_sieve_wide_key(rql_int128 value)
{
	const uint64_t zero = UINT64_C(1) << 63;
	return value < 0 ? zero - 1 - rql_sieve_amount_place((rql_uint128)~value)
	                 : zero + rql_sieve_amount_place((rql_uint128)value);
}
/* Of an INTEGER column of the type. */
static inline uint64_t rql_sieve_value_key(struct rql_type type, rql_int128 value)
{
	return rql_sieve_is_wide(type) ? rql_sieve_wide_key(value) : rql_sieve_integer_key(type, (uint64_t)value);
}

/* The key of a packed field over a block's base (column/store/store.h: "A value is"). */
static inline uint64_t rql_sieve_packed_key(const struct rql_store_view *view, const struct rql_store_block *block,
                                            const struct rql_packed *packed, uint64_t at)
{
	if (view->kind == RQL_STORE_INTEGER && rql_sieve_is_wide(view->type)) {
		struct rql_packed wide = *packed;
		wide.base = (rql_int128)((rql_uint128)block->base[1] << 64 | block->base[0]);
		return rql_sieve_wide_key(rql_packed_get(&wide, at));
	}
	const uint64_t raw = block->base[0] + rql_packed_field(packed, at);
	if (view->kind == RQL_STORE_CODED)
		return raw;
	if (view->kind == RQL_STORE_INTEGER)
		return rql_sieve_integer_key(view->type, raw);
	if (view->type.id == RQL_TYPE_FLOAT) {
		uint32_t bits = (uint32_t)raw;
		float narrow;
		memcpy(&narrow, &bits, sizeof(narrow));
		return rql_real_place((double)narrow);
	}
	double wide;
	memcpy(&wide, &raw, sizeof(wide));
	return rql_real_place(wide);
}

/* Keys of rows [first, first + count) of a block, as rql_store_decode_*; valid: bit set: there is one. count is not 0.
 * */
void rql_sieve_decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                      uint32_t first, uint32_t count, uint64_t *keys, uint64_t *valid);

#endif
