/* Uploads and downloads. Memory that is mapped is copied by the CPU; device memory goes through a ring of staging
 * buffers, several copies in flight, so that the CPU fills one while the link moves another. Floor: the link (about
 * 55 GB/s on PCIe 5), which one thread's memcpy does not reach, so large pieces are copied by the CPU's pool. */
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/vulkan_internal.h"

#define SLOTS 4u
#define SLOT_BYTES ((uint64_t)8 << 20)
#define SOFTWARE_SLOT_BYTES ((uint64_t)1 << 20)
#define COPY_PIECE ((uint64_t)512 << 10) /* of the CPU's copies: several for each thread of a slot */

struct slot {
	struct rql_buffer *buffer;
	VkCommandBuffer commands;
	uint64_t ticket; /* of its last use */
};

/* One transfer at a time: they share one link. The lock is taken before any other. Cached memory in both directions: the
 * device reads it over the link either way, and the CPU can read it back. */
struct rql_vk_staging {
	pthread_mutex_t lock;
	VkCommandPool pool;
	uint64_t slot_bytes;
	uint64_t next; /* slots used so far */
	struct slot slot[SLOTS];
};

/* ---- copies by the CPU ---- */

struct cpu_copy {
	uint8_t *to;
	const uint8_t *from;
	uint64_t bytes;
};

static void copy_piece(void *state, uint64_t index, unsigned worker)
{
	(void)worker;
	const struct cpu_copy *copy = state;
	uint64_t start = index * COPY_PIECE, rest = copy->bytes - start;
	memcpy(copy->to + start, copy->from + start, rest < COPY_PIECE ? rest : COPY_PIECE);
}

static void cpu_copy(struct rql_vk_gpu *gpu, void *to, const void *from, uint64_t bytes)
{
	if (bytes < 2 * COPY_PIECE || !gpu->pool) {
		memcpy(to, from, bytes);
		return;
	}
	struct cpu_copy copy = {.to = to, .from = from, .bytes = bytes};
	rql_pool_run(gpu->pool, (bytes + COPY_PIECE - 1) / COPY_PIECE, copy_piece, &copy);
}

/* ---- the ring ---- */

static void staging_free(struct rql_vk_gpu *gpu, struct rql_vk_staging *staging)
{
	for (unsigned i = 0; i < SLOTS; i++)
		rql_vk_buffer_free(staging->slot[i].buffer);
	if (staging->pool)
		gpu->vk.vkDestroyCommandPool(gpu->handle, staging->pool, NULL); /* with its command buffers */
	pthread_mutex_destroy(&staging->lock);
	free(staging);
}

static rql_status staging_new(struct rql_vk_gpu *gpu, struct rql_vk_staging **out, struct rql_error *err)
{
	struct rql_vk_staging *staging = calloc(1, sizeof(*staging));
	VkCommandBuffer commands[SLOTS];
	if (!staging)
		return rql_error_memory(err, sizeof(*staging), "staging memory");
	pthread_mutex_init(&staging->lock, NULL);
	staging->slot_bytes = gpu->device->kind == RQL_DEVICE_SOFTWARE ? SOFTWARE_SLOT_BYTES : SLOT_BYTES;
	const VkCommandPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
		.queueFamilyIndex = gpu->queue_family,
	};
	const char *call = "vkCreateCommandPool";
	VkResult result = gpu->vk.vkCreateCommandPool(gpu->handle, &pool, NULL, &staging->pool);
	if (result == VK_SUCCESS) {
		const VkCommandBufferAllocateInfo info = {
			.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
			.commandPool = staging->pool,
			.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
			.commandBufferCount = SLOTS,
		};
		call = "vkAllocateCommandBuffers";
		result = gpu->vk.vkAllocateCommandBuffers(gpu->handle, &info, commands);
	} else {
		staging->pool = VK_NULL_HANDLE;
	}
	if (result != VK_SUCCESS) {
		staging_free(gpu, staging);
		return rql_vk_fail(gpu, result, call, "staging memory", err);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		staging->slot[i].commands = commands[i];
	*out = staging;
	return RQL_OK;
}

