/* Who answers a SELECT: a cached or fresh plan's method, or the host; and what is said about it. */

#include "bind/normal/extreme.h"
#include "device/compile.h"
#include "device/placement.h"
#include "exec/query/bound_cache.h"
#include "exec/query/text.h"
#include "flow/run.h"
#include "plan/map_cache.h"
#include "plan/plan_nodes.h"
#include "sql/result_names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_ONCE "it calls a function that must not be evaluated twice"
#define REFRESH_ATTEMPTS 8u /* structures that one statement may have to build first */

/* As snprintf with %s does it, which takes longer than a point's look-up. */
static void copy(char *out, size_t size, const char *text)
{
	const size_t length = strnlen(text, size - 1);
	memcpy(out, text, length);
	out[length] = 0;
}

void rql_report_start(struct rql_session *s, const char *method, const char *reason)
{
	struct rql_report *r = &s->report;
	r->serial++;
	copy(r->method, sizeof r->method, method);
	r->unit[0] = r->structure[0] = r->device[0] = 0;
	rql_strbuf_clear(&r->reason);
	rql_strbuf_put(&r->reason, reason);
	r->plan_cached = r->plan_bound = false;
	r->stats = (struct rql_run_stats){0};
	r->plan_ms = r->run_ms = r->finish_ms = r->estimated_ms = r->host_estimated_ms = 0;
}

void rql_choice_clear(struct rql_choice *choice)
{
	if (choice->loose)
		rql_cache_entry_free(choice->entry);
	free(choice->reason);
	free(choice->why);
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
	return rql_structure_make_ready(&s->build, plan->refresh, err);
}

rql_status rql_session_load(struct rql_session *s, const struct rql_plan_load *load, struct rql_error *err)
{
	if (s->txn.open)
		return rql_error_set(err, RQL_ERROR_STALE, "columns are not loaded inside a transaction");
	return rql_columns_load(&s->build, load, err);
}

/* Once a statement: a plan that still asks afterwards has lost what was loaded to somebody else. */
static rql_status load_columns(struct rql_session *s, const struct rql_plan *plan, uint32_t *loaded,
                               struct rql_error *err)
{
	if ((*loaded)++)
		return rql_error_set(err, RQL_ERROR_STALE, "they were given up again meanwhile");
	return rql_session_load(s, plan->load, err);
}

static char *say_not_ready(const struct rql_plan *plan, const char *message)
{
	char *out = NULL;
	int n = plan->kind == RQL_PLAN_LOAD ? asprintf(&out, "the columns of %s that it needs were not loaded: %s",
	                                               plan->load->table.table, message)
	                                    : asprintf(&out, "%s is not up to date: %s", plan->refresh->name, message);
	return n < 0 ? NULL : out;
}

/* What the connection does not share with one that was just opened: settings, DuckDB's and RayQL's, and variables. It moves
 * with them; 0: nothing. Statements that are not known to leave DuckDB's settings alone (PREPARE, CALL, USE) count, too, and
 * nothing brings it back to 0. */
static uint64_t own_state(const struct rql_session *s)
{
	return (s->variables + s->host_settings) << 32 | (s->own_settings ? s->epoch + 1 : 0);
}

/* Plans text once. epochs: those before, so that what moves meanwhile makes the entry dead, not wrong. */
static rql_status plan_once(struct rql_session *s, const struct rql_plan_context *ctx, const char *text,
                            struct rql_binding *binding, struct rql_cache_entry *epochs, struct rql_plan **out,
                            struct rql_error *err)
{
	uint64_t stamp = rql_catalog_stamp(s->db->catalog);
	read_epochs(s, epochs);
	RQL_TRY(rql_binding_get(s, ctx, text, epochs, binding, err));
	const struct rql_literals *literals = binding->readable ? &binding->literals : &binding->bound->literals;
	const struct rql_map_epochs map_epochs = {.structures = epochs->structure_epoch,
	                                          .schema = epochs->schema_epoch,
	                                          .settings = epochs->settings_epoch,
	                                          .session = s->number,
	                                          .own = own_state(s)};
	struct rql_plan_context with_maps = *ctx;
	with_maps.maps = s->db->maps;
	with_maps.map_epochs = &map_epochs;
	return rql_plan_make(&with_maps, binding->bound, literals, stamp, out, err);
}

