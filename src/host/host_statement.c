/* Statements: cut from a text, prepared, classified by what they do, bound to values, executed. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct rql_host_list {
	duckdb_extracted_statements statements;
	bool may_analyze; /* the text has the word ANALYZE somewhere */
};

struct rql_host_stmt {
	struct rql_host_con *con;
	duckdb_prepared_statement prepared;
	duckdb_statement_type type;
	enum rql_host_class class;
	uint32_t column_count;
	uint64_t parameter_count;
	struct rql_arena *arena;            /* names */
	const char **columns;               /* NULL until asked for */
	const char **parameters;            /* NULL until asked for */
	struct host_types *column_types;    /* NULL until asked for: a large ENUM is not for nothing */
	struct host_types *parameter_types; /* the same */
};

/* EXPLAIN ANALYZE runs its statement. Taking every text with the word in it for one errs on the safe side only. */
static bool mentions_analyze(const char *sql)
{
	return strcasestr(sql, "analyze") || strcasestr(sql, "analyse");
}

static const struct {
	int type;
	enum rql_host_class class;
} statement_types[] = {
	{DUCKDB_STATEMENT_TYPE_SELECT, RQL_HOST_SELECT},
	{DUCKDB_STATEMENT_TYPE_INSERT, RQL_HOST_WRITE},
	{DUCKDB_STATEMENT_TYPE_UPDATE, RQL_HOST_WRITE},
	{DUCKDB_STATEMENT_TYPE_EXPLAIN, RQL_HOST_SELECT},
	{DUCKDB_STATEMENT_TYPE_DELETE, RQL_HOST_WRITE},
	{DUCKDB_STATEMENT_TYPE_PREPARE, RQL_HOST_OTHER},
	{DUCKDB_STATEMENT_TYPE_CREATE, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_EXECUTE, RQL_HOST_OTHER},
	{DUCKDB_STATEMENT_TYPE_ALTER, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_TRANSACTION, RQL_HOST_TRANSACTION},
	{DUCKDB_STATEMENT_TYPE_COPY, RQL_HOST_WRITE},
	{DUCKDB_STATEMENT_TYPE_ANALYZE, RQL_HOST_OTHER},
	{DUCKDB_STATEMENT_TYPE_VARIABLE_SET, RQL_HOST_SETTING},
	{DUCKDB_STATEMENT_TYPE_CREATE_FUNC, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_DROP, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_EXPORT, RQL_HOST_OTHER},
	{DUCKDB_STATEMENT_TYPE_PRAGMA, RQL_HOST_SETTING},
	{DUCKDB_STATEMENT_TYPE_VACUUM, RQL_HOST_OTHER},
	{DUCKDB_STATEMENT_TYPE_CALL, RQL_HOST_OTHER},
	{DUCKDB_STATEMENT_TYPE_SET, RQL_HOST_SETTING},
	{DUCKDB_STATEMENT_TYPE_LOAD, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_ATTACH, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_DETACH, RQL_HOST_SCHEMA},
	{DUCKDB_STATEMENT_TYPE_MULTI, RQL_HOST_OTHER},
	{HOST_STATEMENT_COPY_DATABASE, RQL_HOST_SCHEMA},
	{HOST_STATEMENT_MERGE, RQL_HOST_WRITE},
};
#define STATEMENT_TYPES (sizeof statement_types / sizeof statement_types[0])

static enum rql_host_class class_of(duckdb_statement_type type, bool may_analyze)
{
	for (size_t i = 0; i < STATEMENT_TYPES; i++) {
		if (statement_types[i].type != (int)type)
			continue;
		if (type == DUCKDB_STATEMENT_TYPE_EXPLAIN && may_analyze)
			return RQL_HOST_OTHER;
		return statement_types[i].class;
	}
	return RQL_HOST_OTHER;
}

rql_status rql_host_extract(struct rql_host_con *con, const char *sql, struct rql_host_list **out, uint64_t *count,
                            struct rql_error *err)
{
	struct rql_host_list *list = calloc(1, sizeof *list);
	if (!list)
		return rql_error_memory(err, sizeof *list, "a list of statements");
	list->may_analyze = mentions_analyze(sql);
	idx_t found = duckdb_extract_statements(con->con, sql, &list->statements);
	const char *text = found ? NULL : duckdb_extract_statements_error(list->statements);
	if (text) {
		rql_status status = host_error(err, text);
		rql_host_list_free(list);
		return status;
	}
	*out = list;
	*count = found;
	return RQL_OK;
}

void rql_host_list_free(struct rql_host_list *list)
{
	if (!list)
		return;
	duckdb_destroy_extracted(&list->statements);
	free(list);
}

