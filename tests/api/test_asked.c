/* Large dimensions of which a scan asks few keys: their maps have these alone, whatever joins them, and answers are DuckDB's. */
#include "check.h"

#ifdef __SANITIZE_ADDRESS__
#define STATEMENTS 80
#else
#define STATEMENTS 160
#endif
#define ASKED "of keys that are asked for"

static struct session open_world(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE f AS SELECT i::INTEGER AS id, CASE WHEN i % 11 = 0 THEN NULL ELSE (i * 7919 % 160000)::INTEGER END "
	           "AS k, (i % 5)::INTEGER AS p, (i * 31 % 200000)::BIGINT AS far, 'key ' || (i * 17 % 140000) AS t, "
	           "(i % 40)::INTEGER AS m, (i % 1000)::INTEGER AS a FROM range(200000) r(i)");
	/* Unique by k, by (q, p), by t; longer than f; and with keys twice. */
	run(s.con, "CREATE TABLE big AS SELECT i::INTEGER AS k, (i / 5)::BIGINT AS q, (i % 5)::INTEGER AS p, 'key ' || i AS t, "
	           "CASE WHEN i % 7 > 0 THEN (i % 777)::INTEGER END AS v, (i % 3)::INTEGER AS c FROM range(150000) r(i)");
	run(s.con, "CREATE TABLE longer AS SELECT i::BIGINT AS far, (i % 99)::INTEGER AS v FROM range(260000) r(i)");
	run(s.con, "CREATE TABLE twice AS SELECT (i / 2)::INTEGER AS k, (i % 99)::INTEGER AS v FROM range(150000) r(i)");
	run(s.con, "CREATE TABLE small AS SELECT i::INTEGER AS m, 'name ' || (i % 9) AS name FROM range(40) r(i)");
	run(s.con, "CREATE INDEX fc ON f USING columns (*)");
	return s;
}

static void add_columns(struct session *s)
{
	run(s->con, "CREATE INDEX bc ON big USING columns (*)");
	run(s->con, "CREATE INDEX lc ON longer USING columns (*)");
	run(s->con, "CREATE INDEX tc ON twice USING columns (*)");
	run(s->con, "CREATE INDEX sc ON small USING columns (*)");
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

/* The answer is DuckDB's. */
static void same(struct session *s, rayql_connection *host, const char *sql)
{
	char *want = rows_of(host, sql, NULL);
	expect(s->con, sql, NULL, want);
	free(want);
}

static rayql_connection *host_of(struct session *s)
{
	rayql_connection *con = NULL;
	assert_int_equal(rayql_connect(s->db, &con, NULL), RAYQL_OK);
	run(con, "SET rayql_enable_scan = off");
	return con;
}

/* What is asked for few keys, and what is not. */
static const char *const reduced[] = {
	"SELECT count(*), sum(big.v), min(big.t) FROM f JOIN big ON f.k = big.k WHERE f.id = 17",
	"SELECT count(*), sum(big.v) FROM f JOIN big ON f.k = big.k WHERE f.id BETWEEN 1000 AND 1300",
	"SELECT count(*), sum(big.v) FROM f JOIN big ON f.k = big.k WHERE f.id IN (5, 70000, 170001)",
	"SELECT count(*), sum(big.v) FROM f JOIN big ON f.k = big.k WHERE f.id = -5", /* none */
	"SELECT f.id, big.v, big.t FROM f JOIN big ON f.k = big.k WHERE f.id < 9 ORDER BY f.id",
	"SELECT big.c, count(*), sum(f.a) FROM f JOIN big ON f.k = big.k WHERE f.id < 900 AND big.v > 30 GROUP BY big.c ORDER BY 1",
	"SELECT count(*), sum(big.v) FROM f JOIN big ON f.far = big.q AND f.p = big.p WHERE f.id BETWEEN 40 AND 90",
	"SELECT count(*), sum(longer.v) FROM f JOIN longer ON f.far = longer.far WHERE f.id BETWEEN 40 AND 90",
	"SELECT count(*), sum(big.v) FROM f JOIN small ON f.m = small.m JOIN big ON f.k = big.k WHERE f.id < 2000 AND name = 'name 2'",
	"SELECT count(*), count(big.k), sum(big.v) FROM f LEFT JOIN big ON f.k = big.k WHERE f.id < 400",
	"SELECT count(*), sum(x.v) FROM f LEFT JOIN (SELECT k, sum(v) AS v FROM big GROUP BY k) x ON f.k = x.k WHERE f.id < 400",
	"SELECT count(*) FROM f WHERE f.id < 700 AND EXISTS (SELECT 1 FROM big WHERE big.k = f.k AND big.v > 100)",
	"SELECT count(*) FROM f WHERE f.id < 700 AND NOT EXISTS (SELECT 1 FROM big WHERE big.k = f.k AND big.v > 100)",
};

static void explained(void **state)
{
	(void)state;
	struct session s = open_world();
	rayql_connection *host = host_of(&s);
	add_columns(&s);
	run(s.con, "SET rayql_force = on");
	for (size_t i = 0; i < sizeof reduced / sizeof *reduced; i++) {
		same(&s, host, reduced[i]);
		if (!explains(s.con, reduced[i], ASKED))
			fail_msg("no few keys are asked for: %s", reduced[i]);
	}
	/* Many keys: the map is of all, which the next statement finds, and prefers. */
	const char *many = "SELECT count(*), sum(big.v), max(big.q) FROM f JOIN big ON f.k = big.k WHERE f.a < 900";
	const char *few = "SELECT count(*), sum(big.v), max(big.q) FROM f JOIN big ON f.k = big.k WHERE f.id = 12";
	same(&s, host, many);
	assert_true(explains(s.con, many, "150000 keys"));
	same(&s, host, few);
	assert_true(explains(s.con, few, "150000 keys"));
	/* A key that comes twice makes no map. RayQL's operator joins the rows, and the large table gives what is asked for. */
	const char *twice = "SELECT count(*), sum(twice.v) FROM f JOIN twice ON f.m = twice.k WHERE f.id < 100";
	same(&s, host, twice);
	assert_true(explains(s.con, twice, "RayQL inner join"));
	assert_false(explains(s.con, twice, "150000 rows out"));
	rayql_disconnect(host);
	close_session(&s);
}

static uint32_t draw(uint64_t *noise, uint32_t below)
{
	*noise = *noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*noise >> 33) % below;
}

