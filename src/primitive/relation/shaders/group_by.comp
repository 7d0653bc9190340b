#version 460
// Group-by of rows that lie together by partitions, or of a table as it is. A workgroup finds its rows' groups in a hash
// table in shared memory, whose slots have the accumulators (group_by_places.glsl), and goes over the value columns one by
// one. Of a whole partition the groups go straight to the output; those of pieces are merged in a table in device memory,
// as are those of batches (RQL_ROWS_BATCH), and rows whose group has no place here.
// A subgroup takes ROWS times its lanes of neighbouring rows at a time. That all of them are there and have their groups
// is by far the most frequent case, which has code of its own: what bounds this kernel is the number of its instructions.
// Floor: reads every key and value once. KEY_BITS: 32 or 64. VALUE_BITS: 32: all values have 32 bits. REALS: some column's
// values are doubles.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
#include "primitive/relation/shaders/slots.glsl"
#include "primitive/shaders/ordered.glsl"
layout(push_constant, scalar) uniform rql_push { rql_group_by_args args; };
#include "primitive/relation/shaders/special.glsl"
#include "primitive/relation/shaders/group_by_table.glsl"
#include "primitive/relation/shaders/group_by_values.glsl"
#include "primitive/relation/shaders/group_by_find.glsl"
#include "primitive/relation/shaders/group_by_places.glsl"
shared uint stopped, given_up; // before rows are added, and while they are
shared uint64_t base;

struct piece_rows {
	uint first, end;
	bool whole; // all rows of a partition
};

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
		rql_slot_max(table_word_at(word + 3u, place), uint64_t(moved(value, flags)));
}

void clear(bool groups_too)
{
	if (groups_too)
		clear_keys();
	clear_places();
	if (rql_thread() == 0u) {
		stopped = RQL_U64(args.control, 1) != 0ul ? 1u : 0u;
		given_up = 0u;
	}
	barrier();
}

bool are_all_there(uint first, uint end)
{
	return first < end && end - first >= ROWS * gl_SubgroupSize;
}

// Which rows of a subgroup's are there: bit r is row first + r * lanes + lane.
uint rows_wanted(uint first, uint end)
{
	if (are_all_there(first, end))
		return ALL_ROWS;
	uint wanted = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		wanted |= first + r * gl_SubgroupSize + gl_SubgroupInvocationID < end ? 1u << r : 0u;
	return first < end ? wanted : 0u;
}

#if KEY_BITS == 32 && VALUE_BITS == 32
// A lane's rows are neighbours then.
void load_vectors(uint row, column_words column, out KEY key[ROWS], out VALUE value[ROWS])
{
	uvec4 keys = RQL_U128(args.keys + uint64_t(row) * 4ul), values = uvec4(0u);
	if (column.from != 0ul)
		values = RQL_U128(column.from + uint64_t(row) * 4ul);
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		key[r] = keys[r];
		value[r] = value_of(values[r], column.flags);
	}
}
#endif

void load_rows(uint first, uint end, column_words column, out KEY key[ROWS], out VALUE value[ROWS])
{
	uint row = first + gl_SubgroupInvocationID;
#if KEY_BITS == 32 && VALUE_BITS == 32
	if ((row_flags() & RQL_ROWS_VECTORS) != 0u && are_all_there(first, end)) {
		load_vectors(first + ROWS * gl_SubgroupInvocationID, column, key, value);
		return;
	}
#endif
	if (are_all_there(first, end)) {
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			load_row(row + r * gl_SubgroupSize, column, key[r], value[r]);
		return;
	}
	uint wanted = rows_wanted(first, end);
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		key[r] = EMPTY;
		value[r] = VALUE(0);
		if (IS(wanted, r))
			load_row(row + r * gl_SubgroupSize, column, key[r], value[r]);
	}
}

// `slots` and `present`, the rows that have one: found here, but where they are known.
void add_rows(uint wanted, column_words column, in KEY key[ROWS], in VALUE value[ROWS], inout uint slots[ROWS],
              inout uint present, bool known)
{
	bool counted = column.index == 0u;
	uint copy = (rql_thread() & (args.copies - 1u)) * (SLOTS + 1u);
	uint place[ROWS];
	if (!known)
		present = find_slots(key, wanted, slots);
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		place[r] = copy + slots[r];
	if (subgroupAll(present == ALL_ROWS)) {
		add_present(ALL_ROWS, place, value, column.flags, counted);
		return;
	}
	add_present(present, place, value, column.flags, counted);
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		if (IS(wanted & ~present, r))
			add_table(key[r], column.index, column.flags, value[r], counted);
}

// Whether what was asked for is lost anyway, as the guess of the groups was far too low: the sooner that is seen the
// better. A subgroup at a time, which then goes on without adding.
bool is_lost()
{
	uint64_t unplaced = subgroupElect() ? atomicOr(RQL_U64(args.control, 1), 0ul) : 0ul;
	bool lost = subgroupAny(unplaced != 0ul);
	if (lost)
		given_up = 1u;
	return lost;
}

