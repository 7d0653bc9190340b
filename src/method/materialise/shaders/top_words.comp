#version 460
// A key of each row, put into its word, of which the greatest come first: the complement of materialise_order.c's.
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
	uint64_t word = ~(key << args.shift);
	if ((args.flags & RQL_ORDER_MORE) != 0u)
		word &= RQL_U64(args.words, row);
	RQL_U64(args.words, row) = word;
}
