/* Joins and group-bys of the unit raster through SQL: what is drawn is chosen where rayql_unit says so, EXPLAIN names it,
 * every answer is DuckDB's; what cannot be drawn is refused with the reason. Random tables: skewed keys, duplicates on both
 * sides, NULLs, keys of 64 bits, texts of two dictionaries by codes and by hash, several keys, an empty side. */
#include "check.h"
#include "device.h"

static struct session raster_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con,
	    "CREATE TABLE a AS SELECT (hash(i) % 300)::INTEGER k, (hash(i * 3) % 40)::SMALLINT k2, i::BIGINT v, 'n' || (hash(i * "
	    "5) % 13) s, ((hash(i * 17) % 100000) / 100)::DECIMAL(9, 2) m, (hash(i * 7) % 200)::BIGINT * 1000000000000 - 5 AS far, "
	    "(hash(i * 41) % 100 / 8.0)::DOUBLE d FROM range(3000) r(i)");
	/* a third of b has one key */
	run(s.con,
	    "CREATE TABLE b AS SELECT CASE WHEN i % 3 = 0 THEN 7 ELSE (hash(i * 29) % 400)::INTEGER - 50 END k, (hash(i * 31) % "
	    "50)::SMALLINT k2, i::BIGINT * 2 w, 'n' || (hash(i * 37) % 20) s, (hash(i * 11) % 300)::BIGINT * 1000000000000 - 5 AS "
	    "far, (9223372036854775807 - hash(i * 43) % 1000)::BIGINT AS most FROM range(600) r(i)");
	run(s.con, "CREATE TABLE e (k INTEGER, w BIGINT, s VARCHAR)");
	run(s.con, "UPDATE a SET k = NULL WHERE v % 17 = 0; UPDATE a SET s = NULL WHERE v % 19 = 3; UPDATE a SET m = NULL WHERE v "
	           "% 31 = 4; UPDATE a SET far = NULL WHERE v % 23 = 1; UPDATE b SET k = NULL WHERE w % 14 = 0; UPDATE b SET most = "
	           "NULL WHERE w % 6 = 2; UPDATE b SET w = NULL WHERE w % 46 = 6");
	run(s.con, "CREATE TABLE r AS SELECT (i % 9)::INTEGER g, CASE WHEN i % 9 = 5 AND i % 2 = 0 THEN 'inf' WHEN i % 9 = 6 AND i % 7 = 3 "
	           "THEN 'nan' WHEN i % 9 = 7 AND i % 5 = 0 THEN '-inf' WHEN i % 9 = 8 THEN NULL WHEN i % 9 = 4 THEN '-0.0' ELSE ((hash(i) % "
	           "999)::BIGINT - 400) / 8.0 END::DOUBLE x, CASE WHEN i % 4 > 0 THEN (hash(i * 3) % 99 / 4.0)::FLOAT END f FROM range(500) "
	           "t(i); CREATE INDEX cr ON r USING columns (*)");
	run(s.con, "CREATE INDEX ca ON a USING columns (*); CREATE INDEX cb ON b USING columns (*); CREATE INDEX ce ON e USING "
	           "columns (*)");
	run(s.con, "SET rayql_device = 'vulkan:0'; SET rayql_unit = 'raster'; SET rayql_force = on; SET rayql_fallback = off");
	return s;
}

/* The host's answer, drawn, twice: the second time from the plan cache. */
#define same_drawn(con, sql, how) same_drawn_at(con, sql, how, __FILE__, __LINE__)
static void same_drawn_at(rayql_connection *con, const char *sql, const char *how, const char *file, int line)
{
	char explain[1024];
	run(con, "SET rayql_fallback = on; SET rayql_enable_scan = off; SET rayql_enable_group = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_fallback = off; SET rayql_enable_scan = on; SET rayql_enable_group = on");
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	char *plan = rows_of(con, explain, NULL);
	holds_at(plan, how, file, line);
	for (int i = 0; i < 2; i++)
		expect_at(con, sql, NULL, want, file, line);
	free(plan);
	free(want);
}

static bool has_real_gpu(rayql_connection *con)
{
	char *rows = rows_of(con, "SELECT count(*) FROM rayql_devices() WHERE kind <> 'cpu' AND kind <> 'software'", NULL);
	bool some = strcmp(rows, "0\n") != 0;
	free(rows);
	return some;
}

