/* From group rows to an answer: the groups that exist, ascending unless they are many and hashed, their keys and
 * values. */
#include "group/groups.h"

#include <stdlib.h>
#include "util/large.h"
#include "util/sort.h"

#define CHUNK 1024u /* groups that are put out at once, a multiple of 64: words of bitmaps belong to one chunk */

struct answering {
	const struct rql_groups_layout *layout;
	const struct rql_groups *g;
	uint64_t count;
	/* Room for twice as many where they are sorted; NULL: in the order of the parts, or of the array. */
	struct rql_groups_found *found;
	uint64_t *starts;                     /* of an array, or a list: groups before each stretch of it */
	uint64_t first[RQL_GROUPS_PARTS + 1]; /* groups before each part */
	bool nothing;                         /* nothing passed: only an answer without group keys has a row then */
	struct rql_port *out;
};

/* Sorts by group. The result is in one of the two arrays, which is returned. */
static struct rql_groups_found *sort_found(struct rql_groups_found *found, struct rql_groups_found *scratch, uint64_t count)
{
	struct rql_groups_found *by_low = rql_sort_keyed(found, scratch, count, sizeof *found, offsetof(struct rql_groups_found, low));
	return rql_sort_keyed(by_low, by_low == found ? scratch : found, count, sizeof *found,
	                      offsetof(struct rql_groups_found, high));
}

static void add_entries(const struct rql_groups_layout *layout, const struct rql_groups_hash *h, struct rql_groups_found *to)
{
	uint32_t keys = layout->wide ? 2 : 1, words = keys + layout->row_words;
	for (uint64_t i = 0; i < h->used; i++) {
		const uint64_t *entry = h->entries + i * words;
		to[i] = (struct rql_groups_found){entry[0], layout->wide ? entry[1] : 0, entry + keys};
	}
}

/* Groups [begin, begin + n), from the parts that they are in. */
static void fetch_parts(const struct answering *a, uint64_t begin, uint64_t n, struct rql_groups_found *to)
{
	bool wide = a->layout->wide;
	uint32_t p = 0;
	for (uint32_t step = RQL_GROUPS_PARTS / 2; step; step /= 2)
		p += a->first[p + step] <= begin ? step : 0;
	for (uint64_t i = 0; i < n; i++) {
		while (begin + i >= a->first[p + 1])
			p++;
		const uint64_t *row = a->g->parts[p].rows[begin + i - a->first[p]];
		to[i] = wide ? (struct rql_groups_found){row[-2], row[-1], row} : (struct rql_groups_found){row[-1], 0, row};
	}
}

/* An array's rows that are groups, in stretches that threads share. A chunk of an answer looks for its first group from the
 * beginning of a stretch on. */
#define STRETCH (UINT64_C(1) << 10)
_Static_assert(RQL_GROUPS_RUN % STRETCH == 0, "a stretch lies in one run");

/* The rows of a stretch; NULL: there are none, so that all of them would be empty. */
static const uint64_t *stretch_rows(const struct rql_groups *g, uint64_t index, uint64_t *count)
{
	uint64_t begin = index * STRETCH, in_run = begin % RQL_GROUPS_RUN, left = g->capacity - begin;
	const uint64_t *run = rql_groups_run(g, begin - in_run);
	*count = left < STRETCH ? left : STRETCH;
	return run ? run + in_run * g->layout->row_words : NULL;
}

/* The row is a group's, and HAVING keeps it. */
static inline bool is_kept(const struct rql_groups_layout *layout, const uint64_t *row)
{
	return *row != 0 && (!layout->wanted.test_count || rql_groups_is_wanted(layout, row));
}

static void count_stretch(void *state, uint64_t index, unsigned worker)
{
	const struct answering *a = state;
	uint64_t words = a->layout->row_words, count = 0, room;
	const uint64_t *row = stretch_rows(a->g, index, &room);
	(void)worker;
	for (uint64_t i = 0; i < room && row; i++, row += words)
		count += is_kept(a->layout, row);
	a->starts[index] = count;
}

