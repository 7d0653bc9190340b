/* The front door of a GPU: arguments are checked here, once, so that implementations need not. What is wrong with them is
 * a bug of the caller (RQL_ERROR_INTERNAL), and the message names it. */
#include "device/device_internal.h"

#include <stdarg.h>
#include <string.h>

#define INTERNAL(err, ...) rql_error_set(err, RQL_ERROR_INTERNAL, __VA_ARGS__)

static rql_status missing_op(const struct rql_device *device, const char *what, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s cannot %s", device->id, what);
}

static rql_status not_lost(const struct rql_device *device, struct rql_error *err)
{
	if (!device->ops)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s is no GPU", device->id);
	if (device->lost)
		return rql_error_set(err, RQL_ERROR_DEVICE,
		                     "device %s (%s) was lost earlier; nothing runs on it any more in this process", device->id,
		                     device->name);
	return RQL_OK;
}

rql_status rql_device_ready(struct rql_device *device, struct rql_error *err)
{
	if (!device)
		return INTERNAL(err, "work for no device");
	RQL_TRY(not_lost(device, err));
	return device->ops->start(device, err);
}

rql_status rql_device_start(struct rql_device *device, struct rql_error *err)
{
	return rql_device_ready(device, err);
}

/* ---- memory ---- */

void rql_device_memory(struct rql_device *device, uint64_t *available, uint64_t *total)
{
	*available = *total = device->memory_bytes;
	if (device->ops && device->lost)
		*available = 0;
	else if (device->ops && device->ops->memory)
		device->ops->memory(device, available, total);
}

rql_status rql_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                          struct rql_buffer **out, struct rql_error *err)
{
	if (!what || !out || (unsigned)memory >= RQL_MEMORY_COUNT)
		return INTERNAL(err, "rql_buffer_new: no name, no place for the result, or memory kind %u", (unsigned)memory);
	RQL_TRY(rql_device_ready(device, err));
	if (bytes > device->limits.buffer_bytes)
		return rql_error_set(
			err, RQL_ERROR_LIMIT, "%s needs %.1f MiB in one piece, device %s (%s) gives at most %.1f MiB", what,
			(double)bytes / 1048576, device->id, device->name, (double)device->limits.buffer_bytes / 1048576);
	return device->ops->buffer_new(device, bytes, memory, what, out, err);
}

void rql_buffer_free(struct rql_buffer *buffer)
{
	if (buffer)
		buffer->device->ops->buffer_free(buffer);
}

static bool in_range(const struct rql_buffer *buffer, uint64_t offset, uint64_t bytes)
{
	return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

static rql_status check_transfer(const struct rql_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                                 const char *what, struct rql_error *err)
{
	if (!buffer || (bytes && !data))
		return INTERNAL(err, "%s: no buffer or no data", what);
	if (!in_range(buffer, offset, bytes))
		return INTERNAL(err, "%s: %llu bytes at %llu of a buffer of %llu", what, (unsigned long long)bytes,
		                (unsigned long long)offset, (unsigned long long)buffer->bytes);
	return not_lost(buffer->device, err);
}

rql_status rql_buffer_upload(struct rql_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                             struct rql_error *err)
{
	RQL_TRY(check_transfer(buffer, offset, data, bytes, "rql_buffer_upload", err));
	return buffer->device->ops->upload(buffer, offset, data, bytes, err);
}

rql_status rql_buffer_download(struct rql_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                               struct rql_error *err)
{
	RQL_TRY(check_transfer(buffer, offset, data, bytes, "rql_buffer_download", err));
	return buffer->device->ops->download(buffer, offset, data, bytes, err);
}

/* ---- kernels ---- */

rql_status rql_kernel_check(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                            uint32_t count, bool place, struct rql_error *err)
{
	if (!kernel || !kernel->name || !kernel->spirv || !place)
		return INTERNAL(err, "rql_pipeline_get: no kernel or no place for the result");
	if (kernel->args_bytes > RQL_ARGS_MAX || kernel->args_bytes % 4 != 0)
		return INTERNAL(err, "kernel %s has arguments of %u bytes: a multiple of 4 up to %u is allowed", kernel->name,
		                (unsigned)kernel->args_bytes, RQL_ARGS_MAX);
	if (!constants || count == 0 || count > RQL_CONSTANTS_MAX)
		return INTERNAL(err, "kernel %s has %u constants: 1 (the workgroup's size) to %u are allowed", kernel->name,
		                (unsigned)count, RQL_CONSTANTS_MAX);
	RQL_TRY(rql_device_ready(device, err));
	if (!device->ops->pipeline || !device->ops->pipeline_generated)
		return missing_op(device, "run kernels", err);
	if (constants[0] == 0 || constants[0] > device->limits.group_size)
		return INTERNAL(err, "kernel %s asks for workgroups of %u, device %s allows 1 to %u", kernel->name,
		                (unsigned)constants[0], device->id, (unsigned)device->limits.group_size);
	return RQL_OK;
}

rql_status rql_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                            uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	RQL_TRY(rql_kernel_check(device, kernel, constants, count, out != NULL, err));
	return device->ops->pipeline(device, kernel, constants, count, out, err);
}

