#version 460
// One column's fields of the listed rows.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/top.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_TOP_THREADS + gl_LocalInvocationIndex;
	if (i >= min(rql_u64s(args.kept).at[0], uint64_t(args.list_room)))
		return;
	uint place = uint(i), row = rql_u32s(args.list).at[place];
	if (args.field_bits == 64u)
		rql_u64s(args.gathered).at[place] = rql_u64s(args.fields).at[row];
	else
		rql_u32s(args.gathered).at[place] = rql_u32s(args.fields).at[row];
}
