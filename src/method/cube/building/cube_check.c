/* A cube's invariants: those that memory safety rests on (also for side files), and all of them (tests, debug builds).
 */
#include "method/cube/cube_internal.h"

#include "method/cube/cube_pack.h"

#define CHECK(condition, ...)                                                                                          \
	do {                                                                                                               \
		if (!(condition))                                                                                              \
			return rql_error_set(err, RQL_ERROR_CORRUPT, "damaged cube: " __VA_ARGS__);                                \
	} while (0)

/* ---- structure ---- */

static uint64_t offset_of(const struct rql_cube *cube, uint64_t i)
{
	return cube->directory32 ? cube->directory32[i] : cube->directory64[i];
}

static rql_status check_packed(const struct rql_packed *packed, uint64_t cells, const char *what, struct rql_error *err)
{
	CHECK(packed->bits <= RQL_PACKED_MAX_BITS || packed->bits == 64 || packed->bits == 128, "%s have %u bits", what,
	      packed->bits);
	CHECK(packed->count == cells, "%s have %llu values for %llu cells", what, (unsigned long long)packed->count,
	      (unsigned long long)cells);
	CHECK(packed->data || !rql_packed_bytes(packed->count, packed->bits), "%s have no data", what);
	return RQL_OK;
}

/* Every value of a code column is below limit; cells without a value may hold anything in the column's range, too. */
static rql_status check_codes(const struct rql_packed *packed, uint64_t limit, const char *what, struct rql_error *err)
{
	if (!packed->count)
		return RQL_OK;
	CHECK(packed->bits <= 32 && packed->base >= 0 && packed->base < (rql_int128)limit, "%s are out of range", what);
	if ((uint64_t)packed->base + rql_bit_mask(packed->bits) < limit)
		return RQL_OK;
	for (uint64_t i = 0; i < packed->count; i++)
		CHECK((uint64_t)packed->base + rql_packed_field(packed, i) < limit, "%s are out of range", what);
	return RQL_OK;
}

static rql_status check_map(const uint32_t *codes, uint64_t count, uint64_t limit, const char *what,
                            struct rql_error *err)
{
	CHECK(codes || !count, "%s are missing", what);
	for (uint64_t i = 0; i < count; i++)
		CHECK(codes[i] < limit, "%s are out of range", what);
	return RQL_OK;
}

static rql_status check_dimension(const struct rql_dimension *dimension, struct rql_error *err)
{
	CHECK(rql_cube_dimension_type(dimension->type), "a dimension has an impossible type");
	CHECK(rql_type_equal(dimension->type, dimension->values.type), "a dimension's values have another type");
	CHECK(dimension->values.data || !dimension->count, "a dictionary is missing");
	CHECK(dimension->has_null == (dimension->values.validity != NULL), "a dictionary's NULL is inconsistent");
	CHECK(!dimension->has_null || dimension->count, "a dictionary's NULL is missing");
	for (uint32_t i = 0; i < dimension->count && dimension->type.id == RQL_TYPE_ENUM; i++) {
		struct rql_value value = rql_column_get(&dimension->values, i);
		CHECK(value.is_null || (dimension->type.info && value.integer < (rql_int128)dimension->type.info->name_count),
		      "an ENUM has no such member");
	}
	for (uint32_t i = 0; i < dimension->count && dimension->has_null; i++)
		CHECK(rql_column_valid(&dimension->values, i) == (i + 1 < dimension->count),
		      "a dictionary's NULL is not its last");
	return RQL_OK;
}

