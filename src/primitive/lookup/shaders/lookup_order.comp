#version 460
// Brings the probes of each tile into the order of their digits, the part of a map that they meet. They stay in their tile:
// no counts of all probes are needed, and what is written lies together. lookup_back.comp needs each probe's place.
// Floor: reads and writes every key and end, and writes 2 bytes of each probe. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_order_args args; };
#define PAIRED 0
#include "primitive/relation/shaders/digits.glsl"
layout(constant_id = 2) const uint DIGITS = 256u; // a power of two, at least the digits
layout(constant_id = 3) const uint TILE = 4096u;  // ITEMS times the workgroup's size
layout(constant_id = 4) const bool ENDS = true;   // probes are ranges
#define ITEMS RQL_LOOKUP_TILE_ITEMS
layout(constant_id = 5) const uint PLACES = 4352u; // of a tile in order
shared uint stage[PLACES];
shared uint counters[DIGITS + 1u]; // rows of each digit, then where it begins; of rows that are not there, behind all

uint row_of(uint j)
{
	return j * THREADS + rql_thread();
}

// Digits' counts to where they begin, and the tile's table.
void place_digits(uint64_t runs)
{
	uint t = rql_thread();
	uint digits = 1u << args.bits;
	uint each = (digits + THREADS - 1u) / THREADS;
	uint sum = 0u;
	for (uint d = t * each; d < min(t * each + each, digits); d++)
		sum += rql_pairs_of(counters[d]);
	uint total;
	uint before = rql_before(sum, total);
	for (uint d = t * each; d < min(t * each + each, digits); d++) {
		uint own = counters[d];
		counters[d] = before * 2u;
		RQL_U32(runs, d) = own | before << 16u;
		before += rql_pairs_of(own);
	}
	if (t == 0u)
		counters[digits] = total * 2u;
	barrier();
}

void to_stage(in uint words[ITEMS], in uint at[ITEMS])
{
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		stage[at[j]] = words[j];
	barrier();
}

// From the rows' order to the digits'. Ends with a barrier.
void order(uint64_t out_at, in KEY words[ITEMS], in uint at[ITEMS], uint places)
{
#if KEY_BITS == 64
	uint halves[ITEMS], lows[ITEMS + 1u]; // a workgroup has as many threads as there are digits, or more
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		halves[j] = unpackUint2x32(words[j]).x;
	to_stage(halves, at);
	[[unroll]] for (uint j = 0u; j <= ITEMS; j++)
		lows[j] = stage[min(row_of(j), places - 1u)];
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		halves[j] = unpackUint2x32(words[j]).y;
	to_stage(halves, at);
	[[unroll]] for (uint j = 0u; j <= ITEMS; j++)
		if (row_of(j) < places)
			RQL_U64(out_at, row_of(j)) = packUint2x32(uvec2(lows[j], stage[row_of(j)]));
#else
	to_stage(words, at);
	for (uint i = rql_thread(); i < places; i += THREADS)
		RQL_U32(out_at, i) = stage[i];
#endif
	barrier();
}

void main()
{
	uint rows = rql_rows(args.found, args.count);
	uint64_t begin = rql_group() * TILE;
	if (begin >= rows)
		return;
	uint t = rql_thread(), digits = 1u << args.bits, left = min(TILE, rows - uint(begin));
	uint64_t first = rql_group() * (PLACES * (KEY_BITS / 8));
	KEY keys[ITEMS], ends[ITEMS];
	uint at[ITEMS];
	for (uint d = t; d <= digits; d += THREADS)
		counters[d] = 0u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		keys[j] = RQL_KEY(args.keys_in, begin + min(row_of(j), left - 1u));
	if (ENDS)
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			ends[j] = RQL_KEY(args.ends_in, begin + min(row_of(j), left - 1u));
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint digit = row_of(j) < left ? digit_of(keys[j]) : digits;
		at[j] = digit << 16u | atomicAdd(counters[digit], 1u);
	}
	barrier();
	place_digits(args.runs + (rql_group() << args.bits) * 4ul);
	uint places = counters[digits];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		at[j] = counters[at[j] >> 16u] + (at[j] & 0xffffu);
	uint64_t ranks = args.ranks + rql_group() * (TILE * 2ul);
	[[unroll]] for (uint j = 0u; j < ITEMS; j += 2u)
		RQL_U32(ranks, row_of(j / 2u)) = at[j] | at[j + 1u] << 16u;
	order(args.keys_out + first, keys, at, places);
	if (ENDS)
		order(args.ends_out + first, ends, at, places);
}
