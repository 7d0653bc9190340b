/* DuckDB knows of each function whether it can raise errors, but tells nobody; so these are lists of some that cannot. */
#include "bind/normal/fallible.h"

#include <string.h>

/* For any arguments. Not here: what a long text, a small pattern or a large number can make fail. */
static const char *const total[] = {
	"||",      "~~",       "!~~",      "~~*",    "!~~*",     "ascii",       "concat",     "contains",  "day",
	"dayname", "dayofmonth", "dayofweek", "dayofyear", "ends_with", "greatest", "hash",   "hour",      "instr",
	"isfinite", "isinf",   "isnan",    "isodow", "lcase",    "least",       "len",        "length",    "lower",
	"ltrim",   "md5",      "minute",   "month",  "monthname", "position",   "prefix",     "quarter",   "replace",
	"reverse", "rtrim",    "second",   "sign",   "starts_with", "strlen",   "strpos",     "suffix",    "trim",
	"ucase",   "upper",    "week",     "weekday", "weekofyear", "year",     "yearweek",
};
/* If all arguments but the first are constants: these are looked at when the statement is bound. */
static const char *const total_in_first[] = {"regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract",
                                             "strftime",       "substring",         "substr",         "left",
                                             "right",          "lpad",              "rpad",           "array_slice"};
/* Of floating-point numbers: the result may be infinite or NaN. */
static const char *const total_of_reals[] = {"+", "-", "*", "/", "abs", "floor", "ceil", "ceiling", "round", "trunc"};

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}
#define AMONG(names, name) is_among(names, sizeof(names) / sizeof *(names), name)

static bool is_real(struct rql_type t)
{
	return t.id == RQL_TYPE_DOUBLE || t.id == RQL_TYPE_FLOAT;
}

static bool function_can_fail(const struct rql_expr *e)
{
	bool constants = true;
	for (uint32_t i = 1; i < e->child_count; i++)
		constants &= e->children[i]->kind == RQL_EXPR_CONSTANT;
	if (!e->name)
		return true;
	return !AMONG(total, e->name) && !(constants && AMONG(total_in_first, e->name)) &&
	       !(is_real(e->type) && AMONG(total_of_reals, e->name));
}

static unsigned integer_bits(struct rql_type t)
{
	return rql_type_is_integer(t) && t.id != RQL_TYPE_UHUGEINT ? 8 * rql_type_bytes(t) : 0;
}

/* Of integers into wider ones, and of anything into text. */
static bool cast_can_fail(const struct rql_expr *e)
{
	const struct rql_type from = e->children[0]->type, to = e->type;
	if (e->try_cast || rql_type_equal(from, to) || to.id == RQL_TYPE_VARCHAR)
		return false;
	if (from.id == RQL_TYPE_BOOLEAN || rql_type_is_integer(from))
		return !is_real(to) && (integer_bits(to) <= integer_bits(from) || !rql_type_is_signed(to));
	return !(from.id == RQL_TYPE_FLOAT && to.id == RQL_TYPE_DOUBLE) &&
	       !(from.id == RQL_TYPE_DECIMAL && to.id == RQL_TYPE_DOUBLE);
}

bool rql_expr_can_fail(const struct rql_expr *e)
{
	bool can = false;
	switch (e->kind) {
	case RQL_EXPR_REF:
	case RQL_EXPR_COLUMN:
	case RQL_EXPR_CONSTANT:
		return false;
	case RQL_EXPR_CAST:
		can = cast_can_fail(e);
		break;
	case RQL_EXPR_FUNCTION:
		can = function_can_fail(e);
		break;
	case RQL_EXPR_COMPARE:
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
	case RQL_EXPR_NOT:
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
	case RQL_EXPR_BETWEEN:
	case RQL_EXPR_CASE:
	case RQL_EXPR_COALESCE:
		break;
	default:
		return true;
	}
	for (uint32_t i = 0; i < e->child_count && !can; i++)
		can = rql_expr_can_fail(e->children[i]);
	return can;
}
