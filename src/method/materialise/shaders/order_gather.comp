#version 460
// One column's fields of the wanted rows, in their order.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/order.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_ORDER_THREADS + gl_LocalInvocationIndex;
	if (i >= args.most || args.first + i >= rql_rows())
		return;
	uint place = uint(i), row = RQL_U32(args.rows, args.first + i);
	if (args.field_bits == 64u)
		RQL_U64(args.to, place) = RQL_U64(args.fields, row);
	else
		RQL_U32(args.to, place) = RQL_U32(args.fields, row);
}
