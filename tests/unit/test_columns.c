/* Columns structures from the inside: what they hold is the table, after builds, appends, transactions, side files and
 * while several connections write; and rayql_auto_columns, which plans ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "exec/exec_internal.h"
#include "structure/side_internal.h"

struct world {
	struct rql_database *db;
	struct rql_session *s;
};

static void open_at(struct world *w, const char *path)
{
	struct rql_database_config config = {.threads = 4};
	struct rql_error err = {0};
	if (rql_database_open(path, &config, &w->db, &err) != RQL_OK || rql_session_open(w->db, &w->s, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
}

static void close_world(struct world *w)
{
	rql_session_close(w->s);
	rql_database_close(w->db);
	*w = (struct world){0};
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	open_at(w, NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	close_world(w);
	free(w);
	return 0;
}

static void sql(struct rql_session *s, const char *text)
{
	struct rql_error err = {0};
	if (rql_session_query(s, text, NULL, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
}

/* n rows; 'w<i mod 1000>' or NULL, doubles with NULLs. */
static void make_table(struct rql_session *s, const char *name, int n)
{
	char text[400];
	snprintf(
		text, sizeof text,
		"CREATE TABLE %s AS SELECT (i %% 7)::INTEGER a, i v, CASE WHEN i %% 11 = 0 THEN NULL ELSE 'w' || (i %% 1000) "
		"END s, CASE WHEN i %% 5 = 0 THEN NULL ELSE i / 8 END::DOUBLE d FROM range(%d) r(i)",
		name, n);
	sql(s, text);
}

/* ---- contents against the table ---- */
struct totals {
	int64_t count, sum;
};

static struct totals host_totals(struct rql_host_con *con, const char *text)
{
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	struct rql_error err = {0};
	if (rql_host_query(con, text, &res, &err) != RQL_OK || rql_host_fetch(res, &batch, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
	struct totals t = {(int64_t)rql_column_get(&batch->columns[0], 0).integer,
	                   (int64_t)rql_column_get(&batch->columns[1], 0).integer};
	rql_batch_release(batch);
	rql_host_result_free(res);
	return t;
}

/* A string's part in the sum: what sum(length(s) * ascii(s[-1])) adds for it. */
static int64_t weigh_string(const struct rql_dimension *dimension, uint32_t code)
{
	struct rql_value v = rql_column_get(&dimension->values, code);
	return v.is_null ? 0 : (int64_t)v.string.length * (unsigned char)v.string.data[v.string.length - 1];
}

static struct totals column_totals(const struct rql_store_snapshot *snapshot, uint32_t c)
{
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_PORTABLE);
	struct totals t = {0};
	static _Thread_local union {
		uint32_t codes[RQL_STORE_BLOCK];
		int64_t integers[RQL_STORE_BLOCK];
		double reals[RQL_STORE_BLOCK];
	} out;
	uint64_t valid[RQL_STORE_BLOCK / 64];
	for (uint64_t b = 0; b < snapshot->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(snapshot, b);
		const struct rql_store_view *view = &segment->columns[c];
		uint32_t block = (uint32_t)(b - segment->first_block), rows = view->blocks[block].rows;
		(void)rql_store_decode_validity(k, view, block, 0, rows, valid);
		if (view->kind == RQL_STORE_CODED)
			rql_store_decode_codes(k, view, block, 0, rows, out.codes);
		else if (view->kind == RQL_STORE_REAL)
			rql_store_decode_double(k, view, block, 0, rows, out.reals);
		else
			rql_store_decode_int64(k, view, block, 0, rows, out.integers);
		for (uint32_t r = 0; r < rows; r++) {
			if (!(valid[r >> 6] >> (r & 63) & 1))
				continue;
			t.count++;
			if (view->kind == RQL_STORE_INTEGER) {
				t.sum += out.integers[r];
			} else if (view->kind == RQL_STORE_REAL) {
				t.sum += (int64_t)out.reals[r];
			} else {
				const struct rql_dimension *dimension = snapshot->columns[c].dimension;
				struct rql_value v = rql_column_get(&dimension->values, out.codes[r]);
				bool text = v.type.id == RQL_TYPE_VARCHAR;
				t.sum += text ? weigh_string(dimension, out.codes[r]) : (int64_t)v.integer;
			}
		}
	}
	return t;
}

static void check_column(struct rql_host_con *con, const struct rql_store_snapshot *snapshot, uint32_t c,
                         const char *table)
{
	const char *name = snapshot->columns[c].name;
	bool text = snapshot->columns[c].type.id == RQL_TYPE_VARCHAR;
	char query[300];
	if (text)
		snprintf(query, sizeof query,
		         "SELECT count(\"%s\"), coalesce(sum(length(\"%s\") * ascii(\"%s\"[-1])), 0)::BIGINT FROM %s", name,
		         name, name, table);
	else
		snprintf(query, sizeof query, "SELECT count(\"%s\"), coalesce(sum(trunc(\"%s\")), 0)::BIGINT FROM %s", name,
		         name, table);
	struct totals want = host_totals(con, query), have = column_totals(snapshot, c);
	if (want.count != have.count || want.sum != have.sum)
		fail_msg("column %s: have %lld values, sum %lld; the table has %lld, %lld", name, (long long)have.count,
		         (long long)have.sum, (long long)want.count, (long long)want.sum);
}

/* The structure called name is fresh and holds exactly the table. Returns the number of its columns. */
static uint32_t check(struct world *w, const char *name, const char *table)
{
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, name);
	struct rql_host_con *con = NULL;
	char count[100];
	int64_t rows = 0;
	assert_non_null(s);
	assert_true(rql_structure_fresh(w->db->catalog, s));
	assert_int_equal(s->column_count, s->snapshot->column_count);
	assert_int_equal(rql_host_connect(w->db->host, &con, NULL), RQL_OK);
	snprintf(count, sizeof count, "SELECT count(*) FROM %s", table);
	assert_int_equal(rql_host_query_int(con, count, &rows, NULL), RQL_OK);
	assert_int_equal(s->snapshot->rows, rows);
	for (uint32_t c = 0; c < s->snapshot->column_count; c++)
		check_column(con, s->snapshot, c, table);
	assert_int_equal(rql_store_check(s->snapshot, NULL), RQL_OK);
	rql_host_disconnect(con);
	uint32_t columns = s->column_count;
	rql_structure_release(s);
	return columns;
}

