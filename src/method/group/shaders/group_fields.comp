// A key or an aggregate of each group as a field of a form's column (column/form.h), which other operators read.
//
// Floor: what is read of a group and its field, once. Reads and writes are as wide as the memory's lines: groups lie side
// by side.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/group/group_kernels.h"
#include "primitive/relation/shaders/average.glsl"
#include "primitive/relation/shaders/halves.glsl"
#include "primitive/shaders/ordered.glsl"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_group_field_args args; };


uint64_t key_at(uint group)
{
	return (args.bits & 0xffffu) == 64u ? RQL_U64(args.from, group) : uint64_t(RQL_U32(args.from, group));
}

uint64_t part_at(uint group)
{
	uint64_t code = (key_at(group) - 1ul) / args.stride % args.count;
	if (code == args.null_code)
		return 0ul;
	return args.fields != 0ul ? uint64_t(RQL_U32(args.fields, code)) : code + 1ul;
}

u64vec2 fields_at(uint64_t from, uint group, bool wide)
{
	return wide ? u64vec2(RQL_U64(from, uint64_t(group) * 2ul), RQL_U64(from, uint64_t(group) * 2ul + 1ul))
	            : u64vec2(RQL_U64(from, group), 0ul);
}

// The sum of the values, of which `count` are there: what the fields are less than them comes once for each.
u64vec2 sum_at(uint group, uint64_t count)
{
	u64vec2 before = rql_times(args.before, count);
	before.y += args.before_high * count;
	return rql_plus(fields_at(args.from, group, (args.kind & RQL_GROUP_FIELD_WIDE) != 0u), before);
}

// ... of lower halves, which are as many.
u64vec2 lower_at(uint group, uint64_t count)
{
	u64vec2 before = rql_times(args.power, count);
	before.y -= (args.power >> 63) * count;
	return rql_plus(fields_at(args.fields, group, (args.kind & RQL_GROUP_FIELD_LOW_WIDE) != 0u), before);
}

// Of values, whose halves may have been added up apart.
u64vec2 whole_at(uint group, uint64_t count)
{
	u64vec2 sum = sum_at(group, count);
	return (args.kind & RQL_GROUP_FIELD_OF_TWO) != 0u ? rql_whole(sum, lower_at(group, count)) : sum;
}

uint64_t half_at(uint group, uint64_t count)
{
	u64vec2 sum = whole_at(group, count);
	return (args.kind & 0xffu) == RQL_GROUP_FIELD_UPPER ? rql_upper_half(sum) : rql_lower_half(sum);
}

uint64_t average_at(uint group, uint64_t count)
{
	uint bits = (args.kind & RQL_GROUP_FIELD_NARROW) != 0u ? 53u : 64u;
	uint64_t power = (args.kind & RQL_GROUP_FIELD_OF_TWO) != 0u ? 1ul : args.power; // halves are of BIGINTs
	return rql_field_of_real(rql_average(whole_at(group, count), count, power, bits));
}

uint64_t field_at(uint group)
{
	uint kind = args.kind & 0xffu;
	if (kind == RQL_GROUP_FIELD_KEY)
		return key_at(group);
	if (kind == RQL_GROUP_FIELD_PART)
		return part_at(group);
	uint64_t count = RQL_U64(args.present, group);
	if (kind == RQL_GROUP_FIELD_COUNT)
		return count - args.less;
	if (count == 0ul)
		return 0ul;
	if (kind == RQL_GROUP_FIELD_SUM)
		return whole_at(group, count).x - args.less;
	if (kind == RQL_GROUP_FIELD_UPPER || kind == RQL_GROUP_FIELD_LOWER)
		return half_at(group, count) - args.less;
	if (kind == RQL_GROUP_FIELD_AVERAGE)
		return average_at(group, count);
	uint64_t word = RQL_U64(args.from, group);
	if (kind == RQL_GROUP_FIELD_VALUE)
		return word + args.before - args.less;
	if (kind == RQL_GROUP_FIELD_REAL_AVERAGE)
		return rql_field_of_real(rql_real_average(word, count));
	return rql_field_of_real(kind == RQL_GROUP_FIELD_REAL_EXTREME ? rql_bits_of(word, RQL_WORD_F64) : word);
}

void main()
{
	uint64_t i = rql_group() * RQL_GROUP_THREADS + gl_LocalInvocationIndex;
	uint64_t found = RQL_U64(args.found, 1) != 0ul ? 0ul : RQL_U64(args.found, 0);
	if (i == 0ul)
		RQL_U64(args.given, 0) = found;
	if (i >= min(found, args.room))
		return;
	uint group = uint(i);
	uint64_t field = field_at(group);
	if (args.bits >> 16 == 64u)
		RQL_U64(args.to, group) = field;
	else
		RQL_U32(args.to, group) = uint(field);
}
