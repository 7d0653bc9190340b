// ROWS of a conjunction (sieve_kernels.h): a lane ANDs what the vectors say of 128 rows, then tests the values of those
// that they leave undecided.
//
// Floor, in bytes a row: 1/8 for each vector and for the bitmap, and 32 or 64 for each row that is tested. Vectors are
// read again for the tests, from the first cache mostly.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/shaders/sieve_test.glsl"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_select_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SievePart { rql_sieve_kernel_part v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SieveSpan { rql_sieve_kernel_span v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer SieveWords { uvec4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer SieveRows { uvec4 v; };

uvec4 vector_at(const rql_sieve_kernel_test t, uint number, uint lane)
{
	if (number >= RQL_SIEVE_KERNEL_EVERY_ROW)
		return uvec4(number == RQL_SIEVE_KERNEL_EVERY_ROW ? 0xffffffffu : 0u);
	return SieveWords(t.vectors + (uint64_t(number) * t.lanes + lane) * RQL_SIEVE_LANE_BYTES).v;
}

uvec4 cut_at(const rql_sieve_kernel_test t, uint first, uint second, uint third, uint lane)
{
	uvec4 rows = vector_at(t, first, lane);
	if (third != RQL_SIEVE_KERNEL_NO_ROW)
		rows |= vector_at(t, second, lane) & vector_at(t, third, lane);
	return rows;
}

// Rows that pass, and rows that may.
void read_spans(const rql_sieve_kernel_test t, uint lane, out uvec4 sure, out uvec4 maybe)
{
	sure = uvec4(0u);
	maybe = uvec4(0u);
	for (uint s = 0u; s < t.span_count; s++) {
		const rql_sieve_kernel_span span = SieveSpan(t.spans + uint64_t(s) * 32ul).v;
		const uvec4 rows = cut_at(t, span.to_first, span.to_second, span.to_third, lane) &
		                   ~cut_at(t, span.from_first, span.from_second, span.from_third, lane);
		if (span.sure != 0u)
			sure |= rows;
		else
			maybe |= rows;
	}
	if (t.nulls != 0ul)
		sure |= ~SieveWords(t.nulls + uint64_t(lane) * RQL_SIEVE_LANE_BYTES).v;
}

// Those of the rows `asked` that pass. A row of each word at once, so that four keys are on their way together; a word
// without one reads the segment's first key, as all others then do.
uvec4 test_rows(const rql_sieve_kernel_test t, uint64_t first, uvec4 asked)
{
	uvec4 kept = uvec4(0u);
	for (uvec4 left = asked; any(notEqual(left, uvec4(0u))); left &= left - 1u) {
		const uvec4 bit = uvec4(findLSB(left)) & 31u;
		const uint64_t x = key_at(t, left.x != 0u ? first + bit.x : 0ul);
		const uint64_t y = key_at(t, left.y != 0u ? first + 32u + bit.y : 0ul);
		const uint64_t z = key_at(t, left.z != 0u ? first + 64u + bit.z : 0ul);
		const uint64_t w = key_at(t, left.w != 0u ? first + 96u + bit.w : 0ul);
		const bvec4 pass = bvec4(in_ranges(t, x), in_ranges(t, y), in_ranges(t, z), in_ranges(t, w));
		kept |= left & -left & mix(uvec4(0u), uvec4(0xffffffffu), pass);
	}
	return kept;
}

void main()
{
	const uint64_t group = rql_group();
	if (group >= args.part_count)
		return;
	const rql_sieve_kernel_part part = SievePart(args.parts + group * 16ul).v;
	const uint lane = part.first + gl_LocalInvocationIndex;
	if (lane >= part.last)
		return;
	const uint64_t tests = args.tests + uint64_t(part.test) * RQL_SIEVE_TEST_BYTES;
	uvec4 rows = uvec4(0xffffffffu), decided = uvec4(0xffffffffu), sure, maybe;
	for (uint i = 0u; i < args.test_count && any(notEqual(rows, uvec4(0u))); i++) {
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(i) * RQL_SIEVE_TEST_BYTES).v;
		read_spans(t, lane, sure, maybe);
		rows &= sure | maybe;
		decided &= sure;
	}
	for (uint i = 0u; i < args.test_count && any(notEqual(rows & ~decided, uvec4(0u))); i++) {
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(i) * RQL_SIEVE_TEST_BYTES).v;
		const uint64_t first = uint64_t(lane) * RQL_SIEVE_LANE_ROWS;
		read_spans(t, lane, sure, maybe);
		maybe &= rows & ~sure;
		rows &= ~maybe | test_rows(t, first, maybe);
	}
	SieveRows(args.rows + (uint64_t(part.place) + gl_LocalInvocationIndex) * RQL_SIEVE_LANE_BYTES).v = rows;
}
