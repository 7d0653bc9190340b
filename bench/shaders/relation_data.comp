#version 460
// Data of rayql bench device, made on the device, and the checks of answers: complete ones, which share no code with what
// is measured. Keys are a one-to-one mix of their number, payloads of their row, so that each row of an answer tells which
// rows it came from; the sum of a mix of such pairs says that none is there twice or missing.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "../bench/relation/relation_bench_kernels.h"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint WHAT = 0u;
layout(push_constant, scalar) uniform rql_push { rql_relation_bench_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer bench_word32 { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer bench_word64 { uint64_t v; };
#define W32(address, i) bench_word32((address) + uint64_t(i) * 4ul).v
#define W64(address, i) bench_word64((address) + uint64_t(i) * 8ul).v
const uint A = 0xa24baed5u;
const uint B = 0x9fb21c65u;

uint inverse(uint odd)
{
	uint x = odd;
	for (uint i = 0u; i < 5u; i++)
		x *= 2u - odd * x;
	return x;
}

uint mix32(uint x)
{
	x = (x ^ x >> 16u) * A;
	x = (x ^ x >> 15u) * B;
	return x ^ x >> 16u;
}

uint unmix32(uint x)
{
	x = (x ^ x >> 16u) * inverse(B);
	x = (x ^ x >> 15u ^ x >> 30u) * inverse(A);
	return x ^ x >> 16u;
}

uint64_t mix64(uint64_t x)
{
	x = (x ^ x >> 31u) * 0x9d5e1fb7c2a86b4dul;
	x = (x ^ x >> 29u) * 0xc4f3a6912be7d085ul;
	return x ^ x >> 32u;
}

// A permutation of the numbers below 2^bits, and back.
uint permuted(uint x, uint bits)
{
	uint mask = (1u << bits) - 1u;
	x = x * A & mask;
	x ^= x >> (bits + 1u) / 2u;
	return x * B & mask;
}

uint unpermuted(uint x, uint bits)
{
	uint mask = (1u << bits) - 1u;
	x = x * inverse(B) & mask;
	x ^= x >> (bits + 1u) / 2u;
	return x * inverse(A) & mask;
}

uint payload(uint row, uint column)
{
	return column == 0u ? row * A + 7u : mix32(row + column * B);
}

uint row_of_payload(uint word)
{
	return (word - 7u) * inverse(A);
}

// Uniform, or the n-th with a frequency of about 1 / n, or 1 / sqrt(n): a share of sqrt(n / 2^bits) is below n.
uint drawn(uint row, uint bits)
{
	uint64_t u = mix64(uint64_t(row) + 0x123456789ul);
	if (args.zipf == 0u)
		return uint(u >> 20u) & ((1u << bits) - 1u);
	if (args.zipf == 1u)
		return uint((u >> 32u) * (u >> 32u) >> 64u - bits);
	float top = log2(float(1u << bits) + 1.0);
	uint n = uint(exp2(float(uint(u >> 40u)) / 16777216.0 * top));
	return min(max(n, 1u), 1u << bits) - 1u;
}

// A build row has a place, by a permutation. A number's rows have places that are 2^log2_distinct apart. Where keys are
// skewed they lie side by side: the number of place x is x^2 / 2^log2_build, so that sqrt(n 2^log2_build) places are
// below number n. Integers alone: each kernel finds the same.
bool is_skewed()
{
	return (args.flags & RQL_BENCH_ZIPF_BUILD) != 0u;
}

uint build_number(uint row)
{
	uint64_t place = uint64_t(permuted(row, args.log2_build));
	return is_skewed() ? uint(place * place >> args.log2_build) : uint(place) & ((1u << args.log2_distinct) - 1u);
}

// How many places of a skewed build side have lower numbers.
uint places_below(uint number)
{
	uint64_t square = uint64_t(number) << args.log2_build;
	uint places = 0u;
	for (uint more = 1u << args.log2_build; more != 0u; more >>= 1u) {
		uint64_t last = uint64_t(places + more - 1u);
		places += last * last < square ? more : 0u;
	}
	return places;
}

uint value_of(uint row, uint column)
{
	return uint(int(mix32(row * 4u + column) % 2000001u) - 1000000);
}

void add_result(uint word, uint64_t value)
{
	uvec2 halves = unpackUint2x32(value);
	// 64 bits as 32-bit halves of 16: subgroups add words of 32 bits everywhere.
	uint a = subgroupAdd(halves.x & 0xffffu);
	uint b = subgroupAdd(halves.x >> 16u);
	uint c = subgroupAdd(halves.y & 0xffffu);
	uint d = subgroupAdd(halves.y >> 16u);
	uint64_t sum = uint64_t(a) + (uint64_t(b) << 16u) + (uint64_t(c) << 32u) + (uint64_t(d) << 48u);
	if (subgroupElect() && sum != 0ul)
		atomicAdd(W64(args.results, word), sum);
}

// Clusters are the numbers' upper bits, and have a place among as many as there is room for.
uint clustered(uint number)
{
	uint bits = args.log2_build / 2u;
	return permuted(number >> bits, 32u - bits) << bits | number & (1u << bits) - 1u;
}

uint64_t exponential(uint number)
{
	uint bits = args.log2_build - RQL_BENCH_LOG2_OCTAVES, octave = 32u + (number >> bits);
	return 1ul << octave | uint64_t(number & (1u << bits) - 1u) << octave - bits;
}

uint64_t key_of(uint number)
{
	bool wide = (args.flags & RQL_BENCH_WIDE_KEYS) != 0u;
	if (args.spread == RQL_BENCH_DENSE)
		return uint64_t(number);
	if (args.spread == RQL_BENCH_CLUSTERED)
		return uint64_t(clustered(number));
	if (args.spread == RQL_BENCH_EXPONENTIAL)
		return exponential(number);
	return packUint2x32(uvec2(mix32(number), wide ? mix32(number ^ B) : 0u));
}

// 2^log2_build or more: no key of a map.
uint number_of(uint64_t key)
{
	uint low = uint(key);
	if (args.spread == RQL_BENCH_DENSE)
		return low;
	if (args.spread == RQL_BENCH_CLUSTERED) {
		uint bits = args.log2_build / 2u;
		return unpermuted(low >> bits, 32u - bits) << bits | low & (1u << bits) - 1u;
	}
	if (args.spread == RQL_BENCH_EXPONENTIAL) {
		uint bits = args.log2_build - RQL_BENCH_LOG2_OCTAVES, octave = 32u + findMSB(uint(key >> 32u));
		return octave - 32u << bits | uint(key >> octave - bits) & (1u << bits) - 1u;
	}
	return unmix32(low);
}

void make(uint row)
{
	uint number = WHAT == RQL_BENCH_MAKE_BUILD
		? build_number(row)
		: drawn(row, args.log2_range);
	uint64_t key = key_of(number);
	if ((args.flags & RQL_BENCH_WIDE_KEYS) != 0u)
		W64(args.keys, row) = key;
	else
		W32(args.keys, row) = uint(key);
	for (uint c = 0u; c < 4u; c++)
		if (args.column[c] != 0ul)
			W32(args.column[c], row) = WHAT == RQL_BENCH_MAKE_GROUPS ? value_of(row, c) : payload(row, c);
}

// What row `row` of the probe side adds to the join: without any table.
void join_sum(uint row, bool is)
{
	uint number = is ? unmix32(W32(args.keys, row)) : ~0u;
	uint rows = 0u;
	uint64_t sum = 0ul;
	if (number >> args.log2_distinct == 0u) {
		uint place = is_skewed() ? places_below(number) : number;
		uint end = is_skewed() ? places_below(number + 1u) : 1u << args.log2_build;
		uint apart = is_skewed() ? 1u : 1u << args.log2_distinct;
		for (; place < end; place += apart) {
			uint from = unpermuted(place, args.log2_build);
			sum += mix64(uint64_t(from) << 32u | row);
			rows++;
		}
	}
	add_result(0u, uint64_t(rows));
	add_result(1u, sum);
}

uint64_t mix_words(uint64_t a, uint64_t b)
{
	const uint64_t low = 0xfffffffful;
	uint64_t x = (a * uint64_t(RQL_BENCH_MIX_A) & low) ^ (b * uint64_t(RQL_BENCH_MIX_B) & low);
	return (x ^ x >> 15u) * uint64_t(RQL_BENCH_MIX_C) >> 11u & low;
}

void pair_mix(uint row, bool is)
{
	uint64_t sum = 0ul;
	bool good = true;
	if (is) {
		uint build = W32(args.column[0], row), probe = W32(args.column[2], row);
		good = uint64_t(build) < args.column_to[0] && uint64_t(probe) < args.column_to[1];
		good = good && W32(args.keys_to, build) == W32(args.keys, probe);
		sum = mix_words(uint64_t(build), uint64_t(probe));
	}
	add_result(2u, good ? 0ul : 1ul);
	add_result(3u, sum);
}

void group_mix(uint row, bool is)
{
	uint64_t sum = 0ul;
	bool good = true;
	if (is) {
		bool heads = (args.flags & RQL_BENCH_HEADS) != 0u, wide = (args.flags & RQL_BENCH_WIDE_KEYS) != 0u;
		uint head = heads ? W32(args.keys_to, row) : 0u;
		good = !heads || head < args.part;
		if (good) {
			uint64_t key = wide ? W64(args.keys_to, row) : uint64_t(heads ? W32(args.keys, head) : W32(args.keys_to, row));
			sum = wide ? mix_words(key & 0xfffffffful, key >> 32u) : key;
			for (uint w = 0u; w < 2u; w++)
				if (heads && args.column_to[w] != 0ul)
					sum = mix_words(sum, uint64_t(W32(args.column_to[w], head)));
			sum = mix_words(sum, W64(args.column[0], row));
			if (args.column[1] != 0ul) {
				uint64_t total = W64(args.column[1], (args.flags & RQL_BENCH_WIDE_SUMS) != 0u ? 2u * row : row);
				sum = mix_words(mix_words(sum, total & 0xfffffffful), total >> 32u);
			}
		}
	}
	add_result(2u, good ? 0ul : 1ul);
	add_result(3u, sum);
}

void join_check(uint row, bool is)
{
	uint64_t sum = 0ul;
	bool good = true;
	if (is) {
		uint key = W32(args.keys_to, row);
		uint build = row_of_payload(W32(args.column[0], row));
		uint probe = row_of_payload(W32(args.column[2], row));
		good = build >> args.log2_build == 0u && probe >> args.log2_rows == 0u;
		if (good) {
			uint number = build_number(build);
			good = mix32(number) == key && W32(args.keys, probe) == key;
			good = good && (args.column[1] == 0ul || W32(args.column[1], row) == payload(build, 1u));
			good = good && (args.column[3] == 0ul || W32(args.column[3], row) == payload(probe, 1u));
		}
		sum = mix64(uint64_t(build) << 32u | probe);
	}
	add_result(2u, good ? 0ul : 1ul);
	add_result(3u, sum);
}

void pair_check(uint row, bool is)
{
	uint64_t sum = 0ul;
	bool good = true;
	if (is) {
		uint build = W32(args.column[0], row), probe = W32(args.column[2], row);
		if ((args.flags & RQL_BENCH_PAYLOADS) != 0u) {
			build = row_of_payload(build);
			probe = row_of_payload(probe);
		}
		good = build >> args.log2_build == 0u && probe >> args.log2_rows == 0u;
		if (good) {
			uint number = build_number(build);
			good = mix32(number) == W32(args.keys, probe);
		}
		sum = mix64(uint64_t(build) << 32u | probe);
	}
	add_result(2u, good ? 0ul : 1ul);
	add_result(3u, sum);
}

// `part` is the value column.
void group_sum(uint row)
{
	uint number = unmix32(W32(args.keys, row));
	int value = int(W32(args.column[args.part], row));
	if (args.part == 0u)
		atomicAdd(W64(args.column_to[0], number), 1ul);
	atomicAdd(W64(args.column_to[1], number), uint64_t(int64_t(value)));
	uint64_t ordered = uint64_t(uint(value) ^ 0x80000000u);
	if (ordered < W64(args.column_to[2], number))
		atomicMin(W64(args.column_to[2], number), ordered);
	if (ordered > W64(args.column_to[3], number))
		atomicMax(W64(args.column_to[3], number), ordered);
}

void group_check(uint row, bool is)
{
	bool good = true;
	if (is) {
		bool wide = (args.flags & RQL_BENCH_WIDE_KEYS) != 0u; // their low halves say all
		uint key = wide ? uint(W64(args.keys_to, row)) : W32(args.keys_to, row);
		if ((args.flags & RQL_BENCH_HEADS) != 0u)
			key = W32(args.keys, key);
		uint number = unmix32(key);
		uint sum = (args.flags & RQL_BENCH_WIDE_SUMS) != 0u ? 2u * row : row;
		good = number >> args.log2_range == 0u;
		if (good) {
			if (args.part == 0u) {
				uint64_t rows = atomicExchange(W64(args.column_to[0], number), 0ul);
				good = rows != 0ul && rows == W64(args.column[0], row);
			}
			good = good && (args.column[1] == 0ul || W64(args.column[1], sum) == W64(args.column_to[1], number));
			if (args.column[2] != 0ul) {
				good = good && int64_t(W64(args.column[2], row)) == int64_t(int(uint(W64(args.column_to[2], number)) ^ 0x80000000u));
				good = good && int64_t(W64(args.column[3], row)) == int64_t(int(uint(W64(args.column_to[3], number)) ^ 0x80000000u));
			}
		}
	}
	add_result(2u, good ? 0ul : 1ul);
}

// Of raw keys: partitions are their top bits. column_to[0]: starts.
void part_check(uint row, bool is)
{
	bool good = true;
	uint64_t sum = 0ul;
	if (is) {
		uint at = row << ((args.flags & RQL_BENCH_PAIRED) != 0u ? 1u : 0u);
		uint from = row_of_payload(W32(args.column[0], at)), key = W32(args.keys_to, at);
		uint part = key >> 32u - args.part;
		good = from >> args.log2_rows == 0u && key == W32(args.keys, from) &&
			W32(args.column_to[0], part) <= row && row < W32(args.column_to[0], part + 1u);
		sum = mix64(uint64_t(from));
	}
	add_result(2u, good ? 0ul : 1ul);
	add_result(3u, sum);
}

// Keys come once each; of ranges they are the numbers below 2^log2_build, and the sum is theirs.
void lookup_check(uint row, bool is)
{
	bool good = true;
	if (is) {
		bool wide = (args.flags & RQL_BENCH_WIDE_KEYS) != 0u;
		uint number = number_of(wide ? W64(args.keys, row) : uint64_t(W32(args.keys, row)));
		bool there = number >> args.log2_build == 0u;
		if (args.column_to[0] != 0ul)
			good = W32(args.column_to[0], row) == (there ? unpermuted(number, args.log2_build) : ~0u);
		if (args.column_to[1] != 0ul) {
			uint64_t keys = there ? min(uint64_t(args.part), (1ul << args.log2_build) - uint64_t(number)) : 0ul;
			uint64_t sum = keys * uint64_t(number) + (keys * keys - keys) / 2ul;
			good = good && W64(args.column_to[1], row) == sum;
		}
	}
	add_result(2u, good ? 0ul : 1ul);
}

uint64_t key_at(uint64_t keys, uint row)
{
	return (args.flags & RQL_BENCH_WIDE_KEYS) != 0u ? W64(keys, row) : uint64_t(W32(keys, row));
}

void sort_check(uint place, bool is)
{
	bool good = true;
	if (is) {
		uint row = W32(args.column[0], place);
		uint64_t key = key_at(args.keys_to, place);
		good = uint64_t(row) < args.rows && key_at(args.keys, row) == key;
		if (place > 0u) {
			uint64_t before = key_at(args.keys_to, place - 1u);
			good = good && (before < key || before == key && W32(args.column[0], place - 1u) < row);
		}
		for (uint c = 0u; c < 4u; c++)
			if (args.column_to[c] != 0ul)
				good = good && W32(args.column_to[c], place) == payload(row, c);
	}
	add_result(2u, good ? 0ul : 1ul);
}

void main()
{
	uint64_t at = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	bool is = at < args.rows;
	uint row = uint(at);
	if (WHAT == RQL_BENCH_JOIN_SUM)
		join_sum(row, is);
	else if (WHAT == RQL_BENCH_JOIN_CHECK)
		join_check(row, is);
	else if (WHAT == RQL_BENCH_PAIR_CHECK)
		pair_check(row, is);
	else if (WHAT == RQL_BENCH_PAIR_MIX)
		pair_mix(row, is);
	else if (WHAT == RQL_BENCH_GROUP_MIX)
		group_mix(row, is);
	else if (WHAT == RQL_BENCH_GROUP_CHECK)
		group_check(row, is);
	else if (WHAT == RQL_BENCH_COUNT_GROUPS)
		add_result(0u, is && W64(args.column_to[0], row) != 0ul ? 1ul : 0ul);
	else if (WHAT == RQL_BENCH_PART_CHECK)
		part_check(row, is);
	else if (WHAT == RQL_BENCH_PART_SUM)
		add_result(1u, is ? mix64(uint64_t(row)) : 0ul);
	else if (WHAT == RQL_BENCH_LOOKUP_CHECK)
		lookup_check(row, is);
	else if (WHAT == RQL_BENCH_SORT_CHECK)
		sort_check(row, is);
	else if (is && WHAT == RQL_BENCH_GATHER)
		W32(args.column_to[0], row) = W32(args.column[0], W32(args.column[1], row));
	else if (is && WHAT == RQL_BENCH_SCATTER)
		W32(args.column_to[0], W32(args.column[1], row)) = W32(args.column[0], row);
	else if (is && WHAT == RQL_BENCH_MAKE_ENDS)
		W32(args.keys_to, row) = W32(args.keys, row) + args.part - 1u;
	else if (is && WHAT == RQL_BENCH_GROUP_SUM)
		group_sum(row);
	else if (is)
		make(row);
}
