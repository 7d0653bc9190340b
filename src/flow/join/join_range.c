/* Joins by ranges, and ASOF joins: the points stand sorted (sorted.h), each row of the other side finds where its bounds lie
 * among them. So a range costs two searches, however many rows it has, and the pairs are counted before they are written.
 *
 * What it must do for a row that looks up: two searches of some 20 ns each in a cache, and for a pair 8 bytes written. */
#include <stdatomic.h>
#include <string.h>
#include "flow/join/join_internal.h"
#include "sql/rel/rel.h"

/* A key with fewer rows than this: they are tested one by one. */
#define FEW_OF_KEY 16u
#define SAMPLED 4096u /* rows that look up */

void rql_range_bounds(const struct joining *j, uint64_t at, uint32_t n, struct range_bounds *b)
{
	struct rql_place_room room;
	uint32_t numbers[RQL_VECTOR_ROWS];
	const uint32_t *list = rql_rowset_rows(j->sides[!j->build], at, n, numbers);
	memset(b->live, 0xff, sizeof b->live);
	b->inclusive = j->by_index && j->cast.casts;
	for (unsigned k = 0; k < 2; k++) {
		if (!j->keys.range.bounds[k])
			continue;
		if (b->inclusive) {
			rql_range_cast_places(&j->cast, &j->bounds[k], k, j->keys.range.open[k], list, n, b->places[k], b->live);
			continue;
		}
		const uint64_t *valid = rql_bound_places(&j->places, &j->bounds[k], list, n, &room, b->places[k]);
		for (uint32_t w = 0; w < (n + 63) / 64 && valid; w++)
			b->live[w] &= valid[w];
	}
}

/* ---- before the rows ---- */

static rql_status find_points(struct joining *j)
{
	struct rql_rowset *set = j->sides[j->build];
	RQL_TRY(rql_rowset_compute(j->r, set, j->keys.range.point, &j->point));
	RQL_TRY(rql_range_places_open(j->r, &j->point, set->rows, &j->places));
	return rql_sorted_values(j->r, &j->places, &j->point, &j->words.sides[0], &j->sorted);
}

rql_status rql_range_open(struct joining *j)
{
	const struct rql_join_range *range = &j->keys.range;
	for (unsigned b = 0; b < 2; b++)
		if (range->bounds[b])
			RQL_TRY(rql_rowset_compute(j->r, j->sides[!j->build], range->bounds[b], &j->bounds[b]));
	j->asof = rql_join_is_asof(j->rel->join);
	RQL_TRY(rql_index_range_open(j));
	return j->by_index ? RQL_OK : find_points(j);
}

rql_status rql_range_sort(struct joining *j)
{
	rql_index_range_close(j);
	RQL_TRY(find_points(j));
	return rql_sorted_make(j->r, &j->words.sides[0], NULL, &j->sorted);
}

/* Rows of their key that rows which look up find, one with the other. */
static double rows_of_key(const struct joining *j)
{
	const struct rql_key_side *side = &j->words.sides[1];
	uint64_t rows = side->set->rows, step = rows / SAMPLED + 1, found = 0, asked = 0;
	for (uint64_t i = 0; i < rows; i += step, asked++) {
		struct rql_key_rows of;
		rql_key_table_find(&j->table, side->words + i, 1, &of);
		found += rql_key_is_none(side, i) ? 0 : of.count;
	}
	return asked ? (double)found / (double)asked : 0;
}

/* Has a row that looks up no key, or no value? DuckDB 1.5 lets such rows of an ASOF join with keys find some, since it
 * tests the NULLs of other conditions than it means to: then the answer is its own. */
static bool nulls_find(const struct joining *j)
{
	const struct rql_key_side *side = &j->words.sides[1];
	struct range_bounds b;
	if (!j->asof || !j->keys.key_count || !rql_join_null_finds())
		return false;
	for (uint64_t at = 0; at < side->set->rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(at, side->set->rows);
		rql_range_bounds(j, at, n, &b);
		for (uint32_t i = 0; i < n; i++)
			if (!rql_bit(b.live, i) || rql_key_is_none(side, at + i))
				return true;
	}
	return false;
}

