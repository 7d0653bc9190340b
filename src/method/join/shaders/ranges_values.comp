// Columns of the points in the points' order, to be added up; then each sorted point's number takes its row's place, so that
// who looks up a range has where it begins (ranges_kernels.h).
//
// Floor: a row's number read and written, of each column a field, at random, and 8 bytes written.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/join/ranges_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_ranges_values_args args; };

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_values {
	rql_ranges_value v;
};

void main()
{
	uint64_t i = rql_group() * RQL_RANGES_THREADS + gl_LocalInvocationIndex;
	if (i >= args.room)
		return;
	uint row = RQL_U32(args.rows, i << args.stride);
	bool some = uint64_t(row) < min(RQL_U64(args.found, 0), uint64_t(args.room));
	for (uint c = 0u; c < args.value_count; c++) {
		rql_ranges_value value = rql_values(args.values + uint64_t(c) * 32ul).v;
		uint64_t field = 0ul;
		if (some)
			field = value.wide != 0u ? RQL_U64(value.from, row) : uint64_t(RQL_U32(value.from, row));
		RQL_U64(value.to, i) = field == 0ul ? 0ul : value.sum != 0u ? field - 1ul + value.least : 1ul;
	}
	RQL_U32(args.rows, i << args.stride) = uint(i);
}
