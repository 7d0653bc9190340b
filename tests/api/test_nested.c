/* Nested values: read part by part, bound again, and bound by their text. */
#include "check.h"

#include <rayql/arrow.h>

struct rows {
	rayql_result *res;
	rayql_batch *batch;
	const rayql_vector *vector; /* of column 0 */
};

static struct rows fetch(rayql_connection *con, const char *sql)
{
	struct rows r = {0};
	rayql_error *err = NULL;
	if (rayql_query(con, sql, &r.res, &err) || rayql_fetch(r.res, &r.batch, &err) ||
	    rayql_batch_vector(r.res, r.batch, 0, &r.vector, &err))
		fail_msg("%s\n%s", sql, rayql_error_message(err));
	return r;
}

static void give_back(struct rows *r)
{
	rayql_batch_free(r->batch);
	rayql_result_free(r->res);
}

static void put_string(FILE *f, const rayql_string *s)
{
	fwrite(rayql_string_data(s), 1, s->length, f);
}

static void put_number(FILE *f, const rayql_vector *v, uint64_t row)
{
	const void *data = rayql_vector_data(v);
	switch (rayql_vector_type(v)) {
	case RAYQL_TYPE_INTEGER:
		fprintf(f, "%d", ((const int32_t *)data)[row]);
		break;
	case RAYQL_TYPE_DECIMAL: /* of up to 4 digits here */
		assert_int_equal(rayql_vector_width(v), 4);
		assert_int_equal(rayql_vector_scale(v), 1);
		fprintf(f, "%.1f", ((const int16_t *)data)[row] / 10.0);
		break;
	case RAYQL_TYPE_ENUM:
		fputs(rayql_vector_member(v, ((const uint8_t *)data)[row]), f);
		break;
	default:
		fail_msg("%s is not read here", rayql_vector_type_name(v));
	}
}

static void put(FILE *f, const rayql_vector *v, uint64_t row);

static void put_elements(FILE *f, const rayql_vector *v, uint64_t from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		for (uint32_t c = 0; c < rayql_vector_child_count(v); c++) {
			fputs(c ? "=" : i ? ", " : "", f);
			put(f, rayql_vector_child(v, c), from + i);
		}
	}
}

/* As DuckDB casts it to VARCHAR. */
static void put(FILE *f, const rayql_vector *v, uint64_t row)
{
	if (rayql_vector_is_null(v, row)) {
		fputs("NULL", f);
		return;
	}
	const rayql_entry *entries = rayql_vector_entries(v);
	switch (rayql_vector_type(v)) {
	case RAYQL_TYPE_LIST:
	case RAYQL_TYPE_MAP: {
		bool map = rayql_vector_type(v) == RAYQL_TYPE_MAP;
		fputc(map ? '{' : '[', f);
		put_elements(f, v, entries[row].offset, entries[row].length);
		fputc(map ? '}' : ']', f);
		break;
	}
	case RAYQL_TYPE_ARRAY:
		fputc('[', f);
		put_elements(f, v, row * rayql_vector_array_size(v), rayql_vector_array_size(v));
		fputc(']', f);
		break;
	case RAYQL_TYPE_STRUCT:
		for (uint32_t m = 0; m < rayql_vector_child_count(v); m++) {
			fprintf(f, "%s'%s': ", m ? ", " : "{", rayql_vector_child_name(v, m));
			put(f, rayql_vector_child(v, m), row);
		}
		fputc('}', f);
		break;
	case RAYQL_TYPE_UNION:
		put(f, rayql_vector_child(v, rayql_vector_tags(v)[row]), row);
		break;
	case RAYQL_TYPE_VARCHAR:
		put_string(f, rayql_vector_strings(v) + row);
		break;
	default:
		put_number(f, v, row);
	}
}