/* Plans text; REFRESH and LOAD plans are carried out, each structure at most once. */
static rql_status plan_and_refresh(struct rql_session *s, const char *text, bool refresh, struct rql_binding *binding,
                                   struct rql_cache_entry *epochs, struct rql_plan **out, char **why,
                                   struct rql_error *err)
{
	struct rql_plan_context ctx = rql_session_plan_context(s);
	ctx.comes_again = s->comes_again;
	s->comes_again = false;
	uint64_t done[REFRESH_ATTEMPTS] = {0};
	uint32_t loaded = 0;
	struct rql_plan *plan = NULL;
	for (uint32_t n = 0;; n++) {
		RQL_TRY(plan_once(s, &ctx, text, binding, epochs, &plan, err));
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
	return plan->refresh->kind->first;
}

static bool has_columns(struct rql_structure *const *list, uint32_t count, const struct rql_table *table)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->reads == RQL_READS_STORE && list[i]->table_count && list[i]->tables[0] == table)
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

/* Table functions that tell of the database itself: catalogs are the host's own business. */
static bool tells_of_catalog(const char *function)
{
	return strncasecmp(function, "duckdb_", 7) == 0 || strncasecmp(function, "pragma_", 7) == 0;
}

/* A table function whose rows are somebody's data, also behind a view. */
static bool reads_function(const struct rql_rel *rel)
{
	static const char phrase[] = "a table function: ";
	if (rel->kind == RQL_REL_OPAQUE && strncmp(rql_rel_phrase(rel), phrase, sizeof phrase - 1) == 0 &&
	    !tells_of_catalog(rql_rel_phrase(rel) + sizeof phrase - 1))
		return true;
	for (uint32_t i = 0; i < rel->child_count; i++)
		if (reads_function(rel->children[i]))
			return true;
	return false;
}

/* Turns a plan into an entry; takes the plan over. columns (may be NULL): of a plan that is to be run, taken over. */
static rql_status entry_of(const struct rql_session *s, struct rql_plan *plan, struct rql_columns *columns,
                           const char *why, const struct rql_cache_entry *epochs, struct rql_cache_entry **out,
                           struct rql_error *err)
{
	struct rql_cache_entry *e = calloc(1, sizeof *e);
	if (!e) {
		rql_plan_free(plan);
		rql_columns_release(columns);
		return rql_error_memory(err, sizeof *e, "a cached plan");
	}
	e->schema_epoch = epochs->schema_epoch;
	e->structure_epoch = epochs->structure_epoch;
	e->session_epoch = epochs->session_epoch;
	e->settings_epoch = epochs->settings_epoch;
	e->method = columns != NULL;
	e->first = done_first(plan);
	e->base_tables = plan->table_count > 0 || !plan->read || reads_function(plan->nodes->root);
	e->estimated_ns = plan->estimated_ns;
	e->host_estimated_ns = plan->host_estimated_ns;
	e->reason = strdup(why ? why : plan->reason);
	e->columns = columns;
	e->awaited = plan->awaited ? rql_awaited_retain(plan->awaited) : NULL;
	e->swayed = plan->swayed;
	if (e->method) {
		e->plan = plan;
	} else {
		watch_tables(s, plan, e);
		rql_plan_free(plan);
	}
	if (!e->reason) {
		rql_cache_entry_free(e);
		return rql_error_memory(err, sizeof *e, "a cached plan");
	}
	*out = e;
	return RQL_OK;
}

static bool is_keyword(void *state, const char *word, size_t length)
{
	return rql_host_is_keyword(state, word, length);
}

/* The columns of the statement as its text and its bound plan tell them; NULL: they do not, or not for sure, or DuckDB's
 * optimiser may have an error to tell. */
