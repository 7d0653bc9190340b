// What the kernels of partitions, joins and group-bys share: keys and their hash, threads by subgroups, prefix sums.
// KEY_BITS: 32 or 64. The device runs full subgroups of one size, any size (device/vulkan/pipeline.c).
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "primitive/relation/shaders/key_words.glsl"
layout(local_size_x_id = 0) in;

#define THREADS gl_WorkGroupSize.x

// Neighbouring lanes of a subgroup are neighbours here.
uint rql_thread()
{
	return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

// Mixes every bit into every other; one-to-one.
uint rql_mix(uint x)
{
	x = (x ^ x >> 16u) * 0x9e3779b1u;
	x = (x ^ x >> 15u) * 0x85ebca77u;
	return x ^ x >> 16u;
}

// Its high bits choose partitions, its low bits places in a partition's table.
uint rql_hash(KEY key, bool raw)
{
#if KEY_BITS == 64
	uvec2 halves = unpackUint2x32(key);
	return raw ? halves.x ^ halves.y : rql_mix(rql_mix(halves.x) + halves.y * 0xc2b2ae3du);
#else
	return raw ? key : rql_mix(key);
#endif
}

// Its high bits choose a bucket among those of a partition: they are other bits than rql_hash's.
uint rql_bucket_hash(KEY key)
{
#if KEY_BITS == 64
	uvec2 halves = unpackUint2x32(key);
	uint x = halves.x + halves.y * 0xc2b2ae3du;
#else
	uint x = key;
#endif
	return (x ^ x >> 15u) * 0x9e3779b1u;
}

// A slot of a table of few groups by its rql_bucket_hash and the step of its highest bits (group_by_begin.comp).
uint rql_stepped(uint hash, uint step)
{
	return (hash >> 12u) + step * (hash & 0xfffu | 1u);
}

bool rql_valid_bit(uint64_t bitmap, uint row)
{
	return bitmap == 0ul || (RQL_U32(bitmap, row >> 5u) >> (row & 31u) & 1u) != 0u;
}

// How many rows there are: `found` on the device, where it is given, but never more than the bound.
uint rql_rows(uint64_t found, uint64_t bound)
{
	return uint(found != 0ul ? min(RQL_U64(found, 0), bound) : bound);
}

// The last i in [0, count) with starts[i] <= row.
uint rql_partition_of(uint64_t starts, uint count, uint row)
{
	uint low = 0u;
	while (count > 1u) {
		uint half_count = count / 2u;
		if (RQL_U32(starts, low + half_count) <= row) {
			low += half_count;
			count -= half_count;
		} else {
			count = half_count;
		}
	}
	return low;
}

layout(constant_id = 1) const uint SUBGROUPS = 256u; // of the workgroup
shared uint rql_subgroup_sums[SUBGROUPS];
// Sums over the subgroups before this one and over all, of what each has put into rql_subgroup_sums. Between barriers.
uint rql_subgroups_before(out uint total)
{
	if (gl_NumSubgroups <= gl_SubgroupSize) { // a lane for each
		uint sum = gl_SubgroupInvocationID < gl_NumSubgroups ? rql_subgroup_sums[gl_SubgroupInvocationID] : 0u;
		total = subgroupAdd(sum);
		return subgroupAdd(gl_SubgroupInvocationID < gl_SubgroupID ? sum : 0u);
	}
	uint before = 0u;
	total = 0u;
	for (uint s = 0u; s < gl_NumSubgroups; s++) {
		uint sum = rql_subgroup_sums[s];
		before += s < gl_SubgroupID ? sum : 0u;
		total += sum;
	}
	return before;
}

// Sum of `value` over the threads before this one. Begins with a write of the workgroup's memory, ends with a barrier.
uint rql_before(uint value, out uint total)
{
	uint before = RQL_SUBGROUP_BEFORE(value);
	if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u)
		rql_subgroup_sums[gl_SubgroupID] = before + value;
	barrier();
	before += rql_subgroups_before(total);
	barrier();
	return before;
}
