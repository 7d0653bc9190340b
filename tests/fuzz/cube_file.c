/* Fuzz target: the reader of a cube's side file, over any bytes, as they are and with their checksums made true (so
 * that what lies behind the checksums is reached). What it accepts must be safe to walk. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "method/cube/cube_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_image(const uint8_t *data, size_t size)
{
	struct rql_budget budget = {0};
	struct rql_cube *cube = NULL;
	char path[] = "/dev/shm/rayql-fuzz-XXXXXX"; /* not a link to a descriptor: those are not followed */
	int fd = mkstemp(path);
	if (fd < 0)
		return;
	atomic_store(&budget.limit, UINT64_C(64) << 20);
	bool written = write(fd, data, size) == (ssize_t)size;
	if (written && rql_cube_read(RQL_PLACE(path), NULL, 0, &budget, &cube, NULL) == RQL_OK) {
		(void)rql_cube_check(cube, NULL); /* it may be wrong, as long as it is safe */
		rql_cube_release(cube);
	}
	close(fd);
	(void)unlink(path);
	if (atomic_load(&budget.used) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_image(data, size);
	uint8_t *sealed = malloc(size ? size : 1);
	if (!sealed)
		return 0;
	memcpy(sealed, data, size);
	rql_cube_file_seal(sealed, size);
	read_image(sealed, size);
	free(sealed);
	return 0;
}
