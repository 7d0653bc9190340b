/* Several connections in several threads: writers, rebuilds and readers. Whatever a reader is told must be a state
 * that the database
 * really had, and never an older one than it has seen before. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#define READERS 2

struct shared {
	rayql_database *db;
	_Atomic bool stop;
	_Atomic uint64_t committed; /* batches that are surely visible */
	_Atomic uint64_t by_cube, by_scan, by_host, wrong;
	int writes;
};

static void complain(struct shared *s, const char *what, const char *rows)
{
	atomic_fetch_add(&s->wrong, 1);
	fprintf(stderr, "%s: %s\n", what, rows);
}

/* Every batch n inserts three rows whose v are n, n and -2n: sums are 0 in every state, counts are 3 n, max is n. */
static void *write_batches(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	char sql[256];
	if (rayql_connect(s->db, &con, NULL) != RAYQL_OK)
		abort();
	for (int n = 1; n <= s->writes && !atomic_load(&s->stop); n++) {
		const char *form =
			n % 3 == 0 ? "BEGIN; INSERT INTO t VALUES ('a', %d); INSERT INTO t VALUES ('b', %d), ('c', -2 * %d); COMMIT"
			: n % 3 == 1 ? "INSERT INTO t VALUES ('a', %d), ('b', %d), ('c', -2 * %d)"
						 : "INSERT INTO t SELECT unnest(['a', 'b', 'c']), unnest([%d, %d, -2 * %d])";
		snprintf(sql, sizeof sql, form, n, n, n);
		rayql_error *err = NULL;
		if (rayql_query(con, sql, NULL, &err) != RAYQL_OK) {
			complain(s, "write", rayql_error_message(err));
			rayql_error_free(err);
			break;
		}
		atomic_store(&s->committed, (uint64_t)n);
		if (n % 4 == 0) /* an uncommitted batch that nobody may ever see */
			(void)rayql_query(con, "BEGIN; INSERT INTO t VALUES ('a', 1000000); ROLLBACK", NULL, NULL);
	}
	atomic_store(&s->stop, true);
	rayql_disconnect(con);
	return NULL;
}

static void *refresh(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	if (rayql_connect(s->db, &con, NULL) != RAYQL_OK)
		abort();
	while (!atomic_load(&s->stop)) {
		rayql_error *err = NULL;
		if (rayql_query(con, "REFRESH MATERIALIZED VIEW v", NULL, &err) != RAYQL_OK &&
		    rayql_error_status(err) != RAYQL_ERROR_STALE)
			complain(s, "refresh", rayql_error_message(err));
		rayql_error_free(err);
	}
	rayql_disconnect(con);
	return NULL;
}

static void *read_states(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	rayql_result *res = NULL;
	long long seen = 0;
	if (rayql_connect(s->db, &con, NULL) != RAYQL_OK)
		abort();
	while (!atomic_load(&s->stop)) {
		long long before = (long long)atomic_load(&s->committed), sum, count, most;
		rayql_error *err = NULL;
		if (rayql_query(con, "SELECT sum(v), count(*), coalesce(max(v), 0) FROM t", &res, &err) != RAYQL_OK) {
			complain(s, "read", rayql_error_message(err));
			rayql_error_free(err);
			continue;
		}
		bool cube = strcmp(rayql_result_method(res), "cube") == 0;
		atomic_fetch_add(cube ? &s->by_cube : &s->by_host, 1);
		char *rows = read_rows(res, &err);
		if (!rows || sscanf(rows, "%lld|%lld|%lld", &sum, &count, &most) != 3) {
			if (!rows || strcmp(rows, "NULL|0|0\n") != 0 || before > 0)
				complain(s, "rows", rows ? rows : rayql_error_message(err));
			free(rows);
			rayql_error_free(err);
			continue;
		}
		/* One state of the database; not older than what was committed before the question, nor than the last answer.
		 * */
		if (sum != 0 || count != 3 * most || most < before || most < seen)
			complain(s, cube ? "cube" : "host", rows);
		seen = most;
		free(rows);
	}
	rayql_disconnect(con);
	return NULL;
}

