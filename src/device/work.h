/* Work on a GPU, as methods see it: memory, kernels, recorded passes, submissions. No Vulkan symbol appears here, and
 * nobody above src/device/vulkan writes a barrier, waits for a fence or frees memory that is in use: a pass names the
 * buffers that it touches, and what is freed lives on until its last submission is done.
 *
 * These functions are the validating front door (work.c): they check their arguments and hand over to device->ops,
 * which is src/device/vulkan, or src/device/fault around it. All are thread-safe, but one rql_commands belongs to one
 * thread at a time.
 *
 * Errors: RQL_ERROR_LIMIT when memory does not suffice (the message says need and have), RQL_ERROR_DEVICE when a driver
 * call failed or the device was lost; from then on every call on a lost device fails at once with RQL_ERROR_DEVICE. */
#ifndef RQL_DEVICE_WORK_H
#define RQL_DEVICE_WORK_H

#include <stddef.h>
#include "device/device.h"

struct rql_progress;

/* ---- memory ---- */
enum rql_memory {
	RQL_MEMORY_DEVICE,   /* fastest for kernels; not mapped */
	RQL_MEMORY_UPLOAD,   /* mapped; written by the CPU, read by kernels: device-local where the driver has such memory */
	RQL_MEMORY_READBACK, /* mapped and cached; written by kernels (or copies), read by the CPU */
	RQL_MEMORY_COUNT
};

/* A range of the device's memory. The front door's callers read these fields; the implementation embeds the struct. */
struct rql_buffer {
	struct rql_device *device;
	uint64_t bytes;   /* as asked for */
	uint64_t address; /* what kernels get; a multiple of 256 */
	void *map;        /* UPLOAD and READBACK: always there and coherent. DEVICE: NULL */
	enum rql_memory memory;
};

/* Contents are undefined. `what` (a static text, or one that outlives the call) names it in messages: "cells of cube v". */
rql_status rql_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                          struct rql_buffer **out, struct rql_error *err) RQL_MUST_CHECK;
/* At once for the caller; the memory returns when every recording that names it is freed and its last submission done (a
 * recording may be submitted after its buffers were freed, and again). NULL: nothing. */
void rql_buffer_free(struct rql_buffer *buffer);
/* Through staging memory, in pieces, at the link's speed. upload returns when `data` may be reused, and every later
 * submission sees it; download waits for what was submitted before. */
