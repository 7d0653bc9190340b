/* Where cells become sums: one accumulator per worker, an array of rows when the groups are few, a hash table of rows
 * when they are many and mostly empty. A row is word 0 (cells) and the slots' words (cube_slots.c). */
#include "method/cube/cube_query.h"

#include <stdlib.h>
#include "util/large.h"

/* ---- group rows ---- */

#define SMALL_TABLE ((uint64_t)64 << 10) /* bytes that an answer's arena may hold beside it */
#define FIRST_CAPACITY 1024u

bool rql_cube_groups_hashed(const struct rql_prepared *p)
{
	if (p->group_count <= FIRST_CAPACITY)
		return false;
	/* An array of rows that are mostly used beats a table of them at any size. */
	return p->group_count > RQL_CUBE_DENSE_WORDS / p->row_words || (double)p->group_count > 4 * p->groups;
}

static void fill_rows(const struct rql_prepared *p, uint64_t *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		memcpy(rows + i * p->row_words, p->row_template, p->row_words * sizeof(*rows));
}

bool rql_cube_groups_init(struct rql_cube_groups *g, const struct rql_prepared *p, struct rql_arena *arena)
{
	g->prepared = p;
	g->hashed = rql_cube_groups_hashed(p);
	g->capacity = g->hashed ? FIRST_CAPACITY : p->group_count;
	uint64_t words = g->capacity * p->row_words;
	g->owned = !arena || g->hashed || words * sizeof(uint64_t) > SMALL_TABLE;
	if (g->owned) {
		g->rows = rql_large_words(words, NULL);
		g->keys = g->hashed ? rql_large_words(g->capacity, NULL) : NULL;
	} else {
		g->rows = RQL_NEW_ARRAY(arena, uint64_t, words);
	}
	g->ready = g->rows && (g->keys || !g->hashed);
	if (g->ready && !g->hashed && !p->row_zero)
		fill_rows(p, g->rows, g->capacity);
	return g->ready;
}

void rql_cube_groups_free(struct rql_cube_groups *g)
{
	if (g->owned) {
		rql_large_free(g->rows);
		rql_large_free(g->keys);
	}
	g->rows = g->keys = NULL;
}

