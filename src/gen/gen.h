/* Data made inside the engine, as table functions:
 *   rayql_ssb(table VARCHAR, scale DOUBLE, seed BIGINT): a table of the benchmark
 *   rayql_ssb_rows(table VARCHAR, scale DOUBLE, seed BIGINT, first BIGINT, count BIGINT): a part of it
 *   rayql_hits_rows(rows BIGINT, seed BIGINT, first BIGINT, count BIGINT): a part of ClickBench's `hits` with `rows` rows
 *   rayql_groupby_rows(rows BIGINT, groups BIGINT, seed BIGINT, first BIGINT, count BIGINT): the same of db-benchmark's table
 * They read nothing and need no privilege; a scan runs on as many threads as the host gives it. */
#ifndef RQL_GEN_GEN_H
#define RQL_GEN_GEN_H

#include "host/host.h"

/* Registers the generators as table functions of the database that con belongs to. */
rql_status rql_gen_register(struct rql_host_con *con, struct rql_error *err) RQL_MUST_CHECK;

#endif
