/* One statement of the host's, of whatever class: writes are wrapped in the freshness protocol, transactions
 * followed. */
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <string.h>

/* Runs the statement, or the text where stmt is NULL, to its end (a write or CALL must not stay half done while its result
 * is open). The result is made before: once DuckDB has committed, the statement must not fail for want of memory. */
static rql_status execute(const struct rql_call *call, struct rql_host_stmt *stmt, struct rql_error *err)
{
	struct rql_session *s = call->s;
	static const char reason[] = "only DuckDB runs such statements";
	struct rql_host_result **host = NULL;
	struct rql_result *res = NULL;
	if (call->out) {
		const uint32_t columns = stmt ? rql_host_stmt_columns(stmt) : RQL_HOST_USUAL_COLUMNS;
		RQL_TRY(rql_result_new(s, rql_columns_room(columns), "host", reason, &res, err));
		host = &res->host;
	}
	uint64_t start = rql_now_ns();
	rql_status status = stmt ? rql_host_execute(stmt, false, host, err) : rql_host_query(s->host, call->sql, host, err);
	if (status != RQL_OK) {
		rql_result_free(res);
		return status;
	}
	rql_report_start(s, "host", reason);
	s->report.run_ms = (double)(rql_now_ns() - start) / 1e6;
	if (!res)
		return RQL_OK;
	res->serial = s->report.serial;
	res->kind = rql_host_result_kind(res->host);
	if (!rql_columns_fill(res->columns, res->host)) {
		rql_result_free(res);
		return rql_host_result_lost(err);
	}
	*call->out = res;
	return RQL_OK;
}

static void drop_result(const struct rql_call *call)
{
	if (call->out) {
		rql_result_free(*call->out);
		*call->out = NULL;
	}
}

/* A new table may be the one that a definition misses. */
static bool any_invalid(struct rql_catalog *catalog)
{
	struct rql_arena *arena = rql_catalog_structure_count(catalog) ? rql_arena_new() : NULL;
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	bool found = false;
	if (arena && rql_catalog_structures(catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			found = found || list[i]->state == RQL_STATE_INVALID;
			rql_structure_release(list[i]);
		}
	}
	rql_arena_free(arena);
	return found;
}

static void begin_write(struct rql_catalog *catalog, const struct rql_write_set *set,
                        const struct rql_write_set *appends)
{
	rql_catalog_write_begin(catalog, set);
	rql_catalog_write_begin_appending(catalog, appends);
}

static void end_write(struct rql_catalog *catalog, const struct rql_write_set *set, const struct rql_write_set *appends)
{
	rql_catalog_write_end_appending(catalog, appends);
	rql_catalog_write_end(catalog, set);
}

/* The text of a statement that SQL's PREPARE keeps, malloc'ed; NULL: nobody knows. Where queries are logged or profiled,
 * none of RayQL's own may show. */
static char *prepared_text(struct rql_session *s, const char *name)
{
	struct rql_strbuf sql = {0};
	char *text = NULL;
	rql_strbuf_put(&sql, "SELECT statement FROM system.main.duckdb_prepared_statements() WHERE system.main.lower(name) = system.main.lower(");
	rql_strbuf_put_literal(&sql, name, strlen(name));
	rql_strbuf_put(&sql, ")");
	if (!s->txn.failed && !rql_host_watched(s->host) &&
	    rql_host_query_text(s->host, rql_strbuf_sql(&sql), &text, NULL) != RQL_OK)
		text = NULL;
	rql_strbuf_free(&sql);
	return text;
}

/* What EXECUTE changes is in the text that was prepared. */
static void effects_of(const struct rql_call *call, enum rql_host_class kind, struct rql_effects *out)
{
	char *name = rql_executed_name(call->sql);
	char *prepared = name ? prepared_text(call->s, name) : NULL;
	if (prepared)
		rql_effects_of_executed(prepared, out);
	else
		rql_effects_of(call->sql, kind, out);
	free(prepared);
	free(name);
}

