/* Functional dependencies between coded columns: every city lies in one nation. They are looked for when a store is
 * built: most pairs of columns conflict within the first rows of a sample, and what is left is verified over all rows.
 * Appended rows are checked against what is known (Kimura et al.: Correlation Maps, VLDB 2009, keep soft ones, of which
 * these are the exact kind; Huhtala et al.: TANE, 1999, find them all).
 *
 * Floor: 4 bytes read of the codes of either column and a look-up in the first-level cache, a row and pair: about half a
 * nanosecond, beside the decoding of the columns that are left. */
#include "column/store/store_internal.h"

#include <stdlib.h>

#define MOST 64u          /* pairs that are kept */
#define MOST_CODES 4096u  /* of the determining column: its map stays in the first-level cache */
#define ROWS_PER_CODE 16u /* or every column that is nearly a key determines all others */
#define SAMPLED_BLOCKS 4u
#define GROWN 4u /* rows are so many times as many as when they were last looked for: again */

/* ---- what is kept ---- */

rql_status rql_store_dependencies_new(const struct rql_store_schema *schema, uint32_t count,
                                      struct rql_store_dependencies **out, struct rql_error *err)
{
	struct rql_store_dependencies *d = calloc(1, sizeof(*d));
	if (!d)
		return rql_error_memory(err, sizeof(*d), schema->name);
	atomic_init(&d->references, 1);
	rql_mem_init(&d->mem, schema->budget, schema->name);
	rql_status status = RQL_MEM_ZARRAY(&d->mem, d->list, count, err);
	if (status == RQL_OK)
		*out = d;
	else
		rql_store_dependencies_release(d);
	return status;
}

struct rql_store_dependencies *rql_store_dependencies_retain(struct rql_store_dependencies *d)
{
	atomic_fetch_add_explicit(&d->references, 1, memory_order_relaxed);
	return d;
}

void rql_store_dependencies_release(struct rql_store_dependencies *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->references, 1, memory_order_acq_rel) != 1)
		return;
	rql_mem_clear(&d->mem);
	free(d);
}

static uint32_t codes_of(const struct rql_store_snapshot *snapshot, uint32_t column)
{
	const struct rql_dimension *dimension = snapshot->columns[column].dimension;
	return dimension ? dimension->count : 0;
}

/* ---- comparing ---- */

/* Takes rows into a map; false: two of them conflict. Most rows say what is known: that needs no branch each. */
static bool take_rows(uint32_t *map, const uint32_t *from, const uint32_t *to, uint32_t rows)
{
	uint32_t differ = 0;
	for (uint32_t r = 0; r < rows; r++)
		differ |= map[from[r]] ^ to[r];
	for (uint32_t r = 0; differ && r < rows; r++) {
		if (map[from[r]] == RQL_STORE_NONE)
			map[from[r]] = to[r];
		else if (map[from[r]] != to[r])
			return false;
	}
	return true;
}

static void clear_map(uint32_t *map, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		map[i] = RQL_STORE_NONE;
}

struct pair {
	uint32_t from, to;
	_Atomic bool conflict;
	uint32_t *map; /* of all segments that are done */
};
struct finding {
	const struct rql_store_snapshot *snapshot;
	const struct rql_store_kernels *kernels;
	struct rql_crew *crew;
	struct rql_mem *mem;
	struct pair *pairs;
	uint32_t pair_count;
	pthread_mutex_t lock; /* of the pairs' maps */
	_Atomic bool failed;  /* without memory a pair is not known to hold: none is kept */
};

/* ---- the sample ---- */

/* The sampled rows' codes of every column that may determine another or be determined. Not those that have one code
 * there: everything seems to determine them, and of many of them nothing else would be looked at. */
struct sample {
	uint32_t rows;
	uint32_t **codes; /* [columns]: NULL: neither */
};

static bool differ(const uint32_t *codes, uint32_t rows)
{
	uint32_t bits = 0;
	for (uint32_t r = 1; r < rows; r++)
		bits |= codes[r] ^ codes[0];
	return bits != 0;
}

static rql_status take_sample(const struct finding *f, struct sample *out, struct rql_error *err)
{
	const struct rql_store_snapshot *s = f->snapshot;
	uint64_t blocks = s->blocks < SAMPLED_BLOCKS ? s->blocks : SAMPLED_BLOCKS;
	RQL_TRY(RQL_MEM_ZARRAY(f->mem, out->codes, s->column_count, err));
	for (uint32_t c = 0; c < s->column_count; c++) {
		uint32_t codes = codes_of(s, c), rows = 0;
		if (codes < 2 || codes > MOST_CODES)
			continue;
		RQL_TRY(RQL_MEM_ARRAY(f->mem, out->codes[c], SAMPLED_BLOCKS * RQL_STORE_BLOCK, err));
		for (uint64_t b = 0; b < blocks; b++) {
			uint64_t block = (2 * b + 1) * s->blocks / (2 * blocks);
			const struct rql_store_segment *segment = rql_store_locate(s, block);
			const struct rql_store_view *view = &segment->columns[c];
			uint32_t at = (uint32_t)(block - segment->first_block);
			rql_store_decode_codes(f->kernels, view, at, 0, view->blocks[at].rows, out->codes[c] + rows);
			rows += view->blocks[at].rows;
		}
		out->rows = rows;
		if (!differ(out->codes[c], rows)) {
			rql_mem_free(f->mem, out->codes[c]);
			out->codes[c] = NULL;
		}
	}
	return RQL_OK;
}

