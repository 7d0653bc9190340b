/* Joins of columns on a GPU whose keys come more than once on both sides, under groups and aggregates: every answer beside
 * DuckDB's; joins that give far more rows than was expected; rows that are added later; devices that fail on the way. */
#include "check.h"
#include "device.h"

static const char on_device[] = "SELECT method = 'scan' AND device = 'vulkan:0' AND unit = 'compute' FROM "
    "rayql_last_query()";
static const char rows_there[] = "SELECT method = 'materialise' AND unit = 'compute' FROM rayql_last_query()";
static const char joined[] = "on the device, keys need not be unique";

static struct session joins_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con,
	    "CREATE TABLE a AS SELECT (hash(i) % 500)::INTEGER k, (hash(i * 3) % 40)::SMALLINT k2, i::BIGINT v, "
	    "'n' || (hash(i * 5) % 13) s, (hash(i * 7) % 1000 / 7.0)::DOUBLE d, DATE '2020-01-01' + (hash(i * 11) % "
	    "300)::INTEGER t, "
	    "((hash(i * 17) % 100000) / 100)::DECIMAL(9, 2) m, hash(i * 23) % 2 = 0 AS yes FROM range(5000) r(i)");
	run(s.con, "CREATE TABLE b AS SELECT (hash(i * 29) % 700)::INTEGER - 100 k, (hash(i * 31) % 50)::SMALLINT "
	    "k2, i::BIGINT * 2 w, "
	           "'n' || (hash(i * 37) % 20) s, (hash(i * 9) % 100 / 3.0)::DOUBLE d, DATE '2020-03-01' + (hash(i "
	           "* 13) % 300)::INTEGER t, "
	           "(-((hash(i * 19) % 1000000)::DOUBLE) / 100.0)::DECIMAL(12, 2) m FROM range(900) r(i)");
	run(s.con, "CREATE TABLE c AS SELECT (hash(i * 41) % 60)::BIGINT * 1000000000000 big, (hash(i * 43) % "
	    "45)::SMALLINT k2, "
	           "(hash(i * 47) % 700)::INTEGER k, 'q' || (hash(i * 53) % 7) s, i::INTEGER x FROM range(150) r(i)");
	run(s.con, "CREATE TABLE e (k INTEGER, k2 SMALLINT, w BIGINT, s VARCHAR)");
	run(s.con, "UPDATE a SET k = NULL WHERE v % 17 = 0; UPDATE a SET s = NULL WHERE v % 19 = 3; "
	           "UPDATE a SET d = NULL WHERE v % 23 = 1; UPDATE a SET t = NULL WHERE v % 29 = 1; "
	           "UPDATE a SET m = NULL WHERE v % 31 = 4; UPDATE b SET k = NULL WHERE w % 14 = 0; "
	           "UPDATE b SET m = NULL WHERE w % 26 = 4; UPDATE b SET t = NULL WHERE w % 34 = 2; "
	           "UPDATE b SET w = NULL WHERE w % 46 = 6");
	run(s.con, "CREATE INDEX ca ON a USING columns (*); CREATE INDEX cb ON b USING columns (*); "
	           "CREATE INDEX cc ON c USING columns (*); CREATE INDEX ce ON e USING columns (*)");
	use(s.con, "compute");
	return s;
}

static const char reals[] = "[0.0, -0.0, 'nan', '-nan', 'inf', '-inf', 1.5, -1.5, NULL, 7e0, 12e0]::DOUBLE[]";

/* l and r: reals of all kinds, and numbers of several types. */
static void make_reals(rayql_connection *con)
{
	char make[1100];
	snprintf(make, sizeof make,
	         "CREATE TABLE l AS SELECT i AS id, i // 2 AS k, (%s)[(1 + hash(i) %% 11)::INTEGER] d, (%s)[(1 + hash(i * 5) %% 11)::INTEGER]::FLOAT f, "
	         "(hash(i * 3) %% 20)::SMALLINT n, (hash(i * 9) %% 200 / 10.0)::DECIMAL(9, 1) m FROM range(300) t(i); "
	         "CREATE TABLE r AS SELECT i // 3 AS k, (%s)[(1 + hash(i * 3) %% 11)::INTEGER] d, (%s)[(1 + hash(i * 7) %% "
	         "11)::INTEGER]::FLOAT f, i v, (hash(i * 11) %% 30)::BIGINT n, (hash(i * 13) %% 3000 / 100.0)::DECIMAL(12, 2) m FROM "
	         "range(500) t(i)",
	         reals, reals, reals, reals);
	run(con, make);
	run(con, "CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)");
}