rql_status rql_buffer_upload(struct rql_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                             struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_buffer_download(struct rql_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Bytes that can still be had (VK_EXT_memory_budget where there is one), and all of the device's own. */
void rql_device_memory(struct rql_device *device, uint64_t *available, uint64_t *total);
/* Makes the device ready to work (a logical device, queues, pipeline cache); the others do it when needed. Idempotent. */
rql_status rql_device_start(struct rql_device *device, struct rql_error *err) RQL_MUST_CHECK;

/* ---- kernels ---- */
/* One compute shader: static const data, made by rql_shaders() of cmake/RqlShader.cmake. The shader's argument struct
 * is its push constants, declared once for C and GLSL (kernel_types.h); local_size_x is specialization constant 0. */
struct rql_kernel {
	const char *name; /* "cube.intervals" */
	const uint32_t *spirv;
	uint64_t spirv_bytes;
	uint32_t args_bytes; /* <= RQL_ARGS_MAX */
};
/* One shader of a kernel that has several (trace.h, draw.h). */
struct rql_shader {
	const uint32_t *spirv; /* NULL: none */
	uint64_t spirv_bytes;
};
#define RQL_ARGS_MAX 128u
#define RQL_CONSTANTS_MAX 20u

/* A kernel specialised: made once per device and constants, kept in the device (nobody frees it), its compiled form in
 * the cache on disk, keyed by device and driver. */
struct rql_pipeline;
/* constants[i] is specialization constant i; constants[0] is local_size_x. */
rql_status rql_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                            uint32_t count, const struct rql_pipeline **out, struct rql_error *err) RQL_MUST_CHECK;
/* The same of a kernel that was generated, of which there may be any number in a process's life: it is known by its
 * words, which are copied, not by its address. Each call gives one reference. Pipelines that nobody refers to are kept
 * for the next request of the same code, until there are more than RAYQL_VULKAN_PIPELINES (1024) in all: then the one
 * that was asked for longest ago goes. Recordings hold what they dispatch, as they hold buffers. */
rql_status rql_pipeline_get_generated(struct rql_device *device, const struct rql_kernel *kernel,
                                      const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                      struct rql_error *err) RQL_MUST_CHECK;
void rql_pipeline_release(const struct rql_pipeline *pipeline); /* of rql_pipeline_get_generated; NULL: nothing */

/* ---- recording ---- */
/* UPDATE: atomic operations that commute, and nothing else: passes that update a buffer do not wait for each other. */
enum rql_access { RQL_READ = 1, RQL_WRITE = 2, RQL_READ_WRITE = 3, RQL_UPDATE = 4 };
struct rql_use {
	struct rql_buffer *buffer;
	enum rql_access access;
};

/* A recorded list of passes. Recorded once, it can be submitted again and again, each time after the previous one is
 * done. Passes run in the order of recording as far as their uses depend on each other; independent ones may overlap.
 * Recording errors are kept and returned by rql_commands_end. */
struct rql_commands;
#define RQL_COMMANDS_TIMED 1u /* timestamps around every pass (rql_commands_times) */
rql_status rql_commands_new(struct rql_device *device, unsigned flags, struct rql_commands **out,
                            struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_commands_end(struct rql_commands *c, struct rql_error *err) RQL_MUST_CHECK;
/* As rql_buffer_free: at once for the caller. NULL: nothing. */
void rql_commands_free(struct rql_commands *c);

/* bytes and offset: multiples of 4. */
void rql_record_fill(struct rql_commands *c, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t word);
void rql_record_copy(struct rql_commands *c, struct rql_buffer *from, uint64_t from_offset, struct rql_buffer *to,
                     uint64_t to_offset, uint64_t bytes);
/* `groups` workgroups, any number from 0 on: a shader finds its number with rql_group() of kernel.glsl and must return
 * when it is >= the number it expects, because large numbers are laid out in two dimensions. pass: a static text, the
 * name in timings. args: copied now. uses: every buffer whose memory the shader touches through an address. */
void rql_record_dispatch(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
                         uint64_t groups, const struct rql_use *uses, uint32_t use_count);
/* The number of groups is a uint32_t[3] in `counts` (x, y, z as Vulkan has it; x and y <= 65535, z == 1). */
void rql_record_dispatch_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                  const void *args, struct rql_buffer *counts, uint64_t offset,
                                  const struct rql_use *uses, uint32_t use_count);

/* ---- running ---- */
/* Puts the recording into the device's queue and returns at once. Several may be in flight. *ticket is for rql_wait;
 * tickets of one device ascend, and a later one being done means that all earlier ones are. */
rql_status rql_submit(struct rql_commands *c, uint64_t *ticket, struct rql_error *err) RQL_MUST_CHECK;
/* Several recordings of one device, each once, as one submission: they run in this order. After an error none runs. */
#define RQL_SUBMIT_MOST 16u
rql_status rql_submit_all(struct rql_commands *const *list, uint32_t count, uint64_t *ticket,
                          struct rql_error *err) RQL_MUST_CHECK;
/* progress may be NULL; when its cancel flag is set it returns RQL_ERROR_INTERRUPTED early and the work goes on. */
rql_status rql_wait(struct rql_device *device, uint64_t ticket, struct rql_progress *progress,
                    struct rql_error *err) RQL_MUST_CHECK;
bool rql_is_done(struct rql_device *device, uint64_t ticket);
/* Of the last submission of a timed recording, once it is done: names and nanoseconds, at most `max`; returns how many
 * passes there are. *total_ns (may be NULL): from the start of the first to the end of the last. */
struct rql_pass_time {
	const char *pass;
	double ns;
};
uint32_t rql_commands_times(struct rql_commands *c, struct rql_pass_time *times, uint32_t max, double *total_ns);

/* Submit, wait, for what runs once. */
rql_status rql_commands_run(struct rql_commands *c, struct rql_progress *progress, struct rql_error *err) RQL_MUST_CHECK;
/* The same of a recording that is open, and that goes whatever comes: ends, runs and frees it. status: of what was
 * recorded; if that failed, nothing runs, and it is returned. ns, which may be NULL: as rql_commands_times' total; left as
 * it is after a failure. */
rql_status rql_commands_finish(struct rql_commands *c, rql_status status, struct rql_progress *progress, double *ns,
                               struct rql_error *err) RQL_MUST_CHECK;

#endif
