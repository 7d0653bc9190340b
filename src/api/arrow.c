/* Results as Arrow C streams: the stream takes the rows over and keeps the connection. */
#include "rayql/arrow.h"
#include "api/api_internal.h"
#include "api/arrow_array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A result's batches are DuckDB's vectors; an array has the rows of many of them, as readers of Arrow like it. Strings
 * bound it, too: offsets of Arrow's strings have 32 bits. */
#define ARRAY_ROWS 122880u
#define ARRAY_BYTES (UINT64_C(256) << 20)

struct stream {
	rayql_connection *connection;
	rayql_statement *statement;
	struct rql_result *result;
	struct rql_error err;
	struct rql_batch **batches; /* gathered for one array; [next, count) could not be one and go out alone */
	uint64_t count, capacity, next;
	bool ended;
	bool asked, plain; /* plain: the arrays are made here, not by DuckDB; known once asked */
};

static int code_of(rql_status status)
{
	switch (status) {
	case RQL_OK:
		return 0;
	case RQL_ERROR_MEMORY:
	case RQL_ERROR_LIMIT:
		return ENOMEM;
	case RQL_ERROR_INTERRUPTED:
		return ECANCELED;
	case RQL_ERROR_UNSUPPORTED:
		return ENOSYS;
	case RQL_ERROR_MISUSE:
		return EINVAL;
	default:
		return EIO;
	}
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
	struct stream *st = s->private_data;
	const struct rql_columns *c = st->result->columns;
	return code_of(
		rql_host_arrow_schema(rql_session_host(st->connection->session), c->count, c->types, c->names, out, &st->err));
}

static void drop_batches(struct stream *st)
{
	for (uint64_t i = st->next; i < st->count; i++)
		rql_batch_release(st->batches[i]);
	st->count = st->next = 0;
}

/* Of the strings; nested values are not counted. */
static uint64_t string_bytes(const struct rql_batch *batch)
{
	uint64_t bytes = 0;
	for (uint32_t c = 0; c < batch->column_count; c++) {
		const struct rql_column *column = &batch->columns[c];
		const struct rql_string *strings = column->data;
		bool text = column->type.id == RQL_TYPE_VARCHAR || column->type.id == RQL_TYPE_BLOB;
		for (uint64_t r = 0; text && r < batch->rows; r++)
			bytes += rql_column_valid(column, r) ? strings[r].length : 0;
	}
	return bytes;
}

static rql_status gather(struct stream *st)
{
	uint64_t rows = 0, bytes = 0;
	while (!st->ended && rows < ARRAY_ROWS && bytes < ARRAY_BYTES) {
		if (st->count == st->capacity) {
			uint64_t capacity = st->capacity ? 2 * st->capacity : 64;
			struct rql_batch **grown = realloc(st->batches, capacity * sizeof(struct rql_batch *));
			if (!grown)
				return rql_error_memory(&st->err, capacity * sizeof(struct rql_batch *), "an Arrow array");
			st->batches = grown;
			st->capacity = capacity;
		}
		struct rql_batch *batch = NULL;
		RQL_TRY(rql_result_fetch(st->result, &batch, &st->err));
		st->ended = !batch;
		if (!batch)
			break;
		st->batches[st->count++] = batch;
		rows += batch->rows;
		bytes += string_bytes(batch);
	}
	return RQL_OK;
}

/* The batches as one array. */
static rql_status make_array(struct stream *st, struct rql_batch *const *batches, uint64_t count,
                             struct ArrowArray *out, struct rql_error *err)
{
	struct rql_host_con *con = rql_session_host(st->connection->session);
	const struct rql_columns *c = st->result->columns;
	struct ArrowSchema schema;
	if (!st->asked) { /* DuckDB's settings say what the formats are */
		RQL_TRY(rql_host_arrow_schema(con, c->count, c->types, c->names, &schema, err));
		st->plain = rql_arrow_is_plain(&schema, c->types, c->count);
		st->asked = true;
		schema.release(&schema);
	}
	return st->plain ? rql_arrow_array(batches, count, out, err)
	                 : rql_host_arrow_batches(con, batches, count, out, err);
}

