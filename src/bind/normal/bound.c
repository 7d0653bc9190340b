/* Having a statement bound and read; comparing it with others of its shape. */
#include "bind/normal/bound.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* So many spaces stand before the text when it is bound: places of constants in views, macros and generated columns are
 * then hardly ever places of this text (struct rql_plan_source). Those of longer texts may be; but not twice, as the
 * number differs between two bindings. */
#define OFFSET_LEAST 4096u
#define OFFSET_MORE 4096u
/* Larger ones are not kept for other statements. */
#define BYTES_MOST (UINT64_C(128) << 10)

static uint32_t choose_offset(const struct rql_bound *bound)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)bound ^ rql_now_ns()) * 0xff51afd7ed558ccdu;
	return OFFSET_LEAST + (uint32_t)(mixed >> 40) % OFFSET_MORE;
}

static char *with_offset(const char *sql, uint32_t offset)
{
	size_t length = strlen(sql);
	char *text = malloc(offset + length + 1);
	if (text) {
		memset(text, ' ', offset);
		memcpy(text + offset, sql, length + 1);
	}
	return text;
}

static rql_status failed(struct rql_bound *bound, const char *what, struct rql_error *why, rql_status status,
                         struct rql_error *err)
{
	if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED) {
		rql_error_move(err, why);
		return status;
	}
	bound->root = NULL;
	bound->reason = rql_arena_printf(bound->arena, "its plan cannot be %s: %s", what, rql_error_message(why));
	rql_error_clear(why);
	return bound->reason ? RQL_OK : rql_error_memory(err, 0, "a plan");
}

/* The host's plan of the text behind spaces; of the text itself (*offset 0) where that fails, so that messages tell of
 * what the user has written. */
static rql_status ask_host(const struct rql_plan_context *ctx, const char *sql, uint32_t *offset, char **json,
                           struct rql_error *why)
{
	char *text = *offset ? with_offset(sql, *offset) : NULL;
	rql_status status = RQL_ERROR_UNSUPPORTED;
	if (text)
		status = rql_host_plan(ctx->host, text, json, why);
	free(text);
	if (status != RQL_ERROR_UNSUPPORTED)
		return status;
	rql_error_clear(why);
	*offset = 0;
	return rql_host_plan(ctx->host, sql, json, why);
}

static rql_status read_plan(const struct rql_plan_context *ctx, struct rql_bound *bound, const char *json, uint32_t offset,
                            struct rql_error *err)
{
	struct rql_plan_source source = {.literals = &bound->literals, .offset = offset};
	struct rql_error why = {0};
	struct rql_rel *root;
	enum rql_plan_dialect dialect = rql_plan_dialect_of(rql_host_library_version());
	rql_status status =
		rql_plan_read(bound->arena, dialect, json, strlen(json), offset ? &source : NULL, &root, &bound->facts, &why);
	if (status == RQL_OK && bound->facts.matches_rows && rql_host_collates_late(ctx->host))
		status = rql_error_set(&why, RQL_ERROR_UNSUPPORTED,
		                       "the setting default_collation is changed, which DuckDB's plans as JSON do not show where "
		                       "EXCEPT and INTERSECT apply it");
	if (status != RQL_OK)
		return failed(bound, "read", &why, status, err);
	bound->root = root;
	if (!offset || source.foreign || !bound->facts.tables_known || rql_rel_reason(root) ||
	    rql_arena_bytes(bound->arena) > BYTES_MOST)
		return RQL_OK;
	rql_plan_free_literals(root, &bound->literals, bound->free);
	rql_plan_point_literals(root, &bound->literals, bound->free, &bound->points);
	for (uint32_t i = 0; i < bound->literals.count; i++)
		bound->reusable |= bound->free[i];
	return RQL_OK;
}

static rql_status fill(const struct rql_plan_context *ctx, struct rql_bound *bound, const char *sql, struct rql_error *err)
{
	struct rql_error why = {0};
	char *json = NULL, *copy = rql_arena_strdup(bound->arena, sql);
	if (!copy)
		return rql_error_memory(err, strlen(sql), "a plan");
	bool known = rql_literals_read(bound->arena, copy, &bound->literals);
	bound->free = RQL_NEW_ARRAY(bound->arena, bool, bound->literals.count);
	bound->proven = RQL_NEW_ARRAY(bound->arena, bool, bound->literals.count);
	if (!bound->free || !bound->proven)
		return rql_error_memory(err, bound->literals.count, "a plan");
	uint32_t offset = known ? choose_offset(bound) : 0;
	rql_status status = ask_host(ctx, sql, &offset, &json, &why);
	if (status != RQL_OK)
		return failed(bound, "had", &why, status, err);
	status = read_plan(ctx, bound, json, offset, err);
	free(json);
	return status;
}

