/* Making a block of a plan: inner joins are flattened to tables and conditions, all other joins become sides, and an
 * aggregate or a projection above them its outputs. */
#include "bind/block/block.h"

#include "bind/block/tuples.h"

static bool is_key_type(struct rql_type type)
{
	return type.id != RQL_TYPE_FLOAT && type.id != RQL_TYPE_DOUBLE && type.id != RQL_TYPE_INTERVAL &&
	       type.id != RQL_TYPE_OTHER;
}

/* `a = a` joins nothing (it drops NULLs), a column of a side is not there before the side is joined, and equal numbers of
 * these types may still look different: -0.0 and 0.0, 30 days and 1 month. */
bool rql_expr_is_equijoin(const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "=") != 0)
		return false;
	const struct rql_expr *a = e->children[0], *b = e->children[1];
	return a->kind == RQL_EXPR_COLUMN && b->kind == RQL_EXPR_COLUMN && rql_type_equal(a->type, b->type) &&
	       (a->table != b->table || a->index != b->index) && a->table < RQL_BLOCK_MAX_TABLES &&
	       b->table < RQL_BLOCK_MAX_TABLES && is_key_type(a->type);
}

void rql_block_leaves(const struct rql_block *block, rql_leaf_fn *fn, void *state)
{
	for (uint32_t i = 0; i < block->conjunct_count; i++)
		rql_expr_leaves(block->conjuncts[i], fn, state);
	for (uint32_t i = 0; i < block->above_count; i++)
		rql_expr_leaves(block->above[i], fn, state);
	for (uint32_t i = 0; i < block->group_count; i++)
		rql_expr_leaves(block->groups[i], fn, state);
	for (uint32_t i = 0; i < block->agg_count; i++)
		rql_expr_leaves(block->aggs[i], fn, state);
	for (uint32_t i = 0; i < block->side_count; i++) {
		for (uint32_t k = 0; k < block->sides[i].key_count; k++)
			rql_expr_leaves(block->sides[i].keys[k].outer, fn, state);
		for (uint32_t k = 0; k < block->sides[i].condition_count; k++)
			rql_expr_leaves(block->sides[i].conditions[k], fn, state);
	}
}

static const char *flipped(const char *name)
{
	static const char *const pairs[][2] = {{"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (!strcmp(name, pairs[i][0]))
			return pairs[i][1];
	return name; /* = <> and the two IS DISTINCT forms are symmetric */
}

static bool should_flip(const struct rql_expr *a, const struct rql_expr *b)
{
	if (a->kind == RQL_EXPR_CONSTANT)
		return b->kind != RQL_EXPR_CONSTANT;
	if (a->kind != RQL_EXPR_COLUMN || b->kind != RQL_EXPR_COLUMN)
		return false;
	return a->table > b->table || (a->table == b->table && a->index > b->index);
}

static bool add_normalised(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *e)
{
	if (e->kind == RQL_EXPR_COMPARE && should_flip(e->children[0], e->children[1])) {
		e = rql_expr_comparison(arena, flipped(e->name), e->children[1], e->children[0]);
		if (!e)
			return false;
	}
	for (uint32_t i = 0; i < list->count; i++)
		if (rql_expr_equal(list->items[i], e))
			return true;
	return rql_expr_list_add(arena, list, e);
}

/* What an OR says of several columns together comes before it. */
static bool add_tuples(struct rql_arena *arena, struct rql_expr_list *list, const struct rql_expr *e)
{
	struct rql_expr_list parts = {0};
	bool ok = rql_tuples_add(arena, &parts, e);
	for (uint32_t i = 0; i < parts.count && ok; i++)
		ok = add_normalised(arena, list, parts.items[i]);
	return ok;
}

bool rql_conjuncts_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *e)
{
	if (e->kind == RQL_EXPR_AND) {
		for (uint32_t i = 0; i < e->child_count; i++)
			if (!rql_conjuncts_add(arena, list, e->children[i]))
				return false;
		return true;
	}
	if (e->kind == RQL_EXPR_BETWEEN && e->name && strlen(e->name) == 2) {
		struct rql_expr *low =
			rql_expr_comparison(arena, e->name[0] == '[' ? ">=" : ">", e->children[0], e->children[1]);
		struct rql_expr *high =
			rql_expr_comparison(arena, e->name[1] == ']' ? "<=" : "<", e->children[0], e->children[2]);
		return low && high && add_normalised(arena, list, low) && add_normalised(arena, list, high);
	}
	if (!add_tuples(arena, list, e))
		return false;
	return add_normalised(arena, list, e);
}

/* ---- from a plan ---- */

struct flattening {
	struct rql_arena *arena;
	struct rql_table_ref tables[RQL_BLOCK_MAX_TABLES];
	const struct rql_rel *derived[RQL_BLOCK_MAX_TABLES];
	uint32_t table_count;
	bool over_groups; /* which may take a table's place */
	struct rql_expr_list conjuncts;
	bool full; /* the last side is: conditions are above it, and no join */
	struct rql_expr_list above_full;
	uint32_t side_count;
	struct rql_block_side sides[RQL_BLOCK_MAX_SIDES];
	const char *above; /* for messages */
	struct rql_error *err;
};

struct columns { /* what a node's output columns are, over base columns */
	uint32_t count;
	struct rql_expr **items;
};

static struct rql_expr *column_of_ref(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct columns *input = state;
	(void)arena;
	return ref->index < input->count ? input->items[ref->index] : NULL;
}

/* Over base columns an expression is written out, and each projection may double it. */
#define LARGEST_EXPRESSION 5000u

static bool is_known_column(const struct rql_expr *ref, void *state)
{
	return ref->index < ((const struct columns *)state)->count;
}

static rql_status rewrite(struct flattening *f, const struct rql_expr *expr, struct columns *input,
                          struct rql_expr **out)
{
	if (rql_expr_each_ref(expr, is_known_column, input) &&
	    rql_expr_size(expr, input->items, LARGEST_EXPRESSION) >= LARGEST_EXPRESSION)
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED,
		                     "an expression would be written out with more than %u parts", LARGEST_EXPRESSION);
	*out = rql_expr_rewrite(f->arena, expr, column_of_ref, input);
	return *out ? RQL_OK
	            : rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "an expression of the plan could not be resolved");
}

