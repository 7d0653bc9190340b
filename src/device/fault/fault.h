/* Faults on purpose: stands between the front door and a device and lets the Nth allocation, submission, wait or compilation
 * fail, loses the device, or makes its compiler slow. So every error path of the engine can be walked, on any device.
 *
 * From outside: RAYQL_FAULT="vulkan:0 allocation 3", "* lost 1": device, kind, number; read when devices are found.
 * Tests use the functions below. Freeing is never touched: what was made on a lost device is freed as ever. */
#ifndef RQL_DEVICE_FAULT_FAULT_H
#define RQL_DEVICE_FAULT_FAULT_H

#include "device/device.h"

enum rql_fault_kind {
	RQL_FAULT_ALLOCATION, /* rql_buffer_new, by whomever: RQL_ERROR_LIMIT */
	RQL_FAULT_SUBMISSION, /* rql_submit, and each upload and download: RQL_ERROR_DEVICE */
	RQL_FAULT_WAIT,       /* rql_wait, and each download: RQL_ERROR_DEVICE */
	RQL_FAULT_LOST,       /* a submission; device->lost from then on */
	RQL_FAULT_COMPILE,    /* a pipeline made that was not ready: RQL_ERROR_DEVICE */
	RQL_FAULT_SLOW,       /* nothing fails: every pipeline that is not ready takes the number's milliseconds more */
	RQL_FAULT_KIND_COUNT
};

/* As RAYQL_FAULT says for this device, which has ops; nothing without it, or when it names another device. */
void rql_fault_apply(struct rql_device *device);
/* The Nth call of that kind from now on fails, once, nth >= 1; 0: none, only counts. Puts the wrapper there when it is
 * not yet; one fault a device at a time. Also makes a device well again that a fault (not a driver) had lost. Not
 * thread-safe. */
rql_status rql_fault_set(struct rql_device *device, enum rql_fault_kind kind, uint64_t nth,
                         struct rql_error *err) RQL_MUST_CHECK;
/* Calls of that kind since rql_fault_set; of LOST: submissions; of SLOW: those of COMPILE. */
uint64_t rql_fault_count(const struct rql_device *device, enum rql_fault_kind kind);
/* Whether the fault has happened; SLOW: at least once. */
bool rql_fault_struck(const struct rql_device *device);
/* The device as it was. */
void rql_fault_remove(struct rql_device *device);

#endif
