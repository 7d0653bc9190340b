/* What a request will find, from a sample: zone maps of up to SAMPLED_MAPS blocks, and rows of up to SAMPLED_BLOCKS of
 * those that the maps leave, each of which goes through every step by itself, so that a step's share does not hang on
 * another's (P. Haas, A. Swami: Sequential Sampling Procedures for Query Size Estimation, SIGMOD 1992, treats how many
 * rows it takes). What bounds and maps say before is the prior where few rows passed. A few of the blocks go
 * through whole, by the clock: a look-up of keys that mostly lie outside a map costs a third of one inside.
 *
 * Floor: a cache line a row and column, some thousands in all, and the steps of TIMED_BLOCKS blocks: 50 to 200 us, once
 * for all candidates of a text. Where an index has counted the rows, none is drawn: the zone maps alone are read. */
#include "method/scan/scan_query.h"

#include <math.h>

#define SAMPLED_MAPS 512u
#define SAMPLED_BLOCKS 16u
#define SAMPLED_ROWS 64u /* of a block */
#define ENOUGH_SEEN 16u  /* rows that passed, to forget what was thought before */
#define TIMED_BLOCKS 3u  /* the first of them touches fresh memory */
#define ENOUGH_RUNS 32u  /* rows of timed blocks that passed, to say how they lie */
#define LEAST_RUN 1.5    /* less is chance */

/* ---- zone maps ---- */

/* Fills `left` with blocks that have something to read, in order. Of all blocks, or the middles of equal runs of them. */
static uint32_t sample_maps(const struct rql_scan *scan, uint64_t *left, double *read_share)
{
	uint64_t blocks = scan->snapshot->blocks, samples = blocks < SAMPLED_MAPS ? blocks : SAMPLED_MAPS;
	uint32_t read = 0;
	for (uint64_t s = 0; s < samples; s++) {
		uint64_t block = (2 * s + 1) * blocks / (2 * samples);
		const struct rql_store_segment *segment = rql_store_locate(scan->snapshot, block);
		if (rql_scan_may_pass(scan, segment, (uint32_t)(block - segment->first_block)))
			left[read++] = block;
	}
	*read_share = samples ? (double)read / (double)samples : 1;
	return read;
}

/* ---- rows ---- */

struct sampling {
	struct rql_scan_worker *worker;
	struct rql_sample *sample;
	uint32_t rows, passed;                        /* seen; through all steps */
	uint32_t passed_step[RQL_SAMPLED_STEPS];      /* of them */
	bool failed[RQL_SAMPLED_STEPS];               /* programs, in some row */
	/* Of timed blocks: rows that passed, and words of 64 rows that had some, of how many */
	uint32_t whole_passed[RQL_SAMPLED_STEPS], words_hit[RQL_SAMPLED_STEPS], words;
};

/* Every block_rows / SAMPLED_ROWS-th row, not always the same ones: keys often come in a pattern. */
static uint32_t draw_rows(uint64_t *mask, uint32_t block_rows, uint64_t block)
{
	uint32_t stride = block_rows > SAMPLED_ROWS ? block_rows / SAMPLED_ROWS : 1, count = 0;
	uint64_t noise = block;
	memset(mask, 0, RQL_SCAN_VALID_WORDS * sizeof(*mask));
	for (uint32_t first = 0; first < block_rows; first += stride) {
		noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint32_t row = first + (uint32_t)((noise >> 33) % stride);
		if (row < block_rows) {
			rql_bit_set(mask, row);
			count++;
		}
	}
	return count;
}

/* One step alone: over the rows drawn or, by the clock, over all of the block. */
static rql_status sample_step(struct sampling *s, uint32_t step, const uint64_t *drawn, uint32_t rows, bool timed)
{
	struct rql_scan_worker *w = s->worker;
	uint32_t words = (w->block_rows + 63) / 64;
	double *cost = &s->sample->costs[step];
	if (timed)
		rql_scan_fill_mask(w->mask, w->block_rows);
	else
		memcpy(w->mask, drawn, RQL_SCAN_VALID_WORDS * sizeof(*drawn));
	w->left = timed ? w->block_rows : rows;
	w->full = w->left == w->block_rows;
	w->generation++;
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_scan_apply(w, step));
	double ns = (double)(rql_now_ns() - start) / w->block_rows;
	if (timed && (*cost < 0 || ns < *cost))
		*cost = ns;
	for (uint32_t i = 0; i < words; i++) {
		s->whole_passed[step] += timed ? (uint32_t)__builtin_popcountll(w->mask[i]) : 0;
		s->words_hit[step] += timed && w->mask[i];
		w->mask[i] &= drawn[i];
	}
	return RQL_OK;
}

