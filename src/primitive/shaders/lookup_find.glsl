// Where a key lies in a hashed or a direct map. KEY_BITS: 32 or 64. HASHED: 0 or 1. Needs relation.glsl, and args with
// slots, low, high, part_bits, part_slots.
#define NO_SLOT 0xffffffffu

#if HASHED
#include "primitive/shaders/lookup_hash.glsl"

// The slot of a key and its row.
uint find(KEY key, out uint row)
{
	row = RQL_LOOKUP_EMPTY;
	if (key == EMPTY_KEY) {
		row = SLOT_ROW(SLOT(slots_of_parts()));
		return slots_of_parts();
	}
	uint hash = rql_hash(key, false);
	uint base = part_of(hash) * args.part_slots, place = first_slot(hash);
	for (uint probe = 0u; probe < args.part_slots; probe++) {
		SLOT_WORDS words = SLOT(base + place);
		if (SLOT_ROW(words) == RQL_LOOKUP_EMPTY)
			return NO_SLOT;
		if (SLOT_KEY(words) == key) {
			row = SLOT_ROW(words);
			return base + place;
		}
		place = place + 1u == args.part_slots ? 0u : place + 1u;
	}
	return NO_SLOT;
}
#else
uint find(KEY key, out uint row)
{
	uint64_t wide = uint64_t(key);
	row = RQL_LOOKUP_EMPTY;
	if (wide < args.low || wide > args.high)
		return NO_SLOT;
	uint slot = uint(wide - args.low);
	row = RQL_U32(args.slots, slot);
	return slot;
}
#endif
