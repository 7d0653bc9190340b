/* Images: their memory, their views, the table of them that shaders see, clears and copies.
 *
 * Every image stays in one layout (GENERAL) from its making on, so recordings need no transitions and a pass's barrier
 * is the same global one as that of buffers. NVIDIA and lavapipe lose nothing by that; drivers that compress images may
 * keep them uncompressed. */
#include "device/vulkan/vulkan_internal.h"
#include "util/bits.h"

#include <stdlib.h>
#include <string.h>

static struct rql_vk_image *own_image(struct rql_image *image)
{
	return (struct rql_vk_image *)image;
}

VkFormat rql_vk_format(enum rql_format format)
{
	static const VkFormat formats[RQL_FORMAT_COUNT] = {
		[RQL_FORMAT_R16_UINT] = VK_FORMAT_R16_UINT,
		[RQL_FORMAT_RGBA16_UINT] = VK_FORMAT_R16G16B16A16_UINT,
		[RQL_FORMAT_R32_UINT] = VK_FORMAT_R32_UINT,
		[RQL_FORMAT_RG32_UINT] = VK_FORMAT_R32G32_UINT,
		[RQL_FORMAT_RGBA32_UINT] = VK_FORMAT_R32G32B32A32_UINT,
		[RQL_FORMAT_R32_FLOAT] = VK_FORMAT_R32_SFLOAT,
		[RQL_FORMAT_RG32_FLOAT] = VK_FORMAT_R32G32_SFLOAT,
		[RQL_FORMAT_RGBA32_FLOAT] = VK_FORMAT_R32G32B32A32_SFLOAT,
	};
	return formats[format];
}

unsigned rql_vk_format_roles(const struct rql_device *device, enum rql_format format)
{
	static const struct {
		VkFormatFeatureFlags feature;
		unsigned role;
	} roles[] = {
		{VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT, RQL_IMAGE_TARGET},
		{VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT, RQL_IMAGE_BLEND},
		{VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT, RQL_IMAGE_FETCH},
		{VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT, RQL_IMAGE_STORAGE},
		{VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT, RQL_IMAGE_ATOMIC},
	};
	const VkFormatFeatureFlags copied = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
	VkFormatProperties properties;
	vkGetPhysicalDeviceFormatProperties(rql_vk_of(device)->physical, rql_vk_format(format), &properties);
	VkFormatFeatureFlags has = properties.optimalTilingFeatures;
	unsigned all = 0;
	for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles) && (has & copied) == copied; i++)
		all |= has & roles[i].feature ? roles[i].role : 0;
	return all;
}

/* ---- the table ---- */

rql_status rql_vk_table_open(struct rql_vk_gpu *gpu, struct rql_error *err)
{
	struct rql_vk_table *table = &gpu->table;
	static const VkDescriptorType types[2] = {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE};
	static const VkDescriptorBindingFlags flag = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
	                                             VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT |
	                                             VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
	const VkDescriptorBindingFlags flags[2] = {flag, flag};
	VkDescriptorSetLayoutBinding bindings[2];
	VkDescriptorPoolSize sizes[2];
	for (uint32_t i = 0; i < 2; i++) {
		sizes[i] = (VkDescriptorPoolSize){types[i], RQL_VK_IMAGES};
		bindings[i] = (VkDescriptorSetLayoutBinding){
			.binding = i,
			.descriptorType = types[i],
			.descriptorCount = RQL_VK_IMAGES,
			.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
		};
	}
	const VkDescriptorSetLayoutBindingFlagsCreateInfo binding_flags = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
		.bindingCount = 2,
		.pBindingFlags = flags,
	};
	const VkDescriptorSetLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.pNext = &binding_flags,
		.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
		.bindingCount = 2,
		.pBindings = bindings,
	};
	const VkDescriptorPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT,
		.maxSets = 1,
		.poolSizeCount = 2,
		.pPoolSizes = sizes,
	};
	VkDescriptorSetAllocateInfo set = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorSetCount = 1,
		.pSetLayouts = &table->layout,
	};
	VkResult result = gpu->vk.vkCreateDescriptorSetLayout(gpu->handle, &layout, NULL, &table->layout);
	if (result != VK_SUCCESS)
		table->layout = VK_NULL_HANDLE;
	else
		result = gpu->vk.vkCreateDescriptorPool(gpu->handle, &pool, NULL, &table->pool);
	if (result == VK_SUCCESS) {
		set.descriptorPool = table->pool;
		result = gpu->vk.vkAllocateDescriptorSets(gpu->handle, &set, &table->set);
	}
	if (result == VK_SUCCESS)
		return RQL_OK;
	return rql_vk_fail(gpu, result, "making the table of images", "a device's start", err);
}

