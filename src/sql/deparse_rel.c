/* Relations back to SQL: one SELECT per node over its inputs as subqueries t (or l and r), columns c0, c1, ... */
#include <inttypes.h>
#include <string.h>
#include "sql/deparse_internal.h"

struct rel_printer {
	struct rql_strbuf *out;
	rql_leaf_printer *leaf;
	void *state;
};

static bool print_select(const struct rel_printer *p, const struct rql_rel *rel);

/* ---- inputs ---- */
static bool print_leaf(const struct rel_printer *p, const struct rql_rel *rel)
{
	return p->leaf && p->leaf(p->out, rel, p->state);
}

static bool print_subquery(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_putc(p->out, '(');
	if (!print_select(p, rel))
		return false;
	rql_strbuf_putc(p->out, ')');
	return true;
}

/* rel as a table expression, named alias. */
static bool print_input(const struct rel_printer *p, const struct rql_rel *rel, const char *alias)
{
	if (!print_leaf(p, rel) && !print_subquery(p, rel))
		return false;
	rql_strbuf_printf(p->out, " AS %s", alias);
	return true;
}

static bool print_from(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, " FROM ");
	return print_input(p, rel->children[0], "t");
}

static void print_input_ref(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)state;
	rql_strbuf_printf(out, "t.c%" PRIu32, index);
}

/* In a join: the left input's columns, then the right's. */
static void print_join_ref(struct rql_strbuf *out, uint32_t index, void *state)
{
	uint32_t lefts = *(uint32_t *)state;
	if (index < lefts)
		rql_strbuf_printf(out, "l.c%" PRIu32, index);
	else
		rql_strbuf_printf(out, "r.c%" PRIu32, index - lefts);
}

/* exprs AS c<first>, ...; the first `keys` of them are grouped by. */
static bool print_exprs(const struct rel_printer *p, struct rql_expr *const *exprs, uint32_t count, uint32_t keys,
                        uint32_t first)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			rql_strbuf_put(p->out, ", ");
		if (!(i < keys ? rql_key_print : rql_expr_print)(p->out, exprs[i], print_input_ref, NULL))
			return false;
		rql_strbuf_printf(p->out, " AS c%" PRIu32, first + i);
	}
	return count > 0;
}

/* ---- leaves ---- */
static bool print_get(const struct rel_printer *p, const struct rql_rel *rel)
{
	const struct rql_table_ref *table = &rel->table;
	const char *parts[] = {table->catalog, table->schema, table->table};
	rql_strbuf_put(p->out, "SELECT ");
	for (uint32_t i = 0; i < rel->column_count; i++) {
		rql_strbuf_put(p->out, i ? ", t." : "t.");
		rql_strbuf_put_ident(p->out, rel->column_names[i]);
		rql_strbuf_printf(p->out, " AS c%" PRIu32, i);
	}
	rql_strbuf_put(p->out, " FROM ");
	for (int i = 0, written = 0; i < 3; i++) {
		if (!parts[i] || !parts[i][0])
			continue;
		if (written++)
			rql_strbuf_putc(p->out, '.');
		rql_strbuf_put_ident(p->out, parts[i]);
	}
	rql_strbuf_put(p->out, " AS t");
	return rel->column_count > 0;
}

static bool print_empty(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, "SELECT ");
	for (uint32_t i = 0; i < rel->column_count; i++) {
		rql_strbuf_put(p->out, i ? ", CAST(NULL AS " : "CAST(NULL AS ");
		if (!rql_type_print_sql(p->out, rel->types[i]))
			return false;
		rql_strbuf_printf(p->out, ") AS c%" PRIu32, i);
	}
	rql_strbuf_put(p->out, " WHERE false");
	return rel->column_count > 0;
}

static void print_no_ref(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)index;
	(void)state;
	out->failed = true; /* VALUES have no input */
}

