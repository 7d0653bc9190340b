/* A session: texts become statements, and each goes to the one who runs it. */
#include "exec/session.h"

#include "exec/columns.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ---- */
rql_status rql_session_open(struct rql_database *db, struct rql_session **out, struct rql_error *err)
{
	struct rql_session *s = calloc(1, sizeof *s);
	if (!s)
		return rql_error_memory(err, sizeof *s, "a connection");
	s->db = db;
	s->cache = rql_plan_cache_new(&db->budget);
	if (!s->cache || pthread_mutex_init(&s->running_lock, NULL) != 0) {
		rql_plan_cache_free(s->cache);
		free(s);
		return rql_error_memory(err, sizeof *s, "a connection");
	}
	rql_status status = rql_host_connect(db->host, &s->host, err);
	if (status != RQL_OK) {
		pthread_mutex_destroy(&s->running_lock);
		rql_plan_cache_free(s->cache);
		free(s);
		return status;
	}
	s->host_id = rql_host_connection_id(s->host);
	snprintf(s->settings.device, sizeof s->settings.device, "auto");
	s->report.serial = 1;
	pthread_mutex_lock(&db->sessions_lock);
	s->next = db->sessions;
	db->sessions = s;
	pthread_mutex_unlock(&db->sessions_lock);
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
	rql_write_set_clear(&s->txn.set);
	rql_write_set_clear(&s->txn.appends);
	rql_strbuf_free(&s->report.reason);
	free(s->notice);
	pthread_mutex_destroy(&s->running_lock);
	free(s);
}

struct rql_host_con *rql_session_host(struct rql_session *s)
{
	return s->host;
}

const struct rql_report *rql_session_report(const struct rql_session *s)
{
	return &s->report;
}

