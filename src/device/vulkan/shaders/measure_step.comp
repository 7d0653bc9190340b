// As little work as a pass can have: one word counted up. Dependent ones in a row cost what barrier and launch cost.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "device/vulkan/measure_kernels.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint32_t at[]; };
layout(push_constant, scalar) uniform Args { rql_measure_args args; };

void main()
{
	if (gl_GlobalInvocationID.x == 0)
		Words(args.sums).at[0]++;
}
