/* Matching a block with a definition: its tables are mapped to the definition's, whose conditions it must imply, and
 * its other expressions are brought over the definition's dimensions. */
#include "bind/relation/match.h"

#include <string.h>

struct matching {
	struct rql_arena *arena;
	const struct rql_block *block;
	const struct rql_definition *def;
	uint32_t map[RQL_BLOCK_MAX_TABLES]; /* table of the block -> table of the definition */
	struct rql_error *err;
};

static rql_status no(struct matching *m, const char *fmt, const char *what)
{
	return rql_error_set(m->err, RQL_ERROR_UNSUPPORTED, fmt, what);
}

/* ---- base columns of the query in the definition's numbering ---- */

static struct rql_expr *map_table(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct matching *m = state;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	struct rql_expr *copy = rql_expr_new(arena, RQL_EXPR_COLUMN, e->type, 0);
	if (!copy)
		return NULL;
	copy->alias = e->alias;
	copy->table = m->map[e->table];
	copy->index = e->index;
	return copy;
}

/* Tables renumbered, columns replaced by the representatives of the definition's classes. */
static struct rql_expr *translate(struct matching *m, const struct rql_expr *e)
{
	struct rql_expr *mapped = rql_expr_transform(m->arena, e, map_table, m);
	return mapped ? rql_definition_represent(m->def, m->arena, mapped) : NULL;
}

/* ---- dimensions ---- */

struct dimension_search {
	const struct rql_definition *def;
	const char *missing;
	bool columns_only; /* not expressions that are dimensions */
};

static struct rql_expr *to_dimension(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	struct dimension_search *s = state;
	const struct rql_block *b = s->def->block;
	bool skip = s->columns_only && e->kind != RQL_EXPR_COLUMN;
	for (uint32_t d = 0; d < b->group_count && !skip; d++) {
		if (!rql_expr_equal(b->groups[d], e))
			continue;
		struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, e->type, 0);
		if (ref) {
			ref->index = d;
			ref->alias = s->def->dimension_names[d];
		}
		return ref;
	}
	if (e->kind == RQL_EXPR_COLUMN && !s->missing)
		s->missing = e->alias ? e->alias : "?";
	return NULL;
}

struct rql_expr *rql_over_dimensions(struct rql_arena *arena, const struct rql_definition *def,
                                     const struct rql_expr *expr, const char **missing)
{
	struct dimension_search search = {.def = def}, plain = {.def = def, .columns_only = true};
	struct rql_expr *e = rql_expr_transform(arena, expr, to_dimension, &search);
	uint32_t dimension;
	if (missing)
		*missing = search.missing;
	/* With dimensions d and year(d), `year(d) = 1993 OR d > x` reads two, or, written over the column alone, one. */
	if (e && rql_expr_refs(e, &dimension) > 1) {
		struct rql_expr *over_columns = rql_expr_transform(arena, expr, to_dimension, &plain);
		if (over_columns && rql_expr_refs(over_columns, &dimension) == 1)
			return over_columns;
	}
	return e;
}

/* ---- does the query imply a condition of the definition? ---- */

/* `a <op> x` with a constant that is no NULL */
static bool is_bound(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_COMPARE && e->children[1]->kind == RQL_EXPR_CONSTANT && !e->children[1]->value.is_null &&
	       e->name[0] != 'I'; /* not the IS [NOT] DISTINCT FROM forms */
}

static bool value_satisfies(const struct rql_value *value, const char *op, const struct rql_value *bound)
{
	return rql_comparison_holds(op, rql_value_compare(value, bound));
}

/* Every x with `x <op_a> a` also has `x <op_b> b`. */
static bool bound_implies(const char *op_a, const struct rql_value *a, const char *op_b, const struct rql_value *b)
{
	if (!strcmp(op_a, "="))
		return value_satisfies(a, op_b, b);
	int c = rql_value_compare(a, b);
	bool strict_a = op_a[1] == '\0', strict_b = op_b[1] == '\0';
	if (!strcmp(op_a, "<>"))
		return !strcmp(op_b, "<>") && c == 0;
	if (!strcmp(op_b, "<>")) /* x < a, and b lies outside */
		return op_a[0] == '<' ? c < 0 || (c == 0 && strict_a) : c > 0 || (c == 0 && strict_a);
	if (op_a[0] != op_b[0] || op_b[0] == '=')
		return false;
	if (c == 0)
		return strict_a || !strict_b;
	return op_a[0] == '<' ? c < 0 : c > 0;
}

/* An IN list all of whose members satisfy the bound. */
static bool list_implies(const struct rql_expr *in, const struct rql_expr *bound)
{
	for (uint32_t i = 1; i < in->child_count; i++) {
		const struct rql_expr *c = in->children[i];
		if (c->kind != RQL_EXPR_CONSTANT)
			return false;
		if (!c->value.is_null && !value_satisfies(&c->value, bound->name, &bound->children[1]->value))
			return false;
	}
	return true;
}

