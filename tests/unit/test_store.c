/* The compressed column store against the rows it was built from: random columns of every type and of every shape that
 * an encoding is made for, decoded, filtered and gathered by the kernels of every instruction set; appends, maps,
 * compaction, side files and damaged ones, budgets, threads. Column 0 is a row's number among the rows of the oracle,
 * so that the order in which workers deliver does not matter. Seed: RAYQL_TEST_SEED. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "column/store/store_internal.h"

static uint64_t random_state = 88172645463325252;
static char folder[] = "/tmp/rayql-store-XXXXXX", path[64];
static struct rql_pool *pool;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}
static uint64_t below(uint64_t n)
{
	return next_random() % n;
}

/* ---- the world: an oracle batch ---- */

enum shape { SHAPE_CONSTANT, SHAPE_SMALL, SHAPE_SPARSE, SHAPE_SORTED, SHAPE_RUNS, SHAPE_RANDOM, SHAPE_EXTREME, SHAPES };

static const char *const colours[] = {"green", "blue", "red"};
static const struct rql_type_info colour_info = {
	.text = "ENUM('green', 'blue', 'red')", .name_count = 3, .names = colours};

struct world {
	struct rql_batch *rows;
	struct rql_store_column_spec columns[64];
	char names[64][32];
	bool *used;    /* [rows]: is in the store */
	bool in_order; /* one worker builds */
	uint64_t used_count;
	const struct rql_store_kernels *kernels;
};

static struct rql_type type_at(uint32_t i)
{
	static const rql_type_id ids[] = {
		RQL_TYPE_BOOLEAN,  RQL_TYPE_TINYINT,  RQL_TYPE_SMALLINT,     RQL_TYPE_INTEGER,     RQL_TYPE_BIGINT,
		RQL_TYPE_HUGEINT,  RQL_TYPE_UTINYINT, RQL_TYPE_USMALLINT,    RQL_TYPE_UINTEGER,    RQL_TYPE_UBIGINT,
		RQL_TYPE_UHUGEINT, RQL_TYPE_FLOAT,    RQL_TYPE_DOUBLE,       RQL_TYPE_VARCHAR,     RQL_TYPE_BLOB,
		RQL_TYPE_DATE,     RQL_TYPE_TIME,     RQL_TYPE_TIMESTAMP,    RQL_TYPE_TIMESTAMP_S, RQL_TYPE_TIMESTAMP_MS,
		RQL_TYPE_UUID,     RQL_TYPE_ENUM,     RQL_TYPE_TIMESTAMP_NS, RQL_TYPE_TIMESTAMP_TZ};
	static const uint8_t widths[] = {4, 9, 18, 38};
	uint32_t simple = sizeof ids / sizeof *ids;
	if (i >= simple)
		return (struct rql_type){.id = RQL_TYPE_DECIMAL, .width = widths[(i - simple) % 4], .scale = 2};
	return (struct rql_type){.id = ids[i], .info = ids[i] == RQL_TYPE_ENUM ? &colour_info : NULL};
}
#define TYPES 28u

/* Bits of a value of the shape for row r, before they are cut to the type's width. */
static rql_int128 shaped(enum shape shape, uint64_t r, uint64_t salt)
{
	static const rql_int128 far = (rql_int128)1 << 126;
	switch (shape) {
	case SHAPE_CONSTANT:
		return (rql_int128)salt;
	case SHAPE_SMALL:
		return (rql_int128)below(50) - 7;
	case SHAPE_SPARSE:
		return (rql_int128)(int64_t)(below(40) * UINT64_C(0x123456789abcdef));
	case SHAPE_SORTED:
		return (rql_int128)(r * 3 + below(3)) - 100;
	case SHAPE_RUNS:
		return (rql_int128)((r / 97 * UINT64_C(0x9e3779b97f4a7c15)) >> 50);
	case SHAPE_RANDOM:
		return (rql_int128)((rql_uint128)next_random() << 64 | next_random());
	default:
		switch (below(6)) {
		case 0:
			return INT64_MAX;
		case 1:
			return INT64_MIN;
		case 2:
			return far - 1 + far;
		case 3:
			return -far - far;
		case 4:
			return -1;
		default:
			return 0;
		}
	}
}

static double shaped_real(enum shape shape, uint64_t r, uint64_t salt)
{
	static const double odd[] = {0.0, -0.0, 1e308, -1e308, 4.9e-324, -4.9e-324, 1.5};
	if (shape == SHAPE_EXTREME)
		switch (below(10)) {
		case 0:
			return (double)NAN;
		case 1:
			return (double)INFINITY;
		case 2:
			return -(double)INFINITY;
		default:
			return odd[below(7)];
		}
	return (double)(int64_t)shaped(shape == SHAPE_RANDOM ? SHAPE_SPARSE : shape, r, salt) / 8;
}

static void put_text(struct rql_batch *rows, uint32_t c, uint64_t r, enum shape shape, uint64_t salt)
{
	char text[80];
	uint64_t v = (uint64_t)shaped(shape == SHAPE_RANDOM || shape == SHAPE_EXTREME ? SHAPE_SPARSE : shape, r, salt);
	int length =
		snprintf(text, sizeof text, "%s%llu", v % 3 ? "a longer common beginning of " : "", (unsigned long long)v);
	length = shape == SHAPE_EXTREME && below(3) == 0 ? 0 : length;
	assert_true(rql_batch_set_string(rows, c, r, text, (uint32_t)length));
}

static void put_value(struct rql_batch *rows, uint32_t c, uint64_t r, enum shape shape, uint64_t salt)
{
	struct rql_column *column = &rows->columns[c];
	unsigned bytes = rql_type_bytes(column->type);
	rql_int128 value = shaped(shape, r, salt);
	switch (column->type.id) {
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
		put_text(rows, c, r, shape, salt);
		return;
	case RQL_TYPE_DOUBLE:
		((double *)column->data)[r] = shaped_real(shape, r, salt);
		return;
	case RQL_TYPE_FLOAT:
		((float *)column->data)[r] = (float)shaped_real(shape, r, salt);
		return;
	case RQL_TYPE_BOOLEAN:
		value &= 1;
		break;
	case RQL_TYPE_ENUM:
		value = (rql_int128)((rql_uint128)value % 3);
		break;
	default:
		break;
	}
	memcpy((uint8_t *)column->data + r * bytes, &value, bytes); /* little-endian */
}

static void set_null(struct rql_batch *rows, uint32_t c, uint64_t r)
{
	/* What lies under a NULL is anything. */
	if (rows->columns[c].type.id != RQL_TYPE_VARCHAR && rows->columns[c].type.id != RQL_TYPE_BLOB)
		memset((uint8_t *)rows->columns[c].data + r * rql_type_bytes(rows->columns[c].type), 0x5a,
		       rql_type_bytes(rows->columns[c].type));
	assert_true(rql_batch_set_null(rows, c, r));
}

static void fill_column(struct world *w, uint32_t c, uint64_t nulls)
{
	enum shape shape = (enum shape)below(SHAPES);
	uint64_t salt = below(1000);
	for (uint64_t r = 0; r < w->rows->rows; r++) {
		if (nulls == 100 || (nulls && (below(100) < nulls || r / 5000 == 1)))
			set_null(w->rows, c, r);
		else
			put_value(w->rows, c, r, shape, salt);
	}
}

/* Column 0 numbers the rows; then every type once or the one wanted, each with a random shape. */
static void world_make(struct world *w, uint64_t rows, uint32_t columns)
{
	struct rql_type types[64] = {{.id = RQL_TYPE_BIGINT}};
	static const uint64_t nulls[] = {0, 0, 3, 60, 100};
	memset(w, 0, sizeof *w);
	for (uint32_t c = 1; c < columns; c++)
		types[c] = type_at(columns > TYPES ? c - 1 : (uint32_t)below(TYPES));
	w->rows = rql_batch_new(columns, types, rows);
	w->used = calloc(rows + 1, 1);
	w->kernels = &rql_store_kernels_portable;
	assert_non_null(w->rows);
	for (uint32_t c = 0; c < columns; c++) {
		snprintf(w->names[c], sizeof w->names[c], "c%u", c);
		w->columns[c] = (struct rql_store_column_spec){
			.name = w->names[c], .type = types[c], .encoding = (enum rql_store_encoding)below(RQL_STORE_AUTO + 3)};
		if (w->columns[c].encoding > RQL_STORE_AUTO)
			w->columns[c].encoding = RQL_STORE_AUTO;
		w->columns[c].coding = below(4) == 0 ? RQL_STORE_CODES : RQL_STORE_BY_DATA;
		if (c)
			fill_column(w, c, nulls[below(5)]);
	}
	w->columns[0].coding = RQL_STORE_VALUES;
	for (uint64_t r = 0; r < rows; r++)
		((int64_t *)w->rows->columns[0].data)[r] = (int64_t)r;
}

