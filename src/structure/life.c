/* The life of structures after their CREATE, whatever their kind: definitions bound after reopening, contents read from
 * side files or built again, and what plain SQL did to the tables and views under them. */
#include "structure/structure_internal.h"

#include <stdlib.h>
#include <string.h>

struct rql_structure *rql_structure_find(struct rql_structures *all, const char *schema, const char *name,
                                         enum rql_statement_kind statement)
{
	struct rql_structure *s = rql_catalog_find(all->catalog, all->name, schema, name);
	if (s && s->kind->statement != statement) {
		rql_structure_release(s);
		s = NULL;
	}
	return s;
}

/* ---- states ---- */
/* What rayql_auto_columns made is nobody's definition: it goes. */
static void invalidate(struct rql_structures *all, const struct rql_structure *old, const char *reason)
{
	if (old->automatic) {
		rql_catalog_remove(all->catalog, old->id);
		return;
	}
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return;
	rql_structure_clear(v);
	v->state = RQL_STATE_INVALID;
	v->side_file_valid = false;
	(void)rql_structure_set_text(&v->reason, reason);
	(void)rql_catalog_replace(all->catalog, old, v);
}

/* Clears the error. */
static void note_unused(struct rql_structure *v, struct rql_error *why)
{
	struct rql_strbuf note = {0};
	rql_strbuf_printf(&note, "its side file was not used: %s", rql_error_message(why));
	(void)rql_structure_set_text(&v->note, rql_strbuf_text(&note));
	rql_strbuf_free(&note);
	rql_error_clear(why);
}

/* From the side file of the session before, when nothing has moved since the database was opened. */
static bool load_side(struct rql_build_context *ctx, struct rql_structure *v)
{
	struct rql_structures *all = ctx->structures;
	if (!v->side_file_valid || !v->side_file)
		return false;
	for (uint32_t i = 0; i < v->table_count; i++) {
		if (rql_table_being_written(all->catalog, v->tables[i]) || rql_table_version(all->catalog, v->tables[i]) != 0)
			return false;
		v->versions[i] = 0;
	}
	struct rql_error why = {0};
	uint64_t start = rql_now_ns();
	if (rql_side_read(all, v, &why) != RQL_OK) {
		note_unused(v, &why);
		v->side_file_valid = false;
		return false;
	}
	v->state = RQL_STATE_READY;
	v->build_ms = (double)(rql_now_ns() - start) / 1e6;
	(void)rql_structure_set_text(&v->note, "read from its side file");
	rql_device_place(ctx, v);
	return true;
}

/* ---- indexes of columns that came back ---- */
/* A file of other rows is no failure of the file: what is made of these is made when it is needed. */
static void load_index(struct rql_structures *all, const struct rql_structure *s)
{
	struct rql_structure *v = rql_structure_clone(s);
	struct rql_error why = {0};
	if (!v)
		return;
	v->side_file_valid = false;
	if (rql_side_read(all, v, &why) == RQL_OK) {
		v->side_mark = v->kind->mark(all, v);
		(void)rql_structure_set_text(&v->note, "read from its side file");
	} else {
		note_unused(v, &why);
		(void)rql_structure_set_text(&v->side_file, NULL);
	}
	(void)rql_catalog_replace(all->catalog, s, v); /* takes it, also where somebody was faster */
}

static void load_indexes(struct rql_build_context *ctx, const struct rql_table *table)
{
	struct rql_structures *all = ctx->structures;
	struct rql_arena *arena = rql_arena_new();
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	if (arena && rql_catalog_structures(all->catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			bool wanted = list[i]->kind->mark && list[i]->side_file && list[i]->side_file_valid;
			struct rql_structure *s = wanted ? rql_structure_bound(ctx, list[i]) : NULL;
			if (s && s->side_file_valid && s->table_count == 1 && s->tables[0] == table)
				load_index(all, s);
			rql_structure_release(s);
			rql_structure_release(list[i]);
		}
	}
	rql_arena_free(arena);
}

rql_status rql_structure_publish(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err)
{
	const struct rql_table *table = s->reads == RQL_READS_STORE && s->table_count == 1 ? s->tables[0] : NULL;
	RQL_TRY(rql_catalog_publish(ctx->structures->catalog, s, err));
	if (table)
		load_indexes(ctx, table);
	return RQL_OK;
}