/* Entry i of an array, or of a list, whose row this is. */
static struct rql_groups_found found_at(const struct rql_groups *g, uint64_t i, const uint64_t *row)
{
	struct rql_groups_found f = {.low = i, .row = row};
	if (g->keys && g->low_bits) {
		const uint64_t high = g->keys[2 * i] - 1;
		f.low = g->keys[2 * i + 1] | high << g->low_bits;
		f.high = high >> (64 - g->low_bits);
	} else if (g->keys) {
		f.low = g->keys[i] - 1;
	}
	return f;
}

static void list_stretch(void *state, uint64_t index, unsigned worker)
{
	const struct answering *a = state;
	uint64_t words = a->layout->row_words, room;
	const uint64_t *row = stretch_rows(a->g, index, &room);
	struct rql_groups_found *to = a->found + a->starts[index];
	(void)worker;
	for (uint64_t i = 0; i < room && row; i++, row += words)
		if (is_kept(a->layout, row))
			*to++ = found_at(a->g, index * STRETCH + i, row);
}

/* Groups [begin, begin + n) of an array, n > 0. */
static void fetch_array(const struct answering *a, uint64_t begin, uint64_t n, struct rql_groups_found *to)
{
	uint64_t words = a->layout->row_words, low = 0, high = (a->g->capacity + STRETCH - 1) / STRETCH, room, got = 0;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		*(a->starts[middle] <= begin ? &low : &high) = middle;
	}
	for (uint64_t skip = begin - a->starts[low]; got < n; low++) {
		const uint64_t *row = stretch_rows(a->g, low, &room);
		for (uint64_t i = 0; i < room && row && got < n; i++, row += words) {
			if (!*row)
				continue;
			if (skip)
				skip--;
			else
				to[got++] = found_at(a->g, low * STRETCH + i, row);
		}
	}
}

/* So many groups, in stretches. */
static void each_stretch(const struct answering *a, uint64_t groups, rql_chunk_fn *fn)
{
	rql_pool_each(a->g->pool, (groups + STRETCH - 1) / STRETCH, fn, (void *)(uintptr_t)a);
}

/* The groups of all parts, in their order. */
static void fetch_stretch(void *state, uint64_t index, unsigned worker)
{
	const struct answering *a = state;
	uint64_t begin = index * STRETCH, end = begin + STRETCH < a->count ? begin + STRETCH : a->count;
	(void)worker;
	fetch_parts(a, begin, end - begin, a->found + begin);
}

static uint64_t count_rows(const struct answering *a)
{
	uint64_t count = 0;
	each_stretch(a, a->g->capacity, count_stretch);
	for (uint64_t i = 0; i * STRETCH < a->g->capacity; i++) {
		uint64_t here = a->starts[i];
		a->starts[i] = count;
		count += here;
	}
	return count;
}

static uint64_t count_groups(const struct answering *a)
{
	const struct rql_groups_layout *layout = a->layout;
	const struct rql_groups *g = a->g;
	uint64_t count = 0;
	if (layout->scalar)
		return 1;
	if (g->parts) {
		for (uint32_t p = 0; p < RQL_GROUPS_PARTS; p++)
			count += g->parts[p].count;
		return count;
	}
	return g->hash.entries ? g->hash.used : count_rows(a);
}

/* Into found[], as they come. */
static void list_groups(struct answering *a)
{
	if (a->g->parts)
		each_stretch(a, a->count, fetch_stretch);
	else if (a->g->hash.entries)
		add_entries(a->layout, &a->g->hash, a->found);
	else if (a->layout->scalar)
		a->found[0] = (struct rql_groups_found){.row = a->g->rows};
	else
		each_stretch(a, a->g->capacity, list_stretch);
}

