/* Columns that nobody reads are left out. Each node is told which of its columns are wanted, may keep more, and says where
 * each went. */
#include <string.h>
#include "sql/rel/rel_edit.h"

#define GONE UINT32_MAX

struct pruner {
	struct rql_arena *arena;
	bool no_memory;
};

/* Which columns of a node are wanted, and where they are afterwards. */
struct columns {
	uint32_t count;
	bool *wanted;
	uint32_t *at; /* GONE: left out */
};

static struct rql_rel *prune(struct pruner *p, struct rql_rel *rel, struct columns *c);

static struct columns columns_of(struct pruner *p, const struct rql_rel *rel, bool wanted)
{
	struct columns c = {rel->column_count, RQL_NEW_ARRAY(p->arena, bool, rel->column_count),
	                    RQL_NEW_ARRAY(p->arena, uint32_t, rel->column_count)};
	p->no_memory |= !c.wanted || !c.at;
	for (uint32_t i = 0; i < c.count && !p->no_memory; i++) {
		c.wanted[i] = wanted;
		c.at[i] = i;
	}
	return c;
}

/* ---- what expressions read ---- */

struct wanting {
	struct columns *c;
	uint32_t first; /* the REF of c's first column */
};

static bool want_ref(const struct rql_expr *ref, void *state)
{
	const struct wanting *w = state;
	if (ref->index >= w->first && ref->index - w->first < w->c->count)
		w->c->wanted[ref->index - w->first] = true;
	return true;
}

static bool is_opaque(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_OPAQUE;
}

/* An expression that RayQL cannot read may read any column. */
static void want(struct columns *c, uint32_t first, const struct rql_expr *e)
{
	struct wanting w = {c, first};
	if (rql_expr_any(e, is_opaque))
		memset(c->wanted, 1, c->count * sizeof *c->wanted);
	rql_expr_each_ref(e, want_ref, &w);
}

static struct rql_expr *move_ref(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const uint32_t *at = state;
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index = at[ref->index];
	}
	return copy;
}

static void move_exprs(struct pruner *p, struct rql_expr **exprs, uint32_t count, uint32_t *at)
{
	for (uint32_t i = 0; i < count && !p->no_memory; i++) {
		exprs[i] = rql_expr_rewrite(p->arena, exprs[i], move_ref, at);
		p->no_memory |= !exprs[i];
	}
}

static void move_orders(struct pruner *p, struct rql_rel *rel, uint32_t *at)
{
	for (uint32_t i = 0; i < rel->order_count; i++)
		move_exprs(p, &rel->orders[i].expr, 1, at);
}

/* ---- nodes ---- */

/* The columns of rel that are wanted, closed up; at least one stays, so that a row is still a row. */
static void close_up(struct rql_rel *rel, struct columns *c, uint32_t first, void (*move)(struct rql_rel *, uint32_t, uint32_t))
{
	uint32_t kept = first;
	for (uint32_t i = first; i < c->count; i++)
		if (c->wanted[i])
			kept++;
	if (kept == 0 && c->count)
		c->wanted[0] = true;
	kept = first;
	for (uint32_t i = first; i < c->count; i++) {
		if (!c->wanted[i]) {
			c->at[i] = GONE;
			continue;
		}
		rel->types[kept] = rel->types[i];
		rel->names[kept] = rel->names[i];
		move(rel, kept, i);
		c->at[i] = kept++;
	}
	rel->column_count = kept;
}

static void move_table_column(struct rql_rel *rel, uint32_t to, uint32_t from)
{
	rel->column_ids[to] = rel->column_ids[from];
	rel->column_names[to] = rel->column_names[from];
}

static void move_expr(struct rql_rel *rel, uint32_t to, uint32_t from)
{
	rel->exprs[to] = rel->exprs[from];
}

/* rel has its only input's columns. */
static struct rql_rel *like_input(struct rql_rel *rel)
{
	const struct rql_rel *child = rel->children[0];
	rel->column_count = child->column_count;
	rel->types = child->types;
	rel->names = child->names;
	return rel;
}

/* rel without the columns that only it itself read. */
static struct rql_rel *without(struct pruner *p, struct rql_rel *rel, const bool *wanted, struct columns *c)
{
	struct rql_expr_list exprs = {0};
	uint32_t kept = 0;
	for (uint32_t i = 0; i < c->count; i++)
		kept += wanted[i];
	if (!kept || kept == rel->column_count)
		return rel;
	for (uint32_t i = 0; i < c->count && !p->no_memory; i++) {
		if (!wanted[i]) {
			c->at[i] = GONE;
			continue;
		}
		struct rql_expr *ref = rql_expr_ref(p->arena, rel, c->at[i]);
		c->at[i] = exprs.count;
		p->no_memory |= !ref || !rql_expr_list_add(p->arena, &exprs, ref);
	}
	struct rql_rel *project = p->no_memory ? NULL : rql_rel_project(p->arena, rel, exprs.items, exprs.count);
	p->no_memory |= !project;
	return project;
}

