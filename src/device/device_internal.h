/* What the files of this folder share and nobody else includes. */
#ifndef RQL_DEVICE_DEVICE_INTERNAL_H
#define RQL_DEVICE_DEVICE_INTERNAL_H

#include "device/compile.h"
#include "device/draw.h"
#include "device/trace.h"

/* What a GPU implementation provides; work.h and trace.h say what each does. The front door (work.c, trace.c) has
 * checked the arguments and that the device is not lost. */
struct rql_device_ops {
	rql_status (*start)(struct rql_device *device, struct rql_error *err);
	void (*memory)(struct rql_device *device, uint64_t *available, uint64_t *total);
	rql_status (*buffer_new)(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
	                         struct rql_buffer **out, struct rql_error *err);
	void (*buffer_free)(struct rql_buffer *buffer);
	rql_status (*upload)(struct rql_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
	                     struct rql_error *err);
	rql_status (*download)(struct rql_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
	                       struct rql_error *err);
	rql_status (*pipeline)(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
	                       uint32_t count, const struct rql_pipeline **out, struct rql_error *err);
	rql_status (*pipeline_generated)(struct rql_device *device, const struct rql_kernel *kernel,
	                                 const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
	                                 struct rql_error *err);
	enum rql_kernel_state (*pipeline_look)(struct rql_device *device, const struct rql_kernel_use *use);
	void (*pipeline_release)(const struct rql_pipeline *pipeline);
	rql_status (*trace_pipeline)(struct rql_device *device, const struct rql_trace_kernel *kernel,
	                             const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
	                             struct rql_error *err);
	rql_status (*commands_new)(struct rql_device *device, unsigned flags, struct rql_commands **out,
	                           struct rql_error *err);
	rql_status (*commands_end)(struct rql_commands *c, struct rql_error *err);
	void (*commands_free)(struct rql_commands *c);
	void (*fill)(struct rql_commands *c, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t word);
	void (*copy)(struct rql_commands *c, struct rql_buffer *from, uint64_t from_offset, struct rql_buffer *to,
	             uint64_t to_offset, uint64_t bytes);
	void (*dispatch)(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
	                 uint64_t groups, const struct rql_use *uses, uint32_t use_count);
	void (*dispatch_indirect)(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
	                          const void *args, struct rql_buffer *counts, uint64_t offset, const struct rql_use *uses,
	                          uint32_t use_count);
	void (*trace)(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
	              uint64_t rays, struct rql_accel *const *accels, uint32_t accel_count, const struct rql_use *uses,
	              uint32_t use_count);
	unsigned (*format_roles)(const struct rql_device *device, enum rql_format format);
	rql_status (*image_new)(struct rql_device *device, const struct rql_image_spec *spec, const char *what,
	                        struct rql_image **out, struct rql_error *err);
	void (*image_free)(struct rql_image *image);
	rql_status (*draw_pipeline)(struct rql_device *device, const struct rql_draw_kernel *kernel,
	                            const struct rql_draw_state *state, const uint32_t *constants, uint32_t count,
	                            const struct rql_pipeline **out, struct rql_error *err);
	rql_status (*image_pipeline)(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
	                             uint32_t count, const struct rql_pipeline **out, struct rql_error *err);
	void (*draw)(struct rql_commands *c, const struct rql_draw *draw);
	void (*dispatch_images)(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
	                        const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count,
	                        const struct rql_image_use *images, uint32_t image_count);
	void (*dispatch_images_indirect)(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
	                                 const void *args, struct rql_buffer *counts, uint64_t offset,
	                                 const struct rql_use *uses, uint32_t use_count, const struct rql_image_use *images,
	                                 uint32_t image_count);
	void (*clear)(struct rql_commands *c, struct rql_image *image, uint32_t first_layer, uint32_t layers,
	              const uint32_t word[4]);
	/* read: from the image to the buffer; else the other way */
	void (*image_copy)(struct rql_commands *c, const struct rql_image_rows *rows, struct rql_buffer *buffer,
	                   uint64_t offset, bool read);
	rql_status (*submit)(struct rql_commands *const *list, uint32_t count, uint64_t *ticket, struct rql_error *err);
	rql_status (*wait)(struct rql_device *device, uint64_t ticket, struct rql_progress *progress,
	                   struct rql_error *err);
	bool (*is_done)(struct rql_device *device, uint64_t ticket);
	uint32_t (*times)(struct rql_commands *c, struct rql_pass_time *times, uint32_t max, double *total_ns);
	rql_status (*accel_build)(struct rql_device *device, const struct rql_accel_spec *spec,
	                          struct rql_progress *progress, struct rql_accel **out, struct rql_error *err);
	rql_status (*accel_refit)(struct rql_accel *accel, uint32_t part,
	                          rql_status (*fill)(void *state, struct rql_commands *c, uint32_t part,
	                                             struct rql_buffer *input, struct rql_error *err),
	                          void *state, struct rql_error *err);
	void (*accel_free)(struct rql_accel *accel);
	rql_status (*accel_write)(struct rql_accel *accel,
	                          rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
	                          void *state, struct rql_error *err);
	rql_status (*accel_read)(struct rql_device *device,
	                         rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
	                         void *state, struct rql_accel **out, struct rql_error *err);
	void (*measure)(struct rql_device *device, bool thorough); /* rql_device_measure */
	void (*wake)(struct rql_device *device);                   /* rql_device_wake */
};