// All rows of a piece to the accumulators; the next rows are under way while some are added. `slots`, `present`: those of
// a piece that is one sweep.
void add_piece(piece_rows piece, column_words column, inout uint slots[ROWS], inout uint present, inout held_words held)
{
	const uint sweep = ROWS * THREADS;
	bool known = column.index != 0u && piece.end - piece.first <= sweep, lost = false;
	uint own = ROWS * gl_SubgroupSize * gl_SubgroupID, rows = 0u, sweeps = 0u;
	KEY key[ROWS];
	VALUE value[ROWS];
	load_rows(piece.first + own, piece.end, column, key, value);
	clear(column.index == 0u);
	if (stopped != 0u)
		return;
	for (uint first = piece.first; first < piece.end; first += sweep) {
		KEY next_key[ROWS];
		VALUE next_value[ROWS];
		load_rows(first + sweep + own, piece.end, column, next_key, next_value);
		rows += sweep;
		if (rows > TALLY_ROWS) {
			barrier();
			hold_tallies(held);
			barrier();
			rows = sweep;
		}
		if ((++sweeps & 15u) == 0u && !lost)
			lost = is_lost();
		uint wanted = lost ? 0u : rows_wanted(first + own, piece.end);
		add_rows(wanted, column, key, value, slots, present, known);
		key = next_key;
		value = next_value;
	}
	barrier();
	hold_tallies(held);
	barrier();
}

// A group into the device's table.
void merge_group(KEY key, column_words column, group_words g)
{
	uint place = table_place(key), word = 1u + column.index * RQL_MERGE_WORDS;
	if (place == NO_PLACE) {
		atomicAdd(RQL_U64(args.control, 1), 1ul);
		return;
	}
	if (column.index == 0u)
		rql_slot_add64(table_word_at(0u, place), uint64_t(g.count));
#ifdef REALS
	if (is_real_sum(column.flags)) {
		add_real_table(table_word_at(word, place), g.low);
		return;
	}
#endif
	if ((column.flags & RQL_GROUP_SUM) != 0u)
		rql_slot_add128(table_word_at(word, place), table_word_at(word + 1u, place), g.low, g.high);
	if ((column.flags & RQL_GROUP_MIN) != 0u)
		rql_slot_min(table_word_at(word + 2u, place), uint64_t(g.least));
	if ((column.flags & RQL_GROUP_MAX) != 0u)
		rql_slot_max(table_word_at(word + 3u, place), uint64_t(g.greatest));
}

// The groups of this workgroup's whole partition get their places in the output. Returns those before the thread's own.
uint take_places()
{
	uint own = 0u, total;
	for (uint k = 0u; k < HELD; k++)
		own += rql_thread() + k * THREADS <= SLOTS && is_used(rql_thread() + k * THREADS) ? 1u : 0u;
	uint before = rql_before(own, total);
	if (rql_thread() == 0u)
		base = total != 0u ? atomicAdd(RQL_U64(args.control, 0), uint64_t(total)) : 0ul;
	barrier();
	return before;
}

void put_out(piece_rows piece, column_words column, uint before, in held_words held)
{
	[[unroll]] for (uint k = 0u; k < RQL_GROUP_HELD_MOST; k++) {
		uint slot = rql_thread() + k * THREADS;
		if (k >= HELD || slot > SLOTS || !is_used(slot))
			continue;
		group_words g = gather(k, held, column.flags);
		if (!piece.whole) {
			merge_group(key_of_slot(slot), column, g);
			continue;
		}
		uint64_t place = base + before++;
		if (place >= args.capacity)
			break;
		if (column.index == 0u)
			RQL_KEY(args.keys_out, place) = key_of_slot(slot);
		write_group(place, column, g);
	}
}

// Is a workgroup's work a partition, or the rest of one that is its own number's cut? All partitions come first. Where other
// kernels have those of few rows, the others come last, by a list.
bool is_partition(uint64_t group, out uint partition_id, out uint64_t cut)
{
	if (args.work == 0ul) {
		partition_id = uint(group);
		cut = group - args.partitions + 1u;
		return group < args.partitions;
	}
	cut = group + 1u;
	partition_id = group < cut_pieces() ? 0u : RQL_U32(args.large, uint(group) - cut_pieces());
	return group >= cut_pieces();
}

// As join.comp cuts partitions into pieces.
bool piece_of(uint64_t group, out piece_rows piece)
{
	uint size = 1u << args.piece_log2, partition_id;
	uint64_t cut;
	uint rows = args.starts != 0ul ? RQL_U32(args.starts, args.partitions) : rql_rows(args.found, args.count);
	piece = piece_rows(0u, rows, true);
	if (args.work != 0ul && group >= RQL_U64(args.work, 0))
		return false;
	if (is_partition(group, partition_id, cut)) {
		if (args.starts != 0ul) {
			piece.first = RQL_U32(args.starts, partition_id);
			piece.end = RQL_U32(args.starts, partition_id + 1u);
		}
		if (piece.end - piece.first > 2u * size) {
			piece.end = (piece.first / size + 1u) * size;
			piece.whole = false;
		}
		piece.whole = piece.whole && (row_flags() & RQL_ROWS_BATCH) == 0u;
		return piece.first < piece.end;
	}
	uint64_t begin = cut * size;
	if (begin >= rows)
		return false;
	if (args.starts != 0ul) {
		partition_id = rql_partition_of(args.starts, args.partitions, uint(begin));
		piece.first = RQL_U32(args.starts, partition_id);
		piece.end = RQL_U32(args.starts, partition_id + 1u);
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
	uint slots[ROWS], present = 0u, before = 0u;
	for (uint c = 0u; c < max(args.column_count, 1u); c++) {
		column_words column = column_at(c);
		held_words held;
		[[unroll]] for (uint k = 0u; k < RQL_GROUP_HELD_MOST; k++)
			held.count[k] = held.top[k] = 0u;
		add_piece(piece, column, slots, present, held);
		if (stopped != 0u || given_up != 0u)
			return;
		if (c == 0u && piece.whole)
			before = take_places();
		put_out(piece, column, before, held);
		barrier();
	}
}
