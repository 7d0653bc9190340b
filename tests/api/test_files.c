/* Files that somebody else has in hand or has prepared: a database that this process has open already, through whatever
 * library and by whatever name; side folders with links, FIFOs, others' rights and forged contents. */
#include "role.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

static char path[256], other[256];

static int fresh_database(void **state)
{
	static int number;
	char name[32];
	(void)state;
	snprintf(name, sizeof name, "f%d.db", ++number);
	scratch_path(path, name);
	snprintf(name, sizeof name, "other%d.db", number);
	scratch_path(other, name);
	struct session s = open_session(path, NULL);
	make_table(s.con, "t", 10000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, a, sum(v), count(*) FROM t GROUP BY g, a");
	close_session(&s);
	s = open_session(other, NULL);
	make_table(s.con, "u", 10);
	close_session(&s);
	return 0;
}

static rayql_status try_open(const char *name, bool read_only, const char *text)
{
	rayql_config config = {.size = sizeof config, .read_only = read_only};
	rayql_database *db = NULL;
	rayql_error *err = NULL;
	rayql_status status = rayql_open(name, &config, &db, &err);
	if (status == RAYQL_OK)
		rayql_close(db);
	else if (!strstr(rayql_error_message(err), text))
		fail_msg("%s: %s", name, rayql_error_message(err));
	rayql_error_free(err);
	return status;
}

/* ---- what another program does with the file ---- */
static int finds_it_locked(const char *file)
{
	rayql_database *db = NULL;
	rayql_error *err = NULL;
	bool ok = rayql_open(file, NULL, &db, &err) == RAYQL_ERROR_HOST &&
	          strstr(rayql_error_message(err), "Could not set lock");
	if (!ok)
		print_error("the file is not locked: %s\n", rayql_error_message(err));
	rayql_error_free(err);
	return ok ? 0 : 1;
}

static int inserts_a_row(const char *file)
{
	struct session s = open_session(file, NULL);
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 1)");
	close_session(&s);
	return 0;
}

static const struct role roles[] = {{"finds it locked", finds_it_locked}, {"inserts a row", inserts_a_row}};

/* Nobody else can open the file now. */
static void is_locked(void)
{
	role_succeeds("finds it locked", path);
}

/* ---- another DuckDB library in this process: a copy of libduckdb under a name of its own ---- */
struct library {
	void *handle;
	int (*open)(const char *path, void **db, void *config, char **error);
	int (*connect)(void *db, void **con);
	int (*query)(void *con, const char *sql, void *result);
	void (*disconnect)(void **con);
	void (*close)(void **db);
	void (*free)(void *pointer);
};

static void *symbol(void *handle, const char *name)
{
	void *at = dlsym(handle, name);
	assert_non_null(at);
	return at;
}

/* The file that librayql has loaded libduckdb from. */
static void loaded_from(char *out, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4200];
	*out = 0;
	while (maps && !*out && fgets(line, sizeof line, maps)) {
		char *at = strstr(line, "/libduckdb") ? strchr(line, '/') : NULL;
		if (at)
			snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
	}
	fclose(maps);
	assert_true(*out);
}

static struct library load_copy(void)
{
	char from[4200], copy[256], command[4600];
	struct library l;
	loaded_from(from, sizeof from);
	snprintf(command, sizeof command, "cp '%s' '%s'", from, scratch_path(copy, "libother.so"));
	assert_int_equal(system(command), 0);
	l.handle = dlmopen(LM_ID_NEWLM, copy, RTLD_NOW | RTLD_LOCAL);
	if (!l.handle)
		fail_msg("%s", dlerror());
	*(void **)&l.open = symbol(l.handle, "duckdb_open_ext");
	*(void **)&l.connect = symbol(l.handle, "duckdb_connect");
	*(void **)&l.query = symbol(l.handle, "duckdb_query");
	*(void **)&l.disconnect = symbol(l.handle, "duckdb_disconnect");
	*(void **)&l.close = symbol(l.handle, "duckdb_close");
	*(void **)&l.free = symbol(l.handle, "duckdb_free");
	return l;
}

