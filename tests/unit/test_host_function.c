/* Rows from DuckDB's pipelines into RayQL (sinks) and from RayQL into DuckDB (table functions). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/host.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host_fixture.h"

static int64_t int_of(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	int64_t number = 0;
	if (rql_host_query_int(con, sql, &number, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
	return number;
}

static void run(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	if (rql_host_query(con, sql, NULL, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
}

/* ---- sinks ---- */

struct sums {
	struct {
		_Alignas(64) uint64_t rows, nulls;
		int64_t sum;
		uint64_t bytes;
	} of[RQL_HOST_MAX_WORKERS];
	_Atomic unsigned inside[RQL_HOST_MAX_WORKERS];
	_Atomic unsigned clashes, wrong;
	uint64_t fail_after;
	bool meet;                 /* the first call of a worker waits for another worker, a while */
	_Atomic unsigned together; /* workers at work */
	_Atomic unsigned most;
};

static rql_status add_up(void *state, unsigned worker, const struct rql_batch *rows, struct rql_error *err)
{
	struct sums *sums = state;
	if (atomic_fetch_add(&sums->inside[worker], 1) != 0)
		atomic_fetch_add(&sums->clashes, 1);
	unsigned now = atomic_fetch_add(&sums->together, 1) + 1, most = atomic_load(&sums->most);
	while (now > most && !atomic_compare_exchange_weak(&sums->most, &most, now))
		;
	/* Long enough that a second thread gets its turn, on a busy machine too; only until two have met. */
	for (int i = 0; sums->meet && atomic_load(&sums->most) < 2 && i < 200000000; i++)
		;
	if (rows->column_count != 3 || rows->columns[0].type.id != RQL_TYPE_BIGINT ||
	    rows->columns[1].type.id != RQL_TYPE_INTEGER || rows->columns[2].type.id != RQL_TYPE_VARCHAR)
		atomic_fetch_add(&sums->wrong, 1);
	for (uint64_t r = 0; r < rows->rows; r++) {
		sums->of[worker].sum += ((int64_t *)rows->columns[0].data)[r];
		sums->of[worker].bytes += ((struct rql_string *)rows->columns[2].data)[r].length;
	}
	for (uint64_t r = 0; r < rows->rows; r++)
		sums->of[worker].nulls += !rql_column_valid(&rows->columns[1], r);
	sums->of[worker].rows += rows->rows;
	atomic_fetch_sub(&sums->together, 1);
	atomic_fetch_sub(&sums->inside[worker], 1);
	if (sums->fail_after && sums->of[worker].rows >= sums->fail_after)
		return rql_error_set(err, RQL_ERROR_LIMIT, "no room for \"more\" than %u rows", (unsigned)sums->fail_after);
	return RQL_OK;
}

static void test_sink(void **state)
{
	struct fixture *f = *state;
	run(f->con, "CREATE TABLE t AS SELECT range AS a, CASE WHEN range % 10 <> 0 THEN (range % 100)::INT END AS b, "
	            "'string ' || range % 7 AS c FROM range(1000000)");
	struct sums *sums = calloc(1, sizeof *sums);
	sums->meet = true;
	uint64_t number = rql_host_sink_add(f->db, add_up, sums);
	char sql[200];
	snprintf(sql, sizeof sql, "SELECT count(rayql_sink(%u, a, b, c)) FROM t WHERE a >= 1000", (unsigned)number);
	assert_int_equal(int_of(f->con, sql), 999000);
	uint64_t rows = 0, nulls = 0, bytes = 0;
	int64_t sum = 0;
	for (unsigned w = 0; w < RQL_HOST_MAX_WORKERS; w++) {
		rows += sums->of[w].rows;
		nulls += sums->of[w].nulls;
		sum += sums->of[w].sum;
		bytes += sums->of[w].bytes;
		assert_true(w < 2 || sums->of[w].rows == 0);
	}
	assert_int_equal(rows, 999000);
	assert_int_equal(nulls, 99900);
	assert_true(sum == INT64_C(499999000500));
	assert_int_equal(bytes, 999000 * 8);
	assert_int_equal(atomic_load(&sums->clashes), 0);
	assert_int_equal(atomic_load(&sums->wrong), 0);
	assert_int_equal(atomic_load(&sums->most), 2);
	/* A failing sink fails the query with its own status and words; the connection goes on. */
	sums->meet = false;
	sums->fail_after = 500000;
	struct rql_error err = {0};
	assert_int_equal(rql_host_query(f->con, sql, NULL, &err), RQL_ERROR_LIMIT);
	assert_string_equal(rql_error_message(&err), "no room for \"more\" than 500000 rows");
	rql_error_clear(&err);
	rql_host_sink_remove(f->db, number);
	assert_int_equal(rql_host_query(f->con, sql, NULL, &err), RQL_ERROR_STATEMENT);
	rql_error_clear(&err);
	assert_int_equal(int_of(f->con, "SELECT count(*) FROM t"), 1000000);
	free(sums);
}

