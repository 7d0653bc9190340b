/* Relations of a block, and the edges between them: equalities of columns, also those that others imply, and the keys of
 * outer, semi and anti joins. */
#include <string.h>

#include "plan/join/join.h"

static rql_status refuse(struct rql_join_graph *g, const char *why, const char *what)
{
	return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: %s%s", why, what);
}

/* ---- relations ---- */

uint32_t rql_join_relation_of(const struct rql_join_graph *g, uint32_t number)
{
	for (uint32_t r = 0; r < g->relation_count; r++)
		if (g->relations[r].number == number)
			return r;
	return RQL_NONE;
}

/* refreshed: nobody else would see to it that appended rows are read. */
static rql_status find_structure(struct rql_join_graph *g, const struct rql_table_ref *table, bool refreshed,
                                 struct rql_structure **out)
{
	bool refresh;
	for (uint32_t i = 0; i < g->p->structure_count; i++) {
		struct rql_structure *s = g->p->structures[i];
		if (s->reads != RQL_READS_STORE || !s->table_count || !rql_structure_is_of(s, table))
			continue;
		if (rql_leaf_unusable(g->p, s, &refresh)) {
			if (refreshed && refresh && !g->p->to_refresh)
				g->p->to_refresh = s;
			continue;
		}
		if (!s->snapshot || !s->snapshot->blocks)
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
		return rql_error_memory(g->err, 0, "a plan");
	RQL_TRY(rql_block_make_over(g->p->arena, rel, &block, g->err));
	if (!block->group_count)
		return refuse(g, "groups without a key lie below", "");
	*below = (struct rql_join_graph){.p = g->p, .block = block, .is_below = true, .err = g->err};
	r->groups = below;
	return rql_join_shape(below);
}

static bool is_union(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_SETOP && rel->setop == RQL_SETOP_UNION && rel->setop_all;
}

/* The inputs of a UNION ALL, and of those below it, as graphs. */
static rql_status add_branches(struct rql_join_graph *g, const struct rql_rel *rel, struct rql_join_graph ***last,
                               uint32_t *count)
{
	for (uint32_t i = 0; is_union(rel) && i < rel->child_count; i++)
		RQL_TRY(add_branches(g, rel->children[i], last, count));
	if (is_union(rel))
		return RQL_OK;
	struct rql_join_graph *branch = RQL_NEW(g->p->arena, struct rql_join_graph);
	struct rql_rows_block *rows;
	if (!branch)
		return rql_error_memory(g->err, 0, "a plan");
	if (++*count > RQL_APPEND_MOST)
		return refuse(g, "a UNION ALL of more than 8 inputs", "");
	RQL_TRY(rql_block_make_rows_over(g->p->arena, rel, &rows, g->err));
	if (rows->order_count || rows->offset || rows->limit != UINT64_MAX)
		return refuse(g, "an input of a UNION ALL has a limit", "");
	*branch = (struct rql_join_graph){.p = g->p, .block = rows->block, .rows = rows, .is_below = true, .err = g->err};
	**last = branch;
	*last = &branch->next;
	return rql_join_shape(branch);
}

/* What takes a table's place in a block. */
static rql_status add_derived(struct rql_join_graph *g, const struct rql_rel *rel, struct rql_join_relation *r)
{
	struct rql_join_graph **last = &r->groups;
	uint32_t count = 0;
	return is_union(rel) ? add_branches(g, rel, &last, &count) : add_groups(g, rel, r);
}

static rql_status add_table(struct rql_join_graph *g, uint32_t t)
{
	struct rql_join_relation *r = &g->relations[g->relation_count++];
	r->number = t;
	r->table = g->block->tables[t].table;
	if (g->block->derived && g->block->derived[t])
		return add_derived(g, g->block->derived[t], r);
	return find_structure(g, &g->block->tables[t], false, &r->structure);
}

/* A side that is joined itself: its rows are those of a graph of its own. */
static rql_status add_joined_side(struct rql_join_graph *g, const struct rql_block_side *side,
                                  struct rql_join_relation *r)
{
	struct rql_join_graph **last = &r->groups;
	struct rql_expr **columns = RQL_NEW_ARRAY(g->p->arena, struct rql_expr *, side->rel->column_count + 1u);
	uint32_t count = 0;
	if (!columns)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t c = 0; c < side->rel->column_count; c++) {
		if (!(columns[c] = rql_expr_new(g->p->arena, RQL_EXPR_COLUMN, side->rel->types[c], 0)))
			return rql_error_memory(g->err, 0, "a plan");
		columns[c]->index = c;
		columns[c]->alias = side->rel->names ? side->rel->names[c] : NULL;
	}
	r->table = "(joined rows)";
	r->of_side = columns;
	r->conjuncts = (struct rql_expr_list){0};
	return add_branches(g, side->rel, &last, &count);
}

