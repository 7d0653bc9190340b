/* Methods of the role "select" for tests (README.md). */
#ifndef RQL_TESTS_TOY_TOY_H
#define RQL_TESTS_TOY_TOY_H

#include "method/method.h"

extern const struct rql_method rql_method_toy_all_cpu;
extern const struct rql_method rql_method_toy_all_compute;
extern const struct rql_method rql_method_toy_exact_cpu;
extern const struct rql_method rql_method_toy_exact_compute;

#endif
