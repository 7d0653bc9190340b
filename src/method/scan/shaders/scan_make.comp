// A join's map of COLUMNS (scan_make.c), in passes: which payloads there are, their ranks, the
// entries. An invocation for each row; the ranks are one workgroup's.
//
// Floor: the fields read once, or twice with payloads, and a place that lies anywhere. Bits are read before an atomic is
// spent on them: keys of a fact table come many times.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/scan/gpu/scan_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint PASS = RQL_SCAN_MAKE_PUT;
layout(constant_id = 2) const uint FORM = 0; // bytes of a payload beside bits, or of a hash table's entry: 8 or 16
layout(constant_id = 3) const uint KEYS = 1;
layout(constant_id = 4) const uint OUTPUTS = 0;
layout(constant_id = 5) const bool LISTED = false; // numbers are in a hash table, not bits
layout(push_constant, scalar) uniform Args { rql_scan_make_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer MakeColumn { rql_scan_make_column v; };

shared uint tally[RQL_SCAN_MAKE_SEEN];
shared uint sums[256];

rql_scan_make_column column_at(uint i)
{
	return MakeColumn(args.columns + uint64_t(i) * 48ul).v;
}

uint64_t field_at(rql_scan_make_column c, uint64_t row)
{
	uint64_t from = args.values + c.at;
	return c.bits == 64u ? RQL_U64(from, row) : uint64_t(RQL_U32(from, row));
}

// Its place in the range of the map's keys. false: no key, or none that is looked for.
bool key_place(uint64_t row, out uint64_t place, out bool absent)
{
	bool within = true;
	place = 0ul;
	absent = false;
	for (uint k = 0u; k < KEYS; k++) {
		rql_scan_make_column c = column_at(k);
		uint64_t field = field_at(c, row), at = field + c.first;
		if (c.places != 0ul) {
			uint named = RQL_U32(c.places, field);
			at = uint64_t(named) - 1ul; // 0: beyond all places
			field = named == ~0u ? 0ul : 1ul;
		}
		absent = absent || field == 0ul;
		within = within && at < c.count;
		place += at * c.stride;
	}
	return within && !absent;
}

// The number of what the row's payload stands for.
uint64_t number_of(uint64_t row)
{
	uint64_t number = 0ul;
	for (uint o = 0u; o < OUTPUTS; o++) {
		rql_scan_make_column c = column_at(KEYS + o);
		number += field_at(c, row) * c.stride;
	}
	return number;
}

// true: it was not set.
bool set_bit(uint64_t words, uint64_t at)
{
	uint64_t word = at >> 5;
	uint bit = 1u << uint(at & 31ul);
	return (RQL_U32(words, word) & bit) == 0u && (atomicOr(RQL_U32(words, word), bit) & bit) == 0u;
}

// Of a table's places: a power of 2, at least twice the rows that came. There is room for more of them than came, and
// whoever looks up in a smaller table finds more of it in the device's cache. The same as capacity_for in scan_make.c.
uint64_t mask_now(uint64_t greatest)
{
	uint64_t most = max(min(RQL_U64(args.rows, 0), args.room), 1ul) * 2ul - 1ul;
	uint high = uint(most >> 32) != 0u ? 32u + uint(findMSB(uint(most >> 32))) : uint(findMSB(uint(most)));
	return min(greatest, max(uint64_t(args.least_mask), (2ul << high) - 1ul));
}

// The place of a word that is not 0, among places of 16 bytes that begin with one; narrow: words of 32 bits, places of 8
// bytes. true: it is new, and claimed.
bool claim(uint64_t table, bool narrow, uint64_t word, uint64_t mask, out uint64_t at)
{
	uint64_t hash = word * 0x9e3779b97f4a7c15ul;
	for (at = (hash ^ (hash >> 32)) & mask;; at = (at + 1ul) & mask) {
		uint64_t was = narrow ? uint64_t(RQL_U32(table, at * 2ul)) : RQL_U64(table, at * 2ul);
		if (was == 0ul)
			was = narrow ? uint64_t(atomicCompSwap(RQL_U32(table, at * 2ul), 0u, uint(word)))
			             : atomicCompSwap(RQL_U64(table, at * 2ul), 0ul, word);
		if (was == 0ul || was == word)
			return was == 0ul;
	}
}

// Payload + 1: how many numbers up to this one there are, or (in a hash table) its rank plus 1.
uint found_of(uint64_t row)
{
	uint64_t at;
	if (OUTPUTS == 0u)
		return 1u;
	uint64_t number = number_of(row);
	if (LISTED) {
		claim(args.used, false, number + 1ul, mask_now(args.used_mask), at);
		return RQL_U32(args.used, at * 4ul + 2ul);
	}
	uint bit = uint(number & 31ul);
	return RQL_U32(args.ranks, number >> 5) + uint(bitCount(RQL_U32(args.used, number >> 5) << (31u - bit)));
}

void put_payload(uint64_t place, uint found)
{
	uint64_t at = place * uint64_t(FORM);
	if (FORM == 4u)
		RQL_U32(args.found, place) = found;
	else if (FORM != 0u)
		atomicOr(RQL_U32(args.found, at >> 2), found << (uint(at & 3ul) * 8u));
}

// Words are those of column/map/map_layout.h, so that one atomic claims a place for its key.
bool put_hashed(uint64_t place, uint64_t row)
{
	uint64_t at;
	if (!claim(args.table, FORM == 8u, place + 1ul, mask_now(args.mask), at))
		return false;
	RQL_U32(args.table, FORM == 8u ? at * 2ul + 1ul : at * 4ul + 2ul) = found_of(row);
	return true;
}

void put(uint64_t row)
{
	uint64_t place;
	bool absent;
	if (!key_place(row, place, absent)) {
		if (absent)
			atomicAdd(tally[RQL_SCAN_MAKE_NULLS], 1u);
		return;
	}
	atomicAdd(tally[RQL_SCAN_MAKE_KEYS], 1u);
	bool fresh = FORM >= RQL_SCAN_MAKE_HASHED ? put_hashed(place, row) : set_bit(args.table, place);
	if (!fresh)
		return;
	atomicAdd(tally[RQL_SCAN_MAKE_FRESH], 1u);
	if (FORM < RQL_SCAN_MAKE_HASHED && FORM != 0u)
		put_payload(place, found_of(row));
}

void mark(uint64_t row)
{
	uint64_t place;
	bool absent;
	if (key_place(row, place, absent))
		set_bit(args.used, number_of(row));
}

// Numbers that are new get the next ranks: those of a workgroup together.
void mark_listed(uint64_t row)
{
	uint64_t place, number = 0ul, at = 0ul;
	uint mine = 0u;
	bool absent, fresh = false;
	if (gl_LocalInvocationIndex == 0u)
		tally[0] = 0u;
	barrier();
	if (row < args.room && row < RQL_U64(args.rows, 0) && key_place(row, place, absent)) {
		number = number_of(row);
		fresh = claim(args.used, false, number + 1ul, mask_now(args.used_mask), at);
		mine = fresh ? atomicAdd(tally[0], 1u) : 0u;
	}
	barrier();
	if (gl_LocalInvocationIndex == 0u && tally[0] != 0u)
		tally[1] = atomicAdd(RQL_U32(args.seen, RQL_SCAN_MAKE_NUMBERS), tally[0]);
	barrier();
	if (!fresh)
		return;
	RQL_U32(args.used, at * 4ul + 2ul) = tally[1] + mine + 1u;
	RQL_U64(args.ranks, tally[1] + mine) = number;
}

// Of each word of the used numbers how many are in those before it.
void rank()
{
	uint lane = gl_LocalInvocationIndex, lanes = gl_WorkGroupSize.x;
	uint each = (args.used_words + lanes - 1u) / lanes, first = min(lane * each, args.used_words);
	uint end = min(first + each, args.used_words), sum = 0u;
	for (uint w = first; w < end; w++)
		sum += uint(bitCount(RQL_U32(args.used, w)));
	sums[lane] = sum;
	barrier();
	uint before = 0u;
	for (uint l = 0u; l < lane; l++)
		before += sums[l];
	for (uint w = first; w < end; w++) {
		RQL_U32(args.ranks, w) = before;
		before += uint(bitCount(RQL_U32(args.used, w)));
	}
}

void put_all(uint64_t row)
{
	uint lane = gl_LocalInvocationIndex;
	if (lane < RQL_SCAN_MAKE_SEEN)
		tally[lane] = 0u;
	barrier();
	if (row < args.room && row < RQL_U64(args.rows, 0))
		put(row);
	barrier();
	if (lane < RQL_SCAN_MAKE_SEEN && tally[lane] != 0u)
		atomicAdd(RQL_U32(args.seen, lane), tally[lane]);
}

void main()
{
	uint64_t i = rql_group() * uint64_t(gl_WorkGroupSize.x) + uint64_t(gl_LocalInvocationIndex);
	if (PASS == RQL_SCAN_MAKE_RANK)
		rank();
	else if (PASS == RQL_SCAN_MAKE_PUT)
		put_all(i);
	else if (PASS == RQL_SCAN_MAKE_MARK && LISTED)
		mark_listed(i);
	else if (PASS == RQL_SCAN_MAKE_MARK && i < args.room && i < RQL_U64(args.rows, 0))
		mark(i);
}
