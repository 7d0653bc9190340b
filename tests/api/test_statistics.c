/* COUNT, MIN and MAX of whole columns, from the descriptors of blocks (method/scan/cpu/scan_statistics.c): every type that a store
 * holds, NULLs in some blocks and in all of one, NaN and both zeros at the edges, after deletes, updates and appended rows whose
 * values are new to the dictionary, of an empty table, and under conditions that whole blocks pass. Every answer is DuckDB's. */
#include "check.h"

#define READ UINT64_MAX

static struct session statistics_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET rayql_device = 'cpu'; SET rayql_force = on");
	return s;
}

/* DuckDB's answer; most: bytes that were read, READ: whatever it takes. */
static void same_at(rayql_connection *con, const char *sql, uint64_t most, int line)
{
	rayql_query_info info = {.size = sizeof info};
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, "scan", want, __FILE__, line);
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	if (info.bytes_read > most)
		fail_msg("line %d: %llu bytes were read: %s", line, (unsigned long long)info.bytes_read, sql);
	free(want);
}
#define same(con, sql, most) same_at(con, sql, most, __LINE__)

/* A column of each kind. The second of five blocks has only NULLs. */
static void make(rayql_connection *con, const char *name, const char *rows)
{
	char sql[2048];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE %s AS SELECT i::INTEGER id, (hash(i) %% 1000)::SMALLINT - 500 small, "
	         "CASE WHEN i // 4096 <> 1 AND i %% 7 > 0 THEN (hash(i * 3) %% 1000000007)::BIGINT * 1000003 - 1 END AS big, "
	         "(hash(i * 5)::HUGEINT * 1000003 * (i - 9000))::HUGEINT huge, hash(i * 29)::UBIGINT ub, "
	         "((hash(i * 7) %% 2000)::BIGINT - 1000)::DECIMAL(18, 3) m, DATE '2001-01-01' + (hash(i * 11) %% 900)::INTEGER d, "
	         "TIMESTAMP '2001-01-01' + INTERVAL 1 SECOND * (hash(i * 13) %% 900000)::INTEGER ts, i %% 3 = 0 flag, "
	         "'s' || (hash(i * 17) %% 700) s, CASE WHEN i // 4096 <> 1 AND i %% 5 > 0 THEN 't' || (hash(i * 19) %% 9000) END t, "
	         "((hash(i * 23) %% 4001)::DOUBLE - 2000.5) / 8 r, CASE WHEN i %% 11 > 0 THEN ((hash(i * 31) %% 99)::FLOAT + 1) / 4 END f, "
	         "CASE WHEN i %% 4096 = 7 THEN 'NaN'::DOUBLE WHEN i %% 2 = 0 THEN -0.0 ELSE -1.5 - i END edge "
	         "FROM range(%s) q(i)",
	         name, rows);
	run(con, sql);
	snprintf(sql, sizeof sql, "CREATE INDEX %s_c ON %s USING columns (*)", name, name);
	run(con, sql);
}

/* known: answered without a row of the column; else some block must be read. */
static const struct {
	const char *name;
	bool known;
} columns[] = {{"id", true}, {"small", true}, {"big", true}, {"huge", true}, {"ub", true}, {"m", true}, {"d", true},
               {"ts", true}, {"flag", true}, {"s", true},     {"r", true},    {"f", true},  {"t", false}, {"edge", false}};

static void each_column(rayql_connection *con, const char *table, bool whole)
{
	char sql[512];
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		const char *n = columns[c].name;
		uint64_t most = whole && columns[c].known ? 0 : READ;
		snprintf(sql, sizeof sql, "SELECT min(%s), max(%s), count(%s), count(*) FROM %s", n, n, n, table);
		same_at(con, sql, most, __LINE__);
		snprintf(sql, sizeof sql, "SELECT min(%s) FROM %s WHERE id >= 4096 AND id < 8192", n, table);
		same_at(con, sql, READ, __LINE__);
		snprintf(sql, sizeof sql, "SELECT max(%s), count(%s) FROM %s WHERE id BETWEEN 3000 AND 13000", n, n, table);
		same_at(con, sql, READ, __LINE__);
		snprintf(sql, sizeof sql, "SELECT max(%s) FROM %s WHERE id < 0", n, table);
		same_at(con, sql, READ, __LINE__);
	}
	snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
	same_at(con, sql, 0, __LINE__);
	snprintf(sql, sizeof sql, "SELECT count(*), min(id), max(id) FROM %s WHERE id >= 0", table);
	same_at(con, sql, whole ? 0 : READ, __LINE__);
	snprintf(sql, sizeof sql, "SELECT count(*) FILTER (small > 0), min(big), max(m) + min(id), sum(id), min(id + 1) FROM %s", table);
	same_at(con, sql, READ, __LINE__);
}

static void whole(void **state)
{
	(void)state;
	struct session s = statistics_session();
	make(s.con, "t", "20000");
	each_column(s.con, "t", true);
	close_session(&s);
}

/* One row or several blocks whose zeros, NaN or NULLs are all that there is. */
static void edges(void **state)
{
	(void)state;
	struct session s = statistics_session();
	make(s.con, "none", "0");
	make(s.con, "one", "1");
	each_column(s.con, "none", false);
	each_column(s.con, "one", false);
	run(s.con, "CREATE TABLE z AS SELECT -0.0::DOUBLE a, 0.0::DOUBLE b, CASE WHEN i % 2 = 0 THEN 0.0 ELSE -0.0 END::DOUBLE c, "
	           "'NaN'::DOUBLE n, CASE WHEN i < 5000 THEN 'NaN'::FLOAT ELSE -1 END p, 'Infinity'::DOUBLE inf, NULL::INTEGER u, "
	           "NULL::VARCHAR v, NULL::DOUBLE w FROM range(9000) q(i); CREATE INDEX zc ON z USING columns (*)");
	static const char *const names[] = {"a", "b", "c", "n", "p", "inf", "u", "v", "w"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char sql[256];
		snprintf(sql, sizeof sql, "SELECT min(%s), max(%s), count(%s), count(*) FROM z", names[i], names[i], names[i]);
		same_at(s.con, sql, READ, __LINE__);
	}
	same(s.con, "SELECT min(u), max(v), count(w), min(inf) FROM z", 0);
	close_session(&s);
}

/* The extremes go, then others come that the dictionaries lack, before and behind all that they have. */
static void written(void **state)
{
	(void)state;
	struct session s = statistics_session();
	make(s.con, "t", "20000");
	run(s.con, "INSERT INTO t SELECT * REPLACE (-7 AS id, 'a' AS s, 'a' AS t, -9999 AS r, DATE '1970-01-01' AS d) FROM t "
	           "WHERE id < 100");
	run(s.con, "INSERT INTO t SELECT * REPLACE (99999999 AS id, 'zz' AS s, 'zz' AS t, 9999 AS r, NULL AS big) FROM t "
	           "WHERE id BETWEEN 0 AND 5000");
	run(s.con, "REFRESH INDEX t_c");
	each_column(s.con, "t", false);
	run(s.con, "DELETE FROM t WHERE id = 99999999 OR s = 'a' OR small = 499; UPDATE t SET m = 77 WHERE m > 0.5; "
	           "REFRESH INDEX t_c");
	each_column(s.con, "t", false);
	run(s.con, "DELETE FROM t; REFRESH INDEX t_c");
	each_column(s.con, "t", false);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(edges), cmocka_unit_test(written)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
