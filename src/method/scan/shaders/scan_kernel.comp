// The fused scan: the frame of every request's kernel, and the functions that its generated code calls. scan_code.c
// replaces the body of scan_test_rows, and scan_code_row.c those of scan_open, scan_open_item, scan_touch_part,
// scan_test_row, scan_take_row and scan_close below, which are straight lines of calls; every branch is here.
//
// A subgroup takes tiles of WORDS times 32 rows a lane. First stage: tests of 32 rows at once, with words of bits as the
// result, by bit planes, or of packed fields in sets (then WORDS is 1). What remains to be tested is tested row by row:
// by itself, of rows closed up from many tiles (SECOND_ROWS), where it drops most, else when a row is taken. Second
// stage: rows are closed up, a lane each, so that few of them do not leave lanes idle; columns that only they need are
// read in their 32-byte sectors alone. Where nearly all rows of a tile pass, each is taken as it stands, and the tile's
// fields are touched before. No workgroup waits for another until it is done, so that loads of many tiles are in flight.
//
// Floor: the planes that are tested, plus the 32-byte sectors of the others that hold a row which is wanted, at the
// memory's speed; and about 4 us of launch. A plane and range takes three instructions a word, when a lane has four words
// of the same bounds: a tenth of one a row and plane. A row that passes takes about a hundred, as long as 15 bytes on an
// H200; a third of that in a dense tile.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_memory_scope_semantics : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#include "method/rows_kernels.h"
#include "method/scan/shaders/scan_rows.glsl"
#include "method/scan/shaders/scan_values.glsl"
#include "method/scan/shaders/scan_numbers.glsl"

layout(constant_id = 1) const uint MODE = 0u;
layout(constant_id = 2) const uint ROW_WORDS = 1u;
layout(constant_id = 3) const uint SHARED_SUMS = 1u;     // 32-bit words in shared memory, limbs of sums
layout(constant_id = 4) const uint SHARED_EXTREMES = 1u; // 64-bit ones: extremes, sums of reals; SCALAR: subgroups' rows
layout(constant_id = 5) const uint SET_WORDS = 1u;
layout(constant_id = 6) const uint COPIES = 1u; // of the rows in shared memory; a power of two
layout(constant_id = 7) const uint WHOLE = 1u;  // the last workgroup puts the rows out
// Lanes of a subgroup run in step and need no barrier: llvmpipe, where one is a barrier of the workgroup (Mesa 25.0.7).
layout(constant_id = 8) const bool LOCKSTEP = false;
layout(constant_id = 9) const uint WORDS = 1u; // of 32 rows: what a lane tests at once: 1, 2 or 4
layout(constant_id = 10) const uint LIMB_BITS = 16u; // of a sum in shared memory, in all limbs but the last
layout(constant_id = 11) const uint ROW_SUMS = 1u;  // words of SHARED_SUMS that are one copy of a group's row
layout(constant_id = 12) const uint ROW_EXTREMES = 0u;
layout(constant_id = 13) const uint KEPT_PARAMS = 1u; // that stay in registers
layout(constant_id = 14) const uint KEPT_HEADS = 1u;
layout(constant_id = 15) const uint SECOND_ROWS = 0u; // AHEAD + 1: rows that passed are tested before they are taken
layout(constant_id = 16) const bool UNCOUNTED = false; // a group's rows need not be counted, it is enough that there are some
layout(constant_id = 17) const bool LISTS = false; // ROWS come in as lists; an item is a block of the snapshot

layout(push_constant, scalar) uniform Args { rql_scan_args args; };

#define LANE_ROWS (WORDS * 32u)
#define LIST_ROWS RQL_SCAN_LIST_ROWS
#define AHEAD 2u     // rows that a lane tests at once when it tests rows
shared uint scan_list[gl_WorkGroupSize.x * (LIST_ROWS + SECOND_ROWS)];
shared uint scan_masks[gl_WorkGroupSize.x * WORDS];
shared uint scan_sets[SET_WORDS];
shared uint scan_sums[SHARED_SUMS];
shared uint64_t scan_extremes[SHARED_EXTREMES];
shared uint scan_drawn; // tiles that the workgroup's subgroups have begun
shared uint scan_kinds[MODE == RQL_SCAN_MODE_GLOBAL ? 1u : ROW_WORDS]; // read ahead: at the end everybody would wait for it

// All of these are indexed by literals only, or they would not be registers.
uint64_t scan_registers[RQL_SCAN_SCALAR_WORDS]; // mode SCALAR: this invocation's row
uint64_t scan_params[KEPT_PARAMS];
uvec4 scan_heads[KEPT_HEADS]; // of the present item's columns
uint scan_widths[KEPT_HEADS]; // bits of their fields
uint64_t scan_row_at;         // mode GLOBAL: the row's address
uint scan_sums_at;            // mode SHARED: where this lane's copy of the group's row begins
uint scan_extremes_at;
uint64_t scan_places;         // modes LIST, EMIT, SIFT: the next row's
bool scan_failed; // some expression, in some row of this invocation