/* FILTER, ORDER, TOP_N, LIMIT, DISTINCT_ON: what is wanted, and what they read themselves. */
static struct rql_rel *prune_passing(struct pruner *p, struct rql_rel *rel, struct columns *c)
{
	bool *wanted = RQL_NEW_ARRAY(p->arena, bool, c->count);
	p->no_memory |= !wanted;
	if (!wanted)
		return NULL;
	memcpy(wanted, c->wanted, c->count * sizeof *wanted);
	for (uint32_t i = 0; i < rel->expr_count; i++)
		want(c, 0, rel->exprs[i]);
	for (uint32_t i = 0; i < rel->order_count; i++)
		want(c, 0, rel->orders[i].expr);
	if (!(rel->children[0] = prune(p, rel->children[0], c)))
		return NULL;
	move_exprs(p, rel->exprs, rel->expr_count, c->at);
	move_orders(p, rel, c->at);
	return p->no_memory ? NULL : without(p, like_input(rel), wanted, c);
}

/* PROJECT, and AGGREGATE, whose keys stay. */
static struct rql_rel *prune_computed(struct pruner *p, struct rql_rel *rel, struct columns *c)
{
	close_up(rel, c, rel->kind == RQL_REL_AGGREGATE ? rel->group_count : 0, move_expr);
	rel->expr_count = rel->column_count;
	struct columns in = columns_of(p, rel->children[0], false);
	for (uint32_t i = 0; i < rel->expr_count && !p->no_memory; i++)
		want(&in, 0, rel->exprs[i]);
	if (p->no_memory || !(rel->children[0] = prune(p, rel->children[0], &in)))
		return NULL;
	move_exprs(p, rel->exprs, rel->expr_count, in.at);
	return rel;
}

static struct rql_rel *prune_window(struct pruner *p, struct rql_rel *rel, struct columns *c)
{
	struct columns in = columns_of(p, rel->children[0], false);
	uint32_t inputs = in.count, kept = 0;
	for (uint32_t i = 0; i < inputs && !p->no_memory; i++)
		in.wanted[i] = c->wanted[i];
	for (uint32_t i = 0; i < rel->expr_count && !p->no_memory; i++)
		if (c->wanted[inputs + i])
			want(&in, 0, rel->exprs[i]);
	if (p->no_memory || !(rel->children[0] = prune(p, rel->children[0], &in)))
		return NULL;
	struct rql_rel *child = rel->children[0];
	uint32_t windows = rel->expr_count;
	struct rql_rel *made = rql_rel_new(p->arena, RQL_REL_WINDOW, rel->name, child->column_count + windows, 1);
	p->no_memory |= !made;
	if (!made)
		return NULL;
	memcpy(c->at, in.at, inputs * sizeof *c->at);
	memcpy(made->types, child->types, child->column_count * sizeof *made->types);
	memcpy(made->names, child->names, child->column_count * sizeof *made->names);
	made->children[0] = child;
	made->exprs = rel->exprs;
	for (uint32_t i = 0; i < windows; i++) {
		c->at[inputs + i] = GONE;
		if (!c->wanted[inputs + i])
			continue;
		c->at[inputs + i] = child->column_count + kept;
		made->types[child->column_count + kept] = rel->types[inputs + i];
		made->names[child->column_count + kept] = rel->names[inputs + i];
		made->exprs[kept++] = rel->exprs[i];
	}
	made->expr_count = kept;
	made->column_count = child->column_count + kept;
	move_exprs(p, made->exprs, kept, in.at);
	return kept ? made : child;
}

static bool gives_left(const struct rql_rel *rel)
{
	return rel->join != RQL_JOIN_RIGHT_SEMI && rel->join != RQL_JOIN_RIGHT_ANTI;
}

static bool gives_right(const struct rql_rel *rel)
{
	return rel->join != RQL_JOIN_SEMI && rel->join != RQL_JOIN_ANTI && rel->join != RQL_JOIN_MARK;
}

