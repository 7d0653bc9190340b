/* Keys and probes of look-ups, drawn. */
#include "selftest/lookup/selftest_keys.h"

uint64_t rql_drawn_key(struct rql_selftest *t, const struct rql_drawn_keys *k)
{
	uint64_t all = k->greatest, i = rql_selftest_below(t, k->count + 1);
	switch (k->pattern) {
	case RQL_KEYS_DENSE: /* as many integers as keys */
		return 1000 + i;
	case RQL_KEYS_DUPLICATES: /* half of the keys are one */
		return rql_selftest_below(t, 2) ? 77 * (k->count / 3) : 77 * (i / 9);
	case RQL_KEYS_ENDS:
		return rql_selftest_below(t, 2) ? i % 4 : all - i % 4;
	case RQL_KEYS_EQUAL:
		return all / 3;
	default:
		return all == UINT64_MAX ? rql_selftest_random(t) : rql_selftest_below(t, all + 1);
	}
}

void rql_drawn_probe(struct rql_selftest *t, const struct rql_drawn_keys *k, uint64_t i, uint64_t *from, uint64_t *to)
{
	const uint64_t all = k->bits == 64 ? UINT64_MAX : UINT32_MAX;
	*from = rql_drawn_key(t, k);
	*to = rql_drawn_key(t, k);
	if (k->count && rql_selftest_below(t, 2))
		*from = k->keys[rql_selftest_below(t, k->count)];
	if (!rql_selftest_below(t, 4))
		*from = (*from + rql_selftest_below(t, 3) - 1) & all;
	if (!rql_selftest_below(t, 4))
		*to = *from + 100 > *from ? (*from + 100) & all : *from;
	if (i < 4) {
		*from = i & 1 ? all : 0;
		*to = i & 2 ? all : 0;
	}
}

rql_status rql_drawn_buffer(struct rql_selftest *t, uint32_t bits, const uint64_t *keys, uint64_t count,
                            struct rql_span *out, struct rql_error *err)
{
	uint32_t *narrow;
	*out = (struct rql_span){NULL, 0};
	if (bits == 64)
		return rql_selftest_buffer(t, count * 8, keys, "keys of look-ups", &out->buffer, err);
	RQL_TRY(rql_selftest_alloc(t, count, 4, &narrow, err));
	for (uint64_t i = 0; i < count; i++)
		narrow[i] = (uint32_t)keys[i];
	return rql_selftest_buffer(t, count * 4, narrow, "keys of look-ups", &out->buffer, err);
}
