// The payload of a ray that collects what it hits. LOCAL: the whole ray has one group and its row fits the payload, so
// that a hit touches no shared memory and the ray adds its row up once.
#define CUBE_LOCAL_WORDS 4
#ifndef LOCAL
#define LOCAL 0
#endif
#include "device/trace.glsl"
#include "geometry/axis.glsl"
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/rt/shaders/cube_rt.glsl"

struct rql_rt_payload {
#if LOCAL
	uint64_t row[CUBE_LOCAL_WORDS];
#endif
	uint64_t group, number; // of the ray
	uint box, hits, found, tested;
};
