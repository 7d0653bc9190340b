/* The arena: few large allocations, each with one buffer over all of it, cut into ranges. Device addresses are the
 * block's plus the range's offset, so one VkBuffer serves thousands of rql_buffers, and the driver sees hundreds of
 * allocations at most (some allow 4096).
 *
 * A freed buffer waits in a grave until its last submission is done; graves are looked at whenever somebody allocates,
 * frees or waits. */
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/vulkan_internal.h"

#define ALIGNMENT ((uint64_t)256) /* of ranges: what acceleration structures need, and one rule for all */
#define BLOCK_MOST ((uint64_t)256 << 20)
#define BLOCK_LEAST ((uint64_t)16 << 20) /* where memory is the host's: doubled from block to block */
#define LARGE_BYTES ((uint64_t)64 << 20) /* from here on a request gets a block of its own size */
#define BLOCK_GRAIN ((uint64_t)64 << 10)
/* Parts of a heap that blocks of their own size may take while they stand empty: of memory that is the device's own, and
 * of the host's. An H100 takes 24 ms to give a gigabyte and 16 to take it back. */
#define IDLE_PART 4
#define IDLE_PART_HOST 32

static uint64_t round_up(uint64_t bytes, uint64_t grain)
{
	return (bytes + grain - 1) / grain * grain;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- graves ---- */

uint64_t rql_vk_finished(struct rql_vk_gpu *gpu)
{
	uint64_t reached = 0, known = atomic_load(&gpu->finished);
	if (!gpu->timeline || known == UINT64_MAX)
		return known;
	/* A lost device reports it here, and its objects may be destroyed. device->lost does not count: src/device/fault
	 * sets it while the driver still works. */
	VkResult result = gpu->vk.vkGetSemaphoreCounterValue(gpu->handle, gpu->timeline, &reached);
	if (result == VK_ERROR_DEVICE_LOST || (result == VK_SUCCESS && reached == UINT64_MAX)) {
		gpu->device->lost = true;
		return UINT64_MAX;
	}
	while (result == VK_SUCCESS && known < reached && !atomic_compare_exchange_weak(&gpu->finished, &known, reached)) {
	}
	return known > reached ? known : reached;
}

void rql_vk_reap(struct rql_vk_gpu *gpu)
{
	struct rql_vk_grave *due = NULL;
	/* On every statement's way: without the lock, which somebody may hold while the driver allocates gigabytes. */
	if (atomic_load(&gpu->grave_count) == 0)
		return;
	uint64_t finished = rql_vk_finished(gpu);
	pthread_mutex_lock(&gpu->memory_lock);
	for (struct rql_vk_grave **at = &gpu->graves; *at;) {
		struct rql_vk_grave *grave = *at;
		if (grave->ticket > finished) {
			at = &grave->next;
			continue;
		}
		*at = grave->next;
		grave->next = due;
		due = grave;
		atomic_fetch_sub(&gpu->grave_count, 1);
	}
	pthread_mutex_unlock(&gpu->memory_lock);
	while (due) {
		struct rql_vk_grave *grave = due;
		due = grave->next;
		grave->bury(gpu, grave->object);
		free(grave);
	}
}

/* Without memory for a grave the free waits for the device itself. */
static void wait_for(struct rql_vk_gpu *gpu, uint64_t ticket)
{
	const VkSemaphoreWaitInfo wait = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		.semaphoreCount = 1,
		.pSemaphores = &gpu->timeline,
		.pValues = &ticket,
	};
	VkResult result;
	do
		result = gpu->vk.vkWaitSemaphores(gpu->handle, &wait, UINT64_MAX);
	while (result == VK_TIMEOUT);
}

