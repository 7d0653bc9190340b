/* CREATE INDEX ... USING sieve: who answers, what a definition may say, and random conjunctions over columns of many
 * types beside the host, while rows come and go, and while there is no room; the same on a GPU. test_sieves
 * [STATEMENTS [SEED]] */
#include "device.h"
#include "scans.h"

#include <dirent.h>

static unsigned statements = QUERY_STEP > 1 ? 16 : 120;
static uint64_t seed = 20261125;

static unsigned roll(unsigned n)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

static unsigned asked, taken; /* statements that a sieve could answer; that it did */

/* Is a sieve a candidate? What is taken depends on prices, which are another machine's other ones. */
static bool by_sieve(rayql_connection *con, const char *sql)
{
	char *explain = malloc(strlen(sql) + 32);
	assert_non_null(explain);
	sprintf(explain, "EXPLAIN %s", sql);
	char *text = rows_of(con, explain, NULL);
	const bool offered = strstr(text, "by scan under sieve on cpu: ") != NULL;
	asked += offered;
	taken += strstr(text, "under rows of sieve on cpu") != NULL;
	free(text);
	free(explain);
	return offered;
}

static void sieved_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	same_at(con, sql, "scan", file, line);
	const bool found = by_sieve(con, sql);
	if (!found)
		print_error("%s:%d: %s\nno sieve is asked\n", file, line, sql);
	_assert_true(found, sql, file, line);
}
#define sieved(con, sql) sieved_at(con, sql, __FILE__, __LINE__)

static void make_rows(rayql_connection *con, unsigned rows)
{
	char sql[1536];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE t AS SELECT i::INTEGER AS id, CASE WHEN i %% 89 = 0 THEN NULL ELSE "
	         "(hash(i) %% 100000 * 3)::INTEGER END AS k, (hash(i * 3) %% 1000000000000)::BIGINT - 500000000000 AS b, "
	         "DATE '1970-01-01' + (hash(i * 5) %% 70000)::INTEGER - 35000 AS d, "
	         "(hash(i * 7) %% 10000000)::DECIMAL(12,2) AS p, CASE i %% 97 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN "
	         "'inf'::DOUBLE WHEN 2 THEN '-inf'::DOUBLE WHEN 3 THEN NULL WHEN 4 THEN -0.0 ELSE (hash(i * 9) %% "
	         "100000)::DOUBLE / 7 - 5000 END AS r, (hash(i * 11) %% 50)::TINYINT AS c, 'w' || (hash(i * 13) %% 5000) "
	         "AS w, (1e6 / (1 + hash(i * 17) %% 1000000))::INTEGER AS z FROM range(%u) q(i)",
	         rows);
	run(con, sql);
}

static void conjunctions(void **state)
{
	(void)state;
	struct session s = scan_session();
	make_rows(s.con, 300000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING sieve (k, b, d, p); "
	           "CREATE INDEX j ON t USING sieve (r, c, w, z) WITH (vectors = 60, components = 1, refine = positions)");
	expect(s.con, "SELECT name, kind, state, rows, bytes > rows FROM rayql_structures() WHERE kind <> 'columns'", NULL,
	       "i|sieve|ready|300000|true\nj|sieve|ready|300000|true\n");
	sieved(s.con, "SELECT count(*) FROM t WHERE k < 90000");
	sieved(s.con, "SELECT count(*), sum(id), min(w) FROM t WHERE k < 90000 AND b > 0 AND d < DATE '1980-01-01'");
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE k BETWEEN 1000 AND 250000 AND p >= 100.5");
	sieved(s.con, "SELECT count(*) FROM t WHERE k IN (3, 9, 10, 299997, NULL)");
	sieved(s.con, "SELECT count(*) FROM t WHERE k IS NULL AND b < 0");
	sieved(s.con, "SELECT count(*) FROM t WHERE k IS NOT NULL AND z > 3");
	sieved(s.con, "SELECT count(*) FROM t WHERE k < 10 AND k > 20"); /* a contradiction */
	sieved(s.con, "SELECT count(*) FROM t WHERE b > 700000000000 AND k > 5");
	sieved(s.con, "SELECT count(*) FROM t WHERE r > 5000 AND c = 7");
	sieved(s.con, "SELECT count(*) FROM t WHERE r = 'nan'::DOUBLE");
	sieved(s.con, "SELECT count(*) FROM t WHERE r >= 'inf'::DOUBLE");
	sieved(s.con, "SELECT count(*) FROM t WHERE r = 0");
	sieved(s.con, "SELECT count(*) FROM t WHERE w LIKE 'w1%' AND k < 100000");
	sieved(s.con, "SELECT c, count(*), sum(b) FROM t WHERE w < 'w3' AND z <= 2 GROUP BY c ORDER BY c");
	sieved(s.con, "SELECT id FROM t WHERE k < 3000 AND id > c"); /* the rest is the scan's */
	sieved(s.con, "SELECT id, p FROM t WHERE k < 30000 AND d > DATE '1975-01-01' ORDER BY p, id LIMIT 10");
	run(s.con, "SET rayql_enable_sieve = off");
	assert_false(by_sieve(s.con, "SELECT count(*) FROM t WHERE k < 90000"));
	run(s.con, "SET rayql_enable_sieve = on");
	run(s.con, "DROP INDEX i");
	assert_false(by_sieve(s.con, "SELECT count(*) FROM t WHERE k < 90000"));
	same(s.con, "SELECT count(*) FROM t WHERE k < 90000");
	sieved(s.con, "SELECT count(*) FROM t WHERE z < 4 AND c > 20");
	close_session(&s);
}

