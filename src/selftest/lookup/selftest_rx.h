/* What the cases of look-ups by rays share: keys, probes, and what a loop over all keys says about them. */
#ifndef RQL_SELFTEST_RX_H
#define RQL_SELFTEST_RX_H

#include "selftest/lookup/selftest_keys.h"

struct rql_rx_world {
	struct rql_selftest *t;
	enum rql_key_pattern pattern;
	uint32_t key_bits;
	uint64_t keys, probes;
	uint64_t greatest;  /* key that is drawn; 0: of key_bits */
	uint64_t low, high; /* of the keys that were drawn */
	uint64_t *key, *point, *end; /* ends of ranges; some are below their points */
	int32_t *value;
	const bool *live; /* [keys]: rows that are there; NULL: all */
	/* The answers. row: the least of all rows, least_row: of the least key. */
	uint32_t *row, *least_row, *count, *got32, *got_count;
	uint64_t *sum, *got_sum;
	struct rql_span keys_on, points_on, ends_on, values_on;
};
#define RQL_RX_WORLD_NO_ROW UINT32_MAX

/* Draws all of it and puts keys, probes and values on the device. */
rql_status rql_rx_world_make(struct rql_rx_world *w, struct rql_error *err) RQL_MUST_CHECK;
/* Draws probes again, of the keys as they are, and puts them where the others were. */
rql_status rql_rx_world_probe(struct rql_rx_world *w, struct rql_error *err) RQL_MUST_CHECK;
/* Has the answers of points or of ranges worked out. */
void rql_rx_world_want(struct rql_rx_world *w, bool ranges);

#endif
