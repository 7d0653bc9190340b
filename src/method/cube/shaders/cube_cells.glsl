// Cells of a cube on the device: packed columns, the value of an interval of cells for each slot of an accumulator row,
// and adding that to a group's row. For compute and ray-tracing shaders alike: nothing here uses subgroups, shared
// memory or a workgroup. Include after device/kernel.glsl; define CUBE_REAL=1 before it when a slot may be a
// RQL_CUBE_SUM_REAL (the module then needs shaderFloat64; the host compiles one variant of each).
//
// How it is used (the structs are in method/cube/gpu/cube_kernels.h):
//
//   rql_cube_program p = CubeProgram(args.program).v;         // the bound request
//   rql_cube_accumulator acc = args.accumulator;              // rows at rest: templates
//
//   1. Local rows: CUBE_LOCAL_WORDS (8, or defined before the include) words, word 0 counts cells. The host checks that
//      prepared->row_words fits.
//        uint64_t row[CUBE_LOCAL_WORDS];
//        cube_row_clear(p, row);
//        cube_row_interval(p, begin, end, row);   // cells [begin, end), every slot; cumulative sums where there are any
//        cube_row_cell(p, cell, row);             // one cell, every slot
//   2. Adding a local row to its group's row in global memory, slot by slot with atomics:
//        cube_row_merge(p, acc, group, row);      // nothing happens when row[0] == 0
//   3. Without a local row, whatever row_words is (atomics right away):
//        cube_add_interval(p, acc, group, begin, end);
//        cube_add_cell(p, acc, group, cell);
//
// CUBE_ROUND (1, or defined before the include) cells of an invocation are loaded at once where it reads several.
//
// What they are made of: cube_field/cube_value128 (columns), cube_cell (one cell's value of a slot), cube_interval_part
// (what one of several lanes contributes to an interval's value of a slot), rql_state_identity and rql_state_fold (values of a
// kind), cube_find_row and rql_state_atomic (rows in global memory). A value is a u64vec2; kinds of one word leave y 0.
//
// Floor of an interval: 2 directory sectors of 32 bytes and per slot 2 cumulative ones and about 2 of edges, 16 cells
// each on average because the nearer block boundary is taken; nothing else depends on its length.
#ifndef CUBE_CELLS_GLSL
#define CUBE_CELLS_GLSL
#include "method/cube/gpu/cube_kernels.h"

