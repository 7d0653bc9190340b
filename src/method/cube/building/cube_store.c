/* Sorted records become cells: equal keys are counted and, when rolled up, aggregated; then the directory, the residual
 * digits, the measures and their cumulative sums are written, ranges of cells in parallel. A range is a multiple of 64
 * cells, so that bit-packed columns of two ranges never share a word. Rolled-up cells are aggregated twice, first for
 * the bounds that the packing needs, then to be packed: nothing of the size of the cells is kept in between. */
#include "method/cube/building/cube_build.h"

#include <math.h>

#include "method/cube/cube_pack.h"

#define RANGE_CELLS (UINT64_C(512) * RQL_CUBE_BLOCK)
#define GROUP 256u /* cells aggregated at once */

struct bounds {
	bool any;
	rql_int128 least, greatest;
};
/* What a range has seen of a measure: the bounds of its cells, then the totals of what it wrote. */
struct range_stats {
	struct bounds sum, min, max, valid;
	rql_uint128 sum_total;
	uint64_t valid_total;
};

struct store {
	struct rql_relation_builder *builder;
	struct rql_cube *cube;
	const struct rql_record_layout *layout;
	const uint64_t *records;
	uint32_t words;
	uint64_t rows, cells, ranges;
	uint64_t *starts;                         /* rolled up: [cells + 1] first row of each cell; NULL: row-level */
	uint64_t *distinct;                       /* [ranges of rows + 1] while keys are counted */
	struct range_stats *stats;                /* [ranges][measures] */
	struct bounds *count_bounds;              /* [ranges] */
	uint64_t *count_total;                    /* [ranges] */
	uint64_t stride[RQL_CUBE_MAX_DIMENSIONS]; /* of the directory's digits */
	uint64_t prefix_mask;                     /* of the directory's digits in word 0 */
	uint64_t *key_mask;                       /* [limbs] */
};

struct cells {
	rql_int128 sum[GROUP], min[GROUP], max[GROUP];
	double real[GROUP], real_min[GROUP], real_max[GROUP];
	uint64_t valid[GROUP];
};

static const uint64_t *record_at(const struct store *store, uint64_t cell)
{
	return store->records + (store->starts ? store->starts[cell] : cell) * store->words;
}

static inline uint64_t field_of(const uint64_t *record, struct rql_field field)
{
	return field.bits ? record[field.word] >> field.shift & rql_bit_mask(field.bits) : 0;
}

static uint64_t range_end(const struct store *store, uint64_t range)
{
	uint64_t end = (range + 1) * RANGE_CELLS;
	return end < store->cells ? end : store->cells;
}

static void widen(struct bounds *bounds, rql_int128 value)
{
	if (!bounds->any || value < bounds->least)
		bounds->least = value;
	if (!bounds->any || value > bounds->greatest)
		bounds->greatest = value;
	bounds->any = true;
}

/* ---- cells of equal keys ---- */

static bool starts_cell(const struct store *store, uint64_t row)
{
	const uint64_t *record = store->records + row * store->words, *before = record - store->words;
	if (!row)
		return true;
	for (uint32_t l = 0; l < store->layout->limbs; l++) {
		if ((record[l] ^ before[l]) & store->key_mask[l])
			return true;
	}
	return false;
}

static void count_keys(void *state, uint64_t range, unsigned thread)
{
	(void)thread;
	struct store *store = state;
	uint64_t end = (range + 1) * RANGE_CELLS < store->rows ? (range + 1) * RANGE_CELLS : store->rows, count = 0;
	for (uint64_t row = range * RANGE_CELLS; row < end && !rql_build_cancelled(store->builder); row++)
		count += starts_cell(store, row);
	store->distinct[range + 1] = count;
}

static void mark_cells(void *state, uint64_t range, unsigned thread)
{
	(void)thread;
	struct store *store = state;
	uint64_t end = (range + 1) * RANGE_CELLS < store->rows ? (range + 1) * RANGE_CELLS : store->rows;
	uint64_t cell = store->distinct[range];
	for (uint64_t row = range * RANGE_CELLS; row < end; row++) {
		if (starts_cell(store, row))
			store->starts[cell++] = row;
	}
}

