/* Running a file on one engine: loops, substitutions, databases, connections. What happens depends on the file and on
 * what both engines do alike, so that two transcripts of one file can be laid side by side. */
#include "sqllogic.h"

#include <ctype.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 64u
#define MAX_LOOPS 16u

extern char **environ;

struct label {
	const char *name; /* "" is the default connection */
	void *con;
	bool in_transaction;
};
struct binding {
	const char *name, *value;
};
struct runner {
	const struct sl_run *run;
	const struct sl_file *file;
	struct rql_arena *arena;
	void *db;
	struct sl_place place;
	const char *initial; /* the first database's file, or NULL */
	struct label labels[MAX_CONNECTIONS];
	uint32_t label_count;
	struct binding loops[MAX_LOOPS], env[64];
	uint32_t loop_count, env_count;
	struct sl_list settings;   /* to be made again after the reopening in the middle */
	uint32_t statements;       /* run so far, outside of loops */
	bool reopened, fixed, keeps; /* keeps: the file says that it must not be reopened */
	bool stopped, continues;
};

static void event(struct runner *r, enum sl_event_kind kind, uint32_t line, const char *text)
{
	struct sl_event e = {.kind = kind, .line = line, .text = text};
	sl_write_event(r->run->transcript, &e);
}

static void stop(struct runner *r, uint32_t line, const char *why)
{
	event(r, SL_EVENT_STOP, line, why);
	r->stopped = true;
}

/* ---- substitution ---- */
static char *replace_name(struct rql_arena *arena, const char *text, const char *name, const char *value)
{
	char *with_dollar = sl_replace(arena, text, sl_printf(arena, "${%s}", name), value);
	return sl_replace(arena, with_dollar, sl_printf(arena, "{%s}", name), value);
}

static const char *replace_keywords(struct runner *r, const char *text)
{
	struct rql_arena *a = r->arena;
	const char *slash = strrchr(r->file->path, '/');
	char *data = sl_printf(a, "%s/data", r->run->options->root);
	if (!strstr(text, "__") && !strchr(text, '{'))
		return text;
	for (uint32_t i = 0; i < r->env_count; i++)
		text = replace_name(a, text, r->env[i].name, r->env[i].value);
	text = replace_name(a, text, "DATA_DIR", data);
	text = replace_name(a, text, "TEMP_DIR", r->run->folder);
	text = replace_name(a, text, "TEMP_BASE", r->run->folder);
	text = replace_name(a, text, "WORKING_DIR", r->run->options->root);
	text = replace_name(a, text, "TEST_NAME", r->file->path);
	text = replace_name(a, text, "TEST_NAME_NO_SLASH", slash ? slash + 1 : r->file->path);
	text = replace_name(a, text, "BASE_TEST_NAME", slash ? slash + 1 : r->file->path);
	text = replace_name(a, text, "TEST_DIR", r->run->folder);
	text = replace_name(a, text, "UUID", "2f6b0c5e-7f0f-4a3c-9a37-0d5c1e8f4b21");
	text = replace_name(a, text, "TEST_UUID", "2f6b0c5e-7f0f-4a3c-9a37-0d5c1e8f4b21");
	text = sl_replace(a, text, "__TEST_DIR__", r->run->folder);
	text = sl_replace(a, text, "__WORKING_DIRECTORY__", r->run->options->root);
	return sl_replace(a, text, "__BUILD_DIRECTORY__", r->run->options->root);
}

/* A loop's names and values may be lists: foreach a,b 1,2 3,4. */
static const char *replace_loop(struct runner *r, const char *text, const struct binding *loop)
{
	const char *name = loop->name, *value = replace_keywords(r, loop->value);
	while (strchr(name, ',') && strchr(value, ',')) {
		size_t n = strcspn(name, ","), v = strcspn(value, ",");
		text = replace_name(r->arena, text, sl_copy(r->arena, name, n), sl_copy(r->arena, value, v));
		name += n + 1;
		value += v + 1;
	}
	return replace_name(r->arena, text, name, value);
}

