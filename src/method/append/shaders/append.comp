// Rows of an input of a UNION ALL behind those of the inputs before.
//
// Floor: each field read and written once. Invocations lie side by side in every column.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/append/append_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_append_args args; };

void main()
{
	uint64_t row = rql_group() * RQL_APPEND_THREADS + gl_LocalInvocationIndex;
	uint64_t rows = min(RQL_U64(args.count, 0), args.from_room), first = RQL_U64(args.starts, args.place);
	if (row == 0ul)
		RQL_U64(args.starts, args.place + 1u) = first + rows;
	if (row >= rows)
		return;
	uint64_t from = args.from, to = args.to;
	for (uint c = 0u; c < args.column_count; c++) {
		bool wide = (args.wide >> c & 1ul) != 0ul;
		uint64_t bytes = wide ? 8ul : 4ul;
		if (wide)
			RQL_U64(to, first + row) = RQL_U64(from, row);
		else
			RQL_U32(to, first + row) = RQL_U32(from, row);
		from += args.from_room * bytes;
		to += args.to_room * bytes;
	}
}
