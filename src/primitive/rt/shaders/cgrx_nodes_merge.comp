#version 460
// All entries of the structure and of a batch as one ascending list, to build it anew: a thread an entry of the batch,
// then a thread a bucket. Each knows from counts where its entries go. Floor: reads and writes all entries once.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
#include "primitive/rt/shaders/cgrx_entries.glsl"

void put(uint to, uint64_t key, uint row)
{
	RQL_KEY(args.keys_out, to) = KEY(key);
	RQL_U32(args.rows_out, to) = row;
}

uint offset_of(uint bucket)
{
	return RQL_U32(args.offsets, bucket);
}

// Before it come the batch's inserted entries, and those of the structure less the batch's deleted ones. Of equal ones
// the structure's is deleted, and comes before.
void put_entry(uint i)
{
	if (!entry_inserts(i))
		return;
	uint node, bucket = entry_bucket(i), before = inserts_before(i), deleted = i - before;
	uint at = nodes_find(bucket, entry_key(i), entry_row(i), node) + (entry_repeats(i) ? 1u : 0u);
	put(before + offset_of(bucket) + at - deleted, entry_key(i), entry_row(i));
}

// The first of the batch's entries [low, end) that does not come before.
uint entry_from(uint low, uint end, uint64_t key, uint row)
{
	while (low < end) {
		uint middle = low + (end - low) / 2u;
		if (comes_before(entry_key(middle), entry_row(middle), key, row))
			low = middle + 1u;
		else
			end = middle;
	}
	return low;
}

void put_bucket(uint bucket)
{
	uint first = entry_of_bucket(0u, bucket), end = entry_of_bucket(first, bucket + 1u), node = bucket;
	uint size = bucket_size(bucket), offset = offset_of(bucket);
	for (uint at = 0u; at < size; at++) {
		if (at != 0u && (at & NODE_KEYS - 1u) == 0u)
			node = node_next(node);
		uint64_t key = node_key(node, at);
		uint row = node_row(node, at), i = entry_from(first, end, key, row);
		first = i;
		if (i < end && entry_key(i) == key && entry_row(i) == row) // it is deleted
			continue;
		uint inserted = inserts_before(i);
		put(offset + at + inserted - (i - inserted), key, row);
	}
}

void main()
{
	uint64_t i = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	nodes_open();
	if (i < args.count)
		put_entry(uint(i));
	else if (i - args.count < uint64_t(buckets))
		put_bucket(uint(i - args.count));
}
