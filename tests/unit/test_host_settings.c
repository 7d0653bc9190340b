/* The table of DuckDB's settings: it has all of this DuckDB's, forbids plans by the ones that it should, by unknown
 * ones too, and RayQL's own connections hold the defaults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/host_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host_fixture.h"

static void run(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	if (rql_host_query(con, sql, NULL, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
}

static void expect_plan(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	char *json = NULL;
	if (rql_host_plan(con, sql, &json, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
	free(json);
}

static void expect_no_plan(struct rql_host_con *con, const char *sql, const char *message)
{
	struct rql_error err = {0};
	char *json = NULL;
	assert_int_equal(rql_host_plan(con, sql, &json, &err), RQL_ERROR_UNSUPPORTED);
	if (!strstr(rql_error_message(&err), message))
		fail_msg("%s: %s", sql, rql_error_message(&err));
	rql_error_clear(&err);
}

/* A DuckDB that has a setting more than the table must be looked at: while that is changed, the host answers all. */
static void the_table_has_every_setting(void **state)
{
	struct fixture *f = *state;
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	uint64_t rows = 0;
	int missing = 0;
	assert_int_equal(rql_host_query(f->con, "SELECT name FROM duckdb_settings()", &res, NULL), RQL_OK);
	while (rql_host_fetch(res, &batch, NULL) == RQL_OK && batch) {
		for (uint64_t r = 0; r < batch->rows; r++) {
			struct rql_value v = rql_column_get(&batch->columns[0], r);
			char name[100];
			snprintf(name, sizeof name, "%.*s", (int)v.string.length, v.string.data);
			if (rql_host_setting_known(name))
				continue;
			print_error("src/host/host_settings.c has no \"%s\"\n", name);
			missing++;
		}
		rows += batch->rows;
		rql_batch_release(batch);
		batch = NULL;
	}
	rql_host_result_free(res);
	assert_true(rows > 100);
	assert_int_equal(missing, 0);
	assert_false(rql_host_setting_known("a_setting_of_tomorrow"));
	assert_false(rql_host_setting_known("integer_divisions"));
	assert_true(rql_host_setting_known("S3_REGION"));
}

static void settings_that_plans_do_not_show(void **state)
{
	static const char *const cases[][2] = {
		{"integer_division", "true"},
		{"ieee_floating_point_ops", "false"},
		{"scalar_subquery_error_on_multiple_rows", "false"},
		{"allow_parser_override_extension", "'FALLBACK'"},
	};
	struct fixture *f = *state;
	char sql[128];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(sql, sizeof sql, "SET %s = %s", cases[i][0], cases[i][1]);
		run(f->con, sql);
		expect_no_plan(f->con, "SELECT 1", cases[i][0]);
		snprintf(sql, sizeof sql, "RESET %s", cases[i][0]);
		run(f->con, sql);
		expect_plan(f->con, "SELECT 1");
	}
	/* What the plan shows is read, but for two nodes that a collation changes behind it: whoever reads it asks for that. */
	assert_false(rql_host_collates_late(f->con));
	run(f->con, "SET default_collation = 'NOCASE'");
	expect_plan(f->con, "SELECT 'a' = 'A' UNION SELECT true");
	assert_true(rql_host_collates_late(f->con));
	run(f->con, "SET default_collation = 'BINARY'");
	assert_false(rql_host_collates_late(f->con));
}

/* What changes the meaning of statements moves the number by which they are told apart; nothing else does. */
static void meanings_are_told_apart(void **state)
{
	struct fixture *f = *state;
	uint64_t first = rql_host_meaning(f->con);
	run(f->con, "SET threads = 3; SET memory_limit = '2GB'");
	assert_true(rql_host_meaning(f->con) == first);
	run(f->con, "SET SESSION default_null_order = 'nulls_first'");
	assert_true(rql_host_meaning(f->con) != first);
	run(f->con, "SET SESSION default_null_order = 'nulls_last'");
	assert_true(rql_host_meaning(f->con) == first);
	run(f->con, "CREATE SCHEMA s; USE s");
	assert_true(rql_host_meaning(f->con) != first);
	run(f->con, "USE main; SET TimeZone = 'Asia/Kathmandu'");
	assert_true(rql_host_meaning(f->con) != first);
}