static void two_libraries(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* a library in a namespace of its own would have another allocator than the sanitizer's */
#endif
	struct library l = load_copy();
	void *db = NULL, *con = NULL;
	char *error = NULL;
	/* It came first: its rows must not be lost. */
	assert_int_equal(l.open(path, &db, NULL, &error), 0);
	assert_int_equal(l.connect(db, &con), 0);
	assert_int_equal(try_open(path, false, "make another connection"), RAYQL_ERROR_IO);
	assert_int_equal(try_open(path, true, "open already"), RAYQL_ERROR_IO);
	assert_int_equal(l.query(con, "INSERT INTO t VALUES (1, 'other', 1)", NULL), 0);
	l.disconnect(&con);
	l.close(&db);
	struct session s = open_session(path, NULL);
	expect(s.con, "SELECT count(*) FROM t", NULL, "10001\n");
	/* It comes second. */
	assert_int_not_equal(l.open(path, &db, NULL, &error), 0);
	assert_non_null(strstr(error, "Could not set lock"));
	l.free(error);
	/* Its attempt has closed a descriptor of the file, which ends DuckDB's own lock, but not ours. */
	is_locked();
	run(s.con, "INSERT INTO t VALUES (1, 'mine', 1)");
	expect(s.con, "SELECT count(*) FROM t", NULL, "10002\n");
	close_session(&s);
	assert_int_equal(l.open(path, &db, NULL, &error), 0);
	l.close(&db);
}

/* ---- whatever has it open, and by whatever name ---- */
static void a_descriptor_is_enough(void **state)
{
	char hard[300], soft[300], address[300], log[300];
	(void)state;
	snprintf(hard, sizeof hard, "%s.hard", path);
	snprintf(soft, sizeof soft, "%s.soft", path);
	snprintf(address, sizeof address, "file://%s", path);
	snprintf(log, sizeof log, "%s.wal", path);
	assert_int_equal(link(path, hard), 0);
	assert_int_equal(symlink(path, soft), 0);
	const char *const names[] = {path, hard, soft, address};
	int fd = open(path, O_RDWR);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(try_open(names[i], false, "open already"), RAYQL_ERROR_IO);
		assert_int_equal(try_open(names[i], true, "open already"), RAYQL_ERROR_IO);
	}
	close(fd);
	fd = open(path, O_RDONLY);
	assert_int_equal(try_open(path, false, "open already"), RAYQL_ERROR_IO);
	assert_int_equal(try_open(path, true, ""), RAYQL_OK); /* both only read */
	close(fd);
	fd = open(log, O_RDWR | O_CREAT, 0600); /* of a database that stood here */
	assert_int_equal(try_open(path, false, "open already"), RAYQL_ERROR_IO);
	close(fd);
	unlink(log);
	for (int i = 0; i < 4; i++)
		assert_int_equal(try_open(names[i], false, ""), RAYQL_OK);
	/* What is no database may be open, as a table that DuckDB reads in place. */
	FILE *csv = fopen(scratch_path(soft, "table.csv"), "w+");
	fputs("a,b\n1,2\n3,4\n5,6\n", csv);
	fflush(csv);
	assert_int_equal(try_open(soft, false, ""), RAYQL_OK);
	fclose(csv);
}

static void attach(struct session *s, const char *name, const char *options, const char *text)
{
	char sql[400];
	snprintf(sql, sizeof sql, "ATTACH '%s' AS o %s", name, options);
	if (text) {
		fails(s->con, sql, RAYQL_ERROR_IO, text);
	} else {
		run(s->con, sql);
		run(s->con, "DETACH o");
	}
}

static void attached_files(void **state)
{
	char hard[300], sql[700];
	(void)state;
	struct session s = open_session(path, NULL), *one = &s;
	snprintf(hard, sizeof hard, "%s.hard", other);
	assert_int_equal(link(other, hard), 0);
	int fd = open(other, O_RDWR);
	attach(one, other, "", "open already");
	attach(one, hard, "(READ_ONLY)", "open already");
	close(fd);
	fd = open(other, O_RDONLY);
	attach(one, other, "", "open already");
	attach(one, other, "(READ_ONLY)", NULL);
	close(fd);
	attach(one, other, "", NULL);
	/* DuckDB knows one file by its name, not by its links. */
	snprintf(sql, sizeof sql, "ATTACH '%s' AS p; ATTACH IF NOT EXISTS '%s' AS p", other, other);
	run(s.con, sql);
	attach(one, hard, "", "open already");
	assert_int_equal(try_open(other, false, "open already"), RAYQL_ERROR_IO);
	run(s.con, "DETACH p");
	assert_int_equal(try_open(other, false, ""), RAYQL_OK);
	/* A database of RayQL's, from another one. */
	struct session second = open_session(other, NULL);
	attach(&second, path, "", "open already");
	attach(&second, path, "(READ_ONLY)", "open already");
	close_session(&second);
	close_session(&s);
}

static void *reads_to_its_end(void *con)
{
	usleep(50000);
	run(con, "COMMIT");
	return NULL;
}