static void world_free(struct world *w)
{
	rql_batch_release(w->rows);
	free(w->used);
}

/* Rows [first, first + count); first is a multiple of 64. columns has room. */
static struct rql_batch slice(struct world *w, uint64_t first, uint64_t count, struct rql_column *columns)
{
	for (uint32_t c = 0; c < w->rows->column_count; c++) {
		columns[c] = w->rows->columns[c];
		columns[c].data = (uint8_t *)columns[c].data + first * rql_type_bytes(columns[c].type);
		columns[c].validity = columns[c].validity ? columns[c].validity + first / 64 : NULL;
	}
	return (struct rql_batch){.rows = count, .column_count = w->rows->column_count, .columns = columns};
}

static void use(struct world *w, uint64_t first, uint64_t count)
{
	memset(w->used + first, 1, count);
	w->used_count += count;
}

static struct rql_store_spec spec_of(struct world *w, struct rql_budget *budget)
{
	return (struct rql_store_spec){.name = "c of table t",
	                               .column_count = w->rows->column_count,
	                               .columns = w->columns,
	                               .budget = budget,
	                               .pool = pool};
}

static rql_status try_build(struct world *w, struct rql_budget *budget, uint64_t rows, struct rql_store **out,
                            struct rql_error *err)
{
	struct rql_store_spec spec = spec_of(w, budget);
	struct rql_store_builder *builder;
	RQL_TRY(rql_store_builder_new(&spec, &builder, err));
	for (uint64_t first = 0; first < rows;) {
		struct rql_column columns[64];
		uint64_t count = rows - first < 2048 ? rows - first : 2048;
		struct rql_batch batch = slice(w, first, count, columns);
		rql_status status = rql_store_builder_add(builder, w->in_order ? 0 : (unsigned)below(3), &batch, NULL, err);
		if (status != RQL_OK) {
			rql_store_builder_abort(builder);
			return status;
		}
		first += count;
	}
	return rql_store_builder_finish(builder, out, err);
}

