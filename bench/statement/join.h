/* `rayql bench join`: joins of two tables by a key, with an index on it and without. */
#ifndef RQL_BENCH_JOIN_H
#define RQL_BENCH_JOIN_H

int rql_join_main(int argc, char **argv);

#endif
