/* Rivals over sorted keys in memory: binary search, interpolation, and a k-ary search tree in the keys' own memory. A
 * block of probes goes through each step side by side, so that a core waits for many reads at a time. */
#include <math.h>
#include <stdlib.h>

#include "bench/relation/lookup_cpu.h"
#include "method/index/forms/index_map.h"

#define LINE 64u
#define JUMPS 6u
#define NEAR 8.0 /* places: a gallop's first step, about a line */
#define BLOCK RQL_SEARCH_BLOCK

static uint64_t node_keys(const struct rql_searched *s)
{
	return LINE / (s->narrow ? 4 : 8);
}

/* ---- making ---- */

/* Which key in ascending order stands at a place of the tree, as in lookup_kary_build.comp (primitive/lookup). */
static uint64_t rank_of(const struct rql_searched *s, uint64_t place, uint64_t upper, uint64_t lowest)
{
	const uint64_t k = node_keys(s), node = place / k, in_node = place % k;
	uint64_t first = 0, nodes = 1;
	while (node >= first + nodes) {
		first += nodes;
		nodes *= k + 1;
	}
	if (first == upper)
		return (node - first) * (k + 1) + in_node;
	const uint64_t before = ((node - first) * (k + 1) + in_node + 1) * (lowest / nodes / (k + 1));
	const uint64_t below = s->count - upper * k;
	return before - 1 + (before * k < below ? before * k : below);
}

static void put(struct rql_searched *s, uint64_t place, uint64_t key)
{
	if (s->narrow)
		((uint32_t *)s->keys)[place] = (uint32_t)key;
	else
		((uint64_t *)s->keys)[place] = key;
}

static void fill(struct rql_searched *s, const struct rql_index_pair *pairs, uint64_t places)
{
	uint64_t upper = 0, lowest = 1;
	while (upper + lowest < places / node_keys(s)) {
		upper += lowest;
		lowest *= node_keys(s) + 1;
	}
	for (uint64_t place = 0; place < places; place++) {
		if (place >= s->count) {
			put(s, place, UINT64_MAX);
			continue;
		}
		const uint64_t from = s->way == RQL_SEARCH_KARY ? rank_of(s, place, upper, lowest) : place;
		put(s, place, pairs[from].key);
		s->rows[place] = pairs[from].row;
	}
}

rql_status rql_searched_make(enum rql_search_way way, bool narrow, const struct rql_index_pair *pairs, uint64_t count,
                             struct rql_searched *out, struct rql_error *err)
{
	struct rql_searched s = {.way = way, .narrow = narrow, .count = count};
	const uint64_t places = (count + node_keys(&s) - 1) / node_keys(&s) * node_keys(&s);
	const uint64_t bytes = places * (narrow ? 4 : 8);
	s.keys = aligned_alloc(LINE, bytes);
	s.rows = malloc(count * sizeof *s.rows);
	if (!s.keys || !s.rows) {
		rql_searched_free(&s);
		return rql_error_memory(err, bytes + count * sizeof *s.rows, "sorted keys");
	}
	fill(&s, pairs, places);
	s.slope = (double)count / ((double)(pairs[count - 1].key - pairs[0].key) + 1);
	*out = s;
	return RQL_OK;
}

void rql_searched_free(struct rql_searched *s)
{
	free(s->keys);
	free(s->rows);
}

/* ---- finding: `narrow` is a constant of the caller ---- */

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t key_at(const struct rql_searched *s, bool narrow, uint64_t place)
{
	return narrow ? ((const uint32_t *)s->keys)[place] : ((const uint64_t *)s->keys)[place];
}

INLINE void fetch(const struct rql_searched *s, bool narrow, uint64_t place)
{
	__builtin_prefetch((const char *)s->keys + place * (narrow ? 4 : 8));
}

/* Halves without branches. */
INLINE void halve(const struct rql_searched *s, bool narrow, const uint64_t *wanted, uint32_t n, uint64_t *places)
{
	for (uint32_t i = 0; i < n; i++)
		places[i] = 0;
	for (uint64_t left = s->count; left > 1; left -= left / 2)
		for (uint32_t i = 0; i < n; i++)
			places[i] += key_at(s, narrow, places[i] + left / 2 - 1) < wanted[i] ? left / 2 : 0;
	for (uint32_t i = 0; i < n; i++)
		places[i] += key_at(s, narrow, places[i]) < wanted[i];
}

/* What is known of a probe's place: primitive/lookup/shaders/lookup_interpolate.glsl tells the search. */
struct jumping {
	uint64_t low, high, at, last, last_key;
	double slope, step;
	bool jumped, before;
};

