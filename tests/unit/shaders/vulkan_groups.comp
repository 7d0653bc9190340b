// words[group] += 1 by one invocation of every workgroup: shows which workgroups ran, and how often.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "vulkan_commands_args.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Word { uint32_t value; };
layout(push_constant, scalar) uniform Args { test_args args; };

void main()
{
	uint64_t group = rql_group();
	if (group < args.count && gl_LocalInvocationIndex == 0)
		atomicAdd(Word(args.words + group * 4).value, 1);
}
