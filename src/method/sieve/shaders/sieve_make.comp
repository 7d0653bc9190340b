// The vectors of a segment's column from its keys (sieve_run.h): a lane takes 32 rows, finds their bins, and writes a word
// of each vector. Nested vectors are comparisons: row r is in the i-th where its digit is not above i.
//
// Floor, in bytes a row: 4 or 8 for its key, and 1/8 for each vector.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/shaders/sieve_bins.glsl"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_make_args args; };

void main()
{
	const uint64_t number = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (number >= args.words)
		return;
	const uint word = uint(number), block = word / 128u, first = word % 128u * 32u;
	const uint there = SieveKey32(args.rows + uint64_t(block) * 4ul).v, left = there > first ? there - first : 0u;
	uint live = left >= 32u ? 0xffffffffu : (1u << left) - 1u, digits[32];
	if (args.valid != 0ul)
		live &= SieveBits(args.valid + uint64_t(word) * 4ul).v;
	for (uint r = 0u; r < 32u; r++) {
		const uint64_t row = uint64_t(word) * 32ul + r;
		const uint64_t key = args.wide != 0u ? SieveKey64(args.keys + row * 8ul).v
		                                     : uint64_t(SieveKey32(args.keys + row * 4ul).v);
		digits[r] = bin_of(args.bounds, args.bins, key);
	}
	const uint base = args.base != 0u ? args.base : 1u;
	for (uint v = 0u; v < args.highs; v++) {
		uint bits = 0u;
		for (uint r = 0u; r < 32u; r++)
			bits |= uint(digits[r] < (v + 1u) * base) << r;
		SieveBits(args.vectors + (uint64_t(v) * args.words + word) * 4ul).v = bits & live;
	}
	for (uint r = 0u; r < 32u; r++)
		digits[r] %= base;
	for (uint v = 0u; v < args.lows; v++) {
		uint bits = 0u;
		for (uint r = 0u; r < 32u; r++)
			bits |= uint(digits[r] <= v) << r;
		SieveBits(args.vectors + (uint64_t(args.highs + v) * args.words + word) * 4ul).v = bits & live;
	}
}