static uint64_t home_of(uint64_t group, uint64_t capacity)
{
	return (group * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
}

static uint64_t place_of(const uint64_t *keys, uint64_t capacity, uint64_t group)
{
	uint64_t at = home_of(group, capacity);
	while (keys[at] && keys[at] != group + 1)
		at = (at + 1) & (capacity - 1);
	return at;
}

bool rql_cube_groups_reserve(struct rql_cube_groups *g, uint64_t more)
{
	if (!g->hashed || (g->used + more) * 2 <= g->capacity)
		return true;
	uint64_t capacity = g->capacity * 2, words = g->prepared->row_words;
	while ((g->used + more) * 2 > capacity)
		capacity *= 2;
	uint64_t *keys = rql_large_words(capacity, NULL), *rows = rql_large_words(capacity * words, NULL);
	if (!keys || !rows) {
		rql_large_free(keys);
		rql_large_free(rows);
		return false;
	}
	for (uint64_t i = 0; i < g->capacity; i++) {
		if (!g->keys[i])
			continue;
		uint64_t at = place_of(keys, capacity, g->keys[i] - 1);
		keys[at] = g->keys[i];
		memcpy(rows + at * words, g->rows + i * words, words * sizeof(*rows));
	}
	rql_large_free(g->keys);
	rql_large_free(g->rows);
	g->keys = keys;
	g->rows = rows;
	g->capacity = capacity;
	return true;
}

uint64_t *rql_cube_groups_find(struct rql_cube_groups *g, uint64_t group)
{
	uint64_t at = place_of(g->keys, g->capacity, group), *row = g->rows + at * g->prepared->row_words;
	if (!g->keys[at]) {
		g->keys[at] = group + 1;
		g->used++;
		fill_rows(g->prepared, row, 1);
	}
	return row;
}

/* ---- single values ---- */

static void add_wide(uint64_t *word, rql_uint128 value)
{
	rql_uint128 sum;
	memcpy(&sum, word, sizeof(sum));
	sum += value;
	memcpy(word, &sum, sizeof(sum));
}

static void add_real(uint64_t *word, double value)
{
	double sum;
	memcpy(&sum, word, sizeof(sum));
	sum += value;
	memcpy(word, &sum, sizeof(sum));
}

/* NaN is the greatest. */
static void extreme_real(uint64_t *word, double value, bool max)
{
	double now;
	memcpy(&now, word, sizeof(now));
	bool better = max ? value > now || value != value : value < now || now != now;
	if (better)
		memcpy(word, &value, sizeof(value));
}

static void extreme_wide(uint64_t *word, rql_int128 value, bool max)
{
	rql_int128 now;
	memcpy(&now, word, sizeof(now));
	if (max ? value > now : value < now)
		memcpy(word, &value, sizeof(value));
}

static void extreme_raw(uint64_t *word, uint64_t value, bool max)
{
	if (max ? value > *word : value < *word)
		*word = value;
}

/* Folds what cell `cell` has for a slot that keeps an extreme into the row's word; for kinds without a faster way. */
static void fold_extreme(const struct rql_cube_slot *slot, uint64_t cell, uint64_t *word)
{
	if (slot->valid && rql_packed_get(slot->valid, cell) == 0)
		return;
	switch (slot->kind) {
	case RQL_SLOT_MIN:
		extreme_raw(word, rql_packed_field(slot->values, cell), false);
		break;
	case RQL_SLOT_MAX:
		extreme_raw(word, rql_packed_field(slot->values, cell), true);
		break;
	case RQL_SLOT_MIN_WIDE:
		extreme_wide(word, rql_packed_get(slot->values, cell), false);
		break;
	case RQL_SLOT_MAX_WIDE:
		extreme_wide(word, rql_packed_get(slot->values, cell), true);
		break;
	case RQL_SLOT_MIN_REAL:
		extreme_real(word, slot->real[cell], false);
		break;
	case RQL_SLOT_MAX_REAL:
		extreme_real(word, slot->real[cell], true);
		break;
	default:
		break;
	}
}

/* ---- merging ---- */

static void merge_row(const struct rql_prepared *p, uint64_t *into, const uint64_t *from)
{
	into[0] += from[0];
	for (uint32_t s = 0; s < p->slot_count; s++) {
		uint64_t *word = into + p->slots[s].word;
		const uint64_t *other = from + p->slots[s].word;
		rql_uint128 wide;
		double real;
		switch (p->slots[s].kind) {
		case RQL_SLOT_COUNT:
		case RQL_SLOT_SUM:
			*word += *other;
			break;
		case RQL_SLOT_MIN:
			extreme_raw(word, *other, false);
			break;
		case RQL_SLOT_MAX:
			extreme_raw(word, *other, true);
			break;
		case RQL_SLOT_SUM_WIDE:
		case RQL_SLOT_MIN_WIDE:
		case RQL_SLOT_MAX_WIDE:
			memcpy(&wide, other, sizeof(wide));
			if (p->slots[s].kind == RQL_SLOT_SUM_WIDE)
				add_wide(word, wide);
			else
				extreme_wide(word, (rql_int128)wide, p->slots[s].kind == RQL_SLOT_MAX_WIDE);
			break;
		case RQL_SLOT_SUM_REAL:
		case RQL_SLOT_MIN_REAL:
		case RQL_SLOT_MAX_REAL:
			memcpy(&real, other, sizeof(real));
			if (p->slots[s].kind == RQL_SLOT_SUM_REAL)
				add_real(word, real);
			else
				extreme_real(word, real, p->slots[s].kind == RQL_SLOT_MAX_REAL);
			break;
		}
	}
}

bool rql_cube_groups_merge(struct rql_cube_groups *into, const struct rql_cube_groups *from)
{
	const struct rql_prepared *p = into->prepared;
	if (!rql_cube_groups_reserve(into, from->hashed ? from->used : 0))
		return false;
	for (uint64_t i = 0; i < from->capacity; i++) {
		const uint64_t *row = from->rows + i * p->row_words;
		if (row[0])
			merge_row(p, rql_cube_groups_row(into, from->hashed ? from->keys[i] - 1 : i), row);
	}
	into->cells_read += from->cells_read;
	into->cells_covered += from->cells_covered;
	into->bytes_read += from->bytes_read;
	into->runs += from->runs;
	return true;
}

/* ---- intervals ---- */

/* Sum with base of the cells before x, modulo 2^128. A block's part fits 64 bits up to 57 bits a value. */
static rql_uint128 prefix_wide(const struct rql_prepared *p, const struct rql_cube_slot *slot, uint64_t x)
{
	const struct rql_packed *values = slot->values;
	uint64_t block = x / RQL_CUBE_BLOCK, first = block * RQL_CUBE_BLOCK;
	rql_uint128 sum = slot->cumulative128[block];
	if (values->bits <= RQL_PACKED_MAX_BITS)
		return sum + p->kernels->sum(values, first, x) + (rql_uint128)values->base * (x - first);
	for (uint64_t i = first; i < x; i++)
		sum += (rql_uint128)rql_packed_get(values, i);
	return sum;
}

static void add_span_slot(const struct rql_prepared *p, const struct rql_cube_slot *slot,
                          const struct rql_cube_span *spans, uint64_t *const *rows, size_t count)
{
	uint64_t sums[RQL_CUBE_BATCH];
	switch (slot->kind) {
	case RQL_SLOT_COUNT:
	case RQL_SLOT_SUM:
		p->kernels->span_sums(slot->values, slot->cumulative, spans, count, sums);
		for (size_t i = 0; i < count; i++)
			rows[i][slot->word] += sums[i];
		break;
	case RQL_SLOT_SUM_WIDE:
		for (size_t i = 0; i < count; i++)
			add_wide(rows[i] + slot->word, prefix_wide(p, slot, spans[i].end) - prefix_wide(p, slot, spans[i].begin));
		break;
	case RQL_SLOT_SUM_REAL:
		for (size_t i = 0; i < count; i++)
			add_real(rows[i] + slot->word, p->kernels->sum_real(slot->real, spans[i].begin, spans[i].end));
		break;
	case RQL_SLOT_MIN:
	case RQL_SLOT_MAX:
		if (!slot->valid) {
			for (size_t i = 0; i < count; i++) {
				uint64_t *word = rows[i] + slot->word, other = slot->kind == RQL_SLOT_MIN ? 0 : UINT64_MAX;
				bool max = slot->kind == RQL_SLOT_MAX;
				p->kernels->extremes(slot->values, spans[i].begin, spans[i].end, max ? &other : word,
				                     max ? word : &other);
			}
			break;
		} /* fall through */
	default:
		for (size_t i = 0; i < count; i++)
			for (uint64_t cell = spans[i].begin; cell < spans[i].end; cell++)
				fold_extreme(slot, cell, rows[i] + slot->word);
		break;
	}
}

/* Floor: see cube_simd_avx512.c for sums; extremes and sums of doubles read every cell of the interval. */
void rql_cube_add_spans(struct rql_cube_groups *g, const struct rql_cube_span *spans, uint64_t *const *rows,
                        size_t count)
{
	const struct rql_prepared *p = g->prepared;
	uint64_t covered = 0, edges = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t n = spans[i].end - spans[i].begin;
		rows[i][0] += n;
		covered += n;
		edges += n < RQL_CUBE_BLOCK / 2 ? n : RQL_CUBE_BLOCK / 2; /* two edges, a quarter of a block each on average */
	}
	uint64_t read = 0;
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		add_span_slot(p, slot, spans, rows, count);
		bool summed = slot->cumulative || slot->cumulative128;
		uint64_t cells = summed ? edges : covered;
		read = cells > read ? cells : read;
		g->bytes_read += cells * (slot->values ? slot->values->bits : 64) / 8 + (summed ? 16 * count : 0);
	}
	g->runs += count;
	g->cells_covered += covered;
	g->cells_read += read;
}

