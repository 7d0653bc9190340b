#version 460
// Builds partitions of a hashed map in shared memory: a workgroup goes over one's rows, claims a slot for each new key,
// keeps its least row, counts its rows, and writes all slots side by side. Of partitions with very many rows, which have few
// keys, workgroups take pieces and merge their tables in device memory (args.merge).
// Floor: reads every key and row once, writes every slot once. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_table_args args; };
#include "primitive/lookup/shaders/lookup_hash.glsl"
layout(constant_id = 2) const uint SLOTS = 2048u; // at least part_slots
layout(constant_id = 3) const uint COUNTED = 2049u; // SLOTS + 1, or 1 where rows are not counted
shared KEY keys[SLOTS + 1u]; // the last one: of the key that marks slots without one
shared uint rows[SLOTS + 1u];
shared uint counts[COUNTED];

void clear()
{
	for (uint i = rql_thread(); i <= SLOTS; i += THREADS) {
		keys[i] = EMPTY_KEY;
		rows[i] = RQL_LOOKUP_EMPTY;
		if (COUNTED > SLOTS)
			counts[i] = 0u;
	}
	barrier();
}

void fail(uint row_count)
{
	atomicAdd(RQL_U64(args.failed, 0), uint64_t(row_count));
}

// The key's slot, claimed if it has none yet; SLOTS + 1: the partition is full.
uint claim(KEY key)
{
	if (key == EMPTY_KEY)
		return SLOTS;
	uint place = first_slot(rql_hash(key, false));
	for (uint probe = 0u; probe < args.part_slots; probe++) {
		KEY there = keys[place];
		if (there == EMPTY_KEY)
			there = atomicCompSwap(keys[place], EMPTY_KEY, key);
		if (there == EMPTY_KEY || there == key)
			return place;
		place = place + 1u == args.part_slots ? 0u : place + 1u;
	}
	return SLOTS + 1u;
}

void take_rows(uint first, uint end)
{
	for (uint at = first + rql_thread(); at < end; at += THREADS) {
		uint row = args.rows != 0ul ? RQL_U32(args.rows, uint64_t(at) << args.stride) : at;
		uint place = claim(RQL_KEY(args.keys, uint64_t(at) << args.stride));
		if (place > SLOTS) {
			fail(1u);
			continue;
		}
		if (row < rows[place])
			atomicMin(rows[place], row);
		if (COUNTED > SLOTS)
			atomicAdd(counts[place], 1u);
	}
	barrier();
}

void write_slot(uint slot, uint place)
{
	SLOT(slot) = SLOT_OF(keys[place], rows[place]);
	if (COUNTED > SLOTS)
		RQL_U32(args.counts, slot) = counts[place];
}

// Only one partition has the marking key, and the slot of its own was cleared.
void write_partition(uint partition_id)
{
	for (uint i = rql_thread(); i < args.part_slots; i += THREADS)
		write_slot(partition_id * args.part_slots + i, i);
	if (rql_thread() == 0u && rows[SLOTS] != RQL_LOOKUP_EMPTY)
		write_slot(slots_of_partitions(), SLOTS);
}

// Adds what a workgroup found of a key to its slot in device memory.
void merge_into(uint slot, uint place)
{
#if KEY_BITS == 64
	atomicMin(RQL_U32(args.slots + uint64_t(slot) * SLOT_BYTES, 2u), rows[place]);
#else
	atomicMin(RQL_U64(args.slots, slot), uint64_t(rows[place]) << 32u | keys[place]);
#endif
	if (COUNTED > SLOTS)
		atomicAdd(RQL_U32(args.counts, slot), counts[place]);
}

// True: the slot in device memory is the key's. Unclaimed ones have the marking key and no row.
bool claim_slot(uint slot, KEY key, uint row)
{
#if KEY_BITS == 64
	uint64_t at = args.slots + uint64_t(slot) * SLOT_BYTES;
	uint64_t there = atomicCompSwap(RQL_U64(at, 0), EMPTY_KEY, key);
	return there == EMPTY_KEY || there == key;
#else
	uint64_t there = atomicCompSwap(RQL_U64(args.slots, slot), ~0ul, uint64_t(row) << 32u | key);
	return there == ~0ul || uint(there) == key;
#endif
}

void merge_place(uint partition_id, uint place)
{
	KEY key = keys[place];
	uint own = first_slot(rql_hash(key, false));
	for (uint probe = 0u; probe < args.part_slots; probe++) {
		uint slot = partition_id * args.part_slots + own;
		if (claim_slot(slot, key, rows[place])) {
			merge_into(slot, place);
			return;
		}
		own = own + 1u == args.part_slots ? 0u : own + 1u;
	}
	fail(1u);
}

void merge_partition(uint partition_id)
{
	for (uint i = rql_thread(); i < args.part_slots; i += THREADS)
		if (rows[i] != RQL_LOOKUP_EMPTY)
			merge_place(partition_id, i);
	if (rql_thread() == 0u && rows[SLOTS] != RQL_LOOKUP_EMPTY)
		merge_into(slots_of_partitions(), SLOTS);
}

uvec2 rows_of(uint partition_id)
{
	if (args.starts == 0ul)
		return uvec2(0u, args.count);
	return uvec2(RQL_U32(args.starts, partition_id), RQL_U32(args.starts, partition_id + 1u));
}

void main()
{
	uint partitions = 1u << args.part_bits;
	uint group = uint(rql_group());
	if (args.merge == 0u) {
		if (group >= partitions)
			return;
		uvec2 all = rows_of(group);
		clear();
		if (all.y - all.x <= 2u * args.piece)
			take_rows(all.x, all.y);
		write_partition(group);
		return;
	}
	// At most two partitions with more rows than two pieces have rows in a piece: those of its first row and its last.
	uint64_t begin = rql_group() * args.piece;
	if (begin >= args.count)
		return;
	uint first = uint(begin), end = first + min(args.piece, args.count - first);
	uint partition_id = args.starts == 0ul ? 0u : rql_partition_of(args.starts, partitions, first);
	uint last = args.starts == 0ul ? 0u : rql_partition_of(args.starts, partitions, end - 1u);
	for (uint side = 0u; side < 2u; side++) {
		uint own = side == 0u ? partition_id : last;
		uvec2 all = rows_of(own);
		if (all.y - all.x <= 2u * args.piece || side == 1u && partition_id == last)
			continue;
		barrier();
		clear();
		take_rows(max(all.x, first), min(all.y, end));
		merge_partition(own);
	}
}
