/* The queue and its tickets. One timeline semaphore counts submissions: a ticket is the value it has when that
 * submission, and with it all earlier ones, is done. */
#include "device/vulkan/vulkan_internal.h"

#include "util/budget.h"
#include "util/threads.h"

/* A warm statement is not much longer than the kernel takes to wake a sleeping thread, whose processor has then lost its
 * clock and its caches: a waiter polls this long first. A device in software needs the processor itself. */
#define POLL_NS 400000
#define POLL_SOFTWARE_NS 50000
#define SLICE_NS 2000000         /* between two looks at the cancel flag */
#define LONG_SLICE_NS 1000000000 /* where nobody can cancel */

/* Raises gpu->finished to where the device is. A lost device reports an error, or the greatest value there is. */
static VkResult look(struct rql_vk_gpu *gpu)
{
	uint64_t reached = 0;
	VkResult result = gpu->vk.vkGetSemaphoreCounterValue(gpu->handle, gpu->timeline, &reached);
	if (result != VK_SUCCESS)
		return result;
	if (reached == UINT64_MAX)
		return VK_ERROR_DEVICE_LOST;
	uint64_t known = atomic_load_explicit(&gpu->finished, memory_order_relaxed);
	while (known < reached && !atomic_compare_exchange_weak(&gpu->finished, &known, reached)) {
	}
	return VK_SUCCESS;
}

static bool is_finished(struct rql_vk_gpu *gpu, uint64_t ticket)
{
	return atomic_load_explicit(&gpu->finished, memory_order_acquire) >= ticket;
}

bool rql_vk_is_done(struct rql_device *device, uint64_t ticket)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	return is_finished(gpu, ticket) || rql_vk_finished(gpu) >= ticket;
}

/* submit_lock is held. */
static rql_status submit_locked(struct rql_vk_gpu *gpu, const VkCommandBuffer *commands, uint32_t count,
                                uint64_t *ticket, struct rql_error *err)
{
	uint64_t value = gpu->submitted + 1;
	VkTimelineSemaphoreSubmitInfo timeline = {
		.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.signalSemaphoreValueCount = 1,
		.pSignalSemaphoreValues = &value,
	};
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.pNext = &timeline,
		.commandBufferCount = count,
		.pCommandBuffers = commands,
		.signalSemaphoreCount = 1,
		.pSignalSemaphores = &gpu->timeline,
	};
	VkResult result = gpu->vk.vkQueueSubmit(gpu->queue, 1, &submit, VK_NULL_HANDLE);
	if (result != VK_SUCCESS)
		return rql_vk_fail(gpu, result, "vkQueueSubmit", "a submission", err);
	gpu->submitted = value;
	*ticket = value;
	return RQL_OK;
}

rql_status rql_vk_queue_submit(struct rql_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *ticket,
                               struct rql_error *err)
{
	pthread_mutex_lock(&gpu->submit_lock);
	rql_status status = submit_locked(gpu, &commands, 1, ticket, err);
	pthread_mutex_unlock(&gpu->submit_lock);
	return status;
}

static rql_status may_submit(struct rql_vk_commands *c, struct rql_error *err)
{
	if (c->failed.status != RQL_OK)
		return rql_error_set(err, c->failed.status, "%s", rql_error_message(&c->failed));
	if (c->last_ticket && !rql_vk_is_done(c->base.device, c->last_ticket))
		return rql_error_set(err, RQL_ERROR_MISUSE,
		                     "a recording was submitted again while its last submission still runs: wait for it first");
	return RQL_OK;
}

/* What the recording touches stays until the ticket is done. submit_lock is held. */
static void mark_used(struct rql_vk_commands *c, uint64_t ticket)
{
	for (uint32_t i = 0; i < c->touched_count; i++)
		c->touched[i].life->last_used = ticket;
	for (uint32_t i = 0; i < c->kept_count; i++)
		c->kept[i]->last_used = ticket;
	c->last_ticket = ticket;
}

