// A few plain sums over resolved entries, where no group has very many of them: the common request (most of SSB), and
// the one whose time is latency. A workgroup has all entries of its groups (cube_compute_owned.c deals them out), so
// that it puts their rows straight into memory that the host reads: nothing is counted or cleared between workgroups.
//
// Every TILE of LANES neighbouring lanes takes one entry a round, all of one group: per slot the difference of two
// cumulative sums, and the cells between the entry's ends and the nearer block boundaries, all loads issued before the
// first is used; or every cell, where residual digits are tested. A group's first tile then adds up its tiles, which
// are neighbours.
//
// Floor: one launch and, a round, a load of entries (the next round's comes ahead) and one of what they name, then the
// write over PCIe; 16 bytes an entry, a slot's 2 sectors of cumulative sums and about 4 of edges.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#define CUBE_ROUND 4
#include "method/cube/shaders/cube_cells.glsl"

layout(constant_id = 1) const uint LANES = 1u; // a power of two, at most the subgroup's size
layout(constant_id = 2) const uint SLOTS = 1u;
layout(constant_id = 3) const uint FIRST_FORM = 0u; // RQL_CUBE_PLAIN_*
layout(constant_id = 4) const uint SECOND_FORM = 0u;
layout(constant_id = 5) const uint TESTS = 0u; // residual digits that are tested in every cell
layout(constant_id = 6) const uint ROUND = 2u;
layout(push_constant, scalar) uniform Args { rql_cube_owned_args args; };
#include "method/cube/shaders/cube_plain.glsl"

const uint TILES = gl_WorkGroupSize.x / LANES;
const uint WORDS = SLOTS + 1u; // of a row

shared uint64_t shared_sums[WORDS * TILES]; // [word][tile]
shared uint64_t shared_rows[WORDS * TILES];
shared uint shared_first, shared_last; // groups

uvec4 entry_at(uint round, uint tile)
{
	uint64_t number = (rql_group() * args.rounds + min(round, args.rounds - 1u)) * TILES + tile;
	return CubeEntry(args.entries + number * 16ul).v;
}

void main()
{
	if (rql_group() >= args.groups)
		return;
	// Lanes of a tile are neighbours in the subgroup, whatever the order of invocations in the workgroup is.
	uint id = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID, tile = id / LANES, lane = id % LANES;
	uvec4 entry = entry_at(0u, tile);
	uint group = entry.z, tiles = (entry.w >> 16) & (RQL_CUBE_OWNED_LAST - 1u);
	bool is_last = (entry.w >> 16 & RQL_CUBE_OWNED_LAST) != 0u;
	uint64_t sums[3] = {0ul, 0ul, 0ul};
	load_tests();
	for (uint round = 0u; round < args.rounds; round++) {
		uvec4 next = entry_at(round + 1u, tile);
		Sums part = entry_part(entry, lane);
		sums[0] += part.cells;
		sums[1] += part.first;
		sums[2] += part.second;
		entry = next;
	}
	[[unroll]] for (uint w = 0u; w < WORDS; w++) {
		uint64_t sum = fold(sums[w], 1u, LANES);
		if (lane == 0u)
			shared_sums[w * TILES + tile] = sum;
	}
	if (id == 0u)
		shared_first = group;
	if (lane == 0u && is_last)
		shared_last = group;
	memoryBarrierShared();
	barrier();
	[[unroll]] for (uint w = 0u; w < WORDS; w++) {
		uint64_t sum = 0ul;
		for (uint t = lane; t < tiles; t += LANES)
			sum += shared_sums[w * TILES + tile + t];
		sum = fold(sum, 1u, LANES);
		if (lane == 0u && tiles != 0u)
			shared_rows[(group - shared_first) * WORDS + w] = sum;
	}
	memoryBarrierShared();
	barrier();
	uint words = (shared_last - shared_first + 1u) * WORDS;
	for (uint i = id; i < words; i += gl_WorkGroupSize.x)
		CubeWord(args.found + (uint64_t(shared_first) * WORDS + i) * 8ul).v = shared_rows[i];
}
