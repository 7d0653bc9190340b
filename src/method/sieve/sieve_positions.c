/* Positions made, and predicates by ranks. */
#include "method/sieve/sieve_positions.h"

#include "column/pack.h"
#include "util/simd.h"
#include "util/sort.h"

#define WORDS RQL_SIEVE_WORDS

static uint32_t blocks_of(const struct rql_sieve_run *run, uint32_t part)
{
	const uint32_t left = run->shape.block_count - part * RQL_SIEVE_PART_BLOCKS;
	return left < RQL_SIEVE_PART_BLOCKS ? left : RQL_SIEVE_PART_BLOCKS;
}

static uint32_t *starts_of(const struct rql_sieve_run *run, uint32_t part)
{
	return run->starts + (uint64_t)part * (run->shape.bins.count + 1);
}

/* ---- making ---- */
struct sorter {
	uint64_t *keys, *words, *spare; /* [RQL_SIEVE_PART_ROWS] */
	uint32_t *rows, *spare_rows;
};
struct making {
	struct rql_sieve_run *run;
	const struct rql_store_view *view;
	const struct rql_store_kernels *kernels;
	struct rql_progress *progress;
	struct sorter *sorters; /* [threads] */
};

/* Keys by row of the part; rows that have one. */
static uint32_t read_part(const struct making *m, struct sorter *s, uint32_t part)
{
	uint64_t valid[WORDS];
	uint32_t count = 0;
	for (uint32_t b = 0; b < blocks_of(m->run, part); b++) {
		const uint32_t block = part * RQL_SIEVE_PART_BLOCKS + b, rows = m->view->blocks[block].rows;
		rql_sieve_decode(m->kernels, m->view, block, 0, rows, s->keys + b * RQL_STORE_BLOCK, valid);
		for (uint32_t r = 0; r < rows; r++)
			if (rql_bit(valid, r))
				s->rows[count++] = b * RQL_STORE_BLOCK + r;
	}
	return count;
}

static int by_key(const void *context, uint32_t a, uint32_t b)
{
	const uint64_t *keys = context;
	return (keys[a] > keys[b]) - (keys[a] < keys[b]);
}

/* As one word each where a key's distance from the least and a row fit one. */
static void sort_part(struct sorter *s, uint32_t count)
{
	uint64_t least = UINT64_MAX, greatest = 0;
	for (uint32_t i = 0; i < count; i++) {
		least = s->keys[s->rows[i]] < least ? s->keys[s->rows[i]] : least;
		greatest = s->keys[s->rows[i]] > greatest ? s->keys[s->rows[i]] : greatest;
	}
	if (count && greatest - least >= UINT64_C(1) << (64 - RQL_SIEVE_PART_BITS)) {
		rql_sort_items(s->rows, s->spare_rows, count, by_key, s->keys);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		s->words[i] = (s->keys[s->rows[i]] - least) << RQL_SIEVE_PART_BITS | s->rows[i];
	const uint64_t *sorted = rql_sort_words(s->words, s->spare, count, RQL_SIEVE_PART_BITS);
	for (uint32_t i = 0; i < count; i++)
		s->rows[i] = (uint32_t)(sorted[i] & (RQL_SIEVE_PART_ROWS - 1));
}

static void make_part(void *state, uint64_t index, unsigned worker)
{
	const struct making *m = state;
	struct rql_sieve_part *part = &m->run->parts[index];
	struct sorter *s = &m->sorters[worker];
	uint32_t *starts = starts_of(m->run, (uint32_t)index), bin = 0;
	if (m->progress && atomic_load(&m->progress->cancel))
		return;
	part->count = read_part(m, s, (uint32_t)index);
	sort_part(s, part->count);
	memcpy(m->run->positions + part->first, s->rows, part->count * sizeof(*s->rows));
	for (uint32_t i = 0; i < part->count; i++) {
		const uint32_t at = rql_sieve_bin_of(&m->run->shape.bins, s->keys[s->rows[i]]);
		while (bin <= at)
			starts[bin++] = i;
	}
	while (bin <= m->run->shape.bins.count)
		starts[bin++] = part->count;
	part->least = part->count ? s->keys[s->rows[0]] : 0;
	part->greatest = part->count ? s->keys[s->rows[part->count - 1]] : 0;
}

static rql_status open_sorters(struct making *m, unsigned threads, struct rql_mem *scratch, struct rql_error *err)
{
	const uint64_t rows = (uint64_t)blocks_of(m->run, 0) * RQL_STORE_BLOCK; /* no part is larger than the first */
	RQL_TRY(RQL_MEM_ZARRAY(scratch, m->sorters, threads, err));
	for (unsigned t = 0; t < threads; t++) {
		struct sorter *s = &m->sorters[t];
		RQL_TRY(RQL_MEM_ARRAY(scratch, s->keys, rows, err));
		RQL_TRY(RQL_MEM_ARRAY(scratch, s->words, rows, err));
		RQL_TRY(RQL_MEM_ARRAY(scratch, s->spare, rows, err));
		RQL_TRY(RQL_MEM_ARRAY(scratch, s->rows, rows, err));
		RQL_TRY(RQL_MEM_ARRAY(scratch, s->spare_rows, rows, err));
	}
	return RQL_OK;
}

rql_status rql_sieve_positions_make(struct rql_sieve_run *run, const struct rql_store_segment *segment,
                                    const struct rql_store_view *view, struct rql_device *cpu,
                                    struct rql_progress *progress, struct rql_mem *scratch, struct rql_error *err)
{
	const uint32_t parts = rql_sieve_part_count(run->shape.block_count);
	struct making m = {.run = run, .view = view, .kernels = rql_store_kernels_for(cpu->simd), .progress = progress};
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->parts, parts, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->starts, (uint64_t)parts * (run->shape.bins.count + 1), err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->positions, segment->rows, err));
	run->position_count = (uint32_t)segment->rows;
	RQL_TRY(open_sorters(&m, rql_pool_threads(cpu->pool), scratch, err));
	for (uint32_t p = 0, first = 0; p < parts; p++) { /* NULLs leave some of the room unused */
		run->parts[p].first = first;
		for (uint32_t b = 0; b < blocks_of(run, p); b++)
			first += view->blocks[p * RQL_SIEVE_PART_BLOCKS + b].rows;
	}
	rql_pool_run(cpu->pool, parts, make_part, &m);
	if (progress && atomic_load(&progress->cancel))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
	return RQL_OK;
}

