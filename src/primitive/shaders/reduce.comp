#version 460
// One number from many: each workgroup strides over the input and leaves a partial result of two words; one more
// workgroup reduces those. Floor: reads every item once.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
#include "primitive/shaders/ordered.glsl"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint KIND = 0u;
layout(constant_id = 2) const uint TYPE = 0u;
layout(constant_id = 3) const uint PARTIAL = 0u;
layout(push_constant, scalar) uniform rql_push { rql_reduce_args args; };

#define KIND_SUM64 0u
#define KIND_SUM128 1u
#define KIND_MIN 2u
shared uint64_t low_words[RQL_THREADS];
shared uint64_t high_words[RQL_THREADS];

void combine(inout uint64_t low, inout uint64_t high, uint64_t other_low, uint64_t other_high)
{
	if (KIND <= KIND_SUM128) {
		low += other_low;
		high += other_high + (low < other_low ? 1ul : 0ul);
	} else {
		low = KIND == KIND_MIN ? min(low, other_low) : max(low, other_low);
	}
}

void take(inout uint64_t low, inout uint64_t high, uint64_t i)
{
	if (PARTIAL != 0u) {
		combine(low, high, RQL_U64(args.in_items, 2ul * i), RQL_U64(args.in_items, 2ul * i + 1ul));
		return;
	}
	uint64_t bits = RQL_U64(args.in_items, i);
	if (KIND > KIND_SUM128)
		bits = rql_key_of(bits, TYPE);
	combine(low, high, bits, TYPE == RQL_WORD_I64 && (bits & RQL_SIGN) != 0ul ? ~0ul : 0ul);
}

// What changes nothing; also the answer over nothing.
uint64_t neutral()
{
	if (KIND <= KIND_SUM128)
		return 0ul;
	if (KIND == KIND_MIN)
		return TYPE == RQL_WORD_F64 ? RQL_KEY_NAN : ~0ul;
	return TYPE == RQL_WORD_F64 ? 0x000ffffffffffffful : 0ul;
}

void main()
{
	uint64_t group = rql_group();
	uint t = gl_LocalInvocationIndex;
	if (group >= args.groups)
		return;
	uint64_t low = neutral();
	uint64_t high = 0ul;
	for (uint64_t i = group * RQL_THREADS + t; i < args.count; i += uint64_t(args.groups) * RQL_THREADS)
		take(low, high, i);
	low_words[t] = low;
	high_words[t] = high;
	barrier();
	for (uint half_ = RQL_THREADS / 2u; half_ > 0u; half_ >>= 1u) {
		if (t < half_) {
			combine(low, high, low_words[t + half_], high_words[t + half_]);
			low_words[t] = low;
			high_words[t] = high;
		}
		barrier();
	}
	if (t != 0u)
		return;
	if (args.last == 0u) {
		RQL_U64(args.out_items, 2ul * group) = low;
		RQL_U64(args.out_items, 2ul * group + 1ul) = high;
		return;
	}
	RQL_U64(args.out_items, 0) = KIND <= KIND_SUM128 ? low : rql_bits_of(low, TYPE);
	if (KIND == KIND_SUM128)
		RQL_U64(args.out_items, 1) = high;
}
