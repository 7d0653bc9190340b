// A number of 128 bits, its low word first, as two columns: the halves of column/form.h. After average.glsl.
#define RQL_LOW_BITS 31u // RQL_FORM_LOW_BITS

// What two sums of halves are together.
u64vec2 rql_whole(u64vec2 upper, u64vec2 lower)
{
	return rql_plus(u64vec2(upper.x << RQL_LOW_BITS, upper.y << RQL_LOW_BITS | upper.x >> (64u - RQL_LOW_BITS)), lower);
}

uint64_t rql_upper_half(u64vec2 value)
{
	return value.x >> RQL_LOW_BITS | value.y << (64u - RQL_LOW_BITS);
}

uint64_t rql_lower_half(u64vec2 value)
{
	return value.x & ((1ul << RQL_LOW_BITS) - 1ul);
}
