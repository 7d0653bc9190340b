// The rows of an ASOF join: each probe row beside its match, in any order where those without one are dropped.
//
// Floor: a probe row's match and its fields read, and all fields written, side by side; a match's fields are random reads.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/join/nearest_kernels.h"
#define KEY_BITS 32
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_nearest_rows_args args; };
#define NO_ROW 0xffffffffu

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_columns {
	rql_nearest_column v;
};

shared uint64_t first_of_group;

void main()
{
	uint64_t at = rql_group() * RQL_NEAREST_THREADS + rql_thread();
	bool left = (args.flags & RQL_NEAREST_LEFT) != 0u;
	uint64_t rows = min(RQL_U64(args.found, 0), uint64_t(args.room));
	uint row = uint(at);
	uint other = at < rows ? RQL_U32(args.rows, row) : NO_ROW;
	bool stays = at < rows && (left || other != NO_ROW);
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
	for (uint c = 0u; c < args.column_count; c++) {
		rql_nearest_column column = rql_columns(args.columns + uint64_t(c) * 24ul).v;
		uint from = column.of_build != 0u ? other : row;
		bool none = from == NO_ROW; // NULL
		if (column.wide != 0u)
			RQL_U64(column.to, to) = none ? 0ul : RQL_U64(column.from, from);
		else
			RQL_U32(column.to, to) = none ? 0u : RQL_U32(column.from, from);
	}
}
