#version 460
// Looks up a batch of points or ranges and sets the bit of every row that is found. A workgroup looks up a tile of probes,
// a thread each, adds up how many rows they have, and then its threads take these rows side by side, whosever they are: a
// range over all rows is as many threads' work as many points. Where few tiles have many rows, several workgroups share
// one (slices): each looks the tile up, which is little, and takes its part of the rows.
// Floor: reads a probe, what its search reads (lookup.h) and each row's number, and writes a bit in random places.
// KEY_BITS: 32 or 64. FORM: 0 sorted, 1 hashed, 2 direct, 3 a B+ tree. LISTED: each workgroup has a map and at most a tile
// of probes, and writes the rows' numbers side by side, and how many they are.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
#ifdef LISTED
layout(push_constant, scalar) uniform rql_push { rql_lookup_lists_args lists; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Map { rql_lookup_bits_args v; };
rql_lookup_bits_args args;
#else
layout(push_constant, scalar) uniform rql_push { rql_lookup_bits_args args; };
#endif
#define SORTED 0
#define HASHED_FORM 1
#define DIRECT 2
#if FORM == SORTED
#include "primitive/lookup/shaders/lookup_search.glsl"
#elif FORM == HASHED_FORM
#define HASHED 1
#include "primitive/lookup/shaders/lookup_find.glsl"
#elif FORM != DIRECT
#include "primitive/lookup/shaders/lookup_tree.glsl"
#endif
#define PROBES 256u // of a tile: the workgroup's size, at most
shared uint firsts[PROBES];
shared uint64_t ends[PROBES]; // rows of the tile's probes up to this one

#if FORM == HASHED_FORM
// Rows of a list: of several keys those that stand one behind the other.
uvec2 listed(uint list)
{
	return args.starts != 0ul ? uvec2(RQL_U32(args.starts, list), RQL_U32(args.starts, list + 1u)) : uvec2(list, list + 1u);
}

// Which rows a probe has: [x, y).
uvec2 rows_of(KEY low, KEY high)
{
	uint slot = start_of(low), list;
	find_from(low, slot, read_slots(slot), list);
	return list != RQL_LOOKUP_EMPTY && low <= high ? listed(list) : uvec2(0u);
}
#elif FORM == DIRECT
uvec2 rows_of(KEY low, KEY high)
{
	uint64_t first = max(uint64_t(low), args.base), last = min(uint64_t(high), args.high);
	if (first > last)
		return uvec2(0u);
	first -= args.base;
	last -= args.base;
	return args.starts != 0ul ? uvec2(RQL_U32(args.starts, first), RQL_U32(args.starts, last + 1ul))
	                          : uvec2(uint(first), uint(last) + 1u);
}
#else
uvec2 rows_of(KEY low, KEY high)
{
	uint first = bound_of(low, false);
	return uvec2(first, high < low ? first : bound_of(high, true));
}
#endif

void look_up(uint64_t probe)
{
	uvec2 rows = uvec2(0u);
	if (probe < args.probes) {
		KEY low = RQL_KEY(args.lows, probe);
		rows = rows_of(low, args.highs != 0ul ? RQL_KEY(args.highs, probe) : low);
	}
	firsts[rql_thread()] = rows.x;
	ends[rql_thread()] = uint64_t(rows.y - rows.x);
	barrier();
	for (uint step = 1u; step < THREADS; step *= 2u) {
		uint64_t before = rql_thread() >= step ? ends[rql_thread() - step] : 0ul;
		barrier();
		ends[rql_thread()] += before;
		barrier();
	}
}

// Whose the tile's row is: the first probe that ends behind it.
uint owner_of(uint64_t at)
{
	uint low = 0u, high = THREADS - 1u;
	while (low < high) {
		uint middle = (low + high) / 2u;
		if (ends[middle] <= at)
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

uint row_at(uint64_t at)
{
	uint probe = owner_of(at);
	uint64_t begin = probe == 0u ? 0ul : ends[probe - 1u];
	return RQL_U32(args.rows, uint64_t(firsts[probe]) + (at - begin) << args.stride);
}

#ifdef LISTED
void main()
{
	if (rql_group() >= lists.map_count)
		return;
	args = Map(lists.maps)[uint(rql_group())].v;
	look_up(rql_thread());
	uint64_t rows = ends[THREADS - 1u];
	if (rql_thread() == 0u)
		RQL_U32(lists.counts, args.slices) = uint(rows);
	for (uint64_t at = rql_thread(); at < min(rows, uint64_t(lists.room)); at += THREADS)
		RQL_U32(args.bits_out, at) = args.first_row + row_at(at);
}
#else
void main()
{
	uint64_t tile = rql_group() / args.slices;
	uint slice = uint(rql_group() % args.slices);
	if (tile * THREADS >= args.probes)
		return;
	look_up(tile * THREADS + rql_thread());
	uint64_t rows = ends[THREADS - 1u];
	for (uint64_t at = uint64_t(slice) * THREADS + rql_thread(); at < rows; at += uint64_t(args.slices) * THREADS) {
		uint row = row_at(at);
		atomicOr(RQL_U32(args.bits_out, row / 32u), 1u << row % 32u);
	}
}
#endif