static void definitions(void **state)
{
	char path[256];
	(void)state;
	struct session s = open_session(scratch_path(path, "sieves.db"), NULL);
	run(s.con, "SET rayql_force = on");
	make_rows(s.con, 100000);
	fails(s.con, "CREATE INDEX i ON t USING sieve (*)", RAYQL_ERROR_STATEMENT, "names its columns");
	fails(s.con, "CREATE INDEX i ON t USING sieve (nothing)", RAYQL_ERROR_STATEMENT, "nothing");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k, k)", RAYQL_ERROR_STATEMENT, "given twice");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (unit = cpu)", RAYQL_ERROR_STATEMENT, "no option");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (vectors = 0)", RAYQL_ERROR_STATEMENT, "a number from 1");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (vectors = 5000)", RAYQL_ERROR_STATEMENT, "a number from 1");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (components = 3)", RAYQL_ERROR_STATEMENT, "a number from 1");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (refine = rays)", RAYQL_ERROR_STATEMENT,
	      "refine is auto, values, positions, blocks, drawn, rtc1, rtc3, matrix or cells");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (interval = 0)", RAYQL_ERROR_STATEMENT, "interval is 1 to");
	fails(s.con, "CREATE INDEX i ON t USING sieve (k) WITH (rows = ranges)", RAYQL_ERROR_STATEMENT, "rows is auto, bitmaps or");
	/* Before the columns: it says so, and is used when they are there. */
	run(s.con, "CREATE INDEX i ON t USING sieve (k, w) WITH (vectors = 40, rows = lists)");
	expect(s.con, "SELECT kind, state, rows FROM rayql_structures()", NULL, "sieve|ready|0\n");
	run(s.con, "CREATE INDEX c ON t USING columns (k, w, id)");
	sieved(s.con, "SELECT count(*) FROM t WHERE k < 30000 AND w > 'w2'");
	close_session(&s);
	s = open_session(path, NULL);
	run(s.con, "SET rayql_force = on");
	sieved(s.con, "SELECT count(*) FROM t WHERE k < 60000 AND w > 'w3'");
	expect(s.con, "SELECT definition, state FROM rayql_structures() WHERE name = 'i'", NULL,
	       "CREATE INDEX i ON t USING sieve (k, w) WITH (vectors = 40, components = 2, refine = auto, rows = lists);|ready\n");
	run(s.con, "REFRESH INDEX i");
	expect(s.con, "SELECT rows, bytes > 5 * rows FROM rayql_structures() WHERE name = 'i'", NULL, "100000|true\n");
	/* One of its columns goes; another is retyped. */
	run(s.con, "ALTER TABLE t ALTER COLUMN w TYPE BLOB");
	run(s.con, "REFRESH INDEX c");
	same(s.con, "SELECT count(*) FROM t WHERE k < 60000 AND w > 'w3'::BLOB");
	run(s.con, "ALTER TABLE t DROP COLUMN k");
	expect(s.con, "SELECT state FROM rayql_structures() WHERE name = 'i'", NULL, "invalid\n");
	run(s.con, "DROP INDEX i");
	/* Numbers beyond 64 bits may share keys, and are tested again. */
	run(s.con, "CREATE TABLE h AS SELECT i::HUGEINT AS x, i::INTEGER AS id FROM range(9000) q(i)");
	run(s.con, "CREATE INDEX hc ON h USING columns (*) WITH (refresh = auto); CREATE INDEX hs ON h USING sieve (x)");
	sieved(s.con, "SELECT count(*) FROM h WHERE x < 100");
	run(s.con, "INSERT INTO h VALUES (170141183460469231731687303715884105727, -1)");
	sieved(s.con, "SELECT count(*) FROM h WHERE x > 100");
	sieved(s.con, "SELECT count(*) FROM h WHERE x > 170141183460469231731687303715884105726");
	sieved(s.con, "SELECT count(*) FROM h WHERE x < 170141183460469231731687303715884105727");
	char *text = rows_of(s.con, "EXPLAIN SELECT count(*) FROM h WHERE x = 170141183460469231731687303715884105726", NULL);
	holds(text, "under sieve on cpu: ");
	free(text);
	/* Of UHUGEINTs without a dictionary columns answer no condition. */
	run(s.con, "CREATE TABLE v AS SELECT hash(i)::UHUGEINT * hash(i + 7) AS x, i::INTEGER AS id FROM range(20000) q(i)");
	run(s.con, "CREATE INDEX vc ON v USING columns (*); CREATE INDEX vs ON v USING sieve (x)");
	same_at(s.con, "SELECT count(*) FROM v WHERE x < 100", NULL, __FILE__, __LINE__);
	assert_false(by_sieve(s.con, "SELECT count(*) FROM v WHERE x < 100"));
	close_session(&s);
}