void rql_vk_table_close(struct rql_vk_gpu *gpu)
{
	if (gpu->table.pool)
		gpu->vk.vkDestroyDescriptorPool(gpu->handle, gpu->table.pool, NULL);
	if (gpu->table.layout)
		gpu->vk.vkDestroyDescriptorSetLayout(gpu->handle, gpu->table.layout, NULL);
	gpu->table = (struct rql_vk_table){0};
}

/* UINT32_MAX: all numbers are taken. */
static uint32_t number_take(struct rql_vk_gpu *gpu)
{
	uint32_t number = UINT32_MAX;
	pthread_mutex_lock(&gpu->image_lock);
	for (uint32_t w = 0; w < RQL_VK_IMAGES / 64 && number == UINT32_MAX; w++)
		if (gpu->table.used[w] != UINT64_MAX) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~gpu->table.used[w]);
			gpu->table.used[w] |= UINT64_C(1) << bit;
			number = 64 * w + bit;
		}
	pthread_mutex_unlock(&gpu->image_lock);
	return number;
}

/* Freed images keep their numbers until the device is done with them, so these are waited for before there is none. */
static uint32_t number_wait(struct rql_vk_gpu *gpu)
{
	uint32_t number = number_take(gpu);
	if (number != UINT32_MAX)
		return number;
	pthread_mutex_lock(&gpu->submit_lock);
	const uint64_t ticket = gpu->submitted;
	pthread_mutex_unlock(&gpu->submit_lock);
	if (!ticket || rql_vk_wait(gpu->device, ticket, NULL, NULL) != RQL_OK)
		return UINT32_MAX;
	rql_vk_reap(gpu);
	return number_take(gpu);
}

static void number_give(struct rql_vk_gpu *gpu, uint32_t number)
{
	pthread_mutex_lock(&gpu->image_lock);
	rql_bit_clear(gpu->table.used, number);
	pthread_mutex_unlock(&gpu->image_lock);
}

static void table_write(struct rql_vk_gpu *gpu, const struct rql_vk_image *image)
{
	const VkDescriptorImageInfo info = {.imageView = image->all, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
	VkWriteDescriptorSet writes[2];
	uint32_t count = 0;
	for (uint32_t binding = 0; binding < 2; binding++)
		if (image->base.spec.roles & (binding ? RQL_IMAGE_STORAGE : RQL_IMAGE_FETCH))
			writes[count++] = (VkWriteDescriptorSet){
				.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
				.dstSet = gpu->table.set,
				.dstBinding = binding,
				.dstArrayElement = image->base.number,
				.descriptorCount = 1,
				.descriptorType = binding ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
				.pImageInfo = &info,
			};
	pthread_mutex_lock(&gpu->image_lock); /* the set is written by one thread at a time */
	if (count)
		gpu->vk.vkUpdateDescriptorSets(gpu->handle, count, writes, 0, NULL);
	pthread_mutex_unlock(&gpu->image_lock);
}

/* ---- making ---- */

/* Also what was made by half. */
static void destroy(struct rql_vk_gpu *gpu, void *object)
{
	struct rql_vk_image *image = object;
	for (uint32_t i = 0; image->layer && i < image->base.spec.layers; i++)
		if (image->layer[i])
			gpu->vk.vkDestroyImageView(gpu->handle, image->layer[i], NULL);
	if (image->all)
		gpu->vk.vkDestroyImageView(gpu->handle, image->all, NULL);
	if (image->handle)
		gpu->vk.vkDestroyImage(gpu->handle, image->handle, NULL);
	if (image->memory)
		rql_vk_image_memory_free(gpu, image->memory, image->base.bytes);
	if (image->base.number != UINT32_MAX)
		number_give(gpu, image->base.number);
	free(image->layer);
	free(image);
}

static rql_status create_image(struct rql_vk_gpu *gpu, struct rql_vk_image *image, const char *what,
                               struct rql_error *err)
{
	const struct rql_image_spec *spec = &image->base.spec;
	VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
	usage |= spec->roles & RQL_IMAGE_TARGET ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT : 0;
	usage |= spec->roles & RQL_IMAGE_FETCH ? VK_IMAGE_USAGE_SAMPLED_BIT : 0;
	usage |= spec->roles & RQL_IMAGE_STORAGE ? VK_IMAGE_USAGE_STORAGE_BIT : 0;
	const VkImageCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
		.imageType = VK_IMAGE_TYPE_2D,
		.format = rql_vk_format(spec->format),
		.extent = {spec->width, spec->height, 1},
		.mipLevels = 1,
		.arrayLayers = spec->layers,
		.samples = VK_SAMPLE_COUNT_1_BIT,
		.tiling = VK_IMAGE_TILING_OPTIMAL,
		.usage = usage,
		.sharingMode = VK_SHARING_MODE_EXCLUSIVE,
		.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
	};
	VkImageFormatProperties most;
	VkResult result = vkGetPhysicalDeviceImageFormatProperties(gpu->physical, info.format, info.imageType, info.tiling,
	                                                           usage, 0, &most);
	uint64_t pixels = (uint64_t)spec->width * spec->height * spec->layers;
	if (result == VK_SUCCESS && (spec->width > most.maxExtent.width || spec->height > most.maxExtent.height ||
	                             spec->layers > most.maxArrayLayers ||
	                             pixels > most.maxResourceSize / rql_pixel_bytes(spec->format)))
		return rql_error_set(err, RQL_ERROR_LIMIT, "%s needs an image of %u x %u x %u pixels, more than device %s has",
		                     what, spec->width, spec->height, spec->layers, gpu->device->id);
	if (result == VK_SUCCESS)
		result = gpu->vk.vkCreateImage(gpu->handle, &info, NULL, &image->handle);
	if (result != VK_SUCCESS) {
		image->handle = VK_NULL_HANDLE;
		return rql_vk_fail(gpu, result, "vkCreateImage", what, err);
	}
	VkMemoryRequirements needs;
	gpu->vk.vkGetImageMemoryRequirements(gpu->handle, image->handle, &needs);
	image->base.bytes = needs.size;
	RQL_TRY(rql_vk_image_memory_new(gpu, &needs, what, &image->memory, err));
	result = gpu->vk.vkBindImageMemory(gpu->handle, image->handle, image->memory, 0);
	return result == VK_SUCCESS ? RQL_OK : rql_vk_fail(gpu, result, "vkBindImageMemory", what, err);
}

