// The sums of one resolved entry for a few plain slots, and folding over lanes. The includer has LANES, SLOTS, TESTS,
// FIRST_FORM, SECOND_FORM (RQL_CUBE_PLAIN_*), ROUND (edge cells of a lane whose loads are in flight at once; an entry
// has 64 at most, but for 31 more at the cube's end) and, in `args.plain`, the slots. CUBE_ROUND is for tested cells.
#ifndef CUBE_PLAIN_GLSL
#define CUBE_PLAIN_GLSL

struct Loaded {
	uint64_t low[ROUND], high[ROUND];
};

// Where a lane's edge cells are in a packed column. Bits count from the word of the left, or of the right cells' first.
struct Edge {
	uint64_t left, right; // addresses
	uint left_bit, right_bit;
};

Edge edge_of(uint form, rql_cube_plain_slot slot, uint bits, CubeEdges e)
{
	uint64_t left = e.left_from * bits, right = e.right_from * bits;
	uint shift = form == RQL_CUBE_PLAIN_NARROW ? 5u : 6u, mask = (1u << shift) - 1u;
	uint bytes = form == RQL_CUBE_PLAIN_NARROW ? 4u : 8u;
	Edge edge;
	edge.left = slot.values + (left >> shift) * bytes;
	edge.right = slot.values + (right >> shift) * bytes;
	edge.left_bit = uint(left) & mask;
	edge.right_bit = uint(right) & mask;
	return edge;
}

// A lane without a cell loads the first one's words: no branch stands between the loads.
uint cell_bit(Edge edge, CubeEdges e, uint bits, uint i, out bool left)
{
	uint cell = i < e.left + e.right ? i : 0u;
	left = cell < e.left;
	return left ? edge.left_bit + cell * bits : edge.right_bit + (cell - e.left) * bits;
}

void load_cells(uint form, Edge edge, CubeEdges e, uint bits, uint from, inout Loaded loaded)
{
	if (form == RQL_CUBE_PLAIN_CONSTANT)
		return;
	[[unroll]] for (uint k = 0u; k < ROUND; k++) {
		bool left;
		uint bit = cell_bit(edge, e, bits, from + k * LANES, left);
		uint64_t base = left ? edge.left : edge.right;
		if (form == RQL_CUBE_PLAIN_NARROW) {
			CubeU32 at = CubeU32(base + uint64_t(bit >> 5) * 4ul);
			loaded.low[k] = packUint2x32(uvec2(at[0].v, at[1].v));
		} else {
			CubeU64 at = CubeU64(base + uint64_t(bit >> 6) * 8ul);
			loaded.low[k] = at[0].v;
			loaded.high[k] = at[1].v;
		}
	}
}

uint64_t add_cells(uint form, Edge edge, CubeEdges e, uint bits, uint from, Loaded loaded)
{
	uint64_t sum = 0ul;
	if (form == RQL_CUBE_PLAIN_CONSTANT)
		return sum;
	uint count = e.left + e.right;
	[[unroll]] for (uint k = 0u; k < ROUND; k++) {
		bool left;
		uint bit = cell_bit(edge, e, bits, from + k * LANES, left);
		uint64_t value;
		if (form == RQL_CUBE_PLAIN_NARROW) {
			value = uint64_t(uint(loaded.low[k] >> (bit & 31u)) & (0xffffffffu >> (32u - bits)));
		} else {
			uint shift = bit & 63u;
			value = loaded.low[k] >> shift;
			value |= shift == 0u ? 0ul : loaded.high[k] << (64u - shift);
			value &= CUBE_ONES >> (64u - bits);
		}
		bool minus = left ? e.left_minus : e.right_minus;
		value = minus ? ~value + 1ul : value;
		sum += from + k * LANES < count ? value : 0ul;
	}
	return sum;
}

struct Sums {
	uint64_t cells, first, second;
};