/* NOT x IN (...), as the only thing that is asked of the mark. */
static bool becomes_anti(struct flattening *f, const struct rql_expr *e)
{
	const struct rql_expr *mark = e->kind == RQL_EXPR_NOT ? e->children[0] : NULL;
	if (!mark || mark->kind != RQL_EXPR_CASE || mark->child_count != 3 || mark->children[1]->kind != RQL_EXPR_COLUMN ||
	    mark->children[1]->table < RQL_BLOCK_MAX_TABLES)
		return false;
	struct rql_block_side *side = &f->sides[mark->children[1]->table - RQL_BLOCK_MAX_TABLES];
	if (side->kind != RQL_SIDE_MARK || mark->children[0]->kind != RQL_EXPR_IS_NULL ||
	    mark->children[0]->children[0] != side->keys[0].outer)
		return false;
	side->kind = RQL_SIDE_ANTI;
	side->not_in = true;
	return true;
}

static rql_status add_conditions(struct flattening *f, const struct rql_rel *rel, struct columns *input)
{
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		struct rql_expr *e;
		RQL_TRY(rewrite(f, rel->exprs[i], input, &e));
		if (becomes_anti(f, e))
			continue;
		if (!rql_conjuncts_add(f->arena, f->full ? &f->above_full : &f->conjuncts, e))
			return rql_error_memory(f->err, 0, "a plan");
	}
	return RQL_OK;
}

/* A table, or what takes its place. */
static rql_status flatten_get(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	const bool derived = rel->kind != RQL_REL_GET;
	if (f->table_count == RQL_BLOCK_MAX_TABLES)
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "more than %u tables are joined", RQL_BLOCK_MAX_TABLES);
	uint32_t table = f->table_count++;
	const char *name = rel->kind == RQL_REL_SETOP ? "(union)" : "(groups)";
	f->tables[table] = derived ? (struct rql_table_ref){.catalog = "", .schema = "", .table = name} : rel->table;
	f->derived[table] = derived ? rel : NULL;
	out->count = rel->column_count;
	out->items = RQL_NEW_ARRAY(f->arena, struct rql_expr *, rel->column_count);
	if (!out->items)
		return rql_error_memory(f->err, 0, "a plan");
	for (uint32_t i = 0; i < rel->column_count; i++) {
		struct rql_expr *e = rql_expr_new(f->arena, RQL_EXPR_COLUMN, rel->types[i], 0);
		if (!e)
			return rql_error_memory(f->err, 0, "a plan");
		e->table = table;
		e->index = derived ? i : rel->column_ids[i];
		e->alias = derived ? rel->names ? rel->names[i] : NULL : rel->column_names ? rel->column_names[i] : NULL;
		out->items[i] = e;
	}
	return RQL_OK;
}

static rql_status flatten(struct flattening *f, const struct rql_rel *rel, struct columns *out);

