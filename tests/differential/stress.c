/* Threads on one database: some plan ever new statements, others repeat a few from the plan cache, and tables that nobody
 * else reads come and go. Every answer is checked. libduckdb is not instrumented, so that only running shows a race within it. */
#include "diff.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 32u
#define REPEATED 24u
#define VIEWS 3u
#define ROUND_S 10.0 /* then another database */

struct repeated { /* a query whose answer is known */
	const struct dt_select *query;
	char *sql;
	struct dt_answer host, whole;
};
struct stress {
	const struct dt_options *options;
	struct dt_statistics *stats;
	struct dt_session session;
	struct dt_arena arena;
	struct dt_random random;
	struct dt_table tables[3];
	struct dt_source sources[3];
	struct dt_view views[VIEWS];
	uint32_t view_count;
	struct repeated repeated[REPEATED];
	double end;
	_Atomic bool failed;
	pthread_mutex_t printing;
};
struct worker {
	struct stress *stress;
	uint32_t number;
	bool plans;
	struct dt_session session;
	struct dt_random random;
};

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(struct worker *w, const char *sql, const char *difference)
{
	struct stress *x = w->stress;
	pthread_mutex_lock(&x->printing);
	printf("\n==== with other threads: --stress --seed %llu, database %llu, thread %u\n%s;\n%s====\n",
	       (unsigned long long)x->options->seed, (unsigned long long)x->stats->worlds, w->number, sql, difference);
	fflush(stdout);
	pthread_mutex_unlock(&x->printing);
	x->stats->failures++;
	x->failed = true;
}

/* ---- the workers ---- */
static struct dt_select *new_query(struct stress *x, struct dt_arena *arena, struct dt_random *r)
{
	const struct dt_source *source = &x->sources[dt_below(r, 3)];
	uint32_t kind = dt_below(r, 100);
	if (x->view_count && kind < 30)
		return dt_query_for_view(arena, r, &x->views[dt_below(r, x->view_count)], dt_chance(r, 30));
	return kind < 55 ? dt_query_rows(arena, r, source) : dt_query_any(arena, r, source, true);
}

/* A table of the worker's own: what it writes ends nobody's plans but its own, yet moves the catalogue. */
static void write_something(struct worker *w)
{
	char sql[128];
	snprintf(sql, sizeof sql, "CREATE OR REPLACE TABLE own_%u AS SELECT range AS a FROM range(%u)", w->number,
	         1 + dt_below(&w->random, 1000));
	dt_session_run(&w->session, sql, NULL);
}

static void plan_on(struct worker *w)
{
	struct dt_arena arena = {0};
	char method[32], reason[256], *now = w->stress->stats->now_sql[w->number];
	for (uint64_t n = 1; seconds() < w->stress->end && !w->stress->failed; n++) {
		const struct dt_select *q = new_query(w->stress, &arena, &w->random);
		char *sql = dt_select_print(q, true);
		snprintf(now, sizeof w->stress->stats->now_sql[0], "%s", sql);
		char *difference =
			dt_session_check(&w->session, q, dt_chance(&w->random, 50), method, reason, sizeof reason);
		w->stress->stats->queries++;
		w->stress->stats->accelerated += strcmp(method, "host") != 0 && strcmp(method, "error") != 0;
		w->stress->stats->errors += strcmp(method, "error") == 0;
		if (difference)
			fail(w, sql, difference);
		free(difference);
		free(sql);
		if (n % 50 == 0) {
			write_something(w);
			dt_arena_clear(&arena);
		}
	}
	dt_arena_clear(&arena);
}

static void repeat(struct worker *w)
{
	struct stress *x = w->stress;
	while (seconds() < x->end && !x->failed) {
		const struct repeated *known = &x->repeated[dt_below(&w->random, REPEATED)];
		struct dt_answer ours;
		snprintf(x->stats->now_sql[w->number], sizeof x->stats->now_sql[0], "%s", known->sql);
		dt_answer_of(w->session.ours, known->sql, false, &ours);
		char *difference = dt_answer_compare(known->query, &ours, &known->host,
		                                     dt_select_limited(known->query) ? &known->whole : NULL);
		x->stats->repeated++;
		x->stats->accelerated += !ours.error && strcmp(ours.method, "host") != 0;
		if (difference)
			fail(w, known->sql, difference);
		free(difference);
		dt_answer_free(&ours);
	}
}

static void *work(void *state)
{
	struct worker *w = state;
	if (w->plans)
		plan_on(w);
	else
		repeat(w);
	return NULL;
}

/* ---- the database ---- */
static void make_types(struct stress *x, const struct dt_table *t)
{
	for (const char *at = t->types; at && *at;) {
		size_t n = strcspn(at, ";");
		dt_session_run(&x->session, dt_printf(&x->arena, "%.*s", (int)n, at), NULL);
		at += n + (at[n] == ';');
	}
}

