/* A world: one database, its tables and views, queries against both engines, and changes between them. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SOURCES 8u
#define MAX_VIEWS 5u
#define PHASES 5u
#define QUERIES_A_PHASE 22u

/* ---- sessions ---- */
void dt_remove_tree(const char *path)
{
	char command[512];
	if (strlen(path) > 8 && snprintf(command, sizeof command, "rm -rf -- '%s'", path) < (int)sizeof command &&
	    system(command) != 0)
		fprintf(stderr, "differential: cannot remove %s\n", path);
}

static bool execute(rayql_connection *con, const char *sql, char **error)
{
	rayql_error *err = NULL;
	bool ok = rayql_query(con, sql, NULL, &err) == RAYQL_OK;
	if (!ok && error) {
		struct dt_text text = {0};
		dt_put(&text, "%s", rayql_error_message(err));
		free(*error);
		*error = text.data;
	}
	rayql_error_free(err);
	return ok;
}

static bool connect_both(struct dt_session *s)
{
	char *error = NULL;
	rayql_error *err = NULL;
	static const char *const off[] = {"cube", "scan", "group", "index", "sieve"};
	char sql[64];
	s->methods_off = false;
	bool ok = rayql_connect(s->db, &s->ours, &err) == RAYQL_OK && rayql_connect(s->db, &s->host, &err) == RAYQL_OK &&
	          execute(s->ours, "SET rayql_force = on", &error) && (!s->setup || execute(s->ours, s->setup, &error));
	for (uint32_t m = 0; m < sizeof off / sizeof off[0] && ok; m++) {
		snprintf(sql, sizeof sql, "SET rayql_enable_%s = off", off[m]);
		ok = execute(s->host, sql, &error);
	}
	if (!ok)
		fprintf(stderr, "differential: cannot connect: %s\n", err ? rayql_error_message(err) : error ? error : "?");
	rayql_error_free(err);
	free(error);
	return ok;
}

bool dt_session_open(struct dt_session *s, const char *path, uint32_t threads, const char *setup)
{
	rayql_config config = {.size = sizeof config, .threads = threads};
	rayql_error *err = NULL;
	*s = (struct dt_session){.threads = threads, .setup = setup};
	if (path) {
		struct dt_text copy = {0};
		dt_put(&copy, "%s", path);
		s->path = copy.data;
	}
	if (rayql_open(path, &config, &s->db, &err) != RAYQL_OK) {
		fprintf(stderr, "differential: cannot open %s: %s\n", path ? path : "memory", rayql_error_message(err));
		rayql_error_free(err);
		free(s->path);
		s->path = NULL;
		return false;
	}
	if (connect_both(s))
		return true;
	dt_session_close(s);
	return false;
}

bool dt_session_join(struct dt_session *s, const struct dt_session *other)
{
	*s = (struct dt_session){.db = other->db, .threads = other->threads, .setup = other->setup};
	return connect_both(s);
}

void dt_session_leave(struct dt_session *s)
{
	s->db = NULL;
	dt_session_close(s);
}

void dt_session_close(struct dt_session *s)
{
	rayql_disconnect(s->ours);
	rayql_disconnect(s->host);
	rayql_close(s->db);
	free(s->path);
	*s = (struct dt_session){0};
}

bool dt_session_reopen(struct dt_session *s, bool without_side_files)
{
	char path[128], side[160];
	uint32_t threads = s->threads;
	const char *setup = s->setup;
	if (!s->path)
		return true;
	snprintf(path, sizeof path, "%s", s->path);
	dt_session_close(s);
	snprintf(side, sizeof side, "%s.rayql", path);
	if (without_side_files)
		dt_remove_tree(side);
	return dt_session_open(s, path, threads, setup);
}

bool dt_session_run(struct dt_session *s, const char *sql, char **error)
{
	bool ok = execute(s->ours, sql, error);
	if (!strncmp(sql, "SET ", 4) || !strncmp(sql, "RESET ", 6))
		execute(s->host, sql, NULL);
	if (!strncmp(sql, "SET default_collation", 21))
		s->folds = strstr(sql, "''") == NULL;
	if (!strcmp(sql, "BEGIN"))
		s->in_transaction = true;
	if (!strcmp(sql, "COMMIT") || !strcmp(sql, "ROLLBACK"))
		s->in_transaction = false;
	return ok;
}

