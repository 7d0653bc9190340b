#include "plan/block.h"

struct rql_expr *rql_expr_new(struct rql_arena *arena, enum rql_expr_kind kind, struct rql_type type,
                              uint32_t child_count)
{
	struct rql_expr *e = RQL_NEW(arena, struct rql_expr);
	if (!e)
		return NULL;
	e->kind = kind;
	e->type = type;
	e->child_count = child_count;
	e->children = RQL_NEW_ARRAY(arena, struct rql_expr *, child_count);
	return e->children ? e : NULL;
}

struct rql_expr *rql_expr_comparison(struct rql_arena *arena, const char *name, struct rql_expr *a, struct rql_expr *b)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_COMPARE, rql_type_simple(RQL_TYPE_BOOLEAN), 2);
	if (!e)
		return NULL;
	e->name = name;
	e->children[0] = a;
	e->children[1] = b;
	return e;
}

/* `a = a` joins nothing (it drops NULLs), and equal numbers of these types may still look different: -0.0 and 0.0, 30
 * days and 1 month. */
bool rql_expr_is_equijoin(const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "=") != 0)
		return false;
	const struct rql_expr *a = e->children[0], *b = e->children[1];
	rql_type_id id = a->type.id;
	return a->kind == RQL_EXPR_COLUMN && b->kind == RQL_EXPR_COLUMN && rql_type_equal(a->type, b->type) &&
	       (a->table != b->table || a->index != b->index) && id != RQL_TYPE_FLOAT && id != RQL_TYPE_DOUBLE &&
	       id != RQL_TYPE_INTERVAL && id != RQL_TYPE_OTHER;
}

bool rql_expr_leaves(const struct rql_expr *e, rql_leaf_fn *fn, void *state)
{
	if (e->kind == RQL_EXPR_COLUMN || e->kind == RQL_EXPR_REF)
		return fn(e, state);
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!rql_expr_leaves(e->children[i], fn, state))
			return false;
	return !e->filter || rql_expr_leaves(e->filter, fn, state);
}

void rql_block_leaves(const struct rql_block *block, rql_leaf_fn *fn, void *state)
{
	for (uint32_t i = 0; i < block->conjunct_count; i++)
		rql_expr_leaves(block->conjuncts[i], fn, state);
	for (uint32_t i = 0; i < block->group_count; i++)
		rql_expr_leaves(block->groups[i], fn, state);
	for (uint32_t i = 0; i < block->agg_count; i++)
		rql_expr_leaves(block->aggs[i], fn, state);
	for (uint32_t i = 0; i < block->semi_count; i++)
		rql_expr_leaves(block->semis[i].key, fn, state);
}

struct ref_use {
	uint32_t count, first;
};

static bool note_ref(const struct rql_expr *leaf, void *state)
{
	struct ref_use *use = state;
	if (use->count == 0)
		use->first = leaf->index;
	if (use->count == 0 || leaf->index != use->first)
		use->count++;
	return use->count < 2;
}

uint32_t rql_expr_refs(const struct rql_expr *expr, uint32_t *index)
{
	struct ref_use use = {0};
	rql_expr_leaves(expr, note_ref, &use);
	if (use.count)
		*index = use.first;
	return use.count;
}

struct rql_expr *rql_expr_transform(struct rql_arena *arena, const struct rql_expr *e, rql_replace_fn *fn, void *state)
{
	struct rql_expr *replacement = fn(arena, e, state);
	if (replacement || e->kind == RQL_EXPR_COLUMN || e->kind == RQL_EXPR_REF)
		return replacement;
	struct rql_expr *copy = rql_expr_new(arena, e->kind, e->type, e->child_count);
	if (!copy)
		return NULL;
	struct rql_expr **children = copy->children;
	*copy = *e;
	copy->children = children;
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!(children[i] = rql_expr_transform(arena, e->children[i], fn, state)))
			return NULL;
	if (e->filter && !(copy->filter = rql_expr_transform(arena, e->filter, fn, state)))
		return NULL;
	return copy;
}

bool rql_expr_list_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *expr)
{
	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
		struct rql_expr **items = RQL_NEW_ARRAY(arena, struct rql_expr *, capacity);
		if (!items)
			return false;
		if (list->count)
			memcpy(items, list->items, list->count * sizeof *items);
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = expr;
	return true;
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
	return add_normalised(arena, list, e);
}

