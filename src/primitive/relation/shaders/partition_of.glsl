// Which partition a key belongs to. Needs relation.glsl, and args with flags, base, shift, bits. PAIRED: a key has a value
// above it.
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

uint partition_of(KEY key)
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