/* rql_commands of every implementation begins with this. */
struct rql_commands {
	struct rql_device *device;
	bool ended;
	struct rql_error misuse; /* the front door's first complaint; rql_commands_end returns it */
};
/* Of its words. */
static inline uint64_t rql_kernel_hash(const struct rql_kernel *kernel)
{
	uint64_t hash = 0x9e3779b97f4a7c15u ^ kernel->spirv_bytes;
	for (uint64_t i = 0; i < kernel->spirv_bytes / sizeof(*kernel->spirv); i++) {
		hash = (hash ^ kernel->spirv[i]) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	return hash;
}

/* And rql_pipeline with this. */
enum rql_pipeline_kind { RQL_PIPELINE_COMPUTE, RQL_PIPELINE_IMAGES, RQL_PIPELINE_TRACE, RQL_PIPELINE_DRAW };
struct rql_pipeline {
	struct rql_device *device;
	enum rql_pipeline_kind kind;
	uint32_t args_bytes;
	struct rql_draw_state state; /* DRAW */
};

/* src/device/vulkan: fills devices->device[1...] (count is the caller's to move) and returns how many; why there are none
 * goes to devices->no_gpu (malloc'ed). */
uint32_t rql_vulkan_find(struct rql_devices *devices);
void rql_vulkan_close(struct rql_devices *devices);
/* RAYQL_VULKAN_VALIDATION=1: messages of the validation layer so far, in this process. */
uint64_t rql_vulkan_validation_errors(void);

/* What can be asked of every device: RQL_OK, or the error of a CPU, a lost device, a device that does not start. */
rql_status rql_device_ready(struct rql_device *device, struct rql_error *err) RQL_MUST_CHECK;
/* The checks that all recorders share (work.c). What is wrong is kept for rql_commands_end; false: record nothing. */
void rql_record_misuse(struct rql_commands *c, const char *fmt, ...) RQL_PRINTF(2, 3);
bool rql_record_may(struct rql_commands *c, const char *what, bool there);
bool rql_record_range(struct rql_commands *c, const char *what, const struct rql_buffer *buffer, uint64_t offset,
                      uint64_t bytes);
bool rql_record_pass(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                     enum rql_pipeline_kind kind, const void *args, const struct rql_use *uses, uint32_t use_count);
/* Are a compute kernel and its constants such as rql_pipeline_get takes, and is the device ready? place: of
 * the result. */
rql_status rql_kernel_check(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                            uint32_t count, bool place, struct rql_error *err);
/* Guesses for a GPU of that kind. */
void rql_profile_guess_gpu(struct rql_device *device);
void rql_cpu_measure(struct rql_device *device, bool thorough);

/* Fills device (zeroed) as the CPU with its threads; its texts are malloc'ed. */
rql_status rql_cpu_open(unsigned threads, struct rql_device *device, struct rql_error *err) RQL_MUST_CHECK;
void rql_cpu_close(struct rql_device *device);

#endif
