/* Files and folders that somebody else may have prepared. They are opened by descriptor, never through a link at their
 * own name and without waiting for a FIFO's other end; what is of another kind or another user's is refused. Errors are
 * RQL_ERROR_IO and name the file. */
#ifndef RQL_UTIL_FILES_H
#define RQL_UTIL_FILES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "util/status.h"

/* What tells a file from any other, and from itself after a change of its bytes: its inode's last change is a time that
 * only the system sets. */
struct rql_file_stamp {
	uint64_t inode, size;
	int64_t seconds, nanoseconds;
};
/* Where a file is: `name` in the open folder. */
struct rql_file_place {
	int folder;       /* or AT_FDCWD: name is a path */
	const char *name;
	const char *path; /* for messages */
	mode_t mode;      /* of a new file */
	const struct rql_file_stamp *stamp; /* reading: it must have this one; NULL: any */
};
#define RQL_PLACE(text)                                                                                                \
	(&(const struct rql_file_place){.folder = AT_FDCWD, .name = (text), .path = (text), .mode = 0600})

/* A folder of this user, to be worked in by descriptor; rights of others beyond `most` (0700, 0755) are taken away.
 * make: it is made when it is not there; else *fd is -1 then. */
rql_status rql_folder_open(const char *path, bool make, mode_t most, int *fd, struct rql_error *err) RQL_MUST_CHECK;
/* ${XDG_CACHE_HOME:-~/.cache}/rayql, where RayQL keeps what belongs to the user and the machine; with make the folder
 * above it is made, too. */
rql_status rql_cache_open(bool make, int *fd, struct rql_error *err) RQL_MUST_CHECK;
/* A regular file of this user for reading, that only its user can write. *fd is -1 when there is none. */
rql_status rql_file_open(const struct rql_file_place *place, int *fd, struct rql_error *err) RQL_MUST_CHECK;
/* A new file for writing; what had its name is deleted (a link, not what it names). */
rql_status rql_file_create(const struct rql_file_place *place, int *fd, struct rql_error *err) RQL_MUST_CHECK;
/* Writes the parts to place->name.END, syncs it and gives it the name: a reader sees the old file or the new one. END
 * is distinct for all that may write at once. */
rql_status rql_file_put(const struct rql_file_place *place, const char *end, const struct iovec *parts, int count,
                        struct rql_error *err) RQL_MUST_CHECK;
/* At most `limit` bytes, malloc'ed, with a zero byte behind them. *data is NULL when there is no such file. */
rql_status rql_file_get(const struct rql_file_place *place, uint64_t limit, char **data, uint64_t *size,
                        struct rql_error *err) RQL_MUST_CHECK;
/* False: there is no such regular file. */
bool rql_file_stamp(int folder, const char *name, struct rql_file_stamp *out);

#endif
