/* Prepared statements with parameters on keys: which plans run with other values, and random ones of them beside
 * the host while rows, indexes and transactions come and go. test_points [STATEMENTS [SEED]] */
#include "device.h"
#include <math.h>

static unsigned statements = 150;
static uint64_t seed = 20261125;

static unsigned roll(unsigned n)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

/* The same rows of the same columns: by RayQL, and by the host on a connection of its own. */
struct asked {
	const char *sql;
	const char *columns; /* whose values are bound, a letter a parameter: (k) BIGINT, (i) INTEGER, (v) SMALLINT, (d) DATE,
	                        (p) DECIMAL, (s) TIMESTAMP, (w, x) VARCHAR, (f) DOUBLE */
	bool point;    /* its plan may serve other values, */
	bool on_gpu;   /* also on a GPU */
	rayql_statement *mine, *hosts;
	unsigned runs, reused;
};

static struct asked all[] = {
	{.sql = "SELECT id, w FROM t WHERE k = ?", .columns = "k", .point = true, .on_gpu = true},
	{.sql = "SELECT id, v FROM t WHERE i = $1", .columns = "i", .point = true, .on_gpu = true},
	{.sql = "SELECT count(*), sum(id), min(w) FROM t WHERE k = ?", .columns = "k", .point = true, .on_gpu = true},
	{.sql = "SELECT v, count(*) FROM t WHERE ? = i GROUP BY v HAVING count(*) < 9 ORDER BY v", .columns = "i", .point = true, .on_gpu = true},
	{.sql = "SELECT id FROM t WHERE k = ? AND v > 3 ORDER BY id DESC LIMIT 4", .columns = "k", .point = true},
	{.sql = "SELECT id AS n, k + 1, 'k = ?' FROM t WHERE v < 90 AND k = ?", .columns = "k", .point = true},
	{.sql = "SELECT k, i, count(*), min(v) FROM t WHERE k = ? GROUP BY k, i ORDER BY i", .columns = "k", .point = true, .on_gpu = true},
	{.sql = "SELECT sum(k), max(k), count(DISTINCT k) FROM t WHERE k = ?", .columns = "k", .point = true},
	{.sql = "SELECT k, id, k + i FROM t WHERE k = ? ORDER BY k, id", .columns = "k", .point = true, .on_gpu = true},
	{.sql = "SELECT id, d FROM t WHERE d = ?", .columns = "d", .point = true, .on_gpu = true},
	{.sql = "SELECT id, p FROM t WHERE p = ?", .columns = "p", .point = true, .on_gpu = true},
	{.sql = "SELECT id FROM t WHERE s = ?", .columns = "s", .point = true, .on_gpu = true},
	{.sql = "SELECT id, w FROM t WHERE x = ?", .columns = "x", .point = true, .on_gpu = true},
	{.sql = "SELECT id, x FROM t WHERE f = ?", .columns = "f", .point = true, .on_gpu = true},
	{.sql = "SELECT id, w FROM t WHERE k = ? AND x = ?", .columns = "kx", .point = true},
	{.sql = "SELECT v, x, count(*), min(id) FROM t WHERE v = $2 AND x = $1 GROUP BY v, x", .columns = "xv", .point = true},
	{.sql = "SELECT id FROM t WHERE f = ? AND w = 'w7' AND x = ?", .columns = "fx", .point = true},
	/* A second condition on the column, the parameter twice, or elsewhere. */
	{.sql = "SELECT id FROM t WHERE k = ? AND k > 300", .columns = "k", .point = false},
	{.sql = "SELECT id FROM t WHERE k = $1 AND id <> $1", .columns = "k", .point = false},
	{.sql = "SELECT id + ? FROM t WHERE k = 3", .columns = "k", .point = false},
	{.sql = "SELECT id FROM (SELECT * FROM t ORDER BY id LIMIT 5000) WHERE k = ?", .columns = "k", .point = false},
	{.sql = "SELECT count(*) FROM t WHERE k >= ?", .columns = "k", .point = false},
	{.sql = "SELECT id FROM t WHERE k = ? + 3", .columns = "k", .point = false},
	{.sql = "SELECT id FROM t WHERE i = ?::INTEGER", .columns = "k", .point = false}, /* which fails for some */
	{.sql = "SELECT k, count(*) FROM t GROUP BY k HAVING k = ?", .columns = "k", .point = false},
	{.sql = "SELECT count(*), sum(a.id), sum(b.id) FROM t a JOIN t b ON a.k = b.k WHERE b.k = ? AND a.id < 99", .columns = "k", .point = false},
	{.sql = "SELECT id FROM t WHERE w = ?", .columns = "w", .point = false}, /* it has no index */
	{.sql = "SELECT id FROM t WHERE x = ? AND x = ?", .columns = "xx", .point = false},
	{.sql = "SELECT id FROM t WHERE x = ? AND v > ?", .columns = "xv", .point = false},
	{.sql = "SELECT id FROM t WHERE x = ? OR k = ?", .columns = "xk", .point = false},
	{.sql = "SELECT id FROM t WHERE x = $1 AND w = $1", .columns = "x", .point = false},
};
#define ALL (sizeof all / sizeof *all)

