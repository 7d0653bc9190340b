/* RayQL's own statements: recursive descent over tokens. One function parses one statement; it is entered when the first
 * words are those of RayQL's, and from then on what does not fit is an error in DuckDB's words. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "sql/statement.h"

struct parser {
	struct rql_arena *arena;
	const char *sql;
	uint32_t position; /* behind `token` */
	struct rql_token token;
	struct rql_error *err;
	uint32_t depth; /* EXPLAIN of ... */
};

static rql_status parse(struct parser *p, struct rql_statement *out);

/* ---- errors ---- */
static rql_status fail_at(struct parser *p, uint32_t position, const char *message)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "Parser Error: %s", message);
	rql_statement_caret(&text, p->sql, position);
	rql_status status = text.failed ? rql_error_memory(p->err, 0, "a statement")
	                                : rql_error_set(p->err, RQL_ERROR_STATEMENT, "%s", rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return status;
}

/* What DuckDB says of a quote or comment without an end. */
static const char *broken_what(char c)
{
	return c == '"' ? "unterminated quoted identifier" : c == '/' ? "unterminated /* comment"
	       : c == '$' ? "unterminated dollar-quoted string" : "unterminated quoted string";
}

/* The present token does not belong here. */
static rql_status unexpected(struct parser *p)
{
	struct rql_token token = p->token;
	if (token.kind == RQL_TOKEN_END)
		return rql_error_set(p->err, RQL_ERROR_STATEMENT, "Parser Error: syntax error at end of input");
	const char *what = token.kind == RQL_TOKEN_BROKEN ? broken_what(p->sql[token.start]) : "syntax error";
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "%s at or near \"", what);
	rql_strbuf_put_n(&text, p->sql + token.start, token.length);
	rql_strbuf_putc(&text, '"');
	rql_status status = text.failed ? rql_error_memory(p->err, 0, "a statement")
	                                : fail_at(p, token.start, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return status;
}

/* ---- tokens ---- */
static void advance(struct parser *p)
{
	p->token = rql_token_next(p->sql, &p->position);
}

static bool at_word(const struct parser *p, const char *keyword)
{
	return rql_token_is(p->sql, p->token, keyword);
}

static bool at_symbol(const struct parser *p, const char *symbol)
{
	return p->token.kind == RQL_TOKEN_SYMBOL && p->token.length == strlen(symbol) &&
	       memcmp(p->sql + p->token.start, symbol, p->token.length) == 0;
}

static bool skip_word(struct parser *p, const char *keyword)
{
	bool there = at_word(p, keyword);
	if (there)
		advance(p);
	return there;
}

static bool skip_symbol(struct parser *p, const char *symbol)
{
	bool there = at_symbol(p, symbol);
	if (there)
		advance(p);
	return there;
}

static rql_status expect_word(struct parser *p, const char *keyword)
{
	return skip_word(p, keyword) ? RQL_OK : unexpected(p);
}

static rql_status expect_symbol(struct parser *p, const char *symbol)
{
	return skip_symbol(p, symbol) ? RQL_OK : unexpected(p);
}

/* DuckDB's reserved words (duckdb_keywords()): no names unless quoted. */
static bool is_reserved(const char *sql, struct rql_token token)
{
	static const char *const words[] = {"all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric",
		"both", "case", "cast", "check", "collate", "column", "constraint", "create", "default", "deferrable", "desc",
		"describe", "distinct", "do", "else", "end", "except", "false", "fetch", "for", "foreign", "from", "group",
		"having", "in", "initially", "intersect", "into", "lambda", "lateral", "leading", "limit", "not", "null",
		"offset", "on", "only", "or", "order", "pivot", "pivot_longer", "pivot_wider", "placing", "primary", "qualify",
		"references", "returning", "select", "show", "some", "summarize", "symmetric", "table", "then", "to",
		"trailing", "true", "union", "unique", "unpivot", "using", "variadic", "when", "where", "window", "with"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (rql_token_is(sql, token, words[i]))
			return true;
	return false;
}

/* ---- texts ---- */
static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text + 32);
}

