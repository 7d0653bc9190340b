// Rows of lists, each tested alone and put right in the bitmap (positions: BinDex).
//
// Floor, in bytes a row of a list: 4, and a line of memory for each key that is tested and for the bitmap's word.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool COUNTING = false;
#define SIEVE_COUNTING COUNTING
#include "method/sieve/shaders/sieve_test.glsl"

layout(push_constant, scalar) uniform Args { rql_sieve_list_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveList { rql_sieve_kernel_list v; };

void main()
{
	const uint64_t group = rql_group();
	if (group >= args.list_count)
		return;
	const rql_sieve_kernel_list list = SieveList(args.lists + group * 24ul).v;
	for (uint i = gl_LocalInvocationIndex; i < list.count; i += gl_WorkGroupSize.x) {
		const uint row = SieveKey32(list.list + uint64_t(i) * 4ul).v;
		note_bytes(4u);
		decide(args.rows, list.place, row, passes_all(list.tests, args.test_count, uint64_t(row)));
	}
	put_counts(args.counts, 0u);
}
