/* Faults on purpose: the wrapper around a device's ops that counts calls and lets one of them fail, or compiling be slow. */
#include "device/fault/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "device/device_internal.h"

/* device->fault. */
struct fault {
	const struct rql_device_ops *real;
	struct rql_device_ops ops; /* the real ones but for what is wrapped */
	enum rql_fault_kind kind;
	uint64_t nth; /* 0: none */
	_Atomic bool struck;
	bool lost_by_us;
	_Atomic uint64_t count[RQL_FAULT_KIND_COUNT];
};

static struct fault *fault_of(const struct rql_device *device)
{
	return device->fault;
}

/* Counts a call; true when it is the one that fails. */
static bool strikes(struct fault *fault, enum rql_fault_kind kind)
{
	uint64_t number = atomic_fetch_add(&fault->count[kind], 1) + 1;
	if (fault->kind != kind || number != fault->nth) /* SLOW: nth is no number of a call, and never asked for here */
		return false;
	fault->struck = true;
	return true;
}

static rql_status allocation(struct rql_device *device, const char *what, struct rql_error *err)
{
	if (!strikes(fault_of(device), RQL_FAULT_ALLOCATION))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_LIMIT,
	                     "device %s has no memory left for %s (RAYQL_FAULT); drop structures or use another device",
	                     device->id, what);
}

static rql_status submission(struct rql_device *device, struct rql_error *err)
{
	struct fault *fault = fault_of(device);
	bool fails = strikes(fault, RQL_FAULT_SUBMISSION), lost = strikes(fault, RQL_FAULT_LOST);
	if (lost) {
		fault->lost_by_us = true;
		device->lost = true;
		return rql_error_set(err, RQL_ERROR_DEVICE, "device %s (%s) was lost (RAYQL_FAULT)", device->id, device->name);
	}
	if (fails)
		return rql_error_set(err, RQL_ERROR_DEVICE, "device %s (%s) failed: a submission (RAYQL_FAULT)", device->id,
		                     device->name);
	return RQL_OK;
}

static rql_status waiting(struct rql_device *device, struct rql_error *err)
{
	if (!strikes(fault_of(device), RQL_FAULT_WAIT))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_DEVICE, "device %s (%s) failed: waiting for it (RAYQL_FAULT)", device->id,
	                     device->name);
}

/* Before the driver makes a pipeline that is not ready. */
static rql_status compiling(struct rql_device *device, const struct rql_kernel_use *use, struct rql_error *err)
{
	struct fault *fault = fault_of(device);
	if (fault->real->pipeline_look && fault->real->pipeline_look(device, use) == RQL_KERNEL_READY)
		return RQL_OK;
	atomic_fetch_add(&fault->count[RQL_FAULT_SLOW], 1);
	if (fault->kind == RQL_FAULT_SLOW && fault->nth) {
		const struct timespec time = {.tv_sec = (time_t)(fault->nth / 1000),
		                              .tv_nsec = (long)(fault->nth % 1000) * 1000000};
		fault->struck = true;
		(void)nanosleep(&time, NULL);
	}
	if (!strikes(fault, RQL_FAULT_COMPILE))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_DEVICE, "device %s (%s) failed: compiling kernel %s (RAYQL_FAULT)", device->id,
	                     device->name, use->kernel->name);
}

/* ---- the wrapped calls: what is built of them inside a device (structures) comes through the front door too ---- */

static rql_status fault_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                                   struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(allocation(device, what, err));
	return fault_of(device)->real->buffer_new(device, bytes, memory, what, out, err);
}

static rql_status fault_image_new(struct rql_device *device, const struct rql_image_spec *spec, const char *what,
                                  struct rql_image **out, struct rql_error *err)
{
	RQL_TRY(allocation(device, what, err));
	return fault_of(device)->real->image_new(device, spec, what, out, err);
}

static rql_status fault_upload(struct rql_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                               struct rql_error *err)
{
	RQL_TRY(submission(buffer->device, err));
	return fault_of(buffer->device)->real->upload(buffer, offset, data, bytes, err);
}

static rql_status fault_download(struct rql_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                                 struct rql_error *err)
{
	RQL_TRY(submission(buffer->device, err));
	RQL_TRY(waiting(buffer->device, err));
	return fault_of(buffer->device)->real->download(buffer, offset, data, bytes, err);
}

