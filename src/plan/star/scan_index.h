/* Indexes of the columns that a scan reads. Private to plan/. */
#ifndef RQL_PLAN_SCAN_INDEX_H
#define RQL_PLAN_SCAN_INDEX_H

#include "plan/leaf.h"

/* Fills `indexes` of a request over s, a structure of columns. False: out of memory. */
bool rql_scan_indexes(const struct rql_planning *p, const struct rql_structure *s, struct rql_request *request);
/* What EXPLAIN calls an index of a request that the method looks up in: its name, and options that matter there. In arena. */
const char *rql_scan_index_name(struct rql_arena *arena, const struct rql_method *method, const struct rql_index_of *of);

#endif
