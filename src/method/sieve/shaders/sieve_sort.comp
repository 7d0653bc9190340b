// The rows of each block in the order of a column's keys: a workgroup sorts one in shared memory (bitonic). Rows without a
// key come last.
//
// Floor, in bytes a row: 4 in, 6 out; 78 steps of half the rows in shared memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/shaders/sieve_test.glsl"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_sort_args args; };
const uint ROWS = RQL_SIEVE_BLOCK_ROWS, NO_KEY = RQL_SIEVE_BLOCK_ROWS; // a bit of `rows`
shared uint keys[ROWS], rows[ROWS];

void read_block(const uint block)
{
	const uint there = SieveKey32(args.block_rows + uint64_t(block) * 4ul).v;
	for (uint i = gl_LocalInvocationIndex; i < ROWS; i += gl_WorkGroupSize.x) {
		const uint64_t row = uint64_t(block) * ROWS + i;
		bool live = i < there;
		if (live && args.valid != 0ul)
			live = (SieveBits(args.valid + row / 32ul * 4ul).v >> (i & 31u) & 1u) != 0u;
		keys[i] = live ? SieveKey32(args.keys + row * 4ul).v : 0xffffffffu;
		rows[i] = live ? i : i | NO_KEY;
	}
}

void wait()
{
	memoryBarrierShared();
	barrier();
}

void sort_block()
{
	for (uint width = 2u; width <= ROWS; width <<= 1)
		for (uint step = width / 2u; step > 0u; step >>= 1) {
			wait();
			for (uint i = gl_LocalInvocationIndex; i < ROWS / 2u; i += gl_WorkGroupSize.x) {
				const uint low = 2u * i - (i & (step - 1u)), high = low + step;
				const uint k0 = keys[low], k1 = keys[high], r0 = rows[low], r1 = rows[high];
				const bool above = k0 > k1 || (k0 == k1 && r0 > r1);
				if (above != ((low & width) == 0u))
					continue;
				keys[low] = k1;
				keys[high] = k0;
				rows[low] = r1;
				rows[high] = r0;
			}
		}
	wait();
}

// How many rows with a key stand before the bin; of the number of bins, how many have a key.
uint start_of(const uint bin)
{
	uint low = 0u, high = ROWS;
	const bool all = bin >= args.bins;
	const uint bound = bin > 0u && !all ? SieveKey32(args.bounds + uint64_t(bin - 1u) * 4ul).v : 0u;
	while (low < high) {
		const uint middle = (low + high) / 2u;
		if ((rows[middle] & NO_KEY) == 0u && (all || keys[middle] < bound))
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

void main()
{
	const uint64_t group = rql_group();
	if (group >= args.blocks)
		return;
	const uint block = uint(group);
	read_block(block);
	sort_block();
	for (uint i = gl_LocalInvocationIndex; i < ROWS; i += gl_WorkGroupSize.x)
		SieveBits(args.to_keys + (group * ROWS + i) * 4ul).v = keys[i];
	for (uint i = gl_LocalInvocationIndex; i < ROWS / 2u; i += gl_WorkGroupSize.x) {
		const uint pair = (rows[2u * i] & (ROWS - 1u)) | (rows[2u * i + 1u] & (ROWS - 1u)) << 16;
		SieveBits(args.to_rows + (group * (ROWS / 2u) + i) * 4ul).v = pair;
	}
	for (uint i = gl_LocalInvocationIndex; i < args.stride / 2u; i += gl_WorkGroupSize.x)
		SieveBits(args.to_starts + (group * (args.stride / 2u) + i) * 4ul).v = start_of(2u * i) | start_of(2u * i + 1u) << 16;
}
