/* The Vulkan device from inside: what the files of this folder share. Nothing else in the project sees a Vulkan symbol.
 *
 *   instance.c   loader, instance, validation messages, the list of physical devices
 *   adapter.c    one physical device: identity, features, limits, why a unit is missing
 *   gpu.c        a logical device: features, queue, start and close
 *   memory.c     the arena of large allocations, buffers, what waits to be freed
 *   transfer.c   staging, upload, download
 *   pipeline.c   compute pipelines; pipeline_generated.c those of generated kernels, which come and go;
 *                pipeline_cache.c the driver's cache on disk
 *   commands.c   recording, barriers, timestamps
 *   submit.c     the queue, tickets (one timeline semaphore), waiting
 *   measure.c    the profile's constants that no method owns
 *   accel.c      acceleration structures; accel_file.c their serialised form
 *   trace.c      ray-tracing pipelines, shader binding tables, launches
 *   image.c      images, the table of them that shaders see, clears and copies
 *   draw.c       graphics pipelines, draws, kernels that look images up
 *
 * Locks, always taken in this order: gpu->start_lock, gpu->submit_lock, gpu->memory_lock / gpu->pipeline_lock /
 * gpu->commands_lock / gpu->image_lock. */
#ifndef RQL_DEVICE_VULKAN_INTERNAL_H
#define RQL_DEVICE_VULKAN_INTERNAL_H

#include <pthread.h>
#define VK_NO_PROTOTYPES /* the loader is opened at run time, by volk */
#include <volk.h>

#include "device/device_internal.h"

struct rql_vk_gpu;
struct rql_vk_range;
struct rql_vk_staging;
struct rql_vk_touch;

/* The process's instance: volk's functions are the process's too, so all lists of devices share it. instance.c. */
struct rql_vk_instance {
	VkInstance handle;
	VkDebugUtilsMessengerEXT messenger; /* RAYQL_VULKAN_VALIDATION=1 */
	uint32_t references;
};

/* What a physical device has, as asked for by vkGetPhysicalDeviceFeatures2. The chain points into the struct itself, so
 * it is never copied. */
struct rql_vk_features {
	VkPhysicalDeviceFeatures2 core;
	VkPhysicalDeviceVulkan11Features v11;
	VkPhysicalDeviceVulkan12Features v12;
	VkPhysicalDeviceAccelerationStructureFeaturesKHR accel;
	VkPhysicalDeviceRayTracingPipelineFeaturesKHR trace;
	VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroup;
	VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics;
	VkPhysicalDeviceDynamicRenderingFeaturesKHR rendering;
	VkPhysicalDevicePipelineCreationCacheControlFeaturesEXT cache_control;
	/* extensions */
	bool has_accel, has_trace, has_deferred, has_budget, has_pci, has_maintenance4, has_subgroup, has_statistics;
	bool has_cache_control, has_rendering;
};

/* One large VkDeviceMemory with one VkBuffer over all of it; ranges of it are rql_buffers and acceleration structures'
 * storage. */
struct rql_vk_block {
	VkDeviceMemory memory;
	VkBuffer buffer;
	VkDeviceAddress address;
	uint8_t *map;
	uint64_t bytes;
	enum rql_memory kind;
	bool single;                 /* of one large request at a time */
	uint64_t idle_since;         /* single: when it became empty, by gpu->idle_clock */
	struct rql_vk_range *ranges; /* free ones, ascending, joined when neighbours */
	uint64_t free_bytes;
	struct rql_vk_block *next;
};
struct rql_vk_range {
	uint64_t offset, bytes;
	struct rql_vk_range *next;
};

/* Of what recordings name, buffers and acceleration structures: the owner and every recording that names it hold it, and
 * the last one to let go buries it behind its last submission. So a recording may be submitted after a buffer of it was
 * freed, and again. */
