#version 460
// Radix sort, last part of a digit's pass: each workgroup sorts its tiles by the digit in shared memory, stably, and
// writes them out as runs of equal digits, which land side by side. The digit is sorted as two halves of four bits by
// counters that belong to one thread each, with a prefix sum over them: nothing depends on subgroups or on the order of
// atomics. Floor: reads and writes every key and value once; with sort_count a digit moves 3 keys and 2 values.
// KEY_BITS: 32 or 64. VALUE_BITS: 0, 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/primitive_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_sort_args args; };

#if KEY_BITS == 32
#define RQL_KEY RQL_U32
#define KEY uint
#else
#define RQL_KEY RQL_U64
#define KEY uint64_t
#endif
#if VALUE_BITS == 64
#define RQL_VALUE RQL_U64
#define VALUE uint64_t
#else
#define RQL_VALUE RQL_U32
#define VALUE uint
#endif
// 16 KiB of items pass through shared memory at a time (sort_tile() in gpu_sort.c says the same).
#if KEY_BITS == 64 || VALUE_BITS == 64
#define ITEMS 8u
#define WORD uint64_t
#define RQL_PADDED(i) ((i) + ((i) >> 4u))
#else
#define ITEMS 16u
#define WORD uint
#define RQL_PADDED(i) ((i) + ((i) >> 5u))
#endif
#define TILE (ITEMS * RQL_THREADS)
#define HALVES 8u // counters of digits 0..7 in the low 16 bits, of 8..15 in the high ones

#define RQL_SUM uint
#include "primitive/shaders/group_scan.glsl"
shared WORD exchange[RQL_PADDED(TILE)];
shared uint counters[HALVES * RQL_THREADS + HALVES * RQL_THREADS / 32u];
shared uint64_t bases[RQL_SORT_DIGITS]; // where the next item of a digit goes
shared uint starts[RQL_SORT_DIGITS];    // the digit's first item in the sorted tile

#if VALUE_BITS
#define SORT_VALUES , inout VALUE values[ITEMS]
#else
#define SORT_VALUES
#endif
#define COUNTER(i) ((i) + ((i) >> 5u))

uint digit_of(KEY key)
{
	return uint(key >> args.shift) & ((1u << args.bits) - 1u);
}

// Positions of this thread's consecutive items in the order of four bits of their digits.
void rank(in KEY keys[ITEMS], uint low, out uint position[ITEMS])
{
	uint t = gl_LocalInvocationIndex;
	[[unroll]] for (uint d = 0u; d < HALVES; d++)
		counters[COUNTER(d * RQL_THREADS + t)] = 0u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint nibble = digit_of(keys[j]) >> low & 15u;
		uint at = COUNTER((nibble & 7u) * RQL_THREADS + t);
		uint up = nibble >> 3u << 4u;
		uint counter = counters[at];
		position[j] = counter >> up & 0xffffu;
		counters[at] = counter + (1u << up);
	}
	barrier();
	uint sum = 0u;
	[[unroll]] for (uint d = 0u; d < HALVES; d++)
		sum += counters[COUNTER(t * HALVES + d)];
	uint total;
	uint before = rql_group_exclusive(sum, total);
	before += total << 16u; // digits 8..15 come after all of 0..7
	[[unroll]] for (uint d = 0u; d < HALVES; d++) {
		uint own = counters[COUNTER(t * HALVES + d)];
		counters[COUNTER(t * HALVES + d)] = before;
		before += own;
	}
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint nibble = digit_of(keys[j]) >> low & 15u;
		position[j] += counters[COUNTER((nibble & 7u) * RQL_THREADS + t)] >> (nibble >> 3u << 4u) & 0xffffu;
	}
}

void load_keys(uint64_t base, uint valid, out KEY keys[ITEMS])
{
	uint t = gl_LocalInvocationIndex;
	// What is beyond the end has the greatest digit and comes last in the tile, so it stays behind all real items.
	for (uint i = t; i < TILE; i += RQL_THREADS)
		exchange[RQL_PADDED(i)] = WORD(i < valid ? RQL_KEY(args.keys_in, base + i) : ~KEY(0));
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		keys[j] = KEY(exchange[RQL_PADDED(t * ITEMS + j)]);
	barrier();
}