char *dt_entry_print(const struct dt_entry *e)
{
	struct dt_text out = {0};
	char *text = NULL;
	switch (e->kind) {
	case DT_SQL:
		dt_put(&out, "%s;", e->text);
		break;
	case DT_OTHER:
		dt_put(&out, "/* on another connection: */ %s;", e->text);
		break;
	case DT_ROWS:
		dt_put(&out, "%s%lld, %lld%s;", e->text, (long long)e->low, (long long)e->high, e->after);
		break;
	case DT_VIEW:
		text = dt_view_print(e->view);
		dt_put(&out, "%s;", text);
		break;
	case DT_QUERY:
		text = dt_select_print(e->query, true);
		dt_put(&out, "%s;", text);
		break;
	case DT_REOPEN:
		dt_put(&out, "-- close and open the database file again");
		break;
	case DT_REOPEN_BARE:
		dt_put(&out, "-- close the database, delete its side folder, open it again");
		break;
	}
	free(text);
	return out.data;
}

/* Some statements take the way of prepared ones; the text decides, so that a replay does the same. */
static bool prepared(const char *sql)
{
	return strlen(sql) % 5 == 0;
}

bool dt_session_replay(struct dt_session *s, const struct dt_entry *e, char **error)
{
	if (e->kind == DT_REOPEN || e->kind == DT_REOPEN_BARE)
		return dt_session_reopen(s, e->kind == DT_REOPEN_BARE);
	char *sql = dt_entry_print(e);
	bool ok;
	if (e->kind == DT_OTHER) {
		ok = execute(s->host, e->text, error);
		if (!strcmp(e->text, "BEGIN"))
			s->other_in_transaction = true;
		if (!strcmp(e->text, "COMMIT") || !strcmp(e->text, "ROLLBACK"))
			s->other_in_transaction = false;
	} else if (e->kind == DT_QUERY) {
		struct dt_answer a;
		dt_answer_of(s->ours, sql, prepared(sql), &a);
		ok = !a.error;
		dt_answer_free(&a);
	} else {
		sql[strlen(sql) - 1] = '\0'; /* the semicolon */
		ok = dt_session_run(s, sql, error);
	}
	free(sql);
	return ok;
}

/* In a transaction that a query has aborted, nothing can be set: the methods stay off until after it. */
static void switch_methods(struct dt_session *s, bool on)
{
	static const char *const methods[] = {"cube", "rtcudb", "scan", "group", "index", "sieve"};
	char sql[64];
	s->methods_off = !on;
	for (uint32_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
		snprintf(sql, sizeof sql, "SET rayql_enable_%s = %s", methods[m], on ? "on" : "off");
		s->methods_off |= !execute(s->ours, sql, NULL);
	}
}

static void host_answer(struct dt_session *s, const char *sql, struct dt_answer *out)
{
	if (!s->in_transaction && !s->other_in_transaction) {
		dt_answer_of(s->host, sql, false, out);
		return;
	}
	switch_methods(s, false);
	dt_answer_of(s->ours, sql, false, out);
	switch_methods(s, true);
}

char *dt_session_check(struct dt_session *s, const struct dt_select *q, bool host_first, char *method, char *reason,
                       size_t reason_size)
{
	struct dt_answer ours, hosts, whole = {0};
	char *sql = dt_select_print(q, true), *all = dt_select_print(q, false);
	bool limited = dt_select_limited(q);
	if (s->methods_off)
		switch_methods(s, true);
	if (host_first)
		host_answer(s, sql, &hosts);
	dt_answer_of(s->ours, sql, prepared(sql), &ours);
	rayql_query_info info = {.size = sizeof info};
	s->bound = rayql_last_query(s->ours, &info) == RAYQL_OK && info.plan_bound;
	if (!host_first)
		host_answer(s, sql, &hosts);
	if (limited)
		host_answer(s, all, &whole);
	if (s->folds) {
		dt_answer_fold(&ours);
		dt_answer_fold(&hosts);
		dt_answer_fold(&whole);
	}
	snprintf(method, 32, "%s", ours.error ? "error" : ours.method);
	snprintf(reason, reason_size, "%s", ours.error ? ours.error : ours.reason);
	char *difference = dt_answer_compare(q, &ours, &hosts, limited ? &whole : NULL);
	if (!difference && !hosts.error && strcmp(hosts.method, "host") != 0) {
		struct dt_text text = {0};
		dt_put(&text, "the reference was not answered by the host\n");
		difference = text.data;
	}
	dt_answer_free(&ours);
	dt_answer_free(&hosts);
	dt_answer_free(&whole);
	free(sql);
	free(all);
	return difference;
}