// From cumulative sums and the cells at the edges. The base counts once for every cell that is not in a cumulative sum,
// with the sign that it has there.
Sums cumulated(uint64_t begin, uint64_t length, uint lane)
{
	CubeEdges e = cube_edges(args.plain.cells, begin, begin + length);
	if (e.direct)
		e.first = e.last; // which adds nothing, without a branch
	uint64_t loose = length - (e.last - e.first) * CUBE_BLOCK;
	uint count = e.left + e.right;
	Edge first_edge = edge_of(FIRST_FORM, args.plain.first, args.plain.first_bits, e);
	Edge second_edge = edge_of(SECOND_FORM, args.plain.second, args.plain.second_bits, e);
	uint64_t first_from = 0ul, first_to = 0ul, second_from = 0ul, second_to = 0ul;
	if (SLOTS > 0u && FIRST_FORM != RQL_CUBE_PLAIN_CONSTANT) {
		first_from = CubeU64(args.plain.first.cumulative + e.first * 8ul).v;
		first_to = CubeU64(args.plain.first.cumulative + e.last * 8ul).v;
	}
	if (SLOTS > 1u && SECOND_FORM != RQL_CUBE_PLAIN_CONSTANT) {
		second_from = CubeU64(args.plain.second.cumulative + e.first * 8ul).v;
		second_to = CubeU64(args.plain.second.cumulative + e.last * 8ul).v;
	}
	Sums sum = Sums(lane == 0u ? length : 0ul, 0ul, 0ul);
	uint from = lane;
	do {
		Loaded first, second;
		if (SLOTS > 0u)
			load_cells(FIRST_FORM, first_edge, e, args.plain.first_bits, from, first);
		if (SLOTS > 1u)
			load_cells(SECOND_FORM, second_edge, e, args.plain.second_bits, from, second);
		if (SLOTS > 0u)
			sum.first += add_cells(FIRST_FORM, first_edge, e, args.plain.first_bits, from, first);
		if (SLOTS > 1u)
			sum.second += add_cells(SECOND_FORM, second_edge, e, args.plain.second_bits, from, second);
		from += ROUND * LANES;
	} while (from < count);
	if (lane == 0u) {
		sum.first += first_to - first_from;
		sum.first += (FIRST_FORM == RQL_CUBE_PLAIN_CONSTANT ? length : loose) * args.plain.first.base;
		sum.second += second_to - second_from;
		sum.second += (SECOND_FORM == RQL_CUBE_PLAIN_CONSTANT ? length : loose) * args.plain.second.base;
	}
	return sum;
}

// Cell by cell, where residual digits decide.
rql_cube_test_entry tests[TESTS + 1u];

void load_tests()
{
	[[unroll]] for (uint t = 0u; t < TESTS; t++)
		tests[t] = CubeTest(args.plain.tests + t * 56ul).v;
}

uint64_t add_passed(rql_cube_plain_slot slot, uint bits, uint64_t cell[CUBE_ROUND], uint64_t group[CUBE_ROUND])
{
	uint64_t field[CUBE_ROUND], sum = 0ul;
	cube_fields(rql_cube_column(slot.values, slot.base, 0ul, bits, 0u), cell, field);
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
		sum += group[k] == CUBE_ONES ? 0ul : field[k] + slot.base;
	return sum;
}

Sums tested(uint64_t begin, uint64_t length, uint lane)
{
	Sums sum = Sums(0ul, 0ul, 0ul);
	uint64_t end = begin + length;
	for (uint64_t from = begin + lane; from < end; from += CUBE_ROUND * LANES) {
		uint64_t cell[CUBE_ROUND], group[CUBE_ROUND], passed = 0ul;
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
			cell[k] = min(from + k * LANES, end - 1ul);
			group[k] = from + k * LANES < end ? 0ul : CUBE_ONES;
		}
		[[unroll]] for (uint t = 0u; t < TESTS; t++)
			cube_test(tests[t], cell, group);
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			passed += group[k] == CUBE_ONES ? 0ul : 1ul;
		sum.cells += passed;
		if (passed == 0ul)
			continue;
		if (SLOTS > 0u)
			sum.first += add_passed(args.plain.first, args.plain.first_bits, cell, group);
		if (SLOTS > 1u)
			sum.second += add_passed(args.plain.second, args.plain.second_bits, cell, group);
	}
	return sum;
}

// What the lane contributes to an entry's row.
Sums entry_part(uvec4 entry, uint lane)
{
	uint64_t begin = packUint2x32(uvec2(entry.x, entry.w & 0xffu));
	uint64_t length = packUint2x32(uvec2(entry.y, (entry.w >> 8) & 0xffu));
	if (TESTS > 0u)
		return tested(begin, length, lane);
	return cumulated(begin, length, lane);
}

uint64_t fold(uint64_t value, uint from, uint lanes)
{
	for (uint d = from; d < lanes; d <<= 1)
		value += packUint2x32(subgroupShuffleXor(unpackUint2x32(value), d));
	return value;
}
#endif
