#version 460
// Which way the keys of a sorted map come into order (gpu_lookup_sort.c): one workgroup looks for the largest partition, and
// gives the workgroups to one of both ways.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#define KEY_BITS 32
#include "primitive/relation/shaders/relation.glsl"
#include "primitive/shaders/groups.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_sort_choose_args args; };
shared uint largest;

void give(uint choice, uint groups)
{
	uvec3 sizes = rql_groups_of(groups);
	[[unroll]] for (uint i = 0u; i < 3u; i++)
		RQL_U32(args.groups_out, 3u * choice + i) = sizes[i];
}

void main()
{
	if (rql_group() != 0ul)
		return;
	if (rql_thread() == 0u)
		largest = 0u;
	barrier();
	uint rows = 0u;
	for (uint p = rql_thread(); p < 1u << args.bits; p += THREADS)
		rows = max(rows, RQL_U32(args.starts, p + 1u) - RQL_U32(args.starts, p));
	rows = subgroupMax(rows);
	if (subgroupElect())
		atomicMax(largest, rows);
	barrier();
	if (rql_thread() == 0u) {
		bool fits = largest <= args.slots;
		give(RQL_LOOKUP_CHOICE_RANGES, fits ? 1u << args.bits : 0u);
		give(RQL_LOOKUP_CHOICE_SORT, fits ? 0u : args.sort_groups);
		give(RQL_LOOKUP_CHOICE_DIRECTORY, fits ? 0u : args.directory_groups);
	}
}
