/* A subtree of a star as a relation: the tables and sides of which it is made, joined and filtered, and of their rows the
 * key and the outputs. Whoever gives its rows (RayQL's own operators, or the host as SQL) gives the same ones. */
#include "bind/star/scan_subtree.h"

#include <string.h>

/* Where a column of a table, or of a side, stands among the columns of rel. */
struct place {
	uint32_t table, index, at;
	bool open; /* it is TRUE or NULL, and means whether it is TRUE */
};
struct joining {
	struct rql_arena *arena;
	const struct rql_star *star;
	uint32_t subtree; /* RQL_STAR_FACT: the fact table's rows */
	struct rql_expr_list wanted; /* what reads the tables' columns, beside the keys of attached sides */
	struct rql_rel *rel; /* as far as it is made */
	uint32_t count, capacity;
	struct place *places;
	struct rql_expr_list conditions; /* over rel's columns */
};

static bool add_place(struct joining *j, uint32_t table, uint32_t index, uint32_t at)
{
	if (j->count == j->capacity) {
		uint32_t capacity = j->capacity ? 2 * j->capacity : 16;
		struct place *grown = RQL_NEW_ARRAY(j->arena, struct place, capacity);
		if (!grown)
			return false;
		if (j->count)
			memcpy(grown, j->places, j->count * sizeof *grown);
		j->places = grown;
		j->capacity = capacity;
	}
	j->places[j->count++] = (struct place){table, index, at, false};
	return true;
}

static const struct place *find_place(const struct joining *j, uint32_t table, uint32_t index)
{
	for (uint32_t i = 0; i < j->count; i++)
		if (j->places[i].table == table && j->places[i].index == index)
			return &j->places[i];
	return NULL;
}

/* ---- expressions over rel ---- */

static struct rql_expr *to_ref(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct joining *j = state;
	if (e->kind == RQL_EXPR_REF) /* of the side that the subtree is: its columns come first */
		return (struct rql_expr *)(uintptr_t)e;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	const struct place *place = find_place(j, e->table, e->index);
	struct rql_expr *ref = place ? rql_expr_ref(arena, j->rel, place->at) : NULL;
	if (!ref || !place->open)
		return ref;
	struct rql_expr *truth = rql_expr_new(arena, RQL_EXPR_COALESCE, ref->type, 2);
	if (!truth || !(truth->children[1] = rql_expr_bool(arena, false)))
		return NULL;
	truth->children[0] = ref;
	return truth;
}

static struct rql_expr *over_rel(struct joining *j, const struct rql_expr *e)
{
	return rql_expr_transform(j->arena, e, to_ref, j);
}

static struct rql_expr *behind_rel(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct joining *j = state;
	if (e->kind != RQL_EXPR_REF)
		return NULL;
	struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, e->type, 0);
	if (ref) {
		ref->index = e->index + j->rel->column_count;
		ref->alias = e->alias;
	}
	return ref;
}

/* ---- tables ---- */

struct collecting {
	struct rql_arena *arena;
	uint32_t table;
	struct rql_expr_list columns;
	bool failed;
};

static bool collect(const struct rql_expr *leaf, void *state)
{
	struct collecting *c = state;
	if (leaf->kind != RQL_EXPR_COLUMN || leaf->table != c->table)
		return true;
	for (uint32_t i = 0; i < c->columns.count; i++)
		if (c->columns.items[i]->index == leaf->index)
			return true;
	c->failed |= !rql_expr_list_add(c->arena, &c->columns, (struct rql_expr *)(uintptr_t)leaf);
	return true;
}

static const struct rql_block_side *own_side(const struct joining *j)
{
	return j->subtree == RQL_STAR_FACT ? NULL : j->star->subtrees[j->subtree].side;
}

static bool is_attached(const struct joining *j, uint32_t side)
{
	return j->subtree != RQL_STAR_FACT && j->star->owner[RQL_BLOCK_SIDE(side)] == j->subtree &&
	       own_side(j) != &j->star->block->sides[side];
}

static bool want(struct joining *j, const struct rql_expr *e)
{
	return !e || rql_expr_list_add(j->arena, &j->wanted, (struct rql_expr *)(uintptr_t)e);
}

static bool want_tree(struct joining *j, const struct rql_star_subtree *tree)
{
	bool ok = want(j, tree->key) && want(j, tree->key2);
	for (uint32_t i = 0; i < tree->conjuncts.count; i++)
		ok = ok && want(j, tree->conjuncts.items[i]);
	for (uint32_t i = 0; i < tree->outputs.count; i++)
		ok = ok && want(j, tree->outputs.items[i]);
	return ok;
}

static bool want_keys(struct joining *j, const struct rql_block_side *side)
{
	bool ok = true;
	for (uint32_t k = 0; k < side->key_count; k++)
		ok = ok && want(j, side->keys[k].outer);
	return ok;
}

