// A build side in order: its partitions' rows lie by tables of SLOTS rows, each table's by buckets, and a bucket's head is
// where it begins in the table, and above it, 16 bits each, where it ends. The first table of partition p has number p;
// another one, whose first row is `begin`, partitions + begin / SLOTS: a partition's are SLOTS apart, and so no two meet.
layout(constant_id = 2) const uint SLOTS = 2048u;   // rows of a table
layout(constant_id = 3) const uint BUCKETS = 1024u; // a power of two

uint bucket_of(KEY key)
{
	return rql_hash(key, (args.flags >> 24u & RQL_ROWS_RAW) != 0u) & (BUCKETS - 1u);
}

// Word of a bucket's head.
uint64_t head_at(uint partition_id, uint first, uint begin, uint bucket)
{
	uint table = begin == first ? partition_id : (1u << args.partitions_log2) + begin / SLOTS;
	return uint64_t(table) * BUCKETS + bucket;
}