static bool appendable(struct world *w, const char *name)
{
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, name);
	assert_non_null(s);
	bool yes = rql_structure_appendable(w->db->catalog, s);
	rql_structure_release(s);
	return yes;
}

/* The store behind the structure: the same one means that rows were appended, another that it was built. */
static const void *store_of(struct world *w, const char *name)
{
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, name);
	assert_non_null(s);
	const void *store = s->store;
	rql_structure_release(s);
	return store;
}

/* What a RQL_PLAN_REFRESH does. */
static rql_status use(struct rql_session *session, const char *name, struct rql_error *err)
{
	struct rql_structure *s = rql_catalog_find(session->db->catalog, NULL, NULL, name);
	assert_non_null(s);
	rql_status status = rql_structure_make_ready(&session->build, s, err);
	rql_structure_release(s);
	return status;
}

static void used(struct world *w, const char *name)
{
	struct rql_error err = {0};
	if (use(w->s, name, &err) != RQL_OK)
		fail_msg("%s: %s", name, rql_error_message(&err));
}

/* ---- builds and appends ---- */
static void a_build_holds_the_table(void **state)
{
	struct world *w = *state;
	make_table(w->s, "t", 100000);
	sql(w->s, "CREATE INDEX c ON t USING columns (*)");
	assert_int_equal(check(w, "c", "t"), 4);
	sql(w->s, "CREATE TABLE empty (x INTEGER, y VARCHAR)");
	sql(w->s, "CREATE INDEX e ON empty USING columns (y, x)");
	assert_int_equal(check(w, "e", "empty"), 2);
	sql(w->s, "INSERT INTO empty VALUES (1, 'one'), (NULL, NULL)");
	assert_true(appendable(w, "e"));
	used(w, "e");
	check(w, "e", "empty");
}

static void inserts_are_appended(void **state)
{
	static const char *const inserts[] = {
		"INSERT INTO t VALUES (1, 2, 'fresh value, longer than twelve bytes', 0.5)",
		"INSERT INTO t (v) VALUES (NULL), (-5)",
		"insert into main.T SELECT * FROM t WHERE v < 5000",
		"INSERT INTO t BY NAME SELECT 9 AS v, 'q' || r.range AS s FROM range(6000) r",
		"INSERT INTO t VALUES (1, 2, 'returned', 3) RETURNING a",
		"BEGIN; INSERT INTO t VALUES (1, 1, 'x', 1); INSERT INTO t VALUES (2, 2, 'y', 2); COMMIT",
		"BEGIN; INSERT INTO t VALUES (1, 1, 'x', 1); DELETE FROM other; COMMIT",
		"PREPARE i AS INSERT INTO t VALUES (1, 1, 'prepared', $1); EXECUTE i(4)",
		"INSERT INTO t SELECT range % 3, range, 'many', range / 3 FROM range(250000)",
	};
	struct world *w = *state;
	make_table(w->s, "t", 20000);
	make_table(w->s, "other", 10);
	sql(w->s, "CREATE INDEX c ON t USING columns (s, a, d, v)");
	const void *store = store_of(w, "c");
	for (size_t i = 0; i < sizeof inserts / sizeof *inserts; i++) {
		sql(w->s, inserts[i]);
		if (!appendable(w, "c"))
			fail_msg("not appendable after: %s", inserts[i]);
		used(w, "c");
		check(w, "c", "t");
		assert_ptr_equal(store_of(w, "c"), store);
	}
	/* Several statements between two uses, and REFRESH INDEX. */
	sql(w->s, "INSERT INTO t VALUES (1, 2, 'a', 3)");
	sql(w->s, "INSERT INTO t VALUES (1, 2, 'b', 3)");
	sql(w->s, "REFRESH INDEX c");
	check(w, "c", "t");
	assert_ptr_equal(store_of(w, "c"), store);
	/* An up-to-date one is read again. */
	sql(w->s, "REFRESH INDEX c");
	check(w, "c", "t");
	assert_ptr_not_equal(store_of(w, "c"), store);
	/* Rolled back: nothing has moved. */
	sql(w->s, "BEGIN; INSERT INTO t VALUES (1, 2, 'never', 3); ROLLBACK");
	check(w, "c", "t");
}

