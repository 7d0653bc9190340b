#version 460
// Group-by over many dense ids: every row adds to its group in global memory. Floor: reads ids and values once; one
// atomic per slot and row.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/group.glsl"

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	uint64_t step = uint64_t(args.groups) * RQL_THREADS;
	for (uint64_t row = group * RQL_THREADS + gl_LocalInvocationIndex; row < args.rows; row += step) {
		uint id = RQL_U32(args.ids, row);
		if (id < args.places)
			add_row(row, id);
	}
}
