/* The compiler of expressions: each node becomes a value's number in the program, or is refused with a reason. */
#include "flow/compute/compile.h"
#include "host/host.h"

#include <string.h>
#include <strings.h>

#define MAX_DEPTH 200u

struct compiler {
	const struct rql_compile_context *ctx;
	struct rql_builder *b;
	unsigned depth;
	bool selecting; /* only the rows where it is true are wanted: of a filter, a WHEN, and of AND and OR right below */
	rql_status status; /* of ctx->table, when it failed for good */
	struct rql_error *err;
};

static rql_value_number compile(struct compiler *c, const struct rql_expr *e);

static rql_value_number unsupported(struct compiler *c, const char *what, const char *name)
{
	return rql_builder_refuse(c->b, "%s%s%s", what, name ? " " : "", name ? name : "");
}

/* ---- columns ---- */
static bool is_column(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_REF || e->kind == RQL_EXPR_COLUMN;
}

/* The only column below e. false: there are several, or something that is no function of columns. */
static bool only_column(const struct rql_expr *e, const struct rql_expr **column)
{
	if (is_column(e)) {
		if (*column && !rql_expr_equal(*column, e))
			return false;
		*column = e;
		return true;
	}
	if (e->kind >= RQL_EXPR_AGGREGATE)
		return false;
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!only_column(e->children[i], column))
			return false;
	return true;
}

static bool coded_column(struct compiler *c, const struct rql_expr *e, struct rql_compile_column *out)
{
	return c->ctx->column(c->ctx->state, e, out) && out->coded;
}

static rql_value_number code_input(struct compiler *c, const struct rql_compile_column *column)
{
	struct rql_input_spec spec = column->input;
	rql_type_id id = spec.type.id;
	if (id != RQL_TYPE_VARCHAR && id != RQL_TYPE_BLOB && id != RQL_TYPE_ENUM)
		spec.type = rql_type_simple(RQL_TYPE_INTEGER); /* a code is no value of the type */
	return rql_build_input(c->b, &spec);
}

static bool has_function(const struct rql_expr *e)
{
	bool has = e->kind == RQL_EXPR_FUNCTION;
	for (uint32_t i = 0; i < e->child_count && !has; i++)
		has = has_function(e->children[i]);
	return has;
}

/* A value's place in its span. */
static rql_value_number span_input(struct compiler *c, const struct rql_compile_column *column)
{
	struct rql_type integer = rql_type_simple(RQL_TYPE_INTEGER);
	struct rql_value least = {.type = integer, .integer = column->input.bounds.low};
	return rql_build_arithmetic(c->b, "-", code_input(c, column), rql_build_constant(c->b, &least), integer, true);
}

/* e over one column, as a table of its codes or, where there is a function to be saved, of its span. false: it is none,
 * or nobody evaluates it. */
static bool by_table(struct compiler *c, const struct rql_expr *e, rql_value_number *out)
{
	const struct rql_expr *column = NULL;
	struct rql_compile_column how;
	struct rql_compile_table table = {0};
	if (!c->ctx->table || !only_column(e, &column) || !column || !c->ctx->column(c->ctx->state, column, &how) ||
	    !(how.coded || (how.span && has_function(e))))
		return false;
	rql_status status = c->ctx->table(c->ctx->state, e, column, &table, c->err);
	if (status == RQL_ERROR_UNSUPPORTED) {
		rql_error_clear(c->err);
		return false;
	}
	if (status != RQL_OK) {
		c->status = status;
		*out = RQL_VALUE_NONE;
		return true;
	}
	if (!table.values) { /* as a number, which it is no value of the column's type for */
		how.input.type = rql_type_simple(RQL_TYPE_INTEGER);
		*out = rql_build_input(c->b, &how.input);
		return true;
	}
	rql_value_number code = how.coded ? code_input(c, &how) : span_input(c, &how);
	rql_value_number value = rql_build_lookup(c->b, code, table.values, table.count, table.lasts);
	if (how.input.nullable && !table.null_value.is_null)
		value = rql_build_choose(c->b, rql_build_is_null(c->b, code, false),
		                         rql_build_constant(c->b, &table.null_value), value);
	*out = value;
	return true;
}

