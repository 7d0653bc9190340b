#version 460
// The first key of each row as a word, of which the greatest come first: the complement of materialise_order.c's.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/top.glsl"
#include "primitive/shaders/ordered.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_TOP_THREADS + gl_LocalInvocationIndex;
	if (i >= rql_rows())
		return;
	uint row = uint(i);
	uint64_t f = args.field_bits == 64u ? RQL_U64(args.fields, row) : uint64_t(RQL_U32(args.fields, row));
	bool first = (args.flags & RQL_TOP_NULLS_FIRST) != 0u;
	if (f == args.null_field)
		f = 0ul;
	if ((args.flags & RQL_TOP_REAL) != 0u && f != 0ul)
		f = rql_key_of_equal_real(~f);
	if ((args.flags & RQL_TOP_DESCENDING) != 0u)
		f = first ? 0ul - f : ~f;
	else
		f = first ? f : f - 1ul;
	RQL_U64(args.words, row) = args.key_bits != 0u ? ~(f << 64u - args.key_bits) : 0ul;
}
