// Order-preserving keys of 64-bit words, as primitive.h has them.
#ifndef RQL_ORDERED_GLSL
#define RQL_ORDERED_GLSL
#define RQL_WORD_I64 0u
#define RQL_WORD_U64 1u
#define RQL_WORD_F64 2u
const uint64_t RQL_SIGN = 0x8000000000000000ul;
const uint64_t RQL_KEY_NAN = 0xfff8000000000000ul;

// Of a double's bits: NaN above all, -0.0 just below 0.0.
uint64_t rql_key_of_real(uint64_t bits)
{
	if ((bits & ~RQL_SIGN) > 0x7ff0000000000000ul)
		return RQL_KEY_NAN;
	return (bits & RQL_SIGN) != 0ul ? ~bits : bits | RQL_SIGN;
}

// The same with -0.0 equal to 0.0.
uint64_t rql_key_of_equal_real(uint64_t bits)
{
	return rql_key_of_real(bits == RQL_SIGN ? 0ul : bits);
}

uint64_t rql_real_of_key(uint64_t key)
{
	return (key & RQL_SIGN) != 0ul ? key & ~RQL_SIGN : ~key;
}

// As a field of a form, where 0 is NULL's.
uint64_t rql_field_of_real(uint64_t bits)
{
	return bits == ~0ul ? ~0x7ff8000000000000ul : ~bits;
}

uint64_t rql_key_of(uint64_t bits, uint type)
{
	return type == RQL_WORD_F64 ? rql_key_of_real(bits) : type == RQL_WORD_I64 ? bits ^ RQL_SIGN : bits;
}

uint64_t rql_bits_of(uint64_t key, uint type)
{
	return type == RQL_WORD_F64 ? rql_real_of_key(key) : type == RQL_WORD_I64 ? key ^ RQL_SIGN : key;
}
#endif
