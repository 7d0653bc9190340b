// The runs of the residual digits (cube_rt_kernels.h: rql_rt_runs_args): an invocation compares the codes of 32 cells,
// one word of marks, with those of the cells before them. 32 codes of b bits are b whole words. Floor: the codes once.
//
// An earlier form went through the cells with a 64-bit counter, from `first`, and looked up the keys of first - 1 and, in
// the loop, of cell - 1. NVIDIA's compiler (580.159) merged the two subtractions and lost their carry: first - 1 was
// 0xffffffff0000000f for a first of 16, as a store beside it showed, so that every strip seemed to begin a run. One of
// the two alone is compiled right. Here no counter has 64 bits; selftest "cube.rt runs" compares every start.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/cube/rt/shaders/cube_rt_keys.glsl"

layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform arguments { rql_rt_runs_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer mark { uint32_t word; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer counter { uint64_t value; };

shared uint32_t runs[RQL_RT_MAX_DIGITS];

// Which cells of the strip differ from the one before them: in their codes, and in what the geometry has of these.
uvec2 changes(rql_rt_digit digit, uint64_t strip, uint32_t cells)
{
	uvec2 changed = uvec2(0);
	if (digit.bits == 0)
		return changed;
	uint64_t words = strip * digit.bits;
	uint32_t mask = 0xffffffffu >> (32 - digit.bits);
	// The last code before the strip is the top of the word before it.
	uint32_t before = strip == 0 ? 0 : rql_rt_load32(digit.codes, words - 1) >> (32 - digit.bits);
	for (uint32_t cell = 0; cell < cells; cell++) {
		uint32_t bit = cell * digit.bits, at = bit >> 5;
		uvec2 both = uvec2(rql_rt_load32(digit.codes, words + at), rql_rt_load32(digit.codes, words + at + 1));
		uint32_t now = uint32_t(packUint2x32(both) >> (bit & 31)) & mask;
		changed.x |= uint32_t(now != before) << cell;
		changed.y |= uint32_t((digit.base + now) >> digit.coarse != (digit.base + before) >> digit.coarse) << cell;
		before = now;
	}
	return changed;
}

void main()
{
	uint32_t self = gl_LocalInvocationID.x, digits = args.keys.digit_count;
	uint64_t strip = rql_group() * RQL_RT_GROUP + self, first = strip * 32;
	for (uint32_t d = self; d < digits; d += RQL_RT_GROUP)
		runs[d] = 0;
	barrier();
	if (first < args.keys.cells) {
		uint32_t cells = uint32_t(min(args.keys.cells - first, 32ul));
		uint32_t marks = mark(args.marks + 4 * strip).word;
		if (strip == 0)
			marks |= 1;
		uint32_t equal = 0xffffffffu >> (32 - cells) & ~marks; // cells that did not differ so far
		for (uint32_t d = args.keys.directory_digits; d < args.end && equal != 0; d++) {
			uvec2 changed = changes(rql_rt_digits(args.keys.digits).at[d], strip, cells) & equal;
			marks |= changed.y;
			equal &= ~changed.x;
			if (changed.y != 0)
				atomicAdd(runs[d], bitCount(changed.y));
		}
		if (args.marking != 0)
			mark(args.marks + 4 * strip).word = marks;
	}
	barrier();
	for (uint32_t d = self; d < digits; d += RQL_RT_GROUP)
		if (runs[d] != 0)
			atomicAdd(counter(args.counts + 8 * d).value, uint64_t(runs[d]));
}