/* Every type that orders, and every condition of one column that is about its order: all are the sieve's. */
static void types(void **state)
{
	static const struct {
		const char *type, *make, *low, *high;
	} columns[] = {
		{"BOOLEAN", "r % 2 = 0", "false", "true"},
		{"TINYINT", "(r % 200)::INTEGER - 100", "-20", "70"},
		{"UBIGINT", "r", "4611686018427387904", "16000000000000000000"},
		{"HUGEINT", "(r // 2)::HUGEINT", "1000000000000000000", "8000000000000000000"},
		{"DECIMAL(4,1)", "(r % 999)::DECIMAL(4,1)", "100.5", "700"},
		{"DECIMAL(38,5)", "(r % 1000000000)::DECIMAL(38,5)", "1000.5", "700000000"},
		{"HUGEINT", "(r - 9223372036854775808::HUGEINT) * (r // 3)", "-3000000000000000000000000000",
		 "50000000000000000000000000000000000000"},
		{"DECIMAL(38,5)", "(r * 1000000000000::HUGEINT)::DECIMAL(38,5)", "1000.5", "7000000000000000000000000000000.12345"},
		{"UUID", "md5(r::VARCHAR)::UUID", "'30000000-0000-0000-0000-000000000000'", "'a0000000-0000-0000-0000-000000000000'"},
		{"FLOAT", "(r % 1000)::FLOAT / 7", "3", "100.5"},
		{"DOUBLE", "CASE r % 9 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN 'inf'::DOUBLE ELSE (r % 100)::DOUBLE END", "0", "'nan'"},
		{"DATE", "DATE '1990-01-01' + (r % 20000)::INTEGER", "'1995-01-01'", "'2020-02-02'"},
		{"TIME", "TIME '00:00:00' + to_seconds((r % 86000)::INTEGER)", "'03:00:00'", "'22:00:00'"},
		{"TIMESTAMP_NS", "(TIMESTAMP '2000-01-01' + to_seconds((r % 100000000)::INTEGER))::TIMESTAMP_NS", "'2000-03-01'", "'2002-01-01'"},
		{"TIMESTAMPTZ", "(TIMESTAMP '2000-01-01' + to_seconds((r % 100000000)::INTEGER))::TIMESTAMPTZ", "'2000-03-01'", "'2002-01-01'"},
		{"VARCHAR", "'w' || (r % 3000)", "'w1500'", "'w29'"},
		{"ENUM('a', 'b', 'c')", "CASE r % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END", "'a'", "'c'"},
		{"UUID", "md5((r % 1000)::VARCHAR)::UUID", "'30000000-0000-0000-0000-000000000000'", "'a0000000-0000-0000-0000-000000000000'"},
	};
	static const char *const conditions[] = {
		"x < L", "x >= H", "x BETWEEN L AND H", "x = H", "x IS NULL", "x <> H", "x IN (L, H)", "x NOT IN (L, H)",
		"(x < L OR x > H)", "(x < L OR x IS NULL)",
		"NOT (x > L AND x < H)", "(x = L OR NOT x <= H)", "x NOT IN (L, NULL)"};
	(void)state;
	struct session s = scan_session();
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		char sql[1024];
		snprintf(sql, sizeof sql,
		         "CREATE OR REPLACE TABLE u AS SELECT i::INTEGER AS id, (CASE WHEN i %% 13 = 0 THEN NULL ELSE %s END)::%s "
		         "AS x FROM (SELECT i, hash(i) AS r FROM range(5000) q(i)); CREATE OR REPLACE INDEX uc ON u USING columns "
		         "(*); CREATE OR REPLACE INDEX us ON u USING sieve (x)",
		         columns[c].make, columns[c].type);
		run(s.con, sql);
		for (unsigned k = 0; k < 4; k++) {
			size_t n = (size_t)snprintf(sql, sizeof sql, "SELECT count(*), sum(id) FROM u WHERE ");
			for (const char *at = conditions[(c * 4 + k) % (sizeof conditions / sizeof *conditions)]; *at; at++) {
				const bool value = (*at == 'L' || *at == 'H') && (at[1] == ',' || at[1] == ')' || at[1] == ' ' || !at[1]) &&
				                   (at[-1] == ' ' || at[-1] == '(');
				n += (size_t)(value ? snprintf(sql + n, sizeof sql - n, "%s::%s", *at == 'L' ? columns[c].low : columns[c].high,
				                               columns[c].type)
				                    : snprintf(sql + n, sizeof sql - n, "%c", *at));
			}
			sieved(s.con, sql);
		}
	}
	close_session(&s);
}

