/* test_sqllogic [--root FOLDER] [--mode memory|disk] [--threads N] [--limit SECONDS] [--setup SQL] [--slow] [--shown N]
 * [--verification] [--expectations] [--verbose] FILE|FOLDER... Runs each .test file through RayQL and through DuckDB
 * alone, in memory and on disk, and compares. Exit status 0: no file failed, and at least one passed. */
#include "sqllogic.h"

#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct suite {
	struct sl_options options;
	struct rql_arena *arena;
	struct sl_list files;
	struct sl_report *report;
	char *scratch; /* a folder of ours, in TMPDIR */
	uint64_t passed, failed, skipped, statements;
};

/* ---- files ---- */
static bool wanted(const struct sl_options *o, const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot && (!strcmp(dot, ".test") || (o->slow && (!strcmp(dot, ".test_slow") || !strcmp(dot,
	                                                                                           ".test_coverage"))));
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool collect(struct suite *s, const char *path)
{
	char *const roots[] = {(char *)path, NULL};
	char *real;
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	uint32_t before = s->files.count;
	for (FTSENT *e; fts && (e = fts_read(fts));)
		if (e->fts_info == FTS_F && (e->fts_level == 0 || wanted(&s->options, e->fts_name)) &&
		    (real = realpath(e->fts_path, NULL))) {
			sl_list_add(s->arena, &s->files, sl_printf(s->arena, "%s", real));
			free(real);
		}
	if (fts)
		fts_close(fts);
	return s->files.count > before;
}

static void remove_tree(const char *path)
{
	char *const roots[] = {(char *)path, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *e; fts && (e = fts_read(fts));)
		if (e->fts_info == FTS_D)
			chmod(e->fts_path, 0700);
		else
			remove(e->fts_path);
	if (fts)
		fts_close(fts);
}

/* ---- one file on one engine ---- */
static void in_child(const struct suite *s, const struct sl_engine *engine, const char *file, bool disk,
                     const char *folder,
                     const char *transcript)
{
	struct sl_run run = {&s->options, engine, folder, disk, fopen(transcript, "wb")};
	int log = open(sl_printf(s->arena, "%s/log", s->scratch), O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (!run.transcript || log < 0 || chdir(s->options.root) != 0)
		_exit(2);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	alarm(s->options.limit_s); /* ends the process */
	sl_run_file(&run, file);
	fclose(run.transcript);
}

static void run_engine(const struct suite *s, const struct sl_engine *engine, const char *file, bool disk,
                       struct sl_transcript *out)
{
	const char *folder = sl_printf(s->arena, "%s/t", s->scratch), *path = sl_printf(s->arena, "%s/transcript",
	                                                                                s->scratch);
	int status = 0;
	remove_tree(folder);
	remove(path);
	mkdir(folder, 0700);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		in_child(s, engine, file, disk, folder, path);
		exit(0); /* not _exit: LeakSanitizer looks at the end */
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork");
		exit(2);
	}
	sl_transcript_read(path, out);
	out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -WEXITSTATUS(status) : 0;
	out->timed_out = out->signal == SIGALRM;
}

/* ---- comparing transcripts ---- */
struct trial { /* one file in one mode */
	struct suite *suite;
	const char *file, *mode;
	bool disk, twice; /* twice: again has DuckDB's second run */
	struct sl_transcript ours, hosts, again;
	uint32_t differences;
	const char *skipped; /* why the file as a whole says nothing */
};

static const char *end_of(const struct sl_transcript *t)
{
	static char text[64];
	if (t->timed_out)
		return "does not end in time";
	snprintf(text, sizeof text, t->signal > 0 ? "dies of signal %d" : "ends with status %d",
	         t->signal > 0 ? t->signal : -t->signal);
	return text;
}

static void show(struct trial *t, const struct sl_event *e, const char *what)
{
	t->differences++;
	if (t->differences > t->suite->options.shown)
		return;
	printf("---- %s:%u%s (%s)\n%s\n%s", t->file, e->line, e->where ? e->where : "", t->mode,
	       e->text ? e->text : "", what);
	if (e->kind == SL_EVENT_ANSWER)
		printf("  (%s: %s)\n", e->answer.method, e->answer.reason);
}

/* DuckDB's own answers differ from one run to the next: nothing can be said. */
static bool changes_by_itself(struct trial *t, uint32_t event)
{
	if (!t->twice) {
		run_engine(t->suite, &sl_duckdb, t->file, t->disk, &t->again);
		t->twice = true;
	}
	if (event >= t->again.count || event >= t->hosts.count)
		return true;
	const struct sl_event *a = &t->hosts.events[event], *b = &t->again.events[event];
	return a->kind != b->kind || a->line != b->line || !sl_same(&a->answer, &b->answer);
}

/* A reason without the names and numbers in it. */
static const char *kind_of_reason(struct rql_arena *arena, const char *reason)
{
	char *out = sl_alloc(arena, strlen(reason) + 1), *to = out;
	for (const char *at = reason; *at; at++) {
		if (*at == '"' || *at == '\'') {
			const char *end = strchr(at + 1, *at);
			*to++ = *at;
			if (end)
				at = end, *to++ = *at;
		} else if (*at < '0' || *at > '9') {
			*to++ = *at;
		} else if (to == out || to[-1] != 'N') {
			*to++ = 'N';
		}
	}
	return out;
}

static void count_answer(struct trial *t, const struct sl_event *e)
{
	struct suite *s = t->suite;
	const struct sl_answer *a = &e->answer;
	if (a->shape != SL_ROWS || a->message)
		return;
	sl_count(s->report, "methods", a->method);
	if (!strcmp(a->method, "host"))
		sl_count(s->report, "reasons", kind_of_reason(t->ours.arena, a->reason));
}

/* What the file expects, of answers that are compared by value. */
static void count_expectations(struct trial *t, const struct sl_event *ours, const struct sl_event *hosts)
{
	struct suite *s = t->suite;
	if (hosts->met == SL_NOT_MET)
		sl_count(s->report, "expectations", "DuckDB's answer is not the file's");
	if (ours->met != hosts->met && ours->met == SL_NOT_MET)
		sl_count(s->report, "expectations", "RayQL's answer is not the file's, though DuckDB's is");
	if (hosts->met == SL_NOT_MET && s->options.expectations)
		printf("---- %s:%u%s (%s): not what the file expects\n%s\n  %s\n", t->file, ours->line, ours->where, t->mode,
		       ours->text, hosts->answer.message ? hosts->answer.message : "");
}

static void compare_answers(struct trial *t, uint32_t i, const struct sl_event *ours, const struct sl_event *hosts)
{
	static const char *const verdicts[SL_VERDICTS] = {
		[SL_OTHER_ORDER] = "in another order, which the statement leaves open",
		[SL_OTHER_HINT] = "the same error with another hint or excerpt",
		[SL_ROUNDED] = "equal but for rounding",
		[SL_TIES] = "other rows of those that ORDER BY does not tell apart, under LIMIT",
	};
	struct suite *s = t->suite;
	const char *what;
	s->statements++;
	count_answer(t, ours);
	enum sl_verdict verdict = sl_compare(t->ours.arena, ours->text, &ours->answer, &hosts->answer, &what);
	if (verdict != SL_SPECIAL)
		count_expectations(t, ours, hosts);
	if (verdict == SL_SPECIAL) {
		sl_count(s->report, "excluded", what);
	} else if (verdict == SL_DIFFERENT && changes_by_itself(t, i)) {
		sl_count(s->report, "excluded", "DuckDB answers differently each time");
	} else if (verdict == SL_DIFFERENT) {
		show(t, ours, what);
	} else if (verdict != SL_EQUAL) {
		sl_count(s->report, "alike", verdicts[verdict]);
	}
	if (ours->answer.ms > 1000 && ours->answer.ms > 20 * hosts->answer.ms)
		sl_count(s->report, "slow", sl_printf(t->ours.arena, "%s:%u%s (%s): %.0f ms, DuckDB %.0f ms", t->file,
		                                      ours->line, ours->where, t->mode, ours->answer.ms, hosts->answer.ms));
}

/* Events that are not statements: both must have the same. */
static void compare_others(struct trial *t, uint32_t i, const struct sl_event *ours, const struct sl_event *hosts)
{
	if (strcmp(ours->text ? ours->text : "", hosts->text ? hosts->text : "")) {
		if (!changes_by_itself(t, i))
			show(t, ours, sl_printf(t->ours.arena, "DuckDB: %s\n", hosts->text ? hosts->text : ""));
		return;
	}
	if (ours->kind == SL_EVENT_SKIP)
		sl_count(t->suite->report, "left out", ours->text);
	if (ours->kind == SL_EVENT_STOP)
		t->skipped = ours->text;
	if (ours->kind == SL_EVENT_REOPEN)
		sl_count(t->suite->report, "reopened", "files");
}

static void compare_events(struct trial *t)
{
	uint32_t i = 0;
	for (; i < t->ours.count && i < t->hosts.count; i++) {
		const struct sl_event *a = &t->ours.events[i], *b = &t->hosts.events[i];
		if (a->kind != b->kind || a->line != b->line) {
			show(t, a, "from here on the two runs are not about the same statements\n");
			return;
		}
		if (a->kind == SL_EVENT_ANSWER)
			compare_answers(t, i, a, b);
		else if (a->kind != SL_EVENT_BEGIN && a->kind != SL_EVENT_END)
			compare_others(t, i, a, b);
	}
	struct sl_event none = {.text = "(before the first statement)"};
	if (t->ours.signal && !t->hosts.signal)
		show(t, t->ours.count ? &t->ours.events[t->ours.count - 1] : &none,
		     sl_printf(t->ours.arena, "RayQL %s\n", end_of(&t->ours)));
	else if (t->hosts.signal && !t->skipped)
		t->skipped = sl_printf(t->ours.arena, "DuckDB itself %s", end_of(&t->hosts));
}

static void run_trial(struct suite *s, const char *file, bool disk)
{
	struct trial t = {.suite = s, .file = file, .mode = disk ? "disk" : "memory", .disk = disk};
	run_engine(s, &sl_duckdb, file, disk, &t.hosts);
	run_engine(s, &sl_rayql, file, disk, &t.ours);
	uint64_t before = s->statements;
	compare_events(&t);
	bool nothing = s->statements == before && !t.differences;
	if (t.differences > s->options.shown)
		printf("---- %s (%s): %u differences in all\n", file, t.mode, t.differences);
	s->failed += t.differences > 0;
	s->skipped += !t.differences && (t.skipped || nothing);
	s->passed += !t.differences && !t.skipped && !nothing;
	if (!t.differences && (t.skipped || nothing))
		sl_count(s->report, "skipped", t.skipped ? kind_of_reason(t.ours.arena, t.skipped) : "no statement in it");
	if (s->options.verbose)
		printf("%s %s (%s)\n", t.differences ? "FAILED " : t.skipped ? "skipped" : "passed ", file, t.mode);
	sl_transcript_free(&t.ours);
	sl_transcript_free(&t.hosts);
	if (t.twice)
		sl_transcript_free(&t.again);
}

/* ---- the whole ---- */
static void usage(void)
{
	fputs("test_sqllogic [--root FOLDER] [--mode memory|disk] [--threads N] [--limit SECONDS] [--setup SQL] [--slow]\n"
	      "  [--shown N] [--verification] [--expectations] [--verbose] FILE|FOLDER...\n",
	      stderr);
	exit(2);
}

static void read_options(struct suite *s, int argc, char **argv)
{
	struct sl_options *o = &s->options;
	*o = (struct sl_options){.root = ".", .threads = 1, .limit_s = 60, .shown = 5, .memory = true, .disk = true};
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;
		if (!strcmp(argv[i], "--root") && more)
			o->root = argv[++i];
		else if (!strcmp(argv[i], "--mode") && more)
			o->memory = !strcmp(argv[++i], "memory"), o->disk = !o->memory;
		else if (!strcmp(argv[i], "--threads") && more)
			o->threads = (unsigned)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--limit") && more)
			o->limit_s = (unsigned)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--shown") && more)
			o->shown = (unsigned)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--setup") && more)
			o->setup = argv[++i];
		else if (!strcmp(argv[i], "--slow"))
			o->slow = true;
		else if (!strcmp(argv[i], "--verbose"))
			o->verbose = true;
		else if (!strcmp(argv[i], "--verification"))
			o->verification = true;
		else if (!strcmp(argv[i], "--expectations"))
			o->expectations = true;
		else if (argv[i][0] == '-' || !collect(s, argv[i]))
			usage();
	}
	o->root = realpath(o->root, NULL);
	if (!s->files.count || !o->root)
		usage();
}

