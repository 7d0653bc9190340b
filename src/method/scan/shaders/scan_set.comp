// Which keys rows of COLUMNS have, as bits of a map (scan_set.c): an invocation for each row.
//
// Floor: a field read, and a word of the bits, which are read before an atomic is spent on them: keys of a fact table
// come many times.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/scan/scan_kernels.h"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint FIELD_BITS = 32;
layout(push_constant, scalar) uniform Args { rql_scan_set_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SetCount { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SetWide { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SetNarrow { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer SetWord { uint v; };

shared uint tally[RQL_SCAN_SET_SEEN];

uint64_t field_of(uint64_t row)
{
	if (FIELD_BITS == 64)
		return SetWide(args.fields + row * 8ul).v;
	return uint64_t(SetNarrow(args.fields + row * 4ul).v);
}

void put(uint64_t field)
{
	uint64_t place = field + args.first;
	if (field == 0ul) {
		atomicAdd(tally[RQL_SCAN_SET_NULLS], 1u);
	} else if (place < uint64_t(args.span)) {
		SetWord word = SetWord(args.bits + (place >> 5) * 4ul);
		uint bit = 1u << uint(place & 31ul);
		atomicAdd(tally[RQL_SCAN_SET_KEYS], 1u);
		if ((word.v & bit) == 0u && (atomicOr(word.v, bit) & bit) == 0u)
			atomicAdd(tally[RQL_SCAN_SET_FRESH], 1u);
	}
}

void main()
{
	uint lane = gl_LocalInvocationIndex;
	uint64_t row = rql_group() * uint64_t(gl_WorkGroupSize.x) + uint64_t(lane);
	if (lane < RQL_SCAN_SET_SEEN)
		tally[lane] = 0u;
	barrier();
	if (row < args.room && row < SetCount(args.count).v)
		put(field_of(row));
	barrier();
	if (lane < RQL_SCAN_SET_SEEN && tally[lane] != 0u)
		atomicAdd(SetWord(args.seen + uint64_t(lane) * 4ul).v, tally[lane]);
}
