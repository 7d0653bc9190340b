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

static inline bool has_unit(const char *unit)
{
	char sql[128];
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	snprintf(sql, sizeof sql, "SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%%%s%%'",
	         unit);
	char *rows = rows_of(s.con, sql, NULL);
	bool found = strcmp(rows, "1\n") == 0;
	free(rows);
	close_session(&s);
	return found;
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

#endif