/* ---- making a world ---- */
struct world {
	const struct dt_options *options;
	struct dt_statistics *stats;
	uint64_t number;
	uint32_t job;
	struct dt_arena arena;
	struct dt_random random;
	struct dt_random chosen; /* of indexes: a stream of its own, so that worlds without them are what they were */
	struct dt_log log;
	struct dt_session session;
	bool on_file, wrote, failed;
	bool unusual; /* settings give statements another meaning: views and columns may be refused */
	bool other;   /* writes go through the other connection */
	bool columns; /* tables have columns structures */
	bool large;   /* a table of several row groups of DuckDB's, in a file */
	bool indexes; /* some tables have sieves and indexes for look-ups, which give rows wherever they answer a condition */
	bool held[DT_MAX_TABLES], sieved[DT_MAX_TABLES], indexed[DT_MAX_TABLES];
	uint32_t threads, table_count, source_count, view_count;
	uint32_t outer_count; /* sources behind those, of which no view is made */
	struct dt_table tables[DT_MAX_TABLES];
	struct dt_source sources[MAX_SOURCES];
	struct dt_view views[MAX_VIEWS];
};

static struct dt_entry *log_add(struct world *w, struct dt_entry entry)
{
	struct dt_log *log = &w->log;
	if (log->count == log->capacity) {
		uint32_t capacity = log->capacity ? 2 * log->capacity : 64;
		struct dt_entry *grown = dt_alloc(&w->arena, capacity * sizeof *grown);
		if (log->count)
			memcpy(grown, log->entries, log->count * sizeof *grown);
		log->entries = grown;
		log->capacity = capacity;
	}
	log->entries[log->count] = entry;
	return &log->entries[log->count++];
}

static bool perform(struct world *w, struct dt_entry entry)
{
	char *error = NULL;
	struct dt_entry *e = log_add(w, entry);
	char *text = dt_entry_print(e);
	snprintf(w->stats->now_sql[w->job], sizeof w->stats->now_sql[0], "%s", text);
	bool ok = dt_session_replay(&w->session, e, &error);
	if (w->options->verbose)
		printf("%s%s%s\n", text, ok ? "" : "\n  -> ", ok ? "" : error ? error : "failed");
	free(text);
	free(error);
	return ok;
}

static bool perform_sql(struct world *w, const char *sql)
{
	return perform(w, (struct dt_entry){.kind = w->other ? DT_OTHER : DT_SQL, .text = sql});
}

static bool perform_rows(struct world *w, struct dt_table *t, int64_t count)
{
	int64_t low = t->next_row;
	t->next_row += count;
	return perform(w, (struct dt_entry){.kind = DT_ROWS,
	                                    .text = dt_table_insert(&w->arena, t),
	                                    .after = ") AS r(i)",
	                                    .low = low,
	                                    .high = t->next_row});
}

static uint32_t row_count(struct dt_random *r)
{
	uint32_t kind = dt_below(r, 100);
	return kind < 4    ? 0
	       : kind < 8  ? 1
	       : kind < 45 ? 2 + dt_below(r, 50)
	       : kind < 85 ? 50 + dt_below(r, 900)
	       : kind < 96 ? 1000 + dt_below(r, 4000)
	                   : 9000 + dt_below(r, 14000); /* several blocks of a columns structure */
}

static void make_tables(struct world *w)
{
	struct dt_random *r = &w->random;
	uint32_t dims = dt_chance(r, 45) ? 0 : 1 + dt_below(r, DT_MAX_TABLES - 1), keys[DT_MAX_TABLES] = {0};
	w->table_count = 1 + dims;
	for (uint32_t i = 1; i <= dims; i++) {
		uint32_t rows = 1 + dt_below(r, dt_chance(r, 50) ? 8 : 80);
		dt_table_make(&w->arena, r, i, rows, NULL, 0, true, &w->tables[i]);
		keys[i - 1] = rows;
	}
	if (dims) /* one key more: the same dimension joined twice */
		keys[dims] = w->tables[1].rows;
	uint32_t rows = w->large ? 123000 + dt_below(r, 200000) : row_count(r);
	dt_table_make(&w->arena, r, 0, rows, keys, dims ? dims + 1 : 0, false, &w->tables[0]);
	for (uint32_t i = 0; i < w->table_count; i++) {
		struct dt_table *t = &w->tables[i];
		for (const char *at = t->types; at && *at;) {
			size_t n = strcspn(at, ";");
			perform_sql(w, dt_printf(&w->arena, "%.*s", (int)n, at));
			at += n + (at[n] == ';');
		}
		perform_sql(w, dt_table_create(&w->arena, t));
		t->next_row = 0;
		perform_rows(w, t, t->rows);
	}
}

