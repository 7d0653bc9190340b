// Rows of lists as points: one that passes is drawn at the pixel of its word.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "device/draw.glsl"
#include "method/sieve/shaders/sieve_test.glsl"
layout(push_constant, scalar) uniform Args { rql_sieve_draw_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveList { rql_sieve_kernel_list v; };
layout(location = 0) flat out uint bit;

void main()
{
	const uint number = uint(gl_VertexIndex) / RQL_SIEVE_LIST_ROWS, i = uint(gl_VertexIndex) % RQL_SIEVE_LIST_ROWS;
	gl_Position = rql_nowhere;
	gl_PointSize = 1.0;
	bit = 0u;
	if (number >= args.list_count)
		return;
	const rql_sieve_kernel_list list = SieveList(args.lists + uint64_t(number) * 24ul).v;
	if (i >= list.count)
		return;
	const uint row = SieveKey32(list.list + uint64_t(i) * 4ul).v;
	if (!passes_all(list.tests, args.test_count, uint64_t(row)))
		return;
	const uint word = list.place + row / 32u;
	gl_Position = rql_pixel(uvec2(word % args.width, word / args.width), uvec2(args.width, args.height));
	bit = 1u << (row & 31u);
}
