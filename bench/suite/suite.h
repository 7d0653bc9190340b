/* The benchmarks of `rayql bench scan` as data: tables, which of them is scanned, queries. A suite is what a
 * benchmark's public definition says, in DuckDB's SQL. */
#ifndef RQL_BENCH_SUITE_H
#define RQL_BENCH_SUITE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

/* The statement is: SELECT select rest [HAVING ...] [ORDER BY order] [LIMIT limit [OFFSET offset]]. ORDER BY and
 * LIMIT are apart because they often do not decide the answer, and the check must know what they leave open. */
struct rql_suite_query {
	const char *name;   /* "q1.1", "Q12" */
	const char *select; /* the select list */
	const char *rest;   /* FROM ... HAVING ..., or a subquery */
	const char *order;  /* NULL: none */
	uint32_t limit;     /* 0: none */
	uint32_t offset;
	uint32_t having; /* HAVING COUNT(*) > so many; 0: none */
	/* For the check: the order again, over the columns of `select` and of `keys`, in an outer query. NULL: `order`
	 * does. */
	const char *keys; /* what the order needs and the answer does not have, with aliases; NULL: nothing */
	const char *key_order;
};

#define RQL_SUITE_KEYS 16u

enum rql_suite_source { RQL_SUITE_SSB, RQL_SUITE_HITS, RQL_SUITE_GROUPBY, RQL_SUITE_JOIN, RQL_SUITE_PAIRS, RQL_SUITE_RANGES,
	RQL_SUITE_TPCH };

/* CREATE INDEX ... ON table USING columns (columns). */
struct rql_suite_fact {
	const char *table;
	const char *columns; /* those that the queries name */
};

/* A key that the queries look rows up by: CREATE INDEX ... ON table USING KIND (columns). */
struct rql_suite_key {
	const char *table, *columns;
};

struct rql_suite {
	const char *name, *title;
	enum rql_suite_source source;
	bool by_rows;              /* sized by --rows instead of --sf */
	double full_rows;          /* `having` and `offset` are for so many rows, and shrink with them; 0: they do not */
	const char *const *tables; /* NULL-terminated */
	const struct rql_suite_fact *facts;
	uint32_t fact_count;
	const struct rql_suite_query *queries;
	uint32_t query_count;
	const struct rql_suite_key *keys; /* at most RQL_SUITE_KEYS; none where no query joins */
	uint32_t key_count;
};

/* The suite of that name; NULL: there is none. */
const struct rql_suite *rql_suite_find(const char *name);
/* The query for a table of that size: its `rest` is out_rest's text, with HAVING, `having` is 0. */
struct rql_suite_query rql_suite_sized(const struct rql_suite *suite, const struct rql_suite_query *query, double size,
                                       struct rql_strbuf *out_rest);
/* "ssb-flat, ssb, ..." */
const char *rql_suite_names(void);

extern const struct rql_suite rql_suite_clickbench, rql_suite_tpch, rql_suite_rows;
/* The 13 queries of ssb_queries.h over lineorder_flat, or with joins. Static, made at the first call. */
const struct rql_suite *rql_suite_ssb(bool flat);

#endif