/* What cases that change nothing share: a device that is opened makes its kernels anew. */
static struct session shared;
static struct session shared_session(void)
{
	if (!shared.con) {
		shared = joins_session();
		make_reals(shared.con);
	}
	return shared;
}

static int close_shared(void **state)
{
	(void)state;
	if (shared.con)
		close_session(&shared);
	return 0;
}

/* The host's answer, from the device by `there`, twice. Does its plan join there? Else it is a star. */
static bool same_on(rayql_connection *con, const char *sql, const char *there, const char *file, int line)
{
	char explain[1024];
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	char *plan = rows_of(con, explain, NULL);
	bool is_joined = strstr(plan, joined) != NULL;
	for (int i = 0; i < 2; i++) { /* then from the plan cache */
		expect_at(con, sql, there == rows_there ? "materialise" : "scan", want, file, line);
		expect_at(con, there, NULL, "true\n", file, line);
	}
	free(plan);
	free(want);
	return is_joined;
}

static bool same_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	return same_on(con, sql, on_device, file, line);
}
#define same_there(con, sql) assert_true(same_at(con, sql, __FILE__, __LINE__))

static void answers(void **state)
{
	static const char *const queries[] = {
		/* keys: integers, dates, texts of two dictionaries, several columns, wide ranges, NULLs */
		"SELECT count(*), sum(v), sum(w), count(w), min(b.m), max(a.t) FROM a, b WHERE a.k = b.k",
		"SELECT b.s, count(*), sum(a.m), avg(w) FROM a JOIN b ON a.t = b.t GROUP BY b.s ORDER BY b.s",
		"SELECT a.yes, count(*), sum(a.k2 * b.k2), max(b.s), min(a.s) FROM a JOIN b ON a.s = b.s WHERE w > 100 "
		"AND a.d < 100 "
		"GROUP BY a.yes ORDER BY ALL",
		"SELECT a.k2, count(*) FROM a JOIN b ON a.k = b.k AND a.s = b.s AND a.k2 = b.k2 GROUP BY a.k2 ORDER BY a.k2",
		"SELECT count(*), sum(l.x), max(r.big) FROM c l JOIN c r ON l.big = r.big",
		"~SELECT l.s, sum(r.x) FROM c l JOIN c r ON l.s = r.s WHERE r.x < 90 GROUP BY l.s ORDER BY 1",
		/* conditions over both sides, expressions, reals */
		"SELECT a.k2, sum(a.v * b.k2), count(*) FILTER (WHERE b.m < a.m - 5000) FROM a JOIN b ON a.k = b.k AND "
		"a.t < b.t "
		"WHERE a.s LIKE 'n1%' GROUP BY a.k2 ORDER BY a.k2",
		"SELECT max(a.d + b.d), min(b.d), count(a.d) FROM a JOIN b ON a.k2 = b.k2 WHERE a.v < 700",
		"SELECT count(DISTINCT a.s), sum(w) FROM a JOIN b ON a.k = b.k",
		/* three tables, in the order of their sizes */
		"SELECT c.s, count(*), sum(x), sum(v) FROM a, b, c WHERE a.k = b.k AND b.k2 = c.k2 AND x > 20 GROUP BY "
		"c.s ORDER BY c.s",
		/* outer, semi and anti joins; what NULL has to say; a dictionary that had no NULL */
		"SELECT b.s, count(*), count(w), sum(a.k) FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.s ORDER BY b.s",
		"~SELECT c.s, count(*), max(b.m) FROM b LEFT JOIN c ON b.k2 = c.k2 AND c.x % 3 = 1 WHERE b.k > 10 GROUP "
		"BY c.s ORDER BY c.s",
		"SELECT a.s, count(b.k), sum(b.m) FROM a LEFT JOIN b ON a.k = b.k AND b.s <> 'n3' WHERE a.yes GROUP BY "
		"a.s ORDER BY a.s",
		"SELECT b.s, sum(w), count(*) FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM c WHERE c.k2 = "
		"a.k2 AND c.k > 99) "
		"GROUP BY b.s ORDER BY b.s",
		"~SELECT count(*), sum(v) FROM a JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k2 = a.k2)",
		/* sides that are groups; NOT IN of what is never NULL */
		"SELECT b.s, count(*), sum(v) FROM a JOIN b ON a.k = b.k WHERE a.k2 IN (SELECT k2 FROM c WHERE x > 5 GROUP BY k2 "
		"HAVING count(*) > 3) GROUP BY b.s ORDER BY b.s",
		"~SELECT b.s, count(*), sum(v) FROM a JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM (SELECT k2, count(*) n FROM "
		"c GROUP BY k2) g WHERE g.n > 2 AND g.k2 = a.k2) GROUP BY b.s ORDER BY b.s",
		"SELECT g.n, count(*), sum(w), min(g.hi) FROM a JOIN b ON a.k = b.k LEFT JOIN (SELECT k2, count(*) n, max(big) hi FROM c "
		"GROUP BY k2) g ON g.k2 = a.k2 GROUP BY g.n ORDER BY g.n",
		"~SELECT b.s, count(*) FROM a JOIN b ON a.k = b.k WHERE a.k2 NOT IN (SELECT k2 FROM c WHERE x % 3 = 0) GROUP BY b.s ORDER "
		"BY b.s",
	};
	/* no row has a match, which a look at the keys that are asked for may find out, too */
	static const char *const apart[] = {
		"SELECT count(*), sum(v), min(a.d) FROM a JOIN b ON a.s = b.s WHERE a.s < 'n2' AND b.s >= 'n2'",
		"SELECT a.s, count(*), count(w) FROM a LEFT JOIN b ON a.s = b.s AND b.s >= 'n2' WHERE a.s < 'n2' GROUP "
		"BY a.s ORDER BY a.s",
		"~SELECT a.k, count(*) FROM a JOIN b ON a.s = b.s WHERE a.s < 'n2' AND b.s >= 'n2' GROUP BY a.k",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP)
		if (usual(queries[i]))
			same_there(s.con, usual(queries[i]));
	for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
		if (usual(apart[i]))
			same_at(s.con, usual(apart[i]), __FILE__, __LINE__);
}

