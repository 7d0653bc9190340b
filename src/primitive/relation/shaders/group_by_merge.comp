#version 460
// The groups of the table in device memory (group_by_table.glsl), appended to the output. Floor: reads the keys once.
// KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
#include "primitive/relation/shaders/slots.glsl"
layout(push_constant, scalar) uniform rql_push { rql_group_by_args args; };
#include "primitive/relation/shaders/group_by_table.glsl"
shared uint64_t base;

// A least or greatest value in its own type: tables hold it in unsigned order.
uint64_t word_of(uint64_t ordered, uint flags)
{
	bool is_signed = (flags & RQL_GROUP_SIGNED) != 0u, wide = args.flags >> 8u == 64u;
	if (!is_signed)
		return wide ? ordered : ordered & 0xfffffffful;
	return wide ? ordered ^ 0x8000000000000000ul : uint64_t(int64_t(int(uint(ordered) ^ 0x80000000u)));
}

void write_column(uint column, uint place, uint64_t to)
{
	uint flags = uint(group_column(column, 1u));
	uint word = 1u + column * RQL_MERGE_WORDS;
	if ((flags & RQL_GROUP_SUM_WIDE) != 0u) {
		RQL_U64(group_column(column, 2u), 2ul * to) = RQL_U64(table_word_at(word, place), 0);
		RQL_U64(group_column(column, 2u), 2ul * to + 1ul) = RQL_U64(table_word_at(word + 1u, place), 0);
	} else if ((flags & RQL_GROUP_SUM) != 0u) {
		RQL_U64(group_column(column, 2u), to) = RQL_U64(table_word_at(word, place), 0);
	}
	if ((flags & RQL_GROUP_MIN) != 0u)
		RQL_U64(group_column(column, 3u), to) =
			word_of(RQL_U64(table_word_at(word + 2u, place), 0) + ((flags & RQL_GROUP_FIELD) != 0u ? 1ul : 0ul), flags);
	if ((flags & RQL_GROUP_MAX) != 0u)
		RQL_U64(group_column(column, 4u), to) = word_of(RQL_U64(table_word_at(word + 3u, place), 0), flags);
}

void main()
{
	uint64_t first = rql_group() * THREADS;
	if (first > args.slots)
		return;
	uint place = uint(first) + rql_thread();
	KEY key = place <= args.slots ? RQL_KEY(args.table_keys, place) : EMPTY;
	bool is = key != EMPTY;
	uint total;
	uint before = rql_before(is ? 1u : 0u, total);
	if (total == 0u)
		return;
	if (rql_thread() == 0u)
		base = atomicAdd(RQL_U64(args.control, 0), uint64_t(total));
	barrier();
	uint64_t to = base + before;
	if (!is || to >= args.capacity)
		return;
	RQL_KEY(args.keys_out, to) = place == args.slots ? EMPTY : key;
	if (args.counts_out != 0ul)
		RQL_U64(args.counts_out, to) = RQL_U64(table_word_at(0u, place), 0);
	for (uint c = 0u; c < args.column_count; c++)
		write_column(c, place, to);
}
