// Reads all of a buffer once: what streaming from the device's memory can give. Floor: 16 bytes a load, and 16 loads in
// flight for each invocation; the additions hide behind them on any GPU.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "device/vulkan/measure_kernels.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Quad { u32vec4 words; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint32_t at[]; };
layout(push_constant, scalar) uniform Args { rql_measure_args args; };

shared uint32_t group_sum;

void main()
{
	if (gl_LocalInvocationIndex == 0)
		group_sum = 0;
	barrier();
	uint64_t first = rql_group() * RQL_MEASURE_LOADS * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	u32vec4 sum = u32vec4(0);
	[[unroll]] for (uint i = 0; i < RQL_MEASURE_LOADS; i++) {
		uint64_t at = first + i * gl_WorkGroupSize.x;
		if (at < args.quads)
			sum += Quad(args.data + at * 16).words;
	}
	atomicAdd(group_sum, sum.x + sum.y + sum.z + sum.w);
	barrier();
	if (gl_LocalInvocationIndex == 0 && rql_group() * RQL_MEASURE_LOADS * gl_WorkGroupSize.x < args.quads)
		Words(args.sums).at[uint(rql_group())] = group_sum;
}
