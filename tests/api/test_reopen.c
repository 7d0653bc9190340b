/* Structures across sessions: definitions in the database, contents in the side folder, and everything that may be
 * wrong with it. */
#include "role.h"

#include <dirent.h>
#include <sys/stat.h>

#define STATE "SELECT name, state FROM rayql_structures() ORDER BY name"
#define SUMS "SELECT g, sum(v), count(*) FROM t GROUP BY g ORDER BY g"

static char path[256], folder[272];

static int fresh_database(void **state)
{
	static int number;
	char name[32];
	(void)state;
	snprintf(name, sizeof name, "db%d.db", ++number);
	scratch_path(path, name);
	snprintf(folder, sizeof folder, "%s.rayql", path);
	struct session s = open_session(path, NULL);
	make_table(s.con, "t", 10000);
	run(s.con, "CREATE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT g, a, sum(v), count(*) FROM t GROUP BY g, a");
	close_session(&s);
	return 0;
}

/* Opens, asks, and checks who answered, that it is right, and what the structure says about its origin. */
static void ask(const char *state_before, const char *reason)
{
	struct session s = open_session(path, NULL);
	char *want = rows_of(
		s.con, "SELECT g, sum(v), count(*) FROM (SELECT g, v FROM t LIMIT 10000000) GROUP BY g ORDER BY g", NULL);
	expect(s.con, STATE, NULL, state_before);
	expect(s.con, SUMS, "cube", want);
	char *have = rows_of(s.con, "SELECT coalesce(reason, 'built') FROM rayql_structures()", NULL);
	if (!strstr(have, reason))
		fail_msg("reason: %s\nwanted: %s", have, reason);
	free(have);
	free(want);
	close_session(&s);
}

static int count_files(const char *suffix)
{
	DIR *dir = opendir(folder);
	int n = 0;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t length = strlen(e->d_name), s = strlen(suffix);
		n += length > s && strcmp(e->d_name + length - s, suffix) == 0;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void cube_path(char *out, size_t size)
{
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	*out = 0;
	for (struct dirent *e; (e = readdir(dir));)
		if (strstr(e->d_name, ".cube"))
			snprintf(out, size, "%s/%s", folder, e->d_name);
	closedir(dir);
	assert_int_not_equal(*out, 0);
}

static void flip(const char *file, long at)
{
	FILE *f = fopen(file, "r+");
	assert_non_null(f);
	fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
	int c = fgetc(f);
	fseek(f, -1, SEEK_CUR);
	fputc(c ^ 1, f);
	fclose(f);
}

static void the_side_file_is_used(void **state)
{
	(void)state;
	assert_int_equal(count_files(".cube"), 1);
	ask("v|unbuilt\n", "read from its side file");
	ask("v|unbuilt\n", "read from its side file");
	assert_int_equal(count_files(".cube"), 1);
}

static void a_session_that_never_asks_keeps_it(void **state)
{
	(void)state;
	struct session s = open_session(path, NULL);
	close_session(&s);
	s = open_session(path, NULL);
	run(s.con, "CREATE TABLE other AS SELECT 1 AS x");
	close_session(&s);
	ask("v|unbuilt\n", "read from its side file");
}

static void without_it_the_contents_are_rebuilt(void **state)
{
	char command[300];
	(void)state;
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	assert_int_equal(system(command), 0);
	ask("v|unbuilt\n", "built");
	assert_int_equal(count_files(".cube"), 1);
	ask("v|unbuilt\n", "read from its side file");
}

static void stale_contents_are_not_kept(void **state)
{
	(void)state;
	struct session s = open_session(path, NULL);
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 1)");
	close_session(&s);
	assert_int_equal(count_files(".cube"), 0);
	assert_int_equal(access(folder, F_OK), -1); /* nothing left in it */
	ask("v|unbuilt\n", "built");
	/* A write after the structure was read from its file makes it stale as ever. */
	s = open_session(path, NULL);
	expect(s.con, SUMS, "cube", NULL);
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 1)");
	expect(s.con, STATE, NULL, "v|stale\n");
	expect(s.con, SUMS, "host", NULL);
	close_session(&s);
	/* A write before it is asked for, too. */
	ask("v|unbuilt\n", "built");
	s = open_session(path, NULL);
	run(s.con, "DELETE FROM t WHERE a = 1");
	char *want = rows_of(s.con, "SELECT sum(v) FROM (SELECT v FROM t LIMIT 1000000)", NULL);
	expect(s.con, "SELECT sum(v) FROM t", "cube", want);
	expect(s.con, "SELECT reason FROM rayql_structures()", NULL, "NULL\n"); /* built, not read */
	free(want);
	close_session(&s);
}

