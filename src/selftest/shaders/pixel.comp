#version 460
#extension GL_GOOGLE_include_directive : require
// Every pixel of an image to a buffer, and with a number added to a storage image.
#include "device/kernel.glsl"
#define RQL_STORAGE_FORMAT r32ui
#include "device/draw.glsl"
#include "selftest/selftest_draw_kernels.h"

layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform Args { rql_pixel_args args; };
layout(buffer_reference, scalar) buffer Words { uint at[]; };

void main()
{
	uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
	if (i >= uint64_t(args.width) * args.height * args.layers)
		return;
	uint pixel = uint(i), layer = pixel / (args.width * args.height), rest = pixel % (args.width * args.height);
	ivec2 at = ivec2(rest % args.width, rest / args.width);
	uint value = rql_fetch(args.from, at, layer).x;
	Words(args.out_words).at[pixel] = value;
	if (args.to != ~0u)
		imageStore(rql_storage_images[args.to], ivec3(at, layer), uvec4(value + args.add));
}