static rql_status check_keys(const struct rql_cube *cube, struct rql_error *err)
{
	const struct rql_relation *relation = &cube->relation;
	uint64_t size = 1, entries = relation->cells;
	CHECK(cube->directory_digits <= cube->digit_count && cube->digit_count <= relation->dimension_count,
	      "impossible number of digits");
	for (uint32_t i = 0; i < cube->digit_count; i++) {
		const struct rql_cube_digit *digit = &cube->digits[i];
		CHECK(digit->dimension < relation->dimension_count && cube->order_chosen[i] == digit->dimension,
		      "digit %u names no dimension", i);
		CHECK(digit->radix == relation->dimensions[digit->dimension].count, "digit %u has a wrong radix", i);
		RQL_TRY(check_map(digit->code_of_digit, digit->radix, relation->dimensions[digit->dimension].count,
		                  "digit codes", err));
		if (i < cube->directory_digits)
			CHECK(!__builtin_mul_overflow(size, digit->radix, &size), "the directory is too large");
	}
	for (uint32_t d = 0; d < relation->dimension_count; d++) {
		RQL_TRY(check_dimension(&relation->dimensions[d], err));
		CHECK(cube->dimensions[d].digit < cube->digit_count, "dimension %u has no digit", d);
		RQL_TRY(check_map(cube->dimensions[d].code_of_digit, cube->digits[cube->dimensions[d].digit].radix,
		                  relation->dimensions[d].count, "dimension codes", err));
	}
	CHECK(size == cube->directory_size, "the directory has a wrong size");
	CHECK(!cube->directory32 != !cube->directory64, "the directory is missing");
	CHECK(offset_of(cube, 0) == 0 && offset_of(cube, size) == entries, "the directory does not cover the cells");
	for (uint64_t i = 0; i < size; i++)
		CHECK(offset_of(cube, i) <= offset_of(cube, i + 1), "the directory's offsets do not ascend");
	for (uint32_t i = cube->directory_digits; i < cube->digit_count; i++) {
		const struct rql_packed *residual = &cube->residual[i - cube->directory_digits];
		RQL_TRY(check_packed(residual, entries, "residual digits", err));
		CHECK(residual->base == 0, "residual digits are out of range");
		RQL_TRY(check_codes(residual, cube->digits[i].radix, "residual digits", err));
	}
	return RQL_OK;
}

static rql_status check_measure(const struct rql_cube *cube, uint32_t m, struct rql_error *err)
{
	const struct rql_measure *measure = &cube->relation.measures[m];
	const struct rql_cube_measure *stored = &cube->measures[m];
	uint64_t cells = cube->relation.cells;
	bool rolled = cube->relation.rolled_up, real = measure->kind == RQL_MEASURE_REAL;
	enum rql_measure_kind kind;
	CHECK(rql_cube_measure_kind(measure->type, &kind) && kind == measure->kind, "measure %u has an impossible type", m);
	CHECK(!measure->sum || rql_cube_summable(measure->type), "measure %u cannot be summed", m);
	RQL_TRY(check_packed(&stored->sum, real || (rolled && !measure->sum) ? 0 : cells, "sums", err));
	RQL_TRY(check_packed(&stored->min, rolled && measure->min && !real ? cells : 0, "minima", err));
	RQL_TRY(check_packed(&stored->max, rolled && measure->max && !real ? cells : 0, "maxima", err));
	RQL_TRY(check_packed(&stored->valid, measure->has_null ? cells : 0, "counts of values", err));
	CHECK(stored->valid.bits <= 64 &&
	          (rolled || !measure->has_null || !cells || (stored->valid.bits == 1 && stored->valid.base == 0)),
	      "counts of values have a wrong width");
	CHECK((stored->valid_cumulative != NULL) == measure->has_null, "cumulative counts are missing");
	bool sums = measure->sum && !real;
	CHECK((stored->cumulative != NULL) == (sums && !stored->wide), "cumulative sums are missing");
	CHECK((stored->cumulative128 != NULL) == (sums && stored->wide), "cumulative sums are missing");
	CHECK((stored->real != NULL) == (real && cells && (!rolled || measure->sum)), "reals are missing");
	CHECK((stored->real_min != NULL) == (real && cells && rolled && measure->min), "reals are missing");
	CHECK((stored->real_max != NULL) == (real && cells && rolled && measure->max), "reals are missing");
	CHECK(rolled || (measure->min && measure->max), "measure %u has no minimum", m);
	if (measure->kind != RQL_MEASURE_CODE)
		return RQL_OK;
	RQL_TRY(check_dimension(&measure->dictionary, err));
	RQL_TRY(check_codes(&stored->sum, measure->dictionary.count, "measure codes", err));
	RQL_TRY(check_codes(&stored->min, measure->dictionary.count, "measure codes", err));
	return check_codes(&stored->max, measure->dictionary.count, "measure codes", err);
}

rql_status rql_cube_check_structure(const struct rql_cube *cube, struct rql_error *err)
{
	const struct rql_relation *relation = &cube->relation;
	CHECK(relation->cells <= relation->rows && (relation->rolled_up || relation->cells == relation->rows),
	      "%llu cells of %llu rows", (unsigned long long)relation->cells, (unsigned long long)relation->rows);
	RQL_TRY(check_keys(cube, err));
	RQL_TRY(check_packed(&cube->count, relation->rolled_up ? relation->cells : 0, "counts", err));
	CHECK(cube->count.bits <= 64, "counts have a wrong width");
	CHECK((cube->count_cumulative != NULL) == relation->rolled_up, "cumulative counts are missing");
	for (uint32_t m = 0; m < relation->measure_count; m++)
		RQL_TRY(check_measure(cube, m, err));
	return RQL_OK;
}

/* ---- meaning ---- */

