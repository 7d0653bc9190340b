#version 460
// What found no place in the stack: keys and rows, for another join.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= uint64_t(rql_u32s(args.state).at[4u * args.layers]))
		return;
	uint row = rql_u32s(args.list).at[uint(i)];
	uvec2 key = rql_key(row);
	if (key_bits == 64u)
		rql_u64s(args.result).at[uint(i)] = packUint2x32(key);
	else
		rql_u32s(args.result).at[uint(i)] = key.x;
	rql_u32s(args.out_rows).at[uint(i)] = row;
}