static struct rql_store *build(struct world *w, uint64_t rows)
{
	struct rql_store *store = NULL;
	struct rql_error err = {0};
	if (try_build(w, NULL, rows, &store, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	use(w, 0, rows);
	return store;
}

/* ---- reading it back ---- */

struct block_of {
	const struct rql_store_view *view;
	const struct rql_store_column *column;
	uint32_t block, rows;
	const int64_t *ids;
	const struct rql_column *oracle;
};

static bool is_null(const struct block_of *b, uint32_t r)
{
	return !rql_column_valid(b->oracle, (uint64_t)b->ids[r]);
}
static rql_int128 integer_at(const struct block_of *b, uint32_t r)
{
	return rql_column_get(b->oracle, (uint64_t)b->ids[r]).integer;
}
static double real_at(const struct block_of *b, uint32_t r)
{
	return rql_column_get(b->oracle, (uint64_t)b->ids[r]).real;
}

static bool same_bits(double a, double b)
{
	return memcmp(&a, &b, 8) == 0;
}

static void check_codes(const struct world *w, const struct block_of *b, uint32_t first, uint32_t count)
{
	const struct rql_dimension *d = b->column->dimension;
	uint32_t codes[RQL_STORE_BLOCK];
	rql_store_decode_codes(w->kernels, b->view, b->block, first, count, codes);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(codes[i] < d->count);
		bool null = d->has_null && codes[i] == d->count - 1;
		assert_int_equal(null, is_null(b, first + i));
		if (!null)
			assert_int_equal(rql_column_compare(&d->values, codes[i], b->oracle, (uint64_t)b->ids[first + i]), 0);
	}
}

static void check_integers(const struct world *w, const struct block_of *b, uint32_t first, uint32_t count)
{
	static __thread rql_int128 wide[RQL_STORE_BLOCK];
	int64_t values[RQL_STORE_BLOCK];
	int32_t small[RQL_STORE_BLOCK];
	bool fits = rql_store_fits32(b->view, b->block);
	rql_store_decode_int64(w->kernels, b->view, b->block, first, count, values);
	rql_store_decode_int128(w->kernels, b->view, b->block, first, count, wide);
	if (fits)
		rql_store_decode_int32(w->kernels, b->view, b->block, first, count, small);
	for (uint32_t i = 0; i < count; i++) {
		if (is_null(b, first + i))
			continue;
		rql_int128 value = integer_at(b, first + i);
		assert_true(wide[i] == value);
		assert_true(values[i] == (int64_t)value);
		assert_true(!fits || small[i] == value);
		assert_true(b->column->wide || value == (int64_t)value);
		assert_false(rql_store_less(b->column->type, value, b->column->least));
		assert_false(rql_store_less(b->column->type, b->column->greatest, value));
	}
}

static void check_reals(const struct world *w, const struct block_of *b, uint32_t first, uint32_t count)
{
	double values[RQL_STORE_BLOCK];
	rql_store_decode_double(w->kernels, b->view, b->block, first, count, values);
	for (uint32_t i = 0; i < count; i++) {
		double want = is_null(b, first + i) ? 0 : real_at(b, first + i);
		if (is_null(b, first + i))
			continue;
		assert_true(same_bits(values[i], want) || (isnan(want) && isnan(values[i])));
		assert_true(rql_real_place(want) >= rql_real_place(b->column->real_least) &&
		            rql_real_place(want) <= rql_real_place(b->column->real_greatest));
	}
}

static void check_decoding(const struct world *w, const struct block_of *b, uint32_t first, uint32_t count)
{
	uint64_t valid[RQL_STORE_WORDS];
	bool any = false, says = rql_store_decode_validity(w->kernels, b->view, b->block, first, count, valid);
	for (uint32_t i = 0; i < count; i++) {
		any |= is_null(b, first + i);
		assert_int_equal(valid[i / 64] >> (i & 63) & 1, !is_null(b, first + i));
	}
	assert_int_equal(any, says);
	if (b->column->kind == RQL_STORE_CODED)
		check_codes(w, b, first, count);
	else if (b->column->kind == RQL_STORE_INTEGER)
		check_integers(w, b, first, count);
	else
		check_reals(w, b, first, count);
}

static bool bit(const uint64_t *mask, uint32_t i)
{
	return mask[i / 64] >> (i & 63) & 1;
}

static void random_mask(uint64_t *mask, uint32_t count)
{
	unsigned kind = (unsigned)below(4);
	memset(mask, 0, RQL_STORE_WORDS * 8);
	for (uint32_t i = 0; i < count; i++) {
		bool set =
			kind == 0 || (kind == 1 && below(2)) || (kind == 2 && below(100) == 0) || (kind == 3 && i / 64 % 3 == 1);
		mask[i / 64] |= (uint64_t)set << (i & 63);
	}
}

static void check_gather(const struct world *w, const struct block_of *b, uint32_t first, uint32_t count)
{
	static __thread rql_int128 wide[RQL_STORE_BLOCK], gathered_wide[RQL_STORE_BLOCK];
	uint64_t mask[RQL_STORE_WORDS], valid[RQL_STORE_WORDS];
	uint32_t codes[RQL_STORE_BLOCK], gathered_codes[RQL_STORE_BLOCK], n = 0, got = 0;
	int64_t values[RQL_STORE_BLOCK], gathered[RQL_STORE_BLOCK];
	double reals[RQL_STORE_BLOCK], gathered_reals[RQL_STORE_BLOCK];
	random_mask(mask, count);
	if (b->column->kind == RQL_STORE_CODED) {
		rql_store_decode_codes(w->kernels, b->view, b->block, first, count, codes);
		got = rql_store_gather_codes(w->kernels, b->view, b->block, first, count, mask, gathered_codes);
	} else if (b->column->kind == RQL_STORE_INTEGER) {
		rql_store_decode_int64(w->kernels, b->view, b->block, first, count, values);
		rql_store_decode_int128(w->kernels, b->view, b->block, first, count, wide);
		got = rql_store_gather_int64(w->kernels, b->view, b->block, first, count, mask, gathered);
		assert_int_equal(got,
		                 rql_store_gather_int128(w->kernels, b->view, b->block, first, count, mask, gathered_wide));
	} else {
		rql_store_decode_double(w->kernels, b->view, b->block, first, count, reals);
		got = rql_store_gather_double(w->kernels, b->view, b->block, first, count, mask, gathered_reals);
	}
	assert_int_equal(got, rql_store_gather_validity(w->kernels, b->view, b->block, first, count, mask, valid));
	for (uint32_t i = 0; i < count; i++) {
		if (!bit(mask, i))
			continue;
		assert_int_equal(bit(valid, n), !is_null(b, first + i));
		if (b->column->kind == RQL_STORE_CODED)
			assert_int_equal(gathered_codes[n], codes[i]);
		else if (b->column->kind == RQL_STORE_INTEGER)
			assert_true(gathered[n] == values[i] && gathered_wide[n] == wide[i]);
		else
			assert_true(same_bits(gathered_reals[n], reals[i]) || isnan(reals[i]));
		n++;
	}
	assert_int_equal(n, got);
}

/* ---- filters ---- */

static bool passes(const struct block_of *b, const struct rql_store_filter *f, uint32_t r)
{
	bool null = is_null(b, r);
	uint32_t code = 0;
	if (f->kind == RQL_FILTER_IS_NULL)
		return null;
	if (f->kind == RQL_FILTER_IS_NOT_NULL)
		return !null;
	if (b->column->kind == RQL_STORE_CODED) {
		code = rql_dimension_find(b->column->dimension, b->oracle, (uint64_t)b->ids[r]);
		if (f->kind == RQL_FILTER_CODE_SET)
			return f->set[code / 64] >> (code & 63) & 1;
		return f->code_least <= code && code <= f->code_greatest;
	}
	if (null)
		return false;
	if (f->kind == RQL_FILTER_INTEGER_RANGE)
		return !rql_store_less(b->column->type, integer_at(b, r), f->least) &&
		       !rql_store_less(b->column->type, f->greatest, integer_at(b, r));
	uint64_t order = rql_real_place(real_at(b, r));
	return rql_real_place(f->real_least) <= order && order <= rql_real_place(f->real_greatest);
}

/* A bound that some row has, or one beside it. */
static rql_int128 some_integer(const struct block_of *b)
{
	uint32_t r = (uint32_t)below(b->rows);
	rql_int128 value = is_null(b, r) ? 0 : integer_at(b, r);
	bool least = value == -(((rql_int128)1 << 126) - 1 + ((rql_int128)1 << 126)) - 1;
	bool most = value == ((rql_int128)1 << 126) - 1 + ((rql_int128)1 << 126);
	return below(3) == 0 && !most ? value + 1 : below(2) && !least ? value - 1 : value;
}
static double some_real(const struct block_of *b)
{
	uint32_t r = (uint32_t)below(b->rows);
	double value = is_null(b, r) ? 0 : real_at(b, r), next;
	return below(3) == 0 && rql_real_next(value, below(2), &next) ? next : value;
}

static struct rql_store_filter random_filter(const struct block_of *b, uint64_t *set)
{
	struct rql_store_filter f = {.kind = below(2) ? RQL_FILTER_IS_NULL : RQL_FILTER_IS_NOT_NULL};
	if (below(6) == 0)
		return f;
	if (b->column->kind == RQL_STORE_INTEGER) {
		f.kind = RQL_FILTER_INTEGER_RANGE;
		f.least = some_integer(b);
		f.greatest = some_integer(b);
	} else if (b->column->kind == RQL_STORE_REAL) {
		f.kind = RQL_FILTER_REAL_RANGE;
		f.real_least = some_real(b);
		f.real_greatest = some_real(b);
	} else if (below(2)) {
		f.kind = RQL_FILTER_CODE_RANGE;
		f.code_least = (uint32_t)below(b->column->dimension->count + 1);
		f.code_greatest = below(8) ? (uint32_t)below(b->column->dimension->count + 1) : UINT32_MAX;
	} else {
		uint32_t count = b->column->dimension->count;
		unsigned kind = (unsigned)below(4);
		f.kind = RQL_FILTER_CODE_SET;
		f.set = set;
		for (uint32_t i = 0; i < (count + 63) / 64 && kind < 3; i++)
			set[i] = kind == 0 ? next_random() : kind == 1 ? next_random() & next_random() & next_random() : UINT64_MAX;
		for (uint64_t n = below(4); n-- > 0 && kind == 3;) { /* a few intervals */
			uint32_t first = (uint32_t)below(count), last = first + (uint32_t)below(count - first);
			for (uint32_t code = first; code <= last; code++)
				set[code / 64] |= UINT64_C(1) << (code & 63);
		}
	}
	return f;
}

static void check_filter(const struct world *w, const struct block_of *b, uint32_t first, uint32_t count)
{
	uint64_t *set = b->column->dimension ? calloc(b->column->dimension->count / 64 + 1, 8) : NULL;
	uint64_t mask[RQL_STORE_WORDS], before[RQL_STORE_WORDS];
	struct rql_store_filter f = random_filter(b, set);
	random_mask(mask, count);
	memcpy(before, mask, sizeof mask);
	enum rql_store_match may = rql_store_may_match(b->view, b->block, &f);
	enum rql_store_match match = rql_store_filter(w->kernels, b->view, b->block, &f, first, count, mask);
	for (uint32_t i = 0; i < count; i++) {
		bool pass = passes(b, &f, first + i);
		assert_int_equal(bit(mask, i), bit(before, i) && pass);
		assert_true(may != RQL_MATCH_ALL || pass);
		assert_true(may != RQL_MATCH_NONE || !pass);
		assert_true(match != RQL_MATCH_ALL || pass);
		assert_true(match != RQL_MATCH_NONE || !bit(mask, i));
	}
	for (uint32_t i = count; i < rql_round64(count); i++)
		assert_false(bit(mask, i));
	free(set);
}

/* Every row of the snapshot once, every column of it right. */
static void verify(struct world *w, const struct rql_store_snapshot *s, bool thorough)
{
	struct rql_error err = {0};
	bool *seen = calloc(w->rows->rows + 1, 1);
	uint64_t rows = 0;
	if (rql_store_check(s, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	for (uint64_t block = 0; block < s->blocks; block++) {
		const struct rql_store_segment *segment = rql_store_locate(s, block);
		uint32_t at = (uint32_t)(block - segment->first_block), n = segment->columns[0].blocks[at].rows;
		int64_t ids[RQL_STORE_BLOCK];
		assert_true(at < segment->blocks);
		rql_store_decode_int64(w->kernels, &segment->columns[0], at, 0, n, ids);
		for (uint32_t r = 0; r < n; r++) {
			assert_true(ids[r] >= 0 && (uint64_t)ids[r] < w->rows->rows && !seen[ids[r]] && w->used[ids[r]]);
			seen[ids[r]] = true;
		}
		rows += n;
		for (uint32_t c = 0; c < s->column_count; c++) {
			struct block_of b = {&segment->columns[c], &s->columns[c], at, n, ids, &w->rows->columns[c]};
			uint32_t first = (uint32_t)below(n) / 64 * 64, count = 1 + (uint32_t)below(n - first);
			check_decoding(w, &b, 0, n);
			check_decoding(w, &b, first, count);
			for (unsigned i = 0; i < (thorough ? 4 : 1); i++) {
				check_filter(w, &b, i & 1 ? 0 : first, i & 1 ? n : count);
				check_gather(w, &b, i & 1 ? 0 : first, i & 1 ? n : count);
			}
		}
	}
	assert_int_equal(rows, s->rows);
	free(seen);
}

/* Under TSan the oracle takes nearly all the time and runs in one thread: one set of kernels, and less of it. */
#ifdef __SANITIZE_THREAD__
#define ALONE 1u
#else
#define ALONE 0u
#endif
/* Under ASan one table of each kind: all types and few groups of rows, many groups. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLACED_STEP (ALONE ? 27u : 5u)
#define FIRST_ROUND 1u
#define ROUNDS 2u
#define SPOILT_FILES (ALONE ? 4u : 100u)
#else
#define PLACED_STEP 1u
#define FIRST_ROUND 0u
#define ROUNDS 3u
#define SPOILT_FILES 300u
#endif

static uint32_t every_kernel(const struct rql_store_kernels *out[3])
{
	uint32_t n = 0;
	for (enum rql_simd simd = ALONE ? RQL_SIMD_AVX512 : RQL_SIMD_PORTABLE; simd <= RQL_SIMD_AVX512; simd++) {
		const struct rql_store_kernels *k = rql_store_kernels_for(simd);
		if (!n || out[n - 1] != k)
			out[n++] = k;
	}
	return n;
}

static void verify_store(struct world *w, struct rql_store *store)
{
	const struct rql_store_kernels *kernels[3];
	uint32_t n = every_kernel(kernels);
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	assert_int_equal(s->rows, w->used_count);
	for (uint32_t k = 0; k < n; k++) {
		w->kernels = kernels[k];
		verify(w, s, !ALONE);
	}
	rql_store_snapshot_release(s);
}

/* ---- tests ---- */

static void all_types(void **state)
{
	static const uint64_t sizes[] = {1, 63, 64, 65, 4095, 4096, 4097, 9000};
	(void)state;
	for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct world w;
		world_make(&w, sizes[i], TYPES + 1);
		struct rql_store *store = build(&w, sizes[i]);
		verify_store(&w, store);
		rql_store_release(store);
		world_free(&w);
	}
}

static void random_tables(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < (ALONE ? 3 : 12); i++) {
		struct world w;
		uint64_t rows = 1 + below(20000);
		world_make(&w, rows, 9);
		struct rql_store *store = build(&w, rows);
		verify_store(&w, store);
		rql_store_release(store);
		world_free(&w);
	}
}

static void empty_table(void **state)
{
	(void)state;
	struct world w;
	struct rql_column columns[64];
	world_make(&w, 200, TYPES + 1);
	struct rql_store *store = build(&w, 0);
	verify_store(&w, store);
	struct rql_batch batch = slice(&w, 0, 200, columns);
	assert_int_equal(rql_store_append(store, &batch, NULL), RQL_OK);
	use(&w, 0, 200);
	verify_store(&w, store);
	rql_store_release(store);
	world_free(&w);
}

/* Data made for an encoding gets it. */
static void chosen(void **state)
{
	(void)state;
	struct rql_type types[5] = {{.id = RQL_TYPE_BIGINT},
	                            {.id = RQL_TYPE_BIGINT},
	                            {.id = RQL_TYPE_BIGINT},
	                            {.id = RQL_TYPE_BIGINT},
	                            {.id = RQL_TYPE_INTEGER}};
	static const enum rql_store_encoding want[5] = {RQL_STORE_DELTA, RQL_STORE_CONSTANT, RQL_STORE_RUNS,
	                                                RQL_STORE_PACKED, RQL_STORE_PACKED};
	struct world w = {.rows = rql_batch_new(5, types, 8192), .used = calloc(8193, 1), .in_order = true};
	int64_t *id = w.rows->columns[0].data, *same = w.rows->columns[1].data, *runs = w.rows->columns[2].data,
			*noise = w.rows->columns[3].data;
	int32_t *sparse = w.rows->columns[4].data;
	for (int64_t r = 0; r < 8192; r++) {
		id[r] = r;
		same[r] = 42;
		runs[r] = r / 1000 * 977;
		noise[r] = (int64_t)below(1 << 20);
		sparse[r] = (int32_t)(below(4) * 1000003);
	}
	for (uint32_t c = 0; c < 5; c++)
		w.columns[c] = (struct rql_store_column_spec){.name = "c", .type = types[c], .encoding = RQL_STORE_AUTO};
	struct rql_store *store = build(&w, 8192);
	verify_store(&w, store);
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	for (uint32_t c = 0; c < 5; c++)
		assert_int_equal(s->segments[0].columns[c].blocks[0].encoding, want[c]);
	assert_int_equal(s->segments[0].columns[3].blocks[0].bits, 20);
	assert_int_equal(s->columns[3].kind, RQL_STORE_INTEGER);
	assert_int_equal(s->columns[4].kind, RQL_STORE_CODED); /* four values far apart: 2 bits instead of 22 */
	assert_int_equal(s->segments[0].columns[4].blocks[0].bits, 2);
	assert_true(s->columns[0].bytes < 4096 && s->columns[1].bytes < 1024);
	rql_store_snapshot_release(s);
	rql_store_release(store);
	world_free(&w);
}

static void appends(void **state)
{
	(void)state;
	for (uint32_t round = FIRST_ROUND; round < ROUNDS; round++) {
		struct world w;
		const struct rql_store_snapshot *old = NULL;
		world_make(&w, 60000, 9);
		uint64_t first = round ? 5000 : 0;
		struct rql_store *store = build(&w, first);
		bool *used = calloc(60001, 1);
		for (first = rql_round64((uint32_t)first); first < 50000;) {
			static const uint64_t sizes[] = {1, 2, 63, 64, 1000, 2048, 4095, 4096, 9000};
			struct rql_column columns[64];
			struct rql_batch batch = slice(&w, first, sizes[below(9)], columns);
			rql_store_snapshot_release(old);
			old = rql_store_snapshot(store);
			memcpy(used, w.used, 60000);
			assert_int_equal(rql_store_append(store, &batch, NULL), RQL_OK);
			use(&w, first, batch.rows);
			first += (batch.rows + 63) / 64 * 64;
			if (below(6) == 0) {
				const struct rql_store_snapshot *s = rql_store_snapshot(store);
				verify(&w, s, false);
				rql_store_snapshot_release(s);
			}
		}
		verify_store(&w, store);
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		assert_true(s->segment_count < 20); /* they are joined */
		rql_store_snapshot_release(s);
		/* With maps in it. */
		assert_int_equal(rql_store_file_write(old, RQL_PLACE(path), "id", 2, NULL), RQL_OK);
		struct rql_store *back;
		assert_int_equal(rql_store_file_read(RQL_PLACE(path), "id", 2, NULL, &back, NULL), RQL_OK);
		struct world before = w;
		before.used = used;
		before.used_count = old->rows;
		verify_store(&before, back);
		rql_store_release(back);
		assert_int_equal(rql_store_compact(store, NULL), RQL_OK);
		verify_store(&w, store);
		s = rql_store_snapshot(store);
		assert_int_equal(s->segment_count, 1);
		assert_int_equal(s->blocks, (w.used_count + RQL_STORE_BLOCK - 1) / RQL_STORE_BLOCK);
		assert_null(s->segments[0].columns[1].translate);
		/* The one from before is as it was. */
		before.kernels = &rql_store_kernels_portable;
		verify(&before, old, false);
		rql_store_release(store);
		verify(&w, s, false);
		rql_store_snapshot_release(s);
		rql_store_snapshot_release(old);
		free(used);
		world_free(&w);
	}
}

/* ---- rows that are gone or have other values ---- */

/* The first column, which numbers the rows, in the store's order; returns how many. */
static uint64_t read_ids(struct world *w, const struct rql_store_snapshot *s, int64_t *ids)
{
	uint64_t rows = 0;
	for (uint64_t block = 0; block < s->blocks; block++) {
		const struct rql_store_segment *segment = rql_store_locate(s, block);
		const uint32_t at = (uint32_t)(block - segment->first_block), n = segment->columns[0].blocks[at].rows;
		int64_t out[RQL_STORE_BLOCK];
		rql_store_decode_int64(w->kernels, &segment->columns[0], at, 0, n, out);
		memcpy(ids + rows, out, n * sizeof *out);
		rows += n;
	}
	return rows;
}

/* Some of the rows from `first` on are gone, others become rows of the world from `fresh` on; ids follow. Returns how
 * many are left. */
static uint64_t change_rows(struct world *w, struct rql_store *store, int64_t *ids, uint64_t rows, uint64_t first,
                            uint64_t end, unsigned share, uint64_t *fresh)
{
	uint64_t *gone = calloc(rows + 1, sizeof *gone), *renewed = calloc(rows + 1, sizeof *renewed);
	uint64_t gone_count = 0, renewed_count = 0, kept = 0;
	struct rql_column columns[64];
	for (uint64_t r = 0; r < rows; r++) {
		const uint64_t dice = r >= first && r < end ? below(100) : 100;
		if (dice < share) {
			gone[gone_count++] = r;
			w->used[ids[r]] = false;
			continue;
		}
		if (dice < 2 * share && *fresh + renewed_count < w->rows->rows) {
			w->used[ids[r]] = false;
			ids[r] = (int64_t)(*fresh + renewed_count);
			w->used[ids[r]] = true;
			renewed[renewed_count++] = r;
		}
		ids[kept++] = ids[r];
	}
	struct rql_batch batch = slice(w, *fresh, renewed_count, columns);
	const struct rql_store_changes changes = {
		.gone_count = gone_count, .renewed_count = renewed_count, .gone = gone, .renewed = renewed, .rows = &batch};
	assert_int_equal(rql_store_change(store, &changes, NULL), RQL_OK);
	w->used_count -= gone_count;
	*fresh = (*fresh + renewed_count + 63) / 64 * 64;
	free(gone);
	free(renewed);
	return kept;
}

static void changes(void **state)
{
	(void)state;
	for (uint32_t round = FIRST_ROUND; round < ROUNDS; round++) {
		struct world w;
		world_make(&w, 60000, 9);
		struct rql_store *store = build(&w, 9000);
		uint64_t fresh = 9024;
		for (uint32_t i = 0; i < 4; i++) { /* several segments */
			struct rql_column columns[64];
			struct rql_batch batch = slice(&w, fresh, 6000 >> i, columns);
			assert_int_equal(rql_store_append(store, &batch, NULL), RQL_OK);
			use(&w, fresh, batch.rows);
			fresh = (fresh + batch.rows + 63) / 64 * 64;
		}
		int64_t *ids = calloc(60000, sizeof *ids), *found = calloc(60000, sizeof *found);
		w.kernels = &rql_store_kernels_portable;
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		uint64_t rows = read_ids(&w, s, ids);
		const void *kept = s->segments[0].identity;
		for (uint32_t i = 0; i < 6; i++) {
			static const unsigned shares[] = {1, 10, 40, 0};
			/* The first segment is left alone at first. */
			const uint64_t first = i < 3 ? s->segments[0].rows : below(rows), end = first + below(rows - first + 1);
			rows = change_rows(&w, store, ids, rows, first, end, i == 5 ? 100 : shares[i % 4], &fresh);
			const struct rql_store_snapshot *now = rql_store_snapshot(store);
			assert_int_equal(read_ids(&w, now, found), rows);
			assert_memory_equal(found, ids, rows * sizeof *ids);
			assert_true(i >= 3 || now->segments[0].identity == kept);
			rql_store_snapshot_release(s);
			s = now;
			verify_store(&w, store);
			w.kernels = &rql_store_kernels_portable;
		}
		rows = change_rows(&w, store, ids, rows, 0, rows, 100, &fresh); /* all are gone */
		assert_int_equal(rows, 0);
		verify_store(&w, store);
		rql_store_snapshot_release(s);
		rql_store_release(store);
		free(ids);
		free(found);
		world_free(&w);
	}
}

static void put_int(struct rql_batch *rows, uint64_t r, int32_t value)
{
	((int32_t *)rows->columns[0].data)[r] = value;
}

/* New values between, before and behind the known ones: codes ascend with the values in every snapshot, and ranges of
 * codes select what they say in mapped segments. */
static void maps(void **state)
{
	(void)state;
	struct rql_type type = {.id = RQL_TYPE_INTEGER};
	struct rql_store_column_spec column = {
		.name = "x", .type = type, .coding = RQL_STORE_CODES, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec spec = {.name = "t", .column_count = 1, .columns = &column};
	struct rql_store_builder *builder;
	struct rql_store *store;
	struct rql_batch *rows = rql_batch_new(1, &type, 3);
	put_int(rows, 0, 10), put_int(rows, 1, 30), put_int(rows, 2, 20);
	assert_int_equal(rql_store_builder_new(&spec, &builder, NULL), RQL_OK);
	assert_int_equal(rql_store_builder_add(builder, 0, rows, NULL, NULL), RQL_OK);
	assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
	put_int(rows, 0, 25), put_int(rows, 1, 5), put_int(rows, 2, 20);
	assert_int_equal(rql_store_append(store, rows, NULL), RQL_OK);
	assert_true(rql_batch_set_null(rows, 0, 1));
	assert_int_equal(rql_store_append(store, rows, NULL), RQL_OK);
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	const struct rql_dimension *d = s->columns[0].dimension;
	static const int32_t want[] = {5, 10, 20, 25, 30};
	assert_int_equal(d->count, 6);
	assert_true(d->has_null);
	assert_memory_equal(d->values.data, want, sizeof want);
	assert_int_equal(s->segment_count, 2);
	assert_int_equal(s->columns[0].nulls, 1);
	assert_non_null(s->segments[0].columns[0].translate);
	struct rql_store_filter f = {.kind = RQL_FILTER_CODE_RANGE, .code_least = 2, .code_greatest = 3};
	uint64_t mask[64] = {7};
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_AVX512);
	assert_int_equal(rql_store_filter(k, &s->segments[0].columns[0], 0, &f, 0, 3, mask), RQL_MATCH_SOME);
	assert_int_equal(mask[0], 4);       /* 20 */
	f.code_greatest = f.code_least = 3; /* 25 is not in the old segment */
	assert_int_equal(rql_store_may_match(&s->segments[0].columns[0], 0, &f), RQL_MATCH_NONE);
	rql_store_snapshot_release(s);
	rql_batch_release(rows);
	rql_store_release(store);
}

/* ---- the table's order ---- */

/* Rows [first, first + count) to a worker. Positions are 3 apart. */
static rql_status add_placed(struct world *w, struct rql_store_builder *builder, unsigned worker, uint64_t first,
                             uint64_t count)
{
	struct rql_column columns[64];
	int64_t positions[2048];
	struct rql_batch batch = slice(w, first, count, columns);
	for (uint64_t i = 0; i < count; i++)
		positions[i] = (int64_t)(first + i) * 3 - 50000;
	use(w, first, count);
	return rql_store_builder_add(builder, worker, &batch, positions, NULL);
}

/* Threads take groups of rows and deliver each from its first row to its last, but for some that are deleted; now and
 * then a thread goes on as another worker. */
static void add_groups(struct world *w, struct rql_store_builder *builder, uint64_t largest)
{
	struct {
		uint64_t first, end;
	} thread[4] = {{0, 0}};
	uint64_t rows = w->rows->rows;
	for (uint64_t next = 0, open = 0; next < rows || open;) {
		unsigned t = (unsigned)below(4);
		if (thread[t].first == thread[t].end) {
			if (next == rows)
				continue;
			uint64_t size = 64 * (1 + below(largest));
			thread[t].first = next;
			next = thread[t].end = next + size < rows ? next + size : rows;
			open++;
		}
		uint64_t left = thread[t].end - thread[t].first, most = left < 2048 ? left : 2048;
		uint64_t count = below(4) ? most : 1 + below(most);
		assert_int_equal(add_placed(w, builder, below(8) ? t : (unsigned)below(6), thread[t].first, count), RQL_OK);
		thread[t].first += (count + 63) / 64 * 64;
		if (thread[t].first >= thread[t].end) {
			thread[t].first = thread[t].end;
			open--;
		}
	}
}

/* Column 0 ascends. */
static void check_order(struct rql_store *store)
{
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_AVX512);
	int64_t ids[RQL_STORE_BLOCK], last = -1;
	assert_true(s->ordered);
	for (uint64_t b = 0; b < s->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(s, b);
		uint32_t block = (uint32_t)(b - segment->first_block), rows = segment->columns[0].blocks[block].rows;
		rql_store_decode_int64(k, &segment->columns[0], block, 0, rows, ids);
		for (uint32_t r = 0; r < rows; last = ids[r++])
			if (ids[r] <= last)
				fail_msg("row %lld stands behind row %lld", (long long)ids[r], (long long)last);
	}
	rql_store_snapshot_release(s);
}

