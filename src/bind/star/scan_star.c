/* Making a star of a block: tables go to subtrees by the columns that they equal, and conditions to the subtree that
 * they read, or to the scan. */
#include "bind/star/scan_star.h"

#include <string.h>
#include "bind/block/definition.h"
#include "expr/building/build.h"

#define NOBODY (UINT32_MAX - 1)
#define MAX_OUTPUTS 256u

/* A column that takes part in equalities, with the smallest column that it equals. */
struct member {
	struct rql_column_id column, of;
	struct rql_expr *expr;
	uint32_t size; /* columns of its class */
};

struct shaping {
	struct rql_arena *arena;
	const struct rql_block *block;
	struct rql_star *star;
	uint32_t member_count;
	struct member *members;
	bool too_many;  /* outputs of a subtree */
	bool no_column; /* of a side that has none is asked for one */
	struct rql_error *err;
};

static rql_status why_not(struct shaping *s)
{
	if (s->no_column)
		return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "the answer of NOT IN is used more than once");
	if (s->too_many)
		return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "more than %u expressions over one dimension table",
		                     MAX_OUTPUTS);
	return rql_error_memory(s->err, 0, "a plan");
}

static bool same_class(const struct member *a, const struct member *b)
{
	return a->of.table == b->of.table && a->of.index == b->of.index;
}

/* ---- equal columns ---- */

static struct rql_expr *column_of(const struct rql_block *block, struct rql_column_id id)
{
	for (uint32_t i = 0; i < block->conjunct_count; i++) {
		struct rql_expr *e = block->conjuncts[i];
		for (uint32_t k = 0; k < 2 && rql_expr_is_equijoin(e); k++)
			if (e->children[k]->table == id.table && e->children[k]->index == id.index)
				return e->children[k];
	}
	return NULL;
}

static rql_status find_members(struct shaping *s)
{
	struct rql_column_pair *pairs;
	if (!rql_column_classes(s->arena, s->block->conjuncts, s->block->conjunct_count, &pairs, &s->member_count))
		return why_not(s);
	s->members = RQL_NEW_ARRAY(s->arena, struct member, s->member_count);
	if (!s->members)
		return why_not(s);
	/* Small classes first: they are a key and its foreign key, large ones a property that many tables share. */
	for (uint32_t i = 0; i < s->member_count; i++) {
		struct member m = {pairs[i].column, pairs[i].representative, column_of(s->block, pairs[i].column), 0};
		uint32_t at = i;
		for (uint32_t k = 0; k < s->member_count; k++)
			m.size += pairs[k].representative.table == m.of.table && pairs[k].representative.index == m.of.index;
		for (; at && s->members[at - 1].size > m.size; at--)
			s->members[at] = s->members[at - 1];
		s->members[at] = m;
	}
	return RQL_OK;
}

/* ---- tables to subtrees ---- */

/* The n-th pair of equal columns of the fact table and table t; false: there are not so many. */
static bool way_of(const struct shaping *s, uint32_t t, uint32_t n, const struct rql_expr **fact, struct rql_expr **key)
{
	for (uint32_t i = 0; i < s->member_count; i++) {
		if (s->members[i].column.table != s->star->fact)
			continue;
		for (uint32_t k = 0; k < s->member_count; k++) {
			if (s->members[k].column.table != t || !same_class(&s->members[i], &s->members[k]) || n--)
				continue;
			*fact = s->members[i].expr;
			*key = s->members[k].expr;
			return true;
		}
	}
	return false;
}

static void plant_roots(struct shaping *s, const uint32_t *choices)
{
	struct rql_star *star = s->star;
	for (uint32_t t = 0; t < s->block->table_count; t++) {
		struct rql_star_subtree tree = {.root = t};
		while (t != star->fact && way_of(s, t, star->ways[t], &tree.fact, &tree.key))
			star->ways[t]++;
		if (!star->ways[t])
			continue;
		bool pair = choices && choices[t] == RQL_STAR_PAIR;
		way_of(s, t, choices && !pair ? choices[t] % star->ways[t] : 0, &tree.fact, &tree.key);
		if (pair)
			way_of(s, t, 1, &tree.fact2, &tree.key2);
		star->owner[t] = star->subtree_count;
		star->subtrees[star->subtree_count++] = tree;
	}
}

