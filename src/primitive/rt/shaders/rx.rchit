#version 460
// The one hit that is wanted.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rx.glsl"
layout(location = 0) rayPayloadInEXT rx_payload payload;

void main()
{
	payload.hits = 1u;
	payload.row = rx_row(gl_InstanceCustomIndexEXT, gl_PrimitiveID);
}
