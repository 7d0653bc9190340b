/* A logical device: made when the first work comes, destroyed with the list of devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/vulkan_internal.h"

/* Every op stands here; what is not there answers "unsupported" at the front door (work.c, trace.c, draw.c). */
const struct rql_device_ops rql_vk_ops = {
	.start = rql_vk_start,
	.memory = rql_vk_memory,
	.buffer_new = rql_vk_buffer_new,
	.buffer_free = rql_vk_buffer_free,
	.upload = rql_vk_upload,
	.download = rql_vk_download,
	.pipeline = rql_vk_pipeline_get,
	.pipeline_generated = rql_vk_pipeline_get_generated,
	.pipeline_look = rql_vk_pipeline_look,
	.pipeline_release = rql_vk_pipeline_release,
	.commands_new = rql_vk_commands_new,
	.commands_end = rql_vk_commands_end,
	.commands_free = rql_vk_commands_free,
	.fill = rql_vk_fill,
	.copy = rql_vk_copy,
	.dispatch = rql_vk_dispatch,
	.dispatch_indirect = rql_vk_dispatch_indirect,
	.submit = rql_vk_submit,
	.wait = rql_vk_wait,
	.is_done = rql_vk_is_done,
	.times = rql_vk_times,
	.measure = rql_vk_measure,
	.wake = rql_vk_wake,
	.trace_pipeline = rql_vk_trace_pipeline_get,
	.trace = rql_vk_trace,
	.format_roles = rql_vk_format_roles,
	.image_new = rql_vk_image_new,
	.image_free = rql_vk_image_free,
	.draw_pipeline = rql_vk_draw_pipeline_get,
	.image_pipeline = rql_vk_image_pipeline_get,
	.draw = rql_vk_draw,
	.dispatch_images = rql_vk_dispatch_images,
	.dispatch_images_indirect = rql_vk_dispatch_images_indirect,
	.clear = rql_vk_clear,
	.image_copy = rql_vk_image_copy,
	.accel_build = rql_vk_accel_build,
	.accel_refit = rql_vk_accel_refit,
	.accel_free = rql_vk_accel_free,
	.accel_write = rql_vk_accel_write,
	.accel_read = rql_vk_accel_read,
};

/* ---- results and errors ---- */

const char *rql_vk_result_name(VkResult result)
{
	switch (result) {
#define NAME(r)                                                                                                        \
	case r:                                                                                                            \
		return #r;
		NAME(VK_SUCCESS)
		NAME(VK_NOT_READY)
		NAME(VK_TIMEOUT)
		NAME(VK_INCOMPLETE)
		NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
		NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
		NAME(VK_ERROR_INITIALIZATION_FAILED)
		NAME(VK_ERROR_DEVICE_LOST)
		NAME(VK_ERROR_MEMORY_MAP_FAILED)
		NAME(VK_ERROR_LAYER_NOT_PRESENT)
		NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
		NAME(VK_ERROR_FEATURE_NOT_PRESENT)
		NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
		NAME(VK_ERROR_TOO_MANY_OBJECTS)
		NAME(VK_ERROR_FORMAT_NOT_SUPPORTED)
		NAME(VK_ERROR_FRAGMENTED_POOL)
		NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
		NAME(VK_ERROR_FRAGMENTATION)
		NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
		NAME(VK_ERROR_UNKNOWN)
#undef NAME
	default:
		return "an unknown VkResult";
	}
}

rql_status rql_vk_fail(struct rql_vk_gpu *gpu, VkResult result, const char *call, const char *what,
                       struct rql_error *err)
{
	const char *id = gpu->device->id, *name = rql_vk_result_name(result);
	switch (result) {
	case VK_ERROR_OUT_OF_HOST_MEMORY:
		return rql_error_set(err, RQL_ERROR_MEMORY, "out of memory: %s (%s) failed on device %s", call, what, id);
	case VK_ERROR_OUT_OF_DEVICE_MEMORY:
	case VK_ERROR_OUT_OF_POOL_MEMORY:
	case VK_ERROR_FRAGMENTATION:
		return rql_error_set(
			err, RQL_ERROR_LIMIT,
			"device %s has no memory left: %s (%s) failed with %s; drop structures or use another device", id, call,
			what, name);
	case VK_ERROR_DEVICE_LOST:
		gpu->device->lost = true;
		return rql_error_set(
			err, RQL_ERROR_DEVICE,
			"device %s (%s) was lost: %s (%s) failed with %s; nothing runs on it any more in this process", id,
			gpu->device->name, call, what, name);
	default:
		return rql_error_set(err, RQL_ERROR_DEVICE, "device %s (%s) failed: %s (%s) gave %s (%d)", id,
		                     gpu->device->name, call, what, name, (int)result);
	}
}

