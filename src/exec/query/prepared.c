/* Prepared statements: the planner sees the text with the values written into it, the host the bound parameters. */
#include "exec/exec_internal.h"
#include "exec/query/point.h"
#include "exec/query/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct rql_prepared_query {
	struct rql_session *s;
	char *sql;
	bool own; /* one of RayQL's own: it has no parameters, and the session runs its text */
	enum rql_host_class kind;
	struct rql_host_stmt *stmt; /* NULL: let go while its text was planned; prepared again when the host is to run it */
	struct rql_arena *arena;    /* names */
	uint64_t count;
	const char **parameters;
	struct rql_value *values;
	struct rql_strbuf *bytes; /* [count], of values that are strings */
	bool *bound;
	struct rql_columns *names; /* what the columns are called (the types are not theirs); NULL: not known yet */
	uint64_t schema_epoch, session_epoch; /* of the names */
	uint64_t meaning, variables; /* of the session, when stmt was bound */
	uint64_t bound_epoch;        /* of the schema, then */
	bool executes; /* EXECUTE: of whatever has that name when it runs */
	struct rql_point_place *places; /* [count], in the text with the values of now */
	struct rql_point point;
};

void rql_prepared_free(struct rql_prepared_query *q)
{
	if (!q)
		return;
	rql_host_stmt_free(q->stmt);
	rql_columns_release(q->names);
	rql_point_clear(&q->point);
	rql_arena_free(q->arena);
	for (uint64_t i = 0; q->bytes && i < q->count; i++)
		rql_strbuf_free(&q->bytes[i]);
	free(q->bytes);
	free(q->places);
	free(q->values);
	free(q->bound);
	free(q->sql);
	free(q);
}

/* ---- preparing ---- */
static rql_status prepare_host(struct rql_prepared_query *q, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_statement st = {0};
	if (!arena)
		return rql_error_memory(err, 0, "a statement");
	rql_status status = rql_statement_parse(arena, q->sql, &st, err);
	q->own = st.kind != RQL_STATEMENT_HOST &&
	         !(st.kind == RQL_STATEMENT_DROP_INDEX && !rql_index_is_ours(q->s, q->sql, &st)) &&
	         !(st.kind == RQL_STATEMENT_EXPLAIN && st.host_only);
	rql_arena_free(arena);
	RQL_TRY(status);
	if (q->own)
		return RQL_OK;
	RQL_TRY(rql_host_prepare(q->s->host, q->sql, &q->stmt, err));
	q->meaning = rql_host_meaning(q->s->host);
	q->variables = q->s->variables;
	q->bound_epoch = rql_catalog_schema_epoch(q->s->db->catalog);
	q->kind = rql_host_stmt_class(q->stmt);
	char *name = rql_executed_name(q->sql);
	q->executes = name != NULL;
	free(name);
	q->count = rql_host_stmt_parameters(q->stmt);
	return RQL_OK;
}

static rql_status make_slots(struct rql_prepared_query *q, struct rql_error *err)
{
	q->values = calloc(q->count + 1, sizeof *q->values);
	q->bound = calloc(q->count + 1, sizeof *q->bound);
	q->bytes = calloc(q->count + 1, sizeof *q->bytes);
	q->places = calloc(q->count + 1, sizeof *q->places);
	q->parameters = RQL_NEW_ARRAY(q->arena, const char *, q->count + 1);
	bool ok = q->values && q->bound && q->bytes && q->places && q->parameters;
	for (uint64_t i = 0; ok && i < q->count; i++) {
		const char *name = rql_host_stmt_parameter_name(q->stmt, i + 1);
		q->parameters[i] = rql_arena_strdup(q->arena, name ? name : "");
		ok = q->parameters[i] != NULL;
	}
	return ok ? RQL_OK : rql_error_memory(err, q->count, "a prepared statement");
}

rql_status rql_session_prepare(struct rql_session *s, const char *sql, struct rql_prepared_query **out,
                               struct rql_error *err)
{
	const char *single = rql_session_single(sql);
	rql_session_begin_call(s);
	if (!single)
		return rql_error_set(err, RQL_ERROR_MISUSE,
		                     "rayql_prepare takes exactly one statement; rayql_query runs several");
	struct rql_prepared_query *q = calloc(1, sizeof *q);
	if (!q)
		return rql_error_memory(err, sizeof *q, "a prepared statement");
	q->s = s;
	q->sql = strdup(single);
	q->arena = rql_arena_new();
	rql_status status =
		q->sql && q->arena ? RQL_OK : rql_error_memory(err, strlen(sql), "a prepared statement");
	if (status == RQL_OK) {
		status = prepare_host(q, err);
		if (status == RQL_ERROR_HOST)
			s->txn.failed = s->txn.failed || s->txn.open;
	}
	if (status == RQL_OK)
		status = make_slots(q, err);
	if (status != RQL_OK) {
		rql_prepared_free(q);
		return status;
	}
	*out = q;
	return RQL_OK;
}