/* Counts the distinct keys, decides about rolling up, and finds the cells. */
static rql_status find_cells(struct store *store, struct rql_error *err)
{
	struct rql_relation_builder *builder = store->builder;
	uint64_t ranges = (store->rows + RANGE_CELLS - 1) / RANGE_CELLS;
	store->cells = store->rows;
	if (builder->spec.rollup == RQL_ROLLUP_OFF)
		return RQL_OK;
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, store->distinct, ranges + 1, err));
	rql_build_parallel(builder, ranges, count_keys, store);
	if (rql_build_cancelled(builder)) /* the counts are not complete: they must not size anything */
		return rql_build_interrupted(err);
	for (uint64_t r = 0; r < ranges; r++)
		store->distinct[r + 1] += store->distinct[r];
	uint64_t cells = store->distinct[ranges];
	if (builder->spec.rollup == RQL_ROLLUP_ON || cells <= store->rows / 2) {
		store->cells = cells;
		store->cube->relation.rolled_up = true;
		RQL_TRY(RQL_MEM_ARRAY(&builder->mem, store->starts, cells + 1, err));
		rql_build_parallel(builder, ranges, mark_cells, store);
		store->starts[cells] = store->rows;
	}
	rql_mem_free(&builder->mem, store->distinct);
	return RQL_OK;
}

/* ---- aggregation of rolled-up cells ---- */

static bool row_valid(const uint64_t *record, struct rql_field valid)
{
	return !valid.bits || (record[valid.word] >> valid.shift & 1);
}

static rql_int128 row_value(const struct store *store, uint32_t m, const uint64_t *record)
{
	struct rql_field field = store->layout->values[m];
	if (field.bits == 128)
		return (rql_int128)((rql_uint128)store->layout->base[m] +
		                    ((rql_uint128)record[field.word + 1] << 64 | record[field.word]));
	return store->layout->base[m] + (rql_int128)field_of(record, field);
}

static int compare_reals(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (int)isnan(a) - (int)isnan(b);
	return (a > b) - (a < b);
}

static void aggregate_real(const struct store *store, uint32_t m, uint64_t cell, uint32_t i, struct cells *out)
{
	struct rql_field field = store->layout->values[m], valid = store->layout->valid[m];
	double sum = 0, least = 0, greatest = 0;
	uint64_t count = 0;
	for (uint64_t row = store->starts[cell]; row < store->starts[cell + 1]; row++) {
		const uint64_t *record = store->records + row * store->words;
		double value;
		if (!row_valid(record, valid))
			continue;
		memcpy(&value, &record[field.word], 8);
		if (!count || compare_reals(value, least) < 0)
			least = value;
		if (!count || compare_reals(value, greatest) > 0)
			greatest = value;
		sum = count ? sum + value : value;
		count++;
	}
	out->real[i] = sum;
	out->real_min[i] = least;
	out->real_max[i] = greatest;
	out->valid[i] = count;
}

/* Offsets from the base fit a word and the measure has no NULLs: most measures. */
static void aggregate_narrow(const struct store *store, uint32_t m, uint64_t cell, uint32_t i, struct cells *out)
{
	struct rql_field field = store->layout->values[m];
	rql_int128 base = store->layout->base[m];
	uint64_t least = UINT64_MAX, greatest = 0, rows = store->starts[cell + 1] - store->starts[cell];
	rql_uint128 sum = 0;
	for (uint64_t row = store->starts[cell]; row < store->starts[cell + 1]; row++) {
		uint64_t value = field_of(store->records + row * store->words, field);
		sum += value;
		least = value < least ? value : least;
		greatest = value > greatest ? value : greatest;
	}
	/* Modulo 2^128: the sum itself is only used where the bounds prove that it fits. */
	out->sum[i] = (rql_int128)((rql_uint128)base * rows + sum);
	out->min[i] = base + (rql_int128)least;
	out->max[i] = base + (rql_int128)greatest;
	out->valid[i] = rows;
}

