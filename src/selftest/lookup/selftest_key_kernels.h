/* Arguments of the selftest's kernel over geometry/key.glsl, for C and GLSL. */
#ifndef RQL_SELFTEST_KEY_KERNELS_H
#define RQL_SELFTEST_KEY_KERNELS_H

#include "device/kernel_types.h"

#define RQL_KEY_THREADS 64u
#define RQL_KEY_WORDS 33u /* of a result: triangle 9, box 6, rays of a point and of a range 8 each, count 2 */
struct rql_key_case {
	uint64_t key, high; /* the triangle, the box and the ray of key; the rays of key..high */
	uint64_t index;     /* which of these */
	uint32_t bits[3], shift[3], stride;
	uint32_t form;
};
RQL_KERNEL_STRUCT_SIZE(rql_key_case, 56);

struct rql_key_args {
	uint64_t cases;   /* rql_key_case[count] */
	uint64_t results; /* uint32_t[count][RQL_KEY_WORDS] */
	uint64_t count;
};
RQL_KERNEL_STRUCT_SIZE(rql_key_args, 24);

#endif
