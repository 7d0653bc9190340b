#version 460
// Radix partition, first part of a pass whose rows no other kernel has counted (partition_count_both.comp): how many rows
// each partition of each parent has. A workgroup counts a chunk in shared memory and adds it up once. Floor: reads every
// key once. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_partition_args args; };
layout(constant_id = 2) const bool BY_RANGE = false;
#include "primitive/relation/shaders/partition.glsl"
#include "primitive/relation/shaders/partition_keys.glsl"
#define MOST 1024u
shared uint counters[MOST];

void count_row(uint row, KEY key)
{
	if ((args.flags & RQL_ROWS_NULL_KEY) != 0u && key == KEY(args.null_key))
		return;
	if (!rql_valid_bit(args.valid, row))
		return;
	atomicAdd(counters[partition_of(key)], 1u);
}

// The most frequent case has code of its own: keys lie side by side, and all rows take part.
void count_all(uint64_t keys_at)
{
	KEY keys[ROWS];
	load_all(keys_at, keys);
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		atomicAdd(counters[partition_of(keys[r])], 1u);
}

void count_rows(uint first, uint end, uint parent)
{
	uint t = rql_thread();
	uint partitions = 1u << args.bits;
	uint pair = (args.flags & RQL_ROWS_PAIRED) != 0u ? 1u : 0u;
	bool all = (args.flags & RQL_ROWS_NULL_KEY) == 0u && args.valid == 0ul && pair == 0u;
	for (uint d = t; d < partitions; d += THREADS)
		counters[d] = 0u;
	barrier();
	for (; all && end - first >= ROWS * THREADS; first += ROWS * THREADS)
		count_all(args.keys_in + uint64_t(first) * KEY_BYTES);
	for (uint base = first; base < end; base += ROWS * THREADS) {
		KEY keys[ROWS];
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			uint row = base + r * THREADS + t;
			keys[r] = row < end ? RQL_KEY(args.keys_in, row << pair) : KEY(0);
		}
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			uint row = base + r * THREADS + t;
			if (row < end)
				count_row(row, keys[r]);
		}
	}
	barrier();
	for (uint d = t; d < partitions; d += THREADS)
		if (counters[d] != 0u)
			atomicAdd(RQL_U32(args.counts, (parent << args.bits) + d), counters[d]);
	barrier();
}

void main()
{
	uint64_t group = rql_group();
	bool alone = args.parents == 0ul; // all rows are of one parent
	uint rows = alone ? rql_rows(args.found, args.count) : parent_start(args.parent_count);
	if (group * args.chunk >= rows)
		return;
	uint first = uint(group) * args.chunk;
	uint end = rows - first < args.chunk ? rows : first + args.chunk;
	uint parent = alone ? 0u : parent_of(first);
	while (first < end) { // one call: functions are expanded where they are called
		uint stop = alone ? end : min(parent_start(parent + 1u), end);
		if (stop > first)
			count_rows(first, stop, parent);
		first = max(first, stop);
		parent++;
	}
}
