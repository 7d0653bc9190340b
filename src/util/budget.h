/* How much memory RayQL's structures may take (rayql_memory_limit), and what a long operation tells its watcher.
 * Both are shared between threads; the fields are read and written atomically. */
#ifndef RQL_UTIL_BUDGET_H
#define RQL_UTIL_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "util/status.h"

struct rql_budget {
	_Atomic uint64_t limit; /* bytes; 0: none */
	_Atomic uint64_t used;
};

/* Reserves bytes for `what`, or RQL_ERROR_LIMIT: "memory limit of 8.0 GiB reached: building cube v needs 512.0 MiB
 * more, 7.8 GiB are in use; raise it with SET rayql_memory_limit, or drop a structure". Nothing is allocated; blocks that
 * large.h keeps give way. */
rql_status rql_budget_charge(struct rql_budget *budget, uint64_t bytes, const char *what, struct rql_error *err);
/* That error, for who asks for memory in another way. used: what was found in use. */
rql_status rql_budget_exceeded(const struct rql_budget *budget, uint64_t bytes, uint64_t used, const char *what,
                               struct rql_error *err);
void rql_budget_release(struct rql_budget *budget, uint64_t bytes);
/* "512.0 MiB" into out (at least 24 bytes). */
const char *rql_format_bytes(char *out, uint64_t bytes);
/* "8GB", "512 MiB", "1000000", "80%" (of the machine's memory) to bytes, as DuckDB reads memory_limit; false: not a
 * size. */
bool rql_parse_bytes(const char *text, uint64_t *out);
uint64_t rql_machine_memory(void);

struct rql_progress {
	_Atomic uint64_t rows, total_rows;
	_Atomic(const char *) phase; /* static text; NULL: nothing runs */
	_Atomic bool cancel;         /* set by rayql_interrupt; long loops poll it per chunk */
};

#endif