/* Returns with the ring locked. */
static rql_status staging_lock(struct rql_vk_gpu *gpu, struct rql_vk_staging **out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	pthread_mutex_lock(&gpu->start_lock);
	if (!gpu->staging)
		status = staging_new(gpu, &gpu->staging, err);
	struct rql_vk_staging *staging = gpu->staging;
	pthread_mutex_unlock(&gpu->start_lock);
	if (status != RQL_OK)
		return status;
	pthread_mutex_lock(&staging->lock);
	*out = staging;
	return RQL_OK;
}

void rql_vk_transfer_close(struct rql_vk_gpu *gpu)
{
	if (gpu->staging)
		staging_free(gpu, gpu->staging);
	gpu->staging = NULL;
}

/* The next slot, once its last copy is done, with a buffer of at least `bytes` (a ring that only ever moves small things
 * stays small). */
static rql_status slot_take(struct rql_vk_gpu *gpu, struct rql_vk_staging *staging, uint64_t bytes, struct slot **out,
                            struct rql_error *err)
{
	struct slot *slot = &staging->slot[staging->next % SLOTS];
	RQL_TRY(rql_vk_wait(gpu->device, slot->ticket, NULL, err));
	if (!slot->buffer || slot->buffer->bytes < bytes) {
		uint64_t size = bytes <= (uint64_t)64 << 10 ? (uint64_t)64 << 10 : staging->slot_bytes;
		struct rql_buffer *buffer;
		RQL_TRY(rql_buffer_new(gpu->device, size, RQL_MEMORY_READBACK, "staging memory", &buffer, err));
		rql_vk_buffer_free(slot->buffer);
		slot->buffer = buffer;
	}
	staging->next++;
	*out = slot;
	return RQL_OK;
}

static void barrier(struct rql_vk_gpu *gpu, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                    VkPipelineStageFlags to, VkAccessFlags used)
{
	const VkMemoryBarrier memory = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = written,
		.dstAccessMask = used,
	};
	gpu->vk.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

struct piece {
	bool up, first, last;   /* of its transfer */
	uint64_t offset, bytes; /* in the buffer */
};

/* Records and submits one copy. The first piece of a transfer waits for all work before it, the last one holds all work
 * after it. */
static rql_status piece_submit(struct rql_vk_gpu *gpu, struct slot *slot, struct rql_vk_buffer *buffer,
                               const struct piece *piece, struct rql_error *err)
{
	const VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT, all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	const VkAccessFlags any = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
	const struct rql_vk_buffer *stage = (const struct rql_vk_buffer *)slot->buffer;
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
	};
	VkResult result = gpu->vk.vkBeginCommandBuffer(slot->commands, &begin);
	if (result != VK_SUCCESS)
		return rql_vk_fail(gpu, result, "vkBeginCommandBuffer", "a transfer", err);
	if (piece->first)
		barrier(gpu, slot->commands, all, VK_ACCESS_MEMORY_WRITE_BIT, transfer,
		        VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
	const VkBufferCopy copy = {
		.srcOffset = piece->up ? stage->offset : buffer->offset + piece->offset,
		.dstOffset = piece->up ? buffer->offset + piece->offset : stage->offset,
		.size = piece->bytes,
	};
	gpu->vk.vkCmdCopyBuffer(slot->commands, piece->up ? stage->block->buffer : buffer->block->buffer,
	                        piece->up ? buffer->block->buffer : stage->block->buffer, 1, &copy);
	if (!piece->up)
		barrier(gpu, slot->commands, transfer, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
		        VK_ACCESS_HOST_READ_BIT);
	if (piece->last)
		barrier(gpu, slot->commands, transfer, VK_ACCESS_TRANSFER_WRITE_BIT, all, any);
	result = gpu->vk.vkEndCommandBuffer(slot->commands);
	if (result != VK_SUCCESS)
		return rql_vk_fail(gpu, result, "vkEndCommandBuffer", "a transfer", err);
	RQL_TRY(rql_vk_queue_submit(gpu, slot->commands, &slot->ticket, err));
	pthread_mutex_lock(&gpu->submit_lock);
	if (buffer->life.last_used < slot->ticket)
		buffer->life.last_used = slot->ticket;
	pthread_mutex_unlock(&gpu->submit_lock);
	return RQL_OK;
}

