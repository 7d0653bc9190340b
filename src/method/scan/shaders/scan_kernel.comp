// The fused scan: the frame of every request's kernel, and the functions that its generated code calls. scan_code.c
// replaces the bodies of scan_test_rows and scan_take_row below, which are straight lines of calls; every branch is
// here.
//
// A subgroup takes tiles of 128 rows a lane (32 when a test has a set). First stage: tests of 32 rows at once, with words
// of bits as the result, by bit planes, or of packed fields in sets. Second stage: the rows that passed are closed up, a
// lane each, so that few of them do not leave lanes idle; columns that only they need are read in their 32-byte sectors
// alone. No workgroup waits for another until it is done, so that loads of many tiles are in flight.
//
// Floor: the planes that are tested, plus the 32-byte sectors of the others that hold a row which is wanted, at the
// memory's speed; and about 4 us of launch. A plane and range takes three instructions a word, so the first stage is a
// tenth of an instruction a row and plane; the second is about a hundred a row that passes: as long as 15 bytes on an
// H200.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#include "method/scan/shaders/scan_rows.glsl"

layout(constant_id = 1) const uint MODE = 0u;
layout(constant_id = 2) const uint ROW_WORDS = 1u;
layout(constant_id = 3) const uint SHARED_WORDS = 2u;    // 32-bit halves of rows in shared memory: low ones first
layout(constant_id = 4) const uint SHARED_EXTREMES = 1u; // whole words of them, when some slot needs such
layout(constant_id = 5) const uint SET_WORDS = 1u;
layout(constant_id = 6) const uint COPIES = 1u; // of the rows in shared memory; a power of two
layout(constant_id = 7) const uint WHOLE = 1u;  // the last workgroup puts the rows out
// Lanes of a subgroup run in step and need no barrier: llvmpipe, where one is a barrier of the workgroup (Mesa 25.0.7).
layout(constant_id = 8) const bool LOCKSTEP = false;
layout(constant_id = 9) const uint WORDS = 1u; // of 32 rows: what a lane tests at once: 1, 2 or 4

layout(push_constant, scalar) uniform Args { rql_scan_args args; };

#define LIST_ROWS 4u // rows a lane that are closed up at once
shared uint scan_list[gl_WorkGroupSize.x * LIST_ROWS];
shared uint scan_masks[gl_WorkGroupSize.x * WORDS];
shared uint scan_sets[SET_WORDS];
shared uint scan_sums[SHARED_WORDS];
shared uint64_t scan_extremes[SHARED_EXTREMES];

uint64_t scan_registers[RQL_SCAN_SCALAR_WORDS]; // mode SCALAR: this invocation's row
uint64_t scan_row_at;                           // mode GLOBAL: the row's address
uint scan_group_at;                             // mode SHARED

// ---- what the generated code calls ----

uint64_t scan_param(const uint index)
{
	return ScanU64(args.params + uint64_t(index) * 8ul).v;
}

uint64_t scan_ref_of(const uint64_t item, const uint index)
{
	return item + uint64_t(RQL_SCAN_ITEM_HEAD + index * RQL_SCAN_REF_BYTES);
}
// Fields: data, bits and how, a. Planes: data, those wanted.
uvec4 scan_ref_head(const uint64_t ref)
{
	return ScanU32x4(ref).v;
}
// Fields: b, place of the set, table. Planes: two ranges.
uvec4 scan_ref_rest(const uint64_t ref)
{
	return ScanU32x4(ref + 16ul).v;
}
// Planes: two more.
uvec4 scan_ref_ranges(const uint64_t ref)
{
	return ScanU32x4(ref + 48ul).v;
}

