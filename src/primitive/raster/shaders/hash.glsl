// What the shaders of joins and of group-bys by hash images share: arrays of words, the hash,
// words of texts.
#include "device/draw.glsl"
#include "primitive/raster/raster_kernels.h"
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer rql_u32s { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_u64s { uint64_t at[]; };

uint rql_mix(uint h)
{
	h = (h ^ h >> 16u) * 0x7feb352du;
	h = (h ^ h >> 15u) * 0x846ca68bu;
	return h ^ h >> 16u;
}

// Four bytes from byte `at` on, of which `left` are the text's, without touching a word that has none of them.
uint rql_text_word(uint64_t bytes, uint at, uint left)
{
	uint shift = at % 4u * 8u, word = rql_u32s(bytes).at[at / 4u] >> shift;
	if (shift != 0u && left > 4u - at % 4u)
		word |= rql_u32s(bytes).at[at / 4u + 1u] << 32u - shift;
	return left < 4u ? word & (1u << left * 8u) - 1u : word;
}
