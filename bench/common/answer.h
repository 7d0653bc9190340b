/* Answers of statements as texts with their types, and whether two of them are both right when ORDER BY and LIMIT leave
 * something open. */
#ifndef RQL_BENCH_ANSWER_H
#define RQL_BENCH_ANSWER_H

#include "bench/common/client.h"
#include "bench/suite/suite.h"

struct rql_answer {
	uint32_t columns;
	uint64_t rows;
	char **names, **types; /* of the columns */
	bool *is_real;         /* FLOAT, DOUBLE: compared to 10^-9 of the value */
	char **values;         /* rows x columns, NULL: a NULL */
	uint64_t capacity;
};

/* Runs sql and fetches all rows; *ms (may be NULL): from the call to the last row, before texts are made. out is empty
 * on failure. */
rql_status rql_answer_of(rayql_connection *con, const char *sql, double *ms, struct rql_answer *out,
                         struct rql_error *err) RQL_MUST_CHECK;
void rql_answer_free(struct rql_answer *answer);

/* Are both answers of the query right, given that DuckDB's (`host`) is? *same, and unless so *why in a few words.
 * Names and types must be equal. Without ORDER BY and LIMIT both hold the same rows, in any order. With them, every
 * row of `ours` must be one that the whole answer has, at a place that the order allows: con, on which DuckDB must
 * be the one that answers, is asked for the places. */
rql_status rql_answer_check(rayql_connection *con, const struct rql_suite_query *query, const struct rql_answer *ours,
                            const struct rql_answer *host, bool *same, struct rql_strbuf *why,
                            struct rql_error *err) RQL_MUST_CHECK;

#endif
