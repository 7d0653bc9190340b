#version 460
// A column of the rows that a list names: 0 where it names none.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/raster_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_raster_gather_args args; };

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= min(RQL_U64(args.found, 0), args.capacity))
		return;
	uint row = RQL_U32(args.rows, i);
	if (args.bits == 64u)
		RQL_U64(args.to, i) = row == RQL_RASTER_NONE ? 0ul : RQL_U64(args.from, row);
	else if (args.from == 0ul)
		RQL_U32(args.to, i) = row;
	else
		RQL_U32(args.to, i) = row == RQL_RASTER_NONE ? 0u : RQL_U32(args.from, row);
}
