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
	if (side->single)
		return refuse(g, "a subquery's row must be the only one", "");
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

/* May it be computed before the rows are joined? Of an outer join's side there are then no rows of NULLs yet, whose columns
 * become NULL as they are; of an IN there is a mark only. */
static bool is_there_before(const struct rql_join_graph *g, uint32_t relation, const struct rql_expr *e)
{
	const struct rql_block_side *side = g->relations[relation].side;
	return !side || (side->kind == RQL_SIDE_LEFT && e->kind == RQL_EXPR_COLUMN);
}

static bool find_test(const char *name, bool flip, enum rql_pair_test *out)
{
	static const struct {
		const char *name;
		enum rql_pair_test test, flipped;
	} tests[] = {{"=", RQL_PAIR_EQ, RQL_PAIR_EQ},  {"<>", RQL_PAIR_NE, RQL_PAIR_NE}, {"<", RQL_PAIR_LT, RQL_PAIR_GT},
	             {">", RQL_PAIR_GT, RQL_PAIR_LT}, {"<=", RQL_PAIR_LE, RQL_PAIR_GE}, {">=", RQL_PAIR_GE, RQL_PAIR_LE}};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (!strcmp(tests[i].name, name)) {
			*out = flip ? tests[i].flipped : tests[i].test;
			return true;
		}
	return false;
}

/* A condition of a side: a comparison of a value of it with one of a relation before, or a condition over one of those. */
static rql_status add_condition(struct shaping *s, struct rql_join_step *step, const struct rql_expr *e)
{
	struct rql_join_graph *g = s->g;
	const struct rql_join_relation *own = &g->relations[step->relation];
	struct rql_join_test_of *c = &step->conditions[step->condition_count];
	const struct rql_expr *outer = e, *inner = NULL;
	if (step->condition_count == RQL_PAIR_CONDITIONS)
		return refuse(g, "an outer, semi or anti join has more than 4 conditions beyond its keys", "");
	if (reader_of(e) == READS_SEVERAL) {
		if (e->kind != RQL_EXPR_COMPARE)
			return refuse(g, "a condition beyond the keys is no comparison of a column of each side", "");
		bool flip = reader_of(e->children[0]) == own->number;
		inner = e->children[!flip];
		outer = e->children[flip];
		if (reader_of(inner) != own->number || !find_test(e->name, flip, &c->test))
			return refuse(g, "a condition beyond the keys is no comparison of a column of each side", "");
	}
	c->relation = relation_of(g, reader_of(outer));
	if (c->relation == RQL_NONE || !s->joined[c->relation] || !is_there_before(g, c->relation, outer))
		return refuse(g, "a condition beyond the keys reads several tables, or what an outer join gives", "");
	c->outer = over_own(g, &g->relations[c->relation], outer);
	c->inner = inner ? over_own(g, own, inner) : NULL;
	step->condition_count++;
	return c->outer && (!inner || c->inner) ? RQL_OK : out_of_memory(g);
}

