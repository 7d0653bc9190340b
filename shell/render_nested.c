/* Lays the text of a nested value out over several lines, for a box column that is too narrow for it. The text is cut
 * into brackets, commas, colons and words; then lines are filled in one of three ways, the roomiest that fits:
 * ROOMY breaks after every comma, TALL_SAVING and WIDE_SAVING keep on a line what goes there whole, to save lines or
 * columns. A list of plain values always fills its lines. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "render.h"
#include "width.h"

enum kind { OPEN, CLOSE, COMMA, COLON, WORD };

struct token {
	enum kind kind;
	char bracket; /* of OPEN and CLOSE */
	size_t begin, length, width;
};

enum style { ROOMY, TALL_SAVING, WIDE_SAVING };
enum flow { BREAKING, ONE_LINE, FILLING };
enum outcome { FITS, TOO_TALL, TOO_WIDE, NO_MEMORY };

struct layout {
	const struct token *tokens;
	size_t count, at;
	struct rql_strbuf words; /* the tokens' text */
	struct rql_strbuf out;
	enum style style;
	enum outcome outcome;
	size_t columns, max_lines, lines, used, depth, indent;
};

/* ---- cutting ---- */
struct cutter {
	struct token *tokens;
	size_t count, capacity;
	struct rql_strbuf *words;
};

static struct token *add_token(struct cutter *cut, enum kind kind, char bracket)
{
	if (cut->count == cut->capacity) {
		size_t capacity = cut->capacity ? 2 * cut->capacity : 64;
		struct token *tokens = realloc(cut->tokens, capacity * sizeof(*tokens));
		if (!tokens)
			return NULL;
		cut->tokens = tokens;
		cut->capacity = capacity;
	}
	struct token *token = &cut->tokens[cut->count++];
	*token = (struct token){.kind = kind, .bracket = bracket, .begin = cut->words->length};
	return token;
}

/* The end of the word at pos: quoted parts whole, otherwise up to a bracket, comma or colon. */
static size_t word_end(const char *text, size_t length, size_t pos)
{
	while (pos < length && !memchr("[]{},:", text[pos], 6)) {
		if (text[pos] == '\'' || text[pos] == '"') {
			char quote = text[pos++];
			while (pos < length && text[pos] != quote)
				pos += text[pos] == '\\' ? 2 : 1;
		}
		pos++;
	}
	return pos < length ? pos : length;
}

static bool cut_text(struct cutter *cut, const char *text, size_t length)
{
	size_t pos = 0;
	while (pos < length) {
		char c = text[pos];
		size_t end = pos + 1;
		enum kind kind = c == '[' || c == '{' ? OPEN : c == ']' || c == '}' ? CLOSE : c == ',' ? COMMA
		                 : c == ':' ? COLON : WORD;
		if (c == ' ') {
			pos++;
			continue;
		}
		if (kind == WORD)
			end = word_end(text, length, pos);
		size_t next = end;
		while (kind == WORD && end > pos + 1 && text[end - 1] == ' ')
			end--;
		struct token *token = add_token(cut, kind, c);
		if (!token)
			return false;
		token->length = end - pos;
		if (kind == WORD && end - pos == 4 && !strncasecmp(text + pos, "null", 4))
			rql_strbuf_put(cut->words, "null");
		else
			rql_strbuf_put_n(cut->words, text + pos, end - pos);
		token->width = rql_sh_width(text + pos, end - pos);
		pos = next;
	}
	return !cut->words->failed;
}

/* ---- filling ---- */
static void new_line(struct layout *lay)
{
	rql_strbuf_putc(&lay->out, '\n');
	for (size_t i = 0; i < lay->depth; i++)
		rql_strbuf_putc(&lay->out, ' ');
	lay->used = lay->depth;
	if (++lay->lines > lay->max_lines)
		lay->outcome = TOO_TALL;
	else if (lay->used > lay->columns)
		lay->outcome = TOO_WIDE;
}

static void put_token(struct layout *lay, const struct token *token)
{
	if (lay->used + token->width > lay->columns)
		new_line(lay);
	if (lay->outcome != FITS)
		return;
	rql_strbuf_put_n(&lay->out, lay->words.data + token->begin, token->length);
	lay->used += token->width;
	if (lay->used > lay->columns)
		lay->outcome = TOO_WIDE;
}

static void put_space(struct layout *lay)
{
	if (lay->used + 1 > lay->columns)
		return;
	rql_strbuf_putc(&lay->out, ' ');
	lay->used++;
}

static size_t room(const struct token *token)
{
	return token->width + (token->kind == COMMA || token->kind == COLON ? 1 : 0);
}

/* Does everything from the current token to the bracket that closes it fit on this line? */
static bool whole_fits(const struct layout *lay, size_t *close)
{
	size_t used = lay->used, depth = 0;
	for (size_t i = lay->at + 1; i < lay->count && used <= lay->columns; i++) {
		const struct token *token = &lay->tokens[i];
		if (token->kind == CLOSE && depth-- == 0) {
			*close = i;
			return used + 1 < lay->columns;
		}
		depth += token->kind == OPEN;
		used += room(token);
	}
	return false;
}