static void aggregate_any(const struct store *store, uint32_t m, uint64_t cell, uint32_t i, struct cells *out)
{
	struct rql_field valid = store->layout->valid[m];
	rql_uint128 sum = 0;
	rql_int128 least = store->layout->base[m], greatest = least;
	uint64_t count = 0;
	for (uint64_t row = store->starts[cell]; row < store->starts[cell + 1]; row++) {
		const uint64_t *record = store->records + row * store->words;
		if (!row_valid(record, valid))
			continue;
		rql_int128 value = row_value(store, m, record);
		if (!count || value < least)
			least = value;
		if (!count || value > greatest)
			greatest = value;
		sum += (rql_uint128)value;
		count++;
	}
	out->sum[i] = (rql_int128)sum;
	out->min[i] = least;
	out->max[i] = greatest;
	out->valid[i] = count;
}

static void aggregate(const struct store *store, uint32_t m, uint64_t first, uint32_t count, struct cells *out)
{
	if (store->builder->kinds[m] == RQL_MEASURE_REAL) {
		for (uint32_t i = 0; i < count; i++)
			aggregate_real(store, m, first + i, i, out);
	} else if (store->layout->values[m].bits <= 64 && !store->layout->valid[m].bits) {
		for (uint32_t i = 0; i < count; i++)
			aggregate_narrow(store, m, first + i, i, out);
	} else {
		for (uint32_t i = 0; i < count; i++)
			aggregate_any(store, m, first + i, i, out);
	}
}

static void measure_range(void *state, uint64_t range, unsigned thread)
{
	(void)thread;
	const struct store *store = state;
	uint32_t measures = store->builder->spec.measure_count;
	uint64_t end = range_end(store, range);
	struct cells cells;
	for (uint64_t first = range * RANGE_CELLS; first < end && !rql_build_cancelled(store->builder); first += GROUP) {
		uint32_t count = end - first < GROUP ? (uint32_t)(end - first) : GROUP;
		for (uint32_t i = 0; i < count; i++)
			widen(&store->count_bounds[range], (rql_int128)(store->starts[first + i + 1] - store->starts[first + i]));
		for (uint32_t m = 0; m < measures; m++) {
			struct range_stats *stats = &store->stats[range * measures + m];
			aggregate(store, m, first, count, &cells);
			for (uint32_t i = 0; i < count; i++) {
				widen(&stats->valid, (rql_int128)cells.valid[i]);
				if (store->builder->kinds[m] == RQL_MEASURE_REAL)
					continue;
				widen(&stats->sum, cells.sum[i]);
				widen(&stats->min, cells.min[i]);
				widen(&stats->max, cells.max[i]);
			}
		}
	}
}

static void unite(struct bounds *into, const struct bounds *other)
{
	if (!other->any)
		return;
	widen(into, other->least);
	widen(into, other->greatest);
}

/* ---- widths and allocation ---- */

static rql_status allocate_packed(struct store *store, struct rql_packed *packed, const struct bounds *bounds,
                                  struct rql_error *err)
{
	packed->base = bounds->any ? bounds->least : 0;
	packed->bits =
		bounds->any ? rql_packed_width(rql_bits_for((rql_uint128)bounds->greatest - (rql_uint128)bounds->least)) : 0;
	return rql_packed_alloc(&store->builder->cube->mem, packed, store->cells, err);
}

static rql_status allocate_valid(struct store *store, uint32_t m, const struct bounds *bounds, struct rql_error *err)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	const struct bounds bit = {.any = store->cells > 0, .least = 0, .greatest = 1};
	if (!store->builder->stats[m].has_null)
		return RQL_OK;
	RQL_TRY(allocate_packed(store, &out->valid, store->starts ? bounds : &bit, err));
	return RQL_MEM_ZARRAY(&store->builder->cube->mem, out->valid_cumulative, store->cells / RQL_CUBE_BLOCK + 1, err);
}

static rql_status allocate_cumulative(struct store *store, uint32_t m, struct rql_error *err)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	const struct rql_measure_stats *stats = &store->builder->stats[m];
	struct rql_mem *mem = &store->builder->cube->mem;
	uint64_t entries = store->cells / RQL_CUBE_BLOCK + 1;
	if (!store->cube->relation.measures[m].sum)
		return RQL_OK;
	out->wide = stats->negative < INT64_MIN || stats->positive > INT64_MAX;
	if (out->wide)
		return RQL_MEM_ZARRAY(mem, out->cumulative128, entries, err);
	return RQL_MEM_ZARRAY(mem, out->cumulative, entries, err);
}

