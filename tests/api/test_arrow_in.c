/* Arrow streams as tables, as the input of a statement and as parameters; schemas before execution; DuckDB's own
 * connections beside RayQL's. */
#include "check.h"

#include <dlfcn.h>
#include <rayql/arrow.h>

static void stream_of(rayql_connection *con, const char *sql, struct ArrowArrayStream *out)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_query(con, sql, &res, &err) != RAYQL_OK || rayql_result_to_arrow(res, out, &err) != RAYQL_OK)
		fail_msg("%s\n%s", sql, rayql_error_message(err));
	rayql_result_free(res);
}

static void gives(rayql_connection *con, const char *sql, const char *rows)
{
	char *got = rows_of(con, sql, NULL);
	assert_string_equal(got, rows);
	free(got);
}

#define EVERY_TYPE                                                                                                     \
	"SELECT i, i %% 2 = 0 AS b, (i %% 250 - 125)::TINYINT AS i8, i::UHUGEINT AS u128, i / 3 AS d, (i / 7)::DECIMAL(30, 5) AS wide, "   \
	"'text ' || i AS t, ('text that is long ' || i)::BLOB AS z, DATE '2020-01-01' + i::INTEGER AS day, "               \
	"TIMESTAMP '2020-01-01' + to_seconds(i) AS ts, to_days(i::INTEGER) AS iv, [i, NULL, i + 1] AS l, "                 \
	"{'a': i, 'b': [i::VARCHAR]} AS s, MAP {'k': i} AS m, CASE WHEN i %% 3 > 0 THEN i END AS n, "                       \
	"('e' || i %% 2)::ENUM('e0', 'e1') AS e, uuid() IS NULL AS u FROM range(%d) r(i)"

/* What went out comes back as it was, whatever its type, in arrays larger than DuckDB's vectors. */
static void all_types_come_back(void **state)
{
	struct session from = open_session(NULL, NULL), to = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	char sql[2000];
	(void)state;
	snprintf(sql, sizeof sql, EVERY_TYPE, 3000);
	char *want = rows_of(from.con, sql, NULL);
	stream_of(from.con, sql, &stream);
	assert_int_equal(rayql_register_arrow(to.con, "frame", &stream, NULL), RAYQL_OK);
	assert_null(stream.release);
	close_session(&from);
	char *got = rows_of(to.con, "SELECT * FROM frame ORDER BY i", NULL);
	assert_string_equal(got, want);
	free(got);
	gives(to.con, "SELECT typeof(e), 1, i8 FROM frame WHERE s.a IN (134, 135) ORDER BY i",
	       "VARCHAR|1|9\nVARCHAR|1|10\n");
	free(want);
	close_session(&to);
}

static void names(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	rayql_error *err = NULL;
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT 1 AS x");
	stream_of(s.con, "SELECT 2 AS x, 3 AS x, 4 AS \"a\"\"b\"", &stream);
	assert_int_equal(rayql_register_arrow(s.con, "t", &stream, NULL), RAYQL_OK);
	gives(s.con, "SELECT x, x_1, \"a\"\"b\" FROM t", "2|3|4\n"); /* it hides the table */
	stream_of(s.con, "SELECT 5 AS y WHERE false", &stream);
	assert_int_equal(rayql_register_arrow(s.con, "T", &stream, NULL), RAYQL_OK); /* in its place */
	gives(s.con, "SELECT count(y) FROM t", "0\n");
	assert_int_equal(rayql_unregister_arrow(s.con, "t", NULL), RAYQL_OK);
	gives(s.con, "SELECT * FROM t", "1\n");
	assert_int_equal(rayql_unregister_arrow(s.con, "t", &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "nothing is registered as \"t\""));
	rayql_error_free(err);
	close_session(&s);
}

