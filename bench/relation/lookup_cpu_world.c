/* Keys and probes of a shape on the CPU, and the check of answers: as shaders/rx_data.comp and relation_data.comp have
 * them, a key's number tells all about it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/relation/lookup_cpu.h"

#define A 0xa24baed5u
#define B 0x9fb21c65u
#define C UINT64_C(0x9d5e1fb7c2a86b4d)
#define POISON 0x5a

/* Modulo 2^64, and so modulo less. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	for (unsigned i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* One-to-one on all keys, and back. */
static uint64_t mix(const struct rql_lookup_world *w, uint64_t x)
{
	if (!w->narrow) {
		x = (x ^ x >> 32) * C;
		return x ^ x >> 32;
	}
	uint32_t y = (uint32_t)x;
	y = (y ^ y >> 16) * A;
	y = (y ^ y >> 15) * B;
	return y ^ y >> 16;
}

static uint64_t unmix(const struct rql_lookup_world *w, uint64_t x)
{
	if (!w->narrow) {
		x = (x ^ x >> 32) * inverse(C);
		return x ^ x >> 32;
	}
	uint32_t y = (uint32_t)x;
	y = (y ^ y >> 16) * (uint32_t)inverse(B);
	y = (y ^ y >> 15 ^ y >> 30) * (uint32_t)inverse(A);
	return y ^ y >> 16;
}

/* A permutation of the numbers below 2^bits, and back. */
static uint32_t permuted(uint32_t x, uint32_t bits)
{
	const uint32_t mask = (1u << bits) - 1;
	x = x * A & mask;
	x ^= x >> (bits + 1) / 2;
	return x * B & mask;
}

static uint32_t unpermuted(uint32_t x, uint32_t bits)
{
	const uint32_t mask = (1u << bits) - 1;
	x = x * (uint32_t)inverse(B) & mask;
	x ^= x >> (bits + 1) / 2;
	return x * (uint32_t)inverse(A) & mask;
}

/* Of a cluster, or of an octave: the bits of a number below it. */
static uint32_t lower_bits(const struct rql_lookup_world *w)
{
	return w->shape->spread == RQL_BENCH_CLUSTERED ? w->log2_build / 2 : w->log2_build - RQL_BENCH_LOG2_OCTAVES;
}

static uint64_t key_of(const struct rql_lookup_world *w, uint64_t number)
{
	const uint32_t bits = lower_bits(w), low = (uint32_t)number & ((1u << bits) - 1), high = (uint32_t)(number >> bits);
	if (w->shape->spread == RQL_BENCH_CLUSTERED)
		return permuted(high, 32 - bits) << bits | low;
	if (w->shape->spread == RQL_BENCH_EXPONENTIAL)
		return UINT64_C(1) << (32 + high) | (uint64_t)low << (32 + high - bits);
	if (number < w->dense)
		return number;
	uint64_t key = mix(w, number);
	while (key < w->dense)
		key = mix(w, key);
	return key;
}

static uint64_t number_of(const struct rql_lookup_world *w, uint64_t key)
{
	const uint32_t bits = lower_bits(w), mask = (1u << bits) - 1;
	if (w->shape->spread == RQL_BENCH_CLUSTERED)
		return (uint64_t)unpermuted((uint32_t)key >> bits, 32 - bits) << bits | ((uint32_t)key & mask);
	if (w->shape->spread == RQL_BENCH_EXPONENTIAL) {
		const uint32_t octave = 63 - (uint32_t)__builtin_clzll(key);
		return (uint64_t)(octave - 32) << bits | ((uint32_t)(key >> (octave - bits)) & mask);
	}
	if (key < w->dense)
		return key;
	uint64_t number = unmix(w, key);
	while (number < w->dense)
		number = unmix(w, number);
	return number;
}

static uint64_t row_number(const struct rql_lookup_world *w, uint32_t row)
{
	if (w->shape->ordered)
		return row >> (w->log2_build - w->log2_distinct);
	return permuted(row, w->log2_build) & ((1u << w->log2_distinct) - 1);
}

static uint64_t random_of(uint64_t x)
{
	x = ((x + UINT64_C(0x123456789)) ^ x >> 31) * C;
	x = (x ^ x >> 29) * UINT64_C(0xc4f3a6912be7d085);
	x = (x ^ x >> 32) * C;
	return x ^ x >> 29;
}

