/* Appenders: what INSERT would have put into the table, and rows that are refused without any being lost. */
#include "check.h"

#include <math.h>

static rayql_appender *open_appender(rayql_connection *con, const char *table)
{
	rayql_appender *app = NULL;
	rayql_error *err = NULL;
	if (rayql_appender_open(con, NULL, NULL, table, &app, &err) != RAYQL_OK)
		fail_msg("%s: %s", table, rayql_error_message(err));
	return app;
}

static void ok(rayql_status status, rayql_error *err)
{
	if (status != RAYQL_OK)
		fail_msg("[%s] %s", rayql_status_name(status), rayql_error_message(err));
}

static void end_row(rayql_appender *app)
{
	rayql_error *err = NULL;
	ok(rayql_appender_end_row(app, &err), err);
}

static void close_appender(rayql_appender *app)
{
	rayql_error *err = NULL;
	ok(rayql_appender_close(app, &err), err);
}

/* The row ends with this text in its error, and none of it stays. */
static void row_fails(rayql_appender *app, const char *text)
{
	rayql_error *err = NULL;
	uint64_t before = rayql_appender_rows(app);
	assert_int_equal(rayql_appender_end_row(app, &err), RAYQL_ERROR_MISUSE);
	if (!strstr(rayql_error_message(err), text))
		fail_msg("have: %s\nwant: %s", rayql_error_message(err), text);
	rayql_error_free(err);
	assert_int_equal(rayql_appender_rows(app), before);
}

static void flush_fails(rayql_appender *app, rayql_status status, const char *text)
{
	rayql_error *err = NULL;
	uint64_t before = rayql_appender_rows(app);
	assert_int_equal(rayql_appender_flush(app, &err), status);
	if (!strstr(rayql_error_message(err), text))
		fail_msg("have: %s\nwant: %s", rayql_error_message(err), text);
	rayql_error_free(err);
	assert_int_equal(rayql_appender_rows(app), before);
}

#define TYPES                                                                                                          \
	"b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INTEGER, i64 BIGINT, i128 HUGEINT, u8 UTINYINT, u16 USMALLINT, "         \
	"u32 UINTEGER, u64 UBIGINT, u128 UHUGEINT, f FLOAT, d DOUBLE, d4 DECIMAL(4,1), d9 DECIMAL(9,2), d18 DECIMAL(18,3), " \
	"d38 DECIMAL(38,10), v VARCHAR, z BLOB, day DATE, t TIME, ts TIMESTAMP, tss TIMESTAMP_S, tsm TIMESTAMP_MS, "         \
	"tsn TIMESTAMP_NS, tz TIMESTAMPTZ, iv INTERVAL, id UUID, e ENUM('sad', 'ok'), l INTEGER[], "                         \
	"s STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR, INTEGER), ar INTEGER[2], j JSON, bits BIT"

#define TYPE_COUNT 35u

static void append_all_types(rayql_appender *app)
{
	static const uint8_t id[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8};
	rayql_append_bool(app, true);
	rayql_append_int64(app, -128);
	rayql_append_int64(app, 32767);
	rayql_append_int64(app, INT32_MIN);
	rayql_append_int64(app, INT64_MIN);
	rayql_append_hugeint(app, 0, INT64_MIN + 1);
	rayql_append_uint64(app, 255);
	rayql_append_int64(app, 65535);
	rayql_append_uint64(app, UINT32_MAX);
	rayql_append_uint64(app, UINT64_MAX);
	rayql_append_uhugeint(app, UINT64_MAX, UINT64_MAX);
	rayql_append_double(app, 1.5);
	rayql_append_double(app, 1e300);
	rayql_append_decimal(app, 4, 1, 9999, 0);
	rayql_append_int64(app, -1234567);
	rayql_append_decimal(app, 18, 3, (uint64_t)-123456789, -1);
	rayql_append_decimal(app, 38, 12, 1500, 0);
	rayql_append_text(app, "a text that is longer than twelve bytes, \xc3\xa4", 43);
	rayql_append_blob(app, "\0\xff\x80", 3);
	rayql_append_date(app, -1);
	rayql_append_time(app, INT64_C(86399999999));
	rayql_append_timestamp(app, 1700000000123456);
	rayql_append_timestamp(app, 1700000000000000);
	rayql_append_timestamp(app, 1700000000123000);
	rayql_append_timestamp(app, 1700000000123456);
	rayql_append_timestamp_tz(app, 1700000000123456);
	rayql_append_interval(app, 14, -3, 5000000);
	rayql_append_uuid(app, id);
	rayql_append_text(app, "ok", 2);
	rayql_append_text(app, "[1, NULL, 3]", 12);
	rayql_append_text(app, "{'a': 1, 'b': x}", 16);
	rayql_append_text(app, "{k=1}", 5);
	rayql_append_text(app, "[1, 2]", 6);
	rayql_append_text(app, "{\"a\": [1]}", 10);
	rayql_append_text(app, "0101", 4);
	end_row(app);
}

