/* Radix sort of fixed-size records by the top bits of their first words.
 *
 * One pass over memory splits the records by their leading key bits into parts that fit a core's second-level cache;
 * each part is then finished there, least significant digit first, over those bits only that vary inside it. A part
 * that is still too large (skewed keys) is split again by the bits that vary. Threads split disjoint stripes of the
 * input into slots computed from all stripes' histograms, so the result is stable and independent of their number. */
#include "column/record_sort.h"

#include <string.h>

#define PART_BYTES (UINT64_C(256) << 10)
#define SPLIT_BITS 11u /* of the first pass: as many open targets as the TLB and the cache bear */
#define RESPLIT_BITS 8u
#define PASS_BITS 11u /* of an in-cache pass */
#define FEW 48u       /* records that are sorted by insertion */

struct window {
	uint32_t word, shift, bits;
};

static inline uint64_t window_of(const uint64_t *record, struct window window)
{
	return record[window.word] >> window.shift & ((UINT64_C(1) << window.bits) - 1);
}

static inline void copy_record(uint64_t *to, const uint64_t *from, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		to[i] = from[i];
}

/* The bits of word l that are key. */
static uint64_t key_mask(const struct rql_records *sort, uint32_t l)
{
	uint32_t bits = sort->limb_bits[l];
	return bits ? UINT64_MAX << (64 - bits) : 0;
}

/* ---- moving records; `words` is a constant wherever it matters ---- */

static inline __attribute__((always_inline)) void histogram(const uint64_t *records, uint64_t rows, uint32_t words,
                                                            struct window window, uint32_t *counts)
{
	for (uint64_t i = 0; i < rows; i++)
		counts[window_of(records + i * words, window)]++;
}

static inline __attribute__((always_inline)) void scatter(const uint64_t *records, uint64_t rows, uint32_t words,
                                                          struct window window, uint64_t *next, uint64_t *target)
{
	for (uint64_t i = 0; i < rows; i++)
		copy_record(target + next[window_of(records + i * words, window)]++ * words, records + i * words, words);
}

#define FOR_WORDS(words, call)                                                                                         \
	switch (words) {                                                                                                   \
	case 1: {                                                                                                          \
		enum { W = 1 };                                                                                                \
		call;                                                                                                          \
		break;                                                                                                         \
	}                                                                                                                  \
	case 2: {                                                                                                          \
		enum { W = 2 };                                                                                                \
		call;                                                                                                          \
		break;                                                                                                         \
	}                                                                                                                  \
	case 3: {                                                                                                          \
		enum { W = 3 };                                                                                                \
		call;                                                                                                          \
		break;                                                                                                         \
	}                                                                                                                  \
	default: {                                                                                                         \
		const uint32_t W = (words);                                                                                    \
		call;                                                                                                          \
	}                                                                                                                  \
	}

static void run_histogram(const uint64_t *records, uint64_t rows, uint32_t words, struct window window,
                          uint32_t *counts)
{
	memset(counts, 0, (sizeof(*counts)) << window.bits);
	FOR_WORDS(words, histogram(records, rows, W, window, counts))
}

static void run_scatter(const uint64_t *records, uint64_t rows, uint32_t words, struct window window, uint64_t *next,
                        uint64_t *target)
{
	FOR_WORDS(words, scatter(records, rows, W, window, next, target))
}

/* ---- one part ---- */

static bool record_less(const struct rql_records *sort, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t l = 0; l < sort->limbs; l++) {
		uint64_t mask = key_mask(sort, l), x = a[l] & mask, y = b[l] & mask;
		if (x != y)
			return x < y;
	}
	return false;
}

static void insertion_sort(const struct rql_records *sort, uint64_t *records, uint64_t *spare, uint64_t rows)
{
	uint32_t words = sort->words;
	for (uint64_t i = 1; i < rows; i++) {
		uint64_t j = i;
		if (!record_less(sort, records + i * words, records + (i - 1) * words))
			continue;
		copy_record(spare, records + i * words, words);
		for (; j > 0 && record_less(sort, spare, records + (j - 1) * words); j--)
			copy_record(records + j * words, records + (j - 1) * words, words);
		copy_record(records + j * words, spare, words);
	}
}

