/* Literals as DuckDB's parser reads them, where that is beyond doubt: 12, 0.05, 'text'. Exponents, underscores, leading
 * zeros, more than 18 digits, quotes of other kinds and 'infinity' stay text. */
#include "sql/literal.h"

#include <string.h>
#include <strings.h>
#include "sql/statement.h"

#define DIGITS_MAX 18u

struct lister {
	struct rql_arena *arena;
	struct rql_literals *out;
	struct rql_strbuf shape;
	uint32_t capacity, token_capacity;
	bool failed;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Room for one more item of `size` bytes in an array of the arena. */
static void *grown(struct lister *l, void *items, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	uint32_t larger = *capacity ? 2 * *capacity : 32;
	void *copy = rql_arena_array(l->arena, larger, size);
	if (!copy) {
		l->failed = true;
		return NULL;
	}
	if (count)
		memcpy(copy, items, count * size);
	*capacity = larger;
	return copy;
}

static void add_token(struct lister *l, uint32_t start)
{
	l->out->tokens = grown(l, l->out->tokens, l->out->token_count, &l->token_capacity, sizeof *l->out->tokens);
	if (l->out->tokens)
		l->out->tokens[l->out->token_count++] = start;
}

static void add_literal(struct lister *l, struct rql_token token, struct rql_value value)
{
	l->out->items = grown(l, l->out->items, l->out->count, &l->capacity, sizeof *l->out->items);
	if (l->out->items)
		l->out->items[l->out->count++] = (struct rql_literal){token.start, token.length, value};
}

/* ---- numbers ---- */

/* Which integer types hold n, and which hold -n. */
static unsigned band_of(rql_int128 n)
{
	static const int64_t most[] = {127,   128,        255,        32767,      32768,
	                               65535, 2147483647, 2147483648, 4294967295, INT64_MAX};
	unsigned band = 0;
	while (band + 1 < sizeof most / sizeof *most && n > most[band])
		band++;
	return band;
}

/* 12 or 0.05; false: written in another way. */
static bool read_number(const char *text, uint32_t length, struct rql_value *out, unsigned *digits)
{
	rql_int128 n = 0;
	uint32_t scale = 0, at = 0;
	bool point = false;
	for (*digits = 0; at < length; at++) {
		if (text[at] == '.' && !point && at > 0) {
			point = true;
			continue;
		}
		if (!is_digit(text[at]) || ++*digits > DIGITS_MAX)
			return false;
		n = 10 * n + (text[at] - '0');
		scale += point;
	}
	bool leading_zero = length > 1 && text[0] == '0' && text[1] != '.';
	if (*digits == 0 || leading_zero || (point && scale == 0))
		return false;
	*out = (struct rql_value){.integer = n};
	if (point)
		out->type = (struct rql_type){.id = RQL_TYPE_DECIMAL, .width = (uint8_t)*digits, .scale = (uint8_t)scale};
	else
		out->type = rql_type_simple(n <= INT32_MAX ? RQL_TYPE_INTEGER : RQL_TYPE_BIGINT);
	return true;
}

/* ---- strings ---- */

/* 'infinity': DuckDB's optimiser may fail where such a date is compared, and only where it is asked. */
static bool is_special(const struct rql_value *value)
{
	for (uint64_t i = 0; i + 3 <= value->string.length; i++)
		if (strncasecmp(value->string.data + i, "inf", 3) == 0)
			return true;
	return false;
}

/* 'it''s' */
static bool read_string(struct lister *l, const char *text, uint32_t length, struct rql_value *out)
{
	uint64_t kept = 0;
	if (text[0] != '\'')
		return false;
	char *copy = rql_arena_alloc(l->arena, length);
	if (!copy) {
		l->failed = true;
		return false;
	}
	for (uint32_t i = 1; i + 1 < length; i++) {
		copy[kept++] = text[i];
		i += text[i] == '\''; /* written twice */
	}
	*out = (struct rql_value){.type = rql_type_simple(RQL_TYPE_VARCHAR), .string = {copy, kept}};
	return true;
}

/* ---- the shape ---- */

/* What stands right beside a literal may make it another one: 1x, x'1'. */
static bool stands_alone(const char *sql, struct rql_token token)
{
	char after = sql[token.start + token.length];
	return !(is_digit(after) || after == '_' || after == '.' || after == '\'' || after == '"' || after == '$' ||
	         (after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') || (unsigned char)after >= 0x80);
}

/* A decimal's type is its digits; an integer goes into the types that hold it. */
static void put_number(struct rql_strbuf *shape, const struct rql_value *value, unsigned digits)
{
	if (value->type.id == RQL_TYPE_DECIMAL)
		rql_strbuf_printf(shape, "\x01%u.%u", digits, value->type.scale);
	else
		rql_strbuf_printf(shape, "\x01%u,%u", digits, band_of(value->integer));
}

/* Adds the literal's class to the shape. false: its text belongs there. */
static bool take_literal(struct lister *l, const char *sql, struct rql_token token, bool after_string)
{
	const char *text = sql + token.start;
	struct rql_value value;
	unsigned digits = 0;
	if (!stands_alone(sql, token))
		return false;
	if (token.kind == RQL_TOKEN_NUMBER && read_number(text, token.length, &value, &digits))
		put_number(&l->shape, &value, digits);
	else if (token.kind == RQL_TOKEN_STRING && !after_string && read_string(l, text, token.length, &value) &&
	         !is_special(&value))
		rql_strbuf_put(&l->shape, "\x02");
	else
		return false;
	add_literal(l, token, value);
	return true;
}

bool rql_literals_read(struct rql_arena *arena, const char *sql, struct rql_literals *out)
{
	*out = (struct rql_literals){.text = sql};
	struct lister l = {.arena = arena, .out = out};
	struct rql_token token = {0}, before;
	uint32_t position = 0;
	for (;;) {
		before = token;
		token = rql_token_next(sql, &position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN || l.failed)
			break;
		add_token(&l, token.start);
		if (!take_literal(&l, sql, token, before.kind == RQL_TOKEN_STRING))
			rql_strbuf_put_n(&l.shape, sql + token.start, token.length);
		rql_strbuf_putc(&l.shape, '\0'); /* no token holds one */
	}
	out->shape = rql_arena_alloc(arena, l.shape.length);
	l.failed = l.failed || l.shape.failed || !out->shape || token.kind != RQL_TOKEN_END;
	if (!l.failed && l.shape.length)
		memcpy((char *)(uintptr_t)out->shape, l.shape.data, l.shape.length);
	out->shape_length = l.shape.length;
	rql_strbuf_free(&l.shape);
	return !l.failed;
}

/* ---- finding ---- */

/* The place of a token; token_count: none begins there. */
static uint32_t find_token(const struct rql_literals *literals, uint64_t position)
{
	uint32_t low = 0, high = literals->token_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (literals->tokens[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low < literals->token_count && literals->tokens[low] == position ? low : literals->token_count;
}

bool rql_literals_token_at(const struct rql_literals *literals, uint64_t position)
{
	return find_token(literals, position) < literals->token_count;
}

const struct rql_literal *rql_literal_at(const struct rql_literals *literals, uint64_t position, bool *minus)
{
	uint32_t token = find_token(literals, position);
	if (token == literals->token_count)
		return NULL;
	*minus = literals->text[position] == '-' && token + 1 < literals->token_count;
	uint32_t start = literals->tokens[token + *minus];
	for (uint32_t i = 0; i < literals->count; i++)
		if (literals->items[i].start == start)
			return &literals->items[i];
	return NULL;
}

bool rql_literal_equal(const struct rql_literals *a, const struct rql_literals *b, uint32_t index)
{
	const struct rql_literal *x = &a->items[index], *y = &b->items[index];
	return x->length == y->length && memcmp(a->text + x->start, b->text + y->start, x->length) == 0;
}

struct rql_value rql_literal_negated(struct rql_value value)
{
	value.integer = -value.integer;
	return value;
}
