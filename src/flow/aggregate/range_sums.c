/* Sums over a join by a range: see the header. A row that looks up has its sum as a difference of two sums over the sorted
 * points; a point has it as the sum of what begins before it and has not ended.
 *
 * What it must do for a point: its value, out of the points' order, and 8 bytes of sums written; for a row that looks up two
 * of these read. */
#include "flow/aggregate/range_sums.h"

#include <stdatomic.h>
#include <string.h>

struct summing {
	const struct joining *j;
	const struct rql_key_rows *rows;
	const struct rql_range_values *values;
	int64_t *narrow; /* the sums; NULL: */
	rql_int128 *wide;
	uint64_t positions; /* of the sorted points */
	/* By position: the sum from the beginning of its morsel, and of the morsel before that; or what begins there, less what
	 * ended. */
	int64_t *narrow_at;
	rql_int128 *wide_at, *before; /* before: [morsels + 1] */
};

/* With keys there are positions of keys that have one row, which are of nobody. */
static uint64_t positions_of(const struct joining *j)
{
	return j->keys.key_count ? (j->sorted.rows ? j->sides[j->build]->rows : 0) : j->sorted.all.count;
}

bool rql_range_sums_narrow(const struct rql_range_values *values)
{
	const unsigned bytes = values->of ? rql_type_bytes(values->of->type) : 1;
	return !values->of || values->counted || bytes < 4 || (bytes == 4 && rql_type_is_signed(values->of->type));
}

static void put(const struct summing *s, uint64_t row, rql_int128 sum)
{
	if (s->narrow)
		s->narrow[row] = (int64_t)sum;
	else
		s->wide[row] = sum;
}

/* NULL is 0. */
static void load(const struct rql_range_values *values, const uint32_t *rows, uint32_t n, int64_t *out)
{
	uint64_t valid[RQL_VECTOR_WORDS];
	struct rql_lanes lanes = {0};
	if (!values->of || values->counted) {
		const bool nullable = values->of && rql_vector_nullable(values->of);
		if (nullable)
			rql_vector_valid(values->of, rows, n, valid);
		for (uint32_t i = 0; i < n; i++)
			out[i] = !nullable || rql_bit(valid, i);
		return;
	}
	rql_vector_load(values->of, rows, n, RQL_LANE_I64, out, valid, &lanes);
	for (uint32_t i = 0; i < n && lanes.valid; i++)
		out[i] = rql_bit(lanes.valid, i) ? out[i] : 0;
}

static uint32_t load_rows(const struct summing *s, uint64_t at, uint64_t end, uint32_t *rows, int64_t *out)
{
	const uint32_t n = rql_vector_part(at, end);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = (uint32_t)(at + i);
	load(s->values, rows, n, out);
	return n;
}

/* ---- the keeper looks up ---- */

static rql_status add_points(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	const struct summing *s = state;
	const uint64_t points = s->j->sides[s->j->build]->rows;
	uint32_t rows[RQL_VECTOR_ROWS];
	int64_t value[RQL_VECTOR_ROWS], narrow = 0;
	rql_int128 wide = 0;
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + count; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + count);
		const uint32_t *of = s->j->sorted.rows + at;
		for (uint32_t i = 0; i < n; i++)
			rows[i] = of[i] < points ? of[i] : 0; /* of nobody: no difference begins or ends beside it */
		load(s->values, rows, n, value);
		for (uint32_t i = 0; i < n && s->narrow; i++) {
			s->narrow_at[at + i] = narrow;
			narrow += value[i];
		}
		for (uint32_t i = 0; i < n && !s->narrow; i++) {
			s->wide_at[at + i] = wide;
			wide += value[i];
		}
	}
	s->before[first / RQL_MORSEL_ROWS + 1] = s->narrow ? narrow : wide;
	return RQL_OK;
}

