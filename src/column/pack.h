/* Bit-packed arrays: the one place that knows their layout. Cubes and column stores share it.
 *
 * A value is base + its unsigned field, modulo 2^64 (bits <= 64) or 2^128 (bits 128): raw fields have a base too. */
#ifndef RQL_COLUMN_PACK_H
#define RQL_COLUMN_PACK_H

#include "column/value/value.h"
#include "util/bits.h"

/* count values of `bits` (0..57) each, value i at bit i * bits, plus `base`. 7 or more readable bytes follow the last
 * value's, so that 8-byte loads never leave the allocation (RQL_PACKED_SLACK). bits == 0: every value is base. bits 64
 * / 128: raw. */
#define RQL_PACKED_SLACK 64u
struct rql_packed {
	uint8_t *data;
	uint64_t count;
	uint32_t bits;
	rql_int128 base;
};

#define RQL_PACKED_MAX_BITS 57u /* one unaligned 8-byte load holds a field at any bit offset of its first byte */

#define RQL_PACKED_NARROW 25u /* widest field that a 32-bit lane takes at any shift */

/* Bits that hold every value of [0, largest]. */
static inline uint32_t rql_bits_for(rql_uint128 largest)
{
	uint64_t high = (uint64_t)(largest >> 64), low = (uint64_t)largest;
	if (high)
		return 128 - (uint32_t)__builtin_clzll(high);
	return low ? 64 - (uint32_t)__builtin_clzll(low) : 0;
}

/* The width that is stored for fields of `bits` bits: 0..57, 64 or 128. */
static inline uint32_t rql_packed_width(uint32_t bits)
{
	return bits <= RQL_PACKED_MAX_BITS ? bits : bits <= 64 ? 64 : 128;
}

/* Bytes behind `data`, the slack included; 0 when nothing is stored (bits == 0 or no values). */
static inline uint64_t rql_packed_bytes(uint64_t count, uint32_t bits)
{
	if (!bits || !count)
		return 0;
	/* count * bits would overflow from 2^57 values on: whole words first. */
	return count / 64 * 8 * bits + (count % 64 * bits + 7) / 8 + RQL_PACKED_SLACK;
}

/* The field of value i without the base; for bits <= 64 only. */
static inline uint64_t rql_packed_field(const struct rql_packed *p, uint64_t i)
{
	uint64_t word;
	if (p->bits == 0)
		return 0;
	if (p->bits == 64) {
		memcpy(&word, p->data + i * 8, 8);
		return word;
	}
	uint64_t bit = i * p->bits;
	memcpy(&word, p->data + (bit >> 3), 8);
	return word >> (bit & 7) & rql_bit_mask(p->bits);
}

static inline rql_int128 rql_packed_get(const struct rql_packed *p, uint64_t i)
{
	if (p->bits == 128) {
		rql_uint128 field;
		memcpy(&field, p->data + i * 16, 16);
		return (rql_int128)((rql_uint128)p->base + field);
	}
	return (rql_int128)((rql_uint128)p->base + rql_packed_field(p, i));
}

/* Writes consecutive fields from a value whose index is a multiple of 64 (so that it starts on a whole word, and
 * threads that write neighbouring ranges never share one). */
struct rql_packer {
	uint8_t *at;
	uint64_t word;
	uint32_t fill; /* bits in word */
	uint32_t bits;
};

static inline struct rql_packer rql_packer_at(const struct rql_packed *p, uint64_t first)
{
	return (struct rql_packer){.at = p->bits ? p->data + first / 64 * 8 * p->bits : NULL, .bits = p->bits};
}

/* bits <= 64; field < 2^bits. */
static inline void rql_packer_put(struct rql_packer *packer, uint64_t field)
{
	if (!packer->bits)
		return;
	packer->word |= field << packer->fill;
	packer->fill += packer->bits;
	if (packer->fill < 64)
		return;
	memcpy(packer->at, &packer->word, 8);
	packer->at += 8;
	packer->fill -= 64;
	packer->word = packer->fill ? field >> (packer->bits - packer->fill) : 0;
}

static inline void rql_packer_put128(struct rql_packer *packer, rql_uint128 field)
{
	memcpy(packer->at, &field, 16);
	packer->at += 16;
}

/* After the last value of a range. */
static inline void rql_packer_flush(struct rql_packer *packer)
{
	if (packer->fill)
		memcpy(packer->at, &packer->word, 8); /* within the slack */
}

#endif
