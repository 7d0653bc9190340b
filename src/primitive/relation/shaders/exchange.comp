#version 460
// Moves columns both ways between the host's memory and the device's: every other workgroup serves one way. Few workgroups
// go over all chunks, so that they fill the link and leave the device to the pass beside them. Floor: the link.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_exchange_args args; };

uint64_t move_word(uint move, uint word)
{
	return RQL_U64(args.moves, move * RQL_MOVE_WORDS + word);
}

uint64_t chunks_of(uint64_t bytes)
{
	return (bytes + (RQL_EXCHANGE_CHUNK - 1u)) / RQL_EXCHANGE_CHUNK;
}

// All reads of a thread are under way before its first write.
void move_chunk(uint64_t from, uint64_t to, uint bytes)
{
	uint vectors = bytes / 16u;
	uvec4 values[RQL_EXCHANGE_VECTORS];
	[[unroll]] for (uint i = 0u; i < RQL_EXCHANGE_VECTORS; i++) {
		uint at = i * RQL_EXCHANGE_THREADS + gl_LocalInvocationIndex;
		values[i] = at < vectors ? RQL_U128(from + at * 16u) : uvec4(0u);
	}
	[[unroll]] for (uint i = 0u; i < RQL_EXCHANGE_VECTORS; i++) {
		uint at = i * RQL_EXCHANGE_THREADS + gl_LocalInvocationIndex;
		if (at < vectors)
			RQL_U128(to + at * 16u) = values[i];
	}
	uint word = vectors * 4u + gl_LocalInvocationIndex;
	if (word < bytes / 4u)
		RQL_U32(to, word) = RQL_U32(from, word);
}

void main()
{
	uint way = uint(rql_group()) & 1u;
	uint64_t step = (uint64_t(gl_NumWorkGroups.x) * gl_NumWorkGroups.y) >> 1u;
	uint first_move = way == 0u ? 0u : args.count[0];
	for (uint64_t chunk = rql_group() >> 1u; chunk < args.chunks[way]; chunk += step) {
		uint64_t at = chunk;
		for (uint m = first_move; m < first_move + args.count[way]; m++) {
			uint64_t most = move_word(m, 3u) * move_word(m, 4u), chunks = chunks_of(most);
			if (at >= chunks) {
				at -= chunks;
				continue;
			}
			uint64_t found = move_word(m, 2u), begin = at * RQL_EXCHANGE_CHUNK;
			uint64_t bytes = found == 0ul ? most : min(RQL_U64(found, 0), move_word(m, 3u)) * move_word(m, 4u);
			if (begin < bytes)
				move_chunk(move_word(m, 0u) + begin, move_word(m, 1u) + begin, uint(min(bytes - begin, uint64_t(RQL_EXCHANGE_CHUNK))));
			break;
		}
	}
}
