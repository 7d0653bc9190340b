/* Keys: what the values of one or several columns of a segment become, so that maps (index_map.h) and rays need know no
 * types. Of each column values are integers of 64 bits: integers (that fit them) as they are, codes of the snapshot, and
 * reals by integers that ascend as the host orders them. Of one column a key is the distance from the segment's least
 * value; of several it is a number whose digits are such distances, the first column's the highest, so that keys ascend
 * as the columns do together. */
#ifndef RQL_METHOD_INDEX_INDEX_KEY_H
#define RQL_METHOD_INDEX_INDEX_KEY_H

#include "method/request.h"

struct rql_index_range {
	int64_t least, greatest; /* values, or codes of the snapshot; never NULL's */
};

struct rql_index_key {
	uint32_t count; /* columns */
	struct rql_index_digit {
		uint32_t column;
		int64_t least;   /* a value, or of coded columns a code as it is stored */
		uint64_t values; /* of several columns: from the least to the greatest, and NULL, which is the digit 0 */
	} digits[RQL_INDEX_COLUMNS_MOST];
};

/* -0.0 is 0.0, and every NaN the same one, the greatest. */
int64_t rql_index_of_real(double value);
/* The least or greatest value of a block, as its descriptor has it: of coded columns a code as it is stored. */
int64_t rql_index_of_bound(const struct rql_store_view *view, uint64_t bound);
void rql_index_column_bounds(const struct rql_store_column *column, int64_t *least, int64_t *greatest);
/* Integers and reals. */
void rql_index_decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block, uint32_t first,
                      uint32_t count, int64_t *out);
/* Codes, reals, and integers of a snapshot whose values fit 64 bits. */
bool rql_index_can(const struct rql_store_column *column);

static inline uint32_t rql_index_columns(const struct rql_index_of *of)
{
	return 1 + of->more_count;
}
static inline uint32_t rql_index_column(const struct rql_index_of *of, uint32_t i)
{
	return i ? of->more[i - 1] : of->column;
}

/* RQL_ERROR_UNSUPPORTED: the segment's values have more than 2^64 combinations. */
rql_status rql_index_key_make(const struct rql_store_segment *segment, const struct rql_index_of *of,
                              struct rql_index_key *out, struct rql_error *err) RQL_MUST_CHECK;
/* The keys of a block's rows; known: a bit for each row that has one, since its (first) column is not NULL. room:
 * int64_t[RQL_STORE_BLOCK]. */
void rql_index_key_read(const struct rql_index_key *key, const struct rql_store_kernels *k,
                        const struct rql_store_segment *segment, uint32_t block, int64_t *room, uint64_t *keys,
                        uint64_t *known);
/* The keys of the rows whose first `count` columns lie in these ranges, of which all but the last are single values. False:
 * there is none. */
bool rql_index_key_range(const struct rql_index_key *key, const struct rql_store_segment *segment,
                         const struct rql_index_range *sought, uint32_t count, uint64_t *least, uint64_t *greatest);

#endif
