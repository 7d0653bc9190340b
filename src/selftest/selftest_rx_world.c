/* Keys and probes for look-ups by rays, and their answers by a loop over all keys. */
#include "selftest/selftest_rx.h"

static uint64_t drawn_key(struct rql_rx_world *w)
{
	struct rql_selftest *t = w->t;
	uint64_t all = w->greatest, i = rql_selftest_below(t, w->keys + 1);
	switch (w->pattern) {
	case RQL_RX_DENSE: /* as many integers as keys */
		return 1000 + i;
	case RQL_RX_DUPLICATES: /* half of the keys are one */
		return rql_selftest_below(t, 2) ? 77 * (w->keys / 3) : 77 * (i / 9);
	case RQL_RX_ENDS:
		return rql_selftest_below(t, 2) ? i % 4 : all - i % 4;
	case RQL_RX_EQUAL:
		return all / 3;
	default:
		return all == UINT64_MAX ? rql_selftest_random(t) : rql_selftest_below(t, all + 1);
	}
}

/* Keys that are there, their neighbours, any others, and the ends; ranges that are short, long, empty, everything. */
static void draw_probe(struct rql_rx_world *w, uint64_t i)
{
	struct rql_selftest *t = w->t;
	uint64_t all = w->key_bits == 64 ? UINT64_MAX : UINT32_MAX, from = drawn_key(w), to = drawn_key(w);
	if (w->keys && rql_selftest_below(t, 2))
		from = w->key[rql_selftest_below(t, w->keys)];
	if (!rql_selftest_below(t, 4))
		from = (from + rql_selftest_below(t, 3) - 1) & all;
	if (!rql_selftest_below(t, 4))
		to = from + 100 > from ? (from + 100) & all : from;
	if (i < 4) {
		from = i & 1 ? all : 0;
		to = i & 2 ? all : 0;
	}
	w->point[i] = from;
	w->end[i] = to;
}

rql_status rql_rx_world_keys(struct rql_rx_world *w, const uint64_t *keys, uint64_t count, struct rql_span *out,
                             struct rql_error *err)
{
	uint32_t *narrow;
	*out = (struct rql_span){NULL, 0};
	if (w->key_bits == 64)
		return rql_selftest_buffer(w->t, count * 8, keys, "keys of look-ups by rays", &out->buffer, err);
	RQL_TRY(rql_selftest_alloc(w->t, count, 4, &narrow, err));
	for (uint64_t i = 0; i < count; i++)
		narrow[i] = (uint32_t)keys[i];
	return rql_selftest_buffer(w->t, count * 4, narrow, "keys of look-ups by rays", &out->buffer, err);
}

static rql_status alloc(struct rql_rx_world *w, struct rql_error *err)
{
	uint64_t **wide[] = {&w->point, &w->end, &w->sum, &w->got_sum};
	uint32_t **narrow[] = {&w->row, &w->least_row, &w->count, &w->got32, &w->got_count};
	RQL_TRY(rql_selftest_alloc(w->t, w->keys + 1, 8, &w->key, err));
	RQL_TRY(rql_selftest_alloc(w->t, w->keys + 1, 4, &w->value, err));
	for (uint32_t i = 0; i < 4; i++)
		RQL_TRY(rql_selftest_alloc(w->t, w->probes + 1, 8, wide[i], err));
	for (uint32_t i = 0; i < 5; i++)
		RQL_TRY(rql_selftest_alloc(w->t, w->probes + 1, 4, narrow[i], err));
	return RQL_OK;
}

rql_status rql_rx_world_make(struct rql_rx_world *w, struct rql_error *err)
{
	if (!w->greatest)
		w->greatest = w->key_bits == 64 ? UINT64_MAX : UINT32_MAX;
	RQL_TRY(alloc(w, err));
	w->low = w->keys ? UINT64_MAX : 0;
	w->high = 0;
	for (uint64_t i = 0; i < w->keys; i++) {
		uint64_t key = w->key[i] = drawn_key(w);
		w->value[i] = (int32_t)rql_selftest_random(w->t);
		w->low = key < w->low ? key : w->low;
		w->high = key > w->high ? key : w->high;
	}
	for (uint64_t i = 0; i < w->probes; i++)
		draw_probe(w, i);
	RQL_TRY(rql_rx_world_keys(w, w->key, w->keys, &w->keys_on, err));
	RQL_TRY(rql_rx_world_keys(w, w->point, w->probes, &w->points_on, err));
	RQL_TRY(rql_rx_world_keys(w, w->end, w->probes, &w->ends_on, err));
	return rql_selftest_buffer(w->t, w->keys * 4, w->value, "values of look-ups by rays", &w->values_on.buffer, err);
}

void rql_rx_world_want(struct rql_rx_world *w, bool ranges)
{
	for (uint64_t i = 0; i < w->probes; i++) {
		uint64_t low = w->point[i], high = ranges ? w->end[i] : low, least = 0;
		w->row[i] = w->least_row[i] = RQL_RX_WORLD_NO_ROW;
		w->count[i] = 0;
		w->sum[i] = 0;
		for (uint64_t row = 0; row < w->keys; row++) {
			uint64_t key = w->key[row];
			if (key < low || key > high)
				continue;
			if (!w->count[i] || key < least) {
				w->least_row[i] = (uint32_t)row;
				least = key;
			}
			w->row[i] = w->count[i] ? w->row[i] : (uint32_t)row;
			w->count[i]++;
			w->sum[i] += (uint64_t)(int64_t)w->value[row];
		}
	}
}