/* While a stale structure is rebuilt its old contents, which nobody may use, make room. */
static struct rql_structure *publish_building(struct rql_structures *all, struct rql_structure *old)
{
	if (rql_structure_fresh(all->catalog, old))
		return old;
	struct rql_structure *b = rql_structure_clone(old);
	if (!b)
		return old;
	rql_structure_clear(b);
	b->state = RQL_STATE_BUILDING;
	rql_structure_retain(b);
	if (!rql_catalog_replace(all->catalog, old, b)) {
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

static uint64_t epochs(const struct rql_structures *all)
{
	return atomic_load(all->settings_epoch) + rql_catalog_schema_epoch(all->catalog);
}

/* A build of v that failed: what was there before stays when it is fresh; else the reason is kept until something has
 * changed that may help. An interrupted one may be tried again at once. Takes v over, and makes no other: there may be no
 * memory for that, and `now`, which says that it is being built, must not stay. */
static void publish_failure(struct rql_structures *all, const struct rql_structure *now, struct rql_structure *v,
                            rql_status status, const char *message)
{
	if (now->state != RQL_STATE_BUILDING || now->automatic) {
		if (now->state == RQL_STATE_BUILDING) /* a later query may load it again */
			rql_catalog_remove(all->catalog, now->id);
		rql_structure_release(v);
		return;
	}
	bool again = status == RQL_ERROR_INTERRUPTED || status == RQL_ERROR_STALE;
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "it could not be rebuilt: %s%s", message,
	                  again                  ? ""
	                  : wants_memory(status) ? " (a query tries again when there is more room, or rows were deleted)"
	                                         : " (a query tries again when its tables, the schema or settings change)");
	rql_structure_clear(v);
	rql_side_replaced(&all->side, v->side_file);
	(void)rql_structure_set_text(&v->side_file, NULL);
	v->state = RQL_STATE_UNBUILT;
	v->side_file_valid = false;
	if (!again)
		v->failed = (struct rql_build_failure){.status = status,
		                                       .limit = atomic_load(&all->budget->limit),
		                                       .used = atomic_load(&all->budget->used),
		                                       .epochs = epochs(all)};
	(void)rql_structure_set_text(again ? &v->note : &v->reason, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	(void)rql_catalog_replace(all->catalog, now, v); /* takes it */
}

/* Rows that were only added need no less memory than before. */
static bool tables_changed(const struct rql_structures *all, const struct rql_structure *s)
{
	bool grown = wants_memory(s->failed.status), changed = false;
	for (uint32_t i = 0; i < s->table_count; i++)
		changed = changed || (rql_table_version(all->catalog, s->tables[i]) != s->versions[i] &&
		                      !(grown && rql_table_only_grew(all->catalog, s->tables[i], s->versions[i])));
	return changed;
}

/* Is there so much more room that another build is worth its time? Plans and answers come and go all the time. */
static bool has_more_room(const struct rql_structures *all, const struct rql_build_failure *f)
{
	uint64_t limit = atomic_load(&all->budget->limit), used = atomic_load(&all->budget->used);
	return (f->limit && (!limit || limit > f->limit)) || used + limit / 16 < f->used;
}

const char *rql_structure_build_failure(void *state, const struct rql_structure *s)
{
	const struct rql_structures *all = ((const struct rql_build_context *)state)->structures;
	if (s->state != RQL_STATE_UNBUILT || s->failed.status == RQL_OK || tables_changed(all, s))
		return NULL;
	if (wants_memory(s->failed.status) ? has_more_room(all, &s->failed)
	                                   : s->failed.epochs != epochs(all))
		return NULL;
	return s->reason ? s->reason : "its last build failed";
}

/* ---- making ---- */
rql_status rql_structure_create(struct rql_build_context *ctx, struct rql_structure *s,
                                const struct rql_structure *old, const char *sql, struct rql_error *err)
{
	struct rql_structures *all = ctx->structures;
	struct rql_definition_change change = {.sql = sql, .search_path = s->search_path, .put = s, .try_only = true};
	rql_status status = sql ? rql_definition_change(all, &change, &ctx->progress->cancel, err) : RQL_OK;
	if (status == RQL_OK)
		status = rql_structure_build(ctx, s, err);
	if (status == RQL_OK) /* once it is stored, it must get into the list */
		status = rql_catalog_reserve(all->catalog, err);
	if (status != RQL_OK)
		goto failed;
	rql_structure_save(all, s);
	change.try_only = false;
	status = rql_definition_change(all, &change, &ctx->progress->cancel, err);
	if (status != RQL_OK) {
		if (s->side_file)
			rql_side_forget(&all->side, s->side_file);
		goto failed;
	}
	if (s->kind->stored)
		s->kind->stored(all, s);
	if (old)
		rql_side_replaced(&all->side, old->side_file);
	s->id = old ? old->id : 0;
	rql_catalog_schema_changed(all->catalog);
	return rql_structure_publish(ctx, s, err);
failed:
	rql_structure_release(s);
	return status;
}


/* A new object of old's definition, bound anew. On failure old has become invalid, unless for want of memory. */
static rql_status bind_again(struct rql_structures *all, const struct rql_structure *old, struct rql_structure **out,
                             struct rql_error *err)
{
	if (!old->query || !old->statement)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "%s", old->reason ? old->reason : "no definition");
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return rql_error_memory(err, sizeof *v, "a structure");
	rql_status status = v->kind->bind(all, v, err);
	if (status == RQL_OK) {
		(void)rql_structure_set_text(&v->reason, NULL);
		v->failed = (struct rql_build_failure){0};
		*out = v;
		return RQL_OK;
	}
	rql_structure_release(v);
	if (status != RQL_ERROR_MEMORY)
		invalidate(all, old, rql_error_message(err));
	return status;
}

/* A query could not follow the table up to `version`. What was changed more than by appends is built again only where that
 * was asked for. */
static rql_status check_followed(struct rql_structures *all, const struct rql_structure *old, uint64_t version,
                                 struct rql_error *err)
{
	const struct rql_table *table = old->tables[0];
	if (rql_table_only_grew(all->catalog, table, old->versions[0]))
		return RQL_OK;
	if (rql_table_being_written(all->catalog, table) || rql_table_version(all->catalog, table) != version)
		return rql_error_set(err, RQL_ERROR_STALE, "another connection is writing to its table");
	rql_table_forget_changes(all->catalog, table);
	if (old->refresh == RQL_REFRESH_AUTO)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_STALE, "more than rows were added to its table; %s rebuilds it",
	                     old->kind->refresh);
}

