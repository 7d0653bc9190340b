/* Joins of rows that lie in the host's memory, whose pairs a GPU finds in partitions, since its memory has no room for the
 * sides, and group-bys in the same way: every answer beside DuckDB's; limits of memory, the temporary folder, interrupts and faults. */
#include <dirent.h>
#include <pthread.h>

#include "check.h"
#include "device.h"

/* So much of a device is what pieces take, and the build side of a few thousand rows. */
static const char limited[] = "SET rayql_force = 'pairs'; SET rayql_device_memory_limit = '1MB'";

/* a.h is one value in half of the rows, and so is b.h, another one; a.w is wide. */
static void make_sides(rayql_connection *con)
{
	run(con, "SET threads = 2; CREATE TABLE a AS SELECT (hash(i) % 26000)::INTEGER k, i::BIGINT v, (hash(i * 3) % 26000)::BIGINT * "
	         "300000000000000 w, 's' || (hash(i * 7) % 26000) s, CASE WHEN i % 2 = 0 THEN 3 ELSE hash(i * 5) % 60000 END::INTEGER h, "
	         "(hash(i * 11) % 20 / 8.0)::DOUBLE d FROM range(24000) r(i)");
	run(con, "CREATE TABLE b AS SELECT (hash(i * 13) % 26000)::INTEGER k, i::INTEGER v, (hash(i * 17) % 26000)::BIGINT * "
	         "300000000000000 w, 's' || (hash(i * 19) % 26000) s, CASE WHEN i % 2 = 0 THEN 5 ELSE hash(i * 23) % 60000 END::INTEGER h, "
	         "(hash(i * 29) % 20 / 8.0)::DOUBLE d FROM range(30000) r(i)");
	run(con, "INSERT INTO b SELECT 1, 30000 + i, 2, 'x', 3, 1.5 FROM range(2) r(i); CREATE TABLE none AS FROM b LIMIT 0");
	run(con, "UPDATE a SET s = 'bg7Gc6c' WHERE v < 9; UPDATE b SET s = 'diM8bfc1' WHERE v < 9"); /* one hash (flow/keys/keys.c) */
	run(con, "UPDATE a SET k = NULL WHERE v % 17 = 0; UPDATE b SET k = NULL WHERE v % 13 = 0; UPDATE a SET s = NULL WHERE v % 7 = 3; "
	         "UPDATE b SET w = NULL WHERE v % 11 = 3; CREATE INDEX ca ON a USING columns (*); CREATE INDEX cb ON b USING columns (*); "
	         "CREATE INDEX cn ON none USING columns (*)");
}

static struct session pairs_session(void)
{
	struct session s = open_session(NULL, NULL);
	make_sides(s.con);
	run(s.con, limited);
	return s;
}

static char *explained(rayql_connection *con, const char *sql)
{
	char text[2048];
	snprintf(text, sizeof text, "EXPLAIN ANALYZE %s", sql);
	return rows_of(con, text, NULL);
}

/* The number before the words in EXPLAIN's text; -1: they are not there. */
static long long number_before(const char *text, const char *words)
{
	const char *at = strstr(text, words);
	if (!at)
		return -1;
	while (at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return atoll(at);
}

/* The host's answer, and what must be in the plan's text; several: partitions. */
static void same_by(rayql_connection *con, const char *sql, const char *by, const char *way, bool several)
{
	if (left_out())
		return;
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, "scan", want, __FILE__, __LINE__);
	char *text = explained(con, sql), *at = strstr(text, by);
	const bool good = at && (!several || number_before(at, " partitions in ") > 1) && (!way || strstr(text, way));
	if (!good)
		print_error("%s\n%s\n", sql, text);
	assert_true(good);
	free(text);
	free(want);
}

/* The host's answer, by pairs from the device, in several partitions. way: also in the plan's text; NULL: nothing is. */
static void same_by_pairs(rayql_connection *con, const char *sql, const char *way)
{
	same_by(con, sql, "pairs by join on compute (", way, true);
}

#define SUMS "count(*), sum(a.v), sum(b.v), count(a.v), count(b.v)"