static bool print_values(const struct rel_printer *p, const struct rql_rel *rel)
{
	if (rel->expr_count == 0 || rel->column_count == 0)
		return print_empty(p, rel);
	rql_strbuf_put(p->out, "SELECT * FROM (VALUES ");
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		bool row_start = i % rel->column_count == 0;
		rql_strbuf_put(p->out, !row_start ? ", " : i ? "), (" : "(");
		if (!rql_expr_print(p->out, rel->exprs[i], print_no_ref, NULL))
			return false;
	}
	rql_strbuf_put(p->out, ")) AS t(");
	for (uint32_t i = 0; i < rel->column_count; i++)
		rql_strbuf_printf(p->out, i ? ", c%" PRIu32 : "c%" PRIu32, i);
	rql_strbuf_putc(p->out, ')');
	return true;
}

/* ---- one input ---- */
static bool print_filter(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, "SELECT t.*");
	if (!print_from(p, rel))
		return false;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		rql_strbuf_put(p->out, i ? " AND " : " WHERE ");
		if (!rql_expr_print(p->out, rel->exprs[i], print_input_ref, NULL))
			return false;
	}
	return true;
}

static bool print_project(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, "SELECT ");
	return print_exprs(p, rel->exprs, rel->expr_count, 0, 0) && print_from(p, rel);
}

/* Keys by their position: an expression there could be taken for a position or an alias. */
static bool print_aggregate(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, "SELECT ");
	if (!print_exprs(p, rel->exprs, rel->expr_count, rel->group_count, 0) || !print_from(p, rel))
		return false;
	for (uint32_t i = 0; i < rel->group_count; i++)
		rql_strbuf_printf(p->out, i ? ", %" PRIu32 : " GROUP BY %" PRIu32, i + 1);
	return true;
}

static bool print_window(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, "SELECT t.*, ");
	return print_exprs(p, rel->exprs, rel->expr_count, 0, rel->column_count - rel->expr_count) && print_from(p, rel);
}

static bool print_limit(const struct rel_printer *p, const struct rql_rel *rel)
{
	if ((rel->limit > INT64_MAX && rel->limit != UINT64_MAX) || rel->offset > INT64_MAX)
		return false;
	if (rel->limit != UINT64_MAX)
		rql_strbuf_printf(p->out, " LIMIT %" PRIu64, rel->limit);
	if (rel->offset)
		rql_strbuf_printf(p->out, " OFFSET %" PRIu64, rel->offset);
	return true;
}

static bool print_ordered(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, rel->kind == RQL_REL_DISTINCT ? "SELECT DISTINCT " : "SELECT t.*");
	for (uint32_t i = 0; rel->kind == RQL_REL_DISTINCT && i < rel->column_count; i++)
		rql_strbuf_printf(p->out, "%st.c%" PRIu32 "%s AS c%" PRIu32, i ? ", " : "", i,
		                  rel->types[i].id == RQL_TYPE_VARCHAR ? RQL_AS_BYTES : "", i);
	if (!print_from(p, rel))
		return false;
	if (rel->kind == RQL_REL_ORDER || rel->kind == RQL_REL_TOP_N) {
		rql_strbuf_putc(p->out, ' ');
		if (!rql_orders_print(p->out, rel->orders, rel->order_count, print_input_ref, NULL))
			return false;
	}
	return (rel->kind != RQL_REL_LIMIT && rel->kind != RQL_REL_TOP_N) || print_limit(p, rel);
}

static bool print_distinct_on(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_put(p->out, "SELECT DISTINCT ON (");
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		rql_strbuf_put(p->out, i ? ", " : "");
		if (rel->exprs[i]->kind == RQL_EXPR_CONSTANT) /* it would be a position */
			return false;
		if (!rql_key_print(p->out, rel->exprs[i], print_input_ref, NULL))
			return false;
	}
	rql_strbuf_put(p->out, ") t.*");
	if (!print_from(p, rel))
		return false;
	rql_strbuf_putc(p->out, ' ');
	return rql_orders_print(p->out, rel->orders, rel->order_count, print_input_ref, NULL);
}

/* ---- joins ---- */
static bool print_conditions(const struct rel_printer *p, const struct rql_rel *rel, rql_ref_printer *ref, void *state)
{
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		if (i)
			rql_strbuf_put(p->out, " AND ");
		if (!rql_expr_print(p->out, rel->exprs[i], ref, state))
			return false;
	}
	if (rel->expr_count == 0)
		rql_strbuf_put(p->out, "true");
	return true;
}