static rql_value_number column_value(struct compiler *c, const struct rql_expr *e)
{
	struct rql_compile_column column;
	rql_value_number v;
	if (!c->ctx->column(c->ctx->state, e, &column))
		return unsupported(c, "a column that is not there:", e->alias);
	if (column.bits)
		return unsupported(c, "the number in a UHUGEINT column:", e->alias);
	if (!column.coded)
		return rql_build_input(c->b, &column.input);
	if (c->depth > 1 && by_table(c, e, &v))
		return v;
	return code_input(c, &column);
}

/* ---- logic ---- */
/* The host computes all operands where it wants the value, and only where it selects rows those that are undecided. */
static rql_value_number logic(struct compiler *c, const struct rql_expr *e)
{
	bool and = e->kind == RQL_EXPR_AND;
	rql_value_number v = compile(c, e->children[0]);
	for (uint32_t i = 1; i < e->child_count && v != RQL_VALUE_NONE; i++) {
		if (c->selecting)
			rql_build_push(c->b, and? RQL_MASK_NOT_FALSE : RQL_MASK_NOT_TRUE, v);
		rql_value_number next = compile(c, e->children[i]);
		if (c->selecting)
			rql_build_pop(c->b);
		v = and? rql_build_and(c->b, v, next) : rql_build_or(c->b, v, next);
	}
	return v;
}

/* From its child i on: WHEN, THEN, rest, the last child is ELSE. */
static rql_value_number case_from(struct compiler *c, const struct rql_expr *e, uint32_t i)
{
	if (i + 1 == e->child_count)
		return compile(c, e->children[i]);
	if (i == e->child_count) {
		struct rql_value null = rql_value_null(e->type);
		return rql_build_constant(c->b, &null);
	}
	c->selecting = true;
	rql_value_number when = compile(c, e->children[i]);
	c->selecting = false;
	rql_build_push(c->b, RQL_MASK_TRUE, when);
	rql_value_number then = compile(c, e->children[i + 1]);
	rql_build_pop(c->b);
	rql_build_push(c->b, RQL_MASK_NOT_TRUE, when);
	rql_value_number rest = case_from(c, e, i + 2);
	rql_build_pop(c->b);
	return rql_build_choose(c->b, when, then, rest);
}

static rql_value_number coalesce_from(struct compiler *c, const struct rql_expr *e, uint32_t i)
{
	rql_value_number v = compile(c, e->children[i]);
	if (i + 1 == e->child_count)
		return v;
	rql_build_push(c->b, RQL_MASK_NULL, v);
	rql_value_number rest = coalesce_from(c, e, i + 1);
	rql_build_pop(c->b);
	return rql_build_coalesce(c->b, v, rest);
}

/* ---- comparisons ---- */
static struct rql_value as_bits(struct rql_value value)
{
	value.type = value.type.id == RQL_TYPE_UHUGEINT ? rql_type_simple(RQL_TYPE_HUGEINT) : value.type;
	return value;
}

/* What is only tested for being the same: UHUGEINTs are where their bits are, which order no values. */
static rql_value_number compile_same(struct compiler *c, const struct rql_expr *e)
{
	struct rql_compile_column column;
	if (e->type.id != RQL_TYPE_UHUGEINT)
		return compile(c, e);
	if (e->kind == RQL_EXPR_CONSTANT) {
		const struct rql_value value = as_bits(e->value);
		return rql_build_constant(c->b, &value);
	}
	if (is_column(e) && c->ctx->column(c->ctx->state, e, &column) && column.bits)
		return rql_build_input(c->b, &column.input);
	return compile(c, e);
}

