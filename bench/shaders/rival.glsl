// What both rival scans share.
#include "device/kernel.glsl"
#include "../bench/rival_kernels.h"

layout(local_size_x_id = 0) in;
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_scans { rql_rival_scan scan; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer rql_quads { uvec4 quad[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer rql_words { uint32_t word[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_sums { uint64_t sum[]; };
layout(push_constant, scalar) uniform rql_push { rql_rival_args args; };

bool rql_passes(rql_rival_predicate p, uint32_t value)
{
	return value - p.low <= p.span || value == p.other;
}

int64_t rql_measure(uint32_t operation, uint32_t a, uint32_t b)
{
	int64_t x = int64_t(int32_t(a));
	return operation == 0 ? x : operation == 1 ? x * int64_t(b) : x - int64_t(int32_t(b));
}
