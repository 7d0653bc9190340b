#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
#include "geometry/axis.glsl"
#include "selftest/selftest_axis_kernels.h"
layout(push_constant, scalar) uniform rql_push { rql_axis_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer rql_case_at { rql_axis_case value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rql_result_at { float value; };

void put_ray(uint64_t at, rql_axis_ray ray)
{
	for (uint i = 0u; i < 3u; i++)
		rql_result_at(at + 4ul * i).value = ray.origin[i];
	rql_result_at(at + 12ul).value = ray.step;
	rql_result_at(at + 16ul).value = ray.extent;
}

void main()
{
	uint64_t number = rql_group() * RQL_AXIS_THREADS + gl_LocalInvocationIndex;
	if (number >= args.count)
		return;
	rql_axis_case c = rql_case_at(args.cases + 20ul * number).value;
	uint64_t at = args.results + 4ul * RQL_AXIS_WORDS * number;
	float corner[9];
	rql_axis_triangle(uvec3(c.x, c.y, c.z), c.unit, corner);
	for (uint i = 0u; i < 9u; i++)
		rql_result_at(at + 4ul * i).value = corner[i];
	put_ray(at + 36ul, rql_axis_ray_up(c.x, c.y, c.z, c.high, c.unit));
	put_ray(at + 56ul, rql_axis_ray_down(c.x, c.y, c.z, c.high, c.unit));
}
