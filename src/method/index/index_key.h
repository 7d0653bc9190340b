/* Keys: what the values of one or several columns of a segment become, so that maps (index_map.h) and rays need know no
 * types. Of each column values are integers: those of any width as they are, codes of the snapshot, and reals by
 * integers that ascend as the host orders them. Of one column a key is the distance from the segment's least value; of
 * several it is a number whose digits are such distances, the first column's the highest, so that keys ascend as the
 * columns do together. Distances that need more than a key's 64 bits lose their lowest ones: then a key is a prefix,
 * several values may have it, and what is found is tested. Of one column that spans more, keys are places instead: how
 * many of the segment's different values are less, which the run keeps (index_places.c). */
#ifndef RQL_METHOD_INDEX_INDEX_KEY_H
#define RQL_METHOD_INDEX_INDEX_KEY_H

#include "method/request.h"

struct rql_index_range {
	rql_int128 least, greatest; /* values, or codes of the snapshot; never NULL's */
};

struct rql_index_key {
	uint32_t count; /* columns */
	bool prefix;    /* some digit is: rows that are found may have other values */
	bool placed;    /* keys are places among `values` */
	uint32_t value_count;
	const rql_int128 *values; /* ascending, each once, borrowed; NULL: not known, any place is in any range */
	struct rql_index_digit {
		uint32_t column;
		bool wide;        /* some value leaves 64 bits, or is lowered */
		uint32_t shift;   /* bits of the distance that the key does not have */
		rql_int128 least; /* a value, or of coded columns a code as it is stored */
		uint64_t last;    /* of the greatest value. Of several columns digits are one more: NULL is the digit 0 */
	} digits[RQL_INDEX_COLUMNS_MOST];
};
/* Values of a block as they are decoded. */
union rql_index_room {
	int64_t narrow[RQL_STORE_BLOCK];
	rql_int128 wide[RQL_STORE_BLOCK];
};

/* -0.0 is 0.0, and every NaN the same one, the greatest. */
int64_t rql_index_of_real(double value);
/* A place among reals (column/value/value.h), or one beyond all of them, as such an integer: NaN is the greatest, and above it
 * and the infinite there is nothing. */
rql_int128 rql_index_of_place(rql_int128 place, bool least);
/* Of a segment's column the least and greatest values, as descriptors have them: of coded columns codes as they are
 * stored, from 0 on. Gives how many rows are not NULL; without one both are 0. */
uint64_t rql_index_segment_bounds(const struct rql_store_segment *segment, uint32_t column, rql_int128 *least,
                                  rql_int128 *greatest);
void rql_index_column_bounds(const struct rql_store_column *column, rql_int128 *least, rql_int128 *greatest);
/* Integers that fit 64 bits, and reals. */
void rql_index_decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block, uint32_t first,
                      uint32_t count, int64_t *out);
/* Integers of any width. */
void rql_index_decode_wide(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                           uint32_t first, uint32_t count, rql_int128 *out);
/* Unsigned integers of 128 bits: here they are their places (column/value/value.h). */
static inline bool rql_index_is_lowered(enum rql_store_kind kind, struct rql_type type)
{
	return kind == RQL_STORE_INTEGER && type.id == RQL_TYPE_UHUGEINT;
}

static inline uint32_t rql_index_columns(const struct rql_index_of *of)
{
	return 1 + of->more_count;
}
static inline uint32_t rql_index_column(const struct rql_index_of *of, uint32_t i)
{
	return i ? of->more[i - 1] : of->column;
}

void rql_index_key_make(const struct rql_store_segment *segment, const struct rql_index_of *of,
                        struct rql_index_key *out);
/* The greatest key that a segment may have. */
uint64_t rql_index_key_bound(const struct rql_store_segment *segment, const struct rql_index_of *of);
/* The keys of a block's rows, which are no places; known: a bit for each row that has one, since its (first) column is not
 * NULL. */
void rql_index_key_read(const struct rql_index_key *key, const struct rql_store_kernels *k,
                        const struct rql_store_segment *segment, uint32_t block, union rql_index_room *room,
                        uint64_t *keys, uint64_t *known);
/* The keys of the rows whose first `count` columns lie in these ranges, of which all but the last are single values; of
 * other rows, too, where the key is a prefix. False: there is none. */
bool rql_index_key_range(const struct rql_index_key *key, const struct rql_store_segment *segment,
                         const struct rql_index_range *sought, uint32_t count, uint64_t *least, uint64_t *greatest);

#endif
