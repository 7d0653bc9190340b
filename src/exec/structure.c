/* The life of structures after their CREATE, whatever their kind: definitions bound after reopening, contents read from
 * side files or built again, and what plain SQL did to the tables and views under them. */
#include "exec/structure.h"

#include "exec/columns.h"
#include "exec/view_build.h"
#include <stdlib.h>
#include <string.h>

struct rql_structure *rql_structure_find(struct rql_database *db, const char *schema, const char *name,
                                         enum rql_structure_kind kind)
{
	struct rql_structure *s = rql_catalog_find(db->catalog, db->name, schema, name);
	if (s && s->kind != kind) {
		rql_structure_release(s);
		s = NULL;
	}
	return s;
}

/* ---- what differs by kind ---- */
const char *rql_structure_kind_name(enum rql_structure_kind kind)
{
	return kind == RQL_STRUCTURE_COLUMNS ? "columns" : "cube";
}

static bool is_bound(const struct rql_structure *s)
{
	return s->kind == RQL_STRUCTURE_COLUMNS ? s->column_ids != NULL : s->definition != NULL;
}

/* Gives v (unpublished) its tables and what else its definition says. */
static rql_status bind(struct rql_database *db, struct rql_structure *v, struct rql_error *err)
{
	struct rql_definition *def = NULL;
	if (v->kind == RQL_STRUCTURE_COLUMNS)
		return rql_columns_bind(db, v, err);
	RQL_TRY(rql_build_bind(db, v, &def, err));
	return rql_build_define(db, v, def, err);
}

rql_status rql_structure_build(struct rql_session *s, struct rql_structure *v, struct rql_error *err)
{
	rql_status status;
	do {
		rql_error_clear(err);
		status = v->kind == RQL_STRUCTURE_COLUMNS ? rql_columns_build(s, v, err) : rql_build_run(s, v, err);
	} while (status == RQL_ERROR_LIMIT && rql_columns_evict(s, v));
	return status;
}

static rql_status read_side(struct rql_session *s, struct rql_structure *v, struct rql_error *err)
{
	struct rql_cube *cube = NULL;
	if (v->kind == RQL_STRUCTURE_COLUMNS)
		return rql_columns_read_side(s, v, err);
	RQL_TRY(rql_side_read(&s->db->side, v->side_file, v->definition_hash, &s->db->budget, &cube, err));
	v->cube = cube;
	v->retain_cube = rql_cube_retain;
	v->release_cube = rql_cube_release;
	return RQL_OK;
}

/* ---- states ---- */
/* What rayql_auto_columns made is nobody's definition: it goes. */
static void invalidate(struct rql_database *db, const struct rql_structure *old, const char *reason)
{
	if (old->automatic) {
		rql_catalog_remove(db->catalog, old->id);
		return;
	}
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return;
	rql_structure_clear(v);
	v->state = RQL_STATE_INVALID;
	v->side_file_valid = false;
	(void)rql_structure_set_text(&v->reason, reason);
	(void)rql_catalog_replace(db->catalog, old, v);
}

/* From the side file of the session before, when nothing has moved since the database was opened. */
static bool load_side(struct rql_session *session, struct rql_structure *v)
{
	struct rql_database *db = session->db;
	if (!v->side_file_valid || !v->side_file)
		return false;
	for (uint32_t i = 0; i < v->table_count; i++) {
		if (rql_table_being_written(db->catalog, v->tables[i]) || rql_table_version(db->catalog, v->tables[i]) != 0)
			return false;
		v->versions[i] = 0;
	}
	struct rql_error why = {0};
	uint64_t start = rql_now_ns();
	if (read_side(session, v, &why) != RQL_OK) {
		struct rql_strbuf note = {0};
		rql_strbuf_printf(&note, "its side file was not used: %s", rql_error_message(&why));
		(void)rql_structure_set_text(&v->note, rql_strbuf_text(&note));
		rql_strbuf_free(&note);
		rql_error_clear(&why);
		v->side_file_valid = false;
		return false;
	}
	v->state = RQL_STATE_READY;
	v->build_ms = (double)(rql_now_ns() - start) / 1e6;
	(void)rql_structure_set_text(&v->note, "read from its side file");
	if (v->cube)
		rql_device_place(session, v);
	return true;
}