/* ---- sides ---- */

struct joining {
	struct flattening *f;
	const struct rql_rel *rel;
	bool right;            /* the block is the join's right input */
	uint32_t lefts, outer; /* columns of the left input, of the block */
	struct columns input;  /* of the block */
	bool reals;            /* are keys, for there is no other */
	struct rql_block_side side;
	struct rql_expr_list open; /* conditions without which a row of the side is no match, over both */
	struct rql_expr_list own;  /* FULL: such over the side alone, which do not drop its rows */
};

/* The side's column that a REF of the join's conditions means; UINT32_MAX: it is the block's. */
static uint32_t side_column(const struct joining *j, uint32_t ref)
{
	bool of_left = ref < j->lefts;
	return of_left != j->right ? UINT32_MAX : of_left ? ref : ref - j->lefts;
}

enum { READS_NONE = 0, READS_OUTER = 1, READS_SIDE = 2 };
struct reading {
	const struct joining *j;
	unsigned inputs;
};

static bool note_input(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	r->inputs |= side_column(r->j, leaf->index) == UINT32_MAX ? READS_OUTER : READS_SIDE;
	return true;
}

static unsigned inputs_of(const struct joining *j, const struct rql_expr *e)
{
	struct reading r = {j, READS_NONE};
	rql_expr_leaves(e, note_input, &r);
	return r.inputs;
}

/* Over the block's columns; the side's are COLUMNs of it. */
static struct rql_expr *to_both(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct joining *j = state;
	uint32_t column = side_column(j, ref->index), at = j->right ? ref->index - j->lefts : ref->index;
	if (column == UINT32_MAX)
		return at < j->input.count ? j->input.items[at] : NULL;
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_COLUMN, ref->type, 0);
	if (e) {
		e->table = RQL_BLOCK_SIDE(j->f->side_count);
		e->index = column;
		e->alias = ref->alias;
	}
	return e;
}

static struct rql_expr *to_side(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_REF, ref->type, 0);
	if (e)
		e->index = side_column(state, ref->index);
	return e;
}

/* Is e an equality of an expression of the block, which is *outer of its children, and one of the side? */
static bool is_key(const struct joining *j, const struct rql_expr *e, bool reals, uint32_t *outer)
{
	if (e->kind != RQL_EXPR_COMPARE || (strcmp(e->name, "IS NOT DISTINCT FROM") != 0 && strcmp(e->name, "=") != 0) ||
	    !rql_type_equal(e->children[0]->type, e->children[1]->type) ||
	    !(reals ? rql_type_is_real(e->children[0]->type) : is_key_type(e->children[0]->type)))
		return false;
	*outer = inputs_of(j, e->children[0]) != READS_OUTER;
	return inputs_of(j, e->children[*outer]) == READS_OUTER && inputs_of(j, e->children[1 - *outer]) == READS_SIDE;
}

static bool has_key(const struct joining *j, const struct rql_expr *e)
{
	uint32_t outer;
	bool some = is_key(j, e, false, &outer);
	for (uint32_t i = 0; e->kind == RQL_EXPR_AND && i < e->child_count; i++)
		some |= has_key(j, e->children[i]);
	return some;
}

/* What is no real number has two keys at most, else there is one. false: e is none. */
static rql_status take_key(struct joining *j, const struct rql_expr *e, bool *taken)
{
	uint32_t i;
	*taken = j->side.key_count < (j->reals                        ? 1u
	                              : rql_side_is_asof(j->side.kind) ? RQL_SIDE_KEYS
	                                                               : 2u) &&
	         is_key(j, e, j->reals, &i);
	if (!*taken)
		return RQL_OK;
	struct rql_side_key *key = &j->side.keys[j->side.key_count++];
	key->null_safe = strcmp(e->name, "=") != 0;
	key->outer = rql_expr_rewrite(j->f->arena, e->children[i], to_both, j);
	key->inner = rql_expr_rewrite(j->f->arena, e->children[1 - i], to_side, j);
	return key->outer && key->inner ? RQL_OK : rql_error_memory(j->f->err, 0, "a plan");
}