/* l.c0 AS c0, ... r.c0 AS ck, ...: the columns of the join's output. */
static void print_sides(const struct rel_printer *p, uint32_t lefts, uint32_t rights)
{
	for (uint32_t i = 0; i < lefts + rights; i++) {
		rql_strbuf_put(p->out, i ? ", " : "");
		print_join_ref(p->out, i, &lefts);
		rql_strbuf_printf(p->out, " AS c%" PRIu32, i);
	}
}

static bool print_two_sided(const struct rel_printer *p, const struct rql_rel *rel, const char *keyword)
{
	bool swapped = rel->join == RQL_JOIN_RIGHT_SEMI || rel->join == RQL_JOIN_RIGHT_ANTI;
	bool filters = swapped || rel->join == RQL_JOIN_SEMI || rel->join == RQL_JOIN_ANTI;
	uint32_t lefts = swapped ? 0 : rel->children[0]->column_count;
	uint32_t rights = filters && !swapped ? 0 : rel->children[1]->column_count;
	rql_strbuf_put(p->out, "SELECT ");
	print_sides(p, lefts, rights);
	rql_strbuf_put(p->out, " FROM ");
	if (!print_input(p, rel->children[swapped], swapped ? "r" : "l"))
		return false;
	rql_strbuf_printf(p->out, " %s ", keyword);
	if (!print_input(p, rel->children[!swapped], swapped ? "l" : "r"))
		return false;
	lefts = rel->children[0]->column_count;
	rql_strbuf_put(p->out, " ON ");
	return print_conditions(p, rel, print_join_ref, &lefts);
}

/* Does expr refer to columns of [low, high) only? */
static bool refers_within(const struct rql_expr *expr, uint32_t low, uint32_t high)
{
	if (expr->kind == RQL_EXPR_REF)
		return expr->index >= low && expr->index < high;
	for (uint32_t i = 0; i < expr->child_count; i++)
		if (!refers_within(expr->children[i], low, high))
			return false;
	return true;
}

/* ---- inner joins: one FROM for all of a chain, so that the host's optimiser may order them as it likes ----
 *
 * A subquery between two joins would keep them apart. The columns are called c0, c1, ... over the whole chain. */
static bool is_inner_join(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_JOIN && (rel->join == RQL_JOIN_INNER || rel->join == RQL_JOIN_CROSS);
}

static void print_chain_ref(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)state;
	rql_strbuf_printf(out, "c%" PRIu32, index);
}

static bool print_chain(const struct rel_printer *p, const struct rql_rel *join, uint32_t *inputs);

/* An input of the chain whose columns begin at `first`; *inputs counts those printed. */
static bool print_chain_input(const struct rel_printer *p, const struct rql_rel *rel, uint32_t *inputs, uint32_t first)
{
	if (!print_leaf(p, rel)) {
		if (*inputs == 0 && is_inner_join(rel))
			return print_chain(p, rel, inputs);
		if (!print_subquery(p, rel))
			return false;
	}
	rql_strbuf_printf(p->out, " AS i%" PRIu32, (*inputs)++);
	for (uint32_t i = 0; i < rel->column_count; i++)
		rql_strbuf_printf(p->out, "%sc%" PRIu32, i ? ", " : "(", first + i);
	rql_strbuf_put(p->out, rel->column_count ? ")" : "");
	return true;
}

static bool print_chain(const struct rel_printer *p, const struct rql_rel *join, uint32_t *inputs)
{
	if (!print_chain_input(p, join->children[0], inputs, 0))
		return false;
	rql_strbuf_put(p->out, join->join == RQL_JOIN_CROSS ? " CROSS JOIN " : " INNER JOIN ");
	if (!print_chain_input(p, join->children[1], inputs, join->children[0]->column_count))
		return false;
	if (join->join == RQL_JOIN_CROSS)
		return true;
	rql_strbuf_put(p->out, " ON ");
	return print_conditions(p, join, print_chain_ref, NULL);
}

static bool print_inner_join(const struct rel_printer *p, const struct rql_rel *rel)
{
	uint32_t inputs = 0;
	rql_strbuf_put(p->out, "SELECT ");
	for (uint32_t i = 0; i < rel->column_count; i++)
		rql_strbuf_printf(p->out, "%sc%" PRIu32, i ? ", " : "", i);
	rql_strbuf_put(p->out, " FROM ");
	return print_chain(p, rel, &inputs);
}