static void other_writes_are_not(void **state)
{
	static const char *const writes[] = {
		"DELETE FROM t WHERE v = 3 + (random() * 0)::INTEGER",
		"BEGIN; INSERT INTO t VALUES (1, 1, 'x', 1); DELETE FROM t WHERE v = 5 + 0 * random(); COMMIT",
		"INSERT OR REPLACE INTO p BY NAME SELECT 3 AS x, 1 AS k",
		"INSERT INTO p VALUES (1, 4) ON /* words apart */ CONFLICT DO UPDATE SET x = excluded.x WHERE p.x > 0",
		"MERGE INTO p USING (SELECT 1 AS k, 5 AS x) n USING (k) WHEN MATCHED THEN UPDATE SET x = n.x",
		"CREATE OR REPLACE TABLE t AS SELECT 1 AS a, 2::BIGINT AS v, 'x' AS s, 1.5::DOUBLE AS d",
		"PREPARE i AS INSERT OR REPLACE INTO p VALUES (1, 6); EXECUTE i",
		"PREPARE k AS DELETE FROM t WHERE v = 7; EXECUTE k",
	};
	struct world *w = *state;
	struct rql_error err = {0};
	make_table(w->s, "t", 5000);
	sql(w->s, "CREATE TABLE p (k INTEGER PRIMARY KEY, x INTEGER)");
	sql(w->s, "INSERT INTO p VALUES (1, 1)");
	sql(w->s, "CREATE INDEX c ON t USING columns (*)");
	sql(w->s, "CREATE INDEX k ON p USING columns (*)");
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
		const char *name = strstr(writes[i], " p ") ? "k" : "c";
		sql(w->s, writes[i]);
		if (appendable(w, name))
			fail_msg("appendable after: %s", writes[i]);
		/* By a query it is left as it is, as refresh = manual says. */
		assert_int_equal(use(w->s, name, &err), RQL_ERROR_STALE);
		assert_non_null(strstr(rql_error_message(&err), "REFRESH INDEX rebuilds it"));
		sql(w->s, "REFRESH INDEX c");
		sql(w->s, "REFRESH INDEX k");
		check(w, "c", "t");
		check(w, "k", "p");
	}
	rql_error_clear(&err);
	sql(w->s, "CREATE OR REPLACE INDEX c ON t USING columns (a, s) WITH (refresh = auto)");
	sql(w->s, "UPDATE t SET a = a + 1");
	used(w, "c");
	assert_int_equal(check(w, "c", "t"), 2);
}

/* ---- DELETE and UPDATE ---- */
static void takes_over(struct world *w, const char *write, const void *store)
{
	sql(w->s, write);
	if (!appendable(w, "c"))
		fail_msg("not followed: %s", write);
	used(w, "c");
	check(w, "c", "t");
	assert_ptr_equal(store_of(w, "c"), store);
}

static void changes_are_followed(void **state)
{
	static const char *const writes[] = {
		"DELETE FROM t WHERE v = 3",
		"delete from \"T\" where v between 4 and 40 -- some",
		"UPDATE t SET a = NULL, s = 'fresh value, longer than twelve bytes' || v, d = -d WHERE v % 100 = 7;",
		"UPDATE t SET s = NULL WHERE (a = 3 OR s LIKE 'w9%') AND v NOT IN (7, 8, 9)",
		"DELETE FROM t WHERE v > 19990", /* the last ones */
		"INSERT INTO t SELECT range % 3, range, 'many', range / 3 FROM range(6000)",
		"UPDATE t SET v = (SELECT max(v) FROM t) WHERE s = 'many' AND v < 100",
		"DELETE FROM t WHERE v = 123456789", /* none */
		"DELETE FROM t WHERE s = 'many'",
	};
	struct world *w = *state;
	make_table(w->s, "t", 20000);
	sql(w->s, "CREATE INDEX c ON t USING columns (s, a, d, v)");
	const void *store = store_of(w, "c");
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
		takes_over(w, writes[i], store);
	/* Several before a use: changed, added, changed again and gone. */
	sql(w->s, "UPDATE t SET a = 5 WHERE v < 1000; INSERT INTO t VALUES (1, -1, 'x', 1), (2, -2, 'y', 2); "
	          "DELETE FROM t WHERE v = -2; UPDATE t SET s = 'z' WHERE v < 500; DELETE FROM t WHERE v < 300");
	takes_over(w, "INSERT INTO t VALUES (1, -3, 'x', 1)", store);
	/* One that fails has changed nothing. */
	struct rql_error err = {0};
	assert_int_not_equal(rql_session_query(w->s, "UPDATE t SET a = (v || 'x')::INTEGER WHERE v = 5001", NULL, &err), RQL_OK);
	rql_error_clear(&err);
	assert_false(rql_session_in_transaction(w->s));
	takes_over(w, "UPDATE t SET a = 6 WHERE v = 5001", store);
	sql(w->s, "UPDATE t SET a = 1 WHERE v > 2000"); /* most of it */
	assert_false(appendable(w, "c"));
	/* A table in which ids were free before it was read. */
	sql(w->s, "REFRESH INDEX c");
	store = store_of(w, "c");
	takes_over(w, "DELETE FROM t WHERE v > 2000", store);
	takes_over(w, "UPDATE t SET a = 77, s = NULL WHERE v % 5 = 0", store);
	takes_over(w, "DELETE FROM t WHERE v % 7 = 0", store);
	takes_over(w, "TRUNCATE TABLE t", store);
	takes_over(w, "INSERT INTO t VALUES (1, 5, 'x', 1)", store);
	takes_over(w, "DELETE FROM t", store);
	takes_over(w, "INSERT INTO t SELECT range % 3, range, 'many', range / 3 FROM range(3000)", store);
	takes_over(w, "DELETE FROM t WHERE v IN (SELECT v FROM t WHERE v % 11 = 3)", store);
}

static void leaves_stale(struct world *w, const char *write)
{
	sql(w->s, write);
	if (appendable(w, "k"))
		fail_msg("followed: %s", write);
	sql(w->s, "REFRESH INDEX k");
	check(w, "k", "p");
}

