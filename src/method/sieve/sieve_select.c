/* A run on the CPU: blocks under all predicates, by all threads, then the blocks that have rows. */
#include "method/sieve/sieve_query.h"
#include "util/simd.h"

#define WORDS RQL_SIEVE_WORDS
#define MORSEL 8u /* blocks: their vectors stay in the first caches until their values have come */

struct selecting {
	const struct rql_prepared *p;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	struct rql_sieve_test *tests;      /* [segments][predicates] */
	struct rql_sieve_doubt *doubts;    /* [threads][MORSEL] */
	uint64_t *tested;                  /* [threads] */
	uint64_t *bits;                    /* [blocks][WORDS] */
	bool *some;                        /* [blocks] */
};

static bool is_cancelled(const struct selecting *s)
{
	return s->progress && atomic_load(&s->progress->cancel);
}

/* A block of the morsel, in its segment. */
struct place {
	const struct rql_sieve_test *tests;
	uint32_t block;
	struct rql_sieve_doubt *doubt;
};

static struct place place_of(const struct selecting *s, uint64_t block, unsigned worker)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	const struct rql_store_segment *segment = rql_store_locate(snapshot, block);
	return (struct place){.tests = s->tests + (segment - snapshot->segments) * s->p->count,
	                      .block = (uint32_t)(block - segment->first_block),
	                      .doubt = &s->doubts[worker * MORSEL + block % MORSEL]};
}

static void select_blocks(void *state, uint64_t index, unsigned worker)
{
	const struct selecting *s = state;
	const uint32_t count = s->p->count;
	const uint64_t first = index * MORSEL, blocks = s->p->snapshot->blocks;
	const uint64_t end = first + MORSEL < blocks ? first + MORSEL : blocks;
	if (is_cancelled(s))
		return;
	for (uint64_t b = first; b < end; b++) {
		const struct place at = place_of(s, b, worker);
		s->some[b] = rql_sieve_block_vectors(at.tests, count, at.block, s->bits + b * WORDS, at.doubt);
		if (s->some[b])
			rql_sieve_block_fetch(at.tests, count, at.block, s->bits + b * WORDS, at.doubt);
	}
	for (uint64_t b = first; b < end; b++) {
		const struct place at = place_of(s, b, worker);
		if (s->some[b])
			s->some[b] = rql_sieve_block_values(at.tests, count, s->kernels, at.block, at.doubt, s->bits + b * WORDS,
			                                    &s->tested[worker]);
	}
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

static rql_status open_selecting(struct selecting *s, struct rql_device *cpu, struct rql_arena *arena,
                                 struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	const unsigned threads = rql_pool_threads(cpu->pool);
	const uint64_t bytes = (snapshot->blocks + 1) * WORDS * sizeof(*s->bits);
	s->doubts = RQL_NEW_ARRAY(arena, struct rql_sieve_doubt, (uint64_t)threads * MORSEL);
	s->tested = RQL_NEW_ARRAY(arena, uint64_t, threads);
	s->some = RQL_NEW_ARRAY(arena, bool, snapshot->blocks + 1);
	s->bits = rql_arena_alloc(arena, bytes); /* every block that counts is written whole */
	bool ok = s->doubts && s->tested && s->some && s->bits;
	for (unsigned d = 0; d < threads * MORSEL && ok; d++) {
		s->doubts[d].maybe = rql_arena_alloc(arena, (uint64_t)s->p->count * WORDS * sizeof(uint64_t));
		ok = s->doubts[d].maybe != NULL;
	}
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
		if (count != b)
			memcpy(s->bits + count * WORDS, s->bits + b * WORDS, WORDS * sizeof(*s->bits));
		list[count++] = (uint32_t)b;
	}
	*out = (struct rql_port){.kind = RQL_PORT_ROWS, .rows = {.block_count = count, .blocks = list, .bits = s->bits}};
	return RQL_OK;
}

static rql_status select_rows(struct selecting *s, struct rql_device *cpu, struct rql_arena *arena,
                              struct rql_port *out, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = s->p->snapshot;
	RQL_TRY(open_selecting(s, cpu, arena, err));
	double bytes = 0;
	for (uint32_t g = 0; g < snapshot->segment_count; g++) {
		RQL_TRY(bind_segment(s, g, cpu, arena, err));
		for (uint32_t t = 0; t < s->p->count; t++)
			bytes += rql_sieve_test_reads(&s->tests[(uint64_t)g * s->p->count + t]) *
			         (double)snapshot->segments[g].blocks * RQL_STORE_BLOCK / 8;
	}
	rql_pool_run(cpu->pool, (snapshot->blocks + MORSEL - 1) / MORSEL, select_blocks, s);
	if (is_cancelled(s))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	RQL_TRY(list_blocks(s, arena, out, err));
	for (unsigned t = 0; t < rql_pool_threads(cpu->pool); t++)
		out->cells_read += s->tested[t];
	out->bytes_read = (uint64_t)bytes + out->cells_read * 8;
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
