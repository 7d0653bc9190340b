/* One physical device as the engine lists it: who it is, what it has, and why a unit is missing. No logical device is
 * made here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/vulkan_internal.h"
#include "util/strbuf.h"

/* Builds of 1e8 primitives in one bottom level did not end on an H200, 6e7 did (notes/h200.md); half of that leaves
 * room and still needs few parts. */
#define PART_PRIMITIVES ((uint64_t)1 << 25)
#define BUFFER_GRAIN ((uint64_t)64 << 10) /* BLOCK_GRAIN of memory.c */
#define GENERATED_MOST 1024u              /* some ten kilobytes of words each, and the driver's code of them */

/* ---- features ---- */

static void extensions_get(VkPhysicalDevice physical, struct rql_vk_features *out)
{
	uint32_t count = 0;
	VkExtensionProperties *list = NULL;
	if (vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) == VK_SUCCESS && count > 0)
		list = calloc(count, sizeof(*list));
	VkResult result = list ? vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list) : VK_INCOMPLETE;
	if (result != VK_SUCCESS)
		count = 0;
	const struct {
		const char *name;
		bool *there;
	} wanted[] = {
		{VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME, &out->has_accel},
		{VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME, &out->has_trace},
		{VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME, &out->has_deferred},
		{VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, &out->has_budget},
		{VK_EXT_PCI_BUS_INFO_EXTENSION_NAME, &out->has_pci},
		{VK_KHR_MAINTENANCE_4_EXTENSION_NAME, &out->has_maintenance4},
		{VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, &out->has_subgroup},
		{VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME, &out->has_statistics},
		{VK_KHR_DYNAMIC_RENDERING_EXTENSION_NAME, &out->has_rendering},
		{VK_EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME, &out->has_cache_control},
	};
	for (uint32_t i = 0; i < count; i++)
		for (unsigned k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			if (strcmp(list[i].extensionName, wanted[k].name) == 0)
				*wanted[k].there = true;
	free(list);
}

void rql_vk_features_get(VkPhysicalDevice physical, struct rql_vk_features *out)
{
	*out = (struct rql_vk_features){0};
	extensions_get(physical, out);
	out->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
	out->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
	out->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
	out->accel.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR;
	out->trace.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR;
	out->core.pNext = &out->v11;
	out->v11.pNext = &out->v12;
	if (out->has_accel && out->has_trace) {
		out->v12.pNext = &out->accel;
		out->accel.pNext = &out->trace;
	}
	out->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
	if (out->has_subgroup) {
		out->subgroup.pNext = out->core.pNext;
		out->core.pNext = &out->subgroup;
	}
	out->rendering.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES_KHR;
	if (out->has_rendering) {
		out->rendering.pNext = out->core.pNext;
		out->core.pNext = &out->rendering;
	}
	out->cache_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES_EXT;
	if (out->has_cache_control) {
		out->cache_control.pNext = out->core.pNext;
		out->core.pNext = &out->cache_control;
	}
	vkGetPhysicalDeviceFeatures2(physical, &out->core);
}

/* ---- properties ---- */

struct properties {
	VkPhysicalDeviceProperties2 core;
	VkPhysicalDeviceVulkan11Properties v11;
	VkPhysicalDeviceVulkan12Properties v12;
	VkPhysicalDeviceMaintenance4Properties maintenance4;
	VkPhysicalDevicePCIBusInfoPropertiesEXT pci;
	VkPhysicalDeviceSubgroupSizeControlPropertiesEXT subgroup;
	VkPhysicalDeviceAccelerationStructurePropertiesKHR accel;
	VkPhysicalDeviceRayTracingPipelinePropertiesKHR trace;
};

static void properties_get(VkPhysicalDevice physical, const struct rql_vk_features *features, struct properties *out)
{
	*out = (struct properties){
		.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
		.v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
		.v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
		.maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
		.pci.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT,
		.subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT,
		.accel.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR,
		.trace.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR,
	};
	void **next = &out->core.pNext;
#define CHAIN(have, member)                                                                                            \
	if (have) {                                                                                                        \
		*next = &out->member;                                                                                          \
		next = &out->member.pNext;                                                                                     \
	}
	CHAIN(true, v11)
	CHAIN(true, v12)
	CHAIN(features->has_maintenance4, maintenance4)
	CHAIN(features->has_pci, pci)
	CHAIN(features->has_subgroup, subgroup)
	CHAIN(features->has_accel, accel)
	CHAIN(features->has_trace, trace)
#undef CHAIN
	vkGetPhysicalDeviceProperties2(physical, &out->core);
}