/* Takes prepared over when state says that it is good. */
static rql_status stmt_new(struct rql_host_con *con, duckdb_state state, duckdb_prepared_statement prepared,
                           bool may_analyze, struct rql_host_stmt **out, struct rql_error *err)
{
	rql_status status;
	if (state != DuckDBSuccess) {
		status = host_error(err, prepared ? duckdb_prepare_error(prepared) : NULL);
		duckdb_destroy_prepare(&prepared);
		return status;
	}
	struct rql_host_stmt *stmt = calloc(1, sizeof *stmt);
	struct rql_arena *arena = rql_arena_new();
	if (!stmt || !arena) {
		free(stmt);
		rql_arena_free(arena);
		duckdb_destroy_prepare(&prepared);
		return rql_error_memory(err, sizeof *stmt, "a statement");
	}
	stmt->con = con;
	stmt->prepared = prepared;
	stmt->arena = arena;
	stmt->type = duckdb_prepared_statement_type(prepared);
	stmt->class = class_of(stmt->type, may_analyze);
	stmt->column_count = (uint32_t)duckdb_prepared_statement_column_count(prepared);
	stmt->parameter_count = duckdb_nparams(prepared);
	*out = stmt;
	return RQL_OK;
}

rql_status rql_host_prepare_at(struct rql_host_con *con, struct rql_host_list *list, uint64_t index,
                               struct rql_host_stmt **out, struct rql_error *err)
{
	duckdb_prepared_statement prepared = NULL;
	RQL_TRY(host_enter(con, err));
	duckdb_state state = duckdb_prepare_extracted_statement(con->con, list->statements, index, &prepared);
	return stmt_new(con, state, prepared, list->may_analyze, out, err);
}

rql_status rql_host_prepare(struct rql_host_con *con, const char *sql, struct rql_host_stmt **out,
                            struct rql_error *err)
{
	duckdb_prepared_statement prepared = NULL;
	if (!sql)
		return rql_error_memory(err, 0, "a statement");
	RQL_TRY(host_enter(con, err));
	bool own = con->guard_plans && rql_host_prepares_aloud() &&
	           duckdb_query(con->con, "BEGIN TRANSACTION", NULL) == DuckDBSuccess;
	duckdb_state state = duckdb_prepare(con->con, sql, &prepared);
	if (own)
		rql_host_rollback(con);
	return stmt_new(con, state, prepared, mentions_analyze(sql), out, err);
}

void rql_host_stmt_free(struct rql_host_stmt *stmt)
{
	if (!stmt)
		return;
	duckdb_destroy_prepare(&stmt->prepared);
	host_types_unref(stmt->column_types);
	host_types_unref(stmt->parameter_types);
	rql_arena_free(stmt->arena);
	free(stmt);
}

enum rql_host_class rql_host_stmt_class(const struct rql_host_stmt *stmt)
{
	return stmt->class;
}

uint32_t rql_host_stmt_columns(const struct rql_host_stmt *stmt)
{
	return stmt->column_count;
}

uint64_t rql_host_stmt_parameters(const struct rql_host_stmt *stmt)
{
	return stmt->parameter_count;
}

/* What is filled in on demand: a statement is const to its readers, but belongs to one thread at a time. */
static struct rql_host_stmt *writable(const struct rql_host_stmt *stmt)
{
	return (struct rql_host_stmt *)(uintptr_t)stmt;
}

static const char *keep(struct rql_arena *arena, const char *text)
{
	const char *copy = text ? rql_arena_strdup(arena, text) : NULL;
	duckdb_free((void *)(uintptr_t)text);
	return copy ? copy : "";
}

const char *rql_host_stmt_column_name(const struct rql_host_stmt *stmt, uint32_t column)
{
	struct rql_host_stmt *self = writable(stmt);
	if (column >= self->column_count)
		return NULL;
	if (!self->columns)
		self->columns = RQL_NEW_ARRAY(self->arena, const char *, self->column_count);
	if (!self->columns)
		return "";
	if (!self->columns[column])
		self->columns[column] = keep(self->arena, duckdb_prepared_statement_column_name(self->prepared, column));
	return self->columns[column];
}

const char *rql_host_stmt_parameter_name(const struct rql_host_stmt *stmt, uint64_t index)
{
	struct rql_host_stmt *self = writable(stmt);
	if (index < 1 || index > self->parameter_count)
		return NULL;
	if (!self->parameters)
		self->parameters = RQL_NEW_ARRAY(self->arena, const char *, self->parameter_count);
	if (!self->parameters)
		return "";
	if (!self->parameters[index - 1])
		self->parameters[index - 1] = keep(self->arena, duckdb_parameter_name(self->prepared, index));
	return self->parameters[index - 1];
}

/* The types of all columns or all parameters; NULL: out of memory. */
static struct host_types *read_types(struct rql_host_stmt *stmt, bool parameters)
{
	uint64_t count = parameters ? stmt->parameter_count : stmt->column_count;
	struct host_types *types = host_types_new((uint32_t)count);
	for (uint32_t i = 0; types && i < count; i++) {
		duckdb_logical_type logical = parameters ? duckdb_param_logical_type(stmt->prepared, i + 1)
		                                         : duckdb_prepared_statement_column_logical_type(stmt->prepared, i);
		bool read = !logical || host_type_in(stmt->con->db, types->arena, logical, &types->types[i]);
		duckdb_destroy_logical_type(&logical);
		if (!read) {
			host_types_unref(types);
			types = NULL;
		}
	}
	return types;
}