static struct rql_store_builder *new_builder(struct world *w)
{
	struct rql_store_spec spec = spec_of(w, NULL);
	struct rql_store_builder *builder;
	assert_int_equal(rql_store_builder_new(&spec, &builder, NULL), RQL_OK);
	return builder;
}

static void placed_rows(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i += PLACED_STEP) {
		struct world w;
		struct rql_store *store, *read;
		world_make(&w, 1 + below(60000), i ? 6 : TYPES + 1);
		struct rql_store_builder *builder = new_builder(&w);
		add_groups(&w, builder, i < 5 ? 30 : 300);
		assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
		check_order(store);
		verify_store(&w, store);
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		assert_int_equal(rql_store_check(s, NULL), RQL_OK);
		assert_int_equal(rql_store_file_write(s, RQL_PLACE(path), "x", 1, NULL), RQL_OK);
		rql_store_snapshot_release(s);
		assert_int_equal(rql_store_file_read(RQL_PLACE(path), "x", 1, NULL, &read, NULL), RQL_OK);
		check_order(read);
		verify_store(&w, read);
		rql_store_release(read);
		assert_int_equal(rql_store_compact(store, NULL), RQL_OK);
		check_order(store);
		verify_store(&w, store);
		rql_store_release(store);
		world_free(&w);
	}
}