/* kind: 0 for a value that may be there, others for what no plan of another value may serve. */
static void bind(const struct asked *a, rayql_statement *stmt, unsigned parameter, unsigned kind, uint64_t r)
{
	char text[32];
	const uint64_t to = parameter + 1;
	rayql_status status = RAYQL_OK;
	const char column = a->columns[parameter];
	const int64_t key = r % 7 == 0 ? 300001 : (int64_t)(r % 3000) * 3;
	if (kind == 1)
		status = rayql_bind_null(stmt, to);
	else if (kind == 2)
		status = rayql_bind_double(stmt, to, r % 5 == 0 ? NAN : r % 5 == 1 ? -0.0 : (double)key + (double)(r % 2) / 2);
	else if (kind == 3)
		status = rayql_bind_uint64(stmt, to, r % 2 ? UINT64_MAX : (uint64_t)key);
	else if (kind == 4)
		status = rayql_bind_int64(stmt, to, r % 2 ? INT64_MIN : INT64_C(5000000000));
	else if (column == 'w')
		status = rayql_bind_text(stmt, to, text, (size_t)snprintf(text, sizeof text, "w%u", (unsigned)(r % 60)));
	else if (column == 'x')
		status = rayql_bind_text(stmt, to, text, (size_t)snprintf(text, sizeof text, "it's %u", (unsigned)(r % 4100)));
	else if (column == 'f')
		status = rayql_bind_double(stmt, to, r % 13 == 0 ? -0.0 : (double)(r % 4100) / 8);
	else if (column == 'd')
		status = rayql_bind_date(stmt, to, r % 11 == 0 ? INT32_MAX : (int32_t)(r % 4000));
	else if (column == 's')
		status = rayql_bind_timestamp(stmt, to, r % 11 == 0 ? INT64_MAX : (int64_t)(r % 4000) * 1000000);
	else if (column == 'p')
		status = rayql_bind_decimal(stmt, to, 12, 2, r % 5000, 0);
	else
		status = rayql_bind_int64(stmt, to, column == 'v' ? (int64_t)(r % 120) : key);
	assert_int_equal(status, RAYQL_OK);
}

static void bind_all(const struct asked *a, rayql_statement *stmt, unsigned kind, uint64_t r)
{
	for (unsigned p = 0; a->columns[p]; p++)
		bind(a, stmt, p, kind && (r >> p & 1) ? 0 : kind, r * (2 * p + 1));
}

/* Columns and rows, or that it fails. */
static char *answer(rayql_statement *stmt)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_execute(stmt, &res, &err) != RAYQL_OK) {
		rayql_error_free(err);
		return strdup("error");
	}
	char *out = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&out, &length);
	for (uint32_t c = 0; c < rayql_column_count(res); c++)
		fprintf(f, "%s %s|", rayql_column_name(res, c), rayql_column_type_name(res, c));
	char *rows = read_rows(res, &err);
	fprintf(f, "\n%s", rows ? rows : "error");
	rayql_error_free(err);
	free(rows);
	fclose(f);
	return out;
}

static void ask(struct asked *a, rayql_connection *con, unsigned kind)
{
	const uint64_t r = ((uint64_t)roll(1u << 30) << 30) | roll(1u << 30);
	bind_all(a, a->mine, kind, r);
	bind_all(a, a->hosts, kind, r);
	char *want = answer(a->hosts), *have = answer(a->mine);
	if (strcmp(have, want) != 0)
		fail_msg("%s (kind %u, %llu)\nhave:\n%.400s\nwant:\n%.400s", a->sql, kind, (unsigned long long)r, have, want);
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	a->runs++;
	a->reused += info.plan_cached;
	free(want);
	free(have);
}

static void prepare_all(rayql_connection *mine, rayql_connection *hosts)
{
	for (unsigned i = 0; i < ALL; i++) {
		rayql_error *err = NULL;
		if (rayql_prepare(mine, all[i].sql, &all[i].mine, &err) != RAYQL_OK ||
		    rayql_prepare(hosts, all[i].sql, &all[i].hosts, &err) != RAYQL_OK)
			fail_msg("%s: %s", all[i].sql, rayql_error_message(err));
		all[i].runs = all[i].reused = 0;
	}
}

