/* Arguments of the kernels of test_vulkan_commands.c. */
#include "device/kernel_types.h"

struct test_args {
	uint64_t words; /* uint32_t[count] */
	uint64_t count;
	uint32_t factor, term;
	uint32_t rounds;
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(test_args, 32);
