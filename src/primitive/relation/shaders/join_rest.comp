#version 460
// Rows of one side of a join as rows without a match: those of the probe side whose key is NULL by a bitmap (the others were
// partitioned without them), and of a full join those of the build side that had no match, or whose key is NULL. Floor:
// reads the bitmap, or the keys, once.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_join_rest_args args; };
#include "primitive/relation/shaders/join_write.glsl"

void main()
{
	uint rows = (args.flags & RQL_REST_COUNT_32) != 0u ? RQL_U32(args.side_found, 0) : rql_rows(args.side_found, args.count);
	uint64_t first = rql_group() * THREADS;
	if (first >= rows)
		return;
	read_columns(args.build_columns + args.probe_columns);
	uint row = uint(first) + rql_thread();
	bool by_key = (args.flags & RQL_REST_BY_KEY) != 0u, of_build = (args.flags & RQL_REST_OF_BUILD) != 0u;
	uint key_row = row << ((args.flags & RQL_REST_PAIRED) != 0u ? 1u : 0u);
	bool is = row < rows;
	if (is)
		is = by_key ? RQL_KEY(args.keys, key_row) == KEY(args.null_key) : !rql_valid_bit(args.valid, row);
	uvec4 ballot = subgroupBallot(is);
	uint64_t place = reserve(is ? 1u : 0u) + subgroupBallotExclusiveBitCount(ballot);
	if (!is || place >= args.capacity)
		return;
	if (args.keys_out != 0ul)
		RQL_KEY(args.keys_out, place) = RQL_KEY(args.keys, key_row);
	for (uint c = 0u; c < args.build_columns + args.probe_columns; c++) {
		uint64_t out_at = column_word(c, 1u);
		uint flags = uint(column_word(c, 2u));
		if (out_at == 0ul)
			continue;
		bool own = c < args.build_columns == of_build;
		uint64_t value = own ? read_value(column_word(c, 0u), flags, row) : missing_value(flags);
		if ((flags & RQL_COLUMN_WIDE) != 0u)
			RQL_U64(out_at, place) = value;
		else
			RQL_U32(out_at, place) = uint(value);
	}
}
