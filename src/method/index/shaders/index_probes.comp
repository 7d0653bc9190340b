#version 460
// Keys of rows that lie on the device, as probes of a segment: points, and ranges where the rows say nothing of the index's last
// columns. What is NULL, no key of the segment, or beyond the rows is an empty range. A thread each.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/index/index_kernels.h"
#include "primitive/shaders/ordered.glsl"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform Args { rql_index_probes_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_digit_at { rql_index_digit_args value; };

// False: the segment has no such value.
bool find_digit(rql_index_digit_args d, uint64_t field, out uint64_t digit)
{
	uint64_t code = d.span == 0ul ? field - 1ul : (field - 1ul) / d.stride % d.span;
	bool real = d.kind == RQL_INDEX_DIGIT_REAL; // as rql_index_of_real has it
	uint64_t distance = (real ? rql_key_of_equal_real(~field) ^ RQL_SIGN : code) + d.add;
	uint place = 1u;
	if (d.places != 0ul) {
		place = RQL_U32(d.places, code);
		distance = uint64_t(place) - 1ul;
	}
	digit = distance >> d.shift;
	return place != 0u && digit <= d.last;
}

bool find_key(uint64_t field, out uint64_t low, out uint64_t high)
{
	const uint64_t several = args.digit_count > 1u ? 1ul : 0ul; // then NULL is the digit 0
	low = high = 0ul;
	for (uint k = 0u; k < args.digit_count; k++) {
		rql_index_digit_args d = rql_digit_at(args.digits + uint64_t(k) * 48ul).value;
		uint64_t first = 0ul, last = d.last + several;
		if (d.kind != RQL_INDEX_DIGIT_ANY) {
			if (!find_digit(d, field, first))
				return false;
			first += several;
			last = first;
		}
		low = low * (d.last + 2ul) + first;
		high = high * (d.last + 2ul) + last;
	}
	high = min(high, args.last);
	return low <= high;
}

void main()
{
	uint64_t i = rql_group() * uint64_t(RQL_INDEX_THREADS) + uint64_t(gl_LocalInvocationIndex);
	if (i >= args.room)
		return;
	uint64_t low = 1ul, high = 0ul;
	if (i < RQL_U64(args.rows, 0)) {
		uint64_t field = args.field_bits == 64u ? RQL_U64(args.fields, i) : uint64_t(RQL_U32(args.fields, i));
		if (field == 0ul || !find_key(field, low, high)) {
			low = 1ul;
			high = 0ul;
		}
	}
	if (args.key_bits == 64u) {
		RQL_U64(args.lows, i) = low;
		RQL_U64(args.highs, i) = high;
	} else {
		RQL_U32(args.lows, i) = uint(low);
		RQL_U32(args.highs, i) = uint(high);
	}
}
