// What both rival scans share: a query's shape, and where the sums go.
#include "device/kernel.glsl"
#include "../bench/flat/rival_kernels.h"

layout(local_size_x_id = 0) in;
layout(constant_id = RQL_RIVAL_CONSTANT_TESTS) const uint TESTS = 0u;
layout(constant_id = RQL_RIVAL_CONSTANT_TEST_BYTES) const uint TEST_BYTES = 0x4444u;
layout(constant_id = RQL_RIVAL_CONSTANT_GROUP_BYTES) const uint GROUP_BYTES = 0u;
layout(constant_id = RQL_RIVAL_CONSTANT_OPERATION) const uint OPERATION = 0u;
layout(constant_id = RQL_RIVAL_CONSTANT_B_BYTES) const uint B_BYTES = 4u;
layout(constant_id = RQL_RIVAL_CONSTANT_STRIDE_0) const uint STRIDE_0 = 1u;
layout(constant_id = RQL_RIVAL_CONSTANT_STRIDE_1) const uint STRIDE_1 = 1u;
layout(constant_id = RQL_RIVAL_CONSTANT_SUMS) const uint SUMS = 1u;
layout(constant_id = RQL_RIVAL_CONSTANT_PLACE) const uint PLACE = 0u;
layout(constant_id = RQL_RIVAL_CONSTANT_EAGER) const uint EAGER = 4u;

// Of test or GROUP BY column i, which is a literal wherever these are used: the driver folds them.
#define TEST(i) (TESTS >> (4u * (i)) & 15u)
#define BYTES_OF_TEST(i) (TEST_BYTES >> (4u * (i)) & 15u)
#define BYTES_OF_GROUP(i) (GROUP_BYTES >> (4u * (i)) & 15u)

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer rql_quads { uvec4 quad[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer rql_words { uint32_t word[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_sums { uint64_t sum[]; };
layout(push_constant, scalar) uniform rql_push { rql_rival_args args; };

// In halves: 32-bit atomics are an instruction in shared memory, 64-bit ones a loop on many devices.
shared uint32_t rql_low[RQL_RIVAL_MOST_SUMS], rql_high[RQL_RIVAL_MOST_SUMS];

// Workgroups lie in one dimension (rival.c launches few), and a number of sixteen rows fits in 32 bits.
uvec4 rql_load(uint64_t column, uint quad)
{
	return rql_quads(column).quad[quad];
}

int64_t rql_measure(uint32_t a, uint32_t b)
{
	int64_t x = int64_t(int32_t(a));
	return OPERATION == 0u ? x : OPERATION == 1u ? x * int64_t(b) : x - int64_t(int32_t(b));
}

void rql_sums_begin()
{
	if (PLACE == RQL_RIVAL_GLOBAL)
		return;
	for (uint g = gl_LocalInvocationID.x; g < SUMS; g += gl_WorkGroupSize.x)
		rql_low[g] = rql_high[g] = 0u;
	barrier();
}

void rql_add_shared(uint group, int64_t value)
{
	uint32_t low = uint32_t(value), before = atomicAdd(rql_low[group], low);
	uint32_t high = uint32_t(uint64_t(value) >> 32) + (before + low < before ? 1u : 0u);
	if (high != 0u)
		atomicAdd(rql_high[group], high);
}

// One row's measure. total: of this thread, where there is no GROUP BY.
void rql_add(uint group, int64_t value, inout int64_t total)
{
	if (PLACE == RQL_RIVAL_REGISTER)
		total += value;
	else if (PLACE == RQL_RIVAL_SHARED)
		rql_add_shared(group, value);
	else
		atomicAdd(rql_sums(args.sums).sum[group], uint64_t(value));
}

void rql_sums_end(int64_t total)
{
	if (PLACE == RQL_RIVAL_GLOBAL)
		return;
	if (PLACE == RQL_RIVAL_REGISTER && total != 0l)
		rql_add_shared(0u, total);
	barrier();
	for (uint g = gl_LocalInvocationID.x; g < SUMS; g += gl_WorkGroupSize.x) {
		uint64_t sum = packUint2x32(uvec2(rql_low[g], rql_high[g]));
		if (sum != 0ul)
			atomicAdd(rql_sums(args.sums).sum[g], sum);
	}
}
