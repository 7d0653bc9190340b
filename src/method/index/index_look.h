/* A run on the CPU of what was chosen. Only the method's own files see it. */
#ifndef RQL_METHOD_INDEX_INDEX_LOOK_H
#define RQL_METHOD_INDEX_INDEX_LOOK_H

#include "method/index/index_choose.h"

/* rql_method's run and points. Segments that have no run, because there is no room for it, are tested row
 * by row. */
rql_status rql_index_look(const struct rql_index_choice *p, struct rql_device *device, const struct rql_run *how,
                          struct rql_port *out, struct rql_error *err);
uint32_t rql_index_points(const struct rql_index_choice *p);
/* What is looked up for a value: as an index has it. */
struct rql_index_range rql_index_point_range(const struct rql_store_column *column, const struct rql_value *value);

/* ---- rows in the order of a column (index_order.c): the same parts of rql_method, for requests that want them ---- */
bool rql_index_can_order(const struct rql_request *request);
void rql_index_prepare_order(const struct rql_request *request, struct rql_index_choice *out);
rql_status rql_index_order(const struct rql_index_choice *p, struct rql_device *device, const struct rql_run *how,
                           struct rql_port *out, struct rql_error *err);

#endif
