/* Errors as the public API gives them: their status, their message, their end; and the versions of RayQL and DuckDB. */
#include "api/api_internal.h"
#include <stdlib.h>
#include <string.h>

#define SAME(name) _Static_assert((int)RAYQL_##name == (int)RQL_##name, "the public status is the internal one")
SAME(OK);
SAME(ERROR_STATEMENT);
SAME(ERROR_HOST);
SAME(ERROR_UNSUPPORTED);
SAME(ERROR_MEMORY);
SAME(ERROR_LIMIT);
SAME(ERROR_IO);
SAME(ERROR_CORRUPT);
SAME(ERROR_STALE);
SAME(ERROR_INTERRUPTED);
SAME(ERROR_DEVICE);
SAME(ERROR_MISUSE);
SAME(ERROR_INTERNAL);

/* Given when there is no memory for an error: nothing to free, so rayql_error_free knows it. */
static const rayql_error no_memory = {RAYQL_ERROR_MEMORY, NULL};

rayql_status rql_api_fail(struct rql_error *err, rayql_error **out)
{
	rayql_status status = (rayql_status)err->status;
	if (out) {
		rayql_error *e = malloc(sizeof *e);
		if (e) {
			*e = (rayql_error){status, err->message};
			err->message = NULL;
		}
		*out = e ? e : (rayql_error *)(uintptr_t)&no_memory;
	}
	rql_error_clear(err);
	return status;
}

rayql_status rql_api_misuse(rayql_error **out, const char *message)
{
	struct rql_error err = {0};
	rql_error_set(&err, RQL_ERROR_MISUSE, "%s", message);
	return rql_api_fail(&err, out);
}

rayql_status rql_api_forked(rayql_error **out)
{
	return rql_api_misuse(out, "the database was opened before this process was forked: open it here anew");
}

rayql_status rayql_error_status(const rayql_error *err)
{
	return err ? err->status : RAYQL_OK;
}

const char *rayql_error_message(const rayql_error *err)
{
	if (!err)
		return "";
	return err->message ? err->message : "out of memory";
}

void rayql_error_free(rayql_error *err)
{
	if (!err || err == &no_memory)
		return;
	free(err->message);
	free(err);
}

const char *rayql_status_name(rayql_status status)
{
	return rql_status_name((rql_status)status);
}

const char *rayql_version(void)
{
	return RAYQL_VERSION;
}

const char *rayql_host_version(void)
{
	return rql_host_library_version();
}