/* *out: the extended structure, or NULL: it must be built again. user: REFRESH, so devices may try again. */
static rql_status extend(struct rql_build_context *ctx, const struct rql_structure *old, bool user,
                         struct rql_structure **out, struct rql_error *err)
{
	bool done = false;
	if (!old->kind->append || !rql_structure_appendable(ctx->structures->catalog, old))
		return RQL_OK;
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return rql_error_memory(err, sizeof *v, "a structure");
	if (user)
		rql_structure_forget_failures(v);
	rql_status status = old->kind->append(ctx, v, &done, err);
	if (status == RQL_OK && !done && !user)
		status = check_followed(ctx->structures, old, v->versions[0], err);
	if (status == RQL_OK && done)
		*out = v;
	else
		rql_structure_release(v);
	return status;
}

rql_status rql_structure_rebuild(struct rql_build_context *ctx, struct rql_structure *old, bool use_side,
                                 struct rql_error *err)
{
	struct rql_structures *all = ctx->structures;
	struct rql_structure *v = NULL;
	struct rql_error failed = {0};
	rql_status status = extend(ctx, old, !use_side, &v, &failed);
	if (status != RQL_OK)
		goto done;
	if (!v) {
		status = bind_again(all, old, &v, &failed);
		if (status != RQL_OK)
			goto done;
		if (!use_side || !load_side(ctx, v)) {
			rql_structure_clear(v);
			old = publish_building(all, old);
			ctx->drop_plans(ctx->session); /* they hold the old contents */
			status = rql_structure_build(ctx, v, &failed);
			if (status == RQL_OK) {
				rql_structure_save(all, v);
			} else {
				publish_failure(all, old, v, status, rql_error_message(&failed));
				v = NULL;
			}
		}
	}
	if (status == RQL_OK) {
		status = rql_structure_publish(ctx, v, &failed);
		v = NULL;
	}
done:
	rql_structure_release(v);
	rql_structure_release(old);
	rql_error_move(err, &failed);
	return status;
}