/* The family that compute goes to: one that can rasterise as well, so that later methods use the same queue. */
static bool choose_queue_family(struct rql_vk_gpu *gpu, bool *draws)
{
	uint32_t count = 0, best = UINT32_MAX;
	vkGetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, NULL);
	VkQueueFamilyProperties *families = count ? calloc(count, sizeof(*families)) : NULL;
	if (!families)
		return false;
	vkGetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, families);
	for (uint32_t i = 0; i < count; i++) {
		VkQueueFlags flags = families[i].queueFlags;
		if (!(flags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0)
			continue;
		if (best == UINT32_MAX ||
		    ((flags & VK_QUEUE_GRAPHICS_BIT) && !(families[best].queueFlags & VK_QUEUE_GRAPHICS_BIT)))
			best = i;
	}
	if (best != UINT32_MAX) {
		gpu->queue_family = best;
		*draws = families[best].queueFlags & VK_QUEUE_GRAPHICS_BIT;
		gpu->timestamp_bits = families[best].timestampValidBits;
		gpu->timestamp_ns = (double)gpu->properties.limits.timestampPeriod;
	}
	free(families);
	return best != UINT32_MAX;
}

/* ---- units ---- */

static void lack(struct rql_strbuf *missing, bool have, const char *what)
{
	if (!have)
		rql_strbuf_printf(missing, "%s%s", missing->length ? ", " : "needs ", what);
}

/* llvmpipe of Mesa 24.0 leaves a loop after 65,536 rounds as if it were done, which makes a wrong answer and no error; that
 * of 25.0 does not. Its driverVersion is no version ("0.0.1" still in 25.0); driverInfo begins with it: "Mesa 25.0.7". */
static bool runs_long_loops(const struct properties *p)
{
	const char *mesa = strstr(p->v12.driverInfo, "Mesa ");
	return p->v12.driverID != VK_DRIVER_ID_MESA_LLVMPIPE || (mesa && strtoul(mesa + 5, NULL, 10) >= 25);
}