rql_status rql_bound_make(const struct rql_plan_context *ctx, const char *sql, struct rql_bound **out,
                          struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_bound *bound = arena ? RQL_NEW(arena, struct rql_bound) : NULL;
	if (!bound) {
		rql_arena_free(arena);
		return rql_error_memory(err, sizeof *bound, "a plan");
	}
	*bound = (struct rql_bound){.arena = arena, .references = 1, .reason = ""};
	rql_status status = fill(ctx, bound, sql, err);
	if (status != RQL_OK) {
		rql_bound_release(bound);
		return status;
	}
	*out = bound;
	return RQL_OK;
}

void rql_bound_retain(struct rql_bound *bound)
{
	bound->references++;
}

void rql_bound_release(struct rql_bound *bound)
{
	if (bound && --bound->references == 0)
		rql_arena_free(bound->arena);
}

/* All literals are equal but for those that may differ. */
static bool agrees(const struct rql_bound *bound, const struct rql_literals *literals, const bool *may_differ)
{
	const struct rql_literals *own = &bound->literals;
	if (own->shape_length != literals->shape_length || memcmp(own->shape, literals->shape, own->shape_length) != 0)
		return false;
	for (uint32_t i = 0; i < own->count; i++)
		if (!may_differ[i] && !rql_literal_equal(own, literals, i))
			return false;
	return true;
}

bool rql_bound_is_like(const struct rql_bound *bound, const struct rql_literals *literals)
{
	return agrees(bound, literals, bound->free);
}

bool rql_bound_serves(const struct rql_bound *bound, const struct rql_literals *literals)
{
	return agrees(bound, literals, bound->proven);
}

/* The plan with these values, written down. false: it cannot be, or there is no memory. */
static bool write_plan(struct rql_strbuf *out, const struct rql_bound *bound, const struct rql_literals *literals)
{
	struct rql_arena *arena = rql_arena_new();
	const struct rql_rel *root = arena ? rql_plan_with_literals(arena, bound->root, literals, bound->free, NULL) : NULL;
	bool done = root && rql_rel_print(out, root, NULL, NULL) && !out->failed;
	rql_arena_free(arena);
	return done;
}

bool rql_bound_learn(struct rql_bound *bound, const struct rql_bound *fresh)
{
	struct rql_strbuf mine = {0}, theirs = {0};
	bool same = write_plan(&mine, bound, &fresh->literals) && write_plan(&theirs, fresh, &fresh->literals) &&
	            mine.length == theirs.length && memcmp(mine.data, theirs.data, mine.length) == 0;
	rql_strbuf_free(&mine);
	rql_strbuf_free(&theirs);
	for (uint32_t i = 0; same && i < bound->literals.count; i++) {
		bound->free[i] = bound->free[i] && fresh->free[i];
		bound->proven[i] = bound->free[i] && (bound->proven[i] || !rql_literal_equal(&bound->literals, &fresh->literals, i));
	}
	return same;
}

/* A name holds the literal's text, whatever stands around it. */
static bool names_hold(const char *const *names, uint32_t count, const char *text, size_t length)
{
	for (uint32_t i = 0; i < count; i++)
		for (const char *at = names[i]; at && strlen(at) >= length; at++)
			if (strncasecmp(at, text, length) == 0)
				return true;
	return false;
}

void rql_bound_keep_names(struct rql_bound *bound, const char *const *names, uint32_t count)
{
	const struct rql_literals *l = &bound->literals;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct rql_literal *item = &l->items[i];
		bool string = item->value.type.id == RQL_TYPE_VARCHAR;
		const char *text = l->text + item->start + string; /* without its quotes */
		if (bound->free[i] && names_hold(names, count, text, item->length - 2 * (uint32_t)string))
			bound->free[i] = false;
	}
}
