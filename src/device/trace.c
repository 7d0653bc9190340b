/* The front door of unit rt; rql_record_trace stands with the other recorders in work.c. */
#include "device/device_internal.h"

#include <math.h>

#define PIECE_NS 2.5e8  /* of a submission, as far as that can be estimated */
#define LEAST_SHARE 256 /* of submission_rays: fewer rays do not fill a device, whatever an estimate says */

#define INTERNAL(err, ...) rql_error_set(err, RQL_ERROR_INTERNAL, __VA_ARGS__)

/* The device is ready and has the unit. */
static rql_status trace_ready(struct rql_device *device, bool there, struct rql_error *err)
{
	if (!device->units[RQL_UNIT_RT])
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s (%s) has no unit rt: %s", device->id, device->name,
		                     device->missing[RQL_UNIT_RT] ? device->missing[RQL_UNIT_RT] : "not known why");
	if (!there)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s cannot do this with acceleration structures",
		                     device->id);
	return RQL_OK;
}

rql_status rql_accel_build(struct rql_device *device, const struct rql_accel_spec *spec, struct rql_progress *progress,
                           struct rql_accel **out, struct rql_error *err)
{
	if (!spec || !spec->what || !spec->fill || (spec->part_count && !spec->part_primitives) || !out)
		return INTERNAL(err, "rql_accel_build: an incomplete specification");
	RQL_TRY(rql_device_ready(device, err));
	RQL_TRY(trace_ready(device, device->ops->accel_build, err));
	for (uint32_t i = 0; i < spec->part_count; i++)
		if (spec->part_primitives[i] > device->limits.part_primitives)
			return INTERNAL(err, "%s: part %u has %llu primitives, device %s allows %llu", spec->what, (unsigned)i,
			                (unsigned long long)spec->part_primitives[i], device->id,
			                (unsigned long long)device->limits.part_primitives);
	return device->ops->accel_build(device, spec, progress, out, err);
}

rql_status rql_accel_refit(struct rql_accel *accel, uint32_t part,
                           rql_status (*fill)(void *state, struct rql_commands *c, uint32_t part,
                                              struct rql_buffer *input, struct rql_error *err),
                           void *state, struct rql_error *err)
{
	if (!accel || !fill || part >= accel->part_count)
		return INTERNAL(err, "rql_accel_refit: no structure, no such part, or nothing that fills it");
	RQL_TRY(rql_device_ready(accel->device, err));
	RQL_TRY(trace_ready(accel->device, accel->device->ops->accel_refit, err));
	return accel->device->ops->accel_refit(accel, part, fill, state, err);
}

void rql_accel_free(struct rql_accel *accel)
{
	if (accel)
		accel->device->ops->accel_free(accel);
}

rql_status rql_accel_write(struct rql_accel *accel,
                           rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
                           void *state, struct rql_error *err)
{
	if (!accel || !put)
		return INTERNAL(err, "rql_accel_write: no structure or nobody who writes");
	RQL_TRY(rql_device_ready(accel->device, err));
	RQL_TRY(trace_ready(accel->device, accel->device->ops->accel_write, err));
	return accel->device->ops->accel_write(accel, put, state, err);
}

rql_status rql_accel_read(struct rql_device *device,
                          rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
                          void *state, struct rql_accel **out, struct rql_error *err)
{
	if (!get || !out)
		return INTERNAL(err, "rql_accel_read: nobody who reads, or no place for the result");
	RQL_TRY(rql_device_ready(device, err));
	RQL_TRY(trace_ready(device, device->ops->accel_read, err));
	return device->ops->accel_read(device, get, state, out, err);
}

rql_status rql_trace_pipeline_get(struct rql_device *device, const struct rql_trace_kernel *kernel,
                                  const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                  struct rql_error *err)
{
	if (!kernel || !kernel->name || !kernel->raygen.spirv || !out)
		return INTERNAL(
			err, "rql_trace_pipeline_get: no kernel, no ray generation shader in it, or no place for the result");
	if (kernel->args_bytes < sizeof(uint64_t) || kernel->args_bytes > RQL_ARGS_MAX || kernel->args_bytes % 4 != 0)
		return INTERNAL(err,
		                "kernel %s has arguments of %u bytes: first_ray and whole words up to %u bytes are allowed",
		                kernel->name, (unsigned)kernel->args_bytes, RQL_ARGS_MAX);
	if (count > RQL_CONSTANTS_MAX || (count && !constants))
		return INTERNAL(err, "kernel %s has %u constants: up to %u are allowed", kernel->name, (unsigned)count,
		                RQL_CONSTANTS_MAX);
	RQL_TRY(rql_device_ready(device, err));
	RQL_TRY(trace_ready(device, device->ops->trace_pipeline, err));
	return device->ops->trace_pipeline(device, kernel, constants, count, out, err);
}

uint64_t rql_trace_piece(const struct rql_device *device, uint64_t rays, double work_ns)
{
	uint64_t most = device->limits.submission_rays ? device->limits.submission_rays : UINT64_MAX;
	uint64_t least = most / LEAST_SHARE + 1;
	double by_time = work_ns > PIECE_NS ? ceil((double)rays / (work_ns / PIECE_NS)) : (double)rays;
	uint64_t piece = rays < most ? rays : most;
	if (by_time < (double)piece)
		piece = by_time > (double)least ? (uint64_t)by_time : least;
	return piece < rays ? piece : rays;
}