static const char *substitute(struct runner *r, const char *text)
{
	text = replace_keywords(r, text);
	for (uint32_t i = 0; i < r->loop_count; i++)
		text = replace_loop(r, text, &r->loops[i]);
	return text;
}

/* ---- databases and connections ---- */
static void close_all(struct runner *r)
{
	for (uint32_t i = 0; i < r->label_count; i++)
		r->run->engine->disconnect(r->labels[i].con);
	r->label_count = 0;
	r->run->engine->close(r->db);
	r->db = NULL;
}

static bool open_place(struct runner *r, uint32_t line)
{
	char *error = NULL;
	r->place.threads = r->run->options->threads;
	r->place.setup = r->run->options->setup;
	r->db = r->run->engine->open(&r->place, &error);
	if (!r->db)
		stop(r, line, sl_printf(r->arena, "the database does not open: %s", error ? error : "?"));
	free(error);
	return r->db != NULL;
}

static void run_quietly(struct runner *r, void *con, const char *sql)
{
	struct sl_answer a;
	r->run->engine->run(con, sql, &a);
	sl_answer_free(&a);
}

static struct label *connection(struct runner *r, uint32_t line, const char *name)
{
	char *error = NULL;
	for (uint32_t i = 0; i < r->label_count; i++)
		if (!strcmp(r->labels[i].name, name))
			return &r->labels[i];
	if (r->label_count == MAX_CONNECTIONS) {
		stop(r, line, "more connections than the runner has room for");
		return NULL;
	}
	struct label *l = &r->labels[r->label_count];
	*l = (struct label){.name = name, .con = r->run->engine->connect(r->db, &error)};
	if (!l->con) {
		stop(r, line, sl_printf(r->arena, "no connection: %s", error ? error : "?"));
		free(error);
		return NULL;
	}
	r->label_count++;
	if (!*name)
		run_quietly(r, l->con, sl_printf(r->arena, "SET secret_directory = '%s/test_secret_dir'", r->run->folder));
	return l;
}

static void reconnect(struct runner *r)
{
	for (uint32_t i = 0; i < r->label_count; i++)
		if (!*r->labels[i].name) {
			r->run->engine->disconnect(r->labels[i].con);
			r->labels[i] = r->labels[--r->label_count];
		}
}

