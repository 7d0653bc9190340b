/* Keys and probes of look-ups, by compute and by rays, as their cases draw them. */
#ifndef RQL_SELFTEST_KEYS_H
#define RQL_SELFTEST_KEYS_H

#include "primitive/primitive.h"
#include "selftest/selftest_case.h"

enum rql_key_pattern { RQL_KEYS_SPARSE, RQL_KEYS_DENSE, RQL_KEYS_DUPLICATES, RQL_KEYS_ENDS, RQL_KEYS_EQUAL };

struct rql_drawn_keys {
	enum rql_key_pattern pattern;
	uint32_t bits;     /* of a key: 32 or 64 */
	uint64_t greatest; /* that is drawn */
	uint64_t count;
	uint64_t *keys; /* [count] */
};
uint64_t rql_drawn_key(struct rql_selftest *t, const struct rql_drawn_keys *k);
/* Probe number i: keys that are there, their neighbours, any others, and the ends; ranges that are short, long, empty,
 * everything. */
void rql_drawn_probe(struct rql_selftest *t, const struct rql_drawn_keys *k, uint64_t i, uint64_t *from, uint64_t *to);
/* Keys as the device has them: 32-bit ones are narrowed on the way. */
rql_status rql_drawn_buffer(struct rql_selftest *t, uint32_t bits, const uint64_t *keys, uint64_t count,
                            struct rql_span *out, struct rql_error *err) RQL_MUST_CHECK;

#endif
