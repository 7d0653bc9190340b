// Places of a segment's rows on one axis of a space. Floor, in bytes a row: 4 or 8 for its key, or 4 for its rank, and
// 4 for the place; ranks are scattered.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/shaders/sieve_bins.glsl"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_places_args args; };
const uint BLOCK = RQL_SIEVE_BLOCK_ROWS;

uint64_t place_of(const uint row)
{
	return args.places + (uint64_t(row) * args.axis_count + args.axis) * 4ul;
}

uint find_place(const uint row)
{
	if (args.valid != 0ul && (SieveBits(args.valid + uint64_t(row / 32u) * 4ul).v >> row % 32u & 1u) == 0u)
		return args.null_place;
	const uint64_t key = args.wide != 0u ? SieveKey64(args.keys + uint64_t(row) * 8ul).v
	                                     : uint64_t(SieveKey32(args.keys + uint64_t(row) * 4ul).v);
	return args.what == RQL_SIEVE_PLACES_BINS ? bin_of(args.bounds, args.bins, key) : uint(key >> args.shift);
}

void main()
{
	const uint64_t number = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (number >= args.count)
		return;
	const uint i = uint(number), first = i / BLOCK * BLOCK;
	if (args.what == RQL_SIEVE_PLACES_RANKS) {
		SieveBits(place_of(SieveKey32(args.ranks + number * 4ul).v)).v = i;
		return;
	}
	const uint from = i - first < SieveKey32(args.rows + uint64_t(i / BLOCK) * 4ul).v ? i : first;
	if (args.what == RQL_SIEVE_PLACES_NULL)
		SieveBits(place_of(i)).v = args.null_place;
	else if (args.what != RQL_SIEVE_PLACES_GAPS)
		SieveBits(place_of(i)).v = find_place(from);
	else if (from != i)
		SieveBits(place_of(i)).v = SieveBits(place_of(from)).v;
}
