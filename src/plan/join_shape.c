/* Relations of a block, and the order in which they are joined: the largest is where it begins, then the smallest that an
 * equality leads to, so that what is joined stays small; outer, semi and anti joins at last. */
#include <string.h>

#include "plan/join.h"

static rql_status out_of_memory(struct rql_join_graph *g)
{
	return rql_error_memory(g->err, 0, "a plan");
}

static rql_status refuse(struct rql_join_graph *g, const char *why, const char *what)
{
	return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: %s%s", why, what);
}

/* ---- relations ---- */

static uint32_t relation_of(const struct rql_join_graph *g, uint32_t number)
{
	for (uint32_t r = 0; r < g->relation_count; r++)
		if (g->relations[r].number == number)
			return r;
	return RQL_NONE;
}

static rql_status find_structure(struct rql_join_graph *g, const struct rql_table_ref *table,
                                 struct rql_structure **out)
{
	bool refresh;
	for (uint32_t i = 0; i < g->p->structure_count; i++) {
		struct rql_structure *s = g->p->structures[i];
		if (s->reads != RQL_READS_STORE || !s->table_count || !rql_structure_is_of(s, table) ||
		    rql_leaf_unusable(g->p, s, &refresh) || !s->snapshot || !s->snapshot->blocks)
			continue;
		*out = s;
		return RQL_OK;
	}
	return refuse(g, "no columns are in memory of table ", table->table);
}

static rql_status add_groups(struct rql_join_graph *g, const struct rql_rel *rel, struct rql_join_relation *r)
{
	struct rql_block *block;
	struct rql_join_graph *below = RQL_NEW(g->p->arena, struct rql_join_graph);
	if (!below)
		return out_of_memory(g);
	RQL_TRY(rql_block_make_over(g->p->arena, rel, &block, g->err));
	if (!block->group_count)
		return refuse(g, "groups without a key lie below", "");
	*below = (struct rql_join_graph){.p = g->p, .block = block, .is_below = true, .err = g->err};
	r->groups = below;
	return rql_join_shape(below);
}

static rql_status add_table(struct rql_join_graph *g, uint32_t t)
{
	struct rql_join_relation *r = &g->relations[g->relation_count++];
	r->number = t;
	r->table = g->block->tables[t].table;
	if (g->block->derived && g->block->derived[t])
		return add_groups(g, g->block->derived[t], r);
	return find_structure(g, &g->block->tables[t], &r->structure);
}

static rql_status add_side(struct rql_join_graph *g, uint32_t i)
{
	const struct rql_block_side *side = &g->block->sides[i];
	struct rql_join_relation *r = &g->relations[g->relation_count++];
	struct rql_rows_block *rows;
	if (side->kind == RQL_SIDE_MARK)
		return refuse(g, "IN or EXISTS gives a value", "");
	if (side->single || side->open)
		return refuse(g, "a subquery's row must be the only one, or an outer join has further conditions", "");
	RQL_TRY(rql_block_make_rows_over(g->p->arena, side->rel, &rows, g->err));
	if (rows->block->table_count != 1 || rows->block->side_count || rows->order_count || rows->offset ||
	    rows->limit != UINT64_MAX)
		return refuse(g, "an outer, semi or anti join with more than a filtered table or filtered groups", "");
	*r = (struct rql_join_relation){.number = RQL_BLOCK_SIDE(i),
	                                .side = side,
	                                .table = rows->block->tables[0].table,
	                                .of_side = rows->block->groups,
	                                .conjuncts = {.count = rows->block->conjunct_count,
	                                              .capacity = rows->block->conjunct_count,
	                                              .items = rows->block->conjuncts}};
	if (rows->block->derived[0])
		return add_groups(g, rows->block->derived[0], r);
	return find_structure(g, &rows->block->tables[0], &r->structure);
}

/* ---- who reads what ---- */

#define READS_NOTHING (UINT32_MAX - 2)
#define READS_SEVERAL (UINT32_MAX - 3)

static bool note_reader(const struct rql_expr *leaf, void *state)
{
	uint32_t *who = state, number = leaf->kind == RQL_EXPR_COLUMN ? leaf->table : READS_SEVERAL;
	*who = *who == READS_NOTHING || *who == number ? number : READS_SEVERAL;
	return *who != READS_SEVERAL;
}

/* The table or side whose columns, and no other's, an expression reads. */
static uint32_t reader_of(const struct rql_expr *e)
{
	uint32_t who = READS_NOTHING;
	rql_expr_leaves(e, note_reader, &who);
	return who;
}

static struct rql_expr *to_own(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct rql_join_relation *r = state;
	if (e->kind == RQL_EXPR_REF)
		return r->side && e->index < r->side->rel->column_count ? r->of_side[e->index] : NULL;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	if (r->side)
		return e->index < r->side->rel->column_count ? r->of_side[e->index] : NULL;
	struct rql_expr *own = rql_expr_new(arena, RQL_EXPR_COLUMN, e->type, 0);
	if (own) {
		own->index = e->index;
		own->alias = e->alias;
	}
	return own;
}

