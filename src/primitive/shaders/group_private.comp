#version 460
// Group-by over few dense ids: a workgroup accumulates counts and sums in shared memory, in as many copies as there is
// room for, so that neighbouring threads do not meet in one word (one address that all rows add to costs two orders of
// magnitude: notes/h200.md), and adds them to the state once. Sums are kept as 32-bit words with carries, as shared
// 64-bit atomics are loops on some GPUs and absent on others. A workgroup has fewer than 2^32 rows, so 96 bits hold any
// sum of 64-bit values. Extremes go to global memory directly: few rows change one. Floor: reads ids and values once.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/group.glsl"
shared uint words[RQL_GROUP_SHARED_WORDS];

uint shared_words(uint kind)
{
	return kind == KIND_COUNT ? 1u : kind == KIND_SUM64 ? 2u : kind == KIND_SUM128 ? 3u : 0u;
}

void add_shared(uint at, uint stride, uint64_t bits, bool three, bool negative)
{
	uint low = uint(bits);
	uint old = atomicAdd(words[at], low);
	uint64_t middle = (bits >> 32u) + (old + low < old ? 1ul : 0ul);
	uint add = uint(middle);
	if (!three) {
		if (add != 0u)
			atomicAdd(words[at + stride], add);
		return;
	}
	uint top = uint(middle >> 32u) - (negative ? 1u : 0u);
	if (add != 0u) {
		old = atomicAdd(words[at + stride], add);
		top += old + add < old ? 1u : 0u;
	}
	if (top != 0u)
		atomicAdd(words[at + 2u * stride], top);
}

void add_row_shared(uint64_t row, uint id, uint stride)
{
	uint at = id * args.copies + (gl_LocalInvocationIndex & (args.copies - 1u));
	uint64_t global_at = args.state + id * 8ul;
	[[unroll]] for (uint s = 0u; s < 6u; s++) {
		if (s >= SLOTS)
			break;
		uint kind = slot_of(s) & 255u;
		uint type = slot_of(s) >> 8u;
		if (kind == KIND_COUNT) {
			atomicAdd(words[at], 1u);
		} else {
			uint64_t bits = RQL_U64(args.values[s], row);
			if (kind == KIND_SUM64 || kind == KIND_SUM128)
				add_shared(at, stride, bits, kind == KIND_SUM128, sign_of(bits, type) != 0ul);
			else
				add_extreme(kind, type, global_at, bits);
		}
		at += shared_words(kind) * stride;
		global_at += (kind == KIND_SUM128 ? 16ul : 8ul) * args.places;
	}
}

// Adds all copies of one group to the state.
void flush(uint id, uint stride)
{
	uint word = 0u;
	uint64_t at = args.state + id * 8ul;
	[[unroll]] for (uint s = 0u; s < 6u; s++) {
		if (s >= SLOTS)
			break;
		uint kind = slot_of(s) & 255u;
		bool three = kind == KIND_SUM128;
		uint64_t low = 0ul;
		uint64_t high = 0ul;
		for (uint copy = 0u; copy < args.copies && kind <= KIND_SUM128; copy++) {
			uint from = word * stride + id * args.copies + copy;
			uint64_t other = words[from];
			if (kind != KIND_COUNT)
				other |= uint64_t(words[from + stride]) << 32u;
			low += other;
			high += low < other ? 1ul : 0ul;
			if (three) // the top word's sign
				high += uint64_t(int64_t(int(words[from + 2u * stride])));
		}
		if (three)
			rql_slot_add128(at, at + args.places * 8ul, low, high);
		else if (kind <= KIND_SUM64)
			rql_slot_add64(at, low);
		word += shared_words(kind);
		at += (three ? 16ul : 8ul) * args.places;
	}
}

void main()
{
	uint64_t group = rql_group();
	uint t = gl_LocalInvocationIndex;
	if (group >= args.groups)
		return;
	for (uint i = t; i < RQL_GROUP_SHARED_WORDS; i += RQL_THREADS)
		words[i] = 0u;
	barrier();
	uint places = uint(args.places);
	uint stride = places * args.copies;
	uint64_t step = uint64_t(args.groups) * RQL_THREADS;
	for (uint64_t row = group * RQL_THREADS + t; row < args.rows; row += step) {
		uint id = RQL_U32(args.ids, row);
		if (id < places)
			add_row_shared(row, id, stride);
	}
	barrier();
	for (uint id = t; id < places; id += RQL_THREADS)
		flush(id, stride);
}
