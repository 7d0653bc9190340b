/* A run on the CPU: blocks under all predicates, by all threads, each packed in its smallest form; then the blocks that
 * have rows. */
#include "method/sieve/sieve_positions.h"
#include "method/sieve/sieve_query.h"
#include "util/simd.h"

#define WORDS RQL_SIEVE_WORDS
#define MORSEL 8u /* blocks: their vectors stay in the first caches until their values have come */

/* Neighbouring blocks of a segment that a thread takes at once: a part of positions, or a few blocks whose values are
 * read. */
struct task {
	const struct rql_sieve_test *tests;
	uint64_t out; /* the first block in the snapshot */
	uint32_t first, count;
	bool by_positions;
};
struct selecting {
	const struct rql_prepared *p;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	struct rql_sieve_test *tests;   /* [segments][predicates] */
	struct task *tasks;             /* [task_count] */
	uint64_t task_count;
	struct hand *hands;             /* [threads] */
	struct rql_rows_room room;
	struct rql_rows_part *parts;    /* [blocks] */
	bool *some;                     /* [blocks]: it has a part */
};
/* Of a thread. */
struct hand {
	struct rql_sieve_doubt doubts[MORSEL];
	uint64_t *bits, *other; /* [blocks of a task][WORDS]: what passes, and by positions of one predicate */
	struct rql_rows_piece piece;
	uint64_t tested; /* values read, or rows turned over */
};

static bool is_cancelled(const struct selecting *s)
{
	return s->progress && atomic_load(&s->progress->cancel);
}

static uint32_t rows_of(const struct task *t, uint32_t b)
{
	return t->tests[0].view->blocks[t->first + b].rows;
}

static void pack(const struct selecting *s, struct hand *h, const struct task *t, uint32_t b)
{
	struct rql_rows_room *room = (struct rql_rows_room *)(uintptr_t)&s->room; /* its pieces are the threads' */
	s->some[t->out + b] =
		rql_rows_pack(room, &h->piece, h->bits + b * WORDS, rows_of(t, b), &s->parts[t->out + b]);
}

static void select_by_values(const struct selecting *s, const struct task *t, unsigned worker)
{
	const uint32_t count = s->p->count;
	struct hand *h = &s->hands[worker];
	for (uint32_t b = 0; b < t->count; b++) {
		uint64_t *bits = h->bits + b * WORDS;
		bool *some = &s->some[t->out + b];
		*some = rql_sieve_block_vectors(t->tests, count, t->first + b, bits, &h->doubts[b]);
		if (*some)
			rql_sieve_block_fetch(t->tests, count, t->first + b, bits, &h->doubts[b]);
	}
	for (uint32_t b = 0; b < t->count; b++)
		if (s->some[t->out + b] && rql_sieve_block_values(t->tests, count, s->kernels, t->first + b, &h->doubts[b],
		                                                  h->bits + b * WORDS, &h->tested))
			pack(s, h, t, b);
		else
			s->some[t->out + b] = false;
}

static void select_by_positions(const struct selecting *s, const struct task *t, unsigned worker)
{
	const uint32_t part = t->first / RQL_SIEVE_PART_BLOCKS;
	struct hand *h = &s->hands[worker];
	struct rql_rows_room *room = (struct rql_rows_room *)(uintptr_t)&s->room;
	uint64_t *bits = h->bits;
	bool first = true;
	for (uint32_t k = 0; k < s->p->count; k++) {
		const struct rql_sieve_test *test = &t->tests[k];
		const enum rql_sieve_part_says says = rql_sieve_part_ask(test->run, part, &test->predicate);
		if (says == RQL_SIEVE_PART_NONE)
			return;
		if (says == RQL_SIEVE_PART_ALL)
			continue;
		h->tested += rql_sieve_part_rows(test->run, s->kernels, test->view, part, &test->predicate,
		                                 first ? bits : h->other);
		for (uint32_t w = 0; w < t->count * WORDS && !first; w++)
			bits[w] &= h->other[w];
		first = false;
	}
	for (uint32_t b = 0; b < t->count && !first; b++)
		pack(s, h, t, b);
	for (uint32_t b = 0; b < t->count && first; b++) {
		rql_rows_pack_all(room, &h->piece, rows_of(t, b), &s->parts[t->out + b]);
		s->some[t->out + b] = true;
	}
}

