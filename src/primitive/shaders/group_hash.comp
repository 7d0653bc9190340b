#version 460
// Group-by over 64-bit keys: a place per key by open addressing, claimed with a compare-and-swap, and the row added to
// its words. A row that finds no place within RQL_GROUP_PROBES sets `overflow`, which stops the others.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/group.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 4) volatile buffer rql_flag {
	uint v;
};
#define NO_KEY 0xfffffffffffffffful
#define PROBES 1024u // RQL_GROUP_PROBES

uint64_t hash_of(uint64_t key) // rql_group_hash
{
	key ^= key >> 32u;
	key *= 0xd6e8feb86659fd93ul;
	key ^= key >> 32u;
	key *= 0xd6e8feb86659fd93ul;
	return key ^ key >> 32u;
}

// NO_KEY: none.
uint64_t place_of(uint64_t key)
{
	uint64_t place = hash_of(key) & (args.places - 1ul);
	uint probes = uint(min(args.places, uint64_t(PROBES)));
	for (uint probe = 0u; probe < probes; probe++) {
		uint64_t there = RQL_U64(args.keys, place); // may be stale: then the exchange says what is there
		if (there == NO_KEY)
			there = atomicCompSwap(RQL_U64(args.keys, place), NO_KEY, key);
		if (there == NO_KEY || there == key)
			return place;
		place = (place + 1ul) & (args.places - 1ul);
	}
	return NO_KEY;
}

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	uint64_t step = uint64_t(args.groups) * RQL_THREADS;
	for (uint64_t row = group * RQL_THREADS + gl_LocalInvocationIndex; row < args.rows; row += step) {
		uint64_t key = RQL_U64(args.ids, row);
		if (key == NO_KEY)
			continue;
		uint64_t place = place_of(key);
		if (place == NO_KEY || rql_flag(args.overflow).v != 0u) {
			atomicOr(RQL_U32(args.overflow, 0), 1u);
			return;
		}
		add_row(row, place);
	}
}
