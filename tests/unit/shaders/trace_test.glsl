// What the stages of the test share.
#include "device/kernel.glsl"
#include "device/trace.glsl"
#include "trace_test_kernels.h"

layout(push_constant, scalar) uniform push {
	trace_test_args args;
};
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer words { uint32_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer counters { uint32_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer row_array { trace_test_row at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer cell_array { trace_test_cell at[]; };

struct trace_test_payload {
	uint64_t count, sum;
	uint32_t row;
};

#ifdef HIT
uint32_t hit_row()
{
	return words(args.bases).at[gl_InstanceCustomIndexEXT] + uint32_t(gl_PrimitiveID);
}
#endif
