/* WITH (...) of CREATE INDEX ... USING rx | cgrx: what is refused and why, what the catalog and EXPLAIN say, what a file
 * keeps; and each design's answers by rays beside the host's, also where it does not hold the keys any more. */
#include "device.h"
#include "indexed.h"
#include "scans.h"

static void hold_notice(rayql_connection *con, const char *sql, const char *text)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	run(con, "SET rayql_fallback = notice");
	assert_int_equal(rayql_query(con, sql, &res, &err), RAYQL_OK);
	holds(rayql_result_notice(res) ? rayql_result_notice(res) : "", text);
	rayql_result_free(res);
}

#define REFUSED(form, column, with, why)                                                                               \
	fails(s.con, "CREATE INDEX i ON t USING " form " (" column ") WITH (" with ")", RAYQL_ERROR_STATEMENT, why)

static void refused_options(void **state)
{
	(void)state;
	without_vulkan();
	struct session s = scan_session();
	make_rows(s.con, 5000);
	REFUSED("rx", "k", "vectors = 3", "CREATE INDEX ... USING rx has no option \"vectors\"; its options are keys (auto, naive");
	REFUSED("rx", "k", "bucket = 32", "USING rx has no option \"bucket\"");
	REFUSED("cgrx", "k", "primitive = sphere", "USING cgrx has no option \"primitive\"; its options are bucket");
	REFUSED("rx", "k", "keys = 4d", "syntax error");
	REFUSED("rx", "k", "keys = flat", "the option keys cannot be 'flat'; it is auto, naive, extended or '3d'");
	REFUSED("rx", "k", "primitive = cube", "it is triangle, sphere or aabb");
	REFUSED("rx", "k", "rays = diagonal", "it is auto, offset, zero or perpendicular");
	REFUSED("rx", "k", "compact = perhaps", "it is true or false");
	REFUSED("rx", "k", "bits = 22", "it is three numbers, of x, y and z");
	REFUSED("rx", "k", "bits = (22, 10)", "it is three numbers");
	REFUSED("rx", "k", "bits = (23, 1, 1)", "it is three numbers");
	REFUSED("rx", "k", "bits = (0, 22, 22)", "it is three numbers");
	REFUSED("rx", "k", "bits = (22, 22, 21)", "it is three numbers");
	REFUSED("rx", "k", "bits = (9, 9, 9, 9)", "it is three numbers");
	REFUSED("cgrx", "k", "bucket = 48", "the option bucket cannot be '48'; it is a power of two from 1 to 65536");
	REFUSED("cgrx", "k", "bucket = 0", "it is a power of two");
	REFUSED("cgrx", "k", "bucket = 131072", "it is a power of two");
	REFUSED("rx", "k", "keys = naive, bits = (11, 11, 0)", "bits cut keys in three axes; keys = naive has one");
	REFUSED("rx", "k", "keys = extended, rays = offset", "rays = offset does not go with keys = extended");
	REFUSED("rx", "k", "primitive = sphere, keys = extended", "primitive = sphere does not go with keys = extended");
	REFUSED("rx", "x", "keys = naive", "keys = naive cannot hold the column \"x\": it has 2^22 keys at most, and a DOUBLE");
	REFUSED("rx", "k, x", "keys = extended", "keys = extended cannot hold the column \"x\"");
	/* By the values, where the columns are held. */
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	REFUSED("rx", "p", "keys = naive", "Binder Error: keys = naive cannot hold the keys of the index i, which span up to 2^30 "
	                                   "values; take keys = '3d', or bits whose sum is as large");
	REFUSED("rx", "k", "bits = (5, 5, 4)", "bits = (5, 5, 4) cannot hold the keys of the index i, which span up to 2^15 values");
	run(s.con, "CREATE INDEX i ON t USING rx (k) WITH (bits = (5, 5, 5))");
	run(s.con, "CREATE INDEX j ON t USING cgrx (b) WITH (bits = (5, 5, 5))"); /* which drops low bits */
	/* Values that come later: right answers, and a notice of who asks. */
	run(s.con, "UPDATE t SET k = id * 20000 WHERE id >= 1000; REFRESH INDEX c");
	hold_notice(s.con, "REFRESH INDEX i",
	            "bits = (5, 5, 5) cannot hold the keys of the index i, which span up to 2^27 values: parts of the table with "
	            "more of them have keys = '3d'");
	expect(s.con, "SELECT reason LIKE 'bits = (5, 5, 5) cannot hold%' FROM rayql_structures() WHERE name = 'i'", NULL, "true\n");
	close_session(&s);
	with_vulkan(NULL);
}

