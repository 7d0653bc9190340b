/* rayql_auto_columns: the columns that queries use, loaded when a plan asks for them. One structure a table, which
 * belongs to nobody: it is not stored in the database, takes new columns by being built again with them, is brought
 * up to date by the next query that wants it, and is given up, the least recently used first, when another one needs
 * the memory. */
#include "structure/columns/columns.h"

#include "structure/structure_internal.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- loads that failed: not tried again before something has changed that may help ---- */
#define FAILURES 32u
struct rql_load_failure {
	char *key, *reason; /* key: the hash of the table and its columns; NULL: free */
	uint64_t version, limit, used;
};
struct rql_load_failures {
	struct rql_load_failure list[FAILURES];
	uint32_t next;
};

void rql_load_failures_free(struct rql_load_failures *failures)
{
	for (uint32_t i = 0; failures && i < FAILURES; i++) {
		free(failures->list[i].key);
		free(failures->list[i].reason);
	}
	free(failures);
}

static const char *known_failure(const struct rql_structures *all, const struct rql_structure *s)
{
	for (uint32_t i = 0; all->load_failures && i < FAILURES; i++) {
		const struct rql_load_failure *f = &all->load_failures->list[i];
		if (f->key && f->reason && strcmp(f->key, s->definition_hash) == 0 &&
		    f->version == rql_table_version(all->catalog, s->tables[0]) &&
		    f->limit == atomic_load(&all->budget->limit) && f->used <= atomic_load(&all->budget->used))
			return f->reason;
	}
	return NULL;
}

static void remember(struct rql_structures *all, const struct rql_structure *s, const char *reason)
{
	if (!all->load_failures && !(all->load_failures = calloc(1, sizeof *all->load_failures)))
		return; /* then it is tried again */
	struct rql_load_failure *f = &all->load_failures->list[all->load_failures->next++ % FAILURES];
	free(f->key);
	free(f->reason);
	*f = (struct rql_load_failure){.key = strdup(s->definition_hash),
	                               .reason = strdup(reason),
	                               .version = rql_table_version(all->catalog, s->tables[0]),
	                               .limit = atomic_load(&all->budget->limit),
	                               .used = atomic_load(&all->budget->used)};
}

/* ---- room ---- */
bool rql_columns_evict(struct rql_build_context *ctx, const struct rql_structure *keep)
{
	struct rql_structure **list = NULL, *oldest = NULL;
	struct rql_arena *arena = rql_arena_new();
	uint32_t count = 0;
	if (!arena || rql_catalog_structures(ctx->structures->catalog, arena, &list, &count, NULL) != RQL_OK)
		count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->automatic && list[i]->snapshot && (!keep || list[i]->id != keep->id) &&
		    (!oldest || atomic_load(&list[i]->used) < atomic_load(&oldest->used)))
			oldest = list[i];
	if (oldest)
		rql_catalog_remove(ctx->structures->catalog, oldest->id);
	for (uint32_t i = 0; i < count; i++)
		rql_structure_release(list[i]);
	rql_arena_free(arena);
	ctx->drop_plans(ctx->session); /* they hold what was given up */
	return oldest != NULL;
}

/* What the columns will take, roughly: a dictionary or a frame of reference halves most of them. */
static uint64_t estimate_bytes(const struct rql_columns_shape *shape, uint64_t rows)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < shape->count; i++) {
		unsigned width = rql_type_bytes(shape->types[i]);
		bytes += shape->types[i].id == RQL_TYPE_DOUBLE ? 8 : width > 4 ? 4 : width > 1 ? width / 2 : 1;
	}
	return bytes * rows;
}

static void make_room(struct rql_build_context *ctx, uint64_t bytes, const struct rql_structure *keep)
{
	const struct rql_budget *budget = ctx->structures->budget;
	uint64_t limit = atomic_load(&budget->limit);
	while (limit && bytes <= limit && atomic_load(&budget->used) > limit - bytes && rql_columns_evict(ctx, keep))
		;
}

/* ---- loading ---- */
struct load {
	struct rql_build_context *ctx;
	const struct rql_plan_load *wanted;
	struct rql_arena *arena;
	char *name, *table;        /* of the structure; of the table, qualified */
	struct rql_structure *old; /* what there is of the table already, or NULL */
};

/* The columns that are there and those that are wanted. */
static rql_status unite(const struct load *l, bool with_old, const char ***names, uint32_t *count,
                        struct rql_error *err)
{
	struct rql_statement st = {0};
	if (with_old && l->old)
		RQL_TRY(rql_statement_parse(l->arena, l->old->statement, &st, err));
	const char **all = RQL_NEW_ARRAY(l->arena, const char *, st.column_count + l->wanted->column_count + 1);
	uint32_t n = 0;
	if (!all)
		return rql_error_memory(err, 0, "columns");
	for (uint32_t i = 0; i < st.column_count; i++)
		all[n++] = st.columns[i];
	for (uint32_t i = 0; i < l->wanted->column_count; i++) {
		bool there = false;
		for (uint32_t k = 0; k < n && !there; k++)
			there = strcasecmp(all[k], l->wanted->column_names[i]) == 0;
		if (!there)
			all[n++] = l->wanted->column_names[i];
	}
	*names = all;
	*count = n;
	return RQL_OK;
}