/* The content of text[0..length) with doubled quotes made single. */
static char *undouble(struct parser *p, const char *text, size_t length, char quote)
{
	char *out = rql_arena_strndup(p->arena, text, length);
	size_t n = 0;
	for (size_t i = 0; out && i < length; i++) {
		out[n++] = text[i];
		i += text[i] == quote && i + 1 < length && text[i + 1] == quote;
	}
	if (out)
		out[n] = '\0';
	return out;
}

static char escaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
}

/* E'...': the single-letter escapes; \x and \u forms have no place in names and options. */
static char *unescape(struct parser *p, const char *text, size_t length)
{
	char *out = rql_arena_strndup(p->arena, text, length);
	size_t n = 0;
	for (size_t i = 0; out && i < length; i++) {
		if (text[i] == '\\' && i + 1 < length)
			out[n++] = escaped(text[++i]);
		else
			out[n++] = text[i];
		i += text[i] == '\'' && i + 1 < length && text[i + 1] == '\'';
	}
	if (out)
		out[n] = '\0';
	return out;
}

/* The token's content without its quotes. NULL: out of memory. */
static char *token_text(struct parser *p, struct rql_token token)
{
	const char *text = p->sql + token.start;
	size_t length = token.length;
	if (token.kind == RQL_TOKEN_QUOTED_WORD)
		return undouble(p, text + 1, length - 2, '"');
	if (token.kind != RQL_TOKEN_STRING)
		return rql_arena_strndup(p->arena, text, length);
	if (text[0] == '\'')
		return undouble(p, text + 1, length - 2, '\'');
	if (text[0] == '$') {
		size_t tag = (size_t)(strchr(text + 1, '$') - text) + 1;
		return rql_arena_strndup(p->arena, text + tag, length - 2 * tag);
	}
	return unescape(p, text + 2, length - 3);
}

/* ---- parts of statements ---- */
static rql_status identifier(struct parser *p, const char **out)
{
	bool quoted = p->token.kind == RQL_TOKEN_QUOTED_WORD && p->token.length > 2;
	if (!quoted && (p->token.kind != RQL_TOKEN_WORD || is_reserved(p->sql, p->token)))
		return unexpected(p);
	*out = token_text(p, p->token);
	if (!*out)
		return rql_error_memory(p->err, 0, "a statement");
	advance(p);
	return RQL_OK;
}

static rql_status qualified_name(struct parser *p, struct rql_qualified_name *out)
{
	const char *parts[3] = {0};
	unsigned count = 0;
	out->position = p->token.start;
	RQL_TRY(identifier(p, &parts[count++]));
	while (count < 3 && skip_symbol(p, "."))
		RQL_TRY(identifier(p, &parts[count++]));
	if (at_symbol(p, "."))
		return unexpected(p);
	out->name = parts[count - 1];
	out->schema = count > 1 ? parts[count - 2] : NULL;
	out->catalog = count > 2 ? parts[0] : NULL;
	return RQL_OK;
}

/* Raw text from the present token, which follows "(", up to the matching ")", which is skipped. */
static rql_status raw_list(struct parser *p, const char **out)
{
	uint32_t start = p->token.start, end = start;
	unsigned depth = 0;
	while (depth > 0 || !at_symbol(p, ")")) {
		if (p->token.kind == RQL_TOKEN_END || p->token.kind == RQL_TOKEN_BROKEN || at_symbol(p, ";"))
			return unexpected(p);
		depth += at_symbol(p, "(");
		depth -= at_symbol(p, ")");
		end = p->token.start + p->token.length;
		advance(p);
	}
	advance(p);
	*out = rql_arena_strndup(p->arena, p->sql + start, end - start);
	return *out ? RQL_OK : rql_error_memory(p->err, 0, "a statement");
}

