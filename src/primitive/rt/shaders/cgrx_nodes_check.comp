#version 460
// May a batch be applied? A thread an entry: is it there as it must be, and, of a bucket's first one, does the bucket
// stay short enough, and how many nodes are missing? Nothing is changed. Floor: reads the batch, and of each bucket that
// it meets the chain up to the entry.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
#include "primitive/rt/shaders/cgrx_entries.glsl"

bool is_there(uint i)
{
	uint bucket = entry_bucket(i), node, at = nodes_find(bucket, entry_key(i), entry_row(i), node);
	return at < bucket_size(bucket) && node_key(node, at) == entry_key(i) && node_row(node, at) == entry_row(i);
}

// Rows come once: what is deleted is there and is deleted once. What is inserted is not, or has just been deleted.
bool is_right(uint i)
{
	bool inserts = entry_inserts(i);
	if (entry_repeats(i))
		return inserts && !entry_inserts(i - 1u);
	return is_there(i) != inserts;
}

void check_bucket(uint i)
{
	uint bucket = entry_bucket(i), end = entries_end(i), inserts = inserts_before(end) - inserts_before(i);
	uint size = bucket_size(bucket), deletes = end - i - inserts, node = bucket, has = 1u;
	if (deletes > size) // of entries that are not there
		return;
	uint64_t wants = (uint64_t(size - deletes) + uint64_t(inserts) + uint64_t(NODE_KEYS - 1u)) >> LOG2_NODE;
	if (wants > uint64_t(NODES_CHAIN)) {
		atomicAdd(RQL_U64(args.state, RQL_NODES_LONG), 1ul);
		return;
	}
	for (; uint64_t(has) < wants && node_next(node) != RQL_NODES_NONE; has++)
		node = node_next(node);
	if (uint64_t(has) < wants)
		atomicAdd(RQL_U64(args.state, RQL_NODES_WANTED), wants - uint64_t(has));
}

void main()
{
	uint64_t i = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	nodes_open();
	if (!is_right(uint(i)))
		atomicAdd(RQL_U64(args.state, RQL_NODES_WRONG), 1ul);
	if (entry_is_first(uint(i)))
		check_bucket(uint(i));
}