/* Subqueries over several tables: their rows are joined on the device before they are a side. */
static void joined_sides(void **state)
{
	static const char *const queries[] = {
		"SELECT b.s, count(*), sum(v) FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM c JOIN b z ON z.k2 = c.k2 WHERE "
		"c.k = a.k2 AND z.s <> a.s AND z.t < a.t) GROUP BY b.s ORDER BY b.s",
		"~SELECT a.s IN (SELECT z.s FROM c, b z WHERE z.k2 = c.k2 AND c.x < 60) x, count(*), sum(w) FROM a JOIN b ON a.k = b.k "
		"GROUP BY ALL ORDER BY ALL",
		"~SELECT count(*), sum(v), sum(w) FROM a JOIN b ON a.k = b.k WHERE a.k2 NOT IN (SELECT z.k2 FROM b z LEFT JOIN c ON c.k2 = "
		"z.k2 AND c.x > 20 WHERE c.x IS NULL)",
		"SELECT q.s, count(*), sum(v), sum(x) FROM a LEFT JOIN (SELECT z.k, z.s, c.x FROM b z JOIN c ON z.k2 = c.k2 WHERE EXISTS "
		"(SELECT 1 FROM b y WHERE y.k = c.k)) q ON q.k = a.k AND q.x < a.v GROUP BY ALL ORDER BY ALL",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP > 1 ? 2 : 1) {
		const char *sql = usual(queries[i]);
		char explain[1024];
		if (!sql)
			continue;
		snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
		same_there(s.con, sql);
		char *plan = rows_of(s.con, explain, NULL);
		holds(plan, "with joined rows of ");
		free(plan);
	}
	/* DISTINCT ON over rows that the device gives */
	assert_true(same_on(s.con, "SELECT DISTINCT ON (a.k2) a.k2, a.v, b.w, b.s FROM a JOIN b ON a.k = b.k WHERE a.yes ORDER BY a.k2 "
	                           "NULLS FIRST, b.w DESC NULLS LAST, a.v, b.s",
	                    rows_there, __FILE__, __LINE__));
}

/* Keys that make no number together: rows are found by one of them, and the others are tested. Duplicates and NULLs on both
 * sides; joins of every kind, with further conditions, with texts and sums beyond 64 bits beside them, and for rows. */