static void what_is_not_followed(void **state)
{
	struct world *w = *state;
	sql(w->s, "CREATE TABLE p AS SELECT i::INTEGER k, i x, [i] l FROM range(100) r(i)");
	sql(w->s, "CREATE VIEW x AS SELECT (random() * 100)::INTEGER FROM range(20)");
	sql(w->s, "CREATE INDEX k ON p USING columns (k, x)");
	/* These may say something else when they are asked twice. */
	leaves_stale(w, "UPDATE p SET x = -1 WHERE k IN (FROM x)");
	leaves_stale(w, "DELETE FROM p WHERE random() < 0.1");
	sql(w->s, "CREATE MACRO \"%\"(x, y) AS (random() * 4)::INTEGER");
	leaves_stale(w, "UPDATE p SET x = -2 WHERE x % 5 = 3");
	sql(w->s, "DROP MACRO \"%\"; UPDATE p SET x = -3 WHERE x % 5 = 3 OR x IS NOT DISTINCT FROM 4");
	assert_true(appendable(w, "k"));
	used(w, "k");
	check(w, "k", "p");
}

/* ---- databases on disk ---- */
static char folder[64], file[80];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/rayql-columns-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof file, "%s/t.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char command[120];
	(void)state;
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

static void grow(const char *name, off_t bytes)
{
	FILE *f = fopen(name, "a");
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), bytes), 0);
	fclose(f);
}

/* Somebody writes to it between DuckDB's closing and the manifest: the contents go, and the manifest says why. */
static void a_database_that_changes_while_it_is_closed(void **state)
{
	static char name[] = "0123456789abcdef0123456789abcdef.cube", schema[] = "main", view[] = "a view", hash[] = "0";
	struct rql_side side;
	char contents[160];
	(void)state;
	grow(file, 20000);
	FILE *f = fopen(file, "r");
	assert_non_null(f);
	assert_int_equal(rql_side_open(file, fileno(f), false, &side, NULL), RQL_OK);
	assert_int_equal(rql_side_folder(&side, true, NULL), RQL_OK);
	assert_int_equal(rql_side_key(true, &side.key, NULL), RQL_OK);
	side.has_key = true;
	snprintf(contents, sizeof contents, "%s.rayql/%s", file, name);
	grow(contents, 1);
	assert_true(rql_side_stamp(&side, name));
	rql_side_seal(&side, NULL);
	grow(file, 30000);
	struct rql_side_entry entry = {schema, view, name, hash, NULL};
	rql_side_close(&side, &entry, 1);
	rql_side_free(&side);
	assert_int_equal(rql_side_open(file, fileno(f), false, &side, NULL), RQL_OK);
	const struct rql_side_entry *e = rql_side_find(&side, schema, view);
	assert_non_null(e);
	assert_null(e->file);
	assert_string_equal(e->why, "the database file changed while it was being closed");
	assert_int_equal(access(contents, F_OK), -1);
	rql_side_free(&side);
	fclose(f);
}

/* What is kept over openings is a line: DuckDB's fatal errors have several, and a trace of its functions behind them. */
static void a_failed_checkpoint_is_said_in_a_line(void **state)
{
	struct rql_side side;
	(void)state;
	grow(file, 20000);
	FILE *f = fopen(file, "r");
	assert_non_null(f);
	assert_int_equal(rql_side_open(file, fileno(f), false, &side, NULL), RQL_OK);
	rql_side_seal(&side, "FATAL Error: it failed\nOriginal error: \"disk full\"\n\nStack Trace:\n\nduckdb::f() + 12\n");
	assert_string_equal(side.unsealed, "CHECKPOINT failed: FATAL Error: it failed Original error: \"disk full\"");
	rql_side_free(&side);
	fclose(f);
}

/* DuckDB moves rows at checkpoints when whole row groups were deleted before the build. */
static void moved_rowids_are_noticed(void **state)
{
	struct world w = {0};
	(void)state;
	open_at(&w, file);
	make_table(w.s, "t", 500000);
	sql(w.s, "CHECKPOINT");
	sql(w.s, "DELETE FROM t WHERE v < 400000");
	sql(w.s, "CREATE INDEX c ON t USING columns (*)");
	sql(w.s, "CHECKPOINT");
	sql(w.s, "INSERT INTO t SELECT 1, range, 'new', 1 FROM range(1000)");
	sql(w.s, "CHECKPOINT");
	used(&w, "c");
	check(&w, "c", "t");
	sql(w.s, "INSERT INTO t SELECT 2, range, 'newer', 1 FROM range(450000)");
	used(&w, "c");
	check(&w, "c", "t");
	close_world(&w);
}

/* A checkpoint gives rows the ids of deleted ones. Ids of later changes mean other rows then, which must be noticed. */
static void moved_rowids_are_not_followed(void **state)
{
	struct world w;
	struct rql_error err = {0};
	(void)state;
	open_at(&w, file);
	make_table(w.s, "t", 600000);
	sql(w.s, "CREATE INDEX c ON t USING columns (a, v, s)");
	sql(w.s, "DELETE FROM t WHERE v < 130000");
	used(&w, "c");
	check(&w, "c", "t");
	sql(w.s, "CHECKPOINT");
	/* The test's premise: rows did move. */
	assert_int_equal(host_totals(w.s->host, "SELECT max(rowid), 0 FROM t").count < 599999, true);
	sql(w.s, "DELETE FROM t WHERE v = 200000");
	assert_true(appendable(&w, "c"));
	assert_int_equal(use(w.s, "c", &err), RQL_ERROR_STALE);
	assert_non_null(strstr(rql_error_message(&err), "REFRESH INDEX rebuilds it"));
	rql_error_clear(&err);
	assert_false(appendable(&w, "c"));
	sql(w.s, "UPDATE t SET a = 9 WHERE v = 300000"); /* nobody follows any more */
	assert_false(appendable(&w, "c"));
	sql(w.s, "REFRESH INDEX c");
	check(&w, "c", "t");
	close_world(&w);
}