static int call(const char *const *arguments)
{
	pid_t child;
	int status;
	if (posix_spawnp(&child, arguments[0], NULL, NULL, (char *const *)arguments, environ) != 0)
		return -1;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void remove_database(struct runner *r, const char *path)
{
	const char *const arguments[] = {"rm", "-rf", "--", path, sl_printf(r->arena, "%s.wal", path),
	                                 sl_printf(r->arena, "%s.rayql", path), NULL};
	if (!strncmp(path, r->run->folder, strlen(r->run->folder)))
		call(arguments);
}

static void restore_settings(struct runner *r, uint32_t line)
{
	struct label *l = r->settings.count ? connection(r, line, "") : NULL;
	for (uint32_t i = 0; l && i < r->settings.count; i++)
		run_quietly(r, l->con, r->settings.items[i]);
}

static void reopen(struct runner *r, uint32_t line)
{
	close_all(r);
	if (open_place(r, line))
		restore_settings(r, line);
}

/* The reopening in the middle of a file, where nothing but the disk need survive. */
static void maybe_reopen(struct runner *r, uint32_t line)
{
	bool open = false;
	for (uint32_t i = 0; i < r->label_count; i++)
		open |= r->labels[i].in_transaction;
	if (!r->run->disk || r->reopened || r->keeps || r->fixed || open || !r->place.path || r->loop_count ||
	    2 * r->statements < r->file->statements)
		return;
	r->reopened = true;
	event(r, SL_EVENT_REOPEN, line, "");
	reopen(r, line);
}

/* ---- commands ---- */
static void load(struct runner *r, const struct sl_command *c)
{
	const char *path = c->words.count ? substitute(r, c->words.items[0]) : NULL;
	close_all(r);
	r->place.read_only = c->words.count > 1 && !strcasecmp(c->words.items[1], "readonly");
	r->place.storage_version = c->words.count > 2 ? substitute(r, c->words.items[2]) : NULL;
	r->place.path = path && strcmp(path, ":memory:") ? path : path ? NULL : r->initial;
	if (r->place.path && !r->place.read_only)
		remove_database(r, r->place.path);
	r->settings.count = 0;
	r->fixed = false;
	open_place(r, c->line);
}

static void pause_for(const struct sl_command *c)
{
	const char *unit = c->words.count > 1 ? c->words.items[1] : "";
	double seconds = strtod(c->words.count ? c->words.items[0] : "0", NULL);
	seconds *= !strncmp(unit, "milli", 5) ? 1e-3 : !strncmp(unit, "micro", 5) ? 1e-6 : !strncmp(unit, "nano",
	                                                                                            4) ? 1e-9 : 1;
	struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	nanosleep(&time, NULL);
}

static void unzip(struct runner *r, const struct sl_command *c)
{
	const char *from = c->words.count ? substitute(r, c->words.items[0]) : "";
	const char *to = c->words.count > 1 && strcmp(c->words.items[1], "NULL") ? substitute(r, c->words.items[1]) : NULL;
	const char *slash = strrchr(from, '/');
	const char *name = slash ? slash + 1 : from;
	size_t n = strlen(name);
	if (!to)
		to = sl_printf(r->arena, "%s/%.*s", r->run->folder, (int)(n > 3 ? n - 3 : n), name);
	const char *const arguments[] = {"sh", "-c", "exec gzip -dc -- \"$1\" > \"$2\"", "sh", from, to, NULL};
	if (call(arguments) != 0)
		stop(r, c->line, sl_printf(r->arena, "unzip %s failed", name));
}

/* An extension is there when DuckDB has it loaded, or loads it. */
static bool has_extension(struct runner *r, const struct sl_command *c, const char *name)
{
	struct sl_answer a;
	struct label *l = connection(r, c->line, "");
	if (!l)
		return false;
	r->run->engine->run(l->con,
	                    sl_printf(r->arena,
	                              "SELECT 1 FROM duckdb_extensions() WHERE extension_name = '%s' AND loaded", name),
	                    &a);
	bool loaded = !a.message && a.row_count == 1;
	sl_answer_free(&a);
	if (loaded)
		return true;
	r->run->engine->run(l->con, sl_printf(r->arena, "LOAD %s", name), &a);
	loaded = !a.message;
	sl_answer_free(&a);
	return loaded;
}

static bool has_memory(const char *amount)
{
	char *unit;
	double bytes = strtod(amount, &unit), have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	int power = tolower((unsigned char)*unit) == 't' ? 4 : tolower((unsigned char)*unit) == 'm' ? 2 : 3;
	while (power--)
		bytes *= 1024;
	return have >= bytes;
}

static bool has(struct runner *r, const struct sl_command *c)
{
	static const char *const here[] = {"notmusl", "notmingw", "notwindows", "longdouble", "64bit", "nothreadsan",
	                                   "strinline", "no_alternative_verify", "no_latest_storage",
	    "no_vector_verification",
	                                   "no_extension_autoloading", "allow_unsigned_extensions", "skip_reload", NULL};
	static const char *const missing[] = {"mingw", "windows", "disk_space", "vacuum_rebuild_indexes", NULL};
	const char *what = c->words.count ? c->words.items[0] : "", *value = c->words.count > 1 ? c->words.items[1] : "";
	if (!strcasecmp(what, "skip_reload"))
		r->keeps = true;
	for (size_t i = 0; here[i]; i++)
		if (!strcasecmp(what, here[i]))
			return true;
	for (size_t i = 0; missing[i]; i++)
		if (!strcasecmp(what, missing[i]))
			return false;
	if (!strcasecmp(what, "noforcestorage") || !strcasecmp(what, "no_force_storage"))
		return !r->run->disk;
	if (!strcasecmp(what, "vector_size"))
		return atoi(value) <= 2048;
	if (!strcasecmp(what, "exact_vector_size"))
		return atoi(value) == 2048;
	if (!strcasecmp(what, "block_size"))
		return atoi(value) == 262144;
	if (!strcasecmp(what, "ram"))
		return has_memory(value);
	return has_extension(r, c, what);
}

static void bind_environment(struct runner *r, const struct sl_command *c)
{
	const char *name = c->words.count ? c->words.items[0] : "";
	const char *value = getenv(name), *given = c->words.count > 1 ? c->words.items[1] : NULL;
	if (c->kind == SL_TEST_ENV && !value)
		value = given ? given : "";
	if (!value || (c->kind == SL_REQUIRE_ENV && given && strcmp(value, given))) {
		stop(r, c->line, sl_printf(r->arena, "require-env %s", name));
		return;
	}
	if (r->env_count < sizeof r->env / sizeof r->env[0])
		r->env[r->env_count++] = (struct binding){name, value};
}

/* ---- statements ---- */
static const char *where(struct runner *r, const char *label)
{
	struct rql_strbuf text = {0};
	for (uint32_t i = 0; i < r->loop_count; i++)
		rql_strbuf_printf(&text, " %s=%s", r->loops[i].name, r->loops[i].value);
	if (*label)
		rql_strbuf_printf(&text, " on %s", label);
	const char *copy = sl_copy(r->arena, rql_strbuf_text(&text), text.length);
	rql_strbuf_free(&text);
	return copy;
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void follow(struct runner *r, struct label *l, const char *sql, bool failed)
{
	struct sl_facts f;
	sl_facts_of(r->arena, sql, &f);
	if (f.begins || f.ends)
		l->in_transaction = f.begins && !failed;
	r->fixed |= f.fixed;
	if (f.setting && !failed && !*l->name)
		sl_list_add(r->arena, &r->settings, sql);
}

/* DuckDB's own check of its plans; most files begin with it. */
static bool only_verifies(const struct runner *r, const char *sql)
{
	return !r->run->options->verification && !strncasecmp(sql, "PRAGMA ", 7) &&
	       (!strncasecmp(sql + 7, "enable_verification", 19) || !strncasecmp(sql + 7, "verify_", 7));
}

static void statement(struct runner *r, const struct sl_command *c)
{
	struct sl_list result = {0};
	if (only_verifies(r, c->sql)) {
		event(r, SL_EVENT_SKIP, c->line, "PRAGMA enable_verification and its like: --verification obeys them");
		return;
	}
	maybe_reopen(r, c->line);
	struct label *l = r->stopped ? NULL : connection(r, c->line, c->connection);
	if (!l)
		return;
	struct sl_event e = {.kind = SL_EVENT_BEGIN, .line = c->line};
	e.text = substitute(r, c->sql);
	e.where = where(r, c->connection);
	sl_write_event(r->run->transcript, &e);
	double start = now_ms();
	r->run->engine->run(l->con, e.text, &e.answer);
	e.answer.ms = now_ms() - start;
	follow(r, l, e.text, e.answer.message != NULL);
	for (uint32_t i = 0; i < c->result.count; i++)
		sl_list_add(r->arena, &result, substitute(r, c->result.items[i]));
	e.met = sl_expectation(c, &e.answer, &result);
	e.kind = SL_EVENT_ANSWER;
	sl_write_event(r->run->transcript, &e);
	sl_answer_free(&e.answer);
	r->statements += r->loop_count == 0;
}

static bool condition_holds(struct runner *r, const struct sl_condition *condition)
{
	const char *value = "", *op = condition->comparison;
	for (uint32_t i = 0; i < r->loop_count; i++)
		if (!strcasecmp(r->loops[i].name, condition->name))
			value = r->loops[i].value;
	if (!strcmp(op, "="))
		return !strcasecmp(value, condition->value);
	if (!strcmp(op, "<>"))
		return strcasecmp(value, condition->value) != 0;
	long long v = atoll(value), w = atoll(condition->value);
	return !strcmp(op, "<") ? v < w : !strcmp(op, "<=") ? v <= w : !strcmp(op, ">") ? v > w : v >= w;
}

static void run_commands(struct runner *r, struct sl_command *const *commands, uint32_t count);

static void loop(struct runner *r, const struct sl_command *c)
{
	if (c->parallel) {
		event(r, SL_EVENT_SKIP, c->line, "a loop on threads of its own");
		return;
	}
	struct binding *b = &r->loops[r->loop_count++];
	for (uint32_t i = 0; i < c->values.count && !r->stopped; i++) {
		*b = (struct binding){c->variable, c->values.items[i]};
		run_commands(r, c->body, c->body_count);
		r->continues = false;
	}
	r->loop_count--;
}

static void run_command(struct runner *r, const struct sl_command *c)
{
	for (uint32_t i = 0; i < c->condition_count; i++)
		if (condition_holds(r, &c->conditions[i]) == c->conditions[i].skips)
			return;
	switch (c->kind) {
	case SL_STATEMENT:
	case SL_QUERY:
		statement(r, c);
		break;
	case SL_LOOP:
		loop(r, c);
		break;
	case SL_LOAD:
		load(r, c);
		break;
	case SL_RESTART:
		reopen(r, c->line);
		break;
	case SL_RECONNECT:
		reconnect(r);
		break;
	case SL_SLEEP:
		pause_for(c);
		break;
	case SL_UNZIP:
		unzip(r, c);
		break;
	case SL_REQUIRE:
		if (!has(r, c) && !r->stopped)
			stop(r, c->line, sl_printf(r->arena, "require %s", c->words.count ? c->words.items[0] : ""));
		break;
	case SL_REQUIRE_ENV:
	case SL_TEST_ENV:
		bind_environment(r, c);
		break;
	case SL_SET:
		if (c->words.count > 1 && !strcmp(c->words.items[0], "seed") && connection(r, c->line, ""))
			run_quietly(r, connection(r, c->line, "")->con, sl_printf(r->arena, "SELECT setseed(%s)",
			                                                          c->words.items[1]));
		break;
	case SL_CONTINUE:
		r->continues = true;
		break;
	case SL_HALT:
		r->stopped = true;
		break;
	case SL_UNKNOWN:
		stop(r, c->line, sl_printf(r->arena, "the directive %s", c->words.items[c->words.count - 1]));
		break;
	}
}

static void run_commands(struct runner *r, struct sl_command *const *commands, uint32_t count)
{
	for (uint32_t i = 0; i < count && !r->stopped && !r->continues; i++)
		run_command(r, commands[i]);
}

void sl_run_file(const struct sl_run *run, const char *path)
{
	struct sl_file file;
	struct runner *r = calloc(1, sizeof *r);
	if (!r)
		exit(2);
	r->run = run;
	r->file = &file;
	r->arena = sl_arena_new();
	sl_parse(r->arena, path, &file);
	if (run->disk) /* in memory the database is called memory, so here, too */
		r->place.path = r->initial = sl_printf(r->arena, "%s/memory.db", run->folder);
	if (file.error)
		stop(r, 0, sl_printf(r->arena, "not understood: %s", file.error));
	else if (open_place(r, 0))
		run_commands(r, file.commands, file.count);
	if (!r->stopped && run->disk && !r->reopened)
		event(r, SL_EVENT_SKIP, 0, "the reopening in the middle: nothing to reopen, or something that it would lose");
	close_all(r);
	event(r, SL_EVENT_END, 0, "");
	rql_arena_free(r->arena);
	free(r);
}