static void keys_apart(void **state)
{
	static const char *const queries[] = {
		"SELECT l.s, count(*), sum(id), sum(v) FROM l JOIN r ON l.a = r.a AND l.b = r.b GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(id), sum(v) FROM l JOIN r ON l.a = r.a AND l.b = r.b AND l.s = r.s AND l.c = r.c",
		"~SELECT l.s, count(*), count(v), sum(v) FROM l LEFT JOIN r ON l.a = r.a AND l.b = r.b GROUP BY ALL ORDER BY ALL",
		"SELECT l.s, count(*), count(v), sum(v) FROM l LEFT JOIN r ON l.a = r.a AND l.b = r.b AND l.c = r.c AND l.id < r.v GROUP BY "
		"ALL ORDER BY ALL",
		"SELECT count(*), sum(id), count(id), sum(v), count(v) FROM l FULL JOIN r ON l.a = r.a AND l.b = r.b",
		"SELECT s, count(*), sum(id) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE l.a = r.a AND l.b = r.b AND r.v > l.id AND r.g < l.g) GROUP BY "
		"ALL ORDER BY ALL",
		"SELECT s, count(*), sum(id) FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE l.a = r.a AND l.b = r.b AND r.s <> l.s) GROUP BY "
		"ALL ORDER BY ALL",
		/* a sum of two columns is one of the keys, found by or tested */
		"SELECT count(*), sum(x.n), sum(y.n) FROM (SELECT g, c, sum(w) t, count(*) n FROM l WHERE id < 900 GROUP BY ALL) x "
		"JOIN (SELECT g, c, sum(w) t, count(*) n FROM r GROUP BY ALL) y ON x.t = y.t AND x.g = y.g AND x.c = y.c",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = open_session(NULL, NULL);
	for (int t = 0; t < 2; t++) {
		char make[800];
		snprintf(make, sizeof make,
		         "CREATE TABLE %s AS SELECT i AS %s, (hash(i * %d) %% 400)::BIGINT * 20000000000000000 - 4000000000000000000 a, (hash(i * "
		         "%d + 3) %% 6)::BIGINT * 1000000000000000000 b, (hash(i * 7) %% 3)::BIGINT * 3000000000000000000 - 5000000000000000000 c, "
		         "'t' || (hash(i * 11) %% %d) s, (hash(i * 13) %% 40)::INTEGER g, 9000000000000000000 - (hash(i * 17) %% 3)::BIGINT w, "
		         "(i %% 3)::BIGINT * 4000000000000000000 few FROM range(%d) t(i)",
		         t ? "r" : "l", t ? "v" : "id", t ? 5 : 3, t ? 2 : 1, t ? 5 : 7, t ? 900 : 3000);
		run(s.con, make);
	}
	run(s.con, "UPDATE l SET a = NULL WHERE id % 31 = 4; UPDATE l SET b = NULL WHERE id % 17 = 2; UPDATE r SET a = NULL WHERE v % 23 = 1; "
	           "UPDATE r SET b = NULL WHERE v % 13 = 5; CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)");
	use(s.con, "compute");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP)
		if (usual(queries[i]))
			same_there(s.con, usual(queries[i]));
	assert_true(same_on(s.con, "SELECT id, v, l.s FROM l JOIN r ON l.a = r.a AND l.b = r.b WHERE id < 700 ORDER BY id, v", rows_there,
	                    __FILE__, __LINE__));
	/* Of none of them there are enough values: the device does not begin. */
	char *plan = rows_of(s.con, "EXPLAIN SELECT count(*), sum(id) FROM l JOIN r ON l.few = r.few AND l.c = r.c", NULL);
	assert_null(strstr(plan, joined));
	free(plan);
	close_session(&s);
}

/* Keys that are reals (NaN equals NaN, -0 is 0), of two types (a cast), and expressions; several of them; rows themselves, where
 * -0 stays what it is; sides that are semi, anti, outer joins and marks. */
static void computed_keys(void **state)
{
	static const char *const queries[] = {
		"SELECT l.n, count(*), sum(v), sum(r.n) FROM l JOIN r ON l.d = r.d GROUP BY ALL ORDER BY ALL",
		"SELECT l.d, r.d, l.id, v FROM l JOIN r ON l.d = r.d WHERE l.n < 4 AND r.n < 5 ORDER BY 3, 4",
		"SELECT count(*), sum(v) FROM l JOIN r ON l.f = r.d AND l.f = r.f",
		"SELECT l.k, count(*), sum(v) FROM l JOIN r ON l.n = r.n GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(v), sum(l.m) FROM l JOIN r ON l.m = r.m",
		"~SELECT count(*), sum(v) FROM l JOIN r ON r.n = l.d",
		"SELECT count(*), sum(v) FROM l JOIN r ON l.n + 3 = r.n AND l.d = r.d",
		"~SELECT count(*), sum(v), sum(b.k) FROM l JOIN r ON l.d = r.d JOIN b ON b.k = r.n",
		"SELECT l.n, count(*), count(v), sum(v) FROM l LEFT JOIN r ON l.d = r.d AND l.n < r.n GROUP BY ALL ORDER BY ALL",
		"~SELECT count(*), sum(l.n) FROM l SEMI JOIN r ON r.f = l.f AND r.v > 450",
		"SELECT count(*), sum(n) FROM l WHERE f NOT IN (SELECT f FROM r WHERE v % 7 = 0 AND f IS NOT NULL)",
		/* NULL equals NULL; correlated, where = has dropped the NULLs; with another key beside */
		"SELECT count(*), sum(l.id) FROM l JOIN r y ON y.n = l.n WHERE EXISTS (SELECT 1 FROM r WHERE r.d IS NOT DISTINCT FROM l.d AND "
		"v % 5 = 0)",
		"~SELECT l.k, count(*), sum(y.v) FROM l JOIN r y ON y.n = l.n WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.f IS NOT DISTINCT FROM "
		"l.f AND r.v % 90 = 3) GROUP BY ALL ORDER BY ALL",
		"~SELECT count(*), sum(l.id) FROM l JOIN r y ON y.n = l.n WHERE EXISTS (SELECT 1 FROM r WHERE r.d = l.d AND r.k = "
		"l.k)",
		"~SELECT l.d IN (SELECT d FROM r WHERE d > 2) x, count(*) FROM l JOIN r y ON y.n = l.n GROUP BY ALL ORDER BY ALL",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP)
		if (usual(queries[i]))
			assert_true(same_on(s.con, usual(queries[i]), i == 1 ? rows_there : on_device, __FILE__, __LINE__));
}