static rql_status note_types(void *state, unsigned worker, const struct rql_batch *rows, struct rql_error *err)
{
	(void)worker;
	(void)err;
	struct rql_strbuf *text = state;
	for (uint32_t c = 0; c < rows->column_count; c++) {
		struct rql_value value = rql_column_get(&rows->columns[c], 0);
		rql_type_print(text, value.type);
		rql_strbuf_put(text, " ");
		if (rows->columns[c].type.id != RQL_TYPE_OTHER)
			rql_value_print(text, &value);
		rql_strbuf_put(text, "; ");
	}
	return RQL_OK;
}

static void test_sink_types(void **state)
{
	struct fixture *f = *state;
	struct rql_strbuf text = {0};
	uint64_t number = rql_host_sink_add(f->db, note_types, &text);
	char sql[400];
	snprintf(sql, sizeof sql,
	         "SELECT count(rayql_sink(%u, 1.5::DECIMAL(4,1), 'b'::ENUM('a', 'b'), 7::HUGEINT, DATE '1992-01-02', "
	         "3::UTINYINT, "
	         "NULL::INT, 'x'::BLOB, [1, 2], 1.5::FLOAT, true)) FROM range(1)",
	         (unsigned)number);
	assert_int_equal(int_of(f->con, sql), 1);
	assert_string_equal(
		rql_strbuf_text(&text),
		"DECIMAL(4,1) CAST('1.5' AS DECIMAL(4,1)); ENUM('a', 'b') CAST('b' AS ENUM('a', 'b')); "
		"HUGEINT CAST('7' AS HUGEINT); DATE CAST('1992-01-02' AS DATE); UTINYINT CAST('3' AS UTINYINT); "
		"INTEGER CAST(NULL AS INTEGER); BLOB CAST('\\x78' AS BLOB); INTEGER[] ; FLOAT CAST('1.5' AS FLOAT); "
		"BOOLEAN true; ");
	rql_strbuf_free(&text);
	rql_host_sink_remove(f->db, number);
}

/* ---- table functions ---- */

struct series {
	_Atomic uint64_t next;
	uint64_t end;
	unsigned max_threads;
	_Atomic unsigned inside[64];
	_Atomic bool clash;
};

static _Atomic int live_states;

static rql_status series_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	struct rql_value end = rql_host_tf_argument(bind, 0), threads = rql_host_tf_argument(bind, 1);
	if (end.is_null || end.integer < 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT, "series: a length is %s", "not negative");
	assert_string_equal(extra, "extra");
	struct series *series = calloc(1, sizeof *series);
	if (!series)
		return rql_error_memory(err, sizeof *series, "series");
	atomic_fetch_add(&live_states, 1);
	series->end = (uint64_t)end.integer;
	series->max_threads = (unsigned)threads.integer;
	rql_status status = rql_host_tf_column(bind, "n", rql_type_simple(RQL_TYPE_BIGINT));
	if (status == RQL_OK)
		status = rql_host_tf_column(bind, "s", rql_type_simple(RQL_TYPE_VARCHAR));
	if (status == RQL_OK)
		status = rql_host_tf_column(bind, "d", (struct rql_type){.id = RQL_TYPE_DECIMAL, .width = 9, .scale = 2});
	if (status == RQL_OK)
		status = rql_host_tf_column(bind, "con", rql_type_simple(RQL_TYPE_UBIGINT));
	rql_host_tf_rows(bind, series->end);
	rql_host_tf_threads(bind, series->max_threads);
	*state = series;
	return status;
}

static rql_status series_fill(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity,
                              struct rql_error *err)
{
	struct series *series = state;
	if (thread >= series->max_threads || atomic_fetch_add(&series->inside[thread], 1) != 0)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "thread %u is there twice", thread);
	uint64_t from = atomic_fetch_add(&series->next, capacity);
	for (uint64_t n = from; n < series->end && out->rows < capacity; n++) {
		uint64_t row = out->rows++;
		char text[60];
		int length = snprintf(text, sizeof text, n % 2 ? "%llu" : "a long text before %llu", (unsigned long long)n);
		((int64_t *)out->columns[0].data)[row] = (int64_t)n;
		rql_host_tf_string(out, 1, row, text, (uint32_t)length);
		((int32_t *)out->columns[2].data)[row] = (int32_t)(n % 1000000);
		if (n % 5 == 0)
			rql_host_tf_null(out, 2, row);
		((uint64_t *)out->columns[3].data)[row] = 1;
	}
	atomic_fetch_sub(&series->inside[thread], 1);
	return RQL_OK;
}

static void series_free(void *state)
{
	atomic_fetch_sub(&live_states, 1);
	free(state);
}

