/* CREATE INDEX ... USING rx | cgrx: who answers, what is refused, and random conditions of many types looked up by rays
 * beside the host, while rows come and go, and on a device that fails. On a CPU such an index is its sorted run. test_rays
 * [STATEMENTS [SEED]] */
#include "device.h"
#include "indexed.h"
#include "scans.h"

static void make_indexes(rayql_connection *con, const char *refresh)
{
	char sql[800];
	snprintf(sql, sizeof sql,
	         "CREATE INDEX c ON t USING columns (*) WITH (refresh = %s); CREATE INDEX i_k ON t USING rx (k); "
	         "CREATE INDEX i_b ON t USING cgrx (b); CREATE INDEX i_d ON t USING rx (d); CREATE INDEX i_p ON t USING cgrx (p); "
	         "CREATE INDEX i_w ON t USING rx (w); CREATE INDEX i_s ON t USING cgrx (s); CREATE INDEX i_x ON t USING cgrx (x); "
	         "CREATE INDEX i_wk ON t USING rx (w, k); CREATE INDEX i_kd ON t USING cgrx (k, d)",
	         refresh);
	run(con, sql);
}

static void use_rays(rayql_connection *con)
{
	run(con, "SET rayql_device = 'vulkan:0'; SET rayql_force = rows");
}

static bool by_rays(rayql_connection *con, const char *sql)
{
	return by_index(con, sql, "rt");
}

#define looked_up(con, sql) looked_up_at(con, sql, __FILE__, __LINE__)
static void looked_up_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	same_at(con, sql, "scan", file, line);
	_assert_true(by_rays(con, sql), sql, file, line);
}

