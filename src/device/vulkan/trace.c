/* Ray-tracing pipelines: one ray generation shader, one miss shader and one hit group; their shader binding tables; and
 * launches. */
#include "device/vulkan/accel.h"

#include <stdlib.h>
#include <string.h>

/* Push constants and specialization constants are for all of them, whichever are there. */
#define STAGES                                                                                                         \
	(VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_MISS_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR |             \
	 VK_SHADER_STAGE_ANY_HIT_BIT_KHR | VK_SHADER_STAGE_INTERSECTION_BIT_KHR)
#define STAGE_COUNT 5u

/* The groups, and the records of the shader binding table, in this order. */
enum { GROUP_RAYGEN, GROUP_MISS, GROUP_HIT, GROUP_COUNT };

struct stages {
	VkPipelineShaderStageCreateInfo info[STAGE_COUNT];
	uint32_t count;
	VkSpecializationInfo constants;
	VkSpecializationMapEntry entries[RQL_CONSTANTS_MAX];
};

/* Appends a stage and says its number; VK_SHADER_UNUSED_KHR when there is no such shader. */
static rql_status add_stage(struct rql_vk_gpu *gpu, struct stages *s, const char *name, const struct rql_shader *shader,
                            VkShaderStageFlagBits stage, uint32_t *number, struct rql_error *err)
{
	*number = VK_SHADER_UNUSED_KHR;
	if (!shader->spirv)
		return RQL_OK;
	VkShaderModuleCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = shader->spirv_bytes,
		.pCode = shader->spirv,
	};
	VkShaderModule module;
	VkResult result = gpu->vk.vkCreateShaderModule(gpu->handle, &info, NULL, &module);
	if (result != VK_SUCCESS)
		return rql_vk_fail(gpu, result, "vkCreateShaderModule", name, err);
	*number = s->count;
	s->info[s->count++] = (VkPipelineShaderStageCreateInfo){
		.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		.stage = stage,
		.module = module,
		.pName = "main",
		.pSpecializationInfo = &s->constants,
	};
	return RQL_OK;
}

static VkRayTracingShaderGroupCreateInfoKHR empty_group(VkRayTracingShaderGroupTypeKHR type)
{
	return (VkRayTracingShaderGroupCreateInfoKHR){
		.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
		.type = type,
		.generalShader = VK_SHADER_UNUSED_KHR,
		.closestHitShader = VK_SHADER_UNUSED_KHR,
		.anyHitShader = VK_SHADER_UNUSED_KHR,
		.intersectionShader = VK_SHADER_UNUSED_KHR,
	};
}

/* The groups that exist, in `at` the number of each of GROUP_*, VK_SHADER_UNUSED_KHR for one that does not. */
static rql_status add_groups(struct rql_vk_gpu *gpu, const struct rql_trace_kernel *kernel, struct stages *s,
                             VkRayTracingShaderGroupCreateInfoKHR groups[GROUP_COUNT], uint32_t *group_count,
                             uint32_t at[GROUP_COUNT], struct rql_error *err)
{
	VkRayTracingShaderGroupCreateInfoKHR raygen = empty_group(VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR);
	VkRayTracingShaderGroupCreateInfoKHR miss = raygen;
	VkRayTracingShaderGroupCreateInfoKHR hit =
		empty_group(kernel->intersection.spirv ? VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR
	                                           : VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR);
	const struct {
		const struct rql_shader *shader;
		VkShaderStageFlagBits stage;
		uint32_t *number;
	} all[STAGE_COUNT] = {
		{&kernel->raygen, VK_SHADER_STAGE_RAYGEN_BIT_KHR, &raygen.generalShader},
		{&kernel->miss, VK_SHADER_STAGE_MISS_BIT_KHR, &miss.generalShader},
		{&kernel->closest_hit, VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, &hit.closestHitShader},
		{&kernel->any_hit, VK_SHADER_STAGE_ANY_HIT_BIT_KHR, &hit.anyHitShader},
		{&kernel->intersection, VK_SHADER_STAGE_INTERSECTION_BIT_KHR, &hit.intersectionShader},
	};
	for (uint32_t i = 0; i < STAGE_COUNT; i++)
		RQL_TRY(add_stage(gpu, s, kernel->name, all[i].shader, all[i].stage, all[i].number, err));
	bool has[GROUP_COUNT] = {
		[GROUP_RAYGEN] = true,
		[GROUP_MISS] = miss.generalShader != VK_SHADER_UNUSED_KHR,
		[GROUP_HIT] = kernel->closest_hit.spirv || kernel->any_hit.spirv || kernel->intersection.spirv,
	};
	const VkRayTracingShaderGroupCreateInfoKHR *made[GROUP_COUNT] = {&raygen, &miss, &hit};
	for (uint32_t i = 0; i < GROUP_COUNT; i++) {
		at[i] = has[i] ? *group_count : VK_SHADER_UNUSED_KHR;
		if (has[i])
			groups[(*group_count)++] = *made[i];
	}
	return RQL_OK;
}