static void joins(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*), sum(v), sum(w), count(w), min(a.m), max(b.s) FROM a, b WHERE a.k = b.k",
		"SELECT b.s, count(*), sum(a.m) FROM a JOIN b ON a.s = b.s AND a.k2 = b.k2 GROUP BY b.s ORDER BY b.s",
		"SELECT a.k2, count(*), count(w), sum(w) FROM a LEFT JOIN b ON a.far = b.far GROUP BY a.k2 ORDER BY a.k2",
		"SELECT a.s, count(*), sum(v) FROM a JOIN b ON a.k = b.k SEMI JOIN b x ON a.k2 = x.k2 AND a.s = x.s ANTI JOIN b y ON "
		"a.far = y.far GROUP BY a.s ORDER BY a.s",
		"SELECT count(*), count(e.w), sum(v) FROM a JOIN b ON a.k = b.k LEFT JOIN e ON a.k = e.k ANTI JOIN e x ON a.s = x.s",
		"SELECT v, w FROM a JOIN b ON a.k = b.k WHERE a.v < 300 ORDER BY v, w LIMIT 40",
		"SELECT count(*), count(v), count(w), sum(v), sum(w), min(a.m), max(b.s) FROM a FULL JOIN b ON a.far = b.far",
		"SELECT b.s, count(*), count(v), sum(w) FROM a FULL JOIN b ON a.s = b.s AND a.k2 = b.k2 GROUP BY b.s ORDER BY b.s",
		"SELECT b.s, count(*), sum((SELECT x.k2 FROM a x WHERE x.v = b.w)) FROM a JOIN b ON a.k = b.k GROUP BY ALL ORDER BY ALL",
		/* conditions beside the keys */
		"SELECT count(*), count(w), sum(v), sum(w) FROM a LEFT JOIN b ON a.k = b.k AND a.k2 <> b.k2 AND b.w > 100",
		"SELECT count(*), sum(v), sum(w) FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM b x WHERE a.far = x.far AND a.v < x.w) "
		"AND NOT EXISTS (SELECT 1 FROM b y WHERE a.s = y.s AND y.k2 > a.k2 + 8)",
	};
	struct session s;
	(void)state;
	if (!has_unit("raster"))
		skip();
	s = raster_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same_drawn(s.con, queries[i], ", by raster on the device");
	run(s.con, "INSERT INTO b SELECT k, k2, w, 'new', far, most FROM b WHERE k2 = 3");
	same_drawn(s.con, queries[0], ", by raster on the device");
	/* a subquery's second row is seen, and the host raises the error */
	fails(s.con, "SELECT count(*), sum((SELECT x.k2 FROM a x WHERE x.k = b.k)) FROM a JOIN b ON a.far = b.far",
	      RAYQL_ERROR_UNSUPPORTED, "a scalar subquery gives more than one row");
	/* 40,000 pairs of one key */
	char *text = rows_of(s.con, "EXPLAIN ANALYZE SELECT count(*) FROM b x JOIN b y ON x.k = y.k", NULL);
	holds(text, "    estimated: ");
	holds(text, "drawn: ");
	holds(text, ", 1 flattened; dense images of ");
	holds(text, " bytes of images");
	free(text);
	/* the paper's way: a stack of layers, built on the side that takes fewer */
	run(s.con, "SET rayql_layout = 'paper'");
	for (size_t i = 0; i < 3; i++)
		same_drawn(s.con, queries[i], ", by raster on the device");
	text = rows_of(s.con, "EXPLAIN ANALYZE SELECT count(*), sum(w) FROM a JOIN b ON a.far = b.far", NULL);
	assert_null(strstr(text, " 0 layers"));
	holds(text, "pixels of 16 bytes (keys of 64 bits)");
	free(text);
	same_drawn(s.con, "SELECT count(*), sum(v), sum(w) FROM a LEFT JOIN b ON a.k = b.k",
	           "stacks of 8 layers of 64 x 64 pixels of 4 bytes (what is left of a key and a row share 32 bits)");
	same_drawn(s.con, "SELECT count(*), sum(v), sum(x.w) FROM a JOIN (SELECT * FROM b WHERE w < 140) x ON a.k = x.k",
	           "pixels of 8 bytes (a partition has more rows than 32 bits have room for beside a key)");
	run(s.con, "SET rayql_layout = 'auto'");
	/* of rows in the host's memory conditions are the CPU's: it tests the pairs that are drawn */
	same_drawn(s.con, "SELECT count(*), sum(w) FROM (SELECT * FROM a ORDER BY v LIMIT 2000) x LEFT JOIN b ON x.k = b.k AND x.k2 <> b.k2",
	           "pairs by join on raster");
	run(s.con, "SET rayql_device = auto"); /* software is not taken unasked; without any GPU there is none either */
	if (!has_real_gpu(s.con))
		fails(s.con, "SELECT count(*), sum(w) FROM a JOIN b ON a.k = b.k", RAYQL_ERROR_UNSUPPORTED, "driver in software");
	close_session(&s);
}

