// Arrays of words at an address, indexed by 64 bits.
#ifndef RQL_WORDS_GLSL
#define RQL_WORDS_GLSL
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer rql_word32 {
	uint v;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_word64 {
	uint64_t v;
};
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer rql_word128 {
	uvec4 v;
};
#define RQL_U32(address, index) rql_word32((address) + uint64_t(index) * 4ul).v
#define RQL_U64(address, index) rql_word64((address) + uint64_t(index) * 8ul).v
#define RQL_U128(address) rql_word128(address).v // at a multiple of 16
#endif
