/* Names of a result's columns, from the text of its select list beside the bound plan. An item's name is certain where it
 * ends in AS and a name; where it is a column alone, which the plan spells as the table does; and where it is made of
 * columns, integers, plain aggregates, +, - and *. Everything else is for DuckDB to say. */
#include "sql/result_names.h"

#include <string.h>
#include <strings.h>
#include "sql/statement.h"

#define TOKENS_MAX 1024u /* of one item */
#define DEPTH_MAX 16u    /* nodes above the one that names a column */

struct naming {
	struct rql_arena *arena;
	const char *sql;
	uint32_t position;
	rql_keyword_fn *keyword;
	void *state;
	struct rql_token *tokens; /* of the item */
	uint32_t count;
};

static bool is_symbol(const struct naming *n, struct rql_token token, char c)
{
	return rql_token_is_symbol(n->sql, token, c);
}

static bool is_name(struct rql_token token)
{
	return token.kind == RQL_TOKEN_WORD || token.kind == RQL_TOKEN_QUOTED_WORD;
}

/* +1, -1: the token opens or closes something. */
static int depth_of(const struct naming *n, struct rql_token token)
{
	if (token.kind != RQL_TOKEN_SYMBOL || token.length != 1)
		return 0;
	char c = n->sql[token.start];
	return (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
}

/* ---- the select list ---- */

/* Moves behind the SELECT that names the columns, and its DISTINCT. */
static bool find_list(struct naming *n)
{
	struct rql_token token = rql_token_next(n->sql, &n->position);
	bool with = rql_token_is(n->sql, token, "WITH");
	for (int depth = 0; with; depth += depth_of(n, token)) {
		token = rql_token_next(n->sql, &n->position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN)
			return false;
		if (depth == 0 && rql_token_is(n->sql, token, "SELECT"))
			break;
	}
	if (!rql_token_is(n->sql, token, "SELECT"))
		return false;
	uint32_t ahead = n->position;
	token = rql_token_next(n->sql, &ahead);
	if (!rql_token_is(n->sql, token, "DISTINCT"))
		return true;
	n->position = ahead;
	return !rql_token_is(n->sql, rql_token_next(n->sql, &ahead), "ON");
}

/* Reads the next item; *last: the list ends with it. false: it is too long, or the text ends within. */
static bool read_item(struct naming *n, bool *last)
{
	static const char *const ends[] = {"FROM",    "WHERE", "GROUP",  "HAVING", "WINDOW",    "QUALIFY",
	                                   "ORDER",   "LIMIT", "OFFSET", "UNION",  "INTERSECT", "EXCEPT"};
	int depth = 0;
	for (n->count = 0; n->count < TOKENS_MAX; n->count++) {
		struct rql_token token = rql_token_next(n->sql, &n->position);
		*last = token.kind == RQL_TOKEN_END ||
		        (depth == 0 && (is_symbol(n, token, ';') || RQL_TOKEN_IS_ANY(n->sql, token, ends)));
		if (*last || (depth == 0 && is_symbol(n, token, ',')))
			return depth == 0;
		depth += depth_of(n, token);
		if (token.kind == RQL_TOKEN_BROKEN || depth < 0)
			return false;
		n->tokens[n->count] = token;
	}
	return false;
}

/* The item may stand for several columns, whatever it is called. */
static bool may_expand(const struct naming *n)
{
	static const char *const words[] = {"COLUMNS", "UNPACK", "UNNEST"};
	for (uint32_t i = 0; i < n->count; i++)
		if (RQL_TOKEN_IS_ANY(n->sql, n->tokens[i], words) ||
		    (is_symbol(n, n->tokens[i], '*') && (i == 0 || is_symbol(n, n->tokens[i - 1], '.'))))
			return true;
	return false;
}

/* ---- names ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* A name as it is meant. NULL: of letters that DuckDB might take otherwise, or no memory. */
static const char *meant(const struct naming *n, struct rql_token token)
{
	const char *text = n->sql + token.start;
	uint32_t length = token.length, kept = 0;
	if (token.kind == RQL_TOKEN_WORD) {
		for (uint32_t i = 0; i < length; i++)
			if (!is_plain(text[i]))
				return NULL;
		return rql_arena_strndup(n->arena, text, length);
	}
	char *copy = rql_arena_strndup(n->arena, text + 1, length - 2);
	for (uint32_t i = 0; copy && i + 2 < length; i++) {
		copy[kept++] = text[i + 1];
		i += text[i + 1] == '"'; /* it stands there twice */
	}
	if (copy)
		copy[kept] = '\0';
	return copy;
}

/* The nearest name of the node's column in the plan that is `name` but for upper and lower case. */
static const char *spelled(const struct rql_rel *rel, uint32_t column, const char *name)
{
	for (unsigned depth = 0; depth < DEPTH_MAX && column < rel->column_count; depth++) {
		const struct rql_expr *e = NULL;
		switch (rel->kind) {
		case RQL_REL_ORDER:
		case RQL_REL_TOP_N:
		case RQL_REL_LIMIT:
		case RQL_REL_FILTER:
		case RQL_REL_DISTINCT:
		case RQL_REL_DISTINCT_ON:
		case RQL_REL_SETOP:
			rel = rel->children[0];
			continue;
		case RQL_REL_CTE:
			rel = rel->children[1];
			continue;
		case RQL_REL_PROJECT:
		case RQL_REL_AGGREGATE:
			e = rel->exprs[column];
			break;
		default:
			return NULL;
		}
		if (e->kind != RQL_EXPR_REF)
			return NULL;
		if (e->alias && strcasecmp(e->alias, name) == 0)
			return e->alias;
		column = e->index;
		rel = rel->children[0];
	}
	return NULL;
}

/* a.b.c and nothing else: names with dots between. */
static bool is_path(const struct naming *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (i % 2 ? !is_symbol(n, n->tokens[i], '.') : !is_name(n->tokens[i]))
			return false;
	return n->count % 2 == 1;
}

/* ---- expressions, as DuckDB writes them ---- */

/* Reads the item from `at` on. What it cannot be sure of has no name, and nothing behind it has one. */
struct writing {
	struct naming *n;
	uint32_t at, depth;
	bool is_path; /* what was read last is a column alone */
};

static bool at_symbol(const struct writing *w, char c)
{
	return w->at < w->n->count && is_symbol(w->n, w->n->tokens[w->at], c);
}

/* A column as it stands. */
static const char *write_path(struct writing *w)
{
	struct naming *n = w->n;
	struct rql_strbuf out = {0};
	bool known = true, more = true;
	for (; known && more; w->at++) {
		struct rql_token token = w->at < n->count ? n->tokens[w->at] : (struct rql_token){.kind = RQL_TOKEN_END};
		const char *text = n->sql + token.start;
		known = token.kind == RQL_TOKEN_WORD && meant(n, token) && !n->keyword(n->state, text, token.length);
		rql_strbuf_put_n(&out, text, token.length);
		more = w->at + 1 < n->count && is_symbol(n, n->tokens[w->at + 1], '.');
		if (known && more) {
			rql_strbuf_putc(&out, '.');
			w->at++;
		}
	}
	w->is_path = true;
	const char *name = known && !out.failed ? rql_arena_strdup(n->arena, rql_strbuf_text(&out)) : NULL;
	rql_strbuf_free(&out);
	return name;
}

/* Digits alone: other spellings of a number are written anew. */
static const char *write_integer(struct writing *w)
{
	struct rql_token token = w->n->tokens[w->at++];
	const char *text = w->n->sql + token.start;
	if (token.length > 18 || (token.length > 1 && text[0] == '0'))
		return NULL;
	for (uint32_t i = 0; i < token.length; i++)
		if (text[i] < '0' || text[i] > '9')
			return NULL;
	return rql_arena_strndup(w->n->arena, text, token.length);
}

static const char *write_sum(struct writing *w);

/* sum(a.b), count(DISTINCT a), count(*), sum(a + 1): the function in lower case. */
static const char *write_aggregate(struct writing *w)
{
	struct naming *n = w->n;
	struct rql_token function = n->tokens[w->at];
	char name[8] = "";
	for (uint32_t i = 0; i < function.length && i + 1 < sizeof name; i++)
		name[i] = lower(n->sql[function.start + i]);
	w->at += 2;
	if (at_symbol(w, '*') && !strcmp(name, "count")) {
		w->at++;
		return at_symbol(w, ')') && w->at++ ? "count_star()" : NULL;
	}
	bool distinct = w->at < n->count && rql_token_is(n->sql, n->tokens[w->at], "DISTINCT");
	w->at += distinct;
	const char *of = write_sum(w);
	if (!of || !at_symbol(w, ')'))
		return NULL;
	w->at++;
	return rql_arena_printf(n->arena, "%s(%s%s)", name, distinct ? "DISTINCT " : "", of);
}

static const char *write_factor(struct writing *w)
{
	static const char *const functions[] = {"count", "sum", "min", "max", "avg"};
	struct naming *n = w->n;
	const char *name = NULL;
	if (w->at >= n->count || w->depth == DEPTH_MAX)
		return NULL;
	w->depth++;
	w->is_path = false;
	const bool called = w->at + 1 < n->count && is_symbol(n, n->tokens[w->at + 1], '(');
	if (at_symbol(w, '(')) {
		w->at++;
		name = write_sum(w);
		name = name && at_symbol(w, ')') ? name : NULL;
		w->at++;
	} else if (n->tokens[w->at].kind == RQL_TOKEN_NUMBER) {
		name = write_integer(w);
	} else if (called && RQL_TOKEN_IS_ANY(n->sql, n->tokens[w->at], functions)) {
		name = write_aggregate(w);
		w->is_path = false;
	} else if (!called) {
		name = write_path(w);
	}
	w->depth--;
	return name;
}

static bool at_operator(const struct writing *w, const char *operators)
{
	bool there = false;
	for (; *operators && !there; operators++)
		there = at_symbol(w, *operators);
	return there;
}

/* Operators of one rank, from left to right; each has parentheses of its own. */
static const char *write_operators(struct writing *w, const char *operators, const char *(*operand)(struct writing *))
{
	const char *left = operand(w);
	while (left && at_operator(w, operators)) {
		const char operator = w->n->sql[w->n->tokens[w->at++].start];
		const char *right = operand(w);
		left = right ? rql_arena_printf(w->n->arena, "(%s %c %s)", left, operator, right) : NULL;
		w->is_path = false;
	}
	return left;
}

static const char *write_product(struct writing *w)
{
	return write_operators(w, "*", write_factor);
}

static const char *write_sum(struct writing *w)
{
	return write_operators(w, "+-", write_product);
}

/* The whole item, where it is more than a column or a constant. */
static const char *expression_name(struct naming *n)
{
	struct writing w = {.n = n};
	const char *name = write_sum(&w);
	return name && w.at == n->count && !w.is_path && n->count > 1 ? name : NULL;
}

/* What the item is called as the plan's column; NULL: not certain. */
static const char *item_name(struct naming *n, const struct rql_rel *root, uint32_t column)
{
	uint32_t count = n->count;
	if (count == 0 || may_expand(n))
		return NULL;
	if (count >= 3 && rql_token_is(n->sql, n->tokens[count - 2], "AS") && is_name(n->tokens[count - 1]))
		return meant(n, n->tokens[count - 1]);
	if (!is_path(n))
		return expression_name(n);
	const char *name = meant(n, n->tokens[count - 1]);
	return name ? spelled(root, column, name) : NULL;
}

bool rql_result_names(struct rql_arena *arena, const char *sql, const struct rql_rel *root, rql_keyword_fn *keyword,
                      void *state, const char **names)
{
	struct naming n = {.arena = arena, .sql = sql, .keyword = keyword, .state = state};
	bool last = false;
	uint32_t column = 0;
	n.tokens = RQL_NEW_ARRAY(arena, struct rql_token, TOKENS_MAX);
	if (!n.tokens || !find_list(&n))
		return false;
	for (; !last && column < root->column_count; column++)
		if (!read_item(&n, &last) || !(names[column] = item_name(&n, root, column)))
			return false;
	return last && column == root->column_count;
}
