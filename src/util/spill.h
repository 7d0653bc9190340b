/* Bytes that memory has no room for, in a file without a name: nothing is left of it whatever ends the process, a kill -9
 * or a loss of power included. A folder that is not there is made for the moment in which the file is. Errors are
 * RQL_ERROR_IO and name the folder. */
#ifndef RQL_UTIL_SPILL_H
#define RQL_UTIL_SPILL_H

#include <stdint.h>
#include "util/status.h"

struct rql_spill;
/* limit: bytes that may be written in all; 0: any. */
rql_status rql_spill_new(const char *folder, uint64_t limit, struct rql_spill **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_spill_free(struct rql_spill *spill); /* NULL: nothing */
/* Behind all that is there; *at says where. By several threads at once. RQL_ERROR_LIMIT: there is no room, and nothing is
 * written. */
rql_status rql_spill_write(struct rql_spill *spill, const void *data, uint64_t bytes, uint64_t *at,
                           struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_spill_read(const struct rql_spill *spill, uint64_t at, void *data, uint64_t bytes,
                          struct rql_error *err) RQL_MUST_CHECK;
/* Nobody reads these again: the file system has their room back, where it can. */
void rql_spill_forget(struct rql_spill *spill, uint64_t at, uint64_t bytes);
uint64_t rql_spill_bytes(const struct rql_spill *spill); /* written in all */

#endif
