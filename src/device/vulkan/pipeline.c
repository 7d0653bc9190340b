/* Compute pipelines: SPIR-V words and specialization constants made into something that can be dispatched, once. */
#include "device/vulkan/vulkan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/compile.h"
#include "util/threads.h"

struct rql_vk_pipeline *rql_vk_pipeline_find(struct rql_vk_gpu *gpu, const void *kernel, const uint32_t *constants,
                                             uint32_t count)
{
	size_t bytes = count * sizeof(*constants);
	for (struct rql_vk_pipeline *p = gpu->pipelines; p; p = p->next)
		if (p->kernel == kernel && p->constant_count == count && (!count || !memcmp(p->constants, constants, bytes)))
			return p;
	if (count > RQL_CONSTANTS_MAX)
		return NULL;
	struct rql_vk_pipeline *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->base.device = gpu->device;
	p->kernel = kernel;
	p->constant_count = count;
	if (count)
		memcpy(p->constants, constants, bytes);
	p->next = gpu->pipelines;
	gpu->pipelines = p;
	return p;
}

rql_status rql_vk_pipeline_layout(struct rql_vk_gpu *gpu, VkShaderStageFlags stages, uint32_t args_bytes, bool images,
                                  VkPipelineLayout *out, struct rql_error *err)
{
	VkPushConstantRange range = {.stageFlags = stages, .size = args_bytes};
	VkPipelineLayoutCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = images ? 1 : 0,
		.pSetLayouts = &gpu->table.layout,
		.pushConstantRangeCount = args_bytes ? 1 : 0,
		.pPushConstantRanges = &range,
	};
	VkResult result = gpu->vk.vkCreatePipelineLayout(gpu->handle, &info, NULL, out);
	if (result == VK_SUCCESS)
		return RQL_OK;
	*out = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreatePipelineLayout", "a kernel's arguments", err);
}

/* Registers, local memory, and what else the driver counts: what decides how many subgroups run at once. */
static void print_statistics(struct rql_vk_gpu *gpu, const struct rql_vk_pipeline *p, const char *name)
{
	const VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
	                                          .pipeline = p->handle};
	VkPipelineExecutableStatisticKHR statistics[64];
	uint32_t count = sizeof(statistics) / sizeof(*statistics);
	for (uint32_t i = 0; i < count; i++)
		statistics[i] =
			(VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
	VkResult result = gpu->vk.vkGetPipelineExecutableStatisticsKHR(gpu->handle, &info, &count, statistics);
	fprintf(stderr, "rayql: %s on %s:", name, gpu->device->id);
	for (uint32_t i = 0; i < count && result >= 0; i++) {
		const VkPipelineExecutableStatisticKHR *s = &statistics[i];
		double value = s->format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR  ? s->value.f64
		               : s->format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR ? s->value.b32
		                                                                                 : (double)s->value.u64;
		fprintf(stderr, " %s %g%s", s->name, value, i + 1 < count ? "," : "");
	}
	fputc('\n', stderr);
}

static rql_status make_pipeline(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const struct rql_kernel *kernel,
                                VkShaderModule module, bool cached_only, struct rql_error *err)
{
	VkSpecializationMapEntry entries[RQL_CONSTANTS_MAX];
	for (uint32_t i = 0; i < p->constant_count; i++)
		entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
	VkSpecializationInfo constants = {
		.mapEntryCount = p->constant_count,
		.pMapEntries = entries,
		.dataSize = 4 * (size_t)p->constant_count,
		.pData = p->constants,
	};
	/* Kernels number their work by gl_SubgroupID and gl_SubgroupSize, so subgroups must be full and of the size that is
	 * said. Where it varies (Intel: 8, 16 or 32 run, 32 is said) it is fixed for all of them. */
	VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
		.requiredSubgroupSize = gpu->pinned_subgroup,
	};
	bool pinned = gpu->pinned_subgroup != 0, full = pinned && p->constants[0] % gpu->pinned_subgroup == 0;
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.flags = (gpu->statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0) |
		         (cached_only ? VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_EXT : 0),
		.stage =
			{
				.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
				.pNext = pinned ? &size : NULL,
				.flags = full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
				.stage = VK_SHADER_STAGE_COMPUTE_BIT,
				.module = module,
				.pName = "main",
				.pSpecializationInfo = &constants,
			},
		.layout = p->layout,
	};
	const uint64_t start = rql_now_ns();
	VkResult result = gpu->vk.vkCreateComputePipelines(gpu->handle, gpu->pipeline_cache, 1, &info, NULL, &p->handle);
	rql_compiled_add(rql_now_ns() - start);
	if (result == VK_PIPELINE_COMPILE_REQUIRED_EXT) {
		p->handle = VK_NULL_HANDLE;
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "kernel %s was not compiled before", kernel->name);
	}
	if (result != VK_SUCCESS) {
		p->handle = VK_NULL_HANDLE;
		return rql_vk_fail(gpu, result, "vkCreateComputePipelines", kernel->name, err);
	}
	gpu->pipeline_cache_changed = true;
	if (gpu->statistics)
		print_statistics(gpu, p, kernel->name);
	return RQL_OK;
}

