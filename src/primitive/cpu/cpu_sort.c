/* Radix sort on the CPU, least significant digit first, as on a GPU: digits counted per chunk, a prefix sum over
 * [digit][chunk], scatter. Items are gathered in a cache line per digit before they are written, so that 256 streams
 * touch memory one line at a time. A digit that all keys share is skipped. */
#include <stdlib.h>

#include "primitive/primitive_internal.h"

#define DIGITS 256u
#define LINE_ITEMS 16u /* per digit: one or two lines of keys, and of values */
#define LINES_BYTES (2u * DIGITS * LINE_ITEMS * sizeof(uint64_t))

struct sort_state {
	const struct rql_cpu_sort *sort;
	struct rql_cpu_chunks chunks;
	uint32_t shift, mask;
	const void *keys_in, *values_in;
	void *keys_out, *values_out;
	uint64_t *offsets; /* [chunk][digit] */
	void *lines;       /* [worker] of LINES_BYTES: too much for a small stack */
};

static void count_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	struct sort_state *s = state;
	uint64_t *counts = s->offsets + chunk * DIGITS, end = rql_chunk_end(&s->chunks, chunk);
	memset(counts, 0, DIGITS * sizeof(*counts));
	if (s->sort->key_bits == 32)
		for (uint64_t i = chunk * s->chunks.size; i < end; i++)
			counts[((const uint32_t *)s->keys_in)[i] >> s->shift & s->mask]++;
	else
		for (uint64_t i = chunk * s->chunks.size; i < end; i++)
			counts[((const uint64_t *)s->keys_in)[i] >> s->shift & s->mask]++;
}

/* Counts to positions; false: one digit has all the items. */
static bool place_digits(struct sort_state *s)
{
	uint64_t at = 0;
	for (uint32_t digit = 0; digit < DIGITS; digit++) {
		uint64_t begin = at;
		for (uint64_t chunk = 0; chunk < s->chunks.number; chunk++) {
			uint64_t *offset = &s->offsets[chunk * DIGITS + digit], count = *offset;
			*offset = at;
			at += count;
		}
		if (at - begin == s->chunks.count)
			return false;
	}
	return true;
}

#define DEFINE_SCATTER(name, key_type, value_type, has_values)                                                         \
	static void scatter_##name(void *state, uint64_t chunk, unsigned worker)                                           \
	{                                                                                                                  \
		struct sort_state *s = state;                                                                                  \
		const key_type *keys = s->keys_in;                                                                             \
		const value_type *values = s->values_in;                                                                       \
		key_type *keys_out = s->keys_out;                                                                              \
		value_type *values_out = s->values_out;                                                                        \
		uint64_t *offsets = s->offsets + chunk * DIGITS, end = rql_chunk_end(&s->chunks, chunk);                       \
		key_type(*key_lines)[LINE_ITEMS] = (void *)((char *)s->lines + worker * LINES_BYTES);                          \
		value_type(*value_lines)[LINE_ITEMS] = (void *)(key_lines + DIGITS);                                           \
		uint32_t filled[DIGITS] = {0};                                                                                 \
		for (uint64_t i = chunk * s->chunks.size; i < end; i++) {                                                      \
			uint32_t digit = (uint32_t)(keys[i] >> s->shift) & s->mask, n = filled[digit];                             \
			key_lines[digit][n] = keys[i];                                                                             \
			if (has_values)                                                                                            \
				value_lines[digit][n] = values[i];                                                                     \
			filled[digit] = ++n;                                                                                       \
			if (n < LINE_ITEMS)                                                                                        \
				continue;                                                                                              \
			memcpy(keys_out + offsets[digit], key_lines[digit], sizeof(key_lines[digit]));                             \
			if (has_values)                                                                                            \
				memcpy(values_out + offsets[digit], value_lines[digit], sizeof(value_lines[digit]));                   \
			offsets[digit] += LINE_ITEMS;                                                                              \
			filled[digit] = 0;                                                                                         \
		}                                                                                                              \
		for (uint32_t digit = 0; digit < DIGITS; digit++) {                                                            \
			for (uint32_t n = 0; n < filled[digit]; n++) {                                                             \
				keys_out[offsets[digit] + n] = key_lines[digit][n];                                                    \
				if (has_values)                                                                                        \
					values_out[offsets[digit] + n] = value_lines[digit][n];                                            \
			}                                                                                                          \
		}                                                                                                              \
	}
DEFINE_SCATTER(32_0, uint32_t, uint32_t, false)
DEFINE_SCATTER(32_32, uint32_t, uint32_t, true)
DEFINE_SCATTER(32_64, uint32_t, uint64_t, true)
DEFINE_SCATTER(64_0, uint64_t, uint32_t, false)
DEFINE_SCATTER(64_32, uint64_t, uint32_t, true)
DEFINE_SCATTER(64_64, uint64_t, uint64_t, true)