uint64_t scan_table_of(const uvec4 rest)
{
	return packUint2x32(rest.zw);
}
uint64_t scan_chunk_at(const uvec4 head, const uint chunk, const uint bytes)
{
	return packUint2x32(head.xy) + uint64_t(chunk * bytes);
}
uvec4 scan_load4(const uint64_t at, const uint offset, const bool live)
{
	uvec4 v = uvec4(0u);
	if (live)
		v = ScanU32x4(at + uint64_t(offset)).v;
	return v;
}
uvec2 scan_load2(const uint64_t at, const uint offset, const bool live)
{
	uvec2 v = uvec2(0u);
	if (live)
		v = ScanU32x2(at + uint64_t(offset)).v;
	return v;
}
uint scan_load1(const uint64_t at, const uint offset, const bool live)
{
	uint v = 0u;
	if (live)
		v = ScanU32(at + uint64_t(offset)).v;
	return v;
}

// Field `row` of at most 32 bits; a field lies in two neighbouring words at most, and the second is readable behind
// the last one too.
uint scan_narrow_field(const uint64_t data, const uint bits, const uint row)
{
	if (bits == 0u)
		return 0u;
	uint bit = row * bits;
	ScanU32 at = ScanU32(data + uint64_t((bit >> 5) * 4u));
	uint64_t word = packUint2x32(uvec2(at[0].v, at[1].v));
	return uint(word >> (bit & 31u)) & (0xffffffffu >> (32u - bits));
}

uint64_t scan_any_field(const uint64_t data, const uint bits, const uint row)
{
	if (bits <= 32u)
		return uint64_t(scan_narrow_field(data, bits, row));
	uint bit = row * bits, shift = bit & 63u;
	ScanU64 at = ScanU64(data + uint64_t((bit >> 6) * 8u));
	uint64_t word = at[0].v;
	if (bits == 64u)
		return word;
	word >>= shift;
	if (shift + bits > 64u)
		word |= at[1].v << (64u - shift);
	return word & ((1ul << bits) - 1ul);
}

// Bit `index` of a set in shared memory, which has `span` of them.
uint scan_in_set(const uint index, const uint span, const uint set_at)
{
	uint bit = 0u;
	if (index < span)
		bit = (scan_sets[set_at + (index >> 5)] >> (index & 31u)) & 1u;
	return bit;
}

// The same of a set in device memory, for a row that is still wanted: the loads of 32 rows are in flight at once.
uint scan_in_table(const uint index, const uint span, const uint64_t table, const uint wanted)
{
	uint bit = 0u;
	if (wanted != 0u && index < span)
		bit = (ScanU32(table + uint64_t(index >> 5) * 4ul).v >> (index & 31u)) & 1u;
	return bit;
}

// A test with a set that the generated code has no fields' places for: another width, or a set in device memory. fast:
// it has.
uint scan_slow_test(const uvec4 head, const uvec4 rest, const uint chunk, const uint mask, const bool fast)
{
	uint how = (head.z >> 8) & 0xffu, bits = head.z & 0xffu;
	if (fast || how == RQL_SCAN_HOW_ALL)
		return 0xffffffffu;
	if (how == RQL_SCAN_HOW_NONE)
		return 0u;
	uint64_t data = packUint2x32(head.xy), table = packUint2x32(rest.zw);
	uint found = 0u;
	for (uint left = mask; left != 0u; left &= left - 1u) {
		uint row = uint(findLSB(left));
		uint index = scan_narrow_field(data, bits, chunk * RQL_SCAN_TEST_ROWS + row) + head.w;
		bool pass;
		if (how == RQL_SCAN_HOW_GLOBAL)
			pass = index < rest.x && ((ScanU32(table + uint64_t(index >> 5) * 4ul).v >> (index & 31u)) & 1u) != 0u;
		else
			pass = scan_in_set(index, rest.x, rest.y) != 0u;
		found |= pass ? 1u << row : 0u;
	}
	return found;
}

