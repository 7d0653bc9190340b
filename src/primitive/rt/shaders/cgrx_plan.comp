#version 460
// The triangles of cgRX's buckets, a thread a bucket: how many, and where they are (cgrx.h says which there are).
// Floor: reads three or four keys and writes 8 bytes a bucket, then 16 a triangle.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_cgrx_plan_args args; };

uint added[2];
uint64_t next[2];

// A key as the scene has it.
uint64_t placed_at(uint64_t i)
{
	return uint64_t(RQL_KEY(args.keys, i)) - args.base >> DROP;
}

uint64_t representative(uint64_t bucket)
{
	return placed_at(min(bucket + 1ul << args.log2_bucket, args.count) - 1ul);
}

void add(uint list, ivec3 point, uint64_t bucket)
{
	added[list]++;
	if (args.writing == 0u)
		return;
	uint64_t i = next[list]++;
	RQL_U32(args.points, 3ul * i) = uint(point.x);
	RQL_U32(args.points, 3ul * i + 1ul) = uint(point.y);
	RQL_U32(args.points, 3ul * i + 2ul) = uint(point.z);
	RQL_U32(args.buckets_of, i) = uint(bucket);
}

uint64_t line_of(uint64_t key)
{
	return key >> BITS_X;
}

uint64_t plane_of(uint64_t key)
{
	return line_of(key) >> BITS_Y;
}

// Keys follow the bucket's representative, the last one of its line or plane, there.
void add_ends(uint64_t bucket, uint64_t key, ivec3 point)
{
	uint64_t following = placed_at(bucket + 1ul << args.log2_bucket), then = representative(bucket + 1ul);
	ivec3 end = ivec3((1u << BITS_X) - 1u, (1u << BITS_Y) - 1u, point.z);
	if (line_of(then) != line_of(key) && line_of(following) == line_of(key) && point.x != end.x)
		add(0u, ivec3(end.x, point.yz), bucket + 1ul);
	if (plane_of(then) != plane_of(key) && plane_of(following) == plane_of(key) && point.y != end.y) {
		add(0u, end, bucket + 1ul);
		add(1u, ivec3(-1, end.yz), bucket + 1ul);
	}
}

void main()
{
	uint64_t bucket = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (bucket >= args.buckets)
		return;
	bool markers = !rt_has(RQL_RT_LINES);
	uint64_t key = representative(bucket), before = bucket != 0ul ? representative(bucket - 1ul) : 0ul;
	ivec3 point = ivec3(rql_key_point(rt_space(), key));
	added[0] = added[1] = 0u;
	for (uint list = 0u; list < 2u && args.writing != 0u; list++)
		next[list] = uint64_t(RQL_U32(args.counts[list], bucket)) + (list != 0u ? args.first_marker : 0ul);
	if (bucket == 0ul || before != key)
		add(0u, point, bucket);
	if (markers && (bucket == 0ul || line_of(before) != line_of(key)))
		add(1u, ivec3(-1, point.yz), bucket);
	if (markers && (bucket == 0ul || plane_of(before) != plane_of(key)))
		add(1u, ivec3(-1, -1, point.z), bucket);
	if (markers && bucket + 1ul < args.buckets)
		add_ends(bucket, key, point);
	for (uint list = 0u; list < 2u && args.writing == 0u; list++)
		RQL_U32(args.counts[list], bucket) = added[list];
}