static void make_tables(struct stress *x)
{
	static const uint32_t dims[2] = {1, 2}, keys[2] = {0, 1};
	uint32_t rows[3] = {0, 1 + dt_below(&x->random, 60), 1 + dt_below(&x->random, 8)};
	rows[0] = 2000 + dt_below(&x->random, 15000);
	for (uint32_t i = 3; i-- > 0;) {
		struct dt_table *t = &x->tables[i];
		dt_table_make(&x->arena, &x->random, i, rows[i], i ? NULL : &rows[1], i ? 0 : 2, i > 0, t);
		make_types(x, t);
		dt_session_run(&x->session, dt_table_create(&x->arena, t), NULL);
		dt_session_run(&x->session, dt_printf(&x->arena, "%s0, %u) AS r(i)", dt_table_insert(&x->arena, t), rows[i]),
		               NULL);
	}
	dt_source_single(&x->arena, &x->tables[0], 0, &x->sources[0]);
	dt_source_star(&x->arena, x->tables, dims, keys, 2, 0, &x->sources[1]);
	dt_source_outer(&x->arena, &x->random, x->tables, dims, keys, 2, 0, &x->sources[2]);
	for (uint32_t i = 0; i < 3; i++) {
		x->sources[i].all = x->tables;
		x->sources[i].all_count = 3;
		dt_session_run(&x->session, x->sources[i].view, NULL);
	}
	if (dt_chance(&x->random, 50))
		dt_session_run(&x->session, "CREATE INDEX columns_0 ON t0 USING columns (*)", NULL);
	for (uint32_t i = 0; i < VIEWS; i++) {
		struct dt_view *v = &x->views[x->view_count];
		dt_view_make(&x->arena, &x->random, &x->sources[dt_below(&x->random, 2)], i, v);
		char *sql = dt_view_print(v);
		v->exists = v->fresh = dt_session_run(&x->session, sql, NULL);
		x->view_count += v->exists;
		free(sql);
	}
}

static void know_answers(struct stress *x)
{
	for (uint32_t i = 0; i < REPEATED; i++) {
		struct repeated *known = &x->repeated[i];
		known->query = new_query(x, &x->arena, &x->random);
		known->sql = dt_select_print(known->query, true);
		dt_answer_of(x->session.host, known->sql, false, &known->host);
		if (dt_select_limited(known->query)) {
			char *all = dt_select_print(known->query, false);
			dt_answer_of(x->session.host, all, false, &known->whole);
			free(all);
		}
	}
}

static void forget_answers(struct stress *x)
{
	for (uint32_t i = 0; i < REPEATED; i++) {
		dt_answer_free(&x->repeated[i].host);
		dt_answer_free(&x->repeated[i].whole);
		free(x->repeated[i].sql);
	}
}

/* ---- rounds ---- */
static void run_workers(struct stress *x)
{
	struct worker workers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	uint32_t count = x->options->planners + x->options->readers, started = 0;
	for (; started < count && started < MAX_THREADS; started++) {
		struct worker *w = &workers[started];
		*w = (struct worker){.stress = x, .number = started, .plans = started < x->options->planners};
		w->random.state = dt_next(&x->random);
		if (!dt_session_join(&w->session, &x->session) ||
		    pthread_create(&threads[started], NULL, work, w) != 0) {
			x->stats->failures++;
			break;
		}
	}
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		dt_session_leave(&workers[i].session);
	}
}

static bool run_round(const struct dt_options *options, uint64_t number, double end, struct dt_statistics *stats)
{
	struct stress *x = calloc(1, sizeof *x);
	char folder[] = "/tmp/rayql_diff_XXXXXX", file[64];
	bool on_file = number % 3 == 2 && mkdtemp(folder);
	if (!x)
		exit(2);
	x->options = options;
	x->stats = stats;
	x->random.state = options->seed * 0x9e3779b97f4a7c15u + number * 0xd1342543de82ef95u + 1;
	stats->worlds = number;
	pthread_mutex_init(&x->printing, NULL);
	snprintf(file, sizeof file, "%s/d.db", folder);
	bool ok = dt_session_open(&x->session, on_file ? file : NULL, options->threads ? options->threads : 2,
	                          number % 2 ? "SET rayql_auto_columns = on" : options->setup);
	if (ok) {
		make_tables(x);
		know_answers(x);
		x->end = seconds() + ROUND_S;
		x->end = x->end < end ? x->end : end;
		run_workers(x);
		forget_answers(x);
		dt_session_close(&x->session);
	} else {
		stats->failures++;
	}
	if (on_file)
		dt_remove_tree(folder);
	ok = ok && !x->failed;
	dt_arena_clear(&x->arena);
	pthread_mutex_destroy(&x->printing);
	free(x);
	return ok;
}

void dt_stress(const struct dt_options *options, struct dt_statistics *stats)
{
	double end = seconds() + (double)options->stress_s;
	alarm((unsigned)(3 * options->stress_s + 120)); /* ends the process: somebody waits for ever */
	for (uint64_t number = 0; seconds() < end && run_round(options, number, end, stats); number++)
		;
	alarm(0);
}