/* The mark says whether a row has a partner: NULL when a comparison with NULL leaves that open. That is `x op ANY (SELECT
 * y)` for one comparison, and EXISTS where no comparison can give NULL. */
static bool print_mark(const struct rel_printer *p, const struct rql_rel *rel)
{
	uint32_t lefts = rel->children[0]->column_count, all = lefts + rel->children[1]->column_count;
	bool exists = rel->expr_count > 0;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		if (rel->exprs[i]->kind != RQL_EXPR_COMPARE)
			return false;
		exists = exists && strstr(rel->exprs[i]->name, "DISTINCT");
	}
	rql_strbuf_put(p->out, "SELECT ");
	print_sides(p, lefts, 0);
	if (exists) {
		rql_strbuf_put(p->out, ", EXISTS (SELECT 1 FROM ");
		if (!print_input(p, rel->children[1], "r"))
			return false;
		rql_strbuf_put(p->out, " WHERE ");
		if (!print_conditions(p, rel, print_join_ref, &lefts))
			return false;
	} else {
		struct rql_expr *condition = rel->expr_count == 1 ? rel->exprs[0] : NULL;
		if (!condition || !refers_within(condition->children[0], 0, lefts) ||
		    !refers_within(condition->children[1], lefts, all))
			return false;
		rql_strbuf_put(p->out, ", (");
		if (!rql_key_print(p->out, condition->children[0], print_join_ref, &lefts))
			return false;
		rql_strbuf_printf(p->out, " %s ANY (SELECT ", condition->name);
		if (!rql_key_print(p->out, condition->children[1], print_join_ref, &lefts))
			return false;
		rql_strbuf_put(p->out, " FROM ");
		if (!print_input(p, rel->children[1], "r"))
			return false;
		rql_strbuf_putc(p->out, ')');
	}
	rql_strbuf_printf(p->out, ") AS c%" PRIu32 " FROM ", lefts);
	return print_input(p, rel->children[0], "l");
}

/* At most one partner, NULLs without one, an error for several: a scalar subquery that gives all columns as one struct. */
static bool print_single(const struct rel_printer *p, const struct rql_rel *rel)
{
	uint32_t lefts = rel->children[0]->column_count, rights = rel->children[1]->column_count;
	rql_strbuf_put(p->out, "SELECT ");
	for (uint32_t i = 0; i < lefts; i++)
		rql_strbuf_printf(p->out, "t.c%" PRIu32 " AS c%" PRIu32 ", ", i, i);
	for (uint32_t i = 0; i < rights; i++)
		rql_strbuf_printf(p->out, "%ssystem.main.struct_extract(t.v, 'c%" PRIu32 "') AS c%" PRIu32, i ? ", " : "", i,
		                  lefts + i);
	rql_strbuf_put(p->out, " FROM (SELECT ");
	print_sides(p, lefts, 0);
	rql_strbuf_put(p->out, ", (SELECT system.main.struct_pack(");
	for (uint32_t i = 0; i < rights; i++)
		rql_strbuf_printf(p->out, "%sc%" PRIu32 " := r.c%" PRIu32, i ? ", " : "", i, i);
	rql_strbuf_put(p->out, ") FROM ");
	if (!print_input(p, rel->children[1], "r"))
		return false;
	rql_strbuf_put(p->out, " WHERE ");
	if (!print_conditions(p, rel, print_join_ref, &lefts))
		return false;
	rql_strbuf_put(p->out, ") AS v FROM ");
	if (!print_input(p, rel->children[0], "l"))
		return false;
	rql_strbuf_put(p->out, ") AS t");
	return true;
}

