/* CREATE INDEX ... USING sorted and hash: who answers, what a definition may say, and random points, lists and ranges of
 * many types beside the host, while rows come and go. test_indexes [STATEMENTS [SEED]] */
#include "scans.h"

static unsigned statements = 260;
static uint64_t seed = 20261124;

static unsigned roll(unsigned n)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

static unsigned asked, taken; /* statements that could be looked up; that were */

/* Is the index a candidate? What is taken depends on prices, which are another machine's other ones. */
static bool by_index(rayql_connection *con, const char *sql)
{
	char *explain = malloc(strlen(sql) + 32);
	assert_non_null(explain);
	sprintf(explain, "EXPLAIN %s", sql);
	char *text = rows_of(con, explain, NULL);
	bool offered = strstr(text, "by scan under index on cpu: ") != NULL;
	asked += offered;
	taken += strstr(text, "under rows of index") != NULL;
	free(text);
	free(explain);
	return offered;
}

/* The index can give the rows, and whoever gives them, they are the host's. */
static void looked_up_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	same_at(con, sql, "scan", file, line);
	bool found = by_index(con, sql);
	if (!found)
		print_error("%s:%d: %s\nis not looked up\n", file, line, sql);
	_assert_true(found, sql, file, line);
}
#define looked_up(con, sql) looked_up_at(con, sql, __FILE__, __LINE__)

/* Keys in no order, with NULLs, every third number missing; id in the table's order. */
static void make_keys(rayql_connection *con, unsigned rows)
{
	char sql[1024];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE t AS SELECT i::INTEGER AS id, CASE WHEN i %% 89 = 0 THEN NULL ELSE "
	         "(hash(i) %% 100000 * 3)::INTEGER END AS k, (hash(i * 3) %% 1000000000000)::BIGINT - 500000000000 AS b, "
	         "DATE '1970-01-01' + (hash(i * 5) %% 70000)::INTEGER - 35000 AS d, "
	         "(hash(i * 7) %% 10000000)::DECIMAL(12,2) AS p, "
	         "TIMESTAMP '2001-01-01' + to_seconds((hash(i * 9) %% 100000000)::BIGINT) AS s, "
	         "(hash(i * 11) %% 50)::TINYINT AS c, 'w' || (hash(i * 13) %% 5000) AS w FROM range(%u) r(i)",
	         rows);
	run(con, sql);
}

static void points_and_ranges(void **state)
{
	(void)state;
	struct session s = scan_session();
	make_keys(s.con, 300000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING sorted (k); "
	           "CREATE INDEX h ON t USING hash (b); CREATE INDEX j ON t USING sorted (d); "
	           "CREATE INDEX l ON t USING sorted (s); CREATE INDEX m ON t USING hash (w)");
	expect(s.con, "SELECT name, kind, state, rows, bytes > rows FROM rayql_structures() WHERE kind <> 'columns'", NULL,
	       "i|sorted|ready|296629|true\nh|hash|ready|300000|true\nj|sorted|ready|300000|true\n"
	       "l|sorted|ready|300000|true\nm|hash|ready|300000|true\n");
	looked_up(s.con, "SELECT id, w FROM t WHERE k = 30000");
	looked_up(s.con, "SELECT id, w FROM t WHERE k = 30001"); /* nobody has it */
	looked_up(s.con, "SELECT count(*), sum(id), min(w) FROM t WHERE k = 9");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k IN (3, 9, 10, 299997, NULL)");
	looked_up(s.con, "SELECT id FROM t WHERE k BETWEEN 1000 AND 1100");
	looked_up(s.con, "SELECT c, count(*) FROM t WHERE k < 500 GROUP BY c ORDER BY c");
	looked_up(s.con, "SELECT count(*) FROM t WHERE k >= 299000");
	looked_up(s.con, "SELECT id FROM t WHERE k <= 30 AND c = 7");
	same(s.con, "SELECT id, k FROM t WHERE k > 299900 AND d > DATE '1980-01-01' AND id % 2 = 0");
	looked_up(s.con, "SELECT count(*) FROM t WHERE d = DATE '1969-12-31'");
	looked_up(s.con, "SELECT count(*) FROM t WHERE s BETWEEN TIMESTAMP '2001-02-01' AND TIMESTAMP '2001-02-02'");
	looked_up(s.con, "SELECT id FROM t WHERE w = 'w77'");
	looked_up(s.con, "SELECT id FROM t WHERE w IN ('w77', 'w4000', 'nothing')");
	char *found = rows_of(s.con, "SELECT b FROM t WHERE id = 4711", NULL), sql[128];
	snprintf(sql, sizeof sql, "SELECT id FROM t WHERE b = %s", strtok(found, "\n"));
	looked_up(s.con, sql);
	free(found);
	/* Neither a range of a hashed one, nor NULL. */
	same(s.con, "SELECT count(*) FROM t WHERE b BETWEEN 0 AND 100000000");
	assert_false(by_index(s.con, "SELECT count(*) FROM t WHERE b BETWEEN 0 AND 100000000"));
	same(s.con, "SELECT count(*) FROM t WHERE k IS NULL");
	same(s.con, "SELECT count(*) FROM t WHERE k NOT IN (3, 9)");
	/* Switched off. */
	run(s.con, "SET rayql_enable_index = off");
	assert_false(by_index(s.con, "SELECT id, w FROM t WHERE k = 30000"));
	run(s.con, "SET rayql_enable_index = on");
	run(s.con, "DROP INDEX i");
	assert_false(by_index(s.con, "SELECT id, w FROM t WHERE k = 30000"));
	same(s.con, "SELECT id, w FROM t WHERE k = 30000");
	close_session(&s);
}

