#version 460
// Looks up a batch of points in a map whose keys lie as a search tree (lookup.h, KARY), a thread each: a node is read
// by loads of 16 bytes that lie together, so that lanes need no words of each other. Floor: lookup.h. KEY_BITS: 32 or
// 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_args args; };
layout(constant_id = 3) const uint NODE_BYTES = 32u;
#define NODE_KEYS (NODE_BYTES * 8u / KEY_BITS)
#define NO_ROW 0xffffffffu

// How many of a node's keys are below this one; adds those that are equal to it.
uint below_in(uint64_t node, KEY key, inout uint equal_keys)
{
	uint below = 0u;
	[[unroll]] for (uint i = 0u; i < NODE_BYTES / 16u; i++) {
		uvec4 words = RQL_U128(args.keys + node * NODE_BYTES + i * 16u);
#if KEY_BITS == 64
		KEY first = packUint2x32(words.xy), second = packUint2x32(words.zw);
		below += (first < key ? 1u : 0u) + (second < key ? 1u : 0u);
		equal_keys += (first == key ? 1u : 0u) + (second == key ? 1u : 0u);
#else
		uvec4 less = uvec4(lessThan(words, uvec4(key)));
		below += less.x + less.y + less.z + less.w;
		equal_keys += any(equal(words, uvec4(key))) ? 1u : 0u;
#endif
	}
	return below;
}

// Of equal keys the one that is met last is the first in their order: those below it are on the left. What fills up the
// last node stands behind all keys.
void look_up(uint64_t probe, uint count)
{
	KEY key = RQL_KEY(args.lows, probe);
	uint64_t node = 0ul, found = uint64_t(args.count);
	while (node * NODE_KEYS < uint64_t(args.count)) {
		uint equal_keys = 0u;
		uint below = below_in(node, key, equal_keys);
		uint64_t place = node * NODE_KEYS + below;
		if (equal_keys != 0u && place < uint64_t(args.count))
			found = place;
		node = node * (NODE_KEYS + 1u) + below + 1u;
	}
	RQL_U32(args.rows_out, probe) = found < uint64_t(args.count) ? RQL_U32(args.rows, found) : NO_ROW;
}
#define ITEMS 1u
layout(constant_id = 2) const uint TILE = 0u; // rows of a tile; 0: as they lie
#include "primitive/lookup/shaders/lookup_tiles.glsl"

void main()
{
	look_up_all();
}
