/* Graphics pipelines of points, draws, and kernels that look images up. */
#include "device/vulkan/vulkan_internal.h"

#include <string.h>

#define STAGES (VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT)
#define STATE_WORDS 3u /* of a pipeline's identity, behind its constants (RQL_DRAW_CONSTANTS_MAX) */

/* ---- pipelines ---- */

static VkPipelineColorBlendAttachmentState blend_of(enum rql_blend blend)
{
	static const VkBlendOp ops[] = {VK_BLEND_OP_ADD, VK_BLEND_OP_ADD, VK_BLEND_OP_MIN, VK_BLEND_OP_MAX};
	return (VkPipelineColorBlendAttachmentState){
		.blendEnable = blend != RQL_BLEND_OVERWRITE,
		.srcColorBlendFactor = VK_BLEND_FACTOR_ONE,
		.dstColorBlendFactor = VK_BLEND_FACTOR_ONE,
		.colorBlendOp = ops[blend],
		.srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
		.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
		.alphaBlendOp = ops[blend],
		.colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT |
	                      VK_COLOR_COMPONENT_A_BIT,
	};
}

/* The part of a graphics pipeline that the targets decide. */
static VkResult create_pipeline(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p,
                                const VkPipelineShaderStageCreateInfo stages[2])
{
	static const VkLogicOp logics[] = {VK_LOGIC_OP_COPY, VK_LOGIC_OP_AND, VK_LOGIC_OP_OR, VK_LOGIC_OP_XOR};
	static const VkDynamicState dynamic_states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
	const struct rql_draw_state *state = &p->base.state;
	VkPipelineColorBlendAttachmentState blends[RQL_TARGETS_MAX];
	VkFormat formats[RQL_TARGETS_MAX];
	for (uint32_t i = 0; i < state->target_count; i++) {
		blends[i] = blend_of(state->targets[i].blend);
		formats[i] = rql_vk_format(state->targets[i].format);
	}
	const VkPipelineVertexInputStateCreateInfo no_input = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
	const VkPipelineInputAssemblyStateCreateInfo points = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
		.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST,
	};
	const VkPipelineViewportStateCreateInfo viewport = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
	const VkPipelineRasterizationStateCreateInfo raster = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
		.polygonMode = VK_POLYGON_MODE_FILL,
		.lineWidth = 1,
	};
	const VkPipelineMultisampleStateCreateInfo samples = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
		.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
	};
	const VkPipelineColorBlendStateCreateInfo blend = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
		.logicOpEnable = state->logic != RQL_LOGIC_NONE,
		.logicOp = logics[state->logic],
		.attachmentCount = state->target_count,
		.pAttachments = blends,
	};
	const VkPipelineDynamicStateCreateInfo dynamic = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
		.dynamicStateCount = 2,
		.pDynamicStates = dynamic_states,
	};
	const VkPipelineRenderingCreateInfoKHR rendering = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO_KHR,
		.colorAttachmentCount = state->target_count,
		.pColorAttachmentFormats = formats,
	};
	const VkGraphicsPipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
		.pNext = &rendering,
		.stageCount = 2,
		.pStages = stages,
		.pVertexInputState = &no_input,
		.pInputAssemblyState = &points,
		.pViewportState = &viewport,
		.pRasterizationState = &raster,
		.pMultisampleState = &samples,
		.pColorBlendState = &blend,
		.pDynamicState = &dynamic,
		.layout = p->layout,
	};
	return gpu->vk.vkCreateGraphicsPipelines(gpu->handle, gpu->pipeline_cache, 1, &info, NULL, &p->handle);
}

struct request {
	const struct rql_draw_kernel *kernel;
	const struct rql_draw_state *state;
};

