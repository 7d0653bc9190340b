#version 460
// What blending takes the greatest of: 16 bits of a value, and what they lack to the greatest, which gives the least. Part
// after part from the high ones on, each counts where those before are the group's extreme.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat in uvec2 point;
layout(location = 0) out vec2 color;

vec2 part_of(uint64_t place, uint part)
{
	uint bits = uint(place >> 16u * (args.parts - 1u - part)) & 0xffffu;
	return vec2(bits, 0xffffu - bits);
}

void main()
{
	uint64_t place = rql_value_place(args.column, uint(rql_column(args.column, RQL_RASTER_COLUMN_FLAGS)), point.x);
	bvec2 extreme = bvec2(true);
	for (uint part = 0u; part < args.part; part++) {
		vec2 most = rql_fetch_float(args.images[part], rql_pixel_of_group(point.y), 0u).xy, mine = part_of(place, part);
		extreme = bvec2(extreme.x && mine.x == most.x, extreme.y && mine.y == most.y);
	}
	vec2 mine = part_of(place, args.part);
	color = vec2(extreme.x ? mine.x : -1.0, extreme.y ? mine.y : -1.0);
}
