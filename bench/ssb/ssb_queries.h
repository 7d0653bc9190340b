/* The 13 queries of the Star Schema Benchmark in its two forms, and one materialized view per query flight, as data.
 *   flat:       over lineorder_flat, as ClickHouse writes them (toYear(d) is year(d) here)
 *   normalised: over the five tables, as the paper writes them */
#ifndef RQL_BENCH_SSB_QUERIES_H
#define RQL_BENCH_SSB_QUERIES_H

#define RQL_SSB_QUERIES 13u
#define RQL_SSB_FLIGHTS 4u

struct rql_ssb_query {
	const char *name;   /* "q1.1" */
	unsigned flight;    /* 1..4 */
	const char *select; /* the select list */
	const char *from;   /* tables */
	const char *where;  /* conditions, joins included */
	const char *tail;   /* GROUP BY and ORDER BY, or "" */
	double published;   /* selectivity in percent: RTCUDB table 1 */
};

struct rql_ssb_flight {
	const char *name;       /* of the view */
	const char *dimensions; /* with aliases, for the view's columns */
	const char *measure, *measure_name;
	const char *from, *where; /* where: "" or joins */
};

struct rql_ssb_form {
	const char *name; /* "flat", "normalised" */
	const char *const *tables; /* NULL-terminated: what must be generated */
	const char *fact;          /* the table whose rows selectivities are shares of */
	const struct rql_ssb_query *queries;  /* RQL_SSB_QUERIES */
	const struct rql_ssb_flight *flights; /* RQL_SSB_FLIGHTS */
};

extern const struct rql_ssb_form rql_ssb_flat, rql_ssb_normalised;

#endif