static struct rql_columns *tell_columns(const struct rql_session *s, const char *text, const struct rql_plan *plan,
                                        const struct rql_binding *b)
{
	const struct rql_rel *root = b->bound->root;
	const char **names = root ? RQL_NEW_ARRAY(b->arena, const char *, root->column_count) : NULL;
	bool told = names && rql_host_option_is(s->host, "preserve_identifier_case", "true") &&
	            !rql_plan_has_extremes(root) && !rql_plan_has_extremes(plan->nodes->root);
	for (uint32_t i = 0; told && i < root->column_count; i++) /* an ENUM may have a name, which is the host's to tell */
		told = rql_type_bytes(root->types[i]) && !root->types[i].info && root->types[i].id != RQL_TYPE_SQLNULL;
	if (!told || !rql_result_names(b->arena, text, root, is_keyword, s->db->host, names))
		return NULL;
	return rql_columns_make(root->column_count, names, root->types);
}

/* The columns of the statement, once for all that are bound alike; from the host where they are in doubt. */
static rql_status ask_columns(struct rql_session *s, const char *text, const struct rql_plan *plan,
                              struct rql_binding *b, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	if (b->columns)
		return RQL_OK;
	b->columns = tell_columns(s, text, plan, b);
	if (!b->columns) {
		RQL_TRY(rql_host_prepare(s->host, text, &stmt, err));
		b->columns = rql_columns_of_stmt(stmt);
		rql_host_stmt_free(stmt);
	}
	if (!b->columns)
		return rql_error_memory(err, 0, "a result");
	rql_bound_keep_names(b->bound, b->columns->names, b->columns->count);
	return RQL_OK;
}

/* The columns of the statement that a plan answers. *why is set when the plan's are others. */
static rql_status columns_of(struct rql_session *s, const char *text, const struct rql_plan *plan,
                             struct rql_binding *b, struct rql_columns **out, char **why, struct rql_error *err)
{
	const struct rql_rel *root = plan->nodes->root;
	RQL_TRY(ask_columns(s, text, plan, b, err));
	const struct rql_columns *columns = b->columns;
	bool same = columns->count == root->column_count;
	for (uint32_t i = 0; same && i < columns->count; i++) /* nested types have no RayQL form */
		same = rql_type_bytes(root->types[i]) && rql_type_equal(root->types[i], columns->types[i]);
	if (same) {
		*out = rql_columns_retain(b->columns);
		return RQL_OK;
	}
	*why = strdup("the plan's column types are not the statement's");
	return *why ? RQL_OK : rql_error_memory(err, 0, "a result");
}

static rql_status make_bound_entry(struct rql_session *s, const char *text, bool refresh, struct rql_binding *b,
                                   struct rql_choice *out, struct rql_error *err)
{
	struct rql_cache_entry epochs = {0};
	struct rql_columns *columns = NULL;
	struct rql_plan *plan = NULL;
	char *why = NULL;
	RQL_TRY(plan_and_refresh(s, text, refresh, b, &epochs, &plan, &why, err));
	rql_status status = RQL_OK;
	if (plan->kind == RQL_PLAN_METHOD && !why)
		status = columns_of(s, text, plan, b, &columns, &why, err);
	if (status != RQL_OK) {
		rql_plan_free(plan);
		return status;
	}
	bool keep = !s->txn.open && !why && !plan->unsettled && plan->kind != RQL_PLAN_REFRESH &&
	            plan->kind != RQL_PLAN_LOAD &&
	            (plan->kind == RQL_PLAN_HOST || (plan->cacheable && plan->tables_known));
	/* What is bound holds what the binder has folded: it is as lasting as a plan. */
	if (!s->txn.open && plan->kind == RQL_PLAN_METHOD && plan->cacheable && !why)
		rql_bound_cache_put(s->bounds, &epochs, b);
	status = entry_of(s, plan, columns, why, &epochs, &out->entry, err);
	free(why);
	RQL_TRY(status);
	out->loose = !keep || !rql_plan_cache_put(s->cache, text, out->entry);
	return RQL_OK;
}

static rql_status make_entry(struct rql_session *s, const char *text, bool refresh, struct rql_choice *out,
                             struct rql_error *err)
{
	struct rql_binding binding;
	RQL_TRY(rql_binding_open(&binding, text, err));
	rql_status status = make_bound_entry(s, text, refresh, &binding, out, err);
	out->bound = binding.found;
	rql_binding_close(&binding);
	return status;
}

/* ---- choosing ---- */

struct read_search {
	struct rql_host_db *db;
	struct rql_strbuf reason;
	bool catalog; /* a table function that tells of the database itself */
};

