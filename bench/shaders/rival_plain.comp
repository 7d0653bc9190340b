#version 460
#extension GL_GOOGLE_include_directive : require
// The plain column scan after Crystal (A. Shanbhag, S. Madden, X. Yu: A Study of the Fundamental Performance
// Characteristics of GPUs and CPUs for Database Analytics, SIGMOD 2020), over the flat table: int32 columns, four rows a
// thread in 16-byte loads, every needed column read once and whole, one global atomic per qualifying row with GROUP BY,
// one per workgroup and tile without.
// Floor: 4 bytes a row and needed column at the device's read bandwidth.
#include "rival.glsl"

shared uint64_t rql_tile_sum;

void main()
{
	rql_rival_scan s = rql_scans(args.scan).scan;
	uint64_t tiles = (s.rows + 4 * gl_WorkGroupSize.x - 1) / (4 * gl_WorkGroupSize.x);
	for (uint64_t tile = rql_group(); tile < tiles; tile += args.groups) {
		uint64_t quad = tile * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
		if (gl_LocalInvocationID.x == 0)
			rql_tile_sum = 0ul;
		barrier();
		bvec4 pass;
		uvec4 group = uvec4(0);
		int64_t total = 0l;
		bool inside = 4 * quad < s.rows;
		if (inside) {
			pass = bvec4(true, 4 * quad + 1 < s.rows, 4 * quad + 2 < s.rows, 4 * quad + 3 < s.rows);
			for (uint32_t i = 0; i < s.predicate_count; i++) {
				uvec4 v = rql_quads(s.predicates[i].column).quad[uint32_t(quad)];
				for (uint32_t k = 0; k < 4; k++)
					pass[k] = pass[k] && rql_passes(s.predicates[i], v[k]);
			}
			for (uint32_t i = 0; i < s.group_count; i++) {
				uvec4 v = rql_quads(s.groups[i].column).quad[uint32_t(quad)];
				group += (v - s.groups[i].low) * s.groups[i].stride;
			}
			uvec4 a = rql_quads(s.a).quad[uint32_t(quad)];
			uvec4 b = s.operation == 0 ? uvec4(0) : rql_quads(s.b).quad[uint32_t(quad)];
			for (uint32_t k = 0; k < 4; k++) {
				if (!pass[k])
					continue;
				int64_t value = rql_measure(s.operation, a[k], b[k]);
				total += value;
				if (s.sum_count > 1)
					atomicAdd(rql_sums(s.sums).sum[group[k]], uint64_t(value));
			}
		}
		if (s.sum_count == 1) {
			if (total != 0l)
				atomicAdd(rql_tile_sum, uint64_t(total));
			barrier();
			if (gl_LocalInvocationID.x == 0 && rql_tile_sum != 0ul)
				atomicAdd(rql_sums(s.sums).sum[0], rql_tile_sum);
		}
		barrier();
	}
}
