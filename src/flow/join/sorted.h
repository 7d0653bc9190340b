/* Rows of each key in the order of a value: the sorted form of a map (design: "Flow"), which joins by ranges look up. Where
 * the rows with a key stand, a key_table says; without keys all rows are of one.
 *
 * A key with a single row has no position of its own, as in a key_table: then place_of says what its value is. */
#ifndef RQL_FLOW_SORTED_H
#define RQL_FLOW_SORTED_H

#include "flow/keys/keys.h"

struct rql_sorted {
	uint64_t *place_of;      /* of each row of the set */
	const uint32_t *rows;    /* by position */
	const uint64_t *places;  /* of these, ascending among the rows of a key */
	struct rql_key_rows all; /* without keys: the rows that have a value */
	/* Without keys: the values below each of 2^n evenly spaced ones, so that a search begins near its end. NULL: few rows. */
	uint32_t *steps;
	uint64_t least, last_step;
	unsigned shift;
};

struct rql_range_places;
/* The places of a value in all rows of a rebased set, opened for it. side->none gets the rows that have none. */
rql_status rql_sorted_values(struct rql_running *r, const struct rql_range_places *of, const struct rql_vector *value,
                             struct rql_key_side *side, struct rql_sorted *out) RQL_MUST_CHECK;
/* table: of the side's words, made after rql_sorted_values; its rows are put in order. NULL: there are no keys. */
rql_status rql_sorted_make(struct rql_running *r, const struct rql_key_side *side, struct rql_key_table *table,
                           struct rql_sorted *out) RQL_MUST_CHECK;

/* The first position among the key's whose place is not below the given one; or_equal: neither is it that one. */
uint32_t rql_sorted_find(const struct rql_sorted *s, struct rql_key_rows of, uint64_t place, bool or_equal);

/* The same with keys, of which one has several rows, for n <= RQL_VECTOR_ROWS searches side by side, so that each waits for
 * memory while the others do. of[i].count 0: none. */
void rql_sorted_find_each(const struct rql_sorted *s, uint32_t n, const struct rql_key_rows *of, const uint64_t *places,
                          bool or_equal, uint32_t *out);

/* Which step a place is of: what a search begins with may be fetched before. */
static inline uint64_t rql_sorted_step(const struct rql_sorted *s, uint64_t place)
{
	uint64_t step = place <= s->least ? 0 : (place - s->least) >> s->shift;
	return step < s->last_step ? step : s->last_step;
}

#endif
