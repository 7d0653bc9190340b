/* What the two halves of rayql bench garuda share. */
#ifndef RQL_GARUDA_H
#define RQL_GARUDA_H

#include "relation_bench.h"

/* A join from the host's memory to the host's memory. */
rql_status rql_garuda_host(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
/* Runs the cases of figure 12 or 13. */
rql_status rql_garuda_groups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;

#endif