/* Rows without a position, or between those of a batch: nothing is lost but the order. */
static void misplaced_rows(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct world w;
		struct rql_store *store;
		struct rql_column columns[64];
		int64_t positions[64];
		world_make(&w, 20000, 6);
		struct rql_batch batch = slice(&w, 19968, 32, columns);
		struct rql_store_builder *builder = new_builder(&w);
		for (uint64_t first = 0; first < 19968; first += 1024)
			assert_int_equal(add_placed(&w, builder, first % 3, first, first < 18432 ? 1024 : 512), RQL_OK);
		for (int64_t r = 0; r < 64; r++)
			positions[r] = i == 0 ? 301 + r : -50000 + r; /* among others; the first one twice */
		assert_int_equal(rql_store_builder_add(builder, 2, &batch, i < 2 ? positions : NULL, NULL), RQL_OK);
		use(&w, 19968, 32);
		assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		assert_false(s->ordered);
		rql_store_snapshot_release(s);
		verify_store(&w, store);
		rql_store_release(store);
		world_free(&w);
	}
}

/* More than a segment, and values that are found to be few. Whole row groups of DuckDB's cost nothing: their blocks are
 * full ones. */
static void placed_segments(void **state)
{
	(void)state;
	enum { GROUP = 122880, ROWS = 37 * GROUP + 1000 };
	struct world w = {.used = calloc(ROWS + 1, 1)};
	const struct rql_type types[2] = {{.id = RQL_TYPE_BIGINT}, {.id = RQL_TYPE_INTEGER}};
	struct rql_store *store;
	uint32_t *codes = malloc(RQL_STORE_BLOCK * sizeof *codes);
	w.rows = rql_batch_new(2, types, ROWS);
	for (int64_t r = 0; r < ROWS; r++) {
		((int64_t *)w.rows->columns[0].data)[r] = r;
		((int32_t *)w.rows->columns[1].data)[r] = (int32_t)(r * 31 % 1009 * 1000003);
	}
	for (uint32_t c = 0; c < 2; c++)
		w.columns[c] = (struct rql_store_column_spec){.name = c ? "n" : "id",
		                                              .type = types[c],
		                                              .coding = c ? RQL_STORE_BY_DATA : RQL_STORE_VALUES,
		                                              .encoding = RQL_STORE_AUTO};
	struct rql_store_builder *builder = new_builder(&w);
	for (uint64_t group = 0; group < 38; group++) {
		/* In any order, but for the last one, which is no whole number of blocks. */
		uint64_t first = (group < 37 ? group * 7 % 37 : 37) * GROUP, end = first + GROUP < ROWS ? first + GROUP : ROWS;
		for (; first < end; first += 2048)
			assert_int_equal(
				add_placed(&w, builder, (unsigned)(group * group % 3), first, end - first < 2048 ? end - first : 2048),
				RQL_OK);
	}
	assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
	check_order(store);
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	assert_int_equal(s->rows, ROWS);
	assert_int_equal(s->segment_count, 2);
	assert_int_equal(s->columns[1].kind, RQL_STORE_CODED);
	assert_int_equal(s->blocks, (ROWS + RQL_STORE_BLOCK - 1) / RQL_STORE_BLOCK);
	for (uint64_t b = 0, row = 0; b < s->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(s, b);
		uint32_t block = (uint32_t)(b - segment->first_block), rows = segment->columns[1].blocks[block].rows;
		rql_store_decode_codes(rql_store_kernels_for(RQL_SIMD_AVX512), &segment->columns[1], block, 0, rows, codes);
		for (uint32_t r = 0; r < rows; r++, row++)
			if (codes[r] != row * 31 % 1009)
				fail_msg("row %llu", (unsigned long long)row);
	}
	rql_store_snapshot_release(s);
	rql_store_release(store);
	free(codes);
	world_free(&w);
}