void rql_vk_bury(struct rql_vk_gpu *gpu, uint64_t ticket, void (*bury)(struct rql_vk_gpu *gpu, void *object),
                 void *object)
{
	if (ticket <= atomic_load(&gpu->finished) || ticket <= rql_vk_finished(gpu)) {
		bury(gpu, object);
		return;
	}
	struct rql_vk_grave *grave = malloc(sizeof(*grave));
	if (!grave) {
		wait_for(gpu, ticket);
		bury(gpu, object);
		return;
	}
	*grave = (struct rql_vk_grave){.ticket = ticket, .bury = bury, .object = object};
	pthread_mutex_lock(&gpu->memory_lock);
	grave->next = gpu->graves;
	gpu->graves = grave;
	atomic_fetch_add(&gpu->grave_count, 1);
	pthread_mutex_unlock(&gpu->memory_lock);
}

void rql_vk_release(struct rql_vk_gpu *gpu, struct rql_vk_life *life)
{
	if (atomic_fetch_sub(&life->holders, 1) > 1)
		return;
	pthread_mutex_lock(&gpu->submit_lock);
	uint64_t ticket = life->last_used;
	pthread_mutex_unlock(&gpu->submit_lock);
	rql_vk_bury(gpu, ticket, life->bury, life->object);
}

/* ---- the budget ---- */

static const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
static const VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/* Of a memory type for this use; less than 0: it does not serve. */
static int type_score(const struct rql_vk_gpu *gpu, uint32_t type, enum rql_memory kind)
{
	VkMemoryPropertyFlags flags = gpu->memory_properties.memoryTypes[type].propertyFlags;
	uint64_t heap = gpu->memory_properties.memoryHeaps[gpu->memory_properties.memoryTypes[type].heapIndex].size;
	bool is_local = flags & local, is_mapped = (flags & mapped) == mapped;
	bool cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
	/* AMD's types that are not cached by the device, protected memory and what is allocated late: never. */
	if (flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
	             VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD))
		return -1;
	switch (kind) {
	case RQL_MEMORY_DEVICE: /* a window of mapped device memory is left to UPLOAD when there is another type */
		return is_local ? 4 - (is_mapped && heap <= BLOCK_MOST ? 2 : 0) : 0;
	case RQL_MEMORY_UPLOAD: /* kernels read device memory without the link; 256 MiB windows are too small for it */
		return !is_mapped ? -1 : is_local && heap > BLOCK_MOST ? 4 : is_local ? 0 : 2;
	case RQL_MEMORY_READBACK: /* reading memory that is not cached takes 10 to 100 times as long */
		return !is_mapped ? -1 : (cached ? 4 : 0) + (is_local ? 0 : 1);
	default:
		return -1;
	}
}

/* The best of the allowed types; UINT32_MAX: none. The order of types is the driver's preference. */
static uint32_t type_for(const struct rql_vk_gpu *gpu, enum rql_memory kind, uint32_t allowed)
{
	uint32_t best = UINT32_MAX;
	int best_score = -1;
	for (uint32_t i = 0; i < gpu->memory_properties.memoryTypeCount; i++) {
		int score = (allowed >> i & 1) ? type_score(gpu, i, kind) : -1;
		if (score > best_score) {
			best_score = score;
			best = i;
		}
	}
	return best;
}

/* The part of a heap that RayQL may take: RAYQL_VULKAN_MEMORY limits the device's own memory only. */
static uint64_t heap_most(const struct rql_vk_gpu *gpu, uint32_t heap)
{
	const VkMemoryHeap *h = &gpu->memory_properties.memoryHeaps[heap];
	return h->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? least(h->size, gpu->memory_cap) : h->size;
}

/* Bytes that the driver still gives from this heap. Without VK_EXT_memory_budget other programs are not seen, and a
 * tenth is left to them. */
static uint64_t heap_available(const struct rql_vk_gpu *gpu, uint32_t heap, uint64_t own)
{
	uint64_t size = gpu->memory_properties.memoryHeaps[heap].size, available;
	if (gpu->has_memory_budget) {
		VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
			.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
		};
		VkPhysicalDeviceMemoryProperties2 properties = {
			.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
			.pNext = &budget,
		};
		vkGetPhysicalDeviceMemoryProperties2(gpu->physical, &properties);
		uint64_t used = budget.heapUsage[heap], most = budget.heapBudget[heap];
		available = used < most ? most - used : 0;
	} else {
		uint64_t most = size - size / 10;
		available = own < most ? most - own : 0;
	}
	uint64_t most = heap_most(gpu, heap);
	return least(available, own < most ? most - own : 0);
}