/* The pairs that hold in the sample. */
static rql_status find_pairs(struct finding *f, const struct sample *sample, struct rql_error *err)
{
	const struct rql_store_snapshot *s = f->snapshot;
	uint32_t map[MOST_CODES];
	RQL_TRY(RQL_MEM_ZARRAY(f->mem, f->pairs, MOST, err));
	for (uint32_t from = 0; from < s->column_count; from++) {
		uint32_t codes = codes_of(s, from);
		if (!sample->codes[from] || (uint64_t)codes * ROWS_PER_CODE > s->rows)
			continue;
		for (uint32_t to = 0; to < s->column_count && f->pair_count < MOST; to++) {
			if (to == from || !sample->codes[to] || codes_of(s, to) > codes)
				continue;
			clear_map(map, codes);
			if (!take_rows(map, sample->codes[from], sample->codes[to], sample->rows))
				continue;
			struct pair *pair = &f->pairs[f->pair_count++];
			pair->from = from;
			pair->to = to;
			RQL_TRY(RQL_MEM_ARRAY(f->mem, pair->map, codes, err));
			clear_map(pair->map, codes);
		}
	}
	return RQL_OK;
}

/* ---- all rows ---- */

struct segment_work {
	uint32_t *maps;   /* the pairs' maps of this segment, one after another */
	uint32_t **codes; /* [columns]: of the present block */
	bool *decoded;    /* [columns] */
};

static void check_block(struct finding *f, const struct rql_store_segment *segment, uint32_t block,
                        struct segment_work *w)
{
	const uint32_t rows = segment->columns[0].blocks[block].rows;
	uint32_t *map = w->maps;
	memset(w->decoded, 0, f->snapshot->column_count * sizeof(*w->decoded));
	for (uint32_t p = 0; p < f->pair_count; map += codes_of(f->snapshot, f->pairs[p++].from)) {
		struct pair *pair = &f->pairs[p];
		if (atomic_load_explicit(&pair->conflict, memory_order_relaxed))
			continue;
		const uint32_t columns[2] = {pair->from, pair->to};
		for (int i = 0; i < 2; i++)
			if (!w->decoded[columns[i]]) {
				rql_store_decode_codes(f->kernels, &segment->columns[columns[i]], block, 0, rows, w->codes[columns[i]]);
				w->decoded[columns[i]] = true;
			}
		if (!take_rows(map, w->codes[pair->from], w->codes[pair->to], rows))
			atomic_store_explicit(&pair->conflict, true, memory_order_relaxed);
	}
}

/* Each code of the segment's map is a row more. */
static void merge_maps(struct finding *f, const uint32_t *map)
{
	pthread_mutex_lock(&f->lock);
	for (uint32_t p = 0; p < f->pair_count; p++) {
		struct pair *pair = &f->pairs[p];
		uint32_t codes = codes_of(f->snapshot, pair->from);
		for (uint32_t c = 0; c < codes; c++) {
			if (map[c] == RQL_STORE_NONE || map[c] == pair->map[c])
				continue;
			if (pair->map[c] == RQL_STORE_NONE)
				pair->map[c] = map[c];
			else
				pair->conflict = true;
		}
		map += codes;
	}
	pthread_mutex_unlock(&f->lock);
}

static rql_status make_work(struct finding *f, struct rql_mem *mem, struct segment_work *w)
{
	uint32_t columns = f->snapshot->column_count;
	uint64_t codes = 0;
	for (uint32_t p = 0; p < f->pair_count; p++)
		codes += codes_of(f->snapshot, f->pairs[p].from);
	RQL_TRY(RQL_MEM_ARRAY(mem, w->maps, codes, NULL));
	RQL_TRY(RQL_MEM_ZARRAY(mem, w->codes, columns, NULL));
	RQL_TRY(RQL_MEM_ZARRAY(mem, w->decoded, columns, NULL));
	clear_map(w->maps, (uint32_t)codes);
	for (uint32_t p = 0; p < f->pair_count; p++) {
		const uint32_t both[2] = {f->pairs[p].from, f->pairs[p].to};
		for (int i = 0; i < 2; i++)
			if (!w->codes[both[i]])
				RQL_TRY(RQL_MEM_ARRAY(mem, w->codes[both[i]], RQL_STORE_BLOCK, NULL));
	}
	return RQL_OK;
}