/* A word, string, number with or without sign, or a list in parentheses, unquoted. */
static rql_status option_value(struct parser *p, const char **out)
{
	bool negative = false;
	if (skip_symbol(p, "("))
		return raw_list(p, out);
	if (at_symbol(p, "-") || at_symbol(p, "+")) {
		negative = at_symbol(p, "-");
		advance(p);
		if (p->token.kind != RQL_TOKEN_NUMBER)
			return unexpected(p);
	}
	if (p->token.kind != RQL_TOKEN_WORD && p->token.kind != RQL_TOKEN_QUOTED_WORD &&
	    p->token.kind != RQL_TOKEN_STRING && p->token.kind != RQL_TOKEN_NUMBER)
		return unexpected(p);
	char *text = token_text(p, p->token);
	if (text && negative)
		text = rql_arena_printf(p->arena, "-%s", text);
	if (!text)
		return rql_error_memory(p->err, 0, "a statement");
	*out = text;
	advance(p);
	return RQL_OK;
}

static rql_status one_option(struct parser *p, struct rql_option *out)
{
	char *name;
	out->position = p->token.start;
	/* Reserved words are no values here, so they may be names: `order` is one. */
	if (p->token.kind != RQL_TOKEN_WORD && p->token.kind != RQL_TOKEN_QUOTED_WORD)
		return unexpected(p);
	if (!(name = token_text(p, p->token)))
		return rql_error_memory(p->err, 0, "a statement");
	lower(name);
	advance(p);
	out->name = name;
	out->value = "true";
	bool has_value = skip_symbol(p, "=");
	if (has_value || (!at_symbol(p, ",") && !at_symbol(p, ")")))
		return option_value(p, &out->value);
	return RQL_OK;
}

/* WITH (name [[=] value], ...): the word WITH is the present token. */
static rql_status options(struct parser *p, struct rql_statement *out)
{
	uint32_t capacity = 0;
	advance(p);
	RQL_TRY(expect_symbol(p, "("));
	do {
		if (out->option_count == capacity) {
			capacity = capacity ? 2 * capacity : 8;
			struct rql_option *grown = RQL_NEW_ARRAY(p->arena, struct rql_option, capacity);
			if (!grown)
				return rql_error_memory(p->err, 0, "a statement");
			if (out->option_count)
				memcpy(grown, out->options, out->option_count * sizeof(*grown));
			out->options = grown;
		}
		struct rql_option *option = &out->options[out->option_count];
		RQL_TRY(one_option(p, option));
		for (uint32_t i = 0; i < out->option_count; i++) {
			if (strcmp(out->options[i].name, option->name) == 0) {
				char *message = rql_arena_printf(p->arena, "the option \"%s\" is given twice", option->name);
				return message ? fail_at(p, option->position, message) : rql_error_memory(p->err, 0, "a statement");
			}
		}
		out->option_count++;
	} while (skip_symbol(p, ","));
	return expect_symbol(p, ")");
}

/* Nothing but semicolons may follow. */
static rql_status end_of_statement(struct parser *p)
{
	while (skip_symbol(p, ";"))
		;
	return p->token.kind == RQL_TOKEN_END ? RQL_OK : unexpected(p);
}

/* All that is left, up to the semicolon, as out->query. */
static rql_status rest_as_query(struct parser *p, struct rql_statement *out)
{
	uint32_t start = p->token.start, end = start;
	if (p->token.kind == RQL_TOKEN_END || at_symbol(p, ";"))
		return unexpected(p);
	while (p->token.kind != RQL_TOKEN_END && !at_symbol(p, ";")) {
		if (p->token.kind == RQL_TOKEN_BROKEN)
			return unexpected(p);
		end = p->token.start + p->token.length;
		advance(p);
	}
	out->query_position = start;
	out->query = rql_arena_strndup(p->arena, p->sql + start, end - start);
	return out->query ? end_of_statement(p) : rql_error_memory(p->err, 0, "a statement");
}

static bool skip_if_exists(struct parser *p, bool negated, bool *out, rql_status *status)
{
	*status = RQL_OK;
	if (!skip_word(p, "IF"))
		return true;
	if (negated)
		*status = expect_word(p, "NOT");
	if (*status == RQL_OK)
		*status = expect_word(p, "EXISTS");
	*out = true;
	return *status == RQL_OK;
}

