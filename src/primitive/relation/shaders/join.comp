#version 460
// Join of two sides whose rows lie together by partitions. A workgroup takes a piece of a partition's probe rows: it puts
// the partition's build rows into a table in shared memory, ordered by buckets (as many tables, one after the other, as
// they need), and looks up ROWS probe rows a thread at a time. Matches are counted, places for all of them taken at once, and then
// written. Floor: reads both sides once, writes the output once. KEY_BITS: 32 or 64. TESTED: pairs of rows have conditions,
// or the join is that of an IN, or notes which build rows have a match, or whether a probe row has several; its own kernel,
// so that the others' loops are what they are. MANY: for build sides whose keys come often (join_many.glsl).
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_join_args args; };
#include "primitive/relation/shaders/special.glsl"
#include "primitive/relation/shaders/join_write.glsl"
layout(constant_id = 2) const uint SLOTS = 2560u;  // rows of a table
layout(constant_id = 3) const uint BUCKETS = 2048u; // a power of two, a multiple of the threads or less
layout(constant_id = 4) const uint STAGED = 0u;     // build columns, all of 32 bits, that lie in the table; 0: rows' numbers; 3: nothing
layout(constant_id = 5) const uint WORDS = 2560u;   // SLOTS times the words of a row beside its key
// Do subgroups take places of the output themselves? Each takes 1.6 ns then, but none waits for the others of its workgroup. Joins
// of two passes of partitions, which take longer than that, gain by it.
layout(constant_id = 8) const uint OWN_PLACES = 0u;
#define HELD RQL_JOIN_HELD_MOST
#define MISS 0xffffu
#define MARKED 0xfff0u // and a mark: a row with that, without a match
shared uint ends[BUCKETS + 1u]; // bucket b is [ends[b], ends[b + 1]) once the table is full
shared KEY keys[SLOTS];
shared uint words[WORDS];

#if TESTED
bool notes(uint what)
{
	return (row_flags() >> 24u & what) != 0u;
}
#define BUILD_VALID (notes(RQL_ROWS_MATCHED) ? 0ul : args.build_valid)
#else
#define BUILD_VALID args.build_valid
#endif

struct side_rows {
	uint first, end;
};

uint column_flags(uint column)
{
	if (COLUMN_FLAGS == ANY_FLAGS)
		return uint(column_word(column, 2u));
	uint side = column == (row_flags() >> 8u & 255u) ? RQL_JOIN_PROBE_PAIRED : column == 0u ? RQL_JOIN_BUILD_PAIRED : 0u;
	return COLUMN_FLAGS | ((row_flags() & side) != 0u ? RQL_COLUMN_PAIRED : 0u);
}

bool is_key(KEY key, uint row, uint64_t valid)
{
	return !((row_flags() >> 24u & RQL_ROWS_NULL_KEY) != 0u && key == KEY(args.null_key)) && rql_valid_bit(valid, row);
}

uint bucket_of(KEY key)
{
	return rql_hash(key, (row_flags() >> 24u & RQL_ROWS_RAW) != 0u) & (BUCKETS - 1u);
}

#define COUNT_OF(b) ends[b]
#include "primitive/relation/shaders/join_buckets.glsl"
#ifdef MANY
#include "primitive/relation/shaders/join_many.glsl"
#endif

void put_row(uint slot, KEY key, uint value, uint value_next)
{
	keys[slot] = key;
	if (STAGED < 3u)
		words[slot] = value;
	if (STAGED == 2u)
		words[SLOTS + slot] = value_next;
}

