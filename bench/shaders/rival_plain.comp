#version 460
#extension GL_GOOGLE_include_directive : require
// The plain column scan after Crystal (A. Shanbhag, S. Madden, X. Yu: A Study of the Fundamental Performance
// Characteristics of GPUs and CPUs for Database Analytics, SIGMOD 2020), over the flat table: int32 columns, four rows a
// thread in 16-byte loads, all of which are on their way before the first is looked at, every needed column read once
// and whole. Better than the original in one thing: groups are summed in the workgroup's memory, not by global atomics.
// Floor: 4 bytes a row and needed column at the device's read bandwidth.
#include "rival.glsl"

bvec4 rql_passes(uint test, uvec4 v, uint32_t low, uint32_t span)
{
	uvec4 over = v - low;
	if (test == RQL_RIVAL_RANGE)
		return lessThanEqual(over, uvec4(span));
	bvec4 one = equal(over, uvec4(0u)), other = equal(over, uvec4(span));
	return bvec4(one.x || other.x, one.y || other.y, one.z || other.z, one.w || other.w);
}

#define LOAD_TEST(i) uvec4 test_##i = TEST(i) != 0u ? rql_load(args.tests[i].column, quad) : uvec4(0u)
#define LOAD_GROUP(i) uvec4 group_##i = BYTES_OF_GROUP(i) != 0u ? rql_load(args.groups[i], quad) : uvec4(0u)
#define APPLY(i)                                                                                                       \
	if (TEST(i) != 0u) {                                                                                               \
		bvec4 ok = rql_passes(TEST(i), test_##i, args.tests[i].low, args.tests[i].span);                               \
		pass = bvec4(pass.x && ok.x, pass.y && ok.y, pass.z && ok.z, pass.w && ok.w);                                  \
	}

void main()
{
	rql_sums_begin();
	int64_t total = 0l;
	uint quads = uint((args.rows + 3ul) / 4ul), stride = args.workgroups * gl_WorkGroupSize.x;
	for (uint quad = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x; quad < quads; quad += stride) {
		LOAD_TEST(0);
		LOAD_TEST(1);
		LOAD_TEST(2);
		LOAD_TEST(3);
		LOAD_GROUP(0);
		LOAD_GROUP(1);
		LOAD_GROUP(2);
		uvec4 a = rql_load(args.a, quad);
		uvec4 b = OPERATION != 0u ? rql_load(args.b, quad) : uvec4(0u);
		uint64_t left = args.rows - 4ul * quad;
		bvec4 pass = bvec4(true, left > 1ul, left > 2ul, left > 3ul);
		APPLY(0)
		APPLY(1)
		APPLY(2)
		APPLY(3)
		uvec4 group = group_0 * STRIDE_0 + group_1 * STRIDE_1 + group_2 - args.base;
		[[unroll]] for (uint k = 0u; k < 4u; k++)
			if (pass[k])
				rql_add(group[k], rql_measure(a[k], b[k]), total);
	}
	rql_sums_end(total);
}
