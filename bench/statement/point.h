/* `rayql bench point`: one row by its key, by a prepared statement. */
#ifndef RQL_BENCH_POINT_H
#define RQL_BENCH_POINT_H

int rql_point_main(int argc, char **argv);

#endif
