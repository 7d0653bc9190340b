// Which partition a key belongs to. Needs relation.glsl, and args with flags, base, shift, bits. PAIRED: a key has a value
// above it. BY_RANGE: is it by ranges of keys? A constant, since code for what is not asked for costs time.
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

// Of all passes together, cut to this pass's bits.
uint range_of(KEY key)
{
	uint shift = args.shift & 255u, below = args.shift >> 8u & 255u, above = args.shift >> 16u;
	uint64_t wide = uint64_t(hashed_of(key)), last = (1ul << args.bits + below + above) - 1ul;
	uint range = wide <= args.base ? 0u : uint(min(wide - args.base >> shift, last));
	return range >> below & (1u << args.bits) - 1u;
}

uint partition_of(KEY key)
{
	bool raw = (args.flags & RQL_ROWS_RAW) != 0u;
	if (BY_RANGE)
		return range_of(key);
#if PAIRED
	uint hash = raw ? hashed_of(key) : rql_mix(hashed_of(key));
#else
	uint hash = rql_hash(key, raw);
#endif
	return hash >> args.shift & (1u << args.bits) - 1u;
}
