// What the shaders of the paper's form share: arguments, the ray's payload, loads by address.
#ifndef RQL_CUBE_PAPER_GLSL
#define RQL_CUBE_PAPER_GLSL
#include "method/cube/paper/cube_paper_kernels.h"

layout(push_constant, scalar) uniform arguments { rql_paper_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer rql_paper_word { uint32_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_paper_word64 { uint64_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer rql_paper_corner { vec3 value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer rql_paper_area_at { rql_paper_area value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_paper_tables_at { rql_paper_tables value; };

struct rql_paper_payload {
	float low, high; // of the area
	uint box;
	uint calls; // of the any-hit shader
};
#endif
