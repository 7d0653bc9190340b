#version 460
// One column's fields of the listed rows.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/top.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_TOP_THREADS + gl_LocalInvocationIndex;
	if (i >= min(RQL_U64(args.kept, 0), uint64_t(args.list_room)))
		return;
	uint place = uint(i), row = RQL_U32(args.list, place);
	if (args.field_bits == 64u)
		RQL_U64(args.gathered, place) = RQL_U64(args.fields, row);
	else
		RQL_U32(args.gathered, place) = RQL_U32(args.fields, row);
}
