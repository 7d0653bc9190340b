/* What the tests of scans share: every answer beside the host's, who must answer what, and why it is not a scan. */
#ifndef RQL_TESTS_API_SCANS_H
#define RQL_TESTS_API_SCANS_H

#include "check.h"

static inline struct session scan_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET rayql_force = on");
	return s;
}

/* A scan aggregates, and answers as the host does. */
#define same(con, sql) same_at(con, sql, "scan", __FILE__, __LINE__)
/* No scan aggregates, and EXPLAIN says why. */
#define refused(con, sql, why) refused_at(con, sql, why, __FILE__, __LINE__)

static inline void same_at(rayql_connection *con, const char *sql, const char *method, const char *file, int line)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, method, want, file, line);
	expect_at(con, sql, method, want, file, line); /* from the plan cache */
	free(want);
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	bool whole = !method || !strstr(info.reason, "the host reads tables");
	if (!whole)
		print_error("%s:%d: %s\nthe host aggregates: %s\n", file, line, sql, info.reason);
	_assert_true(whole, sql, file, line);
}

static inline void refused_at(rayql_connection *con, const char *sql, const char *why, const char *file, int line)
{
	char *explain = malloc(strlen(sql) + 32);
	assert_non_null(explain);
	sprintf(explain, "EXPLAIN %s", sql);
	char *text = rows_of(con, explain, NULL);
	bool ok = strstr(text, why) != NULL;
	if (!ok)
		print_error("%s:%d: %s\nhave: %.600s\nwant: ...%s...\n", file, line, sql, text, why);
	free(text);
	free(explain);
	_assert_true(ok, sql, file, line);
	same_at(con, sql, NULL, file, line);
}

static inline void make_facts(rayql_connection *con)
{
	run(con,
	    "CREATE TABLE f AS SELECT i::INTEGER AS id, (i * 7919 % 1000)::INTEGER AS a, (i % 13)::SMALLINT AS b, "
	    "CASE WHEN i % 11 = 0 THEN NULL ELSE i * 3 % 500 END AS n, 'name ' || (i * 31 % 57) AS s, "
	    "CASE WHEN i % 5 = 0 THEN NULL ELSE 'x' || (i % 3) END AS t, DATE '1992-01-01' + (i % 2500)::INTEGER AS d, "
	    "((i * 37 % 10000) / 100)::DECIMAL(9,2) AS p, (i * 17 % 997)::DOUBLE / 8 AS r, i % 2 = 0 AS even, "
	    "(i % 40)::INTEGER AS k, (i % 30)::BIGINT AS l FROM range(20000) AS q(i)");
	run(con, "CREATE TABLE big AS SELECT k::INTEGER AS k, 'region ' || (k % 4) AS region, (k * 3)::INTEGER AS weight, "
	         "k // 8 AS nation FROM range(38) AS q(k)");
	run(con,
	    "CREATE TABLE small AS SELECT l::BIGINT AS l, CASE WHEN l % 7 = 0 THEN NULL ELSE 'colour ' || (l % 5) END AS "
	    "colour, l // 4 AS nation FROM range(25) AS q(l)");
	run(con, "CREATE TABLE nation AS SELECT n AS nation, 'land ' || n AS land FROM range(6) AS q(n)");
	run(con, "CREATE INDEX fc ON f USING columns (*)");
}

#endif
