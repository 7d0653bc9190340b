/* A session: texts become statements, and each goes to the one who runs it. */
#include "exec/session.h"

#include "exec/query/bound_cache.h"
#include "exec/query/text.h"
#include "plan/map_cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ---- */
/* rql_build_context's two. */
static void drop_plans(void *session)
{
	rql_plan_cache_clear(((struct rql_session *)session)->cache);
}

static bool drop_plan_on(void *session, const struct rql_device *device)
{
	return rql_plan_cache_drop_scan(((struct rql_session *)session)->cache, device);
}

rql_status rql_session_open(struct rql_database *db, struct rql_session **out, struct rql_error *err)
{
	struct rql_session *s = calloc(1, sizeof *s);
	if (!s)
		return rql_error_memory(err, sizeof *s, "a connection");
	s->db = db;
	s->build = (struct rql_build_context){.structures = &db->structures,
	                                      .settings = &s->settings,
	                                      .progress = &s->progress,
	                                      .session = s,
	                                      .drop_plans = drop_plans,
	                                      .drop_plan_on = drop_plan_on};
	s->cache = rql_plan_cache_new(&db->budget);
	s->bounds = rql_bound_cache_new();
	if (!s->cache || !s->bounds || pthread_mutex_init(&s->build.running_lock, NULL) != 0) {
		rql_plan_cache_free(s->cache);
		rql_bound_cache_free(s->bounds);
		free(s);
		return rql_error_memory(err, sizeof *s, "a connection");
	}
	rql_status status = rql_host_connect(db->host, &s->host, err);
	if (status != RQL_OK) {
		pthread_mutex_destroy(&s->build.running_lock);
		rql_plan_cache_free(s->cache);
		rql_bound_cache_free(s->bounds);
		free(s);
		return status;
	}
	rql_host_count_progress(s->host);
	s->host_id = rql_host_connection_id(s->host);
	snprintf(s->settings.device, sizeof s->settings.device, "auto");
	s->report.serial = 1;
	pthread_mutex_lock(&db->sessions_lock);
	s->number = ++db->session_count;
	s->next = db->sessions;
	db->sessions = s;
	pthread_mutex_unlock(&db->sessions_lock);
	(void)!rql_settings_follow(s, NULL);
	if (rql_catalog_structure_count(db->catalog))
		rql_opening_begin(db, &s->settings);
	*out = s;
	return RQL_OK;
}

void rql_session_close(struct rql_session *s)
{
	if (!s)
		return;
	struct rql_database *db = s->db;
	pthread_mutex_lock(&db->sessions_lock);
	struct rql_session **slot = &db->sessions;
	while (*slot != s)
		slot = &(*slot)->next;
	*slot = s->next;
	pthread_mutex_unlock(&db->sessions_lock);
	if (s->open)
		rql_result_close(s->open);
	rql_host_disconnect(s->host);
	rql_plan_cache_free(s->cache);
	rql_bound_cache_free(s->bounds);
	rql_map_cache_leave(db->maps, s->number);
	rql_write_set_clear(&s->txn.set);
	rql_write_set_clear(&s->txn.appends);
	rql_follow_forget(&s->txn);
	rql_strbuf_free(&s->report.reason);
	free(s->build.notice);
	pthread_mutex_destroy(&s->build.running_lock);
	free(s);
}

struct rql_host_con *rql_session_host(struct rql_session *s)
{
	return s->host;
}

struct rql_host_db *rql_session_host_db(struct rql_session *s)
{
	return s->db->host;
}

bool rql_session_in_transaction(const struct rql_session *s)
{
	return s->txn.open;
}

const struct rql_report *rql_session_report(const struct rql_session *s)
{
	return &s->report;
}

void rql_session_interrupt(struct rql_session *s)
{
	atomic_store(&s->progress.cancel, true);
	rql_host_interrupt(s->host);
	pthread_mutex_lock(&s->build.running_lock);
	if (s->build.running)
		rql_host_interrupt(s->build.running);
	pthread_mutex_unlock(&s->build.running_lock);
}

