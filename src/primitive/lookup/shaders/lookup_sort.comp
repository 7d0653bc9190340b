#version 460
// Sorts the rows of a partition by ranges of keys in shared memory, by their keys and of equal keys by their numbers. The
// directory's entries are buckets, of which each has a row or two where keys are spread evenly: rows come to their buckets
// by counting, and find their places there by comparison with the others. Where a bucket has many rows, all rows of the
// partition are sorted by a bitonic network.
// Floor: reads and writes every key and row once, and writes the directory. KEY_BITS: 32 (with the row above it) or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_sort_args args; };
#include "primitive/lookup/shaders/lookup_entry.glsl"
layout(constant_id = 2) const uint SLOTS = 4672u; // rows at most
layout(constant_id = 3) const uint WORDS = 2049u; // RQL_LOOKUP_SORT_WORDS
#define HELD RQL_LOOKUP_SORT_HELD
#define CROWDED 24u // rows of a bucket, from which on comparison of all with all costs more
#define NONE 0xffffffffu
#if KEY_BITS == 32
shared uint64_t items[SLOTS]; // a key and below it its row: they are compared, read and written at once
#else
shared KEY keys[SLOTS];
shared uint rows[SLOTS];
#endif
shared uint begins[WORDS]; // 16 bits an entry: its rows, then its first one's place
shared uint fullest;
// A thread's rows.
KEY key[HELD];
uint row[HELD], at[HELD]; // at: entry << 16 | place in it

uint begin_of(uint entry)
{
	return begins[entry >> 1u] >> (entry & 1u) * 16u & 0xffffu;
}

void read_row(uint at, out KEY key, out uint row)
{
#if KEY_BITS == 32
	uvec2 pair = unpackUint2x32(RQL_U64(args.keys_in, at));
	key = pair.x;
	row = pair.y;
#else
	key = RQL_U64(args.keys_in, at);
	row = RQL_U32(args.rows_in, at);
#endif
}

// Counts become places. Ends with a barrier.
void place_entries(uint count)
{
	uint t = rql_thread(), words = (count + 1u) / 2u, each = (words + THREADS - 1u) / THREADS, sum = 0u, total;
	for (uint w = t * each; w < min((t + 1u) * each, words); w++)
		sum += (begins[w] & 0xffffu) + (begins[w] >> 16u);
	uint before = rql_before(sum, total);
	for (uint w = t * each; w < min((t + 1u) * each, words); w++) {
		uint own = begins[w];
		begins[w] = before | before + (own & 0xffffu) << 16u;
		before += (own & 0xffffu) + (own >> 16u);
	}
	if (t == 0u)
		begins[words] = total;
	barrier();
}

void put(uint to, KEY key, uint row)
{
#if KEY_BITS == 32
	items[to] = packUint2x32(uvec2(row, key));
#else
	keys[to] = key;
	rows[to] = row;
#endif
}

bool is_before(uint at, KEY key, uint row)
{
#if KEY_BITS == 32
	return items[at] < packUint2x32(uvec2(row, key));
#else
	KEY there = keys[at];
	uint other = rows[at]; // read beside it, whether or not it is asked
	return there < key || there == key && other < row;
#endif
}

// The place of a row of a bucket among the others of it.
uint place_in(uint entry, KEY key, uint row)
{
	uint end = begin_of(entry + 1u), to = begin_of(entry);
	for (uint other = to; other < end; other++)
		to += is_before(other, key, row) ? 1u : 0u;
	return to;
}

void get(uint at, out KEY key, out uint row)
{
#if KEY_BITS == 32
	uvec2 halves = unpackUint2x32(items[at]);
	key = halves.y;
	row = halves.x;
#else
	key = keys[at];
	row = rows[at];
#endif
}

void exchange_rows(uint low, uint high, uint count)
{
	KEY key, other_key;
	uint row, other_row;
	if (high >= count)
		return;
	get(low, key, row);
	if (!is_before(high, key, row))
		return;
	get(high, other_key, other_row);
	put(low, other_key, other_row);
	put(high, key, row);
}

