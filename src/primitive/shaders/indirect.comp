#version 460
// A number of items to the workgroup counts of an indirect dispatch, laid out in two dimensions as work.h says.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_indirect_args args; };

void main()
{
	if (rql_group() != 0ul || gl_LocalInvocationIndex != 0u)
		return;
	uint64_t items = RQL_U64(args.items, 0);
	uint64_t groups = items / args.items_per_group + (items % args.items_per_group != 0ul ? 1ul : 0ul);
	uint64_t y = max((groups + 65534ul) / 65535ul, 1ul);
	RQL_U32(args.groups, 0) = uint((groups + y - 1ul) / y);
	RQL_U32(args.groups, 1) = uint(min(y, 65535ul));
	RQL_U32(args.groups, 2) = 1u;
}