void rql_session_interrupt(struct rql_session *s)
{
	atomic_store(&s->progress.cancel, true);
	rql_host_interrupt(s->host);
	pthread_mutex_lock(&s->running_lock);
	if (s->running)
		rql_host_interrupt(s->running);
	pthread_mutex_unlock(&s->running_lock);
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
		.load = rql_structure_bound,
		.load_state = s,
		.device_ready = rql_device_first_use,
		.device_failure = rql_device_failure,
		.device_fits = rql_device_fits,
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

static rql_status run_on_host(const struct rql_call *call, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_host_stmt *stmt = NULL;
	struct rql_error failed = {0};
	rql_status status = rql_host_prepare(s->host, call->sql, &stmt, &failed);
	if (status == RQL_OK)
		return rql_host_run(call, stmt, false, err);
	if (status == RQL_ERROR_HOST && strstr(rql_error_message(&failed), "multiple statements")) {
		rql_error_clear(&failed);
		status = run_expanded(call, err);
	} else {
		rql_error_move(err, &failed);
	}
	if (status != RQL_OK)
		s->txn.failed = s->txn.failed || s->txn.open;
	return status;
}

static rql_status run_own(const struct rql_call *call, const struct rql_statement *st, struct rql_error *err)
{
	struct rql_session *s = call->s;
	rql_status status = RQL_OK;
	switch (st->kind) {
	case RQL_STATEMENT_CREATE_VIEW:
		status = rql_view_create(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_REFRESH_VIEW:
		status = rql_view_refresh(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_DROP_VIEW:
		status = rql_view_drop(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_CREATE_INDEX:
		status = rql_columns_create(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_REFRESH_INDEX:
		status = rql_columns_refresh(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_DROP_INDEX:
		status = rql_columns_drop(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_SET:
		status = rql_settings_set(s, call->sql, st, err);
		break;
	case RQL_STATEMENT_RESET:
		status = rql_settings_reset(s, call->sql, st, err);
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
	return rql_result_nothing(s, call->out, err);
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
	    (st.kind == RQL_STATEMENT_DROP_INDEX && !rql_columns_owns(call->s, call->sql, &st)) ||
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
	while (token.kind == RQL_TOKEN_SYMBOL && token.length == 1 && sql[token.start] == ';');
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

/* DuckDB parses a whole text before it runs any of it. Where the text is DuckDB's alone, a syntax error in a later
 * statement is found
 * here, before the first has run. */
static rql_status parse_all(struct rql_session *s, const char *sql, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	bool own = false;
	rql_status status = arena ? RQL_OK : rql_error_memory(err, 0, "a statement");
	for (const char *at = sql; status == RQL_OK && *at && !own;) {
		size_t length = piece_length(at);
		char *piece = rql_arena_strndup(arena, at, length);
		struct rql_statement st = {0};
		status = piece ? rql_statement_parse(arena, piece, &st, err) : rql_error_memory(err, length, "a statement");
		own = st.kind != RQL_STATEMENT_HOST;
		at += length;
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
	for (const char *at = sql; *at;) {
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
		at += length;
	}
	return RQL_OK;
}

static void begin_call(struct rql_session *s)
{
	free(s->notice);
	s->notice = NULL;
	if (s->open)
		rql_result_close(s->open);
	atomic_store(&s->progress.cancel, false);
	atomic_store(&s->progress.phase, NULL);
}

static void end_call(struct rql_session *s, struct rql_result *res)
{
	if (res && (res->host || res->batch))
		s->open = res;
}

/* The last step of a call: its result becomes the caller's, or nobody's when it failed. */
static rql_status hand_out(struct rql_session *s, rql_status status, struct rql_result *res, struct rql_result **out)
{
	if (status != RQL_OK) {
		rql_result_free(res);
		return status;
	}
	if (out) {
		end_call(s, res);
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
	begin_call(s);
	rql_status status = rql_select_cached(&call, &done, &why, err);
	call.failed = why;
	if (status == RQL_OK && !done) {
		if (blank(sql))
			status = rql_result_nothing(s, call.out, err);
		else if (piece_length(sql) == strlen(sql))
			status = run_statement(&call, err);
		else
			status = run_pieces(s, sql, call.out, err);
	}
	free(why);
	return hand_out(s, status, res, out);
}

/* ---- prepared statements ---- */
struct rql_prepared_query {
	struct rql_session *s;
	char *sql;
	struct rql_host_stmt *stmt; /* NULL: one of RayQL's own */
	struct rql_arena *arena;    /* the values' bytes */
	uint64_t count;
	struct rql_value *values;
	bool *bound;
};

void rql_prepared_free(struct rql_prepared_query *q)
{
	if (!q)
		return;
	rql_host_stmt_free(q->stmt);
	rql_arena_free(q->arena);
	free(q->values);
	free(q->bound);
	free(q->sql);
	free(q);
}

static rql_status prepare_host(struct rql_prepared_query *q, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_statement st = {0};
	if (!arena)
		return rql_error_memory(err, 0, "a statement");
	rql_status status = rql_statement_parse(arena, q->sql, &st, err);
	bool host = st.kind == RQL_STATEMENT_HOST ||
	            (st.kind == RQL_STATEMENT_DROP_INDEX && !rql_columns_owns(q->s, q->sql, &st)) ||
	            (st.kind == RQL_STATEMENT_EXPLAIN && st.host_only);
	rql_arena_free(arena);
	RQL_TRY(status);
	if (!host)
		return RQL_OK;
	RQL_TRY(rql_host_prepare(q->s->host, q->sql, &q->stmt, err));
	q->count = rql_host_stmt_parameters(q->stmt);
	return RQL_OK;
}

rql_status rql_session_prepare(struct rql_session *s, const char *sql, struct rql_prepared_query **out,
                               struct rql_error *err)
{
	struct rql_prepared_query *q = calloc(1, sizeof *q);
	if (!q)
		return rql_error_memory(err, sizeof *q, "a prepared statement");
	q->s = s;
	begin_call(s);
	rql_status status = RQL_OK;
	if (blank(sql) || piece_length(sql) != strlen(sql))
		status =
			rql_error_set(err, RQL_ERROR_MISUSE, "rayql_prepare takes exactly one statement; rayql_query runs several");
	q->sql = strdup(sql);
	q->arena = rql_arena_new();
	if (status == RQL_OK && (!q->sql || !q->arena))
		status = rql_error_memory(err, strlen(sql), "a prepared statement");
	if (status == RQL_OK) {
		status = prepare_host(q, err);
		if (status == RQL_ERROR_HOST)
			s->txn.failed = s->txn.failed || s->txn.open;
	}
	if (status == RQL_OK) {
		q->values = calloc(q->count + 1, sizeof *q->values);
		q->bound = calloc(q->count + 1, sizeof *q->bound);
		if (!q->values || !q->bound)
			status = rql_error_memory(err, q->count, "a prepared statement");
	}
	if (status != RQL_OK) {
		rql_prepared_free(q);
		return status;
	}
	*out = q;
	return RQL_OK;
}

uint64_t rql_prepared_parameters(const struct rql_prepared_query *q)
{
	return q->count;
}

const char *rql_prepared_parameter_name(const struct rql_prepared_query *q, uint64_t index)
{
	return q->stmt && index >= 1 && index <= q->count ? rql_host_stmt_parameter_name(q->stmt, index) : NULL;
}

rql_status rql_prepared_bind(struct rql_prepared_query *q, uint64_t index, const struct rql_value *value,
                             struct rql_error *err)
{
	if (index < 1 || index > q->count)
		return rql_error_set(err, RQL_ERROR_MISUSE, "the statement has %llu parameters; there is no parameter %llu",
		                     (unsigned long long)q->count, (unsigned long long)index);
	struct rql_value copy = rql_value_copy(q->arena, value);
	if (copy.type.id != value->type.id)
		return rql_error_memory(err, 0, "a parameter");
	q->values[index - 1] = copy;
	q->bound[index - 1] = true;
	return RQL_OK;
}

/* The parameter that a token stands for: ? counts, $1 and $name are looked up; 0: none. */
static uint64_t parameter_of(const struct rql_prepared_query *q, const char *text, uint32_t length, uint64_t *counter)
{
	if (length == 1)
		return ++*counter;
	for (uint64_t i = 1; i <= q->count; i++) {
		const char *name = rql_host_stmt_parameter_name(q->stmt, i);
		if (name && strlen(name) == length - 1 && strncasecmp(name, text + 1, length - 1) == 0)
			return i;
	}
	return 0;
}

/* The value in its own type: DuckDB binds the statement again where that is not the parameter's, so 1.5 for an INTEGER column
 * compares as a DOUBLE. A string is a plain literal in both. */
static bool put_value(const struct rql_prepared_query *q, uint64_t index, struct rql_strbuf *out)
{
	return rql_value_print(out, &q->values[index - 1]);
}

/* The statement with its values written in place of the parameters: what the planner can read. */
static char *substitute(const struct rql_prepared_query *q)
{
	struct rql_strbuf out = {0};
	uint32_t position = 0, copied = 0;
	uint64_t counter = 0;
	for (;;) {
		struct rql_token token = rql_token_next(q->sql, &position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN)
			break;
		if (token.kind != RQL_TOKEN_PARAMETER)
			continue;
		uint64_t index = parameter_of(q, q->sql + token.start, token.length, &counter);
		rql_strbuf_put_n(&out, q->sql + copied, token.start - copied);
		if (index < 1 || index > q->count || !put_value(q, index, &out)) {
			rql_strbuf_free(&out);
			return NULL;
		}
		copied = token.start + token.length;
	}
	rql_strbuf_put(&out, q->sql + copied);
	return rql_strbuf_take(&out);
}

static rql_status bind_all(struct rql_prepared_query *q, struct rql_error *err)
{
	for (uint64_t i = 1; i <= q->count; i++)
		if (q->bound[i - 1])
			RQL_TRY(rql_host_bind(q->stmt, i, &q->values[i - 1], err));
	return RQL_OK;
}

/* A SELECT with values: the planner sees the text with the values written into it, the host the bound parameters. */
static rql_status execute_select(const struct rql_call *call, struct rql_prepared_query *q, struct rql_error *err)
{
	struct rql_session *s = q->s;
	struct rql_host_stmt *names = NULL;
	char *text = NULL, *why = NULL;
	struct rql_call known = *call;
	bool done = false, all = true;
	rql_status status = RQL_OK;
	for (uint64_t i = 0; i < q->count; i++)
		all = all && q->bound[i];
	/* Inside a transaction a value that cannot be cast would abort it before the host has seen the statement. */
	if (all && !s->txn.open)
		text = substitute(q);
	if (text) {
		struct rql_call with_values = *call;
		with_values.sql = text;
		status = rql_select_cached(&with_values, &done, &why, err);
		known.failed = why;
		if (status == RQL_OK && !done && rql_host_prepare(s->host, text, &names, NULL) != RQL_OK)
			names = NULL;
	}
	if (status == RQL_OK && !done)
		status = bind_all(q, err);
	if (status == RQL_OK && !done)
		status = names ? rql_select_run(&known, text, names, q->stmt, true, err) : rql_host_run(call, q->stmt, true, err);
	rql_host_stmt_free(names);
	free(text);
	free(why);
	return status;
}

rql_status rql_prepared_execute(struct rql_prepared_query *q, struct rql_result **out, struct rql_error *err)
{
	struct rql_session *s = q->s;
	if (!q->stmt || (q->count == 0 && rql_host_stmt_class(q->stmt) == RQL_HOST_SELECT))
		return rql_session_query(s, q->sql, out, err);
	struct rql_result *res = NULL;
	struct rql_call call = {.s = s, .sql = q->sql, .stream = true, .start_ns = rql_now_ns(), .out = out ? &res : NULL};
	begin_call(s);
	rql_status status;
	if (rql_host_stmt_class(q->stmt) == RQL_HOST_SELECT) {
		status = execute_select(&call, q, err);
	} else {
		status = bind_all(q, err);
		if (status == RQL_OK)
			status = rql_host_run(&call, q->stmt, true, err);
	}
	return hand_out(s, status, res, out);
}
