#version 460
#extension GL_GOOGLE_include_directive : require
// The value of a point to its target: as it is, as floats, or to two targets (TARGETS).
#include "device/kernel.glsl"
#include "selftest/selftest_draw_kernels.h"

layout(push_constant, scalar) uniform Args { rql_point_args args; };
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(location = 0) flat in uvec4 value;
layout(location = 1) flat in uint layer;
#if TARGETS == 2
layout(location = 0) out uvec4 color;
layout(location = 1) out vec4 second;
#elif FLOATS
layout(location = 0) out vec4 color;
#else
layout(location = 0) out uvec4 color;
#endif

void main()
{
	uvec2 at = uvec2(gl_FragCoord.xy);
	if (args.calls != 0)
		atomicAdd(Words(args.calls).at[(layer * args.height + at.y) * args.width + at.x], 1u);
#if TARGETS == 2
	color = value;
	second = vec4(value);
#elif FLOATS
	color = vec4(ivec4(value));
#else
	color = value;
#endif
}
