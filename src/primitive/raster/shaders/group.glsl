// What the shaders of group-bys by hash images share: arguments, keys, the pixel of a key and of a group.
#include "primitive/raster/shaders/hash.glsl"
layout(push_constant, scalar) uniform rql_push { rql_raster_group_args args; };

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_i64s { int64_t at[]; };

#define RQL_WORDS32(slot) rql_u32s(rql_u64s(args.table).at[slot])
#define RQL_WORDS64(slot) rql_u64s(rql_u64s(args.table).at[slot])

uint rql_key_word(uint word, uint row)
{
	return RQL_WORDS32(RQL_RASTER_AT_KEYS + word).at[row];
}

// In each round another one, so that keys that met once part again.
uvec2 rql_pixel_of_row(uint row)
{
	uint h = args.round * 0x9e3779b1u;
	for (uint w = 0u; w < args.hashed; w++)
		h = rql_mix(h * 0x9e3779b1u + rql_key_word(w, row));
	uint mask = (1u << args.log2_side) - 1u;
	return uvec2(h & mask, h >> args.log2_side & mask);
}

// The group of a row, RQL_RASTER_NONE when it has none or when its group is beyond the capacity.
uint rql_group_of(uint row)
{
	uint head = RQL_WORDS32(RQL_RASTER_AT_MAP).at[row];
	if (head == RQL_RASTER_NONE)
		return RQL_RASTER_NONE;
	uint number = RQL_WORDS32(RQL_RASTER_AT_NUMBERS).at[head];
	return number < args.capacity ? number : RQL_RASTER_NONE;
}

ivec2 rql_pixel_of_group(uint group)
{
	return ivec2(group % args.width, group / args.width);
}

// A value of 32 bits as an unsigned number in its order.
uint rql_value_place(uint row)
{
	return RQL_WORDS32(RQL_RASTER_AT_VALUES).at[row] ^ 0x80000000u;
}