static uint32_t tables_of(const struct rql_star *star, uint32_t subtree)
{
	uint32_t count = 0;
	for (uint32_t t = 0; t < star->block->table_count; t++)
		count += star->owner[t] == subtree;
	return count;
}

/* Finds the subtrees with a column that equals one of table t, those of the fewest tables first, and gives their number.
 * Foreign keys lead from large tables to small ones: the root of a short chain is the smaller one, and so is its map,
 * which t's conditions make smaller still. */
static uint32_t branches_of(const struct shaping *s, uint32_t t, uint32_t found[RQL_BLOCK_MAX_TABLES])
{
	const uint32_t *owner = s->star->owner;
	uint32_t count = 0;
	for (uint32_t i = 0; i < s->member_count; i++) {
		for (uint32_t k = 0; k < s->member_count && s->members[i].column.table == t; k++) {
			uint32_t other = owner[s->members[k].column.table], at = count;
			bool again = other == NOBODY || other == RQL_STAR_FACT || !same_class(&s->members[i], &s->members[k]);
			for (uint32_t f = 0; f < count && !again; f++)
				again = found[f] == other;
			if (again)
				continue;
			for (; at && tables_of(s->star, found[at - 1]) > tables_of(s->star, other); at--)
				found[at] = found[at - 1];
			found[at] = other;
			count++;
		}
	}
	return count;
}

/* One table more that equals a column of a subtree's. */
static bool grow(struct shaping *s, const uint32_t *choices)
{
	struct rql_star *star = s->star;
	for (uint32_t i = 0; i < s->member_count; i++) {
		uint32_t t = s->members[i].column.table;
		if (star->owner[t] != NOBODY)
			continue;
		uint32_t found[RQL_BLOCK_MAX_TABLES], count = branches_of(s, t, found);
		if (!count)
			continue;
		star->ways[t] = count;
		star->owner[t] = found[choices && choices[t] != RQL_STAR_PAIR ? choices[t] % count : 0];
		return true;
	}
	return false;
}

static rql_status assign_tables(struct shaping *s, const uint32_t *choices)
{
	for (uint32_t t = 0; t < s->block->table_count; t++)
		s->star->owner[t] = NOBODY;
	s->star->owner[s->star->fact] = RQL_STAR_FACT;
	plant_roots(s, choices);
	while (grow(s, choices))
		;
	for (uint32_t t = 0; t < s->block->table_count; t++)
		if (s->star->owner[t] == NOBODY)
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "table %s is not joined to %s by equal columns",
			                     s->block->tables[t].table, s->block->tables[s->star->fact].table);
	return RQL_OK;
}

/* ---- who reads what ---- */

#define READS_NOTHING (UINT32_MAX - 2)
#define READS_SEVERAL (UINT32_MAX - 3)

struct reading {
	const uint32_t *owner;
	uint32_t who;
};

static bool note_leaf(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	uint32_t who = r->owner[leaf->table];
	r->who = r->who == READS_NOTHING || r->who == who ? who : READS_SEVERAL;
	return r->who != READS_SEVERAL;
}

static uint32_t reader_of(const struct rql_star *star, const struct rql_expr *e)
{
	struct reading r = {star->owner, READS_NOTHING};
	rql_expr_leaves(e, note_leaf, &r);
	return r.who;
}

/* ---- expressions over the star ---- */

static struct rql_expr *output_of(struct shaping *s, uint32_t subtree, const struct rql_expr *e)
{
	struct rql_expr_list *outputs = &s->star->subtrees[subtree].outputs;
	const struct rql_block_side *side = s->star->subtrees[subtree].side;
	uint32_t o = 0;
	s->no_column |= side && (side->kind == RQL_SIDE_SEMI || side->kind == RQL_SIDE_ANTI);
	if (s->no_column)
		return NULL;
	while (o < outputs->count && !rql_expr_equal(outputs->items[o], e))
		o++;
	s->too_many |= o == MAX_OUTPUTS;
	if (s->too_many || (o == outputs->count && !rql_expr_list_add(s->arena, outputs, (struct rql_expr *)(uintptr_t)e)))
		return NULL;
	struct rql_expr *ref = rql_expr_new(s->arena, RQL_EXPR_REF, e->type, 0);
	if (ref) {
		ref->index = RQL_STAR_REF(subtree, o);
		ref->alias = e->alias;
	}
	return ref;
}