/* Expressions over i, whose values are read here. */
static const char *const shapes[] = {
	"CASE WHEN i % 5 > 0 THEN list_transform(range(i % 4), lambda x: CASE WHEN x <> 1 THEN (x + i)::INTEGER END) END",
	"{'a': i, 'b': CASE WHEN i % 3 > 0 THEN 'a text that is not short ' || i END, 'c': [i, NULL]}",
	"CASE WHEN i % 4 > 0 THEN MAP {'k' || i: i, 'other': NULL} ELSE MAP {} END",
	"{'f': [i, i + 1, NULL]::INTEGER[3], 'n': NULL::INTEGER[2]}", "[i, NULL]::INTEGER[2]",
	"[[[i]], [], NULL]",
	"CASE WHEN i % 2 = 0 THEN i::UNION(n INTEGER, t VARCHAR) ELSE ('text' || i)::UNION(n INTEGER, t VARCHAR) END",
	"[(i % 100 / 10)::DECIMAL(4, 1)]",
	"{'e': CASE WHEN i % 3 = 0 THEN 'sad' ELSE 'ok' END::ENUM('sad', 'ok')}",
	"[{'a': [1, i]}, {'a': NULL}]",
	"MAP {[i]: {'x': i}}",
};

static void read_part_by_part(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
		char sql[600], *text = NULL, *have = NULL;
		size_t size = 0;
		/* DuckDB hides quotes and keys' braces in its texts; none of these need any. */
		snprintf(sql, sizeof sql, "SELECT (%s) AS x FROM (SELECT i::INTEGER AS i FROM range(3000) r(i)) ORDER BY i",
		         shapes[shape]);
		text = rows_of(s.con, sql, NULL);
		FILE *f = open_memstream(&have, &size);
		struct rows r = {0};
		assert_int_equal(rayql_query(s.con, sql, &r.res, NULL), RAYQL_OK);
		while (rayql_fetch(r.res, &r.batch, NULL) == RAYQL_OK && r.batch) {
			assert_int_equal(rayql_batch_vector(r.res, r.batch, 0, &r.vector, NULL), RAYQL_OK);
			assert_string_equal(rayql_vector_type_name(r.vector), rayql_column_type_name(r.res, 0));
			assert_int_equal(rayql_vector_rows(r.vector), rayql_batch_rows(r.batch));
			for (uint64_t row = 0; row < rayql_batch_rows(r.batch); row++) {
				put(f, r.vector, row);
				fputc('\n', f);
			}
			rayql_batch_free(r.batch);
		}
		fclose(f);
		rayql_result_free(r.res);
		if (strcmp(have, text) != 0)
			fail_msg("%s\nhave: %.300s\nwant: %.300s", shapes[shape], have, text);
		free(text);
		free(have);
	}
	close_session(&s);
}

static void other_columns(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	struct rows r = fetch(s.con, "SELECT '[1]'::JSON AS j, '01'::BIT AS b, 7 AS i, NULL AS n FROM range(1)");
	const rayql_vector *v = NULL;
	assert_int_equal(rayql_vector_type(r.vector), RAYQL_TYPE_VARCHAR);
	assert_string_equal(rayql_vector_type_name(r.vector), "JSON");
	assert_int_equal(rayql_batch_vector(r.res, r.batch, 1, &v, NULL), RAYQL_OK);
	assert_int_equal(rayql_vector_type(v), RAYQL_TYPE_OTHER);
	assert_null(rayql_vector_data(v));
	assert_int_equal(rayql_batch_vector(r.res, r.batch, 2, &v, NULL), RAYQL_OK);
	assert_int_equal(((const int32_t *)rayql_vector_data(v))[0], 7);
	assert_int_equal(rayql_vector_child_count(v), 0);
	assert_null(rayql_vector_child(v, 0));
	assert_null(rayql_vector_entries(v));
	assert_int_equal(rayql_batch_vector(r.res, r.batch, 3, &v, NULL), RAYQL_OK);
	assert_true(rayql_vector_is_null(v, 0));
	assert_int_equal(rayql_batch_vector(r.res, r.batch, 4, &v, NULL), RAYQL_ERROR_MISUSE);
	/* It lives as long as the batch. */
	rayql_result_free(r.res);
	close_session(&s);
	assert_string_equal(rayql_vector_type_name(r.vector), "JSON");
	rayql_batch_free(r.batch);
}