struct rql_vk_life {
	_Atomic uint32_t holders; /* 1 at first: the owner */
	uint64_t last_used;       /* ticket of the last submission that names it; under submit_lock */
	void (*bury)(struct rql_vk_gpu *gpu, void *object);
	void *object;
};

struct rql_vk_buffer {
	struct rql_buffer base; /* first */
	struct rql_vk_block *block;
	struct rql_vk_range *range; /* its own; handed back to the block, so that freeing needs no memory */
	uint64_t offset;            /* in block->buffer */
	struct rql_vk_life life;
};

/* Something that waits for a ticket to be freed. */
struct rql_vk_grave {
	uint64_t ticket;
	void (*bury)(struct rql_vk_gpu *gpu, void *object);
	void *object;
	struct rql_vk_grave *next;
};

/* Images by number: one descriptor set for the device's life, filled in as images come and go. Numbers in use are
 * bits. */
#define RQL_VK_IMAGES 1024u
struct rql_vk_table {
	VkDescriptorSetLayout layout;
	VkDescriptorPool pool;
	VkDescriptorSet set;
	uint64_t used[RQL_VK_IMAGES / 64]; /* under image_lock */
};
struct rql_vk_image {
	struct rql_image base; /* first */
	VkImage handle;
	VkDeviceMemory memory;
	VkImageView all, *layer; /* of all layers; of single ones, when it is a target */
	struct rql_vk_life life;
};

struct rql_vk_trace_limits {
	uint32_t handle_size, handle_alignment, base_alignment, scratch_alignment;
	uint32_t max_recursion;
	uint64_t max_launch, max_primitives, max_instances;
};

/* A physical device, and once it is started its logical device. device->impl. */
struct rql_vk_gpu {
	struct rql_device *device;
	struct rql_vk_instance *instance;
	VkPhysicalDevice physical;
	VkPhysicalDeviceProperties properties;
	VkPhysicalDeviceDriverProperties driver;
	VkPhysicalDeviceMemoryProperties memory_properties;
	uint8_t pipeline_cache_uuid[VK_UUID_SIZE];
	bool has_memory_budget, has_trace, has_raster;
	struct rql_vk_trace_limits trace;
	uint64_t memory_cap;   /* RAYQL_VULKAN_MEMORY: the most that is taken of the device's own memory */
	struct rql_pool *pool; /* the CPU's threads: large copies to and from mapped memory */
	uint32_t queue_family;
	double awake_ns;          /* rql_vk_wake: what it takes for a chain of passes when it is awake; 0: not known */
	bool statistics;          /* RAYQL_VULKAN_STATISTICS: what drivers say of every compute pipeline goes to stderr */
	bool asks_cache;          /* a pipeline can be had of the driver's cache only (VK_EXT_pipeline_creation_cache_control) */
	uint32_t pinned_subgroup; /* what every compute pipeline asks for; 0: the device has one size only */
	uint32_t timestamp_bits;
	double timestamp_ns;

	pthread_mutex_t start_lock;
	_Atomic bool started;
	struct VolkDeviceTable vk; /* every device-level call goes through it */
	VkDevice handle;
	VkQueue queue;

	pthread_mutex_t submit_lock; /* the queue and everything about tickets */
	VkSemaphore timeline;
	uint64_t submitted;        /* the last ticket given */
	_Atomic uint64_t finished; /* the last ticket known to be done */

	pthread_mutex_t memory_lock;
	struct rql_vk_block *blocks;
	struct rql_vk_grave *graves;
	_Atomic uint32_t grave_count;           /* so that a waiter need not take the lock to see that there is none */
	uint64_t allocated[RQL_MEMORY_COUNT];   /* of all blocks */
	uint64_t block_count[RQL_MEMORY_COUNT]; /* ever made: block sizes grow */
	uint64_t idle_clock;                    /* counts single blocks that became empty */
	struct rql_vk_staging *staging;         /* transfer.c */

