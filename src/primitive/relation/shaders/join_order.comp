#version 460
// Puts the rows of a join's build side, which lie by partitions, in order of buckets where they are (join_order.glsl). A
// workgroup takes the first table of a partition, or the tables of a stretch of rows that are no partition's first. A
// table's rows' keys are in registers while their places are found. Floor: reads and writes every row once, and writes
// the heads of buckets. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_join_order_args args; };
#include "primitive/relation/shaders/join_order.glsl"
#define ROWS RQL_JOIN_ORDER_ROWS
#define NONE 0xffffffffu
shared uint ends[BUCKETS];

shared uint later_count, later_partition[RQL_JOIN_ORDER_TABLES], later_begin[RQL_JOIN_ORDER_TABLES];

// Tables that are not their partition's first, of those that begin in a stretch of rows: at each multiple of SLOTS or behind
// it, before the next, one at most does. A thread looks for each. Ends with a barrier.
void find_later(uint64_t stretch)
{
	uint t = rql_thread(), partitions = 1u << args.partitions_log2;
	if (t == 0u)
		later_count = 0u;
	barrier();
	uint rows = RQL_U32(args.starts, partitions);
	for (uint i = t; i < RQL_JOIN_ORDER_TABLES; i += THREADS) {
		uint64_t from = (stretch * RQL_JOIN_ORDER_TABLES + i) * SLOTS;
		if (from >= rows)
			break;
		uint partition_id = rql_partition_of(args.starts, partitions, uint(from));
		uint first = RQL_U32(args.starts, partition_id);
		uint64_t begin = first + (from - first + SLOTS - 1u) / SLOTS * SLOTS;
		if (begin == first || begin >= RQL_U32(args.starts, partition_id + 1u))
			continue;
		uint at = atomicAdd(later_count, 1u);
		later_partition[at] = partition_id;
		later_begin[at] = uint(begin);
	}
	barrier();
}

#define COUNT_OF(b) ends[b]
#include "primitive/relation/shaders/join_buckets.glsl"

// All of them have read before any of them writes.
void all_have_read()
{
	memoryBarrierBuffer();
	barrier();
}

// Of 32 bits, or of 64: rows of them go from where they are to their places.
#define MOVE(WORD, TYPE, address) \
	{ \
		TYPE held[ROWS]; \
		[[unroll]] for (uint r = 0u; r < ROWS; r++) \
			if (to[r] != NONE) \
				held[r] = WORD(address, begin + r * THREADS + t); \
		all_have_read(); \
		[[unroll]] for (uint r = 0u; r < ROWS; r++) \
			if (to[r] != NONE) \
				WORD(address, begin + to[r]) = held[r]; \
	}

void move_columns(in uint to[ROWS], uint begin)
{
	uint t = rql_thread();
	if (KEY_BITS == 64 || (args.flags & RQL_JOIN_BUILD_PAIRED) != 0u)
		MOVE(RQL_U64, uint64_t, args.keys)
	else
		MOVE(RQL_U32, uint, args.keys)
	for (uint c = 0u; c < args.column_count; c++) {
		uint64_t column = RQL_U64(args.columns, c * RQL_COLUMN_WORDS);
		uint flags = uint(RQL_U64(args.columns, c * RQL_COLUMN_WORDS + 2u));
		if ((flags & RQL_COLUMN_PAIRED) != 0u)
			continue;
		if ((flags & RQL_COLUMN_WIDE) != 0u)
			MOVE(RQL_U64, uint64_t, column)
		else
			MOVE(RQL_U32, uint, column)
	}
}

// The table of this partition that begins there. All must have done with the last one.
void order_table(uint partition_id, uint begin)
{
	uint t = rql_thread(), pair = (args.flags & RQL_JOIN_BUILD_PAIRED) != 0u ? 1u : 0u;
	uint first = RQL_U32(args.starts, partition_id), rows = min(RQL_U32(args.starts, partition_id + 1u) - begin, SLOTS);
	if (rows == 0u)
		return;
	for (uint b = t; b < BUCKETS; b += THREADS)
		ends[b] = 0u;
	barrier();
	uint to[ROWS], bucket[ROWS];
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		uint row = r * THREADS + t;
		to[r] = NONE;
		bucket[r] = 0u;
		if (row < rows) {
			bucket[r] = bucket_of(RQL_KEY(args.keys, (begin + row) << pair));
			to[r] = atomicAdd(ends[bucket[r]], 1u);
		}
	}
	barrier();
	place_buckets();
	for (uint b = t; b < BUCKETS; b += THREADS)
		RQL_U32(args.heads, head_at(partition_id, first, begin, b)) = ends[b] | (b + 1u < BUCKETS ? ends[b + 1u] : rows) << 16u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (to[r] != NONE)
			to[r] += ends[bucket[r]];
	move_columns(to, begin);
}

void main()
{
	uint64_t partitions = 1u << args.partitions_log2;
	if (rql_group() < partitions) {
		order_table(uint(rql_group()), RQL_U32(args.starts, uint(rql_group())));
		return;
	}
	find_later(rql_group() - partitions);
	for (uint i = 0u; i < later_count; i++) {
		order_table(later_partition[i], later_begin[i]);
		barrier();
	}
}
