#version 460
// Answers of a tile's probes, which lie in order of partitions, to the order that the probes had: a workgroup takes
// them into shared memory. lookup_order.comp left each probe's place.
// Floor: reads every answer and 2 bytes of each probe, writes every answer. WORD_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#define KEY_BITS 32
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_back_args args; };
layout(constant_id = 2) const uint PLACES = 4352u; // of a tile in order
layout(constant_id = 3) const uint TILE = 4096u;   // ITEMS times the workgroup's size
#define ITEMS RQL_LOOKUP_TILE_ITEMS
#define WORDS (WORD_BITS / 32)
shared uint stage[PLACES];

// The words of the tile's places, the half of each that is asked for.
void read_places(uint64_t from, uint places, uint half_)
{
	uint t = rql_thread();
	uint words[ITEMS];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		words[j] = RQL_U32(from, min(j * THREADS + t, places - 1u) * WORDS + half_);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		stage[j * THREADS + t] = words[j];
	for (uint i = TILE + t; i < places; i += THREADS)
		stage[i] = RQL_U32(from, i * WORDS + half_);
	barrier();
}

void main()
{
	uint rows = rql_rows(args.found, args.count);
	uint64_t begin = rql_group() * TILE;
	if (begin >= rows)
		return;
	uint t = rql_thread(), left = min(TILE, rows - uint(begin));
	uint64_t ranks = args.ranks + rql_group() * (TILE * 2ul);
	uint64_t from = args.in_words + rql_group() * (PLACES * (WORDS * 4ul));
	uint last = RQL_U32(args.runs, (rql_group() + 1ul << args.bits) - 1ul);
	uint places = ((last >> 16u) + rql_pairs_of(last & 0xffffu)) * 2u;
	uint at[ITEMS];
	[[unroll]] for (uint j = 0u; j < ITEMS; j += 2u) {
		uint pair = RQL_U32(ranks, j / 2u * THREADS + t);
		at[j] = pair & 0xffffu;
		at[j + 1u] = pair >> 16u;
	}
	read_places(from, places, 0u);
#if WORD_BITS == 64
	uint lows[ITEMS];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		lows[j] = stage[min(at[j], places - 1u)];
	barrier();
	read_places(from, places, 1u);
#endif
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint row = j * THREADS + t;
		if (row >= left)
			continue;
#if WORD_BITS == 64
		RQL_U64(args.out_words, begin + row) = packUint2x32(uvec2(lows[j], stage[at[j]]));
#else
		RQL_U32(args.out_words, begin + row) = stage[at[j]];
#endif
	}
}
