/* ORDER BY keys as 64-bit words whose numeric order is the order of the rows: sorting words is many times faster than
 * sorting by comparisons that look the values up. */
#ifndef RQL_FLOW_ORDER_WORDS_H
#define RQL_FLOW_ORDER_WORDS_H

#include "flow/rowset.h"

struct rql_sort_key {
	const struct rql_vector *vector;
	bool descending, nulls_first;
};

/* Whether a key's values have words: numbers of every kind and codes in order do; strings, blobs, intervals do not. */
bool rql_sort_key_has_words(const struct rql_sort_key *key);
/* words[i]: the leading keys of rows[i] in at most `bits` (1..63) bits, the first key in the highest. Each takes as many
 * as the values of these rows need. The last one's may be cut to its leading bits. Returns how many keys are whole in
 * the words: rows of equal words differ at most in the keys after these. */
uint32_t rql_sort_keys_pack(const struct rql_sort_key *keys, uint32_t key_count, const uint32_t *rows, uint64_t count,
                            unsigned bits, uint64_t *words);

#endif
