/* What the files of this folder share and nobody else includes. */
#ifndef RQL_DEVICE_DEVICE_INTERNAL_H
#define RQL_DEVICE_DEVICE_INTERNAL_H

#include "device/device.h"

/* Fills device (zeroed) as the CPU with its threads; its texts are malloc'ed. */
rql_status rql_cpu_open(unsigned threads, struct rql_device *device, struct rql_error *err) RQL_MUST_CHECK;
void rql_cpu_close(struct rql_device *device);
/* The widest instruction set of the machine that RAYQL_SIMD allows. */
enum rql_simd rql_cpu_simd(void);
const char *rql_simd_name(enum rql_simd simd);
/* The guesses that hold until a machine is measured. */
extern const struct rql_profile rql_profile_guess;

#endif
