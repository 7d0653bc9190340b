// ROWS of a conjunction (sieve_kernels.h): a lane ANDs what the vectors say of 128 rows, then tests the values of those
// that they leave undecided.
//
// Floor, in bytes a row: 1/8 for each vector and for the bitmap (1/64 for lists), and 32 or 64 for each row that is
// tested. Vectors are read again for the tests, from the first cache mostly.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool COUNTING = false;
#define SIEVE_COUNTING COUNTING
layout(constant_id = 2) const bool LISTS = false;
#include "method/sieve/shaders/sieve_spans.glsl"
#include "method/sieve/shaders/sieve_rows.glsl"

layout(push_constant, scalar) uniform Args { rql_sieve_select_args args; };

void main()
{
	const uint64_t group = rql_group();
	if (group >= args.part_count)
		return;
	const rql_sieve_kernel_part part = SievePart(args.parts + group * 16ul).v;
	const uint lane = part.first + gl_LocalInvocationIndex;
	const bool live = lane < part.last;
	if (!LISTS && !live)
		return;
	const uint64_t tests = args.tests + uint64_t(part.test) * RQL_SIEVE_TEST_BYTES;
	uvec4 rows = uvec4(live ? 0xffffffffu : 0u), decided = uvec4(0xffffffffu), sure, maybe;
	for (uint i = 0u; i < args.test_count && any(notEqual(rows, uvec4(0u))); i++) {
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(i) * RQL_SIEVE_TEST_BYTES).v;
		read_spans(t, lane, sure, maybe);
		rows &= sure | maybe;
		decided &= sure;
	}
	for (uint i = 0u; i < args.test_count && any(notEqual(rows & ~decided, uvec4(0u))); i++) {
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(i) * RQL_SIEVE_TEST_BYTES).v;
		const uint64_t first = uint64_t(lane) * RQL_SIEVE_LANE_ROWS;
		const uint before = sieve_bytes;
		read_spans(t, lane, sure, maybe);
		sieve_bytes = before; // they are in the first cache
		maybe &= rows & ~sure;
		if (COUNTING)
			sieve_tested += rows_in(maybe);
		rows &= ~maybe | test_rows(t, first, maybe);
	}
	put_rows(rows, live, uint64_t(part.place) + gl_LocalInvocationIndex, args.rows, args.lists, args.counts);
	put_counts(args.counts, 0u);
}
