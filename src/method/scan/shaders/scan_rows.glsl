// Rows of groups: where values are added, and how they are folded. Include after device/kernel.glsl.
#ifndef SCAN_ROWS_GLSL
#define SCAN_ROWS_GLSL
#include "method/scan/gpu/scan_kernels.h"

#ifndef SCAN_REAL
#define SCAN_REAL 0
#endif
#define STATE_REAL SCAN_REAL
#define STATE_IS_SUM(kind) (kind == RQL_SCAN_WORD_SUM)
#define STATE_IS_WIDE(kind) (kind == RQL_SCAN_WORD_WIDE)
#define STATE_IS_SUM_REAL(kind) (kind == RQL_SCAN_WORD_REAL)
#define STATE_IS_MIN(kind) (kind == RQL_SCAN_WORD_MIN)
#include "group/shaders/state.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer ScanU32 { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer ScanU32x2 { uvec2 v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer ScanU32x4 { uvec4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer ScanU64 { uint64_t v; };
// A list of rows.
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer ScanEntry { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer ScanEntry64 { uint64_t v; };
// What other invocations of the dispatch write.
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer ScanWord { uint64_t v; };

#define SCAN_ONES 0xfffffffffffffffful

uint scan_kind_of(rql_scan_accumulator acc, uint word)
{
	return ScanU32(acc.kinds + uint64_t(word) * 4ul).v & RQL_SCAN_WORD_KINDS;
}

// The number's place in a hash table, made when it is new; all ones: the table is full, which is noted and ends in a
// larger one. The high bits of a number are all that reals of few digits differ in: they go into the low ones first.
uint64_t scan_find_place(rql_scan_accumulator acc, uint64_t keys, uint64_t number)
{
	uint64_t at = (((number ^ number >> 32) * 0x9e3779b97f4a7c15ul) >> 20) & acc.mask;
	uint64_t tries = min(acc.mask + 1ul, 512ul);
	for (uint64_t i = 0ul; i < tries; i++) {
		ScanWord key = ScanWord(keys + at * 8ul);
		uint64_t now = key.v;
		if (now == 0ul)
			now = atomicCompSwap(key.v, 0ul, number + 1ul);
		if (now == 0ul || now == number + 1ul)
			return at;
		at = (at + 1ul) & acc.mask;
	}
	atomicMax(ScanWord(acc.state + RQL_SCAN_STATE_OVERFLOW * 8u).v, 1ul);
	return SCAN_ONES;
}

// The low bits of wide numbers.
uint64_t scan_low_keys(rql_scan_accumulator acc)
{
	return acc.keys + (acc.mask + 1ul) * 8ul;
}

// The group's row; 0: there is no room for it.
uint64_t scan_find_row(rql_scan_accumulator acc, uint row_words, uint64_t group)
{
	uint64_t row_bytes = uint64_t(row_words) * 8ul;
	if (acc.keys == 0ul)
		return acc.rows + uint64_t(uint(rql_group()) & (acc.spread - 1u)) * acc.stride + group * row_bytes;
	uint64_t place = scan_find_place(acc, acc.keys, group);
	return place == SCAN_ONES ? 0ul : acc.rows + place * row_bytes;
}

// ---- the end of a dispatch ----

shared uint scan_is_last;

// True in the last workgroup of `groups` to come here, which then sees what the others did.
bool scan_last_workgroup(rql_scan_accumulator acc, uint groups)
{
	memoryBarrierBuffer();
	barrier();
	if (gl_LocalInvocationIndex == 0u) {
		uint64_t ticket = atomicAdd(ScanWord(acc.state + RQL_SCAN_STATE_TICKET * 8u).v, 1ul);
		scan_is_last = ticket + 1ul == uint64_t(groups) ? 1u : 0u;
	}
	memoryBarrierShared();
	barrier();
	if (scan_is_last == 0u)
		return false;
	memoryBarrierBuffer();
	return true;
}

// By the last workgroup: the state to the result, and zero again.
void scan_put_state(rql_scan_accumulator acc)
{
	for (uint i = gl_LocalInvocationIndex; i < RQL_SCAN_STATE_WORDS; i += gl_WorkGroupSize.x) {
		ScanWord state = ScanWord(acc.state + uint64_t(i) * 8ul);
		ScanWord(acc.result + uint64_t(i) * 8ul).v = state.v;
		state.v = 0ul;
	}
}

// By the last workgroup: every row to the result, and its identity again. Four loads are in flight at once.
void scan_put_rows(rql_scan_accumulator acc, uint words, uint row_words)
{
	uint step = gl_WorkGroupSize.x;
	for (uint i = gl_LocalInvocationIndex; i < words; i += 4u * step) {
		uint64_t value[4];
		[[unroll]] for (uint k = 0u; k < 4u; k++)
			value[k] = i + k * step < words ? ScanWord(acc.rows + uint64_t(i + k * step) * 8ul).v : 0ul;
		[[unroll]] for (uint k = 0u; k < 4u; k++) {
			uint at = i + k * step;
			if (at >= words)
				break;
			ScanWord(acc.result + uint64_t(RQL_SCAN_STATE_WORDS + at) * 8ul).v = value[k];
			ScanWord(acc.rows + uint64_t(at) * 8ul).v = rql_state_identity(scan_kind_of(acc, at % row_words));
		}
	}
}
#endif
