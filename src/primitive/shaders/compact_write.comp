#version 460
// Last pass of a compaction: the indices of a tile are put side by side in shared memory and written coalesced.
// Floor: reads every entry twice (with compact_count), writes every index once. OUT_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_compact_args args; };
#define RQL_SUM uint
#include "primitive/shaders/group_scan.glsl"
#include "primitive/shaders/compact_mask.glsl"
shared uint found_at[RQL_COMPACT_TILE];

uint write_tile(uint64_t base, uint64_t to)
{
	uint t = gl_LocalInvocationIndex;
	uint mask = rql_tile_mask(base);
	uint total;
	uint at = rql_group_exclusive(uint(bitCount(mask)), total);
	for (; mask != 0u; mask &= mask - 1u)
		found_at[at++] = 16u * t + findLSB(mask);
	barrier();
	for (uint i = t; i < total; i += RQL_THREADS) {
#if OUT_BITS == 32
		RQL_U32(args.out_items, to + i) = uint(base) + found_at[i];
#else
		RQL_U64(args.out_items, to + i) = base + found_at[i];
#endif
	}
	barrier();
	return total;
}

void main()
{
	uint64_t group = rql_group();
	uint64_t tiles = (args.count + RQL_COMPACT_TILE - 1ul) / RQL_COMPACT_TILE;
	uint64_t first = group * args.tiles_per_group;
	if (first >= tiles)
		return;
	uint64_t end = min(first + args.tiles_per_group, tiles);
	uint64_t to = args.sums != 0ul ? RQL_U64(args.sums, group) : 0ul;
	for (uint64_t tile = first; tile < end; tile++)
		to += write_tile(tile * RQL_COMPACT_TILE, to);
	if (end == tiles && gl_LocalInvocationIndex == 0u)
		RQL_U64(args.found, 0) = to;
}