/* Who reads it still has the file open after the DETACH: the next ATTACH waits for that. */
static void a_detached_file_is_closed_later(void **state)
{
	char sql[300];
	pthread_t thread;
	(void)state;
	struct session s = open_session(path, NULL);
	rayql_connection *reader;
	assert_int_equal(rayql_connect(s.db, &reader, NULL), RAYQL_OK);
	for (int i = 0; i < 3; i++) {
		snprintf(sql, sizeof sql, "ATTACH '%s' AS o", other);
		run(s.con, sql);
		run(reader, "BEGIN; SELECT count(*) FROM o.u");
		run(s.con, "DETACH o");
		assert_int_equal(pthread_create(&thread, NULL, reads_to_its_end, reader), 0);
		attach(&s, other, "", NULL);
		pthread_join(thread, NULL);
	}
	rayql_disconnect(reader);
	close_session(&s);
}

/* The file may be another's between DETACH and ATTACH: nothing of before holds, and nothing is locked. */
static void the_database_itself_is_detached(void **state)
{
	char sql[700], name[32] = "";
	(void)state;
	struct session s = open_session(path, NULL);
	expect(s.con, "SELECT sum(v) FROM t WHERE g = 'g1'", "cube", "9997000\n");
	sscanf(strrchr(path, '/') + 1, "%31[^.]", name);
	snprintf(sql, sizeof sql, "ATTACH ':memory:' AS n; USE n; DETACH %s", name);
	run(s.con, sql);
	role_succeeds("inserts a row", path);
	snprintf(sql, sizeof sql, "ATTACH '%s' AS %s; USE %s", path, name, name);
	run(s.con, sql);
	expect(s.con, "SELECT sum(v) FROM t WHERE g = 'g1'", NULL, "9997001\n");
	assert_int_equal(try_open(path, false, "open already"), RAYQL_ERROR_IO);
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, "SELECT sum(v) FROM t WHERE g = 'g1'", NULL, "9997001\n");
	close_session(&s);
}

/* Two readers: the first one's closing ends its process's locks, but the second one's goes on. */
static void a_reader_keeps_its_lock(void **state)
{
	rayql_config config = {.size = sizeof config, .read_only = true};
	(void)state;
	struct session one = open_session(path, &config), two = open_session(path, &config);
	close_session(&one);
	is_locked();
	close_session(&two);
	assert_int_equal(try_open(path, false, ""), RAYQL_OK);
}

/* ---- the side folder ---- */
#define SUMS "SELECT g, sum(v), count(*) FROM t GROUP BY g ORDER BY g"

static char folder[272];

static int fresh_folder(void **state)
{
	int rc = fresh_database(state);
	snprintf(folder, sizeof folder, "%s.rayql", path);
	return rc;
}

static char *inside(char out[600], const char *name)
{
	snprintf(out, 600, "%s/%s", folder, name);
	return out;
}

/* The one file of contents. */
static char *contents(char out[600])
{
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	*out = 0;
	for (struct dirent *e; (e = readdir(dir));)
		if (strstr(e->d_name, ".cube"))
			inside(out, e->d_name);
	closedir(dir);
	assert_int_not_equal(*out, 0);
	return out;
}