/* ---- threads ---- */

struct adder {
	struct world *w;
	struct rql_store_builder *builder;
	unsigned worker;
};
static void *add_rows(void *state)
{
	struct adder *a = state;
	for (uint64_t first = a->worker * 2048; first < a->w->rows->rows; first += UINT64_C(4) * 2048) {
		struct rql_column columns[64];
		uint64_t left = a->w->rows->rows - first;
		struct rql_batch batch = slice(a->w, first, left < 2048 ? left : 2048, columns);
		if (rql_store_builder_add(a->builder, a->worker * 300, &batch, NULL, NULL) != RQL_OK)
			return a;
	}
	return NULL;
}

static void threads(void **state)
{
	(void)state;
	struct world w;
	pthread_t threads[4];
	struct adder adders[4];
	struct rql_store *store;
	world_make(&w, 50000, 9);
	struct rql_store_spec spec = spec_of(&w, NULL);
	struct rql_progress progress = {0};
	struct rql_store_builder *builder;
	spec.progress = &progress;
	assert_int_equal(rql_store_builder_new(&spec, &builder, NULL), RQL_OK);
	for (unsigned t = 0; t < 4; t++) {
		adders[t] = (struct adder){&w, builder, t};
		assert_int_equal(pthread_create(&threads[t], NULL, add_rows, &adders[t]), 0);
	}
	for (unsigned t = 0; t < 4; t++) {
		void *failed;
		pthread_join(threads[t], &failed);
		assert_null(failed);
	}
	assert_int_equal(atomic_load(&progress.rows), 50000);
	assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
	use(&w, 0, 50000);
	verify_store(&w, store);
	rql_store_release(store);
	world_free(&w);
}

struct reader {
	struct rql_store *store;
	const struct rql_column *oracle; /* column 1's */
	_Atomic bool stop;
	_Atomic uint64_t rounds;
};
/* Numbers and one more column of a whole snapshot, again and again. */
static void *read_rows(void *state)
{
	struct reader *reader = state;
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_AVX512);
	uint64_t before = 0;
	do {
		const struct rql_store_snapshot *s = rql_store_snapshot(reader->store);
		const struct rql_dimension *d = s->columns[1].dimension;
		uint64_t rows = 0;
		if (s->rows < before)
			return "rows were lost";
		before = s->rows;
		for (uint64_t block = 0; block < s->blocks; block++) {
			const struct rql_store_segment *segment = rql_store_locate(s, block);
			uint32_t at = (uint32_t)(block - segment->first_block), n = segment->columns[0].blocks[at].rows;
			int64_t ids[RQL_STORE_BLOCK];
			uint32_t codes[RQL_STORE_BLOCK];
			rql_store_decode_int64(k, &segment->columns[0], at, 0, n, ids);
			rql_store_decode_codes(k, &segment->columns[1], at, 0, n, codes);
			for (uint32_t r = 0; r < n; r++) {
				bool null = !rql_column_valid(reader->oracle, (uint64_t)ids[r]);
				if (null != (d->has_null && codes[r] == d->count - 1))
					return "NULLs are wrong";
				if (!null && rql_column_compare(&d->values, codes[r], reader->oracle, (uint64_t)ids[r]) != 0)
					return "a value is wrong";
			}
			rows += n;
		}
		if (rows != s->rows)
			return "rows are wrong";
		rql_store_snapshot_release(s);
		atomic_fetch_add(&reader->rounds, 1);
	} while (!atomic_load(&reader->stop));
	return NULL;
}

static void append_under_readers(void **state)
{
	(void)state;
	struct rql_type types[2] = {{.id = RQL_TYPE_BIGINT}, {.id = RQL_TYPE_VARCHAR}};
	struct world w = {.rows = rql_batch_new(2, types, 20000), .used = calloc(20001, 1)};
	pthread_t readers[2];
	for (uint64_t r = 0; r < 20000; r++) {
		((int64_t *)w.rows->columns[0].data)[r] = (int64_t)r;
		put_text(w.rows, 1, r, SHAPE_SORTED, 0);
		if (below(50) == 0)
			assert_true(rql_batch_set_null(w.rows, 1, r));
	}
	for (uint32_t c = 0; c < 2; c++)
		w.columns[c] = (struct rql_store_column_spec){.name = "c",
		                                              .type = types[c],
		                                              .coding = c ? RQL_STORE_CODES : RQL_STORE_VALUES,
		                                              .encoding = RQL_STORE_AUTO};
	struct reader reader = {.store = build(&w, 1000), .oracle = &w.rows->columns[1]};
	for (unsigned t = 0; t < 2; t++)
		assert_int_equal(pthread_create(&readers[t], NULL, read_rows, &reader), 0);
	for (uint64_t first = 1024; first < 19000; first += 960) {
		struct rql_column columns[2];
		struct rql_batch batch = slice(&w, first, 900, columns);
		assert_int_equal(rql_store_append(reader.store, &batch, NULL), RQL_OK);
		use(&w, first, 900);
		if (first % 5 == 0)
			assert_int_equal(rql_store_compact(reader.store, NULL), RQL_OK);
	}
	while (atomic_load(&reader.rounds) < 4)
		usleep(1000);
	atomic_store(&reader.stop, true);
	for (unsigned t = 0; t < 2; t++) {
		void *wrong;
		pthread_join(readers[t], &wrong);
		if (wrong)
			fail_msg("%s", (const char *)wrong);
	}
	verify_store(&w, reader.store);
	rql_store_release(reader.store);
	world_free(&w);
}