static struct rql_expr *over_star(struct shaping *s, const struct rql_expr *e);

/* a AND b AND c, where a and c are of one subtree: (a AND c) AND b, so that the subtree gives one value for them. */
static struct rql_expr *regrouped(struct shaping *s, const struct rql_expr *e)
{
	struct rql_expr *copy = rql_expr_new(s->arena, e->kind, e->type, e->child_count);
	uint32_t of[64];
	if (!copy || e->child_count > 64)
		return NULL;
	for (uint32_t i = 0; i < e->child_count; i++)
		of[i] = reader_of(s->star, e->children[i]);
	copy->child_count = 0;
	for (uint32_t i = 0; i < e->child_count; i++) {
		uint32_t who = of[i], n = 0;
		bool tree = who < s->star->subtree_count;
		if (who == NOBODY)
			continue;
		struct rql_expr *part = rql_expr_new(s->arena, e->kind, e->type, e->child_count);
		if (!part)
			return NULL;
		for (uint32_t k = i; k < e->child_count && (tree || k == i); k++) {
			if (of[k] != who)
				continue;
			part->children[n++] = e->children[k];
			of[k] = NOBODY;
		}
		part->child_count = n;
		struct rql_expr *done = over_star(s, n == 1 ? part->children[0] : part);
		if (!done)
			return NULL;
		copy->children[copy->child_count++] = done;
	}
	return copy->child_count == 1 ? copy->children[0] : copy;
}

static struct rql_expr *to_star(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	struct shaping *s = state;
	(void)arena;
	if (e->kind == RQL_EXPR_AGGREGATE)
		return NULL;
	uint32_t who = reader_of(s->star, e);
	if (who == RQL_STAR_FACT && e->kind == RQL_EXPR_COLUMN)
		return (struct rql_expr *)(uintptr_t)e;
	/* A mark's columns are not the host's, so that it cannot evaluate what reads them. */
	const struct rql_block_side *side = who < s->star->subtree_count ? s->star->subtrees[who].side : NULL;
	if (who < s->star->subtree_count && (e->kind == RQL_EXPR_COLUMN || !side || side->kind != RQL_SIDE_MARK))
		return output_of(s, who, e);
	if (who == READS_SEVERAL && (e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR) && e->child_count <= 64)
		return regrouped(s, e);
	return NULL;
}

static struct rql_expr *over_star(struct shaping *s, const struct rql_expr *e)
{
	return rql_expr_transform(s->arena, e, to_star, s);
}

static rql_status put_over_star(struct shaping *s, const struct rql_expr *e, struct rql_expr **out)
{
	*out = over_star(s, e);
	return *out ? RQL_OK : why_not(s);
}

/* ---- conditions ---- */

static rql_status add_conjunct(struct shaping *s, struct rql_expr *e)
{
	uint32_t who = reader_of(s->star, e);
	if (who < s->star->subtree_count && !s->star->subtrees[who].side)
		return rql_conjuncts_add(s->arena, &s->star->subtrees[who].conjuncts, e) ? RQL_OK : why_not(s);
	RQL_TRY(put_over_star(s, e, &e));
	return rql_expr_list_add(s->arena, &s->star->conjuncts, e) ? RQL_OK : why_not(s);
}

static rql_status add_equality(struct shaping *s, const struct member *a, const struct member *b)
{
	struct rql_expr *e = rql_expr_comparison(s->arena, "=", a->expr, b->expr);
	return e ? add_conjunct(s, e) : why_not(s);
}

/* The column of the class that stands for all of an owner's: its join key where it has one there. */
static const struct member *first_of(const struct shaping *s, const struct member *class, uint32_t owner)
{
	const struct member *first = NULL;
	for (uint32_t i = 0; i < s->member_count; i++) {
		const struct member *m = &s->members[i];
		if (!same_class(m, class) || s->star->owner[m->column.table] != owner)
			continue;
		if (owner != RQL_STAR_FACT &&
		    (m->expr == s->star->subtrees[owner].key || m->expr == s->star->subtrees[owner].key2))
			return m;
		first = first ? first : m;
	}
	return first;
}

