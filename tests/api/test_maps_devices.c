/* CREATE INDEX ... USING sorted | btree | hash | auto on a GPU's compute unit: who answers, what is refused, joins by few
 * keys, and random conditions of many types beside the host, while rows come and go, and on a device that fails.
 * test_maps_devices [STATEMENTS [SEED]] */
#include "device.h"
#include "indexed.h"
#include "scans.h"

#define BY_COMPUTE(con, sql) by_index(con, sql, "compute")

/* Keys of (b, k) are prefixes: b alone has 63 bits. */
static void make_indexes(rayql_connection *con, const char *refresh)
{
	char sql[700];
	snprintf(sql, sizeof sql,
	         "CREATE INDEX c ON t USING columns (*) WITH (refresh = %s); CREATE INDEX i_k ON t USING hash (k); "
	         "CREATE INDEX i_b ON t USING btree (b); CREATE INDEX i_d ON t USING sorted (d); CREATE INDEX i_p ON t USING btree (p); "
	         "CREATE INDEX i_w ON t USING hash (w); CREATE INDEX i_s ON t USING auto (s); CREATE INDEX i_x ON t USING sorted (x); "
	         "CREATE INDEX i_id ON t USING auto (id); CREATE INDEX i_bk ON t USING btree (b, k); CREATE INDEX i_wk ON t USING auto (w, k)",
	         refresh);
	run(con, sql);
}

static void use_compute(rayql_connection *con)
{
	run(con, "SET rayql_device = 'vulkan:0'; SET rayql_force = rows");
}

#define looked_up(con, sql) looked_up_at(con, sql, __FILE__, __LINE__)
static void looked_up_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	same_at(con, sql, "scan", file, line);
	_assert_true(BY_COMPUTE(con, sql), sql, file, line);
}

static void conditions(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, 30000);
	make_indexes(s.con, "manual");
	use_compute(s.con);
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k IN (3, 9, 26997, 26998, -1, NULL)");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k BETWEEN 90 AND 200"); /* points, one by one */
	looked_up(s.con, "SELECT count(*), sum(k) FROM t WHERE id = 17"); /* direct: each has one row */
	looked_up(s.con, "SELECT count(*), sum(k) FROM t WHERE id BETWEEN 100 AND 20000 OR id > 29000");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b = -4611686018427387904");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b BETWEEN -9223372036854775808 AND 9223372036854775807");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE w IN ('w1', 'w499', 'w500')");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE s = TIMESTAMP '2020-01-11 05:00:00'");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x = 0.0::DOUBLE");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x >= 'nan'::DOUBLE");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE x BETWEEN -50.0::DOUBLE AND 2.5::DOUBLE");
	/* By a prefix of both, and tested; the rows of the first alone. */
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b IN (-4611686018427387904, 0) AND k BETWEEN 300 AND 9000");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE b = -4611686018427387904 AND k > 600");
	/* Two that have nothing to do with each other: one is looked up, both are tested. */
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 900 AND d > DATE '1980-01-01'");
	/* What a hashed map cannot: ranges, and values that no key has. */
	assert_false(BY_COMPUTE(s.con, "SELECT count(*), sum(id) FROM t WHERE k > 9000"));
	same(s.con, "SELECT count(*), sum(id) FROM t WHERE k > 9000");
	assert_false(BY_COMPUTE(s.con, "SELECT count(*), sum(id) FROM t WHERE k IS NULL"));
	expect(s.con,
	       "SELECT name, placed LIKE 'vulkan:0 (map in %', device_bytes > 100000 FROM rayql_structures() "
	       "WHERE name IN ('i_k', 'i_bk', 'i_p') ORDER BY 1",
	       NULL, "i_bk|true|true\ni_k|true|true\ni_p|NULL|false\n");
	run(s.con, "SET rayql_enable_index = off");
	assert_false(BY_COMPUTE(s.con, "SELECT count(*), sum(id) FROM t WHERE k = 300"));
	close_session(&s);
}

/* Joins whose keys are few are look-ups of all of them, however many rows each has. */
static void joins(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = scan_session();
	make_rows(s.con, 30000);
	make_indexes(s.con, "manual");
	run(s.con, "CREATE TABLE u AS SELECT CASE WHEN i % 9 = 0 THEN NULL ELSE (hash(i) % 9000 * 3)::INTEGER END AS k, "
	           "(hash(i * 3) % 2000)::BIGINT * 4611686018427387 - 4611686018427387904 AS b, i::INTEGER AS v "
	           "FROM range(200) q(i); CREATE INDEX cu ON u USING columns (*)");
	use_compute(s.con);
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE k IN (SELECT k FROM u WHERE v < 90)");
	looked_up(s.con, "SELECT count(*), sum(t.k), sum(u.k) FROM t JOIN u ON t.k = u.v");
	looked_up(s.con, "SELECT count(*), sum(k) FROM t WHERE id IN (SELECT v FROM u WHERE k > 100)"); /* direct */
	/* u's 200 rows are scanned as soon as t's map is there, which a first plan pays for. */
	same(s.con, "SELECT count(*), sum(t.k), sum(u.k) FROM t JOIN u ON t.id = u.v");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND u.v > 20)");
	looked_up(s.con, "SELECT count(*), sum(id) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND u.k = t.k)");
	/* Which rows of t have a key of u is looked up; what joins to none of them is left. */
	same(s.con, "SELECT count(*), sum(v) FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = u.k)");
	same(s.con, "SELECT count(*), sum(v), sum(id) FROM u LEFT JOIN t ON t.k = u.k");
	/* One side of a join on the device is what an index finds of it. */
	static const char sides[] = "SELECT count(*), sum(v), sum(id) FROM u LEFT JOIN (SELECT * FROM t WHERE d BETWEEN "
	                            "DATE '1970-01-01' AND DATE '1975-01-01') t ON t.b = u.b";
	char explain[sizeof sides + 8];
	snprintf(explain, sizeof explain, "EXPLAIN %s", sides);
	same(s.con, sides);
	char *text = rows_of(s.con, explain, NULL);
	holds(text, "rows of t under rows of index on compute, in i_d");
	free(text);
	join_by_keys(s.con, "compute");
	if (QUERY_STEP == 1) /* ASan has it with rays */
		wide_keys(s.con, "compute", "auto", "hash");
	close_session(&s);
}