rql_status rql_pipeline_get_generated(struct rql_device *device, const struct rql_kernel *kernel,
                                      const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                      struct rql_error *err)
{
	RQL_TRY(rql_kernel_check(device, kernel, constants, count, out != NULL, err));
	return device->ops->pipeline_generated(device, kernel, constants, count, out, err);
}

void rql_pipeline_release(const struct rql_pipeline *pipeline)
{
	if (pipeline)
		pipeline->device->ops->pipeline_release(pipeline);
}

/* ---- recording ---- */

rql_status rql_commands_new(struct rql_device *device, unsigned flags, struct rql_commands **out, struct rql_error *err)
{
	if (!out || (flags & ~RQL_COMMANDS_TIMED))
		return INTERNAL(err, "rql_commands_new: no place for the result, or flags %#x", flags);
	RQL_TRY(rql_device_ready(device, err));
	if (!device->ops->commands_new)
		return missing_op(device, "record commands", err);
	return device->ops->commands_new(device, flags, out, err);
}

rql_status rql_commands_end(struct rql_commands *c, struct rql_error *err)
{
	if (!c)
		return INTERNAL(err, "rql_commands_end: no recording");
	if (c->ended)
		return INTERNAL(err, "a recording was ended twice");
	if (c->misuse.status != RQL_OK)
		return rql_error_set(err, c->misuse.status, "%s", rql_error_message(&c->misuse));
	RQL_TRY(not_lost(c->device, err));
	return c->device->ops->commands_end(c, err);
}

void rql_commands_free(struct rql_commands *c)
{
	if (!c)
		return;
	rql_error_clear(&c->misuse);
	c->device->ops->commands_free(c);
}

void rql_record_misuse(struct rql_commands *c, const char *fmt, ...)
{
	if (c->misuse.status != RQL_OK)
		return;
	va_list args;
	va_start(args, fmt);
	rql_error_vset(&c->misuse, RQL_ERROR_INTERNAL, fmt, args);
	va_end(args);
}

#define MISUSE rql_record_misuse

bool rql_record_may(struct rql_commands *c, const char *what, bool there)
{
	if (!there)
		MISUSE(c, "%s: device %s has no such operation", what, c->device->id);
	else if (c->ended)
		MISUSE(c, "%s: the recording has ended", what);
	return there && !c->ended && c->misuse.status == RQL_OK;
}

bool rql_record_range(struct rql_commands *c, const char *what, const struct rql_buffer *buffer, uint64_t offset,
                      uint64_t bytes)
{
	if (!buffer || buffer->device != c->device)
		MISUSE(c, "%s: no buffer, or one of another device", what);
	else if (!in_range(buffer, offset, bytes))
		MISUSE(c, "%s: %llu bytes at %llu of a buffer of %llu", what, (unsigned long long)bytes,
		       (unsigned long long)offset, (unsigned long long)buffer->bytes);
	else if (offset % 4 != 0 || bytes % 4 != 0)
		MISUSE(c, "%s: %llu bytes at %llu are no whole words", what, (unsigned long long)bytes,
		       (unsigned long long)offset);
	return c->misuse.status == RQL_OK;
}

bool rql_record_pass(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                     enum rql_pipeline_kind kind, const void *args, const struct rql_use *uses, uint32_t use_count)
{
	if (!pass || !pipeline || pipeline->device != c->device || pipeline->kind != kind)
		MISUSE(c, "pass %s: no pipeline, one of another device, or of another kind", pass ? pass : "(no name)");
	else if (pipeline->args_bytes && !args)
		MISUSE(c, "pass %s: no arguments", pass);
	for (uint32_t i = 0; i < use_count; i++)
		if (!uses[i].buffer || uses[i].buffer->device != c->device || uses[i].access < RQL_READ ||
		    uses[i].access > RQL_UPDATE)
			MISUSE(c, "pass %s: use %u has no buffer, one of another device, or no access", pass ? pass : "(no name)",
			       (unsigned)i);
	return c->misuse.status == RQL_OK;
}

void rql_record_fill(struct rql_commands *c, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t word)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (rql_record_may(c, "rql_record_fill", ops->fill) &&
	    rql_record_range(c, "rql_record_fill", buffer, offset, bytes) && bytes > 0)
		ops->fill(c, buffer, offset, bytes, word);
}

