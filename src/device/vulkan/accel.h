/* Acceleration structures inside: what accel.c, accel_build.c and accel_file.c share.
 *
 *   accel.c        levels, geometry, the top level, refit, free
 *   accel_build.c  bottom levels in batches, compaction
 *   accel_file.c   the serialised form
 *
 * Memory, submissions and waits go through work.h's front door, so that injected faults reach them. */
#ifndef RQL_DEVICE_VULKAN_ACCEL_H
#define RQL_DEVICE_VULKAN_ACCEL_H

#include "device/vulkan/vulkan_internal.h"

/* A VkAccelerationStructureKHR in a buffer of its own size. */
struct rql_vk_level {
	VkAccelerationStructureKHR handle; /* VK_NULL_HANDLE: not there */
	struct rql_buffer *storage;
	VkDeviceAddress address;
};

struct rql_vk_part {
	struct rql_vk_level level; /* not there when primitives == 0 */
	struct rql_vk_level spare; /* the other copy while it is compacted */
	uint64_t primitives;
	uint8_t mask;
};

struct rql_vk_accel {
	struct rql_accel base; /* first */
	struct rql_vk_life life;
	enum rql_primitive primitive;
	VkGeometryFlagsKHR geometry;
	VkBuildAccelerationStructureFlagsKHR flags;
	struct rql_vk_part *parts; /* [base.part_count] */
	struct rql_vk_level top;
};

/* The description of one part's build: for the sizes (input 0) and for the build itself, so that they cannot differ.
 * info points into the struct: it must stay where it is. */
struct rql_vk_geometry {
	VkAccelerationStructureGeometryKHR geometry;
	VkAccelerationStructureBuildGeometryInfoKHR info;
};
void rql_vk_part_geometry(const struct rql_vk_accel *accel, uint64_t primitives, VkDeviceAddress input,
                          struct rql_vk_geometry *out);
void rql_vk_part_sizes(const struct rql_vk_accel *accel, uint64_t primitives,
                       VkAccelerationStructureBuildSizesInfoKHR *out);
uint64_t rql_vk_primitive_bytes(enum rql_primitive primitive);
/* rql_vk_touch for a build: inputs are read, scratch memory read and written, levels written (updates: both). */
void rql_vk_touch_build(struct rql_vk_commands *c, const struct rql_use *uses, uint32_t use_count);
/* address or the next one that may be scratch memory */
VkDeviceAddress rql_vk_scratch_align(const struct rql_vk_gpu *gpu, VkDeviceAddress address);

/* part_count parts without primitives, their masks 0xff. */
rql_status rql_vk_accel_new(struct rql_device *device, uint32_t part_count, struct rql_vk_accel **out,
                            struct rql_error *err);
rql_status rql_vk_level_new(struct rql_device *device, VkAccelerationStructureTypeKHR type, uint64_t bytes,
                            const char *what, struct rql_vk_level *out, struct rql_error *err);
/* Nobody uses it any more. */
void rql_vk_level_free(struct rql_vk_gpu *gpu, struct rql_vk_level *level);

/* Builds the top level over the parts that are there, waits, and fills base.address, bytes and primitives.
 * *device_ns grows by the time that it took. */
rql_status rql_vk_accel_finish(struct rql_vk_accel *accel, struct rql_progress *progress, double *device_ns,
                               struct rql_error *err);

/* Ends, submits and waits; *device_ns (may be NULL) grows by the recording's time. */
rql_status rql_vk_accel_run(struct rql_commands *c, struct rql_progress *progress, double *device_ns,
                            struct rql_error *err);
/* A pool of `count` queries of a structure's property. Freed by rql_vk_queries_free once accel's last submission is
 * done. */
rql_status rql_vk_queries_new(struct rql_vk_gpu *gpu, VkQueryType type, uint32_t count, VkQueryPool *out,
                              struct rql_error *err);
void rql_vk_queries_free(struct rql_vk_accel *accel, VkQueryPool queries);
/* Records the property of these structures, behind a full barrier. */
void rql_vk_queries_record(struct rql_vk_commands *c, VkQueryPool queries, VkQueryType type,
                           const VkAccelerationStructureKHR *handles, uint32_t count);

#endif
