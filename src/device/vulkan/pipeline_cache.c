/* The driver's pipeline cache kept on disk, so that a process pays for compiling kernels once per machine and driver.
 * ${XDG_CACHE_HOME:-~/.cache}/rayql/pipelines-<pipelineCacheUUID>.bin is a head of our own and the driver's bytes.
 * Drivers have crashed on damaged ones, so only a file with the right checksum that the very same driver wrote is
 * handed over; any other is treated as absent and overwritten at the end. Nothing here is ever an error of a query. */
#include "device/vulkan/vulkan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/strbuf.h"

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

/* FNV-1a; never 0, which stands for nothing. It finds damage, not forgery: the file is the user's own. */
static uint64_t checksum(const uint8_t *data, uint64_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (uint64_t i = 0; i < length; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
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

/* false: no home, or out of memory. */
static bool cache_path(const struct rql_vk_gpu *gpu, bool make_folder, struct rql_strbuf *out)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && cache[0] == '/')
		rql_strbuf_put(out, cache);
	else if (home && home[0])
		rql_strbuf_printf(out, "%s/.cache", home);
	else
		return false;
	if (make_folder)
		(void)mkdir(rql_strbuf_text(out), 0700); /* what is wrong with it shows when the file is written */
	rql_strbuf_put(out, "/rayql");
	if (make_folder)
		(void)mkdir(rql_strbuf_text(out), 0700);
	rql_strbuf_put(out, "/pipelines-");
	for (unsigned i = 0; i < VK_UUID_SIZE; i++)
		rql_strbuf_printf(out, "%02x", gpu->pipeline_cache_uuid[i]);
	rql_strbuf_put(out, ".bin");
	return !out->failed;
}

/* The driver's bytes (malloc'ed), or NULL: no file, or not one of this driver's. */
static uint8_t *read_cache(const struct rql_vk_gpu *gpu, FILE *file, uint64_t *length)
{
	struct head head, wanted;
	struct stat stat;
	if (fread(&head, sizeof(head), 1, file) != 1 || head.length == 0 || head.length > LONGEST)
		return NULL;
	if (fstat(fileno(file), &stat) != 0 || (uint64_t)stat.st_size != sizeof(head) + head.length)
		return NULL;
	uint8_t *data = malloc(head.length);
	if (!data)
		return NULL;
	if (fread(data, 1, head.length, file) == head.length) {
		fill_head(gpu, data, head.length, &wanted);
		if (memcmp(&head, &wanted, sizeof(head)) == 0) {
			*length = head.length;
			return data;
		}
	}
	free(data);
	return NULL;
}

rql_status rql_vk_cache_open(struct rql_vk_gpu *gpu, struct rql_error *err)
{
	struct rql_strbuf path = {0};
	uint64_t length = 0;
	uint8_t *data = NULL;
	FILE *file = cache_path(gpu, false, &path) ? fopen(rql_strbuf_text(&path), "rbe") : NULL;
	if (file) {
		data = read_cache(gpu, file, &length);
		(void)fclose(file);
	}
	rql_strbuf_free(&path);
	VkPipelineCacheCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
		.initialDataSize = length,
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
	free(data);
	gpu->pipeline_cache_changed = false;
	if (result == VK_SUCCESS)
		return RQL_OK;
	gpu->pipeline_cache = VK_NULL_HANDLE;
	return rql_vk_fail(gpu, result, "vkCreatePipelineCache", "compiled kernels", err);
}

/* Beside its place and then renamed, so that a reader never sees half a file. */
static void write_cache(const struct rql_vk_gpu *gpu, const uint8_t *data, uint64_t length)
{
	struct head head;
	fill_head(gpu, data, length, &head);
	struct rql_strbuf path = {0}, beside = {0};
	FILE *file = NULL;
	if (cache_path(gpu, true, &path)) {
		/* Two devices of one kind have one file: the number tells their writers apart within a process. */
		rql_strbuf_printf(&beside, "%s.%ld.%u.tmp", rql_strbuf_text(&path), (long)getpid(), gpu->device->index);
		file = beside.failed ? NULL : fopen(rql_strbuf_text(&beside), "wbe");
	}
	if (file) {
		bool written = fwrite(&head, sizeof(head), 1, file) == 1 && fwrite(data, 1, length, file) == length;
		written = fclose(file) == 0 && written;
		if (!written || rename(rql_strbuf_text(&beside), rql_strbuf_text(&path)) != 0)
			(void)unlink(rql_strbuf_text(&beside));
	}
	rql_strbuf_free(&path);
	rql_strbuf_free(&beside);
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
