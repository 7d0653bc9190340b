#version 460
// Points as triangles. Floor: reads 12 bytes, writes 36.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_cgrx_fill_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rt_float { float v; };

void main()
{
	uint64_t i = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	uint64_t from = 3ul * (args.first + i);
	ivec3 point = ivec3(RQL_U32(args.points, from), RQL_U32(args.points, from + 1ul), RQL_U32(args.points, from + 2ul));
	float corner[9];
	rql_key_triangle_at(rt_space(), point, corner);
	for (uint k = 0u; k < 9u; k++)
		rt_float(args.out_items + 36ul * i + 4ul * k).v = corner[k];
}
