/* Rows by the words of their keys (keys.h): a table for joins, numbers for groups. Many rows are split by their words first,
 * so that each part's table stays in the caches while it is filled, and every thread has parts of its own.
 *
 * What it must do for a row of a large build: read its word, write word and row into its part (12 bytes), read them again,
 * and touch a slot of 16 bytes in a cache: 10 to 20 ns on one thread. A look-up reads one line of 64 bytes of the table, the
 * lines of 64 rows on their way at once. */
#include "flow/keys/keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PART_ROWS 8192u /* of a part, about: 256 KiB of slots */
#define PARTS_MOST 1024u
#define AHEAD 32u /* rows whose slots are on their way */
#define FEW_ROWS 65536u /* so many rows are not split */

/* ---- splitting ---- */

struct splitting {
	const uint64_t *words, *none;
	uint64_t rows;
	unsigned shift, parts; /* a word's part is its leading bits, or its hash's */
	bool dense;
	uint64_t *counts; /* [morsel][part]: rows, then where the next one goes */
	uint64_t *part_rows; /* [parts + 1] */
	uint32_t *row;       /* rows of one part together, ascending, */
	uint64_t *word;      /* and their words: they would be a line of memory each if they were read where they lie */
};

static inline unsigned part_of(const struct splitting *s, uint64_t word)
{
	return s->parts == 1 ? 0 : (unsigned)((s->dense ? word : rql_key_hash(word)) >> s->shift);
}

static bool is_none(const uint64_t *none, uint64_t i)
{
	return none && rql_bit(none, i);
}

static rql_status count_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct splitting *s = state;
	uint64_t *counts = s->counts + first / RQL_MORSEL_ROWS * s->parts;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		counts[part_of(s, s->words[i])] += !is_none(s->none, i);
	return RQL_OK;
}

static rql_status scatter_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct splitting *s = state;
	uint64_t *counts = s->counts + first / RQL_MORSEL_ROWS * s->parts;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		if (is_none(s->none, i))
			continue;
		uint64_t at = counts[part_of(s, s->words[i])]++;
		s->row[at] = (uint32_t)i;
		s->word[at] = s->words[i];
	}
	return RQL_OK;
}

static rql_status split(struct rql_running *r, struct splitting *s)
{
	uint64_t morsels = (s->rows + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	RQL_TRY(RQL_ZEROED_SCRATCH(r, s->counts, morsels * s->parts));
	RQL_TRY(RQL_SCRATCH(r, s->part_rows, s->parts + UINT64_C(1)));
	RQL_TRY(RQL_SCRATCH(r, s->row, s->rows));
	RQL_TRY(RQL_SCRATCH(r, s->word, s->rows));
	RQL_TRY(rql_morsels_run(r, s->rows, count_morsel, s));
	rql_part_places(s->counts, morsels, s->parts, s->part_rows);
	return rql_morsels_run(r, s->rows, scatter_morsel, s);
}

/* 2^n parts of the 2^bits values that the leading bits are of. */
static unsigned part_bits_for(uint64_t rows, unsigned bits)
{
	unsigned n = 0;
	while (rows > FEW_ROWS && n < bits && (UINT64_C(1) << n) < PARTS_MOST && rows >> n > PART_ROWS)
		n++;
	return n;
}

/* ---- a table for joins ---- */

struct building {
	struct rql_key_table *t;
	struct splitting split;
	uint32_t *slot_of; /* [rows in parts]: in the region, or the word itself */
	_Atomic bool several; /* some word has more than one row */
};

static inline struct rql_key_slot *find_slot(const struct rql_key_region *region, uint64_t word, uint64_t hash)
{
	uint64_t at = hash & region->mask;
	while (region->slots[at].rows.count && region->slots[at].word != word)
		at = (at + 1) & region->mask;
	return &region->slots[at];
}

static inline struct rql_key_rows *rows_at(const struct rql_key_table *t, uint64_t part, uint32_t slot)
{
	return t->dense ? &t->dense[slot] : &t->regions[part].slots[slot].rows;
}

static rql_status insert_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct building *b = state;
	struct rql_key_table *t = b->t;
	bool several = false;
	(void)rows, (void)worker, (void)err;
	for (uint64_t i = b->split.part_rows[part]; i < b->split.part_rows[part + 1]; i++) {
		uint32_t row = b->split.row[i];
		uint64_t word = b->split.word[i];
		if (t->dense) {
			b->slot_of[i] = (uint32_t)word;
		} else {
			struct rql_key_slot *slot = find_slot(&t->regions[part], word, rql_key_hash(word));
			slot->word = word;
			b->slot_of[i] = (uint32_t)(slot - t->regions[part].slots);
		}
		struct rql_key_rows *of = rows_at(t, part, b->slot_of[i]);
		if (!of->count)
			of->first = row;
		several |= of->count++ != 0;
	}
	if (several)
		atomic_store_explicit(&b->several, true, memory_order_relaxed);
	return RQL_OK;
}

