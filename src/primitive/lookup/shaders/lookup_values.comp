#version 460
// Values in the order of sorted keys, as words of 64 bits whose prefix sums answer ranges. Floor: reads a row number
// and a value of each key, in random places, and writes 8 bytes.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_lookup_values_args args; };

void main()
{
	uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (i >= uint64_t(args.count))
		return;
	uint row = RQL_U32(args.rows, i << args.stride);
	uint64_t value;
	if ((args.flags & RQL_LOOKUP_WIDE) != 0u) {
		value = RQL_U64(args.values, row);
	} else {
		uint narrow = RQL_U32(args.values, row);
		value = (args.flags & RQL_LOOKUP_SIGNED) != 0u ? uint64_t(int64_t(int(narrow))) : uint64_t(narrow);
	}
	RQL_U64(args.out_items, i) = value;
}
