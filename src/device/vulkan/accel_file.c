/* Acceleration structures as bytes: each part as the driver serialises it, between our own head and checksums; the top
 * level is built anew from the parts when they are read.
 *
 *   head, then for every part that has primitives: part head, the driver's bytes, their checksum
 *
 * Nothing is handed to the driver before its checksum was right, and the driver's own version words are asked about
 * before it reads a word more: a damaged form is told from a foreign one, and neither reaches the driver. */
#include "device/vulkan/accel.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "RayQLacc"
#define VERSION 1u
/* Through host memory in pieces of this many bytes. */
#define PIECE_BYTES (UINT64_C(16) << 20)

struct accel_head {
	char magic[8];
	uint32_t version, part_count;
	uint8_t cache_uuid[VK_UUID_SIZE]; /* changes with device and driver */
	uint32_t vendor, device, driver, primitive;
	uint32_t geometry, flags;
	uint64_t built_bytes;
	uint64_t checksum; /* of the bytes before it */
};
_Static_assert(sizeof(struct accel_head) == 72, "no padding, for the checksum");

struct part_head {
	uint32_t part, mask;
	uint64_t primitives, bytes;
	uint64_t checksum;
};
_Static_assert(sizeof(struct part_head) == 32, "no padding, for the checksum");

/* What the driver's bytes begin with (vkCmdCopyAccelerationStructureToMemoryKHR). */
struct driver_head {
	uint8_t version[2 * VK_UUID_SIZE];
	uint64_t serialized_bytes, structure_bytes, handle_count;
};

/* Every step is a bijection of the state: a difference in one word always shows. */
static uint64_t checksum(uint64_t state, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;
	while (bytes) {
		uint64_t word = 0, n = bytes < 8 ? bytes : 8;
		memcpy(&word, at, n);
		state = (state ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		state ^= state >> 32;
		at += n;
		bytes -= n;
	}
	return state;
}

/* ---- writing ---- */

struct writer {
	struct rql_vk_accel *accel;
	rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err);
	void *state;
	uint8_t *piece; /* [PIECE_BYTES] */
};

static void fill_head(const struct rql_vk_gpu *gpu, struct accel_head *head)
{
	memcpy(head->magic, MAGIC, sizeof head->magic);
	head->version = VERSION;
	memcpy(head->cache_uuid, gpu->pipeline_cache_uuid, VK_UUID_SIZE);
	head->vendor = gpu->properties.vendorID;
	head->device = gpu->properties.deviceID;
	head->driver = gpu->properties.driverVersion;
}

static rql_status serialized_bytes(struct rql_vk_accel *accel, const struct rql_vk_part *part, VkQueryPool queries,
                                   uint64_t *bytes, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(accel->base.device);
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(accel->base.device, 0, &c, err));
	rql_vk_queries_record((struct rql_vk_commands *)c, queries,
	                      VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR, &part->level.handle, 1);
	rql_vk_keep((struct rql_vk_commands *)c, &accel->life);
	rql_status status = rql_vk_accel_run(c, NULL, NULL, err);
	rql_commands_free(c);
	if (status != RQL_OK)
		return status;
	VkResult result = gpu->vk.vkGetQueryPoolResults(gpu->handle, queries, 0, 1, sizeof *bytes, bytes, sizeof *bytes,
	                                                VK_QUERY_RESULT_64_BIT);
	return result == VK_SUCCESS ? RQL_OK
	                            : rql_vk_fail(gpu, result, "vkGetQueryPoolResults", "an acceleration structure", err);
}

/* The copies of structures to and from memory are of the build stage, with transfer accesses to the memory. */
static void touch_memory(struct rql_vk_commands *c, struct rql_buffer *memory, enum rql_access access)
{
	struct rql_use use = {memory, access};
	rql_vk_full_barrier(c);
	rql_vk_touch(c, VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR, VK_ACCESS_TRANSFER_READ_BIT,
	             VK_ACCESS_TRANSFER_WRITE_BIT, &use, 1);
}

