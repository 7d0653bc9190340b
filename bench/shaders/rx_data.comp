#version 460
// Data of rayql bench rx and thesis, and the checks of answers. A key's number tells all about it: whether it is there,
// and what its rows are, so that nothing is shared with what is measured.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "../bench/rx/rx_bench_kernels.h"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint WHAT = 0u;
layout(push_constant, scalar) uniform rql_push { rql_rx_bench_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer bench_word32 { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer bench_word64 { uint64_t v; };
#define W32(address, i) bench_word32((address) + uint64_t(i) * 4ul).v
#define W64(address, i) bench_word64((address) + uint64_t(i) * 8ul).v
#if KEY_BITS == 64
#define WKEY(address, i) W64(address, i)
#define KEY uint64_t
#else
#define WKEY(address, i) uint64_t(W32(address, i))
#define KEY uint
#endif
const uint A = 0xa24baed5u;
const uint B = 0x9fb21c65u;
const uint64_t C = 0x9d5e1fb7c2a86b4dul;

uint inverse(uint odd)
{
	uint x = odd;
	for (uint i = 0u; i < 5u; i++)
		x *= 2u - odd * x;
	return x;
}

uint64_t inverse64(uint64_t odd)
{
	uint64_t x = odd;
	for (uint i = 0u; i < 6u; i++)
		x *= 2ul - odd * x;
	return x;
}

// One-to-one on all keys, and back.
uint64_t mix(uint64_t x)
{
#if KEY_BITS == 64
	x = (x ^ x >> 32u) * C;
	return x ^ x >> 32u;
#else
	uint y = uint(x);
	y = (y ^ y >> 16u) * A;
	y = (y ^ y >> 15u) * B;
	return uint64_t(y ^ y >> 16u);
#endif
}

uint64_t unmix(uint64_t x)
{
#if KEY_BITS == 64
	x = (x ^ x >> 32u) * inverse64(C);
	return x ^ x >> 32u;
#else
	uint y = uint(x);
	y = (y ^ y >> 16u) * inverse(B);
	y = (y ^ y >> 15u ^ y >> 30u) * inverse(A);
	return uint64_t(y ^ y >> 16u);
#endif
}

// Numbers from `dense` on go to keys from `dense` on, one-to-one.
uint64_t key_of(uint64_t number)
{
	if (number < args.dense)
		return number;
	uint64_t key = mix(number);
	while (key < args.dense)
		key = mix(key);
	return key;
}

uint64_t number_of(uint64_t key)
{
	if (key < args.dense)
		return key;
	uint64_t number = unmix(key);
	while (number < args.dense)
		number = unmix(number);
	return number;
}

// A permutation of the numbers below 2^bits.
uint permuted(uint x, uint bits)
{
	uint mask = (1u << bits) - 1u;
	x = x * A & mask;
	x ^= x >> (bits + 1u) / 2u;
	return x * B & mask;
}

uint row_number(uint row)
{
	if (args.ordered != 0u)
		return row >> args.log2_build - args.log2_distinct;
	return permuted(row, args.log2_build) & ((1u << args.log2_distinct) - 1u);
}

uint64_t random(uint64_t x)
{
	x = (x + 0x123456789ul ^ x >> 31u) * 0x9d5e1fb7c2a86b4dul;
	x = (x ^ x >> 29u) * 0xc4f3a6912be7d085ul;
	x = (x ^ x >> 32u) * 0x9d5e1fb7c2a86b4dul;
	return x ^ x >> 29u;
}

// Uniform, or of rank n with a frequency of about n^-zipf.
uint drawn(uint64_t u)
{
	uint bits = args.log2_distinct;
	if (args.zipf == 0.0)
		return uint(u >> 20u) & ((1u << bits) - 1u);
	float part = (float(uint(u >> 40u)) + 0.5) / 16777216.0, all = float(1u << bits) + 1.0, s = 1.0 - args.zipf;
	float rank = abs(s) < 0.001 ? pow(all, part) : pow((pow(all, s) - 1.0) * part + 1.0, 1.0 / s);
	return permuted(uint(clamp(rank, 1.0, all - 1.0)) - 1u, bits);
}

void make_probe(uint row)
{
	uint64_t u = random(uint64_t(row));
	uint64_t number = uint64_t(drawn(u));
	if (uint(random(u) >> 20u) % 1000u < args.miss)
		number += 1ul << args.log2_distinct;
	KEY key = KEY(key_of(number));
#if KEY_BITS == 64
	W64(args.keys, row) = key;
	if (args.ends != 0ul)
		W64(args.ends, row) = key + uint64_t(args.width) - 1ul;
#else
	W32(args.keys, row) = key;
	if (args.ends != 0ul)
		W32(args.ends, row) = key + args.width - 1u;
#endif
}

// Ranges are of dense keys alone.
bool is_right(uint row, out bool there)
{
	uint64_t key = WKEY(args.keys, row), number = number_of(key), distinct = 1ul << args.log2_distinct;
	uint64_t rows = 1ul << args.log2_build - args.log2_distinct;
	bool good = true;
	there = number < distinct;
	if (args.rows_out != 0ul) {
		uint found = W32(args.rows_out, row);
		good = there ? found >> args.log2_build == 0u && uint64_t(row_number(found)) == number : found == ~0u;
	}
	if (args.sums_out != 0ul) {
		uint64_t keys = there ? min(uint64_t(max(args.width, 1u)), distinct - number) : 0ul;
		if (args.width == 0u)
			keys = there ? 1ul : 0ul;
		uint64_t sum = (keys * (key & 0xfffffffful) + (keys * keys - keys) / 2ul) * rows;
		good = good && W64(args.sums_out, row) == sum;
	}
	return good;
}

void check(uint row, bool is)
{
	bool there = false, good = !is || is_right(row, there);
	uint wrong = subgroupAdd(good ? 0u : 1u), found = subgroupAdd(is && there ? 1u : 0u);
	if (subgroupElect() && wrong != 0u)
		atomicAdd(W64(args.results, 0), uint64_t(wrong));
	if (subgroupElect() && found != 0u)
		atomicAdd(W64(args.results, 1), uint64_t(found));
}

void swap(uint pair)
{
	uint a = 2u * pair, b = a + 1u;
#if KEY_BITS == 64
	uint64_t key = W64(args.keys, a);
	W64(args.keys, a) = W64(args.keys, b);
	W64(args.keys, b) = key;
#else
	uint key = W32(args.keys, a);
	W32(args.keys, a) = W32(args.keys, b);
	W32(args.keys, b) = key;
#endif
	uint value = W32(args.values, a);
	W32(args.values, a) = W32(args.values, b);
	W32(args.values, b) = value;
}

void main()
{
	uint64_t at = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	bool is = at < args.rows;
	uint row = uint(at);
	if (WHAT == RQL_RX_BENCH_CHECK) {
		check(row, is);
	} else if (!is) {
		return;
	} else if (WHAT == RQL_RX_BENCH_KEYS) {
		KEY key = KEY(key_of(uint64_t(row_number(row))));
#if KEY_BITS == 64
		W64(args.keys, row) = key;
#else
		W32(args.keys, row) = key;
#endif
		W32(args.values, row) = uint(key);
	} else if (WHAT == RQL_RX_BENCH_PROBES) {
		make_probe(row);
	} else if (WHAT == RQL_RX_BENCH_MOVE) {
		if (args.width == 64u)
			W64(args.out_items, W32(args.places, row)) = W64(args.keys, row);
		else
			W32(args.out_items, W32(args.places, row)) = W32(args.keys, row);
	} else if (WHAT == RQL_RX_BENCH_FETCH) {
		uint from = W32(args.places, row);
#if KEY_BITS == 64
		W64(args.out_items, row) = W64(args.keys, from);
#else
		W32(args.out_items, row) = W32(args.keys, from);
#endif
	} else if (WHAT == RQL_RX_BENCH_SWAP) {
		swap(row);
	} else if (WHAT == RQL_RX_BENCH_ROWS) {
		W32(args.out_items, row) = row + uint(args.keys);
	}
}