/* The values of an expression are bound, and are what they were, type and all. */
static void comes_back(rayql_connection *con, const char *expression)
{
	char sql[1200];
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	snprintf(sql, sizeof sql, "SELECT (%s) AS x FROM (SELECT i::INTEGER AS i FROM range(6) r(i)) ORDER BY i", expression);
	struct rows r = fetch(con, sql);
	snprintf(sql, sizeof sql,
	         "SELECT count(*) FROM (SELECT i::INTEGER AS i FROM range(6) r(i)) WHERE i = $1 AND (%s) IS NOT DISTINCT "
	         "FROM $2 AND (typeof($2) = typeof(%s) OR $2 IS NULL)",
	         expression, expression);
	assert_int_equal(rayql_prepare(con, sql, &stmt, NULL), RAYQL_OK);
	for (uint64_t row = 0; row < 6; row++) {
		assert_int_equal(rayql_bind_int64(stmt, 1, (int64_t)row), RAYQL_OK);
		if (rayql_bind_vector(stmt, 2, r.vector, row, &err) || rayql_execute(stmt, &res, &err))
			fail_msg("%s\n%s", expression, rayql_error_message(err));
		char *rows = read_rows(res, &err);
		if (!rows || strcmp(rows, "1\n") != 0)
			fail_msg("%s, row %d: %s%s", expression, (int)row, rows ? rows : "", rayql_error_message(err));
		free(rows);
	}
	rayql_statement_free(stmt);
	give_back(&r);
}