struct rql_type rql_host_stmt_column_type(const struct rql_host_stmt *stmt, uint32_t column)
{
	struct rql_host_stmt *self = writable(stmt);
	if (!self->column_types)
		self->column_types = read_types(self, false);
	if (!self->column_types || column >= self->column_count)
		return rql_type_simple(RQL_TYPE_INVALID);
	return self->column_types->types[column];
}

struct rql_type rql_host_stmt_parameter_type(const struct rql_host_stmt *stmt, uint64_t index)
{
	struct rql_host_stmt *self = writable(stmt);
	if (!self->parameter_types)
		self->parameter_types = read_types(self, true);
	if (!self->parameter_types || index < 1 || index > self->parameter_count)
		return rql_type_simple(RQL_TYPE_INVALID);
	return self->parameter_types->types[index - 1];
}

/* A value that is known by its SQL (nested ones are), made by DuckDB. */
static rql_status value_of_text(struct rql_host_con *con, const struct rql_value *value, duckdb_value *out,
                                struct rql_error *err)
{
	struct rql_strbuf text = {0};
	bool printed = rql_value_print(&text, value) && !text.failed;
	rql_status status = printed ? host_fold_value(con, rql_strbuf_text(&text), out, err)
	                            : rql_error_memory(err, value->string.length, "a parameter");
	rql_strbuf_free(&text);
	return status;
}

rql_status rql_host_bind(struct rql_host_stmt *stmt, uint64_t index, const struct rql_value *value,
                         struct rql_error *err)
{
	if (index < 1 || index > stmt->parameter_count)
		return rql_error_set(err, RQL_ERROR_MISUSE, "parameter %llu of %llu: the statement has no such parameter",
		                     (unsigned long long)index, (unsigned long long)stmt->parameter_count);
	duckdb_value out = NULL;
	if (value->type.id == RQL_TYPE_OTHER && !value->is_null && value->string.data)
		RQL_TRY(value_of_text(stmt->con, value, &out, err));
	else
		out = host_value_out(stmt->con->db, value);
	if (!out && value->type.id == RQL_TYPE_VARCHAR)
		return rql_error_set(err, RQL_ERROR_MISUSE, "parameter %llu: the text is not valid UTF-8; bind it as a BLOB",
		                     (unsigned long long)index);
	if (!out)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "parameter %llu: a value of type %s cannot be bound",
		                     (unsigned long long)index, rql_type_id_name(value->type.id));
	duckdb_state state = duckdb_bind_value(stmt->prepared, index, out);
	duckdb_destroy_value(&out);
	return state == DuckDBSuccess ? RQL_OK : host_error(err, duckdb_prepare_error(stmt->prepared));
}

static rql_status execute_streaming(struct rql_host_stmt *stmt, duckdb_result *result, struct rql_error *err)
{
	duckdb_pending_result pending = NULL;
	rql_status status = RQL_OK;
	if (duckdb_pending_prepared_streaming(stmt->prepared, &pending) != DuckDBSuccess) {
		status = host_error(err, pending ? duckdb_pending_error(pending) : NULL);
	} else if (duckdb_execute_pending(pending, result) != DuckDBSuccess) {
		status = host_error_result(err, result);
		duckdb_destroy_result(result);
	}
	duckdb_destroy_pending(&pending);
	return status;
}

static bool may_set(const struct rql_host_stmt *stmt)
{
	return stmt->class == RQL_HOST_SETTING || stmt->class == RQL_HOST_SCHEMA || stmt->class == RQL_HOST_OTHER;
}

static rql_status execute_whole(struct rql_host_stmt *stmt, duckdb_result *result, struct rql_error *err)
{
	duckdb_state state = duckdb_execute_prepared(stmt->prepared, result);
	HOST_CROSS();
	if (may_set(stmt)) /* also when it failed: it may have got half way */
		host_settings_moved(stmt->con->db, stmt->type == DUCKDB_STATEMENT_TYPE_LOAD);
	if (state == DuckDBSuccess)
		return RQL_OK;
	rql_status status = host_error_result(err, result);
	duckdb_destroy_result(result);
	return status;
}

rql_status rql_host_execute(struct rql_host_stmt *stmt, bool stream, struct rql_host_result **out,
                            struct rql_error *err)
{
	duckdb_result result;
	memset(&result, 0, sizeof result);
	RQL_TRY(host_enter(stmt->con, err));
	struct rql_host_result *room = out ? host_result_room(rql_host_stmt_columns(stmt)) : NULL;
	if (out && !room)
		return rql_error_memory(err, 0, "a result");
	HOST_CROSS();
	rql_status status = stream ? execute_streaming(stmt, &result, err) : execute_whole(stmt, &result, err);
	if (status != RQL_OK) {
		rql_host_result_free(room);
		return status;
	}
	return host_result_wrap(stmt->con, &result, room, out, err);
}
