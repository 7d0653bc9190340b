#version 460
#extension GL_GOOGLE_include_directive : require
// A hand-tuned scan: filter and group columns as dictionary codes of one byte (brands two), sixteen rows a thread, a
// column read only where some of the thread's rows still qualify, groups summed in shared memory and added to the
// global ones once per workgroup.
// Floor: 1 byte a row and filter column (those after the first only where needed), plus what qualifies.
#include "rival.glsl"

shared uint64_t rql_private[RQL_RIVAL_MOST_GROUPS];

uint32_t rql_value(uint64_t column, uint32_t bytes, uint64_t row)
{
	if (bytes == 4)
		return rql_words(column).word[uint32_t(row)];
	uint32_t per_word = 4 / bytes;
	uint32_t word = rql_words(column).word[uint32_t(row / per_word)];
	return word >> (uint32_t(row % per_word) * bytes * 8) & (bytes == 1 ? 0xffu : 0xffffu);
}

// Of the 16 rows from 16 * chunk on, those in `mask` that pass p.
uint32_t rql_filter(rql_rival_predicate p, uint64_t chunk, uint32_t mask)
{
	uint32_t kept = 0;
	for (uint32_t q = 0; q < p.bytes; q++) {
		uvec4 v = rql_quads(p.column).quad[uint32_t(chunk * p.bytes + q)];
		uint32_t per_word = 4 / p.bytes;
		for (uint32_t w = 0; w < 4; w++)
			for (uint32_t k = 0; k < per_word; k++) {
				uint32_t value = p.bytes == 4 ? v[w] : v[w] >> (k * p.bytes * 8) & (p.bytes == 1 ? 0xffu : 0xffffu);
				kept |= uint32_t(rql_passes(p, value)) << ((q * 4 + w) * per_word + k);
			}
	}
	return kept & mask;
}

void main()
{
	rql_rival_scan s = rql_scans(args.scan).scan;
	for (uint32_t g = gl_LocalInvocationID.x; g < s.sum_count; g += gl_WorkGroupSize.x)
		rql_private[g] = 0ul;
	barrier();
	uint64_t chunks = (s.rows + 15) / 16, stride = args.groups * gl_WorkGroupSize.x;
	int64_t total = 0l;
	for (uint64_t chunk = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; chunk < chunks; chunk += stride) {
		uint64_t left = s.rows - 16 * chunk;
		uint32_t mask = left >= 16 ? 0xffffu : (1u << uint32_t(left)) - 1;
		for (uint32_t i = 0; i < s.predicate_count && mask != 0; i++)
			mask = rql_filter(s.predicates[i], chunk, mask);
		while (mask != 0) {
			uint64_t row = 16 * chunk + findLSB(mask);
			mask &= mask - 1;
			uint32_t b = s.operation == 0 ? 0 : rql_value(s.b, s.b_bytes, row);
			int64_t value = rql_measure(s.operation, rql_words(s.a).word[uint32_t(row)], b);
			if (s.sum_count == 1) {
				total += value;
				continue;
			}
			uint32_t group = 0;
			for (uint32_t i = 0; i < s.group_count; i++)
				group += (rql_value(s.groups[i].column, s.groups[i].bytes, row) - s.groups[i].low) * s.groups[i].stride;
			atomicAdd(rql_private[group], uint64_t(value));
		}
	}
	if (s.sum_count == 1 && total != 0l)
		atomicAdd(rql_private[0], uint64_t(total));
	barrier();
	for (uint32_t g = gl_LocalInvocationID.x; g < s.sum_count; g += gl_WorkGroupSize.x)
		if (rql_private[g] != 0ul)
			atomicAdd(rql_sums(s.sums).sum[g], rql_private[g]);
}
