#version 460
// What comes before a group-by: the table in device memory is made empty, and the numbers of groups and of rows without a
// place begin as 0. Where groups are few (SETS > 1), the first workgroup chooses the steps for the table in shared memory
// meanwhile (group_by_find.glsl): it finds the keys of a sample and, for those whose hashes begin alike, a step with which
// each has a slot of its own: perfect hashing by displacement, the largest sets first (Belazzougui, Botelho, Dietzfelbinger:
// Hash, Displace, and Compress, 2009). What the sample has not seen, or what finds no step, costs time and is not wrong.
// Floor: writes the table once; reads SAMPLE keys a slot.
// KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_group_by_args args; };
#include "primitive/relation/shaders/group_by_table.glsl"
#include "primitive/relation/shaders/group_by_find.glsl"
#define SAMPLE 16u // rows to a slot: rare keys, too, are to be seen
#define SET_MOST 8u // keys of a set; of those with more the rest goes without
#define TRIES 256u
layout(constant_id = 3) const uint SETS = 512u; // the steps, or 1: none are wanted
shared uint members[SETS * SET_MOST]; // their hashes
shared uint sizes[SETS];
shared uint taken[SLOTS / 32u]; // a bit for each slot

void clear_table()
{
	uint64_t first = rql_group() * THREADS + rql_thread(), places = uint64_t(args.slots) + 1ul;
	uint64_t step = uint64_t(gl_NumWorkGroups.x) * gl_NumWorkGroups.y * THREADS;
	for (uint64_t place = first; place < places; place += step) {
		RQL_KEY(args.table_keys, place) = EMPTY;
		for (uint word = 0u; word <= RQL_MERGE_WORDS * args.column_count; word++) {
			bool least = word % RQL_MERGE_WORDS == 3u;
			RQL_U64(args.table_words, word * places + place) = least ? ~0ul : 0ul;
		}
	}
	if (first < 2ul)
		RQL_U64(args.control, first) = 0ul;
}

void load_sample(uint first, uint rows, out KEY key[ROWS])
{
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		key[r] = RQL_KEY(args.keys, min(first + r * gl_SubgroupSize + gl_SubgroupInvocationID, rows - 1u));
}

// A subgroup's rows are neighbours, and subgroups lie evenly over the input. The next rows are under way meanwhile.
void find_sample()
{
	uint rows = rql_rows(args.found, args.count), chunk = ROWS * gl_SubgroupSize, slots[ROWS];
	uint sweeps = max(SLOTS * SAMPLE / (chunk * gl_NumSubgroups), 1u), chunks = sweeps * gl_NumSubgroups;
	KEY key[ROWS], next[ROWS];
	if (rows == 0u)
		return;
	load_sample(uint(uint64_t(gl_SubgroupID) * rows / chunks), rows, key);
	for (uint c = gl_SubgroupID; c < chunks; c += gl_NumSubgroups) {
		load_sample(uint(uint64_t(c + gl_NumSubgroups) * rows / chunks), rows, next);
		find_by_buckets(key, ALL_ROWS, slots);
		key = next;
	}
}

void make_sets()
{
	for (uint slot = rql_thread(); slot < SLOTS; slot += THREADS) {
		KEY key = key_of_slot(slot);
		if (key == EMPTY)
			continue;
		uint hash = rql_bucket_hash(key), set = hash >> 32u - uint(findMSB(SETS));
		uint at = atomicAdd(sizes[set], 1u);
		if (at < SET_MOST)
			members[set * SET_MOST + at] = hash;
	}
}

uint slot_bit(uint hash, uint step, out uint word)
{
	uint slot = rql_stepped(hash, step) & SLOTS - 1u;
	word = slot >> 5u;
	return 1u << (slot & 31u);
}

// Takes the slots that a set has by a step, all or none of them.
bool take_slots(in uint hash[SET_MOST], uint size, uint step)
{
	uint word[SET_MOST], bit[SET_MOST], full = 0u;
	[[unroll]] for (uint m = 0u; m < SET_MOST; m++) {
		bit[m] = slot_bit(hash[m], step, word[m]);
		full |= m < size ? taken[word[m]] & bit[m] : 0u;
	}
	if (full != 0u)
		return false;
	uint own = 0u;
	[[unroll]] for (uint m = 0u; m < SET_MOST; m++)
		if (m == own && m < size)
			own += (atomicOr(taken[word[m]], bit[m]) & bit[m]) == 0u ? 1u : 0u;
	if (own == size)
		return true;
	[[unroll]] for (uint m = 0u; m < SET_MOST; m++)
		if (m < own)
			atomicAnd(taken[word[m]], ~bit[m]);
	return false;
}

uint step_of(uint set, uint size)
{
	uint hash[SET_MOST], step = 0u;
	[[unroll]] for (uint m = 0u; m < SET_MOST; m++)
		hash[m] = members[set * SET_MOST + m];
	while (step < TRIES && !take_slots(hash, size, step))
		step++;
	return step & TRIES - 1u;
}

void find_steps()
{
	for (uint size = SET_MOST; size > 0u; size--) {
		for (uint set = rql_thread(); set < SETS; set += THREADS)
			if (min(sizes[set], SET_MOST) == size)
				RQL_U32(args.large, set) = step_of(set, size);
		barrier();
	}
}

void choose_steps()
{
	clear_keys();
	for (uint i = rql_thread(); i < SETS; i += THREADS) {
		sizes[i] = 0u;
		RQL_U32(args.large, i) = 0u;
	}
	for (uint i = rql_thread(); i < SLOTS / 32u; i += THREADS)
		taken[i] = 0u;
	barrier();
	find_sample();
	barrier();
	make_sets();
	barrier();
	find_steps();
}

void main()
{
	if (SETS > 1u && rql_group() == 0ul)
		choose_steps();
	clear_table();
}
