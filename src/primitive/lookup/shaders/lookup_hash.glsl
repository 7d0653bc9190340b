// Where keys lie in a hashed map. KEY_BITS: 32 or 64. Needs relation.glsl, and args with slots, part_bits, part_slots.
// A key has the first free slot from its group's first one on, so behind a group whose last slot is free lies none of its
// keys. A search reads groups whole.
#define GROUP RQL_LOOKUP_GROUP(KEY_BITS)
#define EMPTY_KEY (~KEY(0))

uint partition_of(uint hash)
{
	return args.part_bits == 0u ? 0u : hash >> 32u - args.part_bits;
}

// Of the key's group, by the bits below those of the partition, so that groups ascend with hashes.
uint first_slot(uint hash)
{
	uint high, low;
	umulExtended(hash << args.part_bits, args.part_slots / GROUP, high, low);
	return high * GROUP;
}

uint slots_of_partitions()
{
	return args.part_slots << args.part_bits;
}

#if KEY_BITS == 64
#define SLOT_BYTES 16ul
// Key low, key high, row.
#define SLOT(slot) RQL_U128(args.slots + uint64_t(slot) * SLOT_BYTES)
#define SLOT_ROW(words) (words).z
#define SLOT_OF(key, row) uvec4(unpackUint2x32(key), row, 0u)
#else
#define SLOT_BYTES 8ul
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer lookup_slot64 {
	uvec2 v;
};
// Key, row.
#define SLOT(slot) lookup_slot64(args.slots + uint64_t(slot) * SLOT_BYTES).v
#define SLOT_ROW(words) (words).y
#define SLOT_OF(key, row) uvec2(key, row)
#endif