/* *memory: of rql_large_alloc. */
static rql_status find_groups(struct answering *a, struct rql_groups_found **memory, struct rql_error *err)
{
	const struct rql_groups_layout *layout = a->layout;
	const struct rql_groups *g = a->g;
	const uint64_t all = a->count = count_groups(a);
	bool listed = g->keys || g->hash.entries, sorted = listed && all <= RQL_GROUPS_SORTED;
	uint64_t room = (all + 1) * (sorted ? 2 : 1);
	a->nothing = layout->scalar && g->rows[0] == 0;
	for (uint32_t p = 0; g->parts && p < RQL_GROUPS_PARTS; p++)
		a->first[p + 1] = a->first[p] + g->parts[p].count;
	*memory = NULL;
	bool whole = g->parts || (a->starts && !g->keys); /* groups are found again where they lie */
	if (!whole || sorted || !rql_groups_wants_all(layout)) {
		*memory = a->found = rql_large_alloc(room * sizeof(struct rql_groups_found));
		if (!a->found)
			return rql_error_memory(err, room * sizeof(struct rql_groups_found), "the groups of an answer");
		list_groups(a);
		RQL_TRY(rql_groups_keep_wanted(layout, g->pool, a->found, &a->count, err));
	}
	sorted |= listed && a->count <= RQL_GROUPS_SORTED && 2 * a->count <= room;
	a->out->group_count = a->count;
	a->out->sorted_keys = listed && !sorted ? 0 : layout->key_count;
	if (listed && sorted)
		a->found = sort_found(a->found, a->found + a->count, a->count);
	return RQL_OK;
}

/* ---- columns ---- */

/* Numbers of 32 bits divided by one that stays the same: a product, exact for all of them (Lemire, Kaser, Kurz: Faster
 * Remainder by Direct Computation, 2019). A division takes three times as long. */
struct divisor {
	uint64_t inverse; /* 0: of 1 */
};

static struct divisor divisor_of(uint64_t by)
{
	return (struct divisor){by > 1 ? UINT64_MAX / by + 1 : 0};
}

static inline uint64_t divided(uint64_t number, struct divisor by)
{
	return by.inverse ? (uint64_t)((rql_uint128)by.inverse * number >> 64) : number;
}

/* rql_groups_code of numbers of 32 bits. */
static void put_codes(const struct rql_groups_key *key, const struct rql_groups_found *found, uint64_t count, uint32_t *out)
{
	const struct divisor stride = divisor_of(key->stride), keys = divisor_of(key->key_count);
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t above = divided(found[i].low, stride), code = above - divided(above, keys) * key->key_count;
		out[i] = (uint32_t)(key->keys ? key->keys[code] : key->first_key + code);
	}
}

/* found: of groups [begin, end). */
static void put_keys(const struct answering *a, uint32_t p, const struct rql_groups_found *found, uint64_t begin, uint64_t end)
{
	const struct rql_groups_key *key = &a->layout->keys[p];
	if (key->wide)
		for (uint64_t i = begin; i < end; i++)
			a->out->wide_keys[p][i] = rql_groups_code(a->layout, key, found++);
	else if (!a->layout->wide && a->layout->group_count <= UINT32_MAX)
		put_codes(key, found, end - begin, a->out->keys[p] + begin);
	else
		for (uint64_t i = begin; i < end; i++)
			a->out->keys[p][i] = (uint32_t)rql_groups_code(a->layout, key, found++);
}

static void put_values(const struct answering *a, uint32_t agg, const struct rql_groups_found *found, uint64_t begin, uint64_t end)
{
	const struct rql_groups_value *value = &a->layout->values[agg];
	const struct rql_state *state = value->state == RQL_NONE ? NULL : &a->layout->states[value->state];
	const struct rql_agg_values *out = &a->out->aggs[agg];
	uint32_t valid_word = out->valid ? a->layout->states[value->valid].word : 0;
	for (uint64_t i = begin; i < end; i++) {
		const uint64_t *row = found[i - begin].row;
		if (out->valid && row[valid_word] == 0)
			continue;
		if (out->valid)
			rql_bit_set(out->valid, i);
		if (value->kind == RQL_MEASURE_REAL)
			memcpy(&out->real[i], row + state->word, sizeof(double));
		else
			out->integer[i] = rql_groups_integer(a->layout, value, row);
	}
}

