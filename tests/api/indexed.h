/* What the tests of indexes on devices share: a table with columns of many types, and random conditions and changes. */
#ifndef RQL_TESTS_API_INDEXED_H
#define RQL_TESTS_API_INDEXED_H

#include "device.h"
#include "scans.h"

static unsigned statements = 50 / (QUERY_STEP > 1 ? 3 : 1);
static uint64_t seed = 20261125;

static inline unsigned roll(unsigned n)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

static inline void make_rows(rayql_connection *con, unsigned rows)
{
	char sql[1024];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE t AS SELECT i::INTEGER AS id, CASE WHEN i %% 89 = 0 THEN NULL ELSE "
	         "(hash(i) %% 9000 * 3)::INTEGER END AS k, (hash(i * 3) %% 2000)::BIGINT * 4611686018427387 - "
	         "4611686018427387904 AS b, DATE '1970-01-01' + (hash(i * 5) %% 70000)::INTEGER - 35000 AS d, "
	         "(hash(i * 7) %% 10000000)::DECIMAL(12,2) AS p, 'w' || (hash(i * 13) %% 500) AS w, "
	         "TIMESTAMP '2020-01-01' + INTERVAL (hash(i * 11) %% 3000) HOUR AS s, CASE i %% 70 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN "
	         "'-0.0'::DOUBLE ELSE (hash(i * 17) %% 4000)::DOUBLE / 16 - 100 END AS x FROM range(%u) q(i)",
	         rows);
	run(con, sql);
}

/* A value of the column, which often is there. */
static inline void put_value(char *out, size_t size, char column)
{
	switch (column) {
	case 'k':
		snprintf(out, size, "%d", (int)roll(28000) - 500);
		break;
	case 'b':
		snprintf(out, size, "%lld", (long long)roll(2000) * 4611686018427387 - 4611686018427387904 + (roll(4) == 0));
		break;
	case 'd':
		snprintf(out, size, "DATE '%u-0%u-1%u'", 1870 + roll(200), 1 + roll(9), roll(10));
		break;
	case 'p':
		snprintf(out, size, "%u.%02u", roll(10000000), roll(3));
		break;
	case 's':
		snprintf(out, size, "TIMESTAMP '2020-0%u-1%u 0%u:00:00'", 1 + roll(6), roll(10), roll(10));
		break;
	case 'x':
		if (roll(9))
			snprintf(out, size, "%d.5::DOUBLE", (int)roll(260) - 105);
		else
			snprintf(out, size, "'nan'::DOUBLE");
		break;
	default:
		snprintf(out, size, "'w%u'", roll(520));
	}
}

static inline void put_condition(char *out, size_t size)
{
	static const char *const ops[] = {"=", "<", ">=", ">", "<=", "="};
	const char column = "kbdpwsx"[roll(7)];
	char a[64], b[64], c[64];
	put_value(a, sizeof a, column);
	put_value(b, sizeof b, column);
	put_value(c, sizeof c, column);
	switch (column == 'x' ? 1 + roll(4) : roll(5)) { /* an IN of reals is scanned */
	case 0:
		snprintf(out, size, "%c IN (%s, %s, %s)", column, a, b, c);
		break;
	case 1:
		snprintf(out, size, "%c BETWEEN %s AND %s", column, a, b);
		break;
	default:
		snprintf(out, size, "%c %s %s", column, ops[roll(6)], a);
	}
}

static inline void change(rayql_connection *con, unsigned *rows)
{
	char sql[256];
	switch (roll(4)) {
	case 0:
		snprintf(sql, sizeof sql, "DELETE FROM t WHERE id = %u", roll(*rows));
		break;
	case 1:
		snprintf(sql, sizeof sql, "UPDATE t SET k = %u, w = NULL WHERE id = %u", roll(27000), roll(*rows));
		break;
	default: {
		const unsigned more = roll(2) ? 1 + roll(20) : 1 + roll(6000);
		snprintf(sql, sizeof sql,
		         "INSERT INTO t SELECT id + %u, k, b + %u, d, p, 'v' || w, s, x FROM t LIMIT %u", *rows, roll(5), more);
		*rows += more;
		break;
	}
	}
	run(con, sql);
}

