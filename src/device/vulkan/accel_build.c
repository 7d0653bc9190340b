/* Building the parts of an acceleration structure: batch after batch, each one submission, in which parts build side by
 * side; a second submission copies them to their compacted sizes. Inputs, scratch memory and uncompacted copies are
 * those of one batch (notes/h200.md: 36 bytes of input, 92 built and 75 to 85 compacted a triangle). The next batch takes
 * them over: drivers clear what they allocate, and took longer over that (20 ms a GB on an H200) than over building. They
 * make way when memory is short, so that a structure may fill most of the device's. */
#include "device/vulkan/accel.h"

#include <string.h>

#include "util/budget.h"

/* Small parts need company to fill the machine (a build alone costs about 0.4 ms); 32 of them do. */
#define BATCH_MAX 32u
/* Memory of a batch, unless a single part needs more. */
#define BATCH_BYTES (UINT64_C(2) << 30)

struct build {
	struct rql_vk_gpu *gpu;
	const struct rql_accel_spec *spec;
	struct rql_progress *progress;
	struct rql_vk_accel *accel;
	VkQueryPool queries; /* compacted sizes of a batch */
	uint32_t next;       /* the first part that is not built */
	uint32_t most;       /* parts of a batch; less after memory did not suffice */
	uint64_t batch_bytes;
	double device_ns;
	/* What the next batch finds. */
	struct rql_buffer *input[BATCH_MAX], *scratch;
	struct rql_vk_level idle[BATCH_MAX]; /* uncompacted copies that are copied */
};

struct batch {
	uint32_t count, end; /* parts; the first part after them */
	uint32_t part[BATCH_MAX];
	VkAccelerationStructureBuildSizesInfoKHR sizes[BATCH_MAX];
	uint64_t scratch_at[BATCH_MAX], scratch_bytes;
};

static uint64_t input_bytes(const struct build *b, uint32_t part)
{
	return b->spec->part_primitives[part] * rql_vk_primitive_bytes(b->spec->primitive);
}

/* Chooses the next parts. */
static void batch_plan(struct build *b, struct batch *batch)
{
	uint64_t bytes = 0;
	batch->end = b->next;
	while (batch->end < b->spec->part_count && batch->count < b->most) {
		uint32_t part = batch->end, i = batch->count;
		if (b->spec->part_primitives[part]) {
			VkAccelerationStructureBuildSizesInfoKHR *sizes = &batch->sizes[i];
			rql_vk_part_sizes(b->accel, b->spec->part_primitives[part], sizes);
			uint64_t scratch = rql_vk_scratch_align(b->gpu, sizes->buildScratchSize);
			uint64_t need =
				input_bytes(b, part) + scratch + sizes->accelerationStructureSize * (b->spec->compact ? 2 : 1);
			if (i && bytes + need > b->batch_bytes)
				break;
			bytes += need;
			batch->part[i] = part;
			batch->scratch_at[i] = batch->scratch_bytes;
			batch->scratch_bytes += scratch;
			batch->count++;
		}
		batch->end++;
	}
}

/* Nothing of it is in use: submissions are waited for, and what an interrupted one still uses stays until it is done
 * (rql_buffer_free; idle levels are those of finished ones). */
static void free_room(struct build *b)
{
	for (uint32_t i = 0; i < BATCH_MAX; i++) {
		rql_buffer_free(b->input[i]);
		rql_vk_level_free(b->gpu, &b->idle[i]);
		b->input[i] = NULL;
	}
	rql_buffer_free(b->scratch);
	b->scratch = NULL;
}

static rql_status at_least(struct build *b, uint64_t bytes, const char *what, struct rql_buffer **buffer,
                           struct rql_error *err)
{
	if (*buffer && (*buffer)->bytes >= bytes)
		return RQL_OK;
	rql_buffer_free(*buffer);
	*buffer = NULL;
	return rql_buffer_new(b->gpu->device, bytes, RQL_MEMORY_DEVICE, what, buffer, err);
}