static void put_chunk(void *state, uint64_t index, unsigned worker)
{
	const struct answering *a = state;
	uint64_t begin = index * CHUNK, end = begin + CHUNK < a->count ? begin + CHUNK : a->count;
	struct rql_groups_found room[CHUNK];
	const struct rql_groups_found *found = a->found ? a->found + begin : room;
	(void)worker;
	if (!a->found && a->starts)
		fetch_array(a, begin, end - begin, room);
	else if (!a->found)
		fetch_parts(a, begin, end - begin, room);
	for (uint32_t p = 0; p < a->layout->key_count; p++)
		put_keys(a, p, found, begin, end);
	for (uint32_t agg = 0; agg < a->layout->value_count && !a->nothing; agg++)
		put_values(a, agg, found, begin, end);
}

bool rql_groups_columns(const struct rql_groups_layout *layout, uint64_t count, bool nothing, struct rql_arena *arena,
                        struct rql_port *out)
{
	bool done = true;
	out->keys = RQL_NEW_ARRAY(arena, uint32_t *, layout->key_count);
	out->aggs = RQL_NEW_ARRAY(arena, struct rql_agg_values, layout->value_count);
	for (uint32_t k = 0; k < layout->key_count; k++)
		if (layout->keys[k].wide && !out->wide_keys)
			done &= (out->wide_keys = RQL_NEW_ARRAY(arena, uint64_t *, layout->key_count)) != NULL;
	if (!out->keys || !out->aggs || !done)
		return false;
	for (uint32_t k = 0; k < layout->key_count; k++)
		if (layout->keys[k].wide)
			done &= (out->wide_keys[k] = RQL_NEW_ARRAY(arena, uint64_t, count)) != NULL;
		else
			done &= (out->keys[k] = RQL_NEW_ARRAY(arena, uint32_t, count)) != NULL;
	for (uint32_t agg = 0; agg < layout->value_count; agg++) {
		const struct rql_groups_value *value = &layout->values[agg];
		struct rql_agg_values *v = &out->aggs[agg];
		v->kind = value->kind;
		if (value->kind == RQL_MEASURE_REAL)
			done &= (v->real = RQL_NEW_ARRAY(arena, double, count)) != NULL;
		else
			done &= (v->integer = RQL_NEW_ARRAY(arena, rql_int128, count)) != NULL;
		if (!value->counts && (nothing || value->valid != RQL_NONE))
			done &= (v->valid = RQL_NEW_ARRAY(arena, uint64_t, (count + 63) / 64)) != NULL;
	}
	return done;
}

rql_status rql_groups_answer(const struct rql_groups *g, struct rql_arena *arena, struct rql_port *out,
                             struct rql_error *err)
{
	const struct rql_groups_layout *layout = g->layout;
	struct rql_port answer = {0};
	struct answering a = {.layout = layout, .g = g, .out = &answer};
	struct rql_groups_found *memory;
	bool array = !layout->scalar && !g->parts && !g->hash.entries;
	if (array && !(a.starts = calloc(g->capacity / STRETCH + 1, sizeof *a.starts)))
		return rql_error_memory(err, g->capacity / STRETCH * sizeof *a.starts, "the groups of an answer");
	rql_status status = find_groups(&a, &memory, err);
	if (status == RQL_OK && !rql_groups_columns(layout, a.count, a.nothing, arena, &answer))
		status = rql_error_memory(err, a.count * 16, "an answer's columns");
	if (status == RQL_OK) {
		rql_pool_each(g->pool, (a.count + CHUNK - 1) / CHUNK, put_chunk, &a);
		*out = answer;
	}
	rql_large_free(memory);
	free(a.starts);
	return status;
}