static rql_value_number compare(struct compiler *c, const struct rql_expr *e)
{
	static const struct {
		const char *name;
		enum rql_step_op op;
	} ops[] = {
		{"=", RQL_STEP_EQ},
		{"<>", RQL_STEP_NE},
		{"<", RQL_STEP_LT},
		{"<=", RQL_STEP_LE},
		{">", RQL_STEP_GT},
		{">=", RQL_STEP_GE},
		{"IS DISTINCT FROM", RQL_STEP_DIFFERENT},
		{"IS NOT DISTINCT FROM", RQL_STEP_SAME},
	};
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(e->name, ops[i].name) == 0) {
			const bool ordered = ops[i].op != RQL_STEP_EQ && ops[i].op != RQL_STEP_NE && ops[i].op != RQL_STEP_DIFFERENT &&
			                     ops[i].op != RQL_STEP_SAME;
			rql_value_number x = ordered ? compile(c, e->children[0]) : compile_same(c, e->children[0]);
			rql_value_number y = ordered ? compile(c, e->children[1]) : compile_same(c, e->children[1]);
			return rql_build_compare(c->b, ops[i].op, x, y);
		}
	return unsupported(c, "the comparison", e->name);
}

static rql_value_number between(struct compiler *c, const struct rql_expr *e)
{
	rql_value_number x = compile(c, e->children[0]), low = compile(c, e->children[1]),
					 high = compile(c, e->children[2]);
	rql_value_number above = rql_build_compare(c->b, e->name[0] == '[' ? RQL_STEP_GE : RQL_STEP_GT, x, low);
	rql_value_number below = rql_build_compare(c->b, e->name[1] == ']' ? RQL_STEP_LE : RQL_STEP_LT, x, high);
	return rql_build_and(c->b, above, below);
}

static rql_value_number in_list(struct compiler *c, const struct rql_expr *e)
{
	rql_value_number x = compile_same(c, e->children[0]), v = RQL_VALUE_NONE;
	struct rql_value *list = RQL_NEW_ARRAY(c->ctx->arena, struct rql_value, e->child_count);
	bool constants =
		e->child_count > 1 && e->children[0]->kind != RQL_EXPR_CONSTANT && e->children[0]->type.id != RQL_TYPE_BOOLEAN;
	bool some_value = false;
	if (!list)
		return unsupported(c, "a list for which there is no memory", NULL);
	for (uint32_t i = 1; i < e->child_count; i++) {
		constants &= e->children[i]->kind == RQL_EXPR_CONSTANT;
		list[i - 1] = as_bits(e->children[i]->value);
		some_value |= e->children[i]->kind == RQL_EXPR_CONSTANT && !list[i - 1].is_null;
	}
	if (constants && some_value) {
		v = rql_build_in(c->b, x, list, e->child_count - 1);
	} else {
		for (uint32_t i = 1; i < e->child_count; i++) {
			rql_value_number equal = rql_build_compare(c->b, RQL_STEP_EQ, x, compile_same(c, e->children[i]));
			v = i == 1 ? equal : rql_build_or(c->b, v, equal);
		}
	}
	return e->kind == RQL_EXPR_NOT_IN ? rql_build_not(c->b, v) : v;
}

/* ---- functions ---- */
static bool part_of(const char *name, enum rql_date_part *out)
{
	static const struct {
		const char *name;
		enum rql_date_part part;
	} parts[] = {
		{"year", RQL_PART_YEAR},       {"month", RQL_PART_MONTH},           {"day", RQL_PART_DAY},
		{"dayofmonth", RQL_PART_DAY},  {"quarter", RQL_PART_QUARTER},       {"week", RQL_PART_WEEK},
		{"weekofyear", RQL_PART_WEEK}, {"dayofweek", RQL_PART_DAY_OF_WEEK}, {"weekday", RQL_PART_DAY_OF_WEEK},
		{"isodow", RQL_PART_ISO_DAY},  {"dayofyear", RQL_PART_DAY_OF_YEAR}, {"hour", RQL_PART_HOUR},
		{"minute", RQL_PART_MINUTE},   {"second", RQL_PART_SECOND},
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcasecmp(name, parts[i].name) == 0) {
			*out = parts[i].part;
			return true;
		}
	return false;
}

