#version 460
// Looks up a batch of points in a hashed or a direct map: one random read each but for collisions. A thread has two at a
// time, whose reads are under way together. Floor: lookup.h. KEY_BITS: 32 or 64. HASHED: 0 or 1.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_points_args args; };
#include "primitive/lookup/shaders/lookup_find.glsl"
#define ITEMS RQL_LOOKUP_POINT_ITEMS // with more, registers cost more threads than the reads side by side gain

layout(constant_id = 2) const uint TILE = 0u; // rows of a tile; 0: as they lie

// In tiles, two neighbours lie at an even place.
void load_keys(uint64_t first, uint count, out KEY keys[ITEMS])
{
	if (TILE == 0u) {
		[[unroll]] for (uint i = 0u; i < ITEMS; i++)
			keys[i] = RQL_KEY(args.points, first + min(i, count - 1u));
		return;
	}
#if KEY_BITS == 64
	uvec4 words = RQL_U128(args.points + first * 8ul);
	keys[0] = packUint2x32(words.xy);
	keys[1] = count > 1u ? packUint2x32(words.zw) : keys[0];
#else
	uvec2 words = unpackUint2x32(RQL_U64(args.points, first / 2ul));
	keys[0] = words.x;
	keys[1] = count > 1u ? words.y : words.x;
#endif
}

// In tiles, what follows the last one may be written.
void store(uint64_t to, uint64_t first, uint count, uint answers[ITEMS])
{
	if (TILE != 0u) {
		RQL_U64(to, first / 2ul) = packUint2x32(uvec2(answers[0], answers[1]));
		return;
	}
	[[unroll]] for (uint i = 0u; i < ITEMS; i++)
		if (i < count)
			RQL_U32(to, first + i) = answers[i];
}

void look_up(uint64_t first, uint count)
{
	KEY keys[ITEMS];
	uint slots[ITEMS], rows[ITEMS];
	SLOT_WORDS words[ITEMS];
	load_keys(first, count, keys);
	[[unroll]] for (uint i = 0u; i < ITEMS; i++) {
		slots[i] = start_of(keys[i]);
		words[i] = read_slots(slots[i]);
	}
	[[unroll]] for (uint i = 0u; i < ITEMS; i++)
		slots[i] = find_from(keys[i], slots[i], words[i], rows[i]);
	if (args.rows_out != 0ul)
		store(args.rows_out, first, count, rows);
	if (args.counts_out != 0ul) {
		[[unroll]] for (uint i = 0u; i < ITEMS; i++)
			slots[i] = rows[i] != RQL_LOOKUP_EMPTY ? RQL_U32(args.counts, slots[i]) : 0u;
		store(args.counts_out, first, count, slots);
	}
}
#include "primitive/lookup/shaders/lookup_tiles.glsl"

void main()
{
	look_up_all();
}