static rql_status fault_pipeline(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                                 uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	const struct rql_kernel_use use = {.kernel = kernel, .constants = constants, .count = count};
	RQL_TRY(compiling(device, &use, err));
	return fault_of(device)->real->pipeline(device, kernel, constants, count, out, err);
}

static rql_status fault_pipeline_generated(struct rql_device *device, const struct rql_kernel *kernel,
                                           const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                           struct rql_error *err)
{
	const struct rql_kernel_use use = {.kernel = kernel, .constants = constants, .count = count, .generated = true};
	RQL_TRY(compiling(device, &use, err));
	return fault_of(device)->real->pipeline_generated(device, kernel, constants, count, out, err);
}

static rql_status fault_submit(struct rql_commands *const *list, uint32_t count, uint64_t *ticket,
                               struct rql_error *err)
{
	RQL_TRY(submission(list[0]->device, err));
	return fault_of(list[0]->device)->real->submit(list, count, ticket, err);
}

static rql_status fault_wait(struct rql_device *device, uint64_t ticket, struct rql_progress *progress,
                             struct rql_error *err)
{
	RQL_TRY(waiting(device, err));
	return fault_of(device)->real->wait(device, ticket, progress, err);
}

/* ---- setting ---- */

static void wrap(struct fault *fault)
{
	fault->ops = *fault->real;
#define WRAP(op)                                                                                                       \
	if (fault->real->op)                                                                                               \
		fault->ops.op = fault_##op;
	WRAP(buffer_new)
	WRAP(image_new)
	WRAP(upload)
	WRAP(download)
	WRAP(pipeline)
	WRAP(pipeline_generated)
	WRAP(submit)
	WRAP(wait)
#undef WRAP
}

rql_status rql_fault_set(struct rql_device *device, enum rql_fault_kind kind, uint64_t nth, struct rql_error *err)
{
	struct fault *fault = device->fault;
	if (!device->ops || (unsigned)kind >= RQL_FAULT_KIND_COUNT)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "rql_fault_set: device %s is no GPU, or fault kind %u",
		                     device->id, (unsigned)kind);
	if (!fault) {
		fault = calloc(1, sizeof(*fault));
		if (!fault)
			return rql_error_memory(err, sizeof(*fault), "a fault");
		fault->real = device->ops;
		wrap(fault);
		device->fault = fault;
		device->ops = &fault->ops;
	}
	if (fault->lost_by_us)
		device->lost = false;
	fault->lost_by_us = false;
	fault->struck = false;
	fault->kind = kind;
	fault->nth = nth;
	for (unsigned i = 0; i < RQL_FAULT_KIND_COUNT; i++)
		fault->count[i] = 0;
	return RQL_OK;
}

uint64_t rql_fault_count(const struct rql_device *device, enum rql_fault_kind kind)
{
	const struct fault *fault = fault_of(device);
	return fault && (unsigned)kind < RQL_FAULT_KIND_COUNT ? fault->count[kind] : 0;
}

bool rql_fault_struck(const struct rql_device *device)
{
	return device->fault && fault_of(device)->struck;
}

void rql_fault_remove(struct rql_device *device)
{
	struct fault *fault = device->fault;
	if (!fault)
		return;
	if (fault->lost_by_us)
		device->lost = false;
	device->ops = fault->real;
	device->fault = NULL;
	free(fault);
}

void rql_fault_apply(struct rql_device *device)
{
	static const char *const names[RQL_FAULT_KIND_COUNT] = {"allocation", "submission", "wait",
	                                                         "lost",       "compile",    "slow"};
	const char *text = getenv("RAYQL_FAULT");
	char id[64], kind[64];
	unsigned long long nth;
	if (!text || !device->ops)
		return;
	rql_status status = RQL_ERROR_MISUSE;
	if (sscanf(text, "%63s %63s %llu", id, kind, &nth) == 3 && nth > 0)
		for (unsigned i = 0; i < RQL_FAULT_KIND_COUNT && status != RQL_OK; i++)
			if (strcasecmp(kind, names[i]) == 0)
				status = strcmp(id, "*") == 0 || strcasecmp(id, device->id) == 0 ? rql_fault_set(device, i, nth, NULL)
				                                                                 : RQL_OK;
	if (status != RQL_OK) /* a test that sets no fault by a slip of the pen would pass */
		fprintf(stderr, "rayql: RAYQL_FAULT=\"%s\" is not \"<device or *> allocation|submission|wait|lost|compile|slow <number>\"\n",
		        text);
}