/* A condition over the side alone filters it before the join. */
static rql_status filter_side(struct joining *j, const struct rql_expr *e)
{
	struct rql_rel *filter = RQL_NEW(j->f->arena, struct rql_rel);
	struct rql_rel **child = RQL_NEW_ARRAY(j->f->arena, struct rql_rel *, 1);
	struct rql_expr **exprs = RQL_NEW_ARRAY(j->f->arena, struct rql_expr *, 1);
	if (!filter || !child || !exprs || !(exprs[0] = rql_expr_rewrite(j->f->arena, e, to_side, j)))
		return rql_error_memory(j->f->err, 0, "a plan");
	child[0] = (struct rql_rel *)(uintptr_t)j->side.rel;
	*filter = (struct rql_rel){.kind = RQL_REL_FILTER,
	                           .name = "LOGICAL_FILTER",
	                           .column_count = child[0]->column_count,
	                           .types = child[0]->types,
	                           .names = child[0]->names,
	                           .child_count = 1,
	                           .children = child,
	                           .expr_count = 1,
	                           .exprs = exprs};
	j->side.rel = filter;
	return RQL_OK;
}

static rql_status take_condition(struct joining *j, const struct rql_expr *e)
{
	bool taken;
	if (e->kind == RQL_EXPR_AND) {
		for (uint32_t i = 0; i < e->child_count; i++)
			RQL_TRY(take_condition(j, e->children[i]));
		return RQL_OK;
	}
	RQL_TRY(take_key(j, e, &taken));
	if (taken)
		return RQL_OK;
	if (j->side.kind == RQL_SIDE_FULL && inputs_of(j, e) == READS_SIDE) {
		struct rql_expr *own = rql_expr_rewrite(j->f->arena, e, to_side, j);
		return own && rql_expr_list_add(j->f->arena, &j->own, own) ? RQL_OK : rql_error_memory(j->f->err, 0, "a plan");
	}
	if (j->side.kind != RQL_SIDE_MARK && inputs_of(j, e) == READS_SIDE)
		return filter_side(j, e);
	if (j->side.kind == RQL_SIDE_MARK)
		return rql_error_set(j->f->err, RQL_ERROR_UNSUPPORTED,
		                     "IN as a value by a condition that is not an equality of two columns");
	struct rql_expr *both = rql_expr_rewrite(j->f->arena, e, to_both, j);
	return both && rql_conjuncts_add(j->f->arena, &j->open, both) ? RQL_OK : rql_error_memory(j->f->err, 0, "a plan");
}

static rql_status set_kind(struct joining *j)
{
	static const struct {
		enum rql_join_type join;
		enum rql_side_kind kind;
		bool right;
	} kinds[] = {
		{RQL_JOIN_LEFT, RQL_SIDE_LEFT, false},      {RQL_JOIN_RIGHT, RQL_SIDE_LEFT, true},
		{RQL_JOIN_SINGLE, RQL_SIDE_LEFT, false},    {RQL_JOIN_SEMI, RQL_SIDE_SEMI, false},
		{RQL_JOIN_RIGHT_SEMI, RQL_SIDE_SEMI, true}, {RQL_JOIN_ANTI, RQL_SIDE_ANTI, false},
		{RQL_JOIN_RIGHT_ANTI, RQL_SIDE_ANTI, true}, {RQL_JOIN_MARK, RQL_SIDE_MARK, false},
		{RQL_JOIN_FULL, RQL_SIDE_FULL, false},      {RQL_JOIN_ASOF, RQL_SIDE_ASOF, false},
		{RQL_JOIN_ASOF_LEFT, RQL_SIDE_ASOF_LEFT, false},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (kinds[i].join != j->rel->join)
			continue;
		j->side.kind = kinds[i].kind;
		j->side.single = j->rel->join == RQL_JOIN_SINGLE;
		j->right = kinds[i].right;
		return RQL_OK;
	}
	return rql_error_set(j->f->err, RQL_ERROR_UNSUPPORTED, "an unknown join lies below the %s", j->f->above);
}

/* CASE WHEN all conditions THEN e ELSE NULL END */
static struct rql_expr *only_when(struct rql_arena *arena, const struct rql_expr_list *conditions, struct rql_expr *e)
{
	struct rql_expr *when = conditions->items[0], *choice = rql_expr_new(arena, RQL_EXPR_CASE, e->type, 3);
	struct rql_expr *null = rql_expr_new(arena, RQL_EXPR_CONSTANT, e->type, 0);
	if (conditions->count > 1 &&
	    (when = rql_expr_new(arena, RQL_EXPR_AND, rql_type_simple(RQL_TYPE_BOOLEAN), conditions->count)))
		memcpy(when->children, conditions->items, conditions->count * sizeof *when->children);
	if (!choice || !null || !when)
		return NULL;
	null->value = rql_value_null(e->type);
	choice->children[0] = when;
	choice->children[1] = e;
	choice->children[2] = null;
	return choice;
}

