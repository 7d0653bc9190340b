/* Building cubes against a naive evaluation: random schemas of every type, with NULLs, duplicates and planted
 * hierarchies, rows pushed by several threads; every cell is decoded back and compared with the rows. Then side files,
 * damaged ones, and every way to fail. Seed: RAYQL_TEST_SEED. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "method/cube/cube.h"
#include "method/cube/cube_internal.h"
#include "method/cube/cube_pack.h"

#define MAX_DIMS 8u
#define MAX_MEASURES 4u
#define MAX_ROWS 20000u
#define MAX_DOMAIN 3000u
#define NULL_CLASS 1000000

/* Under TSan the oracle takes nearly all the time and runs in one thread, as files do: fewer of the same. */
#ifdef __SANITIZE_THREAD__
#define OF_TSAN(few, many) (few)
#else
#define OF_TSAN(few, many) (many)
#endif

static uint64_t random_state = 88172645463325252u;
static struct rql_pool *pool;
static struct rql_device device;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(next_random() >> 33) % n;
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

/* ---- types and values ----------------------------------------------------------------------------------------------
 */

static struct rql_type_info enums[3];

static void make_enums(void)
{
	static const uint32_t sizes[] = {3, 300, 70000};
	for (uint32_t e = 0; e < 3; e++) {
		char **names = calloc(sizes[e], sizeof(*names));
		for (uint32_t i = 0; i < sizes[e]; i++) {
			names[i] = malloc(24);
			snprintf(names[i], 24, "member %u", i);
		}
		enums[e] =
			(struct rql_type_info){.text = "ENUM('...')", .name_count = sizes[e], .names = (const char *const *)names};
	}
}

static void free_enums(void)
{
	for (uint32_t e = 0; e < 3; e++) {
		for (uint32_t i = 0; i < enums[e].name_count; i++)
			free((char *)(uintptr_t)enums[e].names[i]);
		free((void *)(uintptr_t)enums[e].names);
	}
}

static struct rql_type random_type(void)
{
	static const rql_type_id ids[] = {
		RQL_TYPE_BOOLEAN,      RQL_TYPE_TINYINT,      RQL_TYPE_SMALLINT,     RQL_TYPE_INTEGER,   RQL_TYPE_BIGINT,
		RQL_TYPE_HUGEINT,      RQL_TYPE_UTINYINT,     RQL_TYPE_USMALLINT,    RQL_TYPE_UINTEGER,  RQL_TYPE_UBIGINT,
		RQL_TYPE_UHUGEINT,     RQL_TYPE_FLOAT,        RQL_TYPE_DOUBLE,       RQL_TYPE_DECIMAL,   RQL_TYPE_VARCHAR,
		RQL_TYPE_BLOB,         RQL_TYPE_DATE,         RQL_TYPE_TIME,         RQL_TYPE_TIMESTAMP, RQL_TYPE_TIMESTAMP_S,
		RQL_TYPE_TIMESTAMP_MS, RQL_TYPE_TIMESTAMP_NS, RQL_TYPE_TIMESTAMP_TZ, RQL_TYPE_UUID,      RQL_TYPE_ENUM,
		RQL_TYPE_INTEGER,      RQL_TYPE_VARCHAR,      RQL_TYPE_DECIMAL,      RQL_TYPE_BIGINT,
	};
	struct rql_type type = rql_type_simple(ids[below(sizeof(ids) / sizeof(ids[0]))]);
	if (type.id == RQL_TYPE_DECIMAL) {
		type.width = (uint8_t)(1 + below(38));
		type.scale = (uint8_t)below(type.width + 1u);
	}
	if (type.id == RQL_TYPE_ENUM)
		type.info = &enums[below(3)];
	return type;
}

/* What an array of values of one type is drawn from; classes number the distinct values in their order. */
struct domain {
	struct rql_type type;
	uint32_t count;
	struct rql_value value[MAX_DOMAIN];
	char text[MAX_DOMAIN][40];
	uint32_t order[MAX_DOMAIN]; /* of the values, ascending */
	int32_t class_of[MAX_DOMAIN];
};

static double random_real(void)
{
	switch (below(12)) {
	case 0:
		return 0.0;
	case 1:
		return -0.0;
	case 2:
		return NAN;
	case 3:
		return one_in(2) ? INFINITY : -INFINITY;
	default:
		return (double)below(2000) - 1000;
	}
}

/* magnitude: 0 small, 1 32 bits, 2 all of the type's bits */
static void random_value(struct domain *domain, uint32_t i, uint32_t magnitude)
{
	struct rql_value *value = &domain->value[i];
	unsigned bytes = rql_type_bytes(domain->type);
	*value = (struct rql_value){.type = domain->type};
	switch (domain->type.id) {
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		value->real = random_real();
		break;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB: {
		uint32_t length = below(magnitude == 0   ? 8
		                        : magnitude == 1 ? 16
		                                         : 36),
				 shared = below(2) ? below(length + 1) : 0;
		for (uint32_t c = 0; c < length; c++)
			domain->text[i][c] = c < shared ? 'x' : (char)('a' + (int)below(3) - (int)one_in(9) * 97);
		value->string.data = domain->text[i];
		value->string.length = length;
		break;
	}
	case RQL_TYPE_BOOLEAN:
		value->integer = below(2);
		break;
	case RQL_TYPE_ENUM:
		value->integer = below(domain->type.info->name_count);
		break;
	default: {
		rql_uint128 bits = (rql_uint128)next_random() << 64 | next_random();
		if (magnitude == 0)
			bits = below(200) - (rql_uint128)(rql_type_is_signed(domain->type) ? 100 : 0);
		else if (magnitude == 1)
			bits = (rql_uint128)(rql_type_is_signed(domain->type) ? (rql_int128)(int32_t)bits
			                                                      : (rql_int128)(uint32_t)bits);
		/* Through the stored form and back: what a column of the type can hold. */
		_Alignas(16) uint8_t stored[16] = {0};
		memcpy(stored, &bits, bytes);
		struct rql_column column = {.type = domain->type, .data = stored};
		*value = rql_column_get(&column, 0);
	}
	}
}