/* The ends of the types, which the host's own literals reach. */
static void extremes(void **state)
{
	(void)state;
	struct session s = scan_session();
	run(s.con, "CREATE TABLE t AS SELECT i::INTEGER AS id, CASE i % 3000 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN "
	           "-9223372036854775808 WHEN 3 THEN NULL ELSE (hash(i) // 2)::BIGINT END AS b, "
	           "(i % 256 - 128)::TINYINT AS y FROM range(300000) r(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING sorted (b); CREATE INDEX h ON t USING "
	           "hash (b); CREATE INDEX y ON t USING sorted (y)");
	looked_up(s.con, "SELECT id FROM t WHERE b = 9223372036854775807");
	looked_up(s.con, "SELECT id FROM t WHERE b = -9223372036854775808");
	looked_up(s.con, "SELECT id FROM t WHERE b < -9223372036854775807");
	looked_up(s.con, "SELECT id FROM t WHERE b >= 9223372036854775807");
	same(s.con, "SELECT id FROM t WHERE b > 9223372036854775807");
	looked_up(s.con, "SELECT id FROM t WHERE b IN (0, 1, 9223372036854775807, -9223372036854775808)");
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE b BETWEEN -9223372036854775808 AND 9223372036854775807");
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE y = -128");
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE y > 126");
	/* Empty tables, and rows of NULL alone. */
	run(s.con, "CREATE TABLE e (k INTEGER, v INTEGER); CREATE INDEX ec ON e USING columns (*); "
	           "CREATE INDEX es ON e USING sorted (k); CREATE INDEX eh ON e USING hash (k)");
	same(s.con, "SELECT count(*) FROM e WHERE k = 1");
	run(s.con, "INSERT INTO e SELECT NULL, i FROM range(50000) r(i)");
	same(s.con, "SELECT count(*) FROM e WHERE k = 1");
	run(s.con, "INSERT INTO e VALUES (1, 5), (2, 6)");
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE k = 1");
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE k <= 2");
	close_session(&s);
}