static bool print_join(const struct rel_printer *p, const struct rql_rel *rel)
{
	switch (rel->join) {
	case RQL_JOIN_INNER:
	case RQL_JOIN_CROSS:
		return print_inner_join(p, rel);
	case RQL_JOIN_LEFT:
		return print_two_sided(p, rel, "LEFT JOIN");
	case RQL_JOIN_RIGHT:
		return print_two_sided(p, rel, "RIGHT JOIN");
	case RQL_JOIN_FULL:
		return print_two_sided(p, rel, "FULL JOIN");
	case RQL_JOIN_SEMI:
	case RQL_JOIN_RIGHT_SEMI:
		return print_two_sided(p, rel, "SEMI JOIN");
	case RQL_JOIN_ANTI:
	case RQL_JOIN_RIGHT_ANTI:
		return print_two_sided(p, rel, "ANTI JOIN");
	case RQL_JOIN_ASOF:
		return print_two_sided(p, rel, "ASOF JOIN");
	case RQL_JOIN_ASOF_LEFT:
		return print_two_sided(p, rel, "ASOF LEFT JOIN");
	case RQL_JOIN_MARK:
		return print_mark(p, rel);
	case RQL_JOIN_SINGLE:
		return print_single(p, rel);
	}
	return false;
}

/* ---- several inputs ---- */
static bool print_setop(const struct rel_printer *p, const struct rql_rel *rel)
{
	static const char *const words[] = {" UNION ", " EXCEPT ", " INTERSECT "};
	for (uint32_t i = 0; i < rel->child_count; i++) {
		if (i)
			rql_strbuf_printf(p->out, "%s%s", words[rel->setop], rel->setop_all ? "ALL " : "");
		rql_strbuf_put(p->out, "(SELECT * FROM ");
		if (!print_input(p, rel->children[i], "t"))
			return false;
		rql_strbuf_putc(p->out, ')');
	}
	return rel->child_count >= 2;
}

static bool print_cte(const struct rel_printer *p, const struct rql_rel *rel)
{
	rql_strbuf_printf(p->out, "WITH rayql_cte_%" PRIu64 " AS MATERIALIZED (SELECT * FROM ", rel->cte);
	if (!print_input(p, rel->children[0], "t"))
		return false;
	rql_strbuf_put(p->out, ") SELECT * FROM ");
	return print_input(p, rel->children[1], "t");
}

static bool print_select(const struct rel_printer *p, const struct rql_rel *rel)
{
	switch (rel->kind) {
	case RQL_REL_GET:
		return print_get(p, rel);
	case RQL_REL_DUMMY:
		rql_strbuf_put(p->out, "SELECT 1");
		return true;
	case RQL_REL_EMPTY:
		return print_empty(p, rel);
	case RQL_REL_VALUES:
		return print_values(p, rel);
	case RQL_REL_FILTER:
		return print_filter(p, rel);
	case RQL_REL_PROJECT:
		return print_project(p, rel);
	case RQL_REL_AGGREGATE:
		return print_aggregate(p, rel);
	case RQL_REL_JOIN:
		return print_join(p, rel);
	case RQL_REL_ORDER:
	case RQL_REL_TOP_N:
	case RQL_REL_LIMIT:
	case RQL_REL_DISTINCT:
		return print_ordered(p, rel);
	case RQL_REL_DISTINCT_ON:
		return print_distinct_on(p, rel);
	case RQL_REL_WINDOW:
		return print_window(p, rel);
	case RQL_REL_SETOP:
		return print_setop(p, rel);
	case RQL_REL_CTE:
		return print_cte(p, rel);
	case RQL_REL_CTE_REF:
		rql_strbuf_printf(p->out, "SELECT * FROM rayql_cte_%" PRIu64, rel->cte);
		return true;
	case RQL_REL_OPAQUE:
		break;
	}
	return false;
}

bool rql_rel_print(struct rql_strbuf *out, const struct rql_rel *rel, rql_leaf_printer *leaf, void *state)
{
	struct rel_printer p = {out, leaf, state};
	size_t before = out->length;
	if (leaf && leaf(out, rel, state)) {
		/* the root itself is the caller's */
		struct rql_strbuf text = {0};
		rql_strbuf_put_n(&text, rql_strbuf_text(out) + before, out->length - before);
		out->length = before;
		rql_strbuf_printf(out, "SELECT * FROM %s AS t", rql_strbuf_text(&text));
		out->failed |= text.failed;
		rql_strbuf_free(&text);
		return !out->failed;
	}
	return print_select(&p, rel) && !out->failed;
}
