/* Who answers a SELECT: a cached or fresh plan's method, or the host; and what is said about it. */
#include "exec/columns.h"

#include "exec/run.h"
#include "method/scan/scan_place.h"
#include "plan/plan_nodes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFRESH_ATTEMPTS 8u /* structures that one statement may have to build first */

rql_status rql_interrupted(struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
}

void rql_report_start(struct rql_session *s, const char *method, const char *reason)
{
	struct rql_report *r = &s->report;
	r->serial++;
	snprintf(r->method, sizeof r->method, "%s", method);
	r->unit[0] = r->structure[0] = r->device[0] = 0;
	rql_strbuf_clear(&r->reason);
	rql_strbuf_put(&r->reason, reason);
	r->plan_cached = false;
	r->stats = (struct rql_run_stats){0};
	r->plan_ms = r->run_ms = r->finish_ms = r->estimated_ms = r->host_estimated_ms = 0;
}

void rql_choice_clear(struct rql_choice *choice)
{
	if (choice->loose)
		rql_cache_entry_free(choice->entry);
	free(choice->reason);
	*choice = (struct rql_choice){0};
}

/* ---- when a plan may run ---- */

/* A transaction's snapshot is the state of its BEGIN, or any later one in which nothing that the plan reads has
 * moved. NULL: it may run; else
 * why not. */
static const char *transaction_forbids(const struct rql_session *s, const struct rql_plan *plan)
{
	if (!s->txn.open)
		return NULL;
	if (s->txn.failed)
		return "an earlier statement of the transaction failed";
	if (s->txn.wrote)
		return "the transaction has written, and only DuckDB sees its uncommitted rows";
	for (uint32_t i = 0; plan && i < plan->table_count; i++)
		if (rql_table_being_written(s->db->catalog, plan->tables[i].table) ||
		    rql_table_moved(s->db->catalog, plan->tables[i].table) > s->txn.stamp)
			return "a table has changed since the transaction began";
	return NULL;
}

static bool set_reason(struct rql_choice *out, const char *text)
{
	free(out->reason);
	out->reason = strdup(text);
	return out->reason != NULL;
}

/* ---- planning ---- */

static void read_epochs(const struct rql_session *s, struct rql_cache_entry *out)
{
	out->schema_epoch = rql_catalog_schema_epoch(s->db->catalog);
	out->structure_epoch = rql_catalog_structure_epoch(s->db->catalog);
	out->session_epoch = s->epoch;
	out->settings_epoch = atomic_load(&s->db->settings_epoch);
}

/* The plan keeps of its structure what is needed to say something about it: a rebuild gives the old contents up
 * first, and they must not live on in the plan. */
static void let_contents_go(struct rql_plan *plan)
{
	struct rql_structure *rest = rql_structure_clone(plan->refresh);
	if (!rest)
		return; /* then it takes more memory */
	rql_structure_clear(rest);
	rql_structure_release(plan->refresh);
	plan->refresh = rest;
}

/* n: what was done for this statement already; done: the structures among it. */
static rql_status make_ready(struct rql_session *s, struct rql_plan *plan, uint64_t *done, uint32_t n,
                             struct rql_error *err)
{
	bool again = false;
	for (uint32_t i = 0; i < n && i < REFRESH_ATTEMPTS; i++)
		again = again || done[i] == plan->refresh->id;
	if (s->txn.open)
		return rql_error_set(err, RQL_ERROR_STALE, "structures are not rebuilt inside a transaction");
	if (again || n >= REFRESH_ATTEMPTS)
		return rql_error_set(err, RQL_ERROR_STALE, "its tables change faster than it can be rebuilt");
	done[n] = plan->refresh->id;
	let_contents_go(plan);
	return rql_structure_make_ready(s, plan->refresh, err);
}

/* Once a statement: a plan that still asks afterwards has lost what was loaded to somebody else. */
static rql_status load_columns(struct rql_session *s, const struct rql_plan *plan, uint32_t *loaded,
                               struct rql_error *err)
{
	if ((*loaded)++)
		return rql_error_set(err, RQL_ERROR_STALE, "they were given up again meanwhile");
	return rql_columns_load(s, plan->load, err);
}

