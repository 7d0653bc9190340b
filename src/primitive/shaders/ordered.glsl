// Order-preserving keys of 64-bit words, as primitive.h has them.
#ifndef RQL_ORDERED_GLSL
#define RQL_ORDERED_GLSL
#define RQL_WORD_I64 0u
#define RQL_WORD_U64 1u
#define RQL_WORD_F64 2u
const uint64_t RQL_SIGN = 0x8000000000000000ul;
const uint64_t RQL_KEY_NAN = 0xfff8000000000000ul;

uint64_t rql_key_of(uint64_t bits, uint type)
{
	if (type == RQL_WORD_U64)
		return bits;
	if (type == RQL_WORD_I64)
		return bits ^ RQL_SIGN;
	if ((bits & ~RQL_SIGN) > 0x7ff0000000000000ul)
		return RQL_KEY_NAN;
	return (bits & RQL_SIGN) != 0ul ? ~bits : bits | RQL_SIGN;
}

uint64_t rql_bits_of(uint64_t key, uint type)
{
	if (type == RQL_WORD_U64)
		return key;
	if (type == RQL_WORD_I64)
		return key ^ RQL_SIGN;
	return (key & RQL_SIGN) != 0ul ? key & ~RQL_SIGN : ~key;
}
#endif