static uint64_t give_room(struct rql_key_rows *of, uint64_t next)
{
	if (of->count < 2)
		return next;
	of->first = (uint32_t)(next + of->count); /* behind its last row: they are put in from the last to the first */
	return next + of->count;
}

/* Rows of equal words next to each other, in their order. */
static rql_status gather_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct building *b = state;
	struct rql_key_table *t = b->t;
	uint64_t first = b->split.part_rows[part], next = first;
	(void)rows, (void)worker, (void)err;
	if (t->dense) {
		uint64_t from = b->split.parts == 1 ? 0 : part << b->split.shift;
		uint64_t to = b->split.parts == 1 ? t->dense_count : (part + 1) << b->split.shift;
		for (uint64_t s = from; s < to && s < t->dense_count; s++)
			next = give_room(&t->dense[s], next);
	} else {
		for (uint64_t s = 0; s <= t->regions[part].mask; s++)
			next = give_room(&t->regions[part].slots[s].rows, next);
	}
	for (uint64_t i = b->split.part_rows[part + 1]; i-- > first;) {
		struct rql_key_rows *of = rows_at(t, part, b->slot_of[i]);
		if (of->count > 1)
			t->rows[--of->first] = b->split.row[i];
	}
	return RQL_OK;
}

static rql_status make_regions(struct rql_running *r, struct building *b)
{
	struct rql_key_table *t = b->t;
	uint64_t all = 0, parts = b->split.parts;
	struct rql_key_slot *slots;
	if (!(t->regions = RQL_NEW_ARRAY(r->arena, struct rql_key_region, parts)))
		return rql_error_memory(r->err, 0, "a table of keys");
	for (uint64_t p = 0; p < parts; p++) {
		uint64_t count = b->split.part_rows[p + 1] - b->split.part_rows[p], size = 8;
		while (size < 2 * count)
			size *= 2;
		t->regions[p].mask = size - 1;
		all += size;
	}
	RQL_TRY(RQL_ZEROED_SCRATCH(r, slots, all));
	for (uint64_t p = 0; p < parts; p++) {
		t->regions[p].slots = slots;
		slots += t->regions[p].mask + 1;
	}
	return RQL_OK;
}

/* A table of all words that there may be, where most of it is used. */
#define DENSE_LEAST 4096u
#define DENSE_ROOM 8u /* slots for each row */

rql_status rql_key_table_make(struct rql_running *r, const struct rql_key_side *side, unsigned bits,
                              struct rql_key_table *out)
{
	uint64_t rows = side->set->rows;
	*out = (struct rql_key_table){0};
	struct building b = {.t = out};
	bool dense = bits < 31 && (UINT64_C(1) << bits) <= DENSE_ROOM * rows + DENSE_LEAST;
	unsigned part_bits = part_bits_for(rows, dense ? bits : 64);
	b.split = (struct splitting){.words = side->words,
	                             .none = side->none,
	                             .rows = rows,
	                             .dense = dense,
	                             .parts = 1u << part_bits,
	                             .shift = (dense ? bits : 64) - part_bits};
	RQL_TRY(split(r, &b.split));
	out->part_bits = part_bits;
	out->part_count = b.split.parts;
	if (dense) {
		out->dense_count = UINT64_C(1) << bits;
		RQL_TRY(RQL_ZEROED_SCRATCH(r, out->dense, out->dense_count));
	} else {
		RQL_TRY(make_regions(r, &b));
	}
	RQL_TRY(RQL_SCRATCH(r, b.slot_of, rows));
	RQL_TRY(rql_parts_run(r, b.split.parts, insert_part, &b));
	out->unique = !b.several;
	if (out->unique)
		return RQL_OK;
	RQL_TRY(RQL_SCRATCH(r, out->rows, rows));
	return rql_parts_run(r, b.split.parts, gather_part, &b);
}

static inline const struct rql_key_region *region_of(const struct rql_key_table *t, uint64_t hash)
{
	return &t->regions[t->part_bits ? hash >> (64 - t->part_bits) : 0];
}