static void reopen(struct world *w)
{
	close_world(w);
	open_at(w, file);
}

/* The note of the structure holds text. */
static void says(struct world *w, const char *name, const char *text)
{
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, name);
	assert_non_null(s);
	if (!s->note || !strstr(s->note, text))
		fail_msg("the note is: %s\nwanted: %s", s->note ? s->note : "(none)", text);
	rql_structure_release(s);
}

/* How many .columns files there are; out: the path of the last. */
static int side_files(char out[200])
{
	char command[160];
	int n = 0;
	snprintf(command, sizeof command, "ls %s.rayql/*.columns 2>/dev/null", file);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	while (fgets(out, 200, f)) {
		out[strcspn(out, "\n")] = 0;
		n++;
	}
	pclose(f);
	return n;
}

static void side_files_are_used(void **state)
{
	struct world w = {0};
	char name[200], later[200];
	(void)state;
	open_at(&w, file);
	make_table(w.s, "t", 30000);
	sql(w.s, "CREATE INDEX c ON t USING columns (*)");
	reopen(&w);
	assert_int_equal(side_files(name), 1);
	/* Bound without being read: what a planner wants to know. */
	struct rql_structure *s = rql_catalog_find(w.db->catalog, NULL, NULL, "c");
	struct rql_structure *bound = rql_structure_bound(&w.s->build, s);
	assert_int_equal(bound->state, RQL_STATE_UNBUILT);
	assert_int_equal(bound->table_count, 1);
	assert_int_equal(bound->column_count, 4);
	assert_int_equal(bound->column_ids[3], 3);
	rql_structure_release(bound);
	rql_structure_release(s);
	used(&w, "c");
	check(&w, "c", "t");
	says(&w, "c", "read from its side file");
	/* Rows can be appended to what was read. */
	sql(w.s, "INSERT INTO t SELECT 1, range, 'behind the file', 1 FROM range(5000)");
	assert_true(appendable(&w, "c"));
	const void *store = store_of(&w, "c");
	used(&w, "c");
	check(&w, "c", "t");
	assert_ptr_equal(store_of(&w, "c"), store);
	/* The file is written anew when the database is closed. */
	reopen(&w);
	assert_int_equal(side_files(later), 1);
	assert_string_not_equal(name, later);
	used(&w, "c");
	check(&w, "c", "t");
	says(&w, "c", "read from its side file");
	/* Not asked for: kept. Stale at the end: not. */
	reopen(&w);
	reopen(&w);
	assert_int_equal(side_files(name), 1);
	assert_string_equal(name, later);
	sql(w.s, "INSERT INTO t VALUES (1, 1, 'x', 1)");
	reopen(&w);
	assert_int_equal(side_files(name), 0);
	used(&w, "c");
	check(&w, "c", "t");
	sql(w.s, "DROP INDEX c");
	reopen(&w);
	assert_int_equal(side_files(name), 0);
	assert_int_equal(rql_catalog_structure_count(w.db->catalog), 0);
	close_world(&w);
}

static void damaged_side_files_are_not(void **state)
{
	struct world w = {0};
	char name[200];
	(void)state;
	open_at(&w, file);
	make_table(w.s, "t", 30000);
	sql(w.s, "CREATE INDEX c ON t USING columns (*)");
	for (int i = 0; i < 6; i++) {
		close_world(&w);
		assert_int_equal(side_files(name), 1);
		FILE *f = fopen(name, "r+");
		assert_non_null(f);
		fseek(f, 0, SEEK_END);
		long size = ftell(f), at = i < 4 ? size * i / 4 + 5 : size / 2;
		if (i < 4) {
			fseek(f, at, SEEK_SET);
			int c = fgetc(f);
			fseek(f, at, SEEK_SET);
			fputc(c ^ 1, f);
		}
		fclose(f);
		if (i == 4)
			assert_int_equal(truncate(name, size / 2), 0);
		if (i == 5)
			assert_int_equal(unlink(name), 0);
		open_at(&w, file);
		used(&w, "c");
		check(&w, "c", "t");
		struct rql_structure *s = rql_catalog_find(w.db->catalog, NULL, NULL, "c");
		if (s->note && strstr(s->note, "read from"))
			fail_msg("damage %d was not noticed", i);
		rql_structure_release(s);
	}
	close_world(&w);
}

/* The snapshot's rows are the table's, in its order; v tells. */
static void check_order(struct world *w, const char *name, const char *table)
{
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, name);
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_PORTABLE);
	struct rql_host_con *con = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	int64_t values[RQL_STORE_BLOCK];
	uint64_t at = 0;
	char text[100];
	snprintf(text, sizeof text, "SELECT v FROM %s ORDER BY rowid", table);
	assert_true(s->snapshot->ordered);
	assert_int_equal(rql_host_connect(w->db->host, &con, NULL), RQL_OK);
	assert_int_equal(rql_host_query(con, text, &res, NULL), RQL_OK);
	for (uint64_t b = 0; b < s->snapshot->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(s->snapshot, b);
		uint32_t block = (uint32_t)(b - segment->first_block), rows = segment->columns[1].blocks[block].rows;
		rql_store_decode_int64(k, &segment->columns[1], block, 0, rows, values);
		for (uint32_t r = 0; r < rows; r++, at++) {
			if (!batch || at == batch->rows) {
				rql_batch_release(batch);
				batch = NULL;
				assert_int_equal(rql_host_fetch(res, &batch, NULL), RQL_OK);
				assert_non_null(batch);
				at = 0;
			}
			assert_int_equal(rql_column_get(&batch->columns[0], at).integer, values[r]);
		}
	}
	rql_batch_release(batch);
	rql_host_result_free(res);
	rql_host_disconnect(con);
	rql_structure_release(s);
}