static rql_status check_order(const struct rql_dimension *dimension, struct rql_error *err)
{
	uint32_t values = dimension->count - dimension->has_null;
	for (uint32_t i = 1; i < values; i++)
		CHECK(rql_column_compare(&dimension->values, i - 1, &dimension->values, i) < 0, "a dictionary is not sorted");
	return RQL_OK;
}

/* Within an entry of the directory the residual digits ascend, strictly when equal keys are one cell. */
static rql_status check_sorted(const struct rql_cube *cube, struct rql_error *err)
{
	uint32_t residual = cube->digit_count - cube->directory_digits;
	for (uint64_t entry = 0; entry < cube->directory_size; entry++) {
		for (uint64_t cell = offset_of(cube, entry) + 1; cell < offset_of(cube, entry + 1); cell++) {
			uint32_t i = 0;
			while (i < residual &&
			       rql_packed_field(&cube->residual[i], cell - 1) == rql_packed_field(&cube->residual[i], cell))
				i++;
			if (i == residual)
				CHECK(!cube->relation.rolled_up, "a key has two cells");
			else
				CHECK(rql_packed_field(&cube->residual[i], cell - 1) < rql_packed_field(&cube->residual[i], cell),
				      "the cells are not sorted");
		}
	}
	return RQL_OK;
}

static uint64_t rows_of(const struct rql_cube *cube, uint64_t cell)
{
	return cube->relation.rolled_up ? (uint64_t)rql_packed_get(&cube->count, cell) : 1;
}

static rql_status check_counts(const struct rql_cube *cube, struct rql_error *err)
{
	uint64_t rows = 0;
	for (uint64_t cell = 0; cell <= cube->relation.cells && cube->relation.rolled_up; cell++) {
		if (cell % RQL_CUBE_BLOCK == 0)
			CHECK(cube->count_cumulative[cell / RQL_CUBE_BLOCK] == rows, "cumulative counts are wrong");
		if (cell == cube->relation.cells)
			break;
		CHECK(rows_of(cube, cell) > 0, "a cell has no rows");
		rows += rows_of(cube, cell);
	}
	CHECK(!cube->relation.rolled_up || rows == cube->relation.rows, "the cells' rows are not all rows");
	return RQL_OK;
}

static rql_status check_values(const struct rql_cube *cube, uint32_t m, struct rql_error *err)
{
	const struct rql_cube_measure *stored = &cube->measures[m];
	const struct rql_measure *measure = &cube->relation.measures[m];
	uint64_t valid_total = 0, cells = cube->relation.cells;
	rql_uint128 total = 0;
	for (uint64_t cell = 0;; cell++) {
		if (cell % RQL_CUBE_BLOCK == 0) {
			uint64_t block = cell / RQL_CUBE_BLOCK;
			CHECK(!stored->cumulative || stored->cumulative[block] == (uint64_t)total, "cumulative sums are wrong");
			CHECK(!stored->cumulative128 || stored->cumulative128[block] == total, "cumulative sums are wrong");
			CHECK(!stored->valid_cumulative || stored->valid_cumulative[block] == valid_total,
			      "cumulative counts are wrong");
		}
		if (cell == cells)
			return RQL_OK;
		uint64_t valid = measure->has_null ? (uint64_t)rql_packed_get(&stored->valid, cell) : rows_of(cube, cell);
		CHECK(valid <= rows_of(cube, cell), "a cell has more values than rows");
		valid_total += valid;
		if (!stored->sum.count)
			continue;
		rql_int128 sum = rql_packed_get(&stored->sum, cell);
		total += (rql_uint128)sum;
		CHECK(valid || sum == 0 || measure->kind == RQL_MEASURE_CODE, "a cell without values has a sum");
		if (!cube->relation.rolled_up && valid && measure->kind == RQL_MEASURE_INTEGER)
			CHECK(sum >= measure->least && sum <= measure->greatest, "a value is out of its bounds");
	}
}

rql_status rql_cube_check(const struct rql_cube *cube, struct rql_error *err)
{
	RQL_TRY(rql_cube_check_structure(cube, err));
	for (uint32_t d = 0; d < cube->relation.dimension_count; d++)
		RQL_TRY(check_order(&cube->relation.dimensions[d], err));
	RQL_TRY(check_sorted(cube, err));
	RQL_TRY(check_counts(cube, err));
	for (uint32_t m = 0; m < cube->relation.measure_count; m++) {
		if (cube->relation.measures[m].kind == RQL_MEASURE_CODE)
			RQL_TRY(check_order(&cube->relation.measures[m].dictionary, err));
		RQL_TRY(check_values(cube, m, err));
	}
	return RQL_OK;
}
