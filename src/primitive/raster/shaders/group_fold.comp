#version 460
// From what was blended to a group's words: limbs are added to its sum, halves are put together.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(local_size_x_id = 0) in;

void fold_sums(uint group, ivec2 at)
{
	bool sum = (args.wanted & 1u) != 0u;
	vec4 color = rql_fetch_float(args.images[2], at, 0u);
	uint64_t rows = uint64_t(sum ? color.w : color.x);
	RQL_WORDS64(RQL_RASTER_AT_COUNTS).at[group] += rows;
	if (!sum)
		return;
	uint last = uint(rql_fetch_float(args.images[3], at, 0u).x);
	uint64_t places = uint64_t(uint(color.x)) + (uint64_t(uint(color.y)) << 8) + (uint64_t(uint(color.z)) << 16) +
	                  (uint64_t(last) << 24);
	int64_t value = int64_t(places) - int64_t(rows << 31);
	rql_u64s sums = RQL_WORDS64(RQL_RASTER_AT_SUMS);
	uint64_t old = sums.at[2u * group];
	sums.at[2u * group] = old + uint64_t(value);
	sums.at[2u * group + 1u] += (value < 0l ? ~0ul : 0ul) + (old + uint64_t(value) < old ? 1ul : 0ul);
	if (rows > uint64_t(args.exact_rows))
		atomicAdd(RQL_WORDS64(RQL_RASTER_AT_INEXACT).at[0], 1ul);
}

void fold_extremes(uint group, ivec2 at)
{
	uvec2 high = uvec2(rql_fetch_float(args.images[4], at, 0u).xy), low = uvec2(rql_fetch_float(args.images[5], at, 0u).xy);
	uint greatest = high.x << 16u | low.x, least = (0xffffu - high.y) << 16u | (0xffffu - low.y);
	RQL_WORDS64(RQL_RASTER_AT_LEAST).at[group] = uint64_t(int64_t(int(least ^ 0x80000000u)));
	RQL_WORDS64(RQL_RASTER_AT_GREATEST).at[group] = uint64_t(int64_t(int(greatest ^ 0x80000000u)));
}

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= min(RQL_WORDS64(RQL_RASTER_AT_GROUPS).at[0], args.capacity))
		return;
	ivec2 at = rql_pixel_of_group(uint(i));
#if EXTREMES
	fold_extremes(uint(i), at);
#else
	fold_sums(uint(i), at);
#endif
}
