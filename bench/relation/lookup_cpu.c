/* Forms of indexes on the CPU, one after another: built, looked up in by all threads, checked, reported. Those of SQL
 * are src/method/index/forms/; the rivals are lookup_cpu_search.c's. Rays are left out. */
#include "bench/relation/lookup_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/common/stats.h"
#include "method/index/forms/index_map.h"
#include "util/sort.h"
#include "util/threads.h"

#define CHUNK UINT64_C(16384) /* probes that a thread takes at a time */

#define MAP .kind = RQL_RX_KIND_MAP
static const struct rql_rx_form radix = {.name = "sorted", MAP, .directory = true},
                                halves = {.name = "binary search", MAP},
                                guesses = {.name = "interpolation", MAP, .interpolation = true},
                                kary = {.name = "k-ary", MAP, .kary = true},
                                tree = {.name = "B+ tree", MAP, .tree = true},
                                hash = {.name = "hashed", MAP, .hashed = true},
                                direct = {.name = "direct", MAP, .direct = true};
const struct rql_rx_form *const rql_lookup_cpu_forms[] = {&radix, &halves, &guesses, &kary,
                                                          &tree,  &hash,   &direct,  NULL};

struct running {
	struct rql_relation_bench *b;
	struct rql_lookup_world *w;
	const struct rql_rx_form *form;
	struct rql_pool *pool;
	bool own, made;              /* own: a map of SQL's, else searched keys; made: it is there */
	struct rql_index_map map;
	struct rql_searched searched;
	uint64_t *sums;              /* [keys + 1], before each place of an ordered form, where sums are asked for */
	struct rql_index_pair *pairs; /* of sorted probes: their keys and numbers, in order; NULL: as they come */
	struct rql_index_pair *spare[2];
	uint64_t first, end;         /* probes of the batch */
	double build_ms;
};

/* ---- structures ---- */

static enum rql_index_form map_form(const struct rql_rx_form *f)
{
	return f->directory ? RQL_INDEX_SORTED : f->tree ? RQL_INDEX_BTREE : f->hashed ? RQL_INDEX_HASH : RQL_INDEX_DIRECT;
}

static const uint32_t *rows_of(const struct running *r)
{
	return r->own ? r->map.rows : r->searched.rows;
}

/* Of keys in their order. */
static rql_status make_sums(struct running *r, struct rql_error *err)
{
	const uint64_t count = r->w->keys;
	if (!r->w->sum || (r->own && r->map.form == RQL_INDEX_HASH))
		return RQL_OK;
	if (!(r->sums = malloc((count + 1) * sizeof *r->sums)))
		return rql_error_memory(err, (count + 1) * sizeof *r->sums, "sums");
	r->sums[0] = 0;
	for (uint64_t i = 0; i < count; i++)
		r->sums[i + 1] = r->sums[i] + rql_lookup_value(r->w, rows_of(r)[i]);
	return RQL_OK;
}

static rql_status make(struct running *r, struct rql_index_pair *pairs, struct rql_index_pair *spare,
                       struct rql_error *err)
{
	const struct rql_lookup_world *w = r->w;
	const struct rql_rx_form *f = r->form;
	for (uint64_t row = 0; row < w->keys; row++)
		pairs[row] = (struct rql_index_pair){rql_lookup_word(w->key, w->narrow, row), (uint32_t)row};
	if (r->own) {
		RQL_TRY(rql_index_map_make(map_form(f), pairs, spare, (uint32_t)w->keys, NULL, NULL, &r->map, err));
		r->made = true;
		return RQL_OK;
	}
	const struct rql_index_pair *sorted =
		rql_sort_keyed(pairs, spare, w->keys, sizeof *pairs, offsetof(struct rql_index_pair, key));
	const enum rql_search_way way = f->kary            ? RQL_SEARCH_KARY
	                                : f->interpolation ? RQL_SEARCH_INTERPOLATION
	                                                   : RQL_SEARCH_BINARY;
	return rql_searched_make(way, w->narrow, sorted, w->keys, &r->searched, err);
}

static rql_status build(struct running *r, struct rql_error *err)
{
	const struct rql_lookup_world *w = r->w;
	const struct rql_rx_form *f = r->form;
	r->own = f->directory || f->tree || f->hashed || f->direct;
	if (f->kind != RQL_RX_KIND_MAP)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "rays need a GPU");
	if (f->kary && w->sum)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a search tree in the keys' own memory has no sums");
	if (f->hashed && w->shape->width)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a hash has no ranges");
	if (f->direct && w->last >= w->keys)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the keys are not dense");
	struct rql_index_pair *pairs = malloc(w->keys * sizeof *pairs), *spare = malloc(w->keys * sizeof *pairs);
	const uint64_t start = rql_now_ns();
	rql_status status = pairs && spare ? make(r, pairs, spare, err)
	                                   : rql_error_memory(err, w->keys * sizeof *pairs * 2, "keys and rows");
	if (status == RQL_OK)
		status = make_sums(r, err);
	r->build_ms = (double)(rql_now_ns() - start) / 1e6;
	free(pairs);
	free(spare);
	return status;
}