/* Work that was submitted with the buffer is done; then the CPU may touch its memory. */
static rql_status wait_for_users(struct rql_vk_gpu *gpu, struct rql_vk_buffer *buffer, struct rql_error *err)
{
	pthread_mutex_lock(&gpu->submit_lock);
	uint64_t ticket = buffer->life.last_used;
	pthread_mutex_unlock(&gpu->submit_lock);
	return rql_vk_wait(gpu->device, ticket, NULL, err);
}

/* ---- upload ---- */

rql_status rql_vk_upload(struct rql_buffer *base, uint64_t offset, const void *data, uint64_t bytes,
                         struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(base->device);
	struct rql_vk_buffer *buffer = (struct rql_vk_buffer *)base;
	struct rql_vk_staging *staging;
	if (bytes == 0)
		return RQL_OK;
	if (base->map) {
		RQL_TRY(wait_for_users(gpu, buffer, err));
		cpu_copy(gpu, (uint8_t *)base->map + offset, data, bytes);
		return RQL_OK;
	}
	RQL_TRY(staging_lock(gpu, &staging, err));
	rql_status status = RQL_OK;
	for (uint64_t done = 0; done < bytes && status == RQL_OK;) {
		uint64_t rest = bytes - done, part = rest < staging->slot_bytes ? rest : staging->slot_bytes;
		const struct piece piece = {
			.up = true, .first = done == 0, .last = part == rest, .offset = offset + done, .bytes = part};
		struct slot *slot;
		status = slot_take(gpu, staging, part, &slot, err);
		if (status != RQL_OK)
			break;
		cpu_copy(gpu, slot->buffer->map, (const uint8_t *)data + done, part);
		status = piece_submit(gpu, slot, buffer, &piece, err);
		done += part;
	}
	pthread_mutex_unlock(&staging->lock);
	return status;
}

/* ---- download ---- */

/* The ring is locked. Copies run up to SLOTS ahead of what the CPU has taken out. */
static rql_status download_pieces(struct rql_vk_gpu *gpu, struct rql_vk_staging *staging, struct rql_vk_buffer *buffer,
                                  uint64_t offset, uint8_t *data, uint64_t bytes, struct rql_error *err)
{
	struct slot *flying[SLOTS];
	uint64_t size = staging->slot_bytes, count = (bytes + size - 1) / size, issued = 0;
	for (uint64_t taken = 0; taken < count; taken++) {
		for (; issued < count && issued < taken + SLOTS; issued++) {
			uint64_t start = issued * size, rest = bytes - start;
			const struct piece piece = {.first = issued == 0,
			                            .last = issued + 1 == count,
			                            .offset = offset + start,
			                            .bytes = rest < size ? rest : size};
			RQL_TRY(slot_take(gpu, staging, piece.bytes, &flying[issued % SLOTS], err));
			RQL_TRY(piece_submit(gpu, flying[issued % SLOTS], buffer, &piece, err));
		}
		const struct slot *slot = flying[taken % SLOTS];
		uint64_t start = taken * size, rest = bytes - start;
		RQL_TRY(rql_vk_wait(gpu->device, slot->ticket, NULL, err));
		cpu_copy(gpu, data + start, slot->buffer->map, rest < size ? rest : size);
	}
	return RQL_OK;
}

rql_status rql_vk_download(struct rql_buffer *base, uint64_t offset, void *data, uint64_t bytes, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(base->device);
	struct rql_vk_buffer *buffer = (struct rql_vk_buffer *)base;
	struct rql_vk_staging *staging;
	if (bytes == 0)
		return RQL_OK;
	if (base->map) {
		RQL_TRY(wait_for_users(gpu, buffer, err));
		cpu_copy(gpu, data, (const uint8_t *)base->map + offset, bytes);
		return RQL_OK;
	}
	RQL_TRY(staging_lock(gpu, &staging, err));
	rql_status status = download_pieces(gpu, staging, buffer, offset, data, bytes, err);
	pthread_mutex_unlock(&staging->lock);
	return status;
}
