/* The database files that this process has open. A file's lock keeps other processes out, but not a second opening by
 * the same process: fcntl's locks are the process's. Two openings overwrite each other's changes, and neither sees the
 * other's, with its pages or its structures. So before DuckDB opens a file, the process's own descriptors are looked
 * through for it (by device and inode, whatever name or library opened it), and afterwards a lock that also holds
 * within the process is added to DuckDB's:
 *
 * DuckDB locks the whole file. Its last possible byte is taken out of that lock and locked for our own descriptor's
 * open file description (F_OFD_SETLK). Such a lock conflicts with those of every other description, in this process,
 * too, and it ends with our descriptor, not with the first one of the file that somebody here closes. */
#include "exec/exec_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rql_open_file *open_files; /* the one list that all databases of a process share */

/* Whoever uses a detached database last closes its file: another connection's query, or one that reads the schema for
 * RayQL. So long after a DETACH a descriptor may be such a one. */
#define CLOSING_NS UINT64_C(3000000000)
static _Atomic uint64_t detached_ns; /* when the last DETACH was; 0: there was none */

/* ---- paths as DuckDB reads them ---- */
/* Behind "file:/..." with no host or localhost; 0: it is no such address. */
static size_t file_address(const char *path)
{
	static const char *const heads[] = {"file://localhost/", "file:///", "file:/"};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (strncmp(path, heads[i], strlen(heads[i])) == 0 && (i < 2 || path[strlen(heads[i])] != '/'))
			return strlen(heads[i]) - 1;
	return 0;
}

bool rql_local_path(const char *path, char **out)
{
	static const char prefix[] = "duckdb:";
	const char *home = getenv("HOME");
	if (strncasecmp(path, prefix, sizeof prefix - 1) == 0)
		path += sizeof prefix - 1;
	*out = NULL;
	if (path[0] == '~')
		return asprintf(out, "%s%s", home ? home : "", path + 1) >= 0 || (*out = NULL);
	path += file_address(path);
	if (!*path || strcmp(path, ":memory:") == 0 || strstr(path, "://") || strncmp(path, "md:", 3) == 0)
		return true;
	return (*out = strdup(path)) != NULL;
}

/* ---- this process's descriptors ---- */
struct search {
	struct stat file, log; /* what is looked for; log.st_nlink 0: there is no log */
	unsigned found;        /* descriptors of either, but for our own */
	bool written;          /* one of them may write */
	int fd;                /* one of them */
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* One of the descriptors that keep our locks; with the lock held. */
static bool is_guard(int fd)
{
	for (const struct rql_open_file *f = open_files; f; f = f->next)
		if (f->fd == fd && f->process == getpid())
			return true;
	return false;
}

/* Something else under the name of a database, such as a table that DuckDB would read in place, is nobody's business.
 * Looked at through the descriptor that is there: closing another one would give up its owner's lock. */
static bool may_be_database(int fd)
{
	char head[12];
	return pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head + 8, "DUCK", 4) == 0;
}

static void look_at(int fd, struct search *s)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || flags & O_PATH || fstat(fd, &st) != 0 || is_guard(fd))
		return;
	bool log = s->log.st_nlink && same_file(&st, &s->log);
	if (!log && !(same_file(&st, &s->file) && may_be_database(fd)))
		return;
	s->found++;
	s->fd = fd;
	s->written = s->written || log || (flags & O_ACCMODE) != O_RDONLY;
}

/* Without /proc nothing is found: then there is the lock alone. */
static void look_through(struct search *s)
{
	DIR *dir = opendir("/proc/self/fd");
	s->found = 0;
	s->written = false;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *end = NULL;
		long fd = strtol(e->d_name, &end, 10);
		if (end != e->d_name && !*end && fd <= INT_MAX && fd != dirfd(dir))
			look_at((int)fd, s);
	}
	if (dir)
		closedir(dir);
}

static void find_log(const char *path, struct search *s)
{
	char *log = NULL;
	if (asprintf(&log, "%s.wal", path) < 0)
		log = NULL;
	if (!log || stat(log, &s->log) != 0)
		s->log = (struct stat){0};
	free(log);
}

/* ---- refusing ---- */
static rql_status refuse(const char *path, const char *how, struct rql_error *err)
{
	return rql_error_set(
		err, RQL_ERROR_IO,
		"IO Error: this process has the database file \"%s\" open already%s. Two openings in one process would overwrite "
		"each other's changes without noticing: make another connection to the database that is open, close it before "
		"opening it here, or open it for reading only in both places",
		path, how);
}

static rql_status refuse_descriptor(const char *path, int fd, struct rql_error *err)
{
	char how[96];
	snprintf(how, sizeof how, " (descriptor %d, opened by another library or database of this process)", fd);
	return refuse(path, how, err);
}

static bool in_list(const struct stat *st, bool read_only)
{
	for (const struct rql_open_file *f = open_files; f; f = f->next)
		if (f->process == getpid() && f->device == st->st_dev && f->inode == st->st_ino && !(f->read_only && read_only))
			return true;
	return false;
}

