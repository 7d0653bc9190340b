// What the tracing shaders of cgRX share.
#include "device/trace.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(push_constant, scalar) uniform rql_push { rql_cgrx_args args; };
#define NOTHING 0xffffffffu
