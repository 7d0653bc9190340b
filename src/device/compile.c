/* A GPU's compiling thread and its queue. The thread gets pipelines through the front door as everybody does, so faults
 * reach it, and who wants the kernel that it works on waits for that one alone. */
#include "device/compile.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "device/device_internal.h"

#define PRIORITY 10       /* nice: queries go first, and a run that wants the kernel is not kept for ever */
#define FAILURES_MOST 64u /* remembered; the oldest goes */

static _Thread_local uint64_t compiled_ns;

uint64_t rql_compiled_ns(void)
{
	return compiled_ns;
}

void rql_compiled_add(uint64_t ns)
{
	compiled_ns += ns;
}

struct rql_awaited {
	_Atomic uint32_t references, pending;
	/* Some job found this queue full: it is looked at again. Nobody awaits anything once devices are closed. */
	_Atomic(const struct rql_compiler *) refused_by;
};

struct job {
	const struct rql_kernel *kernel; /* one that is compiled in is known by its address; of a generated one: `own` */
	struct rql_kernel own;           /* its words are the job's */
	uint32_t constants[RQL_CONSTANTS_MAX], count;
	bool generated;
	struct rql_awaited *awaited; /* one reference */
	struct job *next;
};

struct failure {
	uint64_t hash;
	rql_status status;
	char *message; /* malloc'ed */
};

struct rql_compiler {
	struct rql_device *device;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t changed;
	pthread_t thread;
	bool started, stopping, busy;
	struct job *first, **last;
	_Atomic uint32_t queued;
	struct failure failures[FAILURES_MOST];
	uint32_t failure_count; /* ever */
};

/* ---- what is awaited ---- */

struct rql_awaited *rql_awaited_new(void)
{
	struct rql_awaited *awaited = calloc(1, sizeof(*awaited));
	if (awaited)
		atomic_init(&awaited->references, 1);
	return awaited;
}

struct rql_awaited *rql_awaited_retain(struct rql_awaited *awaited)
{
	atomic_fetch_add(&awaited->references, 1);
	return awaited;
}

void rql_awaited_release(struct rql_awaited *awaited)
{
	if (awaited && atomic_fetch_sub(&awaited->references, 1) == 1)
		free(awaited);
}

void rql_awaited_count(struct rql_awaited *awaited)
{
	atomic_fetch_add(&awaited->pending, 1);
}

void rql_awaited_settle(struct rql_awaited *awaited)
{
	atomic_fetch_sub(&awaited->pending, 1);
}

bool rql_awaited_settled(const struct rql_awaited *awaited)
{
	const struct rql_compiler *full = atomic_load(&awaited->refused_by);
	return !atomic_load(&awaited->pending) && (!full || atomic_load(&full->queued) <= RQL_COMPILE_QUEUE / 2);
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	if (job->awaited) {
		atomic_fetch_sub(&job->awaited->pending, 1);
		rql_awaited_release(job->awaited);
	}
	free((void *)(uintptr_t)job->own.spirv);
	free(job);
}

/* ---- failures ---- */

static uint64_t hash_of(const struct rql_kernel *kernel, const uint32_t *constants, uint32_t count)
{
	uint64_t hash = rql_kernel_hash(kernel);
	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ constants[i]) * 0xff51afd7ed558ccdu;
	return hash;
}

static void remember(struct rql_compiler *c, const struct job *job, rql_status status, const struct rql_error *err)
{
	char *message = strdup(rql_error_message(err));
	pthread_mutex_lock(&c->lock);
	struct failure *failure = &c->failures[c->failure_count++ % FAILURES_MOST];
	free(failure->message);
	*failure = (struct failure){hash_of(job->kernel, job->constants, job->count), status, message};
	pthread_mutex_unlock(&c->lock);
}

/* RQL_OK: it has not failed. */
static rql_status known_failure(struct rql_compiler *c, const struct rql_kernel_use *use, struct rql_error *err)
{
	rql_status status = RQL_OK;
	pthread_mutex_lock(&c->lock);
	uint32_t known = c->failure_count < FAILURES_MOST ? c->failure_count : FAILURES_MOST;
	uint64_t hash = known ? hash_of(use->kernel, use->constants, use->count) : 0;
	for (uint32_t i = 0; i < known && status == RQL_OK; i++)
		if (c->failures[i].hash == hash)
			status = rql_error_set(err, c->failures[i].status, "its kernel could not be compiled: %s",
			                       c->failures[i].message ? c->failures[i].message : "out of memory");
	pthread_mutex_unlock(&c->lock);
	return status;
}

/* ---- the thread ---- */