void rql_session_progress(struct rql_session *s, double *percentage, uint64_t *rows, uint64_t *total_rows,
                          const char **phase)
{
	*phase = atomic_load(&s->progress.phase);
	if (*phase) {
		*rows = atomic_load(&s->progress.rows);
		*total_rows = atomic_load(&s->progress.total_rows);
		*percentage = *total_rows ? 100.0 * (double)*rows / (double)*total_rows : -1;
		if (*percentage > 100)
			*percentage = 100;
		return;
	}
	rql_host_progress(s->host, percentage, rows, total_rows);
}

bool rql_session_finds(struct rql_session *s, struct rql_schema_fact *fact, const char *count)
{
	const uint64_t epoch = rql_catalog_schema_epoch(s->db->catalog) + 1;
	int64_t found = 0;
	if (fact->epoch != epoch) {
		const bool known = rql_host_query_int(s->host, count, &found, NULL) == RQL_OK;
		fact->epoch = known ? epoch : 0;
		fact->is_there = !known || found > 0;
	}
	return fact->is_there;
}

/* Only where there are sequences can binding change something; a transaction to plan in takes a tenth of the planning.
 * Temporary ones are the connection's, so it is asked itself, but not while its statements are logged: plans come without
 * a statement then. */
static void guard_plans(struct rql_session *s)
{
	if (!s->txn.open && !rql_host_watched(s->host))
		(void)rql_session_finds(s, &s->guard, "SELECT system.main.count(*) FROM system.main.duckdb_sequences()");
	rql_host_guard_plans(s->host, s->guard.is_there && !s->txn.open);
}

struct rql_plan_context rql_session_plan_context(struct rql_session *s)
{
	guard_plans(s);
	return rql_session_context(s);
}

struct rql_plan_context rql_session_context(struct rql_session *s)
{
	return (struct rql_plan_context){
		.host = s->host,
		.host_db = s->db->host,
		.catalog = s->db->catalog,
		.planner = s->db->planner,
		.devices = s->db->devices,
		.settings = &s->settings,
		.snapshot_stamp = s->txn.open ? s->txn.stamp : 0,
		.budget = &s->db->budget,
		.progress = &s->progress,
		.load = rql_structure_bound,
		.load_state = &s->build,
		.build_failure = rql_structure_build_failure,
		.device_ready = rql_device_first_use,
		.devices_open = rql_devices_opened,
		.device_failure = rql_device_failure,
		.device_fits = rql_device_fits,
		.device_room = rql_device_room,
		.device_make_room = rql_device_make_room,
	};
}

/* ---- one statement ---- */

/* PIVOT, IMPORT and some PRAGMAs are several statements to DuckDB, which cannot be prepared as one. */
static rql_status run_expanded(const struct rql_call *call, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_host_list *list = NULL;
	uint64_t count = 0;
	bool inside = s->txn.open; /* the user's own transaction; one that the parts open is theirs to end */
	RQL_TRY(rql_host_extract(s->host, call->sql, &list, &count, err));
	rql_status status = RQL_OK;
	for (uint64_t i = 0; i < count && status == RQL_OK; i++) {
		struct rql_host_stmt *stmt = NULL;
		bool last = i + 1 == count;
		struct rql_call part = *call;
		part.expanded = true;
		if (!last)
			part.out = NULL;
		status = rql_host_prepare_at(s->host, list, i, &stmt, err);
		if (status != RQL_OK)
			break;
		/* The parts have no text of their own for the planner or the write set: the whole text names no single table.
		 * */
		if (rql_host_stmt_class(stmt) == RQL_HOST_SELECT)
			part.stream = false;
		status = rql_host_run(&part, stmt, false, err);
	}
	rql_host_list_free(list);
	if (!inside && s->txn.open)
		rql_host_abandon(s);
	return status;
}

static rql_status run_prepared(const struct rql_call *call, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	RQL_TRY(rql_host_prepare(call->s->host, call->sql, &stmt, err));
	return rql_host_run(call, stmt, false, err);
}

/* What DuckDB says of a text that it cannot prepare, although it can run it. */
static bool says(rql_status status, const struct rql_error *err, const char *text)
{
	return status == RQL_ERROR_HOST && strstr(rql_error_message(err), text);
}

