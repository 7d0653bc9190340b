// Rows of a side of an ASOF join as places, or as ranges of places that hold their match (nearest_kernels.h).
//
// Floor: a key's and a value's field read, one place written, of a probe row two. Invocations lie side by side in each.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/join/nearest_kernels.h"
#include "primitive/shaders/ordered.glsl"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_nearest_places_args args; };

bool has(uint flag)
{
	return (args.flags & flag) != 0u;
}

uint64_t field_at(uint64_t fields, uint row, bool wide)
{
	return wide ? RQL_U64(fields, row) : uint64_t(RQL_U32(fields, row));
}

void put(uint64_t out_items, uint row, uint64_t place)
{
	if (has(RQL_NEAREST_OUT_WIDE))
		RQL_U64(out_items, row) = place;
	else
		RQL_U32(out_items, row) = uint(place);
}

uint spread(uint row)
{
	uint x = (row ^ row >> 16u) * 0x9e3779b1u;
	return x ^ x >> 15u;
}

void main()
{
	uint64_t at = rql_group() * RQL_NEAREST_THREADS + gl_LocalInvocationIndex;
	if (at >= args.room)
		return;
	uint row = uint(at);
	bool build = args.highs_out == 0ul;
	uint64_t rows = min(RQL_U64(args.found, 0), uint64_t(args.room));
	uint64_t key = 1ul, value = 0ul;
	if (uint64_t(row) < rows) {
		key = args.keys != 0ul ? field_at(args.keys, row, has(RQL_NEAREST_KEY_WIDE)) : 1ul;
		value = field_at(args.values, row, has(RQL_NEAREST_VALUE_WIDE));
	}
	if (key == 0ul || value == 0ul) {
		uint64_t i = uint64_t(row) < rows ? uint64_t(spread(row)) : uint64_t(row) - rows;
		if (!build && uint64_t(row) < rows && args.nulls != 0ul)
			RQL_U64(args.nulls, 0) = 1ul;
		put(args.lows_out, row, build ? args.none + i % args.none_count * args.none_step : 1ul);
		if (!build)
			put(args.highs_out, row, 0ul);
		return;
	}
	uint64_t v = has(RQL_NEAREST_REAL) ? rql_key_of_equal_real(~value) : value - 1ul;
	uint64_t first = (key - 1ul) * args.span, w = has(RQL_NEAREST_DESCENDING) ? args.span - 1ul - v : v;
	put(args.lows_out, row, first + w + (!build && has(RQL_NEAREST_STRICT) ? 1ul : 0ul));
	if (!build)
		put(args.highs_out, row, first + (args.span - 1ul));
}
