#version 460
#extension GL_GOOGLE_include_directive : require
// A hand-tuned scan: filter and group columns as dictionary codes of one byte (brands two), sixteen rows a thread in
// 16-byte loads, four codes compared at once in a word, a column read only where one of the thread's rows still
// qualifies (but for the first EAGER, whose loads then do not wait for each other).
// Floor: the bytes of the eager columns, plus the 32-byte sectors of the others that hold a row which qualifies so far.
#include "rival.glsl"

#define TOPS 0x80808080u // the top bit of every byte: what a mask of four rows consists of
#define HALF_TOPS 0x80008000u

// Of four codes below 128 those in [low, low + span]: adding to a byte reaches its top bit and never the next byte.
// The two addends are the same for all rows.
uint rql_range(uint v, uint low, uint span)
{
	return v + (0x80u - low) * 0x01010101u & ~(v + (0x7fu - low - span) * 0x01010101u) & TOPS;
}

// Of two codes below 2^15, in the top bit of each half.
uint rql_half_range(uint v, uint low, uint span)
{
	return v + (0x8000u - low) * 0x00010001u & ~(v + (0x7fffu - low - span) * 0x00010001u) & HALF_TOPS;
}

// Bytes that are equal to `code`: zero after the exclusive or, and only a zero byte keeps its top bit clear in this sum.
uint rql_equal(uint v, uint code)
{
	uint x = v ^ code * 0x01010101u;
	return ~((x & ~TOPS) + ~TOPS | x) & TOPS;
}

// Columns of halves have 32 bytes for sixteen rows: two quads.
struct rql_chunk { uvec4 first, second; };

rql_chunk rql_load_chunk(uint64_t column, uint bytes, uint chunk)
{
	if (bytes == 1u)
		return rql_chunk(rql_load(column, chunk), uvec4(0u));
	return rql_chunk(rql_load(column, 2u * chunk), rql_load(column, 2u * chunk + 1u));
}

uvec4 rql_byte_mask(uint test, uvec4 v, uint low, uint span)
{
	uvec4 mask;
	[[unroll]] for (uint w = 0u; w < 4u; w++)
		mask[w] = test == RQL_RIVAL_RANGE ? rql_range(v[w], low, span)
		                                  : rql_equal(v[w], low) | rql_equal(v[w], low + span);
	return mask;
}

// Two words of two rows each to one of four.
uint rql_narrow(uint first, uint second)
{
	return first >> 8 & 0x80u | first >> 16 & 0x8000u | second << 8 & 0x800000u | second & 0x80000000u;
}

uvec4 rql_half_mask(rql_chunk v, uint low, uint span)
{
	uvec4 first, second;
	[[unroll]] for (uint w = 0u; w < 4u; w++) {
		first[w] = rql_half_range(v.first[w], low, span);
		second[w] = rql_half_range(v.second[w], low, span);
	}
	return uvec4(rql_narrow(first.x, first.y), rql_narrow(first.z, first.w), rql_narrow(second.x, second.y),
	             rql_narrow(second.z, second.w));
}

uvec4 rql_mask(uint test, uint bytes, rql_chunk v, uint low, uint span)
{
	return bytes == 1u ? rql_byte_mask(test, v.first, low, span) : rql_half_mask(v, low, span);
}

// Sixteen rows to sixteen bits.
uint rql_bits(uvec4 mask)
{
	uvec4 bits = (mask >> 7) * 0x10204080u >> 28;
	return bits.x | bits.y << 4 | bits.z << 8 | bits.w << 12;
}

uint rql_value(uint64_t column, uint bytes, uint64_t row)
{
	if (bytes == 4u)
		return rql_words(column).word[uint(row)];
	uint per_word = 4u / bytes, at = uint(row);
	uint word = rql_words(column).word[at / per_word];
	return bitfieldExtract(word, int(at % per_word * bytes * 8u), int(bytes * 8u));
}

// Stays in registers: the index is a literal.
#define EAGERLY(i)                                                                                                     \
	rql_chunk eager_##i;                                                                                               \
	if (TEST(i) != 0u && i < EAGER)                                                                                    \
		eager_##i = rql_load_chunk(args.tests[i].column, BYTES_OF_TEST(i), chunk)
#define APPLY_EAGER(i)                                                                                                 \
	if (TEST(i) != 0u && i < EAGER)                                                                                    \
		mask &= rql_mask(TEST(i), BYTES_OF_TEST(i), eager_##i, args.tests[i].low, args.tests[i].span);
#define APPLY_LAZY(i)                                                                                                  \
	if (TEST(i) != 0u && i >= EAGER && (mask.x | mask.y | mask.z | mask.w) != 0u)                                      \
		mask &= rql_mask(TEST(i), BYTES_OF_TEST(i), rql_load_chunk(args.tests[i].column, BYTES_OF_TEST(i), chunk),     \
		                 args.tests[i].low, args.tests[i].span);

uint rql_group_of(uint64_t row)
{
	uint group = 0u;
	if (BYTES_OF_GROUP(0) != 0u)
		group += rql_value(args.groups[0], BYTES_OF_GROUP(0), row) * STRIDE_0;
	if (BYTES_OF_GROUP(1) != 0u)
		group += rql_value(args.groups[1], BYTES_OF_GROUP(1), row) * STRIDE_1;
	if (BYTES_OF_GROUP(2) != 0u)
		group += rql_value(args.groups[2], BYTES_OF_GROUP(2), row);
	return group - args.base;
}

void main()
{
	rql_sums_begin();
	int64_t total = 0l;
	uint chunks = uint((args.rows + 15ul) / 16ul), stride = args.workgroups * gl_WorkGroupSize.x;
	for (uint chunk = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x; chunk < chunks; chunk += stride) {
		EAGERLY(0);
		EAGERLY(1);
		EAGERLY(2);
		EAGERLY(3);
		uvec4 mask = uvec4(TOPS);
		APPLY_EAGER(0)
		APPLY_EAGER(1)
		APPLY_EAGER(2)
		APPLY_EAGER(3)
		APPLY_LAZY(0)
		APPLY_LAZY(1)
		APPLY_LAZY(2)
		APPLY_LAZY(3)
		uint rows = rql_bits(mask);
		uint64_t left = args.rows - 16ul * chunk;
		if (left < 16ul)
			rows &= (1u << uint(left)) - 1u;
		while (rows != 0u) {
			uint64_t row = 16ul * chunk + uint(findLSB(rows));
			rows &= rows - 1u;
			uint32_t b = OPERATION != 0u ? rql_value(args.b, B_BYTES, row) : 0u;
			uint32_t a = rql_words(args.a).word[uint(row)];
			rql_add(rql_group_of(row), rql_measure(a, b), total);
		}
	}
	rql_sums_end(total);
}