/* Rows of both sides without a match: NULL keys on both, an empty side, conditions over either side, over both and above;
 * sides that are joins and groups; the rows themselves, ordered. */
static void full_joins(void **state)
{
	static const char *const queries[] = {
		"SELECT b.s, count(*), count(a.v), sum(v), count(w), sum(w), min(a.s) FROM a FULL JOIN b ON a.k = b.k GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(v), sum(w) FROM b FULL JOIN a ON a.s = b.s AND a.t = b.t",
		"~SELECT k2, count(*), sum(v), sum(w) FROM a FULL JOIN b USING (k2) GROUP BY ALL ORDER BY ALL",
		"SELECT count(*) FROM a FULL JOIN (SELECT * FROM b WHERE w > 100000) e ON a.k = e.k",
		"~SELECT count(*), sum(v), count(e.w) FROM (SELECT * FROM b WHERE w > 100000) e FULL JOIN a ON a.k = e.k WHERE e.k IS NULL",
		"SELECT a.yes, count(*), sum(v), sum(w) FROM a FULL JOIN b ON a.k = b.k AND a.yes AND b.w > 300 AND a.t < b.t GROUP BY ALL "
		"ORDER BY ALL",
		"~SELECT count(*), sum(v), sum(w), min(a.k) FROM a FULL JOIN b ON a.k = b.k WHERE a.v IS NULL OR coalesce(b.w, 5) < a.v",
		"SELECT c.s, count(*), sum(v), sum(x) FROM a JOIN b ON a.k = b.k FULL JOIN c ON c.k2 = b.k2 AND c.x < b.w GROUP BY ALL ORDER "
		"BY ALL",
		"~SELECT g.n, count(*), sum(w) FROM b FULL JOIN (SELECT k2, count(*) n FROM c GROUP BY k2 HAVING count(*) > 2) g ON g.k2 = b.k2 "
		"GROUP BY ALL ORDER BY ALL",
		"SELECT l.id, v, l.d, r.d FROM l FULL JOIN r ON l.d = r.d AND l.n = r.n WHERE l.k IS NULL OR r.k < 9 ORDER BY 1, 2",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP)
		if (usual(queries[i]))
			assert_true(same_on(s.con, usual(queries[i]), i == 9 ? rows_there : on_device, __FILE__, __LINE__));
}

/* A subquery's row beside joins; its second one is the host's error. */
static void single_rows(void **state)
{
	static const char one[] =
		"SELECT b.s, count(*), sum((SELECT c.x FROM c WHERE c.x = a.k AND c.k2 > 3)) FROM a JOIN b ON a.k = b.k GROUP BY ALL ORDER BY ALL";
	static const char many[] = "SELECT count(*), sum((SELECT c.x FROM c WHERE c.k2 = a.k2)) FROM a JOIN b ON a.k = b.k";
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	same_there(s.con, one);
	fails(s.con, many, RAYQL_ERROR_HOST, "More than one row returned by a subquery");
	same_there(s.con, one);
}

/* Conditions beyond the keys, which are tested before a match counts: integers, dates, decimals, reals (-0, NaN), texts of
 * two dictionaries, of two tables; one over the outer side alone; of outer joins columns that are read in conditions above.
 * The side has no partitions (b, c), or some (a). */