// Which of a word's rows are not NULL.
uint scan_valid_word(const uint64_t ref, const uint chunk)
{
	uint64_t valid = ScanU64(ref + 32ul).v;
	if (valid <= 1ul)
		return valid == 0ul ? 0xffffffffu : 0u;
	return ScanU32(valid + uint64_t(chunk * 4u)).v;
}
// The same of two words, and of four.
uvec2 scan_valid_pair(const uint64_t ref, const uint chunk)
{
	uint64_t valid = ScanU64(ref + 32ul).v;
	if (valid <= 1ul)
		return uvec2(valid == 0ul ? 0xffffffffu : 0u);
	return ScanU32x2(valid + uint64_t(chunk * 8u)).v;
}
uvec4 scan_valid_words(const uint64_t ref, const uint chunk)
{
	uint64_t valid = ScanU64(ref + 32ul).v;
	if (valid <= 1ul)
		return uvec4(valid == 0ul ? 0xffffffffu : 0u);
	return ScanU32x4(valid + uint64_t(chunk * 16u)).v;
}
bool scan_is_all(const uvec4 head)
{
	return ((head.z >> 8) & 0xffu) == RQL_SCAN_HOW_ALL;
}

bool scan_valid(const uint64_t ref, const uint row, const bool live)
{
	bool valid = true;
	if (live)
		valid = ((scan_valid_word(ref, row >> 5) >> (row & 31u)) & 1u) != 0u;
	return valid;
}
uint scan_code(const uint64_t ref, const uint row, const bool live)
{
	uint code = 0u;
	if (live) {
		uvec4 head = scan_ref_head(ref);
		code = head.w + scan_narrow_field(packUint2x32(head.xy), head.z & 0xffu, row);
	}
	return code;
}
uint scan_translated(const uint64_t ref, const uint row, const bool live)
{
	uint code = scan_code(ref, row, live);
	if (live) {
		uint64_t table = ScanU64(ref + 24ul).v;
		if (table != 0ul)
			code = ScanU32(table + uint64_t(code) * 4ul).v;
	}
	return code;
}
uint64_t scan_integer(const uint64_t ref, const uint row, const bool live)
{
	uint64_t value = 0ul;
	if (live) {
		uvec4 head = scan_ref_head(ref);
		uint base = ScanU32(ref + 16ul).v;
		value = packUint2x32(uvec2(head.w, base)) + scan_any_field(packUint2x32(head.xy), head.z & 0xffu, row);
	}
	return value;
}
// The double of a FLOAT.
uint64_t scan_widened(const uint64_t bits)
{
#if SCAN_REAL
	return packUint2x32(unpackDouble2x32(double(uintBitsToFloat(uint(bits)))));
#else
	return bits;
#endif
}
// The bits of a double as an integer that orders as SQL does: NaN above all, -0.0 beside 0.0.
uint64_t scan_real_key(const uint64_t bits)
{
	uint64_t magnitude = bits & 0x7ffffffffffffffful;
	if (magnitude > 0x7ff0000000000000ul)
		return 0xfff8000000000000ul;
	if (magnitude == 0ul)
		return 0x8000000000000000ul;
	return (bits >> 63) != 0ul ? ~bits : bits | 0x8000000000000000ul;
}

