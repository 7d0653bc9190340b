// What the shaders of group-bys by hash images share: arguments, keys, the pixel of a key and of a group, values.
#include "primitive/raster/shaders/hash.glsl"
#include "primitive/shaders/ordered.glsl"
layout(push_constant, scalar) uniform rql_push { rql_raster_group_args args; };

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_i64s { int64_t at[]; };

#define RQL_AT(slot) rql_u64s(args.table).at[slot]
#define RQL_WORDS32(slot) rql_u32s(RQL_AT(slot))
#define RQL_WORDS64(slot) rql_u64s(RQL_AT(slot))
#define RQL_STATE RQL_WORDS32(RQL_RASTER_GROUP_AT_STATE)

uint rql_key_word(uint word, uint row)
{
	return RQL_WORDS32(RQL_RASTER_GROUP_AT_KEYS + word).at[row << (args.pair_words >> word & 1u)];
}

// In each round another one, so that keys that met once part again; and another than that of partitions.
uvec2 rql_pixel_of_row(uint row)
{
	uint h = (args.round + 1u) * 0x9e3779b1u;
	for (uint w = 0u; w < args.hashed; w++)
		h = rql_mix(h * 0x9e3779b1u + rql_key_word(w, row));
	uint mask = (1u << args.log2_side) - 1u;
	return uvec2(h & mask, h >> args.log2_side & mask);
}

// The group of a row, RQL_RASTER_NONE when it has none or when its group is beyond the capacity.
uint rql_group_of(uint row)
{
	uint head = RQL_WORDS32(RQL_RASTER_GROUP_AT_MAP).at[row];
	if (head == RQL_RASTER_NONE)
		return RQL_RASTER_NONE;
	uint number = RQL_WORDS32(RQL_RASTER_GROUP_AT_NUMBERS).at[head];
	return number < args.capacity ? number : RQL_RASTER_NONE;
}

ivec2 rql_pixel_of_group(uint group)
{
	return ivec2(group % args.width, group / args.width);
}

uint64_t rql_column(uint column, uint what)
{
	return RQL_AT(RQL_RASTER_GROUP_AT_COLUMNS + column * RQL_RASTER_COLUMN_SLOTS + what);
}
bool rql_is(uint flags, uint flag)
{
	return (flags & flag) != 0u;
}

// A row's value: a signed integer, extended, or a field, of which 0 is none.
uint64_t rql_value(uint column, uint flags, uint row)
{
	uint64_t values = rql_column(column, RQL_RASTER_COLUMN_VALUES), value;
	if (rql_is(flags, RQL_RASTER_COLUMN_64))
		value = rql_u64s(values).at[row];
	else if (rql_is(flags, RQL_RASTER_COLUMN_FIELDS))
		value = uint64_t(rql_u32s(values).at[row]);
	else
		value = uint64_t(int64_t(int(rql_u32s(values).at[row])));
	return rql_is(flags, RQL_RASTER_COLUMN_PRESENT) ? uint64_t(value != 0ul) : value;
}

// The same as an unsigned number in its order, of as many bits as the values have.
uint64_t rql_value_place(uint column, uint flags, uint row)
{
	uint64_t value = rql_value(column, flags, row);
	if (rql_is(flags, RQL_RASTER_COLUMN_REAL))
		return value == 0ul ? 0ul : rql_key_of_real(~value);
	if (rql_is(flags, RQL_RASTER_COLUMN_FIELDS))
		return value;
	return rql_is(flags, RQL_RASTER_COLUMN_64) ? value ^ 0x8000000000000000ul : (value ^ 0x80000000ul) & 0xfffffffful;
}

// Adds to a sum: one word, or two of a number with a sign.
void rql_add_wide(uint64_t sums, uint group, uint64_t low, uint64_t high, bool wide)
{
	if (!wide) {
		rql_u64s(sums).at[group] += low;
		return;
	}
	uint64_t old = rql_u64s(sums).at[2u * group];
	rql_u64s(sums).at[2u * group] = old + low;
	rql_u64s(sums).at[2u * group + 1u] += high + (old + low < old ? 1ul : 0ul);
}
