/* Bits in words of 64: NULL bits (a bit is set where there is a value), sets of codes, rows that pass. Bit i is bit i % 64
 * of word i / 64. What lies behind the last bit of a bitmap may be anything, unless its owner says more. */
#ifndef RQL_UTIL_BITS_H
#define RQL_UTIL_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lowest `bits` of a word. */
static inline uint64_t rql_bit_mask(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* 0 or 1. */
static inline uint64_t rql_bit(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* Of NULL bits that may be missing: then nothing is NULL. */
static inline bool rql_bit_valid(const uint64_t *valid, uint64_t i)
{
	return !valid || rql_bit(valid, i);
}

static inline void rql_bit_set(uint64_t *bits, uint64_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void rql_bit_clear(uint64_t *bits, uint64_t i)
{
	bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* Sets the bit where `on` is. */
static inline void rql_bit_or(uint64_t *bits, uint64_t i, bool on)
{
	bits[i / 64] |= (uint64_t)on << i % 64;
}

/* Sets the first `count`, and clears the rest of the last word. */
static inline void rql_bits_fill(uint64_t *bits, uint64_t count)
{
	for (uint64_t w = 0; w < count / 64; w++)
		bits[w] = UINT64_MAX;
	if (count % 64)
		bits[count / 64] = rql_bit_mask((uint32_t)(count % 64));
}

/* How many of the first `count` are set. */
static inline uint64_t rql_bits_count(const uint64_t *bits, uint64_t count)
{
	uint64_t set = 0;
	for (uint64_t w = 0; w < count / 64; w++)
		set += (uint64_t)__builtin_popcountll(bits[w]);
	if (count % 64)
		set += (uint64_t)__builtin_popcountll(bits[count / 64] & rql_bit_mask((uint32_t)(count % 64)));
	return set;
}

/* Each of the first `count` is set. */
static inline bool rql_bits_all(const uint64_t *bits, uint64_t count)
{
	uint64_t all = count % 64 ? bits[count / 64] | ~rql_bit_mask((uint32_t)(count % 64)) : UINT64_MAX;
	for (uint64_t w = 0; w < count / 64; w++)
		all &= bits[w];
	return all == UINT64_MAX;
}

/* The first of the first `count`, from `at` on, that is set (or not); count: none. */
static inline uint32_t rql_bits_next(const uint64_t *bits, uint32_t count, uint32_t at, bool set)
{
	while (at < count) {
		uint64_t word = (set ? bits[at / 64] : ~bits[at / 64]) >> at % 64;
		if (word) {
			at += (uint32_t)__builtin_ctzll(word);
			break;
		}
		at = (at / 64 + 1) * 64;
	}
	return at < count ? at : count;
}

/* Sets bits [at, at + count) where those of `from` [first, ..) are set; from NULL: all. A word at a time. */
static inline void rql_bits_copy(uint64_t *to, uint64_t at, const uint64_t *from, uint64_t first, uint64_t count)
{
	for (uint64_t done = 0, n; done < count; done += n) {
		uint64_t place = (at + done) % 64, source = from ? (first + done) % 64 : 0;
		n = 64 - (source > place ? source : place);
		n = count - done < n ? count - done : n;
		uint64_t bits = from ? from[(first + done) / 64] >> source : UINT64_MAX;
		to[(at + done) / 64] |= (bits & rql_bit_mask((uint32_t)n)) << place;
	}
}

static inline void rql_bits_set(uint64_t *bits, uint64_t first, uint64_t end)
{
	if (first < end)
		rql_bits_copy(bits, first, NULL, 0, end - first);
}
#endif
