/* What a statement's text says before the host has seen it: its class by its verb, and whether binding it twice, or
 * before it runs, would change what it means. Tokens cannot see into views and macros; what these hide, callers bear. */
#include "exec/query/text.h"

#include "sql/statement.h"
#include <string.h>
#include <strings.h>

#define DEPTH_MAX 64u

struct reader {
	const char *sql;
	uint32_t position;
	struct rql_token token, before;
	bool compares, after_compares; /* token, or the one before it, is the FROM of IS [NOT] DISTINCT FROM */
	bool is;                       /* `before` is IS, or the NOT of IS NOT */
};

static bool next(struct reader *r)
{
	const bool is = rql_token_is(r->sql, r->token, "IS") || (r->is && rql_token_is(r->sql, r->token, "NOT"));
	const bool distinct = r->is && rql_token_is(r->sql, r->token, "DISTINCT");
	r->before = r->token;
	r->token = rql_token_next(r->sql, &r->position);
	r->after_compares = r->compares;
	r->compares = distinct && rql_token_is(r->sql, r->token, "FROM");
	r->is = is;
	return r->token.kind != RQL_TOKEN_END && r->token.kind != RQL_TOKEN_BROKEN;
}

static bool is_symbol(const struct reader *r, struct rql_token token, char c)
{
	return rql_token_is_symbol(r->sql, token, c);
}

/* ---- verbs ---- */
static const char *const row_verbs[] = {"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"};
static const char *const query_verbs[] = {"SELECT", "WITH", "FROM", "TABLE"};

static struct rql_token first_word(const char *sql)
{
	struct reader r = {.sql = sql};
	while (next(&r) && (is_symbol(&r, r.token, '(') || is_symbol(&r, r.token, ';')))
		;
	return r.token;
}

bool rql_text_is_query(const char *sql)
{
	return RQL_TOKEN_IS_ANY(sql, first_word(sql), query_verbs);
}

static bool has_word(const char *sql, const char *const *words, size_t count)
{
	struct reader r = {.sql = sql};
	while (next(&r))
		if (rql_token_is_any(sql, r.token, words, count))
			return true;
	return false;
}

enum rql_host_class rql_text_class(const char *sql)
{
	static const struct {
		const char *verb;
		enum rql_host_class class;
	} verbs[] = {
		{"SET", RQL_HOST_SETTING},    {"RESET", RQL_HOST_SETTING},      {"USE", RQL_HOST_SETTING},
		{"COPY", RQL_HOST_WRITE},     {"BEGIN", RQL_HOST_TRANSACTION},  {"START", RQL_HOST_TRANSACTION},
		{"COMMIT", RQL_HOST_TRANSACTION}, {"END", RQL_HOST_TRANSACTION}, {"ROLLBACK", RQL_HOST_TRANSACTION},
		{"ABORT", RQL_HOST_TRANSACTION}, {"CREATE", RQL_HOST_SCHEMA},   {"ALTER", RQL_HOST_SCHEMA},
		{"DROP", RQL_HOST_SCHEMA},    {"ATTACH", RQL_HOST_SCHEMA},      {"DETACH", RQL_HOST_SCHEMA},
	};
	static const char *const readers[] = {"VALUES", "SUMMARIZE", "DESCRIBE", "DESC", "SHOW"};
	struct rql_token first = first_word(sql);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (rql_token_is(sql, first, verbs[i].verb))
			return verbs[i].class;
	if (RQL_TOKEN_IS_ANY(sql, first, row_verbs))
		return RQL_HOST_WRITE;
	if (RQL_TOKEN_IS_ANY(sql, first, query_verbs) || RQL_TOKEN_IS_ANY(sql, first, readers))
		return has_word(sql, row_verbs, sizeof row_verbs / sizeof *row_verbs) ? RQL_HOST_WRITE : RQL_HOST_SELECT;
	return RQL_HOST_OTHER;
}

/* ---- what is bound only once ---- */

bool rql_text_runs_unprepared(const char *sql)
{
	static const char *const verbs[] = {"SET", "RESET"};
	/* These change something when they are bound, or speak of the statement that runs: a preparation runs none. */
	static const char *const functions[] = {"nextval", "current_query_id", "current_transaction_id", "txid_current"};
	struct reader r = {.sql = sql};
	if (RQL_TOKEN_IS_ANY(sql, first_word(sql), verbs))
		return true;
	while (next(&r))
		if (is_symbol(&r, r.token, '(') && RQL_TOKEN_IS_ANY(sql, r.before, functions))
			return true;
	return false;
}