/* Likewise up to the next comma or the end of the enclosing bracket. */
static bool item_fits(const struct layout *lay, size_t *end)
{
	size_t used = lay->used + 1, depth = 0;
	for (size_t i = lay->at + 1; i < lay->count && used <= lay->columns; i++) {
		const struct token *token = &lay->tokens[i];
		*end = i;
		if (token->kind == CLOSE && depth-- == 0)
			return used + 1 < lay->columns;
		depth += token->kind == OPEN;
		if (token->kind == COMMA && !depth)
			return used + 2 <= lay->columns;
		used += room(token);
	}
	return false;
}

/* A list that begins with plain values or lists fills lines up to its first closing bracket. */
static enum flow list_flow(const struct layout *lay, enum flow flow, size_t *end)
{
	for (size_t i = lay->at + 1; i < lay->count; i++) {
		const struct token *token = &lay->tokens[i];
		*end = i;
		if (token->kind == OPEN && token->bracket == '{')
			return flow;
		if (token->kind == CLOSE)
			return FILLING;
	}
	return flow;
}

static void format(struct layout *lay, const struct token *token, enum flow flow);

static void open_bracket(struct layout *lay, const struct token *token, enum flow flow)
{
	size_t end = lay->at;
	lay->depth += token->bracket == '{' ? lay->indent : 1;
	put_token(lay, token);
	if (flow != BREAKING)
		return;
	enum flow inner = whole_fits(lay, &end) ? ONE_LINE : BREAKING;
	if (token->bracket == '[')
		inner = list_flow(lay, inner, &end);
	if (inner == BREAKING) {
		bool opens = lay->at + 1 < lay->count && lay->tokens[lay->at + 1].kind == OPEN;
		if (lay->style != TALL_SAVING || !opens)
			new_line(lay);
		return;
	}
	for (size_t i = lay->at + 1; i <= end; i++) {
		const struct token *next = i < end ? &lay->tokens[i + 1] : NULL;
		/* A value and the comma behind it stay together. */
		if (inner == FILLING && next && (next->kind == COMMA || next->kind == CLOSE) &&
		    lay->used + lay->tokens[i].width + next->width > lay->columns)
			new_line(lay);
		format(lay, &lay->tokens[i], inner);
	}
	lay->at = end;
}

static void separate(struct layout *lay, const struct token *token, enum flow flow)
{
	size_t end;
	put_token(lay, token);
	if (flow != BREAKING || (token->kind == COLON && lay->style != WIDE_SAVING)) {
		put_space(lay);
	} else if (lay->style != ROOMY && item_fits(lay, &end)) {
		put_space(lay);
		for (size_t i = lay->at + 1; i < end; i++)
			format(lay, &lay->tokens[i], ONE_LINE);
		lay->at = end - 1;
	} else {
		new_line(lay);
	}
}

/* Writes one token; flow: how the enclosing bracket is written. Goes one call deep: inside ONE_LINE and FILLING no
 * bracket looks ahead. */
static void format(struct layout *lay, const struct token *token, enum flow flow)
{
	switch (token->kind) {
	case OPEN:
		open_bracket(lay, token, flow);
		break;
	case CLOSE: {
		size_t back = token->bracket == '}' ? lay->indent : 1;
		lay->depth -= back < lay->depth ? back : lay->depth;
		if (flow == BREAKING)
			new_line(lay);
		put_token(lay, token);
		break;
	}
	case COMMA:
	case COLON:
		separate(lay, token, flow);
		break;
	case WORD:
		put_token(lay, token);
		break;
	}
}

static enum outcome fill(struct layout *lay, enum style style, size_t indent)
{
	rql_strbuf_clear(&lay->out);
	lay->style = style;
	lay->indent = indent;
	lay->outcome = FITS;
	lay->lines = lay->used = lay->depth = 0;
	for (lay->at = 0; lay->at < lay->count && lay->outcome == FITS; lay->at++)
		format(lay, &lay->tokens[lay->at], BREAKING);
	return lay->out.failed ? NO_MEMORY : lay->outcome;
}

void rql_sh_nested_layout(struct rql_strbuf *out, const char *text, size_t length, size_t columns, size_t max_lines)
{
	struct layout lay = {.columns = columns, .max_lines = max_lines};
	struct cutter cut = {.words = &lay.words};
	bool ok = cut_text(&cut, text, length);
	lay.tokens = cut.tokens;
	lay.count = cut.count;
	if (ok) {
		enum outcome outcome = fill(&lay, ROOMY, 2);
		if (outcome == TOO_WIDE)
			outcome = fill(&lay, WIDE_SAVING, 1);
		else if (outcome == TOO_TALL)
			outcome = fill(&lay, TALL_SAVING, 2);
		ok = outcome == FITS;
	}
	if (ok)
		rql_strbuf_put_n(out, lay.out.data, lay.out.length);
	else
		rql_strbuf_put_n(out, text, length);
	free(cut.tokens);
	rql_strbuf_free(&lay.words);
	rql_strbuf_free(&lay.out);
}