static void run_threads(const char *view, bool refresher, int writes)
{
	struct session session = open_session(NULL, NULL);
	struct shared s = {.db = session.db, .writes = writes};
	pthread_t threads[READERS + 2];
	int n = 0;
	run(session.con, "CREATE TABLE t (g VARCHAR, v INTEGER)");
	run(session.con, view);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[n++], NULL, read_states, &s), 0);
	if (refresher)
		assert_int_equal(pthread_create(&threads[n++], NULL, refresh, &s), 0);
	assert_int_equal(pthread_create(&threads[n++], NULL, write_batches, &s), 0);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	assert_int_equal(s.wrong, 0);
	run(session.con, "REFRESH MATERIALIZED VIEW v");
	char want[64];
	snprintf(want, sizeof want, "0|%d|%d\n", 3 * writes, writes);
	expect(session.con, "SELECT sum(v), count(*), coalesce(max(v), 0) FROM t", "cube", want);
	print_message("%llu answers by the cube, %llu by the host\n", (unsigned long long)s.by_cube,
	              (unsigned long long)s.by_host);
	close_session(&session);
}

static void writers_and_refresh(void **state)
{
	(void)state;
	run_threads("CREATE MATERIALIZED VIEW v AS SELECT g, sum(v), count(*), max(v) FROM t GROUP BY g", true, 150);
}

static void refresh_auto_under_writers(void **state)
{
	(void)state;
	run_threads(
		"CREATE MATERIALIZED VIEW v WITH (refresh = auto) AS SELECT g, sum(v), count(*), max(v) FROM t GROUP BY g",
		false, 150);
}

/* Views that come, change and go under readers. */
static void *churn(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	if (rayql_connect(s->db, &con, NULL) != RAYQL_OK)
		abort();
	static const char *const statements[] = {
		"CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT g, sum(v) AS x FROM t GROUP BY g",
		"CREATE OR REPLACE MATERIALIZED VIEW w WITH (rollup = off) AS SELECT g, sum(v) AS x, count(*) FROM t GROUP BY 1",
		"FROM rayql_structures()",
		"DROP MATERIALIZED VIEW IF EXISTS w",
	};
	for (int i = 0; i < s->writes; i++) {
		rayql_error *err = NULL;
		if (rayql_query(con, statements[i % 4], NULL, &err) != RAYQL_OK)
			complain(s, statements[i % 4], rayql_error_message(err));
		rayql_error_free(err);
	}
	atomic_store(&s->stop, true);
	rayql_disconnect(con);
	return NULL;
}

static void *read_sums(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	rayql_result *res = NULL;
	if (rayql_connect(s->db, &con, NULL) != RAYQL_OK)
		abort();
	while (!atomic_load(&s->stop)) {
		rayql_error *err = NULL;
		if (rayql_query(con, "SELECT g, sum(v) FROM t GROUP BY g ORDER BY g", &res, &err) != RAYQL_OK) {
			complain(s, "read", rayql_error_message(err));
			rayql_error_free(err);
			continue;
		}
		atomic_fetch_add(strcmp(rayql_result_method(res), "cube") == 0 ? &s->by_cube : &s->by_host, 1);
		char *rows = read_rows(res, &err);
		if (!rows || strcmp(rows, "g0|99500\ng1|99700\ng2|99900\ng3|100100\ng4|100300\n") != 0)
			complain(s, "sums", rows ? rows : rayql_error_message(err));
		free(rows);
		rayql_error_free(err);
	}
	rayql_disconnect(con);
	return NULL;
}

static void views_come_and_go(void **state)
{
	struct session session = open_session(NULL, NULL);
	struct shared s = {.db = session.db, .writes = 40};
	pthread_t threads[3];
	(void)state;
	make_table(session.con, "t", 1000);
	assert_int_equal(pthread_create(&threads[0], NULL, read_sums, &s), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, read_sums, &s), 0);
	assert_int_equal(pthread_create(&threads[2], NULL, churn, &s), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(s.wrong, 0);
	assert_true(s.by_cube + s.by_host > 0);
	close_session(&session);
}

/* Texts that are planned once more when they come again, while their dimension changes: its rows have one value, which
 * only grows. The condition makes the first preparation dearer than the host. Of so many rows a prepared scan is cheaper by
 * far, whatever else the machine did while its profile was measured. */
