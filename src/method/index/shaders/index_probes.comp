#version 460
// Keys of rows that lie on the device, as points of a segment: what is NULL, no key of the segment, or beyond the rows is an
// empty range. A thread each.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/index/index_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform Args { rql_index_probes_args args; };

void main()
{
	uint64_t i = rql_group() * uint64_t(RQL_INDEX_THREADS) + uint64_t(gl_LocalInvocationIndex);
	if (i >= args.room)
		return;
	uint64_t low = 1ul, high = 0ul;
	if (i < RQL_U64(args.rows, 0)) {
		uint64_t field = args.field_bits == 64u ? RQL_U64(args.fields, i) : uint64_t(RQL_U32(args.fields, i));
		uint64_t key = field + args.add;
		if (field != 0ul && key <= args.last)
			low = high = key;
	}
	if (args.key_bits == 64u) {
		RQL_U64(args.lows, i) = low;
		RQL_U64(args.highs, i) = high;
	} else {
		RQL_U32(args.lows, i) = uint(low);
		RQL_U32(args.highs, i) = uint(high);
	}
}