static VkImageSubresourceRange layers_of(uint32_t first, uint32_t count)
{
	return (VkImageSubresourceRange){
		.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .baseArrayLayer = first, .layerCount = count};
}

static rql_status create_view(struct rql_vk_gpu *gpu, const struct rql_vk_image *image, uint32_t first, uint32_t count,
                              VkImageView *out, struct rql_error *err)
{
	const VkImageViewCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
		.image = image->handle,
		.viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
		.format = rql_vk_format(image->base.spec.format),
		.subresourceRange = layers_of(first, count),
	};
	VkResult result = gpu->vk.vkCreateImageView(gpu->handle, &info, NULL, out);
	if (result == VK_SUCCESS)
		return RQL_OK;
	*out = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreateImageView", "an image", err);
}

static rql_status create_views(struct rql_vk_gpu *gpu, struct rql_vk_image *image, struct rql_error *err)
{
	uint32_t layers = image->base.spec.layers;
	RQL_TRY(create_view(gpu, image, 0, layers, &image->all, err));
	if (!(image->base.spec.roles & RQL_IMAGE_TARGET))
		return RQL_OK;
	image->layer = calloc(layers, sizeof(*image->layer));
	if (!image->layer)
		return rql_error_memory(err, layers * sizeof(*image->layer), "an image's layers");
	for (uint32_t i = 0; i < layers; i++)
		RQL_TRY(create_view(gpu, image, i, 1, &image->layer[i], err));
	return RQL_OK;
}

/* Into the layout in which it stays; a submission of its own, which nobody waits for. */
static rql_status enter_layout(struct rql_vk_gpu *gpu, struct rql_vk_image *image, struct rql_error *err)
{
	const VkImageMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
		.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
		.newLayout = VK_IMAGE_LAYOUT_GENERAL,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.image = image->handle,
		.subresourceRange = layers_of(0, image->base.spec.layers),
	};
	struct rql_commands *c = NULL;
	uint64_t ticket;
	RQL_TRY(rql_commands_new(gpu->device, 0, &c, err));
	struct rql_vk_commands *own = (struct rql_vk_commands *)c;
	rql_vk_keep(own, &image->life);
	gpu->vk.vkCmdPipelineBarrier(own->handle, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
	                             0, NULL, 0, NULL, 1, &barrier);
	rql_status status = rql_commands_end(c, err);
	if (status == RQL_OK)
		status = rql_submit(c, &ticket, err); /* by the front door, where faults are made */
	rql_commands_free(c);
	return status;
}