/* Texts that come a few times each: no code of one dictionary is looked for in the other one. */
static void texts(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*), count(v), count(w), sum(v), sum(w) FROM p JOIN q ON p.s = q.s",
		"SELECT count(*), count(v), count(w), sum(v), sum(w) FROM p FULL JOIN q ON p.s = q.s",
		"SELECT count(*), count(v), count(w), sum(v), sum(w) FROM q LEFT JOIN p ON q.s = p.s",
		"SELECT v FROM p SEMI JOIN q ON p.s = q.s WHERE v > 70 ORDER BY v",
		"SELECT v FROM p ANTI JOIN q ON p.s = q.s WHERE v > 70 ORDER BY v",
		"SELECT count(*), count(v), count(w), sum(v), sum(w) FROM p JOIN q ON p.b = q.b",
		/* of the other side there is no text */
		"SELECT v, w FROM p LEFT JOIN none ON p.s = none.s WHERE v > 70 ORDER BY ALL",
		"SELECT v, w FROM p JOIN none ON p.s = none.s WHERE v > 70 ORDER BY ALL",
		"SELECT v FROM p ANTI JOIN (SELECT * FROM none WHERE w > 5) x ON p.s = x.s WHERE v > 70 ORDER BY v",
		/* several keys: a text and a number of one column or of two, one of which NULL equals NULL; two texts; conditions */
		"SELECT count(*), sum(v), sum(w), sum(p.n) FROM p JOIN q ON p.t = q.t AND p.n = q.n",
		"SELECT count(*), count(v), count(w), sum(v), sum(w) FROM p FULL JOIN q ON p.n = q.n AND p.t = q.t AND p.u = q.u AND p.far = "
		"q.far",
		"SELECT count(*), count(w), sum(w) FROM p LEFT JOIN q ON p.far = q.far AND p.t = q.t AND p.x = q.x",
		"SELECT count(*), sum(v), sum(w) FROM p JOIN q ON p.x = q.x AND p.t = q.t WHERE NOT EXISTS (SELECT 1 FROM q y WHERE p.t = y.t "
		"AND p.n IS NOT DISTINCT FROM y.n AND p.v > y.w + 4)",
		/* a text that goes on, and a join by codes of one dictionary above */
		"SELECT q.s, v, w FROM p JOIN q ON p.s = q.s SEMI JOIN p x ON p.s = x.s WHERE v % 8 = 3 ORDER BY ALL",
	};
	static const char by_hash[] = ", texts of two dictionaries by hash, compared by bytes";
	struct session s;
	(void)state;
	if (!has_unit("raster"))
		skip();
	s = raster_session();
	/* lengths from 0 to 60; a long beginning that many have; a fifth of q's texts is p's */
	run(s.con, "CREATE TABLE p AS SELECT i::BIGINT v, CASE WHEN i % 40 = 1 THEN '' ELSE repeat('ab', (i % 23)::INTEGER) || (hash(i // 2) "
	           "% 5000) END s, ('\\x00' || (hash(i * 3) % 90))::BLOB b, CASE WHEN i % 7 > 0 THEN i % 3 END::INTEGER n, (i % 2)::BIGINT * "
	           "7000000000 far, 't' || (i // 4) t, 'u' || i % 2 u, 'x' || (i // 4) x FROM range(1500) r(i)");
	run(s.con, "CREATE TABLE q AS SELECT i::BIGINT w, CASE WHEN i % 5 = 0 THEN (SELECT any_value(s) FROM p WHERE v = i) WHEN i % 31 = 2 THEN "
	           "'' ELSE repeat('ab', (i % 29)::INTEGER) || (hash(i * 7) % 5000) END s, ('\\x00' || (hash(i * 5) % 110))::BLOB b, "
	           "CASE WHEN i % 8 > 0 THEN i % 3 END::INTEGER n, (i % 2)::BIGINT * 7000000000 far, 't' || (i // 4 + i % 2) t, 'u' || i % 3 u, "
	           "'x' || (i // 4) x FROM range(700) r(i)");
	run(s.con, "UPDATE p SET s = NULL WHERE v % 17 = 3; UPDATE q SET s = NULL WHERE w % 13 = 3; CREATE TABLE none AS SELECT w, "
	           "NULL::VARCHAR s FROM q LIMIT 9; CREATE INDEX cp ON p USING columns (*); CREATE INDEX cq ON q USING columns (*); "
	           "CREATE INDEX cn ON none USING columns (*)");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same_drawn(s.con, queries[i], i == 5 ? ", by raster on the device" : by_hash);
	/* few texts are codes; the paper draws them all by hash, in stacks */
	static const char few[] = "SELECT count(*), count(v), count(w), sum(v), sum(w) FROM a JOIN b ON a.s = b.s";
	char *text = rows_of(s.con, "EXPLAIN SELECT count(*), sum(v), sum(w) FROM a JOIN b ON a.s = b.s", NULL);
	assert_null(strstr(text, by_hash));
	free(text);
	run(s.con, "SET rayql_layout = 'paper'");
	same_drawn(s.con, few, by_hash);
	same_drawn(s.con, queries[4], by_hash);
	close_session(&s);
}

