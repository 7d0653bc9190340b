/* Rows in the order of a value: see the header.
 *
 * What it must do for a row of many: its place (8 bytes), place and row into one of up to 2,048 parts (12 bytes), and a radix
 * sort of the part within the caches: some 30 ns on one thread. A search reads a step and one or two lines of places. */
#include "flow/join/sorted.h"

#include <stdatomic.h>
#include <string.h>
#include "flow/join/range_places.h"
#include "util/sort.h"

#define FEW_ROWS 48u       /* sorted by insertion */
#define PART_ROWS 8192u    /* about */
#define PART_BITS_MOST 11u
#define STEPS_FROM 4096u   /* rows */
#define GROUPS_AT_ONCE 256u

/* Packed, so that a part's items are in a cache. */
struct __attribute__((packed)) item {
	uint64_t place;
	uint32_t row;
};

/* ---- values ---- */

struct valuing {
	const struct rql_range_places *of;
	const struct rql_vector *value;
	const struct rql_key_side *side;
	uint64_t *places;
};

static rql_status value_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct valuing *v = state;
	struct rql_place_room room;
	uint32_t numbers[RQL_VECTOR_ROWS];
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(at, first + rows);
		const uint32_t *list = rql_rowset_rows(v->side->set, at, n, numbers);
		const uint64_t *valid = rql_point_places(v->of, v->value, list, n, &room, v->places + at);
		for (uint32_t w = 0; w < (n + 63) / 64 && valid; w++)
			v->side->none[at / 64 + w] |= ~valid[w] & rql_bit_mask(n - w * 64);
	}
	return RQL_OK;
}

rql_status rql_sorted_values(struct rql_running *r, const struct rql_range_places *of, const struct rql_vector *value,
                             struct rql_key_side *side, struct rql_sorted *out)
{
	*out = (struct rql_sorted){0};
	RQL_TRY(RQL_SCRATCH(r, out->place_of, side->set->rows + RQL_VECTOR_ROWS));
	if (rql_vector_nullable(value) && !side->none)
		RQL_TRY(RQL_ZEROED_SCRATCH(r, side->none, (side->set->rows + 63) / 64));
	struct valuing v = {of, value, side, out->place_of};
	return rql_morsels_run(r, side->set->rows, value_morsel, &v);
}

/* ---- a run of items ---- */

static void insert_sort(struct item *items, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		struct item item = items[i];
		uint64_t at = i;
		for (; at && items[at - 1].place > item.place; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

static bool ascends(const struct item *items, uint64_t count)
{
	uint64_t i = 1;
	while (i < count && items[i - 1].place <= items[i].place)
		i++;
	return i >= count;
}

/* Items of equal places stay in their order. */
static void sort_run(struct item *items, struct item *spare, uint64_t count, uint64_t *places, uint32_t *rows)
{
	const struct item *sorted = items;
	if (count < FEW_ROWS)
		insert_sort(items, count);
	else if (!ascends(items, count))
		sorted = rql_sort_keyed(items, spare, count, sizeof *items, offsetof(struct item, place));
	for (uint64_t i = 0; i < count; i++) {
		places[i] = sorted[i].place;
		rows[i] = sorted[i].row;
	}
}

struct sorting {
	struct rql_running *r;
	const struct rql_key_side *side;
	struct rql_sorted *s;
	struct item *items, *spare; /* by position */
	uint64_t *places;
	uint32_t *rows;
	/* Without keys: parts by the leading bits. */
	struct range {
		uint64_t least, greatest, count;
		bool ascends;
		char room[32];
	} *ranges; /* of morsels */
	unsigned shift;
	uint64_t parts, *counts, *part_rows; /* [morsel][part]: rows, then where the next one goes; [parts + 1] */
	/* With keys. */
	struct rql_key_rows *groups;
	uint64_t group_count;
};

static rql_status make_items(struct sorting *s, uint64_t count)
{
	RQL_TRY(RQL_SCRATCH(s->r, s->items, count));
	RQL_TRY(RQL_SCRATCH(s->r, s->spare, count));
	return RQL_SCRATCH(s->r, s->places, count);
}

/* ---- without keys ---- */

static rql_status measure_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct sorting *s = state;
	const uint64_t *place = s->s->place_of;
	struct range range = {UINT64_MAX, 0, 0, true, {0}};
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		if (rql_key_is_none(s->side, i))
			continue;
		range.ascends = range.ascends && (!range.count || place[i] >= range.greatest);
		range.least = place[i] < range.least ? place[i] : range.least;
		range.greatest = place[i] > range.greatest ? place[i] : range.greatest;
		range.count++;
	}
	s->ranges[first / RQL_MORSEL_ROWS] = range;
	return RQL_OK;
}