	pthread_mutex_t pipeline_lock; /* nobody holds it while the driver compiles */
	pthread_cond_t pipeline_made;  /* some pipeline is no longer `compiling` */
	VkPipelineCache pipeline_cache;
	_Atomic bool pipeline_cache_changed;
	uint64_t pipeline_cache_checksum; /* of what the file held at the start; 0: nothing usable */
	struct rql_vk_pipeline *pipelines;
	struct rql_vk_pipeline *generated;        /* the last asked for first */
	uint32_t generated_count, generated_most; /* RAYQL_VULKAN_PIPELINES */

	pthread_mutex_t image_lock;
	struct rql_vk_table table;

	pthread_mutex_t commands_lock;
	struct rql_vk_commands *idle_commands; /* to be recorded anew: a command pool costs more than a short recording */
	uint32_t idle_commands_count;
};

/* ---- errors ---- */
/* The status for a failed call: LIMIT for out of device memory, MEMORY for out of host memory, DEVICE else; marks the
 * device lost on VK_ERROR_DEVICE_LOST. The message names call and what. */
rql_status rql_vk_fail(struct rql_vk_gpu *gpu, VkResult result, const char *call, const char *what,
                       struct rql_error *err);
const char *rql_vk_result_name(VkResult result);

static inline struct rql_vk_gpu *rql_vk_of(const struct rql_device *device)
{
	return device->impl;
}

/* ---- adapter.c ---- */
void rql_vk_features_get(VkPhysicalDevice physical, struct rql_vk_features *out);
/* Fills device (zeroed but for its index) and gpu->physical's facts; its texts are malloc'ed. RQL_ERROR_DEVICE and the
 * reason in err when nothing of it can be shown. */
rql_status rql_vk_adapter_describe(struct rql_vk_gpu *gpu, struct rql_device *device, struct rql_error *err);
void rql_vk_adapter_free(struct rql_device *device); /* the texts */

/* ---- gpu.c ---- */
rql_status rql_vk_start(struct rql_device *device, struct rql_error *err);
void rql_vk_stop(struct rql_vk_gpu *gpu); /* waits for the queue, frees everything */

/* ---- memory.c ---- */
rql_status rql_vk_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                             struct rql_buffer **out, struct rql_error *err);
void rql_vk_buffer_free(struct rql_buffer *buffer);
void rql_vk_memory(struct rql_device *device, uint64_t *available, uint64_t *total);
/* Calls bury(gpu, object) when `ticket` is done: now, when it is already. bury takes no lock of the caller's. */
void rql_vk_bury(struct rql_vk_gpu *gpu, uint64_t ticket, void (*bury)(struct rql_vk_gpu *gpu, void *object),
                 void *object);
void rql_vk_reap(struct rql_vk_gpu *gpu); /* frees what is due; call it without any lock */
/* One holder less. Without any lock; the object may be gone afterwards. */
void rql_vk_release(struct rql_vk_gpu *gpu, struct rql_vk_life *life);
/* The last ticket known to be done, asked anew; UINT64_MAX on a device that is really lost. */
uint64_t rql_vk_finished(struct rql_vk_gpu *gpu);
void rql_vk_memory_close(struct rql_vk_gpu *gpu);
/* Memory of its own for an image, within the budget; and back. */
rql_status rql_vk_image_memory_new(struct rql_vk_gpu *gpu, const VkMemoryRequirements *needs, const char *what,
                                   VkDeviceMemory *out, struct rql_error *err);
void rql_vk_image_memory_free(struct rql_vk_gpu *gpu, VkDeviceMemory memory, uint64_t bytes);

/* ---- transfer.c ---- */
rql_status rql_vk_upload(struct rql_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                         struct rql_error *err);
rql_status rql_vk_download(struct rql_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                           struct rql_error *err);
void rql_vk_transfer_close(struct rql_vk_gpu *gpu);