rql_status rql_vk_submit(struct rql_commands *const *list, uint32_t count, uint64_t *ticket, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = ((struct rql_vk_commands *)list[0])->gpu;
	VkCommandBuffer handles[RQL_SUBMIT_MOST];
	for (uint32_t i = 0; i < count; i++) {
		struct rql_vk_commands *c = (struct rql_vk_commands *)list[i];
		RQL_TRY(may_submit(c, err));
		handles[i] = c->handle;
	}
	uint64_t given = 0;
	pthread_mutex_lock(&gpu->submit_lock);
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_vk_commands *c = (const struct rql_vk_commands *)list[i];
		if (c->queries && c->timed && c->pass_count)
			gpu->vk.vkResetQueryPool(gpu->handle, c->queries, 0, 2 * c->pass_count);
	}
	rql_status status = submit_locked(gpu, handles, count, &given, err);
	for (uint32_t i = 0; i < count && status == RQL_OK; i++)
		mark_used((struct rql_vk_commands *)list[i], given);
	if (status == RQL_OK)
		*ticket = given;
	pthread_mutex_unlock(&gpu->submit_lock);
	return status;
}

/* A ticket that was never given would be waited for without end. */
static rql_status check_ticket(struct rql_vk_gpu *gpu, uint64_t ticket, struct rql_error *err)
{
	pthread_mutex_lock(&gpu->submit_lock);
	uint64_t submitted = gpu->submitted;
	pthread_mutex_unlock(&gpu->submit_lock);
	if (ticket <= submitted)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_MISUSE,
	                     "ticket %llu was waited for, but device %s has given %llu tickets so far",
	                     (unsigned long long)ticket, gpu->device->id, (unsigned long long)submitted);
}

static bool is_cancelled(struct rql_progress *progress)
{
	return progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed);
}

/* Polls until the ticket is done, somebody cancels or the time for it is over. */
static VkResult poll_briefly(struct rql_vk_gpu *gpu, uint64_t ticket, struct rql_progress *progress)
{
	const uint64_t most = gpu->device->kind == RQL_DEVICE_SOFTWARE ? POLL_SOFTWARE_NS : POLL_NS;
	VkResult result = look(gpu);
	uint64_t start = 0;
	for (unsigned i = 0; result == VK_SUCCESS && !is_finished(gpu, ticket) && !is_cancelled(progress); i++) {
		for (unsigned k = 0; k < 8; k++)
			rql_relax();
		uint64_t now = rql_now_ns();
		if (i == 0)
			start = now;
		if (now - start > most)
			break;
		result = look(gpu);
	}
	return result;
}

static rql_status wait_long(struct rql_vk_gpu *gpu, uint64_t ticket, struct rql_progress *progress,
                            struct rql_error *err)
{
	VkSemaphoreWaitInfo wait = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		.semaphoreCount = 1,
		.pSemaphores = &gpu->timeline,
		.pValues = &ticket,
	};
	while (!is_finished(gpu, ticket)) {
		if (is_cancelled(progress))
			return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
		VkResult result = gpu->vk.vkWaitSemaphores(gpu->handle, &wait, progress ? SLICE_NS : LONG_SLICE_NS);
		if (result == VK_SUCCESS || result == VK_TIMEOUT)
			result = look(gpu);
		if (result != VK_SUCCESS)
			return rql_vk_fail(gpu, result, "vkWaitSemaphores", "waiting for the device's work", err);
	}
	return RQL_OK;
}

rql_status rql_vk_wait(struct rql_device *device, uint64_t ticket, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	if (!is_finished(gpu, ticket)) {
		VkResult result = poll_briefly(gpu, ticket, progress);
		if (result != VK_SUCCESS)
			return rql_vk_fail(gpu, result, "vkGetSemaphoreCounterValue", "waiting for the device's work", err);
		if (!is_finished(gpu, ticket)) {
			RQL_TRY(check_ticket(gpu, ticket, err));
			RQL_TRY(wait_long(gpu, ticket, progress, err));
		}
	}
	rql_vk_reap(gpu);
	return RQL_OK;
}
