// The rows of a join by ranges: each beside what its points add up to, in any order where those without a point are dropped.
//
// Floor: a row's range and its fields read, and all fields written, side by side; two prefix sums of each column are random reads.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/join/ranges_kernels.h"
#define KEY_BITS 32
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_ranges_rows_args args; };

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_columns {
	rql_ranges_column v;
};

shared uint64_t first_of_group;

uint64_t between(uint64_t sums, uint first, uint points)
{
	return points == 0u ? 0ul : RQL_U64(sums, uint64_t(first) + points) - RQL_U64(sums, first);
}

uint64_t field_of(rql_ranges_column column, uint row, uint first, uint points)
{
	uint64_t pairs = uint64_t(max(points, 1u)), values, own = 0ul; // a row without points has stayed, so that it is one
	if (column.from != 0ul)
		own = column.from_wide != 0u ? RQL_U64(column.from, row) : uint64_t(RQL_U32(column.from, row));
	switch (column.kind) {
	case RQL_RANGES_FIELD:
		return own;
	case RQL_RANGES_PAIRS:
		return pairs - column.least + 1ul;
	case RQL_RANGES_OWN_VALUES:
		return (own == 0ul ? 0ul : pairs) - column.least + 1ul;
	case RQL_RANGES_OWN_SUM:
		return own == 0ul ? 0ul : (own - 1ul + column.from_least) * pairs - column.least + 1ul;
	}
	values = column.values != 0ul ? between(column.values, first, points) : uint64_t(points);
	if (column.kind == RQL_RANGES_VALUES)
		return values - column.least + 1ul;
	return values == 0ul ? 0ul : between(column.sums, first, points) - column.least + 1ul;
}

void main()
{
	uint64_t at = rql_group() * RQL_RANGES_THREADS + rql_thread();
	bool left = (args.flags & RQL_RANGES_LEFT) != 0u;
	uint64_t rows = min(RQL_U64(args.found, 0), uint64_t(args.room));
	uint row = uint(at);
	uint points = at < rows ? RQL_U32(args.counts, row) : 0u;
	bool stays = at < rows && (left || points != 0u);
	uint64_t to = at;
	if (left) {
		if (at == 0ul)
			RQL_U64(args.count, 0) = rows;
	} else {
		uint total, before = rql_before(stays ? 1u : 0u, total);
		if (rql_thread() == 0u && total != 0u)
			first_of_group = atomicAdd(rql_word64(args.count).v, uint64_t(total));
		barrier();
		to = first_of_group + uint64_t(before);
	}
	if (!stays)
		return;
	uint first = points != 0u ? RQL_U32(args.firsts, row) : 0u;
	for (uint c = 0u; c < args.column_count; c++) {
		rql_ranges_column column = rql_columns(args.columns + uint64_t(c) * 64ul).v;
		uint64_t field = field_of(column, row, first, points);
		if (column.to_wide != 0u)
			RQL_U64(column.to, to) = field;
		else
			RQL_U32(column.to, to) = uint(field);
	}
}