static void kinds(void **state)
{
	static const char *const pairs[] = {
		"SELECT " SUMS " FROM a JOIN b ON a.k = b.k",
		/* 64 bits; several columns; texts and reals; NULL equals NULL */
		"SELECT " SUMS " FROM a LEFT JOIN b ON a.w = b.w",
		"SELECT " SUMS " FROM a FULL JOIN b ON a.k = b.k AND a.d = b.d",
		"SELECT " SUMS " FROM a RIGHT JOIN b ON a.s = b.s",
		"~SELECT " SUMS " FROM a JOIN b ON a.w IS NOT DISTINCT FROM b.w AND a.k = b.k",
		/* further conditions */
		"SELECT " SUMS " FROM a FULL JOIN b ON a.k = b.k AND a.d <> b.d",
		"SELECT count(*), sum(v) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.s <> b.s)",
		/* one partner at most */
		"SELECT count(g), sum(g) FROM (SELECT (SELECT v FROM b WHERE b.v::DOUBLE = a.k::DOUBLE) g FROM a)",
		/* half of the rows of one side, or of each, have one key */
		"SELECT " SUMS " FROM a JOIN b ON a.h = b.h",
		"~SELECT " SUMS " FROM b LEFT JOIN a ON a.h = b.h",
	};
	/* aggregates take the pairs as they come: values are carried, or read at the rows' numbers; more groups than threads keep */
	static const char *const pieces[] = {
		"SELECT " SUMS ", avg(a.w), min(b.d), max(a.w) FROM a JOIN b ON a.k = b.k",
		"SELECT a.d g, b.d h, " SUMS ", max(b.s) FROM a JOIN b ON a.k = b.k GROUP BY ALL ORDER BY ALL",
		"SELECT b.v % 3 g, count(*), count(b.w) FILTER (b.v > 9), bool_or(a.v > 7) FROM a JOIN b ON a.h = b.h GROUP BY ALL ORDER BY ALL",
		"~SELECT " SUMS ", min(a.s) FROM a JOIN b ON a.s = b.s", /* texts by hash, of two dictionaries */
		"SELECT count(*), sum(n) FROM (SELECT a.k, b.d, count(*) n FROM a JOIN b ON a.k = b.k GROUP BY ALL)",
		"~SELECT b.k, sum(a.v) FROM a JOIN b ON a.w = b.w WHERE b.v % 2 = 1 GROUP BY ALL ORDER BY ALL",
	};
	/* texts by hash, two of which have one hash: rows with and without a partner */
	static const char *const texts[] = {
		"SELECT count(*), sum(v) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE lower(a.s) = lower(b.s))",
		"SELECT " SUMS " FROM a FULL JOIN b ON a.s = b.s",
	};
	/* of one side's rows it is asked whether they have a partner */
	static const char *const hits[] = {
		"SELECT count(*), sum(v), count(k) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.d = b.d)",
		"~SELECT count(*), sum(v), count(k) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.d = b.d)",
		"SELECT d IN (SELECT d FROM b WHERE v % 20 > 12 AND k IS NOT NULL) m, count(*), sum(v) FROM a GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(v) FROM b WHERE h::DOUBLE NOT IN (SELECT h::DOUBLE FROM a)",
		"~SELECT count(*), sum(v) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.h::DOUBLE = b.h::DOUBLE)",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = pairs_session();
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (usual(pairs[i]))
			same_by_pairs(s.con, usual(pairs[i]), NULL);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (usual(texts[i]))
			same_by_pairs(s.con, usual(texts[i]), NULL);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		if (usual(pieces[i]))
			same_by_pairs(s.con, usual(pieces[i]), "of pairs as they come");
	run(s.con, "SET rayql_device_memory_limit = '860KB'");
	for (size_t i = 0; i < sizeof hits / sizeof *hits; i++)
		if (usual(hits[i]))
			same_by_pairs(s.con, usual(hits[i]), NULL);
	close_session(&s);
}

/* ---- groups ---- */

/* Rows in the host's memory: what a LIMIT gives, or a join. */
#define SOME "(SELECT * FROM a ORDER BY v LIMIT 23000)"

/* The host's answer, by groups from the device; many: in several partitions. */
static void same_by_groups(rayql_connection *con, const char *sql, bool many)
{
	same_by(con, sql, "groups by group on compute (", NULL, many);
}

static void groups(void **state)
{
	static const char *const many[] = {
		"SELECT k, count(*) c, sum(w) s, min(v) l, max(w) g, count(w) FROM " SOME " GROUP BY k ORDER BY ALL",
		"SELECT s, k, sum(v), avg(v) FROM " SOME " GROUP BY s, k ORDER BY ALL",
	};
	static const char *const others[] = {
		/* one key is half of the rows; reals, of which no aggregate is asked; a decimal, a date and a truth */
		"SELECT h, count(*), sum(k), min(k), max(k) FROM " SOME " GROUP BY h ORDER BY ALL",
		"SELECT d, max(e), sum(e), min(t), max(b) FROM (SELECT * FROM c ORDER BY v LIMIT 23000) GROUP BY d ORDER BY ALL",
		"SELECT w IS NULL, k % 3, count(k), sum(w) FROM " SOME " GROUP BY ALL ORDER BY ALL",
		/* no value at all; sums beyond 64 bits */
		"SELECT d, sum(NULL::INTEGER + k), sum(w) FROM " SOME " WHERE k IS NULL GROUP BY d ORDER BY ALL",
	};
	/* The CPU's: a value and NULL do not go into 64 bits, aggregates that a device has not, and none of rows at all. */
	static const char *const on_cpu[] = {
		"SELECT d, max(x), min(x) FROM (SELECT d, CASE v % 3 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 END x "
		"FROM " SOME ") GROUP BY d ORDER BY ALL",
		"SELECT d, count(DISTINCT k), min(s) FROM " SOME " GROUP BY d ORDER BY ALL",
		"SELECT k, count(*) FROM " SOME " WHERE v < 0 GROUP BY k ORDER BY ALL",
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = pairs_session();
	run(s.con, "CREATE TABLE c AS SELECT d, v, (v % 1000)::DECIMAL(9, 2) e, DATE '2020-01-01' + k t, k > 25000 b FROM a; "
	           "CREATE INDEX cc ON c USING columns (*); SET rayql_device_memory_limit = '8MB'");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		same_by_groups(s.con, others[i], false);
	for (size_t i = 0; i < sizeof on_cpu / sizeof *on_cpu; i++) {
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, on_cpu[i], NULL);
		run(s.con, "SET rayql_enable_scan = on");
		expect_at(s.con, on_cpu[i], "scan", want, __FILE__, __LINE__);
		free(want);
	}
	run(s.con, "SET rayql_device_memory_limit = '3MB'");
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		same_by_groups(s.con, many[i], true);
	/* Where pieces have no room on the device, the CPU groups. */
	run(s.con, "SET rayql_device_memory_limit = '100KB'");
	char *text = explained(s.con, many[0]);
	assert_null(strstr(text, "groups by group"));
	free(text);
	close_session(&s);
}

/* ---- a GPU, or a unit, that the session names ---- */

/* Its memory has no room for the columns: the CPU reads them, and the GPU joins and groups them. */
static void named(void **state)
{
	static const char *const joins[] = {
		"SELECT " SUMS " FROM a JOIN b ON a.k = b.k",
		"SELECT a.d g, " SUMS ", max(b.s) FROM a LEFT JOIN b ON a.w = b.w AND a.k = b.k WHERE a.v % 3 <> 1 GROUP BY ALL ORDER BY ALL",
		"SELECT count(*), sum(v), count(k) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.d = b.d)",
	};
	/* What is not drawn of columns on the device. */
	static const char *const drawn[] = {
		"SELECT " SUMS " FROM a FULL JOIN b ON a.k = b.k AND a.d <> b.d",
		"SELECT count(*), sum(v) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.w = b.w AND a.s <> b.s)",
		"SELECT b.d, " SUMS " FROM a JOIN b ON a.s = b.s AND a.d <> b.d GROUP BY ALL ORDER BY ALL",
	};
	static const char grouped[] = "SELECT w, count(*), sum(k), max(v) FROM " SOME " GROUP BY w ORDER BY ALL";
	rayql_query_info info = {.size = sizeof info};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = pairs_session();
	run(s.con, "SET rayql_device = 'vulkan:0'; SET rayql_force = on");
	for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
		same_by(s.con, joins[i], "pairs by join on compute (", i ? NULL : "the CPU reads rows for a GPU", !i);
	/* Where the GPU has no room for pieces, either, nobody takes the rows, so that the CPU may not read them. */
	char *want = rows_of(s.con, joins[0], NULL);
	run(s.con, "SET rayql_device_memory_limit = '10KB'");
	expect_at(s.con, joins[0], "host", want, __FILE__, __LINE__);
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	holds(info.reason, "rayql_device_memory_limit");
	free(want);
	run(s.con, "SET rayql_unit = 'compute'; SET rayql_device_memory_limit = '1MB'");
	same_by(s.con, joins[0], "pairs by join on compute (", "the CPU reads rows for a GPU", true);
	if (has_unit("raster")) {
		run(s.con, "SET rayql_unit = 'raster'; SET rayql_device_memory_limit = '2MB'");
		for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
			same_by(s.con, drawn[i], "pairs by join on raster (", "  drawn: ", i == 0);
		run(s.con, "SET rayql_device_memory_limit = '3MB'");
		same_by(s.con, grouped, "groups by group on raster (", " round", false);
		run(s.con, "SET rayql_totals = 'limbs'");
		same_by(s.con, grouped, "groups by group on raster (", ", totals by limbs that blend units add", false);
		run(s.con, "SET rayql_totals = 'auto'");
		same_by(s.con, "SELECT s, count(*), min(w), max(w), sum(w) FROM " SOME " GROUP BY s ORDER BY ALL",
		        "groups by group on raster (", "  drawn: ", false);
	}
	/* A GPU does not read all rows of a table. */
	run(s.con, "SET rayql_device_memory_limit = '2MB'; SET rayql_unit = 'compute'");
	same_by(s.con, "SELECT w, count(*), sum(k), max(v) FROM (SELECT * FROM a LIMIT 23000) GROUP BY w ORDER BY ALL",
	        "groups by group on compute (", "the CPU reads rows for a GPU", true);
	close_session(&s);
}

static unsigned long placed(rayql_connection *con, const char *sql)
{
	free(rows_of(con, sql, NULL));
	char *bytes = rows_of(con, "SELECT max(device_bytes) FROM rayql_structures()", NULL);
	const unsigned long out = strtoul(bytes, NULL, 10);
	free(bytes);
	return out;
}

/* The device has no room for one index of a table, to which rows were added, and some for another: it reads that one's rows,
 * and the CPU hands it none. */
static void second_index(void **state)
{
	static const char grouped[] = "EXPLAIN SELECT v, count(*), sum(w) FROM (SELECT v, w FROM t WHERE v > 123456789123 AND w > 12345678912 AND "
	                              "x > 1234567891 ORDER BY v LIMIT 3000) GROUP BY v ORDER BY v";
	static const char make[] = "CREATE TABLE t AS SELECT (hash(i) // 16)::BIGINT v, (hash(i + 7000) // 16)::BIGINT w, "
	                           "(hash(i + 14000) // 16)::BIGINT x FROM range(4000) r(i); CREATE INDEX c ON t USING columns (*); "
	                           "INSERT INTO t SELECT v + 1, w, x FROM t WHERE v % 1000 = 1; SELECT sum(v) FROM t";
	const char *query = grouped + strlen("EXPLAIN ");
	char limit[128];
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	run(s.con, make);
	char *want = rows_of(s.con, query, NULL);
	use(s.con, "compute");
	const unsigned long of_c = placed(s.con, query);
	run(s.con, "DROP INDEX c; CREATE INDEX d ON t USING columns (*)");
	const unsigned long of_d = placed(s.con, query);
	assert_true(of_d > 0 && of_d + 1 < of_c);
	run(s.con, "DROP INDEX d; DROP TABLE t; RESET rayql_device; RESET rayql_unit");
	run(s.con, make);
	run(s.con, "CREATE INDEX d ON t USING columns (*)");
	use(s.con, "compute");
	snprintf(limit, sizeof limit, "SET rayql_device_memory_limit = '%lu'", (of_c + of_d) / 2);
	run(s.con, limit);
	char *text = rows_of(s.con, grouped, NULL);
	holds(text, "* d by scan on compute (");
	assert_null(strstr(text, "the CPU reads rows for a GPU"));
	free(text);
	expect(s.con, query, "scan", want);
	free(want);
	close_session(&s);
}

/* One of two devices fails in the middle of it: the other one does its work, and it gets no such rows again. */
static void one_of_two(void)
{
	static const char sql[] = "SELECT " SUMS " FROM a FULL JOIN b ON a.w = b.w";
	static const char without[] = "; without vulkan:1, which failed: ";
	rayql_query_info info = {.size = sizeof info};
	bool both = true, told = false;
	with_vulkan("vulkan:1 wait 2");
	struct session s = open_session(NULL, NULL);
	make_sides(s.con);
	char *want = rows_of(s.con, sql, NULL);
	run(s.con, limited);
	for (int i = 0; i < 9 && both; i++) { /* it may be that the other one has taken all before */
		expect_at(s.con, sql, "scan", want, __FILE__, __LINE__);
		assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
		told = told || strstr(info.reason, without);
		char *text = explained(s.con, sql);
		assert_non_null(strstr(text, "pairs by join on compute ("));
		told = told || strstr(text, without);
		both = strstr(text, ", vulkan:1)") && !strstr(text, without);
		free(text);
	}
	assert_false(both);
	assert_true(told);
	expect(s.con, "SELECT note LIKE '%failed on it (device vulkan:1 % failed: waiting for it (RAYQL_FAULT))%' FROM "
	              "rayql_devices() WHERE device = 'vulkan:1'", NULL, "true\n");
	free(want);
	close_session(&s);
	with_vulkan(NULL);
}

/* The driver, listed twice, is two devices, which share the partitions. */
static void several(void **state)
{
	static const char icd[] = "/usr/share/vulkan/icd.d/lvp_icd.json";
	char copy[] = "/tmp/rayql-icd-XXXXXX", both[sizeof icd + sizeof copy + 16], command[256];
	struct session s;
	(void)state;
	if (!has_unit("compute") || access(icd, R_OK) || getenv("VK_DRIVER_FILES"))
		skip();
	assert_non_null(mkdtemp(copy));
	snprintf(command, sizeof command, "cp %s %s/again.json", icd, copy);
	assert_int_equal(system(command), 0);
	snprintf(both, sizeof both, "%s:%s/again.json", icd, copy);
	setenv("VK_DRIVER_FILES", both, 1);
	s = open_session(NULL, NULL);
	char *devices = rows_of(s.con, "SELECT count(*) FROM rayql_devices() WHERE kind = 'software'", NULL);
	if (strcmp(devices, "2\n") == 0) {
		make_sides(s.con);
		run(s.con, "SET rayql_force = 'pairs'; SET rayql_device_memory_limit = '1MB'");
		same_by(s.con, "SELECT " SUMS " FROM a FULL JOIN b ON a.w = b.w", "vulkan:0; ", ", vulkan:1)", true);
		/* Each has room for the build side, and they share the probe side's pieces. */
		run(s.con, "SET rayql_device_memory_limit = '16MB'");
		same_by(s.con, "SELECT " SUMS " FROM a JOIN b ON a.k = b.k", "vulkan:0; ", ", vulkan:1): about 1 partition,", false);
		run(s.con, "SET rayql_device_memory_limit = '3MB'");
		same_by(s.con, "SELECT k, count(*), sum(w) FROM " SOME " GROUP BY k ORDER BY ALL", "vulkan:0; ", ", vulkan:1)", true);
	}
	const bool two = strcmp(devices, "2\n") == 0;
	free(devices);
	close_session(&s);
	if (two)
		one_of_two();
	unsetenv("VK_DRIVER_FILES");
	snprintf(command, sizeof command, "rm -r %s", copy);
	assert_int_equal(system(command), 0);
}

/* ---- limits ---- */

static const char joined[] = "SELECT " SUMS " FROM a FULL JOIN b ON a.w = b.w";

/* The host's answer, and why. */
static void by_host(rayql_connection *con, const char *want, const char *why)
{
	rayql_query_info info = {.size = sizeof info};
	expect_at(con, joined, "host", want, __FILE__, __LINE__);
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	holds(info.reason, why);
}

static void is_empty(const char *folder)
{
	DIR *open = opendir(folder);
	assert_non_null(open);
	for (const struct dirent *e = readdir(open); e; e = readdir(open))
		assert_true(e->d_name[0] == '.');
	closedir(open);
}

static void put_folder(rayql_connection *con, const char *folder)
{
	char sql[256];
	snprintf(sql, sizeof sql, "SET temp_directory = '%s'", folder);
	run(con, sql);
}

/* What the host's memory has no room for is in a file of DuckDB's temporary folder, without a name; where there is none the
 * host answers, and so it does where none can be made. */
static void limits(void **state)
{
	char folder[] = "/tmp/rayql-pairs-XXXXXX";
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	assert_non_null(mkdtemp(folder));
	s = pairs_session();
	char *want = rows_of(s.con, joined, NULL);
	run(s.con, "SET rayql_memory_limit = '5500KB'");
	put_folder(s.con, folder);
	expect_at(s.con, joined, "scan", want, __FILE__, __LINE__);
	char *text = explained(s.con, joined);
	assert_true(number_before(text, " spilled; at most") > 0);
	free(text);
	is_empty(folder);
	run(s.con, "SET max_temp_directory_size = '50KB'");
	by_host(s.con, want, "max_temp_directory_size");
	is_empty(folder);
	run(s.con, "RESET max_temp_directory_size");
	put_folder(s.con, "");
	by_host(s.con, want, "pairs by join on vulkan:0: ");
	put_folder(s.con, "/proc/none");
	by_host(s.con, want, "/proc/none");
	/* Where pieces have no room on the device, the CPU finds the pairs. */
	run(s.con, "RESET rayql_memory_limit; SET rayql_device_memory_limit = '100KB'");
	expect_at(s.con, joined, "scan", want, __FILE__, __LINE__);
	text = explained(s.con, joined);
	assert_null(strstr(text, "pairs by join"));
	free(text);
	free(want);
	close_session(&s);
	rmdir(folder);
}

/* ---- what ends a run ---- */

/* As soon as the device is at work. */
static void *interrupt(void *con)
{
	rayql_progress_info info;
	for (int i = 0; i < 50000; i++) {
		rayql_progress(con, &info);
		if (info.phase && strstr(info.phase, "on a device"))
			break;
		usleep(100);
	}
	rayql_interrupt(con);
	return NULL;
}

static void interrupts(void **state)
{
	struct session s;
	rayql_status status = RAYQL_OK;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = pairs_session();
	char *want = rows_of(s.con, joined, NULL);
	for (int i = 0; i < 20 && status != RAYQL_ERROR_INTERRUPTED; i++) { /* it may be too late: then once more */
		pthread_t thread;
		rayql_result *res = NULL;
		assert_int_equal(pthread_create(&thread, NULL, interrupt, s.con), 0);
		status = rayql_query(s.con, joined, &res, NULL);
		pthread_join(thread, NULL);
		rayql_result_free(res);
	}
	assert_int_equal(status, RAYQL_ERROR_INTERRUPTED);
	expect_at(s.con, joined, "scan", want, __FILE__, __LINE__);
	free(want);
	close_session(&s);
}

/* A device that fails in the middle of it, or is lost between two partitions: the host's answer, and why. After an error of
 * its own it is sent no such rows again. */
static void faults(void **state)
{
	static const char *const how[] = {"submission 8", "wait 8", "lost 16", "allocation 2", "allocation 9"};
	(void)state;
	if (!has_unit("compute"))
		skip();
	for (unsigned i = 0; i < sizeof how / sizeof *how; i++) {
		char fault[64];
		snprintf(fault, sizeof fault, "vulkan:0 %s", how[i]);
		with_vulkan(fault);
		struct session s = open_session(NULL, NULL);
		make_sides(s.con);
		char *want = rows_of(s.con, joined, NULL);
		run(s.con, limited);
		by_host(s.con, want, "device vulkan:0 ");
		expect_at(s.con, joined, i < 3 ? "scan" : NULL, want, __FILE__, __LINE__);
		char *text = explained(s.con, joined);
		assert_true(i >= 3 || !strstr(text, "pairs by join"));
		free(text);
		free(want);
		close_session(&s);
	}
	with_vulkan(NULL);
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(groups),
		cmocka_unit_test(named),
		cmocka_unit_test(second_index),
		cmocka_unit_test(several),
		cmocka_unit_test(limits),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