// Join maps: {bits, found, least, span | width << 32, table, capacity - 1}.
uint scan_map_found(const uint64_t map, const uint64_t key, const bool live)
{
	uint found = 0u;
	if (!live)
		return found;
	uint64_t table = ScanU64(map + 32ul).v;
	if (table == 0ul) {
		uvec2 shape = ScanU32x2(map + 24ul).v;
		uint64_t at = key - ScanU64(map + 16ul).v;
		if (at < uint64_t(shape.x)) {
			uint64_t byte = ScanU64(map + 8ul).v + at * shape.y;
			found = ScanU32(byte & ~3ul).v >> ((uint(byte) & 3u) * 8u);
			found &= shape.y == 4u ? 0xffffffffu : (1u << (shape.y * 8u)) - 1u;
		}
		return found;
	}
	uint64_t mask = ScanU64(map + 40ul).v, hash = key * 0x9e3779b97f4a7c15ul;
	uint64_t at = (hash ^ (hash >> 32)) & mask;
	for (uint64_t tries = 0ul; tries <= mask; tries++) {
		uvec4 entry = ScanU32x4(table + at * 16ul).v;
		if (entry.z == 0u || packUint2x32(entry.xy) == key)
			return entry.z;
		at = (at + 1ul) & mask;
	}
	return 0u;
}
bool scan_map_has(const uint64_t map, const uint64_t key, const bool live)
{
	bool has = false;
	if (live) {
		uint64_t at = key - ScanU64(map + 16ul).v;
		if (at < uint64_t(ScanU32(map + 24ul).v))
			has = ((ScanU32(ScanU64(map).v + (at >> 5) * 4ul).v >> (uint(at) & 31u)) & 1u) != 0u;
	}
	return has;
}

uint scan_u32_at(const uint64_t table, const uint64_t index, const bool live)
{
	uint v = 0u;
	if (live)
		v = ScanU32(table + index * 4ul).v;
	return v;
}
uint64_t scan_u64_at(const uint64_t table, const uint64_t index, const bool live)
{
	uint64_t v = 0ul;
	if (live)
		v = ScanU64(table + index * 8ul).v;
	return v;
}
bool scan_bit_at(const uint64_t table, const uint64_t index, const bool live)
{
	bool v = false;
	if (live)
		v = ((ScanU32(table + (index >> 5) * 4ul).v >> (uint(index) & 31u)) & 1u) != 0u;
	return v;
}

// a * b does not fit int64.
bool scan_product_overflows(const uint64_t a, const uint64_t b)
{
	bool negative = ((a ^ b) >> 63) != 0ul;
	uint64_t x = (a >> 63) != 0ul ? ~a + 1ul : a, y = (b >> 63) != 0ul ? ~b + 1ul : b;
	uint64_t x1 = x >> 32, y1 = y >> 32, x0 = x & 0xfffffffful, y0 = y & 0xfffffffful;
	if (x1 != 0ul && y1 != 0ul)
		return true;
	uint64_t middle = x1 * y0 + x0 * y1, low = x0 * y0;
	if ((middle >> 32) != 0ul)
		return true;
	uint64_t sum = low + (middle << 32);
	return sum < low || sum > (negative ? 0x8000000000000000ul : 0x7ffffffffffffffful);
}

// Days since 1970 to year, month, day and day of the year (from 1). Years begin in March here, so that leap days are
// the last of theirs; 146097 days are 400 years. 64 bits only where DATE is far beyond what anybody stores.
ivec4 civil_of(int64_t day)
{
	uint era, rest;
	int eras = 7400;
	if (day >= -1000000000l && day <= 1000000000l) {
		uint z = uint(int(day) + 719468 + 1081117800);
		era = z / 146097u;
		rest = z % 146097u;
	} else {
		uint64_t z = uint64_t(day + 719468l + 2922086097l);
		eras = 20001;
		era = uint(z / 146097ul);
		rest = uint(z % 146097ul);
	}
	uint of_era = (rest - rest / 1460u + rest / 36524u - rest / 146096u) / 365u;
	uint of_year = rest - (365u * of_era + of_era / 4u - of_era / 100u), march = (5u * of_year + 2u) / 153u;
	int year = int(of_era) + (int(era) - eras) * 400;
	int dom = int(of_year - (153u * march + 2u) / 5u) + 1, month = march < 10u ? int(march) + 3 : int(march) - 9;
	bool leap = (of_era % 4u == 0u && of_era % 100u != 0u) || of_era == 0u;
	int from_january = march < 10u ? int(of_year) + (leap ? 61 : 60) : int(of_year) - 305;
	return ivec4(month <= 2 ? year + 1 : year, month, dom, from_january);
}