static void random_domain(struct domain *domain, struct rql_type type, uint32_t count)
{
	uint32_t magnitude = below(3);
	domain->type = type;
	domain->count = count;
	for (uint32_t i = 0; i < count; i++)
		random_value(domain, i, magnitude);
}

static struct domain *sorting;
static int by_value(const void *a, const void *b)
{
	return rql_value_compare(&sorting->value[*(const uint32_t *)a], &sorting->value[*(const uint32_t *)b]);
}

static void number_classes(struct domain *domain)
{
	uint32_t *order = domain->order;
	int32_t class = -1;
	for (uint32_t i = 0; i < domain->count; i++)
		order[i] = i;
	sorting = domain;
	qsort(order, domain->count, sizeof(*order), by_value);
	for (uint32_t i = 0; i < domain->count; i++) {
		if (i == 0 || rql_value_compare(&domain->value[order[i - 1]], &domain->value[order[i]]) != 0)
			class ++;
		domain->class_of[order[i]] = class;
	}
}

static int32_t find_class(const struct domain *domain, const struct rql_value *value)
{
	if (value->is_null)
		return NULL_CLASS;
	for (uint32_t first = 0, end = domain->count; first < end;) {
		uint32_t middle = first + (end - first) / 2, i = domain->order[middle];
		int order = rql_value_compare(value, &domain->value[i]);
		if (order == 0)
			return domain->class_of[i];
		if (order < 0)
			end = middle;
		else
			first = middle + 1;
	}
	fail_msg("a value that was never put in");
	return -1;
}

/* ---- tables ---------------------------------------------------------------------------------------------------------
 */

struct table {
	uint32_t dims, measures, rows;
	struct domain dim[MAX_DIMS];
	struct domain measure[MAX_MEASURES];
	struct rql_measure_spec spec[MAX_MEASURES];
	int32_t code[MAX_ROWS][MAX_DIMS + MAX_MEASURES]; /* index in the domain; -1: NULL */
};
static struct table table;

static uint32_t random_rows(void)
{
	switch (below(6)) {
	case 0:
		return below(3);
	case 1:
		return MAX_ROWS / 2 + below(MAX_ROWS / 2);
	default:
		return below(3000);
	}
}

static uint32_t random_card(void)
{
	switch (below(5)) {
	case 0:
		return 1;
	case 1:
		return MAX_DOMAIN / 2 + below(MAX_DOMAIN / 2);
	case 2:
		return 1 + below(300);
	default:
		return 1 + below(12);
	}
}

static void random_measure(struct rql_measure_spec *spec, struct domain *domain)
{
	struct rql_type type = random_type();
	random_domain(domain, type, random_card());
	number_classes(domain);
	*spec = (struct rql_measure_spec){.type = type, .name = "m", .min = one_in(2), .max = one_in(2)};
	spec->sum = rql_cube_summable(type) && one_in(2);
}

static void random_table(void)
{
	table.dims = below(MAX_DIMS + 1);
	table.measures = below(MAX_MEASURES + 1);
	table.rows = random_rows();
	int32_t parent[MAX_DIMS];
	bool nulls[MAX_DIMS + MAX_MEASURES];
	for (uint32_t d = 0; d < table.dims; d++) {
		random_domain(&table.dim[d], random_type(), random_card());
		number_classes(&table.dim[d]);
		parent[d] = d && one_in(2) ? (int32_t)below(d) : -1;
	}
	for (uint32_t m = 0; m < table.measures; m++)
		random_measure(&table.spec[m], &table.measure[m]);
	for (uint32_t c = 0; c < MAX_DIMS + MAX_MEASURES; c++)
		nulls[c] = one_in(3);
	for (uint32_t r = 0; r < table.rows; r++) {
		for (uint32_t d = 0; d < table.dims; d++) {
			int32_t *code = &table.code[r][d];
			*code = nulls[d] && one_in(10) ? -1 : (int32_t)below(table.dim[d].count);
			if (parent[d] < 0)
				continue;
			/* Determined by the parent's value, not by which spelling of it (-0.0) a row has. */
			int32_t above = table.code[r][parent[d]];
			int32_t class = above < 0 ? 7 : table.dim[parent[d]].class_of[above];
			*code = (int32_t)((uint32_t) class / 3 % table.dim[d].count);
		}
		for (uint32_t m = 0; m < table.measures; m++)
			table.code[r][table.dims + m] =
				nulls[MAX_DIMS + m] && one_in(4) ? -1 : (int32_t)below(table.measure[m].count);
	}
}

static const struct domain *domain_of(uint32_t column)
{
	return column < table.dims ? &table.dim[column] : &table.measure[column - table.dims];
}

static struct rql_batch *make_batch(uint32_t first, uint32_t count)
{
	struct rql_type types[MAX_DIMS + MAX_MEASURES];
	uint32_t columns = table.dims + table.measures;
	for (uint32_t c = 0; c < columns; c++)
		types[c] = domain_of(c)->type;
	struct rql_batch *batch = rql_batch_new(columns, types, count);
	assert_non_null(batch);
	for (uint32_t c = 0; c < columns; c++) {
		const struct domain *domain = domain_of(c);
		for (uint32_t r = 0; r < count; r++) {
			int32_t code = table.code[first + r][c];
			bool text = domain->type.id == RQL_TYPE_VARCHAR || domain->type.id == RQL_TYPE_BLOB;
			if (code < 0) {
				if (!text) /* what lies under a NULL is nobody's business */
					memset((char *)batch->columns[c].data + (size_t)r * rql_type_bytes(domain->type), 0xA5,
					       rql_type_bytes(domain->type));
				assert_true(rql_batch_set_null(batch, c, r));
			} else if (text) {
				assert_true(rql_batch_set_string(batch, c, r, domain->value[code].string.data,
				                                 (uint32_t)domain->value[code].string.length));
			} else {
				rql_column_put(&batch->columns[c], r, &domain->value[code]);
			}
		}
	}
	return batch;
}