// At most SLOTS rows, held by the threads while their places are found. Begins with a write of shared memory: all must have
// done with the last table.
void build_table(uint first, uint end)
{
	uint t = rql_thread();
	bool paired = (row_flags() & RQL_JOIN_BUILD_PAIRED) != 0u;
	// Row numbers, too, are what a column without an address has.
	uint64_t from = STAGED == 1u || STAGED == 2u ? column_word(0u, 0u) : 0ul;
	uint64_t from_next = STAGED == 2u ? column_word(1u, 0u) : 0ul;
	KEY key[HELD];
	uint value[HELD], value_next[HELD], at[HELD]; // at: bucket << 16 | place in it
	[[unroll]] for (uint r = 0u; r < HELD; r++) {
		uint row = first + r * THREADS + t;
		key[r] = NO_KEY;
		value[r] = row;
		value_next[r] = row;
		at[r] = NONE;
		if (r * THREADS >= SLOTS || row >= end)
			continue;
		key[r] = read_key(args.build_keys, row, paired, value[r]);
		if (STAGED == 0u)
			value[r] = row;
		else if (STAGED < 3u && !paired && from != 0ul)
			value[r] = RQL_U32(from, row);
		if (STAGED == 2u && from_next != 0ul)
			value_next[r] = RQL_U32(from_next, row);
	}
	for (uint b = t; b < BUCKETS; b += THREADS)
		ends[b] = 0u;
#ifdef MANY
	for (uint w = t; w < (BUCKETS + 31u) / 32u; w += THREADS)
		mixed[w] = 0u;
#endif
	barrier();
	[[unroll]] for (uint r = 0u; r < HELD; r++) {
		uint row = first + r * THREADS + t;
		if (r * THREADS >= SLOTS || row >= end || !is_key(key[r], row, BUILD_VALID))
			continue;
		at[r] = bucket_of(key[r]);
		at[r] = at[r] << 16u | atomicAdd(ends[at[r]], 1u);
	}
	barrier();
	uint total = place_buckets();
	if (t == 0u)
		ends[BUCKETS] = total;
	[[unroll]] for (uint r = 0u; r < HELD; r++) {
		if (at[r] == NONE)
			continue;
		at[r] += ends[at[r] >> 16u];
		put_row(at[r] & 0xffffu, key[r], value[r], value_next[r]);
	}
	barrier();
#ifdef MANY
	[[unroll]] for (uint r = 0u; r < HELD; r++) {
		uint b = at[r] >> 16u;
		if (at[r] != NONE && keys[ends[b]] != key[r])
			atomicOr(mixed[b >> 5u], 1u << (b & 31u));
	}
	barrier();
	[[unroll]] for (uint r = 0u; r < HELD; r++)
		if (at[r] != NONE)
			at[r] = is_mixed(at[r] >> 16u) ? ordered_slot(key[r], at[r] >> 16u, at[r] & 0xffffu) : NONE;
	barrier();
	[[unroll]] for (uint r = 0u; r < HELD; r++)
		if (at[r] != NONE)
			put_row(at[r], key[r], value[r], value_next[r]);
	barrier();
#endif
}

#if TESTED
uint build_nulls; // rows of the build side whose key is NULL, as far as they were seen

// A real number's field as one that is ordered as the host orders them.
uint64_t ordered_real(uint64_t field)
{
	uint64_t bits = ~field;
	uint64_t size = bits & 0x7ffffffffffffffful;
	if (size > 0x7ff0000000000000ul)
		return 0xfffffffffffffffful;
	return size == bits || size == 0ul ? size | 0x8000000000000000ul : field;
}

bool passes(uint slot, uint row)
{
	uint build_columns = row_flags() >> 8u & 255u;
	for (uint64_t rest = args.conditions; rest != 0ul; rest >>= RQL_CONDITION_BITS) {
		uint one = uint(rest) & 0xffffu;
		uint p = build_columns + (one & 15u);
		uint b = one >> RQL_CONDITION_BUILD_SHIFT & 15u;
		uint test = one >> RQL_CONDITION_TEST_SHIFT & 7u;
		uint64_t x = read_value(column_word(p, 0u), uint(column_word(p, 2u)), row);
		uint64_t y = 2ul;
		if (b != RQL_CONDITION_TRUE)
			y = read_value(column_word(b, 0u), uint(column_word(b, 2u)), words[slot]);
		if (x == 0ul || y == 0ul)
			return false;
		if ((one & RQL_CONDITION_REAL) != 0u) {
			x = ordered_real(x);
			y = ordered_real(y);
		}
		bool holds = test <= TEST_NE ? (x == y) == (test == TEST_EQ)
		             : test <= TEST_LE ? x < y || (test == TEST_LE && x == y)
		                               : x > y || (test == TEST_GE && x == y);
		if (!holds)
			return false;
	}
	return true;
}
#define MATCHES(slot, key, row) (keys[slot] == key && passes(slot, row))

