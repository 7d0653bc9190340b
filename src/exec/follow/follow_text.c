/* The text of a statement that may be followed (follow.c): which parts it has. */
#include "exec/follow/follow.h"

#include "exec/query/text.h"

static const struct rql_token none = {.kind = RQL_TOKEN_END};

/* ---- the form ---- */
struct reader {
	const char *sql;
	uint32_t position;
	struct rql_token token, before;
};

static void next(struct reader *r)
{
	r->before = r->token;
	r->token = rql_token_next(r->sql, &r->position);
}

static bool is(const struct reader *r, const char *word)
{
	return rql_token_is(r->sql, r->token, word);
}

static bool accept(struct reader *r, const char *word)
{
	const bool there = is(r, word);
	if (there)
		next(r);
	return there;
}

static bool symbol(const struct reader *r, char c)
{
	return rql_token_is_symbol(r->sql, r->token, c);
}

static bool over(const struct reader *r)
{
	return r->token.kind == RQL_TOKEN_END || r->token.kind == RQL_TOKEN_BROKEN || symbol(r, ';');
}

static uint32_t end_of(struct rql_token t)
{
	return t.start + t.length;
}

static int step_of(const struct reader *r)
{
	return (symbol(r, '(') || symbol(r, '[') || symbol(r, '{')) - (symbol(r, ')') || symbol(r, ']') || symbol(r, '}'));
}

static bool is_identifier(const struct reader *r)
{
	return r->token.kind == RQL_TOKEN_WORD || r->token.kind == RQL_TOKEN_QUOTED_WORD;
}

static bool ends_table(const struct reader *r, const char *const *words, size_t count)
{
	return over(r) || symbol(r, '(') || rql_token_is_any(r->sql, r->token, words, count);
}

/* name[.name[.name]] [[AS] alias], up to one of the words that may follow. */
static bool read_table(struct reader *r, const char *const *ends, size_t count, struct rql_follow_form *out)
{
	out->table.start = r->token.start;
	out->plain = true;
	for (bool first = true; first || symbol(r, '.'); first = false) {
		if (!first)
			next(r);
		out->plain = first;
		if (!is_identifier(r))
			return false;
		out->name = r->token;
		next(r);
	}
	const bool as = accept(r, "AS");
	if (as || !ends_table(r, ends, count)) {
		if (!is_identifier(r))
			return false;
		out->plain = false;
		out->name = r->token;
		next(r);
	}
	out->table.end = end_of(r->before);
	return ends_table(r, ends, count);
}

/* SET ..., tables and the condition. Words of inner queries stand in parentheses. */
static bool read_rest(struct reader *r, struct rql_follow_form *out)
{
	struct rql_follow_span *part = NULL, set = {0};
	int depth = 0;
	for (; r->token.kind != RQL_TOKEN_END; next(r)) {
		struct rql_follow_span *begun = NULL;
		if (r->token.kind == RQL_TOKEN_BROKEN)
			return false;
		if (!depth && (symbol(r, ';') || is(r, "RETURNING")))
			break;
		if (!depth && !part && (is(r, "SET") || (is(r, "USING") && !out->update)))
			begun = is(r, "SET") ? &set : &out->others;
		else if (!depth && part == &set && is(r, "FROM") && !rql_token_is(r->sql, r->before, "DISTINCT"))
			begun = &out->others;
		else if (!depth && part != &out->where && is(r, "WHERE"))
			begun = &out->where;
		depth += step_of(r);
		if (begun) {
			part = begun;
			part->start = part->end = end_of(r->token);
		} else if (!part) {
			return false;
		} else {
			part->end = end_of(r->token);
		}
	}
	out->plain = out->plain && out->others.start == out->others.end;
	return depth == 0;
}

/* ---- MERGE ---- */

/* Up to one of the words, outside parentheses and CASE ... END. False: the statement ends before. */
static bool skip_to(struct reader *r, const char *const *words, size_t count, struct rql_follow_span *passed)
{
	int depth = 0, cases = 0;
	passed->start = passed->end = r->token.start;
	for (; r->token.kind != RQL_TOKEN_END && r->token.kind != RQL_TOKEN_BROKEN; next(r)) {
		if (!depth && symbol(r, ';'))
			return false;
		if (!depth && !cases && rql_token_is_any(r->sql, r->token, words, count))
			return true;
		depth += step_of(r);
		cases += is(r, "CASE");
		cases -= is(r, "END");
		passed->end = end_of(r->token);
	}
	return false;
}

/* [NOT] MATCHED [BY TARGET] [AND condition] THEN action. *changes: there is one for rows that match; no second one. */
static bool read_when(struct reader *r, bool *changes, struct rql_follow_form *out)
{
	static const char *const then[] = {"THEN"}, *const ends[] = {"WHEN", "RETURNING"};
	struct rql_follow_span passed;
	const bool absent = accept(r, "NOT");
	if (!accept(r, "MATCHED") || (accept(r, "BY") && !(absent && accept(r, "TARGET"))))
		return false;
	const bool bound = accept(r, "AND");
	if (!skip_to(r, then, 1, &passed) || (!bound && passed.end > passed.start))
		return false;
	next(r);
	if (!absent) {
		if (*changes || !(is(r, "UPDATE") || is(r, "DELETE")))
			return false;
		*changes = true;
		out->update = is(r, "UPDATE");
		out->also = bound ? passed : (struct rql_follow_span){0};
	} else if (!is(r, "INSERT")) {
		return false;
	}
	(void)skip_to(r, ends, 2, &passed);
	return true;
}

