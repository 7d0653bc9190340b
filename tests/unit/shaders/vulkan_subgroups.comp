// Every invocation counts up the word of its number, and one writes the subgroup's size behind them: shows whether
// subgroups are full and as wide as they say.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#include "device/kernel.glsl"
#include "vulkan_commands_args.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Word { uint32_t value; };
layout(push_constant, scalar) uniform Args { test_args args; };

void main()
{
	uint64_t number = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
	if (number + 1 < args.count)
		atomicAdd(Word(args.words + number * 4).value, 1);
	if (gl_LocalInvocationIndex == 0)
		Word(args.words + (args.count - 1) * 4).value = gl_SubgroupSize;
}
