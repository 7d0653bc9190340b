/* What a random read of a GPU's memory takes, which is what look-ups are made of: points in a direct map that is larger than
 * the device's cache, one sector each, on the device's own clock. */
#include "method/index/compute/index_compute.h"

#include <math.h>
#include <stdlib.h>

#include "primitive/lookup/lookup.h"

#define RUNS 3u
#define LEAST_SLOTS (UINT64_C(1) << 20)
#define LEAST_NS 1e-3
#define MOST_NS 1e4

struct rig {
	struct rql_device *device;
	struct rql_lookup_batch lookup; /* its buffers are the rig's */
};

static rql_status fill_slots(const struct rig *rig, uint64_t slots, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(rig->device, 0, &c, err));
	rql_record_fill(c, rig->lookup.map.slots.buffer, 0, slots * 4, 0);
	return rql_commands_finish(c, RQL_OK, NULL, NULL, err);
}

/* Any integers of the map: a generator of full period, mixed, so that neighbours meet other sectors. */
static rql_status send_points(const struct rig *rig, uint64_t slots, struct rql_error *err)
{
	const uint64_t count = rig->lookup.count;
	uint32_t *points = malloc(count * sizeof(*points));
	if (!points)
		return rql_error_memory(err, count * sizeof(*points), "calibrating look-ups");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
		points[i] = (uint32_t)(x >> 32) % (uint32_t)slots;
	}
	rql_status status = rql_buffer_upload(rig->lookup.points.buffer, 0, points, count * sizeof(*points), err);
	free(points);
	return status;
}

static rql_status make_rig(struct rig *rig, uint64_t slots, uint64_t probes, struct rql_error *err)
{
	struct rql_lookup_batch *l = &rig->lookup;
	l->map = (struct rql_lookup_map){.form = RQL_LOOKUP_DIRECT, .key_bits = 32, .count = slots, .high = slots - 1};
	l->count = probes;
	l->order = 1; /* as they come */
	RQL_TRY(rql_buffer_new(rig->device, slots * 4, RQL_MEMORY_DEVICE, "calibration", &l->map.slots.buffer, err));
	RQL_TRY(rql_buffer_new(rig->device, 8, RQL_MEMORY_DEVICE, "calibration", &l->map.failed.buffer, err));
	RQL_TRY(rql_buffer_new(rig->device, probes * 4, RQL_MEMORY_DEVICE, "calibration", &l->points.buffer, err));
	RQL_TRY(rql_buffer_new(rig->device, probes * 4, RQL_MEMORY_DEVICE, "calibration", &l->rows.buffer, err));
	RQL_TRY(fill_slots(rig, slots, err));
	return send_points(rig, slots, err);
}

static void free_rig(struct rig *rig)
{
	rql_buffer_free(rig->lookup.map.slots.buffer);
	rql_buffer_free(rig->lookup.map.failed.buffer);
	rql_buffer_free(rig->lookup.points.buffer);
	rql_buffer_free(rig->lookup.rows.buffer);
}

static rql_status time_once(const struct rig *rig, double *least, struct rql_error *err)
{
	struct rql_commands *c;
	double ns = 0;
	RQL_TRY(rql_commands_new(rig->device, RQL_COMMANDS_TIMED, &c, err));
	RQL_TRY(rql_commands_finish(c, rql_record_lookup(c, &rig->lookup, err), NULL, &ns, err));
	*least = ns > 0 && ns < *least ? ns : *least;
	return RQL_OK;
}

rql_status rql_index_calibrate(struct rql_device *device, bool thorough, struct rql_error *err)
{
	const bool software = device->kind == RQL_DEVICE_SOFTWARE;
	uint64_t slots = UINT64_C(1) << (software ? 22 : thorough ? 27 : 25);
	const uint64_t probes = UINT64_C(1) << (software ? 16 : thorough ? 23 : 21);
	struct rig rig = {.device = device};
	double least = HUGE_VAL;
	rql_status status = make_rig(&rig, slots, probes, err);
	for (; status == RQL_ERROR_MEMORY && slots > LEAST_SLOTS; slots /= 2) { /* a device that is small, or in use */
		free_rig(&rig);
		rql_error_clear(err);
		rig = (struct rig){.device = device};
		status = make_rig(&rig, slots / 2, probes, err);
	}
	for (uint32_t r = 0; r <= RUNS && status == RQL_OK; r++) /* the first one warms up */
		status = time_once(&rig, &least, err);
	free_rig(&rig);
	RQL_TRY(status);
	if (isfinite(least)) /* what streams beside is little */
		device->profile.sector_ns = fmin(fmax(least / (double)probes, LEAST_NS), MOST_NS);
	return RQL_OK;
}