/* Rows of a FULL side that do not pass its own conditions have no match: their key is NULL. And what is below it is NULL in
 * rows without a match, whatever it is made of: columns are as they are. */
static rql_status finish_full(struct joining *j)
{
	struct rql_side_key *key = &j->side.keys[0];
	for (uint32_t i = 0; i < j->input.count; i++)
		if (j->input.items[i]->kind != RQL_EXPR_COLUMN)
			return rql_error_set(j->f->err, RQL_ERROR_UNSUPPORTED, "an expression below a full outer join");
	if (!j->own.count)
		return RQL_OK;
	if (key->null_safe)
		return rql_error_set(j->f->err, RQL_ERROR_UNSUPPORTED,
		                     "a full outer join by a condition of one side, where NULL equals NULL");
	key->inner = only_when(j->f->arena, &j->own, (struct rql_expr *)(uintptr_t)key->inner);
	return key->inner ? RQL_OK : rql_error_memory(j->f->err, 0, "a plan");
}

/* A column of a LEFT side in a row of the block: with conditions beyond the keys it is NULL where they are not true. */
static struct rql_expr *column_of_side(struct joining *j, uint32_t column)
{
	struct rql_arena *arena = j->f->arena;
	struct rql_expr ref = {.kind = RQL_EXPR_REF,
	                       .type = j->side.rel->types[column],
	                       .alias = j->side.rel->names ? j->side.rel->names[column] : NULL,
	                       .index = j->right ? column : column + j->lefts};
	struct rql_expr *e = to_both(arena, &ref, j);
	return e && j->open.count && j->side.kind == RQL_SIDE_LEFT ? only_when(arena, &j->open, e) : e;
}

/* CASE WHEN key IS NULL THEN its mark ELSE the other's END */
static struct rql_expr *mark_of(struct joining *j)
{
	struct rql_arena *arena = j->f->arena;
	struct rql_type boolean = rql_type_simple(RQL_TYPE_BOOLEAN);
	struct rql_expr *choice = rql_expr_new(arena, RQL_EXPR_CASE, boolean, 3);
	struct rql_expr *test = rql_expr_new(arena, RQL_EXPR_IS_NULL, boolean, 1);
	struct rql_expr *marks[2] = {rql_expr_new(arena, RQL_EXPR_COLUMN, boolean, 0),
	                             rql_expr_new(arena, RQL_EXPR_COLUMN, boolean, 0)};
	if (!choice || !test || !marks[0] || !marks[1])
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		marks[i]->table = RQL_BLOCK_SIDE(j->f->side_count);
		marks[i]->index = i;
	}
	test->children[0] = (struct rql_expr *)(uintptr_t)j->side.keys[0].outer;
	choice->children[0] = test;
	choice->children[1] = marks[RQL_MARK_OF_NULL];
	choice->children[2] = marks[RQL_MARK_OF_KEY];
	return choice;
}

static rql_status side_outputs(struct joining *j, struct columns *out)
{
	const bool gives =
		j->side.kind == RQL_SIDE_LEFT || j->side.kind == RQL_SIDE_FULL || rql_side_is_asof(j->side.kind);
	uint32_t blocks = j->input.count, sides = gives ? j->side.rel->column_count : 0;
	bool mark = j->side.kind == RQL_SIDE_MARK;
	out->count = blocks + sides + mark;
	out->items = RQL_NEW_ARRAY(j->f->arena, struct rql_expr *, out->count);
	if (!out->items)
		return rql_error_memory(j->f->err, 0, "a plan");
	memcpy(out->items + (j->right ? sides : 0), j->input.items, blocks * sizeof *out->items);
	for (uint32_t i = 0; i < sides; i++)
		if (!(out->items[j->right ? i : blocks + i] = column_of_side(j, i)))
			return rql_error_memory(j->f->err, 0, "a plan");
	if (mark && !(out->items[blocks] = mark_of(j)))
		return rql_error_memory(j->f->err, 0, "a plan");
	return RQL_OK;
}

/* Nothing in rel refers to a common table expression around it. */
static bool is_closed(const struct rql_rel *rel, const uint64_t *ctes, uint32_t count)
{
	uint64_t within[16];
	bool known = rel->kind != RQL_REL_CTE_REF;
	if (rel->kind == RQL_REL_CTE) {
		if (count == sizeof within / sizeof *within || !is_closed(rel->children[0], ctes, count))
			return false;
		if (count)
			memcpy(within, ctes, count * sizeof *ctes);
		within[count] = rel->cte;
		return is_closed(rel->children[1], within, count + 1);
	}
	for (uint32_t i = 0; i < count; i++)
		known |= rel->kind == RQL_REL_CTE_REF && ctes[i] == rel->cte;
	for (uint32_t i = 0; i < rel->child_count; i++)
		known = known && is_closed(rel->children[i], ctes, count);
	return known;
}