/* memory_lock is held. Of the heaps where a kind lies: what all kinds took from that heap. */
static uint64_t taken_from(const struct rql_vk_gpu *gpu, uint32_t heap)
{
	uint64_t bytes = 0;
	for (unsigned kind = 0; kind < RQL_MEMORY_COUNT; kind++) {
		uint32_t type = type_for(gpu, kind, UINT32_MAX);
		if (type != UINT32_MAX && gpu->memory_properties.memoryTypes[type].heapIndex == heap)
			bytes += gpu->allocated[kind];
	}
	return bytes;
}

static bool is_empty(const struct rql_vk_block *block)
{
	return block->free_bytes == block->bytes;
}

/* memory_lock is held. What the blocks do not use counts: it can be had without asking the driver. */
static uint64_t available_of(struct rql_vk_gpu *gpu, enum rql_memory kind, uint64_t *total)
{
	uint32_t type = type_for(gpu, kind, UINT32_MAX);
	uint64_t free_bytes = 0;
	*total = 0;
	if (type == UINT32_MAX)
		return 0;
	uint32_t heap = gpu->memory_properties.memoryTypes[type].heapIndex;
	*total = heap_most(gpu, heap);
	for (const struct rql_vk_block *block = gpu->blocks; block; block = block->next)
		if (block->kind == kind && (!block->single || is_empty(block)))
			free_bytes += block->free_bytes;
	return heap_available(gpu, heap, taken_from(gpu, heap)) + free_bytes;
}

void rql_vk_memory(struct rql_device *device, uint64_t *available, uint64_t *total)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	rql_vk_reap(gpu);
	pthread_mutex_lock(&gpu->memory_lock);
	*available = available_of(gpu, RQL_MEMORY_DEVICE, total);
	pthread_mutex_unlock(&gpu->memory_lock);
}

/* ---- blocks ---- */

/* Structures and binding tables live in device memory only, and a driver may allow those usages in no other: it would
 * then leave no mapped memory type to a buffer that asks for them. */
static VkBufferUsageFlags block_usage(const struct rql_vk_gpu *gpu, enum rql_memory kind)
{
	VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
	                           VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
	                           VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
	if (gpu->has_trace && kind != RQL_MEMORY_READBACK)
		usage |= VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;
	if (gpu->has_trace && kind == RQL_MEMORY_DEVICE)
		usage |= VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR | VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR;
	return usage;
}

/* Leaves handles in the block for block_destroy, whatever happens. */
static VkResult block_allocate(struct rql_vk_gpu *gpu, struct rql_vk_block *block)
{
	const VkBufferCreateInfo buffer = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = block->bytes,
		.usage = block_usage(gpu, block->kind),
		.sharingMode = VK_SHARING_MODE_EXCLUSIVE,
	};
	VkMemoryRequirements needs;
	VkResult result = gpu->vk.vkCreateBuffer(gpu->handle, &buffer, NULL, &block->buffer);
	if (result != VK_SUCCESS) {
		block->buffer = VK_NULL_HANDLE;
		return result;
	}
	gpu->vk.vkGetBufferMemoryRequirements(gpu->handle, block->buffer, &needs);
	uint32_t type = type_for(gpu, block->kind, needs.memoryTypeBits);
	if (type == UINT32_MAX)
		return VK_ERROR_FEATURE_NOT_PRESENT;
	const VkMemoryAllocateFlagsInfo flags = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
	};
	const VkMemoryAllocateInfo memory = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.pNext = &flags,
		.allocationSize = needs.size,
		.memoryTypeIndex = type,
	};
	result = gpu->vk.vkAllocateMemory(gpu->handle, &memory, NULL, &block->memory);
	if (result != VK_SUCCESS) {
		block->memory = VK_NULL_HANDLE;
		return result;
	}
	result = gpu->vk.vkBindBufferMemory(gpu->handle, block->buffer, block->memory, 0);
	if (result == VK_SUCCESS && block->kind != RQL_MEMORY_DEVICE) {
		void *map = NULL;
		result = gpu->vk.vkMapMemory(gpu->handle, block->memory, 0, VK_WHOLE_SIZE, 0, &map);
		block->map = map;
	}
	if (result == VK_SUCCESS) {
		const VkBufferDeviceAddressInfo info = {
			.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
			.buffer = block->buffer,
		};
		block->address = gpu->vk.vkGetBufferDeviceAddress(gpu->handle, &info);
	}
	return result;
}