rql_status rql_vk_image_new(struct rql_device *device, const struct rql_image_spec *spec, const char *what,
                            struct rql_image **out, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	rql_vk_reap(gpu);
	struct rql_vk_image *image = calloc(1, sizeof(*image));
	if (!image)
		return rql_error_memory(err, sizeof(*image), what);
	image->base = (struct rql_image){.device = device, .spec = *spec, .number = number_wait(gpu)};
	image->life = (struct rql_vk_life){.holders = 1, .bury = destroy, .object = image};
	rql_status status = RQL_OK;
	if (image->base.number == UINT32_MAX)
		status = rql_error_set(err, RQL_ERROR_LIMIT, "%s: device %s has %u images already, which is all it can have",
		                       what, device->id, RQL_VK_IMAGES);
	if (status == RQL_OK)
		status = create_image(gpu, image, what, err);
	if (status == RQL_OK)
		status = create_views(gpu, image, err);
	if (status == RQL_OK) {
		table_write(gpu, image);
		status = enter_layout(gpu, image, err);
	}
	if (status == RQL_OK)
		*out = &image->base;
	else
		rql_vk_release(gpu, &image->life);
	return status;
}

void rql_vk_image_free(struct rql_image *image)
{
	rql_vk_release(rql_vk_of(image->device), &own_image(image)->life);
}

/* ---- clears and copies ---- */

void rql_vk_clear(struct rql_commands *commands, struct rql_image *image, uint32_t first_layer, uint32_t layers,
                  const uint32_t word[4])
{
	struct rql_vk_commands *c = (struct rql_vk_commands *)commands;
	const struct rql_image_use use = {image, RQL_WRITE};
	const struct rql_vk_touching touching = {.stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
	                                         .writes = VK_ACCESS_TRANSFER_WRITE_BIT,
	                                         .images = &use,
	                                         .image_count = 1};
	const VkImageSubresourceRange range = layers_of(first_layer, layers);
	VkClearColorValue color;
	memcpy(color.uint32, word, sizeof(color.uint32));
	rql_vk_touch_all(c, &touching, 1);
	rql_vk_pass_begin(c, "clear");
	if (c->failed.status == RQL_OK)
		c->gpu->vk.vkCmdClearColorImage(c->handle, own_image(image)->handle, VK_IMAGE_LAYOUT_GENERAL, &color, 1,
		                                &range);
	rql_vk_pass_end(c);
}

void rql_vk_image_copy(struct rql_commands *commands, const struct rql_image_rows *rows, struct rql_buffer *buffer,
                       uint64_t offset, bool read)
{
	struct rql_vk_commands *c = (struct rql_vk_commands *)commands;
	const struct rql_vk_buffer *memory = (const struct rql_vk_buffer *)buffer;
	const struct rql_vk_image *image = own_image(rows->image);
	const struct rql_use use = {buffer, read ? RQL_WRITE : RQL_READ};
	const struct rql_image_use image_use = {rows->image, read ? RQL_READ : RQL_WRITE};
	const struct rql_vk_touching touching = {.stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
	                                         .reads = VK_ACCESS_TRANSFER_READ_BIT,
	                                         .writes = VK_ACCESS_TRANSFER_WRITE_BIT,
	                                         .uses = &use,
	                                         .use_count = 1,
	                                         .images = &image_use,
	                                         .image_count = 1};
	const VkBufferImageCopy region = {
		.bufferOffset = memory->offset + offset,
		.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, rows->first_layer, rows->layers},
		.imageOffset = {0, (int32_t)rows->first_row, 0},
		.imageExtent = {rows->image->spec.width, rows->rows, 1},
	};
	rql_vk_touch_all(c, &touching, 1);
	rql_vk_pass_begin(c, read ? "image to buffer" : "buffer to image");
	if (c->failed.status == RQL_OK && read)
		c->gpu->vk.vkCmdCopyImageToBuffer(c->handle, image->handle, VK_IMAGE_LAYOUT_GENERAL, memory->block->buffer, 1,
		                                  &region);
	else if (c->failed.status == RQL_OK)
		c->gpu->vk.vkCmdCopyBufferToImage(c->handle, memory->block->buffer, image->handle, VK_IMAGE_LAYOUT_GENERAL, 1,
		                                  &region);
	rql_vk_pass_end(c);
}
