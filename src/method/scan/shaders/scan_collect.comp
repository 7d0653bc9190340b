// Puts the groups of a run out and everything back at rest, when there are too many for the last workgroup of the scan.
// Groups come in any order; the host sorts them by number. Where not all are wanted, those that fail a test stay away, and
// each that is listed gets a rank: the greater, the more it is wanted. Where they are another operator's rows, their fields
// are put into the columns of a form instead.
//
// Floor: every row, of all arrays, read and written once, 16 bytes a word, at the memory's speed. Words that tests and ranks
// read once more are in the caches.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
#include "method/scan/shaders/scan_rows.glsl"
#include "method/scan/shaders/scan_entry.glsl"
#include "primitive/relation/shaders/average.glsl"
#include "primitive/relation/shaders/halves.glsl"

layout(push_constant, scalar) uniform Args { rql_scan_collect_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Wanted { rql_scan_wanted_args v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer GroupTest { rql_scan_group_test v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Column { rql_scan_group_column v; };

#define MINUS_ZERO_KEY 0x7ffffffffffffffful // of -0.0, which is equal to 0.0
shared uint64_t passed_rows[gl_WorkGroupSize.x];

// A word of a row, of all its arrays.
uint64_t word_of(uint64_t at, uint word)
{
	rql_scan_accumulator acc = args.accumulator;
	uint kind = scan_kind_of(acc, word);
	uint64_t value = ScanWord(at + uint64_t(word) * 8ul).v;
	for (uint s = 1u; s < acc.spread; s++) {
		uint64_t other = ScanWord(at + uint64_t(s) * acc.stride + uint64_t(word) * 8ul).v;
		value = rql_state_fold(kind, u64vec2(value, 0ul), u64vec2(other, 0ul)).x;
	}
	return value;
}

// A group's number: of a wide one its low and its high bits.
u64vec2 number_of(uint64_t number)
{
	if (args.accumulator.wide == 0u)
		return u64vec2(number, 0ul);
	uint64_t place = number >> RQL_SCAN_HIGH_BITS;
	return u64vec2(ScanWord(scan_low_keys(args.accumulator) + place * 8ul).v - 1ul,
	               number & ((1ul << RQL_SCAN_HIGH_BITS) - 1ul));
}

// To its place: in the result's list, or beyond its room in the second one.
void put_row(uint64_t entry, u64vec2 number, uint64_t at)
{
	bool direct = entry < args.room, wide = args.accumulator.wide != 0u;
	uint64_t list = direct ? args.accumulator.result + RQL_SCAN_STATE_WORDS * 8u : args.others;
	uint64_t room = direct ? args.room : args.capacity - args.room;
	uint64_t place = direct ? entry : entry - args.room, key_words = wide ? 2ul : 1ul;
	ScanWord(list + place * key_words * 8ul).v = (wide ? number.y : number.x) + 1ul;
	if (wide)
		ScanWord(list + (place * 2ul + 1ul) * 8ul).v = number.x;
	uint64_t to = list + (room * key_words + place * args.row_words) * 8ul;
	for (uint w = 0u; w < args.row_words; w++)
		ScanWord(to + uint64_t(w) * 8ul).v = word_of(at, w);
}

void reset_row(uint64_t at)
{
	rql_scan_accumulator acc = args.accumulator;
	for (uint s = 0u; s < acc.spread; s++)
		for (uint w = 0u; w < args.row_words; w++)
			ScanWord(at + uint64_t(s) * acc.stride + uint64_t(w) * 8ul).v = rql_state_identity(scan_kind_of(acc, w));
}

uint64_t key_of(uint kind, uint64_t word)
{
	if (kind == RQL_SCAN_KEY_INTEGER)
		return word ^ RQL_SIGN;
	if (kind == RQL_SCAN_KEY_REAL)
		return rql_key_of_equal_real(word);
	return kind != RQL_SCAN_KEY_EXTREME && word == MINUS_ZERO_KEY ? RQL_SIGN : word;
}

bool is_wanted(uint64_t at)
{
	uint count = args.wanted != 0ul ? Wanted(args.wanted).v.test_count : 0u;
	bool all = true;
	for (uint i = 0u; i < count && all; i++) {
		rql_scan_group_test test = GroupTest(args.wanted + 48ul + uint64_t(i) * 32ul).v;
		uint64_t key = key_of(test.kind, word_of(at, test.word));
		all = (test.valid == RQL_SCAN_NO_WORD || word_of(at, test.valid) != 0ul) && test.least <= key &&
		      key <= test.greatest;
	}
	return all;
}

uint64_t rank_of(uint64_t number, uint64_t at)
{
	rql_scan_wanted_args w = Wanted(args.wanted).v;
	bool group = w.kind == RQL_SCAN_KEY_GROUP;
	uint64_t key = group ? number / w.stride % w.key_count : key_of(w.kind, word_of(at, w.word));
	bool null = group ? key == w.null_key : w.valid != RQL_SCAN_NO_WORD && word_of(at, w.valid) == 0ul;
	if (null)
		return w.nulls_first != 0u ? SCAN_ONES : 0ul;
	return w.descending != 0u ? key : ~key;
}

uint64_t key_part(rql_scan_group_column c, u64vec2 number)
{
	if (c.kind == RQL_SCAN_KEY_GROUP)
		return number.x / c.stride % c.key_count;
	uint shift = uint(c.stride);
	if (shift >= RQL_SCAN_LOW_BITS)
		return number.y >> (shift - RQL_SCAN_LOW_BITS) & c.key_count;
	return (number.x >> shift | number.y << (RQL_SCAN_LOW_BITS - shift)) & c.key_count;
}

// Two words of a row, of all its arrays.
u64vec2 wide_of(uint64_t at, uint word)
{
	rql_scan_accumulator acc = args.accumulator;
	u64vec2 value = u64vec2(0ul);
	for (uint s = 0u; s < acc.spread; s++) {
		uint64_t from = at + uint64_t(s) * acc.stride + uint64_t(word) * 8ul;
		value = rql_state_add128(value, u64vec2(ScanWord(from).v, ScanWord(from + 8ul).v));
	}
	return value;
}

u64vec2 sum_of(uint64_t at, uint word, bool wide)
{
	if (wide)
		return wide_of(at, word);
	uint64_t low = word_of(at, word);
	return u64vec2(low, (low & RQL_SIGN) != 0ul ? ~0ul : 0ul);
}

// A half of a sum, or of sums of both halves: what the lower ones have beyond their bits is carried.
uint64_t half_of(rql_scan_group_column c, uint64_t at)
{
	u64vec2 sum = sum_of(at, c.word, (c.null_key & RQL_SCAN_AVERAGE_WIDE) != 0ul);
	if ((c.null_key & RQL_SCAN_HALF_OF_TWO) != 0ul)
		sum = rql_whole(sum, sum_of(at, uint(c.stride), (c.null_key & RQL_SCAN_HALF_LOW_WIDE) != 0ul));
	return c.kind == RQL_SCAN_KEY_UPPER ? rql_upper_half(sum) : rql_lower_half(sum);
}

// Its bits. The sum is there, so that the count is not 0.
uint64_t average_of(rql_scan_group_column c, uint64_t at)
{
	uint64_t count = word_of(at, uint(c.stride));
	if (c.kind == RQL_SCAN_KEY_REAL_AVERAGE)
		return rql_real_average(word_of(at, c.word), count);
	u64vec2 sum = sum_of(at, c.word, (c.null_key & RQL_SCAN_AVERAGE_WIDE) != 0ul);
	return rql_average(sum, count, c.key_count, (c.null_key & RQL_SCAN_AVERAGE_NARROW) != 0ul ? 53u : 64u);
}

// As column/form.h has it; 0 is NULL.
uint64_t field_of(rql_scan_group_column c, u64vec2 number, uint64_t at)
{
	if (c.kind == RQL_SCAN_KEY_GROUP || c.kind == RQL_SCAN_KEY_BITS) {
		uint64_t key = key_part(c, number);
		return key == c.null_key ? 0ul : c.fields != 0ul ? uint64_t(ScanU32(c.fields + key * 4ul).v) : key - c.less;
	}
	if (c.valid != RQL_SCAN_NO_WORD && word_of(at, c.valid) == 0ul)
		return 0ul;
	if (c.kind == RQL_SCAN_KEY_UPPER || c.kind == RQL_SCAN_KEY_LOWER)
		return half_of(c, at) - c.less;
	bool average = c.kind == RQL_SCAN_KEY_AVERAGE || c.kind == RQL_SCAN_KEY_REAL_AVERAGE;
	uint64_t word = average ? average_of(c, at) : word_of(at, c.word);
	if (c.kind == RQL_SCAN_KEY_INTEGER)
		return word - c.less;
	if (c.kind == RQL_SCAN_KEY_EXTREME)
		return (word ^ RQL_SIGN) - c.less;
	if (c.kind == RQL_SCAN_KEY_REAL_EXTREME)
		word = rql_real_of_key(word);
	return rql_field_of_real(word);
}

void put_fields(uint64_t entry, u64vec2 number, uint64_t at)
{
	if (entry >= args.room)
		return;
	for (uint i = 0u; i < args.column_count; i++) {
		rql_scan_group_column c = Column(args.columns + uint64_t(i) * 64ul).v;
		uint64_t field = field_of(c, number, at), to = args.others + args.room * c.offset;
		if (c.bits == 64u)
			ScanEntry64(to + entry * 8ul).v = field;
		else
			ScanEntry(to + entry * 4ul).v = uint(field);
	}
}

// Returns the rows of the group.
uint64_t take_row(uint64_t row, bool exists)
{
	rql_scan_accumulator acc = args.accumulator;
	uint64_t at = acc.rows + row * args.row_words * 8ul;
	uint64_t rows = exists && args.reset == 0u ? word_of(at, 0u) : 0ul;
	bool wanted = rows != 0ul && is_wanted(at);
	uint64_t entry = scan_new_entry(args.accumulator.state + RQL_SCAN_STATE_FOUND * 8u, wanted);
	if (wanted) {
		u64vec2 number = number_of(acc.keys != 0ul ? ScanWord(acc.keys + row * 8ul).v - 1ul : row);
		if (args.column_count != 0u)
			put_fields(entry, number, at);
		else
			put_row(entry, number, at);
		if (args.ranks != 0ul)
			ScanWord(args.ranks + entry * 8ul).v = rank_of(number.x, at);
	}
	if (exists && (rows != 0ul || args.reset != 0u))
		reset_row(at);
	if (exists && acc.keys != 0ul)
		ScanWord(acc.keys + row * 8ul).v = 0ul;
	return rows;
}

// Of all invocations of the workgroup.
void count_passed(uint64_t rows)
{
	uint t = gl_LocalInvocationIndex;
	passed_rows[t] = rows;
	barrier();
	for (uint half_ = gl_WorkGroupSize.x / 2u; half_ > 0u; half_ >>= 1u) {
		if (t < half_)
			passed_rows[t] += passed_rows[t + half_];
		barrier();
	}
	if (t == 0u && passed_rows[0] != 0ul)
		atomicAdd(ScanWord(args.accumulator.state + RQL_SCAN_STATE_PASSED * 8u).v, passed_rows[0]);
}

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	uint64_t step = uint64_t(args.groups) * gl_WorkGroupSize.x, passed = 0ul;
	for (uint64_t first = group * gl_WorkGroupSize.x; first < args.capacity; first += step) {
		uint64_t row = first + gl_LocalInvocationIndex;
		passed += take_row(row, row < args.capacity);
	}
	if (args.wanted != 0ul)
		count_passed(passed);
	if (scan_last_workgroup(args.accumulator, args.groups))
		scan_put_state(args.accumulator);
}