static void block_destroy(struct rql_vk_gpu *gpu, struct rql_vk_block *block)
{
	if (block->buffer)
		gpu->vk.vkDestroyBuffer(gpu->handle, block->buffer, NULL);
	if (block->memory)
		gpu->vk.vkFreeMemory(gpu->handle, block->memory, NULL); /* unmaps it */
	while (block->ranges) {
		struct rql_vk_range *range = block->ranges;
		block->ranges = range->next;
		free(range);
	}
	free(block);
}

/* memory_lock is held. A new block is free as a whole. */
static rql_status block_new(struct rql_vk_gpu *gpu, uint64_t bytes, enum rql_memory kind, bool single, const char *what,
                            struct rql_vk_block **out, struct rql_error *err)
{
	struct rql_vk_block *block = calloc(1, sizeof(*block));
	struct rql_vk_range *range = calloc(1, sizeof(*range));
	if (!block || !range) {
		free(range);
		free(block);
		return rql_error_memory(err, sizeof(*block), what);
	}
	range->bytes = bytes;
	block->bytes = block->free_bytes = bytes;
	block->kind = kind;
	block->single = single;
	block->ranges = range;
	VkResult result = block_allocate(gpu, block);
	if (result == VK_SUCCESS && block->address % ALIGNMENT != 0)
		result = VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS; /* no driver does that; kernels rely on it */
	if (result != VK_SUCCESS) {
		block_destroy(gpu, block);
		return rql_vk_fail(gpu, result, "allocating memory", what, err);
	}
	block->next = gpu->blocks;
	gpu->blocks = block;
	gpu->allocated[kind] += bytes;
	gpu->block_count[kind]++;
	*out = block;
	return RQL_OK;
}

/* The size of the next block for such a request: large ones get their own; small ones share one that grows with use where
 * memory is the host's or scarce. */
static uint64_t block_size(const struct rql_vk_gpu *gpu, uint64_t bytes, enum rql_memory kind)
{
	if (bytes >= LARGE_BYTES)
		return round_up(bytes, BLOCK_GRAIN);
	uint64_t size = BLOCK_MOST;
	if (kind != RQL_MEMORY_DEVICE || gpu->device->kind != RQL_DEVICE_DISCRETE) {
		uint64_t doublings = least(gpu->block_count[kind], 4);
		size = BLOCK_LEAST << doublings;
	}
	return size < bytes ? round_up(bytes, BLOCK_GRAIN) : size;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1024.0 * 1024.0);
}

/* memory_lock is held. The empty blocks that are kept for the next query go first when memory is short. */
static void drop_empty_blocks(struct rql_vk_gpu *gpu)
{
	for (struct rql_vk_block **at = &gpu->blocks; *at;) {
		struct rql_vk_block *block = *at;
		if (!is_empty(block)) {
			at = &block->next;
			continue;
		}
		*at = block->next;
		gpu->allocated[block->kind] -= block->bytes;
		block_destroy(gpu, block);
	}
}

static rql_status too_little(const struct rql_vk_gpu *gpu, uint32_t heap, uint64_t bytes, uint64_t available,
                             const char *what, struct rql_error *err)
{
	return rql_error_set(
		err, RQL_ERROR_LIMIT,
		"%s needs %.1f MiB, %.1f MiB of %.1f MiB are available on device %s (%s)%s; drop structures, or "
		"stop other programs that use it",
		what, mib(bytes), mib(available), mib(heap_most(gpu, heap)), gpu->device->id, gpu->device->name,
		available < bytes ? "" : ", but the driver refused it");
}