static void all_types(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "SET TimeZone = 'UTC'");
	run(s.con, "CREATE TABLE t (" TYPES "); CREATE TABLE u (" TYPES ")");
	rayql_appender *app = open_appender(s.con, "t");
	assert_int_equal(rayql_appender_column_count(app), TYPE_COUNT);
	assert_string_equal(rayql_appender_column_name(app, 16), "d38");
	assert_string_equal(rayql_appender_column_type_name(app, 16), "DECIMAL(38,10)");
	append_all_types(app);
	for (unsigned i = 0; i < TYPE_COUNT; i++)
		ok(rayql_append_null(app), NULL);
	end_row(app);
	assert_int_equal(rayql_appender_rows(app), 2);
	expect(s.con, "SELECT count(*) FROM t", NULL, "0\n");
	close_appender(app);
	run(s.con, "INSERT INTO u VALUES (true, -128, 32767, -2147483648, -9223372036854775808, "
	           "(-170141183460469231731687303715884105728 + 18446744073709551616), 255, 65535, 4294967295, "
	           "18446744073709551615, 340282366920938463463374607431768211455, 1.5, 1e300, 999.9, -1234567, -123456.789, "
	           "0.0000000015, 'a text that is longer than twelve bytes, \xc3\xa4', '\\x00\\xFF\\x80', '1969-12-31', "
	           "'23:59:59.999999', '2023-11-14 22:13:20.123456', '2023-11-14 22:13:20', '2023-11-14 22:13:20.123', "
	           "'2023-11-14 22:13:20.123456', '2023-11-14 22:13:20.123456+00', INTERVAL '14 months -3 days 5 seconds', "
	           "'01234567-89ab-cdef-0102-030405060708', 'ok', [1, NULL, 3], {'a': 1, 'b': 'x'}, MAP {'k': 1}, [1, 2], "
	           "'{\"a\": [1]}', '0101')");
	run(s.con, "INSERT INTO u (b) VALUES (NULL)");
	char *have = rows_of(s.con, "FROM t", NULL), *want = rows_of(s.con, "FROM u", NULL);
	assert_string_equal(have, want);
	free(have);
	free(want);
	close_session(&s);
}

static void values_that_do_not_fit(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE t (i8 TINYINT, d DECIMAL(4,1), f FLOAT, v VARCHAR, tsm TIMESTAMP_MS)");
	rayql_appender *app = open_appender(s.con, "T");
	assert_int_equal(rayql_append_int64(app, 128), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_append_null(app), RAYQL_ERROR_MISUSE); /* the row is lost */
	row_fails(app, "column 1 (\"i8\", of type TINYINT) cannot hold CAST('128' AS BIGINT)");
	rayql_append_blob(app, "x", 1);
	row_fails(app, "column 1 (\"i8\", of type TINYINT) takes no BLOB");
	rayql_append_bool(app, true);
	row_fails(app, "takes no BOOLEAN");
	rayql_append_double(app, 1);
	row_fails(app, "takes no DOUBLE");
	rayql_append_null(app);
	row_fails(app, "\"T\" has 5 columns, and the row has 1 values");
	static const struct {
		int64_t number;
		uint8_t scale;
	} decimals[] = {{10000, 1}, {-10000, 1}, {12345, 3}};
	for (int i = 0; i < 3; i++) {
		rayql_append_null(app);
		rayql_append_decimal(app, 18, decimals[i].scale, (uint64_t)decimals[i].number, decimals[i].number >> 63);
		row_fails(app, "column 2 (\"d\", of type DECIMAL(4,1)) cannot hold");
	}
	rayql_append_null(app);
	rayql_append_decimal(app, 2, 3, 1, 0);
	row_fails(app, "no DECIMAL(2,3) has such a value");
	rayql_append_null(app);
	rayql_append_int64(app, 1000);
	row_fails(app, "cannot hold");
	rayql_append_int64(app, 1);
	rayql_append_int64(app, -999);
	rayql_append_double(app, 1e39);
	row_fails(app, "column 3");
	for (int i = 0; i < 3; i++)
		rayql_append_null(app);
	rayql_append_text(app, "\xed\xa0\x80", 3);
	row_fails(app, "not valid UTF-8");
	for (int i = 0; i < 4; i++)
		rayql_append_null(app);
	rayql_append_timestamp(app, 1);
	row_fails(app, "column 5");
	for (int i = 0; i < 6; i++)
		rayql_append_null(app);
	row_fails(app, "has 5 columns, and the row has more values");
	/* What was refused has left nothing behind. */
	rayql_append_null(app);
	rayql_append_decimal(app, 5, 3, 12300, 0);
	rayql_append_double(app, HUGE_VAL);
	rayql_append_text(app, NULL, 0);
	rayql_append_null(app);
	end_row(app);
	close_appender(app);
	expect(s.con, "FROM t", NULL, "NULL|12.3|inf||NULL\n");
	close_session(&s);
}