static void check_segment(void *state, uint64_t index, unsigned thread)
{
	struct finding *f = state;
	const struct rql_store_segment *segment = &f->snapshot->segments[index];
	struct segment_work w = {0};
	struct rql_mem mem;
	(void)thread;
	rql_mem_init(&mem, f->mem->budget, f->mem->what);
	if (make_work(f, &mem, &w) == RQL_OK) {
		for (uint32_t b = 0; b < segment->blocks && !rql_crew_cancelled(f->crew); b++)
			check_block(f, segment, b, &w);
		merge_maps(f, w.maps);
	} else {
		f->failed = true;
	}
	rql_mem_clear(&mem);
	rql_crew_advance(f->crew, segment->rows);
}

/* ---- the whole ---- */

static rql_status keep(const struct finding *f, const struct rql_store_schema *schema,
                       struct rql_store_dependencies **out, struct rql_error *err)
{
	struct rql_store_dependencies *kept;
	RQL_TRY(rql_store_dependencies_new(schema, f->pair_count, &kept, err));
	kept->rows = f->snapshot->rows;
	for (uint32_t p = 0; p < f->pair_count && !f->failed; p++) {
		const struct pair *pair = &f->pairs[p];
		uint32_t codes = codes_of(f->snapshot, pair->from), *map;
		if (pair->conflict)
			continue;
		rql_status status = RQL_MEM_ARRAY(&kept->mem, map, codes, err);
		if (status != RQL_OK) {
			rql_store_dependencies_release(kept);
			return status;
		}
		memcpy(map, pair->map, codes * sizeof(*map));
		kept->list[kept->count++] = (struct rql_store_dependency){.from = pair->from, .to = pair->to, .map = map};
	}
	*out = kept;
	return RQL_OK;
}

rql_status rql_store_dependencies_find(const struct rql_store_snapshot *snapshot, const struct rql_store_schema *schema,
                                       struct rql_crew *crew, struct rql_store_dependencies **out,
                                       struct rql_error *err)
{
	struct rql_mem mem;
	struct finding f = {
		.snapshot = snapshot, .kernels = rql_store_kernels_for(RQL_SIMD_AVX512), .crew = crew, .mem = &mem};
	struct sample sample = {0};
	if (pthread_mutex_init(&f.lock, NULL))
		return rql_error_memory(err, sizeof(f.lock), schema->name);
	rql_mem_init(&mem, schema->budget, schema->name);
	rql_status status = RQL_OK;
	if (snapshot->rows) {
		status = take_sample(&f, &sample, err);
		if (status == RQL_OK)
			status = find_pairs(&f, &sample, err);
	}
	if (status == RQL_OK && f.pair_count)
		rql_crew_run(crew, snapshot->segment_count, check_segment, &f);
	if (status == RQL_OK && rql_crew_cancelled(crew))
		status = rql_crew_interrupted(err);
	if (status == RQL_OK)
		status = keep(&f, schema, out, err);
	rql_mem_clear(&mem);
	pthread_mutex_destroy(&f.lock);
	return status;
}

rql_status rql_store_dependencies_extend(const struct rql_store_dependencies *before,
                                         const struct rql_store_schema *schema, const struct rql_store_growth *growth,
                                         uint64_t rows, struct rql_store_dependencies **out, struct rql_error *err)
{
	struct rql_store_dependencies *kept;
	RQL_TRY(rql_store_dependencies_new(schema, before->count, &kept, err));
	kept->rows = before->rows;
	for (uint32_t i = 0; i < before->count; i++) {
		struct rql_store_dependency d = before->list[i];
		const struct rql_store_growth *from = &growth[d.from], *to = &growth[d.to];
		uint32_t *map;
		if (from->count > MOST_CODES)
			continue;
		rql_status status = RQL_MEM_ARRAY(&kept->mem, map, from->count, err);
		if (status != RQL_OK) {
			rql_store_dependencies_release(kept);
			return status;
		}
		clear_map(map, from->count);
		for (uint32_t c = 0; c < from->before; c++)
			if (d.map[c] != RQL_STORE_NONE)
				map[from->step ? from->step[c] : c] = to->step ? to->step[d.map[c]] : d.map[c];
		bool holds = true;
		for (uint64_t first = 0; first < rows && holds; first += RQL_STORE_BLOCK)
			holds = take_rows(map, from->codes + first, to->codes + first,
			                  rows - first < RQL_STORE_BLOCK ? (uint32_t)(rows - first) : RQL_STORE_BLOCK);
		if (holds)
			kept->list[kept->count++] = (struct rql_store_dependency){.from = d.from, .to = d.to, .map = map};
		else
			rql_mem_free(&kept->mem, map);
	}
	*out = kept;
	return RQL_OK;
}

bool rql_store_dependencies_outgrown(const struct rql_store_dependencies *before, uint64_t rows)
{
	return rows / GROWN >= before->rows + 1;
}