static char *say_not_ready(const struct rql_plan *plan, const char *message)
{
	char *out = NULL;
	int n = plan->kind == RQL_PLAN_LOAD ? asprintf(&out, "the columns of %s that it needs were not loaded: %s",
	                                               plan->load->table.table, message)
	                                    : asprintf(&out, "%s is not up to date: %s", plan->refresh->name, message);
	return n < 0 ? NULL : out;
}

/* Plans text; REFRESH and LOAD plans are carried out, each structure at most once. epochs: those before the last
 * planning, so that what moves
 * meanwhile makes the entry dead, not wrong. */
static rql_status plan_and_refresh(struct rql_session *s, const char *text, const struct rql_host_stmt *stmt,
                                   bool refresh, struct rql_cache_entry *epochs, struct rql_plan **out, char **why,
                                   struct rql_error *err)
{
	struct rql_plan_context ctx = rql_session_context(s);
	uint64_t done[REFRESH_ATTEMPTS] = {0};
	uint32_t loaded = 0;
	struct rql_plan *plan = NULL;
	for (uint32_t n = 0;; n++) {
		read_epochs(s, epochs);
		RQL_TRY(rql_plan_make(&ctx, text, stmt, &plan, err));
		if ((plan->kind != RQL_PLAN_REFRESH && plan->kind != RQL_PLAN_LOAD) || !refresh)
			break;
		struct rql_error failed = {0};
		rql_status status = plan->kind == RQL_PLAN_LOAD ? load_columns(s, plan, &loaded, &failed)
		                                                : make_ready(s, plan, done, n, &failed);
		if (status == RQL_OK) {
			rql_plan_free(plan);
			rql_error_clear(&failed);
			continue;
		}
		if (status == RQL_ERROR_INTERRUPTED) {
			rql_plan_free(plan);
			rql_error_clear(&failed);
			return rql_interrupted(err);
		}
		*why = say_not_ready(plan, rql_error_message(&failed));
		rql_error_clear(&failed);
		break;
	}
	*out = plan;
	return RQL_OK;
}

static const char *done_first(const struct rql_plan *plan)
{
	if (plan->kind == RQL_PLAN_LOAD)
		return "load columns, then scan";
	if (plan->kind != RQL_PLAN_REFRESH)
		return NULL;
	return plan->refresh->kind == RQL_STRUCTURE_COLUMNS ? "refresh, then scan" : "refresh, then cube";
}

static bool has_columns(struct rql_structure *const *list, uint32_t count, const struct rql_table *table)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->kind == RQL_STRUCTURE_COLUMNS && list[i]->table_count && list[i]->tables[0] == table)
			return true;
	return false;
}

/* The plan's tables whose growth would be a reason to plan again. Without memory: none, so it is planned less often. */
static void watch_tables(const struct rql_session *s, const struct rql_plan *plan, struct rql_cache_entry *e)
{
	struct rql_structure **list = NULL;
	struct rql_arena *arena = rql_arena_new();
	uint32_t count = 0;
	e->watched = calloc(plan->table_count + 1, sizeof *e->watched);
	if (arena && e->watched && rql_catalog_structures(s->db->catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < plan->table_count; i++)
			if (s->settings.auto_columns || has_columns(list, count, plan->tables[i].table))
				e->watched[e->watched_count++] = plan->tables[i];
		for (uint32_t i = 0; i < count; i++)
			rql_structure_release(list[i]);
	}
	rql_arena_free(arena);
}

/* Turns a plan into an entry; takes the plan over. */
static rql_status entry_of(const struct rql_session *s, struct rql_plan *plan, const struct rql_host_stmt *stmt,
                           const char *why, const struct rql_cache_entry *epochs, struct rql_cache_entry **out,
                           struct rql_error *err)
{
	struct rql_cache_entry *e = calloc(1, sizeof *e);
	if (!e) {
		rql_plan_free(plan);
		return rql_error_memory(err, sizeof *e, "a cached plan");
	}
	e->schema_epoch = epochs->schema_epoch;
	e->structure_epoch = epochs->structure_epoch;
	e->session_epoch = epochs->session_epoch;
	e->settings_epoch = epochs->settings_epoch;
	e->method = plan->kind == RQL_PLAN_METHOD && !why;
	e->first = done_first(plan);
	e->base_tables = plan->table_count > 0 || !plan->read;
	e->estimated_ns = plan->estimated_ns;
	e->host_estimated_ns = plan->host_estimated_ns;
	e->reason = strdup(why ? why : plan->reason);
	if (e->method) {
		e->plan = plan;
		e->columns = rql_columns_of_stmt(stmt);
	} else {
		watch_tables(s, plan, e);
		rql_plan_free(plan);
	}
	if (!e->reason || (e->method && !e->columns)) {
		rql_cache_entry_free(e);
		return rql_error_memory(err, sizeof *e, "a cached plan");
	}
	*out = e;
	return RQL_OK;
}

