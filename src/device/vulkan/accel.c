/* Acceleration structures: levels and their storage, the geometry of a part, the top level, refit and free. How parts are
 * built is in accel_build.c. */
#include "device/vulkan/accel.h"

#include <stdlib.h>
#include <string.h>

/* ---- geometry ---- */

uint64_t rql_vk_primitive_bytes(enum rql_primitive primitive)
{
	return primitive == RQL_TRIANGLES ? RQL_TRIANGLE_BYTES : RQL_AABB_BYTES;
}

void rql_vk_part_geometry(const struct rql_vk_accel *accel, uint64_t primitives, VkDeviceAddress input,
                          struct rql_vk_geometry *out)
{
	*out = (struct rql_vk_geometry){0};
	out->geometry.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR;
	out->geometry.flags = accel->geometry;
	if (accel->primitive == RQL_TRIANGLES) {
		out->geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
		out->geometry.geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
			.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
			.vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
			.vertexData = {.deviceAddress = input},
			.vertexStride = RQL_TRIANGLE_BYTES / 3,
			.maxVertex = (uint32_t)(primitives * 3 - 1),
			.indexType = VK_INDEX_TYPE_NONE_KHR,
		};
	} else {
		out->geometry.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
		out->geometry.geometry.aabbs = (VkAccelerationStructureGeometryAabbsDataKHR){
			.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
			.data = {.deviceAddress = input},
			.stride = RQL_AABB_BYTES,
		};
	}
	out->info = (VkAccelerationStructureBuildGeometryInfoKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
		.type = VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR,
		.flags = accel->flags,
		.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
		.geometryCount = 1,
		.pGeometries = &out->geometry,
	};
}

void rql_vk_part_sizes(const struct rql_vk_accel *accel, uint64_t primitives,
                       VkAccelerationStructureBuildSizesInfoKHR *out)
{
	struct rql_vk_gpu *gpu = rql_vk_of(accel->base.device);
	struct rql_vk_geometry g;
	uint32_t count = (uint32_t)primitives;
	rql_vk_part_geometry(accel, primitives, 0, &g);
	*out = (VkAccelerationStructureBuildSizesInfoKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR,
	};
	gpu->vk.vkGetAccelerationStructureBuildSizesKHR(gpu->handle, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR,
	                                                &g.info, &count, out);
}

void rql_vk_touch_build(struct rql_vk_commands *c, const struct rql_use *uses, uint32_t use_count)
{
	rql_vk_touch(c, VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
	             VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR,
	             VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR, uses, use_count);
}

VkDeviceAddress rql_vk_scratch_align(const struct rql_vk_gpu *gpu, VkDeviceAddress address)
{
	uint64_t mask = (gpu->trace.scratch_alignment ? gpu->trace.scratch_alignment : 1) - 1;
	return (address + mask) & ~mask;
}

/* ---- levels ---- */

rql_status rql_vk_level_new(struct rql_device *device, VkAccelerationStructureTypeKHR type, uint64_t bytes,
                            const char *what, struct rql_vk_level *out, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	struct rql_vk_level level = {0};
	RQL_TRY(rql_buffer_new(device, bytes ? bytes : 256, RQL_MEMORY_DEVICE, what, &level.storage, err));
	const struct rql_vk_buffer *buffer = (const struct rql_vk_buffer *)level.storage;
	VkAccelerationStructureCreateInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
		.buffer = buffer->block->buffer,
		.offset = buffer->offset,
		.size = level.storage->bytes,
		.type = type,
	};
	VkResult result = gpu->vk.vkCreateAccelerationStructureKHR(gpu->handle, &info, NULL, &level.handle);
	if (result != VK_SUCCESS) {
		rql_buffer_free(level.storage);
		return rql_vk_fail(gpu, result, "vkCreateAccelerationStructureKHR", what, err);
	}
	level.address = gpu->vk.vkGetAccelerationStructureDeviceAddressKHR(
		gpu->handle, &(VkAccelerationStructureDeviceAddressInfoKHR){
						 .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
						 .accelerationStructure = level.handle,
					 });
	*out = level;
	return RQL_OK;
}

