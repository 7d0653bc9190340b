/* Randomness as a function of counters: any row can be made by any thread. Only for src/gen. */
#ifndef RQL_GEN_RANDOM_H
#define RQL_GEN_RANDOM_H

#include <stdint.h>

#define RQL_RANDOM_GOLDEN 0x9e3779b97f4a7c15u

/* The finaliser of SplitMix (G. Steele, D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014,
 * figure 16, variant 13): a bijection on 64 bits whose output passes as random on consecutive counters. */
static inline uint64_t rql_random_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Number `counter` of the independent sequence `stream` of a seed. */
static inline uint64_t rql_random_at(uint64_t seed, uint64_t stream, uint64_t counter)
{
	uint64_t key = rql_random_mix(seed * RQL_RANDOM_GOLDEN + stream);
	return rql_random_mix(key + (counter + 1) * RQL_RANDOM_GOLDEN);
}

/* Takes a uniform number in [0, n) out of the bits of *random: the high digits of a fraction in base n. A 64-bit hash
 * holds enough digits as long as the product of the n's stays far below 2^64. */
static inline uint64_t rql_random_take(uint64_t *random, uint64_t n)
{
	__extension__ unsigned __int128 wide = (unsigned __int128)*random * n;
	*random = (uint64_t)wide;
	return (uint64_t)(wide >> 64);
}

/* A rank in [0, n), n >= 1, by a law like Zipf's with exponent 1: ranks 2^o - 1 to 2^(o+1) - 2 are an octave, all
 * octaves are equally likely, and so are the ranks within one. Whole numbers only, so that every machine draws the
 * same. */
static inline uint64_t rql_random_rank(uint64_t *random, uint64_t n)
{
	uint64_t octaves = 64 - (uint64_t)__builtin_clzll(n);
	uint64_t octave = rql_random_take(random, octaves);
	uint64_t rank = ((uint64_t)1 << octave) - 1 + rql_random_take(random, (uint64_t)1 << octave);
	return rank < n ? rank : rank % n;
}

#endif
