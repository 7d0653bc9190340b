#version 460
#extension GL_GOOGLE_include_directive : require
// Points as a buffer has them: one a vertex, and as many lists as there are instances.
#include "device/kernel.glsl"
#include "device/draw.glsl"
#include "selftest/selftest_draw_kernels.h"

layout(push_constant, scalar) uniform Args { rql_point_args args; };
layout(buffer_reference, scalar) readonly buffer Points { rql_selftest_point at[]; };
layout(location = 0) flat out uvec4 value;
layout(location = 1) flat out uint layer;

void main()
{
	rql_selftest_point p =
		Points(args.points).at[args.first + uint(gl_InstanceIndex) * args.per_instance + uint(gl_VertexIndex)];
	gl_Position = p.x < args.width ? rql_pixel(uvec2(p.x, p.y), uvec2(args.width, args.height)) : rql_nowhere;
	gl_PointSize = 1.0;
	gl_Layer = int(p.layer);
	layer = p.layer;
	value = uvec4(p.value[0], p.value[1], p.value[2], p.value[3]);
}