#if VALUE_BITS
void load_values(uint64_t base, uint valid, out VALUE values[ITEMS])
{
	uint t = gl_LocalInvocationIndex;
	for (uint i = t; i < valid; i += RQL_THREADS)
		exchange[RQL_PADDED(i)] = WORD(args.values_in != 0ul ? RQL_VALUE(args.values_in, base + i) : VALUE(base + i));
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		values[j] = VALUE(exchange[RQL_PADDED(t * ITEMS + j)]);
	barrier();
}
#endif

// Sorts a tile by its digit; the keys are then in `exchange`, the values with the threads as before.
void sort_by_digit(inout KEY keys[ITEMS] SORT_VALUES)
{
	uint t = gl_LocalInvocationIndex;
	uint position[ITEMS];
	for (uint low = 0u; low < args.bits; low += 4u) {
		rank(keys, low, position);
#if VALUE_BITS
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			exchange[RQL_PADDED(position[j])] = WORD(values[j]);
		barrier();
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			values[j] = VALUE(exchange[RQL_PADDED(t * ITEMS + j)]);
		barrier();
#endif
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			exchange[RQL_PADDED(position[j])] = WORD(keys[j]);
		barrier();
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			keys[j] = KEY(exchange[RQL_PADDED(t * ITEMS + j)]);
	}
}

void sort_tile(uint64_t base, uint valid)
{
	uint t = gl_LocalInvocationIndex;
	KEY keys[ITEMS];
	load_keys(base, valid, keys);
#if VALUE_BITS
	VALUE values[ITEMS];
	load_values(base, valid, values);
	sort_by_digit(keys, values);
#else
	sort_by_digit(keys);
#endif
	uint digits[ITEMS];
	[[unroll]] for (uint r = 0u; r < ITEMS; r++) {
		uint i = r * RQL_THREADS + t;
		digits[r] = digit_of(KEY(exchange[RQL_PADDED(i)]));
		if (i == 0u || digit_of(KEY(exchange[RQL_PADDED(i - 1u)])) != digits[r])
			starts[digits[r]] = i;
	}
	barrier();
	uint last_of_digit = 0u; // bit r
	[[unroll]] for (uint r = 0u; r < ITEMS; r++) {
		uint i = r * RQL_THREADS + t;
		if (i < valid) {
			uint64_t to = bases[digits[r]] + uint64_t(i - starts[digits[r]]);
			RQL_KEY(args.keys_out, to) = KEY(exchange[RQL_PADDED(i)]);
			if (i + 1u == valid || digit_of(KEY(exchange[RQL_PADDED(i + 1u)])) != digits[r])
				last_of_digit |= 1u << r;
		}
	}
	barrier();
#if VALUE_BITS
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		exchange[RQL_PADDED(t * ITEMS + j)] = WORD(values[j]);
	barrier();
	[[unroll]] for (uint r = 0u; r < ITEMS; r++) {
		uint i = r * RQL_THREADS + t;
		if (i < valid)
			RQL_VALUE(args.values_out, bases[digits[r]] + uint64_t(i - starts[digits[r]])) =
				VALUE(exchange[RQL_PADDED(i)]);
	}
	barrier();
#endif
	[[unroll]] for (uint r = 0u; r < ITEMS; r++)
		if ((last_of_digit >> r & 1u) != 0u)
			bases[digits[r]] += uint64_t(r * RQL_THREADS + t - starts[digits[r]] + 1u);
	barrier();
}

void main()
{
	uint64_t group = rql_group();
	uint t = gl_LocalInvocationIndex;
	if (group >= args.groups)
		return;
	if (t < 1u << args.bits) {
		uint64_t at = t * args.groups + group;
		bases[t] = args.wide != 0u ? RQL_U64(args.histogram, at) : uint64_t(RQL_U32(args.histogram, at));
	}
	barrier();
	uint64_t first = group * args.group_items;
	uint64_t end = min(first + args.group_items, args.count);
	for (uint64_t base = first; base < end; base += TILE)
		sort_tile(base, uint(min(end - base, uint64_t(TILE))));
}
