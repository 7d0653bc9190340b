/* Constant folding. RayQL evaluates what its own programs know; the rest goes to the host as one SELECT of TRY(...)s on the
 * user's connection, under the statement's own settings, and an error there neither shows nor ends a transaction. */
#include <string.h>
#include "bind/normal/evaluate.h"
#include "bind/normal/normal.h"
#include "bind/normal/stability.h"

struct folding {
	const struct rql_plan_context *ctx;
	struct rql_arena *arena;
	struct rql_error *err;
	rql_status status;
	bool for_host; /* what RayQL cannot evaluate is noted */
	struct rql_expr_list pending; /* what the host is to evaluate */
};

/* What a subtree is: of columns, without columns but for the host to evaluate, or a constant. */
enum folded { OF_COLUMNS, FOR_HOST, CONSTANT };

static enum folded fold(struct folding *f, struct rql_expr **slot);

/* In place: whoever points to e has the constant. */
static void become_constant(struct rql_expr *e, const struct rql_value *value)
{
	*e = (struct rql_expr){.kind = RQL_EXPR_CONSTANT, .type = value->type, .alias = e->alias, .value = *value};
}

static void note_pending(struct folding *f, struct rql_expr *e)
{
	if (!f->for_host || f->status != RQL_OK)
		return;
	if (!rql_expr_list_add(f->arena, &f->pending, e))
		f->status = rql_error_memory(f->err, 0, "a plan");
}

/* ---- what RayQL evaluates itself ---- */

/* The cast of a constant. */
static bool cast_constant(const struct rql_expr *e, struct rql_value *out)
{
	const struct rql_value *from = &e->children[0]->value;
	if (from->is_null) {
		*out = rql_value_null(e->type);
		return true;
	}
	return from->type.id == RQL_TYPE_VARCHAR && rql_plan_fold_text(from, e->type, out);
}

/* ---- logic ---- */

static bool is_bool(const struct rql_expr *e, bool value)
{
	return e->kind == RQL_EXPR_CONSTANT && e->type.id == RQL_TYPE_BOOLEAN && !e->value.is_null &&
	       (e->value.integer != 0) == value;
}

/* AND without what is true, OR without what is false; one that is false (true) decides. */
static void fold_logic(struct folding *f, struct rql_expr **slot)
{
	struct rql_expr *e = *slot;
	bool and = e->kind == RQL_EXPR_AND;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < e->child_count; i++) {
		if (is_bool(e->children[i], !and)) {
			*slot = e->children[i];
			return;
		}
		if (!is_bool(e->children[i], and))
			e->children[kept++] = e->children[i];
	}
	e->child_count = kept;
	if (kept == 1)
		*slot = e->children[0];
	else if (kept == 0 && !(*slot = rql_expr_bool(f->arena, and)))
		f->status = rql_error_memory(f->err, 0, "a plan");
}

/* CASE without what is never chosen. */
static void fold_case(struct rql_expr **slot)
{
	struct rql_expr *e = *slot;
	uint32_t kept = 0, i = 0;
	for (; i + 1 < e->child_count; i += 2) {
		const struct rql_expr *when = e->children[i];
		if (is_bool(when, false) || (when->kind == RQL_EXPR_CONSTANT && when->value.is_null))
			continue;
		if (is_bool(when, true)) {
			e->children[kept++] = e->children[i + 1];
			goto decided;
		}
		e->children[kept++] = e->children[i];
		e->children[kept++] = e->children[i + 1];
	}
	if (i < e->child_count)
		e->children[kept++] = e->children[i];
decided:
	e->child_count = kept;
	if (kept == 1 && rql_type_equal(e->children[0]->type, e->type))
		*slot = e->children[0];
}

/* ---- a node ---- */

static bool may_evaluate(struct folding *f, const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_FUNCTION)
		return e->kind >= RQL_EXPR_CAST && e->kind <= RQL_EXPR_COALESCE;
	enum rql_stability s = rql_function_stability(f->ctx->planner, e->name);
	return s != RQL_VOLATILE && strcmp(e->name, "error") != 0;
}

