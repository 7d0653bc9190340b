#version 460
// A workgroup scans its tiles one after the other, beginning at its entry of `sums`: the last pass of a prefix sum, and
// with one workgroup also the pass over the sums. A tile goes through shared memory, so that global accesses are
// coalesced while each thread adds up consecutive items. Floor: reads and writes every item once.
// IN_BITS, OUT_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_prefix_args args; };

#if IN_BITS == 32
#define RQL_IN RQL_U32
#else
#define RQL_IN RQL_U64
#endif
// One word of padding in a row of banks: threads that read consecutive items do not meet in a bank.
#if OUT_BITS == 32
#define RQL_OUT RQL_U32
#define RQL_SUM uint
#define RQL_PADDED(i) ((i) + ((i) >> 5u))
#else
#define RQL_OUT RQL_U64
#define RQL_SUM uint64_t
#define RQL_PADDED(i) ((i) + ((i) >> 4u))
#endif
#include "primitive/shaders/group_scan.glsl"

const uint ITEMS = RQL_PREFIX_TILE / RQL_THREADS;
shared RQL_SUM tile_items[RQL_PADDED(RQL_PREFIX_TILE)];

// Returns the tile's sum.
RQL_SUM scan_tile(uint64_t base, uint valid, RQL_SUM carry)
{
	uint t = gl_LocalInvocationIndex;
	for (uint i = t; i < RQL_PREFIX_TILE; i += RQL_THREADS)
		tile_items[RQL_PADDED(i)] = i < valid ? RQL_SUM(RQL_IN(args.in_items, base + i)) : RQL_SUM(0);
	barrier();
	RQL_SUM item[ITEMS];
	RQL_SUM sum = RQL_SUM(0);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		item[j] = tile_items[RQL_PADDED(t * ITEMS + j)];
		sum += item[j];
	}
	RQL_SUM total;
	RQL_SUM before = rql_group_exclusive(sum, total) + carry;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		RQL_SUM after = before + item[j];
		tile_items[RQL_PADDED(t * ITEMS + j)] = args.inclusive != 0u ? after : before;
		before = after;
	}
	barrier();
	for (uint i = t; i < valid; i += RQL_THREADS)
		RQL_OUT(args.out_items, base + i) = tile_items[RQL_PADDED(i)];
	barrier();
	return total;
}

void main()
{
	uint64_t group = rql_group();
	uint64_t tiles = (args.count + RQL_PREFIX_TILE - 1ul) / RQL_PREFIX_TILE;
	uint64_t first = group * args.tiles_per_group;
	if (first >= tiles)
		return;
	uint64_t end = min(first + args.tiles_per_group, tiles);
	RQL_SUM carry = args.sums != 0ul ? RQL_SUM(RQL_U64(args.sums, group)) : RQL_SUM(0);
	for (uint64_t tile = first; tile < end; tile++) {
		uint64_t base = tile * RQL_PREFIX_TILE;
		carry += scan_tile(base, uint(min(args.count - base, uint64_t(RQL_PREFIX_TILE))), carry);
	}
	if (args.total != 0ul && end == tiles && gl_LocalInvocationIndex == 0u)
		RQL_U64(args.total, 0) = uint64_t(carry);
}