// enum rql_date_part of a finite day.
uint scan_date_part(const uint days, const uint part)
{
	int64_t day = int64_t(int(days));
	uint weekday = uint((day + 2147483649l) % 7l); // Monday is 0
	ivec4 c = civil_of(part == 4u ? day - int64_t(weekday) + 3l : day);
	switch (part) {
	case 0u:
		return uint(c.x);
	case 1u:
		return uint(c.y);
	case 2u:
		return uint(c.z);
	case 3u:
		return uint(c.y + 2) / 3u;
	case 4u: // of the year of the week's Thursday
		return uint(c.w - 1) / 7u + 1u;
	case 5u:
		return (weekday + 1u) % 7u;
	case 6u:
		return weekday + 1u;
	default:
		return uint(c.w);
	}
}

void scan_fail(const bool failed)
{
	if (failed)
		atomicMax(ScanWord(args.accumulator.state + RQL_SCAN_STATE_FAILED * 8u).v, 1ul);
}

// ---- adding ----

// The upper half of a word, so that neighbouring lanes' words are in neighbouring banks.
#define HIGH_HALF (SHARED_WORDS / 2u)

uint shared_at(uint group, uint word)
{
	return (group * ROW_WORDS + word) * COPIES + (gl_LocalInvocationIndex & (COPIES - 1u));
}

// Adds to a row in shared memory. Halves, because 32-bit atomics are single instructions there and 64-bit ones loops.
void add_shared(uint group, uint kind, uint word, u64vec2 value)
{
	uint at = shared_at(group, word);
	if (kind == RQL_SCAN_WORD_SUM || kind == RQL_SCAN_WORD_WIDE) {
		uvec2 v = unpackUint2x32(value.x);
		uint carry = 0u;
		if (v.x != 0u) {
			uint before = atomicAdd(scan_sums[at], v.x);
			carry = before + v.x < before ? 1u : 0u;
		}
		if (kind == RQL_SCAN_WORD_SUM) {
			if (v.y + carry != 0u)
				atomicAdd(scan_sums[HIGH_HALF + at], v.y + carry);
			return;
		}
		// Each of the upper words: the value's, then the carry into it, each of which may carry on.
		uint next = shared_at(group, word + 1u);
		uvec2 u = unpackUint2x32(value.y);
		uint parts[3] = {v.y, u.x, u.y}, places[3] = {HIGH_HALF + at, next, HIGH_HALF + next};
		[[unroll]] for (uint i = 0u; i < 3u; i++) {
			uint out_carry = 0u;
			if (parts[i] != 0u) {
				uint before = atomicAdd(scan_sums[places[i]], parts[i]);
				out_carry = before + parts[i] < before ? 1u : 0u;
			}
			if (carry != 0u) {
				uint before = atomicAdd(scan_sums[places[i]], 1u);
				out_carry += before == 0xffffffffu ? 1u : 0u;
			}
			carry = out_carry;
		}
#if SCAN_REAL
	} else if (kind == RQL_SCAN_WORD_REAL) {
		uint64_t now = scan_extremes[at], before;
		do {
			before = now;
			now = atomicCompSwap(scan_extremes[at], before, scan_add_reals(before, value.x));
		} while (now != before);
#endif
	} else if (kind == RQL_SCAN_WORD_MIN) {
		atomicMin(scan_extremes[at], value.x);
	} else {
		atomicMax(scan_extremes[at], value.x);
	}
}

// Folds a value into word `word` of the present group's row.
void scan_add(const uint kind, const uint word, const uint64_t low, const uint64_t high, const bool live)
{
	if (MODE == RQL_SCAN_MODE_SCALAR) {
		u64vec2 value = live ? u64vec2(low, high) : u64vec2(scan_identity(kind), 0ul);
		bool wide = kind == RQL_SCAN_WORD_WIDE;
		u64vec2 now = u64vec2(scan_registers[word], 0ul);
		if (wide)
			now.y = scan_registers[word + 1u];
		now = scan_fold(kind, now, value);
		scan_registers[word] = now.x;
		if (wide)
			scan_registers[word + 1u] = now.y;
	} else if (MODE == RQL_SCAN_MODE_SHARED) {
		if (live)
			add_shared(scan_group_at, kind, word, u64vec2(low, high));
	} else if (live && scan_row_at != 0ul) {
		scan_atomic(kind, scan_row_at + uint64_t(word * 8u), u64vec2(low, high));
	}
}

