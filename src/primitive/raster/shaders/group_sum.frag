#version 460
// What blending adds: the limbs of a value and one row (papers/004, figure 6c; limbs make it exact). LIMBS: 4 of 8 bits, or
// 8 of a value of 64 bits; 0: rows alone are counted.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat in uvec2 point;
layout(location = 0) out vec4 color;
#if LIMBS == 8
layout(location = 1) out vec4 middle;
layout(location = 2) out float last;
#elif LIMBS == 4
layout(location = 1) out float last;
#endif

#if LIMBS
float limb(uint64_t place, uint number)
{
	return float(uint(place >> 8u * number) & 0xffu);
}
#endif

void main()
{
#if LIMBS
	uint64_t place = rql_value_place(args.column, uint(rql_column(args.column, RQL_RASTER_COLUMN_FLAGS)), point.x);
	color = vec4(limb(place, 0u), limb(place, 1u), limb(place, 2u), 1.0);
	last = limb(place, LIMBS - 1u);
#else
	color = vec4(1.0);
#endif
#if LIMBS == 8
	middle = vec4(limb(place, 3u), limb(place, 4u), limb(place, 5u), limb(place, 6u));
#endif
}
