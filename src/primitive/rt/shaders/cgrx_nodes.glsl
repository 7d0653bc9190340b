// Buckets of cgRX in nodes (cgrx_nodes.h). Who includes it says where the header is: NODES. The place of an entry is its
// number in the bucket; the node that has it is named beside it.
#define LOG2_NODE LOG2_BUCKET
#define NODE_KEYS (1u << LOG2_NODE)
#define NODES_CHAIN LINES

uint64_t part_keys, part_rows, part_next, part_sizes, part_last_keys, part_last_rows;
uint buckets;

void nodes_open()
{
	part_keys = RQL_U64(NODES, RQL_NODES_KEYS);
	part_rows = RQL_U64(NODES, RQL_NODES_ROWS);
	part_next = RQL_U64(NODES, RQL_NODES_NEXT);
	part_sizes = RQL_U64(NODES, RQL_NODES_SIZES);
	part_last_keys = RQL_U64(NODES, RQL_NODES_LAST_KEYS);
	part_last_rows = RQL_U64(NODES, RQL_NODES_LAST_ROWS);
	buckets = uint(RQL_U64(NODES, RQL_NODES_BUCKETS));
}

uint64_t node_slot(uint node, uint at)
{
	return (uint64_t(node) << LOG2_NODE) + uint64_t(at & NODE_KEYS - 1u);
}

uint64_t node_key(uint node, uint at)
{
	return uint64_t(RQL_KEY(part_keys, node_slot(node, at)));
}

uint node_row(uint node, uint at)
{
	return RQL_U32(part_rows, node_slot(node, at));
}

uint node_next(uint node)
{
	return RQL_U32(part_next, node);
}

uint bucket_size(uint bucket)
{
	return RQL_U32(part_sizes, bucket);
}

bool comes_before(uint64_t key, uint row, uint64_t other, uint other_row)
{
	return key < other || key == other && row < other_row;
}

bool node_before(uint node, uint at, uint64_t key, uint row)
{
	return comes_before(node_key(node, at), node_row(node, at), key, row);
}

bool bucket_before(uint bucket, uint64_t key, uint row)
{
	return comes_before(uint64_t(RQL_KEY(part_last_keys, bucket)), RQL_U32(part_last_rows, bucket), key, row);
}

// The bucket of an entry, which is no earlier one than `bucket`: in steps that double. The last one has all that follow.
uint bucket_from(uint bucket, uint64_t key, uint row)
{
	uint last = buckets - 1u, low = min(bucket, last), high = low, jump = 1u;
	while (high < last && bucket_before(high, key, row)) {
		low = high + 1u;
		high = last - high > jump ? high + jump : last;
		jump = min(jump * 2u, 1u << 30u);
	}
	while (low < high) {
		uint middle = low + (high - low) / 2u;
		if (bucket_before(middle, key, row))
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

// The place of the first entry of the bucket that does not come before (key, row), or the bucket's size; its node, or the
// last one with entries.
uint nodes_find(uint bucket, uint64_t key, uint row, out uint node)
{
	uint size = bucket_size(bucket), at = 0u;
	node = bucket;
	while (at + NODE_KEYS < size && node_before(node, NODE_KEYS - 1u, key, row)) {
		node = node_next(node);
		at += NODE_KEYS;
	}
	uint low = at, high = min(at + NODE_KEYS, size);
	while (low < high) {
		uint middle = low + (high - low) / 2u;
		if (node_before(node, middle, key, row))
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}
