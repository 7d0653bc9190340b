// A batch of entries that update cgRX in nodes: they ascend, and so do their buckets.
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_cgrx_nodes_args args; };
#define NODES args.nodes
#include "primitive/rt/shaders/cgrx_nodes.glsl"

uint64_t entry_key(uint i)
{
	return uint64_t(RQL_KEY(args.keys, i));
}

uint entry_row(uint i)
{
	return RQL_U32(args.rows, i);
}

uint entry_bucket(uint i)
{
	return RQL_U32(args.buckets, i);
}

uint inserts_before(uint i)
{
	return RQL_U32(args.inserts, i);
}

bool entry_inserts(uint i)
{
	return inserts_before(i + 1u) != inserts_before(i);
}

bool entry_repeats(uint i)
{
	return i != 0u && entry_key(i - 1u) == entry_key(i) && entry_row(i - 1u) == entry_row(i);
}

// The first entry from `low` on whose bucket is not below.
uint entry_of_bucket(uint low, uint bucket)
{
	uint end = uint(args.count);
	while (low < end) {
		uint middle = low + (end - low) / 2u;
		if (entry_bucket(middle) < bucket)
			low = middle + 1u;
		else
			end = middle;
	}
	return low;
}

// A thread is the first one of its bucket's entries: what it has to do, and until where.
bool entry_is_first(uint i)
{
	return i == 0u || entry_bucket(i - 1u) != entry_bucket(i);
}

uint entries_end(uint i)
{
	return entry_of_bucket(i, entry_bucket(i) + 1u);
}

uint nodes_of(uint size)
{
	return max(1u, (size + NODE_KEYS - 1u) >> LOG2_NODE);
}
