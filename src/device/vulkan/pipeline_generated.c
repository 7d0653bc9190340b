/* Pipelines of generated kernels: a cache by the kernel's words, the least recently asked for out first. A process that
 * answers ever new shapes of queries makes ever new kernels, so these must be able to go, while recordings that were
 * made of them may still be submitted: a pipeline is destroyed when the last of those has gone (rql_vk_life). */
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/vulkan_internal.h"

static bool is_same(const struct rql_vk_pipeline *p, const struct rql_kernel *kernel, uint64_t hash,
                    const uint32_t *constants, uint32_t count)
{
	return p->hash == hash && p->words_bytes == kernel->spirv_bytes && p->base.args_bytes == kernel->args_bytes &&
	       p->constant_count == count && memcmp(p->constants, constants, count * sizeof(*constants)) == 0 &&
	       memcmp(p->words, kernel->spirv, kernel->spirv_bytes) == 0;
}

static void bury(struct rql_vk_gpu *gpu, void *object)
{
	rql_vk_pipeline_destroy(gpu, object);
}

/* Without a handle yet; NULL: out of memory. */
static struct rql_vk_pipeline *blank(struct rql_vk_gpu *gpu, const struct rql_kernel *kernel, uint64_t hash,
                                     const uint32_t *constants, uint32_t count)
{
	struct rql_vk_pipeline *p = calloc(1, sizeof(*p));
	uint32_t *words = malloc(kernel->spirv_bytes);
	if (!p || !words) {
		free(p);
		free(words);
		return NULL;
	}
	memcpy(words, kernel->spirv, kernel->spirv_bytes);
	*p = (struct rql_vk_pipeline){.base = {.device = gpu->device, .args_bytes = kernel->args_bytes},
	                              .constant_count = count,
	                              .words = words,
	                              .words_bytes = kernel->spirv_bytes,
	                              .hash = hash,
	                              .life = {.bury = bury, .object = p}};
	atomic_init(&p->life.holders, 1);
	memcpy(p->constants, constants, count * sizeof(*constants));
	return p;
}

/* pipeline_lock held. The place that points to the kernel's entry, or the list's end. */
static struct rql_vk_pipeline **place_of(struct rql_vk_gpu *gpu, const struct rql_kernel *kernel, uint64_t hash,
                                         const uint32_t *constants, uint32_t count)
{
	struct rql_vk_pipeline **at = &gpu->generated;
	while (*at && !is_same(*at, kernel, hash, constants, count))
		at = &(*at)->next;
	return at;
}

/* pipeline_lock held: the newest, with one reference more. */
static void put_first(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p)
{
	p->next = gpu->generated;
	gpu->generated = p;
	p->references++;
}

/* pipeline_lock held, but not while the driver works: whoever wants the same kernel waits, all others go on. What fails is
 * taken out again. */
static rql_status make(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *p, const struct rql_kernel *kernel,
                       bool cached_only, struct rql_error *err)
{
	p->compiling = true;
	put_first(gpu, p);
	gpu->generated_count++;
	pthread_mutex_unlock(&gpu->pipeline_lock);
	rql_status status = rql_vk_pipeline_compile(gpu, p, kernel, cached_only, err);
	pthread_mutex_lock(&gpu->pipeline_lock);
	p->compiling = false;
	if (status != RQL_OK) {
		struct rql_vk_pipeline **at = &gpu->generated;
		while (*at != p)
			at = &(*at)->next;
		*at = p->next;
		gpu->generated_count--;
	}
	pthread_cond_broadcast(&gpu->pipeline_made);
	return status;
}

/* pipeline_lock held. Takes out of the list what is too many and nobody's; the caller lets it go without the lock. */
static struct rql_vk_pipeline *take_surplus(struct rql_vk_gpu *gpu)
{
	struct rql_vk_pipeline *surplus = NULL;
	while (gpu->generated_count > gpu->generated_most) {
		struct rql_vk_pipeline **last = NULL;
		for (struct rql_vk_pipeline **at = &gpu->generated; *at; at = &(*at)->next)
			if (!(*at)->references)
				last = at;
		if (!last) /* all are in use: so many there must be */
			break;
		struct rql_vk_pipeline *p = *last;
		*last = p->next;
		p->next = surplus;
		surplus = p;
		gpu->generated_count--;
	}
	return surplus;
}

static void let_go(struct rql_vk_gpu *gpu, struct rql_vk_pipeline *surplus)
{
	while (surplus) {
		struct rql_vk_pipeline *p = surplus;
		surplus = p->next;
		rql_vk_release(gpu, &p->life);
	}
}

rql_status rql_vk_pipeline_get_generated(struct rql_device *device, const struct rql_kernel *kernel,
                                         const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                         struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	uint64_t hash = rql_kernel_hash(kernel);
	struct rql_vk_pipeline *surplus = NULL, **at, *p;
	rql_status status = RQL_OK;
	pthread_mutex_lock(&gpu->pipeline_lock);
	while (*(at = place_of(gpu, kernel, hash, constants, count)) && (*at)->compiling)
		pthread_cond_wait(&gpu->pipeline_made, &gpu->pipeline_lock);
	p = *at;
	if (p) {
		*at = p->next;
		put_first(gpu, p);
	} else {
		p = blank(gpu, kernel, hash, constants, count);
		status = p ? make(gpu, p, kernel, false, err) : rql_error_memory(err, kernel->spirv_bytes, "a kernel's pipeline");
	}
	if (status == RQL_OK)
		surplus = take_surplus(gpu);
	pthread_mutex_unlock(&gpu->pipeline_lock);
	let_go(gpu, surplus);
	if (status == RQL_OK)
		*out = &p->base;
	else if (p)
		rql_vk_pipeline_destroy(gpu, p);
	return status;
}

enum rql_kernel_state rql_vk_pipeline_look_generated(struct rql_vk_gpu *gpu, const struct rql_kernel_use *use)
{
	const uint64_t hash = rql_kernel_hash(use->kernel);
	struct rql_vk_pipeline *p, *unmade = NULL, *surplus = NULL;
	enum rql_kernel_state state = gpu->asks_cache ? RQL_KERNEL_MISSING : RQL_KERNEL_UNKNOWN;
	pthread_mutex_lock(&gpu->pipeline_lock);
	p = *place_of(gpu, use->kernel, hash, use->constants, use->count);
	if (p && !p->compiling)
		state = RQL_KERNEL_READY;
	else if (!p && gpu->asks_cache)
		unmade = blank(gpu, use->kernel, hash, use->constants, use->count);
	if (unmade && make(gpu, unmade, use->kernel, true, NULL) == RQL_OK) {
		unmade->references--;
		unmade = NULL;
		state = RQL_KERNEL_READY;
		surplus = take_surplus(gpu);
	}
	pthread_mutex_unlock(&gpu->pipeline_lock);
	let_go(gpu, surplus);
	if (unmade)
		rql_vk_pipeline_destroy(gpu, unmade);
	return state;
}

void rql_vk_pipeline_release(const struct rql_pipeline *pipeline)
{
	struct rql_vk_gpu *gpu = rql_vk_of(pipeline->device);
	struct rql_vk_pipeline *p = (struct rql_vk_pipeline *)(uintptr_t)pipeline;
	pthread_mutex_lock(&gpu->pipeline_lock);
	p->references--;
	struct rql_vk_pipeline *surplus = take_surplus(gpu);
	pthread_mutex_unlock(&gpu->pipeline_lock);
	let_go(gpu, surplus);
}