/* ---- pipeline.c ---- */
struct rql_vk_pipeline {
	struct rql_pipeline base; /* first */
	bool compiling;           /* by a thread, to whom the rest belongs; under pipeline_lock */
	bool asked;               /* the driver's cache does not have it */
	const void *kernel;       /* its identity; NULL: its words are */
	uint32_t constants[RQL_CONSTANTS_MAX], constant_count;
	VkPipelineLayout layout; /* push constants only; no descriptor set */
	VkPipeline handle;
	VkShaderStageFlags stages; /* of the push constants */
	/* trace.c: the shader binding table */
	struct rql_buffer *table;
	VkStridedDeviceAddressRegionKHR raygen, miss, hit, callable;
	/* generated: */
	uint32_t *words;
	uint64_t words_bytes, hash;
	uint32_t references;     /* of callers; under pipeline_lock */
	struct rql_vk_life life; /* the list's and the recordings' */
	struct rql_vk_pipeline *next;
};
rql_status rql_vk_pipeline_get_generated(struct rql_device *device, const struct rql_kernel *kernel,
                                         const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                         struct rql_error *err);
void rql_vk_pipeline_release(const struct rql_pipeline *pipeline);
rql_status rql_vk_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                               uint32_t count, const struct rql_pipeline **out, struct rql_error *err);
rql_status rql_vk_cache_open(struct rql_vk_gpu *gpu, struct rql_error *err);
void rql_vk_cache_close(struct rql_vk_gpu *gpu); /* writes it back when it changed */
void rql_vk_pipelines_close(struct rql_vk_gpu *gpu);
/* Makes p's handle of the kernel's words, without a lock: p is nobody's yet, or `compiling`. What there is of it is p's
 * also after a failure. cached_only: RQL_ERROR_UNSUPPORTED where the driver's cache does not have it. */
rql_status rql_vk_pipeline_compile(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const struct rql_kernel *kernel,
                                   bool cached_only, struct rql_error *err);
/* rql_kernel_look's; the second one is of generated kernels. */
enum rql_kernel_state rql_vk_pipeline_look(struct rql_device *device, const struct rql_kernel_use *use);
enum rql_kernel_state rql_vk_pipeline_look_generated(struct rql_vk_gpu *gpu, const struct rql_kernel_use *use);
void rql_vk_pipeline_destroy(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p);
/* Shared with trace.c: finds kernel + constants in the list (pipeline_lock held), or makes an empty entry. */
struct rql_vk_pipeline *rql_vk_pipeline_find(struct rql_vk_gpu *gpu, const void *kernel, const uint32_t *constants,
                                             uint32_t count);
/* images: with the table of images as set 0. */
rql_status rql_vk_pipeline_layout(struct rql_vk_gpu *gpu, VkShaderStageFlags stages, uint32_t args_bytes, bool images,
                                  VkPipelineLayout *out, struct rql_error *err);
/* The pipeline of this identity, made by `compile` when there is none: without a lock, one thread at a time. */
typedef rql_status rql_vk_compile(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const void *state,
                                  struct rql_error *err);
rql_status rql_vk_pipeline_made(struct rql_vk_gpu *gpu, const void *kernel, const uint32_t *constants, uint32_t count,
                                rql_vk_compile *compile, const void *state, const struct rql_pipeline **out,
                                struct rql_error *err);

/* ---- commands.c ---- */
#define RQL_VK_MAX_PASSES 256u /* timed ones of one recording; the last slot takes all further ones together */
/* The stages that barriers tell apart: transfer, compute, indirect read, building structures, ray tracing, shaders of
 * draws, their targets. */
#define RQL_VK_STAGES 7u
#define RQL_VK_DRAW_STAGES (VK_PIPELINE_STAGE_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT)
/* A buffer or an image in a recording: how many barriers were recorded when a pass last read, wrote or updated it; 0:
 * never. */
