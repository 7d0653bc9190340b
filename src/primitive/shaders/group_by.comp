#version 460
// Group-by of rows that lie together by partitions, or of a table as it is. A workgroup finds its rows' groups in a hash
// table in shared memory that numbers them, so that the accumulators lie dense, and goes over the value columns one by
// one. Of a whole partition the groups go straight to the output; those of pieces are merged in a table in device memory,
// as are those of batches (RQL_ROWS_BATCH), and rows whose group has no place here. Between looking for groups and adding to them there is a barrier, of the
// workgroup while groups' numbers must become visible, else of the subgroup: lanes that left the loop at different times
// add together.
// Sums are 32-bit words with carries: 64-bit atomics on shared memory are loops on some GPUs.
// Sums of reals are added by exchanges of 64 bits, over the least values, which such columns do not have.
// Floor: reads every key and value once. KEY_BITS: 32 or 64. VALUE_BITS: 32: all values have 32 bits. REALS: some column's
// values are doubles.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation_kernels.h"
#include "primitive/shaders/relation.glsl"
#include "primitive/shaders/slots.glsl"
#include "primitive/shaders/ordered.glsl"
layout(push_constant, scalar) uniform rql_push { rql_group_by_args args; };
#include "primitive/shaders/group_by_table.glsl"
layout(constant_id = 2) const uint SLOTS = 2048u; // of the hash table, a power of two
layout(constant_id = 3) const uint PLACES = 512u; // accumulators, copies included
#define ROWS 4u
#define PROBES 64u
#define NO_GROUP 0xffffu
#if VALUE_BITS == 64
#define VALUE uint64_t
#define SUM_WORDS 3u
#define SIGN 0x8000000000000000ul
#else
#define VALUE uint
#define SUM_WORDS 2u
#define SIGN 0x80000000u
#endif
shared KEY keys[SLOTS + 1u];
shared uint numbers[SLOTS / 2u + 1u]; // 16 bits a slot: 1 + the group's number; 0: none
shared uint counts[PLACES];
shared uint sums[SUM_WORDS * PLACES];
shared VALUE least[PLACES]; // in unsigned order
shared VALUE greatest[PLACES];
shared uint used, stopped;
shared uint64_t base;

struct piece_rows {
	uint first, end;
	bool whole; // all rows of a partition
};

uint groups_most()
{
	return PLACES / args.copies;
}

// The slot of a key, claimed if it has none yet; SLOTS + 1: there is none left.
uint slot_of(KEY key)
{
	uint slot = key == EMPTY ? SLOTS : rql_hash(key, (args.flags & RQL_ROWS_RAW) != 0u) & (SLOTS - 1u);
	for (uint probe = 0u; probe < PROBES; probe++) {
		KEY there = keys[slot];
		// The mark's own slot holds its opposite once it is claimed.
		KEY mine = slot == SLOTS ? KEY(0) : key;
		if (there == EMPTY) {
			there = atomicCompSwap(keys[slot], EMPTY, mine);
			if (there == EMPTY) {
				uint number = atomicAdd(used, 1u);
				if (number < groups_most())
					atomicOr(numbers[slot >> 1u], (number + 1u) << ((slot & 1u) << 4u));
				return slot;
			}
		}
		if (there == mine)
			return slot;
		slot = (slot + 1u) & (SLOTS - 1u);
	}
	return SLOTS + 1u;
}

uint number_of(uint slot)
{
	return slot > SLOTS ? NO_GROUP : ((numbers[slot >> 1u] >> ((slot & 1u) << 4u) & 0xffffu) - 1u) & 0xffffu;
}

void add_shared(uint place, VALUE value, bool is_signed)
{
	bool negative = is_signed && (value & SIGN) != 0;
#if VALUE_BITS == 64
	uvec2 halves = unpackUint2x32(value);
#else
	uvec2 halves = uvec2(value, negative ? ~0u : 0u);
#endif
	uint old = halves.x == 0u ? 0u : atomicAdd(sums[place], halves.x);
	uint carry = old + halves.x < old ? 1u : 0u;
	uint middle = halves.y + carry;
#if VALUE_BITS == 64
	uint top = (negative ? ~0u : 0u) + (middle < carry ? 1u : 0u);
	if (middle != 0u) {
		old = atomicAdd(sums[PLACES + place], middle);
		top += old + middle < old ? 1u : 0u;
	}
	if (top != 0u)
		atomicAdd(sums[2u * PLACES + place], top);
#else
	if (middle != 0u)
		atomicAdd(sums[PLACES + place], middle);
#endif
}