bool rql_prepared_is_query(const struct rql_prepared_query *q)
{
	return q->own || q->kind == RQL_HOST_SELECT;
}

/* ---- parameters ---- */
uint64_t rql_prepared_parameters(const struct rql_prepared_query *q)
{
	return q->count;
}

const char *rql_prepared_parameter_name(const struct rql_prepared_query *q, uint64_t index)
{
	return index >= 1 && index <= q->count ? q->parameters[index - 1] : NULL;
}

/* A statement may be bound any number of times, so its room is used again. */
static const char *keep_bytes(struct rql_strbuf *room, const struct rql_value *value)
{
	room->length = 0;
	rql_strbuf_put_n(room, value->string.data, value->string.length);
	return rql_strbuf_text(room);
}

rql_status rql_prepared_bind(struct rql_prepared_query *q, uint64_t index, const struct rql_value *value,
                             struct rql_error *err)
{
	if (index < 1 || index > q->count)
		return rql_error_set(err, RQL_ERROR_MISUSE, "the statement has %llu parameters; there is no parameter %llu",
		                     (unsigned long long)q->count, (unsigned long long)index);
	struct rql_value copy = *value;
	if (!value->is_null && (value->type.id == RQL_TYPE_VARCHAR || value->type.id == RQL_TYPE_BLOB))
		copy.string.data = keep_bytes(&q->bytes[index - 1], value);
	else
		copy = rql_value_copy(q->arena, value);
	if (copy.type.id != value->type.id || q->bytes[index - 1].failed)
		return rql_error_memory(err, 0, "a parameter");
	q->values[index - 1] = copy;
	q->bound[index - 1] = true;
	return RQL_OK;
}

uint64_t rql_prepared_parameter_of(const struct rql_prepared_query *q, const char *text, uint32_t length,
                                   uint64_t *counter)
{
	if (length == 1)
		return ++*counter;
	for (uint64_t i = 1; i <= q->count; i++) {
		const char *name = q->parameters[i - 1];
		if (strlen(name) == length - 1 && strncasecmp(name, text + 1, length - 1) == 0)
			return i;
	}
	return 0;
}

const struct rql_value *rql_prepared_value(const struct rql_prepared_query *q, uint64_t index)
{
	return index >= 1 && index <= q->count && q->bound[index - 1] ? &q->values[index - 1] : NULL;
}

/* A parameter that stands twice is one value of two literals: it has no place. */
static void note_place(struct rql_point_place *place, size_t start, size_t end)
{
	const bool again = place->start || place->end || end > UINT32_MAX;
	*place = again ? (struct rql_point_place){1, 0} : (struct rql_point_place){(uint32_t)start, (uint32_t)end};
}

/* The statement with its values written in place of the parameters: what the planner can read. Each is written in its
 * own type: DuckDB binds the statement again where that is not the parameter's, so 1.5 for an INTEGER column compares as
 * a DOUBLE. A string is a plain literal in both. NULL: a value has no text, or no memory. places (may be NULL): [count] */
static char *write_text(const struct rql_prepared_query *q, struct rql_point_place *places)
{
	struct rql_strbuf out = {0};
	uint32_t position = 0, copied = 0;
	uint64_t counter = 0;
	for (uint64_t i = 0; places && i < q->count; i++)
		places[i] = (struct rql_point_place){0};
	for (;;) {
		struct rql_token token = rql_token_next(q->sql, &position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN)
			break;
		if (token.kind != RQL_TOKEN_PARAMETER)
			continue;
		uint64_t index = rql_prepared_parameter_of(q, q->sql + token.start, token.length, &counter);
		rql_strbuf_put_n(&out, q->sql + copied, token.start - copied);
		const size_t start = out.length;
		if (index < 1 || index > q->count || !rql_value_print(&out, &q->values[index - 1])) {
			rql_strbuf_free(&out);
			return NULL;
		}
		if (places)
			note_place(&places[index - 1], start, out.length);
		copied = token.start + token.length;
	}
	rql_strbuf_put(&out, q->sql + copied);
	return rql_strbuf_take(&out);
}

char *rql_prepared_text(const struct rql_prepared_query *q)
{
	return write_text(q, NULL);
}