/* While a stale structure is rebuilt its old contents, which nobody may use, make room. */
static struct rql_structure *publish_building(struct rql_database *db, struct rql_structure *old)
{
	if (rql_structure_fresh(db->catalog, old))
		return old;
	struct rql_structure *b = rql_structure_clone(old);
	if (!b)
		return old;
	rql_structure_clear(b);
	b->state = RQL_STATE_BUILDING;
	rql_structure_retain(b);
	if (!rql_catalog_replace(db->catalog, old, b)) {
		rql_structure_release(b);
		return old;
	}
	rql_structure_release(old);
	return b;
}

static bool wants_memory(rql_status status)
{
	return status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY;
}

static uint64_t epochs(struct rql_database *db)
{
	return atomic_load(&db->settings_epoch) + rql_catalog_schema_epoch(db->catalog);
}

/* A build of `tried` that failed: what was there before stays when it is fresh; else the reason is kept until something
 * has changed that may help. An interrupted one may be tried again at once. */
static void publish_failure(struct rql_database *db, const struct rql_structure *now,
                            const struct rql_structure *tried, rql_status status, const char *message)
{
	if (now->state != RQL_STATE_BUILDING)
		return;
	if (now->automatic) { /* a later query may load it again */
		rql_catalog_remove(db->catalog, now->id);
		return;
	}
	struct rql_structure *v = rql_structure_clone(tried);
	if (!v)
		return;
	bool again = status == RQL_ERROR_INTERRUPTED || status == RQL_ERROR_STALE;
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "it could not be rebuilt: %s%s", message,
	                  again                  ? ""
	                  : wants_memory(status) ? " (a query tries again when there is more room, or rows were deleted)"
	                                         : " (a query tries again when its tables, the schema or settings change)");
	rql_structure_clear(v);
	rql_side_replaced(&db->side, v->side_file);
	(void)rql_structure_set_text(&v->side_file, NULL);
	v->state = RQL_STATE_UNBUILT;
	v->side_file_valid = false;
	if (!again)
		v->failed = (struct rql_build_failure){status, atomic_load(&db->budget.limit), atomic_load(&db->budget.used),
		                                       epochs(db)};
	(void)rql_structure_set_text(again ? &v->note : &v->reason, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	(void)rql_catalog_replace(db->catalog, now, v);
}

/* Rows that were only added need no less memory than before. */
static bool tables_changed(const struct rql_database *db, const struct rql_structure *s)
{
	bool grown = wants_memory(s->failed.status), changed = false;
	for (uint32_t i = 0; i < s->table_count; i++)
		changed = changed || (rql_table_version(db->catalog, s->tables[i]) != s->versions[i] &&
		                      !(grown && rql_table_only_grew(db->catalog, s->tables[i], s->versions[i])));
	return changed;
}

/* Is there so much more room that another build is worth its time? Plans and answers come and go all the time. */
static bool has_more_room(const struct rql_database *db, const struct rql_build_failure *f)
{
	uint64_t limit = atomic_load(&db->budget.limit), used = atomic_load(&db->budget.used);
	return (f->limit && (!limit || limit > f->limit)) || used + limit / 16 < f->used;
}

const char *rql_structure_build_failure(void *session, const struct rql_structure *s)
{
	struct rql_database *db = ((const struct rql_session *)session)->db;
	if (s->state != RQL_STATE_UNBUILT || s->failed.status == RQL_OK || tables_changed(db, s))
		return NULL;
	if (wants_memory(s->failed.status) ? has_more_room(db, &s->failed)
	                                   : s->failed.epochs != epochs(db))
		return NULL;
	return s->reason ? s->reason : "its last build failed";
}

/* ---- rebuilding ---- */
/* A new object of old's definition, bound anew. On failure old has become invalid, unless for want of memory. */
static rql_status bind_again(struct rql_database *db, const struct rql_structure *old, struct rql_structure **out,
                             struct rql_error *err)
{
	if (!old->query || !old->statement)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "%s", old->reason ? old->reason : "no definition");
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return rql_error_memory(err, sizeof *v, "a structure");
	rql_status status = bind(db, v, err);
	if (status == RQL_OK) {
		(void)rql_structure_set_text(&v->reason, NULL);
		v->failed = (struct rql_build_failure){0};
		*out = v;
		return RQL_OK;
	}
	rql_structure_release(v);
	if (status != RQL_ERROR_MEMORY)
		invalidate(db, old, rql_error_message(err));
	return status;
}

