// What the shaders of rays share: arguments, and a region of the launch.
#ifndef RQL_SIEVE_TRACE_GLSL
#define RQL_SIEVE_TRACE_GLSL
#include "method/sieve/shaders/sieve_test.glsl"

layout(push_constant, scalar) uniform Args { rql_sieve_trace_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveRegion { rql_sieve_kernel_region v; };

rql_sieve_kernel_region region_at(uint number)
{
	return SieveRegion(args.regions + uint64_t(number) * RQL_SIEVE_REGION_BYTES).v;
}
uint64_t region_first(uint number)
{
	return SieveKey64(args.regions + uint64_t(number) * RQL_SIEVE_REGION_BYTES).v;
}
#endif