static bool skip_parentheses(struct reader *r)
{
	uint32_t depth = 0;
	if (!is_symbol(r, r->token, '('))
		return false;
	do {
		depth += is_symbol(r, r->token, '(');
		depth -= is_symbol(r, r->token, ')');
	} while (next(r) && depth);
	return !depth;
}

static bool accept(struct reader *r, const char *word)
{
	return rql_token_is(r->sql, r->token, word) && next(r);
}

/* [RECURSIVE] name [(columns)] AS [[NOT] MATERIALIZED] (query) [, ...] */
bool rql_text_skip_with(const char *sql, uint32_t *position)
{
	struct reader r = {.sql = sql};
	if (!next(&r) || !accept(&r, "WITH"))
		return false;
	accept(&r, "RECURSIVE");
	for (;; next(&r)) {
		if ((r.token.kind != RQL_TOKEN_WORD && r.token.kind != RQL_TOKEN_QUOTED_WORD) || !next(&r))
			return false;
		if (is_symbol(&r, r.token, '(') && !skip_parentheses(&r))
			return false;
		if (!accept(&r, "AS"))
			return false;
		accept(&r, "NOT");
		accept(&r, "MATERIALIZED");
		if (!skip_parentheses(&r))
			return false;
		if (!is_symbol(&r, r.token, ','))
			break;
	}
	*position = r.token.start;
	return true;
}

bool rql_text_has_parameters(const char *sql)
{
	struct reader r = {.sql = sql};
	while (next(&r))
		if (r.token.kind == RQL_TOKEN_PARAMETER)
			return true;
	return false;
}

/* ---- what FROM reads ---- */

/* A level of parentheses. EXTRACT(year FROM d) has a FROM of its own: only where a query may stand is it a clause. */
struct level {
	bool entered, query, from;
};

static bool ends_from(const struct reader *r)
{
	static const char *const words[] = {"WHERE",  "GROUP", "HAVING",    "WINDOW", "QUALIFY", "ORDER", "LIMIT",
	                                    "OFFSET", "UNION", "INTERSECT", "EXCEPT", "SELECT",  "VALUES"};
	return RQL_TOKEN_IS_ANY(r->sql, r->token, words);
}

/* The present token may begin something that a FROM clause lists. */
static bool item_may_start(const struct reader *r, const struct level *level)
{
	static const char *const words[] = {"FROM", "JOIN", "LATERAL"};
	return level->from && !r->after_compares &&
	       (is_symbol(r, r->before, ',') || is_symbol(r, r->before, '(') || RQL_TOKEN_IS_ANY(r->sql, r->before, words));
}

/* A file's name as a string, or a call: *out is the string, or the last part of the function's name. */
static bool read_item(const struct reader *r, struct rql_token *out)
{
	struct reader ahead = *r;
	*out = ahead.token;
	if (out->kind == RQL_TOKEN_STRING)
		return true;
	while (out->kind == RQL_TOKEN_WORD || out->kind == RQL_TOKEN_QUOTED_WORD) {
		if (!next(&ahead))
			return false;
		if (is_symbol(&ahead, ahead.token, '('))
			return true;
		if (!is_symbol(&ahead, ahead.token, '.') || !next(&ahead))
			return false;
		*out = ahead.token;
	}
	return false;
}

static void enter(const struct reader *r, struct level *level)
{
	static const char *const opens[] = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "PIVOT", "UNPIVOT"};
	if (!level->entered)
		level->query = level->from || is_symbol(r, r->token, '(') || RQL_TOKEN_IS_ANY(r->sql, r->token, opens);
	level->entered = true;
}

bool rql_text_reads(const char *sql, rql_text_read_fn *fn, void *state)
{
	struct level levels[DEPTH_MAX] = {{.entered = true, .query = true}};
	struct reader r = {.sql = sql};
	struct rql_token item;
	uint32_t depth = 0;
	while (next(&r) && depth + 1 < DEPTH_MAX) {
		struct level *level = &levels[depth];
		bool starts = item_may_start(&r, level);
		enter(&r, level);
		if (starts && read_item(&r, &item) && fn(state, sql + item.start, item.length))
			return true;
		if (is_symbol(&r, r.token, '('))
			levels[++depth] = (struct level){.from = starts}; /* FROM (a JOIN b) goes on as the list around it */
		else if (is_symbol(&r, r.token, ')'))
			depth -= depth > 0;
		else if (ends_from(&r))
			level->from = false;
		else if (level->query && rql_token_is(sql, r.token, "FROM") && !r.compares)
			level->from = true;
	}
	return false;
}

bool rql_text_has_from(const char *sql)
{
	static const char *const words[] = {"FROM", "TABLE"};
	return has_word(sql, words, sizeof words / sizeof *words);
}