static void kept_options(void **state)
{
	static const char shown[] = "SELECT name, options FROM rayql_structures() WHERE kind LIKE '%rx' ORDER BY 1";
	static const char options[] =
		"a|\nb|keys = extended, primitive = aabb, rays = perpendicular, compact = false\nc|keys = '3d', bits = (7, 5, 3), rays = "
		"zero\nd|bits = (6, 4, 3), bucket = 1\ne|compact = false\n";
	char path[256];
	(void)state;
	without_vulkan();
	struct session s = open_session(scratch_path(path, "ray_options.db"), NULL);
	make_rows(s.con, 5000);
	run(s.con, "CREATE INDEX columns ON t USING columns (*)");
	run(s.con, "CREATE INDEX a ON t USING rx (k) WITH (keys = auto, primitive = triangle, rays = auto, compact)");
	run(s.con, "CREATE INDEX b ON t USING rx (k) WITH (compact = OFF, rays = Perpendicular, keys = extended, primitive = AABB)");
	run(s.con, "CREATE INDEX c ON t USING rx (k) WITH (bits = (7,5, 3), keys = '3D', rays = zero)");
	run(s.con, "CREATE INDEX d ON t USING cgrx (k) WITH (bucket = 1, bits = '6, 4, 3')");
	run(s.con, "CREATE INDEX e ON t USING cgrx (k) WITH (bucket = 32, compact = false)");
	expect(s.con, shown, NULL, options);
	for (int i = 0; i < 2; i++) { /* the second time what the first one wrote is read */
		close_session(&s);
		s = open_session(path, NULL);
		expect(s.con, shown, NULL, options);
		expect(s.con, "SELECT definition FROM rayql_structures() WHERE name = 'c'", NULL,
		       "CREATE INDEX c ON t USING rx (k) WITH (keys = '3d', bits = (7, 5, 3), rays = zero);\n");
		run(s.con, "REFRESH INDEX c");
	}
	close_session(&s);
	with_vulkan(NULL);
}

#define looked_up(con, sql) looked_up_at(con, sql, __FILE__, __LINE__)
static void looked_up_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	same_at(con, sql, "scan", file, line);
	_assert_true(by_index(con, sql, "rt"), sql, file, line);
}

static void look_up_all(rayql_connection *con)
{
	looked_up(con, "SELECT count(*), sum(id) FROM t WHERE k = 300");
	looked_up(con, "SELECT count(*), sum(id) FROM t WHERE k IN (0, 3, 9, 26994, 26997, 26998, -1, NULL)");
	looked_up(con, "SELECT count(*), sum(id) FROM t WHERE k BETWEEN 90 AND 20000");
	looked_up(con, "SELECT count(*), sum(id) FROM t WHERE k = 600 OR k BETWEEN 600 AND 603 OR k > 26900");
	for (unsigned i = 0; i < statements / 10; i++) {
		char sql[200], low[64], high[64];
		put_value(low, sizeof low, 'k');
		put_value(high, sizeof high, 'k');
		snprintf(sql, sizeof sql, "SELECT count(*), sum(id) FROM t WHERE k BETWEEN %s AND %s OR k = %u", low, high, roll(27000));
		looked_up(con, sql);
	}
}

/* A pipeline or two each, so that each option is in one or two designs. */
static void designs(void **state)
{
	static const char *const all[] = {
		"rx (k) WITH (keys = naive, primitive = sphere, rays = perpendicular)",
		"rx (k) WITH (keys = extended, primitive = aabb)",
		"rx (k) WITH (bits = (7, 5, 3), rays = zero, compact = false)",
		"cgrx (k) WITH (bits = (6, 4, 3), bucket = 1)",
		"cgrx (k) WITH (bucket = 256, compact = false)",
	};
	(void)state;
	left_to_release();
	if (!has_unit("rt"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, 6000); /* extended keys and rays from zero meet many boxes */
	run(s.con, "CREATE TABLE keys AS SELECT (i * 99)::INTEGER AS k FROM range(300) q(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); CREATE INDEX ck ON keys USING columns (*)");
	run(s.con, "SET rayql_device = 'vulkan:0'; SET rayql_force = rows");
	for (size_t d = 0; d < sizeof all / sizeof *all; d++) {
		char sql[200];
		snprintf(sql, sizeof sql, "CREATE INDEX i ON t USING %s", all[d]);
		run(s.con, sql);
		look_up_all(s.con);
		same(s.con, "SELECT count(*), sum(id) FROM t JOIN keys USING (k)"); /* single keys; those that it lacks are none */
		char *text = rows_of(s.con, "EXPLAIN SELECT count(*), sum(id) FROM t WHERE k = 300", NULL);
		snprintf(sql, sizeof sql, "under rows of index on rt, in i (%s, by 1 condition", strstr(all[d], "WITH (") + 6);
		holds(text, sql);
		free(text);
		run(s.con, "DROP INDEX i");
	}
	/* Two of one column lie beside each other. Then a key comes that neither holds. */
	run(s.con, "CREATE INDEX i ON t USING rx (k) WITH (keys = naive, rays = perpendicular)");
	look_up_all(s.con);
	run(s.con, "UPDATE t SET k = id * 20000 WHERE id >= 3000");
	look_up_all(s.con);
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 100000000");
	hold_notice(s.con, "REFRESH INDEX i", "keys = naive, rays = perpendicular cannot hold the keys of the index i");
	expect(s.con, "SELECT placed LIKE '%rays in %' FROM rayql_structures() WHERE name = 'i'", NULL, "true\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_options),
		cmocka_unit_test(kept_options),
		cmocka_unit_test(designs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
