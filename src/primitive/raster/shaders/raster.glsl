// What the shaders of hash images share: arguments, keys, the pixel of a key, what lies there.
#include "primitive/raster/shaders/hash.glsl"
layout(constant_id = 1) const uint key_bits = 32u;
layout(constant_id = 2) const uint layout_bits = 32u; // of a component
layout(push_constant, scalar) uniform rql_push { rql_raster_args args; };

uvec2 rql_key(uint row)
{
	return key_bits == 64u ? unpackUint2x32(rql_u64s(args.keys).at[row]) : uvec2(rql_u32s(args.keys).at[row], 0u);
}

uvec2 rql_pixel_of_key(uvec2 key)
{
	uint h = rql_mix(key.x + rql_mix(key.y) * 0x9e3779b1u);
	uint mask = (1u << args.log2_side) - 1u;
	// The sides are up to 2^14 pixels: 28 bits.
	return uvec2(h & mask, h >> args.log2_side & mask);
}

// A pixel's components of a key and a row; and back: key.x, key.y, row + 1 or 0.
uvec4 rql_packed(uvec2 key, uint row)
{
	uint stored = row + 1u;
	if (key_bits == 64u)
		return uvec4(key, stored, 0u);
	if (layout_bits == 16u)
		return uvec4(key.x & 0xffffu, key.x >> 16u, stored & 0xffffu, stored >> 16u);
	return uvec4(key.x, stored, 0u, 0u);
}
uvec3 rql_unpacked(uvec4 pixel)
{
	if (key_bits == 64u)
		return pixel.xyz;
	if (layout_bits == 16u)
		return uvec3(pixel.x | pixel.y << 16u, 0u, pixel.z | pixel.w << 16u);
	return uvec3(pixel.x, 0u, pixel.y);
}

// Build rows with this key in the stack: layers are filled from the first, so an empty pixel ends the walk.
uint rql_matches(uvec2 key)
{
	ivec2 at = ivec2(rql_pixel_of_key(key));
	uint matches = 0u;
	for (uint layer = 0u; layer < args.layers; layer++) {
		uvec3 found = rql_unpacked(rql_fetch(args.image, at, layer));
		if (found.z == 0u)
			break;
		matches += uint(found.xy == key);
	}
	return matches;
}
