/* Runs in a side file: written as they are, and given to segments that store the same. */
#include "method/runs.h"

#include <stdlib.h>

static const struct rql_run_family *family_of(const struct rql_index_of *of)
{
	return of->form == RQL_INDEX_SIEVE ? &rql_runs_of_sieves : &rql_runs_of_indexes;
}

static const struct rql_run_family *family_named(const char *kind, const char **own)
{
	static const struct rql_run_family *const all[] = {&rql_runs_of_indexes, &rql_runs_of_sieves};
	for (uint32_t f = 0; f < sizeof all / sizeof *all; f++)
		for (const char *const *k = all[f]->kinds; *k; k++)
			if (strcmp(*k, kind) == 0) {
				*own = *k;
				return all[f];
			}
	return NULL;
}

static bool is_of_columns(const struct rql_place *a, const struct rql_place *b)
{
	return a->part == b->part && strcmp(a->key ? a->key : "", b->key ? b->key : "") == 0;
}

/* ---- on devices ---- */
/* A map there lies at the place of the run that it was made of. */
static bool is_map_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                      const struct rql_place *at)
{
	struct rql_place own;
	char key[RQL_RUN_KEY];
	bool is = false;
	for (uint32_t i = 0; !is && family_of(of)->place(segment, of, i, &own, key); i++)
		is = strcmp(at->kind, own.kind) == 0 && is_of_columns(at, &own);
	return is;
}

static bool is_placed_by(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_place *at)
{
	const enum rql_sieve_refine refine = of->sieve.refine;
	const bool sieve = of->form == RQL_INDEX_SIEVE;
	struct rql_place own;
	char key[RQL_RUN_KEY];
	if (strcmp(at->kind, "sieve space") == 0)
		return sieve && refine >= RQL_SIEVE_RTC1;
	if (strcmp(at->kind, "sieve order") == 0)
		return sieve && at->part == of->column && (rql_sieve_has_order(refine) || refine == RQL_SIEVE_AUTO);
	const bool blocks = strcmp(at->kind, "sieve blocks") == 0;
	if (blocks || strcmp(at->kind, "sieve") == 0)
		return sieve && (!blocks || refine == RQL_SIEVE_BLOCKS || refine == RQL_SIEVE_AUTO) && at->part == of->column &&
		       family_of(of)->place(segment, of, 0, &own, key) && strcmp(at->key, own.key) == 0;
	const bool rays = of->form == RQL_INDEX_RX || of->form == RQL_INDEX_CGRX;
	if (rays && family_of(of)->place(segment, of, 0, &own, key)) {
		char rays_key[RQL_RUN_KEY];
		own = rql_index_rays_place(of, &own, rays_key);
		return strcmp(at->kind, own.kind) == 0 && is_of_columns(at, &own);
	}
	return !sieve && !rays && is_map_of(segment, of, at);
}

const char *rql_index_part_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                              const struct rql_place *at)
{
	static const char *const names[][2] = {
		{"sieve", "vectors"}, {"sieve order", "order"}, {"sieve blocks", "blocks"}, {"sieve space", "spaces"},
		{"rx", "rays"}, {"cgrx", "rays"}, {"sorted", "map"}, {"hash", "map"}, {"direct", "map"}, {"btree", "map"}};
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(at->kind, names[i][0]) == 0)
			return !of || is_placed_by(segment, of, at) ? names[i][1] : NULL;
	return NULL;
}

/* ---- the columns of segments that parts name ---- */
struct stored {
	const struct rql_index_part *part;
	const struct rql_store_segment *segment;
	uint64_t digest[RQL_STORE_DIGEST]; /* of a file's */
};
struct listing {
	struct stored *list;
	uint32_t count;
};

static void digest_one(void *state, uint64_t index, unsigned worker)
{
	struct stored *s = &((struct listing *)state)->list[index];
	const struct rql_index_of *of = &s->part->of;
	uint64_t both[2][RQL_STORE_DIGEST];
	(void)worker;
	rql_store_digest(s->segment, of->column, s->digest);
	for (uint32_t i = 0; i < of->more_count; i++) { /* a key of several columns is of all of them, in their order */
		memcpy(both[0], s->digest, sizeof(both[0]));
		rql_store_digest(s->segment, of->more[i], both[1]);
		for (uint32_t w = 0; w < RQL_STORE_DIGEST; w++) {
			const uint64_t words[] = {both[0][w], both[1][w]};
			s->digest[w] = rql_frame_checksum(words, sizeof(words));
		}
	}
}

/* list: malloc'ed. */
static rql_status list_stored(const struct rql_index_part *parts, uint32_t count, struct listing *out,
                              struct rql_error *err)
{
	uint64_t segments = 0;
	for (uint32_t p = 0; p < count; p++)
		segments += parts[p].snapshot->segment_count;
	*out = (struct listing){.list = calloc(segments + 1, sizeof(*out->list))};
	if (!out->list)
		return rql_error_memory(err, segments * sizeof(*out->list), "a side file");
	for (uint32_t p = 0; p < count; p++)
		for (uint32_t s = 0; s < parts[p].snapshot->segment_count; s++)
			out->list[out->count++] =
				(struct stored){.part = &parts[p], .segment = &parts[p].snapshot->segments[s]};
	return RQL_OK;
}

