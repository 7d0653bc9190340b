/* Batches across the host boundary, and the literals, order and names of src/column, against DuckDB itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/host.h"
#include "rayql/arrow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host_fixture.h"

static struct rql_host_result *query(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	struct rql_host_result *res = NULL;
	if (rql_host_query(con, sql, &res, &err) != RQL_OK)
		fail_msg("%.300s: %s", sql, rql_error_message(&err));
	return res;
}

/* The only batch of a query. */
static struct rql_batch *batch_of(struct rql_host_con *con, const char *sql)
{
	struct rql_host_result *res = query(con, sql);
	struct rql_batch *batch;
	assert_int_equal(rql_host_fetch(res, &batch, NULL), RQL_OK);
	assert_non_null(batch);
	rql_host_result_free(res);
	return batch;
}

static char *text_of(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	char *text = NULL;
	if (rql_host_query_text(con, sql, &text, &err) != RQL_OK)
		fail_msg("%.300s: %s", sql, rql_error_message(&err));
	return text;
}

static void assert_text_batches_equal(const struct rql_batch *a, const struct rql_batch *b)
{
	assert_int_equal(a->rows, b->rows);
	assert_int_equal(a->column_count, b->column_count);
	for (uint32_t c = 0; c < a->column_count; c++) {
		for (uint64_t r = 0; r < a->rows; r++) {
			struct rql_value x = rql_column_get(&a->columns[c], r), y = rql_column_get(&b->columns[c], r);
			assert_int_equal(x.type.id, RQL_TYPE_VARCHAR);
			assert_int_equal(x.is_null, y.is_null);
			if (!x.is_null && rql_value_compare(&x, &y) != 0)
				fail_msg("column %u, row %u: %.*s, expected %.*s", c, (unsigned)r, (int)x.string.length, x.string.data,
				         (int)y.string.length, y.string.data);
		}
	}
}

#define ALL_TYPES "test_all_types(use_large_enum := true)"