struct rql_vk_touch {
	struct rql_vk_life *life;
	uint32_t read_at, written_at, updated_at;
};
/* What a pass does in some stages, and to what. */
struct rql_vk_touching {
	VkPipelineStageFlags stages;
	VkAccessFlags reads, writes;
	const struct rql_use *uses;
	uint32_t use_count;
	const struct rql_image_use *images;
	uint32_t image_count;
};
struct rql_vk_commands {
	struct rql_commands base; /* first */
	struct rql_vk_gpu *gpu;
	VkCommandPool pool;
	VkCommandBuffer handle;
	bool timed;
	VkQueryPool queries; /* two a pass; NULL until a timed recording needs it */
	uint32_t pass_count;
	bool pass_open, passes_full;
	const char *pass_name[RQL_VK_MAX_PASSES];
	struct rql_error failed; /* the first recording error */
	/* Buffers that this recording touches. */
	struct rql_vk_touch *touched;
	uint32_t touched_count, touched_capacity;
	/* Other objects that it needs (rql_vk_keep). */
	struct rql_vk_life **kept;
	uint32_t kept_count, kept_capacity;
	/* Barriers: everything that was recorded is a barrier's source; covered[s] is the number of the last barrier that
	 * had stage s as a destination. */
	VkPipelineStageFlags stages;
	VkAccessFlags writes;
	uint32_t barriers, covered[RQL_VK_STAGES];
	bool draws;           /* stages of draws take part: from the first one on */
	bool host_reads;      /* mapped memory was written */
	uint64_t last_ticket; /* 0: never submitted; under submit_lock once submitted */
	struct rql_vk_commands *next;
};
rql_status rql_vk_commands_new(struct rql_device *device, unsigned flags, struct rql_commands **out,
                               struct rql_error *err);
rql_status rql_vk_commands_end(struct rql_commands *c, struct rql_error *err);
void rql_vk_commands_free(struct rql_commands *c);
void rql_vk_fill(struct rql_commands *c, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t word);
void rql_vk_copy(struct rql_commands *c, struct rql_buffer *from, uint64_t from_offset, struct rql_buffer *to,
                 uint64_t to_offset, uint64_t bytes);
void rql_vk_dispatch(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
                     uint64_t groups, const struct rql_use *uses, uint32_t use_count);
void rql_vk_dispatch_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                              const void *args, struct rql_buffer *counts, uint64_t offset, const struct rql_use *uses,
                              uint32_t use_count);
uint32_t rql_vk_times(struct rql_commands *c, struct rql_pass_time *times, uint32_t max, double *total_ns);
/* Shared with accel.c and trace.c. Declares that what is recorded next touches these buffers in `stages` with these
 * accesses, and records the barrier that this needs (one global memory barrier, or none). */
void rql_vk_touch(struct rql_vk_commands *c, VkPipelineStageFlags stages, VkAccessFlags reads, VkAccessFlags writes,
                  const struct rql_use *uses, uint32_t use_count);
/* The same of a pass that has several kinds of stages, with one barrier at most before it. */
void rql_vk_touch_all(struct rql_vk_commands *c, const struct rql_vk_touching *groups, uint32_t count);
/* The workgroups of a dispatch in two dimensions; false: more than the device can start, which the recording keeps. */
bool rql_vk_grid(struct rql_vk_commands *c, const char *pass, uint64_t groups, uint32_t *x, uint32_t *y);
void rql_vk_pass_empty(struct rql_vk_commands *c, const char *pass); /* its name, and 0 ns */
/* Everything before is finished and visible to everything after. */
void rql_vk_full_barrier(struct rql_vk_commands *c);
void rql_vk_pass_begin(struct rql_vk_commands *c, const char *pass); /* timestamps; nothing when not timed */
void rql_vk_pass_end(struct rql_vk_commands *c);
/* Keeps an object that is no buffer alive as rql_vk_touch keeps buffers: as long as the recording lives and its last
 * submission runs. */