static rql_status serialize(struct rql_vk_accel *accel, const struct rql_vk_part *part, struct rql_buffer *memory,
                            struct rql_error *err)
{
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(accel->base.device, 0, &c, err));
	struct rql_vk_commands *vc = (struct rql_vk_commands *)c;
	touch_memory(vc, memory, RQL_WRITE);
	VkCopyAccelerationStructureToMemoryInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_INFO_KHR,
		.src = part->level.handle,
		.dst = {.deviceAddress = memory->address},
		.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_SERIALIZE_KHR,
	};
	vc->gpu->vk.vkCmdCopyAccelerationStructureToMemoryKHR(vc->handle, &info);
	rql_vk_full_barrier(vc);
	rql_vk_keep(vc, &accel->life);
	rql_status status = rql_vk_accel_run(c, NULL, NULL, err);
	rql_commands_free(c);
	return status;
}

static rql_status put_memory(struct writer *w, struct rql_buffer *memory, struct rql_error *err)
{
	uint64_t sum = 0;
	for (uint64_t at = 0, n; at < memory->bytes; at += n) {
		n = memory->bytes - at < PIECE_BYTES ? memory->bytes - at : PIECE_BYTES;
		RQL_TRY(rql_buffer_download(memory, at, w->piece, n, err));
		sum = checksum(sum, w->piece, n);
		RQL_TRY(w->put(w->state, w->piece, n, err));
	}
	return w->put(w->state, &sum, sizeof sum, err);
}

static rql_status write_part(struct writer *w, uint32_t number, VkQueryPool queries, struct rql_error *err)
{
	const struct rql_vk_part *part = &w->accel->parts[number];
	struct part_head head = {.part = number, .mask = part->mask, .primitives = part->primitives};
	struct rql_buffer *memory = NULL;
	RQL_TRY(serialized_bytes(w->accel, part, queries, &head.bytes, err));
	head.checksum = checksum(0, &head, offsetof(struct part_head, checksum));
	RQL_TRY(rql_buffer_new(w->accel->base.device, head.bytes, RQL_MEMORY_DEVICE, "a serialised acceleration structure",
	                       &memory, err));
	rql_status status = serialize(w->accel, part, memory, err);
	if (status == RQL_OK)
		status = w->put(w->state, &head, sizeof head, err);
	if (status == RQL_OK)
		status = put_memory(w, memory, err);
	rql_buffer_free(memory);
	return status;
}

rql_status rql_vk_accel_write(struct rql_accel *base,
                              rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
                              void *state, struct rql_error *err)
{
	struct rql_vk_accel *accel = (struct rql_vk_accel *)base;
	struct rql_vk_gpu *gpu = rql_vk_of(base->device);
	struct writer w = {.accel = accel, .put = put, .state = state, .piece = malloc(PIECE_BYTES)};
	struct accel_head head = {
		.part_count = base->part_count,
		.primitive = accel->primitive,
		.geometry = accel->geometry,
		.flags = accel->flags,
		.built_bytes = base->built_bytes,
	};
	VkQueryPool queries = VK_NULL_HANDLE;
	if (!w.piece)
		return rql_error_memory(err, PIECE_BYTES, "writing an acceleration structure");
	fill_head(gpu, &head);
	head.checksum = checksum(0, &head, offsetof(struct accel_head, checksum));
	rql_status status =
		rql_vk_queries_new(gpu, VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR, 1, &queries, err);
	if (status == RQL_OK)
		status = put(state, &head, sizeof head, err);
	for (uint32_t i = 0; i < base->part_count && status == RQL_OK; i++)
		if (accel->parts[i].primitives)
			status = write_part(&w, i, queries, err);
	/* The end: a form that was cut off between two parts is not whole. */
	struct part_head end = {.part = base->part_count};
	end.checksum = checksum(0, &end, offsetof(struct part_head, checksum));
	if (status == RQL_OK)
		status = put(state, &end, sizeof end, err);
	rql_vk_queries_free(accel, queries);
	free(w.piece);
	return status;
}

/* ---- reading ---- */

