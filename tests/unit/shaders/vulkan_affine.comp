// words[i] = words[i] * factor + term + constant 1, so many rounds: an order of passes that is not kept shows.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "vulkan_commands_args.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

layout(constant_id = 1) const uint32_t extra = 0;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Word { uint32_t value; };
layout(push_constant, scalar) uniform Args { test_args args; };

void main()
{
	uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	uint32_t value = Word(args.words + i * 4).value;
	for (uint32_t r = 0; r < args.rounds; r++)
		value = value * args.factor + args.term + extra;
	Word(args.words + i * 4).value = value;
}