static rql_int128 sum_before(const struct summing *s, uint64_t position)
{
	if (position == s->positions)
		return s->before[(position + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS];
	return s->before[position / RQL_MORSEL_ROWS] + (s->narrow ? s->narrow_at[position] : s->wide_at[position]);
}

static rql_int128 sum_of(const struct summing *s, struct rql_key_rows of)
{
	return sum_before(s, of.first + (uint64_t)of.count) - sum_before(s, of.first);
}

static rql_status subtract(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	const struct summing *s = state;
	uint32_t only[RQL_VECTOR_ROWS];
	int64_t value[RQL_VECTOR_ROWS];
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + count; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + count);
		const struct rql_key_rows *of = s->rows + at;
		uint32_t alone = 0;
		for (uint32_t i = 0; i < n; i++)
			if (of[i].count == 1)
				only[alone++] = of[i].first;
		load(s->values, only, alone, value);
		alone = 0;
		for (uint32_t i = 0; i < n; i++)
			put(s, at + i, of[i].count == 1 ? value[alone++] : of[i].count ? sum_of(s, of[i]) : 0);
	}
	return RQL_OK;
}

static rql_status add_up(struct summing *s, rql_morsel_fn *fn)
{
	const uint64_t morsels = (s->positions + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	RQL_TRY(RQL_ZEROED_SCRATCH(s->j->r, s->before, morsels + 1));
	RQL_TRY(rql_morsels_run(s->j->r, s->positions, fn, s));
	for (uint64_t m = 0; m < morsels; m++)
		s->before[m + 1] += s->before[m];
	return RQL_OK;
}

static rql_status sum_points(struct summing *s)
{
	struct rql_running *r = s->j->r;
	RQL_TRY(s->narrow ? RQL_SCRATCH(r, s->narrow_at, s->positions + 1) : RQL_SCRATCH(r, s->wide_at, s->positions + 1));
	RQL_TRY(add_up(s, add_points));
	return rql_morsels_run(r, s->j->sides[!s->j->build]->rows, subtract, s);
}

/* ---- the keeper has the points ---- */

/* Of small values by all threads at once. */
static rql_status note_ends(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	const struct summing *s = state;
	_Atomic int64_t *change = (_Atomic int64_t *)s->narrow_at, *alone = (_Atomic int64_t *)s->narrow;
	uint32_t rows[RQL_VECTOR_ROWS], n;
	int64_t value[RQL_VECTOR_ROWS];
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + count; at += n) {
		n = load_rows(s, at, first + count, rows, value);
		for (uint32_t i = 0; i < n; i++) {
			const struct rql_key_rows of = s->rows[at + i];
			if (!of.count || !value[i])
				continue;
			if (of.count == 1) {
				atomic_fetch_add_explicit(&alone[of.first], value[i], memory_order_relaxed);
				continue;
			}
			atomic_fetch_add_explicit(&change[of.first], value[i], memory_order_relaxed);
			atomic_fetch_sub_explicit(&change[of.first + (uint64_t)of.count], value[i], memory_order_relaxed);
		}
	}
	return RQL_OK;
}

static void note_wide_ends(const struct summing *s, uint64_t lookers)
{
	uint32_t rows[RQL_VECTOR_ROWS], n;
	int64_t value[RQL_VECTOR_ROWS];
	for (uint64_t at = 0; at < lookers; at += n) {
		n = load_rows(s, at, lookers, rows, value);
		for (uint32_t i = 0; i < n; i++) {
			const struct rql_key_rows of = s->rows[at + i];
			if (of.count == 1) {
				s->wide[of.first] += value[i];
			} else if (of.count) {
				s->wide_at[of.first] += value[i];
				s->wide_at[of.first + (uint64_t)of.count] -= value[i];
			}
		}
	}
}

static rql_status add_changes(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	const struct summing *s = state;
	rql_int128 sum = 0;
	(void)worker, (void)err;
	for (uint64_t p = first; p < first + count; p++)
		sum += s->narrow ? s->narrow_at[p] : s->wide_at[p];
	s->before[first / RQL_MORSEL_ROWS + 1] = sum;
	return RQL_OK;
}