bool is_real_sum(uint flags)
{
	return (flags & (RQL_GROUP_REAL | RQL_GROUP_SUM)) == (RQL_GROUP_REAL | RQL_GROUP_SUM);
}

#ifdef REALS
uint64_t sum_of_reals(uint64_t a, uint64_t b)
{
	double sum = packDouble2x32(unpackUint2x32(a)) + packDouble2x32(unpackUint2x32(b));
	return packUint2x32(unpackDouble2x32(sum));
}

// Complements, so that accumulators begin as 0.
void add_real_shared(uint place, uint64_t bits)
{
	uint64_t old = least[place], seen = ~old;
	while (seen != old) {
		seen = old;
		old = atomicCompSwap(least[place], seen, ~sum_of_reals(~seen, bits));
	}
}

void add_real_table(uint64_t at, uint64_t bits)
{
	uint64_t old = RQL_U64(at, 0), seen = ~old;
	while (seen != old) {
		seen = old;
		old = atomicCompSwap(RQL_U64(at, 0), seen, sum_of_reals(seen, bits));
	}
}
#endif

// A value as an unsigned one that orders least values; NULL's is the greatest.
VALUE key_of_least(VALUE value, uint flags)
{
#ifdef REALS
	if ((flags & RQL_GROUP_REAL) != 0u)
		return value == 0ul ? ~0ul : rql_key_of(~value, RQL_WORD_F64);
#endif
	return (flags & RQL_GROUP_FIELD) != 0u ? value - 1u : (flags & RQL_GROUP_SIGNED) != 0u ? value ^ SIGN : value;
}

// The same of greatest ones; NULL's is 0.
VALUE key_of_greatest(VALUE value, uint flags)
{
#ifdef REALS
	if ((flags & RQL_GROUP_REAL) != 0u)
		return value == 0ul ? 0ul : rql_key_of(~value, RQL_WORD_F64);
#endif
	return (flags & RQL_GROUP_SIGNED) != 0u ? value ^ SIGN : value;
}

// One row that has no group here, into the device's table; rows: 1 if it is to be counted.
void add_table(KEY key, uint column, uint flags, VALUE value, bool counted)
{
	uint place = table_place(key);
	if (place == NO_PLACE) {
		atomicAdd(RQL_U64(args.control, 1), 1ul);
		return;
	}
	bool is_signed = (flags & RQL_GROUP_SIGNED) != 0u;
	bool negative = is_signed && (value & SIGN) != 0;
	uint word = 1u + column * RQL_MERGE_WORDS;
	if (counted)
		rql_slot_add64(table_word_at(0u, place), 1ul);
#if VALUE_BITS == 64
	uint64_t low = value;
#else
	uint64_t low = negative ? uint64_t(value) | 0xffffffff00000000ul : uint64_t(value);
#endif
#ifdef REALS
	if (is_real_sum(flags)) {
		if (value != 0ul)
			add_real_table(table_word_at(word, place), ~value);
		return;
	}
#endif
	if ((flags & RQL_GROUP_SUM) != 0u)
		rql_slot_add128(table_word_at(word, place), table_word_at(word + 1u, place), low, negative ? ~0ul : 0ul);
	if ((flags & RQL_GROUP_MIN) != 0u)
		rql_slot_min(table_word_at(word + 2u, place), uint64_t(key_of_least(value, flags)));
	if ((flags & RQL_GROUP_MAX) != 0u)
		rql_slot_max(table_word_at(word + 3u, place), uint64_t(key_of_greatest(value, flags)));
}