static rql_status make_entry(struct rql_session *s, const char *text, const struct rql_host_stmt *stmt, bool refresh,
                             struct rql_choice *out, struct rql_error *err)
{
	struct rql_cache_entry epochs = {0};
	struct rql_plan *plan = NULL;
	char *why = NULL;
	RQL_TRY(plan_and_refresh(s, text, stmt, refresh, &epochs, &plan, &why, err));
	bool keep = !s->txn.open && !why && plan->kind != RQL_PLAN_REFRESH && plan->kind != RQL_PLAN_LOAD &&
	            (plan->kind == RQL_PLAN_HOST || (plan->cacheable && plan->tables_known));
	rql_status status = entry_of(s, plan, stmt, why, &epochs, &out->entry, err);
	free(why);
	RQL_TRY(status);
	out->loose = !keep || !rql_plan_cache_put(s->cache, text, out->entry);
	return RQL_OK;
}

static bool starts_as_query(const char *sql)
{
	uint32_t position = 0;
	struct rql_token token = rql_token_next(sql, &position);
	static const char *const words[] = {"SELECT", "WITH", "FROM", "TABLE"};
	while (token.kind == RQL_TOKEN_SYMBOL && sql[token.start] == '(')
		token = rql_token_next(sql, &position);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (rql_token_is(sql, token, words[i]))
			return true;
	return false;
}

rql_status rql_select_choose(struct rql_session *s, const char *text, const struct rql_host_stmt *stmt, bool refresh,
                             struct rql_choice *out, struct rql_error *err)
{
	*out = (struct rql_choice){0};
	const char *never = NULL;
	bool bare = false;
	if (strcmp(rql_host_stmt_type(stmt), "SELECT") != 0 || !starts_as_query(text))
		never = "not a query", bare = true;
	else if (rql_host_stmt_parameters(stmt) > 0)
		never = "its parameters have no values";
	else if (rql_catalog_structure_count(s->db->catalog) == 0 && s->settings.fallback == RQL_FALLBACK_ON &&
	         !s->settings.auto_columns)
		never = "there is no materialized view";
	else
		never = transaction_forbids(s, NULL);
	if (never) {
		out->base_tables = !bare;
		return set_reason(out, never) ? RQL_OK : rql_error_memory(err, strlen(never), "a reason");
	}
	out->entry = rql_plan_cache_find(s->cache, s, text);
	out->cached = out->entry != NULL;
	if (!out->entry)
		RQL_TRY(make_entry(s, text, stmt, refresh, out, err));
	out->base_tables = out->entry->base_tables;
	if (!out->entry->method)
		never = out->entry->reason;
	else
		never = transaction_forbids(s, out->entry->plan);
	if (never && !set_reason(out, never)) {
		rql_choice_clear(out);
		return rql_error_memory(err, strlen(never), "a reason");
	}
	return RQL_OK;
}

/* ---- running ---- */

/* A failure that is the device's own; whatever it was, the host can answer. */
static bool device_failed(const struct rql_leaf *leaf, rql_status status)
{
	return leaf && leaf->device->kind != RQL_DEVICE_CPU &&
	       (status == RQL_ERROR_DEVICE || status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY);
}

/* A GPU's memory may be full of what this session's other plans keep there for their next runs, and of columns that no
 * plan uses; start: of the run, whose own columns are there by now, as many as there was room for. */
static bool make_room(struct rql_session *s, const struct rql_plan *plan, const struct rql_leaf *leaf,
                      rql_status status, uint64_t start)
{
	if (!device_failed(leaf, status) || status != RQL_ERROR_LIMIT)
		return false;
	bool dropped = rql_plan_cache_make_room(s->cache, leaf->device, plan);
	if (!rql_scan_evict(leaf->device, UINT64_MAX, start) && !dropped)
		return false;
	rql_device_retry(leaf->structure, leaf->device);
	return true;
}

