/* The text of a DELETE or UPDATE that may be followed (follow.c): its form, whether the condition of a plain one says
 * the same of a row whenever it is asked, and the query for the row ids, with parameters of its own. */
#include "exec/follow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "exec/text.h"

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
	if (as || (!over(r) && !rql_token_is_any(r->sql, r->token, ends, count))) {
		if (!is_identifier(r))
			return false;
		out->plain = false;
		out->name = r->token;
		next(r);
	}
	out->table.end = end_of(r->before);
	return over(r) || rql_token_is_any(r->sql, r->token, ends, count);
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

/* Up to one of the words, outside parentheses and CASE ... END. False: the text ends before. */
static bool skip_to(struct reader *r, const char *const *words, size_t count, struct rql_follow_span *passed)
{
	int depth = 0, cases = 0;
	passed->start = passed->end = r->token.start;
	for (; r->token.kind != RQL_TOKEN_END && r->token.kind != RQL_TOKEN_BROKEN; next(r)) {
		if (!depth && !cases && rql_token_is_any(r->sql, r->token, words, count))
			return true;
		depth += step_of(r);
		cases += is(r, "CASE");
		cases -= is(r, "END");
		passed->end = end_of(r->token);
	}
	return false;
}

/* [NOT] MATCHED [BY TARGET] [AND condition] THEN action. *changes: rows that there are, of which there may be one kind. */
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
	out->update = accept(&r, "UPDATE");
	if (!out->update && !read_delete(&r))
		return false;
	if (out->update ? !read_table(&r, after_update, 1, out) : !read_table(&r, after_delete, 3, out))
		return false;
	out->plain = out->plain && !out->with.end;
	return read_rest(&r, out);
}

static bool is_column(const char *sql, struct rql_token t, const struct rql_store_snapshot *snapshot)
{
	const bool quoted = t.kind == RQL_TOKEN_QUOTED_WORD;
	const char *text = sql + t.start + quoted;
	const size_t length = t.length - (quoted ? 2 : 0);
	for (uint32_t c = 0; c < snapshot->column_count; c++)
		if (strlen(snapshot->columns[c].name) == length && strncasecmp(snapshot->columns[c].name, text, length) == 0)
			return true;
	return length == 5 && strncasecmp(text, "rowid", 5) == 0;
}