static rql_status run_on_host(const struct rql_call *call, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_error failed = {0};
	enum rql_host_class kind = rql_text_class(call->sql);
	rql_status status;
	bool unseen = rql_host_prepares_aloud() && rql_host_watched(s->host); /* a log shall have the statement once */
	guard_plans(s);
	/* What has parameters has no values for them here: DuckDB says so when it is to run the text. */
	if (rql_text_runs_unprepared(call->sql) || rql_text_has_parameters(call->sql) || unseen)
		status = rql_host_run_text(call, kind, &failed);
	else
		status = rql_text_is_query(call->sql) ? rql_select_text(call, &failed) : run_prepared(call, &failed);
	if (says(status, &failed, "Cannot prepare multiple statements at once")) {
		rql_error_clear(&failed);
		status = run_expanded(call, &failed);
	} else if (!s->txn.open && says(status, &failed, "transaction that is read-only but has made changes")) {
		/* A view or macro hid what a preparation must not evaluate. */
		rql_error_clear(&failed);
		status = rql_host_run_text(call, kind, &failed);
	}
	if (status == RQL_OK)
		return RQL_OK;
	if (status != RQL_ERROR_UNSUPPORTED) /* a refusal has not reached DuckDB */
		s->txn.failed = s->txn.failed || s->txn.open;
	rql_error_move(err, &failed);
	return status;
}

