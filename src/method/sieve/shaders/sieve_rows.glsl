// What a pass over vectors leaves of a block: its bitmap, or (LISTS) a list where it has few rows. The 32 lanes of a block
// are neighbours in the workgroup, and all of a workgroup's lanes come here.
//
// Floor, in bytes a block: 512 for a bitmap, 64 for a list.
#ifndef RQL_SIEVE_ROWS_GLSL
#define RQL_SIEVE_ROWS_GLSL
#include "method/rows_kernels.h"

layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer SieveRows { uvec4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer SieveListWord { uint v; };
const uint LIST_WORDS = RQL_ROWS_LIST_BYTES / 4u;
shared uint list_counts[LISTS ? gl_WorkGroupSize.x : 1u];                         // of each lane
shared uint list_totals[LISTS ? gl_WorkGroupSize.x / RQL_SIEVE_BLOCK_LANES : 1u]; // of each block
shared uint list_words[LISTS ? gl_WorkGroupSize.x / RQL_SIEVE_BLOCK_LANES * LIST_WORDS : 1u];

void wait()
{
	memoryBarrierShared();
	barrier();
}

// Number `at` of the list that begins at `words` of shared memory: two have a word together.
void list_put(const uint words, const uint at, const uint row)
{
	const uint shift = (at & 1u) * 16u;
	atomicAnd(list_words[words + at / 2u], row << shift | ~(0xffffu << shift));
}

// A lane's rows, those that the block's lanes before it have counted behind them.
void list_rows(const uint first, const uint words, const uvec4 rows)
{
	const uint lane = gl_LocalInvocationIndex - first;
	uint at = 0u;
	for (uint i = 0u; i < lane; i++)
		at += list_counts[first + i];
	[[unroll]] for (uint w = 0u; w < 4u; w++)
		for (uint left = rows[w]; left != 0u; left &= left - 1u)
			list_put(words, at++, lane * RQL_SIEVE_LANE_ROWS + w * 32u + uint(findLSB(left)));
}

// rows: of a lane, none where it is none of the segment's (live). bitmap: of the lane; lists: of its block.
void put_block(const uvec4 rows, const bool live, const uint64_t bitmap, const uint64_t lists, const uint64_t counts)
{
	const uint id = gl_LocalInvocationIndex, block = id / RQL_SIEVE_BLOCK_LANES, lane = id % RQL_SIEVE_BLOCK_LANES;
	const uint count = rows_in(rows), words = block * LIST_WORDS;
	list_counts[id] = count;
	if (lane == 0u)
		list_totals[block] = 0u;
	if (lane < LIST_WORDS)
		list_words[words + lane] = RQL_ROWS_LIST_END << 16 | RQL_ROWS_LIST_END;
	wait();
	if (count != 0u)
		atomicAdd(list_totals[block], count);
	wait();
	const uint total = list_totals[block];
	const bool full = total > RQL_ROWS_LIST_MOST;
	if (count != 0u && !full)
		list_rows(id - lane, words, rows);
	wait();
	if (live && lane < LIST_WORDS) {
		SieveListWord(lists + uint64_t(lane) * 4ul).v =
			full ? RQL_ROWS_LIST_BITMAP << 16 | RQL_ROWS_LIST_BITMAP : list_words[words + lane];
		note_bytes(4u);
	}
	if (live && full) {
		SieveRows(bitmap).v = rows;
		note_bytes(RQL_SIEVE_LANE_BYTES);
	}
	if (SIEVE_COUNTING && live && lane == 0u && total != 0u)
		atomicAdd(SieveCounts(counts).v[full ? RQL_SIEVE_COUNT_BITMAPS : RQL_SIEVE_COUNT_LISTS], 1ul);
}

// place: of the lane in the snapshot.
void put_rows(const uvec4 rows, const bool live, const uint64_t place, const uint64_t bitmaps, const uint64_t lists,
              const uint64_t counts)
{
	const uint64_t bitmap = bitmaps + place * RQL_SIEVE_LANE_BYTES;
	if (LISTS) {
		put_block(rows, live, bitmap, lists + place / RQL_SIEVE_BLOCK_LANES * RQL_ROWS_LIST_BYTES, counts);
	} else if (live) {
		SieveRows(bitmap).v = rows;
		note_bytes(RQL_SIEVE_LANE_BYTES);
	}
}
#endif