/* memory_lock is held. A block that the budget holds; smaller than usual when memory runs short. */
static rql_status block_for(struct rql_vk_gpu *gpu, uint64_t bytes, enum rql_memory kind, const char *what,
                            struct rql_vk_block **out, struct rql_error *err)
{
	uint32_t type = type_for(gpu, kind, UINT32_MAX);
	if (type == UINT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s has no memory type for %s", gpu->device->id, what);
	uint32_t heap = gpu->memory_properties.memoryTypes[type].heapIndex;
	uint64_t own = round_up(bytes, BLOCK_GRAIN), size = block_size(gpu, bytes, kind);
	uint64_t available = heap_available(gpu, heap, taken_from(gpu, heap));
	if (available < own) {
		drop_empty_blocks(gpu);
		available = heap_available(gpu, heap, taken_from(gpu, heap));
	}
	if (available < own)
		return too_little(gpu, heap, own, available, what, err);
	while (size > own && size > available / 2)
		size = size / 2 > own ? round_up(size / 2, BLOCK_GRAIN) : own;
	rql_status status = block_new(gpu, size, kind, bytes >= LARGE_BYTES, what, out, err);
	if (status == RQL_ERROR_LIMIT) { /* fragmented, or others were quicker */
		drop_empty_blocks(gpu);
		status = block_new(gpu, own, kind, bytes >= LARGE_BYTES, what, out, err);
	}
	return status == RQL_ERROR_LIMIT ? too_little(gpu, heap, own, available, what, err) : status;
}

/* ---- images ---- */

rql_status rql_vk_image_memory_new(struct rql_vk_gpu *gpu, const VkMemoryRequirements *needs, const char *what,
                                   VkDeviceMemory *out, struct rql_error *err)
{
	uint32_t type = type_for(gpu, RQL_MEMORY_DEVICE, needs->memoryTypeBits);
	if (type == UINT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s has no memory type for %s", gpu->device->id, what);
	uint32_t heap = gpu->memory_properties.memoryTypes[type].heapIndex;
	const VkMemoryAllocateInfo memory = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.allocationSize = needs->size,
		.memoryTypeIndex = type,
	};
	rql_status status = RQL_OK;
	pthread_mutex_lock(&gpu->memory_lock);
	uint64_t available = heap_available(gpu, heap, taken_from(gpu, heap));
	if (available < needs->size) {
		drop_empty_blocks(gpu);
		available = heap_available(gpu, heap, taken_from(gpu, heap));
	}
	VkResult result = available < needs->size ? VK_ERROR_OUT_OF_DEVICE_MEMORY
	                                          : gpu->vk.vkAllocateMemory(gpu->handle, &memory, NULL, out);
	if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY && available >= needs->size) { /* as in block_for */
		drop_empty_blocks(gpu);
		result = gpu->vk.vkAllocateMemory(gpu->handle, &memory, NULL, out);
	}
	if (result == VK_SUCCESS)
		gpu->allocated[RQL_MEMORY_DEVICE] += needs->size;
	else if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
		status = too_little(gpu, heap, needs->size, available, what, err);
	else
		status = rql_vk_fail(gpu, result, "vkAllocateMemory", what, err);
	pthread_mutex_unlock(&gpu->memory_lock);
	return status;
}

void rql_vk_image_memory_free(struct rql_vk_gpu *gpu, VkDeviceMemory memory, uint64_t bytes)
{
	gpu->vk.vkFreeMemory(gpu->handle, memory, NULL);
	pthread_mutex_lock(&gpu->memory_lock);
	gpu->allocated[RQL_MEMORY_DEVICE] -= bytes;
	pthread_mutex_unlock(&gpu->memory_lock);
}

/* ---- ranges ---- */

/* memory_lock is held. The first free range that is long enough, cut to size; NULL: none here. A range that is taken
 * brings a node, so that giving it back needs no memory; `spare` becomes the rest's. */