/* An expression over the relation's columns in the block, or (keys of sides) over REFs, over its table's. */
static struct rql_expr *over_own(struct rql_join_graph *g, const struct rql_join_relation *r, const struct rql_expr *e)
{
	return rql_expr_transform(g->p->arena, e, to_own, (void *)(uintptr_t)r);
}

/* ---- steps ---- */

struct edge { /* an equality of columns of two tables */
	const struct rql_expr *e;
	bool used; /* in a key: no condition any more */
};

struct shaping {
	struct rql_join_graph *g;
	uint32_t edge_count;
	struct edge *edges;
	bool joined[RQL_JOIN_RELATIONS];
};

/* The end of an edge that is of this relation; NULL: neither, or both. */
static const struct rql_expr *end_of(const struct rql_join_graph *g, const struct edge *edge, uint32_t relation)
{
	const uint32_t number = g->relations[relation].number;
	const struct rql_expr *a = edge->e->children[0], *b = edge->e->children[1];
	return (a->table == number) == (b->table == number) ? NULL : a->table == number ? a : b;
}
static const struct rql_expr *other_end(const struct edge *edge, const struct rql_expr *end)
{
	return edge->e->children[edge->e->children[0] == end];
}

/* The joined relation that most of its edges lead to; RQL_NONE: no edge does. */
static uint32_t owner_for(const struct shaping *s, uint32_t relation)
{
	uint32_t best = RQL_NONE, most = 0;
	for (uint32_t r = 0; r < s->g->relation_count; r++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < s->edge_count && s->joined[r]; i++) {
			const struct rql_expr *end = end_of(s->g, &s->edges[i], relation);
			count += end && other_end(&s->edges[i], end)->table == s->g->relations[r].number;
		}
		if (count > most) {
			best = r;
			most = count;
		}
	}
	return best;
}

static rql_status add_key(struct rql_join_graph *g, struct rql_join_step *step, const struct rql_expr *outer,
                          const struct rql_expr *inner, bool null_safe)
{
	struct rql_join_key *key = &step->keys[step->key_count++];
	*key = (struct rql_join_key){.outer = over_own(g, &g->relations[step->owner], outer),
	                             .inner = over_own(g, &g->relations[step->relation], inner),
	                             .null_safe = null_safe};
	return key->outer && key->inner ? RQL_OK : out_of_memory(g);
}

static rql_status join_table(struct shaping *s, uint32_t relation)
{
	struct rql_join_graph *g = s->g;
	struct rql_join_step *step = &g->steps[g->step_count++];
	*step = (struct rql_join_step){.relation = relation, .kind = RQL_LOOKUP_INNER, .owner = owner_for(s, relation)};
	for (uint32_t i = 0; i < s->edge_count && step->key_count < RQL_JOIN_KEYS; i++) {
		const struct rql_expr *end = end_of(g, &s->edges[i], relation);
		if (!end || other_end(&s->edges[i], end)->table != g->relations[step->owner].number)
			continue;
		s->edges[i].used = true;
		RQL_TRY(add_key(g, step, other_end(&s->edges[i], end), end, false));
	}
	s->joined[relation] = true;
	return RQL_OK;
}

static rql_status join_side(struct shaping *s, uint32_t relation)
{
	static const enum rql_lookup_kind kinds[] = {[RQL_SIDE_LEFT] = RQL_LOOKUP_LEFT,
	                                             [RQL_SIDE_SEMI] = RQL_LOOKUP_SEMI,
	                                             [RQL_SIDE_ANTI] = RQL_LOOKUP_ANTI};
	struct rql_join_graph *g = s->g;
	const struct rql_block_side *side = g->relations[relation].side;
	struct rql_join_step *step = &g->steps[g->step_count++];
	*step = (struct rql_join_step){.relation = relation, .kind = kinds[side->kind], .not_in = side->not_in};
	for (uint32_t k = 0; k < side->key_count; k++) {
		uint32_t owner = relation_of(g, reader_of(side->keys[k].outer));
		if (owner == RQL_NONE || !s->joined[owner] || (k && owner != step->owner))
			return refuse(g, "an outer, semi or anti join by columns of several tables", "");
		/* It is made before rows of NULLs are: they must have no match, as 0 has none. */
		if (g->relations[owner].side && (side->not_in || side->keys[k].null_safe || side->keys[k].outer->kind != RQL_EXPR_COLUMN))
			return refuse(g, "a join by an outer join's columns of which NULL may have a match", "");
		step->owner = owner;
		RQL_TRY(add_key(g, step, side->keys[k].outer, side->keys[k].inner, side->keys[k].null_safe));
	}
	s->joined[relation] = true;
	return RQL_OK;
}

static uint64_t rows_of(const struct rql_join_graph *g, uint32_t relation)
{
	return rql_join_rows(&g->relations[relation]);
}

