#version 460
// Ascending entries become buckets of one node each, a thread an entry. Floor: reads and writes a key and a row an entry,
// and writes as much and 4 bytes more a bucket.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_cgrx_nodes_args args; };
#define NODES args.nodes
#include "primitive/rt/shaders/cgrx_nodes.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	nodes_open();
	uint bucket = uint(i >> args.log2_bucket), at = uint(i) & (1u << args.log2_bucket) - 1u;
	KEY key = RQL_KEY(args.keys, i);
	uint row = RQL_U32(args.rows, i);
	RQL_KEY(part_keys, node_slot(bucket, at)) = key;
	RQL_U32(part_rows, node_slot(bucket, at)) = row;
	if (i + 1ul < args.count && at + 1u < 1u << args.log2_bucket)
		return;
	RQL_KEY(part_last_keys, bucket) = key;
	RQL_U32(part_last_rows, bucket) = row;
	RQL_U32(part_sizes, bucket) = at + 1u;
}
