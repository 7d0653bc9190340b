// Places in space to cubes, triangles or cells: 4 to 12 bytes in, 24 or 36 out.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "geometry/matrix.glsl"
#include "method/sieve/gpu/sieve_kernels.h"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_fill_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SievePlace { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer SieveBox { float v[6]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer SieveCorners { float v[9]; };

void main()
{
	const uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	uvec3 place = uvec3(0u);
	for (uint axis = 0u; axis < args.axis_count; axis++)
		place[axis] = SievePlace(args.places + (i * args.axis_count + axis) * 4ul).v;
	float box[6], corner[9];
	if (args.what == RQL_SIEVE_FILL_CUBES) {
		rql_matrix_cube(place, uvec3(args.center_x, args.center_y, args.center_z), args.size, box);
		SieveBox(args.primitives + i * 24ul).v = box;
		return;
	}
	if (args.what == RQL_SIEVE_FILL_LEGS)
		rql_matrix_leg(place.x, args.center_x, args.size, corner);
	else
		rql_matrix_cell(place, args.unit_x, corner);
	SieveCorners(args.primitives + i * 36ul).v = corner;
}
