#version 460
// Radix partition in two passes: how many rows each of the last partitions has, from one reading of the keys as they came
// in. The first pass finds where its partitions begin among these. Counters have 16 bits, two to a word, and are looked
// after every FULL rows. Shared memory may have no room for the counters of all partitions. Then `parent_count` workgroups
// count a chunk, each a part of them. They run side by side, so that memory is read once.
// Floor: reads every key once. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_partition_args args; };
layout(constant_id = 2) const uint WORDS = 4096u; // of counters
layout(constant_id = 3) const bool BY_RANGE = false;
#define PAIRED 0
#include "primitive/relation/shaders/partition.glsl"
#include "primitive/relation/shaders/partition_keys.glsl"
#define FULL 0x8000u
shared uint counters[WORDS];

void count_key(KEY key, uint first_partition)
{
	uint own = partition_of(key) - first_partition;
	if (args.parent_count == 1u || own < 2u * WORDS)
		atomicAdd(counters[own >> 1u], 1u + (own & 1u) * 0xffffu);
}

void count_row(uint row, KEY key, uint first_partition)
{
	if ((args.flags & RQL_ROWS_NULL_KEY) != 0u && key == KEY(args.null_key) || !rql_valid_bit(args.valid, row))
		return;
	count_key(key, first_partition);
}

// The most frequent case has code of its own, since the number of instructions bounds this kernel: all rows take part.
void count_all(uint64_t keys_at, uint first_partition)
{
	KEY keys[ROWS];
	load_all(keys_at, keys);
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		count_key(keys[r], first_partition);
}

// At most FULL rows, for which counters below FULL have room. Ends with a barrier.
void count_rows(uint first, uint end, uint first_partition)
{
	uint row = first;
	bool all = (args.flags & RQL_ROWS_NULL_KEY) == 0u && args.valid == 0ul;
	for (; all && end - row >= ROWS * THREADS; row += ROWS * THREADS)
		count_all(args.keys_in + uint64_t(row) * KEY_BYTES, first_partition);
	for (row += rql_thread(); row < end; row += THREADS)
		count_row(row, RQL_KEY(args.keys_in, row), first_partition);
	barrier();
}

void add_up(uint partition_id, uint count)
{
	if (count != 0u)
		atomicAdd(RQL_U32(args.counts, partition_id), count);
}

// FULL of each counter that has so much goes to memory: few have. Each thread looks after its own words.
void take_full(uint first_partition)
{
	for (uint w = rql_thread(); w < WORDS; w += THREADS) {
		uint full = counters[w] & (FULL << 16u | FULL);
		if (full == 0u)
			continue;
		counters[w] -= full;
		add_up(first_partition + 2u * w, full & FULL);
		add_up(first_partition + 2u * w + 1u, full >> 16u);
	}
	barrier();
}

void main()
{
	uint64_t group = rql_group();
	uint first_partition = uint(group % args.parent_count) * 2u * WORDS;
	uint rows = rql_rows(args.found, args.count);
	group /= args.parent_count;
	if (group * args.chunk >= rows)
		return;
	uint first = uint(group) * args.chunk;
	uint end = rows - first < args.chunk ? rows : first + args.chunk;
	for (uint w = rql_thread(); w < WORDS; w += THREADS)
		counters[w] = 0u;
	barrier();
	while (first < end) {
		uint stop = end - first < FULL ? end : first + FULL;
		count_rows(first, stop, first_partition);
		take_full(first_partition);
		first = stop;
	}
	for (uint own = rql_thread(); own < 2u * WORDS; own += THREADS)
		add_up(first_partition + own, counters[own >> 1u] >> (own & 1u) * 16u & 0xffffu);
}
