/* The algebra's functions of strings as RayQL's own. What is not here, or not with constants where it needs them, is the
 * host's: functions are known by DuckDB's names and the types of their arguments. */
#include "flow/compute/compile_entries.h"

#include <string.h>
#include "expr/building/build.h"

#define MOST_NODES 400u /* each has a vector in every thread */
#define MOST_LIST 64u

struct mapping {
	struct rql_arena *arena;
	uint32_t nodes;
};

static struct rql_entry *map(struct mapping *m, const struct rql_expr *e);

static bool is_text(const struct rql_expr *e)
{
	return e->type.id == RQL_TYPE_VARCHAR;
}

static bool is_text_constant(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && is_text(e) && !e->value.is_null && e->value.string.length <= UINT32_MAX / 2;
}

static bool is_integer_constant(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && rql_type_is_integer(e->type) && e->type.id != RQL_TYPE_UHUGEINT &&
	       !e->value.is_null && e->value.integer >= INT64_MIN && e->value.integer <= INT64_MAX;
}

static struct rql_entry *constant(struct mapping *m, const struct rql_expr *e)
{
	if (e->value.is_null)
		return is_text(e)                         ? rql_entry_null(m->arena, RQL_ENTRY_TEXT)
		       : rql_type_is_integer(e->type)     ? rql_entry_null(m->arena, RQL_ENTRY_INTEGER)
		       : e->type.id == RQL_TYPE_BOOLEAN   ? rql_entry_null(m->arena, RQL_ENTRY_TRUTH)
		                                          : NULL;
	if (is_text_constant(e))
		return rql_entry_text(m->arena, e->value.string.data, (uint32_t)e->value.string.length);
	if (is_integer_constant(e))
		return rql_entry_integer(m->arena, (int64_t)e->value.integer);
	return e->type.id == RQL_TYPE_BOOLEAN ? rql_entry_truth(m->arena, e->value.integer != 0) : NULL;
}

/* ---- functions ---- */

enum function {
	LIKE,
	NOT_LIKE,
	ILIKE,
	NOT_ILIKE,
	PREFIX,
	SUFFIX,
	CONTAINS,
	BYTES,
	CHARACTERS,
	POSITION,
	SUBSTRING,
	LEFT,
	RIGHT,
	UPPER,
	LOWER,
	REGEXP,
	REGEXP_WHOLE,
	REGEXP_REPLACE,
	ARITHMETIC,
	NO_FUNCTION,
};

static enum function function_of(const char *name)
{
	static const struct {
		const char *name;
		enum function function;
	} names[] = {
		{"~~", LIKE},           {"like_escape", LIKE},       {"!~~", NOT_LIKE},        {"not_like_escape", NOT_LIKE},
		{"~~*", ILIKE},         {"ilike_escape", ILIKE},     {"!~~*", NOT_ILIKE},      {"not_ilike_escape", NOT_ILIKE},
		{"prefix", PREFIX},     {"starts_with", PREFIX},     {"^@", PREFIX},           {"suffix", SUFFIX},
		{"ends_with", SUFFIX},  {"contains", CONTAINS},      {"strlen", BYTES},        {"length", CHARACTERS},
		{"len", CHARACTERS},    {"char_length", CHARACTERS}, {"character_length", CHARACTERS},
		{"instr", POSITION},    {"strpos", POSITION},        {"position", POSITION},   {"substring", SUBSTRING},
		{"substr", SUBSTRING},  {"left", LEFT},              {"right", RIGHT},         {"upper", UPPER},
		{"ucase", UPPER},       {"lower", LOWER},            {"lcase", LOWER},         {"+", ARITHMETIC},
		{"-", ARITHMETIC},      {"*", ARITHMETIC},           {"regexp_matches", REGEXP},
		{"regexp_full_match", REGEXP_WHOLE},                 {"regexp_replace", REGEXP_REPLACE},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i].name, name))
			return names[i].function;
	return NO_FUNCTION;
}