static bool may_be_closing(void)
{
	const uint64_t detached = atomic_load(&detached_ns);
	return detached && rql_now_ns() - detached < CLOSING_NS;
}

void rql_open_file_detached(void)
{
	atomic_store(&detached_ns, rql_now_ns());
}

rql_status rql_open_file_check(const char *path, bool read_only, struct rql_error *err)
{
	static const struct timespec moment = {.tv_nsec = 2000000};
	struct search s = {.fd = -1};
	if (stat(path, &s.file) != 0 || !S_ISREG(s.file.st_mode))
		return RQL_OK; /* there is no such file yet, or DuckDB says what is wrong with it */
	for (;; (void)nanosleep(&moment, NULL)) {
		find_log(path, &s);
		pthread_mutex_lock(&lock);
		look_through(&s);
		pthread_mutex_unlock(&lock);
		if (!s.found || (read_only && !s.written))
			return RQL_OK;
		if (!may_be_closing())
			return refuse_descriptor(path, s.fd, err);
	}
}

/* ---- one file's life ---- */
rql_status rql_open_file_enter(const char *path, bool read_only, struct rql_open_file **out, struct rql_error *err)
{
	struct stat st, opened;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return RQL_OK;
	struct rql_open_file *file = calloc(1, sizeof *file);
	if (!file)
		return rql_error_memory(err, sizeof *file, "a database");
	*file = (struct rql_open_file){
		.device = st.st_dev, .inode = st.st_ino, .process = getpid(), .fd = -1, .read_only = read_only};
	pthread_mutex_lock(&lock);
	bool taken = in_list(&st, read_only);
	if (!taken) {
		file->fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		file->next = open_files;
		open_files = file;
	}
	pthread_mutex_unlock(&lock);
	if (taken) {
		free(file);
		return refuse(path, " as a database of RayQL's", err);
	}
	if (file->fd >= 0 && (fstat(file->fd, &opened) != 0 || !same_file(&opened, &st))) {
		rql_open_file_leave(file);
		return rql_error_set(err, RQL_ERROR_IO, "IO Error: \"%s\" was replaced by another file while it was opened", path);
	}
	*out = file;
	return RQL_OK;
}

/* 0, or fcntl's errno. */
static int set_lock(int fd, int command, short type)
{
	struct flock last = {.l_type = type, .l_whence = SEEK_SET, .l_start = LLONG_MAX};
	return fcntl(fd, command, &last) == 0 ? 0 : errno;
}

/* Takes the lock; false: somebody else has one by now. A file system without such locks is no reason to refuse. */
static bool take_lock(struct rql_open_file *file)
{
	short type = file->read_only ? F_RDLCK : F_WRLCK;
	if (!file->read_only)
		(void)set_lock(file->fd, F_SETLK, F_UNLCK);
	int failed = set_lock(file->fd, F_OFD_SETLK, type);
	file->held = !failed;
	if (failed && failed != EAGAIN && failed != EACCES)
		(void)set_lock(file->fd, F_SETLK, type);
	return failed != EAGAIN && failed != EACCES;
}

rql_status rql_open_file_hold(struct rql_open_file *file, const char *path, struct rql_error *err)
{
	struct search s = {.file = {.st_dev = file->device, .st_ino = file->inode}, .fd = -1};
	bool free_of_others = true;
	pthread_mutex_lock(&lock);
	look_through(&s);
	if (file->fd >= 0 && s.found) { /* else DuckDB reads it in place, or not at all */
		free_of_others = take_lock(file);
		look_through(&s); /* nobody can have come since */
	}
	file->detached = !s.found;
	pthread_mutex_unlock(&lock);
	/* DuckDB has one descriptor of a database. */
	if (!free_of_others || (file->read_only ? s.written : s.found > 1))
		return refuse(path, " through another library, which opened it at the same moment", err);
	return RQL_OK;
}

bool rql_open_file_follow(struct rql_open_file *file)
{
	if (!file || file->fd < 0)
		return false;
	struct search s = {.file = {.st_dev = file->device, .st_ino = file->inode}, .fd = -1};
	pthread_mutex_lock(&lock);
	look_through(&s);
	bool left = !s.found && !file->detached, back = s.found && file->detached;
	if (left && file->held) {
		(void)set_lock(file->fd, F_OFD_SETLK, F_UNLCK);
		file->held = false;
	}
	if (back)
		(void)take_lock(file);
	file->detached = !s.found;
	pthread_mutex_unlock(&lock);
	return left || back;
}

void rql_open_file_leave(struct rql_open_file *file)
{
	if (!file)
		return;
	pthread_mutex_lock(&lock);
	for (struct rql_open_file **at = &open_files; *at; at = &(*at)->next) {
		if (*at == file) {
			*at = file->next;
			break;
		}
	}
	if (file->held) /* a child of this process may share the description */
		(void)set_lock(file->fd, F_OFD_SETLK, F_UNLCK);
	if (file->fd >= 0)
		close(file->fd);
	pthread_mutex_unlock(&lock);
	free(file);
}