static rql_status allocate_real(struct store *store, uint32_t m, struct rql_error *err)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	const struct rql_measure *measure = &store->cube->relation.measures[m];
	struct rql_mem *mem = &store->builder->cube->mem;
	if (!store->cells)
		return RQL_OK;
	if (!store->starts || measure->sum)
		RQL_TRY(RQL_MEM_ARRAY(mem, out->real, store->cells, err));
	if (store->starts && measure->min)
		RQL_TRY(RQL_MEM_ARRAY(mem, out->real_min, store->cells, err));
	if (store->starts && measure->max)
		RQL_TRY(RQL_MEM_ARRAY(mem, out->real_max, store->cells, err));
	return RQL_OK;
}

static rql_status allocate_measure(struct store *store, uint32_t m, struct rql_error *err)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	const struct rql_measure *measure = &store->cube->relation.measures[m];
	uint32_t measures = store->builder->spec.measure_count;
	struct range_stats all = {0};
	for (uint64_t r = 0; r < store->ranges && store->starts; r++) {
		const struct range_stats *range = &store->stats[r * measures + m];
		unite(&all.sum, &range->sum);
		unite(&all.min, &range->min);
		unite(&all.max, &range->max);
		unite(&all.valid, &range->valid);
	}
	RQL_TRY(allocate_valid(store, m, &all.valid, err));
	if (measure->kind == RQL_MEASURE_REAL)
		return allocate_real(store, m, err);
	RQL_TRY(allocate_cumulative(store, m, err));
	if (!store->starts) {
		out->sum.base = store->layout->base[m];
		out->sum.bits = rql_packed_width(store->layout->values[m].bits);
		return rql_packed_alloc(&store->builder->cube->mem, &out->sum, store->cells, err);
	}
	if (measure->sum)
		RQL_TRY(allocate_packed(store, &out->sum, &all.sum, err));
	if (measure->min)
		RQL_TRY(allocate_packed(store, &out->min, &all.min, err));
	if (measure->max)
		RQL_TRY(allocate_packed(store, &out->max, &all.max, err));
	return RQL_OK;
}

/* How many leading digits the directory takes: as many as keep it under an offset per cell. Rolled-up cells are few and nearly
 * dense, so two offsets for each are allowed: without a residual digit there is nothing to search in an interval, which
 * is four times faster (SSB flight 3: 3.5 M cells of 5.25 M keys). */
static void choose_directory(struct store *store)
{
	struct rql_cube *cube = store->cube;
	uint64_t limit = store->cells * (cube->relation.rolled_up ? 2 : 1), size = 1;
	if (limit < 4096)
		limit = 4096;
	uint32_t p = 0;
	for (; p < cube->digit_count && store->layout->digits[p].word == 0; p++) {
		if (cube->digits[p].radix && size > limit / cube->digits[p].radix)
			break;
		size *= cube->digits[p].radix;
		if (store->layout->digits[p].bits)
			store->prefix_mask |= rql_bit_mask(store->layout->digits[p].bits) << store->layout->digits[p].shift;
	}
	cube->directory_digits = p;
	cube->directory_size = size;
	for (uint64_t stride = 1; p-- > 0; stride *= cube->digits[p].radix)
		store->stride[p] = stride;
}

static rql_status allocate_keys(struct store *store, struct rql_error *err)
{
	struct rql_cube *cube = store->cube;
	struct rql_mem *mem = &store->builder->cube->mem;
	choose_directory(store);
	if (store->cells <= UINT32_MAX)
		RQL_TRY(RQL_MEM_ARRAY(mem, cube->directory32, cube->directory_size + 1, err));
	else
		RQL_TRY(RQL_MEM_ARRAY(mem, cube->directory64, cube->directory_size + 1, err));
	uint32_t residual = cube->digit_count - cube->directory_digits;
	cube->residual = RQL_NEW_ARRAY(cube->arena, struct rql_packed, residual);
	if (!cube->residual)
		return rql_error_memory(err, residual * sizeof(*cube->residual), store->builder->cube->mem.what);
	for (uint32_t i = 0; i < residual; i++) {
		cube->residual[i].bits = store->layout->digits[cube->directory_digits + i].bits;
		RQL_TRY(rql_packed_alloc(mem, &cube->residual[i], store->cells, err));
	}
	if (!store->starts)
		return RQL_OK;
	struct bounds counts = {0};
	for (uint64_t r = 0; r < store->ranges; r++)
		unite(&counts, &store->count_bounds[r]);
	RQL_TRY(allocate_packed(store, &cube->count, &counts, err));
	return RQL_MEM_ZARRAY(mem, cube->count_cumulative, store->cells / RQL_CUBE_BLOCK + 1, err);
}

