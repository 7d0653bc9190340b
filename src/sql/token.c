/* DuckDB's lexical rules, as far as statements must be told apart and cut: tokens and statement ends. */
#include <string.h>
#include <strings.h>
#include "sql/statement.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_word_part(char c)
{
	return is_word_start(c) || is_digit(c) || c == '$';
}

static bool is_operator(char c)
{
	return c != '\0' && strchr("~!@#^&|`+-*/%<>=", c) != NULL;
}

/* Bytes of the white space at text, 0 when there is none. DuckDB takes the spaces of Unicode for spaces too. */
static uint32_t space_length(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	if (c[0] == ' ' || (c[0] >= '\t' && c[0] <= '\r'))
		return 1;
	if (c[0] == 0xC2 && c[1] == 0xA0)
		return 2;
	if (c[0] == 0xE2 && c[1] == 0x80 && ((c[2] >= 0x80 && c[2] <= 0x8D) || c[2] == 0xAF))
		return 3;
	if ((c[0] == 0xE2 && c[1] == 0x81 && (c[2] == 0x9F || c[2] == 0xA0)) ||
	    (c[0] == 0xE3 && c[1] == 0x80 && c[2] == 0x80) || (c[0] == 0xEF && c[1] == 0xBB && c[2] == 0xBF))
		return 3;
	return 0;
}

/* Position behind a nested block comment that starts at `at`; 0 when it does not end. */
static uint32_t block_comment_end(const char *sql, uint32_t at)
{
	unsigned depth = 0;
	while (sql[at]) {
		if (sql[at] == '/' && sql[at + 1] == '*') {
			depth++;
			at += 2;
		} else if (sql[at] == '*' && sql[at + 1] == '/') {
			at += 2;
			if (--depth == 0)
				return at;
		} else {
			at++;
		}
	}
	return 0;
}

/* Skips white space and comments; false: a comment that does not end starts at *at. */
static bool skip_space(const char *sql, uint32_t *at)
{
	for (;;) {
		uint32_t space = space_length(sql + *at);
		if (space) {
			*at += space;
		} else if (sql[*at] == '-' && sql[*at + 1] == '-') {
			*at += (uint32_t)strcspn(sql + *at, "\r\n");
		} else if (sql[*at] == '/' && sql[*at + 1] == '*') {
			uint32_t end = block_comment_end(sql, *at);
			if (!end)
				return false;
			*at = end;
		} else {
			return true;
		}
	}
}

/* Position behind a quoted text that starts with the quote at `at`; 0 when it does not end. Doubled quotes stand for one. */
static uint32_t quote_end(const char *sql, uint32_t at, bool backslashes)
{
	char quote = sql[at++];
	for (; sql[at]; at++) {
		if (backslashes && sql[at] == '\\' && sql[at + 1]) {
			at++;
		} else if (sql[at] == quote) {
			if (sql[at + 1] != quote)
				return at + 1;
			at++;
		}
	}
	return 0;
}

/* Length of "$tag$" at text, 0 when there is none. */
static uint32_t dollar_tag(const char *text)
{
	uint32_t n = 1;
	if (text[0] != '$' || is_digit(text[1]))
		return 0;
	while (is_word_part(text[n]) && text[n] != '$')
		n++;
	return text[n] == '$' ? n + 1 : 0;
}

static uint32_t dollar_end(const char *sql, uint32_t at, uint32_t tag)
{
	for (uint32_t i = at + tag; sql[i]; i++)
		if (sql[i] == '$' && strncmp(sql + i, sql + at, tag) == 0)
			return i + tag;
	return 0;
}

static uint32_t number_end(const char *sql, uint32_t at)
{
	while (is_digit(sql[at]) || (sql[at] == '_' && is_digit(sql[at + 1])))
		at++;
	if (sql[at] == '.' && sql[at + 1] != '.')
		for (at++; is_digit(sql[at]) || (sql[at] == '_' && is_digit(sql[at + 1]));)
			at++;
	if (sql[at] == 'e' || sql[at] == 'E') {
		uint32_t digits = at + 1 + (sql[at + 1] == '+' || sql[at + 1] == '-');
		if (is_digit(sql[digits]))
			for (at = digits; is_digit(sql[at]);)
				at++;
	}
	return at;
}

