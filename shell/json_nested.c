/* DuckDB's text of a list, array, struct or map, read along its type and written as JSON. The API hands nested values
 * out as text; the type says what the text cannot: whether `1` is a number or a string, `NULL` a null or a word.
 *
 * Text: [1, NULL]  {'a': 1, 'b': x y}  (1, x) for a struct without names  {k=1} for a map. A value that holds a
 * delimiter, a quote or an outer space, or is empty or the word null, is quoted '...' with backslash escapes. */
#include <string.h>
#include <strings.h>

#include "render.h"

struct reader {
	struct rql_strbuf *out;
	const char *text, *end;
	int depth;
};

/* The end of the type that begins at type: up to a comma or bracket of the enclosing one. */
static const char *type_end(const char *type, const char *limit)
{
	int depth = 0;
	for (const char *p = type; p < limit; p++) {
		if (*p == '"' || *p == '\'') {
			const char *close = memchr(p + 1, *p, (size_t)(limit - p - 1));
			if (!close)
				return limit;
			p = close;
		} else if (*p == '(') {
			depth++;
		} else if (*p == ')' && depth-- == 0) {
			return p;
		} else if (*p == ',' && depth == 0) {
			return p;
		}
	}
	return limit;
}

static void skip_spaces(const char **p, const char *end)
{
	while (*p < end && **p == ' ')
		++*p;
}

static bool accept(struct reader *in, char c)
{
	skip_spaces(&in->text, in->end);
	if (in->text == in->end || *in->text != c)
		return false;
	in->text++;
	return true;
}

static bool starts(const char *type, const char *limit, const char *word)
{
	size_t length = strlen(word);
	return (size_t)(limit - type) >= length && !memcmp(type, word, length);
}

static bool is_bare(const char *type, const char *limit)
{
	static const char *const words[] = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
		"UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN", NULL};
	for (size_t i = 0; words[i]; i++)
		if ((size_t)(limit - type) == strlen(words[i]) && starts(type, limit, words[i]))
			return true;
	return starts(type, limit, "DECIMAL(");
}

/* 'it\'s' without its quotes and escapes. */
static bool unquote(struct reader *in, struct rql_strbuf *value)
{
	if (in->text == in->end || *in->text != '\'')
		return false;
	for (in->text++; in->text < in->end && *in->text != '\''; in->text++) {
		if (*in->text == '\\' && in->text + 1 < in->end)
			in->text++;
		rql_strbuf_putc(value, *in->text);
	}
	return in->text++ < in->end;
}

/* closers: the characters that end an unquoted value here. */
static bool read_scalar(struct reader *in, const char *type, const char *limit, const char *closers, bool as_key)
{
	struct rql_strbuf value = {0};
	skip_spaces(&in->text, in->end);
	bool quoted = in->text < in->end && *in->text == '\'', ok = true;
	if (quoted) {
		ok = unquote(in, &value);
	} else {
		const char *begin = in->text;
		while (in->text < in->end && !strchr(closers, *in->text))
			in->text++;
		rql_strbuf_put_n(&value, begin, (size_t)(in->text - begin));
	}
	const char *text = rql_strbuf_text(&value);
	if (!quoted && !strcasecmp(text, "NULL") && !as_key)
		rql_strbuf_put(in->out, "null");
	else if (is_bare(type, limit) && !as_key)
		rql_strbuf_put(in->out, !strcmp(text, "inf") ? "Infinity" : !strcmp(text, "-inf") ? "-Infinity"
		               : !strcmp(text, "nan") ? "NaN" : text);
	else
		rql_sh_json_string(in->out, text, value.length);
	ok = ok && !value.failed;
	rql_strbuf_free(&value);
	return ok;
}

static bool read_value(struct reader *in, const char *type, const char *limit, const char *closers);

static bool read_list(struct reader *in, const char *type, const char *limit)
{
	if (!accept(in, '['))
		return false;
	rql_strbuf_putc(in->out, '[');
	for (bool first = true; !accept(in, ']'); first = false) {
		if (!first && !accept(in, ','))
			return false;
		if (!first)
			rql_strbuf_putc(in->out, ',');
		if (!read_value(in, type, limit, ",]"))
			return false;
	}
	rql_strbuf_putc(in->out, ']');
	return true;
}