/* ---- files ---- */

static uint8_t *read_whole(uint64_t *size)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (uint64_t)ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*size);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}
static void write_whole(const uint8_t *bytes, uint64_t size)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static void files(void **state)
{
	(void)state;
	struct world w;
	struct rql_store *back = NULL;
	struct rql_error err = {0};
	struct rql_budget budget = {0};
	world_make(&w, 9000, TYPES + 1);
	struct rql_store *store = build(&w, 9000);
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	assert_int_equal(rql_store_file_write(s, RQL_PLACE(path), "state 1", 7, NULL), RQL_OK);
	assert_int_equal(rql_store_file_read(RQL_PLACE(path), "state 1", 7, &budget, &back, NULL), RQL_OK);
	verify_store(&w, back);
	rql_store_release(back);
	assert_int_equal(atomic_load(&budget.used), 0);
	assert_int_equal(rql_store_file_read(RQL_PLACE(path), "state 2", 7, &budget, &back, &err), RQL_ERROR_CORRUPT);
	assert_non_null(strstr(rql_error_message(&err), "another definition"));
	uint64_t size;
	uint8_t *whole = read_whole(&size), *bytes = malloc(size);
	for (uint32_t i = 0; i < SPOILT_FILES; i++) {
		uint64_t at = i < 64 ? i : below(size), cut = i % 10 == 9 ? below(size) : size;
		memcpy(bytes, whole, size);
		bytes[at] ^= (uint8_t)(1 + below(255));
		write_whole(bytes, cut);
		rql_status status = rql_store_file_read(RQL_PLACE(path), "state 1", 7, &budget, &back, &err);
		if (status == RQL_OK) { /* a byte between sections */
			verify_store(&w, back);
			rql_store_release(back);
		} else {
			assert_int_equal(status, RQL_ERROR_CORRUPT);
			assert_non_null(strstr(rql_error_message(&err), "the columns are read anew"));
		}
		assert_int_equal(atomic_load(&budget.used), 0);
		/* Behind true checksums: it may be wrong, as long as it is refused or safe to read. */
		rql_store_file_seal(bytes, size);
		write_whole(bytes, size);
		if (rql_store_file_read(RQL_PLACE(path), "state 1", 7, &budget, &back, NULL) == RQL_OK) {
			const struct rql_store_snapshot *odd = rql_store_snapshot(back);
			assert_int_equal(rql_store_check(odd, NULL), RQL_OK);
			rql_store_snapshot_release(odd);
			rql_store_release(back);
		}
	}
	write_whole(whole, size);
	atomic_store(&budget.limit, 10000);
	assert_int_equal(rql_store_file_read(RQL_PLACE(path), "state 1", 7, &budget, &back, NULL), RQL_ERROR_LIMIT);
	assert_int_equal(atomic_load(&budget.used), 0);
	free(bytes);
	free(whole);
	rql_error_clear(&err);
	rql_store_snapshot_release(s);
	rql_store_release(store);
	world_free(&w);
}

/* ---- refusals ---- */

static void budgets(void **state)
{
	(void)state;
	struct world w;
	struct rql_error err = {0};
	struct rql_store *store = NULL;
	uint64_t refused = 0;
	world_make(&w, 9000, 9);
	for (uint64_t limit = 1000;; limit += limit / 5) {
		struct rql_budget budget = {0};
		atomic_store(&budget.limit, limit);
		rql_status status = try_build(&w, &budget, 9000, &store, &err);
		if (status == RQL_OK) {
			const struct rql_store_snapshot *s = rql_store_snapshot(store);
			assert_true(atomic_load(&budget.used) >= s->bytes);
			assert_true(atomic_load(&budget.used) <= limit);
			/* Appends fail cleanly, too. */
			struct rql_column columns[64];
			struct rql_batch batch = slice(&w, 0, 9000, columns);
			atomic_store(&budget.limit, atomic_load(&budget.used) + 1000);
			assert_int_equal(rql_store_append(store, &batch, &err), RQL_ERROR_LIMIT);
			assert_int_equal(rql_store_compact(store, &err), RQL_ERROR_LIMIT);
			const struct rql_store_snapshot *after = rql_store_snapshot(store);
			assert_ptr_equal(s, after);
			rql_store_snapshot_release(after);
			rql_store_snapshot_release(s);
			rql_store_release(store);
			assert_int_equal(atomic_load(&budget.used), 0);
			break;
		}
		assert_int_equal(status, RQL_ERROR_LIMIT);
		assert_non_null(strstr(rql_error_message(&err), "c of table t needs"));
		assert_int_equal(atomic_load(&budget.used), 0);
		refused++;
	}
	assert_true(refused > 5);
	rql_error_clear(&err);
	world_free(&w);
}