static rql_status compile_draw(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const void *state,
                               struct rql_error *err)
{
	const struct request *request = state;
	const struct rql_draw_kernel *kernel = request->kernel;
	const struct rql_shader *const shaders[2] = {&kernel->vertex, &kernel->fragment};
	VkSpecializationMapEntry entries[RQL_CONSTANTS_MAX];
	VkSpecializationInfo constants = {
		.mapEntryCount = p->constant_count - STATE_WORDS,
		.pMapEntries = entries,
		.dataSize = 4 * (size_t)(p->constant_count - STATE_WORDS),
		.pData = p->constants,
	};
	VkPipelineShaderStageCreateInfo stages[2];
	VkShaderModule modules[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};
	VkResult result = VK_SUCCESS;
	p->base.kind = RQL_PIPELINE_DRAW;
	p->base.args_bytes = kernel->args_bytes;
	p->base.state = *request->state;
	p->stages = STAGES;
	if (!p->layout)
		RQL_TRY(rql_vk_pipeline_layout(gpu, p->stages, kernel->args_bytes, true, &p->layout, err));
	for (uint32_t i = 0; i < constants.mapEntryCount; i++)
		entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
	for (uint32_t i = 0; i < 2 && result == VK_SUCCESS; i++) {
		const VkShaderModuleCreateInfo info = {
			.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
			.codeSize = shaders[i]->spirv_bytes,
			.pCode = shaders[i]->spirv,
		};
		result = gpu->vk.vkCreateShaderModule(gpu->handle, &info, NULL, &modules[i]);
		if (result != VK_SUCCESS)
			modules[i] = VK_NULL_HANDLE;
		stages[i] = (VkPipelineShaderStageCreateInfo){
			.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = i ? VK_SHADER_STAGE_FRAGMENT_BIT : VK_SHADER_STAGE_VERTEX_BIT,
			.module = modules[i],
			.pName = "main",
			.pSpecializationInfo = &constants,
		};
	}
	const char *call = result == VK_SUCCESS ? "vkCreateGraphicsPipelines" : "vkCreateShaderModule";
	if (result == VK_SUCCESS)
		result = create_pipeline(gpu, p, stages);
	for (uint32_t i = 0; i < 2; i++)
		if (modules[i])
			gpu->vk.vkDestroyShaderModule(gpu->handle, modules[i], NULL);
	if (result != VK_SUCCESS) {
		p->handle = VK_NULL_HANDLE;
		return rql_vk_fail(gpu, result, call, kernel->name, err);
	}
	gpu->pipeline_cache_changed = true;
	return RQL_OK;
}

rql_status rql_vk_draw_pipeline_get(struct rql_device *device, const struct rql_draw_kernel *kernel,
                                    const struct rql_draw_state *state, const uint32_t *constants, uint32_t count,
                                    const struct rql_pipeline **out, struct rql_error *err)
{
	uint32_t identity[RQL_CONSTANTS_MAX], *words = identity + count;
	const struct request request = {kernel, state};
	if (count)
		memcpy(identity, constants, count * sizeof(*constants));
	words[0] = state->target_count | (uint32_t)state->logic << 8;
	words[1] = words[2] = 0;
	for (uint32_t i = 0; i < state->target_count; i++) {
		uint32_t byte = (uint32_t)state->targets[i].format | (uint32_t)state->targets[i].blend << 5;
		words[1 + i / 4] |= byte << 8 * (i % 4);
	}
	return rql_vk_pipeline_made(rql_vk_of(device), kernel, identity, count + STATE_WORDS, compile_draw, &request, out,
	                            err);
}

static rql_status compile_images(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const void *state,
                                 struct rql_error *err)
{
	p->base.kind = RQL_PIPELINE_IMAGES;
	return rql_vk_pipeline_compile(gpu, p, state, false, err);
}

rql_status rql_vk_image_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel,
                                     const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                     struct rql_error *err)
{
	return rql_vk_pipeline_made(rql_vk_of(device), kernel, constants, count, compile_images, kernel, out, err);
}

/* ---- recording ---- */

static void bind(struct rql_vk_commands *c, VkPipelineBindPoint point, const struct rql_vk_pipeline *p,
                 const void *args)
{
	const struct VolkDeviceTable *vk = &c->gpu->vk;
	vk->vkCmdBindPipeline(c->handle, point, p->handle);
	vk->vkCmdBindDescriptorSets(c->handle, point, p->layout, 0, 1, &c->gpu->table.set, 0, NULL);
	if (p->base.args_bytes)
		vk->vkCmdPushConstants(c->handle, p->layout, p->stages, 0, p->base.args_bytes, args);
}

void rql_vk_dispatch_images(struct rql_commands *commands, const char *pass, const struct rql_pipeline *pipeline,
                            const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count,
                            const struct rql_image_use *images, uint32_t image_count)
{
	struct rql_vk_commands *c = (struct rql_vk_commands *)commands;
	const struct rql_vk_touching touching = {.stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
	                                         .reads = VK_ACCESS_SHADER_READ_BIT,
	                                         .writes = VK_ACCESS_SHADER_WRITE_BIT,
	                                         .uses = uses,
	                                         .use_count = use_count,
	                                         .images = images,
	                                         .image_count = image_count};
	uint32_t x, y;
	if (groups == 0) {
		rql_vk_pass_empty(c, pass);
		return;
	}
	if (!rql_vk_grid(c, pass, groups, &x, &y))
		return;
	rql_vk_touch_all(c, &touching, 1);
	rql_vk_pass_begin(c, pass);
	if (c->failed.status == RQL_OK) {
		bind(c, VK_PIPELINE_BIND_POINT_COMPUTE, (const struct rql_vk_pipeline *)pipeline, args);
		c->gpu->vk.vkCmdDispatch(c->handle, x, y, 1);
	}
	rql_vk_pass_end(c);
}