static rql_status add_side(struct rql_join_graph *g, uint32_t i)
{
	const struct rql_block_side *side = &g->block->sides[i];
	struct rql_join_relation *r = &g->relations[g->relation_count++];
	struct rql_rows_block *rows;
	RQL_TRY(rql_block_make_rows_over(g->p->arena, side->rel, &rows, g->err));
	if (rows->order_count || rows->offset || rows->limit != UINT64_MAX)
		return refuse(g, "an outer, semi or anti join with the first rows of an order", "");
	*r = (struct rql_join_relation){.number = RQL_BLOCK_SIDE(i),
	                                .side = side,
	                                .table = rows->block->tables[0].table,
	                                .of_side = rows->block->groups,
	                                .conjuncts = {.count = rows->block->conjunct_count,
	                                              .capacity = rows->block->conjunct_count,
	                                              .items = rows->block->conjuncts}};
	if (rows->block->table_count != 1 || rows->block->side_count)
		return add_joined_side(g, side, r);
	if (rows->block->derived[0])
		return add_derived(g, rows->block->derived[0], r);
	return find_structure(g, &rows->block->tables[0], rql_side_is_asof(side->kind) && !g->rows, &r->structure);
}

/* ---- who reads what ---- */

static bool note_reader(const struct rql_expr *leaf, void *state)
{
	uint32_t *who = state, number = leaf->kind == RQL_EXPR_COLUMN ? leaf->table : RQL_JOIN_READS_SEVERAL;
	*who = *who == RQL_JOIN_READS_NOTHING || *who == number ? number : RQL_JOIN_READS_SEVERAL;
	return *who != RQL_JOIN_READS_SEVERAL;
}

uint32_t rql_join_reader_of(const struct rql_expr *e)
{
	uint32_t who = RQL_JOIN_READS_NOTHING;
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

struct rql_expr *rql_join_over_own(struct rql_join_graph *g, const struct rql_join_relation *r, const struct rql_expr *e)
{
	return rql_expr_transform(g->p->arena, e, to_own, (void *)(uintptr_t)r);
}

/* ---- edges ---- */

static struct rql_join_edge *add_edge(struct rql_join_graph *g, uint32_t a, uint32_t b)
{
	struct rql_join_edge *edge = &g->edges[g->edge_count++];
	*edge = (struct rql_join_edge){.a = a, .b = b};
	return edge;
}

static rql_status add_key(struct rql_join_graph *g, struct rql_join_edge *edge, const struct rql_expr *outer,
                          const struct rql_expr *inner, bool null_safe)
{
	struct rql_join_key *key = &edge->keys[edge->key_count++];
	*key = (struct rql_join_key){.outer = rql_join_over_own(g, &g->relations[edge->a], outer),
	                             .inner = rql_join_over_own(g, &g->relations[edge->b], inner),
	                             .null_safe = null_safe};
	return key->outer && key->inner ? RQL_OK : rql_error_memory(g->err, 0, "a plan");
}

/* NULL: there is none yet. */
static struct rql_join_edge *find_edge(const struct rql_join_graph *g, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < g->edge_count; i++)
		if ((g->edges[i].a == a && g->edges[i].b == b) || (g->edges[i].a == b && g->edges[i].b == a))
			return &g->edges[i];
	return NULL;
}

/* May it be computed before the rows are joined? Of an outer join's side there are then no rows of NULLs yet, whose columns
 * become NULL as they are; of an IN there is a mark only. */
static bool is_there_before(const struct rql_join_graph *g, uint32_t relation, const struct rql_expr *e)
{
	const struct rql_block_side *side = g->relations[relation].side;
	return !side ||
	       ((side->kind == RQL_SIDE_LEFT || rql_side_is_asof(side->kind)) && e->kind == RQL_EXPR_COLUMN);
}