/* Builds by several threads, and rows that are appended, whatever order DuckDB delivers them in. */
static void rows_stand_as_in_the_table(void **state)
{
	struct world *w = *state;
	sql(w->s, "SET threads = 4");
	make_table(w->s, "t", 700000);
	sql(w->s, "DELETE FROM t WHERE v % 13 = 5 OR v BETWEEN 130000 AND 260000");
	sql(w->s, "CREATE INDEX c ON t USING columns (a, v, s, d)");
	check(w, "c", "t");
	check_order(w, "c", "t");
	for (int i = 0; i < 3; i++) {
		if (i == 2) /* then it may be built again */
			sql(w->s, "SET preserve_insertion_order = false");
		sql(w->s, "INSERT INTO t SELECT 1, -i, 'new ' || (i % 7), NULL FROM range(150000) r(i)");
		assert_true(appendable(w, "c"));
		used(w, "c");
		check(w, "c", "t");
		check_order(w, "c", "t");
		struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, "c");
		assert_true(i == 2 || (s->note && strstr(s->note, "150000 added rows were appended")));
		rql_structure_release(s);
	}
}

/* A column called rowid hides DuckDB's: then there is no telling what is new. */
static void a_column_called_rowid(void **state)
{
	struct world *w = *state;
	sql(w->s, "CREATE TABLE t AS SELECT range AS RowId, range % 3 AS x FROM range(1000)");
	sql(w->s, "CREATE INDEX c ON t USING columns (*)");
	check(w, "c", "t");
	sql(w->s, "INSERT INTO t VALUES (-1, 1)");
	assert_false(appendable(w, "c"));
	sql(w->s, "REFRESH INDEX c");
	check(w, "c", "t");
}

/* An append that fails half-way leaves rows in the store that no structure has. */
static void a_failed_append_is_not_built_upon(void **state)
{
	struct world *w = *state;
	make_table(w->s, "t", 5000);
	sql(w->s, "CREATE INDEX c ON t USING columns (*)");
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, "c");
	struct rql_host_con *con = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	assert_int_equal(rql_host_connect(w->db->host, &con, NULL), RQL_OK);
	assert_int_equal(rql_host_query(con, "SELECT a, v, s, d FROM t LIMIT 10", &res, NULL), RQL_OK);
	assert_int_equal(rql_host_fetch(res, &batch, NULL), RQL_OK);
	assert_int_equal(rql_store_append(s->store, batch, NULL), RQL_OK);
	rql_batch_release(batch);
	rql_host_result_free(res);
	rql_host_disconnect(con);
	rql_structure_release(s);
	check(w, "c", "t"); /* the structure has its own snapshot */
	sql(w->s, "INSERT INTO t VALUES (1, 1, 'x', 1)");
	used(w, "c");
	check(w, "c", "t");
}

static void a_small_budget(void **state)
{
	struct world *w = *state;
	struct rql_error err = {0};
	make_table(w->s, "t", 200000);
	sql(w->s, "SET rayql_memory_limit = '64KB'");
	assert_int_equal(rql_session_query(w->s, "CREATE INDEX c ON t USING columns (*)", NULL, &err), RQL_ERROR_LIMIT);
	assert_non_null(strstr(rql_error_message(&err), "building columns c"));
	rql_error_clear(&err);
	assert_int_equal(rql_catalog_structure_count(w->db->catalog), 0);
	assert_int_equal(atomic_load(&w->db->budget.used), 0);
	sql(w->s, "SET rayql_memory_limit = '64MB'");
	sql(w->s, "CREATE INDEX c ON t USING columns (*)");
	check(w, "c", "t");
	/* No room for what is added: built again, which has no room either, and says so. */
	sql(w->s, "SET rayql_memory_limit = '64KB'");
	sql(w->s, "INSERT INTO t SELECT 1, range, 'v' || range, 1 FROM range(50000)");
	assert_int_equal(use(w->s, "c", &err), RQL_ERROR_LIMIT);
	rql_error_clear(&err);
	assert_int_equal(atomic_load(&w->db->budget.used), 0);
	sql(w->s, "SET rayql_memory_limit = '64MB'");
	sql(w->s, "REFRESH INDEX c");
	check(w, "c", "t");
	sql(w->s, "DROP INDEX c");
	assert_int_equal(atomic_load(&w->db->budget.used), 0);
}

/* ---- rayql_auto_columns ---- */
static rql_status load(struct rql_session *s, const char *table, uint32_t count, const char *const *names,
                       struct rql_error *err)
{
	char *database = NULL;
	assert_int_equal(rql_host_query_text(s->host, "SELECT current_database()", &database, NULL), RQL_OK);
	uint32_t ids[8] = {0};
	struct rql_plan_load wanted = {.table = {.catalog = database, .schema = "main", .table = table},
	                               .column_count = count,
	                               .column_ids = ids,
	                               .column_names = names};
	rql_status status = rql_session_load(s, &wanted, err);
	free(database);
	return status;
}