static char *say_failure(const struct rql_plan *plan, const struct rql_leaf *leaf, const char *message)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "the method \"%s\" failed", plan->method);
	if (leaf && leaf->device->kind != RQL_DEVICE_CPU) {
		rql_strbuf_printf(&text, " on %s (", rql_unit_name(leaf->method->unit));
		rql_put_device(&text, leaf->device);
		rql_strbuf_putc(&text, ')');
	}
	rql_strbuf_printf(&text, ": %s", message);
	return rql_strbuf_take(&text);
}

rql_status rql_select_method(struct rql_session *s, const struct rql_plan *plan, struct rql_batch **batch,
                             struct rql_run_stats *stats, struct rql_run_passes *passes, char **why,
                             struct rql_error *err)
{
	struct rql_plan_context ctx = rql_session_context(s);
	struct rql_error failed = {0};
	const struct rql_leaf *leaf = NULL;
	const uint64_t start = rql_now_ns();
	rql_status status = rql_plan_run(plan, &ctx, &s->progress, batch, stats, passes, &leaf, &failed);
	if (status != RQL_OK && make_room(s, plan, leaf, status, start)) {
		rql_error_clear(&failed);
		leaf = NULL;
		status = rql_plan_run(plan, &ctx, &s->progress, batch, stats, passes, &leaf, &failed);
	}
	atomic_store(&s->progress.phase, NULL);
	if (status == RQL_OK)
		return RQL_OK;
	if (status == RQL_ERROR_INTERRUPTED) {
		rql_error_clear(&failed);
		return rql_interrupted(err);
	}
	/* An error of DuckDB's inside a transaction has aborted it: it cannot answer any more. */
	if (status == RQL_ERROR_HOST && s->txn.open) {
		rql_error_move(err, &failed);
		return status;
	}
	*why = say_failure(plan, leaf, rql_error_message(&failed));
	if (device_failed(leaf, status))
		rql_device_failed(s, leaf->structure, leaf->device, rql_error_message(&failed));
	rql_error_clear(&failed);
	return *why ? RQL_OK : rql_error_memory(err, 0, "a reason");
}

static void report_plan(struct rql_session *s, const struct rql_plan *plan, bool cached, double plan_ms)
{
	rql_report_start(s, plan->method, plan->reason);
	struct rql_report *r = &s->report;
	snprintf(r->unit, sizeof r->unit, "%s", plan->unit);
	snprintf(r->structure, sizeof r->structure, "%s", plan->structure);
	snprintf(r->device, sizeof r->device, "%s", plan->device ? plan->device->id : "");
	r->plan_cached = cached;
	r->plan_ms = plan_ms;
	r->estimated_ms = plan->estimated_ns / 1e6;
	r->host_estimated_ms = plan->host_estimated_ns / 1e6;
}

static double ms_since(uint64_t start)
{
	return (double)(rql_now_ns() - start) / 1e6;
}

/* What was used longest ago makes room when rayql_auto_columns needs it. */
static void note_use(const struct rql_plan *plan)
{
	const struct rql_plan_nodes *nodes = plan->nodes;
	for (uint32_t i = 0; nodes && i < nodes->leaf_count; i++)
		if (nodes->leaves[i].structure && nodes->leaves[i].structure->automatic)
			atomic_store(&nodes->leaves[i].structure->used, rql_now_ns());
}

static rql_status run_method(const struct rql_call *call, const struct rql_cache_entry *e, bool cached, char **why,
                             struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_batch *batch = NULL;
	struct rql_run_stats stats = {0};
	double plan_ms = ms_since(call->start_ns);
	struct rql_run_passes passes;
	RQL_TRY(rql_select_method(s, e->plan, &batch, &stats, s->settings.timing ? &passes : NULL, why, err));
	if (*why)
		return RQL_OK;
	note_use(e->plan);
	report_plan(s, e->plan, cached, plan_ms);
	stats.rows = batch ? batch->rows : 0;
	s->report.stats = stats;
	s->report.run_ms = stats.run_ns / 1e6;
	s->report.finish_ms = stats.finish_ns / 1e6;
	if (!call->out) {
		rql_batch_release(batch);
		return RQL_OK;
	}
	struct rql_result *res = NULL;
	rql_status status = rql_result_new(s, rql_columns_retain(e->columns), e->plan->method, e->plan->reason, &res, err);
	if (status != RQL_OK) {
		rql_batch_release(batch);
		return status;
	}
	if (batch && batch->rows == 0) {
		rql_batch_release(batch);
		batch = NULL;
	}
	res->kind = RQL_HOST_ROWS;
	res->batch = batch;
	*call->out = res;
	return RQL_OK;
}