struct copy_state {
	struct rql_cpu_chunks chunks;
	const uint8_t *from;
	uint8_t *to;
	uint32_t width;
	bool iota;
};

static void copy_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	const struct copy_state *s = state;
	uint64_t first = chunk * s->chunks.size, end = rql_chunk_end(&s->chunks, chunk);
	if (!s->iota) {
		memcpy(s->to + first * s->width, s->from + first * s->width, (end - first) * s->width);
		return;
	}
	for (uint64_t i = first; i < end; i++) {
		if (s->width == 4)
			((uint32_t *)(void *)s->to)[i] = (uint32_t)i;
		else
			((uint64_t *)(void *)s->to)[i] = i;
	}
}

static rql_status check(const struct rql_cpu_sort *sort, struct rql_error *err)
{
	uint32_t k = sort->key_bits, v = sort->value_bits;
	if ((k == 32 || k == 64) && (v == 0 || v == 32 || v == 64) && sort->low_bit <= sort->high_bit &&
	    sort->high_bit <= k && (v == 0 || sort->values || !sort->count) &&
	    !(v == 32 && sort->iota && sort->count > UINT64_C(1) << 32))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_INTERNAL,
	                     "a sort of %llu keys of %u bits with values of %u bits by bits %u to %u",
	                     (unsigned long long)sort->count, k, v, sort->low_bit, sort->high_bit);
}

/* Sorts between the caller's arrays and the spare ones; leaves the result in s->keys_in, s->values_in. */
static void sort_digits(struct rql_device *cpu, struct sort_state *s)
{
	static rql_chunk_fn *const scatters[2][3] = {
		{scatter_32_0, scatter_32_32, scatter_32_64},
		{scatter_64_0, scatter_64_32, scatter_64_64},
	};
	const struct rql_cpu_sort *sort = s->sort;
	rql_chunk_fn *scatter = scatters[sort->key_bits == 64][sort->value_bits / 32];
	for (s->shift = sort->low_bit; s->shift < sort->high_bit; s->shift += 8) {
		uint32_t left = sort->high_bit - s->shift;
		s->mask = left < 8 ? (1u << left) - 1 : DIGITS - 1;
		rql_pool_run(cpu->pool, s->chunks.number, count_chunk, s);
		if (!place_digits(s))
			continue;
		rql_pool_run(cpu->pool, s->chunks.number, scatter, s);
		void *keys = (void *)(uintptr_t)s->keys_in, *values = (void *)(uintptr_t)s->values_in;
		s->keys_in = s->keys_out;
		s->values_in = s->values_out;
		s->keys_out = keys;
		s->values_out = values;
	}
}

rql_status rql_cpu_sort(struct rql_device *cpu, const struct rql_cpu_sort *sort, struct rql_error *err)
{
	RQL_TRY(check(sort, err));
	struct sort_state s = {.sort = sort, .chunks = rql_cpu_chunks(cpu, sort->count)};
	struct copy_state copy = {.chunks = s.chunks, .to = sort->values, .width = sort->value_bits / 8, .iota = true};
	if (sort->value_bits && sort->iota)
		rql_pool_run(cpu->pool, s.chunks.number, copy_chunk, &copy);
	if (sort->count <= 1)
		return RQL_OK;
	uint64_t key_bytes = sort->count * (sort->key_bits / 8), value_bytes = sort->count * (sort->value_bits / 8);
	uint64_t offset_bytes = s.chunks.number * DIGITS * sizeof(*s.offsets);
	void *keys = malloc(key_bytes), *values = value_bytes ? malloc(value_bytes) : NULL;
	rql_status status = RQL_OK;
	uint64_t lines_bytes = rql_pool_threads(cpu->pool) * LINES_BYTES;
	s.offsets = malloc(offset_bytes);
	s.lines = aligned_alloc(64, lines_bytes);
	if (!keys || !s.offsets || !s.lines || (value_bytes && !values)) {
		status = rql_error_memory(err, key_bytes + value_bytes + offset_bytes + lines_bytes, "sorting");
		goto done;
	}
	s.keys_in = sort->keys;
	s.values_in = sort->values;
	s.keys_out = keys;
	s.values_out = values;
	sort_digits(cpu, &s);
	if (s.keys_in != sort->keys) {
		copy = (struct copy_state){s.chunks, s.keys_in, sort->keys, sort->key_bits / 8, false};
		rql_pool_run(cpu->pool, s.chunks.number, copy_chunk, &copy);
		copy = (struct copy_state){s.chunks, s.values_in, sort->values, sort->value_bits / 8, false};
		if (sort->value_bits)
			rql_pool_run(cpu->pool, s.chunks.number, copy_chunk, &copy);
	}
done:
	free(keys);
	free(values);
	free(s.offsets);
	free(s.lines);
	return status;
}
