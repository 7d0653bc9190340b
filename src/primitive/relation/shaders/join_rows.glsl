// Writing the matches of ROWS rows a thread. A row's `hit` is the number of its matches << 16 | what nth_match finds them by.
// What lies beside the keys, the first column's values where they are paired, is at hand (`beside`).
// The kernel has marks_of(key, row, hit), what it knows of a row's matches, or 0; nth_match(key, row, hit, marks, k), the
// k-th one's slot, or MISS; build_value(column, from, flags, slot), row_flags() and column_flags(column); and OWN_PLACES: do
// subgroups take places, or the workgroup for all?
#define ROWS 4u
#ifndef MANY
uint marks_of(KEY key, uint row, uint hit);
#endif
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

// The last lane whose `before`, which ascends from 0 on, is n or less.
uint nth_lane(uint before, uint n)
{
	uint lane = 0u;
	for (uint step = gl_SubgroupSize / 2u; step != 0u; step /= 2u) {
		uint other = subgroupShuffle(before, lane + step);
		lane += other <= n ? step : 0u;
	}
	return lane;
}

#ifdef MANY
// The matches of a row lie side by side, and a team of lanes writes them: about as many lanes as rows have matches on average,
// so that few lanes are idle and neighbours write side by side. Rows without a match have no team.
void write_many(KEY key, uint hit, uint beside, uint row, uint64_t place)
{
	uint before = RQL_SUBGROUP_BEFORE(hit >> 16u);
	uint total = subgroupBroadcast(before + (hit >> 16u), gl_SubgroupSize - 1u), room = room_from(place);
	uvec4 matched = subgroupBallot(hit >= 0x10000u);
	uint rows = subgroupBallotBitCount(matched);
	uint lane = nth_lane(subgroupBallotExclusiveBitCount(matched), gl_SubgroupInvocationID);
	key = key_of_lane(key, lane);
	hit = subgroupShuffle(hit, lane);
	beside = subgroupShuffle(beside, lane);
	row = subgroupShuffle(row, lane);
	before = subgroupShuffle(before, lane);
	uint size_log2 = uint(findMSB(gl_SubgroupSize)), team_log2 = min(uint(findMSB(total / rows)), size_log2);
	uint teams_log2 = size_log2 - team_log2, own = gl_SubgroupInvocationID & (1u << team_log2) - 1u;
	for (uint base = 0u; base < rows; base += ROWS << teams_log2) {
		KEY keys_there[ROWS];
		uint hit_there[ROWS], rows_there[ROWS], beside_there[ROWS], before_there[ROWS], most = 0u;
		[[unroll]] for (uint r = 0u; r < ROWS; r++) {
			uint at = base + (r << teams_log2) + (gl_SubgroupInvocationID >> team_log2);
			lane = min(at, gl_SubgroupSize - 1u);
			keys_there[r] = key_of_lane(key, lane);
			hit_there[r] = subgroupShuffle(hit, lane);
			beside_there[r] = subgroupShuffle(beside, lane);
			rows_there[r] = subgroupShuffle(row, lane);
			before_there[r] = subgroupShuffle(before, lane);
			hit_there[r] = at < rows ? hit_there[r] : 0u;
			most = max(most, hit_there[r] >> 16u);
		}
		most = subgroupMax(most);
		for (uint done = 0u; done < most; done += 1u << team_log2) {
			uint slot[ROWS], to[ROWS], k = done + own;
			[[unroll]] for (uint r = 0u; r < ROWS; r++) {
				to[r] = before_there[r] + k;
				to[r] = k < hit_there[r] >> 16u && to[r] < room ? to[r] : NONE;
				slot[r] = nth_match(keys_there[r], rows_there[r], hit_there[r], 0u, k);
			}
			write_columns(keys_there, slot, rows_there, beside_there, to, place);
		}
	}
}

// Rows with a match that are no more than the subgroup's lanes become the first rows of these, so that they are written
// together. Gives the row's number.
uint gather_matched(inout KEY key[ROWS], inout uint hit[ROWS], inout uint beside[ROWS], uint first)
{
	uint own = gl_SubgroupInvocationID, begin = 0u, own_hit = 0u, own_beside = 0u, own_row = 0u;
	KEY own_key = NO_KEY;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		uvec4 matched = subgroupBallot(hit[r] >= 0x10000u);
		uint end = begin + subgroupBallotBitCount(matched), lane = nth_lane(begin + subgroupBallotExclusiveBitCount(matched), own);
		KEY key_there = key_of_lane(key[r], lane);
		uint hit_there = subgroupShuffle(hit[r], lane), beside_there = subgroupShuffle(beside[r], lane);
		if (own >= begin && own < end) {
			own_key = key_there;
			own_hit = hit_there;
			own_beside = beside_there;
			own_row = first + r * THREADS + rql_thread() - own + lane;
		}
		begin = end;
		hit[r] = 0u;
	}
	key[0] = own_key;
	hit[0] = own_hit;
	beside[0] = own_beside;
	return own_row;
}
#else
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
			uint o = min(own, total - 1u), lane = nth_lane(before, o);
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
#endif

void write_rows(in KEY key[ROWS], in uint hit[ROWS], in uint beside[ROWS], uint first)
{
	uint mine = 0u, matched = 0u, gathered = NONE;
	bool single = true;
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		mine += hit[r] >> 16u;
		matched += hit[r] >= 0x10000u ? 1u : 0u;
		single = single && hit[r] < 0x20000u;
	}
	uint64_t place = OWN_PLACES != 0u ? reserve_own(mine) : reserve(mine);
	if (subgroupAll(single)) {
		write_single(key, hit, beside, first, place);
		return;
	}
#ifdef MANY
	if (subgroupAdd(matched) <= gl_SubgroupSize)
		gathered = gather_matched(key, hit, beside, first);
#endif
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
			write_many(key_there, hit_there, beside_there, gathered != NONE ? gathered : first + r * THREADS + rql_thread(), place);
		place += sum;
	}
}
