#version 460
// Radix sort, last part of a digit's pass: each workgroup takes its tiles one after the other, ranks a tile's items by
// their digit, stably, and writes them out as runs of equal digits, which land side by side. A subgroup ranks its own
// items: lanes with equal digits find each other by ballots, one for each bit, and a counter for each digit and subgroup
// tells how many came before. Then prefix sums over digits and subgroups give the places in the tile.
// Floor: reads and writes every key and value once; with sort_count a digit moves 3 keys and 2 values.
// KEY_BITS: 32 or 64. VALUE_BITS: 0, 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_sort_args args; };
// Words of shared memory: a tile's keys, then its values, and before them the counters of all subgroups.
layout(constant_id = 2) const uint POOL = 8192u;
#define ITEMS 8u // gpu_sort.c says the same
#define TILE (ITEMS * THREADS)
#define DIGITS RQL_SORT_DIGITS
#if VALUE_BITS == 64
#define RQL_VALUE RQL_U64
#define VALUE uint64_t
#else
#define RQL_VALUE RQL_U32
#define VALUE uint
#endif
shared uint pool[POOL];
shared uint64_t bases[DIGITS]; // where the next item of a digit goes
shared uint64_t moves[DIGITS]; // from a place in the sorted tile to one in the output, modulo 2^64
shared uint starts[DIGITS];    // the digit's first place in the sorted tile

// A subgroup's items are neighbours, and so are a step's.
uint place_of(uint j)
{
	return (gl_SubgroupID * ITEMS + j) * gl_SubgroupSize + gl_SubgroupInvocationID;
}

uint digit_of(KEY key)
{
	return uint(key >> args.shift) & ((1u << args.bits) - 1u);
}

// The lanes whose digit is the same.
uvec4 peers_of(uint digit)
{
	uvec4 peers = subgroupBallot(true);
	if (gl_SubgroupSize <= 32u) { // one word: a quarter of the work
		uint own = peers.x;
		[[unroll]] for (uint b = 0u; b < 8u; b++) {
			uint votes = subgroupBallot((digit >> b & 1u) != 0u).x;
			own &= (digit >> b & 1u) != 0u ? votes : ~votes;
		}
		return uvec4(own, 0u, 0u, 0u);
	}
	[[unroll]] for (uint b = 0u; b < 8u; b++) {
		uvec4 votes = subgroupBallot((digit >> b & 1u) != 0u);
		peers &= (digit >> b & 1u) != 0u ? votes : ~votes;
	}
	return peers;
}

// at: how many items of the subgroup with the same digit come before.
void rank_items(in KEY keys[ITEMS], out uint at[ITEMS])
{
	for (uint i = rql_thread(); i < gl_NumSubgroups * DIGITS; i += THREADS)
		pool[i] = 0u;
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint digit = digit_of(keys[j]);
		uvec4 peers = peers_of(digit);
		uint counter = gl_SubgroupID * DIGITS + digit;
		uint before = pool[counter];
		at[j] = before + subgroupBallotExclusiveBitCount(peers);
		subgroupBarrier();
		if (subgroupBallotFindLSB(peers) == gl_SubgroupInvocationID)
			pool[counter] = before + subgroupBallotBitCount(peers);
		subgroupBarrier();
	}
	barrier();
}

// A thread has `each` neighbouring digits. Counters become the subgroups' first places within a digit.
void place_digits()
{
	uint each = (DIGITS + THREADS - 1u) / THREADS;
	uint first = min(rql_thread() * each, DIGITS);
	uint end = min(first + each, DIGITS);
	uint sum = 0u;
	for (uint d = first; d < end; d++) {
		uint items = 0u;
		[[unroll]] for (uint s = 0u; s < SUBGROUPS; s++) {
			uint own = s < gl_NumSubgroups ? pool[s * DIGITS + d] : 0u;
			if (s < gl_NumSubgroups)
				pool[s * DIGITS + d] = items;
			items += own;
		}
		starts[d] = items;
		sum += items;
	}
	uint total;
	uint before = rql_before(sum, total);
	for (uint d = first; d < end; d++) {
		uint items = starts[d];
		starts[d] = before;
		moves[d] = bases[d] - uint64_t(before);
		bases[d] += uint64_t(items);
		before += items;
	}
	barrier();
}

