#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "device/trace.glsl"

layout(location = 0) rayPayloadInEXT uvec2 found; // part, primitive

void main()
{
	found = uvec2(gl_InstanceCustomIndexEXT, gl_PrimitiveID);
}