/* Is it what joins the subtree of `m`, so that the map says it? */
static bool is_key(const struct shaping *s, const struct member *fact, const struct member *m)
{
	const struct rql_star_subtree *tree = &s->star->subtrees[s->star->owner[m->column.table]];
	return fact && ((m->expr == tree->key && tree->fact->index == fact->column.index) ||
	                (m->expr == tree->key2 && tree->fact2->index == fact->column.index));
}

/* All that a class of equal columns states: inside each owner, and between owners. */
static rql_status state_class(struct shaping *s, const struct member *class)
{
	const struct member *fact = first_of(s, class, RQL_STAR_FACT), *anchor = fact;
	for (uint32_t i = 0; i < s->member_count; i++) {
		const struct member *m = &s->members[i];
		if (!same_class(m, class))
			continue;
		uint32_t owner = s->star->owner[m->column.table];
		const struct member *first = first_of(s, class, owner);
		if (m != first) {
			RQL_TRY(add_equality(s, first, m));
		} else if (owner != RQL_STAR_FACT) {
			if (anchor && !is_key(s, fact, m))
				RQL_TRY(add_equality(s, anchor, m));
			anchor = anchor ? anchor : m;
		}
	}
	return RQL_OK;
}

static rql_status place_conditions(struct shaping *s)
{
	for (uint32_t i = 0; i < s->block->conjunct_count; i++)
		if (!rql_expr_is_equijoin(s->block->conjuncts[i]))
			RQL_TRY(add_conjunct(s, s->block->conjuncts[i]));
	for (uint32_t i = 0; i < s->member_count; i++) {
		const struct member *m = &s->members[i];
		if (m->column.table == m->of.table && m->column.index == m->of.index)
			RQL_TRY(state_class(s, m));
	}
	return RQL_OK;
}

/* ---- sides ---- */

/* A column as it is stored, of which e is a wider integer: keys are compared as numbers. */
static const struct rql_expr *narrowed(const struct rql_expr *e)
{
	const struct rql_expr *from = e->kind == RQL_EXPR_CAST ? e->children[0] : NULL;
	struct rql_bounds wide, narrow;
	bool widens = from && rql_type_is_integer(e->type) && rql_type_is_integer(from->type) &&
	              rql_bounds_of_type(e->type, &wide) && rql_bounds_of_type(from->type, &narrow) &&
	              wide.low <= narrow.low && narrow.high <= wide.high;
	return widens ? narrowed(from) : e;
}

/* Who has the side's outer keys: all of them. */
static uint32_t keys_owner(const struct shaping *s, const struct rql_block_side *side)
{
	uint32_t who = reader_of(s->star, side->keys[0].outer);
	return side->key_count == 1 || reader_of(s->star, side->keys[1].outer) == who ? who : READS_SEVERAL;
}

static rql_status refuse_side(struct shaping *s, const char *why)
{
	return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "an outer, semi or anti join %s", why);
}

/* A subtree of its own, on the fact table. */
static rql_status plant_side(struct shaping *s, uint32_t i)
{
	struct rql_star *star = s->star;
	const struct rql_block_side *side = &s->block->sides[i];
	const struct rql_side_key *keys = side->keys;
	struct rql_star_subtree tree = {.side = side, .root = RQL_BLOCK_SIDE(i), .fact = narrowed(keys[0].outer)};
	tree.key = (struct rql_expr *)(uintptr_t)keys[0].inner;
	if (side->key_count == 2) {
		tree.fact2 = narrowed(keys[1].outer);
		tree.key2 = (struct rql_expr *)(uintptr_t)keys[1].inner;
	}
	if (tree.fact->kind != RQL_EXPR_COLUMN || (tree.fact2 && tree.fact2->kind != RQL_EXPR_COLUMN))
		return refuse_side(s, "by an expression of the table that is scanned");
	star->owner[RQL_BLOCK_SIDE(i)] = star->subtree_count;
	star->subtrees[star->subtree_count++] = tree;
	return RQL_OK;
}

