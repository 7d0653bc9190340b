// A workgroup's table of keys in shared memory: which slot a row's key has.
// Keys lie by buckets of 16 bytes, which are read at once: so most keys are found by one read, where a table of single keys
// that is as full would have lanes that look on for several turns, and all lanes of a subgroup with them.
// Of few groups and many rows even those few keys that are not in their first bucket cost more than all others: nearly every
// subgroup has one. group_by_begin.comp then has chosen STEPS steps, by a sample, with which nearly each key has a slot of
// its own. Other keys, and those of a poor sample, go on to the next slots.
#define ROWS 4u
#define ALL_ROWS ((1u << ROWS) - 1u)
#define IS(rows, r) (((rows) >> (r) & 1u) != 0u)
layout(constant_id = 2) const uint SLOTS = 1024u; // a power of two; one more is the mark's own
layout(constant_id = 8) const uint STEPS = 1u;    // a power of two; 1: buckets
shared uint steps[STEPS];
#if KEY_BITS == 64
#define BUCKET u64vec2
#define BUCKET_KEYS 2u
#else
#define BUCKET uvec4
#define BUCKET_KEYS 4u
#endif
#define NO_KEY BUCKET_KEYS // of the places in a bucket
#define BUCKETS (SLOTS / BUCKET_KEYS)
#define PROBES 64u
shared BUCKET buckets[BUCKETS]; // EMPTY: none
shared uint mark_used; // the key EMPTY itself, whose slot is SLOTS, has come

KEY key_of_slot(uint slot)
{
	return slot < SLOTS ? buckets[slot / BUCKET_KEYS][slot % BUCKET_KEYS] : EMPTY;
}

bool is_used(uint slot)
{
	return slot == SLOTS ? mark_used != 0u : key_of_slot(slot) != EMPTY;
}

void clear_keys()
{
	for (uint i = rql_thread(); i < BUCKETS; i += THREADS)
		buckets[i] = BUCKET(EMPTY);
	if (STEPS > 1u)
		for (uint i = rql_thread(); i < STEPS; i += THREADS)
			steps[i] = RQL_U32(args.large, i);
	if (rql_thread() == 0u)
		mark_used = 0u;
}

uint first_bucket(uint hash)
{
	return hash >> 32u - uint(findMSB(BUCKETS));
}

uint next_bucket(uint bucket, uint hash)
{
	return bucket + (hash >> 11u | 1u) & BUCKETS - 1u;
}

// Where a key is in a bucket, or NO_KEY.
uint place_in(BUCKET bucket, KEY key)
{
	uint place = bucket.y == key ? 1u : NO_KEY;
#if KEY_BITS == 32
	place = bucket.z == key ? 2u : bucket.w == key ? 3u : place;
#endif
	return bucket.x == key ? 0u : place;
}

bool is_full(BUCKET bucket)
{
#if KEY_BITS == 32
	bool half_full = bucket.z != EMPTY && bucket.w != EMPTY;
#else
	bool half_full = true;
#endif
	return half_full && bucket.x != EMPTY && bucket.y != EMPTY;
}

KEY picked(in KEY of[ROWS], uint row)
{
	KEY it = of[0];
	[[unroll]] for (uint r = 1u; r < ROWS; r++)
		it = r == row ? of[r] : it;
	return it;
}

uint slot_of(in uint slots[ROWS], uint row)
{
	uint it = slots[0];
	[[unroll]] for (uint r = 1u; r < ROWS; r++)
		it = r == row ? slots[r] : it;
	return it;
}

void put_slot(inout uint slots[ROWS], uint row, uint slot)
{
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		slots[r] = r == row ? slot : slots[r];
}