// The row that the next additions go to, and a row more in it.
void scan_begin_row(const uint64_t group, const bool live)
{
	if (MODE == RQL_SCAN_MODE_SHARED)
		scan_group_at = uint(group);
	else if (MODE == RQL_SCAN_MODE_GLOBAL)
		scan_row_at = live ? scan_find_row(args.accumulator, ROW_WORDS, group) : 0ul;
	scan_add(RQL_SCAN_WORD_SUM, 0u, 1ul, 0ul, live);
}

// ---- what is generated ----
// These bodies are never run. They call every function that generated code may call, because the compiler leaves out
// those that nobody calls, and use the types that it needs.

// Which of a lane's rows (mask) pass the tests. One word: the first.
uvec4 scan_test_rows(const uint64_t item, const uint chunk, const uvec4 mask)
{
	uint64_t ref = scan_ref_of(item, 0u);
	uvec4 head = scan_ref_head(ref), rest = scan_ref_rest(ref) + scan_ref_ranges(ref);
	uint64_t at = scan_chunk_at(head, chunk, 4u);
	uint words = scan_load4(at, 0u, true).x | scan_load2(at, 0u, true).x | scan_load1(at, 0u, true);
	uint found = scan_in_set(words, rest.x, rest.y) | scan_slow_test(head, rest, chunk, mask.x, false);
	found |= scan_in_table(words, rest.x, scan_table_of(rest), mask.x);
	found |= scan_valid_pair(ref, chunk).x | scan_valid_word(ref, chunk);
	return scan_is_all(head) ? mask : scan_valid_words(ref, chunk) & found;
}
// What remains to be tested of a row, and its group and values.
void scan_take_row(const uint64_t item, const uint row, const bool live)
{
	uint64_t ref = scan_ref_of(item, 0u), map = scan_param(0u);
	uint64_t value = scan_integer(ref, row, live) + scan_real_key(scan_widened(map));
	value += uint64_t(scan_code(ref, row, live) + scan_translated(ref, row, live) + scan_map_found(map, value, live));
	value += scan_u64_at(map, value, live) + uint64_t(scan_u32_at(map, value, live));
	bool pass = scan_valid(ref, row, live) && scan_map_has(map, value, live) && scan_bit_at(map, value, live);
	value += uint64_t(scan_date_part(row, row));
	scan_fail(scan_product_overflows(map, value));
	scan_begin_row(value, pass);
	scan_add(RQL_SCAN_WORD_SUM, 0u, value, value, pass);
}

// ---- tiles ----

uint lane_of()
{
	return gl_SubgroupInvocationID;
}

// Wait for the other lanes' writes to shared memory.
void sync_lanes()
{
	subgroupMemoryBarrierShared();
	if (!LOCKSTEP)
		subgroupBarrier();
}

uint rows_of_word(uint rows, uint first)
{
	return first >= rows ? 0u : rows - first >= 32u ? 0xffffffffu : (1u << (rows - first)) - 1u;
}

// Which of a lane's rows pass; its chunk is one of item `index`.
uvec4 test_chunk(uint chunk, uint index)
{
	uint64_t item = args.items + uint64_t(index) * args.item_bytes;
	uint rows = ScanU32(item).v, in_block = chunk % (RQL_SCAN_BLOCK_WORDS / WORDS), first = in_block * WORDS * 32u;
	uvec4 mask = uvec4(0u);
	[[unroll]] for (uint w = 0u; w < WORDS; w++)
		mask[w] = rows_of_word(rows, first + w * 32u);
	return scan_test_rows(item, in_block, mask);
}

