/* Rows of constants compared with rows of columns, in every form that says so, with indexes and without: DuckDB's answers. */
#include "check.h"

#ifdef __SANITIZE_ADDRESS__
#define STATEMENTS 120
#else
#define STATEMENTS 300
#endif

static struct session open_world(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE t AS SELECT (i * 7919 % 300)::INTEGER AS a, (i % 97)::INTEGER AS b, CASE WHEN i % 6 > 0 THEN "
	           "(i * 31 % 60)::INTEGER END AS n, CASE WHEN i % 9 > 0 THEN 's' || (i % 41) END AS s, (i * 13 % 500)::BIGINT AS l, "
	           "(i % 12)::DOUBLE / 4 AS r, DATE '2020-01-01' + (i % 50)::INTEGER AS d, i::INTEGER AS v FROM range(30000) r(i)");
	run(s.con, "CREATE INDEX tc ON t USING columns (*)");
	return s;
}

static rayql_connection *host_of(struct session *s)
{
	rayql_connection *con = NULL;
	assert_int_equal(rayql_connect(s->db, &con, NULL), RAYQL_OK);
	run(con, "SET rayql_enable_scan = off");
	return con;
}

static void same(struct session *s, rayql_connection *host, const char *sql, const char *method)
{
	char *want = rows_of(host, sql, NULL);
	expect(s->con, sql, method, want);
	free(want);
}

static bool explains(rayql_connection *con, const char *sql, const char *text)
{
	char explain[1024];
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	char *plan = rows_of(con, explain, NULL);
	bool has = strstr(plan, text) != NULL;
	free(plan);
	return has;
}

/* What an index over both columns finds, and what the scan answers alone. */
static void explained(void **state)
{
	(void)state;
	static const char *const found[] = {
		"SELECT count(*), sum(v) FROM t WHERE (a, b) IN ((1, 2), (3, 4), (150, 31), (7, 96))",
		"SELECT count(*), sum(v) FROM t WHERE (b, a) IN ((2, 1), (4, 3), (31, 150)) AND v > 100",
		"SELECT count(*), sum(v) FROM t WHERE a = 1 AND b = 2 OR a = 3 AND b = 4 OR b = 31 AND a = 150",
		"SELECT count(*), sum(v) FROM t WHERE (a = 1 AND b = 2) OR (a = 3 AND b = 4 AND v >= 1000)",
		"SELECT count(*), sum(v) FROM t WHERE (a, b) = (150, 31)",
		"SELECT a, b, v FROM t WHERE (a, b) IN ((1, 2), (3, 4), (150, 31), (7, 96)) ORDER BY v",
	};
	static const char *const scanned[] = {
		"SELECT count(*), sum(v) FROM t WHERE (a, n) IN ((1, 2), (3, NULL), (4, 5))",
		"SELECT count(*), sum(v) FROM t WHERE (a, n) NOT IN ((1, 2), (3, NULL), (4, 5))",
		"SELECT count(*), sum(v) FROM t WHERE (a, n) <> (4, 5)",
		"SELECT count(*), sum(v) FROM t WHERE (n, s) = (NULL, 's3')",
		"SELECT (n, b) IN ((1, 2), (NULL, 3)) AS x, count(*) FROM t GROUP BY x ORDER BY x",
	};
	struct session s = open_world();
	rayql_connection *host = host_of(&s);
	run(s.con, "SET rayql_force = on");
	for (size_t i = 0; i < sizeof found / sizeof *found; i++)
		same(&s, host, found[i], "scan");
	run(s.con, "CREATE INDEX ab ON t USING hash (a, b)");
	for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
		same(&s, host, found[i], "scan");
		if (!explains(s.con, found[i], "in ab"))
			fail_msg("no index finds %s", found[i]);
	}
	for (size_t i = 0; i < sizeof scanned / sizeof *scanned; i++)
		same(&s, host, scanned[i], "scan");
	/* A list without an end is left to the host. */
	struct { char text[16000]; size_t length; } sql = {0};
	sql.length = (size_t)snprintf(sql.text, sizeof sql.text, "SELECT count(*), sum(v) FROM t WHERE (a, b) IN (");
	for (int i = 0; i < 900; i++)
		sql.length += (size_t)snprintf(sql.text + sql.length, sizeof sql.text - sql.length, "%s(%d, %d)", i ? ", " : "", i % 300, i % 97);
	snprintf(sql.text + sql.length, sizeof sql.text - sql.length, ")");
	same(&s, host, sql.text, NULL);
	rayql_disconnect(host);
	close_session(&s);
}

static uint32_t draw(uint64_t *noise, uint32_t below)
{
	*noise = *noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*noise >> 33) % below;
}

struct text {
	char bytes[6000];
	size_t length;
};