/* The statement in a transaction with the query for the rows that it changes, so that both see the same. */
static rql_status run_followed(const struct rql_call *call, struct rql_host_stmt *stmt,
                               const struct rql_effects *effects, struct rql_follow *follow, struct rql_error *err)
{
	struct rql_host_con *con = call->s->host;
	struct rql_catalog *catalog = call->s->db->catalog;
	rql_catalog_write_begin_known(catalog, &effects->set);
	struct rql_row_changes none = {0}, *changes = NULL;
	const bool found = rql_host_query(con, "BEGIN TRANSACTION", NULL, NULL) == RQL_OK &&
	                   rql_follow_find(follow, con, NULL) == RQL_OK && rql_follow_found(follow);
	if (!found)
		rql_host_rollback(con);
	rql_status status = execute(call, stmt, err);
	if (found && status == RQL_OK) {
		const bool known = rql_follow_settle(follow, con, NULL) == RQL_OK;
		status = rql_host_query(con, "COMMIT", NULL, err);
		changes = status == RQL_OK && known ? rql_follow_changes(follow) : NULL;
	} else if (found) { /* it changed nothing */
		none.table = rql_follow_changes(follow)->table;
		changes = &none;
	}
	if (found && status != RQL_OK)
		rql_host_rollback(con);
	rql_catalog_write_end_known(catalog, &effects->set, changes);
	rql_follow_free(follow);
	return status;
}

static rql_status run_write(const struct rql_call *call, struct rql_host_stmt *stmt, enum rql_host_class kind,
                            struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_catalog *catalog = s->db->catalog;
	struct rql_effects effects;
	effects_of(call, kind, &effects);
	if (effects.attach)
		RQL_TRY(rql_attach_check(s->db, call->sql, err));
	rql_status status;
	struct rql_follow *follow = s->txn.open ? NULL : rql_follow_new(call, &effects);
	if (follow) {
		status = run_followed(call, stmt, &effects, follow, err);
	} else if (s->txn.open) {
		status = rql_follow_inside(call, stmt, &effects, execute, err);
		s->txn.failed = s->txn.failed || status != RQL_OK;
	} else {
		begin_write(catalog, &effects.set, &effects.appends);
		status = execute(call, stmt, err);
		end_write(catalog, &effects.set, &effects.appends);
		if (effects.schema) {
			rql_catalog_schema_changed(catalog);
			if (effects.replace || any_invalid(catalog))
				rql_structures_sync(&s->db->structures);
		}
	}
	if (effects.detach)
		rql_open_file_detached();
	if (effects.attach || effects.detach)
		rql_attach_done(s->db);
	rql_effects_clear(&effects);
	if (kind == RQL_HOST_OTHER) { /* CALL enable_logging(), say */
		atomic_fetch_add(&s->db->settings_epoch, 1);
		s->host_settings++;
	}
	return status;
}

static void transaction_over(struct rql_session *s)
{
	rql_write_set_clear(&s->txn.set);
	rql_write_set_clear(&s->txn.appends);
	rql_follow_forget(&s->txn);
	s->txn = (struct rql_transaction){0};
}

void rql_host_abandon(struct rql_session *s)
{
	rql_host_rollback(s->host); /* nothing, where DuckDB has done it by itself */
	transaction_over(s);
}

static rql_status run_commit(const struct rql_call *call, struct rql_host_stmt *stmt, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_transaction *txn = &s->txn;
	struct rql_write_set rest = {0}; /* of which nobody knows the rows */
	bool schema = txn->schema;
	rql_follow_begin_commit(s, &rest);
	begin_write(s->db->catalog, &rest, &txn->appends);
	rql_status status = execute(call, stmt, err);
	end_write(s->db->catalog, &rest, &txn->appends);
	rql_follow_end_commit(s, status == RQL_OK);
	rql_write_set_clear(&rest);
	/* A COMMIT that fails has rolled back; one that was interrupted may not have. */
	if (status != RQL_OK)
		rql_host_rollback(s->host);
	transaction_over(s);
	if (schema) {
		rql_catalog_schema_changed(s->db->catalog);
		rql_structures_sync(&s->db->structures);
	}
	return status;
}

