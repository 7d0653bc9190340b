// Runs of cells with equal leading digits (cube_rt_kernels.h: rql_rt_runs_args). Floor: the residual codes once, and a
// search of the directory per cell, whose lines neighbouring invocations share. (Stepping from the last cell's key would
// be cheaper, but that form found no change of a key on an H200, driver 580; it did on llvmpipe.)
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/cube/shaders/cube_rt_keys.glsl"

layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform arguments { rql_rt_runs_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer output32 { uint32_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer output64 { uint64_t value; };

shared uint32_t differing[RQL_RT_MAX_DIGITS + 1];
shared uint32_t ranks[RQL_RT_GROUP];

// The first digit in which the keys of two cells differ, the second one's directory key not below the first one's.
uint32_t first_difference(uint64_t key_before, uint64_t key, uint64_t cell)
{
	rql_rt_digits digits = rql_rt_digits(args.keys.digits);
	uint32_t d = 0;
	for (; d < args.keys.directory_digits && key_before != key; d++) {
		rql_rt_digit digit = digits.at[d];
		uint32_t a = rql_rt_value_of(digit, key_before, 0), b = rql_rt_value_of(digit, key, 0);
		// Only the last digit of the geometry is coarse: what follows it is not in it.
		if (a != b)
			return a >> digit.coarse == b >> digit.coarse ? args.keys.digit_count : d;
	}
	for (d = args.keys.directory_digits; d < args.keys.digit_count; d++) {
		rql_rt_digit digit = digits.at[d];
		uint32_t a = rql_rt_value_of(digit, key, cell - 1), b = rql_rt_value_of(digit, key, cell);
		if (a != b)
			return a >> digit.coarse == b >> digit.coarse ? args.keys.digit_count : d;
	}
	return d;
}

void main()
{
	uint64_t group = rql_group();
	uint32_t self = gl_LocalInvocationID.x, digits = args.keys.digit_count;
	uint64_t first = (group * RQL_RT_GROUP + self) * RQL_RT_STRIP;
	uint64_t end = min(first + RQL_RT_STRIP, args.keys.cells);
	for (uint32_t d = self; d <= digits; d += RQL_RT_GROUP)
		differing[d] = 0;
	barrier();
	uint64_t begins[RQL_RT_STRIP];
	uint32_t count = 0;
	if (first < end) {
		uint64_t key = rql_rt_key_of(args.keys.directory, args.keys.directory_size, args.keys.directory_wide != 0,
		                             first == 0 ? 0 : first - 1);
		for (uint64_t cell = first; cell < end; cell++) {
			uint64_t before = key;
			key = rql_rt_key_of(args.keys.directory, args.keys.directory_size, args.keys.directory_wide != 0, cell);
			uint32_t d = cell == 0 ? 0 : first_difference(before, key, cell);
			if (args.starts == 0)
				atomicAdd(differing[d], 1);
			else if (cell == 0 || d < args.depth)
				begins[count++] = cell;
		}
	}
	ranks[self] = count;
	barrier();
	if (args.starts == 0) {
		if (group * RQL_RT_GROUP * RQL_RT_STRIP < args.keys.cells)
			for (uint32_t d = self; d <= digits; d += RQL_RT_GROUP)
				output32(args.counts + 4 * (group * (digits + 1) + d)).value = differing[d];
		return;
	}
	for (uint32_t step = 1; step < RQL_RT_GROUP; step *= 2) {
		uint32_t other = self >= step ? ranks[self - step] : 0;
		barrier();
		ranks[self] += other;
		barrier();
	}
	if (count == 0)
		return;
	uint64_t at = rql_rt_load64(args.offsets, group) + ranks[self] - count;
	for (uint32_t i = 0; i < count; i++) {
		if (args.wide != 0)
			output64(args.starts + 8 * (at + i)).value = begins[i];
		else
			output32(args.starts + 4 * (at + i)).value = uint32_t(begins[i]);
	}
}