/* ---- materialized views ---- */
static rql_status create_view(struct parser *p, struct rql_statement *out)
{
	rql_status status;
	out->kind = RQL_STATEMENT_CREATE_VIEW;
	if (!skip_if_exists(p, true, &out->if_not_exists, &status))
		return status;
	if (out->or_replace && out->if_not_exists)
		return fail_at(p, p->token.start, "OR REPLACE and IF NOT EXISTS exclude each other");
	RQL_TRY(qualified_name(p, &out->name));
	if (at_symbol(p, "("))
		return fail_at(p, p->token.start, "a materialized view takes its column names from its query: write "
		                                  "\"SELECT x AS a\" there instead of a list of names here");
	if (at_word(p, "WITH"))
		RQL_TRY(options(p, out));
	RQL_TRY(expect_word(p, "AS"));
	return rest_as_query(p, out);
}

static rql_status refresh(struct parser *p, struct rql_statement *out)
{
	advance(p);
	if (skip_word(p, "INDEX")) {
		out->kind = RQL_STATEMENT_REFRESH_INDEX;
	} else {
		out->kind = RQL_STATEMENT_REFRESH_VIEW;
		RQL_TRY(expect_word(p, "MATERIALIZED"));
		RQL_TRY(expect_word(p, "VIEW"));
	}
	RQL_TRY(qualified_name(p, &out->name));
	return end_of_statement(p);
}

static rql_status drop_rest(struct parser *p, struct rql_statement *out)
{
	rql_status status;
	if (!skip_if_exists(p, false, &out->if_exists, &status))
		return status;
	RQL_TRY(qualified_name(p, &out->name));
	if (!skip_word(p, "CASCADE"))
		skip_word(p, "RESTRICT"); /* both are legal and alike: nothing depends on a structure */
	return end_of_statement(p);
}

static rql_status drop(struct parser *p, struct rql_statement *out)
{
	advance(p);
	if (skip_word(p, "MATERIALIZED")) {
		out->kind = RQL_STATEMENT_DROP_VIEW;
		RQL_TRY(expect_word(p, "VIEW"));
		return drop_rest(p, out);
	}
	if (skip_word(p, "INDEX")) {
		out->kind = RQL_STATEMENT_DROP_INDEX;
		return drop_rest(p, out);
	}
	return RQL_OK;
}

/* ---- indexes ---- */
static bool is_method(struct parser *p)
{
	static const char *const methods[] = {"columns", "sieve", "rx", "cgrx", "sorted", "btree", "hash", "auto"};
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (at_word(p, methods[i]))
			return true;
	return false;
}

static rql_status index_columns(struct parser *p, struct rql_statement *out)
{
	uint32_t capacity = 8;
	RQL_TRY(expect_symbol(p, "("));
	if (!(out->columns = RQL_NEW_ARRAY(p->arena, const char *, capacity)))
		return rql_error_memory(p->err, 0, "a statement");
	if (skip_symbol(p, "*")) {
		out->columns[out->column_count++] = "*";
		return expect_symbol(p, ")");
	}
	do {
		if (out->column_count == capacity) {
			const char **grown = RQL_NEW_ARRAY(p->arena, const char *, 2 * capacity);
			if (!grown)
				return rql_error_memory(p->err, 0, "a statement");
			memcpy(grown, out->columns, capacity * sizeof(*grown));
			out->columns = grown;
			capacity *= 2;
		}
		RQL_TRY(identifier(p, &out->columns[out->column_count++]));
	} while (skip_symbol(p, ","));
	return expect_symbol(p, ")");
}

/* Up to USING this may be an index of the host's: whatever does not fit leaves it to the host. */
static bool index_head(struct parser *p, struct rql_statement *out)
{
	struct rql_error *err = p->err;
	rql_status status;
	p->err = NULL;
	bool own = skip_if_exists(p, true, &out->if_not_exists, &status) && qualified_name(p, &out->name) == RQL_OK &&
	           skip_word(p, "ON") && qualified_name(p, &out->table) == RQL_OK && skip_word(p, "USING") && is_method(p);
	p->err = err;
	return own;
}