static rql_status run_transaction(const struct rql_call *call, struct rql_host_stmt *stmt, struct rql_error *err)
{
	struct rql_session *s = call->s;
	/* DuckDB puts BEGIN and COMMIT around the parts of COPY FROM DATABASE. */
	enum rql_txn_verb begun = s->txn.open ? RQL_TXN_COMMIT : RQL_TXN_BEGIN;
	switch (call->expanded ? begun : rql_txn_verb_of(call->sql)) {
	case RQL_TXN_COMMIT:
		return run_commit(call, stmt, err);
	case RQL_TXN_ROLLBACK: {
		rql_status status = execute(call, stmt, err);
		bool open = s->txn.open;
		if (status != RQL_OK)
			rql_host_rollback(s->host);
		transaction_over(s);
		if (status != RQL_ERROR_INTERRUPTED || !open)
			return status;
		rql_error_clear(err); /* the interrupt came too late: there is nothing left to stop */
		return rql_result_nothing(s, call->out, err);
	}
	case RQL_TXN_BEGIN:
		break;
	}
	/* The stamp before the BEGIN: a write that ends in between counts as later than the snapshot. */
	uint64_t stamp = rql_catalog_stamp(s->db->catalog), schema_epoch = rql_catalog_schema_epoch(s->db->catalog);
	rql_status status = execute(call, stmt, err);
	if (status == RQL_OK) {
		transaction_over(s);
		s->txn.open = true;
		s->txn.stamp = stamp;
		s->txn.schema_epoch = schema_epoch;
	} else {
		s->txn.failed = s->txn.open;
		if (!s->txn.open) /* an interrupted BEGIN may have begun */
			rql_host_rollback(s->host);
	}
	return status;
}

/* SET VARIABLE, RESET VARIABLE: no setting, but what getvariable() is bound to. */
static bool is_variable(const char *sql)
{
	uint32_t position = 0;
	(void)rql_token_next(sql, &position);
	return rql_token_is(sql, rql_token_next(sql, &position), "variable");
}

static rql_status run_setting(const struct rql_call *call, struct rql_host_stmt *stmt, struct rql_error *err)
{
	struct rql_session *s = call->s;
	rql_status status = execute(call, stmt, err);
	atomic_fetch_add(&s->db->settings_epoch, 1);
	s->host_settings++;
	s->variables += is_variable(call->sql);
	rql_host_follow_settings(s->host);
	if (status != RQL_OK)
		s->txn.failed = s->txn.open;
	return status;
}

static rql_status run_class(const struct rql_call *call, enum rql_host_class kind, struct rql_host_stmt *stmt,
                            struct rql_error *err)
{
	rql_status status = RQL_OK;
	switch (kind) {
	case RQL_HOST_SELECT:
		return rql_select_unplanned(call, stmt, true, err);
	case RQL_HOST_TRANSACTION:
		status = run_transaction(call, stmt, err);
		break;
	case RQL_HOST_SETTING:
		status = run_setting(call, stmt, err);
		break;
	case RQL_HOST_WRITE:
	case RQL_HOST_SCHEMA:
	case RQL_HOST_OTHER:
		status = run_write(call, stmt, kind, err);
		break;
	}
	if (status != RQL_OK)
		drop_result(call);
	return status;
}

rql_status rql_host_run(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt, struct rql_error *err)
{
	enum rql_host_class kind = rql_host_stmt_class(stmt);
	if (kind == RQL_HOST_SELECT)
		return rql_select_unplanned(call, stmt, keep_stmt, err);
	rql_status status = run_class(call, kind, stmt, err);
	if (!keep_stmt)
		rql_host_stmt_free(stmt);
	return status;
}

rql_status rql_host_run_text(const struct rql_call *call, enum rql_host_class kind, struct rql_error *err)
{
	return run_class(call, kind, NULL, err);
}