static struct rql_rel *table_rel(struct joining *j, uint32_t table)
{
	struct collecting c = {.arena = j->arena, .table = table};
	for (uint32_t i = 0; i < j->wanted.count; i++)
		rql_expr_leaves(j->wanted.items[i], collect, &c);
	struct rql_rel *get = rql_rel_new(j->arena, RQL_REL_GET, "LOGICAL_GET", c.columns.count, 0);
	uint32_t first = j->rel ? j->rel->column_count : 0;
	if (c.failed || !get)
		return NULL;
	get->table = j->star->block->tables[table];
	get->column_ids = RQL_NEW_ARRAY(j->arena, uint32_t, c.columns.count);
	get->column_names = RQL_NEW_ARRAY(j->arena, const char *, c.columns.count);
	if (!get->column_ids || !get->column_names)
		return NULL;
	for (uint32_t i = 0; i < c.columns.count; i++) {
		const struct rql_expr *e = c.columns.items[i];
		get->types[i] = e->type;
		get->names[i] = get->column_names[i] = e->alias ? e->alias : "";
		get->column_ids[i] = e->index;
		if (!add_place(j, table, e->index, first + i))
			return NULL;
	}
	return get;
}

/* ---- joins ---- */

/* rel becomes its join with `right`; mark: of a MARK join, one column more instead of right's. */
static struct rql_rel *join(struct joining *j, enum rql_join_type kind, const struct rql_rel *right, uint32_t conditions)
{
	bool mark = kind == RQL_JOIN_MARK, filters = kind == RQL_JOIN_SEMI || kind == RQL_JOIN_ANTI;
	uint32_t lefts = j->rel->column_count, more = mark ? 1 : filters ? 0 : right->column_count;
	struct rql_rel *rel = rql_rel_new(j->arena, RQL_REL_JOIN, "LOGICAL_JOIN", lefts + more, 2);
	if (!rel || !(rel->exprs = RQL_NEW_ARRAY(j->arena, struct rql_expr *, conditions)))
		return NULL;
	rel->join = kind;
	rel->expr_count = conditions;
	rel->children[0] = j->rel;
	rel->children[1] = (struct rql_rel *)(uintptr_t)right;
	memcpy(rel->types, j->rel->types, lefts * sizeof *rel->types);
	if (j->rel->names)
		memcpy(rel->names, j->rel->names, lefts * sizeof *rel->names);
	for (uint32_t i = 0; i < more; i++) {
		rel->types[lefts + i] = mark ? rql_type_simple(RQL_TYPE_BOOLEAN) : right->types[i];
		rel->names[lefts + i] = mark || !right->names ? NULL : right->names[i];
	}
	return rel;
}

static bool join_table(struct joining *j, uint32_t table)
{
	struct rql_rel *get = table_rel(j, table);
	struct rql_rel *rel = get && j->rel ? join(j, RQL_JOIN_CROSS, get, 0) : get;
	j->rel = rel ? rel : j->rel;
	return rel != NULL;
}

static bool join_tables(struct joining *j)
{
	bool ok = true;
	for (uint32_t t = 0; t < j->star->block->table_count && ok; t++)
		ok = j->star->owner[t] != j->subtree || join_table(j, t);
	return ok && j->rel;
}

static enum rql_join_type join_of(const struct rql_block_side *side)
{
	switch (side->kind) {
	case RQL_SIDE_LEFT:
		return RQL_JOIN_LEFT;
	case RQL_SIDE_SEMI:
		return RQL_JOIN_SEMI;
	case RQL_SIDE_ANTI:
		return side->not_in ? RQL_JOIN_MARK : RQL_JOIN_ANTI;
	default:
		return RQL_JOIN_MARK;
	}
}

/* NOT IN: what the mark leaves open is no row either. */
static bool refuse_marked(struct joining *j)
{
	struct rql_expr *not = rql_expr_new(j->arena, RQL_EXPR_NOT, rql_type_simple(RQL_TYPE_BOOLEAN), 1);
	return not && (not->children[0] = rql_expr_ref(j->arena, j->rel, j->rel->column_count - 1)) &&
	       rql_expr_list_add(j->arena, &j->conditions, not);
}

static bool add_conditions(struct joining *j, struct rql_rel *rel, const struct rql_block_side *side,
                           struct rql_expr *const *inner)
{
	for (uint32_t k = 0; k < side->key_count; k++) {
		struct rql_expr *outer = over_rel(j, side->keys[k].outer);
		if (!outer || !inner[k] ||
		    !(rel->exprs[k] = rql_expr_comparison(
		          j->arena, side->keys[k].null_safe ? "IS NOT DISTINCT FROM" : "=", outer, inner[k])))
			return false;
	}
	return true;
}

