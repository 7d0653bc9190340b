/* Keys of a block's rows. */
#include "method/sieve/sieve_keys.h"

static void decode_codes(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                         uint32_t first, uint32_t count, uint64_t *keys)
{
	struct rql_store_view stored = *view;
	uint32_t codes[64];
	stored.translate = NULL;
	for (uint32_t done = 0; done < count; done += 64) {
		uint32_t n = count - done < 64 ? count - done : 64;
		rql_store_decode_codes(k, &stored, block, first + done, n, codes);
		for (uint32_t i = 0; i < n; i++)
			keys[done + i] = codes[i];
	}
}

static void decode_reals(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                         uint32_t first, uint32_t count, uint64_t *keys)
{
	double values[64];
	for (uint32_t done = 0; done < count; done += 64) {
		uint32_t n = count - done < 64 ? count - done : 64;
		rql_store_decode_double(k, view, block, first + done, n, values);
		for (uint32_t i = 0; i < n; i++)
			keys[done + i] = rql_sieve_real_key(values[i]);
	}
}

static void decode_wide(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                        uint32_t first, uint32_t count, uint64_t *keys)
{
	rql_int128 values[64];
	for (uint32_t done = 0; done < count; done += 64) {
		uint32_t n = count - done < 64 ? count - done : 64;
		rql_store_decode_int128(k, view, block, first + done, n, values);
		for (uint32_t i = 0; i < n; i++)
			keys[done + i] = rql_sieve_wide_key(values[i]);
	}
}

void rql_sieve_decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                      uint32_t first, uint32_t count, uint64_t *keys, uint64_t *valid)
{
	(void)rql_store_decode_validity(k, view, block, first, count, valid);
	if (view->kind == RQL_STORE_CODED) {
		decode_codes(k, view, block, first, count, keys);
		return;
	}
	if (view->kind == RQL_STORE_REAL) {
		decode_reals(k, view, block, first, count, keys);
		return;
	}
	if (rql_sieve_is_wide(view->type)) {
		decode_wide(k, view, block, first, count, keys);
		return;
	}
	int64_t *values = (int64_t *)keys;
	rql_store_decode_int64(k, view, block, first, count, values);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = rql_sieve_integer_key(view->type, (uint64_t)values[i]);
}
