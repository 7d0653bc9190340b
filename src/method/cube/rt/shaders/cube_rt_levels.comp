// The runs of the directory's digits (cube_rt_kernels.h: rql_rt_levels_args). A key that is a multiple of a digit's
// stride begins a run of the digits up to this one if there are cells before the next multiple. Floor: the offsets once,
// and one addition in L2 for each run that is marked.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/cube/rt/shaders/cube_rt_keys.glsl"

layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform arguments { rql_rt_levels_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer mark { uint32_t word; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer counter { uint64_t value; };

shared uint32_t runs[RQL_RT_MAX_DIGITS];

uint64_t offset_of(uint64_t key)
{
	return rql_rt_offset(args.keys.directory, args.keys.directory_wide != 0, key);
}

void look_at(uint64_t key)
{
	uint64_t begin = offset_of(key);
	for (uint32_t d = args.keys.directory_digits; d-- > 0;) {
		rql_rt_digit digit = rql_rt_digits(args.keys.digits).at[d];
		uint64_t whole = digit.key_stride * digit.radix, unit = digit.key_stride << digit.coarse, within = key % whole;
		if (within % unit != 0) // nor of fewer digits
			return;
		if (offset_of(key + min(unit, whole - within)) == begin)
			continue;
		atomicAdd(runs[d], 1);
		if (d + 1 == args.depth)
			atomicOr(mark(args.marks + 4 * (begin >> 5)).word, 1u << (uint32_t(begin) & 31u));
	}
}

void main()
{
	uint32_t self = gl_LocalInvocationID.x, digits = args.keys.directory_digits;
	uint64_t first = rql_group() * (RQL_RT_GROUP * RQL_RT_KEYS) + self;
	for (uint32_t d = self; d < digits; d += RQL_RT_GROUP)
		runs[d] = 0;
	barrier();
	for (uint32_t i = 0; i < RQL_RT_KEYS; i++) {
		uint64_t key = first + i * RQL_RT_GROUP;
		if (key < args.keys.directory_size)
			look_at(key);
	}
	barrier();
	for (uint32_t d = self; d < digits; d += RQL_RT_GROUP)
		if (runs[d] != 0)
			atomicAdd(counter(args.counts + 8 * d).value, uint64_t(runs[d]));
}