static void conditions(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*), sum(v) FROM a SEMI JOIN b ON b.k = a.k AND b.k2 <> a.k2 AND b.w < a.v",
		"~SELECT a.s, count(*), sum(v) FROM a ANTI JOIN b ON b.k = a.k AND b.k2 <> a.k2 AND b.w < a.v GROUP BY ALL ORDER BY ALL",
		"~SELECT count(*), sum(w) FROM b SEMI JOIN a ON b.k = a.k AND b.k2 > a.k2 AND b.w >= a.v AND a.yes",
		"SELECT count(*), sum(w) FROM b ANTI JOIN a ON b.k = a.k AND b.s < a.s AND b.t <= a.t",
		"~SELECT count(*), sum(v) FROM a SEMI JOIN b ON b.k = a.k AND b.s <> a.s",
		"~SELECT count(*), sum(v) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.s > a.s)",
		"SELECT count(*), sum(v) FROM a ANTI JOIN a x ON x.k = a.k AND x.s <> a.s AND x.v > a.v + 100",
		"SELECT b.s, count(*), count(b.w), sum(b.m), max(b.t) FROM a LEFT JOIN b ON a.k = b.k AND a.t < b.t GROUP BY ALL ORDER BY ALL",
		"~SELECT count(*), count(b.k), sum(w), min(b.s) FROM a LEFT JOIN b ON a.k = b.k AND a.yes AND b.w > 5 AND a.s <> b.s",
		"SELECT count(*), count(a.k), sum(v), min(a.s) FROM b LEFT JOIN a ON a.k = b.k AND a.k2 + 1 >= b.k2 AND a.d > b.d",
		"~SELECT a.yes, count(*), sum(w) FROM a LEFT JOIN b ON a.k = b.k AND a.k2 = b.k2 AND a.s = b.s AND a.v < b.w WHERE "
		"b.s IS NULL OR b.s > 'n15' GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(x), count(b.w) FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.w LEFT JOIN c ON b.k2 = c.k2 AND c.k > "
		"b.k AND c.x * 3 < a.v",
		"~SELECT b.s, count(*) FROM a JOIN b ON a.k = b.k SEMI JOIN c ON c.k2 = a.k2 AND c.k <> b.k GROUP BY ALL ORDER BY ALL",
		"~SELECT count(*), sum(v) FROM r SEMI JOIN l ON l.k = r.k AND l.d <> r.d",
		"SELECT count(*), sum(v) FROM r SEMI JOIN l ON l.k = r.k AND l.d > r.d",
		"~SELECT count(*), sum(v) FROM r ANTI JOIN l ON l.k = r.k AND l.d <= r.d AND l.f >= r.f",
		/* NULL is a value: of integers, texts of two dictionaries, reals */
		"SELECT count(*), sum(v) FROM a SEMI JOIN b ON b.k = a.k AND b.k2 IS DISTINCT FROM a.k2 AND b.w < a.v",
		"SELECT count(*), sum(w), count(b.k) FROM a LEFT JOIN b ON a.k = b.k AND a.s IS DISTINCT FROM b.s AND a.k2 IS DISTINCT FROM b.k2",
		"~SELECT count(*), sum(v) FROM a ANTI JOIN b ON b.k = a.k AND b.k2 = a.k2 AND b.s IS NOT DISTINCT FROM a.s AND b.w < 900",
		"~SELECT count(*), sum(v) FROM r SEMI JOIN l ON l.k = r.k AND l.d IS NOT DISTINCT FROM r.d",
		"SELECT count(*), sum(v) FROM r ANTI JOIN l ON l.k = r.k AND l.d IS DISTINCT FROM r.d AND l.f IS NOT DISTINCT FROM r.f",
		"~SELECT count(*), sum(v) FROM a ANTI JOIN b e ON a.k = e.k AND a.v < e.w AND a.s <> e.s AND e.w > 100000",
		/* groups by reals, of which NULL equals NULL */
		"SELECT count(*) FROM a SEMI JOIN b ON a.d IS NOT DISTINCT FROM b.d AND a.v < b.w",
		"~SELECT count(*), sum(v) FROM r SEMI JOIN l ON r.d IS NOT DISTINCT FROM l.d AND r.v < l.n",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP)
		if (usual(queries[i]))
			same_there(s.con, usual(queries[i]));
}

/* NOT IN, and IN as a value, where NULL may be on either side, on neither, and where the side is empty. Above joins, for else
 * they are stars. */