static rql_status create_index(struct parser *p, struct rql_statement *out, bool unique, uint32_t unique_at)
{
	char *method;
	if (!index_head(p, out)) {
		memset(out, 0, sizeof(*out));
		return RQL_OK;
	}
	out->kind = RQL_STATEMENT_CREATE_INDEX;
	if (!(method = token_text(p, p->token)))
		return rql_error_memory(p->err, 0, "a statement");
	lower(method);
	out->method = method;
	if (unique)
		return fail_at(p, unique_at, "an index of RayQL's does not check uniqueness: leave out UNIQUE");
	advance(p);
	RQL_TRY(index_columns(p, out));
	if (at_word(p, "WITH"))
		RQL_TRY(options(p, out));
	return end_of_statement(p);
}

static rql_status create(struct parser *p, struct rql_statement *out)
{
	uint32_t temporary = 0, unique = 0;
	advance(p);
	if (skip_word(p, "OR")) {
		if (!skip_word(p, "REPLACE"))
			return RQL_OK;
		out->or_replace = true;
	}
	if (at_word(p, "TEMP") || at_word(p, "TEMPORARY")) {
		temporary = p->token.start;
		advance(p);
	}
	if (skip_word(p, "MATERIALIZED")) {
		RQL_TRY(expect_word(p, "VIEW"));
		if (temporary)
			return fail_at(p, temporary, "a materialized view cannot be temporary: leave out TEMP");
		return create_view(p, out);
	}
	if (!temporary && at_word(p, "UNIQUE")) {
		unique = p->token.start;
		advance(p);
	}
	if (!temporary && skip_word(p, "INDEX"))
		return create_index(p, out, unique != 0, unique);
	return RQL_OK;
}

/* ---- EXPLAIN ---- */
static bool starts_query(const struct parser *p)
{
	return at_word(p, "SELECT") || at_word(p, "WITH") || at_word(p, "FROM") || at_word(p, "VALUES") ||
	       at_word(p, "TABLE") || at_symbol(p, "(");
}

/* WITH ... INSERT and the like: a word at the top level that starts a writing statement. */
static bool query_writes(const char *query)
{
	static const char *const words[] = {"INSERT", "UPDATE", "DELETE", "MERGE"};
	uint32_t position = 0;
	int depth = 0;
	for (;;) {
		struct rql_token token = rql_token_next(query, &position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN)
			return false;
		depth += token.kind == RQL_TOKEN_SYMBOL && query[token.start] == '(';
		depth -= token.kind == RQL_TOKEN_SYMBOL && query[token.start] == ')';
		for (size_t i = 0; depth == 0 && i < sizeof(words) / sizeof(words[0]); i++)
			if (rql_token_is(query, token, words[i]))
				return true;
	}
}

