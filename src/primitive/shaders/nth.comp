#version 460
// The n-th greatest of unsigned keys, one round: the digits so far are chosen, and the next one is counted among the keys
// that have them. The round behind the last one writes the key. Floor: reads every key once a round.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_nth_args args; };

#define DIGITS_PER_THREAD (RQL_NTH_DIGITS / RQL_THREADS)
#define STATE_BYTES (RQL_NTH_ROUNDS * 16u)
shared uint counters[RQL_NTH_DIGITS];
shared uint sums[RQL_THREADS];
shared uint64_t shared_prefix, shared_rest;

uint bits_of(uint round)
{
	return round + 1u < RQL_NTH_ROUNDS ? RQL_NTH_BITS : 64u - (RQL_NTH_ROUNDS - 1u) * RQL_NTH_BITS;
}

uint shift_of(uint round)
{
	return round + 1u < RQL_NTH_ROUNDS ? 64u - (round + 1u) * RQL_NTH_BITS : 0u;
}

uint64_t histogram_of(uint round)
{
	return args.temp + uint64_t(STATE_BYTES) + uint64_t(round) * RQL_NTH_DIGITS * 4ul;
}

// The digit of `round` that the wanted key has: a thread adds up neighbouring digits, the greatest first.
void choose(uint round, inout uint64_t prefix, inout uint64_t rest)
{
	uint t = gl_LocalInvocationIndex;
	uint top = RQL_NTH_DIGITS - 1u - t * DIGITS_PER_THREAD;
	uint64_t histogram = histogram_of(round);
	uint sum = 0u;
	for (uint i = 0u; i < DIGITS_PER_THREAD; i++)
		sum += RQL_U32(histogram, top - i);
	sums[t] = sum;
	if (t == 0u) {
		shared_prefix = 0ul;
		shared_rest = 0ul;
	}
	barrier();
	for (uint step = 1u; step < RQL_THREADS; step <<= 1u) {
		uint more = t >= step ? sums[t - step] : 0u;
		barrier();
		sums[t] += more;
		barrier();
	}
	uint64_t before = uint64_t(sums[t] - sum);
	if (before < rest && rest <= before + uint64_t(sum)) {
		uint digit = top;
		for (uint count = RQL_U32(histogram, digit); rest > before + uint64_t(count);
		     count = RQL_U32(histogram, digit)) {
			before += uint64_t(count);
			digit--;
		}
		shared_prefix = prefix << bits_of(round) | uint64_t(digit);
		shared_rest = rest - before;
	}
	barrier();
	prefix = shared_prefix;
	rest = shared_rest;
}

void count_digits(uint64_t group, uint64_t prefix)
{
	uint shift = shift_of(args.round), bits = bits_of(args.round);
	uint64_t mask = (1ul << bits) - 1ul;
	uint64_t count = args.found != 0ul ? min(args.count, RQL_U64(args.found, 0)) : args.count;
	for (uint i = gl_LocalInvocationIndex; i < RQL_NTH_DIGITS; i += RQL_THREADS)
		counters[i] = 0u;
	barrier();
	for (uint64_t i = group * RQL_THREADS + gl_LocalInvocationIndex; i < count; i += uint64_t(args.groups) * RQL_THREADS) {
		uint64_t key = RQL_U64(args.keys, i);
		if (args.round == 0u || key >> (shift + bits) == prefix)
			atomicAdd(counters[uint(key >> shift & mask)], 1u);
	}
	barrier();
	for (uint i = gl_LocalInvocationIndex; i < RQL_NTH_DIGITS; i += RQL_THREADS)
		if (counters[i] != 0u)
			atomicAdd(RQL_U32(histogram_of(args.round), i), counters[i]);
}

void main()
{
	uint64_t group = rql_group();
	uint64_t prefix = 0ul, rest = args.n;
	if (group >= args.groups)
		return;
	if (args.round > 1u) {
		prefix = RQL_U64(args.temp, (args.round - 1u) * 2u);
		rest = RQL_U64(args.temp, (args.round - 1u) * 2u + 1u);
	}
	if (args.round > 0u && rest != 0ul)
		choose(args.round - 1u, prefix, rest);
	bool first = group == 0ul && gl_LocalInvocationIndex == 0u;
	if (args.round == RQL_NTH_ROUNDS) {
		if (first)
			RQL_U64(args.out_items, 0) = rest != 0ul ? prefix : 0ul;
		return;
	}
	if (first && args.round > 0u) {
		RQL_U64(args.temp, args.round * 2u) = prefix;
		RQL_U64(args.temp, args.round * 2u + 1u) = rest;
	}
	if (rest != 0ul)
		count_digits(group, prefix);
}