struct reader {
	struct rql_device *device;
	rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err);
	void *state;
	uint8_t *piece; /* [PIECE_BYTES] */
};

static rql_status corrupt(struct rql_error *err, const char *what)
{
	return rql_error_set(err, RQL_ERROR_CORRUPT, "a stored acceleration structure is damaged: %s; it is built anew",
	                     what);
}

static rql_status stale(const struct rql_device *device, struct rql_error *err)
{
	return rql_error_set(
		err, RQL_ERROR_STALE,
		"a stored acceleration structure was written for another device or driver than %s; it is built anew",
		device->name);
}

static rql_status read_head(struct reader *r, struct accel_head *head, struct rql_error *err)
{
	const struct rql_vk_gpu *gpu = rql_vk_of(r->device);
	struct accel_head mine = {0};
	RQL_TRY(r->get(r->state, head, sizeof *head, err));
	fill_head(gpu, &mine);
	if (memcmp(head->magic, mine.magic, sizeof head->magic) != 0)
		return corrupt(err, "it does not begin as one");
	if (head->version != VERSION)
		return rql_error_set(err, RQL_ERROR_STALE,
		                     "a stored acceleration structure has version %u, not %u; it is built anew", head->version,
		                     VERSION);
	if (head->checksum != checksum(0, head, offsetof(struct accel_head, checksum)))
		return corrupt(err, "its head's checksum is wrong");
	if (memcmp(head->cache_uuid, mine.cache_uuid, VK_UUID_SIZE) != 0 || head->vendor != mine.vendor ||
	    head->device != mine.device || head->driver != mine.driver)
		return stale(r->device, err);
	if (head->part_count > 1u << 24 || head->primitive > RQL_AABBS)
		return corrupt(err, "its head is impossible");
	return RQL_OK;
}

/* The driver's bytes, into device memory; their checksum was right when this returns RQL_OK. */
static rql_status read_memory(struct reader *r, struct rql_buffer *memory, struct driver_head *head,
                              struct rql_error *err)
{
	uint64_t sum = 0, expected = 0;
	for (uint64_t at = 0, n; at < memory->bytes; at += n) {
		n = memory->bytes - at < PIECE_BYTES ? memory->bytes - at : PIECE_BYTES;
		RQL_TRY(r->get(r->state, r->piece, n, err));
		if (!at)
			memcpy(head, r->piece, sizeof *head);
		sum = checksum(sum, r->piece, n);
		RQL_TRY(rql_buffer_upload(memory, at, r->piece, n, err));
	}
	RQL_TRY(r->get(r->state, &expected, sizeof expected, err));
	return sum == expected ? RQL_OK : corrupt(err, "a part's checksum is wrong");
}

static rql_status check_driver_head(struct reader *r, const struct driver_head *head, uint64_t bytes,
                                    struct rql_error *err)
{
	struct rql_vk_gpu *gpu = rql_vk_of(r->device);
	VkAccelerationStructureVersionInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_VERSION_INFO_KHR,
		.pVersionData = head->version,
	};
	VkAccelerationStructureCompatibilityKHR answer = VK_ACCELERATION_STRUCTURE_COMPATIBILITY_INCOMPATIBLE_KHR;
	gpu->vk.vkGetDeviceAccelerationStructureCompatibilityKHR(gpu->handle, &info, &answer);
	if (answer != VK_ACCELERATION_STRUCTURE_COMPATIBILITY_COMPATIBLE_KHR)
		return stale(r->device, err);
	if (head->serialized_bytes > bytes || !head->structure_bytes || head->handle_count)
		return corrupt(err, "the driver's head of a part is impossible");
	return RQL_OK;
}