static void sample_block(struct sampling *s, uint64_t block, bool timed)
{
	struct rql_scan_worker *w = s->worker;
	uint64_t drawn[RQL_SCAN_VALID_WORDS], all[RQL_SCAN_VALID_WORDS];
	w->segment = rql_store_locate(w->scan->snapshot, block);
	w->block = (uint32_t)(block - w->segment->first_block);
	w->block_rows = w->segment->columns[0].blocks[w->block].rows;
	uint32_t rows = draw_rows(drawn, w->block_rows, block);
	memcpy(all, drawn, sizeof(all));
	for (uint32_t i = 0; i < s->sample->step_count; i++) {
		if (sample_step(s, i, drawn, rows, timed) != RQL_OK) {
			rql_error_clear(&w->error);
			s->failed[i] = true;
			continue;
		}
		s->passed_step[i] += (uint32_t)rql_bits_count(w->mask, w->block_rows);
		for (uint32_t word = 0; word < (w->block_rows + 63) / 64; word++)
			all[word] &= w->mask[word];
	}
	s->words += timed ? (w->block_rows + 63) / 64 : 0;
	s->rows += rows;
	s->passed += (uint32_t)rql_bits_count(all, w->block_rows);
}

/* `seen` of n; when that is seldom, as if it had been seen once in 1 / prior before. */
static double share_of(uint32_t seen, uint32_t n, double prior)
{
	if (seen >= ENOUGH_SEEN)
		return (double)seen / n;
	return prior > 0 ? fmin(1, (seen + 1) / (n + 1 / prior)) : (double)seen / (n ? n : 1);
}

/* Rows that lay anywhere would be in as many words if they were fewer by this. */
static double run_of(const struct sampling *s, uint32_t step)
{
	double hit = s->words ? (double)s->words_hit[step] / s->words : 1;
	if (s->failed[step] || s->whole_passed[step] < ENOUGH_RUNS || hit > 0.9)
		return 1;
	double run = s->whole_passed[step] / (-log(1 - hit) * s->words);
	return run < LEAST_RUN ? 1 : run;
}

/* Without memory for a worker the priors stand. */
static void sample_rows(struct rql_scan *scan, const uint64_t *left, uint32_t count, struct rql_sample *sample)
{
	struct sampling s = {.sample = sample};
	uint32_t steps = sample->step_count, blocks = count < SAMPLED_BLOCKS ? count : SAMPLED_BLOCKS;
	if (steps && blocks && rql_scan_worker_new(scan, &s.worker, NULL) == RQL_OK) {
		for (uint32_t b = 0; b < blocks; b++)
			sample_block(&s, left[(2 * b + 1) * count / (2 * blocks)], steps > 1 && b < TIMED_BLOCKS);
		s.worker->counts = (struct rql_scan_counts){0};
		s.worker->next = scan->idle; /* a first run will want one */
		scan->idle = s.worker;
	}
	double product = 1;
	bool failed = !s.rows;
	for (uint32_t i = 0; i < steps; i++) {
		/* What the maps have dropped, no row drops again. */
		double prior = sample->read_share > 0 ? fmin(1, scan->steps[i].pass / sample->read_share) : 1;
		sample->steps[i] = s.rows && !s.failed[i] ? share_of(s.passed_step[i], s.rows, prior) : prior;
		sample->runs[i] = run_of(&s, i);
		product *= sample->steps[i];
		failed |= s.failed[i];
	}
	sample->pass = failed ? product : share_of(s.passed, s.rows, product);
}

/* Somebody has counted the rows of the only step: the zone maps are all that is read. How the rows lie is not known. */
static void take_count(struct rql_sample *sample)
{
	const double left = sample->read_share > 0 ? sample->read_share : 1;
	sample->pass = sample->steps[0] = fmin(1, sample->counted_share / left);
	sample->runs[0] = 1;
}

/* Of rows that are on a device there is nothing to see: what is expected stands. */
static void guess_form(const struct rql_scan *scan, struct rql_sample *sample)
{
	sample->pass = fmin(1, scan->expected_rows / (double)scan->snapshot->rows);
	for (uint32_t i = 0; i < sample->step_count; i++) {
		sample->steps[i] = scan->steps[i].pass;
		sample->runs[i] = 1;
		sample->pass *= sample->steps[i];
	}
}

void rql_scan_take_sample(struct rql_scan *scan, struct rql_sample *sample)
{
	uint64_t left[SAMPLED_MAPS];
	sample->step_count = scan->step_count < RQL_SAMPLED_STEPS ? scan->step_count : RQL_SAMPLED_STEPS;
	sample->read_share = sample->pass = 1;
	for (uint32_t i = 0; i < sample->step_count; i++)
		sample->costs[i] = -1;
	if (rql_is_form(scan->snapshot)) {
		guess_form(scan, sample);
	} else if (scan->step_count) {
		uint32_t count = sample_maps(scan, left, &sample->read_share);
		if (sample->counted && sample->step_count == 1)
			take_count(sample);
		else
			sample_rows(scan, left, count, sample);
	}
	sample->taken = true;
}
