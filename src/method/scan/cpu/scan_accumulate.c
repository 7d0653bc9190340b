/* Values into rows of groups. Floor: 8 bytes a value from the first-level cache, and a read and a write of the group's
 * word; without groups one addition a value, several in a register. */
#include "method/scan/scan_query.h"

/* ---- one row for all ---- */

static uint64_t sum_live(const struct rql_scan *scan, const int64_t *values, const uint64_t *live, uint32_t n)
{
	uint64_t sum = 0;
	if (!live)
		return scan->kernels->sum64(values, n);
	for (uint32_t i = 0; i < n; i++)
		sum += (uint64_t)values[i] & -rql_bit(live, i);
	return sum;
}

/* Upper and lower halves apart: 1024 of each do not overflow 64 bits. */
static rql_int128 sum_wide_live(const int64_t *values, const uint64_t *live, uint32_t n)
{
	int64_t upper = 0, lower = 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t keep = live ? -(int64_t)rql_bit(live, i) : -1, value = values[i] & keep;
		upper += value >> 32;
		lower += value & UINT32_MAX;
	}
	return (rql_int128)upper * ((rql_int128)1 << 32) + lower;
}

/* Eight partial sums: the order of additions is fixed, whatever the compiler makes of it. */
static double sum_real_live(const double *values, const uint64_t *live, uint32_t n)
{
	double part[8] = {0};
	for (uint32_t i = 0; i < n; i++)
		part[i % 8] += rql_bit_valid(live, i) ? values[i] : 0;
	return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

static void extremes_one(const int64_t *values, const uint64_t *live, uint32_t n, bool max, uint64_t *word)
{
	int64_t now = (int64_t)*word;
	if (max)
		for (uint32_t i = 0; i < n; i++)
			now = rql_bit_valid(live, i) && values[i] > now ? values[i] : now;
	else
		for (uint32_t i = 0; i < n; i++)
			now = rql_bit_valid(live, i) && values[i] < now ? values[i] : now;
	*word = (uint64_t)now;
}

/* ---- a row each ---- */

#define EACH(i)                                                                                                        \
	for (uint32_t i = 0; i < n; i++)                                                                                   \
		if (rql_bit_valid(live, i))

static void count_rows(uint64_t *const *rows, const uint64_t *live, uint32_t n, uint32_t at)
{
	if (!live)
		for (uint32_t i = 0; i < n; i++)
			rows[i][at]++;
	else
		for (uint32_t i = 0; i < n; i++)
			rows[i][at] += rql_bit(live, i);
}

static void sum_rows(const int64_t *values, uint64_t *const *rows, const uint64_t *live, uint32_t n, uint32_t at)
{
	if (!live)
		for (uint32_t i = 0; i < n; i++)
			rows[i][at] += (uint64_t)values[i];
	else
		for (uint32_t i = 0; i < n; i++)
			rows[i][at] += (uint64_t)values[i] & -rql_bit(live, i);
}

static void extremes_rows(const int64_t *values, uint64_t *const *rows, const uint64_t *live, uint32_t n, uint32_t at,
                          bool max)
{
	EACH(i)
	{
		int64_t now = (int64_t)rows[i][at];
		if (max ? values[i] > now : values[i] < now)
			rows[i][at] = (uint64_t)values[i];
	}
}

static void real_rows(const struct rql_scan_slot *slot, const double *values, uint64_t *const *rows,
                      const uint64_t *live, uint32_t n, bool one)
{
	EACH(i)
	{
		uint64_t *word = rows[one ? 0 : i] + slot->state.word;
		if (slot->state.kind == RQL_STATE_SUM_REAL)
			rql_state_add_real(word, values[i]);
		else
			rql_state_fold_real(word, values[i], slot->state.kind == RQL_STATE_MAX_REAL);
	}
}

/* 128-bit slots over 64- or 128-bit values. */
static bool wide_rows(const struct rql_scan *scan, const struct rql_scan_slot *slot, const void *data,
                      uint64_t *const *rows, const uint64_t *live, uint32_t n, bool one)
{
	bool narrow = scan->operands[slot->operand].lane == RQL_LANE_I64, fits = true;
	if (narrow && one && slot->state.kind == RQL_STATE_SUM_WIDE)
		return rql_state_add_wide(rows[0] + slot->state.word, sum_wide_live(data, live, n));
	EACH(i)
	{
		uint64_t *word = rows[one ? 0 : i] + slot->state.word;
		rql_int128 value = narrow ? ((const int64_t *)data)[i] : ((const rql_int128 *)data)[i];
		if (slot->state.kind == RQL_STATE_SUM_WIDE)
			fits &= rql_state_add_wide(word, value);
		else
			rql_state_fold_wide(word, value, slot->state.kind == RQL_STATE_MAX_WIDE);
	}
	return fits;
}

bool rql_scan_add(const struct rql_scan *scan, const struct rql_scan_slot *slot, struct rql_scan_values values,
                  const uint64_t *live, uint64_t *const *rows, uint32_t n, bool one)
{
	uint64_t both[RQL_VECTOR_WORDS];
	if (live && values.valid) {
		for (uint32_t i = 0; i < (n + 63) / 64; i++)
			both[i] = live[i] & values.valid[i];
		live = both;
	} else if (values.valid) {
		live = values.valid;
	}
	switch (slot->state.kind) {
	case RQL_STATE_COUNT:
		if (one)
			rows[0][slot->state.word] += live ? rql_bits_count(live, n) : n;
		else
			count_rows(rows, live, n, slot->state.word);
		return true;
	case RQL_STATE_SUM:
		if (one)
			rows[0][slot->state.word] += sum_live(scan, values.data, live, n);
		else
			sum_rows(values.data, rows, live, n, slot->state.word);
		return true;
	case RQL_STATE_MIN:
	case RQL_STATE_MAX:
		if (one)
			extremes_one(values.data, live, n, slot->state.kind == RQL_STATE_MAX, rows[0] + slot->state.word);
		else
			extremes_rows(values.data, rows, live, n, slot->state.word, slot->state.kind == RQL_STATE_MAX);
		return true;
	case RQL_STATE_SUM_REAL:
		if (one) {
			uint64_t *word = rows[0] + slot->state.word;
			rql_state_add_real(word, sum_real_live(values.data, live, n));
			return true;
		}
		/* fall through */
	case RQL_STATE_MIN_REAL:
	case RQL_STATE_MAX_REAL:
		real_rows(slot, values.data, rows, live, n, one);
		return true;
	default:
		return wide_rows(scan, slot, values.data, rows, live, n, one);
	}
}

static void add_few_reals(struct rql_scan_values values, uint64_t *words, const uint32_t *places, uint32_t n)
{
	const double *value = values.data;
	if (!values.valid)
		for (uint32_t i = 0; i < n; i++)
			rql_state_add_real(words + places[i], value[i]);
	else
		for (uint32_t i = 0; i < n; i++)
			if (rql_bit(values.valid, i))
				rql_state_add_real(words + places[i], value[i]);
}

/* Floor: a place and a value read, a word of the group's row read and written, and its count beside it. */
void rql_scan_add_few(const struct rql_scan_slot *slot, struct rql_scan_values values, uint64_t *rows,
                      const uint32_t *places, uint32_t n, bool count)
{
	const uint64_t *value = values.data, *valid = values.valid;
	bool sum = slot && slot->state.kind == RQL_STATE_SUM;
	uint32_t at = slot ? slot->state.word : 0;
	if (sum && count && !valid) {
		for (uint32_t i = 0; i < n; i++) {
			uint64_t *row = rows + places[i];
			row[0]++;
			row[at] += value[i];
		}
		return;
	}
	for (uint32_t i = 0; i < n && count; i++)
		rows[places[i]]++;
	if (slot && slot->state.kind == RQL_STATE_SUM_REAL)
		add_few_reals(values, rows + at, places, n);
	else if (sum && !valid)
		for (uint32_t i = 0; i < n; i++)
			rows[places[i] + at] += value[i];
	else if (sum)
		for (uint32_t i = 0; i < n; i++)
			rows[places[i] + at] += value[i] & -rql_bit(valid, i);
	else if (slot)
		for (uint32_t i = 0; i < n; i++)
			rows[places[i] + at] += rql_bit_valid(valid, i);
}
