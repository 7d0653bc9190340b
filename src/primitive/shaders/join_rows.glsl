// Writing the matches of ROWS rows a thread. A row's `hit` is the number of its matches << 16 | what nth_match finds them by.
// What lies beside the keys, the first column's values where they are paired, is at hand (`beside`).
// The kernel has nth_match(key, row, hit, k), the k-th one's slot, or MISS; build_value(column, from, flags, slot),
// row_flags() and column_flags(column).
#define ROWS 4u
uint nth_match(KEY key, uint row, uint hit, uint k);
uint64_t build_value(uint column, uint64_t from, uint flags, uint slot);

// Every row of the subgroup has one match or none: a column at a time, its reads under way together.
void write_single(in KEY key[ROWS], in uint hit[ROWS], in uint beside[ROWS], uint first, uint64_t place)
{
	uint t = rql_thread();
	uint to[ROWS], slot[ROWS];
	uint64_t room = args.capacity > place ? args.capacity - place : 0ul;
	uint before = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		bool is = hit[r] >= 0x10000u;
		uvec4 ballot = subgroupBallot(is);
		to[r] = before + subgroupBallotExclusiveBitCount(ballot);
		to[r] = is && to[r] < room ? to[r] : NONE;
		before += subgroupBallotBitCount(ballot);
		slot[r] = to[r] != NONE ? nth_match(key[r], first + r * THREADS + t, hit[r], 0u) : MISS;
	}
	if (args.keys_out != 0ul)
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (to[r] != NONE)
				RQL_KEY(args.keys_out, place + to[r]) = key[r];
	uint build_columns = row_flags() >> 8u & 255u;
	uint columns = build_columns + (row_flags() >> 16u & 255u);
	for (uint c = 0u; c < columns; c++) {
		uint64_t from = column_word(c, 0u);
		uint64_t out_at = column_word(c, 1u);
		uint flags = column_flags(c);
		if (out_at == 0ul)
			continue;
		if ((flags & RQL_COLUMN_WIDE) != 0u) {
			[[unroll]] for (uint r = 0u; r < ROWS; r++)
				if (to[r] != NONE)
					RQL_U64(out_at, place + to[r]) = c < build_columns
						? build_value(c, from, flags, slot[r])
						: RQL_U64(from, first + r * THREADS + t);
			continue;
		}
		uint values[ROWS];
		bool is_beside = (row_flags() & RQL_JOIN_PROBE_PAIRED) != 0u && c == build_columns;
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			uint row = first + r * THREADS + t;
			values[r] = 0u;
			if (to[r] != NONE)
				values[r] = c < build_columns ? uint(build_value(c, from, flags, slot[r]))
				            : is_beside       ? beside[r]
				            : from != 0ul     ? RQL_U32(from, row)
				                              : row;
		}
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (to[r] != NONE)
				RQL_U32(out_at, place + to[r]) = values[r];
	}
}

void write_row(KEY key, uint slot, uint row, uint64_t place)
{
	if (place >= args.capacity)
		return;
	if (args.keys_out != 0ul)
		RQL_KEY(args.keys_out, place) = key;
	uint build_columns = row_flags() >> 8u & 255u;
	uint columns = build_columns + (row_flags() >> 16u & 255u);
	for (uint c = 0u; c < columns; c++) {
		uint64_t from = column_word(c, 0u);
		uint64_t out_at = column_word(c, 1u);
		uint flags = column_flags(c);
		if (out_at != 0ul)
			write_value(out_at, flags, place,
			            c < build_columns ? build_value(c, from, flags, slot) : read_value(from, flags, row));
	}
}

KEY key_of_lane(KEY key, uint lane)
{
#if KEY_BITS == 64
	return packUint2x32(uvec2(subgroupShuffle(unpackUint2x32(key).x, lane), subgroupShuffle(unpackUint2x32(key).y, lane)));
#else
	return subgroupShuffle(key, lane);
#endif
}

// Rows of the output are dealt out to the subgroup's lanes, so that neighbours write side by side: each looks for the
// lane whose row it is by the prefix sums of their matches.
void write_many(KEY key, uint hit, uint row, uint64_t place)
{
	uint count = hit >> 16u;
	uint before = RQL_SUBGROUP_BEFORE(count);
	uint total = subgroupBroadcast(before + count, gl_SubgroupSize - 1u);
	for (uint base = 0u; base < total; base += gl_SubgroupSize) {
		uint o = min(base + gl_SubgroupInvocationID, total - 1u);
		uint lane = 0u;
		for (uint step = gl_SubgroupSize / 2u; step != 0u; step /= 2u) {
			uint other = subgroupShuffle(before, lane + step);
			lane += other <= o ? step : 0u;
		}
		KEY key_there = key_of_lane(key, lane);
		uint hit_there = subgroupShuffle(hit, lane);
		uint k = o - subgroupShuffle(before, lane);
		uint row_there = subgroupShuffle(row, lane);
		if (base + gl_SubgroupInvocationID < total)
			write_row(key_there, nth_match(key_there, row_there, hit_there, k), row_there, place + o);
	}
}

void write_rows(in KEY key[ROWS], in uint hit[ROWS], in uint beside[ROWS], uint first)
{
	uint mine = 0u;
	bool single = true;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		mine += hit[r] >> 16u;
		single = single && hit[r] < 0x20000u;
	}
	uint64_t place = reserve(mine);
	if (subgroupAll(single)) {
		write_single(key, hit, beside, first, place);
		return;
	}
	// A loop that is kept: its body is long. The rows' registers are picked by comparison.
	[[dont_unroll]] for (uint r = 0u; r < ROWS; r++) {
		KEY key_there = key[0];
		uint hit_there = hit[0];
		[[unroll]] for (uint k = 1u; k < ROWS; k++) {
			key_there = k == r ? key[k] : key_there;
			hit_there = k == r ? hit[k] : hit_there;
		}
		uint sum = subgroupAdd(hit_there >> 16u);
		if (sum != 0u)
			write_many(key_there, hit_there, first + r * THREADS + rql_thread(), place);
		place += sum;
	}
}