// Every step orders upwards, so that rows behind the last one, greater than all, need not be there. Ends with a barrier.
void sort_bitonic(uint count)
{
	uint most = 1u << uint(findMSB(max(count, 2u) - 1u)) + 1u;
	for (uint size = 2u; size <= most; size *= 2u) {
		for (uint i = rql_thread(); i < most / 2u; i += THREADS) {
			uint block = i / (size / 2u) * size, own = i % (size / 2u);
			exchange_rows(block + own, block + size - 1u - own, count);
		}
		barrier();
		for (uint apart = size / 4u; apart != 0u; apart /= 2u) {
			for (uint i = rql_thread(); i < most / 2u; i += THREADS) {
				uint low = i / apart * 2u * apart + i % apart;
				exchange_rows(low, low + apart, count);
			}
			barrier();
		}
	}
}

// Rows to their places in their buckets. Ends with a barrier. (To leave rows alone that have theirs took a third longer on an
// H200.)
void sort_buckets()
{
	[[unroll]] for (uint r = 0u; r < HELD; r++)
		if (at[r] != NONE)
			at[r] = place_in(at[r] >> 16u, key[r], row[r]);
	barrier();
	[[unroll]] for (uint r = 0u; r < HELD; r++)
		if (at[r] != NONE)
			put(at[r], key[r], row[r]);
	barrier();
}

void write_directory(uint first_entry, uint count, uint first_row)
{
	for (uint e = rql_thread(); e < count && first_entry + e <= args.last; e += THREADS)
		RQL_U32(args.starts, first_entry + e) = first_row + begin_of(e);
	if (rql_thread() == 0u && rql_group() + 1u == 1u << args.bits)
		RQL_U32(args.starts, args.last + 1u) = args.count;
}

void read_rows(uint first, uint count)
{
	[[unroll]] for (uint r = 0u; r < HELD; r++) {
		key[r] = KEY(0);
		row[r] = 0u;
		if (r * THREADS + rql_thread() < count)
			read_row(first + r * THREADS + rql_thread(), key[r], row[r]);
	}
}

void count_rows(uint first_entry, uint count)
{
	uint most = 0u;
	[[unroll]] for (uint r = 0u; r < HELD; r++) {
		at[r] = NONE;
		if (r * THREADS + rql_thread() >= count)
			continue;
		uint entry = max(entry_of(key[r]), first_entry) - first_entry, half_shift = (entry & 1u) * 16u;
		uint place = atomicAdd(begins[entry >> 1u], 1u << half_shift) >> half_shift & 0xffffu;
		at[r] = entry << 16u | place;
		most = max(most, place + 1u);
	}
	most = subgroupMax(most);
	if (subgroupElect())
		atomicMax(fullest, most);
	barrier();
}

void main()
{
	uint range = uint(rql_group());
	if (rql_group() >= uint64_t(1u << args.bits))
		return;
	uint t = rql_thread(), entries = 1u << args.entries_log2, first_entry = range << args.entries_log2;
	uint first = RQL_U32(args.starts_in, range), count = min(RQL_U32(args.starts_in, range + 1u) - first, SLOTS);
	for (uint w = t; w < WORDS; w += THREADS)
		begins[w] = 0u;
	if (t == 0u)
		fullest = 0u;
	read_rows(first, count);
	barrier();
	count_rows(first_entry, count);
	place_entries(entries);
	if (args.starts != 0ul)
		write_directory(first_entry, entries, first);
	[[unroll]] for (uint r = 0u; r < HELD; r++)
		if (at[r] != NONE)
			put(begin_of(at[r] >> 16u) + (at[r] & 0xffffu), key[r], row[r]);
	barrier();
	if (fullest >= CROWDED)
		sort_bitonic(count);
	else if (fullest > 1u)
		sort_buckets();
	for (uint i = t; i < count; i += THREADS) {
		KEY own;
		uint own_row;
		get(i, own, own_row);
		RQL_KEY(args.keys, uint64_t(first + i) << args.stride) = own;
		RQL_U32(args.rows, uint64_t(first + i) << args.stride) = own_row;
	}
}
