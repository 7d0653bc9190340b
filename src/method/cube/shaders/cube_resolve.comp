// Items of a request resolved, once: those with cells become entries, each with its interval of cells, its group and its
// box, so that every run after it begins where this pass ends (cube_owned.comp, cube_entries.comp, cube_intervals.comp).
// Intervals that are long and must be read whole are cut here, on multiples of `piece` cells, so that no run needs a
// second pass.
//
// Entries of a workgroup's items lie together in the items' order: neighbours there have neighbouring cells.
//
// Floor: per item 2 directory sectors and 16 bytes written; a chain of about 2 dependent loads a level (cube_item), and
// of log2(cells of the interval) where a residual digit is searched. Once per prepared request.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/shaders/cube_items.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer CubeEntryOut { uvec4 v; };
layout(push_constant, scalar) uniform Args { rql_cube_resolve_args args; };

shared uint64_t shared_begin[gl_WorkGroupSize.x], shared_end[gl_WorkGroupSize.x];
shared uint shared_group[gl_WorkGroupSize.x], shared_box[gl_WorkGroupSize.x];
shared uint shared_sum[gl_WorkGroupSize.x]; // entries of the invocations up to this one
shared uint64_t shared_first, shared_totals[RQL_CUBE_COUNTERS];

CubeItem resolve(rql_cube_program p, uint64_t number)
{
	CubeItem item = cube_item(p, number);
	if (item.search_radix != 0u) {
		uint64_t end = item.end;
		item.begin = cube_lower_bound(item.search_codes, item.begin, end, item.search_begin, item.search_radix);
		item.end = cube_lower_bound(item.search_codes, item.begin, end, item.search_end, item.search_radix);
	}
	return item;
}

// As the kernels that resolve items themselves count them.
void count_item(rql_cube_program p, CubeItem item)
{
	bool tested = cube_box(p, item.box).test_count > 0u;
	CubeEdges edges = cube_edges(p.cells, item.begin, item.end);
	atomicAdd(shared_totals[RQL_CUBE_COUNTER_RUNS], 1ul);
	atomicAdd(shared_totals[tested ? RQL_CUBE_COUNTER_TESTED : RQL_CUBE_COUNTER_CELLS], item.end - item.begin);
	if (!tested)
		atomicAdd(shared_totals[RQL_CUBE_COUNTER_EDGES], uint64_t(edges.left + edges.right));
}

// How many entries an interval becomes: it is cut where multiples of `piece` lie in it.
uint entries_of(uint64_t begin, uint64_t end)
{
	if (args.piece == 0u || end - begin <= uint64_t(args.piece))
		return 1u;
	return uint((end - 1ul) / args.piece - begin / args.piece) + 1u;
}

void put_entry(uint64_t at, uint from, uint part)
{
	uint64_t begin = shared_begin[from], end = shared_end[from];
	if (entries_of(begin, end) > 1u) {
		uint64_t cut = (begin / args.piece + part) * args.piece;
		end = min(end, cut + args.piece);
		begin = max(begin, cut);
	}
	uvec2 first = unpackUint2x32(begin), length = unpackUint2x32(end - begin);
	uvec4 entry = uvec4(first.x, length.x, shared_group[from], first.y | (length.y << 8) | (shared_box[from] << 16));
	if (at < args.capacity)
		CubeEntryOut(args.entries + at * 16ul).v = entry;
}

// shared_sum becomes its running sum.
void sum_up()
{
	uint i = gl_LocalInvocationIndex;
	for (uint step = 1u; step < gl_WorkGroupSize.x; step *= 2u) {
		memoryBarrierShared();
		barrier();
		uint before = i >= step ? shared_sum[i - step] : 0u;
		barrier();
		shared_sum[i] += before;
	}
	memoryBarrierShared();
	barrier();
}

void main()
{
	rql_cube_program p = CubeProgram(args.program).v;
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	uint i = gl_LocalInvocationIndex;
	uint64_t number = group * gl_WorkGroupSize.x + i;
	shared_sum[i] = 0u;
	if (i < RQL_CUBE_COUNTERS)
		shared_totals[i] = 0ul;
	memoryBarrierShared();
	barrier();
	if (number < p.items) {
		CubeItem item = resolve(p, number);
		if (item.begin < item.end) {
			shared_begin[i] = item.begin;
			shared_end[i] = item.end;
			shared_group[i] = uint(item.group);
			shared_box[i] = item.box;
			shared_sum[i] = entries_of(item.begin, item.end);
			count_item(p, item);
		}
	}
	sum_up();
	uint count = shared_sum[gl_WorkGroupSize.x - 1u];
	if (i < RQL_CUBE_COUNTERS && shared_totals[i] != 0ul)
		atomicAdd(CubeWord(args.totals + uint64_t(i) * 8ul).v, shared_totals[i]);
	if (i == 0u)
		shared_first = atomicAdd(CubeWord(args.totals + RQL_CUBE_TOTAL_ENTRIES * 8u).v, uint64_t(count));
	memoryBarrierShared();
	barrier();
	for (uint entry = i; entry < count; entry += gl_WorkGroupSize.x) { // whatever invocation's item it is of
		uint low = 0u, high = gl_WorkGroupSize.x - 1u;
		while (low < high) {
			uint middle = (low + high) / 2u;
			if (shared_sum[middle] <= entry)
				low = middle + 1u;
			else
				high = middle;
		}
		put_entry(shared_first + entry, low, entry - (low > 0u ? shared_sum[low - 1u] : 0u));
	}
}
