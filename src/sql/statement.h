/* RayQL's own statements (design.md, "RayQL's own SQL"), found by tokens with DuckDB's lexical rules: case-insensitive
 * keywords, "quoted identifiers", 'strings', E'strings', $$dollar quotes$$, -- and nested block comments. */
#ifndef RQL_SQL_STATEMENT_H
#define RQL_SQL_STATEMENT_H

#include "util/arena.h"
#include "util/strbuf.h"
#include "util/status.h"
#include "util/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

enum rql_statement_kind {
	RQL_STATEMENT_HOST, /* not RayQL's own: everything else */
	RQL_STATEMENT_CREATE_VIEW,
	RQL_STATEMENT_REFRESH_VIEW,
	RQL_STATEMENT_DROP_VIEW,
	RQL_STATEMENT_CREATE_INDEX, /* only with USING columns|sieve|rx|cgrx|sorted|btree|hash|auto; others are the host's */
	RQL_STATEMENT_REFRESH_INDEX,
	RQL_STATEMENT_DROP_INDEX,   /* name may be the host's index too: the catalog decides */
	RQL_STATEMENT_EXPLAIN,      /* EXPLAIN [ANALYZE] [(options)] query */
	RQL_STATEMENT_SET,          /* SET [SESSION|LOCAL|GLOBAL|PERSISTENT] rayql_x = value */
	RQL_STATEMENT_RESET,        /* RESET [...] rayql_x */
};

enum rql_setting_scope { RQL_SCOPE_NONE /* not said */, RQL_SCOPE_SESSION, RQL_SCOPE_GLOBAL, RQL_SCOPE_PERSISTENT };

struct rql_option {
	const char *name;  /* lower case */
	const char *value; /* as written, unquoted; "true" when there is none */
	uint32_t position; /* byte offset in the statement, for error carets */
};

struct rql_qualified_name {
	const char *catalog, *schema, *name; /* NULL where not given; unquoted */
	uint32_t position;
};

struct rql_statement {
	enum rql_statement_kind kind;
	struct rql_qualified_name name;  /* view, index; setting name in name.name */
	struct rql_qualified_name table; /* CREATE INDEX */
	bool or_replace, if_not_exists, if_exists;
	bool analyze;               /* EXPLAIN */
	const char *explain_format; /* NULL: text */
	bool host_only;             /* EXPLAIN of something that is no query: pass on to the host whole */
	const char *method;         /* CREATE INDEX USING ... */
	uint32_t column_count;
	const char **columns; /* CREATE INDEX columns; "*" alone for all */
	uint32_t option_count;
	struct rql_option *options; /* WITH (...) */
	const char *query;          /* AS SELECT ..., EXPLAIN's query: text without the semicolon */
	uint32_t query_position;    /* its byte offset in the statement */
	const char *value;          /* SET: value, unquoted; NULL for DEFAULT */
	enum rql_setting_scope scope; /* SET, RESET */
};

/* Parses one statement's text (a trailing semicolon is allowed). Kind HOST for everything that is not RayQL's own. A
 * statement that is RayQL's by its first words but malformed is RQL_ERROR_STATEMENT, the message as DuckDB prints it:
 *   Parser Error: syntax error at or near "FOO"
 *   (empty line)
 *   LINE 1: CREATE MATERIALIZED VIEW v WITH (FOO
 *                                            ^ */
rql_status rql_statement_parse(struct rql_arena *arena, const char *sql, struct rql_statement *out,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Appends "\n\nLINE n: ...\n        ^" for a byte position of sql, cut to the terminal width as DuckDB does. */
void rql_statement_caret(struct rql_strbuf *out, const char *sql, uint32_t position);
/* RQL_ERROR_STATEMENT with the caret under `position` of sql. */
rql_status rql_error_at(struct rql_error *err, const char *sql, uint32_t position, const char *fmt, ...)
	RQL_PRINTF(4, 5);
/* An identifier as it must be written: quoted only when needed. */
void rql_put_name(struct rql_strbuf *out, const char *name);
/* Length of the first complete statement with its semicolon, 0 when incomplete (rayql_statement_length). */
size_t rql_statement_split(const char *sql);

/* ---- tokens: also for the catalog (what does a write touch?) and the plan cache (what does a text call?) ---- */
enum rql_token_kind {
	RQL_TOKEN_END,
	RQL_TOKEN_WORD,
	RQL_TOKEN_QUOTED_WORD,
	RQL_TOKEN_STRING,
	RQL_TOKEN_NUMBER,
	RQL_TOKEN_PARAMETER /* ? $1 $name */,
	RQL_TOKEN_SYMBOL,
	RQL_TOKEN_BROKEN /* unterminated quote or comment */
};
struct rql_token {
	enum rql_token_kind kind;
	uint32_t start, length; /* bytes of the text */
};
/* Reads the token at *position (comments and white space skipped) and moves *position behind it. */
struct rql_token rql_token_next(const char *sql, uint32_t *position);
/* WORD token equal to keyword, any case. */
bool rql_token_is(const char *sql, struct rql_token token, const char *keyword);
/* ... to one of them. */
bool rql_token_is_any(const char *sql, struct rql_token token, const char *const *keywords, size_t count);
#define RQL_TOKEN_IS_ANY(sql, token, keywords) \
	rql_token_is_any(sql, token, keywords, sizeof(keywords) / sizeof *(keywords))
/* SYMBOL token of this character. */
bool rql_token_is_symbol(const char *sql, struct rql_token token, char c);

#endif