static void open_fails(rayql_connection *con, const char *catalog, const char *schema, const char *table,
                       rayql_status status, const char *text)
{
	rayql_appender *app = NULL;
	rayql_error *err = NULL;
	assert_int_equal(rayql_appender_open(con, catalog, schema, table, &app, &err), status);
	if (!strstr(rayql_error_message(err), text))
		fail_msg("have: %s\nwant: %s", rayql_error_message(err), text);
	rayql_error_free(err);
	assert_null(app);
}

static void tables_by_name(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_appender *app = NULL;
	(void)state;
	run(s.con, "CREATE SCHEMA \"a b\"; CREATE TABLE \"a b\".t (x INTEGER); CREATE TABLE t (y INTEGER)");
	run(s.con, "CREATE VIEW w AS FROM t; CREATE TEMP TABLE tt (z INTEGER)");
	open_fails(s.con, NULL, NULL, "nothing", RAYQL_ERROR_HOST, "Table with name nothing does not exist");
	open_fails(s.con, NULL, "nowhere", "t", RAYQL_ERROR_HOST, "nowhere");
	open_fails(s.con, NULL, NULL, "w", RAYQL_ERROR_MISUSE, "is no table");
	open_fails(s.con, NULL, NULL, NULL, RAYQL_ERROR_MISUSE, "table");
	ok(rayql_appender_open(s.con, "memory", "a b", "T", &app, NULL), NULL);
	rayql_append_int64(app, 1);
	end_row(app);
	close_appender(app);
	app = open_appender(s.con, "tt");
	rayql_append_int64(app, 2);
	end_row(app);
	/* It keeps its connection. */
	rayql_connection *con = s.con;
	assert_int_equal(rayql_connect(s.db, &s.con, NULL), RAYQL_OK);
	expect(con, "SELECT x, (SELECT count(*) FROM tt), (SELECT count(*) FROM t) FROM \"a b\".t", NULL, "1|0|0\n");
	rayql_disconnect(con);
	rayql_appender_free(app);
	rayql_appender_free(NULL);
	close_session(&s);
}

static void constraints_lose_nothing(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_error *err = NULL;
	(void)state;
	run(s.con, "CREATE TABLE t (i INTEGER PRIMARY KEY, v VARCHAR NOT NULL); INSERT INTO t VALUES (2, 'old')");
	rayql_appender *app = open_appender(s.con, "t");
	for (int i = 0; i < 4; i++) {
		rayql_append_int64(app, i);
		rayql_append_text(app, "new", 3);
		end_row(app);
	}
	flush_fails(app, RAYQL_ERROR_HOST, "Constraint Error");
	expect(s.con, "FROM t", NULL, "2|old\n");
	assert_int_equal(rayql_appender_close(app, &err), RAYQL_ERROR_HOST); /* it is still there */
	rayql_error_free(err);
	rayql_append_int64(app, 9);
	row_fails(app, "flush it again");
	run(s.con, "DELETE FROM t");
	assert_int_equal(rayql_appender_flush(app, NULL), RAYQL_OK);
	assert_int_equal(rayql_appender_rows(app), 0);
	expect(s.con, "FROM t ORDER BY i", NULL, "0|new\n1|new\n2|new\n3|new\n");
	rayql_append_int64(app, 10);
	rayql_append_null(app);
	end_row(app);
	flush_fails(app, RAYQL_ERROR_HOST, "NOT NULL constraint");
	rayql_appender_clear(app);
	rayql_append_text(app, "ten", 3);
	rayql_append_text(app, "x", 1);
	end_row(app);
	flush_fails(app, RAYQL_ERROR_HOST, "Could not convert string 'ten'");
	rayql_appender_clear(app);
	rayql_append_text(app, "11", 2);
	rayql_append_text(app, "eleven", 6);
	end_row(app);
	rayql_append_int64(app, 12);
	rayql_append_text(app, "twelve", 6);
	end_row(app);
	rayql_append_int64(app, 13);
	err = NULL;
	assert_int_equal(rayql_appender_flush(app, &err), RAYQL_ERROR_MISUSE); /* half a row */
	assert_non_null(strstr(rayql_error_message(err), "not complete"));
	rayql_error_free(err);
	rayql_append_text(app, "thirteen", 8);
	end_row(app);
	close_appender(app);
	expect(s.con, "FROM t WHERE i > 3 ORDER BY i", NULL, "11|eleven\n12|twelve\n13|thirteen\n");
	close_session(&s);
}