/* ---- building -------------------------------------------------------------------------------------------------------
 */

struct pusher {
	struct rql_relation_builder *builder;
	unsigned worker;
	uint32_t first, end, step;
	rql_status status;
};

static void *push(void *argument)
{
	struct pusher *pusher = argument;
	for (uint32_t r = pusher->first; r < pusher->end && pusher->status == RQL_OK; r += pusher->step) {
		uint32_t count = pusher->end - r < pusher->step ? pusher->end - r : pusher->step;
		struct rql_batch *batch = make_batch(r, count);
		pusher->status = rql_cube_builder_add(pusher->builder, pusher->worker, batch, NULL);
		rql_batch_release(batch);
	}
	return NULL;
}

static struct rql_relation_spec table_spec(struct rql_type *types, struct rql_budget *budget)
{
	for (uint32_t d = 0; d < table.dims; d++)
		types[d] = table.dim[d].type;
	return (struct rql_relation_spec){.name = "v",
	                              .dimension_count = table.dims,
	                              .dimension_types = types,
	                              .measure_count = table.measures,
	                              .measures = table.spec,
	                              .budget = budget,
	                              .device = &device};
}

static rql_status push_table(struct rql_relation_builder *builder, uint32_t workers, uint32_t step)
{
	pthread_t thread[8];
	struct pusher pusher[8];
	rql_status status = RQL_OK;
	for (uint32_t w = 0; w < workers; w++) {
		pusher[w] = (struct pusher){.builder = builder,
		                            .worker = w * 5,
		                            .step = step,
		                            .first = (uint32_t)((uint64_t)table.rows * w / workers),
		                            .end = (uint32_t)((uint64_t)table.rows * (w + 1) / workers)};
		assert_int_equal(pthread_create(&thread[w], NULL, push, &pusher[w]), 0);
	}
	for (uint32_t w = 0; w < workers; w++) {
		pthread_join(thread[w], NULL);
		status = status == RQL_OK ? pusher[w].status : status;
	}
	return status;
}

static struct rql_cube *build_table(const struct rql_relation_spec *spec, uint32_t workers, uint32_t step)
{
	struct rql_error err = {0};
	struct rql_relation_builder *builder;
	struct rql_cube *cube = NULL;
	if (rql_cube_builder_new(spec, &builder, &err) != RQL_OK)
		fail_msg("new: %s", rql_error_message(&err));
	assert_int_equal(push_table(builder, workers, step), RQL_OK);
	if (rql_cube_builder_finish(builder, &cube, &err) != RQL_OK)
		fail_msg("finish: %s", rql_error_message(&err));
	if (rql_cube_check(cube, &err) != RQL_OK)
		fail_msg("check: %s", rql_error_message(&err));
	return cube;
}

/* ---- comparing cells with rows --------------------------------------------------------------------------------------
 */

struct cell {
	int32_t class[MAX_DIMS];
	uint64_t rows;
	struct {
		uint64_t valid;
		rql_int128 sum, min, max; /* reals: canonical bits; codes: classes */
	} m[MAX_MEASURES];
};
static struct cell expected[MAX_ROWS], found[MAX_ROWS];

static rql_int128 real_bits(double value)
{
	uint64_t bits;
	value = isnan(value) ? NAN : value == 0 ? 0.0 : value;
	memcpy(&bits, &value, 8);
	return (rql_int128)bits;
}

static double bits_real(rql_int128 bits)
{
	uint64_t word = (uint64_t)bits;
	double value;
	memcpy(&value, &word, 8);
	return value;
}

/* Sums and extremes that the cube does not keep are left 0 on both sides. */
static void row_cell(const struct rql_cube *cube, uint32_t r, struct cell *cell)
{
	memset(cell, 0, sizeof(*cell));
	cell->rows = 1;
	for (uint32_t d = 0; d < table.dims; d++)
		cell->class[d] = table.code[r][d] < 0 ? NULL_CLASS : table.dim[d].class_of[table.code[r][d]];
	for (uint32_t m = 0; m < table.measures; m++) {
		const struct rql_measure *measure = &cube->relation.measures[m];
		int32_t code = table.code[r][table.dims + m];
		if (code < 0)
			continue;
		const struct rql_value *value = &table.measure[m].value[code];
		rql_int128 number = measure->kind == RQL_MEASURE_REAL   ? real_bits(value->real)
		                    : measure->kind == RQL_MEASURE_CODE ? table.measure[m].class_of[code]
		                                                        : value->integer;
		cell->m[m].valid = 1;
		cell->m[m].sum = measure->sum ? number : 0;
		cell->m[m].min = measure->min ? number : 0;
		cell->m[m].max = measure->max ? number : 0;
	}
}

static int compare_numbers(enum rql_measure_kind kind, rql_int128 a, rql_int128 b)
{
	if (kind != RQL_MEASURE_REAL)
		return (a > b) - (a < b);
	struct rql_value x = {.type = rql_type_simple(RQL_TYPE_DOUBLE), .real = bits_real(a)}, y = x;
	y.real = bits_real(b);
	return rql_value_compare(&x, &y);
}

