/* Which rows of a block pass. Steps are tried in the order of what they have cost and dropped so far: cost / (1 - pass)
 * ascending is the best order of independent tests (J. Hellerstein, M. Stonebraker: Predicate Migration, SIGMOD 1993,
 * section 4.1), as soon as they have been seen at their places; the first order is the sample's. Zone maps answer first,
 * for all of them.
 *
 * As long as many rows are left, a test reads the packed bytes of all rows. When few are left, only theirs are fetched,
 * and the outcome is deposited in the mask. */
#include "method/scan/scan_query.h"

/* Below a 1 / SPARSE share of rows, values are fetched one by one. */
#define SPARSE 24u
/* How often the order is thought over, and how much the past counts then. */
#define REORDER_BLOCKS 16u
#define FADE 0.5
/* What comes after the first step, for a row that it leaves. */
#define REST_NS 6.0

void rql_scan_fill_mask(uint64_t *mask, uint32_t n)
{
	rql_bits_fill(mask, n);
	mask[(n + 63) / 64] = 0; /* deposit reads one word more */
}

static void changed(struct rql_scan_worker *w)
{
	w->left = w->scan->kernels->count(w->mask, (w->block_rows + 63) / 64);
	w->full = w->left == w->block_rows;
	w->generation++;
}

/* ---- zone maps ---- */

static enum rql_store_match match_test(const struct rql_scan_worker *w, const struct rql_scan_step *step)
{
	const struct rql_store_view *view = &w->segment->columns[step->index];
	enum rql_store_match match = rql_store_may_match(view, w->block, &step->filter);
	if (!step->or_null || match == RQL_MATCH_ALL)
		return match;
	struct rql_store_filter null = {.kind = RQL_FILTER_IS_NULL};
	enum rql_store_match nulls = rql_store_may_match(view, w->block, &null);
	return nulls == RQL_MATCH_ALL ? nulls : match == nulls ? match : RQL_MATCH_SOME;
}

static enum rql_store_match match_join(const struct rql_scan_worker *w, const struct rql_scan_step *step)
{
	const struct rql_scan_bound_join *join = &w->scan->joins[step->index];
	const struct rql_scan_column *c = &w->scan->columns[join->column];
	const struct rql_store_view *view = &w->segment->columns[c->column];
	const struct rql_store_block *block = &view->blocks[w->block];
	int64_t least = (int64_t)block->least[0], greatest = (int64_t)block->greatest[0];
	bool may = true;
	if (block->nulls == block->rows)
		may = false;
	else if (join->second != RQL_NONE)
		return RQL_MATCH_SOME;
	else if (c->kind != RQL_STORE_CODED || !view->translate)
		may = rql_map_may_meet(join->map, least, greatest);
	if (join->kind == RQL_LOOKUP_ANTI)
		return may ? RQL_MATCH_SOME : RQL_MATCH_ALL;
	return may ? RQL_MATCH_SOME : RQL_MATCH_NONE;
}