/* Why a query does not make v ready; NULL: it does. A REFRESH waits for writers, a query has the host to ask. */
static char *why_not_now(struct rql_build_context *ctx, const struct rql_structure *v)
{
	struct rql_catalog *catalog = ctx->structures->catalog;
	for (uint32_t i = 0; i < v->table_count; i++)
		if (rql_table_being_written(catalog, v->tables[i]))
			return strdup("another connection is writing to its tables");
	if (v->state == RQL_STATE_INVALID)
		return strdup(v->reason ? v->reason : "its definition is not valid");
	const char *failed = rql_structure_build_failure(ctx, v);
	if (failed)
		return strdup(failed);
	struct rql_strbuf why = {0};
	if (v->kind->append && v->state == RQL_STATE_READY && v->refresh == RQL_REFRESH_MANUAL &&
	    !rql_structure_fresh(catalog, v) && !rql_structure_appendable(catalog, v))
		rql_strbuf_printf(&why, "more than rows were added to its table; %s rebuilds it", v->kind->refresh);
	return why.length ? rql_strbuf_take(&why) : NULL;
}

rql_status rql_structure_make_ready(struct rql_build_context *ctx, const struct rql_structure *structure,
                                    struct rql_error *err)
{
	struct rql_structures *all = ctx->structures;
	RQL_TRY(rql_structures_lock(ctx, true, err));
	rql_status status = RQL_OK;
	struct rql_structure *v = rql_catalog_find_id(all->catalog, structure->id);
	char *why = v ? why_not_now(ctx, v) : strdup("it was dropped meanwhile");
	if (why || !v) {
		status = rql_error_set(err, RQL_ERROR_STALE, "%s", why ? why : "it was dropped meanwhile");
	} else if (!rql_structure_fresh(all->catalog, v)) {
		status = rql_structure_rebuild(ctx, v, true, err);
		v = NULL;
	}
	free(why);
	rql_structure_release(v);
	rql_structures_unlock(all);
	return status;
}

/* ---- definitions after reopening, and what plain SQL did to them ---- */
struct rql_structure *rql_structure_bound(void *state, struct rql_structure *structure)
{
	struct rql_structures *all = ((struct rql_build_context *)state)->structures;
	struct rql_error why = {0};
	if (structure->tables) {
		rql_structure_retain(structure);
		return structure;
	}
	if (structure->state == RQL_STATE_INVALID)
		return NULL;
	struct rql_structure *v = rql_structure_clone(structure);
	if (!v)
		return NULL;
	rql_status status = v->kind->bind(all, v, &why);
	if (status != RQL_OK) {
		rql_structure_release(v);
		if (status == RQL_ERROR_HOST || status == RQL_ERROR_STATEMENT)
			invalidate(all, structure, rql_error_message(&why));
		rql_error_clear(&why);
		return NULL;
	}
	rql_structure_retain(v);
	if (!rql_catalog_replace(all->catalog, structure, v)) { /* another session was first */
		rql_structure_release(v);
		v = rql_catalog_find_id(all->catalog, structure->id);
		if (v && !v->tables) {
			rql_structure_release(v);
			v = NULL;
		}
	}
	return v;
}

/* An index's key is another column of its table now. (Other kinds are bound again when they are built.) */
static bool binds_elsewhere(const struct rql_structure *before, const struct rql_structure *now)
{
	return now->reads == RQL_READS_INDEX &&
	       (!before->column_ids || before->tables[0] != now->tables[0] || before->column_ids[0] != now->column_ids[0]);
}