// Rows whose key was not in its first bucket: that in which it is, or has its place from now on. A lane goes through its
// rows one by one: all of them at once are more instructions and registers. Of nearly every subgroup some lane comes here,
// so that a bucket is not read again that is known to be full. `slots`: the first buckets of those in `left`. Returns the
// rows for which there is no place: that depends on the buckets alone, so that all rows of a key have the same fate.
uint look_on(in KEY key[ROWS], uint left, uint full, inout uint slots[ROWS])
{
	uint lost = 0u, probes = 0u;
	while (left != 0u) {
		uint row = findLSB(left), at = slot_of(slots, row);
		KEY own = picked(key, row);
		uint hash = rql_bucket_hash(own);
		if (IS(full, row)) {
			at = next_bucket(at, hash);
			full &= full - 1u;
			probes++;
		}
		BUCKET there = buckets[at];
		uint place = place_in(there, own);
		if (place == NO_KEY) {
			uint vacant = place_in(there, EMPTY);
			if (vacant != NO_KEY) {
				KEY found = atomicCompSwap(buckets[at][vacant], EMPTY, own);
				place = found == EMPTY || found == own ? vacant : NO_KEY;
			} else {
				at = next_bucket(at, hash);
				lost |= ++probes > PROBES ? 1u << row : 0u;
			}
		}
		bool done = place != NO_KEY || IS(lost, row);
		put_slot(slots, row, done ? at * BUCKET_KEYS + place : at);
		left &= done ? left - 1u : ~0u;
		probes = done ? 0u : probes;
	}
	return lost;
}

// The slots of the wanted rows' keys, by buckets; returns the rows that have one.
uint find_by_buckets(in KEY key[ROWS], uint wanted, inout uint slots[ROWS])
{
	uint left = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		slots[r] = first_bucket(rql_bucket_hash(key[r]));
	BUCKET there[ROWS];
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		there[r] = buckets[slots[r]];
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		uint place = place_in(there[r], key[r]);
		bool marked = key[r] == EMPTY;
		left |= place == NO_KEY && !marked ? 1u << r : 0u;
		slots[r] = marked ? SLOTS : place == NO_KEY ? slots[r] : slots[r] * BUCKET_KEYS + place;
		if (marked && IS(wanted, r))
			mark_used = 1u;
	}
	left &= wanted;
	if (left == 0u)
		return wanted;
	uint full = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		full |= is_full(there[r]) ? 1u << r : 0u;
	return wanted & ~look_on(key, left, full & left, slots);
}

uint stepped_slot(KEY key)
{
	uint hash = rql_bucket_hash(key);
	return rql_stepped(hash, steps[hash >> 32u - uint(findMSB(STEPS))]) & SLOTS - 1u;
}

// Rows whose key is not in its own slot: that in which it is, or has its place from now on. As look_on.
uint step_on(in KEY key[ROWS], uint left, inout uint slots[ROWS])
{
	uint lost = 0u, probes = 0u;
	while (left != 0u) {
		uint row = findLSB(left), at = slot_of(slots, row);
		KEY own = picked(key, row), there = key_of_slot(at);
		if (own != EMPTY && there == EMPTY) {
			there = atomicCompSwap(buckets[at / BUCKET_KEYS][at % BUCKET_KEYS], EMPTY, own);
			there = there == EMPTY ? own : there;
		}
		if (own == EMPTY)
			mark_used = 1u;
		else if (there != own)
			lost |= ++probes > PROBES ? 1u << row : 0u;
		bool done = own == EMPTY || there == own || IS(lost, row);
		put_slot(slots, row, own == EMPTY ? SLOTS : done ? at : at + 1u & SLOTS - 1u);
		left &= done ? left - 1u : ~0u;
		probes = done ? 0u : probes;
	}
	return lost;
}

// The same by steps.
uint find_by_steps(in KEY key[ROWS], uint wanted, inout uint slots[ROWS])
{
	uint left = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		slots[r] = stepped_slot(key[r]);
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		left |= key_of_slot(slots[r]) != key[r] || key[r] == EMPTY ? 1u << r : 0u;
	left &= wanted;
	return left == 0u ? wanted : wanted & ~step_on(key, left, slots);
}

uint find_slots(in KEY key[ROWS], uint wanted, inout uint slots[ROWS])
{
	return STEPS > 1u ? find_by_steps(key, wanted, slots) : find_by_buckets(key, wanted, slots);
}
