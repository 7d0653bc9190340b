/* Results and batches. */
#include "api/api_internal.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SAME_TYPE(id, text, bytes)                                                                                     \
	_Static_assert((int)RAYQL_TYPE_##id == (int)RQL_TYPE_##id, "the public type is the internal one");
RQL_TYPES(SAME_TYPE)
_Static_assert(sizeof(rayql_string) == sizeof(struct rql_string), "strings are the internal ones");
_Static_assert(offsetof(rayql_string, tail) == offsetof(struct rql_string, pointer.data), "and in the same layout");

rayql_status rql_api_result_room(bool wanted, rayql_result **out, rayql_error **error)
{
	struct rql_error err = {0};
	*out = wanted ? calloc(1, sizeof **out) : NULL;
	if (*out || !wanted)
		return RAYQL_OK;
	rql_error_memory(&err, sizeof **out, "a result");
	return rql_api_fail(&err, error);
}

rayql_result *rql_api_result(rayql_connection *con, rayql_statement *statement, struct rql_result *res,
                             rayql_result *room)
{
	if (!room)
		return NULL;
	con->references++;
	if (statement)
		statement->references++;
	*room = (rayql_result){con, statement, res};
	return room;
}

void rayql_result_free(rayql_result *res)
{
	if (!res || rql_api_is_forked(res->connection->database))
		return;
	rql_result_free(res->result);
	if (res->statement)
		rql_api_statement_unref(res->statement);
	rql_api_connection_unref(res->connection);
	free(res);
}

/* ---- columns ---- */
static bool has_column(const rayql_result *res, uint32_t column)
{
	return res && column < res->result->columns->count;
}

uint32_t rayql_column_count(const rayql_result *res)
{
	return res ? res->result->columns->count : 0;
}

const char *rayql_column_name(const rayql_result *res, uint32_t column)
{
	return has_column(res, column) ? res->result->columns->names[column] : NULL;
}

rayql_type rayql_column_type(const rayql_result *res, uint32_t column)
{
	return has_column(res, column) ? (rayql_type)res->result->columns->types[column].id : RAYQL_TYPE_INVALID;
}

const char *rayql_column_type_name(const rayql_result *res, uint32_t column)
{
	return has_column(res, column) ? res->result->columns->type_texts[column] : NULL;
}

uint8_t rayql_column_scale(const rayql_result *res, uint32_t column)
{
	return has_column(res, column) ? res->result->columns->types[column].scale : 0;
}

uint8_t rayql_column_width(const rayql_result *res, uint32_t column)
{
	return has_column(res, column) ? res->result->columns->types[column].width : 0;
}

rayql_result_kind rayql_result_kind_of(const rayql_result *res)
{
	if (!res || res->result->kind == RQL_HOST_NOTHING)
		return RAYQL_RESULT_NOTHING;
	return res->result->kind == RQL_HOST_CHANGED ? RAYQL_RESULT_CHANGED : RAYQL_RESULT_ROWS;
}

const char *rayql_result_method(const rayql_result *res)
{
	return res ? res->result->method : "";
}

const char *rayql_result_reason(const rayql_result *res)
{
	return res ? res->result->reason : "";
}

const char *rayql_result_notice(const rayql_result *res)
{
	return res && res->result->notice ? res->result->reason : NULL;
}

/* ---- rows ---- */
static rayql_status wrap(struct rql_batch *batch, rayql_batch **out, rayql_error **error)
{
	rayql_batch *b = calloc(1, sizeof *b);
	if (!b) {
		struct rql_error err = {0};
		rql_batch_release(batch);
		rql_error_memory(&err, sizeof *b, "a batch");
		return rql_api_fail(&err, error);
	}
	b->batch = batch;
	*out = b;
	return RAYQL_OK;
}

rayql_status rayql_fetch(rayql_result *res, rayql_batch **out, rayql_error **error)
{
	struct rql_error err = {0};
	struct rql_batch *batch = NULL;
	if (!res || !out)
		return rql_api_misuse(error, "rayql_fetch: res or out is NULL");
	if (rql_api_is_forked(res->connection->database))
		return rql_api_forked(error);
	rql_api_begin(res->connection);
	rql_status status = rql_result_fetch(res->result, &batch, &err);
	rql_api_end(res->connection);
	if (status != RQL_OK)
		return rql_api_fail(&err, error);
	if (batch)
		return wrap(batch, out, error);
	*out = NULL;
	return RAYQL_OK;
}

void rayql_batch_free(rayql_batch *batch)
{
	if (!batch)
		return;
	rql_arena_free(batch->arena);
	rql_batch_release(batch->batch);
	free(batch);
}

uint64_t rayql_batch_rows(const rayql_batch *batch)
{
	return batch ? batch->batch->rows : 0;
}

bool rayql_batch_is_null(const rayql_batch *batch, uint32_t column, uint64_t row)
{
	if (!batch || column >= batch->batch->column_count || row >= batch->batch->rows)
		return true;
	return !rql_column_valid(&batch->batch->columns[column], row);
}

static bool is_text(const struct rql_column *column)
{
	return column->type.id == RQL_TYPE_VARCHAR || column->type.id == RQL_TYPE_BLOB;
}

const void *rayql_batch_data(const rayql_batch *batch, uint32_t column)
{
	if (!batch || column >= batch->batch->column_count)
		return NULL;
	const struct rql_column *c = &batch->batch->columns[column];
	return is_text(c) || rql_type_bytes(c->type) == 0 ? NULL : c->data;
}

const uint64_t *rayql_batch_validity(const rayql_batch *batch, uint32_t column)
{
	return batch && column < batch->batch->column_count ? batch->batch->columns[column].validity : NULL;
}

const rayql_string *rayql_batch_strings(const rayql_batch *batch, uint32_t column)
{
	if (!batch || column >= batch->batch->column_count || !is_text(&batch->batch->columns[column]))
		return NULL;
	return batch->batch->columns[column].data;
}

const char *rayql_batch_text(const rayql_batch *batch, uint32_t column, uint64_t row, size_t *length)
{
	if (rayql_batch_is_null(batch, column, row) || !is_text(&batch->batch->columns[column])) {
		if (length)
			*length = 0;
		return NULL;
	}
	const struct rql_string *s = (const struct rql_string *)batch->batch->columns[column].data + row;
	if (length)
		*length = s->length;
	return rql_string_data(s);
}

typedef rql_status (*cast_fn)(struct rql_host_con *con, const struct rql_batch *batch, struct rql_batch **out,
                              struct rql_error *err);

static rayql_status cast(rayql_result *res, const rayql_batch *batch, cast_fn fn, rayql_batch **out, rayql_error **error)
{
	struct rql_error err = {0};
	struct rql_batch *text = NULL;
	if (!res || !batch || !out)
		return rql_api_misuse(error, "rayql_batch_to_text, rayql_batch_to_json: res, batch or out is NULL");
	if (fn(rql_session_host(res->connection->session), batch->batch, &text, &err) != RQL_OK)
		return rql_api_fail(&err, error);
	return wrap(text, out, error);
}

rayql_status rayql_batch_to_text(rayql_result *res, const rayql_batch *batch, rayql_batch **out, rayql_error **error)
{
	return cast(res, batch, rql_host_to_text, out, error);
}

rayql_status rayql_batch_to_json(rayql_result *res, const rayql_batch *batch, rayql_batch **out, rayql_error **error)
{
	return cast(res, batch, rql_host_to_json, out, error);
}
