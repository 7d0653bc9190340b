/* The driver's pipeline cache kept on disk, so that a process pays for compiling kernels once per machine and driver.
 * ${XDG_CACHE_HOME:-~/.cache}/rayql/pipelines-<pipelineCacheUUID>.bin is a head of our own and the driver's bytes.
 * Drivers have crashed on damaged ones, so only a file with the right checksum that the very same driver wrote is
 * handed over; any other is treated as absent and overwritten at the end. Nothing here is ever an error of a query. */
#include "device/vulkan/vulkan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/files.h"
#include "util/hash.h"

#define MAGIC "RQLPIPE"
#define FORMAT 1u
#define LONGEST ((uint64_t)1 << 30) /* more is no pipeline cache */

struct head {
	char magic[8];
	uint32_t format;
	uint32_t vendor, device, driver_version;
	uint8_t uuid[VK_UUID_SIZE];
	uint64_t checksum, length; /* of what follows */
};
_Static_assert(sizeof(struct head) == 56, "the head is written as it lies in memory: no padding");

/* Never 0, which stands for nothing. It finds damage, not forgery: the file is the user's own. */
static uint64_t checksum(const uint8_t *data, uint64_t length)
{
	const uint64_t hash = rql_hash_bytes(RQL_HASH_START, data, length);
	return hash ? hash : 1;
}

static void fill_head(const struct rql_vk_gpu *gpu, const uint8_t *data, uint64_t length, struct head *out)
{
	*out = (struct head){
		.magic = MAGIC,
		.format = FORMAT,
		.vendor = gpu->properties.vendorID,
		.device = gpu->properties.deviceID,
		.driver_version = gpu->properties.driverVersion,
		.checksum = checksum(data, length),
		.length = length,
	};
	memcpy(out->uuid, gpu->pipeline_cache_uuid, VK_UUID_SIZE);
}

#define NAME_BYTES (sizeof "pipelines-.bin" + 2 * VK_UUID_SIZE)

static void file_name(const struct rql_vk_gpu *gpu, char out[NAME_BYTES])
{
	char *at = out + snprintf(out, NAME_BYTES, "pipelines-");
	for (unsigned i = 0; i < VK_UUID_SIZE; i++)
		at += snprintf(at, 3, "%02x", gpu->pipeline_cache_uuid[i]);
	memcpy(at, ".bin", sizeof ".bin");
}

/* The driver's bytes, or NULL: no file, or not one of this driver's. *file: what to free. */
static const uint8_t *read_cache(const struct rql_vk_gpu *gpu, char **file, uint64_t *length)
{
	char name[NAME_BYTES];
	struct head head, wanted;
	struct rql_file_place place = {.folder = -1, .name = name, .path = name};
	uint64_t size = 0;
	*file = NULL;
	file_name(gpu, name);
	if (rql_cache_open(false, &place.folder, NULL) != RQL_OK || place.folder < 0)
		return NULL;
	rql_status status = rql_file_get(&place, LONGEST + sizeof head, file, &size, NULL);
	(void)close(place.folder);
	if (status != RQL_OK || !*file || size <= sizeof head)
		return NULL;
	const uint8_t *data = (const uint8_t *)*file + sizeof head;
	memcpy(&head, *file, sizeof head);
	fill_head(gpu, data, size - sizeof head, &wanted);
	*length = size - sizeof head;
	return memcmp(&head, &wanted, sizeof head) == 0 ? data : NULL;
}

rql_status rql_vk_cache_open(struct rql_vk_gpu *gpu, struct rql_error *err)
{
	uint64_t length = 0;
	char *file = NULL;
	const uint8_t *data = read_cache(gpu, &file, &length);
	VkPipelineCacheCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
		.initialDataSize = data ? length : 0,
		.pInitialData = data,
	};
	gpu->pipeline_cache_checksum = data ? checksum(data, length) : 0;
	VkResult result = gpu->vk.vkCreatePipelineCache(gpu->handle, &info, NULL, &gpu->pipeline_cache);
	if (result != VK_SUCCESS && data) { /* the driver does not want it */
		info.initialDataSize = 0;
		info.pInitialData = NULL;
		gpu->pipeline_cache_checksum = 0;
		result = gpu->vk.vkCreatePipelineCache(gpu->handle, &info, NULL, &gpu->pipeline_cache);
	}
	free(file);
	gpu->pipeline_cache_changed = false;
	if (result == VK_SUCCESS)
		return RQL_OK;
	gpu->pipeline_cache = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreatePipelineCache", "compiled kernels", err);
}

/* Beside its place and then renamed, so that a reader never sees half a file. */
static void write_cache(const struct rql_vk_gpu *gpu, uint8_t *data, uint64_t length)
{
	struct head head;
	char name[NAME_BYTES], end[48];
	struct rql_file_place place = {.folder = -1, .name = name, .path = name, .mode = 0600};
	fill_head(gpu, data, length, &head);
	file_name(gpu, name);
	/* Two devices of one kind have one file: the number tells their writers apart within a process. */
	snprintf(end, sizeof end, "%ld.%u.tmp", (long)getpid(), gpu->device->index);
	if (rql_cache_open(true, &place.folder, NULL) != RQL_OK)
		return;
	const struct iovec parts[] = {{&head, sizeof head}, {data, length}};
	rql_status status = rql_file_put(&place, end, parts, 2, NULL);
	(void)status; /* without it the kernels are compiled again */
	(void)close(place.folder);
}

static void save_cache(struct rql_vk_gpu *gpu)
{
	size_t length = 0;
	if (gpu->vk.vkGetPipelineCacheData(gpu->handle, gpu->pipeline_cache, &length, NULL) != VK_SUCCESS || length == 0 ||
	    length > LONGEST)
		return;
	uint8_t *data = malloc(length);
	if (data && gpu->vk.vkGetPipelineCacheData(gpu->handle, gpu->pipeline_cache, &length, data) == VK_SUCCESS &&
	    checksum(data, length) != gpu->pipeline_cache_checksum)
		write_cache(gpu, data, length);
	free(data);
}

void rql_vk_cache_close(struct rql_vk_gpu *gpu)
{
	if (!gpu->pipeline_cache)
		return;
	if (gpu->pipeline_cache_changed && !atomic_load(&gpu->device->lost))
		save_cache(gpu);
	gpu->vk.vkDestroyPipelineCache(gpu->handle, gpu->pipeline_cache, NULL);
	gpu->pipeline_cache = VK_NULL_HANDLE;
}