/* ---- tested cells ---- */

/* Up to RQL_CUBE_STRIP cells from `begin` on, and those of them that passed. */
struct strip {
	uint64_t begin;
	uint32_t count, passed;
	uint16_t at[RQL_CUBE_STRIP];    /* cell - begin, of each that passed */
	uint64_t group[RQL_CUBE_STRIP]; /* its group number */
	uint64_t *row[RQL_CUBE_STRIP];
	union {
		uint32_t codes[RQL_CUBE_UNPACK_ROOM(RQL_CUBE_STRIP)];
		uint64_t values[RQL_CUBE_UNPACK_ROOM(RQL_CUBE_STRIP)];
	};
};

/* Floor per cell: its packed codes from memory; here a load of the code, one of its gid, and a store that only counts
 * when the cell passed: no branch, because whether a cell passes is not predictable. */
static void test_strip(const struct rql_cube_bound_box *box, const struct rql_cube_kernels *kernels, uint64_t group,
                       struct strip *s)
{
	uint32_t passed = s->count;
	for (uint32_t t = 0; t < box->test_count && passed; t++) {
		const struct rql_cube_test *test = &box->tests[t];
		kernels->unpack32(test->codes, s->begin, s->count, s->codes);
		const uint32_t *code = s->codes + s->begin % RQL_CUBE_GROUP;
		/* The stored code has the packed base off. */
		const int32_t *gid = test->gid + (uint64_t)test->codes->base;
		uint32_t n = 0;
		if (t == 0) {
			for (uint32_t i = 0; i < passed; i++) {
				int32_t part = gid[code[i]];
				s->at[n] = (uint16_t)i;
				s->group[n] = group + (uint64_t)part * test->stride;
				n += part >= 0;
			}
		} else {
			for (uint32_t i = 0; i < passed; i++) {
				int32_t part = gid[code[s->at[i]]];
				s->at[n] = s->at[i];
				s->group[n] = s->group[i] + (uint64_t)part * test->stride;
				n += part >= 0;
			}
		}
		passed = n;
	}
	s->passed = passed;
}