static enum folded fold_children(struct folding *f, struct rql_expr *e)
{
	enum folded worst = CONSTANT;
	enum folded each[64];
	bool few = e->child_count <= sizeof each / sizeof *each;
	for (uint32_t i = 0; i < e->child_count && f->status == RQL_OK; i++) {
		enum folded one = fold(f, &e->children[i]);
		worst = one < worst ? one : worst;
		if (few)
			each[i] = one;
		else if (one == FOR_HOST)
			note_pending(f, e->children[i]);
	}
	if (few && (worst == OF_COLUMNS || !may_evaluate(f, e)))
		for (uint32_t i = 0; i < e->child_count; i++)
			if (each[i] == FOR_HOST)
				note_pending(f, e->children[i]);
	return few || worst != FOR_HOST ? worst : OF_COLUMNS;
}

/* The literal that the cast is of, where the cast of any other value of it would be that value's integer, too: a cast to
 * fewer integers fails for some. */
static uint32_t stays_literal(const struct rql_expr *e, const struct rql_value *value)
{
	const struct rql_expr *from = e->kind == RQL_EXPR_CAST ? e->children[0] : NULL;
	if (!from || value->is_null)
		return 0;
	if (!rql_type_widens(from->type, e->type) && from->type.id != RQL_TYPE_VARCHAR)
		return 0;
	return from->literal;
}

/* Without columns: evaluated here, or by the host. */
static enum folded evaluate(struct folding *f, struct rql_expr *e, bool constants)
{
	struct rql_value value;
	bool plain = e->kind != RQL_EXPR_FUNCTION || e->child_count; /* current_date() has no form as a program */
	if (!constants || !plain || !((e->kind == RQL_EXPR_CAST && cast_constant(e, &value)) ||
	                             rql_plan_fold_call(e, &value) || rql_evaluate_constant(f->arena, e, &value)))
		return FOR_HOST;
	const uint32_t literal = stays_literal(e, &value);
	become_constant(e, &value);
	e->literal = literal;
	return CONSTANT;
}

static enum folded fold(struct folding *f, struct rql_expr **slot)
{
	struct rql_expr *e = *slot;
	if (e->kind == RQL_EXPR_CONSTANT)
		return CONSTANT;
	if (e->kind == RQL_EXPR_REF || e->kind == RQL_EXPR_COLUMN || e->kind == RQL_EXPR_OPAQUE || e->kind == RQL_EXPR_WINDOW)
		return OF_COLUMNS;
	enum folded children = fold_children(f, e);
	if (f->status != RQL_OK)
		return OF_COLUMNS;
	if (e->kind == RQL_EXPR_AGGREGATE) {
		if (e->filter && fold(f, &e->filter) == FOR_HOST)
			note_pending(f, e->filter);
		return OF_COLUMNS;
	}
	if (e->kind == RQL_EXPR_CAST && rql_type_equal(e->type, e->children[0]->type)) {
		if (!e->children[0]->alias)
			e->children[0]->alias = e->alias;
		*slot = e->children[0];
		return children;
	}
	if (e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR)
		fold_logic(f, slot);
	else if (e->kind == RQL_EXPR_CASE)
		fold_case(slot);
	if (*slot != e && f->status == RQL_OK) {
		if (!(*slot)->alias)
			(*slot)->alias = e->alias;
		return (*slot)->kind == RQL_EXPR_CONSTANT ? CONSTANT : children;
	}
	return children != OF_COLUMNS && may_evaluate(f, e) ? evaluate(f, e, children == CONSTANT) : OF_COLUMNS;
}

static void fold_top(struct folding *f, struct rql_expr **slot)
{
	if (f->status == RQL_OK && *slot && fold(f, slot) == FOR_HOST)
		note_pending(f, *slot);
}

static void fold_rel(struct folding *f, struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->expr_count; i++)
		fold_top(f, &rel->exprs[i]);
	for (uint32_t i = 0; i < rel->order_count; i++)
		fold_top(f, &rel->orders[i].expr);
	for (uint32_t i = 0; i < rel->child_count; i++)
		fold_rel(f, rel->children[i]);
}

/* ---- the host's part ---- */

static void no_ref(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)out;
	(void)index;
	(void)state;
}

