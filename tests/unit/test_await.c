/* Nobody waits for a compiler, or for a device to be opened: the CPU or the host answers, and the GPU once it is ready.
 * The device is whatever there is (lavapipe too), made to look like a fast GPU with a slow compiler (device/fault). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/compile.h"
#include "device/fault/fault.h"
#include "exec/exec_internal.h"
#include "vulkan_fixture.h"

#define SLOW_MS 400u
#define SESSIONS 3u

struct world {
	struct rql_database *db;
	struct rql_session *s;
	struct rql_device *device;
};

static void run(struct rql_session *s, const char *text)
{
	struct rql_error err = {0};
	if (rql_session_query(s, text, NULL, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
}

/* All prices of the device but its compiler's are next to nothing. */
static void make_fast(struct rql_device *device)
{
	struct rql_profile *p = &device->profile;
	device->as_real = true;
	p->submit_ns = p->pass_ns = p->group_ns = 0.01;
	p->read_gbps = p->upload_gbps = p->download_gbps = 1e9;
	p->scan.tested_row_ns = p->scan.taken_row_ns = 1e-9;
	p->scan.answer_group_ns = 1e-3;
	p->scan.compile_ns = 2e8;
}

static int set_up(void **state)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	struct world *w = calloc(1, sizeof *w);
	struct rql_database_config config = {.threads = 2};
	struct rql_error err = {0};
	if (rql_database_open(NULL, &config, &w->db, &err) != RQL_OK || rql_session_open(w->db, &w->s, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	w->device = rql_devices_get(w->db->devices, name && name[0] ? name : "vulkan:0");
	make_fast(w->device);
	atomic_fetch_or(&w->db->devices_ready, 1u << w->device->index); /* not to be measured */
	run(w->s, "SELECT setseed(0.14)");
	run(w->s, "CREATE TABLE t AS SELECT (random() * 9)::INTEGER a, (random() * 40)::INTEGER b, "
	          "CASE WHEN random() < 0.1 THEN NULL ELSE (random() * 1e6)::INTEGER END v FROM range(60000)");
	run(w->s, "CREATE TABLE u AS SELECT b k, a x FROM t LIMIT 400");
	run(w->s, "CREATE INDEX ct ON t USING columns (*); CREATE INDEX cu ON u USING columns (*)");
	run(w->s, "SELECT count(*) FROM t; SELECT count(*) FROM u");
	rql_kernels_finish(w->device);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	rql_session_close(w->s);
	rql_database_close(w->db);
	free(w);
	return 0;
}

static void fault(struct world *w, enum rql_fault_kind kind, uint64_t nth)
{
	rql_kernels_finish(w->device);
	assert_int_equal(rql_fault_set(w->device, kind, nth, NULL), RQL_OK);
}

static void same_value(const struct rql_column *mine, const struct rql_column *hosts, uint64_t row)
{
	const uint32_t bytes = rql_type_bytes(mine->type);
	assert_true(rql_type_equal(mine->type, hosts->type));
	assert_int_equal(rql_column_valid(mine, row), rql_column_valid(hosts, row));
	if (rql_column_valid(mine, row))
		assert_memory_equal((const char *)mine->data + row * bytes, (const char *)hosts->data + row * bytes, bytes);
}

/* Runs it and compares every row with DuckDB's. */
static struct rql_report *answer(struct rql_session *s, const char *query)
{
	struct rql_error err = {0};
	struct rql_result *res = NULL;
	struct rql_batch *batch = NULL;
	if (rql_session_query(s, query, &res, &err) != RQL_OK || rql_result_fetch(res, &batch, &err) != RQL_OK)
		fail_msg("%s\n%s", query, rql_error_message(&err));
	assert_non_null(batch);
	struct rql_host_result *host = NULL;
	struct rql_batch *expected = NULL;
	if (rql_host_query(rql_session_host(s), query, &host, &err) != RQL_OK ||
	    rql_host_fetch(host, &expected, &err) != RQL_OK)
		fail_msg("%s\n%s", query, rql_error_message(&err));
	assert_int_equal(batch->rows, expected->rows);
	assert_int_equal(batch->column_count, expected->column_count);
	for (uint32_t c = 0; c < batch->column_count; c++)
		for (uint64_t row = 0; row < batch->rows; row++)
			same_value(&batch->columns[c], &expected->columns[c], row);
	rql_batch_release(expected);
	rql_host_result_free(host);
	rql_batch_release(batch);
	rql_result_free(res);
	return &s->report;
}

static void answered_by(struct rql_session *s, const char *query, const char *unit, bool cached, const char *words)
{
	struct rql_report *r = answer(s, query);
	const char *reason = rql_strbuf_text(&r->reason);
	if (strcmp(r->unit, unit) != 0 || r->plan_cached != cached || (words && !strstr(reason, words)) ||
	    (!words && strstr(reason, "compiled")))
		fail_msg("%s\nby \"%s\"%s: %s\nnot by \"%s\"%s, as ...%s...", query, r->unit,
		         r->plan_cached ? ", cached" : "", reason, unit,
		         cached ? ", cached" : "", words ? words : "(nothing of compiling)");
}

/* EXPLAIN's text has the words. */
static void explained(struct rql_session *s, const char *query, const char *words)
{
	char text[512];
	struct rql_error err = {0};
	struct rql_result *res = NULL;
	struct rql_batch *batch = NULL;
	bool found = false;
	snprintf(text, sizeof text, "EXPLAIN %s", query);
	if (rql_session_query(s, text, &res, &err) != RQL_OK || rql_result_fetch(res, &batch, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
	for (uint32_t c = 0; c < batch->column_count; c++)
		for (uint64_t row = 0; row < batch->rows && batch->columns[c].type.id == RQL_TYPE_VARCHAR; row++) {
			const struct rql_string *string = (const struct rql_string *)batch->columns[c].data + row;
			char *copy = strndup(rql_string_data(string), string->length);
			found = found || (copy && strstr(copy, words));
			free(copy);
		}
	if (!found)
		fail_msg("%s\nhas no \"%s\"", text, words);
	rql_batch_release(batch);
	rql_result_free(res);
}

static void later_by_the_gpu(void **state)
{
	struct world *w = *state;
	static const char *const queries[] = {
		"SELECT a, sum(v), count(*), min(v) FROM t WHERE b < 20 GROUP BY a ORDER BY a",
		"SELECT a, count(*) FROM t WHERE v BETWEEN 5 AND 900 AND b + v > 20 GROUP BY a ORDER BY count(*) DESC, a LIMIT 3",
		"SELECT x, sum(v) FROM t, (SELECT k, min(x) x FROM u GROUP BY k) d WHERE b = k GROUP BY x ORDER BY x",
	};
	fault(w, RQL_FAULT_SLOW, SLOW_MS);
	for (uint32_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		answered_by(w->s, queries[q], "cpu", false, "and the CPU answers meanwhile");
		answered_by(w->s, queries[q], "cpu", true, "is being compiled");
		explained(w->s, queries[q], "and the CPU answers meanwhile");
		rql_kernels_finish(w->device);
		answered_by(w->s, queries[q], "compute", false, NULL);
		answered_by(w->s, queries[q], "compute", true, NULL);
	}
	assert_true(rql_fault_struck(w->device));
}

/* Kernels that are the same for all queries, too: once all that was asked for is compiled, a run compiles nothing. The
 * number of compilations counts, since each is a wait of the query. */
static void nothing_else_compiles(void **state)
{
	struct world *w = *state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* it counts; what makes kernels is in the other cases */
#endif
	static const char *const queries[] = {
		"SELECT b, a, count(*), sum(v) FROM t WHERE v > 5 GROUP BY b, a ORDER BY b, a LIMIT 9",
		"SELECT v, count(*), sum(a) FROM t WHERE v > 9 GROUP BY v ORDER BY count(*) DESC, v LIMIT 3",
		"SELECT n, count(*) FROM (SELECT v, count(*) n FROM t WHERE v > 7 GROUP BY v) GROUP BY n ORDER BY n",
		"SELECT t.a, count(*), sum(u.x) FROM t, u WHERE t.b = u.k GROUP BY t.a ORDER BY t.a",
		"SELECT v, u.x FROM t, u WHERE t.b = u.k AND t.a <> 3 ORDER BY v DESC NULLS LAST, u.x LIMIT 7",
		"SELECT t.v, count(*), max(u.x) FROM t, u WHERE t.b = u.k GROUP BY t.v ORDER BY count(*) DESC, t.v LIMIT 2",
	};
	fault(w, RQL_FAULT_SLOW, 1);
	for (uint32_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		const uint64_t before = rql_fault_count(w->device, RQL_FAULT_SLOW);
		answer(w->s, queries[q]);
		rql_kernels_finish(w->device);
		const uint64_t compiled = rql_fault_count(w->device, RQL_FAULT_SLOW);
		assert_true(compiled > before || q); /* the first one's kernels are new to the driver */
		assert_string_equal(answer(w->s, queries[q])->unit, "compute");
		if (rql_fault_count(w->device, RQL_FAULT_SLOW) != compiled)
			fail_msg("%s\nwaited for %d kernels that nobody had looked for", queries[q],
			         (int)(rql_fault_count(w->device, RQL_FAULT_SLOW) - compiled));
	}
}

/* One look-up is not worth a submission, and the reason says so; many are. */
static void look_ups(void **state)
{
	struct world *w = *state;
	const char *one = "SELECT count(*), max(a) FROM t WHERE v = 12345";
	struct rql_strbuf many = {0};
	rql_strbuf_put(&many, "SELECT a, count(*) FROM t WHERE v IN (-1");
	for (uint32_t i = 0; i < 2000; i++)
		rql_strbuf_printf(&many, ", %u", i * 500);
	rql_strbuf_put(&many, ") GROUP BY a ORDER BY a");
	run(w->s, "CREATE INDEX iv ON t USING hash (v)");
	w->device->profile.submit_ns = 5000;
	answered_by(w->s, one, "cpu", false, "of which a submission is 0.005 ms");
	explained(w->s, one, "of which a submission is 0.005 ms");
	answer(w->s, rql_strbuf_text(&many));
	rql_kernels_finish(w->device);
	assert_string_equal(answer(w->s, rql_strbuf_text(&many))->unit, "compute");
	rql_strbuf_free(&many);
}

/* A selection's kernel depends on what is found first. */
static void rows_later(void **state)
{
	struct world *w = *state;
	const char *query = "SELECT v, a, b FROM t WHERE b = 7 AND v IS NOT NULL ORDER BY v DESC, a, b LIMIT 5";
	fault(w, RQL_FAULT_SLOW, SLOW_MS);
	struct rql_report *r = answer(w->s, query);
	assert_string_equal(r->unit, "cpu");
	rql_kernels_finish(w->device);
	answer(w->s, query); /* whoever is cheaper */
}

/* The host is cheaper than RayQL's CPU, and dearer than the GPU. */
static void the_host_meanwhile(void **state)
{
	struct world *w = *state;
	struct rql_profile *cpu = &w->db->devices->device[0].profile;
	const char *query = "SELECT count(*), sum(v) FROM t WHERE b < 20 AND a > 2";
	cpu->host_statement_ns = cpu->statement_ns + 5000;
	cpu->host_value_ns = 1e-6;
	fault(w, RQL_FAULT_SLOW, SLOW_MS);
	answered_by(w->s, query, "", false, "is being compiled");
	answered_by(w->s, query, "", true, "the host answers meanwhile");
	explained(w->s, query, "the host answers meanwhile");
	rql_kernels_finish(w->device);
	answered_by(w->s, query, "compute", false, NULL);
}

/* Whoever names the unit waits. */
static void forced(void **state)
{
	struct world *w = *state;
	fault(w, RQL_FAULT_SLOW, 50);
	run(w->s, "SET rayql_unit = 'compute'");
	answered_by(w->s, "SELECT a, max(v) FROM t WHERE b < 9 GROUP BY a ORDER BY a", "compute", false, NULL);
	assert_true(rql_fault_struck(w->device));
	run(w->s, "SET rayql_unit = 'auto'");
}

static void failing(void **state)
{
	struct world *w = *state;
	const char *query = "SELECT a, count(v), sum(b) FROM t WHERE b < 31 GROUP BY a ORDER BY a";
	run(w->s, "SET rayql_enable_group = off"); /* whose unit raster would not need that kernel */
	fault(w, RQL_FAULT_COMPILE, 1);
	answered_by(w->s, query, "cpu", false, "is being compiled");
	rql_kernels_finish(w->device);
	assert_true(rql_fault_struck(w->device));
	assert_string_equal(answer(w->s, query)->unit, "cpu");
	explained(w->s, query, "its kernel could not be compiled");
	answered_by(w->s, query, "cpu", true, NULL);
	rql_kernels_finish(w->device);
	answered_by(w->s, query, "cpu", true, NULL);
	run(w->s, "SET rayql_enable_group = on");
}

static void closing(void **state)
{
	struct world *w = *state;
	char text[128];
	fault(w, RQL_FAULT_SLOW, SLOW_MS);
	for (uint32_t i = 1; i < 5; i++) {
		snprintf(text, sizeof text, "SELECT %s FROM t WHERE b < 20 AND a = 1",
		         (const char *[]){"", "sum(v)", "min(v), max(v)", "sum(a), sum(v)", "count(v), min(a)"}[i]);
		answered_by(w->s, text, "cpu", false, "is being compiled");
	}
}

static void *ask(void *state)
{
	struct rql_session *s = state;
	static const char *const queries[] = {"SELECT a, sum(v) FROM t WHERE b > 3 GROUP BY a ORDER BY a",
	                                      "SELECT b, min(v), count(*) FROM t WHERE a > 4 GROUP BY b ORDER BY b"};
	for (uint32_t i = 0; i < 30; i++)
		answer(s, queries[i % 2]);
	return NULL;
}

static void many_sessions(void **state)
{
	struct world *w = *state;
	struct rql_session *sessions[SESSIONS];
	pthread_t threads[SESSIONS];
	fault(w, RQL_FAULT_SLOW, 30);
	for (uint32_t i = 0; i < SESSIONS; i++)
		assert_int_equal(rql_session_open(w->db, &sessions[i], NULL), RQL_OK);
	for (uint32_t i = 0; i < SESSIONS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, sessions[i]), 0);
	for (uint32_t i = 0; i < SESSIONS; i++)
		pthread_join(threads[i], NULL);
	rql_kernels_finish(w->device);
	for (uint32_t i = 0; i < SESSIONS; i++) {
		ask(sessions[i]);
		assert_string_equal(rql_session_report(sessions[i])->unit, "compute");
		rql_session_close(sessions[i]);
	}
}

/* ---- devices that are being opened ---- */

/* The opening thread stands between listing the devices and measuring them until `go`. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool there, go;
	struct rql_database *db;
	struct rql_session *s;
};
#define QUERY "SELECT a, sum(v), count(*) FROM t WHERE b < 20 GROUP BY a ORDER BY a"

static void stand(void *state)
{
	struct gate *g = state;
	for (uint32_t i = 1; i < atomic_load(&g->db->devices->count); i++)
		make_fast(&g->db->devices->device[i]);
	pthread_mutex_lock(&g->lock);
	g->there = true;
	pthread_cond_broadcast(&g->changed);
	while (!g->go)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

/* The first structure begins it. */
static struct gate *open_gate(void)
{
	struct gate *g = calloc(1, sizeof *g);
	struct rql_database_config config = {.threads = 2};
	struct rql_error err = {0};
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	if (rql_database_open(NULL, &config, &g->db, &err) != RQL_OK || rql_session_open(g->db, &g->s, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	g->db->opening.listed = stand;
	g->db->opening.listed_state = g;
	assert_false(rql_devices_found(g->db->devices));
	run(g->s, "CREATE TABLE t AS SELECT i % 9 a, i % 40 b, i % 1000 v FROM range(60000) r(i)");
	assert_false(g->db->opening.started);
	run(g->s, "CREATE INDEX ct ON t USING columns (*)");
	assert_true(g->db->opening.started);
	pthread_mutex_lock(&g->lock);
	while (!g->there)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	return g;
}

static void let_go(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->go = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static void close_gate(struct gate *g)
{
	let_go(g);
	rql_session_close(g->s);
	rql_database_close(g->db);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static void opened_later(void **state)
{
	(void)state;
	struct gate *g = open_gate();
	struct rql_session *other = NULL;
	assert_int_equal(rql_session_open(g->db, &other, NULL), RQL_OK);
	answered_by(g->s, QUERY, "cpu", false, NULL);
	answered_by(g->s, QUERY, "cpu", true, NULL);
	answered_by(other, QUERY, "cpu", false, NULL);
	let_go(g);
	rql_opening_finish(g->db);
	answered_by(g->s, QUERY, "cpu", false, "is being compiled");
	rql_kernels_finish(&g->db->devices->device[1]);
	answered_by(g->s, QUERY, "compute", false, NULL);
	answered_by(g->s, QUERY, "compute", true, NULL);
	answered_by(other, QUERY, "compute", false, NULL);
	rql_session_close(other);
	close_gate(g);
}

/* Whoever names the unit opens the devices itself. */
static void opened_now(void **state)
{
	(void)state;
	struct gate *g = open_gate();
	answered_by(g->s, QUERY, "cpu", false, NULL);
	run(g->s, "SET rayql_unit = 'compute'");
	answered_by(g->s, QUERY, "compute", false, NULL);
	close_gate(g);
}

/* Nothing better comes: the plan stays. */
static void nothing_opened(void **state)
{
	(void)state;
	setenv("RAYQL_VULKAN", "off", 1);
	struct gate *g = open_gate();
	answered_by(g->s, QUERY, "cpu", false, NULL);
	let_go(g);
	rql_opening_finish(g->db);
	answered_by(g->s, QUERY, "cpu", true, NULL);
	answered_by(g->s, "SELECT count(*) FROM t WHERE v < 7", "cpu", false, NULL);
	answered_by(g->s, "SELECT count(*) FROM t WHERE v < 7", "cpu", true, NULL);
	close_gate(g);
	unsetenv("RAYQL_VULKAN");
}

static void closed_while_opening(void **state)
{
	(void)state;
	struct gate *g = open_gate();
	answered_by(g->s, QUERY, "cpu", false, NULL);
	close_gate(g);
}

int main(void)
{
	static const struct CMUnitTest compiling[] = {
		cmocka_unit_test_setup_teardown(later_by_the_gpu, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_else_compiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(look_ups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_host_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(closing, set_up, tear_down),
	};
	static const struct CMUnitTest threads[] = {
		cmocka_unit_test_setup_teardown(many_sessions, set_up, tear_down),
		cmocka_unit_test(opened_later),
		cmocka_unit_test(opened_now),
		cmocka_unit_test(nothing_opened),
		cmocka_unit_test(closed_while_opening),
	};
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
#ifdef __SANITIZE_THREAD__
	const int failed = 0 * (int)sizeof compiling;
#else
	const int failed = cmocka_run_group_tests(compiling, NULL, NULL);
#endif
	return failed + cmocka_run_group_tests(threads, NULL, NULL);
}