/* With what the segments store, by which a file tells them apart: all their bytes are read. */
static rql_status list_digests(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu,
                               struct listing *out, struct rql_error *err)
{
	RQL_TRY(list_stored(parts, count, out, err));
	rql_pool_run(cpu->pool, out->count, digest_one, out);
	return RQL_OK;
}

/* ---- what is there ---- */
static rql_status make_none(const struct rql_place *at, struct rql_device *device, void *state,
                            struct rql_placement **out, struct rql_error *err)
{
	(void)at;
	(void)device;
	(void)state;
	(void)out;
	return rql_error_set(err, RQL_ERROR_STALE, "it has gone");
}

/* Calls once for each run that is there, which stays while it does. */
static rql_status each_run(const struct listing *all, struct rql_device *cpu,
                           rql_status (*once)(void *state, const struct stored *of, const struct rql_place *at,
                                              struct rql_placement *run, struct rql_error *err),
                           void *state, struct rql_error *err)
{
	for (uint32_t i = 0; i < all->count; i++) {
		const struct stored *s = &all->list[i];
		const struct rql_run_family *family = family_of(&s->part->of);
		char key[RQL_RUN_KEY];
		struct rql_place at;
		for (uint32_t k = 0; family->place(s->segment, &s->part->of, k, &at, key); k++) {
			struct rql_placement *run = NULL;
			if (!rql_placement_there(&at, cpu, NULL) ||
			    rql_placement_get(&at, cpu, make_none, NULL, &run, NULL) != RQL_OK)
				continue;
			RQL_TRY(once(state, s, &at, run, err));
		}
	}
	return RQL_OK;
}

static rql_status add_mark(void *state, const struct stored *of, const struct rql_place *at,
                           struct rql_placement *run, struct rql_error *err)
{
	uint64_t *mark = state;
	const uint64_t words[] = {(uintptr_t)of->segment->identity, at->part, rql_frame_checksum(at->kind, strlen(at->kind)),
	                          at->key ? rql_frame_checksum(at->key, strlen(at->key)) : 0};
	(void)err;
	*mark += rql_frame_checksum(words, sizeof(words)) | 1; /* in any order */
	rql_placement_release(run);
	return RQL_OK;
}

uint64_t rql_runs_mark(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu)
{
	struct listing all;
	uint64_t mark = 0;
	if (list_stored(parts, count, &all, NULL) == RQL_OK)
		(void)!each_run(&all, cpu, add_mark, &mark, NULL);
	free(all.list);
	return mark;
}

/* ---- the file ---- */
struct written {
	const struct stored *of;
	struct rql_place at;
	char key[RQL_RUN_KEY];
	struct rql_placement *run; /* with a reference */
};
struct walk {
	struct rql_device *cpu;
	struct listing all;
	/* writing */
	struct written *runs;
	uint32_t count, capacity;
	/* reading */
	const struct rql_index_part *parts;
	uint32_t part_count, taken;
};

static rql_status add_written(void *state, const struct stored *of, const struct rql_place *at,
                              struct rql_placement *run, struct rql_error *err)
{
	struct walk *w = state;
	if (w->count == w->capacity) {
		const uint32_t capacity = w->capacity ? w->capacity * 2 : 64;
		struct written *grown = realloc(w->runs, capacity * sizeof(*grown));
		if (!grown) {
			rql_placement_release(run);
			return rql_error_memory(err, capacity * sizeof(*grown), "a side file");
		}
		w->runs = grown;
		w->capacity = capacity;
	}
	struct written *to = &w->runs[w->count++];
	*to = (struct written){.of = of, .at = *at, .run = run};
	if (at->key)
		memcpy(to->key, at->key, sizeof(to->key)); /* a buffer of each_run's */
	return RQL_OK;
}

static rql_status visit_digest(struct rql_frame_file *file, uint64_t digest[RQL_STORE_DIGEST])
{
	for (uint32_t i = 0; i < RQL_STORE_DIGEST; i++)
		RQL_FRAME_VISIT(file, digest[i]);
	return RQL_OK;
}

static rql_status write_runs(struct rql_frame_file *file, struct walk *w)
{
	RQL_FRAME_VISIT(file, w->count);
	for (uint32_t i = 0; i < w->count; i++) {
		struct written *r = &w->runs[i];
		uint64_t digest[RQL_STORE_DIGEST];
		const char *kind = r->at.kind, *key = r->key;
		memcpy(digest, r->of->digest, sizeof(digest));
		RQL_TRY(visit_digest(file, digest));
		RQL_TRY(rql_frame_text(file, &kind));
		RQL_TRY(rql_frame_text(file, &key));
		RQL_TRY(family_of(&r->of->part->of)->visit(file, r->run));
	}
	return RQL_OK;
}