static double bytes_of(const struct running *r)
{
	const double n = (double)r->w->keys, key = r->w->narrow ? 4 : 8, sums = r->sums ? n * 8 : 0;
	return sums + (r->own ? (double)r->map.mem.held : n * (key + 4));
}

/* ---- looking up: a block at a time ---- */

struct block {
	uint32_t count;
	uint64_t key[RQL_SEARCH_BLOCK], end[RQL_SEARCH_BLOCK]; /* end: last key of the range */
	uint64_t probe[RQL_SEARCH_BLOCK];                      /* where its answer goes */
};

static void load(const struct running *r, uint64_t first, uint64_t end, struct block *block)
{
	const struct rql_lookup_world *w = r->w;
	const uint64_t most = w->narrow ? UINT32_MAX : UINT64_MAX, width = w->shape->width;
	block->count = (uint32_t)(end - first < RQL_SEARCH_BLOCK ? end - first : RQL_SEARCH_BLOCK);
	for (uint32_t i = 0; i < block->count; i++) {
		const uint64_t at = first + i, key = r->pairs ? r->pairs[at].key : rql_lookup_word(w->point, w->narrow, at);
		block->key[i] = key;
		block->end[i] = !width ? key : key > most - (width - 1) ? most : key + width - 1;
		block->probe[i] = r->pairs ? r->pairs[at].row : at;
	}
}

static uint64_t sum_of(const struct running *r, const uint32_t *rows, uint64_t count)
{
	uint64_t sum = 0;
	if (!count)
		return 0;
	if (r->sums)
		return r->sums[(uint64_t)(rows - r->map.rows) + count] - r->sums[rows - r->map.rows];
	for (uint64_t i = 0; i < count; i++)
		sum += rql_lookup_value(r->w, rows[i]);
	return sum;
}

/* What the memory brings first for all of them is asked for before any of them is looked up. */
static void find_in_map(const struct running *r, const struct block *block)
{
	for (uint32_t i = 0; i < block->count; i++)
		rql_index_map_fetch(&r->map, block->key[i]);
	for (uint32_t i = 0; i < block->count; i++) {
		const uint32_t *rows = NULL;
		const uint32_t count = rql_index_map_find(&r->map, block->key[i], block->end[i], &rows);
		if (r->w->row)
			r->w->row[block->probe[i]] = count ? rows[0] : RQL_LOOKUP_CPU_NO_ROW;
		else
			r->w->sum[block->probe[i]] = sum_of(r, rows, count);
	}
}

static void sum_searched(const struct running *r, const struct block *block, const uint64_t *places)
{
	const uint64_t most = r->w->narrow ? UINT32_MAX : UINT64_MAX;
	uint64_t next[RQL_SEARCH_BLOCK], ends[RQL_SEARCH_BLOCK];
	for (uint32_t i = 0; i < block->count; i++)
		next[i] = block->end[i] == most ? most : block->end[i] + 1;
	rql_searched_find(&r->searched, next, block->count, ends);
	for (uint32_t i = 0; i < block->count; i++) {
		const uint64_t end = block->end[i] == most ? r->searched.count : ends[i];
		r->w->sum[block->probe[i]] = r->sums[end] - r->sums[places[i]];
	}
}

static void find_searched(const struct running *r, const struct block *block)
{
	const struct rql_searched *s = &r->searched;
	uint64_t places[RQL_SEARCH_BLOCK];
	rql_searched_find(s, block->key, block->count, places);
	if (r->w->sum) {
		sum_searched(r, block, places);
		return;
	}
	for (uint32_t i = 0; i < block->count; i++) {
		const uint64_t at = places[i];
		const bool is = at < s->count && rql_lookup_word(s->keys, s->narrow, at) == block->key[i];
		r->w->row[block->probe[i]] = is ? s->rows[at] : RQL_LOOKUP_CPU_NO_ROW;
	}
}

static void look_up_chunk(void *state, uint64_t chunk, unsigned worker)
{
	const struct running *r = state;
	const uint64_t first = r->first + chunk * CHUNK, end = r->end - first < CHUNK ? r->end : first + CHUNK;
	struct block block;
	(void)worker;
	for (uint64_t at = first; at < end; at += block.count) {
		load(r, at, end, &block);
		if (r->own)
			find_in_map(r, &block);
		else
			find_searched(r, &block);
	}
}

/* ---- runs ---- */

static void sort_probes(struct running *r)
{
	const struct rql_lookup_world *w = r->w;
	for (uint64_t i = 0; i < w->probes; i++)
		r->spare[0][i] = (struct rql_index_pair){rql_lookup_word(w->point, w->narrow, i), (uint32_t)i};
	r->pairs = rql_sort_keyed(r->spare[0], r->spare[1], w->probes, sizeof *r->pairs, offsetof(struct rql_index_pair, key));
}

