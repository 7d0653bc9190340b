/* Recording: passes, the barriers between them, their timestamps.
 *
 * Barriers. A pass that touches what an earlier one wrote, or writes what an earlier one read, gets a barrier before
 * it, unless one that was recorded in between serves it too. There are no barriers for single buffers: drivers make
 * the same full wait and cache flush of them. Every barrier has all that was recorded so far as its source, so whether
 * an earlier pass is over for stage s is one comparison of barrier numbers (struct rql_vk_touch, covered[]). */
#include "device/vulkan/vulkan_internal.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_MAX 32u                    /* recordings kept for reuse */
#define PIECE_BYTES ((uint64_t)1 << 30) /* of one fill or copy command: no driver is tried with more */

/* What a barrier lets each stage do after it. */
static const struct {
	VkPipelineStageFlags stage;
	VkAccessFlags access;
} stages[RQL_VK_STAGES] = {
	{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
	{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
	{VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, VK_ACCESS_INDIRECT_COMMAND_READ_BIT},
	{VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
     VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR | VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR |
         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
	{VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR,
     VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
	{RQL_VK_DRAW_STAGES, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
	{VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
     VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT},
};

#define FIRST_TRACE_STAGE 3u /* of stages[] */
#define FIRST_DRAW_STAGE 5u
#define WRITES                                                                                                         \
	(VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR |      \
	 VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT)

static struct rql_vk_commands *own(struct rql_commands *c)
{
	return (struct rql_vk_commands *)c;
}

static struct rql_vk_buffer *own_buffer(struct rql_buffer *buffer)
{
	return (struct rql_vk_buffer *)buffer;
}

RQL_PRINTF(3, 4) static void record_failed(struct rql_vk_commands *c, rql_status status, const char *fmt, ...)
{
	if (c->failed.status != RQL_OK)
		return;
	va_list args;
	va_start(args, fmt);
	rql_error_vset(&c->failed, status, fmt, args);
	va_end(args);
}

/* ---- life ---- */
/* Of all that it names. */
static void let_go(struct rql_vk_gpu *gpu, struct rql_vk_commands *c)
{
	for (; c->touched_count > 0; c->touched_count--)
		rql_vk_release(gpu, c->touched[c->touched_count - 1].life);
	for (; c->kept_count > 0; c->kept_count--)
		rql_vk_release(gpu, c->kept[c->kept_count - 1]);
}

static void destroy_commands(struct rql_vk_gpu *gpu, struct rql_vk_commands *c)
{
	if (c->queries)
		gpu->vk.vkDestroyQueryPool(gpu->handle, c->queries, NULL);
	if (c->pool)
		gpu->vk.vkDestroyCommandPool(gpu->handle, c->pool, NULL);
	let_go(gpu, c);
	rql_error_clear(&c->failed);
	rql_error_clear(&c->base.misuse);
	free(c->touched);
	free(c->kept);
	free(c);
}

static rql_status create_commands(struct rql_vk_gpu *gpu, struct rql_vk_commands **out, struct rql_error *err)
{
	struct rql_vk_commands *c = calloc(1, sizeof(*c));
	if (!c)
		return rql_error_memory(err, sizeof(*c), "a recording");
	c->gpu = gpu;
	c->base.device = gpu->device;
	VkCommandPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.queueFamilyIndex = gpu->queue_family,
	};
	const char *call = "vkCreateCommandPool";
	VkResult result = gpu->vk.vkCreateCommandPool(gpu->handle, &pool, NULL, &c->pool);
	if (result == VK_SUCCESS) {
		VkCommandBufferAllocateInfo allocate = {
			.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
			.commandPool = c->pool,
			.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
			.commandBufferCount = 1,
		};
		call = "vkAllocateCommandBuffers";
		result = gpu->vk.vkAllocateCommandBuffers(gpu->handle, &allocate, &c->handle);
	} else {
		c->pool = VK_NULL_HANDLE;
	}
	if (result != VK_SUCCESS) {
		destroy_commands(gpu, c);
		return rql_vk_fail(gpu, result, call, "a recording", err);
	}
	*out = c;
	return RQL_OK;
}

static struct rql_vk_commands *take_idle(struct rql_vk_gpu *gpu)
{
	pthread_mutex_lock(&gpu->commands_lock);
	struct rql_vk_commands *c = gpu->idle_commands;
	if (c) {
		gpu->idle_commands = c->next;
		gpu->idle_commands_count--;
	}
	pthread_mutex_unlock(&gpu->commands_lock);
	return c;
}

/* A grave's bury: the last submission is done. */
static void retire(struct rql_vk_gpu *gpu, void *object)
{
	struct rql_vk_commands *c = object;
	rql_error_clear(&c->failed);
	rql_error_clear(&c->base.misuse);
	let_go(gpu, c);
	bool kept = false;
	if (gpu->vk.vkResetCommandPool(gpu->handle, c->pool, 0) == VK_SUCCESS) {
		pthread_mutex_lock(&gpu->commands_lock);
		kept = gpu->idle_commands_count < IDLE_MAX;
		if (kept) {
			c->next = gpu->idle_commands;
			gpu->idle_commands = c;
			gpu->idle_commands_count++;
		}
		pthread_mutex_unlock(&gpu->commands_lock);
	}
	if (!kept)
		destroy_commands(gpu, c);
}

void rql_vk_commands_close(struct rql_vk_gpu *gpu)
{
	for (struct rql_vk_commands *c = take_idle(gpu); c; c = take_idle(gpu))
		destroy_commands(gpu, c);
}

static void record_barrier(struct rql_vk_commands *c, VkPipelineStageFlags from, VkAccessFlags writes,
                           VkPipelineStageFlags to, VkAccessFlags accesses)
{
	/* Reading structures in one barrier with kernels takes rayQuery, which not every device has and nobody needs here
	 * (VUID 06257); "all accesses of these stages" says the same. */
	if ((accesses & VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR) && (to & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT))
		accesses = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
	VkMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = writes,
		.dstAccessMask = accesses,
	};
	c->gpu->vk.vkCmdPipelineBarrier(c->handle, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* The stages first to end - 1 of stages[], and what they do. */
static VkPipelineStageFlags stages_of(unsigned first, unsigned end, VkAccessFlags *accesses)
{
	VkPipelineStageFlags all = 0;
	*accesses = 0;
	for (unsigned s = first; s < end; s++) {
		all |= stages[s].stage;
		*accesses |= stages[s].access;
	}
	return all;
}

/* The stages that every recording has: none of draws. */
static VkPipelineStageFlags usual_stages(const struct rql_vk_commands *c, VkAccessFlags *accesses)
{
	return stages_of(0, c->gpu->has_trace ? FIRST_DRAW_STAGE : FIRST_TRACE_STAGE, accesses);
}

/* Uploads and the recordings that were submitted before are over for everything in this one. The stages that exist here
 * and no others: "all commands" has drivers flush the caches of a rasteriser that nobody uses, once a statement. */
static void opening_barrier(struct rql_vk_commands *c)
{
	VkAccessFlags accesses;
	VkPipelineStageFlags all = usual_stages(c, &accesses);
	record_barrier(c, all, accesses & WRITES, all, accesses);
}

/* So a recording that draws joins the stages of draws to the others: before its first draw, and at its end. */
static void draws_begin(struct rql_vk_commands *c)
{
	VkAccessFlags before, accesses;
	VkPipelineStageFlags from = usual_stages(c, &before), to = stages_of(FIRST_DRAW_STAGE, RQL_VK_STAGES, &accesses);
	record_barrier(c, from, before & WRITES, to, accesses);
	c->draws = true;
	c->barriers++;
	for (unsigned s = FIRST_DRAW_STAGE; s < RQL_VK_STAGES; s++)
		c->covered[s] = c->barriers;
}

static void draws_end(struct rql_vk_commands *c)
{
	VkAccessFlags after, accesses;
	VkPipelineStageFlags to = usual_stages(c, &after), from = stages_of(FIRST_DRAW_STAGE, RQL_VK_STAGES, &accesses);
	record_barrier(c, from, accesses & WRITES, to, after);
}

static rql_status prepare_queries(struct rql_vk_commands *c, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = c->gpu;
	if (c->queries || !gpu->timestamp_bits) /* without a clock all times are 0 */
		return RQL_OK;
	VkQueryPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = 2 * RQL_VK_MAX_PASSES,
	};
	VkResult result = gpu->vk.vkCreateQueryPool(gpu->handle, &info, NULL, &c->queries);
	if (result == VK_SUCCESS)
		return RQL_OK;
	c->queries = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreateQueryPool", "the times of passes", err);
}

rql_status rql_vk_commands_new(struct rql_device *device, unsigned flags, struct rql_commands **out,
                               struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	struct rql_vk_commands *c = take_idle(gpu);
	if (!c)
		RQL_TRY(create_commands(gpu, &c, err));
	c->base.ended = false;
	c->timed = flags & RQL_COMMANDS_TIMED;
	c->pass_count = 0;
	c->pass_open = c->passes_full = c->host_reads = c->draws = false;
	c->last_ticket = 0;
	rql_status status = c->timed ? prepare_queries(c, err) : RQL_OK;
	if (status == RQL_OK) {
		VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
		VkResult result = gpu->vk.vkBeginCommandBuffer(c->handle, &begin);
		if (result != VK_SUCCESS)
			status = rql_vk_fail(gpu, result, "vkBeginCommandBuffer", "a recording", err);
	}
	if (status != RQL_OK) {
		destroy_commands(gpu, c);
		return status;
	}
	opening_barrier(c);
	c->stages = 0;
	c->writes = 0;
	c->barriers = 1;
	for (unsigned s = 0; s < RQL_VK_STAGES; s++)
		c->covered[s] = s < FIRST_DRAW_STAGE ? 1 : 0;
	*out = &c->base;
	return RQL_OK;
}

rql_status rql_vk_commands_end(struct rql_commands *commands, struct rql_error *err)
{
	struct rql_vk_commands *c = own(commands);
	if (c->passes_full) { /* the slot of all further passes was left open */
		c->pass_open = true;
		c->passes_full = false;
		rql_vk_pass_end(c);
	}
	if (c->draws)
		draws_end(c);
	if (c->host_reads) {
		record_barrier(c, c->stages, c->writes, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
		c->barriers++;
	}
	c->base.ended = true;
	VkResult result = c->gpu->vk.vkEndCommandBuffer(c->handle);
	if (c->failed.status == RQL_OK && result != VK_SUCCESS)
		(void)rql_vk_fail(c->gpu, result, "vkEndCommandBuffer", "a recording", &c->failed);
	if (c->failed.status != RQL_OK) /* kept: a submission is refused with the same words */
		return rql_error_set(err, c->failed.status, "%s", rql_error_message(&c->failed));
	return RQL_OK;
}

void rql_vk_commands_free(struct rql_commands *commands)
{
	if (!commands)
		return;
	struct rql_vk_commands *c = own(commands);
	rql_vk_bury(c->gpu, c->last_ticket, retire, c);
}

/* ---- what a recording touches ---- */
static struct rql_vk_touch *touch_of(struct rql_vk_commands *c, struct rql_vk_life *life)
{
	for (uint32_t i = c->touched_count; i-- > 0;)
		if (c->touched[i].life == life)
			return &c->touched[i];
	if (c->touched_count == c->touched_capacity) {
		uint32_t capacity = c->touched_capacity ? 2 * c->touched_capacity : 16;
		struct rql_vk_touch *more = realloc(c->touched, capacity * sizeof(*more));
		if (!more) {
			record_failed(c, RQL_ERROR_MEMORY, "out of memory (%llu bytes for a recording)",
			                     (unsigned long long)capacity * sizeof(*more));
			return NULL;
		}
		c->touched = more;
		c->touched_capacity = capacity;
	}
	struct rql_vk_touch *touch = &c->touched[c->touched_count++];
	*touch = (struct rql_vk_touch){.life = life};
	atomic_fetch_add(&life->holders, 1);
	return touch;
}

void rql_vk_keep(struct rql_vk_commands *c, struct rql_vk_life *life)
{
	for (uint32_t i = c->kept_count; i-- > 0;)
		if (c->kept[i] == life)
			return;
	if (c->kept_count == c->kept_capacity) {
		uint32_t capacity = c->kept_capacity ? 2 * c->kept_capacity : 16;
		struct rql_vk_life **more = realloc(c->kept, capacity * sizeof(*more));
		if (!more) {
			record_failed(c, RQL_ERROR_MEMORY, "out of memory (%llu bytes for a recording)",
			                     (unsigned long long)capacity * sizeof(*more));
			return;
		}
		c->kept = more;
		c->kept_capacity = capacity;
	}
	c->kept[c->kept_count++] = life;
	atomic_fetch_add(&life->holders, 1);
}

/* The barrier serves the named stages, and those that nearly every recording uses besides: it costs them nothing and
 * saves the next barrier. */
static void barrier_for(struct rql_vk_commands *c, VkPipelineStageFlags to, VkAccessFlags accesses)
{
	to |= VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | c->stages;
	/* All but the indirect read, for which the device's front end has to wait: only where one follows. */
	if (!(accesses & VK_ACCESS_INDIRECT_COMMAND_READ_BIT))
		to &= ~(VkPipelineStageFlags)VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
	c->barriers++;
	for (unsigned s = 0; s < RQL_VK_STAGES; s++)
		if (to & stages[s].stage) {
			accesses |= stages[s].access;
			c->covered[s] = c->barriers;
		}
	record_barrier(c, c->stages ? c->stages : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, c->writes, to, accesses);
}

void rql_vk_full_barrier(struct rql_vk_commands *c)
{
	if (c->failed.status != RQL_OK)
		return;
	c->barriers++;
	for (unsigned s = 0; s < RQL_VK_STAGES; s++)
		c->covered[s] = c->barriers;
	record_barrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
	               VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

/* The number of the last barrier that all of these stages wait for. */
static uint32_t covered_for(const struct rql_vk_commands *c, VkPipelineStageFlags which)
{
	uint32_t least = c->barriers;
	for (unsigned s = 0; s < RQL_VK_STAGES; s++)
		if ((which & stages[s].stage) && c->covered[s] < least)
			least = c->covered[s];
	return least;
}

/* Use i of a group: its buffers, then its images. */
static struct rql_vk_life *life_of(const struct rql_vk_touching *g, uint32_t i, enum rql_access *access, bool *mapped)
{
	if (i < g->use_count) {
		*access = g->uses[i].access;
		*mapped = g->uses[i].buffer->memory != RQL_MEMORY_DEVICE;
		return &own_buffer(g->uses[i].buffer)->life;
	}
	const struct rql_image_use *use = &g->images[i - g->use_count];
	*access = use->access;
	*mapped = false;
	return &((struct rql_vk_image *)use->image)->life;
}

/* Recorded after barrier number `at`, before number at + 1: is a pass in these stages too early? */
static bool conflicts(struct rql_vk_commands *c, const struct rql_vk_touching *g)
{
	uint32_t covered = covered_for(c, g->stages);
	bool conflict = false, mapped;
	enum rql_access access;
	for (uint32_t i = 0; i < g->use_count + g->image_count; i++) {
		const struct rql_vk_touch *touch = touch_of(c, life_of(g, i, &access, &mapped));
		if (!touch)
			return false; /* the recording has failed */
		conflict |= touch->written_at >= covered;
		conflict |= !(access & RQL_UPDATE) && touch->updated_at >= covered;
		conflict |= (access & (RQL_WRITE | RQL_UPDATE)) && touch->read_at >= covered;
	}
	return conflict;
}

static void mark(struct rql_vk_commands *c, const struct rql_vk_touching *g)
{
	bool written = false, mapped;
	enum rql_access access;
	for (uint32_t i = 0; i < g->use_count + g->image_count; i++) {
		struct rql_vk_touch *touch = touch_of(c, life_of(g, i, &access, &mapped));
		if (!touch)
			return;
		if (access & RQL_READ)
			touch->read_at = c->barriers;
		if (access & RQL_UPDATE)
			touch->updated_at = c->barriers;
		if (access & RQL_WRITE)
			touch->written_at = c->barriers;
		if (access & (RQL_WRITE | RQL_UPDATE)) {
			written = true;
			c->host_reads |= mapped;
		}
	}
	c->stages |= g->stages;
	if (written)
		c->writes |= g->writes;
}

void rql_vk_touch_all(struct rql_vk_commands *c, const struct rql_vk_touching *groups, uint32_t count)
{
	VkPipelineStageFlags which = 0;
	VkAccessFlags accesses = 0;
	bool conflict = false;
	if (c->failed.status != RQL_OK)
		return;
	for (uint32_t i = 0; i < count && !c->draws; i++)
		if (groups[i].stages & RQL_VK_DRAW_STAGES)
			draws_begin(c);
	/* Of the kinds of stages that must wait: the others go on. */
	for (uint32_t i = 0; i < count; i++)
		if (conflicts(c, &groups[i])) {
			which |= groups[i].stages;
			accesses |= groups[i].reads | groups[i].writes;
			conflict = true;
		}
	if (conflict && c->failed.status == RQL_OK)
		barrier_for(c, which, accesses);
	for (uint32_t i = 0; i < count && c->failed.status == RQL_OK; i++)
		mark(c, &groups[i]);
}

void rql_vk_touch(struct rql_vk_commands *c, VkPipelineStageFlags which, VkAccessFlags reads, VkAccessFlags writes,
                  const struct rql_use *uses, uint32_t use_count)
{
	const struct rql_vk_touching group = {
		.stages = which, .reads = reads, .writes = writes, .uses = uses, .use_count = use_count};
	rql_vk_touch_all(c, &group, 1);
}

/* ---- timestamps ---- */
/* Both at the bottom of the pipe: a pass's time starts when everything before it is over, so times add up to the total
 * even where passes overlap. */
static void write_timestamp(struct rql_vk_commands *c, uint32_t query)
{
	if (c->queries)
		c->gpu->vk.vkCmdWriteTimestamp(c->handle, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, c->queries, query);
}

void rql_vk_pass_begin(struct rql_vk_commands *c, const char *pass)
{
	if (!c->timed || c->passes_full || c->failed.status != RQL_OK)
		return;
	bool last = c->pass_count == RQL_VK_MAX_PASSES - 1;
	c->pass_name[c->pass_count] = last ? "further passes" : pass;
	c->passes_full = last; /* rql_vk_commands_end closes it */
	c->pass_open = !last;
	write_timestamp(c, 2 * c->pass_count);
}

void rql_vk_pass_end(struct rql_vk_commands *c)
{
	if (!c->pass_open)
		return;
	write_timestamp(c, 2 * c->pass_count + 1);
	c->pass_open = false;
	c->pass_count++;
}

/* A pass without work: its name, and no timestamps, which reads as 0 ns. */
void rql_vk_pass_empty(struct rql_vk_commands *c, const char *pass)
{
	if (c->timed && c->pass_count < RQL_VK_MAX_PASSES - 1 && c->failed.status == RQL_OK)
		c->pass_name[c->pass_count++] = pass;
}

struct stamp {
	uint64_t ticks, available;
};

uint32_t rql_vk_times(struct rql_commands *commands, struct rql_pass_time *times, uint32_t max, double *total_ns)
{
	struct rql_vk_commands *c = own(commands);
	struct rql_vk_gpu *gpu = c->gpu;
	struct stamp stamps[2 * RQL_VK_MAX_PASSES];
	memset(stamps, 0, sizeof(stamps));
	if (c->pass_count && c->queries && c->last_ticket && rql_vk_is_done(c->base.device, c->last_ticket)) {
		uint32_t count = 2 * c->pass_count;
		VkResult result = gpu->vk.vkGetQueryPoolResults(gpu->handle, c->queries, 0, count, count * sizeof(*stamps),
		                                                stamps, sizeof(*stamps),
		                                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
		if (result != VK_SUCCESS && result != VK_NOT_READY) /* not ready: the empty passes */
			memset(stamps, 0, sizeof(stamps));
	}
	uint64_t mask = gpu->timestamp_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << gpu->timestamp_bits) - 1;
	const struct stamp *first = NULL, *last = NULL;
	for (uint32_t i = 0; i < c->pass_count; i++) {
		const struct stamp *begin = &stamps[2 * i], *end = begin + 1;
		bool known = begin->available && end->available;
		if (i < max)
			times[i] = (struct rql_pass_time){
				.pass = c->pass_name[i],
				.ns = known ? (double)((end->ticks - begin->ticks) & mask) * gpu->timestamp_ns : 0,
			};
		if (known) {
			first = first ? first : begin;
			last = end;
		}
	}
	if (total_ns)
		*total_ns = last ? (double)((last->ticks - first->ticks) & mask) * gpu->timestamp_ns : 0;
	return c->pass_count;
}

/* ---- passes ---- */
void rql_vk_fill(struct rql_commands *commands, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes,
                 uint32_t word)
{
	struct rql_vk_commands *c = own(commands);
	const struct rql_vk_buffer *to = own_buffer(buffer);
	struct rql_use use = {buffer, RQL_WRITE};
	rql_vk_touch(c, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, VK_ACCESS_TRANSFER_WRITE_BIT, &use, 1);
	rql_vk_pass_begin(c, "fill");
	for (uint64_t done = 0; done < bytes && c->failed.status == RQL_OK; done += PIECE_BYTES) {
		uint64_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		c->gpu->vk.vkCmdFillBuffer(c->handle, to->block->buffer, to->offset + offset + done, piece, word);
	}
	rql_vk_pass_end(c);
}

void rql_vk_copy(struct rql_commands *commands, struct rql_buffer *from, uint64_t from_offset, struct rql_buffer *to,
                 uint64_t to_offset, uint64_t bytes)
{
	struct rql_vk_commands *c = own(commands);
	const struct rql_vk_buffer *source = own_buffer(from), *target = own_buffer(to);
	struct rql_use uses[2] = {{from, RQL_READ}, {to, RQL_WRITE}};
	rql_vk_touch(c, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, uses, 2);
	rql_vk_pass_begin(c, "copy");
	for (uint64_t done = 0; done < bytes && c->failed.status == RQL_OK; done += PIECE_BYTES) {
		VkBufferCopy region = {
			.srcOffset = source->offset + from_offset + done,
			.dstOffset = target->offset + to_offset + done,
			.size = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES,
		};
		c->gpu->vk.vkCmdCopyBuffer(c->handle, source->block->buffer, target->block->buffer, 1, &region);
	}
	rql_vk_pass_end(c);
}

static void bind(struct rql_vk_commands *c, const struct rql_vk_pipeline *p, const void *args)
{
	if (p->words)
		rql_vk_keep(c, (struct rql_vk_life *)(uintptr_t)&p->life);
	c->gpu->vk.vkCmdBindPipeline(c->handle, VK_PIPELINE_BIND_POINT_COMPUTE, p->handle);
	if (p->base.args_bytes)
		c->gpu->vk.vkCmdPushConstants(c->handle, p->layout, p->stages, 0, p->base.args_bytes, args);
}

/* Two dimensions where one does not suffice, as square as needed: fewer than y groups are beyond the number. */
bool rql_vk_grid(struct rql_vk_commands *c, const char *pass, uint64_t groups, uint32_t *x, uint32_t *y)
{
	const uint32_t *most = c->gpu->properties.limits.maxComputeWorkGroupCount;
	uint64_t high = (groups - 1) / most[0] + 1, wide = (groups - 1) / high + 1;
	*x = (uint32_t)wide;
	*y = (uint32_t)high;
	if (high > most[1])
		record_failed(c, RQL_ERROR_LIMIT, "pass %s needs %llu workgroups; device %s can start %llu at once",
		                     pass, (unsigned long long)groups, c->base.device->id,
		                     (unsigned long long)most[0] * most[1]);
	return high <= most[1];
}

void rql_vk_dispatch(struct rql_commands *commands, const char *pass, const struct rql_pipeline *pipeline,
                     const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count)
{
	struct rql_vk_commands *c = own(commands);
	if (groups == 0) {
		rql_vk_pass_empty(c, pass);
		return;
	}
	uint32_t x, y;
	if (!rql_vk_grid(c, pass, groups, &x, &y))
		return;
	rql_vk_touch(c, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT, VK_ACCESS_SHADER_WRITE_BIT, uses,
	             use_count);
	rql_vk_pass_begin(c, pass);
	if (c->failed.status == RQL_OK) {
		bind(c, (const struct rql_vk_pipeline *)pipeline, args);
		c->gpu->vk.vkCmdDispatch(c->handle, x, y, 1);
	}
	rql_vk_pass_end(c);
}

void rql_vk_dispatch_indirect(struct rql_commands *commands, const char *pass, const struct rql_pipeline *pipeline,
                              const void *args, struct rql_buffer *counts, uint64_t offset, const struct rql_use *uses,
                              uint32_t use_count)
{
	struct rql_vk_commands *c = own(commands);
	const struct rql_vk_buffer *where = own_buffer(counts);
	struct rql_use count_use = {counts, RQL_READ};
	const struct rql_vk_touching groups[] = {
		{.stages = VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, .reads = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
	     .uses = &count_use, .use_count = 1},
		{.stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, .reads = VK_ACCESS_SHADER_READ_BIT,
	     .writes = VK_ACCESS_SHADER_WRITE_BIT, .uses = uses, .use_count = use_count},
	};
	rql_vk_touch_all(c, groups, 2);
	rql_vk_pass_begin(c, pass);
	if (c->failed.status == RQL_OK) {
		bind(c, (const struct rql_vk_pipeline *)pipeline, args);
		c->gpu->vk.vkCmdDispatchIndirect(c->handle, where->block->buffer, where->offset + offset);
	}
	rql_vk_pass_end(c);
}
