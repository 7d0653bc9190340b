/* Columns of batches with their parts, and such values as parameters. */
#include "api/api_internal.h"
#include <stdlib.h>
#include <string.h>

/* A rayql_vector is the tree that src/host made of the column. */
static const struct rql_nested *nested_of(const rayql_vector *vector)
{
	return (const struct rql_nested *)(const void *)vector;
}

static const rayql_vector *vector_of(const struct rql_nested *nested)
{
	return (const rayql_vector *)(const void *)nested;
}

_Static_assert(sizeof(rayql_entry) == sizeof(struct rql_entry), "the public entry is the internal one");

rql_status rql_api_nested(rayql_connection *con, struct rql_arena *arena, const struct rql_batch *batch,
                          uint32_t column, const struct rql_nested **out, struct rql_error *err)
{
	struct rql_nested *made = RQL_NEW(arena, struct rql_nested);
	if (!made)
		return rql_error_memory(err, sizeof *made, "a column's parts");
	RQL_TRY(rql_host_nested(rql_session_host_db(con->session), &batch->columns[column], batch->rows, arena, made, err));
	*out = made;
	return RQL_OK;
}

/* Made once a column, and kept by the batch. */
static rql_status batch_vector(rayql_result *res, rayql_batch *batch, uint32_t column, struct rql_error *err)
{
	if (!batch->arena)
		batch->arena = rql_arena_new();
	if (batch->arena && !batch->vectors)
		batch->vectors = RQL_NEW_ARRAY(batch->arena, const struct rql_nested *, batch->batch->column_count);
	if (!batch->vectors)
		return rql_error_memory(err, 0, "a batch's columns");
	if (batch->vectors[column])
		return RQL_OK;
	return rql_api_nested(res->connection, batch->arena, batch->batch, column, &batch->vectors[column], err);
}

rayql_status rayql_batch_vector(rayql_result *res, rayql_batch *batch, uint32_t column, const rayql_vector **out,
                                rayql_error **error)
{
	struct rql_error err = {0};
	if (!res || !batch || !out || column >= batch->batch->column_count)
		return rql_api_misuse(error, "rayql_batch_vector: res, batch or out is NULL, or there is no such column");
	if (batch_vector(res, batch, column, &err) != RQL_OK)
		return rql_api_fail(&err, error);
	*out = vector_of(batch->vectors[column]);
	return RAYQL_OK;
}

/* ---- what it is ---- */
rayql_type rayql_vector_type(const rayql_vector *vector)
{
	if (!vector)
		return RAYQL_TYPE_INVALID;
	switch (nested_of(vector)->kind) {
	case RQL_NESTED_LIST:
		return RAYQL_TYPE_LIST;
	case RQL_NESTED_ARRAY:
		return RAYQL_TYPE_ARRAY;
	case RQL_NESTED_STRUCT:
		return RAYQL_TYPE_STRUCT;
	case RQL_NESTED_MAP:
		return RAYQL_TYPE_MAP;
	case RQL_NESTED_UNION:
		return RAYQL_TYPE_UNION;
	case RQL_NESTED_VALUE:
		break;
	}
	return (rayql_type)nested_of(vector)->column.type.id;
}

const char *rayql_vector_type_name(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->text : NULL;
}

uint8_t rayql_vector_width(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->column.type.width : 0;
}

uint8_t rayql_vector_scale(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->column.type.scale : 0;
}

uint32_t rayql_vector_member_count(const rayql_vector *vector)
{
	const struct rql_type_info *info = vector ? nested_of(vector)->column.type.info : NULL;
	return info && nested_of(vector)->column.type.id == RQL_TYPE_ENUM ? info->name_count : 0;
}

const char *rayql_vector_member(const rayql_vector *vector, uint32_t member)
{
	return member < rayql_vector_member_count(vector) ? nested_of(vector)->column.type.info->names[member] : NULL;
}

/* ---- what it holds ---- */
uint64_t rayql_vector_rows(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->rows : 0;
}

bool rayql_vector_is_null(const rayql_vector *vector, uint64_t row)
{
	if (!vector || row >= nested_of(vector)->rows || nested_of(vector)->column.type.id == RQL_TYPE_SQLNULL)
		return true;
	return !rql_column_valid(&nested_of(vector)->column, row);
}

const uint64_t *rayql_vector_validity(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->column.validity : NULL;
}

static bool is_text(const struct rql_nested *nested)
{
	return nested->column.type.id == RQL_TYPE_VARCHAR || nested->column.type.id == RQL_TYPE_BLOB;
}