/* The key bits of word l in which the records differ. */
static uint64_t varying(const struct rql_records *sort, const uint64_t *records, uint64_t rows, uint32_t l)
{
	uint64_t differ = 0, first = records[l];
	for (uint64_t i = 1; i < rows; i++)
		differ |= records[i * sort->words + l] ^ first;
	return differ & key_mask(sort, l);
}

/* Sorts by the bits that `differ` of word l, from its lowest; the records end in `records`. */
static void sort_word(const struct rql_records *sort, uint64_t *records, uint64_t *other, uint64_t rows, uint32_t l,
                      uint64_t differ)
{
	uint64_t *from = records, *to = other;
	while (differ) {
		uint32_t low = (uint32_t)__builtin_ctzll(differ), span = 64 - low - (uint32_t)__builtin_clzll(differ);
		uint32_t passes = (span + PASS_BITS - 1) / PASS_BITS;
		struct window window = {.word = l, .shift = low, .bits = (span + passes - 1) / passes};
		uint32_t counts[1u << PASS_BITS];
		uint64_t next[1u << PASS_BITS], sum = 0;
		run_histogram(from, rows, sort->words, window, counts);
		for (uint32_t i = 0; i < 1u << window.bits; i++) {
			next[i] = sum;
			sum += counts[i];
		}
		run_scatter(from, rows, sort->words, window, next, to);
		uint64_t *swap = from;
		from = to;
		to = swap;
		differ &= ~((((UINT64_C(1) << window.bits) - 1)) << low);
	}
	if (from != records)
		memcpy(records, from, rows * sort->words * 8);
}

/* Sorts rows records in place; other is as large. */
static void sort_part(const struct rql_crew *crew, const struct rql_records *sort, uint64_t *records, uint64_t *other,
                      uint64_t rows)
{
	if (rows < 2 || rql_crew_cancelled(crew))
		return;
	if (rows <= FEW) {
		insertion_sort(sort, records, other, rows);
		return;
	}
	uint64_t top = 0;
	uint32_t leading = 0;
	while (leading < sort->limbs && !(top = varying(sort, records, rows, leading)))
		leading++;
	if (!top)
		return;
	uint32_t high = 64 - (uint32_t)__builtin_clzll(top);
	bool one_pass = high - (uint32_t)__builtin_ctzll(top) <= PASS_BITS && leading + 1 == sort->limbs;
	if (rows * sort->words * 8 <= 2 * PART_BYTES || one_pass) {
		for (uint32_t l = sort->limbs; l-- > leading + 1;)
			sort_word(sort, records, other, rows, l, varying(sort, records, rows, l));
		sort_word(sort, records, other, rows, leading, top);
		return;
	}
	struct window window = {
		.word = leading, .shift = high > RESPLIT_BITS ? high - RESPLIT_BITS : 0, .bits = RESPLIT_BITS};
	uint32_t counts[1u << RESPLIT_BITS];
	uint64_t next[1u << RESPLIT_BITS], sum = 0;
	/* The window must not reach below the key into the payload. */
	uint32_t lowest = 64 - sort->limb_bits[leading];
	if (window.shift < lowest) {
		window.shift = lowest;
		window.bits = high - lowest;
	}
	run_histogram(records, rows, sort->words, window, counts);
	for (uint32_t i = 0; i < 1u << window.bits; i++) {
		next[i] = sum;
		sum += counts[i];
	}
	run_scatter(records, rows, sort->words, window, next, other);
	memcpy(records, other, rows * sort->words * 8);
	for (uint32_t i = 0; i < 1u << window.bits; i++) {
		uint64_t offset = (next[i] - counts[i]) * sort->words;
		sort_part(crew, sort, records + offset, other + offset, counts[i]);
	}
}

/* ---- the first split, by all threads ---- */

struct split {
	const struct rql_crew *crew;
	const struct rql_records *sort;
	struct window window;
	uint32_t parts, stripes;
	uint64_t *next;   /* [stripes][parts] */
	uint64_t *starts; /* [parts + 1] */
};

static uint64_t stripe_start(const struct split *split, uint64_t stripe)
{
	return split->sort->rows / split->stripes * stripe +
	       (stripe == split->stripes ? split->sort->rows % split->stripes : 0);
}

