/* Arguments of the kernel of conditions over strings, for C and GLSL. */
#ifndef RQL_TEXT_KERNELS_H
#define RQL_TEXT_KERNELS_H

#include "column/text/text_program.h"
#include "device/kernel_types.h"

#define RQL_TEXT_THREADS 256u
#define RQL_TEXT_TILE 1024u /* entries of a workgroup */

/* text_select.comp */
struct rql_text_args {
	uint64_t bytes;   /* of all entries, one after the other: a multiple of 16, readable for 32 behind the last */
	uint64_t offsets; /* uint32_t[count + 1]: where each begins */
	uint64_t wide;    /* bit i: entry i has a byte of 0x80 or more */
	uint64_t program, set;
	uint32_t count, searches, steps, steps_at;
};
RQL_KERNEL_STRUCT_SIZE(rql_text_args, 56);

#endif