static rql_status above_full(struct flattening *f)
{
	return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "a full outer join lies below another join");
}

/* Of an ASOF join: is each condition one of both inputs, so that the one that is no key compares their values? */
static bool is_order(const struct joining *j, const struct rql_rel *rel)
{
	bool both = true;
	for (uint32_t i = 0; i < rel->expr_count; i++)
		both &= inputs_of(j, rel->exprs[i]) == (READS_OUTER | READS_SIDE);
	const struct rql_expr *open = j->open.items[0];
	return both && open->kind == RQL_EXPR_COMPARE && (open->name[0] == '<' || open->name[0] == '>') &&
	       strcmp(open->name, "<>") != 0;
}

static rql_status flatten_side(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	struct joining j = {.f = f, .rel = rel, .lefts = rel->children[0]->column_count};
	RQL_TRY(set_kind(&j));
	j.side.rel = rel->children[!j.right];
	RQL_TRY(flatten(f, rel->children[j.right], &j.input));
	if (f->full)
		return above_full(f);
	if (f->side_count == RQL_BLOCK_MAX_SIDES)
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "more than %u outer, semi and anti joins",
		                     RQL_BLOCK_MAX_SIDES);
	j.reals = true;
	for (uint32_t i = 0; i < rel->expr_count; i++)
		j.reals &= !has_key(&j, rel->exprs[i]);
	for (uint32_t i = 0; i < rel->expr_count; i++)
		RQL_TRY(take_condition(&j, rel->exprs[i]));
	if (!is_closed(j.side.rel, NULL, 0))
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED,
		                     "an outer, semi or anti join with rows that are used elsewhere, too");
	if (rql_side_is_asof(j.side.kind) && (j.open.count != 1 || !is_order(&j, rel)))
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "an ASOF join by more than 4 equalities, or by others than of columns");
	const bool unkeyed = j.side.kind == RQL_SIDE_LEFT && !j.side.single && !j.side.key_count && j.open.count;
	if (!rql_side_is_asof(j.side.kind) && !unkeyed &&
	    (!j.side.key_count || (j.side.kind == RQL_SIDE_MARK && j.side.key_count > 1)))
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "an outer join, EXISTS or IN by %s",
		                     j.side.key_count ? "several columns of which one may be NULL"
		                                      : "no pair of equal columns");
	if (j.side.kind == RQL_SIDE_FULL)
		RQL_TRY(finish_full(&j));
	RQL_TRY(side_outputs(&j, out));
	j.side.condition_count = j.open.count;
	j.side.conditions = j.open.items;
	f->sides[f->side_count++] = j.side;
	f->full = j.side.kind == RQL_SIDE_FULL;
	return RQL_OK;
}

static rql_status flatten_join(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	if (rel->join != RQL_JOIN_INNER && rel->join != RQL_JOIN_CROSS)
		return flatten_side(f, rel, out);
	struct columns left, right, both;
	RQL_TRY(flatten(f, rel->children[0], &left));
	RQL_TRY(flatten(f, rel->children[1], &right));
	if (f->full)
		return above_full(f);
	both.count = left.count + right.count;
	both.items = RQL_NEW_ARRAY(f->arena, struct rql_expr *, both.count);
	if (!both.items)
		return rql_error_memory(f->err, 0, "a plan");
	memcpy(both.items, left.items, left.count * sizeof *both.items);
	memcpy(both.items + left.count, right.items, right.count * sizeof *both.items);
	RQL_TRY(add_conditions(f, rel, &both));
	*out = both;
	return RQL_OK;
}

static rql_status flatten_project(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	struct columns input;
	RQL_TRY(flatten(f, rel->children[0], &input));
	out->count = rel->expr_count;
	out->items = RQL_NEW_ARRAY(f->arena, struct rql_expr *, rel->expr_count);
	if (!out->items)
		return rql_error_memory(f->err, 0, "a plan");
	for (uint32_t i = 0; i < rel->expr_count; i++)
		RQL_TRY(rewrite(f, rel->exprs[i], &input, &out->items[i]));
	return RQL_OK;
}

