#version 460
// Writes words that were recorded with the dispatch: tables of columns for the kernels that follow.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_poke_args args; };

void main()
{
	if (rql_group() != 0ul || gl_LocalInvocationIndex != 0u)
		return;
	for (uint i = 0u; i < args.count; i++)
		RQL_U64(args.to, i) = args.words[i];
}
