#version 460
// Joins a piece of the probe side with a map of unique keys: reads its keys and values where they lie, the host's memory
// as well, and writes the values of both sides of each match, close together. Floor: stream_join.h. HASHED: 0 or 1.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup_kernels.h"
#define KEY_BITS 32
#include "primitive/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_stream_args args; };
#include "primitive/shaders/lookup_find.glsl"

#define ROWS (RQL_STREAM_THREADS * RQL_STREAM_ITEMS)
shared uint found_count, first_low, first_high;
shared uint builds[ROWS];
shared uint probes[ROWS];

// Of one row a thread: its match goes behind those of the workgroup so far.
void join_row(uint64_t probe)
{
	uint row = RQL_LOOKUP_EMPTY;
	if (probe < args.count)
		find(RQL_U32(args.keys, probe), row);
	bool is = row != RQL_LOOKUP_EMPTY;
	uvec4 matches = subgroupBallot(is);
	uint first = 0u;
	if (subgroupElect())
		first = atomicAdd(found_count, subgroupBallotBitCount(matches));
	first = subgroupBroadcastFirst(first) + subgroupBallotExclusiveBitCount(matches);
	if (is) {
		builds[first] = RQL_U32(args.build_values, row);
		probes[first] = RQL_U32(args.values, probe);
	}
}

void main()
{
	uint64_t begin = rql_group() * ROWS;
	uint thread = gl_LocalInvocationIndex;
	if (thread == 0u)
		found_count = 0u;
	barrier();
	for (uint i = 0u; i < RQL_STREAM_ITEMS; i++)
		join_row(begin + i * RQL_STREAM_THREADS + thread);
	barrier();
	if (thread == 0u && found_count != 0u) {
		uvec2 first = unpackUint2x32(atomicAdd(RQL_U64(args.rows, 0), uint64_t(found_count)));
		first_low = first.x;
		first_high = first.y;
	}
	barrier();
	uint64_t first = packUint2x32(uvec2(first_low, first_high));
	for (uint i = thread; i < found_count; i += RQL_STREAM_THREADS)
		if (first + i < args.capacity) {
			RQL_U32(args.build_out, first + i) = builds[i];
			RQL_U32(args.probe_out, first + i) = probes[i];
		}
}
