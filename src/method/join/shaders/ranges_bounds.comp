// Bounds of rows as a first and a last place of the points between them (ranges_kernels.h).
//
// Floor: two fields read and two places written, side by side.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/join/ranges_kernels.h"
#include "primitive/shaders/ordered.glsl"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_ranges_bounds_args args; };

bool has(uint flag)
{
	return (args.flags & flag) != 0u;
}

void put(uint64_t out_items, uint row, uint64_t place)
{
	if (has(RQL_RANGES_OUT_WIDE))
		RQL_U64(out_items, row) = place;
	else
		RQL_U32(out_items, row) = uint(place);
}

// False: the bound is NULL.
bool bound_at(uint64_t fields, uint row, out uint64_t v)
{
	uint64_t field = has(RQL_RANGES_WIDE) ? RQL_U64(fields, row) : uint64_t(RQL_U32(fields, row));
	v = has(RQL_RANGES_REAL) ? rql_key_of_equal_real(~field) : field - 1ul;
	return field != 0ul;
}

void main()
{
	uint64_t at = rql_group() * RQL_RANGES_THREADS + gl_LocalInvocationIndex;
	if (at >= args.room)
		return;
	uint row = uint(at);
	bool some = at < min(RQL_U64(args.found, 0), uint64_t(args.room));
	uint64_t first = 0ul, last = args.span - 1ul, v;
	if (some && args.lows != 0ul) {
		some = bound_at(args.lows, row, v);
		first = v + (has(RQL_RANGES_LOW_OPEN) ? 1ul : 0ul);
	}
	if (some && args.highs != 0ul) {
		some = bound_at(args.highs, row, v) && !(has(RQL_RANGES_HIGH_OPEN) && v == 0ul);
		last = v - (has(RQL_RANGES_HIGH_OPEN) ? 1ul : 0ul);
	}
	some = some && first <= last;
	put(args.lows_out, row, some ? first : 1ul);
	put(args.highs_out, row, some ? last : 0ul);
}