static void count_stripe(void *state, uint64_t stripe, unsigned thread)
{
	(void)thread;
	const struct split *split = state;
	uint64_t *counts = split->next + stripe * split->parts;
	uint64_t row = stripe_start(split, stripe), end = stripe_start(split, stripe + 1);
	memset(counts, 0, split->parts * sizeof(*counts));
	while (row < end) { /* 32-bit counters in the inner loop, and a chance to be cancelled */
		uint32_t small[1u << SPLIT_BITS];
		uint64_t rows = end - row < UINT64_C(1) << 22 ? end - row : UINT64_C(1) << 22;
		if (rql_crew_cancelled(split->crew))
			return;
		run_histogram(split->sort->records + row * split->sort->words, rows, split->sort->words, split->window, small);
		for (uint32_t p = 0; p < split->parts; p++)
			counts[p] += small[p];
		row += rows;
	}
}

static void scatter_stripe(void *state, uint64_t stripe, unsigned thread)
{
	(void)thread;
	const struct split *split = state;
	uint64_t first = stripe_start(split, stripe), end = stripe_start(split, stripe + 1);
	uint64_t *next = split->next + stripe * split->parts;
	while (first < end) {
		uint64_t rows = end - first < UINT64_C(1) << 20 ? end - first : UINT64_C(1) << 20;
		if (rql_crew_cancelled(split->crew))
			return;
		run_scatter(split->sort->records + first * split->sort->words, rows, split->sort->words, split->window, next,
		            split->sort->scratch);
		first += rows;
	}
}

static void finish_part(void *state, uint64_t part, unsigned thread)
{
	(void)thread;
	const struct split *split = state;
	uint64_t offset = split->starts[part] * split->sort->words, rows = split->starts[part + 1] - split->starts[part];
	sort_part(split->crew, split->sort, split->sort->scratch + offset, split->sort->records + offset, rows);
	if (split->sort->progress)
		rql_crew_advance(split->crew, rows);
}

static rql_status split_and_sort(struct split *split, struct rql_error *err)
{
	struct rql_mem *mem = split->crew->mem;
	uint64_t sum = 0;
	RQL_TRY(RQL_MEM_ARRAY(mem, split->next, (uint64_t)split->stripes * split->parts, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, split->starts, (uint64_t)split->parts + 1, err));
	rql_crew_run(split->crew, split->stripes, count_stripe, split);
	for (uint32_t p = 0; p < split->parts; p++) {
		split->starts[p] = sum;
		for (uint32_t s = 0; s < split->stripes; s++) {
			uint64_t count = split->next[(uint64_t)s * split->parts + p];
			split->next[(uint64_t)s * split->parts + p] = sum;
			sum += count;
		}
	}
	split->starts[split->parts] = sum;
	if (!rql_crew_cancelled(split->crew))
		rql_crew_run(split->crew, split->stripes, scatter_stripe, split);
	if (!rql_crew_cancelled(split->crew))
		rql_crew_run(split->crew, split->parts, finish_part, split);
	rql_mem_free(mem, split->next);
	rql_mem_free(mem, split->starts);
	return rql_crew_cancelled(split->crew) ? rql_crew_interrupted(err) : RQL_OK;
}

rql_status rql_sort_records(const struct rql_crew *crew, const struct rql_records *sort, uint64_t **sorted,
                            struct rql_error *err)
{
	uint64_t bytes = sort->rows * sort->words * 8;
	struct split split = {.crew = crew, .sort = sort, .stripes = rql_crew_threads(crew)};
	*sorted = sort->records;
	if (!sort->limbs)
		return RQL_OK;
	if (bytes <= PART_BYTES) {
		sort_part(crew, sort, sort->records, sort->scratch, sort->rows);
		return rql_crew_cancelled(crew) ? rql_crew_interrupted(err) : RQL_OK;
	}
	/* The leading bits that are the same everywhere split nothing. */
	uint64_t differ = varying(sort, sort->records, sort->rows, 0);
	if (!differ) {
		sort_part(crew, sort, sort->records, sort->scratch, sort->rows);
		return rql_crew_cancelled(crew) ? rql_crew_interrupted(err) : RQL_OK;
	}
	uint32_t high = 64 - (uint32_t)__builtin_clzll(differ), lowest = 64 - sort->limb_bits[0], bits = 1;
	while (bits < SPLIT_BITS && bits < high - lowest && bytes >> bits > PART_BYTES / 2)
		bits++;
	split.window = (struct window){.word = 0, .shift = high - bits, .bits = bits};
	split.parts = 1u << bits;
	*sorted = sort->scratch;
	return split_and_sort(&split, err);
}
