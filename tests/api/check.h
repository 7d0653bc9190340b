/* What the API tests share: a statement and its rows as text, a statement and its error. Rows are lines, values
 * separated by |. */
#ifndef RQL_TESTS_API_CHECK_H
#define RQL_TESTS_API_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rayql/rayql.h>

#include "../scratch.h"

struct session {
	rayql_database *db;
	rayql_connection *con;
};

static inline struct session open_session(const char *path, const rayql_config *config)
{
	struct session s = {0};
	rayql_error *err = NULL;
	if (rayql_open(path, config, &s.db, &err) != RAYQL_OK || rayql_connect(s.db, &s.con, &err) != RAYQL_OK)
		fail_msg("open %s: %s", path ? path : "memory", rayql_error_message(err));
	return s;
}

static inline void close_session(struct session *s)
{
	rayql_disconnect(s->con);
	rayql_close(s->db);
	*s = (struct session){0};
}

/* The rows of a result as malloc'ed text; frees the result. NULL with *err set when fetching fails. */
static inline char *read_rows(rayql_result *res, rayql_error **err)
{
	char *out = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&out, &length);
	rayql_status status = RAYQL_OK;
	for (;;) {
		rayql_batch *batch = NULL, *text = NULL;
		if ((status = rayql_fetch(res, &batch, err)) != RAYQL_OK || !batch)
			break;
		status = rayql_batch_to_text(res, batch, &text, err);
		for (uint64_t r = 0; status == RAYQL_OK && r < rayql_batch_rows(text); r++) {
			for (uint32_t c = 0; c < rayql_column_count(res); c++) {
				size_t n = 0;
				const char *value = rayql_batch_text(text, c, r, &n);
				fprintf(f, "%s%.*s", c ? "|" : "", value ? (int)n : 4, value ? value : "NULL");
			}
			fputc('\n', f);
		}
		rayql_batch_free(text);
		rayql_batch_free(batch);
		if (status != RAYQL_OK)
			break;
	}
	fclose(f);
	rayql_result_free(res);
	if (status == RAYQL_OK)
		return out;
	free(out);
	return NULL;
}

/* DuckDB 2 says some things in other words, and some mean another thing there. */
static inline bool host_is_2(void)
{
	return rayql_host_version()[1] == '2';
}

/* Runs sql and gives its rows; method (32 bytes, or NULL) gets who answered. */
static inline char *rows_of(rayql_connection *con, const char *sql, char *method)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_query(con, sql, &res, &err) != RAYQL_OK)
		fail_msg("%s\n%s", sql, rayql_error_message(err));
	if (method)
		snprintf(method, 32, "%s", rayql_result_method(res));
	char *rows = read_rows(res, &err);
	if (!rows)
		fail_msg("%s\n%s", sql, rayql_error_message(err));
	return rows;
}

static inline void run(rayql_connection *con, const char *sql)
{
	free(rows_of(con, sql, NULL));
}

/* The rows, and who must have answered ("cube", "host", NULL: whoever). */
#define expect(con, sql, method, rows) expect_at(con, sql, method, rows, __FILE__, __LINE__)
static inline void expect_at(rayql_connection *con, const char *sql, const char *method, const char *rows,
                             const char *file, int line)
{
	char by[32];
	char *have = rows_of(con, sql, by);
	if (rows && strcmp(have, rows) != 0)
		print_error("%s:%d: %s\nhave:\n%swant:\n%s", file, line, sql, have, rows);
	if (method && strcmp(by, method) != 0) {
		rayql_query_info info = {.size = sizeof info};
		(void)rayql_last_query(con, &info);
		print_error("%s:%d: %s\nanswered by %s, not by %s: %s\n", file, line, sql, by, method, info.reason);
	}
	bool ok = (!rows || strcmp(have, rows) == 0) && (!method || strcmp(by, method) == 0);
	free(have);
	_assert_true(ok, sql, file, line);
}

/* The statement fails, now or when its rows are fetched, with this status and a message that holds `text`. */
#define fails(con, sql, status, text) fails_at(con, sql, status, text, __FILE__, __LINE__)
static inline void fails_at(rayql_connection *con, const char *sql, rayql_status status, const char *text,
                            const char *file, int line)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_query(con, sql, &res, &err) == RAYQL_OK)
		free(read_rows(res, &err));
	bool ok = rayql_error_status(err) == status && strstr(rayql_error_message(err), text);
	if (!ok)
		print_error("%s:%d: %s\nhave: [%s] %s\nwant: [%s] ...%s...\n", file, line, sql,
		            rayql_status_name(rayql_error_status(err)), rayql_error_message(err), rayql_status_name(status),
		            text);
	rayql_error_free(err);
	_assert_true(ok, sql, file, line);
}

/* A table of n rows whose sums are easy: g = 'g0'..'g4', a = i % 7, v = i. */
static inline void make_table(rayql_connection *con, const char *name, int n)
{
	char sql[256];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE %s AS SELECT (i %% 7)::INTEGER a, 'g' || (i %% 5) g, i::INTEGER v FROM range(%d) r(i)", name,
	         n);
	run(con, sql);
}

/* A case of RayQL's own files, memory or devices, of which the host's version is no part: the tests with DuckDB 1 have it. */
#define left_to_duckdb1() (host_is_2() ? skip() : (void)0)

/* A case that ASan need not have: other cases make its calls, and the release build compares its answers. */
#ifdef __SANITIZE_ADDRESS__
#define left_to_release() skip()
#else
#define left_to_release() (void)0
#endif

#endif