/* Records are a base alignment apart, so that each may begin a region. A record of zeros is "no shader". */
static rql_status make_table(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const char *name, uint32_t group_count,
                             const uint32_t at[GROUP_COUNT], struct rql_error *err)
{
	uint32_t size = gpu->trace.handle_size, base = gpu->trace.base_alignment;
	uint64_t stride = ((uint64_t)size + base - 1) / base * base;
	VkStridedDeviceAddressRegionKHR *regions[GROUP_COUNT] = {&p->raygen, &p->miss, &p->hit};
	uint8_t *handles = calloc(GROUP_COUNT, size), *records = calloc(GROUP_COUNT, stride);
	rql_status status = RQL_OK;
	if (!handles || !records)
		status = rql_error_memory(err, GROUP_COUNT * (size + stride), "a shader binding table");
	if (status == RQL_OK) {
		VkResult result = gpu->vk.vkGetRayTracingShaderGroupHandlesKHR(gpu->handle, p->handle, 0, group_count,
		                                                               (size_t)group_count * size, handles);
		if (result != VK_SUCCESS)
			status = rql_vk_fail(gpu, result, "vkGetRayTracingShaderGroupHandlesKHR", name, err);
	}
	if (status == RQL_OK)
		status = rql_buffer_new(gpu->device, GROUP_COUNT * stride, RQL_MEMORY_DEVICE, "a shader binding table",
		                        &p->table, err);
	for (uint32_t i = 0; i < GROUP_COUNT && status == RQL_OK; i++) {
		if (at[i] != VK_SHADER_UNUSED_KHR)
			memcpy(records + i * stride, handles + (size_t)at[i] * size, size);
		*regions[i] = (VkStridedDeviceAddressRegionKHR){p->table->address + i * stride, stride, stride};
	}
	if (status == RQL_OK)
		status = rql_buffer_upload(p->table, 0, records, GROUP_COUNT * stride, err);
	free(handles);
	free(records);
	return status;
}

/* Fills p, whose identity and constants are set; on failure p holds what was made so far. */
static rql_status compile(struct rql_vk_gpu *gpu, const struct rql_trace_kernel *kernel, struct rql_vk_pipeline *p,
                          struct rql_error *err)
{
	struct stages s = {
		.constants =
			{
				.mapEntryCount = p->constant_count,
				.dataSize = 4 * (size_t)p->constant_count,
				.pData = p->constants,
			},
	};
	VkRayTracingShaderGroupCreateInfoKHR groups[GROUP_COUNT];
	uint32_t group_count = 0, at[GROUP_COUNT];
	s.constants.pMapEntries = s.entries;
	for (uint32_t i = 0; i < p->constant_count; i++)
		s.entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
	rql_status status = rql_vk_pipeline_layout(gpu, p->stages, kernel->args_bytes, false, &p->layout, err);
	if (status == RQL_OK)
		status = add_groups(gpu, kernel, &s, groups, &group_count, at, err);
	if (status == RQL_OK) {
		VkRayTracingPipelineCreateInfoKHR info = {
			.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
			.stageCount = s.count,
			.pStages = s.info,
			.groupCount = group_count,
			.pGroups = groups,
			.maxPipelineRayRecursionDepth = 1,
			.layout = p->layout,
		};
		VkResult result = gpu->vk.vkCreateRayTracingPipelinesKHR(gpu->handle, VK_NULL_HANDLE, gpu->pipeline_cache, 1,
		                                                         &info, NULL, &p->handle);
		if (result != VK_SUCCESS) {
			p->handle = VK_NULL_HANDLE;
			status = rql_vk_fail(gpu, result, "vkCreateRayTracingPipelinesKHR", kernel->name, err);
		}
	}
	for (uint32_t i = 0; i < s.count; i++)
		gpu->vk.vkDestroyShaderModule(gpu->handle, s.info[i].module, NULL);
	return status == RQL_OK ? make_table(gpu, p, kernel->name, group_count, at, err) : status;
}

static void discard(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p)
{
	rql_buffer_free(p->table);
	if (p->handle)
		gpu->vk.vkDestroyPipeline(gpu->handle, p->handle, NULL);
	if (p->layout)
		gpu->vk.vkDestroyPipelineLayout(gpu->handle, p->layout, NULL);
}

/* The entry, which has a handle once somebody has compiled it. */
static rql_status find(struct rql_vk_gpu *gpu, const void *kernel, const uint32_t *constants, uint32_t count,
                       struct rql_vk_pipeline **out, struct rql_error *err)
{
	*out = rql_vk_pipeline_find(gpu, kernel, constants, count);
	return *out ? RQL_OK : rql_error_memory(err, sizeof **out, "a ray-tracing pipeline");
}

