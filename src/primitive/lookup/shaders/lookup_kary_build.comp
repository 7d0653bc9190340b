#version 460
// Sorted keys and their rows in the order of a search tree (lookup.h, KARY): a thread fills a place. Floor: reads and
// writes every key and row. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/key_words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_lookup_kary_args args; };
#define NODE_KEYS uint64_t(args.node_keys)

// Which key in ascending order stands at a place. All levels but the lowest are full. Between their keys, in order, and
// around them are gaps, in each of which a node of the lowest level lies, while there are some.
uint64_t rank_of(uint64_t place)
{
	uint64_t node = place / NODE_KEYS, in_node = place % NODE_KEYS, first = 0ul, nodes = 1ul;
	while (node >= first + nodes) {
		first += nodes;
		nodes *= NODE_KEYS + 1ul;
	}
	if (first == args.upper)
		return (node - first) * (NODE_KEYS + 1ul) + in_node;
	uint64_t before = ((node - first) * (NODE_KEYS + 1ul) + in_node + 1ul) * (args.lowest / nodes / (NODE_KEYS + 1ul));
	return before - 1ul + min(before * NODE_KEYS, uint64_t(args.count) - args.upper * NODE_KEYS);
}

void main()
{
	uint64_t place = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (place >= args.places)
		return;
	bool is = place < uint64_t(args.count);
	uint64_t rank = is ? rank_of(place) : 0ul;
	RQL_KEY(args.keys_out, place) = is ? RQL_KEY(args.keys, rank) : ~KEY(0);
	if (is)
		RQL_U32(args.rows_out, place) = RQL_U32(args.rows, rank);
}
