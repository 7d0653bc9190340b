/* What methods over rows that lie in the host's memory (join_host.c, group_host.c) share: what they refuse, what they take. */
#ifndef RQL_METHOD_HOST_ROWS_H
#define RQL_METHOD_HOST_ROWS_H

#include "method/request.h"

/* Submissions of a partition that are waited for. */
#define RQL_HOST_ROWS_STEPS 12.0

/* Why not all of the devices have the unit; NULL: they have. */
const char *rql_sharers_lack(const struct rql_sharers *on, enum rql_unit unit);
/* Threads' first writing of the memory that partitions (0: there are none) and the `others` bytes take, and the file that
 * has the partitions beyond half of host_bytes (0: any) once written and once read. */
double rql_host_rows_memory_ns(double partitioned, uint64_t host_bytes, double others, double threads);

#endif
