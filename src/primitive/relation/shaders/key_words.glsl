// Keys of KEY_BITS (32 or 64) bits in device memory.
#ifndef RQL_KEY_WORDS_GLSL
#define RQL_KEY_WORDS_GLSL
#include "primitive/shaders/words.glsl"
#if KEY_BITS == 64
#define KEY uint64_t
#define RQL_KEY RQL_U64
#else
#define KEY uint
#define RQL_KEY RQL_U32
#endif
#endif