/* ---- writing: keys ---- */

static void put_offsets(const struct rql_cube *cube, uint64_t from, uint64_t to, uint64_t offset)
{
	if (cube->directory32) {
		for (; from < to; from++)
			cube->directory32[from] = (uint32_t)offset;
	} else {
		for (; from < to; from++)
			cube->directory64[from] = offset;
	}
}

static uint64_t prefix_of(const struct store *store, const uint64_t *record)
{
	uint64_t prefix = 0;
	for (uint32_t i = 0; i < store->cube->directory_digits; i++)
		prefix += field_of(record, store->layout->digits[i]) * store->stride[i];
	return prefix;
}

static void write_directory(const struct store *store, uint64_t range)
{
	uint64_t first = range * RANGE_CELLS, end = range_end(store, range), next = 0,
			 seen = 0; /* next: first unset entry */
	if (first && first <= store->cells && store->cells) {
		const uint64_t *before = record_at(store, first - 1);
		next = prefix_of(store, before) + 1;
		seen = before[0];
	}
	for (uint64_t cell = first; cell < end; cell++) {
		const uint64_t *record = record_at(store, cell);
		if (cell && !((record[0] ^ seen) & store->prefix_mask))
			continue;
		seen = record[0];
		uint64_t prefix = prefix_of(store, record);
		put_offsets(store->cube, next, prefix + 1, cell);
		next = prefix + 1;
	}
	if (range == store->ranges - 1)
		put_offsets(store->cube, next, store->cube->directory_size + 1, store->cells);
}

static void write_residual(const struct store *store, uint64_t range)
{
	uint64_t first = range * RANGE_CELLS, end = range_end(store, range);
	for (uint32_t i = 0; i < store->cube->digit_count - store->cube->directory_digits; i++) {
		struct rql_field field = store->layout->digits[store->cube->directory_digits + i];
		struct rql_packer packer = rql_packer_at(&store->cube->residual[i], first);
		for (uint64_t cell = first; cell < end && field.bits; cell++)
			rql_packer_put(&packer, field_of(record_at(store, cell), field));
		rql_packer_flush(&packer);
	}
}

static void write_counts(const struct store *store, uint64_t range)
{
	uint64_t first = range * RANGE_CELLS, end = range_end(store, range), total = 0;
	struct rql_cube *cube = store->cube;
	struct rql_packer packer = rql_packer_at(&cube->count, first);
	for (uint64_t cell = first; cell < end; cell++) {
		uint64_t rows = store->starts[cell + 1] - store->starts[cell];
		if (cell % RQL_CUBE_BLOCK == 0)
			cube->count_cumulative[cell / RQL_CUBE_BLOCK] = total;
		total += rows;
		rql_packer_put(&packer, rows - (uint64_t)cube->count.base);
	}
	rql_packer_flush(&packer);
	if (end % RQL_CUBE_BLOCK == 0 && end < first + RANGE_CELLS)
		cube->count_cumulative[end / RQL_CUBE_BLOCK] = total;
	store->count_total[range] = total;
}

/* ---- writing: measures ---- */

static void put_value(struct rql_packer *packer, const struct rql_packed *packed, rql_int128 value)
{
	rql_uint128 field = (rql_uint128)value - (rql_uint128)packed->base;
	if (packed->bits == 128)
		rql_packer_put128(packer, field);
	else
		rql_packer_put(packer, (uint64_t)field);
}

/* The cumulative sums before `cell` when it begins a block (or is the end of all cells and would). */
static void put_cumulative(const struct rql_cube_measure *out, uint64_t cell, const struct range_stats *stats)
{
	uint64_t block = cell / RQL_CUBE_BLOCK;
	if (cell % RQL_CUBE_BLOCK)
		return;
	if (out->cumulative)
		out->cumulative[block] = (uint64_t)stats->sum_total;
	if (out->cumulative128)
		out->cumulative128[block] = stats->sum_total;
	if (out->valid_cumulative)
		out->valid_cumulative[block] = stats->valid_total;
}

