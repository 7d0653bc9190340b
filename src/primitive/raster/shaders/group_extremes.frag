#version 460
// What blending takes the greatest of: 16 bits of a value, and what they lack to the greatest, which gives the least.
// The low halves count where the high half is the group's extreme.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat in uvec2 point;
layout(location = 0) out vec2 color;

void main()
{
	uint place = rql_value_place(point.x);
	vec2 high = vec2(place >> 16u, 0xffffu - (place >> 16u)), low = vec2(place & 0xffffu, 0xffffu - (place & 0xffffu));
	if (args.part == RQL_RASTER_HIGH) {
		color = high;
		return;
	}
	vec2 extreme = rql_fetch_float(args.images[4], rql_pixel_of_group(point.y), 0u).xy;
	color = vec2(high.x == extreme.x ? low.x : -1.0, high.y == extreme.y ? low.y : -1.0);
}
