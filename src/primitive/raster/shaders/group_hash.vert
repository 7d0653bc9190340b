#version 460
// A row as a point at the pixel of its key, with all words of the key (papers/004, 4.1.1 and 4.2.1).
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat out uvec4 first;
layout(location = 1) flat out uvec4 second;

void main()
{
	uint i = uint(gl_VertexIndex), row = args.list != 0ul ? rql_u32s(args.list).at[i] : i;
	uint words[8] = uint[8](row, 0u, 0u, 0u, 0u, 0u, 0u, 0u);
	for (uint w = 0u; w < args.key_words; w++)
		words[w + 1u] = rql_key_word(w, row);
	first = uvec4(words[0], words[1], words[2], words[3]);
	second = uvec4(words[4], words[5], words[6], words[7]);
	gl_Position = rql_pixel(rql_pixel_of_row(row), uvec2(1u << args.log2_side));
	gl_PointSize = 1.0;
}
