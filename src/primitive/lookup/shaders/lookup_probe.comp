#version 460
// Looks up a batch of points or ranges in sorted keys, a thread each: the directory's entry, then a binary search in
// it. An entry inside of a directory of shift 0 holds one key, so nothing is searched there. Or a B+ tree's nodes.
// Floor: lookup.h. KEY_BITS: 32 or 64. TREE: 0 or 1.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/shaders/relation.glsl"
#include "primitive/lookup/shaders/lookup.glsl"
#define NO_ROW 0xffffffffu

// Places [first, end) of a point's key. Where nothing but a row is asked for, end is first or first + 1.
uint point_of(KEY key, out uint end)
{
#if TREE
	uint first = bound_of(key, false);
	end = first < args.count && KEY_AT(first) == key ? first + 1u : first;
	if (end > first && (args.counts_out != 0ul || args.sums_out != 0ul))
		end = bound_of(key, true);
	return first;
#else
	uint entry = entry_of(key);
	uint first = RQL_U32(args.starts, entry);
	end = RQL_U32(args.starts, entry + 1u);
	if (holds_one_key(entry))
		return first;
	first = search(first, end, key, false);
	if (args.counts_out == 0ul && args.sums_out == 0ul)
		end = first < end && KEY_AT(first) == key ? first + 1u : first;
	else
		end = search(first, end, key, true);
	return first;
#endif
}

void look_up(uint64_t probe, uint count)
{
	KEY low = RQL_KEY(args.lows, probe);
	uint first, end;
	if (args.highs == 0ul) {
		first = point_of(low, end);
	} else {
		KEY high = RQL_KEY(args.highs, probe);
		first = bound_of(low, false);
		if (args.counts_out == 0ul && args.sums_out == 0ul)
			end = first < args.count && KEY_AT(first) <= high ? first + 1u : first;
		else
			end = high < low ? first : bound_of(high, true);
	}
	if (args.rows_out != 0ul)
		RQL_U32(args.rows_out, probe) = first < end ? ROW_AT(first) : NO_ROW;
	if (args.counts_out != 0ul)
		RQL_U32(args.counts_out, probe) = end - first;
	if (args.sums_out != 0ul)
		RQL_U64(args.sums_out, probe) =
			first < end ? RQL_U64(args.sums, end) - RQL_U64(args.sums, first) : 0ul;
}
#define ITEMS 1u
layout(constant_id = 2) const uint TILE = 0u; // rows of a tile; 0: as they lie
#include "primitive/lookup/shaders/lookup_tiles.glsl"

void main()
{
	look_up_all();
}