// A row's entry is (item << 12 | row).
void take_entry(uint entry, bool live)
{
	scan_take_row(args.items + uint64_t(entry >> 12) * args.item_bytes, entry & 4095u, live);
}

// Nearly all rows of a tile pass: each as it stands.
void take_all(uint first_chunk, uvec4 mask)
{
	uint lane = lane_of(), size = gl_SubgroupSize, masks_at = gl_SubgroupID * size * WORDS;
	[[unroll]] for (uint w = 0u; w < WORDS; w++)
		scan_masks[masks_at + lane * WORDS + w] = mask[w];
	sync_lanes();
	for (uint i = lane; i - lane < size * WORDS * 32u; i += size) {
		bool live = ((scan_masks[masks_at + (i >> 5)] >> (i & 31u)) & 1u) != 0u;
		uint entry = first_chunk * WORDS * 32u + i;
		take_entry(min(entry, (args.item_count << 12) - 1u), live);
	}
	sync_lanes();
}

// Rows that passed are closed up in a list of entries which outlives the tile, so that the second stage nearly always
// has a row for every lane, however few of a tile pass.
void take_tiles(uint workgroup)
{
	uint lane = lane_of(), size = gl_SubgroupSize;
	uint list_at = gl_SubgroupID * size * LIST_ROWS, capacity = size * LIST_ROWS;
	uint chunks = args.item_count * (RQL_SCAN_BLOCK_WORDS / WORDS), tiles = (chunks + size - 1u) / size;
	uint step = (args.groups * gl_NumSubgroups - 1u) * args.visit, held = 0u, visited = 0u;
	for (uint tile = (workgroup * gl_NumSubgroups + gl_SubgroupID) * args.visit;; tile++) {
		// A block's tiles one after the other: its references come from the nearest cache then.
		if (visited == args.visit) {
			visited = 0u;
			tile += step;
		}
		visited++;
		bool more = tile < tiles; // else the list is emptied
		uint chunk = tile * size + lane;
		uvec4 mask = uvec4(0u);
		if (more && chunk < chunks)
			mask = test_chunk(chunk, chunk / (RQL_SCAN_BLOCK_WORDS / WORDS));
		ivec4 counts = bitCount(mask);
		uint count = uint(counts.x + counts.y + counts.z + counts.w);
		uint end = subgroupInclusiveAdd(count), rank = end - count, base = 0u;
		uint total = subgroupShuffle(end, size - 1u), at = chunk * WORDS * 32u;
		if (total * 4u >= size * WORDS * 32u * 3u) {
			take_all(tile * size, mask);
			continue;
		}
		do {
			uint added = min(capacity - held, total - base), stop = min(end, base + added);
			while (rank < stop) {
				if (mask.x == 0u) {
					mask = uvec4(mask.yzw, 0u);
					at += 32u;
				} else {
					scan_list[list_at + held + rank - base] = at + uint(findLSB(mask.x));
					mask.x &= mask.x - 1u;
					rank++;
				}
			}
			held += added;
			base += added;
			uint from = more ? held & (size - 1u) : 0u, n = held - from;
			held = from;
			if (n == 0u)
				continue;
			sync_lanes();
			for (uint i = lane; i - lane < n; i += size)
				take_entry(scan_list[list_at + from + (i < n ? i : 0u)], i < n);
			sync_lanes();
		} while (base < total);
		if (!more)
			break;
	}
}

// ---- shared rows ----

uint kind_of(uint word)
{
	return ScanU32(args.accumulator.kinds + uint64_t(word) * 4ul).v;
}