/* rql_text_read_fn: files and table functions, which no structure is over. DuckDB binds such a thing by opening or
 * calling it, so that a plan would do it once more. */
static bool note_read(void *state, const char *text, size_t length)
{
	struct read_search *search = state;
	if (*text == '\'' || *text == '$' || length < 2) {
		rql_strbuf_put(&search->reason, "it reads the file ");
		rql_strbuf_put_n(&search->reason, text, length);
		return true;
	}
	bool quoted = *text == '"';
	text += quoted;
	length -= 2 * (size_t)quoted;
	if (!rql_host_is_table_function(search->db, text, length))
		return false;
	search->catalog = tells_of_catalog(text);
	rql_strbuf_put(&search->reason, "it reads the table function ");
	rql_strbuf_put_n(&search->reason, text, length);
	return true;
}

/* What keeps RayQL from asking for a plan at all; reason stays empty when nothing does. */
static void never_planned(struct rql_session *s, const char *text, struct rql_choice *out, struct rql_strbuf *reason)
{
	const char *forbids = transaction_forbids(s, NULL);
	struct read_search search = {.db = s->db->host};
	out->base_tables = rql_text_has_from(text);
	if (!rql_text_is_query(text)) {
		out->base_tables = false;
		rql_strbuf_put(reason, "not a query");
	} else if (rql_text_runs_unprepared(text)) {
		rql_strbuf_put(reason, CALLS_ONCE);
	} else if (rql_text_has_parameters(text)) {
		rql_strbuf_put(reason, "its parameters have no values");
	} else if (rql_catalog_structure_count(s->db->catalog) == 0 && s->settings.fallback == RQL_FALLBACK_ON &&
	           !s->settings.auto_columns) {
		rql_strbuf_put(reason, "there is no materialized view and no columns index");
	} else if (rql_host_watched(s->host)) { /* where DuckDB writes the statements down, none may be missing */
		rql_strbuf_put(reason, "DuckDB logs or profiles this connection's statements (enable_profiling, "
		                       "log_query_path or enable_logging is set), so it runs them itself");
	} else if (rql_text_reads(text, note_read, &search)) {
		out->base_tables = !search.catalog;
		rql_strbuf_put(reason, rql_strbuf_text(&search.reason));
		rql_strbuf_put(reason, "; RayQL's structures are over tables");
	} else if (forbids) {
		rql_strbuf_put(reason, forbids);
	}
	rql_strbuf_free(&search.reason);
}

/* In a transaction the host's snapshot must be pinned before a method answers. To make a plan does that, and an error of
 * the statement's stays in what it gives; where a plan is there already, the statement is bound for it. Let go at once:
 * nothing is bound twice at a time, as DuckDB may wait for itself then (read_duckdb). */
static rql_status pin_snapshot(struct rql_session *s, const char *text, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	rql_status status = s->txn.open ? rql_host_prepare(s->host, text, &stmt, err) : RQL_OK;
	rql_host_stmt_free(stmt);
	return status;
}

/* What fails while a plan is made is no failure of the statement, which the host can answer; but for an interrupt,
 * and for an error of DuckDB's that has aborted the user's transaction. */
static rql_status host_instead(const struct rql_session *s, rql_status status, struct rql_error *failed,
                               struct rql_choice *out, struct rql_error *err)
{
	if (status == RQL_ERROR_INTERRUPTED || (status == RQL_ERROR_HOST && s->txn.open)) {
		rql_error_move(err, failed);
		return status;
	}
	bool set = set_reason(out, rql_error_message(failed));
	rql_error_clear(failed);
	out->base_tables = true;
	return set ? RQL_OK : rql_error_memory(err, 0, "a reason");
}

/* The plan of a text that comes again; NULL: it is to be planned, for the first time or once more. So it is when kernels
 * that a better plan waited for have come. So it is, too, when the preparation decided: nobody knew that the text would
 * come again; runs: it does now, and is not explained alone. No plan is held beside the next one. */
static struct rql_cache_entry *find_plan(struct rql_session *s, const char *text, bool runs)
{
	struct rql_cache_entry *e = rql_plan_cache_find(s->cache, s, text);
	const bool again = e && e->came && runs && e->swayed;
	const bool better = again || (e && e->awaited && rql_awaited_settled(e->awaited));
	if (!better || s->txn.open) /* what is planned inside a transaction is not kept */
		return e;
	s->comes_again = e->came;
	rql_plan_cache_drop(s->cache, e);
	return NULL;
}