void rql_vk_level_free(struct rql_vk_gpu *gpu, struct rql_vk_level *level)
{
	if (level->handle)
		gpu->vk.vkDestroyAccelerationStructureKHR(gpu->handle, level->handle, NULL);
	rql_buffer_free(level->storage);
	*level = (struct rql_vk_level){0};
}

/* ---- the structure ---- */

static void bury_accel(struct rql_vk_gpu *gpu, void *object)
{
	struct rql_vk_accel *accel = object;
	rql_vk_level_free(gpu, &accel->top);
	for (uint32_t i = 0; i < accel->base.part_count; i++) {
		rql_vk_level_free(gpu, &accel->parts[i].level);
		rql_vk_level_free(gpu, &accel->parts[i].spare);
	}
	free(accel->parts);
	free(accel);
}

rql_status rql_vk_accel_new(struct rql_device *device, uint32_t part_count, struct rql_vk_accel **out,
                            struct rql_error *err)
{
	struct rql_vk_accel *accel = calloc(1, sizeof *accel);
	struct rql_vk_part *parts = calloc(part_count ? part_count : 1, sizeof *parts);
	if (!accel || !parts) {
		free(accel);
		free(parts);
		return rql_error_memory(err, (uint64_t)part_count * sizeof *parts, "the parts of an acceleration structure");
	}
	for (uint32_t i = 0; i < part_count; i++)
		parts[i].mask = 0xff;
	accel->base.device = device;
	accel->base.part_count = part_count;
	accel->parts = parts;
	accel->life = (struct rql_vk_life){.holders = 1, .bury = bury_accel, .object = accel};
	*out = accel;
	return RQL_OK;
}

static uint64_t last_ticket(struct rql_vk_accel *accel)
{
	struct rql_vk_gpu *gpu = rql_vk_of(accel->base.device);
	pthread_mutex_lock(&gpu->submit_lock);
	uint64_t ticket = accel->life.last_used;
	pthread_mutex_unlock(&gpu->submit_lock);
	return ticket;
}

void rql_vk_accel_free(struct rql_accel *base)
{
	if (!base)
		return;
	rql_vk_release(rql_vk_of(base->device), &((struct rql_vk_accel *)base)->life);
}

/* ---- submissions ---- */

rql_status rql_vk_accel_run(struct rql_commands *c, struct rql_progress *progress, double *device_ns,
                            struct rql_error *err)
{
	double ns = 0;
	RQL_TRY(rql_commands_end(c, err));
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_commands_run(c, progress, err));
	/* A queue without timestamps: the wall clock, which then includes the submission. */
	rql_commands_times(c, NULL, 0, &ns);
	if (device_ns)
		*device_ns += ns > 0 ? ns : (double)(rql_now_ns() - start);
	return RQL_OK;
}

rql_status rql_vk_queries_new(struct rql_vk_gpu *gpu, VkQueryType type, uint32_t count, VkQueryPool *out,
                              struct rql_error *err)
{
	VkQueryPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = type,
		.queryCount = count,
	};
	VkResult result = gpu->vk.vkCreateQueryPool(gpu->handle, &info, NULL, out);
	if (result == VK_SUCCESS)
		return RQL_OK;
	*out = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreateQueryPool", "sizes of acceleration structures", err);
}

static void bury_queries(struct rql_vk_gpu *gpu, void *object)
{
	gpu->vk.vkDestroyQueryPool(gpu->handle, (VkQueryPool)object, NULL);
}

void rql_vk_queries_free(struct rql_vk_accel *accel, VkQueryPool queries)
{
	if (queries)
		rql_vk_bury(rql_vk_of(accel->base.device), last_ticket(accel), bury_queries, (void *)queries);
}

void rql_vk_queries_record(struct rql_vk_commands *c, VkQueryPool queries, VkQueryType type,
                           const VkAccelerationStructureKHR *handles, uint32_t count)
{
	rql_vk_full_barrier(c);
	c->gpu->vk.vkCmdResetQueryPool(c->handle, queries, 0, count);
	c->gpu->vk.vkCmdWriteAccelerationStructuresPropertiesKHR(c->handle, count, handles, type, queries, 0);
}