/* INTO t USING source ON condition WHEN ...: what matches is UPDATEd or DELETEd, what does not is INSERTed. */
static bool read_merge(struct reader *r, struct rql_follow_form *out)
{
	static const char *const using[] = {"USING"}, *const on[] = {"ON", "USING", "WHEN"}, *const when[] = {"ON", "WHEN"};
	bool changes = false;
	if (!accept(r, "INTO") || !read_table(r, using, 1, out) || !accept(r, "USING"))
		return false;
	if (!skip_to(r, on, 3, &out->others) || !accept(r, "ON") || !skip_to(r, when, 2, &out->where))
		return false;
	while (accept(r, "WHEN"))
		if (!read_when(r, &changes, out))
			return false;
	out->plain = false;
	out->adds_only = !changes;
	return over(r) || is(r, "RETURNING");
}

/* ---- INSERT that changes rows ---- */

/* (name, ...) */
static bool read_names(struct reader *r, struct rql_follow_span *out)
{
	next(r);
	out->start = r->token.start;
	for (; is_identifier(r); next(r)) {
		next(r);
		out->end = end_of(r->before);
		if (!symbol(r, ','))
			break;
	}
	const bool closed = symbol(r, ')');
	next(r);
	return closed && out->end > out->start;
}

static bool opens_query(const struct reader *r)
{
	static const char *const words[] = {"SELECT", "VALUES", "FROM", "WITH", "TABLE"};
	struct reader ahead = *r;
	while (symbol(&ahead, '('))
		next(&ahead);
	return RQL_TOKEN_IS_ANY(r->sql, ahead.token, words);
}

/* A query, up to ON CONFLICT. */
static bool read_source(struct reader *r, struct rql_follow_form *out)
{
	static const char *const ends[] = {"ON", "RETURNING", "DEFAULT"};
	struct rql_follow_span passed;
	out->others.start = r->token.start;
	do {
		if (is(r, "ON"))
			next(r);
		(void)skip_to(r, ends, 3, &passed);
		if (r->token.kind == RQL_TOKEN_BROKEN || is(r, "DEFAULT"))
			return false;
		struct reader ahead = *r;
		next(&ahead);
		if (is(r, "ON") && is(&ahead, "CONFLICT"))
			break;
	} while (is(r, "ON"));
	out->others.end = end_of(r->before);
	return out->others.end > out->others.start && rql_follow_are_values_alike(r->sql, out->others);
}

/* [OR REPLACE] INTO t [(columns)] query [ON CONFLICT [(keys)] DO UPDATE SET ...] */
static bool read_insert(struct reader *r, struct rql_follow_form *out)
{
	static const char *const ends[] = {"VALUES", "SELECT", "FROM", "WITH", "TABLE"};
	static const char *const where[] = {"WHERE", "RETURNING"};
	struct rql_follow_span passed;
	const bool replaces = accept(r, "OR") && accept(r, "REPLACE");
	if (!accept(r, "INTO") || !read_table(r, ends, 5, out))
		return false;
	if (symbol(r, '(') && !opens_query(r) && !read_names(r, &out->columns))
		return false;
	if (!opens_query(r) || !read_source(r, out))
		return false;
	out->plain = false;
	out->update = out->upsert = true;
	if (replaces || !accept(r, "ON"))
		return replaces && !is(r, "ON");
	next(r);
	if (symbol(r, '(') && !read_names(r, &out->keys))
		return false;
	/* Rows that a condition leaves as they are would be taken for changed ones. */
	return accept(r, "DO") && accept(r, "UPDATE") && (!skip_to(r, where, 2, &passed) || is(r, "RETURNING"));
}

/* ---- the verb ---- */
static bool read_delete(struct reader *r)
{
	if (!accept(r, "TRUNCATE"))
		return accept(r, "DELETE") && accept(r, "FROM");
	accept(r, "TABLE");
	return true;
}

bool rql_follow_read(const char *sql, struct rql_follow_form *out)
{
	static const char *const after_update[] = {"SET"}, *const after_delete[] = {"USING", "WHERE", "RETURNING"};
	struct reader r = {.sql = sql, .before = none};
	*out = (struct rql_follow_form){0};
	if (rql_text_skip_with(sql, &r.position))
		out->with.end = r.position;
	next(&r);
	if (accept(&r, "MERGE"))
		return read_merge(&r, out);
	if (accept(&r, "INSERT"))
		return read_insert(&r, out);
	out->update = accept(&r, "UPDATE");
	if (!out->update && !read_delete(&r))
		return false;
	if (out->update ? !read_table(&r, after_update, 1, out) : !read_table(&r, after_delete, 3, out))
		return false;
	out->plain = out->plain && !out->with.end;
	return read_rest(&r, out);
}