static bool in_list(const struct rql_value *value, const struct rql_expr *in)
{
	for (uint32_t i = 1; i < in->child_count; i++) {
		const struct rql_expr *c = in->children[i];
		if (c->kind == RQL_EXPR_CONSTANT && !c->value.is_null && rql_type_equal(c->type, value->type) &&
		    rql_value_compare(value, &c->value) == 0)
			return true;
	}
	return false;
}

static bool conjunct_implies(const struct rql_expr *q, const struct rql_expr *d)
{
	if (rql_expr_equal(q, d))
		return true;
	if (!q->child_count || !d->child_count || !rql_expr_equal(q->children[0], d->children[0]))
		return false;
	bool rejects_null = is_bound(q) || q->kind == RQL_EXPR_IN;
	if (d->kind == RQL_EXPR_IS_NOT_NULL)
		return rejects_null;
	if (is_bound(d) && is_bound(q) && rql_type_equal(q->children[1]->type, d->children[1]->type))
		return bound_implies(q->name, &q->children[1]->value, d->name, &d->children[1]->value);
	if (is_bound(d) && q->kind == RQL_EXPR_IN && rql_type_equal(q->children[1]->type, d->children[1]->type))
		return list_implies(q, d);
	if (d->kind != RQL_EXPR_IN)
		return false;
	if (is_bound(q) && !strcmp(q->name, "="))
		return in_list(&q->children[1]->value, d);
	if (q->kind != RQL_EXPR_IN)
		return false;
	for (uint32_t i = 1; i < q->child_count; i++)
		if (q->children[i]->kind != RQL_EXPR_CONSTANT || q->children[i]->value.is_null ||
		    !in_list(&q->children[i]->value, d))
			return false;
	return true;
}

/* ---- one assignment of tables ---- */

static rql_status check_joins(struct matching *m, struct rql_expr *const *conjuncts, uint32_t count)
{
	struct rql_column_pair *pairs;
	uint32_t n;
	if (!rql_column_classes(m->arena, conjuncts, count, &pairs, &n))
		return rql_error_memory(m->err, 0, "a plan");
	const struct rql_block *d = m->def->block;
	for (uint32_t i = 0; i < d->conjunct_count; i++) {
		if (!rql_expr_is_equijoin(d->conjuncts[i]))
			continue;
		const struct rql_expr *l = d->conjuncts[i]->children[0], *r = d->conjuncts[i]->children[1];
		struct rql_column_id a = rql_column_representative(pairs, n, (struct rql_column_id){l->table, l->index});
		struct rql_column_id b = rql_column_representative(pairs, n, (struct rql_column_id){r->table, r->index});
		if (a.table != b.table || a.index != b.index)
			return no(m, "it does not join on the view's column %s", l->alias ? l->alias : "");
	}
	return RQL_OK;
}

/* Equalities that the definition's own joins state; they hold for every row of the cube. */
static bool stated_by_joins(const struct matching *m, const struct rql_expr *e)
{
	if (!rql_expr_is_equijoin(e))
		return false;
	const struct rql_expr *l = e->children[0], *r = e->children[1];
	struct rql_column_id a =
		rql_column_representative(m->def->pairs, m->def->pair_count, (struct rql_column_id){l->table, l->index});
	struct rql_column_id b =
		rql_column_representative(m->def->pairs, m->def->pair_count, (struct rql_column_id){r->table, r->index});
	return a.table == b.table && a.index == b.index;
}

static rql_status translate_conjuncts(struct matching *m, struct rql_expr_list *out)
{
	struct rql_expr_list mapped = {0};
	for (uint32_t i = 0; i < m->block->conjunct_count; i++) {
		struct rql_expr *e = rql_expr_transform(m->arena, m->block->conjuncts[i], map_table, m);
		if (!e || !rql_conjuncts_add(m->arena, &mapped, e))
			return rql_error_memory(m->err, 0, "a plan");
	}
	RQL_TRY(check_joins(m, mapped.items, mapped.count));
	for (uint32_t i = 0; i < mapped.count; i++) {
		if (stated_by_joins(m, mapped.items[i]))
			continue;
		struct rql_expr *e = rql_definition_represent(m->def, m->arena, mapped.items[i]);
		if (!e || !rql_conjuncts_add(m->arena, out, e))
			return rql_error_memory(m->err, 0, "a plan");
	}
	return RQL_OK;
}

