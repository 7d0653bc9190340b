/* Keys of rows that lie on a GPU (struct rql_keys_in), as keys of an index: which of its columns they say a value of, and
 * where in each segment that value is. Text is compared by codes of two dictionaries, whose places go to the device. */
#ifndef RQL_METHOD_INDEX_INDEX_KEYS_H
#define RQL_METHOD_INDEX_INDEX_KEYS_H

#include "method/index/index_key.h"

struct rql_index_keys {
	struct rql_keys_in in; /* from.method NULL: there are none */
	struct rql_index_of of;
	uint32_t covered;                     /* the first columns of the index, which are looked up */
	uint32_t part[RQL_INDEX_COLUMNS_MOST]; /* of in.parts, for each of them */
	uint32_t *codes[RQL_INDEX_COLUMNS_MOST]; /* of in.parts: its key_of_code where that changes codes; malloc'ed */
	double found;                         /* rows */
};

/* NULL: the fields say what an index's keys do; else why not. */
const char *rql_index_keys_refusal(const struct rql_request *request);
/* The index that looks most of the keys' columns up, of these forms (index_choose.h). False: there is none. What is chosen
 * borrows the request's memory. */
bool rql_index_keys_choose(const struct rql_request *request, unsigned forms, struct rql_index_keys *out);
/* All columns of the index are looked up, by single values. */
static inline bool rql_index_keys_are_points(const struct rql_index_keys *keys)
{
	return keys->covered == rql_index_columns(&keys->of);
}
/* Copies what is borrowed. Clear it after an error, too. */
rql_status rql_index_keys_take(struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_index_keys_clear(struct rql_index_keys *keys); /* also of zeroes */

/* What the probes' kernel reads for a segment: the digits of its keys, and tables of codes behind them. */
uint64_t rql_index_keys_bytes(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot, uint32_t segment);
/* Into so many bytes of zeroes, which will lie at the address. */
void rql_index_keys_write(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot, uint32_t segment,
                          const struct rql_index_key *key, uint64_t address, void *out);

#endif