/* What the limit of memory forbids is told with what it needs and what there is. */
static void no_room(void **state)
{
	static const char sql[] = "SELECT count(*), sum(v), sum(w) FROM a JOIN b ON a.k = b.k";
	rayql_query_info info = {.size = sizeof info};
	struct session s;
	(void)state;
	if (!has_unit("raster"))
		skip();
	s = raster_session();
	run(s.con, "SET rayql_fallback = on; SET rayql_device_memory_limit = '10KB'");
	free(rows_of(s.con, sql, NULL));
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	holds(info.method, "host");
	holds(info.reason, "joined as columns on vulkan:0: it needs ");
	holds(info.reason, " of the device's memory and rayql_device_memory_limit leaves ");
	/* rows in the host's memory: a partition of them has no room, either */
	free(rows_of(s.con, "SELECT count(*), sum(v) FROM (SELECT * FROM a ORDER BY v LIMIT 2000) x JOIN b ON x.k = b.k", NULL));
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	holds(info.reason, "rayql_device_memory_limit leaves");
	close_session(&s);
}

static void groups(void **state)
{
	static const char *const queries[] = {
		"SELECT k, count(*), count(m), sum(m), min(m), max(m), avg(m) FROM a GROUP BY k ORDER BY k",
		"SELECT far, s, sum(v * k2), max(s), count(*) FROM a WHERE v % 3 < 2 GROUP BY far, s ORDER BY ALL",
		/* sums beyond 64 bits */
		"SELECT k2, sum(most), avg(most), min(most), max(most), count(most) FROM b GROUP BY k2 ORDER BY k2",
		"SELECT k, count(*) FROM b WHERE w > 100000 GROUP BY k",
		/* one group, of which there is a row whatever passes */
		"SELECT count(*), count(m), sum(m), avg(m), min(far), max(s), sum(v * k2) FROM a",
		"SELECT count(*), count(w), sum(w), avg(w), min(s), sum(most) FROM b WHERE w > 100000",
		"SELECT sum(most), avg(most), count(*) FILTER (w > 100000), max(k) FILTER (w > 100000) FROM b",
		/* rows that a filter lets through, where it is NULL as well */
		"SELECT k2, count(*) FILTER (v % 3 = 1), count(m) FILTER (k > 100), sum(m) FILTER (s > 'n5'), sum(m), min(s) FILTER (k IS "
		"NULL) FROM a GROUP BY k2 ORDER BY k2",
		"SELECT k2, sum(most) FILTER (w % 4 = 0), count(*) FILTER (most > 9223372036854775500) FROM b GROUP BY k2 ORDER BY k2",
		/* one group has more rows than a pass of limbs adds up exactly, though many groups are expected: it is noticed */
		"SELECT k, count(*), sum(v), avg(v), count(v) FROM big GROUP BY k ORDER BY k",
		/* extremes of reals */
		"SELECT g, min(x), max(x), count(x), max(f) FROM r GROUP BY g ORDER BY g",
		/* more states than go through partitions */
		"SELECT k2, s, sum(k), sum(v), sum(m), sum(m * (1 - k)), sum(m * (1 - k) * (1 + v)), avg(k), avg(v), avg(m), count(*), "
		"min(m), max(far), sum(far - v), count(s), min(v * v), max(k - v) FROM a GROUP BY k2, s ORDER BY k2, s",
	};
	static const char *const reals[] = {
		/* eighths, whose sums are exact in any order; a negative zero, infinities, NaN and NULL */
		"SELECT k, sum(d), avg(d), count(d), min(d), max(d) FROM a GROUP BY k ORDER BY k",
		"SELECT g, sum(x), avg(x), min(x), max(x), count(x), sum(f), max(f) FROM r GROUP BY g ORDER BY g",
		"SELECT sum(x), min(x), max(x), min(f), sum(x) FILTER (f > 1) FROM r WHERE g < 5",
	};
	struct session s;
	(void)state;
	if (!has_unit("raster"))
		skip();
	s = raster_session();
	run(s.con, "CREATE TABLE big AS SELECT CASE WHEN i % 9000 = 7 THEN i // 9 ELSE 5 END::INTEGER k, CASE WHEN i % 11 > 0 THEN (hash(i) "
	           "// 2)::BIGINT - 4611686018427387904 END v FROM range(70000) r(i); CREATE INDEX cbig ON big USING columns (*)");
	for (size_t w = 0; w < 2; w++) {
		run(s.con, w ? "SET rayql_totals = 'limbs'" : "SET rayql_totals = 'atomics'");
		for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
			if (w || i % 2 == 0) /* limbs are the longer way; atomics are below, too */
				same_drawn(s.con, queries[i], w ? "totals by limbs that blend units add, in" : "totals by atomics of fragments");
	}
	char many[1024] = "EXPLAIN SELECT s";
	for (int i = 0; i < 33; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), ", sum(v %% %d)", i + 2);
	snprintf(many + strlen(many), sizeof many - strlen(many), " FROM a GROUP BY s");
	char *text = rows_of(s.con, many, NULL);
	holds(text, "more than 32 states of aggregates");
	free(text);
	fails(s.con, reals[0], RAYQL_ERROR_UNSUPPORTED, "a sum of reals has no exact limbs, and rayql_totals says limbs");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_totals'", NULL, "limbs\n");
	fails(s.con, "SET rayql_totals = 'sums'", RAYQL_ERROR_STATEMENT, "expected 'auto', 'atomics' or 'limbs'");
	run(s.con, "RESET rayql_totals");
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		same_drawn(s.con, reals[i], "totals by atomics of fragments");
	/* over joined rows */
	same_drawn(s.con, "SELECT a.far, b.k2, count(*), sum(w) FROM a JOIN b ON a.k = b.k GROUP BY ALL ORDER BY ALL",
	           "method: group on raster");
	text = rows_of(s.con, "EXPLAIN ANALYZE SELECT k, count(*) FROM a GROUP BY k", NULL);
	holds(text, "drawn: ");
	holds(text, " round");
	free(text);
	close_session(&s);
}

