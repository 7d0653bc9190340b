/* What the tests of devices share. The GPU is vulkan:0, whatever that is: lavapipe where there is no other. */
#ifndef RQL_TESTS_API_DEVICE_H
#define RQL_TESTS_API_DEVICE_H

#include "check.h"

#define VIEW(options)                                                                                                  \
	"CREATE MATERIALIZED VIEW v WITH (" options ") AS SELECT g, a, sum(v), count(*) FROM t GROUP BY g, a"
#define QUERY "SELECT g, sum(v), count(*) FROM t WHERE a < 3 GROUP BY g ORDER BY g"
static inline void without_vulkan(void)
{
	setenv("RAYQL_VULKAN", "off", 1);
	unsetenv("RAYQL_FAULT");
}

static inline void with_vulkan(const char *fault)
{
	unsetenv("RAYQL_VULKAN");
	if (fault)
		setenv("RAYQL_FAULT", fault, 1);
	else
		unsetenv("RAYQL_FAULT");
}

static inline bool finds_unit(const char *unit)
{
	char sql[128];
	struct session s = open_session(NULL, NULL);
	snprintf(sql, sizeof sql, "SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%%%s%%'",
	         unit);
	char *rows = rows_of(s.con, sql, NULL);
	bool found = strcmp(rows, "1\n") == 0;
	free(rows);
	close_session(&s);
	return found;
}

/* Each case asks; the first one opens a database and the device for it. */
static inline bool has_unit(const char *unit)
{
	static const char *const units[] = {"compute", "rt", "raster"};
	static enum { UNKNOWN, FOUND, MISSING } known[sizeof units / sizeof *units];
	size_t u = 0;
	with_vulkan(NULL);
	while (strcmp(unit, units[u]) != 0)
		assert_true(++u < sizeof units / sizeof *units);
	if (known[u] == UNKNOWN)
		known[u] = finds_unit(unit) ? FOUND : MISSING;
	return known[u] == FOUND;
}

static inline void use(rayql_connection *con, const char *unit)
{
	char sql[128];
	snprintf(sql, sizeof sql, "SET rayql_device = 'vulkan:0'; SET rayql_unit = '%s'; SET rayql_force = on", unit);
	run(con, sql);
}

#define holds(text, part) holds_at(text, part, __FILE__, __LINE__)
static inline void holds_at(const char *text, const char *part, const char *file, int line)
{
	if (!strstr(text, part))
		print_error("%s:%d: have:\n%s\nwant: ...%s...\n", file, line, text, part);
	_assert_true(strstr(text, part) != NULL, part, file, line);
}

static inline void make_data(rayql_connection *con)
{
	run(con,
	    "CREATE TABLE t AS SELECT (i % 7)::INTEGER a, 'g' || (i % 2) g, (i % 10001)::INTEGER v FROM range(40133) r(i)");
}

/* Two runs on a device that fails so: the same answers, by the host. Returns whether nothing failed after all. */
static inline bool survives(const char *fault, const char *make, const char *sql, const char *want)
{
	with_vulkan(fault);
	struct session s = open_session(NULL, NULL);
	run(s.con, make);
	use(s.con, "compute");
	for (int i = 0; i < 2; i++)
		expect_at(s.con, sql, NULL, want, __FILE__, __LINE__);
	char *marked = rows_of(s.con, "SELECT count(*) FROM rayql_structures() WHERE reason LIKE '%vulkan:0%'", NULL);
	bool clean = strcmp(marked, "0\n") == 0;
	free(marked);
	close_session(&s);
	return clean;
}

/* Each fault costs a life of a database, and neighbouring faults strike the same code. ASan, which sees what is not freed
 * after one, too, has most of them. */
#ifdef __SANITIZE_ADDRESS__
#define FAULT_STRIDE 16
#else
#define FAULT_STRIDE 31
#endif

/* Under ASan every ninth query of a list: with other kernels the others make the same calls, and the release build compares
 * all answers. */
#ifdef __SANITIZE_ADDRESS__
#define QUERY_STEP 9u
#else
#define QUERY_STEP 1u
#endif
static inline bool left_out(void)
{
	static unsigned asked;
	return asked++ % QUERY_STEP != 0;
}

/* RAYQL_TEST_LONG, which the tests of script/test --all set: all queries, and more random ones. Each is kernels to compile. */
static inline bool is_long(void)
{
	return getenv("RAYQL_TEST_LONG") != NULL;
}

static inline unsigned random_count(unsigned usual, unsigned most)
{
	return is_long() ? most : (usual + QUERY_STEP - 1) / QUERY_STEP;
}

/* A query that begins with ~ has what others of its test have, in another mixture: it is asked with RAYQL_TEST_LONG only.
 * NULL: not now. */
static inline const char *usual(const char *sql)
{
	if (*sql != '~')
		return sql;
	return is_long() ? sql + 1 : NULL;
}

/* The n-th allocation, submission or wait fails, or the device is lost there, for every `step`-th n until none does. */
static inline void survives_faults(const char *make, const char *sql, int step)
{
	static const char *const kinds[] = {"allocation", "submission", "wait", "lost"};
	with_vulkan(NULL);
	struct session plain = open_session(NULL, NULL);
	run(plain.con, make);
	char *want = rows_of(plain.con, sql, NULL);
	close_session(&plain);
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		bool clean = false;
		int struck = 0;
		for (int n = 1; n < 400 + step * FAULT_STRIDE && !clean; n += step * FAULT_STRIDE) {
			char fault[64];
			snprintf(fault, sizeof fault, "vulkan:0 %s %d", kinds[k], n);
			clean = survives(fault, make, sql, want);
			struck += !clean;
		}
		assert_true(clean);
		assert_true(struck > 0);
	}
	with_vulkan(NULL);
	free(want);
}

#endif
