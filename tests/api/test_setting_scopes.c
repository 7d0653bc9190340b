/* Whose value of RayQL's settings counts, and that DuckDB knows it: connections, SET GLOBAL, SET PERSISTENT, the
 * configuration and the environment. */
#include "check.h"

#define VALUE "SELECT value, current_setting('rayql_fallback') FROM rayql_settings() WHERE name = 'rayql_fallback'"

static void duckdb_knows_them(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	expect(s.con, "SELECT count(*) > 8 FROM duckdb_settings() WHERE name LIKE 'rayql_%' AND description <> ''", NULL,
	       "true\n");
	/* Every one of them, with the same value. */
	expect(s.con,
	       "SELECT count(*) FROM rayql_settings() r LEFT JOIN duckdb_settings() d USING (name) "
	       "WHERE d.value IS DISTINCT FROM r.value",
	       NULL, "0\n");
	expect(s.con, VALUE, NULL, "on|on\n");
	run(s.con, "SET rayql_fallback = false");
	expect(s.con, VALUE, NULL, "off|off\n");
	run(s.con, "RESET rayql_fallback; SET rayql_memory_limit = '1GiB'");
	expect(s.con, VALUE, NULL, "on|on\n");
	expect(s.con,
	       "SELECT count(*) FROM rayql_settings() r LEFT JOIN duckdb_settings() d USING (name) "
	       "WHERE d.value IS DISTINCT FROM r.value",
	       NULL, "0\n");
	fails(s.con, "SET rayql_fallback = 'maybe'", RAYQL_ERROR_STATEMENT, "expected 'on', 'notice' or 'off'");
	fails(s.con, "SET GLOBAL rayql_nosuch = 1", RAYQL_ERROR_STATEMENT, "unrecognized configuration parameter");
	fails(s.con, "SET SESSION rayql_memory_limit = '1GB'", RAYQL_ERROR_STATEMENT, "cannot be set locally");
	expect(s.con, VALUE, NULL, "on|on\n");
	/* A locked configuration is locked for these, too. */
	run(s.con, "SET lock_configuration = true");
	fails(s.con, "SET rayql_fallback = notice", RAYQL_ERROR_HOST, "locked");
	fails(s.con, "SET GLOBAL rayql_fallback = notice", RAYQL_ERROR_HOST, "locked");
	fails(s.con, "SET rayql_memory_limit = '2GiB'", RAYQL_ERROR_HOST, "locked");
	expect(s.con, VALUE, NULL, "on|on\n");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_memory_limit'", NULL, "1.0 GiB\n");
	close_session(&s);
}

static void global_values(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_connection *other = NULL, *late = NULL;
	(void)state;
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	run(s.con, "SET GLOBAL rayql_fallback = notice");
	assert_int_equal(rayql_connect(s.db, &late, NULL), RAYQL_OK);
	expect(s.con, VALUE, NULL, "notice|notice\n");
	expect(other, VALUE, NULL, "notice|notice\n");
	expect(late, VALUE, NULL, "notice|notice\n");
	/* A connection's own value goes before, also when it is the one that sets the other. */
	run(other, "SET rayql_fallback = off");
	run(s.con, "SET GLOBAL rayql_fallback = on");
	expect(other, VALUE, NULL, "off|off\n");
	expect(late, VALUE, NULL, "on|on\n");
	run(other, "SET GLOBAL rayql_fallback = notice");
	expect(other, VALUE, NULL, "off|off\n");
	expect(s.con, VALUE, NULL, "notice|notice\n");
	run(other, "RESET rayql_fallback");
	expect(other, VALUE, NULL, "notice|notice\n");
	run(s.con, "RESET GLOBAL rayql_fallback");
	expect(s.con, VALUE, NULL, "on|on\n");
	expect(other, VALUE, NULL, "on|on\n");
	rayql_disconnect(late);
	rayql_disconnect(other);
	close_session(&s);
}