/* A field that fails in rows whose other field differs: DuckDB evaluates both before it compares, and raises. */
static void failing_fields(void **state)
{
	(void)state;
	static const char *const failing[] = {
		"SELECT count(*) FROM t WHERE (b, a + 2147483600) = (96, 7)",
		"SELECT count(*) FROM t WHERE (a + 2147483600, b) = (7, 96)",
		"SELECT count(*) FROM t WHERE (b, a + 2147483600) IN ((96, 7), (95, 8))",
	};
	struct session s = open_world();
	run(s.con, "SET rayql_force = on");
	for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
		rayql_result *result = NULL;
		rayql_error *err = NULL;
		assert_int_not_equal(rayql_query(s.con, failing[i], &result, &err), RAYQL_OK);
		assert_non_null(strstr(rayql_error_message(err), "Overflow"));
		rayql_error_free(err);
	}
	close_session(&s);
}

static void put(struct text *out, const char *text)
{
	out->length += (size_t)snprintf(out->bytes + out->length, sizeof out->bytes - out->length, "%s", text);
}

static const char *const columns[] = {"a", "b", "n", "s", "l", "r", "d"};
#define COLUMNS (sizeof columns / sizeof *columns)

static void put_value(uint64_t *noise, uint32_t column, bool nulls, struct text *out)
{
	char value[40];
	const uint32_t at = draw(noise, 350);
	if (nulls && draw(noise, 8) == 0)
		snprintf(value, sizeof value, "NULL");
	else if (column == 3)
		snprintf(value, sizeof value, "'s%u'", at % 45);
	else if (column == 5)
		snprintf(value, sizeof value, "%u.%u", at % 4, at % 2 ? 25 : 5);
	else if (column == 6)
		snprintf(value, sizeof value, "DATE '2020-01-%02u'", at % 31 + 1);
	else
		snprintf(value, sizeof value, "%u", column == 4 ? at : column == 2 ? at % 65 : column == 1 ? at % 100 : at);
	put(out, value);
}

static void put_list(uint64_t *noise, const uint32_t *of, uint32_t width, struct text *out)
{
	const uint32_t count = draw(noise, 4) ? 1 + draw(noise, 12) : 1 + draw(noise, 120);
	const bool nulls = draw(noise, 3) == 0;
	put(out, "(");
	for (uint32_t w = 0; w < width; w++) {
		put(out, w ? ", " : "");
		put(out, columns[of[w]]);
	}
	put(out, draw(noise, 5) ? ") IN (" : ") NOT IN (");
	for (uint32_t i = 0; i < count; i++) {
		put(out, i ? ", (" : "(");
		for (uint32_t w = 0; w < width; w++) {
			put(out, w ? ", " : "");
			put_value(noise, of[w], nulls, out);
		}
		put(out, ")");
	}
	put(out, ")");
}

static void put_branches(uint64_t *noise, const uint32_t *of, uint32_t width, struct text *out)
{
	const uint32_t count = 2 + draw(noise, 8);
	put(out, "(");
	for (uint32_t i = 0; i < count; i++) {
		put(out, i ? " OR (" : "(");
		for (uint32_t w = 0; w < width; w++) {
			const uint32_t column = of[(w + i) % width];
			put(out, w ? " AND " : "");
			put(out, columns[column]);
			put(out, draw(noise, 15) ? " = " : " >= ");
			put_value(noise, column, false, out);
		}
		put(out, draw(noise, 6) ? ")" : " AND v % 3 = 1)");
	}
	put(out, ")");
}

static void put_statement(uint64_t *noise, struct text *out)
{
	uint32_t of[4];
	const uint32_t width = 2 + (draw(noise, 3) == 0) + (draw(noise, 6) == 0);
	const uint32_t first = draw(noise, COLUMNS), step = 1 + draw(noise, 2);
	const bool indexed = draw(noise, 2);
	for (uint32_t w = 0; w < width; w++)
		of[w] = indexed ? w : (uint32_t)((first + w * step) % COLUMNS);
	out->length = 0;
	put(out, draw(noise, 3) ? "SELECT count(*), sum(v), min(s) FROM t WHERE " : "SELECT v FROM t WHERE v < 20000 AND ");
	if (draw(noise, 2))
		put_list(noise, of, width, out);
	else
		put_branches(noise, of, width, out);
	if (draw(noise, 4) == 0)
		put(out, " AND b < 60");
	put(out, " ORDER BY 1 LIMIT 100");
}

static void random_statements(void **state)
{
	(void)state;
	struct session s = open_world();
	rayql_connection *host = host_of(&s);
	uint64_t noise = 7;
	struct text sql;
	for (int i = 0; i < STATEMENTS; i++) {
		if (i == STATEMENTS / 3)
			run(s.con, "CREATE INDEX ab ON t USING auto (a, b)");
		if (i == STATEMENTS / 2)
			run(s.con, "CREATE INDEX abn ON t USING sorted (a, b, n)");
		if (i == STATEMENTS * 2 / 3)
			run(s.con, "CREATE INDEX ns ON t USING btree (n, s)");
		run(s.con, i % 3 == 0 ? "SET rayql_force = rows" : i % 3 == 1 ? "SET rayql_force = on" : "SET rayql_force = off");
		put_statement(&noise, &sql);
		same(&s, host, sql.bytes, NULL);
	}
	rayql_disconnect(host);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explained),
		cmocka_unit_test(failing_fields),
		cmocka_unit_test(random_statements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
