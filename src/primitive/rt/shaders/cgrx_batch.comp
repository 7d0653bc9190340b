#version 460
// Entries in another order, a thread an entry. Floor: reads 4 bytes and what it puts out.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_cgrx_batch_args args; };

void main()
{
	uint64_t i = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	uint from = RQL_U32(args.places, i);
	if (args.keys_out != 0ul)
		RQL_KEY(args.keys_out, i) = RQL_KEY(args.keys, from);
	if (args.rows_out != 0ul)
		RQL_U32(args.rows_out, i) = RQL_U32(args.rows, from);
	if (args.inserts_out != 0ul)
		RQL_U32(args.inserts_out, i) = uint64_t(from) >= args.deletes ? 1u : 0u;
}