/* A SEMI or ANTI side of a side's columns drops no row here, for the row that it would drop may be one without a match:
 * whether there is a row becomes a column. The side's keys, each once, beside TRUE. */
static bool join_existence(struct joining *j, uint32_t i)
{
	const struct rql_block_side *side = &j->star->block->sides[i];
	uint32_t lefts = j->rel->column_count, keys = side->key_count;
	struct rql_expr *columns[3] = {NULL}, *inner[2] = {NULL};
	for (uint32_t k = 0; k < keys; k++)
		columns[k] = (struct rql_expr *)(uintptr_t)side->keys[k].inner;
	if (!(columns[keys] = rql_expr_bool(j->arena, true)))
		return false;
	struct rql_rel *rows = rql_rel_project(j->arena, (struct rql_rel *)(uintptr_t)side->rel, columns, keys + 1);
	rows = rows ? rql_rel_over(j->arena, RQL_REL_DISTINCT, "LOGICAL_DISTINCT", rows, 0) : NULL;
	struct rql_rel *rel = rows ? join(j, RQL_JOIN_LEFT, rows, keys) : NULL;
	for (uint32_t k = 0; rel && k < keys; k++)
		if ((inner[k] = rql_expr_ref(j->arena, rows, k)))
			inner[k]->index += lefts;
	if (!rel || !add_conditions(j, rel, side, inner))
		return false;
	j->rel = rel;
	for (uint32_t mark = 0; mark < 2; mark++) {
		if (!add_place(j, RQL_BLOCK_SIDE(i), mark, lefts + keys))
			return false;
		j->places[j->count - 1].open = true;
	}
	return true;
}

static bool join_side(struct joining *j, uint32_t i)
{
	const struct rql_block_side *side = &j->star->block->sides[i];
	bool of_side = own_side(j) != NULL;
	enum rql_join_type kind = join_of(side);
	uint32_t lefts = j->rel->column_count, table = RQL_BLOCK_SIDE(i);
	struct rql_expr *inner[2] = {NULL};
	if (of_side && (kind == RQL_JOIN_SEMI || kind == RQL_JOIN_ANTI))
		return join_existence(j, i);
	struct rql_rel *rel = join(j, kind, side->rel, side->key_count);
	for (uint32_t k = 0; k < side->key_count; k++)
		inner[k] = rql_expr_transform(j->arena, side->keys[k].inner, behind_rel, j);
	if (!rel || !add_conditions(j, rel, side, inner))
		return false;
	j->rel = rel;
	for (uint32_t c = 0; kind == RQL_JOIN_LEFT && c < side->rel->column_count; c++)
		if (!add_place(j, table, c, lefts + c))
			return false;
	if (kind == RQL_JOIN_MARK && (of_side || side->kind == RQL_SIDE_MARK)) /* three-valued: it says what both columns say */
		return add_place(j, table, RQL_MARK_OF_KEY, lefts) && add_place(j, table, RQL_MARK_OF_NULL, lefts);
	return kind != RQL_JOIN_MARK || refuse_marked(j);
}

static bool take_side(struct joining *j, const struct rql_star_subtree *tree, const struct rql_rel *rows)
{
	j->rel = (struct rql_rel *)(uintptr_t)rows;
	for (uint32_t c = 0; c < rows->column_count; c++)
		if (!add_place(j, tree->root, c, c))
			return false;
	return true;
}

static bool join_all(struct joining *j, const struct rql_star_subtree *tree, const struct rql_rel *rows)
{
	bool ok = want_tree(j, tree);
	for (uint32_t i = 0; i < j->star->block->side_count; i++)
		ok = ok && (!is_attached(j, i) || want_keys(j, &j->star->block->sides[i]));
	if (!ok || !(tree->side ? take_side(j, tree, rows) : join_tables(j)))
		return false;
	for (uint32_t i = 0; i < j->star->block->side_count; i++)
		if (is_attached(j, i) && !join_side(j, i))
			return false;
	for (uint32_t i = 0; i < tree->conjuncts.count; i++) {
		struct rql_expr *e = over_rel(j, tree->conjuncts.items[i]);
		if (!e || !rql_expr_list_add(j->arena, &j->conditions, e))
			return false;
	}
	j->rel = rql_rel_filter(j->arena, j->rel, &j->conditions);
	return j->rel != NULL;
}

static bool add_output(struct joining *j, struct rql_expr_list *list, const struct rql_expr *e)
{
	struct rql_expr *over = over_rel(j, e);
	return over && rql_expr_list_add(j->arena, list, over);
}

