// What a shader that looks images up by their number includes after kernel.glsl (draw.h). The arrays are one table
// under the names of what is in it: which name is right is known from the image's format.
#ifndef RQL_DRAW_GLSL
#define RQL_DRAW_GLSL
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_samplerless_texture_functions : require

layout(set = 0, binding = 0) uniform utexture2DArray rql_uint_images[];
layout(set = 0, binding = 0) uniform texture2DArray rql_float_images[];

uvec4 rql_fetch(uint image, ivec2 at, uint layer)
{
	return texelFetch(rql_uint_images[image], ivec3(at, layer), 0);
}
vec4 rql_fetch_float(uint image, ivec2 at, uint layer)
{
	return texelFetch(rql_float_images[image], ivec3(at, layer), 0);
}

#ifdef RQL_STORAGE_FORMAT
// Storage images of one format, which the includer names: r32ui, rg32ui, ...
layout(set = 0, binding = 1, RQL_STORAGE_FORMAT) uniform uimage2DArray rql_storage_images[];
#endif

#ifdef RQL_VERTEX
#extension GL_ARB_shader_viewport_layer_array : require
// A point at the centre of pixel `at` of a drawing of `size` pixels. Exact: (2a + 1) / w - 1 with w a power of two, and
// within a sixteenth of a pixel of the centre for every other width up to 2^16.
vec4 rql_pixel(uvec2 at, uvec2 size)
{
	return vec4((vec2(2 * at + 1)) / vec2(size) - 1.0, 0.0, 1.0);
}
// Outside of every drawing: no fragment comes of it.
const vec4 rql_nowhere = vec4(2.0, 2.0, 0.0, 1.0);
#endif
#endif