/* An unfinished result keeps the rows that it reads. */
static void open_results(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream, out;
	struct ArrowArray array;
	(void)state;
	stream_of(s.con, "SELECT i, 'row number ' || i AS t FROM range(300000) r(i)", &stream);
	assert_int_equal(rayql_register_arrow(s.con, "frame", &stream, NULL), RAYQL_OK);
	stream_of(s.con, "SELECT * FROM frame", &out);
	assert_int_equal(out.get_next(&out, &array), 0);
	assert_true(array.length > 100000);
	array.release(&array);
	close_session(&s);
	uint64_t rows = 0;
	while (out.get_next(&out, &array) == 0 && array.release) {
		rows += (uint64_t)array.length;
		array.release(&array);
	}
	assert_true(rows > 100000);
	out.release(&out);
}

static void streamed_into_a_table(void **state)
{
	struct session from = open_session(NULL, NULL), s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	uint64_t changed = 0;
	char method[32];
	rayql_error *err = NULL;
	(void)state;
	stream_of(from.con, "SELECT i, i % 10 AS g FROM range(100000) r(i)", &stream);
	run(s.con, "CREATE TABLE t (i BIGINT, g BIGINT)");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	assert_int_equal(rayql_query_arrow(s.con, "INSERT INTO t SELECT * FROM rayql_stream", &stream, &changed, NULL),
	                 RAYQL_OK);
	assert_int_equal(changed, 100000);
	char *rows = rows_of(s.con, "SELECT sum(i), count(*) FROM t WHERE g = 3", method);
	assert_string_equal(rows, "499980000|10000\n"); /* the columns have seen the rows */
	assert_string_equal(method, "scan");
	free(rows);
	stream_of(from.con, "SELECT 1 AS i", &stream);
	assert_int_equal(rayql_query_arrow(s.con, "SELECT 1", &stream, NULL, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "rayql_stream"));
	rayql_error_free(err);
	stream_of(from.con, "SELECT 1 AS i", &stream);
	err = NULL;
	/* DuckDB 2 sees that both are the same, and reads it once. */
	assert_int_equal(
		rayql_query_arrow(s.con, "SELECT * FROM rayql_stream a, rayql_stream b", &stream, NULL, &err),
		host_is_2() ? RAYQL_OK : RAYQL_ERROR_HOST);
	assert_true(host_is_2() || strstr(rayql_error_message(err), "once only"));
	rayql_error_free(err);
	close_session(&from);
	close_session(&s);
}

static void rows_of_parameters(void **state)
{
	struct session from = open_session(NULL, NULL), s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	rayql_statement *stmt = NULL;
	rayql_error *err = NULL;
	uint64_t changed = 0;
	(void)state;
	run(s.con, "CREATE TABLE t (i INTEGER PRIMARY KEY, t VARCHAR)");
	assert_int_equal(rayql_prepare(s.con, "INSERT INTO t VALUES (?, ?)", &stmt, NULL), RAYQL_OK);
	stream_of(from.con, "SELECT i::INTEGER, CASE WHEN i <> 1 THEN 'a long text, number ' || i END FROM range(3) r(i)",
	          &stream);
	assert_int_equal(rayql_execute_arrow(stmt, &stream, &changed, NULL), RAYQL_OK);
	assert_int_equal(changed, 3);
	gives(s.con, "FROM t ORDER BY i", "0|a long text, number 0\n1|NULL\n2|a long text, number 2\n");
	/* All of it or nothing. */
	stream_of(from.con, "SELECT (5 - i)::INTEGER, 'x' FROM range(4) r(i)", &stream);
	assert_int_equal(rayql_execute_arrow(stmt, &stream, &changed, &err), RAYQL_ERROR_HOST);
	assert_non_null(strstr(rayql_error_message(err), "Constraint Error"));
	rayql_error_free(err);
	gives(s.con, "SELECT count(*) FROM t", "3\n");
	stream_of(from.con, "SELECT 1", &stream);
	assert_int_equal(rayql_execute_arrow(stmt, &stream, &changed, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "has 2 parameters, and the rows have 1 columns"));
	rayql_error_free(err);
	rayql_statement_free(stmt);
	close_session(&from);
	close_session(&s);
}