static uint32_t word_end(const char *sql, uint32_t at)
{
	while (is_word_part(sql[at]) && !space_length(sql + at))
		at++;
	return at;
}

/* An operator ends where a comment starts, and before a + or - at its end, which is a sign (k=-5), but for those that hold
 * one of ~!@#^&|`%. */
static uint32_t symbol_end(const char *sql, uint32_t at)
{
	uint32_t start = at;
	bool special = false;
	if (sql[at] == ':' && (sql[at + 1] == ':' || sql[at + 1] == '='))
		return at + 2;
	if (!is_operator(sql[at]))
		return at + 1;
	do {
		special = special || strchr("~!@#^&|`%", sql[at]);
		at++;
	} while (is_operator(sql[at]) && strncmp(sql + at, "--", 2) != 0 && strncmp(sql + at, "/*", 2) != 0);
	while (!special && at - start > 1 && (sql[at - 1] == '+' || sql[at - 1] == '-'))
		at--;
	return at;
}

/* A token from start to end; end 0: it is broken and takes all the rest. */
static struct rql_token token_of(const char *sql, uint32_t *position, enum rql_token_kind kind, uint32_t start,
                                 uint32_t end)
{
	if (end == 0) {
		kind = RQL_TOKEN_BROKEN;
		end = start + (uint32_t)strlen(sql + start);
	}
	*position = end;
	return (struct rql_token){.kind = kind, .start = start, .length = end - start};
}

struct rql_token rql_token_next(const char *sql, uint32_t *position)
{
	uint32_t at = *position;
	if (!skip_space(sql, &at))
		return token_of(sql, position, RQL_TOKEN_BROKEN, at, 0);
	char c = sql[at];
	if (c == '\0') {
		*position = at;
		return (struct rql_token){.kind = RQL_TOKEN_END, .start = at};
	}
	if (c == '\'')
		return token_of(sql, position, RQL_TOKEN_STRING, at, quote_end(sql, at, false));
	if (c == '"')
		return token_of(sql, position, RQL_TOKEN_QUOTED_WORD, at, quote_end(sql, at, false));
	if (sql[at + 1] == '\'' && strchr("eExXbB", c))
		return token_of(sql, position, RQL_TOKEN_STRING, at, quote_end(sql, at + 1, c == 'e' || c == 'E'));
	if (is_word_start(c))
		return token_of(sql, position, RQL_TOKEN_WORD, at, word_end(sql, at));
	if (is_digit(c) || (c == '.' && is_digit(sql[at + 1])))
		return token_of(sql, position, RQL_TOKEN_NUMBER, at, number_end(sql, at));
	if (c == '$' && dollar_tag(sql + at))
		return token_of(sql, position, RQL_TOKEN_STRING, at, dollar_end(sql, at, dollar_tag(sql + at)));
	if (c == '?' || c == '$')
		return token_of(sql, position, RQL_TOKEN_PARAMETER, at, word_end(sql, at + 1));
	return token_of(sql, position, RQL_TOKEN_SYMBOL, at, symbol_end(sql, at));
}

bool rql_token_is(const char *sql, struct rql_token token, const char *keyword)
{
	return token.kind == RQL_TOKEN_WORD && strlen(keyword) == token.length &&
	       strncasecmp(sql + token.start, keyword, token.length) == 0;
}

bool rql_token_is_any(const char *sql, struct rql_token token, const char *const *keywords, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rql_token_is(sql, token, keywords[i]))
			return true;
	return false;
}

bool rql_token_is_symbol(const char *sql, struct rql_token token, char c)
{
	return token.kind == RQL_TOKEN_SYMBOL && token.length == 1 && sql[token.start] == c;
}

size_t rql_statement_split(const char *sql)
{
	uint32_t position = 0;
	for (;;) {
		struct rql_token token = rql_token_next(sql, &position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN)
			return 0;
		if (token.kind == RQL_TOKEN_SYMBOL && sql[token.start] == ';')
			return position;
	}
}