/* No larger one than it needs: some drivers (lavapipe) give the size of the uncompacted one as that of the compacted. */
static rql_status level_of(struct build *b, uint64_t bytes, struct rql_vk_level *out, struct rql_error *err)
{
	for (uint32_t i = 0; i < BATCH_MAX; i++)
		if (b->idle[i].handle && b->idle[i].storage->bytes == bytes) {
			*out = b->idle[i];
			b->idle[i] = (struct rql_vk_level){0};
			return RQL_OK;
		}
	return rql_vk_level_new(b->gpu->device, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, bytes, b->spec->what, out,
	                        err);
}

static void give_idle(struct build *b, struct rql_vk_level *level)
{
	for (uint32_t i = 0; i < BATCH_MAX; i++)
		if (!b->idle[i].handle) {
			b->idle[i] = *level;
			*level = (struct rql_vk_level){0};
			return;
		}
	rql_vk_level_free(b->gpu, level);
}

static rql_status batch_reserve(struct build *b, struct batch *batch, struct rql_error *err)
{
	rql_status status = at_least(b, batch->scratch_bytes + b->gpu->trace.scratch_alignment + 4,
	                             "scratch of an acceleration structure", &b->scratch, err);
	for (uint32_t i = 0; i < batch->count && status == RQL_OK; i++) {
		uint32_t part = batch->part[i];
		status = at_least(b, input_bytes(b, part), b->spec->what, &b->input[i], err);
		if (status == RQL_OK)
			status = level_of(b, batch->sizes[i].accelerationStructureSize, &b->accel->parts[part].level, err);
	}
	if (status == RQL_OK)
		return RQL_OK;
	free_room(b);
	for (uint32_t i = 0; i < batch->count; i++)
		rql_vk_level_free(b->gpu, &b->accel->parts[batch->part[i]].level);
	return status;
}

static void record_builds(struct build *b, struct batch *batch, struct rql_vk_commands *c)
{
	struct rql_vk_geometry geometry[BATCH_MAX];
	VkAccelerationStructureBuildGeometryInfoKHR info[BATCH_MAX];
	VkAccelerationStructureBuildRangeInfoKHR range[BATCH_MAX];
	const VkAccelerationStructureBuildRangeInfoKHR *ranges[BATCH_MAX];
	VkAccelerationStructureKHR handles[BATCH_MAX];
	struct rql_use uses[2 * BATCH_MAX + 1];
	uint32_t use_count = 0;
	uint64_t scratch = rql_vk_scratch_align(b->gpu, b->scratch->address);
	uses[use_count++] = (struct rql_use){b->scratch, RQL_READ_WRITE};
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct rql_vk_level *level = &b->accel->parts[batch->part[i]].level;
		uint64_t primitives = b->spec->part_primitives[batch->part[i]];
		rql_vk_part_geometry(b->accel, primitives, b->input[i]->address, &geometry[i]);
		info[i] = geometry[i].info;
		info[i].dstAccelerationStructure = handles[i] = level->handle;
		info[i].scratchData.deviceAddress = scratch + batch->scratch_at[i];
		range[i] = (VkAccelerationStructureBuildRangeInfoKHR){.primitiveCount = (uint32_t)primitives};
		ranges[i] = &range[i];
		uses[use_count++] = (struct rql_use){b->input[i], RQL_READ};
		uses[use_count++] = (struct rql_use){level->storage, RQL_WRITE};
	}
	rql_vk_touch_build(c, uses, use_count);
	rql_vk_pass_begin(c, "bottom levels");
	b->gpu->vk.vkCmdBuildAccelerationStructuresKHR(c->handle, batch->count, info, ranges);
	rql_vk_pass_end(c);
	if (b->queries)
		rql_vk_queries_record(c, b->queries, VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR, handles,
		                      batch->count);
	rql_vk_keep(c, &b->accel->life);
}

