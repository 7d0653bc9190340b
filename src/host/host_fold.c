/* The value of an expression without a statement: preparing `rayql_fold(e)` binds e on the connection as it is, with
 * its search path, temporary objects, transaction and settings, and the function's bind callback folds it. Nothing
 * is executed, so nothing gets into the user's query log or profile, and no interrupt can come between. What fails there
 * is told beside the binding, which succeeds: DuckDB 2 aborts the transaction of a statement that cannot be bound. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

/* Who waits for a value; on the stack of rql_host_fold_text. */
struct host_fold {
	struct host_fold *next;
	uint64_t connection;
	bool taken, found;
	char *text;             /* NULL: it is NULL, or there was no memory */
	bool whole;             /* the value is wanted, not its text */
	duckdb_value value;
	struct rql_error error; /* why there is no value */
};

/* Who waits on this connection; *first: nobody has bound for it before. Later binds of the same text are DuckDB's own
 * (PRAGMA enable_verification), or of a text that is planned and holds rayql_fold itself. */
static struct host_fold *find_waiting(struct rql_host_db *db, uint64_t connection, bool *first)
{
	struct host_fold *found = NULL;
	pthread_mutex_lock(&db->registry);
	for (struct host_fold *at = db->folds; at && !found; at = at->next)
		found = at->connection == connection ? at : NULL;
	*first = found && !found->taken;
	if (found)
		found->taken = true;
	pthread_mutex_unlock(&db->registry);
	return found;
}

static void stop_waiting(struct rql_host_db *db, const struct host_fold *fold)
{
	pthread_mutex_lock(&db->registry);
	struct host_fold **at = &db->folds;
	while (*at != fold)
		at = &(*at)->next;
	*at = fold->next;
	pthread_mutex_unlock(&db->registry);
}

static void fold_argument(duckdb_bind_info info, duckdb_client_context context, struct host_fold *to)
{
	duckdb_expression argument = duckdb_scalar_function_bind_get_argument(info, 0);
	duckdb_value value = NULL;
	if (!argument || !duckdb_expression_is_foldable(argument)) {
		rql_error_set(&to->error, RQL_ERROR_HOST, "rayql_fold: the argument is no constant");
		duckdb_destroy_expression(&argument);
		return;
	}
	duckdb_error_data failed = duckdb_expression_fold(context, argument, &value);
	if (to->whole && failed && duckdb_error_data_has_error(failed)) {
		(void)host_error_data(failed, RQL_ERROR_HOST, "DuckDB cannot make the value", &to->error);
		failed = NULL;
	} else if (failed && duckdb_error_data_has_error(failed)) {
		host_error(&to->error, duckdb_error_data_message(failed));
	} else if (to->whole) {
		to->value = value;
		to->found = value != NULL;
		value = NULL;
	} else {
		char *text = duckdb_is_null_value(value) ? NULL : duckdb_get_varchar(value);
		to->text = text ? strdup(text) : NULL;
		to->found = !text || to->text;
		duckdb_free(text);
	}
	duckdb_destroy_error_data(&failed);
	duckdb_destroy_value(&value);
	duckdb_destroy_expression(&argument);
}

static void fold_bind(duckdb_bind_info info)
{
	HOST_CROSS();
	struct rql_host_db *db = duckdb_scalar_function_bind_get_extra_info(info);
	duckdb_client_context context = NULL;
	duckdb_scalar_function_get_client_context(info, &context);
	bool first = false;
	struct host_fold *to = find_waiting(db, duckdb_client_context_get_connection_id(context), &first);
	if (first)
		fold_argument(info, context, to);
	else if (!to)
		duckdb_scalar_function_bind_set_error(info, "rayql_fold(e) is for RayQL's own questions");
	duckdb_destroy_client_context(&context);
	HOST_CROSS();
}

