#version 460
// First of the three passes of a compaction: how many entries are set in each workgroup's tiles.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_compact_args args; };
#define RQL_SUM uint64_t
#include "primitive/shaders/group_scan.glsl"
#include "primitive/shaders/compact_mask.glsl"

void main()
{
	uint64_t group = rql_group();
	uint64_t first = group * args.tiles_per_group * RQL_COMPACT_TILE;
	if (first >= args.count)
		return;
	uint64_t end = min(first + args.tiles_per_group * RQL_COMPACT_TILE, args.count);
	uint64_t sum = 0ul;
	for (uint64_t base = first; base < end; base += RQL_COMPACT_TILE)
		sum += bitCount(rql_tile_mask(base));
	uint64_t total;
	rql_group_exclusive(sum, total);
	if (gl_LocalInvocationIndex == 0u)
		RQL_U64(args.sums, group) = total;
}