static void compile(struct rql_compiler *c, const struct job *job)
{
	struct rql_error err = {0};
	const struct rql_pipeline *pipeline = NULL;
	rql_status (*get)(struct rql_device *, const struct rql_kernel *, const uint32_t *, uint32_t,
	                  const struct rql_pipeline **, struct rql_error *) =
		job->generated ? rql_pipeline_get_generated : rql_pipeline_get;
	rql_status status = get(c->device, job->kernel, job->constants, job->count, &pipeline, &err);
	if (status != RQL_OK)
		remember(c, job, status, &err);
	else if (job->generated)
		rql_pipeline_release(pipeline); /* the device keeps it for whoever comes */
	rql_error_clear(&err);
}

static void *work(void *state)
{
	struct rql_compiler *c = state;
#ifdef __linux__
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PRIORITY); /* of this thread; it may fail */
#endif
	pthread_mutex_lock(&c->lock);
	while (!c->stopping) {
		struct job *job = c->first;
		if (!job) {
			pthread_cond_wait(&c->changed, &c->lock);
			continue;
		}
		c->first = job->next;
		if (!c->first)
			c->last = &c->first;
		atomic_fetch_sub(&c->queued, 1);
		c->busy = true;
		pthread_mutex_unlock(&c->lock);
		compile(c, job);
		job_free(job);
		pthread_mutex_lock(&c->lock);
		c->busy = false;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* lock held. Signals are the host program's threads' business. */
static rql_status start(struct rql_compiler *c, struct rql_error *err)
{
	sigset_t all, before;
	if (c->started)
		return RQL_OK;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&c->thread, NULL, work, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return rql_error_set(err, RQL_ERROR_MEMORY, "no thread to compile kernels on: %s", strerror(failed));
	c->started = true;
	return RQL_OK;
}

/* ---- the front ---- */

rql_status rql_kernel_look(struct rql_device *device, const struct rql_kernel_use *use, enum rql_kernel_state *out,
                           struct rql_error *err)
{
	RQL_TRY(rql_device_ready(device, err));
	*out = device->ops->pipeline_look ? device->ops->pipeline_look(device, use) : RQL_KERNEL_UNKNOWN;
	return *out == RQL_KERNEL_READY || !device->compiler ? RQL_OK : known_failure(device->compiler, use, err);
}

/* NULL: out of memory. */
static struct job *job_new(const struct rql_kernel_use *use, struct rql_awaited *awaited)
{
	struct job *job = calloc(1, sizeof(*job));
	uint32_t *words = job && use->generated ? malloc(use->kernel->spirv_bytes) : NULL;
	if (!job || (use->generated && !words)) {
		free(job);
		return NULL;
	}
	job->kernel = use->kernel;
	if (words) {
		job->own = *use->kernel;
		job->own.spirv = memcpy(words, use->kernel->spirv, use->kernel->spirv_bytes);
		job->kernel = &job->own;
	}
	memcpy(job->constants, use->constants, use->count * sizeof(*use->constants));
	job->count = use->count;
	job->generated = use->generated;
	job->awaited = rql_awaited_retain(awaited);
	atomic_fetch_add(&awaited->pending, 1);
	return job;
}

rql_status rql_kernel_compile_later(struct rql_device *device, const struct rql_kernel_use *use,
                                    struct rql_awaited *awaited, struct rql_error *err)
{
	struct rql_compiler *c = device->compiler;
	if (!c)
		return rql_error_memory(err, sizeof(*c), "the device's compiler");
	struct job *job = job_new(use, awaited);
	if (!job)
		return rql_error_memory(err, use->kernel->spirv_bytes, "a kernel to compile");
	pthread_mutex_lock(&c->lock);
	const bool full = atomic_load(&c->queued) >= RQL_COMPILE_QUEUE;
	rql_status status = full ? RQL_OK : start(c, err);
	if (full)
		atomic_store(&awaited->refused_by, c);
	if (!full && status == RQL_OK) {
		*c->last = job;
		c->last = &job->next;
		job = NULL;
		atomic_fetch_add(&c->queued, 1);
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	job_free(job);
	return status;
}

void rql_kernels_finish(struct rql_device *device)
{
	struct rql_compiler *c = device->compiler;
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	while (c->first || c->busy)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void rql_compiler_open(struct rql_device *device)
{
	struct rql_compiler *c = calloc(1, sizeof(*c));
	if (!c)
		return; /* then whoever wants a kernel waits for it */
	c->device = device;
	c->last = &c->first;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	device->compiler = c;
}

void rql_compiler_close(struct rql_device *device)
{
	struct rql_compiler *c = device->compiler;
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->started)
		pthread_join(c->thread, NULL);
	while (c->first) {
		struct job *job = c->first;
		c->first = job->next;
		job_free(job);
	}
	for (uint32_t i = 0; i < FAILURES_MOST; i++)
		free(c->failures[i].message);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
	device->compiler = NULL;
}