rql_status rql_select_cached(const struct rql_call *call, bool *done, char **why, struct rql_error *err)
{
	struct rql_session *s = call->s;
	*done = false;
	if (s->txn.open) /* the host's snapshot must be pinned first: the long way, which prepares the statement */
		return RQL_OK;
	struct rql_cache_entry *e = rql_plan_cache_find(s->cache, s, call->sql);
	if (!e || !e->method)
		return RQL_OK;
	rql_status status = run_method(call, e, true, why, err);
	*done = status == RQL_OK && !*why;
	return status;
}

/* The host answers; the statement is taken over. */
static rql_status run_host(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt, const char *reason,
                           bool silent, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_host_result *host = NULL;
	double plan_ms = ms_since(call->start_ns);
	uint64_t start = rql_now_ns();
	rql_status status = rql_host_execute(stmt, call->stream && call->out, &host, err);
	if (status != RQL_OK) {
		s->txn.failed = s->txn.open;
		goto done;
	}
	if (!silent) {
		rql_report_start(s, "host", reason);
		s->report.plan_ms = plan_ms;
		s->report.run_ms = ms_since(start);
	}
	if (call->out) {
		struct rql_result *res = NULL;
		status = rql_result_new(s, rql_columns_of_result(host), "host", reason, &res, err);
		if (status != RQL_OK)
			goto done;
		res->kind = rql_host_result_kind(host);
		res->host = host;
		if (!keep_stmt)
			res->stmt = stmt;
		if (silent)
			res->serial = 0; /* its rows are not the report's */
		*call->out = res;
		return RQL_OK;
	}
done:
	rql_host_result_free(host);
	if (!keep_stmt)
		rql_host_stmt_free(stmt);
	return status;
}

/* rayql_fallback = 'off' is about queries over tables: catalogs and functions are the host's own business. */
static rql_status refuse(const char *reason, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
	                     "RayQL does not accelerate this statement: %s. SET rayql_fallback = 'on' lets DuckDB answer.",
	                     reason);
}

rql_status rql_select_run(const struct rql_call *call, const char *text, const struct rql_host_stmt *names,
                          struct rql_host_stmt *stmt, bool keep_stmt, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_choice choice = {0};
	char *why = NULL;
	rql_status status = RQL_OK;
	if (rql_mentions_own_functions(text))
		return run_host(call, stmt, keep_stmt, "RayQL's own table function", true, err);
	if (call->failed)
		choice.base_tables = true;
	else
		status = rql_select_choose(s, text, names, true, &choice, err);
	if (status != RQL_OK)
		goto done;
	if (!choice.reason && !call->failed) {
		status = run_method(call, choice.entry, choice.cached, &why, err);
		if (status != RQL_OK || !why)
			goto done;
	}
	const char *reason = call->failed ? call->failed : why ? why : choice.reason;
	if (s->settings.fallback == RQL_FALLBACK_OFF && choice.base_tables) {
		status = refuse(reason, err);
		goto done;
	}
	status = run_host(call, stmt, keep_stmt, reason, false, err);
	if (status == RQL_OK && call->out)
		(*call->out)->notice = s->settings.fallback == RQL_FALLBACK_NOTICE && choice.base_tables;
	if (status == RQL_OK && choice.entry) {
		s->report.plan_cached = choice.cached;
		s->report.estimated_ms = s->report.host_estimated_ms = choice.entry->host_estimated_ns / 1e6;
	}
	stmt = NULL;
done:
	free(why);
	rql_choice_clear(&choice);
	if (stmt && !keep_stmt)
		rql_host_stmt_free(stmt);
	return status;
}
