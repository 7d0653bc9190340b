#version 460
// A key of each row, put into its word. There is room for more rows than there are: their words are the greatest, and they
// stand behind, so that they come last.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/order.glsl"
#include "method/materialise/shaders/order_key.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_ORDER_THREADS + gl_LocalInvocationIndex;
	if (i >= args.room)
		return;
	uint place = uint(i), row = args.rows != 0ul ? RQL_U32(args.rows, place) : place;
	uint64_t word = ~0ul;
	if (uint64_t(row) < rql_rows())
		word = rql_order_key(args.fields, args.field_bits, row, args.null_field, args.flags, args.key_bits) << args.shift;
	bool more = (args.flags & RQL_ORDER_MORE) != 0u;
	if (args.word_bits == 64u)
		RQL_U64(args.to, place) = more ? RQL_U64(args.to, place) | word : word;
	else
		RQL_U32(args.to, place) = more ? RQL_U32(args.to, place) | uint(word) : uint(word);
}
