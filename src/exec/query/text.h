/* What a statement's text says before the host has seen it (text.c). */
#ifndef RQL_EXEC_TEXT_H
#define RQL_EXEC_TEXT_H

#include "host/host.h"
#include <stdbool.h>
#include <stddef.h>

/* Begins as a query that a plan can be had of: SELECT, WITH, FROM, TABLE, also in parentheses. */
bool rql_text_is_query(const char *sql);
/* The class that the host would give it, or one that changes more. */
enum rql_host_class rql_text_class(const char *sql);
/* To prepare it, or to plan it, would be more or other than to run it: DuckDB evaluates the arguments of table functions
 * when it binds them, and a preparation belongs to no query. Such texts go to the host whole, once. */
bool rql_text_runs_unprepared(const char *sql);
/* Where the text begins with WITH: moves *position, 0, behind the tables that it names, before the verb. False: it has
 * another form. */
bool rql_text_skip_with(const char *sql, uint32_t *position);
bool rql_text_has_parameters(const char *sql);

/* Calls fn for every function that is called, and for every string (a file), where a FROM clause lists what it reads:
 * text is the name as written, or the quoted string. True as soon as fn is. */
typedef bool rql_text_read_fn(void *state, const char *text, size_t length);
bool rql_text_reads(const char *sql, rql_text_read_fn *fn, void *state);
bool rql_text_has_from(const char *sql);

#endif