/* More edges than test_all_types has; every column's first row is a NULL. */
static const char *const edges[] = {
	"FROM (VALUES (NULL), ('290309-12-22 (BC) 00:00:00'::TIMESTAMP), ('0044-03-15 (BC) 12:34:56.000001'), ('1969-12-31 "
	"23:59:59.999999'), ('1970-01-01'), ('2024-02-29 01:02:03.4'), ('infinity'), ('-infinity'), ('294247-01-10 "
	"04:00:54.775806')) t(v)",
	"FROM (VALUES (NULL), ('0044-03-15 (BC)'::DATE), ('0001-01-01'), ('1900-02-28'), ('1900-03-01'), ('2000-02-29'), "
	"('9999-12-31'), ('10000-01-01'), ('infinity'), ('-infinity')) t(v)",
	"FROM (VALUES (NULL), ('2024-02-29 01:02:03+05:30'::TIMESTAMPTZ), ('0044-03-15 (BC) 12:34:56+00'), ('infinity'), "
	"('-infinity')) t(v)",
	"FROM (VALUES (NULL), ('2024-02-29 01:02:03.123456789'::TIMESTAMP_NS), ('1969-12-31 23:59:59.999999999'), "
	"('infinity'), ('-infinity')) t(v)",
	"FROM (VALUES (NULL), ('2024-02-29 01:02:03.123'::TIMESTAMP_MS), ('1969-12-31 23:59:59.999')) t(v)",
	"FROM (VALUES (NULL), ('2024-02-29 01:02:03'::TIMESTAMP_S), ('1969-12-31 23:59:59'), ('infinity')) t(v)",
	"FROM (VALUES (NULL), ('00:00:00'::TIME), ('24:00:00'), ('23:59:59.999999'), ('00:00:00.000001')) t(v)",
	"FROM (VALUES (NULL), ('nan'::DOUBLE), ('inf'), ('-inf'), (-0.0), (0.0), (4.9e-324), (1.7976931348623157e308), "
    "(0.1), "
	"(1/3), (123456789.123456789)) t(v)",
	"FROM (VALUES (NULL), ('nan'::FLOAT), ('inf'), ('-inf'), (-0.0), (0.1::FLOAT), (1e-45::FLOAT), (3.4028235e38), "
	"(16777217)) t(v)",
	"FROM (VALUES (NULL), (''), ('it''s'), ('äöü€𝄞'), (chr(0)), ('a' || chr(0) || 'b' || chr(0)), ('-- no comment'), "
	"('a very long string, longer than inline'), (E'\\n\\t\\\\')) t(v)",
	"FROM (VALUES (NULL), (''::BLOB), ('\\x00\\xFF'''), ('abc'), ('a blob that is not inlined \\x27\\x22')) t(v)",
	"FROM (VALUES (NULL), (0::HUGEINT), (-170141183460469231731687303715884105728), "
	"(170141183460469231731687303715884105727), (18446744073709551616)) t(v)",
	"FROM (VALUES (NULL), (0::UHUGEINT), (340282366920938463463374607431768211455)) t(v)",
	"FROM (VALUES (NULL), ((-2147483648)::INTEGER), (2147483647), (-1), (0)) t(v)",
	"FROM (VALUES (NULL), ((-9223372036854775808)::BIGINT), (9223372036854775807)) t(v)",
	"FROM (VALUES (NULL), (0.01::DECIMAL(4,2)), (-0.01), (99.99), (-99.99), (-1)) t(v)",
	"FROM (VALUES (NULL), (0.000000001::DECIMAL(18,9)), (-999999999.999999999), (5)) t(v)",
	"FROM (VALUES (NULL), ('-99999999999999999999999999999999999999'::DECIMAL(38,0)), (7)) t(v)",
	"FROM (VALUES (NULL), ('0.00000000000000000000000000000000000001'::DECIMAL(38,38)), (-0.5)) t(v)",
	"FROM (VALUES (NULL), ('00000000-0000-0000-0000-000000000000'::UUID), ('ffffffff-ffff-ffff-ffff-ffffffffffff'), "
	"('7fffffff-0123-4567-89ab-cdef01234567'), ('80000000-0000-0000-0000-000000000001')) t(v)",
	"FROM (VALUES (NULL), ('it''s'::ENUM('z', 'it''s', 'a \"b\"')), ('z'), ('a \"b\"')) t(v)",
	"FROM (VALUES (NULL), (INTERVAL '1 month -30 days'), (INTERVAL '30 days'), (INTERVAL '1 month'), (INTERVAL '29 "
    "days 24 "
	"hours'), (INTERVAL '-1 microsecond'), (INTERVAL '1 day -24 hours'), (INTERVAL '0 days'), (INTERVAL '-1 month 31 "
    "days'), "
	"(INTERVAL '-31 days'), (INTERVAL '-30 days -1 microseconds'), (to_microseconds(-9223372036854775807 - 1)), "
	"(to_months(-2147483648)), (INTERVAL '719 hours 59 minutes'), (INTERVAL '-25 hours')) t(v)",
	"FROM (VALUES (NULL), (true), (false)) t(v)",
};
#define EDGES (sizeof edges / sizeof edges[0])

/* ---- names of types ---- */

static void test_type_names(void **state)
{
	struct fixture *f = *state;
	static const char *const sqls[] = {
		"SELECT * FROM " ALL_TYPES,
		"SELECT '{}'::JSON, {'Ab': 1, 'a b': 2, 'select': 3, 'x': [4], 'name': 5, 'a\"b': 6, '1a': 1, 'a1': 2, "
	    "'Value': 7, 'é': 8}, "
		"union_value(\"end\" := 1), MAP {'k': {'X': 1::DECIMAL(5,1)}}, [1]::INT[1], ['it''s'::ENUM('it''s')], "
	    "1::BIGNUM, "
		"['{}'::JSON]",
	};
	for (size_t s = 0; s < 2; s++) {
		struct rql_host_result *res = query(f->con, sqls[s]);
		struct rql_strbuf sql = {0};
		uint32_t count = rql_host_result_columns(res);
		assert_true(count > 5);
		rql_strbuf_put(&sql, "SELECT typeof(COLUMNS(*)) FROM (");
		rql_strbuf_put(&sql, sqls[s]);
		rql_strbuf_put(&sql, ") LIMIT 1");
		struct rql_batch *names = batch_of(f->con, rql_strbuf_text(&sql));
		for (uint32_t c = 0; c < count; c++) {
			struct rql_strbuf text = {0};
			rql_type_print(&text, rql_host_result_type(res, c));
			struct rql_value name = rql_column_get(&names->columns[c], 0);
			if (text.length != name.string.length || memcmp(text.data, name.string.data, text.length) != 0)
				fail_msg("%.200s, expected %.*s", rql_strbuf_text(&text), (int)name.string.length, name.string.data);
			rql_strbuf_free(&text);
		}
		rql_batch_release(names);
		rql_strbuf_free(&sql);
		rql_host_result_free(res);
	}
}

