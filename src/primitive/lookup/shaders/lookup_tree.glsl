// Searching a B+ tree without pointers (lookup.h): a line of 64 bytes a level. KEY_BITS: 32 or 64. Needs key_words.glsl,
// and args with keys, rows, starts (its lines), last (its levels), count.
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer rql_tree_line {
	uvec4 words[4];
};
#define LINE 64ul
#define NODE_KEYS (512u / KEY_BITS)
#define KEY_AT(place) RQL_KEY(args.keys, place)
#define ROW_AT(place) RQL_U32(args.rows, place)

uint is_before(KEY there, KEY key, bool after)
{
	return there < key || after && there == key ? 1u : 0u;
}

// How many of a node's keys are before this one.
uint before_in(uint64_t line, KEY key, bool after)
{
	uint before = 0u;
	[[unroll]] for (uint i = 0u; i < 4u; i++) {
		uvec4 words = rql_tree_line(line).words[i];
#if KEY_BITS == 64
		before += is_before(packUint2x32(words.xy), key, after) + is_before(packUint2x32(words.zw), key, after);
#else
		before += is_before(words.x, key, after) + is_before(words.y, key, after) + is_before(words.z, key, after) +
		          is_before(words.w, key, after);
#endif
	}
	return before;
}

// The first place whose key is not below `key` (after: is above it), else how many there are. What fills up a node is not
// before any key; only behind the greatest one there is would it be, and there nothing is searched.
uint bound_of(KEY key, bool after)
{
	if (after && key == ~KEY(0) || args.count == 0u)
		return args.count;
	uint64_t node = 0ul;
	for (uint level = 0u; level < args.last; level++) {
		uint64_t line = uint64_t(RQL_U32(args.starts, level)) + node;
		node = node * (NODE_KEYS + 1u) + before_in(args.starts + line * LINE, key, after);
	}
	uint64_t place = node * NODE_KEYS + before_in(args.keys + node * LINE, key, after);
	return uint(min(place, uint64_t(args.count)));
}
