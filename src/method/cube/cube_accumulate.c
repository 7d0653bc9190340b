/* Where cells become sums, in the rows of a worker's groups (group/groups.h). */
#include "method/cube/cube_query.h"

/* Folds what cell `cell` has for a slot that keeps an extreme into the row's word; for kinds without a faster way. */
static void fold_extreme(const struct rql_cube_slot *slot, uint64_t cell, uint64_t *word)
{
	if (slot->valid && rql_packed_get(slot->valid, cell) == 0)
		return;
	const enum rql_state_kind kind = slot->state.kind;
	switch (kind) {
	case RQL_STATE_MIN_FIELD:
	case RQL_STATE_MAX_FIELD:
		rql_state_fold_field(word, rql_packed_field(slot->values, cell), kind == RQL_STATE_MAX_FIELD);
		break;
	case RQL_STATE_MIN_WIDE:
	case RQL_STATE_MAX_WIDE:
		rql_state_fold_wide(word, rql_packed_get(slot->values, cell), kind == RQL_STATE_MAX_WIDE);
		break;
	default:
		rql_state_fold_real(word, slot->real[cell], kind == RQL_STATE_MAX_REAL);
		break;
	}
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
	switch (slot->state.kind) {
	case RQL_STATE_COUNT:
	case RQL_STATE_SUM:
		p->kernels->span_sums(slot->values, slot->cumulative, spans, count, sums);
		for (size_t i = 0; i < count; i++)
			rows[i][slot->state.word] += sums[i];
		break;
	case RQL_STATE_SUM_WIDE:
		for (size_t i = 0; i < count; i++)
			rql_state_add_wide(rows[i] + slot->state.word, (rql_int128)(prefix_wide(p, slot, spans[i].end) -
			                                                            prefix_wide(p, slot, spans[i].begin)));
		break;
	case RQL_STATE_SUM_REAL:
		for (size_t i = 0; i < count; i++)
			rql_state_add_real(rows[i] + slot->state.word, p->kernels->sum_real(slot->real, spans[i].begin, spans[i].end));
		break;
	case RQL_STATE_MIN_FIELD:
	case RQL_STATE_MAX_FIELD:
		if (!slot->valid) {
			for (size_t i = 0; i < count; i++) {
				uint64_t *word = rows[i] + slot->state.word, other = slot->state.kind == RQL_STATE_MIN_FIELD ? 0 : UINT64_MAX;
				bool max = slot->state.kind == RQL_STATE_MAX_FIELD;
				p->kernels->extremes(slot->values, spans[i].begin, spans[i].end, max ? &other : word,
				                     max ? word : &other);
			}
			break;
		} /* fall through */
	default:
		for (size_t i = 0; i < count; i++)
			for (uint64_t cell = spans[i].begin; cell < spans[i].end; cell++)
				fold_extreme(slot, cell, rows[i] + slot->state.word);
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
		s->row[0][slot->state.word] += sum;
	} else if (cells) {
		scatter(s, value, base, slot->state.word, true, true);
	} else {
		scatter(s, value, base, slot->state.word, false, true);
	}
}

static bool is_plain_sum(const struct rql_cube_slot *slot)
{
	return slot->state.kind == RQL_STATE_COUNT || slot->state.kind == RQL_STATE_SUM;
}

static void add_strip_slot(const struct rql_prepared *p, const struct rql_cube_slot *slot, struct strip *s, bool one,
                           bool cells)
{
	if (is_plain_sum(slot)) {
		add_strip_sum(p->kernels, slot, s, one, cells);
		return;
	}
	for (uint32_t i = 0; i < s->passed; i++) {
		uint64_t cell = s->begin + s->at[i], *word = s->row[one ? 0 : i] + slot->state.word;
		if (slot->state.kind == RQL_STATE_SUM_WIDE)
			rql_state_add_wide(word, rql_packed_get(slot->values, cell));
		else if (slot->state.kind == RQL_STATE_SUM_REAL)
			rql_state_add_real(word, slot->real[cell]);
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
		if (!rql_groups_reserve(&g->table, s.passed))
			return false;
		if (one) {
			s.row[0] = rql_groups_row(&g->table, group);
			s.row[0][0] += s.passed;
		} else {
			for (uint32_t i = 0; i < s.passed; i++)
				s.row[i] = rql_groups_row(&g->table, s.group[i]);
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