void clear_shared()
{
	uint id = gl_LocalInvocationIndex, size = gl_WorkGroupSize.x;
	for (uint i = id; i < SHARED_WORDS; i += size)
		scan_sums[i] = 0u;
	for (uint i = id; i < SHARED_EXTREMES; i += size)
		scan_extremes[i] = SHARED_EXTREMES > 1u ? scan_identity(kind_of(i / COPIES % ROW_WORDS)) : 0ul;
	for (uint i = id; i < args.set_words; i += size)
		scan_sets[i] = ScanU32(args.sets + uint64_t(i) * 4ul).v;
	memoryBarrierShared();
	barrier();
}

uint64_t shuffled(uint64_t v, uint distance)
{
	return packUint2x32(subgroupShuffleXor(unpackUint2x32(v), distance));
}

// The registers of all invocations to the workgroup's row.
void settle_registers()
{
	[[unroll]] for (uint w = 0u; w < RQL_SCAN_SCALAR_WORDS; w++) {
		if (w >= ROW_WORDS)
			break;
		uint kind = kind_of(w);
		if (kind == RQL_SCAN_WORD_HIGH)
			continue;
		u64vec2 value = u64vec2(scan_registers[w], kind == RQL_SCAN_WORD_WIDE && w + 1u < RQL_SCAN_SCALAR_WORDS
		                                               ? scan_registers[min(w + 1u, RQL_SCAN_SCALAR_WORDS - 1u)]
		                                               : 0ul);
		for (uint d = 1u; d < gl_SubgroupSize; d <<= 1)
			value = scan_fold(kind, value, u64vec2(shuffled(value.x, d), shuffled(value.y, d)));
		if (lane_of() == 0u)
			add_shared(0u, kind, w, value);
	}
}

uint64_t shared_word(uint group, uint kind, uint word, uint copy)
{
	uint at = (group * ROW_WORDS + word) * COPIES + copy;
	if (kind <= RQL_SCAN_WORD_HIGH)
		return packUint2x32(uvec2(scan_sums[at], scan_sums[HIGH_HALF + at]));
	return scan_extremes[at];
}

// The workgroup's rows to those in device memory.
void merge_shared()
{
	memoryBarrierShared();
	barrier();
	uint words = args.group_count * ROW_WORDS;
	for (uint i = gl_LocalInvocationIndex; i < words; i += gl_WorkGroupSize.x) {
		uint group = i / ROW_WORDS, word = i % ROW_WORDS, kind = kind_of(word);
		if (kind == RQL_SCAN_WORD_HIGH)
			continue;
		u64vec2 value = u64vec2(scan_identity(kind), 0ul);
		for (uint c = 0u; c < COPIES; c++) {
			uint64_t high = kind == RQL_SCAN_WORD_WIDE ? shared_word(group, RQL_SCAN_WORD_HIGH, word + 1u, c) : 0ul;
			value = scan_fold(kind, value, u64vec2(shared_word(group, kind, word, c), high));
		}
		if (kind != RQL_SCAN_WORD_WIDE || (value.x | value.y) != 0ul)
			scan_atomic(kind, args.accumulator.rows + uint64_t(i) * 8ul, value);
	}
}

void main()
{
	uint workgroup = uint(rql_group());
	if (workgroup >= args.groups)
		return;
	[[unroll]] for (uint w = 0u; w < RQL_SCAN_SCALAR_WORDS; w++)
		scan_registers[w] = MODE == RQL_SCAN_MODE_SCALAR && w < ROW_WORDS ? scan_identity(kind_of(w)) : 0ul;
	clear_shared();
	take_tiles(workgroup);
	if (MODE == RQL_SCAN_MODE_SCALAR)
		settle_registers();
	if (MODE != RQL_SCAN_MODE_GLOBAL)
		merge_shared();
	if (WHOLE == 0u || !scan_last_workgroup(args.accumulator, args.groups))
		return;
	scan_put_rows(args.accumulator, args.group_count * ROW_WORDS, ROW_WORDS);
	scan_put_state(args.accumulator);
}
