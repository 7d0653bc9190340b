// What the shaders of joins and of group-bys by hash images share: arrays of words, the hash.
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