#ifndef CUBE_REAL
#define CUBE_REAL 0
#endif
#define STATE_REAL CUBE_REAL
#define STATE_IS_SUM(kind) (kind <= RQL_CUBE_SUM)
#define STATE_IS_WIDE(kind) (kind == RQL_CUBE_SUM_WIDE)
#define STATE_IS_SUM_REAL(kind) (kind == RQL_CUBE_SUM_REAL)
#define STATE_IS_MIN(kind) (kind == RQL_CUBE_MIN || kind == RQL_CUBE_MIN_REAL)
#include "group/shaders/state.glsl"
#ifndef CUBE_LOCAL_WORDS
#define CUBE_LOCAL_WORDS 8
#endif
#ifndef CUBE_ROUND
#define CUBE_ROUND 1
#endif

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer CubeU32 { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer CubeI32 { int v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeU64 { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeU64x2 { u64vec2 v; };
// What other invocations of the dispatch write.
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer CubeWord { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeProgram { rql_cube_program v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeSlot { rql_cube_slot_entry v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeBox { rql_cube_box_entry v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeLevel { rql_cube_level_entry v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeStep { rql_cube_step_entry v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeSegment { rql_cube_segment_entry v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer CubeTest { rql_cube_test_entry v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer CubeEntry { uvec4 v; }; // rql_cube_entry

#define CUBE_BLOCK 64ul
#define CUBE_ONES 0xfffffffffffffffful

rql_cube_slot_entry cube_slot(rql_cube_program p, uint slot)
{
	return CubeSlot(p.slots + uint64_t(slot) * 88ul).v;
}
rql_cube_box_entry cube_box(rql_cube_program p, uint box)
{
	return CubeBox(p.boxes + uint64_t(box) * 96ul).v;
}

// ---- packed columns ----

// Field i without base, of a column of at most 64 bits. Loads are of aligned words: a field lies in two neighbours at
// most, and the second is readable behind the last field too (RQL_PACKED_SLACK).
uint64_t cube_field(rql_cube_column c, uint64_t i)
{
	if (c.bits == 0u)
		return 0ul;
	uint64_t bit = i * c.bits;
	if (c.bits <= 32u) {
		CubeU32 at = CubeU32(c.data + (bit >> 5) * 4ul);
		uint64_t word = packUint2x32(uvec2(at[0].v, at[1].v));
		return (word >> (uint(bit) & 31u)) & ((1ul << c.bits) - 1ul);
	}
	CubeU64 at = CubeU64(c.data + (bit >> 6) * 8ul);
	uint shift = uint(bit) & 63u;
	uint64_t word = at[0].v;
	if (c.bits == 64u)
		return word;
	if (shift + c.bits > 64u)
		word = (word >> shift) | (at[1].v << (64u - shift));
	else
		word >>= shift;
	return word & ((1ul << c.bits) - 1ul);
}

// As cube_field, of several cells: every load is issued before the first is used, since a load takes longer than all the
// arithmetic on it.
void cube_fields(rql_cube_column c, uint64_t cell[CUBE_ROUND], out uint64_t field[CUBE_ROUND])
{
	if (c.bits == 0u) {
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			field[k] = 0ul;
		return;
	}
	uint64_t mask = CUBE_ONES >> (64u - c.bits);
	if (c.bits <= 32u) {
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
			CubeU32 at = CubeU32(c.data + (cell[k] * c.bits >> 5) * 4ul);
			field[k] = packUint2x32(uvec2(at[0].v, at[1].v));
		}
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			field[k] = (field[k] >> (uint(cell[k] * c.bits) & 31u)) & mask;
		return;
	}
	uint64_t high[CUBE_ROUND];
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
		CubeU64 at = CubeU64(c.data + (cell[k] * c.bits >> 6) * 8ul);
		field[k] = at[0].v;
		high[k] = at[1].v;
	}
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
		uint shift = uint(cell[k] * c.bits) & 63u;
		field[k] = ((field[k] >> shift) | (shift == 0u ? 0ul : high[k] << (64u - shift))) & mask;
	}
}

u64vec2 cube_negate128(u64vec2 a)
{
	uint64_t low = ~a.x + 1ul;
	return u64vec2(low, ~a.y + (low == 0ul ? 1ul : 0ul));
}

// Value i with base, modulo 2^128.
u64vec2 cube_value128(rql_cube_column c, uint64_t i)
{
	u64vec2 field = c.bits == 128u ? CubeU64x2(c.data + i * 16ul).v : u64vec2(cube_field(c, i), 0ul);
	return rql_state_add128(field, u64vec2(c.base_low, c.base_high));
}

// ---- values of a slot ----

// One cell's value; the identity when it has none.
u64vec2 cube_cell(rql_cube_slot_entry s, uint64_t cell)
{
	if (s.kind <= RQL_CUBE_SUM)
		return u64vec2(cube_field(s.values, cell) + s.values.base_low, 0ul);
	if (s.kind == RQL_CUBE_SUM_WIDE)
		return cube_value128(s.values, cell);
	if ((s.flags & RQL_CUBE_SLOT_VALID) != 0u && cube_field(s.valid, cell) + s.valid.base_low == 0ul)
		return u64vec2(rql_state_identity(s.kind), 0ul);
	uint64_t field = cube_field(s.values, cell);
	bool real = s.kind == RQL_CUBE_MIN_REAL || s.kind == RQL_CUBE_MAX_REAL;
	return u64vec2(real ? rql_key_of_real(field) : field, 0ul);
}

// As cube_cell, of several cells at once.
void cube_cells(rql_cube_slot_entry s, uint64_t cell[CUBE_ROUND], out u64vec2 value[CUBE_ROUND])
{
	if (s.kind == RQL_CUBE_SUM_WIDE) {
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			value[k] = cube_value128(s.values, cell[k]);
		return;
	}
	uint64_t field[CUBE_ROUND];
	cube_fields(s.values, cell, field);
	bool real = s.kind == RQL_CUBE_MIN_REAL || s.kind == RQL_CUBE_MAX_REAL;
	uint64_t base = s.kind <= RQL_CUBE_SUM ? s.values.base_low : 0ul;
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
		value[k] = u64vec2(real ? rql_key_of_real(field[k]) : field[k] + base, 0ul);
	if ((s.flags & RQL_CUBE_SLOT_VALID) == 0u)
		return;
	cube_fields(s.valid, cell, field);
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
		if (field[k] + s.valid.base_low == 0ul)
			value[k] = u64vec2(rql_state_identity(s.kind), 0ul);
}

// How the sum of cells [begin, end) is put together: cumulative[last] - cumulative[first], and the cells between the ends
// and these blocks, each added or subtracted. `direct`: no block is worth it, all cells are added.
struct CubeEdges {
	uint64_t first, last;         // blocks
	uint64_t left_from, right_from; // cells
	uint left, right;             // how many
	bool left_minus, right_minus, direct;
};
CubeEdges cube_edges(uint64_t cells, uint64_t begin, uint64_t end)
{
	CubeEdges e;
	uint64_t blocks = cells / CUBE_BLOCK; // the last one that has a cumulative sum
	e.first = min((begin + CUBE_BLOCK / 2ul) / CUBE_BLOCK, blocks);
	e.last = min((end + CUBE_BLOCK / 2ul) / CUBE_BLOCK, blocks);
	uint64_t first = e.first * CUBE_BLOCK, last = e.last * CUBE_BLOCK;
	e.left_minus = first < begin;
	e.left_from = min(first, begin);
	e.left = uint(max(first, begin) - e.left_from);
	e.right_minus = last > end;
	e.right_from = min(last, end);
	e.right = uint(max(last, end) - e.right_from);
	e.direct = end - begin <= uint64_t(e.left) + e.right;
	if (e.direct) {
		e.left_from = begin;
		e.left = uint(end - begin);
		e.right = 0u;
		e.left_minus = false;
	}
	return e;
}

u64vec2 cube_cumulative(rql_cube_slot_entry s, uint64_t block)
{
	if (s.kind == RQL_CUBE_SUM_WIDE)
		return CubeU64x2(s.cumulative + block * 16ul).v;
	return u64vec2(CubeU64(s.cumulative + block * 8ul).v, 0ul);
}

// What lane `lane` of `lanes` contributes to the slot's value of cells [begin, end); folded over the lanes it is that
// value. edges: cube_edges of the interval, the same for every slot.
u64vec2 cube_interval_part(rql_cube_slot_entry s, CubeEdges edges, uint64_t begin, uint64_t end, uint lane, uint lanes)
{
	u64vec2 value = u64vec2(rql_state_identity(s.kind), 0ul);
	uint64_t cell[CUBE_ROUND];
	u64vec2 one[CUBE_ROUND];
	if ((s.flags & RQL_CUBE_SLOT_CUMULATIVE) == 0u) {
		for (uint64_t from = begin + lane; from < end; from += CUBE_ROUND * lanes) {
			[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
				cell[k] = min(from + k * lanes, end - 1ul);
			cube_cells(s, cell, one);
			[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
				if (from + k * lanes < end)
					value = rql_state_fold(s.kind, value, one[k]);
		}
		return value;
	}
	bool wide = s.kind == RQL_CUBE_SUM_WIDE;
	if (!wide && s.values.bits == 0u) // all values are the base
		return u64vec2(lane == 0u ? (end - begin) * s.values.base_low : 0ul, 0ul);
	if (lane == 0u && !edges.direct)
		value = wide ? rql_state_add128(cube_cumulative(s, edges.last), cube_negate128(cube_cumulative(s, edges.first)))
		             : u64vec2(cube_cumulative(s, edges.last).x - cube_cumulative(s, edges.first).x, 0ul);
	uint count = edges.left + edges.right;
	for (uint from = lane; from < count; from += CUBE_ROUND * lanes) {
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
			uint i = min(from + k * lanes, count - 1u);
			cell[k] = i < edges.left ? edges.left_from + i : edges.right_from + (i - edges.left);
		}
		cube_cells(s, cell, one);
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
			uint i = from + k * lanes;
			bool minus = i < edges.left ? edges.left_minus : edges.right_minus;
			u64vec2 add = minus ? cube_negate128(one[k]) : one[k];
			if (i < count)
				value = wide ? rql_state_add128(value, add) : u64vec2(value.x + add.x, 0ul);
		}
	}
	return value;
}

// ---- rows in global memory ----

// The group's row, made in the hash table when it is new; 0: the table is full, which is noted and ends in a larger one.
uint64_t cube_find_row(rql_cube_program p, rql_cube_accumulator acc, uint64_t group)
{
	uint64_t row_bytes = uint64_t(p.row_words) * 8ul;
	if (acc.keys == 0ul)
		return acc.rows + group * row_bytes;
	uint64_t at = ((group * 0x9e3779b97f4a7c15ul) >> 20) & acc.mask;
	uint64_t tries = min(acc.mask + 1ul, 512ul);
	for (uint64_t i = 0ul; i < tries; i++) {
		CubeWord key = CubeWord(acc.keys + at * 8ul);
		uint64_t now = key.v;
		if (now == 0ul)
			now = atomicCompSwap(key.v, 0ul, group + 1ul);
		if (now == 0ul || now == group + 1ul)
			return acc.rows + at * row_bytes;
		at = (at + 1ul) & acc.mask;
	}
	atomicMax(CubeWord(acc.state + RQL_CUBE_STATE_OVERFLOW * 8u).v, 1ul);
	return 0ul;
}

void cube_add_interval(rql_cube_program p, rql_cube_accumulator acc, uint64_t group, uint64_t begin, uint64_t end)
{
	uint64_t row = begin < end ? cube_find_row(p, acc, group) : 0ul;
	if (row == 0ul)
		return;
	CubeEdges edges = cube_edges(p.cells, begin, end);
	atomicAdd(CubeWord(row).v, end - begin);
	for (uint i = 0u; i < p.slot_count; i++) {
		rql_cube_slot_entry s = cube_slot(p, i);
		rql_state_atomic(s.kind, row + uint64_t(s.word) * 8ul, cube_interval_part(s, edges, begin, end, 0u, 1u));
	}
}

void cube_add_cell(rql_cube_program p, rql_cube_accumulator acc, uint64_t group, uint64_t cell)
{
	uint64_t row = cube_find_row(p, acc, group);
	if (row == 0ul)
		return;
	atomicAdd(CubeWord(row).v, 1ul);
	for (uint i = 0u; i < p.slot_count; i++) {
		rql_cube_slot_entry s = cube_slot(p, i);
		rql_state_atomic(s.kind, row + uint64_t(s.word) * 8ul, cube_cell(s, cell));
	}
}

// ---- local rows ----

void cube_row_clear(rql_cube_program p, out uint64_t row[CUBE_LOCAL_WORDS])
{
	for (uint w = 0u; w < CUBE_LOCAL_WORDS; w++)
		row[w] = w < p.row_words ? CubeU64(p.row_template + uint64_t(w) * 8ul).v : 0ul;
}

void cube_row_fold(rql_cube_slot_entry s, u64vec2 value, inout uint64_t row[CUBE_LOCAL_WORDS])
{
	bool wide = s.kind == RQL_CUBE_SUM_WIDE;
	value = rql_state_fold(s.kind, u64vec2(row[s.word], wide ? row[s.word + 1u] : 0ul), value);
	row[s.word] = value.x;
	if (wide)
		row[s.word + 1u] = value.y;
}

void cube_row_interval(rql_cube_program p, uint64_t begin, uint64_t end, inout uint64_t row[CUBE_LOCAL_WORDS])
{
	if (begin >= end)
		return;
	CubeEdges edges = cube_edges(p.cells, begin, end);
	row[0] += end - begin;
	for (uint i = 0u; i < p.slot_count; i++) {
		rql_cube_slot_entry s = cube_slot(p, i);
		cube_row_fold(s, cube_interval_part(s, edges, begin, end, 0u, 1u), row);
	}
}

void cube_row_cell(rql_cube_program p, uint64_t cell, inout uint64_t row[CUBE_LOCAL_WORDS])
{
	row[0] += 1ul;
	for (uint i = 0u; i < p.slot_count; i++) {
		rql_cube_slot_entry s = cube_slot(p, i);
		cube_row_fold(s, cube_cell(s, cell), row);
	}
}

void cube_row_merge(rql_cube_program p, rql_cube_accumulator acc, uint64_t group, uint64_t row[CUBE_LOCAL_WORDS])
{
	uint64_t to = row[0] != 0ul ? cube_find_row(p, acc, group) : 0ul;
	if (to == 0ul)
		return;
	atomicAdd(CubeWord(to).v, row[0]);
	for (uint i = 0u; i < p.slot_count; i++) {
		rql_cube_slot_entry s = cube_slot(p, i);
		uint64_t high = s.kind == RQL_CUBE_SUM_WIDE ? row[s.word + 1u] : 0ul;
		rql_state_atomic(s.kind, to + uint64_t(s.word) * 8ul, u64vec2(row[s.word], high));
	}
}

// ---- keys to cells ----

// First cell whose directory key is at least `key`.
uint64_t cube_cell_of(rql_cube_program p, uint64_t key)
{
	if (p.directory == 0ul)
		return 0ul;
	return p.directory_wide != 0u ? CubeU64(p.directory + key * 8ul).v : uint64_t(CubeU32(p.directory + key * 4ul).v);
}

// The group numbers of cells that are tested: what their residual digits add; CUBE_ONES: filtered out, as what is so
// before.
void cube_test(rql_cube_test_entry test, uint64_t cell[CUBE_ROUND], inout uint64_t group[CUBE_ROUND])
{
	uint64_t code[CUBE_ROUND];
	cube_fields(test.codes, cell, code);
	if (test.passing != 0u) {
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			if (uint(code[k] + test.codes.base_low) - test.first >= test.passing)
				group[k] = CUBE_ONES;
		return;
	}
	int gid[CUBE_ROUND];
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
		gid[k] = CubeI32(test.gids + (code[k] + test.codes.base_low) * 4ul).v;
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
		group[k] = gid[k] < 0 || group[k] == CUBE_ONES ? CUBE_ONES : group[k] + uint64_t(gid[k]) * test.stride;
}
#endif
