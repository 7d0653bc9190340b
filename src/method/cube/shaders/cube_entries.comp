// A few plain sums over resolved entries: the common request (every query of SSB), and the one whose time is latency.
//
// Every TILE of LANES neighbouring lanes takes an entry: per slot the difference of two cumulative sums, and the cells
// between the entry's ends and the nearer block boundaries, all loads issued before the first is used. Sums meet in
//   ONE_ROW  the invocation's registers, whatever the number of entries, then the subgroup, the workgroup, one addition
//            per workgroup and word
//   else     rows in global memory, an addition per entry and word, or per subgroup if its entries have one group
// both in COPIES of the rows, so that no address is contended; the last workgroup adds the copies up, writes the result
// straight into memory that the host reads, and leaves zeros.
//
// EXPECTED, not measured, on an NVIDIA H200. The chain of dependent loads, in round trips (cache hit 0.25 to 0.3 us, a
// miss 0.7 to 0.8 us):
//   1 entry (its address comes from push constants)     2 cumulative sums and edges of all slots, together
//   3 the additions are performed (the barrier waits)   4 ticket     5 the rows, together     then the write over PCIe
// = 5, about 2 us with all in cache, 3 us when 1 and 2 miss. cube_intervals.comp without resolved entries: program, box,
// segment, two per level (4 levels: 8), directory, per slot its entry, cumulative sums and 1 to 4 rounds of edges,
// flush (slot again, additions), ticket, rows, templates, head: about 22 for one slot, 27 for two; 6 to 9 us.
// Beside it one launch, 4 to 5 us, and the bytes: an entry is 16 bytes, 2 sectors of cumulative sums and about 4 of edges
// a slot: 27,000 entries (SSB q1.1) 6 MB, 1.4 us at 4.3 TB/s; decoding the edges about 1 us with all multiprocessors.
//   to 32 entries 6 to 7 us (one workgroup, no ticket), to 4,000 7 to 8 us, 30,000 8 to 10 us
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/shaders/cube_finish.glsl"

layout(constant_id = 1) const uint LANES = 1u; // a power of two, at most the subgroup's size
layout(constant_id = 2) const bool ONE_ROW = false;
layout(constant_id = 3) const uint COPIES = 1u; // a power of two, at most the subgroup's size
layout(constant_id = 4) const uint SLOTS = 1u;
layout(constant_id = 5) const uint FIRST_FORM = 0u; // RQL_CUBE_PLAIN_*
layout(constant_id = 6) const uint SECOND_FORM = 0u;
layout(push_constant, scalar) uniform Args { rql_cube_entries_args args; };

// Edge cells of a lane whose loads are in flight at once. An entry has 64 of them at most, but for 31 more at the cube's
// end: most are done in one round.
const uint ROUND = LANES >= 32u ? 2u : LANES == 4u ? 16u : 8u;
const uint WORDS = SLOTS + 1u; // of a row
const uint READS_AT_ONCE = 8u; // of the finish

shared uint64_t shared_sums[3][gl_WorkGroupSize.x];

