// Where a key lies in a hashed or a direct map. KEY_BITS: 32 or 64. HASHED: 0 or 1. Needs relation.glsl, and args with
// slots, low, high, part_bits, part_slots. A search begins with one read, so that several can be under way together.
#define NO_SLOT 0xffffffffu

#if HASHED
#include "primitive/shaders/lookup_hash.glsl"

// The slot that a search for the key reads first.
uint start_of(KEY key)
{
	uint hash = rql_hash(key, false);
	return key == EMPTY_KEY ? slots_of_parts() : part_of(hash) * args.part_slots + first_slot(hash);
}

// The slot of a key and its row; words: what is in `slot`, where its search starts.
uint find_from(KEY key, uint slot, SLOT_WORDS words, out uint row)
{
	row = SLOT_ROW(words);
	if (key == EMPTY_KEY)
		return slot;
	uint base = part_of(rql_hash(key, false)) * args.part_slots;
	for (uint probe = 1u; row != RQL_LOOKUP_EMPTY; probe++) {
		if (SLOT_KEY(words) == key)
			return slot;
		slot = slot + 1u == base + args.part_slots ? base : slot + 1u;
		words = SLOT(slot);
		row = probe < args.part_slots ? SLOT_ROW(words) : RQL_LOOKUP_EMPTY;
	}
	return NO_SLOT;
}
#else
#define SLOT_WORDS uint
#define SLOT(slot) RQL_U32(args.slots, slot)

uint start_of(KEY key)
{
	uint64_t wide = uint64_t(key);
	return wide < args.low || wide > args.high ? 0u : uint(wide - args.low);
}

uint find_from(KEY key, uint slot, SLOT_WORDS words, out uint row)
{
	uint64_t wide = uint64_t(key);
	bool is = wide >= args.low && wide <= args.high;
	row = is ? words : RQL_LOOKUP_EMPTY;
	return is ? slot : NO_SLOT;
}
#endif