void rql_record_copy(struct rql_commands *c, struct rql_buffer *from, uint64_t from_offset, struct rql_buffer *to,
                     uint64_t to_offset, uint64_t bytes)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (!rql_record_may(c, "rql_record_copy", ops->copy) ||
	    !rql_record_range(c, "rql_record_copy, from", from, from_offset, bytes) ||
	    !rql_record_range(c, "rql_record_copy, to", to, to_offset, bytes))
		return;
	if (from == to && from_offset < to_offset + bytes && to_offset < from_offset + bytes && bytes > 0)
		MISUSE(c, "rql_record_copy: the ranges overlap");
	else if (bytes > 0)
		ops->copy(c, from, from_offset, to, to_offset, bytes);
}

void rql_record_dispatch(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                         const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count)
{
	const struct rql_device_ops *ops = c->device->ops;
	/* Without workgroups it is still a pass in the list of times. */
	if (rql_record_may(c, "rql_record_dispatch", ops->dispatch) &&
	    rql_record_pass(c, pass, pipeline, RQL_PIPELINE_COMPUTE, args, uses, use_count))
		ops->dispatch(c, pass, pipeline, args, groups, uses, use_count);
}

void rql_record_dispatch_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                  const void *args, struct rql_buffer *counts, uint64_t offset,
                                  const struct rql_use *uses, uint32_t use_count)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (rql_record_may(c, "rql_record_dispatch_indirect", ops->dispatch_indirect) &&
	    rql_record_pass(c, pass, pipeline, RQL_PIPELINE_COMPUTE, args, uses, use_count) &&
	    rql_record_range(c, "rql_record_dispatch_indirect", counts, offset, 3 * sizeof(uint32_t)))
		ops->dispatch_indirect(c, pass, pipeline, args, counts, offset, uses, use_count);
}

void rql_record_trace(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
                      uint64_t rays, struct rql_accel *const *accels, uint32_t accel_count, const struct rql_use *uses,
                      uint32_t use_count)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (!rql_record_may(c, "rql_record_trace", ops->trace) ||
	    !rql_record_pass(c, pass, pipeline, RQL_PIPELINE_TRACE, args, uses, use_count))
		return;
	for (uint32_t i = 0; i < accel_count; i++)
		if (!accels[i] || accels[i]->device != c->device)
			MISUSE(c, "pass %s: structure %u is missing or of another device", pass, (unsigned)i);
	if (c->misuse.status == RQL_OK && rays > 0)
		ops->trace(c, pass, pipeline, args, rays, accels, accel_count, uses, use_count);
}

/* ---- running ---- */

rql_status rql_submit_all(struct rql_commands *const *list, uint32_t count, uint64_t *ticket, struct rql_error *err)
{
	if (!count || count > RQL_SUBMIT_MOST || !ticket)
		return INTERNAL(err, "rql_submit_all: %u recordings of at most %u, or no place for the ticket", (unsigned)count,
		                RQL_SUBMIT_MOST);
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i] || !list[i]->ended || list[i]->device != list[0]->device)
			return INTERNAL(err, "rql_submit: recording %u is missing, has not ended or is another device's", (unsigned)i);
		for (uint32_t k = 0; k < i; k++)
			if (list[k] == list[i])
				return INTERNAL(err, "rql_submit_all: recording %u is there twice", (unsigned)i);
	}
	RQL_TRY(not_lost(list[0]->device, err));
	return list[0]->device->ops->submit(list, count, ticket, err);
}

rql_status rql_submit(struct rql_commands *c, uint64_t *ticket, struct rql_error *err)
{
	return rql_submit_all(&c, 1, ticket, err);
}

rql_status rql_wait(struct rql_device *device, uint64_t ticket, struct rql_progress *progress, struct rql_error *err)
{
	if (!device)
		return INTERNAL(err, "rql_wait: no device");
	RQL_TRY(not_lost(device, err));
	if (!device->ops->wait)
		return missing_op(device, "wait", err);
	return device->ops->wait(device, ticket, progress, err);
}

bool rql_is_done(struct rql_device *device, uint64_t ticket)
{
	return !device->ops || !device->ops->is_done || device->ops->is_done(device, ticket);
}

uint32_t rql_commands_times(struct rql_commands *c, struct rql_pass_time *times, uint32_t max, double *total_ns)
{
	if (total_ns)
		*total_ns = 0;
	return c->device->ops->times ? c->device->ops->times(c, times, max, total_ns) : 0;
}

rql_status rql_commands_run(struct rql_commands *c, struct rql_progress *progress, struct rql_error *err)
{
	uint64_t ticket;
	RQL_TRY(rql_submit(c, &ticket, err));
	return rql_wait(c->device, ticket, progress, err);
}

rql_status rql_commands_finish(struct rql_commands *c, rql_status status, struct rql_progress *progress, double *ns,
                               struct rql_error *err)
{
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	if (status == RQL_OK)
		status = rql_commands_run(c, progress, err);
	if (status == RQL_OK && ns)
		(void)rql_commands_times(c, NULL, 0, ns);
	rql_commands_free(c);
	return status;
}
