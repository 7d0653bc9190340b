#version 460
// The way back from partitions: a workgroup takes a tile's words, which lie in runs of its partitions, into shared memory
// and writes them in the order that the tile's rows had. partition_scatter.comp left what it needs (RQL_UNDO_WORDS).
// A subgroup reads neighbouring places of the tile, so that it goes through the partitions in order.
// Floor: reads every word and 2 bytes of each row, writes every word. WORD_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#define KEY_BITS 32
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_unpartition_args args; };
layout(constant_id = 2) const uint PARTITIONS = 256u; // a power of two, at least the partitions
layout(constant_id = 3) const uint STAGE = 4096u; // ITEMS times the workgroup's size
#define ITEMS RQL_PARTITION_ITEMS
#define TILE (ITEMS * THREADS)
shared uint stage[STAGE];
shared uint starts[PARTITIONS + 1u];
shared uint moves[PARTITIONS + 1u];

void read_partitions(uint64_t words)
{
	for (uint d = rql_thread(); d <= 1u << args.bits; d += THREADS) {
		starts[d] = RQL_U32(words, d * 2u);
		moves[d] = RQL_U32(words, d * 2u + 1u);
	}
	barrier();
}

// The last partition that begins at `place` or before.
uint partition_at(uint place)
{
	uint partition_id = 0u;
	for (uint step = 1u << args.bits >> 1u; step != 0u; step >>= 1u)
		partition_id += starts[partition_id + step] <= place ? step : 0u;
	return partition_id;
}

#if WORD_BITS == 64
#define WORD uint64_t
#define WORD_IN(place) RQL_U64(args.in_words, place)
#else
#define WORD uint
#define WORD_IN(place) RQL_U32(args.in_words, place)
#endif

// Of the tile's places first + j * lanes + lane.
void read_words(uint first, uint total, out WORD words[ITEMS])
{
	uint partition_id = partition_at(first);
	uint last = (1u << args.bits) - 1u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint place = first + j * gl_SubgroupSize;
		while (partition_id < last && starts[partition_id + 1u] <= place)
			partition_id++;
		words[j] = place < total ? WORD_IN(place + moves[partition_id]) : WORD(0);
	}
}

// A half of the words (half 0 of 32-bit ones is all) into the order of the tile's places.
void stage_words(uint first, uint half_, in WORD words[ITEMS])
{
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
#if WORD_BITS == 64
		stage[first + j * gl_SubgroupSize] = unpackUint2x32(words[j])[half_];
#else
		stage[first + j * gl_SubgroupSize] = words[j];
#endif
	barrier();
}

uint at_of(in uint pairs[ITEMS / 2u], uint j)
{
	return (j & 1u) == 0u ? pairs[j / 2u] & 0xffffu : pairs[j / 2u] >> 16u;
}

void main()
{
	uint rows = rql_rows(args.found, args.count);
	uint64_t begin = rql_group() * TILE;
	if (begin >= rows)
		return;
	uint base = uint(begin), t = rql_thread();
	uint64_t undo = args.undo + rql_group() * (RQL_UNDO_WORDS(args.bits, TILE) * 4ul);
	uint64_t ranks = undo + uint64_t((1u << args.bits) + 1u) * 8ul;
	uint pairs[ITEMS / 2u];
	[[unroll]] for (uint j = 0u; j < ITEMS / 2u; j++)
		pairs[j] = RQL_U32(ranks, j * THREADS + t);
	read_partitions(undo);
	uint total = starts[1u << args.bits];
	uint first = gl_SubgroupID * gl_SubgroupSize * ITEMS + gl_SubgroupInvocationID;
	WORD words[ITEMS];
	read_words(first, total, words);
	stage_words(first, 0u, words);
#if WORD_BITS == 64
	uint lows[ITEMS];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		lows[j] = stage[at_of(pairs, j)];
	barrier();
	stage_words(first, 1u, words);
#endif
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint row = base + j * THREADS + t, at = at_of(pairs, j);
		if (row < rows && row >= base && at < total) {
#if WORD_BITS == 64
			RQL_U64(args.out_words, row) = packUint2x32(uvec2(lows[j], stage[at]));
#else
			RQL_U32(args.out_words, row) = stage[at];
#endif
		}
	}
}