static void refusals(void **state)
{
	(void)state;
	static const struct rql_type_info list = {.text = "INTEGER[]"};
	struct rql_store_column_spec column = {
		.name = "holes", .type = {.id = RQL_TYPE_OTHER, .info = &list}, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec spec = {.name = "t", .column_count = 1, .columns = &column};
	struct rql_store_builder *builder = NULL;
	struct rql_error err = {0};
	assert_int_equal(rql_store_builder_new(&spec, &builder, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "holes"));
	assert_non_null(strstr(rql_error_message(&err), "INTEGER[]"));
	column.type = (struct rql_type){.id = RQL_TYPE_INTERVAL};
	assert_int_equal(rql_store_builder_new(&spec, &builder, &err), RQL_ERROR_UNSUPPORTED);
	column.type = (struct rql_type){.id = RQL_TYPE_VARCHAR};
	column.coding = RQL_STORE_VALUES;
	assert_int_equal(rql_store_builder_new(&spec, &builder, &err), RQL_ERROR_UNSUPPORTED);
	column.coding = RQL_STORE_BY_DATA;
	struct rql_progress progress = {0};
	spec.progress = &progress;
	assert_int_equal(rql_store_builder_new(&spec, &builder, &err), RQL_OK);
	struct rql_type other = {.id = RQL_TYPE_INTEGER};
	struct rql_batch *rows = rql_batch_new(1, &other, 3);
	assert_int_equal(rql_store_builder_add(builder, 0, rows, NULL, &err), RQL_ERROR_INTERNAL);
	atomic_store(&progress.cancel, true);
	rql_batch_release(rows);
	rows = rql_batch_new(1, &column.type, 3);
	assert_int_equal(rql_store_builder_add(builder, 0, rows, NULL, &err), RQL_ERROR_INTERRUPTED);
	struct rql_store *store = NULL;
	assert_int_equal(rql_store_builder_finish(builder, &store, &err), RQL_ERROR_INTERRUPTED);
	assert_null(store);
	rql_batch_release(rows);
	rql_error_clear(&err);
}

/* ---- kernels alone: every width, at the end of an allocation but for the slack ---- */

static void kernel_case(const struct rql_store_kernels *k, uint32_t bits, uint32_t words)
{
	const struct rql_store_kernels *p = &rql_store_kernels_portable;
	uint64_t size = (uint64_t)words * 8 * bits, out[2][5 * 64], mask[2][5];
	uint32_t out32[2][5 * 64];
	uint8_t *data = malloc(size + RQL_PACKED_SLACK);
	for (uint64_t i = 0; i < size + RQL_PACKED_SLACK; i++)
		data[i] = (uint8_t)(below(5) ? next_random() : 0xff * below(2));
	uint64_t all = rql_bit_mask(bits), base = next_random();
	p->unpack64(data, bits, words, base, out[0]);
	k->unpack64(data, bits, words, base, out[1]);
	assert_memory_equal(out[0], out[1], words * 512);
	if (bits <= 32) {
		p->unpack32(data, bits, words, (uint32_t)base, out32[0]);
		k->unpack32(data, bits, words, (uint32_t)base, out32[1]);
		assert_memory_equal(out32[0], out32[1], words * 256);
	}
	for (uint32_t i = 0; bits && i < 6; i++) {
		uint64_t low = i == 0 ? 0 : next_random() & all, high = i < 2 ? all : next_random() & all;
		high = high < low ? low : high;
		for (uint32_t w = 0; w < words; w++)
			mask[0][w] = mask[1][w] = i % 3 ? next_random() : UINT64_MAX * below(2);
		p->range(data, bits, words, low, high - low, mask[0]);
		k->range(data, bits, words, low, high - low, mask[1]);
		assert_memory_equal(mask[0], mask[1], words * 8);
	}
	if (bits && bits <= 20) {
		uint32_t first = (uint32_t)below(100);
		uint64_t entries = ((uint64_t)1 << bits) + first, *set = calloc(entries / 64 + 1, 8);
		for (uint64_t i = 0; i <= entries / 64; i++)
			set[i] = next_random();
		for (uint32_t w = 0; w < words; w++)
			mask[0][w] = mask[1][w] = next_random() * below(2);
		p->in_set(data, bits, words, first, (uint32_t)(entries - 1), set, mask[0]);
		k->in_set(data, bits, words, first, (uint32_t)(entries - 1), set, mask[1]);
		assert_memory_equal(mask[0], mask[1], words * 8);
		free(set);
	}
	free(data);
}

static void kernels(void **state)
{
	const struct rql_store_kernels *tables[3];
	uint32_t n = every_kernel(tables);
	(void)state;
	for (uint32_t t = 0; t < n; t++)
		for (uint32_t bits = 0; bits <= 64; bits++)
			for (uint32_t words = 1; words <= 5; words++)
				if (bits <= RQL_PACKED_MAX_BITS || bits == 64)
					kernel_case(tables[t], bits, words);
}

static void next_reals(void **state)
{
	(void)state;
	static const double ascending[] = {-1e308, -1, -4.9e-324, 0, 4.9e-324, 1, 1e308};
	double x;
	for (uint32_t i = 0; i < 7; i++) {
		assert_true(rql_real_next(ascending[i], true, &x) && same_bits(x, nextafter(ascending[i], INFINITY) + 0.0));
		assert_true(rql_real_next(ascending[i], false, &x) && same_bits(x, nextafter(ascending[i], -INFINITY) + 0.0));
	}
	assert_true(rql_real_next((double)INFINITY, true, &x) && isnan(x));
	assert_true(rql_real_next((double)NAN, false, &x) && isinf(x));
	assert_true(rql_real_next(-0.0, true, &x) && same_bits(x, 4.9e-324));
	assert_false(rql_real_next((double)NAN, true, &x));
	assert_false(rql_real_next(-(double)INFINITY, false, &x));
}

/* Codes of reals as group keys ascend, give the value back, and are one for what is equal. */
static void real_codes(void **state)
{
	(void)state;
	const double nan = rql_real_at(UINT64_MAX);
	const double ascending[] = {-(double)INFINITY, -1e308, -1,    -4.9e-324,        -0.0, 0,
	                            4.9e-324,          1,      1e308, (double)INFINITY, nan,  -nan};
	const uint32_t count = sizeof ascending / sizeof *ascending;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t code = rql_real_code(ascending[i]);
		assert_true(code < RQL_REAL_CODES && same_bits(rql_real_of_code(code), ascending[i]));
		assert_true(i == 0 ? code == 0 : code > rql_real_code(ascending[i - 1]));
	}
	assert_int_equal(rql_real_code(-nan), RQL_REAL_CODES - 1);
	for (uint32_t i = 0; i < 10000; i++) {
		uint64_t bits[2] = {next_random() << 1, next_random() << 1};
		double x[2];
		bits[0] = i % 3 ? bits[0] : bits[1] ^ (uint64_t)below(4) << 63;
		memcpy(x, bits, sizeof x);
		const uint64_t codes[] = {rql_real_code(x[0]), rql_real_code(x[1])};
		const bool equal = rql_real_place(x[0]) == rql_real_place(x[1]);
		assert_int_equal(rql_real_code_same(codes[0]) == rql_real_code_same(codes[1]), equal);
		assert_true(equal || (codes[0] < codes[1]) == (rql_real_place(x[0]) < rql_real_place(x[1])));
		assert_true(isnan(x[0]) || same_bits(rql_real_of_code(codes[0]), x[0]));
	}
}

/* Whatever rows are added up, the sum is within the total; proved: there is one. */
static void check_total(const struct rql_store_snapshot *snapshot, uint32_t column, const int64_t *values,
                        uint32_t rows, bool proved)
{
	struct rql_store_total total;
	rql_int128 low = 0, high = 0;
	assert_int_equal(rql_store_total(snapshot, column, &total), proved);
	for (uint32_t r = 0; r < rows; r++) {
		low += values[r] < 0 ? values[r] : 0;
		high += values[r] > 0 ? values[r] : 0;
	}
	assert_true(!proved || (total.low <= low && total.high >= high && total.low >= INT64_MIN && total.high <= INT64_MAX));
}

/* How many values a column has: columns of known numbers of them, in runs and scattered, sparse and dense, and one with two
 * values far from all others. And what they add up to. */
static void distinct_values(void **state)
{
	enum { ROWS = 60000 };
	static const struct {
		double want, off; /* off: as a factor */
		bool real;
	} columns[] = {{ROWS, 1.01, 0}, {ROWS / 4.0, 1.1, 0}, {1000, 1.1, 0}, {20000, 2, 0},
	               {1, 1, 0},       {ROWS, 1.6, 0},       {100, ROWS, 0}, {1000, 1.1, 1}};
	const uint32_t count = sizeof columns / sizeof *columns;
	struct rql_store_column_spec specs[8];
	struct rql_type types[8];
	(void)state;
	for (uint32_t c = 0; c < count; c++) {
		types[c] = (struct rql_type){.id = columns[c].real ? RQL_TYPE_DOUBLE : RQL_TYPE_BIGINT};
		specs[c] = (struct rql_store_column_spec){.name = "c", .type = types[c], .coding = RQL_STORE_VALUES};
	}
	struct rql_batch *rows = rql_batch_new(count, types, ROWS);
	assert_non_null(rows);
	for (uint32_t r = 0; r < ROWS; r++) {
		const int64_t values[] = {(int64_t)r * 1000003,      r / 4 * INT64_C(4000), (int64_t)below(1000) * 1000,
		                          (int64_t)below(20000) * 9, -5,                    (int64_t)(next_random() >> 2),
		                          r == 777     ? INT64_C(1000000000000000)
		                          : r == 50000 ? -INT64_C(1000000000000000)
		                                       : (int64_t)below(100) - 40};
		const double real = (below(2) ? 1 : -1) * (double)below(501) / 7; /* 0 and -0.0 are one value */
		for (uint32_t c = 0; c < count; c++)
			memcpy((int64_t *)rows->columns[c].data + r, columns[c].real ? (const void *)&real : &values[c], 8);
	}
	struct rql_store *store = NULL;
	struct rql_store_builder *builder = NULL;
	const struct rql_store_spec spec = {.name = "t", .column_count = count, .columns = specs, .pool = pool};
	assert_int_equal(rql_store_builder_new(&spec, &builder, NULL), RQL_OK);
	assert_int_equal(rql_store_builder_add(builder, 0, rows, NULL, NULL), RQL_OK);
	assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	for (uint32_t c = 0; c < count; c++) {
		const double found = rql_store_distinct(rql_store_kernels_for(RQL_SIMD_PORTABLE), snapshot, c);
		assert_true(found >= 1 && found <= ROWS);
		assert_true(found <= columns[c].want * columns[c].off && found >= columns[c].want / columns[c].off);
		if (!columns[c].real)
			check_total(snapshot, c, rows->columns[c].data, ROWS, c != 5);
	}
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	rql_batch_release(rows);
}

static int set_up(void **state)
{
	(void)state;
	if (getenv("RAYQL_TEST_SEED"))
		random_state = strtoull(getenv("RAYQL_TEST_SEED"), NULL, 10) * 2 + 1;
	if (!mkdtemp(folder) || rql_pool_new(2, &pool, NULL) != RQL_OK)
		return -1;
	snprintf(path, sizeof path, "%s/t.columns", folder);
	return 0;
}
static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)rmdir(folder);
	rql_pool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels),        cmocka_unit_test(next_reals),
		cmocka_unit_test(real_codes),
		cmocka_unit_test(all_types),      cmocka_unit_test(chosen),
		cmocka_unit_test(random_tables),  cmocka_unit_test(empty_table),
		cmocka_unit_test(maps),           cmocka_unit_test(appends),
		cmocka_unit_test(changes),
		cmocka_unit_test(threads),        cmocka_unit_test(append_under_readers),
		cmocka_unit_test(files),          cmocka_unit_test(budgets),
		cmocka_unit_test(refusals),       cmocka_unit_test(placed_rows),
		cmocka_unit_test(misplaced_rows), cmocka_unit_test(placed_segments),
		cmocka_unit_test(distinct_values),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