/* ---- side files ---- */
/* How many files of this kind stand beside the database; one of them. */
static unsigned side_files_of(const char *database, const char *suffix, char one[600])
{
	char folder[300];
	snprintf(folder, sizeof folder, "%s.rayql", database);
	DIR *dir = opendir(folder);
	unsigned n = 0;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		const size_t length = strlen(e->d_name), end = strlen(suffix);
		if (length <= end || strcmp(e->d_name + length - end, suffix) != 0)
			continue;
		n++;
		if (one)
			snprintf(one, 600, "%s/%s", folder, e->d_name);
	}
	if (dir)
		closedir(dir);
	return n;
}

#define KEPT "SELECT name, rows, bytes FROM rayql_structures() WHERE kind <> 'columns' ORDER BY name"
#define ORIGINS                                                                                                        \
	"SELECT name, coalesce(reason, 'made') FROM rayql_structures() WHERE kind <> 'columns' ORDER BY name"

/* Opens and asks one question; all of the indexes comes back with the columns, of which the question reads one. */
static struct session reopened(const char *path, const char *origins)
{
	struct session s = open_session(path, NULL);
	run(s.con, "SET rayql_force = on");
	sieved(s.con, "SELECT count(*) FROM t WHERE k < 60000");
	char *text = rows_of(s.con, ORIGINS, NULL);
	if (!strstr(text, origins))
		fail_msg("have: %s\nwant: ...%s...", text, origins);
	free(text);
	return s;
}