static struct rql_vk_range *range_take(struct rql_vk_block *block, uint64_t bytes, struct rql_vk_range **spare)
{
	for (struct rql_vk_range **at = &block->ranges; *at; at = &(*at)->next) {
		struct rql_vk_range *range = *at;
		if (range->bytes < bytes)
			continue;
		if (range->bytes == bytes) {
			*at = range->next;
		} else {
			struct rql_vk_range *rest = *spare;
			*spare = NULL;
			*rest = (struct rql_vk_range){range->offset + bytes, range->bytes - bytes, range->next};
			*at = rest;
			range->bytes = bytes;
		}
		range->next = NULL;
		block->free_bytes -= bytes;
		return range;
	}
	return NULL;
}

/* memory_lock is held. */
static void range_give(struct rql_vk_block *block, struct rql_vk_range *range)
{
	struct rql_vk_range *before = NULL, *after = block->ranges;
	block->free_bytes += range->bytes;
	for (; after && after->offset < range->offset; after = after->next)
		before = after;
	range->next = after;
	if (before)
		before->next = range;
	else
		block->ranges = range;
	if (after && range->offset + range->bytes == after->offset) {
		range->bytes += after->bytes;
		range->next = after->next;
		free(after);
	}
	if (before && before->offset + before->bytes == range->offset) {
		before->bytes += range->bytes;
		before->next = range->next;
		free(range);
	}
}

/* memory_lock is held. */
static void block_unlink(struct rql_vk_gpu *gpu, struct rql_vk_block *block)
{
	struct rql_vk_block **at = &gpu->blocks;
	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
	gpu->allocated[block->kind] -= block->bytes;
}

static uint64_t idle_most(const struct rql_vk_gpu *gpu, enum rql_memory kind)
{
	const uint32_t type = type_for(gpu, kind, UINT32_MAX);
	const bool own = kind == RQL_MEMORY_DEVICE && gpu->device->kind == RQL_DEVICE_DISCRETE;
	const uint64_t most = heap_most(gpu, gpu->memory_properties.memoryTypes[type].heapIndex);
	return most / (own ? IDLE_PART : IDLE_PART_HOST);
}

/* memory_lock is held. The block of its own size that has stood empty the longest, where all of a kind are too much. */
static struct rql_vk_block *longest_idle(const struct rql_vk_gpu *gpu, enum rql_memory kind)
{
	struct rql_vk_block *longest = NULL;
	uint64_t bytes = 0;
	for (struct rql_vk_block *b = gpu->blocks; b; b = b->next) {
		if (b->kind != kind || !b->single || !is_empty(b))
			continue;
		bytes += b->bytes;
		longest = !longest || b->idle_since < longest->idle_since ? b : longest;
	}
	return bytes > idle_most(gpu, kind) ? longest : NULL;
}

/* memory_lock is held. Is a block empty, it is kept, so that a query after a query does not allocate: one of those that
 * many buffers share, and those of their own size while they are not too much. Returns those that go back to the driver. */
static struct rql_vk_block *blocks_unlink_idle(struct rql_vk_gpu *gpu, struct rql_vk_block *block)
{
	struct rql_vk_block *out = NULL;
	bool another = false;
	if (!is_empty(block))
		return NULL;
	if (block->single) {
		block->idle_since = ++gpu->idle_clock;
		for (struct rql_vk_block *b; (b = longest_idle(gpu, block->kind)) != NULL;) {
			block_unlink(gpu, b);
			b->next = out;
			out = b;
		}
		return out;
	}
	for (const struct rql_vk_block *b = gpu->blocks; b && !another; b = b->next)
		another = b != block && b->kind == block->kind && !b->single && is_empty(b);
	if (!another)
		return NULL;
	block_unlink(gpu, block);
	block->next = NULL;
	return block;
}

/* ---- buffers ---- */

