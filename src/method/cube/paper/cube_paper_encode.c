/* Cells become coordinates: measures packed into x (RTCUDB section 4.4), groups numbered for y (4.3), scan attributes
 * encoded for z (4.2), and what does not fit in arrays by primitive number (4.5). */
#include <stdlib.h>

#include "method/cube/cube_pack.h"
#include "method/cube/paper/cube_paper.h"

#define CHUNK (UINT64_C(1) << 15)         /* cells that a thread takes at once */
#define BITMAP_TUPLES (UINT64_C(1) << 30) /* combinations of group attributes that are marked in a bitmap: 128 MiB */

/* ---- x ---- */

void rql_paper_place_fields(const struct rql_cube *cube, const struct rql_paper_spec *spec,
                            struct rql_paper_field field[RQL_PAPER_COLUMNS], uint32_t *x_size)
{
	uint32_t used = 0;
	for (uint32_t c = 0; c < spec->column_count; c++) {
		uint32_t bits = rql_paper_packed(cube, &spec->column[c])->bits, room = RQL_GRID_BITS - used;
		uint32_t taken = bits < room ? bits : room, rest = bits - taken, log = 0;
		while (rest > 8u << log)
			log++;
		field[c] = (struct rql_paper_field){.shift = used, .bits = taken, .rest_bits = rest, .rest_log = log};
		used += taken;
	}
	*x_size = UINT32_C(1) << used;
}

/* ---- cells, one after the other ---- */

/* The digits of a cell: of the directory ones while the key lasts, of the residual ones by unpacking. */
struct walk {
	const struct rql_cube *cube;
	uint64_t key, key_end; /* the cells of `key` end there */
	uint32_t value[RQL_CUBE_MAX_DIMENSIONS];
};

static void walk_key(struct walk *w)
{
	uint64_t rest = w->key;
	for (uint32_t d = w->cube->directory_digits; d-- > 0;) {
		w->value[d] = (uint32_t)(rest % w->cube->digits[d].radix);
		rest /= w->cube->digits[d].radix;
	}
	w->key_end = rql_cube_cell_of(w->cube, w->key + 1);
}

static void walk_start(struct walk *w, const struct rql_cube *cube, uint64_t cell)
{
	uint64_t low = 0, high = cube->directory_size - 1; /* the last key that begins at or before the cell */
	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;
		if (rql_cube_cell_of(cube, middle) <= cell)
			low = middle;
		else
			high = middle - 1;
	}
	w->cube = cube;
	w->key = low;
	walk_key(w);
}

static void walk_to(struct walk *w, uint64_t cell)
{
	while (cell >= w->key_end) {
		w->key++;
		w->key_end = rql_cube_cell_of(w->cube, w->key + 1);
		if (cell < w->key_end)
			walk_key(w);
	}
	for (uint32_t d = w->cube->directory_digits; d < w->cube->digit_count; d++) {
		const struct rql_packed *codes = &w->cube->residual[d - w->cube->directory_digits];
		w->value[d] = (uint32_t)((uint64_t)codes->base + rql_packed_field(codes, cell));
	}
}

static uint32_t code_at(const struct walk *w, uint32_t dimension)
{
	const struct rql_cube_dimension *d = &w->cube->dimensions[dimension];
	return d->code_of_digit[w->value[d->digit]];
}

/* ---- groups ---- */

static uint64_t tuple_at(const struct rql_paper_encoding *e, const struct walk *w)
{
	uint64_t tuple = 0;
	for (uint32_t i = 0; i < e->spec->group_count; i++)
		tuple += code_at(w, e->spec->group[i]) * e->groups.tuple_stride[i];
	return tuple;
}