static rql_status bind_all(const struct rql_prepared_query *q, struct rql_host_stmt *stmt, struct rql_error *err)
{
	for (uint64_t i = 1; i <= q->count; i++)
		if (q->bound[i - 1])
			RQL_TRY(rql_host_bind(stmt, i, &q->values[i - 1], err));
	return RQL_OK;
}

/* The host's statement with the values of now. */
static rql_status bound_statement(struct rql_prepared_query *q, struct rql_error *err)
{
	if (!q->stmt)
		RQL_TRY(rql_host_prepare(q->s->host, q->sql, &q->stmt, err));
	return bind_all(q, q->stmt, err);
}

/* ---- what the columns are called ---- */

/* By DESCRIBE, which binds the values: while the type of a parameter is open, a preparation knows no columns. */
static struct rql_columns *describe(const struct rql_prepared_query *q)
{
	struct rql_host_stmt *stmt = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	struct rql_columns *names = NULL;
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "DESCRIBE %s", q->sql);
	struct rql_arena *arena = rql_arena_new();
	if (arena && rql_host_prepare(q->s->host, rql_strbuf_sql(&sql), &stmt, NULL) == RQL_OK &&
	    bind_all(q, stmt, NULL) == RQL_OK && rql_host_execute(stmt, false, &res, NULL) == RQL_OK &&
	    rql_host_fetch(res, &batch, NULL) == RQL_OK && batch && batch->rows <= UINT32_MAX) {
		uint32_t count = (uint32_t)batch->rows;
		const char **texts = RQL_NEW_ARRAY(arena, const char *, count);
		struct rql_type *types = RQL_NEW_ARRAY(arena, struct rql_type, count);
		bool ok = texts && types;
		for (uint32_t i = 0; ok && i < count; i++) {
			struct rql_value name = rql_column_get(&batch->columns[0], i);
			types[i] = rql_type_simple(RQL_TYPE_VARCHAR);
			texts[i] = rql_arena_strndup(arena, name.string.data, name.string.length);
			ok = texts[i] != NULL;
		}
		names = ok ? rql_columns_make(count, texts, types) : NULL;
	}
	rql_batch_release(batch);
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	rql_strbuf_free(&sql);
	rql_arena_free(arena);
	return names;
}

static bool columns_are_open(const struct rql_host_stmt *stmt)
{
	return rql_host_stmt_columns(stmt) == 1 && rql_host_stmt_column_type(stmt, 0).id == RQL_TYPE_INVALID;
}

/* The text with values would call `k + $1` "(k + 5)". NULL: they cannot be had, so they are called like that. */
static struct rql_columns *column_names(struct rql_prepared_query *q)
{
	struct rql_session *s = q->s;
	uint64_t schema = rql_catalog_schema_epoch(s->db->catalog);
	if (q->names && q->schema_epoch == schema && q->session_epoch == s->epoch)
		return q->names;
	rql_columns_release(q->names);
	q->names = NULL;
	rql_host_stmt_free(q->stmt); /* it may know the columns of before */
	q->stmt = NULL;
	if (rql_host_prepare(s->host, q->sql, &q->stmt, NULL) != RQL_OK)
		return NULL;
	if (columns_are_open(q->stmt)) {
		rql_host_stmt_free(q->stmt);
		q->stmt = NULL;
		q->names = describe(q);
	} else {
		q->names = rql_columns_of_stmt(q->stmt);
	}
	q->schema_epoch = schema;
	q->session_epoch = s->epoch;
	return q->names;
}

/* ---- what is known before it runs ---- */
static rql_status have_statement(struct rql_prepared_query *q, struct rql_error *err)
{
	rql_session_begin_call(q->s); /* to prepare ends an open result */
	return q->stmt ? RQL_OK : rql_host_prepare(q->s->host, q->sql, &q->stmt, err);
}

struct rql_type rql_prepared_parameter_type(struct rql_prepared_query *q, uint64_t index)
{
	if (q->own || have_statement(q, NULL) != RQL_OK)
		return rql_type_simple(RQL_TYPE_INVALID);
	return rql_host_stmt_parameter_type(q->stmt, index);
}

rql_status rql_prepared_columns(struct rql_prepared_query *q, struct rql_columns **out, struct rql_error *err)
{
	if (q->own)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the columns of a statement of RayQL's own are known when it has run");
	RQL_TRY(have_statement(q, err));
	if (columns_are_open(q->stmt))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the columns' types depend on the parameters: write CAST(? AS type), or execute it");
	struct rql_columns *columns = rql_columns_of_stmt(q->stmt);
	if (!columns)
		return rql_error_memory(err, 0, "a result's columns");
	*out = columns;
	return RQL_OK;
}