void clear(bool groups_too)
{
	uint t = rql_thread();
	if (groups_too) {
		for (uint i = t; i <= SLOTS; i += THREADS)
			keys[i] = EMPTY;
		for (uint i = t; i <= SLOTS / 2u; i += THREADS)
			numbers[i] = 0u;
		if (t == 0u)
			used = 0u;
	}
	for (uint i = t; i < PLACES; i += THREADS) {
		counts[i] = 0u;
		least[i] = ~VALUE(0);
		greatest[i] = VALUE(0);
	}
	for (uint i = t; i < SUM_WORDS * PLACES; i += THREADS)
		sums[i] = 0u;
	if (t == 0u)
		stopped = RQL_U64(args.control, 1) != 0ul ? 1u : 0u;
	barrier();
}

VALUE value_at(uint64_t from, uint flags, uint row)
{
	if (from == 0ul)
		return VALUE(0);
#if VALUE_BITS == 64
	uint64_t value;
	if ((flags & RQL_COLUMN_WIDE) != 0u) {
		value = RQL_U64(from, row);
	} else {
		uint narrow = RQL_U32(from, row);
		value = (flags & RQL_GROUP_SIGNED) != 0u ? uint64_t(int64_t(int(narrow))) : uint64_t(narrow);
	}
#else
	uint value = RQL_U32(from, row);
#endif
	return (flags & RQL_GROUP_PRESENT) != 0u ? min(value, VALUE(1)) : value;
}

void add_row(uint place, uint flags, VALUE value, bool counted)
{
	if (counted)
		atomicAdd(counts[place], 1u);
#ifdef REALS
	if (is_real_sum(flags)) {
		if (value != 0ul)
			add_real_shared(place, ~value);
		return;
	}
#endif
	VALUE low = key_of_least(value, flags), high = key_of_greatest(value, flags);
	if ((flags & RQL_GROUP_SUM) != 0u)
		add_shared(place, value, (flags & RQL_GROUP_SIGNED) != 0u);
	if ((flags & RQL_GROUP_MIN) != 0u && low < least[place])
		atomicMin(least[place], low);
	if ((flags & RQL_GROUP_MAX) != 0u && high > greatest[place])
		atomicMax(greatest[place], high);
}

void load_rows(uint first, uint end, uint64_t from, uint flags, out KEY key[ROWS], out VALUE value[ROWS])
{
	uint t = rql_thread();
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		uint row = first + r * THREADS + t;
		bool is = first < end && row < end;
		key[r] = is ? RQL_KEY(args.keys, row) : EMPTY;
		value[r] = is ? value_at(from, flags, row) : VALUE(0);
	}
}

void add_rows(uint first, uint end, uint column, uint flags, in KEY key[ROWS], in VALUE value[ROWS],
              inout uint slots[ROWS], bool known, bool meet)
{
	uint t = rql_thread();
	if (!known) {
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (first + r * THREADS + t < end)
				slots[r] = slot_of(key[r]);
		if (meet)
			barrier();
		else
			subgroupBarrier();
	}
	bool counted = column == 0u;
	uint copy = t & (args.copies - 1u);
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (first + r * THREADS + t < end) {
			uint number = number_of(slots[r]);
			if (number != NO_GROUP)
				add_row(number * args.copies + copy, flags, value[r], counted);
			else
				add_table(key[r], column, flags, value[r], counted);
		}
}

// All rows of a piece to the accumulators; the next rows are under way while some are added.
void add_piece(piece_rows piece, uint column, uint64_t from, uint flags, inout uint slots[ROWS])
{
	bool known = column != 0u && piece.end - piece.first <= ROWS * THREADS;
	KEY key[ROWS];
	VALUE value[ROWS];
	load_rows(piece.first, piece.end, from, flags, key, value);
	clear(column == 0u);
	if (stopped != 0u)
		return;
	uint sweep = 0u;
	for (uint first = piece.first; first < piece.end; first += ROWS * THREADS) {
		// Where the guess of the groups was far too low the answer is lost: the sooner that is seen the better. All read
		// the word behind add_rows' barrier, and before it is written again.
		bool look = !known && (++sweep & 15u) == 0u;
		if (look && rql_thread() == 0u)
			stopped = atomicOr(RQL_U64(args.control, 1), 0ul) != 0ul ? 1u : 0u;
		KEY next_key[ROWS];
		VALUE next_value[ROWS];
		load_rows(first + ROWS * THREADS, piece.end, from, flags, next_key, next_value);
		// A group whose number is not to be seen yet goes to the device's table, where those of pieces meet anyway: then a
		// barrier is needed only while most groups are new.
		bool meet = piece.whole || look || sweep <= 2u;
		add_rows(first, piece.end, column, flags, key, value, slots, known, meet);
		bool lost = look && stopped != 0u;
		if (look)
			barrier();
		if (lost)
			break;
		key = next_key;
		value = next_value;
	}
	barrier();
}

