/* What lets one header declare the argument structs of a kernel for C and for GLSL. Such a header holds structs of
 * uint32_t, int32_t, uint64_t, int64_t and float members only, 64-bit members at multiples of 8, and a static assertion
 * on every size; GLSL compiles it under the scalar block layout, which then equals C's. Addresses are uint64_t on both
 * sides (buffer references are made from them in the shader). */
#ifdef RQL_GLSL
#define RQL_KERNEL_STRUCT_SIZE(type, size)
#define RQL_STRUCT(type) type /* a member that is a struct: GLSL has no such keyword there */
#else
#include <stdint.h>
#define RQL_STRUCT(type) struct type
#define RQL_KERNEL_STRUCT_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " differs from GLSL's")
#endif
