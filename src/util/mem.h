/* Charged memory: every large allocation of a build or a structure is charged to the budget, and all of them can be
 * freed as a whole. Thread-safe, but for init and clear. */
#ifndef RQL_UTIL_MEM_H
#define RQL_UTIL_MEM_H

#include <pthread.h>
#include <stddef.h>
#include "util/budget.h"

struct rql_mem_block;
struct rql_mem {
	struct rql_budget *budget; /* may be NULL */
	const char *what;          /* for messages: "building cube v" */
	pthread_mutex_t lock;      /* workers allocate at once */
	struct rql_mem_block *blocks;
	uint64_t held;     /* bytes charged */
	rql_status failed; /* of the last allocation that failed */
};
void rql_mem_init(struct rql_mem *mem, struct rql_budget *budget, const char *what);
/* count * size bytes aligned to 64, charged to the budget. NULL: see rql_mem_failure. count * size == 0 gives a valid
 * pointer. */
void *rql_mem_alloc(struct rql_mem *mem, uint64_t count, uint64_t size, struct rql_error *err);
void *rql_mem_zalloc(struct rql_mem *mem, uint64_t count, uint64_t size, struct rql_error *err);
rql_status rql_mem_failure(struct rql_mem *mem);       /* RQL_ERROR_LIMIT or RQL_ERROR_MEMORY */
void rql_mem_free(struct rql_mem *mem, void *pointer); /* NULL accepted */
void rql_mem_clear(struct rql_mem *mem);               /* frees every block */

#define RQL_MEM_ARRAY(mem, pointer, count, err)                                                                        \
	(((pointer) = rql_mem_alloc((mem), (count), sizeof(*(pointer)), (err))) ? RQL_OK : rql_mem_failure(mem))
#define RQL_MEM_ZARRAY(mem, pointer, count, err)                                                                       \
	(((pointer) = rql_mem_zalloc((mem), (count), sizeof(*(pointer)), (err))) ? RQL_OK : rql_mem_failure(mem))

#endif