/* ---- start ---- */

/* What the kernels need, and of the rest what may serve them: a feature that nobody uses may still cost on some drivers
 * (robustBufferAccess does), so not simply all. */
static void features_choose(const struct rql_vk_features *have, bool trace, bool pin_subgroups,
                            struct rql_vk_features *want)
{
	*want = (struct rql_vk_features){
		.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
		.core.pNext = &want->v11,
		.core.features = {.shaderInt64 = VK_TRUE,
	                      .shaderInt16 = have->core.features.shaderInt16,
	                      .shaderFloat64 = have->core.features.shaderFloat64},
		.v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
		.v11.pNext = &want->v12,
		.v11.storageBuffer16BitAccess = have->v11.storageBuffer16BitAccess,
		.v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		.v12.pNext = trace ? &want->accel : NULL,
		.v12.storageBuffer8BitAccess = have->v12.storageBuffer8BitAccess,
		.v12.shaderInt8 = have->v12.shaderInt8,
		.v12.shaderSubgroupExtendedTypes = have->v12.shaderSubgroupExtendedTypes,
		.v12.shaderBufferInt64Atomics = VK_TRUE,
		.v12.shaderSharedInt64Atomics = VK_TRUE,
		.v12.scalarBlockLayout = VK_TRUE,
		.v12.hostQueryReset = VK_TRUE,
		.v12.timelineSemaphore = VK_TRUE,
		.v12.bufferDeviceAddress = VK_TRUE,
		.v12.vulkanMemoryModel = VK_TRUE,
		.v12.vulkanMemoryModelDeviceScope = VK_TRUE,
		.accel.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
		.accel.pNext = &want->trace,
		.accel.accelerationStructure = VK_TRUE,
		.trace.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR,
		.trace.rayTracingPipeline = VK_TRUE,
		.subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
		.subgroup.pNext = &want->v11,
		.subgroup.subgroupSizeControl = VK_TRUE,
		.subgroup.computeFullSubgroups = VK_TRUE,
		.statistics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
		.statistics.pipelineExecutableInfo = VK_TRUE,
		.cache_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES_EXT,
		.cache_control.pipelineCreationCacheControl = VK_TRUE,
	};
	if (pin_subgroups)
		want->core.pNext = &want->subgroup;
}

/* What draws need besides (raster_reasons of adapter.c has found all of it). */
static void features_of_draws(const struct rql_vk_features *have, struct rql_vk_features *want)
{
	VkPhysicalDeviceFeatures *core = &want->core.features;
	core->independentBlend = core->logicOp = core->fragmentStoresAndAtomics = VK_TRUE;
	core->shaderSampledImageArrayDynamicIndexing = core->shaderStorageImageArrayDynamicIndexing = VK_TRUE;
	core->drawIndirectFirstInstance = have->core.features.drawIndirectFirstInstance;
	want->v12.shaderOutputLayer = want->v12.runtimeDescriptorArray = VK_TRUE;
	want->v12.descriptorBindingPartiallyBound = want->v12.descriptorBindingUpdateUnusedWhilePending = VK_TRUE;
	want->v12.descriptorBindingSampledImageUpdateAfterBind = VK_TRUE;
	want->v12.descriptorBindingStorageImageUpdateAfterBind = VK_TRUE;
	want->rendering.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES_KHR;
	want->rendering.dynamicRendering = VK_TRUE;
	want->rendering.pNext = want->core.pNext;
	want->core.pNext = &want->rendering;
}

