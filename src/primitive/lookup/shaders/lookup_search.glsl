// Searching sorted keys behind a directory. KEY_BITS: 32 or 64. INTERPOLATE: 1: not by halves. Needs key_words.glsl,
// and args with keys, rows, starts, base, shift, last, stride.
#include "primitive/lookup/shaders/lookup_entry.glsl"
#define BESIDE 4u

// A key, and its row, by its place.
#define KEY_AT(place) RQL_KEY(args.keys, uint64_t(place) << args.stride)
#define ROW_AT(place) RQL_U32(args.rows, uint64_t(place) << args.stride)

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
uint bisect(uint low, uint high, KEY key, bool after)
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

#if INTERPOLATE
#include "primitive/lookup/shaders/lookup_interpolate.glsl"
#else
#define search bisect
#endif

// The same in all keys.
uint bound_of(KEY key, bool after)
{
	uint entry = entry_of(key);
	uint low = RQL_U32(args.starts, entry), high = RQL_U32(args.starts, entry + 1u);
	if (holds_one_key(entry))
		return after ? high : low;
	return search(low, high, key, after);
}