/* An entry without a handle stays one when this fails: the next caller tries again. */
rql_status rql_vk_pipeline_compile(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const struct rql_kernel *kernel,
                                   bool cached_only, struct rql_error *err)
{
	if (p->base.args_bytes != kernel->args_bytes) /* a generated one has them, and others compare them meanwhile */
		p->base.args_bytes = kernel->args_bytes;
	p->stages = VK_SHADER_STAGE_COMPUTE_BIT;
	if (!p->layout)
		RQL_TRY(rql_vk_pipeline_layout(gpu, p->stages, kernel->args_bytes, p->base.kind == RQL_PIPELINE_IMAGES,
		                               &p->layout, err));
	VkShaderModuleCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = kernel->spirv_bytes,
		.pCode = kernel->spirv,
	};
	VkShaderModule module;
	VkResult result = gpu->vk.vkCreateShaderModule(gpu->handle, &info, NULL, &module);
	if (result != VK_SUCCESS)
		return rql_vk_fail(gpu, result, "vkCreateShaderModule", kernel->name, err);
	rql_status status = make_pipeline(gpu, p, kernel, module, cached_only, err);
	gpu->vk.vkDestroyShaderModule(gpu->handle, module, NULL);
	return status;
}

rql_status rql_vk_pipeline_made(struct rql_vk_gpu *gpu, const void *kernel, const uint32_t *constants, uint32_t count,
                                rql_vk_compile *compile, const void *state, const struct rql_pipeline **out,
                                struct rql_error *err)
{
	pthread_mutex_lock(&gpu->pipeline_lock);
	struct rql_vk_pipeline *p = rql_vk_pipeline_find(gpu, kernel, constants, count);
	rql_status status = p ? RQL_OK : rql_error_memory(err, sizeof(*p), "a kernel's pipeline");
	while (p && p->compiling)
		pthread_cond_wait(&gpu->pipeline_made, &gpu->pipeline_lock);
	if (p && !p->handle) {
		p->compiling = true;
		pthread_mutex_unlock(&gpu->pipeline_lock);
		status = compile(gpu, p, state, err);
		pthread_mutex_lock(&gpu->pipeline_lock);
		p->compiling = false;
		pthread_cond_broadcast(&gpu->pipeline_made);
	}
	pthread_mutex_unlock(&gpu->pipeline_lock);
	if (status == RQL_OK)
		*out = &p->base;
	return status;
}

static rql_status compile_kernel(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const void *state,
                                 struct rql_error *err)
{
	return rql_vk_pipeline_compile(gpu, p, state, false, err);
}

rql_status rql_vk_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                               uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	return rql_vk_pipeline_made(rql_vk_of(device), kernel, constants, count, compile_kernel, kernel, out, err);
}

/* The driver has been asked for it once; its cache does not come to hold it without this process. */
static enum rql_kernel_state look_fixed(struct rql_vk_gpu *gpu, const struct rql_kernel_use *use)
{
	enum rql_kernel_state state = gpu->asks_cache ? RQL_KERNEL_MISSING : RQL_KERNEL_UNKNOWN;
	pthread_mutex_lock(&gpu->pipeline_lock);
	struct rql_vk_pipeline *p = rql_vk_pipeline_find(gpu, use->kernel, use->constants, use->count);
	if (p && !p->compiling && !p->handle && gpu->asks_cache && !p->asked) {
		p->compiling = true;
		pthread_mutex_unlock(&gpu->pipeline_lock);
		rql_status status = rql_vk_pipeline_compile(gpu, p, use->kernel, true, NULL);
		pthread_mutex_lock(&gpu->pipeline_lock);
		p->asked = status != RQL_OK;
		p->compiling = false;
		pthread_cond_broadcast(&gpu->pipeline_made);
	}
	if (p && !p->compiling && p->handle)
		state = RQL_KERNEL_READY;
	pthread_mutex_unlock(&gpu->pipeline_lock);
	return state;
}

enum rql_kernel_state rql_vk_pipeline_look(struct rql_device *device, const struct rql_kernel_use *use)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	return use->generated ? rql_vk_pipeline_look_generated(gpu, use) : look_fixed(gpu, use);
}

void rql_vk_pipeline_destroy(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p)
{
	rql_vk_buffer_free(p->table);
	if (p->handle)
		gpu->vk.vkDestroyPipeline(gpu->handle, p->handle, NULL);
	if (p->layout)
		gpu->vk.vkDestroyPipelineLayout(gpu->handle, p->layout, NULL);
	free(p->words);
	free(p);
}

static void close_list(struct rql_vk_gpu *gpu, struct rql_vk_pipeline **list)
{
	while (*list) {
		struct rql_vk_pipeline *p = *list;
		*list = p->next;
		rql_vk_pipeline_destroy(gpu, p);
	}
}

void rql_vk_pipelines_close(struct rql_vk_gpu *gpu)
{
	rql_vk_reap(gpu); /* recordings that were freed hold pipelines until they are buried */
	close_list(gpu, &gpu->pipelines);
	close_list(gpu, &gpu->generated);
	gpu->generated_count = 0;
}