static void conditions(void **state)
{
	(void)state;
	if (!has_unit("rt"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, 30000);
	make_indexes(s.con, "manual");
	expect(s.con, "SELECT name, kind, state, rows FROM rayql_structures() WHERE name IN ('i_k', 'i_b') ORDER BY 1 DESC", NULL,
	       "i_k|rx|ready|29662\ni_b|cgrx|ready|30000\n");
	use_rays(s.con);
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k IN (3, 9, 26997, 26998, -1, NULL)");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k BETWEEN 90 AND 2000");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k > 30000");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k >= 0");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b = -4611686018427387904");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b BETWEEN -9223372036854775808 AND 9223372036854775807");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE w IN ('w1', 'w499', 'w500')");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x = 0.0::DOUBLE");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x >= 'nan'::DOUBLE");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x BETWEEN -50.0::DOUBLE AND 2.5::DOUBLE");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x IN (0.0::DOUBLE, 2.5::DOUBLE, 'nan'::DOUBLE)");
	/* Both by one index; two that have nothing to do with each other: one is looked up, both are tested. */
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE w = 'w7' AND k IN (12, 300, 9000, 20001)");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300 AND d < DATE '1990-01-01'");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k < 900 AND b > 0");
	/* A value that the index does not have. */
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE k IS NULL");
	/* A timed run counts what its rays met: of unique keys each row once. */
	run(s.con, "SET rayql_device_timing = on");
	run(s.con, "SELECT count(*), sum(id) FROM t WHERE k BETWEEN 90 AND 2000");
	expect(s.con, "SELECT unit, rays > 0, hits = (SELECT count(*) FROM t WHERE k BETWEEN 90 AND 2000) FROM rayql_last_query()",
	       NULL, "compute|true|true\n");
	run(s.con, "RESET rayql_device_timing");
	assert_false(by_rays(s.con, "SELECT count(*), sum(id) FROM t WHERE k IS NULL"));
	run(s.con, "SET rayql_enable_index = off");
	assert_false(by_rays(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300"));
	run(s.con, "SET rayql_enable_index = on; DROP INDEX i_k; DROP INDEX i_kd");
	assert_false(by_rays(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300"));
	close_session(&s);
}

/* RX casts a ray a line of 2^22 values: a range over 2^62 of them is not for it. cgRX takes it. */
static void wide_ranges(void **state)
{
	static const char wide[] = "SELECT count(*), sum(id) FROM t WHERE b > 900000000000000";
	(void)state;
	if (!has_unit("rt"))
		skip();
	struct session s = scan_session();
	run(s.con, "CREATE TABLE t AS SELECT i::INTEGER AS id, (hash(i) >> 2)::BIGINT AS b FROM range(20000) q(i); "
	           "INSERT INTO t VALUES (-1, 77), (-2, 77)");
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING rx (b)");
	use_rays(s.con);
	same(s.con, wide);
	assert_false(by_rays(s.con, wide));
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b = 77");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b < 1000000");
	run(s.con, "DROP INDEX i; CREATE INDEX i ON t USING cgrx (b)");
	looked_up(s.con, wide);
	close_session(&s);
}

static void joins(void **state)
{
	(void)state;
	if (!has_unit("rt"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, 30000);
	make_indexes(s.con, "manual");
	use_rays(s.con);
	if (QUERY_STEP == 1) /* ASan has it with maps */
		join_by_keys(s.con, "rt");
	wide_keys(s.con, "rt", "rx", "cgrx");
	close_session(&s);
}

static void random_statements(void **state)
{
	unsigned rows = 20000, taken = 0;
	(void)state;
	if (!has_unit("rt"))
		skip();
	print_message("seed %llu\n", (unsigned long long)seed);
	struct session s = scan_session();
	make_rows(s.con, rows);
	make_indexes(s.con, "auto");
	use_rays(s.con);
	for (unsigned i = 0; i < statements; i++) {
		char sql[512], condition[256];
		if (roll(6) == 0)
			change(s.con, &rows);
		put_condition(condition, sizeof condition);
		snprintf(sql, sizeof sql, "SELECT count(*), sum(id) FROM t WHERE %s", condition);
		same(s.con, sql);
		taken += by_rays(s.con, sql);
	}
	print_message("%u of %u by rays\n", taken, statements);
	assert_true(taken > statements / 2);
	close_session(&s);
}

/* The host answers what the device cannot. */
static void faults(void **state)
{
	static const char *const faults[] = {"allocation 9", "allocation 14", "submission 5", "wait 6", "lost 8"};
	static const char sql[] = "SELECT count(*), sum(id) FROM t WHERE k BETWEEN 30 AND 900";
	char *want = NULL;
	(void)state;
	if (!has_unit("rt"))
		skip();
	for (size_t f = 0; f < sizeof faults / sizeof *faults + 1; f++) {
		char fault[64];
		snprintf(fault, sizeof fault, "vulkan:0 %s", f ? faults[f - 1] : "allocation 100000");
		with_vulkan(fault);
		struct session s = scan_session();
		make_rows(s.con, 20000);
		run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING cgrx (k)");
		want = want ? want : rows_of(s.con, sql, NULL); /* of the CPU */
		use_rays(s.con);
		for (int i = 0; i < 2; i++)
			expect(s.con, sql, NULL, want);
		close_session(&s);
	}
	with_vulkan(NULL);
	free(want);
}

/* Without a GPU: the sorted run. */
static void on_the_cpu(void **state)
{
	(void)state;
	without_vulkan();
	struct session s = scan_session();
	make_rows(s.con, 20000);
	make_indexes(s.con, "manual");
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300");
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE b BETWEEN -4611686018427387904 AND -4000000000000000000");
	char *text = rows_of(s.con, "EXPLAIN SELECT count(*), sum(id) FROM t WHERE k = 300", NULL);
	holds(text, "under index on cpu");
	free(text);
	close_session(&s);
	with_vulkan(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_the_cpu), cmocka_unit_test(conditions), cmocka_unit_test(wide_ranges), cmocka_unit_test(joins),
		cmocka_unit_test(random_statements), cmocka_unit_test(faults),
	};
	if (argc > 1)
		statements = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