/* *out: the extended structure, or NULL: it must be built again. user: REFRESH INDEX, so devices may try again. */
static rql_status extend(struct rql_session *s, const struct rql_structure *old, bool user, struct rql_structure **out,
                         struct rql_error *err)
{
	bool done = false;
	if (!rql_structure_appendable(s->db->catalog, old))
		return RQL_OK;
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return rql_error_memory(err, sizeof *v, "a structure");
	if (user)
		rql_structure_forget_failures(v);
	rql_status status = rql_columns_append(s, v, &done, err);
	if (status == RQL_OK && done)
		*out = v;
	else
		rql_structure_release(v);
	return status;
}

rql_status rql_structure_rebuild(struct rql_session *s, struct rql_structure *old, bool use_side, struct rql_error *err)
{
	struct rql_database *db = s->db;
	struct rql_structure *v = NULL;
	struct rql_error failed = {0};
	rql_status status = extend(s, old, !use_side, &v, &failed);
	if (status != RQL_OK)
		goto done;
	if (!v) {
		status = bind_again(db, old, &v, &failed);
		if (status != RQL_OK)
			goto done;
		if (!use_side || !load_side(s, v)) {
			rql_structure_clear(v);
			old = publish_building(db, old);
			rql_plan_cache_clear(s->cache); /* its plans hold the old contents */
			status = rql_structure_build(s, v, &failed);
			if (status == RQL_OK)
				rql_build_save(db, v);
			else
				publish_failure(db, old, v, status, rql_error_message(&failed));
		}
	}
	if (status == RQL_OK) {
		status = rql_catalog_publish(db->catalog, v, &failed);
		v = NULL;
	}
done:
	rql_structure_release(v);
	rql_structure_release(old);
	rql_error_move(err, &failed);
	return status;
}

void rql_structures_unlock(struct rql_session *s)
{
	rql_build_unlock(s);
	if (atomic_exchange(&s->db->sync_wanted, false))
		rql_structures_sync(s->db);
}

/* Why a query does not make v ready; NULL: it does. A REFRESH waits for writers, a query has the host to ask. */
static const char *why_not_now(const struct rql_session *s, const struct rql_structure *v)
{
	for (uint32_t i = 0; i < v->table_count; i++)
		if (rql_table_being_written(s->db->catalog, v->tables[i]))
			return "another connection is writing to its tables";
	if (v->state == RQL_STATE_INVALID)
		return v->reason ? v->reason : "its definition is not valid";
	const char *failed = rql_structure_build_failure((void *)(uintptr_t)s, v);
	if (failed)
		return failed;
	if (v->kind == RQL_STRUCTURE_COLUMNS && v->state == RQL_STATE_READY && v->refresh == RQL_REFRESH_MANUAL &&
	    !rql_structure_fresh(s->db->catalog, v) && !rql_structure_appendable(s->db->catalog, v))
		return "more than rows were added to its table; REFRESH INDEX rebuilds it";
	return NULL;
}

rql_status rql_structure_make_ready(struct rql_session *s, const struct rql_structure *structure, struct rql_error *err)
{
	RQL_TRY(rql_build_lock(s, true, err));
	rql_status status = RQL_OK;
	struct rql_structure *v = rql_catalog_find_id(s->db->catalog, structure->id);
	const char *why = v ? why_not_now(s, v) : "it was dropped meanwhile";
	if (why) {
		status = rql_error_set(err, RQL_ERROR_STALE, "%s", why);
	} else if (!rql_structure_fresh(s->db->catalog, v)) {
		status = rql_structure_rebuild(s, v, true, err);
		v = NULL;
	}
	rql_structure_release(v);
	rql_structures_unlock(s);
	return status;
}

/* ---- definitions after reopening, and what plain SQL did to them ---- */
struct rql_structure *rql_structure_bound(void *session, struct rql_structure *structure)
{
	struct rql_session *s = session;
	struct rql_error why = {0};
	if (is_bound(structure)) {
		rql_structure_retain(structure);
		return structure;
	}
	if (structure->state == RQL_STATE_INVALID)
		return NULL;
	struct rql_structure *v = rql_structure_clone(structure);
	if (!v)
		return NULL;
	rql_status status = bind(s->db, v, &why);
	if (status != RQL_OK) {
		rql_structure_release(v);
		if (status == RQL_ERROR_HOST || status == RQL_ERROR_STATEMENT)
			invalidate(s->db, structure, rql_error_message(&why));
		rql_error_clear(&why);
		return NULL;
	}
	rql_structure_retain(v);
	if (!rql_catalog_replace(s->db->catalog, structure, v)) { /* another session was first */
		rql_structure_release(v);
		v = rql_catalog_find_id(s->db->catalog, structure->id);
		if (v && !is_bound(v)) {
			rql_structure_release(v);
			v = NULL;
		}
	}
	return v;
}