/* The pattern's letters are made small as the strings' are, where all of them are known. A byte 0 would be an escape. */
static char *small_pattern(struct mapping *m, const char *pattern, uint32_t length)
{
	char *small = rql_arena_alloc(m->arena, length + 1u);
	return small && !memchr(pattern, 0, length) && rql_text_case(pattern, length, false, small) ? small : NULL;
}

static struct rql_entry *like(struct mapping *m, const struct rql_expr *e, bool any_case)
{
	bool refused, escapes = e->child_count == 3;
	if (!is_text_constant(e->children[1]) || (escapes && !is_text_constant(e->children[2])))
		return NULL;
	const struct rql_value *v = &e->children[1]->value;
	/* An empty escape is none but for the byte 0, and a longer one is an error. */
	if (escapes && (e->children[2]->value.string.length != 1 || any_case))
		return NULL;
	char escape = (char)(escapes ? e->children[2]->value.string.data[0] : 0);
	const char *pattern = any_case ? small_pattern(m, v->string.data, (uint32_t)v->string.length) : v->string.data;
	struct rql_entry *text = pattern ? map(m, e->children[0]) : NULL;
	if (!text || (escapes && !escape))
		return NULL;
	return rql_entry_like(m->arena, any_case ? rql_entry_case(m->arena, text, false) : text,
	                      rql_like_parse(m->arena, pattern, (uint32_t)v->string.length, escape, &refused));
}

static struct rql_entry *literal_like(struct mapping *m, const struct rql_expr *e, enum rql_like_form form)
{
	if (e->child_count != 2 || !is_text_constant(e->children[1]))
		return NULL;
	const struct rql_value *v = &e->children[1]->value;
	struct rql_entry *text = map(m, e->children[0]);
	return rql_entry_like(m->arena, text,
	                      rql_like_literal(m->arena, form, v->string.data, (uint32_t)v->string.length));
}

static struct rql_entry *position(struct mapping *m, const struct rql_expr *e)
{
	if (e->child_count != 2 || !is_text_constant(e->children[1]))
		return NULL;
	const struct rql_value *v = &e->children[1]->value;
	return rql_entry_position(m->arena, map(m, e->children[0]), v->string.data, (uint32_t)v->string.length);
}

/* Without options. */
static struct rql_entry *regexp(struct mapping *m, const struct rql_expr *e, enum function f)
{
	uint32_t children = f == REGEXP_REPLACE ? 3 : 2;
	for (uint32_t i = 1; i < children && i < e->child_count; i++)
		if (!is_text_constant(e->children[i]))
			return NULL;
	if (e->child_count != children)
		return NULL;
	const struct rql_value *v = &e->children[1]->value, *by = &e->children[children - 1]->value;
	const struct rql_regexp *re = rql_regexp_parse(m->arena, v->string.data, (uint32_t)v->string.length);
	struct rql_entry *text = re ? map(m, e->children[0]) : NULL;
	if (f == REGEXP_REPLACE)
		return text ? rql_entry_replace(m->arena, text, re, by->string.data, (uint32_t)by->string.length) : NULL;
	return rql_entry_regexp(m->arena, text, re, f == REGEXP_WHOLE);
}

/* Numbers beyond these are errors, or have been. */
static bool is_count(const struct rql_expr *e)
{
	return is_integer_constant(e) && e->value.integer >= -(rql_int128)UINT32_MAX && e->value.integer <= UINT32_MAX;
}

static struct rql_entry *pieces(struct mapping *m, const struct rql_expr *e, enum function f)
{
	for (uint32_t i = 1; i < e->child_count; i++)
		if (!is_count(e->children[i]))
			return NULL;
	if (e->child_count < 2 || e->child_count > (f == SUBSTRING ? 3 : 2))
		return NULL;
	struct rql_entry *text = map(m, e->children[0]);
	int64_t first = (int64_t)e->children[1]->value.integer;
	if (f == LEFT)
		return rql_entry_left(m->arena, text, first);
	if (f == RIGHT)
		return rql_entry_right(m->arena, text, first);
	return rql_entry_slice(m->arena, text, first,
	                       e->child_count == 3 ? (int64_t)e->children[2]->value.integer : UINT32_MAX);
}

