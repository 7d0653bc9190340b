// What the shaders of look-ups by rays share: the key space and the other constants (rt_kernels.h says which they are).
#ifndef RQL_RT_GLSL
#define RQL_RT_GLSL
#include "geometry/key.glsl"
#include "primitive/rt/rt_kernels.h"
#include "primitive/relation/shaders/key_words.glsl"

layout(constant_id = 1) const uint BITS_X = 0u;
layout(constant_id = 2) const uint BITS_Y = 0u;
layout(constant_id = 3) const uint BITS_Z = 0u;
layout(constant_id = 4) const uint SHIFT_X = 0u;
layout(constant_id = 5) const uint SHIFT_Y = 0u;
layout(constant_id = 6) const uint SHIFT_Z = 0u;
layout(constant_id = 7) const uint STRIDE = 0u;
layout(constant_id = 8) const uint PRIMITIVE = 0u;
layout(constant_id = 9) const uint FORM = 0u;
layout(constant_id = 10) const uint FLAGS = 0u;
layout(constant_id = 11) const uint PART_LOG2 = 0u;
layout(constant_id = 12) const uint LINES = 0u;
layout(constant_id = 13) const uint LOG2_BUCKET = 0u;
layout(constant_id = 14) const uint RUN = 1u;
layout(constant_id = 15) const uint DROP = 0u;
layout(constant_id = 16) const uint REACH_LOG2 = 0u;

#define RT_TRIANGLES 0u
#define RT_BOXES 1u
#define RT_SPHERES 2u
#define RT_NO_ROW 0xffffffffu

bool rt_has(uint flag)
{
	return (FLAGS & flag) != 0u;
}

rql_key_space rt_space()
{
	return rql_key_space(uint[3](BITS_X, BITS_Y, BITS_Z), uint[3](SHIFT_X, SHIFT_Y, SHIFT_Z), STRIDE);
}

uint64_t rt_value(uint64_t values, uint row)
{
	if (rt_has(RQL_RT_WIDE))
		return RQL_U64(values, row);
	uint narrow = RQL_U32(values, row);
	return rt_has(RQL_RT_SIGNED) ? uint64_t(int64_t(int(narrow))) : uint64_t(narrow);
}
#endif
