#version 460
// Keys of texts: a hash of each text's bytes and length in 64 bits, and 0 of those that are NULL. No other has 0.
// Floor: the bytes read once, 8 bytes a row written.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/hash.glsl"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_raster_hash_args args; };

// Two sums, one of them in other words, so that they do not collide together.
uint64_t hash_of(uint first, uint length)
{
	uvec2 h = uvec2(0x9e3779b9u, 0x68bc21ebu) ^ length;
	for (uint i = 0u; i < length; i += 4u) {
		uint word = rql_text_word(args.bytes, first + i, length - i);
		h = uvec2(rql_mix(h.x ^ word), rql_mix(h.y + word * 0xc2b2ae3du) * 5u + h.x);
	}
	return packUint2x32(h) & args.mask;
}

void main()
{
	uint64_t row = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (row >= args.count)
		return;
	bool is = args.valid == 0ul || (RQL_U32(args.valid, row >> 5u) >> uint(row & 31ul) & 1u) != 0u;
	uint first = RQL_U32(args.starts, row);
	uint64_t hash = is ? hash_of(first, RQL_U32(args.starts, row + 1ul) - first) : 0ul;
	RQL_U64(args.keys, row) = is && hash == 0ul ? 1ul : hash;
}
