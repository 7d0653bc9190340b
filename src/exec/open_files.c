/* The database files that this process has open. DuckDB's lock on a file keeps other processes out, but not a second
 * opening by the same process, whose writes the first one would not see: neither its pages nor its structures. This is
 * the one list that all databases of a process share. */
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rql_open_file *open_files;

/* The file must be looked at by name: opening and closing it once more would give up DuckDB's lock on it. */
rql_status rql_open_file_enter(const char *path, bool read_only, struct rql_open_file **out, struct rql_error *err)
{
	struct stat st;
	bool taken = false;
	if (stat(path, &st) != 0)
		return RQL_OK; /* there is no such file yet, or DuckDB says what is wrong with it */
	struct rql_open_file *file = calloc(1, sizeof *file);
	if (!file)
		return rql_error_memory(err, sizeof *file, "a database");
	*file = (struct rql_open_file){.device = st.st_dev, .inode = st.st_ino, .read_only = read_only};
	pthread_mutex_lock(&lock);
	for (const struct rql_open_file *f = open_files; f && !taken; f = f->next)
		taken = f->device == file->device && f->inode == file->inode && !(f->read_only && read_only);
	if (!taken) {
		file->next = open_files;
		open_files = file;
	}
	pthread_mutex_unlock(&lock);
	if (taken) {
		free(file);
		return rql_error_set(err, RQL_ERROR_IO,
		                     "IO Error: this process has the database file \"%s\" open already; make another "
		                     "connection to that database "
		                     "instead of opening it again",
		                     path);
	}
	*out = file;
	return RQL_OK;
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
	pthread_mutex_unlock(&lock);
	free(file);
}