static void make_sources(struct world *w)
{
	uint32_t dims[DT_MAX_TABLES], keys[DT_MAX_TABLES], count = w->table_count - 1;
	dt_source_single(&w->arena, &w->tables[0], 0, &w->sources[w->source_count++]);
	for (uint32_t star = 0; count && star < 2; star++) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < count; i++) {
			if (dt_chance(&w->random, 70) || (n == 0 && i == count - 1)) {
				dims[n] = i + 1;
				keys[n++] = i;
			}
		}
		if (dt_chance(&w->random, 25) && n < DT_MAX_TABLES) { /* the first dimension again, by the spare key */
			dims[n] = 1;
			keys[n++] = count;
		}
		dt_source_star(&w->arena, w->tables, dims, keys, n, star, &w->sources[w->source_count++]);
	}
	if (count && w->columns) {
		for (uint32_t i = 0; i < count; i++) {
			dims[i] = i + 1;
			keys[i] = i;
		}
		dt_source_outer(&w->arena, &w->random, w->tables, dims, keys, 1 + dt_below(&w->random, count), 0,
		                &w->sources[w->source_count]);
		w->outer_count = 1;
	}
	for (uint32_t i = 0; i < w->source_count + w->outer_count; i++) {
		w->sources[i].all = w->tables;
		w->sources[i].all_count = w->table_count;
		perform_sql(w, w->sources[i].view);
	}
}

/* Columns of all tables, or of some of them. */
static void make_columns(struct world *w, uint32_t percent)
{
	for (uint32_t i = 0; i < w->table_count && w->columns; i++) {
		if (w->held[i] || !dt_chance(&w->random, i ? percent / 2 : percent))
			continue;
		w->held[i] = perform_sql(w, dt_printf(&w->arena, "CREATE OR REPLACE INDEX columns_%u ON %s USING columns (*)%s", i,
		                                      w->tables[i].name,
		                                      dt_chance(&w->random, 50) ? " WITH (refresh = auto)" : ""));
		w->stats->columns += w->held[i];
	}
}

/* ---- sieves and indexes ---- */
/* So many of the table's columns, in some order. */
static const char *some_columns(struct world *w, const struct dt_table *t, uint32_t count)
{
	uint32_t first = dt_below(&w->chosen, t->column_count), step = 1 + dt_below(&w->chosen, 3);
	const char *list = "";
	for (uint32_t i = 0; i < count && i * step < t->column_count; i++)
		list = dt_printf(&w->arena, "%s%s%s", list, i ? ", " : "", t->columns[(first + i * step) % t->column_count].item.name);
	return list;
}

static bool make_sieve(struct world *w, uint32_t table)
{
	static const char *const forms[] = {"", " WITH (vectors = 3)", " WITH (vectors = 8, components = 1, refine = positions)",
	                                    " WITH (vectors = 5, components = 2, refine = values)",
	                                    " WITH (components = 1, refine = blocks)"};
	const struct dt_table *t = &w->tables[table];
	const char *form = forms[dt_below(&w->chosen, sizeof forms / sizeof forms[0])];
	return perform_sql(w, dt_printf(&w->arena, "CREATE OR REPLACE INDEX sieve_%u ON %s USING sieve (%s)%s", table, t->name,
	                                some_columns(w, t, 1 + dt_below(&w->chosen, 5)), form));
}

static bool make_index(struct world *w, uint32_t table)
{
	static const char *const forms[] = {"sorted", "btree", "hash", "auto"};
	const struct dt_table *t = &w->tables[table];
	const char *form = forms[dt_below(&w->chosen, sizeof forms / sizeof forms[0])];
	return perform_sql(w, dt_printf(&w->arena, "CREATE OR REPLACE INDEX index_%u ON %s USING %s (%s)", table, t->name, form,
	                                some_columns(w, t, dt_chance(&w->chosen, 75) ? 1 : 2)));
}

/* Types that an index cannot have are refused, which leaves the table without. */
static void make_indexes(struct world *w)
{
	for (uint32_t i = 0; i < w->table_count && w->indexes; i++) {
		if (!w->sieved[i] && dt_chance(&w->chosen, 60))
			w->stats->indexes += w->sieved[i] = make_sieve(w, i);
		if (!w->indexed[i] && dt_chance(&w->chosen, 60))
			w->stats->indexes += w->indexed[i] = make_index(w, i);
	}
	if (w->indexes) /* a file that is opened again has none of the session's settings */
		perform_sql(w, "SET rayql_force = rows");
}

static void change_index(struct world *w, const char *kind, uint32_t table, bool *there)
{
	const uint32_t dice = dt_below(&w->chosen, 100);
	if (*there && dice < 25) {
		perform_sql(w, dt_printf(&w->arena, "DROP INDEX %s_%u", kind, table));
		*there = false;
	} else if (*there && dice < 70) {
		perform_sql(w, dt_printf(&w->arena, "REFRESH INDEX %s_%u", kind, table));
	}
}

static void change_indexes(struct world *w)
{
	for (uint32_t i = 0; i < w->table_count && w->indexes; i++) {
		change_index(w, "sieve", i, &w->sieved[i]);
		change_index(w, "index", i, &w->indexed[i]);
	}
	make_indexes(w);
}

