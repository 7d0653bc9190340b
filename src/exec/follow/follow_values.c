/* VALUES of an INSERT that changes rows of its key (follow_keys.c). The host casts each cell of VALUES to its column; in
 * the query for the rows, the cells of one column take a common type first: beside 2.5 the text '1' is 1.0, and beside 5
 * the text 'none' is an error. So several rows are followed where each column has literals of one kind. */
#include "exec/follow/follow.h"

enum kind { ANY, INTEGER, TEXT, OTHER };
#define COLUMNS_MOST 256u
#define DIGITS_MOST 18u /* of a BIGINT, whatever stands beside it */

struct cells {
	const char *sql;
	uint32_t position;
	struct rql_token token;
	enum kind kinds[COLUMNS_MOST];
};

static void next(struct cells *c)
{
	c->token = rql_token_next(c->sql, &c->position);
}

static bool symbol(const struct cells *c, char of)
{
	return rql_token_is_symbol(c->sql, c->token, of);
}

static enum kind kind_of(struct cells *c)
{
	const bool negative = symbol(c, '-');
	if (negative)
		next(c);
	if (c->token.kind == RQL_TOKEN_STRING && !negative && c->sql[c->token.start] == '\'')
		return TEXT;
	if (rql_token_is(c->sql, c->token, "NULL") && !negative)
		return ANY;
	bool digits = c->token.kind == RQL_TOKEN_NUMBER && c->token.length <= DIGITS_MOST;
	for (uint32_t i = 0; digits && i < c->token.length; i++)
		digits = c->sql[c->token.start + i] >= '0' && c->sql[c->token.start + i] <= '9';
	return digits ? INTEGER : OTHER;
}

/* (cell, ...), each of its column's kind. */
static bool read_row(struct cells *c)
{
	for (uint32_t i = 0; i < COLUMNS_MOST; i++) {
		next(c);
		const enum kind kind = kind_of(c);
		if (kind == OTHER || (kind != ANY && c->kinds[i] != ANY && c->kinds[i] != kind))
			return false;
		c->kinds[i] = kind == ANY ? c->kinds[i] : kind;
		next(c);
		if (!symbol(c, ','))
			break;
	}
	const bool closed = symbol(c, ')');
	next(c);
	return closed;
}

/* One row has no other beside it. */
static bool is_one_row(struct cells c)
{
	int depth = 0;
	do {
		depth += symbol(&c, '(') - symbol(&c, ')');
		next(&c);
	} while (depth && c.token.kind != RQL_TOKEN_END && c.token.kind != RQL_TOKEN_BROKEN);
	return !depth && !symbol(&c, ',');
}

/* Behind VALUES. */
static bool are_rows_alike(struct cells *c)
{
	if (!symbol(c, '('))
		return false;
	if (is_one_row(*c))
		return true;
	for (uint32_t i = 0; i < COLUMNS_MOST; i++)
		c->kinds[i] = ANY;
	while (symbol(c, '(')) {
		if (!read_row(c))
			return false;
		if (!symbol(c, ','))
			return true;
		next(c);
	}
	return false;
}

bool rql_follow_are_values_alike(const char *sql, struct rql_follow_span query)
{
	struct cells c = {.sql = sql, .position = query.start};
	for (next(&c); c.token.kind != RQL_TOKEN_END && c.token.start < query.end;) {
		const bool values = rql_token_is(sql, c.token, "VALUES");
		next(&c);
		if (values && !are_rows_alike(&c))
			return false;
	}
	return true;
}