struct measure_writer {
	struct rql_packer sum, min, max, valid;
};

static void write_rolled_cells(const struct store *store, uint32_t m, uint64_t first, uint32_t count,
                               struct cells *cells, struct measure_writer *writer, struct range_stats *stats)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	aggregate(store, m, first, count, cells);
	for (uint32_t i = 0; i < count; i++) {
		put_cumulative(out, first + i, stats);
		if (out->valid.count)
			put_value(&writer->valid, &out->valid, (rql_int128)cells->valid[i]);
		if (out->sum.count)
			put_value(&writer->sum, &out->sum, cells->sum[i]);
		if (out->min.count)
			put_value(&writer->min, &out->min, cells->min[i]);
		if (out->max.count)
			put_value(&writer->max, &out->max, cells->max[i]);
		if (out->real)
			out->real[first + i] = cells->real[i];
		if (out->real_min)
			out->real_min[first + i] = cells->real_min[i];
		if (out->real_max)
			out->real_max[first + i] = cells->real_max[i];
		stats->sum_total += (rql_uint128)(store->builder->kinds[m] == RQL_MEASURE_INTEGER ? cells->sum[i] : 0);
		stats->valid_total += cells->valid[i];
	}
}

/* Row-level offsets go from field to field; the sum is brought up with the base at the end of each block. */
static void write_row_values(const struct store *store, uint32_t m, uint64_t first, uint64_t end,
                             struct range_stats *stats)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	struct rql_field field = store->layout->values[m], valid = store->layout->valid[m];
	struct rql_packer values = rql_packer_at(&out->sum, first), bits = rql_packer_at(&out->valid, first);
	rql_uint128 base = (rql_uint128)out->sum.base;
	for (uint64_t block = first; block < end; block += RQL_CUBE_BLOCK) {
		uint64_t stop = block + RQL_CUBE_BLOCK < end ? block + RQL_CUBE_BLOCK : end;
		rql_uint128 sum = 0;
		put_cumulative(out, block, stats);
		for (uint64_t cell = block; cell < stop; cell++) {
			uint64_t value = field_of(store->records + cell * store->words, field);
			rql_packer_put(&values, value);
			sum += value;
		}
		for (uint64_t cell = block; cell < stop && valid.bits; cell++) {
			uint64_t bit = field_of(store->records + cell * store->words, valid);
			rql_packer_put(&bits, bit);
			stats->valid_total += bit;
		}
		stats->sum_total += base * (stop - block) + sum;
	}
	rql_packer_flush(&values);
	rql_packer_flush(&bits);
}

/* Reals and 128-bit values of row-level cubes. */
static void write_row_others(const struct store *store, uint32_t m, uint64_t first, uint64_t end,
                             struct range_stats *stats)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	struct rql_field field = store->layout->values[m], valid = store->layout->valid[m];
	struct rql_packer values = rql_packer_at(&out->sum, first), bits = rql_packer_at(&out->valid, first);
	for (uint64_t cell = first; cell < end; cell++) {
		const uint64_t *record = store->records + cell * store->words;
		bool is_valid = row_valid(record, valid);
		put_cumulative(out, cell, stats);
		if (valid.bits)
			rql_packer_put(&bits, is_valid);
		stats->valid_total += is_valid;
		if (out->real) {
			memcpy(&out->real[cell], &record[field.word], 8);
			continue;
		}
		rql_int128 value = row_value(store, m, record);
		put_value(&values, &out->sum, value);
		stats->sum_total += (rql_uint128)value;
	}
	rql_packer_flush(&values);
	rql_packer_flush(&bits);
}