static void change_columns(struct world *w)
{
	for (uint32_t i = 0; i < w->table_count && w->columns; i++) {
		if (w->held[i] && dt_chance(&w->random, 15)) {
			perform_sql(w, dt_printf(&w->arena, "DROP INDEX columns_%u", i));
			w->held[i] = false;
		} else if (w->held[i] && dt_chance(&w->random, 60)) {
			perform_sql(w, dt_printf(&w->arena, "REFRESH INDEX columns_%u", i));
		}
	}
	make_columns(w, 60);
}

static void create_view(struct world *w, struct dt_view *v)
{
	v->exists = v->fresh = perform(w, (struct dt_entry){.kind = DT_VIEW, .view = v});
	w->stats->views++;
	if (!v->exists)
		w->stats->views_refused++;
}

static void make_views(struct world *w)
{
	uint32_t want = 2 + dt_below(&w->random, MAX_VIEWS - 1);
	for (; w->view_count < want && w->view_count < MAX_VIEWS; w->view_count++) {
		struct dt_view *v = &w->views[w->view_count];
		dt_view_make(&w->arena, &w->random, &w->sources[dt_below(&w->random, w->source_count)], w->view_count, v);
		create_view(w, v);
	}
}

/* ---- queries ---- */
static bool usable(const struct world *w, const struct dt_view *v)
{
	if (!v->exists || w->unusual || (w->session.in_transaction && (w->wrote || !v->fresh)))
		return false;
	return v->fresh || v->automatic;
}

static struct dt_select *next_query(struct world *w)
{
	struct dt_random *r = &w->random;
	const struct dt_view *v = &w->views[dt_below(r, w->view_count)];
	uint32_t kind = dt_below(r, 100);
	bool any = !v->exists || kind < (w->columns ? 60 : 8);
	uint32_t sources = w->source_count + w->outer_count;
	const struct dt_source *source = &w->sources[dt_below(r, sources)];
	if (w->outer_count && dt_chance(r, 25))
		source = &w->sources[w->source_count];
	struct dt_select *q = any && w->columns && dt_chance(r, 25) ? dt_query_rows(&w->arena, r, source)
	                      : any                                 ? dt_query_any(&w->arena, r, source, w->columns)
	                      : kind < 20                           ? dt_query_for_view(&w->arena, r, v, true)
	                      : kind < 28                           ? dt_query_by_name(&w->arena, r, v)
	                                                            : dt_query_for_view(&w->arena, r, v, false);
	q->eligible = q->eligible && usable(w, v);
	return q;
}

/* All columns of the fact table are in a structure; whether it is fresh is not looked at. */
static void count_scan(struct world *w, const struct dt_select *q, const char *method)
{
	bool scan = strcmp(method, "scan") == 0 || strcmp(method, "index") == 0;
	if (!w->held[0] || w->session.in_transaction || w->unusual || (q->eligible && !scan))
		return;
	w->stats->scannable++;
	w->stats->scanned += scan;
}

static void count_query(struct world *w, const struct dt_select *q, const char *method)
{
	bool fast = strcmp(method, "host") != 0 && strcmp(method, "error") != 0;
	w->stats->queries++;
	w->stats->asked[w->job]++;
	w->stats->accelerated += fast;
	w->stats->errors += strcmp(method, "error") == 0;
	if (q->eligible && strcmp(method, "error") != 0) {
		w->stats->eligible++;
		w->stats->accelerated_eligible += fast;
	}
}

static void ask(struct world *w, const struct dt_select *q);

static void run_query(struct world *w)
{
	const struct dt_select *q = next_query(w);
	if (w->log.count &&
	    dt_chance(&w->random, 8)) { /* one of the queries before, again: from the plan cache, if it may */
		const struct dt_entry *before = &w->log.entries[dt_below(&w->random, w->log.count)];
		if (before->kind == DT_QUERY) {
			struct dt_select *copy = dt_alloc(&w->arena, sizeof *copy);
			*copy = *before->query;
			copy->eligible = false;
			q = copy;
		}
	}
	ask(w, q);
	for (int n = 0; n < 3 && q->where_count && dt_chance(&w->random, 40) && !w->failed; n++) {
		w->stats->others++;
		ask(w, dt_query_other_values(&w->arena, &w->random, q));
	}
}

/* Did a sieve or an index give the rows? */
static void look_at_plan(struct world *w, const char *sql)
{
	struct dt_answer plan;
	dt_answer_of(w->session.ours, dt_printf(&w->arena, "EXPLAIN %s", sql), false, &plan);
	for (uint64_t i = 0; !plan.error && i < plan.row_count * plan.column_count; i++)
		if (plan.cells[i] && strstr(plan.cells[i], "under rows of")) {
			w->stats->looked_up++;
			break;
		}
	w->stats->explained++;
	dt_answer_free(&plan);
}

