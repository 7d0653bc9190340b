/* Results of the ADBC driver as Arrow C streams. The engine has one open result a connection; ADBC's users expect several.
 * So a stream whose connection runs another statement first takes its remaining rows into memory. */
#include "api/adbc/adbc_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct adbc_stream {
	struct adbc_connection *con; /* NULL: it needs none */
	struct ArrowArrayStream rows; /* from the engine; released when they are all there */
	struct ArrowSchema schema;
	struct ArrowArray *kept; /* [next, count) come before those of rows */
	size_t next, count, room;
	rayql_statement *statement; /* a query with parameters: run for each row of `parameters`; else NULL */
	struct rql_host_frame *parameters;
	struct rql_batch *batch; /* of parameters */
	uint64_t row;
	struct AdbcError error;
	AdbcStatusCode status;
};

static int code_of(AdbcStatusCode status)
{
	switch (status) {
	case ADBC_OK:
		return 0;
	case ADBC_CANCELLED:
		return ECANCELED;
	case ADBC_NOT_IMPLEMENTED:
		return ENOTSUP;
	case ADBC_INVALID_ARGUMENT:
	case ADBC_INVALID_STATE:
	case ADBC_INVALID_DATA:
		return EINVAL;
	default:
		return EIO;
	}
}

/* ---- a schema's copy: each call of get_schema gives one ---- */
static void schema_release(struct ArrowSchema *schema)
{
	for (int64_t i = 0; i < schema->n_children; i++) {
		if (schema->children[i] && schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
		free(schema->children[i]);
	}
	if (schema->dictionary && schema->dictionary->release)
		schema->dictionary->release(schema->dictionary);
	free(schema->dictionary);
	free(schema->children);
	free((void *)(uintptr_t)schema->format);
	free((void *)(uintptr_t)schema->name);
	free((void *)(uintptr_t)schema->metadata);
	schema->release = NULL;
}

/* Metadata: a count of pairs, then each key and each value behind its length, all numbers of 32 bits. */
static char *copy_metadata(const char *metadata)
{
	int32_t number;
	size_t size = sizeof number;
	memcpy(&number, metadata, sizeof number);
	for (int32_t i = number * 2; i > 0; i--) {
		int32_t length;
		memcpy(&length, metadata + size, sizeof length);
		size += sizeof length + (size_t)length;
	}
	char *copy = malloc(size);
	return copy ? memcpy(copy, metadata, size) : NULL;
}

static bool copy_schema(const struct ArrowSchema *from, struct ArrowSchema *out)
{
	*out = (struct ArrowSchema){.format = strdup(from->format ? from->format : ""),
	                            .name = strdup(from->name ? from->name : ""),
	                            .metadata = from->metadata ? copy_metadata(from->metadata) : NULL,
	                            .flags = from->flags,
	                            .children = calloc((size_t)from->n_children + 1, sizeof *out->children),
	                            .release = schema_release};
	bool ok = out->format && out->name && out->children && (!from->metadata || out->metadata);
	for (int64_t i = 0; ok && i < from->n_children; i++) {
		out->children[i] = calloc(1, sizeof **out->children);
		out->n_children = i + 1;
		ok = out->children[i] && copy_schema(from->children[i], out->children[i]);
	}
	if (ok && from->dictionary) {
		out->dictionary = calloc(1, sizeof *out->dictionary);
		ok = out->dictionary && copy_schema(from->dictionary, out->dictionary);
	}
	if (!ok)
		schema_release(out);
	return ok;
}

/* ---- rows from the engine ---- */
static AdbcStatusCode stream_failed(struct adbc_stream *st, struct ArrowArrayStream *from, int code)
{
	const char *message = from->get_last_error(from);
	AdbcStatusCode status = code == ECANCELED ? ADBC_CANCELLED : code == ENOSYS ? ADBC_NOT_IMPLEMENTED : ADBC_IO;
	if (message && strncmp(message, "the result was closed", 21) == 0)
		status = ADBC_INVALID_STATE;
	rayql_error *err = NULL;
	struct rql_error text = {0};
	rql_error_set(&text, code == ECANCELED ? RQL_ERROR_INTERRUPTED : RQL_ERROR_HOST, "%s",
	              message ? message : strerror(code));
	rql_api_fail(&text, &err);
	AdbcStatusCode known = adbc_fail_with(&st->error, err);
	return known == ADBC_UNKNOWN ? status : known;
}

static AdbcStatusCode keep_array(struct adbc_stream *st, struct ArrowArray *array)
{
	if (st->count == st->room) {
		size_t room = st->room ? 2 * st->room : 16;
		struct ArrowArray *grown = realloc(st->kept, room * sizeof *grown);
		if (!grown) {
			array->release(array);
			return adbc_fail(&st->error, ADBC_INTERNAL, "53200", "out of memory for a result");
		}
		st->kept = grown;
		st->room = room;
	}
	st->kept[st->count++] = *array;
	return ADBC_OK;
}

static void rows_done(struct adbc_stream *st)
{
	if (st->rows.release)
		st->rows.release(&st->rows);
	st->rows.release = NULL;
	if (st->con && st->con->open == st && !st->parameters)
		st->con->open = NULL;
}

static AdbcStatusCode pull(struct adbc_stream *st, struct ArrowArray *out)
{
	memset(out, 0, sizeof *out);
	if (!st->rows.release)
		return ADBC_OK;
	int code = st->rows.get_next(&st->rows, out);
	AdbcStatusCode status = code == 0 ? ADBC_OK : stream_failed(st, &st->rows, code);
	if (!out->release || status != ADBC_OK)
		rows_done(st);
	return status;
}

/* ---- rows of parameters ---- */
static void parameters_done(struct adbc_stream *st)
{
	rql_batch_release(st->batch);
	st->batch = NULL;
	rql_host_frame_release(st->parameters);
	st->parameters = NULL;
	rows_done(st);
}

/* A NULL that is bound has no type, so the columns that it makes would be of another one than for other rows. Written into
 * the text it has. */
static rql_status execute_row(const struct adbc_stream *st, struct rql_result **out, struct rql_error *err)
{
	bool nulls = false;
	for (uint32_t c = 0; c < st->batch->column_count; c++)
		nulls = nulls || !rql_column_valid(&st->batch->columns[c], st->row);
	char *text = nulls ? rql_prepared_text(st->statement->query) : NULL;
	rql_status status = text ? rql_session_query(st->con->con->session, text, out, err)
	                         : rql_prepared_execute(st->statement->query, out, err);
	free(text);
	return status;
}

/* Runs the query with the next row; st->rows stays released when there is none. */
static AdbcStatusCode next_parameters(struct adbc_stream *st)
{
	struct rql_error failed = {0};
	struct rql_result *result = NULL;
	rayql_result *room = NULL;
	rayql_error *err = NULL;
	rql_status status = RQL_OK;
	while (status == RQL_OK && (!st->batch || st->row == st->batch->rows)) {
		rql_batch_release(st->batch);
		st->batch = NULL;
		st->row = 0;
		status = rql_host_frame_next(st->parameters, &st->batch, &failed);
		if (status == RQL_OK && !st->batch) {
			parameters_done(st);
			return ADBC_OK;
		}
	}
	if (status == RQL_OK)
		status = rql_api_bind_row(st->statement, st->batch, st->row, &failed);
	if (status == RQL_OK && rql_api_result_room(true, &room, &err) != RAYQL_OK) {
		parameters_done(st);
		return adbc_fail_with(&st->error, err);
	}
	if (status == RQL_OK)
		status = execute_row(st, &result, &failed);
	st->row++;
	if (status != RQL_OK) {
		free(room);
		rql_api_fail(&failed, &err);
		parameters_done(st);
		return adbc_fail_with(&st->error, err);
	}
	rayql_result *res = rql_api_result(st->con->con, st->statement, result, room);
	if (rayql_result_to_arrow(res, &st->rows, &err) != RAYQL_OK) {
		rayql_result_free(res);
		parameters_done(st);
		return adbc_fail_with(&st->error, err);
	}
	rayql_result_free(res);
	return ADBC_OK;
}

static AdbcStatusCode next_of_any(struct adbc_stream *st, struct ArrowArray *out)
{
	AdbcStatusCode status = pull(st, out);
	while (status == ADBC_OK && !out->release && st->parameters) {
		status = next_parameters(st);
		if (status == ADBC_OK)
			status = pull(st, out);
	}
	return status;
}

AdbcStatusCode adbc_stream_settle(struct adbc_stream *st, struct AdbcError *error)
{
	(void)error;
	for (;;) {
		struct ArrowArray array;
		st->status = next_of_any(st, &array); /* a failure is the stream's: its reader will be told */
		if (st->status != ADBC_OK || !array.release)
			return ADBC_OK;
		st->status = keep_array(st, &array);
	}
}

/* ---- the stream ---- */
static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
	struct adbc_stream *st = s->private_data;
	return copy_schema(&st->schema, out) ? 0 : ENOMEM;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
	struct adbc_stream *st = s->private_data;
	memset(out, 0, sizeof *out);
	if (st->next < st->count) {
		*out = st->kept[st->next++];
		return 0;
	}
	if (st->status == ADBC_OK)
		st->status = next_of_any(st, out);
	return code_of(st->status);
}

