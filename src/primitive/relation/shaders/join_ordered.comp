#version 460
// Join with a build side that lies in order of buckets (join_order.glsl): rows of the probe side, ROWS a thread, are looked
// up where it lies, without a table of one's own. They lie by partitions of the same hash, as many as it takes for
// neighbours to meet the same build partition. Matches are counted, places for all of them taken at once, and then
// written. Floor: reads the probe side once, of each row's table a head and the bucket's keys, and writes the output
// once. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_join_ordered_args args; };
#include "primitive/relation/shaders/join_write.glsl"
#include "primitive/relation/shaders/join_order.glsl"
uint row_flags()
{
	return args.flags;
}

uint column_flags(uint column)
{
	return uint(column_word(column, 2u));
}

#define OWN_PLACES 0u
#define MISS 0xffffffffu
#define NO_MATCH 0xffffu // the lower half of a hit: a row of the output that has no match
#define WHOLE 0x8000u    // or the first match's place in its table, and that all of its bucket are matches
#include "primitive/relation/shaders/join_rows.glsl"

uint table; // of each row's partition: which one is looked at
shared uint most_tables;

uint partition_of(KEY key)
{
	return rql_hash(key, (args.flags >> 24u & RQL_ROWS_RAW) != 0u) >> (32u - args.partitions_log2);
}

KEY build_key(uint slot)
{
	return RQL_KEY(args.build_keys, slot << ((args.flags & RQL_JOIN_BUILD_PAIRED) != 0u ? 1u : 0u));
}

uint marks_of(KEY key, uint row, uint hit)
{
	return 0u; // keys that follow each other are known (WHOLE)
}

// The k-th match of a row: a row of the build side.
uint nth_match(KEY key, uint row, uint hit, uint marks, uint k)
{
	if ((hit & 0xffffu) == NO_MATCH)
		return MISS;
	uint slot = RQL_U32(args.build_starts, partition_of(key)) + table * SLOTS + (hit & (WHOLE - 1u));
	if ((hit & WHOLE) != 0u)
		return slot + k;
	for (; k != 0u; k--)
		do {
			slot++;
		} while (build_key(slot) != key);
	return slot;
}

uint64_t build_value(uint column, uint64_t from, uint flags, uint slot)
{
	return slot == MISS ? missing_value(flags) : read_value(from, flags, slot);
}

// Number of matches << 16 | what nth_match finds them by. head: of the row's bucket in the table that begins there.
uint look_up(KEY key, uint begin, uint head, bool one)
{
	uint end = head >> 16u;
	uint hit = 0u;
	for (uint slot = head & 0xffffu; slot < end; slot++)
		if (build_key(begin + slot) == key) {
			hit = (hit == 0u ? slot : hit) + 0x10000u;
			if (one)
				break;
		}
	return hit >> 16u == end - (head & 0xffffu) ? hit | WHOLE : hit;
}

// What a row is in the output, of kinds beside INNER; `last`: all tables have been looked at.
uint hit_of_kind(uint kind, uint hit, bool last, bool matched)
{
	if (kind == JOIN_LEFT)
		return last && !matched ? 0x10000u | NO_MATCH : hit;
	if (kind >= JOIN_SEMI)
		return last && matched == (kind == JOIN_SEMI) ? 0x10000u | NO_MATCH : 0u;
	return hit;
}

void main()
{
	uint rows = RQL_U32(args.probe_rows, 0);
	uint64_t from = rql_group() * (ROWS * THREADS);
	if (from >= rows)
		return;
	uint t = rql_thread(), first = uint(from), kind = args.flags & RQL_JOIN_KIND;
	bool paired = (args.flags & RQL_JOIN_PROBE_PAIRED) != 0u;
	if (t == 0u)
		most_tables = 1u;
	read_columns((args.flags >> 8u & 255u) + (args.flags >> 16u & 255u));
	KEY key[ROWS];
	uint begin[ROWS], end[ROWS], head[ROWS], hit[ROWS], beside[ROWS];
	uint met = 0u; // bit r: the row had a match
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		uint row = first + r * THREADS + t;
		beside[r] = 0u;
		key[r] = read_key(args.probe_keys, min(row, rows - 1u), paired, beside[r]);
	}
	uint tables = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		begin[r] = RQL_U32(args.build_starts, partition_of(key[r]));
		end[r] = RQL_U32(args.build_starts, partition_of(key[r]) + 1u);
		tables = max(tables, (end[r] - begin[r] + SLOTS - 1u) / SLOTS);
	}
	if (tables > 1u)
		atomicMax(most_tables, tables);
	barrier();
	tables = most_tables;
	for (table = 0u; table < tables; table++) {
		bool last = table + 1u == tables;
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			uint at = table * SLOTS;
			head[r] = 0u;
			if (at < end[r] - begin[r])
				head[r] = RQL_U32(args.heads, head_at(partition_of(key[r]), begin[r], begin[r] + at, bucket_of(key[r])));
		}
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			hit[r] = look_up(key[r], begin[r] + table * SLOTS, head[r], kind >= JOIN_SEMI);
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			met |= hit[r] >= 0x10000u ? 1u << r : 0u;
			hit[r] = hit_of_kind(kind, hit[r], last, (met >> r & 1u) != 0u);
			hit[r] = first + r * THREADS + t < rows ? hit[r] : 0u;
		}
		write_rows(key, hit, beside, first);
	}
}
