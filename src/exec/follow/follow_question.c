/* The query for the row ids of a statement that is followed (follow.c), with parameters of its own, and whether the
 * condition of a plain one says the same of a row whenever it is asked. */
#include "exec/follow/follow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct rql_token none = {.kind = RQL_TOKEN_END};

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

/* Rows that have the key of one that is to be inserted, as the columns will have it. */
static void put_conflicts(struct writer *w, const struct rql_follow_form *form, const struct rql_follow_keys *keys)
{
	put_span(w, form->with);
	put(w, " SELECT DISTINCT " RQL_FOLLOW_OLD ".rowid FROM ");
	put_span(w, form->table);
	put(w, " AS " RQL_FOLLOW_OLD ", (");
	put_span(w, form->others);
	put(w, "\n) AS " RQL_FOLLOW_NEW "(");
	put(w, keys->columns);
	put(w, ")\nWHERE ");
	put(w, keys->condition);
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
                         const struct rql_follow_keys *keys, const struct rql_prepared_query *prepared,
                         struct rql_follow_question *out)
{
	*out = (struct rql_follow_question){0};
	struct writer w = {.sql = sql, .prepared = prepared, .good = true, .has_text = true, .out = out};
	if (keys)
		put_conflicts(&w, form, keys);
	else
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