struct group_words {
	uint count;
	uint64_t low, high;
	VALUE least, greatest;
};

// All copies of one group together.
group_words gather(uint number, uint flags)
{
	bool is_signed = (flags & RQL_GROUP_SIGNED) != 0u;
	group_words g = group_words(0u, 0ul, 0ul, ~VALUE(0), VALUE(0));
	for (uint copy = 0u; copy < args.copies; copy++) {
		uint place = number * args.copies + copy;
		g.count += counts[place];
#ifdef REALS
		if (is_real_sum(flags)) {
			g.low = sum_of_reals(g.low, ~least[place]);
			continue;
		}
#endif
		uint64_t low = packUint2x32(uvec2(sums[place], sums[PLACES + place]));
#if VALUE_BITS == 64
		uint64_t high = uint64_t(int64_t(int(sums[2u * PLACES + place])));
#else
		uint64_t high = is_signed && (low & 0x8000000000000000ul) != 0ul ? ~0ul : 0ul;
#endif
		g.low += low;
		g.high += high + (g.low < low ? 1ul : 0ul);
		g.least = min(g.least, least[place]);
		g.greatest = max(g.greatest, greatest[place]);
	}
	return g;
}

// A value in its own type, as a word of 64 bits; of reals the ordered key.
uint64_t word_of(VALUE ordered, uint flags)
{
	bool is_signed = (flags & RQL_GROUP_SIGNED) != 0u;
	VALUE value = is_signed ? ordered ^ SIGN : ordered;
#if VALUE_BITS == 64
	return value;
#else
	return is_signed ? uint64_t(int64_t(int(value))) : uint64_t(value);
#endif
}

void write_groups(uint groups, uint column, uint flags)
{
	uint64_t counts_at = column == 0u ? args.counts_out : 0ul;
	uint64_t sums_at = flags != 0u ? group_column(column, 2u) : 0ul;
	uint64_t least_at = flags != 0u ? group_column(column, 3u) : 0ul;
	uint64_t greatest_at = flags != 0u ? group_column(column, 4u) : 0ul;
	for (uint number = rql_thread(); number < groups; number += THREADS) {
		uint64_t place = base + number;
		if (place >= args.capacity)
			break;
		group_words g = gather(number, flags);
		if (counts_at != 0ul)
			RQL_U64(counts_at, place) = uint64_t(g.count);
		if ((flags & RQL_GROUP_SUM_WIDE) != 0u) {
			RQL_U64(sums_at, 2ul * place) = g.low;
			RQL_U64(sums_at, 2ul * place + 1ul) = g.high;
		} else if ((flags & RQL_GROUP_SUM) != 0u) {
			RQL_U64(sums_at, place) = g.low;
		}
		if ((flags & RQL_GROUP_MIN) != 0u)
			RQL_U64(least_at, place) = word_of((flags & RQL_GROUP_FIELD) != 0u ? g.least + 1u : g.least, flags);
		if ((flags & RQL_GROUP_MAX) != 0u)
			RQL_U64(greatest_at, place) = word_of(g.greatest, flags);
	}
}