rql_status rql_select_choose(struct rql_session *s, const char *text, bool refresh, struct rql_choice *out,
                             struct rql_error *err)
{
	*out = (struct rql_choice){0};
	struct rql_strbuf reason = {0};
	never_planned(s, text, out, &reason);
	if (reason.length || reason.failed) {
		s->comes_again = false; /* nothing of it is for the text that is planned next */
		out->reason = rql_strbuf_take(&reason);
		return out->reason ? RQL_OK : rql_error_memory(err, 0, "a reason");
	}
	out->entry = find_plan(s, text, refresh);
	out->cached = out->entry != NULL;
	if (out->cached && out->entry->method)
		RQL_TRY(pin_snapshot(s, text, err));
	if (!out->entry) {
		struct rql_error failed = {0};
		rql_status status = make_entry(s, text, refresh, out, &failed);
		if (status != RQL_OK)
			return host_instead(s, status, &failed, out, err);
	}
	out->entry->came |= refresh;
	out->base_tables = out->entry->base_tables;
	const char *never = out->entry->method ? transaction_forbids(s, out->entry->plan) : out->entry->reason;
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
static bool make_room(struct rql_session *s, const struct rql_plan *plan, const struct rql_failed *failed,
                      rql_status status, uint64_t start)
{
	const struct rql_leaf *leaf = device_failed(failed->leaf, status) ? failed->leaf : NULL;
	struct rql_device *device = leaf ? leaf->device : failed->full;
	if (!device || status != RQL_ERROR_LIMIT)
		return false;
	bool dropped = rql_plan_cache_make_room(s->cache, device, plan);
	if (!rql_placements_evict(device, UINT64_MAX, start) && !dropped)
		return false;
	if (leaf)
		rql_device_retry(leaf->structure, device);
	return true;
}

/* Neither the structure nor what lies there of its plan's maps, which others may share, is used on the device again. */
static void leave_device(struct rql_session *s, const struct rql_leaf *leaf, const char *message)
{
	for (uint32_t m = 0; leaf->scan && m < leaf->scan->map_count; m++)
		rql_placements_forget(leaf->scan->maps[m]->dim.map, leaf->device);
	leaf->structure->kind->fail(&s->db->structures, leaf->structure, leaf->device, message);
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

/* An expression has failed in a row. The host decides whether that is the statement's error, but for two cases: the
 * error is its own, raised while it finished an answer inside a transaction, which has aborted that; or it may not be
 * asked. */
static bool host_cannot_decide(const struct rql_session *s, const struct rql_leaf *leaf, struct rql_error *failed)
{
	if (s->settings.fallback == RQL_FALLBACK_OFF && leaf) {
		char *text = strdup(rql_error_message(failed));
		(void)rql_error_set(failed, RQL_ERROR_HOST, "%s\nDuckDB was not asked whether this row matters to it, since "
		                    "rayql_fallback is 'off'. SET rayql_fallback = 'on' lets it answer.",
		                    text ? text : "an expression of the query failed in some row");
		free(text);
		return true;
	}
	return s->txn.open && !leaf;
}

rql_status rql_select_method(struct rql_session *s, const struct rql_plan *plan,
                             const struct rql_value *const *points, struct rql_batch **batch, struct rql_run_stats *stats, struct rql_run_profile *profile, char **why,
                             struct rql_error *err)
{
	struct rql_plan_context ctx = rql_session_context(s);
	struct rql_flow flow = rql_plan_flow(&ctx, &s->progress);
	flow.points = points;
	flow.table_count = plan->table_count;
	flow.tables = plan->tables;
	struct rql_error failed = {0};
	struct rql_failed of = {0};
	const uint64_t start = rql_now_ns();
	rql_status status = rql_flow_run(&flow, plan->nodes->tree, batch, stats, profile, &of, &failed);
	if (status != RQL_OK && make_room(s, plan, &of, status, start)) {
		rql_error_clear(&failed);
		status = rql_flow_run(&flow, plan->nodes->tree, batch, stats, profile, &of, &failed);
	}
	const struct rql_leaf *leaf = of.leaf;
	atomic_store(&s->progress.phase, NULL);
	if (status == RQL_OK)
		return RQL_OK;
	if (status == RQL_ERROR_INTERRUPTED) {
		rql_error_clear(&failed);
		return rql_interrupted(err);
	}
	if (status == RQL_ERROR_HOST && host_cannot_decide(s, leaf, &failed)) {
		rql_error_move(err, &failed);
		return status;
	}
	*why = say_failure(plan, leaf, rql_error_message(&failed));
	if (device_failed(leaf, status))
		leave_device(s, leaf, rql_error_message(&failed));
	rql_error_clear(&failed);
	return *why ? RQL_OK : rql_error_memory(err, 0, "a reason");
}

static void report_plan(struct rql_session *s, const struct rql_plan *plan, bool cached, bool bound, double plan_ms)
{
	rql_report_start(s, plan->method, plan->reason);
	struct rql_report *r = &s->report;
	copy(r->unit, sizeof r->unit, plan->unit);
	copy(r->structure, sizeof r->structure, plan->structure);
	copy(r->device, sizeof r->device, plan->device ? plan->device->id : "");
	r->plan_cached = cached;
	r->plan_bound = bound;
	r->plan_ms = plan_ms;
	r->estimated_ms = plan->estimated_ns / 1e6;
	r->host_estimated_ms = plan->host_estimated_ns / 1e6;
}

/* Devices whose work of the run others have done. */
static void report_left(struct rql_session *s)
{
	const struct rql_left_devices *left = &s->report.stats.left;
	const struct rql_devices *devices = s->db->devices;
	for (uint32_t i = 0; (left->failed | left->full) && i < atomic_load(&devices->count); i++)
		rql_put_left_device(&s->report.reason, left, &devices->device[i]);
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

/* The columns by other names; NULL: no memory. */
static struct rql_columns *named(struct rql_columns *columns, struct rql_columns *names)
{
	bool same = true;
	if (!names || names->count != columns->count)
		return rql_columns_retain(columns);
	for (uint32_t i = 0; i < columns->count && same; i++)
		same = rql_type_equal(names->types[i], columns->types[i]);
	return same ? rql_columns_retain(names) : rql_columns_make(columns->count, names->names, columns->types);
}

static rql_status run_method(const struct rql_call *call, const struct rql_cache_entry *e,
                             const struct rql_value *const *points, bool cached, bool bound, char **why, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_batch *batch = NULL;
	struct rql_run_stats stats = {0};
	double plan_ms = ms_since(call->start_ns);
	struct rql_run_profile profile;
	RQL_TRY(rql_select_method(s, e->plan, points, &batch, &stats, s->settings.timing ? &profile : NULL, why, err));
	if (*why)
		return RQL_OK;
	note_use(e->plan);
	report_plan(s, e->plan, cached, bound, plan_ms);
	stats.rows = batch ? batch->rows : 0;
	s->report.stats = stats;
	report_left(s);
	s->report.run_ms = stats.run_ns / 1e6;
	s->report.finish_ms = stats.finish_ns / 1e6;
	if (!call->out) {
		rql_batch_release(batch);
		return RQL_OK;
	}
	struct rql_result *res = NULL;
	rql_status status = rql_result_new(s, named(e->columns, call->names), e->plan->method, e->plan->reason, &res, err);
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

/* The values in the order of the plan's points. false: one is none of them, or of another type. */
static bool place_values(const struct rql_points *points, const struct rql_point_values *values,
                         const struct rql_value **out)
{
	uint32_t placed = 0;
	for (uint32_t p = 0; p < points->count; p++)
		for (uint32_t v = 0; v < values->count; v++)
			if (points->of[p].literal == values->of[v].literal &&
			    rql_type_equal(points->of[p].type, values->of[v].value->type)) {
				out[p] = values->of[v].value;
				placed++;
			}
	return placed == values->count;
}

rql_status rql_select_cached(const struct rql_call *call, bool *done, char **why, struct rql_error *err)
{
	struct rql_session *s = call->s;
	const struct rql_value *points[RQL_POINTS_MOST] = {0};
	*done = false;
	if (s->txn.open) /* the host's snapshot must be pinned first: the long way, which prepares the statement */
		return RQL_OK;
	struct rql_cache_entry *e = find_plan(s, call->sql, true);
	if (!e || !e->method || (call->points && !place_values(&e->plan->points, call->points, points)))
		return RQL_OK;
	e->came = true;
	rql_status status = run_method(call, e, call->points ? points : NULL, true, false, why, err);
	*done = status == RQL_OK && !*why;
	return status;
}

/* The host answers. stmt NULL: the text, unprepared; else it is taken over, unless keep_stmt. */
static rql_status run_host(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt, const char *reason,
                           bool silent, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_host_result *host = NULL;
	double plan_ms = ms_since(call->start_ns);
	uint64_t start = rql_now_ns();
	rql_status status = stmt ? rql_host_execute(stmt, call->stream && call->out, &host, err)
	                         : rql_host_query(s->host, call->sql, &host, err);
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

rql_status rql_select_try(const struct rql_call *call, const char *text, struct rql_choice *choice, bool *done,
                          struct rql_error *err)
{
	*choice = (struct rql_choice){0};
	*done = false;
	if (call->failed) {
		choice->base_tables = true;
		return set_reason(choice, call->failed) ? RQL_OK : rql_error_memory(err, 0, "a reason");
	}
	if (rql_mentions_own_functions(text)) {
		choice->silent = true;
		return set_reason(choice, "RayQL's own table function") ? RQL_OK : rql_error_memory(err, 0, "a reason");
	}
	RQL_TRY(rql_select_choose(call->s, text, true, choice, err));
	if (choice->reason)
		return RQL_OK;
	rql_status status = run_method(call, choice->entry, NULL, choice->cached, choice->bound, &choice->why, err);
	*done = status == RQL_OK && !choice->why;
	return status;
}

rql_status rql_select_host(const struct rql_call *call, const struct rql_choice *choice, struct rql_host_stmt *stmt,
                           bool keep_stmt, struct rql_error *err)
{
	struct rql_session *s = call->s;
	const char *reason = choice->why ? choice->why : choice->reason;
	if (s->settings.fallback == RQL_FALLBACK_OFF && choice->base_tables) {
		if (!keep_stmt)
			rql_host_stmt_free(stmt);
		return refuse(reason, err);
	}
	RQL_TRY(run_host(call, stmt, keep_stmt, reason, choice->silent, err));
	if (call->out)
		(*call->out)->notice = s->settings.fallback == RQL_FALLBACK_NOTICE && choice->base_tables;
	if (choice->entry) {
		s->report.plan_cached = choice->cached;
		s->report.estimated_ms = s->report.host_estimated_ms = choice->entry->host_estimated_ns / 1e6;
	}
	return RQL_OK;
}

rql_status rql_select_text(const struct rql_call *call, struct rql_error *err)
{
	struct rql_choice choice = {0};
	struct rql_host_stmt *stmt = NULL;
	bool done = false;
	rql_status status = rql_select_try(call, call->sql, &choice, &done, err);
	if (status == RQL_OK && !done)
		status = rql_host_prepare(call->s->host, call->sql, &stmt, err);
	if (stmt && rql_host_stmt_class(stmt) != RQL_HOST_SELECT) /* WITH ... INSERT */
		status = rql_host_run(call, stmt, false, err);
	else if (stmt)
		status = rql_select_host(call, &choice, stmt, false, err);
	rql_choice_clear(&choice);
	return status;
}

rql_status rql_select_unplanned(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt,
                                struct rql_error *err)
{
	bool query = !call->expanded && rql_text_is_query(call->sql);
	const char *reason = !query                                           ? "not a query"
	                     : stmt || rql_text_has_parameters(call->sql) ? "its parameters have no values"
	                                                                  : CALLS_ONCE;
	struct rql_choice choice = {.base_tables = query && rql_text_has_from(call->sql)};
	if (!set_reason(&choice, reason)) {
		if (!keep_stmt)
			rql_host_stmt_free(stmt);
		return rql_error_memory(err, 0, "a reason");
	}
	rql_status status = rql_select_host(call, &choice, stmt, keep_stmt, err);
	rql_choice_clear(&choice);
	return status;
}