/* Drops from list what the definition states itself, after checking that the list implies all that it states. */
static rql_status check_conditions(struct matching *m, struct rql_expr_list *list)
{
	const struct rql_block *d = m->def->block;
	for (uint32_t i = 0; i < d->conjunct_count; i++) {
		if (rql_expr_is_equijoin(d->conjuncts[i]))
			continue;
		bool implied = false;
		for (uint32_t k = 0; k < list->count && !implied; k++)
			implied = conjunct_implies(list->items[k], d->conjuncts[i]);
		if (!implied) {
			struct rql_strbuf text = {0};
			rql_expr_describe(&text, d->conjuncts[i]);
			rql_status status = no(m, "it does not imply the view's condition %s", rql_strbuf_text(&text));
			rql_strbuf_free(&text);
			return status;
		}
	}
	uint32_t kept = 0;
	for (uint32_t k = 0; k < list->count; k++) {
		bool stated = false;
		for (uint32_t i = 0; i < d->conjunct_count && !stated; i++)
			stated = rql_expr_equal(list->items[k], d->conjuncts[i]);
		if (!stated)
			list->items[kept++] = list->items[k];
	}
	list->count = kept;
	return RQL_OK;
}

static rql_status over_dimensions(struct matching *m, const struct rql_expr *e, struct rql_expr **out)
{
	const char *missing = NULL;
	*out = rql_over_dimensions(m->arena, m->def, e, &missing);
	if (*out)
		return RQL_OK;
	return missing ? no(m, "column %s is no dimension of it", missing) : rql_error_memory(m->err, 0, "a plan");
}

static rql_status match_mapped(struct matching *m, struct rql_match **out)
{
	struct rql_expr_list conjuncts = {0};
	RQL_TRY(translate_conjuncts(m, &conjuncts));
	RQL_TRY(check_conditions(m, &conjuncts));
	struct rql_match *r = RQL_NEW(m->arena, struct rql_match);
	if (!r)
		return rql_error_memory(m->err, 0, "a plan");
	r->predicate_count = conjuncts.count;
	r->predicates = conjuncts.items;
	r->groups = RQL_NEW_ARRAY(m->arena, struct rql_expr *, m->block->group_count);
	r->aggs = RQL_NEW_ARRAY(m->arena, struct rql_expr *, m->block->agg_count);
	if (!r->groups || !r->aggs)
		return rql_error_memory(m->err, 0, "a plan");
	for (uint32_t i = 0; i < r->predicate_count; i++)
		RQL_TRY(over_dimensions(m, conjuncts.items[i], &r->predicates[i]));
	for (uint32_t i = 0; i < m->block->group_count; i++) {
		struct rql_expr *e = translate(m, m->block->groups[i]);
		if (!e)
			return rql_error_memory(m->err, 0, "a plan");
		RQL_TRY(over_dimensions(m, e, &r->groups[i]));
	}
	for (uint32_t i = 0; i < m->block->agg_count; i++)
		if (!(r->aggs[i] = translate(m, m->block->aggs[i])))
			return rql_error_memory(m->err, 0, "a plan");
	*out = r;
	return RQL_OK;
}

/* ---- assignments: by name; a table that is joined to itself can be assigned in several ways ---- */

#define MAX_ASSIGNMENTS 24u

static rql_status assign(struct matching *m, uint32_t table, uint32_t used, uint32_t *tries, struct rql_match **out)
{
	if (table == m->block->table_count) {
		++*tries;
		return match_mapped(m, out);
	}
	rql_status status = RQL_ERROR_UNSUPPORTED;
	bool found = false;
	for (uint32_t t = 0; t < m->def->block->table_count && status == RQL_ERROR_UNSUPPORTED && *tries < MAX_ASSIGNMENTS;
	     t++) {
		if ((used >> t & 1) || !rql_table_ref_same(&m->block->tables[table], &m->def->block->tables[t]))
			continue;
		found = true;
		m->map[table] = t;
		status = assign(m, table + 1, used | 1u << t, tries, out);
	}
	return found ? status : no(m, "it does not hold table %s", m->block->tables[table].table);
}

rql_status rql_match(struct rql_arena *arena, const struct rql_block *block, const struct rql_definition *def,
                     struct rql_match **out, struct rql_error *err)
{
	struct matching m = {.arena = arena, .block = block, .def = def, .err = err};
	if (block->side_count)
		return no(&m, "%s", "an outer, semi or anti join lies below the aggregate");
	if (block->table_count != def->block->table_count)
		return no(&m, "%s",
		          block->table_count < def->block->table_count ? "it joins tables that the query does not"
		                                                       : "the query joins tables that it does not");
	uint32_t tries = 0;
	rql_status status = assign(&m, 0, 0, &tries, out);
	if (status == RQL_OK)
		rql_error_clear(err); /* why an earlier assignment did not fit */
	return status;
}
