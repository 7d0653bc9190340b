/* What programs make of the entries of a dictionary is what DuckDB makes of them, NULL and the ends of the types included;
 * and what they do not know, or what fails for an entry, is left to DuckDB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bind/normal/evaluate.h"
#include "bind/relation/codes_memo.h"
#include "bind/relation/codes_values.h"
#include "host/host.h"

static struct rql_host_db *db;
static struct rql_host_con *con;

static void run(const char *sql)
{
	struct rql_error err = {0};
	if (rql_host_query(con, sql, NULL, &err) != RQL_OK)
		fail_msg("%s\n%s", sql, rql_error_message(&err));
}

static int set_up(void **state)
{
	struct rql_error err = {0};
	(void)state;
	if (rql_host_open(NULL, NULL, 0, &db, &err) != RQL_OK || rql_host_connect(db, &con, &err) != RQL_OK)
		return -1;
	run("CREATE TABLE t AS SELECT DATE '1900-01-01' + (hash(i) % 80000)::INTEGER d, TIMESTAMP '1900-01-01' + "
	    "to_microseconds((hash(i, 1) % 6000000000000000)::BIGINT) ts, (hash(i, 2) % 100)::INTEGER i, (hash(i, 3) % 5)::UTINYINT u, "
	    "(hash(i, 4) % 2 = 0) b, (hash(i, 5) % 100000)::DECIMAL(12, 2) m, hash(i, 6)::UHUGEINT::HUGEINT h, 'x' || i s, "
	    "(i / 3)::DOUBLE r FROM range(5000) q(i)");
	run("INSERT INTO t SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL");
	run("INSERT INTO t SELECT 'infinity', '-infinity', 2147483647, 255, true, 9999999999.99, 1, 'y', 'nan'");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rql_host_disconnect(con);
	rql_host_close(db);
	return 0;
}

/* The plan's expression over the one column that the table's scan gives. */
static const struct rql_expr *expression(struct rql_arena *arena, const char *text, const char *column)
{
	struct rql_rel *root = NULL;
	struct rql_error err = {0};
	char sql[256], *json = NULL;
	snprintf(sql, sizeof sql, "SELECT %s FROM (SELECT %s FROM t)", text, column);
	if (rql_host_plan(con, sql, &json, &err) != RQL_OK || rql_rel_parse(arena, rql_plan_dialect_of(rql_host_library_version()), json, strlen(json), &root, &err) != RQL_OK)
		fail_msg("%s\n%s", sql, rql_error_message(&err));
	free(json);
	assert_int_equal(root->kind, RQL_REL_PROJECT);
	return root->exprs[0];
}

static bool same_batch(struct rql_arena *arena, const struct rql_expr *e, const char *text, const struct rql_batch *batch)
{
	struct rql_column have;
	if (!rql_evaluate_column(arena, e, &batch->columns[0], batch->rows, &have))
		return false;
	assert_true(rql_type_equal(have.type, batch->columns[1].type));
	for (uint64_t r = 0; r < batch->rows; r++) {
		bool valid = rql_column_valid(&batch->columns[1], r);
		if (rql_column_valid(&have, r) != valid || (valid && rql_column_compare(&have, r, &batch->columns[1], r) != 0))
			fail_msg("%s differs in row %d", text, (int)r);
	}
	return true;
}

/* Does RayQL evaluate it for all rows? If so, as DuckDB. */
static bool evaluates(const char *text, const char *column, const char *where)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_host_result *result = NULL;
	struct rql_batch *batch = NULL;
	struct rql_error err = {0};
	char sql[256];
	bool all = true;
	const struct rql_expr *e = expression(arena, text, column);
	snprintf(sql, sizeof sql, "SELECT %s, TRY(%s) FROM t WHERE %s", column, text, where);
	if (rql_host_query(con, sql, &result, &err) != RQL_OK)
		fail_msg("%s\n%s", sql, rql_error_message(&err));
	while (rql_host_fetch(result, &batch, &err) == RQL_OK && batch) {
		all = same_batch(arena, e, text, batch) && all;
		rql_batch_release(batch);
	}
	rql_host_result_free(result);
	rql_arena_free(arena);
	return all;
}