static rql_status order_tables(struct shaping *s)
{
	struct rql_join_graph *g = s->g;
	for (uint32_t r = 1; r < g->block->table_count; r++)
		if (rows_of(g, r) > rows_of(g, g->first))
			g->first = r;
	s->joined[g->first] = true;
	for (uint32_t n = 1; n < g->block->table_count; n++) {
		uint32_t next = RQL_NONE;
		for (uint32_t r = 0; r < g->block->table_count; r++)
			if (!s->joined[r] && owner_for(s, r) != RQL_NONE && (next == RQL_NONE || rows_of(g, r) < rows_of(g, next)))
				next = r;
		if (next == RQL_NONE)
			return refuse(g, "no equality leads to all tables", "");
		RQL_TRY(join_table(s, next));
	}
	return RQL_OK;
}

/* ---- conditions ---- */

static rql_status sort_conditions(struct shaping *s)
{
	struct rql_join_graph *g = s->g;
	s->edges = RQL_NEW_ARRAY(g->p->arena, struct edge, g->block->conjunct_count);
	if (!s->edges)
		return out_of_memory(g);
	for (uint32_t i = 0; i < g->block->conjunct_count; i++) {
		const struct rql_expr *e = g->block->conjuncts[i];
		uint32_t r = relation_of(g, reader_of(e));
		if (rql_expr_is_equijoin(e) && e->children[0]->table != e->children[1]->table) {
			s->edges[s->edge_count++].e = e;
		} else if (r != RQL_NONE && !g->relations[r].side) {
			struct rql_expr *own = over_own(g, &g->relations[r], e);
			if (!own || !rql_expr_list_add(g->p->arena, &g->relations[r].conjuncts, own))
				return out_of_memory(g);
		}
	}
	return RQL_OK;
}

/* What no key and no relation says. */
static rql_status leave_rest(struct shaping *s)
{
	struct rql_join_graph *g = s->g;
	struct rql_expr_list rest = {0};
	for (uint32_t i = 0; i < g->block->conjunct_count; i++) {
		struct rql_expr *e = g->block->conjuncts[i];
		uint32_t r = relation_of(g, reader_of(e));
		bool said = r != RQL_NONE && !g->relations[r].side;
		for (uint32_t k = 0; k < s->edge_count; k++)
			said |= s->edges[k].e == e && s->edges[k].used;
		if (!said && !rql_expr_list_add(g->p->arena, &rest, e))
			return out_of_memory(g);
	}
	g->above.conjunct_count = rest.count;
	g->above.conjuncts = rest.items;
	return RQL_OK;
}

/* ---- what is read above ---- */

static bool note_column(const struct rql_expr *leaf, void *state)
{
	struct rql_join_graph *g = state;
	uint32_t at = relation_of(g, leaf->table);
	struct rql_join_relation *r = at == RQL_NONE ? NULL : &g->relations[at];
	if (!r || leaf->kind != RQL_EXPR_COLUMN)
		return false;
	for (uint32_t i = 0; i < r->columns.count; i++)
		if (r->columns.items[i]->index == leaf->index)
			return true;
	struct rql_expr *own = over_own(g, r, leaf);
	return own && rql_expr_list_add(g->p->arena, &r->columns, (struct rql_expr *)(uintptr_t)leaf) &&
	       rql_expr_list_add(g->p->arena, &r->outputs, own);
}

static bool collect_columns(struct rql_join_graph *g)
{
	bool ok = true;
	for (uint32_t i = 0; i < g->above.conjunct_count; i++)
		ok = ok && rql_expr_leaves(g->above.conjuncts[i], note_column, g);
	for (uint32_t i = 0; i < g->above.group_count; i++)
		ok = ok && rql_expr_leaves(g->above.groups[i], note_column, g);
	for (uint32_t i = 0; i < g->above.agg_count; i++)
		ok = ok && rql_expr_leaves(g->above.aggs[i], note_column, g);
	return ok;
}

rql_status rql_join_shape(struct rql_join_graph *g)
{
	const struct rql_block *block = g->block;
	struct shaping s = {.g = g};
	for (uint32_t t = 0; t < block->table_count; t++)
		RQL_TRY(add_table(g, t));
	for (uint32_t i = 0; i < block->side_count; i++)
		RQL_TRY(add_side(g, i));
	if (g->relation_count < 2 && !g->is_below && !g->relations[0].groups)
		return refuse(g, "there is nothing to join", "");
	g->above = (struct rql_block){.group_count = block->group_count,
	                              .groups = block->groups,
	                              .agg_count = block->agg_count,
	                              .aggs = block->aggs};
	RQL_TRY(sort_conditions(&s));
	RQL_TRY(order_tables(&s));
	for (uint32_t r = block->table_count; r < g->relation_count; r++)
		RQL_TRY(join_side(&s, r));
	RQL_TRY(leave_rest(&s));
	return collect_columns(g) ? RQL_OK : refuse(g, "an expression reads what is no column", "");
}