/* UNION ALL takes a table's place, and UNION the DISTINCT of one. */
static rql_status flatten_union(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	struct rql_rel *all = RQL_NEW(f->arena, struct rql_rel), *distinct = RQL_NEW(f->arena, struct rql_rel);
	struct rql_rel **child = RQL_NEW_ARRAY(f->arena, struct rql_rel *, 1);
	if (rel->setop_all)
		return flatten_get(f, rel, out);
	if (!all || !distinct || !child)
		return rql_error_memory(f->err, 0, "a plan");
	*all = *rel;
	all->setop_all = true;
	child[0] = all;
	*distinct = (struct rql_rel){.kind = RQL_REL_DISTINCT,
	                             .name = "LOGICAL_DISTINCT",
	                             .column_count = rel->column_count,
	                             .types = rel->types,
	                             .names = rel->names,
	                             .child_count = 1,
	                             .children = child};
	return flatten_get(f, distinct, out);
}

static rql_status flatten(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	if (f->over_groups && rel->kind == RQL_REL_SETOP && rel->setop == RQL_SETOP_UNION)
		return flatten_union(f, rel, out);
	if (f->over_groups && (rel->kind == RQL_REL_AGGREGATE || rel->kind == RQL_REL_DISTINCT))
		return flatten_get(f, rel, out);
	switch (rel->kind) {
	case RQL_REL_GET:
		return flatten_get(f, rel, out);
	case RQL_REL_FILTER:
		RQL_TRY(flatten(f, rel->children[0], out));
		return add_conditions(f, rel, out);
	case RQL_REL_PROJECT:
		return flatten_project(f, rel, out);
	case RQL_REL_JOIN:
		return flatten_join(f, rel, out);
	case RQL_REL_OPAQUE:
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "%s", rql_rel_phrase(rel));
	case RQL_REL_EMPTY:
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "its conditions can never hold");
	default:
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "%s lies below the %s", rql_rel_phrase(rel), f->above);
	}
}

struct column_set {
	uint32_t count;
	uint64_t seen[256];
};

static bool count_column(const struct rql_expr *leaf, void *state)
{
	struct column_set *set = state;
	uint64_t key = (uint64_t)leaf->table << 32 | leaf->index;
	for (uint32_t i = 0; i < set->count; i++)
		if (set->seen[i] == key)
			return true;
	if (set->count < 256)
		set->seen[set->count++] = key;
	return true;
}

static uint32_t count_columns(const struct rql_block *block)
{
	struct column_set set = {0};
	rql_block_leaves(block, count_column, &set);
	return set.count;
}

static rql_status take_outputs(struct flattening *f, const struct rql_rel *rel, struct columns *input,
                               struct rql_block *b)
{
	b->group_count = rel->kind == RQL_REL_DISTINCT ? input->count : rel->group_count;
	b->agg_count = rel->kind == RQL_REL_DISTINCT ? 0 : rel->expr_count - rel->group_count;
	b->groups = RQL_NEW_ARRAY(f->arena, struct rql_expr *, b->group_count);
	b->aggs = RQL_NEW_ARRAY(f->arena, struct rql_expr *, b->agg_count);
	if (!b->groups || !b->aggs)
		return rql_error_memory(f->err, 0, "a plan");
	if (rel->kind == RQL_REL_DISTINCT) {
		memcpy(b->groups, input->items, input->count * sizeof *b->groups);
		return RQL_OK;
	}
	for (uint32_t i = 0; i < rel->expr_count; i++)
		RQL_TRY(rewrite(f, rel->exprs[i], input, i < b->group_count ? &b->groups[i] : &b->aggs[i - b->group_count]));
	return RQL_OK;
}

/* What was flattened; the outputs are there. */
static void take_tables(struct flattening *f, struct rql_block *b)
{
	b->table_count = f->table_count;
	b->tables = f->tables;
	b->derived = f->over_groups ? f->derived : NULL;
	b->conjunct_count = f->conjuncts.count;
	b->conjuncts = f->conjuncts.items;
	b->above_count = f->above_full.count;
	b->above = f->above_full.items;
	b->side_count = f->side_count;
	b->sides = f->sides;
	b->column_count = count_columns(b);
}

static rql_status make_block(struct rql_arena *arena, const struct rql_rel *rel, bool over_groups,
                             struct rql_block **out, struct rql_error *err)
{
	struct flattening *f = RQL_NEW(arena, struct flattening);
	struct rql_block *b = RQL_NEW(arena, struct rql_block);
	if (!f || !b)
		return rql_error_memory(err, sizeof *f, "a plan");
	f->arena = arena;
	f->above = "aggregate";
	f->over_groups = over_groups;
	f->err = err;
	struct columns input;
	RQL_TRY(flatten(f, rel->children[0], &input));
	RQL_TRY(take_outputs(f, rel, &input, b));
	take_tables(f, b);
	*out = b;
	return RQL_OK;
}