void merge_groups(uint column, uint flags)
{
	for (uint slot = rql_thread(); slot <= SLOTS; slot += THREADS) {
		uint number = keys[slot] == EMPTY ? NO_GROUP : number_of(slot);
		if (number == NO_GROUP)
			continue;
		group_words g = gather(number, flags);
		uint place = table_place(slot == SLOTS ? EMPTY : keys[slot]);
		uint word = 1u + column * RQL_MERGE_WORDS;
		if (place == NO_PLACE) {
			atomicAdd(RQL_U64(args.control, 1), 1ul);
			continue;
		}
		if (column == 0u)
			rql_slot_add64(table_word_at(0u, place), uint64_t(g.count));
#ifdef REALS
		if (is_real_sum(flags)) {
			add_real_table(table_word_at(word, place), g.low);
			continue;
		}
#endif
		if ((flags & RQL_GROUP_SUM) != 0u)
			rql_slot_add128(table_word_at(word, place), table_word_at(word + 1u, place), g.low, g.high);
		if ((flags & RQL_GROUP_MIN) != 0u)
			rql_slot_min(table_word_at(word + 2u, place), uint64_t(g.least));
		if ((flags & RQL_GROUP_MAX) != 0u)
			rql_slot_max(table_word_at(word + 3u, place), uint64_t(g.greatest));
	}
}

// Keys in the order of their groups' numbers, over the accumulators, which are done with; then side by side.
void write_keys(uint groups)
{
	for (uint slot = rql_thread(); slot <= SLOTS; slot += THREADS) {
		uint number = keys[slot] == EMPTY ? NO_GROUP : number_of(slot);
		if (number == NO_GROUP)
			continue;
		KEY key = slot == SLOTS ? EMPTY : keys[slot];
#if KEY_BITS == 64
		uvec2 halves = unpackUint2x32(key);
		sums[number] = halves.x;
		sums[PLACES + number] = halves.y;
#else
		sums[number] = key;
#endif
	}
	barrier();
	for (uint number = rql_thread(); number < groups && base + number < args.capacity; number += THREADS)
#if KEY_BITS == 64
		RQL_U64(args.keys_out, base + number) = packUint2x32(uvec2(sums[number], sums[PLACES + number]));
#else
		RQL_U32(args.keys_out, base + number) = sums[number];
#endif
}

// As join.comp cuts parts into pieces.
bool piece_of(uint64_t group, out piece_rows piece)
{
	uint size = 1u << args.piece_log2;
	uint rows = args.starts != 0ul ? RQL_U32(args.starts, args.parts) : rql_rows(args.found, args.count);
	piece = piece_rows(0u, rows, true);
	if (group < args.parts) {
		if (args.starts != 0ul) {
			piece.first = RQL_U32(args.starts, uint(group));
			piece.end = RQL_U32(args.starts, uint(group) + 1u);
		}
		if (piece.end - piece.first > 2u * size) {
			piece.end = (piece.first / size + 1u) * size;
			piece.whole = false;
		}
		piece.whole = piece.whole && (args.flags & RQL_ROWS_BATCH) == 0u;
		return piece.first < piece.end;
	}
	uint64_t begin = (group - args.parts + 1u) * size;
	if (begin >= rows)
		return false;
	if (args.starts != 0ul) {
		uint part = rql_part_of(args.starts, args.parts, uint(begin));
		piece.first = RQL_U32(args.starts, part);
		piece.end = RQL_U32(args.starts, part + 1u);
	}
	if (piece.end - piece.first <= 2u * size || piece.first == uint(begin))
		return false;
	piece = piece_rows(uint(begin), uint(begin) + min(piece.end - uint(begin), size), false);
	return true;
}

void main()
{
	piece_rows piece;
	if (!piece_of(rql_group(), piece))
		return;
	uint slots[ROWS];
	for (uint column = 0u; column < max(args.column_count, 1u); column++) {
		bool is = column < args.column_count;
		uint64_t from = is ? group_column(column, 0u) : 0ul;
		uint flags = is ? uint(group_column(column, 1u)) : 0u;
		add_piece(piece, column, from, flags, slots);
		if (stopped != 0u)
			return;
		uint groups = min(used, groups_most());
		if (column == 0u && piece.whole) {
			if (rql_thread() == 0u)
				base = groups != 0u ? atomicAdd(RQL_U64(args.control, 0), uint64_t(groups)) : 0ul;
			barrier();
		}
		if (piece.whole)
			write_groups(groups, column, flags);
		else
			merge_groups(column, flags);
		barrier();
	}
	if (piece.whole)
		write_keys(min(used, groups_most()));
}