static rql_status next_array(struct stream *st, struct ArrowArray *out)
{
	if (st->next == st->count) {
		st->next = st->count = 0;
		RQL_TRY(gather(st));
		if (!st->count)
			return RQL_OK;
		struct rql_error failed = {0};
		rql_status status = make_array(st, st->batches, st->count, out, &failed);
		rql_error_clear(&failed);
		if (status == RQL_OK) {
			drop_batches(st);
			return RQL_OK;
		}
	}
	struct rql_batch *batch = st->batches[st->next++];
	rql_status status = make_array(st, &batch, 1, out, &st->err);
	rql_batch_release(batch);
	return status;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
	struct stream *st = s->private_data;
	memset(out, 0, sizeof *out); /* released: the end, if it stays so */
	if (rql_api_is_forked(st->connection->database))
		return EINVAL;
	rql_api_begin(st->connection);
	rql_status status = next_array(st, out);
	rql_api_end(st->connection);
	if (status != RQL_OK) {
		drop_batches(st);
		memset(out, 0, sizeof *out);
	}
	return code_of(status);
}

static const char *get_last_error(struct ArrowArrayStream *s)
{
	struct stream *st = s->private_data;
	return st->err.message;
}

static void release(struct ArrowArrayStream *s)
{
	struct stream *st = s->private_data;
	drop_batches(st);
	free(st->batches);
	if (!rql_api_is_forked(st->connection->database))
		rql_result_free(st->result);
	if (st->statement)
		rql_api_statement_unref(st->statement);
	rql_api_connection_unref(st->connection);
	rql_error_clear(&st->err);
	free(st);
	s->private_data = NULL;
	s->release = NULL;
}

rayql_status rayql_result_to_arrow(rayql_result *res, struct ArrowArrayStream *out, rayql_error **error)
{
	struct rql_error err = {0};
	if (!res || !out)
		return rql_api_misuse(error, "rayql_result_to_arrow: res or out is NULL");
	struct stream *st = calloc(1, sizeof *st);
	if (st)
		st->result = rql_result_move(res->result);
	if (!st || !st->result) {
		free(st);
		rql_error_memory(&err, sizeof *st, "an Arrow stream");
		return rql_api_fail(&err, error);
	}
	st->connection = res->connection;
	st->connection->references++;
	st->statement = res->statement;
	if (st->statement)
		st->statement->references++;
	*out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, st};
	return RAYQL_OK;
}

/* ---- before a statement runs ---- */
rayql_status rayql_statement_schema(rayql_statement *stmt, struct ArrowSchema *out, rayql_error **error)
{
	struct rql_error err = {0};
	struct rql_columns *columns = NULL;
	if (!stmt || !out)
		return rql_api_misuse(error, "rayql_statement_schema: stmt or out is NULL");
	rql_status status = rql_prepared_columns(stmt->query, &columns, &err);
	if (status == RQL_OK)
		status = rql_host_arrow_schema(rql_session_host(stmt->connection->session), columns->count, columns->types,
		                               columns->names, out, &err);
	rql_columns_release(columns);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

rayql_status rayql_parameter_schema(rayql_statement *stmt, struct ArrowSchema *out, rayql_error **error)
{
	struct rql_error err = {0};
	if (!stmt || !out)
		return rql_api_misuse(error, "rayql_parameter_schema: stmt or out is NULL");
	uint32_t count = (uint32_t)rql_prepared_parameters(stmt->query);
	struct rql_type *types = calloc(count + 1, sizeof *types);
	const char **names = calloc(count + 1, sizeof *names);
	rql_status status = types && names ? RQL_OK : rql_error_memory(&err, count * sizeof *types, "a schema");
	for (uint32_t i = 0; i < count && status == RQL_OK; i++) {
		types[i] = rql_prepared_parameter_type(stmt->query, i + 1);
		if (types[i].id == RQL_TYPE_INVALID)
			types[i] = rql_type_simple(RQL_TYPE_SQLNULL);
		names[i] = rql_prepared_parameter_name(stmt->query, i + 1);
	}
	if (status == RQL_OK)
		status =
			rql_host_arrow_schema(rql_session_host(stmt->connection->session), count, types, names, out, &err);
	free(types);
	free(names);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}