void rql_key_table_find(const struct rql_key_table *t, const uint64_t *words, uint32_t n, struct rql_key_rows *out)
{
	if (t->dense) {
		for (uint32_t i = 0; i < n; i++) {
			__builtin_prefetch(&t->dense[words[i + AHEAD < n ? i + AHEAD : i]]);
			out[i] = t->dense[words[i]];
		}
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t later = rql_key_hash(words[i + AHEAD < n ? i + AHEAD : i]), hash = rql_key_hash(words[i]);
		const struct rql_key_region *region = region_of(t, later);
		__builtin_prefetch(&region->slots[later & region->mask]);
		out[i] = find_slot(region_of(t, hash), words[i], hash)->rows;
	}
}

void rql_key_table_each(const struct rql_key_table *t, void (*fn)(const struct rql_key_rows *rows, void *state), void *state)
{
	for (uint64_t w = 0; w < t->dense_count; w++)
		if (t->dense[w].count)
			fn(&t->dense[w], state);
	for (uint64_t p = 0; p < t->part_count && t->regions; p++)
		for (uint64_t s = 0; s <= t->regions[p].mask; s++)
			if (t->regions[p].slots[s].rows.count)
				fn(&t->regions[p].slots[s].rows, state);
}

/* ---- numbers for groups ---- */

struct grouping {
	struct rql_key_groups *g;
	struct splitting split;
	uint64_t *counts; /* [parts]: groups, then the first one's number */
	struct rql_running *r;
	struct group_slot **rooms; /* [workers] */
	uint64_t *room_slots;
	uint32_t *part_first; /* [rows]: first rows of a part's groups, from the part's first row on */
};
struct group_slot {
	uint64_t word;
	uint32_t number; /* from 1 on; 0: empty */
};

static rql_status number_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct grouping *g = state;
	uint64_t first = g->split.part_rows[part], last = g->split.part_rows[part + 1], size = 64;
	uint32_t count = 0;
	(void)rows;
	while (size < 2 * (last - first))
		size *= 2;
	if (g->room_slots[worker] < size) {
		free(g->rooms[worker]);
		g->room_slots[worker] = 0;
		if (!(g->rooms[worker] = malloc(size * sizeof **g->rooms)))
			return rql_error_memory(err, size * sizeof **g->rooms, "groups of rows");
		g->room_slots[worker] = size;
	}
	struct group_slot *slots = g->rooms[worker];
	memset(slots, 0, size * sizeof *slots);
	for (uint64_t i = first; i < last; i++) {
		uint64_t word = g->split.word[i], at = rql_key_hash(word) & (size - 1);
		while (slots[at].number && slots[at].word != word)
			at = (at + 1) & (size - 1);
		if (!slots[at].number) {
			slots[at] = (struct group_slot){word, ++count};
			g->part_first[first + count - 1] = g->split.row[i];
		}
		g->g->group_in_part[i] = slots[at].number - 1;
	}
	g->counts[part] = count;
	return RQL_OK;
}

/* From a number within the part to one among all. */
static rql_status place_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct grouping *g = state;
	uint64_t first = g->split.part_rows[part], last = g->split.part_rows[part + 1], base = g->counts[part];
	uint64_t count = (part + 1 < g->split.parts ? g->counts[part + 1] : g->g->count) - base;
	(void)rows, (void)worker, (void)err;
	for (uint64_t i = first; i < last; i++)
		g->g->group_in_part[i] += (uint32_t)base;
	if (count)
		memcpy(g->g->first + base, g->part_first + first, count * sizeof *g->g->first);
	return RQL_OK;
}

static rql_status number_groups(struct rql_running *r, struct grouping *g)
{
	unsigned threads = rql_running_threads(r);
	g->rooms = RQL_NEW_ARRAY(r->arena, struct group_slot *, threads);
	g->room_slots = RQL_NEW_ARRAY(r->arena, uint64_t, threads);
	if (!g->rooms || !g->room_slots)
		return rql_error_memory(r->err, 0, "groups of rows");
	rql_status status = rql_parts_run(r, g->split.parts, number_part, g);
	for (unsigned t = 0; t < threads; t++)
		free(g->rooms[t]);
	return status;
}

/* ---- few words: each its own number ---- */

#define FEW_BITS 14u

struct few {
	const uint64_t *words;
	uint64_t values;
	uint32_t **first; /* [workers][values]: the first row of each word and 1; 0: none */
	uint32_t *number; /* [values] */
	struct rql_key_groups *g;
};

static rql_status meet_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct few *f = state;
	uint32_t *met = f->first[worker];
	(void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		uint32_t *at = &met[f->words[i]];
		*at = !*at || *at > i ? (uint32_t)i + 1 : *at;
	}
	return RQL_OK;
}