static void release_all(void)
{
	for (unsigned i = 0; i < ALL; i++) {
		rayql_statement_free(all[i].mine);
		rayql_statement_free(all[i].hosts);
	}
}

/* Most keys have three rows; one has many, so that a plan for few is the wrong one. */
static void make_points(rayql_connection *con)
{
	run(con, "CREATE TABLE t AS SELECT n::INTEGER AS id, CASE WHEN n % 89 = 0 THEN NULL WHEN n % 7 = 0 THEN 300001 ELSE "
	         "(hash(n) % 3000 * 3)::BIGINT END AS k, (hash(n * 3) % 9000)::INTEGER AS i, (n % 100)::SMALLINT AS v, "
	         "DATE '1970-01-01' + (hash(n * 5) % 4000)::INTEGER AS d, ((hash(n * 7) % 5000) / 100)::DECIMAL(12,2) AS p, "
	         "TIMESTAMP '1970-01-01' + to_seconds((hash(n * 9) % 4000)::BIGINT) AS s, 'w' || (n % 50) AS w, "
	         "CASE WHEN n % 97 <> 5 THEN 'it''s ' || (hash(n * 11) % 4000) END AS x, CASE WHEN n % 101 <> 5 THEN "
	         "(hash(n * 13) % 4000) / 8 END AS f "
	         "FROM range(60000) r(n)");
	run(con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); CREATE INDEX ik ON t USING hash (k); "
	         "CREATE INDEX ii ON t USING sorted (i); CREATE INDEX id ON t USING auto (d); CREATE INDEX ip ON t USING auto (p); "
	         "CREATE INDEX it ON t USING sorted (s); CREATE INDEX ix ON t USING hash (x); CREATE INDEX f ON t USING auto (f); "
	         "CREATE INDEX ivx ON t USING sorted (v, x)");
}

/* The same on a GPU, of one indexed condition: a run that is not planned sends nothing but its value. */
static void reused_on_gpu(void **state)
{
	(void)state;
	left_to_duckdb1();
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	rayql_connection *hosts;
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_connect(s.db, &hosts, NULL), RAYQL_OK);
	make_points(s.con);
	use(s.con, "compute");
	run(s.con, "SET rayql_force = 'rows'"); /* so few rows are scanned as fast */
	run(hosts, "SET rayql_enable_scan = off");
	prepare_all(s.con, hosts);
	for (unsigned segments = 0; segments < 2; segments++) {
		for (unsigned i = 0; i < ALL; i++) {
			unsigned sent = 0;
			all[i].runs = all[i].reused = 0;
			for (unsigned r = 0; r < 6 && all[i].on_gpu; r++) {
				const unsigned before = all[i].reused;
				ask(&all[i], s.con, 0);
				assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
				sent += all[i].reused > before && (info.bytes_uploaded || strcmp(info.unit, "compute") != 0);
			}
			if (all[i].on_gpu && (all[i].reused < 3 || sent))
				fail_msg("%s: %u of %u plans were those of before, %u sent more", all[i].sql, all[i].reused,
				         all[i].runs, sent);
		}
		run(s.con, "INSERT INTO t SELECT id + 100000, k, i, v, d, p, s, 'new', x, f FROM t WHERE id % 31 = 5");
	}
	release_all();
	rayql_disconnect(hosts);
	close_session(&s);
}