rql_status rql_range_make(struct joining *j)
{
	struct rql_join_keys *k = &j->keys;
	if (nulls_find(j))
		return rql_error_set(j->r->err, RQL_ERROR_UNSUPPORTED,
		                     "a row of an ASOF join with keys has a NULL, which finds a row in this DuckDB");
	if (k->key_count && !j->asof && rows_of_key(j) < FEW_OF_KEY) {
		for (uint32_t i = 0; i < k->range.condition_count; i++)
			k->rest[k->rest_count++] = k->range.conditions[i];
		return RQL_OK;
	}
	j->ranged = true;
	if (j->by_index)
		return RQL_OK;
	RQL_TRY(rql_sorted_make(j->r, &j->words.sides[0], k->key_count ? &j->table : NULL, &j->sorted));
	j->table.rows = (uint32_t *)j->sorted.rows;
	return RQL_OK;
}

/* ---- looking up ---- */

/* The lines that the searches will read. */
static void fetch(const struct joining *j, uint32_t n, const struct range_bounds *b)
{
	const struct rql_sorted *s = &j->sorted;
	for (unsigned k = 0; k < 2; k++) {
		if (!j->keys.range.bounds[k])
			continue;
		for (uint32_t i = 0; i < n; i++)
			__builtin_prefetch(&s->steps[rql_sorted_step(s, b->places[k][i])]);
		for (uint32_t i = 0; i < n; i++)
			__builtin_prefetch(&s->places[s->steps[rql_sorted_step(s, b->places[k][i])]]);
	}
}

/* Positions of the rows within the bounds; a key's only row stays what it is. */
static struct rql_key_rows within(const struct joining *j, struct rql_key_rows of, const struct range_bounds *b, uint32_t i)
{
	const struct rql_join_range *range = &j->keys.range;
	const uint64_t low = b->places[0][i], high = b->places[1][i];
	if (of.count == 1) {
		const uint64_t place = j->sorted.place_of[of.first];
		bool in = (!range->bounds[0] || (range->open[0] ? place > low : place >= low)) &&
		          (!range->bounds[1] || (range->open[1] ? place < high : place <= high));
		return (struct rql_key_rows){of.first, in};
	}
	uint32_t from = range->bounds[0] ? rql_sorted_find(&j->sorted, of, low, range->open[0]) : of.first;
	uint32_t to = range->bounds[1] ? rql_sorted_find(&j->sorted, of, high, !range->open[1]) : of.first + of.count;
	return (struct rql_key_rows){from, to > from ? to - from : 0};
}

/* Of the rows within the one bound that nearest to it; of several that are equally near the last one of the table. The host
 * takes any of them: its sort does not keep their order. */
static struct rql_key_rows nearest(const struct joining *j, struct rql_key_rows in)
{
	const struct rql_sorted *s = &j->sorted;
	uint32_t end = in.first + in.count, at = end - 1;
	if (!j->keys.range.bounds[1])
		at = rql_sorted_find(s, in, s->places[in.first], true) - 1;
	return (struct rql_key_rows){s->rows[at], 1};
}

/* By keys whose rows lie anywhere: all rows that look up are searched side by side. */
static void find_with_keys(const struct joining *j, uint32_t n, const struct range_bounds *b, struct rql_key_rows *rows)
{
	const struct rql_join_range *range = &j->keys.range;
	struct rql_key_rows of[RQL_VECTOR_ROWS]; /* of keys with several rows */
	uint32_t ends[2][RQL_VECTOR_ROWS];
	for (uint32_t i = 0; i < n; i++)
		of[i] = rows[i].count > 1 ? rows[i] : (struct rql_key_rows){0, 0};
	for (unsigned k = 0; k < 2; k++)
		if (range->bounds[k])
			rql_sorted_find_each(&j->sorted, n, of, b->places[k], range->open[k] != (k == 1), ends[k]);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t from = range->bounds[0] ? ends[0][i] : of[i].first;
		const uint32_t to = range->bounds[1] ? ends[1][i] : of[i].first + of[i].count;
		if (rows[i].count == 1)
			rows[i] = within(j, rows[i], b, i);
		else if (rows[i].count)
			rows[i] = (struct rql_key_rows){to == from + 1 ? j->sorted.rows[from] : from, to > from ? to - from : 0};
	}
}

