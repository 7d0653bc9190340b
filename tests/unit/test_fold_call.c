/* What RayQL makes of intervals and of dates moved by them is what DuckDB makes of them: at the ends of months, before and
 * after 1970, and at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bind/normal/normal.h"
#include "host/host.h"

#define ROWS 20000

static struct rql_host_db *db;
static struct rql_host_con *con;

static int set_up(void **state)
{
	struct rql_error err = {0};
	(void)state;
	return rql_host_open(NULL, NULL, 0, &db, &err) == RQL_OK && rql_host_connect(db, &con, &err) == RQL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rql_host_disconnect(con);
	rql_host_close(db);
	return 0;
}

static struct rql_expr constant(struct rql_value value)
{
	return (struct rql_expr){.kind = RQL_EXPR_CONSTANT, .type = value.type, .value = value};
}

/* Of a row: all columns but the last are arguments, the last is what DuckDB gives. true: RayQL gives the same. */
static bool check_row(const char *name, const struct rql_batch *batch, uint64_t row)
{
	struct rql_expr arguments[2], *children[] = {&arguments[0], &arguments[1]};
	uint32_t count = batch->column_count - 1;
	struct rql_value want = rql_column_get(&batch->columns[count], row), have;
	for (uint32_t i = 0; i < count; i++)
		arguments[i] = constant(rql_column_get(&batch->columns[i], row));
	struct rql_expr call = {.kind = RQL_EXPR_FUNCTION,
	                        .name = name,
	                        .type = batch->columns[count].type,
	                        .child_count = count,
	                        .children = children};
	if (!rql_plan_fold_call(&call, &have))
		return false;
	bool same = !want.is_null && rql_type_equal(have.type, want.type);
	if (same && want.type.id == RQL_TYPE_INTERVAL)
		same = have.interval.months == want.interval.months && have.interval.days == want.interval.days &&
		       have.interval.micros == want.interval.micros;
	else
		same = same && rql_value_compare(&have, &want) == 0;
	if (!same)
		fail_msg("%s differs in row %d", name, (int)row);
	return true;
}

/* How many of the rows RayQL knew. */
static unsigned check(const char *name, const char *sql)
{
	struct rql_host_result *result = NULL;
	struct rql_batch *batch = NULL;
	struct rql_error err = {0};
	unsigned known = 0;
	if (rql_host_query(con, sql, &result, &err) != RQL_OK)
		fail_msg("%s\n%s", sql, rql_error_message(&err));
	while (rql_host_fetch(result, &batch, &err) == RQL_OK && batch) {
		for (uint64_t r = 0; r < batch->rows; r++)
			known += check_row(name, batch, r);
		rql_batch_release(batch);
	}
	rql_host_result_free(result);
	return known;
}

static void intervals(void **state)
{
	static const struct {
		const char *name, *type;
	} units[] = {{"to_years", "INTEGER"}, {"to_months", "INTEGER"}, {"to_weeks", "INTEGER"},
	             {"to_days", "INTEGER"},  {"to_hours", "BIGINT"},   {"to_minutes", "BIGINT"}};
	char sql[512];
	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		snprintf(sql, sizeof sql,
		         "SELECT n, TRY(%s(n)) FROM (SELECT unnest([-2147483648, -1000001, -1000000, -5, 0, 1, 90, 1000000, "
		         "1000001, 2147483647])::%s n)",
		         units[i].name, units[i].type);
		assert_int_equal(check(units[i].name, sql), 6);
	}
	assert_int_equal(check("to_days", "SELECT 1::BIGINT, INTERVAL 1 DAY"), 0);
	assert_int_equal(check("to_decades", "SELECT 1::INTEGER, to_decades(1)"), 0);
	assert_int_equal(check("trunc", "SELECT v, trunc(v) FROM (SELECT unnest([1.5, -1.5, 0.0, -0.0, 1e300, 'inf', "
	                                "'nan']::DOUBLE[]) v)"),
	                 5);
	assert_int_equal(check("trunc", "SELECT v, trunc(v) FROM (SELECT 1.5::FLOAT v)"), 0);
}

/* Days of a few centuries, more often near the ends of months; steps of all three parts at once. */
static const char moved[] =
	"SELECT %s, %s, TRY(%s) FROM (SELECT (DATE '%s' + (hash(i) %% %d)::INTEGER)::%s m, "
	"to_months((hash(i, 1) %% 61)::INTEGER - 30) + to_days((hash(i, 2) %% 91)::INTEGER - 45) + "
	"to_microseconds((hash(i, 3) %% 400000000000)::BIGINT - 200000000000) v FROM range(%d) r(i))";

static void moments(void **state)
{
	static const char *const types[] = {"DATE", "TIMESTAMP"};
	char sql[1024];
	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		snprintf(sql, sizeof sql, moved, "m", "v", "m + v", "1600-01-01", 300000, types[t], ROWS);
		assert_int_equal(check("+", sql), ROWS);
		snprintf(sql, sizeof sql, moved, "m", "v", "m - v", "1600-01-01", 300000, types[t], ROWS);
		assert_int_equal(check("-", sql), ROWS);
		snprintf(sql, sizeof sql, moved, "v", "m", "v + m", "1960-01-01", 9000, types[t], ROWS);
		assert_int_equal(check("+", sql), ROWS);
		/* The ends are the host's: some of these leave the years from 1 to 9999. */
		snprintf(sql, sizeof sql, moved, "m", "v", "m + v", "0001-01-01", 400, types[t], 2000);
		unsigned known = check("+", sql);
		assert_true(known > 500 && known < 2000);
		snprintf(sql, sizeof sql, moved, "m", "v", "m + v", "9998-12-01", 395, types[t], 2000);
		known = check("+", sql);
		assert_true(known > 500 && known < 2000);
	}
	assert_int_equal(check("+", "SELECT TIMESTAMP '2024-01-31 23:59:59.999999', INTERVAL '1 month 1 microsecond', "
	                            "TIMESTAMP '2024-01-31 23:59:59.999999' + INTERVAL '1 month 1 microsecond'"),
	                 1);
	assert_int_equal(check("+", "SELECT m, v, m + v FROM (SELECT unnest(['infinity', '-infinity', '290000-01-01']::DATE[]) m, "
	                            "INTERVAL 1 DAY v)"),
	                 0);
	assert_int_equal(check("+", "SELECT DATE '2024-01-31', INTERVAL 3000000 DAY, DATE '2024-01-31' + INTERVAL 3000000 DAY"), 0);
	/* Other types of arguments and results are another function. */
	assert_int_equal(check("+", "SELECT DATE '2024-01-31', 1, DATE '2024-01-31' + 1"), 0);
	assert_int_equal(check("-", "SELECT INTERVAL 1 DAY, INTERVAL 1 MONTH, INTERVAL 1 DAY - INTERVAL 1 MONTH"), 0);
	assert_int_equal(check("+", "SELECT TIME '10:00:00', INTERVAL 1 DAY, TIME '10:00:00' + INTERVAL 1 DAY"), 0);
	assert_int_equal(check("-", "SELECT DATE '2024-01-31', NULL::INTERVAL, DATE '2024-01-31' - NULL::INTERVAL"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(intervals), cmocka_unit_test(moments)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
