/* The tables of a suite in a database. */
#ifndef RQL_BENCH_SUITE_DATA_H
#define RQL_BENCH_SUITE_DATA_H

#include "bench/common/client.h"
#include "bench/suite/suite.h"

struct rql_suite_source_options {
	double size; /* scale factor, or rows */
	int64_t seed;
	const char *data; /* tpch: the folder with TABLE.parquet; NULL: where script/tpch-data puts that scale */
	bool quiet;
};

/* Makes or reads every table that is not there; each appears whole or not at all. *seconds: 0 when all were there. A
 * folder without TPC-H's files is an error that says how to make them. */
rql_status rql_suite_load(rayql_connection *con, const struct rql_suite *suite,
                          const struct rql_suite_source_options *options, double *seconds,
                          struct rql_error *err) RQL_MUST_CHECK;
/* Makes that table of TPC-H of its file, with these columns ("*": all). Of the options: size, data. */
rql_status rql_suite_load_parquet(rayql_connection *con, const char *table, const char *columns,
                                  const struct rql_suite_source_options *options, struct rql_error *err) RQL_MUST_CHECK;

#endif