/* What is known of a program's values: the first range that does not end before the block's least one decides. */
static enum rql_store_match match_ranges(const struct rql_scan_worker *w, const struct rql_value_ranges *ranges)
{
	const struct rql_store_block *block;
	uint32_t low = 0;
	if (!ranges->ranges)
		return RQL_MATCH_SOME;
	block = &w->segment->columns[ranges->column].blocks[w->block];
	if (ranges->nulls && block->nulls)
		return RQL_MATCH_SOME;
	if (block->nulls == block->rows)
		return RQL_MATCH_NONE;
	for (uint32_t high = ranges->count; low < high;) {
		const uint32_t middle = low + (high - low) / 2;
		if (ranges->ranges[middle].greatest < (int64_t)block->least[0])
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->count && ranges->ranges[low].least <= (int64_t)block->greatest[0] ? RQL_MATCH_SOME : RQL_MATCH_NONE;
}

static enum rql_store_match match_step(const struct rql_scan_worker *w, const struct rql_scan_step *step)
{
	switch (step->kind) {
	case RQL_SCAN_BY_TEST:
		return match_test(w, step);
	case RQL_SCAN_BY_JOIN:
		return match_join(w, step);
	default:
		return match_ranges(w, &step->ranges);
	}
}

enum rql_store_match rql_scan_match(const struct rql_scan *scan, const struct rql_store_segment *segment, uint32_t block,
                                    uint32_t step)
{
	const struct rql_scan_worker w = {.scan = scan, .segment = segment, .block = block};
	return match_step(&w, &scan->steps[step]);
}

bool rql_scan_may_pass(const struct rql_scan *scan, const struct rql_store_segment *segment, uint32_t block)
{
	const struct rql_scan_worker w = {.scan = scan, .segment = segment, .block = block};
	for (uint32_t s = 0; s < scan->step_count; s++)
		if (match_step(&w, &scan->steps[s]) == RQL_MATCH_NONE)
			return false;
	return true;
}

/* ---- tests of columns ---- */

bool rql_scan_passes_code(const struct rql_scan_step *step, uint32_t code, bool null)
{
	const struct rql_store_filter *f = &step->filter;
	if (f->kind == RQL_FILTER_IS_NULL || f->kind == RQL_FILTER_IS_NOT_NULL)
		return null == (f->kind == RQL_FILTER_IS_NULL);
	if (null)
		return step->or_null;
	if (f->kind == RQL_FILTER_CODE_SET)
		return rql_bit(f->set, code);
	return f->code_least <= code && code <= f->code_greatest;
}

static void count_whole(struct rql_scan_worker *w, uint32_t column)
{
	w->counts.bytes_read += rql_scan_block_bytes(&w->segment->columns[column].blocks[w->block]);
}

/* All rows, on the packed bytes. */
static void test_dense(struct rql_scan_worker *w, const struct rql_scan_step *step)
{
	const struct rql_scan *scan = w->scan;
	const struct rql_store_view *view = &w->segment->columns[step->index];
	uint32_t rows = w->block_rows, words = (rows + 63) / 64;
	count_whole(w, step->index);
	if (step->or_null) {
		struct rql_store_filter null = {.kind = RQL_FILTER_IS_NULL};
		memcpy(w->other, w->mask, words * sizeof(*w->mask));
		(void)rql_store_filter(scan->store, view, w->block, &null, 0, rows, w->other);
		(void)rql_store_filter(scan->store, view, w->block, &step->filter, 0, rows, w->mask);
		for (uint32_t i = 0; i < words; i++)
			w->mask[i] |= w->other[i];
	} else {
		(void)rql_store_filter(scan->store, view, w->block, &step->filter, 0, rows, w->mask);
	}
}

/* Few rows, closed up; false: not this kind of test. */
static bool test_sparse(struct rql_scan_worker *w, const struct rql_scan_step *step)
{
	const struct rql_scan *scan = w->scan;
	const struct rql_store_filter *f = &step->filter;
	uint32_t at = scan->column_of[step->index], n = w->left;
	if (step->or_null || scan->columns[at].lane == RQL_LANE_I128)
		return false;
	bool range = f->kind == RQL_FILTER_CODE_RANGE || f->kind == RQL_FILTER_INTEGER_RANGE;
	if (!range && f->kind != RQL_FILTER_CODE_SET)
		return false;
	const struct rql_scan_loaded *loaded = rql_scan_load_column(w, at);
	rql_scan_fill_mask(w->bits, n);
	if (f->kind == RQL_FILTER_CODE_SET) {
		/* 64-bit words are pairs of 32-bit ones on the little-endian machines that the store is for. */
		scan->kernels->bits32(loaded->data, n, 0, (const uint32_t *)f->set, scan->columns[at].codes, w->bits);
	} else if (f->kind == RQL_FILTER_CODE_RANGE) {
		if (f->code_least > f->code_greatest)
			memset(w->bits, 0, (n + 63) / 64 * sizeof(*w->bits));
		else
			scan->kernels->range32(loaded->data, n, f->code_least, f->code_greatest - f->code_least, w->bits);
	} else {
		rql_int128 least = f->least > INT64_MIN ? f->least : INT64_MIN;
		rql_int128 greatest = f->greatest < INT64_MAX ? f->greatest : INT64_MAX;
		if (least > greatest)
			memset(w->bits, 0, (n + 63) / 64 * sizeof(*w->bits));
		else
			scan->kernels->range64(loaded->data, n, (int64_t)least, (uint64_t)(greatest - least), w->bits);
	}
	if (loaded->nulls)
		for (uint32_t i = 0; i < (n + 63) / 64; i++)
			w->bits[i] &= loaded->valid[i];
	scan->kernels->deposit(w->mask, (w->block_rows + 63) / 64, w->bits);
	return true;
}

/* ---- joins ---- */

/* All rows of a block whose keys fit 32 bits, none negative: half the bytes. false: not so. */
static bool test_narrow_keys(struct rql_scan_worker *w, const struct rql_scan_bound_join *join, uint64_t *bits)
{
	const struct rql_scan_column *c = &w->scan->columns[join->column];
	const struct rql_store_view *view = &w->segment->columns[c->column];
	const struct rql_map *map = join->map;
	bool loaded = w->columns[join->column].generation == w->generation;
	if (join->second != RQL_NONE || !w->full || loaded || c->lane != RQL_LANE_I64 || !map->dense || map->least < 0 ||
	    map->least > INT32_MAX || view->blocks[w->block].nulls || !rql_store_fits32(view, w->block) ||
	    (int64_t)view->blocks[w->block].least[0] < 0)
		return false;
	count_whole(w, c->column);
	rql_store_decode_int32(w->scan->store, view, w->block, 0, w->block_rows, w->narrow);
	rql_scan_fill_mask(bits, w->block_rows);
	w->scan->kernels->bits32((const uint32_t *)w->narrow, w->block_rows, (uint32_t)-map->least, map->bits, map->span,
	                         bits);
	return true;
}

/* bits: which of the loaded keys are in the map. */
static void test_keys(struct rql_scan_worker *w, const struct rql_scan_bound_join *join, uint64_t *bits)
{
	const struct rql_scan_kernels *k = w->scan->kernels;
	const struct rql_scan_column *c = &w->scan->columns[join->column];
	const struct rql_map *map = join->map;
	const struct rql_scan_loaded *keys = rql_scan_load_column(w, join->column);
	uint32_t n = w->left;
	rql_scan_fill_mask(bits, n);
	if (!map->dense || join->second != RQL_NONE) {
		const uint32_t *found = rql_scan_load_payloads(w, (uint32_t)(join - w->scan->joins))->data;
		for (uint32_t i = 0; i < n; i++)
			bits[i / 64] &= ~((uint64_t)(found[i] == 0) << i % 64);
	} else if (c->lane == RQL_LANE_I64) {
		k->bits64(keys->data, n, map->least, map->bits, map->span, bits);
	} else if (map->least > UINT32_MAX || map->least + (int64_t)map->span <= 0) {
		memset(bits, 0, (n + 63) / 64 * sizeof(*bits)); /* no code is there */
	} else {
		/* Codes ascend and NULL's is the last: keys from it on are cut off. */
		int64_t end = (int64_t)map->span;
		if (c->null_code != RQL_NONE && map->least + end > c->null_code)
			end = c->null_code > map->least ? c->null_code - map->least : 0;
		k->bits32(keys->data, n, (uint32_t)-map->least, map->bits, (uint32_t)end, bits);
	}
	if (keys->nulls)
		for (uint32_t i = 0; i < (n + 63) / 64; i++)
			bits[i] &= keys->valid[i];
}

static void filter_join(struct rql_scan_worker *w, const struct rql_scan_bound_join *join)
{
	uint64_t *bits = w->full ? w->other : w->bits;
	uint32_t n = w->left;
	if (!test_narrow_keys(w, join, bits))
		test_keys(w, join, bits);
	if (join->kind == RQL_LOOKUP_ANTI) {
		for (uint32_t i = 0; i < n / 64; i++)
			bits[i] = ~bits[i];
		if (n % 64)
			bits[n / 64] ^= rql_bit_mask(n % 64);
	}
	w->scan->kernels->deposit(w->mask, (w->block_rows + 63) / 64, bits);
}

/* ---- programs ---- */

static rql_status filter_program(struct rql_scan_worker *w, uint32_t program)
{
	uint32_t n = w->left;
	memset(w->bits, 0, RQL_SCAN_VALID_WORDS * sizeof(*w->bits));
	for (uint32_t first = 0; first < n; first += RQL_VECTOR_ROWS) {
		uint32_t rows = n - first < RQL_VECTOR_ROWS ? n - first : RQL_VECTOR_ROWS;
		RQL_TRY(rql_scan_run_program(w, program, first, rows));
		struct rql_lanes result = rql_program_result(w->states[program], 0);
		const uint64_t *truth = result.data;
		for (uint32_t i = 0; i < (rows + 63) / 64; i++)
			w->bits[first / 64 + i] = result.valid ? truth[i] & result.valid[i] : truth[i];
	}
	w->scan->kernels->deposit(w->mask, (w->block_rows + 63) / 64, w->bits);
	return RQL_OK;
}

/* ---- order ---- */

/* What a row costs when this step comes first: single rows cost more than vectors of them, so that what drops most may
 * cost more itself. */
double rql_scan_first_rank(const struct rql_scan_step *step)
{
	return step->cost + step->pass * REST_NS;
}

static double own_rank(const struct rql_scan_worker *w, uint32_t s)
{
	const struct rql_scan_step *step = &w->scan->steps[s];
	const struct rql_scan_measured *m = &w->measured[s];
	if (m->rows <= 0 || m->in <= 0)
		return rql_scan_first_rank(step);
	double pass = m->out / m->in;
	return m->ns / m->rows / (1 - pass > 0.001 ? 1 - pass : 0.001);
}

static bool reads_join(const struct rql_scan_bound_program *program, uint32_t join)
{
	for (uint32_t i = 0; i < program->program->input_count; i++)
		if (program->inputs[i].kind == RQL_SOURCE_LOOKUP && program->inputs[i].index == join)
			return true;
	return false;
}

/* A program over payloads comes after the joins that drop rows without them: before, it would find the payloads of all
 * rows, and then be thought to do the joins' work. */
static double rank_of(const struct rql_scan_worker *w, uint32_t s)
{
	const struct rql_scan_step *step = &w->scan->steps[s], *steps = w->scan->steps;
	double rank = own_rank(w, s);
	for (uint32_t i = 0; step->kind == RQL_SCAN_BY_PROGRAM && i < w->scan->step_count; i++) {
		bool before = steps[i].kind == RQL_SCAN_BY_JOIN && w->scan->joins[steps[i].index].kind == RQL_LOOKUP_INNER &&
		              reads_join(&w->scan->programs[step->index], steps[i].index);
		double other = before ? 1.001 * own_rank(w, i) : 0;
		rank = other > rank ? other : rank;
	}
	return rank;
}

/* Insertion sort: steps are few and mostly in order. */
static void reorder(struct rql_scan_worker *w)
{
	for (uint32_t i = 1; i < w->scan->step_count; i++) {
		uint32_t step = w->order[i], at = i;
		double rank = rank_of(w, step);
		for (; at > 0 && rank_of(w, w->order[at - 1]) > rank; at--)
			w->order[at] = w->order[at - 1];
		w->order[at] = step;
	}
	for (uint32_t s = 0; s < w->scan->step_count; s++) {
		struct rql_scan_measured *m = &w->measured[s];
		*m = (struct rql_scan_measured){m->ns * FADE, m->rows * FADE, m->in * FADE, m->out * FADE};
	}
}

rql_status rql_scan_apply(struct rql_scan_worker *w, uint32_t s)
{
	const struct rql_scan_step *step = &w->scan->steps[s];
	if (step->set)
		filter_join(w, step->set);
	else if (step->kind == RQL_SCAN_BY_PROGRAM)
		RQL_TRY(filter_program(w, step->index));
	else if (step->kind == RQL_SCAN_BY_JOIN)
		filter_join(w, &w->scan->joins[step->index]);
	else if (w->left * SPARSE >= w->block_rows || !test_sparse(w, step))
		test_dense(w, step);
	changed(w);
	return RQL_OK;
}

static rql_status apply_measured(struct rql_scan_worker *w, uint32_t s)
{
	const struct rql_scan_step *step = &w->scan->steps[s];
	struct rql_scan_measured *m = &w->measured[s];
	uint32_t before = w->left;
	bool several = w->scan->step_count > 1; /* else nobody asks */
	uint64_t start = several ? rql_now_ns() : 0;
	RQL_TRY(rql_scan_apply(w, s));
	if (several) {
		/* A test of packed bytes costs the same however many rows are left: it is charged for the block. */
		m->ns += (double)(rql_now_ns() - start);
		m->rows += step->kind == RQL_SCAN_BY_TEST ? w->block_rows : before;
		m->in += before;
		m->out += w->left;
	}
	return RQL_OK;
}

/* Conditions that can fail, each in all rows that the host may have tested it in: no answer hides an error. */
static rql_status check_block(struct rql_scan_worker *w)
{
	const struct rql_scan *scan = w->scan;
	const uint32_t words = (w->block_rows + 63) / 64;
	uint64_t tested[RQL_SCAN_MASK_WORDS], passed[RQL_SCAN_MASK_WORDS];
	for (uint32_t s = 0; s < scan->step_count && w->left; s++)
		if (scan->steps[s].at_first)
			RQL_TRY(rql_scan_apply(w, s));
	if (!w->left)
		return RQL_OK;
	memcpy(tested, w->mask, words * sizeof(*tested));
	memcpy(passed, w->mask, words * sizeof(*passed));
	for (uint32_t s = 0; s < scan->step_count; s++) {
		if (!scan->steps[s].checked)
			continue;
		memcpy(w->mask, tested, words * sizeof(*tested));
		changed(w);
		RQL_TRY(rql_scan_apply(w, s));
		for (uint32_t i = 0; i < words; i++)
			passed[i] &= w->mask[i];
	}
	memcpy(w->mask, passed, words * sizeof(*passed));
	changed(w);
	return RQL_OK;
}

/* Those that come in; false: none. Lists and ranges know their number. */
static bool enter_under(struct rql_scan_worker *w)
{
	const uint32_t count = rql_rows_unpack(w->under, w->block_rows, w->mask);
	if (count == UINT32_MAX) {
		changed(w);
		return w->left > 0;
	}
	w->left = count;
	w->full = count == w->block_rows;
	w->generation++;
	return count > 0;
}

rql_status rql_scan_filter_block(struct rql_scan_worker *w)
{
	const struct rql_scan *scan = w->scan;
	bool nothing = false;
	uint64_t all = 0; /* steps that need not be run; those past 64 are simply run */
	w->generation++;
	w->left = 0;
	w->counts.blocks++;
	if (w->before && match_test(w, w->before) == RQL_MATCH_NONE) {
		w->counts.blocks_skipped++;
		return RQL_OK;
	}
	for (uint32_t s = 0; s < scan->step_count; s++) {
		enum rql_store_match match = match_step(w, &scan->steps[s]);
		nothing |= match == RQL_MATCH_NONE;
		if (match == RQL_MATCH_NONE && (!scan->checks || scan->steps[s].at_first)) {
			w->counts.blocks_skipped++;
			return RQL_OK;
		}
		bool done = scan->checks && (scan->steps[s].at_first || scan->steps[s].checked);
		if ((match == RQL_MATCH_ALL || done) && s < 64)
			all |= UINT64_C(1) << s;
	}
	if (!w->under) {
		rql_scan_fill_mask(w->mask, w->block_rows);
		w->left = w->block_rows;
		w->full = true;
	} else if (!enter_under(w)) {
		w->counts.blocks_skipped++;
		return RQL_OK;
	}
	w->counts.rows_read += w->block_rows;
	if (scan->step_count > 1 && w->blocks_seen++ % REORDER_BLOCKS == 0)
		reorder(w);
	if (scan->checks)
		RQL_TRY(check_block(w));
	if (nothing)
		w->left = 0;
	if (w->before) {
		test_dense(w, w->before);
		changed(w);
	}
	for (uint32_t i = 0; i < scan->step_count && w->left; i++) {
		uint32_t s = w->order[i];
		if (s >= 64 || !(all >> s & 1))
			RQL_TRY(apply_measured(w, s));
	}
	w->counts.rows_passed += w->left;
	return RQL_OK;
}