static uint64_t rows_with(rayql_statement *stmt, int64_t key)
{
	rayql_result *res = NULL;
	rayql_batch *batch = NULL;
	uint64_t rows = 0;
	assert_int_equal(rayql_bind_int64(stmt, 1, key), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	while (rayql_fetch(res, &batch, NULL) == RAYQL_OK && batch) {
		rows += rayql_batch_rows(batch);
		rayql_batch_free(batch);
	}
	rayql_result_free(res);
	return rows;
}

/* A GPU lists few rows in one dispatch for all segments. A key may turn out to have more of them, or more than a list ever
 * takes: then they come as bits, from there on. */
static void listed_on_gpu(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt;
	run(s.con, "CREATE TABLE h AS SELECT n::INTEGER AS id, CASE WHEN n % 1000 = 0 THEN n WHEN n % 1000 < 9 THEN 5 ELSE 7 END AS k "
	           "FROM range(700000) r(n); CREATE INDEX c ON h USING columns (*); CREATE INDEX i ON h USING hash (k)");
	use(s.con, "compute");
	run(s.con, "SET rayql_force = 'rows'; SET rayql_fallback = 'off'");
	for (unsigned segments = 1; segments <= 2; segments++) {
		char *text = rows_of(s.con, "EXPLAIN ANALYZE SELECT id FROM h WHERE k = 3000", NULL);
		if (!strstr(text, "pass lookup.lists") || strstr(text, " times") || strstr(text, "pass scan"))
			fail_msg("a point of %u segments is more than one dispatch\n%s", segments, text);
		free(text);
		assert_int_equal(rayql_prepare(s.con, "SELECT id FROM h WHERE k = ?", &stmt, NULL), RAYQL_OK);
		const int64_t keys[] = {2000, 3000, 2000, 2001, 5, 2000, 7, 5, 3000, INT64_C(5000000000)};
		const uint64_t rows[] = {1, 1, 1, 0, 5600, 1, 693700, 5600, 1, 0};
		for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
			assert_int_equal(rows_with(stmt, keys[i]), rows[i] * (keys[i] == 3000 ? segments : 1));
		rayql_statement_free(stmt);
		run(s.con, "INSERT INTO h VALUES (700000, 3000)");
	}
	close_session(&s);
}

/* Which statements' plans serve other values: most of their runs, and none of the others'. */
static void reused(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	rayql_connection *hosts;
	assert_int_equal(rayql_connect(s.db, &hosts, NULL), RAYQL_OK);
	make_points(s.con);
	run(s.con, "SET rayql_force = on");
	run(hosts, "SET rayql_enable_scan = off");
	prepare_all(s.con, hosts);
	for (unsigned i = 0; i < ALL; i++) {
		for (unsigned r = 0; r < 12; r++)
			ask(&all[i], s.con, 0);
		if (all[i].point ? all[i].reused < 4 : all[i].reused > 4) /* a text that comes again is cached, too */
			fail_msg("%s: %u of %u plans were those of before", all[i].sql, all[i].reused, all[i].runs);
	}
	release_all();
	rayql_disconnect(hosts);
	close_session(&s);
}

static void disturb(rayql_connection *con, bool *open)
{
	static const char *const texts[] = {
		"INSERT INTO t SELECT id + 60000, k, i, v, d, p, s, 'new', x || 'y', f FROM t WHERE id % 997 = 5",
		"DELETE FROM t WHERE id % 1009 = 7",
		"UPDATE t SET k = 9, i = 12 WHERE id % 501 = 3",
		"CREATE OR REPLACE INDEX ik ON t USING sorted (k)",
		"CREATE OR REPLACE INDEX ik ON t USING auto (k)",
		"DROP INDEX IF EXISTS ii",
		"CREATE INDEX IF NOT EXISTS ii ON t USING hash (i)",
		"SET rayql_enable_index = off",
		"SET rayql_enable_index = on",
		"REFRESH INDEX c",
		"ALTER TABLE t RENAME COLUMN v TO z; ALTER TABLE t RENAME COLUMN z TO v",
	};
	if (*open)
		run(con, roll(2) ? "COMMIT" : "ROLLBACK");
	*open = !*open && roll(6) == 0;
	if (*open)
		run(con, roll(2) ? "BEGIN" : "BEGIN; INSERT INTO t (id, k, i) VALUES (999999, 9, 9)");
	else
		run(con, texts[roll(sizeof texts / sizeof *texts)]);
}

static void random_points(void **state)
{
	(void)state;
	bool open = false;
	struct session s = open_session(NULL, NULL);
	rayql_connection *hosts;
	assert_int_equal(rayql_connect(s.db, &hosts, NULL), RAYQL_OK);
	make_points(s.con);
	run(s.con, "SET rayql_force = on");
	run(hosts, "SET rayql_enable_scan = off");
	prepare_all(s.con, hosts);
	for (unsigned n = 0; n < statements; n++) {
		if (roll(25) == 0 && !open)
			disturb(s.con, &open);
		if (open) { /* the other connection does not see what is not committed */
			char *mine = answer((bind_all(&all[0], all[0].mine, 0, n), all[0].mine)), sql[160];
			snprintf(sql, sizeof sql, "SELECT id, w FROM t WHERE k = %lld",
			         n % 7 == 0 ? 300001LL : (long long)(n % 3000) * 3);
			run(s.con, "SET rayql_enable_scan = off");
			char *want = rows_of(s.con, sql, NULL);
			run(s.con, "SET rayql_enable_scan = on");
			assert_string_equal(strchr(mine, '\n') + 1, want);
			free(mine);
			free(want);
			disturb(s.con, &open);
			continue;
		}
		ask(&all[roll(3) ? roll(17) : roll(ALL)], s.con, roll(12));
	}
	release_all();
	rayql_disconnect(hosts);
	close_session(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(reused), cmocka_unit_test(reused_on_gpu),
	                                   cmocka_unit_test(listed_on_gpu),
	                                   cmocka_unit_test(random_points)};
	statements = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : statements;
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
