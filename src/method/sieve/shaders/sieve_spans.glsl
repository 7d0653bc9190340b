// What the passes over vectors share: what a test's vectors say of a lane's rows, and the values of those that they leave
// undecided.
#ifndef RQL_SIEVE_SPANS_GLSL
#define RQL_SIEVE_SPANS_GLSL
#include "method/sieve/shaders/sieve_test.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SievePart { rql_sieve_kernel_part v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SieveSpan { rql_sieve_kernel_span v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer SieveWords { uvec4 v; };

uint rows_in(const uvec4 rows)
{
	const ivec4 counts = bitCount(rows);
	return uint(counts.x + counts.y + counts.z + counts.w);
}

uvec4 vector_at(const rql_sieve_kernel_test t, uint number, uint lane)
{
	if (number >= RQL_SIEVE_KERNEL_EVERY_ROW)
		return uvec4(number == RQL_SIEVE_KERNEL_EVERY_ROW ? 0xffffffffu : 0u);
	note_bytes(RQL_SIEVE_LANE_BYTES);
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
	uvec3 last = uvec3(RQL_SIEVE_KERNEL_NO_ROW);
	for (uint s = 0u; s < t.span_count; s++) {
		const rql_sieve_kernel_span span = SieveSpan(t.spans + uint64_t(s) * 32ul).v;
		const uint before = sieve_bytes;
		uvec4 rows = ~cut_at(t, span.from_first, span.from_second, span.from_third, lane);
		if (all(equal(uvec3(span.from_first, span.from_second, span.from_third), last)))
			sieve_bytes = before; // where the span before ended: it is in a register or the first cache
		rows &= cut_at(t, span.to_first, span.to_second, span.to_third, lane);
		last = uvec3(span.to_first, span.to_second, span.to_third);
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
#endif