// Of many rows with one match the first alone writes.
void note_match(uint slot)
{
	uint row = words[slot], bit = 1u << (row & 31u);
	if ((RQL_U32(args.build_valid, row >> 5u) & bit) == 0u)
		atomicOr(RQL_U32(args.build_valid, row >> 5u), bit);
}
#define NOTE_MATCH(slot) \
	if (notes(RQL_ROWS_MATCHED)) \
		note_match(slot)
#else
#define MATCHES(slot, key, row) (keys[slot] == key)
#define NOTE_MATCH(slot)
#endif

#ifndef MANY
// Number of matches << 16 | the first one's slot.
uint look_up(KEY key, uint row, bool one)
{
	uint b = bucket_of(key);
	uint end = ends[b + 1u];
	uint hit = 0u;
	for (uint slot = ends[b]; slot < end; slot++)
		if (MATCHES(slot, key, row)) {
			hit = (hit == 0u ? slot : hit) + 0x10000u;
			NOTE_MATCH(slot);
			if (one)
				break;
		}
	return hit;
}

// Of a row with several matches: bit i: slot i behind the first one's has one; 0: they are too far apart. A match is found by
// its number without another look at the keys then.
uint marks_of(KEY key, uint row, uint hit)
{
	uint left = hit >> 16u, slot = hit & 0xffffu, marks = 0u;
	if (left < 2u || slot >= MARKED)
		return 0u;
	for (uint i = 0u; i < 32u && left != 0u; i++)
		if (MATCHES(slot + i, key, row)) {
			marks |= 1u << i;
			left--;
		}
	return left == 0u ? marks : 0u;
}

// The k-th match of a key, from the first one's slot on.
uint match_at(KEY key, uint row, uint slot, uint k)
{
	for (; k != 0u; k--)
		do {
			slot++;
		} while (!MATCHES(slot, key, row));
	return slot;
}

uint nth_match(KEY key, uint row, uint hit, uint marks, uint k)
{
	uint slot = hit & 0xffffu;
	if (slot >= MARKED || k == 0u)
		return slot;
	if (marks == 0u)
		return match_at(key, row, slot, k);
	for (; k != 0u; k--)
		marks &= marks - 1u;
	return slot + findLSB(marks);
}
#endif

uint64_t build_value(uint column, uint64_t from, uint flags, uint slot)
{
	if (slot == MISS)
		return missing_value(flags);
#if TESTED
	if ((flags & RQL_COLUMN_MARK) != 0u)
		return uint64_t(slot - MARKED);
#endif
	return column < STAGED ? uint64_t(words[column * SLOTS + slot]) : read_value(from, flags, words[slot]);
}

#include "primitive/relation/shaders/join_rows.glsl"

#if TESTED
uint build_rows; // of all partitions, NULL keys included
#endif

// Each thread's rows against each of the build side's tables.
void probe_rows(uint first, uint end, side_rows build, uint tables, inout bool built)
{
	uint kind = row_flags() & RQL_JOIN_KIND;
	uint t = rql_thread();
	KEY key[ROWS];
	uint hit[ROWS], beside[ROWS];
	uint is = 0u;   // bit r: there is such a row
	uint keyed = 0u; // and its key is not NULL
	uint met = 0u;  // and it had a match
	bool paired = (row_flags() & RQL_JOIN_PROBE_PAIRED) != 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		uint row = first + r * THREADS + t;
		key[r] = NO_KEY;
		beside[r] = 0u;
		if (row < end) {
			key[r] = read_key(args.probe_keys, row, paired, beside[r]);
			is |= 1u << r;
		}
	}
	for (uint table = 0u; table < tables; table++) {
		if (!built) {
			barrier();
			uint begin = build.first + table * SLOTS;
			uint end_of_table = min(build.end, begin + SLOTS);
			build_table(begin, end_of_table);
			built = tables == 1u;
#if TESTED
			if (args.build_starts == 0ul)
				build_nulls = (table == 0u ? 0u : build_nulls) + end_of_table - begin - ends[BUCKETS];
#endif
		}
		// Behind the table: until here probe rows are under way.
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if ((is >> r & 1u) != 0u && is_key(key[r], first + r * THREADS + t, args.probe_valid))
				keyed |= 1u << r;
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			hit[r] = (keyed >> r & 1u) != 0u ? look_up(key[r], first + r * THREADS + t, kind >= JOIN_SEMI) : 0u;
#if TESTED
		if (notes(RQL_ROWS_SINGLE))
			[[unroll]] for (uint r = 0u; r < ROWS; r++)
				if (hit[r] >= ((met >> r & 1u) != 0u ? 0x10000u : 0x20000u))
					atomicOr(RQL_U64(args.found, 1), 1ul);
#endif
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			met |= hit[r] >= 0x10000u ? 1u << r : 0u;
		if (kind != JOIN_INNER) {
			bool last = table + 1u == tables;
			[[unroll]] for (uint r = 0u; r < ROWS; r++) {
				bool exists = (is >> r & 1u) != 0u;
				bool matched = (met >> r & 1u) != 0u;
				if (kind == JOIN_LEFT && last && exists && !matched)
					hit[r] = 0x10000u | MISS;
#if TESTED
				if (kind >= JOIN_NOT_IN) {
					uint mark = matched ? 2u : build_rows == 0u || ((keyed >> r & 1u) != 0u && build_nulls == 0u) ? 1u : 0u;
					hit[r] = last && exists && (kind == JOIN_MARK || mark == 1u) ? 0x10000u | MARKED | mark : 0u;
					continue;
				}
#endif
				if (kind >= JOIN_SEMI)
					hit[r] = last && exists && matched == (kind == JOIN_SEMI) ? 0x10000u | MISS : 0u;
			}
		}
		write_rows(key, hit, beside, first);
	}
}

