// What the shaders of joins by hash images share: the state, keys, the pixel of a key, what lies there.
#include "primitive/raster/shaders/hash.glsl"
#include "primitive/shaders/ordered.glsl"
layout(constant_id = 1) const uint key_bits = 32u;
layout(constant_id = 2) const uint layout_bits = 32u; // of a component
layout(push_constant, scalar) uniform rql_push { rql_raster_args args; };

#define RQL_AT(slot) rql_u64s(args.table).at[slot]
#define RQL_STATE rql_u32s(RQL_AT(RQL_RASTER_AT_STATE))
#define RQL_POINTS rql_u64s(RQL_AT(RQL_RASTER_AT_POINTS))

bool rql_flag(uint flag)
{
	return (args.flags & flag) != 0u;
}

// The side that the images are built of in this partition (papers/004, 3.4.3), and the other one.
uint rql_building()
{
	return RQL_STATE.at[RQL_RASTER_SWAP];
}
uint rql_probing()
{
	return 1u - RQL_STATE.at[RQL_RASTER_SWAP];
}

// Rows are known by their position in the order of the partitions.
uvec2 rql_key(uint side, uint position)
{
	uint64_t keys = RQL_AT(RQL_RASTER_AT_KEYS + side);
	return key_bits == 64u ? unpackUint2x32(rql_u64s(keys).at[position]) : uvec2(rql_u32s(keys).at[position], 0u);
}
bool rql_is_null(uvec2 key)
{
	return rql_flag(RQL_RASTER_HAS_NULL) && key == unpackUint2x32(args.null_key);
}
uint rql_number(uint side, uint position)
{
	uint64_t numbers = RQL_AT(RQL_RASTER_AT_NUMBERS + side);
	return numbers == 0ul ? position : rql_u32s(numbers).at[position];
}

// ---- comparisons of rows of equal keys ----
const uint RQL_EQ = 1u, RQL_NE = 2u, RQL_LT = 3u, RQL_LE = 4u, RQL_GE = 6u; // enum rql_join_test; 5: GT

uint64_t rql_compared(uint comparison, uint what)
{
	return RQL_AT(RQL_RASTER_AT_COMPARISONS + comparison * RQL_RASTER_COMPARISON_SLOTS + what);
}

// 0: NULL.
uint64_t rql_field(uint comparison, uint flags, uint side, uint row)
{
	uint64_t fields = rql_compared(comparison, RQL_RASTER_COMPARISON_FIELDS + side);
	if (fields == 0ul)
		return (flags & RQL_RASTER_COMPARISON_TEXT) != 0u ? uint64_t(row) + 1ul : 2ul;
	return (flags & RQL_RASTER_COMPARISON_64) != 0u ? rql_u64s(fields).at[row] : uint64_t(rql_u32s(fields).at[row]);
}

uvec2 rql_text(uint comparison, uint side, uint text)
{
	uint64_t starts = rql_compared(comparison, RQL_RASTER_COMPARISON_STARTS + side);
	uint first = rql_u32s(starts).at[text];
	return uvec2(first, rql_u32s(starts).at[text + 1u] - first);
}

bool rql_same_texts(uint comparison, uvec2 sides, uvec2 texts)
{
	uvec2 a = rql_text(comparison, sides.x, texts.x), b = rql_text(comparison, sides.y, texts.y);
	uint64_t of_a = rql_compared(comparison, RQL_RASTER_COMPARISON_BYTES + sides.x);
	uint64_t of_b = rql_compared(comparison, RQL_RASTER_COMPARISON_BYTES + sides.y);
	bool same = a.y == b.y;
	for (uint i = 0u; same && i < a.y; i += 4u)
		same = rql_text_word(of_a, a.x + i, a.y - i) == rql_text_word(of_b, b.x + i, b.y - i);
	return same;
}

bool rql_holds(uint comparison, uint build, uint probe)
{
	uint flags = uint(rql_compared(comparison, RQL_RASTER_COMPARISON_FLAGS)), test = flags & RQL_RASTER_COMPARISON_TEST;
	uint64_t x = rql_field(comparison, flags, 1u, probe), y = rql_field(comparison, flags, 0u, build);
	if (x == 0ul || y == 0ul)
		return false;
	if ((flags & RQL_RASTER_COMPARISON_TEXT) != 0u)
		return rql_same_texts(comparison, uvec2(1u, 0u), uvec2(uint(x), uint(y)) - 1u);
	if ((flags & RQL_RASTER_COMPARISON_REAL) != 0u) {
		x = rql_key_of_equal_real(~x);
		y = rql_key_of_equal_real(~y);
	}
	return test <= RQL_NE   ? (x == y) == (test == RQL_EQ)
	       : test <= RQL_LE ? x < y || (test == RQL_LE && x == y)
	                        : x > y || (test == RQL_GE && x == y);
}