static void print_summary(const struct suite *s)
{
	uint64_t rows = sl_report_sum(s->report, "methods");
	sl_report_print(s->report, "skipped", "skipped, as a whole or from there on:", 30);
	sl_report_print(s->report, "left out", "left out of files:", 10);
	sl_report_print(s->report, "excluded", "not compared by value:", 20);
	sl_report_print(s->report, "alike", "alike, but:", 10);
	sl_report_print(s->report, "expectations", "against what the files expect:", 5);
	sl_report_print(s->report, "slow", "slow:", 20);
	sl_report_print(s->report, "reopened", "reopened in the middle:", 1);
	sl_report_print(s->report, "methods", "queries with rows, by who answered:", 20);
	sl_report_print(s->report, "reasons", "why DuckDB answered:", 25);
	printf("%llu statements compared, %llu of them queries with rows\n%llu passed, %llu failed, %llu skipped\n",
	       (unsigned long long)s->statements, (unsigned long long)rows, (unsigned long long)s->passed,
	       (unsigned long long)s->failed, (unsigned long long)s->skipped);
}

int main(int argc, char **argv)
{
	struct suite s = {.arena = sl_arena_new(), .report = sl_report_new()};
	const char *temporary = getenv("TMPDIR");
	setvbuf(stdout, NULL, _IOLBF, 0); /* a run of an hour is looked at while it goes */
	read_options(&s, argc, argv);
	s.scratch = sl_printf(s.arena, "%s/rayql_sqllogic_XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(s.scratch)) {
		perror(s.scratch);
		return 2;
	}
	for (uint32_t i = 0; i < s.files.count; i++) {
		if (s.options.memory)
			run_trial(&s, s.files.items[i], false);
		if (s.options.disk)
			run_trial(&s, s.files.items[i], true);
	}
	remove_tree(s.scratch);
	print_summary(&s);
	sl_report_free(s.report);
	free((char *)s.options.root);
	rql_arena_free(s.arena);
	return s.failed || !s.passed;
}
