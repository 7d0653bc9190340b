// A workgroup's accumulators, one for each slot of its table and copy: a copy's begin an odd number of places behind those
// of the copy before, so that they lie in different banks. A sum is of values that begin at 0: signed ones are moved by
// half of their range, which goes out again with the count. So a row adds two words of a 32-bit column (three of a 64-bit
// one), whatever its value: the low words, and a tally of 1 + the carry, count << 16 | the sum's top 16 bits. Before 2^16
// rows can have come a thread takes the tallies of its own slots into registers (hold_tallies). 64-bit atomics on shared
// memory are loops on some GPUs. Sums of reals are added by exchanges of 64 bits, over the least values, which such
// columns do not have.
#define SUM_WORDS (uint(VALUE_BITS) / 32u)
#define TALLY_ONE 0x10000u
#define TALLY_ROWS 0xffffu // at most, between two calls of hold_tallies
layout(constant_id = 3) const uint PLACES = 1025u; // accumulators: the slots times the copies
layout(constant_id = 4) const uint EXTREMES = 1025u; // PLACES, or 1 if no column needs `least` or `greatest`
layout(constant_id = 5) const uint HELD = 5u; // slots of a thread: (SLOTS + 1) divided by the threads, rounded up
shared uint sums[SUM_WORDS * PLACES];
shared uint tallies[PLACES];
shared VALUE least[EXTREMES]; // in unsigned order
shared VALUE greatest[EXTREMES];

// What a thread keeps of its slots: rql_thread() + k * THREADS.
struct held_words {
	uint count[RQL_GROUP_HELD_MOST], top[RQL_GROUP_HELD_MOST];
};

#ifdef REALS
// Complements, so that accumulators begin as 0.
void add_real_shared(uint place, uint64_t bits)
{
	uint64_t old = least[place], seen = ~old;
	while (seen != old) {
		seen = old;
		old = atomicCompSwap(least[place], seen, ~sum_of_reals(~seen, bits));
	}
}

void add_real_table(uint64_t at, uint64_t bits)
{
	uint64_t old = RQL_U64(at, 0), seen = ~old;
	while (seen != old) {
		seen = old;
		old = atomicCompSwap(RQL_U64(at, 0), seen, sum_of_reals(seen, bits));
	}
}
#endif

void clear_places()
{
	uint t = rql_thread();
	for (uint i = t; i < PLACES; i += THREADS)
		tallies[i] = 0u;
	for (uint i = t; i < EXTREMES; i += THREADS) {
		least[i] = ~VALUE(0);
		greatest[i] = VALUE(0);
	}
	for (uint i = t; i < SUM_WORDS * PLACES; i += THREADS)
		sums[i] = 0u;
}

// Adds to the low words; returns the carry out of them.
uint add_low(uint place, VALUE value)
{
#if VALUE_BITS == 64
	uvec2 halves = unpackUint2x32(value);
	uint old = atomicAdd(sums[place], halves.x);
	uint carry = old + halves.x < old ? 1u : 0u;
	uint middle = halves.y + carry;
	uint top = middle < carry ? 1u : 0u;
	old = atomicAdd(sums[PLACES + place], middle);
	return top + (old + middle < old ? 1u : 0u);
#else
	uint old = atomicAdd(sums[place], value);
	return old + value < old ? 1u : 0u;
#endif
}

// The rows with a bit in `present` to their places. Each step is one of all rows: so their reads and atomics are under
// way together, where a row after the other would wait for each.
void add_present(uint present, in uint place[ROWS], in VALUE value[ROWS], uint flags, bool counted)
{
	bool summed = (flags & RQL_GROUP_SUM) != 0u;
#ifdef REALS
	if (is_real_sum(flags)) {
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (IS(present, r) && value[r] != 0ul)
				add_real_shared(place[r], ~value[r]);
		summed = false;
		flags = 0u;
	}
#endif
	VALUE from_zero[ROWS], there[ROWS];
	uint tally[ROWS];
	[[unroll]] for (uint r = 0u; r < ROWS; r++) {
		from_zero[r] = moved(value[r], flags);
		tally[r] = TALLY_ONE;
	}
	if (summed)
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (IS(present, r))
				tally[r] += add_low(place[r], from_zero[r]);
	if (summed || counted)
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (IS(present, r))
				atomicAdd(tallies[place[r]], tally[r]);
	if ((flags & RQL_GROUP_MAX) != 0u) {
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			there[r] = greatest[place[r]];
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (IS(present, r) && from_zero[r] > there[r])
				atomicMax(greatest[place[r]], from_zero[r]);
	}
	if ((flags & RQL_GROUP_MIN) != 0u) {
#ifdef REALS
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			from_zero[r] = key_of_least(value[r], flags);
#else
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			from_zero[r] += least_step(flags);
#endif
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			there[r] = least[place[r]];
		[[unroll]] for (uint r = 0u; r < ROWS; r++)
			if (IS(present, r) && from_zero[r] < there[r])
				atomicMin(least[place[r]], from_zero[r]);
	}
}

// The tallies of all copies into registers. Between barriers.
void hold_tallies(inout held_words held)
{
	[[unroll]] for (uint k = 0u; k < RQL_GROUP_HELD_MOST; k++)
		if (k < HELD && rql_thread() + k * THREADS <= SLOTS)
			for (uint place = rql_thread() + k * THREADS; place < PLACES; place += SLOTS + 1u) {
				held.count[k] += tallies[place] >> 16u;
				held.top[k] += tallies[place] & 0xffffu;
				tallies[place] = 0u;
			}
}

// All copies of a thread's k-th slot together, after hold_tallies.
group_words gather(uint k, in held_words held, uint flags)
{
	group_words g = group_words(held.count[k], 0ul, 0ul, ~VALUE(0), VALUE(0));
	bool extremes = (flags & (RQL_GROUP_MIN | RQL_GROUP_MAX)) != 0u;
	for (uint place = rql_thread() + k * THREADS; place < PLACES; place += SLOTS + 1u) {
#ifdef REALS
		if (is_real_sum(flags)) {
			g.low = sum_of_reals(g.low, ~least[place]);
			continue;
		}
#endif
#if VALUE_BITS == 64
		uint64_t low = packUint2x32(uvec2(sums[place], sums[PLACES + place]));
#else
		uint64_t low = uint64_t(sums[place]);
#endif
		g.low += low;
		g.high += g.low < low ? 1ul : 0ul;
		if (extremes) {
			g.least = min(g.least, least[place]);
			g.greatest = max(g.greatest, greatest[place]);
		}
	}
	if (is_real_sum(flags))
		return g;
#if VALUE_BITS == 64
	g.high += uint64_t(held.top[k]);
#else
	g.low += uint64_t(held.top[k]) << 32u;
#endif
	if ((flags & RQL_GROUP_SIGNED) != 0u)
		move_back(g);
	return g;
}
