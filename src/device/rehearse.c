/* The device of a rehearsal: ops that do nothing but show kernels. */
#include "device/rehearse.h"

#include <stdlib.h>

#include "device/device_internal.h"

#define ADDRESS 256u /* of every buffer: recordings reckon with addresses, nobody follows them */

struct rql_rehearsal {
	struct rql_device device; /* the first member: ops find the rehearsal by it */
	struct rql_buffer any;
	struct rql_pipeline pipeline; /* whatever kernel was asked for */
	rql_see_kernel *see;
	void *state;
};

static rql_status start(struct rql_device *device, struct rql_error *err)
{
	(void)device;
	(void)err;
	return RQL_OK;
}

static rql_status buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                             struct rql_buffer **out, struct rql_error *err)
{
	struct rql_buffer *buffer = calloc(1, sizeof(*buffer));
	void *map = memory == RQL_MEMORY_DEVICE ? NULL : calloc(1, bytes + 1);
	if (!buffer || (memory != RQL_MEMORY_DEVICE && !map)) {
		free(buffer);
		free(map);
		return rql_error_memory(err, bytes, what);
	}
	*buffer = (struct rql_buffer){.device = device, .bytes = bytes, .address = ADDRESS, .map = map, .memory = memory};
	*out = buffer;
	return RQL_OK;
}

static void buffer_free(struct rql_buffer *buffer)
{
	free(buffer->map);
	free(buffer);
}

static rql_status show(struct rql_device *device, const struct rql_kernel_use *use, const struct rql_pipeline **out,
                       struct rql_error *err)
{
	struct rql_rehearsal *r = (struct rql_rehearsal *)device;
	RQL_TRY(r->see(r->state, use, err));
	*out = &r->pipeline;
	return RQL_OK;
}

static rql_status pipeline(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                           uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	const struct rql_kernel_use use = {.kernel = kernel, .constants = constants, .count = count};
	return show(device, &use, out, err);
}

static rql_status pipeline_generated(struct rql_device *device, const struct rql_kernel *kernel,
                                     const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                     struct rql_error *err)
{
	const struct rql_kernel_use use = {.kernel = kernel, .constants = constants, .count = count, .generated = true};
	return show(device, &use, out, err);
}

static void pipeline_release(const struct rql_pipeline *of)
{
	(void)of;
}

static rql_status commands_new(struct rql_device *device, unsigned flags, struct rql_commands **out,
                               struct rql_error *err)
{
	struct rql_commands *commands = calloc(1, sizeof(*commands));
	(void)flags;
	if (!commands)
		return rql_error_memory(err, sizeof(*commands), "a rehearsal");
	commands->device = device;
	*out = commands;
	return RQL_OK;
}

static rql_status commands_end(struct rql_commands *c, struct rql_error *err)
{
	(void)err;
	c->ended = true;
	return RQL_OK;
}

static void commands_free(struct rql_commands *c)
{
	free(c);
}

static void fill(struct rql_commands *c, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t word)
{
	(void)c, (void)buffer, (void)offset, (void)bytes, (void)word;
}

static void copy(struct rql_commands *c, struct rql_buffer *from, uint64_t from_offset, struct rql_buffer *to,
                 uint64_t to_offset, uint64_t bytes)
{
	(void)c, (void)from, (void)from_offset, (void)to, (void)to_offset, (void)bytes;
}

static void dispatch(struct rql_commands *c, const char *pass, const struct rql_pipeline *of, const void *args,
                     uint64_t groups, const struct rql_use *uses, uint32_t use_count)
{
	(void)c, (void)pass, (void)of, (void)args, (void)groups, (void)uses, (void)use_count;
}

static void dispatch_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *of, const void *args,
                              struct rql_buffer *counts, uint64_t offset, const struct rql_use *uses,
                              uint32_t use_count)
{
	(void)c, (void)pass, (void)of, (void)args, (void)counts, (void)offset, (void)uses, (void)use_count;
}

/* Nothing is submitted, waited for or copied: the front door finds no such operations. */
static const struct rql_device_ops ops = {.start = start,
                                          .buffer_new = buffer_new,
                                          .buffer_free = buffer_free,
                                          .pipeline = pipeline,
                                          .pipeline_generated = pipeline_generated,
                                          .pipeline_release = pipeline_release,
                                          .commands_new = commands_new,
                                          .commands_end = commands_end,
                                          .commands_free = commands_free,
                                          .fill = fill,
                                          .copy = copy,
                                          .dispatch = dispatch,
                                          .dispatch_indirect = dispatch_indirect};

rql_status rql_rehearsal_new(const struct rql_device *device, rql_see_kernel *see, void *state,
                             struct rql_rehearsal **out, struct rql_error *err)
{
	struct rql_rehearsal *r = calloc(1, sizeof(*r));
	if (!r)
		return rql_error_memory(err, sizeof(*r), "a rehearsal");
	r->device.index = device->index;
	r->device.kind = device->kind;
	r->device.id = device->id;
	r->device.name = device->name;
	r->device.simd = device->simd;
	r->device.pool = device->pool;
	r->device.host = device->host;
	r->device.limits = device->limits;
	r->device.limits.buffer_bytes = UINT64_MAX; /* whether there is room is the run's to find out */
	r->device.ops = &ops;
	r->any = (struct rql_buffer){.device = &r->device, .bytes = UINT64_MAX / 2, .address = ADDRESS};
	r->pipeline = (struct rql_pipeline){.device = &r->device, .kind = RQL_PIPELINE_COMPUTE};
	r->see = see;
	r->state = state;
	*out = r;
	return RQL_OK;
}

void rql_rehearsal_free(struct rql_rehearsal *rehearsal)
{
	free(rehearsal);
}

struct rql_device *rql_rehearsal_device(struct rql_rehearsal *rehearsal)
{
	return &rehearsal->device;
}

struct rql_buffer *rql_rehearsal_buffer(struct rql_rehearsal *rehearsal)
{
	return &rehearsal->any;
}
