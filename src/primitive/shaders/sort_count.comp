#version 460
// Radix sort, first part of a digit's pass: how often each digit occurs in each workgroup's items. Several counters per
// digit keep many equal keys from meeting in one. Floor: reads every key once. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_sort_args args; };
#if KEY_BITS == 32
#define RQL_KEY RQL_U32
#else
#define RQL_KEY RQL_U64
#endif
#define COPIES 4u
shared uint counters[RQL_SORT_DIGITS * COPIES];

void main()
{
	uint64_t group = rql_group();
	uint t = gl_LocalInvocationIndex;
	if (group >= args.groups)
		return;
	uint64_t first = group * args.group_items;
	uint64_t end = min(first + args.group_items, args.count);
	for (uint i = t; i < RQL_SORT_DIGITS * COPIES; i += RQL_THREADS)
		counters[i] = 0u;
	barrier();
	uint mask = (1u << args.bits) - 1u;
	for (uint64_t i = first + t; i < end; i += RQL_THREADS) {
		uint digit = uint(RQL_KEY(args.keys_in, i) >> args.shift) & mask;
		atomicAdd(counters[digit * COPIES + (t & (COPIES - 1u))], 1u);
	}
	barrier();
	if (t <= mask) {
		uint sum = 0u;
		for (uint i = 0u; i < COPIES; i++)
			sum += counters[t * COPIES + i];
		RQL_U32(args.histogram, t * args.groups + group) = sum;
	}
}