/* Is the statement answered under rows of an index on this unit? */
static inline bool by_index(rayql_connection *con, const char *sql, const char *unit)
{
	char *explain = malloc(strlen(sql) + 32), wanted[48];
	assert_non_null(explain);
	sprintf(explain, "EXPLAIN %s", sql);
	snprintf(wanted, sizeof wanted, "under rows of index on %s", unit);
	char *text = rows_of(con, explain, NULL);
	const bool taken = strstr(text, wanted) != NULL;
	free(text);
	free(explain);
	return taken;
}

/* Rows of a side that an index finds by more keys than any list has, which lie on the device: of every kind of join, with
 * NULLs, keys that come again on both sides, and none. Needs make_rows; rayql_force is 'rows'. */
static inline void join_by_keys(rayql_connection *con, const char *unit)
{
	static const struct {
		const char *sql;
		bool looked_up;
	} cases[] = {
		{"SELECT count(*), sum(t.id), sum(m.v) FROM t JOIN m ON t.k = m.k WHERE m.v % 3 <> 1", true},
		{"SELECT t.id, m.v FROM t JOIN m ON t.p = m.p WHERE m.v < 90 ORDER BY ALL", true},
		{"SELECT count(*), sum(id) FROM t WHERE EXISTS (SELECT 1 FROM m WHERE m.k = t.k AND m.d < t.d AND m.v > t.id - 5000)", true},
		{"SELECT count(*), sum(v), sum(id) FROM m LEFT JOIN t ON t.p = m.p AND t.id > m.v", true},
		{"SELECT count(*), sum(v) FROM m WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = m.k AND t.d > m.d AND t.id > m.v)", true},
		/* codes of one dictionary; keys that are a join's rows; no keys at all */
		{"SELECT count(*), sum(t.id) FROM t JOIN t s ON t.w = s.w WHERE s.k < 300", true},
		{"SELECT count(*), sum(t.id) FROM m JOIN m n ON m.k = n.k JOIN t ON t.p = n.p", true},
		{"SELECT count(*), sum(t.id) FROM t JOIN m ON t.k = m.k WHERE m.v * 2 = 3", true},
		/* reals, of which NaN and -0 are keys; two columns, with texts of two dictionaries; two of which one is made of values */
		{"SELECT count(*), count(t.id), sum(t.id), sum(v) FROM m LEFT JOIN t ON t.x = m.x AND t.id < m.v", true},
		{"SELECT count(*), sum(t.id), min(m.v) FROM t JOIN m ON t.w = m.w AND t.k = m.k", true},
		{"SELECT count(*), sum(v), sum(id) FROM m LEFT JOIN t ON t.w = m.w AND year(t.d) = year(m.d) AND t.id < m.v", true},
		/* rows without a partner count here */
		{"SELECT count(*), sum(v), sum(id) FROM m FULL JOIN t ON t.k = m.k", false},
		{"SELECT count(*), sum(v) FROM m WHERE k NOT IN (SELECT k FROM t WHERE id > 20)", false},
	};
	char wanted[64];
	run(con, "CREATE TABLE m AS SELECT CASE WHEN i % 9 = 0 THEN NULL ELSE (hash(i) % 9900 * 3)::INTEGER - 600 END AS k, "
	         "(hash(i // 2 * 7) % 10000000 + (i % 12 = 0)::INTEGER)::DECIMAL(12,2) AS p, DATE '1970-01-01' + "
	         "(hash(i * 5) % 90000)::INTEGER - 45000 AS d, (i // 2)::INTEGER AS v, CASE WHEN i % 8 = 0 THEN NULL ELSE 'w' || (hash(i * 13) % "
	         "600) END AS w, CASE i % 300 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 0.0 WHEN 2 THEN 'inf'::DOUBLE WHEN 3 THEN NULL ELSE "
	         "(hash(i * 17) % 5000)::DOUBLE / 16 - 130 END AS x FROM range(9000) q(i); "
	         "CREATE INDEX cm ON m USING columns (*)");
	snprintf(wanted, sizeof wanted, "under rows of index on %s, in i_", unit);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char explain[256];
		snprintf(explain, sizeof explain, "EXPLAIN %s", cases[i].sql);
		same_at(con, cases[i].sql, NULL, __FILE__, __LINE__);
		char *text = rows_of(con, explain, NULL);
		const char *at = strstr(text, wanted);
		/* Once a map without keys is there, its plan may be the cheaper one: it looks its keys up, too. */
		const bool by_keys = at && (strstr(at, "by keys that lie there") || strstr(at, ": 0 keys"));
		if (by_keys != cases[i].looked_up)
			fail_msg("%s\n%s", cases[i].sql, text);
		free(text);
	}
	/* The other way round: what is new is found in runs that were not there, whose texts have codes of their own. */
	run(con, "INSERT INTO t SELECT id + 100000, k, b + 1, d, p, CASE WHEN id % 2 = 0 THEN 'w' || id ELSE 'a' END, s, x FROM t WHERE id "
	         "< 700; DELETE FROM t WHERE id = 17");
	same_at(con, cases[0].sql, NULL, __FILE__, __LINE__);
	same_at(con, cases[9].sql, NULL, __FILE__, __LINE__);
}