static struct rql_entry *arithmetic(struct mapping *m, const struct rql_expr *e)
{
	struct rql_bounds bounds;
	if (e->child_count != 2 || !rql_type_is_integer(e->type) || !rql_bounds_of_type(e->type, &bounds))
		return NULL;
	return rql_entry_arithmetic(m->arena, e->name[0], map(m, e->children[0]), map(m, e->children[1]), bounds.low,
	                            bounds.high);
}

static struct rql_entry *function(struct mapping *m, const struct rql_expr *e)
{
	enum function f = e->name ? function_of(e->name) : NO_FUNCTION;
	bool one = e->child_count == 1;
	if (!e->child_count || (!is_text(e->children[0]) && f != ARITHMETIC))
		return NULL;
	switch (f) {
	case LIKE:
	case ILIKE:
		return e->child_count > 1 ? like(m, e, f == ILIKE) : NULL;
	case NOT_LIKE:
	case NOT_ILIKE:
		return e->child_count > 1 ? rql_entry_not(m->arena, like(m, e, f == NOT_ILIKE)) : NULL;
	case PREFIX:
		return literal_like(m, e, RQL_LIKE_PREFIX);
	case SUFFIX:
		return literal_like(m, e, RQL_LIKE_SUFFIX);
	case CONTAINS:
		return literal_like(m, e, RQL_LIKE_WITHIN);
	case BYTES:
		return one ? rql_entry_bytes(m->arena, map(m, e->children[0])) : NULL;
	case CHARACTERS:
		return one ? rql_entry_characters(m->arena, map(m, e->children[0])) : NULL;
	case POSITION:
		return position(m, e);
	case SUBSTRING:
	case LEFT:
	case RIGHT:
		return pieces(m, e, f);
	case UPPER:
	case LOWER:
		return one ? rql_entry_case(m->arena, map(m, e->children[0]), f == UPPER) : NULL;
	case REGEXP:
	case REGEXP_WHOLE:
	case REGEXP_REPLACE:
		return regexp(m, e, f);
	case ARITHMETIC:
		return arithmetic(m, e);
	case NO_FUNCTION:
		break;
	}
	return NULL;
}

/* ---- comparisons ---- */

static struct rql_entry *comparison(struct mapping *m, const struct rql_expr *e)
{
	static const struct {
		const char *name;
		enum rql_entry_comparison op;
	} ops[] = {
		{"=", RQL_ENTRY_EQ},
		{"<>", RQL_ENTRY_NE},
		{"<", RQL_ENTRY_LT},
		{"<=", RQL_ENTRY_LE},
		{">", RQL_ENTRY_GT},
		{">=", RQL_ENTRY_GE},
		{"IS DISTINCT FROM", RQL_ENTRY_DISTINCT},
		{"IS NOT DISTINCT FROM", RQL_ENTRY_NOT_DISTINCT},
	};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (!strcmp(e->name, ops[i].name))
			return rql_entry_compare(m->arena, ops[i].op, map(m, e->children[0]), map(m, e->children[1]));
	return NULL;
}

static struct rql_entry *between(struct mapping *m, const struct rql_expr *e)
{
	if (!e->name || strlen(e->name) != 2)
		return NULL;
	enum rql_entry_comparison above = e->name[0] == '[' ? RQL_ENTRY_GE : RQL_ENTRY_GT;
	enum rql_entry_comparison below = e->name[1] == ']' ? RQL_ENTRY_LE : RQL_ENTRY_LT;
	struct rql_entry *low = rql_entry_compare(m->arena, above, map(m, e->children[0]), map(m, e->children[1]));
	return rql_entry_and(m->arena, low,
	                     rql_entry_compare(m->arena, below, map(m, e->children[0]), map(m, e->children[2])));
}

