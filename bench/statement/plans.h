/* `rayql bench plans`: statements whose texts were never seen, from many connections at once. */
#ifndef RQL_BENCH_PLANS_H
#define RQL_BENCH_PLANS_H

int rql_plans_main(int argc, char **argv);

#endif