static rql_status device_create(struct rql_vk_gpu *gpu, struct rql_error *err)
{
	static const float priority = 1.0f;
	struct rql_vk_features have, want;
	const char *extensions[9];
	uint32_t extension_count = 0;
	rql_vk_features_get(gpu->physical, &have);
	features_choose(&have, gpu->has_trace, gpu->pinned_subgroup != 0, &want);
	if (have.has_budget)
		extensions[extension_count++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
	if (gpu->pinned_subgroup)
		extensions[extension_count++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
	gpu->statistics = getenv("RAYQL_VULKAN_STATISTICS") != NULL && have.has_statistics;
	if (gpu->statistics) {
		extensions[extension_count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
		want.statistics.pNext = want.core.pNext;
		want.core.pNext = &want.statistics;
	}
	if (gpu->has_raster) {
		extensions[extension_count++] = VK_KHR_DYNAMIC_RENDERING_EXTENSION_NAME;
		features_of_draws(&have, &want);
	}
	gpu->asks_cache = have.has_cache_control && have.cache_control.pipelineCreationCacheControl;
	if (gpu->asks_cache) {
		extensions[extension_count++] = VK_EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME;
		want.cache_control.pNext = want.core.pNext;
		want.core.pNext = &want.cache_control;
	}
	if (gpu->has_trace) {
		extensions[extension_count++] = VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME;
		extensions[extension_count++] = VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME;
		extensions[extension_count++] = VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME;
	}
	const VkDeviceQueueCreateInfo queue = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueFamilyIndex = gpu->queue_family,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	const VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &want.core,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue,
		.enabledExtensionCount = extension_count,
		.ppEnabledExtensionNames = extensions,
	};
	VkResult result = vkCreateDevice(gpu->physical, &info, NULL, &gpu->handle);
	if (result != VK_SUCCESS) {
		gpu->handle = VK_NULL_HANDLE;
		return rql_vk_fail(gpu, result, "vkCreateDevice", "starting the device", err);
	}
	volkLoadDeviceTable(&gpu->vk, gpu->handle);
	gpu->vk.vkGetDeviceQueue(gpu->handle, gpu->queue_family, 0, &gpu->queue);
	return RQL_OK;
}

static rql_status timeline_create(struct rql_vk_gpu *gpu, struct rql_error *err)
{
	const VkSemaphoreTypeCreateInfo type = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
	VkResult result = gpu->vk.vkCreateSemaphore(gpu->handle, &info, NULL, &gpu->timeline);
	if (result == VK_SUCCESS)
		return RQL_OK;
	gpu->timeline = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreateSemaphore", "starting the device", err);
}

rql_status rql_vk_start(struct rql_device *device, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	if (atomic_load_explicit(&gpu->started, memory_order_acquire))
		return RQL_OK;
	if (!device->units[RQL_UNIT_COMPUTE])
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s (%s) cannot be used: it %s", device->id,
		                     device->name, device->missing[RQL_UNIT_COMPUTE]);
	rql_status status = RQL_OK;
	pthread_mutex_lock(&gpu->start_lock);
	if (!gpu->started) {
		status = device_create(gpu, err);
		if (status == RQL_OK)
			status = timeline_create(gpu, err);
		if (status == RQL_OK)
			status = rql_vk_cache_open(gpu, err);
		if (status == RQL_OK && gpu->has_raster)
			status = rql_vk_table_open(gpu, err);
		if (status == RQL_OK)
			atomic_store_explicit(&gpu->started, true, memory_order_release);
		else
			rql_vk_stop(gpu);
	}
	pthread_mutex_unlock(&gpu->start_lock);
	return status;
}

/* Called by rql_vk_start for a half-started device, and when nobody works with the device any more; so without locks. */
void rql_vk_stop(struct rql_vk_gpu *gpu)
{
	if (!gpu->handle)
		return;
	/* Its failure is a lost device, whose objects may be destroyed. */
	(void)gpu->vk.vkDeviceWaitIdle(gpu->handle);
	gpu->finished = UINT64_MAX;
	if (gpu->timeline) {
		rql_vk_transfer_close(gpu);
		rql_vk_pipelines_close(gpu);
		rql_vk_cache_close(gpu);
		rql_vk_memory_close(gpu);
		rql_vk_table_close(gpu);
		rql_vk_commands_close(gpu);
		gpu->vk.vkDestroySemaphore(gpu->handle, gpu->timeline, NULL);
	}
	gpu->vk.vkDestroyDevice(gpu->handle, NULL);
	gpu->timeline = VK_NULL_HANDLE;
	gpu->handle = VK_NULL_HANDLE;
	gpu->queue = VK_NULL_HANDLE;
	gpu->submitted = 0;
	gpu->finished = 0;
	gpu->started = false;
}
