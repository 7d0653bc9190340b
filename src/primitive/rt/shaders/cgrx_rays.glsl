// The rays of a look-up in cgRX (cgrx.h): from a key to the bucket of the least representative that is not below it.
layout(location = 0) rayPayloadEXT uint found;
#define REACH_STEP 32ul

uint rays;

// The bucket of the nearest triangle, or NOTHING.
uint closest(rql_key_ray ray, uint mask)
{
	found = NOTHING;
	rays++;
	traceRayEXT(RQL_STRUCTURE(args.accel), gl_RayFlagsOpaqueEXT, mask, 0, 0, 0, ray.origin, ray.tmin, ray.direction,
		ray.tmax, 0);
	return found == NOTHING ? NOTHING : RQL_U32(args.buckets_of, found);
}

// The same of the key's own line, from the key on. The nearest representative is seldom far away, and traversal need
// not meet the nearest one first: a ray of the whole line was found to test half of all that is on it (NVIDIA H200, in
// software). So rays are short at first, each REACH_STEP times as long as the one before.
uint along_line(uint64_t key, uint reach_log2)
{
	uint64_t end = key | uint64_t((1u << BITS_X) - 1u);
	uint64_t reach = (1ul << reach_log2) - 1ul;
	uint which = NOTHING;
	while (which == NOTHING) {
		uint64_t last = end - key > reach ? key + reach : end;
		which = closest(rql_key_ray_range(rt_space(), RQL_KEY_OFFSET, key, last, 0ul), 1u);
		if (last == end)
			break;
		key = last + 1ul;
		reach = (reach + 1ul) * REACH_STEP - 1ul;
	}
	return which;
}

// Of the least representative that is not below the key, as far as the scene has its bits: along its line, by a later
// line's marker, by a later plane's.
uint by_markers(uint64_t full, uint reach_log2)
{
	uint64_t key = full >> DROP;
	uvec3 point = rql_key_point(rt_space(), key);
	uint which = along_line(key, reach_log2);
	rql_key_ray lines = rql_key_ray_lines(rt_space(), point.y, point.z);
	rql_key_ray planes = rql_key_ray_planes(rt_space(), point.z);
	if (which == NOTHING && lines.tmax >= 0.0)
		which = closest(lines, 2u);
	if (which == NOTHING && planes.tmax >= 0.0)
		which = closest(planes, 2u);
	return which;
}
