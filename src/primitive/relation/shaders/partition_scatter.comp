#version 460
// Radix partition, last part of a pass: each workgroup ranks a tile's rows by their partition in shared memory, takes the
// partitions' next places by one atomic each, brings keys and columns into the order of the ranks, and writes them as
// runs. Rows that are not there or are left out get a partition of their own behind all others, so that no step but the last
// looks at them. Rows of a partition come in no particular order. Floor: reads and writes every key and column once.
// What costs most is that a run begins and ends within a sector of memory. So keys of 32 bits go with the first column as
// pairs, where that is asked for: half the runs, twice as long. (Several tiles to a workgroup, of which the next one's keys
// are read while this one's are written, took half as long again on an H100.)
// KEY_BITS: 32 or 64. PAIRED: 64 bits are a key and, above it, its value.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/relation/relation_kernels.h"
#include "primitive/relation/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_partition_args args; };
layout(constant_id = 2) const uint PARTITIONS = 256u; // a power of two, at least the partitions
#define ITEMS RQL_PARTITION_ITEMS
#define TILE (ITEMS * THREADS)
layout(constant_id = 3) const uint STAGE = 4096u; // ITEMS times the workgroup's size
layout(constant_id = 4) const uint SHAPE = 3u;    // RQL_PARTITION_...: code for what is not there would take registers
#define BY_RANGE ((SHAPE & RQL_PARTITION_RANGES) != 0u)
#include "primitive/relation/shaders/partition.glsl"
shared uint stage[STAGE];
shared uint counters[PARTITIONS + 1u]; // of the tile, then where each partition begins in it
shared uint moves[PARTITIONS];    // from a place in the tile to one in the output, modulo 2^32
#if PAIRED
#define FIRST_COLUMN 1u // the one before goes with the keys
#else
#define FIRST_COLUMN 0u
#endif

void load_keys(uint base, uint end, out KEY keys[ITEMS])
{
	uint t = rql_thread();
#if PAIRED
	if ((SHAPE & RQL_PARTITION_PAIRS_IN) == 0u) {
		uint64_t from = RQL_U64(args.columns, 0u);
		[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
			uint row = min(base + j * THREADS + t, end - 1u);
			keys[j] = packUint2x32(uvec2(RQL_U32(args.keys_in, row), from != 0ul ? RQL_U32(from, row) : row));
		}
		return;
	}
#endif
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		keys[j] = RQL_KEY(args.keys_in, min(base + j * THREADS + t, end - 1u));
}

// Bit j: the thread's j-th row takes part.
uint kept_rows(uint base, uint end, in KEY keys[ITEMS])
{
	uint kept = 0u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		kept |= base + j * THREADS + rql_thread() < end ? 1u << j : 0u;
	if ((args.flags & RQL_ROWS_NULL_KEY) != 0u)
		[[unroll]] for (uint j = 0u; j < ITEMS; j++)
			kept &= hashed_of(keys[j]) == HASHED(args.null_key) ? ~(1u << j) : ~0u;
	if (args.valid != 0ul)
		[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
			uint row = min(base + j * THREADS + rql_thread(), end - 1u);
			kept &= rql_valid_bit(args.valid, row) ? ~0u : ~(1u << j);
		}
	return kept;
}

// Partitions' counts to their first places in the tile and in the output; returns the number of rows kept.
uint place_partitions(uint parent)
{
	uint t = rql_thread();
	uint partitions = 1u << args.bits;
	uint each = (partitions + THREADS - 1u) / THREADS;
	uint sum = 0u;
	for (uint k = 0u; k < each; k++)
		sum += t * each + k < partitions ? counters[t * each + k] : 0u;
	uint total;
	uint before = rql_before(sum, total);
	for (uint k = 0u; k < each; k++) {
		uint d = t * each + k;
		if (d >= partitions)
			break;
		uint own = counters[d];
		counters[d] = before;
		if (own != 0u) {
			uint at = (parent << args.bits) + d;
			uint taken = atomicAdd(RQL_U32(args.counts, at), own);
			moves[d] = RQL_U32(args.starts, at << args.starts_log2) + taken - before;
		}
		before += own;
	}
	if (t == 0u)
		counters[partitions] = total;
	barrier();
	return total;
}

// Keys to the output; `to` becomes the place of what lies at i * THREADS + t in the tile's order.
void move_keys(in KEY keys[ITEMS], in uint at[ITEMS], uint total, out uint to[ITEMS])
{
	uint t = rql_thread();
#if KEY_BITS == 32
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		stage[at[j]] = keys[j];
	barrier();
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint i = j * THREADS + t;
		to[j] = 0u;
		if (i < total) {
			uint key = stage[i];
			to[j] = i + moves[partition_of(key)];
			RQL_U32(args.keys_out, to[j]) = key;
		}
	}
	barrier();
#else
	[[unroll]] for (uint side = 0u; side < 2u; side++) {
		uint first = side * (TILE / 2u);
		[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
			uint own = at[j] - first;
			if (own < TILE / 2u) {
				uvec2 halves = unpackUint2x32(keys[j]);
				stage[own * 2u] = halves.x;
				stage[own * 2u + 1u] = halves.y;
			}
		}
		barrier();
		[[unroll]] for (uint j = 0u; j < ITEMS / 2u; j++) {
			uint own = j * THREADS + t;
			uint k = side * (ITEMS / 2u) + j;
			to[k] = 0u;
			if (first + own < total) {
				uint64_t key = packUint2x32(uvec2(stage[own * 2u], stage[own * 2u + 1u]));
				to[k] = first + own + moves[partition_of(key)];
				RQL_U64(args.keys_out, to[k]) = key;
			}
		}
		barrier();
	}
#endif
}

