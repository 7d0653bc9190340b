/* Fuzz target: tokens, statement ends and RayQL's own statements over any text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sql/statement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tokens lie one behind the other and end at the end. */
static void check_tokens(const char *sql)
{
	uint32_t position = 0, end = 0, length = (uint32_t)strlen(sql);
	struct rql_token token;
	do {
		token = rql_token_next(sql, &position);
		if (token.start < end || token.start + token.length != position || position > length)
			abort();
		end = position;
		if (token.kind != RQL_TOKEN_END && token.length == 0)
			abort();
	} while (token.kind != RQL_TOKEN_END);
	if (position != length)
		abort();
}

/* The first statement is complete by itself, and what was cut off was its semicolon. */
static void check_split(const char *sql)
{
	size_t length = rql_statement_split(sql);
	if (length == 0)
		return;
	if (sql[length - 1] != ';')
		abort();
	char *first = strndup(sql, length);
	if (first && rql_statement_split(first) != length)
		abort();
	free(first);
}

static void check_parts(const char *sql, const struct rql_statement *statement)
{
	for (uint32_t i = 0; i < statement->option_count; i++)
		if (!statement->options[i].name || !statement->options[i].value ||
		    statement->options[i].position >= strlen(sql))
			abort();
	if (statement->query && strncmp(sql + statement->query_position, statement->query, strlen(statement->query)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_statement statement;
	struct rql_error err = {0};
	char *sql = malloc(size + 1);
	if (arena && sql) {
		if (size)
			memcpy(sql, data, size);
		sql[size] = '\0';
		check_tokens(sql);
		check_split(sql);
		rql_status status = rql_statement_parse(arena, sql, &statement, &err);
		if (status == RQL_OK)
			check_parts(sql, &statement);
		else if (status != RQL_ERROR_STATEMENT || strncmp(rql_error_message(&err), "Parser Error: ", 14) != 0)
			abort();
		struct rql_strbuf text = {0};
		rql_statement_caret(&text, sql, size ? data[0] % (uint32_t)size : 0);
		rql_strbuf_free(&text);
	}
	free(sql);
	rql_error_clear(&err);
	rql_arena_free(arena);
	return 0;
}