/* memory_lock is held. The smallest empty block of its own size that a request fills by three quarters; NULL: none. */
static struct rql_vk_block *idle_block_for(const struct rql_vk_gpu *gpu, uint64_t bytes, enum rql_memory kind)
{
	struct rql_vk_block *best = NULL;
	for (struct rql_vk_block *b = gpu->blocks; b; b = b->next)
		if (b->kind == kind && b->single && is_empty(b) && b->bytes >= bytes && b->bytes - b->bytes / 4 <= bytes)
			best = !best || b->bytes < best->bytes ? b : best;
	return best;
}

/* memory_lock is held. The bytes that a single block has over are left alone: a small buffer there would keep the whole
 * block when its owner has gone. */
static struct rql_vk_range *range_find(struct rql_vk_gpu *gpu, uint64_t bytes, enum rql_memory kind,
                                       struct rql_vk_range **spare, struct rql_vk_block **out)
{
	*out = bytes >= LARGE_BYTES ? idle_block_for(gpu, bytes, kind) : NULL;
	if (*out)
		return range_take(*out, bytes, spare);
	for (struct rql_vk_block *block = gpu->blocks; block; block = block->next) {
		if (block->kind != kind || block->single || block->free_bytes < bytes)
			continue;
		struct rql_vk_range *range = range_take(block, bytes, spare);
		if (range) {
			*out = block;
			return range;
		}
	}
	return NULL;
}

static void buffer_bury(struct rql_vk_gpu *gpu, void *object)
{
	struct rql_vk_buffer *buffer = object;
	pthread_mutex_lock(&gpu->memory_lock);
	range_give(buffer->block, buffer->range);
	struct rql_vk_block *idle = blocks_unlink_idle(gpu, buffer->block);
	pthread_mutex_unlock(&gpu->memory_lock);
	while (idle) {
		struct rql_vk_block *next = idle->next;
		block_destroy(gpu, idle);
		idle = next;
	}
	free(buffer);
}

rql_status rql_vk_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                             struct rql_buffer **out, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	RQL_TRY(rql_vk_start(device, err));
	rql_vk_reap(gpu);
	struct rql_vk_buffer *buffer = calloc(1, sizeof(*buffer));
	struct rql_vk_range *spare = calloc(1, sizeof(*spare));
	if (!buffer || !spare) {
		free(spare);
		free(buffer);
		return rql_error_memory(err, sizeof(*buffer), what);
	}
	uint64_t size = round_up(bytes ? bytes : 1, ALIGNMENT);
	rql_status status = RQL_OK;
	pthread_mutex_lock(&gpu->memory_lock);
	buffer->range = range_find(gpu, size, memory, &spare, &buffer->block);
	if (!buffer->range) {
		status = block_for(gpu, size, memory, what, &buffer->block, err);
		if (status == RQL_OK)
			buffer->range = range_take(buffer->block, size, &spare);
	}
	pthread_mutex_unlock(&gpu->memory_lock);
	free(spare);
	if (status != RQL_OK) {
		free(buffer);
		return status;
	}
	buffer->offset = buffer->range->offset;
	buffer->life = (struct rql_vk_life){.holders = 1, .bury = buffer_bury, .object = buffer};
	buffer->base = (struct rql_buffer){
		.device = device,
		.bytes = bytes,
		.address = buffer->block->address + buffer->offset,
		.map = buffer->block->map ? buffer->block->map + buffer->offset : NULL,
		.memory = memory,
	};
	*out = &buffer->base;
	return RQL_OK;
}

void rql_vk_buffer_free(struct rql_buffer *base)
{
	if (!base)
		return;
	rql_vk_release(rql_vk_of(base->device), &((struct rql_vk_buffer *)base)->life);
}

void rql_vk_memory_close(struct rql_vk_gpu *gpu)
{
	rql_vk_reap(gpu); /* gpu->finished is past every ticket */
	while (gpu->blocks) {
		struct rql_vk_block *block = gpu->blocks;
		gpu->blocks = block->next;
		block_destroy(gpu, block);
	}
	for (unsigned kind = 0; kind < RQL_MEMORY_COUNT; kind++)
		gpu->allocated[kind] = gpu->block_count[kind] = 0;
}
