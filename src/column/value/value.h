/* One SQL value with its type: constants of plans, parameters, dictionary entries. */
#ifndef RQL_COLUMN_VALUE_H
#define RQL_COLUMN_VALUE_H

#include <string.h>
#include "column/batch.h"

__extension__ typedef __int128 rql_int128;
__extension__ typedef unsigned __int128 rql_uint128;

struct rql_value {
	struct rql_type type;
	bool is_null;
	union {
		rql_int128 integer; /* every integral type, sign- or zero-extended; UUID and UHUGEINT as stored bits */
		double real;        /* FLOAT and DOUBLE */
		struct rql_interval interval;
		struct {
			const char
				*data; /* VARCHAR, BLOB: borrowed; OTHER: the host's SQL text of the value, or NULL when unknown */
			uint64_t length;
		} string;
	};
};

/* Values that a run of a plan may have in place of the plan's own. */
#define RQL_POINTS_MOST 4u

struct rql_value rql_value_null(struct rql_type type);
struct rql_value rql_column_get(const struct rql_column *column, uint64_t row); /* strings borrowed from the column */
/* Stores value (of the column's type) at row; strings must outlive the batch or be set by rql_batch_set_string. */
void rql_column_put(struct rql_column *column, uint64_t row, const struct rql_value *value);
/* DuckDB's order for two non-NULL values of one type: -1, 0, 1. NaN equals NaN and is the greatest, -0.0 equals 0.0;
 * VARCHAR and BLOB bytewise; ENUM by member position; UHUGEINT unsigned; INTERVAL normalised (30-day months). */
int rql_value_compare(const struct rql_value *a, const struct rql_value *b);
/* A DOUBLE or FLOAT as an unsigned number in that order. */
static inline uint64_t rql_real_place(double value)
{
	uint64_t bits;
	if (value != value)
		return UINT64_MAX;
	value += 0.0; /* -0.0 */
	memcpy(&bits, &value, sizeof bits);
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
/* The bits of the value at a place, and the value. */
static inline uint64_t rql_real_bits(uint64_t place)
{
	return place >> 63 ? place & ~(UINT64_C(1) << 63) : ~place;
}
static inline double rql_real_at(uint64_t place)
{
	const uint64_t bits = place == UINT64_MAX ? UINT64_C(0x7ff8000000000000) : rql_real_bits(place); /* one NaN */
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}
/* The bits of a UHUGEINT as a number with a sign, in the order of such values: each is 2^127 less. */
static inline rql_int128 rql_uhugeint_place(rql_int128 bits)
{
	return (rql_int128)((rql_uint128)bits ^ (rql_uint128)1 << 127);
}
/* Reals as group keys: codes that ascend as the host orders the values and tell apart what it prints apart. -0.0 is just
 * below 0.0, and the NaN with a sign just above the one without: of two that the host calls equal, rql_real_code_same is
 * one. */
#define RQL_REAL_CODE_NAN UINT64_C(0xffe0000000000002)
#define RQL_REAL_CODES (RQL_REAL_CODE_NAN + 2)
#define RQL_REAL_CODE_PLACE UINT64_C(0x000fffffffffffff) /* the place of the least one */
static inline uint64_t rql_real_code(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	const uint64_t negative = bits >> 63;
	const uint64_t place = bits ^ (negative ? UINT64_MAX : UINT64_C(1) << 63);
	return value != value ? RQL_REAL_CODE_NAN + negative : place - RQL_REAL_CODE_PLACE;
}
static inline uint64_t rql_real_code_same(uint64_t code)
{
	const uint64_t zero = (UINT64_C(1) << 63) - RQL_REAL_CODE_PLACE;
	return code == zero - 1 ? zero : code == RQL_REAL_CODE_NAN + 1 ? RQL_REAL_CODE_NAN : code;
}
static inline double rql_real_of_code(uint64_t code)
{
	const uint64_t nan = code - RQL_REAL_CODE_NAN; /* 0 or 1 of these */
	const uint64_t bits = nan < 2 ? UINT64_C(0x7ff8000000000000) | nan << 63 : rql_real_bits(code + RQL_REAL_CODE_PLACE);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}
/* Order of two rows of columns of one type, neither NULL. */
int rql_column_compare(const struct rql_column *a, uint64_t row_a, const struct rql_column *b, uint64_t row_b);
/* Appends the value as an SQL literal that the host parses back to exactly this value and type:
 * CAST('1992-01-01' AS DATE), 'it''s', CAST(NULL AS INTEGER), ... false when it cannot (OTHER without text). */
bool rql_value_print(struct rql_strbuf *out, const struct rql_value *value);
struct rql_value rql_value_copy(struct rql_arena *arena, const struct rql_value *value);

#endif