static void test_table_function(void **state)
{
	struct fixture *f = *state;
	static char extra[] = "extra";
	const rql_type_id parameters[] = {RQL_TYPE_BIGINT, RQL_TYPE_BIGINT};
	const struct rql_host_table_function function = {
		.name = "series",
		.parameter_count = 2,
		.parameters = parameters,
		.bind = series_bind,
		.fill = series_fill,
		.free_state = series_free,
		.extra = extra,
	};
	struct rql_error err = {0};
	assert_int_equal(rql_host_register(f->con, &function, &err), RQL_OK);
	for (int threads = 1; threads <= 2; threads++) {
		char sql[300], *text;
		snprintf(sql, sizeof sql,
		         "SELECT (count(*), sum(n), count(DISTINCT s), max(s), sum(d), count(d), min(n))::VARCHAR FROM "
		         "series(1000000, %d)",
		         threads);
		assert_int_equal(rql_host_query_text(f->con, sql, &text, &err), RQL_OK);
		assert_string_equal(text,
		                    "(1000000, 499999500000, 1000000, a long text before 999998, 4000000000.00, 800000, 0)");
		free(text);
	}
	/* Seen from every connection, and run as often as it is executed. */
	struct rql_host_con *other;
	struct rql_host_stmt *stmt;
	assert_int_equal(rql_host_connect(f->db, &other, &err), RQL_OK);
	assert_int_equal(rql_host_prepare(other, "SELECT sum(n)::BIGINT FROM series(3000, 2)", &stmt, &err), RQL_OK);
	for (int i = 0; i < 3; i++) {
		struct rql_host_result *res;
		struct rql_batch *batch;
		assert_int_equal(rql_host_execute(stmt, false, &res, &err), RQL_OK);
		assert_int_equal(rql_host_fetch(res, &batch, &err), RQL_OK);
		assert_true(rql_column_get(&batch->columns[0], 0).integer == 4498500);
		rql_batch_release(batch);
		rql_host_result_free(res);
	}
	rql_host_stmt_free(stmt);
	rql_host_disconnect(other);
	assert_int_equal(rql_host_query(f->con, "FROM series(-1, 1)", NULL, &err), RQL_ERROR_STATEMENT);
	assert_string_equal(rql_error_message(&err),
	                    rql_host_major() >= 2 ? "series: a length is not negative\n\n"
	                                            "LINE 1: FROM series(-1, 1)\n             ^^^^^^^^^^^^^"
	                                          : "series: a length is not negative\n\n"
	                                            "LINE 1: FROM series(-1, 1)\n             ^"); /* DuckDB's place */
	rql_error_clear(&err);
	/* Planned without being run. */
	char *json = NULL;
	rql_status planned = rql_host_plan(f->con, "SELECT sum(n) FROM series(10, 1)", &json, &err);
	assert_int_equal(planned, rql_host_major() >= 2 ? RQL_ERROR_UNSUPPORTED : RQL_OK); /* DuckDB 2 writes none of it */
	assert_true(planned != RQL_OK || strstr(json, "series"));
	rql_error_clear(&err);
	free(json);
	assert_int_equal(atomic_load(&live_states), 0);
}

/* Lists of functions that one database has asked for serve another only where both have the same. */
static void test_stamps(void **state)
{
	struct fixture *f = *state;
	const struct rql_host_table_function function = {
		.name = "stamped", .bind = series_bind, .fill = series_fill, .free_state = series_free};
	struct rql_error err = {0};
	struct rql_host_db *other;
	struct rql_host_con *con;
	void *lent;
	assert_int_equal(rql_host_open(NULL, NULL, 0, &other, &err), RQL_OK);
	char *mine = rql_host_functions_stamp(f->db), *others = rql_host_functions_stamp(other);
	assert_non_null(mine);
	assert_non_null(others);
	assert_string_equal(mine, others);
	assert_true(rql_host_is_table_function(f->db, "range", 5));
	assert_false(rql_host_is_table_function(f->db, "stamped", 7));
	free(others);

	assert_int_equal(rql_host_connect(other, &con, &err), RQL_OK);
	assert_int_equal(rql_host_register(con, &function, &err), RQL_OK);
	others = rql_host_functions_stamp(other);
	assert_non_null(others);
	assert_string_not_equal(mine, others);
	assert_true(rql_host_is_table_function(other, "range", 5));
	assert_true(rql_host_is_table_function(other, "stamped", 7));
	free(others);
	free(mine);

	assert_int_equal(rql_host_lend_connection(other, &lent, &err), RQL_OK); /* it may register what it likes */
	rql_host_unlend_connection(other, lent);
	assert_null(rql_host_functions_stamp(other));
	rql_host_disconnect(con);
	rql_host_close(other);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {T(test_sink), T(test_sink_types), T(test_table_function), T(test_stamps)};
	return cmocka_run_group_tests_name("host_function", tests, NULL, NULL);
}