static const char *get_last_error(struct ArrowArrayStream *s)
{
	return ((struct adbc_stream *)s->private_data)->error.message;
}

static void stream_free(struct adbc_stream *st)
{
	for (size_t i = st->next; i < st->count; i++)
		st->kept[i].release(&st->kept[i]);
	free(st->kept);
	if (st->parameters)
		parameters_done(st);
	rows_done(st);
	if (st->con && st->con->open == st)
		st->con->open = NULL;
	if (st->statement)
		rql_api_statement_unref(st->statement);
	if (st->schema.release)
		st->schema.release(&st->schema);
	if (st->error.release)
		st->error.release(&st->error);
	if (st->con)
		adbc_connection_unref(st->con);
	free(st);
}

static void release(struct ArrowArrayStream *s)
{
	stream_free(s->private_data);
	s->private_data = NULL;
	s->release = NULL;
}

const struct AdbcError *adbc_error_of_stream(struct ArrowArrayStream *stream, AdbcStatusCode *status)
{
	if (!stream || stream->release != release)
		return NULL;
	const struct adbc_stream *st = stream->private_data;
	if (st->status == ADBC_OK)
		return NULL;
	if (status)
		*status = st->status;
	return &st->error;
}

static struct adbc_stream *stream_new(struct adbc_connection *con, struct ArrowArrayStream *out)
{
	struct adbc_stream *st = calloc(1, sizeof *st);
	if (!st)
		return NULL;
	st->error.vendor_code = ADBC_HAS_DETAILS;
	st->con = con;
	if (con)
		con->references++;
	*out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, st};
	return st;
}

