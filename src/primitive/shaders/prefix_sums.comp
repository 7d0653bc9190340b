#version 460
// First of the three passes of a prefix sum: the sum of each workgroup's tiles. Floor: reads every item once.
// IN_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_prefix_args args; };
#define RQL_SUM uint64_t
#include "primitive/shaders/group_scan.glsl"

void main()
{
	uint64_t group = rql_group();
	uint64_t first = group * args.tiles_per_group * RQL_PREFIX_TILE;
	if (first >= args.count)
		return;
	uint64_t end = min(first + args.tiles_per_group * RQL_PREFIX_TILE, args.count);
	uint64_t sum = 0ul;
	for (uint64_t i = first + gl_LocalInvocationIndex; i < end; i += RQL_THREADS) {
#if IN_BITS == 32
		sum += RQL_U32(args.in_items, i);
#else
		sum += RQL_U64(args.in_items, i);
#endif
	}
	uint64_t total;
	rql_group_exclusive(sum, total);
	if (gl_LocalInvocationIndex == 0u)
		RQL_U64(args.sums, group) = total;
}
