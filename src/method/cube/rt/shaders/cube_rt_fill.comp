// One triangle for every run of cells (cube_rt_kernels.h: rql_rt_fill_args). Floor: 36 bytes written a primitive.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "geometry/axis.glsl"
#include "method/cube/rt/shaders/cube_rt_keys.glsl"

layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform arguments { rql_rt_fill_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer triangle { float corner[9]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer height { uint32_t value; };

void main()
{
	uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
	if (i >= args.count)
		return;
	uint64_t primitive = args.first + i;
	uint64_t cell = args.starts == 0 ? primitive : rql_rt_offset(args.starts, args.wide != 0, primitive);
	uint64_t key = rql_rt_key_of(args.keys.directory, args.keys.directory_size, args.keys.directory_wide != 0, cell);
	uint point[4] = {0, 0, 0, 0}; // the last: what is not in the geometry
	for (uint32_t d = 0; d < args.keys.digit_count; d++) {
		rql_rt_digit digit = rql_rt_digits(args.keys.digits).at[d];
		if (digit.axis > 2)
			break;
		point[digit.axis] += (rql_rt_value_of(digit, key, cell) >> digit.coarse) * digit.axis_stride;
	}
	float corner[9];
	rql_axis_triangle(uvec3(point[0], point[1], point[2]), args.unit, corner);
	for (uint32_t c = 0; c < 9; c++)
		triangle(args.corners + 36 * i).corner[c] = corner[c];
	height(args.z + 4 * primitive).value = point[2];
}
