/* Keys of rows as words: of any number of columns one word of 64 bits, such that equal words say equal keys, exactly. So
 * joins, groups and DISTINCT know nothing of types.
 *
 * What equal means is DuckDB's: NaN equals NaN, -0 equals 0, strings are their bytes, a DECIMAL is its number at one scale.
 * A column is its values' distance from the least of them, in as many bits as that needs; strings, and what has no room,
 * are numbered in the order in which they come. */
#ifndef RQL_FLOW_KEYS_H
#define RQL_FLOW_KEYS_H

#include "flow/rowset.h"

/* Rows whose keys are made. The first side says which words there are: a key of the other that it does not have is `none`. */
struct rql_key_side {
	const struct rql_rowset *set;
	const struct rql_vector *vectors; /* [columns]; of one type on both sides */
	uint64_t *words;                  /* [set->rows], made */
	uint64_t *none;                   /* bitmap: this row equals none: it has a NULL that equals nothing, or see above. NULL: none does */
};
struct rql_keys {
	uint32_t columns;
	const bool *nulls_equal; /* [columns]: NULL is a value like others */
	uint32_t side_count;     /* 1, 2 */
	struct rql_key_side sides[2];
	unsigned bits; /* of the words: all are below 2^bits */
};
/* Types that keys may have: all but intervals and what only the host reads. */
bool rql_key_type(struct rql_type type);
rql_status rql_keys_make(struct rql_running *r, struct rql_keys *keys) RQL_MUST_CHECK;
/* Of one column of strings, whose NULLs equal nothing: hashes of 64 bits in place of words, by all threads. Rows whose
 * hashes are equal are to be looked at: are their strings? */
bool rql_keys_can_hash(const struct rql_keys *keys);
rql_status rql_keys_hash(struct rql_running *r, struct rql_keys *keys) RQL_MUST_CHECK;
bool rql_keys_same(const struct rql_keys *keys, uint32_t first, uint32_t second); /* a row of side 0, a row of side 1 */
static inline bool rql_key_is_none(const struct rql_key_side *side, uint64_t row)
{
	return side->none && rql_bit(side->none, row);
}

/* ---- rows by their words (key_table.c) ---- */

/* Rows of equal words together, for joins. */
struct rql_key_rows {
	uint32_t first; /* count 1: the row; else the first of its rows in table->rows, ascending */
	uint32_t count; /* 0: there is no such word */
};
struct rql_key_slot {
	uint64_t word;
	struct rql_key_rows rows;
};
struct rql_key_region {
	struct rql_key_slot *slots;
	uint64_t mask;
};
struct rql_key_table {
	struct rql_key_rows *dense; /* words are small numbers: of word w dense[w], w < dense_count. NULL: */
	uint64_t dense_count;
	unsigned part_bits; /* regions: by the leading bits of the hash */
	struct rql_key_region *regions;
	uint32_t *rows;
	uint64_t part_count; /* of regions */
	bool unique; /* no word has two rows */
};
rql_status rql_key_table_make(struct rql_running *r, const struct rql_key_side *side, unsigned bits,
                              struct rql_key_table *out) RQL_MUST_CHECK;
static inline uint64_t rql_key_hash(uint64_t word)
{
	word ^= word >> 32;
	word *= UINT64_C(0x9e3779b97f4a7c15);
	word ^= word >> 29;
	word *= UINT64_C(0xbf58476d1ce4e5b9);
	return word ^ word >> 32;
}
/* out[i]: the rows of words[i], for n <= RQL_VECTOR_ROWS. */
void rql_key_table_find(const struct rql_key_table *t, const uint64_t *words, uint32_t n, struct rql_key_rows *out);

/* The rows of every word that has some. */
void rql_key_table_each(const struct rql_key_table *t, void (*fn)(const struct rql_key_rows *rows, void *state), void *state);

/* Numbers for the groups of rows with equal words. */
struct rql_key_groups {
	uint64_t count;
	uint32_t *first; /* [count]: a group's first row */
	uint32_t *group; /* [rows]; NULL: only by parts, until rql_key_groups_spread */
	/* Groups of one part are next to each other, and so are its rows in `row`, ascending: what goes over the rows of a part
	 * touches the groups of that part alone. Without parts (there are few groups) row is NULL. */
	uint32_t part_count;
	uint64_t *part_rows;     /* [part_count + 1] */
	uint32_t *row;           /* [rows] */
	uint32_t *group_in_part; /* [rows]: of row[i] */
};
rql_status rql_key_groups_make(struct rql_running *r, const uint64_t *words, uint64_t rows, unsigned bits,
                               struct rql_key_groups *out) RQL_MUST_CHECK;
/* The groups of the set's rows with equal keys, NULL among them. */
rql_status rql_key_groups_of(struct rql_running *r, const struct rql_rowset *set, const struct rql_vector *keys,
                             uint32_t count, struct rql_key_groups *out) RQL_MUST_CHECK;
rql_status rql_key_groups_spread(struct rql_running *r, struct rql_key_groups *groups, uint64_t rows) RQL_MUST_CHECK;

#endif
