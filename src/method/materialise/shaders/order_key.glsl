// A row's field as a number that ascends as its order says, in the key's low bits: materialise_order.c has why.
#ifndef RQL_ORDER_KEY_GLSL
#define RQL_ORDER_KEY_GLSL
#include "method/materialise/materialise_kernels.h"
#include "primitive/shaders/ordered.glsl"
#include "primitive/shaders/words.glsl"

uint64_t rql_order_key(uint64_t fields, uint field_bits, uint row, uint64_t null_field, uint flags, uint bits)
{
	uint64_t f = field_bits == 64u ? RQL_U64(fields, row) : uint64_t(RQL_U32(fields, row));
	bool first = (flags & RQL_ORDER_NULLS_FIRST) != 0u;
	if (f == null_field)
		f = 0ul;
	if ((flags & RQL_ORDER_REAL) != 0u && f != 0ul)
		f = rql_key_of_equal_real(~f);
	if ((flags & RQL_ORDER_DESCENDING) != 0u)
		f = first ? 0ul - f : ~f;
	else
		f = first ? f : f - 1ul;
	return bits < 64u ? f & (1ul << bits) - 1ul : f;
}
#endif
