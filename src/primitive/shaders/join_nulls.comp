#version 460
// Rows of a join's probe side whose key is NULL by a bitmap: they match nothing, so a left join and an anti join put them
// out. The others were partitioned without them. Floor: reads the bitmap once.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation_kernels.h"
#include "primitive/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_join_nulls_args args; };
#include "primitive/shaders/join_write.glsl"

void main()
{
	uint rows = rql_rows(args.probe_found, args.count);
	uint64_t first = rql_group() * THREADS;
	if (first >= rows)
		return;
	read_columns(args.build_columns + args.probe_columns);
	uint row = uint(first) + rql_thread();
	bool is = row < rows && !rql_valid_bit(args.valid, row);
	uvec4 ballot = subgroupBallot(is);
	uint64_t place = reserve(is ? 1u : 0u) + subgroupBallotExclusiveBitCount(ballot);
	if (!is || place >= args.capacity)
		return;
	if (args.keys_out != 0ul)
		RQL_KEY(args.keys_out, place) = RQL_KEY(args.keys, row);
	for (uint c = 0u; c < args.build_columns + args.probe_columns; c++) {
		uint64_t out_at = column_word(c, 1u);
		uint flags = uint(column_word(c, 2u));
		if (out_at != 0ul)
			write_value(out_at, flags, place,
			            c < args.build_columns ? missing_value(flags) : read_value(column_word(c, 0u), flags, row));
	}
}
