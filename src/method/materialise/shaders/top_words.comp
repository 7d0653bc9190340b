#version 460
// The first key of each row as a word, of which the greatest come first: the complement of materialise_order.c's.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/top.glsl"
#include "method/materialise/shaders/order_key.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_TOP_THREADS + gl_LocalInvocationIndex;
	if (i >= rql_rows())
		return;
	uint row = uint(i);
	uint64_t key = rql_order_key(args.fields, args.field_bits, row, args.null_field, args.flags, args.key_bits);
	RQL_U64(args.words, row) = args.key_bits != 0u ? ~(key << 64u - args.key_bits) : 0ul;
}