static void defaults(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE SEQUENCE q; CREATE TABLE t (i INTEGER DEFAULT nextval('q'), g INTEGER GENERATED ALWAYS AS (i * 2), "
	           "v VARCHAR DEFAULT 'none', CHECK (i < 100))");
	rayql_appender *app = open_appender(s.con, "t");
	assert_int_equal(rayql_appender_column_count(app), 2); /* not the generated one */
	assert_string_equal(rayql_appender_column_name(app, 1), "v");
	/* More rows than a word of bits, and runs that begin inside of words. */
	for (int i = 0; i < 150; i++) {
		if (i < 70 || i == 149)
			rayql_append_default(app);
		else
			rayql_append_int64(app, i - 60);
		if (i == 149 || (i >= 40 && i < 100))
			rayql_append_default(app);
		else if (i % 3)
			rayql_append_text(app, "a text of some length", 21);
		else
			rayql_append_null(app);
		end_row(app);
	}
	ok(rayql_appender_flush(app, NULL), NULL);
	run(s.con, "CREATE TABLE u AS SELECT CASE WHEN r < 70 THEN r + 1 WHEN r = 149 THEN 71 ELSE r - 60 END AS i, "
	           "CASE WHEN r = 149 OR r BETWEEN 40 AND 99 THEN 'none' WHEN r % 3 > 0 THEN 'a text of some length' END AS v "
	           "FROM range(150) x(r)");
	expect(s.con, "SELECT count(*), (SELECT count(*) FROM (FROM t EXCEPT ALL SELECT i, i * 2, v FROM u)) FROM t", NULL,
	       "150|0\n");
	/* All of them in one transaction. */
	rayql_append_default(app);
	rayql_append_text(app, "x", 1);
	end_row(app);
	rayql_append_int64(app, 1000);
	rayql_append_default(app);
	end_row(app);
	flush_fails(app, RAYQL_ERROR_HOST, "CHECK constraint");
	expect(s.con, "SELECT count(*) FROM t", NULL, "150\n");
	rayql_appender_clear(app);
	for (int i = 0; i < 3; i++) {
		rayql_append_default(app);
		rayql_append_default(app);
		end_row(app);
	}
	close_appender(app);
	expect(s.con, "SELECT count(*), count(v) FROM t WHERE v = 'none'", NULL, "64|64\n");
	close_session(&s);
}

/* As with INSERT: structures follow, and what is not committed is not seen. */
static void structures_follow(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_connection *other = NULL;
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	run(s.con, "CREATE MATERIALIZED VIEW m AS SELECT g, sum(v), count(*) FROM t GROUP BY g");
	run(s.con, "SET rayql_force = on");
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	expect(s.con, "SELECT sum(v) FROM t WHERE a = 3", "scan", "71500\n");
	rayql_appender *app = open_appender(s.con, "t");
	for (int i = 0; i < 500000; i++) { /* several flushes by themselves */
		rayql_append_int64(app, 3);
		rayql_append_text(app, "g9", 2);
		rayql_append_int64(app, 1);
		end_row(app);
	}
	assert_true(rayql_appender_rows(app) < 122880);
	ok(rayql_appender_flush(app, NULL), NULL);
	expect(s.con, "SELECT sum(v) FROM t WHERE a = 3", "scan", "571500\n");
	expect(s.con, "SELECT count(*) FROM t WHERE g = 'g9'", NULL, "500000\n");
	run(s.con, "BEGIN");
	rayql_append_int64(app, 3);
	rayql_append_default(app);
	rayql_append_int64(app, 5);
	end_row(app);
	ok(rayql_appender_flush(app, NULL), NULL);
	expect(s.con, "SELECT sum(v) FROM t WHERE a = 3", "host", "571505\n");
	expect(other, "SELECT sum(v) FROM t WHERE a = 3", NULL, "571500\n");
	run(s.con, "ROLLBACK");
	expect(s.con, "SELECT sum(v) FROM t WHERE a = 3", "scan", "571500\n");
	rayql_appender_free(app);
	rayql_disconnect(other);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_types),      cmocka_unit_test(values_that_do_not_fit),
		cmocka_unit_test(tables_by_name), cmocka_unit_test(constraints_lose_nothing),
		cmocka_unit_test(defaults),       cmocka_unit_test(structures_follow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
