/* Indexes of the columns that a scan reads. Private to plan/. */
#ifndef RQL_PLAN_SCAN_INDEX_H
#define RQL_PLAN_SCAN_INDEX_H

#include "plan/leaf.h"

/* Fills `indexes` of a request over s, a structure of columns. False: out of memory. */
bool rql_scan_indexes(const struct rql_planning *p, const struct rql_structure *s, struct rql_request *request);

#endif