/* Keys beyond 64 bits with their type's ends, NULLs, keys that come again, and values that differ in their lowest bits alone:
 * every row that is found has the value, since no GPU tests such a column. Indexes are of these two forms; rayql_force is
 * 'rows'. */
static inline void wide_keys(rayql_connection *con, const char *unit, const char *form, const char *other)
{
	static const char *const cases[] = {
		"SELECT count(*), sum(g.x), sum(f.id) FROM g JOIN f ON f.%c = g.%c",
		"SELECT f.id, f.%c FROM f WHERE f.%c IN (SELECT %c FROM g WHERE x < 2000) ORDER BY ALL",
		"SELECT count(*), count(f.id), sum(g.x) FROM g LEFT JOIN f ON f.%c = g.%c",
		"SELECT g.x FROM g WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.%c = g.%c) ORDER BY ALL",
		"SELECT id, %c FROM f WHERE %c = (SELECT max(%c) FROM f) ORDER BY ALL",
	};
	char sql[1400];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE f AS SELECT i::INTEGER AS id, CASE i %% 700 WHEN 0 THEN '340282366920938463463374607431768211455' WHEN 1 THEN "
	         "NULL WHEN 2 THEN '0' WHEN 3 THEN '170141183460469231731687303715884105728' ELSE ((hash(i) %% 9000)::UHUGEINT * "
	         "'30000000000000000000000000000000000'::UHUGEINT + (i %% 3)::UHUGEINT)::VARCHAR END::UHUGEINT AS u, CASE i %% 700 WHEN 4 THEN "
	         "'170141183460469231731687303715884105727' WHEN 5 THEN '-170141183460469231731687303715884105728' WHEN 6 THEN NULL ELSE "
	         "(((hash(i) %% 9000)::HUGEINT - 4000) * '15000000000000000000000000000000000'::HUGEINT + i %% 3)::VARCHAR END::HUGEINT AS h, "
	         "CASE i %% 700 WHEN 7 THEN '99999999999999999999999999999999999.999' WHEN 8 THEN "
	         "'-99999999999999999999999999999999999.999' WHEN 9 THEN NULL ELSE (((hash(i) %% 9000)::HUGEINT - 4000) * "
	         "'10000000000000000000000000000000'::HUGEINT)::VARCHAR || '.00' || (i %% 3) END::DECIMAL(38, 3) AS d FROM range(12000) q(i); "
	         "CREATE TABLE g AS SELECT id AS x, u, h, d FROM f WHERE id %% 1400 < 12; INSERT INTO g VALUES (-1, 7, 7, 7); "
	         "CREATE INDEX cf ON f USING columns (*); CREATE INDEX cg ON g USING columns (*); CREATE INDEX f_u ON f USING %s (u); "
	         "CREATE INDEX f_h ON f USING %s (h); CREATE INDEX f_d ON f USING %s (d)",
	         form, other, form);
	run(con, sql);
	for (const char *key = "uhd"; *key; key++)
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			char *to = sql;
			for (const char *c = cases[i]; *c; c++) {
				const bool is_key = c[0] == '%';
				*to++ = is_key ? *key : *c;
				c += is_key;
			}
			*to = 0;
			same_at(con, sql, NULL, __FILE__, __LINE__);
			if (!by_index(con, sql, unit))
				fail_msg("%s\nis not looked up by %s", sql, unit);
		}
	same_at(con, "SELECT count(*), sum(id) FROM f WHERE u IN (0, 7) OR u IS NULL", NULL, __FILE__, __LINE__);
}

#endif