bool rql_join_find_test(const char *name, bool flip, struct rql_join_test_of *out)
{
	static const struct {
		const char *name;
		enum rql_pair_test test, flipped;
		bool null_safe;
	} tests[] = {{"=", RQL_PAIR_EQ, RQL_PAIR_EQ, false},
	             {"<>", RQL_PAIR_NE, RQL_PAIR_NE, false},
	             {"<", RQL_PAIR_LT, RQL_PAIR_GT, false},
	             {">", RQL_PAIR_GT, RQL_PAIR_LT, false},
	             {"<=", RQL_PAIR_LE, RQL_PAIR_GE, false},
	             {">=", RQL_PAIR_GE, RQL_PAIR_LE, false},
	             {"IS NOT DISTINCT FROM", RQL_PAIR_EQ, RQL_PAIR_EQ, true},
	             {"IS DISTINCT FROM", RQL_PAIR_NE, RQL_PAIR_NE, true}};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (!strcmp(tests[i].name, name)) {
			out->test = flip ? tests[i].flipped : tests[i].test;
			out->null_safe = tests[i].null_safe;
			return true;
		}
	return false;
}

/* A condition of a side: a comparison of a value of it with one of a relation before, or a condition over one of those. */
static rql_status add_condition(struct rql_join_graph *g, struct rql_join_edge *edge, const struct rql_expr *e)
{
	struct rql_join_relation *own = &g->relations[edge->b];
	struct rql_join_test_of *c = &edge->conditions[edge->condition_count];
	const struct rql_expr *outer = e, *inner = NULL;
	if (edge->condition_count == RQL_PAIR_CONDITIONS)
		return refuse(g, "an outer, semi or anti join has more than 4 conditions beyond its keys", "");
	if (rql_join_reader_of(e) == RQL_JOIN_READS_SEVERAL) {
		if (e->kind != RQL_EXPR_COMPARE)
			return refuse(g, "a condition beyond the keys is no comparison of a column of each side", "");
		bool flip = rql_join_reader_of(e->children[0]) == own->number;
		inner = e->children[!flip];
		outer = e->children[flip];
		if (rql_join_reader_of(inner) != own->number || !rql_join_find_test(e->name, flip, c))
			return refuse(g, "a condition beyond the keys is no comparison of a column of each side", "");
	}
	c->relation = rql_join_relation_of(g, rql_join_reader_of(outer));
	if (c->relation == RQL_NONE || c->relation >= edge->b || !is_there_before(g, c->relation, outer))
		return refuse(g, "a condition beyond the keys reads several tables, or what an outer join gives", "");
	if (c->null_safe && g->relations[c->relation].side) /* whose rows without a match have fields of 0, which has none */
		return refuse(g, "a condition beyond the keys reads an outer join's column of which NULL may have a match", "");
	own->needs |= 1u << c->relation;
	c->outer = rql_join_over_own(g, &g->relations[c->relation], outer);
	c->inner = inner ? rql_join_over_own(g, own, inner) : NULL;
	edge->condition_count++;
	return c->outer && (!inner || c->inner) ? RQL_OK : rql_error_memory(g->err, 0, "a plan");
}

/* An equality of values of two tables. More than a key may have are tested above. */
static rql_status add_equality(struct rql_join_graph *g, const struct rql_expr *x, const struct rql_expr *y)
{
	const uint32_t a = rql_join_table_of(g, x), b = rql_join_table_of(g, y);
	struct rql_join_edge *edge = find_edge(g, a, b);
	if (!edge)
		edge = add_edge(g, a, b);
	if (edge->key_count == RQL_JOIN_KEYS)
		return RQL_OK;
	return edge->a == a ? add_key(g, edge, x, y, false) : add_key(g, edge, y, x, false);
}

/* An ASOF join without equalities is joined to the relation whose value its order compares. */
static rql_status add_order_edge(struct rql_join_graph *g, uint32_t relation, struct rql_join_edge **edge)
{
	const struct rql_expr *e = g->relations[relation].side->conditions[0];
	for (uint32_t i = 0; i < e->child_count; i++) {
		const uint32_t owner = rql_join_relation_of(g, rql_join_reader_of(e->children[i]));
		if (owner != RQL_NONE && owner < relation) {
			*edge = add_edge(g, owner, relation);
			return RQL_OK;
		}
	}
	return refuse(g, "an ASOF join by values of several tables", "");
}

