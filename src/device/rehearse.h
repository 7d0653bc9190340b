/* Rehearsals: passes are recorded where nothing runs, to see which kernels the real recording will ask for. So whoever
 * plans can ask whether a driver has compiled them (compile.h). No list of them stands beside the code that records.
 *
 * A rehearsal has a device of its own with the real one's limits. Its buffers have no memory for kernels, and its
 * recordings are never submitted. One rehearsal belongs to one thread. */
#ifndef RQL_DEVICE_REHEARSE_H
#define RQL_DEVICE_REHEARSE_H

#include "device/compile.h"

struct rql_rehearsal;
/* `see` gets each compute kernel that is asked for, as often as it is; its error is the caller's. */
rql_status rql_rehearsal_new(const struct rql_device *device, rql_see_kernel *see, void *state,
                             struct rql_rehearsal **out, struct rql_error *err) RQL_MUST_CHECK;
/* What was made on its device is freed before. NULL: nothing. */
void rql_rehearsal_free(struct rql_rehearsal *rehearsal);

/* For rql_buffer_new, rql_pipeline_get and rql_commands_new. */
struct rql_device *rql_rehearsal_device(struct rql_rehearsal *rehearsal);
/* Stands for any buffer that others give: larger than all. The rehearsal's. */
struct rql_buffer *rql_rehearsal_buffer(struct rql_rehearsal *rehearsal);

#endif