/* ---- from a plan ---- */

struct flattening {
	struct rql_arena *arena;
	struct rql_table_ref tables[RQL_BLOCK_MAX_TABLES];
	uint32_t table_count;
	struct rql_expr_list conjuncts;
	uint32_t semi_count;
	struct rql_block_semi semis[RQL_BLOCK_MAX_SEMIS];
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

static rql_status rewrite(struct flattening *f, const struct rql_expr *expr, struct columns *input,
                          struct rql_expr **out)
{
	*out = rql_expr_rewrite(f->arena, expr, column_of_ref, input);
	return *out ? RQL_OK
	            : rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "an expression of the plan could not be resolved");
}

static rql_status out_of_memory(struct flattening *f)
{
	return rql_error_memory(f->err, 0, "a plan");
}

static rql_status add_conditions(struct flattening *f, const struct rql_rel *rel, struct columns *input)
{
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		struct rql_expr *e;
		RQL_TRY(rewrite(f, rel->exprs[i], input, &e));
		if (!rql_conjuncts_add(f->arena, &f->conjuncts, e))
			return out_of_memory(f);
	}
	return RQL_OK;
}

static rql_status flatten_get(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	if (f->table_count == RQL_BLOCK_MAX_TABLES)
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "more than %u tables are joined", RQL_BLOCK_MAX_TABLES);
	uint32_t table = f->table_count++;
	f->tables[table] = rel->table;
	out->count = rel->column_count;
	out->items = RQL_NEW_ARRAY(f->arena, struct rql_expr *, rel->column_count);
	if (!out->items)
		return out_of_memory(f);
	for (uint32_t i = 0; i < rel->column_count; i++) {
		struct rql_expr *e = rql_expr_new(f->arena, RQL_EXPR_COLUMN, rel->types[i], 0);
		if (!e)
			return out_of_memory(f);
		e->table = table;
		e->index = rel->column_ids[i];
		e->alias = rel->column_names ? rel->column_names[i] : NULL;
		out->items[i] = e;
	}
	return RQL_OK;
}

static rql_status flatten(struct flattening *f, const struct rql_rel *rel, struct columns *out);

/* The one condition of a semi join, `column = column` of one type, sorted by side. */
static bool semi_keys(const struct rql_rel *rel, bool right, const struct columns *outer, const struct columns *inner,
                      struct rql_block_semi *out)
{
	const struct rql_expr *e = rel->expr_count == 1 ? rel->exprs[0] : NULL;
	uint32_t left_count = right ? inner->count : outer->count;
	if (!e || e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "=") != 0)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		const struct rql_expr *side = e->children[i];
		if (side->kind != RQL_EXPR_REF)
			return false;
		bool of_left = side->index < left_count;
		uint32_t index = of_left ? side->index : side->index - left_count;
		const struct columns *columns = of_left != right ? outer : inner;
		if (index >= columns->count || columns->items[index]->kind != RQL_EXPR_COLUMN)
			return false;
		*(of_left != right ? &out->key : &out->inner_key) = columns->items[index];
	}
	rql_type_id id = out->key ? out->key->type.id : RQL_TYPE_INVALID;
	return out->key && out->inner_key && rql_type_equal(out->key->type, out->inner_key->type) &&
	       id != RQL_TYPE_FLOAT && id != RQL_TYPE_DOUBLE && id != RQL_TYPE_INTERVAL && id != RQL_TYPE_OTHER;
}

static rql_status flatten_semi(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	bool right = rel->join == RQL_JOIN_RIGHT_SEMI || rel->join == RQL_JOIN_RIGHT_ANTI;
	struct rql_block_semi semi = {.anti = rel->join == RQL_JOIN_ANTI || rel->join == RQL_JOIN_RIGHT_ANTI};
	struct flattening *g = RQL_NEW(f->arena, struct flattening);
	struct rql_block *inner = RQL_NEW(f->arena, struct rql_block);
	struct columns columns;
	if (!g || !inner)
		return out_of_memory(f);
	g->arena = f->arena;
	g->above = "semi join";
	g->err = f->err;
	RQL_TRY(flatten(f, rel->children[right], out));
	RQL_TRY(flatten(g, rel->children[!right], &columns));
	if (!semi_keys(rel, right, out, &columns, &semi) || g->semi_count || f->semi_count == RQL_BLOCK_MAX_SEMIS)
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "a semi join by more than one pair of equal columns");
	inner->table_count = g->table_count;
	inner->tables = g->tables;
	inner->conjunct_count = g->conjuncts.count;
	inner->conjuncts = g->conjuncts.items;
	semi.inner = inner;
	f->semis[f->semi_count++] = semi;
	return RQL_OK;
}