INLINE uint64_t bisect(const struct rql_searched *s, bool narrow, uint64_t low, uint64_t high, uint64_t wanted)
{
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		if (key_at(s, narrow, middle) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* From the place before which, or behind which, the answer is. */
INLINE uint64_t gallop(const struct rql_searched *s, bool narrow, const struct jumping *j, uint64_t wanted)
{
	uint64_t low = j->low, high = j->high;
	bool inside = false;
	for (uint64_t width = (uint64_t)NEAR; high - low > width && !inside; width *= 2) {
		const uint64_t at = j->before ? low + width - 1 : high - width;
		const bool before = key_at(s, narrow, at) < wanted;
		if (before)
			low = at + 1;
		else
			high = at;
		inside = before != j->before;
	}
	return bisect(s, narrow, low, high, wanted);
}

/* Looks where the probe is at, and says whether it jumps on. */
INLINE bool jump(const struct rql_searched *s, bool narrow, struct jumping *j, uint64_t wanted)
{
	const uint64_t there = key_at(s, narrow, j->at);
	j->before = there < wanted;
	if (j->jumped && there != j->last_key)
		j->slope = fabs((double)j->at - (double)j->last) / fabs((double)there - (double)j->last_key);
	j->jumped = true;
	j->last = j->at;
	j->last_key = there;
	j->step = (double)(j->before ? wanted - there : there - wanted) * j->slope;
	if (j->before)
		j->low = j->at + 1;
	else
		j->high = j->at;
	if (j->step < NEAR || j->low == j->high)
		return false;
	const double room = (double)(j->high - j->low);
	const uint64_t step = (uint64_t)(j->step < room ? j->step : room);
	j->at = j->before ? j->at + step : j->at - step;
	j->at = j->at < j->low ? j->low : j->at >= j->high ? j->high - 1 : j->at;
	fetch(s, narrow, j->at);
	return true;
}

INLINE void interpolate(const struct rql_searched *s, bool narrow, const uint64_t *wanted, uint32_t n, uint64_t *places)
{
	struct jumping jumping[BLOCK];
	const uint64_t least = key_at(s, narrow, 0);
	uint32_t left = (1u << n) - 1;
	for (uint32_t i = 0; i < n; i++) {
		const double guess = wanted[i] > least ? (double)(wanted[i] - least) * s->slope : 0;
		jumping[i] = (struct jumping){.high = s->count, .slope = s->slope};
		jumping[i].at = guess < (double)s->count ? (uint64_t)guess : s->count - 1;
		fetch(s, narrow, jumping[i].at);
	}
	for (uint32_t turn = 0; turn < JUMPS && left; turn++)
		for (uint32_t rest = left; rest; rest &= rest - 1) {
			const uint32_t i = (uint32_t)__builtin_ctz(rest);
			if (!jump(s, narrow, &jumping[i], wanted[i]))
				left &= ~(1u << i);
		}
	for (uint32_t i = 0; i < n; i++) {
		const struct jumping *j = &jumping[i];
		const bool near = j->step * j->step < (double)(j->high - j->low);
		places[i] = near ? gallop(s, narrow, j, wanted[i]) : bisect(s, narrow, j->low, j->high, wanted[i]);
	}
}

/* Keys of a node that are below this one; whole lines, so that the loops become a few instructions. */
INLINE uint64_t below_in(const struct rql_searched *s, bool narrow, uint64_t first, uint64_t wanted)
{
	const uint32_t *words = (const uint32_t *)s->keys + first, key = (uint32_t)wanted;
	const uint64_t *wide = (const uint64_t *)s->keys + first;
	uint32_t below = 0;
	uint64_t wide_below = 0;
	for (unsigned i = 0; narrow && i < LINE / 4; i++)
		below += words[i] < key;
	for (unsigned i = 0; !narrow && i < LINE / 8; i++)
		wide_below += wide[i] < wanted;
	return narrow ? below : wide_below;
}

/* Of equal keys the last one that is met is the first in their order. */
INLINE void descend(const struct rql_searched *s, bool narrow, const uint64_t *wanted, uint32_t n, uint64_t *places)
{
	const uint64_t k = LINE / (narrow ? 4 : 8);
	uint64_t first[BLOCK] = {0}; /* place of the node that is next */
	bool more = true;
	for (uint32_t i = 0; i < n; i++)
		places[i] = s->count;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < n; i++) {
			if (first[i] >= s->count)
				continue;
			const uint64_t below = below_in(s, narrow, first[i], wanted[i]), place = first[i] + below;
			if (below < k && place < s->count && key_at(s, narrow, place) == wanted[i])
				places[i] = place;
			first[i] = (first[i] / k * (k + 1) + below + 1) * k;
			fetch(s, narrow, first[i] < s->count ? first[i] : 0);
			more = true;
		}
	}
}

void rql_searched_find(const struct rql_searched *s, const uint64_t *keys, uint32_t n, uint64_t *places)
{
	switch (s->way) {
	case RQL_SEARCH_BINARY:
		if (s->narrow)
			halve(s, true, keys, n, places);
		else
			halve(s, false, keys, n, places);
		break;
	case RQL_SEARCH_INTERPOLATION:
		if (s->narrow)
			interpolate(s, true, keys, n, places);
		else
			interpolate(s, false, keys, n, places);
		break;
	case RQL_SEARCH_KARY:
		if (s->narrow)
			descend(s, true, keys, n, places);
		else
			descend(s, false, keys, n, places);
		break;
	}
}