static rql_status describe(const struct load *l, bool with_old, struct rql_columns_shape *shape,
                           struct rql_structure **out, struct rql_error *err)
{
	struct rql_structures *all = l->ctx->structures;
	const struct rql_structure_options options = {.refresh = RQL_REFRESH_AUTO};
	const char **names = NULL;
	uint32_t count = 0;
	RQL_TRY(unite(l, with_old, &names, &count, err));
	pthread_mutex_lock(&all->loader_lock);
	rql_status status = rql_host_hold_settings(all->loader, err);
	if (status == RQL_OK)
		status = rql_columns_shape_read(all->loader, l->table, count, names, l->arena, shape, err);
	pthread_mutex_unlock(&all->loader_lock);
	RQL_TRY(status);
	RQL_TRY(rql_columns_describe(all, &rql_structure_columns, l->name, false, shape, &options, out, err));
	(*out)->automatic = true;
	status = rql_columns_define(all, *out, shape, err);
	if (status != RQL_OK) {
		rql_structure_release(*out);
		*out = NULL;
	}
	return status;
}

/* Builds c, giving others up while the memory does not do. */
static rql_status build(const struct load *l, struct rql_structure *c, const struct rql_columns_shape *shape,
                        struct rql_error *err)
{
	struct rql_structures *all = l->ctx->structures;
	pthread_mutex_lock(&all->loader_lock);
	uint64_t rows = rql_build_estimate(c, all->loader);
	pthread_mutex_unlock(&all->loader_lock);
	make_room(l->ctx, estimate_bytes(shape, rows), l->old);
	c->id = l->old ? l->old->id : 0; /* it is not given up for itself */
	return rql_structure_build(l->ctx, c, err);
}

static rql_status publish(const struct load *l, struct rql_structure *c, struct rql_error *err)
{
	atomic_store(&c->used, rql_now_ns());
	return rql_structure_publish(l->ctx, c, err);
}

/* With what is there already, or (when that does not fit or is not there any more) without. */
static rql_status try_load(struct load *l, bool with_old, struct rql_error *err)
{
	struct rql_columns_shape shape;
	struct rql_structure *c = NULL;
	RQL_TRY(describe(l, with_old, &shape, &c, err));
	const char *failed = known_failure(l->ctx->structures, c);
	rql_status status = failed ? rql_error_set(err, RQL_ERROR_LIMIT, "%s", failed) : build(l, c, &shape, err);
	if (status == RQL_OK)
		return publish(l, c, err);
	if (!failed && status == RQL_ERROR_LIMIT)
		remember(l->ctx->structures, c, rql_error_message(err));
	rql_structure_release(c);
	return status;
}

static rql_status load_locked(struct load *l, struct rql_error *err)
{
	struct rql_build_context *ctx = l->ctx;
	struct rql_error first = {0};
	rql_status status = try_load(l, true, &first);
	if (status == RQL_OK || status == RQL_ERROR_INTERRUPTED || !l->old) {
		rql_error_move(err, &first);
		return status;
	}
	rql_error_clear(&first);
	rql_catalog_remove(ctx->structures->catalog, l->old->id);
	rql_structure_release(l->old);
	l->old = NULL;
	ctx->drop_plans(ctx->session);
	return try_load(l, false, err);
}

static rql_status prepare(struct load *l, struct rql_error *err)
{
	const struct rql_table_ref *table = &l->wanted->table;
	struct rql_strbuf text = {0};
	RQL_TRY(rql_columns_check_table(l->ctx->structures, table, err));
	rql_put_qualified(&text, l->ctx->structures->name, table->schema, table->table);
	l->table = text.failed ? NULL : rql_arena_strdup(l->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	l->name = rql_arena_printf(l->arena, "auto columns of %s", table->table);
	if (!l->table || !l->name)
		return rql_error_memory(err, 0, "columns");
	l->old = rql_structure_find(l->ctx->structures, table->schema, l->name, RQL_STATEMENT_CREATE_INDEX);
	if (!l->old || l->old->automatic)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_STATEMENT, "an index called \"%s\" is in the way; drop it", l->name);
}

rql_status rql_columns_load(struct rql_build_context *ctx, const struct rql_plan_load *load, struct rql_error *err)
{
	struct load l = {.ctx = ctx, .wanted = load};
	RQL_TRY(rql_structures_lock(ctx, true, err));
	l.arena = rql_arena_new();
	rql_status status = l.arena ? prepare(&l, err) : rql_error_memory(err, 0, "columns");
	if (status == RQL_OK)
		status = load_locked(&l, err);
	rql_structure_release(l.old);
	rql_arena_free(l.arena);
	rql_structures_unlock(ctx->structures);
	return status;
}