const void *rayql_vector_data(const rayql_vector *vector)
{
	return vector && !is_text(nested_of(vector)) && rql_type_bytes(nested_of(vector)->column.type)
	           ? nested_of(vector)->column.data
	           : NULL;
}

const rayql_string *rayql_vector_strings(const rayql_vector *vector)
{
	return vector && is_text(nested_of(vector)) ? nested_of(vector)->column.data : NULL;
}

uint32_t rayql_vector_child_count(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->child_count : 0;
}

const rayql_vector *rayql_vector_child(const rayql_vector *vector, uint32_t child)
{
	return child < rayql_vector_child_count(vector) ? vector_of(&nested_of(vector)->children[child]) : NULL;
}

const char *rayql_vector_child_name(const rayql_vector *vector, uint32_t child)
{
	return child < rayql_vector_child_count(vector) ? nested_of(vector)->names[child] : NULL;
}

const rayql_entry *rayql_vector_entries(const rayql_vector *vector)
{
	return vector ? (const rayql_entry *)(const void *)nested_of(vector)->entries : NULL;
}

uint64_t rayql_vector_array_size(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->array_size : 0;
}

const uint8_t *rayql_vector_tags(const rayql_vector *vector)
{
	return vector ? nested_of(vector)->tags : NULL;
}

/* ---- as parameters ---- */
rql_status rql_api_bind_nested(rayql_statement *stmt, uint64_t index, const struct rql_nested *nested, uint64_t row,
                               struct rql_error *err)
{
	struct rql_value value = rql_column_get(&nested->column, row);
	struct rql_strbuf text = {0};
	if (nested->type.id != RQL_TYPE_OTHER || value.is_null) {
		value.type = value.is_null ? rql_type_simple(RQL_TYPE_SQLNULL) : value.type;
		return rql_prepared_bind(stmt->query, index, &value, err);
	}
	rql_status status = RQL_OK;
	if (!rql_nested_print(&text, nested, row) || text.failed)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "parameter %llu: a value of the type %s cannot be bound",
		                       (unsigned long long)index, nested->text);
	value = (struct rql_value){.type = nested->type, .string = {rql_strbuf_text(&text), text.length}};
	if (status == RQL_OK)
		status = rql_prepared_bind(stmt->query, index, &value, err);
	rql_strbuf_free(&text);
	return status;
}

rayql_status rayql_bind_vector(rayql_statement *stmt, uint64_t index, const rayql_vector *vector, uint64_t row,
                               rayql_error **error)
{
	struct rql_error err = {0};
	if (!stmt || !vector || row >= nested_of(vector)->rows)
		return rql_api_misuse(error, "rayql_bind_vector: stmt or vector is NULL, or it has no such row");
	rql_status status = rql_api_bind_nested(stmt, index, nested_of(vector), row, &err);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

static rql_status bind_cast(rayql_statement *stmt, uint64_t index, const char *type, const struct rql_value *text,
                            struct rql_error *err)
{
	struct rql_strbuf literal = {0};
	struct rql_arena *arena = rql_arena_new();
	struct rql_type_info *info = arena ? RQL_NEW(arena, struct rql_type_info) : NULL;
	struct rql_type named = {0};
	struct rql_host_con *host = rql_session_host(stmt->connection->session);
	rql_status status = info ? rql_host_type_named(host, type, arena, &named, err)
	                         : rql_error_memory(err, 0, "a parameter");
	struct rql_strbuf name = {0};
	rql_type_print(&name, named);
	if (status == RQL_OK && (!rql_value_print(&literal, text) || name.failed || literal.failed))
		status = rql_error_memory(err, text->string.length, "a parameter");
	if (status == RQL_OK) {
		info->text = rql_strbuf_text(&name);
		struct rql_value value = {.type = {.id = RQL_TYPE_OTHER, .info = info},
		                          .string = {rql_strbuf_text(&literal), literal.length}};
		status = rql_prepared_bind(stmt->query, index, &value, err);
	}
	rql_strbuf_free(&name);
	rql_strbuf_free(&literal);
	rql_arena_free(arena);
	return status;
}

rayql_status rayql_bind_cast(rayql_statement *stmt, uint64_t index, const char *type, const char *text, size_t length,
                             rayql_error **error)
{
	struct rql_error err = {0};
	if (!stmt || !type || (!text && length))
		return rql_api_misuse(error, "rayql_bind_cast: stmt, type or text is NULL");
	struct rql_value value = {.type = rql_type_simple(RQL_TYPE_VARCHAR), .string = {text ? text : "", length}};
	return bind_cast(stmt, index, type, &value, &err) == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}
