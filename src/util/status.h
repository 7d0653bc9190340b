/* Errors are values: a status that code can branch on, and a message that a person can act on.
 *
 * A function that can fail returns rql_status and takes `struct rql_error *err` last; err may be
 * NULL (the message is dropped). Out-parameters are untouched on failure. The message names the
 * thing, what was wrong and what to do. Inside a function: one `goto error`/`goto done` label. */
#ifndef RQL_UTIL_STATUS_H
#define RQL_UTIL_STATUS_H

#include <stdarg.h>

#define RQL_MUST_CHECK __attribute__((warn_unused_result))
#define RQL_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* The public enum rayql_status (include/rayql/rayql.h) has the same values; api/ asserts it. */
typedef enum rql_status {
	RQL_OK = 0,
	RQL_ERROR_STATEMENT = 1,   /* the user's statement is wrong (RayQL's own SQL, settings, options) */
	RQL_ERROR_HOST = 2,        /* DuckDB refused or failed: its own text, verbatim */
	RQL_ERROR_UNSUPPORTED = 3, /* legal, but RayQL does not accelerate it; the host may answer */
	RQL_ERROR_MEMORY = 4,      /* the system has no memory left */
	RQL_ERROR_LIMIT = 5,       /* rayql_memory_limit would be exceeded */
	RQL_ERROR_IO = 6,          /* a file could not be read or written */
	RQL_ERROR_CORRUPT = 7,     /* a side file or stored definition is damaged or of another version */
	RQL_ERROR_STALE = 8,       /* a structure does not hold the tables' present state */
	RQL_ERROR_INTERRUPTED = 9, /* rayql_interrupt() or Ctrl-C */
	RQL_ERROR_DEVICE = 10,     /* a device failed or was lost */
	RQL_ERROR_MISUSE = 11,     /* the API was called wrongly (NULL handle, index out of range) */
	RQL_ERROR_INTERNAL = 12,   /* a bug in RayQL */
} rql_status;

struct rql_error {
	rql_status status;
	char *message; /* malloc'ed, NULL when there is none; freed by rql_error_clear */
};

/* Stores status and message (replacing an earlier one) and returns status, so that
 * `return rql_error_set(err, RQL_ERROR_IO, "...")` reads well. err may be NULL. */
rql_status rql_error_set(struct rql_error *err, rql_status status, const char *fmt, ...) RQL_PRINTF(3, 4);
rql_status rql_error_vset(struct rql_error *err, rql_status status, const char *fmt, va_list args);
/* The message, or "" when there is none; never NULL. */
const char *rql_error_message(const struct rql_error *err);
void rql_error_clear(struct rql_error *err);
/* Moves src into dst (dst's old content is freed, src is left empty). */
void rql_error_move(struct rql_error *dst, struct rql_error *src);
/* "out of memory (N bytes for WHAT)" and what to do; bytes 0: nobody counted them. */
rql_status rql_error_memory(struct rql_error *err, unsigned long long bytes, const char *what);
const char *rql_status_name(rql_status status);

#define RQL_TRY(expr)                                                                                                  \
	do {                                                                                                               \
		rql_status try_status_ = (expr);                                                                               \
		if (try_status_ != RQL_OK)                                                                                     \
			return try_status_;                                                                                        \
	} while (0)

#endif
