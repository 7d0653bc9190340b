#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
#include "geometry/key.glsl"
#include "selftest/lookup/selftest_key_kernels.h"
layout(push_constant, scalar) uniform rql_push { rql_key_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_case_at { rql_key_case value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rql_result_at { float value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rql_word_at { uint value; };

void put_ray(uint64_t at, rql_key_ray ray)
{
	for (uint i = 0u; i < 3u; i++) {
		rql_result_at(at + 4ul * i).value = ray.origin[i];
		rql_result_at(at + 12ul + 4ul * i).value = ray.direction[i];
	}
	rql_result_at(at + 24ul).value = ray.tmin;
	rql_result_at(at + 28ul).value = ray.tmax;
}

void main()
{
	uint64_t number = rql_group() * RQL_KEY_THREADS + gl_LocalInvocationIndex;
	if (number >= args.count)
		return;
	rql_key_case c = rql_case_at(args.cases + 56ul * number).value;
	rql_key_space space = rql_key_space(c.bits, c.shift, c.stride);
	uint64_t at = args.results + 4ul * RQL_KEY_WORDS * number;
	float corner[9], box[6];
	rql_key_triangle(space, c.key, corner);
	rql_key_box(space, c.key, box);
	for (uint i = 0u; i < 9u; i++)
		rql_result_at(at + 4ul * i).value = corner[i];
	for (uint i = 0u; i < 6u; i++)
		rql_result_at(at + 36ul + 4ul * i).value = box[i];
	put_ray(at + 60ul, rql_key_ray_point(space, c.form, rql_key_of(space, rql_key_point(space, c.key))));
	uint form = space.stride != 0u || c.form == RQL_KEY_PERPENDICULAR ? RQL_KEY_ZERO : c.form;
	put_ray(at + 92ul, rql_key_ray_range(space, form, c.key, c.high, c.index));
	uint64_t count = rql_key_ray_count(space, c.key, c.high);
	rql_word_at(at + 124ul).value = uint(count);
	rql_word_at(at + 128ul).value = uint(count >> 32);
}
