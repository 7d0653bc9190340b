/* What devices made of contents (acceleration structures), in the side folder: <contents' stem>.<device's UUID>.rt
 * beside the contents' own file. Its name is never used twice, so the name alone says which contents it belongs to. The
 * file's head says which contents, driver and device it is for; a foreign or damaged one is passed over. */
#include "structure/side_internal.h"

#include "device/placement.h"
#include "method/contents.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME RQL_SIDE_STEM
#define SUFFIX ".rt"
/* A fast GPU makes it faster than a disk reads: then a file would only cost. */
#define READ_BYTES_PER_MS 1e6

bool rql_side_is_placed_file(const char *name)
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
static char *name_of(const struct rql_side *side, const char *file, const struct rql_device *device)
{
	char *name = NULL;
	if (!side->folder || side->dir < 0 || !device->uuid || strlen(device->uuid) != NAME || strlen(file) < NAME)
		return NULL;
	return asprintf(&name, "%.32s.%s" SUFFIX, file, device->uuid) < 0 ? NULL : name;
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

/* Into NAME.tmp, synced. */
static bool write_beside(const struct rql_file_place *place, const struct rql_structure *s, struct rql_device *device,
                         struct rql_error *err)
{
	int fd = -1;
	if (rql_file_create(place, &fd, err) != RQL_OK)
		return false;
	FILE *f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return false;
	}
	bool ok = s->kind->contents->write_placed(s->relation, device, put, f, err) == RQL_OK && fflush(f) == 0 &&
	          fsync(fd) == 0;
	return fclose(f) == 0 && ok;
}

void rql_side_write_placed(struct rql_side *side, const struct rql_structure *s, struct rql_device *device)
{
	char kinds[512], *beside = NULL;
	double ms = 0;
	uint64_t bytes = rql_placements_of(s->relation, device, kinds, sizeof kinds, &ms, NULL);
	if (!strstr(kinds, s->kind->contents->written_kind) || !side->writable || ms < (double)bytes / READ_BYTES_PER_MS)
		return;
	char *name = name_of(side, s->side_file, device);
	if (name && asprintf(&beside, "%s.tmp", name) >= 0) {
		struct rql_error ignored = {0}; /* without the file it is made again: nothing is lost */
		const struct rql_file_place place = {.folder = side->dir, .name = beside, .path = beside, .mode = side->mode};
		if (!write_beside(&place, s, device, &ignored) || renameat(side->dir, beside, side->dir, name) != 0)
			(void)unlinkat(side->dir, beside, 0);
		else
			(void)rql_side_stamp(side, name);
		rql_error_clear(&ignored);
		free(beside);
	}
	free(name);
}

bool rql_side_read_placed(const struct rql_side *side, const struct rql_structure *s, struct rql_device *device)
{
	char *name = name_of(side, s->side_file, device);
	struct rql_error why = {0};
	int fd = -1;
	bool read = false;
	if (name) {
		const struct rql_file_place place = rql_side_place(side, name, name);
		if (rql_file_open(&place, &fd, &why) != RQL_OK)
			fd = -1;
	}
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (f) {
		read = s->kind->contents->read_placed(s->relation, device, get, f, &why) == RQL_OK;
		fclose(f);
	} else if (fd >= 0) {
		close(fd);
	}
	rql_error_clear(&why); /* it is made instead */
	free(name);
	return read;
}