struct rql_rel *rql_subtree_rel(struct rql_arena *arena, const struct rql_star *star, uint32_t subtree,
                                const struct rql_rel *rows, bool keys_only)
{
	const struct rql_star_subtree *tree = &star->subtrees[subtree];
	bool mark = tree->side && tree->side->kind == RQL_SIDE_MARK, set = tree->side && tree->side->kind != RQL_SIDE_LEFT;
	struct joining j = {.arena = arena, .star = star, .subtree = subtree};
	struct rql_expr_list columns = {0};
	bool ok = join_all(&j, tree, rows ? rows : tree->side ? tree->side->rel : NULL) &&
	          add_output(&j, &columns, tree->key) && (!tree->key2 || add_output(&j, &columns, tree->key2));
	for (uint32_t o = 0; ok && o < tree->outputs.count && !mark && !keys_only; o++)
		ok = add_output(&j, &columns, tree->outputs.items[o]);
	struct rql_rel *rel = ok ? rql_rel_project(arena, j.rel, columns.items, columns.count) : NULL;
	return rel && set ? rql_rel_over(arena, RQL_REL_DISTINCT, "LOGICAL_DISTINCT", rel, 0) : rel;
}

struct rql_rel *rql_subtree_limit(struct rql_arena *arena, struct rql_rel *rel, uint64_t rows)
{
	struct rql_rel *limit = rows == UINT64_MAX ? rel : rql_rel_over(arena, RQL_REL_LIMIT, "LOGICAL_LIMIT", rel, 0);
	if (limit && limit != rel)
		limit->limit = rows;
	return limit;
}

/* ---- a side's keys, as the fact table's rows have them ---- */

static bool note_reading(const struct rql_expr *leaf, void *state)
{
	const struct rql_star_part *part = state;
	return leaf->kind == RQL_EXPR_COLUMN && leaf->table < RQL_BLOCK_MAX_TABLES && part->tables >> leaf->table & 1;
}

bool rql_star_part_reads(const struct rql_star_part *part, const struct rql_expr *e)
{
	return rql_expr_leaves(e, note_reading, (void *)(uintptr_t)part);
}

bool rql_star_part_is_restricted(const struct rql_star_part *part, const struct rql_block *block)
{
	bool found = false;
	for (uint32_t i = 0; i < block->conjunct_count && !found; i++)
		found = !rql_expr_is_equijoin(block->conjuncts[i]) && rql_star_part_reads(part, block->conjuncts[i]);
	return found;
}

static bool want_part(struct joining *j, const struct rql_star_part *part)
{
	const struct rql_block *block = j->star->block;
	bool ok = true;
	for (uint32_t i = 0; i < block->conjunct_count; i++)
		ok = ok && (!rql_star_part_reads(part, block->conjuncts[i]) || want(j, block->conjuncts[i]));
	for (uint32_t i = 0; i < block->side_count; i++)
		ok = ok && (!(part->sides >> i & 1) || want_keys(j, &block->sides[i]));
	return ok;
}

static bool join_part(struct joining *j, const struct rql_star_part *part)
{
	const struct rql_block *block = j->star->block;
	bool ok = true;
	for (uint32_t t = 0; t < block->table_count && ok; t++)
		ok = !(part->tables >> t & 1) || join_table(j, t);
	for (uint32_t i = 0; i < block->side_count && ok; i++)
		ok = !(part->sides >> i & 1) || join_side(j, i);
	for (uint32_t i = 0; i < block->conjunct_count && ok; i++) {
		if (!rql_star_part_reads(part, block->conjuncts[i]))
			continue;
		struct rql_expr *e = over_rel(j, block->conjuncts[i]);
		ok = e && rql_expr_list_add(j->arena, &j->conditions, e);
	}
	return ok && (j->rel = rql_rel_filter(j->arena, j->rel, &j->conditions));
}

struct rql_rel *rql_star_part_rows(struct rql_arena *arena, const struct rql_star *star, const struct rql_star_part *part,
                                   const struct rql_expr *const *columns, uint32_t count)
{
	struct joining j = {.arena = arena, .star = star, .subtree = RQL_STAR_FACT};
	struct rql_expr_list outputs = {0};
	bool ok = true;
	for (uint32_t i = 0; i < count; i++)
		ok = ok && want(&j, columns[i]);
	ok = ok && want_part(&j, part) && join_part(&j, part);
	for (uint32_t i = 0; i < count; i++)
		ok = ok && add_output(&j, &outputs, columns[i]);
	return ok ? rql_rel_project(arena, j.rel, outputs.items, outputs.count) : NULL;
}

struct rql_rel *rql_star_part_keys(struct rql_arena *arena, const struct rql_star *star,
                                   const struct rql_star_part *part, const struct rql_block_side *side)
{
	const struct rql_expr *outer[RQL_SIDE_KEYS];
	for (uint32_t k = 0; k < side->key_count; k++)
		outer[k] = side->keys[k].outer;
	return rql_star_part_rows(arena, star, part, outer, side->key_count);
}