static void bound_again(void **state)
{
	struct session s = open_session(NULL, NULL);
	static const char *const more[] = {
		"i * 2", "'t' || i", "'[1]'::JSON", "[('a''b' || chr(0) || i)::VARCHAR]", "[DATE '2020-01-01' + i, NULL]",
		"{'Strange \"name\"': i::HUGEINT}", "[('\\x00' || i)::BLOB]", "[uuid_of(i)]", "[]::INTEGER[]",
	};
	(void)state;
	run(s.con, "CREATE MACRO uuid_of(i) AS ('00000000-0000-0000-0000-00000000000' || i)::UUID");
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		comes_back(s.con, shapes[i]);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		comes_back(s.con, more[i]);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	struct rows r = fetch(s.con, "SELECT [1, 2]");
	run(s.con, "CREATE MACRO list_value(x) AS 'not what is meant'"); /* functions are called by their whole names */
	assert_int_equal(rayql_prepare(s.con, "SELECT $1::INTEGER[]", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_vector(stmt, 1, r.vector, 0, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	char *rows = read_rows(res, NULL);
	assert_string_equal(rows, "[1, 2]\n");
	free(rows);
	rayql_statement_free(stmt);
	give_back(&r);
	run(s.con, "DROP MACRO list_value");
	/* What cannot be written as a value. */
	r = fetch(s.con, "SELECT ['01'::BIT]");
	assert_int_equal(rayql_prepare(s.con, "SELECT ?", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_vector(stmt, 1, r.vector, 0, &err), RAYQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rayql_error_message(err), "a value of the type BIT[] cannot be bound"));
	rayql_error_free(err);
	assert_int_equal(rayql_bind_vector(stmt, 1, r.vector, 1, NULL), RAYQL_ERROR_MISUSE);
	rayql_statement_free(stmt);
	give_back(&r);
	close_session(&s);
}

static void cast_gives(rayql_connection *con, const char *type, const char *text, const char *rows)
{
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	assert_int_equal(rayql_prepare(con, "SELECT $1::VARCHAR, typeof($1)", &stmt, NULL), RAYQL_OK);
	if (rayql_bind_cast(stmt, 1, type, text, strlen(text), &err) || rayql_execute(stmt, &res, &err))
		fail_msg("%s %s: %s", type, text, rayql_error_message(err));
	char *have = read_rows(res, &err);
	assert_string_equal(have, rows);
	free(have);
	rayql_statement_free(stmt);
}

static void bound_by_text(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	rayql_error *err = NULL;
	(void)state;
	cast_gives(s.con, "INTEGER[]", "[1, 2]", "[1, 2]|INTEGER[]\n");
	cast_gives(s.con, "TIMESTAMP_NS", "2020-01-01 00:00:00.123456789", "2020-01-01 00:00:00.123456789|TIMESTAMP_NS\n");
	cast_gives(s.con, "struct(a decimal(4,1))", "{'a': 1.5}", "{'a': 1.5}|STRUCT(a DECIMAL(4,1))\n");
	cast_gives(s.con, "UHUGEINT", "340282366920938463463374607431768211455",
	           "340282366920938463463374607431768211455|UHUGEINT\n");
	run(s.con, "CREATE TYPE mood AS ENUM ('sad', 'o''k')");
	cast_gives(s.con, "mood", "o'k", "o'k|ENUM('sad', 'o''k')\n");
	run(s.con, "BEGIN");
	assert_int_equal(rayql_prepare(s.con, "SELECT ?", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_cast(stmt, 1, "no_such_type", "1", 1, &err), RAYQL_ERROR_HOST);
	assert_non_null(strstr(rayql_error_message(err), "no_such_type"));
	rayql_error_free(err);
	err = NULL;
	assert_int_equal(rayql_bind_cast(stmt, 1, "INTEGER) + (1", "1", 1, NULL), RAYQL_OK); /* its type counts */
	assert_int_equal(rayql_bind_cast(stmt, 1, "INTEGER[]", "[x]", 3, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, NULL, &err), RAYQL_ERROR_HOST);
	assert_string_equal(rayql_error_message(err),
	                    "DuckDB cannot make the value: Could not convert string 'x' to INT32");
	rayql_error_free(err);
	rayql_statement_free(stmt);
	close_session(&s);
}

/* As rows of parameters, and over a structure, which the value's SQL reaches. */
static void nested_parameters(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	uint64_t changed = 0;
	(void)state;
	run(s.con, "CREATE TABLE t (l INTEGER[], s STRUCT(a INTEGER))");
	static const char sql[] = "SELECT [i, NULL], {'a': i} FROM (SELECT i::INTEGER AS i FROM range(3) r(i))";
	assert_int_equal(rayql_query(s.con, sql, &res, NULL), RAYQL_OK);
	assert_int_equal(rayql_result_to_arrow(res, &stream, NULL), RAYQL_OK);
	rayql_result_free(res);
	rayql_connection *other = NULL;
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	assert_int_equal(rayql_prepare(other, "INSERT INTO t VALUES (?, ?)", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute_arrow(stmt, &stream, &changed, NULL), RAYQL_OK);
	assert_int_equal(changed, 3);
	expect(s.con, "FROM t ORDER BY l[1]", NULL, "[0, NULL]|{'a': 0}\n[1, NULL]|{'a': 1}\n[2, NULL]|{'a': 2}\n");
	rayql_statement_free(stmt);
	make_table(s.con, "n", 1000);
	run(s.con, "CREATE INDEX c ON n USING columns (*)");
	struct rows r = fetch(s.con, "SELECT [3, 5]::INTEGER[]");
	assert_int_equal(rayql_prepare(other, "SELECT count(*) FROM n WHERE list_contains(?, a)", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_vector(stmt, 1, r.vector, 0, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	char *rows = read_rows(res, NULL);
	assert_string_equal(rows, "286\n");
	free(rows);
	rayql_statement_free(stmt);
	give_back(&r);
	rayql_disconnect(other);
	close_session(&s);
}

static void schema_before_execution(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	struct ArrowSchema schema;
	(void)state;
	static const char sql[] = "SELECT [{'a': 1::DECIMAL(12,3)}] AS l, MAP {'k': [1]} AS m, [1, 2]::INTEGER[2] AS f";
	assert_int_equal(rayql_prepare(s.con, sql, &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_statement_schema(stmt, &schema, NULL), RAYQL_OK);
	assert_string_equal(schema.children[0]->format, "+l");
	assert_string_equal(schema.children[0]->children[0]->children[0]->name, "a");
	assert_int_equal(strncmp(schema.children[0]->children[0]->children[0]->format, "d:12,3", 6), 0);
	assert_string_equal(schema.children[1]->format, "+m");
	assert_string_equal(schema.children[2]->format, "+w:2");
	schema.release(&schema);
	rayql_statement_free(stmt);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_part_by_part), cmocka_unit_test(other_columns),
		cmocka_unit_test(bound_again),       cmocka_unit_test(bound_by_text),
		cmocka_unit_test(nested_parameters), cmocka_unit_test(schema_before_execution),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