static void values_in_the_database(void **state)
{
	char path[256];
	struct session s = open_session(scratch_path(path, "kept.db"), NULL);
	(void)state;
	run(s.con, "SET PERSISTENT rayql_fallback = notice; SET PERSISTENT rayql_memory_limit = '3GiB'");
	run(s.con, "SET PERSISTENT rayql_enable_cube = off; SET PERSISTENT rayql_fallback = off");
	fails(s.con, "SET PERSISTENT rayql_fallback = 'maybe'", RAYQL_ERROR_STATEMENT, "expected 'on'");
	fails(s.con, "SET PERSISTENT rayql_threads = 3", RAYQL_ERROR_STATEMENT, "when it is opened");
	fails(s.con, "BEGIN; SET PERSISTENT rayql_fallback = on", RAYQL_ERROR_STATEMENT, "inside a transaction");
	run(s.con, "ROLLBACK");
	expect(s.con, VALUE, NULL, "off|off\n");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, VALUE, NULL, "off|off\n");
	expect(s.con,
	       "SELECT value FROM rayql_settings() WHERE name IN ('rayql_memory_limit', 'rayql_enable_cube') ORDER BY 1", NULL,
	       "3.0 GiB\noff\n");
	expect(s.con, "SET rayql_fallback = on; SELECT name FROM rayql.settings ORDER BY ALL", NULL,
	       "rayql_enable_cube\nrayql_fallback\nrayql_memory_limit\n");
	run(s.con, "RESET rayql_fallback; RESET PERSISTENT rayql_fallback; RESET PERSISTENT rayql_memory_limit");
	expect(s.con, VALUE, NULL, "on|on\n");
	/* What this version or machine does not know keeps no database from opening. */
	run(s.con, "INSERT INTO rayql.settings VALUES ('rayql_nosuch', '1'), ('rayql_device', 'vulkan:99'), (NULL, NULL)");
	close_session(&s);
	/* The configuration goes before what is kept. */
	const char *options[] = {"rayql_enable_cube", "on", "threads", "2", NULL};
	rayql_config config = {.size = sizeof config, .host_options = options};
	s = open_session(path, &config);
	expect(s.con, VALUE, NULL, "on|on\n");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_enable_cube'", NULL, "on\n");
	run(s.con, "DROP TABLE rayql.settings; CREATE VIEW rayql.settings AS SELECT 'rayql_fallback' AS name, 'off' AS value");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, VALUE, NULL, "on|on\n");
	assert_int_not_equal(rayql_query(s.con, "SET PERSISTENT rayql_fallback = off", NULL, NULL), RAYQL_OK);
	expect(s.con, VALUE, NULL, "on|on\n");
	close_session(&s);
	config = (rayql_config){.size = sizeof config, .read_only = true};
	s = open_session(path, &config);
	fails(s.con, "SET PERSISTENT rayql_fallback = off", RAYQL_ERROR_STATEMENT, "read-only");
	close_session(&s);
}

static void values_given_at_opening(void **state)
{
	const char *options[] = {"rayql_fallback", "notice", "rayql_threads", "1", "rayql_memory_limit", "2GiB", NULL};
	rayql_config config = {.size = sizeof config, .host_options = options};
	(void)state;
	struct session s = open_session(NULL, &config);
	expect(s.con, VALUE, NULL, "notice|notice\n");
	expect(s.con,
	       "SELECT value FROM rayql_settings() WHERE name IN ('rayql_memory_limit', 'rayql_threads') ORDER BY name", NULL,
	       "2.0 GiB\n1\n");
	close_session(&s);
	/* The environment; the configuration goes before it. */
	setenv("RAYQL_FALLBACK", "off", 1);
	setenv("RAYQL_ENABLE_CUBE", "off", 1);
	setenv("RAYQL_THREADS", "2", 1);
	s = open_session(NULL, NULL);
	expect(s.con, VALUE, NULL, "off|off\n");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name IN ('rayql_enable_cube', 'rayql_threads') ORDER BY name",
	       NULL, "off\n2\n");
	close_session(&s);
	s = open_session(NULL, &config);
	expect(s.con, VALUE, NULL, "notice|notice\n");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name IN ('rayql_enable_cube', 'rayql_threads') ORDER BY name",
	       NULL, "off\n1\n");
	close_session(&s);
	/* What is wrong is said, with where it comes from. */
	rayql_database *db = NULL;
	rayql_error *err = NULL;
	setenv("RAYQL_FALLBACK", "perhaps", 1);
	assert_int_equal(rayql_open(NULL, NULL, &db, &err), RAYQL_ERROR_STATEMENT);
	assert_non_null(strstr(rayql_error_message(err), "environment"));
	rayql_error_free(err);
	unsetenv("RAYQL_FALLBACK");
	setenv("RAYQL_THREADS", "many", 1);
	assert_int_equal(rayql_open(NULL, NULL, &db, &err), RAYQL_ERROR_STATEMENT);
	rayql_error_free(err);
	unsetenv("RAYQL_THREADS");
	unsetenv("RAYQL_ENABLE_CUBE");
	const char *wrong[] = {"rayql_falback", "on", NULL};
	config.host_options = wrong;
	assert_int_equal(rayql_open(NULL, &config, &db, &err), RAYQL_ERROR_STATEMENT);
	assert_non_null(strstr(rayql_error_message(err), "Did you mean: \"rayql_fallback\""));
	rayql_error_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(duckdb_knows_them),
		cmocka_unit_test(global_values),
		cmocka_unit_test(values_in_the_database),
		cmocka_unit_test(values_given_at_opening),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