/* Adds every passed cell to its row: 1 to word 0 and, with value, value[at] + base to `word`. Neighbouring cells often
 * have one group, and an addition to a word that was just written waits for that write (about 7 cycles), so four
 * distant cells take turns. */
static inline __attribute__((always_inline)) void scatter(struct strip *s, const uint64_t *value, uint64_t base,
                                                          uint32_t word, bool cells, bool values)
{
	uint32_t quarter = s->passed / 4, i = 0;
	for (; i < quarter; i++) {
		for (uint32_t j = i; j < 4 * quarter; j += quarter) {
			uint64_t *row = s->row[j];
			if (cells)
				row[0]++;
			if (values)
				row[word] += value[s->at[j]] + base;
		}
	}
	for (i = 4 * quarter; i < s->passed; i++) {
		uint64_t *row = s->row[i];
		if (cells)
			row[0]++;
		if (values)
			row[word] += value[s->at[i]] + base;
	}
}

/* Sums of up to 64 bits. one: all passed cells go to row[0]; cells: they are counted as well. */
static void add_strip_sum(const struct rql_cube_kernels *kernels, const struct rql_cube_slot *slot, struct strip *s,
                          bool one, bool cells)
{
	const struct rql_packed *packed = slot->values;
	uint64_t base = (uint64_t)packed->base, *value = s->values + s->begin % RQL_CUBE_GROUP;
	if (s->passed * 8 < s->count) { /* few: pick them */
		for (uint32_t i = 0; i < s->passed; i++)
			value[s->at[i]] = rql_packed_field(packed, s->begin + s->at[i]);
	} else {
		kernels->unpack64(packed, s->begin, s->count, s->values);
	}
	if (one) {
		uint64_t sum = base * s->passed;
		for (uint32_t i = 0; i < s->passed; i++)
			sum += value[s->at[i]];
		s->row[0][slot->word] += sum;
	} else if (cells) {
		scatter(s, value, base, slot->word, true, true);
	} else {
		scatter(s, value, base, slot->word, false, true);
	}
}

static bool is_plain_sum(const struct rql_cube_slot *slot)
{
	return slot->kind == RQL_SLOT_COUNT || slot->kind == RQL_SLOT_SUM;
}

static void add_strip_slot(const struct rql_prepared *p, const struct rql_cube_slot *slot, struct strip *s, bool one,
                           bool cells)
{
	if (is_plain_sum(slot)) {
		add_strip_sum(p->kernels, slot, s, one, cells);
		return;
	}
	for (uint32_t i = 0; i < s->passed; i++) {
		uint64_t cell = s->begin + s->at[i], *word = s->row[one ? 0 : i] + slot->word;
		if (slot->kind == RQL_SLOT_SUM_WIDE)
			add_wide(word, (rql_uint128)rql_packed_get(slot->values, cell));
		else if (slot->kind == RQL_SLOT_SUM_REAL)
			add_real(word, slot->real[cell]);
		else
			fold_extreme(slot, cell, word);
	}
}

bool rql_cube_add_tested(struct rql_cube_groups *g, const struct rql_cube_bound_box *box, struct rql_cube_span span,
                         uint64_t group)
{
	const struct rql_prepared *p = g->prepared;
	struct strip s;
	bool one = !box->tests_group;
	for (s.begin = span.begin; s.begin < span.end; s.begin += s.count) {
		uint64_t left = span.end - s.begin;
		s.count = left < RQL_CUBE_STRIP ? (uint32_t)left : RQL_CUBE_STRIP;
		test_strip(box, p->kernels, group, &s);
		if (!s.passed)
			continue;
		if (!rql_cube_groups_reserve(g, s.passed))
			return false;
		if (one) {
			s.row[0] = rql_cube_groups_row(g, group);
			s.row[0][0] += s.passed;
		} else {
			for (uint32_t i = 0; i < s.passed; i++)
				s.row[i] = rql_cube_groups_row(g, s.group[i]);
		}
		/* Cells are counted along with the first slot when that is a sum. */
		bool along = !one && p->slot_count && is_plain_sum(&p->slots[0]);
		if (!one && !along)
			scatter(&s, NULL, 0, 0, true, false);
		for (uint32_t i = 0; i < p->slot_count; i++)
			add_strip_slot(p, &p->slots[i], &s, one, along && i == 0);
		g->cells_covered += s.passed;
	}
	uint64_t cells = span.end - span.begin;
	g->runs++;
	g->cells_read += cells;
	g->bytes_read += cells * p->byte_bits / 8;
	return true;
}
