// The numbers of rows' cells, to be sorted: places, which are bins here, as digits.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/shaders/sieve_test.glsl"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_cell_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer SieveCell { uint64_t v; };

void main()
{
	const uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	const uint64_t place = args.places + i * args.axis_count * 4ul;
	const bool there = uint(i) % RQL_SIEVE_BLOCK_ROWS < SieveKey32(args.rows + i / RQL_SIEVE_BLOCK_ROWS * 4ul).v;
	uint64_t cell = SieveKey32(place).v;
	if (args.axis_count > 1u)
		cell = cell * args.size_y + SieveKey32(place + 4ul).v;
	if (args.axis_count > 2u)
		cell = cell * args.size_z + SieveKey32(place + 8ul).v;
	SieveCell(args.cells + i * 8ul).v = there ? cell : args.all;
}