#define SUM_ROWS 100000
#define SUM_OF_SLOW "SELECT sum(w) FROM f JOIN slow USING (d) WHERE md5(repeat(text, 80000)) <> ''"
static void *read_replanned(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	rayql_result *res = NULL;
	long long seen = 0;
	if (rayql_connect(s->db, &con, NULL) != RAYQL_OK)
		abort();
	while (!atomic_load(&s->stop)) {
		long long before = (long long)atomic_load(&s->committed), sum;
		rayql_error *err = NULL;
		if (rayql_query(con, SUM_OF_SLOW, &res, &err) != RAYQL_OK) {
			complain(s, "read", rayql_error_message(err));
			rayql_error_free(err);
			continue;
		}
		atomic_fetch_add(strcmp(rayql_result_method(res), "scan") == 0 ? &s->by_scan : &s->by_host, 1);
		char *rows = read_rows(res, &err);
		if (!rows || sscanf(rows, "%lld", &sum) != 1 || sum % SUM_ROWS || sum / SUM_ROWS < before || sum / SUM_ROWS < seen)
			complain(s, "sum", rows ? rows : rayql_error_message(err));
		else
			seen = sum / SUM_ROWS;
		free(rows);
		rayql_error_free(err);
	}
	rayql_disconnect(con);
	return NULL;
}

static void plans_made_once_more(void **state)
{
	struct session session = open_session(NULL, NULL);
	struct shared s = {.db = session.db};
	pthread_t threads[READERS];
	char sql[96];
	(void)state;
	snprintf(sql, sizeof sql, "CREATE TABLE f AS SELECT (i %% 100)::INTEGER AS d FROM range(%d) q(i)", SUM_ROWS);
	run(session.con, sql);
	run(session.con, "CREATE TABLE slow AS SELECT i::INTEGER AS d, 'row ' || i AS text, 0 AS w FROM range(100) q(i)");
	run(session.con, "CREATE INDEX fc ON f USING columns (*)");
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_replanned, &s), 0);
	for (int n = 1; n <= 4; n++) {
		const uint64_t scans = s.by_scan;
		snprintf(sql, sizeof sql, "UPDATE slow SET w = %d", n);
		run(session.con, sql);
		atomic_store(&s.committed, (uint64_t)n);
		for (int wait = 0; wait < 2000 && s.by_scan < scans + 4; wait++)
			usleep(1000);
	}
	atomic_store(&s.stop, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(s.wrong, 0);
	print_message("%llu answers by the scan, %llu by the host\n", (unsigned long long)s.by_scan,
	              (unsigned long long)s.by_host);
	assert_true(s.by_scan > 0);
	close_session(&session);
}

/* An interrupt from another thread ends a build and leaves nothing behind; the connection goes on. */
static void *interrupt_soon(void *arg)
{
	rayql_connection *con = arg;
	rayql_progress_info info;
	for (int i = 0; i < 2000; i++) {
		rayql_progress(con, &info);
		if (info.phase)
			break;
		usleep(1000);
	}
	usleep(20000);
	rayql_interrupt(con);
	return NULL;
}

static void interrupting_a_build(void **state)
{
	struct session s = open_session(NULL, NULL);
	pthread_t thread;
	rayql_error *err = NULL;
	(void)state;
	run(s.con, "CREATE TABLE many AS SELECT i % 1000 AS k, i AS v FROM range(2000000) r(i)");
	assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, s.con), 0);
	rayql_status status =
		rayql_query(s.con,
	                "CREATE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT a.k, b.k AS q, sum(a.v) FROM many a "
	                "JOIN many b ON a.k = b.k GROUP BY ALL",
	                NULL, &err);
	pthread_join(thread, NULL);
	if (status != RAYQL_ERROR_INTERRUPTED)
		fail_msg("[%s] %s", rayql_status_name(status), rayql_error_message(err));
	rayql_error_free(err);
	expect(s.con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n");
	expect(s.con, "SELECT count(*) FROM duckdb_views() WHERE view_name = 'v'", NULL, "0\n");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) FROM many GROUP BY k");
	expect(s.con, "SELECT sum(v) FROM many", "cube", "1999999000000\n");
	close_session(&s);
}

static void *interrupt_often(void *arg)
{
	struct shared *s = arg;
	while (!atomic_load(&s->stop)) {
		usleep(50000);
		rayql_interrupt((rayql_connection *)s->db);
	}
	return NULL;
}

static void interrupting_a_query_of_the_host(void **state)
{
	struct session session = open_session(NULL, NULL);
	struct shared s = {.db = (rayql_database *)session.con};
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, interrupt_often, &s), 0);
	fails(session.con, "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = 3",
	      RAYQL_ERROR_INTERRUPTED, "Interrupted");
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
	expect(session.con, "SELECT 1", NULL, "1\n");
	close_session(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writers_and_refresh),
		cmocka_unit_test(refresh_auto_under_writers),
		cmocka_unit_test(views_come_and_go),
		cmocka_unit_test(plans_made_once_more),
		cmocka_unit_test(interrupting_a_build),
		cmocka_unit_test(interrupting_a_query_of_the_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