side_rows rows_of(uint64_t starts, uint partition_id, uint64_t found, uint count)
{
	if (starts == 0ul)
		return side_rows(0u, rql_rows(found, count));
	return side_rows(RQL_U32(starts, partition_id), RQL_U32(starts, partition_id + 1u));
}

// Workgroups 0 .. partitions - 1 take the partitions, or of one larger than two pieces what lies before the first multiple
// of a piece's rows. The following ones take what begins at such a multiple within a large one. No list is needed for it.
bool piece_of(uint64_t group, out uint partition_id, out side_rows probe)
{
	uint partitions = 1u << (args.partitions_piece >> 8u);
	uint piece = 1u << (args.partitions_piece & 255u);
	if (group < partitions) {
		partition_id = uint(group);
		probe = rows_of(args.probe_starts, partition_id, args.probe_found, args.probe_count);
		if (probe.end - probe.first > 2u * piece)
			probe.end = (probe.first / piece + 1u) * piece;
		return probe.first < probe.end;
	}
	uint rows = args.probe_starts != 0ul ? RQL_U32(args.probe_starts, partitions)
	                                     : rql_rows(args.probe_found, args.probe_count);
	uint64_t begin = (group - partitions + 1u) * piece;
	partition_id = 0u;
	probe = side_rows(0u, 0u);
	if (begin >= rows)
		return false;
	partition_id = args.probe_starts != 0ul ? rql_partition_of(args.probe_starts, partitions, uint(begin)) : 0u;
	probe = rows_of(args.probe_starts, partition_id, args.probe_found, args.probe_count);
	if (probe.end - probe.first <= 2u * piece || probe.first == uint(begin))
		return false;
	probe = side_rows(uint(begin), uint(begin) + min(probe.end - uint(begin), piece));
	return true;
}

void main()
{
	uint partition_id;
	side_rows probe;
	if (!piece_of(rql_group(), partition_id, probe))
		return;
	side_rows build = rows_of(args.build_starts, partition_id, args.build_found, args.build_count);
	uint kind = row_flags() & RQL_JOIN_KIND;
	if (build.first == build.end && (kind == JOIN_INNER || kind == JOIN_SEMI))
		return;
	read_columns((row_flags() >> 8u & 255u) + (row_flags() >> 16u & 255u));
#if TESTED
	build_rows = rql_rows(args.build_found, args.build_count);
	build_nulls = args.build_starts != 0ul ? build_rows - RQL_U32(args.build_starts, 1u << (args.partitions_piece >> 8u)) : 0u;
#endif
	uint tables = max((build.end - build.first + SLOTS - 1u) / SLOTS, 1u);
	bool built = false;
	for (uint first = probe.first; first < probe.end; first += ROWS * THREADS)
		probe_rows(first, probe.end, build, tables, built);
}