static void ask(struct world *w, const struct dt_select *q)
{
	char method[32], reason[256], *sql = dt_select_print(q, true);
	snprintf(w->stats->now_sql[w->job], sizeof w->stats->now_sql[0], "%s", sql);
	char *difference = dt_session_check(&w->session, q, dt_chance(&w->random, 50), method, reason, sizeof reason);
	w->stats->bound += w->session.bound;
	if (w->indexes && dt_chance(&w->chosen, 20))
		look_at_plan(w, sql);
	count_query(w, q, method);
	count_scan(w, q, method);
	if (w->options->verbose)
		printf("%s; -- %s%s: %s\n", sql, q->eligible ? "" : "(not eligible) ", method, reason);
	free(sql);
	if (difference) {
		w->stats->failures++;
		w->failed = true;
		dt_reduce(w->options, w->number, &w->log, q, difference, w->threads, w->on_file);
		free(difference);
	}
	log_add(w, (struct dt_entry){.kind = DT_QUERY, .query = q});
}

/* ORDER BY the column that grows with the row, and nothing else: DuckDB then leaves out whole row groups. */
static void order_by_growth(struct dt_random *r, struct dt_select *q)
{
	for (uint32_t c = 0; c < q->source->column_count; c++) {
		if (strcmp(q->source->columns[c].name, "seq") != 0)
			continue;
		q->keys[0] = q->source->columns[c];
		q->order[0] = (struct dt_order){.item = 0, .descending = dt_chance(r, 40), .nulls = (int)dt_below(r, 3)};
		q->order_count = 1;
		q->where_count = dt_chance(r, 70) ? 0 : q->where_count;
	}
}

/* The same rows page after page, as a program shows them: the first pages, some in the middle, those around the end. */
static void run_pages(struct world *w)
{
	struct dt_random *r = &w->random;
	const struct dt_source *source = &w->sources[dt_below(r, w->source_count)];
	struct dt_select *q = dt_query_rows(&w->arena, r, w->large ? &w->sources[0] : source);
	int64_t size = 1 + dt_below(r, dt_chance(r, 50) ? 20 : 3000), rows = w->tables[0].rows, offset = 0;
	if (q->wrap != DT_PLAIN)
		return;
	if (dt_chance(r, 50))
		order_by_growth(r, q);
	for (uint32_t page = 0; page < 6 && (!w->failed || w->options->keep_going); page++) {
		struct dt_select *copy = dt_alloc(&w->arena, sizeof *copy);
		*copy = *q;
		copy->limit = size;
		copy->offset = offset;
		w->stats->pages++;
		ask(w, copy);
		offset += size;
		if (page == 2 && rows > 6 * size)
			offset = (int64_t)dt_below(r, (uint32_t)rows) / size * size;
		if (page == 4)
			offset = rows - rows % size;
	}
}

static void run_queries(struct world *w, uint32_t count)
{
	count = w->options->sparse ? (count + 2) / 3 : count;
	for (uint32_t i = 0; i < count && (!w->failed || w->options->keep_going); i++)
		run_query(w);
}

/* ---- changes ---- */
static void touched(struct world *w, uint32_t table)
{
	for (uint32_t i = 0; i < w->view_count; i++)
		if (w->views[i].select.source->tables >> table & 1)
			w->views[i].fresh = false;
	w->wrote = true;
}

static const char *literal_of(struct world *w, const struct dt_column *c)
{
	return c->item.value_count ? c->item.values[dt_below(&w->random, c->item.value_count)] : "NULL";
}

static void write_something(struct world *w)
{
	struct dt_random *r = &w->random;
	uint32_t n = dt_below(r, w->table_count);
	struct dt_table *t = &w->tables[n];
	const struct dt_column *c = &t->columns[dt_below(r, t->column_count)];
	const struct dt_column *d = &t->columns[dt_below(r, t->column_count)];
	switch (w->other ? 2 + dt_below(r, 3) : dt_below(r, 5)) {
	case 0:
	case 1:
		perform_rows(w, t, 1 + dt_below(r, dt_chance(r, 70) ? 20 : 500));
		break;
	case 2:
		perform_sql(w, dt_printf(&w->arena, "UPDATE %s SET %s = %s WHERE %s", t->name, c->item.name,
		                         dt_chance(r, 20) ? "NULL" : literal_of(w, c), dt_predicate(&w->arena, r, &d->item)));
		break;
	case 3:
		perform_sql(w, dt_printf(&w->arena, "DELETE FROM %s WHERE %s", t->name, dt_predicate(&w->arena, r, &c->item)));
		break;
	default:
		perform_sql(w,
		            dt_printf(&w->arena, "INSERT INTO %s (%s) VALUES (%s)", t->name, c->item.name, literal_of(w, c)));
		break;
	}
	touched(w, n);
}