void rql_vk_dispatch_images_indirect(struct rql_commands *commands, const char *pass,
                                     const struct rql_pipeline *pipeline, const void *args, struct rql_buffer *counts,
                                     uint64_t offset, const struct rql_use *uses, uint32_t use_count,
                                     const struct rql_image_use *images, uint32_t image_count)
{
	struct rql_vk_commands *c = (struct rql_vk_commands *)commands;
	const struct rql_vk_buffer *where = (const struct rql_vk_buffer *)counts;
	const struct rql_use count_use = {counts, RQL_READ};
	const struct rql_vk_touching touching[] = {
		{.stages = VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
	     .reads = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
	     .uses = &count_use,
	     .use_count = 1},
		{.stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
	     .reads = VK_ACCESS_SHADER_READ_BIT,
	     .writes = VK_ACCESS_SHADER_WRITE_BIT,
	     .uses = uses,
	     .use_count = use_count,
	     .images = images,
	     .image_count = image_count}};
	rql_vk_touch_all(c, touching, 2);
	rql_vk_pass_begin(c, pass);
	if (c->failed.status == RQL_OK) {
		bind(c, VK_PIPELINE_BIND_POINT_COMPUTE, (const struct rql_vk_pipeline *)pipeline, args);
		c->gpu->vk.vkCmdDispatchIndirect(c->handle, where->block->buffer, where->offset + offset);
	}
	rql_vk_pass_end(c);
}

static void begin_rendering(struct rql_vk_commands *c, const struct rql_draw *draw)
{
	VkRenderingAttachmentInfoKHR targets[RQL_TARGETS_MAX];
	VkRenderingInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_RENDERING_INFO_KHR,
		.renderArea = {.extent = {draw->width, draw->height}},
		.layerCount = 1,
		.colorAttachmentCount = draw->target_count,
		.pColorAttachments = targets,
	};
	for (uint32_t i = 0; i < draw->target_count; i++) {
		const struct rql_vk_image *image = (const struct rql_vk_image *)draw->targets[i].image;
		bool all = draw->targets[i].layer == RQL_ALL_LAYERS;
		info.renderArea.extent = (VkExtent2D){image->base.spec.width, image->base.spec.height};
		info.layerCount = all ? image->base.spec.layers : 1;
		targets[i] = (VkRenderingAttachmentInfoKHR){
			.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO_KHR,
			.imageView = all ? image->all : image->layer[draw->targets[i].layer],
			.imageLayout = VK_IMAGE_LAYOUT_GENERAL,
			.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
			.storeOp = VK_ATTACHMENT_STORE_OP_STORE,
		};
	}
	const VkExtent2D size = info.renderArea.extent;
	const VkViewport viewport = {0, 0, (float)size.width, (float)size.height, 0, 1};
	c->gpu->vk.vkCmdBeginRenderingKHR(c->handle, &info);
	c->gpu->vk.vkCmdSetViewport(c->handle, 0, 1, &viewport);
	c->gpu->vk.vkCmdSetScissor(c->handle, 0, 1, &info.renderArea);
}

/* Targets are written, and read as well, because drawing keeps what lies around the points. */
static void touch_draw(struct rql_vk_commands *c, const struct rql_draw *draw)
{
	struct rql_image_use targets[RQL_TARGETS_MAX];
	const struct rql_use counts = {draw->counts, RQL_READ};
	for (uint32_t i = 0; i < draw->target_count; i++)
		targets[i] = (struct rql_image_use){draw->targets[i].image, RQL_READ_WRITE};
	const struct rql_vk_touching touching[] = {
		{.stages = RQL_VK_DRAW_STAGES,
	     .reads = VK_ACCESS_SHADER_READ_BIT,
	     .writes = VK_ACCESS_SHADER_WRITE_BIT,
	     .uses = draw->uses,
	     .use_count = draw->use_count,
	     .images = draw->images,
	     .image_count = draw->image_count},
		{.stages = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
	     .reads = VK_ACCESS_COLOR_ATTACHMENT_READ_BIT,
	     .writes = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
	     .images = targets,
	     .image_count = draw->target_count},
		{.stages = VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
	     .reads = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
	     .uses = &counts,
	     .use_count = 1},
	};
	rql_vk_touch_all(c, touching, draw->counts ? 3 : 2);
}

void rql_vk_draw(struct rql_commands *commands, const struct rql_draw *draw)
{
	struct rql_vk_commands *c = (struct rql_vk_commands *)commands;
	const struct rql_vk_buffer *counts = (const struct rql_vk_buffer *)draw->counts;
	touch_draw(c, draw);
	rql_vk_pass_begin(c, draw->pass);
	if (c->failed.status == RQL_OK) {
		begin_rendering(c, draw);
		bind(c, VK_PIPELINE_BIND_POINT_GRAPHICS, (const struct rql_vk_pipeline *)draw->pipeline, draw->args);
		if (counts)
			c->gpu->vk.vkCmdDrawIndirect(c->handle, counts->block->buffer, counts->offset + draw->counts_offset, 1, 0);
		else
			c->gpu->vk.vkCmdDraw(c->handle, draw->vertices, draw->instances, 0, 0);
		c->gpu->vk.vkCmdEndRenderingKHR(c->handle);
	}
	rql_vk_pass_end(c);
}