/* Does the definition still bind? An invalid one that does again may be built again. */
static void check_binding(struct rql_database *db, const struct rql_structure *v)
{
	struct rql_error why = {0};
	struct rql_structure *again = rql_structure_clone(v);
	rql_status status = again ? bind(db, again, &why) : RQL_ERROR_MEMORY;
	if (status == RQL_OK && v->state == RQL_STATE_INVALID) {
		again->state = RQL_STATE_UNBUILT;
		(void)rql_structure_set_text(&again->reason, NULL);
		(void)rql_catalog_replace(db->catalog, v, again);
		again = NULL;
	} else if ((status == RQL_ERROR_HOST || status == RQL_ERROR_STATEMENT) && v->state != RQL_STATE_INVALID) {
		invalidate(db, v, rql_error_message(&why));
	}
	rql_structure_release(again);
	rql_error_clear(&why);
}

rql_status rql_view_text(struct rql_database *db, const char *schema, const char *name, char **out,
                         struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	struct rql_host_con *con = NULL;
	RQL_TRY(rql_host_connect_own(db->host, &con, err));
	rql_strbuf_put(&sql, "SELECT sql FROM system.main.duckdb_views() WHERE database_name = ");
	rql_strbuf_put_literal(&sql, db->name, strlen(db->name));
	rql_strbuf_put(&sql, " AND system.main.lower(schema_name) = system.main.lower(");
	rql_strbuf_put_literal(&sql, schema, strlen(schema));
	rql_strbuf_put(&sql, ") AND system.main.lower(view_name) = system.main.lower(");
	rql_strbuf_put_literal(&sql, name, strlen(name));
	rql_strbuf_put(&sql, ")");
	rql_status status = rql_host_query_text(con, rql_strbuf_text(&sql), out, err);
	rql_host_disconnect(con);
	rql_strbuf_free(&sql);
	return status;
}

/* Was v's view dropped or replaced by plain SQL? Then its row goes, too. What cannot be asked now is as it was. */
static bool view_is_gone(struct rql_database *db, const struct rql_structure *v)
{
	struct rql_error ignored = {0};
	char *now = NULL;
	bool gone = rql_view_text(db, v->schema, v->name, &now, &ignored) == RQL_OK &&
	            (!now || (v->view_sql && strcmp(now, v->view_sql) != 0));
	/* When the row cannot be deleted now it is harmless: a definition without its view is passed over at opening. */
	if (gone && !db->read_only)
		(void)!rql_store_change(db, &(struct rql_store_change){.schema = v->schema, .name = v->name}, NULL, &ignored);
	rql_error_clear(&ignored);
	free(now);
	return gone;
}

static void sync_one(struct rql_database *db, struct rql_structure *v)
{
	if (v->kind == RQL_STRUCTURE_CUBE && view_is_gone(db, v)) {
		rql_catalog_remove(db->catalog, v->id);
		if (v->side_file)
			rql_side_forget(&db->side, v->side_file);
		return;
	}
	if (v->query && !rql_structure_fresh(db->catalog, v))
		check_binding(db, v);
}

void rql_structures_sync(struct rql_database *db)
{
	if (rql_catalog_structure_count(db->catalog) == 0)
		return;
	/* Not beside a CREATE or DROP of a structure, which is between DuckDB's catalog and ours. */
	if (pthread_mutex_trylock(&db->build_lock) != 0) {
		atomic_store(&db->sync_wanted, true);
		if (pthread_mutex_trylock(&db->build_lock) != 0) /* its holder may have looked at the flag just before */
			return;
		atomic_store(&db->sync_wanted, false);
	}
	struct rql_arena *arena = rql_arena_new();
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	if (arena && rql_catalog_structures(db->catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			sync_one(db, list[i]);
			rql_structure_release(list[i]);
		}
	}
	rql_arena_free(arena);
	pthread_mutex_unlock(&db->build_lock);
}