static void side_files(void **state)
{
	static const char *const all = "a|read from its side file\nh|read from its side file\ni|read from its side "
	                               "file\nj|read from its side file\no|read from its side file\n";
	char path[256], file[600];
	(void)state;
	struct session s = open_session(scratch_path(path, "kept.db"), NULL);
	run(s.con, "SET rayql_force = on");
	make_rows(s.con, 150000);
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); CREATE INDEX i ON t USING sieve (k, b, w); "
	           "CREATE INDEX j ON t USING sieve (r, c) WITH (refine = values, components = 1); "
	           "CREATE INDEX h ON t USING hash (w); CREATE INDEX o ON t USING sorted (b); CREATE INDEX a ON t USING auto (id)");
	char *kept = rows_of(s.con, KEPT, NULL);
	close_session(&s);
	assert_int_equal(side_files_of(path, ".sieve", NULL), 2);
	assert_int_equal(side_files_of(path, ".hash", NULL) + side_files_of(path, ".sorted", NULL), 2);
	s = reopened(path, all);
	expect(s.con, KEPT, NULL, kept);
	free(kept);
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE b > 0 AND w < 'w3' AND r >= 7 AND c <> 9");
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE w = 'w77'");
	same(s.con, "SELECT count(*), sum(k) FROM t WHERE id BETWEEN 1000 AND 1020");
	same(s.con, "SELECT count(*), sum(k) FROM t WHERE b BETWEEN 0 AND 10000000");
	/* Rows that come have runs of their own, which are written at the end. */
	run(s.con, "INSERT INTO t SELECT id + 1000000, k, b, d, p, r, c, 'x' || w, z FROM t LIMIT 30000");
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 30000 AND b > 0 AND w > 'w3'");
	close_session(&s);
	s = reopened(path, "i|read from its side file\n");
	expect(s.con, "SELECT rows FROM rayql_structures() WHERE name = 'i'", NULL, "180000\n");
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 30000 AND b > 0 AND w > 'w3'");
	/* Other rows: the file is of no use, and says so. */
	run(s.con, "UPDATE t SET k = k + 1, w = 'y' || w, b = -b, r = -r, c = c + 1, id = id + 7");
	close_session(&s);
	s = reopened(path, "i|its side file was not used: ");
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 30000 AND b > 0 AND w > 'yw3' AND r < 5 AND c > 3");
	close_session(&s);
	/* One that was written to is another file. */
	assert_int_equal(side_files_of(path, ".sieve", file), 2);
	FILE *f = fopen(file, "r+");
	assert_non_null(f);
	fseek(f, 700, SEEK_SET);
	fputc('!', f);
	fclose(f);
	s = reopened(path, "its side file was not used: ");
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 30000 AND b > 0 AND w > 'yw3' AND r < 5 AND c > 3");
	close_session(&s);
	s = reopened(path, "i|read from its side file\n");
	sieved(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 30000 AND b > 0 AND w > 'yw3' AND r < 5 AND c > 3");
	close_session(&s);
}

/* A sieve larger than the room there is: the error says so, and queries are answered all the same. */
static void memory(void **state)
{
	(void)state;
	struct session s = scan_session();
	make_rows(s.con, 200000);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	char *bytes = rows_of(s.con, "SELECT sum(bytes)::BIGINT // 1024 + 2000 FROM rayql_structures()", NULL), sql[128];
	snprintf(sql, sizeof sql, "SET rayql_memory_limit = '%sKiB'", strtok(bytes, "\n"));
	free(bytes);
	run(s.con, sql);
	fails(s.con, "CREATE INDEX i ON t USING sieve (k, b) WITH (vectors = 500)", RAYQL_ERROR_LIMIT, "memory limit");
	expect(s.con, "SELECT count(*) FROM rayql_structures() WHERE kind = 'sieve'", NULL, "0\n");
	same(s.con, "SELECT count(*) FROM t WHERE k < 70000 AND b > 0");
	run(s.con, "CREATE INDEX i ON t USING sieve (k, b) WITH (vectors = 4, components = 1, refine = values)");
	sieved(s.con, "SELECT count(*) FROM t WHERE k < 70000 AND b > 0");
	close_session(&s);
}

/* ---- random statements ---- */
static void put_value(char *out, size_t size, char column)
{
	static const char *const reals[] = {"'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "0.0", "-0.0", "1e300"};
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
	case 'r':
		if (roll(4) == 0)
			snprintf(out, size, "%s", reals[roll(6)]);
		else
			snprintf(out, size, "%d::DOUBLE / 7", (int)roll(100000) - 35000);
		break;
	case 'c':
		snprintf(out, size, "%u", roll(52));
		break;
	case 'z':
		snprintf(out, size, "%u", roll(3) ? roll(6) : roll(1000));
		break;
	default:
		snprintf(out, size, "'w%u'", roll(5200));
	}
}