static void schemas_before_execution(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowSchema schema;
	rayql_statement *stmt = NULL;
	rayql_error *err = NULL;
	(void)state;
	run(s.con, "CREATE TABLE t (i INTEGER, d DECIMAL(10, 2), l VARCHAR[])");
	assert_int_equal(rayql_prepare(s.con, "SELECT * FROM t WHERE i = ?", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_statement_schema(stmt, &schema, NULL), RAYQL_OK);
	assert_int_equal(schema.n_children, 3);
	assert_string_equal(schema.children[0]->format, "i");
	assert_string_equal(schema.children[1]->format, "d:10,2,128");
	assert_string_equal(schema.children[2]->format, "+l");
	schema.release(&schema);
	assert_int_equal(rayql_parameter_schema(stmt, &schema, NULL), RAYQL_OK);
	assert_int_equal(schema.n_children, 1);
	assert_string_equal(schema.children[0]->format, "i");
	assert_string_equal(schema.children[0]->name, "1");
	schema.release(&schema);
	rayql_statement_free(stmt);
	assert_int_equal(rayql_prepare(s.con, "SELECT ? AS x", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_statement_schema(stmt, &schema, &err), RAYQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rayql_error_message(err), "CAST(? AS type)"));
	rayql_error_free(err);
	rayql_statement_free(stmt);
	close_session(&s);
}

static void wider_parameters(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	const uint8_t uuid[16] = {0xa1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	(void)state;
	assert_int_equal(rayql_prepare(s.con, "SELECT ?, ?, ?, ?, ?, ?", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_hugeint(stmt, 1, 5, 1), RAYQL_OK);
	assert_int_equal(rayql_bind_decimal(stmt, 2, 5, 2, UINT64_MAX, -1), RAYQL_OK);
	assert_int_equal(rayql_bind_decimal(stmt, 2, 2, 1, 100, 0), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_bind_uuid(stmt, 3, uuid), RAYQL_OK);
	assert_int_equal(rayql_bind_interval(stmt, 4, 1, 2, 3000000), RAYQL_OK);
	assert_int_equal(rayql_bind_time(stmt, 5, 3600000000), RAYQL_OK);
	assert_int_equal(rayql_bind_timestamp_tz(stmt, 6, 0), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	assert_int_equal(rayql_column_width(res, 1), 5);
	assert_int_equal(rayql_column_width(res, 0), 0);
	char *rows = read_rows(res, NULL);
	const char *want = "18446744073709551621|-0.01|a1020304-0506-0708-090a-0b0c0d0e0f10|1 month 2 days 00:00:03|01:00:00|";
	assert_memory_equal(rows, want, strlen(want));
	free(rows);
	rayql_statement_free(stmt);
	close_session(&s);
}

/* ---- data that breaks Arrow's rules ---- */
struct crafted {
	struct ArrowSchema schema, child;
	struct ArrowSchema *schema_children[1];
	struct ArrowArray array, column;
	struct ArrowArray *array_children[1];
	const void *array_buffers[1], *buffers[3];
	int left, released;
};

static void keep_schema(struct ArrowSchema *schema)
{
	schema->release = NULL;
}
static void keep_array(struct ArrowArray *array)
{
	array->release = NULL;
}
static int crafted_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
	*out = ((struct crafted *)s->private_data)->schema;
	return 0;
}
static int crafted_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
	struct crafted *c = s->private_data;
	memset(out, 0, sizeof *out);
	if (c->left-- > 0)
		*out = c->array;
	return 0;
}
static void crafted_release(struct ArrowArrayStream *s)
{
	((struct crafted *)s->private_data)->released++;
	s->release = NULL;
}

static struct crafted craft(const char *format, int64_t rows, int64_t buffers)
{
	return (struct crafted){
		.schema = {.format = "+s", .n_children = 1, .release = keep_schema},
		.child = {.format = format, .name = "c", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema},
		.array = {.length = rows, .n_buffers = 1, .n_children = 1, .release = keep_array},
		.column = {.length = rows, .n_buffers = buffers, .release = keep_array},
		.left = 1,
	};
}

static void refused(struct session s, struct crafted *c, const char *message)
{
	struct ArrowArrayStream stream = {crafted_schema, crafted_next, NULL, crafted_release, c};
	rayql_error *err = NULL;
	c->schema_children[0] = &c->child;
	c->schema.children = c->schema_children;
	c->array_children[0] = &c->column;
	c->array.children = c->array_children;
	c->array.buffers = c->array_buffers;
	c->column.buffers = c->buffers;
	rayql_status status = rayql_register_arrow(s.con, "f", &stream, &err);
	if (message) {
		assert_int_not_equal(status, RAYQL_OK);
		if (!strstr(rayql_error_message(err), message))
			fail_msg("%s", rayql_error_message(err));
	} else {
		if (status != RAYQL_OK)
			fail_msg("%s", rayql_error_message(err));
		char *rows = rows_of(s.con, "SELECT count(c), max(c)::VARCHAR FROM f", NULL);
		assert_string_equal(rows, "2|b\n");
		free(rows);
	}
	rayql_error_free(err);
	assert_int_equal(c->released, 1);
}

static void broken_arrays(void **state)
{
	static const int32_t rising[] = {0, 1, 2}, falling[] = {0, 2, 1}, negative[] = {-1, 0, 1};
	static const int32_t far[4] = {13, 0, 0, 100};
	static const int64_t sizes[] = {50};
	struct session s = open_session(NULL, NULL);
	(void)state;
	struct crafted c = craft("u", 2, 3);
	c.buffers[1] = rising;
	c.buffers[2] = "ab";
	struct crafted good = c;
	refused(s, &good, NULL);
	c.buffers[1] = falling;
	refused(s, &c, "its offsets do not rise");
	c = good, c.left = 1, c.released = 0, c.buffers[1] = negative;
	refused(s, &c, "an offset is negative");
	c = good, c.left = 1, c.released = 0, c.buffers[2] = "a\xff";
	refused(s, &c, "not UTF-8");
	c = good, c.left = 1, c.released = 0, c.buffers[1] = NULL;
	refused(s, &c, "a buffer is missing");
	c = good, c.left = 1, c.released = 0, c.column.length = 1;
	refused(s, &c, "a child is shorter");
	c = good, c.left = 1, c.released = 0, c.column.n_buffers = 2;
	refused(s, &c, "another number of buffers");
	c = good, c.left = 1, c.released = 0, c.column.null_count = 1;
	refused(s, &c, "no validity bitmap");
	c = good, c.left = 1, c.released = 0, c.array.length = -1;
	refused(s, &c, "negative");
	c = good, c.left = 1, c.released = 0, c.array.n_children = 0;
	refused(s, &c, "another number of children");
	c = good, c.left = 1, c.released = 0, c.child.format = "?";
	refused(s, &c, "");
	c = craft("vu", 1, 3);
	c.buffers[1] = far;
	c.buffers[2] = sizes;
	refused(s, &c, "a view leads beyond its buffers");
	c = craft("i", 0, 2);
	c.schema.format = "i";
	refused(s, &c, "no stream of record batches");
	close_session(&s);
}

/* ---- DuckDB's own connections ---- */

/* By the process's libduckdb, as a program that is linked with it would. */
static int lent_query(struct _duckdb_connection *con, const char *sql)
{
	int (*query)(struct _duckdb_connection *, const char *, void *) = NULL;
	void *library = dlopen("libduckdb.so", RTLD_NOW | RTLD_NOLOAD);
	void *address = library ? dlsym(library, "duckdb_query") : NULL;
	assert_non_null(address);
	memcpy(&query, &address, sizeof query);
	int state = query(con, sql, NULL);
	dlclose(library);
	return state;
}

static void while_one_is_lent(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct _duckdb_connection *con = NULL;
	char method[32];
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v WITH (refresh = auto) AS SELECT g, count(*) FROM t GROUP BY g");
	free(rows_of(s.con, "SELECT count(*) FROM t", method));
	assert_string_equal(method, "cube");
	assert_int_equal(rayql_duckdb_connect(s.db, &con, NULL), RAYQL_OK);
	free(rows_of(s.con, "SELECT count(*) FROM t", method));
	assert_string_equal(method, "host");
	assert_int_equal(lent_query(con, "DELETE FROM t"), 0);
	char *rows = rows_of(s.con, "SELECT count(*) FROM t", method);
	assert_string_equal(rows, "0\n");
	free(rows);
	rayql_duckdb_disconnect(s.db, con);
	rows = rows_of(s.con, "SELECT count(*) FROM t", method);
	assert_string_equal(rows, "0\n");
	assert_string_equal(method, "cube");
	free(rows);
	close_session(&s);
}

/* A database that the program has opened itself. */
static void taken_over(void **state)
{
	int (*open_it)(const char *, struct _duckdb_database **) = NULL;
	int (*connect)(struct _duckdb_database *, struct _duckdb_connection **) = NULL;
	void (*disconnect)(struct _duckdb_connection **) = NULL;
	struct _duckdb_database *duckdb = NULL;
	struct _duckdb_connection *con = NULL;
	rayql_database *second = NULL;
	rayql_error *err = NULL;
	struct session s = {0};
	char path[300], method[32];
	const char *options[] = {"threads", "1", NULL};
	rayql_config config = {.size = sizeof config, .host_options = options};
	(void)state;
	void *library = dlopen("libduckdb.so", RTLD_NOW | RTLD_NOLOAD);
	*(void **)&open_it = dlsym(library, "duckdb_open");
	*(void **)&connect = dlsym(library, "duckdb_connect");
	*(void **)&disconnect = dlsym(library, "duckdb_disconnect");
	dlclose(library);
	scratch_path(path, "taken.db");
	assert_int_equal(open_it(path, &duckdb), 0);
	assert_int_equal(connect(duckdb, &con), 0);
	assert_int_equal(lent_query(con, "CREATE TABLE t AS SELECT i % 10 AS g, i FROM range(1000) r(i)"), 0);
	disconnect(&con);
	assert_int_equal(rayql_open_duckdb(&duckdb, &config, &s.db, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "\"threads\" is DuckDB's"));
	assert_non_null(duckdb);
	rayql_error_free(err);
	assert_int_equal(rayql_open_duckdb(&duckdb, NULL, &s.db, NULL), RAYQL_OK);
	assert_null(duckdb);
	assert_int_equal(rayql_connect(s.db, &s.con, NULL), RAYQL_OK);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(i) FROM t GROUP BY g");
	char *rows = rows_of(s.con, "SELECT sum(i) FROM t WHERE g < 2", method);
	assert_string_equal(rows, "99100\n");
	assert_string_equal(method, "cube");
	free(rows);
	/* Its file is guarded like any that RayQL opened. */
	assert_int_equal(rayql_open(path, NULL, &second, NULL), RAYQL_ERROR_IO);
	close_session(&s);
	s = open_session(path, NULL);
	gives(s.con, "SELECT sum(i) FROM t WHERE g < 2", "99100\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_types_come_back), cmocka_unit_test(names),
		cmocka_unit_test(open_results),        cmocka_unit_test(streamed_into_a_table),
		cmocka_unit_test(rows_of_parameters),  cmocka_unit_test(schemas_before_execution),
		cmocka_unit_test(wider_parameters),    cmocka_unit_test(broken_arrays),
		cmocka_unit_test(while_one_is_lent),   cmocka_unit_test(taken_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
