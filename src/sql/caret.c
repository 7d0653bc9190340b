/* Where in a statement an error is, drawn as DuckDB draws it: the line, cut to 60 columns on either side (at a natural
 * break near there), and a caret under the place. And names as statements write them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "sql/statement.h"

#define SIDE_COLUMNS 60 /* rendered columns at which a side is cut */
#define BREAK_REACH 4   /* characters around the cut in which a natural break is looked for */

struct character {
	uint32_t offset; /* in the line */
	uint32_t width;  /* columns */
	bool is_break;
};

static uint32_t code_point(const char *text, uint32_t length, uint32_t *bytes)
{
	const unsigned char *c = (const unsigned char *)text;
	uint32_t n = c[0] < 0x80 ? 1 : c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : c[0] >= 0xC0 ? 2 : 1;
	if (n > length)
		n = 1;
	uint32_t code = n == 1 ? c[0] : c[0] & (0xFFu >> (n + 1));
	for (uint32_t i = 1; i < n; i++) {
		if ((c[i] & 0xC0) != 0x80) {
			*bytes = 1;
			return c[0];
		}
		code = code << 6 | (c[i] & 0x3F);
	}
	*bytes = n;
	return code;
}

/* Columns as DuckDB counts them: 0 for control characters (tabs too) and combining marks, 2 for the wide East Asian
 * blocks and emoji. */
static uint32_t code_width(uint32_t code)
{
	static const uint32_t wide[][2] = {{0x1100, 0x115F}, {0x2E80, 0x303E}, {0x3041, 0x33FF}, {0x3400, 0x4DBF},
		{0x4E00, 0x9FFF}, {0xA000, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
		{0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
	static const uint32_t none[][2] = {
		{0, 0x1F}, {0x7F, 0x9F}, {0x300, 0x36F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (code >= none[i][0] && code <= none[i][1])
			return 0;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (code >= wide[i][0] && code <= wide[i][1])
			return 2;
	return 1;
}

static bool is_break(char c)
{
	return c != '\0' && strchr(" \t\v\f!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", c) != NULL;
}

/* Moves the cut to the first natural break in [low, high), if there is one. */
static size_t near_break(const struct character *line, size_t cut, size_t low, size_t high)
{
	for (size_t i = low; i < high; i++)
		if (line[i].is_break)
			return i;
	return cut;
}

/* First character shown: 0 unless the line left of the error is too wide. */
static size_t cut_left(const struct character *line, size_t error, bool *cut)
{
	uint32_t width = 0;
	for (size_t i = error; i > 0; i--) {
		width += line[i].width;
		if (width < SIDE_COLUMNS)
			continue;
		*cut = true;
		return near_break(line, i, i > BREAK_REACH ? i - BREAK_REACH : 0,
		                  i + BREAK_REACH < error ? i + BREAK_REACH : error);
	}
	return 0;
}

/* Character behind the last one shown. */
static size_t cut_right(const struct character *line, size_t count, size_t error, bool *cut)
{
	uint32_t width = 0;
	for (size_t i = error; i < count; i++) {
		width += line[i].width;
		if (width < SIDE_COLUMNS)
			continue;
		*cut = true;
		return near_break(line, i, i > error + BREAK_REACH ? i - BREAK_REACH : error,
		                  i + BREAK_REACH < count ? i + BREAK_REACH : count);
	}
	return count;
}

static uint32_t line_start(const char *sql, uint32_t position, unsigned *number)
{
	uint32_t start = 0;
	*number = 1;
	for (uint32_t i = 0; i < position; i++) {
		if (sql[i] == '\n' || (sql[i] == '\r' && sql[i + 1] != '\n')) {
			++*number;
			start = i + 1;
		}
	}
	return start;
}

/* Only the neighbourhood of the error can be shown: characters before it are few at least SIDE_COLUMNS wide. */
#define LINE_CHARACTERS 2048

void rql_statement_caret(struct rql_strbuf *out, const char *sql, uint32_t position)
{
	struct character line[LINE_CHARACTERS + 1];
	size_t count = 0, error = 0;
	unsigned number;
	bool left = false, right = false;
	if (position >= strlen(sql))
		return; /* as DuckDB: an error at the end has no place */
	uint32_t start = line_start(sql, position, &number);
	uint32_t end = position + (uint32_t)strcspn(sql + position, "\r\n");
	uint32_t first = position - start > LINE_CHARACTERS / 2 ? position - LINE_CHARACTERS / 2 : start;
	while (first > start && ((unsigned char)sql[first] & 0xC0) == 0x80)
		first--;
	for (uint32_t at = first; at < end && count < LINE_CHARACTERS; count++) {
		uint32_t bytes, code = code_point(sql + at, end - at, &bytes);
		line[count] = (struct character){.offset = at, .width = code_width(code), .is_break = is_break(sql[at])};
		if (at <= position)
			error = count;
		at += bytes;
	}
	line[count].offset = end;
	size_t from = cut_left(line, error, &left), to = cut_right(line, count, error, &right);
	size_t before = out->length;
	rql_strbuf_printf(out, "\n\nLINE %u: %s", number, left ? "..." : "");
	size_t columns = out->length - before - 2;
	rql_strbuf_put_n(out, sql + line[from].offset, line[to].offset - line[from].offset);
	rql_strbuf_printf(out, "%s\n", right ? "..." : "");
	for (size_t i = from; i < error; i++)
		columns += line[i].width;
	rql_strbuf_printf(out, "%*s^", (int)columns, "");
}

rql_status rql_error_at(struct rql_error *err, const char *sql, uint32_t position, const char *fmt, ...)
{
	struct rql_error plain = {0};
	va_list args;
	va_start(args, fmt);
	rql_error_vset(&plain, RQL_ERROR_STATEMENT, fmt, args);
	va_end(args);
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, rql_error_message(&plain));
	rql_statement_caret(&text, sql, position);
	rql_status status = rql_error_set(err, RQL_ERROR_STATEMENT, "%s", rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	rql_error_clear(&plain);
	return status;
}

/* DuckDB's reserved words (duckdb_keywords()): a name that is one must be quoted. */
static bool reserved(const char *name)
{
	static const char words[] =
		" all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create "
		"default "
		"deferrable desc describe distinct do else end except false fetch for foreign from group having in initially "
		"intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider "
		"placing "
		"primary qualify references returning select show some summarize symmetric table then to trailing true union "
		"unique "
		"unpivot using variadic when where window with ";
	char padded[72];
	if (strlen(name) > 64)
		return false;
	snprintf(padded, sizeof padded, " %s ", name);
	return strstr(words, padded) != NULL;
}

void rql_put_name(struct rql_strbuf *out, const char *name)
{
	bool plain = islower((unsigned char)name[0]) || name[0] == '_';
	for (const char *c = name; *c && plain; c++)
		plain = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_';
	if (plain && !reserved(name))
		rql_strbuf_put(out, name);
	else
		rql_strbuf_put_ident(out, name);
}
