#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "geometry/grid.glsl"
#include "method/cube/paper/cube_paper_kernels.h"

// Corners to triangles: 12 bytes in, 36 out.
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform arguments { rql_paper_triangle_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer corner_at { vec3 value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer triangle_at { float value[9]; };

void main()
{
	uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
	if (i >= args.count)
		return;
	vec3 corner = corner_at(args.corners + 12 * i).value;
	float corners[9];
	rql_grid_triangle(args.level != 0u ? vec3(corner.xy, 0.0) : corner, args.leg_x, args.leg_y, corners);
	triangle_at(args.triangles + 36 * i).value = corners;
}