static void put_condition(char *out, size_t size)
{
	static const char *const ops[] = {"=", "<", "<=", ">", ">=", "<", ">", "<>"};
	const char column = "kbdprcwz"[roll(8)];
	char a[64], b[64], c[64];
	put_value(a, sizeof a, column);
	put_value(b, sizeof b, column);
	put_value(c, sizeof c, column);
	switch (roll(8)) {
	case 0:
		snprintf(out, size, "%c IN (%s, %s, %s)", column, a, b, c);
		break;
	case 1:
	case 2:
		snprintf(out, size, "%c BETWEEN %s AND %s", column, a, b);
		break;
	case 3:
		snprintf(out, size, "%c IS %sNULL", column, roll(3) ? "NOT " : "");
		break;
	case 4:
		snprintf(out, size, "(%c < %s OR %c IS NULL)", column, a, column);
		break;
	default:
		snprintf(out, size, "%c %s %s", column, ops[roll(8)], a);
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
		snprintf(sql, sizeof sql, "UPDATE t SET k = %u, r = 'nan', w = NULL WHERE id = %u", roll(300000), roll(*rows));
		break;
	case 2:
		snprintf(sql, sizeof sql, "REFRESH INDEX %s", roll(2) ? "c" : "i");
		break;
	default: {
		const unsigned more = roll(2) ? 1 + roll(20) : 1 + roll(9000);
		snprintf(sql, sizeof sql,
		         "INSERT INTO t SELECT id + %u, k, b + %u, d, p, r, c, 'v' || w, z FROM t LIMIT %u", *rows, roll(5),
		         more);
		*rows += more;
		break;
	}
	}
	run(con, sql);
}

static void random_statements(void **state)
{
	static const char *const shapes[] = {"SELECT count(*), sum(id), min(b), max(w) FROM t WHERE ",
	                                     "SELECT count(*) FROM t WHERE ", "SELECT c, count(*) FROM t WHERE "};
	unsigned rows = 120000;
	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	struct session s = scan_session();
	make_rows(s.con, rows);
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); "
	           "CREATE INDEX i ON t USING sieve (k, b, d, r) WITH (refine = values); "
	           "CREATE INDEX j ON t USING sieve (p, c, w, z) WITH (vectors = 20, components = 1, refine = positions); "
	           "CREATE INDEX l ON t USING sieve (k, z, b) WITH (vectors = 30, refine = positions)");
	for (unsigned i = 0; i < statements; i++) {
		char sql[1024], condition[256];
		const unsigned shape = roll(3), conditions = 1 + roll(4);
		if (roll(8) == 0)
			change(s.con, &rows);
		size_t n = (size_t)snprintf(sql, sizeof sql, "%s", shapes[shape]);
		for (unsigned c = 0; c < conditions; c++) {
			put_condition(condition, sizeof condition);
			n += (size_t)snprintf(sql + n, sizeof sql - n, "%s%s", c ? " AND " : "", condition);
		}
		snprintf(sql + n, sizeof sql - n, "%s", shape == 2 ? " GROUP BY c ORDER BY c" : "");
		same(s.con, sql);
		(void)by_sieve(s.con, sql);
	}
	print_message("of %u statements that sieves could answer they answered %u\n", asked, taken);
	assert_true(asked > statements / 2 && taken > asked / 10);
	close_session(&s);
}

