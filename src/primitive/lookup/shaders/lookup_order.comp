#version 460
// Brings the probes of each tile into the order of the map's partitions that they meet. They stay in their tile:
// no counts of all probes are needed, and what is written lies together. lookup_back.comp needs each probe's place.
// Floor: reads and writes every key and end, and writes 2 bytes of each probe. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_order_args args; };
#define PAIRED 0
layout(constant_id = 6) const bool BY_RANGE = false;
#include "primitive/relation/shaders/partition_of.glsl"
layout(constant_id = 2) const uint PARTITIONS = 256u; // a power of two, at least the partitions
layout(constant_id = 3) const uint TILE = 4096u;  // ITEMS times the workgroup's size
layout(constant_id = 4) const bool ENDS = true;   // probes are ranges
#define ITEMS RQL_LOOKUP_TILE_ITEMS
layout(constant_id = 5) const uint PLACES = 4352u; // of a tile in order
shared uint stage[PLACES];
shared uint counters[PARTITIONS + 1u]; // rows of each, then where it begins; of rows that are not there, behind all

uint row_of(uint j)
{
	return j * THREADS + rql_thread();
}

// Partitions' counts to where they begin, and the tile's table.
void place_partitions(uint64_t runs)
{
	uint t = rql_thread();
	uint partitions = 1u << args.bits;
	uint each = (partitions + THREADS - 1u) / THREADS;
	uint sum = 0u;
	for (uint d = t * each; d < min(t * each + each, partitions); d++)
		sum += rql_pairs_of(counters[d]);
	uint total;
	uint before = rql_before(sum, total);
	for (uint d = t * each; d < min(t * each + each, partitions); d++) {
		uint own = counters[d];
		counters[d] = before * 2u;
		RQL_U32(runs, d) = own | before << 16u;
		before += rql_pairs_of(own);
	}
	if (t == 0u)
		counters[partitions] = total * 2u;
	barrier();
}

void to_stage(in uint words[ITEMS], in uint at[ITEMS])
{
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		stage[at[j]] = words[j];
	barrier();
}

// From the rows' order to the partitions'. Ends with a barrier.
void order(uint64_t out_at, in KEY words[ITEMS], in uint at[ITEMS], uint places)
{
#if KEY_BITS == 64
	uint halves[ITEMS], lows[ITEMS + 1u]; // a workgroup has as many threads as there are partitions, or more
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
	uint t = rql_thread(), partitions = 1u << args.bits, left = min(TILE, rows - uint(begin));
	uint64_t first = rql_group() * (PLACES * (KEY_BITS / 8));
	KEY keys[ITEMS], ends[ITEMS];
	uint at[ITEMS];
	for (uint d = t; d <= partitions; d += THREADS)
		counters[d] = 0u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		keys[j] = RQL_KEY(args.keys_in, begin + min(row_of(j), left - 1u));
	if (ENDS)
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			ends[j] = RQL_KEY(args.ends_in, begin + min(row_of(j), left - 1u));
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint partition_id = row_of(j) < left ? partition_of(keys[j]) : partitions;
		at[j] = partition_id << 16u | atomicAdd(counters[partition_id], 1u);
	}
	barrier();
	place_partitions(args.runs + (rql_group() << args.bits) * 4ul);
	uint places = counters[partitions];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		at[j] = counters[at[j] >> 16u] + (at[j] & 0xffffu);
	uint64_t ranks = args.ranks + rql_group() * (TILE * 2ul);
	[[unroll]] for (uint j = 0u; j < ITEMS; j += 2u)
		RQL_U32(ranks, row_of(j / 2u)) = at[j] | at[j + 1u] << 16u;
	order(args.keys_out + first, keys, at, places);
	if (ENDS)
		order(args.ends_out + first, ends, at, places);
}
