/* Setting, moving and clearing errors, and the names of statuses. */
#include "util/status.h"

#include <stdio.h>
#include <stdlib.h>

rql_status rql_error_vset(struct rql_error *err, rql_status status, const char *fmt, va_list args)
{
	if (!err)
		return status;
	char *message = NULL;
	/* Formatted before the old message goes: it may be one of the arguments. */
	if (vasprintf(&message, fmt, args) < 0)
		message = NULL;
	free(err->message);
	err->status = status;
	err->message = message;
	return status;
}

rql_status rql_error_set(struct rql_error *err, rql_status status, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rql_error_vset(err, status, fmt, args);
	va_end(args);
	return status;
}

const char *rql_error_message(const struct rql_error *err)
{
	return err && err->message ? err->message : "";
}

void rql_error_clear(struct rql_error *err)
{
	if (!err)
		return;
	free(err->message);
	*err = (struct rql_error){0};
}

void rql_error_move(struct rql_error *dst, struct rql_error *src)
{
	if (dst == src)
		return;
	if (!dst) {
		rql_error_clear(src);
		return;
	}
	free(dst->message);
	*dst = *src;
	*src = (struct rql_error){0};
}

rql_status rql_error_memory(struct rql_error *err, unsigned long long bytes, const char *what)
{
	char size[32] = "";
	if (bytes)
		snprintf(size, sizeof size, "%llu bytes ", bytes);
	return rql_error_set(err, RQL_ERROR_MEMORY, "out of memory (%sfor %s); drop a structure, or lower "
	                     "rayql_memory_limit", size, what);
}

const char *rql_status_name(rql_status status)
{
	switch (status) {
	case RQL_OK:
		return "ok";
	case RQL_ERROR_STATEMENT:
		return "statement error";
	case RQL_ERROR_HOST:
		return "host error";
	case RQL_ERROR_UNSUPPORTED:
		return "unsupported";
	case RQL_ERROR_MEMORY:
		return "out of memory";
	case RQL_ERROR_LIMIT:
		return "memory limit";
	case RQL_ERROR_IO:
		return "input/output error";
	case RQL_ERROR_CORRUPT:
		return "corrupt";
	case RQL_ERROR_STALE:
		return "stale";
	case RQL_ERROR_INTERRUPTED:
		return "interrupted";
	case RQL_ERROR_DEVICE:
		return "device error";
	case RQL_ERROR_MISUSE:
		return "misuse";
	case RQL_ERROR_INTERNAL:
		return "internal error";
	}
	return "unknown status";
}