static void definitions(void **state)
{
	char path[256];
	(void)state;
	struct session s = open_session(scratch_path(path, "indexes.db"), NULL);
	run(s.con, "SET rayql_force = on");
	make_keys(s.con, 100000);
	fails(s.con, "CREATE INDEX i ON t USING sorted (k, b)", RAYQL_ERROR_STATEMENT, "has one key column");
	fails(s.con, "CREATE INDEX i ON t USING hash (*)", RAYQL_ERROR_STATEMENT, "has one key column");
	fails(s.con, "CREATE INDEX i ON t USING hash (nothing)", RAYQL_ERROR_STATEMENT, "nothing");
	fails(s.con, "CREATE INDEX i ON t USING sorted (k) WITH (unit = cpu)", RAYQL_ERROR_STATEMENT, "no option");
	run(s.con, "CREATE TABLE r (x DOUBLE, h HUGEINT)");
	fails(s.con, "CREATE INDEX i ON r USING sorted (x)", RAYQL_ERROR_STATEMENT, "is of type DOUBLE");
	fails(s.con, "CREATE INDEX i ON r USING hash (h)", RAYQL_ERROR_STATEMENT, "is of type HUGEINT");
	/* Before the columns: it says so, and is used when they are there. */
	run(s.con, "CREATE INDEX i ON t USING sorted (k)");
	fails(s.con, "CREATE INDEX i ON t USING hash (k)", RAYQL_ERROR_STATEMENT, "already exists");
	run(s.con, "CREATE INDEX IF NOT EXISTS i ON t USING hash (k)");
	expect(s.con, "SELECT kind, state, rows FROM rayql_structures()", NULL, "sorted|ready|0\n");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	looked_up(s.con, "SELECT id FROM t WHERE k = 30000");
	run(s.con, "CREATE OR REPLACE INDEX i ON t USING hash (k)");
	looked_up(s.con, "SELECT id FROM t WHERE k = 60000");
	run(s.con, "REFRESH INDEX i");
	close_session(&s);
	/* After reopening. */
	s = open_session(path, NULL);
	run(s.con, "SET rayql_force = on");
	looked_up(s.con, "SELECT id FROM t WHERE k = 60000");
	expect(s.con, "SELECT definition, state FROM rayql_structures() WHERE name = 'i'", NULL,
	       "CREATE INDEX i ON t USING hash (k);|ready\n");
	/* Its key becomes another column of the table; then none. */
	run(s.con, "ALTER TABLE t DROP COLUMN id");
	run(s.con, "REFRESH INDEX c");
	looked_up(s.con, "SELECT b FROM t WHERE k = 60000");
	run(s.con, "ALTER TABLE t DROP COLUMN k");
	expect(s.con, "SELECT state FROM rayql_structures() WHERE name = 'i'", NULL, "invalid\n");
	run(s.con, "DROP INDEX i");
	close_session(&s);
}

