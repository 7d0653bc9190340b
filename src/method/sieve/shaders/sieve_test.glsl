// What the shaders of a sieve share: the tests of one segment, and the test of a row's own keys.
#ifndef RQL_SIEVE_TEST_GLSL
#define RQL_SIEVE_TEST_GLSL
#include "method/sieve/gpu/sieve_kernels.h"

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveTest { rql_sieve_kernel_test v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveRange { rql_sieve_kernel_range v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SieveKey32 { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveKey64 { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer SieveBits { uint v; };

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer SieveCounts { uint64_t v[RQL_SIEVE_COUNTS]; };

// What this invocation has met; nothing where SIEVE_COUNTING, a specialization constant of the shader, is false.
#ifndef SIEVE_COUNTING
#define SIEVE_COUNTING false
#endif
uint sieve_tested = 0u, sieve_bytes = 0u;
void note_bytes(const uint bytes)
{
	if (SIEVE_COUNTING)
		sieve_bytes += bytes;
}
void put_counts(const uint64_t counts, const uint hits)
{
	if (!SIEVE_COUNTING)
		return;
	atomicAdd(SieveCounts(counts).v[RQL_SIEVE_COUNT_HITS], uint64_t(hits));
	atomicAdd(SieveCounts(counts).v[RQL_SIEVE_COUNT_TESTED], uint64_t(sieve_tested));
	atomicAdd(SieveCounts(counts).v[RQL_SIEVE_COUNT_BYTES], uint64_t(sieve_bytes));
}

// Ranges are disjoint and ascend: the first that does not end before the key.
bool in_ranges(const rql_sieve_kernel_test t, uint64_t key)
{
	uint low = 0u, high = t.range_count;
	if (high == 1u)
		return key - t.least <= t.span;
	while (low < high) {
		const uint middle = (low + high) / 2u;
		if (SieveRange(t.ranges + uint64_t(middle) * 16ul).v.greatest < key)
			low = middle + 1u;
		else
			high = middle;
	}
	return low < t.range_count && SieveRange(t.ranges + uint64_t(low) * 16ul).v.least <= key;
}

uint64_t key_at(const rql_sieve_kernel_test t, uint64_t row)
{
	note_bytes(RQL_SIEVE_SECTOR);
	return t.wide != 0u ? SieveKey64(t.keys + row * 8ul).v : uint64_t(SieveKey32(t.keys + row * 4ul).v);
}

// Does a row pass the predicate?
bool passes(const rql_sieve_kernel_test t, uint64_t row)
{
	if (t.valid != 0ul && (SieveBits(t.valid + row / 32ul * 4ul).v >> uint(row & 31ul) & 1u) == 0u)
		return t.nulls != 0ul;
	return in_ranges(t, key_at(t, row));
}

bool passes_all(uint64_t tests, uint count, uint64_t row)
{
	if (SIEVE_COUNTING)
		sieve_tested++;
	for (uint i = 0u; i < count; i++)
		if (!passes(SieveTest(tests + uint64_t(i) * RQL_SIEVE_TEST_BYTES).v, row))
			return false;
	return true;
}

// Sets the row's bit, or clears it: an atomic only where it is not so.
void decide(uint64_t rows, uint place, uint row, bool pass)
{
	note_bytes(RQL_SIEVE_SECTOR);
	SieveBits word = SieveBits(rows + (uint64_t(place) + row / 32u) * 4ul);
	const uint bit = 1u << (row & 31u);
	if (((word.v & bit) != 0u) == pass)
		return;
	if (pass)
		atomicOr(word.v, bit);
	else
		atomicAnd(word.v, ~bit);
}
#endif
