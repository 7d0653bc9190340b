/* Groups of several tables, whose rows are any: each group once, by the CPU. Few groups, each some 100 bytes of a table. */
#ifndef RQL_HOST_GROUP_MERGE_H
#define RQL_HOST_GROUP_MERGE_H

#include "primitive/host/host_group_by.h"

struct rql_host_merge;
rql_status rql_host_merge_new(const struct rql_host_group_by *by, struct rql_host_merge **out,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_host_merge_free(struct rql_host_merge *merge);
/* As a group-by's `put`. */
rql_status rql_host_merge_put(void *merge, const struct rql_host_groups *groups, struct rql_error *err);
uint64_t rql_host_merge_count(const struct rql_host_merge *merge);
/* to->rows groups from `first` on. */
void rql_host_merge_write(const struct rql_host_merge *merge, uint64_t first, const struct rql_host_groups *to);

#endif
