#version 460
// What blending adds: the limbs of a value and one row (papers/004, figure 6c; limbs make it exact).
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat in uvec2 point;
layout(location = 0) out vec4 color;
#if SUM
layout(location = 1) out float last;
#endif

void main()
{
#if SUM
	uint place = rql_value_place(point.x);
	color = vec4(place & 0xffu, place >> 8u & 0xffu, place >> 16u & 0xffu, 1u);
	last = float(place >> 24u);
#else
	color = vec4(1.0);
#endif
}