// Items beyond the end have the greatest digit and come last in the tile, so they stay behind all real ones.
void load_items(uint64_t base, uint valid, out KEY keys[ITEMS], out VALUE values[ITEMS])
{
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint i = place_of(j);
		keys[j] = i < valid ? RQL_KEY(args.keys_in, base + i) : ~KEY(0);
	}
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint i = place_of(j);
		values[j] = VALUE(0);
#if VALUE_BITS
		values[j] = VALUE(base + i);
		if (args.values_in != 0ul)
			values[j] = i < valid ? RQL_VALUE(args.values_in, base + i) : VALUE(0);
#endif
	}
}

// A tile's items through shared memory, in the order of their places; of 64 bits the halves lie apart.
#define STAGE_32(items) [[unroll]] for (uint j = 0u; j < ITEMS; j++) pool[at[j]] = items[j];
#define STAGED_32(i) pool[i]
#define STAGE_64(items)                                                                                                \
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {                                                                     \
		uvec2 halves = unpackUint2x32(items[j]);                                                                       \
		pool[at[j]] = halves.x;                                                                                        \
		pool[TILE + at[j]] = halves.y;                                                                                 \
	}
#define STAGED_64(i) packUint2x32(uvec2(pool[i], pool[TILE + (i)]))
#if KEY_BITS == 64
#define STAGE_KEYS STAGE_64
#define STAGED_KEY STAGED_64
#else
#define STAGE_KEYS STAGE_32
#define STAGED_KEY STAGED_32
#endif
#if VALUE_BITS == 64
#define STAGE_VALUES STAGE_64
#define STAGED_VALUE STAGED_64
#else
#define STAGE_VALUES STAGE_32
#define STAGED_VALUE STAGED_32
#endif

void sort_tile(uint64_t base, uint valid)
{
	KEY keys[ITEMS];
	VALUE values[ITEMS];
	uint at[ITEMS];
	load_items(base, valid, keys, values);
	rank_items(keys, at);
	place_digits();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint digit = digit_of(keys[j]);
		at[j] += starts[digit] + pool[gl_SubgroupID * DIGITS + digit];
	}
	barrier();
	STAGE_KEYS(keys)
	barrier();
	uint digits[ITEMS / 4u];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint i = place_of(j);
		KEY key = STAGED_KEY(i);
		uint digit = digit_of(key);
		digits[j / 4u] = (j % 4u == 0u ? 0u : digits[j / 4u]) | digit << j % 4u * 8u;
		if (i < valid)
			RQL_KEY(args.keys_out, moves[digit] + i << args.stride) = key;
	}
	barrier();
#if VALUE_BITS
	STAGE_VALUES(values)
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint i = place_of(j);
		if (i < valid)
			RQL_VALUE(args.values_out, moves[digits[j / 4u] >> j % 4u * 8u & 255u] + i << args.stride) = STAGED_VALUE(i);
	}
	barrier();
#endif
}

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	for (uint d = rql_thread(); d < DIGITS; d += THREADS) {
		uint64_t at = d * args.groups + group;
		bases[d] = d >> args.bits != 0u   ? 0ul
		           : args.wide != 0u      ? RQL_U64(args.histogram, at)
		                                  : uint64_t(RQL_U32(args.histogram, at));
	}
	barrier();
	uint64_t first = group * args.group_items;
	uint64_t end = min(first + args.group_items, args.count);
	for (uint64_t base = first; base < end; base += TILE)
		sort_tile(base, uint(min(end - base, uint64_t(TILE))));
}
