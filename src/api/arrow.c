/* Results as Arrow C streams: the stream takes the rows over and keeps the connection. */
#include "rayql/arrow.h"
#include "api/api_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stream {
	rayql_connection *connection;
	rayql_statement *statement;
	struct rql_result *result;
	struct rql_error err;
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

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
	struct stream *st = s->private_data;
	struct rql_batch *batch = NULL;
	rql_status status = rql_result_fetch(st->result, &batch, &st->err);
	if (status == RQL_OK && !batch) {
		memset(out, 0, sizeof *out); /* released: the end */
		return 0;
	}
	if (status == RQL_OK)
		status = rql_host_arrow_batch(rql_session_host(st->connection->session), batch, out, &st->err);
	rql_batch_release(batch);
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
