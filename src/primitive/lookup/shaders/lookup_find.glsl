// Where a key lies in a hashed or a direct map. KEY_BITS: 32 or 64. HASHED: 0 or 1. Needs relation.glsl, and args with
// slots, low, high, part_bits, part_slots. A search begins with one read, so that several can be under way together.
#define NO_SLOT 0xffffffffu

#if HASHED
#include "primitive/lookup/shaders/lookup_hash.glsl"
#define SLOT_WORDS slot_group

// A group of slots.
struct slot_group {
	uvec4 first, second;
};

slot_group read_slots(uint slot)
{
	uint64_t at = args.slots + uint64_t(slot) * SLOT_BYTES;
	return slot_group(RQL_U128(at), RQL_U128(at + 16ul));
}

// The slot of a group that has the key, and its row; GROUP: none has. No key is EMPTY_KEY.
uint place_of(KEY key, slot_group group, out uint row)
{
#if KEY_BITS == 64
	bool first = packUint2x32(group.first.xy) == key, second = packUint2x32(group.second.xy) == key;
	row = first ? group.first.z : group.second.z;
	return first ? 0u : second ? 1u : GROUP;
#else
	bvec4 is = equal(uvec4(group.first.xz, group.second.xz), uvec4(key));
	row = is.x ? group.first.y : is.y ? group.first.w : is.z ? group.second.y : group.second.w;
	return is.x ? 0u : is.y ? 1u : is.z ? 2u : is.w ? 3u : GROUP;
#endif
}

bool is_full(slot_group group)
{
#if KEY_BITS == 64
	return group.second.z != RQL_LOOKUP_EMPTY;
#else
	return group.second.w != RQL_LOOKUP_EMPTY;
#endif
}

// The first slot of the group that a search for the key reads first.
uint start_of(KEY key)
{
	uint hash = rql_hash(key, false);
	return key == EMPTY_KEY ? slots_of_partitions() : partition_of(hash) * args.part_slots + first_slot(hash);
}

// The slot of a key and its row; group: what lies from `slot` on, where its search starts.
uint find_from(KEY key, uint slot, slot_group group, out uint row)
{
	uint base = partition_of(rql_hash(key, false)) * args.part_slots, seen = 0u;
	if (key == EMPTY_KEY) {
		row = SLOT_ROW(group.first);
		return slot;
	}
	for (;;) {
		uint at = place_of(key, group, row);
		if (at != GROUP)
			return slot + at;
		seen += GROUP;
		if (!is_full(group) || seen >= args.part_slots)
			break;
		slot = slot + GROUP == base + args.part_slots ? base : slot + GROUP;
		group = read_slots(slot);
	}
	row = RQL_LOOKUP_EMPTY;
	return NO_SLOT;
}
#else
#define SLOT_WORDS uint

uint read_slots(uint slot)
{
	return RQL_U32(args.slots, slot);
}

uint start_of(KEY key)
{
	uint64_t wide = uint64_t(key);
	return wide < args.low || wide > args.high ? 0u : uint(wide - args.low);
}

uint find_from(KEY key, uint slot, uint words, out uint row)
{
	uint64_t wide = uint64_t(key);
	bool is = wide >= args.low && wide <= args.high;
	row = is ? words : RQL_LOOKUP_EMPTY;
	return is ? slot : NO_SLOT;
}
#endif