AdbcStatusCode adbc_stream_result(struct adbc_connection *con, rayql_result *res, struct ArrowArrayStream *out,
                                  struct AdbcError *error)
{
	rayql_error *err = NULL;
	struct adbc_stream *st = stream_new(con, out);
	if (!st) {
		rayql_result_free(res);
		return adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a result");
	}
	rayql_status status = rayql_result_to_arrow(res, &st->rows, &err);
	rayql_result_free(res);
	if (status != RAYQL_OK) {
		release(out);
		return adbc_fail_with(error, err);
	}
	con->open = st;
	int code = st->rows.get_schema(&st->rows, &st->schema);
	if (code == 0)
		return ADBC_OK;
	AdbcStatusCode failed = stream_failed(st, &st->rows, code);
	failed = adbc_fail(error, failed, st->error.sqlstate, "%s", st->error.message ? st->error.message : "");
	release(out);
	return failed;
}

AdbcStatusCode adbc_stream_parameters(struct adbc_connection *con, rayql_statement *stmt, struct ArrowArrayStream *rows,
                                      struct ArrowArrayStream *out, struct AdbcError *error)
{
	struct rql_error failed = {0};
	rayql_error *err = NULL;
	struct adbc_stream *st = stream_new(con, out);
	if (!st) {
		rows->release(rows);
		return adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a result");
	}
	st->statement = stmt;
	stmt->references++;
	rql_status status = rql_host_frame_new(rql_session_host(con->con->session), rows, false, &st->parameters, &failed);
	if (status == RQL_OK && rql_host_frame_columns(st->parameters) != rayql_parameter_count(stmt))
		status = rql_error_set(&failed, RQL_ERROR_MISUSE, "the statement has %llu parameters, and the rows have %u columns",
		                       (unsigned long long)rayql_parameter_count(stmt), rql_host_frame_columns(st->parameters));
	if (status != RQL_OK) {
		rql_api_fail(&failed, &err);
		release(out);
		return adbc_fail_with(error, err);
	}
	con->open = st;
	/* The first row tells the schema; without one, the statement does. */
	AdbcStatusCode first = next_parameters(st);
	if (first == ADBC_OK && st->rows.release && st->rows.get_schema(&st->rows, &st->schema) == 0)
		return ADBC_OK;
	if (first == ADBC_OK && !st->rows.release && rayql_statement_schema(stmt, &st->schema, &err) == RAYQL_OK)
		return ADBC_OK;
	if (first == ADBC_OK)
		first = err ? adbc_fail_with(&st->error, err) : adbc_fail(&st->error, ADBC_INTERNAL, "HY000", "no schema");
	adbc_fail(error, first, st->error.sqlstate, "%s", st->error.message ? st->error.message : "");
	release(out);
	return first;
}

AdbcStatusCode adbc_stream_array(struct ArrowSchema *schema, struct ArrowArray *array, struct ArrowArrayStream *out,
                                 struct AdbcError *error)
{
	struct adbc_stream *st = stream_new(NULL, out);
	if (!st) {
		schema->release(schema);
		array->release(array);
		return adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a result");
	}
	st->schema = *schema;
	AdbcStatusCode status = array->release ? keep_array(st, array) : ADBC_OK;
	if (status != ADBC_OK)
		release(out);
	return status;
}

void adbc_stream_nothing(struct ArrowArrayStream *out)
{
	struct adbc_stream *st = stream_new(NULL, out);
	static const struct ArrowSchema empty = {.format = "+s", .name = ""};
	if (st && !copy_schema(&empty, &st->schema))
		release(out);
	if (!st)
		*out = (struct ArrowArrayStream){0};
}