static void damage_is_noticed(void **state)
{
	char file[600], manifest[300];
	struct stat st;
	(void)state;
	left_to_duckdb1();
	snprintf(manifest, sizeof manifest, "%s/manifest", folder);
	cube_path(file, sizeof file);
	assert_int_equal(stat(file, &st), 0);
	for (int i = 0; i < 3; i++) { /* the head, the contents, the end */
		long at = i < 2 ? st.st_size * i / 2 + 1 : st.st_size - 1;
		cube_path(file, sizeof file);
		flip(file, at);
		struct session s = open_session(path, NULL);
		char *want = rows_of(
			s.con, "SELECT g, sum(v), count(*) FROM (SELECT g, v FROM t LIMIT 1000000) GROUP BY g ORDER BY g", NULL);
		expect(s.con, SUMS, "cube", want);
		/* Rebuilt, unless the flipped bit was padding that no checksum needs to cover. */
		expect(s.con, "SELECT state FROM rayql_structures()", NULL, "ready\n");
		free(want);
		close_session(&s);
	}
	cube_path(file, sizeof file);
	assert_int_equal(truncate(file, st.st_size / 2), 0);
	struct session s = open_session(path, NULL);
	expect(s.con, SUMS, "cube", NULL);
	close_session(&s);
	ask("v|unbuilt\n", "read from its side file");
	flip(manifest, 30);
	ask("v|unbuilt\n", "built");
	flip(manifest, -3);
	ask("v|unbuilt\n", "built");
	static const char *const heads[][2] = {{"rayql-manifest 99\n", "%another version%"}, {"nonsense\n", "%damaged%"}};
	FILE *f;
	for (int i = 0; i < 2; i++) {
		f = fopen(manifest, "w");
		fputs(heads[i][0], f);
		fclose(f);
		s = open_session(path, NULL);
		char sql[100];
		snprintf(sql, sizeof sql, "SELECT reason LIKE '%s' FROM rayql_structures()", heads[i][1]);
		expect(s.con, sql, NULL, "true\n");
		close_session(&s);
		ask("v|unbuilt\n", "built"); /* the unreadable manifest went at the close, with its files */
	}
	/* A file of the right name that is another's. */
	cube_path(file, sizeof file);
	f = fopen(file, "w");
	fputs("nonsense", f);
	fclose(f);
	s = open_session(path, NULL);
	expect(s.con, SUMS, "cube", NULL);
	close_session(&s);
}

/* What DuckDB alone did to the file in between: here through a connection of ours that RayQL does not see as a writer
 * is not possible, so
 * the child process dies after a checkpoint, before the manifest could be written. */
static int inserts_and_dies(const char *file)
{
	struct session s = open_session(file, NULL);
	run(s.con, "SELECT g, sum(v) FROM t GROUP BY g; INSERT INTO t VALUES (1, 'dead', 1)");
	_exit(0);
}

static int checkpoints_and_dies(const char *file)
{
	struct session s = open_session(file, NULL);
	run(s.con, "SELECT g, sum(v) FROM t GROUP BY g; INSERT INTO t VALUES (1, 'dead', 1); CHECKPOINT");
	_exit(0);
}

static void a_process_that_dies(void **state)
{
	(void)state;
	for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
		role_succeeds(checkpoint ? "checkpoints and dies" : "inserts and dies", path);
		struct session s = open_session(path, NULL);
		char want[32];
		snprintf(want, sizeof want, "%d\n", checkpoint + 1);
		expect(s.con, "SELECT count(*) FROM t WHERE g = 'dead'", "cube", want);
		close_session(&s);
		ask("v|unbuilt\n", "read from its side file");
	}
	/* Killed in the middle of a build's files: leftovers go at the next close. */
	char stray[400];
	snprintf(stray, sizeof stray, "%s/0123456789abcdef0123456789abcdef.cube", folder);
	fclose(fopen(stray, "w"));
	snprintf(stray, sizeof stray, "%s/mine.txt", folder);
	fclose(fopen(stray, "w"));
	ask("v|unbuilt\n", "read from its side file");
	assert_int_equal(count_files(".cube"), 1);
	assert_int_equal(access(stray, F_OK), 0); /* not ours */
}

