// A part of a join's map from its entries (scan_map.h): an invocation each puts one into zeroed memory. Keys are
// unique, so no place is claimed twice but in a hash table, where the next one is taken then.
//
// Floor: an entry read over the link, and a place of the device's memory that lies anywhere.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/scan/gpu/scan_kernels.h"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint PART = 0;
layout(push_constant, scalar) uniform Args { rql_scan_map_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer MapPlace { rql_scan_map_place v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer MapKey { rql_scan_map_key v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer MapWord { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer MapPair { uvec2 v; };

#define BITS 0u
#define FOUND 1u

// Entries: the key's word in their first half, then what is found (column/map/map_layout.h).
void put_key(uvec2 word, uint found)
{
	uint64_t hash = packUint2x32(word) * 0x9e3779b97f4a7c15ul, at = (hash ^ (hash >> 32)) & args.mask;
	uint64_t bytes = uint64_t(args.width);
	while (atomicCompSwap(MapWord(args.to + at * bytes + bytes / 2ul).v, 0u, found) != 0u)
		at = (at + 1ul) & args.mask;
	if (args.width == 16u)
		MapPair(args.to + at * 16ul).v = word;
	else
		MapWord(args.to + at * 8ul).v = word.x;
}

// Fields of 1, 2 or 4 bytes.
void put_field(uint place, uint found)
{
	uint64_t at = uint64_t(place) * uint64_t(args.width);
	atomicOr(MapWord(args.to + (at & ~3ul)).v, found << (uint(at & 3ul) * 8u));
}

void main()
{
	uint64_t i = rql_group() * uint64_t(gl_WorkGroupSize.x) + uint64_t(gl_LocalInvocationIndex);
	if (i >= args.count)
		return;
	if (PART == BITS) {
		uint place = MapWord(args.entries + i * 4ul).v;
		atomicOr(MapWord(args.to + uint64_t(place >> 5) * 4ul).v, 1u << (place & 31u));
	} else if (PART == FOUND) {
		rql_scan_map_place e = MapPlace(args.entries + i * 8ul).v;
		put_field(e.place, e.found);
	} else if (args.width == 8u) {
		rql_scan_map_place e = MapPlace(args.entries + i * 8ul).v;
		put_key(uvec2(e.place, 0u), e.found);
	} else {
		rql_scan_map_key e = MapKey(args.entries + i * 12ul).v;
		put_key(uvec2(e.low, e.high), e.found);
	}
}
