// Writing the matches of ROWS rows a thread. A row's `hit` is the number of its matches << 16 | what nth_match finds them by.
// What lies beside the keys, the first column's values where they are paired, is at hand (`beside`).
// The kernel has marks_of(key, row, hit), what it knows of a row's matches, or 0; nth_match(key, row, hit, marks, k), the
// k-th one's slot, or MISS; build_value(column, from, flags, slot), row_flags() and column_flags(column).
#define ROWS 4u
uint marks_of(KEY key, uint row, uint hit);
uint nth_match(KEY key, uint row, uint hit, uint marks, uint k);
uint64_t build_value(uint column, uint64_t from, uint flags, uint slot);

// Some rows of the output: a column at a time, its reads under way together. to: from `place` on; NONE: there is no such row.
void write_columns(in KEY key[ROWS], in uint slot[ROWS], in uint row[ROWS], in uint beside[ROWS], in uint to[ROWS],
                   uint64_t place)
{
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
					RQL_U64(out_at, place + to[r]) =
						c < build_columns ? build_value(c, from, flags, slot[r]) : RQL_U64(from, row[r]);
			continue;
		}
		uint values[ROWS];
		bool is_beside = (row_flags() & RQL_JOIN_PROBE_PAIRED) != 0u && c == build_columns;
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			values[r] = 0u;
			if (to[r] != NONE)
				values[r] = c < build_columns ? uint(build_value(c, from, flags, slot[r]))
				            : is_beside       ? beside[r]
				            : from != 0ul     ? RQL_U32(from, row[r])
				                              : row[r];
		}
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (to[r] != NONE)
				RQL_U32(out_at, place + to[r]) = values[r];
	}
}

uint room_from(uint64_t place)
{
	return args.capacity > place ? uint(min(args.capacity - place, uint64_t(NONE))) : 0u;
}

// Every row of the subgroup has one match or none.
void write_single(in KEY key[ROWS], in uint hit[ROWS], in uint beside[ROWS], uint first, uint64_t place)
{
	uint to[ROWS], slot[ROWS], row[ROWS];
	uint room = room_from(place), before = 0u;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		bool is = hit[r] >= 0x10000u;
		uvec4 ballot = subgroupBallot(is);
		to[r] = before + subgroupBallotExclusiveBitCount(ballot);
		to[r] = is && to[r] < room ? to[r] : NONE;
		before += subgroupBallotBitCount(ballot);
		row[r] = first + r * THREADS + rql_thread();
		slot[r] = to[r] != NONE ? nth_match(key[r], row[r], hit[r], 0u, 0u) : MISS;
	}
	write_columns(key, slot, row, beside, to, place);
}

KEY key_of_lane(KEY key, uint lane)
{
#if KEY_BITS == 64
	return packUint2x32(uvec2(subgroupShuffle(unpackUint2x32(key).x, lane), subgroupShuffle(unpackUint2x32(key).y, lane)));
#else
	return subgroupShuffle(key, lane);
#endif
}

// Rows of the output are dealt out to the subgroup's lanes, ROWS to each, so that neighbours write side by side: each looks
// for the lane whose row it is by the prefix sums of their matches.
void write_many(KEY key, uint hit, uint beside, uint row, uint64_t place)
{
	uint count = hit >> 16u;
	uint before = RQL_SUBGROUP_BEFORE(count);
	uint total = subgroupBroadcast(before + count, gl_SubgroupSize - 1u), room = room_from(place);
	// For few rows of the output no look at the keys is saved.
	uint marks = total > 2u * gl_SubgroupSize ? marks_of(key, row, hit) : 0u;
	for (uint base = 0u; base < total; base += ROWS * gl_SubgroupSize) {
		KEY keys_there[ROWS];
		uint slot[ROWS], rows_there[ROWS], beside_there[ROWS], to[ROWS];
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			uint own = base + r * gl_SubgroupSize + gl_SubgroupInvocationID;
			uint o = min(own, total - 1u), lane = 0u;
			for (uint step = gl_SubgroupSize / 2u; step != 0u; step /= 2u) {
				uint other = subgroupShuffle(before, lane + step);
				lane += other <= o ? step : 0u;
			}
			keys_there[r] = key_of_lane(key, lane);
			rows_there[r] = subgroupShuffle(row, lane);
			beside_there[r] = subgroupShuffle(beside, lane);
			uint hit_there = subgroupShuffle(hit, lane), marks_there = subgroupShuffle(marks, lane);
			uint k = o - subgroupShuffle(before, lane);
			to[r] = own < min(total, room) ? own : NONE;
			slot[r] = to[r] != NONE ? nth_match(keys_there[r], rows_there[r], hit_there, marks_there, k) : MISS;
		}
		write_columns(keys_there, slot, rows_there, beside_there, to, place);
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
		uint hit_there = hit[0], beside_there = beside[0];
		[[unroll]] for (uint k = 1u; k < ROWS; k++) {
			key_there = k == r ? key[k] : key_there;
			hit_there = k == r ? hit[k] : hit_there;
			beside_there = k == r ? beside[k] : beside_there;
		}
		uint sum = subgroupAdd(hit_there >> 16u);
		if (sum != 0u)
			write_many(key_there, hit_there, beside_there, first + r * THREADS + rql_thread(), place);
		place += sum;
	}
}
