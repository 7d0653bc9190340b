#version 460
// A row as a point at its group's own pixel (papers/004, 4.1.2). Of a column of fields, where blending has one, the rows
// without a value are not drawn.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat out uvec2 point; // row, group

bool has_value(uint row)
{
	if (args.column == RQL_RASTER_ROWS_ONLY)
		return true;
	uint flags = uint(rql_column(args.column, RQL_RASTER_COLUMN_FLAGS));
	return !rql_is(flags, RQL_RASTER_COLUMN_FIELDS) || rql_value(args.column, flags, row) != 0ul;
}

void main()
{
	uint row = args.first_row + uint(gl_VertexIndex);
	bool there = row < RQL_STATE.at[RQL_RASTER_GROUP_DRAW_TOTALS(args.rounds)] && has_value(row);
	uint group = there ? rql_group_of(row) : RQL_RASTER_NONE;
	gl_Position = group == RQL_RASTER_NONE ? rql_nowhere
	                                      : rql_pixel(uvec2(rql_pixel_of_group(group)), uvec2(args.width, args.height));
	gl_PointSize = 1.0;
	point = uvec2(row, group);
}