/* ON, TRUE, 1 or nothing, as DuckDB's EXPLAIN (ANALYZE x). */
static bool is_true(const char *value)
{
	return strcasecmp(value, "true") == 0 || strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

/* false: not options that RayQL knows; the host shall say what it thinks of them. */
static bool explain_options(struct parser *p, struct rql_statement *out)
{
	struct rql_error *err = p->err;
	bool known = true;
	p->err = NULL;
	advance(p);
	do {
		struct rql_option option;
		known = one_option(p, &option) == RQL_OK;
		if (known && (strcmp(option.name, "analyze") == 0 || strcmp(option.name, "analyse") == 0)) {
			out->analyze = is_true(option.value);
		} else if (known && strcmp(option.name, "format") == 0) {
			char *format = rql_arena_strdup(p->arena, option.value);
			known = format != NULL;
			if (format)
				lower(format);
			out->explain_format = format;
		} else {
			known = false;
		}
	} while (known && skip_symbol(p, ","));
	known = known && skip_symbol(p, ")");
	p->err = err;
	return known;
}

/* EXPLAIN of a statement that is RayQL's own says what it can explain instead. */
static rql_status explain_own(struct parser *p, struct rql_statement *out, uint32_t start)
{
	struct parser inner = {.arena = p->arena, .sql = p->sql, .position = start, .depth = p->depth + 1};
	struct rql_statement statement = {0};
	rql_status status = RQL_OK;
	advance(&inner);
	if (p->depth < 8)
		status = parse(&inner, &statement);
	if (status == RQL_ERROR_MEMORY)
		return rql_error_memory(p->err, 0, "a statement");
	if (status == RQL_OK && (statement.kind == RQL_STATEMENT_HOST || statement.kind == RQL_STATEMENT_DROP_INDEX)) {
		out->host_only = true;
		return RQL_OK;
	}
	return fail_at(p, start, "EXPLAIN works on queries, and this is one of RayQL's own statements: explain the query "
	                         "inside it");
}

static rql_status explain(struct parser *p, struct rql_statement *out)
{
	out->kind = RQL_STATEMENT_EXPLAIN;
	advance(p);
	struct parser before = *p;
	if (at_symbol(p, "(")) {
		struct parser options_start = *p;
		if (explain_options(p, out)) {
			before = *p;
		} else {
			*p = options_start;
			advance(p);
			bool is_query = starts_query(p);
			*p = before;
			out->host_only = !is_query;
			out->analyze = false;
			out->explain_format = NULL;
		}
	} else if (skip_word(p, "ANALYZE") || skip_word(p, "ANALYSE")) {
		out->analyze = true;
	}
	if (out->host_only)
		return RQL_OK;
	if (p->token.kind == RQL_TOKEN_END)
		return unexpected(p);
	if (!starts_query(p))
		return explain_own(p, out, p->token.start);
	RQL_TRY(rest_as_query(p, out));
	out->host_only = query_writes(out->query);
	return RQL_OK;
}

/* ---- settings ---- */
static bool at_own_setting(const struct parser *p)
{
	bool quoted = p->token.kind == RQL_TOKEN_QUOTED_WORD;
	return (quoted || p->token.kind == RQL_TOKEN_WORD) && p->token.length > 6u + 2 * quoted &&
	       strncasecmp(p->sql + p->token.start + quoted, "rayql_", 6) == 0;
}

static rql_status set_value(struct parser *p, struct rql_statement *out)
{
	if (!skip_symbol(p, "=") && !skip_word(p, "TO"))
		return unexpected(p);
	if (skip_word(p, "DEFAULT"))
		return RQL_OK;
	if (at_symbol(p, "("))
		return unexpected(p);
	return option_value(p, &out->value);
}

static rql_status set_or_reset(struct parser *p, struct rql_statement *out, bool set)
{
	static const char *const words[] = {"SESSION", "LOCAL", "GLOBAL", "PERSISTENT"};
	static const enum rql_setting_scope scopes[] = {RQL_SCOPE_SESSION, RQL_SCOPE_SESSION, RQL_SCOPE_GLOBAL,
	                                                RQL_SCOPE_PERSISTENT};
	char *name;
	advance(p);
	for (size_t i = 0; i < sizeof words / sizeof *words && out->scope == RQL_SCOPE_NONE; i++)
		if (skip_word(p, words[i]))
			out->scope = scopes[i];
	if (!at_own_setting(p))
		return RQL_OK;
	out->kind = set ? RQL_STATEMENT_SET : RQL_STATEMENT_RESET;
	out->name.position = p->token.start;
	if (!(name = token_text(p, p->token)))
		return rql_error_memory(p->err, 0, "a statement");
	lower(name);
	out->name.name = name;
	advance(p);
	if (set)
		RQL_TRY(set_value(p, out));
	return end_of_statement(p);
}

/* ---- statements ---- */
static rql_status parse(struct parser *p, struct rql_statement *out)
{
	if (at_word(p, "CREATE"))
		return create(p, out);
	if (at_word(p, "REFRESH"))
		return refresh(p, out);
	if (at_word(p, "DROP"))
		return drop(p, out);
	if (at_word(p, "EXPLAIN"))
		return explain(p, out);
	if (at_word(p, "SET"))
		return set_or_reset(p, out, true);
	if (at_word(p, "RESET"))
		return set_or_reset(p, out, false);
	return RQL_OK;
}

rql_status rql_statement_parse(struct rql_arena *arena, const char *sql, struct rql_statement *out,
                               struct rql_error *err)
{
	struct parser p = {.arena = arena, .sql = sql, .err = err};
	struct rql_statement statement = {0};
	do {
		advance(&p);
	} while (at_symbol(&p, ";"));
	RQL_TRY(parse(&p, &statement));
	if (statement.kind == RQL_STATEMENT_HOST)
		memset(&statement, 0, sizeof(statement));
	*out = statement;
	return RQL_OK;
}