void rql_vk_keep(struct rql_vk_commands *c, struct rql_vk_life *life);
/* Destroys the idle recordings: at the end of rql_vk_stop, when all graves are buried. */
void rql_vk_commands_close(struct rql_vk_gpu *gpu);

/* ---- submit.c ---- */
rql_status rql_vk_submit(struct rql_commands *const *list, uint32_t count, uint64_t *ticket, struct rql_error *err);
rql_status rql_vk_wait(struct rql_device *device, uint64_t ticket, struct rql_progress *progress,
                       struct rql_error *err);
/* True on a device that the driver calls lost: nothing runs there any more. */
bool rql_vk_is_done(struct rql_device *device, uint64_t ticket);
/* For a command buffer that is no rql_commands (transfer.c); the caller marks what it touches. Takes submit_lock. */
rql_status rql_vk_queue_submit(struct rql_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *ticket,
                               struct rql_error *err);

/* ---- accel.c, accel_file.c ---- */
rql_status rql_vk_accel_build(struct rql_device *device, const struct rql_accel_spec *spec,
                              struct rql_progress *progress, struct rql_accel **out, struct rql_error *err);
rql_status rql_vk_accel_refit(struct rql_accel *accel, uint32_t part,
                              rql_status (*fill)(void *state, struct rql_commands *c, uint32_t part,
                                                 struct rql_buffer *input, struct rql_error *err),
                              void *state, struct rql_error *err);
void rql_vk_accel_free(struct rql_accel *accel);
rql_status rql_vk_accel_write(struct rql_accel *accel,
                              rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
                              void *state, struct rql_error *err);
rql_status rql_vk_accel_read(struct rql_device *device,
                             rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
                             void *state, struct rql_accel **out, struct rql_error *err);

/* ---- measure.c ---- */
void rql_vk_measure(struct rql_device *device, bool thorough);
void rql_vk_wake(struct rql_device *device);

/* ---- trace.c ---- */
rql_status rql_vk_trace_pipeline_get(struct rql_device *device, const struct rql_trace_kernel *kernel,
                                     const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                     struct rql_error *err);
void rql_vk_trace(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
                  uint64_t rays, struct rql_accel *const *accels, uint32_t accel_count, const struct rql_use *uses,
                  uint32_t use_count);

/* ---- image.c, draw.c ---- */
rql_status rql_vk_table_open(struct rql_vk_gpu *gpu, struct rql_error *err);
void rql_vk_table_close(struct rql_vk_gpu *gpu);
VkFormat rql_vk_format(enum rql_format format);
unsigned rql_vk_format_roles(const struct rql_device *device, enum rql_format format);
rql_status rql_vk_image_new(struct rql_device *device, const struct rql_image_spec *spec, const char *what,
                            struct rql_image **out, struct rql_error *err);
void rql_vk_image_free(struct rql_image *image);
void rql_vk_clear(struct rql_commands *c, struct rql_image *image, uint32_t first_layer, uint32_t layers,
                  const uint32_t word[4]);
void rql_vk_image_copy(struct rql_commands *c, const struct rql_image_rows *rows, struct rql_buffer *buffer,
                       uint64_t offset, bool read);
rql_status rql_vk_draw_pipeline_get(struct rql_device *device, const struct rql_draw_kernel *kernel,
                                    const struct rql_draw_state *state, const uint32_t *constants, uint32_t count,
                                    const struct rql_pipeline **out, struct rql_error *err);
rql_status rql_vk_image_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel,
                                     const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                     struct rql_error *err);
void rql_vk_draw(struct rql_commands *c, const struct rql_draw *draw);
void rql_vk_dispatch_images(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                            const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count,
                            const struct rql_image_use *images, uint32_t image_count);
void rql_vk_dispatch_images_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                     const void *args, struct rql_buffer *counts, uint64_t offset,
                                     const struct rql_use *uses, uint32_t use_count, const struct rql_image_use *images,
                                     uint32_t image_count);

extern const struct rql_device_ops rql_vk_ops;

#endif
