/* The benchmark's tables in a database or in Parquet files. */
#ifndef RQL_BENCH_SSB_DATA_H
#define RQL_BENCH_SSB_DATA_H

#include <stdint.h>

#include "bench/common/client.h"

struct rql_ssb_source {
	double scale;
	int64_t seed;
	const char *columns; /* select list; NULL: all */
};

struct rql_ssb_loaded {
	uint64_t rows;
	double seconds;
};

/* Creates and fills one table, in one transaction: on failure nothing is left. Shows progress when standard error is a
 * terminal. */
rql_status rql_ssb_load_table(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                              struct rql_ssb_loaded *out, struct rql_error *err);
/* Writes DIR/TABLE/part-00000.parquet and so on; parts written by a failed call are removed. An existing folder
 * DIR/TABLE with files in it is an error. *bytes: of the files. */
rql_status rql_ssb_write_parquet(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                                 const char *directory, struct rql_ssb_loaded *out, uint64_t *bytes,
                                 struct rql_error *err);
/* Does the database have the table? */
rql_status rql_ssb_table_exists(rayql_connection *con, const char *table, bool *out, struct rql_error *err);

/* mkdir -p */
rql_status rql_make_directory(const char *path, struct rql_error *err);

#endif