static void compute_reasons(const struct rql_vk_features *f, const struct properties *p, bool queue,
                            struct rql_strbuf *missing)
{
	static const struct {
		VkSubgroupFeatureFlags bit;
		const char *what;
	} subgroup[] = {
		{VK_SUBGROUP_FEATURE_BASIC_BIT, "basic subgroup operations"},
		{VK_SUBGROUP_FEATURE_VOTE_BIT, "subgroup votes"},
		{VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "subgroup arithmetic"},
		{VK_SUBGROUP_FEATURE_BALLOT_BIT, "subgroup ballots"},
		{VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "subgroup shuffles"},
	};
	lack(missing, runs_long_loops(p), "Mesa 25.0 or later (llvmpipe before it cuts long loops short)");
	lack(missing, queue, "a queue for compute");
	lack(missing, f->core.features.shaderInt64, "shaderInt64");
	lack(missing, f->v12.bufferDeviceAddress, "bufferDeviceAddress");
	lack(missing, f->v12.timelineSemaphore, "timelineSemaphore");
	lack(missing, f->v12.scalarBlockLayout, "scalarBlockLayout");
	lack(missing, f->v12.shaderBufferInt64Atomics, "shaderBufferInt64Atomics");
	lack(missing, f->v12.shaderSharedInt64Atomics, "shaderSharedInt64Atomics");
	lack(missing, f->v12.vulkanMemoryModel, "vulkanMemoryModel");
	lack(missing, f->v12.vulkanMemoryModelDeviceScope, "vulkanMemoryModelDeviceScope");
	lack(missing, f->v12.hostQueryReset, "hostQueryReset");
	bool stage = (p->v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
	for (unsigned i = 0; i < sizeof(subgroup) / sizeof(subgroup[0]); i++)
		lack(missing, stage && (p->v11.subgroupSupportedOperations & subgroup[i].bit), subgroup[i].what);
}

static void trace_reasons(const struct rql_vk_gpu *gpu, const struct rql_vk_features *f, bool compute,
                          struct rql_strbuf *missing)
{
	const char *hint =
		gpu->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? " (Mesa 25.0 or later has it in software)" : "";
	lack(missing, f->has_accel, "VK_KHR_acceleration_structure");
	lack(missing, f->has_trace, "VK_KHR_ray_tracing_pipeline");
	lack(missing, f->has_deferred, "VK_KHR_deferred_host_operations");
	if (missing->length) {
		rql_strbuf_put(missing, hint);
		return;
	}
	lack(missing, f->accel.accelerationStructure, "accelerationStructure");
	lack(missing, f->trace.rayTracingPipeline, "rayTracingPipeline");
	lack(missing, compute, "the compute unit");
}

/* What draw.h needs; which formats have which role is asked for each (rql_format_roles). */
static void raster_reasons(const struct rql_vk_gpu *gpu, const struct rql_vk_features *f, bool draws, bool compute,
                           struct rql_strbuf *missing)
{
	const VkPhysicalDeviceFeatures *core = &f->core.features;
	lack(missing, draws, "a queue that draws and computes");
	lack(missing, f->has_rendering && f->rendering.dynamicRendering, "VK_KHR_dynamic_rendering");
	lack(missing, core->independentBlend, "independentBlend");
	lack(missing, core->logicOp, "logicOp");
	lack(missing, core->fragmentStoresAndAtomics, "fragmentStoresAndAtomics");
	lack(missing, core->shaderSampledImageArrayDynamicIndexing, "shaderSampledImageArrayDynamicIndexing");
	lack(missing, core->shaderStorageImageArrayDynamicIndexing, "shaderStorageImageArrayDynamicIndexing");
	lack(missing, f->v12.shaderOutputLayer, "shaderOutputLayer");
	lack(missing, f->v12.runtimeDescriptorArray, "runtimeDescriptorArray");
	lack(missing, f->v12.descriptorBindingPartiallyBound, "descriptorBindingPartiallyBound");
	lack(missing, f->v12.descriptorBindingUpdateUnusedWhilePending, "descriptorBindingUpdateUnusedWhilePending");
	lack(missing, f->v12.descriptorBindingSampledImageUpdateAfterBind, "descriptorBindingSampledImageUpdateAfterBind");
	lack(missing, f->v12.descriptorBindingStorageImageUpdateAfterBind, "descriptorBindingStorageImageUpdateAfterBind");
	lack(missing, gpu->properties.limits.maxColorAttachments >= 4, "four targets of a draw");
	lack(missing, compute, "the compute unit");
}

/* An empty text: the unit is there. false: out of memory. */
static bool unit_set(struct rql_device *device, enum rql_unit unit, struct rql_strbuf *missing)
{
	bool good = !missing->failed;
	device->units[unit] = good && missing->length == 0;
	if (good && missing->length > 0) {
		device->missing[unit] = rql_strbuf_take(missing);
		good = device->missing[unit] != NULL;
	}
	rql_strbuf_free(missing);
	return good;
}

static bool units_describe(struct rql_vk_gpu *gpu, struct rql_device *device, const struct rql_vk_features *f,
                           const struct properties *p)
{
	struct rql_strbuf cpu = {0}, compute = {0}, trace = {0}, raster = {0};
	rql_strbuf_put(&cpu, "the processor is a device of its own (cpu)");
	bool draws = false;
	compute_reasons(f, p, choose_queue_family(gpu, &draws), &compute);
	bool good = unit_set(device, RQL_UNIT_COMPUTE, &compute);
	trace_reasons(gpu, f, device->units[RQL_UNIT_COMPUTE], &trace);
	good &= unit_set(device, RQL_UNIT_RT, &trace);
	raster_reasons(gpu, f, draws, device->units[RQL_UNIT_COMPUTE], &raster);
	good &= unit_set(device, RQL_UNIT_CPU, &cpu);
	good &= unit_set(device, RQL_UNIT_RASTER, &raster);
	gpu->has_trace = device->units[RQL_UNIT_RT];
	gpu->has_raster = device->units[RQL_UNIT_RASTER];
	return good;
}

/* A driver too old for the questions above has no unit at all, and says why once for each. */
static bool units_too_old(struct rql_device *device, uint32_t version)
{
	bool good = true;
	for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++) {
		struct rql_strbuf missing = {0};
		rql_strbuf_printf(&missing, "needs Vulkan 1.2, the driver has %u.%u", (unsigned)VK_API_VERSION_MAJOR(version),
		                  (unsigned)VK_API_VERSION_MINOR(version));
		good &= unit_set(device, unit, &missing);
	}
	return good;
}

/* ---- limits ---- */

static uint64_t local_memory(const VkPhysicalDeviceMemoryProperties *memory)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < memory->memoryHeapCount; i++)
		if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
			bytes += memory->memoryHeaps[i].size;
	return bytes;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The size of subgroups that compute pipelines ask for, so that it is the one that kernels and hosts are told; 0: there is
 * only one, or the device cannot be asked. Intel's widest form spills registers in kernels of 64-bit arithmetic, so the
 * middle one is taken there. */
