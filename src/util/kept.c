/* Keeping the newest answer of its kind. */
#include "util/kept.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *data, size_t bytes)
{
	void *copy = bytes ? malloc(bytes) : NULL;
	return copy ? memcpy(copy, data, bytes) : NULL;
}

void *rql_kept_take(struct rql_kept *kept, const char *stamp, size_t *bytes)
{
	pthread_mutex_lock(&kept->lock);
	const bool same = stamp && kept->stamp && strcmp(kept->stamp, stamp) == 0;
	void *copy = same ? copy_of(kept->data, kept->bytes) : NULL;
	*bytes = copy ? kept->bytes : 0;
	pthread_mutex_unlock(&kept->lock);
	return copy;
}

void rql_kept_put(struct rql_kept *kept, const char *stamp, const void *data, size_t bytes)
{
	char *stamp_copy = stamp ? strdup(stamp) : NULL;
	void *copy = copy_of(data, bytes);
	if (!stamp_copy || !copy) {
		free(stamp_copy);
		free(copy);
		return;
	}
	pthread_mutex_lock(&kept->lock);
	free(kept->stamp);
	free(kept->data);
	kept->stamp = stamp_copy;
	kept->data = copy;
	kept->bytes = bytes;
	pthread_mutex_unlock(&kept->lock);
}
