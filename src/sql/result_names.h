/* What the columns of a SELECT's result are called: DuckDB's own words for it come from preparing the statement, which
 * binds and optimises it once more. Where its text and its bound plan leave no doubt, they say it themselves. */
#ifndef RQL_SQL_RESULT_NAMES_H
#define RQL_SQL_RESULT_NAMES_H

#include "sql/rel/rel.h"

/* Is the word one that DuckDB would quote, or may it be? */
typedef bool rql_keyword_fn(void *state, const char *word, size_t length);

/* Fills names[root->column_count] (in arena). false: the text leaves a doubt, or there is no memory. root is the bound
 * plan of sql as it was read, before it is brought to any other form; DuckDB's setting preserve_identifier_case is on. */
bool rql_result_names(struct rql_arena *arena, const char *sql, const struct rql_rel *root, rql_keyword_fn *keyword,
                      void *state, const char **names);

#endif
