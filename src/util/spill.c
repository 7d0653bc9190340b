/* A temporary file that has no name: O_TMPFILE, or one that is unlinked before anything is written. */
#include "util/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 8

struct rql_spill {
	int fd;
	uint64_t limit; /* 0: none */
	_Atomic uint64_t end;
	char folder[]; /* for messages */
};

/* Where the file system has no files without a name. */
static int open_unlinked(const char *folder)
{
	char *path = NULL;
	if (asprintf(&path, "%s/rayql-XXXXXX", folder) < 0) {
		errno = ENOMEM;
		return -1;
	}
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	free(path);
	return fd;
}

static int open_nameless(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_unlinked(folder);
	return fd;
}

rql_status rql_spill_new(const char *folder, uint64_t limit, struct rql_spill **out, struct rql_error *err)
{
	const size_t length = strlen(folder) + 1;
	struct rql_spill *spill = malloc(sizeof(*spill) + length);
	if (!spill)
		return rql_error_memory(err, sizeof(*spill) + length, "a temporary file");
	int reason = ENOENT;
	*spill = (struct rql_spill){.fd = -1, .limit = limit};
	memcpy(spill->folder, folder, length);
	for (int i = 0; i < TRIES && spill->fd < 0 && reason == ENOENT; i++) { /* another process may remove its folder here */
		const bool made = mkdir(folder, 0700) == 0;
		spill->fd = open_nameless(folder);
		reason = errno;
		if (made) /* a file without a name does not need it */
			(void)rmdir(folder);
	}
	if (spill->fd < 0) {
		free(spill);
		return rql_error_set(err, RQL_ERROR_IO, "no temporary file can be made in %s: %s", folder, strerror(reason));
	}
	*out = spill;
	return RQL_OK;
}

void rql_spill_free(struct rql_spill *spill)
{
	if (!spill)
		return;
	close(spill->fd);
	free(spill);
}

static rql_status failed(const struct rql_spill *spill, const char *what, uint64_t bytes, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_IO, "the temporary file in %s, of %llu bytes, cannot be %s: %s", spill->folder,
	                     (unsigned long long)bytes, what, errno ? strerror(errno) : "it has become shorter");
}

/* Tested and taken at once: of two threads for whose bytes together there is no room, one has it. */
static bool take_room(struct rql_spill *spill, uint64_t bytes, uint64_t *at)
{
	*at = atomic_load(&spill->end);
	do {
		if (spill->limit && (*at > spill->limit || bytes > spill->limit - *at))
			return false;
	} while (!atomic_compare_exchange_weak(&spill->end, at, *at + bytes));
	return true;
}

rql_status rql_spill_write(struct rql_spill *spill, const void *data, uint64_t bytes, uint64_t *at, struct rql_error *err)
{
	const char *from = data;
	if (!take_room(spill, bytes, at))
		return rql_error_set(err, RQL_ERROR_LIMIT, "the temporary file in %s would take more than the %llu bytes that it may "
		                     "have (max_temp_directory_size)", spill->folder, (unsigned long long)spill->limit);
	uint64_t to = *at;
	while (bytes) {
		const ssize_t n = pwrite(spill->fd, from, bytes, (off_t)to);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failed(spill, "written", to, err);
		from += n;
		to += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return RQL_OK;
}

rql_status rql_spill_read(const struct rql_spill *spill, uint64_t at, void *data, uint64_t bytes, struct rql_error *err)
{
	char *to = data;
	while (bytes) {
		errno = 0;
		const ssize_t n = pread(spill->fd, to, bytes, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failed(spill, "read", rql_spill_bytes(spill), err);
		to += n;
		at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return RQL_OK;
}

void rql_spill_forget(struct rql_spill *spill, uint64_t at, uint64_t bytes)
{
#ifdef FALLOC_FL_PUNCH_HOLE
	if (fallocate(spill->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes) != 0)
		return; /* it stays until the file goes */
#endif
}

uint64_t rql_spill_bytes(const struct rql_spill *spill)
{
	return atomic_load(&spill->end);
}