static void merge_cell(const struct rql_cube *cube, struct cell *into, const struct cell *row)
{
	into->rows += row->rows;
	for (uint32_t m = 0; m < table.measures; m++) {
		enum rql_measure_kind kind = cube->relation.measures[m].kind;
		if (!row->m[m].valid)
			continue;
		bool first = !into->m[m].valid;
		if (kind == RQL_MEASURE_REAL)
			into->m[m].sum = first ? row->m[m].sum : real_bits(bits_real(into->m[m].sum) + bits_real(row->m[m].sum));
		else
			into->m[m].sum += row->m[m].sum;
		if (first || compare_numbers(kind, row->m[m].min, into->m[m].min) < 0)
			into->m[m].min = row->m[m].min;
		if (first || compare_numbers(kind, row->m[m].max, into->m[m].max) > 0)
			into->m[m].max = row->m[m].max;
		into->m[m].valid++;
	}
}

static int by_class(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct cell *)0)->class));
}

static int by_all(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct cell));
}

static uint64_t expect_cells(const struct rql_cube *cube)
{
	uint64_t n = 0;
	for (uint32_t r = 0; r < table.rows; r++)
		row_cell(cube, r, &expected[r]);
	if (!cube->relation.rolled_up) {
		qsort(expected, table.rows, sizeof(*expected), by_all);
		return table.rows;
	}
	qsort(expected, table.rows, sizeof(*expected), by_class);
	for (uint32_t r = 0; r < table.rows; r++) {
		if (n && by_class(&expected[n - 1], &expected[r]) == 0)
			merge_cell(cube, &expected[n - 1], &expected[r]);
		else
			expected[n++] = expected[r];
	}
	qsort(expected, n, sizeof(*expected), by_all);
	return n;
}

static rql_int128 class_number(const struct rql_cube *cube, uint32_t m, const struct rql_packed *packed, uint64_t i)
{
	const struct rql_measure *measure = &cube->relation.measures[m];
	rql_int128 number = rql_packed_get(packed, i);
	if (measure->kind != RQL_MEASURE_CODE)
		return number;
	struct rql_value value = rql_column_get(&measure->dictionary.values, (uint64_t)number);
	return find_class(&table.measure[m], &value);
}

static void decode_measure(const struct rql_cube *cube, uint32_t m, uint64_t i, struct cell *cell)
{
	const struct rql_measure *measure = &cube->relation.measures[m];
	const struct rql_cube_measure *stored = &cube->measures[m];
	bool rolled = cube->relation.rolled_up, real = measure->kind == RQL_MEASURE_REAL;
	cell->m[m].valid = measure->has_null ? (uint64_t)rql_packed_get(&stored->valid, i) : cell->rows;
	if (!cell->m[m].valid)
		return;
	if (measure->sum)
		cell->m[m].sum = real ? real_bits(stored->real[i]) : rql_packed_get(&stored->sum, i);
	if (measure->min)
		cell->m[m].min = real ? real_bits(rolled ? stored->real_min[i] : stored->real[i])
		                      : class_number(cube, m, rolled ? &stored->min : &stored->sum, i);
	if (measure->max)
		cell->m[m].max = real ? real_bits(rolled ? stored->real_max[i] : stored->real[i])
		                      : class_number(cube, m, rolled ? &stored->max : &stored->sum, i);
}

static void decode_cells(const struct rql_cube *cube)
{
	uint32_t digits[MAX_DIMS];
	for (uint64_t prefix = 0; prefix < cube->directory_size; prefix++) {
		uint64_t first = cube->directory32 ? cube->directory32[prefix] : cube->directory64[prefix];
		uint64_t end = cube->directory32 ? cube->directory32[prefix + 1] : cube->directory64[prefix + 1], rest = prefix;
		for (uint32_t d = cube->directory_digits; d-- > 0; rest /= cube->digits[d].radix)
			digits[d] = (uint32_t)(rest % cube->digits[d].radix);
		for (uint64_t i = first; i < end; i++) {
			struct cell *cell = &found[i];
			memset(cell, 0, sizeof(*cell));
			for (uint32_t d = cube->directory_digits; d < cube->digit_count; d++)
				digits[d] = (uint32_t)rql_packed_field(&cube->residual[d - cube->directory_digits], i);
			for (uint32_t d = 0; d < table.dims; d++) {
				uint32_t code = cube->dimensions[d].code_of_digit[digits[cube->dimensions[d].digit]];
				struct rql_value value = rql_column_get(&cube->relation.dimensions[d].values, code);
				cell->class[d] = find_class(&table.dim[d], &value);
			}
			cell->rows = cube->relation.rolled_up ? (uint64_t)rql_packed_get(&cube->count, i) : 1;
			for (uint32_t m = 0; m < table.measures; m++)
				decode_measure(cube, m, i, cell);
		}
	}
	qsort(found, cube->relation.cells, sizeof(*found), by_all);
}

static void compare_cube(const struct rql_cube *cube)
{
	assert_int_equal(cube->relation.rows, table.rows);
	uint64_t cells = expect_cells(cube);
	assert_int_equal(cube->relation.cells, cells);
	decode_cells(cube);
	for (uint64_t i = 0; i < cells; i++) {
		if (memcmp(&expected[i], &found[i], sizeof(struct cell)) != 0)
			fail_msg("cell %llu of %llu differs", (unsigned long long)i, (unsigned long long)cells);
	}
	for (uint32_t m = 0; m < table.measures; m++) {
		const struct rql_measure *measure = &cube->relation.measures[m];
		bool all = !cube->relation.rolled_up;
		assert_int_equal(measure->min, all || table.spec[m].min);
		assert_int_equal(measure->max, all || table.spec[m].max);
		if (rql_type_bytes(measure->type) < 16)
			assert_int_equal(measure->sum, (all && rql_cube_summable(measure->type)) || table.spec[m].sum);
	}
}

/* ---- tests ----------------------------------------------------------------------------------------------------------
 */

static char folder[] = "/tmp/rayql-cube-XXXXXX";
static char path[64];

