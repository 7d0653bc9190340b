/* The text of a DELETE or UPDATE that may be followed (follow.c): its form, whether its condition says the same of a
 * row whenever it is asked, and the condition with parameters that a query of its own can bind. */
#include "exec/follow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "exec/text.h"

static const struct rql_token none = {.kind = RQL_TOKEN_END};

/* ---- the form ---- */
/* A name without quotes inside. */
static bool is_name(const char *sql, struct rql_token t)
{
	return t.kind == RQL_TOKEN_WORD ||
	       (t.kind == RQL_TOKEN_QUOTED_WORD && t.length > 2 && !memchr(sql + t.start + 1, '"', t.length - 2));
}

/* The tokens from `t` to the end: WHERE at most once outside parentheses, and nothing else that brings other tables. */
static bool find_condition(const char *sql, struct rql_token t, uint32_t *position, struct rql_follow_form *out)
{
	static const char *const others[] = {"FROM", "USING", "RETURNING", "LIMIT", "ORDER"};
	uint32_t depth = 0;
	bool where = false;
	for (; t.kind != RQL_TOKEN_END; t = rql_token_next(sql, position)) {
		const bool over = !depth && rql_token_is_symbol(sql, t, ';');
		if (t.kind == RQL_TOKEN_BROKEN || (!where && !depth && RQL_TOKEN_IS_ANY(sql, t, others)))
			return false;
		if (over)
			break;
		depth += rql_token_is_symbol(sql, t, '(');
		depth -= depth && rql_token_is_symbol(sql, t, ')');
		if (!depth && !where && rql_token_is(sql, t, "WHERE")) {
			where = true;
			out->where = t.start;
		}
		out->end = t.start + t.length;
	}
	if (!where)
		out->where = out->end;
	return true;
}

bool rql_follow_read(const char *sql, struct rql_follow_form *out)
{
	uint32_t position = 0;
	struct rql_token t = rql_token_next(sql, &position);
	*out = (struct rql_follow_form){.update = rql_token_is(sql, t, "UPDATE")};
	if (!out->update && !rql_token_is(sql, t, "DELETE"))
		return false;
	t = rql_token_next(sql, &position);
	if (!out->update) {
		if (!rql_token_is(sql, t, "FROM"))
			return false;
		t = rql_token_next(sql, &position);
	}
	if (!is_name(sql, t)) /* the write set has it */
		return false;
	t = rql_token_next(sql, &position);
	const bool ends = t.kind == RQL_TOKEN_END || rql_token_is_symbol(sql, t, ';') || rql_token_is(sql, t, "WHERE");
	return (out->update ? rql_token_is(sql, t, "SET") : ends) && find_condition(sql, t, &position, out);
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
	static const char *const before_parenthesis[] = {"WHERE", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "FROM"};
	if (name.kind == RQL_TOKEN_WORD && RQL_TOKEN_IS_ANY(sql, name, before_parenthesis))
		return false;
	if (name.kind != RQL_TOKEN_WORD)
		return name.kind == RQL_TOKEN_QUOTED_WORD;
	return !names->is_stable(names->state, sql + name.start, name.length);
}

bool rql_follow_is_repeatable(const char *sql, const struct rql_follow_form *form,
                              const struct rql_follow_names *names)
{
	static const char *const words[] = {"WHERE", "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE",
	                                    "LIKE", "ILIKE", "DISTINCT", "FROM", "DATE", "TIMESTAMP", "TIME"};
	static const char symbols[] = "()<>=!,+-*/%";
	struct rql_token before = none, t;
	for (uint32_t from = form->where; from < form->end; before = t) {
		t = rql_token_next(sql, &from);
		const uint32_t behind = from;
		uint32_t ahead = behind;
		const bool word = t.kind == RQL_TOKEN_WORD, name = word || t.kind == RQL_TOKEN_QUOTED_WORD;
		const bool called = behind < form->end && rql_token_is_symbol(sql, rql_token_next(sql, &ahead), '(');
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

char *rql_follow_condition(const char *sql, const struct rql_follow_form *form,
                           const struct rql_prepared_query *prepared, struct rql_follow_binds *out)
{
	struct rql_strbuf text = {0};
	uint32_t position = 0, copied = form->where;
	uint64_t counter = 0;
	bool good = true;
	*out = (struct rql_follow_binds){0};
	while (good) {
		const struct rql_token t = rql_token_next(sql, &position);
		if (t.kind == RQL_TOKEN_END || t.kind == RQL_TOKEN_BROKEN || t.start >= form->end)
			break;
		if (t.kind != RQL_TOKEN_PARAMETER)
			continue;
		const uint64_t index = prepared ? rql_prepared_parameter_of(prepared, sql + t.start, t.length, &counter) : 0;
		if (t.start < form->where)
			continue;
		const struct rql_value *value = index ? rql_prepared_value(prepared, index) : NULL;
		good = value && out->count < RQL_FOLLOW_BINDS_MOST;
		if (!good)
			break;
		out->values[out->count++] = value;
		rql_strbuf_put_n(&text, sql + copied, t.start - copied);
		rql_strbuf_printf(&text, "$%u", out->count);
		copied = t.start + t.length;
	}
	rql_strbuf_put_n(&text, sql + copied, form->end - copied);
	if (good)
		return rql_strbuf_take(&text);
	rql_strbuf_free(&text);
	return NULL;
}
