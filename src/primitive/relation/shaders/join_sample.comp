#version 460
// Which kernel joins: the one for keys that come often in the build side (join_many.glsl), or the other. One workgroup counts
// rows and keys of some partitions whole, since a key's rows are in one, and gives all workgroups to one of the kernels.
// Places of a bitmap stand for keys: it has eight times as many as rows are seen.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
#include "primitive/shaders/groups.glsl"
layout(push_constant, scalar) uniform rql_push { rql_join_sample_args args; };
#define PARTITIONS_SEEN 4u
#define ROWS_SEEN 4096u
#define PLACES 32768u
#define MANY_ROWS 3u // a key, on average
shared uint places[PLACES / 32u];
shared uint rows_sum, keys_sum;

KEY key_at(uint row)
{
#if KEY_BITS == 32
	if ((args.flags & RQL_JOIN_BUILD_PAIRED) != 0u)
		return unpackUint2x32(RQL_U64(args.keys, row)).x;
#endif
	return RQL_KEY(args.keys, row);
}

void see(uint first, uint end, inout uint rows, inout uint keys)
{
	for (uint i = rql_thread(); i < PLACES / 32u; i += THREADS)
		places[i] = 0u;
	barrier();
	for (uint row = first + rql_thread(); row < end; row += THREADS) {
		uint place = rql_hash(key_at(row), (args.flags >> 24u & RQL_ROWS_RAW) != 0u) & (PLACES - 1u);
		uint bit = 1u << (place & 31u);
		keys += (atomicOr(places[place >> 5u], bit) & bit) == 0u ? 1u : 0u;
		rows++;
	}
	barrier();
}

void give(uint kernel, uint groups)
{
	uvec3 sizes = rql_groups_of(groups);
	[[unroll]] for (uint i = 0u; i < 3u; i++)
		RQL_U32(args.groups_out, 3u * kernel + i) = sizes[i];
}

void main()
{
	if (rql_group() != 0ul)
		return;
	uint partitions = 1u << args.partitions_log2, rows = 0u, keys = 0u;
	if (rql_thread() == 0u) {
		rows_sum = 0u;
		keys_sum = 0u;
	}
	for (uint s = 0u; s < min(PARTITIONS_SEEN, partitions); s++) {
		uint partition_id = uint(uint64_t(partitions) * s / PARTITIONS_SEEN);
		uint first = 0u, end = rql_rows(args.build_found, args.build_count);
		if (args.starts != 0ul) {
			first = RQL_U32(args.starts, partition_id);
			end = RQL_U32(args.starts, partition_id + 1u);
		}
		see(first, min(end, first + ROWS_SEEN), rows, keys);
	}
	rows = subgroupAdd(rows);
	keys = subgroupAdd(keys);
	if (subgroupElect()) {
		atomicAdd(rows_sum, rows);
		atomicAdd(keys_sum, keys);
	}
	barrier();
	if (rql_thread() == 0u) {
		bool many = rows_sum >= MANY_ROWS * keys_sum && rows_sum != 0u;
		give(0u, many ? 0u : args.groups);
		give(1u, many ? args.groups : 0u);
	}
}