static double run_once(struct running *r)
{
	const uint64_t start = rql_now_ns(), probes = r->w->probes, batches = UINT64_C(1) << r->w->shape->log2_batches;
	const uint64_t each = probes / batches ? probes / batches : probes;
	if (r->w->shape->sorted)
		sort_probes(r);
	for (r->first = 0; r->first < probes; r->first = r->end) {
		r->end = r->first + each;
		rql_pool_each(r->pool, (each + CHUNK - 1) / CHUNK, look_up_chunk, r);
	}
	return (double)(rql_now_ns() - start);
}

static void report(struct running *r, const struct rql_samples *samples, bool good)
{
	struct rql_relation_bench *b = r->b;
	struct rql_strbuf *j = &b->json;
	const double ms = rql_samples_median(samples) / 1e6, bytes = bytes_of(r) / (double)r->w->keys;
	printf("%-44s %-26s %9.3f ms  %6.1f ns a probe  %s\n  %.1f bytes a key, built in %.1f ms by one thread\n",
	       r->w->shape->name, r->form->name, ms, ms * 1e6 / (double)r->w->probes, good ? "right" : "WRONG", bytes,
	       r->build_ms);
	fflush(stdout);
	rql_strbuf_put(j, b->measured ? ",\n  {" : "\n  {");
	rql_json_string(j, "case", r->w->shape->name);
	rql_json_string(j, "variant", r->form->name);
	rql_json_number(j, "ms", ms);
	rql_json_number(j, "least_ms", rql_samples_min(samples) / 1e6);
	rql_json_bool(j, "right", good);
	rql_json_count(j, "threads", rql_pool_threads(r->pool));
	rql_json_number(j, "bytes_a_key", bytes);
	rql_json_number(j, "build_ms", r->build_ms);
	rql_json_count(j, "keys", r->w->keys);
	rql_json_count(j, "probes", r->w->probes);
	rql_json_count(j, "probes_found", r->w->found);
	rql_strbuf_put(j, "}");
	b->measured++;
	b->wrong += !good;
}

static rql_status run_form(struct running *r, struct rql_error *err)
{
	struct rql_samples samples = {0};
	RQL_TRY(build(r, err));
	for (int64_t i = 0; i <= r->b->options->runs; i++) {
		const double ns = run_once(r);
		if (i)
			rql_samples_add(&samples, ns);
	}
	report(r, &samples, rql_lookup_world_check(r->w));
	return RQL_OK;
}

/* What a form does not have is said and left out. */
static rql_status try_form(struct running *r, struct rql_error *err)
{
	struct rql_error why = {0};
	const rql_status status = run_form(r, &why);
	if (r->made)
		rql_index_map_clear(&r->map);
	rql_searched_free(&r->searched);
	free(r->sums);
	if (status == RQL_ERROR_UNSUPPORTED) {
		printf("%-44s %-26s left out: %s\n", r->w->shape->name, r->form->name, rql_error_message(&why));
		rql_error_clear(&why);
		return RQL_OK;
	}
	rql_error_move(err, &why);
	return status;
}

static rql_status run_forms(struct rql_relation_bench *b, struct rql_lookup_world *w, struct rql_pool *pool,
                            struct rql_error *err)
{
	const uint64_t bytes = w->shape->sorted ? w->probes * sizeof(struct rql_index_pair) : 0;
	struct running base = {.b = b, .w = w, .pool = pool, .spare = {malloc(bytes), malloc(bytes)}};
	rql_status status = RQL_OK;
	if (bytes && !(base.spare[0] && base.spare[1]))
		status = rql_error_memory(err, bytes * 2, "sorted probes");
	for (uint32_t f = 0; w->shape->forms[f] && status == RQL_OK; f++) {
		struct running r = base;
		r.form = w->shape->forms[f];
		if (rql_relation_form_wanted(b, r.form->name))
			status = try_form(&r, err);
	}
	free(base.spare[0]);
	free(base.spare[1]);
	return status;
}

rql_status rql_lookup_cpu_run(struct rql_relation_bench *b, const struct rql_rx_shape *shape, struct rql_error *err)
{
	struct rql_lookup_world w;
	struct rql_pool *pool = NULL;
	if (shape->partitioned || shape->moved || shape->added) {
		printf("%-44s left out: probes are partitioned, or keys changed, on GPUs alone\n", shape->name);
		return RQL_OK;
	}
	RQL_TRY(rql_pool_new(0, &pool, err));
	rql_status status = rql_lookup_world_new(b, shape, &w, err);
	if (status == RQL_OK) {
		status = run_forms(b, &w, pool, err);
		rql_lookup_world_free(&w);
	}
	rql_pool_free(pool);
	if (shape->paper)
		printf("  the paper: %s\n", shape->paper);
	return status;
}
