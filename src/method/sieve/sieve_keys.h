/* Keys: what a column's values are to a sieve, unsigned numbers that ascend in the host's order of the values. Of coded
 * columns they are codes as the segment stores them, which an append does not change. NULL has no key. */
#ifndef RQL_METHOD_SIEVE_SIEVE_KEYS_H
#define RQL_METHOD_SIEVE_SIEVE_KEYS_H

#include "method/rows.h"

#define RQL_SIEVE_WORDS RQL_ROWS_BLOCK_WORDS /* of a block's bit vector */

/* Has the column such keys? Not one with an integer beyond 64 bits, signed ones or UBIGINT's. */
static inline bool rql_sieve_can(const struct rql_store_column *column)
{
	return column->kind != RQL_STORE_INTEGER || !column->wide || column->type.id == RQL_TYPE_UBIGINT;
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

/* The key of what a packed field and its base make (column/store.h: "A value is"). */
static inline uint64_t rql_sieve_key_of(const struct rql_store_view *view, uint64_t raw)
{
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