rql_status rql_block_make(struct rql_arena *arena, const struct rql_rel *rel, struct rql_block **out,
                          struct rql_error *err)
{
	return make_block(arena, rel, false, out, err);
}

rql_status rql_block_make_over(struct rql_arena *arena, const struct rql_rel *rel, struct rql_block **out,
                               struct rql_error *err)
{
	return make_block(arena, rel, true, out, err);
}

/* ---- rows ---- */

struct selecting {
	struct flattening *f;
	struct rql_rows_block *rows;
	bool limited;
	struct columns keys;
};

static rql_status take_limit(struct selecting *s, const struct rql_rel *rel)
{
	if (s->limited)
		return rql_error_set(s->f->err, RQL_ERROR_UNSUPPORTED, "a limit lies below another one");
	s->limited = true;
	s->rows->limit = rel->limit;
	s->rows->offset = rel->offset;
	return RQL_OK;
}

static rql_status take_order(struct selecting *s, const struct rql_rel *rel, struct columns *out)
{
	RQL_TRY(flatten(s->f, rel->children[0], out));
	s->rows->order_count = s->keys.count = rel->order_count;
	s->rows->orders = rel->orders;
	s->keys.items = RQL_NEW_ARRAY(s->f->arena, struct rql_expr *, rel->order_count);
	if (!s->keys.items)
		return rql_error_memory(s->f->err, 0, "a plan");
	for (uint32_t i = 0; i < rel->order_count; i++)
		RQL_TRY(rewrite(s->f, rel->orders[i].expr, out, &s->keys.items[i]));
	return RQL_OK;
}

/* Below an order and below a limit there is neither, for flatten takes over there; a limit below a projection is one of
 * the projection's rows. */
static rql_status flatten_rows(struct selecting *s, const struct rql_rel *rel, struct columns *out)
{
	struct columns input;
	switch (rel->kind) {
	case RQL_REL_PROJECT:
		RQL_TRY(flatten_rows(s, rel->children[0], &input));
		out->count = rel->expr_count;
		out->items = RQL_NEW_ARRAY(s->f->arena, struct rql_expr *, rel->expr_count);
		if (!out->items)
			return rql_error_memory(s->f->err, 0, "a plan");
		for (uint32_t i = 0; i < rel->expr_count; i++)
			RQL_TRY(rewrite(s->f, rel->exprs[i], &input, &out->items[i]));
		return RQL_OK;
	case RQL_REL_LIMIT:
		RQL_TRY(take_limit(s, rel));
		return flatten_rows(s, rel->children[0], out);
	case RQL_REL_TOP_N:
		RQL_TRY(take_limit(s, rel));
		return take_order(s, rel, out);
	case RQL_REL_ORDER:
		return take_order(s, rel, out);
	default:
		return flatten(s->f, rel, out);
	}
}

static rql_status make_rows(struct rql_arena *arena, const struct rql_rel *rel, bool over_groups,
                            struct rql_rows_block **out, struct rql_error *err)
{
	struct flattening *f = RQL_NEW(arena, struct flattening);
	struct rql_rows_block *rows = RQL_NEW(arena, struct rql_rows_block);
	struct rql_block *b = RQL_NEW(arena, struct rql_block);
	if (!f || !rows || !b)
		return rql_error_memory(err, sizeof *f, "a plan");
	f->arena = arena;
	f->above = "selection";
	f->over_groups = over_groups;
	f->err = err;
	rows->block = b;
	rows->limit = UINT64_MAX;
	struct selecting s = {.f = f, .rows = rows};
	struct columns outputs;
	RQL_TRY(flatten_rows(&s, rel, &outputs));
	rows->output_count = outputs.count;
	b->group_count = outputs.count + s.keys.count;
	b->groups = RQL_NEW_ARRAY(arena, struct rql_expr *, b->group_count);
	if (!b->groups)
		return rql_error_memory(f->err, 0, "a plan");
	memcpy(b->groups, outputs.items, outputs.count * sizeof *b->groups);
	if (s.keys.count)
		memcpy(b->groups + outputs.count, s.keys.items, s.keys.count * sizeof *b->groups);
	take_tables(f, b);
	*out = rows;
	return RQL_OK;
}

rql_status rql_block_make_rows(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rows_block **out,
                               struct rql_error *err)
{
	return make_rows(arena, rel, false, out, err);
}

rql_status rql_block_make_rows_over(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rows_block **out,
                                    struct rql_error *err)
{
	return make_rows(arena, rel, true, out, err);
}