static void read_only(void **state)
{
	rayql_config config = {.size = sizeof config, .read_only = true};
	(void)state;
	struct session s = open_session(path, &config);
	expect(s.con, SUMS, "cube", NULL);
	expect(s.con, "SELECT reason FROM rayql_structures()", NULL, "read from its side file\n");
	fails(s.con, "INSERT INTO t VALUES (1, 'x', 1)", RAYQL_ERROR_HOST, "read-only");
	fails(s.con, "CREATE MATERIALIZED VIEW w AS SELECT a, count(*) FROM t GROUP BY a", RAYQL_ERROR_STATEMENT,
	      "read-only mode");
	fails(s.con, "DROP MATERIALIZED VIEW v", RAYQL_ERROR_STATEMENT, "read-only mode");
	run(s.con, "REFRESH MATERIALIZED VIEW v"); /* contents in memory */
	expect(s.con, SUMS, "cube", NULL);
	close_session(&s);
	assert_int_equal(count_files(".cube"), 1);
	ask("v|unbuilt\n", "read from its side file");
}

static void definitions_that_lost_their_view(void **state)
{
	(void)state;
	struct session s = open_session(path, NULL);
	/* As another program would leave it. */
	run(s.con, "INSERT INTO rayql.structures SELECT * REPLACE ('ghost' AS name) FROM rayql.structures");
	run(s.con, "UPDATE rayql.structures SET format_version = 99 WHERE name = 'v'");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, STATE, NULL, "v|invalid\n");
	expect(s.con, "SELECT reason LIKE '%newer version of RayQL (format 99%' FROM rayql_structures()", NULL, "true\n");
	fails(s.con, "REFRESH MATERIALIZED VIEW v", RAYQL_ERROR_CORRUPT, "newer version");
	expect(s.con, SUMS, "host", NULL);
	run(s.con, "UPDATE rayql.structures SET format_version = 1, statement = 'SELECT 1' WHERE name = 'v'");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, STATE, NULL, "v|invalid\n");
	run(s.con, "DROP MATERIALIZED VIEW v");
	expect(s.con, STATE, NULL, "");
	close_session(&s);
}

static void a_definition_that_no_longer_binds(void **state)
{
	(void)state;
	struct session s = open_session(path, NULL);
	run(s.con, "ALTER TABLE t RENAME TO t2");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, "SELECT sum(v) FROM t2", "host", NULL);
	expect(s.con, STATE, NULL, "v|invalid\n");
	run(s.con, "ALTER TABLE t2 RENAME TO t");
	expect(s.con, SUMS, "cube", NULL);
	close_session(&s);
}

static void the_search_path_of_the_create_counts(void **state)
{
	(void)state;
	struct session s = open_session(path, NULL);
	run(s.con, "CREATE SCHEMA a; USE a; CREATE TABLE k AS SELECT 1 AS x, 2 AS y; CREATE MATERIALIZED VIEW kv AS SELECT "
	           "x, sum(y) FROM k "
	           "GROUP BY x");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, "SELECT sum(y) FROM a.k", "cube", "2\n");
	run(s.con, "INSERT INTO a.k VALUES (1, 5); REFRESH MATERIALIZED VIEW a.kv");
	expect(s.con, "SELECT sum(y) FROM a.k", "cube", "7\n");
	close_session(&s);
}

/* DuckDB's optimiser gives the scan of a stored table whole row groups to leave out of an OFFSET: not read over. */
static void an_offset_skips_rows_once(void **state)
{
	static const char table[] = "CREATE TABLE big AS SELECT range AS id, -(range // 2) AS half FROM range(300000)";
	(void)state;
	struct session s = open_session(path, NULL);
	run(s.con, table);
	close_session(&s);
	s = open_session(path, NULL);
	run(s.con, "SET rayql_auto_columns = on");
	expect(s.con, "SELECT id FROM big ORDER BY id OFFSET 200000 LIMIT 3", NULL, "200000\n200001\n200002\n");
	expect(s.con, "SELECT id FROM big ORDER BY id LIMIT 2 OFFSET 122880", NULL, "122880\n122881\n");
	expect(s.con, "SELECT id FROM big ORDER BY id DESC LIMIT 2 OFFSET 250000", NULL, "49999\n49998\n");
	expect(s.con, "SELECT half, id FROM big ORDER BY half, id OFFSET 299997", NULL, "-1|3\n0|0\n0|1\n");
	close_session(&s);
}

/* Structures are read one after the other, all is planned again after each, and the plan that is run reads them all. */
static void several_structures_are_read_first(void **state)
{
	static const char query[] =
		"SELECT x, sum(v), count(*) FROM t, d, e WHERE t.a = d.k AND d.m = e.m GROUP BY x ORDER BY x";
	(void)state;
	struct session s = open_session(path, NULL);
	run(s.con, "CREATE TABLE d AS SELECT i::INTEGER k, (i % 7)::INTEGER m FROM range(1000) r(i); "
	           "CREATE TABLE e AS SELECT i::INTEGER m, i % 3 x FROM range(7) r(i)");
	char *want = rows_of(s.con, query, NULL);
	run(s.con, "CREATE INDEX ct ON t USING columns (*); CREATE INDEX cd ON d USING columns (*); "
	           "CREATE INDEX ce ON e USING columns (*)");
	close_session(&s);
	s = open_session(path, NULL);
	run(s.con, "SET rayql_device = 'cpu'; SET rayql_force = on");
	expect(s.con, query, "scan", want);
	expect(s.con, "SELECT count(*) FROM rayql_structures() WHERE kind = 'columns' AND state = 'ready'", NULL, "3\n");
	free(want);
	close_session(&s);
}

