/* What the method's files on a GPU's compute unit have of each other. */
#ifndef RQL_METHOD_INDEX_INDEX_COMPUTE_H
#define RQL_METHOD_INDEX_INDEX_COMPUTE_H

#include "device/work.h"

/* rql_method's: sector_ns of the device's profile. */
rql_status rql_index_calibrate(struct rql_device *device, bool thorough, struct rql_error *err) RQL_MUST_CHECK;

#endif
