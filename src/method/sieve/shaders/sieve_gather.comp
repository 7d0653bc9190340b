// Keys out of a list of them: those of given rows, or every so many of all; the last one stands for what is behind it.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/shaders/sieve_test.glsl"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_gather_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer SieveOut32 { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer SieveOut64 { uint64_t v; };

void main()
{
	const uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	const uint64_t at = min(i * args.stride, uint64_t(args.most));
	const uint64_t from = args.rows != 0ul ? uint64_t(SieveBits(args.rows + at * 4ul).v) : at;
	if (args.wide != 0u)
		SieveOut64(args.out_keys + i * 8ul).v = SieveKey64(args.keys + from * 8ul).v;
	else
		SieveOut32(args.out_keys + i * 4ul).v = SieveKey32(args.keys + from * 4ul).v;
}
