#version 460
// The least of no field is 0, as the greatest is; but of no real the greatest key.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= min(RQL_WORDS64(RQL_RASTER_GROUP_AT_GROUPS).at[0], args.capacity))
		return;
	for (uint c = 0u; c < args.column_count; c++) {
		uint64_t least = rql_column(c, RQL_RASTER_COLUMN_MIN);
		uint flags = uint(rql_column(c, RQL_RASTER_COLUMN_FLAGS));
		if (least != 0ul && rql_is(flags, RQL_RASTER_COLUMN_FIELDS) && !rql_is(flags, RQL_RASTER_COLUMN_REAL) &&
		    rql_u64s(least).at[uint(i)] == 0xfffffffffffffffful)
			rql_u64s(least).at[uint(i)] = 0ul;
	}
}
