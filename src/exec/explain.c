/* EXPLAIN [ANALYZE] of a query: two VARCHAR columns as DuckDB's EXPLAIN has. A method's plan is one row; where the
 * host answers, the first row says why and DuckDB's own rows follow. */
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <string.h>

struct rows {
	struct rql_strbuf keys[8], values[8];
	uint32_t count;
};

static void free_rows(struct rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		rql_strbuf_free(&rows->keys[i]);
		rql_strbuf_free(&rows->values[i]);
	}
}

static struct rql_strbuf *add_row(struct rows *rows, const char *key)
{
	rql_strbuf_put(&rows->keys[rows->count], key);
	return &rows->values[rows->count++];
}

/* DuckDB's own rows behind ours. The error of the whole statement is the one with the right position. */
static rql_status add_host_rows(const struct rql_call *call, const struct rql_statement *st, struct rows *rows,
                                struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_error failed = {0};
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "EXPLAIN %s%s", st->analyze ? "ANALYZE " : "", st->query);
	char *text = rql_strbuf_take(&sql);
	if (!text)
		return rql_error_memory(err, 0, "EXPLAIN");
	struct rql_host_result *res = NULL;
	rql_status status = rql_host_query(s->host, text, &res, &failed);
	free(text);
	if (status == RQL_ERROR_HOST && !s->txn.open) {
		rql_error_clear(&failed);
		status = rql_host_query(s->host, call->sql, &res, &failed);
	}
	if (status != RQL_OK) {
		rql_error_move(err, &failed);
		return status;
	}
	struct rql_batch *batch = NULL;
	while ((status = rql_host_fetch(res, &batch, err)) == RQL_OK && batch) {
		for (uint64_t r = 0; r < batch->rows && rows->count < 8 && batch->column_count == 2; r++) {
			struct rql_value key = rql_column_get(&batch->columns[0], r), value = rql_column_get(&batch->columns[1], r);
			rql_strbuf_put_n(&rows->keys[rows->count], key.string.data, key.string.length);
			rql_strbuf_put_n(&rows->values[rows->count++], value.string.data, value.string.length);
		}
		rql_batch_release(batch);
	}
	rql_host_result_free(res);
	return status;
}

static rql_status explain_method(struct rql_session *s, const struct rql_statement *st, const struct rql_plan *plan,
                                 struct rows *rows, char **why, struct rql_error *err)
{
	struct rql_run_stats stats = {0};
	struct rql_run_profile profile = {0};
	if (st->analyze) {
		struct rql_batch *batch = NULL;
		RQL_TRY(rql_select_method(s, plan, NULL, &batch, &stats, &profile, why, err));
		if (*why)
			return RQL_OK;
		stats.rows = batch ? batch->rows : 0;
		rql_batch_release(batch);
	}
	rql_plan_explain(plan, st->analyze ? &stats : NULL, &profile, add_row(rows, "rayql_plan"));
	return RQL_OK;
}

static rql_status make_result(const struct rql_call *call, struct rows *rows, const char *reason, struct rql_error *err)
{
	static const char *const names[] = {"explain_key", "explain_value"};
	const struct rql_type types[] = {rql_type_simple(RQL_TYPE_VARCHAR), rql_type_simple(RQL_TYPE_VARCHAR)};
	struct rql_batch *batch = rql_batch_new(2, types, rows->count);
	bool ok = batch != NULL;
	for (uint32_t i = 0; i < rows->count && ok; i++)
		ok = !rows->keys[i].failed && !rows->values[i].failed &&
		     rql_batch_set_string(batch, 0, i, rql_strbuf_text(&rows->keys[i]), (uint32_t)rows->keys[i].length) &&
		     rql_batch_set_string(batch, 1, i, rql_strbuf_text(&rows->values[i]), (uint32_t)rows->values[i].length);
	struct rql_result *res = NULL;
	rql_status status = ok ? rql_result_new(call->s, rql_columns_make(2, names, types), "rayql", reason, &res, err)
	                       : rql_error_memory(err, 0, "EXPLAIN");
	if (status != RQL_OK) {
		rql_batch_release(batch);
		return status;
	}
	res->kind = RQL_HOST_ROWS;
	res->batch = batch;
	*call->out = res;
	return RQL_OK;
}

/* Where nothing was made, and nobody asked to be told, statements are not even planned. Who explains one asks. */
static rql_status choose_to_explain(struct rql_session *s, const struct rql_statement *st, struct rql_choice *choice,
                                    struct rql_error *err)
{
	enum rql_fallback fallback = s->settings.fallback;
	if (fallback == RQL_FALLBACK_ON)
		s->settings.fallback = RQL_FALLBACK_NOTICE;
	rql_status status = rql_select_choose(s, st->query, st->analyze, choice, err);
	s->settings.fallback = fallback;
	return status;
}

rql_status rql_explain(const struct rql_call *call, const struct rql_statement *st, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_choice choice = {0};
	struct rows rows = {0};
	char *why = NULL;
	rql_status status = choose_to_explain(s, st, &choice, err);
	if (status == RQL_OK && !choice.reason)
		status = explain_method(s, st, choice.entry->plan, &rows, &why, err);
	if (status == RQL_OK && rows.count == 0) {
		const char *first = choice.entry ? choice.entry->first : NULL;
		rql_strbuf_printf(add_row(&rows, "rayql_plan"), "%s: %s", first ? first : "host", why ? why : choice.reason);
		status = add_host_rows(call, st, &rows, err);
	}
	if (status == RQL_OK && call->out)
		status = make_result(call, &rows, why ? why : choice.reason ? choice.reason : choice.entry->plan->reason, err);
	if (status != RQL_OK)
		s->txn.failed = s->txn.failed || s->txn.open;
	free_rows(&rows);
	free(why);
	rql_choice_clear(&choice);
	return status;
}
