#version 460
// Keys as triangles or boxes. Keys beyond their bounds, which the space holds, are counted: the structure is not used.
// Floor: reads a key, writes 36 or 24 bytes.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_rx_fill_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rt_float { float v; };

void main()
{
	uint64_t i = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	uint64_t key = uint64_t(RQL_KEY(args.keys, args.first + i)) - args.base;
	if (key > args.last) {
		atomicAdd(RQL_U64(args.state, RQL_RT_OUTSIDE), 1ul);
		key = 0ul;
	}
	if (PRIMITIVE == RT_TRIANGLES) {
		float corner[9];
		rql_key_triangle(rt_space(), key, corner);
		for (uint k = 0u; k < 9u; k++)
			rt_float(args.out_items + 36ul * i + 4ul * k).v = corner[k];
	} else {
		float box[6];
		rql_key_box(rt_space(), key, box);
		for (uint k = 0u; k < 6u; k++)
			rt_float(args.out_items + 24ul * i + 4ul * k).v = box[k];
	}
}