static uint32_t choose_subgroup(const struct rql_vk_features *f, const struct properties *p)
{
	const VkPhysicalDeviceSubgroupSizeControlPropertiesEXT *s = &p->subgroup;
	uint32_t size = p->v11.subgroupSize;
	if (!f->has_subgroup || !f->subgroup.subgroupSizeControl || !f->subgroup.computeFullSubgroups ||
	    !(s->requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) || s->minSubgroupSize == s->maxSubgroupSize)
		return 0;
	if (p->v12.driverID == VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA ||
	    p->v12.driverID == VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS)
		size = 16;
	size = size < s->minSubgroupSize ? s->minSubgroupSize : least(size, s->maxSubgroupSize);
	/* A workgroup of the largest size must not have too many of them. */
	const VkPhysicalDeviceLimits *limits = &p->core.properties.limits;
	uint64_t most = least(limits->maxComputeWorkGroupInvocations, limits->maxComputeWorkGroupSize[0]);
	while (size < s->maxSubgroupSize && (uint64_t)size * s->maxComputeWorkgroupSubgroups < most)
		size *= 2;
	return size;
}

static void limits_describe(struct rql_vk_gpu *gpu, struct rql_device *device, const struct rql_vk_features *f,
                            const struct properties *p)
{
	const VkPhysicalDeviceLimits *limits = &gpu->properties.limits;
	uint64_t largest = f->has_maintenance4 ? p->maintenance4.maxBufferSize : p->v11.maxMemoryAllocationSize;
	largest = largest / BUFFER_GRAIN * BUFFER_GRAIN; /* memory.c rounds up to no more than this */
	gpu->pinned_subgroup = choose_subgroup(f, p);
	device->limits = (struct rql_gpu_limits){
		.subgroup_size = gpu->pinned_subgroup ? gpu->pinned_subgroup : p->v11.subgroupSize,
		.shared_bytes = limits->maxComputeSharedMemorySize,
		.group_size = least(limits->maxComputeWorkGroupInvocations, limits->maxComputeWorkGroupSize[0]),
		.buffer_bytes = largest < device->memory_bytes ? largest : device->memory_bytes,
		.float64 = f->core.features.shaderFloat64,
	};
	if (gpu->has_raster) {
		uint32_t framebuffer = least(limits->maxFramebufferWidth, limits->maxFramebufferHeight);
		uint32_t viewport = least(limits->maxViewportDimensions[0], limits->maxViewportDimensions[1]);
		device->limits.image_side = least(limits->maxImageDimension2D, least(framebuffer, viewport));
		device->limits.image_layers = least(limits->maxImageArrayLayers, limits->maxFramebufferLayers);
		device->limits.targets = least(limits->maxColorAttachments, RQL_TARGETS_MAX);
	}
	if (!gpu->has_trace)
		return;
	gpu->trace = (struct rql_vk_trace_limits){
		.handle_size = p->trace.shaderGroupHandleSize,
		.handle_alignment = p->trace.shaderGroupHandleAlignment,
		.base_alignment = p->trace.shaderGroupBaseAlignment,
		.scratch_alignment = p->accel.minAccelerationStructureScratchOffsetAlignment,
		.max_recursion = p->trace.maxRayRecursionDepth,
		.max_launch = p->trace.maxRayDispatchInvocationCount,
		.max_primitives = p->accel.maxPrimitiveCount,
		.max_instances = p->accel.maxInstanceCount,
	};
	uint64_t most = gpu->trace.max_primitives;
	device->limits.part_primitives = most < PART_PRIMITIVES ? most : PART_PRIMITIVES;
	device->limits.rays_per_launch = gpu->trace.max_launch;
	/* Some 10 ms where rays that find nothing take half a nanosecond; a third of a second by software. */
	device->limits.submission_rays = UINT64_C(1) << (device->kind == RQL_DEVICE_SOFTWARE ? 20 : 24);
}

/* ---- identity ---- */

static char *uuid_text(const uint8_t *uuid)
{
	struct rql_strbuf text = {0};
	bool any = false;
	for (unsigned i = 0; i < VK_UUID_SIZE; i++) {
		rql_strbuf_printf(&text, "%02x", uuid[i]);
		any = any || uuid[i];
	}
	if (any)
		return rql_strbuf_take(&text);
	rql_strbuf_free(&text);
	return NULL;
}

/* "llvmpipe Mesa 25.0.7 (LLVM 15.0.6)": the name when the information does not say it already. */
static char *driver_text(const struct properties *p)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, p->v12.driverName);
	if (p->v12.driverInfo[0])
		rql_strbuf_printf(&text, "%s%s", text.length ? " " : "", p->v12.driverInfo);
	else
		rql_strbuf_printf(&text, "%sversion %#x", text.length ? " " : "", p->core.properties.driverVersion);
	return rql_strbuf_take(&text);
}