void rql_range_find(const struct joining *j, uint64_t at, uint32_t n, struct rql_key_rows *rows)
{
	struct range_bounds b;
	rql_range_bounds(j, at, n, &b);
	if (j->sorted.steps)
		fetch(j, n, &b);
	if (j->keys.key_count && !j->asof && j->sorted.places) {
		for (uint32_t i = 0; i < n; i++)
			rows[i].count = rql_bit(b.live, i) && !rql_key_is_none(&j->words.sides[1], at + i) ? rows[i].count : 0;
		find_with_keys(j, n, &b, rows);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct rql_key_rows of = j->keys.key_count ? rows[i] : j->sorted.all;
		bool live = rql_bit(b.live, i) && of.count && !rql_key_is_none(&j->words.sides[1], at + i);
		if (!live) {
			rows[i] = (struct rql_key_rows){0, 0};
			continue;
		}
		struct rql_key_rows in = within(j, of, &b, i);
		if (of.count > 1 && in.count == 1)
			in.first = j->sorted.rows[in.first];
		rows[i] = j->asof && in.count > 1 ? nearest(j, in) : in;
	}
}

/* ---- all pairs ---- */

bool rql_range_pairs_known(const struct joining *j)
{
	return j->ranged && !j->by_index && j->wants == WANT_PAIRS && !j->keys.rest_count && !j->single && !j->keep_build && !j->asof;
}

struct counting {
	const struct joining *j;
	struct rql_key_rows *rows; /* of each row that looks up */
	uint64_t *first;           /* [morsels + 1]: pairs before a morsel's */
	uint32_t *probe, *build;
};

static uint32_t pairs_of(const struct joining *j, const struct rql_key_rows *rows)
{
	return rows->count ? rows->count : j->keep_probe;
}

static rql_status count_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct counting *c = state;
	uint64_t count = 0;
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(at, first + rows);
		rql_join_find(c->j, at, n, c->rows + at);
		for (uint32_t i = 0; i < n; i++)
			count += pairs_of(c->j, &c->rows[at + i]);
	}
	c->first[first / RQL_MORSEL_ROWS] = count;
	return RQL_OK;
}

/* A morsel of the pairs themselves, so that a row with very many is shared by the threads. */
static rql_status write_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct counting *c = state;
	uint64_t end = first + rows, low = 0, high = (c->j->sides[!c->j->build]->rows - 1) / RQL_MORSEL_ROWS;
	(void)worker, (void)err;
	while (low < high) { /* the last morsel that begins at or before the first pair */
		uint64_t half = (low + high + 1) / 2;
		low = c->first[half] <= first ? half : low;
		high = c->first[half] <= first ? high : half - 1;
	}
	uint64_t at = c->first[low];
	for (uint64_t i = low * RQL_MORSEL_ROWS; at < end; i++) {
		const struct rql_key_rows *of = &c->rows[i];
		uint32_t n = pairs_of(c->j, of);
		uint64_t from = at < first ? first : at, to = at + n < end ? at + n : end;
		for (uint64_t p = from; p < to; p++)
			c->probe[p] = (uint32_t)i;
		if (!of->count && from < to)
			c->build[from] = RQL_NO_ROW;
		else if (of->count == 1 && from < to)
			c->build[from] = of->first;
		else if (from < to)
			memcpy(c->build + from, c->j->sorted.rows + of->first + (from - at), (to - from) * sizeof *c->build);
		at += n;
	}
	return RQL_OK;
}

static rql_status count_pairs(struct joining *j, struct counting *c)
{
	uint64_t probes = j->sides[!j->build]->rows, morsels = (probes + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	c->j = j;
	RQL_TRY(RQL_SCRATCH(j->r, c->rows, probes + 1));
	RQL_TRY(RQL_SCRATCH(j->r, c->first, morsels + 1));
	return rql_morsels_run(j->r, probes, count_morsel, c);
}

rql_status rql_range_rows(struct joining *j, struct rql_key_rows **rows)
{
	struct counting c = {0};
	RQL_TRY(count_pairs(j, &c));
	*rows = c.rows;
	return RQL_OK;
}

rql_status rql_range_pairs(struct joining *j, uint64_t *count, uint32_t **probe, uint32_t **build)
{
	uint64_t probes = j->sides[!j->build]->rows, morsels = (probes + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS, all = 0;
	struct counting c = {0};
	RQL_TRY(count_pairs(j, &c));
	for (uint64_t m = 0; m < morsels; m++) {
		uint64_t here = c.first[m];
		c.first[m] = all;
		all += here;
	}
	if (all >= RQL_NO_ROW)
		return rql_error_set(j->r->err, RQL_ERROR_UNSUPPORTED, "a join of 2^32 rows or more");
	RQL_TRY(RQL_ROOM(j->r, *probe, all));
	RQL_TRY(RQL_ROOM(j->r, *build, all));
	c.probe = *probe;
	c.build = *build;
	*count = all;
	return all ? rql_morsels_run(j->r, all, write_morsel, &c) : RQL_OK;
}