static rql_status run_own(const struct rql_call *call, const struct rql_statement *st, struct rql_error *err)
{
	struct rql_session *s = call->s;
	rql_status status = RQL_OK;
	RQL_TRY(rql_result_nothing(s, call->out, err)); /* nothing may fail once something is stored */
	switch (st->kind) {
	case RQL_STATEMENT_CREATE_VIEW:
		status = rql_view_create(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_CREATE_INDEX:
		status = rql_index_create(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_REFRESH_VIEW:
	case RQL_STATEMENT_REFRESH_INDEX:
		status = rql_structure_refresh(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_DROP_VIEW:
	case RQL_STATEMENT_DROP_INDEX:
		status = rql_structure_drop(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_SET:
	case RQL_STATEMENT_RESET:
		status = rql_settings_set(s, st, err);
		break;
	case RQL_STATEMENT_HOST:
	case RQL_STATEMENT_EXPLAIN:
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a statement of the host's among RayQL's own");
	}
	atomic_store(&s->progress.phase, NULL);
	RQL_TRY(status);
	double run_ms = (double)(rql_now_ns() - call->start_ns) / 1e6;
	rql_report_start(s, "rayql", "RayQL's own statement");
	s->report.run_ms = run_ms;
	rql_result_settle(s, call->out ? *call->out : NULL);
	return RQL_OK;
}

static rql_status run_statement(const struct rql_call *call, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return rql_error_memory(err, 0, "a statement");
	struct rql_statement st = {0};
	rql_status status = rql_statement_parse(arena, call->sql, &st, err);
	if (status != RQL_OK)
		goto done;
	if (st.kind == RQL_STATEMENT_HOST ||
	    (st.kind == RQL_STATEMENT_DROP_INDEX && !rql_index_is_ours(call->s, call->sql, &st)) ||
	    (st.kind == RQL_STATEMENT_EXPLAIN &&
	     (st.host_only || (st.explain_format && strcmp(st.explain_format, "text") != 0))))
		status = run_on_host(call, err);
	else if (st.kind == RQL_STATEMENT_EXPLAIN)
		status = rql_explain(call, &st, err);
	else
		status = run_own(call, &st, err);
done:
	rql_arena_free(arena);
	return status;
}

/* ---- texts ---- */
static bool blank(const char *sql)
{
	uint32_t position = 0;
	struct rql_token token;
	do
		token = rql_token_next(sql, &position);
	while (rql_token_is_symbol(sql, token, ';'));
	return token.kind == RQL_TOKEN_END;
}

/* Length of the first statement, all of sql when it is the last. */
static size_t piece_length(const char *sql)
{
	size_t length = rql_statement_split(sql);
	if (length == 0 || blank(sql + length))
		return strlen(sql);
	return length;
}

/* Behind the statements of sql that say nothing: DuckDB passes over them. */
static const char *skip_empty(const char *sql)
{
	uint32_t position = 0;
	for (;;) {
		struct rql_token token = rql_token_next(sql, &position);
		if (!rql_token_is_symbol(sql, token, ';'))
			return sql;
		sql += position;
		position = 0;
	}
}

const char *rql_session_single(const char *sql)
{
	sql = skip_empty(sql);
	return !blank(sql) && piece_length(sql) == strlen(sql) ? sql : NULL;
}

/* DuckDB parses a whole text before it runs any of it. Where the text is DuckDB's alone, a syntax error in a later
 * statement is found
 * here, before the first has run. */
static rql_status parse_all(struct rql_session *s, const char *sql, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	bool own = false;
	rql_status status = arena ? RQL_OK : rql_error_memory(err, 0, "a statement");
	for (const char *at = skip_empty(sql); status == RQL_OK && *at && !own;) {
		size_t length = piece_length(at);
		char *piece = rql_arena_strndup(arena, at, length);
		struct rql_statement st = {0};
		status = piece ? rql_statement_parse(arena, piece, &st, err) : rql_error_memory(err, length, "a statement");
		own = st.kind != RQL_STATEMENT_HOST;
		at = skip_empty(at + length);
	}
	rql_arena_free(arena);
	RQL_TRY(status);
	if (own)
		return RQL_OK;
	struct rql_host_list *list = NULL;
	uint64_t count = 0;
	RQL_TRY(rql_host_extract(s->host, sql, &list, &count, err));
	rql_host_list_free(list);
	return RQL_OK;
}

static rql_status run_pieces(struct rql_session *s, const char *sql, struct rql_result **out, struct rql_error *err)
{
	RQL_TRY(parse_all(s, sql, err));
	for (const char *at = skip_empty(sql); *at;) {
		size_t length = piece_length(at);
		bool last = at[length] == 0;
		char *piece = strndup(at, length);
		if (!piece)
			return rql_error_memory(err, length, "a statement");
		struct rql_call call = {
			.s = s, .sql = piece, .stream = last, .start_ns = rql_now_ns(), .out = last ? out : NULL};
		rql_status status = run_statement(&call, err);
		free(piece);
		RQL_TRY(status);
		at = skip_empty(at + length);
	}
	return RQL_OK;
}

void rql_session_begin_call(struct rql_session *s)
{
	free(s->build.notice);
	s->build.notice = NULL;
	s->comes_again = false;
	if (s->open)
		rql_result_close(s->open);
	atomic_store(&s->progress.cancel, false);
	rql_host_interrupt_clear(s->host);
	atomic_store(&s->progress.phase, NULL);
	(void)!rql_settings_follow(s, NULL); /* a value that does not fit this connection leaves its own */
	if (rql_host_prepares_aloud())
		guard_plans(s);
}

/* The last step of a call: its result becomes the caller's, or nobody's when it failed. */
rql_status rql_session_hand_out(struct rql_session *s, rql_status status, struct rql_result *res,
                                struct rql_result **out)
{
	if (status != RQL_OK) {
		rql_result_free(res);
		return status;
	}
	if (out) {
		if (res && (res->host || res->batch))
			s->open = res;
		*out = res;
	}
	return RQL_OK;
}

rql_status rql_session_query(struct rql_session *s, const char *sql, struct rql_result **out, struct rql_error *err)
{
	struct rql_result *res = NULL;
	struct rql_call call = {.s = s, .sql = sql, .stream = true, .start_ns = rql_now_ns(), .out = out ? &res : NULL};
	bool done = false;
	char *why = NULL;
	rql_session_begin_call(s);
	rql_status status = rql_select_cached(&call, &done, &why, err);
	call.failed = why;
	if (status == RQL_OK && !done) {
		if (blank(sql))
			status = rql_result_nothing(s, call.out, err);
		else if (rql_session_single(sql) == sql)
			status = run_statement(&call, err);
		else
			status = run_pieces(s, sql, call.out, err);
	}
	free(why);
	return rql_session_hand_out(s, status, res, out);
}