static enum rql_device_kind kind_of(VkPhysicalDeviceType type)
{
	switch (type) {
	case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
		return RQL_DEVICE_DISCRETE;
	case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
		return RQL_DEVICE_VIRTUAL;
	case VK_PHYSICAL_DEVICE_TYPE_CPU:
		return RQL_DEVICE_SOFTWARE;
	default:
		return RQL_DEVICE_INTEGRATED;
	}
}

static bool identity_describe(struct rql_device *device, const struct rql_vk_features *f, const struct properties *p,
                              bool modern)
{
	char *id = NULL, *pci = NULL, *old_driver = NULL;
	if (asprintf(&id, "vulkan:%u", (unsigned)device->index - 1) < 0)
		id = NULL;
	if (f->has_pci &&
	    asprintf(&pci, "%04x:%02x:%02x.%x", p->pci.pciDomain, p->pci.pciBus, p->pci.pciDevice, p->pci.pciFunction) < 0)
		pci = NULL;
	if (!modern && asprintf(&old_driver, "version %#x", p->core.properties.driverVersion) < 0)
		old_driver = NULL;
	device->id = id;
	device->pci = pci;
	device->name = strdup(p->core.properties.deviceName);
	device->driver = modern ? driver_text(p) : old_driver;
	device->uuid = modern ? uuid_text(p->v11.deviceUUID) : NULL;
	device->kind = kind_of(p->core.properties.deviceType);
	return device->id && device->name && device->driver;
}

/* RAYQL_VULKAN_MEMORY=<MiB>: for GPUs that other programs need too. */
static uint64_t memory_cap(void)
{
	const char *text = getenv("RAYQL_VULKAN_MEMORY");
	unsigned long long mib = text ? strtoull(text, NULL, 10) : 0;
	return mib > 0 && mib < UINT64_MAX >> 20 ? (uint64_t)mib << 20 : UINT64_MAX;
}

/* RAYQL_VULKAN_PIPELINES=<n>: so many of generated kernels are kept although nobody uses them. */
static uint32_t generated_most(void)
{
	const char *text = getenv("RAYQL_VULKAN_PIPELINES");
	unsigned long long most = text ? strtoull(text, NULL, 10) : 0;
	return most > 0 && most < UINT32_MAX ? (uint32_t)most : GENERATED_MOST;
}

rql_status rql_vk_adapter_describe(struct rql_vk_gpu *gpu, struct rql_device *device, struct rql_error *err)
{
	struct rql_vk_features features = {0};
	struct properties properties = {0};
	vkGetPhysicalDeviceProperties(gpu->physical, &gpu->properties);
	vkGetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory_properties);
	bool modern = gpu->properties.apiVersion >= VK_API_VERSION_1_2;
	if (modern) {
		rql_vk_features_get(gpu->physical, &features);
		properties_get(gpu->physical, &features, &properties);
	} else {
		properties.core.properties = gpu->properties;
	}
	memcpy(gpu->pipeline_cache_uuid, gpu->properties.pipelineCacheUUID, VK_UUID_SIZE);
	gpu->driver = (VkPhysicalDeviceDriverProperties){.driverID = properties.v12.driverID};
	memcpy(gpu->driver.driverName, properties.v12.driverName, sizeof(gpu->driver.driverName));
	memcpy(gpu->driver.driverInfo, properties.v12.driverInfo, sizeof(gpu->driver.driverInfo));
	gpu->has_memory_budget = features.has_budget;
	gpu->memory_cap = memory_cap();
	gpu->generated_most = generated_most();
	device->memory_bytes = local_memory(&gpu->memory_properties);
	bool good = identity_describe(device, &features, &properties, modern);
	good &= modern ? units_describe(gpu, device, &features, &properties)
	               : units_too_old(device, gpu->properties.apiVersion);
	if (!good) {
		rql_vk_adapter_free(device);
		return rql_error_memory(err, 1024, "the description of a Vulkan device");
	}
	limits_describe(gpu, device, &features, &properties);
	return RQL_OK;
}

void rql_vk_adapter_free(struct rql_device *device)
{
	const char **texts[] = {&device->id, &device->uuid, &device->pci, &device->name, &device->driver};
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		free((char *)(uintptr_t)*texts[i]);
		*texts[i] = NULL;
	}
	for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++) {
		free((char *)(uintptr_t)device->missing[unit]);
		device->missing[unit] = NULL;
	}
}