static rql_status join_side(struct shaping *s, uint32_t relation)
{
	static const enum rql_lookup_kind kinds[] = {[RQL_SIDE_LEFT] = RQL_LOOKUP_LEFT,
	                                             [RQL_SIDE_SEMI] = RQL_LOOKUP_SEMI,
	                                             [RQL_SIDE_ANTI] = RQL_LOOKUP_ANTI,
	                                             [RQL_SIDE_MARK] = RQL_LOOKUP_LEFT};
	struct rql_join_graph *g = s->g;
	const struct rql_block_side *side = g->relations[relation].side;
	struct rql_join_step *step = &g->steps[g->step_count++];
	*step = (struct rql_join_step){.relation = relation,
	                               .kind = kinds[side->kind],
	                               .not_in = side->not_in,
	                               .mark = side->kind == RQL_SIDE_MARK};
	for (uint32_t k = 0; k < side->key_count; k++) {
		uint32_t owner = relation_of(g, reader_of(side->keys[k].outer));
		if (owner == RQL_NONE || !s->joined[owner] || (k && owner != step->owner))
			return refuse(g, "an outer, semi or anti join by columns of several tables", "");
		/* 0 has no match. */
		if (g->relations[owner].side &&
		    (side->keys[k].null_safe || !is_there_before(g, owner, side->keys[k].outer)))
			return refuse(g, "a join by an outer join's columns of which NULL may have a match", "");
		step->owner = owner;
		RQL_TRY(add_key(g, step, side->keys[k].outer, side->keys[k].inner, side->keys[k].null_safe));
	}
	for (uint32_t k = 0; k < side->condition_count; k++)
		RQL_TRY(add_condition(s, step, side->conditions[k]));
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
	if (r->side && r->side->kind == RQL_SIDE_MARK)
		return true;
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

/* ---- conditions of outer joins ---- */

/* What a block has of a side's column where the side has conditions (block.h): the join tests them. */
static struct rql_expr *untested(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct rql_block *block = state;
	const struct rql_expr *column = e->kind == RQL_EXPR_CASE && e->child_count == 3 ? e->children[1] : NULL;
	(void)arena;
	if (e->kind == RQL_EXPR_COLUMN || e->kind == RQL_EXPR_REF) /* stays as it is */
		return (struct rql_expr *)(uintptr_t)e;
	if (!column || column->kind != RQL_EXPR_COLUMN || column->table < RQL_BLOCK_MAX_TABLES)
		return NULL;
	const struct rql_block_side *side = &block->sides[column->table - RQL_BLOCK_MAX_TABLES];
	const struct rql_expr *when = e->children[0];
	const uint32_t n = side->condition_count;
	bool same = side->kind == RQL_SIDE_LEFT && n && (n == 1 || (when->kind == RQL_EXPR_AND && when->child_count == n));
	for (uint32_t i = 0; i < n && same; i++)
		same = rql_expr_equal(n == 1 ? when : when->children[i], side->conditions[i]);
	same = same && e->children[2]->kind == RQL_EXPR_CONSTANT && e->children[2]->value.is_null;
	return same ? (struct rql_expr *)(uintptr_t)column : NULL;
}

static struct rql_expr **untest(struct rql_join_graph *g, struct rql_expr *const *from, uint32_t count)
{
	struct rql_expr **out = RQL_NEW_ARRAY(g->p->arena, struct rql_expr *, count + 1u);
	for (uint32_t i = 0; out && i < count; i++)
		if (!(out[i] = rql_expr_transform(g->p->arena, from[i], untested, (void *)(uintptr_t)g->block)))
			return NULL;
	return out;
}

static bool untest_side(struct rql_join_graph *g, struct rql_block_side *side)
{
	for (uint32_t k = 0; k < side->key_count; k++)
		if (!(side->keys[k].outer =
		          rql_expr_transform(g->p->arena, side->keys[k].outer, untested, (void *)(uintptr_t)g->block)))
			return false;
	return (side->conditions = untest(g, side->conditions, side->condition_count)) != NULL;
}

static rql_status untest_block(struct rql_join_graph *g)
{
	const struct rql_block *from = g->block;
	struct rql_block *to = RQL_NEW(g->p->arena, struct rql_block);
	struct rql_block_side *sides = RQL_NEW_ARRAY(g->p->arena, struct rql_block_side, from->side_count + 1u);
	bool tested = false;
	for (uint32_t i = 0; i < from->side_count; i++)
		tested |= from->sides[i].kind == RQL_SIDE_LEFT && from->sides[i].condition_count;
	if (!tested)
		return RQL_OK;
	if (!to || !sides)
		return out_of_memory(g);
	*to = *from;
	to->sides = sides;
	bool done = (to->conjuncts = untest(g, from->conjuncts, from->conjunct_count)) &&
	            (to->groups = untest(g, from->groups, from->group_count)) &&
	            (to->aggs = untest(g, from->aggs, from->agg_count));
	for (uint32_t i = 0; i < from->side_count && done; i++) {
		sides[i] = from->sides[i];
		done = untest_side(g, &sides[i]);
	}
	if (!done)
		return out_of_memory(g);
	g->block = to;
	return RQL_OK;
}

rql_status rql_join_shape(struct rql_join_graph *g)
{
	struct shaping s = {.g = g};
	RQL_TRY(untest_block(g));
	const struct rql_block *block = g->block;
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