static void loaded(struct world *w, const char *table, uint32_t count, const char *const *names)
{
	struct rql_error err = {0};
	if (load(w->s, table, count, names, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
}

static bool is_there(struct world *w, const char *name)
{
	struct rql_structure *s = rql_catalog_find(w->db->catalog, NULL, NULL, name);
	rql_structure_release(s);
	return s != NULL;
}

static void columns_are_loaded(void **state)
{
	static const char *const a[] = {"a", "v"}, *const b[] = {"v", "s"}, *const bad[] = {"l"};
	struct world *w = *state;
	struct rql_error err = {0};
	make_table(w->s, "t", 50000);
	sql(w->s, "ALTER TABLE t ADD COLUMN l INTEGER[]");
	loaded(w, "t", 2, a);
	assert_int_equal(check(w, "auto columns of t", "t"), 2);
	loaded(w, "t", 2, b);
	assert_int_equal(check(w, "auto columns of t", "t"), 3);
	/* Nothing of it is in the database. */
	int64_t tables = -1;
	assert_int_equal(rql_host_query_int(w->s->host, "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'rayql'",
	                                    &tables, NULL),
	                 RQL_OK);
	assert_int_equal(tables, 0);
	sql(w->s, "DELETE FROM t WHERE v < 100");
	used(w, "auto columns of t"); /* refresh = auto */
	check(w, "auto columns of t", "t");
	sql(w->s, "INSERT INTO t (v) VALUES (1)");
	used(w, "auto columns of t");
	check(w, "auto columns of t", "t");
	assert_int_equal(load(w->s, "t", 1, bad, &err), RQL_ERROR_STATEMENT);
	assert_non_null(strstr(rql_error_message(&err), "INTEGER[]"));
	sql(w->s, "BEGIN");
	assert_int_equal(load(w->s, "t", 2, a, &err), RQL_ERROR_STALE);
	sql(w->s, "COMMIT");
	rql_error_clear(&err);
	/* A column that goes takes them along; the next load starts anew. */
	sql(w->s, "ALTER TABLE t RENAME COLUMN s TO z");
	assert_false(is_there(w, "auto columns of t"));
	loaded(w, "t", 2, a);
	sql(w->s, "DROP INDEX \"auto columns of t\"");
	assert_false(is_there(w, "auto columns of t"));
	loaded(w, "t", 2, a);
	sql(w->s, "DROP TABLE t");
	assert_false(is_there(w, "auto columns of t"));
}

static const char *const all[] = {"a", "v", "s", "d"};

/* Tables t0..t4 of the same size, the columns of t0 loaded. each: what they take; peak: what loading them passes through. */
static void load_first(struct world *w, uint64_t *each, uint64_t *peak)
{
	char text[20];
	sql(w->s, "SET threads = 1"); /* a build passes through the same memory each time */
	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "t%d", i);
		make_table(w->s, text, 200000);
	}
	uint64_t usual = atomic_load(&w->db->budget.limit);
	*peak = 0;
	do
		atomic_store(&w->db->budget.limit, *peak += 1 << 20);
	while (load(w->s, "t0", 4, all, NULL) == RQL_ERROR_LIMIT);
	atomic_store(&w->db->budget.limit, usual);
	*each = atomic_load(&w->db->budget.used);
}

static void the_least_recently_used_goes_first(void **state)
{
	struct world *w = *state;
	uint64_t each, peak;
	load_first(w, &each, &peak);
	loaded(w, "t1", 4, all);
	loaded(w, "t2", 4, all);
	loaded(w, "t3", 4, all);
	struct rql_structure *first = rql_catalog_find(w->db->catalog, NULL, NULL, "auto columns of t0");
	atomic_store(&first->used, rql_now_ns()); /* as a plan's run does */
	rql_structure_release(first);
	atomic_store(&w->db->budget.limit, each * 3 + peak);
	loaded(w, "t4", 4, all);
	assert_false(is_there(w, "auto columns of t1"));
	assert_true(is_there(w, "auto columns of t0"));
	check(w, "auto columns of t4", "t4");
}

static void what_is_created_goes_before(void **state)
{
	struct world *w = *state;
	struct rql_error err = {0};
	uint64_t each, peak;
	load_first(w, &each, &peak);
	loaded(w, "t1", 4, all);
	loaded(w, "t2", 4, all);
	loaded(w, "t3", 4, all);
	atomic_store(&w->db->budget.limit, each * 3 + peak);
	sql(w->s, "CREATE INDEX c ON t3 USING columns (*)");
	check(w, "c", "t3");
	assert_false(is_there(w, "auto columns of t0"));
	assert_true(is_there(w, "auto columns of t3"));
	/* And is never given up for them. */
	atomic_store(&w->db->budget.limit, atomic_load(&w->db->budget.used));
	assert_int_equal(load(w->s, "t0", 4, all, &err), RQL_ERROR_LIMIT);
	rql_error_clear(&err);
	assert_false(is_there(w, "auto columns of t3"));
	check(w, "c", "t3");
}