/* The hash of a map (primitive/relation/shaders/relation.glsl). */
static unsigned mixed(unsigned x)
{
	x = (x ^ x >> 16) * 0x9e3779b1u;
	x = (x ^ x >> 15) * 0x85ebca77u;
	return x ^ x >> 16;
}

/* Keys that were chosen to fill one part of a hashed map up: it is sorted instead. */
static void crowded_keys(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = scan_session();
	char *sql = malloc(4096 * 16 + 64);
	assert_non_null(sql);
	size_t n = (size_t)sprintf(sql, "CREATE TABLE t AS SELECT unnest([0");
	for (unsigned key = 1, keys = 1; keys < 4096; key++)
		if (mixed(key) >> 30 == 0 && ++keys)
			n += (size_t)sprintf(sql + n, ", %u", key);
	sprintf(sql + n, "])::INTEGER AS k");
	run(s.con, sql);
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING hash (k)");
	use_compute(s.con);
	looked_up(s.con, "SELECT count(*), sum(k) FROM t WHERE k IN (0, 1, 2, 3, 4, 100, 5000)");
	expect(s.con, "SELECT device_bytes BETWEEN 4096 * 8 AND 4096 * 12 FROM rayql_structures() WHERE name = 'i'", NULL, "true\n");
	free(sql);
	close_session(&s);
}

static void random_statements(void **state)
{
	unsigned rows = 20000, taken = 0;
	(void)state;
	if (!has_unit("compute"))
		skip();
	print_message("seed %llu\n", (unsigned long long)seed);
	struct session s = scan_session();
	make_rows(s.con, rows);
	make_indexes(s.con, "auto");
	use_compute(s.con);
	for (unsigned i = 0; i < statements; i++) {
		char sql[768], condition[256], other[256];
		if (roll(6) == 0)
			change(s.con, &rows);
		put_condition(condition, sizeof condition);
		put_condition(other, sizeof other);
		const bool both = roll(8) == 0;
		snprintf(sql, sizeof sql, "SELECT count(*), sum(id) FROM t WHERE %s%s%s", condition, both ? " AND " : "",
		         both ? other : "");
		same(s.con, sql);
		taken += BY_COMPUTE(s.con, sql);
	}
	print_message("%u of %u by maps\n", taken, statements);
	assert_true(taken > statements / 2);
	close_session(&s);
}

/* The host answers what the device cannot. */
static void strike(const char *sql, const char *const *faults, size_t count)
{
	char *want = NULL;
	for (size_t f = 0; f < count + 1; f++) {
		char fault[64];
		snprintf(fault, sizeof fault, "vulkan:0 %s", f ? faults[f - 1] : "allocation 100000");
		with_vulkan(fault);
		struct session s = scan_session();
		make_rows(s.con, 20000);
		run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX i ON t USING hash (k)");
		want = want ? want : rows_of(s.con, sql, NULL); /* of the CPU */
		use_compute(s.con);
		for (int i = 0; i < 2; i++)
			expect(s.con, sql, NULL, want);
		assert_true(f || BY_COMPUTE(s.con, sql));
		close_session(&s);
	}
	with_vulkan(NULL);
	free(want);
}

static void faults(void **state)
{
	static const char *const of_list[] = {"allocation 9", "allocation 14", "submission 3", "wait 4", "lost 6"};
	static const char *const of_keys[] = {"allocation 8", "allocation 13", "allocation 17", "submission 6", "lost 9"};
	(void)state;
	if (!has_unit("compute"))
		skip();
	strike("SELECT count(*), sum(id) FROM t WHERE k IN (30, 33, 900)", of_list, sizeof of_list / sizeof *of_list);
	strike("SELECT count(*), sum(t.id) FROM t JOIN t s ON t.k = s.k WHERE s.id < 6000", of_keys,
	       sizeof of_keys / sizeof *of_keys);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions),        cmocka_unit_test(joins),  cmocka_unit_test(crowded_keys),
		cmocka_unit_test(random_statements), cmocka_unit_test(faults),
	};
	if (argc > 1)
		statements = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