bool is_wide(uint column)
{
	if ((SHAPE & RQL_PARTITION_WIDE) == 0u || (SHAPE & RQL_PARTITION_NARROW) == 0u)
		return (SHAPE & RQL_PARTITION_WIDE) != 0u;
	return (uint(RQL_U64(args.columns, column * RQL_COLUMN_WORDS + 2u)) & RQL_COLUMN_WIDE) != 0u;
}

// The values of a column of 32 bits, if there is such a one.
void load_narrow(uint column, uint base, uint end, inout uint values[ITEMS])
{
	if ((SHAPE & RQL_PARTITION_NARROW) == 0u || column >= args.column_count || is_wide(column))
		return;
	uint64_t from = RQL_U64(args.columns, column * RQL_COLUMN_WORDS);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint row = min(base + j * THREADS + rql_thread(), end - 1u);
		values[j] = from != 0ul ? RQL_U32(from, row) : row;
	}
}

// Those of the next column are read while these are written.
void move_narrow(uint column, uint base, uint end, in uint at[ITEMS], in uint to[ITEMS], uint total,
                 inout uint values[ITEMS])
{
	uint t = rql_thread();
	uint64_t out_at = RQL_U64(args.columns, column * RQL_COLUMN_WORDS + 1u);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		stage[at[j]] = values[j];
	barrier();
	load_narrow(column + 1u, base, end, values);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint i = j * THREADS + t;
		if (i < total)
			RQL_U32(out_at, to[j]) = stage[i];
	}
	barrier();
}

// Twice as wide: half of the tile at a time.
void move_wide(uint64_t from, uint64_t out_at, uint base, in uint at[ITEMS], in uint to[ITEMS], uint total,
               uint end)
{
	uint t = rql_thread();
	uint64_t values[ITEMS];
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		values[j] = RQL_U64(from, min(base + j * THREADS + t, end - 1u));
	[[unroll]] for (uint side = 0u; side < 2u; side++) {
		uint first = side * (TILE / 2u);
		[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
			uint own = at[j] - first;
			if (own < TILE / 2u) {
				uvec2 halves = unpackUint2x32(values[j]);
				stage[own * 2u] = halves.x;
				stage[own * 2u + 1u] = halves.y;
			}
		}
		barrier();
		[[unroll]] for (uint j = 0u; j < ITEMS / 2u; j++) {
			uint own = j * THREADS + t;
			if (first + own < total)
				RQL_U64(out_at, to[side * (ITEMS / 2u) + j]) =
					packUint2x32(uvec2(stage[own * 2u], stage[own * 2u + 1u]));
		}
		barrier();
	}
}

// What unpartition.comp needs, into this tile's words.
void write_undo(uint64_t words, in uint at[ITEMS])
{
	uint t = rql_thread();
	uint partitions = 1u << args.bits;
	for (uint d = t; d <= partitions; d += THREADS) {
		RQL_U32(words, d * 2u) = counters[d];
		RQL_U32(words, d * 2u + 1u) = d < partitions ? moves[d] : 0u;
	}
	words += uint64_t(partitions + 1u) * 8ul;
	[[unroll]] for (uint j = 0u; j < ITEMS; j += 2u)
		RQL_U32(words, j / 2u * THREADS + t) = at[j] | at[j + 1u] << 16u;
}

void move_rows(uint base, uint end, uint parent)
{
	uint t = rql_thread();
	KEY keys[ITEMS];
	uint at[ITEMS]; // partition << 16 | rank, then the place in the tile's order
	uint to[ITEMS];
	uint values[ITEMS]; // of the next column
	for (uint d = t; d <= 1u << args.bits; d += THREADS)
		counters[d] = 0u;
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		values[j] = 0u;
	load_keys(base, end, keys);
	load_narrow(FIRST_COLUMN, base, end, values);
	barrier();
	uint kept = kept_rows(base, end, keys);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++) {
		uint partition_id = (kept >> j & 1u) != 0u ? partition_of(keys[j]) : 1u << args.bits;
		at[j] = partition_id << 16u | atomicAdd(counters[partition_id], 1u);
	}
	barrier();
	uint total = place_partitions(parent);
	[[unroll]] for (uint j = 0u; j < ITEMS; j++)
		at[j] = counters[at[j] >> 16u] + (at[j] & 0xffffu);
	if (args.undo != 0ul)
		write_undo(args.undo + uint64_t(base / TILE) * (RQL_UNDO_WORDS(args.bits, TILE) * 4ul), at);
	move_keys(keys, at, total, to);
	const bool moved = (SHAPE & (RQL_PARTITION_NARROW | RQL_PARTITION_WIDE)) != 0u;
	for (uint c = FIRST_COLUMN; moved && c < args.column_count; c++) {
		if (!is_wide(c)) {
			move_narrow(c, base, end, at, to, total, values);
			continue;
		}
		move_wide(RQL_U64(args.columns, c * RQL_COLUMN_WORDS), RQL_U64(args.columns, c * RQL_COLUMN_WORDS + 1u), base, at,
		          to, total, end);
		load_narrow(c + 1u, base, end, values);
	}
}

void main()
{
	uint64_t group = rql_group();
	bool alone = args.parents == 0ul; // all rows are of one parent
	uint rows = alone ? rql_rows(args.found, args.count) : parent_start(args.parent_count);
	if (group * args.chunk >= rows)
		return;
	uint first = uint(group) * args.chunk;
	uint end = rows - first < args.chunk ? rows : first + args.chunk;
	uint parent = alone ? 0u : parent_of(first);
	while (first < end) { // one call: functions are expanded where they are called
		uint stop = alone ? end : min(parent_start(parent + 1u), end);
		if (stop > first)
			move_rows(first, stop, parent);
		first = max(first, stop);
		parent++;
	}
}