static rql_status add_side_edge(struct rql_join_graph *g, uint32_t relation)
{
	const struct rql_block_side *side = g->relations[relation].side;
	struct rql_join_edge *edge = NULL;
	if (rql_join_is_ranged(g, relation))
		return RQL_OK;
	for (uint32_t k = 0; k < side->key_count; k++) {
		uint32_t owner = rql_join_relation_of(g, rql_join_reader_of(side->keys[k].outer));
		if (owner == RQL_NONE || owner >= relation || (edge && owner != edge->a))
			return refuse(g, "an outer, semi or anti join by columns of several tables", "");
		/* 0 has no match. */
		if (g->relations[owner].side &&
		    (side->keys[k].null_safe || !is_there_before(g, owner, side->keys[k].outer)))
			return refuse(g, "a join by an outer join's columns of which NULL may have a match", "");
		edge = edge ? edge : add_edge(g, owner, relation);
		RQL_TRY(add_key(g, edge, side->keys[k].outer, side->keys[k].inner, side->keys[k].null_safe));
	}
	if (rql_side_is_asof(side->kind) && !edge)
		RQL_TRY(add_order_edge(g, relation, &edge));
	for (uint32_t k = 0; edge && k < side->condition_count; k++)
		RQL_TRY(add_condition(g, edge, side->conditions[k]));
	if (rql_side_is_asof(side->kind) && edge && !edge->conditions[0].inner)
		return refuse(g, "an ASOF join by no comparison of a value of each side", "");
	if (side->kind == RQL_SIDE_FULL) /* comes last: what is joined after it would drop its rows */
		g->relations[relation].needs = (1u << relation) - 1;
	return edge ? RQL_OK : refuse(g, "an outer, semi or anti join without a key", "");
}

/* Columns that equalities make equal, and the first of them; there are few. */
struct equal_column {
	const struct rql_expr *column;
	uint32_t of;
};

static uint32_t class_of(struct equal_column *list, uint32_t *count, const struct rql_expr *column)
{
	uint32_t at = 0;
	while (at < *count && !rql_expr_equal(list[at].column, column))
		at++;
	if (at == *count)
		list[(*count)++] = (struct equal_column){column, at};
	return list[at].of;
}

/* Tables that no equality joins, but several do together. */
static rql_status add_implied(struct rql_join_graph *g, const struct equal_column *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = i + 1; k < count; k++)
			if (list[i].of == list[k].of && list[i].column->table != list[k].column->table &&
			    !find_edge(g, rql_join_relation_of(g, list[i].column->table), rql_join_relation_of(g, list[k].column->table)))
				RQL_TRY(add_equality(g, list[i].column, list[k].column));
	return RQL_OK;
}

/* The tables that are joined so far, as numbers of sets. */
struct connected {
	uint32_t of[RQL_BLOCK_MAX_TABLES];
};

static void connect(struct connected *sets, uint32_t a, uint32_t b)
{
	const uint32_t from = sets->of[b], to = sets->of[a];
	for (uint32_t i = 0; i < RQL_BLOCK_MAX_TABLES; i++)
		sets->of[i] = sets->of[i] == from ? to : sets->of[i];
}

/* Equalities of expressions (of two types there is a cast), then of reals, which are keys alone: where nothing else joins
 * their tables. All others are tested above. */
static rql_status add_computed(struct rql_join_graph *g, bool reals)
{
	const uint32_t first = g->edge_count;
	struct connected sets;
	for (uint32_t i = 0; i < RQL_BLOCK_MAX_TABLES; i++)
		sets.of[i] = i;
	for (uint32_t i = 0; i < g->edge_count; i++)
		connect(&sets, g->edges[i].a, g->edges[i].b);
	for (uint32_t i = 0; i < g->block->conjunct_count; i++) {
		const struct rql_expr *e = g->block->conjuncts[i];
		if (!rql_join_is_equality(g, e) || rql_type_is_real(e->children[0]->type) != reals)
			continue;
		const uint32_t a = rql_join_table_of(g, e->children[0]), b = rql_join_table_of(g, e->children[1]);
		const struct rql_join_edge *edge = find_edge(g, a, b);
		if (edge ? reals || edge < g->edges + first : sets.of[a] == sets.of[b])
			continue;
		RQL_TRY(add_equality(g, e->children[0], e->children[1]));
		connect(&sets, a, b);
	}
	return RQL_OK;
}