// ---- what the generated code calls ----

uint64_t scan_param(const uint index)
{
	return ScanU64(args.params + uint64_t(index) * 8ul).v;
}

void scan_keep_param(const uint index)
{
	scan_params[index] = scan_param(index);
}
uint64_t scan_kept_param(const uint index)
{
	return scan_params[index];
}

uint64_t scan_ref_of(const uint64_t item, const uint index)
{
	return item + uint64_t(RQL_SCAN_ITEM_HEAD + index * RQL_SCAN_REF_BYTES);
}
// Fields: data, bits and how, a; a column's: data, a field's mask (or bits, when it may have more than 32), the lower half
// of the base. Planes: data, those wanted.
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

// Field `row` of at most 32 bits, with others above; it lies in two neighbouring words at most, and the second is
// readable behind the last one too. A column without fields (bits 0) has readable words as well.
uint scan_raw_field(const uint64_t data, const uint bits, const uint row)
{
	uint bit = row * bits;
	ScanU32 at = ScanU32(data + uint64_t((bit >> 5) * 4u));
	uint64_t word = packUint2x32(uvec2(at[0].v, at[1].v));
	return uint(word >> (bit & 31u));
}
uint scan_narrow_field(const uint64_t data, const uint bits, const uint row)
{
	return bitfieldExtract(scan_raw_field(data, bits, row), 0, int(bits));
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
		uint index = (bits == 0u ? 0u : scan_narrow_field(data, bits, chunk * RQL_SCAN_TEST_ROWS + row)) + head.w;
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
// Which of a word's rows come in as ROWS, and of two words, and of four.
uint64_t scan_under_at(const uint64_t item, const uint chunk, const uint bytes)
{
	return args.under + uint64_t(ScanU32(item + 4ul).v) * uint64_t(RQL_SCAN_BLOCK_WORDS * 4u) + uint64_t(chunk * bytes);
}
uint scan_under_word(const uint64_t item, const uint chunk)
{
	return ScanU32(scan_under_at(item, chunk, 4u)).v;
}
uvec2 scan_under_pair(const uint64_t item, const uint chunk)
{
	return ScanU32x2(scan_under_at(item, chunk, 8u)).v;
}
uvec4 scan_under_words(const uint64_t item, const uint chunk)
{
	return ScanU32x4(scan_under_at(item, chunk, 16u)).v;
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

void scan_keep_head(const uint64_t item, const uint index, const uint kept)
{
	scan_heads[kept] = scan_ref_head(scan_ref_of(item, index));
	scan_widths[kept] = uint(bitCount(scan_heads[kept].z));
}
uvec4 scan_kept_head(const uint kept)
{
	return scan_heads[kept];
}
uint scan_kept_width(const uint kept)
{
	return scan_widths[kept];
}
uint scan_width(const uvec4 head)
{
	return uint(bitCount(head.z));
}

// Values of a row, which exists also where nobody wants it: no branches. A code, or an integer of 32 bits:
uint scan_code(const uvec4 head, const uint width, const uint row)
{
	return head.w + (scan_raw_field(packUint2x32(head.xy), width, row) & head.z);
}
uint scan_translated(const uint64_t ref, const uvec4 head, const uint width, const uint row)
{
	uint code = scan_code(head, width, row);
	uint64_t table = ScanU64(ref + 24ul).v;
	return table != 0ul ? ScanU32(table + uint64_t(code) * 4ul).v : code;
}
// An integer of 64 bits whose fields have at most 32:
uint64_t scan_offset(const uint64_t ref, const uvec4 head, const uint width, const uint row)
{
	uint field = scan_raw_field(packUint2x32(head.xy), width, row) & head.z;
	return packUint2x32(uvec2(head.w, ScanU32(ref + 16ul).v)) + uint64_t(field);
}
uint64_t scan_integer(const uint64_t ref, const uvec4 head, const uint row)
{
	return packUint2x32(uvec2(head.w, ScanU32(ref + 16ul).v)) + scan_any_field(packUint2x32(head.xy), head.z, row);
}
// Loads from the 32-byte sectors of the n rows from `first` on, at most 32 a lane, `sectors` for each lane: those rows
// come next, one a lane, and would wait for memory again and again.
uint scan_touch(const uvec4 head, const uint width, const uint first, const uint n, const uint sectors)
{
	uint64_t at = packUint2x32(head.xy) + uint64_t(first / 32u * width * 4u);
	uint last = (max(n * width >> 5, 1u) - 1u) * 4u, v = 0u; // the block's fields may end there
	[[unroll]] for (uint s = 0u; s < sectors; s++)
		v |= ScanU32(at + uint64_t(min((s * gl_SubgroupSize + gl_SubgroupInvocationID) * 32u, last))).v;
	return v;
}

void scan_fail(const bool failed)
{
	scan_failed = scan_failed || failed;
}

// ---- adding ----

// A value into a sum in shared memory: in limbs, so few bits of each but the last that no sum of the rows that a copy
// can get leaves 32 bits. Additions nobody waits for, and no carries. (NVIDIA's compiler, 580.159, puts a question whether
// all lanes have one address before each, which costs as much again.)
void add_limbs(const uint place, const uint limbs, const uint64_t value)
{
	uint at = scan_sums_at + place * COPIES;
	if (limbs == 1u) {
		atomicAdd(scan_sums[at], uint(value));
		return;
	}
	[[unroll]] for (uint i = 0u; i + 1u < limbs; i++)
		atomicAdd(scan_sums[at + i * COPIES], uint(value >> (i * LIMB_BITS)) & ((1u << LIMB_BITS) - 1u));
	atomicAdd(scan_sums[at + (limbs - 1u) * COPIES], uint(uint64_t(int64_t(value) >> ((limbs - 1u) * LIMB_BITS))));
}

void add_extreme(const uint kind, const uint place, const uint64_t value)
{
	uint at = scan_extremes_at + place * COPIES;
#if SCAN_REAL
	if (kind == RQL_SCAN_WORD_REAL) {
		uint64_t now = scan_extremes[at], before;
		do {
			before = now;
			now = atomicCompSwap(scan_extremes[at], before, rql_state_add_reals(before, value));
		} while (now != before);
		return;
	}
#endif
	if (kind == RQL_SCAN_WORD_MIN)
		atomicMin(scan_extremes[at], value);
	else
		atomicMax(scan_extremes[at], value);
}

// Folds a value into word `word` of the present group's row; place, limbs: where that lies in shared memory. The
// upper half of a value of 128 bits is its sign.
void scan_add(const uint kind, const uint word, const uint place, const uint limbs, const uint64_t value,
              const bool live)
{
	bool wide = kind == RQL_SCAN_WORD_WIDE;
	u64vec2 all = u64vec2(value, wide ? uint64_t(int64_t(value) >> 63) : 0ul);
	if (MODE == RQL_SCAN_MODE_SCALAR) {
		all = live ? all : u64vec2(rql_state_identity(kind), 0ul);
		all = rql_state_fold(kind, u64vec2(scan_registers[word], wide ? scan_registers[word + 1u] : 0ul), all);
		scan_registers[word] = all.x;
		if (wide)
			scan_registers[word + 1u] = all.y;
	} else if (MODE == RQL_SCAN_MODE_SHARED) {
		// Sums without branches: who is not live adds nothing.
		if (limbs != 0u)
			add_limbs(place, limbs, live ? value : 0ul);
		else if (live)
			add_extreme(kind, place, value);
	} else if (live && scan_row_at != 0ul) {
		rql_state_atomic(kind, scan_row_at + uint64_t(word * 8u), all);
	}
}

// The upper half of a wide group number, shifted there: which low bits it has.
uint64_t scan_low_bits(const uint64_t low, const bool live)
{
	uint64_t place = live ? scan_find_place(args.accumulator, scan_low_keys(args.accumulator), low) : 0ul;
	return place == SCAN_ONES ? 0ul : place << RQL_SCAN_HIGH_BITS;
}

// The row that the next additions go to, and a row more in it.
void scan_begin_row(const uint64_t group, const bool live)
{
	uint copy = gl_SubgroupInvocationID & (COPIES - 1u);
	if (MODE == RQL_SCAN_MODE_SHARED) {
		uint at = live ? uint(group) : 0u;
		scan_sums_at = at * (ROW_SUMS * COPIES) + copy;
		scan_extremes_at = at * (ROW_EXTREMES * COPIES) + copy;
	} else if (MODE == RQL_SCAN_MODE_GLOBAL) {
		scan_row_at = live ? scan_find_row(args.accumulator, ROW_WORDS, group) : 0ul;
		if (UNCOUNTED) { /* additions to one address would take turns */
			if (scan_row_at != 0ul && ScanWord(scan_row_at).v == 0ul)
				atomicMax(ScanWord(scan_row_at).v, 1ul);
			return;
		}
	}
	scan_add(RQL_SCAN_WORD_SUM, 0u, 0u, 1u, 1ul, live);
}

// Modes LIST, EMIT and SIFT: places for so many rows of the subgroup, the first of them. The count goes on without room, so
// that the host knows how much it takes. One atomic for all lanes, which come here together: an H200 takes 2.5 ns for each.
uint64_t take_places(const uint count)
{
	uvec2 first = uvec2(0u);
	if (subgroupElect() && count != 0u)
		first = unpackUint2x32(
			atomicAdd(ScanWord(args.accumulator.state + RQL_SCAN_STATE_FOUND * 8u).v, uint64_t(count)));
	return packUint2x32(subgroupBroadcastFirst(first));
}
// Mode EMIT: all rows that will be taken next have their places at once.
void take_places_ahead(const uint count)
{
	if (MODE == RQL_SCAN_MODE_EMIT)
		scan_places = take_places(count);
}
uint64_t next_place(const bool live)
{
	uvec4 ballot = subgroupBallot(live);
	uint count = subgroupBallotBitCount(ballot);
	if (MODE != RQL_SCAN_MODE_EMIT)
		scan_places = take_places(count);
	uint64_t at = scan_places + uint64_t(subgroupBallotExclusiveBitCount(ballot));
	scan_places += uint64_t(count);
	return at;
}

// Mode LIST: a row that passed goes to the list, which has room for `mask` of them.
void scan_put_row(const uint64_t item, const uint row, const bool live)
{
	uint64_t at = next_place(live);
	if (live && at < args.accumulator.mask)
		ScanEntry(args.accumulator.rows + at * 4ul).v = ScanU32(item + 4ul).v << 12 | row;
}

// Modes EMIT and SIFT: where a row's values go, ~0: nowhere; and a field there, behind `offset` bytes a row of other
// columns.
uint64_t scan_emit_place(const bool live)
{
	uint64_t at = next_place(live);
	return live && at < args.accumulator.mask ? at : SCAN_ONES;
}
void scan_emit32(const uint64_t place, const uint offset, const uint field)
{
	if (place != SCAN_ONES)
		ScanEntry(args.accumulator.rows + args.accumulator.mask * uint64_t(offset) + place * 4ul).v = field;
}
void scan_emit64(const uint64_t place, const uint offset, const uint64_t field)
{
	if (place != SCAN_ONES)
		ScanEntry64(args.accumulator.rows + args.accumulator.mask * uint64_t(offset) + place * 8ul).v = field;
}

uint64_t shuffled(uint64_t v, uint distance)
{
	return packUint2x32(subgroupShuffleXor(unpackUint2x32(v), distance));
}

// Mode SCALAR: a word of the invocations' rows, before and after.
void scan_start_word(const uint kind, const uint word)
{
	scan_registers[word] = rql_state_identity(kind);
}
void scan_settle_word(const uint kind, const uint word)
{
	bool wide = kind == RQL_SCAN_WORD_WIDE;
	u64vec2 value = u64vec2(scan_registers[word], wide ? scan_registers[word + 1u] : 0ul);
	for (uint d = 1u; d < gl_SubgroupSize; d <<= 1)
		value = rql_state_fold(kind, value, u64vec2(shuffled(value.x, d), wide ? shuffled(value.y, d) : 0ul));
	if (gl_SubgroupInvocationID == 0u) {
		scan_extremes[gl_SubgroupID * ROW_WORDS + word] = value.x;
		if (wide)
			scan_extremes[gl_SubgroupID * ROW_WORDS + word + 1u] = value.y;
	}
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
	found |= scan_under_words(item, chunk).x | scan_under_pair(item, chunk).x | scan_under_word(item, chunk);
	return scan_is_all(head) ? mask : scan_valid_words(ref, chunk) & found;
}
// Once per invocation: parameters, and in mode SCALAR its row.
void scan_open()
{
	scan_keep_param(0u);
	scan_start_word(RQL_SCAN_WORD_SUM, 0u);
}
// Once per block, or row: what rows need to know of its columns.
void scan_open_item(const uint64_t item)
{
	scan_keep_head(item, 0u, 0u);
}
// Some memory of the n rows from `first` on.
uint scan_touch_part(const uint first, const uint n)
{
	return scan_touch(scan_kept_head(0u), scan_kept_width(0u), first, n, 1u);
}
// What remains to be tested of a row, before it is taken.
bool scan_test_row(const uint64_t item, const uint row, const bool live)
{
	return live && scan_valid(item, row, live);
}
// What remains to be tested of a row (one that is not live is any row of the item), and its group and values.
void scan_take_row(const uint64_t item, const uint row, const bool live)
{
	uint64_t ref = scan_ref_of(item, 0u), map = scan_param(0u) + scan_kept_param(0u);
	uvec4 head = scan_ref_head(ref);
	uint width = scan_width(head);
	uint64_t value = scan_integer(ref, head, row) + scan_offset(ref, head, width, row);
	value += scan_real_key(scan_widened(map)) + scan_extreme_key(map) + scan_real_code(map, live);
	uint code = scan_code(head, width, row) + scan_translated(ref, head, width, row);
	code += scan_probe(map, map, width, value, live) + scan_payload(map, row, row, 1u);
	value += scan_u64_at(map, code, live) + uint64_t(scan_u32_at(map, code, live));
	bool pass = scan_valid(ref, row, live) && scan_bit_at(map, code, live);
	value += uint64_t(scan_date_part(row, row) + scan_date_trunc(row, row) + scan_quotient_32(row, row));
	value += uint64_t(scan_day_of(value) + scan_time_part(value, row) + scan_remainder_32(row, row)) + scan_micros_of(row);
	value += scan_quotient(value, map) + scan_remainder(value, map) + scan_scaled_down(value, map);
	value += scan_rounded(value) + scan_real_remainder(value, map) + scan_float_of(scan_jammed(value));
	pass = pass && scan_in_list(map, row, value);
	scan_fail(scan_product_overflows(map, value));
	scan_begin_row(value + scan_low_bits(value, pass), pass);
	scan_add(RQL_SCAN_WORD_SUM, 0u, 0u, 0u, value, pass);
	scan_put_row(item, row, pass);
	scan_emit32(scan_emit_place(pass), row, code);
	scan_emit64(value, row, map);
}
// In mode SCALAR, once per invocation: its row to the workgroup's.
void scan_close()
{
	scan_settle_word(RQL_SCAN_WORD_SUM, 0u);
}

// ---- tiles ----

uint lane_of()
{
	return gl_SubgroupInvocationID;
}

// Wait for the other lanes' writes to shared memory.
void sync_lanes()
{
	if (LOCKSTEP)
		subgroupMemoryBarrierShared();
	else
		controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

uint rows_of_word(uint rows, uint first)
{
	return first >= rows ? 0u : rows - first >= 32u ? 0xffffffffu : (1u << (rows - first)) - 1u;
}

// Which of a lane's rows pass: chunk `chunk` of the item.
uvec4 test_chunk(uint64_t item, uint chunk)
{
	uint rows = ScanU32(item).v, first = chunk * LANE_ROWS;
	uvec4 mask = uvec4(0u);
	[[unroll]] for (uint w = 0u; w < WORDS; w++)
		mask[w] = rows_of_word(rows, first + w * 32u);
	return scan_test_rows(item, chunk, mask);
}

// A row's entry in lists is (item << 12 | row).
uint64_t item_of(uint entry)
{
	return args.items + uint64_t(entry >> 12) * args.item_bytes;
}

// Tests what remains of `n` entries; those that pass are closed up behind the first `held` at `second_at`. Several of a
// lane's at once, because a row waits for its block's references and then for its fields.
uint test_entries(uint list_at, uint n, uint second_at, uint held)
{
	uint lane = lane_of(), size = gl_SubgroupSize;
	uint entries[AHEAD];
	bool pass[AHEAD];
	[[unroll]] for (uint k = 0u; k < AHEAD; k++) {
		uint i = lane + k * size;
		entries[k] = scan_list[list_at + min(i, n - 1u)];
		pass[k] = scan_test_row(item_of(entries[k]), entries[k] & 4095u, i < n);
	}
	[[unroll]] for (uint k = 0u; k < AHEAD; k++) {
		uvec4 passed = subgroupBallot(pass[k]);
		if (pass[k])
			scan_list[second_at + held + subgroupBallotExclusiveBitCount(passed)] = entries[k];
		held += subgroupBallotBitCount(passed);
	}
	return held;
}

// The second stage of a dense tile, from row `first` of the item on: each row as it stands, when its bit is set in
// scan_masks. What the columns' heads say is loaded once.
void take_tile(const uint64_t item, const uint first, const uint masks_at, const uint passed)
{
	uint lane = lane_of(), size = gl_SubgroupSize, rows = ScanU32(item).v - first, n = size * 32u, touched = 0u;
	scan_open_item(item);
	take_places_ahead(passed);
	for (uint part = 0u; part < min(rows, n * WORDS); part += n) {
		touched |= scan_touch_part(first + part, min(n, rows - part));
		for (uint i = part + lane; i < part + n; i += size) {
			bool live = ((scan_masks[masks_at + (i >> 5)] >> (i & 31u)) & 1u) != 0u;
			uint row = live ? first + i : 0u;
			if (SECOND_ROWS != 0u)
				live = scan_test_row(item, row, live);
			scan_take_row(item, row, live);
		}
	}
	sync_lanes();
	scan_masks[masks_at + lane] = touched; // which nobody reads: or the loads would be left out
}

// That of n entries of a list, from anywhere.
void take_list(const uint list_at, const uint n)
{
	uint lane = lane_of(), size = gl_SubgroupSize;
	take_places_ahead(n);
	for (uint i = lane; i - lane < n; i += size) {
		bool live = i < n;
		uint entry = scan_list[list_at + (live ? i : 0u)];
		uint64_t item = item_of(entry);
		scan_open_item(item);
		scan_take_row(item, entry & 4095u, live);
	}
}

// Puts a lane's rows, of which `rank` were put and those below `stop` may be, into the list. One loop for all words: lanes
// go round together as often as the one with most rows.
void put_rows(inout uvec4 mask, uint entry, inout uint rank, uint stop, uint to)
{
	for (; rank < stop; rank++) {
		uint word = 0u, left = mask.x;
		[[unroll]] for (uint w = 1u; w < WORDS; w++) {
			bool next = left == 0u;
			word = next ? w : word;
			left = next ? mask[w] : left;
		}
		scan_list[to + rank] = entry + word * 32u + uint(findLSB(left));
		[[unroll]] for (uint w = 0u; w < WORDS; w++)
			mask[w] = word == w ? left & (left - 1u) : mask[w];
	}
}

// Which entries are to be taken now: n, from the list's place `from` on; whole rounds of all lanes, until there are no
// more tiles. What remains to be tested, and drops many, is tested first (SECOND_ROWS), and a second list has the
// entries that pass that.
void next_entries(bool more, uint list_at, uint second_at, inout uint held, inout uint waiting, out uint from, out uint n)
{
	uint size = gl_SubgroupSize, batch = size * AHEAD;
	if (SECOND_ROWS == 0u) {
		uint kept = more ? held & (size - 1u) : 0u;
		from = list_at + kept;
		n = held - kept;
		held = kept;
		return;
	}
	if (held >= batch || (!more && held != 0u)) {
		uint tested = min(held, batch);
		held -= tested;
		sync_lanes();
		waiting = test_entries(list_at + held, tested, second_at, waiting);
	}
	uint kept = more || held != 0u ? waiting & (size - 1u) : 0u;
	from = second_at + kept;
	n = waiting - kept;
	waiting = kept;
}

// The workgroup's tile number n: neighbours, then those that are as much further as the workgroups' are together.
uint tile_of(uint workgroup, uint n)
{
	return (((n >> args.visit) * args.groups + workgroup) << args.visit) + bitfieldExtract(n, 0, int(args.visit));
}

// The next tile of the workgroup. Subgroups do not have equal shares: memory answers some of them faster, and the last of
// 32 with seven tiles each would be done as much later than their mean as a sixth of the whole time (H200).
uint draw_tile(uint workgroup)
{
	uint n = 0u;
	if (subgroupElect())
		n = atomicAdd(scan_drawn, 1u);
	return tile_of(workgroup, subgroupBroadcastFirst(n));
}

uint tiles_of_item()
{
	return RQL_SCAN_BLOCK_WORDS / WORDS / gl_SubgroupSize;
}

uint bits_of(uvec4 mask)
{
	ivec4 counts = bitCount(mask);
	return uint(counts.x + counts.y + counts.z + counts.w);
}

// ---- ROWS as lists ----
// A lane takes a quarter of a block's list at once, 16 bytes, so that a tile of 32 lanes is eight blocks.

uint64_t quarter_at(uint quarter)
{
	return args.under + uint64_t(args.lists) * RQL_SCAN_LISTS_STEP + uint64_t(quarter) * (RQL_ROWS_LIST_BYTES / 4u);
}

// The rows of a quarter, two in a word, from the lowest half on; count: those that the block has, whose entry of row 0
// is `entry`. Its number of rows and the list are on their way together.
uvec4 listed_rows(uint quarter, out uint entry, out uint count)
{
	entry = quarter / 4u << 12;
	count = 0u;
	if (quarter >= args.item_count * 4u)
		return uvec4(0u);
	uvec4 rows = ScanU32x4(quarter_at(quarter)).v;
	uint there = ScanU32(args.items + uint64_t(quarter / 4u) * args.item_bytes).v;
	[[unroll]] for (uint w = 0u; w < 4u; w++) // LIST_END and LIST_BITMAP are no rows
		count += uint((rows[w] & 0xffffu) < there) + uint(rows[w] >> 16 < there);
	return rows;
}

// Puts them into the list, as put_rows does.
void put_listed(inout uvec4 rows, uint entry, inout uint rank, uint stop, uint to)
{
	for (; rank < stop; rank++) {
		scan_list[to + rank] = entry | rows.x & 0xffffu;
		rows = rows >> 16 | uvec4(rows.yzw, 0u) << 16;
	}
}

// The subgroup's next tile of a block whose rows are in its bitmap, from its n-th tile on; `tiles`: there is none. These
// tiles are dealt out, neighbours to different workgroups: where there are few such blocks, they lie together.
uint next_full_tile(uint workgroup, uint tiles, inout uint n)
{
	uint size = gl_SubgroupSize, per_item = tiles_of_item(), step = args.groups * gl_NumSubgroups;
	uint own = gl_SubgroupID * args.groups + workgroup;
	for (; own + n * step < tiles; n += size) {
		uint tile = own + (n + lane_of()) * step;
		bool full = false;
		if (tile < tiles)
			full = (ScanU32(quarter_at(tile / per_item * 4u)).v & 0xffffu) == RQL_ROWS_LIST_BITMAP;
		uvec4 found = subgroupBallot(full);
		if (subgroupBallotBitCount(found) != 0u) {
			n += subgroupBallotFindLSB(found) + 1u;
			return own + (n - 1u) * step;
		}
	}
	return tiles;
}

// Rows that passed are closed up in a list which outlives the tile, so that the second stage nearly always has a row for
// every lane, however few of a tile pass. LISTS: tiles of lists come first, then those of bitmaps.
void take_tiles(uint workgroup)
{
	uint lane = lane_of(), size = gl_SubgroupSize, per_item = tiles_of_item();
	uint list_at = gl_SubgroupID * size * (LIST_ROWS + SECOND_ROWS), second_at = list_at + size * LIST_ROWS;
	uint masks_at = gl_SubgroupID * size * WORDS, capacity = size * LIST_ROWS, batch = size * AHEAD;
	uint tiles = args.item_count * per_item, held = 0u, waiting = 0u, full = 0u;
	bool listed = LISTS;
	for (uint tile = tile_of(workgroup, gl_SubgroupID);;) {
		if (listed && tile * size >= args.item_count * 4u) {
			listed = false;
			tile = next_full_tile(workgroup, tiles, full);
		}
		bool more = listed || tile < tiles; // else the lists are emptied
		uint index = tile / per_item, first = tile % per_item * size * LANE_ROWS;
		uint entry = index << 12 | first + lane * LANE_ROWS, count = 0u;
		uint64_t item = args.items + uint64_t(index) * args.item_bytes;
		uvec4 mask = uvec4(0u);
		if (listed)
			mask = listed_rows(tile * size + lane, entry, count);
		else if (more)
			mask = test_chunk(item, tile % per_item * size + lane);
		if (!listed)
			count = bits_of(mask);
		uint end = subgroupInclusiveAdd(count), rank = end - count, base = 0u, total = subgroupShuffle(end, size - 1u);
		bool dense = !listed && total * 4u >= size * LANE_ROWS * 3u; // nearly all of them: each as it stands
		if (dense)
			[[unroll]] for (uint w = 0u; w < WORDS; w++)
				scan_masks[masks_at + lane * WORDS + w] = mask[w];
		do {
			uint n = size * LANE_ROWS, from = list_at, added = dense ? total : min(capacity - held, total - base);
			if (!dense) {
				uint stop = min(end, base + added), to = list_at + held - base;
				if (listed)
					put_listed(mask, entry, rank, stop, to);
				else
					put_rows(mask, entry, rank, stop, to);
				held += added;
				next_entries(more, list_at, second_at, held, waiting, from, n);
			}
			base += added;
			if (n != 0u) {
				sync_lanes();
				if (dense)
					take_tile(item, first, masks_at, total);
				else
					take_list(from, n);
				sync_lanes();
			}
		} while (base < total || (SECOND_ROWS != 0u && (held >= batch || (!more && held + waiting != 0u))));
		if (!more)
			break;
		tile = !LISTS || listed ? draw_tile(workgroup) : next_full_tile(workgroup, tiles, full);
	}
}

// ---- shared rows ----

void clear_shared()
{
	uint id = gl_LocalInvocationIndex, size = gl_WorkGroupSize.x;
	for (uint i = id; MODE != RQL_SCAN_MODE_GLOBAL && i < ROW_WORDS; i += size)
		scan_kinds[i] = ScanU32(args.accumulator.kinds + uint64_t(i) * 4ul).v;
	for (uint i = id; i < SHARED_SUMS; i += size)
		scan_sums[i] = 0u;
	for (uint word = 0u; ROW_EXTREMES != 0u && word < ROW_WORDS; word++) {
		uint about = ScanU32(args.accumulator.kinds + uint64_t(word) * 4ul).v;
		uint kind = about & RQL_SCAN_WORD_KINDS, place = about >> RQL_SCAN_WORD_PLACE;
		if (kind < RQL_SCAN_WORD_REAL)
			continue;
		for (uint i = id; i < args.group_count * COPIES; i += size)
			scan_extremes[(i / COPIES * ROW_EXTREMES + place) * COPIES + (i & (COPIES - 1u))] = rql_state_identity(kind);
	}
	if (id == 0u)
		scan_drawn = gl_NumSubgroups; // each begins with one
	for (uint i = id; i < args.set_words; i += size)
		scan_sets[i] = ScanU32(args.sets + uint64_t(i) * 4ul).v;
	memoryBarrierShared();
	barrier();
}

// 128 bits: a signed value, shifted left.
u64vec2 shifted(uint64_t v, uint by)
{
	int64_t sign = int64_t(v) >> 63;
	if (by == 0u)
		return u64vec2(v, uint64_t(sign));
	if (by < 64u)
		return u64vec2(v << by, uint64_t(int64_t(v) >> (64u - by)));
	return u64vec2(0ul, v << (by - 64u));
}

// A word (WIDE: two) of a group's copies. Neighbours begin with different copies, which are in different banks; that
// the compiler does not know how many there are keeps it from writing them all out.
u64vec2 fold_copies(uint group, uint about)
{
	uint kind = about & RQL_SCAN_WORD_KINDS, place = about >> RQL_SCAN_WORD_PLACE;
	uint limbs = (about >> RQL_SCAN_WORD_LIMBS) & 15u, id = gl_LocalInvocationIndex;
	u64vec2 value = u64vec2(rql_state_identity(kind), 0ul);
	if (limbs == 0u) {
		uint at = (group * ROW_EXTREMES + place) * COPIES;
		for (uint c = 0u; c < args.copies; c++)
			value = rql_state_fold(kind, value, u64vec2(scan_extremes[at + ((c + id) & (COPIES - 1u))], 0ul));
		return value;
	}
	for (uint i = 0u; i < limbs; i++) {
		uint at = (group * ROW_SUMS + place + i) * COPIES;
		bool is_signed = limbs > 1u && i + 1u == limbs;
		uint64_t sum = 0ul;
		for (uint c = 0u; c < args.copies; c++) {
			uint limb = scan_sums[at + ((c + id) & (COPIES - 1u))];
			sum += is_signed ? uint64_t(int64_t(int(limb))) : uint64_t(limb);
		}
		value = rql_state_add128(value, shifted(sum, i * LIMB_BITS));
	}
	return value;
}

// A word of the subgroups' rows.
u64vec2 fold_subgroups(uint kind, uint word)
{
	u64vec2 value = u64vec2(rql_state_identity(kind), 0ul);
	for (uint s = 0u; s < gl_NumSubgroups; s++) {
		uint at = s * ROW_WORDS + word;
		uint64_t high = kind == RQL_SCAN_WORD_WIDE ? scan_extremes[at + 1u] : 0ul;
		value = rql_state_fold(kind, value, u64vec2(scan_extremes[at], high));
	}
	return value;
}

// The workgroup's rows to those in device memory.
void merge_shared()
{
	memoryBarrierShared();
	barrier();
	uint words = args.group_count * ROW_WORDS;
	for (uint i = gl_LocalInvocationIndex; i < words; i += gl_WorkGroupSize.x) {
		uint word = i % ROW_WORDS, about = scan_kinds[word], kind = about & RQL_SCAN_WORD_KINDS;
		if (kind == RQL_SCAN_WORD_HIGH)
			continue;
		u64vec2 value = MODE == RQL_SCAN_MODE_SCALAR ? fold_subgroups(kind, word) : fold_copies(i / ROW_WORDS, about);
		if (kind != RQL_SCAN_WORD_WIDE || (value.x | value.y) != 0ul)
			rql_state_atomic(kind, args.accumulator.rows + uint64_t(i) * 8ul, value);
	}
}

void main()
{
	uint workgroup = uint(rql_group());
	if (workgroup >= args.groups)
		return;
	scan_failed = false;
	scan_open();
	clear_shared();
	take_tiles(workgroup);
	if (scan_failed)
		atomicMax(ScanWord(args.accumulator.state + RQL_SCAN_STATE_FAILED * 8u).v, 1ul);
	if (MODE == RQL_SCAN_MODE_SCALAR)
		scan_close();
	if (MODE != RQL_SCAN_MODE_GLOBAL)
		merge_shared();
	if (WHOLE == 0u || !scan_last_workgroup(args.accumulator, args.groups))
		return;
	scan_put_rows(args.accumulator, args.group_count * ROW_WORDS, ROW_WORDS);
	scan_put_state(args.accumulator);
}
