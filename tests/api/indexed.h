/* What the tests of indexes on devices share: a table with columns of many types, and random conditions and changes. */
#ifndef RQL_TESTS_API_INDEXED_H
#define RQL_TESTS_API_INDEXED_H

#include "check.h"

static unsigned statements = 50;
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

#endif
