/* Kernels that a driver has not compiled: are they ready, and compiled behind everybody's back. A driver takes 0.1 to
 * 0.5 s for one, so whoever plans asks first, and lets another unit answer meanwhile (design.md, "Flow", Shapes).
 *
 * Each GPU has one thread of low priority, started with the first job, and a queue of RQL_COMPILE_QUEUE jobs. All
 * functions are thread-safe. */
#ifndef RQL_DEVICE_COMPILE_H
#define RQL_DEVICE_COMPILE_H

#include "device/work.h"

#define RQL_COMPILE_QUEUE 64u

/* One pipeline, as rql_pipeline_get or, `generated`, rql_pipeline_get_generated would make it. */
struct rql_kernel_use {
	const struct rql_kernel *kernel;
	const uint32_t *constants;
	uint32_t count;
	bool generated;
};

typedef rql_status rql_see_kernel(void *state, const struct rql_kernel_use *use, struct rql_error *err);

enum rql_kernel_state {
	RQL_KERNEL_READY,   /* in memory: the look has fetched it from the driver's cache, where it was there */
	RQL_KERNEL_UNKNOWN, /* not in memory; this driver cannot be asked for its cache without compiling */
	RQL_KERNEL_MISSING  /* whoever wants it waits for the compiler */
};

/* Compiles nothing. An error: the kernel was compiled in the background and failed, which is for good; the message is
 * that failure's. */
rql_status rql_kernel_look(struct rql_device *device, const struct rql_kernel_use *use, enum rql_kernel_state *out,
                           struct rql_error *err) RQL_MUST_CHECK;

/* What this thread has spent in drivers' compilers with compute kernels: whoever takes times of work leaves it out, since
 * a process has it once. */
uint64_t rql_compiled_ns(void);
void rql_compiled_add(uint64_t ns);

/* What somebody waits for: jobs that are counted down as they end, well or not. Reference-counted. */
struct rql_awaited;
/* NULL: out of memory. */
struct rql_awaited *rql_awaited_new(void);
struct rql_awaited *rql_awaited_retain(struct rql_awaited *awaited);
void rql_awaited_release(struct rql_awaited *awaited); /* NULL: nothing */
/* One more thing that is waited for, beside jobs; and its end. */
void rql_awaited_count(struct rql_awaited *awaited);
void rql_awaited_settle(struct rql_awaited *awaited);
/* Every job has ended; of those that found the queue full, there is room again. Two loads; no lock. */
bool rql_awaited_settled(const struct rql_awaited *awaited);
/* Puts the kernel (a generated one's words are copied) into the device's queue and counts it in `awaited`. A full queue
 * is no error. Fails for memory or a thread that cannot start. */
rql_status rql_kernel_compile_later(struct rql_device *device, const struct rql_kernel_use *use,
                                    struct rql_awaited *awaited, struct rql_error *err) RQL_MUST_CHECK;
/* Waits until the queue is empty and the thread idle; for tests and benchmarks. */
void rql_kernels_finish(struct rql_device *device);

/* Of rql_devices_find and rql_devices_close. Closing waits for the kernel at hand; the rest ends unmade. */
void rql_compiler_open(struct rql_device *device);
void rql_compiler_close(struct rql_device *device);

#endif