/* ---- running ---- */

/* The text with its values, where a method may answer it; NULL: the host is to. */
static char *text_to_plan(struct rql_prepared_query *q)
{
	const struct rql_session *s = q->s;
	bool all = true;
	for (uint64_t i = 0; i < q->count; i++)
		all = all && q->bound[i];
	/* Inside a transaction a value that cannot be cast would abort it before the host has seen the statement. */
	if (!all || s->txn.open || rql_text_runs_unprepared(q->sql))
		return NULL;
	return write_text(q, q->places);
}

/* The text was planned and answered: other values may need no planning. */
static void learn(struct rql_prepared_query *q, const char *text, const struct rql_result *answer)
{
	if (answer)
		rql_point_learn(&q->point, q->s, text, q->places, q->values, q->count, answer->columns);
}

/* By a plan that was made for other values. */
static rql_status execute_point(const struct rql_call *call, const struct rql_prepared_query *q, bool *done,
                                struct rql_error *err)
{
	*done = false;
	for (uint64_t i = 0; i < q->point.count; i++)
		if (!q->bound[i])
			return RQL_OK;
	return q->kind == RQL_HOST_SELECT ? rql_point_run(&q->point, call, q->values, done, err) : RQL_OK;
}

static rql_status execute_select(const struct rql_call *call, struct rql_prepared_query *q, struct rql_error *err)
{
	struct rql_session *s = q->s;
	struct rql_choice choice = {0};
	struct rql_call with_values = *call;
	bool done = false;
	char *why = NULL, *text = text_to_plan(q);
	rql_status status = RQL_OK;
	if (text) {
		if (rql_catalog_structure_count(s->db->catalog) > 0 || s->settings.auto_columns)
			with_values.names = column_names(q);
		with_values.sql = text;
		status = rql_select_cached(&with_values, &done, &why, err);
		with_values.failed = why;
		if (status == RQL_OK && !done && !why && !rql_plan_cache_find(s->cache, s, text)) {
			rql_host_stmt_free(q->stmt); /* nothing is bound twice at a time */
			q->stmt = NULL;
		}
		if (status == RQL_OK && !done)
			status = rql_select_try(&with_values, text, &choice, &done, err);
		if (status == RQL_OK && done)
			learn(q, text, call->out ? *call->out : NULL);
	}
	if (status == RQL_OK && !done)
		status = bound_statement(q, err);
	if (status == RQL_OK && !done)
		status = text ? rql_select_host(call, &choice, q->stmt, true, err) : rql_host_run(call, q->stmt, true, err);
	rql_choice_clear(&choice);
	free(text);
	free(why);
	return status;
}

/* The host's statement goes on meaning what it meant when it was bound; its text, which the planner and follow.c read,
 * means what settings and macros of now make of it. Both are to mean the latter. */
static void follow_settings(struct rql_prepared_query *q)
{
	uint64_t meaning = rql_host_meaning(q->s->host), epoch = rql_catalog_schema_epoch(q->s->db->catalog);
	const bool moved = q->kind == RQL_HOST_WRITE && q->bound_epoch != epoch;
	if (!q->executes && !moved && q->meaning == meaning && q->variables == q->s->variables)
		return;
	rql_host_stmt_free(q->stmt);
	rql_columns_release(q->names);
	q->stmt = NULL;
	q->names = NULL;
	q->meaning = meaning;
	q->variables = q->s->variables;
	q->bound_epoch = epoch;
}

rql_status rql_prepared_execute(struct rql_prepared_query *q, struct rql_result **out, struct rql_error *err)
{
	struct rql_session *s = q->s;
	if (q->own || (q->count == 0 && q->kind == RQL_HOST_SELECT))
		return rql_session_query(s, q->sql, out, err);
	struct rql_result *res = NULL;
	struct rql_call call = {.s = s, .sql = q->sql, .stream = true, .start_ns = rql_now_ns(), .out = out ? &res : NULL};
	rql_session_begin_call(s);
	follow_settings(q);
	bool done;
	rql_status status = execute_point(&call, q, &done, err);
	if (status != RQL_OK || done) {
		/* nothing is left to do */
	} else if (q->kind == RQL_HOST_SELECT) {
		status = execute_select(&call, q, err);
	} else {
		status = bound_statement(q, err);
		call.prepared = q;
		if (status == RQL_OK)
			status = rql_host_run(&call, q->stmt, true, err);
	}
	return rql_session_hand_out(s, status, res, out);
}
