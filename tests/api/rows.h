/* What the tests of selections share: tables, and every answer beside the host's. */
#ifndef RQL_TESTS_API_ROWS_H
#define RQL_TESTS_API_ROWS_H

#include "check.h"

static inline struct session rows_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET rayql_force = on");
	return s;
}

static inline char *explain(rayql_connection *con, const char *sql)
{
	char *statement = malloc(strlen(sql) + 32);
	assert_non_null(statement);
	sprintf(statement, "EXPLAIN %s", sql);
	char *text = rows_of(con, statement, NULL);
	free(statement);
	return text;
}

/* The host's answer, by a scan, whose EXPLAIN has these words; words NULL: any. */
#define same(con, sql, words) same_at(con, sql, words, __FILE__, __LINE__)
static inline void same_at(rayql_connection *con, const char *sql, const char *words, const char *file, int line)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, "scan", want, file, line);
	expect_at(con, sql, "scan", want, file, line); /* from the plan cache */
	free(want);
	char *text = explain(con, sql);
	bool ok = !words || strstr(text, words);
	if (!ok)
		print_error("%s:%d: %s\nhave: %.900s\nwant: ...%s...\n", file, line, sql, text, words);
	free(text);
	_assert_true(ok, sql, file, line);
}

static inline void make_tables(rayql_connection *con)
{
	run(con,
	    "CREATE TABLE f AS SELECT i::INTEGER AS id, (i * 7919 % 1000)::INTEGER AS a, (i % 13)::SMALLINT AS b, "
	    "CASE WHEN i % 11 = 0 THEN NULL ELSE i * 3 % 500 END AS n, 'a rather long name, number ' || (i * 31 % 57) AS "
	    "s, "
	    "CASE WHEN i % 5 = 0 THEN NULL ELSE 'x' || (i % 3) END AS t, DATE '1992-01-01' + (i % 2500)::INTEGER AS d, "
	    "((i * 37 % 10000) / 100)::DECIMAL(9,2) AS p, CASE WHEN i % 97 = 0 THEN 'nan'::DOUBLE ELSE (i * 17 % 997) / 8 "
	    "END AS r, "
	    "i % 2 = 0 AS even, (i % 40)::INTEGER AS k, (i::HUGEINT << 80) - (i % 3) AS h, i::UHUGEINT AS uh, "
	    "TIMESTAMP '2020-01-01' + INTERVAL (i) MINUTE AS ts, (i % 100)::FLOAT / 3 AS fl, 'word ' || i AS own "
	    "FROM range(20000) AS q(i)");
	run(con,
	    "CREATE TABLE big AS SELECT k::INTEGER AS k, CASE WHEN k % 9 = 0 THEN NULL ELSE 'region ' || (k % 4) END AS "
	    "region, (k * 3)::INTEGER AS weight FROM range(38) AS q(k)");
	run(con, "CREATE INDEX fc ON f USING columns (*)");
}

/* The table's rows lie in several of DuckDB's row groups, with holes, and are read by several threads. */
static inline void make_placed(rayql_connection *con)
{
	run(con, "SET threads = 4");
	run(con, "CREATE TABLE g AS SELECT i AS id, (i * 7919 % 1000)::INTEGER AS a, 'name ' || (i * 31 % 257) AS s, "
	         "CASE WHEN i % 3 = 0 THEN NULL ELSE (i % 71) / 4 END AS r FROM range(300000) AS q(i)");
	run(con, "DELETE FROM g WHERE id % 11 = 3 OR id BETWEEN 150000 AND 190000");
	run(con, "UPDATE g SET a = 1000 WHERE id % 101 = 5");
	run(con, "CREATE INDEX gc ON g USING columns (*)");
}

#endif
