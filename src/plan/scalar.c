/* Scalar subqueries that do not depend on the rows around them: as constants. DuckDB joins their one row to every row of the
 * query around, by a cross product or by the comparison that reads it. Such a join is no star and no join of keys, and what
 * a method could test beside its own columns is a constant. So the one row is asked for while the query is planned, as rows
 * of dimensions are, and the join becomes a filter and a projection. */
#include "plan/leaf.h"

/* A join, one side of which is one row. */
struct scalar {
	uint32_t side; /* the child that is one row */
	uint32_t first, count, lefts; /* its columns among the join's; columns of the left child */
	struct rql_expr **values;
	const struct rql_rel *other;
};

/* Exactly one row, whatever the tables hold. */
static bool is_one_row(const struct rql_rel *rel)
{
	while (rel->kind == RQL_REL_PROJECT)
		rel = rel->children[0];
	return rel->kind == RQL_REL_AGGREGATE && !rel->group_count;
}

/* Rows of the other side are kept or dropped by the conditions alone. */
static bool joins_one_row(const struct rql_rel *rel, uint32_t side)
{
	if (rel->join == RQL_JOIN_INNER || rel->join == RQL_JOIN_CROSS)
		return true;
	return (rel->join == RQL_JOIN_LEFT || rel->join == RQL_JOIN_SINGLE) && side == 1 && !rel->expr_count;
}

/* Two single rows beside each other are an answer, which is no work of planning. */
static bool find_scalar(const struct rql_planning *p, const struct rql_rel *rel, struct scalar *out)
{
	if (rel->kind != RQL_REL_JOIN)
		return false;
	for (uint32_t side = 0; side < 2; side++) {
		const struct rql_rel *one = rel->children[side], *other = rel->children[1 - side];
		if (!joins_one_row(rel, side) || !is_one_row(one) || is_one_row(other) ||
		    !rql_subplan_reads_columns(p, one) || !rql_subplan_reads_columns(p, other))
			continue;
		const uint32_t lefts = rel->children[0]->column_count;
		*out = (struct scalar){
			.side = side, .first = side ? lefts : 0, .count = one->column_count, .lefts = lefts, .other = other};
		return true;
	}
	return false;
}

/* A type whose values are told whole by a constant. */
static bool is_told(struct rql_type type)
{
	return type.id != RQL_TYPE_OTHER && type.id != RQL_TYPE_INTERVAL;
}

/* The row's values as constants in p's arena; NULL in *out: it is not one row of the plan's types. */
static rql_status take_row(struct rql_planning *p, const struct rql_rel *rel, const struct rql_batch *batch,
                           struct rql_expr ***out)
{
	struct rql_expr **values = RQL_NEW_ARRAY(p->arena, struct rql_expr *, rel->column_count);
	if (!values)
		return rql_error_memory(p->err, 0, "a plan");
	*out = NULL;
	if (batch->rows != 1 || batch->column_count < rel->column_count)
		return RQL_OK;
	for (uint32_t c = 0; c < rel->column_count; c++) {
		struct rql_value value = rql_column_get(&batch->columns[c], 0);
		if (!rql_type_equal(value.type, rel->types[c]) || !is_told(value.type))
			return RQL_OK;
		const struct rql_value kept = rql_value_copy(p->arena, &value); /* its type, too: an ENUM's is the batch's */
		values[c] = rql_expr_new(p->arena, RQL_EXPR_CONSTANT, kept.type, 0);
		if (!values[c] || kept.type.id != value.type.id)
			return rql_error_memory(p->err, 0, "a plan");
		values[c]->value = kept;
	}
	*out = values;
	return RQL_OK;
}

static rql_status ask(struct rql_planning *p, struct rql_rel *rel, struct scalar *s)
{
	struct rql_batch *batch = NULL;
	const char *how = "";
	RQL_TRY(rql_subplan_rows(p, rel, false, &batch, &how, p->err));
	if (!batch)
		return RQL_OK;
	rql_status status = take_row(p, rel, batch, &s->values);
	rql_batch_release(batch);
	if (s->values)
		p->scalars = how;
	return status;
}

static struct rql_expr *without_row(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct scalar *s = state;
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (!copy)
		return NULL;
	if (ref->index - s->first < s->count) {
		*copy = *s->values[ref->index - s->first];
		copy->alias = ref->alias;
		return copy;
	}
	*copy = *ref;
	copy->index -= s->side ? 0 : s->count;
	return copy;
}

/* The join as its conditions over the other side, and the row's values beside its columns. */
static struct rql_rel *without_join(struct rql_arena *arena, struct rql_rel *join, struct scalar *s)
{
	struct rql_expr_list conditions = {0}, outputs = {0};
	for (uint32_t i = 0; i < join->expr_count; i++)
		if (!rql_expr_list_add(arena, &conditions, rql_expr_rewrite(arena, join->exprs[i], without_row, s)))
			return NULL;
	for (uint32_t i = 0; i < join->column_count; i++) {
		struct rql_expr *e = rql_expr_ref(arena, join, i);
		if (!e || !rql_expr_list_add(arena, &outputs, rql_expr_rewrite(arena, e, without_row, s)))
			return NULL;
	}
	struct rql_rel *filter = rql_rel_filter(arena, join->children[1 - s->side], &conditions);
	return filter ? rql_rel_project(arena, filter, outputs.items, outputs.count) : NULL;
}

static rql_status replace(struct rql_planning *p, struct rql_rel **at, bool *changed)
{
	struct rql_rel *rel = *at;
	struct scalar s;
	for (uint32_t i = 0; i < rel->child_count; i++)
		RQL_TRY(replace(p, &rel->children[i], changed));
	if (!find_scalar(p, rel, &s))
		return RQL_OK;
	RQL_TRY(ask(p, rel->children[s.side], &s));
	if (!s.values)
		return RQL_OK;
	*changed = true;
	*at = without_join(p->arena, rel, &s);
	return *at ? RQL_OK : rql_error_memory(p->err, rql_arena_bytes(p->arena), "a plan");
}

rql_status rql_plan_scalars(struct rql_planning *p, struct rql_rel **root, bool *changed)
{
	*changed = false;
	return replace(p, root, changed);
}