/* Does the definition still bind? An invalid one that does again may be built again. */
static void check_binding(struct rql_structures *all, const struct rql_structure *v)
{
	struct rql_error why = {0};
	struct rql_structure *again = rql_structure_clone(v);
	rql_status status = again ? v->kind->bind(all, again, &why) : RQL_ERROR_MEMORY;
	if (status == RQL_OK && (v->state == RQL_STATE_INVALID || binds_elsewhere(v, again))) {
		if (v->state == RQL_STATE_INVALID && v->reads != RQL_READS_INDEX)
			again->state = RQL_STATE_UNBUILT;
		(void)rql_structure_set_text(&again->reason, NULL);
		(void)rql_catalog_replace(all->catalog, v, again);
		again = NULL;
	} else if ((status == RQL_ERROR_HOST || status == RQL_ERROR_STATEMENT) && v->state != RQL_STATE_INVALID) {
		invalidate(all, v, rql_error_message(&why));
	}
	rql_structure_release(again);
	rql_error_clear(&why);
}

static void sync_one(struct rql_structures *all, struct rql_structure *v)
{
	if (v->kind->is_gone && v->kind->is_gone(all, v)) {
		const struct rql_definition_change change = {.schema = v->schema, .name = v->name};
		/* A row that cannot be deleted now is harmless: a definition without its view is passed over at opening. */
		if (!all->read_only)
			(void)!rql_definition_change(all, &change, NULL, NULL);
		rql_catalog_remove(all->catalog, v->id);
		if (v->side_file)
			rql_side_forget(&all->side, v->side_file);
		return;
	}
	if (v->query && (v->reads == RQL_READS_INDEX || !rql_structure_fresh(all->catalog, v)))
		check_binding(all, v);
}

void rql_structures_sync(struct rql_structures *all)
{
	if (rql_catalog_structure_count(all->catalog) == 0)
		return;
	/* Not beside a CREATE or DROP of a structure, which is between DuckDB's catalog and ours. */
	if (pthread_mutex_trylock(&all->build_lock) != 0) {
		atomic_store(&all->sync_wanted, true);
		if (pthread_mutex_trylock(&all->build_lock) != 0) /* its holder may have looked at the flag just before */
			return;
		atomic_store(&all->sync_wanted, false);
	}
	struct rql_arena *arena = rql_arena_new();
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	if (arena && rql_catalog_structures(all->catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			sync_one(all, list[i]);
			rql_structure_release(list[i]);
		}
	}
	rql_arena_free(arena);
	pthread_mutex_unlock(&all->build_lock);
}

/* ---- closing ---- */
uint32_t rql_structures_kept(struct rql_structures *all, struct rql_structure **list, uint32_t count,
                             struct rql_side_entry *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct rql_structure *s = list[i];
		bool usable = rql_structure_fresh(all->catalog, s);
		if (s->state == RQL_STATE_UNBUILT && s->side_file_valid) {
			/* Which tables it reads may not be known yet: then any write at all may have been to one of them. */
			usable = s->table_count ? true : rql_catalog_stamp(all->catalog) == RQL_FIRST_STAMP;
			for (uint32_t k = 0; k < s->table_count; k++)
				usable = usable && rql_table_version(all->catalog, s->tables[k]) == 0;
		}
		if (usable && s->side_file && s->definition_hash)
			out[n++] = (struct rql_side_entry){s->schema, s->name, s->side_file, s->definition_hash, NULL};
		else if (!s->side_file && s->side_missing && (usable || s->state == RQL_STATE_UNBUILT))
			out[n++] = (struct rql_side_entry){s->schema, s->name, NULL, NULL, s->side_missing};
	}
	return n;
}

/* Is there something of an index that its file does not have? */
static bool outgrew(struct rql_structures *all, const struct rql_structure *s)
{
	const uint64_t mark = s->state == RQL_STATE_READY && s->table_count ? s->kind->mark(all, s) : 0;
	return mark && (!s->side_file || s->side_file_valid || mark != s->side_mark);
}

void rql_structures_save_appended(struct rql_structures *all, struct rql_structure **list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->kind->append && !list[i]->side_file && rql_structure_fresh(all->catalog, list[i]))
			rql_structure_save(all, list[i]); /* nobody else has it any more */
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->kind->mark && outgrew(all, list[i]))
			rql_structure_save(all, list[i]);
}