/* SELECT TRY(a), TRY(b), or without TRY. Leaves in the list only what can be written. */
static bool print_pending(struct folding *f, const char *begin, const char *end, struct rql_strbuf *sql)
{
	struct rql_expr_list *list = &f->pending;
	uint32_t kept = 0;
	rql_strbuf_put(sql, "SELECT ");
	for (uint32_t i = 0; i < list->count; i++) {
		struct rql_strbuf one = {0};
		if (rql_expr_print(&one, list->items[i], no_ref, NULL) && !one.failed) {
			rql_strbuf_printf(sql, "%s%s%s%s", kept ? ", " : "", begin, rql_strbuf_text(&one), end);
			list->items[kept++] = list->items[i];
		}
		rql_strbuf_free(&one);
	}
	list->count = kept;
	return kept != 0 && !sql->failed;
}

/* Leaves in the list what is NULL. */
static void take_values(struct folding *f, const struct rql_batch *batch)
{
	struct rql_expr_list *list = &f->pending;
	uint32_t kept = 0;
	if (batch->rows != 1 || batch->column_count != list->count)
		return;
	for (uint32_t i = 0; i < list->count; i++) {
		struct rql_expr *e = list->items[i];
		const struct rql_column *column = &batch->columns[i];
		if (!rql_type_equal(column->type, e->type) || !rql_type_bytes(column->type))
			continue;
		if (!rql_column_valid(column, 0)) {
			list->items[kept++] = e;
			continue;
		}
		struct rql_value seen = rql_column_get(column, 0), value = rql_value_copy(f->arena, &seen);
		if (value.is_null) { /* the copy was not made */
			f->status = rql_error_memory(f->err, 0, "a plan");
			return;
		}
		value.type = e->type; /* its info lives in the plan's arena */
		become_constant(e, &value);
	}
	list->count = kept;
}

static rql_status ask(struct folding *f, const char *sql, struct rql_error *err)
{
	struct rql_host_result *result = NULL;
	struct rql_batch *batch = NULL;
	rql_status status = rql_host_query(f->ctx->host, sql, &result, err);
	if (status == RQL_OK)
		status = rql_host_fetch(result, &batch, err);
	if (status == RQL_OK && batch)
		take_values(f, batch);
	rql_batch_release(batch);
	rql_host_result_free(result);
	return status;
}

/* What TRY finds NULL is NULL, or fails: asked once more without TRY, but where an error would end a transaction. A plan
 * with a constant that fails is the host's: it may never be evaluated there, or end the statement. */
static void ask_host(struct folding *f)
{
	struct rql_strbuf tried = {0}, plain = {0};
	struct rql_error why = {0};
	rql_status status = RQL_OK;
	if (print_pending(f, "TRY(", ")", &tried))
		status = ask(f, rql_strbuf_text(&tried), &why);
	if (status == RQL_OK && f->status == RQL_OK && print_pending(f, "", "", &plain)) {
		status = f->ctx->snapshot_stamp ? RQL_ERROR_HOST : ask(f, rql_strbuf_text(&plain), &why);
		for (uint32_t i = 0; i < f->pending.count && status == RQL_OK; i++) {
			struct rql_value null = rql_value_null(f->pending.items[i]->type);
			become_constant(f->pending.items[i], &null);
		}
		if (status == RQL_ERROR_HOST)
			f->status = rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "an expression of constants fails, or is NULL");
	}
	rql_strbuf_free(&tried);
	rql_strbuf_free(&plain);
	if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED) {
		f->status = status;
		rql_error_move(f->err, &why);
	}
	rql_error_clear(&why);
}

rql_status rql_plan_fold(const struct rql_plan_context *ctx, struct rql_arena *arena, struct rql_rel *root, bool by_host,
                         struct rql_error *err)
{
	struct folding f = {.ctx = ctx, .arena = arena, .err = err, .for_host = by_host};
	fold_rel(&f, root);
	if (f.status == RQL_OK && f.pending.count) {
		ask_host(&f);
		f.for_host = false;
		if (f.status == RQL_OK)
			fold_rel(&f, root); /* what the host's constants decide */
	}
	return f.status;
}