/* ---- through the boundary and back ---- */

/* The text of a lent batch's columns as DuckDB reads them. */
static struct rql_batch *lent_text(struct rql_host_con *con, struct rql_host_db *db, const struct rql_batch *batch)
{
	uint64_t number = rql_host_lend(db, batch);
	assert_int_not_equal(number, 0);
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT COLUMNS(*)::VARCHAR FROM rayql_batch(%llu)", (unsigned long long)number);
	struct rql_batch *text = batch_of(con, rql_strbuf_text(&sql));
	rql_host_unlend(db, number);
	rql_strbuf_free(&sql);
	return text;
}

/* A copy of batch without anything of DuckDB's behind it, columns of OTHER types left out. */
static struct rql_batch *copy_batch(const struct rql_batch *batch)
{
	struct rql_type *types = calloc(batch->column_count + 1, sizeof *types);
	uint32_t *from = calloc(batch->column_count + 1, sizeof *from), count = 0;
	assert_non_null(types);
	assert_non_null(from);
	for (uint32_t c = 0; c < batch->column_count; c++) {
		if (batch->columns[c].type.id == RQL_TYPE_OTHER)
			continue;
		from[count] = c;
		types[count++] = batch->columns[c].type;
	}
	struct rql_batch *copy = rql_batch_new(count, types, batch->rows);
	assert_non_null(copy);
	for (uint32_t c = 0; c < count; c++) {
		for (uint64_t r = 0; r < batch->rows; r++) {
			struct rql_value value = rql_column_get(&batch->columns[from[c]], r);
			if (value.is_null)
				assert_true(rql_batch_set_null(copy, c, r));
			else if (value.type.id == RQL_TYPE_VARCHAR || value.type.id == RQL_TYPE_BLOB)
				assert_true(rql_batch_set_string(copy, c, r, value.string.data, (uint32_t)value.string.length));
			else
				rql_column_put(&copy->columns[c], r, &value);
		}
	}
	free(types);
	free(from);
	return copy;
}

/* Arrow's unions and nulls have no validity of their own. */
static bool no_validity(struct rql_type type)
{
	return type.id == RQL_TYPE_OTHER || type.id == RQL_TYPE_SQLNULL;
}

