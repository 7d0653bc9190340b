/* Keys and probes for look-ups by rays, and their answers by a loop over all keys. */
#include "selftest/lookup/selftest_rx.h"

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
	const struct rql_drawn_keys drawn = {
		.pattern = w->pattern, .bits = w->key_bits, .greatest = w->greatest, .count = w->keys, .keys = w->key};
	w->low = w->keys ? UINT64_MAX : 0;
	w->high = 0;
	for (uint64_t i = 0; i < w->keys; i++) {
		uint64_t key = w->key[i] = rql_drawn_key(w->t, &drawn);
		w->value[i] = (int32_t)rql_selftest_random(w->t);
		w->low = key < w->low ? key : w->low;
		w->high = key > w->high ? key : w->high;
	}
	for (uint64_t i = 0; i < w->probes; i++)
		rql_drawn_probe(w->t, &drawn, i, &w->point[i], &w->end[i]);
	RQL_TRY(rql_drawn_buffer(w->t, w->key_bits, w->key, w->keys, &w->keys_on, err));
	RQL_TRY(rql_drawn_buffer(w->t, w->key_bits, w->point, w->probes, &w->points_on, err));
	RQL_TRY(rql_drawn_buffer(w->t, w->key_bits, w->end, w->probes, &w->ends_on, err));
	return rql_selftest_buffer(w->t, w->keys * 4, w->value, "values of look-ups by rays", &w->values_on.buffer, err);
}

static rql_status upload(struct rql_rx_world *w, const uint64_t *keys, const struct rql_span *to, struct rql_error *err)
{
	uint32_t *narrow;
	if (w->key_bits == 64)
		return rql_buffer_upload(to->buffer, to->offset, keys, w->probes * 8, err);
	RQL_TRY(rql_selftest_alloc(w->t, w->probes + 1, 4, &narrow, err));
	for (uint64_t i = 0; i < w->probes; i++)
		narrow[i] = (uint32_t)keys[i];
	return rql_buffer_upload(to->buffer, to->offset, narrow, w->probes * 4, err);
}

rql_status rql_rx_world_probe(struct rql_rx_world *w, struct rql_error *err)
{
	const struct rql_drawn_keys drawn = {
		.pattern = w->pattern, .bits = w->key_bits, .greatest = w->greatest, .count = w->keys, .keys = w->key};
	for (uint64_t i = 0; i < w->probes; i++)
		rql_drawn_probe(w->t, &drawn, i, &w->point[i], &w->end[i]);
	RQL_TRY(upload(w, w->point, &w->points_on, err));
	return upload(w, w->end, &w->ends_on, err);
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
			if (key < low || key > high || (w->live && !w->live[row]))
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
