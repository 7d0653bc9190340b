/* Which DuckDB this process uses. There must be one alone: two would open the same files without knowing of each other. So
 * nothing here is linked with libduckdb. A DuckDB that the process has loaded is taken, be it libduckdb or the module of
 * Python's `duckdb` package, which exports the C API; only where there is none, libduckdb is loaded. */
#include "host/host_internal.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libduckdb.so"

struct host_api host_api; /* written once, under `once` */

static const char *const names[] = {
#define NAME(function) #function,
	HOST_FUNCTIONS(NAME)
#undef NAME
};
#define NAMES (sizeof names / sizeof names[0])
_Static_assert(sizeof host_api == NAMES * sizeof(void *), "a table of pointers");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct rql_error failure; /* why there is no DuckDB; kept, as it is asked for again at each opening */
static rql_status outcome;

/* ---- what the process has ---- */
struct paths {
	char **path;
	size_t count;
	bool failed;
};

/* Under the loader's lock, where nothing may be loaded or looked up: the names are looked at afterwards. */
static int list_path(struct dl_phdr_info *info, size_t size, void *state)
{
	struct paths *list = state;
	(void)size;
	char **grown = realloc(list->path, (list->count + 1) * sizeof *grown);
	char *copy = strdup(info->dlpi_name ? info->dlpi_name : "");
	if (grown)
		list->path = grown;
	list->failed = !grown || !copy;
	if (list->failed) {
		free(copy);
		return 1;
	}
	list->path[list->count++] = copy;
	return 0;
}

static void *function_of(void *library, const char *name)
{
	return dlsym(library, name);
}

static const char *version_of(void *library)
{
	const char *(*version)(void) = NULL;
	void *address = function_of(library, "duckdb_library_version");
	memcpy(&version, &address, sizeof version);
	return version ? version() : NULL;
}

/* Plans and the layout of batches are read as these versions have them. */
static bool is_known(const char *version)
{
	unsigned major = 0, minor = 0, patch = 0;
	if (sscanf(version, "v%u.%u.%u", &major, &minor, &patch) != 3)
		return false;
	return (major == 1 && (minor > 5 || (minor == 5 && patch >= 6))) || (major == 2 && minor == 0);
}

/* Of a library that is loaded already, or NULL. The program itself has no name. */
static void *loaded(const char *path)
{
	void *library = dlopen(*path ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (library && version_of(library))
		return library;
	if (library)
		dlclose(library);
	return NULL;
}

/* The process's DuckDB, of a known version if it has several; NULL: it has none. `strange` says which it has when
 * RayQL knows none of them. */
static void *find_loaded(struct rql_strbuf *strange)
{
	struct paths list = {0};
	void *found = NULL;
	dl_iterate_phdr(list_path, &list);
	for (size_t i = 0; i < list.count && !found; i++) {
		void *library = loaded(list.path[i]);
		if (library && is_known(version_of(library))) {
			found = library;
		} else if (library) {
			rql_strbuf_printf(strange, "%s%s (%s)", strange->length ? ", " : "", version_of(library),
			                  *list.path[i] ? list.path[i] : "the program");
			dlclose(library);
		}
	}
	for (size_t i = 0; i < list.count; i++)
		free(list.path[i]);
	free(list.path);
	return found;
}

/* ---- the table ---- */
static rql_status fill(void *library)
{
	for (size_t i = 0; i < NAMES; i++) {
		void *address = function_of(library, names[i]);
		if (!address)
			return rql_error_set(&failure, RQL_ERROR_UNSUPPORTED, "DuckDB %s lacks the function %s, which RayQL needs",
			                     version_of(library), names[i]);
		memcpy((char *)&host_api + i * sizeof address, &address, sizeof address);
	}
	return RQL_OK;
}

#define KNOWN_VERSIONS "RayQL works with 1.5.6 and later versions of 1, and with 2.0"

static rql_status find(void)
{
	struct rql_strbuf strange = {0};
	void *library = find_loaded(&strange);
	rql_status status = RQL_OK;
	if (!library && strange.length) {
		status = rql_error_set(&failure, RQL_ERROR_UNSUPPORTED,
		                       "this process has another DuckDB loaded than RayQL knows: %s. " KNOWN_VERSIONS
		                       ", and never loads a second one beside it",
		                       rql_strbuf_text(&strange));
	} else if (!library && !(library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL))) {
		status = rql_error_set(&failure, RQL_ERROR_IO,
		                       "DuckDB could not be loaded: %s. " KNOWN_VERSIONS
		                       "; install it where the loader looks, or name its folder in LD_LIBRARY_PATH",
		                       dlerror());
	} else if (!version_of(library) || !is_known(version_of(library))) {
		const char *version = version_of(library);
		status = rql_error_set(&failure, RQL_ERROR_UNSUPPORTED, LIBRARY " is %s%s. " KNOWN_VERSIONS,
		                       version ? "DuckDB " : "no DuckDB", version ? version : "");
	}
	rql_strbuf_free(&strange);
	return status == RQL_OK ? fill(library) : status;
}

static void find_once(void)
{
	outcome = find();
}

rql_status host_library(struct rql_error *err)
{
	pthread_once(&once, find_once);
	if (outcome == RQL_OK)
		return RQL_OK;
	return rql_error_set(err, outcome, "%s", rql_error_message(&failure));
}

const char *rql_host_library_version(void)
{
	return host_library(NULL) == RQL_OK ? duckdb_library_version() : "";
}

unsigned rql_host_major(void)
{
	const char *version = rql_host_library_version();
	return *version ? (unsigned)strtoul(version + 1, NULL, 10) : 0;
}