/* Never executed, but a function must have one. */
static void fold_call(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)input;
	(void)output;
	duckdb_scalar_function_set_error(info, "rayql_fold(e) is for RayQL's own questions");
}

/* On success fold has the value or its text. */
static rql_status fold_expression(struct rql_host_con *con, const char *expression, struct host_fold *fold,
                                  struct rql_error *err)
{
	struct rql_host_db *db = con->db;
	struct rql_strbuf sql = {0};
	duckdb_prepared_statement prepared = NULL;
	RQL_TRY(host_enter(con, err));
	rql_strbuf_put(&sql, "SELECT system.main.rayql_fold(");
	rql_strbuf_put(&sql, expression);
	rql_strbuf_putc(&sql, ')');
	char *text = rql_strbuf_take(&sql);
	if (!text)
		return rql_error_memory(err, strlen(expression), "a question to DuckDB");
	pthread_mutex_lock(&db->registry);
	fold->next = db->folds;
	db->folds = fold;
	pthread_mutex_unlock(&db->registry);
	HOST_CROSS();
	duckdb_state state = duckdb_prepare(con->con, text, &prepared);
	HOST_CROSS();
	stop_waiting(db, fold);
	rql_status status = RQL_OK;
	if (state != DuckDBSuccess)
		status = host_error(err, prepared ? duckdb_prepare_error(prepared) : NULL);
	else if ((status = fold->error.status) != RQL_OK)
		rql_error_move(err, &fold->error);
	else if (!fold->found)
		status = rql_error_memory(err, 0, "an answer of DuckDB's");
	if (status != RQL_OK) {
		free(fold->text);
		duckdb_destroy_value(&fold->value);
	}
	rql_error_clear(&fold->error);
	duckdb_destroy_prepare(&prepared);
	free(text);
	return status;
}

rql_status rql_host_fold_text(struct rql_host_con *con, const char *expression, char **out, struct rql_error *err)
{
	struct host_fold fold = {.connection = con->id};
	RQL_TRY(fold_expression(con, expression, &fold, err));
	*out = fold.text;
	return RQL_OK;
}

rql_status host_fold_value(struct rql_host_con *con, const char *expression, duckdb_value *out, struct rql_error *err)
{
	struct host_fold fold = {.connection = con->id, .whole = true};
	RQL_TRY(fold_expression(con, expression, &fold, err));
	*out = fold.value;
	return RQL_OK;
}

rql_status host_fold_plan(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err)
{
	struct rql_strbuf expression = {0};
	rql_strbuf_put(&expression, "system.main.json_serialize_plan(");
	rql_strbuf_put_literal(&expression, sql, strlen(sql));
	rql_strbuf_put(&expression,
	               ", skip_null := true, skip_empty := false, skip_default := true, optimize := false)");
	char *text = rql_strbuf_take(&expression);
	rql_status status =
		text ? rql_host_fold_text(con, text, out, err) : rql_error_memory(err, strlen(sql), "a question to DuckDB");
	free(text);
	return status;
}

rql_status host_fold_register(struct rql_host_db *db, struct rql_error *err)
{
	duckdb_scalar_function function = duckdb_create_scalar_function();
	duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_logical_type result = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
	duckdb_scalar_function_set_name(function, "rayql_fold");
	duckdb_scalar_function_add_parameter(function, any);
	duckdb_scalar_function_set_return_type(function, result);
	duckdb_scalar_function_set_volatile(function);
	duckdb_scalar_function_set_special_handling(function);
	duckdb_scalar_function_set_extra_info(function, db, NULL);
	duckdb_scalar_function_set_bind(function, fold_bind);
	duckdb_scalar_function_set_function(function, fold_call);
	duckdb_state state = duckdb_register_scalar_function(db->service, function);
	duckdb_destroy_logical_type(&any);
	duckdb_destroy_logical_type(&result);
	duckdb_destroy_scalar_function(&function);
	if (state != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the function rayql_fold");
	return RQL_OK;
}
