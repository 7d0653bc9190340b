#version 460
// Looks up a batch of points or ranges in sorted keys, a thread each: the directory's entry, then a binary search in
// it. An entry inside of a directory of shift 0 holds one key, so nothing is searched there.
// Floor: lookup.h.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/shaders/lookup.glsl"
#define NO_ROW 0xffffffffu
#define BESIDE 4u

bool holds_one_key(uint entry)
{
	return args.shift == 0u && entry != 0u && entry != args.last;
}

bool is_before(KEY there, KEY key, bool after)
{
	return there < key || after && there == key;
}

// The first place in [low, high) whose key is not below `key` (after: is above it), else high. A chosen directory's entries
// have a key or two. A search in them would be as many reads as its longest one of a subgroup, one after the other: so
// the last few keys are read side by side, and those before are counted.
uint search(uint low, uint high, KEY key, bool after)
{
	while (high - low > BESIDE) {
		uint middle = low + (high - low) / 2u;
		if (is_before(KEY_AT(middle), key, after))
			low = middle + 1u;
		else
			high = middle;
	}
	if (low == high)
		return low;
	KEY there[BESIDE];
	[[unroll]] for (uint k = 0u; k < BESIDE; k++)
		there[k] = KEY_AT(min(low + k, high - 1u));
	uint before = 0u;
	[[unroll]] for (uint k = 0u; k < BESIDE; k++)
		before += low + k < high && is_before(there[k], key, after) ? 1u : 0u;
	return low + before;
}

// The same in all keys.
uint bound_of(KEY key, bool after)
{
	uint entry = entry_of(key);
	uint low = RQL_U32(args.starts, entry), high = RQL_U32(args.starts, entry + 1u);
	if (holds_one_key(entry))
		return after ? high : low;
	return search(low, high, key, after);
}

// Places [first, end) of a point's key. Where nothing but a row is asked for, end is first or first + 1.
uint point_of(KEY key, out uint end)
{
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
}

void main()
{
	uint64_t probe = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	uint64_t probes = args.found != 0ul ? min(args.probes, RQL_U64(args.found, 0)) : args.probes;
	if (probe >= probes)
		return;
	KEY low = RQL_KEY(args.lows, probe);
	uint first, end;
	if (args.highs == 0ul) {
		first = point_of(low, end);
	} else {
		KEY high = RQL_KEY(args.highs, probe);
		first = bound_of(low, false);
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