static void expect_arrow(struct rql_host_con *con, const struct rql_batch *batch)
{
	struct rql_error err = {0};
	struct ArrowSchema schema;
	struct ArrowArray array;
	struct rql_type *types = calloc(batch->column_count, sizeof *types);
	const char **names = calloc(batch->column_count, sizeof *names);
	for (uint32_t c = 0; c < batch->column_count; c++) {
		types[c] = batch->columns[c].type;
		names[c] = "a name";
	}
	if (rql_host_arrow_schema(con, batch->column_count, types, names, &schema, &err) != RQL_OK ||
	    rql_host_arrow_batches(con, (struct rql_batch *const[]){(struct rql_batch *)(uintptr_t)batch}, 1, &array,
	                           &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	assert_string_equal(schema.format, "+s");
	assert_int_equal(schema.n_children, batch->column_count);
	assert_string_equal(schema.children[0]->name, "a name");
	assert_int_equal(array.n_children, batch->column_count);
	assert_int_equal(array.length, batch->rows);
	for (uint32_t c = 0; c < batch->column_count; c++) {
		const struct ArrowArray *child = array.children[c];
		assert_int_equal(child->length, batch->rows);
		const uint8_t *valid = no_validity(types[c]) ? NULL : child->buffers[0];
		for (uint64_t r = 0; r < batch->rows && valid; r++)
			assert_int_equal(valid[r / 8] >> (r % 8) & 1, rql_column_valid(&batch->columns[c], r));
		if (types[c].id == RQL_TYPE_INTEGER)
			for (uint64_t r = 0; r < batch->rows; r++)
				if (rql_column_valid(&batch->columns[c], r))
					assert_int_equal(((const int32_t *)child->buffers[1])[r], ((int32_t *)batch->columns[c].data)[r]);
	}
	array.release(&array);
	schema.release(&schema);
	free(types);
	free(names);
}

/* The types that test_all_types cannot make into text or Arrow together are few, so none is left out silently. */
static void round_trip(struct fixture *f, const char *from_clause)
{
	struct rql_strbuf sql = {0};
	struct rql_error err = {0};
	rql_strbuf_printf(&sql, "SELECT * %s", from_clause);
	struct rql_batch *batch = batch_of(f->con, rql_strbuf_text(&sql));
	rql_strbuf_clear(&sql);
	rql_strbuf_printf(&sql, "SELECT COLUMNS(*)::VARCHAR %s", from_clause);
	struct rql_batch *expected = batch_of(f->con, rql_strbuf_text(&sql)), *text, *copy, *copy_text, *part;
	if (rql_host_to_text(f->con, batch, &text, &err) != RQL_OK)
		fail_msg("%s: %s", from_clause, rql_error_message(&err));
	assert_text_batches_equal(text, expected);
	rql_batch_release(text);
	text = lent_text(f->con, f->db, batch);
	assert_text_batches_equal(text, expected);
	rql_batch_release(text);
	expect_arrow(f->con, batch);
	/* The same from memory of our own. */
	copy = copy_batch(batch);
	copy_text = lent_text(f->con, f->db, copy);
	part = copy_batch(expected);
	uint32_t kept = 0;
	for (uint32_t c = 0; c < batch->column_count; c++) {
		if (batch->columns[c].type.id != RQL_TYPE_OTHER)
			part->columns[kept++] = part->columns[c];
	}
	part->column_count = kept;
	assert_text_batches_equal(copy_text, part);
	expect_arrow(f->con, copy);
	rql_batch_release(part);
	rql_batch_release(copy_text);
	rql_batch_release(copy);
	rql_batch_release(expected);
	rql_batch_release(batch);
	rql_strbuf_free(&sql);
}

static void test_every_type(void **state)
{
	round_trip(*state, "FROM " ALL_TYPES);
	for (size_t i = 0; i < EDGES; i++)
		round_trip(*state, edges[i]);
}

static void test_time_zone(void **state)
{
	struct fixture *f = *state;
	struct rql_batch *batch, *text;
	static const char *const zones[] = {"Asia/Tokyo", "America/New_York"};
	for (int i = 0; i < 2; i++) {
		struct rql_strbuf sql = {0};
		rql_strbuf_printf(&sql, "SET TimeZone = '%s'", zones[i]);
		rql_host_result_free(query(f->con, rql_strbuf_text(&sql)));
		batch = batch_of(f->con, "SELECT TIMESTAMPTZ '2024-06-01 12:00:00+00' AS v");
		char *expected = text_of(f->con, "SELECT (TIMESTAMPTZ '2024-06-01 12:00:00+00')::VARCHAR");
		assert_int_equal(rql_host_to_text(f->con, batch, &text, NULL), RQL_OK);
		struct rql_value value = rql_column_get(&text->columns[0], 0);
		assert_int_equal(value.string.length, strlen(expected));
		assert_memory_equal(value.string.data, expected, value.string.length);
		free(expected);
		rql_batch_release(text);
		rql_batch_release(batch);
		rql_strbuf_free(&sql);
	}
}

static void test_stream_survives_to_text(void **state)
{
	struct fixture *f = *state;
	struct rql_host_stmt *stmt;
	struct rql_host_result *res;
	struct rql_batch *batch, *text;
	assert_int_equal(rql_host_prepare(f->con, "SELECT range AS a FROM range(100000)", &stmt, NULL), RQL_OK);
	assert_int_equal(rql_host_execute(stmt, true, &res, NULL), RQL_OK);
	uint64_t rows = 0;
	while (rql_host_fetch(res, &batch, NULL) == RQL_OK && batch) {
		assert_int_equal(rql_host_to_text(f->con, batch, &text, NULL), RQL_OK);
		rows += text->rows;
		rql_batch_release(text);
		rql_batch_release(batch);
	}
	assert_int_equal(rows, 100000);
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
}

static void test_large_batch(void **state)
{
	struct fixture *f = *state;
	const struct rql_type types[] = {rql_type_simple(RQL_TYPE_INTEGER), rql_type_simple(RQL_TYPE_VARCHAR),
	                                 rql_type_simple(RQL_TYPE_SQLNULL)};
	const uint64_t rows = 10001;
	struct rql_batch *batch = rql_batch_new(3, types, rows), *text;
	assert_non_null(batch);
	for (uint64_t r = 0; r < rows; r++) {
		char name[40];
		int length = snprintf(name, sizeof name, r % 2 ? "s%u" : "a string too long to inline %u", (unsigned)r);
		((int32_t *)batch->columns[0].data)[r] = (int32_t)r;
		assert_true(rql_batch_set_string(batch, 1, r, name, (uint32_t)length));
		if (r % 3 == 0)
			assert_true(rql_batch_set_null(batch, 0, r));
	}
	uint64_t number = rql_host_lend(f->db, batch);
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(
		&sql,
		"SELECT (count(*), count(c0), sum(c0), count(DISTINCT c1), count(c2), max(c1))::VARCHAR FROM rayql_batch(%llu)",
		(unsigned long long)number);
	char *sums = text_of(f->con, rql_strbuf_text(&sql));
	assert_string_equal(sums, "(10001, 6667, 33336667, 10001, 0, s9999)");
	free(sums);
	rql_strbuf_clear(&sql);
	rql_strbuf_printf(&sql, "SELECT count(*) FROM rayql_batch(%llu)", (unsigned long long)number);
	int64_t count;
	assert_int_equal(rql_host_query_int(f->con, rql_strbuf_text(&sql), &count, NULL), RQL_OK);
	assert_int_equal(count, rows);
	/* The planner knows exactly how many rows there are. */
	rql_strbuf_clear(&sql);
	rql_strbuf_printf(&sql, "EXPLAIN SELECT c0 FROM rayql_batch(%llu)", (unsigned long long)number);
	struct rql_batch *plan = batch_of(f->con, rql_strbuf_text(&sql));
	struct rql_value value = rql_column_get(&plan->columns[1], 0);
	assert_non_null(memmem(value.string.data, value.string.length, "10,001 rows", 11));
	rql_batch_release(plan);
	assert_int_equal(rql_host_to_text(f->con, batch, &text, NULL), RQL_OK);
	assert_int_equal(text->rows, rows);
	assert_false(rql_column_valid(&text->columns[0], 9999));
	value = rql_column_get(&text->columns[0], 10000);
	assert_int_equal(value.string.length, 5);
	assert_memory_equal(value.string.data, "10000", 5);
	rql_batch_release(text);
	expect_arrow(f->con, batch);
	rql_host_unlend(f->db, number);
	struct rql_error err = {0};
	assert_int_equal(rql_host_query(f->con, rql_strbuf_text(&sql), NULL, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "none of this number"));
	rql_error_clear(&err);
	rql_strbuf_free(&sql);
	rql_batch_release(batch);
}

/* ---- literals, order, parameters ---- */

/* `literal` and the value at (batch, column, row) are one value of one type for DuckDB. */
static void expect_same(struct fixture *f, const char *from_clause, const struct rql_column *column, uint64_t row)
{
	struct rql_strbuf literal = {0}, sql = {0};
	struct rql_value value = rql_column_get(column, row);
	assert_true(rql_value_print(&literal, &value));
	rql_strbuf_printf(&sql, "SELECT %s, typeof(%s)", rql_strbuf_text(&literal), rql_strbuf_text(&literal));
	struct rql_batch *back = batch_of(f->con, rql_strbuf_text(&sql));
	struct rql_value same = rql_column_get(&back->columns[0], 0);
	if (same.is_null != value.is_null || !rql_type_equal(same.type, value.type))
		fail_msg("%s row %u: %.200s", from_clause, (unsigned)row, rql_strbuf_text(&literal));
	unsigned bytes = rql_type_bytes(value.type);
	bool equal = value.is_null || rql_value_compare(&same, &value) == 0;
	bool fixed = value.type.id != RQL_TYPE_VARCHAR && value.type.id != RQL_TYPE_BLOB;
	bool nan = (value.type.id == RQL_TYPE_DOUBLE || value.type.id == RQL_TYPE_FLOAT) && value.real != value.real;
	if (equal && fixed && !value.is_null && !nan) /* bit for bit: -0.0 stays, an interval is not normalised */
		equal = memcmp(back->columns[0].data, (char *)column->data + row * bytes, bytes) == 0;
	if (!equal)
		fail_msg("%s row %u: %.200s", from_clause, (unsigned)row, rql_strbuf_text(&literal));
	rql_batch_release(back);
	/* And as a parameter. */
	struct rql_host_stmt *stmt;
	struct rql_host_result *res;
	assert_int_equal(rql_host_prepare(f->con, "SELECT ? AS v", &stmt, NULL), RQL_OK);
	assert_int_equal(rql_host_bind(stmt, 1, &value, NULL), RQL_OK);
	assert_int_equal(rql_host_execute(stmt, false, &res, NULL), RQL_OK);
	assert_int_equal(rql_host_fetch(res, &back, NULL), RQL_OK);
	if (!value.is_null) {
		same = rql_column_get(&back->columns[0], 0);
		if (!rql_type_equal(same.type, value.type) || rql_value_compare(&same, &value) != 0)
			fail_msg("%s row %u as a parameter: %s, not %.200s", from_clause, (unsigned)row,
			         rql_type_id_name(same.type.id), rql_strbuf_text(&literal));
	}
	rql_batch_release(back);
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	rql_strbuf_free(&literal);
	rql_strbuf_free(&sql);
}

static void test_literals(void **state)
{
	struct fixture *f = *state;
	struct rql_batch *batch = batch_of(f->con, "SELECT * FROM test_all_types()");
	for (uint32_t c = 0; c < batch->column_count; c++) {
		if (batch->columns[c].type.id == RQL_TYPE_OTHER)
			continue;
		for (uint64_t r = 0; r < batch->rows; r++)
			expect_same(f, "test_all_types()", &batch->columns[c], r);
	}
	rql_batch_release(batch);
	for (size_t i = 0; i < EDGES; i++) {
		struct rql_strbuf sql = {0};
		rql_strbuf_printf(&sql, "SELECT * %s", edges[i]);
		batch = batch_of(f->con, rql_strbuf_text(&sql));
		assert_int_not_equal(batch->columns[0].type.id, RQL_TYPE_OTHER);
		for (uint64_t r = 0; r < batch->rows; r++)
			expect_same(f, edges[i], &batch->columns[0], r);
		rql_batch_release(batch);
		rql_strbuf_free(&sql);
	}
}

/* Every pair of values compares as DuckDB's < and = do. */
static void test_order(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < EDGES; i++) {
		struct rql_strbuf sql = {0};
		rql_strbuf_printf(&sql,
		                  "WITH s AS (SELECT v %s) SELECT a.v, b.v, (a.v > b.v)::INT - (a.v < b.v)::INT FROM s a, s b "
		                  "WHERE a.v IS NOT NULL AND b.v IS NOT NULL",
		                  edges[i]);
		struct rql_batch *batch = batch_of(f->con, rql_strbuf_text(&sql));
		for (uint64_t r = 0; r < batch->rows; r++) {
			struct rql_value a = rql_column_get(&batch->columns[0], r), b = rql_column_get(&batch->columns[1], r);
			int expected = ((int32_t *)batch->columns[2].data)[r];
			if (rql_value_compare(&a, &b) != expected ||
			    rql_column_compare(&batch->columns[0], r, &batch->columns[1], r) != expected) {
				struct rql_strbuf x = {0};
				rql_value_print(&x, &a);
				rql_strbuf_put(&x, " and ");
				rql_value_print(&x, &b);
				fail_msg("%s compare as %d, not %d", rql_strbuf_text(&x), rql_value_compare(&a, &b), expected);
			}
		}
		rql_batch_release(batch);
		rql_strbuf_free(&sql);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_type_names),  T(test_every_type), T(test_time_zone), T(test_stream_survives_to_text),
		T(test_large_batch), T(test_literals),   T(test_order),
	};
	return cmocka_run_group_tests_name("host_batch", tests, NULL, NULL);
}
