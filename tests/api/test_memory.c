/* No memory: each allocation that the library makes for a statement on its caller's thread fails in turn. What DuckDB has
 * committed is never said to have failed, what has failed left nothing, and the next statement finds all in order. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>

/* ---- an allocator that can fail ---- */

#define SEEN __attribute__((visibility("default"))) /* by the library, instead of the C library's */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static _Thread_local bool counting;
static _Thread_local long allocations, failing; /* since the start; the first that fails */
static _Thread_local bool from_then_on;         /* all behind it, too */
static const char *library, *library_end;

/* DuckDB is to go on: only what the library itself asks for is counted. */
static bool fails_now(const void *caller)
{
	if (!counting || (const char *)caller < library || (const char *)caller >= library_end)
		return false;
	const long n = allocations++;
	if (n < failing || (n > failing && !from_then_on))
		return false;
	errno = ENOMEM;
	return true;
}

SEEN void *malloc(size_t size)
{
	return fails_now(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

SEEN void *calloc(size_t count, size_t size)
{
	return fails_now(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

SEEN void *realloc(void *block, size_t size)
{
	return fails_now(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *inside)
{
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const char *begin = (const char *)info->dlpi_addr + part->p_vaddr, *end = begin + part->p_memsz;
		if (part->p_type == PT_LOAD && (const char *)inside >= begin && (const char *)inside < end) {
			library = begin;
			library_end = end;
		}
	}
	return 0;
}

static int find_library(void **state)
{
	(void)state;
	(void)dl_iterate_phdr(look_at, dlsym(RTLD_DEFAULT, "rayql_open"));
	return library ? 0 : -1;
}

/* ---- statements ---- */

/* The statement with allocation n failing, or none, where it makes fewer. */
static rayql_status run_failing(rayql_connection *con, const char *sql, long n)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	allocations = 0;
	failing = n;
	counting = true;
	rayql_status status = rayql_query(con, sql, &res, &err);
	counting = false;
	if (status != RAYQL_OK && allocations <= n)
		fail_msg("%s\n%s", sql, rayql_error_message(err));
	rayql_error_free(err);
	rayql_result_free(res);
	return status;
}

static int64_t number_of(rayql_connection *con, const char *sql)
{
	char *rows = rows_of(con, sql, NULL);
	int64_t number = strtoll(rows, NULL, 10);
	free(rows);
	return number;
}

/* The next to fail: the last ones each, behind what may have committed; of those before some. */
#define LAST 40
#define STEP 5
static long next_of(long n, long all)
{
	return n + STEP < all - LAST ? n + STEP : n + 1;
}

/* Each failure either is one, and nothing has changed, or the statement has done what it says. */
static void each_failure(rayql_connection *con, const char *sql, const char *count, const char *undo)
{
	unsigned failures = 0;
	assert_int_equal(run_failing(con, sql, LONG_MAX), RAYQL_OK);
	const long all = allocations;
	if (undo)
		run(con, undo);
	for (long n = 0; n < all; n = next_of(n, all)) {
		const int64_t before = number_of(con, count);
		rayql_status status = run_failing(con, sql, n);
		const int64_t after = number_of(con, count);
		if ((status == RAYQL_OK) != (after == before + 1))
			fail_msg("allocation %ld of %s: %s, but %lld are %lld now", n, sql, rayql_status_name(status),
			         (long long)before, (long long)after);
		failures += status != RAYQL_OK;
		if (undo && status == RAYQL_OK)
			run(con, undo);
	}
	assert_true(failures > 0); /* it is known to meet them */
}

static void writes(void **state)
{
	static const char count[] = "SELECT count(*) FROM t";
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE t (i INTEGER, v DECIMAL(9, 2), s VARCHAR); PREPARE p AS INSERT INTO t (i) VALUES ($1)");
	each_failure(s.con, "INSERT INTO t VALUES (1, 2, 'three')", count, NULL);
	each_failure(s.con, "INSERT INTO t VALUES (1, 2, 'three') RETURNING i, v, s", count, NULL);
	each_failure(s.con, "EXECUTE p(1)", count, NULL);
	each_failure(s.con, "CREATE TABLE u (i INTEGER)", "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'u'",
	             "DROP TABLE u");
	/* Columns that follow the rows: the catalog and what follows a write are in it. */
	run(s.con, "CREATE INDEX c ON t USING columns (i, v)");
	each_failure(s.con, "INSERT INTO t VALUES (1, 2, 'three')", count, NULL);
	expect(s.con, "SELECT sum(i) = count(*) FROM t", NULL, "true\n");
	close_session(&s);
}

static void structures(void **state)
{
	static const char count[] = "SELECT count(*) FROM rayql.structures";
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT i % 10 AS k, i AS v FROM range(1000) r(i); CREATE INDEX first ON t USING columns (k)");
	each_failure(s.con, "CREATE INDEX c ON t USING columns (k, v)", count, "DROP INDEX c");
	each_failure(s.con, "CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) FROM t GROUP BY k", count,
	             "DROP MATERIALIZED VIEW v");
	expect(s.con, "SELECT name, state FROM rayql_structures()", NULL, "first|ready\n");
	close_session(&s);
}

/* A view that is rebuilt by a query: whatever fails, it is not left as one that is being built. */
static void rebuilds(void **state)
{
	static const char sql[] = "SELECT k, sum(v) FROM t GROUP BY k";
	struct session s = open_session(NULL, NULL);
	unsigned failures = 0;
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT i % 10 AS k, i AS v FROM range(1000) r(i)");
	run(s.con, "CREATE MATERIALIZED VIEW v WITH (refresh = auto) AS SELECT k, sum(v), count(*) FROM t GROUP BY k");
	run(s.con, "UPDATE t SET v = v + 1 WHERE k = 3");
	assert_int_equal(run_failing(s.con, sql, LONG_MAX), RAYQL_OK);
	const long all = allocations;
	from_then_on = true;
	for (long n = 0; n < all; n++) {
		run(s.con, "UPDATE t SET v = v + 1 WHERE k = 3");
		failures += run_failing(s.con, sql, n) != RAYQL_OK;
		expect(s.con, "SELECT state IN ('ready', 'unbuilt', 'stale') FROM rayql_structures()", NULL, "true\n");
	}
	assert_true(failures > 0);
	run(s.con, "REFRESH MATERIALIZED VIEW v");
	expect(s.con, "SELECT state FROM rayql_structures()", NULL, "ready\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes),
		cmocka_unit_test(structures),
		cmocka_unit_test(rebuilds),
	};
	return cmocka_run_group_tests(tests, find_library, NULL);
}
