// A few plain sums over resolved entries, where some group has very many of them (cube_owned.comp takes the others).
//
// Every TILE of LANES neighbouring lanes takes an entry: per slot the difference of two cumulative sums, and the cells
// between the entry's ends and the nearer block boundaries, all loads issued before the first is used. Sums meet in
//   ONE_ROW  the invocation's registers, whatever the number of entries, then the subgroup, the workgroup, one addition
//            per workgroup and word
//   else     rows in global memory, an addition per entry and word, or per subgroup if its entries have one group
// both in COPIES of the rows, so that no address is contended; the last workgroup adds the copies up, writes the result
// straight into memory that the host reads, and leaves zeros.
//
// Floor: one launch and the chain of dependent loads, in round trips (cache hit 0.25 to 0.3 us, a miss 0.7 to 0.8 us):
//   1 entry (its address comes from push constants)     2 cumulative sums and edges of all slots, together
//   3 the additions are performed (the barrier waits)   4 ticket     5 the rows, together     then the write over PCIe
// and the bytes: an entry is 16 bytes, 2 sectors of cumulative sums and about 4 of edges a slot. SSB SF 20 q1.1 on an
// H200, 3,816 entries: 8 us, of which an empty launch is 3.5.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#define CUBE_ROUND 4
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/shaders/cube_finish.glsl"

layout(constant_id = 1) const uint LANES = 1u; // a power of two, at most the subgroup's size
layout(constant_id = 2) const bool ONE_ROW = false;
layout(constant_id = 3) const uint COPIES = 1u; // a power of two, at most the subgroup's size
layout(constant_id = 4) const uint SLOTS = 1u;
layout(constant_id = 5) const uint FIRST_FORM = 0u; // RQL_CUBE_PLAIN_*
layout(constant_id = 6) const uint SECOND_FORM = 0u;
layout(constant_id = 7) const uint TESTS = 0u; // residual digits that are tested in every cell
layout(constant_id = 8) const uint ROUND = 2u;
layout(push_constant, scalar) uniform Args { rql_cube_entries_args args; };
#include "method/cube/shaders/cube_plain.glsl"

const uint WORDS = SLOTS + 1u; // of a row
const uint READS_AT_ONCE = 8u; // of the finish

shared uint64_t shared_sums[3][gl_WorkGroupSize.x];

// ---- adding ----

uint64_t sum_word(uint64_t copy, uint word)
{
	return args.sums + RQL_CUBE_PLAIN_HEAD + (copy * args.stride + word) * 8ul;
}

void add_entry(uint group, bool live, Sums sum, uint lane)
{
	uint64_t values[3] = {sum.cells, sum.first, sum.second};
	// A tile without an entry has the last one's group, and adds nothing.
	bool same = LANES < gl_SubgroupSize && subgroupAllEqual(group);
	uint width = same ? gl_SubgroupSize : LANES;
	bool leads = same ? gl_SubgroupInvocationID == 0u : lane == 0u && live;
	uint64_t copy = rql_group() & (COPIES - 1u);
	[[unroll]] for (uint w = 0u; w < WORDS; w++) {
		uint64_t value = fold(live ? values[w] : 0ul, 1u, width);
		if (leads)
			atomicAdd(CubeWord(sum_word(copy, group * WORDS + w)).v, value);
	}
}

// The invocations' sums of the one row.
void add_workgroup(Sums sum)
{
	uint64_t values[3] = {sum.cells, sum.first, sum.second};
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
	Sums sums = Sums(0ul, 0ul, 0ul);
	load_tests();
	for (uint first = group * tiles; first < args.count; first += args.groups * tiles) {
		bool live = first + tile < args.count;
		uvec4 entry = CubeEntry(args.entries + uint64_t(live ? first + tile : args.count - 1u) * 16ul).v;
		Sums sum = entry_part(entry, lane);
		if (!ONE_ROW) {
			add_entry(entry.z, live, sum, lane);
		} else if (live) {
			sums.cells += sum.cells;
			sums.first += sum.first;
			sums.second += sum.second;
		}
	}
	if (ONE_ROW)
		add_workgroup(sums);
	if (cube_last_of(args.sums, uint64_t(args.groups)))
		put_rows(id);
}