/* Without room it cannot be made, and is given up for others; queries are answered all the same. */
static void memory(void **state)
{
	(void)state;
	struct session s = scan_session();
	make_keys(s.con, 200000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING sorted (b)");
	looked_up(s.con, "SELECT id FROM t WHERE b BETWEEN 0 AND 10000000");
	char *bytes = rows_of(s.con, "SELECT sum(bytes)::BIGINT // 1024 + 3000 FROM rayql_structures()", NULL), sql[128];
	snprintf(sql, sizeof sql, "SET rayql_memory_limit = '%sKiB'", strtok(bytes, "\n"));
	free(bytes);
	run(s.con, sql);
	/* Of two there is room for none while one is made. */
	fails(s.con, "CREATE INDEX j ON t USING hash (k)", RAYQL_ERROR_LIMIT, "memory limit");
	expect(s.con, "SELECT name, rows FROM rayql_structures() WHERE kind = 'sorted'", NULL, "i|0\n");
	looked_up(s.con, "SELECT id FROM t WHERE b BETWEEN 0 AND 20000000");
	expect(s.con, "SELECT name, rows FROM rayql_structures() WHERE kind = 'sorted'", NULL, "i|0\n");
	run(s.con, "RESET rayql_memory_limit");
	run(s.con, "REFRESH INDEX i");
	looked_up(s.con, "SELECT id FROM t WHERE b BETWEEN 0 AND 40000000");
	expect(s.con, "SELECT name, rows FROM rayql_structures() WHERE kind = 'sorted'", NULL, "i|200000\n");
	close_session(&s);
}

/* ---- random statements ---- */
static void put_value(char *out, size_t size, char column)
{
	switch (column) {
	case 'k':
		snprintf(out, size, "%u", roll(3) ? roll(100000) * 3 : roll(310000));
		break;
	case 'b':
		snprintf(out, size, "%lld", (long long)roll(1000000) * 1000000 - 500000000000);
		break;
	case 'd':
		snprintf(out, size, "(DATE '1970-01-01' + %d)", (int)roll(72000) - 36000);
		break;
	case 'p':
		snprintf(out, size, "%u::DECIMAL(12,2)", roll(10100000));
		break;
	case 's':
		snprintf(out, size, "(TIMESTAMP '2001-01-01' + to_seconds(%u))", roll(100000000));
		break;
	case 'c':
		snprintf(out, size, "%u", roll(52));
		break;
	default:
		snprintf(out, size, "'w%u'", roll(5200));
	}
}

static void put_condition(char *out, size_t size)
{
	static const char *const ops[] = {"=", "=", "=", "<", "<=", ">", ">="};
	char column = "kkkbdpscw"[roll(9)], a[64], b[64], c[64];
	put_value(a, sizeof a, column);
	put_value(b, sizeof b, column);
	put_value(c, sizeof c, column);
	switch (roll(4)) {
	case 0:
		snprintf(out, size, "%c IN (%s, %s, %s)", column, a, b, c);
		break;
	case 1:
		snprintf(out, size, "%c BETWEEN %s AND %s", column, a, b);
		break;
	case 2: /* few rows */
		if (strchr("kb", column))
			snprintf(out, size, "%c BETWEEN %s AND %s + %u", column, a, a, roll(2000));
		else
			snprintf(out, size, "%c = %s", column, a);
		break;
	default:
		snprintf(out, size, "%c %s %s", column, ops[roll(7)], a);
	}
}

static void change(rayql_connection *con, unsigned *rows)
{
	char sql[512];
	switch (roll(8)) {
	case 0:
		snprintf(sql, sizeof sql, "DELETE FROM t WHERE id = %u", roll(*rows));
		break;
	case 1:
		snprintf(sql, sizeof sql, "UPDATE t SET k = %u WHERE id = %u", roll(300000), roll(*rows));
		break;
	case 2:
		snprintf(sql, sizeof sql, "REFRESH INDEX %s", roll(2) ? "c" : "i0");
		break;
	default: {
		unsigned more = roll(2) ? 1 + roll(20) : 1 + roll(9000);
		snprintf(sql, sizeof sql,
		         "INSERT INTO t SELECT id + %u, k, b + %u, d, p, s, c, 'v' || w FROM t LIMIT %u", *rows, roll(5), more);
		*rows += more;
		break;
	}
	}
	run(con, sql);
}

static void random_statements(void **state)
{
	unsigned rows = 120000;
	char sql[512], one[160], two[160];
	(void)state;
	struct session s = scan_session();
	make_keys(s.con, rows);
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto)");
	static const char columns[] = "kbdpscw";
	for (unsigned i = 0; columns[i]; i++) {
		snprintf(sql, sizeof sql, "CREATE INDEX i%u ON t USING %s (%c)", i, roll(2) ? "hash" : "sorted", columns[i]);
		run(s.con, sql);
	}
	for (unsigned i = 0; i < statements; i++) {
		if (roll(6) == 0)
			change(s.con, &rows);
		put_condition(one, sizeof one);
		put_condition(two, sizeof two);
		bool both = roll(3) == 0;
		snprintf(sql, sizeof sql, "SELECT count(*), sum(id), min(b), max(w) FROM t WHERE %s%s%s", one,
		         both ? " AND " : "", both ? two : "");
		same(s.con, sql);
		(void)by_index(s.con, sql);
	}
	print_message("of %u statements that could be looked up %u were\n", asked, taken);
	assert_true(asked > statements / 2 && taken > asked / 10);
	close_session(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		statements = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_and_ranges), cmocka_unit_test(extremes),          cmocka_unit_test(definitions),
		cmocka_unit_test(memory),            cmocka_unit_test(random_statements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