/* ---- the top level ---- */

struct top_build {
	struct rql_buffer *instances, *scratch;
	uint32_t count;
	VkAccelerationStructureGeometryKHR geometry;
	VkAccelerationStructureBuildGeometryInfoKHR info;
};

static void top_free(struct top_build *b)
{
	rql_buffer_free(b->instances);
	rql_buffer_free(b->scratch);
}

static uint32_t write_instances(const struct rql_vk_accel *accel, VkAccelerationStructureInstanceKHR *instances)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < accel->base.part_count; i++) {
		const struct rql_vk_part *part = &accel->parts[i];
		if (!part->primitives)
			continue;
		/* No culling: a ray sees a triangle from both sides, whatever the order of its corners. */
		instances[count++] = (VkAccelerationStructureInstanceKHR){
			.transform = {.matrix = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
			.instanceCustomIndex = i & 0xffffff,
			.mask = part->mask,
			.flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
			.accelerationStructureReference = part->level.address,
		};
	}
	return count;
}

/* The memory of a build of the top level; makes the level itself the first time. */
static rql_status top_prepare(struct rql_vk_accel *accel, struct top_build *b, struct rql_error *err)
{
	struct rql_device *device = accel->base.device;
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	uint64_t bytes = ((uint64_t)accel->base.part_count + 1) * sizeof(VkAccelerationStructureInstanceKHR);
	RQL_TRY(
		rql_buffer_new(device, bytes, RQL_MEMORY_UPLOAD, "instances of an acceleration structure", &b->instances, err));
	b->count = write_instances(accel, b->instances->map);
	b->geometry = (VkAccelerationStructureGeometryKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
		.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
		.geometry.instances =
			{
				.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
				.data = {.deviceAddress = b->instances->address},
			},
	};
	b->info = (VkAccelerationStructureBuildGeometryInfoKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
		.type = VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR,
		.flags = VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR,
		.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
		.geometryCount = 1,
		.pGeometries = &b->geometry,
	};
	VkAccelerationStructureBuildSizesInfoKHR sizes = {
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR,
	};
	gpu->vk.vkGetAccelerationStructureBuildSizesKHR(gpu->handle, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR,
	                                                &b->info, &b->count, &sizes);
	if (!accel->top.handle)
		RQL_TRY(rql_vk_level_new(device, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, sizes.accelerationStructureSize,
		                         "top level of an acceleration structure", &accel->top, err));
	return rql_buffer_new(device, sizes.buildScratchSize + gpu->trace.scratch_alignment + 4, RQL_MEMORY_DEVICE,
	                      "scratch of an acceleration structure", &b->scratch, err);
}

/* Behind the refit that is recorded before. Traces of the last state are over: every recording begins with a barrier. */
static void top_record(struct rql_vk_accel *accel, struct rql_vk_commands *c, struct top_build *b)
{
	struct rql_use uses[] = {{b->instances, RQL_READ}, {b->scratch, RQL_READ_WRITE}, {accel->top.storage, RQL_WRITE}};
	rql_vk_full_barrier(c);
	rql_vk_touch_build(c, uses, 3);
	rql_vk_pass_begin(c, "top level");
	b->info.dstAccelerationStructure = accel->top.handle;
	b->info.scratchData.deviceAddress = rql_vk_scratch_align(c->gpu, b->scratch->address);
	VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = b->count};
	const VkAccelerationStructureBuildRangeInfoKHR *ranges = &range;
	c->gpu->vk.vkCmdBuildAccelerationStructuresKHR(c->handle, 1, &b->info, &ranges);
	rql_vk_pass_end(c);
	rql_vk_keep(c, &accel->life);
}