/* A load that failed is not tried again before something has changed: reading would set the progress back to 0. */
static void a_failed_load_is_remembered(void **state)
{
	static const char *const one[] = {"a"};
	struct world *w = *state;
	struct rql_error err = {0};
	uint64_t each, peak, usual = atomic_load(&w->db->budget.limit);
	load_first(w, &each, &peak);
	atomic_store(&w->db->budget.limit, each / 2);
	assert_int_equal(load(w->s, "t1", 4, all, &err), RQL_ERROR_LIMIT);
	assert_false(is_there(w, "auto columns of t1"));
	char *message = strdup(rql_error_message(&err));
	atomic_store(&w->s->progress.total_rows, 123);
	assert_int_equal(load(w->s, "t1", 4, all, &err), RQL_ERROR_LIMIT);
	assert_string_equal(rql_error_message(&err), message);
	assert_int_equal(atomic_load(&w->s->progress.total_rows), 123);
	free(message);
	sql(w->s, "INSERT INTO t1 (a) VALUES (1)");
	assert_int_equal(load(w->s, "t1", 4, all, &err), RQL_ERROR_LIMIT);
	assert_int_not_equal(atomic_load(&w->s->progress.total_rows), 123);
	rql_error_clear(&err);
	/* Fewer columns are another load. */
	loaded(w, "t1", 1, one);
	check(w, "auto columns of t1", "t1");
	atomic_store(&w->db->budget.limit, usual);
	loaded(w, "t1", 4, all);
	assert_int_equal(check(w, "auto columns of t1", "t1"), 4);
}

/* ---- several connections ---- */
#ifdef __SANITIZE_THREAD__
#define WRITES 20
#else
#define WRITES 60
#endif
struct race {
	struct world *w;
	_Atomic bool stop;
	_Atomic uint64_t appends, wrong;
};

/* Batches of three rows whose v sum up to 0. */
static void *write_batches(void *arg)
{
	struct race *race = arg;
	struct rql_session *s = NULL;
	if (rql_session_open(race->w->db, &s, NULL) != RQL_OK)
		abort();
	for (int n = 1; n <= WRITES; n++) {
		char text[200];
		const char *form =
			n % 3 == 0    ? "BEGIN; INSERT INTO t VALUES ('a', %d); INSERT INTO t VALUES ('b%d', 0), ('c', -%d); COMMIT"
			: n % 10 == 7 ? "UPDATE t SET v = v + %d - %d + 0 * %d"
						  : "INSERT INTO t VALUES ('a', %d), ('b%d', 0), ('c', -%d)";
		snprintf(text, sizeof text, form, n, n, n);
		if (rql_session_query(s, text, NULL, NULL) != RQL_OK)
			atomic_fetch_add(&race->wrong, 1);
	}
	atomic_store(&race->stop, true);
	rql_session_close(s);
	return NULL;
}

/* Every state of the structure is one that the table had: whole batches. */
static void *read_states(void *arg)
{
	struct race *race = arg;
	struct rql_session *s = NULL;
	uint64_t seen = 0;
	if (rql_session_open(race->w->db, &s, NULL) != RQL_OK)
		abort();
	while (!atomic_load(&race->stop)) {
		struct rql_structure *c = rql_catalog_find(race->w->db->catalog, NULL, NULL, "c");
		struct rql_error err = {0};
		rql_status status = rql_structure_make_ready(&s->build, c, &err);
		if (status == RQL_OK)
			atomic_fetch_add(&race->appends, 1);
		else if (status != RQL_ERROR_STALE)
			atomic_fetch_add(&race->wrong, 1);
		rql_error_clear(&err);
		rql_structure_release(c);
		c = rql_catalog_find(race->w->db->catalog, NULL, NULL, "c");
		if (c->snapshot) {
			struct totals v = column_totals(c->snapshot, 1);
			if (v.sum != 0 || v.count % 3 != 0 || c->snapshot->rows < seen)
				atomic_fetch_add(&race->wrong, 1);
			seen = c->snapshot->rows;
		}
		rql_structure_release(c);
	}
	rql_session_close(s);
	return NULL;
}

static void readers_and_a_writer(void **state)
{
	struct world *w = *state;
	struct race race = {.w = w};
	pthread_t threads[3];
	sql(w->s, "CREATE TABLE t (g VARCHAR, v INTEGER)");
	sql(w->s, "CREATE INDEX c ON t USING columns (g, v) WITH (refresh = auto)");
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i ? read_states : write_batches, &race), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&race.wrong), 0);
	used(w, "c");
	check(w, "c", "t");
	assert_true(atomic_load(&race.appends) > 0);
}

int main(void)
{
	static const struct CMUnitTest threads[] = {
		cmocka_unit_test_setup_teardown(a_build_holds_the_table, setup, teardown),
		cmocka_unit_test_setup_teardown(inserts_are_appended, setup, teardown),
		cmocka_unit_test_setup_teardown(columns_are_loaded, setup, teardown),
		cmocka_unit_test_setup_teardown(readers_and_a_writer, setup, teardown),
	};
	static const struct CMUnitTest statements[] = {
		cmocka_unit_test_setup_teardown(other_writes_are_not, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_are_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(moved_rowids_are_not_followed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_database_that_changes_while_it_is_closed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_failed_checkpoint_is_said_in_a_line, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(moved_rowids_are_noticed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(side_files_are_used, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(damaged_side_files_are_not, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(rows_stand_as_in_the_table, setup, teardown),
		cmocka_unit_test_setup_teardown(a_column_called_rowid, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_append_is_not_built_upon, setup, teardown),
		cmocka_unit_test_setup_teardown(a_small_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(the_least_recently_used_goes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_created_goes_before, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_load_is_remembered, setup, teardown),
	};
#ifdef __SANITIZE_THREAD__ /* one statement after the other: builds and loads by all threads are among those above */
	const int failed = 0 * (int)sizeof statements;
#else
	const int failed = cmocka_run_group_tests(statements, NULL, NULL);
#endif
	return failed + cmocka_run_group_tests(threads, NULL, NULL);
}
