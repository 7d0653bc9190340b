#version 460
// A probe row that has a match in the dense image is one point at the row's own pixel, with the number of its matches.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat out uvec2 point; // position, matches

void main()
{
	uint position = uint(gl_VertexIndex), side = rql_probing(), built = rql_building(), matches = 0u;
	uvec2 key = rql_key(side, position);
	uvec2 rows = rql_is_null(key) ? uvec2(0u) : rql_dense_rows(rql_pixel_of_key(key));
	for (uint i = 0u; i < rows.y; i++) {
		uint other = rql_dense_position(rows.x + i);
		if (rql_key(built, other) == key && rql_matches(built, other, position))
			matches++;
		if (matches != 0u && !rql_flag(RQL_RASTER_PAIRS))
			break;
	}
	gl_Position = matches != 0u
	                  ? rql_pixel(rql_pixel_of_probe(side, position), uvec2(args.width, args.height)) : rql_nowhere;
	gl_PointSize = 1.0;
	point = uvec2(position, matches);
}