/* STRUCT(a INTEGER, "b c" VARCHAR) with {'a': 1, 'b c': x}, or STRUCT(INTEGER, VARCHAR) with (1, x). */
static bool read_struct(struct reader *in, const char *type, const char *limit)
{
	skip_spaces(&in->text, in->end);
	bool named = in->text < in->end && *in->text == '{';
	char close = named ? '}' : ')';
	if (!accept(in, named ? '{' : '('))
		return false;
	rql_strbuf_putc(in->out, '{');
	for (bool first = true; !accept(in, close); first = false) {
		const char *end = type_end(type, limit);
		struct rql_strbuf key = {0};
		if (!first && !accept(in, ','))
			return false;
		if (!first)
			rql_strbuf_putc(in->out, ',');
		skip_spaces(&in->text, in->end);
		bool ok = !named || (unquote(in, &key) && accept(in, ':'));
		rql_sh_json_string(in->out, rql_strbuf_text(&key), key.length);
		rql_strbuf_putc(in->out, ':');
		rql_strbuf_free(&key);
		skip_spaces(&type, end);
		if (named && type < end && *type == '"') {
			/* a quoted name, in which "" is a quote */
			do {
				type = memchr(type + 1, '"', (size_t)(end - type - 1));
				type = type ? type + 1 : end;
			} while (type < end && *type == '"');
		} else if (named) {
			while (type < end && *type != ' ')
				type++;
		}
		skip_spaces(&type, end);
		if (!ok || !read_value(in, type, end, named ? ",}" : ",)"))
			return false;
		type = end < limit ? end + 1 : limit;
	}
	rql_strbuf_putc(in->out, '}');
	return true;
}

static bool read_map(struct reader *in, const char *type, const char *limit)
{
	const char *key_end = type_end(type, limit);
	const char *value = key_end < limit ? key_end + 1 : limit;
	skip_spaces(&value, limit);
	if (!accept(in, '{'))
		return false;
	rql_strbuf_putc(in->out, '{');
	for (bool first = true; !accept(in, '}'); first = false) {
		if (!first && !accept(in, ','))
			return false;
		if (!first)
			rql_strbuf_putc(in->out, ',');
		skip_spaces(&in->text, in->end);
		/* JSON has only strings as keys: a nested key makes the whole value a string (the caller's choice). */
		if (in->text < in->end && strchr("[{(", *in->text))
			return false;
		if (!read_scalar(in, type, key_end, "=", true) || !accept(in, '='))
			return false;
		rql_strbuf_putc(in->out, ':');
		if (!read_value(in, value, limit, ",}"))
			return false;
	}
	rql_strbuf_putc(in->out, '}');
	return true;
}

static bool read_value(struct reader *in, const char *type, const char *limit, const char *closers)
{
	enum { DEEPEST = 200 };
	while (limit > type && limit[-1] == ' ')
		limit--;
	skip_spaces(&in->text, in->end);
	bool named = starts(type, limit, "STRUCT(") || starts(type, limit, "MAP(");
	bool nested = limit > type && (limit[-1] == ']' || (limit[-1] == ')' && named));
	bool ok;
	if (starts(type, limit, "UNION(") || ++in->depth > DEEPEST)
		return false;
	if (!nested || in->text == in->end || !strchr("[{(", *in->text)) {
		ok = read_scalar(in, type, limit, closers, false);
	} else if (limit[-1] == ']') {
		const char *open = limit - 1;
		while (open > type && *open != '[')
			open--;
		ok = read_list(in, type, open);
	} else if (*type == 'S') {
		ok = read_struct(in, type + 7, limit - 1);
	} else {
		ok = read_map(in, type + 4, limit - 1);
	}
	in->depth--;
	return ok;
}

bool rql_sh_json_nested(struct rql_strbuf *out, const char *type, const char *text, size_t length)
{
	struct rql_strbuf json = {0};
	struct reader in = {.out = &json, .text = text, .end = text + length};
	bool ok = read_value(&in, type, type + strlen(type), "") && in.text == in.end && !json.failed;
	if (ok)
		rql_strbuf_put_n(out, json.data, json.length);
	rql_strbuf_free(&json);
	return ok;
}