static rql_status deserialize(struct rql_vk_accel *accel, struct rql_vk_part *part, struct rql_buffer *memory,
                              struct rql_error *err)
{
	struct rql_commands *c = NULL;
	RQL_TRY(rql_commands_new(accel->base.device, 0, &c, err));
	struct rql_vk_commands *vc = (struct rql_vk_commands *)c;
	touch_memory(vc, memory, RQL_READ);
	VkCopyMemoryToAccelerationStructureInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_INFO_KHR,
		.src = {.deviceAddress = memory->address},
		.dst = part->level.handle,
		.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_DESERIALIZE_KHR,
	};
	vc->gpu->vk.vkCmdCopyMemoryToAccelerationStructureKHR(vc->handle, &info);
	rql_vk_full_barrier(vc);
	rql_vk_keep(vc, &accel->life);
	rql_status status = rql_vk_accel_run(c, NULL, NULL, err);
	rql_commands_free(c);
	return status;
}

/* *end: this was the last part's follower. Parts come in the order of their numbers, `next` is the least one allowed. */
static rql_status read_part(struct reader *r, struct rql_vk_accel *accel, uint32_t *next, bool *end,
                            struct rql_error *err)
{
	struct part_head head;
	struct driver_head driver = {0};
	struct rql_buffer *memory = NULL;
	RQL_TRY(r->get(r->state, &head, sizeof head, err));
	if (head.checksum != checksum(0, &head, offsetof(struct part_head, checksum)))
		return corrupt(err, "the checksum of a part's head is wrong");
	*end = head.part == accel->base.part_count;
	if (*end)
		return RQL_OK;
	if (head.part < *next || head.part > accel->base.part_count || head.mask > 0xff || !head.primitives ||
	    head.primitives > r->device->limits.part_primitives || head.bytes < sizeof driver)
		return corrupt(err, "a part's head is impossible");
	*next = head.part + 1;
	struct rql_vk_part *part = &accel->parts[head.part];
	RQL_TRY(
		rql_buffer_new(r->device, head.bytes, RQL_MEMORY_DEVICE, "a serialised acceleration structure", &memory, err));
	rql_status status = read_memory(r, memory, &driver, err);
	if (status == RQL_OK)
		status = check_driver_head(r, &driver, head.bytes, err);
	if (status == RQL_OK)
		status = rql_vk_level_new(r->device, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, driver.structure_bytes,
		                          "a stored acceleration structure", &part->level, err);
	if (status == RQL_OK)
		status = deserialize(accel, part, memory, err);
	rql_buffer_free(memory);
	if (status != RQL_OK)
		return status;
	part->mask = (uint8_t)head.mask;
	part->primitives = head.primitives;
	return RQL_OK;
}

static rql_status read_accel(struct reader *r, struct rql_vk_accel **accel, struct rql_error *err)
{
	struct accel_head head;
	uint32_t next = 0;
	double ns = 0;
	RQL_TRY(read_head(r, &head, err));
	RQL_TRY(rql_vk_accel_new(r->device, head.part_count, accel, err));
	(*accel)->primitive = head.primitive;
	(*accel)->geometry = head.geometry;
	/* Whether a structure that was read may be updated, no specification says. */
	(*accel)->flags =
		head.flags & ~(VkBuildAccelerationStructureFlagsKHR)VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR;
	(*accel)->base.built_bytes = head.built_bytes;
	for (bool end = false; !end;)
		RQL_TRY(read_part(r, *accel, &next, &end, err));
	return rql_vk_accel_finish(*accel, NULL, &ns, err);
}

rql_status rql_vk_accel_read(struct rql_device *device,
                             rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
                             void *state, struct rql_accel **out, struct rql_error *err)
{
	struct reader r = {.device = device, .get = get, .state = state};
	struct rql_vk_accel *accel = NULL;
	r.piece = malloc(PIECE_BYTES);
	if (!r.piece)
		return rql_error_memory(err, PIECE_BYTES, "reading an acceleration structure");
	uint64_t start = rql_now_ns();
	rql_status status = read_accel(&r, &accel, err);
	free(r.piece);
	if (status != RQL_OK) {
		rql_vk_accel_free(accel ? &accel->base : NULL);
		return status;
	}
	accel->base.build_ms = (double)(rql_now_ns() - start) / 1e6;
	*out = &accel->base;
	return RQL_OK;
}