// Do a row that was built and one that probes match, whose keys are equal?
bool rql_matches(uint built, uint position, uint other)
{
	uint count = args.flags >> RQL_RASTER_COMPARED_SHIFT;
	if (count == 0u)
		return true;
	uint a = rql_number(built, position), b = rql_number(1u - built, other);
	bool match = true;
	for (uint i = 0u; match && i < count; i++)
		match = rql_holds(i, built == 0u ? a : b, built == 0u ? b : a);
	return match;
}

// Does a row of the build side match whatever another one of an equal key does? Then one of them is enough.
bool rql_same(uint position, uint other)
{
	uint count = args.flags >> RQL_RASTER_COMPARED_SHIFT;
	bool same = true;
	for (uint i = 0u; same && i < count; i++) {
		uint flags = uint(rql_compared(i, RQL_RASTER_COMPARISON_FLAGS));
		uint64_t x = rql_field(i, flags, 0u, rql_number(0u, position)), y = rql_field(i, flags, 0u, rql_number(0u, other));
		same = x == y || ((flags & RQL_RASTER_COMPARISON_TEXT) != 0u && x != 0ul && y != 0ul &&
		                  rql_same_texts(i, uvec2(0u), uvec2(uint(x), uint(y)) - 1u));
	}
	return same;
}

// Another hash than that of the partitions, whose top bits are equal here. Of keys of 32 bits it is one-to-one.
uint rql_hash_of_key(uvec2 key)
{
	return rql_mix((key.x ^ 0x9e3779b9u) + rql_mix(key.y ^ 0x85ebca6bu) * 0x9e3779b1u);
}
uvec2 rql_pixel_of_key(uvec2 key)
{
	uint h = rql_hash_of_key(key), mask = (1u << args.log2_side) - 1u;
	// The sides are up to 2^14 pixels: 28 bits.
	return uvec2(h & mask, h >> args.log2_side & mask);
}

// What a pixel of a stack has of a key, beside its place; and of a row: its position + 1, 0: nothing. Of 16 bits: the rest of
// the hash above the row's place in its partition.
uvec4 rql_packed(uvec2 key, uint position)
{
	uint stored = position + 1u, bits = 2u * args.log2_side;
	if (key_bits == 64u)
		return uvec4(key, stored, 0u);
	if (layout_bits == 16u) {
		uint rest = rql_hash_of_key(key) >> bits;
		return uvec4(rest << bits | (stored - RQL_STATE.at[RQL_RASTER_FIRST + rql_building()]), 0u, 0u, 0u);
	}
	return uvec4(key.x, stored, 0u, 0u);
}
bool rql_has_key(uvec4 pixel, uvec2 key)
{
	uint bits = 2u * args.log2_side;
	if (key_bits == 64u)
		return pixel.xy == key;
	return layout_bits == 16u ? pixel.x >> bits == rql_hash_of_key(key) >> bits : pixel.x == key.x;
}
uint rql_stored(uvec4 pixel)
{
	uint place = pixel.x & (1u << 2u * args.log2_side) - 1u;
	if (layout_bits == 16u)
		return place == 0u ? 0u : place + RQL_STATE.at[RQL_RASTER_FIRST + rql_building()];
	return key_bits == 64u ? pixel.z : pixel.y;
}

// A probe row's own pixel: first those of the side that is asked to probe, then, where sides may change, the others.
uvec2 rql_pixel_of_probe(uint side, uint position)
{
	uint at = side == 1u ? position : position + args.offset;
	return uvec2(at % args.width, at / args.width);
}

// The dense image: the positions of the rows of a pixel lie from .x on, .y of them.
uvec2 rql_dense_rows(uvec2 pixel)
{
	uint count = uint(rql_fetch_float(args.stat_images[0], ivec2(pixel), 0u).x);
	uint end = rql_u32s(RQL_AT(RQL_RASTER_AT_NEXT)).at[pixel.y << args.log2_side | pixel.x];
	return uvec2(end - count, count);
}
uint rql_dense_position(uint place)
{
	return rql_fetch(args.dense_image, ivec2(place % args.dense_width, place / args.dense_width), 0u).x;
}

// A pair goes to its place, in the order of the sides that was asked for.
void rql_put_pair(uint64_t place, uint built, uint probed)
{
	if (rql_flag(RQL_RASTER_FULL)) // such a join builds on the side that was asked to be built
		rql_u32s(RQL_AT(RQL_RASTER_AT_MATCHED)).at[rql_number(0u, built)] = 1u;
	if (place >= args.capacity)
		return;
	bool swapped = rql_building() != 0u;
	rql_u32s(RQL_AT(RQL_RASTER_AT_BUILD_ROWS)).at[uint(place)] = rql_number(0u, swapped ? probed : built);
	rql_u32s(RQL_AT(RQL_RASTER_AT_PROBE_ROWS)).at[uint(place)] = rql_number(1u, swapped ? built : probed);
}