/* Compiled outside of the lock, because its table needs memory and an upload; two threads that come at once may both
 * compile, and the first one's is kept. */
static rql_status compile_into(struct rql_vk_gpu *gpu, const struct rql_trace_kernel *kernel,
                               struct rql_vk_pipeline *entry, struct rql_error *err)
{
	struct rql_vk_pipeline mine = {.constant_count = entry->constant_count, .stages = STAGES};
	memcpy(mine.constants, entry->constants, sizeof mine.constants);
	rql_status status = compile(gpu, kernel, &mine, err);
	pthread_mutex_lock(&gpu->pipeline_lock);
	if (status == RQL_OK && !entry->handle) {
		entry->base.kind = RQL_PIPELINE_TRACE;
		entry->base.args_bytes = kernel->args_bytes;
		entry->layout = mine.layout;
		entry->stages = mine.stages;
		entry->table = mine.table;
		entry->raygen = mine.raygen;
		entry->miss = mine.miss;
		entry->hit = mine.hit;
		entry->callable = mine.callable;
		entry->handle = mine.handle;
		gpu->pipeline_cache_changed = true;
		mine = (struct rql_vk_pipeline){0};
	}
	pthread_mutex_unlock(&gpu->pipeline_lock);
	discard(gpu, &mine);
	return status;
}

rql_status rql_vk_trace_pipeline_get(struct rql_device *device, const struct rql_trace_kernel *kernel,
                                     const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                     struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	struct rql_vk_pipeline *entry = NULL;
	pthread_mutex_lock(&gpu->pipeline_lock);
	rql_status status = find(gpu, kernel, constants, count, &entry, err);
	bool compiled = status == RQL_OK && entry->handle;
	pthread_mutex_unlock(&gpu->pipeline_lock);
	if (status == RQL_OK && !compiled)
		status = compile_into(gpu, kernel, entry, err);
	if (status == RQL_OK)
		*out = &entry->base;
	return status;
}

/* ---- launches ---- */

/* The shape of a launch of at most `rays`: one row as far as the driver's first dimension goes, so that neighbouring
 * numbers are neighbours in the machine, else full rows. Never more than rays; the rest is another launch. */
static uint64_t launch_shape(const struct rql_vk_gpu *gpu, uint64_t rays, uint32_t *width, uint32_t *height)
{
	const VkPhysicalDeviceLimits *limits = &gpu->properties.limits;
	uint64_t most_wide = (uint64_t)limits->maxComputeWorkGroupCount[0] * limits->maxComputeWorkGroupSize[0];
	uint64_t most_high = (uint64_t)limits->maxComputeWorkGroupCount[1] * limits->maxComputeWorkGroupSize[1];
	uint64_t high = 1;
	if (most_wide > UINT32_MAX)
		most_wide = UINT32_MAX;
	if (rays > most_wide) {
		high = rays / most_wide;
		high = high < most_high ? high : most_high;
		rays = most_wide;
	}
	*width = (uint32_t)rays;
	*height = (uint32_t)high;
	return rays * high;
}

void rql_vk_trace(struct rql_commands *commands, const char *pass, const struct rql_pipeline *pipeline,
                  const void *args, uint64_t rays, struct rql_accel *const *accels, uint32_t accel_count,
                  const struct rql_use *uses, uint32_t use_count)
{
	struct rql_vk_commands *c = (struct rql_vk_commands *)commands;
	struct rql_vk_gpu *gpu = c->gpu;
	const struct rql_vk_pipeline *p = (const struct rql_vk_pipeline *)pipeline;
	uint64_t words[RQL_ARGS_MAX / 8];
	uint64_t most = gpu->device->limits.rays_per_launch, first_ray;
	rql_vk_touch(c, VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR, VK_ACCESS_SHADER_READ_BIT, VK_ACCESS_SHADER_WRITE_BIT,
	             uses, use_count);
	/* Structures are built and refitted by submissions of their own: they need no barrier here, but to stay. */
	for (uint32_t i = 0; i < accel_count; i++)
		rql_vk_keep(c, &((struct rql_vk_accel *)accels[i])->life);
	rql_vk_pass_begin(c, pass);
	memcpy(words, args, p->base.args_bytes);
	first_ray = words[0];
	gpu->vk.vkCmdBindPipeline(c->handle, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, p->handle);
	for (uint64_t first = 0, piece; first < rays; first += piece) {
		uint32_t width, height;
		uint64_t rest = rays - first;
		piece = launch_shape(gpu, rest < most ? rest : most, &width, &height);
		words[0] = first_ray + first;
		gpu->vk.vkCmdPushConstants(c->handle, p->layout, p->stages, 0, p->base.args_bytes, words);
		gpu->vk.vkCmdTraceRaysKHR(c->handle, &p->raygen, &p->miss, &p->hit, &p->callable, width, height, 1);
	}
	rql_vk_pass_end(c);
}
