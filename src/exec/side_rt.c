/* Acceleration structures in the side folder: <cube's file>.<device's UUID>.rt beside the cube's own file, whose name
 * is never used twice, so the name alone says which contents it belongs to. The file's head says which cube, driver and
 * device it is for; a foreign or damaged one is passed over, and the structure is built. */
#include "exec/exec_internal.h"

#include "method/cube/cube_rt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME 32u /* of a cube's file, without its suffix */
#define SUFFIX ".rt"
/* A fast GPU builds faster than a disk reads: then a file would only cost. */
#define READ_BYTES_PER_MS 1e6

bool rql_side_is_rt_file(const char *name)
{
	static const char hex[] = "0123456789abcdef";
	size_t length = strlen(name), most = NAME + 1 + NAME + sizeof SUFFIX - 1;
	if (length != most && length != most + 4)
		return false;
	return strspn(name, hex) == NAME && name[NAME] == '.' && strspn(name + NAME + 1, hex) == NAME &&
	       strncmp(name + NAME + 1 + NAME, SUFFIX, sizeof SUFFIX - 1) == 0 &&
	       (length == most || strcmp(name + most, ".tmp") == 0);
}

/* Malloc'ed; NULL: out of memory, or the device has no name that outlives a boot. */
static char *path_of(const struct rql_side *side, const char *file, const struct rql_device *device, const char *end)
{
	char *path = NULL;
	if (!side->folder || !device->uuid || strlen(device->uuid) != NAME || strlen(file) < NAME)
		return NULL;
	return asprintf(&path, "%s/%.32s.%s" SUFFIX "%s", side->folder, file, device->uuid, end) < 0 ? NULL : path;
}

static rql_status put(void *state, const void *data, uint64_t bytes, struct rql_error *err)
{
	if (fwrite(data, 1, bytes, state) == bytes)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_IO, "a side file cannot be written");
}

static rql_status get(void *state, void *data, uint64_t bytes, struct rql_error *err)
{
	if (fread(data, 1, bytes, state) == bytes)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_CORRUPT, "a side file ends too early");
}

void rql_side_write_rt(const struct rql_side *side, const char *file, const struct rql_cube *cube,
                       struct rql_device *device)
{
	char kinds[512];
	uint64_t bytes = rql_cube_device_bytes(cube, device, kinds, sizeof kinds, NULL);
	if (!strstr(kinds, "rt") || !side->writable || 
	    rql_cube_device_ms(cube, device) < (double)bytes / READ_BYTES_PER_MS)
		return;
	char *path = path_of(side, file, device, ""), *beside = path_of(side, file, device, ".tmp");
	FILE *f = path && beside ? fopen(beside, "we") : NULL;
	if (f) {
		struct rql_error ignored = {0}; /* without the file the structure is built again: nothing is lost */
		bool ok =
			rql_cube_rt_write(cube, device, put, f, &ignored) == RQL_OK && fflush(f) == 0 && fsync(fileno(f)) == 0;
		ok = fclose(f) == 0 && ok;
		if (!ok || rename(beside, path) != 0)
			(void)unlink(beside);
		rql_error_clear(&ignored);
	}
	free(path);
	free(beside);
}

bool rql_side_read_rt(const struct rql_side *side, const char *file, const struct rql_cube *cube,
                      struct rql_device *device)
{
	char *path = path_of(side, file, device, "");
	FILE *f = path ? fopen(path, "re") : NULL;
	bool read = false;
	if (f) {
		struct rql_error why = {0};
		read = rql_cube_rt_read(cube, device, get, f, &why) == RQL_OK;
		rql_error_clear(&why); /* it is built instead */
		fclose(f);
	}
	free(path);
	return read;
}