/* The join over its pruned inputs; in[k]: where their columns went. */
static struct rql_rel *join_again(struct pruner *p, struct rql_rel *rel, const struct columns *in, struct columns *c)
{
	struct rql_rel *inputs[2] = {rel->children[0], rel->children[1]};
	bool given[2] = {gives_left(rel), gives_right(rel)}, mark = rel->join == RQL_JOIN_MARK;
	struct rql_rel *made = rql_rel_new(p->arena, RQL_REL_JOIN, rel->name,
	                                   inputs[0]->column_count + inputs[1]->column_count + 1, 2);
	uint32_t to = 0, from = 0;
	p->no_memory |= !made;
	if (!made)
		return NULL;
	for (uint32_t k = 0; k < 2; k++) {
		made->children[k] = inputs[k];
		for (uint32_t i = 0; i < in[k].count && given[k]; i++)
			c->at[from + i] = in[k].at[i] == GONE ? GONE : to + in[k].at[i];
		from += given[k] ? in[k].count : 0;
		for (uint32_t i = 0; i < inputs[k]->column_count && given[k]; i++, to++) {
			made->types[to] = inputs[k]->types[i];
			made->names[to] = inputs[k]->names[i];
		}
	}
	if (mark) {
		c->at[from] = to;
		made->types[to] = rel->types[from];
		made->names[to++] = rel->names[from];
	}
	made->column_count = to;
	made->join = rel->join;
	made->exprs = rel->exprs;
	made->expr_count = rel->expr_count;
	return made;
}

static struct rql_rel *prune_join(struct pruner *p, struct rql_rel *rel, struct columns *c)
{
	uint32_t lefts = rel->children[0]->column_count, from = 0;
	bool given[2] = {gives_left(rel), gives_right(rel)};
	struct columns in[2];
	for (uint32_t k = 0; k < 2 && !p->no_memory; k++) {
		in[k] = columns_of(p, rel->children[k], false);
		for (uint32_t i = 0; i < in[k].count && given[k] && !p->no_memory; i++)
			in[k].wanted[i] = c->wanted[from + i];
		from += given[k] ? in[k].count : 0;
		for (uint32_t i = 0; i < rel->expr_count && !p->no_memory; i++)
			want(&in[k], k ? lefts : 0, rel->exprs[i]);
	}
	for (uint32_t k = 0; k < 2; k++)
		if (p->no_memory || !(rel->children[k] = prune(p, rel->children[k], &in[k])))
			return NULL;
	/* Conditions are over all columns of both inputs, whatever the join gives. */
	uint32_t *at = RQL_NEW_ARRAY(p->arena, uint32_t, lefts + in[1].count);
	p->no_memory |= !at;
	if (!at)
		return NULL;
	for (uint32_t i = 0; i < lefts; i++)
		at[i] = in[0].at[i];
	for (uint32_t i = 0; i < in[1].count; i++)
		at[lefts + i] = in[1].at[i] == GONE ? GONE : rel->children[0]->column_count + in[1].at[i];
	move_exprs(p, rel->exprs, rel->expr_count, at);
	return p->no_memory ? NULL : join_again(p, rel, in, c);
}

/* All columns stay as they are; below, too, those of the inputs. */
static struct rql_rel *prune_whole(struct pruner *p, struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->child_count; i++) {
		struct columns all = columns_of(p, rel->children[i], true);
		if (p->no_memory || !(rel->children[i] = prune(p, rel->children[i], &all)))
			return NULL;
	}
	return rel;
}

static struct rql_rel *prune_cte(struct pruner *p, struct rql_rel *rel, struct columns *c)
{
	struct columns all = columns_of(p, rel->children[0], true);
	if (p->no_memory || !(rel->children[0] = prune(p, rel->children[0], &all)) ||
	    !(rel->children[1] = prune(p, rel->children[1], c)))
		return NULL;
	rel->column_count = rel->children[1]->column_count;
	rel->types = rel->children[1]->types;
	rel->names = rel->children[1]->names;
	return rel;
}

static struct rql_rel *prune(struct pruner *p, struct rql_rel *rel, struct columns *c)
{
	struct rql_rel *out = rel;
	if (p->no_memory)
		return NULL;
	switch (rel->kind) {
	case RQL_REL_GET:
		close_up(rel, c, 0, move_table_column);
		break;
	case RQL_REL_FILTER:
	case RQL_REL_ORDER:
	case RQL_REL_TOP_N:
	case RQL_REL_LIMIT:
	case RQL_REL_DISTINCT_ON:
		out = prune_passing(p, rel, c);
		break;
	case RQL_REL_PROJECT:
	case RQL_REL_AGGREGATE:
		out = prune_computed(p, rel, c);
		break;
	case RQL_REL_WINDOW:
		out = prune_window(p, rel, c);
		break;
	case RQL_REL_JOIN:
		out = prune_join(p, rel, c);
		break;
	case RQL_REL_CTE:
		out = prune_cte(p, rel, c);
		break;
	default:
		out = prune_whole(p, rel);
	}
	return p->no_memory ? NULL : out;
}

struct rql_rel *rql_rel_prune(struct rql_arena *arena, struct rql_rel *rel)
{
	struct pruner p = {.arena = arena};
	struct columns all = columns_of(&p, rel, true);
	return p.no_memory ? NULL : prune(&p, rel, &all);
}