/* ---- on a GPU ---- */
/* One shape of statements, so that one kernel is made: rows come and go, and the device fails. */
static void on_a_device(void **state)
{
	static const char statement[] = "SELECT count(*), sum(id) FROM t WHERE k < %u AND b > %lld AND r >= %d";
	const unsigned asked_there = QUERY_STEP > 1 ? 8 : 24;
	unsigned rows = 30000, under = 0;
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, rows);
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); "
	           "CREATE INDEX i ON t USING sieve (k, b, r)");
	use(s.con, "compute");
	for (unsigned i = 0; i < asked_there; i++) {
		char sql[512], explain[600];
		if (roll(4) == 0)
			change(s.con, &rows);
		snprintf(sql, sizeof sql, statement, roll(300000), (long long)roll(1000) * 1000000000 - 500000000000,
		         (int)roll(20000) - 5000);
		snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
		same(s.con, sql);
		char *text = rows_of(s.con, explain, NULL);
		holds(text, "by scan under sieve on compute (");
		holds(text, "by scan under sieve by positions on compute (");
		holds(text, "by scan under sieve by blocks on compute (");
		under += strstr(text, "under rows of sieve") != NULL;
		free(text);
	}
	print_message("%u of %u under a sieve's rows on the device\n", under, asked_there);
	assert_true(under > 0);
	close_session(&s);
	with_vulkan("vulkan:0 submission 4");
	s = scan_session();
	make_rows(s.con, 30000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING sieve (k, b, r)");
	use(s.con, "compute");
	same_at(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 3000 AND b > 0 AND r >= 7", NULL, __FILE__, __LINE__);
	close_session(&s);
	with_vulkan(NULL);
}

/* Each form of refinement, on the unit that it is for: what it says of itself, and its answers. */
static void forms(void **state)
{
	static const struct {
		const char *options, *unit;
	} cases[] = {{"refine = values", "compute"},   {"refine = positions", "compute"},
	             {"refine = blocks", "compute"},   {"refine = values, rows = lists", "compute"},
	             {"refine = blocks, vectors = 2, components = 1, rows = lists", "compute"},
	             {"refine = drawn", "raster"},     {"refine = rtc1", "rt"},
	             {"refine = rtc3", "rt"},          {"refine = matrix, interval = 80, spacing = 50", "rt"},
	             {"refine = matrix, encoding = values", "rt"}, {"refine = cells, vectors = 20, components = 1", "rt"}};
	static const char *const unions[] = {
		"SELECT count(*), sum(id) FROM t WHERE k <> (SELECT min(k) FROM t WHERE k > 150000)",
		"SELECT count(*), sum(id) FROM t WHERE k <> 150000 AND (k < 120000 OR k > 130000)",
		"SELECT count(*), sum(id) FROM t WHERE k < 100000 OR k BETWEEN 100500 AND 101000"};
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, 5000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); SET rayql_device = 'vulkan:0'; SET rayql_force = rows");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char sql[256], under[64];
		const char *unit = has_unit(cases[i].unit) ? cases[i].unit : "compute";
		snprintf(sql, sizeof sql, "CREATE OR REPLACE INDEX i ON t USING sieve (k, b, r, p) WITH (%s)", cases[i].options);
		snprintf(under, sizeof under, "under rows of sieve on %s", unit);
		run(s.con, sql);
		char *text = rows_of(s.con, "EXPLAIN SELECT count(*) FROM t WHERE k < 20000 AND b > 0", NULL);
		holds(text, under);
		free(text);
		text = rows_of(s.con, "EXPLAIN ANALYZE SELECT count(*) FROM t WHERE k < 20000 AND b > 0", NULL);
		const char *found = strstr(text, "rows found: ");
		assert_non_null(found);
		assert_int_equal(strstr(found, " hits, ") != NULL, strcmp(unit, "rt") == 0);
		holds(found, " rows tested at bounds, ");
		free(text);
		for (unsigned k = 0; k < 3; k++) {
			snprintf(sql, sizeof sql, "SELECT count(*), sum(id) FROM t WHERE k < %u AND b > %lld%s", roll(300000),
			         (long long)roll(1000) * 1000000000 - 500000000000,
			         k ? " AND r >= 0" : " AND r >= 0 AND p IS NOT NULL");
			same(s.con, sql);
		}
		for (size_t r = 0; r < sizeof unions / sizeof *unions; r++) /* several ranges, of one bin too */
			same(s.con, unions[r]);
	}
	close_session(&s);
}

/* rayql_force = rows: a scan of all rows is no candidate where a sieve gives the rows, whatever the prices say. */
static void forced_rows(void **state)
{
	static const char *const sql = "SELECT count(*), sum(id) FROM t WHERE k >= 0 AND b > -600000000000";
	static const struct {
		const char *setting;
		bool forced;
	} cases[] = {{"SET rayql_force = on", false},
	             {"SET rayql_force = rows", true},
	             {"SET rayql_enable_sieve = off", false},
	             {"SET rayql_enable_sieve = on", true},
	             {"SET rayql_force = off", false}};
	(void)state;
	struct session s = scan_session();
	make_rows(s.con, 30000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING sieve (k, b)");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char explain[160];
		run(s.con, cases[i].setting);
		snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
		char *text = rows_of(s.con, explain, NULL);
		assert_int_equal(strstr(text, "c by scan on cpu: rayql_force says rows") != NULL, cases[i].forced);
		assert_true(!cases[i].forced || strstr(text, "under rows of sieve on cpu"));
		free(text);
		same(s.con, sql);
	}
	close_session(&s);
}

