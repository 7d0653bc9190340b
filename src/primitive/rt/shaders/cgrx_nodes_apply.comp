#version 460
// A batch that was found to be right and to have room changes its buckets, each by one thread: what is deleted is closed
// up from the front, what is inserted is merged from behind. Floor: reads the batch, reads and writes once the entries
// behind a bucket's first change.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/rt.glsl"
#include "primitive/rt/shaders/cgrx_entries.glsl"

uint chain[RQL_NODES_CHAIN]; // the bucket's nodes

// The bucket gets the nodes that it needs: those that it has, then new ones.
void open_chain(uint bucket, uint nodes)
{
	chain[0] = bucket;
	for (uint n = 1u; n < nodes; n++) {
		uint next = node_next(chain[n - 1u]);
		if (next == RQL_NODES_NONE) {
			next = uint(atomicAdd(RQL_U64(args.nodes, RQL_NODES_USED), 1ul));
			RQL_U32(part_next, chain[n - 1u]) = next;
		}
		chain[n] = next;
	}
}

void put(uint at, uint64_t key, uint row)
{
	uint64_t slot = node_slot(chain[at >> LOG2_NODE], at);
	RQL_KEY(part_keys, slot) = KEY(key);
	RQL_U32(part_rows, slot) = row;
}

// Gives the entries that are left.
uint close_up(uint bucket, uint first, uint end, uint size)
{
	uint i = first, node;
	while (i < end && entry_inserts(i))
		i++;
	if (i == end)
		return size;
	uint to = nodes_find(bucket, entry_key(i), entry_row(i), node);
	for (uint from = to; from < size; from++) {
		uint64_t key = node_key(chain[from >> LOG2_NODE], from);
		uint row = node_row(chain[from >> LOG2_NODE], from);
		while (i < end && comes_before(entry_key(i), entry_row(i), key, row))
			i++;
		if (i < end && entry_key(i) == key && entry_row(i) == row)
			i++;
		else
			put(to++, key, row);
	}
	return to;
}

void merge(uint first, uint end, uint size, uint left)
{
	uint i = end;
	for (uint to = size; to > left;) { // as long as there are some to be inserted
		while (!entry_inserts(i - 1u))
			i--;
		uint64_t key = entry_key(i - 1u);
		uint row = entry_row(i - 1u);
		uint node = left != 0u ? chain[left - 1u >> LOG2_NODE] : 0u;
		if (left != 0u && !node_before(node, left - 1u, key, row)) {
			left--;
			put(--to, node_key(node, left), node_row(node, left));
		} else {
			i--;
			put(--to, key, row);
		}
	}
}

void main()
{
	uint64_t at = rql_group() * RQL_RT_THREADS + gl_LocalInvocationIndex;
	if (at >= args.count)
		return;
	uint i = uint(at);
	if (!entry_is_first(i))
		return;
	nodes_open();
	uint bucket = entry_bucket(i), end = entries_end(i), inserts = inserts_before(end) - inserts_before(i);
	uint before = bucket_size(bucket), after = before - (end - i - inserts) + inserts;
	open_chain(bucket, nodes_of(max(before, after)));
	merge(i, end, after, close_up(bucket, i, end, before));
	RQL_U32(part_sizes, bucket) = after;
}
