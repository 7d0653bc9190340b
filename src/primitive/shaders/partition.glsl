// What the kernels of a partition share: which partition a key belongs to, and which parent a row. PAIRED: a
// key has a value above it.
#if PAIRED
#define HASHED uint
#else
#define HASHED KEY
#endif

HASHED hashed_of(KEY key)
{
#if PAIRED
	return unpackUint2x32(key).x;
#else
	return key;
#endif
}

uint digit_of(KEY key)
{
	uint last = (1u << args.bits) - 1u;
	bool raw = (args.flags & RQL_ROWS_RAW) != 0u;
#if PAIRED
	uint hash = raw ? hashed_of(key) : rql_mix(hashed_of(key));
#else
	if ((args.flags & RQL_ROWS_BY_RANGE) != 0u) {
		uint64_t wide = uint64_t(key);
		return wide <= args.base ? 0u : uint(min(wide - args.base >> args.shift, uint64_t(last)));
	}
	uint hash = rql_hash(key, raw);
#endif
	return hash >> args.shift & last;
}

uint parent_start(uint parent)
{
	return RQL_U32(args.parents, parent << args.parents_log2);
}

shared uint parent_found;
// The last parent that is not empty and begins at the row or before, by all threads together: the row is below the last
// one's end. Ends with a barrier.
uint parent_of(uint row)
{
	for (uint i = rql_thread(); i < args.parent_count; i += THREADS)
		if (parent_start(i) <= row && row < parent_start(i + 1u))
			parent_found = i;
	barrier();
	return parent_found;
}