static void round_trip(const struct rql_cube *cube, struct rql_budget *budget)
{
	struct rql_error err = {0};
	struct rql_cube *again;
	uint64_t before = atomic_load(&budget->used);
	if (rql_cube_write(cube, RQL_PLACE(path), "identity", 8, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	if (rql_cube_read(RQL_PLACE(path), "identity", 8, budget, &again, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	if (rql_cube_check(again, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	compare_cube(again);
	assert_int_equal(again->bytes, atomic_load(&budget->used) - before);
	rql_cube_release(again);
	assert_int_equal(rql_cube_read(RQL_PLACE(path), "identitY", 8, budget, &again, &err), RQL_ERROR_CORRUPT);
	assert_int_equal(rql_cube_read(RQL_PLACE(path), "identity!", 9, budget, &again, &err), RQL_ERROR_CORRUPT);
	rql_error_clear(&err);
	assert_int_equal(atomic_load(&budget->used), before);
}

/* The release build, which has them with script/test --all, has more than ASan, and TSan those that threads make. */
#ifdef __SANITIZE_ADDRESS__
#define CASES 120
#else
#define CASES OF_TSAN(40, 250)
#endif

static void random_cubes(void **state)
{
	(void)state;
	uint32_t cases = getenv("RAYQL_TEST_CASES") ? (uint32_t)atoi(getenv("RAYQL_TEST_CASES")) : CASES;
	for (uint32_t c = 0; c < cases; c++) {
		struct rql_budget budget = {0};
		struct rql_type types[MAX_DIMS];
		uint32_t order[MAX_DIMS];
		random_table();
		struct rql_relation_spec spec = table_spec(types, &budget);
		spec.rollup = (enum rql_rollup)below(3);
		spec.order = order;
		for (; table.dims && spec.order_count < MAX_DIMS && one_in(3); spec.order_count++)
			order[spec.order_count] = below(table.dims);
		struct rql_cube *cube = build_table(&spec, 1 + below(4), 1 + below(one_in(2) ? 5000 : 300));
		compare_cube(cube);
		assert_int_equal(cube->bytes, atomic_load(&budget.used));
		if (c % 4 == 0)
			round_trip(cube, &budget);
		assert_ptr_equal(rql_cube_retain(cube), cube);
		rql_cube_release(cube);
		rql_cube_release(cube);
		assert_int_equal(atomic_load(&budget.used), 0);
	}
}

/* Columns of small integers, the value a function of the row. */
static void simple_table(uint32_t dims, uint32_t rows, int32_t (*value)(uint32_t row, uint32_t column))
{
	table.dims = dims;
	table.rows = rows;
	table.measures = 1;
	for (uint32_t d = 0; d <= dims; d++) {
		struct domain *domain = d < dims ? &table.dim[d] : &table.measure[0];
		domain->type = rql_type_simple(RQL_TYPE_INTEGER);
		domain->count = MAX_DOMAIN;
		for (uint32_t i = 0; i < MAX_DOMAIN; i++)
			domain->value[i] = (struct rql_value){.type = domain->type, .integer = (rql_int128)i};
		number_classes(domain);
		for (uint32_t r = 0; r < rows; r++)
			table.code[r][d] = value(r, d);
	}
	table.spec[0] = (struct rql_measure_spec){.type = rql_type_simple(RQL_TYPE_INTEGER), .name = "m", .sum = true};
}

/* 0: day of 2555, 1: month of 84, 2: year of 7, 3: month of the year, 4: two values, 5: constant; the day's numbers are
 * scrambled, so that only the hierarchy can order them by month. */
static int32_t calendar(uint32_t row, uint32_t column)
{
	uint32_t day = row * 7919u % 2555u, year = day / 365, month = day % 365 / 31;
	switch (column) {
	case 0:
		return (int32_t)(day * 2u % 2555u);
	case 1:
		return (int32_t)(year * 12 + month);
	case 2:
		return (int32_t)year;
	case 3:
		return (int32_t)month;
	case 4:
		return (int32_t)(row / 2555u % 2u);
	case 5:
		return 3;
	default:
		return (int32_t)(row % 100);
	}
}

/* The digit values with one code of a level are one interval. */
static bool is_interval(const struct rql_cube *cube, uint32_t dimension)
{
	const struct rql_cube_dimension *level = &cube->dimensions[dimension];
	uint32_t changes = 1, radix = cube->digits[level->digit].radix;
	for (uint32_t i = 1; i < radix; i++)
		changes += level->code_of_digit[i] != level->code_of_digit[i - 1];
	return changes == cube->relation.dimensions[dimension].count;
}

static void hierarchies_are_folded(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_type types[MAX_DIMS];
	const uint32_t order[] = {2};
	simple_table(6, 15330, calendar);
	struct rql_relation_spec spec = table_spec(types, &budget);
	struct rql_cube *cube = build_table(&spec, 3, 1000);
	compare_cube(cube);
	assert_int_equal(cube->digit_count, 2);
	assert_int_equal(cube->order_chosen[0], 4); /* ascending radix */
	assert_int_equal(cube->order_chosen[1], 0);
	assert_int_equal(cube->dimensions[1].digit, 1);
	assert_int_equal(cube->dimensions[3].digit, 1);
	assert_true(is_interval(cube, 1));
	assert_true(is_interval(cube, 2));
	assert_false(is_interval(cube, 3));
	assert_true(is_interval(cube, 5));
	assert_true(cube->relation.rolled_up); /* 5110 cells of 15330 rows */
	assert_int_equal(cube->relation.cells, 5110);
	rql_cube_release(cube);
	/* A folded level stands for its digit. */
	spec.order = order;
	spec.order_count = 1;
	spec.rollup = RQL_ROLLUP_OFF;
	cube = build_table(&spec, 1, 2048);
	compare_cube(cube);
	assert_int_equal(cube->order_chosen[0], 0);
	rql_cube_release(cube);
	assert_int_equal(atomic_load(&budget.used), 0);
}

static int32_t scattered(uint32_t row, uint32_t column)
{
	uint32_t x = row * 2654435761u + column * 40503u;
	x = (x ^ x >> 15) * 2246822519u;
	return (int32_t)((x ^ x >> 13) % MAX_DOMAIN);
}

/* Eight digits of 12 bits: 96 bits of key. */
static void long_keys(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_type types[MAX_DIMS];
	simple_table(8, MAX_ROWS, scattered);
	struct rql_relation_spec spec = table_spec(types, &budget);
	for (int rollup = OF_TSAN(2, 0); rollup < 3; rollup++) {
		spec.rollup = (enum rql_rollup)rollup;
		struct rql_cube *cube = build_table(&spec, 2, 2048);
		assert_int_equal(cube->digit_count, 8);
		compare_cube(cube);
		rql_cube_release(cube);
	}
}

/* The first five digits fill a word and are shared by several rows, so that the second word decides. */
static int32_t tied(uint32_t row, uint32_t column)
{
	return scattered(column < 5 ? row % 4000 : row, column);
}

static void ties_in_long_keys(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_type types[MAX_DIMS];
	simple_table(8, MAX_ROWS, tied);
	struct rql_relation_spec spec = table_spec(types, &budget);
	spec.rollup = RQL_ROLLUP_OFF;
	struct rql_cube *cube = build_table(&spec, 2, 2048);
	assert_int_equal(cube->digit_count, 8);
	assert_true(cube->order_chosen[0] < 5 && cube->order_chosen[4] < 5);
	compare_cube(cube);
	rql_cube_release(cube);
	assert_int_equal(atomic_load(&budget.used), 0);
}

/* In each half of the rows column 0 determines column 1, in both together it does not. */
static int32_t contradicting(uint32_t row, uint32_t column)
{
	return (int32_t)(column == 0 ? row % 10 : row < 1000 ? row % 10 / 2 : row % 10 / 3);
}

static void workers_contradict(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_type types[MAX_DIMS];
	simple_table(2, 2000, contradicting);
	struct rql_relation_spec spec = table_spec(types, &budget);
	struct rql_cube *cube = build_table(&spec, 2, 500);
	assert_int_equal(cube->digit_count, 2);
	compare_cube(cube);
	rql_cube_release(cube);
	assert_int_equal(atomic_load(&budget.used), 0);
}

/* Of 0.0 and -0.0, one group, the host gives back the one that came first; NaNs are one group and the last. */
static void reals_as_dimensions(void **state)
{
	(void)state;
	static const double values[] = {NAN, -0.0, 1.5, 0.0, -NAN, -INFINITY};
	const struct rql_type type = rql_type_simple(RQL_TYPE_DOUBLE);
	struct rql_relation_builder *builder;
	struct rql_cube *cube = NULL;
	const struct rql_relation_spec spec = {.name = "v", .dimension_count = 1, .dimension_types = &type};
	struct rql_batch *batch = rql_batch_new(1, &type, 6);
	memcpy(batch->columns[0].data, values, sizeof values);
	assert_int_equal(rql_cube_builder_new(&spec, &builder, NULL), RQL_OK);
	assert_int_equal(rql_cube_builder_add(builder, 0, batch, NULL), RQL_OK);
	assert_int_equal(rql_cube_builder_finish(builder, &cube, NULL), RQL_OK);
	rql_batch_release(batch);
	const double *found_values = cube->relation.dimensions[0].values.data;
	assert_int_equal(cube->relation.dimensions[0].count, 4);
	assert_true(isinf(found_values[0]));
	assert_true(found_values[1] == 0 && signbit(found_values[1]));
	assert_true(found_values[2] == 1.5);
	assert_true(isnan(found_values[3]));
	rql_cube_release(cube);
}

static int32_t skewed(uint32_t row, uint32_t column)
{
	return row % 50 ? 5 : scattered(row, column);
}

static void skewed_keys(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_type types[MAX_DIMS];
	simple_table(6, MAX_ROWS, skewed);
	struct rql_relation_spec spec = table_spec(types, &budget);
	spec.rollup = RQL_ROLLUP_OFF;
	struct rql_cube *cube = build_table(&spec, 2, 2048);
	compare_cube(cube);
	rql_cube_release(cube);
}

static void no_rows(void **state)
{
	(void)state;
	for (uint32_t dims = 0; dims < 4; dims++) {
		struct rql_budget budget = {0};
		struct rql_type types[MAX_DIMS];
		simple_table(dims, 0, scattered);
		struct rql_relation_spec spec = table_spec(types, &budget);
		for (int rollup = 0; rollup < 3; rollup++) {
			spec.rollup = (enum rql_rollup)rollup;
			struct rql_cube *cube = build_table(&spec, 2, 100);
			compare_cube(cube);
			assert_int_equal(cube->directory32[cube->directory_size], 0);
			round_trip(cube, &budget);
			rql_cube_release(cube);
		}
		assert_int_equal(atomic_load(&budget.used), 0);
	}
}

/* Sums that leave 64 bits are kept in 128, and those that leave 128 are not offered. */
static void wide_sums(void **state)
{
	(void)state;
	static const struct {
		rql_type_id id;
		int shift; /* values are about 2^shift */
		bool wide, sum;
	} cases[] = {{RQL_TYPE_BIGINT, 40, false, true},
	             {RQL_TYPE_BIGINT, 62, true, true},
	             {RQL_TYPE_HUGEINT, 20, false, true},
	             {RQL_TYPE_HUGEINT, 100, true, true},
	             {RQL_TYPE_HUGEINT, 126, false, false}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct rql_budget budget = {0};
		struct rql_type types[MAX_DIMS];
		simple_table(2, 5000, scattered);
		table.spec[0].type = table.measure[0].type = rql_type_simple(cases[c].id);
		for (uint32_t i = 0; i < MAX_DOMAIN; i++) {
			table.measure[0].value[i].type = table.spec[0].type;
			table.measure[0].value[i].integer = (((rql_int128)1 << cases[c].shift) - (rql_int128)i) * (i % 3 ? 1 : -1);
		}
		number_classes(&table.measure[0]);
		struct rql_relation_spec spec = table_spec(types, &budget);
		for (int rollup = 1; rollup < 3; rollup++) {
			spec.rollup = (enum rql_rollup)rollup;
			struct rql_cube *cube = build_table(&spec, 2, 700);
			assert_int_equal(cube->relation.measures[0].sum, cases[c].sum);
			if (cases[c].sum)
				assert_int_equal(cube->measures[0].wide, cases[c].wide);
			compare_cube(cube);
			round_trip(cube, &budget);
			rql_cube_release(cube);
		}
	}
}

static void budget_failures(void **state)
{
	(void)state;
	simple_table(5, 3000, calendar);
	struct rql_type types[MAX_DIMS];
	uint64_t limit = 1;
	for (uint32_t attempts = 0;; attempts++) {
		struct rql_budget budget = {0};
		struct rql_error err = {0};
		struct rql_relation_builder *builder;
		struct rql_cube *cube = NULL;
		atomic_store(&budget.limit, limit);
		struct rql_relation_spec spec = table_spec(types, &budget);
		assert_int_equal(rql_cube_builder_new(&spec, &builder, &err), RQL_OK);
		rql_status status = push_table(builder, 1, 500);
		if (status != RQL_OK)
			rql_cube_builder_abort(builder);
		else
			status = rql_cube_builder_finish(builder, &cube, &err);
		if (status == RQL_OK) {
			compare_cube(cube);
			rql_cube_release(cube);
		} else {
			assert_int_equal(status, RQL_ERROR_LIMIT);
			assert_null(cube);
		}
		assert_int_equal(atomic_load(&budget.used), 0);
		rql_error_clear(&err);
		if (status == RQL_OK) {
			assert_true(attempts > 50);
			return;
		}
		limit += limit < 4096 ? 256 : 1024;
	}
}

static void interrupts(void **state)
{
	(void)state;
	struct rql_type types[MAX_DIMS];
	for (int where = 0; where < 2; where++) {
		struct rql_budget budget = {0};
		struct rql_progress progress = {0};
		struct rql_error err = {0};
		struct rql_relation_builder *builder;
		struct rql_cube *cube = NULL;
		simple_table(3, 5000, scattered);
		struct rql_relation_spec spec = table_spec(types, &budget);
		spec.progress = &progress;
		assert_int_equal(rql_cube_builder_new(&spec, &builder, &err), RQL_OK);
		assert_string_equal(atomic_load(&progress.phase), "reading");
		if (where == 0)
			atomic_store(&progress.cancel, true);
		assert_int_equal(push_table(builder, 2, 500), where == 0 ? RQL_ERROR_INTERRUPTED : RQL_OK);
		if (where == 1)
			assert_int_equal(atomic_load(&progress.rows), 5000);
		atomic_store(&progress.cancel, true);
		assert_int_equal(rql_cube_builder_finish(builder, &cube, &err), RQL_ERROR_INTERRUPTED);
		assert_string_equal(rql_error_message(&err), "Interrupted!");
		rql_error_clear(&err);
		assert_int_equal(atomic_load(&budget.used), 0);
	}
}

static void refusals(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_relation_builder *builder = NULL;
	struct rql_type types[] = {rql_type_simple(RQL_TYPE_INTERVAL)};
	const char *names[] = {"waiting"};
	struct rql_relation_spec spec = {.name = "v", .dimension_count = 1, .dimension_types = types, .dimension_names = names};
	assert_int_equal(rql_cube_builder_new(&spec, &builder, &err), RQL_ERROR_UNSUPPORTED);
	assert_string_equal(rql_error_message(&err),
	                    "cube v: dimension waiting of type INTERVAL cannot be a dimension; leave it "
	                    "out, or cast it to VARCHAR");
	struct rql_measure_spec measure = {.type = rql_type_simple(RQL_TYPE_DATE), .name = "max(d)", .sum = true};
	spec = (struct rql_relation_spec){.name = "v", .measure_count = 1, .measures = &measure};
	assert_int_equal(rql_cube_builder_new(&spec, &builder, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "max(d)"));
	/* Rows of another shape. */
	measure.sum = false;
	assert_int_equal(rql_cube_builder_new(&spec, &builder, &err), RQL_OK);
	struct rql_type other = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_batch *batch = rql_batch_new(1, &other, 1);
	assert_int_equal(rql_cube_builder_add(builder, 0, batch, &err), RQL_ERROR_INTERNAL);
	rql_batch_release(batch);
	rql_cube_builder_abort(builder);
	rql_error_clear(&err);
}

/* ---- side files -----------------------------------------------------------------------------------------------------
 */

static uint8_t *load_file(size_t *size)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	uint8_t *data = malloc(*size);
	assert_int_equal(fread(data, 1, *size, file), *size);
	fclose(file);
	return data;
}

static void store_file(const uint8_t *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	fclose(file);
}

static void damaged_files(void **state)
{
	(void)state;
	struct rql_type types[MAX_DIMS];
	for (uint32_t c = 0; c < OF_TSAN(1, 6); c++) {
		struct rql_budget budget = {0};
		random_table();
		table.rows = table.rows < 500 ? table.rows : 500;
		struct rql_relation_spec spec = table_spec(types, &budget);
		spec.rollup = (enum rql_rollup)(c % 3);
		struct rql_cube *cube = build_table(&spec, 2, 100), *again;
		assert_int_equal(rql_cube_write(cube, RQL_PLACE(path), "id", 2, NULL), RQL_OK);
		rql_cube_release(cube);
		size_t size;
		uint8_t *data = load_file(&size);
		for (uint32_t i = 0; i < 40; i++) {
			store_file(data, i < 20 ? below((uint32_t)size) : i * 7 < size ? i * 7 : 0);
			assert_int_equal(rql_cube_read(RQL_PLACE(path), "id", 2, &budget, &again, NULL), RQL_ERROR_CORRUPT);
		}
		for (uint32_t i = 0; i < 400; i++) {
			uint32_t at = below(i % 2 ? (uint32_t)size : size < 600 ? (uint32_t)size : 600);
			bool sealed = i % 4 < 2;
			uint8_t *copy = malloc(size);
			memcpy(copy, data, size);
			copy[at] ^= (uint8_t)(1u << below(8));
			if (sealed)
				rql_cube_file_seal(copy, size);
			store_file(copy, size);
			free(copy);
			rql_status status = rql_cube_read(RQL_PLACE(path), "id", 2, &budget, &again, NULL);
			if (status != RQL_OK) {
				assert_int_equal(status, RQL_ERROR_CORRUPT);
				continue;
			}
			if (!sealed) /* the padding between sections */
				compare_cube(again);
			(void)rql_cube_check(again, NULL);
			rql_cube_release(again);
		}
		free(data);
		assert_int_equal(atomic_load(&budget.used), 0);
	}
}

static void damage_is_named(void **state)
{
	static const struct {
		uint32_t at;
		const char *bytes, *text;
	} damages[] = {
		{0, "SomeText", "it is no side file of a cube"},
		{8, "\t", "has version 9, this RayQL reads version 1"},
		{12, "\1\2\3\4", "written on a machine of another byte order"},
		{0, NULL, "it is shorter"},
	};
	struct rql_budget budget = {0};
	struct rql_type types[MAX_DIMS];
	(void)state;
	simple_table(3, 5000, scattered);
	struct rql_relation_spec spec = table_spec(types, &budget);
	struct rql_cube *cube = build_table(&spec, 2, 1000), *again;
	assert_int_equal(rql_cube_write(cube, RQL_PLACE(path), "id", 2, NULL), RQL_OK);
	rql_cube_release(cube);
	size_t size;
	uint8_t *data = load_file(&size);
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		struct rql_error err = {0};
		uint8_t *copy = malloc(size);
		memcpy(copy, data, size);
		if (damages[i].bytes)
			memcpy(copy + damages[i].at, damages[i].bytes, strlen(damages[i].bytes));
		store_file(copy, damages[i].bytes ? size : 1000);
		free(copy);
		assert_int_equal(rql_cube_read(RQL_PLACE(path), "id", 2, &budget, &again, &err), RQL_ERROR_CORRUPT);
		assert_non_null(strstr(rql_error_message(&err), damages[i].text));
		rql_error_clear(&err);
	}
	free(data);
}

static void failing_writes(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_error err = {0};
	struct rql_type types[MAX_DIMS];
	simple_table(3, 5000, scattered);
	struct rql_relation_spec spec = table_spec(types, &budget);
	struct rql_cube *cube = build_table(&spec, 2, 1000), *again;
	assert_int_equal(rql_cube_write(cube, RQL_PLACE("/nonexistent/folder/x"), "id", 2, &err), RQL_ERROR_IO);
	assert_non_null(strstr(rql_error_message(&err), "/nonexistent/folder/x"));
	assert_int_equal(rql_cube_read(RQL_PLACE("/nonexistent/folder/x"), "id", 2, &budget, &again, &err), RQL_ERROR_IO);
	assert_int_equal(rql_cube_write(cube, RQL_PLACE(path), "old", 3, &err), RQL_OK);
	/* A write that fails half-way, as on a full disk: the file that was there stays. */
	struct rlimit before, small = {.rlim_cur = 10000};
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	rql_status status = rql_cube_write(cube, RQL_PLACE(path), "new", 3, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(status, RQL_ERROR_IO);
	assert_int_equal(rql_cube_read(RQL_PLACE(path), "old", 3, &budget, &again, &err), RQL_OK);
	rql_cube_release(again);
	char temporary[80];
	snprintf(temporary, sizeof temporary, "%s.tmp", path);
	assert_int_not_equal(access(temporary, F_OK), 0);
	/* A read that does not fit the budget. */
	atomic_store(&budget.limit, atomic_load(&budget.used) + 1000);
	assert_int_equal(rql_cube_read(RQL_PLACE(path), "old", 3, &budget, &again, &err), RQL_ERROR_LIMIT);
	rql_cube_release(cube);
	rql_error_clear(&err);
	assert_int_equal(atomic_load(&budget.used), 0);
}

static int setup(void **state)
{
	(void)state;
	if (getenv("RAYQL_TEST_SEED"))
		random_state = strtoull(getenv("RAYQL_TEST_SEED"), NULL, 10) * 2 + 1;
	make_enums();
	device.pool = NULL;
	if (!mkdtemp(folder) || rql_pool_new(2, &pool, NULL) != RQL_OK)
		return -1;
	device.pool = pool;
	snprintf(path, sizeof path, "%s/v.cube", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rql_pool_free(pool);
	free_enums();
	(void)unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hierarchies_are_folded),
		cmocka_unit_test(long_keys),
		cmocka_unit_test(skewed_keys),
		cmocka_unit_test(no_rows),
		cmocka_unit_test(wide_sums),
		cmocka_unit_test(refusals),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(random_cubes),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(damage_is_named),
		cmocka_unit_test(failing_writes),
		cmocka_unit_test(budget_failures),
		cmocka_unit_test(ties_in_long_keys),
		cmocka_unit_test(workers_contradict),
		cmocka_unit_test(reals_as_dimensions),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
