#version 460
// Adds a row's values to its group's words: rows, sums of 64 or 128 bits, least and greatest values. REALS: some sum is one
// of doubles, added by exchanges.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat in uvec2 point;

#if REALS
void add_real(uint64_t sums, uint group, uint64_t value)
{
	uint64_t old = rql_u64s(sums).at[group], seen = ~old;
	while (seen != old) {
		seen = old;
		double sum = packDouble2x32(unpackUint2x32(seen)) + packDouble2x32(unpackUint2x32(~value));
		old = atomicCompSwap(rql_u64s(sums).at[group], seen, packUint2x32(unpackDouble2x32(sum)));
	}
}
#endif

void add(uint column, uint row, uint group)
{
	uint flags = uint(rql_column(column, RQL_RASTER_COLUMN_FLAGS));
	uint64_t sums = rql_column(column, RQL_RASTER_COLUMN_SUM), least = rql_column(column, RQL_RASTER_COLUMN_MIN),
			 most = rql_column(column, RQL_RASTER_COLUMN_MAX), value = rql_value(column, flags, row);
	bool field = rql_is(flags, RQL_RASTER_COLUMN_FIELDS), wide = rql_is(flags, RQL_RASTER_COLUMN_WIDE);
	if (field && value == 0ul)
		return;
#if REALS
	if (sums != 0ul && rql_is(flags, RQL_RASTER_COLUMN_REAL)) {
		add_real(sums, group, value);
		return; // its extremes are a column of their own
	}
#endif
	if (rql_is(flags, RQL_RASTER_COLUMN_REAL))
		value = rql_key_of_real(~value);
	if (sums != 0ul) {
		uint64_t old = atomicAdd(rql_u64s(sums).at[wide ? 2u * group : group], value);
		uint64_t high = (!field && int64_t(value) < 0l ? ~0ul : 0ul) + (old + value < old ? 1ul : 0ul);
		if (wide && high != 0ul)
			atomicAdd(rql_u64s(sums).at[2u * group + 1u], high);
	}
	if (least != 0ul && field)
		atomicMin(rql_u64s(least).at[group], value);
	else if (least != 0ul)
		atomicMin(rql_i64s(least).at[group], int64_t(value));
	if (most != 0ul && field)
		atomicMax(rql_u64s(most).at[group], value);
	else if (most != 0ul)
		atomicMax(rql_i64s(most).at[group], int64_t(value));
}

void main()
{
#if REALS
	if (gl_HelperInvocation)
		return; // its exchanges have no effect and return anything, so that its loop need not end
#endif
	atomicAdd(RQL_WORDS64(RQL_RASTER_GROUP_AT_COUNTS).at[point.y], 1ul);
	for (uint c = 0u; c < args.column_count; c++)
		add(c, point.x, point.y);
}