static void select_task(void *state, uint64_t index, unsigned worker)
{
	const struct selecting *s = state;
	const struct task *t = &s->tasks[index];
	if (is_cancelled(s))
		return;
	if (t->by_positions)
		select_by_positions(s, t, worker);
	else
		select_by_values(s, t, worker);
}

static bool has_positions(const struct selecting *s, uint32_t segment)
{
	bool all = true;
	for (uint32_t t = 0; t < s->p->count; t++) {
		const struct rql_sieve_test *test = &s->tests[(uint64_t)segment * s->p->count + t];
		all = all && test->run && test->run->parts && test->predicate.count <= RQL_SIEVE_PART_RANGES_MOST;
	}
	return all;
}

static rql_status cut_tasks(struct selecting *s, struct rql_arena *arena, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	const uint64_t most = snapshot->blocks / MORSEL + snapshot->segment_count + 1;
	s->tasks = RQL_NEW_ARRAY(arena, struct task, most);
	if (!s->tasks)
		return rql_error_memory(err, most * sizeof(*s->tasks), "the rows of a sieve");
	for (uint32_t g = 0; g < snapshot->segment_count; g++) {
		const struct rql_store_segment *segment = &snapshot->segments[g];
		const bool positions = has_positions(s, g);
		const uint32_t step = positions ? RQL_SIEVE_PART_BLOCKS : MORSEL;
		for (uint32_t b = 0; b < segment->blocks; b += step)
			s->tasks[s->task_count++] = (struct task){.tests = s->tests + (uint64_t)g * s->p->count,
			                                          .out = segment->first_block + b,
			                                          .first = b,
			                                          .count = segment->blocks - b < step ? segment->blocks - b : step,
			                                          .by_positions = positions};
	}
	return RQL_OK;
}

/* A run that there is no room for is done without. */
static rql_status bind_segment(struct selecting *s, uint32_t segment, struct rql_device *cpu, struct rql_arena *arena,
                               struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	for (uint32_t t = 0; t < s->p->count; t++) {
		struct rql_sieve_test *test = &s->tests[(uint64_t)segment * s->p->count + t];
		struct rql_error why = {0};
		rql_status status =
			rql_sieve_run_get(snapshot, segment, &s->p->of[t], cpu, s->progress, &test->run, &why);
		if (status != RQL_OK && status != RQL_ERROR_LIMIT && status != RQL_ERROR_MEMORY) {
			rql_error_move(err, &why);
			return status;
		}
		rql_error_clear(&why);
		RQL_TRY(rql_sieve_test_make(test, &s->p->predicates[t],
		                            &snapshot->segments[segment].columns[s->p->of[t].column], arena, err));
	}
	return RQL_OK;
}

static bool open_hand(const struct selecting *s, struct hand *h, bool positions, struct rql_arena *arena)
{
	const uint64_t block = WORDS * sizeof(uint64_t), task = (positions ? RQL_SIEVE_PART_BLOCKS : MORSEL) * block;
	h->bits = rql_arena_alloc(arena, task);
	h->other = positions ? rql_arena_alloc(arena, task) : h->bits;
	bool ok = h->bits && h->other;
	for (unsigned d = 0; d < MORSEL && ok; d++) {
		h->doubts[d].maybe = rql_arena_alloc(arena, s->p->count * block);
		ok = h->doubts[d].maybe != NULL;
	}
	return ok;
}

