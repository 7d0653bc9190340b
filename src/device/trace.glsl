// What every ray-tracing shader includes after kernel.glsl: the extension and the ray's number.
//
// A structure is traced through by its address (rql_accel.address) as a uint64_t of the argument struct; no descriptor
// set exists. glslang 12 takes the conversion only as a function's argument, never as a local variable, hence the macro:
//     traceRayEXT(RQL_STRUCTURE(args.accel), flags, mask, 0, 0, 0, from, tmin, direction, tmax, 0);
// There is one hit group and one miss shader, so that offset, stride and miss index are 0.
#ifndef RQL_TRACE_GLSL
#define RQL_TRACE_GLSL
#extension GL_EXT_ray_tracing : require

#define RQL_STRUCTURE(address) accelerationStructureEXT(address)

// The number of this ray generation shader within its launch; the ray is args.first_ray + rql_launch(). Launches that
// are wider than a driver's first dimension have rows (vulkan/trace.c).
uint64_t rql_launch()
{
	return uint64_t(gl_LaunchIDEXT.y) * gl_LaunchSizeEXT.x + gl_LaunchIDEXT.x;
}
#endif
