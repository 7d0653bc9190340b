#version 460
// Keys of several values: into the hash of a row's key goes another field, or the hash of the text that it names.
// Floor: of a row its key read and written, its field, and where there are texts a hash anywhere.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/hash.glsl"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_raster_combine_args args; };

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= min(RQL_U64(args.found, 0), args.capacity))
		return;
	uint64_t key = RQL_U64(args.keys, i);
	uint64_t field = args.bits == 64u ? RQL_U64(args.fields, i) : uint64_t(RQL_U32(args.fields, i));
	if (args.hashes != 0ul)
		field = RQL_U64(args.hashes, field);
	uvec2 k = unpackUint2x32(key), f = unpackUint2x32(field);
	uvec2 mixed = uvec2(rql_mix(f.x ^ rql_mix(f.y + 0x9e3779b9u)), rql_mix(f.y ^ rql_mix(f.x + 0x68bc21ebu)));
	uint64_t hash = packUint2x32(uvec2(rql_mix(k.x + mixed.x), rql_mix(k.y ^ mixed.y)));
	RQL_U64(args.keys, i) = key == 0ul || field == 0ul ? 0ul : hash == 0ul ? 1ul : hash;
}
