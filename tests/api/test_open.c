/* Opening: every way in which it fails says what is wrong, and leaves what is there as it was. */
#include "role.h"

#include <sys/stat.h>

static void open_fails(const char *path, const rayql_config *config, rayql_status status, const char *text)
{
	rayql_database *db = (rayql_database *)1;
	rayql_error *err = NULL;
	rayql_status have = rayql_open(path, config, &db, &err);
	if (have != status || !strstr(rayql_error_message(err), text))
		fail_msg("open %s: [%s] %s\nwanted [%s] ...%s...", path, rayql_status_name(have), rayql_error_message(err),
		         rayql_status_name(status), text);
	assert_ptr_equal(db, (rayql_database *)1); /* out-parameters are untouched on failure */
	rayql_error_free(err);
}

static void in_memory(void **state)
{
	static const char *const paths[] = {NULL, ":memory:", ""};
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct session s = open_session(paths[i], NULL);
		run(s.con, "CREATE TABLE t AS SELECT 1 AS a");
		run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, count(*) FROM t GROUP BY a");
		expect(s.con, "SELECT count(*) FROM t", "cube", "1\n");
		close_session(&s);
	}
}

static void bad_paths(void **state)
{
	char path[256];
	(void)state;
	open_fails(scratch_path(path, "no/such/folder/x.db"), NULL, RAYQL_ERROR_HOST, "Cannot open file");
	FILE *f = fopen(scratch_path(path, "text.db"), "w");
	for (int i = 0; i < 5000; i++)
		fputs("not a database\n", f);
	fclose(f);
	open_fails(path, NULL, RAYQL_ERROR_HOST, "not a valid DuckDB database file");
	rayql_config config = {.size = sizeof config, .read_only = true};
	open_fails(scratch_path(path, "missing.db"), &config, RAYQL_ERROR_HOST, "database does not exist");
	/* A folder where the side folder should be is no reason not to open. */
	scratch_path(path, "fine.db");
	struct session s = open_session(path, NULL);
	close_session(&s);
}

static void patch(const char *path, long at, unsigned char byte)
{
	FILE *f = fopen(path, "r+");
	fseek(f, at, SEEK_SET);
	fputc(byte, f);
	fclose(f);
}

static void newer_and_damaged(void **state)
{
	char path[256];
	(void)state;
	struct session s = open_session(scratch_path(path, "v.db"), NULL);
	make_table(s.con, "t", 10);
	close_session(&s);
	/* Bytes 12..19 of the main header are the storage version. */
	FILE *f = fopen(path, "r");
	fseek(f, 12, SEEK_SET);
	int version = fgetc(f), above = fgetc(f);
	fclose(f);
	patch(path, 13, 0x7f);
	rayql_error *err = NULL;
	rayql_database *db = NULL;
	assert_int_equal(rayql_open(path, NULL, &db, &err), RAYQL_ERROR_HOST);
	assert_int_not_equal(strlen(rayql_error_message(err)), 0);
	rayql_error_free(err);
	patch(path, 13, (unsigned char)above);
	patch(path, 12, (unsigned char)version);
	s = open_session(path, NULL);
	expect(s.con, "SELECT count(*) FROM t", NULL, "10\n");
	close_session(&s);
}

static int holds_it(const char *path)
{
	struct session s = open_session(path, NULL);
	bool ok = tell(ROLE_TELLS) && told(ROLE_HEARS);
	close_session(&s);
	return ok ? 0 : 1;
}

static const struct role roles[] = {{"holds it", holds_it}};

static void locked(void **state)
{
	char path[256];
	(void)state;
	struct player other = start_role("holds it", scratch_path(path, "locked.db"));
	assert_true(told(other.tells));
	open_fails(path, NULL, RAYQL_ERROR_HOST, "Could not set lock on file");
	assert_true(tell(other.hears));
	assert_int_equal(end_role(other), 0);
	struct session s = open_session(path, NULL);
	close_session(&s);
}

/* A child has none of DuckDB's threads: it is told so, frees nothing of its parent's, and can open another database. */
static int in_a_child(struct session *s, rayql_result *res, rayql_statement *stmt)
{
	rayql_batch *batch = NULL;
	rayql_error *err = NULL;
	rayql_connection *con = NULL;
	bool ok = rayql_query(s->con, "SELECT 1", NULL, &err) == RAYQL_ERROR_MISUSE &&
	          strstr(rayql_error_message(err), "forked") && rayql_fetch(res, &batch, NULL) == RAYQL_ERROR_MISUSE &&
	          rayql_execute(stmt, NULL, NULL) == RAYQL_ERROR_MISUSE &&
	          rayql_connect(s->db, &con, NULL) == RAYQL_ERROR_MISUSE;
	rayql_error_free(err);
	rayql_result_free(res);
	rayql_statement_free(stmt);
	close_session(s);
	struct session own = open_session(NULL, NULL);
	expect(own.con, "SELECT 42", NULL, "42\n");
	close_session(&own);
	return ok ? 0 : 1;
}

static void forked(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_result *res = NULL;
	rayql_statement *stmt = NULL;
	int status = -1;
	(void)state;
	run(s.con, "FROM rayql_devices()"); /* they are open now: no thread is at work, and holds the sanitizer's allocator */
	assert_int_equal(rayql_prepare(s.con, "SELECT ?::INTEGER", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_query(s.con, "FROM range(1000000)", &res, NULL), RAYQL_OK);
	pid_t child = fork();
	if (child == 0) {
		alarm(120);
		_exit(in_a_child(&s, res, stmt));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	char *rows = read_rows(res, NULL);
	assert_non_null(rows);
	free(rows);
	rayql_statement_free(stmt);
	close_session(&s);
}

static void bad_options(void **state)
{
	const char *const unknown[] = {"no_such_option", "1", NULL}, *const half[] = {"threads", NULL};
	rayql_config config = {.size = 3};
	(void)state;
	open_fails(NULL, &config, RAYQL_ERROR_MISUSE, "set it to sizeof(rayql_config)");
	config = (rayql_config){.size = sizeof config, .host_options = unknown};
	open_fails(NULL, &config, RAYQL_ERROR_HOST, "no_such_option");
	config.host_options = half;
	open_fails(NULL, &config, RAYQL_ERROR_MISUSE, "the option \"threads\" has no value");
}

static void options_arrive(void **state)
{
	const char *const options[] = {"default_null_order", "nulls_first", NULL};
	rayql_config config = {.size = sizeof config, .threads = 3, .memory_limit = 64u << 20, .host_options = options};
	(void)state;
	struct session s = open_session(NULL, &config);
	expect(s.con, "SELECT current_setting('threads'), lower(current_setting('default_null_order'))", NULL,
	       "3|nulls_first\n");
	expect(s.con,
	       "SELECT value FROM rayql_settings() WHERE name IN ('rayql_threads', 'rayql_memory_limit') ORDER BY value",
	       NULL, "3\n64.0 MiB\n");
	close_session(&s);
}

int main(int argc, char **argv)
{
	int status = play_role(argc, argv, roles, 1);
	if (status >= 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory), cmocka_unit_test(bad_paths),   cmocka_unit_test(newer_and_damaged),
		cmocka_unit_test(locked),    cmocka_unit_test(bad_options), cmocka_unit_test(options_arrive),
		cmocka_unit_test(forked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
