/* Conditions of one column as ranges of its values: what is looked up, and what is tested of the rows that were found. */
#ifndef RQL_METHOD_INDEX_INDEX_TESTS_H
#define RQL_METHOD_INDEX_INDEX_TESTS_H

#include "method/index/index_key.h"

#define RQL_INDEX_RANGES_MOST 4096u

/* A row passes when its value lies in one of them; NULL does not. */
struct rql_index_test {
	uint32_t column, count;
	bool wide; /* the column's values leave 64 bits, or are lowered (index_key.h) */
	struct rql_index_range *ranges; /* disjoint, ascending; malloc'ed */
	uint32_t point;                 /* the conjunct's: one range of one value, or none where no row has it */
	/* Of a condition on tuples: the values of its columns stand beside each other, in the tests of each. */
	uint32_t tuple; /* which condition plus 1; 0: it is of one column */
	uint32_t tuple_count;
	rql_int128 *part; /* [tuple_count]: this column's; malloc'ed */
};

/* The column that the condition is about, where it can be such a test at all; else RQL_NONE. */
uint32_t rql_index_test_column(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c);
/* RQL_ERROR_UNSUPPORTED: it has more than RQL_INDEX_RANGES_MOST ranges. */
rql_status rql_index_test_make(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c,
                               struct rql_index_test *out, struct rql_error *err) RQL_MUST_CHECK;
/* One of the tests that tuples become, of which each alone says less; number: its `tuple`. */
rql_status rql_index_test_make_part(const struct rql_store_snapshot *snapshot, const struct rql_value_tuples *tuples,
                                    uint32_t part, uint32_t number, struct rql_index_test *out,
                                    struct rql_error *err) RQL_MUST_CHECK;
void rql_index_test_free(struct rql_index_test *test);
/* Values in all ranges, at most UINT64_MAX. */
uint64_t rql_index_test_values(const struct rql_index_test *test);
/* Ranges of one value each instead; values: rql_index_test_values, not more than there may be ranges. */
rql_status rql_index_test_spread(struct rql_index_test *test, uint64_t values, struct rql_error *err) RQL_MUST_CHECK;
/* Rows of the block that do not pass lose their bit. bits: [RQL_STORE_BLOCK / 64] */
void rql_index_test_block(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                          const struct rql_index_test *test, uint64_t *bits);

#endif
