#version 460
// The way back from partitions: a workgroup takes a tile's words, which lie in runs of its digits, into shared memory
// and writes them in the order that the tile's rows had. partition_scatter.comp left what it needs (RQL_UNDO_WORDS).
// A subgroup reads neighbouring places of the tile, so that it goes through the digits in order.
// Floor: reads every word and 2 bytes of each row, writes every word. WORD_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#define KEY_BITS 32
#include "primitive/relation_kernels.h"
#include "primitive/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_unpartition_args args; };
layout(constant_id = 2) const uint DIGITS = 256u; // a power of two, at least the partitions
layout(constant_id = 3) const uint STAGE = 4096u; // ITEMS times the workgroup's size
#define ITEMS 8u
#define TILE (ITEMS * THREADS)
#define HALVES (WORD_BITS / 32u)
shared uint stage[STAGE];
shared uint starts[DIGITS + 1u];
shared uint moves[DIGITS + 1u];

void read_digits(uint64_t words)
{
	for (uint d = rql_thread(); d <= 1u << args.bits; d += THREADS) {
		starts[d] = RQL_U32(words, d * 2u);
		moves[d] = RQL_U32(words, d * 2u + 1u);
	}
	barrier();
}

// The last digit that begins at `place` or before.
uint digit_at(uint place)
{
	uint digit = 0u;
	for (uint step = 1u << args.bits >> 1u; step != 0u; step >>= 1u)
		digit += starts[digit + step] <= place ? step : 0u;
	return digit;
}

// Of the tile's places first + j * lanes + lane.
void read_words(uint first, uint total, out uint words[HALVES][ITEMS])
{
	uint digit = digit_at(first);
	uint last = (1u << args.bits) - 1u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint place = first + j * gl_SubgroupSize;
		while (digit < last && starts[digit + 1u] <= place)
			digit++;
		[[unroll]] for (uint h = 0u; h < HALVES; h++)
			words[h][j] = 0u;
		if (place < total) {
#if WORD_BITS == 64
			uvec2 halves = unpackUint2x32(RQL_U64(args.in_words, place + moves[digit]));
			words[0][j] = halves.x;
			words[1][j] = halves.y;
#else
			words[0][j] = RQL_U32(args.in_words, place + moves[digit]);
#endif
		}
	}
}

// From places of the tile to rows.
void exchange(uint first, in uint at[ITEMS], inout uint words[ITEMS])
{
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		stage[first + j * gl_SubgroupSize] = words[j];
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		words[j] = stage[at[j]];
	barrier();
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
	uint at[ITEMS];
	[[unroll]] for (uint j = 0u; j < ITEMS; j += 2u) {
		uint pair = RQL_U32(ranks, j / 2u * THREADS + t);
		at[j] = pair & 0xffffu;
		at[j + 1u] = pair >> 16u;
	}
	read_digits(undo);
	uint total = starts[1u << args.bits];
	uint first = gl_SubgroupID * gl_SubgroupSize * ITEMS + gl_SubgroupInvocationID;
	uint words[HALVES][ITEMS];
	read_words(first, total, words);
	[[unroll]] for (uint h = 0u; h < HALVES; h++)
		exchange(first, at, words[h]);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint row = base + j * THREADS + t;
		if (row < rows && row >= base && at[j] < total) {
#if WORD_BITS == 64
			RQL_U64(args.out_words, row) = packUint2x32(uvec2(words[0][j], words[1][j]));
#else
			RQL_U32(args.out_words, row) = words[0][j];
#endif
		}
	}
}