static void as_duckdb(void **state)
{
	static const struct {
		const char *text, *column;
	} known[] = {
		{"year(d)", "d"}, {"month(d)", "d"}, {"weekofyear(d)", "d"}, {"dayofweek(d)", "d"}, {"year(d) * 100 + month(d)", "d"},
		{"year(d) = 1993", "d"}, {"year(d) BETWEEN 1950 AND 1960 AND month(d) <> 2", "d"}, {"year(d) IN (1950, 1951)", "d"},
		{"CASE WHEN year(d) < 1950 THEN 1 ELSE 2 END", "d"}, {"d IS NULL OR year(d) > 2000", "d"},
		{"hour(ts)", "ts"}, {"minute(ts) + 1", "ts"}, {"CAST(ts AS DATE)", "ts"}, {"i % 7", "i"}, {"i > 50 AND i % 2 = 0", "i"},
		{"i::BIGINT * i", "i"}, {"u = 3", "u"}, {"NOT b", "b"}, {"b AND NULL", "b"},
		{"m > 500.00", "m"}, {"i IS DISTINCT FROM 5", "i"}, {"coalesce(i, 7)", "i"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!evaluates(known[i].text, known[i].column, "true"))
			fail_msg("%s was left to DuckDB", known[i].text);
}

static void left_to_duckdb(void **state)
{
	(void)state;
	assert_false(evaluates("i + 1", "i", "true")); /* overflows in the last row */
	assert_true(evaluates("i + 1", "i", "i < 100"));
	assert_false(evaluates("upper(s)", "s", "true"));
	assert_false(evaluates("s = 'x1'", "s", "true"));
	assert_false(evaluates("r + 1", "r", "true")); /* NaN and -0.0 are one entry each */
	assert_false(evaluates("i / 2", "i", "true"));
	assert_false(evaluates("strftime(d, '%Y')", "d", "true"));
	assert_false(evaluates("d::VARCHAR", "d", "true"));
}

static void of_no_rows(void **state)
{
	(void)state;
	assert_true(evaluates("year(d)", "d", "false"));
	assert_true(evaluates("year(d)", "d", "d IS NULL"));
}

/* ---- functions of strings that plans share ---- */

enum { STRINGS = 6000 };

/* The values as one plan finds them, which are right; NULL: they are its own. */
static const void *shared_values(struct rql_plan_context *ctx, const struct rql_dimension *d, const char *text, int64_t more)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_error err = {0};
	struct rql_column values;
	bool shared;
	ctx->codes = rql_codes_memo_new();
	assert_int_equal(rql_codes_values(ctx, arena, d, expression(arena, text, "s"), &values, &shared, &err), RQL_OK);
	for (uint32_t c = 0; c < d->count; c++) {
		assert_int_equal(rql_column_valid(&values, c), c + d->has_null < d->count || !d->has_null);
		if (rql_column_valid(&values, c))
			assert_int_equal(((const int64_t *)values.data)[c], ((const struct rql_string *)d->values.data)[c].length + more);
	}
	const void *data = shared ? values.data : NULL;
	rql_codes_memo_free(ctx->codes);
	rql_arena_free(arena);
	return data;
}

/* A plan finds what another one has made, of the same dictionary and function alone; within the budget, and until the
 * dictionary goes. */
static void values_are_shared(void **state)
{
	static struct rql_string strings[STRINGS + 1];
	static char bytes[STRINGS][32];
	uint64_t validity[STRINGS / 64 + 1];
	struct rql_watch watch = {0};
	struct rql_devices *devices = NULL;
	struct rql_budget budget = {.limit = UINT64_C(1) << 30};
	(void)state;
	for (uint32_t i = 0; i < STRINGS; i++) {
		const int n = snprintf(bytes[i], sizeof bytes[i], "%06u%.*s", i, (int)(i % 23), "abcdefghijklmnopqrstuvw");
		strings[i] = (struct rql_string){.length = (uint32_t)n};
		memcpy(strings[i].inlined, bytes[i], (size_t)n <= RQL_STRING_INLINE ? (size_t)n : 4);
		if ((size_t)n > RQL_STRING_INLINE)
			strings[i].pointer.data = bytes[i];
	}
	memset(validity, 0xff, sizeof validity);
	validity[STRINGS / 64] = (UINT64_C(1) << STRINGS % 64) - 1;
	struct rql_dimension d = {.type = rql_type_simple(RQL_TYPE_VARCHAR), .count = STRINGS, .watch = &watch};
	d.values = (struct rql_column){.type = d.type, .data = strings};
	struct rql_dimension few = d, with_null = d;
	few.count = 100;
	with_null.count++;
	with_null.has_null = true;
	with_null.values.validity = validity;
	assert_int_equal(rql_devices_open(2, &devices, NULL), RQL_OK);
	struct rql_plan_context ctx = {.devices = devices, .budget = &budget};
	const void *first = shared_values(&ctx, &d, "strlen(s)", 0);
	assert_non_null(first);
	assert_true(budget.used >= STRINGS * sizeof(int64_t));
	assert_ptr_equal(shared_values(&ctx, &d, "strlen(s)", 0), first);
	const void *other = shared_values(&ctx, &with_null, "strlen(s)", 0);
	assert_true(other && other != first);
	assert_null(shared_values(&ctx, &few, "strlen(s)", 0));
	budget.limit = 1000;
	const uint64_t used = budget.used;
	assert_null(shared_values(&ctx, &d, "strlen(s) + 1", 1));
	assert_null(shared_values(&ctx, &d, "strlen(s) + 1", 1));
	assert_int_equal(budget.used, used);
	atomic_load(&watch.gone)(&watch);
	assert_int_equal(budget.used, 0);
	rql_devices_close(devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_duckdb), cmocka_unit_test(left_to_duckdb), cmocka_unit_test(of_no_rows),
	                                   cmocka_unit_test(values_are_shared)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
