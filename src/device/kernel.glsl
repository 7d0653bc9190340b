// What every kernel includes first: extensions, C's type names, the workgroup's number.
//
// Loop counters: 32 bits where they suffice. NVIDIA's compiler (580.159) computed `first - 1` without its carry where a
// loop's 64-bit counter begins at `first` and its body uses `counter - 1` (cube_rt_runs.comp).
// RQL_SUBGROUP_BEFORE, never subgroupExclusiveAdd: the same compiler computed it wrong in some lanes, behind a loop that
// lanes leave one by one, so that two threads took one place. The inclusive sum was right there.
#ifndef RQL_KERNEL_GLSL
#define RQL_KERNEL_GLSL
#define RQL_GLSL 1
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : enable

#define RQL_SUBGROUP_BEFORE(value) (subgroupInclusiveAdd(value) - (value))

#ifdef RQL_COMPUTE
// Large numbers of workgroups are laid out in two dimensions (work.h, rql_record_dispatch).
uint64_t rql_group()
{
	return uint64_t(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
#endif
#endif