/* A constant VARCHAR that names a part. */
static bool part_constant(const struct rql_expr *e, enum rql_date_part *out)
{
	char name[16];
	if (e->kind != RQL_EXPR_CONSTANT || e->type.id != RQL_TYPE_VARCHAR || e->value.is_null ||
	    e->value.string.length >= sizeof(name))
		return false;
	memcpy(name, e->value.string.data, e->value.string.length);
	name[e->value.string.length] = 0;
	return part_of(name, out);
}

static const char *operator_of(const struct rql_expr *e)
{
	static const char *const names[][2] = {{"add", "+"}, {"subtract", "-"}, {"multiply", "*"}, {"divide", "//"},
	                                       {"mod", "%"}, {"+", "+"},        {"-", "-"},        {"*", "*"},
	                                       {"/", "/"},   {"//", "//"},      {"%", "%"}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(e->name, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

/* constant_or_null(v, x, ...): v, which the optimiser found to be the answer for all rows where no x is NULL. */
static rql_value_number constant_or_null(struct compiler *c, const struct rql_expr *e)
{
	struct rql_value null = rql_value_null(e->type);
	rql_value_number v = compile(c, e->children[0]), none = rql_build_constant(c->b, &null);
	for (uint32_t i = 1; i < e->child_count; i++)
		v = rql_build_choose(c->b, rql_build_is_null(c->b, compile(c, e->children[i]), false), none, v);
	return v;
}

static bool nonzero_real(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && !e->value.is_null && e->value.real != 0;
}

static rql_value_number function(struct compiler *c, const struct rql_expr *e)
{
	const char *op = operator_of(e);
	enum rql_date_part part;
	if (op && e->child_count == 2) {
		/* By 0, % of DOUBLEs is NaN when written so and NULL when DuckDB made it from DECIMAL or HUGEINT: plans look alike */
		if (op[0] == '%' && (e->type.id == RQL_TYPE_DOUBLE || e->type.id == RQL_TYPE_FLOAT) &&
		    !nonzero_real(e->children[1]))
			return unsupported(c, "% of DOUBLEs by what may be 0", NULL);
		rql_value_number x = compile(c, e->children[0]), y = compile(c, e->children[1]);
		return rql_build_arithmetic(c->b, op, x, y, e->type, !c->ctx->null_at_zero);
	}
	if (op && e->child_count == 1 && op[0] == '-')
		return rql_build_negate(c->b, compile(c, e->children[0]));
	if (op && e->child_count == 1 && op[0] == '+')
		return compile(c, e->children[0]);
	if ((strcmp(e->name, "abs") == 0 || strcmp(e->name, "@") == 0) && e->child_count == 1)
		return rql_build_abs(c->b, compile(c, e->children[0]));
	if (strcmp(e->name, "constant_or_null") == 0 && e->child_count >= 1)
		return constant_or_null(c, e);
	if (e->child_count == 1 && part_of(e->name, &part))
		return rql_build_date_part(c->b, part, compile(c, e->children[0]), e->type);
	if (e->child_count == 2 && (strcmp(e->name, "date_part") == 0 || strcmp(e->name, "datepart") == 0) &&
	    part_constant(e->children[0], &part))
		return rql_build_date_part(c->b, part, compile(c, e->children[1]), e->type);
	if (e->child_count == 2 && (strcmp(e->name, "date_trunc") == 0 || strcmp(e->name, "datetrunc") == 0) &&
	    part_constant(e->children[0], &part) && part <= RQL_PART_WEEK)
		return rql_build_date_trunc(c->b, part, compile(c, e->children[1]), e->type);
	return unsupported(c, "the function", e->name);
}

/* ---- dispatch ---- */
static rql_value_number native(struct compiler *c, const struct rql_expr *e)
{
	switch (e->kind) {
	case RQL_EXPR_REF:
	case RQL_EXPR_COLUMN:
		return column_value(c, e);
	case RQL_EXPR_CONSTANT:
		return rql_build_constant(c->b, &e->value);
	case RQL_EXPR_CAST:
		return rql_build_cast(c->b, compile(c, e->children[0]), e->type, e->try_cast);
	case RQL_EXPR_COMPARE:
		return compare(c, e);
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
		return logic(c, e);
	case RQL_EXPR_NOT:
		return rql_build_not(c->b, compile(c, e->children[0]));
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		return rql_build_is_null(c->b, compile_same(c, e->children[0]), e->kind == RQL_EXPR_IS_NOT_NULL);
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		return in_list(c, e);
	case RQL_EXPR_BETWEEN:
		return between(c, e);
	case RQL_EXPR_CASE:
		return case_from(c, e, 0);
	case RQL_EXPR_COALESCE:
		return coalesce_from(c, e, 0);
	case RQL_EXPR_FUNCTION:
		return function(c, e);
	case RQL_EXPR_OPAQUE:
		return unsupported(c, e->name, NULL);
	default:
		return unsupported(c, "an aggregate, window or subquery inside an expression", NULL);
	}
}

static rql_value_number compile(struct compiler *c, const struct rql_expr *e)
{
	rql_value_number v = RQL_VALUE_NONE;
	struct rql_compile_column column;
	if (c->status != RQL_OK || rql_builder_status(c->b, NULL) != RQL_OK)
		return RQL_VALUE_NONE;
	if (c->depth == MAX_DEPTH)
		return unsupported(c, "an expression nested too deep", NULL);
	const bool selecting = c->selecting;
	c->selecting = selecting && (e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR);
	c->depth++;
	bool null_test = (e->kind == RQL_EXPR_IS_NULL || e->kind == RQL_EXPR_IS_NOT_NULL) && is_column(e->children[0]);
	if (null_test && coded_column(c, e->children[0], &column))
		v = rql_build_is_null(c->b, code_input(c, &column), e->kind == RQL_EXPR_IS_NOT_NULL);
	else if (is_column(e) || !by_table(c, e, &v))
		v = native(c, e);
	c->selecting = selecting;
	c->depth--;
	return v;
}

static rql_status finish(struct compiler *c, const rql_value_number *results, uint32_t count, struct rql_program **out)
{
	return c->status != RQL_OK ? c->status : rql_builder_finish(c->b, results, count, out, c->err);
}

static void as_host_casts(struct compiler *c)
{
	if (rql_host_major() >= 2)
		rql_builder_cast_to_nearest(c->b);
}

rql_status rql_compile_expressions(const struct rql_compile_context *ctx, const struct rql_expr *const *exprs,
                                   uint32_t count, struct rql_program **out, struct rql_error *err)
{
	struct compiler c = {.ctx = ctx, .b = rql_builder_new(ctx->arena), .err = err};
	rql_value_number *results = RQL_NEW_ARRAY(ctx->arena, rql_value_number, count);
	if (!c.b || !results)
		return rql_error_memory(err, 0, "an expression");
	as_host_casts(&c);
	for (uint32_t i = 0; i < count; i++)
		results[i] = compile(&c, exprs[i]);
	return finish(&c, results, count, out);
}

rql_status rql_compile_filter(const struct rql_compile_context *ctx, const struct rql_expr *const *conjuncts,
                              uint32_t count, struct rql_program **out, struct rql_error *err)
{
	struct compiler c = {.ctx = ctx, .b = rql_builder_new(ctx->arena), .err = err};
	if (!c.b)
		return rql_error_memory(err, 0, "an expression");
	as_host_casts(&c);
	c.selecting = true;
	rql_value_number v = compile(&c, conjuncts[0]);
	for (uint32_t i = 1; i < count && v != RQL_VALUE_NONE; i++) {
		/* a row whose conjunct is NULL is out as well: stricter than AND's own mask */
		rql_build_push(c.b, RQL_MASK_TRUE, v);
		rql_value_number next = compile(&c, conjuncts[i]);
		rql_build_pop(c.b);
		v = rql_build_and(c.b, v, next);
	}
	return finish(&c, &v, 1, out);
}