static void write_measure(const struct store *store, uint32_t m, uint64_t range, struct range_stats *stats)
{
	struct rql_cube_measure *out = &store->cube->measures[m];
	uint64_t first = range * RANGE_CELLS, end = range_end(store, range);
	if (store->starts) {
		struct cells cells;
		struct measure_writer writer = {.sum = rql_packer_at(&out->sum, first),
		                                .min = rql_packer_at(&out->min, first),
		                                .max = rql_packer_at(&out->max, first),
		                                .valid = rql_packer_at(&out->valid, first)};
		for (uint64_t cell = first; cell < end; cell += GROUP)
			write_rolled_cells(store, m, cell, end - cell < GROUP ? (uint32_t)(end - cell) : GROUP, &cells, &writer,
			                   stats);
		rql_packer_flush(&writer.sum);
		rql_packer_flush(&writer.min);
		rql_packer_flush(&writer.max);
		rql_packer_flush(&writer.valid);
	} else if (store->builder->kinds[m] == RQL_MEASURE_REAL || store->layout->values[m].bits == 128) {
		write_row_others(store, m, first, end, stats);
	} else {
		write_row_values(store, m, first, end, stats);
	}
	if (end < first + RANGE_CELLS) /* the entry for the end of all cells, which no other range writes */
		put_cumulative(out, end, stats);
}

static void write_range(void *state, uint64_t range, unsigned thread)
{
	(void)thread;
	const struct store *store = state;
	uint32_t measures = store->builder->spec.measure_count;
	if (rql_build_cancelled(store->builder))
		return;
	write_directory(store, range);
	write_residual(store, range);
	if (store->starts)
		write_counts(store, range);
	for (uint32_t m = 0; m < measures; m++) {
		struct range_stats *stats = &store->stats[range * measures + m];
		stats->sum_total = 0;
		stats->valid_total = 0;
		write_measure(store, m, range, stats);
	}
	uint64_t first = range * RANGE_CELLS, end = range_end(store, range);
	if (first < end)
		rql_build_advance(store->builder, store->starts ? store->starts[end] - store->starts[first] : end - first);
}

/* Each range summed from its own beginning; what the ranges before it hold is added here. */
static void add_totals(const struct store *store)
{
	uint32_t measures = store->builder->spec.measure_count;
	uint64_t blocks = store->cells / RQL_CUBE_BLOCK + 1, per_range = RANGE_CELLS / RQL_CUBE_BLOCK, rows = 0;
	for (uint64_t b = 0; b < blocks && store->starts; b++) {
		if (b && b % per_range == 0)
			rows += store->count_total[b / per_range - 1];
		store->cube->count_cumulative[b] += rows;
	}
	for (uint32_t m = 0; m < measures; m++) {
		struct rql_cube_measure *out = &store->cube->measures[m];
		rql_uint128 sum = 0;
		uint64_t valid = 0;
		for (uint64_t b = 0; b < blocks; b++) {
			if (b && b % per_range == 0) {
				sum += store->stats[(b / per_range - 1) * measures + m].sum_total;
				valid += store->stats[(b / per_range - 1) * measures + m].valid_total;
			}
			if (out->cumulative)
				out->cumulative[b] += (uint64_t)sum;
			if (out->cumulative128)
				out->cumulative128[b] += sum;
			if (out->valid_cumulative)
				out->valid_cumulative[b] += valid;
		}
	}
}

/* ---- what the planner sees ---- */

static void describe_measures(const struct store *store)
{
	const struct rql_relation_builder *builder = store->builder;
	for (uint32_t m = 0; m < builder->spec.measure_count; m++) {
		struct rql_measure *measure = (struct rql_measure *)(uintptr_t)&store->cube->relation.measures[m];
		const struct rql_measure_spec *spec = &builder->spec.measures[m];
		const struct rql_measure_stats *stats = &builder->stats[m];
		bool summable = rql_cube_summable(measure->type) && !stats->unbounded;
		/* A row's value answers everything. */
		measure->sum = summable && (spec->sum || !store->starts);
		measure->min = spec->min || !store->starts;
		measure->max = spec->max || !store->starts;
		measure->has_null = stats->has_null;
		measure->least = stats->any ? stats->least : 0;
		measure->greatest = stats->any ? stats->greatest : 0;
	}
}