static rql_status batch_build(struct build *b, struct batch *batch, struct rql_error *err)
{
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(b->gpu->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < batch->count && status == RQL_OK; i++)
		status = b->spec->fill(b->spec->state, c, batch->part[i], b->input[i], err);
	if (status == RQL_OK) {
		record_builds(b, batch, (struct rql_vk_commands *)c);
		status = rql_vk_accel_run(c, b->progress, &b->device_ns, err);
	}
	rql_commands_free(c);
	return status;
}

/* A level of a part's compacted size. Where memory does not suffice, the room of batches makes way: this one is built. */
static rql_status spare_new(struct build *b, struct rql_vk_part *part, uint64_t bytes, struct rql_error *err)
{
	const VkAccelerationStructureTypeKHR type = VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR;
	rql_status status = rql_vk_level_new(b->gpu->device, type, bytes, b->spec->what, &part->spare, err);
	if (status != RQL_ERROR_LIMIT || !b->scratch)
		return status;
	rql_error_clear(err);
	free_room(b);
	return rql_vk_level_new(b->gpu->device, type, bytes, b->spec->what, &part->spare, err);
}

/* Copies the batch's parts to levels of their compacted sizes, which then take their places. */
static rql_status batch_compact(struct build *b, struct batch *batch, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = b->gpu;
	uint64_t bytes[BATCH_MAX];
	struct rql_commands *c = NULL;
	VkResult result = gpu->vk.vkGetQueryPoolResults(gpu->handle, b->queries, 0, batch->count, sizeof bytes, bytes, 8,
	                                                VK_QUERY_RESULT_64_BIT);
	if (result != VK_SUCCESS)
		return rql_vk_fail(gpu, result, "vkGetQueryPoolResults", b->spec->what, err);
	for (uint32_t i = 0; i < batch->count; i++)
		RQL_TRY(spare_new(b, &b->accel->parts[batch->part[i]], bytes[i], err));
	RQL_TRY(rql_commands_new(gpu->device, RQL_COMMANDS_TIMED, &c, err));
	struct rql_vk_commands *vc = (struct rql_vk_commands *)c;
	rql_vk_pass_begin(vc, "compaction"); /* a recording begins behind everything that was submitted */
	for (uint32_t i = 0; i < batch->count; i++) {
		VkCopyAccelerationStructureInfoKHR copy = {
			.sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_INFO_KHR,
			.src = b->accel->parts[batch->part[i]].level.handle,
			.dst = b->accel->parts[batch->part[i]].spare.handle,
			.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_COMPACT_KHR,
		};
		gpu->vk.vkCmdCopyAccelerationStructureKHR(vc->handle, &copy);
	}
	rql_vk_pass_end(vc);
	rql_vk_keep(vc, &b->accel->life);
	rql_status status = rql_vk_accel_run(c, b->progress, &b->device_ns, err);
	rql_commands_free(c);
	for (uint32_t i = 0; i < batch->count && status == RQL_OK; i++) {
		struct rql_vk_part *part = &b->accel->parts[batch->part[i]];
		give_idle(b, &part->level);
		part->level = part->spare;
		part->spare = (struct rql_vk_level){0};
	}
	return status;
}

static rql_status batch_run(struct build *b, struct batch *batch, struct rql_error *err)
{
	RQL_TRY(batch_build(b, batch, err));
	for (uint32_t i = 0; i < batch->count; i++) {
		struct rql_vk_part *part = &b->accel->parts[batch->part[i]];
		part->primitives = b->spec->part_primitives[batch->part[i]];
		b->accel->base.built_bytes += batch->sizes[i].accelerationStructureSize;
	}
	return b->spec->compact ? batch_compact(b, batch, err) : RQL_OK;
}