static rql_status flatten_join(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
	if (rel->join == RQL_JOIN_SEMI || rel->join == RQL_JOIN_ANTI || rel->join == RQL_JOIN_RIGHT_SEMI ||
	    rel->join == RQL_JOIN_RIGHT_ANTI)
		return flatten_semi(f, rel, out);
	if (rel->join != RQL_JOIN_INNER && rel->join != RQL_JOIN_CROSS)
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED,
		                     "a join that is not an inner join lies below the %s", f->above);
	struct columns left, right, both;
	RQL_TRY(flatten(f, rel->children[0], &left));
	RQL_TRY(flatten(f, rel->children[1], &right));
	both.count = left.count + right.count;
	both.items = RQL_NEW_ARRAY(f->arena, struct rql_expr *, both.count);
	if (!both.items)
		return out_of_memory(f);
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
		return out_of_memory(f);
	for (uint32_t i = 0; i < rel->expr_count; i++)
		RQL_TRY(rewrite(f, rel->exprs[i], &input, &out->items[i]));
	return RQL_OK;
}

static rql_status flatten(struct flattening *f, const struct rql_rel *rel, struct columns *out)
{
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
		return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "the optimiser proves that no row qualifies");
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
		return out_of_memory(f);
	if (rel->kind == RQL_REL_DISTINCT) {
		memcpy(b->groups, input->items, input->count * sizeof *b->groups);
		return RQL_OK;
	}
	for (uint32_t i = 0; i < rel->expr_count; i++)
		RQL_TRY(rewrite(f, rel->exprs[i], input, i < b->group_count ? &b->groups[i] : &b->aggs[i - b->group_count]));
	return RQL_OK;
}

rql_status rql_block_make(struct rql_arena *arena, const struct rql_rel *rel, struct rql_block **out,
                          struct rql_error *err)
{
	struct flattening *f = RQL_NEW(arena, struct flattening);
	struct rql_block *b = RQL_NEW(arena, struct rql_block);
	if (!f || !b)
		return rql_error_memory(err, sizeof *f, "a plan");
	f->arena = arena;
	f->above = "aggregate";
	f->err = err;
	struct columns input;
	RQL_TRY(flatten(f, rel->children[0], &input));
	RQL_TRY(take_outputs(f, rel, &input, b));
	b->table_count = f->table_count;
	b->tables = f->tables;
	b->conjunct_count = f->conjuncts.count;
	b->conjuncts = f->conjuncts.items;
	b->semi_count = f->semi_count;
	b->semis = f->semis;
	b->column_count = count_columns(b);
	*out = b;
	return RQL_OK;
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
		return out_of_memory(s->f);
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
			return out_of_memory(s->f);
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

rql_status rql_block_make_rows(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rows_block **out,
                               struct rql_error *err)
{
	struct flattening *f = RQL_NEW(arena, struct flattening);
	struct rql_rows_block *rows = RQL_NEW(arena, struct rql_rows_block);
	struct rql_block *b = RQL_NEW(arena, struct rql_block);
	if (!f || !rows || !b)
		return rql_error_memory(err, sizeof *f, "a plan");
	f->arena = arena;
	f->above = "selection";
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
		return out_of_memory(f);
	memcpy(b->groups, outputs.items, outputs.count * sizeof *b->groups);
	if (s.keys.count)
		memcpy(b->groups + outputs.count, s.keys.items, s.keys.count * sizeof *b->groups);
	b->table_count = f->table_count;
	b->tables = f->tables;
	b->conjunct_count = f->conjuncts.count;
	b->conjuncts = f->conjuncts.items;
	b->semi_count = f->semi_count;
	b->semis = f->semis;
	b->column_count = count_columns(b);
	*out = rows;
	return RQL_OK;
}