static void write_text(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void has_text(const char *file, const char *text)
{
	char have[64] = "";
	FILE *f = fopen(file, "r");
	assert_non_null(f);
	assert_true(fread(have, 1, sizeof have - 1, f) < sizeof have);
	fclose(f);
	assert_string_equal(have, text);
}

/* Opens the database: the view answers rightly, and says of its contents what is wanted. */
static void origin(const char *reason)
{
	struct session s = open_session(path, NULL);
	char *want = rows_of(s.con, "SELECT g, sum(v), count(*) FROM (FROM t LIMIT 10000000) GROUP BY g ORDER BY g", NULL);
	expect(s.con, SUMS, "cube", want);
	char *have = rows_of(s.con, "SELECT coalesce(reason, 'built') FROM rayql_structures()", NULL);
	if (!strstr(have, reason))
		fail_msg("reason: %s\nwanted: %s", have, reason);
	free(have);
	free(want);
	close_session(&s);
}

static void links_are_not_followed(void **state)
{
	char victim[256], name[600], moved[600];
	(void)state;
	scratch_path(victim, "victim");
	write_text(victim, "precious");
	/* The names that RayQL writes to and reads. */
	assert_int_equal(symlink(victim, inside(name, "manifest.tmp")), 0);
	origin("read from its side file");
	has_text(victim, "precious");
	assert_int_equal(unlink(inside(name, "manifest")), 0);
	assert_int_equal(symlink(victim, name), 0);
	origin("symbolic link");
	has_text(victim, "precious");
	origin("read from its side file");
	contents(name);
	assert_int_equal(rename(name, inside(moved, "aside")), 0);
	assert_int_equal(symlink(moved, name), 0);
	origin("built");
	origin("read from its side file");
	/* The folder itself: nothing is read, written or deleted where it leads to. */
	snprintf(moved, sizeof moved, "%s.elsewhere", path);
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(symlink(moved, folder), 0);
	write_text(inside(name, "0123456789abcdef0123456789abcdef.cube"), "old");
	origin("symbolic link");
	has_text(name, "old");
	struct session s = open_session(path, NULL);
	run(s.con, "DROP MATERIALIZED VIEW v");
	close_session(&s);
	has_text(name, "old");
	contents(name);
}

static void nothing_waits_for_a_fifo(void **state)
{
	char name[600];
	(void)state;
	alarm(600);
	assert_int_equal(mkfifo(inside(name, "manifest.tmp"), 0600), 0);
	origin("read from its side file");
	assert_int_equal(unlink(inside(name, "manifest")), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	origin("no regular file");
	origin("read from its side file");
	contents(name);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	origin("built");
	origin("read from its side file");
	alarm(0);
}

static void mode_is(const char *file, mode_t mode)
{
	struct stat st;
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void nobody_else_reads_them(void **state)
{
	char name[600];
	(void)state;
	mode_is(folder, 0700);
	mode_is(inside(name, "manifest"), 0600);
	mode_is(contents(name), 0600);
	/* As versions before left it. */
	assert_int_equal(chmod(folder, 0777), 0);
	origin("read from its side file");
	mode_is(folder, 0700);
	assert_int_equal(chmod(inside(name, "manifest"), 0666), 0);
	origin("others may write to it");
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(folder, 4321, 4321), 0);
	write_text(inside(name, "0123456789abcdef0123456789abcdef.cube"), "old");
	origin("belongs to another user");
	has_text(name, "old");
}

/* ---- forged contents ---- */
static void flip_bit(const char *file, long at)
{
	FILE *f = fopen(file, "r+");
	assert_non_null(f);
	fseek(f, at, SEEK_SET);
	int c = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(c ^ 1, f);
	fclose(f);
}

/* A copy has every byte and the same times, but it is not the file that RayQL left. */
static void what_came_from_elsewhere_is_not_used(void **state)
{
	char name[600], command[1600];
	(void)state;
	snprintf(command, sizeof command, "cp -a '%s' '%s.copy' && rm -r '%s' && mv '%s.copy' '%s'", folder, folder, folder,
	         folder, folder);
	assert_int_equal(system(command), 0);
	origin("not the file that RayQL left there");
	origin("read from its side file");
	/* Changed and put right again, with the time that it had. */
	struct stat st;
	assert_int_equal(stat(contents(name), &st), 0);
	flip_bit(name, 1000);
	flip_bit(name, 1000);
	const struct timespec times[] = {st.st_atim, st.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
	origin("not the file that RayQL left there");
	origin("read from its side file");
	/* A manifest that another user's key signed. */
	char cache[256], *old = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
	setenv("XDG_CACHE_HOME", scratch_path(cache, "cache"), 1);
	origin("no key");
	origin("read from its side file");
	mode_is(strcat(cache, "/rayql/key"), 0600);
	if (old)
		setenv("XDG_CACHE_HOME", old, 1);
	else
		unsetenv("XDG_CACHE_HOME");
	origin("not written by this user");
	/* Without a key nothing is written that nobody could trust. */
	setenv("XDG_CACHE_HOME", "/proc/no-such-folder", 1);
	origin("could not be written");
	if (old)
		setenv("XDG_CACHE_HOME", old, 1);
	else
		unsetenv("XDG_CACHE_HOME");
	free(old);
}

int main(int argc, char **argv)
{
	int status = argc == 2 ? -1 : play_role(argc, argv, roles, 2); /* one argument is a case */
	if (status >= 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(two_libraries, fresh_database),
		cmocka_unit_test_setup(a_descriptor_is_enough, fresh_database),
		cmocka_unit_test_setup(attached_files, fresh_database),
		cmocka_unit_test_setup(a_detached_file_is_closed_later, fresh_database),
		cmocka_unit_test_setup(the_database_itself_is_detached, fresh_database),
		cmocka_unit_test_setup(a_reader_keeps_its_lock, fresh_database),
		cmocka_unit_test_setup(links_are_not_followed, fresh_folder),
		cmocka_unit_test_setup(nothing_waits_for_a_fifo, fresh_folder),
		cmocka_unit_test_setup(nobody_else_reads_them, fresh_folder),
		cmocka_unit_test_setup(what_came_from_elsewhere_is_not_used, fresh_folder),
	};
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
