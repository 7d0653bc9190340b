/* Groups that are many and mostly not there: a small hash table of each worker's, which is emptied into partitions by
 * hash when it is full, and one table of every partition at the end (V. Leis, P. Boncz, A. Kemper, T. Neumann:
 * Morsel-Driven Parallelism, SIGMOD 2014, section 4.4).
 *
 * Floor, for n rows that pass and g groups of w words (key and row): a look-up and w words read and written in the
 * second-level cache for every row; where groups do not come again while they are in the table, w words written and read
 * once more, in order, and a look-up in a partition's table, which fits that cache up to some ten million groups. A
 * table of all groups would wait for memory at every row instead. Partitions are merged where their groups lie.
 *
 * Groups lie in the order in which they came, a table of 32-bit numbers points to them: what is searched at random is
 * small, and what is handed on needs no closing up. */
#include "group/groups.h"

#include <stdlib.h>
#include "expr/expr.h"
#include "util/large.h"

#define AHEAD 12u                         /* rows between the prefetch of a place and its use */
#define TABLE_BYTES (UINT64_C(512) << 10) /* of groups in a worker's table */
#define ALONE_ENTRIES 16384u              /* fewer than these are merged by the caller: no partitions */

static uint32_t key_words(const struct rql_groups_layout *layout)
{
	return layout->wide ? 2 : 1;
}

static uint32_t entry_words(const struct rql_groups_layout *layout)
{
	return key_words(layout) + layout->row_words;
}

/* ---- memory of runs ---- */

#define BLOCK_BYTES ((uint64_t)8 << 20)

struct rql_groups_block {
	struct rql_groups_block *next;
	uint64_t used, bytes;
};