/* Uniform, or of rank n with a frequency of about n^-zipf. */
static uint64_t drawn(const struct rql_lookup_world *w, uint64_t u)
{
	const uint32_t bits = w->log2_distinct;
	if (w->shape->zipf <= 0)
		return (u >> 20) & ((1u << bits) - 1);
	const double part = ((double)(u >> 40) + 0.5) / 16777216, all = (double)(1u << bits) + 1;
	const double s = 1 - (double)w->shape->zipf;
	const double rank = fabs(s) < 0.001 ? pow(all, part) : pow((pow(all, s) - 1) * part + 1, 1 / s);
	return permuted((uint32_t)fmin(fmax(rank, 1), all - 1) - 1, bits);
}

static void set_word(void *words, bool narrow, uint64_t at, uint64_t word)
{
	if (narrow)
		((uint32_t *)words)[at] = (uint32_t)word;
	else
		((uint64_t *)words)[at] = word;
}

static void make(struct rql_lookup_world *w)
{
	for (uint64_t row = 0; row < w->keys; row++)
		set_word(w->key, w->narrow, row, key_of(w, row_number(w, (uint32_t)row)));
	for (uint64_t i = 0; i < w->probes; i++) {
		const uint64_t u = random_of(i);
		uint64_t number = drawn(w, u);
		if ((random_of(u) >> 20) % 1000 < w->shape->miss)
			number += UINT64_C(1) << w->log2_distinct;
		set_word(w->point, w->narrow, i, key_of(w, number));
	}
}

static void forget(struct rql_lookup_world *w)
{
	if (w->row)
		memset(w->row, POISON, w->probes * sizeof *w->row);
	if (w->sum)
		memset(w->sum, POISON, w->probes * sizeof *w->sum);
}

static uint32_t scaled(const struct rql_relation_bench *b, int log2)
{
	const int64_t at = log2 + b->options->log2_scale;
	return at < 6 ? 6 : (uint32_t)at;
}

rql_status rql_lookup_world_new(struct rql_relation_bench *b, const struct rql_rx_shape *shape,
                                struct rql_lookup_world *w, struct rql_error *err)
{
	*w = (struct rql_lookup_world){.shape = shape, .narrow = shape->key_bits == 32};
	w->log2_build = scaled(b, shape->log2_keys);
	w->log2_distinct = w->log2_build > shape->log2_dups ? w->log2_build - shape->log2_dups : 1;
	w->dense = (UINT64_C(1) << w->log2_distinct) * (100 - shape->uniform) / 100;
	w->keys = UINT64_C(1) << w->log2_build;
	w->probes = UINT64_C(1) << scaled(b, shape->log2_probes);
	w->last = !shape->uniform ? w->dense - 1 : w->narrow ? UINT32_MAX : UINT64_MAX;
	const bool sums = shape->width || shape->log2_dups;
	const size_t bytes = shape->key_bits / 8;
	w->key = malloc(w->keys * bytes);
	w->point = malloc(w->probes * bytes);
	w->row = sums ? NULL : malloc(w->probes * sizeof *w->row);
	w->sum = sums ? malloc(w->probes * sizeof *w->sum) : NULL;
	if (!w->key || !w->point || !(w->row || w->sum)) {
		rql_lookup_world_free(w);
		return rql_error_memory(err, (w->keys + w->probes) * bytes, "keys and probes");
	}
	make(w);
	forget(w);
	return RQL_OK;
}

void rql_lookup_world_free(struct rql_lookup_world *w)
{
	free(w->key);
	free(w->point);
	free(w->row);
	free(w->sum);
}

/* Ranges are of dense keys alone. */
static bool is_right(struct rql_lookup_world *w, uint64_t probe)
{
	const uint64_t key = rql_lookup_word(w->point, w->narrow, probe), number = number_of(w, key);
	const uint64_t distinct = UINT64_C(1) << w->log2_distinct, width = w->shape->width ? w->shape->width : 1;
	const bool there = number < distinct;
	w->found += there;
	if (w->row) {
		const uint32_t row = w->row[probe];
		return there ? row < w->keys && row_number(w, row) == number : row == RQL_LOOKUP_CPU_NO_ROW;
	}
	const uint64_t keys = !there ? 0 : width < distinct - number ? width : distinct - number;
	const uint64_t sum = keys * (uint32_t)key + (keys * keys - keys) / 2;
	return w->sum[probe] == sum * (w->keys / distinct);
}

bool rql_lookup_world_check(struct rql_lookup_world *w)
{
	bool good = true;
	w->found = 0;
	for (uint64_t i = 0; i < w->probes; i++)
		good = is_right(w, i) && good;
	forget(w);
	return good;
}