static rql_status build_parts(struct build *b, struct rql_error *err)
{
	while (b->next < b->spec->part_count) {
		struct batch batch = {0};
		if (b->progress && atomic_load(&b->progress->cancel))
			return rql_error_set(err, RQL_ERROR_INTERRUPTED, "interrupted while building %s", b->spec->what);
		batch_plan(b, &batch);
		if (batch.count) {
			bool had_room = b->scratch != NULL; /* of other sizes; it is gone when that fails */
			rql_status status = batch_reserve(b, &batch, err);
			if (status == RQL_ERROR_LIMIT && (had_room || batch.count > 1)) {
				rql_error_clear(err);
				b->most = had_room ? batch.count : batch.count / 2; /* one part may fit where many do not */
				continue;
			}
			if (status != RQL_OK)
				return status;
			RQL_TRY(batch_run(b, &batch, err));
		}
		b->next = batch.end;
	}
	return RQL_OK;
}

/* ---- the door ---- */

/* The front door has compared the parts' sizes; instances have 24 bits for a part's number. */
static rql_status check_spec(const struct rql_device *device, const struct rql_accel_spec *spec, struct rql_error *err)
{
	const struct rql_vk_gpu *gpu = rql_vk_of(device);
	uint64_t most = gpu->trace.max_instances < (1u << 24) ? gpu->trace.max_instances : 1u << 24;
	if (spec->part_count <= most)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_LIMIT, "%s has %u parts, device %s takes %llu: use larger parts", spec->what,
	                     spec->part_count, device->id, (unsigned long long)most);
}

static VkBuildAccelerationStructureFlagsKHR build_flags(const struct rql_accel_spec *spec)
{
	static const VkBuildAccelerationStructureFlagsKHR aims[] = {
		[RQL_ACCEL_FAST_TRACE] = VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR,
		[RQL_ACCEL_FAST_BUILD] = VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_BUILD_BIT_KHR,
		[RQL_ACCEL_SMALL] = VK_BUILD_ACCELERATION_STRUCTURE_LOW_MEMORY_BIT_KHR,
	};
	return aims[spec->aim] | (spec->compact ? VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_COMPACTION_BIT_KHR : 0) |
	       (spec->refit ? VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR : 0);
}

static void describe(const struct rql_accel_spec *spec, struct rql_vk_accel *accel)
{
	accel->primitive = spec->primitive;
	accel->geometry = (spec->opaque ? VK_GEOMETRY_OPAQUE_BIT_KHR : 0) |
	                  (spec->one_call_per_hit ? VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR : 0);
	accel->flags = build_flags(spec);
	for (uint32_t i = 0; i < spec->part_count && spec->part_masks; i++)
		accel->parts[i].mask = spec->part_masks[i];
}

rql_status rql_vk_accel_build(struct rql_device *device, const struct rql_accel_spec *spec,
                              struct rql_progress *progress, struct rql_accel **out, struct rql_error *err)
{
	struct build b = {.gpu = rql_vk_of(device), .spec = spec, .progress = progress, .most = BATCH_MAX};
	uint64_t available = 0, total = 0;
	RQL_TRY(check_spec(device, spec, err));
	RQL_TRY(rql_vk_accel_new(device, spec->part_count, &b.accel, err));
	describe(spec, b.accel);
	rql_device_memory(device, &available, &total);
	b.batch_bytes = available / 4 < BATCH_BYTES ? available / 4 : BATCH_BYTES;
	rql_status status = RQL_OK;
	if (spec->compact)
		status = rql_vk_queries_new(b.gpu, VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR, BATCH_MAX,
		                            &b.queries, err);
	if (status == RQL_OK)
		status = build_parts(&b, err);
	free_room(&b);
	if (status == RQL_OK)
		status = rql_vk_accel_finish(b.accel, progress, &b.device_ns, err);
	rql_vk_queries_free(b.accel, b.queries);
	if (status != RQL_OK) {
		rql_vk_accel_free(&b.accel->base);
		return status;
	}
	b.accel->base.built_bytes += b.accel->top.storage->bytes;
	b.accel->base.build_ms = b.device_ns / 1e6;
	*out = &b.accel->base;
	return RQL_OK;
}