static rql_status open_selecting(struct selecting *s, struct rql_device *cpu, struct rql_arena *arena,
                                 struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	const unsigned threads = rql_pool_threads(cpu->pool);
	const uint64_t bytes = rql_rows_room_bytes(snapshot->blocks, threads);
	s->hands = RQL_NEW_ARRAY(arena, struct hand, threads);
	s->some = RQL_NEW_ARRAY(arena, bool, snapshot->blocks + 1);
	s->parts = RQL_NEW_ARRAY(arena, struct rql_rows_part, snapshot->blocks + 1);
	s->room.bytes = rql_arena_alloc(arena, bytes); /* touched as far as the forms need it */
	bool ok = s->hands && s->some && s->parts && s->room.bytes, positions = false;
	for (uint64_t t = 0; t < s->task_count; t++)
		positions = positions || s->tasks[t].by_positions;
	for (unsigned t = 0; t < threads && ok; t++)
		ok = open_hand(s, &s->hands[t], positions, arena);
	return ok ? RQL_OK : rql_error_memory(err, bytes, "the rows of a sieve");
}

/* The blocks that have rows, closed up. */
static rql_status list_blocks(const struct selecting *s, struct rql_arena *arena, struct rql_port *out,
                              struct rql_error *err)
{
	const uint64_t blocks = s->p->snapshot->blocks;
	uint32_t *list = RQL_NEW_ARRAY(arena, uint32_t, blocks + 1);
	uint64_t count = 0;
	if (!list)
		return rql_error_memory(err, blocks * sizeof(*list), "the rows of a sieve");
	for (uint64_t b = 0; b < blocks; b++) {
		if (!s->some[b])
			continue;
		out->selected.forms[s->parts[b].form]++;
		out->selected.bytes += rql_rows_part_bytes(&s->parts[b]);
		s->parts[count] = s->parts[b];
		list[count++] = (uint32_t)b;
	}
	out->rows = (struct rql_rows){.block_count = count, .blocks = list, .parts = s->parts};
	return RQL_OK;
}

static rql_status select_rows(struct selecting *s, struct rql_device *cpu, struct rql_arena *arena,
                              struct rql_port *out, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	double bytes = 0;
	for (uint32_t g = 0; g < snapshot->segment_count; g++) {
		RQL_TRY(bind_segment(s, g, cpu, arena, err));
		for (uint32_t t = 0; t < s->p->count; t++)
			bytes += rql_sieve_test_reads(&s->tests[(uint64_t)g * s->p->count + t]) *
			         (double)snapshot->segments[g].blocks * RQL_STORE_BLOCK / 8;
	}
	RQL_TRY(cut_tasks(s, arena, err));
	RQL_TRY(open_selecting(s, cpu, arena, err));
	rql_pool_run(cpu->pool, s->task_count, select_task, s);
	if (is_cancelled(s))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	*out = (struct rql_port){.kind = RQL_PORT_ROWS, .selected = {.bytes = (uint64_t)bytes}};
	RQL_TRY(list_blocks(s, arena, out, err));
	for (unsigned t = 0; t < rql_pool_threads(cpu->pool); t++)
		out->selected.tested += s->hands[t].tested;
	out->selected.bytes += out->selected.tested * sizeof(uint64_t);
	return RQL_OK;
}

rql_status rql_sieve_select(const struct rql_prepared *p, struct rql_device *cpu, const struct rql_run *how,
                            struct rql_port *out, struct rql_error *err)
{
	const uint64_t tests = (uint64_t)p->snapshot->segment_count * p->count;
	struct selecting s = {.p = p,
	                      .kernels = rql_store_kernels_for(cpu->simd),
	                      .progress = how->progress,
	                      .tests = RQL_NEW_ARRAY(how->arena, struct rql_sieve_test, tests + 1)};
	if (!s.tests)
		return rql_error_memory(err, tests * sizeof(*s.tests), "the rows of a sieve");
	rql_status status = select_rows(&s, cpu, how->arena, out, err);
	for (uint64_t t = 0; t < tests; t++)
		rql_placement_release(s.tests[t].run ? &s.tests[t].run->placement : NULL);
	return status;
}