/* Several keys that are no number together are compared apart. What chooses the pixel is chosen by how many values they have;
 * where that is wrong, the next run hashes all. NULL is a key like others. */
static void keys(void **state)
{
	static const struct {
		const char *sql, *how;
	} cases[] = {
		{"SELECT w, u, count(*), sum(v), min(v), count(u) FROM q GROUP BY u, w ORDER BY ALL", "  2 keys compared, hashed by u (about 2"},
		{"SELECT c, t, w, count(*), max(v), count(c) FROM q GROUP BY ALL ORDER BY ALL", "  3 keys compared, hashed by w (about 2"},
		{"SELECT u % 5 x, c * 10000000000 y, t, count(*) FROM q GROUP BY ALL ORDER BY ALL", "  3 keys hashed as one number; totals by"},
		{"SELECT v // 250 * 10000000000 x, v * 10000000000 y, count(*), sum(v) FROM q GROUP BY x, y ORDER BY ALL",
		 "  2 keys compared, hashed by key 1 (about 3000 values); "},
		{"SELECT v * 10000000000 x, v // 250 * 10000000000 y, count(*), sum(v) FROM q GROUP BY x, y ORDER BY ALL",
		 "  2 keys compared, hashed by key 1 (about 3000 values); "},
		{"SELECT u, w, count(*) FROM q WHERE v > 5000 GROUP BY u, w", "  2 keys compared"},
		{"SELECT c, t, count(*) FROM q GROUP BY c, t ORDER BY ALL", "  2 keys hashed as one number; totals by"},
		/* reals: equal ones are one key, of which the host shows what it saw first */
		{"SELECT CASE WHEN x = 0 THEN 'zero' ELSE x::VARCHAR END, g, count(*), min(f) FROM r GROUP BY x, g ORDER BY ALL",
		 "  2 keys compared, hashed by x (about "},
		{"SELECT f, x + 1, g % 4 h, count(*), count(x) FROM r GROUP BY ALL ORDER BY ALL", "  3 keys compared, hashed by "},
		{"SELECT f, count(*), sum(g) FROM r GROUP BY f ORDER BY f", "method: group on raster"},
		/* so few reals that their codes have 32 bits */
		{"SELECT z, w, count(*) FROM (SELECT *, CASE WHEN c > 5 THEN 1 + (c % 7) / 1e13 END z FROM q) WHERE v > 400 GROUP BY z, w "
		 "ORDER BY ALL",
		 "  2 keys compared, hashed by w"},
		{"SELECT near, t, count(*), sum(v) FROM n GROUP BY near, t ORDER BY ALL", "  2 keys compared, hashed by "},
		{"SELECT near, count(*) FROM n GROUP BY near ORDER BY ALL", "method: group on raster"},
	};
	struct session s;
	(void)state;
	if (!has_unit("raster"))
		skip();
	s = raster_session();
	run(s.con, "CREATE TABLE q AS SELECT CASE WHEN i % 19 > 0 THEN (hash(i) // 8)::BIGINT END u, CASE WHEN i % 23 > 1 THEN (hash(i % "
	           "2900) // 8)::BIGINT END w, CASE WHEN i % 13 > 0 THEN hash(i % 40) % 90 END::SMALLINT c, (hash(i * 7) % 1000)::INTEGER v, "
	           "'t' || (i % 5) t FROM range(3000) r(i); CREATE INDEX cq ON q USING columns (*); CREATE TABLE n AS SELECT v, t, CASE "
	           "WHEN c > 5 THEN 1 + (c % 7) / 1e13 END::DOUBLE near FROM q; CREATE INDEX cn ON n USING columns (*)");
	run(s.con, "UPDATE r SET x = 0 WHERE g = 4 AND f > 12; UPDATE r SET f = 'nan' WHERE f = 2.5; UPDATE r SET x = (-'nan'::DOUBLE) WHERE "
	           "g = 6 AND f < 9");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		same_drawn(s.con, cases[i].sql, cases[i].how);
	run(s.con, "SET rayql_totals = 'limbs'");
	same_drawn(s.con, cases[0].sql, cases[0].how);
	close_session(&s);
}

/* More than an image has room for: prices of partitions, made before there is any buffer. */
static void many(void **state)
{
	struct session s;
	(void)state;
	if (!has_unit("raster"))
		skip();
	s = raster_session();
	run(s.con, "SET rayql_fallback = on; CREATE TABLE many AS SELECT (i * 7)::INTEGER k, (i % 9)::TINYINT v FROM range(9000000) r(i); "
	           "CREATE INDEX cmany ON many USING columns (*)");
	char *text = rows_of(s.con, "EXPLAIN SELECT k, sum(v) FROM many GROUP BY k", NULL);
	holds(text, "group on raster");
	free(text);
	text = rows_of(s.con, "EXPLAIN SELECT count(*), sum(x.v) FROM many x JOIN many y ON x.k = y.k", NULL);
	holds(text, "on raster");
	free(text);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(joins), cmocka_unit_test(texts), cmocka_unit_test(no_room),
	                                   cmocka_unit_test(groups), cmocka_unit_test(keys), cmocka_unit_test(many)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