static void put_condition(uint64_t *noise, char *out, size_t size)
{
	const uint32_t at = draw(noise, 200000), length = draw(noise, 3) ? draw(noise, 300) : draw(noise, 9000);
	static const char *const forms[] = {
		"f.id = %u AND %u >= 0", "f.id BETWEEN %u AND %u", "f.id IN (%u, %u, 19)", "f.a = 7 AND f.id >= %u AND f.id < 9 + %u",
		"f.id > %u + 180000 AND f.id < %u", "(f.id < 10 OR f.id = %u) AND f.k < %u"};
	snprintf(out, size, forms[draw(noise, 6)], at, at + length);
}

static void put_statement(uint64_t *noise, char *out, size_t size)
{
	static const char *const joins[] = {
		"JOIN big ON f.k = big.k",
		"JOIN big ON f.t = big.t",
		"JOIN big ON f.far = big.q AND f.p = big.p",
		"JOIN twice big ON f.k = big.k",
		"JOIN longer big ON f.far = big.far",
		"LEFT JOIN big ON f.k = big.k",
		"LEFT JOIN big ON f.t = big.t AND big.v > 50",
		"LEFT JOIN (SELECT k, max(v) AS v FROM big GROUP BY k) big ON f.k = big.k",
		"JOIN small ON f.m = small.m AND name < 'name 4' JOIN big ON f.k = big.k",
		"JOIN big ON f.k = big.k JOIN longer ON f.far = longer.far AND longer.v > 10",
		"JOIN big ON f.k = big.k JOIN twice ON big.c = twice.k",
	};
	static const char *const outputs[] = {"count(*), sum(big.v), min(big.v)", "f.p, count(*), count(big.v)", "f.id, big.v"};
	static const char *const ends[] = {"", "GROUP BY f.p ORDER BY 1", "ORDER BY 1, 2 LIMIT 50"};
	char condition[160];
	const uint32_t form = draw(noise, 3), join = draw(noise, 13);
	put_condition(noise, condition, sizeof condition);
	if (join < 11)
		snprintf(out, size, "SELECT %s FROM f %s WHERE %s %s", outputs[form], joins[join], condition, ends[form]);
	else
		snprintf(out, size, "SELECT count(*), sum(f.a) FROM f WHERE %s AND f.k %s (SELECT k FROM big WHERE v < 400)", condition,
		         join == 11 ? "IN" : "NOT IN");
}

static void random_statements(void **state)
{
	(void)state;
	struct session s = open_world();
	rayql_connection *host = host_of(&s);
	uint64_t noise = 20251128;
	char sql[1024];
	for (int i = 0; i < STATEMENTS; i++) {
		if (i == STATEMENTS / 4)
			add_columns(&s);
		if (i == STATEMENTS / 2)
			run(s.con, "CREATE INDEX bk ON big USING auto (k)");
		run(s.con, i % 2 ? "SET rayql_force = on" : "SET rayql_force = off");
		put_statement(&noise, sql, sizeof sql);
		same(&s, host, sql);
	}
	rayql_disconnect(host);
	close_session(&s);
}

/* A plan that is kept for other values of its parameter must not have the keys of the first one alone. */
static void prepared(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"SELECT f.id, big.v FROM f JOIN big ON f.k = big.k WHERE f.far = ?",
		"SELECT count(*), sum(big.v), max(big.t) FROM f JOIN big ON f.k = big.k WHERE f.far = ?",
		"SELECT f.id, big.v FROM f LEFT JOIN big ON f.k = big.k WHERE f.far = ?",
	};
	struct session s = open_world();
	rayql_connection *host = host_of(&s);
	rayql_connection *cons[] = {s.con, host};
	add_columns(&s);
	run(s.con, "CREATE INDEX fi ON f USING hash (far)");
	run(s.con, "CREATE INDEX bk ON big USING hash (k)");
	for (size_t q = 0; q < sizeof texts / sizeof *texts; q++) {
		rayql_statement *statements[2] = {NULL};
		for (int c = 0; c < 2; c++)
			assert_int_equal(rayql_prepare(cons[c], texts[q], &statements[c], NULL), RAYQL_OK);
		for (int i = 0; i < 24; i++) {
			char *rows[2];
			for (int c = 0; c < 2; c++) {
				rayql_result *result = NULL;
				rayql_error *err = NULL;
				assert_int_equal(rayql_bind_int64(statements[c], 1, 100 + i / 2 * 7), RAYQL_OK);
				assert_int_equal(rayql_execute(statements[c], &result, &err), RAYQL_OK);
				assert_non_null(rows[c] = read_rows(result, &err));
			}
			assert_string_equal(rows[0], rows[1]);
			free(rows[0]);
			free(rows[1]);
		}
		for (int c = 0; c < 2; c++)
			rayql_statement_free(statements[c]);
	}
	rayql_disconnect(host);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explained),
		cmocka_unit_test(prepared),
		cmocka_unit_test(random_statements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
