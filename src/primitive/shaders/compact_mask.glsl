// The set entries of a tile of RQL_COMPACT_TILE as 16 bits per thread: entry 16 * t + b is bit b of thread t.
// FLAGS: 1 for uint32_t flags, 0 for a bitmap.
#if FLAGS
shared uint rql_masks[RQL_THREADS];
#endif

uint rql_tile_mask(uint64_t base)
{
	uint t = gl_LocalInvocationIndex;
	uint64_t left = args.count - base;
#if FLAGS
	// Coalesced: the threads read neighbours, and set bits of other threads' masks.
	rql_masks[t] = 0u;
	barrier();
	for (uint i = t; i < RQL_COMPACT_TILE && i < left; i += RQL_THREADS)
		if (RQL_U32(args.in_items, base + i) != 0u)
			atomicOr(rql_masks[i >> 4u], 1u << (i & 15u));
	barrier();
	uint mask = rql_masks[t];
	barrier();
	return mask;
#else
	uint64_t at = base + 16u * t;
	if (at >= args.count)
		return 0u;
	uint mask = RQL_U32(args.in_items, at >> 5u) >> (uint(at) & 16u) & 0xffffu;
	return left - 16u * t < 16ul ? bitfieldExtract(mask, 0, int(left - 16u * t)) : mask;
#endif
}