struct Loaded {
	uint64_t low[16], high[16];
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

// What the lane contributes to the slots' sums of an entry. The base counts once for every cell that is not in a
// cumulative sum, with the sign that it has there.
u64vec2 entry_part(uint64_t begin, uint64_t length, uint lane)
{
	CubeEdges e = cube_edges(args.cells, begin, begin + length);
	if (e.direct)
		e.first = e.last; // which adds nothing, without a branch
	uint64_t loose = length - (e.last - e.first) * CUBE_BLOCK;
	uint count = e.left + e.right;
	Edge first_edge = edge_of(FIRST_FORM, args.first, args.first_bits, e);
	Edge second_edge = edge_of(SECOND_FORM, args.second, args.second_bits, e);
	uint64_t first_from = 0ul, first_to = 0ul, second_from = 0ul, second_to = 0ul;
	if (SLOTS > 0u && FIRST_FORM != RQL_CUBE_PLAIN_CONSTANT) {
		first_from = CubeU64(args.first.cumulative + e.first * 8ul).v;
		first_to = CubeU64(args.first.cumulative + e.last * 8ul).v;
	}
	if (SLOTS > 1u && SECOND_FORM != RQL_CUBE_PLAIN_CONSTANT) {
		second_from = CubeU64(args.second.cumulative + e.first * 8ul).v;
		second_to = CubeU64(args.second.cumulative + e.last * 8ul).v;
	}
	u64vec2 sum = u64vec2(0ul);
	uint from = lane;
	do {
		Loaded first, second;
		if (SLOTS > 0u)
			load_cells(FIRST_FORM, first_edge, e, args.first_bits, from, first);
		if (SLOTS > 1u)
			load_cells(SECOND_FORM, second_edge, e, args.second_bits, from, second);
		if (SLOTS > 0u)
			sum.x += add_cells(FIRST_FORM, first_edge, e, args.first_bits, from, first);
		if (SLOTS > 1u)
			sum.y += add_cells(SECOND_FORM, second_edge, e, args.second_bits, from, second);
		from += ROUND * LANES;
	} while (from < count);
	if (lane == 0u) {
		sum.x += first_to - first_from + (FIRST_FORM == RQL_CUBE_PLAIN_CONSTANT ? length : loose) * args.first.base;
		sum.y += second_to - second_from + (SECOND_FORM == RQL_CUBE_PLAIN_CONSTANT ? length : loose) * args.second.base;
	}
	return sum;
}

// ---- adding ----

uint64_t fold(uint64_t value, uint from, uint lanes)
{
	for (uint d = from; d < lanes; d <<= 1)
		value += packUint2x32(subgroupShuffleXor(unpackUint2x32(value), d));
	return value;
}

uint64_t sum_word(uint64_t copy, uint word)
{
	return args.sums + RQL_CUBE_PLAIN_HEAD + (copy * args.stride + word) * 8ul;
}

void add_entry(uint group, bool live, uint64_t length, u64vec2 sum, uint lane)
{
	// A tile without an entry has the last one's group, and adds nothing.
	bool same = LANES < gl_SubgroupSize && subgroupAllEqual(group);
	uint64_t cells = live ? length : 0ul;
	if (SLOTS > 0u)
		sum.x = fold(live ? sum.x : 0ul, 1u, LANES);
	if (SLOTS > 1u)
		sum.y = fold(live ? sum.y : 0ul, 1u, LANES);
	if (same) {
		cells = fold(cells, LANES, gl_SubgroupSize);
		if (SLOTS > 0u)
			sum.x = fold(sum.x, LANES, gl_SubgroupSize);
		if (SLOTS > 1u)
			sum.y = fold(sum.y, LANES, gl_SubgroupSize);
	}
	if (same ? gl_SubgroupInvocationID == 0u : lane == 0u && live) {
		uint64_t copy = rql_group() & (COPIES - 1u);
		uint word = group * WORDS;
		atomicAdd(CubeWord(sum_word(copy, word)).v, cells);
		if (SLOTS > 0u)
			atomicAdd(CubeWord(sum_word(copy, word + 1u)).v, sum.x);
		if (SLOTS > 1u)
			atomicAdd(CubeWord(sum_word(copy, word + 2u)).v, sum.y);
	}
}

// The invocations' sums of the one row, to the workgroup's in shared_sums[][0].
void add_workgroup(uint64_t cells, u64vec2 sum)
{
	uint64_t values[3] = {cells, sum.x, sum.y};
	[[unroll]] for (uint w = 0u; w < WORDS; w++) {
		uint64_t value = fold(values[w], 1u, gl_SubgroupSize);
		if (gl_SubgroupInvocationID == 0u)
			shared_sums[w][gl_SubgroupID] = value;
	}
	memoryBarrierShared();
	barrier();
	if (gl_LocalInvocationIndex >= WORDS)
		return;
	uint64_t value = 0ul;
	for (uint s = 0u; s < gl_NumSubgroups; s++)
		value += shared_sums[gl_LocalInvocationIndex][s];
	if (args.groups == 1u)
		CubeWord(args.found + uint64_t(gl_LocalInvocationIndex) * 8ul).v = value;
	else
		atomicAdd(CubeWord(sum_word(rql_group() & (COPIES - 1u), gl_LocalInvocationIndex)).v, value);
}

// By the last workgroup. Copies of a word are in neighbouring lanes.
void put_rows(uint id)
{
	uint total = args.words * COPIES, size = gl_WorkGroupSize.x;
	for (uint start = 0u; start < total; start += READS_AT_ONCE * size) {
		uint64_t value[READS_AT_ONCE];
		[[unroll]] for (uint k = 0u; k < READS_AT_ONCE; k++) {
			uint i = start + k * size + id;
			value[k] = i < total ? CubeWord(sum_word(uint64_t(i & (COPIES - 1u)), i / COPIES)).v : 0ul;
		}
		[[unroll]] for (uint k = 0u; k < READS_AT_ONCE; k++) {
			uint i = start + k * size + id;
			value[k] = fold(value[k], 1u, COPIES);
			if (i < total)
				CubeWord(sum_word(uint64_t(i & (COPIES - 1u)), i / COPIES)).v = 0ul;
			if (i < total && (i & (COPIES - 1u)) == 0u)
				CubeWord(args.found + uint64_t(i / COPIES) * 8ul).v = value[k];
		}
	}
	if (id == 0u)
		CubeWord(args.sums).v = 0ul;
}

void main()
{
	uint group = uint(rql_group());
	if (group >= args.groups)
		return;
	// Lanes of a tile are neighbours in the subgroup, whatever the order of invocations in the workgroup is.
	uint id = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
	uint tile = id / LANES, lane = id % LANES, tiles = gl_WorkGroupSize.x / LANES;
	uint64_t cells = 0ul;
	u64vec2 sums = u64vec2(0ul);
	for (uint first = group * tiles; first < args.count; first += args.groups * tiles) {
		bool live = first + tile < args.count;
		uvec4 entry = CubeEntry(args.entries + uint64_t(live ? first + tile : args.count - 1u) * 16ul).v;
		uint64_t begin = packUint2x32(uvec2(entry.x, entry.w & 0xffu));
		uint64_t length = packUint2x32(uvec2(entry.y, (entry.w >> 8) & 0xffu));
		u64vec2 sum = entry_part(begin, length, lane);
		if (!ONE_ROW) {
			add_entry(entry.z, live, length, sum, lane);
		} else if (live) {
			cells += lane == 0u ? length : 0ul;
			sums += sum;
		}
	}
	if (ONE_ROW) {
		add_workgroup(cells, sums);
		if (args.groups == 1u)
			return;
	}
	if (cube_last_of(args.sums, uint64_t(args.groups)))
		put_rows(id);
}