/* Where the subtree is an outer join's, a row that a semi or anti join drops is none that it could leave out: it is one of
 * the scan's. So the subtree gives whether it stays. */
static rql_status filter_by_side(struct shaping *s, uint32_t i)
{
	struct rql_type boolean = rql_type_simple(RQL_TYPE_BOOLEAN);
	struct rql_expr *e = rql_expr_new(s->arena, RQL_EXPR_COLUMN, boolean, 0);
	struct rql_expr *negated = rql_expr_new(s->arena, RQL_EXPR_NOT, boolean, 1);
	if (!e || !negated)
		return why_not(s);
	e->table = RQL_BLOCK_SIDE(i);
	negated->children[0] = e;
	return add_conjunct(s, s->block->sides[i].kind == RQL_SIDE_ANTI ? negated : e);
}

/* After the tables: a side of a subtree's columns is read with that one's rows. */
static rql_status plant_sides(struct shaping *s)
{
	struct rql_star *star = s->star;
	for (uint32_t i = 0; i < s->block->side_count; i++)
		star->owner[RQL_BLOCK_SIDE(i)] = NOBODY;
	for (uint32_t i = 0; i < s->block->side_count; i++) {
		const struct rql_block_side *side = &s->block->sides[i];
		if (rql_side_is_asof(side->kind))
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "an ASOF join, of which the nearest row is looked up");
		if (!side->key_count)
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "an outer join by no pair of equal columns");
		uint32_t who = keys_owner(s, side);
		if (side->condition_count && side->kind != RQL_SIDE_LEFT)
			return refuse_side(s, "by further conditions, which are tested for every pair of rows");
		if (side->kind == RQL_SIDE_FULL)
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED,
			                     "a full outer join, of which rows without a match stay on both sides");
		if (rql_type_is_real(side->keys[0].inner->type))
			return refuse_side(s, "by real numbers");
		if (who == RQL_STAR_FACT) {
			RQL_TRY(plant_side(s, i));
			continue;
		}
		if (who >= star->subtree_count)
			return refuse_side(s, "by columns of several tables");
		star->owner[RQL_BLOCK_SIDE(i)] = who;
		if (star->subtrees[who].side && (side->kind == RQL_SIDE_SEMI || side->kind == RQL_SIDE_ANTI))
			RQL_TRY(filter_by_side(s, i));
	}
	return RQL_OK;
}

const char *rql_star_table(const struct rql_star *star, uint32_t subtree)
{
	const struct rql_star_subtree *tree = &star->subtrees[subtree];
	const struct rql_rel *rel = tree->side ? tree->side->rel : NULL;
	while (rel && rel->kind != RQL_REL_GET)
		rel = rel->child_count ? rel->children[0] : NULL;
	return rel ? rel->table.table : tree->side ? "a subquery" : star->block->tables[tree->root].table;
}

/* ---- the whole ---- */

rql_status rql_star_make(struct rql_arena *arena, const struct rql_block *block, uint32_t fact, const uint32_t *choices,
                         struct rql_star **out, struct rql_error *err)
{
	struct rql_star *star = RQL_NEW(arena, struct rql_star);
	struct shaping s = {.arena = arena, .block = block, .star = star, .err = err};
	if (!star)
		return why_not(&s);
	star->block = block;
	star->fact = fact;
	star->groups = RQL_NEW_ARRAY(arena, struct rql_expr *, block->group_count);
	star->aggs = RQL_NEW_ARRAY(arena, struct rql_expr *, block->agg_count);
	if (!star->groups || !star->aggs)
		return why_not(&s);
	RQL_TRY(find_members(&s));
	RQL_TRY(assign_tables(&s, choices));
	RQL_TRY(plant_sides(&s));
	RQL_TRY(place_conditions(&s));
	for (uint32_t i = 0; i < block->group_count; i++)
		RQL_TRY(put_over_star(&s, block->groups[i], &star->groups[i]));
	for (uint32_t i = 0; i < block->agg_count; i++)
		RQL_TRY(put_over_star(&s, block->aggs[i], &star->aggs[i]));
	*out = star;
	return RQL_OK;
}
