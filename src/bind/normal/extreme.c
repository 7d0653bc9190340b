/* What DuckDB's optimiser may fail at, found by having it optimise some 100,000 small statements of all types and many
 * constants: `d < TIMESTAMP 'infinity'`, `ubigint - 1 < 18446744073709551615`, casts of TIMESTAMP_MS. */
#include "bind/normal/extreme.h"

#include "bind/normal/normal.h"
#include "expr/date.h"
#include "sql/rel/rel_edit.h"

#define DAY_MICROS INT64_C(86400000000)

static bool is_rare_moment(struct rql_type type)
{
	return type.id == RQL_TYPE_TIMESTAMP_S || type.id == RQL_TYPE_TIMESTAMP_MS || type.id == RQL_TYPE_TIMESTAMP_NS;
}

/* Within the years 1 to 9999. */
static bool is_near(const struct rql_value *v, int64_t scale)
{
	return v->integer >= rql_days_of_year(1) * (rql_int128)scale && v->integer < rql_days_of_year(10000) * (rql_int128)scale;
}

static bool is_common(const struct rql_value *v)
{
	if (v->is_null)
		return true;
	switch (v->type.id) {
	case RQL_TYPE_DATE:
		return is_near(v, 1);
	case RQL_TYPE_TIMESTAMP:
	case RQL_TYPE_TIMESTAMP_TZ:
		return is_near(v, DAY_MICROS);
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		return v->real - v->real == 0; /* finite */
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
	case RQL_TYPE_BOOLEAN:
	case RQL_TYPE_ENUM:
	case RQL_TYPE_DECIMAL:
	case RQL_TYPE_INTERVAL:
	case RQL_TYPE_TIME:
		return true;
	default:
		return rql_type_is_integer(v->type) && v->type.id != RQL_TYPE_UHUGEINT && v->integer >= INT64_MIN &&
		       v->integer <= INT64_MAX;
	}
}

static bool is_extreme(const struct rql_expr *e)
{
	struct rql_value value;
	if (e->kind == RQL_EXPR_CONSTANT)
		return !is_common(&e->value);
	if (e->kind != RQL_EXPR_CAST)
		return false;
	const struct rql_expr *from = e->children[0];
	if (from->kind != RQL_EXPR_CONSTANT || from->type.id != RQL_TYPE_VARCHAR || from->value.is_null)
		return is_rare_moment(from->type) && !rql_type_equal(from->type, e->type);
	return e->type.id != RQL_TYPE_VARCHAR && !(rql_plan_fold_text(&from->value, e->type, &value) && is_common(&value));
}

static bool has_extremes(struct rql_expr *const *exprs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rql_expr_any(exprs[i], is_extreme))
			return true;
	return false;
}

bool rql_plan_has_extremes(const struct rql_rel *root)
{
	if (has_extremes(root->exprs, root->expr_count))
		return true;
	for (uint32_t i = 0; i < root->order_count; i++)
		if (rql_expr_any(root->orders[i].expr, is_extreme))
			return true;
	for (uint32_t i = 0; i < root->child_count; i++)
		if (rql_plan_has_extremes(root->children[i]))
			return true;
	return false;
}
