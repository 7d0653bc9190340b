/* Results: rows that stream from the host, or rows that are all there. */
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */
/* Names, types and their texts; of a few nested types, too. */
#define ROOM_OF_ALL 2048u
#define ROOM_OF_EACH 128u

struct rql_columns *rql_columns_room(uint32_t count)
{
	struct rql_arena *arena = rql_arena_new_with(ROOM_OF_ALL + (size_t)count * ROOM_OF_EACH);
	struct rql_columns *c = arena ? RQL_NEW(arena, struct rql_columns) : NULL;
	if (!c) {
		rql_arena_free(arena);
		return NULL;
	}
	atomic_store(&c->references, 1);
	c->arena = arena;
	return c;
}

/* Where names and types come from: a result, a statement, or two arrays. */
struct source {
	const struct rql_host_result *result;
	const struct rql_host_stmt *stmt;
	const char *const *names;
	const struct rql_type *types;
};

static bool fill(struct rql_columns *c, uint32_t count, struct source of)
{
	c->names = RQL_NEW_ARRAY(c->arena, const char *, count);
	c->types = RQL_NEW_ARRAY(c->arena, struct rql_type, count);
	c->type_texts = RQL_NEW_ARRAY(c->arena, const char *, count);
	if (!c->names || !c->types || !c->type_texts)
		return false;
	c->count = count;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = of.result ? rql_host_result_name(of.result, i)
		                   : of.stmt ? rql_host_stmt_column_name(of.stmt, i)
		                             : of.names[i];
		struct rql_type type = of.result ? rql_host_result_type(of.result, i)
		                       : of.stmt ? rql_host_stmt_column_type(of.stmt, i)
		                                 : of.types[i];
		c->names[i] = rql_arena_strdup(c->arena, name);
		c->types[i] = rql_type_copy(c->arena, type);
		c->type_texts[i] = rql_type_text(c->arena, type);
		if (!c->names[i] || c->types[i].id != type.id || !c->type_texts[i])
			return false;
	}
	return true;
}

static struct rql_columns *make(uint32_t count, struct source of)
{
	struct rql_columns *c = rql_columns_room(count);
	if (c && fill(c, count, of))
		return c;
	rql_columns_release(c);
	return NULL;
}

struct rql_columns *rql_columns_make(uint32_t count, const char *const *names, const struct rql_type *types)
{
	return make(count, (struct source){.names = names, .types = types});
}

struct rql_columns *rql_columns_of_stmt(const struct rql_host_stmt *stmt)
{
	return make(rql_host_stmt_columns(stmt), (struct source){.stmt = stmt});
}

bool rql_columns_fill(struct rql_columns *columns, const struct rql_host_result *res)
{
	return fill(columns, rql_host_result_columns(res), (struct source){.result = res});
}

struct rql_columns *rql_columns_of_result(const struct rql_host_result *res)
{
	return make(rql_host_result_columns(res), (struct source){.result = res});
}

struct rql_columns *rql_columns_retain(struct rql_columns *columns)
{
	atomic_fetch_add(&columns->references, 1);
	return columns;
}

void rql_columns_release(struct rql_columns *columns)
{
	if (columns && atomic_fetch_sub(&columns->references, 1) == 1)
		rql_arena_free(columns->arena);
}

/* ---- results ---- */
rql_status rql_result_new(struct rql_session *s, struct rql_columns *columns, const char *method, const char *reason,
                          struct rql_result **out, struct rql_error *err)
{
	struct rql_result *res = columns ? calloc(1, sizeof *res) : NULL;
	char *copy = strdup(reason ? reason : "");
	if (!res || !copy) {
		free(res);
		free(copy);
		rql_columns_release(columns);
		return rql_error_memory(err, sizeof *res, "a result");
	}
	res->session = s;
	res->columns = columns;
	res->method = method;
	res->reason = copy;
	res->serial = s->report.serial;
	*out = res;
	return RQL_OK;
}

rql_status rql_result_nothing(struct rql_session *s, struct rql_result **out, struct rql_error *err)
{
	if (!out)
		return RQL_OK;
	RQL_TRY(rql_result_new(s, rql_columns_make(0, NULL, NULL), "rayql", "RayQL's own statement", out, err));
	(*out)->kind = RQL_HOST_NOTHING;
	return RQL_OK;
}

void rql_result_settle(struct rql_session *s, struct rql_result *res)
{
	const char *notice = s->settings.fallback == RQL_FALLBACK_NOTICE ? s->build.notice : NULL;
	char *reason = res && notice ? strdup(notice) : NULL;
	if (!res)
		return;
	res->serial = s->report.serial;
	if (!reason)
		return;
	free(res->reason);
	res->reason = reason;
	res->notice = true;
}

/* ---- large batches in pieces ---- */

/* Rows that are all there are handed out in pieces of this many: one batch of hundreds of millions would have to be
 * turned into text, or into Arrow's arrays, as a whole. A multiple of 64, where validity words begin. */