static void three_values(void **state)
{
	static const char *const sides[] = {"SELECT k FROM b WHERE w > 900", "SELECT k FROM b WHERE k IS NOT NULL AND w > 900",
	                                    "SELECT k FROM a", "SELECT k FROM a WHERE k IS NOT NULL AND v % 3 = 0",
	                                    "SELECT k FROM b WHERE w > 100000", "SELECT k FROM a WHERE v = 17"};
	static const char *const keys[] = {"a.k", "b.k", "a.k + 1"};
	static const char *const queries[] = {
		"SELECT count(*), sum(v), sum(w) FROM a JOIN b ON a.k2 = b.k2 AND a.yes WHERE %s NOT IN (%s)",
		"SELECT %s IN (%s) x, count(*), sum(v) FROM a JOIN b ON a.k2 = b.k2 AND a.yes GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(w) FROM a JOIN b ON a.k2 = b.k2 AND a.yes WHERE %s IN (%s) OR b.s = 'n3'",
	};
	struct session s;
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	unsigned joins = 0;
	for (size_t i = 0; i < 3 * 6 * 3; i++) {
		char sql[400];
		if ((i / 9 + i / 3 + i) % (is_long() ? 1 : 7 * QUERY_STEP))
			continue; /* not all of them: each is a kernel */
		snprintf(sql, sizeof sql, queries[i % 3], keys[i / 3 % 3], sides[i / 9]);
		joins += same_at(s.con, sql, __FILE__, __LINE__);
	}
	assert_true(joins > 5 || QUERY_STEP > 1);
	same_there(s.con, "SELECT count(*), sum(v) FROM a JOIN b ON a.k2 = b.k2 WHERE a.s NOT IN (SELECT s FROM c WHERE x < 20)");
	same_there(s.con, "SELECT b.s IN (SELECT s FROM a WHERE v < 50), count(*) FROM a LEFT JOIN b ON a.k = b.k GROUP BY ALL "
	                  "ORDER BY ALL");
	same_there(s.con, "SELECT count(*), sum(v) FROM a LEFT JOIN b ON a.k = b.k WHERE b.k2 NOT IN (SELECT k2 FROM c)");
}

/* Where few rows of a small table are left, it and what it leads to come first, and the largest table at last. Equalities that
 * no key of the order says are tested above, those that others imply are not; a semi join may stand between inner ones. */
static void orders(void **state)
{
	static const struct {
		const char *sql, *plan;
	} cases[] = {
		{"SELECT b.s, count(*), sum(v), sum(w) FROM a, b, c WHERE a.k = b.k AND b.k2 = c.k2 AND x >= 20 AND x < 26 GROUP BY b.s ORDER BY b.s",
	     ", a: about"},
		{"SELECT c.s, count(*), sum(v) FROM a, b, c WHERE a.k = b.k AND b.k2 = c.k2 AND a.k2 = c.k2 GROUP BY c.s ORDER BY c.s",
	     "lost: "},
		{"~SELECT c.s, count(*), sum(w) FROM a, b, c WHERE a.k = b.k AND b.k = c.k GROUP BY c.s ORDER BY c.s", "lost: "},
		{"SELECT count(*), sum(v), sum(w) FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM c WHERE c.k2 = b.k2 AND x < 30)",
	     "order b, c, a: about"},
	};
	struct session s;
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	s = shared_session();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char explain[512];
		const char *sql = usual(cases[i].sql);
		if (!sql)
			continue;
		same_there(s.con, sql);
		snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
		char *plan = rows_of(s.con, explain, NULL);
		holds(plan, cases[i].plan);
		holds(plan, "steps priced");
		free(plan);
	}
}

/* One key has most of the rows, which no statistics say: the run counts them, and the next one has room. */
static void growth(void **state)
{
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = joins_session();
	run(s.con, "CREATE TABLE l AS SELECT CASE WHEN i % 10 < 7 THEN 42 ELSE i END::INTEGER k, i::INTEGER v FROM "
	    "range(3000) r(i); "
	           "CREATE TABLE r AS SELECT CASE WHEN i % 10 < 5 THEN 42 ELSE i END::INTEGER k, (i % 11)::INTEGER "
	           "g FROM range(600) r(i); "
	           "CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)");
	/* Far more rows than the 4,096 that there is room for at first, and few enough for a processor's lanes. */
	same_there(s.con, "SELECT g, count(*), sum(v) FROM l JOIN r ON l.k = r.k WHERE l.v < 100 GROUP BY g ORDER BY g");
	same_there(s.con, "SELECT count(*), sum(v) FROM l LEFT JOIN r ON l.k = r.k AND g < 5 WHERE l.v < 100");
	/* Build rows of a key beyond one table. */
	same_there(s.con, "SELECT count(*), sum(l.v) FROM r JOIN l ON l.k = r.k WHERE r.g < 2 AND l.v NOT IN (SELECT k FROM l x)");
	same_there(s.con, "SELECT count(*), sum(g) FROM r ANTI JOIN l ON l.k = r.k AND l.v < r.g AND l.v <> r.k");
	same_there(s.con, "SELECT count(*), sum(v) FROM r LEFT JOIN l ON l.k = r.k AND l.v < r.g");
	same_there(s.con, "SELECT count(*), sum(v), count(g) FROM (SELECT * FROM r WHERE g = 3) e FULL JOIN l ON l.k = e.k");
	run(s.con, "INSERT INTO l VALUES (NULL, 0); REFRESH INDEX cl");
	same_there(s.con, "SELECT r.k IN (SELECT k FROM l) x, count(*) FROM r JOIN a ON r.g = a.k GROUP BY ALL ORDER BY ALL");
	close_session(&s);
}