static uint64_t part_of(const struct sorting *s, uint64_t place)
{
	return (place - s->s->least) >> s->shift;
}

static rql_status count_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct sorting *s = state;
	uint64_t *counts = s->counts + first / RQL_MORSEL_ROWS * s->parts;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		if (!rql_key_is_none(s->side, i))
			counts[part_of(s, s->s->place_of[i])]++;
	return RQL_OK;
}

static rql_status scatter_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct sorting *s = state;
	uint64_t *counts = s->counts + first / RQL_MORSEL_ROWS * s->parts;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		if (!rql_key_is_none(s->side, i))
			s->items[counts[part_of(s, s->s->place_of[i])]++] = (struct item){s->s->place_of[i], (uint32_t)i};
	return RQL_OK;
}

static rql_status sort_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct sorting *s = state;
	uint64_t first = s->part_rows[part];
	(void)rows, (void)worker, (void)err;
	sort_run(s->items + first, s->spare + first, s->part_rows[part + 1] - first, s->places + first, s->rows + first);
	return RQL_OK;
}

static unsigned bits_of(uint64_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

static rql_status sort_parts(struct sorting *s, uint64_t morsels, uint64_t greatest)
{
	uint64_t set_rows = s->side->set->rows, count = s->s->all.count;
	unsigned bits = bits_of(greatest - s->s->least), part_bits = bits_of(count / PART_ROWS);
	part_bits = part_bits > PART_BITS_MOST ? PART_BITS_MOST : part_bits ? part_bits : 1; /* no word is shifted by 64 */
	s->shift = bits > part_bits ? bits - part_bits : 0;
	s->parts = part_of(s, greatest) + 1;
	RQL_TRY(make_items(s, count));
	RQL_TRY(RQL_SCRATCH(s->r, s->rows, count));
	RQL_TRY(RQL_ZEROED_SCRATCH(s->r, s->counts, morsels * s->parts));
	RQL_TRY(RQL_SCRATCH(s->r, s->part_rows, s->parts + 1));
	RQL_TRY(rql_morsels_run(s->r, set_rows, count_morsel, s));
	rql_part_places(s->counts, morsels, s->parts, s->part_rows);
	RQL_TRY(rql_morsels_run(s->r, set_rows, scatter_morsel, s));
	RQL_TRY(rql_parts_run(s->r, s->parts, sort_part, s));
	s->s->places = s->places;
	s->s->rows = s->rows;
	return RQL_OK;
}

/* The rows are in order already, as those of a log are. */
static rql_status keep_order(struct sorting *s)
{
	RQL_TRY(RQL_SCRATCH(s->r, s->rows, s->s->all.count));
	for (uint32_t i = 0; i < s->s->all.count; i++)
		s->rows[i] = i;
	s->s->rows = s->rows;
	s->s->places = s->s->place_of;
	return RQL_OK;
}

/* One step for some four rows. */
static rql_status make_steps(struct sorting *s, uint64_t greatest)
{
	struct rql_sorted *of = s->s;
	uint64_t next = 0, count = of->all.count;
	if (count < STEPS_FROM)
		return RQL_OK;
	unsigned bits = bits_of(greatest - of->least), step_bits = bits_of(count) - 2;
	of->shift = bits > step_bits ? bits - step_bits : 0;
	of->last_step = (greatest - of->least) >> of->shift;
	RQL_TRY(RQL_SCRATCH(s->r, of->steps, of->last_step + 2));
	for (uint64_t i = 0; i < count; i++)
		for (uint64_t step = (of->places[i] - of->least) >> of->shift; next <= step;)
			of->steps[next++] = (uint32_t)i;
	of->steps[next] = (uint32_t)count;
	return RQL_OK;
}

static rql_status sort_all(struct sorting *s)
{
	uint64_t rows = s->side->set->rows, morsels = (rows + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS, greatest = 0, count = 0;
	bool in_order = true;
	RQL_TRY(RQL_SCRATCH(s->r, s->ranges, morsels));
	RQL_TRY(rql_morsels_run(s->r, rows, measure_morsel, s));
	s->s->least = UINT64_MAX;
	for (uint64_t m = 0; m < morsels; m++) {
		const struct range *range = &s->ranges[m];
		if (!range->count)
			continue;
		in_order = in_order && range->ascends && (!count || range->least >= greatest);
		s->s->least = range->least < s->s->least ? range->least : s->s->least;
		greatest = range->greatest > greatest ? range->greatest : greatest;
		count += range->count;
	}
	s->s->all = (struct rql_key_rows){0, (uint32_t)count};
	if (!count)
		return RQL_OK;
	RQL_TRY(in_order && count == rows ? keep_order(s) : sort_parts(s, morsels, greatest));
	if (count == 1)
		s->s->all.first = s->s->rows[0];
	return make_steps(s, greatest);
}

/* ---- with keys ---- */

static void add_group(const struct rql_key_rows *rows, void *state)
{
	struct sorting *s = state;
	if (rows->count > 1)
		s->groups[s->group_count++] = *rows;
}

static rql_status sort_groups(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct sorting *s = state;
	uint64_t from = part * GROUPS_AT_ONCE, to = from + GROUPS_AT_ONCE < s->group_count ? from + GROUPS_AT_ONCE : s->group_count;
	(void)rows, (void)worker, (void)err;
	for (uint64_t g = from; g < to; g++) {
		uint64_t first = s->groups[g].first, count = s->groups[g].count;
		for (uint64_t i = first; i < first + count; i++)
			s->items[i] = (struct item){s->s->place_of[s->rows[i]], s->rows[i]};
		sort_run(s->items + first, s->spare + first, count, s->places + first, s->rows + first);
	}
	return RQL_OK;
}

static rql_status sort_by_keys(struct sorting *s, struct rql_key_table *table)
{
	uint64_t rows = s->side->set->rows;
	s->rows = table->rows;
	if (table->unique)
		return RQL_OK;
	RQL_TRY(make_items(s, rows));
	RQL_TRY(RQL_SCRATCH(s->r, s->groups, rows / 2 + 1));
	rql_key_table_each(table, add_group, s);
	RQL_TRY(rql_parts_run(s->r, (s->group_count + GROUPS_AT_ONCE - 1) / GROUPS_AT_ONCE, sort_groups, s));
	s->s->places = s->places;
	s->s->rows = s->rows;
	return RQL_OK;
}

rql_status rql_sorted_make(struct rql_running *r, const struct rql_key_side *side, struct rql_key_table *table,
                           struct rql_sorted *out)
{
	struct sorting s = {.r = r, .side = side, .s = out};
	return table ? sort_by_keys(&s, table) : sort_all(&s);
}

/* ---- searching ---- */

uint32_t rql_sorted_find(const struct rql_sorted *s, struct rql_key_rows of, uint64_t place, bool or_equal)
{
	uint32_t first = of.first, count = of.count;
	if (or_equal && place++ == UINT64_MAX)
		return first + count;
	if (s->steps) {
		uint64_t step = rql_sorted_step(s, place);
		first = s->steps[step];
		count = s->steps[step + 1] - first;
	}
	while (count) { /* those below `first` are below the place */
		uint32_t half = count / 2;
		bool below = s->places[first + half] < place;
		first += below ? half + 1 : 0;
		count = below ? count - half - 1 : half;
	}
	return first;
}

void rql_sorted_find_each(const struct rql_sorted *s, uint32_t n, const struct rql_key_rows *of, const uint64_t *places,
                          bool or_equal, uint32_t *out)
{
	uint64_t place[RQL_VECTOR_ROWS];
	uint32_t left[RQL_VECTOR_ROWS], most = 0;
	for (uint32_t i = 0; i < n; i++) {
		const bool beyond = or_equal && places[i] == UINT64_MAX;
		place[i] = places[i] + or_equal;
		out[i] = beyond ? of[i].first + of[i].count : of[i].first;
		left[i] = beyond ? 0 : of[i].count;
		most = left[i] > most ? left[i] : most;
	}
	for (; most > 1; most -= most / 2)
		for (uint32_t i = 0; i < n; i++) { /* what is among the `left` from out[i] on is not decided */
			const uint32_t half = left[i] / 2, at = half ? out[i] + half - 1 : 0;
			out[i] += (s->places[at] < place[i]) & (half > 0) ? half : 0;
			left[i] -= half;
		}
	for (uint32_t i = 0; i < n; i++)
		out[i] += left[i] && s->places[out[i]] < place[i];
}