#define PIECE_ROWS 131072u

struct rql_shared_rows {
	atomic_uint references; /* the result's, until it has handed out the last, and the pieces' */
	struct rql_batch *whole;
	uint64_t next;
};

static void let_go(struct rql_shared_rows *shared)
{
	if (!shared || atomic_fetch_sub(&shared->references, 1) != 1)
		return;
	rql_batch_release(shared->whole);
	free(shared);
}

static void release_piece(struct rql_batch *piece)
{
	let_go(piece->owner);
	free(piece);
}

/* A view of the next rows; the last one takes the result's own reference along. */
static rql_status next_piece(struct rql_result *res, struct rql_batch **out, struct rql_error *err)
{
	struct rql_shared_rows *shared = res->shared;
	const struct rql_batch *whole = shared->whole;
	struct rql_batch *piece = calloc(1, sizeof *piece + whole->column_count * sizeof *piece->columns);
	if (!piece)
		return rql_error_memory(err, sizeof *piece, "a batch");
	uint64_t first = shared->next, left = whole->rows - first;
	*piece = (struct rql_batch){.rows = left < PIECE_ROWS ? left : PIECE_ROWS,
	                            .column_count = whole->column_count,
	                            .columns = (struct rql_column *)(void *)(piece + 1),
	                            .release = release_piece,
	                            .owner = shared};
	for (uint32_t c = 0; c < whole->column_count; c++) {
		const struct rql_column *from = &whole->columns[c];
		piece->columns[c] = (struct rql_column){
			.type = from->type,
			.data = (char *)from->data + first * rql_type_bytes(from->type),
			.validity = from->validity ? from->validity + first / 64 : NULL,
		};
	}
	shared->next += piece->rows;
	if (shared->next == whole->rows)
		res->shared = NULL;
	else
		atomic_fetch_add(&shared->references, 1);
	*out = piece;
	return RQL_OK;
}

static rql_status share_rows(struct rql_result *res, struct rql_error *err)
{
	if (!res->batch || res->batch->rows <= PIECE_ROWS)
		return RQL_OK;
	struct rql_shared_rows *shared = calloc(1, sizeof *shared);
	if (!shared)
		return rql_error_memory(err, sizeof *shared, "a batch");
	atomic_store(&shared->references, 1);
	shared->whole = res->batch;
	res->batch = NULL;
	res->shared = shared;
	return RQL_OK;
}

/* ---- fetching ---- */

static void drop_rows(struct rql_result *res)
{
	rql_host_result_free(res->host);
	res->host = NULL;
	rql_host_stmt_free(res->stmt);
	res->stmt = NULL;
	rql_batch_release(res->batch);
	res->batch = NULL;
	let_go(res->shared);
	res->shared = NULL;
	if (res->session && res->session->open == res)
		res->session->open = NULL;
}

void rql_result_close(struct rql_result *res)
{
	res->closed = res->host != NULL || res->batch != NULL || res->shared != NULL;
	drop_rows(res);
}

static rql_status fetch_host(struct rql_result *res, struct rql_batch **out, struct rql_error *err)
{
	struct rql_session *s = res->session;
	struct rql_batch *batch = NULL;
	rql_status status = rql_host_fetch(res->host, &batch, err);
	if (status != RQL_OK) {
		s->txn.failed = s->txn.open;
		drop_rows(res);
		return status;
	}
	if (!batch)
		drop_rows(res);
	else if (res->serial == s->report.serial)
		s->report.stats.rows += batch->rows;
	*out = batch;
	return RQL_OK;
}

rql_status rql_result_fetch(struct rql_result *res, struct rql_batch **out, struct rql_error *err)
{
	if (res->closed)
		return rql_error_set(err, RQL_ERROR_MISUSE,
		                     "the result was closed by a later statement on its connection; fetch all rows first, "
		                     "or use a second connection");
	if (res->host)
		return fetch_host(res, out, err);
	RQL_TRY(share_rows(res, err));
	if (res->shared) {
		RQL_TRY(next_piece(res, out, err));
	} else {
		*out = res->batch;
		res->batch = NULL;
	}
	if (!res->shared && res->session->open == res)
		res->session->open = NULL;
	return RQL_OK;
}

struct rql_result *rql_result_move(struct rql_result *src)
{
	struct rql_result *dst = calloc(1, sizeof *dst);
	char *reason = strdup(src->reason);
	if (!dst || !reason) {
		free(dst);
		free(reason);
		return NULL;
	}
	*dst = *src;
	dst->reason = reason;
	dst->columns = rql_columns_retain(src->columns);
	if (src->session->open == src)
		src->session->open = dst;
	src->host = NULL;
	src->stmt = NULL;
	src->batch = NULL;
	src->shared = NULL;
	return dst;
}

void rql_result_free(struct rql_result *res)
{
	if (!res)
		return;
	drop_rows(res);
	rql_columns_release(res->columns);
	free(res->reason);
	free(res);
}
