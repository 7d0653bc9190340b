#version 460
// Group-by of partitions of few rows, of which many are of a group of their own: a table would mostly be filled. A workgroup
// puts a partition's rows in order of buckets in shared memory, by counting, and lists the first rows of keys. Each thread
// goes through the buckets of some of these, and what it adds up goes from registers to the output: neighbouring threads
// write neighbouring groups. Partitions of more rows are left to group_by.comp.
// Floor: reads every key and value once, writes each group once.
// KEY_BITS, VALUE_BITS, REALS: as group_by.comp has them.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
#include "primitive/shaders/ordered.glsl"
layout(push_constant, scalar) uniform rql_push { rql_group_by_args args; };
#include "primitive/relation/shaders/special.glsl"
#include "primitive/relation/shaders/group_by_table.glsl"
#include "primitive/relation/shaders/group_by_values.glsl"
#define ROWS RQL_GROUP_SMALL_ROWS
#define NO_GROUP 0xffffffffu
layout(constant_id = 2) const uint BUCKETS = 1024u; // a power of two, at most twice MOST, an even number for each thread
layout(constant_id = 3) const uint MOST = 1280u;    // rows: ROWS times the threads
shared KEY keys[MOST]; // in order of buckets
shared VALUE values[MOST];
// Two to a word: rows of buckets, then where they begin. After that, of each group: its first row | its bucket's end << 16.
shared uint starts[MOST];
shared uint found_groups;
shared uint64_t base;

uint bucket_of(KEY key)
{
	return rql_bucket_hash(key) >> 32u - uint(findMSB(BUCKETS));
}

uint start_of(uint bucket)
{
	return starts[bucket >> 1u] >> (bucket & 1u) * 16u & 0xffffu;
}

void clear_starts()
{
	for (uint w = rql_thread(); w < BUCKETS / 2u; w += THREADS)
		starts[w] = 0u;
	if (rql_thread() == 0u)
		found_groups = 0u;
	barrier();
}

// Buckets' rows to where they begin. Ends with a barrier.
void place_buckets()
{
	const uint each = BUCKETS / 2u / THREADS;
	uint first = rql_thread() * each, sum = 0u, total;
	for (uint w = first; w < first + each; w++)
		sum += (starts[w] & 0xffffu) + (starts[w] >> 16u);
	uint before = rql_before(sum, total);
	for (uint w = first; w < first + each; w++) {
		uint rows = starts[w], second = before + (rows & 0xffffu);
		starts[w] = before | second << 16u;
		before = second + (rows >> 16u);
	}
	barrier();
}

// A thread's rows r * THREADS + rql_thread() to their places in order of buckets: keys, and the places of all.
void order_keys(uint rows, in KEY key[ROWS], out uint place[ROWS])
{
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (r * THREADS + rql_thread() < rows) {
			uint bucket = bucket_of(key[r]), by = (bucket & 1u) * 16u;
			place[r] = bucket << 16u | (atomicAdd(starts[bucket >> 1u], 1u << by) >> by & 0xffffu);
		}
	barrier();
	place_buckets();
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (r * THREADS + rql_thread() < rows) {
			place[r] = start_of(place[r] >> 16u) + (place[r] & 0xffffu);
			keys[place[r]] = key[r];
		}
}

uint end_of(uint bucket, uint rows)
{
	return bucket + 1u < BUCKETS ? start_of(bucket + 1u) : rows;
}

// What the list has of the group whose first row is there, if one is.
uint group_at(uint at, uint rows)
{
	KEY own = keys[at];
	uint bucket = bucket_of(own), i = start_of(bucket);
	while (i < at && keys[i] != own)
		i++;
	return i == at ? at | end_of(bucket, rows) << 16u : NO_GROUP;
}

// The groups to the list, in which threads take their places as they come, and their number. Ends with a barrier.
uint list_groups(uint rows)
{
	uint found[ROWS], own = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		found[r] = NO_GROUP;
		if (r * THREADS + rql_thread() < rows)
			found[r] = group_at(r * THREADS + rql_thread(), rows);
		own += found[r] != NO_GROUP ? 1u : 0u;
	}
	uint at = atomicAdd(found_groups, own);
	barrier();
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (found[r] != NO_GROUP)
			starts[at++] = found[r];
	uint total = found_groups;
	if (rql_thread() == 0u)
		base = atomicAdd(RQL_U64(args.control, 0), uint64_t(total));
	barrier();
	return total;
}

void add_value(inout group_words g, VALUE value, uint flags)
{
	g.count++;
#ifdef REALS
	if (is_real_sum(flags)) {
		g.low = value != 0ul ? sum_of_reals(g.low, ~value) : g.low;
		return;
	}
#endif
	VALUE from_zero = moved(value, flags);
	if ((flags & RQL_GROUP_SUM) != 0u) {
		g.low += uint64_t(from_zero);
#if VALUE_BITS == 64
		g.high += g.low < from_zero ? 1ul : 0ul;
#endif
	}
	if ((flags & RQL_GROUP_MIN) != 0u)
		g.least = min(g.least, key_of_least(value, flags));
	if ((flags & RQL_GROUP_MAX) != 0u)
		g.greatest = max(g.greatest, from_zero);
}

group_words group_of(uint first, uint end, uint flags)
{
	KEY own = keys[first];
	group_words g = group_words(0u, 0ul, 0ul, ~VALUE(0), VALUE(0));
	for (uint i = first; i < end; i++)
		if (keys[i] == own)
			add_value(g, values[i], flags);
	if ((flags & RQL_GROUP_SIGNED) != 0u && !is_real_sum(flags))
		move_back(g);
	return g;
}

void put_groups(uint total, column_words column)
{
	for (uint i = rql_thread(); i < total && base + i < args.capacity; i += THREADS) {
		uint first = starts[i] & 0xffffu, end = starts[i] >> 16u;
		if (column.index == 0u)
			RQL_KEY(args.keys_out, base + i) = keys[first];
		write_group(base + i, column, group_of(first, end, column.flags));
	}
}

void load_rows(uint first, uint rows, column_words column, out KEY key[ROWS], out VALUE value[ROWS])
{
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		load_row(first + min(r * THREADS + rql_thread(), rows - 1u), column, key[r], value[r]);
}

void place_values(uint rows, in uint place[ROWS], in VALUE value[ROWS])
{
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (r * THREADS + rql_thread() < rows)
			values[place[r]] = value[r];
	barrier();
}

void main()
{
	uint64_t partition_id = rql_group();
	if (partition_id >= args.partitions)
		return;
	uint first = RQL_U32(args.starts, uint(partition_id)), rows = RQL_U32(args.starts, uint(partition_id) + 1u) - first;
	if (rows > MOST && rql_thread() == 0u)
		RQL_U32(args.large, uint(atomicAdd(RQL_U64(args.work, 0), 1ul)) - cut_pieces()) = uint(partition_id);
	if (rows == 0u || rows > MOST)
		return;
	KEY key[ROWS];
	VALUE value[ROWS];
	uint place[ROWS];
	column_words column = column_at(0u);
	load_rows(first, rows, column, key, value);
	clear_starts();
	order_keys(rows, key, place);
	place_values(rows, place, value);
	uint total = list_groups(rows);
	put_groups(total, column);
	for (uint c = 1u; c < args.column_count; c++) {
		column = column_at(c);
		load_rows(first, rows, column, key, value);
		barrier();
		place_values(rows, place, value);
		put_groups(total, column);
	}
}