/* Digits, and each dimension's codes over its digit. */
static rql_status describe_digits(const struct store *store, struct rql_error *err)
{
	struct rql_cube *cube = store->cube;
	struct rql_mem *mem = &store->builder->cube->mem;
	const struct rql_build_shape *shape = &store->builder->shape;
	uint32_t dimensions = store->builder->spec.dimension_count;
	cube->digit_count = shape->digit_count;
	cube->digits = RQL_NEW_ARRAY(cube->arena, struct rql_cube_digit, shape->digit_count);
	cube->dimensions = RQL_NEW_ARRAY(cube->arena, struct rql_cube_dimension, dimensions);
	cube->order_chosen = RQL_NEW_ARRAY(cube->arena, uint32_t, shape->digit_count);
	cube->measures = RQL_NEW_ARRAY(cube->arena, struct rql_cube_measure, store->builder->spec.measure_count);
	if (!cube->digits || !cube->dimensions || !cube->order_chosen || !cube->measures)
		return rql_error_memory(err, dimensions * sizeof(*cube->dimensions), store->builder->cube->mem.what);
	for (uint32_t i = 0; i < shape->digit_count; i++) {
		struct rql_cube_digit *digit = &cube->digits[i];
		*digit = (struct rql_cube_digit){.radix = shape->digits[i].radix, .dimension = shape->digits[i].dimension};
		cube->order_chosen[i] = digit->dimension;
		RQL_TRY(RQL_MEM_ARRAY(mem, digit->code_of_digit, digit->radix, err));
		memcpy(digit->code_of_digit, shape->digits[i].code_of_digit, (uint64_t)digit->radix * sizeof(uint32_t));
	}
	for (uint32_t d = 0; d < dimensions; d++) {
		struct rql_cube_dimension *dimension = &cube->dimensions[d];
		const struct rql_cube_digit *digit = &cube->digits[shape->digit_of_dimension[d]];
		dimension->digit = shape->digit_of_dimension[d];
		dimension->code_of_digit = digit->code_of_digit;
		if (!shape->coarse[d])
			continue;
		RQL_TRY(RQL_MEM_ARRAY(mem, dimension->code_of_digit, digit->radix, err));
		for (uint32_t i = 0; i < digit->radix; i++)
			dimension->code_of_digit[i] = shape->coarse[d][digit->code_of_digit[i]];
	}
	return RQL_OK;
}

static rql_status allocate_all(struct store *store, struct rql_error *err)
{
	struct rql_relation_builder *builder = store->builder;
	uint32_t measures = builder->spec.measure_count;
	store->ranges = store->cells / RANGE_CELLS + 1; /* the last one may be empty: it writes the entries of the end */
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, store->stats, store->ranges * measures, err));
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, store->count_bounds, store->ranges, err));
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, store->count_total, store->ranges, err));
	if (store->starts)
		rql_build_parallel(builder, store->ranges, measure_range, store);
	if (rql_build_cancelled(builder))
		return rql_build_interrupted(err);
	describe_measures(store);
	RQL_TRY(allocate_keys(store, err));
	for (uint32_t m = 0; m < measures; m++)
		RQL_TRY(allocate_measure(store, m, err));
	return RQL_OK;
}

rql_status rql_build_store(struct rql_relation_builder *builder, struct rql_error *err)
{
	struct store store = {.builder = builder,
	                      .cube = &builder->cube->cube,
	                      .layout = &builder->layout,
	                      .records = builder->records,
	                      .words = builder->layout.words,
	                      .rows = builder->rows};
	store.key_mask = RQL_NEW_ARRAY(builder->arena, uint64_t, builder->layout.limbs);
	if (!store.key_mask)
		return rql_error_memory(err, builder->layout.limbs * sizeof(uint64_t), builder->mem.what);
	for (uint32_t l = 0; l < builder->layout.limbs; l++)
		store.key_mask[l] = ~rql_bit_mask(64 - builder->layout.limb_bits[l]);
	RQL_TRY(describe_digits(&store, err));
	RQL_TRY(find_cells(&store, err));
	if (rql_build_cancelled(builder))
		return rql_build_interrupted(err);
	RQL_TRY(allocate_all(&store, err));
	rql_build_parallel(builder, store.ranges, write_range, &store);
	if (rql_build_cancelled(builder))
		return rql_build_interrupted(err);
	add_totals(&store);
	store.cube->relation.rows = store.rows;
	store.cube->relation.cells = store.cells;
	return RQL_OK;
}