static rql_status spread(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	const struct summing *s = state;
	rql_int128 sum = s->before[first / RQL_MORSEL_ROWS];
	(void)worker, (void)err;
	for (uint64_t p = first; p < first + count; p++) {
		sum += s->narrow ? s->narrow_at[p] : s->wide_at[p];
		if (sum && s->narrow) /* else it may be a position of nobody */
			s->narrow[s->j->sorted.rows[p]] += (int64_t)sum;
		else if (sum)
			s->wide[s->j->sorted.rows[p]] += sum;
	}
	return RQL_OK;
}

static rql_status clear(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + count; i++)
		put(state, i, 0);
	return RQL_OK;
}

/* A point that is its key's only one has no position: its own sum is added to. */
static rql_status sum_lookers(struct summing *s)
{
	struct rql_running *r = s->j->r;
	const uint64_t points = s->j->sides[s->j->build]->rows, lookers = s->j->sides[!s->j->build]->rows;
	RQL_TRY(rql_morsels_run(r, points, clear, s));
	if (s->narrow) {
		RQL_TRY(RQL_ZEROED_SCRATCH(r, s->narrow_at, s->positions + 1));
		RQL_TRY(rql_morsels_run(r, lookers, note_ends, s));
	} else {
		RQL_TRY(RQL_ZEROED_SCRATCH(r, s->wide_at, s->positions + 1));
		note_wide_ends(s, lookers);
	}
	RQL_TRY(add_up(s, add_changes));
	return rql_morsels_run(r, s->positions, spread, s);
}

/* ---- by an index, whose rows have no such sums: what a row finds is added ---- */

struct adding {
	const struct rql_range_values *values;
	rql_int128 *sum;
};

static rql_status add_found(void *state, const uint32_t *rows, uint32_t count, struct rql_error *err)
{
	const struct adding *a = state;
	int64_t value[RQL_VECTOR_ROWS];
	(void)err;
	for (uint32_t at = 0, n; at < count; at += n) {
		n = count - at < RQL_VECTOR_ROWS ? count - at : RQL_VECTOR_ROWS;
		load(a->values, rows + at, n, value);
		for (uint32_t i = 0; i < n; i++)
			*a->sum += value[i];
	}
	return RQL_OK;
}

static rql_status find_morsel(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	const struct summing *s = state;
	struct range_bounds b;
	(void)worker;
	for (uint64_t at = first; at < first + count; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + count);
		rql_range_bounds(s->j, at, n, &b);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t least, greatest;
			rql_int128 sum = 0;
			struct adding adding = {s->values, &sum};
			const bool some = rql_index_range_of(s->j, &b, i, &least, &greatest);
			if (some && !s->values->of)
				sum = rql_index_range_count(s->j, least, greatest);
			else if (some)
				RQL_TRY(rql_index_range_find(s->j, least, greatest, add_found, &adding, err));
			put(s, at + i, sum);
		}
	}
	return RQL_OK;
}

static rql_status sum_all(struct summing *s, unsigned keeper)
{
	const struct joining *j = s->j;
	if (j->by_index)
		return rql_morsels_run(j->r, j->sides[keeper]->rows, find_morsel, s);
	s->positions = positions_of(j);
	return keeper == j->build ? sum_lookers(s) : sum_points(s);
}

rql_status rql_range_sums(struct joining *j, unsigned keeper, const struct rql_key_rows *rows,
                          const struct rql_range_values *values, int64_t *sums)
{
	struct summing s = {.j = j, .rows = rows, .values = values, .narrow = sums};
	return sum_all(&s, keeper);
}

rql_status rql_range_wide_sums(struct joining *j, unsigned keeper, const struct rql_key_rows *rows,
                               const struct rql_range_values *values, rql_int128 *sums)
{
	struct summing s = {.j = j, .rows = rows, .values = values, .wide = sums};
	return sum_all(&s, keeper);
}