static rql_status number_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct few *f = state;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		f->g->group[i] = f->number[f->words[i]];
	return RQL_OK;
}

static rql_status number_few(struct rql_running *r, const uint64_t *words, uint64_t rows, unsigned bits,
                             struct rql_key_groups *out)
{
	unsigned threads = rql_running_threads(r);
	struct few f = {.words = words, .values = UINT64_C(1) << bits, .g = out};
	if (!(f.first = RQL_NEW_ARRAY(r->arena, uint32_t *, threads)))
		return rql_error_memory(r->err, 0, "groups of rows");
	for (unsigned t = 0; t < threads; t++)
		RQL_TRY(RQL_ZEROED_SCRATCH(r, f.first[t], f.values));
	RQL_TRY(RQL_SCRATCH(r, f.number, f.values));
	RQL_TRY(RQL_SCRATCH(r, out->group, rows));
	RQL_TRY(RQL_ROOM(r, out->first, f.values < rows ? f.values : rows));
	RQL_TRY(rql_morsels_run(r, rows, meet_morsel, &f));
	for (uint64_t v = 0; v < f.values; v++) {
		uint32_t first = f.first[0][v];
		for (unsigned t = 1; t < threads; t++)
			if (f.first[t][v] && (!first || f.first[t][v] < first))
				first = f.first[t][v];
		f.number[v] = (uint32_t)out->count;
		if (first)
			out->first[out->count++] = first - 1;
	}
	return rql_morsels_run(r, rows, number_morsel, &f);
}

rql_status rql_key_groups_make(struct rql_running *r, const uint64_t *words, uint64_t rows, unsigned bits,
                               struct rql_key_groups *out)
{
	*out = (struct rql_key_groups){0};
	if (bits <= FEW_BITS && (UINT64_C(1) << bits) <= rows + 64)
		return number_few(r, words, rows, bits, out);
	struct grouping g = {.g = out, .r = r};
	unsigned part_bits = part_bits_for(rows, bits < 64 ? bits : 64);
	g.split = (struct splitting){.words = words, .rows = rows, .parts = 1u << part_bits, .shift = 64 - part_bits};
	RQL_TRY(split(r, &g.split));
	RQL_TRY(RQL_SCRATCH(r, out->group_in_part, rows));
	RQL_TRY(RQL_SCRATCH(r, g.part_first, rows));
	RQL_TRY(RQL_SCRATCH(r, g.counts, g.split.parts));
	RQL_TRY(number_groups(r, &g));
	for (unsigned p = 0; p < g.split.parts; p++) {
		uint64_t count = g.counts[p];
		g.counts[p] = out->count;
		out->count += count;
	}
	RQL_TRY(RQL_ROOM(r, out->first, out->count));
	RQL_TRY(rql_parts_run(r, g.split.parts, place_part, &g));
	out->part_count = g.split.parts;
	out->part_rows = g.split.part_rows;
	out->row = g.split.row;
	return RQL_OK;
}

struct spreading {
	const struct rql_key_groups *g;
	uint32_t *group;
};

static rql_status spread_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct spreading *s = state;
	(void)rows, (void)worker, (void)err;
	for (uint64_t i = s->g->part_rows[part]; i < s->g->part_rows[part + 1]; i++)
		s->group[s->g->row[i]] = s->g->group_in_part[i];
	return RQL_OK;
}

rql_status rql_key_groups_spread(struct rql_running *r, struct rql_key_groups *groups, uint64_t rows)
{
	struct spreading s = {.g = groups};
	if (groups->group)
		return RQL_OK;
	RQL_TRY(RQL_SCRATCH(r, s.group, rows));
	RQL_TRY(rql_parts_run(r, groups->part_count, spread_part, &s));
	groups->group = s.group;
	return RQL_OK;
}

rql_status rql_key_groups_of(struct rql_running *r, const struct rql_rowset *set, const struct rql_vector *keys,
                             uint32_t count, struct rql_key_groups *out)
{
	bool *equal = RQL_NEW_ARRAY(r->arena, bool, count);
	if (!equal)
		return rql_error_memory(r->err, 0, "groups of rows");
	memset(equal, 1, count);
	struct rql_keys words = {
		.columns = count, .nulls_equal = equal, .side_count = 1, .sides = {{.set = set, .vectors = keys}}};
	RQL_TRY(rql_keys_make(r, &words));
	return rql_key_groups_make(r, words.sides[0].words, set->rows, words.bits, out);
}
