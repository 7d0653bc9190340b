// What the kernels of a partition share: which partition a key belongs to.
uint digit_of(KEY key)
{
	uint last = (1u << args.bits) - 1u;
	if ((args.flags & RQL_ROWS_BY_RANGE) != 0u) {
		uint64_t wide = uint64_t(key);
		return wide <= args.base ? 0u : uint(min(wide - args.base >> args.shift, uint64_t(last)));
	}
	return rql_hash(key, (args.flags & RQL_ROWS_RAW) != 0u) >> args.shift & last;
}
