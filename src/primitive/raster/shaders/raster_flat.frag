#version 460
// A row takes the next of the neighbouring pixels that its key's pixel has in the dense image (papers/004, 3.4.4).
#extension GL_GOOGLE_include_directive : require
#define RQL_STORAGE_FORMAT r32ui
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat in uint row;

void main()
{
	uvec2 pixel = rql_pixel_of_key(rql_key(rql_building(), row));
	uint place = atomicAdd(rql_u32s(RQL_AT(RQL_RASTER_AT_NEXT)).at[pixel.y << args.log2_side | pixel.x], 1u);
	if (place < args.dense_rows)
		imageStore(rql_storage_images[args.dense_image], ivec3(place % args.dense_width, place / args.dense_width, 0),
		           uvec4(row));
}