/* Rows of a block as a bitmap, a list or ranges: what EXPLAIN expects, what a run had, and answers of what comes next. */
static void rows_forms(void **state)
{
	static const struct {
		const char *where, *expected, *had;
	} cases[] = {{"h < 800000 AND g < 800000", "mostly as bitmaps", "0 lists, 0 ranges"},
	             {"h < 1500 AND g < 1000000", "mostly as lists", "blocks as 0 bitmaps"},
	             {"id BETWEEN 0 AND 29999", "mostly as ranges", "0 bitmaps, 0 lists"}};
	static const char *const selects[] = {"count(*)", "count(*), sum(g), min(id)", "id, g", "id, g, h"};
	(void)state;
	struct session s = scan_session();
	run(s.con, "CREATE TABLE t AS SELECT i::INTEGER AS id, (hash(i) % 1000000)::INTEGER AS g, "
	           "(hash(i + 7) % 1000000)::INTEGER AS h FROM range(60000) r(i); CREATE INDEX c ON t USING columns (*); "
	           "CREATE INDEX i ON t USING sieve (id, g, h); SET rayql_force = rows");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t k = 0; k < sizeof selects / sizeof *selects; k++) {
			char sql[256], explain[300];
			snprintf(sql, sizeof sql, "SELECT %s FROM t WHERE %s%s", selects[k], cases[i].where,
			         k == 3 ? " ORDER BY h, id LIMIT 50" : "");
			snprintf(explain, sizeof explain, "EXPLAIN ANALYZE %s", sql);
			char *text = rows_of(s.con, explain, NULL);
			holds(text, cases[i].expected);
			holds(text, cases[i].had);
			free(text);
			same(s.con, sql);
		}
	close_session(&s);
}

/* The same on a GPU: lists, with bitmaps of blocks that have more rows, also where nearly all have. */
static void lists_on_a_device(void **state)
{
	static const struct {
		const char *where, *had; /* had: by EXPLAIN ANALYZE, where it is asked */
	} cases[] = {{"g < 1500 AND h < 1000000", "blocks as 0 bitmaps"},
	             {"id BETWEEN 4000 AND 12300", NULL},  /* two whole blocks, and some rows of two others */
	             {"g >= 0 AND id >= 0", "0 lists"},    /* all of them */
	             {"(g < 900 OR g > 400000)", "0 lists"}, /* many */
	             {"h IS NULL AND g < 40000", NULL},
	             {"id = 20479 AND g >= 0", "blocks as 0 bitmaps, 1 lists"}, /* one: the last of its block */
	             {"g = 500000 AND h > 999999", NULL}}; /* none */
	/* The second beside a condition of its own, by which no row of the first block passes. */
	static const char *const selects[] = {"count(*), sum(id), min(h)", "id, h"};
	const size_t step = QUERY_STEP > 1 ? 2 : 1;
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = scan_session();
	run(s.con, "CREATE TABLE t AS SELECT i::INTEGER AS id, (hash(i) % 1000000)::INTEGER AS g, CASE WHEN i % 9 = 0 THEN "
	           "NULL ELSE (hash(i + 7) % 1000000)::INTEGER END AS h, (i // 1000)::INTEGER AS w FROM range(50000) r(i); "
	           "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); SET rayql_device = 'vulkan:0'; "
	           "SET rayql_force = rows; CREATE INDEX i ON t USING sieve (id, g, h) WITH (rows = lists, refine = values)");
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
			for (size_t k = (i + round) % step; k < 2; k += step) {
				char sql[256], explain[300];
				snprintf(sql, sizeof sql, "SELECT %s FROM t WHERE %s%s", selects[k], cases[i].where, k ? " AND w > 4" : "");
				same(s.con, sql);
				snprintf(explain, sizeof explain, "EXPLAIN %s%s", k || round ? "" : "ANALYZE ", sql);
				char *text = rows_of(s.con, explain, NULL);
				holds(text, "under rows of sieve on compute");
				holds(text, "mostly as lists");
				holds(text, k || round || !cases[i].had ? "" : cases[i].had);
				free(text);
			}
		same(s.con, "SELECT id FROM t WHERE g < 300000 LIMIT 7");
		/* Rows go, come and change: several segments, and blocks that are not full. */
		run(s.con, round ? "INSERT INTO t SELECT id + 50000, g, h, w FROM t WHERE id < 9000"
		                 : "DELETE FROM t WHERE id % 5 = 0; UPDATE t SET g = 7 WHERE id % 1001 = 3; DROP INDEX i; "
		                   "CREATE INDEX i ON t USING sieve (id, g, h) WITH (rows = lists, refine = blocks)");
	}
	close_session(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		statements = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conjunctions),
		cmocka_unit_test(definitions),
		cmocka_unit_test(memory),
		cmocka_unit_test(side_files),
		cmocka_unit_test(types),
		cmocka_unit_test(random_statements),
		cmocka_unit_test(forms), cmocka_unit_test(forced_rows),
		cmocka_unit_test(on_a_device),
		cmocka_unit_test(rows_forms),
		cmocka_unit_test(lists_on_a_device),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