static rql_status add_edges(struct rql_join_graph *g)
{
	const uint32_t most = g->relation_count * g->relation_count / 2 + 1;
	struct equal_column *list = RQL_NEW_ARRAY(g->p->arena, struct equal_column, 2 * g->block->conjunct_count + 1u);
	uint32_t count = 0;
	g->edges = RQL_NEW_ARRAY(g->p->arena, struct rql_join_edge, most);
	if (!g->edges || !list)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t i = 0; i < g->block->conjunct_count; i++) {
		const struct rql_expr *e = g->block->conjuncts[i];
		if (!rql_expr_is_equijoin(e) || e->children[0]->table == e->children[1]->table)
			continue;
		RQL_TRY(add_equality(g, e->children[0], e->children[1]));
		const uint32_t to = class_of(list, &count, e->children[0]), from = class_of(list, &count, e->children[1]);
		for (uint32_t k = 0; k < count; k++)
			list[k].of = list[k].of == from ? to : list[k].of;
	}
	RQL_TRY(add_implied(g, list, count));
	RQL_TRY(add_computed(g, false));
	RQL_TRY(add_computed(g, true));
	for (uint32_t r = g->block->table_count; r < g->relation_count; r++)
		RQL_TRY(add_side_edge(g, r));
	return g->ranges ? rql_join_add_range_edge(g, &g->edges[g->edge_count++]) : RQL_OK;
}

/* ---- conditions of one relation ---- */

uint32_t rql_join_table_of(const struct rql_join_graph *g, const struct rql_expr *e)
{
	const uint32_t r = rql_join_relation_of(g, rql_join_reader_of(e));
	return r == RQL_NONE || g->relations[r].side ? RQL_NONE : r;
}

bool rql_join_is_equality(const struct rql_join_graph *g, const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "=") != 0 ||
	    !rql_type_equal(e->children[0]->type, e->children[1]->type) || e->children[0]->type.id == RQL_TYPE_INTERVAL ||
	    e->children[0]->type.id == RQL_TYPE_OTHER)
		return false;
	const uint32_t a = rql_join_table_of(g, e->children[0]), b = rql_join_table_of(g, e->children[1]);
	return a != RQL_NONE && b != RQL_NONE && a != b;
}

static rql_status sort_conditions(struct rql_join_graph *g)
{
	for (uint32_t i = 0; i < g->block->conjunct_count; i++) {
		const uint32_t r = rql_join_table_of(g, g->block->conjuncts[i]);
		struct rql_expr *own = r == RQL_NONE ? NULL : rql_join_over_own(g, &g->relations[r], g->block->conjuncts[i]);
		if (r != RQL_NONE && (!own || !rql_expr_list_add(g->p->arena, &g->relations[r].conjuncts, own)))
			return rql_error_memory(g->err, 0, "a plan");
	}
	return RQL_OK;
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
		return rql_error_memory(g->err, 0, "a plan");
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
		return rql_error_memory(g->err, 0, "a plan");
	g->block = to;
	return RQL_OK;
}

rql_status rql_join_shape(struct rql_join_graph *g)
{
	RQL_TRY(untest_block(g));
	const struct rql_block *block = g->block;
	for (uint32_t t = 0; t < block->table_count; t++)
		RQL_TRY(add_table(g, t));
	for (uint32_t i = 0; i < block->side_count; i++)
		RQL_TRY(add_side(g, i));
	if (g->relation_count < 2 && !g->is_below && !g->relations[0].groups)
		return refuse(g, "there is nothing to join", "");
	for (uint32_t r = 1; r < block->table_count; r++)
		if (rql_join_rows(&g->relations[r]) > rql_join_rows(&g->relations[g->largest]))
			g->largest = r;
	RQL_TRY(rql_join_find_ranges(g));
	RQL_TRY(sort_conditions(g));
	return add_edges(g);
}
