/* Opening, making and removing files by descriptor, so that no link and no other user decides which they are. */
#include "util/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rql_status failed(const char *path, const char *what, struct rql_error *err)
{
	if (errno == ELOOP)
		return rql_error_set(err, RQL_ERROR_IO, "%s is not %s: it is a symbolic link, which RayQL does not follow here",
		                     path, what);
	return rql_error_set(err, RQL_ERROR_IO, "%s cannot be %s: %s", path, what, strerror(errno));
}

/* ---- folders ---- */
static rql_status check_folder(int fd, const char *path, mode_t most, struct rql_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return failed(path, "opened", err);
	if (st.st_uid != geteuid())
		return rql_error_set(err, RQL_ERROR_IO, "the folder %s is not used: it belongs to another user", path);
	if ((st.st_mode & 077 & ~most) && fchmod(fd, st.st_mode & most) != 0 && (st.st_mode & 022))
		return rql_error_set(err, RQL_ERROR_IO, "the folder %s is not used: others may write to it", path);
	return RQL_OK;
}

rql_status rql_folder_open(const char *path, bool make, mode_t most, int *fd, struct rql_error *err)
{
	if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
		return rql_error_set(err, RQL_ERROR_IO, "the folder %s cannot be made: %s", path, strerror(errno));
	int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (opened < 0 && errno == ENOENT && !make) {
		*fd = -1;
		return RQL_OK;
	}
	if (opened < 0) {
		struct stat st; /* with O_DIRECTORY a link is "not a directory" */
		if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
			errno = ELOOP;
		return failed(path, "opened", err);
	}
	rql_status status = check_folder(opened, path, most, err);
	if (status != RQL_OK) {
		close(opened);
		return status;
	}
	*fd = opened;
	return RQL_OK;
}

rql_status rql_cache_open(bool make, int *fd, struct rql_error *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *above = NULL, *path = NULL;
	if (cache && cache[0] == '/')
		above = strdup(cache);
	else if (!home || !home[0])
		return rql_error_set(err, RQL_ERROR_IO, "neither XDG_CACHE_HOME nor HOME names a folder");
	else if (asprintf(&above, "%s/.cache", home) < 0)
		above = NULL;
	if (above && asprintf(&path, "%s/rayql", above) < 0)
		path = NULL;
	if (path && make)
		(void)mkdir(above, 0700); /* what is wrong with it shows at once */
	rql_status status = path ? rql_folder_open(path, make, 0755, fd, err) : rql_error_memory(err, 0, "a path");
	free(above);
	free(path);
	return status;
}

/* ---- files ---- */
static bool has_stamp(const struct stat *st, const struct rql_file_stamp *s)
{
	return s->inode == st->st_ino && s->size == (uint64_t)st->st_size && s->seconds == st->st_ctim.tv_sec &&
	       s->nanoseconds == st->st_ctim.tv_nsec;
}

static const char *wrong_with(int fd, const struct rql_file_stamp *stamp)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "it is no regular file";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	if (st.st_mode & 022)
		return "others may write to it";
	if (stamp && !has_stamp(&st, stamp))
		return "it is not the file that RayQL left there, or was changed";
	return NULL;
}

rql_status rql_file_open(const struct rql_file_place *place, int *fd, struct rql_error *err)
{
	int opened = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened < 0 && errno == ENOENT) {
		*fd = -1;
		return RQL_OK;
	}
	if (opened < 0)
		return failed(place->path, "opened", err);
	const char *why = wrong_with(opened, place->stamp);
	if (why) {
		close(opened);
		return rql_error_set(err, RQL_ERROR_IO, "%s is not used: %s", place->path, why);
	}
	*fd = opened;
	return RQL_OK;
}

rql_status rql_file_create(const struct rql_file_place *place, int *fd, struct rql_error *err)
{
	/* What a process left that died may be there. */
	if (unlinkat(place->folder, place->name, 0) != 0 && errno != ENOENT)
		return failed(place->path, "replaced", err);
	int opened =
		openat(place->folder, place->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, place->mode & 0600);
	if (opened < 0)
		return failed(place->path, "created", err);
	*fd = opened;
	return RQL_OK;
}

static bool write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

rql_status rql_file_put(const struct rql_file_place *place, const char *end, const struct iovec *parts, int count,
                        struct rql_error *err)
{
	struct rql_file_place beside = *place;
	char *name = NULL;
	int fd = -1;
	if (asprintf(&name, "%s.%s", place->name, end) < 0)
		return rql_error_memory(err, 0, "a file's name");
	beside.name = name;
	rql_status status = rql_file_create(&beside, &fd, err);
	if (status == RQL_OK) {
		bool written = true;
		for (int i = 0; i < count && written; i++)
			written = write_all(fd, parts[i].iov_base, parts[i].iov_len);
		written = written && fsync(fd) == 0;
		int reason = errno;
		if (close(fd) != 0 && written) {
			written = false;
			reason = errno;
		}
		if (written && renameat(place->folder, name, place->folder, place->name) != 0) {
			written = false;
			reason = errno;
		}
		errno = reason;
		if (!written) {
			status = failed(place->path, "written", err);
			(void)unlinkat(place->folder, name, 0);
		}
	}
	free(name);
	return status;
}

rql_status rql_file_get(const struct rql_file_place *place, uint64_t limit, char **data, uint64_t *size,
                        struct rql_error *err)
{
	struct stat st;
	int fd = -1;
	RQL_TRY(rql_file_open(place, &fd, err));
	*data = NULL;
	*size = 0;
	if (fd < 0)
		return RQL_OK;
	rql_status status = RQL_OK;
	uint64_t length = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0, done = 0;
	char *text = length <= limit ? malloc(length + 1) : NULL;
	if (length > limit)
		status = rql_error_set(err, RQL_ERROR_IO, "%s is not used: it is too large", place->path);
	else if (!text)
		status = rql_error_memory(err, length, "a file");
	while (text && done < length) {
		ssize_t n = read(fd, text + done, length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* it has become shorter: what was read is no file of ours, and shows */
		done += (uint64_t)n;
	}
	close(fd);
	if (status != RQL_OK)
		return status;
	text[done] = 0;
	*data = text;
	*size = done;
	return RQL_OK;
}

bool rql_file_stamp(int folder, const char *name, struct rql_file_stamp *out)
{
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return false;
	*out = (struct rql_file_stamp){st.st_ino, (uint64_t)st.st_size, st.st_ctim.tv_sec, st.st_ctim.tv_nsec};
	return true;
}