static struct rql_entry *in_list(struct mapping *m, const struct rql_expr *e)
{
	struct rql_entry *list[MOST_LIST];
	if (e->child_count < 2 || e->child_count - 1 > MOST_LIST)
		return NULL;
	for (uint32_t i = 1; i < e->child_count; i++)
		if (e->children[i]->kind != RQL_EXPR_CONSTANT || !(list[i - 1] = constant(m, e->children[i])))
			return NULL;
	struct rql_entry *in = rql_entry_in(m->arena, map(m, e->children[0]), list, e->child_count - 1);
	return e->kind == RQL_EXPR_NOT_IN ? rql_entry_not(m->arena, in) : in;
}

/* ---- logic ---- */

static struct rql_entry *logic(struct mapping *m, const struct rql_expr *e)
{
	struct rql_entry *all = map(m, e->children[0]);
	for (uint32_t i = 1; all && i < e->child_count; i++) {
		struct rql_entry *next = map(m, e->children[i]);
		all = e->kind == RQL_EXPR_AND ? rql_entry_and(m->arena, all, next) : rql_entry_or(m->arena, all, next);
	}
	return all;
}

static struct rql_entry *case_from(struct mapping *m, const struct rql_expr *e, uint32_t i)
{
	struct rql_expr null = {.kind = RQL_EXPR_CONSTANT, .type = e->type, .value = rql_value_null(e->type)};
	if (i >= e->child_count)
		return constant(m, &null);
	if (i + 1 == e->child_count)
		return map(m, e->children[i]);
	struct rql_entry *when = map(m, e->children[i]), *then = when ? map(m, e->children[i + 1]) : NULL;
	return then ? rql_entry_choose(m->arena, when, then, case_from(m, e, i + 2)) : NULL;
}

static struct rql_entry *coalesce_from(struct mapping *m, const struct rql_expr *e, uint32_t i)
{
	struct rql_entry *x = map(m, e->children[i]);
	if (!x || i + 1 == e->child_count)
		return x;
	return rql_entry_choose(m->arena, rql_entry_not(m->arena, rql_entry_is_null(m->arena, x)), map(m, e->children[i]),
	                        coalesce_from(m, e, i + 1));
}

/* Of integers into types that surely hold them. */
static struct rql_entry *cast(struct mapping *m, const struct rql_expr *e)
{
	struct rql_bounds bounds;
	if (rql_type_equal(e->type, e->children[0]->type))
		return map(m, e->children[0]);
	if (!rql_type_is_integer(e->type) || !rql_type_is_integer(e->children[0]->type) ||
	    !rql_bounds_of_type(e->type, &bounds))
		return NULL;
	return rql_entry_within(map(m, e->children[0]), bounds.low, bounds.high);
}

static struct rql_entry *map(struct mapping *m, const struct rql_expr *e)
{
	struct rql_entry *x;
	if (m->nodes++ >= MOST_NODES)
		return NULL;
	switch (e->kind) {
	case RQL_EXPR_REF:
	case RQL_EXPR_COLUMN:
		return is_text(e) ? rql_entry_value(m->arena) : NULL;
	case RQL_EXPR_CONSTANT:
		return constant(m, e);
	case RQL_EXPR_CAST:
		return cast(m, e);
	case RQL_EXPR_COMPARE:
		return comparison(m, e);
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
		return logic(m, e);
	case RQL_EXPR_NOT:
		return rql_entry_not(m->arena, map(m, e->children[0]));
	case RQL_EXPR_IS_NULL:
		return rql_entry_is_null(m->arena, map(m, e->children[0]));
	case RQL_EXPR_IS_NOT_NULL:
		x = rql_entry_is_null(m->arena, map(m, e->children[0]));
		return x ? rql_entry_not(m->arena, x) : NULL;
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		return in_list(m, e);
	case RQL_EXPR_BETWEEN:
		return between(m, e);
	case RQL_EXPR_CASE:
		return case_from(m, e, 0);
	case RQL_EXPR_COALESCE:
		return coalesce_from(m, e, 0);
	case RQL_EXPR_FUNCTION:
		return function(m, e);
	default:
		return NULL;
	}
}

struct rql_entry *rql_compile_entries(struct rql_arena *arena, const struct rql_expr *expr)
{
	struct mapping m = {.arena = arena};
	return map(&m, expr);
}