/* ---- ranks ---- */
static uint64_t key_at(const struct rql_store_kernels *kernels, const struct rql_store_view *view, uint32_t part,
                       uint32_t row)
{
	const uint32_t block = part * RQL_SIEVE_PART_BLOCKS + row / RQL_STORE_BLOCK, at = row % RQL_STORE_BLOCK;
	const struct rql_store_block *of = &view->blocks[block];
	uint64_t keys[64], valid[1];
	if (of->encoding == RQL_STORE_PACKED) {
		const struct rql_packed packed = {.data = (uint8_t *)(uintptr_t)view->bytes + (uint64_t)of->data * 64,
		                                  .bits = of->bits};
		return rql_sieve_packed_key(view, of, &packed, at);
	}
	const uint32_t first = at / 64 * 64, left = of->rows - first;
	rql_sieve_decode(kernels, view, block, first, left < 64 ? left : 64, keys, valid);
	return keys[at % 64];
}

/* How many rows of the part have a lower key. *bin: the key's. */
static uint32_t rank_of(const struct rql_sieve_run *run, const struct rql_store_kernels *kernels,
                        const struct rql_store_view *view, uint32_t part, uint64_t key, uint32_t *bin)
{
	const struct rql_sieve_part *p = &run->parts[part];
	const uint32_t *starts = starts_of(run, part);
	*bin = rql_sieve_bin_of(&run->shape.bins, key);
	const struct rql_sieve_bin *of = &run->shape.bins.bin[*bin];
	uint32_t low = starts[*bin], high = starts[*bin + 1];
	if (key <= of->least)
		return low;
	if (key > of->greatest)
		return high;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (key_at(kernels, view, part, run->positions[p->first + middle]) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- bits ---- */
static void turn_cut(const struct rql_sieve_run *run, uint32_t part, uint32_t cut_at, bool fresh, uint64_t *bits)
{
	const struct rql_sieve_cut cut = rql_sieve_cut(run, cut_at);
	const uint64_t from = (uint64_t)part * RQL_SIEVE_PART_BLOCKS * WORDS;
	const uint64_t words = (uint64_t)blocks_of(run, part) * WORDS;
	if (fresh && !cut.third && cut.first) {
		memcpy(bits, cut.first + from, words * sizeof(*bits));
		return;
	}
	if (cut.third) {
		const uint64_t *third = cut.third + from, *second = cut.second ? cut.second + from : third;
		for (uint64_t w = 0; w < words; w++) {
			const uint64_t below = (cut.first ? cut.first[from + w] : 0) | (second[w] & third[w]);
			bits[w] = fresh ? below : bits[w] ^ below;
		}
		return;
	}
	if (fresh)
		memset(bits, 0, words * sizeof(*bits));
	for (uint64_t w = 0; w < words && cut.all; w++) {
		const uint32_t block = part * RQL_SIEVE_PART_BLOCKS + (uint32_t)(w / WORDS);
		bits[w] ^= rql_rows_live(run->blocks[block].rows, (uint32_t)(w % WORDS));
	}
	for (uint64_t w = 0; w < words && cut.first; w++)
		bits[w] ^= cut.first[from + w];
}

static void turn_rows(const uint32_t *positions, uint32_t count, uint64_t *bits)
{
	for (uint32_t i = 0; i < count; i++)
		bits[positions[i] / 64] ^= UINT64_C(1) << positions[i] % 64;
}

/* Turns over the rows below a rank, whose bin is given: those below the nearer of the bin's two cuts, and what lies
 * between (RTScan 4.3.3: positive and negative selection). */
static uint64_t turn_below(const struct rql_sieve_run *run, uint32_t part, uint32_t rank, uint32_t bin, bool fresh,
                           uint64_t *bits)
{
	const uint32_t *starts = starts_of(run, part), *positions = run->positions + run->parts[part].first;
	const bool above = starts[bin + 1] - rank < rank - starts[bin];
	const uint32_t cut = bin + above, at = starts[cut];
	turn_cut(run, part, cut, fresh, bits);
	const uint32_t first = at < rank ? at : rank, count = at < rank ? rank - at : at - rank;
	turn_rows(positions + first, count, bits);
	return count;
}

enum rql_sieve_part_says rql_sieve_part_ask(const struct rql_sieve_run *run, uint32_t part,
                                            const struct rql_sieve_predicate *predicate)
{
	const struct rql_sieve_part *p = &run->parts[part];
	bool some = false, all = false;
	if (run->shape.has_null && predicate->nulls)
		return RQL_SIEVE_PART_SOME;
	for (uint32_t r = 0; r < predicate->count && p->count; r++) {
		const struct rql_sieve_range *range = &predicate->ranges[r];
		some = some || (range->least <= p->greatest && p->least <= range->greatest);
		all = all || (range->least <= p->least && p->greatest <= range->greatest);
	}
	return !some                         ? RQL_SIEVE_PART_NONE
	       : all && !run->shape.has_null ? RQL_SIEVE_PART_ALL
	                                     : RQL_SIEVE_PART_SOME;
}

/* Few rows are set one by one. */
#define FEW 64u /* one in so many */

uint64_t rql_sieve_part_rows(const struct rql_sieve_run *run, const struct rql_store_kernels *kernels,
                             const struct rql_store_view *view, uint32_t part,
                             const struct rql_sieve_predicate *predicate, uint64_t *bits)
{
	const struct rql_sieve_part *p = &run->parts[part];
	const uint64_t words = (uint64_t)blocks_of(run, part) * WORDS;
	uint64_t turned = 0;
	bool fresh = true;
	for (uint32_t r = 0; r < predicate->count; r++) {
		const struct rql_sieve_range *range = &predicate->ranges[r];
		uint32_t low_bin, high_bin = run->shape.bins.count - 1, high = p->count;
		const uint32_t low = rank_of(run, kernels, view, part, range->least, &low_bin);
		if (range->greatest != UINT64_MAX)
			high = rank_of(run, kernels, view, part, range->greatest + 1, &high_bin);
		if (high - low <= p->count / FEW) {
			if (fresh)
				memset(bits, 0, words * sizeof(*bits));
			turn_rows(run->positions + p->first + low, high - low, bits);
			turned += high - low;
		} else {
			turned += turn_below(run, part, high, high_bin, fresh, bits);
			turned += low ? turn_below(run, part, low, low_bin, false, bits) : 0;
		}
		fresh = false;
	}
	if (fresh)
		memset(bits, 0, words * sizeof(*bits));
	const uint64_t *valid = predicate->nulls ? rql_sieve_valid(run) : NULL;
	for (uint64_t w = 0; w < words && valid; w++) {
		const uint64_t at = (uint64_t)part * RQL_SIEVE_PART_BLOCKS * WORDS + w;
		bits[w] |= rql_rows_live(run->blocks[at / WORDS].rows, (uint32_t)(at % WORDS)) & ~valid[at];
	}
	return turned;
}