static uint64_t number_of(const struct rql_paper_groups *g, uint64_t tuple)
{
	if (g->bitmap) {
		uint64_t word = tuple / 64, below = rql_bit_mask(tuple % 64);
		return g->rank[word] + (uint64_t)__builtin_popcountll(g->bitmap[word] & below);
	}
	uint64_t low = 0, high = g->count;
	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;
		if (g->sorted[middle] <= tuple)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void mark_chunk(void *state, uint64_t index, unsigned worker)
{
	const struct rql_paper_encoding *e = state;
	uint64_t cells = e->cube->relation.cells, first = index * CHUNK,
			 end = first + CHUNK < cells ? first + CHUNK : cells;
	struct walk w;
	(void)worker;
	walk_start(&w, e->cube, first);
	for (uint64_t c = first; c < end; c++) {
		walk_to(&w, c);
		uint64_t tuple = tuple_at(e, &w), bit = UINT64_C(1) << (tuple & 63), *word = &e->groups.bitmap[tuple >> 6];
		if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
			__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	}
}

static void run_chunks(const struct rql_paper_encoding *e, uint64_t count, rql_chunk_fn *fn, void *state)
{
	if (e->pool) {
		rql_pool_run(e->pool, count, fn, state);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		fn(state, i, 0);
}

/* Few combinations: each has a bit, and a group's number is the rank of its own. */
static rql_status mark_groups(struct rql_paper_encoding *e, struct rql_error *err)
{
	struct rql_paper_groups *g = &e->groups;
	uint64_t words = (g->tuple_count + 63) / 64;
	void *memory = calloc(words, sizeof(uint64_t) + sizeof(uint32_t));
	if (!memory)
		return rql_error_memory(err, words * 12, "numbering the groups of a cube");
	e->memory = memory;
	g->bitmap = memory;
	g->rank = (uint32_t *)(g->bitmap + words);
	run_chunks(e, (e->cube->relation.cells + CHUNK - 1) / CHUNK, mark_chunk, e);
	for (uint64_t w = 0; w < words; w++) {
		g->rank[w] = (uint32_t)g->count;
		g->count += (uint64_t)__builtin_popcountll(g->bitmap[w]);
	}
	return RQL_OK;
}

static int by_tuple(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

/* Where a tuple is, or would be: entries are tuple + 1, 0 is free. */
static uint64_t *hash_slot(uint64_t *table, uint64_t capacity, uint64_t tuple)
{
	uint64_t at = (tuple * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
	for (;; at++) {
		uint64_t *slot = &table[at & (capacity - 1)];
		if (*slot == 0 || *slot == tuple + 1)
			return slot;
	}
}

static bool hash_grow(uint64_t **table, uint64_t *capacity)
{
	uint64_t *bigger = calloc(*capacity * 2, sizeof(*bigger));
	if (!bigger)
		return false;
	for (uint64_t i = 0; i < *capacity; i++)
		if ((*table)[i])
			*hash_slot(bigger, *capacity * 2, (*table)[i] - 1) = (*table)[i];
	free(*table);
	*table = bigger;
	*capacity *= 2;
	return true;
}

/* Too many combinations for that: the distinct ones are collected and sorted. */
static rql_status collect_groups(struct rql_paper_encoding *e, struct rql_error *err)
{
	struct rql_paper_groups *g = &e->groups;
	uint64_t capacity = 1024, count = 0, *table = calloc(capacity, sizeof(*table));
	struct walk w;
	bool memory = table != NULL;
	walk_start(&w, e->cube, 0);
	for (uint64_t c = 0; c < e->cube->relation.cells && memory; c++) {
		walk_to(&w, c);
		uint64_t tuple = tuple_at(e, &w), *slot = hash_slot(table, capacity, tuple);
		if (*slot)
			continue;
		*slot = tuple + 1;
		if (++count * 2 > capacity)
			memory = hash_grow(&table, &capacity);
	}
	if (!memory) {
		free(table);
		return rql_error_memory(err, capacity * 16, "numbering the groups of a cube");
	}
	uint64_t n = 0;
	for (uint64_t i = 0; i < capacity; i++)
		if (table[i])
			table[n++] = table[i] - 1;
	qsort(table, n, sizeof(*table), by_tuple);
	e->memory = table;
	g->sorted = table;
	g->count = n;
	return RQL_OK;
}

static rql_status keep_codes(struct rql_paper_encoding *e, struct rql_error *err)
{
	struct rql_paper_groups *g = &e->groups;
	uint32_t attributes = e->spec->group_count;
	bool memory = (g->codes = RQL_NEW_ARRAY(e->arena, uint32_t *, attributes)) != NULL;
	for (uint32_t i = 0; i < attributes && memory; i++)
		memory = (g->codes[i] = RQL_NEW_ARRAY(e->arena, uint32_t, g->count)) != NULL;
	if (!memory)
		return rql_error_memory(err, g->count * attributes * 4, "the groups of a cube");
	uint64_t at = 0;
	for (uint64_t w = 0; g->bitmap ? w < (g->tuple_count + 63) / 64 : w < g->count; w++) {
		uint64_t bits = g->bitmap ? g->bitmap[w] : 1;
		for (; bits; bits &= bits - 1, at++) {
			uint64_t tuple = g->bitmap ? w * 64 + (uint64_t)__builtin_ctzll(bits) : g->sorted[w];
			for (uint32_t i = 0; i < attributes; i++)
				g->codes[i][at] =
					(uint32_t)(tuple / g->tuple_stride[i] % e->cube->relation.dimensions[e->spec->group[i]].count);
		}
	}
	return RQL_OK;
}

/* 6.6: the first attribute is y, the others are fetched; numbers are mixed-radix. */
static void split_groups(struct rql_paper_encoding *e)
{
	struct rql_paper_groups *g = &e->groups;
	uint32_t first = e->cube->relation.dimensions[e->spec->group[0]].count;
	g->count = g->tuple_count;
	while (((first - 1) >> g->y_shift) + 1 > RQL_GRID_SIZE)
		g->y_shift++;
	g->y_size = ((first - 1) >> g->y_shift) + 1;
	g->y_stride = g->y_shift ? 0 : g->tuple_stride[0];
	for (uint32_t i = g->y_shift ? 0 : 1; i < e->spec->group_count; i++)
		g->stride[g->array_count++] = g->tuple_stride[i];
}

static rql_status number_groups(struct rql_paper_encoding *e, struct rql_error *err)
{
	struct rql_paper_groups *g = &e->groups;
	g->y_size = 1;
	g->count = 1;
	if (!e->spec->group_count)
		return RQL_OK;
	g->tuple_stride = RQL_NEW_ARRAY(e->arena, uint64_t, e->spec->group_count);
	if (!g->tuple_stride)
		return rql_error_memory(err, 0, "the groups of a cube");
	g->tuple_count = 1;
	for (uint32_t i = e->spec->group_count; i-- > 0;) { /* at most 2^62: bind_groups */
		g->tuple_stride[i] = g->tuple_count;
		g->tuple_count *= e->cube->relation.dimensions[e->spec->group[i]].count;
	}
	if (e->spec->options.variant == RQL_PAPER_SPLIT_GROUP) {
		split_groups(e);
		return RQL_OK;
	}
	g->count = 0;
	RQL_TRY(g->tuple_count <= BITMAP_TUPLES ? mark_groups(e, err) : collect_groups(e, err));
	RQL_TRY(keep_codes(e, err));
	while (((g->count - 1) >> g->y_shift) + 1 > RQL_GRID_SIZE)
		g->y_shift++;
	g->y_size = (uint32_t)((g->count - 1) >> g->y_shift) + 1;
	g->y_stride = g->y_shift ? 0 : 1;
	if (g->y_shift)
		g->stride[g->array_count++] = 1;
	return RQL_OK;
}

rql_status rql_paper_encoding_open(struct rql_paper_encoding *e, struct rql_error *err)
{
	rql_paper_place_fields(e->cube, e->spec, e->field, &e->x_size);
	e->z_size = rql_paper_z_size(e->cube, e->spec);
	return number_groups(e, err);
}

void rql_paper_encoding_close(struct rql_paper_encoding *e)
{
	free(e->memory);
	e->memory = NULL;
	e->groups.bitmap = e->groups.sorted = NULL;
	e->groups.rank = NULL;
}

/* ---- rows ---- */

struct encoding_run {
	const struct rql_paper_encoding *e;
	const struct rql_grid_axis *axes;
	uint64_t first, count;
	const struct rql_paper_rows *out;
	uint32_t test_count, tests[RQL_PAPER_TESTS];
};

/* What an entry of `1 << log` bytes holds of the value's lower bits. */
static void put_rest(uint8_t *array, uint64_t row, uint32_t log, uint64_t value)
{
	memcpy(array + (row << log), &value, (size_t)1 << log); /* little-endian, as everywhere in the cube */
}

static uint32_t put_measures(const struct encoding_run *run, uint64_t cell, uint64_t row)
{
	const struct rql_paper_encoding *e = run->e;
	uint32_t x = 0;
	for (uint32_t c = 0; c < e->spec->column_count; c++) {
		const struct rql_paper_field *f = &e->field[c];
		uint64_t value = rql_packed_field(rql_paper_packed(e->cube, &e->spec->column[c]), cell);
		if (f->bits)
			x |= (uint32_t)(value >> f->rest_bits) << f->shift;
		if (f->rest_bits)
			put_rest(run->out->rest[c], row, f->rest_log, value & rql_bit_mask(f->rest_bits));
	}
	return x;
}

static uint32_t put_group(const struct encoding_run *run, const struct walk *w, uint64_t row)
{
	const struct rql_paper_encoding *e = run->e;
	const struct rql_paper_groups *g = &e->groups;
	if (!e->spec->group_count)
		return 0;
	if (e->spec->options.variant == RQL_PAPER_SPLIT_GROUP) {
		uint32_t skipped = e->spec->group_count - g->array_count;
		for (uint32_t a = 0; a < g->array_count; a++)
			run->out->group[a][row] = code_at(w, e->spec->group[a + skipped]);
		return code_at(w, e->spec->group[0]) >> g->y_shift;
	}
	uint64_t number = number_of(g, tuple_at(e, w));
	if (g->array_count)
		run->out->group[0][row] = (uint32_t)number;
	return (uint32_t)(number >> g->y_shift);
}

static uint32_t put_scan(const struct encoding_run *run, const struct walk *w, uint64_t row)
{
	const struct rql_paper_spec *spec = run->e->spec;
	uint32_t z = 0;
	for (uint32_t i = 0; i < spec->encoded_count; i++) {
		uint32_t size = ((run->e->cube->relation.dimensions[spec->scan[i]].count - 1) >> spec->z_shift) + 1;
		z = z * size + (code_at(w, spec->scan[i]) >> spec->z_shift);
	}
	for (uint32_t t = 0; t < run->test_count; t++)
		run->out->test[t][row] = code_at(w, run->tests[t]);
	return z;
}

static void encode_chunk(void *state, uint64_t index, unsigned worker)
{
	const struct encoding_run *run = state;
	uint64_t first = index * CHUNK, end = first + CHUNK < run->count ? first + CHUNK : run->count;
	struct walk w;
	(void)worker;
	walk_start(&w, run->e->cube, run->first + first);
	for (uint64_t row = first; row < end; row++) {
		walk_to(&w, run->first + row);
		float *corner = run->out->corner[row];
		corner[0] = rql_grid_coordinate(&run->axes[0], put_measures(run, run->first + row, row));
		corner[1] = rql_grid_coordinate(&run->axes[1], put_group(run, &w, row));
		corner[2] = rql_grid_coordinate(&run->axes[2], put_scan(run, &w, row));
	}
}

void rql_paper_encode(const struct rql_paper_encoding *e, const struct rql_grid_axis axes[3], uint64_t first,
                      uint64_t count, const struct rql_paper_rows *out)
{
	struct encoding_run run = {.e = e, .axes = axes, .first = first, .count = count, .out = out};
	run.test_count = rql_paper_tests(e->spec, run.tests);
	run_chunks(e, (count + CHUNK - 1) / CHUNK, encode_chunk, &run);
}