/* ---- what rebuilds leave ---- */
static void rebuild(struct session *s, const char *statement, int times)
{
	for (int i = 0; i < times; i++) {
		run(s->con, "INSERT INTO t VALUES (1, 'g1', 1)");
		run(s->con, statement);
	}
}

static void a_rebuild_leaves_no_old_file(void **state)
{
	(void)state;
	left_to_duckdb1();
	struct session s = open_session(path, NULL);
	rebuild(&s, "REFRESH MATERIALIZED VIEW v", 3);
	assert_int_equal(count_files(".cube"), 1);
	rebuild(&s,
	        "CREATE OR REPLACE MATERIALIZED VIEW v WITH (refresh = auto) AS SELECT g, sum(v), count(*) FROM t GROUP BY g",
	        3);
	assert_int_equal(count_files(".cube"), 1);
	rebuild(&s, SUMS, 3);
	assert_int_equal(count_files(".cube"), 1);
	rebuild(&s, "CREATE OR REPLACE INDEX c ON t USING columns (*)", 3);
	assert_int_equal(count_files(".columns"), 1);
	run(s.con, "DELETE FROM t WHERE a = 3");
	rebuild(&s, "REFRESH INDEX c", 3); /* appended to: written when the database is closed */
	assert_true(count_files(".columns") <= 1);
	run(s.con, "DROP INDEX c; DROP MATERIALIZED VIEW v");
	assert_int_equal(count_files(".columns") + count_files(".cube"), 0);
	close_session(&s);
}

/* The file of the session before is what counts when this process dies, as long as the database has not changed. */
static int refreshes_and_dies(const char *file)
{
	struct session s = open_session(file, NULL);
	for (int i = 0; i < 3; i++)
		run(s.con, "REFRESH MATERIALIZED VIEW v");
	_exit(0);
}

static int changes_refreshes_and_dies(const char *file)
{
	struct session s = open_session(file, NULL);
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 1)");
	for (int i = 0; i < 3; i++)
		run(s.con, "REFRESH MATERIALIZED VIEW v");
	_exit(0);
}

static const struct role roles[] = {
	{"inserts and dies", inserts_and_dies},
	{"checkpoints and dies", checkpoints_and_dies},
	{"refreshes and dies", refreshes_and_dies},
	{"changes, refreshes and dies", changes_refreshes_and_dies},
};

static void a_file_that_the_manifest_names_stays(void **state)
{
	(void)state;
	left_to_duckdb1();
	for (int changed = 0; changed < 2; changed++) {
		role_succeeds(changed ? "changes, refreshes and dies" : "refreshes and dies", path);
		assert_int_equal(count_files(".cube"), changed ? 1 : 2);
		ask("v|unbuilt\n", changed ? "built" : "read from its side file");
	}
}

int main(int argc, char **argv)
{
	int status = play_role(argc, argv, roles, 4);
	if (status >= 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_side_file_is_used, fresh_database),
		cmocka_unit_test_setup(a_session_that_never_asks_keeps_it, fresh_database),
		cmocka_unit_test_setup(without_it_the_contents_are_rebuilt, fresh_database),
		cmocka_unit_test_setup(stale_contents_are_not_kept, fresh_database),
		cmocka_unit_test_setup(damage_is_noticed, fresh_database),
		cmocka_unit_test_setup(a_process_that_dies, fresh_database),
		cmocka_unit_test_setup(read_only, fresh_database),
		cmocka_unit_test_setup(definitions_that_lost_their_view, fresh_database),
		cmocka_unit_test_setup(a_definition_that_no_longer_binds, fresh_database),
		cmocka_unit_test_setup(the_search_path_of_the_create_counts, fresh_database),
		cmocka_unit_test_setup(an_offset_skips_rows_once, fresh_database),
		cmocka_unit_test_setup(several_structures_are_read_first, fresh_database),
		cmocka_unit_test_setup(a_rebuild_leaves_no_old_file, fresh_database),
		cmocka_unit_test_setup(a_file_that_the_manifest_names_stays, fresh_database),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