rql_status rql_vk_accel_finish(struct rql_vk_accel *accel, struct rql_progress *progress, double *device_ns,
                               struct rql_error *err)
{
	struct top_build top = {0};
	struct rql_commands *c = NULL;
	rql_status status = top_prepare(accel, &top, err);
	if (status == RQL_OK)
		status = rql_commands_new(accel->base.device, RQL_COMMANDS_TIMED, &c, err);
	if (status == RQL_OK) {
		top_record(accel, (struct rql_vk_commands *)c, &top);
		status = rql_vk_accel_run(c, progress, device_ns, err);
	}
	rql_commands_free(c);
	top_free(&top);
	if (status != RQL_OK)
		return status;
	accel->base.address = accel->top.address;
	accel->base.bytes = accel->top.storage->bytes;
	accel->base.primitives = 0;
	for (uint32_t i = 0; i < accel->base.part_count; i++) {
		accel->base.primitives += accel->parts[i].primitives;
		accel->base.bytes += accel->parts[i].level.storage ? accel->parts[i].level.storage->bytes : 0;
	}
	return RQL_OK;
}

/* ---- refit ---- */

static void refit_record(struct rql_vk_accel *accel, struct rql_vk_commands *c, uint32_t part, struct rql_buffer *input,
                         struct rql_buffer *scratch)
{
	struct rql_vk_part *p = &accel->parts[part];
	struct rql_vk_geometry g;
	struct rql_use uses[] = {{input, RQL_READ}, {scratch, RQL_READ_WRITE}, {p->level.storage, RQL_READ_WRITE}};
	rql_vk_touch_build(c, uses, 3);
	rql_vk_pass_begin(c, "refit");
	rql_vk_part_geometry(accel, p->primitives, input->address, &g);
	g.info.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
	g.info.srcAccelerationStructure = g.info.dstAccelerationStructure = p->level.handle;
	g.info.scratchData.deviceAddress = rql_vk_scratch_align(c->gpu, scratch->address);
	VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = (uint32_t)p->primitives};
	const VkAccelerationStructureBuildRangeInfoKHR *ranges = &range;
	c->gpu->vk.vkCmdBuildAccelerationStructuresKHR(c->handle, 1, &g.info, &ranges);
	rql_vk_pass_end(c);
}

rql_status rql_vk_accel_refit(struct rql_accel *base, uint32_t part,
                              rql_status (*fill)(void *state, struct rql_commands *c, uint32_t part,
                                                 struct rql_buffer *input, struct rql_error *err),
                              void *state, struct rql_error *err)
{
	struct rql_vk_accel *accel = (struct rql_vk_accel *)base;
	struct rql_vk_gpu *gpu = rql_vk_of(base->device);
	struct rql_buffer *input = NULL, *scratch = NULL;
	struct top_build top = {0};
	struct rql_commands *c = NULL;
	VkAccelerationStructureBuildSizesInfoKHR sizes;
	rql_status status;
	if (!(accel->flags & VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR))
		return rql_error_set(err, RQL_ERROR_INTERNAL,
		                     "refit of an acceleration structure that was built without refit, or read from a file");
	struct rql_vk_part *p = &accel->parts[part];
	if (!p->primitives)
		return RQL_OK;
	rql_vk_part_sizes(accel, p->primitives, &sizes);
	status = rql_buffer_new(base->device, p->primitives * rql_vk_primitive_bytes(accel->primitive), RQL_MEMORY_DEVICE,
	                        "primitives of a refit", &input, err);
	if (status == RQL_OK)
		status = rql_buffer_new(base->device, sizes.updateScratchSize + gpu->trace.scratch_alignment + 4,
		                        RQL_MEMORY_DEVICE, "scratch of a refit", &scratch, err);
	if (status == RQL_OK)
		status = top_prepare(accel, &top, err);
	if (status == RQL_OK)
		status = rql_commands_new(base->device, RQL_COMMANDS_TIMED, &c, err);
	if (status == RQL_OK)
		status = fill(state, c, part, input, err);
	if (status == RQL_OK) {
		refit_record(accel, (struct rql_vk_commands *)c, part, input, scratch);
		top_record(accel, (struct rql_vk_commands *)c, &top);
		status = rql_vk_accel_run(c, NULL, NULL, err);
	}
	rql_commands_free(c);
	top_free(&top);
	rql_buffer_free(scratch);
	rql_buffer_free(input);
	return status;
}