/* ---- the condition ---- */
/* A name before a parenthesis that is neither an operator nor a function which says the same again. */
static bool calls_unknown(const char *sql, struct rql_token name, const struct rql_follow_names *names)
{
	static const char *const before_parenthesis[] = {"AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "FROM"};
	if (name.kind == RQL_TOKEN_WORD && RQL_TOKEN_IS_ANY(sql, name, before_parenthesis))
		return false;
	if (name.kind != RQL_TOKEN_WORD)
		return name.kind == RQL_TOKEN_QUOTED_WORD;
	return !names->is_stable(names->state, sql + name.start, name.length);
}

bool rql_follow_is_repeatable(const char *sql, const struct rql_follow_form *form,
                              const struct rql_follow_names *names)
{
	static const char *const words[] = {"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE",
	                                    "LIKE", "ILIKE", "DISTINCT", "FROM", "DATE", "TIMESTAMP", "TIME"};
	static const char symbols[] = "()<>=!,+-*/%";
	struct rql_token before = none, t;
	for (uint32_t from = form->where.start; from < form->where.end; before = t) {
		t = rql_token_next(sql, &from);
		const uint32_t behind = from;
		uint32_t ahead = behind;
		const bool word = t.kind == RQL_TOKEN_WORD, name = word || t.kind == RQL_TOKEN_QUOTED_WORD;
		const bool called = behind < form->where.end && rql_token_is_symbol(sql, rql_token_next(sql, &ahead), '(');
		if (t.kind == RQL_TOKEN_END)
			break;
		if (t.kind == RQL_TOKEN_BROKEN || (t.kind == RQL_TOKEN_PARAMETER && !names->parameters))
			return false;
		if (called && calls_unknown(sql, t, names))
			return false;
		if (name && !called && !(word && RQL_TOKEN_IS_ANY(sql, t, words)) && !is_column(sql, t, names->snapshot))
			return false;
		if (word && rql_token_is(sql, t, "FROM") && !rql_token_is(sql, before, "DISTINCT"))
			return false; /* (FROM t) is a subquery */
		for (uint32_t i = 0; t.kind == RQL_TOKEN_SYMBOL && i < t.length; i++)
			if (!strchr(symbols, sql[t.start + i]))
				return false;
	}
	return true;
}

/* ---- the question ---- */
struct writer {
	const char *sql;
	const struct rql_prepared_query *prepared;
	struct rql_strbuf text, planned;
	bool good, has_text; /* all parameters have values; ... that can be written */
	struct rql_follow_question *out;
};

static void put_n(struct writer *w, const char *text, size_t length)
{
	rql_strbuf_put_n(&w->text, text, length);
	rql_strbuf_put_n(&w->planned, text, length);
}

static void put(struct writer *w, const char *text)
{
	put_n(w, text, strlen(text));
}

/* Its parameters are counted from the beginning of the statement. */
static void put_span(struct writer *w, struct rql_follow_span span)
{
	uint32_t position = 0, copied = span.start;
	uint64_t counter = 0;
	while (w->good) {
		const struct rql_token t = rql_token_next(w->sql, &position);
		if (t.kind == RQL_TOKEN_END || t.kind == RQL_TOKEN_BROKEN || t.start >= span.end)
			break;
		if (t.kind != RQL_TOKEN_PARAMETER)
			continue;
		const uint64_t index =
			w->prepared ? rql_prepared_parameter_of(w->prepared, w->sql + t.start, t.length, &counter) : 0;
		if (t.start < span.start)
			continue;
		const struct rql_value *value = index ? rql_prepared_value(w->prepared, index) : NULL;
		w->good = value && w->out->count < RQL_FOLLOW_BINDS_MOST;
		if (!w->good)
			break;
		w->out->values[w->out->count++] = value;
		put_n(w, w->sql + copied, t.start - copied);
		rql_strbuf_printf(&w->text, "$%u", w->out->count);
		w->has_text = w->has_text && rql_value_print(&w->planned, value);
		copied = t.start + t.length;
	}
	put_n(w, w->sql + copied, span.end - copied);
}

static void put_query(struct writer *w, const struct rql_follow_form *form, const char *table)
{
	put_span(w, form->with);
	/* A row that several of the other tables' meet changes once. */
	put(w, form->others.end > form->others.start ? " SELECT DISTINCT " : " SELECT ");
	if (!form->plain) {
		put_n(w, w->sql + form->name.start, form->name.length);
		put(w, ".");
	}
	put(w, "rowid FROM ");
	if (table)
		put(w, table);
	else
		put_span(w, form->table);
	if (form->others.end > form->others.start) {
		put(w, "\n, ");
		put_span(w, form->others);
	}
	if (form->where.end > form->where.start) {
		put(w, "\nWHERE (");
		put_span(w, form->where);
		put(w, "\n)");
	}
	if (form->also.end > form->also.start) {
		put(w, "\nAND (");
		put_span(w, form->also);
		put(w, "\n)");
	}
	if (form->adds_only)
		put(w, "\nAND false");
}

bool rql_follow_ask_rows(const char *sql, const struct rql_follow_form *form, const char *table,
                         const struct rql_prepared_query *prepared, struct rql_follow_question *out)
{
	*out = (struct rql_follow_question){0};
	struct writer w = {.sql = sql, .prepared = prepared, .good = true, .has_text = true, .out = out};
	put_query(&w, form, table);
	if (w.good)
		out->text = rql_strbuf_take(&w.text);
	if (w.has_text)
		out->planned = rql_strbuf_take(&w.planned);
	rql_strbuf_free(&w.text);
	rql_strbuf_free(&w.planned);
	return out->text != NULL;
}

void rql_follow_question_clear(struct rql_follow_question *question)
{
	free(question->text);
	free(question->planned);
	*question = (struct rql_follow_question){0};
}