static void *carve(struct rql_groups_hash *h, uint64_t bytes)
{
	struct rql_groups_block *block = h->blocks;
	bytes = (bytes + 63) / 64 * 64;
	if (!block || block->used + bytes > block->bytes) {
		uint64_t size = (bytes + 64 + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
		block = rql_large_alloc(size);
		if (!block)
			return NULL;
		*block = (struct rql_groups_block){.next = h->blocks, .used = 64, .bytes = size};
		h->blocks = block;
	}
	void *at = (char *)block + block->used;
	block->used += bytes;
	return at;
}

static void free_blocks(struct rql_groups_hash *h)
{
	while (h->blocks) {
		struct rql_groups_block *next = h->blocks->next;
		rql_large_free(h->blocks);
		h->blocks = next;
	}
	h->runs = NULL;
}

/* ---- one table ---- */

static inline uint64_t hash_narrow(uint64_t group)
{
	uint64_t hash = group * UINT64_C(0x9e3779b97f4a7c15);
	return (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static inline uint64_t hash_wide(uint64_t low, uint64_t high)
{
	return hash_narrow(low ^ hash_narrow(high + UINT64_C(0x2545f4914f6cdd1d)));
}

static inline uint64_t hash_entry(const uint64_t *entry, bool wide)
{
	return wide ? hash_wide(entry[0], entry[1]) : hash_narrow(entry[0]);
}

/* Partitions are the hash's upper bits, places the bits below them. */
static inline uint64_t place_of(const struct rql_groups_hash *h, uint64_t hash)
{
	return hash << RQL_GROUPS_PART_BITS >> h->shift;
}

bool rql_groups_hash_init(struct rql_groups_hash *h, const struct rql_groups_layout *layout, uint64_t room)
{
	uint64_t places = 2;
	uint32_t bits = 1;
	for (; places < 2 * room; places *= 2)
		bits++;
	*h = (struct rql_groups_hash){.layout = layout, .places = places, .shift = 64 - bits, .room = room};
	h->place = calloc(places, sizeof(*h->place));
	h->entries = malloc(room * entry_words(layout) * sizeof(*h->entries));
	if (h->place && h->entries)
		return true;
	rql_groups_hash_free(h);
	return false;
}

void rql_groups_hash_free(struct rql_groups_hash *h)
{
	free_blocks(h);
	free(h->place);
	free(h->entries);
	h->place = NULL;
	h->entries = NULL;
	h->used = h->room = 0;
}

void rql_groups_hash_clear(struct rql_groups_hash *h)
{
	free_blocks(h);
	h->used = 0;
	memset(h->place, 0, h->places * sizeof(*h->place));
}

/* Twice the room. */
static bool grow(struct rql_groups_hash *h)
{
	uint64_t words = entry_words(h->layout), room = h->room * 2, places = h->places * 2;
	if (room >= UINT32_MAX)
		return false;
	uint32_t *place = calloc(places, sizeof(*place));
	uint64_t *entries = realloc(h->entries, room * words * sizeof(*entries));
	if (entries)
		h->entries = entries;
	if (!place || !entries) {
		free(place);
		return false;
	}
	free(h->place);
	h->place = place;
	h->places = places;
	h->room = room;
	h->shift--;
	for (uint64_t i = 0; i < h->used; i++) {
		uint64_t at = place_of(h, hash_entry(h->entries + i * words, h->layout->wide));
		while (place[at])
			at = (at + 1) & (places - 1);
		place[at] = (uint32_t)i + 1;
	}
	return true;
}

/* The group's entry; *made: it is new, and only its key is there. There must be room. */
static inline uint64_t *find(struct rql_groups_hash *h, uint64_t low, uint64_t high, uint64_t hash, uint64_t words,
                             bool wide, bool *made)
{
	uint64_t at = place_of(h, hash);
	uint32_t number;
	*made = false;
	while ((number = h->place[at])) {
		uint64_t *entry = h->entries + (number - 1) * words;
		if (entry[0] == low && (!wide || entry[1] == high))
			return entry;
		at = (at + 1) & (h->places - 1);
	}
	uint64_t *entry = h->entries + h->used * words;
	h->place[at] = (uint32_t)++h->used;
	entry[0] = low;
	if (wide)
		entry[1] = high;
	*made = true;
	return entry;
}

/* ---- a worker ---- */

/* All groups of the table go into a run, partition by partition. */
static bool spill(struct rql_groups_hash *h)
{
	uint64_t words = entry_words(h->layout), at[RQL_GROUPS_PARTS] = {0}, sum = 0;
	bool wide = h->layout->wide;
	if (!h->used)
		return true;
	struct rql_groups_part_run *run = carve(h, sizeof(*run) + h->used * words * sizeof(*h->entries));
	if (!run)
		return false;
	for (uint64_t i = 0; i < h->used; i++)
		at[hash_entry(h->entries + i * words, wide) >> (64 - RQL_GROUPS_PART_BITS)]++;
	for (uint32_t p = 0; p < RQL_GROUPS_PARTS; p++) {
		run->begin[p] = sum;
		sum += at[p];
		at[p] = run->begin[p];
	}
	run->begin[RQL_GROUPS_PARTS] = sum;
	for (uint64_t i = 0; i < h->used; i++) {
		const uint64_t *entry = h->entries + i * words;
		uint64_t *to = run->entries + at[hash_entry(entry, wide) >> (64 - RQL_GROUPS_PART_BITS)]++ * words;
		for (uint64_t w = 0; w < words; w++)
			to[w] = entry[w];
	}
	run->next = h->runs;
	h->runs = run;
	h->used = 0;
	memset(h->place, 0, h->places * sizeof(*h->place));
	return true;
}

bool rql_groups_hash_reserve(struct rql_groups_hash *h, uint64_t more)
{
	while (h->used + more > h->room)
		if (h->room * 2 * entry_words(h->layout) * sizeof(uint64_t) > TABLE_BYTES && h->room >= more) {
			if (!spill(h))
				return false;
		} else if (!grow(h)) {
			return false;
		}
	return true;
}

/* A new group begins as the template. */
static inline uint64_t *find_row(struct rql_groups_hash *h, uint64_t low, uint64_t high, uint64_t hash, uint64_t words,
                                 bool wide)
{
	const struct rql_groups_layout *layout = h->layout;
	bool made;
	uint64_t *row = find(h, low, high, hash, words, wide, &made) + (wide ? 2 : 1);
	if (made)
		for (uint32_t w = 0; w < layout->row_words; w++)
			row[w] = layout->row_template[w];
	return row;
}

uint64_t *rql_groups_hash_row(struct rql_groups_hash *h, uint64_t group)
{
	return find_row(h, group, 0, hash_narrow(group), entry_words(h->layout), false);
}

static inline __attribute__((always_inline)) void
find_rows(struct rql_groups_hash *h, const uint64_t *low, const uint64_t *high, uint32_t n, bool wide, uint64_t **rows)
{
	uint64_t hashes[RQL_VECTOR_ROWS], words = entry_words(h->layout);
	for (uint32_t i = 0; i < n; i++)
		hashes[i] = wide ? hash_wide(low[i], high[i]) : hash_narrow(low[i]);
	for (uint32_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(h->place + place_of(h, hashes[i + AHEAD]));
		uint64_t *row = find_row(h, low[i], wide ? high[i] : 0, hashes[i], words, wide);
		row[0]++;
		rows[i] = row;
	}
}

bool rql_groups_hash_rows(struct rql_groups_hash *h, const uint64_t *low, const uint64_t *high, uint32_t n, uint64_t **rows)
{
	if (!rql_groups_hash_reserve(h, n))
		return false;
	if (h->layout->wide)
		find_rows(h, low, high, n, true, rows);
	else
		find_rows(h, low, NULL, n, false, rows);
	return true;
}

/* ---- all workers ---- */

struct merging {
	struct rql_groups_hash *const *all;
	uint32_t count;
	struct rql_groups_part *parts; /* [RQL_GROUPS_PARTS] */
	_Atomic bool overflow, no_memory;
};

/* Adds n entries to those of h; false: out of memory. */
static bool absorb(struct rql_groups_hash *h, const uint64_t *entries, uint64_t n, bool *fits)
{
	const struct rql_groups_layout *layout = h->layout;
	uint64_t words = entry_words(layout), keys = key_words(layout);
	bool wide = layout->wide;
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t *from = entries + i * words;
		bool made;
		if (h->used == h->room && !grow(h))
			return false;
		uint64_t *to = find(h, from[0], wide ? from[1] : 0, hash_entry(from, wide), words, wide, &made);
		if (made)
			for (uint64_t w = keys; w < words; w++)
				to[w] = from[w];
		else
			*fits &= rql_states_add(layout->states, layout->state_count, to + keys, from + keys);
	}
	return true;
}

/* One of equal groups stays where it is, the others are added to it. */
static bool join_entries(struct merging *m, const struct rql_groups_part_run *run, uint64_t part, uint64_t **place,
                         uint32_t shift, struct rql_groups_part *into)
{
	const struct rql_groups_layout *layout = m->all[0]->layout;
	uint64_t words = entry_words(layout), keys = key_words(layout), mask = (UINT64_MAX >> shift);
	bool wide = layout->wide, fits = true;
	for (uint64_t i = run->begin[part]; i < run->begin[part + 1]; i++) {
		uint64_t *entry = (uint64_t *)run->entries + i * words, *other;
		uint64_t at = hash_entry(entry, wide) << RQL_GROUPS_PART_BITS >> shift;
		while ((other = place[at]) && (other[0] != entry[0] || (wide && other[1] != entry[1])))
			at = (at + 1) & mask;
		if (other) {
			fits &= rql_states_add(layout->states, layout->state_count, other + keys, entry + keys);
		} else {
			place[at] = entry;
			into->rows[into->count++] = entry + keys;
		}
	}
	return fits;
}

static void merge_part(void *state, uint64_t index, unsigned worker)
{
	struct merging *m = state;
	struct rql_groups_part *into = &m->parts[index];
	uint64_t most = 0, places = 2;
	uint32_t shift = 63;
	(void)worker;
	for (uint32_t g = 0; g < m->count; g++)
		for (const struct rql_groups_part_run *run = m->all[g]->runs; run; run = run->next)
			most += run->begin[index + 1] - run->begin[index];
	for (; places < 2 * most; places *= 2)
		shift--;
	uint64_t **place = calloc(places, sizeof(uint64_t *));
	into->rows = malloc((most + 1) * sizeof(const uint64_t *));
	if (!place || !into->rows) {
		m->no_memory = true;
		free(place);
		return;
	}
	for (uint32_t g = 0; g < m->count; g++)
		for (const struct rql_groups_part_run *run = m->all[g]->runs; run; run = run->next)
			if (!join_entries(m, run, index, place, shift, into))
				m->overflow = true;
	free(place);
}

rql_status rql_groups_hash_merge(struct rql_groups_hash *const *all, uint32_t count, struct rql_pool *pool,
                               struct rql_groups_part **parts, struct rql_error *err)
{
	struct merging m = {.all = all, .count = count};
	uint64_t used = 0;
	bool spilled = false, fits = true;
	*parts = NULL;
	for (uint32_t g = 0; g < count; g++) {
		used += all[g]->used;
		spilled |= all[g]->runs != NULL;
	}
	if (!spilled && (count == 1 || used <= ALONE_ENTRIES)) {
		for (uint32_t g = 1; g < count; g++)
			if (!absorb(all[0], all[g]->entries, all[g]->used, &fits))
				return rql_error_memory(err, used * 64, "merging groups");
		m.overflow = !fits;
	} else {
		for (uint32_t g = 0; g < count; g++)
			if (!spill(all[g]))
				return rql_error_memory(err, used * 64, "merging groups");
		m.parts = calloc(RQL_GROUPS_PARTS, sizeof(*m.parts));
		if (!m.parts)
			return rql_error_memory(err, RQL_GROUPS_PARTS * sizeof(*m.parts), "merging groups");
		rql_pool_run(pool, RQL_GROUPS_PARTS, merge_part, &m);
		*parts = m.parts;
		if (m.no_memory)
			return rql_error_memory(err, used * 64, "merging groups");
	}
	if (m.overflow)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum does not fit 128 bits");
	return RQL_OK;
}

void rql_groups_hash_free_parts(struct rql_groups_part *parts)
{
	for (uint32_t p = 0; parts && p < RQL_GROUPS_PARTS; p++)
		free(parts[p].rows);
	free(parts);
}