static void inserts(void **state)
{
	static const char sql[] = "SELECT b.s, count(*), sum(v), max(b.t) FROM a JOIN b ON a.k = b.k GROUP BY b.s "
	    "ORDER BY b.s";
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = joins_session();
	same_there(s.con, sql);
	run(s.con, "INSERT INTO b SELECT k, k2, w, 'new ' || s, d, t, m FROM b WHERE k2 < 5");
	same_there(s.con, sql);
	run(s.con, "DELETE FROM a WHERE v % 2 = 0; REFRESH INDEX ca");
	same_there(s.con, sql);
	close_session(&s);
}

/* What is not joined there has the host's answer, too: a join above a full one, expressions below one, further conditions
 * that are no comparison of one side's value with the other's, or can raise an error, sums that can, a method that is
 * switched off. */
static void refusals(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*), sum(x) FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON c.k2 = b.k2",
		"SELECT y, count(*) FROM (SELECT *, coalesce(k2, 3) y FROM a) a FULL JOIN b ON a.k = b.k GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(v) FROM a JOIN b ON a.k = b.k AND a.v < b.w FULL JOIN c ON c.k2 = b.k2",
		"SELECT count(*), count(b.k) FROM a LEFT JOIN b ON a.k = b.k AND a.v + b.w > 5",
		"SELECT count(*), count(b.k) FROM a LEFT JOIN b ON a.k = b.k AND (a.t < b.t OR a.yes)",
		"SELECT count(*) FROM a SEMI JOIN b ON a.k = b.k AND CASE WHEN a.v < 3 THEN a.v ELSE 0 END * 1000000000000000000 > b.w",
		"SELECT count(*) FROM a JOIN b ON a.k = b.k WHERE CASE WHEN a.v < 3 THEN a.v ELSE 0 END * b.w * "
		"1000000000000000 > 5",
		"SELECT count(*) FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.s IS NOT DISTINCT FROM c.s",
		"SELECT count(*) FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON coalesce(b.k2, 3) = c.k2",
		"SELECT count(*) FROM a LEFT JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.s IS NOT "
		"DISTINCT FROM b.s)",
		"SET rayql_enable_join = off",
		"SELECT count(*) FROM a JOIN b ON a.k = b.k",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = joins_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		char explain[256];
		if (queries[i][1] == 'E' && queries[i][2] == 'T') {
			run(s.con, queries[i]);
			continue;
		}
		snprintf(explain, sizeof explain, "EXPLAIN %s", queries[i]);
		char *plan = rows_of(s.con, explain, NULL), *have = rows_of(s.con, queries[i], NULL);
		/* A part's rows may be joined there: then the rest is joined above them. */
		assert_true(!strstr(plan, joined) || strstr(plan, "method materialise on"));
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, queries[i], NULL);
		run(s.con, "SET rayql_enable_scan = on");
		assert_string_equal(have, want);
		free(plan);
		free(have);
		free(want);
	}
	close_session(&s);
}

/* A device that fails somewhere in a chain: the right answer all the same, and a structure that says so. */
static void faults(void **state)
{
	static const char make[] = "CREATE TABLE l AS SELECT CASE WHEN i % 10 < 7 THEN 42 ELSE i END::INTEGER k, "
	    "i::INTEGER v FROM range(300) r(i); "
	                           "CREATE TABLE r AS SELECT CASE WHEN i % 10 < 5 THEN 42 ELSE i END::INTEGER k, (i "
	                           "% 11)::INTEGER g FROM range(200) r(i); "
	                           "CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)";
	static const char sql[] = "SELECT g, count(*), sum(v) FROM l JOIN r ON l.k = r.k GROUP BY g ORDER BY g";
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults(make, sql, 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(joined_sides), cmocka_unit_test(keys_apart), cmocka_unit_test(computed_keys),
		cmocka_unit_test(full_joins),
		cmocka_unit_test(single_rows),
		cmocka_unit_test(conditions),
		cmocka_unit_test(three_values),
		cmocka_unit_test(orders),
		cmocka_unit_test(growth),
		cmocka_unit_test(inserts),
		cmocka_unit_test(refusals),
		cmocka_unit_test(faults),
	};
	return cmocka_run_group_tests(tests, NULL, close_shared);
}