/* Somebody else writes: at once, or in a transaction that is open while we ask. */
static void write_elsewhere(struct world *w)
{
	w->other = true;
	bool open = dt_chance(&w->random, 50);
	if (open)
		perform_sql(w, "BEGIN");
	write_something(w);
	if (open) {
		w->other = false;
		run_queries(w, 3);
		w->other = true;
		perform_sql(w, dt_chance(&w->random, 60) ? "COMMIT" : "ROLLBACK");
	}
	w->other = false;
	run_queries(w, 3);
}

static void refresh_all(struct world *w)
{
	for (uint32_t i = 0; i < w->view_count; i++)
		if (w->views[i].exists && !w->views[i].fresh)
			w->views[i].fresh = perform_sql(w, dt_printf(&w->arena, "REFRESH MATERIALIZED VIEW %s", w->views[i].name));
}

static void transaction(struct world *w)
{
	bool commit = dt_chance(&w->random, 50), elsewhere = dt_chance(&w->random, 30), fresh[MAX_VIEWS];
	for (uint32_t i = 0; i < MAX_VIEWS; i++)
		fresh[i] = w->views[i].fresh;
	w->wrote = false;
	perform_sql(w, "BEGIN");
	run_queries(w, dt_below(&w->random, 4));
	if (elsewhere) /* our snapshot may be older than this */
		write_elsewhere(w);
	if (dt_chance(&w->random, 75)) {
		write_something(w);
		run_queries(w, 4);
		if (dt_chance(&w->random, 40))
			write_something(w);
		run_queries(w, 2);
	}
	perform_sql(w, commit ? "COMMIT" : "ROLLBACK");
	for (uint32_t i = 0; i < MAX_VIEWS && !commit && !elsewhere; i++)
		w->views[i].fresh = fresh[i];
	run_queries(w, 4);
}

static void alter(struct world *w)
{
	uint32_t n = dt_below(&w->random, w->table_count);
	struct dt_table *t = &w->tables[n];
	const char *name = t->columns[dt_below(&w->random, t->column_count)].item.name;
	switch (dt_below(&w->random, 4)) {
	case 0:
		perform_sql(w,
		            dt_printf(&w->arena, "ALTER TABLE %s ADD COLUMN extra%u INTEGER DEFAULT 5", t->name, w->log.count));
		break;
	case 1:
		perform_sql(w, dt_printf(&w->arena, "ALTER TABLE %s RENAME COLUMN %s TO renamed", t->name, name));
		touched(w, n);
		run_queries(w, 4);
		perform_sql(w, dt_printf(&w->arena, "ALTER TABLE %s RENAME COLUMN renamed TO %s", t->name, name));
		break;
	case 2:
		perform_sql(w, dt_printf(&w->arena, "ALTER TABLE %s RENAME TO moved", t->name));
		touched(w, n);
		run_queries(w, 3);
		perform_sql(w, dt_printf(&w->arena, "ALTER TABLE moved RENAME TO %s", t->name));
		break;
	default:
		perform_sql(w, dt_printf(&w->arena, "DROP TABLE %s", t->name));
		w->held[n] = w->sieved[n] = w->indexed[n] = false;
		touched(w, n);
		run_queries(w, 2);
		perform_sql(w, dt_table_create(&w->arena, t));
		perform_rows(w, t, t->rows / 2 + 1);
		break;
	}
	touched(w, n);
	run_queries(w, 4);
}

static void replace_views(struct world *w)
{
	for (uint32_t i = 0; i < w->view_count; i++) {
		struct dt_view *v = &w->views[i];
		if (!dt_chance(&w->random, 50))
			continue;
		if (v->exists && dt_chance(&w->random, 60)) {
			perform_sql(w, dt_printf(&w->arena, "DROP MATERIALIZED VIEW %s", v->name));
			v->exists = v->fresh = false;
			run_queries(w, 2);
		}
		if (dt_chance(&w->random, 60)) { /* a new definition; the log keeps the old one */
			struct dt_view *next = dt_alloc(&w->arena, sizeof *next);
			dt_view_make(&w->arena, &w->random, &w->sources[dt_below(&w->random, w->source_count)], i, next);
			create_view(w, next);
			*v = *next;
		} else {
			struct dt_view *same = dt_alloc(&w->arena, sizeof *same);
			*same = *v;
			create_view(w, same);
			v->exists = same->exists;
			v->fresh = same->fresh;
		}
	}
}