static rql_status hand_over(const struct rql_place *at, struct rql_device *device, void *state,
                            struct rql_placement **out, struct rql_error *err)
{
	struct rql_placement **run = state;
	(void)at;
	(void)device;
	(void)err;
	*out = *run;
	*run = NULL;
	return RQL_OK;
}

/* The first of the parts' segments that stores this and lacks such a run. */
static const struct stored *find_taker(const struct walk *w, const uint64_t *digest, const char *kind, const char *key,
                                       struct rql_place *at, char at_key[RQL_RUN_KEY])
{
	for (uint32_t i = 0; i < w->all.count; i++) {
		const struct stored *s = &w->all.list[i];
		if (memcmp(s->digest, digest, sizeof(s->digest)) != 0)
			continue;
		for (uint32_t k = 0; family_of(&s->part->of)->place(s->segment, &s->part->of, k, at, at_key); k++)
			if (strcmp(at->kind, kind) == 0 && strcmp(at->key ? at->key : "", key) == 0 &&
			    !rql_placement_there(at, w->cpu, NULL))
				return s;
	}
	return NULL;
}

/* Takes the run over. */
static rql_status give(struct rql_frame_file *file, struct walk *w, const struct rql_run_family *family,
                       const uint64_t *digest, const char *kind, const char *key, struct rql_placement **run)
{
	struct rql_place at;
	char at_key[RQL_RUN_KEY];
	struct rql_placement *placed = NULL;
	const struct stored *taker = find_taker(w, digest, kind, key, &at, at_key);
	const char *wrong = taker ? family->check(taker->segment, &at, *run) : NULL;
	if (wrong)
		return rql_frame_corrupt(file, wrong);
	if (!taker)
		return RQL_OK;
	rql_store_segment_watch(taker->segment, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, w->cpu, hand_over, run, &placed, file->err));
	rql_placement_release(placed);
	w->taken++;
	return RQL_OK;
}

static rql_status read_run(struct rql_frame_file *file, struct walk *w)
{
	uint64_t digest[RQL_STORE_DIGEST];
	const char *kind, *key, *own;
	RQL_TRY(visit_digest(file, digest));
	RQL_TRY(rql_frame_text(file, &kind));
	RQL_TRY(rql_frame_text(file, &key));
	const struct rql_run_family *family = family_named(kind, &own);
	if (!family)
		return rql_frame_corrupt(file, "it holds what no index has");
	struct rql_placement *run = family->open(own, w->cpu, w->part_count ? rql_store_budget(w->parts[0].snapshot) : NULL);
	if (!run)
		return rql_error_memory(file->err, 0, "reading a side file");
	rql_status status = family->visit(file, run);
	if (status == RQL_OK)
		status = give(file, w, family, digest, kind, key, &run);
	if (run)
		run->destroy(run);
	return status;
}

static rql_status visit_runs(struct rql_frame_file *file)
{
	struct walk *w = file->state;
	uint32_t count = 0;
	if (file->writing)
		return write_runs(file, w);
	RQL_FRAME_VISIT(file, count);
	for (uint32_t i = 0; i < count; i++) /* each takes bytes of the description: it ends before a wrong count does */
		RQL_TRY(read_run(file, w));
	return RQL_OK;
}

static bool no_type(struct rql_type type)
{
	(void)type;
	return false;
}

static const struct rql_frame_kind runs_kind = {.magic = "RayQLidx",
                                                .version = 2,
                                                .what = "an index",
                                                .advice = "what it lacks is made anew",
                                                .walk = visit_runs,
                                                .type_ok = no_type};

rql_status rql_runs_write(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu,
                          const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                          struct rql_error *err)
{
	struct walk walk = {.cpu = cpu};
	struct rql_frame_file file = {.kind = &runs_kind, .place = place, .state = &walk, .err = err};
	rql_status status = list_digests(parts, count, cpu, &walk.all, err);
	if (status == RQL_OK)
		status = each_run(&walk.all, cpu, add_written, &walk, err);
	if (status == RQL_OK)
		status = rql_frame_write(&file, identity, identity_size);
	for (uint32_t i = 0; i < walk.count; i++)
		rql_placement_release(walk.runs[i].run);
	free(walk.runs);
	free(walk.all.list);
	return status;
}

rql_status rql_runs_read(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu,
                         const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                         uint32_t *taken, struct rql_error *err)
{
	struct walk walk = {.cpu = cpu, .parts = parts, .part_count = count};
	struct rql_mem none;
	struct rql_frame_file file = {
		.kind = &runs_kind, .place = place, .state = &walk, .err = err, .mem = &none, .arena = rql_arena_new()};
	rql_mem_init(&none, NULL, place->path);
	rql_status status = file.arena ? list_digests(parts, count, cpu, &walk.all, err)
	                               : rql_error_memory(err, 0, "reading a side file");
	if (status == RQL_OK)
		status = rql_frame_read(&file, identity, identity_size);
	*taken = walk.taken;
	free(walk.all.list);
	rql_arena_free(file.arena);
	rql_mem_clear(&none);
	return status;
}

void rql_runs_seal(uint8_t *image, uint64_t size)
{
	rql_frame_seal(image, size);
}