static void add_option(struct rql_host_db *db, const char *name)
{
	host_config_option option = duckdb_create_config_option();
	duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_value value = duckdb_create_varchar("as it is");
	duckdb_config_option_set_name(option, name);
	duckdb_config_option_set_type(option, type);
	duckdb_config_option_set_default_value(option, value);
	assert_int_equal(duckdb_register_config_option(db->service, option), DuckDBSuccess);
	duckdb_destroy_value(&value);
	duckdb_destroy_logical_type(&type);
	duckdb_destroy_config_option(&option);
	host_settings_moved(db, true); /* as LOAD does */
}

static void unknown_settings_forbid_plans_while_changed(void **state)
{
	struct fixture *f = *state;
	struct rql_host_con *other;
	assert_int_equal(rql_host_connect(f->db, &other, NULL), RQL_OK);
	add_option(f->db, "tomorrows_division");
	expect_plan(f->con, "SELECT 1");
	run(f->con, "SET SESSION tomorrows_division = 'backwards'");
	expect_no_plan(f->con, "SELECT 1", "the setting tomorrows_division is changed, and RayQL does not know");
	expect_plan(other, "SELECT 1");
	run(f->con, "RESET SESSION tomorrows_division");
	expect_plan(f->con, "SELECT 1");
	run(other, "SET GLOBAL tomorrows_division = 'sideways'");
	expect_no_plan(other, "SELECT 1", "tomorrows_division");
	expect_plan(f->con, "SELECT 1"); /* its own value is set, to the default */
	run(other, "SET GLOBAL tomorrows_division = 'as it is'");
	expect_plan(other, "SELECT 1");
	/* One that was given when the database was opened has no value to compare with. */
	const struct rql_host_option given[] = {{"yesterdays_division", "1"}};
	assert_int_equal(host_settings_open(f->db, given, 1, NULL), RQL_OK);
	host_settings_moved(f->db, false);
	expect_no_plan(f->con, "SELECT 1", "yesterdays_division");
	rql_host_disconnect(other);
}

static void own_connections_hold_the_defaults(void **state)
{
	struct fixture *f = *state;
	struct rql_host_con *own;
	struct rql_error err = {0};
	char *text = NULL;
	assert_int_equal(rql_host_connect(f->db, &own, NULL), RQL_OK);
	run(f->con, "SET GLOBAL integer_division = true; SET GLOBAL default_order = 'desc'; "
	            "SET GLOBAL default_collation = 'NOCASE'; SET GLOBAL default_null_order = 'nulls_first'; SET GLOBAL TimeZone = 'Asia/Kathmandu'");
	expect_no_plan(own, "SELECT 1", "integer_division");
	assert_int_equal(rql_host_hold_settings(own, &err), RQL_OK);
	expect_plan(own, "SELECT 1");
	/* and what comes later does not reach it */
	run(f->con, "SET GLOBAL ieee_floating_point_ops = false");
	expect_plan(own, "SELECT 1");
	assert_int_equal(rql_host_query_text(own,
	                                     "SELECT concat_ws(' ', 7 / 2, 1 / 0.0::DOUBLE, 'a' = 'A', "
	                                     "CAST(list_sort([1, NULL, 2]) AS VARCHAR), current_setting('TimeZone') <> 'Asia/Kathmandu')",
	                                     &text, &err),
	                 RQL_OK);
	assert_string_equal(text, "3.5 inf false [1, 2, NULL] true");
	free(text);
	rql_host_disconnect(own);
	/* Where nothing can be set, what is not at its default is named. */
	assert_int_equal(rql_host_connect(f->db, &own, NULL), RQL_OK);
	run(f->con, "SET GLOBAL lock_configuration = true");
	assert_int_equal(rql_host_hold_settings(own, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "integer_division"));
	rql_error_clear(&err);
	rql_host_disconnect(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_table_has_every_setting, setup, teardown),
		cmocka_unit_test_setup_teardown(settings_that_plans_do_not_show, setup, teardown),
		cmocka_unit_test_setup_teardown(meanings_are_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_settings_forbid_plans_while_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(own_connections_hold_the_defaults, setup, teardown),
	};
	return cmocka_run_group_tests_name("host_settings", tests, NULL, NULL);
}