/* One of the settings that statements follow; half of the time the one that is set goes back. */
static void change_settings(struct world *w)
{
	static const struct {
		const char *name, *usual, *others[4];
		bool unusual; /* gives statements another meaning */
	} settings[] = {
		{"default_null_order",
	     "'nulls_last'",
	     {"'nulls_first'", "'nulls_first_on_asc_last_on_desc'", "'nulls_last_on_asc_first_on_desc'"},
	     false},
		{"default_order", "'asc'", {"'desc'"}, false},
		{"integer_division", "false", {"true"}, true},
		{"default_collation", "''", {"'NOCASE'", "'NOACCENT'", "'NOCASE.NOACCENT'"}, true},
		{"TimeZone", "'UTC'", {"'America/New_York'", "'Asia/Kolkata'", "'Pacific/Apia'"}, true},
	};
	uint32_t which = dt_below(&w->random, sizeof settings / sizeof settings[0]), count = 0;
	bool back = dt_chance(&w->random, 40) || w->unusual;
	while (count < 4 && settings[which].others[count])
		count++;
	for (uint32_t i = 0; i < sizeof settings / sizeof settings[0] && w->unusual; i++)
		if (settings[i].unusual)
			perform_sql(w, dt_printf(&w->arena, "SET %s = %s", settings[i].name, settings[i].usual));
	const char *value = back ? settings[which].usual : settings[which].others[dt_below(&w->random, count)];
	perform_sql(w, dt_printf(&w->arena, "SET %s = %s", settings[which].name, value));
	w->unusual = settings[which].unusual && !back;
	run_queries(w, 8);
}

static void reopen(struct world *w)
{
	bool bare = dt_chance(&w->random, 40);
	if (!perform(w, (struct dt_entry){.kind = bare ? DT_REOPEN_BARE : DT_REOPEN}))
		w->failed = true;
	w->unusual = false; /* settings ended with the connection */
	for (uint32_t i = 0; i < w->view_count && !w->failed; i++)
		w->views[i].fresh = w->views[i].exists;
	for (uint32_t i = 0; i < (w->large ? 3u : 1u) && !w->failed; i++)
		run_pages(w);
}

static void change(struct world *w)
{
	uint32_t kind = dt_below(&w->random, 100);
	w->wrote = false;
	if (kind < 25) {
		write_something(w);
		run_queries(w, 3);
	} else if (kind < 37) {
		write_elsewhere(w);
	} else if (kind < 60) {
		transaction(w);
	} else if (kind < 68) {
		alter(w);
	} else if (kind < 80) {
		replace_views(w);
	} else if (kind < 88) {
		change_settings(w);
	} else if (w->on_file) {
		reopen(w);
	}
	if (!w->failed && dt_chance(&w->random, 80))
		refresh_all(w);
	if (!w->failed)
		change_columns(w);
	if (!w->failed)
		change_indexes(w);
}

void dt_world_run(const struct dt_options *options, uint64_t number, uint32_t job, struct dt_statistics *stats)
{
	struct world *w = calloc(1, sizeof *w);
	if (!w)
		exit(2);
	w->options = options;
	w->stats = stats;
	w->number = number;
	w->job = job;
	w->random.state = options->seed * 0x9e3779b97f4a7c15u + number * 0xd1342543de82ef95u;
	dt_next(&w->random);
	w->threads = options->threads ? options->threads : 1 + dt_below(&w->random, 2);
	w->on_file = dt_chance(&w->random, 30);
	w->large = w->on_file && options->columns && dt_chance(&w->random, 6);
	w->columns = w->large || dt_chance(&w->random, options->columns);
	w->chosen.state = w->random.state ^ 0x5851f42d4c957f2du;
	w->indexes = w->columns && dt_chance(&w->chosen, options->indexes);
	stats->now_world[job] = number;
	char folder[64] = "/tmp/rayql_diff_XXXXXX", file[96];
	if (w->on_file && !mkdtemp(folder))
		w->on_file = false;
	snprintf(file, sizeof file, "%s/d.db", folder);
	if (dt_session_open(&w->session, w->on_file ? file : NULL, w->threads, options->setup)) {
		make_tables(w);
		make_sources(w);
		make_columns(w, 85);
		make_indexes(w);
		make_views(w);
		for (uint32_t phase = 0; phase < PHASES && (!w->failed || options->keep_going); phase++) {
			run_queries(w, w->large ? QUERIES_A_PHASE / 6 : QUERIES_A_PHASE);
			run_pages(w);
			change(w);
			if (w->on_file && !w->failed && dt_chance(&w->random, w->large ? 70 : 25))
				reopen(w);
		}
		if (w->session.db)
			dt_session_close(&w->session);
	} else {
		stats->failures++;
	}
	if (w->on_file)
		dt_remove_tree(folder);
	stats->worlds++;
	dt_arena_clear(&w->arena);
	free(w);
}
