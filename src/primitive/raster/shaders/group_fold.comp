#version 460
// From what was blended to a group's words: limbs are added to its sum, parts are put together.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(local_size_x_id = 0) in;

// Four limbs of 8 bits, each up to 2^24.
uint64_t put_together(vec4 limbs)
{
	return uint64_t(uint(limbs.x)) + (uint64_t(uint(limbs.y)) << 8) + (uint64_t(uint(limbs.z)) << 16) +
	       (uint64_t(uint(limbs.w)) << 24);
}

void add_sum(uint group, ivec2 at, vec4 first, uint64_t rows)
{
	uint flags = uint(rql_column(args.column, RQL_RASTER_COLUMN_FLAGS));
	uint64_t sums = rql_column(args.column, RQL_RASTER_COLUMN_SUM);
	bool wide = rql_is(flags, RQL_RASTER_COLUMN_WIDE), long_values = rql_is(flags, RQL_RASTER_COLUMN_64);
	float last = rql_fetch_float(args.images[2], at, 0u).x;
	vec4 middle = long_values ? rql_fetch_float(args.images[1], at, 0u) : vec4(last, 0.0, 0.0, 0.0);
	uint64_t low = put_together(vec4(first.xyz, middle.x)), high = 0ul;
	if (long_values) {
		uint64_t upper = put_together(vec4(middle.yzw, last)), old = low;
		low += upper << 32u;
		high = (upper >> 32u) + (low < old ? 1ul : 0ul);
	}
	if (!rql_is(flags, RQL_RASTER_COLUMN_FIELDS)) { // what was added to each to have no sign
		uint64_t bias = rows << (long_values ? 63u : 31u), old = low;
		low -= bias;
		high -= (long_values ? rows >> 1u : 0ul) + (old < bias ? 1ul : 0ul);
	}
	rql_add_wide(sums, group, low, high, wide);
}

void fold_sums(uint group, ivec2 at)
{
	bool counts = args.column == RQL_RASTER_ROWS_ONLY;
	vec4 color = rql_fetch_float(args.images[0], at, 0u);
	uint64_t rows = uint64_t(counts ? color.x : color.w);
	if (counts)
		RQL_WORDS64(RQL_RASTER_GROUP_AT_COUNTS).at[group] += rows;
	else
		add_sum(group, at, color, rows);
	if (rows > uint64_t(args.exact_rows))
		atomicAdd(RQL_WORDS64(RQL_RASTER_GROUP_AT_INEXACT).at[0], 1ul);
}

void fold_extremes(uint group, ivec2 at)
{
	uint64_t most = 0ul, lack = 0ul;
	for (uint part = 0u; part < args.parts; part++) {
		uvec2 bits = uvec2(rql_fetch_float(args.images[part], at, 0u).xy);
		most = most << 16u | uint64_t(bits.x);
		lack = lack << 16u | uint64_t(bits.y);
	}
	uint flags = uint(rql_column(args.column, RQL_RASTER_COLUMN_FLAGS));
	bool field = rql_is(flags, RQL_RASTER_COLUMN_FIELDS), long_values = rql_is(flags, RQL_RASTER_COLUMN_64);
	uint64_t least = (long_values ? ~0ul : 0xfffffffful) - lack;
	if (rql_is(flags, RQL_RASTER_COLUMN_REAL))
		; // keys as they are: of nothing 0 and the greatest
	else if (field && most == 0ul)
		least = 0ul;
	else if (!field && long_values) {
		most ^= 0x8000000000000000ul;
		least ^= 0x8000000000000000ul;
	} else if (!field) {
		most = uint64_t(int64_t(int(uint(most) ^ 0x80000000u)));
		least = uint64_t(int64_t(int(uint(least) ^ 0x80000000u)));
	}
	uint64_t leasts = rql_column(args.column, RQL_RASTER_COLUMN_MIN), mosts = rql_column(args.column, RQL_RASTER_COLUMN_MAX);
	if (leasts != 0ul)
		rql_u64s(leasts).at[group] = least;
	if (mosts != 0ul)
		rql_u64s(mosts).at[group] = most;
}

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= min(RQL_WORDS64(RQL_RASTER_GROUP_AT_GROUPS).at[0], args.capacity))
		return;
	ivec2 at = rql_pixel_of_group(uint(i));
#if EXTREMES
	fold_extremes(uint(i), at);
#else
	fold_sums(uint(i), at);
#endif
}
